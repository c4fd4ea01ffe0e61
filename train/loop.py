"""The loop of a run: units of work on the devices, with reports, validations and checkpoints between them.

A unit is a call of a compiled program that makes one or more steps of the optimiser: a step of supervised training, a
round of self-play. A run that is resumed does what an unbroken one would have done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku.runtime.alarms import silenced
from jaxsudoku.runtime.locks import OutputLock, check_unlocked
from jaxsudoku.runtime.terminal.progress import Screen, compiling
from jaxsudoku.runtime.terminal.stop import Signals, Stop

from .config import TrainConfig
from .devices import connect, placed
from .folder import Checkpoints, as_json, check_folder, write_settings
from .objective import Metrics
from .processes import Processes
from .record import Recorder


@dataclasses.dataclass(frozen=True)
class Task:
    """What a run repeats.

    Attributes:
      unit: steps of the optimiser in a unit.
      state: the state before the first step, placed on the devices; a NamedTuple with ``step`` and ``average``.
      sums: makes the sums over no steps, float32 scalars in a pytree.
      program: from the number of steps after a unit to its program, (state, sums, data, key) -> (state, sums), which
        donates state and sums. It returns the same object for units of the same program.
      data: from the number of steps done to a function that returns the next unit's data, from the state, at each call.
      metrics: the metrics among the sums.
      others: those of further networks, or boards, that are learned beside it, by name.
      further: further values of a report, by name, of the sums.
      validate: from the state to the values of a validation, by name.
      compare: from the state to what its networks achieve in the arena, by network and name; none without an arena.
      nothing: the message of the error if there is no position to learn from.
      other_devices: called with a message if the checkpoint is of another number of devices; raises an error if the run
        can't be resumed.
    """

    unit: int
    state: Any
    sums: Callable[[], Any]
    program: Callable[[int], Any]
    data: Callable[[int], Callable[[Any], Any]]
    metrics: Callable[[Any], Metrics]
    others: Callable[[Any], dict[str, Metrics]]
    further: Callable[[Any], dict[str, float]]
    validate: Callable[[Any], dict[str, float]]
    compare: Callable[[Any], dict[str, dict[str, float]]]
    nothing: str
    other_devices: Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Run:
    """A run in a folder.

    Attributes:
      folder: where everything is written.
      config: the resolved settings.
      mesh: the devices.
      screen: the terminal.
      signals: holds signals during a unit.
      processes: the processes of the run, the first of which writes.
      tensorboard: whether to write TensorBoard files too.
      stop_at: the step to end at, with a checkpoint; None for the last one.
    """

    folder: Path
    config: TrainConfig
    mesh: Mesh
    screen: Screen
    signals: Signals
    processes: Processes
    tensorboard: bool = False
    stop_at: int | None = None


def check_startable(folder: Path, config: TrainConfig, resume: bool, processes: Processes, **run: Any) -> None:
    """Checks that a run can start, or resume, in a folder, and that all processes mean the same run.

    Args:
      folder: the folder.
      config: the resolved settings.
      resume: whether to continue the run that is there.
      processes: the processes of the run.
      **run: further values, JSON by name, that must be the same in all processes.

    Raises:
      FileExistsError, BlockingIOError: the folder is in use, in process 0.
      ValueError: it holds a run with other settings; or another process has other settings, versions or devices.
    """
    if processes.several:
        packages = ("jax", "jaxlib", "numpy", "flax", "optax", "orbax-checkpoint")
        versions = {"jaxsudoku": js.__version__, **{name: importlib.metadata.version(name) for name in packages}}
        processes.agree(
            {
                "settings": as_json(config),
                "run": {"output": str(folder), "resume": resume, **run},
                "versions": versions,
                "devices": {"platform": jax.default_backend(), "number": jax.local_device_count()},
            }
        )
    if processes.first:
        check_unlocked(folder)
        check_folder(folder, config, resume)


@contextlib.contextmanager
def opened(folder: Path, mesh: Mesh, screen: Screen, processes: Processes) -> Iterator[Signals]:
    """The folder of a run, made and locked by the first process; a signal that ends the run is told how to continue it.

    All processes open it together, and connect their devices.

    Raises ValueError in a process that doesn't see the folder.
    """
    with contextlib.ExitStack() as stack:
        if processes.first:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(OutputLock(folder))
        signals = stack.enter_context(Signals())
        try:
            processes.exchange("folder")
            if not folder.is_dir():
                raise ValueError(f"{folder} isn't there: all processes need one folder, on a shared file system")
            if processes.several:
                connect(mesh)
            yield signals
        except Stop as stop:
            stop.advice = f"continue with --resume, from {stop.advice or 'what is there'}"
            raise
        finally:
            screen.clear()


def run_task(task: Task, run: Run, key: Array) -> tuple[Any, float]:
    """Runs a task from its last checkpoint to its last step.

    Ctrl-C and SIGTERM end it after the current unit, with a checkpoint; a second signal ends it at once. Of several
    processes a signal to one ends all, after the same unit.

    Args:
      task: the task.
      run: the run.
      key: a JAX key, the same in every unit.

    Returns:
      the last state, and the seconds of the whole run.

    Raises:
      FloatingPointError, ValueError: as ``check_metrics``.
      ImportError: TensorBoard files are wanted and tensorboardX is missing.
      Stop: a signal ended the run; ``advice`` says where it stands.
    """
    config, state, sums, seconds, processes = run.config, task.state, task.sums(), 0.0, run.processes
    replicated = NamedSharding(run.mesh, PartitionSpec())
    if processes.first:
        write_settings(run.folder, config)
    with contextlib.ExitStack() as stack:
        checkpoints = stack.enter_context(Checkpoints(run.folder, config.keep, processes))
        if processes.several:
            stack.enter_context(run.signals.passed_to(processes.ask_to_stop))
        if checkpoints.latest is not None:
            log = checkpoints.log()
            if (devices := log["devices"]) != run.mesh.size:
                task.other_devices(f"the last checkpoint was made on {devices} devices")
            state = checkpoints.restore(state)
            sums = jax.tree.unflatten(jax.tree.structure(sums), map(np.float32, log["sums"]))
            seconds = log["seconds"]
        sums = placed(sums, replicated)
        begun, last = int(state.step), config.steps if run.stop_at is None else min(run.stop_at, config.steps)
        written = run.folder if processes.first else None
        recorder = Recorder(written, config, run.screen, begun, seconds, run.tensorboard)
        step, program = begun, None

        def check() -> None:
            check_metrics(task.metrics(sums), step, task.nothing)
            for name, metrics in task.others(sums).items():
                check_metrics(metrics, step, task.nothing, f" of {name}")

        def save() -> None:
            check()
            numbers = [float(total) for total in jax.tree.leaves(sums)]
            checkpoints.save(state, {"seconds": recorder.seconds, "sums": numbers, "devices": run.mesh.size})

        between_units = True
        try:
            recorder.begin(begun)
            feed = task.data(begun)
            while step < last:
                if number := processes.stop_before(step + task.unit):
                    raise Stop(number)
                with run.signals.held():
                    data = feed(state)
                    between_units = False
                    before, step = step, step + task.unit
                    previous, program = program, task.program(step)
                    with contextlib.ExitStack() as first_call:
                        if program is not previous:
                            first_call.enter_context(compiling())
                            first_call.enter_context(silenced())
                        state, sums = program(state, sums, data, key)

                    def due(every: int, before: int = before, step: int = step) -> bool:
                        return step // every > before // every or step >= config.steps

                    if program is not previous:
                        check()
                        recorder.mark(step)  # compilation does not count in the pace
                    recorder.show(step, task.metrics(sums))
                    if due(config.report_every):
                        check()
                        recorder.train(step, task.metrics(sums), task.further(sums))
                        sums = placed(task.sums(), replicated)
                    if due(config.validate_every):
                        recorder.begin(step, "; validating")
                        with silenced():  # the first one compiles
                            recorder.validate(step, task.validate(state))
                            recorder.compare(step, task.compare(state))
                    if due(config.save_every) or step >= last:
                        save()
                        recorder.mark(step)
                    between_units = True
        except Stop as stop:
            if between_units:  # else a second signal interrupted a unit
                save()
            stop.advice = f"step {checkpoints.latest or 0:,} of {config.steps:,}"
            raise
        finally:
            recorder.close()
        return state, recorder.seconds


def no_position(config: TrainConfig) -> str:
    """What went wrong if no position that is made of puzzles is useful."""
    rules = config.positions.rules
    return f"no position is left open by the rules of kinds ({rules}): choose weaker rules or harder puzzles"


def check_metrics(sums: Metrics, step: int, nothing: str, whose: str = "") -> None:
    """Raises FloatingPointError if training has diverged; ValueError with a message if no position is useful.

    ``whose`` loss it is, for the messages.
    """
    if float(sums.made) and not float(sums.positions):
        raise ValueError(nothing.replace("no position", f"no position{whose}", 1))
    if not math.isfinite(sums.loss):
        raise FloatingPointError(f"the loss{whose} is {float(sums.loss)} by step {step:,}: try a lower learning_rate")
