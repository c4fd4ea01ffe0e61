"""Supervised training of a network on solved puzzles.

    python -m train.supervised --preset cpu --output runs/cube

trains, writes checkpoints, ``metrics.jsonl`` and, at the end, the averaged parameters as ``network.safetensors`` with
their card. ``--resume`` continues an interrupted run; on a CPU it ends in the same weights, bit for bit.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku import networks
from jaxsudoku.batches import usable_cores
from jaxsudoku.locks import OutputLock, check_unlocked
from jaxsudoku.terminal.progress import Screen
from jaxsudoku.terminal.stop import Signals, Stop

from .command import exit_status
from .config import TrainConfig
from .flags import parse_arguments
from .folder import Checkpoints, check_folder, training_facts, write_settings
from .objective import Metrics, no_metrics
from .positions import fitting_devices, puzzles_needed
from .presets import PRESETS
from .puzzles import check_data, load_held_out, open_data, puzzles_of_steps
from .record import Recorder
from .step import compiled_step, initial_state, load_start, make_forward, place
from .validation import Validation


def train(
    config: TrainConfig,
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    tensorboard: bool = False,
    stop_at: int | None = None,
) -> networks.Network:
    """Trains a network on all devices of this process.

    Ctrl-C and SIGTERM end it after the current step, with a checkpoint; a second signal ends it at once.

    Args:
      config: the settings.
      folder: where the data (if generated), checkpoints, metrics and the network are written.
      resume: continue the run in the folder, if there is one.
      tensorboard: write TensorBoard files too.
      stop_at: end after this step, with a checkpoint, as if interrupted there; None for the last step.

    Returns:
      The network with the averaged parameters; also saved as ``network.safetensors`` after the last step.

    Raises:
      FileExistsError: the folder isn't empty, and resume isn't set; or it holds no run to resume, but other files.
      BlockingIOError: another process is training in the folder.
      ValueError: invalid settings, or settings that don't suit the data or the devices, or that differ from those of
        the run to resume.
      FloatingPointError: training has diverged. The last checkpoint is from before.
      ImportError: tensorboard is set and tensorboardX is missing.
      Stop: a signal ended the run; ``advice`` says how to continue.
    """
    folder, screen = Path(folder).absolute(), Screen(bar=True)
    config = config.resolve(config.board, jax.default_backend())
    mesh = Mesh(np.asarray(jax.local_devices()), ("batch",))
    check_unlocked(folder)
    check_folder(folder, config, resume)
    held_out = _check(config, mesh.size)
    folder.mkdir(parents=True, exist_ok=True)
    with OutputLock(folder), Signals() as signals:
        try:
            return _train(config, folder, held_out, mesh, signals, screen, tensorboard, stop_at)
        except Stop as stop:
            stop.advice = f"continue with --resume, from {stop.advice or 'what is there'}"
            raise
        finally:
            screen.clear()


def _train(
    config: TrainConfig,
    folder: Path,
    held_out: np.ndarray,
    mesh: Mesh,
    signals: Signals,
    screen: Screen,
    tensorboard: bool,
    stop_at: int | None,
) -> networks.Network:
    data = open_data(config, held_out, folder / "data", screen)
    key = jax.random.key(config.seed)
    state_key, puzzles_key, steps_key, validation_key = (jax.random.fold_in(key, number) for number in range(4))
    forward = make_forward(config, config.network.saved_iterations)
    validation = Validation(config, forward, held_out, validation_key)
    replicated = NamedSharding(mesh, PartitionSpec())
    state = place(initial_state(config, forward, state_key), mesh)
    sums, seconds = no_metrics(), 0.0
    write_settings(folder, config)
    with Checkpoints(folder, config.keep) as checkpoints:
        if checkpoints.latest is not None:
            state, log = checkpoints.restore(state)
            sums, seconds = Metrics(*map(jax.numpy.float32, log["sums"])), log["seconds"]
            if (devices := log["devices"]) != mesh.size:
                screen.say(f"the last checkpoint was made on {devices} devices: positions differ on {mesh.size}")
        sums = jax.device_put(sums, replicated)
        begun, last = int(state.step), config.steps if stop_at is None else min(stop_at, config.steps)
        recorder = Recorder(folder, config, screen, begun, seconds, tensorboard)

        def save() -> None:
            check_sums(sums, config, int(state.step))
            log = {"seconds": recorder.seconds, "sums": [float(total) for total in sums], "devices": mesh.size}
            checkpoints.save(state, log)

        def validate() -> dict[str, float]:
            return validation(jax.tree.map(lambda leaf: leaf.addressable_shards[0].data, state.average))

        between_steps = True
        try:
            puzzles = puzzles_of_steps(data, config, puzzles_key, mesh, begun)
            for step, batch in zip(range(begun + 1, last + 1), puzzles, strict=False):
                with signals.held():
                    between_steps = False
                    update = compiled_step(config, make_forward(config, config.iterations_at(step)), mesh)
                    state, sums = update(state, sums, batch, steps_key)
                    if step == begun + 1 or config.iterations_at(step) != config.iterations_at(step - 1):
                        check_sums(sums, config, step)
                        recorder.mark(step)  # compilation does not count in the pace
                    recorder.show(step, sums)
                    if step % config.report_every == 0 or step == config.steps:
                        check_sums(sums, config, step)
                        recorder.train(step, sums)
                        sums = jax.device_put(no_metrics(), replicated)
                    if step % config.validate_every == 0 or step == config.steps:
                        recorder.validate(step, validate())
                    if step % config.save_every == 0 or step == last:
                        save()
                        recorder.mark(step)
                    between_steps = True
        except Stop as stop:
            if between_steps:  # else a second signal interrupted a step
                save()
            stop.advice = f"step {checkpoints.latest or 0:,} of {config.steps:,}"
            raise
        finally:
            recorder.close()
        network = networks.Network(config.network.architecture, forward, jax.device_get(state.average))
        if int(state.step) == config.steps:
            facts = training_facts(config, data, recorder.seconds, validate())
            networks.save_network(network, folder / "network", **facts)
        return network


def _check(config: TrainConfig, devices: int) -> np.ndarray:
    """Raises the errors of ``train`` that settings cause, before anything is written; the held-out puzzles."""
    puzzles_needed(config, devices)
    forward = make_forward(config, config.network.saved_iterations)
    forward.shapes()  # fails for boards that the network can't see
    if config.network.start:
        load_start(config.network.start, config.network.architecture, forward)
    held_out = load_held_out(config)
    check_data(config, devices)
    return held_out


def check_sums(sums: Metrics, config: TrainConfig, step: int) -> None:
    """Raises FloatingPointError if training has diverged, ValueError if no position is useful."""
    if not math.isfinite(sums.loss):
        raise FloatingPointError(f"the loss is {float(sums.loss)} by step {step:,}: try a lower learning_rate")
    if float(sums.made) and not float(sums.positions):
        raise ValueError(
            f"no position is left open by the rules of kinds ({config.positions.rules}): choose weaker rules or "
            "harder puzzles"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status: 0, 1 if training failed, 2 after a usage error, 128 + a signal."""
    config, args = parse_arguments("train.supervised", "Trains a network on solved puzzles.", PRESETS, argv)
    if args.devices or "JAX_NUM_CPU_DEVICES" not in os.environ:
        jax.config.update("jax_num_cpu_devices", args.devices or fitting_devices(config, usable_cores()))
    return exit_status(lambda: train(config, args.output, resume=args.resume, tensorboard=args.tensorboard))


if __name__ == "__main__":
    sys.exit(main())
