"""Pictures of strategies and games: codes as coloured pegs, feedback as small pegs. No JAX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxsudoku.pictures import Picture
from jaxsudoku.pictures.outline import MARGIN, ROW, SIZE, Row, framed, outline
from jaxsudoku.pictures.shapes import ROLES, Circle, Text

from .rules import Game

if TYPE_CHECKING:
    from jaxsudoku.pictures.shapes import Shape

#: Roles of the colours of pegs, used cyclically; every peg also shows the number of its colour.
_COLOURS = tuple(role for role in ROLES if role.startswith("peg-") and role != "peg-text")
#: The distance between pegs, and between feedback pegs.
_PEG, _SMALL = 24, 11


def tree_picture(game: Game, rows: Sequence[tuple[int, int, int, str]], left_out: int, title: str) -> Picture:
    """Draws nodes of a strategy or of a search tree, one per row, each below its parent.

    Args:
      game: the game.
      rows: for each node its depth, the feedback that leads to it, its guess (-1 for none of each), and a note.
      left_out: the number of nodes left out, for a note.
      title: a description for readers who do not see the picture.
    """

    def row(depth: int, feedback: int, guess: int, note: str) -> Row:
        label: list[Shape] = []
        width = 0
        if feedback >= 0:
            label += feedback_shapes(game, feedback, 0, 0)
            width += _SMALL * game.places + 8
        if guess >= 0:
            label += code_shapes(game, guess, width, 0)
            width += _PEG * game.places + 6
        return Row(depth, note, tuple(label), width)

    return outline([row(*node) for node in rows], left_out, title)


def game_picture(game: Game, answers: Sequence[tuple[int, int]], left: Sequence[int]) -> Picture:
    """Draws a game so far: each guess with its feedback, and the number of codes left after it.

    Args:
      game: the game.
      answers: (guess, feedback), as numbers.
      left: the numbers of codes left, before the first guess and after each.
    """
    places = game.places
    shapes: list[Shape] = [Text(MARGIN, MARGIN + ROW / 2, SIZE, f"{game}: {left[0]:,} codes", "text", centred=False)]
    for number, (guess, feedback) in enumerate(answers, 1):
        y = MARGIN + ROW * (number + 0.5)
        shapes += code_shapes(game, guess, MARGIN, y)
        x = MARGIN + _PEG * places + 8
        shapes += feedback_shapes(game, feedback, x, y)
        text = "found" if feedback == game.win else f"{left[number]:,} left"
        shapes.append(Text(x + _SMALL * places + 8, y, SIZE, text, "text", centred=False))
    return framed(shapes, f"{game}: {len(answers)} guesses")


def code_shapes(game: Game, code: int, x: float, y: float) -> Iterator[Shape]:
    """The shapes of a code, with pegs from x on."""
    for place, (colour, label) in enumerate(zip(game.codes[code].tolist(), game.labels(code), strict=True)):
        middle = x + _PEG * (place + 0.5)
        yield Circle(middle, y, 0.42 * _PEG, _COLOURS[colour % len(_COLOURS)])
        yield Text(middle, y, SIZE if len(label) < 3 else 0.7 * SIZE, label, "peg-text")


def feedback_shapes(game: Game, feedback: int, x: float, y: float) -> Iterator[Shape]:
    """The shapes of a feedback from x on: full pegs for right, rings for elsewhere, dots for others."""
    for place, mark in enumerate(game.marks(feedback)):
        middle = x + _SMALL * (place + 0.5)
        radius, role = ((1.2, "candidate"), (3.5, "rim"), (4, "exact"))[mark]
        yield Circle(middle, y, radius, role)
