"""The log of a run: a JSON line for each report, a line on the terminal, and TensorBoard files on request."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsudoku.runtime.files import write_file
from jaxsudoku.runtime.terminal.progress import Screen, bar, duration

from .objective import Metrics, summary
from .train_config import TrainConfig

#: Seconds between updates of the live line, each of which waits for the device.
_PAUSE = 0.5


class Recorder:
    """Writer of reports to ``metrics.jsonl`` in the run's folder, to the terminal, and to TensorBoard on request.

    A terminal shows a live line, and a line for each validation; other outputs get a line for each report.

    Args:
      folder: the run's folder; None to write nothing, as in all processes but the first.
      config: the settings.
      screen: the terminal.
      step: the step that the run continues from; lines of later steps are dropped, as these steps are repeated.
      seconds: seconds of earlier training.
      tensorboard: whether to write TensorBoard files, into ``folder/tensorboard``.

    Raises:
      ImportError: ``tensorboard`` is set and tensorboardX is missing.
    """

    def __init__(
        self,
        folder: Path | None,
        config: TrainConfig,
        screen: Screen,
        step: int = 0,
        seconds: float = 0.0,
        tensorboard: bool = False,
    ) -> None:
        self._board = _summary_writer(folder / "tensorboard", step) if tensorboard and folder else None
        self._path = folder / "metrics.jsonl" if folder else None
        if self._path:
            kept = [line for line in read(self._path) if line["step"] <= step]
            write_file(self._path, "".join(json.dumps(line) + "\n" for line in kept).encode())
        self._steps, self._batch_size, self._screen = config.steps, config.mean_batch, screen
        self._began, self._before = time.perf_counter(), seconds
        self._live = self._path is not None and sys.stderr.isatty()
        self._shown = 0.0
        self.mark(step)

    @property
    def seconds(self) -> float:
        """Total seconds of training, including earlier parts of the run."""
        return self._before + time.perf_counter() - self._began

    def mark(self, step: int) -> None:
        """Restarts the measurement of the pace, to exclude time not spent on steps."""
        self._since, self._clock = step, time.perf_counter()

    def train(self, step: int, sums: Metrics, further: dict[str, float] | None = None) -> None:
        """Records the metrics summed over the steps since the last report, and further values by name."""
        values = summary(jax.device_get(sums)) | (further or {})
        pace = self._pace(step)
        rate = {} if pace is None else {"positions_per_second": round(pace * self._batch_size, 1)}
        self._write("train", step, values | rate)
        if not self._live:
            self._screen.say(self._line(step, values, pace))
        self.mark(step)

    def validate(self, step: int, values: dict[str, float], losses: np.ndarray) -> None:
        """Records the metrics of a validation, and the policy's losses by number of open cells, float32[cells + 1]."""
        self._write("validate", step, values, loss_by_open_cells=[round(float(loss), 4) for loss in losses])
        self._screen.say(f"validated at {self._line(step, values, None)}")
        self.mark(step)

    def compare(self, step: int, found: dict[str, dict[str, float]]) -> None:
        """Records the results of networks in the arena, by network and name."""
        for network, values in found.items():
            self._write("generation", step, {f"{network}/{name}": value for name, value in values.items()})
            self._screen.say(f"arena at {step:,}: {arena_line(network, values)}")
        self.mark(step)

    def begin(self, step: int, what: str = "") -> None:
        """Shows that the steps after this one, or other work ``what``, have begun."""
        self._screen.show(f"{self._share(step)} {step:,} of {self._steps:,} steps{what}", now=True, task=True)

    def show(self, step: int, sums: Metrics) -> None:
        """Updates the live line of a terminal, unless the last update is very recent."""
        if self._live and step > self._since and time.perf_counter() - self._shown >= _PAUSE:
            values = summary(jax.device_get(sums))  # before measuring the time, as the device may be steps behind
            rate = ", ".join([f"{step:,} of {self._steps:,} steps", *self._rate(step, self._pace(step))])
            self._screen.show(f"{self._share(step)} {rate}: {', '.join(_scores(values))}", now=True, task=True)
            self._shown = time.perf_counter()

    def close(self) -> None:
        """Ends the live line, and closes the TensorBoard files."""
        self._screen.clear()
        if self._board is not None:
            self._board.close()

    def _share(self, step: int) -> str:
        return bar(step / self._steps if self._steps else 1.0)

    def _pace(self, step: int) -> float | None:
        """Steps per second since the last mark; None if there were none."""
        return (step - self._since) / (time.perf_counter() - self._clock) if step > self._since else None

    def _line(self, step: int, values: dict[str, float], pace: float | None) -> str:
        *scores, useful = _scores(values)
        return f"{step:,} of {self._steps:,}: {', '.join([*scores, *self._rate(step, pace), useful])}"

    def _rate(self, step: int, pace: float | None) -> list[str]:
        """Positions per second and the time left, if known."""
        if pace is None:
            return []
        left = [f"{duration((self._steps - step) / pace)} left"] if step < self._steps else []
        return [f"{pace * self._batch_size:,.0f} positions/s", *left]

    def _write(self, kind: str, step: int, values: dict[str, float], **lists: list[float]) -> None:
        if self._path is None:
            return
        line = {"kind": kind, "step": step, "seconds": round(self.seconds, 2), **values, **lists}
        with self._path.open("a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(f"{kind}/{name}", value, step)


def _scores(values: dict[str, float]) -> list[str]:
    """The metrics on the terminal."""
    games = [f"games solved {values['games_solved']:.1%}"] if "games_solved" in values else []
    boards, useful = f"boards {values['board_accuracy']:.1%}", f"useful {values['useful']:.0%}"
    return [f"loss {values['loss']:.4f}", boards, *games, useful]


def arena_line(network: str, values: dict[str, float]) -> str:
    """A network's results in the arena, as a line for the terminal."""
    return (
        f"{network} solved {values['solved']:.1%}, {values['grids']:.1f} grids a game, "
        f"{values['right']:.1%} of the cells before the first error, {values['alone']:.1%} without one"
    )


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a ``metrics.jsonl``, without an incomplete last one; empty if there is no file."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]


def _summary_writer(folder: Path, step: int) -> Any:
    """TensorBoard's writer, which hides entries of an earlier part of the run for later steps."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise ImportError("TensorBoard files need tensorboardX: pip install 'jaxsudoku[tensorboard]'") from error
    return SummaryWriter(str(folder), purge_step=step + 1)
