"""The kernel of generation: one attempt for each puzzle of a batch.

An attempt makes a random solved grid, applies a random symmetry of its board, removes clues in random order, and rates
the puzzle. A local search may follow: it restores a few clues, removes clues again, and keeps the puzzle if it is
better.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import rating
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import CPU_LANES, exact_lanes
from jaxsudoku.generation.grids import solved_grids
from jaxsudoku.generation.patterns import orbits_of
from jaxsudoku.generation.reduction import count_clues, first_ranks, or_invalid, reduce_clues, restore_clues
from jaxsudoku.generation.requests import PADDING, Puzzles, Request, RequestItems, attempt_keys, random_bits
from jaxsudoku.runtime.devices import quick_options

#: Nodes in a step of the searches of a ``quick`` kernel.
QUICK_LANES = 64


@dataclasses.dataclass(frozen=True)
class Attempt(RequestItems):
    """A ``kernels.Kernel`` that makes ``Puzzles`` with one solution from ``Request``s.

    Attributes:
      pattern: one of ``PATTERNS``; clues in one orbit are removed together.
      climbs: whether a local search follows, of as many steps as requests say.
      quick: whether to compile sooner, for few puzzles: without optimization, and without ratings, which are 0.
      lanes: nodes in a step of the exact search, a multiple of 32.
    """

    pattern: str
    climbs: bool
    quick: bool = False
    lanes: int = CPU_LANES

    def resolve(self, board: Board, platform: str) -> Attempt:
        lanes = exact_lanes(board, platform)
        return dataclasses.replace(self, lanes=min(lanes, QUICK_LANES) if self.quick else lanes)

    @property
    def compiler_options(self) -> dict[str, str]:
        """Further compiler options; quick kernels run on CPUs only."""
        return quick_options() if self.quick else {}

    def __call__(self, board: Board, rows: Array, key: Array, number: Array, /) -> Puzzles:
        request = Request(*rows.T)
        keys = _Keys(*attempt_keys(key, request, len(_Keys._fields)))
        # batches are padded with rows of the largest number, and a board may have no solved grid
        solutions = solved_grids(board, keys.grid, keys.symmetry, request.number != np.uint32(PADDING), self.lanes)
        wanted = solutions.any(axis=1)
        floor = (request.fewest + random_bits(keys.clues) % (request.most - request.fewest + 1)).astype(jnp.int32)
        ranks = random_bits(keys.order, len(orbits_of(board, self.pattern)))
        puzzles = reduce_clues(board, solutions, solutions, ranks, floor, pattern=self.pattern, lanes=self.lanes)
        if self.quick:
            ratings = jnp.zeros(len(puzzles), jnp.float32)
            return Puzzles(puzzles, solutions, count_clues(puzzles), ratings)  # type: ignore[arg-type]
        seed = jax.random.bits(key, (2,), jnp.uint32)
        ratings = rating.branch_nodes(or_invalid(puzzles, wanted), seed, board, lanes=self.lanes)
        if self.climbs:
            puzzles, ratings = self._climb(board, request, solutions, puzzles, ratings, keys.steps, floor, seed)
        return Puzzles(puzzles, solutions, count_clues(puzzles), ratings)  # type: ignore[arg-type]

    def _climb(
        self,
        board: Board,
        request: Request,
        solutions: Array,
        puzzles: Array,
        ratings: Array,
        keys: Array,
        floor: Array,
        seed: Array,
    ) -> tuple[Array, Array]:
        """Local search: first for fewer clues, then for a higher rating; never accepts a worse puzzle."""
        enough = request.enough.astype(jnp.int32)
        goal = lax.bitcast_convert_type(request.goal, jnp.float32)
        orbits = len(orbits_of(board, self.pattern))

        def is_seeking(number: Array, puzzles: Array, ratings: Array) -> Array:
            lacking = (count_clues(puzzles) > enough) | ~(ratings >= goal)
            return solutions.any(axis=1) & lacking & (number < request.steps)

        def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            number, before, ratings = state
            excess = jnp.maximum(count_clues(before) - enough, 0)
            seeking = is_seeking(number, before, ratings)

            def draw(key: Array) -> Array:
                return jax.random.bits(jax.random.fold_in(key, number), (2, orbits), jnp.uint32)

            order, back = jnp.moveaxis(jax.vmap(draw)(keys), 1, 0)
            more, given = restore_clues(board, solutions, before, back, self.pattern)
            more = jnp.where(seeking[:, None], more, 0)
            # restored clues are tried last, or they would be the first to go again
            late = first_ranks(order, given)
            after = reduce_clues(board, solutions, more, late, floor, pattern=self.pattern, lanes=self.lanes)
            new_excess = jnp.maximum(count_clues(after) - enough, 0)
            new_ratings = rating.branch_nodes(or_invalid(after, seeking), seed, board, lanes=self.lanes)
            as_good = (new_excess == excess) & jnp.where(excess > 0, True, new_ratings >= ratings)
            better = seeking & ((new_excess < excess) | as_good)
            kept = jnp.where(better[:, None], after, before)
            return number + 1, kept, jnp.where(better, new_ratings, ratings)

        return lax.while_loop(lambda state: is_seeking(*state).any(), step, (jnp.uint32(0), puzzles, ratings))[1:]


class _Keys(NamedTuple):
    """The random keys of an attempt."""

    grid: Array
    symmetry: Array
    clues: Array
    order: Array
    steps: Array
