"""3x3 convolutions by Winograd's minimal filtering, for a CPU.

A tile of 3x3 results takes 25 multiplications per pair of channels; the plain sum takes 81 (Winograd 1980;
Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks"). The tile's 5x5 pixels and the kernel are
transformed, multiplied place by place, and transformed back: ``A ((G kernel G') * (B pixels B')) A'``. The
multiplications of all tiles are 25 products of matrices. A board of 9x9 is nine tiles.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

#: Side of a tile, in results and in the pixels that they need.
_TILE, _SEEN = 3, 5

#: The transforms of a row of pixels (B) and of the kernel (G), and the inverse one (A): multiplication of polynomials
#: by their values at 0, 1, -1, 2 and infinity.
_PIXELS = np.array([[2, -1, -2, 1, 0], [0, -2, -1, 1, 0], [0, 2, -3, 1, 0], [0, -1, 0, 1, 0], [0, 2, -1, -2, 1]])
_KERNEL = np.array([[3, 0, 0], [-3, -3, -3], [-1, 1, -1], [1, 2, 4], [0, 0, 6]]) / 6
_BACK = np.array([[1, 1, 1, 1, 0], [0, 1, -1, 2, 0], [0, 1, 1, 4, 1]])


def convolve_3x3(framed: Array, kernel: Array) -> Array:
    """A convolution in float32; the result differs from the plain sum by rounding.

    Args:
      framed: [B, rows + 2, columns + 2, channel], the image with a frame of one pixel.
      kernel: [3, 3, channel, output].

    Returns:
      [B, rows, columns, output].
    """
    rows, columns = framed.shape[1] - 2, framed.shape[2] - 2
    down, along = -(-rows // _TILE), -(-columns // _TILE)
    # whole tiles
    image = jnp.pad(framed, [(0, 0), (0, down * _TILE - rows), (0, along * _TILE - columns), (0, 0)])
    bands = jnp.stack([image[:, _TILE * tile :][:, :_SEEN] for tile in range(down)], axis=1)
    tiles = jnp.stack([bands[:, :, :, _TILE * tile :][:, :, :, :_SEEN] for tile in range(along)], axis=2)
    # [place, tile, channel] and [place, channel, output], of the 25 places
    seen = jnp.einsum("pk,nkc->pnc", _twice(_PIXELS, image), tiles.reshape(-1, _SEEN**2, image.shape[-1]))
    weights = jnp.einsum("pk,kco->pco", _twice(_KERNEL, kernel), kernel.reshape(9, *kernel.shape[2:]))
    products = jnp.einsum("pnc,pco->pno", seen, weights)
    results = jnp.einsum("kp,pno->nko", _twice(_BACK, image), products)
    results = results.reshape(-1, down, along, _TILE, _TILE, kernel.shape[-1]).swapaxes(2, 3)
    return results.reshape(-1, down * _TILE, along * _TILE, kernel.shape[-1])[:, :rows, :columns]


def _twice(transform: np.ndarray, like: Array) -> Array:
    """Applies a transform of rows to the rows and to the columns of a square, which is stored along one axis."""
    return jnp.asarray(np.kron(transform, transform), like.dtype)
