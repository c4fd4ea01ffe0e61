"""Layouts of candidates: the interface between the rules and the arrays that hold candidates.

The rules (``jaxsudoku.core.propagation``) are written once, on the methods of a ``Layout``. ``&``, ``|`` and ``~`` of
arrays of one layout act on each candidate. A rule over several candidates is a *fold* over a family: the candidates of
each cell, or the places for each digit in the houses of one kind.

    layout = Planes(board)                                      # or Masks(board)
    view = layout.view(candidates)
    several = at_least_two(layout.members(view, Family.ROW))    # digits with two places in a row or more
    layout.spread(several, Family.ROW)                          # the same at every cell of the row, as a view
    layout.somewhere(several, Family.ROW)                       # the lanes that have such a row
    layout.around(view, layout.houses, any_of)                  # folds of several families, spread
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.house_tables import houses_of_cells
from jaxsudoku.core.masks import all_digits, cell_ones_and_twos, limbs, mask_dtype
from jaxsudoku.core.planes import GROUP, all_of, any_of, slices
from jaxsudoku.runtime.operations import fence

#: Combines arrays of one shape: ``planes.any_of``, ``all_of``, ``exactly_one``, ``at_least_two``.
Fold = Callable[[Sequence[Array]], Array]


class Family(enum.Enum):
    """A family that rules fold over; its value is the axes of its members in a view, () if index tables hold them."""

    CELL = (0,)
    ROW = (3, 4)
    COLUMN = (1, 2)
    BOX = (2, 4)
    IRREGULAR = ()


@dataclasses.dataclass(frozen=True)
class Layout(abc.ABC):
    """A layout of the candidates of a board: arrays [words of a cell, side, side, *lanes].

    Attributes:
      board: the board.
    """

    board: Board

    @property
    @abc.abstractmethod
    def cell_words(self) -> int:
        """Number of words per cell."""

    @property
    @abc.abstractmethod
    def clears_clashes(self) -> bool:
        """Whether clashing singles are removed, which shows the contradiction at once."""

    @abc.abstractmethod
    def everywhere(self, folded: Array, family: Family) -> Array:
        """The lanes in which a fold holds for all cells, or for all digits in all houses of the family."""

    @abc.abstractmethod
    def somewhere(self, folded: Array, family: Family) -> Array:
        """The lanes in which a fold holds for a cell, or for a digit in a house of the family."""

    @abc.abstractmethod
    def to_masks(self, candidates: Array) -> Array:
        """The candidates of each cell as one word, unsigned[cells, B]; boards up to a side of 32."""

    @abc.abstractmethod
    def from_masks(self, masks: Array, like: Array) -> Array:
        """Candidates of the shape of ``like`` from what ``to_masks`` returns."""

    @property
    def houses(self) -> tuple[Family, ...]:
        """The families of the board's houses."""
        boxes = (Family.BOX,) if self.board.has_boxes else ()
        irregular = (Family.IRREGULAR,) if self.board.irregular_houses else ()
        return (Family.ROW, Family.COLUMN, *boxes, *irregular)

    def view(self, candidates: Array) -> Array:
        """Words of a cell x band x row in band x stack x column in stack x lanes; without boxes a band is one line."""
        return candidates.reshape(*self._axes, *candidates.shape[3:])

    def cells(self, view: Array) -> Array:
        """The candidates of a view by cell, [words of a cell, cells, *lanes]."""
        return view.reshape(self.cell_words, self.board.cells, *view.shape[5:])

    def members(self, view: Array, family: Family) -> list[Array]:
        """The arrays to fold over."""
        if family is Family.IRREGULAR:
            cells = self.cells(view)
            return [cells[:, member] for member in np.asarray(self.board.irregular_houses).T]
        return slices(view, family.value)

    def spread(self, folded: Array, family: Family) -> Array:
        """Broadcasts a fold to its members, as a view; a cell in several irregular houses gets the OR of theirs."""
        if family is Family.IRREGULAR:
            padded = with_zero_plane(folded)
            by_cell = fence(any_of([padded[:, house] for house in houses_of_cells(self.board).T]))
            return by_cell.reshape(*self._axes, *by_cell.shape[2:])
        lanes = folded.shape[len(self._axes) - len(family.value) :]
        return spread_axes(folded, family.value, (*self._axes, *lanes))

    def around(self, view: Array, families: Sequence[Family], fold: Fold) -> list[Array]:
        """The fold of each family, at each of its members."""
        folded = fence([fold(self.members(view, family)) for family in families])
        return [self.spread(values, family) for values, family in zip(folded, families, strict=True)]

    @property
    def _axes(self) -> tuple[int, ...]:
        """The shape of a view, without lanes."""
        height, width = self.board.box or (1, 1)
        return self.cell_words, self.board.side // height, height, self.board.side // width, width


