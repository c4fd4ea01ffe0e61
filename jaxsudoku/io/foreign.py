"""Recognition of other kinds of files, for messages about inputs without puzzles."""

from __future__ import annotations

import re
from typing import NamedTuple

from .cells import is_cell


class _Kind(NamedTuple):
    """A kind of file: its possible beginnings, in lower case and after white space, and advice."""

    name: str
    beginnings: tuple[bytes, ...]
    advice: str = ""


_KINDS = (
    _Kind("a Git LFS pointer", (b"version https://git-lfs.",), "fetch the file, git lfs pull"),
    _Kind("a git-annex pointer", (b"/annex/objects/",), "fetch the file, git annex get"),
    _Kind("a web page", (b"<!doctype html", b"<html"), "download the file itself"),
    _Kind(
        "XML",
        (b"<?xml", b"<!", *(b"<%c" % letter for letter in range(ord("a"), ord("z") + 1))),
        "write a puzzle a line",
    ),
    _Kind("a PDF document", (b"%pdf-",), "copy its text into a file"),
    _Kind("a spreadsheet of old Excel", (b"\xd0\xcf\x11\xe0",), "save it as CSV"),
    _Kind("a database of SQLite", (b"sqlite format 3\0",)),
    _Kind("a picture", (b"\x89png", b"\xff\xd8\xff", b"gif8", b"riff")),
    _Kind("an archive", (b"7z\xbc\xaf", b"rar!"), "unpack it first"),
    _Kind("a program", (b"\x7felf", b"mz\x90")),
    _Kind("Arrow data", (b"arrow1",), "write Parquet or CSV"),
    _Kind("an HDF5 file", (b"\x89hdf",)),
    _Kind("a problem of SAT in DIMACS", (b"p cnf ",)),
)


def foreign_kind(head: bytes) -> str | None:
    """Describes an input with this beginning, with advice; None if it may have puzzles."""
    beginning = head.lstrip()[:64].lower()
    if b"\0" in beginning[:4] and beginning.count(b"\0") > len(beginning) // 3:
        return "this looks like UTF-16 or UTF-32 text without a byte order mark: save it as UTF-8"
    kind = next((kind for kind in _KINDS if beginning.startswith(kind.beginnings)), None)
    if kind is None:
        return None
    return f"this looks like {kind.name}" + (f": {kind.advice}" if kind.advice else "")


def kind_of_lines(lines: list[bytes]) -> str:
    """Describes an input without puzzles, from its first lines."""
    fields = re.split(rb"[,;\t]", lines[0])
    if len(fields) < 2 or any(is_cell(field.strip()) for field in fields):
        return "no line looks like one"
    names = ", ".join(field.decode(errors="replace").strip() for field in fields[:8])
    return f"this looks like a table without a column of puzzles ({names})"
