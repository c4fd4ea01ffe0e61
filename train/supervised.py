"""Supervised training of a network on solved puzzles.

    python -m train.supervised --preset cpu --output runs/cube

trains, writes checkpoints, ``metrics.jsonl`` and, at the end, the averaged parameters as ``network.safetensors`` with
their card. ``--resume`` continues an interrupted run; on a CPU it ends in the same weights, bit for bit.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsudoku import datasets, networks
from jaxsudoku.runtime.terminal.progress import Screen

from .boards import (
    check_boards,
    check_division,
    configs_of,
    initial_boards,
    no_sums,
    puzzles_in_turn,
    summary_of_others,
    take_turns,
)
from .command import run_command
from .config import TrainConfig
from .devices import on_one_device, whole_mesh
from .folder import save_network
from .loop import Run, Task, check_startable, no_position, opened, run_task
from .positions import puzzles_needed
from .presets import PRESETS
from .processes import Processes
from .puzzles import load_held_out, open_data
from .step import compiled_step, load_start, make_forward
from .validation import Validation


def train(
    config: TrainConfig,
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    tensorboard: bool = False,
    stop_at: int | None = None,
) -> networks.Network:
    """Trains a network on all devices of all processes that ``jaxsudoku.distributed.start`` has joined.

    Ctrl-C and SIGTERM end it after the current step, with a checkpoint; a second signal ends it at once. Several
    processes call it with the same settings and the same folder, which they share. The first one writes metrics, the
    log and the network, all write checkpoints. A signal to one of them ends all after the same step.

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
        the run to resume; or that differ from those of another process.
      FloatingPointError: training has diverged. The last checkpoint is from before.
      ImportError: tensorboard is set and tensorboardX is missing.
      Stop: a signal ended the run; ``advice`` says how to continue.
      ProcessError: another process has ended.
    """
    with Processes() as processes:
        screen = Screen(bar=processes.first, messages=processes.first)
        return _train(config, Path(folder).absolute(), resume, tensorboard, stop_at, processes, screen)


def _train(
    config: TrainConfig,
    folder: Path,
    resume: bool,
    tensorboard: bool,
    stop_at: int | None,
    processes: Processes,
    screen: Screen,
) -> networks.Network:
    """``train``, as one of some processes."""
    mesh = whole_mesh()
    config = config.resolve(config.board, jax.default_backend())
    check_startable(folder, config, resume, processes, stop_at=stop_at)
    configs = configs_of(config)
    held_out = _check(configs, mesh.size)
    processes.exchange("checked")
    with opened(folder, mesh, screen, processes) as signals:
        data = [open_data(config, held_out, folder / "data", screen, processes)]
        data += [[datasets.load(name)] for name in config.data.others]
        key = jax.random.key(config.seed)
        state_key, puzzles_key, steps_key, validation_key = (jax.random.fold_in(key, number) for number in range(4))
        forward = make_forward(config, config.network.saved_iterations)
        validation = Validation(config, forward, held_out, validation_key, processes)

        @functools.cache
        def program(iterations: int | None) -> Any:
            steps = [compiled_step(each, make_forward(each, iterations), mesh) for each in configs]
            return take_turns(steps)

        def batches(step: int) -> Any:
            puzzles = puzzles_in_turn(data, configs, puzzles_key, mesh, step)
            return lambda state: next(puzzles)

        task = Task(
            unit=1,
            state=initial_boards(configs, state_key, mesh),
            sums=lambda: no_sums(len(configs)),
            program=lambda step: program(config.iterations_at(step)),
            data=batches,
            metrics=lambda sums: sums.first,
            others=lambda sums: dict(zip(config.data.others, sums.others, strict=True)),
            further=summary_of_others,
            validate=lambda state: validation(on_one_device(state.average)),
            compare=lambda state: {},
            nothing=no_position(config),
            other_devices=lambda message: screen.say(f"{message}: positions differ on {mesh.size}"),
        )
        run = Run(folder, config, mesh, screen, signals, processes, tensorboard, stop_at)
        state, seconds = run_task(task, run, steps_key)
        network = networks.Network(config.network.architecture, forward, jax.device_get(state.average))
        if int(state.step) == config.steps:
            metrics = validation(network.params)
            if processes.first:
                save_network(network, folder, config, list(itertools.chain(*data)), seconds, metrics)
        return network


def _check(configs: Sequence[TrainConfig], devices: int) -> np.ndarray:
    """Raises the errors of ``train`` that settings cause, before anything is written; the held-out puzzles."""
    config = configs[0]
    puzzles_needed(config, devices)
    forward = make_forward(config, config.network.saved_iterations)
    forward.shapes()  # fails for boards that the network can't see
    if config.network.start:
        load_start(config.network.start, config.network.architecture, forward)
    held_out = load_held_out(config)
    check_boards(configs, devices)
    return held_out


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status: 0, 1 if training failed, 2 after a usage error, 128 + a signal."""
    return run_command(
        "train.supervised",
        "Trains a network on solved puzzles.",
        PRESETS,
        argv,
        lambda config, args: train(config, args.output, resume=args.resume, tensorboard=args.tensorboard),
        check_division,
    )


if __name__ == "__main__":
    sys.exit(main())
