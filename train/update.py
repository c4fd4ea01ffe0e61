"""One step of training as a pure function, on all devices: positions, gradients, optimiser, averaged parameters.

A step makes its positions from the puzzles it is given, each device from its own part of them. Losses are normalised by
what all devices have, so that the summed gradients are those of the whole batch, however it is cut into devices and
microbatches. All that is random follows from the key, the step and the device's number.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from optax.contrib import MuonDimensionNumbers, muon

from jaxsudoku import networks
from jaxsudoku.batches import compiler_options
from jaxsudoku.datasets import Batch
from jaxsudoku.networks import Forward, Params

from .config import TrainConfig
from .held import Held, none_held, renewed
from .objective import Metrics, Told, objective, open_cells
from .positions import Positions, make_positions, padded


class TrainState(NamedTuple):
    """All that a run carries from step to step; a pytree.

    Attributes:
      step: int32, steps done.
      params: the parameters.
      average: their exponential moving average.
      optimiser: optax's state.
      held: the positions that are thought about, dealt out over the devices.
    """

    step: Array
    params: Params
    average: Params
    optimiser: Any
    held: Held


def forward_at(config: TrainConfig, step: int) -> Forward:
    """The network as a step trains it, with the iterations of that step.

    Raises:
      ValueError: an unknown architecture or size.
    """
    sizes = config.parsed_sizes
    if iterations := config.iterations_at(step):
        sizes["iterations"] = iterations
    return networks.make_forward(config.network, config.parsed_board, **sizes)


def trained_forward(config: TrainConfig) -> Forward:
    """The network as it is when training is done: with its configured iterations, else as long as it has learned to."""
    forward, (_, looks) = forward_at(config, config.steps), config.looks
    if not hasattr(forward.config, "iterations"):
        if max(config.looks) > 1:
            raise ValueError(f"looks are for networks with iterations, which a {config.network} has not")
        return forward
    iterations = config.parsed_sizes.get("iterations", forward.config.iterations * looks)
    return dataclasses.replace(forward, config=dataclasses.replace(forward.config, iterations=iterations))


#: Decay of the mean of squared gradients: short, as gradients change quickly early on.
_B2 = 0.99

#: Root mean square of Muon's changes at a learning rate of 1: about that of Adam's, so that rates compare.
_MUON_RMS = 0.2

#: Matrices with a side as short as this are Adam's.
_NARROW = 4


def make_optimiser(config: TrainConfig) -> optax.GradientTransformation:
    """Clipped gradients, then Muon or AdamW, with warm-up and a cosine down to a hundredth.

    Muon (Jordan et al. 2024) makes the changes of each matrix orthogonal, so that all its directions learn alike. What
    is no matrix, or a narrow one, is left to Adam with Nesterov's momentum, and does not decay. The leading axes of a
    parameter count matrices. AdamW takes all parameters; all matrices decay, and nothing else.
    """

    def schedule(highest: float) -> optax.Schedule:
        steps = max(config.steps, config.warmup + 1)
        return optax.warmup_cosine_decay_schedule(0.0, highest, config.warmup, steps, highest / 100)

    decays = functools.partial(jax.tree_util.tree_map_with_path, _decays)
    if config.optimiser == "adamw":
        rule = optax.adamw(schedule(config.learning_rate), b2=_B2, weight_decay=config.weight_decay, mask=decays)
    else:
        rule = muon(
            schedule(config.matrix_rate),
            consistent_rms=_MUON_RMS,
            muon_weight_dimension_numbers=functools.partial(jax.tree_util.tree_map_with_path, _matrix),
            weight_decay=config.weight_decay,
            weight_decay_mask=decays,
            adam_learning_rate=schedule(config.learning_rate),
            adam_weight_decay=0.0,
            adam_b2=_B2,
        )
    return optax.chain(optax.clip_by_global_norm(config.clip), rule)


def _matrix(path: tuple[Any, ...], leaf: Array) -> MuonDimensionNumbers | None:
    """The axes of a parameter that Muon treats as a matrix; None if it is none."""
    if not _decays(path, leaf) or min(leaf.shape[-2:]) <= _NARROW:
        return None
    return MuonDimensionNumbers(reduction_axis=leaf.ndim - 2, output_axis=leaf.ndim - 1)


def _decays(path: tuple[Any, ...], leaf: Array) -> bool:
    """Whether a parameter decays; a bias may have an axis for kinds of groups before that of its features."""
    return leaf.ndim > 1 and not str(path[-1].key).endswith("bias")


def first_state(config: TrainConfig, forward: Forward, key: Array) -> TrainState:
    """The state before the first step."""
    params = start_params(config, forward) if config.start else forward.init(key)
    average = jax.tree.map(jnp.copy, params)
    held = none_held(forward, params, config.batch_size)
    return TrainState(jnp.int32(0), params, average, make_optimiser(config).init(params), held)


def placed(state: TrainState, mesh: Mesh) -> TrainState:
    """The state on all devices: what is held dealt out over them, the rest on each."""
    everywhere, split = (NamedSharding(mesh, spec) for spec in (PartitionSpec(), PartitionSpec("batch")))
    where = jax.tree.map(lambda _: everywhere, state)._replace(held=jax.tree.map(lambda _: split, state.held))
    return jax.device_put(state, where)


def start_params(config: TrainConfig, forward: Forward) -> Params:
    """The parameters of the network to start from; raises ValueError if it is none, or of other sizes."""
    network = networks.load_network(config.start)
    fixed = set(dataclasses.asdict(forward.config)).difference(networks.get(config.network).adjustable)
    same = network.name == config.network and all(
        getattr(network.config, name) == getattr(forward.config, name) for name in fixed
    )
    shapes = jax.tree.map(lambda leaf: leaf.shape, forward.shapes())
    if not same or jax.tree.map(jnp.shape, network.params) != shapes:
        raise ValueError(f"start: {config.start} holds a {network.name} of other sizes than are to be trained")
    return network.params


def puzzles_needed(config: TrainConfig, devices: int) -> int:
    """Puzzles that a step takes, over all devices; raises ValueError if the batch can't be cut for so many."""
    return devices * sum(drawn for _, drawn in _parts(config, devices))


