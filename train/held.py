"""Positions that are thought about from step to step, until the network knows them or their time is over.

What a network by iterations has come to is kept with its position, and the next step goes on from there: so it learns
to think for long at the price of a few iterations a step. A position that it knows makes way for a fresh one at once,
and time goes to what it does not know yet.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.networks import Forward, Params

from .positions import Positions


class Held(NamedTuple):
    """B positions between two steps; a pytree, whose leaves all have the batch first.

    Attributes:
      positions: the positions.
      carried: what the network has come to in each, as ``Forward.unroll`` carries it on.
      left: int32[B], how many more steps each is thought about; 0 if it makes way.
    """

    positions: Positions
    carried: Any
    left: Array


def none_held(forward: Forward, params: Params, size: int) -> Held:
    """Room for so many positions, all of which make way."""
    board = forward.board

    def cubes() -> Array:  # each its own, as the state's arrays are given away at every step
        return jnp.zeros((size, board.side, board.cells), bool)

    shapes = jax.eval_shape(lambda *given: batch_first(forward.initialize_carry(*given)), params, cubes())
    carried = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    positions = Positions(cubes(), cubes(), jnp.zeros(size, bool), jnp.zeros(size, bool))
    return Held(positions, carried, jnp.zeros(size, jnp.int32))


def renewed(held: Held, positions: Positions, key: Array, most: Array) -> tuple[Held, Array]:
    """Puts positions in the place of those that make way, for random numbers of steps from 1 to ``most``.

    Returns:
      what is held, and which of it is fresh, bool[B].
    """
    fresh = held.left <= 0

    def chosen(new: Array, old: Array) -> Array:
        return jnp.where(fresh.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    left = chosen(jax.random.randint(key, fresh.shape, 1, most + 1), held.left)
    return Held(jax.tree.map(chosen, positions, held.positions), held.carried, left), fresh


def batch_first(carried: Any) -> Any:
    """What a network carries on, with the batch first instead of last but one."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -2, 0), carried)


def batch_inside(carried: Any) -> Any:
    """The inverse of ``batch_first``."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -2), carried)
