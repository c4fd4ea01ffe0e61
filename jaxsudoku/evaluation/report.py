"""Results of an evaluation, as nested records: written as JSON, printed as tables."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxsudoku.engine.tables import to_table
from jaxsudoku.runtime.files import parse_json


@dataclasses.dataclass(frozen=True)
class Score:
    """Scores of a network on a group of puzzles. Shares are from 0 to 1; None stands for what was not measured.

    Attributes:
      puzzles: number of puzzles, one or more.
      open_cells: mean number of cells that the rules leave open.
      rules_alone: share of the puzzles that the rules solve, which count as right everywhere.
      cells: share of all open cells whose likeliest digit is right; None without open cells.
      boards: share of the puzzles whose open cells are all right.
      iterative: share of the puzzles solved by the solver ``iterative``.
      fillings: mean number of cells that this fills.
      network_calls: mean number of calls of the network that this takes.
    """

    puzzles: int
    open_cells: float
    rules_alone: float
    cells: float | None
    boards: float
    iterative: float | None = None
    fillings: float | None = None
    network_calls: float | None = None

    def interval(self, name: str) -> tuple[float, float] | None:
        """The 95% confidence interval of the share ``boards`` or ``iterative`` (Wilson's); None if not measured."""
        share: float | None = getattr(self, name)
        return None if share is None else interval_of(share, self.puzzles)


#: The quantile of the normal distribution for intervals of 95%.
_QUANTILE = 1.959964


def interval_of(share: float, puzzles: int) -> tuple[float, float]:
    """The 95% confidence interval of a share of so many puzzles (Wilson's)."""
    spread = _QUANTILE**2 / puzzles
    middle = (share + spread / 2) / (1 + spread)
    half = _QUANTILE * math.sqrt(share * (1 - share) / puzzles + spread / puzzles / 4) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclasses.dataclass(frozen=True)
class Bin:
    """Positions whose predicted probability of a solution lies in [lower, upper), the last bin with its upper end.

    Attributes:
      lower, upper: the range.
      positions: number of positions, one or more.
      predicted: mean predicted probability.
      observed: share that has a solution.
    """

    lower: float
    upper: float
    positions: int
    predicted: float
    observed: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How well the value separates positions that have a solution from those that have none.

    Attributes:
      positions: number of positions that the rules neither refute nor solve; the network evaluated these.
      refuted: number of further positions that the rules refute.
      solved: number of further positions that the rules solve.
      alive: share of the positions that have a solution; None without positions.
      brier: Brier score, the mean squared difference of probability and outcome; None without positions.
      log_loss: mean negative logarithm of the probability of the outcome; None without positions.
      auc: area under the ROC curve: the probability that a position with a solution has a higher value than one
        without, a tie counting half; None unless there are both.
      bins: the reliability table, without empty bins.
    """

    positions: int
    refuted: int
    solved: int
    alive: float | None
    brier: float | None
    log_loss: float | None
    auc: float | None
    bins: tuple[Bin, ...]


@dataclasses.dataclass(frozen=True)
class Level:
    """Measurements of a network that sees positions after some rules.

    Attributes:
      total: scores on all puzzles.
      splits: scores on groups of them, by split (clues, rating, difficulty) and by the group's name, in order.
      calibration: calibration of the value; None if it was measured on no positions.
    """

    total: Score
    splits: Mapping[str, Mapping[str, Score]]
    calibration: Calibration | None


@dataclasses.dataclass(frozen=True)
class Report:
    """Results of an evaluation; ``str()`` formats them as tables.

    Attributes:
      network: the architecture's name.
      config: its sizes.
      parameters: number of parameters.
      board: the board's name.
      puzzles: number of puzzles evaluated, each with exactly one solution.
      drawn_from: number of puzzles with exactly one solution, from which these were drawn; None if it is not known.
      left_out: number of other puzzles, by the reason.
      levels: the measurements, by the rules.
      about: further facts, as JSON has them.
    """

    network: str
    config: Mapping[str, Any]
    parameters: int
    board: str
    puzzles: int
    left_out: Mapping[str, int]
    levels: Mapping[str, Level]
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    drawn_from: int | None = None

    def to_json(self) -> str:
        """The report as a JSON object, the fields under their names."""
        return json.dumps(dataclasses.asdict(self), indent=2, allow_nan=False)

    def to_table(self) -> Any:
        """The scores as a ``pyarrow.Table``: after each of the rules a row for all puzzles and one for each group.

        The columns are ``rules``; ``split``, "all" for all puzzles; ``group``; and the fields of ``Score``, null for
        what was not measured.

        Raises:
          ImportError: pyarrow is missing (extra ``parquet``).
        """
        rows = [
            {"rules": rules, "split": split, "group": group, **dataclasses.asdict(score)}
            for rules, level in self.levels.items()
            for split, scores in {"all": {"all": level.total}, **level.splits}.items()
            for group, score in scores.items()
        ]
        return to_table({name: [row[name] for row in rows] for name in rows[0]})

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that ``to_json`` wrote.

        Raises:
          ValueError: the text is no report.
        """
        try:
            fields = parse_json(text.encode())
            levels = {rules: _level(**level) for rules, level in fields.pop("levels").items()}
            return cls(levels=levels, **fields)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no report of an evaluation ({error})") from error

    def __str__(self) -> str:
        return _tables(self)


def _level(total: Any, splits: Any, calibration: Any) -> Level:
    groups = {by: {name: Score(**score) for name, score in scores.items()} for by, scores in splits.items()}
    if calibration is not None:
        calibration = Calibration(**{**calibration, "bins": tuple(Bin(**each) for each in calibration["bins"])})
    return Level(Score(**total), groups, calibration)


# ---------------------------------------------------------------------- text

_HEADINGS = ("", "puzzles", "open cells", "rules alone", "cells", "boards", "iterative", "fillings", "calls")
_BIN_HEADINGS = ("predicted", "positions", "mean", "with a solution")

#: Stands for a missing number.
_NOTHING = "-"


def _tables(report: Report) -> str:
    """A report as text, two tables for each of the rules."""
    left_out = ", ".join(f"{count:,} {why}" for why, count in report.left_out.items() if count)
    drawn = f"{report.puzzles:,}"
    if report.drawn_from is not None and report.drawn_from > report.puzzles:
        drawn += f" of {report.drawn_from:,}"
    lines = [
        f"{report.network}, {report.parameters:,} parameters: {drawn} puzzles on {report.board}"
        + (f"; left out: {left_out}" if left_out else "")
    ]
    for rules, level in report.levels.items():
        lines += ["", f"rules: {rules}", *aligned([_HEADINGS, *_score_rows(level)]), _intervals(level.total)]
        if level.calibration is not None:
            lines += ["", *_calibration_lines(rules, level.calibration)]
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
        share_text(score.rules_alone),
        share_text(score.cells),
        share_text(score.boards),
        share_text(score.iterative),
        _number(score.fillings),
        _number(score.network_calls),
    )


