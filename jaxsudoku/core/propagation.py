"""The rules, on planes and on masks: naked singles, hidden singles, locked candidates, applied to a fixpoint.

Every rule is sound (it removes only candidates that no solution uses) and never guesses. All work on candidates in
either layout, on boards of any size: planes uint32[side, side, side, W], 32 lanes a word, as ``jaxsudoku.planes``
describes, or masks [limbs, side, side, B], a word a cell, as ``jaxsudoku.core.masks`` describes.

Candidates are viewed with six axes, digit x band x row in band x stack x column in stack x group. A cell, a row, a
column and a box are each a set of axes to fold over; in masks the digits of a cell are bits of one word, and are
folded there. Irregular regions and extra houses go through index tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, House, board_of_planes, check_board
from jaxsudoku.core.masks import all_digits, cell_ones_and_twos, is_masks
from jaxsudoku.core.planes import Givens, all_of, any_of, exactly_one, ones_and_twos, slices
from jaxsudoku.core.tuning import RULES, includes
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import cpu_fence, fence
from jaxsudoku.runtime.sharding import vary_as
from jaxsudoku.runtime.suggestions import did_you_mean

# The axes of the view along which the members of a house lie.
_CELL, _ROW, _COLUMN, _BOX = (0,), (3, 4), (1, 2), (2, 4)

T = TypeVar("T")

Fold = Callable[[Sequence[Array]], Array]


def propagate(planes: AnyArray, board: Board | None = None, rules: str = "locked", rounds: int | None = None) -> Array:
    """Applies the rules until nothing changes in any lane, or for a number of rounds.

    Args:
      planes: the candidates, planes uint32[side, side, side, W] or masks [limbs, side, side, B].
      board: the board; None for the classic one of that side.
      rules: one of ``RULES``. "none" leaves the planes as they are.
      rounds: at most this many rounds; None for no limit.

    Returns:
      the candidates that are left, in the same layout. A contradictory lane has a cell without a candidate or
      a house without a place for a digit; see ``outcome``.
    """
    _check_rules(rules)
    board = _board_of(np.shape(planes), board)
    planes = jnp.asarray(planes)
    if rules == "none":
        return planes

    def unfinished(state: tuple[Array, Array, Array]) -> Array:
        _, changed, done = state
        return changed if rounds is None else changed & (done < rounds)

    def one_round(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        before, _, done = state
        after = sweep(before, board, rules)
        return after, (after != before).any(), done + 1

    start = (planes, *vary_as(planes, (jnp.bool_(True), jnp.int32(0))))
    return lax.while_loop(unfinished, one_round, start)[0]


def sweep(planes: Array, board: Board | None = None, rules: str = "locked") -> Array:
    """One round of the rules on candidates, planes uint32[side, side, side, W] or masks [limbs, side, side, B]."""
    _check_rules(rules)
    board = _board_of(np.shape(planes), board)
    if includes(rules, "naked"):
        planes = singles(planes, board, hidden=includes(rules, "singles"))
    if includes(rules, "locked"):
        planes = locked_candidates(planes, board)
    return planes


def sweep_rounds(planes: Array, board: Board, rules: str, rounds: int) -> tuple[Array, Array]:
    """A few rounds of the rules, every second one lighter; also the lanes that the last round changed.

    Args:
      planes: uint32[side, side, side, *W], the candidates.
      board: the board.
      rules: one of ``SearchRules``.
      rounds: the number of rounds, at least 1; the last one is not lighter.

    Returns:
      the candidates that are left, and uint32[*W], the lanes in which the last round still changed something.
    """

    def lighter(planes: Array) -> Array:
        return sweep(planes, board, lighter_rules(rules))

    planes = alternate(lambda planes: sweep(planes, board, rules), lighter, rounds - 1, planes)
    settled = sweep(planes, board, rules)
    by_cell = fence(any_of(slices(settled ^ planes, 0)))
    return settled, any_of(slices(fence(any_of(slices(by_cell, 0))), 0))


def lighter_rules(rules: str) -> str:
    """The rules of every second round of ``sweep_rounds``.

    Locked candidates cost as much as singles and seldom apply twice in a row, so these rounds leave them out.
    """
    return "singles" if includes(rules, "singles") else rules


def alternate(one: Callable[[T], T], last: Callable[[T], T], times: int, state: T) -> T:
    """Applies two functions in turn, ``times`` times in all, the second one last."""
    if times % 2:
        state = last(state)
    return lax.fori_loop(0, times // 2, lambda _, state: last(one(state)), state)


def settle(planes: Array, board: Board | None = None, rules: str = "locked") -> tuple[Array, Array, Array]:
    """Applies the rules until nothing changes, and classifies the lanes.

    Contradictions are those of ``outcome`` and, as rules may be "none", two cells of a house with the same digit as
    their only candidate.

    Args:
      planes: uint32[side, side, side, W], the candidates.
      board: the board; None for the classic one of that side.
      rules: one of ``RULES``.

    Returns:
      the planes that are left, contradictory uint32[W], solved uint32[W].
    """
    planes = fence(propagate(planes, board, rules))
    contradictory, solved = outcome(planes, board)
    sole = fence(planes & fence(exactly_one(slices(planes, 0)))[None])
    clashing = duplicated_givens(sole, board)
    return planes, contradictory | clashing, solved & ~clashing


def outcome(planes: AnyArray, board: Board | None = None) -> tuple[Array, Array]:
    """Which lanes are contradictory, and which are solved.

    A lane is contradictory if a cell has no candidate or a house has no place for a digit. It is solved if every cell
    has one candidate and there is no contradiction. Both are exact after any rules, or none.

    Returns:
      contradictory uint32[W], solved uint32[W]; of masks bool[B] each.
    """
    board = _board_of(np.shape(planes), board)
    planes = jnp.asarray(planes)
    view = _view(board, planes)
    ones, twos = fence(ones_and_twos(_members(view, _CELL)))
    present = fence(
        [any_of(slices(view, axes)) for axes in _house_axes(board)] + _fold_irregular(board, planes, any_of)
    )
    if is_masks(planes.shape):
        digits = jnp.asarray(all_digits(board.side))[:, None]
        absent = [digits & ~_over_houses(all_of, fold) for fold in present]
        contradictory = (~_over_houses(all_of, ones[None]) != 0).any(axis=0) | (any_of(absent) != 0).any(axis=0)
        several_left = (_over_houses(any_of, twos[None]) != 0).any(axis=0)
        return fence((contradictory, ~contradictory & ~several_left))
    lane_axes = planes.ndim - 3
    alive = fence(all_of([_over_all(all_of, fold, lane_axes) for fold in [ones, *present]]))
    return ~alive, alive & ~_over_all(any_of, twos, lane_axes)


def invalid_givens(givens: Givens, board: Board) -> Array:
    """Which lanes have givens with a value above the side, or a digit twice in a house: uint32[W]."""
    return givens.foreign | duplicated_givens(givens.digits, board)


def duplicated_givens(digits: Array, board: Board | None = None) -> Array:
    """Which lanes hold a digit twice in a house: uint32[W] from planes of digits."""
    board = _board_of(np.shape(digits), board)
    view = _view(board, digits)
    repeated = [_twos(slices(view, axes)) for axes in _house_axes(board)] + _fold_irregular(board, digits, _twos)
    if is_masks(digits.shape):
        return fence((any_of([_over_houses(any_of, fold) for fold in fence(repeated)]) != 0).any(axis=0))
    return any_of([_over_all(any_of, fold, digits.ndim - 3) for fold in fence(repeated)])


def singles(planes: Array, board: Board | None = None, hidden: bool = True) -> Array:
    """One round of naked singles and, by default, hidden singles: each is placed and removed from its houses."""
    board = _board_of(np.shape(planes), board)
    view = _view(board, planes)
    houses = _house_axes(board)
    if is_masks(planes.shape):
        return _singles_of_masks(view, board, hidden).reshape(planes.shape)
    sole = _fold_and_spread(view, (_CELL, *houses) if hidden else (_CELL,), exactly_one)
    if hidden:
        sole += _spread_irregular(board, planes, exactly_one)
    placed = fence(view & any_of(sole))
    taken = _fold_and_spread(placed, (_CELL, *houses), any_of)
    taken += _spread_irregular(board, placed.reshape(planes.shape), any_of)
    if not has_boxes(board):
        # A cell that two digits must take, or a house in which a digit must take two cells, loses these candidates, so
        # that the contradiction shows at once. With boxes it shows soon anyway, and this step would not pay.
        clashing = _fold_and_spread(placed, (_CELL, *houses), _twos)
        clashing += _spread_irregular(board, placed.reshape(planes.shape), _twos)
        placed = fence(placed & ~any_of(clashing))
    return fence(placed | (view & ~any_of(taken))).reshape(planes.shape)


def _singles_of_masks(view: Array, board: Board, hidden: bool) -> Array:
    """``singles`` of a view of masks.

    Two digits that must take one cell, or two cells of a house that must take one digit, are removed, so that the
    contradiction shows at once. Without it a search of large boards visits many times the nodes.
    """
    houses, shape = _house_axes(board), (view.shape[0], board.side, board.side, -1)
    nothing = np.zeros((), view.dtype)
    ones, twos = cell_ones_and_twos(view)
    sole = jnp.where(ones & ~twos, view, nothing)
    clash = jnp.zeros_like(twos)
    if hidden:
        only = _fold_and_spread(view, houses, exactly_one) + _spread_irregular(board, view.reshape(shape), exactly_one)
        found = view & any_of(only)
        clash = cell_ones_and_twos(found)[1]
        sole = jnp.where(ones & ~twos, view, jnp.where(clash, nothing, found))
    placed = fence(sole)
    taken = _fold_and_spread(placed, houses, any_of) + _spread_irregular(board, placed.reshape(shape), any_of)
    twice = _fold_and_spread(placed, houses, _twos) + _spread_irregular(board, placed.reshape(shape), _twos)
    settled = jnp.where(cell_ones_and_twos(placed)[0], placed & ~any_of(twice), view & ~any_of(taken))
    return fence(jnp.where(clash, nothing, settled))


def locked_candidates(planes: Array, board: Board | None = None) -> Array:
    """One round of locked candidates (pointing and claiming), between any two houses that share cells.

    If all places for a digit in one house lie in another house too, the digit is removed from the rest of that other
    house. Lines and equal boxes intersect in segments of adjacent cells, each of which is treated as one place.
    """
    board = _board_of(np.shape(planes), board)
    view = _view(board, planes)
    if has_boxes(board):
        in_rows, in_columns = fence((any_of(slices(view, 4)), any_of(slices(view, 2))))
        in_rows = _locked_segments(in_rows, across_box=2, across_line=3)  # digit, band, row, stack
        in_columns = _locked_segments(in_columns, across_box=3, across_line=1)  # digit, band, stack, column
        view = fence(view & in_rows[:, :, :, :, None] & in_columns[:, :, None])
    if board.irregular_houses:
        cells = view.reshape(view.shape[0], board.cells, *planes.shape[3:])
        view = fence(cells & ~_confined_elsewhere(board, cells))
    return view.reshape(planes.shape)


def _locked_segments(segments: Array, across_box: int, across_line: int) -> Array:
    """Which segments (the cells that a line and a box share) keep their candidates.

    A segment that is the only place for the digit in its box clears the other segments of its line, and vice versa.
    """

    def spread(folded: Array, axis: int) -> Array:
        return _spread(folded, (axis,), segments.shape)

    in_box = exactly_one(slices(segments, across_box))
    in_line = exactly_one(slices(segments, across_line))
    in_box, in_line = cpu_fence((in_box, in_line))
    sole_in_box = segments & spread(in_box, across_box)
    sole_in_line = segments & spread(in_line, across_line)
    sole_in_box, sole_in_line = cpu_fence((sole_in_box, sole_in_line))
    pointed = any_of(slices(sole_in_box, across_line))
    claimed = any_of(slices(sole_in_line, across_box))
    pointed, claimed = cpu_fence((pointed, claimed))
    free_of_pointed = sole_in_box | ~spread(pointed, across_line)
    free_of_claimed = sole_in_line | ~spread(claimed, across_box)
    return fence(free_of_pointed & free_of_claimed)


def _confined_elsewhere(board: Board, cells: Array) -> Array:
    """Candidates [side or limbs, cells, W or B] to remove.

    A candidate goes if another house has all its places for the digit in one of the cell's houses, but not in the cell.
    """
    outside, affected = intersections(board)
    if not len(outside):
        return jnp.zeros_like(cells)
    padded = with_zero_plane(cells)
    confined = ~any_of([padded[:, column] for column in outside.T])
    confined = with_zero_plane(fence(confined))
    return any_of([confined[:, column] for column in affected.T])


# ---------------------------------------------------------------------- views and folds


def _check_rules(rules: str) -> None:
    if rules not in RULES:
        raise ValueError(f"unknown rules {rules!r}: choose one of {', '.join(RULES)}{did_you_mean(rules, RULES)}")


def _board_of(shape: Sequence[int], board: Board | None) -> Board:
    """The board of candidates of this shape, planes or masks; None for the classic one of their side."""
    forks.check()
    if not is_masks(shape):
        return board_of_planes(shape, board)
    if board is None:
        return Board.classic(shape[1])
    check_board(board)
    if shape[1] != board.side:
        raise ValueError(f"masks of shape {tuple(shape)}; a board of {board} has {board.side} rows")
    return board


def _view(board: Board, planes: Array) -> Array:
    """Digit x band x row in band x stack x column in stack x group; without boxes every band is one line."""
    height, width = board.box or (1, 1)
    side = board.side
    return planes.reshape(planes.shape[0], side // height, height, side // width, width, *planes.shape[3:])


def _members(view: Array, axes: Sequence[int]) -> list[Array]:
    """The candidates to fold over: the slices at the axes. For a cell of masks, words with the same folds."""
    height, width = view.shape[1] * view.shape[2], view.shape[3] * view.shape[4]
    if axes != _CELL or not is_masks((view.shape[0], height, width, view.shape[-1])):
        return slices(view, axes)
    everything, nothing = ~np.zeros((), view.dtype), np.zeros((), view.dtype)
    # two words, the second only where the first is: any, exactly one and at least two of them are as of the digits
    return [jnp.where(flag, everything, nothing) for flag in cell_ones_and_twos(view)]


def _house_axes(board: Board) -> tuple[tuple[int, ...], ...]:
    return (_ROW, _COLUMN, _BOX) if has_boxes(board) else (_ROW, _COLUMN)


def has_boxes(board: Board) -> bool:
    """Whether there are boxes that are not rows or columns; Latin squares have none."""
    return board.box is not None and 1 not in board.box


def _spread(folded: Array, axes: Sequence[int], shape: tuple[int, ...]) -> Array:
    """Broadcasts a fold over ``axes`` back to every member."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    return lax.broadcast_in_dim(folded, shape, kept)


