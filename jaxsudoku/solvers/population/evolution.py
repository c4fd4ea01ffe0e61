"""Combinatorial evolution: a hive of workers and explorers to each puzzle (McCaffrey, MSDN Magazine, November 2016).

In an epoch every worker looks at one neighbour, its grid with two free cells of a box swapped, and takes it if its
error is lower, or rarely if it is not. A worker that finds nothing better grows older; one that is too old makes way
for a random grid. Every explorer looks at a random grid. Then the best worker and the best explorer give birth to a
grid that has each box from either, and it takes the place of the worst worker. When the epochs are spent a new hive
begins.

The published listing lacks the birth, and its workers never grow young again when they improve; this follows what is
said of it.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.planes import fence
from jaxsudoku.random import APART, mix
from jaxsudoku.solution import Solution
from jaxsudoku.solvers.queue import Answer, Method, Start, run, saturating_add

from .boxes import ERRORS, box_of, errors, full_grids, lines, pairs
from .config import EvolutionConfig
from .random_keys import decoded

#: Epochs between two looks for workers that are too old: making grids for all that there may be takes its time.
_ROUND = 16

#: What random numbers are for; each has a stream of its own.
_SWAP, _TAKE, _EXPLORE, _MERGE, _RENEW = range(1, 6)


class Hives(NamedTuple):
    """K hives of O organisms; the explorers come last and are not kept, as they look at another grid each epoch.

    Attributes:
      given: uint8[K, cells], what is fixed, 0 = free.
      swaps: int32[K, pairs], the numbers of the pairs of free cells, then of the others.
      choices: int32[K], how many these are.
      seeds: uint32[K].
      grids: uint8[K, workers, cells].
      error: int32[K, workers].
      age: int32[K, workers], epochs since a worker improved.
      best: uint8[K, cells], the best grid so far.
      least: int32[K], its error.
      epoch: int32[K], epochs of this hive.
      restart: int32[K], hives before it.
      iterations: int32[K], grids looked at.
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
    """Combinatorial evolution by a hive of workers and explorers; arguments and results as of ``annealing``.

    ``iterations`` int32[N] are a grid an organism and one born in every epoch.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: EvolutionConfig) -> Method[Hives]:
    """Evolution as a way to work on puzzles: a step is an epoch."""
    workers = config.workers
    explorers = config.organisms - workers

    def init(start: Start) -> Hives:
        size = len(start.seeds)
        first, second = pairs(board).cells.T
        free = start.grids == 0
        open_pairs = free[:, first] & free[:, second]
        # the open ones first, in their order
        swaps = jnp.argsort(~open_pairs, axis=1, stable=True).astype(jnp.int32)
        none, many = jnp.zeros(size, jnp.int32), jnp.zeros((size, workers), jnp.int32)
        return Hives(
            given=start.grids, swaps=swaps,
            choices=open_pairs.sum(axis=1, dtype=jnp.int32), seeds=start.seeds,
            grids=jnp.zeros((size, workers, board.cells), jnp.uint8), error=many, age=many + config.lifetime,
            best=start.grids, least=none + lines(board).size, epoch=none, restart=none,
            iterations=none + 1,
        )  # fmt: skip

    def step(hives: Hives) -> Hives:
        seeds = mix(hives.seeds + (hives.epoch + hives.restart * config.epochs).astype(jnp.uint32) * APART)
        due = (hives.epoch % _ROUND == 0)[:, None] & (hives.age >= config.lifetime)
        hives = lax.cond(due.any(), lambda: _renewed(board, hives, seeds, due), lambda: hives)
        hives = _worked(board, hives, seeds, config.mistakes)
        tried, found = _explored(board, hives, seeds, explorers)
        hives = _remember(hives, tried, found)
        hives = _born(board, hives, tried, seeds)
        epoch = hives.epoch + 1
        spent = (epoch == config.epochs) & (hives.restart < config.restarts)
        return hives._replace(
            epoch=jnp.where(spent, 0, epoch),
            restart=hives.restart + spent.astype(jnp.int32),
            age=jnp.where(spent[:, None], config.lifetime, hives.age),  # all make way for random grids
            iterations=saturating_add(hives.iterations, config.organisms + 1),
        )

    def done(hives: Hives) -> Array:
        return (hives.least == 0) | (hives.epoch == config.epochs)

    def postprocess(hives: Hives) -> Answer:
        return full_grids(hives.best, hives.least, hives.iterations)

    return Method(init, step, done, postprocess, ERRORS, error=lambda hives: hives.least)


def _draw(seeds: Array, stream: int, *shape: int) -> Array:
    """Random numbers of each hive's epoch, uint32[K, *shape]."""
    number = np.arange(1, np.prod(shape, dtype=int) + 1, dtype=np.uint32).reshape(shape) * APART
    return mix(mix(seeds + np.uint32(stream)).reshape(-1, *(1,) * len(shape)) ^ number)


