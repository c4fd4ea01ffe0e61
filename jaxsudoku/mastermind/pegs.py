"""Strategies and games as pictures: codes as coloured pegs, feedback as small pegs. No JAX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxsudoku.pictures import Picture
from jaxsudoku.pictures.shapes import ROLES, Circle, Line, Text, extent

from .rules import Game

if TYPE_CHECKING:
    from jaxsudoku.pictures.shapes import Shape

#: Roles of the colours of pegs, which begin again after the last; every peg has the number of its colour, too.
_COLOURS = tuple(role for role in ROLES if role.startswith("peg-") and role != "peg-text")
#: The margin, the height of a row, the distance between pegs, between feedback pegs and between levels, size of texts.
_MARGIN, _ROW, _PEG, _SMALL, _LEVEL, _SIZE = 14, 28, 24, 11, 34, 13


def tree_picture(game: Game, rows: Sequence[tuple[int, int, int, str]], left_out: int, title: str) -> Picture:
    """Nodes of a strategy or of a search tree, one a row, each below its parent.

    Args:
      game: the game.
      rows: of each node its depth, the feedback that leads to it, its guess (-1 for none of each), and a note.
      left_out: how many nodes are left out, which a note says.
      title: a description for readers who do not see the picture.
    """
    places = game.places
    shapes: list[Shape] = []
    parents: list[float] = []  # where the row of the last node of each depth is
    for number, (depth, feedback, guess, note) in enumerate(rows):
        y = _MARGIN + _ROW * (number + 0.5)
        x = float(_MARGIN + _LEVEL * depth)
        del parents[depth:]
        parents.append(y)
        if depth:
            stem = x - _LEVEL + _PEG / 2
            shapes.append(Line(((stem, parents[-2] + _PEG / 2), (stem, y), (x - 4, y)), "edge"))
        if feedback >= 0:
            shapes += feedback_shapes(game, feedback, x, y)
            x += _SMALL * places + 8
        if guess >= 0:
            shapes += code_shapes(game, guess, x, y)
            x += _PEG * places + 6
        if note:
            shapes.append(Text(x, y, _SIZE, note, "text", centred=False))
    if left_out:
        text = f"{left_out:,} further nodes of these levels are not drawn"
        shapes.append(Text(_MARGIN, _MARGIN + _ROW * (len(rows) + 0.5), _SIZE, text, "text", centred=False))
    # lines lie below pegs
    shapes.sort(key=lambda shape: not isinstance(shape, Line))
    return _framed(shapes, title)


def game_picture(game: Game, answers: Sequence[tuple[int, int]], left: Sequence[int]) -> Picture:
    """A game so far: each guess with its feedback, and how many codes are left after it.

    Args:
      game: the game.
      answers: (guess, feedback), as numbers.
      left: the codes that are left, before the first guess and after each.
    """
    places = game.places
    shapes: list[Shape] = [
        Text(_MARGIN, _MARGIN + _ROW / 2, _SIZE, f"{game}: {left[0]:,} codes", "text", centred=False)
    ]
    for number, (guess, feedback) in enumerate(answers, 1):
        y = _MARGIN + _ROW * (number + 0.5)
        shapes += code_shapes(game, guess, _MARGIN, y)
        x = _MARGIN + _PEG * places + 8
        shapes += feedback_shapes(game, feedback, x, y)
        text = "found" if feedback == game.win else f"{left[number]:,} left"
        shapes.append(Text(x + _SMALL * places + 8, y, _SIZE, text, "text", centred=False))
    return _framed(shapes, f"{game}: {len(answers)} guesses")


def code_shapes(game: Game, code: int, x: float, y: float) -> Iterator[Shape]:
    """A code, whose pegs begin at x."""
    for place, (colour, label) in enumerate(zip(game.codes[code].tolist(), game.labels(code), strict=True)):
        middle = x + _PEG * (place + 0.5)
        yield Circle(middle, y, 0.42 * _PEG, _COLOURS[colour % len(_COLOURS)])
        yield Text(middle, y, _SIZE if len(label) < 3 else 0.7 * _SIZE, label, "peg-text")


def feedback_shapes(game: Game, feedback: int, x: float, y: float) -> Iterator[Shape]:
    """A feedback from x on: full pegs for what is right, rings for what is elsewhere, dots for the others."""
    for place, mark in enumerate(game.marks(feedback)):
        middle = x + _SMALL * (place + 0.5)
        radius, role = ((1.2, "candidate"), (3.5, "rim"), (4, "exact"))[mark]
        yield Circle(middle, y, radius, role)


def _framed(shapes: Sequence[Shape], title: str) -> Picture:
    right, down = extent(shapes)
    return Picture(right + _MARGIN, down + _MARGIN, tuple(shapes), title)
