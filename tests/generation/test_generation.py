"""Generated puzzles: proper, minimal, as the settings say, and independent of the batch."""

from __future__ import annotations

import contextlib
import functools
import math

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import generation
from jaxsudoku.core.board import Board
from jaxsudoku.engine import batches
from jaxsudoku.generation import generator, patterns
from jaxsudoku.techniques.ratings import TechniqueRatings
from jaxsudoku.techniques.registry import NUMBERS

FOUR, SIX = reference.SMALL["4x4"], reference.SMALL["2x3"]
NINE = Board.classic()

#: Makes puzzles of a board in batches of 64, so that a kernel is compiled once.
generate = functools.partial(js.generate, batch_size=64)


def check(board: Board, made: js.Puzzles) -> None:
    """Puzzles are proper, and what is said of them is true."""
    assert made.puzzles.dtype == made.solutions.dtype == np.uint8
    assert made.clues.dtype == np.int32
    assert made.rating.dtype == np.float32
    np.testing.assert_array_equal((made.puzzles > 0).sum(axis=1), made.clues)
    for puzzle, solution in zip(made.puzzles, made.solutions, strict=True):
        (found,) = reference.solutions(board, puzzle, 2)
        np.testing.assert_array_equal(found, solution)


def test_numbers_are_data_of_a_program():
    made = generate(1, 3, FOUR, clues=6, steps=1)
    compiled = batches._compile.cache_info().misses
    more = generate(2, 3, FOUR, clues=(5, 7), steps=4, rating=(0.0, 9.0), attempts=7)
    assert batches._compile.cache_info().misses == compiled
    assert (made.clues == 6).all() and (abs(more.clues - 6) <= 1).all()


def is_minimal(board: Board, puzzle: np.ndarray) -> bool:
    """No clue may go."""
    for cell in np.flatnonzero(puzzle):
        less = puzzle.copy()
        less[cell] = 0
        if reference.count(board, less, 2) < 2:
            return False
    return True


@functools.cache
def minimal() -> js.Puzzles:
    return generate(1, 40, FOUR)


def test_minimal_puzzles():
    made = minimal()
    check(FOUR, made)
    assert all(is_minimal(FOUR, puzzle) for puzzle in made.puzzles)
    assert len(np.unique(made.puzzles, axis=0)) > 35
    cubes = reference.candidates(FOUR, made.puzzles)
    solved = [(reference.deduce(FOUR, cube, "singles").sum(axis=0) == 1).all() for cube in cubes]
    np.testing.assert_array_equal(made.rating == 0, solved)


@pytest.mark.slow
def test_a_puzzle_is_its_own_whatever_the_batch():
    """One of few puzzles too, which are made by a program that compiles faster."""
    made = minimal()
    for part, whole in zip(few_puzzles().make(7, 3), made, strict=True):
        np.testing.assert_array_equal(part, whole[7:10])
    other = generate(2, 40, FOUR)
    assert (other.puzzles != made.puzzles).any(axis=1).mean() > 0.9
    same = generate(jax.random.key(1), 40, FOUR)
    np.testing.assert_array_equal(same.puzzles, made.puzzles)


def few_puzzles() -> generation.Generator:
    """A generator with a program for few puzzles."""
    generator = generation.Generator(1, FOUR, generation.GenerateConfig())
    assert generator._engine_for(3) is generator._quick
    return generator


def test_few_puzzles_compile_apart():
    generator = few_puzzles()
    quick = generator._quick
    assert quick.kernel.compiler_options
    assert generator._fewest_rows(quick, 0) == quick.batch_size
    for options in ({"rating": (1.0, None)}, {"clues": 4}, {"clues": 6, "steps": 2}):
        other = generation.Generator(1, FOUR, generation.GenerateConfig(**options))
        assert other._engine_for(3) is other.engine
        assert not other.engine.kernel.compiler_options


