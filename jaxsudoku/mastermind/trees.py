"""Strategies as decision trees: grown once from a policy, then replayed without search."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.pictures import Picture
from jaxsudoku.runtime import cache
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import whole_number

from . import feedbacks
from .games import as_game
from .pegs import tree_picture
from .players import Policy, Progress
from .positions import History, Positions, after
from .rules import Game, check_guesses, check_numbers, check_pegs
from .scoring import scorer


class TreeError(ValueError):
    """Raised for a tree that does not find every code."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tree:
    """A strategy: the first guess, and the next one after each feedback.

    Attributes:
      game: the game.
      guesses: int32[nodes], code numbers; the root is node 0, and each node comes after its parent.
      parents: int32[nodes], -1 for the root.
      feedbacks: int32[nodes], the feedback to the parent's guess that leads to the node; -1 for the root.
      player: the name of the player that the tree was grown from.

    Raises:
      CodeError: an invalid code or feedback.
      TreeError: the arrays differ in length, or a node does not come after its parent.
    """

    game: Game
    guesses: np.ndarray
    parents: np.ndarray
    feedbacks: np.ndarray
    player: str = ""

    def __post_init__(self) -> None:
        game, number = self.game, np.size(self.guesses)
        if number == 0 or {np.shape(array) for array in (self.guesses, self.parents, self.feedbacks)} != {(number,)}:
            raise TreeError("guesses, parents and feedbacks must be arrays [nodes] of one length, 1 or more")
        check_numbers("code", self.guesses, game.size)
        check_numbers("feedback", self.feedbacks[1:], game.feedbacks)
        if self.parents[0] != -1 or not ((self.parents[1:] >= 0) & (self.parents[1:] < np.arange(1, number))).all():
            raise TreeError("each node but the first must come after its parent")

    def __len__(self) -> int:
        return len(self.guesses)

    @functools.cached_property
    def children(self) -> np.ndarray:
        """The node after each feedback, int32[nodes, feedbacks], -1 = none."""
        children = np.full((len(self), self.game.feedbacks), -1, np.int32)
        children[self.parents[1:], self.feedbacks[1:]] = np.arange(1, len(self))
        return children

    @functools.cached_property
    def depths(self) -> np.ndarray:
        """The number of guesses before each node's, int64[nodes]."""
        depths = np.zeros(len(self), np.int64)
        for node, parent in enumerate(self.parents[1:].tolist(), 1):
            depths[node] = depths[parent] + 1
        return depths

    def picture(self, guesses: int = 2, most: int = 60) -> Picture:
        """The first guesses of the strategy as a picture, which a notebook shows.

        A row has the feedback to the previous guess (full: right pegs; rings: right colours elsewhere), the guess, the
        number of codes that reach it, and their mean number of guesses from this one on.

        Args:
          guesses: number of guesses of a game to draw.
          most: maximum number of rows; a note gives the number of guesses left out.

        Raises:
          TreeError: some code is not found.
          ValueError: ``guesses`` or ``most`` is below 1.
        """
        whole_number("guesses", guesses, 1)
        whole_number("most", most, 1)
        nodes = list(self.walk(guesses))
        rows = [(depth, int(self.feedbacks[node]), int(self.guesses[node]), self._note(node)) for node, depth in nodes]
        title = f"the strategy {self.player or 'of a tree'} for {self.game}, its first {guesses} guesses"
        return tree_picture(self.game, rows[:most], max(len(nodes) - most, 0), title)

    def _note(self, node: int) -> str:
        codes, remaining = self.codes[node], self.remaining[node]
        return f"{codes:,} codes, {remaining:.3f} guesses on average" if codes > 1 else ""

    def walk(self, guesses: int) -> Iterator[tuple[int, int]]:
        """The nodes of the first guesses with their depths, in depth-first order and by feedback."""
        stack = [0]
        while stack:
            node = stack.pop()
            depth = int(self.depths[node])
            yield node, depth
            if depth + 1 < guesses:
                stack += [child for child in self.children[node, ::-1].tolist() if child >= 0]

    def _repr_svg_(self) -> str:
        return self.picture().svg

    @functools.cached_property
    def _games(self) -> tuple[np.ndarray, np.ndarray]:
        """``replay`` of all codes of the game; raises as ``attempts``."""
        attempts, nodes = replay(self, self.game.codes[: self.game.secrets])
        lost = np.flatnonzero(attempts == 0)
        if len(lost):
            game, code, guess = self.game, int(lost[0]), int(self.guesses[nodes[lost[0]]])
            feedback = int(feedbacks.feedback_of(game, np.array(guess), np.array(code)))
            answer = game.answer_text(guess, feedback)
            raise TreeError(f"the tree does not find {game.code_text(code)}: nothing follows {answer}")
        return attempts, nodes

    @property
    def attempts(self) -> np.ndarray:
        """The number of guesses that each code takes, int32[secrets], found by replaying all games.

        Raises:
          TreeError: some code is not found; the message names one and the feedback without a next guess.
        """
        return self._games[0]

    @property
    def last_nodes(self) -> np.ndarray:
        """The node at which each code is guessed, int32[secrets]; raises as ``attempts``."""
        return self._games[1]

    @property
    def mean(self) -> float:
        """The mean number of guesses, over all codes."""
        return float(self.attempts.mean())

    @property
    def maximum(self) -> int:
        """The largest number of guesses."""
        return int(self.attempts.max())

    @property
    def histogram(self) -> dict[int, int]:
        """The number of codes by number of guesses."""
        return {number: int(codes) for number, codes in enumerate(np.bincount(self.attempts)) if codes}

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """The number of codes that reach each node, int64[nodes]; raises as ``attempts``."""
        return self._subtree_sums(np.ones(self.game.secrets))

    @functools.cached_property
    def remaining(self) -> np.ndarray:
        """The mean number of guesses from each node on, its own included, float64[nodes]; NaN if no code reaches it."""
        means = self._subtree_sums(self.attempts) / np.maximum(self.codes, 1) - self.depths
        return np.where(self.codes > 0, means, np.nan)

    def _subtree_sums(self, numbers: np.ndarray) -> np.ndarray:
        """The sums int64[nodes] of the numbers [secrets] of all codes that reach a node."""
        sums = np.bincount(self.last_nodes, numbers, len(self)).astype(np.int64)
        for node in range(len(self) - 1, 0, -1):  # children come after their parents
            sums[self.parents[node]] += sums[node]
        return sums


