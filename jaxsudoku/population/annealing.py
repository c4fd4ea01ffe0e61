"""Simulated annealing on bit-planes: 32 chains to a word, all of which try the same swap at once.

Lewis (2007) anneals one grid whose boxes are permutations: swap two free cells of a box, keep the swap if the error
(digits that rows and columns miss) does not rise, or else with probability exp(-rise / temperature). Here a grid is a
bit of planes uint32[cells, side, W], one-hot in the digit, and a step tries one swap in all chains of all puzzles: what
the swap does to the error is a few folds over planes, and the coins of all chains are thrown together, comparing random
planes with the binary digits of exp(-rise / temperature) from the least on. Where a cell of the pair is given, nothing
happens. A sweep tries every pair of cells of every box once, in a fixed, mixed order.

Two schedules. With "exchange" the chains of a word have temperatures of their own, and after each sweep chains of
neighbouring temperatures swap their grids with the probability that keeps both distributions (replica exchange,
Swendsen and Wang 1986; Geyer 1991); as a chain is a bit, that is one masked exchange of neighbouring bits. With
"cooling" all chains cool down from sweep to sweep, and are heated again at the end of a period.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.branching import mix
from jaxsudoku.planes import GROUP, any_of, count_planes, fence, slices, unpack_lanes
from jaxsudoku.slots import Method, Start, View

from .boxes import boxes, filled, lines, pairs
from .config import AnnealingConfig

#: Rises of the error that a chain may take in one swap; what rises more is never kept.
_RISES = 4

#: Binary digits of a probability.
_DIGITS = 14

_ALL = np.uint32(0xFFFFFFFF)

#: An odd number far from any pattern: 2^32 over the golden ratio.
_GOLDEN = np.uint32(0x9E3779B9)


class Chains(NamedTuple):
    """The chains of K puzzles, W words in all; those of puzzle k are the words k W / K and on.

    Attributes:
      planes: uint32[cells + 1, side, W], the grids, one-hot; the last cell is none of the board's, and empty.
      free: uint32[cells, W], set in all bits where a cell of the word's puzzle is free.
      seeds: uint32[W].
      age: int32[W], sweeps done.
      cost: int32[32, W], the errors.
      best: int32[W], the least error that a chain of the word has had.
    """

    planes: Array
    free: Array
    seeds: Array
    age: Array
    cost: Array
    best: Array


def method(board: Board, config: AnnealingConfig) -> Method[Chains]:
    """Annealing as a way to work on puzzles: a step is a sweep."""
    words = config.chains // GROUP
    table, inverse = _thresholds(config), _inverse_temperatures(config)

    def begin(start: Start) -> Chains:
        given = jnp.repeat(start.grids.T, words, axis=1)
        grids = jnp.repeat(filled(board, start.grids).T, words, axis=1)
        width = grids.shape[1]
        digits = np.arange(1, board.side + 1, dtype=np.uint8)[:, None]
        planes = jnp.where(grids[:, None] == digits, _ALL, jnp.uint32(0))
        planes = jnp.concatenate([planes, jnp.zeros((1, *planes.shape[1:]), jnp.uint32)])
        number = jnp.arange(width, dtype=jnp.uint32) % words
        seeds = mix(jnp.repeat(start.seeds, words) + number * _GOLDEN)
        nothing = jnp.zeros((GROUP, width), jnp.int32)
        most = jnp.full(width, lines(board).size, jnp.int32)
        return Chains(planes, jnp.where(given == 0, _ALL, jnp.uint32(0)), seeds, nothing[0], nothing, most)

    def step(chains: Chains) -> Chains:
        seeds = mix(chains.seeds + chains.age.astype(jnp.uint32) * _GOLDEN)
        planes = chains.planes
        if inverse is not None:
            planes = _exchanged(planes, chains.cost, inverse, chains.age, mix(seeds ^ _GOLDEN), config.temperatures)
        limits = jnp.moveaxis(jnp.asarray(table)[chains.age % len(table)], 0, -1)
        planes = _sweep(board, planes, chains.free, seeds, jnp.where(chains.age == 0, _ALL, jnp.uint32(0)), limits)
        cost = _costs(board, planes)
        best = jnp.minimum(chains.best, cost.min(axis=0))
        return Chains(planes, chains.free, chains.seeds, chains.age + 1, cost, best)

    def view(chains: Chains) -> View:
        error = chains.best.reshape(-1, words).min(axis=1)
        age = chains.age.reshape(-1, words)[:, 0]
        free = (chains.free.reshape(board.cells, -1, words)[..., 0] & 1).astype(jnp.int32)
        of_box = free[boxes(board)].sum(axis=1)  # [boxes, K]
        looked = GROUP * words * (of_box * (of_box - 1) // 2).sum(axis=0, dtype=jnp.int32)
        return View((error == 0) | (age >= config.budget), error, looked, jnp.zeros(len(error), bool))

    def grids(chains: Chains) -> Array:
        lane = chains.cost.argmin(axis=0).astype(jnp.uint32)
        held = (chains.planes[: board.cells] >> lane) & 1
        digits = np.arange(1, board.side + 1, dtype=np.uint32)[:, None]
        each = (held * digits).sum(axis=1, dtype=jnp.uint32).astype(jnp.uint8).reshape(board.cells, -1, words)
        word = chains.cost.min(axis=0).reshape(-1, words).argmin(axis=1)
        return jnp.take_along_axis(each, word[None, :, None], axis=2)[..., 0].T

    def merge(chosen: Array, one: Chains, other: Chains) -> Chains:
        wide = jnp.repeat(chosen, words)
        return Chains(*(jnp.where(wide, x, y) for x, y in zip(one, other, strict=True)))

    return Method(begin, step, view, grids, merge)


# ---------------------------------------------------------------------- temperatures


def _ladder(config: AnnealingConfig) -> np.ndarray:
    """The temperature of each sweep of a period and each bit of a word, float[period, 32]."""
    if config.schedule == "exchange":
        steps = np.geomspace(config.coldest, config.hottest, config.temperatures)
        return np.tile(steps, GROUP // config.temperatures)[None]
    return np.repeat(np.geomspace(config.hottest, config.coldest, config.period)[:, None], GROUP, axis=1)


def _thresholds(config: AnnealingConfig) -> np.ndarray:
    """The binary digits of exp(-rise / temperature), the least first: uint32[period, rises, digits], a bit a chain."""
    temperatures = _ladder(config)[:, None]  # [period, 1, 32]
    rises = np.arange(1, _RISES + 1)[None, :, None]
    chances = np.rint(2**_DIGITS * np.exp(-rises / temperatures)).astype(np.int64)
    bits = chances[:, :, None] >> np.arange(_DIGITS)[:, None] & 1
    return (bits << np.arange(GROUP)).sum(axis=-1).astype(np.uint32)


def _inverse_temperatures(config: AnnealingConfig) -> np.ndarray | None:
    """One over the temperature of each bit, float32[32]; None where chains exchange nothing."""
    if config.schedule != "exchange" or config.temperatures == 1:
        return None
    return (1 / _ladder(config)[0]).astype(np.float32)


def _exchanged(planes: Array, cost: Array, inverse: np.ndarray, age: Array, seeds: Array, temperatures: int) -> Array:
    """The planes after neighbouring bits have swapped their grids, of even and odd numbers in turn."""
    bit = np.arange(GROUP - 1, dtype=np.uint32)[:, None]
    neighbours = (bit + 1) % temperatures != 0
    gain = (inverse[:-1] - inverse[1:])[:, None] * (cost[:-1] - cost[1:]).astype(jnp.float32)
    coin = (mix(seeds ^ (bit + 1) * _GOLDEN) >> 8).astype(jnp.float32) / 2**24
    swapped = (coin < jnp.exp(gain)) & neighbours & (bit % 2 == age.astype(jnp.uint32) % 2)
    mask = fence((swapped.astype(jnp.uint32) << bit).sum(axis=0, dtype=jnp.uint32))
    moved = (planes ^ (planes >> 1)) & mask
    return planes ^ moved ^ (moved << 1)


# ---------------------------------------------------------------------- sweeps


def _sweep(board: Board, planes: Array, free: Array, seeds: Array, fresh: Array, limits: Array) -> Array:
    """The planes after every pair of cells was tried once.

    Args:
      planes: uint32[cells + 1, side, W].
      free: uint32[cells, W].
      seeds: uint32[W].
      fresh: uint32[W], set for chains that are to be shuffled: they keep every other swap, whatever it does.
      limits: uint32[rises, digits, W], the chances of a rise, as of ``_thresholds``.
    """
    cells, others, used = map(jnp.asarray, pairs(board))
    first, second = cells.T
    useful = (free[first] & free[second]).any(axis=1)
    (order,) = jnp.nonzero(useful, size=len(useful), fill_value=0)

    def step(turn: Array, planes: Array) -> Array:
        number = order[turn]
        pair = Pair(number, cells[number], others[number], used[number])
        return _swap(board, planes, free, seeds, fresh, limits, pair)

    return lax.fori_loop(0, useful.sum(dtype=jnp.int32), step, planes)


class Pair(NamedTuple):
    """One of ``boxes.pairs``, and its number, which sets its coins apart from those of the others."""

    number: Array
    cells: Array
    others: Array
    used: Array


def _swap(board: Board, planes: Array, free: Array, seeds: Array, fresh: Array, limits: Array, pair: Pair) -> Array:
    """The planes after one pair was tried."""

    def at(of: Array, cell: Array) -> Array:
        return lax.dynamic_index_in_dim(of, cell, keepdims=False)

    first, second = pair.cells[0], pair.cells[1]
    slots = range(pair.others.shape[0])
    met = [any_of([at(planes, pair.others[slot, place]) for place in range(board.side - 1)]) for slot in slots]
    held, elsewhere = fence(((at(planes, first), at(planes, second)), jnp.stack(met)))
    # where the digit of a cell stands at no other place of the line
    alone = fence([jnp.stack([any_of(slices(digit & ~elsewhere[slot], 0)) for slot in slots]) for digit in held])

    half = len(slots) // 2
    rising, falling = [], []
    for slot in slots:
        lost, won = (alone[0], alone[1]) if slot < half else (alone[1], alone[0])
        used = jnp.where(pair.used[slot], _ALL, jnp.uint32(0))
        rising.append(lost[slot] & used)
        falling.append(won[slot] & used)
    counter = pair.number.astype(jnp.uint32) * np.uint32(_DIGITS) + np.arange(_DIGITS, dtype=np.uint32)
    coins = fence(mix(seeds + (counter * _GOLDEN)[:, None]))
    kept = _kept(rising, falling, coins, limits) | (fresh & coins[0])
    swapped = fence(kept & at(free, first) & at(free, second))
    change = (held[0] ^ held[1]) & swapped
    planes = lax.dynamic_update_index_in_dim(planes, held[0] ^ change, first, 0)
    return lax.dynamic_update_index_in_dim(planes, held[1] ^ change, second, 0)


def _kept(rising: list[Array], falling: list[Array], coins: Array, limits: Array) -> Array:
    """Which chains keep a swap that takes so many digits from lines, and brings so many: uint32[W]."""
    level = len(rising)
    total = count_planes([*rising, *(~plane for plane in falling)])  # the rise, and the level more
    kept = ~_at_least(total, level + 1)
    below = [jnp.zeros_like(kept)] * _RISES
    for digit in range(_DIGITS):  # a number is below another if its highest differing digit is the lesser
        coin = coins[digit]
        below = [(limits[k, digit] & coin) | (below[k] & (limits[k, digit] | coin)) for k in range(_RISES)]
    for rise in range(1, _RISES + 1):  # a coin that allows a rise allows every lesser one
        kept |= below[rise - 1] & ~_at_least(total, level + rise + 1)
    return kept


def _at_least(number: list[Array], bound: int) -> Array:
    """Where a binary number of planes, the least first, is at least the bound."""
    if bound >> len(number):
        return jnp.zeros_like(number[0])
    reached = jnp.full_like(number[0], _ALL)
    for place, plane in enumerate(number):
        reached = plane & reached if bound >> place & 1 else plane | reached
    return reached


def _costs(board: Board, planes: Array) -> Array:
    """The errors, int32[32, W]."""
    held = [any_of([planes[cell] for cell in line]) for line in lines(board)]
    missing = fence(~jnp.stack(held)).reshape(-1, planes.shape[-1])
    places = fence(count_planes(slices(missing, 0)))
    return functools.reduce(
        jnp.add, (unpack_lanes(place).reshape(GROUP, -1).astype(jnp.int32) << at for at, place in enumerate(places))
    )
