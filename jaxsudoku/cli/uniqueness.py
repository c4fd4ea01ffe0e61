"""Whether solved puzzles have further solutions, for files that say that none has."""

from __future__ import annotations

import concurrent.futures
import time
from typing import Any

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.io import Chunk
from jaxsudoku.solution import Solution, Status


class Uniqueness:
    """Counts the solved puzzles that have more than one solution, by a second search of each.

    Args:
      board: the board.
      batch_size: puzzles searched at a time.
      devices: the devices.

    Attributes:
      several: puzzles that have at least two solutions. One whose second search is given up is not among them.
      seconds: the time that it took.
    """

    def __init__(self, board: Board, batch_size: int, devices: Any) -> None:
        from jaxsudoku.batches import Engine
        from jaxsudoku.solvers import driver

        self.several, self.seconds = 0, 0.0
        self._engine = Engine(driver.second_solution_kernel(), board, 0, batch_size, devices)

    def compile(self, size: int) -> None:
        """Compiles the search for batches of ``size`` puzzles."""
        self._engine.compile(size)

    def add(self, chunk: Chunk, solution: Solution) -> None:
        """Searches the solved puzzles of a chunk once more."""
        start = time.perf_counter()
        solved = np.asarray(solution.status) == Status.SOLVED
        # all of the chunk, so that there is one size to compile for
        grids = np.where(solved[:, None], chunk.grids, np.uint8(255))
        # in a thread, as a signal is heard only while the main thread runs Python or waits
        pool = concurrent.futures.ThreadPoolExecutor(1)
        try:
            counts = pool.submit(next, self._engine.stream([grids])).result()
        finally:
            pool.shutdown(wait=False)
        self.several += int((counts[solved] > 1).sum())
        self.seconds += time.perf_counter() - start
