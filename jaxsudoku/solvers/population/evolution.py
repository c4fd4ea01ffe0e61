"""Combinatorial evolution: a hive of workers and explorers per puzzle (McCaffrey, MSDN Magazine, November 2016).

In an epoch every worker tries one neighbour, its grid with two free cells of a box swapped, and moves there if the
error falls, or rarely if it does not. A worker that does not improve ages, and is replaced by a random grid at the end
of its lifetime. Every explorer evaluates a random grid. Then the best worker and the best explorer are crossed, each
box from either parent, and the child replaces the worst worker. When the epochs are spent a new hive begins.

Variant "printed" follows the listing printed in a report on the method. The listing ends before the crossover; it never
resets an age, as it stores a neighbour's error before comparing the two; and it does not count epochs, which limit both
variants here.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.pruning import broken
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import APART, mix
from jaxsudoku.solvers.queue import Answer, Method, Start, run, saturating_add

from .boxes import ERRORS, box_of, errors, full_grids, lines, most_errors, pairs
from .population_config import EvolutionConfig
from .random_keys import decoded

#: Epochs between replacements of workers past their lifetime, as random grids for all workers are expensive.
_ROUND = 16

#: Random streams, one for each purpose.
_SWAP, _TAKE, _EXPLORE, _MERGE, _RENEW = range(1, 6)


class Hives(NamedTuple):
    """State of K hives. Explorers are not stored, as they evaluate a new random grid every epoch.

    Attributes:
      given: uint8[K, cells], fixed digits, 0 = free.
      swaps: int32[K, pairs], the indices of pairs of free cells, then of the others.
      choices: int32[K], the number of pairs of free cells.
      seeds: uint32[K].
      grids: uint8[K, workers, cells].
      error: int32[K, workers].
      age: int32[K, workers], epochs since each worker improved; in variant "printed", epochs in which it did not move.
      best: uint8[K, cells], the best grid so far.
      least: int32[K], the error of ``best``.
      epoch: int32[K], epochs of this hive.
      restart: int32[K], hives before this one.
      iterations: int32[K], grids evaluated.
    """

    given: Array
    swaps: Array
    choices: Array
    seeds: Array
    grids: Array
    error: Array
    age: Array
    best: Array
    least: Array
    epoch: Array
    restart: Array
    iterations: Array


def evolution(board: Board, puzzles: Array, key: Array, config: EvolutionConfig, /) -> Solution:
    """Combinatorial evolution by a hive of workers and explorers; arguments and results as in ``annealing``.

    ``iterations`` int32[N] count one grid per organism and, with crossover, one child in every epoch.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: EvolutionConfig) -> Method[Hives]:
    """Evolution as a ``queue.Method``: a step is an epoch."""
    workers = config.workers
    explorers = config.organisms - workers
    printed = config.variant == "printed"

    def init(start: Start) -> Hives:
        size = len(start.seeds)
        first, second = pairs(board).cells.T
        free = start.grids == 0
        open_pairs = free[:, first] & free[:, second]
        # pairs of free cells first, in their order
        swaps = jnp.argsort(~open_pairs, axis=1, stable=True).astype(jnp.int32)
        none, many = jnp.zeros(size, jnp.int32), jnp.zeros((size, workers), jnp.int32)
        return Hives(
            given=start.grids,
            swaps=swaps,
            choices=open_pairs.sum(axis=1, dtype=jnp.int32),
            seeds=start.seeds,
            grids=jnp.zeros((size, workers, board.cells), jnp.uint8),
            error=many,
            age=many + config.lifetime,
            best=start.grids,
            least=none + most_errors(board),
            epoch=none,
            restart=none,
            iterations=none + 1,
        )

    def step(hives: Hives) -> Hives:
        seeds = mix(hives.seeds + (hives.epoch + hives.restart * config.epochs).astype(jnp.uint32) * APART)
        due = (hives.epoch % _ROUND == 0)[:, None] & (hives.age >= config.lifetime)
        hives = lax.cond(due.any(), lambda: _renew(board, hives, seeds, due), lambda: hives)
        hives = _work(board, hives, seeds, config.mistakes, printed)
        tried, found = _explore(board, hives, seeds, explorers)
        hives = _remember(hives, tried, found)
        parent = _at(hives.grids, _first(hives.error))
        hives = _remember(hives, parent, hives.error.min(axis=1))
        if not printed:
            hives = _cross(board, hives, parent, tried, seeds)
        epoch = hives.epoch + 1
        spent = (epoch == config.epochs) & (hives.restart < config.restarts)
        return hives._replace(
            epoch=jnp.where(spent, 0, epoch),
            restart=hives.restart + spent.astype(jnp.int32),
            age=jnp.where(spent[:, None], config.lifetime, hives.age),  # all are replaced by random grids
            iterations=saturating_add(hives.iterations, config.organisms + (not printed)),
        )

    def done(hives: Hives) -> Array:
        return (hives.least == 0) | (hives.epoch == config.epochs)

    def postprocess(hives: Hives) -> Answer:
        return full_grids(hives.best, hives.least, hives.iterations)

    return Method(init, step, done, postprocess, ERRORS, error=lambda hives: hives.least)


def _draw(seeds: Array, stream: int, *shape: int) -> Array:
    """Random numbers for one purpose in each hive's epoch: uint32[K, *shape]."""
    number = np.arange(1, np.prod(shape, dtype=int) + 1, dtype=np.uint32).reshape(shape) * APART
    return mix(mix(seeds + np.uint32(stream)).reshape(-1, *(1,) * len(shape)) ^ number)