class Node(NamedTuple):
    """A position of a strategy: its codes int32[n], the guesses before it, its guess, and its total."""

    codes: np.ndarray
    history: History
    guess: int
    total: int


def nodes(tree: Tree) -> Iterator[Node]:
    """The positions of more than two codes of a strategy; raises TreeError if it does not find every code."""
    totals, codes, above = np.rint(tree.remaining * tree.codes), np.arange(tree.game.secrets), tree.last_nodes
    pairs = []  # pairs of a node and a code that reaches it
    while len(above):
        pairs.append((above, codes))
        inner = above > 0
        above, codes = tree.parents[above[inner]], codes[inner]
    owner, reaching = np.concatenate(pairs, axis=1)
    reaching = reaching[np.lexsort((reaching, owner))].astype(np.int32)
    positions = np.split(reaching, np.cumsum(tree.codes)[:-1])
    histories: list[History] = [()]
    for parent in tree.parents[1:].tolist():
        histories.append(after(histories[parent], int(tree.guesses[parent])))
    for node in np.flatnonzero(tree.codes > 2).tolist():
        yield Node(positions[node], histories[node], int(tree.guesses[node]), int(totals[node]))


def replay(tree: Tree, secrets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Plays a strategy against secrets, all at once on the device, by ``Game.compare`` instead of the table.

    Args:
      tree: the strategy.
      secrets: uint8[n, places].

    Returns:
      (attempts int32[n], 0 if the tree ends before it finds the secret; the last node int32[n] of each game).

    Raises:
      CodeError: the secrets are not codes place by place.
    """
    secrets = check_pegs(tree.game, "secrets", secrets)
    missing = (1 << (len(tree) - 1).bit_length()) - len(tree)  # to a power of two, so that few sizes are compiled
    guesses, children = (
        np.pad(array, ((0, missing), (0, 0))) for array in (tree.game.codes[tree.guesses], tree.children)
    )
    attempts, nodes = _replay(tree.game, guesses, children, secrets)
    return np.asarray(attempts), np.asarray(nodes)


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: Game, guesses: Array, children: Array, secrets: Array) -> tuple[Array, Array]:
    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        nodes, attempts, made, _ = state
        feedback = feedbacks.feedback(game, guesses[nodes], secrets).astype(jnp.int32)
        following = children[nodes, feedback]
        attempts = jnp.where((attempts == 0) & (feedback == game.win), made, attempts)
        playing = (attempts == 0) & (following >= 0)
        return jnp.where(playing, following, nodes), attempts, made + 1, playing.any()

    nodes = jnp.zeros(len(secrets), jnp.int32)
    state = nodes, nodes, jnp.ones((), jnp.int32), jnp.ones((), bool)
    # each step moves to a later node, so the loop ends
    nodes, attempts, _, _ = lax.while_loop(lambda state: state[3], step, state)
    return attempts, nodes


# ---------------------------------------------------------------------- growth


@cache.kept()
def grow(
    game: Game | str,
    policy: Policy,
    key: Array | int = 0,
    copies: int = 1,
    player: str = "",
    progress: Progress = lambda text: None,
) -> list[Tree]:
    """Grows the whole strategy of a policy level by level, for all positions of a level at once.

    The policy is not called for positions of one or two codes: their codes are guessed in turn.

    Args:
      game: the game, or its name, as ``as_game`` takes it.
      policy: chooses the guesses.
      key: a JAX key or a seed; each guess of a game gets its own key.
      copies: number of trees grown together; they differ if the policy is random.
      player: a name for the trees.
      progress: called with a text at each guess.

    Raises:
      GameError: the codes, and their feedback with a block of guesses, take more than half of the memory.
      TreeError: the policy made a guess that gives no information.
      CodeError: it made a guess that is not a code.
    """
    game, key = as_game(game), as_key(key)
    score = scorer(game)
    positions = Positions.everything(game, copies)
    tree, parents, feedback = np.arange(copies), np.full(copies, -1), np.full(copies, -1)
    history = np.zeros((copies, 0), np.int32)
    levels: list[tuple[np.ndarray, ...]] = []
    nodes = 0
    while len(positions):
        progress(f"guess {len(levels) + 1}: {len(positions):,} positions of {len(positions.codes):,} codes")
        guesses = positions.codes[positions.bounds[:-1]].copy()
        (several,) = np.nonzero(positions.sizes > 2)
        if len(several):
            level_key = jax.random.fold_in(key, len(levels))
            chosen = policy(positions.take(several), history[several], level_key)
            guesses[several] = check_guesses(game, chosen, len(several))
        found = score.partition(positions, guesses)
        if found.useless.any():
            code = game.code_text(int(guesses[np.argmax(found.useless)]))
            raise TreeError(f"{player or 'the player'} guesses {code}, which gives no information at a position")
        levels.append((tree, guesses, parents, feedback))
        (unsolved,) = np.nonzero(~found.won)
        owner = found.owner[unsolved]
        positions, feedback = found.parts.take(unsolved), found.feedback[unsolved]
        tree, parents = tree[owner], nodes + owner
        nodes += len(guesses)
        history = np.concatenate([history[owner], guesses[owner, None].astype(np.int32)], axis=1)
    return _separated(game, levels, player)


def _separated(game: Game, levels: Sequence[tuple[np.ndarray, ...]], player: str) -> list[Tree]:
    """Separates trees, given as levels of (tree, guesses, parents, feedbacks); parents count over all levels."""
    tree, guesses, parents, feedback = (np.concatenate(column) for column in zip(*levels, strict=True))
    order = np.argsort(tree, kind="stable")
    sizes = np.bincount(tree)
    starts = np.cumsum(sizes) - sizes
    number = np.empty(len(tree), np.int64)
    number[order] = np.arange(len(tree)) - starts[tree[order]]
    parents = np.where(parents < 0, -1, number[parents])
    columns = (np.split(column[order].astype(np.int32), starts[1:]) for column in (guesses, parents, feedback))
    return [Tree(game, guess, parent, after, player) for guess, parent, after in zip(*columns, strict=True)]
