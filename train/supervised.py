"""Supervised training of a network on solved puzzles.

    python -m train.supervised --preset cpu --output runs/cube

trains, writes checkpoints, ``metrics.jsonl`` and, at the end, the averaged parameters as ``network.safetensors`` with
their card. ``--resume`` continues an interrupted run; on a CPU it ends with the same weights, bit for bit.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsudoku import datasets, networks
from jaxsudoku.runtime.terminal.progress import Screen

from .boards import (
    BoardsData,
    BoardsState,
    BoardsSums,
    Held,
    check_boards,
    check_division,
    compiled_turns,
    configs_of,
    turn,
)
from .command import run_command
from .devices import whole_mesh
from .folder import save_network
from .loop import Run, Training, check_startable, no_position, opened, run_training
from .objective import Metrics, no_metrics, summary
from .pool import empty_pool
from .positions import puzzles_needed
from .presets import PRESETS
from .processes import Processes
from .puzzles import load_held_out, open_data, puzzles_of_steps
from .step import initial_state, load_start, no_losses, place, saved_forward
from .train_config import TrainConfig


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
      folder: the folder for data (if generated), checkpoints, metrics and the network.
      resume: continue the run in the folder, if there is one.
      tensorboard: write TensorBoard files too.
      stop_at: end after this step, with a checkpoint, as if interrupted there; None for the last step.

    Returns:
      The network with the averaged parameters; also saved as ``network.safetensors`` after the last step.

    Raises:
      FileExistsError: the folder isn't empty, and resume isn't set; or it holds no run to resume, but other files.
      BlockingIOError: another process is training in the folder.
      ValueError: invalid settings, or settings that are incompatible with the data or the devices, or differ from those
        of the run to resume or of another process.
      FloatingPointError: training has diverged. The last checkpoint is from before.
      ImportError: tensorboard is set and tensorboardX is missing.
      Stop: a signal ended the run; ``advice`` says how to continue.
      ProcessError: another process has ended.
    """
    with Processes() as processes:
        screen = Screen(bar=processes.first, messages=processes.first)
        run = Run(Path(folder).absolute(), whole_mesh(), processes, screen, tensorboard, stop_at)
        config = config.resolve(config.board, jax.default_backend())
        check_startable(run, config, resume)
        configs = configs_of(config)
        held_out = _check(configs, run.mesh.size)
        with opened(run) as signals:
            training = Supervised(configs, run, held_out)
            return training.network(*run_training(training, signals))


class Supervised(Training):
    """Supervised training on solved puzzles of one or more boards; ``configs`` as from ``configs_of``."""

    def __init__(self, configs: tuple[TrainConfig, ...], run: Run, held_out: np.ndarray) -> None:
        config = configs[0]
        first = open_data(config, held_out, run.folder / "data", run.screen, run.processes)
        super().__init__(config, run, held_out)
        self.configs, self.names, self.nothing = configs, config.data.others, no_position(config)
        self.datasets = [first, *([datasets.load(name)] for name in self.names)]

    def initial_state(self) -> BoardsState:
        learner = initial_state(self.config, self.state_key)

        def held(config: TrainConfig) -> Held:
            pool = empty_pool(saved_forward(config), learner.params, config.batch_size)
            state = place(learner._replace(losses=no_losses(config.board), pool=pool), self.run.mesh)
            return Held(state.losses, state.pool)

        return BoardsState(place(learner, self.run.mesh), tuple(map(held, self.configs[1:])))

    def no_sums(self) -> BoardsSums:
        return BoardsSums(no_metrics(), tuple(no_metrics() for _ in self.names))

    def program(self, step: int) -> Any:
        return compiled_turns(self.configs, self.config.iterations_at(step), self.run.mesh)

    def data(self, step: int) -> Iterator[BoardsData]:
        done = np.bincount([turn(self.config, each) for each in range(1, step + 1)], minlength=len(self.configs))
        # the first board's puzzles are those of a run without others
        keys = [self.data_key, *(jax.random.fold_in(self.data_key, number) for number in range(1, len(self.configs)))]
        meshes = itertools.repeat(self.run.mesh)
        streams = list(map(puzzles_of_steps, self.datasets, self.configs, keys, meshes, done.tolist()))
        for number in (turn(self.config, each) for each in itertools.count(step + 1)):
            yield BoardsData(number, next(streams[number]))

    def further(self, sums: BoardsSums) -> dict[str, float]:
        """Means over all other boards; empty if none of them had a turn."""
        if not sums.others:
            return {}
        total: Metrics = jax.tree.map(lambda *parts: jnp.stack(parts).sum(), *sums.others)
        return {f"others_{name}": value for name, value in summary(total).items()} if total.made else {}

    def on_other_devices(self, message: str) -> None:
        self.run.screen.say(f"{message}: positions differ on {self.run.mesh.size}")

    def network(self, state: BoardsState, seconds: float) -> networks.Network:
        """The network of the last state, saved after the last step."""
        config = self.config
        network = networks.Network(config.network.architecture, self.validation.forward, jax.device_get(state.average))
        if int(state.step) == config.steps:
            metrics = self.validation(network.params)
            if self.run.processes.first:
                save_network(network, self.run.folder, config, list(itertools.chain(*self.datasets)), seconds, metrics)
        return network


def _check(configs: Sequence[TrainConfig], devices: int) -> np.ndarray:
    """Raises errors of ``train`` caused by settings, before anything is written; returns the held-out puzzles."""
    config = configs[0]
    puzzles_needed(config, devices)
    load_start(config)
    held_out = load_held_out(config)
    check_boards(configs, devices)
    return held_out


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 0, 1 if training failed, 2 after a usage error, or 128 + a signal."""
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
