"""Chains, one at a time: each link follows from the one before it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence

from jaxsudoku.core.board import Board

from .finding import Finding, removing
from .implications import Contradiction, Implications, told_apart
from .layout import bits, layout
from .view import View
from .words import cell_name, cells_named, digits_named, is_digit

_NAMES = {"colours": "simple colouring", "digit": "X-chain", "pairs": "XY-chain", "all": "alternating inference chain"}


def chains(view: View, links: str) -> Iterator[Finding]:
    """Candidates that imply, link by link, a contradiction, the shortest chains first.

    ``links`` is as of ``jaxsudoku.techniques.chains``.
    """
    found, cells = _links(view.board, view.filled, tuple(view.places)), view.board.cells
    candidates = (digit * cells + cell for digit, cell in view.doubtful())
    for contradiction in found.implications(links).contradictions(candidates):
        yield _finding(view, found, links, contradiction)


class _Links:
    """The links of a position, between candidates as numbered in ``implications``.

    Attributes:
      cells: the cells of the board.
      weak_in_houses: for each candidate those of its digit that its houses exclude if it is true.
      weak_in_cells: the others of its cell.
      strong_in_houses: those of its digit that must be true if it is false, the other one of two in a house.
      strong_in_cells: the other one of its cell, if there are two.
    """

    def __init__(self, board: Board, filled: int, places: tuple[int, ...]) -> None:
        self.cells = cells = board.cells
        own = layout(board)
        self.weak_in_houses: dict[int, int] = {}
        self.weak_in_cells: dict[int, int] = {}
        self.strong_in_houses: dict[int, int] = {}
        self.strong_in_cells: dict[int, int] = {}
        of_cells = [0] * cells
        for digit, all_places in enumerate(places):
            opened, shift = all_places & ~filled, digit * cells
            for cell in bits(opened):
                number = shift + cell
                of_cells[cell] |= 1 << number
                self.weak_in_houses[number] = (opened & own.sees[cell]) << shift
                strong = 0
                for house in own.houses_of[cell]:
                    others = opened & own.houses[house] & ~(1 << cell)
                    if others and not others & (others - 1):
                        strong |= others
                self.strong_in_houses[number] = strong << shift
        for number in self.weak_in_houses:
            others = of_cells[number % cells] & ~(1 << number)
            self.weak_in_cells[number] = others
            self.strong_in_cells[number] = 0 if others & (others - 1) else others

    def weak(self, links: str, first: bool) -> dict[int, int]:
        """For each candidate those that it makes false."""
        if links == "colours" and not first:
            return self.strong_in_houses
        return self.weak_in_houses if links in ("colours", "digit") else self._weak_everywhere

    def strong(self, links: str) -> dict[int, int]:
        """For each candidate those that it makes true if it is false."""
        if links == "pairs":
            return self.strong_in_cells
        return self._strong_everywhere if links == "all" else self.strong_in_houses

    @functools.cached_property
    def _weak_everywhere(self) -> dict[int, int]:
        return {number: mask | self.weak_in_cells[number] for number, mask in self.weak_in_houses.items()}

    @functools.cached_property
    def _strong_everywhere(self) -> dict[int, int]:
        return {number: mask | self.strong_in_cells[number] for number, mask in self.strong_in_houses.items()}

    def implications(self, links: str) -> Implications:
        """What candidates make true, over one that they make false, and what they exclude."""
        first = self._implied(links, True)
        implied = self._implied(links, False) if links == "colours" else first
        return Implications(implied, self.weak(links, True), first)

    def _implied(self, links: str, first: bool) -> dict[int, int]:
        strong = self.strong(links)
        found = {}
        for number, false in self.weak(links, first).items():
            true = 0
            for other in bits(false):
                true |= strong[other]
            found[number] = true
        return found


@functools.lru_cache(maxsize=2)
def _links(board: Board, filled: int, places: tuple[int, ...]) -> _Links:
    """The links of a position; kept for the next techniques that look at it."""
    return _Links(board, filled, places)


def _finding(view: View, found: _Links, links: str, contradiction: Contradiction) -> Finding:
    """The finding of a contradiction that follows over some kind of links."""
    board, strong = view.board, found.strong(links)
    shown = []  # the two paths, of true and false candidates by turns
    for true in (contradiction.true, contradiction.source):
        path = true[:1]
        for one, other in itertools.pairwise(true):
            weak = found.weak(links, one == true[0])[one]
            path += [next(number for number in bits(weak) if strong[number] >> other & 1), other]
        shown.append(path)

    def said(path: Sequence[int], place: int) -> str:
        digit, cell = divmod(path[place], board.cells)
        return is_digit(board, digit, cell, place % 2 == 0)

    def told(path: Sequence[int], start: int) -> str:
        return ", so ".join(said(path, place) for place in range(start, len(path)))

    (digit, cell), (other, place) = (divmod(path[-1], board.cells) for path in shown)
    if cell == place:
        end = f"{cell_name(board, cell)} cannot be both {digits_named(sorted((digit, other)))}"
    else:
        end = f"{cells_named(board, sorted((cell, place)))} cannot both be {digit + 1}"
    assumed = divmod(shown[0][0], board.cells)
    reason = f"{told_apart(shown, said, told)}. But {end}"
    followed = {
        (divmod(one, board.cells), divmod(another, board.cells))
        for path in shown
        for one, another in itertools.pairwise(path)
    }
    cells = dict.fromkeys(number % board.cells for path in shown for number in path)
    text = f"If {is_digit(board, *assumed)}: {reason}: {_NAMES[links]}."
    false = {divmod(number, board.cells) for path in shown for number in path[1::2]}
    return removing([assumed], cells, text, followed, false)
