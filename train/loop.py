"""The training loop: units of work on the devices, with reports, validations and checkpoints between them.

A unit is a call of a compiled program that makes one or more steps of the optimiser: a step of supervised training, or
a round of self-play. A resumed run gives the same results as an uninterrupted one.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import importlib.metadata
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku.runtime.alarms import silenced
from jaxsudoku.runtime.locks import OutputLock, check_unlocked
from jaxsudoku.runtime.terminal.progress import Screen, compiling
from jaxsudoku.runtime.terminal.stop import Signals, Stop

from .devices import connect, on_one_device, placed
from .folder import Checkpoints, as_json, check_folder, write_settings
from .objective import Metrics
from .processes import Processes
from .record import Recorder
from .train_config import TrainConfig
from .validation import Validation


@dataclasses.dataclass(frozen=True)
class Run:
    """Environment of a run.

    Attributes:
      folder: the folder of all output.
      mesh: the devices.
      processes: the processes; the first one writes.
      screen: the terminal.
      tensorboard: whether to write TensorBoard files too.
      stop_at: the step at which to end, with a checkpoint; None for the last one.
    """

    folder: Path
    mesh: Mesh
    processes: Processes
    screen: Screen
    tensorboard: bool = False
    stop_at: int | None = None


class Training(abc.ABC):
    """Interface of a kind of training, which ``run_training`` runs.

    Its state is a NamedTuple with ``step``, ``average``, and ``learner``, the ``TrainState``. Its sums over steps are a
    NamedTuple of float32 scalars, with ``metrics``, and ``others``: the metrics of further networks, or boards, that
    are trained as well.

    Attributes:
      unit: steps of the optimiser in a unit.
      names: the names of ``others``.
      nothing: the error message if there is no position to learn from.
      validation: metrics of the network on the held-out puzzles.
    """

    unit: int = 1
    names: Sequence[str]
    nothing: str

    def __init__(self, config: TrainConfig, run: Run, held_out: np.ndarray) -> None:
        self.config, self.run = config, run
        keys = (jax.random.fold_in(jax.random.key(config.seed), number) for number in range(4))
        self.state_key, self.data_key, self.steps_key, self.validation_key = keys
        self.validation = Validation(config, held_out, self.validation_key, run.processes)

    @abc.abstractmethod
    def initial_state(self) -> Any:
        """The initial state, placed on the devices."""

    @abc.abstractmethod
    def no_sums(self) -> Any:
        """The sums over no steps."""

    @abc.abstractmethod
    def program(self, step: int) -> Any:
        """The program of the unit that ends with a step, (state, sums, data, key) -> (state, sums); it donates both.

        Units of the same program get the same object.
        """

    @abc.abstractmethod
    def data(self, step: int) -> Iterator[Any]:
        """The data of every unit after this step."""

    @abc.abstractmethod
    def further(self, sums: Any) -> dict[str, float]:
        """Further values of a report, by name."""

    @abc.abstractmethod
    def on_other_devices(self, message: str) -> None:
        """Reports that the checkpoint is from another number of devices; raises ValueError if it can't be resumed."""

    def validate(self, state: Any) -> dict[str, float]:
        """The values of a validation, by name."""
        return self.validation(on_one_device(state.average))

    def compare(self, state: Any) -> dict[str, dict[str, float]]:
        """The results of the networks in the arena, by network and name; empty without an arena."""
        return {}


def check_startable(run: Run, config: TrainConfig, resume: bool, **further: Any) -> None:
    """Checks that a run can start, or resume, in its folder, and that all processes have the same run.

    Resolved settings and further values, JSON by name, must be equal in all processes.

    Raises:
      FileExistsError, BlockingIOError: the folder is in use, in process 0.
      ValueError: it holds a run with other settings; or another process has other settings, versions or devices.
    """
    if run.processes.several:
        packages = ("jax", "jaxlib", "numpy", "flax", "optax", "orbax-checkpoint")
        versions = {"jaxsudoku": js.__version__, **{name: importlib.metadata.version(name) for name in packages}}
        run.processes.agree(
            {
                "settings": as_json(config),
                "run": {"output": str(run.folder), "resume": resume, "stop_at": run.stop_at, **further},
                "versions": versions,
                "devices": {"platform": jax.default_backend(), "number": jax.local_device_count()},
            }
        )
    if run.processes.first:
        check_unlocked(run.folder)
        check_folder(run.folder, config, resume)


@contextlib.contextmanager
def opened(run: Run) -> Iterator[Signals]:
    """A context with the folder of a run, created and locked by the first process; adds advice to a ``Stop``.

    All processes open it together, once each has checked its settings, and connect their devices.

    Raises ValueError in a process that doesn't see the folder.
    """
    folder, processes = run.folder, run.processes
    processes.exchange("checked")
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
                connect(run.mesh)
            yield signals
        except Stop as stop:
            stop.advice = f"continue with --resume, from {stop.advice or 'the existing files'}"
            raise
        finally:
            run.screen.clear()


