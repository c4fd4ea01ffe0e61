"""Ratings: what they count, whose they are, and how they agree with others'."""

from __future__ import annotations

import csv
import functools
import itertools

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import rating
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import RULES
from jaxsudoku.engine import batches
from jaxsudoku.techniques import registry, subsets
from jaxsudoku.techniques.position import Position
from jaxsudoku.techniques.rectangles import unique_rectangles
from jaxsudoku.techniques.solving import solve_by_techniques

#: One board for all ratings by nodes, so that they share a program.
SIX = reference.SMALL["jigsaw-6"]
#: Puzzles on it that each of the rules solves where the weaker ones don't, and puzzles that none solves.
BY_RULES = {
    "naked": ("000000040100000002010040500601000000", "000000600000000540030006402000000050"),
    "singles": ("000010005000010000060200031006000000", "050003600000005004000000400000000302"),
    "locked": ("100000000000000605000060000000200004", "000000000000600305100002000010042000"),
    "": ("100000000000003000000050000000000460", "305000000000000500000060010000000004"),
}


def puzzles() -> np.ndarray:
    return np.array([js.parse(text) for texts in BY_RULES.values() for text in texts])


def test_a_rating_is_the_puzzles_own():
    several = puzzles()
    ratings = js.rate(np.concatenate([several, several[::-1]]), SIX, key=3)
    np.testing.assert_array_equal(ratings[:8], ratings[:7:-1])
    np.testing.assert_array_equal(js.rate(several[6], SIX, key=3), ratings[6])
    assert js.rate(several[6], SIX, key=4) != ratings[6]


def test_improper_puzzles_have_no_rating():
    clash = [1, 1, *[0] * 34]
    none = [1, 2, 3, 4, 5, 0, *[0] * 17, 6, *[0] * 12]  # nothing is left for the sixth cell
    assert reference.count(SIX, none, 1) == 0
    assert np.isnan(js.rate(np.array([clash, none, [0] * 36], np.uint8), SIX)).all()


def test_a_rating_is_the_mean_over_trees_of_branch_nodes():
    ratings = js.rate(puzzles(), SIX)
    np.testing.assert_array_equal(ratings * rating.SEARCHES, np.round(ratings * rating.SEARCHES))
    assert (ratings[:4] == 0).all(), "singles solve them"
    assert ((ratings[4:] > 1) & (ratings[4:] < 50)).all()


def test_the_number_of_searches_is_data_of_a_program():
    eight = js.rate(puzzles(), SIX)
    compiled = batches._compile.cache_info().misses
    totals = [np.float64(js.rate(puzzles(), SIX, searches=searches)) * searches for searches in (7, 8, 9, 17)]
    assert batches._compile.cache_info().misses == compiled
    np.testing.assert_array_equal(totals[1], eight * 8)
    for fewer, more in itertools.pairwise(totals):  # each search adds the branch nodes of its tree
        added = more - fewer
        np.testing.assert_allclose(added, np.round(added), atol=1e-4)
        assert (added[4:] > 0).all() and (added[:4] == 0).all()


def test_the_hardest_technique_is_data_of_a_program():
    texts = np.array([js.parse(text) for text in BY_RULES["locked"] + BY_RULES[""]])
    compiled, solved = [], []
    for name in ("pointing", "naked-pair", "hidden-pair"):
        found = js.rate(texts, SIX, by="technique", up_to=name)
        compiled.append(batches._compile.cache_info().misses)
        solved.append(np.isfinite(found.score))
        assert (found.technique[solved[-1]] <= registry.NUMBERS[name]).all()
    assert len(set(compiled)) == 1
    program = functools.partial(solve_by_techniques, board=SIX, names=registry.names_up_to(name), lanes=32)
    expected = jax.jit(program)(texts)
    np.testing.assert_array_equal(solved[-1], expected.solved)
    np.testing.assert_array_equal(found.technique[expected.solved], expected.hardest[expected.solved])
    pointing, naked_pair, hidden_pair = solved
    assert (pointing <= naked_pair).all() and (naked_pair <= hidden_pair).all()
    names, last = registry.program_for("x-wing")
    assert names[-1] == "hidden-triple" and registry.TECHNIQUES[last].name == "x-wing"
    assert registry.program_for("naked-single")[0] == registry.names_up_to("naked-single")
    assert registry.program_for("nishio")[0] is registry.program_for(None)[0] is None


def test_weakest_rules():
    (solution,) = reference.solutions(SIX, puzzles()[0], 2)
    almost = np.array(solution)
    almost[::8] = 0
    levels = js.weakest_rules(np.array([solution, almost, [200] * 36], np.uint8), SIX)
    assert levels.dtype == np.int8
    assert levels.tolist() == [RULES.index("none"), RULES.index("naked"), len(RULES)]
    assert js.weakest_rules(puzzles()[3], SIX) == RULES.index("singles")


def test_levels_are_those_of_the_reference():
    levels = js.weakest_rules(puzzles(), SIX)
    named = [RULES.index(rules) if rules else len(RULES) for rules, texts in BY_RULES.items() for _ in texts]
    assert levels.tolist() == named
    for puzzle, level in zip(puzzles(), levels, strict=True):
        candidates = reference.candidates(SIX, puzzle[None])[0]
        solves = [
            (reference.deduce(SIX, candidates, rules).sum(axis=0) == 1).all() if rules != "none" else puzzle.all()
            for rules in RULES
        ]
        assert level == (solves.index(True) if True in solves else len(RULES))


