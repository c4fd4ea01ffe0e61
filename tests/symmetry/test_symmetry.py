"""Symmetries: found as brute force finds them, drawn evenly, and doing what plain Python does."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku import symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.random import as_key
from jaxsudoku.symmetry import Symmetry
from jaxsudoku.symmetry.chain import transversals

LOPSIDED = reference.SMALL["jigsaw-6"]
FOUR = Board.classic(4)
#: Boards with further houses and without, on which rearrangements are few and many.
BOARDS = {"diagonal-4": reference.SMALL["diagonal-4"], "2x3": reference.SMALL["2x3"], "windoku": Board.windoku()}

#: Most tests call them with 64 symmetries of side 6.
apply, apply_candidates = jax.jit(symmetry.apply), jax.jit(symmetry.apply_candidates)
invert, compose = jax.jit(symmetry.invert), jax.jit(symmetry.compose)
sample = jax.jit(symmetry.sample, static_argnames=("board", "shape"))
identity = jax.jit(symmetry.identity, static_argnames=("board", "shape"))


def rearrangements(board: Board) -> int:
    """The order of the group but for relabellings."""
    return math.prod(map(len, transversals(board)))


# ---------------------------------------------------------------------- which there are


def elements(board: Board) -> np.ndarray:
    """All products of the chain's representatives, int[order, 2 side]."""
    products = np.arange(2 * board.side)[None]
    for transversal in transversals(board):
        products = products[:, transversal].reshape(-1, 2 * board.side)
    return products


def by_brute_force(board: Board) -> set[tuple[int, ...]]:
    """Every permutation of rows and of columns, transposed or not, that keeps the set of houses."""
    side = board.side
    orders = np.array(list(itertools.permutations(range(side))))
    houses = np.array(board.houses)
    bits = np.uint64(1) << np.arange(board.cells, dtype=np.uint64)
    masks = bits[houses].sum(axis=1)
    found = set()
    for rows in orders:
        cells = (rows[:, None] * side + orders[:, None, :]).reshape(len(orders), -1)
        flipped = (rows[:, None] + side * orders[:, None, :]).reshape(len(orders), -1)
        for places, lines in ((cells, (0, side)), (flipped, (side, 0))):
            kept = np.isin(bits[places[:, houses[2 * side :]]].sum(axis=-1), masks).all(axis=1)
            found |= {(*(rows + lines[0]).tolist(), *(columns + lines[1]).tolist()) for columns in orders[kept]}
    return found


@pytest.mark.parametrize(
    "board",
    [
        *(reference.SMALL[name] for name in ("4x4", "diagonal-4", "jigsaw-4", "jigsaw-5", "2x3")),
        Board(2, box=(1, 2)),
        Board(4, box=(4, 1)),
        Board(3, regions=(0, 1, 2, 2, 0, 1, 1, 2, 0), extra=((0, 4, 8),)),
    ],
    ids=str,
)
def test_the_rearrangements_are_those_of_brute_force(board):
    found = elements(board)
    assert {tuple(one) for one in found.tolist()} == by_brute_force(board)
    assert len(found) == rearrangements(board)
    assert symmetry.order(board) == math.factorial(board.side) * len(found)


@settings(max_examples=25)
@given(st.permutations([0, 1, 2, 3] * 4), st.lists(st.permutations(range(16)).map(lambda cells: cells[:4]), max_size=3))
def test_so_they_are_on_boards_without_rhyme(regions, extra):
    numbers = {label: number for number, label in enumerate(dict.fromkeys(regions))}
    board = Board(4, regions=tuple(numbers[label] for label in regions), extra=tuple(map(tuple, extra)))
    assert {tuple(one) for one in elements(board).tolist()} == by_brute_force(board)


@pytest.mark.parametrize(
    "box",
    [(2, 2), (2, 3), (3, 2), (3, 3), (3, 4), (2, 8), pytest.param((4, 8), marks=pytest.mark.slow)],
)
def test_bands_stacks_and_lines_of_box_boards(box):
    height, width = box
    rows = math.factorial(height) ** width * math.factorial(width)
    columns = math.factorial(width) ** height * math.factorial(height)
    board = Board.classic(height * width, box)
    assert rearrangements(board) == rows * columns * (1 + (height == width))
    assert symmetry.order(board) == rearrangements(board) * math.factorial(board.side)


