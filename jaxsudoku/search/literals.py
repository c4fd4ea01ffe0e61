"""The exact search, branching as a network says."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.branching import Branch
from jaxsudoku.networks import Network
from jaxsudoku.planes import pack_lanes, planes_to_cubes, unpack_lanes

from .evaluation import asked


def by_network(network: Network, cell: str, together: int = 0) -> Branch:
    """Branches on the digit that a network finds likeliest, in a cell with fewest candidates or in any one.

    Args:
      network: a network of the board.
      cell: "fewest" or "surest".
      together: nodes that the network looks at together, of those that branch; 0 for all, whether they do or not.
    """

    def branch(board: Board, planes: Array, branching: Array) -> Array:
        cubes = planes_to_cubes(board, planes)
        policy = asked(network, network.params, cubes, unpack_lanes(branching), together).policy
        likely = jax.nn.softmax(policy, axis=1, where=cubes)
        count = cubes.sum(axis=1, dtype=jnp.int32)
        choices = jnp.where(count > 1, count, board.side + 1)
        if cell == "fewest":
            choices = jnp.where(choices == choices.min(axis=1, keepdims=True), choices, board.side + 1)
        eligible = cubes & (choices <= board.side)[:, None]
        best = jnp.where(eligible, likely, -1.0).reshape(len(cubes), -1).argmax(axis=1)
        digit, place = best // board.cells, best % board.cells
        parts = (digit, place // board.side, place % board.side)
        literal = jnp.concatenate([part[:, None] == jnp.arange(board.side) for part in parts], axis=1)
        return jax.vmap(pack_lanes, in_axes=1)(literal)

    return branch
