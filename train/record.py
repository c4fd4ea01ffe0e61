"""What a run tells: a line of JSON per report, a line for people, and TensorBoard files if wanted."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax

from jaxsudoku.files import write_file
from jaxsudoku.terminal.progress import Screen, duration

from .objective import Metrics

#: Seconds between two pictures of the live line, for each of which the device is waited for.
_PAUSE = 0.5


def summary(metrics: Metrics) -> dict[str, float]:
    """Means of summed metrics: loss, policy and value in nats, accuracies and useful positions as shares."""
    loss, policy, right, cells, boards, alive, value, positions, made = map(float, metrics)
    return {
        "loss": loss / max(positions, 1.0),
        "policy_loss": policy / max(cells, 1.0),
        "value_loss": value / max(positions, 1.0),
        "cell_accuracy": right / max(cells, 1.0),
        "board_accuracy": boards / max(alive, 1.0),
        "useful": positions / max(made, 1.0),
    }


class Recorder:
    """Writes what a run reports to ``metrics.jsonl`` in its folder, to the terminal, and to TensorBoard if asked.

    A terminal shows a live line, and validations stay on it; anything else gets a line for every report.

    Args:
      folder: the run's folder.
      steps: steps of the run.
      batch_size: positions of a step.
      screen: where people look.
      step: the step that the run goes on from; lines of later steps, written before it was cut off, are dropped.
      seconds: seconds of training before.
      tensorboard: whether to write TensorBoard files, into ``folder/tensorboard``.

    Raises:
      ImportError: TensorBoard is asked for and tensorboardX is missing.
    """

    def __init__(
        self, folder: Path, steps: int, batch_size: int, screen: Screen, step: int = 0, seconds: float = 0.0,
        tensorboard: bool = False,
    ) -> None:  # fmt: skip
        self._board = _summary_writer(folder / "tensorboard", step) if tensorboard else None
        self._path = folder / "metrics.jsonl"
        kept = [line for line in read(self._path) if line["step"] <= step]
        write_file(self._path, "".join(json.dumps(line) + "\n" for line in kept).encode())
        self._steps, self._batch_size, self._screen = steps, batch_size, screen
        self._began, self._before = time.perf_counter(), seconds
        self._live = sys.stderr.isatty()
        self._shown = 0.0
        self.mark(step)

    @property
    def seconds(self) -> float:
        """Seconds of training in all, of earlier parts of the run too."""
        return self._before + time.perf_counter() - self._began

    def mark(self, step: int) -> None:
        """Measures the pace from here on: the time before, spent on something else than steps, is none of it."""
        self._since, self._clock = step, time.perf_counter()

    def train(self, step: int, sums: Metrics) -> None:
        """Records the metrics that the steps since the last report sum up to."""
        values = summary(jax.device_get(sums))
        pace = self._pace(step)
        rate = {} if pace is None else {"positions_per_second": round(pace * self._batch_size, 1)}
        self._write("train", step, values, rate)
        if not self._live:
            self._screen.say(self._line(step, values, pace))
        self.mark(step)

    def validate(self, step: int, values: dict[str, float]) -> None:
        """Records the metrics of a validation."""
        self._write("validate", step, values, {})
        self._screen.say(f"validated at {self._line(step, values, None)}")

    def show(self, step: int, sums: Metrics) -> None:
        """Brings a terminal up to date, every now and then."""
        if self._live and step > self._since and time.perf_counter() - self._shown >= _PAUSE:
            values = summary(jax.device_get(sums))  # before the time is taken: the device may be steps behind
            self._screen.show(self._line(step, values, self._pace(step)), now=True)
            self._shown = time.perf_counter()

    def close(self) -> None:
        """Ends the live line, and closes the TensorBoard files."""
        self._screen.clear()
        if self._board is not None:
            self._board.close()

    def _pace(self, step: int) -> float | None:
        """Steps a second since the last mark, None if there was none."""
        return (step - self._since) / (time.perf_counter() - self._clock) if step > self._since else None

    def _line(self, step: int, values: dict[str, float], pace: float | None) -> str:
        told = [f"{step:,} of {self._steps:,}: loss {values['loss']:.4f}", f"boards {values['board_accuracy']:.1%}"]
        if pace is not None:
            told.append(f"{pace * self._batch_size:,.0f} positions/s")
            if step < self._steps:
                told.append(f"{duration((self._steps - step) / pace)} left")
        return ", ".join([*told, f"useful {values['useful']:.0%}"])

    def _write(self, kind: str, step: int, values: dict[str, float], rate: dict[str, float]) -> None:
        line = {"kind": kind, "step": step, "seconds": round(self.seconds, 2), **values, **rate}
        with self._path.open("a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
        if self._board is not None:
            for name, value in {**values, **rate}.items():
                self._board.add_scalar(f"{kind}/{name}", value, step)


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a ``metrics.jsonl``, but for a last one that was cut off; none if there is no file."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]


def _summary_writer(folder: Path, step: int) -> Any:
    """TensorBoard's writer, which hides what an earlier part of the run wrote of later steps."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise ImportError("TensorBoard files need tensorboardX: pip install 'jaxsudoku[tensorboard]'") from error
    return SummaryWriter(str(folder), purge_step=step + 1)
