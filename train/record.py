"""What a run tells: a line of JSON per report, a progress line, and TensorBoard files if wanted."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from .objective import Metrics


def summary(metrics: Metrics) -> dict[str, float]:
    """Means of summed metrics: loss, policy and value in nats, accuracies as shares."""
    sums = Metrics(*(float(np.asarray(total)) for total in metrics))
    cells, alive, positions = max(sums.cells, 1.0), max(sums.alive, 1.0), max(sums.positions, 1.0)
    return {
        "loss": sums.loss / positions,
        "policy_loss": sums.policy / cells,
        "value_loss": sums.value / positions,
        "cell_accuracy": sums.right / cells,
        "board_accuracy": sums.boards / alive,
    }


class Recorder:
    """Writes what a run reports to ``metrics.jsonl`` in its folder, to the terminal, and to TensorBoard if asked.

    Args:
      folder: the run's folder.
      step: the step that the run goes on from; lines of later steps, written before it was cut off, are dropped.
      seconds: seconds of training before.
      tensorboard: whether to write TensorBoard files, into ``folder/tensorboard``.

    Raises:
      ImportError: TensorBoard is asked for and tensorboardX is missing.
    """

    def __init__(self, folder: Path, step: int = 0, seconds: float = 0.0, tensorboard: bool = False) -> None:
        self._path = folder / "metrics.jsonl"
        kept = [line for line in read(self._path) if line["step"] <= step]
        self._path.write_text("".join(json.dumps(line) + "\n" for line in kept))
        self._began, self._before = time.perf_counter(), seconds
        self._board: Any = None
        if tensorboard:
            from tensorboardX import SummaryWriter  # the extra "tensorboard"

            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step)

    @property
    def seconds(self) -> float:
        """Seconds of training in all, of earlier parts of the run too."""
        return self._before + time.perf_counter() - self._began

    def write(self, kind: str, step: int, values: dict[str, float], steps: int, rate: float | None = None) -> None:
        """Records values ("train" or "validate") after a step; ``rate`` is in positions a second."""
        line = {"kind": kind, "step": step, "seconds": round(self.seconds, 2), **values}
        if rate is not None:
            line["positions_per_second"] = round(rate, 1)
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(f"{kind}/{name}", value, step)
        shown = ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in values.items())
        speed = "" if rate is None else f", {rate:,.0f} positions/s"
        print(f"{step:,} of {steps:,} {kind}: {shown}{speed}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Closes the TensorBoard files."""
        if self._board is not None:
            self._board.close()


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a ``metrics.jsonl``, but for a last one that was cut off; none if there is no file."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]
