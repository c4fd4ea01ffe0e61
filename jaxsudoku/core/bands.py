"""Bands: a layout of candidates for GPU kernels in which each thread works on one puzzle.

Word (digit, r) holds the places for a digit in row r of every band. It has a field for each band: one bit a column,
then a guard bit, which is clear. A 9x9 puzzle takes 27 words of three fields. The cells of a box are the same bits in
all words of a digit; the candidates of a cell are the same bit in one word of each digit.

The rules are those of ``propagation`` at level locked and have the same fixpoint; a round omits deductions that the
next round makes anyway. The code uses only operators, so it runs on numpy arrays, on JAX arrays and in a Pallas kernel.
The words of a puzzle are a sequence, digit by digit; each is an array uint32[B], of B puzzles.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import any_of
from jaxsudoku.core.tuning import band_box
from jaxsudoku.runtime.random import APART, mix

#: One word per puzzle: uint32[B], an array of numpy or JAX.
Word = Any

#: Outcomes of ``Bands.settle``: solved, contradictory, or changed by the last round. 0: the search has to branch.
SOLVED, CONTRADICTORY, CHANGING = np.uint32(1), np.uint32(2), np.uint32(4)

#: Bit fields of a literal's word: the number of a bit; from these bits on, the row in the band, the digit, and a flag:
#: set to place the digit (exclude all other digits of the cell), clear to exclude it.
_ROW, _DIGIT, _TAKE = 5, 8, 13
#: The literal of no candidate: no row has this number.
NO_LITERAL = np.uint32(7 << _ROW)
TAKE = np.uint32(1 << _TAKE)


@dataclasses.dataclass(frozen=True)
class Bands:
    """The band layout of a board, and the rules on it; ``tuning.band_box`` of the board must not be None.

    Attributes:
      board: the board.
      share: ``operations.fence`` where a compiler would recompute a value for each use; by default the identity.
    """

    board: Board
    share: Callable[[Any], Any] = lambda values: values

    @functools.cached_property
    def box(self) -> tuple[int, int]:
        """(rows, columns) of a box in the words; exchanged if the layout is transposed."""
        box = band_box(self.board)
        if box is None:
            raise ValueError(f"the bands of {self.board} do not fit a word")
        return box

    @property
    def turned(self) -> bool:
        """Whether the layout is transposed: rows of the words are columns of the board."""
        return self.box != self.board.box

    @property
    def rows(self) -> int:
        """Number of words per digit."""
        return self.box[0]

    @property
    def words(self) -> int:
        """Number of words per puzzle."""
        return self.board.side * self.rows

    @property
    def solution_words(self) -> int:
        """Number of words per solution."""
        return self.board.side.bit_length() * self.rows

    # ------------------------------------------------------------------ parts of a word

    @functools.cached_property
    def _fields(self) -> range:
        """The first bit of each field (band)."""
        return range(0, self.box[1] * (self.board.side + 1), self.board.side + 1)

    @functools.cached_property
    def _stacks(self) -> range:
        """The first column of each stack."""
        return range(0, self.board.side, self.box[1])

    @functools.cached_property
    def _firsts(self) -> np.uint32:
        """The first column, in all fields."""
        return _bits(self._fields)

    @functools.cached_property
    def _guards(self) -> np.uint32:
        """The guard bits."""
        return _bits(field + self.board.side for field in self._fields)

    @functools.cached_property
    def _columns(self) -> np.uint32:
        """All columns, in the first field."""
        return _bits(range(self.board.side))

    @functools.cached_property
    def _corners(self) -> np.uint32:
        """The first column of each box, in all fields."""
        return _bits(field + stack for field in self._fields for stack in self._stacks)

    def _of_boxes(self, *words: Word) -> list[Word]:
        """The cells of the boxes: one word per place in a box, with the cells moved to the corners of the boxes."""
        return [word >> np.uint32(column) for word in words for column in range(self.box[1])]

    def _to_boxes(self, word: Word) -> Word:
        """Copies the bit at the corner of each box to all columns of the box."""
        return (word & self._corners) * _bits(range(self.box[1]))

    def _of_columns(self, *words: Word) -> list[Word]:
        """The cells of the columns: one word per row of the board, with its field moved to the first field."""
        return [word >> np.uint32(field) for word in words for field in self._fields]

    def _to_columns(self, word: Word) -> Word:
        """Copies the first field to all fields."""
        return (word & self._columns) * self._firsts

    def _digits(self, words: Sequence[Word]) -> list[Sequence[Word]]:
        """The words of each digit."""
        return [words[first : first + self.rows] for first in range(0, self.words, self.rows)]

    # ------------------------------------------------------------------ the rules

    def settle(
        self, words: Sequence[Word], literal: Word, rounds: int, loop: Callable[..., Any] = lax.fori_loop
    ) -> tuple[list[Word], Word]:
        """Applies a literal, then a number of rounds of the rules.

        Returns:
          the words that are left, and the outcome, ``SOLVED``, ``CONTRADICTORY``, ``CHANGING`` or 0.
        """
        share = self.share
        left = share(self.exclude(words, literal))
        nothing = literal ^ literal

        def one_round(_: int, state: tuple[list[Word], Word, Word, Word]) -> tuple[list[Word], Word, Word, Word]:
            words, clash, _, before = state
            words, clashing = share(self.round(words))
            return words, clash | clashing, before, _sum(words)

        # candidates are only removed, so a change alters the sum; an equal sum by chance makes the search branch early
        left, clash, before, after = loop(0, rounds, one_round, (left, nothing, nothing, _sum(left)))
        missing, several = share(self.classify(left))
        outcome = _where(before != after, CHANGING, nothing)
        outcome = _where(several == 0, SOLVED, outcome)
        return left, _where((missing | clash) != 0, CONTRADICTORY, outcome)

    def round(self, words: Sequence[Word]) -> tuple[list[Word], Word]:
        """One round of naked singles, locked candidates and hidden singles, digit by digit.

        A naked single clears its box only, and hidden singles are sought in boxes only: locked candidates clear the
        lines of a single, and reduce a hidden single of a line to one of its box.

        Returns:
          the words that are left, and a word that is not 0 where singles clash.
        """
        share = self.share
        several = share([_ones_and_twos(words[row :: self.rows])[1] for row in range(self.rows)])
        nothing = words[0] ^ words[0]
        clash, taken = nothing, [nothing] * self.rows
        left: list[Word] = []
        filled: list[Word] = []
        for places in self._digits(words):
            sole = share([word & ~cells for word, cells in zip(places, several, strict=True)])
            single = any_of(sole)
            in_box = share(self._to_boxes(any_of(self._of_boxes(single))))
            places = share([one | (word & ~in_box) for one, word in zip(sole, places, strict=True)])
            places = share([word & keep for word, keep in zip(places, self._locked_rows(places), strict=True)])
            columns = share(any_of(places))
            keep = share(self._locked_columns(columns))
            places = share([word & keep for word in places])
            crowded = [_ones_and_twos(self._of_boxes(columns & keep))[1], *self._of_boxes(_ones_and_twos(places)[1])]
            several_in_box = share(self._to_boxes(any_of(crowded)))
            hidden = share([word & ~several_in_box for word in places])
            clash = any_of(
                [clash, single & several_in_box, *(one & new for one, new in zip(taken, hidden, strict=True))]
            )
            taken = [one | new for one, new in zip(taken, hidden, strict=True)]
            clash, taken = share((clash, taken))
            left += places
            filled += hidden
        cells = taken * self.board.side
        return [(word & ~cell) | own for word, cell, own in zip(left, cells, filled, strict=True)], clash

    def _locked_rows(self, places: Sequence[Word]) -> list[Word]:
        """The places for a digit that are left by locked candidates of rows and boxes."""
        # the segments of several rows in one word: row r of a box at the box's column r
        each = min(self.box)
        segments = [any_of(self._of_boxes(word)) & self._corners for word in places]
        packed = self.share(
            [
                any_of([segment << np.uint32(row) for row, segment in enumerate(segments[first : first + each])])
                for first in range(0, self.rows, each)
            ]
        )
        lines = _bits(field + row for field in self._fields for row in range(each))

        def of_boxes(words: Sequence[Word]) -> list[Word]:
            return [word >> np.uint32(row) for word in words for row in range(each)]

        def to_boxes(word: Word) -> Word:
            return (word & self._corners) * _bits(range(each))

        def of_lines(word: Word) -> list[Word]:
            return [word >> np.uint32(stack) for stack in self._stacks]

        def to_lines(word: Word) -> Word:
            return (word & lines) * _bits(self._stacks)

        crowded = to_boxes(_ones_and_twos(of_boxes(packed))[1])
        alone_in_box = self.share([word & ~crowded for word in packed])
        alone_in_line = self.share([word & ~to_lines(_ones_and_twos(of_lines(word))[1]) for word in packed])
        pointed = [to_lines(any_of(of_lines(word))) for word in alone_in_box]
        claimed = to_boxes(any_of(of_boxes(alone_in_line)))
        keep = self.share(
            [
                (one | ~line) & (other | ~claimed)
                for one, other, line in zip(alone_in_box, alone_in_line, pointed, strict=True)
            ]
        )
        return [self._to_boxes(keep[row // each] >> np.uint32(row % each)) for row in range(self.rows)]

    def _locked_columns(self, columns: Word) -> Word:
        """The columns of boxes with a place for a digit that are left by locked candidates of columns and boxes."""
        alone_in_box = columns & ~self._to_boxes(_ones_and_twos(self._of_boxes(columns))[1])
        alone_in_line = columns & ~self._to_columns(_ones_and_twos(self._of_columns(columns))[1])
        pointed = self._to_columns(any_of(self._of_columns(alone_in_box)))
        claimed = self._to_boxes(any_of(self._of_boxes(alone_in_line)))
        return (alone_in_box | ~pointed) & (alone_in_line | ~claimed)

    def classify(self, words: Sequence[Word]) -> tuple[Word, Word]:
        """Two words per puzzle: nonzero if a cell or house has no candidate; nonzero if a cell has several."""
        folds = [_ones_and_twos(words[row :: self.rows]) for row in range(self.rows)]
        missing = [~ones & (self._firsts * self._columns) for ones, _ in folds]
        for places in self._digits(words):
            # this sum sets the guard bits of the rows that have a place
            missing += [~(word + (self._guards - self._firsts)) & self._guards for word in places]
            columns = any_of(places)
            missing.append(~any_of(self._of_boxes(columns)) & self._corners)
            missing.append(~any_of(self._of_columns(columns)) & self._columns)
        return any_of(missing), any_of([several for _, several in folds])

    def duplicated(self, givens: Sequence[Word]) -> Word:
        """A word that is nonzero if a house of the givens has a digit twice; cells have at most one digit."""
        found = []
        for places in self._digits(givens):
            found += [((word | self._guards) - self._firsts) & word for word in places]
            found.append(_ones_and_twos(self._of_boxes(*places))[1] & self._corners)
            found.append(_ones_and_twos(self._of_columns(*places))[1] & self._columns)
        return any_of(found)

    # ------------------------------------------------------------------ literals

    def exclude(self, words: Sequence[Word], literal: Word) -> list[Word]:
        """The words without the candidates that a literal excludes."""
        bit = (literal ^ literal | np.uint32(1)) << (literal & np.uint32(31))
        row, digit = literal >> np.uint32(_ROW) & np.uint32(7), literal >> np.uint32(_DIGIT) & np.uint32(31)
        take = (literal & TAKE) != 0
        cells = [_where(row == np.uint32(number), bit, np.uint32(0)) for number in range(self.rows)]
        return [
            word & ~_where((digit == np.uint32(number)) ^ take, cell, np.uint32(0))
            for number, places in enumerate(self._digits(words))
            for word, cell in zip(places, cells, strict=True)
        ]

    def choose(self, words: Sequence[Word], seed: Word | None = None) -> Word:
        """The literal to branch on: among cells with fewest candidates (two or more), the first digit, row and column.

        Args:
          words: the candidates.
          seed: seeds of a random order, which prefers a random half of the digits and of the cells; 0 for the fixed
            order. None for the fixed order in all puzzles.

        Returns:
          the literal, to exclude it; undefined where no cell has several candidates.
        """
        share = self.share
        counts = share([_count(words[row :: self.rows]) for row in range(self.rows)])
        cells = share([any_of(count[1:]) for count in counts])
        for binary in reversed(range(len(counts[0]))):
            cells = share(_preferred(cells, [~count[binary] for count in counts]))
        options = [[word & cell for word, cell in zip(places, cells, strict=True)] for places in self._digits(words)]
        there = share([any_of(places) != 0 for places in options])
        if seed is not None:
            drawn = [mix(seed ^ np.uint32(int(APART) * number & 0xFFFFFFFF)) for number in range(1, self.rows + 2)]
            drawn = [_where(seed == 0, ~(seed ^ seed), word) for word in drawn]
            wanted = [one & ((drawn[-1] >> np.uint32(number) & np.uint32(1)) != 0) for number, one in enumerate(there)]
            some = any_of(wanted)
            there = share([(one & ~some) | wish for one, wish in zip(there, wanted, strict=True)])
        digit, places = words[0] ^ words[0], options[-1]
        for number in reversed(range(self.board.side)):
            digit = _where(there[number], np.uint32(number), digit)
            places = [_where(there[number], new, old) for new, old in zip(options[number], places, strict=True)]
        digit, places = share((digit, places))
        if seed is not None:
            places = share(_preferred(places, drawn[: self.rows]))
        anywhere = any_of(places)
        band = anywhere ^ anywhere
        for first in reversed(self._fields):
            mask = self._columns << np.uint32(first)
            band = _where((anywhere & mask) != 0, mask, band)
        band = share(band)
        row, place = anywhere ^ anywhere, anywhere
        for number in reversed(range(self.rows)):
            here = places[number] & band
            row = _where(here != 0, np.uint32(number), row)
            place = _where(here != 0, here, place)
        place = share(place & (~place + np.uint32(1)))
        bit = any_of([_where((place & half) != 0, power, np.uint32(0)) for power, half in _HALVES])
        return bit | row << np.uint32(_ROW) | digit << np.uint32(_DIGIT)

    # ------------------------------------------------------------------ grids (JAX only)

    def roots(self, puzzles: Array, excluded: Array | None = None) -> tuple[Array, Array]:
        """The words of puzzles before any rule, and which are invalid: a given above the side or twice in a house.

        Args:
          puzzles: uint8[B, cells].
          excluded: bool[B, side, cells], digits that empty cells may not take; None for none.

        Returns:
          uint32[words, B], bool[B].
        """
        digit = np.arange(1, self.board.side + 1, dtype=np.uint8)[:, None]
        empty, given = (puzzles == 0)[:, None], puzzles[:, None] == digit
        words = self._packed(given | (empty if excluded is None else empty & ~excluded))
        empty_cells = self._packed(empty)
        givens = [word & ~empty_cells[number % self.rows] for number, word in enumerate(words)]
        return words, (puzzles > self.board.side).any(axis=1) | (self.duplicated(givens) != 0)

    def _packed(self, cubes: Array) -> Array:
        """Packs bool[B, m, cells] into words uint32[m * rows, B]."""
        side = self.board.side
        squares = cubes.reshape(-1, side, side)
        squares = squares.swapaxes(1, 2) if self.turned else squares
        places = np.add.outer(np.array(self._fields, np.uint32), np.arange(side, dtype=np.uint32))
        values = squares.reshape(*cubes.shape[:2], -1, self.rows, side).astype(jnp.uint32) << places[:, None]
        return values.sum(axis=(2, 4), dtype=jnp.uint32).reshape(cubes.shape[0], -1).T

    def solution(self, words: Sequence[Word]) -> list[Word]:
        """The cells of solved puzzles as binary numbers: ``solution_words`` words, least significant digits first."""
        side = self.board.side
        return [
            any_of([words[(digit - 1) * self.rows + row] for digit in range(1, side + 1) if digit >> place & 1])
            for place in range(side.bit_length())
            for row in range(self.rows)
        ]

    def decode(self, solutions: Array) -> Array:
        """The grids uint8[B, cells] of solutions uint32[solution_words, B]."""
        side = self.board.side
        places = np.add.outer(np.array(self._fields, np.uint32), np.arange(side, dtype=np.uint32))
        by_row = solutions.reshape(-1, 1, self.rows, 1, solutions.shape[1])
        bits = by_row >> places[:, None, :, None] & np.uint32(1)
        powers = np.arange(bits.shape[0], dtype=np.uint32)[:, None, None, None, None]
        squares = (bits << powers).sum(axis=0, dtype=jnp.uint32).astype(jnp.uint8).reshape(side, side, -1)
        return (squares.swapaxes(0, 1) if self.turned else squares).reshape(self.board.cells, -1).T


# ---------------------------------------------------------------------- logic on words

#: (value, mask) for each binary digit of a bit's number: the mask has the bits whose number has that digit.
_HALVES = [
    (np.uint32(1 << place), np.uint32(half))
    for place, half in enumerate((0xAAAAAAAA, 0xCCCCCCCC, 0xF0F0F0F0, 0xFF00FF00, 0xFFFF0000))
]


def _bits(numbers: Iterable[int]) -> np.uint32:
    """A word with the bits of these numbers set."""
    return np.uint32(sum(1 << number for number in numbers))


def _where(condition: Any, one: Word, other: Word) -> Word:
    return (jnp if isinstance(condition, Array) else np).where(condition, one, other)


def _preferred(options: Sequence[Word], wanted: Sequence[Word]) -> list[Word]:
    """The options that are also wanted; all options in puzzles that have none of these."""
    chosen = [option & wish for option, wish in zip(options, wanted, strict=True)]
    some = any_of(chosen) != 0
    return [_where(some, one, option) for one, option in zip(chosen, options, strict=True)]


def _sum(words: Sequence[Word]) -> Word:
    return functools.reduce(operator.add, words)


def _majority(x: Word, y: Word, z: Word) -> Word:
    return (x & y) | (z & (x | y))


def _ones_and_twos(words: Sequence[Word]) -> tuple[Word, Word]:
    """Where at least one, and where at least two, of the words are set; in threes, for a GPU's three-input logic."""
    if len(words) == 1:
        return words[0], words[0] ^ words[0]
    if len(words) == 2:
        return words[0] | words[1], words[0] & words[1]
    threes = [words[first : first + 3] for first in range(0, len(words), 3)]
    pairs = [(any_of(three), _majority(*three)) if len(three) == 3 else _ones_and_twos(three) for three in threes]
    if len(pairs) == 1:
        return pairs[0]
    ones, twos = _ones_and_twos([one for one, _ in pairs])
    return ones, any_of([twos, *(two for _, two in pairs)])


def _count(words: Sequence[Word]) -> list[Word]:
    """The number of set words for each bit, as a binary number of words, least significant first."""
    total: list[Word] = []
    while words:
        carries = []
        ones = list(words)
        while len(ones) > 1:
            x, y = ones.pop(), ones.pop()
            if ones:
                z = ones.pop()
                ones.insert(0, x ^ y ^ z)
                carries.append(_majority(x, y, z))
            else:
                ones.append(x ^ y)
                carries.append(x & y)
        total += ones
        words = carries
    return total
