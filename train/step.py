"""One step of training as a pure function, on all devices: positions, gradients, optimiser, averaged parameters.

Each device makes positions from its own part of the puzzles. Losses are normalised by the totals over all devices, so
the summed gradients are those of the whole batch, however it is divided among devices and into microbatches. All
randomness comes from the key, the step and the device's number.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku import networks
from jaxsudoku.core.board import Board
from jaxsudoku.datasets import Batch
from jaxsudoku.networks import Forward, Params, widening
from jaxsudoku.networks.base import noisy
from jaxsudoku.networks.groups import CONFLICT
from jaxsudoku.runtime.devices import compiler_options

from .devices import placed
from .objective import Aux, Metrics, objective, open_cells
from .optimiser import make_optimiser
from .pool import Pool, empty_pool, refill
from .positions import Positions, sample_batch
from .train_config import TrainConfig

T = TypeVar("T")

#: Decay of the running means of losses by number of open cells.
_KEPT = 0.95


class TrainState(NamedTuple):
    """The state of a run between two steps; a pytree.

    Attributes:
      step: int32, steps done.
      params: the parameters.
      average: their exponential moving average.
      optimiser: optax's state.
      losses: float32[cells + 1], running means of the policy's cross-entropy in positions of each number of open cells.
      pool: the pool of positions, divided among the devices.
    """

    step: Array
    params: Params
    average: Params
    optimiser: Any
    losses: Array
    pool: Pool


def make_forward(config: TrainConfig, iterations: int | None) -> Forward:
    """The network; ``iterations`` is None if it is not iterative. Raises ValueError for an unknown size."""
    sizes = dataclasses.asdict(config.network.sizes)
    if iterations is not None:
        sizes["iterations"] = iterations
    return networks.make_forward(config.network.architecture, config.board, **sizes)


def saved_forward(config: TrainConfig) -> Forward:
    """The network with the iterations that it is saved with; the settings must be resolved."""
    return make_forward(config, config.network.saved_iterations)


def initial_state(config: TrainConfig, key: Array, target: Any = bool) -> TrainState:
    """The state before the first step; ``target`` is the dtype of the positions' targets."""
    return _initial(config, target, key, load_start(config))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _initial(config: TrainConfig, target: Any, key: Array, start: Params | None) -> TrainState:
    """``initial_state``, as one program; from some parameters, or from random ones for None."""
    forward = saved_forward(config)
    params = forward.init(key) if start is None else start
    params, average = (jax.tree.map(jnp.copy, params) for _ in range(2))
    pool = empty_pool(forward, params, config.batch_size, target)
    optimiser = make_optimiser(config.optimiser, config.steps)
    losses = no_losses(config.board)
    return TrainState(jnp.int32(0), params, average, optimiser.init(params), losses, pool)


def no_losses(board: Board) -> Array:
    """The losses by number of open cells before the first step, float32[cells + 1]: all equal."""
    return jnp.ones(board.cells + 1, jnp.float32)


def place(state: TrainState, mesh: Mesh) -> TrainState:
    """Puts the state on all devices: the pool is divided among them, the rest is replicated."""
    on_devices: TrainState = placed(state, shardings_of(state, mesh))
    return on_devices


def shardings_of(state: TrainState, mesh: Mesh) -> TrainState:
    """The placement of the state, or of its shapes: a ``NamedSharding`` for each of its arrays."""
    replicated, split = (NamedSharding(mesh, spec) for spec in (PartitionSpec(), PartitionSpec("batch")))
    return jax.tree.map(lambda _: replicated, state)._replace(pool=jax.tree.map(lambda _: split, state.pool))


def load_start(config: TrainConfig) -> Params | None:
    """The initial parameters from a file, widened to the network's sizes if it is larger; None for random ones.

    Raises ValueError if they can't be widened to it, or if the network does not support the board.
    """
    start, architecture, forward = config.network.start, config.network.architecture, saved_forward(config)
    shapes = forward.shapes()
    if start is None:
        return None
    network = networks.load_network(start)
    fixed = set(dataclasses.asdict(forward.config)).difference(networks.get(architecture).adjustable)
    if network.name == architecture:
        if all(getattr(network.config, name) == getattr(forward.config, name) for name in fixed):
            if jax.tree.map(jnp.shape, network.params) == jax.tree.map(jnp.shape, shapes):
                return network.params
        elif widening.can_widen(network.config, forward.config):
            return widening.widen(network.params, network.config, forward, jax.random.key(0))
    raise ValueError(f"start: {start} holds a {network.name} of sizes from which these can't be trained")


