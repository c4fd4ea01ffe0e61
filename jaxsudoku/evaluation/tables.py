"""Reports as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .report import Calibration, Level, Report, Score

_HEADINGS = ("", "puzzles", "open cells", "rules alone", "cells", "boards", "iterative", "fillings", "calls")
_BIN_HEADINGS = ("predicted", "positions", "mean", "with a solution")

#: What stands for a number that isn't there.
_NOTHING = "-"


def of_report(report: Report) -> str:
    """A report as tables, a pair for each rules."""
    left_out = ", ".join(f"{count:,} {why}" for why, count in report.left_out.items() if count)
    lines = [
        f"{report.network}, {report.parameters:,} parameters: {report.puzzles:,} puzzles on {report.board}"
        + (f"; left out: {left_out}" if left_out else "")
    ]
    for rules, level in report.levels.items():
        lines += ["", f"rules: {rules}", *_aligned([_HEADINGS, *_score_rows(level)])]
        if level.calibration is not None:
            lines += ["", *_calibration(rules, level.calibration)]
    return "\n".join(lines)


def _score_rows(level: Level) -> Iterator[Sequence[str]]:
    yield _score_row("all", level.total)
    for by, groups in level.splits.items():
        for name, score in groups.items():
            yield _score_row(f"{by} {name}", score)


def _score_row(name: str, score: Score) -> Sequence[str]:
    return (
        name,
        f"{score.puzzles:,}",
        _number(score.open_cells),
        _share(score.rules_alone),
        _share(score.cells),
        _share(score.boards),
        _share(score.iterative),
        _number(score.fillings),
        _number(score.network_calls),
    )


def _calibration(rules: str, found: Calibration) -> Iterator[str]:
    apart = f"{found.refuted:,} refuted and {found.solved:,} solved by the rules are left out"
    yield f"value, rules: {rules}; {found.positions:,} positions, {_share(found.alive)} with a solution ({apart})"
    if found.positions:
        ranked = _NOTHING if found.auc is None else f"{found.auc:.4f}"
        yield f"Brier score {found.brier:.4f}, log loss {found.log_loss:.4f}, area under the curve {ranked}"
        rows = [
            (
                f"{each.lower:.1f} to {each.upper:.1f}",
                f"{each.positions:,}",
                _share(each.predicted),
                _share(each.observed),
            )
            for each in found.bins
        ]
        yield from _aligned([_BIN_HEADINGS, *rows])


def _share(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.2%}"


def _number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.1f}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of equally many texts as lines, indented: the first column flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        numbers = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        yield "  ".join([f"  {first:<{widths[0]}}", *numbers])
