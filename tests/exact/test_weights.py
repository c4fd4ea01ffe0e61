"""Branching by conflict weights: which cell and which digit is chosen, and how weights change."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
import reference
from mask_words import to_masks

from jaxsudoku.core.board import Board
from jaxsudoku.exact import weights

pytestmark = pytest.mark.quick

BOARDS = {name: {**reference.SMALL, **reference.NINE}[name] for name in ("jigsaw-5", "2x3", "windoku")}
BOARDS["36x36"] = Board.classic(36)  # two words a cell
every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
LANES = 64

#: Programs of the functions under test.
rarest = jax.jit(weights.rarest_digit, static_argnums=0)
weighted_cell = jax.jit(weights.weighted_cell)


def rarest_digit(board, left, cell, seeds, shuffled):
    return [np.asarray(part) for part in rarest(board, to_masks(left), cell, seeds, shuffled)]


def some_candidates(board, seed=0):
    return np.random.default_rng(seed).random((LANES, board.side, board.cells)) < 0.4


@pytest.mark.parametrize("board", [BOARDS["2x3"], BOARDS["36x36"]], ids=["2x3", "36x36"])
def test_the_cell_has_fewest_candidates_for_its_weight(board):
    left = some_candidates(board)
    count = left.sum(axis=1)
    given = np.random.default_rng(1).uniform(1, 20, (board.side, board.side, LANES)).astype(np.float32)
    ratio = np.where(count > 1, count / given.reshape(board.cells, LANES).T, np.inf)
    cell = np.asarray(weighted_cell(to_masks(left), given))
    assert (count[np.arange(LANES), cell] > 1).all()
    # the low bits of the ratio make room for the number of the cell
    np.testing.assert_allclose(ratio[np.arange(LANES), cell], ratio.min(axis=1), rtol=2e-3)


@every_board
def test_the_digit_has_fewest_places_in_the_houses_of_its_cell(board):
    left = some_candidates(board)
    rng = np.random.default_rng(2)
    cell = rng.integers(board.cells, size=LANES).astype(np.int32)
    left[np.arange(LANES), :2, cell] = True
    seeds = rng.integers(2**32, size=LANES, dtype=np.uint32)
    here, digit = rarest_digit(board, left, cell, seeds, np.zeros(LANES, bool))
    places = np.zeros((LANES, board.side))
    for lane in range(LANES):
        for house in board.houses:
            if cell[lane] in house:
                places[lane] += 1 / np.maximum(left[lane][:, list(house)].sum(axis=1), 1)
    for lane in range(LANES):
        open_digits = left[lane, :, cell[lane]]
        words = to_masks(np.broadcast_to(open_digits[None, :, None], (1, board.side, board.cells)))[:, 0, 0, 0]
        np.testing.assert_array_equal(here[:, lane], words)
        (chosen,) = [d for d in range(board.side) if int(digit[d // 32, lane]) >> d % 32 & 1]
        assert open_digits[chosen]
        assert places[lane][chosen] >= places[lane][open_digits].max() - 0.011


def test_shuffled_lanes_draw_their_digits():
    board = BOARDS["windoku"]
    left = np.ones((LANES, 9, 81), bool)
    cell = np.zeros(LANES, np.int32)
    seeds = np.arange(LANES, dtype=np.uint32)
    _, drawn = rarest_digit(board, left, cell, seeds, np.ones(LANES, bool))
    assert len(np.unique(drawn)) == 9
    np.testing.assert_array_equal(rarest_digit(board, left, cell, seeds, np.ones(LANES, bool))[1], drawn)


def test_weights_grow_where_a_contradiction_empties_cells_and_fade_at_a_restart():
    board = Board.classic(4)
    seeds = np.arange(8, dtype=np.uint32)
    first_weights, renewed_weights = (
        jax.jit(functools.partial(function, board)) for function in (weights.first_weights, weights.renewed)
    )
    first = np.asarray(first_weights(seeds))
    assert first.shape == (4, 4, 8)
    assert ((first >= 1) & (first < 1.03)).all()
    assert len({tuple(np.argsort(first[..., lane], axis=None)) for lane in range(8)}) == 8
    left = np.ones((8, 4, 16), bool)
    left[:, :, 5] = False
    dead = np.arange(8) < 4
    after = np.asarray(jax.jit(weights.raised)(first, to_masks(left), dead))
    expected = first.copy()
    expected[1, 1, :4] += 1
    np.testing.assert_array_equal(after, expected)
    renewed = np.asarray(renewed_weights(after, seeds + 100))
    np.testing.assert_allclose(renewed, 1 + 0.8 * (after - 1), atol=0.03)
    assert (renewed[1, 1, :4] > 1.7).all()
