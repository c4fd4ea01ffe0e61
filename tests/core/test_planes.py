"""Planes: conversions between the layouts, the lane of each bit, and logic on planes."""

from __future__ import annotations

import functools

import chex
import jax
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku import planes
from jaxsudoku.core.board import Board
from jaxsudoku.runtime import operations

pytestmark = pytest.mark.quick

#: Boards whose candidates and cells fill words, and do not.
BOARDS = {"4x4": Board.classic(4), "jigsaw-5": reference.SMALL["jigsaw-5"], "9x9": Board.classic()}

every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)


def words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2**32, shape, dtype=np.uint32)


# ---------------------------------------------------------------------- lanes

packed, unpacked, ranked = map(jax.jit, (planes.pack_lanes, planes.unpack_lanes, planes.rank_lanes))


@few
@given(seed=seeds)
def test_lanes_come_back(seed):
    lanes = np.random.default_rng(seed).integers(0, 2, 96).astype(bool)
    plane = np.asarray(packed(lanes))
    assert plane.dtype == np.uint32
    assert plane.shape == (3,)
    np.testing.assert_array_equal(plane, reference.from_lanes(lanes))
    np.testing.assert_array_equal(unpacked(plane), lanes)


@few
@given(seed=seeds)
def test_set_lanes_of_each_plane_are_numbered(seed):
    drawn = words(np.random.default_rng(seed), 3, 5)
    ranks, totals = map(np.asarray, ranked(drawn))
    for plane, rank, total in zip(drawn, ranks, totals, strict=True):
        lanes = reference.to_lanes(plane)
        assert total == lanes.sum()
        np.testing.assert_array_equal(np.sort(rank[lanes]), np.arange(total))


def test_transposition_is_the_same_in_steps_and_in_passes():
    """The first on a CPU, the second on accelerators."""
    drawn = words(np.random.default_rng(0), 3, 32, 5)
    exchange = jax.jit(lambda x: (planes._exchange_in_steps(x), planes._exchange_in_passes(x)))
    in_steps, in_passes = map(np.asarray, exchange(drawn))
    np.testing.assert_array_equal(in_passes, in_steps)
    bits = (drawn[..., None] >> np.arange(32, dtype=np.uint32)) & 1  # matrix, row, group, column
    rows = (in_steps[..., None] >> np.arange(32, dtype=np.uint32)) & 1
    np.testing.assert_array_equal(rows, bits.transpose(0, 3, 2, 1))


def test_bit_k_of_word_w_is_lane_k_times_the_width_plus_w():
    for bit in (0, 1, 17, 31):
        for word in range(3):
            (lane,) = np.flatnonzero(unpacked(np.uint32(1 << bit) * (np.arange(3, dtype=np.uint32) == word)))
            assert lane == bit * 3 + word


# ---------------------------------------------------------------------- transposition

words_to_planes, planes_to_words = jax.jit(planes.words_to_planes), jax.jit(planes.planes_to_words)


@few
@given(seed=seeds)
def test_words_to_planes_transposes_bits(seed):
    lane_words = words(np.random.default_rng(seed), 2, 96)
    bits = lane_words[:, None] >> np.arange(32, dtype=np.uint32)[:, None] & 1  # word, bit, lane
    found = np.asarray(words_to_planes(lane_words))
    np.testing.assert_array_equal(reference.to_lanes(found).T, bits.reshape(64, -1))
    np.testing.assert_array_equal(planes_to_words(found), lane_words)


