"""What tree searches share: the guesses worth trying, random games to the end, and the choice after the search."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.batches import compiler_options
from jaxsudoku.random import APART, mix

from .greedy import worth
from .positions import Positions
from .rules import Game, check_memory
from .scoring import Scorer, each, part_numbers, scorer
from .symmetry import first_of_kind
from .trees import Player

#: Positions that are searched together, and how large they are, as far as compiled shapes go.
LANES = (1, 16, 64)
_ROOMS = (64,)

#: Bytes that the trees of positions that are searched together may take.
_TREES = 1 << 30

#: A search on the device: a game, a player's settings, how many positions are looked at together; the feedbacks
#: uint8[size, size], positions int32[B, room], of which the first ``sizes`` int32[B] codes count, the guesses to choose
#: from int32[B, width], -1 = none, and a key; to the guesses int32[B].
Search = Callable[[Game, Any, int, Array, Array, Array, Array, Array], Array]


@functools.lru_cache(maxsize=64)
def _compiled(search: Search, game: Game, config: Any, platform: str) -> Callable[..., Array]:
    together = 1 if platform == "cpu" else LANES[-1]
    return jax.jit(functools.partial(search, game, config, together), compiler_options=compiler_options(platform))


def search_player(game: Game, config: Any, width: int, tree_bytes: int, search: Search) -> Player:
    """A player that searches many positions together.

    Args:
      game: the game.
      config: the search's settings, hashable.
      width: guesses to choose from.
      tree_bytes: what a position's tree takes.
      search: the search.

    Raises:
      GameError: a tree takes more than half of the memory.
    """
    check_memory(tree_bytes, f"{game}: the tree of a search")
    together = max(lanes for lanes in LANES if lanes == 1 or lanes * tree_bytes <= _TREES)
    score = scorer(game)

    def choose(positions: Positions, history: np.ndarray, key: Array) -> np.ndarray:
        guesses = np.zeros(len(positions), np.int32)
        order = np.argsort(positions.sizes, kind="stable")  # what is searched together takes about as long
        for number, start in enumerate(range(0, len(order), together)):
            some = order[start : start + together]
            lanes = next(lanes for lanes in LANES if lanes >= len(some))
            rows = np.resize(some, lanes)  # lanes that are left over search again
            looked = positions.take(rows)
            room = next((room for room in _ROOMS if room >= looked.sizes.max()), game.size)
            found = _compiled(search, game, config, score.platform)(
                score.table,
                looked.padded(room),
                looked.sizes.astype(np.int32),
                promising(score, looked, history[rows], width),
                jax.random.fold_in(key, number),
            )
            guesses[some] = np.asarray(found)[: len(some)]
        return guesses

    return choose


def promising(score: Scorer, positions: Positions, history: np.ndarray, width: int) -> np.ndarray:
    """The guesses that part each position most, the best first, int32[n, width], -1 where there are no more.

    No two of them are alike after the guesses before, int32[n, made], and each of them tells something.
    """
    parts = worth(score.game, "most-parts")
    guesses = np.full((len(positions), width), -1, np.int32)
    for chosen, scores in score.scores(positions, parts):
        for index, row in zip(chosen.tolist(), scores, strict=True):
            kinds = first_of_kind(score.game, tuple(history[index].tolist()))
            found = kinds[np.argsort(row[kinds], kind="stable")[:width]]
            found = found[row[found] < parts.of_size[1]]
            guesses[index, : len(found)] = found
    return guesses


def dividing(game: Game, table: Array, possible: Array, wanted: Array, room: int, width: int, together: int) -> Array:
    """The guesses that part positions most, on the device; as ``promising``, but for what is alike.

    Args:
      game: the game.
      table: uint8[size, size], the feedbacks.
      possible: bool[B, size], the positions.
      wanted: bool[B], whether a position's guesses are asked for; it gets none otherwise.
      room: codes that a position has at most.
      width: guesses of a position.
      together: positions that are looked at together.

    Returns:
      int32[B, width], -1 = none.
    """

    def looked_at(position: tuple[Array, Array]) -> Array:
        possible, wanted = position

        def ranked() -> Array:
            (codes,) = jnp.nonzero(possible, size=-(-room // 8) * 8, fill_value=0)
            size = possible.sum(dtype=jnp.int32)
            parts = part_numbers(table, game.feedbacks, codes.astype(jnp.int32), size).astype(jnp.int32)
            best, guesses = lax.top_k(2 * parts + possible.astype(jnp.int32), width)
            return jnp.where(best > 2, guesses, -1).astype(jnp.int32)

        return lax.cond(wanted, ranked, lambda: jnp.full(width, -1, jnp.int32))

    return each(looked_at, (possible, wanted), np.int32(len(possible)), together)


def random_game(game: Game, table: Array, possible: Array, secrets: Array, seeds: Array, on: Array) -> Array:
    """Plays on with random codes that may be the secret.

    Args:
      game: the game.
      table: uint8[size, size], the feedbacks.
      possible: bool[B, size], the codes that may be the secret.
      secrets: int32[B], numbers of codes.
      seeds: uint32[B].
      on: bool[B], games that are played; others take no guess.

    Returns:
      float32[B], guesses until the secret is found.
    """
    every = np.arange(len(secrets))

    def guess(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        possible, on, made, seeds = state
        seeds = mix(seeds + APART)
        drawn = mix(seeds[:, None] + np.arange(game.size, dtype=np.uint32) * APART) | np.uint32(1)
        rows = table[jnp.argmax(jnp.where(possible, drawn, np.uint32(0)), axis=-1)]
        heard = rows[every, secrets]
        possible = possible & (rows == heard[:, None])
        return possible, on & (heard != game.win), made + on.astype(jnp.int32), seeds

    state = possible, on, jnp.zeros(len(secrets), jnp.int32), seeds
    return lax.while_loop(lambda state: state[1].any(), guess, state)[2].astype(jnp.float32)


def ending(game: Game, heard: Array, sizes: Array) -> tuple[Array, Array]:
    """How games go on where no more than two codes are left.

    Args:
      game: the game.
      heard: int[B], the last feedbacks.
      sizes: int32[B], the codes that they left.

    Returns:
      (known bool[B], whether that is all that is left or the secret is found; if so, the guesses to come float32[B], of
      two codes in the mean, as the first is right every other time).
    """
    won = heard == game.win
    rest = jnp.where(won, 0.0, jnp.where(sizes == 1, 1.0, 1.5)).astype(jnp.float32)
    return won | (sizes <= 2), rest


def doubts(visits: Array) -> Array:
    """How far off the means of games may be, as in UCB1 (Auer et al. 2002), but for the scale: sqrt(log all / own).

    Args:
      visits: int32[B, width], the games of each guess; of one without any, as if it had one.

    Returns:
      float32[B, width].
    """
    together = jnp.maximum(visits.sum(-1, keepdims=True), 1)
    return jnp.sqrt(jnp.log(together.astype(jnp.float32)) / jnp.maximum(visits, 1).astype(jnp.float32))


def safest(guesses: Array, visits: Array, means: Array, doubt: float) -> Array:
    """The guess that is best even at the far end of its confidence interval (the secure child, Chaslot et al. 2008).

    Args:
      guesses: int32[B, width], numbers of codes.
      visits: int32[B, width], the games of each guess; one without any is not chosen.
      means: float32[B, width], the guesses that these took.
      doubt: guesses by which ``doubts`` are scaled, the half width of the interval.

    Returns:
      int32[B], numbers of codes.
    """
    worst = jnp.where(visits > 0, means + doubt * doubts(visits), jnp.inf)
    return jnp.take_along_axis(guesses, jnp.argmin(worst, axis=-1)[:, None], axis=1)[:, 0]


def as_sets(game: Game, codes: Array, sizes: Array) -> Array:
    """Positions int32[B, room], of which the first ``sizes`` int32[B] codes count, as sets bool[B, size]."""
    lanes, room = codes.shape
    places = jnp.where(np.arange(room, dtype=np.int32) < sizes[:, None], codes, np.int32(game.size))
    return jnp.zeros((lanes, game.size), bool).at[np.arange(lanes)[:, None], places].set(True, mode="drop")
