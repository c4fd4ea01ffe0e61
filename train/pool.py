"""Pool of positions that are kept over several steps, until the network has solved them or their steps are over.

The features of an iterative network are kept with their position, and the next step continues from them. So the network
is trained for many iterations at the cost of a few per step. A solved position is replaced by a fresh one in the next
step, so training time is spent on positions that are still hard.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.networks import Forward, Params
from jaxsudoku.runtime.operations import select

from .positions import Positions


class Pool(NamedTuple):
    """State of B positions between two steps; a pytree in which the batch is the first axis of all leaves.

    Attributes:
      positions: the positions.
      carry: the network's carry, as from ``Forward.unroll``, but with the batch axis first.
      left: int32[B], steps for which each is still kept; 0 if it will be replaced.
    """

    positions: Positions
    carry: Any
    left: Array


def empty_pool(forward: Forward, params: Params, size: int, target: Any = bool) -> Pool:
    """A pool of ``size`` positions that will all be replaced; ``target`` is the dtype of truth and value."""
    board = forward.board

    def cubes() -> Array:  # an array for each use, as the arrays of the state are donated at every step
        return jnp.zeros((size, board.side, board.cells), bool)

    shapes = jax.eval_shape(lambda *given: batch_first(forward.initialize_carry(*given)), params, cubes())
    carry = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    positions = Positions(cubes(), cubes().astype(target), jnp.zeros(size, target), jnp.zeros(size, bool))
    return Pool(positions, carry, jnp.zeros(size, jnp.int32))


def refill(pool: Pool, positions: Positions, key: Array, most: Array) -> tuple[Pool, Array]:
    """Replaces positions whose steps are over; new ones are kept for random numbers of steps, 1 to ``most``.

    Returns:
      the pool, and which of its positions are fresh, bool[B].
    """
    fresh = pool.left <= 0
    left = jnp.where(fresh, jax.random.randint(key, fresh.shape, 1, most + 1), pool.left)
    return Pool(select(fresh, positions, pool.positions), pool.carry, left), fresh


def batch_first(carry: Any) -> Any:
    """Moves the batch axis of a carry from the last but one to the first place."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -2, 0), carry)


def batch_inside(carry: Any) -> Any:
    """The inverse of ``batch_first``."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -2), carry)
