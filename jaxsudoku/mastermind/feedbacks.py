"""Feedback on the device: for arrays of codes, as a table of all feedbacks, and sets of codes as bits."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.runtime import cache, forks
from jaxsudoku.runtime.arrays import AnyArray

from .games import as_game
from .rules import MOST_FEEDBACKS, CodeError, Game, check_numbers, check_pegs, check_places, check_size

#: Size in bytes of the rows of the table computed together.
_BLOCK = 1 << 22

#: Number of pairs whose feedback is computed together on the host.
_PAIRS = 1 << 18


def feedback(game: Game | str, guesses: AnyArray, secrets: AnyArray) -> Array:
    """The feedback to guesses, as numbers.

    Codes are given place by place here, as in ``game.codes``. For numbers of codes use
    ``feedback_table(game)[guesses, secrets]``.

    Args:
      game: the game, or its name, as ``as_game`` takes it.
      guesses: uint8[..., places], codes.
      secrets: uint8[..., places], of a shape that broadcasts with it.

    Returns:
      uint8[...].

    Raises:
      CodeError: an array of another shape or dtype; or a value that is invalid in a code, unless it is traced.
      RuntimeError: as ``forks.check``.
    """
    forks.check()
    game = as_game(game)
    return _feedback(game, _places(game, "guesses", guesses), _places(game, "secrets", secrets))


def _places(game: Game, name: str, codes: AnyArray) -> AnyArray:
    """Codes place by place, after checking their values if these are known."""
    if _is_known(codes):
        checked = check_pegs(game, name, codes)
        return codes if isinstance(codes, jax.Array) else checked
    array = jnp.asarray(codes)
    check_places(game, name, array.shape, array.dtype)
    return array


def _is_known(array: AnyArray) -> bool:
    """Whether the values of an array or list are known: not traced, and not on devices of other processes."""
    return not any(
        isinstance(leaf, jax.core.Tracer) or (isinstance(leaf, jax.Array) and not leaf.is_fully_addressable)
        for leaf in jax.tree.leaves(array)
    )


@functools.partial(jax.jit, static_argnums=0)
def _feedback(game: Game, guesses: Array, secrets: Array) -> Array:
    return jnp.asarray(game.compare(game.prepared(jnp.asarray(guesses)), game.prepared(jnp.asarray(secrets))))


def feedback_table(game: Game | str) -> Array:
    """The feedback of every guess with every secret, uint8[size, secrets], on the device; of the last game it is kept.

    Args:
      game: the game, or its name, as ``as_game`` takes it.

    Raises:
      GameError: it takes more than half of the memory.
    """
    return _table(as_game(game))


@functools.lru_cache(maxsize=1)
@cache.kept()
def _table(game: Game) -> Array:
    check_size(game)
    return by_secrets(game, block_by_secrets(game, game.codes, game.codes[: game.secrets]))


def feedback_of(game: Game, guesses: np.ndarray, secrets: np.ndarray) -> np.ndarray:
    """The feedback of guesses with secrets, computed by numpy without a table.

    Args:
      game: the game.
      guesses: int[...], code numbers.
      secrets: int[...], code numbers, of a shape that broadcasts with it.

    Returns:
      uint8[...].
    """
    shape = np.broadcast_shapes(np.shape(guesses), np.shape(secrets))
    one, other = (np.broadcast_to(codes, shape).ravel() for codes in (guesses, secrets))
    found = np.empty(len(one), np.uint8)
    for start in range(0, len(one), _PAIRS):
        some = slice(start, start + _PAIRS)
        found[some] = game.compare(game.prepared(game.codes[one[some]]), game.prepared(game.codes[other[some]]))
    return found.reshape(shape)


@functools.partial(jax.jit, static_argnums=0)
def block_by_secrets(game: Game, guesses: AnyArray, secrets: AnyArray) -> Array:
    """The feedback of some secrets with some guesses.

    Args:
      game: the game.
      guesses: uint8[g, places], codes.
      secrets: uint8[s, places], codes.

    Returns:
      uint8[s, g].
    """
    prepared = game.prepared(jnp.asarray(guesses))

    def row(secret: Array) -> Array:
        return jnp.asarray(game.compare(prepared, game.prepared(secret)))

    secrets = jnp.asarray(secrets)
    rows: Array = lax.map(row, secrets, batch_size=max(min(_BLOCK // len(guesses), len(secrets)), 1))
    return rows


def by_secrets(game: Game, table: Array) -> Array:
    """The feedback table, uint8[size, secrets], as uint8[secrets, size], or the reverse."""
    return table if game.symmetric else table.T


# ---------------------------------------------------------------------- sets of codes as bits


def words(game: Game) -> int:
    """The number of uint32 words of a set of codes."""
    return -(-game.secrets // 32)


def pack(chosen: AnyArray) -> Array:
    """Sets of codes bool[..., secrets] as bits uint32[..., words]: code c is bit c % 32 of word c // 32."""
    chosen = jnp.asarray(chosen)
    size = chosen.shape[-1]
    padding = [(0, 0)] * (chosen.ndim - 1) + [(0, -size % 32)]
    bits = jnp.pad(chosen, padding).reshape(*chosen.shape[:-1], -1, 32).astype(jnp.uint32)
    return (bits << np.arange(32, dtype=np.uint32)).sum(-1, dtype=jnp.uint32)


def unpack(game: Game, sets: Array) -> Array:
    """Bits uint32[..., words] as sets of codes bool[..., secrets]."""
    bits = (sets[..., None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return bits.reshape(*sets.shape[:-1], -1)[..., : game.secrets] > 0


def consistent(table: Array, guesses: AnyArray, feedbacks: Array) -> Array:
    """The codes that are consistent with feedbacks, as bits.

    Args:
      table: the result of ``feedback_table``.
      guesses: int[...], code numbers.
      feedbacks: uint8[...], one for each guess.

    Returns:
      uint32[..., words].

    Raises:
      CodeError: arrays of different shapes, or not of whole numbers; or an invalid number of a code or feedback, unless
        it is traced.
    """
    guesses, feedbacks = _numbers("code", guesses, len(table)), _numbers("feedback", feedbacks, MOST_FEEDBACKS)
    if guesses.shape != feedbacks.shape:
        raise CodeError(f"guesses are numbers of codes, one for each feedback: {guesses.shape} and {feedbacks.shape}")
    return pack(table[guesses] == feedbacks[..., None].astype(jnp.uint8))


def _numbers(what: str, numbers: AnyArray, size: int) -> Any:
    """Numbers below a size, after checking their values if these are known."""
    if _is_known(numbers):
        return check_numbers(what, numbers, size)
    array = jnp.asarray(numbers)
    if array.dtype.kind not in "iu":
        raise CodeError(f"a {what} is a whole number, not one of {array.dtype}")
    return array
