"""The pool: positions that are kept from step to step, until the network has solved them or their steps are over.

The features of a network with iterations are kept with their position, and the next step continues from them. So the
network learns to think long at the price of a few iterations a step. A solved position is replaced by a fresh one in
the next step, so training time goes to positions that are still hard.
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
    """B positions between two steps; a pytree, whose leaves all have the batch first.

    Attributes:
      positions: the positions.
      carry: the network's features of each, as ``Forward.trace`` returns them, but with the batch first.
      left: int32[B], steps for which each is still kept; 0 if it is to be replaced.
    """

    positions: Positions
    carry: Any
    left: Array


def empty_pool(forward: Forward, params: Params, size: int, target: Any = bool) -> Pool:
    """A pool of ``size`` positions, all of which are to be replaced; ``target`` is the dtype of truth and value."""
    board = forward.board

    def cubes() -> Array:  # an array for each use, as the arrays of the state are donated at every step
        return jnp.zeros((size, board.side, board.cells), bool)

    shapes = jax.eval_shape(lambda *given: batch_first(forward.initialize_carry(*given)), params, cubes())
    carry = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    positions = Positions(cubes(), cubes().astype(target), jnp.zeros(size, target), jnp.zeros(size, bool))
    return Pool(positions, carry, jnp.zeros(size, jnp.int32))


def refill(pool: Pool, positions: Positions, key: Array, most: Array) -> tuple[Pool, Array]:
    """Replaces the positions whose steps are over, by others that are kept for random numbers of steps, 1 to ``most``.

    Returns:
      the pool, and which of its positions are fresh, bool[B].
    """
    fresh = pool.left <= 0
    left = jnp.where(fresh, jax.random.randint(key, fresh.shape, 1, most + 1), pool.left)
    return Pool(select(fresh, positions, pool.positions), pool.carry, left), fresh


def batch_first(carry: Any) -> Any:
    """Features with the batch axis first, instead of last but one."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -2, 0), carry)


def batch_inside(carry: Any) -> Any:
    """The inverse of ``batch_first``."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -2), carry)
