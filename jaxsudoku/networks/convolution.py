"""Size-preserving convolutions, with an implementation for each platform.

XLA's CPU compiler runs a convolution inside a loop, as in training and in every solver, about ten times slower than
outside; gradients are affected most. So on a CPU convolutions are computed as matrix products: 3x3 kernels by
Winograd's algorithm, in float32 and for more than a few boards; others as a product of the kernel and the pixels under
it (im2col; Chellapilla et al. 2006). Other platforms use XLA's convolutions, which are fast there.
"""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jax.typing import DTypeLike

from .winograd import convolve_3x3

#: Padding before and after the rows, and before and after the columns.
Frame = tuple[tuple[int, int], ...]

#: Minimum number of pixels in a batch for which Winograd's form is faster, as it also transforms the kernel.
_FEWEST_PIXELS = 512


class SizedConvolution(nnx.Module):
    """A size-preserving convolution, without a bias, as a normalisation with a bias follows.

    Args:
      inputs: channels of the image.
      outputs: channels of the result.
      shape: rows and columns of the kernel.
      dtype: dtype of the computation.
      rngs: the source of the initial weights (He et al. 2015).
      wraps: whether the padding is circular; else it is zeros.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        shape: tuple[int, int],
        dtype: DTypeLike,
        rngs: nnx.Rngs,
        wraps: bool = False,
    ) -> None:
        initial = nnx.initializers.he_normal()
        self.kernel = nnx.Param(initial(rngs.params(), (*shape, inputs, outputs), jnp.float32))
        self.dtype, self.wraps = dtype, wraps

    def __call__(self, image: Array) -> Array:
        """An image [B, row, column, inputs] to [B, row, column, outputs]."""
        return convolve(image.astype(self.dtype), self.kernel[...].astype(self.dtype), self.wraps)


def convolve(image: Array, kernel: Array, wraps: bool = False) -> Array:
    """Size-preserving convolution of an image.

    Args:
      image: [B, row, column, channel].
      kernel: [row, column, channel, output], of the same dtype; its middle, rounded down, is over the pixel.
      wraps: whether the padding is circular; else it is zeros.

    Returns:
      [B, row, column, output].
    """
    height, width, inputs, outputs = kernel.shape
    if height == width == 1:
        return image @ kernel.reshape(inputs, outputs)
    frame = tuple(((size - 1) // 2, size // 2) for size in (height, width))
    if wraps:
        image, frame = jnp.pad(image, [(0, 0), *frame, (0, 0)], mode="wrap"), ((0, 0), (0, 0))
    # bfloat16 is too coarse for the transforms of tiles
    tiled = height == width == 3 and kernel.dtype == jnp.float32 and math.prod(image.shape[:3]) >= _FEWEST_PIXELS
    forms = (as_tiles if tiled else as_product, as_convolution)
    on_cpu, elsewhere = (functools.partial(form, frame=frame) for form in forms)
    return lax.platform_dependent(image, kernel, cpu=on_cpu, default=elsewhere)


def as_product(image: Array, kernel: Array, frame: Frame) -> Array:
    """A convolution as a matrix product (im2col).

    Args:
      image: [B, row, column, channel].
      kernel: [row, column, channel, output].
      frame: zero padding before and after the rows, and before and after the columns.

    Returns:
      [B, row, column, output]: the padded image without (kernel size - 1) rows and columns.
    """
    height, width, inputs, outputs = kernel.shape
    framed = jnp.pad(image, [(0, 0), *frame, (0, 0)])
    rows, columns = framed.shape[1] - height + 1, framed.shape[2] - width + 1
    # the columns first: height + width slices take less time to compile than height * width
    beside = jnp.concatenate([framed[:, :, start : start + columns] for start in range(width)], axis=-1)
    under = jnp.concatenate([beside[:, start : start + rows] for start in range(height)], axis=-1)
    return under @ kernel.reshape(height * width * inputs, outputs)


def as_tiles(image: Array, kernel: Array, frame: Frame) -> Array:
    """``as_product`` for a 3x3 kernel in float32, by Winograd's algorithm."""
    return convolve_3x3(jnp.pad(image, [(0, 0), *frame, (0, 0)]), kernel)


def as_convolution(image: Array, kernel: Array, frame: Frame) -> Array:
    """``as_product`` by XLA's convolution."""
    return lax.conv_general_dilated(image, kernel, (1, 1), frame, dimension_numbers=("NHWC", "HWIO", "NHWC"))
