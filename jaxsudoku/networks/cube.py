"""CubeNet: one feature vector a candidate, with the symmetries of the game built in.

Sudoku is an exact cover: every candidate (digit, row, column) lies in a cell, a row, a column and a region, and of each
of these groups exactly one candidate is true. In every iteration each candidate sends a message, each group sums the
messages of its members and answers by a small perceptron, and each candidate updates its vector by the answers. A
candidate also receives its shares in each group: softmaxes of learned scores over the members.

Weights are shared over digits, over the groups of a kind (cells; lines; regions and extra houses) and over the
iterations. So the policy is exactly equivariant under relabelling and under the board's geometry, the value invariant,
and one set of weights serves every board, of any side and variant, and any number of iterations.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.config import Config, Natural, Positive
from jaxsudoku.planes import fence
from jaxsudoku.propagation import houses_of_cells

from .base import NetworkModule, Outputs
from .layers import Dtype, linear, maximum

#: Bound on the scores of shares, so that their exponentials stay finite.
_SCORES = 8.0

#: Scale of sums over a group: they start at about the size of a message.
_SUMMED = 1 / 3


@dataclasses.dataclass(frozen=True)
class CubeConfig(Config):
    """Sizes of a CubeNet.

    Attributes:
      width: features of a candidate.
      hidden: features of a message and of an answer.
      house: hidden features of the perceptron by which a group answers.
      shares: learned scores by which candidates compete in their groups; 0 for none.
      maximum: whether groups also take the maximum of the messages.
      iterations: number of iterations; may differ from what the weights were trained with.
      dtype: dtype of the computation, float32 or bfloat16; parameters and the carry are float32.
    """

    width: Positive = 48
    hidden: Positive = 32
    house: Positive = 64
    shares: Natural = 4
    maximum: bool = False
    iterations: Positive = 64
    dtype: Dtype = "float32"


class CubeNet(NetworkModule):
    """The network. Its carry is the features of the candidates, float32[*cube, B, width].

    ``*cube`` stands for five axes: digit, row and column, the latter two cut into boxes if the board has boxes.
    """

    def __init__(self, config: CubeConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.config, self.board = config, board
        width, hidden = config.width, config.hidden
        inner = functools.partial(linear, dtype=config.dtype, rngs=rngs)
        outer = functools.partial(linear, dtype=jnp.float32, rngs=rngs)
        self.embed = outer(2, width, scale=2.0, use_bias=False)
        self.norm, self.final_norm = RMSNorm(width), RMSNorm(width)
        self.send = inner(width, hidden, scale=2.0, use_bias=False)
        self.inject = inner(2, hidden, use_bias=False)
        self.bias = nnx.Param(jnp.zeros(hidden, jnp.float32))  # of the sum of the two
        self.keep = inner(hidden, hidden)
        if config.shares:
            self.score = inner(width, config.shares, scale=0.5, use_bias=False)
        self.kinds = nnx.List(GroupKind(config, rngs) for _ in range(_KINDS))
        self.update = inner(hidden, width, scale=0.2, use_bias=False)
        self.policy = outer(width, 1, use_bias=False)
        self.value_hidden = outer(2 * width, width, scale=2.0)
        self.value = outer(width, 1, use_bias=False)

    def __call__(self, candidates: Array) -> Outputs:
        """The outputs after all iterations."""
        carry = self.initialize_carry(candidates)
        return self.readout(candidates, self.iterate(candidates, carry, self.config.iterations))

    def unroll(self, candidates: Array, carry: Array) -> tuple[Outputs, Array]:
        """The outputs after each iteration, and the carry; gradients keep one vector a candidate and iteration."""
        seen = self._seen(candidates)
        step = jax.checkpoint(self._step)

        def body(features: Array, _: None) -> tuple[Array, Outputs]:
            features = step(features, seen)
            return features, self._outputs(features, seen)

        features = self.embed(seen)
        features += lax.stop_gradient(carry - features)  # the carry, with the gradient of the embedding
        features, outputs = lax.scan(body, features, None, length=self.config.iterations)
        return outputs, features

    def initialize_carry(self, candidates: Array) -> Array:
        """The features before the first iteration: float32[*cube, B, width]."""
        return self.embed(self._seen(candidates))

    def iterate(self, candidates: Array, carry: Array, iterations: int) -> Array:
        """The features after further iterations."""
        seen = self._seen(candidates)
        features: Array = lax.fori_loop(0, iterations, lambda _, features: self._step(features, seen), carry)
        return features

    def readout(self, candidates: Array, carry: Array) -> Outputs:
        """The outputs for these features."""
        return self._outputs(carry, self._seen(candidates))

    def _seen(self, candidates: Array) -> Array:
        """Two bits a candidate: whether it is present, and whether it is its cell's only one; float32[*cube, B, 2]."""
        present = candidates.transpose(1, 2, 0)  # [side, cells, B]
        single = present & (present.sum(axis=0) == 1)
        return jnp.stack([present, single], axis=-1).astype(jnp.float32).reshape(*_cube(self.board), -1, 2)

    def _step(self, features: Array, seen: Array) -> Array:
        """The features after one more iteration."""
        dtype = jnp.dtype(self.config.dtype)
        present = seen[..., :1].astype(dtype)  # [*cube, B, 1]
        normed = fence(self.norm(features).astype(dtype))
        message = jax.nn.relu(self.send(normed) + self.inject(seen) + self.bias[...].astype(dtype))
        message = fence(message * present)  # [*cube, B, hidden]
        if self.config.shares:
            score = jnp.clip(self.score(normed), -_SCORES, _SCORES)
            score = fence(jnp.exp(score) * present)  # [*cube, B, shares]
        received = self.keep(message)
        for number, groups in _families(self.board):
            kind = self.kinds[number]
            received += kind.answers(groups, message)
            if self.config.shares:
                received += kind.shares(groups, score)
        change = self.update(fence(jax.nn.relu(received)))
        return features + change.astype(jnp.float32)

    def _outputs(self, features: Array, seen: Array) -> Outputs:
        present = seen[..., :1]
        normed = self.final_norm(features) * present
        policy = self.policy(normed).reshape(self.board.side, self.board.cells, -1)  # [side, cells, B]
        cube = tuple(range(normed.ndim - 2))
        mean = normed.sum(cube) / present.sum(cube)  # [B, width]
        pooled = jnp.concatenate([mean, maximum(normed, cube)], axis=-1)  # [B, 2 * width]
        value = self.value(jax.nn.relu(self.value_hidden(pooled)))  # [B, 1]
        return Outputs(policy.transpose(2, 0, 1), value[:, 0])


