"""Words of 64 bits with check numbers. No JAX.

A word has a value of 40 bits below and its check number above, which depends on a key as well, such as that of the row:
a word in a wrong place is found too. An error of one or two bits is always found, any other one with a probability of
1 - 2^-24. A word is written at once, so that a process that is killed leaves no half of one.
"""

from __future__ import annotations

import sys

import numpy as np

#: Bits of a value, and all of them.
_VALUE_BITS, _VALUE = np.uint64(40), np.uint64((1 << 40) - 1)

#: A prime below 2^24, and a factor with which no change of a value by one or two bits, nor one of a bit each of the
#: value and of its check number, is a multiple of it.
_PRIME, _FACTOR = np.uint64(16_777_213), np.uint64(0x5A2B6D)

#: The places in a word of its lowest 32 bits and of the 8 bits above them.
_INT32, _UINT8 = (0, 4) if sys.byteorder == "little" else (1, 3)


def sealed(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Values uint64[n] of 40 bits with check numbers that depend on keys uint64[n]: uint64[n]."""
    checks = ((keys >> np.uint64(2)) + values * _FACTOR) % _PRIME  # a sum of two numbers below 2^63
    return np.asarray(values | np.left_shift(checks, _VALUE_BITS))


def intact(words: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Whether words uint64[n] are those that ``sealed`` makes with keys uint64[n], bool[n]."""
    values = words & _VALUE
    return np.asarray(sealed(values, keys) == words)


def joined(numbers: np.ndarray, flags: np.ndarray | int = 0) -> np.ndarray:
    """Values uint64[n]: numbers int32[n] in the lowest bits, flags uint8[n] above them."""
    low = numbers.astype(np.uint32).astype(np.uint64)
    return np.asarray(low | (np.asarray(flags).astype(np.uint64) << np.uint64(32)))


def numbers_of(words: np.ndarray) -> np.ndarray:
    """The numbers of words uint64[n], a read-only view int32[n]."""
    return _read_only(words.view(np.int32)[_INT32::2])


def flags_of(words: np.ndarray) -> np.ndarray:
    """The flags of words uint64[n], a read-only view uint8[n]."""
    return _read_only(words.view(np.uint8)[_UINT8::8])


def _read_only(view: np.ndarray) -> np.ndarray:
    view.flags.writeable = False
    return view


def count_seal(count: int) -> int:
    """The check number of a count, another one for each count, as an int64."""
    return (count * 0x1E3779B97F4A7C15 + 0x3F58476D1CE4E5B9) & ((1 << 63) - 1)
