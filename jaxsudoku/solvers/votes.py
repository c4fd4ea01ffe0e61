"""Test-time augmentation (votes): a network's outputs for a position, averaged over random symmetries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.symmetry import Symmetry


def draw(board: Board, keys: Array, number: Array) -> Symmetry:
    """Draws a random symmetry from each of K keys, for one vote."""
    return jax.vmap(lambda key: symmetry.sample(jax.random.fold_in(key, number), board))(keys)


def _under_symmetry(
    drawn: Symmetry, board: Board, cubes: Array, look: Callable[[Array], tuple[Array, Any]]
) -> tuple[Array, Any]:
    """Applies a function of candidates under symmetries, and maps its values back.

    Args:
      drawn: K symmetries.
      board: the board.
      cubes: bool[K, side, cells], the candidates.
      look: the function: candidates -> (a value for each, floats of the same shape; any further results).

    Returns:
      the values for the original candidates, and the further results.
    """
    shape = (len(cubes), *(board.side,) * 3)
    values, rest = look(symmetry.apply_candidates(drawn, cubes.reshape(shape)).reshape(cubes.shape))
    back = symmetry.apply_candidates(symmetry.invert(drawn), values.reshape(shape))
    return back.reshape(cubes.shape), rest


def averaged(
    board: Board,
    votes: int,
    drawn: Callable[[Array], Symmetry],
    cubes: Array,
    look: Callable[[Array, Any], tuple[Array, Array, Any]],
    carry: Any = None,
) -> tuple[Array, Array, Any]:
    """The means of a network's probabilities over votes.

    Args:
      board: the board.
      votes: the number of votes.
      drawn: number of a vote -> its K symmetries.
      cubes: bool[K, side, cells], the candidates.
      look: (candidates, carry) -> (probabilities of candidates, float32[K, side, cells]; a probability of the position,
        float32[K]; the next carry).
      carry: the carries, with a leading axis of votes.

    Returns:
      both means, and the next carries.
    """

    def vote(total: tuple[Array, Array], given: tuple[Array, Any]) -> tuple[tuple[Array, Array], Any]:
        number, carry = given

        def seen(cubes: Array) -> tuple[Array, tuple[Array, Any]]:
            policy, value, after = look(cubes, carry)
            return policy, (value, after)

        policy, (value, carry) = _under_symmetry(drawn(number), board, cubes, seen)
        return (total[0] + policy, total[1] + value), carry

    nothing = jnp.zeros(cubes.shape, jnp.float32), jnp.zeros(len(cubes), jnp.float32)
    (policy, value), carry = lax.scan(vote, nothing, (jnp.arange(votes), carry), length=votes)
    return policy / np.float32(votes), value / np.float32(votes), carry
