"""Batched evaluation of positions by a network: chunks, adaptive numbers of iterations, and a pool.

Of K positions only the wanted ones are evaluated, ``chunk`` at a time (``apply_where``). An iterative network stops at
each position once it is sure (``Halt``).

On an accelerator, where a chunk is large, the positions of a chunk would wait for the slowest. There a ``Pool`` keeps
the network's features: after every few iterations, positions of which the network is sure leave, and the next ones take
their places. When fewer positions are left than the pool has places, a smaller part of it is evaluated.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.networks import Network
from jaxsudoku.networks.base import LARGEST, Halt, Outputs, finite_outputs, masked_logits
from jaxsudoku.runtime.random import key_of, mix

from .votes import averaged, draw

#: Random stream of the symmetries of votes.
_VOTE = np.uint32(0x2545F491)

#: Minimum size of the part of a pool that is evaluated; larger sizes are halvings of the pool.
_LEAST = 8


class NetworkResults(NamedTuple):
    """Results of a network for K positions.

    Attributes:
      outputs: ``Outputs`` of finished positions, undefined for others.
      lanes: bool[K], the finished positions.
      spent: int32[K], iterations on them; 1 if the network is not iterative.
    """

    outputs: Outputs
    lanes: Array
    spent: Array


def iterations_of(network: Network) -> int:
    """The configured iterations of a network; 0 if it is not iterative or ``apply`` is another function."""
    return getattr(network.apply, "iterations", 0)


class Pool(NamedTuple):
    """Pool of S places for positions on which a network iterates.

    Attributes:
      lane: int32[S], the lane of each place's position; K for an empty place.
      spent: int32[S], iterations so far.
      carry: the network's carry of the S positions.
      turn: int32[], the lane from which the next positions are taken.
    """

    lane: Array
    spent: Array
    carry: Any
    turn: Array


@dataclasses.dataclass(frozen=True)
class NetworkCaller:
    """Evaluates the positions of K lanes by a network.

    Attributes:
      network: the network, whose parameters are given with each call.
      chunk: positions evaluated together; None for all.
      halt: when to stop at a position; None for all iterations. Ignored with votes.
      votes: random symmetries over which outputs are averaged; 1 for the position itself.
      pooled: whether positions enter and leave a chunk one by one.
    """

    network: Network
    chunk: int | None
    halt: Halt | None = None
    votes: int = 1
    pooled: bool = False

    @property
    def pools(self) -> bool:
        """Whether there is a pool; only iterative networks need one."""
        return self.pooled and self.chunk is not None and self.votes == 1 and iterations_of(self.network) > 0

    def empty(self, params: Any, width: int) -> Pool | None:
        """An empty pool for K lanes; None without a pool."""
        if not self.pools:
            return None
        board, size = self.network.board, min(self.chunk or width, width)
        carry = self.network.apply.initialize_carry(params, jnp.zeros((size, board.side, board.cells), bool))
        return Pool(jnp.full(size, width, jnp.int32), jnp.zeros(size, jnp.int32), carry, jnp.int32(0))

    def evaluate(
        self, params: Any, pool: Pool | None, cubes: Array, wanted: Array, seeds: Array, others: Array
    ) -> tuple[NetworkResults, Pool | None]:
        """Evaluates wanted positions, or iterates on those in the pool.

        Args:
          params: the network's parameters.
          pool: the pool; positions in it are still wanted.
          cubes: bool[K, side, cells], the candidates.
          wanted: bool[K].
          seeds: uint32[K], seeds of the symmetries of votes.
          others: bool[], whether other lanes can continue without the network: then a pool that is not full waits.

        Returns:
          the results, and the pool.
        """
        if pool is None:
            outputs, spent = apply_where(self, params, cubes, wanted, seeds)
            return NetworkResults(outputs, wanted, spent), None
        size, width = len(pool.lane), len(wanted)
        shapes = jax.eval_shape(self.network.apply, params, cubes)
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

        def going(now: tuple[NetworkResults, Pool, Array]) -> Array:
            left = (wanted & ~now[0].lanes).sum(dtype=jnp.int32)
            return (left >= size) | (now[2] & (left > 0) & ~others)

        def turn(now: tuple[NetworkResults, Pool, Array]) -> tuple[NetworkResults, Pool, Array]:
            seen, pool, _ = now
            pool, ended, found = self._turn(params, pool, cubes, wanted & ~seen.lanes)
            lane = jnp.where(ended, pool.lane, width)
            new = NetworkResults(found, jnp.ones(size, bool), pool.spent)
            seen = jax.tree.map(lambda old, new: old.at[lane].set(new, mode="drop"), seen, new)
            return seen, pool._replace(lane=jnp.where(ended, width, pool.lane)), jnp.bool_(False)

        blank = NetworkResults(finite_outputs(nothing, cubes), jnp.zeros(width, bool), jnp.zeros(width, jnp.int32))
        seen, pool, _ = lax.while_loop(going, turn, (blank, pool, jnp.bool_(True)))
        return seen, pool

    def _turn(self, params: Any, pool: Pool, cubes: Array, wanted: Array) -> tuple[Pool, Array, Outputs]:
        """Fills the pool and iterates on it; returns the pool, which positions have finished, bool[S], and outputs."""
        size, width = len(pool.lane), len(wanted)
        held = pool.lane < width
        (old,) = jnp.nonzero(held, size=size, fill_value=size)  # first those already in the pool
        inside = jnp.zeros(width, bool).at[pool.lane].set(True, mode="drop")
        order = jnp.roll(jnp.arange(width, dtype=jnp.int32), -pool.turn)
        (new,) = jnp.nonzero((wanted & ~inside)[order], size=size, fill_value=width)
        new = order.at[new].get(mode="fill", fill_value=width)
        place, kept = jnp.arange(size, dtype=jnp.int32), held.sum(dtype=jnp.int32)
        fresh = place >= kept
        lane = jnp.where(fresh, new[jnp.maximum(place - kept, 0)], pool.lane.at[old].get(mode="fill", fill_value=width))
        spent = jnp.where(fresh, 0, pool.spent.at[old].get(mode="fill", fill_value=0))
        carry = jax.tree.map(lambda leaf: leaf.at[..., old, :].get(mode="clip"), pool.carry)
        seen = cubes.at[lane].get(mode="fill", fill_value=False)
        halt = self.halt or Halt(iterations_of(self.network))
        step = Halt(halt.every)

        def evaluate(part: int) -> tuple[Outputs, Any]:
            some = jax.tree.map(lambda leaf: leaf[..., :part, :], carry)
            found, after, _ = self.network.apply.resume(params, seen[:part], some, fresh[:part], step)
            whole = jax.tree.map(lambda leaf: jnp.pad(leaf, [(0, size - part)] + [(0, 0)] * (leaf.ndim - 1)), found)
            return whole, jax.tree.map(lambda old, new: old.at[..., :part, :].set(new), carry, after)

        parts = _parts(size)
        number = (jnp.asarray(parts) < (lane < width).sum(dtype=jnp.int32)).sum(dtype=jnp.int32)
        found, carry = lax.switch(number, [lambda part=part: evaluate(part) for part in parts])
        found = finite_outputs(found, seen)
        spent += step.most
        ended = (lane < width) & (halt.is_sure(found.policy, seen) | (spent >= halt.most))
        last = jnp.where(fresh & (lane < width), lane, -1)
        moved = jnp.where((last >= 0).any(), _next(last, pool.turn, width), pool.turn)
        return Pool(lane, spent, carry, moved), ended, found


def _next(lanes: Array, turn: Array, width: int) -> Array:
    """The lane after the last one of ``lanes`` int32[S] (-1 for none), in cyclic order from ``turn``."""
    return (jnp.where(lanes >= 0, (lanes - turn) % width, -1).max() + 1 + turn) % width


def _parts(size: int) -> list[int]:
    """The sizes of the parts of a pool, ascending."""
    parts = [size]
    while parts[0] > _LEAST:
        parts.insert(0, max(parts[0] // 2, _LEAST))
    return parts


def apply_where(
    caller: NetworkCaller, params: Any, cubes: Array, wanted: Array, seeds: Array | None = None
) -> tuple[Outputs, Array]:
    """Evaluates the wanted positions, in chunks; results for the others are undefined.

    Args:
      caller: the network, and how it is called.
      params: its parameters.
      cubes: bool[K, side, cells], the positions' candidates.
      wanted: bool[K].
      seeds: uint32[K], seeds of the symmetries; not needed for one vote.

    Returns:
      ``Outputs`` for K positions after ``finite_outputs``, with votes the logarithms of mean probabilities; and the
      network's iterations int32[K], with votes those of one vote.
    """
    size, chunk = len(wanted), caller.chunk
    seeds = jnp.zeros(size, jnp.uint32) if seeds is None else seeds
    apply, votes = caller.network.apply, caller.votes

    def call(cubes: Array, seeds: Array) -> tuple[Outputs, Array]:
        all_iterations = jnp.full(len(cubes), max(iterations_of(caller.network), 1), jnp.int32)
        if votes > 1:
            keys = jax.vmap(key_of)(mix(seeds ^ _VOTE))
            return _voted(caller.network, params, cubes, keys, votes), all_iterations
        if caller.halt is None:
            return finite_outputs(apply(params, cubes), cubes), all_iterations
        outputs, spent = apply.look(params, cubes, caller.halt)
        return finite_outputs(outputs, cubes), spent

    if chunk is None or chunk >= size:
        return call(cubes, seeds)
    (order,) = jnp.nonzero(wanted, size=size + -size % chunk, fill_value=size)
    order = order.astype(jnp.int32)

    def evaluate_chunk(number: Array, outputs: tuple[Outputs, Array]) -> tuple[Outputs, Array]:
        rows = lax.dynamic_slice_in_dim(order, number * chunk, chunk)
        seen = call(cubes.at[rows].get(mode="fill", fill_value=False), seeds.at[rows].get(mode="fill", fill_value=0))
        return jax.tree.map(lambda old, new: old.at[rows].set(new, mode="drop"), outputs, seen)

    shapes = jax.eval_shape(call, cubes, seeds)
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return lax.fori_loop(jnp.int32(0), -(-wanted.sum(dtype=jnp.int32) // chunk), evaluate_chunk, nothing)


def _voted(network: Network, params: Any, cubes: Array, keys: Array, votes: int) -> Outputs:
    """The means of the network's probabilities under random symmetries, as logits."""
    board = network.board

    def look(seen: Array, carry: Any) -> tuple[Array, Array, Any]:
        outputs = finite_outputs(network.apply(params, seen), seen)
        return jax.nn.softmax(outputs.policy, axis=1, where=seen), jax.nn.sigmoid(outputs.value), carry

    policy, value, _ = averaged(board, votes, lambda number: draw(board, keys, number), cubes, look)
    odds = jnp.log(value) - jnp.log1p(-value)
    return Outputs(masked_logits(jnp.log(policy), cubes), jnp.clip(odds, -LARGEST, LARGEST))
