"""Methods of nature's kind as evosax has them, on random keys: what general search through real vectors comes to.

A member of a population is a real number a cell, which says in which order digits go to the open cells of a box
(``random_keys``); its fitness is what the lines of that grid miss. Nothing is tuned: these are baselines. evosax is an
extra, imported when first used.

Lange (2022), evosax: JAX-based evolution strategies; Storn and Price (1997), differential evolution; Kennedy and
Eberhart (1995), particle swarm; Such et al. (2017), a genetic algorithm.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.planes import select
from jaxsudoku.random import key_of
from jaxsudoku.solution import Solution
from jaxsudoku.solvers.queue import Answer, Method, Start, run, saturating_add

from .boxes import ERRORS, errors, full_grids
from .config import EvosaxConfig
from .random_keys import decoded

#: What evosax calls each algorithm.
ALGORITHMS = {"differential-evolution": "DifferentialEvolution", "particle-swarm": "PSO", "genetic": "SimpleGA"}

#: Streams of random numbers: where populations begin, and what is asked and told at each generation.
_BEGIN, _ASK, _TELL = range(3)


def import_algorithms() -> Any:
    """The module evosax.algorithms; raises ImportError that names the extra to install."""
    try:
        import evosax.algorithms
    except ImportError as error:
        raise ImportError("the solver evosax needs evosax: pip install 'jaxsudoku[evosax]'") from error
    return evosax.algorithms


class Swarms(NamedTuple):
    """Populations of K puzzles.

    Attributes:
      state: evosax's, with a leading axis K.
      givens: uint8[K, cells].
      seeds: uint32[K].
      age: int32[K], generations of all populations, each one's first among them.
      restarts: int32[K], populations begun but the first.
      best: int32[K], the least error so far.
      record: uint8[K, cells], the grid that had it.
      iterations: int32[K], grids looked at.
      done: bool[K].
    """

    state: Any
    givens: Array
    seeds: Array
    age: Array
    restarts: Array
    best: Array
    record: Array
    iterations: Array
    done: Array


def evosax(board: Board, puzzles: Array, key: Array, config: EvosaxConfig, /) -> Solution:
    """Differential evolution, particle swarm or a genetic algorithm on random keys; arguments as of ``annealing``.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids that were looked at, a member each in every generation;
      ``errors`` int32[N] the digits that the lines of the best one miss.

    Raises:
      ImportError: evosax is not installed; the message names the extra.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: EvosaxConfig) -> Method[Swarms]:
    """An algorithm of evosax as a way to work on puzzles: a step is a generation."""
    algorithms = import_algorithms()
    with jax.ensure_compile_time_eval():  # evosax makes arrays in constructors
        algorithm = getattr(algorithms, ALGORITHMS[config.algorithm])(config.population, jnp.zeros(board.cells))
        params = algorithm.default_params
    judged = functools.partial(_judged, board)

    def first(now: Swarms) -> Swarms:
        """The populations, begun anew."""
        keys = _keys(now, _BEGIN)
        members = jax.vmap(lambda key: jax.random.uniform(key, (config.population, board.cells)))(keys)
        best, record, fitness = judged(now.givens, members)
        state = jax.vmap(lambda *of: algorithm.init(*of, params))(keys, members, fitness)
        return _noted(now._replace(state=state, age=now.age + 1), best, record)

    def init(start: Start) -> Swarms:
        width = len(start.seeds)
        nothing, done = jnp.zeros(width, jnp.int32), jnp.zeros(width, bool)
        worst = jnp.full(width, jnp.iinfo(jnp.int32).max)
        return first(Swarms(None, start.grids, start.seeds, nothing, nothing, worst, start.grids, nothing + 1, done))

    def step(now: Swarms) -> Swarms:
        members, state = jax.vmap(lambda *of: algorithm.ask(*of, params))(_keys(now, _ASK), now.state)
        best, record, fitness = judged(now.givens, members)
        state, _ = jax.vmap(lambda *of: algorithm.tell(*of, params))(_keys(now, _TELL), members, fitness, state)
        # a population that has just begun was looked at too
        fresh = (now.age % (config.generations + 1) == 1).astype(jnp.int32)
        iterations = saturating_add(now.iterations, config.population * (1 + fresh))
        now = _noted(now._replace(state=state, age=now.age + 1), best, record)
        ended = (now.best > 0) & (now.age % (config.generations + 1) == 0)
        again = ended & (now.restarts < config.restarts)
        if config.restarts:
            then = now._replace(restarts=now.restarts + again)
            now = lax.cond(again.any(), lambda now: select(again, first(now), now), lambda now: now, then)
        return now._replace(iterations=iterations, done=(now.best == 0) | (ended & ~again))

    def postprocess(now: Swarms) -> Answer:
        return full_grids(now.record, now.best, now.iterations)

    return Method(init, step, lambda now: now.done, postprocess, ERRORS, error=lambda now: now.best)


def _keys(now: Swarms, stream: int) -> Array:
    """A key a puzzle, of its own for every generation and stream."""

    def key(seed: Array, age: Array) -> Array:
        return jax.random.fold_in(jax.random.fold_in(key_of(seed), stream), age)

    return jax.vmap(key)(now.seeds, now.age)


def _judged(board: Board, givens: Array, members: Array) -> tuple[Array, Array, Array]:
    """The least error of each population, the grid that has it, and the fitness of all members.

    Args:
      board: the board.
      givens: uint8[K, cells].
      members: float32[K, members, cells].

    Returns:
      int32[K], uint8[K, cells], float32[K, members].
    """
    width, size, cells = members.shape
    # a swarm may fly off beyond all numbers
    keys = jnp.nan_to_num(members).reshape(-1, cells).T
    grids = decoded(board, jnp.repeat(givens.T, size, axis=1), keys)
    error = errors(board, grids).reshape(width, size)
    best = error.argmin(axis=1)
    lanes = jnp.arange(width)
    return error[lanes, best], grids.reshape(cells, width, size)[:, lanes, best].T, error.astype(jnp.float32)


def _noted(now: Swarms, best: Array, record: Array) -> Swarms:
    """The populations with the best of the grids looked at just now."""
    better = best < now.best
    return now._replace(
        best=jnp.minimum(best, now.best),
        record=jnp.where(better[:, None], record, now.record),
    )
