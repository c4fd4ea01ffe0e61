"""Attempts at puzzles, compiled: random solved grids, and clues taken away until no other can go.

An attempt makes a random solved grid under a random symmetry of its board, blanks its cells in random order, each for
good if no other solution comes up, rates what is left, and may search its neighbourhood: put back a few clues, blank
again, keep what is better.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import exact, rating, symmetry
from jaxsudoku.board import Board
from jaxsudoku.config import node_lanes
from jaxsudoku.generation.grids import random_grids
from jaxsudoku.solution import Status

#: The number of an item that fills up a batch.
PADDING = 0xFFFFFFFF
#: Clues that a step in the neighbourhood puts back.
_PUT_BACK = 3
#: Nodes in a step of the searches of few puzzles.
_QUICK_LANES = 64
#: Nodes after which a proof of uniqueness is given up, and the clue kept; boards below 12x12 never need as many.
_PROOF_BUDGET = 20_000


class Row(NamedTuple):
    """What is wished of an attempt, as uint32 each.

    Attributes:
      number, attempt: which puzzle, and the number of the attempt at it.
      fewest, most: the range from which the number of clues at which blanking ends is drawn.
      enough: number of clues from which on fewer are not sought.
      goal: the bits of the float32 rating from which on a higher one is not sought.
    """

    number: Any
    attempt: Any
    fewest: Any
    most: Any
    enough: Any
    goal: Any


class Puzzles(NamedTuple):
    """Generated puzzles.

    Attributes:
      puzzles: uint8[N, cells], 0 = empty; each has exactly one solution.
      solutions: uint8[N, cells].
      clues: int32[N], cells that are given.
      rating: float32[N], as ``rate`` gives it; of a kernel, as ``rating.branch_nodes`` gives it.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    clues: np.ndarray
    rating: np.ndarray


# ---------------------------------------------------------------------- kernels


@dataclasses.dataclass(frozen=True)
class Attempt:
    """The kernel: an attempt at each puzzle of a batch of ``Row``s, to ``Puzzles``.

    Attributes:
      pattern: one of ``PATTERNS``; places that it maps to one another are blanked together.
      steps: steps of the search in the neighbourhood.
      quick: whether to compile in half the time, for few puzzles; each then takes several times as long.
      lanes: nodes in a step of the exact search, a multiple of 32.
    """

    pattern: str
    steps: int
    quick: bool = False
    lanes: int = exact.CPU_LANES

    def resolve(self, board: Board, platform: str) -> Attempt:
        lanes = node_lanes(board, platform)
        return dataclasses.replace(self, lanes=min(lanes, _QUICK_LANES) if self.quick else lanes)

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((len(Row._fields),), np.uint32)

    def extra_bytes(self, board: Board) -> int:
        return 0

    @property
    def compiler_options(self) -> dict[str, str]:
        """Further options of the compiler; it is only on a CPU that few puzzles compile quickly."""
        if not self.quick:
            return {}
        options = {"xla_backend_optimization_level": "0"}
        if jax.__version_info__ < (0, 11):  # newer versions have no other emitters
            options["xla_cpu_use_fusion_emitters"] = "False"
        return options

    def __call__(self, board: Board, rows: Array, key: Array, number: Array, /) -> Puzzles:
        row = Row(*rows.T)
        keys = jax.vmap(functools.partial(_keys, key))(row.number, row.attempt)
        solutions = random_grids(board, _bits(keys.grid, 2), self.lanes)
        chosen = jax.vmap(lambda one: symmetry.sample(one, board))(keys.symmetry)
        solutions = symmetry.apply(chosen, solutions)
        # batches are padded with rows of the largest numbers, and a board may have no solved grid
        wanted = (row.number != np.uint32(PADDING)) & solutions.any(axis=1)
        solutions = jnp.where(wanted[:, None], solutions, 0)
        floor = (row.fewest + _bits(keys.clues) % (row.most - row.fewest + 1)).astype(jnp.int32)
        ranks = _bits(keys.order, len(orbits_of(board, self.pattern)))
        puzzles = reduce_clues(board, solutions, solutions, ranks, floor, pattern=self.pattern, lanes=self.lanes)
        seed = jax.random.bits(key, (2,), jnp.uint32)
        ratings = rating.branch_nodes(_or_invalid(puzzles, wanted), seed, board, lanes=self.lanes)
        if self.steps:
            puzzles, ratings = self._climb(board, row, solutions, puzzles, ratings, keys.steps, floor, seed)
        return Puzzles(puzzles, solutions, _clues(puzzles), ratings)  # type: ignore[arg-type]

    def _climb(
        self,
        board: Board,
        row: Row,
        solutions: Array,
        puzzles: Array,
        ratings: Array,
        keys: Array,
        floor: Array,
        seed: Array,
    ) -> tuple[Array, Array]:
        """Searches the neighbourhood, first for few enough clues, then for the rating; never goes back."""
        enough = row.enough.astype(jnp.int32)
        goal = lax.bitcast_convert_type(row.goal, jnp.float32)
        orbits = len(orbits_of(board, self.pattern))

        def is_seeking(puzzles: Array, ratings: Array) -> Array:
            return solutions.any(axis=1) & ((_clues(puzzles) > enough) | ~(ratings >= goal))

        def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            number, before, ratings = state
            excess = jnp.maximum(_clues(before) - enough, 0)
            seeking = is_seeking(before, ratings)
            order, back = jnp.moveaxis(
                jax.vmap(lambda one: jax.random.bits(jax.random.fold_in(one, number), (2, orbits), jnp.uint32))(keys),
                1, 0,
            )  # fmt: skip
            more = _put_back(board, solutions, before, back, self.pattern)
            # what was put back has its turn last, or it would only go again
            late = _in_turn(order, _given(board, before, self.pattern))
            after = reduce_clues(
                board, solutions, jnp.where(seeking[:, None], more, 0), late, floor, pattern=self.pattern,
                lanes=self.lanes,
            )  # fmt: skip
            new_excess = jnp.maximum(_clues(after) - enough, 0)
            new_ratings = rating.branch_nodes(_or_invalid(after, seeking), seed, board, lanes=self.lanes)
            as_good = (new_excess == excess) & jnp.where(excess > 0, True, new_ratings >= ratings)
            better = seeking & ((new_excess < excess) | as_good)
            kept = jnp.where(better[:, None], after, before)
            return number + 1, kept, jnp.where(better, new_ratings, ratings)

        return lax.while_loop(
            lambda state: (state[0] < self.steps) & is_seeking(*state[1:]).any(),
            step,
            (jnp.int32(0), puzzles, ratings),
        )[1:]


