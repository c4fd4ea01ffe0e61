"""The interface of networks: candidates in, policy and value out, as pure functions of the parameters.

An observation is a cube of candidates, bool[B, side, cells]: a filled cell has only its digit, an open cell every digit
that is still possible. So the input may be the givens, with all digits in open cells, or the candidates that a level of
rules leaves.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import chex
import jax
import jax.export
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime import cache
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.devices import compiler_options

#: Logit of an absent candidate: far below any other, and far from overflow when logits are added.
ABSENT = -1e9

#: Bound on the logits that solvers compute with. Sums of a few such logits, noise and values stay far above ``ABSENT``
#: and far from overflow, and larger odds than e^1e6 are never needed.
LARGEST = 1e6

#: Standard deviation of random bytes.
_BYTES_DEVIATION = math.sqrt((256**2 - 1) / 12)

#: Parameters of a network: nested dicts of arrays.
Params = dict[Any, Any]


class Halt(NamedTuple):
    """Stopping rule of an iterative network at a position.

    Attributes:
      most: maximum number of iterations, at least 1.
      sure: probability of a digit of an open cell at which iterations stop; above 1 for all iterations.
      every: iterations between tests.
    """

    most: int
    sure: float = math.inf
    every: int = 4

    def is_sure(self, policy: Array, candidates: Array) -> Array:
        """Whether an open cell has a sure digit, or none is open: logits [B, side, cells] of candidates to bool[B]."""
        several = candidates & (candidates.sum(axis=1, keepdims=True) > 1)
        likely = jax.nn.softmax(policy.astype(jnp.float32), axis=1, where=candidates)
        return (several & (likely >= self.sure)).any(axis=(1, 2)) | ~several.any(axis=(1, 2))


class Outputs(NamedTuple):
    """Policy and value of a batch of positions; a pytree.

    Attributes:
      policy: float32[*s, B, side, cells], logits; their softmax over the digits is a cell's distribution. Absent
        candidates have ``ABSENT``.
      value: float32[*s, B], the log-odds that the position has a solution.
    """

    policy: Array
    value: Array


jax.export.register_namedtuple_serialization(Outputs, serialized_name="jaxsudoku.networks.Outputs")


def masked_logits(logits: Array, present: Array) -> Array:
    """Finite logits: ``ABSENT`` for absent candidates only; otherwise NaN becomes 0, and large logits are clipped.

    Args:
      logits: floats of any dtype and shape.
      present: bool, of the same shape.

    Returns:
      float32 of the same shape, from -``LARGEST`` to ``LARGEST`` where present.
    """
    logits = logits.astype(jnp.float32)
    return jnp.where(present, jnp.clip(jnp.where(jnp.isnan(logits), 0.0, logits), -LARGEST, LARGEST), ABSENT)


def finite_outputs(outputs: Outputs, candidates: Array) -> Outputs:
    """Makes the outputs of a network finite and bounded, for solvers.

    If any logit of a position is not finite, all its logits become 0, a uniform policy. A value that is not finite
    becomes 0, a probability of one half. Every solver that calls a network reads its outputs through this function.

    Args:
      outputs: ``Outputs``, floats of any dtype.
      candidates: bool[B, side, cells], the network's input.

    Returns:
      ``Outputs``, float32: policy [B, side, cells] as in ``masked_logits``, value [B] within ``LARGEST``.
    """
    chex.assert_equal_shape([outputs.policy, candidates])
    policy, value = outputs.policy.astype(jnp.float32), outputs.value.astype(jnp.float32)
    sound = (jnp.isfinite(policy) | ~candidates).all(axis=(1, 2), keepdims=True)  # [B, 1, 1]
    value = jnp.clip(jnp.where(jnp.isfinite(value), value, 0.0), -LARGEST, LARGEST)
    return Outputs(masked_logits(jnp.where(sound, policy, 0.0), candidates), value)


def noisy(carry: Any, noise: float | Array, key: Array) -> Any:
    """A carry with uniform noise, whose standard deviation is ``noise`` times the root mean square of each vector.

    Args:
      carry: a pytree of features [*s, features].
      noise: the relative size of the noise.
      key: a JAX key.
    """

    def perturbed(x: Array, key: Array) -> Array:
        # bytes suffice, and take a quarter of the time of floats
        steps = jax.random.bits(key, x.shape, jnp.uint8).astype(x.dtype) - 127.5
        size = noise / _BYTES_DEVIATION * jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True))
        return x + size * steps

    leaves, structure = jax.tree.flatten(carry)
    keys = [jax.random.fold_in(key, number) for number in range(len(leaves))]
    return jax.tree.unflatten(structure, map(perturbed, leaves, keys))


class NetworkModule(nnx.Module):
    """Base class of architectures: an NNX module whose only state is its parameters.

    An architecture without iterations defines ``__init__`` and ``__call__`` only. An iterative one has a field
    ``iterations`` in its config and a carry: a pytree whose leaves have the batch on the last axis but one. Its
    ``iterate`` makes ``halt.most`` further iterations; it may stop earlier at positions that are sure (``Halt``).

    Attributes:
      equivariant: whether the policy is exactly equivariant under the symmetries of the board.
    """

    equivariant: ClassVar[bool] = False

    def __init__(self, config: Any, board: Board, *, rngs: nnx.Rngs) -> None:
        raise NotImplementedError

    def __call__(self, candidates: Array) -> Outputs:
        """The outputs for bool[B, side, cells]: floats of any dtype; logits of absent candidates are ignored."""
        raise NotImplementedError

    def initialize_carry(self, candidates: Array) -> Any:
        """The carry before the first iteration; None for a network without iterations."""
        del candidates

    def iterate(self, candidates: Array, carry: Any, halt: Halt) -> tuple[Any, Array]:
        """The carry after further iterations, and their number for each board, int32[B]."""
        del halt
        return carry, jnp.ones(len(candidates), jnp.int32)

    def readout(self, candidates: Array, carry: Any) -> Outputs:
        """The outputs for a carry."""
        del carry
        return self(candidates)

    def unroll(self, candidates: Array, carry: Any) -> tuple[Outputs, Any]:
        """The outputs after each of the configured iterations, on a leading axis, and the last carry.

        Without iterations the leading axis has length 1.
        """
        return jax.tree.map(lambda output: output[None], self(candidates)), carry


@dataclasses.dataclass(frozen=True)
class Forward:
    """A network as a pure function of its parameters; hashable and compared by value, so it may be static in a jit.

    Methods take candidates bool[B, side, cells] and raise ValueError for another dtype or shape.

    Attributes:
      module: the NNX class.
      config: its sizes, a frozen dataclass.
      board: the board.
    """

    module: type[NetworkModule]
    config: Any
    board: Board

    def __call__(self, params: Params, candidates: Array) -> Outputs:
        """Policy float32[B, side, cells] and value float32[B]."""
        module = self._bind(params, candidates)
        return self._masked(module(candidates), candidates)

    def initialize_carry(self, params: Params, candidates: Array) -> Any:
        """The carry for ``resume`` and ``unroll`` before the first iteration; None without iterations."""
        return self._bind(params, candidates).initialize_carry(candidates)

    def look(self, params: Params, candidates: Array, halt: Halt) -> tuple[Outputs, Array]:
        """The outputs of a call that stops early, and the iterations of each position, int32[B]."""
        return self.resume(params, candidates, self.initialize_carry(params, candidates), None, halt)[::2]

    def resume(
        self, params: Params, candidates: Array, carry: Any, fresh: Array | None, halt: Halt | None = None
    ) -> tuple[Outputs, Any, Array]:
        """Continues from a carry; without iterations, the same as a call.

        Args:
          params: the parameters.
          candidates: bool[B, side, cells].
          carry: the carry of these positions, as ``initialize_carry`` or an earlier call returned it.
          fresh: bool[B], the positions whose carry is reset first; None for none.
          halt: when to stop; None after the configured number of iterations.

        Returns:
          ``Outputs`` as of a call, the new carry, and the iterations of each position, int32[B]; 1 without iterations.
        """
        module = self._bind(params, candidates)
        if fresh is not None:
            carry = _reset(module, candidates, carry, fresh)
        carry, spent = module.iterate(candidates, carry, halt or Halt(self.iterations))
        return self._masked(module.readout(candidates, carry), candidates), carry, spent

    def readout(self, params: Params, candidates: Array, carry: Any) -> Outputs:
        """The outputs for the carry of these positions, without further iterations."""
        return self._masked(self._bind(params, candidates).readout(candidates, carry), candidates)

    @property
    def iterations(self) -> int:
        """The configured number of iterations; 0 if the network is not iterative."""
        return getattr(self.config, "iterations", 0)

    def unroll(
        self, params: Params, candidates: Array, carry: Any = None, fresh: Array | None = None
    ) -> tuple[Outputs, Any]:
        """The outputs after every iteration, for deep supervision, and the last carry.

        Args:
          params: the parameters.
          candidates: bool[B, side, cells].
          carry: as in ``resume``. Gradients flow through it to the embedding only, so earlier iterations cost nothing.
          fresh: bool[B], the positions whose carry is reset first; None for all.

        Returns:
          ``Outputs``: policy float32[T, B, side, cells] and value float32[T, B], where T is the configured number of
          iterations, or 1; and the new carry.
        """
        module = self._bind(params, candidates)
        carry = _reset(module, candidates, carry, fresh)
        outputs, carry = module.unroll(candidates, jax.lax.stop_gradient(carry))
        return self._masked(outputs, candidates), carry

    def init(self, key: Array) -> Params:
        """Random parameters, float32."""
        params: Params = nnx.to_pure_dict(nnx.state(self._make(key), nnx.Param))
        return params

    def shapes(self) -> Params:
        """The shapes and dtypes of the parameters; makes no arrays."""
        shapes: Params = jax.tree.map(lambda leaf: leaf, _abstract(self)[1])  # a copy, which callers may change
        return shapes

    def _make(self, key: Array) -> NetworkModule:
        return self.module(self.config, self.board, rngs=nnx.Rngs(key))

    def _bind(self, params: Params, candidates: Array) -> NetworkModule:
        """The module with these parameters, after checking the input."""
        side, cells = self.board.side, self.board.cells
        shape, dtype = candidates.shape, candidates.dtype
        if len(shape) != 3 or shape[1:] != (side, cells) or dtype != jnp.bool_:
            raise ValueError(
                f"candidates {dtype}{list(shape)}; a network for a board of {self.board} takes "
                f"bool[B, {side}, {cells}], which planes.grids_to_cubes makes of puzzles"
            )
        module: NetworkModule = nnx.merge(_abstract(self)[0], params)
        return module

    def _masked(self, outputs: Outputs, candidates: Array) -> Outputs:
        """A module's outputs as float32, with ``ABSENT`` for absent candidates; raises ValueError if invalid."""
        if not isinstance(outputs, Outputs):
            raise ValueError(f"the network returns a {type(outputs).__name__}; it must be networks.Outputs")
        shapes = [jnp.shape(output) for output in outputs]
        further = shapes[1][:-1]  # T for unrolled outputs
        right = shapes == [(*further, *candidates.shape), (*further, len(candidates))] and len(further) < 2
        if not right or not all(jnp.issubdtype(output.dtype, jnp.floating) for output in outputs):
            found = [f"{output.dtype}{list(output.shape)}" for output in outputs]
            raise ValueError(
                f"the network returns a policy {found[0]} and a value {found[1]} for candidates "
                f"bool{list(candidates.shape)}; they must be floats {list(candidates.shape)} and {[len(candidates)]}"
            )
        policy = jnp.where(candidates, outputs.policy.astype(jnp.float32), ABSENT)
        return Outputs(policy, outputs.value.astype(jnp.float32))


