"""Settings of the tree searches, and the memory that they take. No JAX."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import LANES, Rules, SolverConfig, Words, fitting_lanes
from jaxsudoku.runtime.settings import Natural, NonNegative, Positive, Share

from ..guided_config import Cell, with_chunk

#: The reward of a rollout: 1 if it solves the puzzle; the share of cells filled; or this share scaled from -1 to 1,
#: which is then the scale of all values.
Reward = Literal["solved", "filled", "signed"]

#: Bytes for the trees of all lanes, on a thread of a CPU and on an accelerator.
_ROOM = {"cpu": 1 << 30}
_ACCELERATOR_ROOM = 8 << 30

#: Maximum number of a puzzle's different positions counted as seen by the network.
SEEN = 512

#: Bytes per number and per truth value.
_NUMBER, _FLAG = 4, 1


@dataclasses.dataclass(frozen=True)
class SearchConfig(SolverConfig):
    """Settings of all tree and graph searches.

    Attributes:
      simulations: simulations of a search before the root moves.
      rules: rules applied after every move until nothing changes: none, naked, singles or locked, each including the
        ones before it. With none only moves fill cells, even a cell with one digit left.
      budget: grids evaluated after which an attempt at a puzzle ends; None for no limit, and a complete search.
      restarts: further attempts at a puzzle whose budget is spent, under random symmetries of the board.
      lanes: puzzles searched together, a multiple of 32, reduced to what fits the memory; None suits the machine.
    """

    simulations: Positive = 16
    rules: Rules = "singles"
    budget: Positive | None = None
    restarts: Natural = 0
    lanes: Words | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts and not self.budget:
            raise ValueError("restarts need a budget: a search without one never restarts")

    @property
    def proves(self) -> bool:
        """Whether refutations and undecided moves are kept, so that a search without a budget is complete."""
        return True

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes that suit a machine: fewer on a wider board, limited by the memory."""
        room = _ROOM.get(platform, _ACCELERATOR_ROOM) // self.lane_bytes(board) // LANES * LANES
        lanes = self.lanes or fitting_lanes(board, platform, cpu=64, accelerator=2048, least=LANES, step=LANES)
        return dataclasses.replace(self, lanes=min(lanes, max(room, LANES)))

    def lane_bytes(self, board: Board) -> int:
        """The bytes of a lane: its tree or graph of simulations + 1 nodes, and its stack of open positions.

        The memory of the network, and copies that the compiler makes, are not included.
        """
        return _lane_bytes(self, board)

    def summary(self, board: Board) -> str:
        """A line that describes resolved settings to people."""
        each, lanes = self.lane_bytes(board), self.lanes or 0
        together = f"{lanes} puzzles searched together by each thread or device"
        return f"{together}, {each:,} bytes a puzzle, {lanes * each / 2**20:,.1f} MiB"


@dataclasses.dataclass(frozen=True)
class TreeConfig(SearchConfig):
    """Settings of tree searches.

    Attributes:
      reuse: the root moves along its tree to positions visited by at least this share of the simulations.
    """

    reuse: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.reuse <= 1:
            raise ValueError(f"reuse must be above 0 and at most 1, not {self.reuse}")


@dataclasses.dataclass(frozen=True)
class ScoredConfig(TreeConfig):
    """Settings of tree searches that follow the move with the highest score.

    Attributes:
      exploration: the weight of exploration in the score.
      proofs: whether refuted moves are not tried again and undecided ones are kept, so that the search is complete.
        If False, the search is that of the AlphaSudoku study: the root makes one move and keeps the tree below it; a
        position without a legal digit in some cell ends the puzzle; rollouts of ``mcts`` fill a random cell among those
        with fewest choices; and the budget limits ``changes``.
      move: the move of the root: the most visited (visits), or the one with the highest mean value (value).
    """

    exploration: NonNegative = 0.5
    proofs: bool = True
    move: Literal["visits", "value"] = "visits"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts and not self.proofs:
            raise ValueError("restarts need proofs: a search without proofs never restarts")

    @property
    def proves(self) -> bool:
        """Whether refutations and undecided moves are kept."""
        return self.proofs


