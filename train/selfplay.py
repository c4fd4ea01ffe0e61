"""Self-play: a network learns from its own search, from random weights and without solutions.

    python -m train.selfplay --board 4 --minutes 5 --output runs/zero4

alternates games by Gumbel MuZero search with training on their results. It writes checkpoints of the whole state,
including the replay buffer, ``metrics.jsonl`` and, at the end, the averaged parameters as ``network.safetensors`` with
their card. ``--resume`` continues an interrupted run; on a CPU it ends with the same weights, bit for bit.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxsudoku import networks
from jaxsudoku.networks import Forward
from jaxsudoku.runtime.terminal.progress import Screen

from .arena import Arena
from .command import run_command
from .devices import on_one_device, whole_mesh
from .folder import save_network, saved_steps
from .loop import Run, Training, check_startable, no_position, opened, run_training
from .objective import summary as means
from .positions import puzzles_needed
from .processes import Processes
from .record import arena_line
from .replay import Replay
from .rounds import Sums, ZeroState, networks_at, no_sums, placed_round_state, round_at, summary
from .selfplay_config import ZeroConfig
from .selfplay_presets import PRESETS
from .step import TrainState, load_start, make_forward, saved_forward
from .stream import Stream
from .validation import Validation

#: Number of rounds timed for ``--minutes`` after the first, which compiles, and the share of the time available for
#: rounds and validations; the rest is for checkpoints and the end.
_TRIAL, _PLAYED = 3, 0.9


def self_play(
    config: ZeroConfig,
    folder: str | os.PathLike[str],
    *,
    minutes: float | None = None,
    resume: bool = False,
    tensorboard: bool = False,
    stop_at: int | None = None,
) -> networks.Network:
    """Trains a network by self-play on all devices of all processes that ``jaxsudoku.distributed.start`` has joined.

    Ctrl-C and SIGTERM end it after the current round, with a checkpoint; a second signal ends it at once. Several
    processes call it with the same settings and the same folder, as ``supervised.train``. Each device plays its own
    games and learns from them; gradients are summed over all.

    Args:
      config: the settings.
      folder: the folder for puzzles (if generated), checkpoints, metrics and the network.
      minutes: time of the whole run, which determines the steps instead of the settings; a resumed run keeps its steps.
      resume: continue the run in the folder, if there is one.
      tensorboard: write TensorBoard files too.
      stop_at: end after the round that reaches this step, with a checkpoint; None for the last one.

    Returns:
      The network with the averaged parameters; also saved as ``network.safetensors`` after the last step.

    Raises:
      FileExistsError, BlockingIOError, ValueError, FloatingPointError, ImportError, Stop, ProcessError: as
        ``supervised.train``.
    """
    with Processes() as processes:
        begun = time.perf_counter()
        if minutes is not None and not 0 < minutes < math.inf:
            raise ValueError(f"the time must be above 0 minutes, not {minutes}")
        screen = Screen(bar=processes.first, messages=processes.first)
        run = Run(Path(folder).absolute(), whole_mesh(), processes, screen, tensorboard, stop_at)
        config = config.resolve(config.board, jax.default_backend())
        if minutes and resume and (steps := saved_steps(run.folder)):
            config, minutes = dataclasses.replace(config, steps=steps), None
        check_startable(run, config, resume, minutes=minutes)
        stream = _check(config, run.mesh.size, timed=minutes is not None)
        with opened(run) as signals:
            stream.open(run.folder / "data", screen, processes)
            training = SelfPlay(config, run, stream)
            if minutes:
                training.set_steps(begun + 60 * minutes)
            return training.network(*run_training(training, signals))


class SelfPlay(Training):
    """Rounds of self-play on the puzzles of a stream."""

    config: ZeroConfig

    def __init__(self, config: ZeroConfig, run: Run, stream: Stream) -> None:
        super().__init__(config, run, stream.held_out)
        self.stream, self.unit = stream, config.play.updates
        self.names = [learner.network.architecture for learner in config.learners()[1:]]
        nothing = f"no game was solved, or {no_position(config)}; or raise budget or searched"
        self.nothing = f"nothing to learn from: {nothing}"
        platform = run.mesh.devices.flat[0].platform
        self.arena, self.test = (
            Arena(config.board, config.arena, puzzles, platform) if len(puzzles) else None
            for puzzles in (stream.arena, stream.test)
        )

    def set_steps(self, end: float) -> None:
        """Sets the steps to those that can be done until a time, measured in the first process."""
        steps = int(self.run.processes.exchange("steps", str(_steps_until(end, self)))[0])
        self.config = dataclasses.replace(self.config, steps=steps)

    def initial_state(self) -> ZeroState:
        return placed_round_state(self.config, self.state_key, self.run.mesh)

    def no_sums(self) -> Sums:
        return no_sums(len(self.names))

    def program(self, step: int) -> Any:
        return round_at(self.config, step, self.run.mesh)

    def data(self, step: int) -> Iterator[Any]:
        return self.stream.rounds(self.data_key, self.run.mesh, step // self.unit)

    def further(self, sums: Sums) -> dict[str, float]:
        losses = {f"{name}_loss": means(total)["loss"] for name, total in zip(self.names, sums.others, strict=True)}
        return summary(sums.played) | losses

    def on_other_devices(self, message: str) -> None:
        devices = self.run.mesh.size
        raise ValueError(f"{message}, and there are {devices}: resume on as many, of any number of processes")

    def compare(self, state: ZeroState, test: bool = False) -> dict[str, dict[str, float]]:
        """``Training.compare``, or the test at the end."""
        playing = {
            learner.network.architecture: (_in_arena(learner), on_one_device(trained.average))
            for learner, trained in self._learners(state)
        }
        arena = self.test if test else self.arena
        return arena.compare(playing, self.run.processes) if arena else {}

    def _learners(self, state: ZeroState) -> Iterator[tuple[ZeroConfig, TrainState]]:
        """The settings and the states of all networks, first the one that plays."""
        return zip(self.config.learners(), (state.learner, *state.rivals), strict=True)

    def network(self, state: ZeroState, seconds: float) -> networks.Network:
        """The network that plays, from the last state; after the last step all networks are tested and saved."""
        trained = [
            networks.Network(learner.network.architecture, saved_forward(learner), jax.device_get(each.average))
            for learner, each in self._learners(state)
        ]
        if int(state.step) == self.config.steps:
            tested = self.compare(state, test=True)
            for name, values in tested.items():
                self.run.screen.say(f"test: {arena_line(name, values)}")
            for learner, network in zip(self.config.learners(), trained, strict=True):
                self._save(learner, network, tested.get(network.name, {}), seconds)
        return trained[0]

    def _save(self, learner: ZeroConfig, network: networks.Network, tested: Any, seconds: float) -> None:
        """Validates and saves a network with its test results, values by name."""
        file, validation, processes = "network", self.validation, self.run.processes
        if network.name in self.names:
            file = f"network-{network.name}"
            validation = Validation(learner, self.stream.held_out, self.validation_key, processes)
        facts = validation(network.params) | {f"test_{name}": value for name, value in tested.items()}
        if processes.first:
            save_network(network, self.run.folder, learner, self.stream.data, seconds, facts, file)


def _in_arena(learner: ZeroConfig) -> Forward:
    """A network with its settings for the arena."""
    last, chosen = learner.iterations_at(learner.steps), learner.arena.arena_iterations
    return make_forward(learner, last if last is None or chosen is None else chosen)


def _check_devices(config: ZeroConfig, devices: int) -> None:
    """Raises ValueError if games, positions or the buffer can't be divided among this many devices."""
    if config.play.games % devices:
        raise ValueError(f"games {config.play.games} can't be divided into equal parts for {devices} devices")
    puzzles_needed(config, devices)
    Replay(config.resolve(config.board, ""), devices)


