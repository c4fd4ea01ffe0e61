"""Techniques on planes, beside the plain Python of explanations, in the same positions."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import solutions

import jaxsudoku as js
from jaxsudoku import planes, techniques
from jaxsudoku.board import Board
from jaxsudoku.explanation import consequences, findings, next_step
from jaxsudoku.explanation.layout import bits
from jaxsudoku.explanation.view import View
from jaxsudoku.techniques import TECHNIQUES, Kind, almost_locked, position
from jaxsudoku.techniques.apply import search
from jaxsudoku.techniques.climb import climb
from jaxsudoku.techniques.registry import NUMBERS, fits

LANES = 256
SIX = Board.classic(6)

#: Puzzles on a 6x6 board with diagonals, which need 21 techniques between them.
DIAGONAL = (
    "000000002003000010060000000000000400",
    "001000000000300500000000020000060000",
    "000000000600004000005002000000001000",
    "000000000000000600000030030040100200",
    "000000001000000000040050000000063000",
)

#: Techniques that find more on planes where simpler ones are at work: a pattern there may be degenerate.
LAST = ("w-wing", "almost-locked-sets", "als-chain")


@functools.cache
def compiled(kind: Kind, board: Board):
    """Finds what the n-th technique of a kind places or removes, in positions given as cubes: bool[B, side, cells]."""
    own = [technique for technique in TECHNIQUES if technique.kind is kind and fits(technique, board)]

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def found(number, cubes, filled, given):
        candidates = planes.cubes_to_planes(cubes, board).reshape(board.side, board.cells, -1)
        marks = [planes.cubes_to_planes(jnp.repeat(x[:, None], board.side, 1), board)[0] for x in (filled, given)]
        marks = [plane.reshape(board.cells, -1) for plane in marks]
        removed = search(board, own, number, position.Position(candidates, *marks), LANES)
        return planes.planes_to_cubes(removed.reshape(*(board.side,) * 3, -1), board)

    return [technique.name for technique in own], found


def on_planes(name: str, views: list[View]) -> list[set[tuple[int, int]]]:
    """The candidates (digit, cell) that a technique finds on planes in each position."""
    board = views[0].board
    names, found = compiled(TECHNIQUES[NUMBERS[name]].kind, board)
    padded = views + [views[0]] * (-len(views) % 32)
    filled, given = (
        np.array([[mask >> cell & 1 for cell in range(board.cells)] for mask in masks], bool)
        for masks in ([view.filled for view in padded], [view.given for view in padded])
    )
    cubes = np.asarray(found(names.index(name), np.array([view.cube() for view in padded]), filled, given))
    return [set(map(tuple, np.argwhere(cube).tolist())) for cube in cubes[: len(views)]]


def in_python(name: str, view: View) -> set[tuple[int, int]]:
    """The same by the plain Python of explanations."""
    return {candidate for finding in findings(view, name) for candidate in (*finding.place, *finding.remove)}


def positions(board: Board, puzzles: np.ndarray) -> list[tuple[View, int]]:
    """The positions on the way to the solution, each with the number of the technique that goes on there."""
    usable = [technique for technique in TECHNIQUES if fits(technique, board)]
    found = []
    for puzzle in puzzles:
        view = View(board, puzzle)
        while not view.solved:
            before = view.copy()
            step = next_step(view, usable)
            found.append((before, len(TECHNIQUES) if step is None else NUMBERS[step.technique]))
            if step is None:
                break
    return found


@functools.cache
def met(name: str, count: int):
    """The positions of puzzles."""
    if name == "diagonal-6x6":
        return positions(Board.diagonal(6), np.array([js.parse(puzzle) for puzzle in DIAGONAL]))
    return positions(js.shipped.board(name), js.load(name)[:count])


def chosen(name: str, found: list[tuple[View, int]], count: int) -> list[View]:
    """Positions for a technique: such that no simpler one helps, first those in which it goes on."""
    number = NUMBERS[name]
    least = min(number, NUMBERS["aic"])
    able = sorted((pair for pair in found if pair[1] >= least), key=lambda pair: pair[1] != number)
    return [view for view, _ in able[:count]]


@functools.cache
def made_up(board: Board, count: int) -> list[tuple[View, np.ndarray]]:
    """Positions with no singles, and a solution of each: its candidates, and others at random."""
    rng, made = np.random.default_rng(4), []
    for number in range(count):
        solution = np.array(solutions(board, [0] * board.cells, 1, rng)[0]) - 1
        cube = rng.random((board.side, board.cells)) < (0.1, 0.25)[number % 2]
        cube[solution, np.arange(board.cells)] = True
        groups = [(slice(None), cell) for cell in range(board.cells)]
        groups += [(digit, list(house)) for digit in range(board.side) for house in board.houses]
        for group in groups:
            while cube[group].sum() < 2:
                part = cube[group]
                part[rng.integers(part.size)] = True
                cube[group] = part
        made.append((View(board, np.zeros(board.cells, np.uint8), cube), solution))
    return made


@pytest.mark.parametrize("name", NUMBERS)
def test_planes_find_what_plain_python_finds(name):
    views = chosen(name, met("9x9-hard", 32), 12)
    if name not in LAST:
        views += [view for view, _ in made_up(Board.classic(), 8)]
    wanted = [in_python(name, view) for view in views]
    assert sum(map(bool, wanted)) > 2
    assert on_planes(name, views) == wanted


def test_made_up_positions_keep_their_solutions():
    for view, solution in made_up(Board.classic(), 8)[:2]:
        for name in NUMBERS.keys() - {"unique-rectangle"}:
            assert all(solution[cell] != digit for digit, cell in in_python(name, view)), name


@pytest.mark.parametrize(
    "puzzles",
    ["diagonal-6x6", *(pytest.param(name, marks=pytest.mark.slow) for name in ("12x12", "jigsaw-9x9", "windoku-9x9"))],
)
def test_planes_find_what_plain_python_finds_on_other_boards(puzzles):
    found, helped = met(puzzles, 12), set()
    for technique in TECHNIQUES:
        if fits(technique, found[0][0].board):
            views = chosen(technique.name, found, 8)
            wanted = [in_python(technique.name, view) for view in views]
            assert not views or on_planes(technique.name, views) == wanted, technique.name
            helped |= {technique.name} if any(wanted) else set()
    assert len(helped) > 15


@pytest.mark.parametrize("puzzles", ["9x9-hard", pytest.param("windoku-9x9", marks=pytest.mark.slow)])
def test_a_candidate_locks_the_same_on_planes(puzzles):
    """The links of chains one by one: a chain may hide that one of them is missing."""
    board = js.shipped.board(puzzles)
    links = jax.jit(functools.partial(almost_locked.links, board), compiler_options=js.compiler_options())
    for view in chosen("als-chain", met(puzzles, 12), 3):
        before = consequences.position(view)
        assumed = np.zeros((512, board.side, board.cells), bool)
        for lane, candidate in enumerate(before.candidates):
            assumed[lane, *candidate] = True
        copies = np.repeat(view.cube()[None], len(assumed), axis=0)
        cubes = (planes.cubes_to_planes(x, board).reshape(board.side, board.cells, -1) for x in (copies, assumed))
        found = links(*cubes)
        true, false = (np.asarray(planes.planes_to_cubes(x.reshape(*(board.side,) * 3, -1), board)) for x in found)
        for lane, candidate in enumerate(before.candidates):
            after = before.after(candidate)
            wrong = {candidate} if after.contradictory else set()
            assert set(map(tuple, np.argwhere(true[lane]).tolist())) == members(after.true) | {candidate}
            assert set(map(tuple, np.argwhere(false[lane]).tolist())) == members(after.lost) | wrong


def members(cells: Mapping[int, int]) -> set[tuple[int, int]]:
    """The candidates (digit, cell) of sets of cells by digit."""
    return {(digit, cell) for digit, own in cells.items() for cell in bits(own)}


@pytest.mark.parametrize("name", ["aic", "nishio"])
def test_lanes_go_on_when_the_first_one_is_done(name):
    views = [view for view, number in met("9x9-hard", 32) if number >= NUMBERS["naked-pair"]]
    board, technique = views[0].board, TECHNIQUES[NUMBERS[name]]
    refute = jax.jit(functools.partial(technique.run, board))
    tried = 0
    for view in views:
        wrong = sorted(in_python(name, view))[:32]
        candidates = planes.cubes_to_planes(np.repeat(view.cube()[None], 32, axis=0), board).reshape(9, 81, -1)
        for first in range(len(wrong)):
            assumed = np.zeros((32, 9, 81), bool)
            for lane, candidate in enumerate(wrong[first:] + wrong[:first]):
                assumed[lane, *candidate] = True
            chosen = planes.cubes_to_planes(assumed, board).reshape(9, 81, -1)
            assert np.asarray(planes.unpack_lanes(refute(candidates, chosen)))[: len(wrong)].all()
            tried += 1
        if tried > 20:
            break
    assert tried > 20


# ---------------------------------------------------------------------- ratings


@functools.cache
def rated() -> js.TechniqueRatings:
    """The ratings of puzzles of every kind: easy, hard, without a solution, with several, and a complete grid."""
    return js.rate(puzzles_of_every_kind(), by="technique")


@functools.cache
def puzzles_of_every_kind() -> np.ndarray:
    hard, easy = js.load("9x9-hard")[:60], js.load("9x9-easy")[:20]
    solved = js.solve(easy[:1]).grids
    clash, several = easy[:1].copy(), easy[:1].copy()
    clash[0, :2] = 1
    several[0, :60] = 0
    return np.concatenate([hard, easy, solved, clash, several])


@pytest.mark.slow
def test_ratings_are_those_of_the_hardest_steps():
    puzzles, ratings = puzzles_of_every_kind(), rated()
    for number in range(0, 80, 20):
        explained = js.explain(puzzles[number])
        assert explained.solved
        assert ratings.names[number] == explained.hardest.technique
        assert ratings.score[number] == np.float32(explained.hardest.score)


def test_puzzles_without_one_solution_have_no_rating():
    ratings = rated()
    assert ratings.score[80] == 0  # a complete grid
    assert np.isnan(ratings.score[81:]).all()
    assert (ratings.technique[80:] == -1).all()
    assert ratings.names[80:].tolist() == [""] * 3


def test_a_rating_does_not_depend_on_the_batch():
    puzzles = puzzles_of_every_kind().copy()
    puzzles[1::2] = 255
    again = js.rate(puzzles[::-1], by="technique")
    np.testing.assert_array_equal(again.technique[::-1][::2], rated().technique[::2])
    np.testing.assert_array_equal(again.score[::-1][::2], rated().score[::2])


@pytest.mark.slow
def test_a_rating_is_the_same_alone():
    for number in (0, 17, 59, 82):
        alone = js.rate(puzzles_of_every_kind()[number], by="technique")
        assert alone.technique.shape == ()
        assert alone.technique == rated().technique[number]
        np.testing.assert_equal(alone.score, rated().score[number])


def test_puzzles_beyond_the_techniques_have_an_infinite_score():
    ratings = js.rate(puzzles_of_every_kind()[:60], by="technique", up_to="Naked Pair")
    solved = rated().technique[:60] <= NUMBERS["naked-pair"]
    assert 0 < solved.sum() < 60
    np.testing.assert_array_equal(ratings.score, np.where(solved, rated().score[:60], np.inf))
    np.testing.assert_array_equal(ratings.technique, np.where(solved, rated().technique[:60], -1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "techniques"}, "unknown rating 'techniques': choose one of nodes, technique"),
        ({"by": "technique", "up_to": "swordfisch"}, "unknown technique 'swordfisch'.*did you mean 'swordfish'"),
        ({"up_to": "x-wing"}, "up_to is of ratings by technique"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        js.rate(puzzles_of_every_kind()[:1], **settings)


@pytest.mark.slow
def test_techniques_keep_every_solution():
    puzzles = np.concatenate([js.load("9x9-hard"), js.load("9x9-easy")])
    solutions = js.solve(puzzles).grids

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def left(puzzles):
        found = climb(puzzles, lanes=1024)
        candidates = position.unpack(
            Board.classic(), jnp.pad(found.words, [(0, 0), (0, -len(puzzles) % 32)])
        ).candidates
        return planes.planes_to_cubes(candidates.reshape(9, 9, 9, -1))[: len(puzzles)], found.solved

    cubes, solved = map(np.asarray, left(puzzles))
    assert np.take_along_axis(cubes, solutions[:, None].astype(int) - 1, axis=1).all()
    assert solved.mean() > 0.99
    assert (cubes[solved].sum(axis=1) == 1).all()


def test_no_type_is_promoted():
    """A truth value with a word of lanes would become 1, which is the first lane alone."""
    with jax.numpy_dtype_promotion("strict"):
        found = jax.eval_shape(functools.partial(climb, board=SIX), jax.ShapeDtypeStruct((32, 36), np.uint8))
    assert found.solved.shape == (32,)


def test_names_are_in_the_order_of_scores():
    scores = [technique.score for technique in TECHNIQUES]
    assert scores == sorted(scores)
    assert len(NUMBERS) == len(TECHNIQUES)
    assert techniques.registry.get("X Wing").title == "X-wing"


def test_techniques_that_need_wide_boards_are_left_out():
    small = [technique.name for technique in TECHNIQUES if fits(technique, Board.classic(4))]
    assert "naked-pair" in small
    assert "naked-triple" not in small
