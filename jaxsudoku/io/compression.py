"""Decompression of gzip, xz, bzip2 and Zstandard data in pieces, with flat memory; the format is told by its magic."""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from .chunk import PuzzleFileError

#: Bytes that a decoder gives at a time.
_OUTPUT = 1 << 20
#: Bytes that the package zstandard is given at a time, as it has no limit for what comes out.
_ZSTD_INPUT = 1 << 12
#: Bytes at the beginning of data that are enough to tell the format.
MAGIC_LENGTH = 10


class _Decoder(Protocol):
    """Decompresses one member of the data.

    Attributes:
      eof: whether the member has come to its end.
      rest: what followed the member in the last piece.
      errors: the exceptions of damaged data.
    """

    errors: tuple[type[Exception], ...]

    @property
    def eof(self) -> bool: ...

    @property
    def rest(self) -> bytes: ...

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of the next compressed bytes."""


class Compression(NamedTuple):
    """A format of compressed data.

    Attributes:
      name: what messages call it.
      suffix: the usual ending of a file's name.
      magic: matches the first bytes.
      decoder: makes a ``_Decoder``.
    """

    name: str
    suffix: str
    magic: re.Pattern[bytes]
    decoder: Callable[[], _Decoder]


def compression_of(head: bytes) -> Compression | None:
    """The format of data that begin with ``head``, None where they are not compressed."""
    return next((kind for kind in COMPRESSIONS if kind.magic.match(head)), None)


def decompress(kind: Compression, pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Decompresses data of one or more members, each piece as soon as it can be.

    Raises:
      PuzzleFileError: the data end too soon or are damaged; all that could be decompressed comes first.
      ImportError: the package for the format is missing.
    """
    decoder = kind.decoder()
    members = 1
    for piece in pieces:
        while piece:
            if decoder.eof:
                piece = piece.lstrip(b"\0")  # some tools pad the end of a file with zeros
                if not piece:
                    break
                decoder = kind.decoder()
                members += 1
            try:
                yield from filter(None, decoder.feed(piece))
            except decoder.errors as error:
                what = "damaged" if members == 1 else f"part {members} is not, or damaged,"
                raise PuzzleFileError(f"{name}: {what} {kind.name} data ({error})") from error
            piece = decoder.rest
    if not decoder.eof:
        part = "" if members == 1 else f"part {members} is not, or "
        raise PuzzleFileError(
            f"{name}: {part}truncated {kind.name} data: the file ends before its compressed stream does"
        )


def check_suffix(name: str, writable: Collection[str] = ()) -> None:
    """Refuses the name of an output that would promise a compression or a format which is not written.

    Args:
      name: the output's name.
      writable: suffixes of compressions that are written.

    Raises:
      ValueError: the name ends as one of another compression or format.
    """
    stem = next((name[: -len(suffix)] for suffix in writable if name.lower().endswith(suffix)), name)
    if other := next((suffix for suffix in _OTHER_FORMATS if stem.lower().endswith(suffix)), None):
        raise ValueError(f"{name}: outputs of the format {other} are not written; text, .csv and .parquet can be")
    for kind in COMPRESSIONS:
        if name.lower().endswith(kind.suffix) and kind.suffix not in writable:
            others = f"; {' and '.join(writable)} can be" if writable else ""
            raise ValueError(f"{name}: outputs compressed by {kind.name} are not written{others}")


#: Suffixes of formats that an output might be expected to have, and has not.
_OTHER_FORMATS = (".json", ".jsonl", ".ndjson", ".tsv", ".xlsx", ".xls", ".ods", ".feather", ".html")


class _Gzip:
    errors: tuple[type[Exception], ...] = (zlib.error,)

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def rest(self) -> bytes:
        return self._inner.unused_data

    def feed(self, piece: bytes) -> Iterator[bytes]:
        while piece and not self._inner.eof:
            yield self._inner.decompress(piece, _OUTPUT)
            piece = self._inner.unconsumed_tail


class _Standard:
    """A decoder with the interface of those in the standard library's bz2, lzma and compression.zstd."""

    def __init__(self, inner: Any, *errors: type[Exception]) -> None:
        self._inner, self.errors = inner, errors

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def rest(self) -> bytes:
        return self._inner.unused_data if self._inner.eof else b""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(piece, _OUTPUT)
        while not (self._inner.eof or self._inner.needs_input):
            yield self._inner.decompress(b"", _OUTPUT)


class _Zstandard:
    """A decoder of the package zstandard."""

    def __init__(self, inner: Any, *errors: type[Exception]) -> None:
        self._inner, self.errors = inner, errors
        self._rest = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def rest(self) -> bytes:
        return self._rest

    def feed(self, piece: bytes) -> Iterator[bytes]:
        self._rest = b""
        for start in range(0, len(piece), _ZSTD_INPUT):
            yield self._inner.decompress(piece[start : start + _ZSTD_INPUT])
            if self._inner.eof:
                self._rest = self._inner.unused_data + piece[start + _ZSTD_INPUT :]
                return


def _zstd() -> _Decoder:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # since Python 3.14
    except ImportError:
        pass
    else:
        return _Standard(zstd.ZstdDecompressor(), zstd.ZstdError)
    try:
        import zstandard
    except ImportError as error:
        raise ImportError("Zstandard data need the package zstandard: pip install 'jaxsudoku[zstd]'") from error
    return _Zstandard(zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError)


def _xz() -> _Decoder:
    return _Standard(lzma.LZMADecompressor(lzma.FORMAT_XZ), lzma.LZMAError)


def _bzip2() -> _Decoder:
    return _Standard(bz2.BZ2Decompressor(), OSError, ValueError)


#: The formats that are read.
COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), _Gzip),
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd"), _zstd),
    Compression("xz", ".xz", re.compile(rb"\xfd7zXZ\0"), _xz),
    Compression("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), _bzip2),
)
