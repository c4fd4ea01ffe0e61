"""Clues: the constraints of each puzzle of a batch, as one array beside the puzzles.

A board is compiled into a program, so constraints that differ between puzzles, such as the cages of killers, are data:
the cells and numbers of each puzzle's constraints, in groups of one kind and size. One program serves all puzzles whose
constraints fit its ``ClueForm``.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsudoku.core.board import Board

from .base import Constraint, Group

#: Constraints of a group in a form are rounded up to these numbers, then to multiples of ``_STEP``.
_ROUND = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24)
_STEP = 8


@dataclasses.dataclass(frozen=True)
class ClueGroup:
    """The constraints of one kind and size that a puzzle may have.

    Attributes:
      kind: the kind.
      size: the number of cells of each constraint.
      numbers: the number of numbers of each constraint.
      count: the most constraints of a puzzle.
    """

    kind: Constraint
    size: int
    numbers: int
    count: int


@dataclasses.dataclass(frozen=True)
class ClueForm:
    """What a program must know of the clues of its puzzles.

    A row of clues holds the cells of all groups (slot by slot: the first cells of all constraints of a group, then the
    second ones), then their numbers in the same order, then ``places``: for each cell the slots that refer to it. An
    absent constraint has cells of number ``board_cells``; unused places have the number of all slots.

    Attributes:
      board_cells: the number of cells of the board.
      groups: the groups.
      overlap: the most constraints of a puzzle that share a cell.
    """

    board_cells: int
    groups: tuple[ClueGroup, ...] = ()
    overlap: int = 0

    @functools.cached_property
    def slots(self) -> int:
        """The number of cells of all constraints."""
        return sum(group.count * group.size for group in self.groups)

    @functools.cached_property
    def width(self) -> int:
        """The number of values in a row."""
        numbers = sum(group.count * group.numbers for group in self.groups)
        return self.slots + numbers + self.overlap * self.board_cells

    def joined(self, other: ClueForm) -> ClueForm:
        """The smallest form that has room for the clues of both."""
        groups: dict[tuple[Constraint, int], ClueGroup] = {}
        for group in (*self.groups, *other.groups):
            known = groups.get((group.kind, group.size), group)
            groups[group.kind, group.size] = group if group.count > known.count else known
        ordered = tuple(groups[key] for key in sorted(groups, key=_order))
        return ClueForm(self.board_cells, ordered, max(self.overlap, other.overlap))

    def holding(self, clues: Clues) -> ClueForm:
        """A form for these clues and further ones: this one if it has room, else with a quarter more of what it lacks.

        Slots that no constraint uses take time, and a new form a compilation.
        """
        room = {(group.kind, group.size): group.count for group in self.groups}
        lacking = []
        for (kind, size), entries in clues.entries().items():
            most = int(np.bincount(entries.puzzle, minlength=1).max())
            if most > room.get((kind, size), 0):
                most += most // 4 + 1
                step = 1 if most < 8 else 2 if most < 24 else 4
                lacking.append(ClueGroup(kind, size, entries.numbers.shape[1], -(-most // step) * step))
        return self.joined(ClueForm(self.board_cells, tuple(lacking), clues.form.overlap))

    def split(self, rows: Any) -> tuple[Any, list[list[Any]], Any]:
        """Rows [width, *lanes] in parts: the slots [slots, *lanes], the numbers of each group, places [overlap, cells].

        The numbers of a group are arrays [count, *lanes].
        """
        numbers, start = [], self.slots
        for group in self.groups:
            part = rows[start : start + group.count * group.numbers]
            numbers.append([part[n * group.count : (n + 1) * group.count] for n in range(group.numbers)])
            start += group.count * group.numbers
        return rows[: self.slots], numbers, rows[start:].reshape(self.overlap, self.board_cells, *rows.shape[1:])

    def parts(self, slots: Any) -> list[list[Any]]:
        """Values of slots [slots, *lanes] by group and cell, each [count, *lanes]."""
        found, start = [], 0
        for group in self.groups:
            ends = range(start, start + group.count * group.size + 1, group.count)
            found.append([slots[first : first + group.count] for first in ends[:-1]])
            start = ends[-1]
        return found


class Entries(NamedTuple):
    """Constraints of one kind and number of cells, of any puzzles.

    Attributes:
      puzzle: int32[m], the puzzle of each.
      cells: int32[m, cells].
      numbers: int32[m, numbers].
    """

    puzzle: np.ndarray
    cells: np.ndarray
    numbers: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """The entries of all parts."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@functools.partial(jax.tree_util.register_dataclass, data_fields=["rows"], meta_fields=["form"])
