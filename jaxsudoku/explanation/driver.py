"""``explain`` and ``hint``: explanations of a position that is proved to have one solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.engine.inputs import as_position

from .proof import Proof, proper_givens, prove
from .search import chosen, explained, steps_of
from .step import Step
from .steps import Explanation


def explain(
    puzzle: Any,
    board: Board | None = None,
    *,
    candidates: Any = None,
    givens: Any = None,
    techniques: Sequence[str] | None = None,
    up_to: str | None = None,
) -> Explanation:
    """Explains how people solve a puzzle: the steps, always by the simplest technique that helps.

    A position in play is explained from its candidates on: those of ``candidates``, or those that a text lists, a
    pencil-mark grid or a line of HoDoKu's library.

    Args:
      puzzle: one puzzle, in any form that ``solve`` takes, or the text of a position.
      board: the board; None for the classic one of the puzzle's size.
      candidates: bool[side, cells], the digits that open cells may hold if their houses allow them; None for all.
      givens: bool[cells], the filled cells that the puzzle gives, where others were placed in play; None for those that
        a text does not mark, as ``+`` does in a line of HoDoKu's library, or else all. They count if they alone have
        one solution: rectangles whose cells are not given can be avoided then.
      techniques: names of the techniques to use; None for all of ``techniques.TECHNIQUES``. Those that rely on one
        solution are left out where it is only within its candidates that a position has one.
      up_to: the name of the hardest technique to use; None for no limit.

    Returns:
      the steps, and whether they solve the puzzle. Printed it is a line for each step.

    Raises:
      ValueError: several puzzles, one without exactly one solution within its candidates, candidates that don't fit the
        board, or an unknown technique.
    """
    return explained(*_proper(puzzle, board, candidates, givens, techniques, up_to))


def hint(
    puzzle: Any,
    board: Board | None = None,
    *,
    candidates: Any = None,
    givens: Any = None,
    techniques: Sequence[str] | None = None,
    up_to: str | None = None,
) -> Step | None:
    """The next step of a puzzle: the first of ``explain``; None if it is complete or no technique helps.

    Args and errors are those of ``explain``.
    """
    return next(steps_of(*_proper(puzzle, board, candidates, givens, techniques, up_to)), None)


def usable(techniques: Sequence[str] | None, proof: Proof, up_to: str | None = None) -> list[str]:
    """The names of the techniques that are sound in a position, the simplest first.

    Args:
      techniques: the names to choose from; None for all.
      proof: that the position has one solution.
      up_to: the name of the hardest technique to use; None for no limit.

    Raises:
      ValueError: an unknown technique.
    """
    return [technique.name for technique in chosen(techniques, up_to) if proof.unique or not technique.unique]


def _proper(
    puzzle: Any,
    board: Board | None,
    candidates: Any,
    givens: Any,
    techniques: Sequence[str] | None,
    up_to: str | None,
) -> tuple[np.ndarray, Board, list[str], np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """The arguments of ``steps_of`` for a position with exactly one solution."""
    names = [technique.name for technique in chosen(techniques, up_to)]
    array, board, listed, given = as_position(puzzle, board, candidates, givens)
    proof = prove(array, board, listed)
    if proof.fault is not None:
        raise ValueError(f"the puzzle has {proof.fault}; only a puzzle with exactly one solution can be explained")
    return array, board, usable(names, proof), listed, proper_givens(array, board, given), proof.solution
