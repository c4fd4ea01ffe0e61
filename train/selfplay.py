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
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku import networks
from jaxsudoku.batches import usable_cores
from jaxsudoku.locks import OutputLock, check_unlocked
from jaxsudoku.terminal.progress import Screen
from jaxsudoku.terminal.stop import Signals, Stop

from .command import exit_status
from .flags import parse_arguments
from .folder import Checkpoints, check_folder, saved_steps, training_facts, write_settings
from .objective import no_metrics
from .positions import fitting_devices
from .record import Recorder
from .replay import Replay
from .rounds import Played, ZeroState, compiled_round, initial_buffer, no_play, place
from .selfplay_config import ZeroConfig
from .selfplay_presets import PRESETS
from .step import initial_state, load_start, make_forward
from .stream import Stream
from .supervised import check_sums
from .validation import Validation

#: Rounds that are timed for ``--minutes`` after the first, which compiles, and the share of the time for rounds,
#: beside validations and checkpoints.
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
    """Trains a network by self-play on all devices of this process.

    Ctrl-C and SIGTERM end it after the current round, with a checkpoint; a second signal ends it at once.

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
      FileExistsError, BlockingIOError, ValueError, FloatingPointError, ImportError, Stop: as ``supervised.train``.
    """
    folder, screen = Path(folder).absolute(), Screen(bar=True)
    if minutes is not None and minutes <= 0:
        raise ValueError(f"minutes must be above 0, not {minutes}")
    config = config.resolve(config.board, jax.default_backend())
    mesh = Mesh(np.asarray(jax.local_devices()), ("batch",))
    check_unlocked(folder)
    if minutes and resume and (steps := saved_steps(folder)):
        config, minutes = dataclasses.replace(config, steps=steps), None
    check_folder(folder, config, resume)
    stream = _check(config, mesh.size)
    folder.mkdir(parents=True, exist_ok=True)
    with OutputLock(folder), Signals() as signals:
        try:
            stream.open(folder / "data", screen)
            if minutes:
                config = dataclasses.replace(config, steps=_steps_in(config, stream, mesh, 60 * minutes))
            return _self_play(config, folder, stream, mesh, signals, screen, tensorboard, stop_at)
        except Stop as stop:
            stop.advice = f"continue with --resume, from {stop.advice or 'what is there'}"
            raise
        finally:
            screen.clear()


