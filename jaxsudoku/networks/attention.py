"""Components shared by the transformers: settings, the embedding of cells, and a layer."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Config

from .layers import Depth, Dtype, Width, check_divides

#: Kinds of houses: rows, columns, regions.
KINDS = 3


@dataclasses.dataclass(frozen=True)
class AttentionConfig(Config):
    """Sizes of a transformer whose tokens are cells.

    Attributes:
      width: features of a cell.
      heads: attention heads; divides ``width``.
      expansion: width of the perceptron's hidden layer, in multiples of ``width``.
      hidden: width of the value head.
      dtype: dtype of the computation, float32 or bfloat16.
    """

    width: Width = 192
    heads: Width = 3
    expansion: Depth = 4
    hidden: Width = 192
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_divides(self, "heads", "width")


def house_orders(board: Board) -> np.ndarray:
    """int[3, cells], the cells row by row, column by column and region by region."""
    return np.asarray(board.houses[: KINDS * board.side]).reshape(KINDS, board.cells)


class Embedding(nnx.Module):
    """Embedding of cells: a linear map of the candidates plus learned vectors of the row, the column and the region."""

    def __init__(self, config: AttentionConfig, board: Board, rngs: nnx.Rngs) -> None:
        self.board, self.dtype = board, config.dtype
        self.embed = nnx.Linear(board.side, config.width, dtype=config.dtype, rngs=rngs)
        initial = nnx.initializers.normal(0.1)
        self.places = nnx.Param(initial(rngs.params(), (KINDS, board.side, config.width), jnp.float32))

    def __call__(self, candidates: Array) -> Array:
        """Candidates bool[B, side, cells] to features [B, cells, width]."""
        # position k of an order is in house k // side, so this is the number of each cell's house of each kind
        numbers = np.argsort(house_orders(self.board), axis=1) // self.board.side
        places = self.places[...][np.arange(KINDS)[:, None], numbers].sum(axis=0)
        embedded: Array = self.embed(candidates.transpose(0, 2, 1).astype(self.dtype))
        return embedded + places.astype(self.dtype)


class Layer(nnx.Module):
    """A pre-norm transformer layer: attention within groups, then a perceptron for each cell, both residual.

    Args:
      config: the sizes.
      layers: the number of layers of the network.
      rngs: the source of the initial weights.
    """

    def __init__(self, config: AttentionConfig, layers: int, rngs: nnx.Rngs) -> None:
        width, wide = config.width, config.width * config.expansion
        # small initial residual branches preserve the scale of the features for any number of layers
        out = nnx.initializers.variance_scaling(0.5 / layers, "fan_in", "normal")
        linear = functools.partial(nnx.Linear, dtype=config.dtype, rngs=rngs)
        norm = functools.partial(nnx.RMSNorm, width, dtype=config.dtype, rngs=rngs)
        self.heads = config.heads
        self.norm_attention, self.norm_step = norm(), norm()
        self.to_attention = linear(width, 3 * width)
        self.from_attention = linear(width, width, kernel_init=out)
        self.to_step = linear(width, wide)
        self.from_step = linear(wide, width, kernel_init=out)

    def __call__(self, x: Array) -> Array:
        """Features [B, group, member, width]."""
        x = x + self.from_attention(self._attended(self.to_attention(self.norm_attention(x))))
        return x + self.from_step(jax.nn.gelu(self.to_step(self.norm_step(x))))

    def _attended(self, x: Array) -> Array:
        """Queries, keys and values [B, group, member, 3 * width] to features [B, group, member, width]."""
        batch, groups, members, _ = x.shape
        query, key, value = jnp.moveaxis(x.reshape(batch * groups, members, 3, self.heads, -1), 2, 0)
        return jax.nn.dot_product_attention(query, key, value).reshape(batch, groups, members, -1)
