"""Solvers of other projects (peers) that can be called from Python, with one interface.

A peer is prepared for a board, which is not timed, and then solves an array of puzzles. Each is used as fast as plain
Python allows, tdoku by a loop in C. Peers that are not installed are left out. Run as a script it lists them.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import importlib.util
import itertools
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board


class Peer:
    """A solver of another project.

    Attributes:
      name: its name on the command line.
      module: the module to import; the peer is installed if it is found.
      package: its distribution.
      boards: the boards it solves: "9x9", "classic" ones of any size, or "any".
      limitable: whether ``solve_each`` takes a limit.
      repeats: whether a call keeps nothing for the next one, so that short runs may repeat it.
    """

    name: str
    module: str
    package: str
    boards = "9x9"
    limitable = False
    repeats = False

    def available(self) -> bool:
        """Whether it is installed."""
        return importlib.util.find_spec(self.module) is not None

    def fits(self, board: Board) -> bool:
        """Whether it solves puzzles of this board."""
        classic = board == Board.classic(board.side)
        return self.boards == "any" or (classic and (self.boards == "classic" or board.side == 9))

    def prepare(self, board: Board) -> None:
        """Prepares the solver for puzzles of a board; not timed."""
        self.board = board

    def solve(self, puzzles: np.ndarray) -> np.ndarray:
        """Solves uint8[N, cells]; returns uint8[N, cells], zeros where it finds there is no solution."""
        raise NotImplementedError

    def solve_each(self, puzzles: np.ndarray, limit: float | None = None) -> tuple[np.ndarray, ...]:
        """Solves one puzzle after another.

        Args:
          puzzles: uint8[N, cells].
          limit: the seconds after which a puzzle is given up, where the peer is ``limitable``; None for no limit.

        Returns:
          the grids uint8[N, cells], zeros without a solution; the seconds of each, float64[N]; and bool[N], which of
          them were not given up.
        """
        assert limit is None or self.limitable
        grids, seconds, decided = np.zeros_like(puzzles), np.zeros(len(puzzles)), np.ones(len(puzzles), bool)
        for number in range(len(puzzles)):
            start = time.perf_counter()
            grid = self._solve_within(puzzles[number : number + 1], limit)
            seconds[number] = time.perf_counter() - start
            decided[number] = grid is not None
            grids[number] = 0 if grid is None else grid
        return grids, seconds, decided

    def _solve_within(self, puzzle: np.ndarray, limit: float | None) -> np.ndarray | None:
        """The grid uint8[cells] of a puzzle uint8[1, cells]; None if it is given up."""
        del limit
        return self.solve(puzzle)[0]

    def count(self, puzzles: np.ndarray, limit: int) -> np.ndarray:
        """Counts solutions of uint8[N, cells] up to ``limit``; returns int32[N].

        Raises:
          NotImplementedError: the peer can't count.
        """
        raise NotImplementedError(f"{self.name} can't count solutions")


class Minisat22(Peer):
    """Minisat 2.2 from python-sat: one solver for all puzzles, the givens as assumptions.

    A variable a candidate, ``cell * side + digit``; exactly one digit a cell and exactly one cell a house and digit,
    "at most one" being encoded pairwise.
    """

    name, module, package, boards = "minisat22", "pysat", "python-sat", "any"

    #: Puzzles after which counting uses a new solver: each leaves a variable behind, which is in every later model.
    _COUNTED_BY_ONE = 1000

    def prepare(self, board: Board) -> None:
        super().prepare(board)
        self._clauses = list(self._exactly_once(board))
        self._solver = self._new()

    def _new(self) -> Any:
        from pysat.solvers import Minisat22 as Solver

        return Solver(bootstrap_with=self._clauses)

    @staticmethod
    def _exactly_once(board: Board) -> Iterator[list[int]]:
        side = board.side
        cells = [[cell * side + digit + 1 for digit in range(side)] for cell in range(board.cells)]
        places = [[cell * side + digit + 1 for cell in house] for house in board.houses for digit in range(side)]
        yield from cells + places
        # a row and a box share pairs, which are encoded once
        pairs = {pair for group in cells + places for pair in itertools.combinations(group, 2)}
        yield from ([-one, -other] for one, other in sorted(pairs))

    def _givens(self, puzzles: np.ndarray) -> list[list[int]]:
        """The variables of each puzzle's givens."""
        rows, cells = np.nonzero(puzzles)
        variables = (cells * self.board.side + puzzles[rows, cells]).tolist()
        ends = np.cumsum(np.count_nonzero(puzzles, axis=1)).tolist()
        return [variables[start:end] for start, end in itertools.pairwise([0, *ends])]

    def solve(self, puzzles: np.ndarray) -> np.ndarray:
        solve, model_of, nothing = self._solver.solve, self._solver.get_model, [0] * self.board.cells
        # exactly one variable a cell is true, and they come in the order of the cells
        found = [
            [variable for variable in model_of() if variable > 0] if solve(assumptions=givens) else nothing
            for givens in self._givens(puzzles)
        ]
        true = np.array(found, np.int32).reshape(-1, self.board.cells)
        return np.where(true > 0, (true - 1) % self.board.side + 1, 0).astype(np.uint8)

    def count(self, puzzles: np.ndarray, limit: int) -> np.ndarray:
        counts = []
        for start in range(0, len(puzzles), self._COUNTED_BY_ONE):
            solver = self._new()
            block = self._givens(puzzles[start : start + self._COUNTED_BY_ONE])
            # a solution found is forbidden for as long as the puzzle's own switch is assumed
            for switch, givens in enumerate(block, self.board.candidates + 1):
                count = 0
                while count < limit and solver.solve(assumptions=[*givens, switch]):
                    count += 1
                    if count < limit:
                        solution = solver.get_model()[: self.board.candidates]
                        solver.add_clause([-switch, *(-v for v in solution if v > 0)])
                solver.add_clause([-switch])
                counts.append(count)
            solver.delete()
        return np.array(counts, np.int32)


