"""A convolutional network whose first layer looks along the houses: columns, rows, boxes and the whole board.

The four kernels of the first layer are as large as a house, or as the board, and wrap around within it: whichever cell
is at the centre, each sees all members of its house once.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku.board import Board

from .base import NetworkModule, Outputs
from .layers import Convolution, PolicyHead, ValueHead, as_image, check_sizes, convolution

#: Kernels side by side in the first layer.
KERNELS = 4


@dataclasses.dataclass(frozen=True)
class HouseCnnConfig:
    """Sizes of the network.

    Attributes:
      layers: convolutions in all, at least 3: the one along houses, 3x3 ones, and a last 1x1 one to the policy.
      width: channels of every layer; a quarter of them from each kernel of the first one, so a multiple of 4.
      hidden: width of the value head.
      dtype: what it computes in, float32 or bfloat16.
    """

    layers: int = 8
    width: int = 128
    hidden: int = 64
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.layers < 3:
            raise ValueError(
                f"layers must be at least 3 (along houses, with the skip, to the policy), not {self.layers}"
            )
        if self.width % KERNELS:
            raise ValueError(f"width must be a multiple of {KERNELS}, the kernels side by side, not {self.width}")


class HouseCnn(NetworkModule):
    """A layer along houses, 3x3 convolutions, the last of them with the input beside it, and 1x1 to the policy.

    Raises:
      ValueError: a board with irregular regions, along which no kernel fits. Extra houses have no kernel of their own:
        what they demand has to be learned by the other layers.
    """

    def __init__(self, config: HouseCnnConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        if board.box is None:
            raise ValueError(f"house_cnn needs equal boxes, which a board of {board} has not")
        self.dtype = config.dtype
        layer = functools.partial(Convolution, outputs=config.width, kernel=(3, 3), dtype=config.dtype, rngs=rngs)
        self.along_houses = AlongHouses(config, board.side, board.box, rngs)
        self.between = nnx.List(layer(config.width) for _ in range(config.layers - 3))
        self.with_input = layer(config.width + board.side)
        self.policy = PolicyHead(config.width, board.side, config.dtype, rngs)  # which is a 1x1 convolution
        self.value = ValueHead(config.width, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        image = as_image(candidates, self.dtype)
        x = self.along_houses(image)
        for layer in self.between:
            x = layer(x)
        x = self.with_input(jnp.concatenate([x, image], axis=-1))
        return Outputs(self.policy(x), self.value(x))


class AlongHouses(nnx.Module):
    """Kernels of n x 1, 1 x n, a box and n x n, side by side, each of which wraps around within its house."""

    def __init__(self, config: HouseCnnConfig, side: int, box: tuple[int, int], rngs: nnx.Rngs) -> None:
        def kernel(shape: tuple[int, int]) -> nnx.Conv:
            return convolution(side, config.width // KERNELS, shape, config.dtype, rngs, padding="CIRCULAR")

        self.column, self.row, self.box = kernel((side, 1)), kernel((1, side)), kernel(box)
        self.whole = kernel((side, side))
        self.box_shape = box
        self.norm = nnx.LayerNorm(config.width, dtype=config.dtype, rngs=rngs)

    def __call__(self, image: Array) -> Array:
        """An image [B, row, column, digit] to features [B, row, column, width]."""
        seen = self.column(image), self.row(image), self._within_boxes(image), self.whole(image)
        return jax.nn.relu(self.norm(jnp.concatenate(seen, axis=-1)))

    def _within_boxes(self, image: Array) -> Array:
        """The box's kernel on each box as an image of its own."""
        batch, side, _, digits = image.shape
        height, width = self.box_shape
        bands = image.reshape(batch, side // height, height, side // width, width, digits)
        boxes = bands.transpose(0, 1, 3, 2, 4, 5)
        features = self.box(boxes.reshape(-1, height, width, digits)).reshape(*boxes.shape[:-1], -1)
        return features.transpose(0, 1, 3, 2, 4, 5).reshape(batch, side, side, -1)
