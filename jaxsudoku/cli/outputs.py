"""Outputs of commands: checked before the work, written with errors that name the file."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from jaxsudoku.io import Kind, TableWriter, check_form, check_kind, check_output, header_lines
from jaxsudoku.runtime.terminal.failure import as_usage


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


def check_answers(args: argparse.Namespace, kind: Kind | None) -> None:
    """Checks the output of a command that answers or makes puzzles, before anything else is done.

    Args:
      args: the arguments, with ``output``, ``force`` and ``resume``.
      kind: of the output, None if its name tells.

    Raises:
      UsageError: it has no such form, exists and is not to be replaced or resumed, or can't be written.
    """
    with as_usage():
        check_kind(args.output, kind, args.resume)
        check_output(args.output, exist_ok=args.resume or args.force, resumable=True)


def check_printed(*reads: str) -> None:
    """Raises UsageError where the standard output is closed, or is one of the files that a command reads."""
    with as_usage():
        check_output("-", reads=reads)


def table_kind(args: argparse.Namespace) -> Kind | None:
    """The kind of a table, None if its name tells; CSV on the standard output, so that all columns are there."""
    kind: Kind | None = args.format or ("csv" if args.output == "-" else None)
    return kind


def open_table(
    args: argparse.Namespace, columns: Mapping[str, Any], source: str | None = None, resumable: bool = True
) -> TableWriter:
    """The output of a command that writes a table of puzzles; raises as ``TableWriter`` does."""
    return TableWriter(
        args.output,
        columns,
        kind=table_kind(args),
        force=args.force,
        resume=args.resume,
        source=source,
        heading=header_lines(args.board),
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
