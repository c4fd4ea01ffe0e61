"""Planes: conversions between the layouts, the lane of each bit, and logic on planes."""

from __future__ import annotations

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsudoku import planes
from jaxsudoku.board import Board

pytestmark = pytest.mark.quick

#: Boards whose candidates fill words in every way: with and without bits to spare, less and more than a byte a cell.
BOARDS = {
    "4x4": Board.classic(4),
    "jigsaw-5": reference.SMALL["jigsaw-5"],
    "2x3": Board.classic(6),
    "9x9": Board.classic(),
    "16x16": Board.classic(16),
}

every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
seeds = st.integers(0, 2**32 - 1)

by_board = functools.partial(jax.jit, static_argnames="board")
nodes_to_planes, planes_to_nodes = by_board(planes.nodes_to_planes), by_board(planes.planes_to_nodes)
words_to_planes, planes_to_words = jax.jit(planes.words_to_planes), jax.jit(planes.planes_to_words)
grids_to_planes, planes_to_grids = by_board(planes.grids_to_planes), by_board(planes.planes_to_grids)
cubes_to_planes, planes_to_cubes = by_board(planes.cubes_to_planes), by_board(planes.planes_to_cubes)


def words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2**32, shape, dtype=np.uint32)


# ---------------------------------------------------------------------- lanes


@given(seed=seeds, width=st.integers(1, 5))
def test_lanes_come_back(seed, width):
    lanes = np.random.default_rng(seed).integers(0, 2, 32 * width).astype(bool)
    plane = planes.pack_lanes(jnp.asarray(lanes))
    assert plane.dtype == np.uint32
    assert plane.shape == (width,)
    np.testing.assert_array_equal(plane, reference.from_lanes(lanes))
    np.testing.assert_array_equal(planes.unpack_lanes(plane), lanes)


ranked = jax.jit(planes.rank_lanes)


@given(seed=seeds, count=st.integers(1, 3), width=st.integers(1, 5))
def test_set_lanes_of_each_plane_are_numbered(seed, count, width):
    drawn = words(np.random.default_rng(seed), count, width)
    ranks, totals = map(np.asarray, ranked(drawn))
    for plane, rank, total in zip(drawn, ranks, totals, strict=True):
        lanes = reference.to_lanes(plane)
        assert total == lanes.sum()
        np.testing.assert_array_equal(np.sort(rank[lanes]), np.arange(total))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("width", [1, 5])
def test_transposition_is_the_same_in_steps_and_in_passes(count, width):
    """The first on a CPU, the second on accelerators."""
    drawn = words(np.random.default_rng(width), count, 32, width)
    in_steps = np.asarray(planes._exchange_in_steps(jnp.asarray(drawn)))
    np.testing.assert_array_equal(planes._exchange_in_passes(jnp.asarray(drawn)), in_steps)
    bits = (drawn[..., None] >> np.arange(32, dtype=np.uint32)) & 1  # matrix, row, group, column
    rows = (in_steps[..., None] >> np.arange(32, dtype=np.uint32)) & 1
    np.testing.assert_array_equal(rows, bits.transpose(0, 3, 2, 1))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_bit_k_of_word_w_is_lane_k_times_the_width_plus_w(width):
    for bit in (0, 1, 17, 31):
        for word in range(width):
            (lane,) = np.flatnonzero(planes.unpack_lanes(jnp.zeros(width, jnp.uint32).at[word].set(1 << bit)))
            assert lane == bit * width + word


# ---------------------------------------------------------------------- transposition


@given(seed=seeds, rows=st.integers(1, 3), width=st.integers(1, 3))
def test_words_to_planes_transposes_bits(seed, rows, width):
    lane_words = words(np.random.default_rng(seed), rows, 32 * width)
    bits = lane_words[:, None] >> np.arange(32, dtype=np.uint32)[:, None] & 1  # word, bit, lane
    found = words_to_planes(lane_words)
    np.testing.assert_array_equal(reference.to_lanes(found).T, bits.reshape(32 * rows, -1))
    np.testing.assert_array_equal(planes_to_words(found), lane_words)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 65])
