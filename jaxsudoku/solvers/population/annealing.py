"""Simulated annealing on bit-planes: 32 chains per word, all of which try the same swap at once.

Lewis (2007) anneals one grid whose boxes are permutations: swap two free cells of a box, accept the swap if the error
(digits missing from rows and columns) does not rise, or else with probability exp(-rise / temperature). Here each chain
is one bit of planes uint32[cells, side, W], one-hot in the digit; further planes hold the counts of every digit in
every line as binary numbers. One step tries one swap in all chains of all puzzles. The rise of the error is a fold over
the digits of the lines that the swap changes. Comparing random planes with the binary digits of
exp(-rise / temperature), from the lowest on, decides for all chains at once. Pairs with a given cell are not swapped. A
sweep tries every pair of cells of every box once, in a fixed shuffled order.

There are two schedules. With "exchange" the chains of a word have different temperatures, and after each sweep chains
of neighbouring temperatures swap their grids with the probability that preserves both distributions (replica exchange,
Swendsen and Wang 1986; Geyer 1991): a masked exchange of neighbouring bits. With "cooling" the temperature of all
chains falls from sweep to sweep, and rises again at the end of a period.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import GROUP, add, any_of, count_planes, slices, unpack_lanes
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import APART, mix
from jaxsudoku.runtime.settings import MOST
from jaxsudoku.solvers.queue import Answer, Method, Start, gather_last, run, select_last

from .boxes import ERRORS, boxes, full_grids, lines, most_in_a_line, pairs
from .population_config import AnnealingConfig
from .random_keys import decoded

#: Number of rises of the error with separate acceptance probabilities; higher rises use the last one.
_RISES = 4

#: Number of binary digits of a probability.
_DIGITS = 16

#: A swap that does not change the error is accepted unless all of this many fair coins fail: 7 of 8 are accepted.
_EVEN = 3

_ALL = np.uint32(0xFFFFFFFF)


class Chains(NamedTuple):
    """State of the chains of K puzzles in W words, W / K consecutive words per puzzle.

    Attributes:
      planes: uint32[cells, side, W], the grids, one-hot.
      counts: uint32[lines + 1, places, side, W], the number of times each line holds each digit, as binary numbers,
        lowest bit first; the last line is a dummy.
      free: uint32[cells, W], all bits set where a cell of the word's puzzle is free.
      seeds: uint32[W].
      age: int32[W], sweeps done.
      cost: int32[32, W], the errors.
      best: int32[W], the lowest error so far among the word's chains.
    """

    planes: Array
    counts: Array
    free: Array
    seeds: Array
    age: Array
    cost: Array
    best: Array


def annealing(board: Board, puzzles: Array, key: Array, config: AnnealingConfig, /) -> Solution:
    """Simulated annealing or replica exchange; for boards without constraints.

    Pure; jit it with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids evaluated: swaps tried in all chains; ``errors`` int32[N]
      are the digits missing from lines of the best grid.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: AnnealingConfig) -> Method[Chains]:
    """Annealing as a ``queue.Method``: a step is a sweep."""
    words = config.chains // GROUP
    table, inverse = _thresholds(config), _inverse_temperatures(config)

    def init(start: Start) -> Chains:
        given = jnp.repeat(start.grids.T, words, axis=1)
        grids = jnp.repeat(decoded(board, start.grids.T, jnp.zeros_like(start.grids.T)), words, axis=1)
        width = grids.shape[1]
        digits = np.arange(1, board.side + 1, dtype=np.uint8)[:, None]
        planes = jnp.where(grids[:, None] == digits, _ALL, jnp.uint32(0))
        number = jnp.arange(width, dtype=jnp.uint32) % words
        seeds = mix(jnp.repeat(start.seeds, words) + number * APART)
        nothing = jnp.zeros((GROUP, width), jnp.int32)
        most = jnp.full(width, lines(board).size, jnp.int32)
        free = jnp.where(given == 0, _ALL, jnp.uint32(0))
        return Chains(planes, _counted(board, planes), free, seeds, nothing[0], nothing, most)

    def step(chains: Chains) -> Chains:
        seeds = mix(chains.seeds + chains.age.astype(jnp.uint32) * APART)
        now = chains
        if inverse is not None:
            swapped = _exchanging(chains.cost, inverse, chains.age, mix(seeds ^ APART), config.temperatures)
            now = now._replace(planes=_moved(now.planes, swapped), counts=_moved(now.counts, swapped))
        limits = fence(jnp.moveaxis(jnp.asarray(table)[chains.age % len(table)], 0, -1))
        shuffled = jnp.where(chains.age == 0, _ALL, jnp.uint32(0))
        planes, counts = _sweep(board, now, Coins(seeds, shuffled, limits))
        cost = _costs(counts)
        best = jnp.minimum(chains.best, cost.min(axis=0))
        return chains._replace(planes=planes, counts=counts, age=chains.age + 1, cost=cost, best=best)

    def error(chains: Chains) -> Array:
        return chains.best.reshape(-1, words).min(axis=1)

    def done(chains: Chains) -> Array:
        return (error(chains) == 0) | (chains.age.reshape(-1, words)[:, 0] >= config.budget)

    def postprocess(chains: Chains) -> Answer:
        free = (chains.free.reshape(board.cells, -1, words)[..., 0] & 1).astype(jnp.int32)
        of_box = free[boxes(board)].sum(axis=1)  # [boxes, K]
        swaps = GROUP * words * (of_box * (of_box - 1) // 2).sum(axis=0, dtype=jnp.int32)
        sweeps = chains.age.reshape(-1, words)[:, 0]
        most = (MOST - 1) // jnp.maximum(swaps, 1)
        return full_grids(grids(chains), error(chains), jnp.where(sweeps > most, MOST, 1 + sweeps * swaps))

    def grids(chains: Chains) -> Array:
        lane = chains.cost.argmin(axis=0).astype(jnp.uint32)
        held = (chains.planes >> lane) & 1
        digits = np.arange(1, board.side + 1, dtype=np.uint32)[:, None]
        each = (held * digits).sum(axis=1, dtype=jnp.uint32).astype(jnp.uint8).reshape(board.cells, -1, words)
        word = chains.cost.min(axis=0).reshape(-1, words).argmin(axis=1)
        return jnp.take_along_axis(each, word[None, :, None], axis=2)[..., 0].T

    def select(chosen: Array, one: Chains, other: Chains) -> Chains:
        return select_last(jnp.repeat(chosen, words), one, other)

    def gather(lanes: Array, chains: Chains) -> Chains:
        return gather_last((lanes[:, None] * words + np.arange(words)).reshape(-1), chains)

    return Method(init, step, done, postprocess, ERRORS, select=select, gather=gather, error=error)


# ---------------------------------------------------------------------- temperatures


def _ladder(config: AnnealingConfig) -> np.ndarray:
    """The temperature of each sweep of a period and each bit of a word, float[period, 32]."""
    if config.schedule == "exchange":
        steps = np.geomspace(config.coldest, config.hottest, config.temperatures)
        return np.tile(steps, GROUP // config.temperatures)[None]
    return np.repeat(np.geomspace(config.hottest, config.coldest, config.period)[:, None], GROUP, axis=1)


def _thresholds(config: AnnealingConfig) -> np.ndarray:
    """The binary digits of exp(-rise / temperature), lowest first: uint32[period, rises, digits], one bit a chain."""
    temperatures = _ladder(config)[:, None]  # [period, 1, 32]
    rises = np.arange(1, _RISES + 1)[None, :, None]
    # never 0: with few free cells a swap with the highest rise may be the only way out of a local optimum
    chances = np.clip(np.rint(2**_DIGITS * np.exp(-rises / temperatures)), 1, 2**_DIGITS - 1).astype(np.int64)
    digits = [((chances >> digit & 1) << np.arange(GROUP)).sum(axis=-1) for digit in range(_DIGITS)]
    return np.stack(digits, axis=-1).astype(np.uint32)


def _inverse_temperatures(config: AnnealingConfig) -> np.ndarray | None:
    """The inverse temperature of each bit, float32[32]; None without exchange."""
    if config.schedule != "exchange" or config.temperatures == 1:
        return None
    return (1 / _ladder(config)[0]).astype(np.float32)


def _exchanging(cost: Array, inverse: np.ndarray, age: Array, seeds: Array, temperatures: int) -> Array:
    """The bits that swap grids with the next bit (even bits in one sweep, odd bits in the next): uint32[W]."""
    bit = np.arange(GROUP - 1, dtype=np.uint32)[:, None]
    neighbours = (bit + 1) % temperatures != 0
    gain = (inverse[:-1] - inverse[1:])[:, None] * (cost[:-1] - cost[1:]).astype(jnp.float32)
    coin = (mix(seeds ^ (bit + 1) * APART) >> 8).astype(jnp.float32) / 2**24
    swapped = (coin < jnp.exp(gain)) & neighbours & (bit % 2 == age.astype(jnp.uint32) % 2)
    return fence((swapped.astype(jnp.uint32) << bit).sum(axis=0, dtype=jnp.uint32))


def _moved(planes: Array, swapped: Array) -> Array:
    """The planes with the bits in uint32[W] swapped with the next bits."""
    difference = (planes ^ (planes >> 1)) & swapped
    return planes ^ difference ^ (difference << 1)


# ---------------------------------------------------------------------- sweeps


class Coins(NamedTuple):
    """Random numbers and probabilities for accepting swaps during a sweep.

    Attributes:
      seeds: uint32[W].
      shuffled: uint32[W], set for chains that accept every other swap, whatever its rise.
      limits: uint32[rises, digits, W], the acceptance probabilities, as from ``_thresholds``.
    """

    seeds: Array
    shuffled: Array
    limits: Array


def _sweep(board: Board, chains: Chains, coins: Coins) -> tuple[Array, Array]:
    """Tries every pair of cells once; returns the planes and counts."""
    cells, changed = map(jnp.asarray, pairs(board))
    first, second = cells.T
    useful = (chains.free[first] & chains.free[second]).any(axis=1)
    (order,) = jnp.nonzero(useful, size=len(useful), fill_value=0)

    def step(turn: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        number = order[turn]
        return _swap(board, *now, chains.free, coins, number, cells[number], changed[number])

    return lax.fori_loop(0, useful.sum(dtype=jnp.int32), step, (chains.planes, chains.counts))


def _swap(
    board: Board, planes: Array, counts: Array, free: Array, coins: Coins, number: Array, pair: Array, changed: Array
) -> tuple[Array, Array]:
    """Tries the swap of one pair of cells; returns the planes and counts.

    Args:
      board: the board.
      planes, counts, free: as in ``Chains``.
      coins: the random numbers of the sweep.
      number: int32[], the index of the pair, for distinct random numbers.
      pair: int32[2], its cells.
      changed: int32[m], the lines that the swap changes, as in ``boxes.Pairs``.
    """

    def at(of: Array, index: Array) -> Array:
        return lax.dynamic_index_in_dim(of, index, keepdims=False)

    slots = range(len(changed))
    held, met = fence(([at(planes, cell) for cell in pair], [at(counts, line) for line in changed]))
    used = [jnp.where(changed[slot] < len(lines(board)), _ALL, jnp.uint32(0)) for slot in slots]
    # the digits that leave and enter each line
    going = [held if slot < len(changed) // 2 else held[::-1] for slot in slots]
    lost, won = [], []
    for slot, (leaving, coming) in enumerate(going):
        twice = any_of(slices(met[slot][1:], 0))
        lost.append(any_of(slices(leaving & ~twice, 0)) & used[slot])
        won.append(any_of(slices(coming & ~(twice | met[slot][0]), 0)) & used[slot])
    lost, won = fence((lost, won))

    counter = number.astype(jnp.uint32) * np.uint32(_DIGITS) + np.arange(_DIGITS, dtype=np.uint32)
    thrown = fence(mix(coins.seeds + (counter * APART)[:, None]))
    kept = _kept(lost, won, thrown, coins.limits) | (coins.shuffled & thrown[0])
    swapped = fence(kept & at(free, pair[0]) & at(free, pair[1]))

    change = (held[0] ^ held[1]) & swapped
    for cell, digit in zip(pair, held, strict=True):
        planes = lax.dynamic_update_index_in_dim(planes, digit ^ change, cell, 0)
    for slot, (leaving, coming) in enumerate(going):
        less, more = leaving & swapped & used[slot], coming & swapped & used[slot]
        after = []
        for place in slices(met[slot], 0):
            after.append(place ^ (less | more))
            less, more = less & ~place, more & place
        counts = lax.dynamic_update_index_in_dim(counts, jnp.stack(after), changed[slot], 0)
    return planes, counts


def _kept(lost: list[Array], won: list[Array], thrown: Array, limits: Array) -> Array:
    """The chains that accept a swap (Metropolis rule): uint32[W].

    Args:
      lost: for each changed line, whether it loses the only copy of a digit, uint32[W].
      won: for each changed line, whether it gains a missing digit, uint32[W].
      thrown: random planes uint32[digits, W].
      limits: the acceptance probabilities.
    """
    level = len(lost)
    total = count_planes([*lost, *(~plane for plane in won)])  # the rise + level
    # if a swap without a rise were always accepted, sweeps in a fixed order might cycle
    kept = ~_at_least(total, level) | (~_at_least(total, level + 1) & any_of(slices(thrown[:_EVEN], 0)))
    below = [jnp.zeros_like(kept)] * _RISES
    for digit in range(_DIGITS):  # compares binary numbers, lowest digit first
        coin = thrown[digit]
        below = [(limits[k, digit] & coin) | (below[k] & (limits[k, digit] | coin)) for k in range(_RISES)]
    for rise in range(1, _RISES):  # a coin that accepts a rise accepts every lower one
        kept |= below[rise - 1] & ~_at_least(total, level + rise + 1)
    return kept | below[_RISES - 1]


def _at_least(number: list[Array], bound: int) -> Array:
    """Lanes where a binary number of planes, lowest bit first, is at least the bound."""
    if bound >> len(number):
        return jnp.zeros_like(number[0])
    reached = jnp.full_like(number[0], _ALL)
    for place, plane in enumerate(number):
        reached = plane & reached if bound >> place & 1 else plane | reached
    return reached


def _counted(board: Board, planes: Array) -> Array:
    """``Chains.counts`` of grids: uint32[lines + 1, places, side, W]."""
    places = max(most_in_a_line(board).bit_length(), 2)
    of_lines = slices(planes[lines(board)], 1)
    counted = jnp.stack([*count_planes(of_lines), jnp.zeros_like(of_lines[0])][:places], axis=1)
    return jnp.concatenate([counted, jnp.zeros((1, *counted.shape[1:]), jnp.uint32)])


def _costs(counts: Array) -> Array:
    """The errors, int32[32, W]."""
    missing = fence(~any_of(slices(counts[:-1], 1)))
    of_lines = fence(jnp.stack(count_planes(slices(missing, 1)), axis=1))  # [lines, places, W]
    places = (missing.shape[0] * missing.shape[1]).bit_length()

    def further(total: Array, line: Array) -> tuple[Array, None]:
        return jnp.stack(add(slices(total, 0), slices(line, 0))[:places]), None

    total, _ = lax.scan(further, jnp.zeros((places, counts.shape[-1]), jnp.uint32), of_lines)
    bits = [unpack_lanes(place).reshape(GROUP, -1).astype(jnp.int32) << at for at, place in enumerate(total)]
    return functools.reduce(jnp.add, bits)