def _renewed(board: Board, hives: Hives, seeds: Array, due: Array) -> Hives:
    """The hives with random grids where workers bool[K, workers] are due."""
    grids, error = _random(board, hives, _draw(seeds, _RENEW, board.cells, due.shape[1]))
    return hives._replace(
        grids=jnp.where(due[..., None], grids, hives.grids),
        error=jnp.where(due, error, hives.error),
        age=jnp.where(due, 0, hives.age),
    )


def _random(board: Board, hives: Hives, keys: Array) -> tuple[Array, Array]:
    """Random grids uint8[K, m, cells] by keys [K, cells, m], and their errors."""
    size, _, many = keys.shape
    given = jnp.repeat(hives.given.T, many, axis=1)
    grids = fence(decoded(board, given, jnp.moveaxis(keys, 0, 1).reshape(board.cells, -1)))
    return grids.T.reshape(size, many, board.cells), errors(board, grids).reshape(size, many)


def _worked(board: Board, hives: Hives, seeds: Array, mistakes: float) -> Hives:
    """The hives after every worker has looked at a neighbour."""
    table = pairs(board)
    workers = hives.error.shape[1]
    # a number below n, by the upper half of a product of 32 bits with the few of n
    drawn, choices = _draw(seeds, _SWAP, workers), hives.choices[:, None].astype(jnp.uint32)
    chosen = ((drawn >> 16) * choices + ((drawn & 0xFFFF) * choices >> 16)) >> 16
    number = jnp.take_along_axis(hives.swaps, chosen.astype(jnp.int32), axis=1)
    cells = jnp.asarray(table.cells)[number]
    digits = jnp.take_along_axis(hives.grids, cells, axis=2)
    rise = _rise(board, hives.grids, number, digits)
    taken = (rise < 0) | ((_draw(seeds, _TAKE, workers) >> 8) < np.uint32(mistakes * 2**24))
    taken &= hives.choices[:, None] > 0
    cell = np.arange(board.cells, dtype=np.int32)
    swapped = jnp.where(cell == cells[..., :1], digits[..., 1:], hives.grids)
    swapped = jnp.where(cell == cells[..., 1:], digits[..., :1], swapped)
    return hives._replace(
        grids=jnp.where(taken[..., None], swapped, hives.grids),
        error=hives.error + jnp.where(taken, rise, 0),
        age=jnp.where(taken & (rise < 0), 0, hives.age + 1),
    )


def _rise(board: Board, grids: Array, number: Array, digits: Array) -> Array:
    """By how much the error rises if a pair of cells int32[K, m], holding digits uint8[K, m, 2], is swapped."""
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


def _explored(board: Board, hives: Hives, seeds: Array, explorers: int) -> tuple[Array, Array]:
    """The best random grid that an explorer of each hive looks at, uint8[K, cells], and its error, int32[K]."""
    grids, error = _random(board, hives, _draw(seeds, _EXPLORE, board.cells, explorers))
    return _at(grids, _first(error)), error.min(axis=1)


def _first(values: Array) -> Array:
    """Where the least of values int32[K, m] stands first, int32[K]; found as one number, which argmin is slow at."""
    size = values.shape[1]
    return (values * size + jnp.arange(size, dtype=jnp.int32)).min(axis=1) % size


def _at(grids: Array, organism: Array) -> Array:
    """A grid of each hive, uint8[K, m, cells] to uint8[K, cells]."""
    return jnp.take_along_axis(grids, organism[:, None, None], axis=1)[:, 0]


def _remember(hives: Hives, tried: Array, found: Array) -> Hives:
    """The hives, remembering grids uint8[K, cells] of these errors int32[K] if they are better than all before."""
    better = found < hives.least
    return hives._replace(best=jnp.where(better[:, None], tried, hives.best), least=jnp.minimum(found, hives.least))


def _born(board: Board, hives: Hives, mate: Array, seeds: Array) -> Hives:
    """The hives whose best worker and the grid uint8[K, cells] have given birth to one in the worst worker's place."""
    parent = _at(hives.grids, _first(hives.error))
    hives = _remember(hives, parent, hives.error.min(axis=1))
    from_mate = (_draw(seeds, _MERGE, board.side) >> 31).astype(bool)[:, box_of(board)]
    child = jnp.where(from_mate, mate, parent)
    error = errors(board, child.T)
    hives = _remember(hives, child, error)
    worst = jnp.arange(hives.error.shape[1]) == _first(-hives.error)[:, None]
    return hives._replace(
        grids=jnp.where(worst[..., None], child[:, None], hives.grids),
        error=jnp.where(worst, error[:, None], hives.error),
        age=jnp.where(worst, 0, hives.age),
    )