def fitting_devices(config: TrainConfig, most: int) -> int:
    """The largest number of devices, up to ``most``, that the batch can be cut for; 1 if there is none."""
    for devices in range(most, 1, -1):
        try:
            puzzles_needed(config, devices)
        except ValueError:
            continue
        return devices
    return 1


@functools.lru_cache(maxsize=8)
def compiled_update(config: TrainConfig, forward: Forward, mesh: Mesh) -> Callable[..., tuple[TrainState, Metrics]]:
    """The step (state, sums, batch, key) -> (state, sums), which adds its metrics to the sums; both are donated."""
    update = make_update(config, forward, mesh)

    def summed(state: TrainState, sums: Metrics, batch: Batch, key: Array) -> tuple[TrainState, Metrics]:
        state, metrics = update(state, batch, key)
        return state, jax.tree.map(jnp.add, sums, metrics)

    return jax.jit(summed, donate_argnums=(0, 1), compiler_options=compiler_options())


def make_update(
    config: TrainConfig, forward: Forward, mesh: Mesh
) -> Callable[[TrainState, Batch, Array], tuple[TrainState, Metrics]]:
    """The step as a function (state, batch of ``puzzles_needed`` puzzles, key) -> (state, metrics), to be jitted."""
    optimiser = make_optimiser(config)
    devices = mesh.size

    def gradients(params: Params, step: Array, batch: Batch, key: Array, held: Held) -> tuple[Params, Metrics, Held]:
        key = jax.random.fold_in(jax.random.fold_in(key, step), lax.axis_index("batch"))
        progress = step / config.steps
        positions = draw_positions(config, forward, key, batch, progress, devices)
        first, last = config.looks
        most = jnp.round(first + (last - first) * progress).astype(jnp.int32)
        held, fresh = renewed(held, positions, jax.random.fold_in(key, len(config.kinds)), most)
        grads, told = batch_gradients(config, forward, params, held, fresh, "batch")
        return grads, told.metrics, Held(held.positions, told.carried, jnp.where(told.known, 0, held.left - 1))

    everywhere, split = PartitionSpec(), PartitionSpec("batch")
    sharded = jax.shard_map(
        gradients,
        mesh=mesh,
        in_specs=(everywhere, everywhere, split, everywhere, split),
        out_specs=(everywhere, everywhere, split),
        check_vma=False,
    )

    def update(state: TrainState, batch: Batch, key: Array) -> tuple[TrainState, Metrics]:
        grads, metrics, held = sharded(state.params, state.step, batch, key, state.held)
        changes, optimiser_state = optimiser.update(grads, state.optimiser, state.params)
        params = optax.apply_updates(state.params, changes)
        average = optax.incremental_update(params, state.average, 1 - config.ema)
        return TrainState(state.step + 1, params, average, optimiser_state, held), metrics

    return update


