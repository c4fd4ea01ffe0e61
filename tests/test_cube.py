"""CubeNet: what its symmetry promises, and one set of weights for every board."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxsudoku as js
from jaxsudoku import networks, symmetry
from jaxsudoku.networks import widening
from jaxsudoku.networks.cube import CubeNet, _cube
from jaxsudoku.networks.packed import maximum_by_index, pack

NINE, SIXTEEN = js.Board.classic(9), js.Board.classic(16)
BOXES = "aaabbbccc" * 3 + "dddeeefff" * 3 + "ggghhhiii" * 3
BOARDS = (
    js.Board.classic(4),
    js.Board.classic(6),
    NINE,
    SIXTEEN,
    js.Board.diagonal(9),
    js.Board.windoku(),
    js.Board.jigsaw("aaaabb acbbbb accccd eecddd ffffdd eeeeff"),
)

#: With every option on, so that no part of it goes unseen.
SIZES = {"width": 8, "hidden": 8, "house": 12, "shares": 2, "maximum": True, "iterations": 4}


@functools.cache
def cube(board, **sizes):
    """The same weights on every board, none of them at the zero or one that it begins with."""
    network = networks.make_network("cube", **SIZES | sizes)
    leaves, structure = jax.tree.flatten(network.params)
    random = np.random.default_rng(1)
    leaves = [leaf + random.normal(0, 0.1, leaf.shape).astype(np.float32) for leaf in leaves]
    network = dataclasses.replace(network, params=jax.tree.unflatten(structure, leaves))
    return networks.for_board(network, board)


def some_candidates(board, batch, seed):
    random = np.random.default_rng(seed)
    seen = random.random((batch, board.side, board.cells)) < random.random((batch, 1, 1))
    seen[:, 0] |= ~seen.any(axis=1)  # no cell is without a candidate
    return seen


def moved(sample, values, board):
    """What a symmetry makes of values [B, side, cells]."""
    cubes = values.reshape(len(values), *(board.side,) * 3)
    return np.asarray(symmetry.apply_candidates(sample, cubes)).reshape(values.shape)


@pytest.mark.parametrize("board", [NINE, SIXTEEN], ids=str)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_symmetry_of_the_board_comes_out_again(board, seed):
    network = cube(board)
    seen = some_candidates(board, 2, seed)
    drawn = symmetry.sample(jax.random.key(seed), board, (2,))
    before, after = network(seen), network(moved(drawn, seen, board))
    expected = moved(drawn, np.asarray(before.policy), board)
    there = moved(drawn, seen, board)
    np.testing.assert_allclose(np.asarray(after.policy)[there], expected[there], atol=1e-4, rtol=0)
    np.testing.assert_allclose(after.value, before.value, atol=1e-4, rtol=0)


def test_what_is_no_symmetry_does_not_come_out_again():
    rows = np.arange(81).reshape(9, 9)[[0, 3, 1, 2, 4, 5, 6, 7, 8]].ravel()  # a row of another band moves in
    seen = some_candidates(NINE, 2, 0)
    before, after = cube(NINE)(seen), cube(NINE)(seen[:, :, rows])
    difference = np.abs(np.asarray(after.policy) - np.asarray(before.policy)[:, :, rows])
    assert difference[seen[:, :, rows]].max() > 1e-2


@pytest.mark.parametrize("board", BOARDS, ids=str)
def test_one_set_of_weights_runs_on_every_board(board):
    network = cube(board)
    assert network.params is cube(NINE).params or jax.tree.all(
        jax.tree.map(np.array_equal, network.params, cube(NINE).params)
    )
    seen = some_candidates(board, 3, 0)
    outputs = network(seen)
    policy = np.asarray(outputs.policy)
    assert policy.shape == seen.shape and outputs.value.shape == (3,)
    assert np.isfinite(policy).all() and np.isfinite(outputs.value).all() and policy[seen].std() > 1e-3


def test_regions_by_tables_are_as_boxes():
    seen = some_candidates(NINE, 3, 0)
    boxes, regions = cube(NINE)(seen), cube(js.Board.jigsaw(BOXES))(seen)
    np.testing.assert_allclose(regions.policy, boxes.policy, atol=1e-4, rtol=0)
    np.testing.assert_allclose(regions.value, boxes.value, atol=1e-4, rtol=0)


def test_further_houses_matter():
    seen = some_candidates(NINE, 3, 0)
    plain, diagonal = cube(NINE)(seen), cube(js.Board.diagonal(9))(seen)
    assert np.abs(np.asarray(plain.policy) - np.asarray(diagonal.policy))[seen].max() > 1e-2


def test_iterations_are_chosen_at_call_time():
    network = cube(NINE)
    seen = some_candidates(NINE, 2, 0)
    unrolled, _ = jax.jit(network.apply.unroll)(network.params, seen)
    assert unrolled.policy.shape == (4, 2, 9, 81) and unrolled.value.shape == (4, 2)
    for iterations in (1, 3):
        config = dataclasses.replace(network.config, iterations=iterations)
        fewer = dataclasses.replace(network, apply=dataclasses.replace(network.apply, config=config))
        np.testing.assert_allclose(fewer(seen).policy, unrolled.policy[iterations - 1], atol=1e-5, rtol=0)


def test_resuming_is_doing_more_iterations():
    apply, params, seen = cube(NINE).apply, cube(NINE).params, some_candidates(NINE, 2, 0)
    resume = jax.jit(apply.resume)
    unrolled = jax.jit(dataclasses.replace(apply, config=dataclasses.replace(apply.config, iterations=8)).unroll)
    expected, _ = unrolled(params, seen)
    first, carry = resume(params, seen, apply.initialize_carry(params, seen), np.array([True, True]))
    second, carry = resume(params, seen, carry, np.array([False, True]))
    np.testing.assert_allclose(first.policy, expected.policy[3], atol=1e-4, rtol=0)
    np.testing.assert_allclose(second.policy[0], expected.policy[7, 0], atol=1e-4, rtol=0)
    np.testing.assert_allclose(second.policy[1], expected.policy[3, 1], atol=1e-4, rtol=0)


def test_unrolling_continues_from_a_carry():
    apply = cube(NINE).apply
    params, seen = cube(NINE).params, some_candidates(NINE, 2, 0)
    longer = dataclasses.replace(apply, config=dataclasses.replace(apply.config, iterations=8))
    fresh = np.array([False, True])

    @jax.jit
    def traced(params, carry):
        def loss(params):
            outputs, after = apply.unroll(params, seen, carry, fresh)
            return jax.numpy.where(seen, outputs.policy, 0).mean() + outputs.value.mean(), (outputs, after)

        return jax.grad(loss, has_aux=True)(params)

    whole, end = jax.jit(longer.unroll)(params, seen)
    _, carry = jax.jit(apply.unroll)(params, seen)
    gradient, (outputs, after) = traced(params, carry)
    np.testing.assert_allclose(outputs.policy[:, 0], whole.policy[4:, 0], atol=1e-4, rtol=0)
    np.testing.assert_allclose(outputs.policy[:, 1], whole.policy[:4, 1], atol=1e-4, rtol=0)
    np.testing.assert_allclose(after[..., 0, :], end[..., 0, :], atol=1e-4, rtol=0)
    assert np.any(gradient["embed"]["kernel"]) and np.any(gradient["update"]["kernel"])


def test_no_gradient_flows_through_the_carry():
    apply = cube(NINE).apply
    params, seen = cube(NINE).params, some_candidates(NINE, 2, 0)

    @jax.jit
    @jax.grad
    def by_what_came_before(before):
        _, carry = apply.unroll(before, seen)
        return jax.numpy.where(seen, apply.unroll(params, seen, carry, np.zeros(2, bool))[0].policy, 0).mean()

    assert not any(np.any(leaf) for leaf in jax.tree.leaves(by_what_came_before(params)))


@pytest.mark.parametrize("sizes", [{"shares": 0}, {"maximum": False}], ids=str)
def test_options_change_the_network(sizes):
    plain, changed = networks.make_network("cube", **SIZES), networks.make_network("cube", **SIZES | sizes)
    assert changed.size < plain.size
    assert np.isfinite(changed(some_candidates(NINE, 1, 0)).value).all()


@pytest.mark.parametrize(
    "sizes", [{"width": 0}, {"shares": -1}, {"iterations": 2.5}, {"dtype": "float16"}, {"house": True}], ids=str
)
def test_sizes_that_make_no_sense(sizes):
    with pytest.raises(ValueError, match=next(iter(sizes))):
        networks.make_network("cube", **sizes)


# ---------------------------------------------------------------------- open candidates alone


@pytest.fixture
def all_candidates(monkeypatch):
    """Computes all candidates, as on an accelerator."""
    monkeypatch.setattr(CubeNet, "_on_platform", lambda self, everywhere, on_cpu, *operands: everywhere(*operands))


@pytest.mark.parametrize("board", [NINE, *BOARDS[-2:]], ids=str)
@pytest.mark.slow
def test_open_candidates_alone_give_the_same(board, request):
    network = cube(board, maximum=False)
    seen = some_candidates(board, 9, 3)
    seen[0] = True  # all
    seen[1], seen[1, 0] = False, True  # as few as can be
    is_open = jnp.asarray(as_carry(board, seen) * opened(board, seen))

    def run(params):
        def loss(params):
            outputs, carry = network.apply.unroll(params, seen)
            return jnp.where(seen, outputs.policy, 0).mean() + outputs.value.mean(), (outputs, carry * is_open)

        gradient, (outputs, carry) = jax.grad(loss, has_aux=True)(params)
        return gradient, outputs, carry, network.apply(params, seen)

    few = jax.jit(run)(network.params)
    request.getfixturevalue("all_candidates")
    every = jax.jit(lambda params: run(params))(network.params)
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(every), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5 * max(1, np.abs(other)[np.abs(other) < 1e8].max()), rtol=0)


def as_carry(board, seen):
    """Candidates [B, side, cells] in the order of the carry, with an axis of features."""
    return seen.transpose(1, 2, 0).reshape(*_cube(board), len(seen), 1)


def opened(board, seen):
    """Which candidates a group shares with another, bool, in the order of the carry."""
    rivals = np.zeros(seen.shape, int)
    cells = [np.arange(board.cells) == cell for cell in range(board.cells)]
    for number, cell in enumerate(cells):
        peers = np.zeros(board.cells, bool)
        for house in np.asarray(board.houses):
            if number in house:
                peers[house] = True
        rivals[..., cell] = (seen & (peers & ~cell)).sum(axis=2)[..., None] + seen[..., cell].sum(axis=1)[:, None] - 1
    return as_carry(board, rivals > 0)


def test_decided_candidates_change_nothing():
    """A candidate without another in its groups may as well be absent."""
    network = cube(NINE, maximum=False)
    seen = some_candidates(NINE, 4, 5)
    alone = np.moveaxis(opened(NINE, seen).reshape(9, 81, 4), -1, 0)
    out, without = network(seen), network(seen & alone)
    policy = np.where(seen & alone, out.policy, 0), np.where(seen & alone, without.policy, 0)
    np.testing.assert_allclose(*policy, atol=1e-5)
    np.testing.assert_allclose(out.value, without.value, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), batch=st.sampled_from([1, 3, 8]), share=st.floats(0, 1))
def test_open_candidates_come_first(seed, batch, share):
    board = BOARDS[-1]
    is_open = np.random.default_rng(seed).random((board.side, board.cells, batch)) < share
    found = pack(board, jnp.asarray(is_open))
    order, place, flat = np.asarray(found.order), np.asarray(found.place), is_open.reshape(-1)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(flat)))
    np.testing.assert_array_equal(order[place], np.arange(len(flat)))
    count = flat.sum()
    assert flat[order[:count]].all() and not flat[order[count:]].any()
    taken = []
    found.switch(lambda rows, families: lambda: taken.append((rows, [family.size for family in families])) or 0)
    rows, sizes = taken[int(found.size)]
    assert rows >= count
    for family, size in zip(found.families, sizes, strict=True):
        used = np.asarray(family.groups)[:, :count]
        assert (used[used < family.size] < size).all()
    assert taken[-1][0] == len(flat)


def test_the_maximum_by_index_has_the_gradient_of_one_row():
    x = jnp.array([[1.0, -2.0], [3.0, -1.0], [3.0, 0.5], [-1.0, 2.0], [0.0, -5.0]])
    group, least = jnp.array([0, 0, 0, 1, 1]), jnp.array([[-jnp.inf], [0.0], [-jnp.inf]])
    np.testing.assert_array_equal(maximum_by_index(x, group, least), [[3, 0.5], [0, 2], [-jnp.inf, -jnp.inf]])
    gradient = jax.grad(lambda x: (maximum_by_index(x, group, least)[:2] * jnp.array([[1.0, 2], [3, 4]])).sum())(x)
    np.testing.assert_array_equal(gradient, [[0, 0], [1, 0], [0, 2], [0, 4], [0, 0]])


# ---------------------------------------------------------------------- wider networks


@pytest.mark.slow
def test_a_wider_network_begins_as_the_same_function():
    small = cube(NINE, maximum=False)
    sizes = dataclasses.replace(small.config, width=13, hidden=9, house=20, shares=5)
    large = networks.make_forward("cube", NINE, **dataclasses.asdict(sizes))
    params = widening.widen(small.params, small.config, large, jax.random.key(3))
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(lambda leaf: leaf.shape, large.shapes())
    seen = some_candidates(NINE, 4, 5)
    expected, found = small(seen), large(params, seen)
    np.testing.assert_allclose(found.policy, expected.policy, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-4, atol=1e-4)

    def loss(params):
        return (large(params, seen).policy * jax.random.normal(jax.random.key(1), seen.shape) * seen).sum()

    changed = jax.grad(loss)(params)["update"]["kernel"]
    assert jnp.abs(changed[small.config.hidden :, : small.config.width]).max() > 0, "what is new learns"


@pytest.mark.parametrize("sizes", [{"width": 7}, {"shares": 0}, {"maximum": True}])
def test_networks_that_cannot_be_widened(sizes):
    small = cube(NINE, maximum=False)
    large = networks.make_forward("cube", NINE, **dataclasses.asdict(dataclasses.replace(small.config, **sizes)))
    with pytest.raises(ValueError, match="widened"):
        widening.widen(small.params, small.config, large, jax.random.key(3))