def test_a_number_of_clues():
    made = generate(0, 40, FOUR, clues=6)
    check(FOUR, made)
    assert (made.clues == 6).all()
    several = generate(0, 60, FOUR, clues=(5, 9))
    check(FOUR, several)
    assert set(several.clues.tolist()) == {5, 6, 7, 8, 9}
    full = generate(0, 40, FOUR, clues=16)
    np.testing.assert_array_equal(full.puzzles, full.solutions)


def test_puzzles_on_a_device_are_those_of_numpy_arrays(monkeypatch):
    """Some are found by later attempts, which fill the places of the first."""
    merged, retried = generator._merged, []
    monkeypatch.setattr(generator, "_merged", lambda rows, *parts: (retried.append(len(rows)), merged(rows, *parts))[1])
    some = functools.partial(generate, 0, 40, FOUR, clues=4, attempts=20)
    made, placed = some(), some(results="device")
    for one, other in zip(placed, made, strict=True):
        assert isinstance(one, jax.Array) and one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert 0 < retried[0] < 40
    assert generate(0, 0, FOUR, results="device").puzzles.shape == (0, 16)
    with pytest.raises(ValueError, match="unknown results 'gpu'"):
        generate(0, 1, FOUR, results="gpu")


def test_a_technique_that_all_puzzles_need():
    made = generate(1, 20, FOUR, technique="hidden-single-in-region")
    check(FOUR, made)
    np.testing.assert_array_equal(made.puzzles, minimal().puzzles[:20])


@pytest.mark.slow
def test_the_hardest_technique():
    made = js.generate(0, 4, SIX, technique="Hidden single in line", attempts=40, batch_size=64)
    check(SIX, made)
    assert [js.explain(puzzle, SIX).hardest.technique for puzzle in made.puzzles] == ["hidden-single-in-line"] * 4


def test_puzzles_beyond_all_techniques():
    config = generation.GenerateConfig(score=(9.5, None))
    assert config.technique_names == ()
    generator = generation.Generator(1, Board.classic(25), config)
    assert generator._climber.kernel.names is None, "all techniques are tried"
    with pytest.raises(ValueError, match="almost-locked-sets is not used on a 25x25 board"):
        generation.Generator(1, Board.classic(25), generation.GenerateConfig(technique="almost-locked-sets"))


@pytest.mark.parametrize(("bounds", "wanted"), [((2.3, None), [False, True, True]), ((2.3, 9.0), [False, True, False])])
def test_scores_without_a_bound_hold_puzzles_beyond_the_techniques(bounds, wanted, monkeypatch):
    generator = generation.Generator(1, FOUR, generation.GenerateConfig(score=bounds))
    numbers = [NUMBERS["hidden-single-in-region"], NUMBERS["naked-pair"], -1]
    rated = TechniqueRatings(np.int8(numbers), np.float32([1.2, 3.0, np.inf]))
    monkeypatch.setattr(generator, "technique_ratings", lambda puzzles: rated)
    np.testing.assert_array_equal(generator._needs(np.zeros((3, 16), np.uint8)), wanted)


@pytest.mark.slow
def test_a_large_board():
    """From 12x12 up grids and proofs come from the search with restarts, one puzzle a lane."""
    board = Board.classic(12)
    made = js.generate(0, 8, board, clues=(60, 75))
    check(board, made)
    assert ((made.clues >= 60) & (made.clues <= 75)).all()
    again = js.generate(0, 3, board, first=4, clues=(60, 75))
    for part, whole in zip(again, made, strict=True):
        np.testing.assert_array_equal(part, whole[4:7])


@pytest.mark.slow
def test_clues_in_a_pattern():
    made = generate(0, 40, FOUR, pattern="full")
    check(FOUR, made)
    given = made.puzzles.reshape(-1, 4, 4) > 0
    for turned in (given[:, ::-1, ::-1], given.swapaxes(1, 2), given[:, ::-1]):
        np.testing.assert_array_equal(given, turned)
    assert 0 < given.mean() < 0.8