def test_known_orders():
    assert symmetry.order(Board.classic()) == 1218998108160  # Russell and Jarvis 2006
    # One order of lines for rows and columns that keeps bands and commutes with reversal: outer bands swapped, lines of
    # the first in any order, the middle band's outer lines swapped. Diagonals swapped; transposed.
    assert rearrangements(Board.diagonal()) == (2 * 6 * 2) * 2 * 2
    # Lines 1 and 2 swapped, 6 and 7 swapped, reversed; for rows and columns; transposed.
    assert rearrangements(Board.windoku()) == (2 * 2 * 2) ** 2 * 2
    # The regions are rows.
    assert rearrangements(Board(9, box=(1, 9))) == 2 * math.factorial(9) ** 2
    # Regions x ^ y: translations of rows and columns, linear maps of both, transposed.
    places = np.arange(16)
    xor = Board(16, regions=tuple((places[:, None] ^ places).ravel().tolist()))
    assert rearrangements(xor) == 16 * 16 * (15 * 14 * 12 * 8) * 2


def test_two_cells_swapped_hide_nothing_from_the_search():
    # colours that saw no shared cells took half a minute over this
    regions = np.repeat(np.repeat(np.arange(25).reshape(5, 5), 5, axis=0), 5, axis=1)
    regions[11, 20], regions[12, 19] = regions[12, 19], regions[11, 20]
    board = Board(25, regions=tuple(regions.ravel().tolist()))
    line = math.factorial(5)
    # rows 11 and 12 stay, and columns 19 and 20, or the two pairs change places; so do their band and stacks
    by_hand = (
        (math.factorial(3) * line**4 * math.factorial(4)) * (math.factorial(4) ** 2 * line**3 * math.factorial(3)) * 2
    )
    assert rearrangements(board) == by_hand


def test_a_lopsided_board_has_relabellings_alone():
    assert symmetry.order(LOPSIDED) == math.factorial(6)
    drawn = sample(as_key(0), LOPSIDED, (64,))
    np.testing.assert_array_equal(drawn.rows, np.tile(np.arange(6), (64, 1)))
    np.testing.assert_array_equal(drawn.columns, drawn.rows)
    assert not np.asarray(drawn.transposed).any()
    assert len(np.unique(drawn.digits, axis=0)) > 32


# ---------------------------------------------------------------------- what they do


def by_hand(one: Symmetry, cells: np.ndarray) -> np.ndarray:
    """What a symmetry makes of one grid [cells], in plain Python."""
    side = len(one.rows)
    square = np.asarray(cells).reshape(side, side)
    square = square.T if one.transposed else square
    moved = [int(square[row, column]) for row in np.asarray(one.rows) for column in np.asarray(one.columns)]
    return np.array([one.digits[v - 1] + 1 if 1 <= v <= side else v for v in moved], np.uint8)


def anything(side: int, size: int, seed: int = 0) -> tuple[Symmetry, np.ndarray]:
    """Any permutations, of a board or not, and grids with empty cells and foreign values."""
    rng = np.random.default_rng(seed)
    rows, columns, digits = rng.permuted(np.tile(np.arange(side, dtype=np.int32), (3, size, 1)), axis=2)
    grids = rng.integers(0, side + 3, (size, side**2)).astype(np.uint8)
    return Symmetry(rng.random(size) < 0.5, rows, columns, digits), grids


def one_of(batch: Symmetry, number: int) -> Symmetry:
    return jax.tree.map(lambda x: np.asarray(x)[number], batch)


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_solved_grids_stay_solved(board):
    rng = np.random.default_rng(0)
    grids = np.array([reference.full_grid(board, rng) for _ in range(8)])

    @jax.jit
    def moved(key):
        drawn = symmetry.sample(key, board, (32, 8))
        return drawn, symmetry.apply(drawn, grids)

    drawn, after = jax.tree.map(np.asarray, moved(as_key(1)))
    assert all(reference.is_solution(board, grid) for grid in after.reshape(-1, board.cells))
    assert [x.dtype.name for x in drawn] == ["bool", "int32", "int32", "int32"]
    assert after.dtype == np.uint8
    # each draw is of the group, and not always the same
    lines = np.concatenate([drawn.rows, drawn.columns], axis=-1) + board.side * np.stack(
        [drawn.transposed, ~drawn.transposed], axis=-1
    ).repeat(board.side, axis=-1)
    assert len(np.unique(lines.reshape(256, -1), axis=0)) > min(rearrangements(board), 256) * 0.8
    for transversal in transversals(board)[:1]:
        assert set(lines[..., 0].ravel()) == set(transversal[:, 0])


