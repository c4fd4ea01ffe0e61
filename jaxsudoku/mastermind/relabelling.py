"""Canonical labelling of positions of pegs by colour refinement; most equivalent positions become equal. No JAX."""

from __future__ import annotations

import numpy as np

#: Maximum number of hashes whose sum is exact in float64.
_EXACT = 1 << 13

#: An odd factor that separates hashes of different kinds.
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Relabelling:
    """Relabels positions of a game of pegs, so that most equivalent ones become equal.

    Pegs and colours are sorted by invariants, hashes of the codes in which they occur, refined in two rounds
    (Weisfeiler and Leman 1968). Ties keep their order, so a few equivalent positions stay different. Unused colours
    come last.

    Args:
      codes: uint8[size, pegs], all codes of the game in lexicographic order.
      colours: the number of colours.
      separate: whether colours are permuted independently for each peg, instead of equally for all pegs.
    """

    def __init__(self, codes: np.ndarray, colours: int, separate: bool) -> None:
        self._colours, self._pegs, columns = colours, codes.shape[1], np.ascontiguousarray(codes.T)
        self._spaces = self._pegs if separate else 1
        # colours of different spaces are different
        self._labels = columns + (colours * np.arange(self._pegs)[:, None] if separate else 0)
        # for each peg, the number of pegs with its colour
        self._repeats = np.ones(columns.shape, np.uint8)
        if not separate:
            self._repeats = (columns[:, None] == columns).sum(axis=0, dtype=np.uint8)
        self._first = _code_hashes(self._repeats.astype(np.uint64))  # the same in all positions
        self._place_values = colours ** np.arange(self._pegs - 1, -1, -1, dtype=np.int64)
        self._size = len(codes)
        # the codes as numbers, where some rows of colours are no code
        self._rows = None if self._size == colours**self._pegs else codes @ self._place_values

    def __call__(self, codes: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """The relabelled codes of positions, int32[total], ascending within a position.

        Args:
          codes: int[total], code numbers, one position after another.
          bounds: int64[n + 1], the boundaries of the positions; none is empty.
        """
        number, colours = len(bounds) - 1, self._colours
        if number == 0:
            return np.zeros(0, np.int32)
        owner = np.repeat(np.arange(number), np.diff(bounds))
        colour_at = self._labels.take(codes, axis=1) + owner * (self._spaces * colours)  # [pegs, total], as all below
        repeats, code_hash = self._repeats.take(codes, axis=1), self._first.take(codes, axis=1)
        exact = self._pegs * int(np.diff(bounds).max()) <= _EXACT

        def refined(
            of_codes: np.ndarray, colour_hash: np.ndarray, peg_hash: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            of_colours = _sums(colour_at.ravel(), of_codes.ravel(), len(colour_hash), exact)
            of_pegs = np.add.reduceat(of_codes, bounds[:-1], axis=1)
            return _mixed(_ODD * colour_hash + of_colours), _mixed(_ODD * peg_hash + of_pegs)

        colour_hash = np.zeros(number * self._spaces * colours, np.uint64)
        peg_hash = np.zeros((self._pegs, number), np.uint64)
        colour_hash, peg_hash = refined(code_hash, colour_hash, peg_hash)
        code_hash = _code_hashes(colour_hash[colour_at] + (_ODD * peg_hash).take(owner, axis=1) + repeats)
        colour_hash, peg_hash = refined(code_hash, colour_hash, peg_hash)
        absent = np.ones(len(colour_hash), bool)
        absent[colour_at.ravel()] = False
        colour_hash[absent] = np.iinfo(np.uint64).max
        order = np.argsort(colour_hash.reshape(number * self._spaces, colours), axis=1, kind="stable")
        rank = np.empty(order.shape, np.int64)
        np.put_along_axis(rank, order, np.arange(colours)[None], axis=1)
        weights = np.empty((self._pegs, number), np.int64)
        np.put_along_axis(weights, np.argsort(peg_hash, axis=0, kind="stable"), self._place_values[:, None], axis=0)
        rows = (rank.ravel()[colour_at] * weights.take(owner, axis=1)).sum(axis=0)
        numbers = rows if self._rows is None else np.searchsorted(self._rows, rows)
        starts = owner * self._size
        return (np.sort(starts + numbers) - starts).astype(np.int32)


def _code_hashes(parts: np.ndarray) -> np.ndarray:
    """Hashes of the pegs of codes, each combined with that of its whole code, uint64[pegs, codes]; below 2^40."""
    here = _mixed(parts)
    return _mixed(_mixed(here.sum(axis=0, dtype=np.uint64)) + here)


def _sums(places: np.ndarray, values: np.ndarray, size: int, exact: bool) -> np.ndarray:
    """Sums of values below 2^40 by place, uint64[size]; with ``exact``, computed in float64."""
    if exact:
        return np.bincount(places, values.astype(np.float64), size).astype(np.uint64)
    low = np.bincount(places, (values & np.uint64(0xFFFFF)).astype(np.float64), size).astype(np.uint64)
    high = np.bincount(places, (values >> np.uint64(20)).astype(np.float64), size).astype(np.uint64)
    return low + (high << np.uint64(20))


def _mixed(values: np.ndarray) -> np.ndarray:
    """Hashes uint64 of values uint64, below 2^40."""
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return ((values ^ (values >> np.uint64(29))) * np.uint64(0xC2B2AE3D27D4EB4F)) >> np.uint64(24)
