"""A strategy as a decision tree: grown once from a player, then replayed without any search."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import cache
from jaxsudoku.random import as_key

from .positions import Positions
from .rules import Game, code_text, feedback, feedback_text
from .scoring import scorer

#: Chooses a guess for each of some positions: takes the positions, what was guessed before, int32[n, made], the same
#: number of guesses for all, and a JAX key for what is random; gives the numbers of codes, int[n].
Player = Callable[[Positions, np.ndarray, Array], np.ndarray]


class TreeError(ValueError):
    """A tree that does not find every code."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tree:
    """A strategy: what to guess first, and what after each feedback.

    Attributes:
      game: the game.
      guesses: int32[nodes], numbers of codes; the root is node 0, and each node comes after its parent.
      parents: int32[nodes], -1 for the root.
      feedbacks: int32[nodes], to the parent's guess, after which this node's is made; -1 for the root.
      player: who grew it, in words.
    """

    game: Game
    guesses: np.ndarray
    parents: np.ndarray
    feedbacks: np.ndarray
    player: str = ""

    def __len__(self) -> int:
        return len(self.guesses)

    @functools.cached_property
    def children(self) -> np.ndarray:
        """The node after each feedback, int32[nodes, feedbacks], -1 = none."""
        children = np.full((len(self), self.game.feedbacks), -1, np.int32)
        children[self.parents[1:], self.feedbacks[1:]] = np.arange(1, len(self))
        return children

    @property
    def attempts(self) -> np.ndarray:
        """How many guesses each code takes, int32[size], found by replaying all games.

        Raises:
          TreeError: some code is not found; the message names one and says how far the tree goes.
        """
        return self._replayed[0]

    @functools.cached_property
    def depths(self) -> np.ndarray:
        """The guesses before each node's, int64[nodes]."""
        depths = np.zeros(len(self), np.int64)
        for node, parent in enumerate(self.parents[1:].tolist(), 1):
            depths[node] = depths[parent] + 1
        return depths

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """How many codes come to each node, int64[nodes]; raises as ``attempts``."""
        return self._up(np.ones(self.game.size))

    @functools.cached_property
    def left(self) -> np.ndarray:
        """The guesses that these codes take in the mean from there, that of the node included, float64[nodes].

        It is NaN where no code comes.
        """
        means = self._up(self.attempts) / np.maximum(self.codes, 1) - self.depths
        return np.where(self.codes > 0, means, np.nan)

    def _up(self, of_codes: np.ndarray) -> np.ndarray:
        """Numbers of codes [size] summed up at each node that they come to, int64[nodes]."""
        sums = np.bincount(self._replayed[1], of_codes, len(self)).astype(np.int64)
        for node in range(len(self) - 1, 0, -1):  # children come after their parents
            sums[self.parents[node]] += sums[node]
        return sums

    @functools.cached_property
    def _replayed(self) -> tuple[np.ndarray, np.ndarray]:
        """What ``replay`` gives for all codes of the game; raises as ``attempts``."""
        attempts, nodes = replay(self, self.game.codes)
        lost = np.flatnonzero(attempts == 0)
        if len(lost):
            raise TreeError(_why_lost(self, int(lost[0]), int(nodes[lost[0]])))
        return attempts, nodes

    @property
    def mean(self) -> float:
        """Guesses that a code takes in the mean, all codes alike."""
        return float(self.attempts.mean())

    @property
    def maximum(self) -> int:
        """Guesses that a code takes at most."""
        return int(self.attempts.max())

    @property
    def histogram(self) -> dict[int, int]:
        """How many codes take so many guesses."""
        return {number: int(times) for number, times in enumerate(np.bincount(self.attempts)) if times}


