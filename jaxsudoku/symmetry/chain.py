"""Stabilizer chain of the rearrangements of a board's lines, found by backtracking on the host, once per board.

A rearrangement permutes the 2 side lines of a board, rows 0..side-1 and columns side..2 side-1. It maps rows to rows
and columns to columns, or rows to columns and columns to rows, and the sets of the board's houses and constraints to
themselves.

Rearrangements form a group. It is described by a chain of subgroups (Sims 1970): those of level k fix the first k lines
of a base. A level is stored as a transversal, one representative for each image of the next base line. Every
rearrangement is a product of one representative from each level, in exactly one way.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Sized

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint


@functools.lru_cache(maxsize=32)
def transversals(board: Board) -> tuple[np.ndarray, ...]:
    """The transversals of the chain, first level first, without the trivial ones.

    Returns:
      int32[m, 2 side] each, the identity first: line i is mapped to line ``representative[i]``. Products have the form
      ``first[second[third]]``, with one representative of the first, second and third level.
    """
    search = _Search(board)
    generators = [np.arange(2 * board.side, dtype=np.int32)]
    orbits: dict[int, dict[int, np.ndarray]] = {}
    for level, line in reversed(list(enumerate(search.base))):
        fixed = search.base[:level]
        colours = search.colours(fixed)
        orbit = _orbit(line, generators)
        refused: set[int] = set()
        for image in np.flatnonzero(colours == colours[line]).tolist():
            if image in orbit or image in refused:
                continue
            found = search.extend([*fixed, line], [*fixed, image], orbits)
            if found is None:
                refused |= _orbit(image, generators).keys()
            else:
                generators.append(found)
                orbit = _orbit(line, generators)
        orbits[line] = orbit
    return tuple(np.array(list(orbits[line].values())) for line in search.base if len(orbits[line]) > 1)


def _orbit(line: int, generators: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """The orbit of a line under the generators, the line first: {image: a product that maps the line to it}."""
    reached = {line: generators[0]}  # the identity
    waiting = [line]
    while waiting:
        here = waiting.pop()
        for generator in generators:
            there = int(generator[here])
            if there not in reached:
                reached[there] = generator[reached[here]]
                waiting.append(there)
    return reached


class _Search:
    """Finds rearrangements with given images of some lines, by individualization and refinement (McKay 1981).

    Some lines get colours of their own. Then the colours of houses and constraints are refined by their cells, those of
    houses also by the numbers of cells that they share with other houses, and those of cells by their houses and
    constraints, until nothing changes. Rearrangements map lines to lines of the same colour.

    Attributes:
      base: all lines, rows and columns alternating.
    """

    def __init__(self, board: Board) -> None:
        cells = np.arange(board.cells).reshape(board.side, board.side)
        lines = np.concatenate([cells, cells.T]).tolist()
        self.base: list[int] = np.arange(2 * board.side).reshape(2, -1).T.ravel().tolist()
        self._board = board
        self._others = {frozenset(house) for house in board.houses}.difference(map(frozenset, lines))
        self._houses = np.array([*lines, *map(list, self._others)])
        members = (self._houses[:, :, None] == cells.ravel()).any(axis=1).astype(np.float32)  # for BLAS
        self._shared = mix((members @ members.T).astype(np.uint64))
        self._constraints = frozenset(one.normalized() for one in board.constraints)
        # for each cell of a constraint: the constraint, the cell, and what it is there
        ends = [
            (number, cell, role)
            for number, one in enumerate(self._constraints)
            for cell, role in zip(one.cells, one.roles, strict=True)
        ]
        self._scopes, self._scoped, roles = np.array(ends, np.int64).reshape(-1, 3).T
        self._roles = mix(roles.astype(np.uint64))
        kinds = {
            kind: number for number, kind in enumerate(sorted({repr(self._sort(one)) for one in self._constraints}))
        }
        self._sorts = np.array([kinds[repr(self._sort(one))] for one in self._constraints], np.uint64)

    @staticmethod
    def _sort(constraint: Constraint) -> tuple[Constraint, int, tuple[int, ...]]:
        """What a constraint shares with its images: all but its cells."""
        return constraint.kind, len(constraint.cells), constraint.numbers

    def extend(self, lines: list[int], images: list[int], orbits: Mapping[int, Sized]) -> np.ndarray | None:
        """A rearrangement with these images of these lines, int32[2 side]; None if there is none.

        Args:
          lines: the first lines of the base, and others that they determine.
          images: the image of each.
          orbits: for each later line of the base, its orbit under the rearrangements that fix all lines before it.
        """
        before, after = self.colours(lines), self.colours(images)
        if (np.sort(before) != np.sort(after)).any():
            return None
        alike = (before[:, None] == after).sum(axis=1)
        line = next((line for line in self.base if alike[line] > 1), None)
        if line is None:
            return self._verified((before[:, None] == after).argmax(axis=1).astype(np.int32))
        # Either no choice extends to a rearrangement, or as many do as there are lines in the orbit of ``line``. So one
        # of the first few does, if any. The line itself is tried first, so that the rearrangement moves few lines.
        choices = sorted(np.flatnonzero(after == before[line]).tolist(), key=lambda image: image != line)
        for image in choices[: len(choices) - len(orbits[line]) + 1]:
            if (found := self.extend([*lines, line], [*images, image], orbits)) is not None:
                return found
        return None

    def colours(self, lines: list[int]) -> np.ndarray:
        """The refined colour of each line, uint64[2 side], starting from unique colours of some lines.

        Colours are hashes, comparable between calls; a collision costs time, but no correctness.
        """
        colours = (np.arange(len(self._houses)) >= len(self.base)).astype(np.uint64)
        colours[lines] = np.arange(2, 2 + len(lines))
        scopes = self._sorts
        while True:
            cells = np.zeros(self._board.cells, np.uint64)
            np.add.at(cells, self._houses, mix(colours)[:, None])
            np.add.at(cells, self._scoped, mix(mix(scopes)[self._scopes] + self._roles))
            refined = 3 * colours + mix(cells)[self._houses].sum(axis=1) + mix(self._shared + colours).sum(axis=1)
            joint = 3 * scopes
            np.add.at(joint, self._scopes, mix(mix(cells)[self._scoped] + self._roles))
            if len(np.unique(refined)) == len(np.unique(colours)) and len(np.unique(joint)) == len(np.unique(scopes)):
                return refined[: len(self.base)]
            colours, scopes = mix(refined), mix(joint)

    def _verified(self, images: np.ndarray) -> np.ndarray | None:
        """The permutation int32[2 side] of lines if it maps houses to houses, else None."""
        side = self._board.side
        is_column = images >= side
        if (is_column[:side] != is_column[0]).any() or (is_column[side:] == is_column[0]).any():
            return None
        rows, columns = images.reshape(2, side) % side
        cells = (columns * side + rows[:, None] if is_column[0] else rows[:, None] * side + columns).ravel()
        moved = {frozenset(cells[list(house)].tolist()) for house in self._others}
        if moved != self._others:
            return None
        constraints = frozenset(one.image(cells.tolist()).normalized() for one in self._constraints)
        return images if constraints == self._constraints else None


def mix(x: np.ndarray) -> np.ndarray:
    """Mixes the bits of uint64 (splitmix64's finalizer, Steele et al. 2014)."""
    x = (x ^ (x >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> 27)) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> 31)
