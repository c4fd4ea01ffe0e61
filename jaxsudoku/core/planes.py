"""Bit-planes: 32 puzzles to a word, so that every rule is a few AND/OR/NOT over whole planes.

Five layouts of a batch of B = 32 W puzzles ("lanes"), and the conversions between them::

    grids   uint8[B, cells]                 a digit per cell, 0 = empty
    nodes   uint32[words, B]                a puzzle's candidates packed along the candidate axis
    planes  uint32[side, side, side, W]     digit x row x column x group: bit k of word w belongs to lane k * W + w
    cubes   bool[B, side, cells]            one truth value a candidate, the input of networks
    lanes   bool[B]  <->  uint32[W]         one truth value a lane, as an array and as a plane

Nodes are stored, gathered and hashed; rules run on planes. The lane axis comes last in both, and neighbouring lanes lie
in neighbouring words, so the conversion between them is a 32x32 bit-matrix transposition of whole vectors of W words,
without a strided copy.

Functions take the data first and the board second; ``board=None`` means the classic board of the data's size.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_cubes, board_of_grids, board_of_planes, board_of_words
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import cpu_fence, fence

#: Lanes per word, one bit each.
GROUP = 32

#: Rows and columns of the tiles of words on which a TPU computes.
TPU_TILE = (8, 128)

#: Cells per word in the conversion between grids and planes, one byte each.
_CELLS_PER_WORD = 4

#: Planes added in one stage of ``count_planes``.
_COUNT_STAGE = 9

_T = TypeVar("_T")


# ---------------------------------------------------------------------- logic on planes


def slices(x: Array, axes: int | Sequence[int]) -> list[Array]:
    """The slices of ``x`` at each combination of indices of ``axes``, first axis slowest; these axes are dropped."""
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    index: list[slice | int] = [slice(None)] * x.ndim
    parts = []
    for indices in itertools.product(*(range(x.shape[axis]) for axis in axes)):
        for axis, position in zip(axes, indices, strict=True):
            index[axis] = position
        parts.append(x[tuple(index)])
    return parts


def any_of(planes: Sequence[Array]) -> Array:
    """OR of planes of one shape."""
    return functools.reduce(operator.or_, planes)


def all_of(planes: Sequence[Array]) -> Array:
    """AND of planes of one shape."""
    return functools.reduce(operator.and_, planes)


def ones_and_twos(planes: Sequence[Array]) -> tuple[Array, Array]:
    """Where at least one, and where at least two, of the planes are set."""
    ones, twos = planes[0], None
    for plane in planes[1:]:
        both = ones & plane
        twos = both if twos is None else twos | both
        ones = ones | plane
    return ones, jnp.zeros_like(ones) if twos is None else twos


def at_least(planes: Sequence[Array], most: int) -> list[Array]:
    """Where at least 1, 2 ... ``most`` of the planes are set."""
    reached = [jnp.zeros_like(planes[0])] * most
    for plane in planes:
        for place in range(most - 1, 0, -1):
            reached[place] = reached[place] | (reached[place - 1] & plane)
        reached[0] = reached[0] | plane
    return reached


def exactly_one(planes: Sequence[Array]) -> Array:
    """Where exactly one of the planes is set."""
    ones, twos = ones_and_twos(planes)
    return ones & ~twos


def at_least_two(planes: Sequence[Array]) -> Array:
    """Where at least two of the planes are set."""
    return ones_and_twos(planes)[1]


def first_of(planes: Array) -> Array:
    """Keeps only the first set plane of ``planes`` uint32[m, ..., W] along the leading axis, in each lane."""
    seen = jnp.zeros_like(planes[0])
    firsts = []
    for plane in slices(planes, 0):
        firsts.append(plane & ~seen)
        seen = seen | plane
    return jnp.stack(firsts)


def where(condition: Array, x: Array, y: Array) -> Array:
    """Lane by lane, the bit of ``x`` where ``condition`` is set, else that of ``y``."""
    return (x & condition) | (y & ~condition)


def count_planes(planes: Sequence[Array]) -> list[Array]:
    """The number of set planes, as a binary number of planes, least significant first."""
    if len(planes) > _COUNT_STAGE:  # a longer chain would be computed again for each digit of the sum
        sums = [
            fence(count_planes(planes[start : start + _COUNT_STAGE])) for start in range(0, len(planes), _COUNT_STAGE)
        ]
        return functools.reduce(lambda x, y: fence(add(x, y)), sums)
    total: list[Array] = []
    for number, plane in enumerate(planes, 1):
        carry = plane
        for place, bit in enumerate(total):
            total[place], carry = bit ^ carry, bit & carry
        if len(total) < number.bit_length():  # the sum may have one more digit
            total.append(carry)
    return total


def add(x: Sequence[Array], y: Sequence[Array]) -> list[Array]:
    """The sum of two binary numbers of planes, one plane longer than the longer."""
    total = []
    carry = jnp.zeros_like(x[0])
    for a, b in itertools.zip_longest(x, y, fillvalue=carry):
        total.append(a ^ b ^ carry)
        carry = (a & b) | (carry & (a ^ b))
    return [*total, carry]


# ---------------------------------------------------------------------- lanes


def check_lanes(size: int) -> None:
    """Checks that a number of lanes fills whole words.

    Raises:
      ValueError: it is not a multiple of 32.
    """
    if size % GROUP or not size:
        wanted = max(size + -size % GROUP, GROUP)
        raise ValueError(
            f"{size} lanes; planes hold {GROUP} lanes in a word, so pad the batch to {wanted} "
            "(a row of 255 is a grid without a solution)"
        )


def pad_lanes(values: Array, axis: int = 0) -> Array:
    """Pads an axis of lanes with zeros to whole words of lanes, at least one."""
    lanes = values.shape[axis]
    missing = -lanes % GROUP if lanes else GROUP
    return jnp.pad(values, [(0, missing if number == axis else 0) for number in range(values.ndim)])


def group_axes(words: int) -> tuple[int, ...]:
    """The shape of the W words of a plane in a wide block: [8, W / 8] if W is a multiple of 1024, else [W].

    A TPU computes on tiles of 8 x 128 words over an array's last two axes. With shape [W] the axis before it (digits,
    rows or columns) would be tiled and padded.
    """
    rows, columns = TPU_TILE
    return (rows, words // rows) if words % (rows * columns) == 0 else (words,)


def one_candidate(candidate: Array, board: Board) -> Array:
    """Packed nodes with a single candidate: int32[*b], digit * cells + cell from 0, to uint32[*b, words]."""
    word = np.arange(board.words, dtype=np.int32)
    bit = jnp.uint32(1) << (candidate % GROUP).astype(jnp.uint32)
    return jnp.where(word == (candidate // GROUP)[..., None], bit[..., None], jnp.uint32(0))


def pack_lanes(lanes: Array) -> Array:
    """One truth value a lane as a plane: bool[B] to uint32[B / 32]."""
    _check_array("lanes", lanes, 1, jnp.bool_)
    bits = lanes.reshape(GROUP, -1).astype(jnp.uint32) << np.arange(GROUP, dtype=np.uint32)[:, None]
    return bits.sum(axis=0, dtype=jnp.uint32)


def unpack_lanes(plane: Array) -> Array:
    """A plane as one truth value a lane: uint32[W] to bool[32 W]."""
    _check_array("a plane", plane, 1, jnp.uint32)
    # without the fence the plane is computed again for each of its bits
    bits = (fence(plane)[None] >> np.arange(GROUP, dtype=np.uint32)[:, None]) & 1
    return bits.astype(bool).reshape(-1)


def rank_lanes(planes: Array) -> tuple[Array, Array]:
    """Numbers the set lanes of each of m planes uint32[m, W] 0, 1, 2 ... in some fixed order.

    Returns:
      rank int32[m, 32 W], the number of each set lane, undefined for the others; total int32[m], the numbers of set
      lanes.
    """
    _check_array("planes", planes, 2, jnp.uint32)
    in_word = lax.population_count(planes).astype(jnp.int32)
    up_to = jnp.cumsum(in_word, axis=1, dtype=jnp.int32)
    below = np.array([(1 << bit) - 1 for bit in range(GROUP)], dtype=np.uint32)[:, None]
    rank = (up_to - in_word)[:, None] + lax.population_count(planes[:, None] & below).astype(jnp.int32)
    return rank.reshape(planes.shape[0], -1), up_to[:, -1]


def _check_array(name: str, array: AnyArray, rank: int, dtype: Any) -> None:
    """Raises ValueError for another rank or dtype, which shifts and reshapes would turn into wrong results."""
    forks.check()
    if array.ndim != rank or array.dtype != dtype:
        raise ValueError(
            f"{name}: {array.dtype}{list(array.shape)}; must be of dtype {jnp.dtype(dtype)} and rank {rank}"
        )


# ---------------------------------------------------------------------- transposition


def _exchange(x: Array) -> Array:
    """Transposes each 32x32 bit matrix of uint32[m, 32, *W]: bit j of row i becomes bit i of row j. Self-inverse."""
    return lax.platform_dependent(x, cpu=_exchange_in_steps, default=_exchange_in_passes)


def _exchange_in_steps(x: Array) -> Array:
    """``_exchange`` in five steps; each step reads two words per word written."""
    row = np.arange(GROUP)
    for step in (16, 8, 4, 2, 1):
        # rows that differ in this bit of their number swap the off-diagonal blocks of bits
        mask = _block_mask(step)
        partner = lax.rev(x.reshape(x.shape[0], -1, 2, step, *x.shape[2:]), (2,)).reshape(x.shape)
        upper = ((row & step) == 0).reshape(1, GROUP, *[1] * (x.ndim - 2))
        low = (x & mask) | ((partner & mask) << step)
        high = (x & ~mask) | ((partner >> step) & mask)
        x = fence(jnp.where(upper, low, high))
    return x


def _exchange_in_passes(x: Array) -> Array:
    """``_exchange`` in two passes that read 4 and 8 words per word written: less memory traffic on accelerators."""
    for steps in ((16, 8), (4, 2, 1)):
        rows = 1 << len(steps)
        parts = slices(x.reshape(x.shape[0], -1, rows, steps[-1], *x.shape[2:]), 2)
        for place, step in enumerate(steps):
            mask, apart = _block_mask(step), rows >> (place + 1)
            for low in range(rows):
                if not low & apart:
                    one, other = parts[low], parts[low + apart]
                    parts[low] = (one & mask) | ((other & mask) << step)
                    parts[low + apart] = (other & ~mask) | ((one >> step) & mask)
        x = fence(jnp.stack(parts, axis=2)).reshape(x.shape)
    return x


def _block_mask(step: int) -> np.uint32:
    """A word with the bits set whose number does not contain ``step``, a power of two."""
    return np.uint32(sum(1 << bit for bit in range(GROUP) if not bit & step))


def words_to_planes(words: Array, groups: Sequence[int] = (-1,)) -> Array:
    """Words of lanes to planes: uint32[m, B] to uint32[32 m, W], W = B / 32; plane 32 j + i is bit i of word j.

    ``groups`` is the shape of the planes' last axes, by default [W]; see ``group_axes``.
    """
    _check_array("words", words, 2, jnp.uint32)
    check_lanes(words.shape[1])
    planes = _exchange(cpu_fence(words).reshape(words.shape[0], GROUP, *groups))
    return planes.reshape(GROUP * words.shape[0], *planes.shape[2:])


def planes_to_words(planes: Array) -> Array:
    """Planes to words of lanes, the inverse of ``words_to_planes``: uint32[p, *W] to uint32[ceil(p / 32), 32 W]."""
    _check_array("planes", planes, max(planes.ndim, 2), jnp.uint32)  # lanes may have several axes
    missing = -planes.shape[0] % GROUP
    padded = cpu_fence(jnp.pad(planes, [(0, missing), *[(0, 0)] * (planes.ndim - 1)]) if missing else planes)
    return _exchange(padded.reshape(-1, GROUP, *planes.shape[1:])).reshape(padded.shape[0] // GROUP, -1)


def nodes_to_planes(nodes: AnyArray, board: Board | None = None, groups: Sequence[int] = (-1,)) -> Array:
    """Nodes uint32[words, B] to candidate planes uint32[side, side, side, B / 32]; B is a multiple of 32.

    ``groups`` as in ``words_to_planes``.
    """
    nodes = jnp.asarray(nodes)
    board = board_of_words(nodes.shape[0], board)
    planes = words_to_planes(nodes, groups)[: board.candidates]
    return planes.reshape(*(board.side,) * 3, *planes.shape[1:])


def planes_to_nodes(planes: Array, board: Board | None = None) -> Array:
    """Candidate planes uint32[side, side, side, W] to nodes uint32[words, 32 W]."""
    board = board_of_planes(np.shape(planes), board)
    return planes_to_words(planes.reshape(board.candidates, -1))


# ---------------------------------------------------------------------- cubes


def planes_to_cubes(planes: Array, board: Board | None = None) -> Array:
    """Candidate planes uint32[side, side, side, W] to bool[32 W, side, cells], digit by digit."""
    board = board_of_planes(np.shape(planes), board)
    bits = fence(planes).reshape(board.candidates, 1, -1) >> np.arange(GROUP, dtype=np.uint32)[None, :, None]
    return fence((bits & 1).astype(bool)).reshape(board.side, board.cells, -1).transpose(2, 0, 1)


def cubes_to_planes(cubes: AnyArray, board: Board | None = None) -> Array:
    """Candidates bool[B, side, cells] to planes uint32[side, side, side, B / 32]; B is a multiple of 32."""
    board = board_of_cubes(np.shape(cubes), board)
    check_lanes(cubes.shape[0])
    by_bit = jnp.asarray(cubes).transpose(1, 2, 0).reshape(board.candidates, GROUP, -1).astype(jnp.uint32)
    packed = (by_bit << np.arange(GROUP, dtype=np.uint32)[None, :, None]).sum(axis=1, dtype=jnp.uint32)
    return packed.reshape(*(board.side,) * 3, -1)


def grids_to_cubes(grids: AnyArray, board: Board | None = None) -> Array:
    """The candidates of grids before any rule: the given digit of a filled cell, every digit of an empty one.

    Args:
      grids: integers[*b, cells] or [*b, side, side], 0 = empty.
      board: the board; None for the classic one of the grids' size.

    Returns:
      bool[*b, side, cells]; a cell with a value above the side has no candidate.
    """
    board, batch = board_of_grids(np.shape(grids), board)
    grids = jnp.asarray(grids)
    grids = grids.reshape(*batch, board.cells)
    digits = np.arange(1, board.side + 1, dtype=np.uint8)[:, None]
    return (grids[..., None, :] == digits) | (grids[..., None, :] == 0)


def cubes_to_grids(cubes: AnyArray) -> Array:
    """Candidates bool[*b, side, cells] to grids uint8[*b, cells]: the digit of a cell with one candidate, else 0."""
    digits = np.arange(1, cubes.shape[-2] + 1, dtype=np.uint8)[:, None]
    only = jnp.sum(cubes, axis=-2, dtype=jnp.int32) == 1
    return jnp.where(only, jnp.sum(cubes * digits, axis=-2, dtype=jnp.uint8), jnp.uint8(0))


# ---------------------------------------------------------------------- grids


def _board_of_flat_grids(grids: AnyArray, board: Board | None) -> Board:
    """The board of grids uint8[B, cells]."""
    forks.check()
    board, batch = board_of_grids(np.shape(grids), board)
    if len(batch) != 1 or grids.ndim != 2 or grids.dtype != jnp.uint8:
        raise ValueError(f"grids {grids.dtype}{list(grids.shape)}; they must be uint8[B, {board.cells}]")
    return board


def pad_grids(grids: Array, board: Board, multiple: int) -> tuple[Array, Array]:
    """Pads grids uint8[N, cells] with invalid ones, rows of 255, to a multiple of rows.

    Returns:
      the grids, and int32, the number of rows before the invalid ones at the end, which kernels skip. These include
      the padding of ``batches.Engine``, and are recognised by their first column.
    """
    padded = jnp.pad(grids, ((0, -len(grids) % multiple), (0, 0)), constant_values=255)
    first = fence(padded[:, 0])
    return padded, jnp.max(jnp.where(first <= board.side, jnp.arange(1, len(padded) + 1, dtype=jnp.int32), 0))


class Givens(NamedTuple):
    """Grids as planes.

    Attributes:
      digits: uint32[side, side, side, W], set where the grid holds the digit.
      empty: uint32[side, side, W], set where the cell is empty.
      foreign: uint32[W], set where the grid holds a value above ``side``.
    """

    digits: Array
    empty: Array
    foreign: Array

    @property
    def candidates(self) -> Array:
        """The candidates before any rule: the given digit of a filled cell, every digit of an empty one."""
        return self.digits | self.empty[None]


def grids_to_planes(grids: AnyArray, board: Board | None = None, groups: Sequence[int] = (-1,)) -> Givens:
    """Grids uint8[B, cells] to planes; B is a multiple of 32. ``groups`` as in ``words_to_planes``."""
    board = _board_of_flat_grids(grids, board)
    check_lanes(grids.shape[0])
    planes = words_to_planes(grids_to_words(grids, board), groups)
    bits = planes.reshape(-1, 8, *planes.shape[1:])[: board.cells]
    bit = fence(slices(bits, 1))
    digits = fence(
        jnp.stack(
            [
                all_of([bit[place] if digit >> place & 1 else ~bit[place] for place in range(8)])
                for digit in range(1, board.side + 1)
            ]
        )
    )
    filled = fence(any_of(bit))
    foreign = any_of(slices(fence(filled & ~any_of(slices(digits, 0))), 0))
    shape = (board.side, board.side, *planes.shape[1:])
    return Givens(digits.reshape(board.side, *shape), ~filled.reshape(shape), foreign)


def planes_to_grids(planes: Array, board: Board | None = None) -> Array:
    """Planes with at most one digit a cell to grids uint8[B, cells]; a cell without a digit is 0."""
    board = board_of_planes(np.shape(planes), board)
    return words_to_grids(planes_to_grid_words(planes, board), board)


def planes_to_grid_words(planes: Array, board: Board | None = None) -> Array:
    """Planes with at most one digit a cell to grids packed by four cells: uint32[ceil(cells / 4), B]."""
    board = board_of_planes(np.shape(planes), board)
    by_digit = slices(planes.reshape(board.side, board.cells, *planes.shape[3:]), 0)
    empty = jnp.zeros_like(by_digit[0])
    bits = [
        any_of([empty, *(plane for digit, plane in enumerate(by_digit, 1) if digit >> place & 1)]) for place in range(8)
    ]
    return planes_to_words(fence(jnp.stack(bits, axis=1)).reshape(8 * board.cells, *planes.shape[3:]))


def grids_to_words(grids: AnyArray, board: Board | None = None) -> Array:
    """Grids uint8[B, cells] packed by four cells, uint32[ceil(cells / 4), B]; the inverse of ``words_to_grids``."""
    board = _board_of_flat_grids(grids, board)
    padded = jnp.pad(fence(grids), ((0, 0), (0, -board.cells % _CELLS_PER_WORD)))
    # transposed as bytes, four times as fast in XLA as transposing words after a bitcast
    parts = fence(padded.T).reshape(-1, _CELLS_PER_WORD, grids.shape[0]).astype(jnp.uint32)
    return fence(any_of([part << (8 * place) for place, part in enumerate(slices(parts, 1))]))


def words_to_grids(words: AnyArray, board: Board | None = None) -> Array:
    """Grids packed by four cells, uint32[ceil(cells / 4), B], to uint8[B, cells]."""
    _check_array("words", words, 2, jnp.uint32)
    board = board_of_words(words.shape[0], board, _CELLS_PER_WORD)
    return lax.bitcast_convert_type(words.T, jnp.uint8).reshape(words.shape[1], -1)[:, : board.cells]