def test_planes_that_fill_no_whole_word_are_filled_up_with_zeros(count):
    some = words(np.random.default_rng(count), count, 2)
    packed = planes_to_words(some)
    assert packed.shape == (-(-count // 32), 64)
    unpacked = np.asarray(words_to_planes(packed))
    np.testing.assert_array_equal(unpacked[:count], some)
    assert not unpacked[count:].any()


@every_board
def test_nodes_pack_a_puzzles_candidates_in_their_order(board):
    left = np.random.default_rng(0).integers(0, 2, (64, board.candidates)).astype(bool)
    cubes = reference.from_lanes(left.reshape(64, *(board.side,) * 3))
    nodes = planes_to_nodes(cubes, board)
    assert nodes.shape == (board.words, 64)
    assert nodes.dtype == np.uint32
    packed = np.packbits(left, axis=1, bitorder="little")
    as_bytes = np.ascontiguousarray(np.asarray(nodes).T).view(np.uint8)
    np.testing.assert_array_equal(as_bytes[:, : packed.shape[1]], packed)
    assert not as_bytes[:, packed.shape[1] :].any()
    np.testing.assert_array_equal(nodes_to_planes(nodes, board), cubes)


# ---------------------------------------------------------------------- cubes


@every_board
def test_cubes_and_planes_hold_the_same_candidates(board):
    cubes = np.random.default_rng(0).integers(0, 2, (64, board.side, board.cells)).astype(bool)
    found = cubes_to_planes(cubes, board)
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, reference.from_lanes(cubes.reshape(64, *(board.side,) * 3)))
    back = planes_to_cubes(found, board)
    assert back.dtype == bool
    np.testing.assert_array_equal(back, cubes)


@every_board
@pytest.mark.parametrize("shape", [(64,), (), (2, 3), (0,)])
def test_grids_as_cubes_have_the_candidates_before_any_rule(board, shape):
    grids = np.random.default_rng(1).integers(0, board.side + 1, (*shape, board.cells)).astype(np.uint8)
    cubes = planes.grids_to_cubes(grids, board)
    assert cubes.shape == (*shape, board.side, board.cells)
    assert cubes.dtype == bool
    flat = np.asarray(cubes).reshape(-1, board.side, board.cells)
    np.testing.assert_array_equal(flat, reference.candidates(board, grids.reshape(-1, board.cells)))
    back = planes.cubes_to_grids(cubes)
    assert back.dtype == np.uint8
    np.testing.assert_array_equal(back, grids)
    if shape == (64,):
        np.testing.assert_array_equal(cubes_to_planes(cubes, board), grids_to_planes(grids, board).candidates)


@given(seed=seeds)
def test_a_cell_of_a_cube_has_a_digit_if_one_candidate_is_left(seed):
    cubes = np.random.default_rng(seed).random((5, 6, 36)) < 0.2
    digits = np.where(cubes.sum(axis=1) == 1, cubes.argmax(axis=1) + 1, 0)
    np.testing.assert_array_equal(planes.cubes_to_grids(jnp.asarray(cubes)), digits)


# ---------------------------------------------------------------------- grids


@every_board
@settings(max_examples=20)
@given(seed=seeds, above=st.sampled_from([0, 1, 200]))
def test_grids_come_back(board, seed, above):
    rng = np.random.default_rng(seed)
    grids = rng.integers(0, board.side + 1, (64, board.cells)).astype(np.uint8)
    foreign = (rng.random(64) < 0.5) & (above > 0)
    grids[foreign, rng.integers(board.cells, size=64)[foreign]] = board.side + above
    found = grids_to_planes(grids, board)
    digits = grids[:, None] == np.arange(1, board.side + 1)[:, None]
    np.testing.assert_array_equal(reference.to_lanes(found.digits).reshape(digits.shape), digits)
    np.testing.assert_array_equal(reference.to_lanes(found.empty).reshape(grids.shape), grids == 0)
    np.testing.assert_array_equal(reference.to_lanes(found.foreign), foreign)
    np.testing.assert_array_equal(
        reference.to_lanes(found.candidates).reshape(digits.shape), reference.candidates(board, grids)
    )
    back = planes_to_grids(found.digits, board)
    assert back.dtype == np.uint8
    np.testing.assert_array_equal(back, np.where(grids > board.side, 0, grids))


def test_the_widest_board_keeps_its_digits():
    board = Board.classic(32)
    rng = np.random.default_rng(0)
    grids = np.array([reference.blanked(reference.full_grid(board, rng), 600, rng) for _ in range(32)])
    found = grids_to_planes(grids, board)
    assert not found.foreign.any()
    np.testing.assert_array_equal(planes_to_grids(found.digits, board), grids)


def test_a_value_is_foreign_when_it_is_above_the_side():
    board = BOARDS["4x4"]
    grids = np.zeros((256, board.cells), np.uint8)
    grids[:, 3] = np.arange(256)
    found = grids_to_planes(grids, board)
    np.testing.assert_array_equal(reference.to_lanes(found.foreign), np.arange(256) > 4)
    np.testing.assert_array_equal(np.flatnonzero(reference.to_lanes(found.empty)[:, 0, 3]), [0])


# ---------------------------------------------------------------------- logic


@given(seed=seeds, count=st.integers(1, 40))
def test_counting_planes(seed, count):
    some = words(np.random.default_rng(seed), count, 2)
    numbers = reference.to_lanes(some).sum(axis=1)
    stack = list(map(jnp.asarray, some))
    places = planes.count_planes(stack)
    assert len(places) >= count.bit_length()
    total = sum(reference.to_lanes(place).astype(int) << power for power, place in enumerate(places))
    np.testing.assert_array_equal(total, numbers)
    ones, twos = planes.ones_and_twos(stack)
    np.testing.assert_array_equal(reference.to_lanes(ones), numbers >= 1)
    np.testing.assert_array_equal(reference.to_lanes(twos), numbers >= 2)
    np.testing.assert_array_equal(reference.to_lanes(planes.exactly_one(stack)), numbers == 1)
    np.testing.assert_array_equal(reference.to_lanes(planes.any_of(stack)), numbers >= 1)
    np.testing.assert_array_equal(reference.to_lanes(planes.all_of(stack)), numbers == count)


@given(seed=seeds, count=st.integers(1, 6))
def test_the_first_set_plane_alone_is_kept(seed, count):
    rng = np.random.default_rng(seed)
    some = words(rng, count, 3, 2) & words(rng, count, 3, 2)
    lanes = reference.to_lanes(some)  # lane, plane, place
    firsts = reference.to_lanes(planes.first_of(jnp.asarray(some)))
    np.testing.assert_array_equal(firsts.any(axis=1), lanes.any(axis=1))
    np.testing.assert_array_equal(firsts.sum(axis=1), lanes.any(axis=1))
    np.testing.assert_array_equal(firsts.argmax(axis=1), lanes.argmax(axis=1))


@given(seed=seeds)
def test_where_chooses_lane_by_lane(seed):
    condition, x, y = words(np.random.default_rng(seed), 3, 4)
    chosen = np.where(*map(reference.to_lanes, (condition, x, y)))
    np.testing.assert_array_equal(reference.to_lanes(planes.where(condition, x, y)), chosen)


def test_slices_go_through_the_first_axis_slowest():
    x = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    parts = planes.slices(jnp.asarray(x), (0, 2))
    np.testing.assert_array_equal(parts, [x[i, :, j] for i in range(2) for j in range(4)])
    np.testing.assert_array_equal(planes.slices(jnp.asarray(x), 1), np.moveaxis(x, 1, 0))


# ---------------------------------------------------------------------- padding, selecting, checks


@pytest.mark.parametrize(("shape", "axis", "padded"), [((33, 2), 0, 64), ((2, 32), 1, 32), ((0, 5), 0, 32)])
def test_lanes_are_padded_to_whole_words(shape, axis, padded):
    values = jnp.ones(shape, jnp.uint32)
    after = planes.pad_lanes(values, axis)
    assert after.shape[axis] == padded and after.shape[1 - axis] == shape[1 - axis]
    assert after.sum() == values.size


def test_padded_grids_end_with_invalid_rows():
    grids = np.zeros((40, 16), np.uint8)
    grids[[3, 37, 38, 39]] = 255
    padded, active = planes.pad_grids(jnp.asarray(grids), BOARDS["4x4"], 32)
    np.testing.assert_array_equal(padded[:40], grids)
    assert padded.shape == (64, 16) and (padded[40:] == 255).all()
    assert active == 37


def test_select_takes_whole_rows_of_a_tree():
    chosen = jnp.array([True, False, True])
    one, other = ({"x": jnp.full(3, value), "y": [jnp.full((3, 2, 2), value)]} for value in (1, 2))
    expected = {"x": np.array([1, 2, 1]), "y": [np.array([1, 2, 1])[:, None, None].repeat(2, 1).repeat(2, 2)]}
    chex.assert_trees_all_equal(planes.select(chosen, one, other), expected)


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
