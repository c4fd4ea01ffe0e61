"""Plots of reports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from jaxsudoku.pictures import PANEL, check_suffix, import_figure

from .bare import BareReport
from .report import Calibration, Report, Score


def plot(report: Report | BareReport, path: str | os.PathLike[str]) -> None:
    """Draws a report into a file: the share of boards solved by group of puzzles, and the calibration of the value.

    That of the bare protocol has the share by the number of iterations, with a line for each number of runs.

    Args:
      report: the result of ``evaluate`` or ``evaluate_bare``.
      path: the file, replaced if it exists; its suffix, such as .png, selects the format.

    Raises:
      ImportError: matplotlib is missing.
      ValueError: an unknown suffix.
      OSError: the file can't be written.
    """
    figures = import_figure()
    check_suffix(path)
    if isinstance(report, BareReport):
        _plot_bare(report, figures, path)
        return
    splits = list(dict.fromkeys(by for level in report.levels.values() for by in level.splits))
    rows, columns = len(report.levels), len(splits) + 1
    figure = figures.Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for row, (rules, level) in zip(axes, report.levels.items(), strict=True):
        for panel, by in zip(row, splits, strict=False):
            _draw_scores(panel, level.splits[by])
            panel.set_xlabel(by)
            panel.set_title(f"rules: {rules}")
        _draw_calibration(row[-1], level.calibration)
        row[-1].set_title(f"value, rules: {rules}")
    figure.suptitle(f"{report.network}, {report.parameters:,} parameters, {report.puzzles:,} puzzles on {report.board}")
    figure.savefig(path, dpi=120)


def _plot_bare(report: BareReport, figures: Any, path: str | os.PathLike[str]) -> None:
    figure = figures.Figure(figsize=PANEL, layout="constrained")
    panel = figure.subplots()
    for runs in dict.fromkeys(score.runs for score in report.scores):
        scores = [score for score in report.scores if score.runs == runs]
        label = f"{runs:,} run{'s' * (runs > 1)}"
        panel.plot([score.iterations for score in scores], [score.boards for score in scores], marker="o", label=label)
    panel.set_xscale("log", base=2)
    panel.set_xlabel("iterations")
    panel.set_ylim(-0.02, 1.02)
    panel.set_ylabel("share of boards solved")
    panel.grid(alpha=0.3)
    panel.legend()
    figure.suptitle(f"{report.network}, {report.parameters:,} parameters, alone: {report.puzzles:,} puzzles")
    figure.savefig(path, dpi=120)


def _draw_scores(panel: Any, scores: Mapping[str, Score]) -> None:
    names = list(scores)
    lines: dict[str, list[float | None]] = {
        "rules alone": [score.rules_alone for score in scores.values()],
        "all at once": [score.boards for score in scores.values()],
        "cell by cell": [score.iterative for score in scores.values()],
    }
    for label, values in lines.items():
        if None not in values:
            panel.plot(range(len(names)), values, marker="o", label=label)
    panel.set_xticks(range(len(names)), names, rotation=30 if max(map(len, names)) > 4 else 0)
    panel.set_ylim(-0.02, 1.02)
    panel.set_ylabel("share of boards solved")
    panel.grid(alpha=0.3)
    panel.legend()


def _draw_calibration(panel: Any, found: Calibration | None) -> None:
    panel.plot([0, 1], [0, 1], color="grey", linestyle="dashed")
    if found is not None and found.bins:
        panel.plot([each.predicted for each in found.bins], [each.observed for each in found.bins], marker="o")
        panel.text(0.03, 0.92, f"Brier score {found.brier:.4f}", transform=panel.transAxes)
    panel.set_xlim(-0.02, 1.02)
    panel.set_ylim(-0.02, 1.02)
    panel.set_xlabel("predicted probability of a solution")
    panel.set_ylabel("share that has one")
    panel.grid(alpha=0.3)
