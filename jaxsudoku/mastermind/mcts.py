"""Player by Monte-Carlo tree search: nodes for guesses and for feedbacks, rollouts from new nodes.

A simulation draws a secret of the position and plays against it. In the tree it selects the guess by UCT (Kocsis and
Szepesvari 2006), here for the lowest number of guesses, and follows the secret's feedback, so feedbacks occur with
their true frequencies. From a new position on a rollout guesses random codes that may be the secret. The number of
guesses is backed up to all guesses on the path. Many positions are searched together, each in a tree of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.runtime.operations import select

from .player_config import MctsConfig
from .players import Policy, Progress
from .rollouts import Roots, Simulator, confidence, searching_policy, secure_child
from .rules import Game

#: Maximum depth of the tree in guesses.
_DEPTH = 24


def mcts(game: Game, config: MctsConfig, progress: Progress) -> Policy:
    """The player that searches each position and guesses the secure child."""
    width = min(config.width or game.size, game.size)
    tree_bytes = 4 * (config.simulations + 1) * width * (game.feedbacks + 3)
    return searching_policy(game, config, width, tree_bytes, _search)


class _Trees(NamedTuple):
    """The trees of B positions, with room for M nodes of K guesses each.

    Attributes:
      guesses: int32[B, M, K], code numbers, -1 = none.
      visits: int32[B, M, K], simulations that made the guess.
      totals: float32[B, M, K], the total guesses of these simulations from there.
      children: int32[B, M, K, feedbacks], the node after each feedback, -1 = none yet.
      nodes: int32[B], the number of nodes.
    """

    guesses: Array
    visits: Array
    totals: Array
    children: Array
    nodes: Array


class _Games(NamedTuple):
    """B games on their way down the trees.

    Attributes:
      node: int32[B].
      possible: bool[B, secrets], the codes that may be the secret.
      path: int32[B, depth, 2], the node and the place in it of each guess.
      made: int32[B], the number of guesses.
      rest: float32[B], the remaining guesses; -1 if a rollout is needed.
      descending: bool[B], still in the tree.
      feedback: int32[B], the last one.
    """

    node: Array
    possible: Array
    path: Array
    made: Array
    rest: Array
    descending: Array
    feedback: Array

    @property
    def new(self) -> Array:
        """Whether a game has left the tree at a position that gets a node, bool[B]."""
        return (self.rest < 0) & (self.made < self.path.shape[1])


def _search(simulator: Simulator, config: MctsConfig, roots: Roots, key: Array) -> Array:
    """The guesses for positions; a ``rollouts.Search``."""
    lanes, width = roots.guesses.shape
    possible = simulator.masks(roots)

    def simulate(number: Array, trees: _Trees) -> _Trees:
        bits = jax.random.bits(jax.random.fold_in(key, number), (2, lanes), jnp.uint32)
        drawn = (bits[0] % roots.sizes.astype(jnp.uint32)).astype(jnp.int32)
        secrets = roots.codes[np.arange(lanes), drawn]
        games = _descended(simulator, config, trees, possible, secrets)
        unknown = games.rest < 0
        rollout = simulator.rollout(games.possible, secrets, bits[1], unknown)
        total = games.made.astype(jnp.float32) + jnp.where(unknown, rollout, games.rest)
        guesses = simulator.candidates(games.possible, games.new, width)
        return _backed_up(_expanded(trees, games, guesses), games, total)

    trees = _new_trees(simulator.game, roots.guesses, config.simulations + 1)
    trees = lax.fori_loop(0, config.simulations, simulate, trees)
    visits, totals = trees.visits[:, 0], trees.totals[:, 0]
    return secure_child(roots.guesses, visits, _means(visits, totals), config.exploration)


def _new_trees(game: Game, guesses: Array, nodes: int) -> _Trees:
    """Trees with only the roots, with their guesses int32[B, K]."""
    lanes, width = guesses.shape
    return _Trees(
        guesses=jnp.full((lanes, nodes, width), -1, jnp.int32).at[:, 0].set(guesses),
        visits=jnp.zeros((lanes, nodes, width), jnp.int32),
        totals=jnp.zeros((lanes, nodes, width), jnp.float32),
        children=jnp.full((lanes, nodes, width, game.feedbacks), -1, jnp.int32),
        nodes=jnp.ones(lanes, jnp.int32),
    )


def _means(visits: Array, totals: Array) -> Array:
    return totals / jnp.maximum(visits, 1).astype(jnp.float32)


def _selected(config: MctsConfig, visits: Array, totals: Array, guesses: Array) -> Array:
    """The place int32[B] of the guess to make, of [B, K]: the first unvisited one, else by the confidence bound."""
    bound = jnp.where(visits > 0, _means(visits, totals) - config.exploration * confidence(visits), -jnp.inf)
    return jnp.argmin(jnp.where(guesses < 0, jnp.inf, bound), axis=-1).astype(jnp.int32)


def _descended(simulator: Simulator, config: MctsConfig, trees: _Trees, possible: Array, secrets: Array) -> _Games:
    """Games played from the roots until they end or leave the tree."""
    lanes, nodes = trees.guesses.shape[:2]
    every = np.arange(lanes)

    def step(games: _Games) -> _Games:
        place = _selected(config, *(tree[every, games.node] for tree in (trees.visits, trees.totals, trees.guesses)))
        rows = simulator.table[trees.guesses[every, games.node, place]]
        feedback = rows[every, secrets]
        possible = games.possible & (rows == feedback[:, None])
        feedback = feedback.astype(jnp.int32)
        child = trees.children[every, games.node, place, feedback]
        ended, rest = simulator.ending(feedback, possible.sum(-1, dtype=jnp.int32))
        path = games.path.at[every, games.made].set(jnp.stack([games.node, place], axis=-1))
        descending = ~ended & (child >= 0) & (games.made + 1 < path.shape[1])
        after = _Games(
            node=jnp.where(descending, child, games.node),
            possible=possible,
            path=path,
            made=games.made + 1,
            rest=jnp.where(ended, rest, -1.0),
            descending=descending,
            feedback=feedback,
        )
        return select(games.descending, after, games)

    zeros, path = jnp.zeros(lanes, jnp.int32), jnp.zeros((lanes, min(_DEPTH, nodes), 2), jnp.int32)
    games = _Games(zeros, possible, path, zeros, jnp.zeros(lanes, jnp.float32), jnp.ones(lanes, bool), zeros)
    return lax.while_loop(lambda games: games.descending.any(), step, games)


def _expanded(trees: _Trees, games: _Games, guesses: Array) -> _Trees:
    """Adds a node with guesses int32[B, K] for each game that arrived at a new position."""
    lanes, nodes = trees.guesses.shape[:2]
    every = np.arange(lanes)
    number = jnp.where(games.new, trees.nodes, nodes)  # out of bounds where there is no new node
    last = games.path[every, games.made - 1]
    parent = jnp.where(games.new, last[:, 0], nodes)
    return trees._replace(
        guesses=trees.guesses.at[every, number].set(guesses, mode="drop"),
        children=trees.children.at[every, parent, last[:, 1], games.feedback].set(trees.nodes, mode="drop"),
        nodes=trees.nodes + games.new.astype(jnp.int32),
    )


def _backed_up(trees: _Trees, games: _Games, total: Array) -> _Trees:
    """Adds the total guesses float32[B] of games to every guess on their paths."""
    lanes, nodes = trees.guesses.shape[:2]
    depth = np.arange(games.path.shape[1], dtype=np.int32)
    node = jnp.where(depth < games.made[:, None], games.path[..., 0], nodes)  # out of bounds beyond the path
    place = np.arange(lanes)[:, None], node, games.path[..., 1]
    return trees._replace(
        visits=trees.visits.at[place].add(1, mode="drop"),
        totals=trees.totals.at[place].add(total[:, None] - depth.astype(np.float32), mode="drop"),
    )
