"""What an evaluation finds, as nested records: kept as JSON, printed as tables."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from jaxsudoku.files import parse_json

from . import tables


@dataclasses.dataclass(frozen=True)
class Score:
    """How a network does on a group of puzzles. Shares are from 0 to 1; None is what there is nothing to tell of.

    Attributes:
      puzzles: how many there are, one or more.
      open_cells: mean number of cells that the rules leave open.
      rules_alone: share of the puzzles that the rules solve, which count as right everywhere.
      cells: share of all open cells in which the likeliest digit is right, filling them all at once.
      boards: share of the puzzles in which all of them are.
      iterative: share of the puzzles solved by filling one cell after another, the surest first.
      fillings: mean number of cells filled that way.
      network_calls: mean number of calls of the network that this takes a puzzle.
    """

    puzzles: int
    open_cells: float
    rules_alone: float
    cells: float | None
    boards: float
    iterative: float | None = None
    fillings: float | None = None
    network_calls: float | None = None


@dataclasses.dataclass(frozen=True)
class Bin:
    """Positions whose predicted probability of a solution lies in [lower, upper), the last bin with its upper end.

    Attributes:
      lower, upper: the range.
      positions: how many there are, one or more.
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
    """How well the value tells positions that have a solution from those that have none.

    Attributes:
      positions: how many were looked at: those that the rules neither refute nor solve.
      refuted: how many more the rules refute.
      solved: how many more the rules solve.
      alive: share of the positions looked at that has a solution; None without positions.
      brier: mean squared difference of probability and outcome; None without positions.
      log_loss: mean negative logarithm of the probability given to the outcome; None without positions.
      auc: chance that of two positions, one with and one without a solution, the former has the higher value (a tie
        counts half); None unless there are both.
      bins: the reliability table; bins without positions are left out.
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
    """What was measured where the network sees what some rules leave of a position.

    Attributes:
      total: on all puzzles.
      splits: on groups of them, by what splits them (clues, rating, difficulty) and by the group's name, in order.
      calibration: of the value; None where no positions were asked for.
    """

    total: Score
    splits: Mapping[str, Mapping[str, Score]]
    calibration: Calibration | None


@dataclasses.dataclass(frozen=True)
class Report:
    """An evaluation; ``str()`` gives tables for people.

    Attributes:
      network: the architecture's name.
      config: its sizes.
      parameters: how many numbers it has learned.
      board: the board's name.
      puzzles: how many were evaluated, each with exactly one solution.
      left_out: how many others there were, by what is wrong with them.
      levels: what was measured, by the rules.
      about: whatever else is to be kept with it, as JSON has it.
    """

    network: str
    config: Mapping[str, Any]
    parameters: int
    board: str
    puzzles: int
    left_out: Mapping[str, int]
    levels: Mapping[str, Level]
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self) -> str:
        """The report as a JSON object, the fields under their names."""
        return json.dumps(dataclasses.asdict(self), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that ``to_json`` wrote.

        Raises:
          ValueError: the text is none.
        """
        try:
            fields = parse_json(text.encode())
            levels = {rules: _level(**level) for rules, level in fields.pop("levels").items()}
            return cls(levels=levels, **fields)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no report of an evaluation ({error})") from error

    def __str__(self) -> str:
        return tables.of_report(self)


def _level(total: Any, splits: Any, calibration: Any) -> Level:
    groups = {by: {name: Score(**score) for name, score in scores.items()} for by, scores in splits.items()}
    if calibration is not None:
        calibration = Calibration(**{**calibration, "bins": tuple(Bin(**each) for each in calibration["bins"])})
    return Level(Score(**total), groups, calibration)
