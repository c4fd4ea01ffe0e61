"""Masks, the layout with one word a cell: conversions, and the same rules as on planes."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference
from mask_words import from_masks, to_masks

from jaxsudoku import compiler_options
from jaxsudoku.core import masks, propagation
from jaxsudoku.core.board import Board

#: The kinds of boards: irregular regions, boxes that are no squares, diagonals, windows and words of 16 bits.
BOARDS = {name: {**reference.SMALL, **reference.NINE}[name] for name in ("jigsaw-5", "2x3", "diagonal-4", "windoku")}
every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)

#: Sides with the bits of their words: the most digits of each word, few of the next, and two words a cell.
BITS = {8: 8, 9: 16, 16: 16, 25: 32, 32: 32, 36: 32}
every_side = pytest.mark.parametrize("side", BITS)

LANES = 64


@functools.cache
def kernel(board):
    """All that is asked about the masks of a board, as one program."""

    def run(words):
        return {
            **{rules: propagation.propagate(words, board, rules) for rules in propagation.RULES[1:]},
            "outcome": propagation.outcome(words, board),
            "outcome after a round": propagation.outcome(propagation.sweep(words, board, "naked"), board),
            "duplicated": propagation.duplicated_givens(words, board),
        }

    return jax.jit(run, compiler_options=compiler_options())


def run(board, left):
    """What the kernel says about candidates bool[B, side, cells], at most as many as there are lanes."""
    size = len(left)
    filled_up = np.concatenate([left, np.ones((LANES - size, *left.shape[1:]), bool)])
    return jax.tree.map(lambda array: np.asarray(array)[..., :size], kernel(board)(to_masks(filled_up)))


# ---------------------------------------------------------------------- conversions


@every_side
def test_cells_grids_and_counts_are_those_of_the_digits(side):
    """One program a side."""
    rng = np.random.default_rng(side)
    left = rng.random((7, side, side * side)) < rng.choice([0.02, 0.5], (7, 1, side * side))
    grids = rng.integers(0, side + 1, (5, side * side), dtype=np.uint8)
    grids[:, 0] = side + 1
    words = to_masks(left)
    np.testing.assert_array_equal(from_masks(words), left)

    @jax.jit
    def run(words, grids):
        board = Board(side, box=(1, side))
        of_grids = masks.grids_to_masks(grids, board)
        counted = masks.cell_ones_and_twos(words), masks.count_digits(words), masks.masks_to_grids(words)
        return masks.digit_masks(np.arange(side + 3), side), of_grids, masks.masks_to_grids(of_grids), counted

    by_digit, of_grids, back, ((ones, twos), counts, singles) = jax.tree.map(np.asarray, run(words, grids))
    # a mask holds each digit in a bit of its own
    assert masks.mask_dtype(side) == by_digit.dtype == of_grids.dtype == f"uint{BITS[side]}"
    assert by_digit.shape == (masks.limbs(side), side + 3)
    assert not by_digit[:, [0, side + 1, side + 2]].any()  # 0 is empty, the last two are no digits
    np.testing.assert_array_equal(np.bitwise_count(by_digit[:, 1 : side + 1]).sum(axis=0), 1)
    np.testing.assert_array_equal(np.bitwise_or.reduce(by_digit, axis=1), masks.all_digits(side))
    assert np.bitwise_count(masks.all_digits(side)).sum() == side
    # grids come back, without the values above the side
    assert of_grids.shape == (masks.limbs(side), side, side, 5)
    np.testing.assert_array_equal(of_grids, by_digit[:, grids.T].reshape(of_grids.shape))
    np.testing.assert_array_equal(back, np.where(grids > side, 0, grids))
    # candidates of cells are counted
    count = left.sum(axis=1).T.reshape(side, side, 7)
    np.testing.assert_array_equal(ones, count >= 1)
    np.testing.assert_array_equal(twos, count >= 2)
    np.testing.assert_array_equal(counts, count)
    single = np.where(count == 1, left.argmax(axis=1).T.reshape(side, side, 7) + 1, 0)
    np.testing.assert_array_equal(singles, single.reshape(side * side, 7).T)


def test_masks_and_planes_are_told_apart_by_their_shape():
    for side in range(2, 37):
        assert masks.is_masks((masks.limbs(side), side, side, 64))
        assert not masks.is_masks((side, side, side, 2))
    with pytest.raises(ValueError, match=r"masks of shape \(1, 4, 4, 8\); a board of 9x9 .* has 9 rows"):
        propagation.sweep(np.zeros((1, 4, 4, 8), np.uint8), Board.classic())


# ---------------------------------------------------------------------- rules


@every_board
def test_the_fixpoint_is_the_plain_rules(board):
    left = reference.candidates(board, reference.solvable(board, 16, givens=board.cells // 3))
    found = run(board, left)
    for rules in propagation.RULES[1:]:
        plain = np.array([reference.deduce(board, one, rules) for one in left])
        assert (plain != left).any()
        np.testing.assert_array_equal(from_masks(found[rules]), plain)


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
    dead, solved = run(board, left)["outcome"]
    np.testing.assert_array_equal(dead, no_candidate | no_place)
    np.testing.assert_array_equal(solved, settled & ~dead)
    assert solved[:8].all()
    assert dead[8:24].all()
    assert not (dead | solved)[24:40].any()


@every_board
def test_duplicated_givens_are_found(board):
    grids = reference.with_repeats(board)
    digits = grids[:, None] == np.arange(1, board.side + 1)[:, None]
    repeated = run(board, digits)["duplicated"]
    np.testing.assert_array_equal(repeated, [reference.is_clash(board, grid) for grid in grids])


@every_board
def test_a_clash_of_singles_is_a_contradiction_after_one_round(board):
    left = np.ones((len(board.houses), board.side, board.cells), bool)
    for lane, house in enumerate(board.houses):
        for cell in house[:2]:
            left[lane, :, cell] = np.arange(board.side) == 0
    dead, _ = run(board, left)["outcome after a round"]
    assert dead.all()
