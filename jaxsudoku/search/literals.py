"""The exact search, branching as a network says."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.branching import Branch
from jaxsudoku.networks import Network
from jaxsudoku.planes import pack_lanes, planes_to_cubes


def by_network(network: Network, cell: str) -> Branch:
    """Branches on the digit that a network finds likeliest, in a cell with fewest candidates or in any one.

    Args:
      network: a network of the board.
      cell: "fewest" or "surest".
    """

    def branch(board: Board, planes: Array) -> Array:
        cubes = planes_to_cubes(board, planes)
        likely = jax.nn.softmax(network.apply(network.params, cubes).policy, axis=1, where=cubes)
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
