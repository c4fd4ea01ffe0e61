"""Settings of solvers: rules, and automatic values that depend on the board and the platform. No JAX."""

from __future__ import annotations

import typing
from typing import Annotated, Any, Literal

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Config, Range
from jaxsudoku.runtime.suggestions import did_you_mean

#: Numbers of lanes are multiples of this, the bits of a word.
LANES = 32

#: Nodes in a step of the exact search of 9x9 on a CPU, whose planes fit its cache.
CPU_LANES = 2048

#: Searches at a time of an exact search with restarts on a CPU: fewer do not fill its vectors, more are too many for
#: the last puzzles of a batch.
CPU_SEARCHES = 64

#: Factor by which the number of lanes is reduced for the last puzzles of a queue, which run in a second program.
NARROWER = 8

#: Levels of rules of ``propagation``; each includes the ones before it.
Rules = Literal["none", "naked", "singles", "locked"]
#: Levels of rules that a complete search can use: they remove a placed digit from its houses.
SearchRules = Literal["naked", "singles", "locked"]
RULES: tuple[str, ...] = typing.get_args(Rules)
#: Implementations of the rules in a step of the exact search: XLA operations on planes, a Pallas kernel on planes, or a
#: Pallas kernel on bands, which also reads the node and branches.
Settle = Literal["auto", "xla", "pallas", "bands"]

#: Bytes of a TPU's vector memory (v5e and v6e) that the Pallas kernel may fill, and the bytes of a plane in it.
CHIP_BYTES, PLANE_BYTES = 112 << 20, 4096

#: Searches whose branch nodes a rating by nodes averages, by default.
SEARCHES = 8

#: Measures of a puzzle's difficulty: branch nodes of searches, or the hardest technique.
RATED_BY = ("nodes", "technique")


def includes(rules: str, level: str) -> bool:
    """Whether rules apply a level, one of ``RULES``: each level includes those before it.

    Raises:
      ValueError: unknown rules.
    """
    if rules not in RULES:
        raise ValueError(f"unknown rules {rules!r}: choose one of {', '.join(RULES)}{did_you_mean(rules, RULES)}")
    return RULES.index(rules) >= RULES.index(level)


#: The type of a number of lanes.
Words = Annotated[int, Range(1, step=LANES)]
#: The type of a number of rounds of the rules in a step; the maximum exceeds what any board needs.
Rounds = Annotated[int, Range(1, 1000)]


class SolverConfig(Config):
    """Base class of the settings of solvers; ``resolve`` fills in automatic values."""

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with all automatic values filled in.

        Args:
          board: the board of the puzzles.
          platform: what ``devices.kind`` calls the device.
        """
        del board, platform
        return self

    def summary(self, board: Board) -> str:
        """A line that describes the resolved settings to people; may be empty."""
        del board
        return ""


def fitting_lanes(board: Board, platform: str, *, cpu: int, accelerator: int, least: int = 1, step: int = 1) -> int:
    """The automatic number of lanes, scaled so that all lanes have about as many candidates as on 9x9.

    Args:
      board: the board.
      platform: "cpu", "gpu" or "tpu".
      cpu: lanes on 9x9 on a CPU.
      accelerator: lanes on 9x9 on other platforms.
      least: fewest lanes on any board.
      step: lanes are a multiple of this, unless they are ``least``.
    """
    candidates = (cpu if platform == "cpu" else accelerator) * 9**3
    return max(candidates // board.candidates // step * step, least)


def search_restart(board: Board) -> int | None:
    """The nodes of the first run of an exact search with restarts; None for boards that are searched without.

    They are 100 on 16x16, and more on wider boards, as the number of cells.
    """
    return None if board.side < 12 else max(100, board.cells * 100 // 256)


def search_lanes(board: Board, platform: str) -> int:
    """The automatic number of searches at a time of an exact search with restarts.

    On a CPU the candidates fit its cache. On an accelerator the stacks, one for each lane, fill up to 2 GiB.
    """
    if platform == "cpu":
        return CPU_SEARCHES
    stack_bytes = board.cells**2 * (1 if board.side <= 8 else 2 if board.side <= 16 else 4 * -(-board.side // 32))
    return max(min((1 << 31) // stack_bytes, 1 << 14) // LANES * LANES, LANES)


def chip_bytes(board: Board) -> int:
    """Bytes of a TPU's vector memory that a block of planes takes with ``settle="pallas"``."""
    copies = 4  # the next block is read and the last one written meanwhile
    return (copies * board.candidates + 2 * board.cells + copies) * PLANE_BYTES


def band_box(board: Board) -> tuple[int, int] | None:
    """(rows, columns) of a box for ``settle="bands"``, exchanged if only then all bands fit a word; else None.

    Boards from 4x4 to 10x10 that have no houses besides rows, columns and boxes have bands.
    """
    if board.box is None or not board.has_boxes or board.irregular_houses or board.constraints:
        return None
    ways = (board.box, board.box[::-1])
    return next((box for box in ways if box[1] * (board.side + 1) <= 32 and box[0] <= 6), None)


def settle_for(board: Board, settle: Settle, platform: str, rules: str, restarts: bool) -> Settle:
    """The implementation of the rules to use; resolves "auto".

    Args:
      board: the board.
      settle: one of ``Settle``.
      platform: what ``devices.kind`` calls the device.
      rules: one of ``SearchRules``.
      restarts: whether it is a search with restarts.

    Raises:
      ValueError: it does not support the search, the board or the device.
    """
    suits = band_box(board) is not None and rules == "locked" and not restarts
    if settle == "auto":
        return "bands" if suits and platform == "gpu" else "xla"
    if settle == "xla":
        return settle
    if restarts:
        raise ValueError(
            f'settle "{settle}" is for searches without restarts, as masks of wide boards are settled by XLA alone: '
            'leave out settle, or set restart to "never"'
        )
    wanted = None
    if board.constraints:
        wanted = "a board without constraints"
    elif settle == "bands" and not suits:
        wanted = f'rules "locked" and a board with boxes, from 4x4 to 10x10, without further houses, not {board}'
    elif settle == "bands" and platform not in ("cpu", "gpu"):
        wanted = "an NVIDIA GPU of compute capability 9.0 (H100) or later, not another device"
    elif settle == "pallas" and platform not in ("cpu", "tpu"):
        wanted = 'a TPU; a GPU has "bands"'
    elif settle == "pallas" and platform == "tpu" and chip_bytes(board) > CHIP_BYTES:
        wanted = f"{chip_bytes(board):,} bytes on chip for {board}, and a TPU has {CHIP_BYTES:,}"
    if wanted:
        raise ValueError(f'settle "{settle}" needs {wanted}; use settle "xla", or leave it out')
    return settle


def exact_lanes(board: Board, platform: str) -> int:
    """The automatic number of lanes of the exact search, with or without restarts as the board needs."""
    return (node_lanes if search_restart(board) is None else search_lanes)(board, platform)


def node_lanes(board: Board, platform: str) -> int:
    """The automatic number of nodes in a step of the exact search without restarts.

    They fit the cache of a CPU, and fill an accelerator. On a CPU large boards have few lanes, so that the search of a
    single puzzle stays narrow.
    """
    if platform == "cpu":
        return CPU_LANES if board.side < 12 else 128
    most = (1 << 28) // (4 * board.words)
    return max(1 << min(most.bit_length() - 1, 18), CPU_LANES)
