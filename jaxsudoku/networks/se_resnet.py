"""A squeeze-and-excitation residual network: 3x3 convolutions in residual blocks, each steered by the whole board.

Blocks as in Hu et al. 2018, "Squeeze-and-Excitation Networks", with a shift beside the gate. The network consists of
convolutions alone; where a cell lies, and so which houses it is in, it knows from a learned vector a cell.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku.board import Board

from .base import NetworkModule, Outputs
from .layers import PolicyHead, ValueHead, as_image, check_divides, check_sizes, convolution


@dataclasses.dataclass(frozen=True)
class SeResNetConfig:
    """Sizes of the network.

    Attributes:
      blocks: residual blocks, of two convolutions each.
      width: channels of the blocks.
      reduction: how many times narrower the board is squeezed; divides ``width``.
      head: channels of the policy head's convolution, and width of the value head.
      groups: groups of channels that are normalised together; divides ``width`` and ``head``.
      dtype: what it computes in, float32 or bfloat16.
    """

    blocks: int = 10
    width: int = 128
    reduction: int = 2
    head: int = 256
    groups: int = 8
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_sizes(self)
        check_divides(self, "reduction", "width")
        check_divides(self, "groups", "width", "head")


class SeResNet(NetworkModule):
    """A convolution, residual blocks, and two heads; for any board, whose houses it learns cell by cell."""

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
    """Two convolutions, gated and shifted by what the board looks like as a whole, added to what came in."""

    def __init__(self, config: SeResNetConfig, rngs: nnx.Rngs) -> None:
        self.first = NormedConvolution(config.width, config.width, config, rngs)
        self.second = NormedConvolution(config.width, config.width, config, rngs, scale=0.0)
        self.excitation = Excitation(config, rngs)

    def __call__(self, x: Array) -> Array:
        return jax.nn.relu(x + self.excitation(self.second(jax.nn.relu(self.first(x)))))


class Excitation(nnx.Module):
    """The mean of each channel over the board, squeezed, to a gate and a shift of each channel."""

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
    """A 3x3 convolution and the normalisation of its channels in groups."""

    def __init__(self, inputs: int, outputs: int, config: SeResNetConfig, rngs: nnx.Rngs, scale: float = 1.0) -> None:
        self.convolution = convolution(inputs, outputs, (3, 3), config.dtype, rngs)
        self.norm = nnx.GroupNorm(
            outputs, config.groups, scale_init=nnx.initializers.constant(scale), dtype=config.dtype, rngs=rngs
        )

    def __call__(self, x: Array) -> Array:
        return self.norm(self.convolution(x))
