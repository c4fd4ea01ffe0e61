"""Reanalysis (Schrittwieser et al. 2021): positions of failed games are searched again with the current network.

The new search replaces the stored improved policy. If it finds a solution, the game counts as solved from then on, and
all its positions have exact targets. Positions of solved games have exact targets already, and are not searched again.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku import env
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks import Forward, Network, Params
from jaxsudoku.solvers.tree import evaluators, policies, proving
from jaxsudoku.solvers.tree.simulation import grow
from jaxsudoku.solvers.tree.tree_config import GumbelConfig

from .games import Games, improved_policy, random_kept


def reanalyse(
    board: Board, config: GumbelConfig, forward: Forward, params: Params, games: Games, chosen: Array, key: Array
) -> Games:
    """Searches one position of each chosen failed game, and replaces its targets. Pure.

    Args:
      board: the board.
      config: the resolved settings of the search.
      forward: the network.
      params: its parameters.
      games: T games.
      chosen: int32[M], distinct indices of games.
      key: a JAX key.

    Returns:
      all T games.
    """
    place_key, seed_key = jax.random.split(key)
    some: Games = jax.tree.map(lambda leaf: leaf[chosen], games)
    kept, row = some.kept, jnp.arange(len(chosen))
    any_kept, place = random_kept(kept, place_key)
    wanted = (some.status == Status.UNSOLVED) & any_kept
    state = env.from_nodes(kept.nodes[row, place], board, config.rules)
    state = state._replace(refuted=state.refuted | ~wanted)  # terminated positions cost no network call
    seed = jax.random.bits(seed_key, place.shape, jnp.uint32)
    evaluator = evaluators.by_network(board, config, Network("self-play", forward, params))
    search = proving.search(board, config, policies.gumbel(board, config))
    lanes = grow(board, config, evaluator, search, params, state, seed)
    found, answer = wanted & lanes.found, lanes.state._replace(nodes=lanes.answer)
    to = jnp.where(wanted, chosen, len(games.status))  # others are dropped
    solved = jnp.where(found, chosen, len(games.status))
    kept = games.kept._replace(
        cell=games.kept.cell.at[to, place].set(lanes.state.cell, mode="drop"),
        policy=games.kept.policy.at[to, place].set(improved_policy(lanes.tree), mode="drop"),
    )
    return games._replace(
        solutions=games.solutions.at[solved].set(env.grids(answer, board), mode="drop"),
        status=games.status.at[solved].set(jnp.int8(Status.SOLVED), mode="drop"),
        kept=kept,
    )
