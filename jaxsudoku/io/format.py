"""Grids and answers as text."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.solution import STATS, Solution, Status

from .chunk import Chunk

#: Stands for a grid that is not there: no solution, or no puzzle.
NO_GRID = b"-"
#: The columns of a table of answers, before those carried along from the input.
COLUMNS = ("puzzle", "solution", "status", "iterations")

_WORDS = {int(status): status.name.lower() for status in Status}
_MALFORMED = "malformed"


def format_grids(grids: np.ndarray, board: Board) -> bytes:
    """Grids as text, a line each: a character a cell (``.`` for a blank) up to a side of 9, else spaced integers.

    Args:
      grids: uint8[n, cells], values 0 (blank) to side.
      board: their board.

    Raises:
      ValueError: the shape is another, or a value lies outside 0..side.
    """
    return format_lines(grids, board.side)


def format_lines(grids: np.ndarray, side: int, absent: np.ndarray | None = None) -> bytes:
    """As ``format_grids``, with ``-`` for the grids where absent, bool[n], is set."""
    grids = np.asarray(grids)
    if grids.ndim != 2 or grids.shape[1] != side * side:
        raise ValueError(f"grids must have shape (n, {side * side}), not {grids.shape}")
    if grids.size and not 0 <= grids.min() <= grids.max() <= side:
        raise ValueError(f"a grid holds a value outside 0..{side}")
    text, kept = _characters(grids.astype(np.uint8, copy=False), side)
    if absent is not None and absent.any():
        kept = np.ones(text.shape, bool) if kept is None else kept
        text[absent, :2] = np.frombuffer(NO_GRID + b"\n", np.uint8)
        kept[absent] = np.arange(text.shape[1]) < 2
    return text.tobytes() if kept is None else text[kept].tobytes()


def answer_lines(chunk: Chunk, solution: Solution, side: int) -> bytes:
    """The answers to a chunk as text: a solution a line, ``-`` where there is none."""
    return format_lines(solution.grids, side, _unsolved(chunk, solution))


def answer_columns(chunk: Chunk, solution: Solution, side: int) -> dict[str, list]:
    """The answers to a chunk as columns of n values: ``COLUMNS``, the ``STATS`` there are, those carried along."""
    good = chunk.good
    numbers = {"iterations": solution.iterations, **{k: solution.stats[k] for k in STATS if k in solution.stats}}
    words = [_WORDS[status] for status in np.asarray(solution.status).tolist()]
    for row in np.flatnonzero(~good).tolist():
        words[row] = _MALFORMED
    return {
        "puzzle": format_lines(chunk.grids, side, ~good).decode().split("\n")[:-1],
        "solution": format_lines(solution.grids, side, _unsolved(chunk, solution)).decode().split("\n")[:-1],
        "status": words,
        **{name: np.where(good, x, 0).tolist() for name, x in numbers.items()},
        **chunk.extras,
    }


def csv_header(names: Iterable[str]) -> bytes:
    """The first line of a CSV with these columns."""
    return "".join(_quoted([names])).encode(errors="surrogateescape")


def csv_records(columns: dict[str, list]) -> bytes:
    """The records of a CSV, of what ``answer_columns`` gives."""
    puzzles, solutions, words, *counts = (columns[name] for name in (*COLUMNS, *STATS) if name in columns)
    extras = [values for name, values in columns.items() if name not in (*COLUMNS, *STATS)]
    # Our own columns never need quotes, and joining them is five times as fast as the csv module.
    answers = map(",".join, zip(puzzles, solutions, words, *(map(str, count) for count in counts), strict=True))
    records = map(",".join, zip(answers, _quoted(zip(*extras, strict=True)), strict=True)) if extras else answers
    text = "".join(records) if extras else "\n".join(records) + "\n"
    return text.encode(errors="surrogateescape")


def csv_text(columns: Sequence[Sequence[str]]) -> bytes:
    """The records of a CSV of these columns, at least one, quoted where they need it."""
    if any(set(',"\r\n').intersection("".join(column)) for column in columns):
        lines = _quoted(zip(*columns, strict=True))
    else:  # five times as fast as the csv module
        lines = [f"{','.join(record)}\n" for record in zip(*columns, strict=True)]
    return "".join(lines).encode(errors="surrogateescape")


def _quoted(records: Iterable[Iterable]) -> list[str]:
    """Records as the csv module writes them, a string each, newline included."""
    lines: list[str] = []
    # The module of Python 3.11 quotes carriage returns only where they end lines.
    csv.writer(_Sink(lambda line: lines.append(f"{line[:-2]}\n")), lineterminator="\r\n").writerows(records)
    return lines


class _Sink(NamedTuple):
    write: Callable[[str], object]


def _characters(grids: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Lines as uint8[n, width], and bool[n, width] of the characters to keep, None for all."""
    if side <= 9:
        text = np.empty((len(grids), side * side + 1), np.uint8)
        np.add(grids, np.uint8(ord("0")), out=text[:, :-1])
        if not grids.all():
            text[:, :-1] -= (grids == 0) * np.uint8(ord("0") - ord("."))
        text[:, -1] = ord("\n")
        return text, None
    # Three characters a cell: the tens, left out below 10, the units, and what divides it from the next.
    parts = np.stack([grids // 10 + ord("0"), grids % 10 + ord("0"), np.full_like(grids, ord(" "))], axis=-1)
    kept = np.ones(parts.shape, bool)
    kept[..., 0] = grids >= 10
    parts[:, -1, -1] = ord("\n")
    shape = (len(grids), 3 * side * side)
    return parts.reshape(shape), kept.reshape(shape)


def _unsolved(chunk: Chunk, solution: Solution) -> np.ndarray:
    return ~chunk.good | (np.asarray(solution.status) != Status.SOLVED)
