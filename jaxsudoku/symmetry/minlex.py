"""Canonical forms of classic 9x9 grids: two grids have the same form if and only if a symmetry maps one to the other.

The form is the minlex form: the lexicographic minimum of all images of a solved grid under relabelling, transposition,
and permutations of bands, stacks, rows in bands and columns in stacks. Only few images are computed. With some row as
the first, relabelled to 123456789, another row of its band is a *pattern*: for each column, the column in which the
first row has the same digit. There are 12,096 patterns, which the arrangements of columns permute. So tables give the
smallest second row, the few arrangements of columns that lead to it, and the third row of each; the remaining images
are compared cell by cell.

Everything but the solver is numpy on the host, one chunk of grids at a time, so memory does not grow with the batch.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import is_complete
from jaxsudoku.engine.inputs import as_marked
from jaxsudoku.exact.uniqueness import solve_and_count
from jaxsudoku.io import Chunk, Errors, check_errors, text_column
from jaxsudoku.runtime.arrays import check_on_host
from jaxsudoku.symmetry.chain import mix

_BOARD = Board.classic()

#: Grids per chunk. A chunk takes a few megabytes, or 400 if all are the most symmetrical grid, which has 648 candidate
#: symmetries; other grids have about two.
_CHUNK = 512

#: The weight of each column in the code of a pattern; codes sort like patterns.
_WEIGHTS = 9 ** np.arange(8, -1, -1, dtype=np.int32)

#: The choices of a first and a second row in a band; flipping bit 0 of a choice selects the other second row.
_FIRST, _SECOND = np.array(list(itertools.permutations(range(3), 2))).T


def canonical(grids: Any, solutions: ArrayLike | None = None, *, errors: Errors = "raise") -> NDArray[np.uint8]:
    """Minlex forms of solved grids, and canonical forms of puzzles.

    The form of a puzzle is the smallest of its images (0 for an empty cell) under the symmetries that map its solution
    to the minlex form. Two puzzles with one solution each have the same form exactly if they are equivalent. A batch
    may have both solved grids and puzzles.

    Args:
      grids: uint8[*b, 81] or [*b, 9, 9], 0 = empty; or texts [*b], in any form that ``solve`` takes.
      solutions: of the same shape, the solutions of ``grids``, taken to be unique; None to solve the puzzles here.
      errors: what is done with texts that are malformed or missing: "raise" an error that names the first, or "mark"
        them by forms of zeros.

    Returns:
      uint8 of the same shape, of texts uint8[*b, 81].

    Raises:
      TypeError: traced arrays; this runs on the host.
      ValueError: another shape or dtype; a malformed text, with "raise"; a full grid or a solution that is invalid; a
        puzzle that disagrees with its solution; without ``solutions``, a puzzle without exactly one. The message names
        the first such grid.
    """
    grids, good = _readable(grids, errors)
    puzzles, shape = _checked(grids, "grids")
    if good is not None and solutions is not None and np.shape(solutions) == shape:
        solutions = np.where(good[..., None], np.asarray(solutions), puzzles.reshape(shape))
    fault = "is full but not solved" if solutions is None else "has a solution that is not solved"
    solved = _solved(puzzles, shape, solutions)
    forms = np.empty_like(puzzles)
    for start in range(0, len(puzzles), _CHUNK):
        part = slice(start, start + _CHUNK)
        _refuse(~is_complete(solved[part], _BOARD), fault, shape, start)
        differ = (puzzles[part] != 0) & (puzzles[part] != solved[part])
        _refuse(differ.any(axis=1), "disagrees with its solution", shape, start)
        forms[part] = _forms(puzzles[part], solved[part])
    forms = forms.reshape(shape)
    return forms if good is None else np.where(good[..., None], forms, np.uint8(0))


def solution_hashes(grids: Any, solutions: ArrayLike | None = None, *, errors: Errors = "raise") -> NDArray[np.uint64]:
    """Hashes of the canonical forms of puzzles' solutions, equal for equivalent solutions.

    They keep test puzzles out of training data: puzzles with different hashes have solutions that are not equivalent.

    Args:
      grids, solutions, errors: as for ``canonical``.

    Returns:
      uint64[*b], 0 for a malformed text.

    Raises:
      TypeError, ValueError: as ``canonical`` does.
    """
    grids, good = _readable(grids, errors)
    puzzles, shape = _checked(grids, "grids")
    found = hashes(canonical(_solved(puzzles, shape, solutions).reshape(shape)))
    return found if good is None else np.where(good, found, np.uint64(0))


def hashes(forms: ArrayLike) -> NDArray[np.uint64]:
    """A hash of each form, the same on every machine and in every version.

    Args:
      forms: uint8[*b, 81] or [*b, 9, 9], as from ``canonical``.

    Returns:
      uint64[*b]; the probability of a collision among n forms is about n² / 2⁶⁵.

    Raises:
      TypeError: traced arrays; this runs on the host.
      ValueError: another shape or dtype.
    """
    flat, shape = _checked(forms, "forms")
    mixed = np.zeros(len(flat), np.uint64)
    for word in _words(flat).T:
        # a bijection whose every output bit depends on every input bit
        mixed = mix((mixed ^ word) + np.uint64(0x9E3779B97F4A7C15))
    return mixed.reshape(_batch(shape))


# ---------------------------------------------------------------------- checks of arguments


def _readable(grids: Any, errors: Errors) -> tuple[Any, NDArray[np.bool_] | None]:
    """Reads texts as uint8[*b, 81], and which are valid, bool[*b]; a solved grid replaces the others. Arrays stay."""
    check_errors(errors)
    if not isinstance(grids, Chunk | str) and text_column(grids) is None:
        return grids, None
    marked = as_marked(grids, _BOARD, errors)
    filled = (np.arange(9)[:, None] * 3 + np.arange(9)[:, None] // 3 + np.arange(9)) % 9 + 1
    return np.where(marked.good[..., None], marked.grids, filled.ravel()).astype(np.uint8), marked.good


def _checked(grids: ArrayLike, name: str) -> tuple[NDArray[np.uint8], tuple[int, ...]]:
    """Grids as uint8[n, 81], and their original shape."""
    check_on_host(grids, name, "Take the forms of arrays outside jax.jit")
    array = np.asarray(grids)
    if array.shape[-1:] != (81,) and array.shape[-2:] != (9, 9):
        raise ValueError(
            f"{name} of shape {array.shape}; canonical forms are for the classic 9x9 board, [..., 81] or [..., 9, 9]"
        )
    if array.dtype != np.uint8:
        raise ValueError(f"{name} of dtype {array.dtype}; they must be uint8, 0 for an empty cell")
    return array.reshape(-1, 81), array.shape


def _batch(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The batch axes of grids of this shape."""
    return shape[:-1] if shape[-1] == 81 else shape[:-2]


