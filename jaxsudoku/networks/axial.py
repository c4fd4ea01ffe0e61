"""Axial: a transformer whose cells attend to the cells of their row, their column and their region in turn.

Attention along one kind of house at a time, after Ho et al. 2019, "Axial Attention in Multidimensional
Transformers".
"""

from __future__ import annotations

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.config import Config, Positive

from .base import NetworkModule, Outputs
from .layers import Dtype, PolicyHead, ValueHead, check_divides

#: Kinds of houses: rows, columns, regions.
_KINDS = 3


@dataclasses.dataclass(frozen=True)
class AxialConfig(Config):
    """Sizes of the network.

    Attributes:
      rounds: number of rounds, each with one layer for rows, one for columns and one for regions.
      width: features of a cell.
      heads: attention heads; divides ``width``.
      expansion: width of the perceptron's hidden layer, in multiples of ``width``.
      hidden: width of the value head.
      dtype: dtype of the computation, float32 or bfloat16.
    """

    rounds: Positive = 4
    width: Positive = 192
    heads: Positive = 3
    expansion: Positive = 4
    hidden: Positive = 192
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_divides(self, "heads", "width")


class Axial(NetworkModule):
    """The network, for boxes and irregular regions alike.

    Extra houses have no layers of their own; the network learns them from the cells' positions.
    """

    def __init__(self, config: AxialConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.board, self.dtype = board, config.dtype
        self.embed = nnx.Linear(board.side, config.width, dtype=config.dtype, rngs=rngs)
        initial = nnx.initializers.normal(0.1)
        self.places = nnx.Param(initial(rngs.params(), (_KINDS, board.side, config.width), jnp.float32))
        self.layers = nnx.List(Layer(config, rngs) for _ in range(config.rounds * _KINDS))
        self.norm = nnx.RMSNorm(config.width, dtype=config.dtype, rngs=rngs)
        self.policy = PolicyHead(config.width, board.side, config.dtype, rngs)
        self.value = ValueHead(config.width, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        batch, side, cells = candidates.shape
        orders = house_orders(self.board)
        # index k of an order belongs to house k // side, so this is the number of each cell's house of each kind
        numbers = np.argsort(orders, axis=1) // side
        places = self.places[...][np.arange(_KINDS)[:, None], numbers].sum(axis=0)
        x = self.embed(candidates.transpose(0, 2, 1).astype(self.dtype)) + places.astype(
            self.dtype
        )  # [B, cells, width]
        reading = order = np.arange(cells)
        for layer, following in zip(self.layers, itertools.cycle(orders), strict=False):
            houses = _reordered(x, order, following).reshape(batch, side, side, -1)
            x, order = layer(houses).reshape(batch, cells, -1), following
        x = self.norm(_reordered(x, order, reading))
        return Outputs(self.policy(x), self.value(x))


def house_orders(board: Board) -> np.ndarray:
    """int[3, cells], the cells row by row, column by column and region by region."""
    return np.asarray(board.houses[: _KINDS * board.side]).reshape(_KINDS, board.cells)


def _reordered(x: Array, before: np.ndarray, after: np.ndarray) -> Array:
    """Cells [B, cells, width] moved from one order to another."""
    moves = np.argsort(before)[after]
    return x.at[:, moves].get(unique_indices=True, mode="promise_in_bounds")


class Layer(nnx.Module):
    """A pre-norm transformer layer: attention within houses, then a perceptron for each cell, both residual."""

    def __init__(self, config: AxialConfig, rngs: nnx.Rngs) -> None:
        width, wide = config.width, config.width * config.expansion
        # small initial residual branches keep the scale of the features, however many layers there are
        out = nnx.initializers.variance_scaling(0.5 / (config.rounds * _KINDS), "fan_in", "normal")
        linear = functools.partial(nnx.Linear, dtype=config.dtype, rngs=rngs)
        norm = functools.partial(nnx.RMSNorm, width, dtype=config.dtype, rngs=rngs)
        self.heads = config.heads
        self.norm_attention, self.norm_step = norm(), norm()
        self.to_attention = linear(width, 3 * width)
        self.from_attention = linear(width, width, kernel_init=out)
        self.to_step = linear(width, wide)
        self.from_step = linear(wide, width, kernel_init=out)

    def __call__(self, x: Array) -> Array:
        """Features [B, house, member, width]."""
        x = x + self.from_attention(self._attended(self.to_attention(self.norm_attention(x))))
        return x + self.from_step(jax.nn.gelu(self.to_step(self.norm_step(x))))

    def _attended(self, x: Array) -> Array:
        """Queries, keys and values [B, house, member, 3 * width] to features [B, house, member, width]."""
        batch, houses, members, _ = x.shape
        query, key, value = jnp.moveaxis(x.reshape(batch * houses, members, 3, self.heads, -1), 2, 0)
        return jax.nn.dot_product_attention(query, key, value).reshape(batch, houses, members, -1)
