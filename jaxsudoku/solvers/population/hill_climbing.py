"""Hill climbing: a full grid goes to its best neighbour, step by step, until none is better.

The textbook's steepest ascent (Russell and Norvig, Artificial Intelligence, section 4.1), with steps sideways and
random restarts. A step judges all neighbours of a grid at once; ``neighbours`` tells how.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.random import APART, mix
from jaxsudoku.solution import Solution
from jaxsudoku.solvers.queue import Answer, Method, Start, gather_last, run, saturating_add, select_last

from .boxes import ERRORS, errors, full_grids
from .config import HillClimbingConfig
from .neighbours import TOGETHER, best_swap, best_triple, better
from .random_keys import decoded

#: Tells the random numbers of a step's threefold swaps from those of its ties, and those of first grids from steps'.
_TRIPLES, _GRIDS = np.uint32(0x14057B7E), np.uint32(0x2545F491)


class Climbs(NamedTuple):
    """K puzzles that climb.

    Attributes:
      grids: uint8[cells, K].
      free: bool[cells, K], where no digit is given.
      seeds: uint32[K].
      steps: int32[K], steps done, of all climbs.
      level: int32[K], steps in a row that left the error as it is.
      restarts: int32[K], climbs begun but the first.
      error: int32[K], the grids'.
      best: int32[K], the least error so far.
      record: uint8[cells, K], the grids that had it.
      iterations: int32[K], grids looked at.
      done: bool[K].
    """

    grids: Array
    free: Array
    seeds: Array
    steps: Array
    level: Array
    restarts: Array
    error: Array
    best: Array
    record: Array
    iterations: Array
    done: Array


def hill_climbing(board: Board, puzzles: Array, key: Array, config: HillClimbingConfig, /) -> Solution:
    """Steepest ascent over swaps, with steps sideways and random restarts; arguments as of ``annealing``.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids that were looked at, those that climbs begin with and the
      neighbours of all on their way; ``errors`` int32[N] the digits that the lines of the best local optimum miss.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: HillClimbingConfig) -> Method[Climbs]:
    """Hill climbing as a way to work on puzzles: a step goes to the best neighbour, or begins anew where none is."""
    threefold = config.neighbourhood == "super" and board.side >= TOGETHER

    def init(start: Start) -> Climbs:
        nothing = jnp.zeros(len(start.seeds), jnp.int32)
        grids = _random_grids(board, start.grids.T, start.seeds, nothing)
        error = errors(board, grids)
        free, done = start.grids.T == 0, nothing > 0
        return Climbs(grids, free, start.seeds, nothing, nothing, nothing, error, error, grids, nothing + 1, done)

    def step(climbs: Climbs) -> Climbs:
        seeds = mix(mix(climbs.seeds) + climbs.steps.astype(jnp.uint32) * APART)
        best = best_swap(board, climbs.grids, climbs.free, seeds)
        if threefold:
            drawn = mix(seeds ^ _TRIPLES)
            best = better(best, best_triple(board, climbs.grids, climbs.free, drawn, config.triples))
        wrong = climbs.error > 0  # a grid that is right at once stays
        level = jnp.where(best.rise == 0, climbs.level + 1, 0)
        moves = wrong & ((best.rise < 0) | ((best.rise == 0) & (level <= config.sideways)))
        ended = wrong & ~moves
        again = ended & (climbs.restarts < config.restarts)
        now = climbs._replace(
            grids=jnp.where(moves, best.grids, climbs.grids),
            steps=climbs.steps + wrong.astype(jnp.int32),
            level=jnp.where(moves, level, 0),
            restarts=climbs.restarts + again.astype(jnp.int32),
            error=climbs.error + jnp.where(moves, best.rise, 0),
            iterations=saturating_add(climbs.iterations, jnp.where(wrong, best.looked + again.astype(jnp.int32), 0)),
        )
        if config.restarts:
            now = lax.cond(again.any(), functools.partial(_begun_anew, board, again), lambda now: now, now)
        return now._replace(
            best=jnp.minimum(now.best, now.error),
            record=jnp.where(now.error < now.best, now.grids, now.record),
            done=(now.error == 0) | (ended & ~again),
        )

    def postprocess(climbs: Climbs) -> Answer:
        return full_grids(climbs.record.T, climbs.best, climbs.iterations)

    return Method(
        init,
        step,
        lambda climbs: climbs.done,
        postprocess,
        ERRORS,
        select=select_last,
        gather=gather_last,
        error=lambda climbs: climbs.best,
    )


def _random_grids(board: Board, givens: Array, seeds: Array, number: Array) -> Array:
    """Random grids uint8[cells, K] that keep givens of the same shape, other ones for every number int32[K]."""
    of_climb = mix(mix(seeds ^ _GRIDS) + number.astype(jnp.uint32) * APART)
    keys = mix(of_climb + np.arange(board.cells, dtype=np.uint32)[:, None] * APART)
    return decoded(board, givens, keys)


def _begun_anew(board: Board, chosen: Array, climbs: Climbs) -> Climbs:
    """The climbs, those of the chosen bool[K] from another random grid."""
    givens = jnp.where(climbs.free, 0, climbs.grids)
    grids = _random_grids(board, givens, climbs.seeds, climbs.restarts)
    error = jnp.where(chosen, errors(board, grids), climbs.error)
    return climbs._replace(grids=jnp.where(chosen, grids, climbs.grids), error=error)