def _check(config: ZeroConfig, devices: int, *, timed: bool = False) -> Stream:
    """Raises errors of ``self_play`` caused by resolved settings, before anything is written; returns the puzzles.

    With ``timed`` the steps are not checked, as they are determined by the time.
    """
    if config.steps % config.play.updates and not timed:
        raise ValueError(f"steps {config.steps} must be a multiple of updates, {config.play.updates}")
    _check_devices(config, devices)
    Replay(config, devices).check_memory()
    networks_at(config, config.steps)
    for learner in config.learners():
        _in_arena(learner)
        load_start(learner)
    return Stream(config, devices)


def _steps_until(end: float, training: SelfPlay) -> int:
    """The number of steps possible until a time, measured by a few discarded rounds and a validation."""
    begun, config = time.perf_counter(), training.config
    state, sums = training.initial_state(), training.no_sums()
    rounds, run = training.data(0), training.program(config.steps)
    times = []
    for _, puzzles in zip(range(_TRIAL + 1), rounds, strict=False):
        state, sums = jax.block_until_ready(run(state, sums, puzzles, training.steps_key))
        times.append(time.perf_counter())
    each = (times[-1] - times[0]) / _TRIAL
    iterations = {config.iterations_at(step) for step in range(1, config.steps + 1)}
    compiling = (times[0] - begun) * len(iterations)  # once more, with the number of steps
    for _ in range(2):  # the first time it compiles
        checked = time.perf_counter()
        training.validate(state)
        training.compare(state)
    each += (time.perf_counter() - checked) * min(1, training.unit / config.validate_every)
    return max(int(_PLAYED * (end - time.perf_counter() - compiling) / each), 1) * training.unit


def _add_flags(parser: argparse.ArgumentParser) -> None:
    time_of_run = parser.add_mutually_exclusive_group()
    text = "time of the whole run, which determines the steps, measured by the first rounds"
    time_of_run.add_argument("--minutes", type=float, metavar="N", help=f"minutes {text}")
    time_of_run.add_argument("--hours", type=float, metavar="N", help=f"hours {text}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 0, 1 if training failed, 2 after a usage error, or 128 + a signal."""

    def run(config: ZeroConfig, args: argparse.Namespace) -> None:
        minutes = args.minutes if args.hours is None else 60 * args.hours
        if minutes is not None and config.steps != PRESETS[args.preset].steps:
            raise ValueError("steps are set by --steps, or by --minutes or --hours, not by both")
        self_play(config, args.output, minutes=minutes, resume=args.resume, tensorboard=args.tensorboard)

    text = "Trains a network by its own search, without solutions."
    return run_command("train.selfplay", text, PRESETS, argv, run, _check_devices, _add_flags)


if __name__ == "__main__":
    sys.exit(main())
