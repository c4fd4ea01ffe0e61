"""Packs the open candidates of a batch into the leading rows of a matrix, so that only these are computed.

After the rules at most a third of the candidates is open. A row is a candidate of one board of the batch: row
``candidate * B + board``, the order of CubeNet's carry. Programs have fixed shapes, so the number of leading rows that
are computed is the smallest of a few sizes that holds all open candidates and their groups.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.house_tables import houses_of_cells

from .conflicts import conflicts_of

#: Sizes of packings, as shares of all rows and of the groups of each family. The last but one holds boards of 9x9 with
#: 22 givens and no rules applied.
_SIZES = ((0.14, 0.48), (0.26, 0.68), (0.36, 0.8), (0.76, 1.0), (1.0, 1.0))

#: Related rows that are gathered in one operation.
_UNROLLED = 8

#: Minimum number of rows for packing; numbers of computed rows are multiples of ``_MULTIPLE``.
_FEWEST, _MULTIPLE = 700, 16


class Family(NamedTuple):
    """A family of groups: the groups of each row.

    Attributes:
      size: the number of groups.
      groups: int32[m, N], the groups of each row; other numbers stand for none.
    """

    size: int
    groups: Array

    def sum(self, x: Array) -> Array:
        """The sums [size, n] over the members of each group, of rows [N, n]."""
        total = jnp.zeros((self.size, x.shape[-1]), x.dtype)
        for group in self.groups:
            total = total.at[group].add(x, mode="drop")
        return total

    def spread(self, x: Array) -> Array:
        """Copies the features of groups [size, n] to their members [N, n]; their sum, for a row in several groups."""
        return functools.reduce(jnp.add, [x.at[group].get(mode="fill", fill_value=0) for group in self.groups])


class Related(NamedTuple):
    """A family of groups around rows: each row with its related rows, by a symmetric relation.

    Attributes:
      members: int32[m, N], the rows related to each row; other numbers stand for none.
    """

    members: Array

    def sum(self, x: Array) -> Array:
        """The sum [N, *n] of each row and of its related rows, of rows [N, *n]."""
        return _sum_with_related(x, self.members)

    def spread(self, x: Array) -> Array:
        """The features of groups [N, n] for the rows in their middle, [N, n]."""
        return x


@jax.custom_vjp
def _sum_with_related(x: Array, members: Array) -> Array:
    """The sums of rows and their related rows: their own transpose, as the relation is symmetric; nothing scatters."""

    def add(total: Array, rows: Array) -> tuple[Array, None]:
        return total + x.at[rows].get(mode="fill", fill_value=0), None

    return lax.scan(add, x, members, unroll=_UNROLLED)[0]


_sum_with_related.defvjp(
    lambda x, members: (_sum_with_related(x, members), members),
    lambda members, change: (_sum_with_related(change, members), None),
)


class Packing(NamedTuple):
    """An order of the N rows of a batch with open candidates first, and their groups.

    Attributes:
      order: int32[N], the row at each place.
      place: int32[N], the place of each row.
      families: the families of groups of the ordered rows; groups with an open candidate come first.
      related: the conflicts of the ordered rows, as one more family; none or one.
      size: int32, the number of the smallest of ``_SIZES`` that holds all open candidates and their groups.
    """

    order: Array
    place: Array
    families: Sequence[Family]
    related: Sequence[Related]
    size: Array

    def switch(self, make: Callable[[int, Sequence[Family | Related]], Callable[..., Any]], *operands: Any) -> Any:
        """Applies the function ``make(number of leading rows, their families)`` for this packing's size."""
        branches = []
        for rows, share in _sizes(len(self.order)):
            families = [Family(_number(family.size, share), family.groups[:, :rows]) for family in self.families]
            related = [Related(each.members[:, :rows]) for each in self.related]
            branches.append(make(rows, [*families, *related]))
        return lax.switch(self.size, branches, *operands)


