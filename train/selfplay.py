"""Self-play: a network learns from its own search, from random weights and without solutions.

    python -m train.selfplay --board 4 --minutes 5 --output runs/zero4

plays puzzles by Gumbel MuZero search, learns from what the search found, and plays better. It writes checkpoints of
everything, also of the games that are kept, ``metrics.jsonl`` and, at the end, the averaged parameters as
``network.safetensors`` with their card. ``--resume`` continues an interrupted run; on a CPU it ends in the same
weights, bit for bit.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxsudoku import networks
from jaxsudoku.networks import Forward
from jaxsudoku.runtime.terminal.progress import Screen

from .arena import Arena
from .command import run_command
from .devices import on_one_device, whole_mesh
from .folder import save_network, saved_steps
from .loop import Run, Task, check_startable, no_position, opened, run_task
from .objective import Metrics
from .objective import summary as means
from .positions import puzzles_needed
from .processes import Processes
from .record import arena_line
from .replay import Replay
from .rounds import Sums, ZeroState, networks_at, no_sums, placed_round_state, round_at, summary
from .selfplay_config import ZeroConfig
from .selfplay_presets import PRESETS
from .step import load_start, make_forward
from .stream import Stream
from .validation import Validation

#: Rounds that are timed for ``--minutes`` after the first, which compiles, and the share of the time that rounds and
#: validations may take, beside checkpoints and the end.
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
      folder: where the puzzles (if generated), checkpoints, metrics and the network are written.
      minutes: time of the whole run, which sets its steps in place of the settings; a resumed run keeps those that it
        began with.
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
        screen = Screen(bar=processes.first, messages=processes.first)
        return _self_play(config, Path(folder).absolute(), minutes, resume, tensorboard, stop_at, processes, screen)


def _self_play(
    config: ZeroConfig,
    folder: Path,
    minutes: float | None,
    resume: bool,
    tensorboard: bool,
    stop_at: int | None,
    processes: Processes,
    screen: Screen,
) -> networks.Network:
    """``self_play``, as one of some processes."""
    begun, mesh = time.perf_counter(), whole_mesh()
    if minutes is not None and not 0 < minutes < math.inf:
        raise ValueError(f"the time must be above 0 minutes, not {minutes}")
    config = config.resolve(config.board, jax.default_backend())
    if minutes and resume and (steps := saved_steps(folder)):
        config, minutes = dataclasses.replace(config, steps=steps), None
    check_startable(folder, config, resume, processes, stop_at=stop_at, minutes=minutes)
    stream = _check(config, mesh.size, timed=minutes is not None)
    processes.exchange("checked")
    with opened(folder, mesh, screen, processes) as signals:
        stream.open(folder / "data", screen, processes)
        key = jax.random.key(config.seed)
        state_key, puzzles_key, rounds_key, validation_key = (jax.random.fold_in(key, number) for number in range(4))
        learners = config.learners()
        names = [learner.network.architecture for learner in learners]
        forwards = [make_forward(learner, learner.network.saved_iterations) for learner in learners]
        validation = Validation(config, forwards[0], stream.held_out, validation_key, processes)

        def compare(state: ZeroState, arena: Arena | None) -> dict[str, dict[str, float]]:
            each = zip(learners, names, (state.learner, *state.rivals), strict=True)
            playing = {name: (_in_arena(learner), on_one_device(trained.average)) for learner, name, trained in each}
            return arena.compare(playing, processes) if arena else {}

        def validate(state: ZeroState) -> dict[str, float]:
            return validation(on_one_device(state.average))

        arena, test = (_arena(config, puzzles, mesh) for puzzles in (stream.arena, stream.test))
        if minutes:
            end = begun + 60 * minutes
            steps = _steps_until(end, config, stream, mesh, lambda state: (validate(state), compare(state, arena)))
            steps = int(processes.exchange("steps", str(steps))[0])
            config = dataclasses.replace(config, steps=steps)
            learners = config.learners()

        def puzzles(step: int) -> Any:
            rounds = stream.rounds(puzzles_key, mesh, step // config.play.updates)
            return lambda state: next(rounds)

        def rivals(sums: Sums) -> dict[str, Metrics]:
            return dict(zip(names[1:], sums.rivals, strict=True))

        def further(sums: Sums) -> dict[str, float]:
            losses = {f"{name}_loss": means(total)["loss"] for name, total in rivals(sums).items()}
            return summary(sums.played) | losses

        def refuse(message: str) -> None:
            raise ValueError(f"{message}, and there are {mesh.size}: resume on as many, of any number of processes")

        task = Task(
            unit=config.play.updates,
            state=placed_round_state(config, state_key, mesh),
            sums=functools.partial(no_sums, len(config.rivals)),
            program=lambda step: round_at(config, step, mesh),
            data=puzzles,
            metrics=lambda sums: sums.metrics,
            others=rivals,
            further=further,
            validate=validate,
            compare=lambda state: compare(state, arena),
            nothing=f"nothing to learn from: no game was solved, or {no_position(config)}; or raise budget or searched",
            other_devices=refuse,
        )
        run = Run(folder, config, mesh, screen, signals, processes, tensorboard, stop_at)
        state, seconds = run_task(task, run, rounds_key)
        trained = [
            networks.Network(name, forward, jax.device_get(learner.average))
            for name, forward, learner in zip(names, forwards, (state.learner, *state.rivals), strict=True)
        ]
        if int(state.step) == config.steps:
            tested = compare(state, test)
            for name, values in tested.items():
                screen.say(f"test: {arena_line(name, values)}")
            for learner, network in zip(learners, trained, strict=True):
                plays = network is trained[0]
                if plays:
                    facts = validation(network.params)
                else:
                    own = Validation(learner, network.apply, stream.held_out, validation_key, processes)
                    facts = own(network.params)
                facts |= {f"test_{name}": value for name, value in tested.get(network.name, {}).items()}
                file = "network" if plays else f"network-{network.name}"
                if processes.first:
                    save_network(network, folder, learner, stream.data, seconds, facts, file)
        return trained[0]


def _arena(config: ZeroConfig, puzzles: np.ndarray, mesh: Mesh) -> Arena | None:
    return Arena(config.board, config.arena, puzzles, mesh.devices.flat[0].platform) if len(puzzles) else None


def _in_arena(learner: ZeroConfig) -> Forward:
    """A network as it plays in the arena."""
    last, chosen = learner.iterations_at(learner.steps), learner.arena.arena_iterations
    return make_forward(learner, last if last is None or chosen is None else chosen)


def _check_devices(config: ZeroConfig, devices: int) -> None:
    """Raises ValueError if games, positions or the buffer can't be divided among so many devices."""
    if config.play.games % devices:
        raise ValueError(f"games {config.play.games} can't be divided into equal parts for {devices} devices")
    puzzles_needed(config, devices)
    Replay(config.resolve(config.board, ""), devices)


