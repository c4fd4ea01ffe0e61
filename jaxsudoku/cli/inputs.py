"""Inputs of commands: a file, the standard input, a set that ships with the package, or puzzles given inline."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np

from jaxsudoku import shipped
from jaxsudoku.core.board import Board
from jaxsudoku.io import (
    KNOWN_SOLUTION_COLUMNS,
    Chunk,
    PuzzleFile,
    Slice,
    board_of_text,
    check_standard_input,
    format_grids,
    is_exchanged,
    is_library_line,
    open_puzzles,
    open_slice,
    parse,
    parse_position,
    read_grid_column,
    read_puzzles,
)
from jaxsudoku.pictures import TEXT_SUFFIXES, checked_suffix
from jaxsudoku.runtime.suggestions import did_you_mean
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage

from . import flags
from .outputs import check_outputs, check_printed
from .parser import flag

#: The name of puzzles given inline, in messages.
INLINE = "<command line>"

#: Minimum length of a text that is taken for a (possibly incomplete) puzzle.
_SHORTEST = 8
#: A word that looks like the name of a set, such as 9x9-insane.
_SET_NAME = re.compile(r"\w+x\d+(-[\w-]+)?")
_DIGITS = re.compile(r"[\d.*_-]+")
_CELL = re.compile(r"\d{1,2}|[.*_-]")


@dataclasses.dataclass(frozen=True)
class PartInput:
    """The input of a part of a job, which may be empty.

    Attributes:
      part: a slice of an input.
      board: the board of the job.
      declared_unique: whether the inputs of the job state that each puzzle has one solution.
    """

    part: Slice
    board: Board
    declared_unique: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inputs:
    """Request fields of an input: a file or inline puzzles, the board and the column."""

    input: tuple[str, ...] | str | PartInput = flag(
        f"{flags.INPUT_HELP}; several puzzles may be given inline", "input", metavar="INPUT", nargs="+"
    )
    board: Board | None = flags.board_flag(named_by_input=True)
    column: str | None = flag("column of puzzles in a table, key in JSON lines (default: puzzle)", metavar="NAME")
    zero_based: bool = flag("digits are counted from 0, which is not a blank; answers count from 1", default=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnePuzzle(Inputs):
    """Request fields of one puzzle: the input, the number of the puzzle, and the output."""

    index: int = flags.number_flag("number of the puzzle in the input, from 1", default=1)
    output: str = flag(
        f"file of what is shown; its suffix selects the form: {', '.join(TEXT_SUFFIXES)} (PNG and PDF need the extra "
        "plot; default: text on the standard output)",
        type=flags.output,
        default="-",
        metavar="FILE",
        exclusive="form",
    )
    force: bool = flag("replace an existing output", default=False)


class Input(NamedTuple):
    """An open input.

    Attributes:
      puzzles: the puzzles; ``puzzles.name`` is the name of the input in messages.
      path: its path, ``-`` for the standard input; the name of a shipped set or ``INLINE`` for others.
      columns: the names of its columns, if it is a table.
      declared_unique: whether a file states that each of its puzzles has one solution (False for shipped ones, which
        are tested).
    """

    puzzles: PuzzleFile
    path: str
    columns: tuple[str, ...]
    declared_unique: bool

    @property
    def board(self) -> Board:
        """The board of the puzzles."""
        return self.puzzles.board


@contextlib.contextmanager
def opened(request: Inputs, keep: Collection[str] = (), constrained: bool = False) -> Iterator[Input]:
    """Opens the input of a command, and finds its board and its first puzzle, before any other work.

    Args:
      request: the request for an input.
      keep: columns of answers that ``chunks`` carries along.
      constrained: whether puzzles may have constraints of their own.

    Raises:
      UsageError: the input is missing, holds no puzzles, names another board than ``--board``, holds malformed puzzles
        given inline, or puzzles with constraints that the command does not know.
    """
    given = request.input
    if isinstance(given, PartInput):
        with open_slice(given.part, given.board, request.column) as puzzles:
            columns = puzzles.check()
            puzzles.has_puzzles(keep)
            _check_constrained(puzzles, constrained)
            yield Input(puzzles, given.part.source, columns, given.declared_unique)
        return
    with contextlib.ExitStack() as stack:
        with as_usage():
            names = (given,) if isinstance(given, str) else given
            source, path, board = _find(names, request.board, request.zero_based)
            zero_based = request.zero_based and not isinstance(source, _OneBased)
            if isinstance(source, str):
                source = stack.enter_context(_open(source))
            puzzles = stack.enter_context(open_puzzles(source, board, column=request.column, zero_based=zero_based))
        columns = puzzles.check()  # before an output is created, which would stay empty
        if not puzzles.has_puzzles(keep):
            raise UsageError(no_puzzles(puzzles.name))
        _check_constrained(puzzles, constrained)
        yield Input(puzzles, path, columns, puzzles.unique and not isinstance(source, _Named))


def _check_constrained(puzzles: PuzzleFile, constrained: bool) -> None:
    if puzzles.constrained and not constrained:
        raise UsageError(
            f"{puzzles.name}: its puzzles have constraints of their own; solve, count, rate, show, explain and hint "
            "take them"
        )


class OneInput(NamedTuple):
    """One puzzle of an input.

    Attributes:
      chunk: the puzzle, as a chunk of one.
      board: its board, with its own constraints.
      name: the name of the input in messages.
    """

    chunk: Chunk
    board: Board
    name: str


def one_puzzle(request: OnePuzzle) -> OneInput:
    """The puzzle ``--index`` of the input of a command that shows one.

    Raises:
      UsageError: as ``opened``, there is no such puzzle, or the output can't be written.
    """
    count = 0
    if request.output != "-":
        with as_usage():
            checked_suffix(request.output, TEXT_SUFFIXES)
    with opened(request, constrained=True) as source:
        if request.output == "-":
            check_printed(source.path)
        else:
            check_outputs([request.output], reads=[source.path], writes=(), force=request.force)
        for chunk in source.puzzles.chunks():
            row = request.index - 1 - chunk.start
            if row < len(chunk):
                found = chunk[row : row + 1]
                return OneInput(found, source.board.with_(*(found.constraints or ())), source.puzzles.name)
            count = chunk.start + len(chunk)
    raise UsageError(f"{source.puzzles.name}: there is no puzzle {request.index}: it holds {count}")


def read_all(name: str, board: Board) -> np.ndarray:
    """All puzzles of a file or of a set that ships with the package, uint8[N, cells]; errors as in ``read_puzzles``."""
    source, _, _ = _find([name], board)
    return read_puzzles(source, board)


def known_solutions(chunk: Chunk) -> tuple[np.ndarray, dict[int, str]]:
    """The solutions uint8[n, cells] given with the puzzles of a chunk, zeros if missing; causes of faults by row."""
    cells = chunk.grids.shape[1]
    name = next((name for name in KNOWN_SOLUTION_COLUMNS if name in chunk.extras), None)
    if name is None:
        return np.zeros((len(chunk), cells), np.uint8), {}
    solutions, faults = read_grid_column(chunk.extras[name], round(cells**0.5))
    return solutions, {row: f"the solution is malformed: {cause}" for row, cause in faults.items()}


def no_puzzles(name: str) -> str:
    """The message about an input without any puzzle, not even a malformed one."""
    return f"{name}: there are no puzzles in it"


def _open(path: str) -> contextlib.AbstractContextManager[BinaryIO | str]:
    """Opens an input, so that a missing file is an early error; returns ``-`` unchanged."""
    if path == "-":
        check_standard_input()
        return contextlib.nullcontext(path)
    return open(path, "rb")


class _Named(io.BytesIO):
    """Bytes with a name for messages."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


