"""Gumbel MuZero (Danihelka et al. 2022) in trees that are kept: noise and halving begin anew with every search.

The visits and values from before count in the q-values and below the root, not in the halving nor for the action.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jax import Array

from jaxsudoku.runtime.random import is_one_key, split

from .growth import Stop, search
from .nodes import LEAST, most_visited


class GumbelExtraData(NamedTuple):
    """What trees know of their search.

    Attributes:
      root_gumbel: float32[K, A], the noise of the root's actions.
      kept_visits: int32[K, A], their visits before the search; None if trees are never kept.
    """

    root_gumbel: Array
    kept_visits: Array | None = None


def gumbel_root_action_selection(
    rng_key: Array,
    tree: mctx.Tree,
    node_index: Array,
    *,
    num_simulations: int,
    max_num_considered_actions: int,
    qtransform: Callable[..., Array] = mctx.qtransform_completed_by_mix_value,
) -> Array:
    """Selects the root's action by sequential halving over the visits of this search, as mctx selects it over all.

    Halving needs equal visits: when an action is refuted during the search, the rule of other nodes takes over.
    """
    logits, visits = tree.children_prior_logits[node_index], tree.children_visits[node_index]
    kept = tree.extra_data.kept_visits
    own = tree.replace(
        children_prior_logits=logits[None], children_visits=(visits if kept is None else visits - kept)[None]
    )
    halved = mctx.gumbel_muzero_root_action_selection(
        rng_key,
        own,  # mctx reads this one row of it, and what it gives to the transform
        jnp.zeros_like(node_index),
        num_simulations=num_simulations,
        max_num_considered_actions=max_num_considered_actions,
        qtransform=lambda own, node: qtransform(tree, node_index),
    )
    follow = mctx.gumbel_muzero_interior_action_selection
    followed = follow(rng_key, tree, node_index, jnp.int32(0), qtransform=qtransform)
    refuted = (logits <= LEAST) & (tree.root_invalid_actions == 0)
    return jnp.where(refuted.any(), followed, halved)


def gumbel_action(tree: mctx.Tree, qtransform: Callable[..., Array] = mctx.qtransform_completed_by_mix_value) -> Array:
    """The action of each root: of those most visited in this search the highest noise + logit + q-value, int32[K]."""
    logits, q = _at_roots(tree, qtransform)
    return most_visited(tree, tree.extra_data.root_gumbel + logits + q, tree.extra_data.kept_visits)


def _at_roots(tree: mctx.Tree, qtransform: Callable[..., Array]) -> tuple[Array, Array]:
    """The logits and the q-values of the roots' actions: float32[K, A]."""
    with jax.numpy_dtype_promotion("standard"):  # mctx mixes integers and floats
        q = jax.vmap(qtransform, (0, None))(tree, mctx.Tree.ROOT_INDEX)
    return tree.children_prior_logits[:, mctx.Tree.ROOT_INDEX], q


def gumbel_muzero_policy(
    params: Any,
    rng_key: Array,
    root: mctx.RootFnOutput,
    recurrent_fn: mctx.RecurrentFn,
    num_simulations: int,
    invalid_actions: Array | None = None,
    *,
    tree: mctx.Tree | None = None,
    room: int | None = None,
    stop: Stop | None = None,
    lost: Callable[[Any], Array] | None = None,
    two_players: bool = False,
    qtransform: Callable[..., Array] = mctx.qtransform_completed_by_mix_value,
    max_num_considered_actions: int = 16,
    gumbel_scale: float = 1.0,
) -> mctx.PolicyOutput:
    """Runs Gumbel MuZero search as ``mctx.gumbel_muzero_policy``, in trees that may be kept.

    Args:
      params, root, recurrent_fn, num_simulations, invalid_actions: as of ``mctx.gumbel_muzero_policy``.
      rng_key, tree, room, stop, lost, two_players: as of ``search``.
      qtransform, max_num_considered_actions, gumbel_scale: as of ``mctx.gumbel_muzero_policy``.

    Returns:
      ``mctx.PolicyOutput``: the actions int32[K], their weights float32[K, A] to train a policy with, and the trees. No
      refuted action is returned or has weight, unless all are: such roots have no ``open_moves``.
    """
    logits = root.prior_logits
    if invalid_actions is not None:
        logits -= logits.max(axis=1, keepdims=True)  # as mctx does
    rng_key, noise_key = split(rng_key)
    shape = logits.shape if is_one_key(noise_key) else logits.shape[1:]
    drawn = functools.partial(jax.random.gumbel, shape=shape, dtype=logits.dtype)
    noise = gumbel_scale * (drawn(noise_key) if is_one_key(noise_key) else jax.vmap(drawn)(noise_key))
    kept = jnp.zeros(logits.shape, jnp.int32) if tree is None else tree.children_visits[:, mctx.Tree.ROOT_INDEX]
    tree = search(
        params,
        rng_key,
        root=root.replace(prior_logits=logits),
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=functools.partial(
            gumbel_root_action_selection,
            num_simulations=num_simulations,
            max_num_considered_actions=max_num_considered_actions,
            qtransform=qtransform,
        ),
        interior_action_selection_fn=functools.partial(
            mctx.gumbel_muzero_interior_action_selection, qtransform=qtransform
        ),
        num_simulations=num_simulations,
        invalid_actions=invalid_actions,
        extra_data=GumbelExtraData(noise, kept),
        tree=tree,
        room=room,
        stop=stop,
        lost=lost,
        two_players=two_players,
    )
    prior, q = _at_roots(tree, qtransform)
    weights = jax.nn.softmax(prior + q)
    return mctx.PolicyOutput(action=gumbel_action(tree, qtransform), action_weights=weights, search_tree=tree)