def _intervals(score: Score) -> str:
    """The confidence intervals of the shares of puzzles, in a line."""
    found = {name: score.interval(name) for name in ("boards", "iterative")}
    parts = [
        f"{name} {share_text(ends[0])} to {share_text(ends[1])}" for name, ends in found.items() if ends is not None
    ]
    return f"  95% confidence intervals, all puzzles: {', '.join(parts)}"


def _calibration_lines(rules: str, found: Calibration) -> Iterator[str]:
    apart = f"{found.refuted:,} refuted and {found.solved:,} solved by the rules are left out"
    yield f"value, rules: {rules}; {found.positions:,} positions, {share_text(found.alive)} with a solution ({apart})"
    if found.positions:
        ranked = _NOTHING if found.auc is None else f"{found.auc:.4f}"
        yield f"Brier score {found.brier:.4f}, log loss {found.log_loss:.4f}, area under the curve {ranked}"
        rows = [
            (f"{b.lower:.1f} to {b.upper:.1f}", f"{b.positions:,}", share_text(b.predicted), share_text(b.observed))
            for b in found.bins
        ]
        yield from aligned([_BIN_HEADINGS, *rows])


def share_text(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.2%}"


def _number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.1f}"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table as indented lines: the first column flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        numbers = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        yield "  ".join([f"  {first:<{widths[0]}}", *numbers])
