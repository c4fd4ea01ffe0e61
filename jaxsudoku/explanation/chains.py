"""Chains, one at a time: each link follows from the one before it."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from .finding import Candidate, Finding, removing
from .view import View, bits, cell_name, house_name, houses_of, masks, peers

_NAMES = {"colours": "simple colouring", "digit": "X-chain", "pairs": "XY-chain", "all": "alternating inference chain"}


class _Node(NamedTuple):
    """A candidate that is true or false."""

    digit: int
    cell: int
    true: bool


def chains(view: View, links: str) -> Iterator[Finding]:
    """Candidates that imply, link by link, a contradiction; ``links`` as of ``jaxsudoku.techniques.chains``."""
    follow = _Links(view, links)
    for digit, cell in view.candidates():
        found = follow.contradiction((digit, cell))
        if found is not None:
            paths, end = found
            reason = "; ".join(_path_text(view, path) for path in paths)
            text = f"If {_said(view, _Node(digit, cell, True))}: {reason}. {end}: {_NAMES[links]}."
            cells = dict.fromkeys(node.cell for path in paths for node in path)
            followed = {
                ((one.digit, one.cell), (other.digit, other.cell))
                for path in paths
                for one, other in itertools.pairwise(path)
            }
            yield removing([(digit, cell)], cells, text)._replace(links=tuple(sorted(followed)))


class _Links:
    """The links of a position.

    Args:
      view: the position.
      links: which links there are.
    """

    def __init__(self, view: View, links: str) -> None:
        self.view, self.links = view, links
        self.cells = links in ("pairs", "all")
        self.houses = links != "pairs"
        self.digits = [view.digits(cell) for cell in range(view.board.cells)]
        self.open = [view.open(digit) for digit in range(view.board.side)]
        self.pairs_of_cells = {cell: self.digits[cell] for cell in view.open_cells() if len(self.digits[cell]) == 2}
        self.pairs_of_houses = {
            (digit, number): places & house
            for digit, places in enumerate(self.open)
            for number, house in enumerate(masks(view.board))
            if (places & house).bit_count() == 2
        }

    def _falsified(self, node: _Node, first: bool) -> Iterator[Candidate]:
        """What a true candidate makes false."""
        board, (digit, cell, _) = self.view.board, node
        if self.links == "colours" and not first:
            for number in houses_of(board)[cell]:
                pair = self.pairs_of_houses.get((digit, number), 0)
                yield from ((digit, other) for other in bits(pair & ~(1 << cell)))
            return
        yield from ((digit, other) for other in bits(self.open[digit] & peers(board)[cell]))
        if self.cells:
            yield from ((other, cell) for other in self.digits[cell] if other != digit)

    def _verified(self, node: _Node) -> Iterator[Candidate]:
        """What a false candidate makes true."""
        digit, cell, _ = node
        if self.houses:
            for number in houses_of(self.view.board)[cell]:
                pair = self.pairs_of_houses.get((digit, number), 0)
                yield from ((digit, other) for other in bits(pair & ~(1 << cell)))
        if self.cells and cell in self.pairs_of_cells:
            yield from ((other, cell) for other in self.pairs_of_cells[cell] if other != digit)

    def contradiction(self, assumed: Candidate) -> tuple[list[list[_Node]], str] | None:
        """The shortest paths from a candidate to a contradiction, and what that is; None if there is none."""
        start = _Node(*assumed, True)
        parent: dict[_Node, _Node | None] = {start: None}
        true = [0] * self.view.board.side  # the places of the digits that are true so far
        true[start.digit] = 1 << start.cell
        queue = deque([start])
        while queue:
            node = queue.popleft()
            reached = self._falsified(node, node is start) if node.true else self._verified(node)
            for digit, cell in reached:
                new = _Node(digit, cell, not node.true)
                opposite = _Node(digit, cell, node.true)
                if opposite in parent:
                    paths = [[*_path(parent, node), new], _path(parent, opposite)]
                    return [path for path in paths if len(path) > 1], self._end_of(new)
                if new not in parent:
                    parent[new] = node
                    queue.append(new)
                    clash = self._clash(new, parent, true)
                    if new.true:
                        true[digit] |= 1 << cell
                    if clash is not None:
                        paths = [path for path in (_path(parent, new), _path(parent, clash[0])) if len(path) > 1]
                        return paths, clash[1]
        return None

    def _end_of(self, node: _Node) -> str:
        return f"But {cell_name(self.view.board, node.cell)} cannot be {node.digit + 1} and something else at once"

    def _clash(self, node: _Node, parent: dict[_Node, _Node | None], reached: list[int]) -> tuple[_Node, str] | None:
        """A node that contradicts one just reached, and in which way: two true in a house, or two false of a pair."""
        board, (digit, cell, true) = self.view.board, node
        if true:
            for other in bits(reached[digit] & peers(board)[cell]):
                return _Node(digit, other, True), f"But they cannot both be {digit + 1}"
            if self.cells:
                for another in self.digits[cell]:
                    if another != digit and reached[another] >> cell & 1:
                        return _Node(another, cell, True), f"But {cell_name(board, cell)} cannot be both"
            return None
        if self.houses:
            for number in houses_of(board)[cell]:
                for other in bits(self.pairs_of_houses.get((digit, number), 0) & ~(1 << cell)):
                    if (twin := _Node(digit, other, False)) in parent:
                        return twin, f"But then {house_name(board, number)} has no place for {digit + 1}"
        if self.cells and cell in self.pairs_of_cells:
            (another,) = set(self.pairs_of_cells[cell]) - {digit}
            if (twin := _Node(another, cell, False)) in parent:
                return twin, f"But then {cell_name(board, cell)} can take no digit"
        return None


def _path(parent: dict[_Node, _Node | None], node: _Node | None) -> list[_Node]:
    """The nodes from the assumed candidate to a node."""
    path = []
    while node is not None:
        path.append(node)
        node = parent[node]
    return path[::-1]


def _said(view: View, node: _Node) -> str:
    return f"{cell_name(view.board, node.cell)} {'is' if node.true else 'is not'} {node.digit + 1}"


def _path_text(view: View, path: list[_Node]) -> str:
    return ", so ".join(_said(view, node) for node in path[1:])
