"""Pictures of Mastermind: strategies and games as rows of pegs."""

from __future__ import annotations

import functools

import pytest

from jaxsudoku import mastermind as mm
from jaxsudoku.mastermind import pegs
from jaxsudoku.pictures.shapes import Circle, Line, Text

GAME = mm.PegGame(2, 4)


@functools.cache
def tree() -> mm.Tree:
    return mm.build(GAME, "minimax")


def rows(picture) -> dict[float, str]:
    """The numbers on the pegs of each row."""
    found: dict[float, str] = {}
    for shape in picture.shapes:
        if shape.role == "peg-text":
            found[shape.y] = found.get(shape.y, "") + shape.text
    return found


def test_a_strategy_has_a_row_for_each_guess_as_in_its_text():
    for guesses in (1, 2, 3):
        drawn = [line.split(": ")[-1].split()[0] for line in mm.draw_tree(tree(), guesses).splitlines()]
        assert list(rows(tree().picture(guesses)).values()) == drawn
    assert len(rows(tree().picture(9))) == len(tree())


def test_rows_have_the_feedback_and_the_number_of_codes():
    picture = tree().picture(2)
    (first, *others) = [(shape.y, shape.text) for shape in picture.shapes if shape.role == "text"]
    assert first[1] == f"16 codes, {tree().mean:.3f} guesses on average"
    children = [child for child in tree().children[0].tolist() if child >= 0]
    assert [text.split()[0] for _, text in others] == [
        str(tree().codes[child]) for child in children if tree().codes[child] > 1
    ]
    exact = sum(shape.role == "exact" for shape in picture.shapes)
    rings = sum(shape.role == "rim" for shape in picture.shapes)
    pairs = [GAME.pairs[int(tree().feedbacks[child])] for child in children]
    assert (exact, rings) == (sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))


def test_shapes_lie_in_the_picture():
    for picture in (tree().picture(3), mm.CodeBreaker(GAME, tree()).picture()):
        for shape in picture.shapes:
            for x, y in shape.points if isinstance(shape, Line) else [(shape.x, shape.y)]:
                assert 0 < x < picture.width and 0 < y < picture.height
        ends = [shape.x + 0.55 * shape.size * len(shape.text) for shape in picture.shapes if isinstance(shape, Text)]
        assert max(ends) < picture.width


def test_a_strategy_is_cut_and_says_so():
    picture = tree().picture(3, most=4)
    assert len(rows(picture)) == 4
    left = len(list(tree().walk(3))) - 4
    assert picture.shapes[-1].text == f"{left} further nodes of these levels are not drawn"
    assert tree()._repr_svg_() == tree().picture(2, 60).svg
    for name in ("guesses", "most"):
        with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
            tree().picture(**{name: 0})


def test_a_game_so_far():
    breaker = mm.CodeBreaker(GAME, tree())
    assert [shape.text for shape in breaker.picture().shapes] == ["2 pegs, 4 colours: 16 codes"]
    maker = mm.CodeMaker(GAME, 10)
    guess = breaker.guess()
    breaker.update(guess, maker.answer(guess))
    picture = breaker.picture()
    assert list(rows(picture).values()) == [GAME.code_text(guess)]
    assert picture.shapes[-1].text == f"{len(breaker.possible)} left"
    while not breaker.over:
        breaker.update(breaker.guess(), maker.answer(breaker.guess()))
    assert breaker.picture().shapes[-1].text == "found"
    assert "<svg" in breaker._repr_svg_()


def test_every_colour_has_its_number():
    game = mm.PegGame(1, 12)
    circles = [next(pegs.code_shapes(game, colour, 0, 0)) for colour in range(12)]
    assert all(isinstance(circle, Circle) for circle in circles)
    assert len({circle.role for circle in circles}) == 8
    texts = [list(pegs.code_shapes(game, colour, 0, 0))[1].text for colour in range(12)]
    assert texts == [str(number) for number in range(1, 13)]
