"""What the constraints of a board exclude, one at a time, with the reason in a sentence."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint, Group
from jaxsudoku.core.constraints.sums import Cage
from jaxsudoku.pictures import Candidate

from .finding import Finding, removing
from .layout import bits, digits_by_cell
from .view import View
from .words import cells_named, digits_named, is_digit, listed

#: The most assignments of the cells of a constraint that are tried for its sentence, and the most sets that it names.
_MOST_TRIED, _MOST_NAMED = 4096, 3


class Kept(NamedTuple):
    """What a constraint leaves.

    Attributes:
      constraint: the constraint.
      implied: whether it follows from cages and houses by the 45 rule.
      left: for each of its cells the digits that are left, as bits.
    """

    constraint: Constraint
    implied: bool
    left: tuple[int, ...]


def constraints(view: View) -> Iterator[Finding]:
    """What one constraint excludes; of rules for pairs all over the board, what one filled cell excludes."""
    board = view.board
    waiting: dict[tuple[str, int], dict[Candidate, None]] = {}
    for kept in kept_by(board, tuple(view.left)):
        constraint = kept.constraint
        removed = [
            (digit, cell)
            for cell, left in zip(constraint.cells, kept.left, strict=True)
            for digit in bits(view.left[cell] & ~left)
            if not view.filled >> cell & 1
        ]
        filled = [cell for cell in constraint.cells if view.filled >> cell & 1]
        if removed and filled and constraint in board.pair_rules:
            waiting.setdefault((board.pair_rules[constraint], filled[0]), {}).update(dict.fromkeys(removed))
        elif removed:
            yield removing(removed, constraint.cells, f"{_reason(view, kept, removed)}: constraint.")
    for (name, cell), excluded in waiting.items():
        (digit,) = view.digits(cell)
        yield removing(excluded, [cell], f"{is_digit(board, digit, cell)}, and the rule is {name}: constraint.")


def pruned(board: Board, places: list[int]) -> list[int]:
    """The places of each digit that the constraints of a board leave, applied once."""
    if not board.constraints:
        return places
    left = digits_by_cell(places, board.cells)
    for kept in kept_by(board, tuple(left)):
        for cell, digits in zip(kept.constraint.cells, kept.left, strict=True):
            left[cell] &= digits
    return [sum(1 << cell for cell, digits in enumerate(left) if digits >> digit & 1) for digit in range(board.side)]


@functools.lru_cache(maxsize=4)
def kept_by(board: Board, left: tuple[int, ...]) -> list[Kept]:
    """What each constraint leaves of some candidates; last those that follow by the 45 rule.

    Args:
      board: the board.
      left: for each cell its candidates, as bits.
    """
    found = [
        Kept(constraint, implied, tuple(kept[:, 0].tolist()))
        for constraint, implied, kept in _pruned(board, np.array(left, np.uint32)[:, None])
    ]
    return sorted(found, key=operator.attrgetter("implied"))


def changed_by(board: Board, positions: Sequence[Sequence[int]]) -> list[list[Kept]]:
    """What constraints leave of the candidates of several positions, where it is less than before.

    Args:
      board: the board.
      positions: for each position and cell its candidates, as bits.
    """
    found: list[list[Kept]] = [[] for _ in positions]
    if board.constraints and positions:
        left = np.array(positions, np.uint32).T
        for constraint, implied, kept in _pruned(board, left):
            for number in np.flatnonzero((kept != left[list(constraint.cells)]).any(axis=0)).tolist():
                found[number].append(Kept(constraint, implied, tuple(kept[:, number].tolist())))
    return found


def _pruned(board: Board, left: np.ndarray) -> Iterator[tuple[Constraint, bool, np.ndarray]]:
    """Each constraint, whether it is implied, and what it leaves of candidates uint32[cells, N]: uint32[size, N]."""
    for group, members in _groups(board):
        numbers = [values[:, None] for values in group.numbers.T]
        kept = np.stack(group.kind.prune([left[cells] for cells in group.cells.T], numbers, board.side))
        for number, (constraint, implied) in enumerate(members):
            yield constraint, implied, kept[:, number]


@functools.lru_cache(maxsize=8)
def _groups(board: Board) -> list[tuple[Group, list[tuple[Constraint, bool]]]]:
    """The groups of constraints that are applied, each with its constraints and whether they are implied."""
    groups: Sequence[Group] = board.constraint_groups
    if any(isinstance(constraint, Cage) for constraint in board.constraints):
        from jaxsudoku.core.constraints.house_sums import implied_groups  # loads JAX

        groups = implied_groups(board)
    given = {constraint.normalized() for constraint in board.constraints}
    return [(group, [(one, one.normalized() not in given) for one in group.constraints()]) for group in groups]


# ---------------------------------------------------------------------- sentences


def _reason(view: View, kept: Kept, removed: Sequence[Candidate]) -> str:
    """Why candidates are removed."""
    board, constraint = view.board, kept.constraint
    sets = None if kept.implied and len(constraint.cells) == 1 else _fitting(view, constraint)
    if sets is not None and not {digit for digit, _ in removed} & set(itertools.chain(*sets)):
        text = f"{_subject(board, kept)} allows only {listed(map(digits_named, sets), 'or')}"
    else:
        text = allowed(board, kept, [view.left[cell] for cell in constraint.cells])
    return f"{text[0].upper()}{text[1:]}"


def allowed(board: Board, kept: Kept, before: Sequence[int]) -> str:
    """What a constraint leaves in the cells that lose a candidate, as in "the cage of ... allows only 3 in r1c1".

    Args:
      board: the board.
      kept: the constraint, and what it leaves.
      before: the digits of its cells before, as bits.
    """
    constraint = kept.constraint
    if kept.implied and len(constraint.cells) == 1:
        return f"by the 45 rule {cells_named(board, constraint.cells)} is {constraint.numbers[0]}"
    if not all(digits & old for digits, old in zip(kept.left, before, strict=True)):
        return f"{_subject(board, kept)} can't be satisfied"
    alike: dict[int, list[int]] = {}
    for cell, digits, old in zip(constraint.cells, kept.left, before, strict=True):
        if digits & old != old:
            alike.setdefault(digits & old, []).append(cell)
    parts = [f"{digits_named(bits(digits), 'or')} in {cells_named(board, own)}" for digits, own in alike.items()]
    return f"{_subject(board, kept)} allows only {listed(parts)}"


def _subject(board: Board, kept: Kept) -> str:
    """A constraint in words."""
    constraint, cells = kept.constraint, cells_named(board, kept.constraint.cells)
    if constraint in board.pair_rules:
        return f"the rule {board.pair_rules[constraint]} for {cells}"
    if kept.implied:
        return f"the total of {constraint.numbers[0]} that {cells} have by the 45 rule"
    return f"the {constraint.described(board.side)}"


def _fitting(view: View, constraint: Constraint) -> list[tuple[int, ...]] | None:
    """The sets of digits with which the cells satisfy a constraint that is the same in all of them, if they are few."""
    side, options = view.board.side, [view.digits(cell) for cell in constraint.cells]
    if len(set(constraint.roles)) > 1 or len(options) < 2 or np.prod([len(own) for own in options]) > _MOST_TRIED:
        return None
    tried = np.array(list(itertools.product(*options)), np.int32)
    holds = constraint.kind.holds([column + 1 for column in tried.T], constraint.numbers, side)
    sets = sorted({tuple(sorted(row)) for row in tried[np.asarray(holds, bool)].tolist()})
    return sets if 0 < len(sets) <= _MOST_NAMED else None
