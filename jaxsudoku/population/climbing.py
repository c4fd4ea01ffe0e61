"""Hill climbing: a full grid goes to its best neighbour, step by step, until none is better.

The textbook's steepest ascent (Russell and Norvig, Artificial Intelligence, section 4.1), with steps sideways and
random restarts. A step judges all neighbours of a grid at once; ``neighbours`` tells how.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.mixing import APART, mix
from jaxsudoku.queue import Answer, Method, Start, gather_last, saturating_add, select_last
from jaxsudoku.settings import Config, Natural, Positive, Rules

from .boxes import ERRORS, errors, full_grids
from .neighbours import TOGETHER, best_swap, best_triple, better
from .random_keys import decoded

#: Puzzles of a 9x9 board that climb together, on a CPU and elsewhere.
_LANES = {"cpu": 512, "accelerator": 32768}

#: Tells the random numbers of a step's threefold swaps from those of its ties, and those of first grids from steps'.
_TRIPLES, _GRIDS = np.uint32(0x14057B7E), np.uint32(0x2545F491)


@dataclasses.dataclass(frozen=True)
class HillClimbingConfig(Config):
    """Settings of ``hill-climbing``. As they are by default, it is the textbook's climb.

    Attributes:
      rules: what is deduced first, to the end: none, naked, singles or locked; what it places stays as it is.
      neighbourhood: a grid's neighbours: those with two free cells of a box swapped (swaps), or besides some with three
        swaps in three boxes (super).
      triples: how many of these are tried at each step, with swaps drawn at random; three boxes at a time, in a fixed,
        mixed order that begins anew when every three were tried.
      sideways: steps in a row that may leave the error as it is.
      restarts: how often a puzzle that has come to a local optimum begins anew, from another random grid.
      record: steps after which the least error is kept in ``stats["history"]``, the first so many.
      lanes: puzzles that climb together; None suits the machine.
    """

    rules: Rules = "none"
    neighbourhood: Literal["swaps", "super"] = "swaps"
    triples: Positive = 84
    sideways: Natural = 0
    restarts: Natural = 0
    record: Natural = 0
    lanes: Positive | None = None

    def resolve(self, board: Board, platform: str) -> HillClimbingConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        candidates = _LANES["cpu" if platform == "cpu" else "accelerator"] * 9**3
        return dataclasses.replace(self, lanes=self.lanes or max(candidates // board.candidates, 1))


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
