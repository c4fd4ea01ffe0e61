"""SeResNet, a residual network of 3x3 convolutions with squeeze and excitation.

Blocks as in Hu et al. 2018, "Squeeze-and-Excitation Networks", with a shift besides the gate. A learned vector for each
cell encodes its position, and so its houses.
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
from .convolution import SizedConvolution
from .layers import Depth, Dtype, PolicyHead, ValueHead, Width, as_image, check_divides


@dataclasses.dataclass(frozen=True)
class SeResNetConfig(Config):
    """Sizes of the network.

    Attributes:
      blocks: residual blocks, of two convolutions each.
      width: channels of the blocks.
      reduction: factor by which squeezing narrows the channels; divides ``width``.
      head: channels of the policy head's convolution, and width of the value head.
      groups: number of groups of channels in group normalisation; divides ``width`` and ``head``.
      dtype: dtype of the computation, float32 or bfloat16.
    """

    blocks: Depth = 10
    width: Width = 128
    reduction: Width = 2
    head: Width = 256
    groups: Width = 8
    dtype: Dtype = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_divides(self, "reduction", "width")
        check_divides(self, "groups", "width", "head")


class SeResNet(NetworkModule):
    """The network, for any board."""

    def __init__(self, config: SeResNetConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.dtype = config.dtype
        self.stem = NormedConvolution(board.side, config.width, config, rngs)
        places = nnx.initializers.normal(0.1)(rngs.params(), (board.side, board.side, config.width), jnp.float32)
        self.places = nnx.Param(places)
        self.blocks = nnx.List(Block(config, rngs) for _ in range(config.blocks))
        self.to_policy = NormedConvolution(config.width, config.head, config, rngs)
        self.policy = PolicyHead(config.head, board.side, config.dtype, rngs)
        self.value = ValueHead(config.width, config.head, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        x = self.stem(as_image(candidates, self.dtype)) + self.places[...].astype(self.dtype)
        x = jax.nn.relu(x)
        for block in self.blocks:
            x = block(x)
        return Outputs(self.policy(jax.nn.relu(self.to_policy(x))), self.value(x))


class Block(nnx.Module):
    """A residual block: two convolutions, then a gate and a shift that depend on the whole board."""

    def __init__(self, config: SeResNetConfig, rngs: nnx.Rngs) -> None:
        self.first = NormedConvolution(config.width, config.width, config, rngs)
        self.second = NormedConvolution(config.width, config.width, config, rngs, scale=0.0)
        self.excitation = Excitation(config, rngs)

    def __call__(self, x: Array) -> Array:
        return jax.nn.relu(x + self.excitation(self.second(jax.nn.relu(self.first(x)))))


class Excitation(nnx.Module):
    """Squeeze and excitation: a gate and a shift of each channel, from the means of all channels over the board."""

    def __init__(self, config: SeResNetConfig, rngs: nnx.Rngs) -> None:
        squeezed = config.width // config.reduction
        self.squeeze = nnx.Linear(config.width, squeezed, dtype=config.dtype, rngs=rngs)
        self.excite = nnx.Linear(squeezed, 2 * config.width, dtype=config.dtype, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """Features [B, row, column, width]."""
        squeezed = jax.nn.relu(self.squeeze(x.mean((1, 2), keepdims=True)))
        gate, shift = jnp.split(self.excite(squeezed), 2, axis=-1)
        return x * jax.nn.sigmoid(gate) + shift


class NormedConvolution(nnx.Module):
    """A 3x3 convolution and a group normalisation."""

    def __init__(self, inputs: int, outputs: int, config: SeResNetConfig, rngs: nnx.Rngs, scale: float = 1.0) -> None:
        self.convolution = SizedConvolution(inputs, outputs, (3, 3), config.dtype, rngs)
        self.norm = nnx.GroupNorm(
            outputs, config.groups, scale_init=nnx.initializers.constant(scale), dtype=config.dtype, rngs=rngs
        )

    def __call__(self, x: Array) -> Array:
        normed: Array = self.norm(self.convolution(x))
        return normed