def replay(tree: Tree, secrets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Plays a strategy against secrets, all at once on the device. No table of feedbacks is asked.

    Args:
      tree: the strategy.
      secrets: uint8[n, pegs].

    Returns:
      (attempts int32[n], 0 where the tree ends before it finds the secret; the last node int32[n] of each game).
    """
    attempts, nodes = _replay(tree.game, tree.game.codes[tree.guesses], tree.children, np.asarray(secrets, np.uint8))
    return np.asarray(attempts), np.asarray(nodes)


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: Game, guesses: Array, children: Array, secrets: Array) -> tuple[Array, Array]:
    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        nodes, attempts, made, _ = state
        heard = feedback(game, guesses[nodes], secrets).astype(jnp.int32)
        after = children[nodes, heard]
        attempts = jnp.where((attempts == 0) & (heard == game.win), made, attempts)
        on = (attempts == 0) & (after >= 0)
        return jnp.where(on, after, nodes), attempts, made + 1, on.any()

    nodes = jnp.zeros(len(secrets), jnp.int32)
    state = nodes, nodes, jnp.ones((), jnp.int32), jnp.ones((), bool)
    # a node comes after its parent, so a game takes no more guesses than there are nodes
    nodes, attempts, _, _ = lax.while_loop(lambda state: state[3], step, state)
    return attempts, nodes


def _why_lost(tree: Tree, code: int, node: int) -> str:
    game = tree.game
    heard = int(feedback(game, game.codes[tree.guesses[node]], game.codes[code]))
    return (
        f"the tree does not find {code_text(game, code)}: nothing follows "
        f"{feedback_text(game, heard)} to {code_text(game, int(tree.guesses[node]))}"
    )


# ---------------------------------------------------------------------- growing


@cache.kept()
def grow(
    game: Game,
    choose: Player,
    key: Array | int = 0,
    copies: int = 1,
    player: str = "",
    progress: Callable[[str], None] = lambda text: None,
) -> list[Tree]:
    """Grows the whole strategy of a player: guess by guess, all positions at once.

    Positions of one or two codes are no choice: their codes are guessed in turn.

    Args:
      game: the game.
      choose: the player.
      key: a JAX key or a seed; every guess of a game gets its own.
      copies: trees that are grown together, which differ if the player is random.
      player: who it is, in words, for the trees.
      progress: told how far it is.

    Raises:
      GameError: the table of feedbacks takes more than half of the memory.
      TreeError: the player made a guess that tells nothing.
    """
    key, score = as_key(key), scorer(game)
    positions = Positions.of([np.arange(game.size)]).take(np.zeros(copies, np.int64))
    tree, parents = np.arange(copies), np.full(copies, -1)
    history = np.zeros((copies, 0), np.int32)
    heard = np.full(copies, -1)
    levels: list[tuple[np.ndarray, ...]] = []
    nodes = np.zeros(copies, np.int64)  # of each tree so far
    while len(positions):
        progress(f"guess {len(levels) + 1}: {len(positions):,} positions of {len(positions.codes):,} codes")
        guesses = positions.codes[positions.bounds[:-1]].copy()
        (open_,) = np.nonzero(positions.sizes > 2)
        if len(open_):
            guesses[open_] = choose(positions.take(open_), history[open_], jax.random.fold_in(key, len(levels)))
        parts = score.split(positions, guesses)
        stuck = (parts.parts.sizes == positions.sizes[parts.owner]) & (parts.feedback != game.win)
        if stuck.any():
            guess = int(guesses[parts.owner[np.argmax(stuck)]])
            raise TreeError(f"{player or 'the player'} guesses {code_text(game, guess)}, which tells nothing there")
        order = np.argsort(tree, kind="stable")
        within = np.empty(len(tree), np.int64)
        within[order] = np.arange(len(tree)) - np.searchsorted(tree[order], tree[order])
        numbers = nodes[tree] + within
        levels.append((tree, guesses, parents, heard))
        nodes += np.bincount(tree, minlength=copies)
        (on,) = np.nonzero(parts.feedback != game.win)
        owner = parts.owner[on]
        positions, heard = parts.parts.take(on), parts.feedback[on]
        tree, parents = tree[owner], numbers[owner]
        history = np.concatenate([history[owner], guesses[owner, None].astype(np.int32)], axis=1)
    tree, guesses, parents, heard = (np.concatenate(each) for each in zip(*levels, strict=True))
    order = np.argsort(tree, kind="stable")
    cuts = np.cumsum(nodes)[:-1]
    columns = (np.split(column[order].astype(np.int32), cuts) for column in (guesses, parents, heard))
    return [Tree(game, guess, parent, after, player) for guess, parent, after in zip(*columns, strict=True)]
