"""Baselines on random keys: evosax's differential evolution, particle swarm and genetic algorithm, and fireflies.

A member of a population is a vector of ``random_keys``; its fitness is the error of the decoded grid, see ``boxes``.
Nothing is tuned. evosax is an optional dependency, imported on first use; it has no firefly algorithm, which is
implemented here.

Lange (2022), evosax: JAX-based evolution strategies; Storn and Price (1997), differential evolution; Kennedy and
Eberhart (1995), particle swarm; Such et al. (2017), a genetic algorithm.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import key_of
from jaxsudoku.solvers.queue import Answer, Method, Start, run, saturating_add

from .boxes import ERRORS, errors, full_grids
from .firefly import Firefly
from .population_config import EvosaxConfig
from .random_keys import decoded

#: The algorithms' names in evosax.
_IN_EVOSAX = {"differential-evolution": "DifferentialEvolution", "particle-swarm": "PSO", "genetic": "SimpleGA"}

#: All algorithms.
ALGORITHMS = (*_IN_EVOSAX, "firefly")

#: Random streams: initial populations, and ask and tell of each generation.
_BEGIN, _ASK, _TELL = range(3)


def import_algorithm(name: str) -> Any:
    """The class of an algorithm; raises an ImportError that names the extra to install."""
    if name == "firefly":
        return Firefly
    try:
        import evosax.algorithms
    except ImportError as error:
        raise ImportError("the solver evosax needs evosax: pip install 'jaxsudoku[evosax]'") from error
    return getattr(evosax.algorithms, _IN_EVOSAX[name])


class Swarms(NamedTuple):
    """The populations of K puzzles.

    Attributes:
      state: the state of evosax, with a leading axis K.
      givens: uint8[K, cells].
      seeds: uint32[K].
      age: int32[K], generations of all populations, including the initial ones.
      restarts: int32[K], populations after the first.
      best: int32[K], the lowest error so far.
      record: uint8[K, cells], the grid with this error.
      iterations: int32[K], grids evaluated.
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
    """Differential evolution or another algorithm on random keys; arguments as in ``annealing``.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids evaluated: every member in every generation; ``errors``
      int32[N] the errors of the best grid, see ``boxes``.

    Raises:
      ImportError: evosax is not installed; the message names the extra.
    """
    return run(
        method(board, config), board, puzzles, key, rules=config.rules, lanes=config.lanes or 1, record=config.record
    )


def method(board: Board, config: EvosaxConfig) -> Method[Swarms]:
    """An algorithm of evosax as a ``queue.Method``: a step is a generation."""
    made = import_algorithm(config.algorithm)
    with jax.ensure_compile_time_eval():  # evosax makes arrays in constructors
        algorithm = made(config.population, jnp.zeros(board.cells))
        params = algorithm.default_params
    evaluate = functools.partial(_evaluate, board)

    def first(now: Swarms) -> Swarms:
        """New populations."""
        keys = _keys(now, _BEGIN)
        members = jax.vmap(lambda key: jax.random.uniform(key, (config.population, board.cells)))(keys)
        best, record, fitness = evaluate(now.givens, members)
        state = jax.vmap(lambda *of: algorithm.init(*of, params))(keys, members, fitness)
        return _keep_best(now._replace(state=state, age=now.age + 1), best, record)

    def init(start: Start) -> Swarms:
        width = len(start.seeds)
        nothing, done = jnp.zeros(width, jnp.int32), jnp.zeros(width, bool)
        worst = jnp.full(width, jnp.iinfo(jnp.int32).max)
        return first(Swarms(None, start.grids, start.seeds, nothing, nothing, worst, start.grids, nothing + 1, done))

    def step(now: Swarms) -> Swarms:
        members, state = jax.vmap(lambda *of: algorithm.ask(*of, params))(_keys(now, _ASK), now.state)
        best, record, fitness = evaluate(now.givens, members)
        state, _ = jax.vmap(lambda *of: algorithm.tell(*of, params))(_keys(now, _TELL), members, fitness, state)
        # count the initial population with its first generation
        fresh = (now.age % (config.generations + 1) == 1).astype(jnp.int32)
        iterations = saturating_add(now.iterations, config.population * (1 + fresh))
        now = _keep_best(now._replace(state=state, age=now.age + 1), best, record)
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
    """A key for each puzzle, generation and stream."""

    def key(seed: Array, age: Array) -> Array:
        return jax.random.fold_in(jax.random.fold_in(key_of(seed), stream), age)

    return jax.vmap(key)(now.seeds, now.age)


def _evaluate(board: Board, givens: Array, members: Array) -> tuple[Array, Array, Array]:
    """The lowest error of each population, its grid, and the fitness of all members.

    Args:
      board: the board.
      givens: uint8[K, cells].
      members: float32[K, members, cells].

    Returns:
      int32[K], uint8[K, cells], float32[K, members].
    """
    width, size, cells = members.shape
    # particles may diverge to NaN
    keys = jnp.nan_to_num(members).reshape(-1, cells).T
    grids = decoded(board, jnp.repeat(givens.T, size, axis=1), keys)
    error = errors(board, grids).reshape(width, size)
    best = error.argmin(axis=1)
    lanes = jnp.arange(width)
    return error[lanes, best], grids.reshape(cells, width, size)[:, lanes, best].T, error.astype(jnp.float32)


def _keep_best(now: Swarms, best: Array, record: Array) -> Swarms:
    """Keeps the best grids of this generation where they improve on the record."""
    better = best < now.best
    return now._replace(
        best=jnp.minimum(best, now.best),
        record=jnp.where(better[:, None], record, now.record),
    )
