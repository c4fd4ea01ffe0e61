"""Random solved grids: solved, spread over all there are, and each from its seed alone."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.board import Board
from jaxsudoku.generation.grids import random_grids

SIZE = 200


@functools.cache
def kernel(board, lanes=64):
    return jax.jit(functools.partial(random_grids, board, lanes=lanes), compiler_options=js.compiler_options())


def grids(board, seeds, lanes=64):
    """Grids of seeds that differ in their second halves alone."""
    seeds = np.asarray(seeds, np.uint32)
    return np.asarray(kernel(board, lanes)(np.stack([np.full_like(seeds, 7), seeds], axis=1)))


@pytest.mark.parametrize("board", reference.SMALL.values(), ids=reference.SMALL)
def test_grids_are_solved(board):
    made = grids(board, range(SIZE))
    assert all(reference.is_solution(board, grid) for grid in made)


def test_nine_by_nine():
    board = Board.classic()
    made = grids(board, range(SIZE))
    assert np.asarray(js.is_solved(made, board)).all()
    assert len(np.unique(made, axis=0)) == SIZE


@pytest.mark.slow
def test_a_large_board_is_searched_and_its_grids_depend_on_their_seeds_alone():
    board = Board.classic(12)
    made = grids(board, range(SIZE))
    assert np.asarray(js.is_solved(made, board)).all()
    assert len(np.unique(made, axis=0)) == SIZE
    assert len(np.unique(made[:, 0])) == board.side  # any digit may come first
    np.testing.assert_array_equal(grids(board, range(100, 107)), made[100:107])


def test_all_grids_of_side_four_come_up():
    made = grids(Board.classic(4), range(4000))
    assert len(np.unique(made, axis=0)) == 288


@pytest.mark.parametrize("lanes", [32, 256])
def test_a_grid_is_its_seeds_whatever_the_batch(lanes):
    board = Board.classic(6)
    whole = grids(board, range(SIZE))
    np.testing.assert_array_equal(grids(board, range(SIZE), lanes), whole)
    np.testing.assert_array_equal(grids(board, range(100, 107)), whole[100:107])


def test_a_board_without_solved_grids_gives_zeros():
    # the extra house and the first row share three cells, so their fourths must be equal, but these share a column
    board = Board(4, box=(2, 2), extra=((0, 1, 2, 7),))
    assert not js.count_solutions(np.zeros(16, np.uint8), board, limit=1)
    assert not grids(board, range(200)).any()
