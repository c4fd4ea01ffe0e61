"""Decompression of gzip, xz, bzip2 and Zstandard data, in pieces; the compression is detected by its magic bytes."""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .chunk import PuzzleFileError

#: Maximum number of bytes that a decoder returns at a time.
_OUTPUT = 1 << 20
#: Bytes passed to the package zstandard at a time, as it can't limit its output.
_ZSTD_INPUT = 1 << 12
#: Number of first bytes needed to detect the compression.
MAGIC_LENGTH = 10


class _Decoder:
    """Decompresses one member of the data with a decompressor of ``bz2``, ``lzma`` or ``compression.zstd``.

    Args:
      inner: the decompressor.
      errors: the exceptions that it raises for damaged data.
    """

    def __init__(self, inner: Any, *errors: type[Exception]) -> None:
        self._inner, self.errors = inner, errors

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return bool(self._inner.eof)

    @property
    def rest(self) -> bytes:
        """The bytes after the member in the last piece."""
        return bytes(self._inner.unused_data) if self._inner.eof else b""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Decompresses the next piece."""
        yield self._inner.decompress(piece, _OUTPUT)
        while not (self._inner.eof or self._inner.needs_input):
            yield self._inner.decompress(b"", _OUTPUT)


class _ZlibDecoder(_Decoder):
    """A decoder with a decompressor of ``zlib``."""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        while piece and not self._inner.eof:
            yield self._inner.decompress(piece, _OUTPUT)
            piece = self._inner.unconsumed_tail


class _ZstandardDecoder(_Decoder):
    """A decoder with a decompressor of the package zstandard."""

    _rest = b""

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


def _gzip() -> _Decoder:
    return _ZlibDecoder(zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), zlib.error)


def _xz() -> _Decoder:
    return _Decoder(lzma.LZMADecompressor(lzma.FORMAT_XZ), lzma.LZMAError)


def _bzip2() -> _Decoder:
    return _Decoder(bz2.BZ2Decompressor(), OSError, ValueError)


def _zstd() -> _Decoder:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # since Python 3.14
    except ImportError:
        pass
    else:
        return _Decoder(zstd.ZstdDecompressor(), zstd.ZstdError)
    try:
        import zstandard
    except ImportError as error:
        raise ImportError("Zstandard data need the package zstandard: pip install 'jaxsudoku[zstd]'") from error
    return _ZstandardDecoder(zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError)


class Compression(NamedTuple):
    """A format of compressed data.

    Attributes:
      name: its name in messages.
      suffix: the usual suffix of a file's name.
      magic: matches the first bytes.
      decoder: makes a decoder of one member.
    """

    name: str
    suffix: str
    magic: re.Pattern[bytes]
    decoder: Callable[[], _Decoder]


#: The compressions that are read.
COMPRESSIONS = (
    Compression("gzip", ".gz", re.compile(rb"\x1f\x8b"), _gzip),
    Compression("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd"), _zstd),
    Compression("xz", ".xz", re.compile(rb"\xfd7zXZ\0"), _xz),
    Compression("bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), _bzip2),
)


def compression_of(head: bytes) -> Compression | None:
    """The compression of data that begin with ``head``; None if they are not compressed."""
    return next((kind for kind in COMPRESSIONS if kind.magic.match(head)), None)


def decompress(kind: Compression, pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Decompresses data of one or more members, each piece as soon as possible.

    Raises:
      PuzzleFileError: the data are truncated or damaged; raised after everything that could be decompressed.
      ImportError: the package for the compression is missing.
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
                what = "damaged" if members == 1 else f"part {members} is damaged, or not"
                raise PuzzleFileError(f"{name}: {what} {kind.name} data ({error})") from error
            piece = decoder.rest
    if not decoder.eof:
        what = "truncated" if members == 1 else f"part {members} is truncated, or not"
        raise PuzzleFileError(f"{name}: {what} {kind.name} data: the file ends before its compressed stream does")
