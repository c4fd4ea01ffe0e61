"""Player by Stochastic MuZero's search (Antonoglou et al. 2022) in mctx, with the rules of the game as model.

A guess leads to an afterstate; its chance outcomes are the feedbacks, each with a probability in proportion to its
codes; an outcome leads to the next position. A guess costs 1. Positions of at most two codes have exact values, others
values from rollouts. Guesses with more parts have a higher prior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from jax import Array

from .feedbacks import pack, unpack, words
from .player_config import StochasticMuZeroConfig
from .players import Policy, Progress
from .rollouts import Roots, Simulator, searching_policy, secure_child
from .rules import Game

#: The logit of impossible actions and outcomes.
_IMPOSSIBLE = np.finfo(np.float32).min


def stochastic_muzero(game: Game, config: StochasticMuZeroConfig, progress: Progress) -> Policy:
    """The player that searches each position and guesses the secure child."""
    width = min(config.width, game.size)
    # mctx stores seven numbers for each action, guesses and feedbacks, and the embedding and statistics of each node
    tree_bytes = 4 * (config.simulations + 1) * (7 * (width + game.feedbacks) + 2 * words(game) + width + 6)
    return searching_policy(game, config, width, tree_bytes, _search)


class _Embedding(NamedTuple):
    """Positions, or afterstates, in the trees of mctx.

    Attributes:
      possible: uint32[B, words], the codes that may be the secret, as bits.
      guesses: int32[B, width], the candidate guesses, -1 = none; of an afterstate int32[B], the guess.
    """

    possible: Array
    guesses: Array


class _Model:
    """The recurrent functions of mctx, which need no parameters."""

    def __init__(self, simulator: Simulator, width: int) -> None:
        self._simulator, self._width = simulator, width

    def decision(
        self, params: None, key: Array, place: Array, state: _Embedding
    ) -> tuple[mctx.DecisionRecurrentFnOutput, _Embedding]:
        """Applies guesses: the probability of each feedback, and a rollout."""
        # mctx calls this at chance nodes too, and drops the result
        place = jnp.clip(place, 0, self._width - 1)
        guess = jnp.maximum(jnp.take_along_axis(state.guesses, place[:, None], axis=1)[:, 0], 0)
        game = self._simulator.game
        possible = unpack(game, state.possible)
        rows = self._simulator.table[guess]
        numbers = np.arange(game.feedbacks, dtype=np.uint8)
        counts = ((rows[:, None] == numbers[:, None]) & possible[:, None]).sum(-1, dtype=jnp.int32)
        logits = jnp.where(counts > 0, jnp.log(counts.astype(jnp.float32)), _IMPOSSIBLE)
        secrets = _drawn(key, possible)
        feedback = jnp.take_along_axis(rows, secrets[:, None], axis=1)
        value = -1 - self._rest(key, possible & (rows == feedback), secrets, feedback[:, 0])
        output = mctx.DecisionRecurrentFnOutput(chance_logits=logits, afterstate_value=value)
        return output, _Embedding(state.possible, guess)

    def chance(
        self, params: None, key: Array, feedback: Array, after: _Embedding
    ) -> tuple[mctx.ChanceRecurrentFnOutput, _Embedding]:
        """Applies feedback: the remaining possible codes, and a rollout."""
        game = self._simulator.game
        feedback = jnp.clip(feedback, 0, game.feedbacks - 1)
        rows = self._simulator.table[after.guesses]
        possible = unpack(game, after.possible) & (rows == feedback[:, None].astype(jnp.uint8))
        sizes = possible.sum(-1, dtype=jnp.int32)
        rest = self._rest(key, possible, _drawn(key, possible), feedback)
        ended, _ = self._simulator.ending(feedback, sizes)
        guesses = self._simulator.candidates(possible, ~ended & (sizes > 0), self._width)
        output = mctx.ChanceRecurrentFnOutput(
            action_logits=prior_logits(guesses),
            value=jnp.where(ended, 0.0, -rest),
            reward=jnp.where(ended, -1 - rest, -1.0),
            discount=jnp.where(ended, 0.0, 1.0),
        )
        return output, _Embedding(pack(possible), guesses)

    def _rest(self, key: Array, possible: Array, secrets: Array, feedback: Array) -> Array:
        """The remaining guesses, float32[B]: the mean if at most two codes are left, else those of a rollout."""
        ended, rest = self._simulator.ending(feedback, possible.sum(-1, dtype=jnp.int32))
        return jnp.where(ended, rest, self._simulator.rollout(possible, secrets, _seeds(key, secrets), ~ended))


def prior_logits(guesses: Array) -> Array:
    """Prior logits float32[B, width] of guesses int32[B, width]: the k-th has 1/k of the first one's probability.

    Positions without guesses have logits at all places.
    """
    present = (guesses >= 0) | (guesses < 0).all(-1, keepdims=True)
    ranks = np.arange(1, guesses.shape[-1] + 1, dtype=np.float32)
    return jnp.where(present, -np.log(ranks), _IMPOSSIBLE).astype(jnp.float32)


def _drawn(key: Array, possible: Array) -> Array:
    """A random code int32[B] of each set bool[B, secrets]; an arbitrary code for an empty set."""
    bits = jax.random.bits(key, possible.shape, jnp.uint32) | np.uint32(1)
    return jnp.argmax(jnp.where(possible, bits, np.uint32(0)), axis=-1).astype(jnp.int32)


def _seeds(key: Array, secrets: Array) -> Array:
    """Seeds uint32[B] of rollouts."""
    return jax.random.bits(jax.random.fold_in(key, 1), secrets.shape, jnp.uint32)


def _search(simulator: Simulator, config: StochasticMuZeroConfig, roots: Roots, key: Array) -> Array:
    """The guesses for positions; a ``rollouts.Search``."""
    lanes, width = roots.guesses.shape
    model = _Model(simulator, width)
    possible = simulator.masks(roots)
    root_key, search_key = jax.random.split(key)
    secrets = _drawn(root_key, possible)
    rest = simulator.rollout(possible, secrets, _seeds(root_key, secrets), jnp.ones(lanes, bool))
    embedding = _Embedding(pack(possible), roots.guesses)
    root = mctx.RootFnOutput(prior_logits=prior_logits(roots.guesses), value=-rest, embedding=embedding)
    with jax.numpy_dtype_promotion("standard"):
        output: Any = mctx.stochastic_muzero_policy(
            None,
            search_key,
            root,
            model.decision,
            model.chance,
            num_simulations=config.simulations,
            invalid_actions=roots.guesses < 0,
            dirichlet_fraction=0.0,
            pb_c_init=config.exploration,
        )
    summary = output.search_tree.summary()
    # the first actions are guesses, the others feedbacks
    return secure_child(roots.guesses, summary.visit_counts[:, :width], -summary.qvalues[:, :width], 1.0)
