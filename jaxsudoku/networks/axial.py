"""Axial: a transformer with attention within rows, columns and regions in turn.

Attention along one kind of house at a time, after Ho et al. 2019, "Axial Attention in Multidimensional
Transformers".
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Annotated

import numpy as np
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Range

from .attention import KINDS, AttentionConfig, Embedding, Layer, house_orders
from .base import NetworkModule, Outputs
from .layers import MOST_DEPTH, PolicyHead, ValueHead


@dataclasses.dataclass(frozen=True)
class AxialConfig(AttentionConfig):
    """Sizes of the network.

    Attributes:
      rounds: number of rounds, each with one layer for rows, one for columns and one for regions.
    """

    rounds: Annotated[int, Range(1, MOST_DEPTH // KINDS)] = 4


class Axial(NetworkModule):
    """The network, for boxes and irregular regions.

    Extra houses have no separate layers; the network learns them from the cells' positions.
    """

    def __init__(self, config: AxialConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.board = board
        self.embedding = Embedding(config, board, rngs)
        layers = config.rounds * KINDS
        self.layers = nnx.List(Layer(config, layers, rngs) for _ in range(layers))
        self.norm = nnx.RMSNorm(config.width, dtype=config.dtype, rngs=rngs)
        self.policy = PolicyHead(config.width, board.side, config.dtype, rngs)
        self.value = ValueHead(config.width, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        batch, side, cells = candidates.shape
        orders = house_orders(self.board)
        x = self.embedding(candidates)
        reading = order = np.arange(cells)
        for layer, following in zip(self.layers, itertools.cycle(orders), strict=False):
            houses = _reordered(x, order, following).reshape(batch, side, side, -1)
            x, order = layer(houses).reshape(batch, cells, -1), following
        x = self.norm(_reordered(x, order, reading))
        return Outputs(self.policy(x), self.value(x))


def _reordered(x: Array, before: np.ndarray, after: np.ndarray) -> Array:
    """Moves cells [B, cells, width] from one order to another."""
    moves = np.argsort(before)[after]
    return x.at[:, moves].get(unique_indices=True, mode="promise_in_bounds")
