"""Masks, the layout with one word a cell: conversions, and the same rules as on planes."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference

from jaxsudoku import compiler_options, masks, propagation
from jaxsudoku.board import Board

pytestmark = pytest.mark.quick

BOARDS = {**reference.SMALL, **reference.NINE}
every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
every_side = pytest.mark.parametrize("side", [4, 8, 9, 16, 25, 32, 36])


@functools.cache
def kernel(function, board, **settings):
    return jax.jit(functools.partial(function, board=board, **settings), compiler_options=compiler_options())


def to_masks(left):
    """Candidates bool[B, side, cells] as masks."""
    size, side, _ = left.shape
    words = np.zeros((masks.limbs(side), side, side, size), np.uint64)
    for digit in range(side):
        plane = left[:, digit].T.reshape(side, side, size).astype(np.uint64)
        words[digit // masks.LIMB] |= plane << np.uint64(digit % masks.LIMB)
    return words.astype(masks.mask_dtype(side))


def from_masks(words):
    """The inverse of ``to_masks``."""
    side, size = words.shape[1], words.shape[-1]
    bits = [
        np.asarray(words)[digit // masks.LIMB].astype(np.uint64) >> np.uint64(digit % masks.LIMB) & np.uint64(1)
        for digit in range(side)
    ]
    return np.array(bits).astype(bool).reshape(side, side * side, size).transpose(2, 0, 1)


# ---------------------------------------------------------------------- conversions


@every_side
def test_a_mask_holds_each_digit_in_a_bit_of_its_own(side):
    words = np.asarray(masks.digit_masks(np.arange(side + 3), side))
    assert words.dtype == masks.mask_dtype(side)
    assert words.shape == (masks.limbs(side), side + 3)
    assert not words[:, [0, side + 1, side + 2]].any()  # 0 is empty, the last two are no digits
    np.testing.assert_array_equal(np.bitwise_count(words[:, 1 : side + 1]).sum(axis=0), 1)
    np.testing.assert_array_equal(np.bitwise_or.reduce(words, axis=1), masks.all_digits(side))
    assert np.bitwise_count(masks.all_digits(side)).sum() == side


@pytest.mark.parametrize("side", [4, 9, 16, 25])
def test_grids_come_back(side):
    board = Board.classic(side)
    grids = np.random.default_rng(side).integers(0, side + 1, (5, board.cells), dtype=np.uint8)
    words = masks.grids_to_masks(grids, board)
    assert words.shape == (1, side, side, 5)
    np.testing.assert_array_equal(masks.masks_to_grids(words), grids)
    above = np.full((5, board.cells), side + 1, np.uint8)
    assert not np.asarray(masks.grids_to_masks(above, board)).any()


@every_side
def test_candidates_of_cells_are_counted(side):
    rng = np.random.default_rng(side)
    left = rng.random((7, side, side * side)) < rng.choice([0.02, 0.5], (7, 1, side * side))
    words = to_masks(left)
    np.testing.assert_array_equal(from_masks(words), left)
    count = left.sum(axis=1).T.reshape(side, side, 7)
    ones, twos = masks.cell_ones_and_twos(words)
    np.testing.assert_array_equal(ones, count >= 1)
    np.testing.assert_array_equal(twos, count >= 2)
    np.testing.assert_array_equal(masks.count_digits(words), count)
    single = np.where(count == 1, left.argmax(axis=1).T.reshape(side, side, 7) + 1, 0)
    np.testing.assert_array_equal(masks.masks_to_grids(words), single.reshape(side * side, 7).T)


def test_masks_and_planes_are_told_apart_by_their_shape():
    for side in range(2, 37):
        assert masks.is_masks((masks.limbs(side), side, side, 64))
        assert not masks.is_masks((side, side, side, 2))
    with pytest.raises(ValueError, match=r"masks of shape \(1, 4, 4, 8\); a board of 9x9 .* has 9 rows"):
        propagation.sweep(np.zeros((1, 4, 4, 8), np.uint8), Board.classic())


# ---------------------------------------------------------------------- rules


def plain_rules(board, rules):
    left = reference.candidates(board, reference.solvable(board, 32, givens=board.cells // 3))
    plain = np.array([reference.deduce(board, one, rules) for one in left])
    assert (plain != left).any()
    after = kernel(propagation.propagate, board, rules=rules)(to_masks(left))
    np.testing.assert_array_equal(from_masks(after), plain)


@every_board
def test_the_fixpoint_is_the_plain_rules(board):
    plain_rules(board, "locked")


@pytest.mark.parametrize("rules", ["naked", "singles"])
def test_each_level_of_rules_is_the_plain_one(rules):
    plain_rules(reference.NINE["windoku"], rules)


def test_none_leaves_everything():
    words = to_masks(np.ones((3, 4, 16), bool))
    np.testing.assert_array_equal(propagation.propagate(words, rules="none"), words)


@every_board
def test_outcomes_are_exact(board):
    rng = np.random.default_rng(0)
    grids = np.array([reference.full_grid(board, rng) for _ in range(64)])
    left = grids[:, None] == np.arange(1, board.side + 1)[:, None]
    for lane in range(8, 64):
        cell = rng.integers(board.cells)
        if lane < 16:  # a wrong digit
            left[lane, :, cell] = np.roll(left[lane, :, cell], 1)
        elif lane < 24:  # no digit
            left[lane, :, cell] = False
        elif lane < 40:  # choices
            left[lane] |= rng.random(left[lane].shape) < 0.3
        else:
            left[lane] &= rng.random(left[lane].shape) < 0.99
    no_candidate = (left.sum(axis=1) == 0).any(axis=1)
    no_place = np.any([~left[:, :, list(house)].any(axis=2) for house in board.houses], axis=(0, 2))
    settled = (left.sum(axis=1) == 1).all(axis=1)
    dead, solved = map(np.asarray, kernel(propagation.outcome, board)(to_masks(left)))
    np.testing.assert_array_equal(dead, no_candidate | no_place)
    np.testing.assert_array_equal(solved, settled & ~dead)
    assert solved[:8].all()
    assert dead[8:24].all()
    assert not (dead | solved)[24:40].any()


@every_board
def test_duplicated_givens_are_found(board):
    grids = reference.with_repeats(board)
    repeated = kernel(propagation.duplicated_givens, board)(np.asarray(masks.grids_to_masks(grids, board)))
    np.testing.assert_array_equal(repeated, [reference.is_clash(board, grid) for grid in grids])


@every_board
def test_a_clash_of_singles_is_a_contradiction_after_one_round(board):
    left = np.ones((len(board.houses), board.side, board.cells), bool)
    for lane, house in enumerate(board.houses):
        for cell in house[:2]:
            left[lane, :, cell] = np.arange(board.side) == 0
    after = kernel(propagation.sweep, board, rules="naked")(to_masks(left))
    dead, _ = propagation.outcome(after, board)
    assert np.asarray(dead).all()
