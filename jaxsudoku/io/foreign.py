"""Files that are no puzzles: what they look like, for messages."""

from __future__ import annotations

import re
from typing import NamedTuple

from .cells import is_cell


class _Kind(NamedTuple):
    """A kind of file, the pattern that its beginning matches, and what to do with it."""

    name: str
    pattern: re.Pattern[bytes]
    advice: str = ""


_KINDS = (
    _Kind("a Git LFS pointer", re.compile(rb"version https://git-lfs\."), "fetch the file, git lfs pull"),
    _Kind("a git-annex pointer", re.compile(rb"(\.\./)*+(\.git)?/annex/"), "fetch the file, git annex get"),
    _Kind("a web page", re.compile(rb"\s*+<(!doctype html|html\b)", re.IGNORECASE), "download the file itself"),
    _Kind("SumoCue's format", re.compile(rb"\s*+SumoCue"), "write a puzzle a line"),
    _Kind("XML", re.compile(rb"\s*+<(\?xml\b|[A-Za-z])"), "write a puzzle a line"),
    _Kind("a problem of SAT in DIMACS", re.compile(rb"(c\b[^\n]*+\n|\n)*+p cnf ")),
    _Kind("a PDF document", re.compile(rb"%PDF-"), "copy its text into a file"),
    _Kind("an array of numpy", re.compile(rb"\x93NUMPY"), "read it with numpy.load"),
    _Kind("a spreadsheet of old Excel", re.compile(rb"\xd0\xcf\x11\xe0"), "save it as CSV"),
    _Kind("a database of SQLite", re.compile(rb"SQLite format 3\0")),
    _Kind("a picture", re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP", re.DOTALL)),
    _Kind("an archive", re.compile(rb"7z\xbc\xaf|Rar!|.{257}ustar", re.DOTALL), "unpack it first"),
    _Kind("a program", re.compile(rb"\x7fELF|MZ\x90")),
    _Kind("Arrow data", re.compile(rb"ARROW1"), "write Parquet or CSV"),
    _Kind("an HDF5 file", re.compile(rb"\x89HDF")),
)


def foreign_kind(head: bytes) -> str | None:
    """What an input with this beginning looks like and what to do, None if it may hold puzzles."""
    kind = next((kind for kind in _KINDS if kind.pattern.match(head)), None)
    if kind is None:
        return None
    return f"this looks like {kind.name}" + (f": {kind.advice}" if kind.advice else "")


def kind_of_lines(lines: list[bytes]) -> str:
    """What an input without puzzles, whose first lines are these, looks like."""
    fields = re.split(rb"[,;\t]", lines[0])
    if len(fields) < 2 or any(is_cell(field.strip()) for field in fields):
        return "no line looks like one"
    names = ", ".join(field.decode(errors="replace").strip() for field in fields[:8])
    return f"this looks like a table without a column of puzzles ({names})"