#: Makes a device's positions of a step: (a JAX key, its part of the data, the share of training done, losses by number
#: of open cells) -> ``batch_size`` / devices positions.
Sample = Callable[[Array, Any, Array, Array], Positions]

#: (state, sums, data, key) -> (state, sums).
Step = Callable[[TrainState, Metrics, Any, Array], tuple[TrainState, Metrics]]


@functools.lru_cache(maxsize=64)
def compiled_step(config: TrainConfig, forward: Forward, mesh: Mesh) -> jax.stages.Wrapped:
    """The step (state, sums, batch of ``puzzles_needed`` puzzles, key) -> (state, sums), jitted.

    It adds its metrics to the sums. State and sums are donated.
    """

    def sample(key: Array, batch: Batch, progress: Array, losses: Array) -> Positions:
        return sample_batch(config, key, batch, progress, mesh.size, losses)

    platform = mesh.devices.flat[0].platform
    step = make_step(config, forward, mesh, sample)
    return jax.jit(step, donate_argnums=(0, 1), compiler_options=compiler_options(platform))


def make_step(config: TrainConfig, forward: Forward, mesh: Mesh, sample: Sample) -> Step:
    """The step as a pure function, which adds its metrics to the sums.

    Args:
      config: the resolved settings.
      forward: the network.
      mesh: the devices, among which the axis "batch" divides the data and the pool.
      sample: makes positions from the data, whose leaves are divided along the first axis.
    """
    optimiser = make_optimiser(config.optimiser, config.steps)

    def gradients(
        params: Params, step: Array, losses: Array, data: Any, key: Array, pool: Pool
    ) -> tuple[Params, Metrics, Array, Pool]:
        key = jax.random.fold_in(jax.random.fold_in(key, step), lax.axis_index("batch"))
        progress = step / config.steps
        positions = sample(key, data, progress, losses)
        first, last = config.network.initial_thinking_steps, config.network.final_thinking_steps
        most = jnp.round(first + (last - first) * progress).astype(jnp.int32)
        pool, fresh = refill(pool, positions, jax.random.fold_in(key, len(config.positions.kinds)), most)
        if noise := config.network.noise:
            key = jax.random.fold_in(key, len(config.positions.kinds) + 1)
            pool = pool._replace(carry=noisy(pool.carry, noise, key))
        grads, aux = batch_gradients(config, forward, params, pool, fresh, "batch")
        losses = _updated_losses(losses, pool.positions, aux.policy)
        return grads, aux.metrics, losses, Pool(pool.positions, aux.carry, jnp.where(aux.finished, 0, pool.left - 1))

    replicated, split = PartitionSpec(), PartitionSpec("batch")
    sharded = jax.shard_map(
        gradients,
        mesh=mesh,
        in_specs=(replicated, replicated, replicated, split, replicated, split),
        out_specs=(replicated, replicated, replicated, split),
        check_vma=False,
    )

    def step(state: TrainState, sums: Metrics, data: Any, key: Array) -> tuple[TrainState, Metrics]:
        grads, metrics, losses, pool = sharded(state.params, state.step, state.losses, data, key, state.pool)
        updates, optimiser_state = optimiser.update(grads, state.optimiser, state.params)
        params = optax.apply_updates(state.params, _with_fixed(config, updates, jax.tree.map(jnp.zeros_like, updates)))
        average = optax.incremental_update(params, state.average, 1 - config.optimiser.ema)
        average = _with_fixed(config, average, params)  # rounding would change the mean of equal values
        state = TrainState(state.step + 1, params, average, optimiser_state, losses, pool)
        return state, jax.tree.map(jnp.add, sums, metrics)

    return step


def _with_fixed(config: TrainConfig, values: Params, fixed: Params) -> Params:
    """The values of parameters that learn, and for the others those of ``fixed`` (``NetworkConfig.learn``)."""
    if config.network.learn == "all":
        return values

    def each(path: tuple[Any, ...], value: Array, other: Array) -> Array:
        return value if [step.key for step in path[:2]] == ["kinds", CONFLICT] else other

    found: Params = jax.tree_util.tree_map_with_path(each, values, fixed)
    return found


