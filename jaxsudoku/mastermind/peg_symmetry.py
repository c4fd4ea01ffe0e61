"""Symmetries of games of pegs: permutations of pegs and colours that fix the guesses so far. No JAX."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

#: Maximum number of permutations of the pegs; with more, pegs are not permuted.
_MOST_PERMUTATIONS = 720


def images(codes: np.ndarray, guesses: np.ndarray, colours: int, separate: bool) -> Iterator[np.ndarray]:
    """Yields each code's image under a symmetry that fixes every guess, uint8[n, pegs], for each permutation of pegs.

    The identity of the pegs comes first. Among the permutations of colours that fix the guesses, the one with the first
    image of a code is taken.

    Args:
      codes: uint8[n, pegs].
      guesses: uint8[made, pegs].
      colours: the number of colours.
      separate: whether colours are permuted independently for each peg, instead of equally for all pegs.
    """
    pegs = codes.shape[1]
    permutations = itertools.permutations(range(pegs))
    for order in permutations if math.factorial(pegs) <= _MOST_PERMUTATIONS else [tuple(range(pegs))]:
        groups = [[peg] for peg in range(pegs)] if separate else [list(range(pegs))]
        moved, image = guesses[:, order], codes[:, order].copy()
        for group in groups:
            target = _restoring_colours(moved[:, group], guesses[:, group], colours)
            if target is None:
                break
            image[:, group] = _recoloured(image[:, group], target)
        else:
            yield image


def _restoring_colours(moved: np.ndarray, guesses: np.ndarray, colours: int) -> np.ndarray | None:
    """The map of colours that restores moved guesses, int64[colours], -1 = any; None if there is none."""
    target = np.full(colours, -1)
    for before, after in zip(moved.ravel().tolist(), guesses.ravel().tolist(), strict=True):
        if target[before] not in (-1, after):
            return None
        target[before] = after
    fixed = target[target >= 0]
    return target if len(np.unique(fixed)) == len(fixed) else None


def _recoloured(codes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Codes uint8[n, pegs] with colours mapped to ``target``; free ones get unused colours in order of appearance."""
    unused = np.setdiff1d(np.arange(len(target)), target)
    targets = np.repeat(target[None], len(codes), axis=0)
    used = np.zeros(len(codes), np.int64)  # among the unused colours
    rows = np.arange(len(codes))
    result = np.empty_like(codes)
    for peg in range(codes.shape[1]):
        colour = codes[:, peg]
        new = targets[rows, colour] < 0
        targets[rows[new], colour[new]] = unused[used[new]]
        used += new
        result[:, peg] = targets[rows, colour]
    return result
