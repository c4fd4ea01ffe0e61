"""CubeNet: one feature vector a candidate, with the symmetries of the game built in.

Sudoku is an exact cover: every candidate (digit, row, column) lies in a cell, a row, a column and a region, and of each
of these exactly one candidate is true. In every iteration each candidate sends a message, each of these groups adds up
the messages of its members and answers through a small perceptron, and each candidate updates its vector by the
answers. Beside the sums, a candidate learns its share in each group: a softmax of learned scores over the members.

Weights are shared over digits, over the groups of a kind (cells; lines; regions and further houses) and over the
iterations. So the policy is exactly equivariant under relabelling and under the board's geometry, the value invariant,
and one set of weights serves every board, of any side and variant, and any number of iterations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.planes import fence
from jaxsudoku.propagation import houses_of_cells

from .base import NetworkModule, Outputs
from .layers import check_sizes

#: Scores of shares are kept within these bounds, so that their exponentials are.
_SCORES = 8.0

#: Scale of sums over a group, for them to begin at about the size of what they sum.
_SUMMED = 1 / 3


@dataclasses.dataclass(frozen=True)
class CubeConfig:
    """Sizes of a CubeNet.

    Attributes:
      width: features of a candidate.
      hidden: features of a message and of an answer.
      house: hidden features of the perceptron by which a group answers.
      shares: learned scores by which candidates compete in their groups; 0 for none.
      maximum: whether groups know the largest messages beside their sum.
      iterations: how often; may differ from what the weights were trained with.
      dtype: of the computation, float32 or bfloat16; parameters and what is kept between iterations are float32.
    """

    width: int = 48
    hidden: int = 32
    house: int = 64
    shares: int = 4
    maximum: bool = False
    iterations: int = 64
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_sizes(self, optional=("shares",))


class CubeNet(NetworkModule):
    """The network; its arrays are side x rows x columns (cut into boxes, if any) x batch x features inside."""

    def __init__(self, config: CubeConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.config, self.board = config, board
        width, hidden, house = config.width, config.hidden, config.house
        pooled = hidden * (1 + config.maximum)

        def weights(*shape: int, scale: float = 1.0) -> nnx.Param[Array]:
            deviation = (scale / shape[-2]) ** 0.5
            return nnx.Param(deviation * jax.random.normal(rngs.params(), shape, jnp.float32))

        self.embed = weights(2, width, scale=2.0)
        self.scale = nnx.Param(jnp.ones(width, jnp.float32))
        self.send = weights(width, hidden, scale=2.0)
        self.send_bias = nnx.Param(jnp.zeros(hidden, jnp.float32))
        self.inject = weights(2, hidden)
        self.keep = weights(hidden, hidden)
        self.keep_bias = nnx.Param(jnp.zeros(hidden, jnp.float32))
        self.listen = weights(_KINDS, pooled, house, scale=2.0)
        self.listen_bias = nnx.Param(jnp.zeros((_KINDS, house), jnp.float32))
        self.answer = weights(_KINDS, house, hidden, scale=0.5)
        if config.shares:
            self.score = weights(width, config.shares, scale=0.5)
            self.compete = weights(_KINDS, config.shares, hidden)
        self.update = weights(hidden, width, scale=0.2)
        self.final_scale = nnx.Param(jnp.ones(width, jnp.float32))
        self.policy = weights(width, 1)
        self.value_in = weights(2 * width, width, scale=2.0)
        self.value_bias = nnx.Param(jnp.zeros(width, jnp.float32))
        self.value_out = weights(width, 1)

    def __call__(self, candidates: Array) -> Outputs:
        """The outputs after all iterations."""
        return self.conclude(candidates, self.advance(candidates, self.start(candidates), self.config.iterations))

    def trace(self, candidates: Array, carried: Array) -> tuple[Outputs, Array]:
        """The outputs after each iteration, and the features; gradients keep one vector a candidate and iteration."""
        seen = self._seen(candidates)
        step = jax.checkpoint(self._next)

        def body(features: Array, _: None) -> tuple[Array, Outputs]:
            features = step(features, seen)
            return features, self._outputs(features, seen)

        features = seen @ self.embed[...]
        features += lax.stop_gradient(carried - features)  # the gradient goes by what was added to them on the way
        features, outputs = lax.scan(body, features, None, length=self.config.iterations)
        return outputs, features

    def start(self, candidates: Array) -> Array:
        """The features before the first iteration: float32[side, rows and columns cut into boxes, B, width]."""
        return self._seen(candidates) @ self.embed[...]

    def advance(self, candidates: Array, carried: Array, iterations: int) -> Array:
        """The features after so many more iterations."""
        seen = self._seen(candidates)
        return lax.fori_loop(0, iterations, lambda _, features: self._next(features, seen), carried)

    def conclude(self, candidates: Array, carried: Array) -> Outputs:
        """The outputs at these features."""
        return self._outputs(carried, self._seen(candidates))

    def _seen(self, candidates: Array) -> Array:
        """What is there: whether a candidate is, and whether it is the last one of its cell; float32[..., B, 2]."""
        present = candidates.transpose(1, 2, 0)
        last = present & (present.sum(axis=0) == 1)
        height, width = self.board.box or (1, 1)
        side = self.board.side
        shape = (side, side // height, height, side // width, width, candidates.shape[0], 2)
        return jnp.stack([present, last], axis=-1).astype(jnp.float32).reshape(shape)

    def _next(self, features: Array, seen: Array) -> Array:
        """The features after one more iteration."""
        dtype = jnp.dtype(self.config.dtype)
        there = seen[..., :1].astype(dtype)

        def times(x: Array, weights: Array) -> Array:
            return x @ weights.astype(dtype)

        normed = fence((_normalised(features) * self.scale[...]).astype(dtype))
        bias = self.send_bias[...].astype(dtype)
        message = jax.nn.relu(times(normed, self.send[...]) + times(seen.astype(dtype), self.inject[...]) + bias)
        message = fence(message * there)
        heard = times(message, self.keep[...]) + self.keep_bias[...].astype(dtype)
        if self.config.shares:
            score = jnp.clip(times(normed, self.score[...]), -_SCORES, _SCORES)
            score = fence(jnp.exp(score) * there)
        for kind, groups in _families(self.board):
            pooled = groups.sum(message) * jnp.asarray(_SUMMED, dtype)
            if self.config.maximum:
                pooled = jnp.concatenate([pooled, groups.max(message)], axis=-1)
            told = jax.nn.relu(times(fence(pooled), self.listen[kind]) + self.listen_bias[kind].astype(dtype))
            heard += groups.spread(fence(times(told, self.answer[kind])))
            if self.config.shares:
                share = score * groups.spread(fence(1 / (groups.sum(score) + jnp.asarray(1e-3, dtype))))
                heard += times(fence(share), self.compete[kind])
        change = times(fence(jax.nn.relu(heard)), self.update[...])
        return features + change.astype(jnp.float32)

    def _outputs(self, features: Array, seen: Array) -> Outputs:
        there = seen[..., :1]
        normed = _normalised(features) * self.final_scale[...] * there
        policy = (normed @ self.policy[...]).reshape(self.board.side, self.board.cells, -1).transpose(2, 0, 1)
        everywhere = tuple(range(normed.ndim - 2))
        mean = normed.sum(everywhere) / there.sum(everywhere)
        pooled = jnp.concatenate([mean, normed.max(everywhere)], axis=-1)
        told = jax.nn.relu(pooled @ self.value_in[...] + self.value_bias[...])
        return Outputs(policy, (told @ self.value_out[...])[:, 0])


def _normalised(x: Array) -> Array:
    """Root mean square 1 over the features."""
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


# ---------------------------------------------------------------------- groups

#: Kinds of groups that have weights of their own: cells; rows and columns; regions and further houses.
_CELL, _LINE, _REGION = range(3)
_KINDS = 3


class _Groups(NamedTuple):
    """A family of groups of candidates, as functions on arrays of features.

    Attributes:
      sum: the sums over the members of each group.
      max: the maxima, of features that are at least 0.
      spread: puts what groups have on each of their members; the sum, where a candidate lies in several.
    """

    sum: Callable[[Array], Array]
    max: Callable[[Array], Array]
    spread: Callable[[Array], Array]


def _families(board: Board) -> list[tuple[int, _Groups]]:
    """The families of groups of a board, each with its kind."""
    families = [(_CELL, _along((0,))), (_LINE, _along((3, 4))), (_LINE, _along((1, 2)))]
    if board.box is not None:
        families.append((_REGION, _along((2, 4))))
    if board.irregular_houses:
        families.append((_REGION, _tabled(board)))
    return families


def _along(axes: Sequence[int]) -> _Groups:
    """The groups whose members differ in these axes alone."""
    return _Groups(
        sum=lambda x: x.sum(axes, keepdims=True),
        max=lambda x: x.max(axes, keepdims=True),
        spread=lambda x: x,  # by broadcasting
    )


def _tabled(board: Board) -> _Groups:
    """The irregular houses, each for every digit, by index tables."""
    members = np.asarray(board.irregular_houses)
    houses = houses_of_cells(board)

    def gathered(x: Array) -> Array:
        return x.reshape(board.side, board.cells, *x.shape[-2:])[:, members]

    def spread(x: Array) -> Array:
        padded = jnp.pad(x, ((0, 0), (0, 1), (0, 0), (0, 0)))  # for the -1 of cells in fewer houses
        height, width = board.box or (1, 1)
        shape = (board.side, board.side // height, height, board.side // width, width, *x.shape[-2:])
        return padded[:, houses].sum(axis=2).reshape(shape)

    return _Groups(sum=lambda x: gathered(x).sum(axis=2), max=lambda x: gathered(x).max(axis=2), spread=spread)
