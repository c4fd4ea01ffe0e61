"""Puzzles in an array of numpy (.npy)."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator

import numpy as np

from .cells import Digits
from .chunk import Chunk, PuzzleFileError
from .decode import Decoded
from .format import Beginning, Format
from .header import BoardCheck

_BATCH = 1 << 14


class NumpyArray(Format):
    """An array of integers [puzzles, cells] or [puzzles, side, side]; "lines" are its rows, counted from 1.

    0 is a blank, or with ``zero_based`` the lowest digit and -1 the blank. In the arrays of inputs that programs for
    Sudoku-Extreme write (HRM, TRM), 1 is a blank and 2 the lowest digit: values are taken so if they go from 1 to one
    more than the side.
    """

    name = "numpy"
    magic = b"\x93NUMPY"

    @classmethod
    def sniff(cls, start: Beginning, side: int) -> NumpyArray | None:
        return cls(start) if start.head.startswith(cls.magic) else None

    @functools.cached_property
    def _array(self) -> np.ndarray:
        name, stream = self.start.name, self.start.stream
        if stream is None or not stream.seekable():
            raise PuzzleFileError(f"{name}: an array of numpy is read from a file, not from a pipe")
        stream.seek(0)
        try:
            array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise PuzzleFileError(
                f"{name}: damaged or truncated array of numpy, or one of objects ({error})"
            ) from error
        if array.dtype.kind not in "iu":
            raise PuzzleFileError(f"{name}: an array of {array.dtype}; puzzles are integers")
        return array.reshape(len(array), -1) if array.ndim > 1 else array[None]

    def count(self) -> int:
        return len(self._array)

    def check(self, check: BoardCheck) -> tuple[str, ...]:
        self._blank(check.digits)
        return ()

    def read(self, blocks: Iterator[bytes], check: BoardCheck, keep: Collection[str] = ()) -> Iterator[Chunk]:
        digits, array = check.digits, self._array
        blank = self._blank(digits)
        for start in range(0, len(array), _BATCH):
            values = array[start : start + _BATCH].astype(np.int64) - blank
            good: np.ndarray = np.all((values >= 0) & (values <= digits.side), axis=1)
            read = Decoded(np.where(good[:, None], values, 0).astype(np.uint8), good)
            for row in np.flatnonzero(~good).tolist():
                odd = array[start + row][(values[row] < 0) | (values[row] > digits.side)][0]
                read.causes[row] = f"a value {odd}; a digit goes up to {digits.side + blank}, and {blank} is a blank"
            yield Chunk.of(read, np.arange(start + 1, start + 1 + len(values)), self.start.name)

    def _blank(self, digits: Digits) -> int:
        """The value of a blank; raises PuzzleFileError if the array does not fit the board."""
        array, cells = self._array, digits.cells
        if array.shape[1] != cells:
            raise PuzzleFileError(
                f"{self.start.name}: an array {list(array.shape)}; a puzzle of this board has {cells} cells (--board)"
            )
        if digits.zero_based:
            return -1
        return int(array.size > 0 and array.min() == 1 and array.max() == digits.side + 1)
