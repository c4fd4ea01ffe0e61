"""HouseCnn, a convolutional network whose first layer has kernels of the size of a column, a row, a box and the board.

These kernels have circular padding within the house, or the board: at every cell a kernel covers all cells of its house
once.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Annotated

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Config, Range

from .base import NetworkModule, Outputs
from .convolution import SizedConvolution
from .layers import MOST_DEPTH, MOST_WIDTH, Convolution, Dtype, PolicyHead, ValueHead, Width, as_image

#: Kernels of the first layer, each with its share of the channels.
KERNELS = 4


@dataclasses.dataclass(frozen=True)
class HouseCnnConfig(Config):
    """Sizes of the network.

    Attributes:
      layers: number of convolutions, at least 3: the first along houses, then 3x3 ones, the last 1x1 to the policy.
      width: channels of every layer; a quarter of them from each kernel of the first layer, so a multiple of 4.
      hidden: width of the value head.
      dtype: dtype of the computation, float32 or bfloat16.
    """

    layers: Annotated[int, Range(3, MOST_DEPTH)] = 8
    width: Annotated[int, Range(KERNELS, MOST_WIDTH, KERNELS)] = 128
    hidden: Width = 64
    dtype: Dtype = "float32"


class HouseCnn(NetworkModule):
    """The network, for boards with boxes. The last 3x3 convolution also sees the input.

    Extra houses have no separate kernel; the other layers learn them.

    Raises:
      ValueError: a board with irregular regions, which no kernel fits.
    """

    def __init__(self, config: HouseCnnConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        if board.box is None:
            raise ValueError(f"house_cnn needs equal boxes, which {board} does not have")
        self.dtype = config.dtype
        layer = functools.partial(Convolution, outputs=config.width, kernel=(3, 3), dtype=config.dtype, rngs=rngs)
        self.along_houses = AlongHouses(config, board.side, board.box, rngs)
        self.between = nnx.List(layer(config.width) for _ in range(config.layers - 3))
        self.with_input = layer(config.width + board.side)
        self.policy = PolicyHead(config.width, board.side, config.dtype, rngs)  # a 1x1 convolution
        self.value = ValueHead(config.width, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        image = as_image(candidates, self.dtype)
        x = self.along_houses(image)
        for layer in self.between:
            x = layer(x)
        x = self.with_input(jnp.concatenate([x, image], axis=-1))
        return Outputs(self.policy(x), self.value(x))


class AlongHouses(nnx.Module):
    """Convolutions with kernels of n x 1, 1 x n, a box and n x n, with circular padding within the house or board."""

    def __init__(self, config: HouseCnnConfig, side: int, box: tuple[int, int], rngs: nnx.Rngs) -> None:
        def kernel(shape: tuple[int, int]) -> SizedConvolution:
            return SizedConvolution(side, config.width // KERNELS, shape, config.dtype, rngs, wraps=True)

        self.column, self.row, self.box = kernel((side, 1)), kernel((1, side)), kernel(box)
        self.whole = kernel((side, side))
        self.box_shape = box
        self.norm = nnx.LayerNorm(config.width, dtype=config.dtype, rngs=rngs)

    def __call__(self, image: Array) -> Array:
        """An image [B, row, column, digit] to features [B, row, column, width]."""
        seen = self.column(image), self.row(image), self._within_boxes(image), self.whole(image)
        return jax.nn.relu(self.norm(jnp.concatenate(seen, axis=-1)))

    def _within_boxes(self, image: Array) -> Array:
        """Applies the kernel of boxes to each box as a separate image."""
        batch, side, _, digits = image.shape
        height, width = self.box_shape
        bands = image.reshape(batch, side // height, height, side // width, width, digits)
        boxes = bands.transpose(0, 1, 3, 2, 4, 5)  # [B, band, stack, height, width, digit]
        features = self.box(boxes.reshape(-1, height, width, digits)).reshape(*boxes.shape[:-1], -1)
        return features.transpose(0, 1, 3, 2, 4, 5).reshape(batch, side, side, -1)
