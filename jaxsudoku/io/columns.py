"""Selection of a table's columns: the column of puzzles, and columns to carry along."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable
from typing import NamedTuple

from jaxsudoku.core.status import STATS
from jaxsudoku.runtime.suggestions import did_you_mean

from .chunk import PuzzleFileError

#: Names of the column of puzzles, the preferred one first; the others are used by well-known data sets.
PUZZLE_COLUMNS = ("puzzle", "quizzes", "question")
#: Names of a column of known solutions, in the same order.
KNOWN_SOLUTION_COLUMNS = ("solution", "solutions", "answer")
#: The column of a table that names the board of its puzzles.
BOARD_COLUMN = "board"
#: The column of a table that has the constraints of each puzzle.
CONSTRAINTS_COLUMN = "constraints"
#: The columns of a table of answers, before ``STATS`` and the columns carried along from the input.
SOLUTION_COLUMNS = ("puzzle", "solution", "status", "iterations")
#: The columns of a table of counted solutions, before those carried along from the input.
COUNT_COLUMNS = ("puzzle", "count", "status", "iterations")
#: Columns of our own outputs, by default not carried along, as new answers replace them.
ANSWER_COLUMNS = (*SOLUTION_COLUMNS[1:], *STATS)
#: Number of names quoted in a message.
_SHOWN = 20
_KNOWN = frozenset((*PUZZLE_COLUMNS, *KNOWN_SOLUTION_COLUMNS, *ANSWER_COLUMNS, BOARD_COLUMN, CONSTRAINTS_COLUMN))


class Columns(NamedTuple):
    """The columns of a table.

    Attributes:
      width: how many there are.
      puzzle: index of the column of puzzles.
      extras: the columns carried along, by name, with their indices.
    """

    width: int
    puzzle: int
    extras: dict[str, int]


def choose_columns(names: Iterable[str], place: str, column: str | None, keep: Collection[str] = ()) -> Columns:
    """Finds the column of puzzles (or the only one), and those to carry along: all others but answers not in ``keep``.

    Args:
      names: names of the columns.
      place: the location of the names, for messages.
      column: name of the column of puzzles, None for one of ``PUZZLE_COLUMNS``.
      keep: columns of answers to carry along.

    Returns:
      The columns, named as ``plain_names`` does.

    Raises:
      PuzzleFileError: no column holds the puzzles, or two have the same name.
    """
    names = plain_names(names)
    wanted = PUZZLE_COLUMNS if column is None else (column, *(name for name in names if same_name(name, column)))
    puzzle = next((names.index(name) for name in wanted if name in names), None)
    if puzzle is None and column is None and len(names) == 1 and names[0] != BOARD_COLUMN:
        puzzle = 0
    if puzzle is None:
        hint = did_you_mean(wanted[0], names)
        advice = "; another one can be named (column, --column)" if column is None and not hint else ""
        raise PuzzleFileError(f"{place}: no column named {wanted[0]!r} among {_listed(names)}{hint}{advice}")
    if len(set(names)) < len(names):
        twice = next(name for name, count in collections.Counter(names).items() if count > 1)
        raise PuzzleFileError(f"{place}: two columns are named {twice!r:.80}")
    dropped = {*PUZZLE_COLUMNS, *ANSWER_COLUMNS}.difference(keep)
    carried = {name: at for at, name in enumerate(names) if at != puzzle and name not in dropped}
    return Columns(len(names), puzzle, carried)


def _listed(names: list[str]) -> str:
    """The first names, for messages."""
    shown = ", ".join(f"{name!r:.80}" for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def further_columns(names: Iterable[str], column: str | None) -> tuple[str, ...]:
    """All columns except that of puzzles, answers included; raises as ``choose_columns`` does."""
    return tuple(choose_columns(names, "header", column, (*PUZZLE_COLUMNS, *ANSWER_COLUMNS)).extras)


def plain_names(names: Iterable[str]) -> list[str]:
    """Names of columns without surrounding white space; names known here in lower case."""
    names = [name.strip() for name in names]
    return [name.lower() if name.lower() in _KNOWN else name for name in names]


def same_name(name: str, other: str) -> bool:
    """Whether two names differ only in case and surrounding white space."""
    return name.strip().lower() == other.strip().lower()
