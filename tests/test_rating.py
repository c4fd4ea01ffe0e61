"""Ratings: what they count, whose they are, and how they agree with others'."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import rating
from jaxsudoku.board import Board
from jaxsudoku.propagation import RULES

NINE = Board.classic()
#: Singles solve the first; the second (Inkala's) is among the hardest.
EASY = "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3.."
HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."


def puzzles() -> np.ndarray:
    return np.stack([js.parse(text) for text in (EASY, HARD)])


def test_singles_alone_rate_zero_and_hard_ones_high():
    easy, hard = js.rate(puzzles())
    assert easy == 0
    assert 20 < hard < 10_000


def test_a_rating_is_the_puzzles_own():
    both = puzzles()
    ratings = js.rate(np.concatenate([both, both[::-1]]), key=3)
    np.testing.assert_array_equal(ratings[:2], ratings[:1:-1])
    np.testing.assert_array_equal(js.rate(both[1], key=3), ratings[1])
    assert js.rate(both[1], key=4) != ratings[1]


def test_improper_puzzles_have_no_rating():
    board = reference.SMALL["4x4"]
    clash = js.parse("11..............")
    none = js.parse("123...4.........")  # nothing is left for the fourth cell
    assert js.count_solutions(none, board=board) == 0
    blank = np.zeros(16, np.uint8)
    assert np.isnan(js.rate(np.stack([clash, none, blank]), board=board, searches=4)).all()


def test_a_rating_is_the_mean_over_trees_of_branch_nodes():
    board = reference.SMALL["4x4"]
    made = reference.unique(board, 40)
    ratings = js.rate(made, board=board, searches=4)
    np.testing.assert_array_equal(ratings * 4, np.round(ratings * 4))
    solved = js.weakest_rules(made, board) <= RULES.index("singles")
    np.testing.assert_array_equal(ratings == 0, solved)


def test_weakest_rules():
    levels = js.weakest_rules(puzzles())
    assert levels.dtype == np.int8
    assert levels.tolist() == [RULES.index("naked"), len(RULES)]
    solution = js.solve(puzzles()[0]).grids
    assert js.weakest_rules(solution) == RULES.index("none")
    almost = solution.copy()
    almost[::20] = 0
    assert js.weakest_rules(almost) == RULES.index("naked")
    assert js.weakest_rules(np.full(81, 200, np.uint8)) == len(RULES)


@pytest.mark.parametrize("board", reference.SMALL.values(), ids=reference.SMALL)
def test_levels_are_those_of_the_reference(board):
    made = reference.unique(board, 12)
    levels = js.weakest_rules(made, board)
    for puzzle, level in zip(made, levels, strict=True):
        candidates = reference.candidates(board, puzzle[None])[0]
        solves = [
            (reference.deduce(board, candidates, rules).sum(axis=0) == 1).all() if rules != "none" else puzzle.all()
            for rules in RULES
        ]
        assert level == (solves.index(True) if True in solves else len(RULES))


def test_no_puzzles_at_all():
    none = np.zeros((2, 0, 81), np.uint8)
    assert js.rate(none).shape == js.weakest_rules(none).shape == (2, 0)


def test_grades():
    ratings = [0, 0.125, 1.875, 2, 9.875, 10, 49.875, 50, np.inf, np.nan]
    assert rating.grade(ratings).tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, -1]
    assert len(rating.GRADES) == 5


def test_senseless_arguments():
    with pytest.raises(ValueError, match="searches must be at least 1, not 0"):
        js.rate(puzzles(), searches=0)
    with pytest.raises(ValueError, match=r"grids of shape \(2, 80\)"):
        js.rate(puzzles()[:, 1:])


@pytest.mark.slow
def test_the_rating_agrees_with_the_study(shared_data):
    """Rank correlation with the difficulty that the rated Kaggle puzzles come with."""
    with open(shared_data / "kaggle3m_rated.csv") as file:
        rows = list(csv.DictReader(file))
    ratings = js.rate(np.stack([js.parse(row["puzzle"]) for row in rows]))
    difficulty = np.array([float(row["difficulty"]) for row in rows])
    assert np.corrcoef(ranks(ratings), ranks(difficulty))[0, 1] > 0.8
    assert rating.SEARCHES > 1


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, equal values sharing their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def test_ratings_have_a_table():
    puzzles = [js.parse("1.34.4122.4.43.1"), js.parse("1234341221434321"), js.parse("." * 16)]
    table = js.rate(puzzles, by="technique").to_table(puzzles).to_pylist()
    assert [row["puzzle"] for row in table] == ["1.34.4122.4.43.1", "1234341221434321", "." * 16]
    assert [(row["clues"], row["technique"]) for row in table] == [(11, "full-house"), (16, ""), (0, "")]
    assert table[0]["score"] == 1 and np.isnan(table[2]["score"])
    with pytest.raises(ValueError, match="2 puzzles for 3 results"):
        js.rate(puzzles, by="technique").to_table(puzzles[:2])