def pack(board: Board, is_open: Array, conflicts: bool = False) -> Packing:
    """The packing of open candidates bool[side, cells, B]; with the conflicts of the board's constraints on request."""
    batch, flat = is_open.shape[-1], is_open.reshape(-1)
    by_board = flat.reshape(-1, batch).astype(jnp.int32)
    listed = _families(board)
    held = [(Family(number, jnp.asarray(table)).sum(by_board) > 0).reshape(-1) for number, table in listed]
    counts, places = _places_of_open_first([flat, *held])
    row = jnp.arange(len(flat), dtype=jnp.int32)
    order = jnp.zeros(len(flat), jnp.int32).at[places[0]].set(row, unique_indices=True)
    candidate, lane = order // batch, order % batch
    families = []
    for (number, table), new in zip(listed, places[1:], strict=True):
        groups = jnp.pad(new, (0, batch), constant_values=number * batch)  # rows without a group
        families.append(Family(number * batch, groups[jnp.asarray(table)[:, candidate] * batch + lane]))
    related = []
    if conflicts:
        others = jnp.asarray(conflicts_of(board).table.T)[:, candidate]  # [m, N]
        padded = jnp.pad(places[0], (0, batch), constant_values=len(flat))
        related.append(Related(padded[others * batch + lane]))
    fits = []
    for rows, share in _sizes(len(flat)):
        most = [rows, *(_number(family.size, share) for family in families)]
        fits.append((counts <= jnp.asarray(most, jnp.int32)).all())
    return Packing(order, places[0], families, related, jnp.stack(fits).argmax().astype(jnp.int32))


def _places_of_open_first(parts: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Orders rows with a flag first, for each part bool[n].

    Returns:
      the number of flagged rows of each part, int32[parts], and the place int32[n] of each row of the parts. There is
      one cumulative sum for all parts, as it takes long to compile.
    """
    ends = np.cumsum([len(flags) for flags in parts])
    total = jnp.cumsum(jnp.concatenate(parts), dtype=jnp.int32)
    before = jnp.concatenate([jnp.zeros(1, jnp.int32), total[ends - 1]])
    counts, places = before[1:] - before[:-1], []
    for part, (end, flags) in enumerate(zip(ends.tolist(), parts, strict=True)):
        number = total[end - len(flags) : end] - before[part]
        row = jnp.arange(len(flags), dtype=jnp.int32)
        places.append(jnp.where(flags, number - 1, counts[part] + row - number))
    return counts, places


def _sizes(rows: int) -> list[tuple[int, float]]:
    """Possible numbers of leading rows, and the shares of the groups; the last one is all."""
    if rows < _FEWEST:
        return [(rows, 1.0)]
    return [(min(-(-round(share * rows) // _MULTIPLE) * _MULTIPLE, rows), groups) for share, groups in _SIZES]


def _number(groups: int, share: float) -> int:
    return min(-(-round(share * groups) // _MULTIPLE) * _MULTIPLE, groups)


@functools.lru_cache(maxsize=32)
def _families(board: Board) -> list[tuple[int, np.ndarray]]:
    """For each family, the number of groups and the groups of each candidate, int32[m, candidates].

    Families are cells, rows, columns, boxes if there are any, and irregular houses; padded with the number of groups.
    """
    side, cells = board.side, board.cells
    digit, cell = np.divmod(np.arange(side * cells, dtype=np.int32), np.int32(cells))
    row, column = np.divmod(cell, np.int32(side))
    found = [(cells, cell[None])]
    found += [(side * side, (digit * side + line)[None]) for line in (row, column)]
    if board.box is not None:
        height, width = board.box
        found.append((side * side, (digit * side + row // height * (side // width) + column // width)[None]))
    if board.irregular_houses:
        number = len(board.irregular_houses)
        houses = houses_of_cells(board).T[:, cell]
        found.append((side * number, np.where(houses < 0, side * number, digit * number + houses)))
    return found


# ---------------------------------------------------------------------- maxima


@jax.custom_jvp
def maximum_by_index(x: Array, group: Array, least: Array) -> Array:
    """The maxima [G, n] of rows [N, n] by group int32[N], at least ``least`` [G, 1].

    The gradient goes to the first row that is equal to the maximum, and to no row if the maximum is ``least``.
    """
    return jnp.broadcast_to(least, (len(least), x.shape[1])).at[group].max(x)


@maximum_by_index.defjvp
def _maximum_by_index_jvp(primals: tuple[Array, Array, Array], tangents: tuple[Array, Any, Any]) -> tuple[Array, Array]:
    (x, group, least), (change, _, _) = primals, tangents
    out = maximum_by_index(x, group, least)
    row = jnp.arange(len(x), dtype=jnp.int32)[:, None]
    first = jnp.full(out.shape, len(x), jnp.int32).at[group].min(jnp.where(x == out[group], row, len(x)))
    found = change.at[first, jnp.arange(x.shape[1])].get(mode="fill", fill_value=0)
    return out, jnp.where(out == least, 0, found)