def _updated_losses(losses: Array, positions: Positions, policy: Array) -> Array:
    """The running means of the policy's cross-entropy by number of open cells, after a step on all devices."""
    opened = open_cells(positions).sum(axis=1)
    counted = (opened > 0).astype(jnp.float32)
    sums, counts = over_devices(
        [jax.ops.segment_sum(values, opened, len(losses)) for values in (policy * counted, counted)], "batch"
    )
    means = sums / jnp.maximum(counts, 1)
    return jnp.where(counts > 0, _KEPT * losses + (1 - _KEPT) * means, losses)


def batch_gradients(
    config: TrainConfig, forward: Forward, params: Params, pool: Pool, fresh: Array, axis: str | None = None
) -> tuple[Params, Aux]:
    """The gradients of a batch, and the objective's other results.

    Args:
      config: the settings.
      forward: the network.
      params: its parameters.
      pool: the batch, or this device's part of it.
      fresh: bool[B], the positions without features to continue from.
      axis: name of the mesh axis over which the batch is divided; None if this is the whole batch.
    """

    counts = (open_cells(pool.positions).sum(), pool.positions.useful.sum())
    cells, count = (jnp.maximum(total, 1) for total in over_devices(counts, axis))

    def gradient(part: tuple[Positions, Any, Array]) -> tuple[Params, Aux]:
        def loss(params: Params) -> tuple[Array, Aux]:
            positions, carry, fresh = part
            params = _with_fixed(config, params, lax.stop_gradient(params))
            return objective(forward, params, positions, config.objective, cells, count, carry, fresh)

        grads: tuple[Params, Aux] = jax.grad(loss, has_aux=True)(params)
        return grads

    present = pool.positions.candidates.sum(axis=(1, 2), dtype=jnp.int32)
    grads, aux = _accumulate(gradient, (pool.positions, pool.carry, fresh), present, config.microbatch)
    grads, metrics = over_devices((grads, aux.metrics), axis)
    return grads, aux._replace(metrics=metrics)


def over_devices(values: T, axis: str | None) -> T:
    """The sums of a pytree of arrays over the devices of a mesh axis; the values themselves for None.

    Arrays of one dtype are summed as one array: between processes each sum takes milliseconds, whatever its size.
    """
    if axis is None or lax.axis_size(axis) == 1:
        return values
    leaves, structure = jax.tree.flatten(values)
    summed: list[Array] = [*leaves]
    for dtype in dict.fromkeys(leaf.dtype for leaf in leaves):
        places = [place for place, leaf in enumerate(leaves) if leaf.dtype == dtype]
        joined = lax.psum(jnp.concatenate([leaves[place].ravel() for place in places]), axis)
        ends = np.cumsum([leaves[place].size for place in places])
        for place, part in zip(places, jnp.split(joined, ends[:-1]), strict=True):
            summed[place] = part.reshape(leaves[place].shape)
    return jax.tree.unflatten(structure, summed)


def _accumulate(
    gradient: Callable[[Any], tuple[Params, Aux]], batch: Any, present: Array, size: int | None
) -> tuple[Params, Aux]:
    """Gradients and metrics, summed over microbatches, which are small enough for a CPU's cache.

    Positions of a microbatch have similar numbers of candidates, int32[B], as some networks compute only open ones.
    """
    total = len(jax.tree.leaves(batch)[0])
    if not size or size >= total:
        return gradient(batch)

    def add(sums: Any, part: Any) -> tuple[Any, tuple[Any, Array, Array]]:
        grads, aux = gradient(part)
        return jax.tree.map(jnp.add, sums, (grads, aux.metrics)), (aux.carry, aux.policy, aux.finished)

    order = jnp.argsort(present)
    parts = jax.tree.map(lambda x: x[order].reshape(total // size, size, *x.shape[1:]), batch)
    grads, aux = jax.eval_shape(gradient, jax.tree.map(lambda x: x[0], parts))
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), (grads, aux.metrics))
    (grads, metrics), others = lax.scan(add, zeros, parts)
    place = jnp.zeros_like(order).at[order].set(jnp.arange(total), unique_indices=True)
    return grads, Aux(metrics, *jax.tree.map(lambda x: x.reshape(total, *x.shape[2:])[place], others))