def test_no_puzzles_at_all():
    none = np.zeros((2, 0, 36), np.uint8)
    assert js.rate(none, SIX).shape == js.weakest_rules(none, SIX).shape == (2, 0)


def test_grades():
    ratings = [0, 0.125, 1.875, 2, 9.875, 10, 49.875, 50, np.inf, np.nan]
    assert rating.grade(ratings).tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, -1]
    assert len(rating.GRADES) == 5


def test_senseless_arguments():
    with pytest.raises(ValueError, match="searches must be at least 1, not 0"):
        js.rate(puzzles(), SIX, searches=0)
    with pytest.raises(ValueError, match=r"grids of shape \(8, 35\)"):
        js.rate(puzzles()[:, 1:], SIX)


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
#: A puzzle with one solution, one without, one with several, a complete one, and one beyond full houses.
SMALL = np.array(
    list(map(js.parse, ("1.34.4122.4.43.1", "123...4.........", "." * 16, "1234341221434321", ".4.2.2.1.1......")))
)
by_technique = functools.partial(js.rate, board=FOUR, by="technique", up_to="full house")


def test_names_have_the_shape_of_the_puzzles():
    found = by_technique(SMALL[:4].reshape(2, 2, 16))
    assert found.names.dtype == object
    assert found.names.tolist() == [["full-house", ""], ["", ""]]
    np.testing.assert_array_equal(found.technique, [[registry.NUMBERS["full-house"], -1], [-1, -1]])
    np.testing.assert_array_equal(found.score, np.float32([[1, np.nan], [np.nan, 0]]))
    alone = by_technique(SMALL[0])
    assert (alone.names.dtype, alone.names.shape, alone.names.item()) == (object, (), "full-house")
    none = js.rate(SMALL[:0], FOUR, by="technique")
    assert (none.names.dtype, none.names.shape) == (object, (0,))


def test_puzzles_beyond_the_techniques_have_an_infinite_score():
    found = by_technique(SMALL, up_to="Full House")
    np.testing.assert_array_equal(found.score, np.float32([1, np.nan, np.nan, 0, np.inf]))
    np.testing.assert_array_equal(found.technique, [registry.NUMBERS["full-house"], -1, -1, -1, -1])


def test_the_proof_reports_its_progress():
    calls = []
    by_technique(SMALL, progress=lambda done, count: calls.append((done, count)))
    assert calls == [(0, 5)] * (len(calls) - 1) + [(5, 5)], "no puzzle is done before its proof"


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


def test_techniques_are_chosen_by_any_form_of_their_names():
    assert [one.name for one in registry.chosen(["X_Wing", "Naked Single"])] == ["naked-single", "x-wing"]
    assert registry.names_up_to("Hidden single in region") == ("full-house", "hidden-single-in-region")


def test_techniques_that_fill_no_cell_solve_nothing():
    found = jax.jit(functools.partial(solve_by_techniques, board=FOUR, names=("Naked Pair",), lanes=32))(SMALL[[0, 3]])
    assert np.asarray(found.hardest).tolist() == [-1, -1]
    assert np.asarray(found.solved).tolist() == [False, True]


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
        solve_by_techniques(SMALL, FOUR, names)


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
    ratings = by_technique(puzzles)
    table = ratings.to_table(puzzles).to_pylist()
    assert [row["puzzle"] for row in table] == ["1.34.4122.4.43.1", "1234341221434321", "." * 16]
    assert [(row["clues"], row["technique"]) for row in table] == [(11, "full-house"), (16, ""), (0, "")]
    assert table[0]["score"] == 1 and np.isnan(table[2]["score"])
    with pytest.raises(ValueError, match="2 puzzles for 3 results"):
        ratings.to_table(puzzles[:2])


def test_techniques_are_left_out_that_take_too_long_or_have_no_houses():
    quads = {"naked-quad", "jellyfish", "hidden-quad"}
    locked_sets = {"almost-locked-sets", "als-chain"}
    regions = {"hidden-single-in-region", "pointing", "claiming"}
    boards = [(Board.classic(16), set()), (Board.classic(25), locked_sets), (Board.classic(36), locked_sets | quads)]
    boards += [(Board.classic(8, (1, 8)), regions), (Board.diagonal(9), set())]
    for board, absent in boards:
        assert {one.name for one in registry.TECHNIQUES if not registry.fits(one, board)} == absent | {"constraint"}


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
    position = Position(candidates, *np.zeros((2, 36, 1), np.uint32))

    @jax.jit
    def both(position):
        functions = (subsets.naked_subsets, subsets.hidden_subsets, subsets.fish)
        found = []
        for masked in (16, 5):
            monkeypatch.setattr(subsets, "_MASKED", masked)
            found.append([function(Board.classic(6), position, 2) for function in functions])
        return found

    masked, in_place = jax.tree.map(np.asarray, both(position))
    np.testing.assert_array_equal(in_place, masked)
    assert all(planes.any() for planes in masked)
