"""A player by Stochastic MuZero's search (Antonoglou et al. 2022), as mctx has it, with the rules for its model.

A guess leads to an afterstate, whose chance outcomes are the feedbacks, as likely as there are codes that would give
them; an outcome leads to the next position. A guess costs one; where at most two codes are left the rest of the game is
known. What a position is worth beyond that is what a random game from it takes, and a guess is the likelier beforehand
the more it parts a position.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from jax import Array

from .config import StochasticMuZeroConfig
from .rollouts import as_sets, dividing, ending, random_game, safest, search_player
from .rules import Game, pack, unpack, words
from .trees import Player

#: The logit of what can't be.
_ABSENT = np.finfo(np.float32).min


def stochastic_muzero_player(game: Game, config: StochasticMuZeroConfig) -> Player:
    """The guess that a search finds safest."""
    width = min(config.width, game.size)
    # mctx keeps seven numbers for each move, guesses and feedbacks, and what stands at each node
    tree = 4 * (config.simulations + 1) * (7 * (width + game.feedbacks) + 2 * words(game) + width + 6)
    return search_player(game, config, width, tree, _search)


class _State(NamedTuple):
    """Positions, as mctx's tree keeps them.

    Attributes:
      possible: uint32[B, words], the codes that may be the secret, as bits.
      guesses: int32[B, width], to choose from, -1 = none.
    """

    possible: Array
    guesses: Array


class _Afterstate(NamedTuple):
    """Positions after a guess.

    Attributes:
      possible: uint32[B, words], the codes that may be the secret, as bits.
      guess: int32[B].
    """

    possible: Array
    guess: Array


class _Model:
    """The rules as a model; its parameters are the table of feedbacks."""

    def __init__(self, game: Game, width: int, room: int, together: int) -> None:
        self._game, self._width, self._room, self._together = game, width, room, together

    def guess(
        self, table: Array, key: Array, place: Array, state: _State
    ) -> tuple[mctx.DecisionRecurrentFnOutput, _Afterstate]:
        """Makes guesses: how likely each feedback is, and a random game with it."""
        # mctx asks for chance nodes too, and throws away what it hears
        place = jnp.clip(place, 0, self._width - 1)
        guess = jnp.maximum(jnp.take_along_axis(state.guesses, place[:, None], axis=1)[:, 0], 0)
        possible = unpack(self._game, state.possible)
        rows = table[guess]
        numbers = np.arange(self._game.feedbacks, dtype=np.uint8)
        counts = ((rows[:, None] == numbers[:, None]) & possible[:, None]).sum(-1, dtype=jnp.int32)
        logits = jnp.where(counts > 0, jnp.log(counts.astype(jnp.float32)), _ABSENT)
        secret = _drawn(key, possible)
        heard = jnp.take_along_axis(rows, secret[:, None], axis=1)
        value = -1 - self._rest(table, key, possible & (rows == heard), secret, heard[:, 0])
        output = mctx.DecisionRecurrentFnOutput(chance_logits=logits, afterstate_value=value)
        return output, _Afterstate(state.possible, guess)

    def hear(
        self, table: Array, key: Array, heard: Array, after: _Afterstate
    ) -> tuple[mctx.ChanceRecurrentFnOutput, _State]:
        """Hears feedbacks: what is still possible then, and a random game from there."""
        heard = jnp.clip(heard, 0, self._game.feedbacks - 1)
        possible = unpack(self._game, after.possible) & (table[after.guess] == heard[:, None].astype(jnp.uint8))
        sizes = possible.sum(-1, dtype=jnp.int32)
        rest = self._rest(table, key, possible, _drawn(key, possible), heard)
        known, _ = ending(self._game, heard, sizes)
        guesses = dividing(self._game, table, possible, ~known & (sizes > 0), self._room, self._width, self._together)
        output = mctx.ChanceRecurrentFnOutput(
            action_logits=self.logits(guesses),
            value=jnp.where(known, 0.0, -rest),
            reward=jnp.where(known, -1 - rest, -1.0),
            discount=jnp.where(known, 0.0, 1.0),
        )
        return output, _State(pack(possible), guesses)

    def logits(self, guesses: Array) -> Array:
        """Of guesses int32[B, width] the k-th is 1/k times as likely as the first; without any, of places."""
        there = (guesses >= 0) | (guesses < 0).all(-1, keepdims=True)
        ranks = np.arange(1, guesses.shape[-1] + 1, dtype=np.float32)
        return jnp.where(there, -np.log(ranks), _ABSENT).astype(jnp.float32)

    def _rest(self, table: Array, key: Array, possible: Array, secrets: Array, heard: Array) -> Array:
        """Guesses float32[B] that follow: in the mean where no more than two codes are left, else in a random game."""
        sizes = possible.sum(-1, dtype=jnp.int32)
        known, rest = ending(self._game, heard, sizes)
        seeds = jax.random.bits(jax.random.fold_in(key, 1), secrets.shape, jnp.uint32)
        return jnp.where(known, rest, random_game(self._game, table, possible, secrets, seeds, ~known))


def _drawn(key: Array, possible: Array) -> Array:
    """A random code int32[B] of each set bool[B, size]; of an empty one any."""
    bits = jax.random.bits(key, possible.shape, jnp.uint32) | np.uint32(1)
    return jnp.argmax(jnp.where(possible, bits, np.uint32(0)), axis=-1).astype(jnp.int32)


def _search(
    game: Game,
    config: StochasticMuZeroConfig,
    together: int,
    table: Array,
    codes: Array,
    sizes: Array,
    first: Array,
    key: Array,
) -> Array:
    """The guesses for positions, as ``rollouts.Search`` has it."""
    model = _Model(game, first.shape[1], codes.shape[1], together)
    possible = as_sets(game, codes, sizes)
    of_root, of_search = jax.random.split(key)
    secrets = _drawn(of_root, possible)
    seeds = jax.random.bits(jax.random.fold_in(of_root, 1), secrets.shape, jnp.uint32)
    played = random_game(game, table, possible, secrets, seeds, jnp.ones(len(codes), bool))
    root = mctx.RootFnOutput(prior_logits=model.logits(first), value=-played, embedding=_State(pack(possible), first))
    with jax.numpy_dtype_promotion("standard"):
        found: Any = mctx.stochastic_muzero_policy(
            table,
            of_search,
            root,
            model.guess,
            model.hear,
            num_simulations=config.simulations,
            invalid_actions=first < 0,
            dirichlet_fraction=0.0,
            pb_c_init=config.exploration,
        )
    root = found.search_tree.summary()
    guesses = slice(first.shape[1])  # of all moves; the rest are feedbacks
    return safest(first, root.visit_counts[:, guesses], -root.qvalues[:, guesses], 1.0)
