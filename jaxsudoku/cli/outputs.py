"""Outputs of commands: checked before the work, written with errors that name the file."""

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
    """The file of answers, batches, the seed, and what is reported."""

    output: str = flag("file of answers (default: the standard output)", type=flags.output, default="-", metavar="FILE")
    batch_size: int | None = flags.number_flag(
        "puzzles read, solved and written at a time; smaller batches of hard puzzles show progress and save work "
        "sooner (default: by the machine)"
    )
    seed: int = flags.seed_flag()
    json: bool = flag(
        "summary as a JSON object, on the standard output unless the answers go there; then on the standard error",
        default=False,
    )
    quiet: bool = flag("neither progress nor summary; errors are still reported", default=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Writing(Running):
    """An output of puzzles or answers, which may exist."""

    format: Kind | None = flags.format_flag("by the output's suffix")
    resume: bool = flag(
        "keep what an earlier run wrote, and go on after it; give the same flags, as answers that are there stay, "
        "unsolved ones too",
        default=False,
        exclusive="existing",
    )
    force: bool = flag("replace an existing output", default=False, exclusive="existing")

    @property
    def table_kind(self) -> Kind | None:
        """The kind of a table, None if its name tells; CSV on the standard output, so that all columns are there."""
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
    """Checks before the work that files can be made.

    Args:
      paths: the files.
      reads: the inputs, ``-`` for the standard input.
      writes: the other outputs, ``-`` for the standard output.
      force: whether existing files may be replaced.
      what: what the files are, for messages.
      json: the file that is written as JSON, None if there is none.

    Raises:
      UsageError: the suffix of ``json`` is that of another form; a file is one of the others, exists and is not to be
        replaced, or can't be written.
    """
    with as_usage():
        for number, path in enumerate(paths):
            check_output(path, reads=reads, writes=[*writes, *paths[:number]], exist_ok=force, what=what)
        if json is not None:
            check_form(json, ".json")


def check_answers(request: Writing, kind: Kind | None) -> None:
    """Checks the output of a command that answers or makes puzzles, before anything else is done.

    Args:
      request: the output.
      kind: its kind, None if its name tells.

    Raises:
      UsageError: it has no such form, exists and is not to be replaced or resumed, or can't be written.
    """
    with as_usage():
        check_kind(request.output, kind, request.resume)
        check_output(request.output, exist_ok=request.resume or request.force, resumable=True)


def check_printed(*reads: str) -> None:
    """Raises UsageError where the standard output is closed, or is one of the files that a command reads."""
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
    """Writes a whole text at once; raises OSError with the file's name, BrokenPipeError as it is."""
    data = memoryview(text.encode())
    with named_errors(name):
        while data:  # an unbuffered file may take less than it is given
            data = data[file.write(data) :]
        file.flush()


@contextlib.contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Adds the file's name to errors of writing; BrokenPipeError is raised as it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error