@pytest.mark.parametrize("count", [1, 33])
def test_planes_that_fill_no_whole_word_are_filled_up_with_zeros(count):
    some = words(np.random.default_rng(count), count, 2)

    def there_and_back(some):
        packed = planes.planes_to_words(some)
        return packed, planes.words_to_planes(packed)

    packed, unpacked = map(np.asarray, jax.jit(there_and_back)(some))
    assert packed.shape == (-(-count // 32), 64)
    np.testing.assert_array_equal(unpacked[:count], some)
    assert not unpacked[count:].any()


# ---------------------------------------------------------------------- cubes and nodes


@every_board
def test_cubes_planes_and_nodes_hold_the_same_candidates(board):
    cubes = np.random.default_rng(0).integers(0, 2, (64, board.side, board.cells)).astype(bool)

    def there_and_back(cubes):
        found = planes.cubes_to_planes(cubes, board)
        nodes = planes.planes_to_nodes(found, board)
        return found, planes.planes_to_cubes(found, board), nodes, planes.nodes_to_planes(nodes, board)

    found, back, nodes, from_nodes = map(np.asarray, jax.jit(there_and_back)(cubes))
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, reference.from_lanes(cubes.reshape(64, *(board.side,) * 3)))
    assert back.dtype == bool
    np.testing.assert_array_equal(back, cubes)
    # nodes pack a puzzle's candidates in their order
    assert nodes.shape == (board.words, 64)
    assert nodes.dtype == np.uint32
    packed = np.packbits(cubes.reshape(64, -1), axis=1, bitorder="little")
    as_bytes = np.ascontiguousarray(nodes.T).view(np.uint8)
    np.testing.assert_array_equal(as_bytes[:, : packed.shape[1]], packed)
    assert not as_bytes[:, packed.shape[1] :].any()
    np.testing.assert_array_equal(from_nodes, found)


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_any_batch_of_grids_as_cubes(shape):
    board = BOARDS["4x4"]
    grids = np.random.default_rng(1).integers(0, 5, (*shape, 16)).astype(np.uint8)

    def there_and_back(grids):
        cubes = planes.grids_to_cubes(grids, board)
        return cubes, planes.cubes_to_grids(cubes)

    cubes, back = jax.eval_shape(there_and_back, grids)
    assert (cubes.shape, cubes.dtype) == ((*shape, 4, 16), bool)
    assert (back.shape, back.dtype) == ((*shape, 16), np.uint8)
    if grids.size:
        cubes, back = map(np.asarray, jax.jit(there_and_back)(grids))
        np.testing.assert_array_equal(cubes.reshape(-1, 4, 16), reference.candidates(board, grids.reshape(-1, 16)))
        np.testing.assert_array_equal(back, grids)


cubes_to_grids = jax.jit(planes.cubes_to_grids)


@few
@given(seed=seeds)
def test_a_cell_of_a_cube_has_a_digit_if_one_candidate_is_left(seed):
    cubes = np.random.default_rng(seed).random((5, 6, 36)) < 0.2
    digits = np.where(cubes.sum(axis=1) == 1, cubes.argmax(axis=1) + 1, 0)
    np.testing.assert_array_equal(cubes_to_grids(cubes), digits)


# ---------------------------------------------------------------------- grids


@functools.cache
def kernel(board):
    """Grids as planes and as cubes, and back."""

    def run(grids):
        found, cubes = planes.grids_to_planes(grids, board), planes.grids_to_cubes(grids, board)
        back = planes.planes_to_grids(found.digits, board), planes.cubes_to_grids(cubes)
        return found, found.candidates, cubes, back

    return jax.jit(run)


def converted(board, grids):
    """What the kernel makes of 64 grids."""
    return jax.tree.map(np.asarray, kernel(board)(grids))


@every_board
@settings(max_examples=10)
@given(seed=seeds, above=st.sampled_from([0, 1, 200]))
def test_grids_come_back(board, seed, above):
    rng = np.random.default_rng(seed)
    grids = rng.integers(0, board.side + 1, (64, board.cells)).astype(np.uint8)
    foreign = (rng.random(64) < 0.5) & (above > 0)
    grids[foreign, rng.integers(board.cells, size=64)[foreign]] = board.side + above
    found, candidates, cubes, (back, from_cubes) = converted(board, grids)
    digits = grids[:, None] == np.arange(1, board.side + 1)[:, None]
    np.testing.assert_array_equal(reference.to_lanes(found.digits).reshape(digits.shape), digits)
    np.testing.assert_array_equal(reference.to_lanes(found.empty).reshape(grids.shape), grids == 0)
    np.testing.assert_array_equal(reference.to_lanes(found.foreign), foreign)
    before_any_rule = reference.candidates(board, grids)
    np.testing.assert_array_equal(reference.to_lanes(candidates).reshape(digits.shape), before_any_rule)
    np.testing.assert_array_equal(cubes, before_any_rule)
    for grid in (back, from_cubes):
        assert grid.dtype == np.uint8
        np.testing.assert_array_equal(grid, np.where(grids > board.side, 0, grids))


def test_a_wide_board_keeps_its_digits():
    """Digits of five bits."""
    board = Board.classic(16)
    rng = np.random.default_rng(0)
    grids = np.array([reference.blanked(reference.full_grid(board, rng), 200, rng) for _ in range(32)])

    @jax.jit
    def there_and_back(grids):
        found = planes.grids_to_planes(grids, board)
        return found.foreign, planes.planes_to_grids(found.digits, board)

    foreign, back = map(np.asarray, there_and_back(grids))
    assert not foreign.any()
    np.testing.assert_array_equal(back, grids)


def test_a_value_is_foreign_when_it_is_above_the_side():
    board = BOARDS["4x4"]
    for values in np.arange(256).reshape(4, 64):
        grids = np.zeros((64, board.cells), np.uint8)
        grids[:, 3] = values
        found, *_ = converted(board, grids)
        np.testing.assert_array_equal(reference.to_lanes(found.foreign), values > 4)
        np.testing.assert_array_equal(reference.to_lanes(found.empty)[:, 0, 3], values == 0)


# ---------------------------------------------------------------------- logic

#: Numbers of planes that are counted: fewer and more than a stage of the sum holds.
COUNTS = (1, 2, 3, 9, 10, 21)


@jax.jit
def counted(some):
    functions = (planes.count_planes, planes.ones_and_twos, planes.exactly_one, planes.any_of, planes.all_of)
    return {count: [function(planes.slices(some[:count], 0)) for function in functions] for count in COUNTS}


@few
@given(seed=seeds)
def test_counting_planes(seed):
    rng = np.random.default_rng(seed)
    some = words(rng, max(COUNTS), 2) | (words(rng, 2) & words(rng, 2))  # some lanes have all
    some &= words(rng, 2) | words(rng, 2)  # and some none
    for count, found in counted(some).items():
        places, (ones, twos), exactly_one, any_of, all_of = jax.tree.map(np.asarray, found)
        numbers = reference.to_lanes(some[:count]).sum(axis=1)
        assert len(places) >= count.bit_length()
        total = sum(reference.to_lanes(place).astype(int) << power for power, place in enumerate(places))
        np.testing.assert_array_equal(total, numbers)
        np.testing.assert_array_equal(reference.to_lanes(ones), numbers >= 1)
        np.testing.assert_array_equal(reference.to_lanes(twos), numbers >= 2)
        np.testing.assert_array_equal(reference.to_lanes(exactly_one), numbers == 1)
        np.testing.assert_array_equal(reference.to_lanes(any_of), numbers >= 1)
        np.testing.assert_array_equal(reference.to_lanes(all_of), numbers == count)


first_of = jax.jit(planes.first_of)


@few
@given(seed=seeds)
def test_the_first_set_plane_alone_is_kept(seed):
    rng = np.random.default_rng(seed)
    some = words(rng, 4, 3, 2) & words(rng, 4, 3, 2)
    lanes = reference.to_lanes(some)  # lane, plane, place
    firsts = reference.to_lanes(first_of(some))
    np.testing.assert_array_equal(firsts.any(axis=1), lanes.any(axis=1))
    np.testing.assert_array_equal(firsts.sum(axis=1), lanes.any(axis=1))
    np.testing.assert_array_equal(firsts.argmax(axis=1), lanes.argmax(axis=1))


@few
@given(seed=seeds)
def test_where_chooses_lane_by_lane(seed):
    condition, x, y = words(np.random.default_rng(seed), 3, 4)
    chosen = np.where(*map(reference.to_lanes, (condition, x, y)))
    np.testing.assert_array_equal(reference.to_lanes(planes.where(condition, x, y)), chosen)


def test_slices_go_through_the_first_axis_slowest():
    x = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    np.testing.assert_array_equal(planes.slices(x, (0, 2)), [x[i, :, j] for i in range(2) for j in range(4)])
    np.testing.assert_array_equal(planes.slices(x, 1), np.moveaxis(x, 1, 0))


# ---------------------------------------------------------------------- padding, selecting, checks


def test_lanes_are_padded_to_whole_words():
    cases = [((33, 2), 0, 64), ((2, 32), 1, 32), ((0, 5), 0, 32)]
    run = jax.jit(lambda *values: [planes.pad_lanes(*pair) for pair in zip(values, (0, 1, 0), strict=True)])
    for (shape, axis, padded), after in zip(cases, run(*(np.ones(case[0], np.uint32) for case in cases)), strict=True):
        assert after.shape[axis] == padded and after.shape[1 - axis] == shape[1 - axis]
        assert np.asarray(after).sum() == np.prod(shape)


def test_padded_grids_end_with_invalid_rows():
    grids = np.zeros((40, 16), np.uint8)
    grids[[3, 37, 38, 39]] = 255
    pad = jax.jit(planes.pad_grids, static_argnames=("board", "multiple"))
    padded, active = map(np.asarray, pad(grids, BOARDS["4x4"], 32))
    np.testing.assert_array_equal(padded[:40], grids)
    assert padded.shape == (64, 16) and (padded[40:] == 255).all()
    assert active == 37


def test_select_takes_whole_rows_of_a_tree():
    chosen = np.array([True, False, True])
    one, other = ({"x": np.full(3, value), "y": [np.full((3, 2, 2), value)]} for value in (1, 2))
    expected = {"x": np.array([1, 2, 1]), "y": [np.array([1, 2, 1])[:, None, None].repeat(2, 1).repeat(2, 2)]}
    chex.assert_trees_all_equal(jax.tree.map(np.asarray, jax.jit(operations.select)(chosen, one, other)), expected)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (planes.pack_lanes, np.zeros(32, np.uint8)),
        (planes.pack_lanes, np.zeros((2, 32), bool)),
        (planes.unpack_lanes, np.zeros(1, np.int32)),
        (planes.unpack_lanes, np.zeros((1, 1), np.uint32)),
        (planes.rank_lanes, np.zeros(1, np.uint32)),
        (planes.words_to_planes, np.zeros((1, 32), np.int32)),
        (planes.planes_to_words, np.zeros(4, np.uint32)),
        (planes.words_to_grids, np.zeros((4, 32), np.int32)),
    ],
)
def test_another_rank_or_dtype_is_refused(function, argument):
    with pytest.raises(ValueError, match="must be"):
        function(argument)
