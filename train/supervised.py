"""Supervised training of a network on solved puzzles.

    python -m train.supervised --preset cpu --output runs/cube

trains, writes checkpoints, ``metrics.jsonl`` and, at the end, the averaged parameters as ``network.safetensors`` with
their card. ``--resume`` goes on where a run was cut off; on a CPU it ends in the same weights, bit for bit.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku import networks
from jaxsudoku.batches import usable_cores
from jaxsudoku.datasets import Dataset
from jaxsudoku.files import TEMPORARY, JsonError, read_json, write_file
from jaxsudoku.generation import GenerationError
from jaxsudoku.locks import SUFFIX, OutputLock, check_unlocked
from jaxsudoku.terminal.failure import described as told
from jaxsudoku.terminal.progress import Screen
from jaxsudoku.terminal.stop import Signals, Stop

from .checkpoints import Checkpoints
from .config import TrainConfig, parse_arguments
from .feed import check_data, described, held_out_puzzles, open_data, puzzles_of_steps
from .objective import Metrics, no_metrics
from .record import Recorder
from .update import (
    compiled_update,
    first_state,
    fitting_devices,
    forward_at,
    placed,
    puzzles_needed,
    start_params,
    trained_forward,
)
from .validation import Validation


def train(
    config: TrainConfig, folder: str | os.PathLike[str], *, resume: bool = False, tensorboard: bool = False,
    stop_at: int | None = None,
) -> networks.Network:  # fmt: skip
    """Trains a network on all devices of this process.

    Ctrl-C and SIGTERM end it after the step that it is at, with a checkpoint; a second one ends it at once.

    Args:
      config: the settings.
      folder: where the data (if generated), checkpoints, metrics and the network go.
      resume: go on with the run in the folder, if there is one.
      tensorboard: write TensorBoard files too.
      stop_at: leave off after this step, with a checkpoint, as if stopped there; None for the end.

    Returns:
      The network with the averaged parameters; also saved as ``network.safetensors`` when the run is at its end.

    Raises:
      FileExistsError: the folder isn't empty, and resume isn't set; or it holds no run to resume, but other files.
      BlockingIOError: another process is training in the folder.
      ValueError: settings that make no sense or don't suit the data or the devices, or other ones than those of the
        run to resume.
      FloatingPointError: training has diverged. The last checkpoint is from before.
      ImportError: TensorBoard is asked for and tensorboardX is missing.
      Stop: a signal ended the run; ``advice`` says how to go on.
    """
    folder, screen = Path(folder).absolute(), Screen(bar=True)
    mesh = Mesh(np.asarray(jax.local_devices()), ("batch",))
    check_unlocked(folder)
    _check(config, folder, resume, mesh.size)
    folder.mkdir(parents=True, exist_ok=True)
    with OutputLock(folder), Signals() as signals:
        try:
            return _train(config, folder, mesh, signals, screen, tensorboard, stop_at)
        except Stop as stop:
            stop.advice = f"go on with --resume, from {stop.advice or 'what is there'}"
            raise
        finally:
            screen.clear()


def _train(
    config: TrainConfig, folder: Path, mesh: Mesh, signals: Signals, screen: Screen, tensorboard: bool,
    stop_at: int | None,
) -> networks.Network:  # fmt: skip
    data = open_data(config, folder / "data", screen)
    key = jax.random.key(config.seed)
    first_key, puzzles_key, steps_key, validation_key = (jax.random.fold_in(key, number) for number in range(4))
    forward = trained_forward(config)
    validate = Validation(config, forward, validation_key)
    everywhere = NamedSharding(mesh, PartitionSpec())
    state = placed(first_state(config, forward, first_key), mesh)
    sums, seconds = no_metrics(), 0.0
    _write_settings(config, folder)
    with Checkpoints(folder / "checkpoints", config.keep) as checkpoints:
        if checkpoints.latest is not None:
            state, clock = checkpoints.restore(state)
            sums, seconds = Metrics(*map(jax.numpy.float32, clock["sums"])), clock["seconds"]
            if (devices := clock["devices"]) != mesh.size:
                screen.say(f"the last checkpoint was made on {devices} devices: on {mesh.size} positions are others")
        sums = jax.device_put(sums, everywhere)
        begun, last = int(state.step), config.steps if stop_at is None else min(stop_at, config.steps)
        recorder = Recorder(folder, config.steps, config.batch_size, screen, begun, seconds, tensorboard)

        def save() -> None:
            _check_sums(sums, config, int(state.step))
            told = {"seconds": recorder.seconds, "sums": [float(total) for total in sums], "devices": mesh.size}
            checkpoints.save(state, told)

        between_steps = True
        try:
            puzzles = puzzles_of_steps(data, config, puzzles_key, mesh, begun)
            for step, batch in zip(range(begun + 1, last + 1), puzzles, strict=False):
                with signals.held():
                    between_steps = False
                    update = compiled_update(config, forward_at(config, step), mesh)
                    state, sums = update(state, sums, batch, steps_key)
                    if step == begun + 1 or config.iterations_at(step) != config.iterations_at(step - 1):
                        _check_sums(sums, config, step)
                        recorder.mark(step)  # what was compiled is none of the pace
                    recorder.show(step, sums)
                    if step % config.report_every == 0 or step == config.steps:
                        _check_sums(sums, config, step)
                        recorder.train(step, sums)
                        sums = jax.device_put(no_metrics(), everywhere)
                    if step % config.validate_every == 0 or step == config.steps:
                        recorder.validate(step, validate(_on_one_device(state.average)))
                        recorder.mark(step)
                    if step % config.save_every == 0 or step == last:
                        save()
                        recorder.mark(step)
                    between_steps = True
        except Stop as stop:
            if between_steps:  # else a second signal broke into a step
                save()
            stop.advice = f"step {checkpoints.latest or 0:,} of {config.steps:,}"
            raise
        finally:
            recorder.close()
        network = networks.Network(config.network, forward, jax.device_get(state.average))
        if int(state.step) == config.steps:
            metrics = validate(_on_one_device(state.average))
            networks.save_network(network, folder / "network", **_facts(config, data, recorder.seconds, metrics))
        return network


# ---------------------------------------------------------------------- what can go wrong


def _check(config: TrainConfig, folder: Path, resume: bool, devices: int) -> None:
    """Raises what ``train`` does for settings, before anything is written."""
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise FileExistsError(f"{folder} isn't empty: go on with --resume, or name another folder")
    if resume and folder.exists() and not (folder / _SETTINGS).exists():
        # a run that was stopped while its data were generated has these alone
        ours = ("data", SUFFIX, f"{_SETTINGS}{TEMPORARY}")
        if others := sorted(path.name for path in folder.iterdir() if path.name not in ours):
            raise FileExistsError(f"{folder} holds no run to resume, but {others[0]}: name another folder")
    if (folder / _SETTINGS).exists():
        try:
            there, here = read_json(folder / _SETTINGS), _settings(config)
        except JsonError as error:
            raise ValueError(f"{folder / _SETTINGS}: no settings of a run ({error})") from error
        differing = [name for name in sorted({*there, *here}) if there.get(name) != here.get(name)]
        if differing:
            listed = ", ".join(f"{name} is {there.get(name)!r} there, {here.get(name)!r} here" for name in differing)
            raise ValueError(f"the run in {folder} has other settings: {listed}")
    puzzles_needed(config, devices)
    for forward in (forward_at(config, 1), trained_forward(config)):
        forward.shapes()
    if config.start:
        start_params(config, trained_forward(config))
    held_out_puzzles(config)
    check_data(config, devices)


def _check_sums(sums: Metrics, config: TrainConfig, step: int) -> None:
    """Raises if training has diverged, or has nothing to learn from."""
    if not math.isfinite(sums.loss):
        raise FloatingPointError(f"the loss is {float(sums.loss)} by step {step:,}: try a lower learning_rate")
    if float(sums.made) and not float(sums.positions):
        raise ValueError(f"the kinds {' '.join(config.kinds)} leave nothing to learn on this board: their rules solve "
                         "all positions; choose weaker rules or harder puzzles")  # fmt: skip


# ---------------------------------------------------------------------- what is written, and where

_SETTINGS = "config.json"


def _settings(config: TrainConfig) -> dict[str, Any]:
    """The config as JSON gives it back."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def _write_settings(config: TrainConfig, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / _SETTINGS, f"{json.dumps(_settings(config), indent=2)}\n".encode())