@pytest.mark.parametrize("pattern", patterns.PATTERNS)
@pytest.mark.parametrize("side", [4, 9])
def test_the_places_of_a_pattern_make_a_partition(pattern, side):
    board = Board.classic(side)
    orbits = patterns.orbits_of(board, pattern)
    places = orbits[orbits < board.cells]
    np.testing.assert_array_equal(np.sort(places), np.arange(board.cells))
    width = {"none": 1, "quarter-turn": 4, "full": 8}.get(pattern, 2)
    assert orbits.shape[1] == width if side > 4 else orbits.shape[1] <= width


@pytest.mark.slow
def test_the_neighbourhood_leads_to_fewer_clues_and_higher_ratings():
    made = generate(0, 2, SIX, clues=(0, 10), minimal=True, rating=(1.0, None), steps=20)
    check(SIX, made)
    assert (made.clues <= 10).all()
    assert (made.rating >= 1).all()
    assert all(is_minimal(SIX, puzzle) for puzzle in made.puzzles)
    np.testing.assert_array_equal(js.rate(made.puzzles, SIX, key=0), made.rating)


@pytest.mark.slow
def test_what_cannot_be_ends_with_what_was_found():
    with pytest.raises(js.GenerationError, match=r"minimal, 5 clues on 4x4") as caught:
        generate(0, 400, FOUR, clues=5, minimal=True, attempts=1)
    found = caught.value.found
    assert 0 < len(found.puzzles) < 400
    check(FOUR, found)
    assert (found.clues == 5).all()
    assert all(is_minimal(FOUR, puzzle) for puzzle in found.puzzles[:20])


def test_no_puzzles_at_all():
    made = generate(0, 0, FOUR)
    assert made.puzzles.shape == (0, 16)


@pytest.mark.parametrize(
    ("count", "options", "cause"),
    [
        (-1, {}, "count must be at least 0, not -1"),
        (1, {"clues": 17}, "17 clues; a board of 4x4 with 2x2 boxes has 16 cells"),
        (1, {"clues": (6, 5)}, "clues must be"),
        (1, {"clues": -1}, "clues must be"),
        (1.5, {}, "count must be a whole number, not 1.5"),
        (1, {"first": True}, "first must be a whole number, not True"),
        (1, {"rating": (3.0, 1.0)}, "rating must be a range"),
        (1, {"rating": (-5, -1)}, r"rating must be .*, not \(-5.0, -1.0\): no rating is below 0"),
        (1, {"rating": (math.nan, None)}, r"rating must be a range from low to high, not \(nan, None\)"),
        (1, {"clues": True}, "clues must be a whole number or a range of two, not True"),
        (1, {"clues": (6, 7, 8)}, "clues must be a whole number or a range of two"),
        (
            1,
            {"symmetry": "half-turn"},
            "the generator has no option symmetry; it has clues, minimal, rating, technique, score",
        ),
        (1, {"clue": 6}, "did you mean 'clues'"),
        (1, {"devices": 1}, "devices must be a sequence of JAX's devices"),
        (1, {"pattern": "spiral"}, "unknown pattern 'spiral': choose one of none, half-turn"),
        (1, {"steps": -1}, "steps must be at least 0"),
        (1, {"attempts": 0}, "attempts must be at least 1"),
        (1, {"first": (1 << 32) - 1}, "numbered from 0 to 4294967294, not 4294967295"),
        (1, {"clues": 5.5}, "clues must be a whole number"),
        (1, {"rating": 1.0}, "rating must be a range"),
        (1, {"technique": "xwing"}, "unknown technique 'xwing': .*did you mean 'x-wing'"),
        (1, {"technique": "swordfish"}, "swordfish finds nothing on a 4x4 board"),
        (1, {"score": (3.6, 3.8)}, "naked-triple, swordfish find nothing on a 4x4 board"),
        (1, {"technique": "x-wing", "score": (4, 5)}, "x-wing has a score of 3.2, which is not from 4 to 5"),
        (1, {"technique": "x-wing", "score": (9.5, None)}, "x-wing has a score of 3.2, which is not from 9.5"),
        (1, {"score": (3.1, 3.15)}, "no technique has a score from 3.1 to 3.15"),
        (1, {"score": 3.0}, "score must be a range from low to high, not 3.0"),
        (1, {"score": (5, 3)}, r"score must be a range from low to high, not \(5.0, 3.0\)"),
        (1, {"steps": 3}, "bound the clues above or the rating below"),
        (1, {"clues": 7, "pattern": "half-turn"}, "no 7 to 7 clues of a board of 4x4 .* make the pattern half-turn"),
        (1, {"devices": []}, "devices is empty"),
        (1, {"clues": 3}, "3 clues: no puzzle of 4x4 with 2x2 boxes with fewer than 4 has one solution, as is proved"),
        (1, {"clues": (None, 3), "minimal": True}, "0 to 3 clues: no puzzle"),
        (1, {"clues": (13, None), "minimal": True}, "13 to 16 clues: no minimal puzzle of .* with more than 12 can be"),
    ],
)
def test_senseless_options(count, options, cause):
    with pytest.raises(ValueError, match=cause):
        generate(0, count, FOUR, **options)


