"""Puzzles with constraints as formulas for a SAT solver: a reference that shares no code with the library's rules.

Each constraint is described by an automaton that reads the digits of its cells, in an order of its own: a start state,
a function (state, place, digit) -> next state or None, and a test of the last state. The formula has a variable for
each state that can be reached after each place.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from jaxsudoku.core import constraints as c
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Constraint


@dataclasses.dataclass(frozen=True)
class Automaton:
    """What accepts the digits of a constraint's cells.

    Attributes:
      cells: the cells in the order in which they are read.
      start: the first state.
      step: the state after a digit, None if no solution follows.
      accepts: whether the last state is a solution.
    """

    cells: Sequence[int]
    start: Hashable
    step: Callable[[Any, int, int], Hashable | None]
    accepts: Callable[[Any], bool] = lambda state: True


_PAIRS: dict[str, Callable[..., bool]] = {
    "less": lambda x, y: x < y,
    "not more": lambda x, y: x <= y,
    "equal": lambda x, y: x == y,
    "different": lambda x, y: x != y,
    "differ by": lambda x, y, n: x - y in (n, -n),
    "not differ by": lambda x, y, n: x - y not in (n, -n),
    "at least apart": lambda x, y, n: x - y >= n or y - x >= n,
    "times": lambda x, y, n: n in (x / y, y / x),
    "not times": lambda x, y, n: n not in (x / y, y / x),
    "add to": lambda x, y, n: x + y == n,
    "not add to": lambda x, y, n: x + y != n,
}


def automaton(constraint: Constraint, board: Board) -> Automaton:
    """The automaton of a constraint; raises KeyError for a kind that has none here."""
    return _AUTOMATA[type(constraint)](constraint, board.side)


def satisfied(constraint: Constraint, grid: Sequence[int], board: Board) -> bool:
    """Whether a filled grid satisfies a constraint."""
    reader = automaton(constraint, board)
    state = reader.start
    for place, cell in enumerate(reader.cells):
        state = reader.step(state, place, int(grid[cell]))
        if state is None:
            return False
    return reader.accepts(state)


def _distinct(one: c.Distinct, side: int) -> Automaton:
    def step(seen: frozenset[int], _: int, digit: int) -> Hashable | None:
        return None if any(abs(digit - other) < one.apart for other in seen) else seen | {digit}

    return Automaton(one.cells, frozenset(), step)


def _cage(cage: c.Cage, side: int) -> Automaton:
    (total,) = cage.numbers

    def step(state: tuple[frozenset[int], int], _: int, digit: int) -> Hashable | None:
        seen, left = state
        return None if digit in seen or digit > left else (seen | {digit}, left - digit)

    return Automaton(cage.cells, (frozenset(), total), step, lambda state: state[1] == 0)


def _sum(one: c.Sum, side: int) -> Automaton:
    weights = one.weights or [1] * len(one.cells)
    total = one.numbers[0] + sum(weight * side for weight in weights if weight < 0)
    return Automaton(one.cells, 0, lambda state, at, digit: state + weights[at] * digit, lambda state: state == total)


def _calculation(one: c.Calculation, side: int) -> Automaton:
    total = one.numbers[0] + 65536 * one.numbers[1]

    def step(state: tuple[int, int], _: int, digit: int) -> Hashable:
        largest, rest = state
        smaller, larger = min(largest, digit), max(largest, digit)
        if not largest:
            return digit, 0 if one.operation == "-" else 1
        return larger, rest + smaller if one.operation == "-" else rest * smaller

    accepts = {
        "-": lambda state: state[0] - state[1] == total,
        "/": lambda state: state[0] == total * state[1],
        "*": lambda state: state[0] * state[1] == total,
    }
    return Automaton(one.cells, (0, 0), step, accepts[one.operation])


def _chain(chain: c.Chain, side: int) -> Automaton:
    *words, last = chain.relation.split()
    name, numbers = (" ".join(words), [int(last)]) if last.isdecimal() else (chain.relation, [])
    related = _PAIRS[name]
    return Automaton(
        chain.cells, 0, lambda before, _, digit: digit if not before or related(before, digit, *numbers) else None
    )


def _among(one: c.Among, side: int) -> Automaton:
    allowed = one.numbers[0] + 65536 * one.numbers[1]
    return Automaton(one.cells, 0, lambda state, _, digit: 0 if allowed >> (digit - 1) & 1 else None)


def _contains(one: c.Contains, side: int) -> Automaton:
    def step(missing: tuple[int, ...], _: int, digit: int) -> Hashable:
        at = missing.index(digit) if digit in missing else len(missing)
        return missing[:at] + missing[at + 1 :]

    return Automaton(one.cells, tuple(one.numbers), step, lambda missing: not missing)


def _renban(one: c.Renban, side: int) -> Automaton:
    reader = _distinct(c.Distinct(one.cells), side)
    return dataclasses.replace(reader, accepts=lambda seen: max(seen) - min(seen) == len(seen) - 1)


def _from_ends(cells: Sequence[int]) -> list[int]:
    """The first cell, the last one, the second one ..., so that the middle comes last."""
    left = list(cells)
    return [left.pop(-(place % 2)) for place in range(len(cells))]


def _palindrome(one: c.Palindrome, side: int) -> Automaton:
    last = len(one.cells) - 1

    def step(other: int, place: int, digit: int) -> Hashable | None:
        if place % 2 == 0:
            return digit if place < last else 0
        return 0 if digit == other else None

    return Automaton(_from_ends(one.cells), 0, step)


def _zipper(one: c.Zipper, side: int) -> Automaton:
    size = len(one.cells)

    def step(state: tuple[int, int], place: int, digit: int) -> Hashable | None:
        total, other = state
        if place == size - 1 and size % 2:
            return state if digit == total else None
        if place % 2 == 0:
            return total, digit
        return (other + digit, 0) if total in (0, other + digit) else None

    return Automaton(_from_ends(one.cells), (0, 0), step)


def _ended(one: c.Between | c.Lockout, side: int) -> Automaton:
    first, *inner, last = one.cells

    def step(state: tuple[int, ...], place: int, digit: int) -> Hashable | None:
        if place < 2:
            ends = tuple(sorted((*state, digit)))
            return None if isinstance(one, c.Lockout) and place and ends[1] - ends[0] < one.distance else ends
        between = state[0] < digit < state[1]
        outside = digit < state[0] or digit > state[1]
        return state if (outside if isinstance(one, c.Lockout) else between) else None

    return Automaton([first, last, *inner], (), step)


def _equal_sums(one: c.EqualSums, side: int) -> Automaton:
    ends = set(itertools.accumulate(one.sizes))

    def step(state: tuple[int, int], place: int, digit: int) -> Hashable | None:
        wanted, total = state[0], state[1] + digit
        if place + 1 not in ends:
            return wanted, total
        return (total, 0) if wanted in (0, total) else None

    return Automaton(one.cells, (0, 0), step)


def _periodic(one: c.Periodic, side: int) -> Automaton:
    def step(before: tuple[int, ...], _: int, digit: int) -> Hashable | None:
        group = (digit - 1) // (side // one.groups) if one.ranges else digit % one.groups
        return None if group in before else (*before, group)[-(one.groups - 1) :]

    return Automaton(one.cells, (), step)


def _sandwich(one: c.Sandwich, side: int) -> Automaton:
    def step(state: tuple[int, int], _: int, digit: int) -> Hashable:
        crusts, total = state
        if digit in (1, side):
            return crusts + 1, total
        return crusts, total + digit * (crusts == 1)

    return Automaton(one.cells, (0, 0), step, lambda state: state == (2, one.numbers[0]))


def _skyscraper(one: c.Skyscraper, side: int) -> Automaton:
    return Automaton(
        one.cells,
        (0, 0),
        lambda state, _, digit: (digit, state[1] + 1) if digit > state[0] else state,
        lambda state: state[1] == one.numbers[0],
    )


def _x_sum(one: c.XSum, side: int) -> Automaton:
    def step(state: tuple[int, int], place: int, digit: int) -> Hashable:
        left, total = state if place else (digit, 0)
        return (left - 1, total + digit) if left else state

    return Automaton(one.cells, (0, 0), step, lambda state: state == (0, one.numbers[0]))


def _indexed(one: c.Indexed, side: int) -> Automaton:
    order = [one.place, *(place for place in range(len(one.cells)) if place != one.place)]

    def step(told: int, at: int, digit: int) -> Hashable | None:
        if at == 0:
            return None if digit == one.place + 1 and digit != one.numbers[0] else digit
        return None if order[at] == told - 1 and digit != one.numbers[0] else told

    return Automaton([one.cells[place] for place in order], 0, step)


_AUTOMATA: dict[type, Callable[[Any, int], Automaton]] = {
    c.Among: _among,
    c.Between: _ended,
    c.Cage: _cage,
    c.Calculation: _calculation,
    c.Chain: _chain,
    c.Contains: _contains,
    c.Distinct: _distinct,
    c.EqualSums: _equal_sums,
    c.Indexed: _indexed,
    c.Lockout: _ended,
    c.Palindrome: _palindrome,
    c.Periodic: _periodic,
    c.Renban: _renban,
    c.Sandwich: _sandwich,
    c.Skyscraper: _skyscraper,
    c.Sum: _sum,
    c.XSum: _x_sum,
    c.Zipper: _zipper,
}


def count(grid: np.ndarray, board: Board, constraints: Iterable[Constraint], limit: int = 2) -> list[list[int]]:
    """Up to ``limit`` solutions of a puzzle integers[cells], as lists of digits."""
    from pysat.solvers import Solver

    numbers = itertools.count(1)
    variable = {(cell, digit): next(numbers) for cell in range(board.cells) for digit in range(1, board.side + 1)}
    found: list[list[int]] = []
    with Solver("cadical153") as solver:
        for cell in range(board.cells):
            solver.add_clause([variable[cell, digit] for digit in range(1, board.side + 1)])
            for one, other in itertools.combinations(range(1, board.side + 1), 2):
                solver.add_clause([-variable[cell, one], -variable[cell, other]])
        for house in board.houses:
            for digit in range(1, board.side + 1):
                solver.add_clause([variable[cell, digit] for cell in house])
                for one, other in itertools.combinations(house, 2):
                    solver.add_clause([-variable[one, digit], -variable[other, digit]])
        for constraint in constraints:
            _add(solver, variable, numbers, automaton(constraint, board), board)
        for cell, digit in enumerate(grid.tolist()):
            if digit:
                solver.add_clause([variable[cell, digit]])
        while len(found) < limit and solver.solve():
            true = {literal for literal in solver.get_model() if literal > 0}
            digits = [
                next(digit for digit in range(1, board.side + 1) if variable[cell, digit] in true)
                for cell in range(board.cells)
            ]
            found.append(digits)
            solver.add_clause([-variable[cell, digit] for cell, digit in enumerate(digits)])
    return found


def _add(solver: Any, variable: dict, numbers: Any, reader: Automaton, board: Board) -> None:
    """Adds the clauses of an automaton: a state and a digit imply the next state, or exclude each other."""
    states = {reader.start: next(numbers)}
    solver.add_clause([states[reader.start]])
    for place, cell in enumerate(reader.cells):
        following: dict[Hashable, int] = {}
        for state, name in states.items():
            for digit in range(1, board.side + 1):
                after = reader.step(state, place, digit)
                last = place == len(reader.cells) - 1
                if after is None or (last and not reader.accepts(after)):
                    solver.add_clause([-name, -variable[cell, digit]])
                    continue
                if after not in following:
                    following[after] = next(numbers)
                solver.add_clause([-name, -variable[cell, digit], following[after]])
        states = following
