"""Searches for the steps of a puzzle: the first pattern of the simplest technique that finds any, again and again.

Plain Python on one puzzle at a time. ``jaxsudoku.techniques`` has the same techniques for batches; each finds the same
candidates in the same position.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.techniques.registry import Kind, Technique, fits, names_up_to
from jaxsudoku.techniques.registry import chosen as named

from . import almost_locked, chains, constraints, nets, rectangles, simple, subsets, wings
from .finding import Finding
from .proof import solutions
from .step import Step, step_of
from .steps import Explanation
from .view import View

#: For each technique, by its name, the function that finds its patterns.
FUNCTIONS: Mapping[str, Callable[[View], Iterator[Finding]]] = {
    "full-house": simple.full_houses,
    "hidden-single-in-region": functools.partial(simple.hidden_singles, lines=False),
    "hidden-single-in-line": functools.partial(simple.hidden_singles, lines=True),
    "naked-single": simple.naked_singles,
    "constraint": constraints.constraints,
    "pointing": functools.partial(simple.locked, from_lines=False),
    "claiming": functools.partial(simple.locked, from_lines=True),
    "naked-pair": functools.partial(subsets.naked_subsets, size=2),
    "x-wing": functools.partial(subsets.fish, size=2),
    "hidden-pair": functools.partial(subsets.hidden_subsets, size=2),
    "naked-triple": functools.partial(subsets.naked_subsets, size=3),
    "swordfish": functools.partial(subsets.fish, size=3),
    "hidden-triple": functools.partial(subsets.hidden_subsets, size=3),
    "xy-wing": wings.xy_wing,
    "xyz-wing": wings.xyz_wing,
    "unique-rectangle": rectangles.unique_rectangles,
    "w-wing": wings.w_wing,
    "finned-x-wing": functools.partial(subsets.finned_fish, size=2),
    "finned-swordfish": functools.partial(subsets.finned_fish, size=3),
    "naked-quad": functools.partial(subsets.naked_subsets, size=4),
    "jellyfish": functools.partial(subsets.fish, size=4),
    "hidden-quad": functools.partial(subsets.hidden_subsets, size=4),
    "simple-colouring": functools.partial(chains.chains, links="colours"),
    "x-chain": functools.partial(chains.chains, links="digit"),
    "xy-chain": functools.partial(chains.chains, links="pairs"),
    "aic": functools.partial(chains.chains, links="all"),
    "almost-locked-sets": almost_locked.almost_locked_sets,
    "als-chain": almost_locked.als_chains,
    "nishio": nets.nishio,
    "forcing-chain": functools.partial(nets.forcing_chains, rules="singles"),
    "forcing-chain-with-locked-candidates": functools.partial(nets.forcing_chains, rules="locked"),
}


def explained(
    puzzle: np.ndarray,
    board: Board,
    techniques: Sequence[str] | None = None,
    candidates: np.ndarray | None = None,
    givens: np.ndarray | None = None,
    solution: np.ndarray | None = None,
) -> Explanation:
    """All steps of a puzzle.

    Args and errors are those of ``steps_of``.

    Returns:
      the steps, and whether they solve the puzzle.
    """
    puzzle, candidates = puzzle.copy(), None if candidates is None else candidates.copy()
    steps = steps_of(puzzle, board, techniques, candidates, givens, solution)
    return Explanation(puzzle, board, tuple(steps), candidates)


def steps_of(
    puzzle: np.ndarray,
    board: Board,
    techniques: Sequence[str] | None = None,
    candidates: np.ndarray | None = None,
    givens: np.ndarray | None = None,
    solution: np.ndarray | None = None,
) -> Iterator[Step]:
    """The steps of a puzzle with one solution, one at a time.

    Args:
      puzzle: uint8[cells], 0 = empty; its givens must not clash.
      board: the board.
      techniques: names of the techniques to use, as ``techniques.registry.get`` takes them; None for all.
      candidates: bool[side, cells], the digits that open cells may hold; None for all that their houses allow.
      givens: bool[cells], the filled cells that the puzzle gives, which alone have one solution; None for all.
      solution: uint8[cells], the solution; None to search for it.

    Returns:
      the steps, each searched for when it is asked for. They end when all cells are filled or no technique helps.

    Raises:
      ValueError: an unknown technique.
    """
    usable = [technique for technique in chosen(techniques) if fits(technique, board)]
    view = View(board, puzzle, candidates, givens)
    view.solution = solution
    return _steps(view, puzzle, usable, candidates)


def chosen(techniques: Sequence[str] | None, up_to: str | None = None) -> tuple[Technique, ...]:
    """The techniques of some names, the simplest first.

    Args:
      techniques: their names, as ``techniques.registry.get`` takes them; None for all.
      up_to: the name of the hardest one to take; None for no limit.

    Raises:
      ValueError: an unknown technique, or a text in place of several names.
    """
    found = named(techniques)
    if up_to is None:
        return found
    names = names_up_to(up_to)
    return tuple(technique for technique in found if technique.name in names)


def _steps(
    view: View, puzzle: np.ndarray, techniques: Sequence[Technique], candidates: np.ndarray | None
) -> Iterator[Step]:
    assuming = any(technique.kind in (Kind.REFUTES, Kind.LINKS) for technique in techniques)
    if view.solution is None and not view.solved and assuming:
        found = solutions(puzzle, view.board, candidates)
        if found is not None and found.number == 1:
            view.solution = found.first
    while not view.solved:
        step = next_step(view, techniques)
        if step is None:
            return
        yield step


def next_step(view: View, techniques: Sequence[Technique]) -> Step | None:
    """The first pattern of the simplest technique that finds any.

    Args:
      view: the position; the step is applied to it.
      techniques: the techniques to try, the simplest first.

    Returns:
      the step; None if no technique finds anything.
    """
    for technique in techniques:
        for finding in findings(view, technique.name):
            before = view.state()
            for digit, cell in finding.place:
                view.fill(digit, cell)
            for digit, cell in finding.remove:
                view.remove(digit, cell)
            return step_of(before, technique, finding)
    return None


def findings(view: View, name: str) -> Iterator[Finding]:
    """The patterns of a technique in a position.

    Args:
      view: the position.
      name: the name of the technique in the registry.

    Returns:
      the patterns, one at a time. Each places or removes a candidate.

    Raises:
      KeyError: there is no such technique.
    """
    return FUNCTIONS[name](view)