@dataclasses.dataclass(frozen=True)
class Planes(Layout):
    """Bit-planes uint32[side, side, side, *W], see ``jaxsudoku.core.planes``; truth values of lanes are uint32[*W]."""

    @property
    def cell_words(self) -> int:
        return self.board.side

    @property
    def clears_clashes(self) -> bool:
        return not self.board.has_boxes  # with boxes a contradiction shows soon, and this step would not pay

    def everywhere(self, folded: Array, family: Family) -> Array:
        return self._over_all(all_of, folded, family)

    def somewhere(self, folded: Array, family: Family) -> Array:
        return self._over_all(any_of, folded, family)

    def to_masks(self, candidates: Array) -> Array:
        planes = fence(candidates).reshape(self.board.side, self.board.cells, 1, -1)
        lane = np.arange(GROUP, dtype=np.uint32)[:, None]
        dtype = mask_dtype(self.board.side)
        bits = [((plane >> lane) & 1).astype(dtype) << np.array(digit, dtype) for digit, plane in enumerate(planes)]
        return fence(any_of(bits)).reshape(self.board.cells, -1)

    def from_masks(self, masks: Array, like: Array) -> Array:
        lanes = slices(masks.reshape(self.board.cells, GROUP, -1), 1)
        one = np.ones((), masks.dtype)
        planes = [
            any_of([((lane >> digit) & one).astype(jnp.uint32) << bit for bit, lane in enumerate(lanes)])
            for digit in range(self.board.side)
        ]
        return fence(jnp.stack(planes)).reshape(like.shape)

    def _over_all(self, fold: Fold, planes: Array, family: Family) -> Array:
        """Folds all axes but those of lanes."""
        for _ in range(2 if family is Family.IRREGULAR else len(self._axes) - len(family.value)):
            planes = fold(slices(planes, 0))
        return planes


@dataclasses.dataclass(frozen=True)
class Masks(Layout):
    """Masks [limbs, side, side, B], see ``jaxsudoku.core.masks``; truth values of lanes are bool[B].

    The fold of a cell is a word with either all bits set or none.
    """

    @property
    def cell_words(self) -> int:
        return limbs(self.board.side)

    @property
    def clears_clashes(self) -> bool:
        return True  # otherwise a search of large boards visits many times as many nodes

    def to_masks(self, candidates: Array) -> Array:
        return candidates.reshape(self.board.cells, -1)

    def from_masks(self, masks: Array, like: Array) -> Array:
        return masks.reshape(like.shape)

    def members(self, view: Array, family: Family) -> list[Array]:
        if family is not Family.CELL:
            return super().members(view, family)
        # two words, "at least one" and "at least two", for which any_of, exactly_one and at_least_two give the same as
        # for the digits
        return [_words(flag, view.dtype) for flag in cell_ones_and_twos(view)]

    def around(self, view: Array, families: Sequence[Family], fold: Fold) -> list[Array]:
        if families[0] is not Family.CELL:
            return super().around(view, families, fold)
        # as truth values and without a fence: recomputing a fold within words is cheaper than storing it
        cell = _words(fold(cell_ones_and_twos(view)), view.dtype)
        return [self.spread(cell, Family.CELL), *super().around(view, families[1:], fold)]

    def everywhere(self, folded: Array, family: Family) -> Array:
        digits = jnp.asarray(all_digits(self.board.side))[:, None]
        return ((digits & ~self._over_houses(all_of, folded, family)) == 0).all(axis=0)

    def somewhere(self, folded: Array, family: Family) -> Array:
        return (self._over_houses(any_of, folded, family) != 0).any(axis=0)

    def _over_houses(self, fold: Fold, masks: Array, family: Family) -> Array:
        """Folds all axes between limbs and lanes: [limbs, B]; of cells [1, B]."""
        masks = masks[None] if family is Family.CELL else masks
        while masks.ndim > 2:
            masks = fence(fold(slices(masks, 1)))
        return masks


def _words(flags: Array, dtype: Any) -> Array:
    """Truth values as words: all bits set for True, none for False."""
    return jnp.where(flags, ~np.zeros((), dtype), np.zeros((), dtype))


def spread_axes(folded: Array, axes: Sequence[int], shape: tuple[int, ...]) -> Array:
    """Broadcasts a fold over ``axes`` back to every member, to an array of this shape."""
    return lax.broadcast_in_dim(folded, shape, [axis for axis in range(len(shape)) if axis not in axes])


def with_zero_plane(planes: Array) -> Array:
    """Appends zeros to axis 1, for the index -1 of ragged tables."""
    return jnp.pad(planes, [(0, 0), (0, 1), *[(0, 0)] * (planes.ndim - 2)])