def _refuse(faulty: NDArray[np.bool_], fault: str, shape: tuple[int, ...], start: int = 0) -> None:
    """Raises ValueError if a grid is faulty, and names the first by its index in the batch.

    Args:
      faulty: bool[n].
      fault: the end of the message, such as "has no solution".
      shape: shape of the whole batch, with the cells.
      start: flat index of the first of these n grids in the batch.
    """
    if faulty.any():
        batch = _batch(shape)
        place = np.unravel_index(start + int(faulty.argmax()), batch) if batch else ()
        raise ValueError(f"grid {', '.join(map(str, place))} {fault}" if place else f"the grid {fault}")


def _solved(grids: NDArray[np.uint8], shape: tuple[int, ...], solutions: ArrayLike | None) -> NDArray[np.uint8]:
    """The solutions uint8[n, 81] of a batch of this shape: the given ones, or those that the solver finds."""
    if solutions is not None:
        solved, solved_shape = _checked(solutions, "solutions")
        if solved_shape != shape:
            raise ValueError(f"solutions of shape {solved_shape} for grids of shape {shape}")
        return solved
    blank = (grids == 0).any(axis=1)
    if not blank.any():
        return grids
    solved, counts = grids.copy(), np.ones(len(grids), np.int32)
    solved[blank], counts[blank] = solve_and_count(grids[blank], _BOARD)
    _refuse(counts == 0, "has no solution", shape)
    _refuse(counts > 1, "has several solutions", shape)
    return solved


