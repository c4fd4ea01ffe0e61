"""Settings of the exact search and of decoding. No JAX."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from jaxsudoku.board import Board
from jaxsudoku.config import (
    LANES,
    Config,
    Natural,
    NonNegative,
    Positive,
    Rounds,
    Rules,
    SearchRules,
    Share,
    Words,
    fitting_lanes,
    node_lanes,
)

#: Which cell a network branches on: the first with fewest choices; of those with fewest the one whose digit the network
#: is surest of, or least sure of; or of all cells the one whose digit it is surest of.
Cell = Literal["fewest", "likely", "doubtful", "surest"]

#: Positions that a network evaluates together on a CPU: with more of them CubeNet is no faster in a thread, whose cache
#: holds few, and a batch's last puzzles are few; an accelerator takes all lanes.
_CPU_CHUNK = 2


def with_chunk(config: Any, platform: str) -> Any:
    """Settings whose ``lanes`` are resolved, with a ``chunk`` that suits the machine."""
    return dataclasses.replace(config, chunk=config.chunk or (_CPU_CHUNK if platform == "cpu" else config.lanes))


@dataclasses.dataclass(frozen=True)
class ExactConfig(Config):
    """Settings of ``exact``.

    Attributes:
      rules: what is deduced at every node: naked, singles or locked, each with all that the one before it does.
      rounds: rounds of the rules in a step, up to 1000.
      budget: nodes after which a puzzle is left UNSOLVED; None for no limit.
      restart: nodes after which a puzzle is begun anew in a random order, then twice as many, and so on, or never; None
        suits the board (boards below 12x12 never).
      order: order of branching: fixed, or random by the key.
      lanes: nodes in a step, a multiple of 32; None suits the machine.
    """

    rules: SearchRules = "locked"
    rounds: Rounds = 5
    budget: Positive | None = None
    restart: Positive | Literal["never"] | None = None
    order: Literal["fixed", "random"] = "fixed"
    lanes: Words | None = None

    def resolve(self, board: Board, platform: str) -> ExactConfig:
        """Chooses the lanes, and when to restart: a descent of the whole block through a large board must fit in."""
        lanes = self.lanes or node_lanes(board, platform)
        restart = self.restart or ("never" if board.side < 12 else 4 * board.side * lanes)
        return dataclasses.replace(self, lanes=lanes, restart=restart)


@dataclasses.dataclass(frozen=True)
class GuidedExactConfig(Config):
    """Settings of ``guided-exact``.

    Attributes:
      rules: what is deduced at every node: naked, singles or locked, each with all that the one before it does.
      rounds: rounds of the rules in a step, up to 1000.
      budget: nodes after which a puzzle is left UNSOLVED; None for no limit.
      cell: the cell that is branched on. fewest: the first with fewest choices; likely, doubtful: of those with fewest
        the one whose digit the network is surest of, or least sure of; surest: of all cells the one whose digit it is
        surest of.
      lanes: nodes in a step, a multiple of 32; None suits the machine.
      chunk: nodes that the network evaluates together; None suits the machine.
    """

    rules: SearchRules = "locked"
    rounds: Rounds = 7
    budget: Positive | None = None
    cell: Cell = "doubtful"
    lanes: Words | None = None
    chunk: Positive | None = None

    def resolve(self, board: Board, platform: str) -> GuidedExactConfig:
        """The settings with lanes that suit a machine; the stack of nodes is small beside what a network needs."""
        lanes = self.lanes or fitting_lanes(board, platform, cpu=64, accelerator=2048, least=LANES, step=LANES)
        return with_chunk(dataclasses.replace(self, lanes=lanes), platform)


@dataclasses.dataclass(frozen=True)
class DecodingConfig(Config):
    """Settings of ``iterative`` and ``one-shot``.

    Attributes:
      rules: what is deduced before the first filling and after each one, to the end: none, naked, singles or locked,
        each with all that the one before it does. With none the network sees givens and fillings alone.
      confident: probability that each digit to be filled in has to have; below it a network that works by iterations
        looks at the position again, and does as many iterations more.
      patience: looks at a position after which it is filled in all the same.
      restarts: how often a puzzle that came to a contradiction begins anew, with noise, and seen under random
        symmetries of the board.
      temperature: scale of the Gumbel noise on the log-probabilities of attempts after the first.
      votes: random symmetries of the board whose probabilities are averaged; with 1 the first attempt sees the board
        as it is. An equivariant network gains nothing by it.
      lanes: positions that the network looks at together, a multiple of 32; None suits the machine.
    """

    rules: Rules = "none"
    confident: Share = 0.99
    patience: Positive = 1
    restarts: Natural = 0
    temperature: NonNegative = 0.2
    votes: Positive = 1
    lanes: Words | None = None

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        lanes = self.lanes or fitting_lanes(board, platform, cpu=64, accelerator=4096, least=LANES, step=LANES)
        return dataclasses.replace(self, lanes=lanes)


@dataclasses.dataclass(frozen=True)
class IterativeConfig(DecodingConfig):
    """Settings of ``iterative``.

    Attributes:
      sure: besides the surest cell every one is filled that has a candidate of at least this probability; above 0.5,
        and at 1 the surest cell alone.
    """

    rules: Rules = "locked"
    patience: Positive = 4
    sure: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.5 < self.sure <= 1:
            raise ValueError(f"sure must be above 0.5 and at most 1, not {self.sure}")


@dataclasses.dataclass(frozen=True)
class OneShotConfig(DecodingConfig):
    """Settings of ``one-shot``, whose rules see the givens alone."""
