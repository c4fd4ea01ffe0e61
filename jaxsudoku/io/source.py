"""Where bytes come from: files, pipes and gzip, as blocks of whole lines with flat memory."""

from __future__ import annotations

import contextlib
import errno
import gzip
import itertools
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from .chunk import PuzzleFileError

Source = str | os.PathLike[str] | BinaryIO

#: Bytes read at a time; a block and the arrays made of it should fit in the processor's cache.
BLOCK = 1 << 20
#: No puzzle is this long: what has longer lines is some other kind of file, not to be held in memory.
LONGEST_LINE = 1 << 24

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


def open_source(source: Source) -> tuple[contextlib.AbstractContextManager[BinaryIO], str]:
    """Opens an input for reading bytes.

    Args:
      source: a path, ``-`` for the standard input, or a binary file object (left open afterwards).

    Returns:
      A context manager that gives the stream, and the name of the input for messages.

    Raises:
      OSError: the file is missing, a directory or unreadable.
    """
    if not isinstance(source, (str, os.PathLike)):
        return contextlib.nullcontext(source), str(getattr(source, "name", "<input>"))
    name = os.fspath(source)
    if name == "-":
        if sys.stdin is None:
            raise OSError(errno.EBADF, "the standard input is closed", "<stdin>")
        return contextlib.nullcontext(sys.stdin.buffer), "<stdin>"
    return open(name, "rb"), name


def read_pieces(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The bytes of a stream piece by piece, decompressed if they start like gzip, without a byte order mark.

    Raises:
      PuzzleFileError: the gzip data end too soon or are damaged; all that could be decompressed comes first.
    """
    pieces = _raw_pieces(stream)
    # A stream may give its first bytes one by one; three tell gzip and the byte order mark.
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= len(BOM):
            break
    if head.startswith(GZIP_MAGIC):
        pieces = gunzip(itertools.chain([head], pieces), name)
        head = next(pieces, b"")
    yield head.removeprefix(BOM)
    yield from pieces


def gunzip(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Decompresses gzip data of one or more members; raises PuzzleFileError as ``read_pieces`` does."""
    decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    for piece in pieces:
        while piece:
            if decoder.eof:
                piece = piece.lstrip(b"\0")  # some tools pad the end of a file with zeros
                if not piece:
                    break
                decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            try:
                data = decoder.decompress(piece, BLOCK)
            except zlib.error as error:
                raise PuzzleFileError(f"{name}: damaged gzip data ({error})") from error
            if data:
                yield data
            piece = decoder.unused_data or decoder.unconsumed_tail
    if not decoder.eof:
        raise PuzzleFileError(f"{name}: truncated gzip data: the file ends before its compressed stream does")


def line_blocks(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Blocks of about ``BLOCK`` bytes that end with a line; a last line that lacks its newline is given one.

    Raises:
      PuzzleFileError: a line is longer than ``LONGEST_LINE``, or as ``pieces`` does. All whole lines come first.
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
                raise PuzzleFileError(f"{name}: a line is longer than {LONGEST_LINE} bytes: no file of puzzles")
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


def gzip_member(data: bytes) -> bytes:
    """A gzip member of its own; level 3 halves the time of the default for a tenth more bytes."""
    return gzip.compress(data, compresslevel=3, mtime=0)


def _raw_pieces(stream: BinaryIO) -> Iterator[bytes]:
    while piece := stream.read(BLOCK):
        yield piece
