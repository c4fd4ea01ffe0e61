"""Layers and heads shared by networks, and checks of their sizes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jax.ad_checkpoint import checkpoint_name
from jax.typing import DTypeLike

from jaxsudoku.runtime.settings import Range

from .convolution import SizedConvolution

#: Dtypes of the computation; parameters are always float32.
Dtype = Literal["float32", "bfloat16"]

#: Name of small values that training stores where it computes larger ones again.
STORED = "stored"

#: Limits of sizes, larger than any trained network; a card with larger ones is refused before anything is allocated.
#: Computing the shapes of this many layers takes twenty seconds, a time that grows quadratically.
MOST_WIDTH, MOST_DEPTH, MOST_TURNS = 1 << 14, 48, 10_000
#: Numbers of features, of layers, and of repetitions of layers.
Width = Annotated[int, Range(1, MOST_WIDTH)]
Depth = Annotated[int, Range(1, MOST_DEPTH)]
Turns = Annotated[int, Range(1, MOST_TURNS)]


def check_divides(config: Any, divisor: str, *names: str) -> None:
    """Raises ValueError unless the field ``divisor`` divides the fields of these names."""
    factor = getattr(config, divisor)
    for name in names:
        if (value := getattr(config, name)) % factor:
            raise ValueError(f"{name} must be a multiple of {divisor}: {value} is not a multiple of {factor}")


def as_image(candidates: Array, dtype: DTypeLike) -> Array:
    """Candidates bool[B, side, cells] as an image [B, row, column, digit] of 0 and 1."""
    batch, side, _ = candidates.shape
    return candidates.transpose(0, 2, 1).reshape(batch, side, side, side).astype(dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def maximum(x: Array, axes: Sequence[int], keepdims: bool = False) -> Array:
    """The maximum over axes, with a gradient that goes to the first of equal elements.

    The gradient of ``x.max`` divides by the number of elements that are equal to the maximum. If a compiler computes
    ``x`` twice, with different rounding, this number can be 0, and the gradient NaN.
    """
    return x.max(axes, keepdims=keepdims)


@maximum.defjvp
def _maximum_jvp(
    axes: Sequence[int], keepdims: bool, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    (x,), (change,) = primals, tangents
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    flat = x.transpose(*kept, *axes).reshape(*(x.shape[axis] for axis in kept), -1)
    place = checkpoint_name(flat.argmax(axis=-1, keepdims=True), STORED)
    first = place == lax.broadcasted_iota(jnp.int32, flat.shape, flat.ndim - 1)
    moved = jnp.where(first, change.transpose(*kept, *axes).reshape(flat.shape), 0).sum(axis=-1)
    out = maximum(x, axes, keepdims)
    return out, moved.reshape(out.shape)


class Convolution(nnx.Module):
    """A convolution, a layer normalisation over the channels, and a ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: tuple[int, int], dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        self.kernel = SizedConvolution(inputs, outputs, kernel, dtype, rngs)
        self.norm = nnx.LayerNorm(outputs, dtype=dtype, rngs=rngs)

    def __call__(self, image: Array) -> Array:
        return jax.nn.relu(self.norm(self.kernel(image)))


def linear(
    inputs: int, outputs: int, dtype: DTypeLike, rngs: nnx.Rngs, scale: float = 1.0, use_bias: bool = True
) -> nnx.Linear:
    """A linear layer over the last axis; its initial weights are normal with variance ``scale / inputs``."""
    initial = nnx.initializers.variance_scaling(scale, "fan_in", "normal")
    return nnx.Linear(inputs, outputs, use_bias=use_bias, kernel_init=initial, dtype=dtype, rngs=rngs)


def to_logits(inputs: int, outputs: int, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Linear:
    """A linear layer over the last axis, with float32 outputs that are near zero before training."""
    initial = nnx.initializers.variance_scaling(0.01, "fan_in", "normal")
    return nnx.Linear(inputs, outputs, kernel_init=initial, dtype=dtype, preferred_element_type=jnp.float32, rngs=rngs)


class PolicyHead(nnx.Module):
    """The logits of each cell's digits from the cell's features."""

    def __init__(self, inputs: int, side: int, dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        self.out = to_logits(inputs, side, dtype, rngs)

    def __call__(self, features: Array) -> Array:
        """Features [B, *cells, inputs], with any number of axes of cells, to float32[B, side, cells]."""
        logits = self.out(features)  # [B, *cells, side]
        return logits.reshape(logits.shape[0], -1, logits.shape[-1]).transpose(0, 2, 1)


class ValueHead(nnx.Module):
    """The value logit from the mean and the maximum of each feature over the cells, by two layers."""

    def __init__(self, inputs: int, hidden: int, dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(2 * inputs, hidden, kernel_init=nnx.initializers.he_normal(), dtype=dtype, rngs=rngs)
        self.out = to_logits(hidden, 1, dtype, rngs)

    def __call__(self, features: Array) -> Array:
        """Features [B, *cells, inputs] to float32[B]."""
        cells = tuple(range(1, features.ndim - 1))
        pooled = jnp.concatenate([features.mean(cells), maximum(features, cells)], axis=-1)  # [B, 2 * inputs]
        return self.out(jax.nn.relu(self.hidden(pooled)))[:, 0]