@pytest.mark.parametrize(
    ("board", "clues", "minimal", "cause"),
    [
        (NINE, 0, False, "0 clues: no puzzle of 9x9 with 3x3 boxes with fewer than 17 has one solution, as is proved"),
        (NINE, (10, 16), False, "10 to 16 clues: no puzzle"),
        (NINE, 41, True, "41 clues: no minimal puzzle of 9x9 with 3x3 boxes with more than 40 is known"),
        (Board.diagonal(9), 7, False, "fewer than 8 has one solution, for two digits without a clue could be swapped"),
        (Board.classic(16), 14, False, "fewer than 15"),
        (NINE, 17, False, None),
        (NINE, (0, 17), True, None),
        (NINE, 41, False, None),
    ],
)
def test_impossible_numbers_of_clues_are_said_at_once(board, clues, minimal, cause):
    config = generation.GenerateConfig(clues, minimal)
    with pytest.raises(ValueError, match=cause) if cause else contextlib.nullcontext():
        generation.Generator(0, board, config)


# ---------------------------------------------------------------------- holes


def holes_of_houses(board: Board, puzzles: np.ndarray) -> np.ndarray:
    """The number of holes of every house, [N, houses]."""
    return np.stack([(puzzles[:, list(house)] == 0).sum(axis=1) for house in board.houses], axis=1)


def check_holes(board: Board, made: js.Puzzles, given: float) -> None:
    """Instances with holes are parts of solved grids, with the number of clues that was asked for."""
    assert (made.clues == round(given * board.cells)).all()
    np.testing.assert_array_equal((made.puzzles > 0).sum(axis=1), made.clues)
    assert all(reference.is_solution(board, grid) for grid in made.solutions)
    assert ((made.puzzles == 0) | (made.puzzles == made.solutions)).all()
    assert made.rating.dtype == np.float32 and np.isnan(made.rating).all()


