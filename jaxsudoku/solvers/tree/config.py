"""Settings of the tree searches, and how much memory they take."""

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
    Rules,
    Words,
    fitting_lanes,
)

from ..config import Cell, with_chunk

#: What playing on to the end may be worth: 1 if it solves the puzzle, or the share of cells it fills, or that from -1
#: for none to 1 for all. With the last one every other worth is on that scale too.
Reward = Literal["solved", "filled", "signed"]

#: Bytes set aside for what all lanes have grown, on a thread of a CPU or on an accelerator.
_ROOM = {"cpu": 1 << 30}
_ACCELERATOR_ROOM = 8 << 30

#: Bytes of a number, and of a truth value.
_NUMBER, _FLAG = 4, 1


@dataclasses.dataclass(frozen=True)
class SearchConfig(Config):
    """Settings that all searches have.

    Attributes:
      simulations: positions that a search adds to its tree before the root moves on.
      rules: what is deduced after every move, to the end: none, naked, singles or locked, each with all that the one
        before it does. With none a cell is filled by a move alone, even where one digit is left for it.
      budget: grids looked at after which an attempt at a puzzle ends; None for no limit, and a complete search.
      restarts: how often a puzzle whose budget is spent begins anew, seen under a random symmetry of the board.
      lanes: puzzles that are searched together, a multiple of 32, and cut to what there is room for; None
        suits the machine.
    """

    simulations: Positive = 16
    rules: Rules = "singles"
    budget: Positive | None = None
    restarts: Natural = 0
    lanes: Words | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.restarts and not self.budget:
            raise ValueError("restarts are for searches that end with a budget; without one they never begin")

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes that suit a machine: fewer on a wider board, and as many as there is room for.

        The other puzzles of a batch wait for a lane, so a batch of any size needs no more than that.
        """
        room = _ROOM.get(platform, _ACCELERATOR_ROOM) // self.lane_bytes(board) // LANES * LANES
        lanes = self.lanes or fitting_lanes(board, platform, cpu=64, accelerator=2048, least=LANES, step=LANES)
        return dataclasses.replace(self, lanes=min(lanes, max(room, LANES)))

    def lane_bytes(self, board: Board) -> int:
        """The bytes that a puzzle takes while it is searched: its tree or graph, and the stack of undecided positions.

        That is the simulations, and one more, times what a node takes: its position, its numbers, and those of its
        moves. The network's own memory comes besides, and so does a second copy where the compiler makes one.
        """
        return _lane_bytes(self, board)

    def summary(self, board: Board) -> str:
        """What resolved settings come to, for people."""
        each, lanes = self.lane_bytes(board), self.lanes or 0
        together = f"{lanes} puzzles searched together by each thread or device"
        return f"{together}, {each:,} bytes a puzzle, {lanes * each / 2**20:,.1f} MiB"


@dataclasses.dataclass(frozen=True)
class TreeConfig(SearchConfig):
    """Settings that searches of trees have besides.

    Attributes:
      reuse: the root moves on along its tree as long as a position has had this share of the simulations.
    """

    reuse: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.reuse <= 1:
            raise ValueError(f"reuse must be above 0 and at most 1, not {self.reuse}")


@dataclasses.dataclass(frozen=True)
class GuidedConfig(TreeConfig):
    """Settings that searches by a network have besides.

    Attributes:
      cell: the cell that a move is about. fewest: the first with fewest choices; likely, doubtful: of those with fewest
        the one whose digit the network is surest of, or least sure of; surest: of all cells the one whose digit it is
        surest of.
      prior: what is tried first: what the network says, or all digits alike (network, uniform).
      value: what a position is worth that is neither solved nor refuted: the probability by the network's value head
        that it has a solution; what playing on comes to, with digits drawn by the prior; the mean of both; or one half
        (network, rollout, both, none).
      reward: what playing on is worth at its end: 1 if it solves the puzzle, or the share of cells it fills, or that
        from -1 to 1, which is then the scale of all values (solved, filled, signed).
      temperature: scale of the Gumbel noise on the network's logits at the root, by which digits are drawn there.
      chunk: positions that the network evaluates together; None suits the machine. It looks at none that the rules
        solved or refuted.
    """

    simulations: Positive = 256
    cell: Cell = "doubtful"
    prior: Literal["network", "uniform"] = "network"
    value: Literal["network", "rollout", "both", "none"] = "network"
    reward: Reward = "solved"
    temperature: NonNegative = 0.0
    chunk: Positive | None = None

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes and a chunk that suit a machine."""
        return with_chunk(super().resolve(board, platform), platform)


