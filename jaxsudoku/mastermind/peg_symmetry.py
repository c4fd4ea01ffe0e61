"""Symmetries of games of pegs: permutations of the pegs and of the colours that keep the guesses so far. No JAX."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

#: With more permutations of the pegs than this, pegs are not permuted.
_MOST_PERMUTATIONS = 720

#: Rounds in which hashes of pegs and colours are refined, and an odd factor that tells them apart.
_ROUNDS, _ODD = 2, np.uint64(0x9E3779B97F4A7C15)


def images(codes: np.ndarray, guesses: np.ndarray, colours: int, separate: bool) -> Iterator[np.ndarray]:
    """Each code's image under a symmetry that maps every guess to itself, uint8[n, pegs], for each order of the pegs.

    The pegs as they are come first.

    Of the permutations of colours that keep the guesses, the one that gives the first image of a code is taken.

    Args:
      codes: uint8[n, pegs].
      guesses: uint8[made, pegs].
      colours: the number of colours.
      separate: whether the colours of each peg are permuted for themselves, rather than those of all pegs alike.
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
    """The map of colours that turns moved guesses back, int64[colours], -1 = free; None if there is none."""
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
    used = np.zeros(len(codes), np.int64)  # of the unused colours
    rows = np.arange(len(codes))
    result = np.empty_like(codes)
    for peg in range(codes.shape[1]):
        colour = codes[:, peg]
        new = targets[rows, colour] < 0
        targets[rows[new], colour[new]] = unused[used[new]]
        used += new
        result[:, peg] = targets[rows, colour]
    return result


# ---------------------------------------------------------------------- positions


def relabelled(codes: np.ndarray, bounds: np.ndarray, colours: int, separate: bool) -> np.ndarray:
    """The codes of positions under a symmetry of the game for each position, by which equivalent ones become equal.

    Pegs and colours are sorted by what can be said of them without their numbers: hashes of the codes that they are in,
    refined round by round (Weisfeiler and Leman 1968). Where these are equal, they keep their order, so a few
    equivalent positions stay different. Colours that no code has come last.

    Args:
      codes: uint8[total, pegs], the codes of n positions, one position after another.
      bounds: int64[n + 1], where they begin and end.
      colours, separate: as for ``images``.

    Returns:
      uint8[total, pegs]; the codes of a position are not sorted.
    """
    pegs, number = codes.shape[1], len(bounds) - 1
    owner = np.repeat(np.arange(number), np.diff(bounds))
    spaces = pegs if separate else 1
    label = codes + (colours * np.arange(pegs) if separate else 0)  # colours of different spaces are different
    colour_at = (owner[:, None] * (spaces * colours) + label).ravel()
    peg_at = (owner[:, None] * pegs + np.arange(pegs)).ravel()
    # of each peg, on how many pegs its colour is
    repeats = np.ones(codes.shape, np.uint64) if separate else (codes[:, :, None] == codes[:, None]).sum(2, np.uint64)
    colour_hash = np.zeros(number * spaces * colours, np.uint64)
    peg_hash = np.zeros(number * pegs, np.uint64)
    for _ in range(_ROUNDS):
        here = _mixed(colour_hash[colour_at] + _ODD * peg_hash[peg_at] + repeats.ravel()).reshape(-1, pegs)
        told = _mixed(_mixed(here.sum(axis=1, dtype=np.uint64))[:, None] + here).ravel()
        colour_hash, peg_hash = (
            _mixed(_ODD * hashes + _sums(at, told, len(hashes)))
            for hashes, at in ((colour_hash, colour_at), (peg_hash, peg_at))
        )
    absent = np.ones(len(colour_hash), bool)
    absent[colour_at] = False
    colour_hash[absent] = np.iinfo(np.uint64).max
    order = np.argsort(colour_hash.reshape(number, spaces, colours), axis=2, kind="stable")
    rank = np.empty(order.shape, np.uint8)
    np.put_along_axis(rank, order, np.arange(colours, dtype=np.uint8)[None, None], axis=2)
    renamed = rank.reshape(-1)[colour_at].reshape(codes.shape)
    peg_order = np.argsort(peg_hash.reshape(number, pegs), axis=1, kind="stable")
    return np.take_along_axis(renamed, peg_order[owner], axis=1)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Hashes uint64 of values uint64, below 2^40, so that float64 holds sums of 8,192 of them exactly."""
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return ((values ^ (values >> np.uint64(29))) * np.uint64(0xC2B2AE3D27D4EB4F)) >> np.uint64(24)


def _sums(places: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """The sums of values at each of ``size`` places, uint64."""
    return np.bincount(places, values.astype(np.float64), size).astype(np.uint64)
