"""The pictures of ``study.py``, as in the study; they need matplotlib, the extra plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from study import Rated, Run


def draw(rated: Rated, runs: dict[str, Run], settings: str, folder: Path) -> list[Path]:
    """Draws all pictures into a folder.

    Args:
      rated: the puzzles.
      runs: the solvers' results by name.
      settings: the name of the settings, for titles.
      folder: the folder, which is made.

    Returns:
      the files: puzzles.png, failures.png, iterations.png.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "puzzles": _puzzles(rated),
        "failures": _failures(rated, runs, settings),
        "iterations": _iterations(rated, runs, settings),
    }
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=100)
    return paths


def _panels(count: int, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(5.2 * count, height), layout="constrained")
    return figure, [figure.add_subplot(1, count, number + 1) for number in range(count)]


def _puzzles(rated: Rated) -> Figure:
    """Histograms of difficulty and clues."""
    figure, (left, right) = _panels(2)
    left.hist(rated.difficulty, bins=min(20, len(np.unique(rated.difficulty))), color="tab:blue")
    left.set(xlabel=rated.label, ylabel="puzzles")
    clues = rated.clues
    right.hist(clues, bins=list(np.arange(clues.min(), clues.max() + 2) - 0.5), color="tab:blue")
    right.set(xlabel="clues", ylabel="puzzles")
    return figure


def _failures(rated: Rated, runs: dict[str, Run], settings: str) -> Figure:
    """The share of puzzles that each solver failed to solve, by difficulty and by clues."""
    figure, (left, right) = _panels(2)
    for panel, values, label in (
        (left, rated.levels, rated.label),
        (right, _grouped(rated.clues), "clues"),
    ):
        groups = np.unique(values)
        for name, run in runs.items():
            panel.plot(groups, [100 * (1 - run.solved[values == group].mean()) for group in groups], "o-", label=name)
        panel.set(xlabel=label, ylabel="not solved, %", title=f"settings: {settings}")
    left.legend(fontsize="small")
    return figure


def _iterations(rated: Rated, runs: dict[str, Run], settings: str) -> Figure:
    """Boxes of the iterations, also up to twice the median of the upper quartiles, and means by difficulty."""
    figure, (whole, zoom, means) = _panels(3, 3.8)
    names, samples = list(runs), [run.iterations for run in runs.values()]
    for panel in (whole, zoom):
        panel.boxplot(samples, whis=(5, 95), sym=".", flierprops={"markersize": 2})
        panel.set_xticks(range(1, len(names) + 1), names, rotation=20, ha="right")
        panel.set(ylabel="iterations", title=f"settings: {settings}")
    whole.set_yscale("symlog", linthresh=1)
    zoom.set_ylim(0, max(float(np.median([np.quantile(sample, 0.75) for sample in samples])) * 2, 1.0))
    zoom.set_title("zoom")
    levels = rated.levels
    groups = np.unique(levels)
    for name, sample in zip(names, samples, strict=True):
        means.plot(groups, [sample[levels == group].mean() for group in groups], "o-", label=name)
    means.set(yscale="symlog", xlabel=rated.label, ylabel="mean iterations")
    means.legend(fontsize="small")
    return figure


def _grouped(clues: np.ndarray) -> np.ndarray:
    """Clues, in at most some twelve groups named by their lowest number."""
    width = max(1, -(-int(np.ptp(clues) + 1) // 12))
    return clues // width * width
