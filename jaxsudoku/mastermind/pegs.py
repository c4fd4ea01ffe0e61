"""Strategies and games as pictures: codes as coloured pegs, feedback as small ones. No JAX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxsudoku.pictures import Picture
from jaxsudoku.pictures.shapes import ROLES, Circle, Line, Text, extent

from .rules import Game

if TYPE_CHECKING:
    from jaxsudoku.pictures.shapes import Shape

    from .trees import Tree

#: Roles of the colours of pegs, which begin again after the last; every peg has the number of its colour, too.
_COLOURS = tuple(role for role in ROLES if role.startswith("peg-") and role != "peg-text")
#: The margin, the height of a row, the distance between pegs, between feedback pegs and between levels, size of texts.
_MARGIN, _ROW, _PEG, _SMALL, _LEVEL, _SIZE = 14, 28, 24, 11, 34, 13


def tree_picture(tree: Tree, guesses: int, most: int) -> Picture:
    """The first guesses of a strategy, one a row; as ``Tree.picture``."""
    game = tree.game
    shapes: list[Shape] = []
    parents: list[float] = []  # where the row of the last node of each depth is
    rows = 0
    nodes = list(walk(tree, guesses))
    for node, depth in nodes[:most]:
        y = _MARGIN + _ROW * (rows + 0.5)
        x = float(_MARGIN + _LEVEL * depth)
        del parents[depth:]
        parents.append(y)
        if depth:
            stem = x - _LEVEL + _PEG / 2
            shapes.append(Line(((stem, parents[-2] + _PEG / 2), (stem, y), (x - 4, y)), "edge"))
            shapes += feedback_shapes(game, int(tree.feedbacks[node]), x, y)
            x += _SMALL * game.pegs + 8
        shapes += code_shapes(game, game.codes[int(tree.guesses[node])].tolist(), x, y)
        x += _PEG * game.pegs + 6
        if tree.codes[node] > 1:
            text = f"{tree.codes[node]:,} codes, {tree.remaining[node]:.3f} guesses in the mean"
            shapes.append(Text(x, y, _SIZE, text, "text", centred=False))
        rows += 1
    if len(nodes) > most:
        text = f"{len(nodes) - most:,} further guesses of these levels are not drawn"
        shapes.append(Text(_MARGIN, _MARGIN + _ROW * (rows + 0.5), _SIZE, text, "text", centred=False))
    # lines lie below pegs
    shapes.sort(key=lambda shape: not isinstance(shape, Line))
    return _framed(shapes, f"the strategy {tree.player or 'of a tree'} for {game}, its first {guesses} guesses")


def walk(tree: Tree, guesses: int) -> Iterator[tuple[int, int]]:
    """The nodes of the first guesses, each with its depth: before those below it, in the order of their feedbacks."""
    stack = [0]
    while stack:
        node = stack.pop()
        depth = int(tree.depths[node])
        yield node, depth
        if depth + 1 < guesses:
            stack += [child for child in tree.children[node, ::-1].tolist() if child >= 0]


def game_picture(game: Game, answers: Sequence[tuple[int, int]], left: Sequence[int]) -> Picture:
    """A game so far: each guess with its feedback, and how many codes are left after it.

    Args:
      game: the game.
      answers: (guess, feedback), as numbers.
      left: the codes that are left, before the first guess and after each.
    """
    shapes: list[Shape] = [
        Text(_MARGIN, _MARGIN + _ROW / 2, _SIZE, f"{game}: {left[0]:,} codes", "text", centred=False)
    ]
    for number, (guess, feedback) in enumerate(answers, 1):
        y = _MARGIN + _ROW * (number + 0.5)
        shapes += code_shapes(game, game.codes[guess].tolist(), _MARGIN, y)
        x = _MARGIN + _PEG * game.pegs + 8
        shapes += feedback_shapes(game, feedback, x, y)
        text = "found" if feedback == game.win else f"{left[number]:,} left"
        shapes.append(Text(x + _SMALL * game.pegs + 8, y, _SIZE, text, "text", centred=False))
    return _framed(shapes, f"{game}: {len(answers)} guesses")


def code_shapes(game: Game, colours: Sequence[int], x: float, y: float) -> Iterator[Shape]:
    """A code, colours from 0, whose pegs begin at x."""
    size = _SIZE if game.colours < 100 else 0.7 * _SIZE
    for place, colour in enumerate(colours):
        middle = x + _PEG * (place + 0.5)
        yield Circle(middle, y, 0.42 * _PEG, _COLOURS[colour % len(_COLOURS)])
        yield Text(middle, y, size, str(colour + 1), "peg-text")


def feedback_shapes(game: Game, feedback: int, x: float, y: float) -> Iterator[Shape]:
    """A feedback from x on: full pegs for those that are right, rings for right colours elsewhere, dots for others."""
    exact, colour = game.pairs[feedback]
    for place in range(game.pegs):
        middle = x + _SMALL * (place + 0.5)
        if place < exact:
            yield Circle(middle, y, 4, "exact")
        elif place < exact + colour:
            yield Circle(middle, y, 3.5, "rim")
        else:
            yield Circle(middle, y, 1.2, "candidate")


def _framed(shapes: Sequence[Shape], title: str) -> Picture:
    right, down = extent(shapes)
    return Picture(right + _MARGIN, down + _MARGIN, tuple(shapes), title)