@dataclasses.dataclass(frozen=True)
class GumbelConfig(GuidedConfig):
    """Settings of ``gumbel``.

    Attributes:
      considered: most digits that are tried at the root.
    """

    considered: Positive = 4


@dataclasses.dataclass(frozen=True)
class AlphaSudokuConfig(GuidedConfig):
    """Settings of ``alphasudoku``.

    Attributes:
      formula: which move is followed: the study's Q + w P / (1 + N), or AlphaZero's Q + w P sqrt(visits) / (1 + N)
        (study, alphazero).
      exploration: the weight w of the prior.
    """

    formula: Literal["study", "alphazero"] = "alphazero"
    exploration: NonNegative = 0.5


@dataclasses.dataclass(frozen=True)
class MctsConfig(TreeConfig):
    """Settings of ``mcts``.

    Attributes:
      exploration: c of UCT's Q + c sqrt(log(visits) / N).
      reward: what a rollout is worth: 1 if it solves the puzzle, or the share of cells it fills, or that from -1 to 1,
        which is then the scale of all values (solved, filled, signed).
    """

    exploration: NonNegative = 0.5
    reward: Reward = "filled"


@dataclasses.dataclass(frozen=True)
class McgsConfig(SearchConfig):
    """Settings of ``mcgs``.

    Attributes:
      placements: most placements that are considered in a position, at least the board's side: those of a cell with
        fewest choices, then the likeliest.
      exploration: w of PUCT's Q + w P sqrt(visits) / (1 + N).
      correction: an edge whose value differs by more than this from its node's is corrected.
      transpositions: whether positions are known again.
      chunk: positions that the network evaluates together; None suits the machine. It looks at none that the rules
        solved or refuted.
    """

    simulations: Positive = 32
    placements: Positive = 32
    exploration: NonNegative = 1.0
    correction: NonNegative = 0.01
    transpositions: bool = True
    chunk: Positive | None = None

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes and a chunk that suit a machine."""
        return with_chunk(super().resolve(board, platform), platform)


def _lane_bytes(config: SearchConfig, board: Board) -> int:
    packed = board.words * _NUMBER
    state = packed + _NUMBER + 2 * _FLAG
    graph = isinstance(config, McgsConfig)
    plays = isinstance(config, MctsConfig) or (isinstance(config, GuidedConfig) and config.value in ("rollout", "both"))
    answer = packed * plays
    moves = board.candidates if graph else board.side
    # ``lanes.Lanes``: the stack, the origin, the evaluated root, 7 further numbers and 2 flags
    lane = (board.cells + 1) * packed + state + (moves + 3) * _NUMBER + _FLAG + answer + 7 * _NUMBER + 2 * _FLAG
    if isinstance(config, McgsConfig):  # ``graph.Graph``: 4 numbers a node, 5 an edge, 2 for the whole
        edges = min(max(config.placements, board.side), board.candidates)
        lane += 2 * _NUMBER
        node = state + (4 + 5 * edges) * _NUMBER
    else:  # ``mctx.Tree``: 5 numbers a node, 6 a move, 1 a move of the root; ``trees.Node``: 3 and a flag besides
        lane += board.side * _NUMBER * (1 + isinstance(config, GumbelConfig))  # Gumbel search has its noise too
        node = state + answer + (5 + 6 * board.side + 3) * _NUMBER + _FLAG
    return lane + (config.simulations + 1) * node