# ---------------------------------------------------------------------- patterns


class _Patterns(NamedTuple):
    """The 12,096 patterns of a row, numbered in order, under the 1,296 arrangements of columns.

    Attributes:
      codes: int32[12096], ascending, the code of each pattern by ``_WEIGHTS``.
      arrangements: int64[1296, 9], the old column at each new one.
      images: uint16[1296, 12096], the image of each pattern under each arrangement.
      smallest: uint16[12096], the smallest image of each pattern.
      counts: int64[12096], the number of arrangements that attain it.
      starts: int64[12096], the index of the first of these in ``attaining``.
      attaining: int64[sum of counts], these arrangements, pattern after pattern.
    """

    codes: NDArray[np.int32]
    arrangements: NDArray[np.int64]
    images: NDArray[np.uint16]
    smallest: NDArray[np.uint16]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    attaining: NDArray[np.int64]


@functools.cache
def _patterns() -> _Patterns:
    """The tables, computed once, which takes 0.3 s."""
    patterns = np.zeros((1, 0), np.int32)
    for column in range(9):
        patterns, other = np.repeat(patterns, 9, axis=0), np.tile(np.arange(9, dtype=np.int32), len(patterns))
        fits = (other // 3 != column // 3) & (patterns != other[:, None]).all(axis=1)
        patterns = np.concatenate([patterns, other[:, None]], axis=1)[fits]
    codes = patterns @ _WEIGHTS

    arrangements, images = np.arange(9)[None], np.arange(len(codes), dtype=np.uint16)[None]
    for moves in _moves():
        # a move s maps a pattern q to s⁻¹ q s
        moved = [np.searchsorted(codes, move.argsort()[patterns[:, move]] @ _WEIGHTS) for move in moves]
        arrangements = arrangements[:, moves].reshape(-1, 9)
        images = np.array(moved, np.uint16)[:, images].swapaxes(0, 1).reshape(len(arrangements), -1)
    smallest = images.min(axis=0)
    pattern, attaining = np.nonzero((images == smallest).T)
    counts = np.bincount(pattern)
    return _Patterns(codes, arrangements, images, smallest, counts, counts.cumsum() - counts, attaining)


def _moves() -> NDArray[np.int64]:
    """int64[4, 6, 9]: the six ways to permute the stacks, then the columns of each stack, as old columns."""
    orders = np.array(list(itertools.permutations(range(3))))
    moves = np.tile(np.arange(9).reshape(3, 3), (4, 6, 1, 1))
    moves[0] = 3 * orders[:, :, None] + np.arange(3)
    for stack in range(3):
        moves[1 + stack, :, stack] = 3 * stack + orders
    return moves.reshape(4, 6, 9)


# ---------------------------------------------------------------------- forms


class _Candidates(NamedTuple):
    """Candidate symmetries for the forms of a chunk's grids, sorted by grid.

    Attributes:
      grid: int64[n], the grid of each candidate, ascending; every grid has at least one.
      choice: int64[n], transposed or not, band, and the choice of a first and second row: 2 x 3 x 6.
      arrangement: int64[n], the arrangement of the columns.
    """

    grid: NDArray[np.int64]
    choice: NDArray[np.int64]
    arrangement: NDArray[np.int64]


def _forms(puzzles: NDArray[np.uint8], solutions: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The forms of puzzles uint8[n, 81] with these solutions; both are checked already."""
    candidates = _candidates(solutions)
    cells, labels = _symmetries(candidates, solutions)
    label = np.arange(len(labels))[:, None]
    kept = _smallest(candidates.grid, labels[label, solutions.ravel()[cells]])
    cells, grid, label = cells[kept], candidates.grid[kept], label[kept]
    images = labels[label, puzzles.ravel()[cells]]
    kept = _smallest(grid, images)
    return images[kept[_firsts(grid[kept])]]


def _candidates(solutions: NDArray[np.uint8]) -> _Candidates:
    """The symmetries of solutions uint8[n, 81] with the smallest second row and, among these, the smallest third."""
    table = _patterns()
    seconds = _band_patterns(solutions)
    rows = table.smallest[seconds]
    grid, choice = np.nonzero(rows == rows.min(axis=1, keepdims=True))
    pattern = seconds[grid, choice]
    counts = table.counts[pattern]
    offsets = np.repeat(table.starts[pattern] - (counts.cumsum() - counts), counts)
    arrangement = table.attaining[offsets + np.arange(len(offsets))]
    grid, choice = np.repeat(grid, counts), np.repeat(choice, counts)
    kept = _lowest(grid, table.images[arrangement, seconds[grid, choice ^ 1]])
    return _Candidates(grid[kept], choice[kept], arrangement[kept])


def _band_patterns(solutions: NDArray[np.uint8]) -> NDArray[np.int64]:
    """int64[n, 36]: the pattern of the second row of each choice."""
    grids = solutions.reshape(-1, 9, 9)
    lines = np.stack([grids, grids.swapaxes(1, 2)], axis=1).reshape(-1, 9)
    columns = np.empty(lines.size, np.int32)  # of each digit in each line
    columns[lines + (9 * np.arange(len(lines)) - 1)[:, None]] = np.arange(9)
    bands = columns.reshape(-1, 2, 3, 3, 9)
    codes = bands @ _WEIGHTS[bands].swapaxes(-1, -2)
    return np.searchsorted(_patterns().codes, codes[..., _FIRST, _SECOND].reshape(-1, 36))


def _symmetries(candidates: _Candidates, solutions: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The action of candidates on their grids.

    Returns:
      cells: int64[n, 81], the index in ``solutions.ravel()`` of each cell's source.
      labels: uint8[n, 10], the new label of each digit; 0 stays 0.
    """
    grid, choice, arrangement = candidates
    row_step = np.where(choice < 18, 9, 1)[:, None]
    columns = 81 * grid[:, None] + (10 - row_step) * _patterns().arrangements[arrangement]
    first = choice // 6 % 3 * 3 + _FIRST[choice % 6]
    digits = solutions.ravel()
    labels = np.zeros((len(grid), 10), np.uint8)
    each = np.arange(len(grid))[:, None]
    labels[each, digits[columns + row_step * first[:, None]]] = np.arange(1, 10)
    # bands by their smallest first cell, rows in a band by their own
    heads = labels[each, digits[columns[:, :1] + row_step * np.arange(9)]].reshape(-1, 3, 3)
    order = (10 * heads.min(axis=2, keepdims=True) + heads).reshape(-1, 9).argsort(axis=1)
    cells = (row_step * order)[:, :, None] + columns[:, None, :]
    return cells.reshape(-1, 81), labels


def _smallest(group: NDArray[np.int64], images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The indices of the smallest images uint8[n, 81] in each group int64[n]; groups are 0, 1, 2 ..."""
    kept = np.arange(len(images))
    for words in _words(images).T:
        if len(kept) == group[-1] + 1:
            break
        kept = kept[_lowest(group[kept], words[kept])]
    return kept


def _lowest(group: NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.bool_]:
    """bool[n]: whether each of values[n] is the minimum of its group int64[n]; groups are 0, 1, 2 ..."""
    return values == np.minimum.reduceat(values, _firsts(group))[group]


def _firsts(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first index of each group."""
    return np.flatnonzero(np.diff(group, prepend=-1))


def _words(grids: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """uint64[n, 11]: the cells of grids uint8[n, 81], eight to a word; words sort like grids."""
    return np.pad(grids, ((0, 0), (0, 7))).view(">u8").astype(np.uint64)
