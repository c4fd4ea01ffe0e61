"""Outputs of commands: early checks, and errors of writing that name the file."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from jaxsudoku.core.board import Board
from jaxsudoku.io import Kind, TableWriter, check_form, check_kind, check_output, header_lines
from jaxsudoku.runtime.terminal.failure import as_usage

from . import flags
from .parser import Last, flag


@dataclasses.dataclass(frozen=True, kw_only=True)
class Running(Last):
    """Request fields of a run: the output, batch size, seed, and reports."""

    output: str = flag("file of answers (default: the standard output)", type=flags.output, default="-", metavar="FILE")
    batch_size: int | None = flags.number_flag(
        "number of puzzles read, solved and written at a time; with hard puzzles smaller batches show progress and "
        "save work earlier (default: by the machine)"
    )
    seed: int = flags.seed_flag()
    json: bool = flag(
        "summary as a JSON object, on the standard output unless the answers go there; then on the standard error",
        default=False,
    )
    quiet: bool = flag("neither progress nor summary; errors are still reported", default=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Writing(Running):
    """Request fields of an output that may exist already."""

    format: Kind | None = flags.format_flag("by the output's suffix")
    resume: bool = flag(
        "keep the output of an earlier run, and continue after it; use the same flags, as existing answers are kept, "
        "even unsolved ones",
        default=False,
        exclusive="existing",
    )
    force: bool = flag("replace an existing output", default=False, exclusive="existing")

    @property
    def table_kind(self) -> Kind | None:
        """The kind of a table; None to take it from the name; CSV on the standard output, to have all columns."""
        return self.format or ("csv" if self.output == "-" else None)


def check_outputs(
    paths: Sequence[str],
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = ("-",),
    force: bool,
    what: str = "output",
    json: str | None = None,
) -> None:
    """Checks before the work that files can be created.

    Args:
      paths: the files.
      reads: the inputs, ``-`` for the standard input.
      writes: the other outputs, ``-`` for the standard output.
      force: whether existing files may be replaced.
      what: the name of the files in messages.
      json: the file that is written as JSON; None if there is none.

    Raises:
      UsageError: the suffix of ``json`` belongs to another format; a file is used twice, exists and is not to be
        replaced, or can't be written.
    """
    with as_usage():
        for number, path in enumerate(paths):
            check_output(path, reads=reads, writes=[*writes, *paths[:number]], exist_ok=force, what=what)
        if json is not None:
            check_form(json, ".json")


def check_answers(request: Writing, kind: Kind | None) -> None:
    """Checks the output of a command that answers or makes puzzles, before any other work.

    Args:
      request: the output.
      kind: its kind; None to take it from the name.

    Raises:
      UsageError: the name or kind is invalid, it exists and is not to be replaced or resumed, or it can't be written.
    """
    with as_usage():
        check_kind(request.output, kind, request.resume)
        check_output(request.output, exist_ok=request.resume or request.force, resumable=True)


def check_printed(*reads: str) -> None:
    """Raises UsageError if the standard output is closed, or is one of the files that a command reads."""
    with as_usage():
        check_output("-", reads=reads)


def open_table(
    request: Writing, board: Board, columns: Mapping[str, Any], source: str | None = None, resumable: bool = True
) -> TableWriter:
    """The output of a command that writes a table of puzzles; raises as ``TableWriter`` does."""
    return TableWriter(
        request.output,
        columns,
        kind=request.table_kind,
        force=request.force,
        resume=request.resume,
        source=source,
        heading=header_lines(board),
        resumable=resumable,
    )


def put(file: BinaryIO, text: str, name: str) -> None:
    """Writes a whole text; raises OSError with the file's name, BrokenPipeError unchanged."""
    data = memoryview(text.encode())
    with named_errors(name):
        while data:  # an unbuffered file may write only a part
            data = data[file.write(data) :]
        file.flush()


@contextlib.contextmanager
def named_errors(name: str) -> Iterator[None]:
    """A context that adds the file's name to errors of writing, except BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error
