"""The seam between networks and what uses them: observations in, policy and value out, as pure functions.

An observation is a cube of candidates, bool[B, side, cells]: the digit of a filled cell alone, and of an open cell
every digit that is still possible. Givens alone and what a rule level left over are therefore the same kind of input;
with givens alone an open cell has all its digits, and the network has to know the rules itself.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku import cache
from jaxsudoku.arrays import AnyArray
from jaxsudoku.batches import compiler_options
from jaxsudoku.board import Board

#: Logit of a candidate that is not there: far below any other, and far from overflowing when logits are added.
ABSENT = -1e9

#: Bound on the logits that solvers compute with. Sums of a few such logits, noise and values stay far above ``ABSENT``
#: and far from overflow, and a ratio of e^1e6 is beyond any use.
LARGEST = 1e6

#: Parameters of a network: a tree of nested dicts of arrays.
Params = dict[Any, Any]


class Outputs(NamedTuple):
    """What a network thinks of a batch of positions; a pytree.

    Attributes:
      policy: float32[*s, B, side, cells], logits: their softmax over the digits is a cell's distribution. Candidates
        that are not there have ``ABSENT``.
      value: float32[*s, B], the log-odds that the position has a solution.
    """

    policy: Array
    value: Array


jax.export.register_namedtuple_serialization(Outputs, serialized_name="jaxsudoku.networks.Outputs")


def masked_logits(logits: Array, present: Array) -> Array:
    """Logits that are ``ABSENT`` exactly where nothing is present, whatever they were: NaN becomes 0, others are cut.

    Args:
      logits: floats of any dtype and shape.
      present: bool, of the same shape.

    Returns:
      float32 of the same shape, from -``LARGEST`` to ``LARGEST`` where present.
    """
    logits = logits.astype(jnp.float32)
    return jnp.where(present, jnp.clip(jnp.where(jnp.isnan(logits), 0.0, logits), -LARGEST, LARGEST), ABSENT)


def finite_outputs(outputs: Outputs, candidates: Array) -> Outputs:
    """The outputs of a network as solvers use them: finite and bounded, whatever the network computed.

    Where a position has a logit that is not finite, all its logits become 0, a uniform policy; a value that is not
    finite becomes 0, a probability of one half. Every solver that calls a network reads its outputs through this.

    Args:
      outputs: ``Outputs``, floats of any dtype.
      candidates: bool[B, side, cells], what the network saw.

    Returns:
      ``Outputs``, float32: policy [B, side, cells] as ``masked_logits`` gives it, value [B] within ``LARGEST``.
    """
    policy, value = outputs.policy.astype(jnp.float32), outputs.value.astype(jnp.float32)
    sound = (jnp.isfinite(policy) | ~candidates).all(axis=(1, 2), keepdims=True)
    value = jnp.clip(jnp.where(jnp.isfinite(value), value, 0.0), -LARGEST, LARGEST)
    return Outputs(masked_logits(jnp.where(sound, policy, 0.0), candidates), value)


class NetworkModule(nnx.Module):
    """What an architecture derives from: an NNX module."""

    def __init__(self, config: Any, board: Board, *, rngs: nnx.Rngs) -> None:
        raise NotImplementedError

    def __call__(self, candidates: Array) -> Outputs:
        """The outputs for bool[B, side, cells]; logits of any dtype, also of candidates that are not there."""
        raise NotImplementedError

    def trace(self, candidates: Array, carried: Any) -> tuple[Outputs, Any]:
        """The outputs after each iteration, leading axis first, and what is carried on after the last.

        Of a network without iterations, the one output.
        """
        return jax.tree.map(lambda output: output[None], self(candidates)), carried

    def start(self, candidates: Array) -> Any:
        """What a network with iterations carries on, before the first; None of another one.

        The batch is on the last axis but one of every leaf.
        """
        del candidates

    def advance(self, candidates: Array, carried: Any, iterations: int) -> Any:
        """What is carried on after so many more iterations."""
        del candidates, iterations
        return carried

    def conclude(self, candidates: Array, carried: Any) -> Outputs:
        """The outputs at what is carried on."""
        del carried
        return self(candidates)


@dataclasses.dataclass(frozen=True)
class Forward:
    """A network as a pure function of its parameters; hashable and compared by value, so it may be static in a jit.

    Attributes:
      module: the NNX class.
      config: its sizes, a frozen dataclass.
      board: the board.
    """

    module: type[NetworkModule]
    config: Any
    board: Board

    def __call__(self, params: Params, candidates: Array) -> Outputs:
        """Policy and value.

        Args:
          params: the parameters.
          candidates: bool[B, side, cells].

        Returns:
          ``Outputs``, float32: policy [B, side, cells], value [B].

        Raises:
          ValueError: candidates of another dtype, or of another board's shape, as in all methods that take them.
        """
        self._check(candidates)
        return self._finished(nnx.merge(_structure(self), params)(candidates), candidates)

    def trace(
        self, params: Params, candidates: Array, carried: Any = None, fresh: Array | None = None
    ) -> tuple[Outputs, Any]:
        """The outputs after every iteration, for deep supervision, and what is to be carried on.

        Args:
          params: the parameters.
          candidates: bool[B, side, cells].
          carried: what is to be carried on of these positions, as ``start`` or an earlier call gave it; None if all
            are fresh. No gradient goes through it but to the embedding, so iterations that were done cost nothing.
          fresh: bool[B], the positions that are looked at for the first time, whatever is carried; None for all.

        Returns:
          ``Outputs``: policy [T, B, side, cells], value [T, B], T being the configured iterations, or 1; and what is to
          be carried on.
        """
        self._check(candidates)
        module = nnx.merge(_structure(self), params)
        carried = _begun(module, candidates, carried, fresh)
        outputs, carried = module.trace(candidates, jax.lax.stop_gradient(carried))
        return self._finished(outputs, candidates), carried

    def start(self, params: Params, candidates: Array) -> Any:
        """What ``think`` carries on, before a network has looked at candidates bool[B, side, cells]."""
        self._check(candidates)
        return nnx.merge(_structure(self), params).start(candidates)

    def think(self, params: Params, candidates: Array, carried: Any, fresh: Array) -> tuple[Outputs, Any]:
        """Policy and value after the configured iterations more; of a network without iterations, again the same.

        Args:
          params: the parameters.
          candidates: bool[B, side, cells].
          carried: what ``start`` gave, or the last ``think`` on these positions.
          fresh: bool[B], the positions that are looked at for the first time, whatever is carried.

        Returns:
          ``Outputs`` as of a call, and what is to be carried on.
        """
        self._check(candidates)
        module = nnx.merge(_structure(self), params)
        carried = _begun(module, candidates, carried, fresh)
        carried = module.advance(candidates, carried, getattr(self.config, "iterations", 0))
        return self._finished(module.conclude(candidates, carried), candidates), carried

    def init(self, key: Array) -> Params:
        """Random parameters, float32."""
        return nnx.to_pure_dict(nnx.state(self._make(key), nnx.Param))

    def shapes(self) -> Params:
        """The shapes and dtypes of the parameters, told without making any."""
        return jax.eval_shape(self.init, jax.eval_shape(lambda: jax.random.key(0)))

    def _make(self, key: Array) -> NetworkModule:
        return self.module(self.config, self.board, rngs=nnx.Rngs(key))

    def _check(self, candidates: Array) -> None:
        side, cells = self.board.side, self.board.cells
        shape, dtype = candidates.shape, candidates.dtype
        if len(shape) != 3 or shape[1:] != (side, cells) or dtype != jnp.bool_:
            raise ValueError(
                f"candidates {dtype}{list(shape)}; a network for a board of {self.board} takes "
                f"bool[B, {side}, {cells}], which planes.grids_to_cubes makes of puzzles"
            )

    def _finished(self, outputs: Outputs, candidates: Array) -> Outputs:
        policy = jnp.where(candidates, outputs.policy.astype(jnp.float32), ABSENT)
        return Outputs(policy, outputs.value.astype(jnp.float32))


@functools.lru_cache(maxsize=64)
def _structure(forward: Forward) -> Any:
    """The module without its parameters."""
    module = nnx.eval_shape(lambda: forward._make(jax.random.key(0)))
    structure, *states = nnx.split(module, nnx.Param, ...)
    if jax.tree.leaves(states[1:]):
        raise TypeError(f"{forward.module.__name__} keeps state beside its parameters; networks must be pure")
    return structure


def _begun(module: NetworkModule, candidates: Array, carried: Any, fresh: Array | None) -> Any:
    """What is carried on, but of fresh positions, of all if ``fresh`` is None, what there is before the first."""
    started = module.start(candidates)
    if fresh is None:
        return started
    return jax.tree.map(lambda new, old: jnp.where(fresh[:, None], new, old), started, carried)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["params"], meta_fields=["name", "apply"])
@dataclasses.dataclass(frozen=True)
class Network:
    """A network with its parameters; a pytree of them, so it may be an argument of a jitted function.

    Attributes:
      name: the architecture's name in ``networks.NETWORKS``.
      apply: the pure function (params, candidates bool[B, side, cells]) -> ``Outputs``.
      params: its parameters.
    """

    name: str
    apply: Forward
    params: Params = dataclasses.field(repr=False, compare=False)

    @property
    def config(self) -> Any:
        """The sizes of the network."""
        return self.apply.config

    @property
    def board(self) -> Board:
        """The board that it is for."""
        return self.apply.board

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.params))

    def __call__(self, candidates: AnyArray) -> Outputs:
        """Policy and value of candidates bool[B, side, cells], compiled."""
        with cache.kept():
            return _compiled()(self.apply, self.params, candidates)


@functools.cache
def _compiled() -> Callable[[Forward, Params, AnyArray], Outputs]:
    """A forward pass, compiled; made on first use, as the options ask for the backend."""

    def call(apply: Forward, params: Params, candidates: Array) -> Outputs:
        return apply(params, candidates)

    return jax.jit(call, static_argnums=0, compiler_options=compiler_options())