def _fold_and_spread(view: Array, families: Sequence[tuple[int, ...]], fold: Fold) -> list[Array]:
    """The fold of each family of houses, given by its axes, broadcast to every member."""
    folded = fence([fold(_members(view, axes)) for axes in families])
    return [_spread(values, axes, view.shape) for values, axes in zip(folded, families, strict=True)]


def _twos(planes: Sequence[Array]) -> Array:
    """Where at least two of the planes are set."""
    return ones_and_twos(planes)[1]


def _over_houses(fold: Fold, masks: Array) -> Array:
    """Folds all axes of masks [limbs, ..., B] between the first and the last: [limbs, B]."""
    while masks.ndim > 2:
        masks = fence(fold(slices(masks, 1)))
    return masks


def _over_all(fold: Fold, planes: Array, lane_axes: int) -> Array:
    """Folds all axes but the last ones, those of lanes."""
    while planes.ndim > lane_axes:
        planes = fold(slices(planes, 0))
    return planes


def _fold_irregular(board: Board, planes: Array, fold: Fold) -> list[Array]:
    """Folds each irregular house of candidates [digits, side, side, W] into [digits, houses, W]."""
    if not board.irregular_houses:
        return []
    cells = planes.reshape(planes.shape[0], board.cells, *planes.shape[3:])
    members = np.asarray(board.irregular_houses).T
    return [fold([cells[:, member] for member in members])]


