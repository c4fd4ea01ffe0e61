"""The rules: naked singles, hidden singles, locked candidates, applied to a fixpoint.

Every rule is sound (it removes only candidates that no solution uses) and never guesses. The rules are written once,
for any ``Layout`` (``jaxsudoku.core.layouts``) and board size. The first part of the module has functions of planes
uint32[side, side, side, *W], 32 lanes a word (``jaxsudoku.planes``). The public ones, ``propagate`` and ``outcome``,
check shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_planes
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.constraints.pruning import prune
from jaxsudoku.core.house_tables import intersections
from jaxsudoku.core.layouts import Family, Layout, Planes, spread_axes, with_zero_plane
from jaxsudoku.core.planes import Givens, all_of, any_of, at_least_two, exactly_one, ones_and_twos, slices
from jaxsudoku.core.tuning import includes
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import cpu_fence, fence
from jaxsudoku.runtime.sharding import vary_as

T = TypeVar("T")


# ---------------------------------------------------------------------- functions of planes


def propagate(planes: AnyArray, board: Board | None = None, rules: str = "locked", rounds: int | None = None) -> Array:
    """Applies the rules until nothing changes in any lane, or for a number of rounds.

    Args:
      planes: uint32[side, side, side, W], the candidates.
      board: the board; None for the classic one of that side.
      rules: one of ``RULES``. "none" leaves the planes as they are.
      rounds: at most this many rounds; None for no limit.

    Returns:
      the planes that are left. A contradictory lane has a cell without a candidate or a house without a place for a
      digit; see ``outcome``.

    Raises:
      ValueError: unknown rules, or planes that don't fit the board. TypeError: ``board`` is no ``Board``.
    """
    return fixpoint(_layout_of(planes, board), jnp.asarray(planes), rules, rounds)


def outcome(planes: AnyArray, board: Board | None = None) -> tuple[Array, Array]:
    """Which lanes are contradictory, and which are solved.

    A lane is contradictory if a cell has no candidate, a house has no place for a digit, or a constraint excludes the
    last candidate of a cell. It is solved if every cell has one candidate and there is no contradiction. Both are exact
    after any rules, or none.

    Args:
      planes: uint32[side, side, side, W], the candidates.
      board: the board; None for the classic one of that side.

    Returns:
      contradictory uint32[W], solved uint32[W].

    Raises:
      ValueError: planes that don't fit the board. TypeError: ``board`` is no ``Board``.
    """
    layout, planes = _layout_of(planes, board), jnp.asarray(planes)
    contradictory, solved = classify(layout, planes)
    if layout.board.constraints:
        excluded, _ = classify(layout, sweep(layout, planes, "none"))
        return contradictory | excluded, solved & ~excluded
    return contradictory, solved


def _layout_of(planes: AnyArray, board: Board | None) -> Planes:
    forks.check()
    return Planes(board_of_planes(np.shape(planes), board))


def settle(planes: Array, board: Board, rules: str) -> tuple[Array, Array, Array]:
    """Applies the rules until nothing changes, and classifies the lanes.

    Contradictions are those of ``outcome`` and, as rules may be "none", two cells of a house with the same digit as
    their only candidate, and filled cells that a constraint excludes.

    Args:
      planes: uint32[side, side, side, W], the candidates.
      board: the board.
      rules: one of ``RULES``.

    Returns:
      the planes that are left, contradictory uint32[W], solved uint32[W].
    """
    layout = Planes(board)
    planes = fence(fixpoint(layout, planes, rules))
    contradictory, solved = classify(layout, planes)
    sole = fence(planes & fence(exactly_one(slices(planes, 0)))[None])
    clashing = duplicated_givens(layout, sole)
    if board.constraints and not includes(rules, "naked"):  # with other rules they were applied to the end
        lost = fence(sole & ~sweep(layout, planes, rules))
        clashing |= layout.somewhere(any_of(layout.members(layout.view(lost), Family.CELL)), Family.CELL)
    return planes, contradictory | clashing, solved & ~clashing


def legal(planes: Array, board: Board) -> Array:
    """The candidates that neither a filled cell of their houses nor a constraint excludes; one round, no deduction."""
    return sweep(Planes(board), planes, "naked")


def sweep_rounds(
    planes: Array, board: Board, rules: str, rounds: int, clues: Clues | None = None
) -> tuple[Array, Array]:
    """A few rounds of the rules, every second one without locked candidates; also the lanes changed by the last round.

    Args:
      planes: uint32[side, side, side, *W], the candidates.
      board: the board.
      rules: one of ``SearchRules``.
      rounds: the number of rounds, at least 1; the last one is not lighter.
      clues: the clues of the lanes' puzzles, rows [width, 32 W]; None for none.

    Returns:
      the candidates that are left, and uint32[*W], the lanes in which the last round still changed something.
    """
    layout = Planes(board)

    def lighter(planes: Array) -> Array:
        return sweep_houses(layout, planes, lighter_rules(rules))

    planes = alternate(lambda planes: sweep_houses(layout, planes, rules), lighter, rounds - 1, planes)
    settled = sweep(layout, planes, rules, clues)
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


def invalid_givens(givens: Givens, board: Board) -> Array:
    """Which lanes have givens with a value above the side, or a digit twice in a house: uint32[W]."""
    return givens.foreign | duplicated_givens(Planes(board), givens.digits)


# ---------------------------------------------------------------------- rules on any layout


def fixpoint(
    layout: Layout, candidates: Array, rules: str, rounds: int | None = None, clues: Clues | None = None
) -> Array:
    """``propagate`` on candidates of a layout, with the clues of the lanes' puzzles."""
    if not includes(rules, "naked"):
        return candidates

    def unfinished(state: tuple[Array, Array, Array]) -> Array:
        _, changed, done = state
        return changed if rounds is None else changed & (done < rounds)

    def one_round(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        before, _, done = state
        after = sweep(layout, before, rules, clues)
        return after, (after != before).any(), done + 1

    start = (candidates, *vary_as(candidates, (jnp.bool_(True), jnp.int32(0))))
    return lax.while_loop(unfinished, one_round, start)[0]


def sweep(layout: Layout, candidates: Array, rules: str, clues: Clues | None = None) -> Array:
    """One round of the rules, then of the constraints of the board and of the puzzles' clues."""
    candidates = sweep_houses(layout, candidates, rules)
    if not layout.board.constraints and clues is None:
        return candidates
    masks = prune(layout.board, layout.to_masks(candidates), clues)
    return layout.from_masks(masks, candidates)


def sweep_houses(layout: Layout, candidates: Array, rules: str) -> Array:
    """One round of the rules of houses."""
    if includes(rules, "naked"):
        candidates = singles(layout, candidates, hidden=includes(rules, "singles"))
    if includes(rules, "locked"):
        candidates = locked_candidates(layout, candidates)
    return candidates


def classify(layout: Layout, candidates: Array) -> tuple[Array, Array]:
    """The lanes of a layout that the houses contradict, and those with one candidate in each cell.

    Constraints are not tested: they hold where a sweep of these candidates changes nothing.
    """
    view = layout.view(candidates)
    ones, twos = fence(ones_and_twos(layout.members(view, Family.CELL)))
    present = fence([any_of(layout.members(view, house)) for house in layout.houses])
    folds = zip([ones, *present], [Family.CELL, *layout.houses], strict=True)
    alive = fence(all_of([layout.everywhere(fold, family) for fold, family in folds]))
    return ~alive, alive & ~layout.somewhere(twos, Family.CELL)


def duplicated_givens(layout: Layout, digits: Array) -> Array:
    """The lanes that hold a digit twice in a house; each cell of ``digits`` has at most one candidate."""
    view = layout.view(digits)
    repeated = fence([at_least_two(layout.members(view, house)) for house in layout.houses])
    return any_of([layout.somewhere(fold, house) for fold, house in zip(repeated, layout.houses, strict=True)])


def singles(layout: Layout, candidates: Array, hidden: bool = True) -> Array:
    """One round of naked singles and, by default, hidden singles: each is placed and removed from its houses.

    If ``layout.clears_clashes``, clashing singles are removed, which shows the contradiction at once: several digits in
    one cell, then one digit in several cells of a house.
    """
    view = layout.view(candidates)
    cells, everything = (Family.CELL,), (Family.CELL, *layout.houses)
    sole = layout.around(view, everything if hidden else cells, exactly_one)
    placed = view & any_of(sole)
    clash: list[Array] = []
    if layout.clears_clashes and hidden:  # two digits that must take one cell are both hidden singles
        clash = layout.around(view & any_of(sole[1:]), cells, at_least_two)
        placed = placed & ~clash[0]
    placed = fence(placed)
    taken = layout.around(placed, everything, any_of)
    if layout.clears_clashes:
        placed = placed & ~any_of(layout.around(placed, layout.houses, at_least_two))
    return fence(placed | (view & ~any_of(clash + taken))).reshape(candidates.shape)


def locked_candidates(layout: Layout, candidates: Array) -> Array:
    """One round of locked candidates (pointing and claiming), between any two houses that share cells.

    If all places for a digit in one house also lie in another house, the digit is removed from the rest of that other
    house. Lines and equal boxes intersect in segments of adjacent cells; each segment is treated as one place.
    """
    view = layout.view(candidates)
    if layout.board.has_boxes:
        in_rows, in_columns = fence((any_of(slices(view, 4)), any_of(slices(view, 2))))
        in_rows = _locked_segments(in_rows, across_box=2, across_line=3)  # digit, band, row, stack
        in_columns = _locked_segments(in_columns, across_box=3, across_line=1)  # digit, band, stack, column
        view = fence(view & in_rows[:, :, :, :, None] & in_columns[:, :, None])
    if layout.board.irregular_houses or layout.board.constraints:
        cells = layout.cells(view)
        view = fence(cells & ~_confined_elsewhere(layout.board, cells))
    return view.reshape(candidates.shape)


def _locked_segments(segments: Array, across_box: int, across_line: int) -> Array:
    """Which segments (the cells that a line and a box share) keep their candidates.

    A segment that is the only place for the digit in its box clears the other segments of its line, and vice versa.
    """

    def spread(folded: Array, axis: int) -> Array:
        return spread_axes(folded, (axis,), segments.shape)

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
    """The candidates, by cell as in ``Layout.cells``, that locked candidates remove by the sets of ``intersections``.

    A candidate is removed if its cell sees all places for its digit in another house.
    """
    outside, affected = intersections(board)
    if not len(outside):
        return jnp.zeros_like(cells)
    padded = with_zero_plane(cells)
    confined = ~any_of([padded[:, column] for column in outside.T])
    confined = with_zero_plane(fence(confined))
    return any_of([confined[:, column] for column in affected.T])
