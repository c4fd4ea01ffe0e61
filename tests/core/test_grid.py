"""Grids: judged as plain Python judges them, whatever the shape of the batch."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference

from jaxsudoku import grid
from jaxsudoku.core.board import Board

pytestmark = pytest.mark.quick

#: The kinds of boards: irregular regions, boxes that are no squares, further houses, and digits beyond 32 bits.
BOARDS = {name: {**reference.SMALL, **reference.NINE}[name] for name in ("jigsaw-5", "3x2", "diagonal-4", "9x9")}
BOARDS["36x36"] = Board.classic(36)
NINE = Board.classic()
JUDGES = (grid.conflicts, grid.is_valid, grid.is_solved)


@functools.partial(jax.jit, static_argnames="board")
def kernel(grids, board, givens):
    return *(judge(grids, board) for judge in JUDGES), grid.is_solved(grids, board, givens)


def judged(grids, board=None, givens=None):
    """Conflicts, whether valid, whether solved, and whether solved with the givens, in one program."""
    return tuple(map(np.asarray, kernel(grids, board, np.zeros_like(grids) if givens is None else givens)))


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
    rng = np.random.default_rng(1)
    givens = np.array([reference.blanked(one, board.cells // 3, rng) for one in full])
    repeats = [reference.repeats(board, one) for one in grids]
    clashes = [reference.is_clash(board, one) for one in grids]
    solved = [reference.is_solution(board, one) for one in grids]
    keeping = [reference.is_solution(board, *pair) for pair in zip(grids, givens, strict=True)]
    assert len(set(clashes)) == len(set(solved)) == 2
    found = judged(grids, board, givens)
    assert [part.dtype for part in found] == [np.int32, bool, bool, bool]
    for part, expected in zip(found, (repeats, np.logical_not(clashes), solved, keeping), strict=True):
        np.testing.assert_array_equal(part, expected)
    assert all(part.all() for part in judged(full, board, givens)[1:])
    # a solved grid of another puzzle is no solution
    other = np.roll(full, 1, axis=0)
    kept = [reference.is_solution(board, *pair) for pair in zip(other, givens, strict=True)]
    assert not all(kept)
    *_, solved, keeping = judged(other, board, givens)
    assert solved.all()
    np.testing.assert_array_equal(keeping, kept)


def test_a_repeated_digit_counts_in_every_house():
    grids = np.zeros((24, 81), np.uint8)
    grids[0, [0, 1]] = 7  # in a row and a box
    grids[1, [0, 4, 8]] = 7  # in a row alone
    np.testing.assert_array_equal(judged(grids, NINE)[0], [2, 2, *[0] * 22])


@pytest.mark.parametrize("shape", [(), (2, 3), (2, 0)])
def test_any_batch_shape(shape):
    board = BOARDS["diagonal-4"]
    grids = np.resize(some_grids(board)[1], (*shape, 16))
    if not grids.size:
        assert [found.shape for found in jax.eval_shape(kernel, grids, board, grids)] == [shape] * 4
        return
    for found, whole in zip(judged(grids, board), judged(some_grids(board)[1], board), strict=True):
        assert found.shape == shape
        np.testing.assert_array_equal(found.reshape(-1), whole[: grids.size // 16])


@pytest.mark.parametrize("shape", [(), (80,), (9, 8), (81, 2)])
def test_a_wrong_shape_is_refused(shape):
    for judge in JUDGES:
        with pytest.raises(ValueError, match=r"grids of shape .*; a board of 9x9 with 3x3 boxes takes \[..., 81\] or"):
            judge(np.zeros(shape, np.uint8), NINE)


def test_the_board_comes_second_and_defaults_to_the_classic_one():
    full, _ = some_grids(NINE)
    square = full.reshape(-1, 9, 9)
    for judge in JUDGES:
        named = jax.make_jaxpr(functools.partial(judge, board=NINE))(full)
        assert str(jax.make_jaxpr(judge)(full)) == str(named)
        with pytest.raises(ValueError, match=r"shape \(16, 16\) are ambiguous: .* reshape to \(256,\) .* \(16, 4, 4\)"):
            judge(np.zeros((16, 16), np.uint8))
        with pytest.raises(TypeError, match="board must be a Board, not ndarray; the data come first"):
            judge(full, full)
    for found, flat in zip(judged(square, givens=full), judged(full, NINE, full), strict=True):
        np.testing.assert_array_equal(found, flat)


def test_values_below_0_and_other_dtypes():
    wide, narrow = np.full(81, -1), np.full(81, -1, np.int8)
    run = jax.jit(lambda *grids: [judge(one) for one in grids for judge in (grid.is_valid, grid.is_solved)])
    assert not np.any(run(wide, narrow))
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
    board = BOARDS["36x36"]
    rng = np.random.default_rng(0)
    grids = np.array([reference.full_grid(board, rng) for _ in range(24)])
    grids[2, 0] = 36 if grids[2, 0] != 36 else 35  # a repeated digit, above 32
    grids[3, :100] = 0
    grids[4, 7] = 37
    grids[5, 5] = 255
    conflicts, valid, solved, keeping = judged(grids, board, np.roll(grids, 1, axis=0))
    assert conflicts[:4].tolist() == [0, 0, 3, 0]
    assert valid[:6].tolist() == [True, True, False, True, False, False]
    assert solved[:6].tolist() == [True, True, False, False, False, False]
    assert not keeping.any()
