"""Settings of solvers: rules, lanes, and what follows from the board and the platform. No JAX."""

from __future__ import annotations

import typing
from typing import Annotated, Any, Literal

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Config, Range
from jaxsudoku.runtime.suggestions import did_you_mean

#: The number of lanes of a kernel is a multiple of this, the bits of a word.
LANES = 32

#: Nodes in a step of the exact search of 9x9 on a CPU, whose planes fit its cache.
CPU_LANES = 2048

#: Searches at a time of an exact search with restarts on a CPU: fewer do not fill its vectors, more are too many for
#: the last puzzles of a batch.
CPU_SEARCHES = 64

#: The factor by which lanes are narrowed for the last puzzles of a queue; these run a second program.
NARROWER = 8

#: The rules of ``propagation``; each includes the one before it.
Rules = Literal["none", "naked", "singles", "locked"]
#: Those that remove a placed digit from its houses, which a complete search needs.
SearchRules = Literal["naked", "singles", "locked"]
RULES: tuple[str, ...] = typing.get_args(Rules)
#: What runs the rules in a step of the exact search: operations of XLA, or one Pallas kernel.
Settle = Literal["xla", "pallas"]

#: Bytes of a GPU's shared memory (H100 and later), and of a TPU's vector memory (v5e and v6e), that the Pallas kernel
#: may fill; and the bytes of a plane in it.
CHIP_BYTES = {"gpu": (227 << 10) - 2048, "tpu": 112 << 20}
PLANE_BYTES = {"gpu": 256, "tpu": 4096}


#: Searches whose branch nodes a rating by nodes averages, by default.
SEARCHES = 8

#: What puzzles can be rated by: branch nodes of searches, or the hardest technique.
RATED_BY = ("nodes", "technique")


def includes(rules: str, level: str) -> bool:
    """Whether rules apply a level, one of ``RULES``: each level includes those before it.

    Raises:
      ValueError: unknown rules.
    """
    if rules not in RULES:
        raise ValueError(f"unknown rules {rules!r}: choose one of {', '.join(RULES)}{did_you_mean(rules, RULES)}")
    return RULES.index(rules) >= RULES.index(level)


#: The number of lanes of a kernel.
Words = Annotated[int, Range(1, step=LANES)]
#: Rounds of the rules in a step; the most are far more than any board needs.
Rounds = Annotated[int, Range(1, 1000)]


class SolverConfig(Config):
    """Base of the settings of solvers, whose automatic values follow from the board and the platform."""

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with values for all that are automatic.

        Args:
          board: the board of the puzzles.
          platform: "cpu", "gpu" or "tpu".
        """
        del board, platform
        return self

    def summary(self, board: Board) -> str:
        """A line about resolved settings on a board, for people; may be empty."""
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


def chip_bytes(board: Board, platform: str) -> int:
    """Bytes that a block of planes takes on chip with ``settle="pallas"``; platform "gpu" or "tpu"."""
    copies = 1 if platform == "gpu" else 4  # a TPU reads the next block and writes the last one meanwhile
    sizes = (copies * board.candidates, 2 * board.cells, copies)
    return sum(-(-size * PLANE_BYTES[platform] // 1024) * 1024 for size in sizes)


def fits_chip(board: Board, platform: str) -> bool:
    """Whether ``settle="pallas"`` fits a chip of a platform; "cpu" has no limit."""
    return platform not in CHIP_BYTES or chip_bytes(board, platform) <= CHIP_BYTES[platform]


def check_settle(board: Board, settle: str, platform: str, restarts: bool) -> None:
    """Checks that a search can settle so.

    Args:
      board: the board.
      settle: one of ``Settle``.
      platform: "cpu", "gpu" or "tpu".
      restarts: whether it is a search with restarts.

    Raises:
      ValueError: it has restarts, or the board's planes don't fit the chip.
    """
    if settle != "pallas":
        return
    if restarts:
        raise ValueError(
            'settle "pallas" runs on planes, and a search with restarts on masks: leave out settle, or set restart to '
            '"never"'
        )
    if not fits_chip(board, platform):
        raise ValueError(
            f'settle "pallas" keeps a board on chip: {board} takes {chip_bytes(board, platform):,} bytes there, and a '
            f'{platform.upper()} has {CHIP_BYTES[platform]:,}; use settle "xla"'
        )


def exact_lanes(board: Board, platform: str) -> int:
    """The automatic number of lanes of the exact search that a board is searched by."""
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