class FreshSat(Minisat22):
    """A SAT solver from python-sat, a new one for each puzzle, with the givens as clauses.

    Args:
      name: what python-sat calls it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.limitable = not name.startswith("cadical")  # python-sat cannot interrupt it

    def prepare(self, board: Board) -> None:
        Peer.prepare(self, board)
        self._clauses = list(self._exactly_once(board))

    def solve(self, puzzles: np.ndarray) -> np.ndarray:
        return self.solve_each(puzzles)[0]

    def solve_each(self, puzzles: np.ndarray, limit: float | None = None) -> tuple[np.ndarray, ...]:
        """As ``Peer.solve_each``; reading the clauses of the board is not timed."""
        from pysat.solvers import Solver

        grids, seconds, decided = np.zeros_like(puzzles), np.zeros(len(puzzles)), np.ones(len(puzzles), bool)
        for number, givens in enumerate(self._givens(puzzles)):
            with Solver(self.name, bootstrap_with=self._clauses) as solver:
                start = time.perf_counter()
                for given in givens:
                    solver.add_clause([given])
                solved = solver.solve() if limit is None else _interrupted(solver, limit)
                seconds[number] = time.perf_counter() - start
                decided[number] = solved is not None
                if solved:
                    true = np.array([variable for variable in solver.get_model() if variable > 0], np.int32)
                    grids[number] = (true - 1) % self.board.side + 1
        return grids, seconds, decided


def _interrupted(solver: Any, limit: float) -> bool | None:
    """Whether the clauses of a solver of python-sat can be satisfied; None if that took longer than the limit."""
    timer = threading.Timer(limit, solver.interrupt)
    timer.start()
    try:
        return solver.solve_limited(expect_interrupt=True)
    finally:
        timer.cancel()
        timer.join()


class Rustoku(Peer):
    """rustoku, a solver in Rust, one call a puzzle."""

    name, module, package = "rustoku", "rustoku", "rustoku"

    def solve(self, puzzles: np.ndarray) -> np.ndarray:
        import rustoku  # type: ignore[import-not-found, unused-ignore]

        def solve(line: str) -> str:
            try:
                return rustoku.solve(line) or nothing
            except ValueError:  # raised for clashing givens
                return nothing

        nothing = "0" * 81
        text = "".join([solve(line) for line in _lines(puzzles)])
        return np.frombuffer(text.encode(), np.uint8).reshape(-1, 81) - ord("0")

    def count(self, puzzles: np.ndarray, limit: int) -> np.ndarray:
        import rustoku  # type: ignore[import-not-found, unused-ignore]

        return np.array([rustoku.count_solutions(line, limit) for line in _lines(puzzles)], np.int32)


class CpSat(Peer):
    """CP-SAT from ortools: an integer a cell, all different in every house, one worker."""

    name, module, package, boards = "cp-sat", "ortools", "ortools", "any"
    limitable = True

    def prepare(self, board: Board) -> None:
        from ortools.sat.python import cp_model  # type: ignore[import-not-found, unused-ignore]

        super().prepare(board)
        self._model = cp_model.CpModel()
        self._variables = [self._model.new_int_var(1, board.side, "") for _ in range(board.cells)]
        for house in board.houses:
            self._model.add_all_different([self._variables[cell] for cell in house])

    def solve(self, puzzles: np.ndarray) -> np.ndarray:
        grids = [self._solve_within(puzzle[None], None) for puzzle in puzzles]
        return np.array(grids, np.uint8).reshape(puzzles.shape)

    def _solve_within(self, puzzle: np.ndarray, limit: float | None) -> np.ndarray | None:
        return self.answer(self.pose(puzzle[0])[0], limit)

    def pose(self, puzzle: np.ndarray) -> tuple[Any, list[Any]]:
        """The model of a puzzle uint8[cells], to which constraints may be added, and the variables of its cells."""
        model = self._model.clone()
        for cell in np.flatnonzero(puzzle).tolist():
            model.add(self._variables[cell] == int(puzzle[cell]))
        return model, self._variables

    def answer(self, model: Any, limit: float | None = None) -> np.ndarray | None:
        """The grid uint8[cells] of a model, zeros without a solution; None if it took longer than ``limit`` seconds."""
        from ortools.sat.python import cp_model  # type: ignore[import-not-found, unused-ignore]

        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if limit is not None:
            solver.parameters.max_time_in_seconds = limit
        status = solver.solve(model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return np.array([solver.value(variable) for variable in self._variables], np.uint8)
        return None if status == cp_model.UNKNOWN else np.zeros(self.board.cells, np.uint8)


class PySudoku(Peer):
    """py-sudoku, backtracking in plain Python. Some puzzles with few givens take it minutes each."""

    name, module, package, boards = "py-sudoku", "sudoku", "py-sudoku", "classic"

    def solve(self, puzzles: np.ndarray) -> np.ndarray:
        from sudoku import Sudoku  # type: ignore[import-not-found, unused-ignore]

        side = self.board.side
        assert self.board.box is not None  # a classic board
        rows, columns = self.board.box
        grids = np.zeros_like(puzzles)
        for puzzle, grid in zip(puzzles, grids, strict=True):
            solved = Sudoku(columns, rows, board=puzzle.reshape(side, side).tolist()).solve().board
            grid[:] = [digit or 0 for row in solved for digit in row]
        return grids


class Tdoku(Peer):
    """tdoku, a solver in C++: one call of its library a puzzle, by a loop in C that ``cc`` compiles.

    Attributes:
      library: the shared library with its function ``TdokuSolverDpllTriadSimd``; None if it is not there.
    """

    name, package = "tdoku", "tdoku"
    repeats = True
    library: Path | None = None

    #: Puzzles and grids are digits; tdoku reads and writes texts. It gives the solution if the limit is 1.
    _LOOP = r"""
