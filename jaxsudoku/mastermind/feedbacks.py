"""Feedback on the device: the rule for arrays of codes, the table of all feedbacks, and sets of codes as bits."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import cache
from jaxsudoku.arrays import AnyArray

from .rules import Game

#: Arrays for each peg or each colour: a list, or an array along its first axis.
Columns: TypeAlias = Sequence[Any] | AnyArray

#: Bytes of the rows of the table that are computed together.
_BLOCK = 1 << 22


def feedback(game: Game, guesses: AnyArray, secrets: AnyArray) -> Array:
    """The feedback to guesses, as indices of ``game.pairs``.

    Args:
      game: the game.
      guesses: uint8[..., pegs].
      secrets: uint8[..., pegs], of a shape that broadcasts with it.

    Returns:
      uint8[...].
    """
    arrays = guesses, secrets, _colour_counts(game, guesses), _colour_counts(game, secrets)
    return _feedback(game, *([array[..., index] for index in range(array.shape[-1])] for array in arrays))


def _feedback(game: Game, guesses: Columns, secrets: Columns, guess_counts: Columns, secret_counts: Columns) -> Array:
    """As ``feedback``, of codes peg by peg, with the numbers of their pegs colour by colour."""
    exact = _sum((guesses[peg] == secrets[peg]).astype(jnp.uint8) for peg in range(game.pegs))
    common = _sum(jnp.minimum(guess_counts[colour], secret_counts[colour]) for colour in range(game.colours))
    firsts = [number for number, (_, colour) in enumerate(game.pairs) if colour == 0]  # (0, 0), (1, 0), ...
    number = common - exact
    for fewer, (first, following) in enumerate(itertools.pairwise(firsts)):
        number = number + (exact > fewer).astype(jnp.uint8) * np.uint8(following - first)
    return number


def _sum(terms: Iterable[Array]) -> Array:
    return functools.reduce(jnp.add, terms)


def _colour_counts(game: Game, codes: AnyArray) -> AnyArray:
    """The number of pegs of each colour in codes uint8[..., pegs], uint8[..., colours]."""
    return (codes[..., None] == np.arange(game.colours, dtype=np.uint8)).astype(jnp.uint8).sum(-2, dtype=jnp.uint8)


@functools.lru_cache(maxsize=1)
@cache.kept()
def feedback_table(game: Game) -> Array:
    """The feedback of every guess with every secret, uint8[size, size], symmetric, on the device.

    Raises:
      GameError: it takes more than half of the memory.
    """
    table: Array = _table(game, game.codes)
    return table


@functools.partial(jax.jit, static_argnums=0)
def _table(game: Game, codes: Array) -> Array:
    secrets, counts = codes.T, _colour_counts(game, codes).T

    def row(guess: Array) -> Array:
        return _feedback(game, guess, secrets, _colour_counts(game, guess), counts)

    rows: Array = lax.map(row, codes, batch_size=max(min(_BLOCK // game.size, game.size), 1))
    return rows


# ---------------------------------------------------------------------- sets of codes as bits


def words(game: Game) -> int:
    """The number of uint32 words of a set of codes."""
    return -(-game.size // 32)


def pack(chosen: AnyArray) -> Array:
    """Sets of codes bool[..., size] as bits uint32[..., words]: code c is bit c % 32 of word c // 32."""
    chosen = jnp.asarray(chosen)
    size = chosen.shape[-1]
    padding = [(0, 0)] * (chosen.ndim - 1) + [(0, -size % 32)]
    bits = jnp.pad(chosen, padding).reshape(*chosen.shape[:-1], -1, 32).astype(jnp.uint32)
    return (bits << np.arange(32, dtype=np.uint32)).sum(-1, dtype=jnp.uint32)


def unpack(game: Game, sets: Array) -> Array:
    """Bits uint32[..., words] as sets of codes bool[..., size]."""
    bits = (sets[..., None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return bits.reshape(*sets.shape[:-1], -1)[..., : game.size] > 0


def consistent(table: Array, guesses: AnyArray, feedbacks: Array) -> Array:
    """The codes that are consistent with feedbacks, as bits.

    Args:
      table: the result of ``feedback_table``.
      guesses: int[...], numbers of codes.
      feedbacks: uint8[...].

    Returns:
      uint32[..., words].
    """
    return pack(table[guesses] == feedbacks[..., None].astype(jnp.uint8))