def _self_play(
    config: ZeroConfig,
    folder: Path,
    stream: Stream,
    mesh: Mesh,
    signals: Signals,
    screen: Screen,
    tensorboard: bool,
    stop_at: int | None,
) -> networks.Network:
    key = jax.random.key(config.seed)
    state_key, puzzles_key, rounds_key, validation_key = (jax.random.fold_in(key, number) for number in range(4))
    forward = make_forward(config, config.network.saved_iterations)
    validation = Validation(config, forward, stream.held_out, validation_key)
    replicated = NamedSharding(mesh, PartitionSpec())
    learner = initial_state(config, forward, state_key, truth=np.float32)
    state = place(ZeroState(learner, initial_buffer(config, mesh.size)), mesh)
    metrics, played, seconds = no_metrics(), no_play(), 0.0
    write_settings(folder, config)
    with Checkpoints(folder, config.keep) as checkpoints:
        if checkpoints.latest is not None:
            if (devices := checkpoints.log()["devices"]) != mesh.size:
                raise ValueError(f"the last checkpoint was made on {devices} devices, and there are {mesh.size}")
            state, log = checkpoints.restore(state)
            metrics = type(metrics)(*map(jax.numpy.float32, log["sums"]))
            played, seconds = Played(*map(jax.numpy.float32, log["played"])), log["seconds"]
        metrics, played = jax.device_put((metrics, played), replicated)
        begun, last = int(state.step), config.steps if stop_at is None else min(stop_at, config.steps)
        recorder = Recorder(folder, config, screen, begun, seconds, tensorboard)
        step = begun

        def save() -> None:
            check_sums(metrics, config, step)
            log = {
                "seconds": recorder.seconds,
                "sums": [float(total) for total in metrics],
                "played": [float(total) for total in played],
                "devices": mesh.size,
            }
            checkpoints.save(state, log)

        def validate() -> dict[str, float]:
            return validation(jax.tree.map(lambda leaf: leaf.addressable_shards[0].data, state.average))

        between_rounds = True
        try:
            puzzles = stream.rounds(puzzles_key, mesh, begun // config.play.updates)
            while step < last:
                with signals.held():
                    between_rounds = False
                    before, step = step, step + config.play.updates
                    run = _round_at(config, step, mesh)
                    state, metrics, played = run(state, metrics, played, next(puzzles), rounds_key)

                    def due(every: int, before: int = before, step: int = step) -> bool:
                        return step // every > before // every or step == config.steps

                    if before == begun or _round_at(config, before, mesh) is not run:
                        check_sums(metrics, config, step)
                        recorder.mark(step)  # compilation does not count in the pace
                    recorder.show(step, metrics)
                    if due(config.report_every):
                        check_sums(metrics, config, step)
                        recorder.train(step, metrics, _summary(played))
                        metrics, played = jax.device_put((no_metrics(), no_play()), replicated)
                    if due(config.validate_every):
                        recorder.validate(step, validate())
                    if due(config.save_every) or step >= last:
                        save()
                        recorder.mark(step)
                    between_rounds = True
        except Stop as stop:
            if between_rounds:  # else a second signal interrupted a round
                save()
            stop.advice = f"step {checkpoints.latest or 0:,} of {config.steps:,}"
            raise
        finally:
            recorder.close()
        network = networks.Network(config.network.architecture, forward, jax.device_get(state.average))
        if int(state.step) == config.steps:
            facts = training_facts(config, stream.data, recorder.seconds, validate())
            networks.save_network(network, folder / "network", **facts)
        return network


def _round_at(config: ZeroConfig, step: int, mesh: Mesh) -> Any:
    """The round that ends with a step: its network learns with the iterations of that time."""
    iterations = config.iterations_at(step)
    actor = iterations if config.play.acting_iterations is None else config.play.acting_iterations
    return compiled_round(config, make_forward(config, iterations), make_forward(config, actor), mesh)


def _check(config: ZeroConfig, devices: int) -> Stream:
    """Raises the errors of ``self_play`` that settings cause, before anything is written."""
    if config.play.games % devices:
        raise ValueError(f"games {config.play.games} can't be divided into equal parts for {devices} devices")
    Replay(config, devices).check_memory()
    forward = make_forward(config, config.network.saved_iterations)
    forward.shapes()  # fails for boards that the network can't see
    if config.network.start:
        load_start(config.network.start, config.network.architecture, forward)
    return Stream(config, devices)


def _summary(played: Played) -> dict[str, float]:
    """Means and shares of summed games."""
    games, solved, failed, without, iterations, calls = map(float, jax.device_get(played))
    with_solution = max(games - without, 1.0)
    return {
        "games": games,
        "games_solved": solved / with_solution,
        "games_failed": failed / with_solution,
        "puzzles_without_solution": without,
        "grids_per_game": iterations / max(games, 1.0),
        "calls_per_game": calls / max(games, 1.0),
    }


def _steps_in(config: ZeroConfig, stream: Stream, mesh: Mesh, seconds: float) -> int:
    """The steps that fit into some seconds, by the time of a few rounds that are then forgotten."""
    begun = time.perf_counter()
    forward = make_forward(config, config.network.saved_iterations)
    learner = initial_state(config, forward, jax.random.key(config.seed), truth=np.float32)
    state = place(ZeroState(learner, initial_buffer(config, mesh.size)), mesh)
    sums = jax.device_put((no_metrics(), no_play()), NamedSharding(mesh, PartitionSpec()))
    rounds = stream.rounds(jax.random.key(config.seed), mesh, 0)
    run = _round_at(config, config.play.updates, mesh)
    times = []
    for _, puzzles in zip(range(_TRIAL + 1), rounds, strict=False):
        state, *sums = jax.block_until_ready(run(state, *sums, puzzles, jax.random.key(config.seed)))
        times.append(time.perf_counter())
    each = (times[-1] - times[0]) / _TRIAL
    compiling = times[0] - begun  # once more, with the number of steps
    left = _PLAYED * (seconds - (times[-1] - begun) - compiling)
    return max(int(left / each), 1) * config.play.updates


def _add_flags(parser: argparse.ArgumentParser) -> None:
    time_of_run = parser.add_mutually_exclusive_group()
    text = "of the whole run; sets the steps, by the time of its first rounds"
    time_of_run.add_argument("--minutes", type=float, metavar="N", help=f"minutes {text}")
    time_of_run.add_argument("--hours", type=float, metavar="N", help=f"hours {text}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status: 0, 1 if training failed, 2 after a usage error, 128 + a signal."""
    config, args = parse_arguments(
        "train.selfplay", "Trains a network by its own search, without solutions.", PRESETS, argv, _add_flags
    )
    if args.devices or "JAX_NUM_CPU_DEVICES" not in os.environ:
        jax.config.update("jax_num_cpu_devices", args.devices or fitting_devices(config, usable_cores()))
    minutes = args.minutes if args.hours is None else 60 * args.hours
    return exit_status(
        lambda: self_play(config, args.output, minutes=minutes, resume=args.resume, tensorboard=args.tensorboard)
    )


if __name__ == "__main__":
    sys.exit(main())