def test_a_grid_is_moved_as_by_hand():
    several, grids = anything(6, 64)
    expected = [by_hand(one_of(several, number), one) for number, one in enumerate(grids)]
    np.testing.assert_array_equal(apply(several, grids), expected)


def test_laws():
    (first, grids), (second, _) = anything(6, 64), anything(6, 64, seed=1)
    np.testing.assert_array_equal(apply(compose(first, second), grids), apply(second, apply(first, grids)))
    np.testing.assert_array_equal(apply(invert(first), apply(first, grids)), grids)
    nothing = identity(LOPSIDED, (64,))
    np.testing.assert_array_equal(apply(nothing, grids), grids)
    for one, other in [
        (compose(first, invert(first)), nothing),
        (compose(invert(first), first), nothing),
        (compose(first, nothing), first),
        (invert(compose(first, second)), compose(invert(second), invert(first))),
    ]:
        jax.tree.map(np.testing.assert_array_equal, one, other)


def test_candidates_move_as_grids_do():
    several, grids = anything(6, 64)
    digits = np.arange(1, 7)[:, None]

    def one_hot(cells):
        return (np.asarray(cells)[:, None] == digits).reshape(-1, 6, 6, 6).astype(np.float32)

    np.testing.assert_array_equal(apply_candidates(several, one_hot(grids)), one_hot(apply(several, grids)))
    scores = np.random.default_rng(0).random((64, 6, 6, 6)).astype(np.float32)
    moved = apply_candidates(several, scores)
    assert moved.dtype == np.float32
    np.testing.assert_array_equal(apply_candidates(invert(several), moved), scores)


# ---------------------------------------------------------------------- even draws


def chi_square(draws: np.ndarray, kinds: int) -> float:
    """How unevenly rows of draws fall on a number of kinds, in standard deviations of an even draw's chi-square."""
    _, counts = np.unique(draws, axis=0, return_counts=True)
    assert len(counts) == kinds
    expected = len(draws) / kinds
    return (((counts - expected) ** 2).sum() / expected - (kinds - 1)) / math.sqrt(2 * (kinds - 1))


def test_draws_are_even():
    drawn = jax.tree.map(np.asarray, sample(as_key(3), FOUR, (128 * 24 * 12,)))
    rearranged = np.column_stack([drawn.transposed, drawn.rows, drawn.columns])
    assert abs(chi_square(rearranged, 128)) < 4
    assert abs(chi_square(drawn.digits, 24)) < 4
    assert abs(chi_square(np.column_stack([rearranged, drawn.digits]), 128 * 24)) < 4