@dataclasses.dataclass(frozen=True)
class Clues:
    """The constraints of N puzzles: uint16[N, width] rows of a form. A pytree whose form is static.

    Attributes:
      form: the form.
      rows: uint16[N, width].
    """

    form: ClueForm
    rows: Any

    @classmethod
    def of(cls, puzzles: Sequence[Iterable[Constraint]], board: Board, form: ClueForm | None = None) -> Clues:
        """The clues of puzzles, from the constraints of each.

        Args:
          puzzles: the constraints of each puzzle.
          board: the board.
          form: the form to use, of a program that is compiled already; None for the smallest that fits.

        Raises:
          ValueError: a constraint that does not fit the board, whose puzzle the message names; or puzzles that do not
            fit the form.
        """
        found: dict[tuple[Constraint, int], list[tuple[int, Constraint]]] = {}
        for puzzle, constraints in enumerate(puzzles):
            try:
                for one in constraints:
                    found.setdefault((one.kind, len(one.cells)), []).append((puzzle, one.checked(board.side)))
            except ValueError as error:
                raise ValueError(f"puzzle {puzzle}: {error}") from None
        entries = {
            key: Entries(
                np.array([puzzle for puzzle, _ in ones], np.int32),
                np.array([one.cells for _, one in ones], np.int32),
                np.array([one.numbers for _, one in ones], np.int32),
            )
            for key, ones in found.items()
        }
        return cls.of_entries(len(puzzles), board.cells, entries, form)

    @classmethod
    def of_entries(
        cls,
        size: int,
        board_cells: int,
        entries: Mapping[tuple[Constraint, int], Entries],
        form: ClueForm | None = None,
    ) -> Clues:
        """The clues of ``size`` puzzles from the entries of each kind and number of cells; see ``of``."""
        counts = {key: np.bincount(found.puzzle, minlength=size) for key, found in entries.items()}
        most = {key: int(own.max(initial=0)) for key, own in counts.items()}
        if form is None:
            ordered = sorted(entries, key=_order)
            groups = tuple(ClueGroup(*key, entries[key].numbers.shape[1], _rounded(most[key])) for key in ordered)
        else:
            _check_fits(most, form)
            groups = form.groups
        plain = ClueForm(board_cells, groups)
        cells = np.full((size, plain.slots), board_cells, np.uint16)
        values = np.zeros((size, plain.width - plain.slots), np.uint16)
        slot = value = 0
        for group in groups:
            if (found := entries.get((group.kind, group.size))) is not None:
                order = np.argsort(found.puzzle, kind="stable")
                puzzle, own = found.puzzle[order], counts[group.kind, group.size]
                rank = np.arange(len(puzzle)) - (np.cumsum(own) - own)[puzzle]
                steps = group.count * np.arange(group.size)
                cells[puzzle[:, None], slot + rank[:, None] + steps] = found.cells[order]
                steps = group.count * np.arange(group.numbers)
                values[puzzle[:, None], value + rank[:, None] + steps] = found.numbers[order]
            slot, value = slot + group.count * group.size, value + group.count * group.numbers
        places = _places(cells, board_cells, None if form is None else form.overlap)
        rows = np.concatenate([cells, values, places.reshape(size, -1)], axis=1, dtype=np.uint16)
        return cls(dataclasses.replace(plain, overlap=places.shape[1]), rows)

    def entries(self) -> dict[tuple[Constraint, int], Entries]:
        """The constraints of all puzzles, by kind and number of cells."""
        slots, numbers, _ = self.form.split(np.asarray(self.rows).T)
        found = {}
        for group, cells, values in zip(self.form.groups, self.form.parts(slots), numbers, strict=True):
            puzzle, place = np.nonzero((cells[0] < self.form.board_cells).T)
            own = [
                np.array([part[place, puzzle] for part in parts], np.int32).T.reshape(len(puzzle), len(parts))
                for parts in (cells, values)
            ]
            found[group.kind, group.size] = Entries(puzzle.astype(np.int32), *own)
        return found

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, puzzles: slice | np.ndarray) -> Clues:
        """The clues of some of the puzzles."""
        return dataclasses.replace(self, rows=self.rows[puzzles])

    def of_form(self, form: ClueForm) -> Clues:
        """The same clues as rows of another form, with room for them."""
        return self if form == self.form else Clues.of_entries(len(self), form.board_cells, self.entries(), form)

    def check(self, board: Board, size: int) -> None:
        """Raises ValueError unless these are the clues of ``size`` puzzles of the board."""
        if self.form.board_cells != board.cells:
            raise ValueError(f"clues of a board of {self.form.board_cells} cells; a {board} has {board.cells}")
        shape = size, self.form.width
        if self.rows.shape != shape or self.rows.dtype != np.uint16:
            raise ValueError(
                f"rows of clues {self.rows.dtype}{list(self.rows.shape)}; they must be uint16{list(shape)}"
            )

    def constraints(self, puzzle: int) -> list[Constraint]:
        """The constraints of a puzzle."""
        own = self[np.array([puzzle])].entries()
        groups = [Group(kind, found.cells, found.numbers) for (kind, _), found in own.items()]
        return [one for group in groups for one in group.constraints()]


