"""Components of the tree searches on the device: candidate guesses, rollouts, and the choice of a guess."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.devices import compiler_options
from jaxsudoku.runtime.random import APART, mix

from .feedbacks import by_secrets
from .greedy import part_cost
from .parts import Block, part_numbers
from .players import Policy
from .positions import Positions, histories_of
from .rules import Game, check_memory
from .score_programs import map_positions
from .scoring import Scorer, scorer

#: Compiled numbers of positions that are searched together.
LANES = (1, 16, 64)

#: Compiled sizes of positions, besides the size of the game.
_ROOMS = (64,)

#: Maximum size in bytes of the trees of all positions searched together.
_TREES = 1 << 30


class Roots(NamedTuple):
    """B positions to search.

    Attributes:
      codes: int32[B, most], the codes that may be the secret, in the first ``sizes`` places.
      sizes: int32[B].
      guesses: int32[B, width], the candidate guesses, -1 = none.
    """

    codes: Array
    sizes: Array
    guesses: Array


@dataclasses.dataclass(frozen=True)
class Simulator:
    """The rules of a game on the device; positions are masks of the codes that may be the secret.

    Attributes:
      game: the game.
      table: uint8[size, secrets], the feedback table.
      most: the largest number of codes of a position.
      batch: positions whose candidate guesses are computed together.
    """

    game: Game
    table: Array
    most: int
    batch: int

    def masks(self, roots: Roots) -> Array:
        """The positions as bool[B, secrets]."""
        lanes, most = roots.codes.shape
        within = np.arange(most, dtype=np.int32) < roots.sizes[:, None]
        places = jnp.where(within, roots.codes, np.int32(self.game.secrets))
        empty = jnp.zeros((lanes, self.game.secrets), bool)
        return empty.at[np.arange(lanes)[:, None], places].set(True, mode="drop")

    def candidates(self, possible: Array, wanted: Array, width: int) -> Array:
        """The function ``candidates`` on the device, over all codes: int32[B, width], -1 = none.

        Of the positions bool[B, secrets], those that are not ``wanted``, bool[B], get no candidates.
        """

        def of_position(position: tuple[Array, Array]) -> Array:
            possible, wanted = position

            def ranked() -> Array:
                (codes,) = jnp.nonzero(possible, size=-(-self.most // 8) * 8, fill_value=0)
                size = possible.sum(dtype=jnp.int32)
                codes, rows = codes.astype(jnp.int32), by_secrets(self.game, self.table)
                parts = part_numbers(Block(rows), self.game.feedbacks, codes, size).astype(jnp.int32)
                bonus = jnp.zeros_like(parts).at[: self.game.secrets].set(possible.astype(jnp.int32))
                scores, guesses = lax.top_k(2 * parts + bonus, width)
                return jnp.where(scores > 2, guesses, -1).astype(jnp.int32)  # with two parts or more

            guesses: Array = lax.cond(wanted, ranked, lambda: jnp.full(width, -1, jnp.int32))
            return guesses

        guesses: Array = map_positions(of_position, (possible, wanted), np.int32(len(possible)), self.batch)
        return guesses

    def rollout(self, possible: Array, secrets: Array, seeds: Array, playing: Array) -> Array:
        """Rollouts: plays games to the end with random possible codes; returns the number of guesses float32[B].

        The positions are bool[B, secrets], ``secrets`` int32[B], ``seeds`` uint32[B]. Games that are not ``playing``,
        bool[B], take no guess.
        """
        lanes = np.arange(len(secrets))

        def guess(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            possible, playing, made, seeds = state
            seeds = mix(seeds + APART)
            drawn = mix(seeds[:, None] + np.arange(self.game.secrets, dtype=np.uint32) * APART) | np.uint32(1)
            rows = self.table[jnp.argmax(jnp.where(possible, drawn, np.uint32(0)), axis=-1)]
            feedback = rows[lanes, secrets]
            possible = possible & (rows == feedback[:, None])
            return possible, playing & (feedback != self.game.win), made + playing.astype(jnp.int32), seeds

        state = possible, playing, jnp.zeros(len(secrets), jnp.int32), seeds
        return lax.while_loop(lambda state: state[1].any(), guess, state)[2].astype(jnp.float32)

    def ending(self, feedback: Array, sizes: Array) -> tuple[Array, Array]:
        """Whether rollouts can end, from the last feedback int[B] and the number of codes left int32[B].

        Returns:
          (whether the secret is found or at most two codes are left bool[B]; in this case the mean number of remaining
          guesses float32[B]).
        """
        won = feedback == self.game.win
        rest = jnp.where(won, 0.0, jnp.where(sizes == 1, 1.0, 1.5)).astype(jnp.float32)
        return won | (sizes <= 2), rest


#: A search on the device: (simulator, the player's settings, roots, a JAX key) -> guesses int32[B].
Search = Callable[[Simulator, Any, Roots, Array], Array]


def searching_policy(game: Game, config: Any, width: int, tree_bytes: int, search: Search) -> Policy:
    """The policy of a search, run for many positions together.

    Args:
      game: the game.
      config: the search's settings, hashable.
      width: candidate guesses of a position.
      tree_bytes: the size of a position's tree.
      search: the search.

    Raises:
      GameError: a tree takes more than half of the memory.
    """
    check_memory(tree_bytes, f"{game}: the tree of a search")
    together = max(lanes for lanes in LANES if lanes == 1 or lanes * tree_bytes <= _TREES)
    score = scorer(game)

    def policy(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        guesses = np.zeros(len(positions), np.int32)
        order = np.argsort(positions.sizes, kind="stable")  # searches of similar size take about as long
        for number, start in enumerate(range(0, len(order), together)):
            indices = order[start : start + together]
            lanes = next(lanes for lanes in LANES if lanes >= len(indices))
            rows = np.resize(indices, lanes)  # spare lanes repeat positions
            chosen = positions.take(rows)
            room = next((room for room in _ROOMS if room >= chosen.sizes.max()), game.secrets)
            arrays = chosen.padded(room), chosen.sizes.astype(np.int32), candidates(score, chosen, history[rows], width)
            roots = Roots(*jax.device_put(arrays))
            run = _compiled(search, game, config, score.platform)
            guesses[indices] = np.asarray(run(score.table, roots, jax.random.fold_in(key, number)))[: len(indices)]
        return guesses

    return policy


@functools.lru_cache(maxsize=64)
def _compiled(search: Search, game: Game, config: Any, platform: str) -> Callable[[Array, Roots, Array], Array]:
    def run(table: Array, roots: Roots, key: Array) -> Array:
        batch = 1 if platform == "cpu" else LANES[-1]
        return search(Simulator(game, table, roots.codes.shape[1], batch), config, roots, key)

    return jax.jit(run, compiler_options=compiler_options(platform))


def candidates(score: Scorer, positions: Positions, history: np.ndarray, width: int) -> np.ndarray:
    """The guesses with the most parts for each position, the best first, int32[n, width], -1 = none.

    They have at least two parts, and there is one per orbit after the guesses so far, int32[n, made].
    """
    cost = part_cost(score.game, "most-parts")
    guesses = np.full((len(positions), width), -1, np.int32)
    for index, found, scores in score.ranked(positions, cost, histories_of(history, len(positions))):
        found = found[scores < cost.by_size[1]][:width]
        guesses[index, : len(found)] = found
    return guesses


def confidence(visits: AnyArray) -> Array:
    """The confidence radius of UCB1 (Auer et al. 2002) without its scale, float32[B, width]: sqrt(log total / visits).

    ``visits``, int32[B, width], are the games of each guess; 0 counts as 1.
    """
    total = jnp.maximum(visits.sum(-1, keepdims=True), 1)
    return jnp.sqrt(jnp.log(total.astype(jnp.float32)) / jnp.maximum(visits, 1).astype(jnp.float32))


def secure_child(guesses: AnyArray, visits: AnyArray, means: AnyArray, scale: float) -> Array:
    """The guess with the lowest upper confidence bound of its mean (the secure child, Chaslot et al. 2008).

    Args:
      guesses: int32[B, width], code numbers.
      visits: int32[B, width], the games of each guess; guesses without games are not chosen.
      means: float32[B, width], the mean number of guesses of these games.
      scale: factor of ``confidence``, in guesses.

    Returns:
      int32[B], code numbers.
    """
    upper = jnp.where(visits > 0, means + scale * confidence(visits), jnp.inf)
    return jnp.take_along_axis(jnp.asarray(guesses), jnp.argmin(upper, axis=-1)[:, None], axis=1)[:, 0]
