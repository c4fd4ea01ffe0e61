"""The search with restarts against a SAT solver: instances near the transition, half of them with a wrong clue."""

from __future__ import annotations

import numpy as np
import pytest
import reference

import jaxsudoku as js

#: Boards that are searched with restarts, and the share of cells that are given where about half need a search.
BOARDS = {"1x12": 0.55, "1x16": 0.57, "1x20": 0.58, "3x4": 0.35, "16": 0.4, "25": 0.52}

#: Small boards, which are searched with restarts by request.
SMALL = {"2x3": 0.25, "jigsaw-5": 0.25}


def instances(board: js.Board, given: float, count: int) -> np.ndarray:
    """Puzzles uint8[count, cells] with random holes; every other one has a clue that may be wrong."""
    puzzles = js.generate(count, count, board, holes="random", given=given).puzzles.copy()
    rng = np.random.default_rng(count)
    allowed = js.core.host_rules.allowed_candidates(puzzles, board)
    for puzzle, candidates in zip(puzzles[1::2], allowed[1::2], strict=True):
        cell = rng.choice(np.flatnonzero(puzzle == 0))
        if (digits := np.flatnonzero(candidates[:, cell])).size:
            puzzle[cell] = rng.choice(digits) + 1
    return puzzles


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(pytest.param(name, 24, marks=pytest.mark.slow) for name in ("1x12", "16", "2x3")),
        *(pytest.param(name, 2500, marks=pytest.mark.thorough) for name in (*BOARDS, *SMALL)),
    ],
)
def test_statuses_are_those_of_a_sat_solver(name, count):
    board = reference.SMALL[name] if name in SMALL else js.Board.named(name)
    puzzles = instances(board, (BOARDS | SMALL)[name], count)
    settings = {"restart": 2, "rules": "naked", "rounds": 1, "lanes": 64} if name in SMALL else {}
    found = js.solve(puzzles, board, **settings)
    sat = reference.Sat(board)
    for puzzle, grid, status in zip(puzzles, found.grids, found.status, strict=True):
        right = js.Status.SOLVED if sat.solver.solve(assumptions=sat.givens(puzzle)) else js.Status.UNSATISFIABLE
        assert status == right
        if status == js.Status.SOLVED:
            assert reference.is_solution(board, grid, puzzle)
    assert len(set(found.status.tolist())) == 2
