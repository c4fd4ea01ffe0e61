"""Pallas kernel for a few rounds of the rules, which keeps the planes of a block on chip.

Compiled by XLA, ``propagation.sweep`` passes the planes through memory several times a round. This kernel reads a block
of groups once, runs all rounds on it, and writes it once. A round takes three passes over the planes on chip:

1. row by row, which cells have a single candidate;
2. digit by digit, which cells a single fills;
3. digit by digit, the candidates that are left.

Folds over the digits of a cell read all digits; all other folds read the planes of one digit. The last two passes both
compute the singles of a digit, as there is no room on chip to keep them.

The body is the same for both modes. A block is a reference [side, cells, *tile]; a tile is 8 x 128 words on a TPU, and
all words in interpret mode. The body indexes the cells of a digit, and combines them by &, | and ~. On a chip these are
numpy arrays of objects whose elements are the tiles of single cells, so that every cell has registers of its own and
indexing costs nothing; in interpret mode they are JAX arrays, which XLA compiles faster.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from jaxsudoku.core.board import Board
from jaxsudoku.core.house_tables import intersections
from jaxsudoku.core.layouts import Fold
from jaxsudoku.core.planes import TPU_TILE, any_of, at_least_two, exactly_one
from jaxsudoku.core.propagation import alternate, lighter_rules
from jaxsudoku.core.tuning import chip_bytes, includes
from jaxsudoku.runtime.sharding import like, vary_as

#: Bytes of a TPU's vector memory reserved for register spills.
_SPILLED_BYTES = 8 << 20


def sweep_rounds(planes: Array, board: Board, rules: str, rounds: int, interpret: bool = False) -> tuple[Array, Array]:
    """``propagation.sweep_rounds`` as one kernel.

    It runs on TPUs, by Mosaic, and on CPUs in Pallas' interpret mode. A board whose planes do not fit a TPU's chip
    can't be compiled for it.

    Args:
      planes: uint32[side, side, side, *W], the candidates.
      board: the board.
      rules: one of ``SearchRules``.
      rounds: the number of rounds, at least 1.
      interpret: use interpret mode on every platform.

    Returns:
      the candidates that are left, and uint32[*W], the lanes in which the last round still changed something.
    """
    body = functools.partial(all_rounds, board, rules, rounds)

    def run_by(kernel: Callable[..., tuple[Array, Array]], planes: Array) -> tuple[Array, Array]:
        flat = planes.reshape(*planes.shape[:3], -1)  # a kernel chooses its own tiles
        settled, changed = vary_as(flat, kernel(body, board, flat))
        return settled.reshape(planes.shape), changed.reshape(planes.shape[3:])

    if interpret:
        return run_by(_interpreted, planes)
    forms = {"cpu": functools.partial(run_by, _interpreted), "tpu": functools.partial(run_by, _on_tpu)}
    return lax.platform_dependent(planes, **forms)


# ---------------------------------------------------------------------- the kernels


def _interpreted(body: Callable[..., None], board: Board, planes: Array) -> tuple[Array, Array]:
    """Runs the kernel in interpret mode, on any platform, with all groups in one block."""
    tables, structure = jax.tree.flatten(tables_of(board))
    width = planes.shape[-1]

    def kernel(source: Any, *refs: Any) -> None:
        *tables, planes, changed, marks = refs
        planes[...] = source[...]
        changed[...] = jnp.zeros(width, jnp.uint32)
        body(WHOLE, jax.tree.unflatten(structure, [table[...] for table in tables]), planes, changed, marks)

    cells = (board.side, board.cells, width)
    settled, changed = pl.pallas_call(
        kernel,
        out_shape=(like(planes, cells), like(planes, (width,))),
        scratch_shapes=[pltpu.VMEM((2, board.cells, width), jnp.uint32)],
        interpret=True,
    )(planes.reshape(cells), *tables)
    return settled.reshape(planes.shape), changed


def _on_tpu(body: Callable[..., None], board: Board, planes: Array) -> tuple[Array, Array]:
    """Runs the kernel on a TPU."""
    width = planes.shape[-1]
    padded = _pad_groups(planes.reshape(board.side, board.cells, width), math.prod(TPU_TILE))
    tiles = (padded.shape[-1] // TPU_TILE[1], TPU_TILE[1])

    def kernel(source: Any, planes: Any, changed: Any, marks: Any) -> None:
        planes[...] = source[...]
        body(APART, tables_of(board), planes, changed, marks)

    block = pl.BlockSpec((board.side, board.cells, *TPU_TILE), lambda i: (0, 0, i, 0))
    shape = (board.side, board.cells, *tiles)
    settled, changed = pl.pallas_call(
        kernel,
        out_shape=(like(planes, shape), like(planes, tiles)),
        grid=(tiles[0] // TPU_TILE[0],),
        in_specs=[block],
        out_specs=(block, pl.BlockSpec(TPU_TILE, lambda i: (i, 0))),
        scratch_shapes=[pltpu.VMEM((2, board.cells, *TPU_TILE), jnp.uint32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel",), vmem_limit_bytes=chip_bytes(board) + _SPILLED_BYTES
        ),
    )(padded.reshape(shape))
    return settled.reshape(padded.shape)[..., :width].reshape(planes.shape), changed.reshape(-1)[:width]


def _pad_groups(planes: Array, multiple: int) -> Array:
    """Pads planes [side, cells, W] with groups without candidates, which no rule changes."""
    missing = -planes.shape[-1] % multiple
    return jnp.pad(planes, ((0, 0), (0, 0), (0, missing))) if missing else planes


# ---------------------------------------------------------------------- the body


class _Access(NamedTuple):
    """Functions by which the body reads and writes the cells of a digit, an array whose first axis is the cell.

    Attributes:
      read: (reference [n, cells, *tile], index of the first axis, first cell, number of cells) to the cells.
      write: (the same, the cells).
      concatenate: joins such arrays.
    """

    read: Callable[[Any, Any, Any, int], Any]
    write: Callable[[Any, Any, Any, Any], None]
    concatenate: Callable[[Sequence[Any]], Any]


def _read_apart(ref: Any, index: Any, start: Any, count: int) -> np.ndarray:
    cells = np.empty(count, dtype=object)
    for number in range(count):
        cells[number] = ref[index, start + number]
    return cells


def _write_apart(ref: Any, index: Any, start: Any, cells: np.ndarray) -> None:
    for number, cell in enumerate(cells):
        ref[index, start + number] = cell


def _read_whole(ref: Any, index: Any, start: Any, count: int) -> Array:
    return ref[index, pl.ds(start, count)]


def _write_whole(ref: Any, index: Any, start: Any, cells: Array) -> None:
    ref[index, pl.ds(start, cells.shape[0])] = cells


#: Access to each cell as an object of its own (on a chip), and to all cells of a digit as one JAX array (interpreted).
APART = _Access(_read_apart, _write_apart, np.concatenate)
WHOLE = _Access(_read_whole, _write_whole, jnp.concatenate)


def all_rounds(
    board: Board, rules: str, rounds: int, access: _Access, tables: _Tables, planes: Any, changed: Any, marks: Any
) -> None:
    """All rounds on a block.

    Args:
      board: the board.
      rules: one of ``SearchRules``.
      rounds: the number of rounds.
      access: reads and writes references.
      tables: the board's tables.
      planes: reference [side, cells, *tile], the candidates, before and after.
      changed: reference [*tile], written: where the last round changed something.
      marks: reference [2, cells, *tile], memory for a round.
    """

    def one_round(rules: str, _: tuple[()]) -> tuple[()]:
        _round(board, rules, access, tables, planes, changed, marks)
        return ()

    alternate(functools.partial(one_round, lighter_rules(rules)), functools.partial(one_round, rules), rounds, ())


def _round(board: Board, rules: str, access: _Access, tables: _Tables, planes: Any, changed: Any, marks: Any) -> None:
    """One round, as ``propagation.sweep``."""
    side, read, write = board.side, access.read, access.write
    hidden, clashes = includes(rules, "singles"), not board.has_boxes

    def over_houses(fold: Fold, cells: Any) -> Any:
        return _folded(any_of, _folded(fold, cells, tables.houses), tables.houses_of)

    # Two marks of a cell. The first alone: its only candidate fills it (naked single). The second alone: a digit fills
    # it that is not its only candidate (hidden single). Both: two digits do, a contradiction.
    def of_row(row: Array, _: tuple[()]) -> tuple[()]:
        single = exactly_one([read(planes, digit, row * side, side) for digit in range(side)])
        write(marks, 0, row * side, single)
        write(marks, 1, row * side, single ^ single)
        return ()

    def placed_of(view: Any, single: Any) -> Any:
        return view & (single | over_houses(exactly_one, view) if hidden else single)

    def of_digit(digit: Array, _: tuple[()]) -> tuple[()]:
        view, first, second = (read(ref, i, 0, board.cells) for ref, i in ((planes, digit), (marks, 0), (marks, 1)))
        single = first & ~second
        others = placed_of(view, single) & ~single
        if clashes:
            write(marks, 0, 0, first | (second & others))
        write(marks, 1, 0, second | others)
        return ()

    def remove(digit: Array, _: tuple[()]) -> tuple[()]:
        view, first, second = (read(ref, i, 0, board.cells) for ref, i in ((planes, digit), (marks, 0), (marks, 1)))
        placed = placed_of(view, first & ~second)
        if clashes:
            placed = placed & ~(first & second)
        left = view & ~(first | second | over_houses(any_of, placed))
        if clashes:
            placed = placed & ~over_houses(at_least_two, placed)
        left = placed | left
        if includes(rules, "locked"):
            left = _locked_candidates(access, tables, left)
        write(planes, digit, 0, left)
        changed[...] = changed[...] | any_of(list(view ^ left))
        return ()

    changed[...] = changed[...] ^ changed[...]
    lax.fori_loop(0, side, of_row, ())
    lax.fori_loop(0, side, of_digit, ())
    lax.fori_loop(0, side, remove, ())


def _locked_candidates(access: _Access, tables: _Tables, cells: Any) -> Any:
    """``propagation.locked_candidates`` of the cells of one digit."""
    left = cells
    for segments in tables.segments:
        left = left & _locked_segments(segments, cells)
    if tables.outside is not None:
        confined = ~_folded(any_of, left, tables.outside)
        padded = access.concatenate([confined, confined[:1] ^ confined[:1]])
        left = left & ~_folded(any_of, padded, tables.affected)
    return left


def _locked_segments(tables: _Segments, cells: Any) -> Any:
    """The cells that keep their candidate."""
    segments = _folded(any_of, cells, tables.cells)
    sole_in_box = segments & _folded(exactly_one, segments, tables.of_box)[tables.box]
    sole_in_line = segments & _folded(exactly_one, segments, tables.of_line)[tables.line]
    pointed = _folded(any_of, sole_in_box, tables.of_line)[tables.line]
    claimed = _folded(any_of, sole_in_line, tables.of_box)[tables.box]
    return ((sole_in_box | ~pointed) & (sole_in_line | ~claimed))[tables.segment]


def _folded(fold: Fold, values: Any, members: Any) -> Any:
    """The fold of the members int[size, groups] of each group, as an array whose first axis is the group."""
    return fold([values[member] for member in members])


# ---------------------------------------------------------------------- tables


class _Segments(NamedTuple):
    """The segments, the cells that a line and a box share; numbers in int32.

    Attributes:
      cells: [size, segments], the cells of each segment.
      segment: [cells], the segment of each cell.
      of_line, of_box: [size, lines or boxes], the segments of each line and box.
      line, box: [segments], the line and the box of each segment.
    """

    cells: Any
    segment: Any
    of_line: Any
    line: Any
    of_box: Any
    box: Any


class _Tables(NamedTuple):
    """A board's tables, in int32: numpy arrays, or JAX arrays in interpret mode.

    Attributes:
      houses: [side, houses], the cells of each house that ``propagation.singles`` knows.
      houses_of: [m, cells], the houses of each cell.
      segments: those of rows and of columns with equal boxes; none without boxes.
      outside, affected: [m, pairs] and [m, cells], of ``intersections``; the pair after the last is none. None without
        irregular houses.
    """

    houses: Any
    houses_of: Any
    segments: tuple[_Segments, ...]
    outside: Any
    affected: Any


@functools.lru_cache(maxsize=32)
def tables_of(board: Board) -> _Tables:
    # a box of one row or column is that row or column
    houses = board.houses if board.has_boxes else board.houses[: 2 * board.side] + board.irregular_houses
    houses_of = [[number for number, house in enumerate(houses) if cell in house] for cell in range(board.cells)]
    segments: tuple[_Segments, ...] = ()
    if board.box is not None and board.has_boxes:
        row, column = np.divmod(np.arange(board.cells), board.side)
        box = row // board.box[0] * board.side + column // board.box[1]
        segments = (_segments_of(row, box), _segments_of(column, box))
    outside, affected = intersections(board)
    if not len(outside):
        return _Tables(_even(houses), _even(houses_of), segments, None, None)
    pairs = [[pair for pair in row if pair >= 0] or [len(outside)] for row in affected]
    return _Tables(
        _even(houses),
        _even(houses_of),
        segments,
        _even([[cell for cell in row if cell >= 0] for row in outside]),
        _even(pairs),
    )


def _segments_of(line: np.ndarray, box: np.ndarray) -> _Segments:
    cells, segment = _groups(line * len(line) + box)
    line, box = line[cells[0]], box[cells[0]]
    return _Segments(cells, segment, *_groups(line), *_groups(box))


def _groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Groups of equal keys, all of one size: their members int32[size, groups], and the group of each key."""
    values, group = np.unique(keys, return_inverse=True)
    return np.argsort(group, kind="stable").reshape(len(values), -1).T.astype(np.int32), group.astype(np.int32)


def _even(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Rows of numbers as int32[longest, rows], padded with their first entry, which is harmless under OR."""
    longest = max(map(len, rows))
    return np.array([[*row, *[row[0]] * (longest - len(row))] for row in rows], np.int32).T
