"""Almost locked sets and the chains through them, one at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from .consequences import Pattern, Position, position
from .finding import Finding, removing
from .implications import Contradiction, Implications, told_apart
from .view import View
from .words import is_digit


def almost_locked_sets(view: View) -> Iterator[Finding]:
    """What a candidate locks leads to a contradiction at once; those with the fewest patterns first."""
    before = position(view)
    ends = []
    for assumed in view.doubtful():
        found = before.after(assumed)
        if found.contradictory:
            ends.append((assumed, found.used(found.end.premises), found.end))
    for assumed, used, end in sorted(ends, key=lambda found: len(found[1])):
        cells = dict.fromkeys([assumed[1], *_cells_of([*used, end])])
        text = f"If {is_digit(view.board, *assumed)}: {_clauses(used, end.text)}: almost locked sets."
        yield removing([assumed], cells, text)


def als_chains(view: View) -> Iterator[Finding]:
    """Chains: each link follows from one candidate, through locked candidates and almost locked sets."""
    before, cells = position(view), view.board.cells
    implied, excluded = {}, {}
    for digit, cell in before.candidates:
        found, number = before.after((digit, cell)), digit * cells + cell
        implied[number] = sum(places << other * cells for other, places in found.true.items())
        excluded[number] = sum(places << other * cells for other, places in found.lost.items())
        if found.contradictory:
            excluded[number] |= 1 << number
    doubtful = (digit * cells + cell for digit, cell in view.doubtful())
    for contradiction in Implications(implied, excluded).contradictions(doubtful):
        yield _chain(before, contradiction)


def _chain(before: Position, contradiction: Contradiction) -> Finding:
    """The finding of a contradiction to which links lead."""
    board = before.board
    true, source = contradiction.true, contradiction.source
    used: list[Pattern] = []  # the patterns of the chain, for their cells

    def candidate(number: int) -> tuple[int, int]:
        return divmod(number, board.cells)

    def said(path: Sequence[int], place: int) -> str:
        return is_digit(board, *candidate(path[place]))

    def told(path: Sequence[int], start: int) -> str:
        parts = []
        for one, other in itertools.pairwise(path[start - 1 :]):
            found = before.after(candidate(one))
            single = found.singles[candidate(other)]
            patterns = found.used(single.premises)
            used.extend(patterns)
            parts.append(_clauses(patterns, single.text, so=True))
        return "; ".join(parts)

    reason = told_apart((true, source), said, told) if len(true) + len(source) > 2 else ""
    found = before.after(candidate(source[-1]))
    if true == source:
        end = found.end
    else:
        end = Pattern(
            is_digit(board, *candidate(true[-1]), true=False), (true[-1] % board.cells,), (candidate(true[-1]),)
        )
    patterns = found.used(end.premises)
    used += [*patterns, end]
    links = {(candidate(one), candidate(other)) for path in (true, source) for one, other in itertools.pairwise(path)}
    cells = dict.fromkeys([*(number % board.cells for number in (*true, *source)), *_cells_of(used)])
    parts = [*([reason] if reason else []), f"But as {said(source, -1)}, {_clauses(patterns, end.text)}"]
    text = f"If {said(true, 0)}: {'. '.join(parts)}: ALS chain."
    return removing([candidate(true[0])], cells, text, links)


def _clauses(patterns: Iterable[Pattern], conclusion: str, so: bool = False) -> str:
    """Patterns and what follows from them, as in "r1c2 and r1c3 can take only 4 and 5; so r1c9 can only be 7"."""
    told = [pattern.text for pattern in patterns]
    return "; ".join([*told, f"so {conclusion}" if told or so else conclusion])


def _cells_of(patterns: Iterable[Pattern]) -> list[int]:
    return [cell for pattern in patterns for cell in pattern.cells]
