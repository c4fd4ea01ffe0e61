"""The difficulty of puzzles: branch nodes of complete searches, or the hardest technique.

The rating of a puzzle is the mean number of branch nodes of several complete searches with naked and hidden singles,
each in its own random order. A complete search visits its whole tree: it finds the solution and proves that there is no
other. A puzzle that singles solve has a rating of 0. From 12x12 on the searches choose cells by conflict weights.

The random seeds of the searches come from the key and from the puzzle itself, with its constraints, so equal puzzles
have equal ratings.

``techniques.ratings`` computes the ratings by technique, ``techniques.weakest_rules`` the weakest rules.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence
from typing import Any, Literal, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import exact
from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.core.planes import grids_to_words
from jaxsudoku.core.tuning import RATED_BY, SEARCHES, exact_lanes, search_restart
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.inputs import as_marked
from jaxsudoku.engine.kernels import PuzzleItems, as_clues, as_items
from jaxsudoku.engine.placed import PlacedPuzzles, Results, stay_on_devices
from jaxsudoku.io import Errors
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.devices import quick_options
from jaxsudoku.runtime.random import APART, mix
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.suggestions import known_name
from jaxsudoku.runtime.terminal.progress import Report, reports
from jaxsudoku.techniques.ratings import TechniqueRatings, rate_by_technique, rate_placed
from jaxsudoku.techniques.registry import program_for

#: Names for ranges of ratings, easiest first: 0 (singles solve the puzzle), below 2, below 10, below 50, and from 50.
GRADES = ("easy", "medium", "hard", "very hard", "extreme")
_BOUNDS = (2.0, 10.0, 50.0)
#: The most nodes of a search; it is cut off then.
BUDGET = 1 << 16
#: Values that stand for NaN (a puzzle without exactly one solution) and for infinity (a search was cut off) in ratings
#: of a kernel. Both compare with bounds as NaN and infinity do.
IMPROPER, CUT_OFF = -1.0, float(np.finfo(np.float32).max)
#: The rules of the searches. With singles, ratings agree best with the difficulties of the rated Kaggle puzzles.
_RULES = "singles"
#: Rounds of the rules in a step. When a contradiction shows depends on them, and so do ratings, a little.
_ROUNDS = 5


@overload
def rate(
    puzzles: Any,
    board: Board | None = None,
    *,
    by: Literal["nodes"] = "nodes",
    key: Array | int | None = None,
    searches: int | None = None,
    up_to: str | None = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    errors: Errors = "raise",
    results: Literal["host"] = "host",
) -> np.ndarray: ...


@overload
def rate(
    puzzles: Any,
    board: Board | None = None,
    *,
    by: Literal["technique"],
    key: Array | int | None = None,
    searches: int | None = None,
    up_to: str | None = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    errors: Errors = "raise",
    results: Results = "host",
) -> TechniqueRatings: ...


@overload
def rate(
    puzzles: Any,
    board: Board | None = None,
    *,
    by: Literal["nodes"] = "nodes",
    key: Array | int | None = None,
    searches: int | None = None,
    up_to: str | None = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    errors: Errors = "raise",
    results: Literal["device"],
) -> Array: ...


def rate(
    puzzles: Any,
    board: Board | None = None,
    *,
    by: Literal["nodes", "technique"] = "nodes",
    key: Array | int | None = None,
    searches: int | None = None,
    up_to: str | None = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    errors: Errors = "raise",
    results: Results = "host",
) -> np.ndarray | Array | TechniqueRatings:
    """Rates puzzles: by branch nodes of complete searches, or by the hardest technique that a person needs.

    Args:
      puzzles: one or several, in any form that ``solve`` takes.
      board: the board; None for the classic one of the puzzles' size.
      by: "nodes", the mean number of branch nodes of complete searches in random orders, after singles; or "technique",
        the hardest of ``techniques.TECHNIQUES`` where the simplest that helps is always used.
      key: of ratings by nodes, a JAX key or a seed; None for 0.
      searches: of ratings by nodes, searches of each puzzle, whose mean the rating is; None for ``SEARCHES``.
      up_to: of ratings by technique, the name of the hardest technique to try; None for all.
      clues, batch_size, devices: as in ``solve``.
      progress: as in ``solve``; by technique no puzzle is done until it is proved of all that there is one solution.
      errors: as in ``solve``; a malformed puzzle is rated as one without exactly one solution.
      results: as in ``solve``.

    Returns:
      by nodes float32[*b], of numpy or JAX: NaN for a puzzle without exactly one solution, infinity if a search was cut
      off after ``BUDGET`` nodes; by technique ``TechniqueRatings``.

    Raises:
      ValueError: puzzles that do not fit the board, fewer than one search, an unknown technique, or an argument that is
        of the other kind of ratings.
    """
    by_technique = known_name("rating", by, RATED_BY) == "technique"
    if by_technique and (key is not None or searches is not None):
        raise ValueError(f"{'key' if searches is None else 'searches'} is of ratings by nodes")
    if not by_technique and up_to is not None:
        raise ValueError("up_to is of ratings by technique")
    program_for(up_to)  # before anything runs
    searches = SEARCHES if searches is None else whole_number("searches", searches, 1)
    key = 0 if key is None else key
    if stay_on_devices(puzzles, results):
        placed = PlacedPuzzles(puzzles, board, batch_size, devices, errors, clues=clues)
        if by_technique:
            return rate_placed(placed, up_to, progress)
        shared = (np.uint32(searches),)
        return placed.assemble([reported(part) for part in placed.run(RatingKernel(), key, shared, progress)])
    marked = as_marked(puzzles, board, errors, constrained=True)
    board, batch = marked.board, marked.good.shape
    flat, own = marked.searchable.reshape(-1, board.cells), as_clues(clues, marked)
    run: dict[str, Any] = {"batch_size": batch_size, "devices": devices, "progress": progress}
    if by_technique:
        found = rate_by_technique(flat, board, up_to, own, **run)
        return TechniqueRatings(*(values.reshape(batch) for values in found))
    return rate_by_nodes(flat, board, own, key=key, searches=searches, **run).reshape(batch)


def rate_by_nodes(
    puzzles: np.ndarray,
    board: Board,
    clues: Clues | None = None,
    *,
    key: Array | int = 0,
    searches: int = SEARCHES,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
) -> np.ndarray:
    """``rate`` by nodes of puzzles uint8[N, cells], with clues as ``kernels.as_clues`` returns them: float32[N]."""
    kernel = RatingKernel(form=None if clues is None else clues.form)
    engine = Engine(kernel, board, key, batch_size, devices, (np.uint32(searches),))
    with reports(progress) as report:
        return reported(engine.run(as_items(puzzles, clues=clues), report))


def grade(ratings: Any) -> np.ndarray:
    """The grades of puzzles, int8[*b], indices into ``GRADES``, by their ratings, float32[*b]; -1 for NaN."""
    ratings = np.asarray(ratings)
    grades = np.where(ratings > 0, 1 + np.searchsorted(_BOUNDS, ratings, side="right"), 0)
    return np.where(np.isnan(ratings), -1, grades).astype(np.int8)


def grade_range(name: str) -> tuple[float, float | None]:
    """The lowest and the highest rating of a grade, inclusive; the last grade has no highest rating.

    Ratings are taken as means of ``SEARCHES`` whole numbers, the default of ``rate`` and ``generate``.

    Args:
      name: one of ``GRADES``, with spaces or dashes.

    Raises:
      ValueError: an unknown grade.
    """
    grades = [word.replace(" ", "-") for word in GRADES]
    wanted = known_name("grade", name, grades)
    edges = (0.0, 1 / SEARCHES, *_BOUNDS, None)
    low, after = edges[grades.index(wanted) : grades.index(wanted) + 2]
    assert low is not None
    return low, None if after is None else after - 1 / SEARCHES


def branch_nodes(
    puzzles: AnyArray,
    seed: Array,
    board: Board | None = None,
    *,
    clues: Clues | None = None,
    searches: Array | None = None,
    lanes: int | None = None,
) -> Array:
    """The ratings of puzzles uint8[N, cells] as finite numbers; pure, all but the arrays static.

    ``SEARCHES`` searches of each puzzle are made at a time.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      seed: uint32[2], random bits of the key.
      board: the board; None for the classic one of the puzzles' size.
      clues: the constraints of each puzzle; None for those of the board alone.
      searches: uint32, the searches of each puzzle; None for ``SEARCHES``.
      lanes: as for ``exact.search``.

    Returns:
      float32[N]; ``IMPROPER`` for a puzzle without exactly one solution, ``CUT_OFF`` if a search was cut off. Kernels
      must not return NaN under ``jax_debug_nans``; ``reported`` converts the two values afterwards.
    """
    board, _ = board_of_grids(np.shape(puzzles), board)
    puzzles = jnp.asarray(puzzles)
    hashes, first = _hash(board, puzzles, seed, clues)[:, None], np.arange(1, SEARCHES + 1, dtype=np.uint32)
    count = jnp.uint32(SEARCHES) if searches is None else searches

    def more(turn: Array, total: Array) -> Array:
        numbers = turn.astype(jnp.uint32) * np.uint32(SEARCHES) + first
        return total + _branches(board, puzzles, clues, hashes, numbers, numbers <= count, lanes)

    if searches is None:
        total = _branches(board, puzzles, clues, hashes, first, None, lanes)
    else:
        turns = -(-count.astype(jnp.int32) // SEARCHES)
        total = lax.fori_loop(0, turns, more, jnp.zeros(len(puzzles), jnp.float32))
    ratings = total / count.astype(jnp.float32)
    ratings = jnp.where(jnp.isnan(ratings), jnp.float32(IMPROPER), ratings)
    return jnp.where(jnp.isinf(ratings), jnp.float32(CUT_OFF), ratings)


def _branches(
    board: Board,
    puzzles: Array,
    clues: Clues | None,
    hashes: Array,
    numbers: Any,
    wanted: Array | None,
    lanes: int | None,
) -> Array:
    """The sum of the branch nodes of some searches of puzzles uint8[N, cells], float32[N].

    Args:
      board, puzzles, clues: as for ``branch_nodes``.
      hashes: uint32[N, 1], from which their seeds are drawn.
      numbers: uint32[m], the numbers of the searches.
      wanted: bool[m], which of them are made; None for all.
      lanes: as for ``exact.search``.

    Returns:
      NaN for a puzzle without exactly one solution, else infinity if a search was cut off.
    """
    searches = len(numbers)
    seeds = mix(hashes + numbers * APART) | np.uint32(1)
    searched = jnp.repeat(puzzles, searches, axis=0)
    if wanted is not None:
        searched = jnp.where(jnp.tile(wanted, len(puzzles))[:, None], searched, jnp.uint8(255))
    # on large boards the trees are small only if conflict weights choose the cells; a search that restarts has no tree
    large = search_restart(board) is not None
    found = exact.search(
        searched,
        board,
        seeds.reshape(-1),
        clues=None if clues is None else dataclasses.replace(clues, rows=jnp.repeat(clues.rows, searches, axis=0)),
        limit=2,
        budget=BUDGET,
        restart=BUDGET if large else "never",
        split=False,
        rules=_RULES,
        rounds=None if large else _ROUNDS,
        lanes=lanes,
    )
    # every branch node has two children, so a tree of n nodes has (n - 1) / 2
    branches = ((found.iterations - 1) // 2).astype(jnp.float32)
    known = jnp.where(found.counts == 1, branches, jnp.nan)
    nodes = jnp.where(found.iterations < BUDGET, known, jnp.inf).reshape(-1, searches)
    return (nodes if wanted is None else jnp.where(wanted, nodes, 0)).sum(axis=1)


def reported(ratings: Any) -> Any:
    """Ratings float32[*b] for users, of numpy or JAX: NaN for ``IMPROPER``, infinity for ``CUT_OFF``."""
    where = jnp.where if isinstance(ratings, jax.Array) else np.where
    missing = where(ratings == np.float32(IMPROPER), np.float32(np.nan), ratings)
    return where(ratings == np.float32(CUT_OFF), np.float32(np.inf), missing)


def _hash(board: Board, puzzles: Array, seed: Array, clues: Clues | None) -> Array:
    """A hash uint32[N] of each puzzle, its clues and the seed uint32[2]."""
    words = grids_to_words(puzzles, board)
    start = jnp.full(puzzles.shape[0], mix(seed[0]) ^ seed[1], jnp.uint32)
    if clues is not None:
        start ^= _hash_of_clues(clues)
    return lax.fori_loop(0, words.shape[0], lambda row, value: mix(value ^ words[row]) + np.uint32(0x85EBCA6B), start)


def _hash_of_clues(clues: Clues) -> Array:
    """A hash uint32[N] of the constraints of each puzzle; the order and the form of clues do not change it."""
    form, rows = clues.form, jnp.asarray(clues.rows).T.astype(jnp.uint32)
    slots, numbers, _ = form.split(rows)
    total = jnp.zeros(rows.shape[1], jnp.uint32)
    for group, cells, values in zip(form.groups, form.parts(slots), numbers, strict=True):
        roles = dataclasses.replace(group.kind, cells=tuple(range(group.size))).roles
        hashed = jnp.full_like(cells[0], np.uint32(zlib.crc32(repr(group.kind).encode())))
        for role, cell in zip(roles, cells, strict=True):  # cells of one role in any order
            hashed += mix(cell | np.uint32(role << 16))
        for value in values:
            hashed = mix(hashed ^ value) + APART
        total += jnp.where(cells[0] < form.board_cells, hashed, np.uint32(0)).sum(axis=0, dtype=jnp.uint32)
    return total


@dataclasses.dataclass(frozen=True)
class RatingKernel(PuzzleItems):
    """A ``kernels.Kernel`` from puzzles to their ratings, as ``branch_nodes``, whose ``searches`` its engines share.

    Attributes:
      lanes: as for ``exact.search``; None for automatic.
      quick: whether to compile sooner, for few puzzles, without optimization.
    """

    lanes: int | None = None
    quick: bool = False
    form: ClueForm | None = None

    def resolve(self, board: Board, platform: str) -> RatingKernel:
        return dataclasses.replace(self, lanes=self.lanes or exact_lanes(board, platform))

    @property
    def compiler_options(self) -> dict[str, str]:
        """Further compiler options; quick kernels run on CPUs only."""
        return quick_options() if self.quick else {}

    def __call__(self, board: Board, items: Array, key: Array, number: Array, /, *searches: Array) -> Array:
        puzzles, _, clues = self.split(board, items)
        seed = jax.random.bits(key, (2,), jnp.uint32)
        return branch_nodes(puzzles, seed, board, clues=clues, searches=searches[0], lanes=self.lanes)
