"""64-bit words of a 40-bit value and a 24-bit checksum, and the checksum of a count. No JAX.

The checksum also depends on a key, such as that of the row, so words in wrong places are detected too. An error of one
or two bits is always detected, others with a probability of 1 - 2^-24. A word is written atomically, so a killed
process leaves no partial word.
"""

from __future__ import annotations

import sys

import numpy as np

#: Bits of a value, and all of them.
_VALUE_BITS, _VALUE = np.uint64(40), np.uint64((1 << 40) - 1)

#: A prime below 2^24, and a factor for which no change of one or two bits of a value, or of one bit each of value and
#: checksum, is a multiple of the prime.
_PRIME, _FACTOR = np.uint64(16_777_213), np.uint64(0x5A2B6D)

#: Byte offsets in a word of its lowest 32 bits and of the 8 bits above them.
_INT32, _UINT8 = (0, 4) if sys.byteorder == "little" else (1, 3)


def checked_words(numbers: np.ndarray, flags: np.ndarray | int, keys: np.ndarray) -> np.ndarray:
    """Words uint64[n] of numbers int32[n] in the lowest bits and flags uint8[n] above them, with checksums.

    Args:
      numbers, flags: the values.
      keys: uint64[n], on which the checksums depend.
    """
    low = numbers.astype(np.uint32).astype(np.uint64)
    return _with_checksums(low | (np.asarray(flags).astype(np.uint64) << np.uint64(32)), keys)


def _with_checksums(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    checks = ((keys >> np.uint64(2)) + values * _FACTOR) % _PRIME  # a sum of two numbers below 2^63
    return np.asarray(values | np.left_shift(checks, _VALUE_BITS))


def intact(words: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Whether words uint64[n] have the checksums of ``checked_words`` for keys uint64[n], bool[n]."""
    return np.asarray(_with_checksums(words & _VALUE, keys) == words)


def numbers_of(words: np.ndarray) -> np.ndarray:
    """The numbers of words uint64[n], a read-only view int32[n]."""
    return _read_only(words.view(np.int32)[_INT32::2])


def flags_of(words: np.ndarray) -> np.ndarray:
    """The flags of words uint64[n], a read-only view uint8[n]."""
    return _read_only(words.view(np.uint8)[_UINT8::8])


def _read_only(view: np.ndarray) -> np.ndarray:
    view.flags.writeable = False
    return view


def count_checksum(count: int) -> int:
    """The checksum of a count, an int64, different for each count."""
    return (count * 0x1E3779B97F4A7C15 + 0x3F58476D1CE4E5B9) & ((1 << 63) - 1)
