"""Random solved grids: solved, spread over all there are, and each from its seed alone."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.core.board import Board
from jaxsudoku.generation.grids import random_grids

SIZE = 200


@functools.cache
def kernel(board, lanes=64):
    return jax.jit(functools.partial(random_grids, board, lanes=lanes), compiler_options=js.compiler_options())


def grids(board, seeds, lanes=64):
    """Grids of seeds that differ in their second halves alone."""
    seeds = np.asarray(seeds, np.uint32)
    return np.asarray(kernel(board, lanes)(np.stack([np.full_like(seeds, 7), seeds], axis=1)))


@pytest.mark.parametrize("name", ["4x4", "jigsaw-5"])
def test_grids_are_solved(name):
    board = reference.SMALL[name]
    made = grids(board, range(SIZE))
    assert all(reference.is_solution(board, grid) for grid in made)
    assert len(np.unique(made[:, 0])) == board.side  # any digit may come first


def test_all_grids_of_side_four_come_up():
    made = np.concatenate([grids(Board.classic(4), range(start, start + SIZE)) for start in range(0, 4000, SIZE)])
    assert len(np.unique(made, axis=0)) == 288


@pytest.mark.slow
def test_a_large_board_is_searched_and_its_grids_depend_on_their_seeds_alone():
    board = Board.classic(12)
    made = grids(board, range(SIZE))
    assert all(reference.is_solution(board, grid) for grid in made)
    assert len(np.unique(made, axis=0)) == SIZE
    np.testing.assert_array_equal(grids(board, range(100, 107)), made[100:107])


def test_a_grid_is_its_seeds_whatever_the_batch():
    board = Board.classic(4)
    whole = grids(board, range(SIZE))
    np.testing.assert_array_equal(grids(board, range(100, 107), lanes=32), whole[100:107])


def test_a_board_without_solved_grids_gives_zeros():
    # the extra house and the first row share three cells, so their fourths must be equal, but these share a column
    board = Board(4, box=(2, 2), extra=((0, 1, 2, 7),))
    assert not reference.solutions(board, [0] * 16, 1)
    assert not grids(board, range(SIZE)).any()
