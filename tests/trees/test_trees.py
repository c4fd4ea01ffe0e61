"""Search in mctx's trees: against mctx itself, and on bandits, random MDPs and games against brute force."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import trees

WIDTH, ACTIONS, DEPTH = 8, 3, 3
#: The states of a decision process are the nodes of a complete tree, level by level; those of the last level are ends.
STATES, INNER = (ACTIONS ** (DEPTH + 1) - 1) // 2, (ACTIONS**DEPTH - 1) // 2
CHILDREN = np.arange(INNER)[:, None] * ACTIONS + np.arange(ACTIONS) + 1


class Process(NamedTuple):
    """Deterministic decision processes: what each state looks like, and what each action earns."""

    rewards: np.ndarray  # [WIDTH, STATES, ACTIONS]
    logits: np.ndarray  # [WIDTH, STATES, ACTIONS]
    values: np.ndarray  # [WIDTH, STATES]
    lost: np.ndarray  # bool[WIDTH, STATES]
    sign: np.ndarray = np.float32(1)  # -1 where players take turns
    noise: np.ndarray = np.float32(0)  # of values, drawn from the key that mctx gives


def process(seed, **changes):
    rng = np.random.default_rng(seed)
    shape = (WIDTH, STATES, ACTIONS)
    rewards, logits = (draw(size=shape).astype(np.float32) for draw in (rng.random, rng.normal))
    rewards[:, INNER:] = 0
    lost = np.zeros(shape[:2], bool)
    return Process(rewards, logits, np.zeros(shape[:2], np.float32), lost)._replace(**changes)


def roots(params):
    zero = np.zeros(WIDTH, np.int32)
    state = {"row": np.arange(WIDTH, dtype=np.int32), "at": zero, "lost": params.lost[:, 0]}
    return mctx.RootFnOutput(prior_logits=params.logits[:, 0], value=params.values[:, 0], embedding=state)


def recurrent_fn(params, rng_key, action, state):
    row, at = state["row"], state["at"]
    end = at >= INNER
    child = jnp.where(end, at, at * ACTIONS + action + 1)
    drawn = params.noise * jax.random.uniform(rng_key, row.shape) if params.noise.ndim else 0
    step = mctx.RecurrentFnOutput(
        reward=params.rewards[row, at, action],
        discount=jnp.where(end | (child >= INNER), 0, params.sign).astype(jnp.float32),
        prior_logits=params.logits[row, child],
        value=params.values[row, child] + drawn,
    )
    return step, {"row": row, "at": child, "lost": params.lost[row, child]}


def is_lost(state):
    return state["lost"]


PUCT = functools.partial(
    mctx.muzero_action_selection,
    qtransform=trees.open_qtransform(mctx.qtransform_by_parent_and_siblings),
    pb_c_init=2.5,
)


def puct(params, key, root, search=trees.search, select=PUCT, simulations=300, **settings):
    return search(
        params,
        key,
        root=root,
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=functools.partial(select, depth=0),
        interior_action_selection_fn=select,
        num_simulations=simulations,
        **settings,
    )


@functools.cache
def compiled(stop, lost, two_players):
    return on_host(functools.partial(puct, stop=stop, lost=lost, two_players=two_players))


def on_host(function):
    run = jax.jit(function, compiler_options=js.compiler_options())
    return lambda *arguments: jax.device_get(run(*arguments))


SIMULATIONS, ROOM = 12, 40


def play(params, keys, root, tree, **settings):
    return trees.gumbel_muzero_policy(params, keys, root, recurrent_fn, SIMULATIONS, tree=tree, **settings)


@functools.cache
def kept():
    """A search that keeps trees, and trees without nodes."""
    keys, params = row_keys(0), process(0)
    first = functools.partial(trees.gumbel_muzero_policy, room=ROOM)
    shapes = jax.eval_shape(
        lambda *arguments: first(*arguments, recurrent_fn, SIMULATIONS).search_tree, params, keys, roots(params)
    )
    tree = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    return on_host(play), tree


def row_keys(seed):
    return np.random.default_rng(seed).integers(0, 2**32, (WIDTH, 2), np.uint32)


moved_on = functools.cache(lambda: on_host(trees.subtree))

# ---------------------------------------------------------------------- against mctx


def test_a_search_is_that_of_mctx():
    """All of its trees, and what it decides, with noise, invalid actions and states that are drawn."""
    params = process(1, noise=np.ones(WIDTH, np.float32), sign=np.float32(-1))
    invalid = np.zeros((WIDTH, ACTIONS), np.float32)
    invalid[::2, 1] = 1

    def both(params, key, root):
        plain = [puct(params, key, root, mctx.search, mctx.muzero_action_selection, 24)]
        plain.append(mctx.gumbel_muzero_policy(params, key, root, recurrent_fn, 24, invalid_actions=invalid))
        own = [puct(params, key, root, trees.search, mctx.muzero_action_selection, 24)]
        own.append(trees.gumbel_muzero_policy(params, key, root, recurrent_fn, 24, invalid_actions=invalid))
        return plain, own

    plain, own = on_host(both)(params, np.array([0, 7], np.uint32), roots(params))
    for theirs, ours in ((plain[0], own[0]), (plain[1].search_tree, own[1].search_tree)):
        for name in ("node_visits", "children_visits", "parents", "action_from_parent", "root_invalid_actions"):
            filled = ours.node_visits > 0 if name in ("parents", "action_from_parent") else slice(None)
            np.testing.assert_array_equal(ours[name][filled], theirs[name][filled], name)
        for name in ("node_values", "raw_values", "children_values", "children_rewards", "children_prior_logits"):
            np.testing.assert_allclose(ours[name], theirs[name], 1e-5, 1e-6, err_msg=name)
        np.testing.assert_array_equal(ours.embeddings["at"], theirs.embeddings["at"])
    np.testing.assert_array_equal(own[1].action, plain[1].action)
    np.testing.assert_allclose(own[1].action_weights, plain[1].action_weights, 1e-5, 1e-6)
    noises = [output.search_tree.extra_data.root_gumbel for output in (own[1], plain[1])]
    np.testing.assert_array_equal(*noises)
    assert len({tuple(visits) for visits in own[0].children_visits[:, 0]}) > 3


# ---------------------------------------------------------------------- bandits and decision processes


def optimum(params, row):
    """The values of actions by dynamic programming: float[STATES, ACTIONS]."""
    q = np.zeros((STATES, ACTIONS))
    q[:INNER] = params.rewards[row, :INNER]
    for state in reversed(range(ACTIONS ** (DEPTH - 1) // 2)):  # the last inner level earns its rewards alone
        q[state] += q[CHILDREN[state]].max(axis=1)
    return q


def test_the_best_arm_of_a_bandit_is_found():
    params = process(2)
    arms = np.zeros_like(params.rewards)
    arms[:, 0] = params.rewards[:, 0]
    search, tree = kept()
    noiseless = params._replace(rewards=arms, logits=np.zeros_like(params.logits))
    output = search(noiseless, row_keys(3), roots(noiseless), tree)
    visits = output.search_tree.children_visits[:, 0]
    assert (visits.sum(axis=1) == SIMULATIONS).all() and (visits > 0).all()  # three arms are all considered
    np.testing.assert_allclose(output.search_tree.children_rewards[:, 0], arms[:, 0], rtol=1e-6)
    # the others are mistaken for it by the noise alone
    score = output.search_tree.extra_data.root_gumbel
    best = arms[:, 0].argmax(axis=1)
    close = score.max(axis=1) - score[np.arange(WIDTH), best] < 2
    assert close.sum() > 3 and (output.action == best)[close].all()


def test_values_come_near_those_of_dynamic_programming():
    params = process(6)
    params = params._replace(logits=np.zeros_like(params.logits))
    tree = compiled(None, None, False)(params, row_keys(5), roots(params))
    best = np.stack([optimum(params, row)[0] for row in range(WIDTH)])
    assert (tree.children_visits[:, 0].sum(axis=1) == 300).all()
    np.testing.assert_array_equal(tree.children_visits[:, 0].argmax(axis=1), best.argmax(axis=1))
    error = best.max(axis=1) - tree.node_values[:, 0]
    assert (error > 0).all() and error.max() < 0.3


def test_a_search_that_is_settled_stops_and_its_action_stays():
    params = process(4)
    whole, stopped = (compiled(stop, None, False)(params, row_keys(5), roots(params)) for stop in (None, trees.settled))
    visits = [tree.children_visits[:, 0] for tree in (whole, stopped)]
    np.testing.assert_array_equal(visits[0].argmax(axis=1), visits[1].argmax(axis=1))
    first, second = -np.sort(-visits[1], axis=1)[:, :2].T
    left = 300 - visits[1].sum(axis=1)
    assert (left > 0).all() and len(set(left.tolist())) > 4  # each tree at its own time
    assert ((first - second > left) & (first - 1 - second <= left + 1)).all()  # and not one simulation later


# ---------------------------------------------------------------------- proofs


def lost_states(params, row, two_players):
    """The states that are lost, by all that is below them: bool[STATES]."""
    lost = params.lost[row].copy()
    won = np.zeros_like(lost)
    for state in reversed(range(INNER)):
        if not lost[state]:
            below = CHILDREN[state]
            won[state] = two_players and lost[below].any()
            lost[state] = (won if two_players else lost)[below].all()
    return lost, won


@pytest.mark.parametrize("two_players", [False, True])
def test_what_is_proven_is_true_and_all_that_can_be(two_players):
    counts = np.zeros(3, int)
    for seed in range(3):
        lost = np.random.default_rng(seed).random((WIDTH, STATES)) < (0.45 if two_players else 0.95)
        lost[:, :INNER] &= np.arange(INNER) > 3
        params = process(seed, lost=lost, sign=np.float32(-1 if two_players else 1))
        tree = compiled(None, is_lost, two_players)(params, row_keys(seed), roots(params))
        open_moves = tree.children_prior_logits[:, 0] > -5e8
        for row in range(WIDTH):
            truth, won = lost_states(params, row, two_players)
            assert open_moves[row].any() == (not truth[0])
            if two_players and won[0]:
                (move,) = np.flatnonzero(open_moves[row])
                assert truth[CHILDREN[0, move]]
            else:
                refuted = won if two_players else truth
                assert not (~open_moves[row] & ~refuted[CHILDREN[0]]).any()
            counts += [truth[0], won[0], not truth[0] and not won[0]]
            assert truth[0] == (tree.node_visits[row, 0] < 301)
    assert (counts[[0, 2]] > 2).all() and (counts[1] > 2) == two_players


# ---------------------------------------------------------------------- trees that are kept


def test_a_search_goes_on_in_the_tree_below_the_action():
    params = process(6, values=np.random.default_rng(6).random((WIDTH, STATES)).astype(np.float32))
    search, none = kept()
    first = search(params, row_keys(1), roots(params), none)
    actions = first.action.copy()
    actions[0] = -1  # this one begins anew
    below = moved_on()(first.search_tree, actions)
    before = np.where(actions < 0, 0, first.search_tree.children_visits[np.arange(WIDTH), 0, actions])
    np.testing.assert_array_equal(below.node_visits[:, 0], before)
    np.testing.assert_array_equal((below.node_visits > 0).sum(axis=1), before)
    again = search(params, row_keys(2), roots(params), below)
    tree = again.search_tree
    np.testing.assert_array_equal(tree.node_visits[:, 0], np.maximum(before, 1) + SIMULATIONS)
    state = np.where(actions < 0, 0, actions + 1)
    np.testing.assert_array_equal(tree.embeddings["at"][:, 0], state)
    own = tree.children_visits[:, 0] - tree.extra_data.kept_visits
    assert (own.sum(axis=1) == SIMULATIONS).all() and (own >= 0).all()
    assert (tree.extra_data.kept_visits.sum(axis=1) == np.maximum(before - 1, 0)).all()
    assert (own[np.arange(WIDTH), again.action] == own.max(axis=1)).all()
    assert (tree.extra_data.root_gumbel != first.search_tree.extra_data.root_gumbel).all()
    anew = search(params, row_keys(2), roots(params), none)
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(anew), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    # halving gives each considered move as many visits as in a new tree
    np.testing.assert_array_equal(np.sort(own), np.sort(anew.search_tree.children_visits[:, 0]))


def test_a_full_tree_stops():
    params = process(6)
    search, tree = kept()
    for _ in range(5):
        output = search(params, row_keys(1), roots(params), tree)
        tree = output.search_tree
    assert ((tree.node_visits > 0).all(axis=1) & (tree.node_visits[:, 0] == ROOM)).all()
    with pytest.raises(ValueError, match="trees that are continued have room already"):
        jax.eval_shape(functools.partial(play, room=3), params, row_keys(1), roots(params), tree)


def random_trees(lanes, nodes, actions):
    """Trees of numpy arrays whose nodes have random parents before them; some nodes are out of reach."""
    rng = np.random.default_rng(0)
    parents, taken = np.full((2, lanes, nodes), -1, np.int32)
    children = np.full((lanes, nodes, actions), -1, np.int32)
    for lane in range(lanes):
        for node in range(1, nodes):
            parent, action = rng.integers(0, node), rng.integers(0, actions)
            parents[lane, node], taken[lane, node] = parent, action
            children[lane, parent, action] = node  # another one that was there is out of reach
    own = np.arange(1, lanes * nodes + 1, dtype=np.int32).reshape(lanes, nodes)
    edges = rng.random((4, lanes, nodes, actions)).astype(np.float32)
    return mctx.Tree(
        node_visits=own,
        raw_values=own + np.float32(0.5),
        node_values=own - np.float32(0.5),
        parents=parents,
        action_from_parent=taken,
        children_index=children,
        children_prior_logits=edges[0],
        children_visits=own[:, :, None] + np.arange(actions, dtype=np.int32),
        children_rewards=np.zeros_like(edges[1]),
        children_discounts=np.ones_like(edges[2]),
        children_values=edges[3],
        embeddings={"word": own.astype(np.uint32)[:, :, None] * np.ones(3, np.uint32)},
        root_invalid_actions=np.zeros((lanes, actions), np.float32),
        extra_data=None,
    )


def as_nested(tree, lane, node):
    """A node with all that a search reads of it, and the nodes below it by their moves."""
    for action, child in enumerate(tree.children_index[lane, node]):
        assert child < 0 or (tree.parents[lane, child], tree.action_from_parent[lane, child]) == (node, action)
    names = ("node_visits", "raw_values", "node_values", "children_prior_logits", "children_visits", "children_values")
    own = [np.asarray(tree[name][lane, node]).tolist() for name in names]
    below = [as_nested(tree, lane, child) if child >= 0 else None for child in tree.children_index[lane, node]]
    return [*own, tree.embeddings["word"][lane, node].tolist(), below]


def test_a_new_root_has_all_that_was_below_it():
    lanes, actions = 16, 3
    tree = random_trees(lanes, 24, actions)
    children = tree.children_index[:, 0]
    action = children.argmax(axis=1).astype(np.int32)
    node = np.maximum(children.max(axis=1), 0).astype(np.int32)
    places, moved = on_host(lambda tree, node, action: (trees.with_root(tree, node), trees.subtree(tree, action)))(
        tree, node, action
    )
    for lane in range(lanes):
        below = as_nested(tree, lane, node[lane])
        assert as_nested(places, lane, 0) == below
        if node[lane]:
            assert as_nested(moved, lane, 0) == below
            used = moved.node_visits[lane] > 0
            assert used.sum() == str(below).count("[") // 6 and not used[used.sum() :].any()
        else:
            assert not moved.node_visits[lane].any()
    assert (node > 0).sum() > 10


# ---------------------------------------------------------------------- several devices


def sharded_search(mesh):
    return jax.jit(trees.sharded(play, mesh))


def test_a_sharded_search_needs_a_key_for_each_tree():
    params = process(6)
    mesh = jax.make_mesh((1,), ("batch",))
    with pytest.raises(ValueError, match="a key for each tree"):
        sharded_search(mesh)(params, np.zeros(2, np.uint32), roots(params), kept()[1])


#: The results on two devices of each kind of mesh beside those on one, and what the devices tell each other.
ON_TWO = """
import re, sys
import jax, numpy as np
sys.path += ["tests/trees"]
import test_trees as here

