"""Exact search with branching guided by a network."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.branching import Branch
from jaxsudoku.core.planes import pack_lanes, planes_to_cubes, unpack_lanes
from jaxsudoku.core.tuning import LANES
from jaxsudoku.engine.solution import Solution
from jaxsudoku.exact import guided_search
from jaxsudoku.networks import Network

from .guided_config import GuidedExactConfig
from .network_calls import NetworkCaller, apply_where
from .tree.evaluators import choose_cell


def guided_exact(board: Board, puzzles: Array, key: Array, config: GuidedExactConfig, network: Network, /) -> Solution:
    """Complete search with branching guided by a network.

    Arguments as in ``exact.exact``, and a network of the board; ``key`` is not used. ``iterations`` int32[N] are the
    nodes visited, ``network_calls`` int32[N] the nodes at which the network chose the branch: it is not called for
    nodes that the rules solve, refute or still reduce.
    """
    del key
    found, branches = guided_search(
        puzzles,
        guided_branch(network, config.cell, config.chunk),
        board,
        budget=config.budget,
        rules=config.rules,
        rounds=config.rounds,
        lanes=config.lanes or LANES,
        guided_branches=config.calls,
    )
    return Solution(found.grids, found.status, found.iterations, {"network_calls": branches})


def guided_branch(network: Network, cell: str, chunk: int | None = None) -> Branch:
    """A branching heuristic: a network chooses the cell, and its most probable digit.

    Args:
      network: a network of the board.
      cell: the rule for the cell, one of ``config.Cell``.
      chunk: branching nodes that the network evaluates together; None for all nodes at once.
    """

    def branch(board: Board, planes: Array, branching: Array) -> Array:
        cubes = planes_to_cubes(planes, board)
        policy = apply_where(NetworkCaller(network, chunk), network.params, cubes, unpack_lanes(branching))[0].policy
        choices = cubes & (cubes.sum(axis=1, keepdims=True, dtype=jnp.int32) > 1)
        place = choose_cell(cell, choices, policy)
        here = place[:, None, None]
        logits = jnp.where(jnp.take_along_axis(cubes, here, 2), jnp.take_along_axis(policy, here, 2), -jnp.inf)
        digit = logits[:, :, 0].argmax(axis=1)
        parts = (digit, place // board.side, place % board.side)
        literal = jnp.concatenate([part[:, None] == jnp.arange(board.side) for part in parts], axis=1)
        return jax.vmap(pack_lanes, in_axes=1)(literal)

    return branch