def run_training(training: Training, signals: Signals) -> tuple[Any, float]:
    """Trains from the last checkpoint, or from the initial state, to the last step.

    Ctrl-C and SIGTERM end it after the current unit, with a checkpoint; a second signal ends it immediately. With
    several processes, a signal to one ends all after the same unit.

    Returns:
      the last state, and the seconds of the whole run.

    Raises:
      FloatingPointError, ValueError: as ``check_metrics``.
      ImportError: TensorBoard files are requested and tensorboardX is missing.
      Stop: a signal ended the run; ``advice`` has the step reached.
    """
    run = training.run
    if run.processes.first:
        write_settings(run.folder, training.config)
    with contextlib.ExitStack() as stack:
        checkpoints = stack.enter_context(Checkpoints(run.folder, training.config.keep, run.processes))
        if run.processes.several:
            stack.enter_context(signals.passed_to(run.processes.ask_to_stop))
        return _Loop(training, signals, checkpoints).to_the_end()


class _Loop:
    """The units of a run after its last checkpoint."""

    def __init__(self, training: Training, signals: Signals, checkpoints: Checkpoints) -> None:
        self._training, self._signals, self._checkpoints = training, signals, checkpoints
        run, config, seconds = training.run, training.config, 0.0
        self._state, sums = training.initial_state(), training.no_sums()
        if checkpoints.latest is not None:
            log = checkpoints.log()
            if (devices := log["devices"]) != run.mesh.size:
                training.on_other_devices(f"the last checkpoint was made on {devices} devices")
            self._state = checkpoints.restore(self._state)
            sums = jax.tree.unflatten(jax.tree.structure(sums), map(np.float32, log["sums"]))
            seconds = log["seconds"]
        self._sums = self._placed(sums)
        self._step = int(self._state.step)
        self._program: Any = None
        self._last = config.steps if run.stop_at is None else min(run.stop_at, config.steps)
        folder = run.folder if run.processes.first else None
        self._recorder = Recorder(folder, config, run.screen, self._step, seconds, run.tensorboard)
        self._between_units = True

    def to_the_end(self) -> tuple[Any, float]:
        """Runs all units; see ``run_training``."""
        try:
            self._recorder.begin(self._step)
            feed = self._training.data(self._step)
            while self._step < self._last:
                if number := self._training.run.processes.stop_before(self._step + self._training.unit):
                    raise Stop(number)
                with self._signals.held():
                    data = next(feed)
                    self._between_units = False
                    self._run_unit(data)
                    self._do_what_is_due()
                    self._between_units = True
        except Stop as stop:
            if self._between_units:  # otherwise a second signal interrupted a unit
                self._save()
            stop.advice = f"step {self._checkpoints.latest or 0:,} of {self._training.config.steps:,}"
            raise
        finally:
            self._recorder.close()
        return self._state, self._recorder.seconds

    def _run_unit(self, data: Any) -> None:
        self._step += self._training.unit
        previous, self._program = self._program, self._training.program(self._step)
        first = self._program is not previous
        with contextlib.ExitStack() as compilation:
            if first:
                compilation.enter_context(compiling())
                compilation.enter_context(silenced())
            self._state, self._sums = self._program(self._state, self._sums, data, self._training.steps_key)
        if first:
            self._check()
            self._recorder.mark(self._step)  # the pace excludes compilation
        self._recorder.show(self._step, self._sums.metrics)

    def _do_what_is_due(self) -> None:
        """Reports, validates and saves after a unit, if it is due."""
        training, recorder, step = self._training, self._recorder, self._step
        config = training.config

        def due(every: int) -> bool:
            return step // every > (step - training.unit) // every or step >= config.steps

        if due(config.report_every):
            self._check()
            recorder.train(step, self._sums.metrics, training.further(self._sums))
            self._sums = self._placed(training.no_sums())
        if due(config.validate_every):
            recorder.begin(step, "; validating")
            with silenced():  # the first one compiles
                losses = np.asarray(on_one_device(self._state.learner.losses))
                recorder.validate(step, training.validate(self._state), losses)
                recorder.compare(step, training.compare(self._state))
        if due(config.save_every) or step >= self._last:
            self._save()
            recorder.mark(step)

    def _placed(self, sums: Any) -> Any:
        return placed(sums, NamedSharding(self._training.run.mesh, PartitionSpec()))

    def _check(self) -> None:
        check_metrics(self._sums.metrics, self._step, self._training.nothing)
        for name, metrics in zip(self._training.names, self._sums.others, strict=True):
            check_metrics(metrics, self._step, self._training.nothing, f" of {name}")

    def _save(self) -> None:
        self._check()
        sums = [float(total) for total in jax.tree.leaves(self._sums)]
        log = {"seconds": self._recorder.seconds, "sums": sums, "devices": self._training.run.mesh.size}
        self._checkpoints.save(self._state, log)


def no_position(config: TrainConfig) -> str:
    """The error message if no position made from puzzles is useful."""
    rules = config.positions.rules
    return f"no position is left open by the rules of kinds ({rules}): choose weaker rules or harder puzzles"


def check_metrics(sums: Metrics, step: int, nothing: str, whose: str = "") -> None:
    """Raises FloatingPointError if training has diverged; ValueError with a message if no position is useful.

    ``whose`` names the owner of the loss in messages.
    """
    if float(sums.made) and not float(sums.positions):
        raise ValueError(nothing.replace("no position", f"no position{whose}", 1))
    if not math.isfinite(sums.loss):
        raise FloatingPointError(f"the loss{whose} is {float(sums.loss)} by step {step:,}: try a lower learning_rate")
