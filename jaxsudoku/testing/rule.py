"""Conformance check of propagation rules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.devices import compiler_options

from . import plain
from .failing import require

#: Number of puzzles in the batch: two words of planes.
LANES = 64

#: Maximum number of solutions of a puzzle that are compared.
_SOLUTIONS = 30


def check_rule(function: Callable[[Any, Board], Any], board: Board | None = None) -> None:
    """Checks a propagation rule, a function of planes uint32[side, side, side, W] and a board, on 64 puzzles.

    - It only removes candidates.
    - It removes no candidate that a solution of the puzzle uses (soundness).
    - A lane's result is independent of the other lanes.
    - It is monotone: a subset of the candidates that contains a solution gives a subset of the result.

    Args:
      function: the rule, which can be jitted, such as ``functools.partial(propagate, rules="naked")``.
      board: the board; None for the classic 4x4. Puzzles are solved by brute force, so wide boards take long.

    Raises:
      AssertionError: a property fails; the message names it, and a puzzle.
    """
    board = board or Board.classic(4)
    program = jax.jit(lambda planes: function(planes, board), compiler_options=compiler_options())
    shape = (LANES, *(board.side,) * 3)

    def deduce(left: np.ndarray) -> np.ndarray:
        planes = plain.from_lanes(left.reshape(shape))
        after = np.asarray(program(planes))
        require(
            (after.dtype, after.shape) == (planes.dtype, planes.shape),
            f"the rule returns {after.dtype}{list(after.shape)} for planes uint32{list(planes.shape)}",
        )
        return plain.to_lanes(after).reshape(left.shape)

    check_deductions(deduce, board)


def check_deductions(deduce: Callable[[np.ndarray], np.ndarray], board: Board) -> None:
    """``check_rule`` for a rule on candidates bool[64, side, cells]."""
    puzzles, used = _used(board)
    rng, left = np.random.default_rng(0), plain.candidates(board, puzzles)
    after = deduce(left)
    noise = rng.random(left.shape) < rng.choice([0.2, 0.5, 0.8, 0.95], (LANES, 1, 1))
    for before, found in ((left, after), (noise, deduce(noise))):
        _check_lanes(found & ~before, "the rule adds a candidate", puzzles)
    _check_lanes(used & ~after, "the rule removes a candidate that a solution uses", puzzles)

    order = rng.permutation(LANES)
    kept = rng.random((LANES, 1, 1)) < 0.5
    beside = kept & (deduce(np.where(kept, left, noise)) != after)
    _check_lanes(beside, "the result of a lane depends on the other lanes", puzzles)
    _check_lanes(deduce(left[order]) != after[order], "the result of a lane depends on its place", puzzles[order])

    grids = np.array([plain.full_grid(board, rng) for _ in range(LANES)])
    solution = plain.candidates(board, grids)
    more = solution | (rng.random(left.shape) < 0.6)
    fewer = solution | (more & (rng.random(left.shape) < 0.8))
    _check_lanes(deduce(fewer) & ~deduce(more), "the rule removes less where fewer candidates are left", grids)


@functools.cache
def _used(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """Puzzles uint8[64, cells], and the candidates bool[64, side, cells] that some of their solutions use."""
    puzzles = plain.batch(board, LANES)
    rng = np.random.default_rng(0)
    found = [plain.solutions(board, puzzle, _SOLUTIONS, rng) for puzzle in puzzles]
    grids = [np.array(each, np.uint8).reshape(-1, board.cells) for each in found]
    return puzzles, np.array([plain.candidates(board, each).any(axis=0) for each in grids])


def _check_lanes(wrong: np.ndarray, what: str, puzzles: np.ndarray) -> None:
    """Raises AssertionError with the first puzzle for which one of bool[64, side, cells] is set."""
    for lane in np.flatnonzero(wrong.any(axis=(1, 2))):
        digit, cell = np.argwhere(wrong[lane])[0] + (1, 0)
        require(False, f"{what}: digit {digit} in cell {cell}", puzzle=puzzles[lane])
