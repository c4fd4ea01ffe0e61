"""Groups of candidates, within which CubeNet passes messages: cells, lines, regions, and conflicts of constraints.

A candidate's group of conflicts has the candidate and all that the constraints of the board do not allow beside it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.house_tables import houses_of_cells
from jaxsudoku.runtime.operations import fence

from .conflicts import conflicts_of
from .layers import linear, maximum
from .packed import Related

#: Kinds of groups with separate weights: cells; rows and columns; regions and extra houses; conflicts.
CELL, LINE, REGION, CONFLICT = range(4)

#: Scale of sums over a group: they start at about the size of a message.
_SUMMED = 1 / 3


class Groups(NamedTuple):
    """A family of groups of candidates, as functions on features [*cube, B, n].

    Attributes:
      sum: the sums over the members of each group.
      max: the maxima over the members, of features that are at least 0.
      spread: copies the features of groups to their members; their sum, for a candidate in several groups.
    """

    sum: Callable[[Array], Array]
    max: Callable[[Array], Array]
    spread: Callable[[Array], Array]


class GroupKind(nnx.Module):
    """The messages from the groups of one kind to their candidates: answers and shares.

    Args:
      config: a ``CubeConfig``.
      rngs: the random numbers of the initial weights.
      scale: factor of the variance of the last layers' initial weights; 0 for messages of 0.
    """

    def __init__(self, config: Any, rngs: nnx.Rngs, scale: float = 1.0) -> None:
        layer = functools.partial(linear, dtype=config.dtype, rngs=rngs)
        self.maximum = config.maximum
        self.to_hidden = layer(config.hidden * (1 + config.maximum), config.house, scale=2.0)
        self.from_hidden = layer(config.house, config.hidden, scale=0.5 * scale, use_bias=False)
        if config.shares:
            self.from_shares = layer(config.shares, config.hidden, scale=scale, use_bias=False)

    def answers(self, groups: Groups, message: Array) -> Array:
        """The answers of groups: a perceptron of the sum of their messages [*cube, B, hidden]."""
        pooled = groups.sum(message) * jnp.asarray(_SUMMED, message.dtype)
        if self.maximum:
            pooled = jnp.concatenate([pooled, groups.max(message)], axis=-1)
        hidden = jax.nn.relu(self.to_hidden(fence(pooled)))
        return groups.spread(fence(self.from_hidden(hidden)))

    def shares(self, groups: Groups, score: Array) -> Array:
        """The shares of candidates: softmaxes of scores [*cube, B, shares] within groups; ``from_shares`` is next."""
        return score * groups.spread(fence(1 / (groups.sum(score) + jnp.asarray(1e-3, score.dtype))))


def families_of(board: Board, conflicts: bool) -> list[tuple[int, Groups]]:
    """The families of groups of a board, each with its kind; ``conflicts`` says whether they are one of these."""
    families = [(CELL, _along((0,))), (LINE, _along((3, 4))), (LINE, _along((1, 2)))]
    if board.box is not None:
        families.append((REGION, _along((2, 4))))
    if board.irregular_houses:
        families.append((REGION, _indexed(board)))
    if conflicts:
        families.append((CONFLICT, _conflicting(board)))
    return families


def cube_shape(board: Board) -> tuple[int, int, int, int, int]:
    """The shape of a cube: digits, rows cut into boxes, columns cut into boxes; uncut on boards without boxes."""
    height, width = board.box or (1, 1)
    return board.side, board.side // height, height, board.side // width, width


def _along(axes: Sequence[int]) -> Groups:
    """The groups of candidates that differ along these axes of the cube only."""
    return Groups(
        sum=lambda x: x.sum(axes, keepdims=True),
        max=lambda x: maximum(x, tuple(axes), True),
        spread=lambda x: x,  # by broadcasting
    )


def _indexed(board: Board) -> Groups:
    """The irregular houses, each for every digit, by index tables."""
    members = np.asarray(board.irregular_houses)
    houses = houses_of_cells(board)

    def gathered(x: Array) -> Array:
        cells = x.reshape(board.side, board.cells, *x.shape[-2:])
        return cells[:, members]  # [side, houses, side, B, n]

    def spread(x: Array) -> Array:
        padded = jnp.pad(x, ((0, 0), (0, 1), (0, 0), (0, 0)))  # index -1 stands for no house, with features 0
        return padded[:, houses].sum(axis=2).reshape(*cube_shape(board), *x.shape[-2:])

    return Groups(sum=lambda x: gathered(x).sum(axis=2), max=lambda x: maximum(gathered(x), (2,)), spread=spread)


def _conflicting(board: Board) -> Groups:
    """The conflicts by an index table; each candidate is the only member that its group answers."""
    related = Related(jnp.asarray(conflicts_of(board).table.T))

    def total(x: Array) -> Array:
        return related.sum(x.reshape(board.candidates, *x.shape[-2:])).reshape(x.shape)

    def most(x: Array) -> Array:
        rows = x.reshape(board.candidates, *x.shape[-2:])
        others = rows.at[related.members].get(mode="fill", fill_value=0)  # [m, N, B, n]
        return maximum(jnp.concatenate([rows[None], others]), (0,)).reshape(x.shape)

    return Groups(sum=total, max=most, spread=lambda x: x)
