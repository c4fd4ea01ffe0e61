"""How hard a puzzle is: by how much a search has to branch, and by the rules that solve it alone.

The rating of a puzzle is the mean number of branch nodes of several complete searches, each in a random order of its
own, after naked and hidden singles. A complete search visits its whole tree: it finds the solution and proves that
there is no other. A puzzle that singles solve has a rating of 0.

The randomness of a puzzle's searches comes from the key and from the puzzle itself, so equal puzzles have equal ratings
wherever they stand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import exact
from jaxsudoku.arrays import AnyArray
from jaxsudoku.batches import Engine, PuzzleItems
from jaxsudoku.board import Board, board_of_grids
from jaxsudoku.config import node_lanes, whole_number
from jaxsudoku.inputs import as_puzzles
from jaxsudoku.planes import fence, grids_to_planes, grids_to_words, pad_grids, unpack_lanes
from jaxsudoku.propagation import RULES, invalid_givens, outcome, propagate
from jaxsudoku.random import APART, mix
from jaxsudoku.suggestions import did_you_mean
from jaxsudoku.terminal.progress import Report, reports

#: Searches of a puzzle whose branch nodes are averaged.
SEARCHES = 8
#: How hard puzzles are by their ratings, easiest first: those of 0, which singles solve, and then those below 2, below
#: 10, below 50, and from 50 on. A rating is a mean number of branch nodes, as ``rate`` gives it.
GRADES = ("easy", "medium", "hard", "very hard", "extreme")
_BOUNDS = (2.0, 10.0, 50.0)
#: Nodes of one search after which it is cut off, so that no puzzle takes for ever.
BUDGET = 1 << 16
#: Ratings of a kernel that are no numbers of branch nodes: of a puzzle without exactly one solution, and where a search
#: was cut off. Both compare with bounds as NaN and infinity do.
IMPROPER, CUT_OFF = -1.0, float(np.finfo(np.float32).max)
#: The rules of the searches. On the rated Kaggle puzzles singles agree with their difficulty best.
_RULES = "singles"


def rate(
    puzzles: Any,
    board: Board | None = None,
    *,
    key: Array | int = 0,
    searches: int = SEARCHES,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
) -> np.ndarray:
    """Rates puzzles: the mean number of branch nodes of complete searches in random orders, after singles.

    Args:
      puzzles: one or several, in any form that ``solve`` takes.
      board: the board; by default the classic one of the puzzles' size.
      key: a JAX key or a seed.
      searches: searches of each puzzle, whose mean is taken.
      batch_size, devices, progress: as in ``solve``.

    Returns:
      float32[*b]; NaN for a puzzle without exactly one solution, infinity where a search was cut off after ``BUDGET``
      nodes, so that nothing is proven.

    Raises:
      ValueError: puzzles that do not fit the board, or fewer than one search.
    """
    searches = whole_number("searches", searches, 1)
    array, board = as_puzzles(puzzles, board)
    engine = Engine(_RatingKernel(searches), board, key, batch_size, devices)
    with reports(progress) as report:
        ratings = engine.run(array.reshape(-1, board.cells), report)
    return reported(ratings).reshape(array.shape[:-1])


def weakest_rules(
    puzzles: Any,
    board: Board | None = None,
    *,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
) -> np.ndarray:
    """The weakest of ``RULES`` that solves each puzzle without any branching.

    Args:
      puzzles: one or several, in any form that ``solve`` takes.
      board, batch_size, devices: as in ``solve``.

    Returns:
      int8[*b], an index into ``RULES``; ``len(RULES)`` where none does.

    Raises:
      ValueError: puzzles that do not fit the board.
    """
    array, board = as_puzzles(puzzles, board)
    engine = Engine(_RulesKernel(), board, 0, batch_size, devices)
    return engine.run(array.reshape(-1, board.cells)).reshape(array.shape[:-1])


def grade(ratings: Any) -> np.ndarray:
    """The grades of puzzles, int8[*b], indices into ``GRADES``, by their ratings, float32[*b]; -1 for NaN."""
    ratings = np.asarray(ratings)
    grades = np.where(ratings > 0, 1 + np.searchsorted(_BOUNDS, ratings, side="right"), 0)
    return np.where(np.isnan(ratings), -1, grades).astype(np.int8)


def grade_range(name: str) -> tuple[float, float | None]:
    """The lowest and the highest rating of a grade, both included; no highest one of the last grade.

    Ratings are means of ``SEARCHES`` whole numbers, as ``rate`` and ``generate`` give them.

    Args:
      name: one of ``GRADES``; dashes stand for spaces.

    Raises:
      ValueError: there is no such grade.
    """
    grades = [word.replace(" ", "-") for word in GRADES]
    wanted = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if wanted not in grades:
        raise ValueError(f"unknown grade {name!r}: choose one of {', '.join(grades)}{did_you_mean(wanted, grades)}")
    edges = (0.0, 1 / SEARCHES, *_BOUNDS, None)
    low, after = edges[grades.index(wanted) : grades.index(wanted) + 2]
    assert low is not None
    return low, None if after is None else after - 1 / SEARCHES


def branch_nodes(
    puzzles: AnyArray,
    seed: Array,
    board: Board | None = None,
    *,
    searches: int = SEARCHES,
    lanes: int = exact.CPU_LANES,
) -> Array:
    """The ratings of puzzles uint8[N, cells] in finite numbers; pure, all but the arrays static.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      seed: uint32[2], the key's randomness.
      board: the board; None for the classic one of the puzzles' size.
      searches: searches of each puzzle.
      lanes: nodes in a step of the search, a multiple of 32.

    Returns:
      float32[N]; ``IMPROPER`` for a puzzle without exactly one solution, ``CUT_OFF`` where a search was cut off.
      ``reported`` turns these two into NaN and infinity, which a kernel must not return under ``jax_debug_nans``.
    """
    board, _ = board_of_grids(np.shape(puzzles), board)
    puzzles = jnp.asarray(puzzles)
    identity = _hash(board, puzzles, seed)

    def one(number: Array, total: Array) -> Array:
        seeds = mix(identity + (number.astype(jnp.uint32) + 1) * APART) | np.uint32(1)
        found = exact.search(puzzles, board, seeds, limit=2, budget=BUDGET, rules=_RULES, lanes=lanes)
        # every branch node has two children, so a tree of n nodes has (n - 1) / 2
        branches = ((found.iterations - 1) // 2).astype(jnp.float32)
        known = jnp.where(found.counts == 1, branches, jnp.nan)
        return total + jnp.where(found.iterations < BUDGET, known, jnp.inf)

    total = lax.fori_loop(0, searches, one, jnp.zeros(puzzles.shape[0], jnp.float32))
    ratings = total / searches
    ratings = jnp.where(jnp.isnan(ratings), jnp.float32(IMPROPER), ratings)
    return jnp.where(jnp.isinf(ratings), jnp.float32(CUT_OFF), ratings)


def reported(ratings: np.ndarray) -> np.ndarray:
    """Ratings float32[*b] as users see them: NaN for ``IMPROPER``, infinity for ``CUT_OFF``."""
    ratings = np.asarray(ratings)
    missing = np.where(ratings == np.float32(IMPROPER), np.float32(np.nan), ratings)
    return np.where(ratings == np.float32(CUT_OFF), np.float32(np.inf), missing)


def _hash(board: Board, puzzles: Array, seed: Array) -> Array:
    """A random number uint32[N] for each puzzle, from it and the seed uint32[2] alone."""
    words = grids_to_words(puzzles, board)
    start = jnp.full(puzzles.shape[0], mix(seed[0]) ^ seed[1], jnp.uint32)
    return lax.fori_loop(0, words.shape[0], lambda row, value: mix(value ^ words[row]) + np.uint32(0x85EBCA6B), start)


def solved_by(
    puzzles: AnyArray, board: Board | None = None, rules: str = "locked", *, lanes: int = exact.CPU_LANES
) -> Array:
    """Whether rules alone solve puzzles, which then have one solution; pure, all but the puzzles static.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      board: the board; None for the classic one of the puzzles' size.
      rules: one of ``RULES``.
      lanes: puzzles that are worked on together, a multiple of 32.

    Returns:
      bool[N].
    """
    board, _ = board_of_grids(np.shape(puzzles), board)
    padded, _ = pad_grids(jnp.asarray(puzzles), board, lanes)

    def block(part: Array) -> Array:
        givens = grids_to_planes(part, board)
        wrong = invalid_givens(givens, board)
        _, solved = outcome(propagate(fence(givens.candidates), board, rules), board)
        return unpack_lanes(solved & ~wrong)

    return lax.map(block, padded.reshape(-1, lanes, board.cells)).reshape(-1)[: len(puzzles)]


@dataclasses.dataclass(frozen=True)
class _RatingKernel(PuzzleItems):
    searches: int
    lanes: int = exact.CPU_LANES

    def resolve(self, board: Board, platform: str) -> _RatingKernel:
        return dataclasses.replace(self, lanes=node_lanes(board, platform))

    def __call__(self, board: Board, puzzles: Array, key: Array, number: Array, /) -> Array:
        seed = jax.random.bits(key, (2,), jnp.uint32)
        return branch_nodes(puzzles, seed, board, searches=self.searches, lanes=self.lanes)


@dataclasses.dataclass(frozen=True)
class _RulesKernel(PuzzleItems):
    lanes: int = exact.CPU_LANES

    def resolve(self, board: Board, platform: str) -> _RulesKernel:
        return _RulesKernel(node_lanes(board, platform))

    def __call__(self, board: Board, puzzles: Array, key: Array, number: Array, /) -> Array:
        weakest = jnp.full(puzzles.shape[0], len(RULES), jnp.int8)
        for level in reversed(range(len(RULES))):
            solved = solved_by(puzzles, board, RULES[level], lanes=self.lanes)
            weakest = jnp.where(solved, jnp.int8(level), weakest)
        return weakest