def _spread_irregular(board: Board, planes: Array, fold: Fold) -> list[Array]:
    """Folds each irregular house; each cell gets the OR over its houses, in the six-axes view."""
    view_shape = _view(board, planes).shape
    spread = []
    for folded in _fold_irregular(board, planes, fold):
        padded = with_zero_plane(fence(folded))
        spread.append(fence(any_of([padded[:, house] for house in houses_of_cells(board).T])).reshape(view_shape))
    return spread


def with_zero_plane(planes: Array) -> Array:
    """Appends zeros to axis 1, for the index -1 of ragged tables."""
    return jnp.pad(planes, [(0, 0), (0, 1), *[(0, 0)] * (planes.ndim - 2)])


# ---------------------------------------------------------------------- tables of irregular houses


@functools.lru_cache(maxsize=32)
def houses_of_cells(board: Board) -> np.ndarray:
    """int32[cells, m]: the irregular houses of each cell, padded with -1."""
    return ragged([[h for h, house in enumerate(board.irregular_houses) if c in house] for c in range(board.cells)])


@functools.lru_cache(maxsize=32)
def intersections(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """The ordered pairs (confined house, affected house) that share two cells or more, one of them irregular.

    Returns:
      outside int32[pairs, m]: cells of the confined house that are not in the affected house, padded with -1;
      affected int32[cells, m]: the pairs whose affected house, but not confined house, has the cell, padded with -1.
    """
    pairs: list[tuple[House, House]] = []
    for one in board.irregular_houses:
        for other in board.houses:
            if 2 <= len(set(one) & set(other)) < board.side:
                pairs += [(one, other)] if other in board.irregular_houses else [(one, other), (other, one)]
    outside = [sorted(set(confined) - set(affected)) for confined, affected in pairs]
    affected_by: list[list[int]] = [[] for _ in range(board.cells)]
    for number, (confined, affected) in enumerate(pairs):
        for cell in set(affected) - set(confined):
            affected_by[cell].append(number)
    return ragged(outside), ragged(affected_by)


def ragged(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Rows of numbers as a table int32[rows, most], padded with -1."""
    width = max((len(row) for row in rows), default=0)
    return np.array([[*row, *[-1] * (width - len(row))] for row in rows], dtype=np.int32).reshape(len(rows), width)