class RMSNorm(nnx.Module):
    """Features of root mean square 1, times learned scales: ``nnx.RMSNorm`` but for the order of the two products.

    In 64 iterations a different rounding grows until it shows in the outputs of trained weights.
    """

    def __init__(self, width: int) -> None:
        self.scale = nnx.Param(jnp.ones(width, jnp.float32))

    def __call__(self, x: Array) -> Array:
        return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * self.scale[...]


# ---------------------------------------------------------------------- groups

#: Kinds of groups that have weights of their own: cells; rows and columns; regions and extra houses.
_CELL, _LINE, _REGION = range(3)
_KINDS = 3


class Groups(NamedTuple):
    """A family of groups of candidates, as functions on features [*cube, B, n].

    Attributes:
      sum: the sums over the members of each group.
      max: the maxima over the members, of features that are at least 0.
      spread: the features of groups at each of their members; the sum, where a candidate lies in several groups.
    """

    sum: Callable[[Array], Array]
    max: Callable[[Array], Array]
    spread: Callable[[Array], Array]


class GroupKind(nnx.Module):
    """What candidates receive from the groups of one kind: answers to their messages, and their shares."""

    def __init__(self, config: CubeConfig, rngs: nnx.Rngs) -> None:
        layer = functools.partial(linear, dtype=config.dtype, rngs=rngs)
        self.maximum = config.maximum
        self.to_hidden = layer(config.hidden * (1 + config.maximum), config.house, scale=2.0)
        self.from_hidden = layer(config.house, config.hidden, scale=0.5, use_bias=False)
        if config.shares:
            self.from_shares = layer(config.shares, config.hidden, use_bias=False)

    def answers(self, groups: Groups, message: Array) -> Array:
        """The answers of groups to messages [*cube, B, hidden], which a perceptron makes of their sum."""
        pooled = groups.sum(message) * jnp.asarray(_SUMMED, message.dtype)
        if self.maximum:
            pooled = jnp.concatenate([pooled, groups.max(message)], axis=-1)
        hidden = jax.nn.relu(self.to_hidden(fence(pooled)))
        return groups.spread(fence(self.from_hidden(hidden)))

    def shares(self, groups: Groups, score: Array) -> Array:
        """What scores [*cube, B, shares] amount to within their groups: [*cube, B, hidden]."""
        share = score * groups.spread(fence(1 / (groups.sum(score) + jnp.asarray(1e-3, score.dtype))))
        return self.from_shares(fence(share))


def _families(board: Board) -> list[tuple[int, Groups]]:
    """The families of groups of a board, each with its kind."""
    families = [(_CELL, _along((0,))), (_LINE, _along((3, 4))), (_LINE, _along((1, 2)))]
    if board.box is not None:
        families.append((_REGION, _along((2, 4))))
    if board.irregular_houses:
        families.append((_REGION, _indexed(board)))
    return families


def _cube(board: Board) -> tuple[int, int, int, int, int]:
    """The shape of a cube: digits, rows cut into boxes, columns cut into boxes; uncut on boards without boxes."""
    height, width = board.box or (1, 1)
    return board.side, board.side // height, height, board.side // width, width


def _along(axes: Sequence[int]) -> Groups:
    """The groups whose members differ along these axes of the cube only."""
    return Groups(
        sum=lambda x: x.sum(axes, keepdims=True),
        max=lambda x: maximum(x, tuple(axes), True),
        spread=lambda x: x,  # by broadcasting
    )


def _indexed(board: Board) -> Groups:
    """The irregular houses, each for every digit, by index tables."""
    members = np.asarray(board.irregular_houses)
    houses = houses_of_cells(board)

    def gathered(x: Array) -> Array:
        cells = x.reshape(board.side, board.cells, *x.shape[-2:])
        return cells[:, members]  # [side, houses, side, B, n]

    def spread(x: Array) -> Array:
        padded = jnp.pad(x, ((0, 0), (0, 1), (0, 0), (0, 0)))  # index -1 stands for no house, whose features are 0
        return padded[:, houses].sum(axis=2).reshape(*_cube(board), *x.shape[-2:])

    return Groups(sum=lambda x: gathered(x).sum(axis=2), max=lambda x: maximum(gathered(x), (2,)), spread=spread)
