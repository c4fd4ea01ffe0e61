"""Which codes are alike: pegs and colours may be exchanged, as long as the guesses so far stay what they are."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from .rules import Game, index_of

#: Orders of pegs that are tried; where there are more, pegs stay where they are.
_MOST_ORDERS = 720


#: Guesses after which codes that are alike are still looked for.
SYMMETRIC = 2


@functools.lru_cache(maxsize=512)
def canonical(game: Game, guesses: tuple[int, ...]) -> np.ndarray:
    """For each code the first one that it is like, int64[size].

    Two codes are alike if exchanging pegs and colours turns one into the other, and every guess into itself. It then
    turns the codes that fit those guesses' feedbacks into such codes, so either code is as good a guess as the other.

    Args:
      game: the game.
      guesses: numbers of codes.
    """
    least = np.arange(game.size)
    made = game.codes[list(guesses)]
    orders = itertools.permutations(range(game.pegs))
    for order in orders if math.factorial(game.pegs) <= _MOST_ORDERS else [tuple(range(game.pegs))]:
        recoloured = _colours_that_restore(made, made[:, order], game.colours)
        if recoloured is not None:
            least = np.minimum(least, index_of(game, _recoloured(game.codes[:, order], recoloured)))
    return least


def first_of_kind(game: Game, guesses: tuple[int, ...] | None) -> np.ndarray:
    """The codes of which none before is like them, int64[n].

    After more than two guesses hardly anything can be exchanged, and all codes are given; so they are where the guesses
    before are not known, None.
    """
    if guesses is None or len(guesses) > SYMMETRIC:
        return np.arange(game.size)
    return np.flatnonzero(canonical(game, guesses) == np.arange(game.size))


def _colours_that_restore(made: np.ndarray, moved: np.ndarray, colours: int) -> np.ndarray | None:
    """The exchange of colours that turns moved guesses back, int64[colours], -1 = any; None if there is none."""
    back = np.full(colours, -1)
    for before, after in zip(moved.ravel().tolist(), made.ravel().tolist(), strict=True):
        if back[before] not in (-1, after):
            return None
        back[before] = after
    known = back[back >= 0]
    return back if len(set(known.tolist())) == len(known) else None


def _recoloured(codes: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Codes uint8[n, pegs] in other colours: those without a colour to go to take the free ones as they come."""
    free = np.setdiff1d(np.arange(len(to)), to)
    to = np.repeat(to[None], len(codes), axis=0)
    taken = np.zeros(len(codes), np.int64)
    rows = np.arange(len(codes))
    result = np.empty_like(codes)
    for peg in range(codes.shape[1]):
        colour = codes[:, peg]
        new = to[rows, colour] < 0
        to[rows[new], colour[new]] = free[taken[new]]
        taken += new
        result[:, peg] = to[rows, colour]
    return result