@dataclasses.dataclass(frozen=True)
class GuidedConfig(TreeConfig):
    """Settings of tree searches with a network.

    Attributes:
      cell: the cell that moves fill. fewest: the first of those with fewest candidates; likely, doubtful: among these,
        the cell with the network's most or least confident digit; surest: the cell with the most confident digit of
        all; either: surest if that digit has a probability of at least 0.99, otherwise doubtful.
      prior: the prior of moves: the network's policy, or uniform.
      value: the value of an open position: the probability of a solution by the network's value head (network); the
        reward of a rollout with digits drawn from the prior (rollout); the mean of both (both); or one half (none).
      reward: the reward of a rollout: 1 if it solves the puzzle (solved); the share of cells filled (filled); or this
        share scaled from -1 to 1, which is then the scale of all values (signed).
      rollout: the steps of a rollout. draw: a digit of the cell chosen by ``cell``, drawn from the network's policy.
        surest: a random cell with one legal digit, filled without a network call; else the most probable digit on the
        whole board.
      votes: random symmetries over which the network's outputs for a position are averaged; each is a call. 1 for the
        position itself; equivariant networks need no more.
      temperature: scale of the Gumbel noise on the network's logits at the root.
      complete: whether every position that the network evaluates is also completed with the most probable digits of
        this evaluation, with the rules in between; a correct grid is the answer. Not together with rollouts.
      depth: maximum iterations of an iterative network at a position; None for its configured number.
      sure: probability of a digit at which the iterations stop; 1 for all iterations.
      chunk: positions that the network evaluates together; None suits the machine. Positions that the rules solve or
        refute are not evaluated.
      pooled: whether an iterative network starts a position as soon as another one is finished, not a chunk at a
        time; None suits the machine: not on a CPU.
    """

    simulations: Positive = 256
    rules: Rules = "locked"
    cell: Cell = "doubtful"
    prior: Literal["network", "uniform"] = "network"
    value: Literal["network", "rollout", "both", "none"] = "network"
    reward: Reward = "solved"
    rollout: Literal["draw", "surest"] = "draw"
    votes: Positive = 1
    temperature: NonNegative = 0.0
    complete: bool = True
    depth: Positive | None = None
    sure: Share = 0.99
    chunk: Positive | None = None
    pooled: bool | None = None

    @property
    def plays(self) -> bool:
        """Whether evaluation uses rollouts."""
        return self.value in ("rollout", "both")

    @property
    def asks(self) -> bool:
        """Whether the search calls the network."""
        return self.prior == "network" or self.value in ("network", "both") or self.cell != "fewest"

    @property
    def completes(self) -> bool:
        """Whether positions are completed with the policy of one evaluation."""
        return self.complete and self.asks and not self.plays

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes and a chunk that suit a machine."""
        return with_chunk(super().resolve(board, platform), platform)


@dataclasses.dataclass(frozen=True)
class GumbelConfig(GuidedConfig):
    """Settings of ``gumbel``.

    Attributes:
      considered: maximum number of digits considered at the root.
    """

    considered: Positive = 4


@dataclasses.dataclass(frozen=True)
class AlphaSudokuConfig(GuidedConfig, ScoredConfig):
    """Settings of ``alphasudoku``; ``exploration`` is the weight w of the prior.

    Attributes:
      formula: the score of moves: Q + w P / (1 + N) of the AlphaSudoku study, which tries every move once first, or
        AlphaZero's Q + w P sqrt(visits) / (1 + N) (study, alphazero).
    """

    formula: Literal["study", "alphazero"] = "alphazero"


@dataclasses.dataclass(frozen=True)
class MctsConfig(ScoredConfig):
    """Settings of ``mcts``; ``exploration`` is c of UCT's Q + c sqrt(log(visits) / N).

    Attributes:
      reward: the reward of a rollout: 1 if it solves the puzzle (solved); the share of cells filled (filled); or this
        share scaled from -1 to 1, which is then the scale of all values (signed).
    """

    reward: Reward = "filled"


@dataclasses.dataclass(frozen=True)
class McgsConfig(SearchConfig):
    """Settings of ``mcgs``.

    Attributes:
      placements: maximum number of placements considered in a position, at least the board's side: first those of a
        cell with fewest candidates, then the most probable.
      exploration: w of PUCT's Q + w P sqrt(visits) / (1 + N).
      correction: an edge whose value differs from its node's by more than this is corrected.
      transpositions: whether equal positions share a node.
      depth: maximum iterations of an iterative network at a position; None for its configured number.
      sure: probability of a digit at which the iterations stop; 1 for all iterations.
      chunk: positions that the network evaluates together; None suits the machine. Positions that the rules solve or
        refute are not evaluated.
      pooled: whether an iterative network starts a position as soon as another one is finished, not a chunk at a
        time; None suits the machine: not on a CPU.
    """

    simulations: Positive = 32
    placements: Positive = 32
    exploration: NonNegative = 1.0
    correction: NonNegative = 0.01
    transpositions: bool = True
    depth: Positive | None = None
    sure: Share = 1.0
    chunk: Positive | None = None
    pooled: bool | None = None

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes and a chunk that suit a machine."""
        return with_chunk(super().resolve(board, platform), platform)


def most_nodes(config: SearchConfig, board: Board) -> int:
    """The nodes of a tree or graph: those of a search, or of all searches for a puzzle if the tree is kept."""
    return config.simulations * (1 if config.proves else board.cells) + 1


def counts_seen_grids(config: SearchConfig) -> bool:
    """Whether a search counts the different grids that its network has evaluated."""
    return isinstance(config, AlphaSudokuConfig) and not config.proofs and config.plays and config.rollout == "surest"


def _lane_bytes(config: SearchConfig, board: Board) -> int:
    packed = board.words * _NUMBER
    state = packed + _NUMBER + 2 * _FLAG
    nodes = most_nodes(config, board)
    if isinstance(config, McgsConfig):  # ``graph.Graph``: 4 numbers a node, 5 an edge, 2 for the whole
        edges = min(max(config.placements, board.side), board.candidates)
        tree = nodes * (state + (4 + 5 * edges) * _NUMBER) + 2 * _NUMBER
        moves, place = board.candidates, (2 * nodes + 3) * _NUMBER + 2 * _FLAG  # ``graph.At``
    else:  # ``mctx.Tree``: 5 numbers a node and a seed, 6 a move, 1 a move of the root
        tree = nodes * (state + (6 + 6 * board.side) * _NUMBER) + board.side * _NUMBER
        tree += board.side * _NUMBER * isinstance(config, GumbelConfig)  # Gumbel search has its noise too
        moves, place = board.side, 3 * _NUMBER + _FLAG * (not config.proves)  # ``proving.At``
    evaluation = state + (moves + 1) * _NUMBER
    # ``lanes.Work``: 3 numbers and 3 flags besides; ``lanes.Lanes``: 12 numbers and 5 flags besides
    work = packed + state + evaluation + 3 * _NUMBER + 3 * _FLAG + place
    lane = evaluation + (board.cells + 2) * packed + 12 * _NUMBER + 5 * _FLAG
    policy = board.candidates * _NUMBER * (isinstance(config, GuidedConfig) and config.completes)
    return work + lane + policy + tree
