"""Masks, the layout with one word a cell: conversions and counts."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from mask_words import from_masks, to_masks

from jaxsudoku.core import masks
from jaxsudoku.core.board import Board

#: Sides with the bits of their words: the most digits of each word, few of the next, and two words a cell.
BITS = {8: 8, 9: 16, 16: 16, 25: 32, 32: 32, 36: 32}
every_side = pytest.mark.parametrize("side", BITS)


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