@pytest.mark.parametrize(
    ("board", "shares"),
    [
        (FOUR, (0.1, 0.4, 0.5, 0.9)),
        pytest.param(reference.SMALL["jigsaw-6"], (0.35, 0.5), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_balanced_holes_are_as_many_in_every_house(board, shares):
    for given in shares:  # of one program
        made = generate(3, 40, board, holes="balanced", given=given)
        check_holes(board, made, given)
        holes = holes_of_houses(board, made.puzzles)
        assert np.ptp(holes, axis=1).max() == (round(given * board.cells) % board.side > 0)
        assert len(np.unique(made.puzzles, axis=0)) > (35 if board.side > 4 else 10)
        again = generate(3, 20, board, first=20, holes="balanced", given=given)
        for part, whole in zip(again, made, strict=True):
            np.testing.assert_array_equal(part, whole[20:])


def test_balanced_holes_are_anywhere():
    """Every cell is as often a hole as any other, and holes tell nothing of the digits below them."""
    made = generate(0, 4000, FOUR, holes="balanced", given=0.4)
    holes = made.puzzles == 0
    assert np.abs(holes.mean(axis=0) - 0.625).max() < 0.04  # 5 standard deviations
    for digit in range(1, 5):
        assert holes[made.solutions == digit].mean() == pytest.approx(0.625, abs=0.03)
    patterns = {tuple(row) for row in holes}
    assert len(patterns) > 200


def test_random_holes_are_drawn_among_all_cells():
    made = generate(0, 4000, FOUR, holes="random", given=0.4)
    check_holes(FOUR, made, 0.4)
    holes = made.puzzles == 0
    assert np.abs(holes.mean(axis=0) - 0.625).max() < 0.04
    assert np.ptp(holes_of_houses(FOUR, made.puzzles), axis=1).max() == 4
    # two cells of a row are holes as often as two others
    together = [holes[:, one] & holes[:, other] for one, other in ((0, 1), (0, 15), (5, 6))]
    assert all(pair.mean() == pytest.approx(0.625 * 9 / 15, abs=0.04) for pair in together)


@pytest.mark.parametrize("holes", ["balanced", "random"])
def test_an_instance_is_its_own_whatever_the_batch(holes):
    made = generate(1, 40, FOUR, holes=holes, given=0.5)
    several = generate(1, 100, FOUR, holes=holes, given=0.5)  # in two batches
    for first, count in ((7, 20), (70, 30)):
        again = generate(1, count, FOUR, first=first, holes=holes, given=0.5)
        for part, whole in zip(again, several, strict=True):
            np.testing.assert_array_equal(part, whole[first : first + count])
    for part, whole in zip(made, several, strict=True):
        np.testing.assert_array_equal(part, whole[:40])
    other = generate(2, 40, FOUR, holes=holes, given=0.5)
    assert (other.puzzles != made.puzzles).any(axis=1).mean() > 0.9
    more = generate(1, 40, FOUR, holes=holes, given=0.75)
    np.testing.assert_array_equal(more.solutions, made.solutions)


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"holes": "balanced"}, "holes needs given, the share of cells that are given, such as 0.45"),
        ({"given": 0.5}, "given is for instances with holes: set holes too"),
        ({"holes": "even", "given": 0.5}, "unknown holes 'even': choose one of balanced, random"),
        ({"holes": "random", "given": 45}, r"given must be a share between 0 and 1, not 45: for 45% it is 0\.45"),
        ({"holes": "random", "given": 0}, "given must be a share between 0 and 1, not 0"),
        ({"holes": "random", "given": 1}, "given must be a share between 0 and 1, not 1"),
        ({"holes": "random", "given": "45%"}, "given must be a number, not '45%'"),
        ({"holes": "random", "given": 0.02}, "given 0.02 is 0 of the 16 cells of 4x4 with 2x2 boxes, .* no clue"),
        ({"holes": "random", "given": 0.99}, "given 0.99 is 16 of the 16 cells .* no hole"),
        ({"holes": "random", "given": 0.5, "clues": 8}, "holes makes instances that may have .* takes no clues"),
        (
            {"holes": "balanced", "given": 0.5, "minimal": True, "rating": "hard", "pattern": "full", "steps": 0},
            "takes no minimal, rating, pattern, steps",
        ),
    ],
)
def test_holes_go_with_their_share_alone(options, cause):
    with pytest.raises(ValueError, match=cause):
        generate(0, 1, FOUR, **options)


@pytest.mark.slow
def test_holes_of_a_board_without_solved_grids():
    board = Board(4, box=(2, 2), extra=((0, 1, 2, 7),))
    with pytest.raises(js.GenerationError, match=r"0 of 2 puzzles found: .* \(balanced holes, 8 clues on 4x4"):
        generate(0, 2, board, attempts=1, holes="balanced", given=0.5)