#include <stddef.h>
#include <stdint.h>
typedef size_t (*solver)(const char *, size_t, uint32_t, char *, size_t *);
void solve_all(solver solve, const uint8_t *puzzles, size_t number, size_t limit, uint8_t *grids, int32_t *counts) {
  for (size_t i = 0; i < number; i++) {
    const uint8_t *puzzle = puzzles + 81 * i;
    char text[96] = {0}, solution[96];
    size_t guesses;
    for (int cell = 0; cell < 81; cell++) text[cell] = puzzle[cell] ? '0' + puzzle[cell] : '.';
    counts[i] = solve(text, limit, 0, solution, &guesses);
    if (limit == 1 && counts[i])
      for (int cell = 0; cell < 81; cell++) grids[81 * i + cell] = solution[cell] - '0';
  }
}
"""

    def available(self) -> bool:
        return self.library is not None

    def prepare(self, board: Board) -> None:
        super().prepare(board)
        assert self.library is not None  # it is available
        self._solver, self._loop = self._loaded(self.library)

    @staticmethod
    @functools.cache
    def _loaded(library: Path) -> tuple[Any, Any]:
        """The library's function, and the loop."""
        solver = ctypes.cast(ctypes.CDLL(str(library.resolve())).TdokuSolverDpllTriadSimd, ctypes.c_void_p)
        with tempfile.TemporaryDirectory() as folder:
            loop = f"{folder}/loop.so"
            command = ["cc", "-O3", "-shared", "-fPIC", "-x", "c", "-", "-o", loop]
            subprocess.run(command, input=Tdoku._LOOP, text=True, check=True)
            return solver, ctypes.CDLL(loop).solve_all

    def solve(self, puzzles: np.ndarray) -> np.ndarray:
        return self._run(puzzles, 1)[0]

    def count(self, puzzles: np.ndarray, limit: int) -> np.ndarray:
        return self._run(puzzles, limit)[1]

    def _run(self, puzzles: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
        puzzles = np.ascontiguousarray(puzzles, np.uint8)
        grids, counts = np.zeros_like(puzzles), np.empty(len(puzzles), np.int32)
        number, most = ctypes.c_size_t(len(puzzles)), ctypes.c_size_t(limit)
        places = (ctypes.c_void_p(array.ctypes.data) for array in (grids, counts))
        self._loop(self._solver, ctypes.c_void_p(puzzles.ctypes.data), number, most, *places)
        return grids, counts


def _lines(puzzles: np.ndarray) -> list[str]:
    """Each puzzle as 81 characters."""
    text = (puzzles + ord("0")).tobytes().decode()
    return [text[start : start + 81] for start in range(0, len(text), 81)]


_MAKERS: tuple[Callable[[], Peer], ...] = (
    Minisat22,
    functools.partial(FreshSat, "glucose4"),
    functools.partial(FreshSat, "cadical195"),
    Rustoku,
    CpSat,
    PySudoku,
    Tdoku,
)

#: Every peer, by name.
PEERS: dict[str, Peer] = {peer.name: peer for peer in (make() for make in _MAKERS)}


def main() -> None:
    for peer in PEERS.values():
        version = importlib.metadata.version(peer.package) if peer.available() else "not installed"
        print(f"{peer.name}\t{peer.package} {version}\t{peer.boards}")


if __name__ == "__main__":
    main()