def _check(config: ZeroConfig, devices: int, *, timed: bool = False) -> Stream:
    """Raises the errors of ``self_play`` that settings cause, before anything is written.

    Args:
      config: the resolved settings.
      devices: number of devices.
      timed: whether the steps are set by the time.
    """
    if config.steps % config.play.updates and not timed:
        raise ValueError(f"steps {config.steps} must be a multiple of updates, {config.play.updates}")
    _check_devices(config, devices)
    Replay(config, devices).check_memory()
    networks_at(config, config.steps)
    for learner in config.learners():
        _in_arena(learner)
        forward = make_forward(learner, learner.network.saved_iterations)
        forward.shapes()  # fails for boards that the network can't see
        if learner.network.start:
            load_start(learner.network.start, learner.network.architecture, forward)
    return Stream(config, devices)


def _steps_until(
    end: float, config: ZeroConfig, stream: Stream, mesh: Mesh, check: Callable[[ZeroState], object]
) -> int:
    """The steps that can be done until a time, by the time of a few rounds that are then forgotten, and of a check."""
    begun, key = time.perf_counter(), jax.random.key(config.seed)
    state, sums = placed_round_state(config, key, mesh), no_sums(len(config.rivals))
    rounds, run = stream.rounds(key, mesh, 0), round_at(config, config.steps, mesh)
    times = []
    for _, puzzles in zip(range(_TRIAL + 1), rounds, strict=False):
        state, sums = jax.block_until_ready(run(state, sums, puzzles, key))
        times.append(time.perf_counter())
    each = (times[-1] - times[0]) / _TRIAL
    iterations = {config.iterations_at(step) for step in range(1, config.steps + 1)}
    compiling = (times[0] - begun) * len(iterations)  # once more, with the number of steps
    check(state)
    checked = time.perf_counter()
    check(state)
    each += (time.perf_counter() - checked) * min(1, config.play.updates / config.validate_every)
    return max(int(_PLAYED * (end - time.perf_counter() - compiling) / each), 1) * config.play.updates


def _add_flags(parser: argparse.ArgumentParser) -> None:
    time_of_run = parser.add_mutually_exclusive_group()
    text = "of the whole run; sets the steps, by the time of its first rounds"
    time_of_run.add_argument("--minutes", type=float, metavar="N", help=f"minutes {text}")
    time_of_run.add_argument("--hours", type=float, metavar="N", help=f"hours {text}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status: 0, 1 if training failed, 2 after a usage error, 128 + a signal."""

    def run(config: ZeroConfig, args: argparse.Namespace) -> None:
        minutes = args.minutes if args.hours is None else 60 * args.hours
        if minutes is not None and config.steps != PRESETS[args.preset].steps:
            raise ValueError("steps are set by --steps, or by --minutes or --hours, not by both")
        self_play(config, args.output, minutes=minutes, resume=args.resume, tensorboard=args.tensorboard)

    text = "Trains a network by its own search, without solutions."
    return run_command("train.selfplay", text, PRESETS, argv, run, _check_devices, _add_flags)


if __name__ == "__main__":
    sys.exit(main())
