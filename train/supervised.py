"""Supervised training of a network on solved puzzles.

    python -m train.supervised --preset cpu --output runs/cube

trains, writes checkpoints, ``metrics.jsonl`` and, at the end, the averaged parameters as ``network.safetensors`` with
their card. ``--resume`` goes on where a run was cut off; on a CPU it ends in the same weights, bit for bit.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku import datasets, networks
from jaxsudoku.batches import compiler_options, usable_cores
from jaxsudoku.datasets import Batch, Dataset

from .config import TrainConfig, parse_arguments
from .objective import Metrics, objective, open_cells
from .record import Recorder, summary
from .update import TrainState, draw_positions, first_state, make_update, puzzles_needed

#: Stages in which the number of iterations rises.
_STAGES = 4


def train(
    config: TrainConfig, folder: str | os.PathLike[str], *, resume: bool = False, tensorboard: bool = False,
    stop_at: int | None = None,
) -> networks.Network:  # fmt: skip
    """Trains a network on all devices.

    Args:
      config: the settings.
      folder: where the data (if generated), checkpoints, metrics and the network go.
      resume: go on with the run in the folder, if there is one.
      tensorboard: write TensorBoard files too.
      stop_at: leave off after this step, with a checkpoint, as if cut off there; None for the end.

    Returns:
      The network with the averaged parameters; also saved as ``network.safetensors`` when the run is at its end.

    Raises:
      FileExistsError: the folder holds a run, and resume isn't set.
      ValueError: settings that make no sense, or other ones than those of the run to resume.
    """
    folder = Path(folder).absolute()
    _settle_config(config, folder, resume)
    data = _data(config, folder)
    mesh = Mesh(np.asarray(jax.devices()), ("batch",))
    key = jax.random.key(config.seed)
    last = config.steps if stop_at is None else min(stop_at, config.steps)
    forward = _forward(config, config.steps)
    # kept by replicating: every device holds all parameters
    everywhere = NamedSharding(mesh, PartitionSpec())
    state = jax.device_put(first_state(config, forward, jax.random.fold_in(key, 0)), everywhere)
    with _manager(folder, config) as checkpoints:
        seconds = 0.0
        if checkpoints.latest_step() is not None:
            state, seconds = _restored(checkpoints, state)
        step = int(state.step)
        recorder = Recorder(folder, step, seconds, tensorboard)
        validate = _validation(config, key)
        batches = _batches(data, config, forward, jax.random.fold_in(key, 1), mesh, step)
        update, since, sums = None, step, None
        clock = recorder.seconds
        for step, batch in zip(range(step + 1, last + 1), batches, strict=False):
            if update is None or _iterations(config, step) != _iterations(config, step - 1):
                update = _compiled_update(config, _forward(config, step), mesh)
            state, metrics = update(state, batch, jax.random.fold_in(key, 2))
            sums = metrics if sums is None else jax.tree.map(jax.numpy.add, sums, metrics)
            if step % config.report_every == 0 or step == last:
                values = summary(jax.device_get(sums))
                rate = (step - since) * config.batch_size / (recorder.seconds - clock)
                recorder.write("train", step, values, config.steps, rate)
                since, sums, clock = step, None, recorder.seconds
            if step % config.validate_every == 0 or step == config.steps:
                recorder.write("validate", step, validate(state.average), config.steps)
                clock = recorder.seconds
            if step % config.save_every == 0 or step == last:
                _save(checkpoints, step, state, recorder.seconds)
        recorder.close()
        network = networks.Network(config.network, forward, jax.device_get(state.average))
        if int(state.step) == config.steps:
            _export(network, config, data, folder, recorder, validate(state.average))
        return network


# ---------------------------------------------------------------------- parts of a run


def _settle_config(config: TrainConfig, folder: Path, resume: bool) -> None:
    """Writes the settings into a new folder, or compares them with those that are there."""
    path = folder / "config.json"
    wanted = json.loads(json.dumps(dataclasses.asdict(config)))
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(wanted, indent=2) + "\n")
        return
    if not resume:
        raise FileExistsError(f"{folder} holds a run; resume it, or name another folder")
    there = json.loads(path.read_text())
    differing = [name for name in sorted({*there, *wanted}) if there.get(name) != wanted.get(name)]
    if differing:
        told = ", ".join(f"{name} {there.get(name)!r} there, {wanted.get(name)!r} here" for name in differing)
        raise ValueError(f"the run in {folder} has other settings: {told}")


def _data(config: TrainConfig, folder: Path) -> list[Dataset]:
    """The data sets, generated if none is named."""
    board = config.parsed_board
    if config.data:
        data = [datasets.load(name) for name in config.data]
        for dataset in data:
            if dataset.board != board:
                raise ValueError(f"{dataset.folder} holds puzzles of {dataset.board}, not of {board}")
        return data
    wishes = {"clues": tuple(map(int, config.clues.split(":")))} if config.clues else {}
    excluded = [np.asarray(js.read_puzzles(name, board)) for name in config.exclude]
    if board == js.Board.classic():
        excluded.append(np.asarray(js.load(config.held_out)))
    print(f"generating {config.generate:,} puzzles", file=sys.stderr, flush=True)
    return [
        datasets.build(folder / "data", config.generate, seed=config.seed, board=board, resume=True,
                       exclude=np.concatenate(excluded) if excluded else None, **wishes)
    ]  # fmt: skip


def _batches(
    data: Sequence[Dataset], config: TrainConfig, forward: networks.Forward, key: Array, mesh: Mesh, start: int
) -> Iterator[Batch]:
    """The puzzles of every step from ``start`` on: as many from each data set, dealt out over the devices."""
    needed = puzzles_needed(config, mesh.size)
    if needed % len(data):
        raise ValueError(f"the {needed} puzzles of a step can't come from {len(data)} data sets in equal parts")
    augment = not networks.get(config.network).equivariant
    streams = [
        datasets.batches(dataset, jax.random.fold_in(key, number), needed // len(data), augment=augment, start=start)
        for number, dataset in enumerate(data)
    ]
    split = NamedSharding(mesh, PartitionSpec("batch"))
    # dealt in turn, so that each device and each kind of position sees every data set
    for parts in zip(*streams, strict=True):
        whole = parts[0] if len(parts) == 1 else jax.tree.map(
            lambda *arrays: jax.numpy.stack(arrays, axis=1).reshape(needed, *arrays[0].shape[1:]), *parts)  # fmt: skip
        yield jax.device_put(whole, split)


def _iterations(config: TrainConfig, step: int) -> int:
    """Iterations of the network at a step: they rise in stages, as early on few teach as much and cost less."""
    first, last = config.iterations
    stage = min((step - 1) * _STAGES // config.steps, _STAGES - 1)
    return round(first + (last - first) * stage / (_STAGES - 1))


def _forward(config: TrainConfig, step: int) -> networks.Forward:
    sizes = config.parsed_sizes
    if iterations := _iterations(config, step):
        sizes["iterations"] = iterations
    return networks.make_forward(config.network, config.parsed_board, **sizes)


@functools.lru_cache(maxsize=_STAGES)
def _compiled_update(config: TrainConfig, forward: networks.Forward, mesh: Mesh) -> Any:
    update = make_update(config, forward, mesh)
    return jax.jit(update, donate_argnums=0, compiler_options=compiler_options())


def _validation(config: TrainConfig, key: Array) -> Any:
    """A function from parameters to metrics on fixed positions of held-out puzzles, by the network as it will be."""
    board = config.parsed_board
    puzzles = np.asarray(js.load(config.held_out))
    grids = js.solve(puzzles, board=board).grids
    forward = _forward(config, config.steps)
    sized = dataclasses.replace(config, batch_size=256, microbatch=0)
    needed = puzzles_needed(sized, 1)
    rows = np.resize(np.arange(len(puzzles)), needed)
    batch = Batch(puzzles[rows], grids[rows], np.zeros(needed, np.int32), np.zeros(needed, np.float32))

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def make(key: Array, batch: Batch) -> Any:
        return draw_positions(sized, forward, key, batch, jax.numpy.float32(0), 1)

    positions = make(jax.random.fold_in(key, 3), jax.tree.map(jax.numpy.asarray, batch))

    @jax.jit
    def measure(params: networks.Params, part: Any) -> Metrics:
        cells, count = (jax.numpy.maximum(number.sum(), 1) for number in (open_cells(part), part.useful))
        return objective(forward, params, part, config.ramp, config.value_weight, cells, count)[1]

    def validate(params: networks.Params) -> dict[str, float]:
        parts = [jax.tree.map(lambda x, i=i: x[i : i + 32], positions) for i in range(0, 256, 32)]
        return summary(jax.tree.map(lambda *sums: sum(sums), *(jax.device_get(measure(params, p)) for p in parts)))

    return validate


def _manager(folder: Path, config: TrainConfig) -> ocp.CheckpointManager:
    options = ocp.CheckpointManagerOptions(max_to_keep=config.keep, enable_async_checkpointing=False)
    return ocp.CheckpointManager(folder / "checkpoints", options=options)


def _save(checkpoints: ocp.CheckpointManager, step: int, state: TrainState, seconds: float) -> None:
    checkpoints.save(
        step,
        args=ocp.args.Composite(state=ocp.args.StandardSave(state), clock=ocp.args.JsonSave({"seconds": seconds})),
        force=True,
    )


def _restored(checkpoints: ocp.CheckpointManager, like: TrainState) -> tuple[TrainState, float]:
    abstract = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), like)
    args = ocp.args.Composite(state=ocp.args.StandardRestore(abstract), clock=ocp.args.JsonRestore())
    found = checkpoints.restore(checkpoints.latest_step(), args=args)
    return found["state"], found["clock"]["seconds"]


def _export(
    network: networks.Network, config: TrainConfig, data: Sequence[Dataset], folder: Path, recorder: Recorder,
    metrics: dict[str, float],
) -> None:  # fmt: skip
    device = jax.devices()[0]
    networks.save_network(
        network,
        folder / "network",
        training=dataclasses.asdict(config),
        data=[_told(dataset) for dataset in data],
        seed=config.seed,
        device=f"{jax.device_count()} x {device.device_kind or device.platform}",
        versions={"jax": jax.__version__},
        seconds=round(recorder.seconds),
        metrics=metrics,
    )


def _told(dataset: Dataset) -> dict[str, Any]:
    """What a network's card says of a data set."""
    card = dataset.card
    return {"puzzles": card.count, "seed": card.seed, "wishes": card.wishes, "excluded": card.excluded,
            "grades": card.grades, "made_with": card.made_with}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status."""
    config, args = parse_arguments("Trains a network on solved puzzles.", argv)
    if args.devices or jax.config.jax_num_cpu_devices < 0:
        jax.config.update("jax_num_cpu_devices", args.devices or usable_cores())
    try:
        train(config, args.output, resume=args.resume, tensorboard=args.tensorboard)
    except (FileExistsError, FileNotFoundError, ValueError, ImportError) as error:
        print(f"train: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