@functools.lru_cache(maxsize=64)
def _abstract(forward: Forward) -> tuple[Any, Params]:
    """The module without its parameters, and their shapes and dtypes; cached, as it takes a trace of the module."""
    module = nnx.eval_shape(lambda: forward._make(jax.random.key(0)))
    structure, params, *others = nnx.split(module, nnx.Param, ...)
    if jax.tree.leaves(others):
        raise TypeError(f"{forward.module.__name__} has state besides its parameters; networks must be pure")
    return structure, nnx.to_pure_dict(params)


def _reset(module: NetworkModule, candidates: Array, carry: Any, fresh: Array | None) -> Any:
    """The carry, reset where ``fresh``, everywhere if that is None."""
    initial = module.initialize_carry(candidates)
    if fresh is None:
        return initial
    chex.assert_shape(fresh, candidates.shape[:1])
    chex.assert_trees_all_equal_shapes_and_dtypes(initial, carry)
    return jax.tree.map(lambda new, old: jnp.where(fresh[:, None], new, old), initial, carry)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["params"], meta_fields=["name", "apply"])
@dataclasses.dataclass(frozen=True)
class Network:
    """A network with its parameters; a pytree of the parameters, so it may be an argument of a jitted function.

    Attributes:
      name: the architecture's name in ``networks.NETWORKS``.
      apply: the pure function (params, candidates bool[B, side, cells]) -> ``Outputs``.
      params: the parameters.
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
        """The board of the network."""
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
    """A compiled forward pass; made on first use, as its options depend on the backend."""

    def call(apply: Forward, params: Params, candidates: Array) -> Outputs:
        return apply(params, candidates)

    return jax.jit(call, static_argnums=0, compiler_options=compiler_options())