class _Keys(NamedTuple):
    """A puzzle's randomness, a key each."""

    grid: Array
    symmetry: Array
    clues: Array
    order: Array
    steps: Array


def _keys(key: Array, number: Array, attempt: Array) -> _Keys:
    return _Keys(*jax.random.split(jax.random.fold_in(jax.random.fold_in(key, number), attempt), len(_Keys._fields)))


def _bits(keys: Array, *shape: int) -> Array:
    """Random bits uint32[N, *shape] of keys [N]."""
    return jax.vmap(lambda key: jax.random.bits(key, shape, jnp.uint32))(keys)


def _clues(puzzles: Array) -> Array:
    return (puzzles > 0).sum(axis=1, dtype=jnp.int32)


def _or_invalid(puzzles: Array, wanted: Array) -> Array:
    """The puzzles, those not wanted replaced by some that are INVALID and cost no search."""
    return jnp.where(wanted[:, None], puzzles, 255)


def _in_turn(ranks: Array, first: Array) -> Array:
    """Random ranks uint32[N, m], lower where ``first``, bool[N, m], than elsewhere."""
    return jnp.where(first, ranks >> 1, ~(ranks >> 1))


def reduce_clues(
    board: Board,
    solutions: Array,
    puzzles: Array,
    ranks: Array,
    floor: Array,
    *,
    pattern: str = "none",
    lanes: int = exact.CPU_LANES,
) -> Array:
    """Blanks clues one after the other, each for good if the puzzle stays proper; pure.

    With a floor of 0 the result is minimal: a clue that could not go when its turn came can't go later, with fewer
    others beside it. (Under a pattern: no set of clues that go together can.)

    Args:
      board: the board.
      solutions: uint8[N, cells], the solved grids.
      puzzles: uint8[N, cells], proper puzzles that they solve; a puzzle without clues is left alone.
      ranks: uint32[N, m], the order in which the m sets of places of the pattern (for "none": the cells) have their
        turn, the lowest first.
      floor: int32[N], clues below which a puzzle does not go.
      pattern: one of ``PATTERNS``; places that it maps to one another are blanked together.
      lanes: nodes in a step of the search, a multiple of 32.

    Returns:
      uint8[N, cells].
    """
    orbits = jnp.asarray(orbits_of(board, pattern))
    size, together = puzzles.shape[0], orbits.shape[1]
    given = _given(board, puzzles, pattern)
    # the sets that hold clues come first
    turns = jnp.argsort(_in_turn(ranks, given), axis=1)
    last = given.sum(axis=1, dtype=jnp.int32)
    most = jnp.max(last, initial=0)
    everyone = jnp.arange(size)[:, None]
    budget = None if board.side < 12 else _PROOF_BUDGET

    def turn(state: tuple[Array, Array]) -> tuple[Array, Array]:
        number, puzzles = state
        places = orbits[lax.dynamic_index_in_dim(turns, number, axis=1, keepdims=False)]
        trial = puzzles.at[everyone, places].set(0, mode="drop")
        active = (number < last) & (_clues(trial) >= floor)
        asked = _or_invalid(trial, active)
        if together == 1:
            # is there another solution, with another digit in this place?
            barred = (
                jnp.zeros_like(puzzles)
                .at[everyone, places]
                .set(jnp.take_along_axis(solutions, places, axis=1), mode="drop")
            )
            found = exact.search(asked, board, None, barred, budget=budget, lanes=lanes)
            proper = found.status == Status.UNSATISFIABLE
        else:
            found = exact.search(asked, board, limit=2, budget=budget, lanes=lanes)
            proper = (found.counts == 1) & (found.status == Status.SOLVED)
        if budget is not None:  # a proof that took longer may have been cut off in another batch
            proper &= found.iterations < budget
        return number + 1, jnp.where((active & proper)[:, None], trial, puzzles)

    return lax.while_loop(lambda state: state[0] < most, turn, (jnp.int32(0), puzzles))[1]


