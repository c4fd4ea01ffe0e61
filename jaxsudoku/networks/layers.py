"""What the networks of layers share: the board as an image, convolutions, the two heads, checks of their sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.typing import DTypeLike

from jaxsudoku.config import check_types, whole_number

#: What networks may compute in; parameters are float32 in any case.
DTYPES = ("float32", "bfloat16")


def check_sizes(config: Any, optional: Sequence[str] = ()) -> None:
    """Raises ValueError unless fields are of their types, ``dtype`` names one of ``DTYPES``, and numbers are positive.

    Args:
      config: the config.
      optional: fields that may be 0.
    """
    check_types(config)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name == "dtype":
            if value not in DTYPES:
                raise ValueError(f"unknown dtype {value!r}: choose {' or '.join(DTYPES)}")
        elif type(value) is int:
            whole_number(field.name, value, 0 if field.name in optional else 1)


def check_divides(config: Any, divisor: str, *names: str) -> None:
    """Raises ValueError unless the field ``divisor`` divides the fields of these names."""
    for name in names:
        if getattr(config, name) % getattr(config, divisor):
            raise ValueError(
                f"{name} must be a multiple of {divisor}: {getattr(config, name)} is none of {getattr(config, divisor)}"
            )


def as_image(candidates: Array, dtype: DTypeLike) -> Array:
    """Candidates bool[B, side, cells] as an image [B, row, column, digit] of zeros and ones."""
    batch, side, _ = candidates.shape
    return candidates.transpose(0, 2, 1).reshape(batch, side, side, side).astype(dtype)


def convolution(
    inputs: int,
    outputs: int,
    kernel: tuple[int, int],
    dtype: DTypeLike,
    rngs: nnx.Rngs,
    padding: str = "SAME",
) -> nnx.Conv:
    """A convolution that keeps the image's size, without a bias: a normalisation follows, which has one."""
    initial = nnx.initializers.he_normal()
    return nnx.Conv(
        inputs, outputs, kernel, padding=padding, use_bias=False, kernel_init=initial, dtype=dtype, rngs=rngs
    )


class Convolution(nnx.Module):
    """A convolution, the normalisation of each cell's channels, and a rectifier."""

    def __init__(self, inputs: int, outputs: int, kernel: tuple[int, int], dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        self.kernel = convolution(inputs, outputs, kernel, dtype, rngs)
        self.norm = nnx.LayerNorm(outputs, dtype=dtype, rngs=rngs)

    def __call__(self, image: Array) -> Array:
        return jax.nn.relu(self.norm(self.kernel(image)))


def linear(
    inputs: int, outputs: int, dtype: DTypeLike, rngs: nnx.Rngs, scale: float = 1.0, use_bias: bool = True
) -> nnx.Linear:
    """A linear layer over the last axis; its weights are normal with variance ``scale / inputs`` before training."""
    initial = nnx.initializers.variance_scaling(scale, "fan_in", "normal")
    return nnx.Linear(inputs, outputs, use_bias=use_bias, kernel_init=initial, dtype=dtype, rngs=rngs)


def to_logits(inputs: int, outputs: int, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Linear:
    """A linear layer over the last axis whose outputs are float32, and near zero before training."""
    initial = nnx.initializers.variance_scaling(0.01, "fan_in", "normal")
    return nnx.Linear(inputs, outputs, kernel_init=initial, dtype=dtype, preferred_element_type=jnp.float32, rngs=rngs)


class PolicyHead(nnx.Module):
    """The features of each cell to logits of its digits."""

    def __init__(self, inputs: int, side: int, dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        self.out = to_logits(inputs, side, dtype, rngs)

    def __call__(self, features: Array) -> Array:
        """Features [B, *cells, inputs], the cells on any number of axes, to float32[B, side, cells]."""
        logits = self.out(features)
        return logits.reshape(logits.shape[0], -1, logits.shape[-1]).transpose(0, 2, 1)


class ValueHead(nnx.Module):
    """The mean and the largest of each feature over all cells, then two layers to one logit."""

    def __init__(self, inputs: int, hidden: int, dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(2 * inputs, hidden, kernel_init=nnx.initializers.he_normal(), dtype=dtype, rngs=rngs)
        self.out = to_logits(hidden, 1, dtype, rngs)

    def __call__(self, features: Array) -> Array:
        """Features [B, *cells, inputs] to float32[B]."""
        cells: Sequence[int] = range(1, features.ndim - 1)
        pooled = jnp.concatenate([features.mean(cells), features.max(cells)], axis=-1)
        return self.out(jax.nn.relu(self.hidden(pooled)))[:, 0]
