"""HouseResNet, a residual convolutional network in which every block has kernels of a row, a column and a box.

A kernel of the size of a house, with a stride of the same size, computes one feature vector per house. Every cell then
adds the features of its row, its column and its box to its own, so a block can do one round of elimination.
``house_cnn`` has such kernels in its first layer only, followed by 3x3 kernels.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Config

from .base import NetworkModule, Outputs
from .layers import Depth, Dtype, PolicyHead, ValueHead, Width, as_image, linear


@dataclasses.dataclass(frozen=True)
class HouseResNetConfig(Config):
    """Sizes of the network.

    Attributes:
      blocks: number of residual blocks.
      repeats: number of times that the sequence of blocks is applied, with the same weights.
      width: features of a cell.
      house: features of a house.
      hidden: width of the value head.
      dtype: dtype of the computation, float32 or bfloat16.
    """

    blocks: Depth = 10
    repeats: Depth = 1
    width: Width = 64
    house: Width = 32
    hidden: Width = 64
    dtype: Dtype = "float32"


class HouseResNet(NetworkModule):
    """The network, for boards with boxes; extra houses have no separate kernel.

    Raises:
      ValueError: a board with irregular regions, which no kernel fits.
    """

    def __init__(self, config: HouseResNetConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        if board.box is None:
            raise ValueError(f"house_resnet needs equal boxes, which {board} does not have")
        self.dtype, self.repeats = config.dtype, config.repeats
        self.stem = linear(board.side, config.width, config.dtype, rngs)  # a 1x1 convolution
        self.blocks = nnx.List(Block(config, board.side, board.box, rngs) for _ in range(config.blocks))
        self.norm = nnx.LayerNorm(config.width, dtype=config.dtype, rngs=rngs)
        self.policy = PolicyHead(config.width, board.side, config.dtype, rngs)
        self.value = ValueHead(config.width, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        x = self.stem(as_image(candidates, self.dtype))
        for block in list(self.blocks) * self.repeats:
            x = block(x)
        x = self.norm(x)
        return Outputs(self.policy(x), self.value(x))


class Block(nnx.Module):
    """A residual block: features of houses, then two 1x1 convolutions over the features of each cell and its houses.

    Rows and columns share a kernel, as boards can be transposed.
    """

    def __init__(self, config: HouseResNetConfig, side: int, box: tuple[int, int], rngs: nnx.Rngs) -> None:
        self.norm = nnx.LayerNorm(config.width, dtype=config.dtype, rngs=rngs)
        self.own = linear(config.width, config.width, config.dtype, rngs)
        self.line = HouseKernel(side, config, rngs)
        self.box = HouseKernel(side, config, rngs)
        self.out = linear(config.width, config.width, config.dtype, rngs, scale=0.1)
        self.windows = ((1, side), (side, 1), box)

    def __call__(self, x: Array) -> Array:
        """Features [B, row, column, width] to features of the same shape."""
        seen = self.norm(x)
        hidden = self.own(seen)
        for kernel, window in zip((self.line, self.line, self.box), self.windows, strict=True):
            hidden = _to_cells(hidden, kernel(windows(seen, window)), window)
        return x + self.out(jax.nn.relu(hidden))


class HouseKernel(nnx.Module):
    """A kernel of the size of a house, and a 1x1 convolution of its result, which is added to the house's cells.

    The kernel is initialized equally for all cells of the house, as most properties of a house do not depend on the
    order of its cells.
    """

    def __init__(self, side: int, config: HouseResNetConfig, rngs: nnx.Rngs) -> None:
        initial = nnx.initializers.he_normal()(rngs.params(), (config.width, config.house), jnp.float32) / side
        self.kernel = nnx.Param(jnp.tile(initial, (side, 1, 1)))
        self.back = linear(config.house, config.width, config.dtype, rngs, use_bias=False)
        self.dtype = config.dtype

    def __call__(self, houses: Array) -> Array:
        """The cells of houses [B, down, across, side * width] to a vector of each house [B, down, across, width]."""
        kernel = self.kernel[...].astype(self.dtype)
        return self.back(jax.nn.relu(houses @ kernel.reshape(-1, kernel.shape[-1])))


def windows(image: Array, window: tuple[int, int]) -> Array:
    """Cuts an image [B, row, column, features] into windows, [B, down, across, cells of a window * features]."""
    height, width = window
    batch, rows, columns, _ = image.shape
    parts = image.reshape(batch, rows // height, height, columns // width, width, -1).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(*parts.shape[:3], -1)


def _to_cells(image: Array, found: Array, window: tuple[int, int]) -> Array:
    """Adds the features of windows, [B, down, across, features], to each of their cells in the image."""
    height, width = window
    batch, down, across, features = found.shape
    parts = image.reshape(batch, down, height, across, width, features)
    return (parts + found[:, :, None, :, None]).reshape(image.shape)
