"""Settings of guided exact search and of decoding. No JAX."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import (
    LANES,
    Rounds,
    Rules,
    SearchRules,
    SolverConfig,
    Words,
    fitting_lanes,
)
from jaxsudoku.runtime.settings import NonNegative, Positive, Share

#: Rules for the cell to branch on. fewest: the first of those with fewest candidates. likely, doubtful: among these,
#: the cell with the network's most or least confident digit. surest: the cell with the most confident digit of all.
#: either: surest if that digit has a probability of at least 0.99, otherwise doubtful.
Cell = Literal["fewest", "likely", "doubtful", "surest", "either"]

#: Positions that a network evaluates together on a CPU (more do not make CubeNet faster, as a core's cache holds few),
#: and on an accelerator.
_CPU_CHUNK, _CHUNK = 1, 128


def with_chunk(config: Any, platform: str) -> Any:
    """Settings whose ``lanes`` are resolved, with a ``chunk`` that suits the machine, pooled or not."""
    cpu = platform == "cpu"
    config = dataclasses.replace(config, chunk=config.chunk or min(_CPU_CHUNK if cpu else _CHUNK, config.lanes))
    pooled = getattr(config, "pooled", False)
    return config if pooled is not None else dataclasses.replace(config, pooled=not cpu)


@dataclasses.dataclass(frozen=True)
class GuidedExactConfig(SolverConfig):
    """Settings of ``guided-exact``.

    Attributes:
      rules: rules applied at every node: naked, singles or locked, each including the ones before it.
      rounds: rounds of the rules in a step, up to 1000.
      budget: nodes after which a puzzle is left UNSOLVED; None for no limit.
      cell: the cell to branch on. fewest: the first of those with fewest candidates; likely, doubtful: among these, the
        cell with the network's most or least confident digit; surest: the cell with the most confident digit of all;
        either: surest if that digit has a probability of at least 0.99, otherwise doubtful.
      calls: maximum number of network calls for a puzzle, checked between steps, so that a step may exceed it; after
        that the search branches as ``exact`` does. None for no limit.
      lanes: nodes in a step, a multiple of 32; None suits the machine.
      chunk: nodes that the network evaluates together; None suits the machine.
    """

    rules: SearchRules = "locked"
    rounds: Rounds = 7
    budget: Positive | None = None
    cell: Cell = "doubtful"
    calls: Positive | None = None
    lanes: Words | None = None
    chunk: Positive | None = None

    def resolve(self, board: Board, platform: str) -> GuidedExactConfig:
        """The settings with lanes that suit a machine; the stack of nodes is small compared with a network's memory."""
        lanes = self.lanes or fitting_lanes(board, platform, cpu=64, accelerator=2048, least=LANES, step=LANES)
        return with_chunk(dataclasses.replace(self, lanes=lanes), platform)


@dataclasses.dataclass(frozen=True)
class DecodingConfig(SolverConfig):
    """Settings of ``iterative`` and ``one-shot``.

    Attributes:
      rules: rules applied before the first cell is filled and after each one until nothing changes: none, naked,
        singles or locked, each including the ones before it. With none the network sees givens and filled cells only.
      confident: minimum probability of digits to fill in; below it a recurrent network is called again on the same
        position and continues its iterations.
      patience: maximum number of calls on a position, after which it is filled in anyway. None for as many as make 192
        iterations.
      complete: whether after every turn the grid is also completed with the probabilities of this turn (and the noise
        of a later run): by iterative with its rules in between, by one-shot all cells at once. A correct grid is the
        answer; others are dropped.
      every: maximum number of iterations of a turn; a call is divided into the fewest equal turns. None for one turn.
        Without ``complete`` there is one.
      hope: a run ends at a position whose predicted probability of a solution is lower than this; 0 for never. It saves
        time, but an inaccurate value head loses solutions; that of ``cube`` loses few on 9x9.
      runs: maximum number of runs of a puzzle, until it is solved. Those after the first have noise, and use random
        symmetries of the board unless the network is equivariant.
      temperature: scale of the Gumbel noise on the log-probabilities of later runs.
      noise: standard deviation of Gaussian noise on the features of a recurrent network, at each call in later runs.
      ahead: whether idle lanes begin further runs of puzzles whose earlier runs are not over; faster where idle lanes
        cost as much as busy ones. Counts, and the grid of a puzzle with several solutions, then depend on the lanes.
        None suits the machine: not on a CPU.
      votes: random symmetries of the board over which probabilities are averaged; with 1 the first run uses the
        identity. An equivariant network gains nothing.
      lanes: puzzles worked on together, a multiple of 32; None suits the machine.
    """

    rules: Rules = "none"
    confident: Share = 0.99
    patience: Positive | None = 1
    complete: bool = True
    every: Positive | None = None
    hope: Share = 0.0
    runs: Positive = 1
    temperature: NonNegative = 0.5
    noise: NonNegative = 0.0
    ahead: bool | None = None
    votes: Positive = 1
    lanes: Words | None = None

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        lanes = self.lanes or fitting_lanes(board, platform, cpu=64, accelerator=4096, least=LANES, step=LANES)
        ahead = platform != "cpu" if self.ahead is None else self.ahead
        return dataclasses.replace(self, lanes=lanes, ahead=ahead)


@dataclasses.dataclass(frozen=True)
class IterativeConfig(DecodingConfig):
    """Settings of ``iterative``.

    Attributes:
      sure: besides the most confident cell, all cells with a candidate of at least this probability are filled; above
        0.5; at 1 only the most confident cell.
    """

    rules: Rules = "locked"
    patience: Positive | None = None
    every: Positive | None = 8
    sure: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.5 < self.sure <= 1:
            raise ValueError(f"sure must be above 0.5 and at most 1, not {self.sure}")


@dataclasses.dataclass(frozen=True)
class OneShotConfig(DecodingConfig):
    """Settings of ``one-shot``; its rules are applied to the givens only."""
