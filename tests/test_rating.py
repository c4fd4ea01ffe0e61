"""Ratings: what they count, whose they are, and how they agree with others'."""

from __future__ import annotations

import csv
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import rating
from jaxsudoku.board import Board
from jaxsudoku.propagation import RULES
from jaxsudoku.techniques import registry, subsets
from jaxsudoku.techniques.climb import climb
from jaxsudoku.techniques.position import Position
from jaxsudoku.techniques.rectangles import unique_rectangles

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


# ---------------------------------------------------------------------- by technique


FOUR = reference.SMALL["4x4"]
#: A puzzle with one solution, one without, one with several, and a complete grid.
SMALL = np.stack([js.parse(text) for text in ("1.34.4122.4.43.1", "123...4.........", "." * 16, "1234341221434321")])
by_technique = functools.partial(js.rate, board=FOUR, by="technique", up_to="naked-single")


def test_names_have_the_shape_of_the_puzzles():
    found = by_technique(SMALL.reshape(2, 2, 16))
    assert found.names.dtype == object
    assert found.names.tolist() == [["full-house", ""], ["", ""]]
    np.testing.assert_array_equal(found.score, np.float32([[1, np.nan], [np.nan, 0]]))
    alone = by_technique(SMALL[0])
    assert (alone.names.dtype, alone.names.shape, alone.names.item()) == (object, (), "full-house")
    none = by_technique(SMALL[:0])
    assert (none.names.dtype, none.names.shape) == (object, (0,))


def test_the_proof_reports_its_progress():
    calls = []
    by_technique(SMALL, progress=lambda done, count: calls.append((done, count)))
    assert calls == [(0, 4), (4, 4), (0, 4), (4, 4)], "of the proofs, then of the puzzles"


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"searches": 8}, "searches is of ratings by nodes"),
        ({"key": 0}, "key is of ratings by nodes"),
        ({"up_to": 3}, "technique must be a word, not 3"),
        ({"up_to": "naked"}, "unknown technique 'naked': choose one of full-house, "),
        ({"by": None}, "rating must be a word, not None"),
        ({"by": "nodes"}, "up_to is of ratings by technique"),
    ],
)
def test_settings_of_the_other_ratings_are_refused(settings, cause):
    with pytest.raises(ValueError, match=cause):
        by_technique(SMALL, **settings)


def climbed(*names: str) -> list[int]:
    """The numbers of the hardest techniques among some that the puzzles need."""
    found = jax.jit(functools.partial(climb, board=FOUR, names=names, lanes=32))(SMALL[[0, 3]])
    return found.hardest.tolist()


def test_techniques_are_chosen_by_any_form_of_their_names():
    assert climbed("Naked Single") == [registry.NUMBERS["naked-single"], -1]
    assert climbed("naked-pair") == [-1, -1], "no cell can be filled"


@pytest.mark.parametrize(
    ("names", "cause"),
    [
        (("naked-single", "nakedpair"), "unknown technique 'nakedpair': .*did you mean 'naked-pair'"),
        ("naked-single", "techniques must be a sequence of names, not 'naked-single'"),
        (3, "techniques must be a sequence of names, not 3"),
        ((3,), "technique must be a word, not 3"),
    ],
)
def test_unknown_techniques_are_refused(names, cause):
    with pytest.raises(ValueError, match=cause):
        climb(SMALL, FOUR, names)


def test_titles():
    titles = {technique.name: technique.title for technique in registry.TECHNIQUES}
    shared = {"hidden-single-in-region": "hidden single", "hidden-single-in-line": "hidden single"}
    shared |= {"pointing": "locked candidates", "claiming": "locked candidates"}
    special = {
        "x-wing": "X-wing",
        "xy-wing": "XY-wing",
        "xyz-wing": "XYZ-wing",
        "w-wing": "W-wing",
        "finned-x-wing": "finned X-wing",
        "x-chain": "X-chain",
        "xy-chain": "XY-chain",
        "aic": "alternating inference chain",
        "als-chain": "ALS chain",
    }
    assert titles == {name: name.replace("-", " ") for name in registry.NUMBERS} | shared | special


def test_ratings_have_a_table():
    puzzles = [js.parse("1.34.4122.4.43.1"), js.parse("1234341221434321"), js.parse("." * 16)]
    table = js.rate(puzzles, by="technique").to_table(puzzles).to_pylist()
    assert [row["puzzle"] for row in table] == ["1.34.4122.4.43.1", "1234341221434321", "." * 16]
    assert [(row["clues"], row["technique"]) for row in table] == [(11, "full-house"), (16, ""), (0, "")]
    assert table[0]["score"] == 1 and np.isnan(table[2]["score"])
    with pytest.raises(ValueError, match="2 puzzles for 3 results"):
        js.rate(puzzles, by="technique").to_table(puzzles[:2])


def test_techniques_are_left_out_that_take_too_long_or_have_no_houses():
    quads = {"naked-quad", "jellyfish", "hidden-quad"}
    locked_sets = {"almost-locked-sets", "als-chain"}
    regions = {"hidden-single-in-region", "pointing", "claiming"}
    boards = [(Board.classic(16), set()), (Board.classic(25), locked_sets), (Board.classic(36), locked_sets | quads)]
    boards += [(Board.classic(8, (1, 8)), regions), (Board.diagonal(9), set())]
    for board, absent in boards:
        assert {one.name for one in registry.TECHNIQUES if not registry.fits(one, board)} == absent


def test_the_program_of_rectangles_grows_with_the_side_alone():
    """Not with the pairs of rows and columns, which took a minute to compile on 25x25."""

    def operations(side: int) -> int:
        shape = jax.ShapeDtypeStruct((side, side**2, 1), np.uint32)
        cells = jax.ShapeDtypeStruct(shape.shape[1:], np.uint32)
        find = functools.partial(unique_rectangles, Board.classic(side))
        return jax.jit(find).lower(Position(shape, cells, cells)).as_text().count("\n")

    assert operations(16) < 4 * operations(4)


def test_rows_of_wide_boards_are_updated_in_place_alike(monkeypatch):
    random = np.random.default_rng(3)
    candidates = np.bitwise_and(*random.integers(0, 1 << 32, (2, 6, 36, 1), dtype=np.uint32))
    position = Position(*map(jnp.asarray, (candidates, *np.zeros((2, 36, 1), np.uint32))))

    def found() -> list[np.ndarray]:
        functions = (subsets.naked_subsets, subsets.hidden_subsets, subsets.fish)
        return [np.asarray(function(Board.classic(6), position, 2)) for function in functions]

    masked = found()
    monkeypatch.setattr(subsets, "_MASKED", 5)
    np.testing.assert_array_equal(found(), masked)
    assert all(planes.any() for planes in masked)
