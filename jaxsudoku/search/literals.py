"""The exact search, branching as a network says."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.branching import Branch
from jaxsudoku.networks import Network
from jaxsudoku.planes import pack_lanes, planes_to_cubes, unpack_lanes

from .evaluation import asked, named


def by_network(network: Network, cell: str, together: int | None = None) -> Branch:
    """Branches on the digit that a network finds likeliest, in the cell that ``evaluation.named`` names.

    Args:
      network: a network of the board.
      cell: one of ``config.Cell``.
      together: nodes that the network looks at together, of those that branch; None for all, whether they do or not.
    """

    def branch(board: Board, planes: Array, branching: Array) -> Array:
        cubes = planes_to_cubes(planes, board)
        policy = asked(network, network.params, cubes, unpack_lanes(branching), together).policy
        choices = cubes & (cubes.sum(axis=1, keepdims=True, dtype=jnp.int32) > 1)
        place = named(cell, choices, policy)
        here = place[:, None, None]
        logits = jnp.where(jnp.take_along_axis(cubes, here, 2), jnp.take_along_axis(policy, here, 2), -jnp.inf)
        digit = logits[:, :, 0].argmax(axis=1)
        parts = (digit, place // board.side, place % board.side)
        literal = jnp.concatenate([part[:, None] == jnp.arange(board.side) for part in parts], axis=1)
        return jax.vmap(pack_lanes, in_axes=1)(literal)

    return branch