def _put_back(board: Board, solutions: Array, puzzles: Array, ranks: Array, pattern: str) -> Array:
    """The puzzles with a few more clues, those of the free places of lowest rank."""
    orbits = jnp.asarray(orbits_of(board, pattern))
    free = ~_given(board, puzzles, pattern)
    chosen = jnp.argsort(_in_turn(ranks, free), axis=1)[:, :_PUT_BACK]
    places = orbits[chosen].reshape(puzzles.shape[0], -1)
    digits = jnp.take_along_axis(solutions, jnp.minimum(places, board.cells - 1), axis=1)
    return puzzles.at[jnp.arange(puzzles.shape[0])[:, None], places].set(digits, mode="drop")


def _given(board: Board, puzzles: Array, pattern: str) -> Array:
    """Which sets of places of the pattern hold clues, bool[N, m]."""
    return puzzles[:, orbits_of(board, pattern)[:, 0]] > 0


# ---------------------------------------------------------------------- patterns

#: Symmetries of the places of clues.
Pattern = Literal["none", "half-turn", "quarter-turn", "left-right", "top-bottom", "diagonal", "antidiagonal", "full"]

#: Each by the maps of (row, column) of a board of side n that generate it.
PATTERNS: dict[str, tuple[Callable[[int, int, int], tuple[int, int]], ...]] = {
    "none": (),
    "half-turn": (lambda n, r, c: (n - 1 - r, n - 1 - c),),
    "quarter-turn": (lambda n, r, c: (c, n - 1 - r),),
    "left-right": (lambda n, r, c: (r, n - 1 - c),),
    "top-bottom": (lambda n, r, c: (n - 1 - r, c),),
    "diagonal": (lambda n, r, c: (c, r),),
    "antidiagonal": (lambda n, r, c: (n - 1 - c, n - 1 - r),),
    "full": (lambda n, r, c: (c, n - 1 - r), lambda n, r, c: (r, n - 1 - c)),
}


@functools.lru_cache(maxsize=64)
def orbits_of(board: Board, pattern: str) -> np.ndarray:
    """The sets of places that a pattern maps to one another, int32[m, width]; filled up with ``cells``, no place."""
    side = board.side
    orbits: list[list[int]] = []
    seen: set[int] = set()
    for cell in range(board.cells):
        if cell in seen:
            continue
        orbit = [cell]
        for place in orbit:
            images = [move(side, *divmod(place, side)) for move in PATTERNS[pattern]]
            orbit += dict.fromkeys(r * side + c for r, c in images if r * side + c not in orbit)
        seen.update(orbit)
        orbits.append(orbit)
    width = max(map(len, orbits))
    return np.array([orbit + [board.cells] * (width - len(orbit)) for orbit in orbits], np.int32)


def reachable(board: Board, pattern: str) -> list[int]:
    """The numbers of clues that a pattern allows, ascending."""
    sums = 1  # bit n: whether some sets of places have n in all
    for places in (orbits_of(board, pattern) < board.cells).sum(axis=1).tolist():
        sums |= sums << places
    return [number for number in range(board.cells + 1) if sums >> number & 1]