def batch_gradients(
    config: TrainConfig, forward: Forward, params: Params, held: Held, fresh: Array, axis: str | None = None
) -> tuple[Params, Told]:
    """The gradients of a batch, and what is told of it.

    Args:
      config: the settings.
      forward: the network.
      params: its parameters.
      held: the batch, or this device's part of it.
      fresh: bool[B], the positions of which nothing is carried yet.
      axis: name of the axis of devices that have the other parts; None if this is the whole batch.
    """

    def over_devices(values: Any) -> Any:
        return values if axis is None else lax.psum(values, axis)

    cells = over_devices(open_cells(held.positions).sum())
    count = over_devices(held.positions.useful.sum())
    loss = functools.partial(objective, forward, ramp=config.ramp, value_weight=config.value_weight,
                             cells=jnp.maximum(cells, 1), count=jnp.maximum(count, 1))  # fmt: skip

    def gradient(part: tuple[Positions, Any, Array]) -> tuple[Params, Told]:
        positions, carried, fresh = part
        return jax.grad(lambda params: loss(params, positions, carried=carried, fresh=fresh), has_aux=True)(params)

    grads, told = _accumulated(gradient, (held.positions, held.carried, fresh), config.microbatch)
    grads, metrics = over_devices((grads, told.metrics))
    return grads, told._replace(metrics=metrics)


def draw_positions(
    config: TrainConfig, forward: Forward, key: Array, batch: Batch, progress: Array, devices: int
) -> Positions:
    """A device's positions of a step, of every kind, from its part of the puzzles.

    Args:
      config: the settings.
      forward: the network.
      key: a JAX key.
      batch: the device's puzzles.
      progress: the part of training that is done, float32 from 0 to 1.
      devices: number of devices that share the step.
    """
    first, last = config.hardness
    preference = (first + (last - first) * progress) * jnp.log1p(batch.rating)
    made = []
    start = 0
    for number, (size, drawn) in enumerate(_parts(config, devices)):
        part = slice(start, start + drawn)
        start += drawn
        made.append(
            make_positions(forward.board, jax.random.fold_in(key, number), batch.puzzles[part], batch.solutions[part],
                           preference[part], config.parsed_kinds[number], size)
        )  # fmt: skip
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *made)


def _parts(config: TrainConfig, devices: int) -> list[tuple[int, int]]:
    """For each kind the positions that a device makes, and the puzzles that it draws for them."""
    if config.batch_size % devices:
        raise ValueError(f"batch_size {config.batch_size} can't be cut into equal parts for {devices} devices")
    each = config.batch_size // devices
    if config.microbatch and each > config.microbatch and each % config.microbatch:
        raise ValueError(f"a device's {each} positions can't be cut into microbatches of {config.microbatch}")
    shares = [kind.share for kind in config.parsed_kinds]
    bounds = [round(each * sum(shares[:number]) / sum(shares)) for number in range(len(shares) + 1)]
    sizes = [end - start for start, end in itertools.pairwise(bounds)]
    if not all(sizes):
        raise ValueError(f"the {each} positions of a device are too few for the shares of {len(sizes)} kinds")
    return [(size, padded(size * config.choice)) for size in sizes]


def _accumulated(gradient: Callable[[Any], tuple[Params, Told]], batch: Any, size: int) -> tuple[Params, Told]:
    """Gradients and metrics, summed over microbatches: few positions at a time stay in a CPU's cache."""
    total = len(jax.tree.leaves(batch)[0])
    if not size or size >= total:
        return gradient(batch)

    def add(sums: Any, part: Any) -> tuple[Any, tuple[Any, Array]]:
        grads, told = gradient(part)
        return jax.tree.map(jnp.add, sums, (grads, told.metrics)), (told.carried, told.known)

    # dealt out in turn, so that every microbatch holds all kinds
    parts = jax.tree.map(lambda x: x.reshape(size, total // size, *x.shape[1:]).swapaxes(0, 1), batch)
    grads, told = jax.eval_shape(gradient, jax.tree.map(lambda x: x[0], parts))
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), (grads, told.metrics))
    (grads, metrics), others = lax.scan(add, nothing, parts)
    carried, known = jax.tree.map(lambda x: x.swapaxes(0, 1).reshape(total, *x.shape[2:]), others)
    return grads, Told(metrics, carried, known)
