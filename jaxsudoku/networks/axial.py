"""A transformer whose cells attend to the cells of their own houses: within rows, then columns, then regions, repeated.

Attention along one kind of house at a time as in Ho et al. 2019, "Axial Attention in Multidimensional Transformers".
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

from .base import NetworkModule, Outputs
from .layers import PolicyHead, ValueHead, check_divides, check_sizes

#: Kinds of houses: rows, columns, regions.
_KINDS = 3


@dataclasses.dataclass(frozen=True)
class AxialConfig:
    """Sizes of the network.

    Attributes:
      rounds: how often rows, columns and regions take turns, a layer each.
      width: features of a cell.
      heads: heads of attention; divides ``width``.
      expansion: how many times wider the hidden layer of a cell's own step is.
      hidden: width of the value head.
      dtype: what it computes in, float32 or bfloat16.
    """

    rounds: int = 4
    width: int = 192
    heads: int = 3
    expansion: int = 4
    hidden: int = 192
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_sizes(self)
        check_divides(self, "heads", "width")


class Axial(NetworkModule):
    """Cells as tokens that attend to their row, their column and their region in turn.

    Regions are boxes or irregular ones alike. Extra houses have no layers of their own: what they demand is to be
    learned from the cells' places.
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
        # place k of an order belongs to house k // side, so this is the number of each cell's house of each kind
        numbers = np.argsort(orders, axis=1) // side
        places = self.places[...][np.arange(_KINDS)[:, None], numbers].sum(axis=0)
        x = self.embed(candidates.transpose(0, 2, 1).astype(self.dtype)) + places.astype(self.dtype)
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
    """Cells [B, cells, width] that lie in one order, put into another one."""
    moves = np.argsort(before)[after]
    return x.at[:, moves].get(unique_indices=True, mode="promise_in_bounds")


class Layer(nnx.Module):
    """Attention within houses, then each cell's own step; both are added to what came in, which they see normalised."""

    def __init__(self, config: AxialConfig, rngs: nnx.Rngs) -> None:
        width, wide = config.width, config.width * config.expansion
        # as many sums as there are, each so much smaller at first, keep the features' scale
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
