"""A player by Monte-Carlo tree search: guess nodes and feedback nodes, random games at the leaves.

A simulation draws a secret of the position and plays against it: down the tree the guess with the best confidence bound
(UCT, Kocsis and Szepesvari 2006, of the fewest guesses here) and the feedback that the secret gives, so that feedbacks
come as often as they are likely; from a new position on random codes that may be the secret. What the game took goes up
to all guesses on its way. Many positions are searched together, each in a tree of its own.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .config import MctsConfig
from .rollouts import as_sets, dividing, doubts, ending, random_game, safest, search_player
from .rules import Game
from .trees import Player

#: Guesses of a game after which the tree goes no deeper.
_DEPTH = 24


class Forest(NamedTuple):
    """The trees of B positions with room for M guess nodes, of which each has K guesses.

    Attributes:
      guesses: int32[B, M, K], numbers of codes, -1 = none.
      visits: int32[B, M, K], simulations that made the guess.
      totals: float32[B, M, K], guesses that these took from there, together.
      children: int32[B, M, K, feedbacks], the node after a feedback, -1 = none yet.
      nodes: int32[B], so far.
    """

    guesses: Array
    visits: Array
    totals: Array
    children: Array
    nodes: Array


def mcts_player(game: Game, config: MctsConfig) -> Player:
    """The guess that a search finds safest."""
    width = min(config.width or game.size, game.size)
    tree = 4 * (config.simulations + 1) * width * (game.feedbacks + 3)
    return search_player(game, config, width, tree, _search)


# ---------------------------------------------------------------------- on the device


class _Game(NamedTuple):
    """Where B games are, that are played down the trees.

    Attributes:
      node: int32[B].
      possible: bool[B, size], the codes that may be the secret.
      path: int32[B, depth, 2], the nodes and the places of guesses.
      made: int32[B], guesses so far.
      rest: float32[B], guesses to come, as far as that is known.
      on: bool[B], still going down.
      new: bool[B], come to a position that has no node yet.
      heard: int32[B], the last feedback.
    """

    node: Array
    possible: Array
    path: Array
    made: Array
    rest: Array
    on: Array
    new: Array
    heard: Array


def _search(
    game: Game,
    config: MctsConfig,
    together: int,
    table: Array,
    codes: Array,
    sizes: Array,
    first: Array,
    key: Array,
) -> Array:
    """The guesses for positions, as ``rollouts.Search`` has it."""
    lanes, room = codes.shape
    width = first.shape[1]
    nodes = config.simulations + 1
    every = np.arange(lanes)
    forest = Forest(
        jnp.full((lanes, nodes, width), -1, jnp.int32).at[:, 0].set(first),
        jnp.zeros((lanes, nodes, width), jnp.int32),
        jnp.zeros((lanes, nodes, width), jnp.float32),
        jnp.full((lanes, nodes, width, game.feedbacks), -1, jnp.int32),
        jnp.ones(lanes, jnp.int32),
    )
    possible = as_sets(game, codes, sizes)

    def means(visits: Array, totals: Array) -> Array:
        """The mean of each guess of [B, width]."""
        return totals / jnp.maximum(visits, 1).astype(jnp.float32)

    def select(visits: Array, totals: Array, guesses: Array) -> Array:
        """The place of the guess to make, of [B, width]: of untried ones the first, else by the confidence bound."""
        bound = jnp.where(visits > 0, means(visits, totals) - config.exploration * doubts(visits), -jnp.inf)
        return jnp.argmin(jnp.where(guesses < 0, jnp.inf, bound), axis=-1).astype(jnp.int32)

    def down(forest: Forest, secrets: Array, at: _Game) -> _Game:
        place = select(*(tree[every, at.node] for tree in (forest.visits, forest.totals, forest.guesses)))
        rows = table[forest.guesses[every, at.node, place]]
        heard = rows[every, secrets]
        possible = at.possible & (rows == heard[:, None])
        size = possible.sum(-1, dtype=jnp.int32)
        heard = heard.astype(jnp.int32)
        child = forest.children[every, at.node, place, heard]
        known, rest = ending(game, heard, size)
        path = at.path.at[every, at.made].set(jnp.stack([at.node, place], axis=-1))
        deep = at.made + 1 >= path.shape[1]
        after = _Game(
            node=jnp.where(known | (child < 0) | deep, at.node, child),
            possible=possible,
            path=path,
            made=at.made + 1,
            rest=jnp.where(known, rest, -1.0),
            on=~known & (child >= 0) & ~deep,
            new=~known & (child < 0) & ~deep,
            heard=heard,
        )
        return jax.tree.map(lambda new, old: jnp.where(at.on.reshape(-1, *[1] * (new.ndim - 1)), new, old), after, at)

    def simulate(number: Array, forest: Forest) -> Forest:
        bits = jax.random.bits(jax.random.fold_in(key, number), (2, lanes), jnp.uint32)
        secrets = codes[every, (bits[0] % sizes.astype(jnp.uint32)).astype(jnp.int32)]
        nothing, yes = jnp.zeros(lanes, jnp.int32), jnp.ones(lanes, bool)
        path = jnp.zeros((lanes, min(_DEPTH, nodes), 2), jnp.int32)
        at = _Game(nothing, possible, path, nothing, jnp.zeros(lanes, jnp.float32), yes, ~yes, nothing)
        at = lax.while_loop(lambda at: at.on.any(), functools.partial(down, forest, secrets), at)
        open_ = at.rest < 0
        total = at.made.astype(jnp.float32) + jnp.where(
            open_, random_game(game, table, at.possible, secrets, bits[1], open_), at.rest
        )
        # the new node
        where = jnp.where(at.new, forest.nodes, nodes)
        last = at.path[every, at.made - 1]
        guesses = dividing(game, table, at.possible, at.new, room, width, together)
        children = forest.children.at[every, jnp.where(at.new, last[:, 0], nodes), last[:, 1], at.heard]
        # what the game took, from each of its guesses on
        depth = np.arange(path.shape[1], dtype=np.int32)
        passed = jnp.where(depth < at.made[:, None], at.path[..., 0], nodes)
        place = every[:, None], passed, at.path[..., 1]
        return Forest(
            forest.guesses.at[every, where].set(guesses, mode="drop"),
            forest.visits.at[place].add(1, mode="drop"),
            forest.totals.at[place].add(total[:, None] - depth.astype(np.float32), mode="drop"),
            children.set(forest.nodes, mode="drop"),
            forest.nodes + at.new.astype(jnp.int32),
        )

    forest = lax.fori_loop(0, config.simulations, simulate, forest)
    visits, totals = forest.visits[:, 0], forest.totals[:, 0]
    return safest(first, visits, means(visits, totals), config.exploration)
