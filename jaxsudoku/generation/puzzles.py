"""Puzzles without end: proper ones from random solved grids, to a number of clues, minimal, or of a wished rating.

A puzzle starts as a random solved grid under a random symmetry of its board. Its cells are blanked in random order,
each for good if no other solution comes up, until the wished number of clues is left or no clue can go (the puzzle is
then minimal). From there a search of the neighbourhood may lead on: put back a few clues, blank again, keep what is
better.

Each puzzle depends on the key, its index and its attempt alone, whatever the batch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array

from jaxsudoku import rating
from jaxsudoku.batches import Engine, default_batch_size, used_devices
from jaxsudoku.board import Board, check_board
from jaxsudoku.config import Config, Natural, Positive, real_number, settings_of, whole_number
from jaxsudoku.generation.reduction import PADDING, Attempt, Pattern, Puzzles, Row, reachable
from jaxsudoku.terminal.progress import Report, reports

#: Attempts at each puzzle before generation gives up.
ATTEMPTS = 200
#: Attempts that are made at a time once few 9x9 puzzles are missing; fewer on wider boards, where each costs more, and
#: with steps, which make each a long one.
_TOGETHER, _TOGETHER_WITH_STEPS = 1024, 256
#: Puzzles up to which a first attempt takes less time than compiling for speed.
_FEW = 64
#: Steps in the neighbourhood that an attempt makes by default where ratings are bounded from below.
_RATING_STEPS = 256
#: The fewest clues of a puzzle with one solution, where that is proved: 17 on 9x9 by McGuire, Tugemann and Civario,
#: "There is no 16-clue Sudoku" (2014), 4 on 4x4 by going through all puzzles.
_FEWEST_CLUES = {Board.classic(4): 4, Board.classic(9): 17}
#: The most clues that a minimal puzzle is known to have; that there are none with more is not proved.
_MOST_CLUES = {Board.classic(9): 40}


class GenerationError(RuntimeError):
    """Not all wished puzzles were found within the attempts.

    Attributes:
      found: ``Puzzles``, those that were.
    """

    def __init__(self, message: str, found: Puzzles) -> None:
        super().__init__(message)
        self.found = found


@dataclasses.dataclass(frozen=True)
class GenerateConfig(Config):
    """What puzzles are wished for.

    Attributes:
      clues: number of clues, or (fewest, most), each None where there is no bound; None for whatever a minimal puzzle
        has. Of a range a number is drawn evenly for each puzzle, which then has so many clues or, if it became minimal
        before, more.
      minimal: whether no clue may be superfluous; always so where no number of clues is wished for. Under a pattern: no
        set of clues that belong together. From 12x12 up: as far as proofs go that take 20,000 nodes.
      rating: (lowest, highest) rating, each None where there is no bound; or one of ``rating.GRADES``, such as "hard",
        which is kept as its range.
      pattern: a symmetry of the places of clues, one of ``PATTERNS``.
      steps: steps of the search in the neighbourhood that each attempt makes towards fewer clues or a higher rating;
        None for 256 where the rating is bounded from below, else 0.
      attempts: attempts at each puzzle before giving up.
    """

    clues: int | tuple[int | None, int | None] | None = None
    minimal: bool = False
    rating: tuple[float | None, float | None] | str | None = None
    pattern: Pattern = "none"
    steps: Natural | None = None
    attempts: Positive = ATTEMPTS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clues", _clues(self.clues))
        object.__setattr__(self, "rating", _rating(self.rating))
        fewest, most = self.clue_range(1 << 30)
        if not 0 <= fewest <= most:
            raise ValueError(f"clues must be a number or a range from few to many, not {self.clues}")
        low, high = self.rating_range()
        if not low <= high:
            raise ValueError(f"rating must be a range from low to high, not {self.rating}")
        if high < 0:
            raise ValueError(f"rating must be a range from low to high, not {self.rating}: no rating is below 0")
        if self.rating is not None and low > np.finfo(np.float32).max:
            raise ValueError(f"rating must be a float32, not from {low} on")
        if self.steps and self.rating_range()[0] <= 0 and most == 1 << 30:
            raise ValueError("steps lead to fewer clues or a higher rating: bound the clues above or the rating below")

    def clue_range(self, cells: int) -> tuple[int, int]:
        """The fewest and the most clues."""
        low, high = self.clues if isinstance(self.clues, tuple) else (self.clues, self.clues)
        return 0 if low is None else low, cells if high is None else high

    def rating_range(self) -> tuple[float, float]:
        """The lowest and the highest rating."""
        low, high = self.rating if isinstance(self.rating, tuple) else (None, None)
        return (0.0 if low is None else float(low), math.inf if high is None else float(high))

    @property
    def exhaustive(self) -> bool:
        """Whether clues are taken away until none can go."""
        return self.minimal or self.clues is None

    @property
    def neighbourhood_steps(self) -> int:
        """Steps of the search in the neighbourhood."""
        if self.steps is not None:
            return self.steps
        return _RATING_STEPS if self.rating_range()[0] > 0 else 0


def _clues(clues: Any) -> int | tuple[int | None, int | None] | None:
    """A number of clues, or a range of two as a tuple, as JSON and numpy have them too; ValueError if it is neither."""
    try:
        if isinstance(clues, list | tuple):
            fewest, most = (end if end is None else whole_number("clues", end, None, None) for end in clues)
            return fewest, most
        return clues if clues is None else whole_number("clues", clues, None, None)
    except ValueError:
        raise ValueError(f"clues must be a whole number or a range of two, not {clues!r}") from None


def _rating(bounds: Any) -> tuple[float | None, float | None] | None:
    """A range of ratings as a tuple, or that of a grade; ValueError if it is neither."""
    if isinstance(bounds, str):
        return rating.grade_range(bounds)
    try:
        low, high = (None, None) if bounds is None else (end if end is None else real_number("", end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"rating must be a range from low to high, not {bounds!r}") from None
    return None if bounds is None else (low, high)


def wished(options: Mapping[str, Any]) -> GenerateConfig:
    """The ``GenerateConfig`` with these fields; ValueError as ``settings_of`` raises it."""
    return settings_of(GenerateConfig, "generator", **options)


def generate(
    key: Array | int,
    count: int,
    board: Board | None = None,
    *,
    first: int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    **wishes: object,
) -> Puzzles:
    """Generates puzzles with exactly one solution each, on all devices and cores.

    Args:
      key: a JAX key or a seed.
      count: how many.
      board: the board; the classic 9x9 one by default.
      first: index of the first puzzle: ``generate(key, 10, first=5)`` gives the last ten of ``generate(key, 15)``.
      batch_size: puzzles on a device at a time; by default as many as suit the machine.
      devices: the devices to use; by default all of the default backend.
      progress: called with the number of puzzles found and ``count``, at the start and after each attempt at those that
        are missing; True shows a bar on the standard error.
      **wishes: fields of ``GenerateConfig``: ``clues``, ``minimal``, ``rating``, ``pattern``, ``steps``, ``attempts``.

    Returns:
      ``Puzzles``, in an order and with contents that depend on key and indices alone.

    Raises:
      ValueError: wishes that make no sense, or that no puzzle of the board can fulfil, such as 16 clues on 9x9.
      GenerationError: too many attempts failed, as for 17 clues on a 9x9 board; it has what was found.
    """
    count = whole_number("count", count, 0)
    first = whole_number("first", first, 0, None)
    board = board or Board.classic()
    config = wished(wishes)
    with reports(progress) as report:
        generator = Generator(key, board, config, batch_size, devices)
        return generator.make(first, count, lambda found, _: report(found, count))


class Generator:
    """Makes any stretch of an endless, numbered sequence of puzzles.

    Args:
      key: a JAX key or a seed.
      board: the board.
      config: the wishes.
      batch_size, devices: as in ``generate``.

    Raises:
      ValueError: wishes that no puzzle of the board can fulfil.
    """

    def __init__(
        self,
        key: Array | int,
        board: Board,
        config: GenerateConfig,
        batch_size: int | None = None,
        devices: Sequence[jax.Device] | None = None,
    ) -> None:
        _check_clues(check_board(board), config)
        self.board, self.config = board, config
        devices = used_devices(devices)
        if batch_size is None:
            batch_size = max(default_batch_size(board, devices) // 8, 64 * len(devices))
        kernel = Attempt(config.pattern, config.neighbourhood_steps)
        self._engine = Engine(kernel, board, key, batch_size, devices)
        few = _FEW * len(self._engine.devices)
        self._quick = Engine(dataclasses.replace(kernel, quick=True), board, key, few, devices)
        #: Rows of the batches of first attempts, 0 before the first.
        self._compiled = 0
        #: Attempts that are made at a time once few puzzles are missing.
        together = _TOGETHER_WITH_STEPS if config.neighbourhood_steps else _TOGETHER
        self._together = int(together * (9 / board.side) ** 6)
        #: Puzzles that are made at a time without a core or device having to wait.
        self.stretch = self._engine.batch_size * self._engine.workers
        if config.neighbourhood_steps:  # these take long, and should be seen
            self.stretch = max(self.stretch // 64, 1)

    def make(self, first: int, count: int, progress: Report = lambda found, attempts: None) -> Puzzles:
        """The puzzles numbered from ``first`` on; raises ``GenerationError`` as ``generate`` does.

        Args:
          first: the number of the first puzzle.
          count: how many.
          progress: called with the number of puzzles found and that of the attempts made at each of the others, at the
            start and whenever some were made.
        """
        if first < 0 or first + count > PADDING:
            raise ValueError(f"puzzles are numbered from 0 to {PADDING - 1}, not {first} to {first + count - 1}")
        cells = self.board.cells
        found = Puzzles(
            np.zeros((count, cells), np.uint8), np.zeros((count, cells), np.uint8), np.zeros(count, np.int32),
            np.zeros(count, np.float32),
        )  # fmt: skip
        progress(0, 0)
        everyone = np.arange(count)
        # the first attempt mostly does
        whole = self._engine.batch_size * self._engine.workers
        parts: list[np.ndarray] = []
        for start in range(0, count, whole):
            parts.append(self._try(found, first, everyone[start : start + whole], self._engine_for(count), 0, 1))
            progress(min(start + whole, count) - sum(map(len, parts)), 1)
        missing, attempt = np.concatenate([everyone[:0], *parts]), 1
        while len(missing) and attempt < self.config.attempts:
            # then several at a time, of which the first to succeed counts
            together = min(max(self._together // len(missing), 1), self.config.attempts - attempt)
            missing = self._try(found, first, missing, self._engine, attempt, together)
            attempt += together
            progress(count - len(missing), attempt)
        if not len(missing):
            return found
        kept = np.setdiff1d(np.arange(count), missing)
        raise GenerationError(
            f"{len(kept)} of {count} puzzles found: {self.config.attempts} attempts at each of the others failed "
            f"({self._wishes()} on {self.board})",
            Puzzles(*(part[kept] for part in found)),
        )

    def _engine_for(self, count: int) -> Engine:
        """The engine of the first attempts at so many puzzles: few that need no second one compile quickly."""
        _, most = self.config.clue_range(self.board.cells)
        few = self._engine.threaded and count <= self._quick.batch_size < self._engine.batch_size
        certain = self.config.rating is None and not self.config.neighbourhood_steps and most >= self.board.cells // 3
        return self._quick if few and certain and not self._compiled else self._engine

    def _least(self, engine: Engine, attempt: int) -> int:
        """Fewer rows are filled up to as many, so that few programs are compiled: one for any small number of them.

        First attempts at what is left over run the program that made the puzzles before.
        """
        if engine is self._quick:
            return engine.batch_size
        return max(min(self._together, engine.batch_size // 16), 0 if attempt else self._compiled)

    def _try(
        self, found: Puzzles, first: int, missing: np.ndarray, engine: Engine, attempt: int, together: int
    ) -> np.ndarray:
        """Makes so many attempts at the puzzles ``missing``, int[n]; puts those that succeed into ``found``.

        Returns:
          Those that are still missing.
        """
        rows = self._rows(np.tile(first + missing, together), attempt, together)
        padding = max(self._least(engine, attempt) - len(rows.number), 0)
        if engine is self._engine and not attempt:
            self._compiled = engine.split(len(rows.number) + padding)[0].stop
        padded = [np.pad(values, (0, padding), constant_values=PADDING) for values in rows]
        made = Puzzles(*(part[: len(rows.number)] for part in engine.run(np.stack(padded, axis=1))))
        made = made._replace(rating=rating.reported(made.rating))
        good = self._is_wished(made).reshape(together, -1)
        winner = good.argmax(axis=0) * len(missing) + np.arange(len(missing))
        settled = good.any(axis=0)
        for whole, part in zip(found, made, strict=True):
            whole[missing[settled]] = part[winner[settled]]
        return missing[~settled]

    def _rows(self, numbers: np.ndarray, attempt: int, together: int) -> Row:
        """Rows of so many attempts, from ``attempt`` on, one after the other, at the puzzles ``numbers``."""
        fewest, most = self.config.clue_range(self.board.cells)
        exhaustive = self.config.exhaustive
        low, _ = self.config.rating_range()
        row = Row(
            number=numbers,
            attempt=attempt + np.arange(together).repeat(len(numbers) // together),
            fewest=0 if exhaustive else fewest,
            most=0 if exhaustive else most,
            enough=most,
            goal=np.float32(low).view(np.uint32),
        )
        return Row(*(values.astype(np.uint32) for values in np.broadcast_arrays(*row)))

    def _is_wished(self, made: Puzzles) -> np.ndarray:
        fewest, most = self.config.clue_range(self.board.cells)
        low, high = self.config.rating_range()
        wished = made.solutions.any(axis=1) & (made.clues >= fewest) & (made.clues <= most)
        return wished & (made.rating >= low) & (made.rating <= high)

    def _wishes(self) -> str:
        fewest, most = self.config.clue_range(self.board.cells)
        low, high = self.config.rating_range()
        wishes = ["minimal"] * self.config.exhaustive
        if self.config.clues is not None:
            wishes.append(f"{fewest} clues" if fewest == most else f"{fewest} to {most} clues")
        if self.config.rating is not None:
            wishes.append(f"rating from {low:g}" + (f" to {high:g}" if high < math.inf else ""))
        if self.config.pattern != "none":
            wishes.append(f"pattern {self.config.pattern}")
        return ", ".join(wishes)


def fewest_clues(board: Board) -> int:
    """A number of clues below which no puzzle has one solution: the fewest where that is proved, else a safe bound.

    Where two digits are missing among the clues, swapping them makes another solution of any; so all but one occur.
    """
    return _FEWEST_CLUES.get(board, board.side - 1)


def most_minimal_clues(board: Board) -> int:
    """A number of clues that no known minimal puzzle exceeds: the most known, else a safe bound.

    A clue that completes its row is superfluous, so each row has an empty cell.
    """
    return _MOST_CLUES.get(board, board.cells - board.side)


def _check_clues(board: Board, config: GenerateConfig) -> None:
    """Raises ValueError with the reason if no puzzle of the board can have the wished clues."""
    fewest, most = config.clue_range(board.cells)
    if most > board.cells:
        raise ValueError(f"{most} clues; a board of {board} has {board.cells} cells")
    wished = f"{most} clues" if fewest == most else f"{fewest} to {most} clues"
    least = fewest_clues(board)
    if most < least:
        proved = board in _FEWEST_CLUES
        reason = "as is proved" if proved else "for two digits without a clue could be swapped"
        raise ValueError(f"{wished}: no puzzle of {board} with fewer than {least} has one solution, {reason}")
    # with a pattern, a clue that completes its row may belong to one that is needed
    largest = most_minimal_clues(board) if config.exhaustive and config.pattern == "none" else board.cells
    if fewest > largest:
        known = board in _MOST_CLUES
        reason = "is known" if known else "can be: a clue that completes its row is superfluous"
        raise ValueError(f"{wished}: no minimal puzzle of {board} with more than {largest} {reason}")
    if not any(max(fewest, least) <= clues <= most for clues in reachable(board, config.pattern)):
        raise ValueError(f"no {fewest} to {most} clues of a board of {board} make the pattern {config.pattern}")
