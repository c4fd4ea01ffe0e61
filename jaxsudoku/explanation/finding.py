"""What a pattern shows: candidates to place or to remove, with the reason in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jaxsudoku.pictures import Candidate

from .layout import bits
from .view import View


class Finding(NamedTuple):
    """A pattern in a position.

    Attributes:
      place: the candidates to fill in.
      remove: the candidates to remove.
      cells: the cells of the pattern.
      text: the reason, a sentence without the conclusion of ``remove``.
      links: the links of a chain, each from a candidate to the one that follows from it.
      false: the candidates of these links that are false; the others are true.
      houses: the numbers of the houses of the pattern, which its text names; none where there are several patterns.
    """

    place: tuple[Candidate, ...]
    remove: tuple[Candidate, ...]
    cells: tuple[int, ...]
    text: str
    links: tuple[tuple[Candidate, Candidate], ...] = ()
    false: tuple[Candidate, ...] = ()
    houses: tuple[int, ...] = ()


def placing(digit: int, cell: int, cells: Iterable[int], text: str, houses: Iterable[int] = ()) -> Finding:
    """A finding that fills a cell."""
    return Finding(((digit, cell),), (), tuple(cells), text, houses=tuple(houses))


def removing(
    removed: Iterable[Candidate],
    cells: Iterable[int],
    text: str,
    links: Iterable[tuple[Candidate, Candidate]] = (),
    false: Iterable[Candidate] = (),
    houses: Iterable[int] = (),
) -> Finding:
    """A finding that removes candidates."""
    return Finding(
        (), tuple(sorted(removed)), tuple(cells), text, tuple(sorted(links)), tuple(sorted(false)), tuple(houses)
    )


def open_places(view: View, digits: Iterable[int], cells: int) -> list[Candidate]:
    """The candidates for some digits in the open cells of a set."""
    return [(digit, cell) for digit in digits for cell in bits(view.open(digit) & cells)]
