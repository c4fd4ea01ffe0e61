"""CellCnn, the small network often taught for Sudoku: three convolutions, and one dense layer over the board.

The convolutions see a cell's neighbours only. The dense layer connects every cell with every other, and has to learn
the houses. Its size grows with the sixth power of the side: 7.6 million parameters in all on 9x9, 134 million on 16x16.
It uses layer normalisation instead of the source's batch normalisation, which needs state besides the parameters.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Config

from .base import NetworkModule, Outputs
from .layers import Convolution, Dtype, ValueHead, Width, as_image, to_logits


@dataclasses.dataclass(frozen=True)
class CellCnnConfig(Config):
    """Sizes of the network.

    Attributes:
      width: channels of the two 3x3 convolutions.
      features: channels of the 1x1 convolution, the input of the dense layer.
      hidden: width of the value head.
      numbers: whether the image has one channel, as in the source: digit / side - 1/2, with digit 0 for a cell with
        several candidates. If False, it has a channel for each digit, with the candidates.
      dtype: dtype of the computation, float32 or bfloat16.
    """

    width: Width = 64
    features: Width = 128
    hidden: Width = 64
    numbers: bool = False
    dtype: Dtype = "float32"


class CellCnn(NetworkModule):
    """The network, for any board."""

    def __init__(self, config: CellCnnConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.dtype, self.numbers = config.dtype, config.numbers
        self.first = Convolution(1 if config.numbers else board.side, config.width, (3, 3), config.dtype, rngs)
        self.second = Convolution(config.width, config.width, (3, 3), config.dtype, rngs)
        self.third = Convolution(config.width, config.features, (1, 1), config.dtype, rngs)
        self.policy = to_logits(board.cells * config.features, board.candidates, config.dtype, rngs)
        self.value = ValueHead(config.features, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        image = as_image(candidates, self.dtype)
        if self.numbers:
            image = as_numbers(image)
        x = self.third(self.second(self.first(image)))  # [B, row, column, features]
        return Outputs(self.policy(x.reshape(x.shape[0], -1)).reshape(candidates.shape), self.value(x))


def as_numbers(image: Array) -> Array:
    """Converts an image of candidates [B, row, column, digit] to numbers from -1/2 to 1/2, [B, row, column, 1]."""
    side = image.shape[-1]
    digits = jnp.arange(1, side + 1, dtype=image.dtype)
    single = image.sum(axis=-1, keepdims=True) == 1
    return jnp.where(single, (image * digits).sum(axis=-1, keepdims=True) / side, 0) - 0.5