params = here.process(6, noise=np.ones(here.WIDTH, np.float32))
search, tree = here.kept()
arguments = (params, here.row_keys(1), here.roots(params), tree)
def play(*arguments):
    return here.trees.gumbel_muzero_policy(*arguments[:3], here.row_noise, here.SIMULATIONS, tree=arguments[3])
one = jax.device_get(jax.jit(play)(*arguments))
for kind in jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit:
    mesh = jax.make_mesh((2,), ("batch",), axis_types=(kind,))
    run = jax.jit(here.trees.sharded(play, mesh)).lower(*arguments).compile()
    text = run.as_text()
    found = re.findall(r"all-reduce|all-gather|collective-permute|all-to-all|reduce-scatter|send|recv", text)
    assert "while" in text and not found, found
    two = jax.jit(here.trees.sharded(play, mesh))(*arguments)
    assert len(two.action.sharding.device_set) == 2
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(x, y)
print("the same")
"""


def row_noise(params, keys, action, state):
    step, state = recurrent_fn(params._replace(noise=np.float32(0)), keys, action, state)
    return step.replace(value=step.value + jax.vmap(jax.random.uniform)(keys)), state


@pytest.mark.slow
def test_a_search_on_two_devices_is_the_same_and_nothing_is_sent():
    root = Path(__file__).parents[2]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    run = subprocess.run(
        [sys.executable, "-c", ON_TWO],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "XLA_FLAGS": flags},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "the same\n"


# ---------------------------------------------------------------------- pictures


def test_a_tree_is_drawn_with_its_most_visited_branches_first():
    lost = np.zeros((WIDTH, STATES), bool)
    lost[0, 2] = True
    params = process(7, lost=lost)
    tree = compiled(None, is_lost, False)(params, row_keys(0), roots(params))
    lines = trees.draw(tree, label=lambda action, state: f"to {state['at']}", depth=2, width=2).splitlines()
    assert re.fullmatch(r"root  301 visits, value \d\.\d{3}", lines[0])
    first = [line for line in lines[1:] if not line.startswith("    ")]
    counts = [int(re.search(r"(\d+) visits", line)[1]) for line in first]
    assert len(first) == 2 and counts == sorted(tree.children_visits[0, 0].tolist())[:0:-1]
    row = r" {2,4}to \d+  \d+ visits, value -?\d\.\d{3}, prior \d\.\d{3}"
    assert all(re.fullmatch(row, line) for line in lines[1:])
    assert len(lines) == 1 + 2 + 4
    whole = trees.draw(tree, depth=1)
    assert re.search(r"^  1  1 visits, value .*, refuted$", whole, re.MULTILINE)
    picture = trees.picture(tree, depth=1)
    roles = [shape.role for shape in picture.shapes]
    assert roles.count("edge-removed") == 1 and roles.count("edge") == 2
    assert "\n".join(shape.text for shape in picture.shapes if shape.role == "text").split() == whole.split()
    with pytest.raises(ValueError, match="depth and width must be at least 1, not 0 and 4"):
        trees.draw(tree, depth=0)
