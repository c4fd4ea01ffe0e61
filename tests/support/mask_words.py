"""Candidates as masks and back, by numpy."""

from __future__ import annotations

import numpy as np

from jaxsudoku.core import masks


def to_masks(left):
    """Candidates bool[B, side, cells] as masks."""
    size, side, _ = left.shape
    words = np.zeros((masks.limbs(side), side, side, size), np.uint64)
    for digit in range(side):
        plane = left[:, digit].T.reshape(side, side, size).astype(np.uint64)
        words[digit // masks.LIMB] |= plane << np.uint64(digit % masks.LIMB)
    return words.astype(masks.mask_dtype(side))


def from_masks(words):
    """The inverse of ``reference.to_masks``."""
    side, size = words.shape[1], words.shape[-1]
    bits = [
        np.asarray(words)[digit // masks.LIMB].astype(np.uint64) >> np.uint64(digit % masks.LIMB) & np.uint64(1)
        for digit in range(side)
    ]
    return np.array(bits).astype(bool).reshape(side, side * side, size).transpose(2, 0, 1)