class _OneBased(_Named):
    """Bytes of a shipped set, whose digits are counted from 1 even with ``--zero-based``."""


def _find(
    given: Sequence[str], board: Board | None, zero_based: bool = False
) -> tuple[str | BinaryIO, str, Board | None]:
    """The source, its name, and its board (None if the source may name it). Files take precedence.

    Raises:
      UsageError, ValueError: there is no such input.
    """
    name = given[0]
    if len(given) > 1:
        for text in given:
            if text == "-" or os.path.exists(text) or not _is_puzzle(text, zero_based):
                raise UsageError(f"{text}: several inputs must be puzzles given inline; name one file or set")
    elif name == "-" or (os.path.exists(name) and not (os.path.isdir(name) and name in shipped.names())):
        return name, name, board
    elif name in shipped.names():
        return _OneBased(shipped.read(name), name), name, board
    elif is_exchanged(name):
        return _Named(name.encode(errors="surrogateescape"), INLINE), INLINE, board
    elif _is_position(name, zero_based):
        return _Named(name.encode(errors="surrogateescape"), INLINE), INLINE, board or board_of_text(name)
    elif not _is_puzzle(name, zero_based):
        hint = did_you_mean(name, shipped.names())
        if not hint and _SET_NAME.fullmatch(name):
            hint = f": choose one of {', '.join(shipped.names())}"
        if hint:
            raise UsageError(f"{name}: No such file or directory, nor a set of this name{hint}")
        return name, name, board  # fails like any missing file
    grids = [_parsed(text, board, zero_based) for text in given]
    if len({len(grid) for grid in grids}) > 1:
        raise UsageError(f"puzzles of {' and '.join(sorted({str(len(grid)) for grid in grids}))} cells given inline")
    board = board or Board.classic(round(len(grids[0]) ** 0.5))
    return _OneBased(format_grids(np.stack(grids), board), INLINE), INLINE, board


def _is_position(text: str, zero_based: bool) -> bool:
    """Whether a text that is not a file has candidates: a line of HoDoKu's library, or pencil marks."""
    if is_library_line(text.encode(errors="surrogateescape")):
        return True
    try:
        grid, candidates, givens = parse_position(text, zero_based=zero_based)
    except ValueError:
        return False
    return not (candidates[:, grid == 0].all() and givens[grid > 0].all())


def _parsed(text: str, board: Board | None, zero_based: bool) -> np.ndarray:
    try:
        return parse(text, board, zero_based=zero_based)
    except ValueError as error:
        raise UsageError(f"{text}: No such file or directory, nor a puzzle: {error}") from error


def _is_puzzle(text: str, zero_based: bool) -> bool:
    """Whether a text that is not a file is a puzzle: digits and blanks, or letters that fit its size."""
    words = text.split()
    joined = "".join(words)
    if len(words) >= _SHORTEST and all(map(_CELL.fullmatch, words)):
        return True
    if len(joined) < _SHORTEST:
        return False
    if _DIGITS.fullmatch(joined):
        return True
    try:
        parse(text, zero_based=zero_based)
    except ValueError:
        return False
    return True
