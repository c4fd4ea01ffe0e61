"""Plots of how the errors of puzzles fell, step by step."""

from __future__ import annotations

import os

import numpy as np

from .figures import PANEL, check_suffix, import_figure


class Course:
    """Histories of errors, summed up: the number of puzzles with each error after each step.

    The size does not depend on the number of puzzles.

    Attributes:
      counts: int64[steps, errors], the number of puzzles; a puzzle that is done keeps its error.
    """

    def __init__(self) -> None:
        self.counts = np.zeros((0, 1), np.int64)

    def add(self, history: np.ndarray) -> None:
        """Adds the histories of puzzles, int32[n, steps], -1 = no step; those without any step are left out."""
        history = history[(history >= 0).any(axis=1)]
        steps = int((history >= 0).sum(axis=1).max(initial=0))
        most = int(history.max(initial=0)) + 1
        before = self.counts.shape
        # grown by new steps and greater errors
        grown = np.zeros((max(before[0], steps), max(before[1], most)), np.int64)
        grown[: before[0], : before[1]] = self.counts
        if before[0]:
            grown[before[0] :, : before[1]] = self.counts[-1]
        least = np.minimum.accumulate(np.where(history < 0, most, history)[:, :steps], axis=1)
        for step in range(len(grown)):
            if len(least):
                grown[step] += np.bincount(least[:, min(step, steps - 1)], minlength=grown.shape[1])
        self.counts = grown

    def mean(self) -> np.ndarray:
        """The mean error after each step, float64[steps]."""
        return self.counts @ np.arange(self.counts.shape[1]) / self.counts.sum(axis=1)

    def quantile(self, share: float) -> np.ndarray:
        """The quantile of the errors after each step, int64[steps]."""
        below = np.cumsum(self.counts, axis=1)
        return np.argmax(below >= share * below[:, -1:], axis=1)

    def solved(self) -> np.ndarray:
        """The share of the puzzles that are solved after each step, float64[steps]."""
        return self.counts[:, 0] / self.counts.sum(axis=1)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Plots the errors and the share of puzzles solved after each step to a file; raises as ``plot_history``."""
        figures = import_figure()
        check_suffix(path)
        steps = np.arange(1, len(self.counts) + 1)
        figure = figures.Figure(figsize=(2 * PANEL[0], PANEL[1]), layout="constrained")
        errors, solved = figure.subplots(1, 2)
        if len(steps):
            errors.fill_between(steps, self.quantile(0.25), self.quantile(0.75), alpha=0.3, label="the middle half")
            errors.plot(steps, self.quantile(0.5), label="median")
            errors.plot(steps, self.mean(), label="mean")
            errors.legend()
            solved.plot(steps, self.solved())
        errors.set_ylabel("digits that the best grid misses")
        errors.set_ylim(bottom=0)
        solved.set_ylabel("share of puzzles solved")
        solved.set_ylim(-0.02, 1.02)
        for panel in (errors, solved):
            panel.set_xscale("log")
            panel.set_xlabel("steps")
            panel.grid(alpha=0.3)
        puzzles = int(self.counts[-1].sum()) if len(steps) else 0
        figure.suptitle(f"{puzzles:,} puzzles that the rules left open")
        figure.savefig(path, dpi=120)


def plot_history(history: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Plots the errors of puzzles, and the share that is solved, after each step, to a file.

    Args:
      history: ``Solution.stats["history"]``, int32[*b, steps], the least error after each step, -1 = no step.
      path: the file, replaced if it exists; its suffix, such as .png, selects the format.

    Raises:
      ImportError: matplotlib is missing.
      ValueError: no history, or a suffix of no supported format.
      OSError: the file cannot be written.
    """
    if history is None or not np.ndim(history):
        raise ValueError("no history: solve with record=N, the number of steps that it is to have")
    course = Course()
    course.add(np.reshape(history, (-1, np.shape(history)[-1])))
    course.draw(path)
