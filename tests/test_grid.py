"""Grids: judged as plain Python judges them, whatever the shape of the batch."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference

from jaxsudoku import grid
from jaxsudoku.board import Board

pytestmark = pytest.mark.quick

BOARDS = {**reference.SMALL, **reference.NINE, "16x16": Board.classic(16), "32x32": Board.classic(32)}
NINE = Board.classic()

by_board = functools.partial(jax.jit, static_argnames="board")
conflicts, is_valid, is_solved = by_board(grid.conflicts), by_board(grid.is_valid), by_board(grid.is_solved)


def some_grids(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """Full grids, and grids of every sort: full, with empty cells, with wrong digits and with values that are none."""
    rng = np.random.default_rng(0)
    full = np.array([reference.full_grid(board, rng) for _ in range(24)])
    grids = full.copy()
    for number, one in enumerate(grids[4:], 4):
        for _ in range(number % 5):
            one[rng.integers(board.cells)] = rng.integers(board.side + 2)
    grids[-1] = 0
    grids[-2] = 1
    grids[-3] = 255
    grids[-4] = rng.integers(0, 256, board.cells)
    return full, grids


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_grids_are_judged_as_by_hand(board):
    full, grids = some_grids(board)
    repeats = [reference.repeats(board, one) for one in grids]
    clashes = [reference.is_clash(board, one) for one in grids]
    solved = [reference.is_solution(board, one) for one in grids]
    assert len(set(clashes)) == len(set(solved)) == 2
    found = conflicts(grids, board)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, repeats)
    np.testing.assert_array_equal(is_valid(grids, board), np.logical_not(clashes))
    np.testing.assert_array_equal(is_solved(grids, board), solved)
    assert np.asarray(is_solved(full, board)).all()


@pytest.mark.parametrize("board", [NINE, Board.windoku()], ids=str)
def test_a_solved_grid_keeps_the_givens(board):
    full, grids = some_grids(board)
    rng = np.random.default_rng(1)
    givens = np.array([reference.blanked(one, 30, rng) for one in full])
    expected = [reference.is_solution(board, *pair) for pair in zip(grids, givens, strict=True)]
    np.testing.assert_array_equal(is_solved(grids, board, givens), expected)
    # a solved grid of another puzzle is no solution
    np.testing.assert_array_equal(is_solved(full, board, givens), np.ones(24, bool))
    np.testing.assert_array_equal(is_solved(np.roll(full, 1, axis=0), board, givens), np.zeros(24, bool))


def test_a_repeated_digit_counts_in_every_house():
    rows_and_box = np.zeros(81, np.uint8)
    rows_and_box[[0, 1]] = 7  # in a row and a box
    thrice = np.zeros(81, np.uint8)
    thrice[[0, 4, 8]] = 7  # in a row alone
    np.testing.assert_array_equal(conflicts(np.stack([rows_and_box, thrice]), NINE), [2, 2])


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0)])
def test_any_batch_shape(shape):
    grids = np.resize(some_grids(NINE)[1], (*shape, 81))
    for judge in (conflicts, is_valid, is_solved):
        found = np.asarray(judge(grids, NINE))
        assert found.shape == shape
        flat = [judge(one, NINE) for one in grids.reshape(-1, 81)]
        np.testing.assert_array_equal(found.reshape(-1), np.array(flat, found.dtype))


@pytest.mark.parametrize("shape", [(), (80,), (9, 8), (81, 2)])
def test_a_wrong_shape_is_refused(shape):
    for judge in (grid.conflicts, grid.is_valid, grid.is_solved):
        with pytest.raises(ValueError, match=r"grids of shape .*; a board of 9x9 with 3x3 boxes takes \[..., 81\] or"):
            judge(np.zeros(shape, np.uint8), NINE)


def test_the_board_comes_second_and_defaults_to_the_classic_one():
    full, _ = some_grids(NINE)
    square = full.reshape(-1, 9, 9)
    for judge in (grid.conflicts, grid.is_valid, grid.is_solved):
        np.testing.assert_array_equal(judge(full), judge(full, NINE))
        np.testing.assert_array_equal(judge(square), judge(full))
        with pytest.raises(ValueError, match=r"shape \(16, 16\) are ambiguous: .* reshape to \(256,\) .* \(16, 4, 4\)"):
            judge(np.zeros((16, 16), np.uint8))
        with pytest.raises(TypeError, match="board must be a Board, not ndarray; the data come first"):
            judge(full, full)
    assert grid.is_solved(full, NINE, givens=square).all()


def test_values_below_0_and_other_dtypes():
    assert not grid.is_valid(np.full(81, -1, np.int8))
    assert not grid.is_solved(np.full(81, -1))
    with pytest.raises(ValueError, match="grids of dtype float32; they must be integers"):
        grid.is_valid(np.zeros(81, np.float32))


@pytest.mark.parametrize("setting", ["x64", "strict"])
def test_dtypes(setting):
    context = jax.enable_x64(True) if setting == "x64" else jax.numpy_dtype_promotion("strict")
    grids = jax.ShapeDtypeStruct((7, 81), np.uint8)
    with context:
        found = [
            jax.eval_shape(functools.partial(judge, board=NINE), grids) for judge in (grid.conflicts, grid.is_valid)
        ]
        found.append(jax.eval_shape(functools.partial(grid.is_solved, board=NINE), grids, givens=grids))
    assert [x.dtype.name for x in found] == ["int32", "bool", "bool"]


def test_a_board_with_more_digits_than_a_word_has_bits():
    board = Board.classic(36)
    rng = np.random.default_rng(0)
    grids = np.array([reference.full_grid(board, rng) for _ in range(6)])
    grids[2, 0] = 36 if grids[2, 0] != 36 else 35  # a repeated digit, above 32
    grids[3, :100] = 0
    grids[4, 7] = 37
    grids[5, 5] = 255
    assert grid.is_solved(grids, board).tolist() == [True, True, False, False, False, False]
    assert grid.is_valid(grids, board).tolist() == [True, True, False, True, False, False]
    assert np.asarray(grid.conflicts(grids, board))[:4].tolist() == [0, 0, 3, 0]
    assert grid.is_solved(grids[:1], board, givens=grids[3:4] * 0).all()
    assert not grid.is_solved(grids[:1], board, givens=grids[1:2]).any()
