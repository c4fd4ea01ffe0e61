"""Hill climbing: a complete grid moves to its best neighbour until no neighbour is better.

The textbook's steepest ascent (Russell and Norvig, Artificial Intelligence, section 4.1), with sideways moves and
random restarts. A step evaluates all neighbours of a grid at once; see ``neighbours``.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.random import APART, mix
from jaxsudoku.solvers.queue import Answer, Method, Start, gather_last, run, saturating_add, select_last

from .boxes import ERRORS, errors, full_grids
from .neighbours import TRIPLE, best_swap, best_triple, better
from .population_config import HillClimbingConfig
from .random_keys import random_grids

#: Random streams: triple swaps, and initial grids.
_TRIPLES, _GRIDS = np.uint32(0x14057B7E), np.uint32(0x2545F491)


class Climbs(NamedTuple):
    """State of the climbs of K puzzles.

    Attributes:
      grids: uint8[cells, K].
      free: bool[cells, K], cells without a given.
      seeds: uint32[K].
      steps: int32[K], steps in all climbs.
      level: int32[K], consecutive sideways steps.
      restarts: int32[K], climbs after the first.
      error: int32[K], of ``grids``.
      best: int32[K], the lowest error so far.
      record: uint8[cells, K], the grid with this error.
      iterations: int32[K], grids evaluated.
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
    """Steepest-ascent hill climbing with sideways moves and random restarts; arguments as in ``annealing``.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids evaluated: initial grids, and the neighbours of every grid
      on the way; ``errors`` int32[N] the errors of the best grid, see ``boxes``.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: HillClimbingConfig) -> Method[Climbs]:
    """Hill climbing as a ``queue.Method``: a step moves to the best neighbour, or restarts at a local optimum."""
    threefold = config.neighbourhood == "super" and board.side >= TRIPLE

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
        wrong = climbs.error > 0  # an initial grid may be solved
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
            iterations=saturating_add(climbs.iterations, jnp.where(wrong, best.tried + again.astype(jnp.int32), 0)),
        )
        if config.restarts:
            now = lax.cond(again.any(), functools.partial(_restart, board, again), lambda now: now, now)
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
    """Random grids uint8[cells, K] that keep givens of the same shape; ``number`` int32[K] counts the climbs."""
    of_climb = mix(mix(seeds ^ _GRIDS) + number.astype(jnp.uint32) * APART)
    return random_grids(board, givens, of_climb)


def _restart(board: Board, chosen: Array, climbs: Climbs) -> Climbs:
    """Restarts the chosen climbs bool[K] from another random grid."""
    givens = jnp.where(climbs.free, 0, climbs.grids)
    grids = _random_grids(board, givens, climbs.seeds, climbs.restarts)
    error = jnp.where(chosen, errors(board, grids), climbs.error)
    return climbs._replace(grids=jnp.where(chosen, grids, climbs.grids), error=error)
