"""Reads files and pipes, compressed or not, as blocks of whole lines with constant memory."""

from __future__ import annotations

import codecs
import contextlib
import errno
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np

from jaxsudoku.runtime.urls import open_file

from .chunk import PuzzleFileError
from .compression import MAGIC_LENGTH, compression_of, decompress

Source = str | os.PathLike[str] | BinaryIO

#: Bytes read at a time; a block and the arrays made of it should fit in the processor's cache.
BLOCK = 1 << 20
#: Maximum length of a line, above that of any puzzle: an input with longer lines is another kind of file.
LONGEST_LINE = 1 << 24

BOM = codecs.BOM_UTF8
_PART = 1 << 16  # bytes compared at a time
_ZIP_MAGIC = b"PK\x03\x04"
#: Carriage returns, which end a line if they are alone; before a newline, the group, they are white space.
_RETURNS = re.compile(rb"\r++(\n?)")


def open_source(source: Source) -> tuple[contextlib.AbstractContextManager[BinaryIO], str]:
    """Opens an input for reading bytes.

    Args:
      source: a path, a URL such as ``s3://...`` (with fsspec), ``-`` for the standard input, or a binary file object
        (left open afterwards).

    Returns:
      A context manager that gives the stream, and the name of the input for messages.

    Raises:
      OSError: the file is missing, a directory or unreadable.
      TypeError: ``source`` is neither a path nor a binary file object.
    """
    if not isinstance(source, (str, os.PathLike)):
        if not hasattr(source, "read"):
            raise TypeError(f"an input is a path, '-' or a binary file, not {type(source).__name__}")
        if isinstance(source.read(0), str):
            raise TypeError(f"{getattr(source, 'name', '<input>')}: open the file in binary mode, open(path, 'rb')")
        return contextlib.nullcontext(source), str(getattr(source, "name", "<input>"))
    name = os.fspath(source)
    if name == "-":
        if sys.stdin is None:
            raise OSError(errno.EBADF, "the standard input is closed", "<stdin>")
        return contextlib.nullcontext(sys.stdin.buffer), "<stdin>"
    return open_file(name), name


def is_plain(head: bytes) -> bool:
    """Whether an input that begins with these bytes is plain text: neither compressed nor UTF-16."""
    archive = compression_of(head) is not None or head.startswith(_ZIP_MAGIC)
    return not archive and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def open_pieces(stream: BinaryIO, name: str, plain: bool = False) -> tuple[Iterator[bytes], str | None]:
    """The bytes of a stream in pieces, decompressed and converted to UTF-8 without a byte order mark.

    Args:
      stream: the stream.
      name: its name, for messages.
      plain: whether it is known to be neither compressed nor UTF-16, so that nothing is detected.

    Returns:
      The pieces, and the name of the compression, None without. The first piece is long enough to detect the format,
      unless the stream is shorter.

    Raises:
      PuzzleFileError: now or while the pieces are read: compressed data are truncated or damaged (all that could be
        decompressed comes first) or hold compressed data themselves, the stream is a zip archive, or damaged UTF-16.
      ImportError: the package for the compression is missing.
    """
    pieces = _with_head(iter(lambda: stream.read(BLOCK), b""))
    head = next(pieces)
    if plain:
        return itertools.chain([head.removeprefix(BOM)], pieces), None
    kind = compression_of(head)
    if kind is not None:
        pieces = _with_head(decompress(kind, itertools.chain([head], pieces), name))
        head = next(pieces)
        if (inner := compression_of(head)) is not None:
            raise PuzzleFileError(f"{name}: {inner.name} data within {kind.name} data: decompress the file once")
    if head.startswith(_ZIP_MAGIC):
        raise PuzzleFileError(f"{name}: a zip archive: unpack it first")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        pieces = _from_utf16(itertools.chain([head], pieces), name)
    else:
        pieces = itertools.chain([head.removeprefix(BOM)], pieces)
    return pieces, None if kind is None else kind.name


def unified_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Replaces lone carriage returns by newlines, and removes byte order marks at starts of lines.

    Both occur in joined files. A carriage return is kept before a newline, and within quotes as part of a CSV field.
    """
    held = b""
    quoted = 0  # whether the next piece begins between quotes
    for piece in pieces:
        if BOM[:1] in piece:
            piece = piece.replace(b"\n" + BOM, b"\n")
        if held or b"\r" in piece:
            piece, held = held + piece, b""
            if piece.endswith(b"\r"):  # the next byte is in the next piece
                whole = len(piece.rstrip(b"\r"))
                piece, held = piece[:whole], piece[whole:]
            if _has_lone_returns(np.frombuffer(piece, np.uint8)):
                piece = _without_lone_returns(piece, quoted)
        if b'"' in piece:  # ten times as fast as counting
            quoted = (quoted + piece.count(b'"')) % 2
        yield piece
    if held:
        yield held if quoted else b"\n" * len(held)


def line_blocks(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Blocks of about ``BLOCK`` bytes that end with a newline, which is added to the last line if it lacks one.

    Raises:
      PuzzleFileError: a line is longer than ``LONGEST_LINE``, or as ``pieces`` does. Raised after all whole lines.
    """
    held: list[bytes] = []
    size = 0
    failure: Exception | None = None
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size < BLOCK:
                continue
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join([*held[:-1], memoryview(piece)[:cut]])
                held = [piece[cut:]]
                size = len(held[0])
            elif size > BLOCK + LONGEST_LINE:
                raise PuzzleFileError(f"{name}: a line is longer than {LONGEST_LINE} bytes: not a file of puzzles")
    except (OSError, PuzzleFileError) as error:
        failure = error
    data = b"".join(held)
    if failure is not None:
        data = data[: data.rfind(b"\n") + 1]
    elif data and not data.endswith(b"\n"):
        data += b"\n"
    if data:
        yield data
    if failure is not None:
        raise failure


def _has_lone_returns(raw: np.ndarray) -> bool:
    """Whether a carriage return in uint8[n] is followed by another byte than a newline."""
    # parts are small enough for the memory allocator to reuse pages
    parts = (raw[start : start + _PART + 1] for start in range(0, len(raw), _PART))
    return any(((part[:-1] == ord("\r")) & (part[1:] != ord("\n"))).any() for part in parts)


def _without_lone_returns(piece: bytes, quoted: int) -> bytes:
    """Replaces lone carriage returns outside of quotes by newlines; ``quoted`` is 1 if the piece begins in quotes."""
    if not quoted and b'"' not in piece:
        if b"\n" not in piece:
            return piece.replace(b"\r", b"\n")
        return _RETURNS.sub(lambda found: found[0] if found[1] else b"\n" * len(found[0]), piece)
    raw = np.frombuffer(piece, np.uint8).copy()
    within = (np.cumsum(raw == ord('"'), dtype=np.uint8) + quoted) % 2 == 1
    runs = (range(*found.span()) for found in _RETURNS.finditer(piece) if not found[1])
    lone = np.array([at for run in runs for at in run], np.int64)
    raw[lone[~within[lone]]] = ord("\n")
    return raw.tobytes()


def _with_head(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Joins first pieces until they are long enough to detect a format; one empty piece if there are no bytes."""
    head = b""
    for piece in pieces:  # a stream may give its first bytes one at a time
        head += piece
        if len(head) >= MAGIC_LENGTH:
            break
    yield head
    yield from pieces


def _from_utf16(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode(errors="replace")
        yield decoder.decode(b"", final=True).encode(errors="replace")
    except UnicodeDecodeError as error:
        raise PuzzleFileError(f"{name}: damaged UTF-16 text ({error.reason})") from error
