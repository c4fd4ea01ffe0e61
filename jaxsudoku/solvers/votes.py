"""Votes of a network: its outputs for a position under random symmetries, averaged by whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import Array

from jaxsudoku import symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.symmetry import Symmetry


def draw(board: Board, keys: Array, number: Array) -> Symmetry:
    """A random symmetry for each of K keys and the number of a vote."""
    return jax.vmap(lambda key: symmetry.sample(jax.random.fold_in(key, number), board))(keys)


def under_symmetry(
    drawn: Symmetry, board: Board, cubes: Array, look: Callable[[Array], tuple[Array, Any]]
) -> tuple[Array, Any]:
    """What a function says of candidates under symmetries.

    Args:
      drawn: K symmetries.
      board: the board.
      cubes: bool[K, side, cells], the candidates.
      look: the function, of candidates to a value for each, floats of the same shape, and to anything else.

    Returns:
      the values of the candidates as they were, and the rest.
    """
    shape = (len(cubes), *(board.side,) * 3)
    values, rest = look(symmetry.apply_candidates(drawn, cubes.reshape(shape)).reshape(cubes.shape))
    back = symmetry.apply_candidates(symmetry.invert(drawn), values.reshape(shape))
    return back.reshape(cubes.shape), rest