def _facts(config: TrainConfig, data: Sequence[Dataset], seconds: float, metrics: dict[str, float]) -> dict[str, Any]:
    """What a network's card says of how it was trained."""
    device = jax.devices()[0]
    # where files lay on one machine is nothing to others
    named = {"data": [Path(path).name for path in config.data], "exclude": [Path(path).name for path in config.exclude],
             "start": Path(config.start).name}  # fmt: skip
    return {
        "training": dataclasses.asdict(config) | named,
        "data": [described(dataset) for dataset in data],
        "seed": config.seed,
        "device": f"{jax.device_count()} x {device.device_kind or device.platform}",
        "versions": {"jax": jax.__version__},
        "seconds": round(seconds),
        "metrics": metrics,
    }


def _on_one_device(params: networks.Params) -> networks.Params:
    """Parameters that every device has, as one of them has them."""
    return jax.tree.map(lambda leaf: leaf.addressable_shards[0].data, params)


# ---------------------------------------------------------------------- the command line


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status: 0, 1 if training failed, 2 after a usage error, 128 + a signal."""
    config, args = parse_arguments("Trains a network on solved puzzles.", argv)
    if args.devices or "JAX_NUM_CPU_DEVICES" not in os.environ:
        jax.config.update("jax_num_cpu_devices", args.devices or fitting_devices(config, usable_cores()))
    try:
        train(config, args.output, resume=args.resume, tensorboard=args.tensorboard)
    except Stop as stop:
        print(f"train: stopped by {stop.signal.name}; {stop.advice}", file=sys.stderr, flush=True)
        os._exit(128 + stop.signal)  # a usual exit would wait for threads that can't be interrupted
    except (OSError, ValueError, ImportError) as error:
        print(f"train: error: {told(error)}", file=sys.stderr)
        return 2
    except (FloatingPointError, GenerationError) as error:
        print(f"train: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
