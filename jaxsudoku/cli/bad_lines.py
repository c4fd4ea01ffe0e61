"""Reports of malformed lines, clashing givens and wrong solutions, as ``file:line: cause``."""

from __future__ import annotations

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import clashing, first_clash
from jaxsudoku.io import Chunk, LineError
from jaxsudoku.runtime.terminal.progress import Screen

from .report import QUOTED


class BadLines:
    """Reports bad lines: the first few immediately, the number of the others at the end; and ignored candidates.

    Args:
      screen: where to report.
      source: the name of the input.
      board: the board of the puzzles.

    Attributes:
      count: the number of bad lines.
      within: whether the command uses the candidates that the input lists.
    """

    def __init__(self, screen: Screen, source: str, board: Board) -> None:
        self.count = 0
        self.within = False
        self._listed = self._mixed = 0
        self._screen, self._source, self._board = screen, source, board

    def add(self, chunk: Chunk, clashes: np.ndarray) -> None:
        """Reports the malformed puzzles of a chunk, and those in the rows ``clashes``, whose givens clash."""
        self._listed += int(chunk.listed.sum())
        self._mixed += 0 if chunk.mixed is None else int(chunk.mixed.sum())
        quoted = max(0, QUOTED - self.count)
        self.count += len(chunk.errors) + len(clashes)
        errors = [
            *chunk.errors[:quoted],
            *(
                LineError(self._source, int(chunk.lines[row]), describe_clash(self._board, chunk.grids[row]))
                for row in clashes[:quoted]
            ),
        ]
        for error in sorted(errors, key=lambda error: error.line)[:quoted]:
            self._report(error)

    def _report(self, error: LineError) -> None:
        self._screen.say(str(error))

    def _say_more(self) -> None:
        if self.count > QUOTED:
            self._screen.say(f"... and {self.count - QUOTED} more")

    def finish(self) -> None:
        """Reports the number of unquoted lines, blanks of two kinds, and ignored candidates."""
        self._say_more()
        if self._mixed:
            have = "puzzle has" if self._mixed == 1 else "puzzles have"
            self._screen.say(
                f"{self._source}: {self._mixed:,} {have} both 0 and another blank: both were taken as blanks"
            )
        if self._listed and not self.within:
            lists = "puzzle lists" if self._listed == 1 else "puzzles list"
            self._screen.say(f"{self._source}: {self._listed:,} {lists} candidates, which this command leaves out")


def describe_clash(board: Board, grid: np.ndarray) -> str:
    """The first clash of a grid uint8[cells], as in "the givens clash: 5 twice in row 1".

    Raises:
      ValueError: nothing clashes.
    """
    return f"the givens clash: {first_clash(grid, board)}"


def unsolved(board: Board, puzzles: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Whether solutions are wrong (incomplete, clashing, or against the givens): two uint8[n, cells] to bool[n]."""
    wrong: np.ndarray = _misfits(puzzles, solutions).any(axis=1) | clashing(solutions, board)
    return wrong


def describe_unsolved(board: Board, puzzle: np.ndarray, solution: np.ndarray) -> str:
    """The fault of a solution uint8[cells], as in "the solution is wrong: 5 twice in row 1".

    Raises:
      ValueError: it is right.
    """
    misfits = np.flatnonzero(_misfits(puzzle, solution))
    if not len(misfits):
        return f"the solution is wrong: {first_clash(solution, board)}"
    cell = int(misfits[0])
    row, column = divmod(cell, board.side)
    given = f", where {puzzle[cell]} is given" if puzzle[cell] else ""
    return f"the solution is wrong: {solution[cell] or 'nothing'} in row {row + 1}, column {column + 1}{given}"


def _misfits(puzzles: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Whether cells of solutions are empty or differ from the givens, bool."""
    misfits: np.ndarray = (solutions == 0) | ((puzzles > 0) & (puzzles != solutions))
    return misfits