def _renew(board: Board, hives: Hives, seeds: Array, due: Array) -> Hives:
    """Replaces the workers ``due`` bool[K, workers] by random grids."""
    grids, error = _decode(board, hives, _draw(seeds, _RENEW, board.cells, due.shape[1]))
    return hives._replace(
        grids=jnp.where(due[..., None], grids, hives.grids),
        error=jnp.where(due, error, hives.error),
        age=jnp.where(due, 0, hives.age),
    )


def _decode(board: Board, hives: Hives, keys: Array) -> tuple[Array, Array]:
    """Decodes keys [K, cells, m] to grids uint8[K, m, cells], with their errors int32[K, m]."""
    size, _, many = keys.shape
    given = jnp.repeat(hives.given.T, many, axis=1)
    grids = fence(decoded(board, given, jnp.moveaxis(keys, 0, 1).reshape(board.cells, -1)))
    return grids.T.reshape(size, many, board.cells), errors(board, grids).reshape(size, many)


def _work(board: Board, hives: Hives, seeds: Array, mistakes: float, printed: bool) -> Hives:
    """One epoch of the workers: each tries a neighbour."""
    table = pairs(board)
    workers = hives.error.shape[1]
    # a number below n: the upper 32 bits of the product of a random word and n
    drawn, choices = _draw(seeds, _SWAP, workers), hives.choices[:, None].astype(jnp.uint32)
    chosen = ((drawn >> 16) * choices + ((drawn & 0xFFFF) * choices >> 16)) >> 16
    number = jnp.take_along_axis(hives.swaps, chosen.astype(jnp.int32), axis=1)
    cells = jnp.asarray(table.cells)[number]
    digits = jnp.take_along_axis(hives.grids, cells, axis=2)
    cell = np.arange(board.cells, dtype=np.int32)
    swapped = jnp.where(cell == cells[..., :1], digits[..., 1:], hives.grids)
    swapped = jnp.where(cell == cells[..., 1:], digits[..., :1], swapped)
    rise = _rise(board, hives.grids, number, digits)
    if board.constraints:
        rise += broken(board, swapped) - broken(board, hives.grids)
    taken = (rise < 0) | ((_draw(seeds, _TAKE, workers) >> 8) < np.uint32(mistakes * 2**24))
    taken &= hives.choices[:, None] > 0
    return hives._replace(
        grids=jnp.where(taken[..., None], swapped, hives.grids),
        error=hives.error + jnp.where(taken, rise, 0),
        age=hives.age + ~taken if printed else jnp.where(taken & (rise < 0), 0, hives.age + 1),
    )


def _rise(board: Board, grids: Array, number: Array, digits: Array) -> Array:
    """The rise of the error in lines, int32[K, m], by swaps of pairs int32[K, m] with digits uint8[K, m, 2]."""
    changed = pairs(board).lines
    slots = changed.shape[1]
    used = changed < len(lines(board))
    members = lines(board)[np.where(used, changed, 0)].reshape(len(changed), -1)
    held = jnp.take_along_axis(grids, jnp.asarray(members)[number], axis=2).reshape(*number.shape, slots, board.side)
    first = np.arange(slots) < slots // 2
    lost = jnp.where(first, digits[..., :1], digits[..., 1:])[..., None]
    won = jnp.where(first, digits[..., 1:], digits[..., :1])[..., None]
    last = (held == lost).sum(axis=-1, dtype=jnp.int32) == 1
    new = ~(held == won).any(axis=-1)
    return jnp.where(jnp.asarray(used)[number], last.astype(jnp.int32) - new.astype(jnp.int32), 0).sum(
        axis=-1, dtype=jnp.int32
    )


def _explore(board: Board, hives: Hives, seeds: Array, explorers: int) -> tuple[Array, Array]:
    """The best of the explorers' random grids, uint8[K, cells], and its error, int32[K]."""
    grids, error = _decode(board, hives, _draw(seeds, _EXPLORE, board.cells, explorers))
    return _at(grids, _first(error)), error.min(axis=1)


def _first(values: Array) -> Array:
    """The first index of the minimum, int32[K, m] to int32[K]; value and index share a word, as argmin is slow."""
    size = values.shape[1]
    return (values * size + jnp.arange(size, dtype=jnp.int32)).min(axis=1) % size


def _at(grids: Array, organism: Array) -> Array:
    """The grid of one organism of each hive: uint8[K, m, cells] to uint8[K, cells]."""
    return jnp.take_along_axis(grids, organism[:, None, None], axis=1)[:, 0]


def _remember(hives: Hives, tried: Array, found: Array) -> Hives:
    """Keeps grids uint8[K, cells] with errors int32[K] where they are better than the best so far."""
    better = found < hives.least
    return hives._replace(best=jnp.where(better[:, None], tried, hives.best), least=jnp.minimum(found, hives.least))


def _cross(board: Board, hives: Hives, parent: Array, mate: Array, seeds: Array) -> Hives:
    """Crosses a parent with a mate, uint8[K, cells] each; the child replaces the worst worker."""
    from_mate = (_draw(seeds, _MERGE, board.side) >> 31).astype(bool)[:, box_of(board)]
    child = jnp.where(from_mate, mate, parent)
    error = errors(board, child.T)
    hives = _remember(hives, child, error)
    worst = jnp.arange(hives.error.shape[1], dtype=jnp.int32) == _first(-hives.error)[:, None]
    return hives._replace(
        grids=jnp.where(worst[..., None], child[:, None], hives.grids),
        error=jnp.where(worst, error[:, None], hives.error),
        age=jnp.where(worst, 0, hives.age),
    )