def test_draws_from_several_tables_are_even():
    board = Board.classic()
    drawn = jax.tree.map(np.asarray, sample(as_key(4), board, (20_000,)))
    bands, stacks = (lines[:, ::3] // 3 for lines in (drawn.rows, drawn.columns))
    assert abs(chi_square(np.column_stack([drawn.transposed, bands, stacks]), 2 * 6 * 6)) < 4
    within = np.column_stack([drawn.rows[:, 6:] % 3, drawn.columns[:, 6:] % 3])
    assert abs(chi_square(within, 6 * 6)) < 4


# ---------------------------------------------------------------------- shapes


def test_vmap_is_as_one_by_one():
    keys = np.random.default_rng(5).integers(0, 1 << 32, (3, 2), np.uint32)
    _, grids = anything(4, 3)

    def one(key, cells):
        drawn = symmetry.sample(key, FOUR)
        return drawn, symmetry.apply(symmetry.compose(drawn, symmetry.invert(drawn)), cells), cells

    several, back, _ = jax.jit(jax.vmap(one))(keys, grids)
    np.testing.assert_array_equal(back, grids)
    for number, key in enumerate(keys):
        jax.tree.map(np.testing.assert_array_equal, one_of(several, number), sample(key, FOUR))


def test_batch_axes_broadcast():
    several, grids = anything(4, 3)
    values = np.random.default_rng(0).random((4, 4, 4))

    @jax.jit
    def broadcast(several, one, grids):
        column = jax.tree.map(lambda x: x[:, None], several)
        applied = symmetry.apply(several, grids[:, None]), symmetry.apply(one, grids), symmetry.apply(several, grids[1])
        return applied, symmetry.compose(several, column), symmetry.apply_candidates(several, values)

    applied, composed, moved = broadcast(several, one_of(several, 1), grids)
    square, of_one, of_one_grid = map(np.asarray, applied)
    expected = np.array([[by_hand(one_of(several, number), grid) for number in range(3)] for grid in grids])
    np.testing.assert_array_equal(square, expected)
    np.testing.assert_array_equal(of_one, expected[:, 1])
    np.testing.assert_array_equal(of_one_grid, expected[1])
    assert (composed.rows.shape, moved.shape) == ((3, 3, 4), (3, 4, 4, 4))
    assert jax.eval_shape(lambda: symmetry.identity(FOUR)).rows.shape == (4,)
    assert jax.eval_shape(lambda: symmetry.sample(0, FOUR, (2, 0))).digits.shape == (2, 0, 4)


def test_what_does_not_fit_is_refused():
    several, _ = anything(4, 3)

    def refused(message, function, *arguments, error=ValueError):
        with pytest.raises(error, match=message):
            jax.eval_shape(function, *arguments)

    for shape in [(), (15,), (4, 5), (16, 3)]:
        message = r"grids of shape .*; symmetries of side 4 take \[\.\.\., 16\]"
        refused(message, symmetry.apply, several, np.zeros(shape, np.uint8))
    for shape in [(), (64,), (4, 16), (4, 4, 5)]:
        message = r"values of shape .*; symmetries of side 4 take \[\.\.\., 4, 4, 4\]"
        refused(message, symmetry.apply_candidates, several, np.zeros(shape, np.float32))
    refused(r"side 4 don't combine with those of side 5", symmetry.compose, several, anything(5, 3)[0])
    refused(r"batch axes \(2,\) and \(3,\) don't fit", symmetry.apply, several, np.zeros((2, 16), np.uint8))
    message = "grids of dtype float32; they must be integers"
    refused(message, symmetry.apply, several, np.zeros((3, 16), np.float32))
    message = "the first argument must be a Symmetry"
    for function in (symmetry.apply, symmetry.apply_candidates):
        refused(message, function, np.zeros((3, 16), np.uint8), several, error=TypeError)
    for shape in ("3", 1.5, (2, -1)):
        refused("shape must be", lambda shape=shape: symmetry.sample(0, FOUR, shape))


def test_lists_squares_and_a_number_of_draws():
    assert jax.eval_shape(lambda: symmetry.sample(0, FOUR, 5)).rows.shape == (5, 4)
    assert jax.eval_shape(lambda: symmetry.identity(FOUR, np.int64(5))).rows.shape == (5, 4)
    several, grids = anything(4, 5)
    values = np.random.default_rng(2).random((4, 4, 4), np.float32)

    @jax.jit
    def moved(several):
        forms = grids, grids.tolist(), grids.reshape(5, 4, 4)
        candidates = values, values.tolist()
        return [symmetry.apply(several, x) for x in forms], [symmetry.apply_candidates(several, x) for x in candidates]

    (expected, listed, square), (values_moved, values_listed) = jax.tree.map(np.asarray, moved(several))
    np.testing.assert_array_equal(listed, expected)
    assert square.dtype == np.uint8
    np.testing.assert_array_equal(square, np.reshape(expected, (5, 4, 4)))
    np.testing.assert_array_equal(values_listed, values_moved)


@pytest.mark.parametrize("setting", ["x64", "strict"])
def test_dtypes(setting):
    context = jax.enable_x64(True) if setting == "x64" else jax.numpy_dtype_promotion("strict")

    def everything(key, grids, scores):
        drawn = symmetry.sample(key, FOUR, (7,))
        drawn = symmetry.compose(symmetry.invert(drawn), symmetry.identity(FOUR))
        return drawn, symmetry.apply(drawn, grids), symmetry.apply_candidates(drawn, scores)

    key = as_key(0)
    shapes = jax.ShapeDtypeStruct((7, 16), np.uint8), jax.ShapeDtypeStruct((7, 4, 4, 4), np.float16)
    with context:
        drawn, grids, scores = jax.eval_shape(functools.partial(everything, key), *shapes)
    assert [x.dtype.name for x in drawn] == ["bool", "int32", "int32", "int32"]
    assert grids.dtype == np.uint8
    assert scores.dtype == np.float16
