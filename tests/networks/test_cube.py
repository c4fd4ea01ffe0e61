"""CubeNet: what its symmetry promises, and one set of weights for every board."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxsudoku as js
from jaxsudoku import networks, symmetry
from jaxsudoku.networks import Forward, packed, widening
from jaxsudoku.networks.base import ABSENT, Halt, noisy
from jaxsudoku.networks.conflicts import conflicts_of
from jaxsudoku.networks.cube import CubeNet
from jaxsudoku.networks.groups import cube_shape
from jaxsudoku.networks.packed import Family, maximum_by_index, pack
from jaxsudoku.runtime.random import as_key

SIX, NINE = js.Board.classic(6), js.Board.classic(9)
BOXES = "aaabbbccc" * 3 + "dddeeefff" * 3 + "ggghhhiii" * 3
JIGSAW = js.Board.jigsaw("aaaabb acbbbb accccd eecddd ffffdd eeeeff")
BOARDS = (SIX, NINE, js.Board.classic(16), js.Board.diagonal(9), JIGSAW)

#: With every option on, so that no part of it goes unseen.
SIZES = {"width": 8, "hidden": 8, "house": 12, "shares": 2, "maximum": True, "iterations": 4}


@functools.cache
def drawn(sizes):
    """A network with weights that are drawn without a program, none of them at the zero or one that it begins with."""
    forward = networks.make_forward("cube", NINE, **SIZES | dict(sizes))
    random = np.random.default_rng(1)

    def weights(path, leaf):
        middle = 1 if path[-1].key == "scale" else 0
        return random.normal(middle, 0.3, leaf.shape).astype(np.float32)

    return networks.Network("cube", forward, jax.tree_util.tree_map_with_path(weights, forward.shapes()))


def cube(board, **sizes):
    """The same weights on every board."""
    return networks.for_board(drawn(tuple(sizes.items())), board)


def longer(apply, iterations):
    """The same architecture with as many iterations."""
    return dataclasses.replace(apply, config=dataclasses.replace(apply.config, iterations=iterations))


unrolled = jax.jit(Forward.unroll, static_argnums=0)


def some_candidates(board, batch, seed):
    random = np.random.default_rng(seed)
    seen = random.random((batch, board.side, board.cells)) < random.random((batch, 1, 1))
    seen[:, 0] |= ~seen.any(axis=1)  # no cell is without a candidate
    return seen


@functools.partial(jax.jit, static_argnums=0)
def moved(board, key, *values):
    """What a symmetry for each position makes of values [B, side, cells]."""
    drawn = symmetry.sample(key, board, values[0].shape[:1])
    shape = (len(values[0]), *(board.side,) * 3)
    return [symmetry.apply_candidates(drawn, each.reshape(shape)).reshape(each.shape) for each in values]


@pytest.mark.parametrize("board", [SIX, NINE], ids=str)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_symmetry_of_the_board_comes_out_again(board, seed):
    network = cube(board)
    seen = some_candidates(board, 3, seed)
    before = jax.tree.map(np.asarray, network(seen))
    there, expected = map(np.asarray, moved(board, as_key(seed), seen, before.policy))
    after = jax.tree.map(np.asarray, network(there))
    np.testing.assert_allclose(after.policy[there], expected[there], atol=1e-4, rtol=0)
    np.testing.assert_allclose(after.value, before.value, atol=1e-4, rtol=0)


def test_what_is_no_symmetry_does_not_come_out_again():
    rows = np.arange(81).reshape(9, 9)[[0, 3, 1, 2, 4, 5, 6, 7, 8]].ravel()  # a row of another band moves in
    seen = some_candidates(NINE, 3, 0)
    before, after = cube(NINE)(seen), cube(NINE)(seen[:, :, rows])
    difference = np.abs(np.asarray(after.policy) - np.asarray(before.policy)[:, :, rows])
    assert difference[seen[:, :, rows]].max() > 1e-2


@pytest.mark.parametrize("board", BOARDS, ids=str)
def test_one_set_of_weights_runs_on_every_board(board):
    network = cube(board)
    assert network.params is cube(NINE).params and network.board == board
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
    network = cube(SIX)
    seen = some_candidates(SIX, 3, 0)
    each, _ = unrolled(network.apply, network.params, seen)
    policy = np.asarray(each.policy)
    assert policy.shape == (4, 3, 6, 36) and each.value.shape == (4, 3)
    for iterations in (1, 4):
        fewer = dataclasses.replace(network, apply=longer(network.apply, iterations))
        np.testing.assert_allclose(fewer(seen).policy, policy[iterations - 1], atol=1e-5, rtol=0)


def test_resuming_is_doing_more_iterations():
    apply, params, seen = cube(SIX).apply, cube(SIX).params, some_candidates(SIX, 3, 0)
    resume = jax.jit(apply.resume)
    whole, _ = jax.tree.map(np.asarray, unrolled(longer(apply, 8), params, seen))
    shape = jax.eval_shape(apply.initialize_carry, params, seen).shape
    carry = np.full(shape, 7, np.float32)  # that of other positions
    first, carry, _ = resume(params, seen, carry, np.array([True, True, True]))
    second, carry, _ = resume(params, seen, carry, np.array([False, True, False]))
    np.testing.assert_allclose(first.policy, whole.policy[3], atol=1e-4, rtol=0)
    np.testing.assert_allclose(np.asarray(second.policy)[::2], whole.policy[7, ::2], atol=1e-4, rtol=0)
    np.testing.assert_allclose(np.asarray(second.policy)[1], whole.policy[3, 1], atol=1e-4, rtol=0)


def test_a_position_is_sure_of_a_digit_of_a_cell_with_several():
    """Without a probability that is asked for no position is, however certain its digits are."""
    seen = np.zeros((3, 6, 36), bool)
    seen[:, 0] = True
    seen[:2, 1, 7] = True  # the third has one candidate a cell
    policy = np.zeros((3, 6, 36), np.float32)
    policy[0, 0, 7] = 200.0
    np.testing.assert_array_equal(Halt(8, 0.9).is_sure(jnp.asarray(policy), jnp.asarray(seen)), [True, False, True])
    np.testing.assert_array_equal(Halt(8).is_sure(jnp.asarray(policy), jnp.asarray(seen)), [False, False, True])


@pytest.mark.parametrize("maximum", [False, True])
def test_a_network_stops_at_each_position_when_it_is_sure_there(maximum):
    """It has then the outputs of that iteration, whatever the others of its batch still need."""
    network, seen = cube(SIX, maximum=maximum), some_candidates(SIX, 5, 1)
    params = network.params | {"policy": jax.tree.map(lambda leaf: 4 * leaf, network.params["policy"])}
    each, _ = jax.tree.map(np.asarray, unrolled(longer(network.apply, 12), params, seen))
    likely = np.where(seen, np.exp(each.policy - each.policy.max(axis=2, keepdims=True)), 0)
    likely /= likely.sum(axis=2, keepdims=True)
    surest = np.where(seen & (seen.sum(axis=1, keepdims=True) > 1), likely, 0).max(axis=(2, 3))  # [12, 5]
    sure = float(np.sort(surest[2])[2:4].mean())  # some are so sure after three iterations, others are not
    halt = Halt(most=12, sure=sure, every=3)
    look = jax.jit(functools.partial(network.apply.look, halt=halt))
    outputs, spent = jax.tree.map(np.asarray, look(params, seen))
    reached = surest[2::3] >= sure
    expected = np.where(reached.any(axis=0), 3 * (reached.argmax(axis=0) + 1), 12)
    np.testing.assert_array_equal(spent, expected)
    assert len(set(spent.tolist())) > 1
    for board, number in enumerate(spent):
        np.testing.assert_allclose(outputs.policy[board], each.policy[number - 1, board], atol=1e-4, rtol=0)


def test_unrolling_continues_from_a_carry():
    """No gradient flows through it, but parameters are told of every iteration since."""
    apply, params, seen = cube(SIX).apply, cube(SIX).params, some_candidates(SIX, 3, 0)
    fresh = np.array([False, True, False])

    @jax.jit
    def traced(params, carry):
        def loss(params, carry):
            outputs, after = apply.unroll(params, seen, carry, fresh)
            return jnp.where(seen, outputs.policy, 0).mean() + outputs.value.mean(), (outputs, after)

        return jax.grad(loss, (0, 1), has_aux=True)(params, carry)

    whole, end = jax.tree.map(np.asarray, unrolled(longer(apply, 8), params, seen))
    _, carry = unrolled(apply, params, seen)
    (gradient, before), (outputs, after) = jax.tree.map(np.asarray, traced(params, carry))
    np.testing.assert_allclose(outputs.policy[:, ::2], whole.policy[4:, ::2], atol=1e-4, rtol=0)
    np.testing.assert_allclose(outputs.policy[:, 1], whole.policy[:4, 1], atol=1e-4, rtol=0)
    np.testing.assert_allclose(after[..., 0, :], end[..., 0, :], atol=1e-4, rtol=0)
    assert np.any(gradient["embed"]["kernel"]) and np.any(gradient["update"]["kernel"])
    assert not np.any(before)


@pytest.mark.parametrize("sizes", [{"shares": 0}, {"maximum": False}], ids=str)
def test_options_change_the_network(sizes):
    plain, changed = cube(SIX), cube(SIX, **sizes)
    assert changed.size < plain.size
    assert np.isfinite(changed(some_candidates(SIX, 4, 0)).value).all()


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


@pytest.mark.slow
def test_open_candidates_alone_give_the_same(request, monkeypatch):
    monkeypatch.setattr(packed, "_SIZES", (packed._SIZES[1], packed._SIZES[-1]))  # the last holds all
    board = js.Board.named("diagonal-6+anti-knight")  # with boxes, with other houses and with conflicts
    network = cube(board, maximum=False, constraints=True)
    seen = some_candidates(board, 9, 3)
    seen[0] = True  # all
    seen[1], seen[1, 0] = False, True  # as few as can be
    is_open = as_carry(board, seen) * opened(board, seen)

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
        np.testing.assert_allclose(one, other, atol=5e-5 * max(1, np.abs(other)[np.abs(other) < 1e8].max()), rtol=0)


def as_carry(board, seen):
    """Candidates [B, side, cells] in the order of the carry, with an axis of features."""
    return seen.transpose(1, 2, 0).reshape(*cube_shape(board), len(seen), 1)


def opened(board, seen):
    """Which candidates a group shares with another, bool, in the order of the carry."""
    rivals = np.zeros(seen.shape, int)
    cells = [np.arange(board.cells) == cell for cell in range(board.cells)]
    for number, cell in enumerate(cells):
        peers = np.zeros(board.cells, bool)
        for constraint in board.constraints:  # of two cells that differ
            peers[list(constraint.cells)] |= number in constraint.cells
        for house in np.asarray(board.houses):
            if number in house:
                peers[house] = True
        rivals[..., cell] = (seen & (peers & ~cell)).sum(axis=2)[..., None] + seen[..., cell].sum(axis=1)[:, None] - 1
    return as_carry(board, rivals > 0)


def test_decided_candidates_change_nothing():
    """A candidate without another in its groups may as well be absent."""
    network = cube(SIX, maximum=False)
    seen = some_candidates(SIX, 4, 5)
    alone = np.moveaxis(opened(SIX, seen).reshape(6, 36, 4), -1, 0)
    out, without = network(seen), network(seen & alone)
    policy = np.where(seen & alone, out.policy, 0), np.where(seen & alone, without.policy, 0)
    np.testing.assert_allclose(*policy, atol=1e-5)
    np.testing.assert_allclose(out.value, without.value, atol=1e-5)


packing = jax.jit(pack, static_argnums=0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), batch=st.sampled_from([1, 8]), share=st.floats(0, 1))
def test_open_candidates_come_first(seed, batch, share):
    """Of one board all rows are computed; of eight there are several sizes."""
    is_open = np.random.default_rng(seed).random((JIGSAW.side, JIGSAW.cells, batch)) < share
    found = jax.tree.map(np.asarray, packing(JIGSAW, is_open))
    found = found._replace(families=[Family(int(family.size), family.groups) for family in found.families])
    order, place, flat = found.order, found.place, is_open.reshape(-1)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(flat)))
    np.testing.assert_array_equal(order[place], np.arange(len(flat)))
    count = flat.sum()
    assert flat[order[:count]].all() and not flat[order[count:]].any()
    taken = []

    def make(rows, families):
        taken.append((rows, [family.size for family in families]))
        return lambda: 0

    jax.eval_shape(lambda: found.switch(make))
    rows, sizes = taken[int(found.size)]
    assert rows >= count
    for family, size in zip(found.families, sizes, strict=True):
        used = family.groups[:, :count]
        assert (used[used < family.size] < size).all()
    assert taken[-1][0] == len(flat)


def test_the_maximum_by_index_has_the_gradient_of_one_row():
    x = np.array([[1.0, -2.0], [3.0, -1.0], [3.0, 0.5], [-1.0, 2.0], [0.0, -5.0]], np.float32)
    group, least = np.array([0, 0, 0, 1, 1]), np.array([[-np.inf], [0.0], [-np.inf]], np.float32)

    @jax.jit
    def both(x):
        found, back = jax.vjp(lambda x: maximum_by_index(x, group, least), x)
        return found, *back(np.array([[1, 2], [3, 4], [0, 0]], np.float32))

    found, gradient = both(x)
    np.testing.assert_array_equal(found, [[3, 0.5], [0, 2], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(gradient, [[0, 0], [1, 0], [0, 2], [0, 4], [0, 0]])


# ---------------------------------------------------------------------- wider networks


@pytest.mark.slow
def test_a_wider_network_begins_as_the_same_function():
    small = cube(SIX, maximum=False)
    sizes = dataclasses.replace(small.config, width=13, hidden=9, house=20, shares=5)
    large = networks.make_forward("cube", SIX, **dataclasses.asdict(sizes))
    key = jax.random.wrap_key_data(np.array([3, 1, 2, 3], np.uint32), impl="unsafe_rbg")  # which compiles at once
    params = jax.jit(lambda old: widening.widen(old, small.config, large, key))(small.params)
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(lambda leaf: leaf.shape, large.shapes())
    seen = some_candidates(SIX, 3, 5)  # as many as are computed in one size
    weight = np.random.default_rng(1).normal(size=seen.shape) * seen

    @jax.jit
    def answers(params):
        def loss(params):
            outputs = large(params, seen)
            return (outputs.policy * weight).sum(), outputs

        return jax.grad(loss, has_aux=True)(params)

    expected, (gradient, found) = small(seen), answers(params)
    np.testing.assert_allclose(found.policy, expected.policy, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-4, atol=1e-4)
    changed = np.asarray(gradient["update"]["kernel"])
    assert np.abs(changed[small.config.hidden :, : small.config.width]).max() > 0, "what is new learns"


def test_a_bound_scales_features_above_it_and_no_others():
    free, bound = cube(SIX, maximum=False), 0.1
    apply = dataclasses.replace(free.apply, config=dataclasses.replace(free.config, bound=bound))
    seen = some_candidates(SIX, 3, 6)
    seen[:, :, :4] = True
    carry = free.apply.initialize_carry(free.params, seen)
    carry *= np.linspace(0.01, 2, carry.size // carry.shape[-1]).reshape(*carry.shape[:-1], 1)

    @functools.partial(jax.jit, static_argnums=0)
    def after_one(apply, params, carry):
        return apply.resume(params, seen, carry, None, Halt(1))[1]

    change = after_one(free.apply, free.params, carry) - carry  # it does not depend on the size of the features
    size = np.sqrt(np.mean(np.square(carry), axis=-1, keepdims=True)) + 1e-9
    expected = carry * np.minimum(1, bound / size) + change
    is_open = seen[:, :, :4].transpose(1, 2, 0)
    found, expected = (x.reshape(6, 36, 3, -1)[:, :4] for x in (after_one(apply, free.params, carry), expected))
    np.testing.assert_allclose(found[is_open], expected[is_open], rtol=1e-3, atol=1e-4)
    assert (size > 2 * bound).any()


def test_balanced_weights_are_of_the_size_of_initial_ones():
    small = cube(SIX, maximum=False)
    large = networks.make_forward("cube", SIX, **dataclasses.asdict(small.config) | {"bound": 1e6})
    params = jax.jit(lambda old: widening.widen(old, small.config, large, as_key(3)))(small.params)
    for name, variance in (("send", 2 / 8), ("update", 0.2 / 8)):
        assert np.mean(np.square(params[name]["kernel"])) == pytest.approx(variance, rel=1e-3)
    seen = some_candidates(SIX, 3, 5)
    expected, found = small(seen), networks.Network("cube", large, params)(seen)
    np.testing.assert_allclose(found.policy, expected.policy, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-2, atol=1e-2)
    assert np.abs(np.asarray(params["send"]["kernel"]) - small.params["send"]["kernel"]).max() > 0.1


def test_noise_is_relative_to_each_vector():
    carry = {"a": np.float32(np.random.default_rng(0).normal(size=(40, 3, 64)) * [[[1], [10], [0]]])}
    change = noisy(carry, 0.25, as_key(1))["a"] - carry["a"]
    sizes = np.sqrt(np.mean(np.square(carry["a"]), axis=-1)), np.sqrt(np.mean(np.square(change), axis=-1))
    np.testing.assert_allclose(sizes[1], 0.25 * sizes[0], rtol=0.35)
    assert np.sqrt(np.mean(np.square(change[:, 0]))) == pytest.approx(0.25, rel=0.05)
    assert abs(float(change[:, 0].mean())) < 0.02


@pytest.mark.parametrize("sizes", [{"width": 7}, {"shares": 0}, {"maximum": True}, {"bound": 2.0}])
def test_networks_that_cannot_be_widened(sizes):
    small = cube(NINE, maximum=False, bound=1.0) if "bound" in sizes else cube(NINE, maximum=False)
    large = networks.make_forward("cube", NINE, **dataclasses.asdict(dataclasses.replace(small.config, **sizes)))
    with pytest.raises(ValueError, match="widened"):
        widening.widen(small.params, small.config, large, as_key(3))


# ---------------------------------------------------------------------- constraints

FOUR = js.Board.classic(4)
CONSTRAINED = js.Board.named("4+anti-knight+odd(r2c2 r3c3)")


@pytest.mark.parametrize(
    "rules",
    [
        "anti-knight",
        "thermometer(r1c1 r1c2 r2c3)",
        "cage(8 r1c1 r1c2 r2c2)+even(r4c4)",
        "non-consecutive+cage(4 r1c3 r1c4)",
    ],
)
def test_conflicts_are_the_pairs_in_no_filling_of_a_constraint(rules):
    board = js.Board.named(f"4+{rules}")
    together = np.ones((16, 4, 16, 4), bool)  # of cells and digits
    possible = np.ones((16, 4), bool)
    for constraint in board.constraints:
        filled = np.array([*itertools.product(range(4), repeat=len(constraint.cells))]).T
        right = filled[:, constraint.holds(list(filled + 1), constraint.numbers, 4)]
        for one, cell in enumerate(constraint.cells):
            possible[cell] &= np.isin(range(4), right[one])
            for other in {*range(len(right))} - {one}:
                seen = np.zeros((4, 4), bool)
                seen[right[one], right[other]] = True
                together[cell, :, constraint.cells[other]] &= seen
    for house in board.houses:
        for one, other in itertools.product(house, repeat=2):
            together[one, range(4), other, range(4)] = True
    expected = ~together & possible[:, :, None, None] & possible
    excluded, table = conflicts_of(board)
    found = np.zeros((64, 65), bool)
    np.put_along_axis(found, table, True, axis=1)
    np.testing.assert_array_equal(excluded, ~possible.T)
    np.testing.assert_array_equal(found[:, :64].reshape(4, 16, 4, 16).transpose(1, 0, 3, 2), expected)


def test_constraints_matter_and_their_symmetry_comes_out_again():
    network = cube(CONSTRAINED, constraints=True)
    seen = some_candidates(FOUR, 3, 0)
    turned = seen.reshape(3, 4, 4, 4).swapaxes(2, 3).reshape(seen.shape)
    allowed = seen & ~conflicts_of(CONSTRAINED).excluded
    policy, after, without = (np.asarray(network(each).policy) for each in (seen, turned, allowed))
    expected = policy.reshape(3, 4, 4, 4).swapaxes(2, 3).reshape(seen.shape)
    np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(without[allowed], policy[allowed], rtol=1e-4, atol=1e-4)
    assert (policy[~allowed] == ABSENT).all() and (seen & ~allowed).any()
    unaware = np.asarray(networks.for_board(network, FOUR)(seen).policy)
    assert np.abs(policy - unaware)[allowed].max() > 1e-2


def test_on_boards_without_constraints_weights_for_them_change_nothing():
    network, plain = (cube(FOUR, maximum=False, constraints=each) for each in (True, False))
    params = network.params | {"kinds": {number: network.params["kinds"][number] for number in range(3)}}
    seen = some_candidates(FOUR, 3, 0)
    plain = dataclasses.replace(plain, params=params)
    for one, other in zip(network(seen), plain(seen), strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_for_constraints_begin_as_the_same_function_and_learn():
    board = js.Board.named("4+anti-knight")
    small = cube(board, maximum=False, iterations=1)
    large = networks.make_forward("cube", board, **dataclasses.asdict(small.config) | {"constraints": True})
    assert widening.can_widen(small.config, large.config) and not widening.can_widen(large.config, small.config)
    key = jax.random.wrap_key_data(np.array([3, 1, 2, 3], np.uint32), impl="unsafe_rbg")  # which compiles at once
    seen = some_candidates(FOUR, 3, 0)
    weight = np.random.default_rng(1).normal(size=seen.shape) * seen

    @jax.jit
    def answers(old):
        params = widening.widen(old, small.config, large, key)

        def loss(params):
            outputs = large(params, seen)
            return (outputs.policy * weight).sum(), outputs

        return jax.grad(loss, has_aux=True)(params), small.apply(old, seen)

    (gradient, found), expected = answers(small.params)
    np.testing.assert_allclose(found.policy, expected.policy, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-5, atol=1e-5)
    conflicts = gradient["kinds"][3]
    assert np.abs(conflicts["from_hidden"]["kernel"]).max() > 0 and np.abs(conflicts["from_shares"]["kernel"]).max() > 0
