"""Mastermind in a few lines of plain Python, to check against."""

from __future__ import annotations

import functools
import itertools
import math

from jaxsudoku.mastermind import PegGame


def codes(game: PegGame) -> list[tuple[int, ...]]:
    """All codes in order."""
    every = itertools.product(range(game.colours), repeat=game.pegs)
    return [code for code in every if game.repeats or len(set(code)) == game.pegs]


def feedback(guess: tuple[int, ...], secret: tuple[int, ...]) -> tuple[int, int]:
    """(exact, colour)."""
    exact = sum(one == other for one, other in zip(guess, secret, strict=True))
    common = sum(min(guess.count(colour), secret.count(colour)) for colour in set(guess))
    return exact, common - exact


def parts(guess: tuple[int, ...], position: tuple[tuple[int, ...], ...]) -> dict[tuple[int, int], list]:
    """The codes of a position by their feedback."""
    found: dict[tuple[int, int], list] = {}
    for secret in position:
        found.setdefault(feedback(guess, secret), []).append(secret)
    return found


def fewest_guesses(game: PegGame, position: list[tuple[int, ...]] | None = None) -> int:
    """The guesses that the best strategy takes for all codes of a position together, by trying everything.

    Without a position it is the whole game.
    """
    everything = codes(game)

    @functools.cache
    def takes(position: tuple[tuple[int, ...], ...]) -> float:
        if len(position) == 1:
            return 1
        best = math.inf
        for guess in everything:
            left = parts(guess, position)
            if len(left) > 1:
                rest = [tuple(part) for heard, part in left.items() if heard != (game.pegs, 0)]
                best = min(best, len(position) + sum(map(takes, rest)))
        return best

    return int(takes(tuple(everything if position is None else position)))