def united(parts: Iterable[Mapping[tuple[Constraint, int], Entries]]) -> dict[tuple[Constraint, int], Entries]:
    """The entries of all parts, by kind and number of cells."""
    found: dict[tuple[Constraint, int], list[Entries]] = {}
    for key, entries in itertools.chain.from_iterable(part.items() for part in parts):
        found.setdefault(key, []).append(entries)
    return {key: Entries.joined(ones) for key, ones in found.items()}


def _places(cells: np.ndarray, board_cells: int, overlap: int | None) -> np.ndarray:
    """For each cell of each puzzle the slots that refer to it, uint16[N, overlap, cells].

    Args:
      cells: uint16[N, slots], the cells of all constraints.
      board_cells: the number of cells of the board.
      overlap: the most slots of a cell; None for as many as there are.
    """
    size, slots = cells.shape
    order = np.argsort(cells, axis=1, kind="stable")
    ordered = np.take_along_axis(cells, order, axis=1)
    starts = np.ones(ordered.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    rank = np.arange(slots) - np.maximum.accumulate(np.where(starts, np.arange(slots), 0), axis=1)
    row, at = np.nonzero(ordered < board_cells)
    most = int(rank[row, at].max(initial=-1)) + 1
    if overlap is not None and most > overlap:
        raise ValueError(f"{most} constraints share a cell; the form has room for {overlap}")
    places = np.full((size, most if overlap is None else overlap, board_cells), slots, np.uint16)
    places[row, rank[row, at], ordered[row, at]] = order[row, at]
    return places


def _check_fits(most: Mapping[tuple[Constraint, int], int], form: ClueForm) -> None:
    """Raises ValueError if a form has no room for the most constraints of each kind and size."""
    room = {(group.kind, group.size): group.count for group in form.groups}
    for (kind, size), count in most.items():
        if count > room.get((kind, size), 0):
            raise ValueError(
                f"{count} constraints of the kind {kind} with {size} cells; the form has room for "
                f"{room.get((kind, size), 0)}"
            )


def _order(key: tuple[Constraint, int]) -> tuple[str, int]:
    """The order of the groups of a form, by their kinds and sizes."""
    return repr(key[0]), key[1]


def _rounded(count: int) -> int:
    return next((size for size in _ROUND if size >= count), -(-count // _STEP) * _STEP)
