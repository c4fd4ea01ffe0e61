"""Search of a batch of trees as ``mctx.search``, which may also continue trees, prove states lost, and stop early.

K is the number of trees, A the number of actions. Arguments that mctx has too are named and called as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import mctx
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku.runtime.random import is_one_key, split

from .nodes import (
    LEAST,
    REFUTED,
    Nodes,
    Select,
    add_nodes,
    back_up,
    descend,
    empty,
    open_moves,
    put_roots,
    refute,
    size,
)

T = TypeVar("T")

#: Whether trees stop: (trees, the simulations that each has left int32[]) to bool[K].
Stop = Callable[[mctx.Tree, Array], Array]


def search(
    params: Any,
    rng_key: Array,
    *,
    root: mctx.RootFnOutput,
    recurrent_fn: mctx.RecurrentFn,
    root_action_selection_fn: mctx.RootActionSelectionFn,
    interior_action_selection_fn: mctx.InteriorActionSelectionFn,
    num_simulations: int,
    invalid_actions: Array | None = None,
    extra_data: Any = None,
    tree: mctx.Tree | None = None,
    room: int | None = None,
    stop: Stop | None = None,
    lost: Callable[[Any], Array] | None = None,
    two_players: bool = False,
) -> mctx.Tree:
    """Searches K trees; without further arguments the result is that of ``mctx.search``.

    A simulation evaluates the next states of all trees together. A tree that has stopped does not change any more, and
    the search is over when all have.

    Args:
      params, root, recurrent_fn, num_simulations, extra_data: as of ``mctx.search``.
      rng_key: one key, used as mctx does; or a key for each tree, [K], so that what a tree draws does not depend on the
        others: then ``recurrent_fn`` gets K keys too.
      root_action_selection_fn, interior_action_selection_fn: as of ``mctx.search``. They must not select refuted moves,
        as PUCT does without ``open_qtransform``.
      invalid_actions: numbers[K, A], nonzero where an action of the root is invalid; its prior logit is masked. Actions
        whose logits are below -5e8 are invalid anyway, and have to be below the root.
      tree: trees to continue, as of ``subtree``; those without nodes begin at ``root``. A full one stops.
      room: the nodes that new trees have room for; None for those of this search.
      stop: whether trees stop, asked before every simulation.
      lost: embeddings of K states to bool[K], whether they are lost. This is backed up by ``refute``, and a tree whose
        root is lost, or has only invalid actions, stops: it has no ``open_moves``.
      two_players: whether a state is lost for the player to move, and players take turns.

    Returns:
      The trees.

    Raises:
      ValueError: ``room`` with a ``tree``.
    """
    if tree is not None and room is not None:
        raise ValueError("trees that are continued have room already: room is for new ones")
    lane = jnp.arange(len(root.value), dtype=jnp.int32)
    logits, invalid = root.prior_logits, False if invalid_actions is None else invalid_actions.astype(bool)
    if lost is not None:
        logits = jnp.where(lost(root.embedding)[:, None], REFUTED, logits)
    start = Nodes(root.embedding, logits, root.value)
    tree = empty(num_simulations + 1 if room is None else room, start) if tree is None else tree
    count, most = size(tree), tree.node_visits.shape[1]
    tree = put_roots(tree.replace(extra_data=extra_data), count == 0, start, extra_data)
    logits = jnp.where(invalid, jnp.finfo(logits.dtype).min, tree.children_prior_logits[:, mctx.Tree.ROOT_INDEX])
    tree = tree.replace(
        children_prior_logits=tree.children_prior_logits.at[:, mctx.Tree.ROOT_INDEX].set(logits),
        root_invalid_actions=(logits < LEAST).astype(jnp.float32),
    )

    def at_root(key: Array, tree: mctx.Tree, node: Array, depth: Array) -> Array:
        del depth
        chosen: Array = root_action_selection_fn(key, tree, node)
        return chosen

    inside: Select = interior_action_selection_fn

    def going(tree: mctx.Tree, count: Array, done: Array, before: Array) -> Array:
        now = before & (count < most) & (done < num_simulations)
        if stop is not None:
            now &= ~stop(tree, num_simulations - done)
        return now if lost is None else now & open_moves(tree).any(axis=1)

    def simulate(now: tuple[mctx.Tree, Array, Array, Array, Array]) -> tuple[mctx.Tree, Array, Array, Array, Array]:
        tree, key, count, done, live = now
        key, selecting, expanding = split(key, 3)
        keys = jax.random.split(selecting, len(lane)) if is_one_key(selecting) else selecting
        parent, action, _ = descend(tree, live, at_root, inside, keys=keys)
        above = jax.tree.map(lambda leaf: leaf[lane, parent], tree.embeddings)
        step, embedding = recurrent_fn(params, expanding, action, above)
        over = jnp.zeros(len(lane), bool) if lost is None else lost(embedding)
        prior = jnp.where(over[:, None], REFUTED, step.prior_logits)
        node = Nodes(embedding, prior, step.value, step.reward, step.discount)
        tree = back_up(add_nodes(tree, live, node, count, parent, action), live, count)
        if lost is not None:
            tree = refute(tree, live & over, count, two_players)
        count, done = count + live.astype(jnp.int32), done + 1
        return tree, key, count, done, going(tree, count, done, live)

    none = jnp.int32(0)
    live = going(tree, jnp.maximum(count, 1), none, jnp.ones(len(lane), bool))
    return lax.while_loop(lambda now: now[4].any(), simulate, (tree, rng_key, jnp.maximum(count, 1), none, live))[0]


def decided(tree: mctx.Tree, left: Array) -> Array:
    """Stops a tree whose root has at most one move that is neither invalid nor refuted: bool[K]."""
    del left
    return open_moves(tree).sum(axis=1, dtype=jnp.int32) <= 1


def settled(tree: mctx.Tree, left: Array) -> Array:
    """Stops a tree whose most visited move can't be overtaken any more by the simulations left: bool[K].

    For actions that are the most visited ones of all moves, such as those of PUCT without a temperature; only a move
    that is refuted could still be another.
    """
    visits = tree.children_visits[:, mctx.Tree.ROOT_INDEX]
    first = jnp.arange(tree.num_actions) == visits.argmax(axis=1)[:, None]
    return visits.max(axis=1) - jnp.where(first, 0, visits).max(axis=1) > left


def open_qtransform(qtransform: Callable[..., Array]) -> Callable[..., Array]:
    """A ``qtransform`` of mctx that gives invalid and refuted moves minus infinity, so that PUCT does not select them.

    Use it as ``functools.partial(mctx.muzero_action_selection, qtransform=open_qtransform(...))``.
    """

    def transformed(tree: mctx.Tree, node: Array) -> Array:
        return jnp.where(tree.children_prior_logits[node] > LEAST, qtransform(tree, node), -jnp.inf)

    return transformed


def sharded(function: Callable[..., T], mesh: Mesh) -> Callable[..., T]:
    """A search whose trees are spread over the devices of a mesh; each searches its own and waits for no other.

    Args:
      function: (params, keys [K], further pytrees of arrays [K, ...]) to a pytree of arrays [K, ...], such as
        ``search`` with its other arguments bound.
      mesh: devices, of which all axes are used; their number must divide K.

    Returns:
      The function on a batch that is split along its rows, while the parameters are on every device. There must be a
      key for each tree: so a row's result is the same on any number of devices.

    Raises:
      ValueError: one key.
    """
    everywhere, rows = PartitionSpec(), PartitionSpec(mesh.axis_names)

    def spread(params: Any, keys: Array, *batches: Any) -> T:
        if is_one_key(keys):
            raise ValueError("a search on several devices needs a key for each tree, as of jax.random.split(key, K)")
        placed = jax.device_put((keys, *batches), NamedSharding(mesh, rows))
        params = jax.device_put(params, NamedSharding(mesh, everywhere))
        # loops of mctx and of networks begin with constants, which the check of shard_map refuses
        mapped = jax.shard_map(
            function, mesh=mesh, in_specs=(everywhere, *[rows] * len(placed)), out_specs=rows, check_vma=False
        )
        found: T = mapped(params, *placed)
        return found

    return spread
