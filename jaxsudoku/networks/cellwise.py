"""Cellwise: a transformer with attention between all cells of the board.

Unlike ``axial``, the network has to learn from the cells' positions which of them share a house.
"""

from __future__ import annotations

import dataclasses

from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board

from .attention import AttentionConfig, Embedding, Layer
from .base import NetworkModule, Outputs
from .layers import Depth, PolicyHead, ValueHead


@dataclasses.dataclass(frozen=True)
class CellwiseConfig(AttentionConfig):
    """Sizes of the network.

    Attributes:
      layers: number of layers.
    """

    layers: Depth = 12


class Cellwise(NetworkModule):
    """The network, for any board; it learns all houses from the cells' positions."""

    def __init__(self, config: CellwiseConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.embedding = Embedding(config, board, rngs)
        self.layers = nnx.List(Layer(config, config.layers, rngs) for _ in range(config.layers))
        self.norm = nnx.RMSNorm(config.width, dtype=config.dtype, rngs=rngs)
        self.policy = PolicyHead(config.width, board.side, config.dtype, rngs)
        self.value = ValueHead(config.width, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        x = self.embedding(candidates)[:, None]  # all cells are one group
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x[:, 0])
        return Outputs(self.policy(x), self.value(x))
