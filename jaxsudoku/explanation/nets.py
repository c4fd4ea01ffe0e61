"""Candidates that lead to a contradiction by rules with several premises, one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from jaxsudoku.techniques.locked_pairs import locked_pairs

from .finding import Finding, removing
from .view import View, bits, cell_name, house_name, masks, peers


def nishio(view: View) -> Iterator[Finding]:
    """Hidden singles of the assumed digit alone leave a house without a place for it."""
    for digit, cell in view.candidates():
        places, chosen = view.places[digit] & ~peers(view.board)[cell], [cell]
        done = 1 << cell
        end = None
        while end is None:
            new = 0
            for number, house in enumerate(masks(view.board)):
                here = places & house
                if not here:
                    end = number
                    break
                if here.bit_count() == 1 and not here & done:
                    new = here
                    break
            if end is not None or not new:
                break
            (place,) = bits(new)
            chosen.append(place)
            done |= new
            places &= ~peers(view.board)[place]
        if end is not None:
            text = (
                f"If {cell_name(view.board, cell)} is {digit + 1}, hidden singles of {digit + 1} leave "
                f"{house_name(view.board, end)} without a place for it: nishio."
            )
            yield removing([(digit, cell)], chosen, text)


def forcing_chains(view: View, rules: str) -> Iterator[Finding]:
    """The rules lead to a contradiction; ``rules`` is "singles" or "locked"."""
    words = "singles" if rules == "singles" else "singles and locked candidates"
    for digit, cell in view.candidates():
        trial = view.copy()
        trial.fill(digit, cell)
        placed: list[int] = [cell]
        end = _contradiction(trial, placed, rules == "locked")
        if end is not None:
            steps = f"after {len(placed) - 1} further cells" if len(placed) > 1 else "at once"
            text = f"If {cell_name(view.board, cell)} is {digit + 1}, {words} lead {steps} to a contradiction: {end}"
            yield removing([(digit, cell)], placed, f"{text} (forcing chain).")


def _contradiction(view: View, placed: list[int], locked: bool) -> str | None:
    """What goes wrong when the rules are applied to the end, None if nothing does; adds the cells that are filled."""
    board = view.board
    while True:
        taken = 0
        for cell in view.open_cells():
            digits = view.digits(cell)
            if not digits:
                return f"{cell_name(board, cell)} can take no digit"
            if len(digits) == 1:
                view.fill(digits[0], cell)
                placed.append(cell)
                taken += 1
        for number, house in enumerate(masks(board)):
            for digit in range(board.side):
                places = view.places[digit] & house
                if not places:
                    return f"{house_name(board, number)} has no place for {digit + 1}"
                if places.bit_count() == 1 and places & ~view.filled:
                    (cell,) = bits(places)
                    view.fill(digit, cell)
                    placed.append(cell)
                    taken += 1
        if not taken and not (locked and _remove_locked(view)):
            return None


def _remove_locked(view: View) -> bool:
    """One round of locked candidates; whether any candidate was removed."""
    houses, removed = masks(view.board), False
    for from_lines in (False, True):
        for one, other in locked_pairs(view.board, from_lines):
            for digit in range(view.board.side):
                places = view.places[digit] & houses[one]
                gone = view.places[digit] & houses[other] & ~houses[one]
                if places and not places & ~houses[other] and gone:
                    view.places[digit] &= ~gone
                    removed = True
    return removed
