"""How much memory a search takes, and how many lanes have room in a machine."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from jaxsudoku.board import Board
from jaxsudoku.settings import LANES, fitting_lanes

from .config import GuidedConfig, GuidedExactConfig, GumbelConfig, McgsConfig, MctsConfig, SearchConfig

#: Lanes of a 9x9 board on an accelerator.
_ACCELERATOR_LANES = 2048

#: Bytes set aside for what all lanes have grown, on a thread of a CPU or on an accelerator.
_ROOM = {"cpu": 1 << 30}
_ACCELERATOR_ROOM = 8 << 30

#: Positions that a network looks at together: with more of them CubeNet is no faster in a thread, whose cache holds
#: few, and a batch's last puzzles are few; an accelerator takes all lanes.
_TOGETHER = {"cpu": 2}

#: Bytes of a number, and of a truth value.
_NUMBER, _FLAG = 4, 1


_Guided = TypeVar("_Guided", bound=GuidedConfig | McgsConfig | GuidedExactConfig)


def lane_bytes(config: SearchConfig, board: Board) -> int:
    """The bytes that a puzzle takes while it is searched: its tree or graph, and the stack of what was left undecided.

    That is the simulations, and one more, times what a node takes: its position, its numbers, and those of its moves.
    The network's own memory comes besides, and so does a second copy where the compiler makes one.
    """
    packed = board.words * _NUMBER
    state = packed + _NUMBER + 2 * _FLAG
    graph = isinstance(config, McgsConfig)
    plays = isinstance(config, MctsConfig) or (isinstance(config, GuidedConfig) and config.value in ("rollout", "both"))
    answer = packed * plays
    moves = board.candidates if graph else board.side
    # ``lanes.Lanes``: the stack, the evaluated root, 7 further numbers and a flag
    lane = board.cells * packed + state + (moves + 3) * _NUMBER + _FLAG + answer + 7 * _NUMBER + _FLAG
    if isinstance(config, McgsConfig):  # ``graph.Graph``: 4 numbers a node, 5 an edge, 2 for the whole
        edges = min(max(config.placements, board.side), board.candidates)
        lane += 2 * _NUMBER
        node = state + (4 + 5 * edges) * _NUMBER
    else:  # ``mctx.Tree``: 5 numbers a node, 6 a move, 1 a move of the root; ``trees.Node``: 3 and a flag besides
        lane += board.side * _NUMBER * (1 + isinstance(config, GumbelConfig))  # Gumbel search has its noise too
        node = state + answer + (5 + 6 * board.side + 3) * _NUMBER + _FLAG
    return lane + (config.simulations + 1) * node


def fit(config: SearchConfig, board: Board, platform: str) -> SearchConfig:
    """The settings with lanes that suit a machine: fewer on a wider board, and as many at most as there is room for.

    The other puzzles of a batch wait for a lane, so a batch of any size needs no more than that.
    """
    room = _ROOM.get(platform, _ACCELERATOR_ROOM) // lane_bytes(config, board)
    lanes = config.lanes or fitting_lanes(board, platform, _ACCELERATOR_LANES)
    fitted = dataclasses.replace(config, lanes=min(lanes, max(room // LANES * LANES, LANES)))
    return _together(fitted, platform) if isinstance(fitted, (GuidedConfig, McgsConfig)) else fitted


def fit_exact(config: GuidedExactConfig, board: Board, platform: str) -> GuidedExactConfig:
    """The settings with lanes that suit a machine; the stack of nodes is small beside what a network needs."""
    lanes = config.lanes or fitting_lanes(board, platform, _ACCELERATOR_LANES)
    return _together(dataclasses.replace(config, lanes=lanes), platform)


def _together(config: _Guided, platform: str) -> _Guided:
    """The settings with positions looked at together that suit a machine."""
    return dataclasses.replace(config, together=config.together or _TOGETHER.get(platform, config.lanes))


def told(config: SearchConfig, board: Board) -> str:
    """What fitted settings come to, for people."""
    each = lane_bytes(config, board)
    together = f"{config.lanes} puzzles searched together by each thread or device"
    return f"{together}, {each:,} bytes a puzzle, {config.lanes * each / 2**20:,.1f} MiB"
