"""Techniques on planes, beside the plain Python of explanations, in the same positions."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping

import constrained
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from reference import solutions

import jaxsudoku as js
from jaxsudoku import planes, techniques
from jaxsudoku.core.board import Board
from jaxsudoku.explanation import consequences, findings, next_step
from jaxsudoku.explanation.layout import bits
from jaxsudoku.explanation.view import View
from jaxsudoku.techniques import TECHNIQUES, Kind, almost_locked, position
from jaxsudoku.techniques.apply import search
from jaxsudoku.techniques.registry import NUMBERS, fits
from jaxsudoku.techniques.solving import solve_by_techniques

#: Positions that are searched at a time, and candidates that are assumed at a time: several words of each.
POSITIONS, LANES = 64, 128
#: The smallest boards that have room for every technique; the first one has further houses and irregular ones.
SIX, EIGHT, NINE = Board.diagonal(6), Board.classic(8), Board.classic()

#: Puzzles on a 6x6 board with diagonals, which need 21 techniques between them; the last three have other W-wings.
DIAGONAL = (
    "000000002003000010060000000000000400",
    "001000000000300500000000020000060000",
    "000000000600004000005002000000001000",
    "000000000000000600000030030040100200",
    "000000001000000000040050000000063000",
    "000300000200000506000000040000000000",
    "013400000000000000201005000000000000",
    "002000100000003000000000040000060000",
)

#: Puzzles on an 8x8 board that need W-wings.
WINGS = (
    "0080000006000704040602000100008000005003002004003000000007040030",
    "4000516000000008004000000080601400104500500080000005000237080600",
    "0006040301000050058000476040020070000600000380048000050007000000",
    "0007402000030005702004010005208080100600000000040004010007003000",
)

#: Techniques for which the smaller board is too small, and two that make use of regular houses.
WIDE = (
    *(technique.name for technique in TECHNIQUES if not fits(technique, SIX) and fits(technique, EIGHT)),
    *("w-wing", "unique-rectangle"),
)

#: A board with cages and thermometers.
CAGED = constrained.SIX[0]
#: The technique that applies constraints, and one that does on the way.
CONSTRAINED = ("constraint", "forcing-chain")

#: Techniques that find more on planes where simpler ones are at work: a pattern there may be degenerate.
LAST = ("w-wing", "almost-locked-sets", "als-chain")


@functools.cache
def compiled(board: Board):
    """Finds what the n-th technique of a kind places or removes, in positions given as cubes: bool[B, side, cells]."""
    names = {EIGHT: WIDE, CAGED: CONSTRAINED}.get(board, tuple(NUMBERS))
    usable = [technique for technique in TECHNIQUES if technique.name in names and fits(technique, board)]
    own = [[technique for technique in usable if technique.kind is kind] for kind in Kind]
    own = [techniques for techniques in own if techniques]

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def found(kind, number, cubes, filled, given):
        candidates = planes.cubes_to_planes(cubes, board).reshape(board.side, board.cells, -1)
        marks = [planes.cubes_to_planes(jnp.repeat(x[:, None], board.side, 1), board)[0] for x in (filled, given)]
        marks = [plane.reshape(board.cells, -1) for plane in marks]
        searches = [functools.partial(search, board, techniques, lanes=LANES) for techniques in own]
        removed = lax.switch(kind, searches, number, position.Position(candidates, *marks))
        return planes.planes_to_cubes(removed.reshape(*(board.side,) * 3, -1), board)

    places = {
        technique.name: (np.int32(kind), np.int32(number))
        for kind, techniques in enumerate(own)
        for number, technique in enumerate(techniques)
    }
    return places, found


def on_planes(name: str, views: list[View]) -> list[set[tuple[int, int]]]:
    """The candidates (digit, cell) that a technique finds on planes in each position.

    No type is promoted: a truth value with a word of lanes would become 1, which is the first lane alone.
    """
    board = views[0].board
    places, found = compiled(board)
    padded = [views[number % len(views)] for number in range(POSITIONS)]
    filled, given = (
        np.array([[mask >> cell & 1 for cell in range(board.cells)] for mask in masks], bool)
        for masks in ([view.filled for view in padded], [view.given for view in padded])
    )
    with jax.numpy_dtype_promotion("strict"):
        cubes = np.asarray(found(*places[name], np.array([view.cube() for view in padded]), filled, given))
    every = [set(map(tuple, np.argwhere(cube).tolist())) for cube in cubes]
    assert every == [every[number % len(views)] for number in range(POSITIONS)]
    return every[: len(views)]


def in_python(name: str, view: View) -> set[tuple[int, int]]:
    """The same by the plain Python of explanations."""
    return {candidate for finding in findings(view, name) for candidate in (*finding.place, *finding.remove)}


def positions(
    board: Board, puzzles: np.ndarray, names: Collection[str] = NUMBERS
) -> list[list[tuple[View, int | None]]]:
    """For each puzzle the positions on its way, each with the number of the technique that goes on there, if any."""
    usable = [technique for technique in TECHNIQUES if technique.name in names and fits(technique, board)]
    found = []
    for puzzle in puzzles:
        view, way = View(board, puzzle), []
        while not view.solved:
            before = view.copy()
            step = next_step(view, usable)
            way.append((before, None if step is None else NUMBERS[step.technique]))
            if step is None:
                break
        found.append(way)
    return found


#: The puzzles of our own, by name.
OWN = {"diagonal-6x6": (SIX, [*map(js.parse, DIAGONAL)]), "8x8": (EIGHT, [*map(js.parse, WINGS)])}


@functools.cache
def met(name: str, count: int):
    """The positions of puzzles; on the 8x8 board, no further than techniques go that are compared there."""
    board, puzzles = OWN.get(name) or (js.shipped.board(name), js.load(name)[:count])
    names = [*NUMBERS][: NUMBERS["simple-colouring"]] if board == EIGHT else NUMBERS
    ways = positions(board, np.array(puzzles), names)
    return [(view, len(TECHNIQUES) if number is None else number) for way in ways for view, number in way]


def chosen(name: str, found: list[tuple[View, int]], count: int) -> list[View]:
    """Positions for a technique: such that no simpler one helps, first those in which it goes on."""
    number = NUMBERS[name]
    least = min(number, NUMBERS["aic"])
    able = sorted((pair for pair in found if pair[1] >= least), key=lambda pair: pair[1] != number)
    return [view for view, _ in able[:count]]


@functools.cache
def made_up(board: Board, count: int, grid: str = "") -> list[tuple[View, np.ndarray]]:
    """Positions with no singles, and a solution of each, ``grid`` or any: its candidates, and others at random."""
    rng, made = np.random.default_rng(4), []
    for number in range(count):
        solution = np.array([*map(int, grid)] if grid else solutions(board, [0] * board.cells, 1, rng)[0]) - 1
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


@pytest.mark.parametrize(
    ("puzzles", "name"),
    [
        *(("diagonal-6x6", technique.name) for technique in TECHNIQUES if fits(technique, SIX)),
        *(("8x8", name) for name in WIDE),
    ],
)
def test_planes_find_what_plain_python_finds(puzzles, name):
    views = chosen(name, met(puzzles, 12), 40)
    if name not in LAST:
        views += [view for view, _ in made_up(OWN[puzzles][0], 16)]
    wanted = [in_python(name, view) for view in views]
    assert sum(map(bool, wanted)) > (2 if (puzzles, name) != ("diagonal-6x6", "unique-rectangle") else 0)
    assert on_planes(name, views) == wanted


@pytest.mark.parametrize("name", CONSTRAINED)
def test_planes_find_what_constraints_exclude_in_plain_python(name):
    made = made_up(CAGED, 32, constrained.SIX[1])
    wanted = [in_python(name, view) for view, _ in made]
    assert sum(map(bool, wanted)) > 16
    assert all(
        solution[cell] != digit for (_, solution), found in zip(made, wanted, strict=True) for digit, cell in found
    )
    assert on_planes(name, [view for view, _ in made]) == wanted


def test_made_up_positions_keep_their_solutions():
    for view, solution in made_up(SIX, 16)[:2]:
        for name in NUMBERS.keys() - {"unique-rectangle", *WIDE}:
            assert all(solution[cell] != digit for digit, cell in in_python(name, view)), name


def test_a_candidate_locks_the_same_on_planes():
    """The links of chains one by one: a chain may hide that one of them is missing."""

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def links(cube, assumed):
        cubes = jnp.broadcast_to(cube, assumed.shape)
        found = almost_locked.links(SIX, *(planes.cubes_to_planes(x, SIX).reshape(6, 36, -1) for x in (cubes, assumed)))
        return [planes.planes_to_cubes(x.reshape(6, 6, 6, -1), SIX) for x in found]

    for view in chosen("als-chain", met("diagonal-6x6", 12), 6):
        before = consequences.position(view)
        assumed = np.zeros((256, 6, 36), bool)
        for lane, candidate in enumerate(before.candidates):
            assumed[lane, *candidate] = True
        true, false = map(np.asarray, links(view.cube(), assumed))
        for lane, candidate in enumerate(before.candidates):
            after = before.after(candidate)
            wrong = {candidate} if after.contradictory else set()
            assert set(map(tuple, np.argwhere(true[lane]).tolist())) == members(after.true) | {candidate}
            assert set(map(tuple, np.argwhere(false[lane]).tolist())) == members(after.lost) | wrong


def members(cells: Mapping[int, int]) -> set[tuple[int, int]]:
    """The candidates (digit, cell) of sets of cells by digit."""
    return {(digit, cell) for digit, own in cells.items() for cell in bits(own)}


def test_lanes_go_on_when_the_first_one_is_done():
    names = ("aic", "nishio")

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def refuted(number, cube, assumed):
        runs = [functools.partial(TECHNIQUES[NUMBERS[name]].run, SIX) for name in names]
        cubes = jnp.broadcast_to(cube, assumed.shape), assumed
        operands = [planes.cubes_to_planes(x, SIX).reshape(6, 36, -1) for x in cubes]
        return planes.unpack_lanes(lax.switch(number, runs, *operands))

    for number, name in enumerate(names):
        tried = 0
        for view, _ in made_up(SIX, 16):
            wrong = sorted(in_python(name, view))[:32]
            for first in range(len(wrong)):
                assumed = np.zeros((64, 6, 36), bool)
                lanes = [0, *range(1, 2 * len(wrong) - 2, 2)]  # the first one in a word of its own
                for lane, candidate in zip(lanes, wrong[first:] + wrong[:first], strict=True):
                    assumed[lane, *candidate] = True
                assert np.asarray(refuted(np.int32(number), view.cube(), assumed))[lanes].all()
                tried += 1
        assert tried > 20


# ---------------------------------------------------------------------- climbs


#: Techniques of three kinds, of which some remove candidates after others that refute them.
FEW = (
    *(technique.name for technique in TECHNIQUES if technique.kind is Kind.PLACES),
    *("pointing", "naked-pair", "finned-x-wing", "nishio"),
)


@functools.cache
def compiled_climb(board: Board, names: tuple[str, ...], lanes: int):
    """Climbs, and returns the candidates that are left too: bool[B, side, cells], for puzzles by the 32."""

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def climbed(puzzles):
        found = solve_by_techniques(puzzles, board, names, lanes)
        left = position.unpack(board, found.words).candidates
        return found.hardest, found.solved, planes.planes_to_cubes(left.reshape(*(board.side,) * 3, -1), board)

    return climbed


def climbed(board: Board, puzzles: np.ndarray, names: tuple[str, ...] = FEW, lanes: int = 64):
    """What a climb finds: the hardest technique used, whether the puzzle is solved, and the candidates left."""
    padded = np.concatenate([puzzles, np.full((-len(puzzles) % 64, board.cells), 255, np.uint8)])
    with jax.numpy_dtype_promotion("strict"):
        return [np.asarray(part)[: len(puzzles)] for part in compiled_climb(board, names, lanes)(padded)]


@functools.cache
def easier() -> tuple[np.ndarray, np.ndarray]:
    """The puzzles on the 6x6 board, with more and more givens until they are complete, and their solutions.

    The last one has a given less, and several solutions.
    """
    rng, puzzles, grids = np.random.default_rng(6), [], []
    for puzzle in map(js.parse, DIAGONAL[:5]):
        (solution,) = solutions(SIX, puzzle, 2)
        for share in (0, 0.05, 0.1, 0.2, 0.4, 1):
            puzzles.append(np.where((puzzle > 0) | (rng.random(SIX.cells) < share), solution, 0).astype(np.uint8))
            grids.append(solution)
    less = puzzles[0].copy()
    less[np.flatnonzero(less)[0]] = 0
    return np.array([*puzzles, less]), np.array([*grids, grids[0]])


def test_a_climb_ends_as_plain_python_does():
    puzzles, grids = easier()
    hardest, solved, left = climbed(SIX, puzzles)
    ways = positions(SIX, puzzles, FEW)
    used = [{number for _, number in way if number is not None} for way in ways]
    np.testing.assert_array_equal(hardest, [max(numbers, default=-1) for numbers in used])
    stuck = np.array([any(number is None for _, number in way) for way in ways])
    np.testing.assert_array_equal(solved, ~stuck)
    np.testing.assert_array_equal(left[stuck], [way[-1][0].cube() for way, end in zip(ways, stuck, strict=True) if end])
    assert {TECHNIQUES[number].name for number in {*hardest.tolist()} - {-1}} > {"finned-x-wing", "nishio"}
    assert 0 < stuck.sum() < len(puzzles) - 5
    keep_solutions(left, solved, grids)


def keep_solutions(left: np.ndarray, solved: np.ndarray, grids: np.ndarray) -> None:
    """No candidate of a solution was removed, and all others were where the puzzle is solved."""
    assert np.take_along_axis(left, grids[:, None].astype(int) - 1, axis=1).all()
    assert (left[solved].sum(axis=1) == 1).all()


def test_a_climb_with_constraints_ends_as_plain_python_does():
    names = (*FEW[:4], "constraint", "pointing", "claiming", "naked-pair")
    solution = np.array([*map(int, constrained.SIX[1])], np.uint8)
    rng = np.random.default_rng(7)
    puzzles = np.where(rng.random((4, 36)) < np.array([[0], [0.1], [0.3], [0.8]]), solution, 0).astype(np.uint8)
    hardest, solved, left = climbed(CAGED, puzzles, names)
    ways = positions(CAGED, puzzles, names)
    np.testing.assert_array_equal(hardest, [max(number for _, number in way if number is not None) for way in ways])
    assert solved.all() and TECHNIQUES[hardest[0]].name == "naked-pair"
    keep_solutions(left, solved, np.tile(solution, (4, 1)))


def test_a_climb_does_not_depend_on_the_batch():
    puzzles = easier()[0].copy()
    before = climbed(SIX, puzzles)
    puzzles[1::2] = 255
    for again, wanted in zip(climbed(SIX, puzzles[::-1]), before, strict=True):
        np.testing.assert_array_equal(again[::-1][::2], wanted[::2])


@pytest.mark.slow
def test_a_climb_by_all_techniques_on_a_jigsaw_ends_as_plain_python_does():
    board, puzzles = js.shipped.board("jigsaw-9x9"), js.load("jigsaw-9x9")[:24]
    hardest, solved, left = climbed(board, puzzles, tuple(NUMBERS))
    keep_solutions(left, solved, js.solve(puzzles, board).grids)
    assert solved.mean() > 0.9
    for way, most, is_solved, cube in zip(positions(board, puzzles[:8]), hardest, solved, left, strict=False):
        numbers = [number for _, number in way]
        assert most == max(number for number in numbers if number is not None)
        assert is_solved == (None not in numbers)
        assert is_solved or (cube == way[-1][0].cube()).all()


# ---------------------------------------------------------------------- ratings


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
        js.rate("." * 16, **settings)


def test_links_are_a_kind_of_climbs():
    with jax.numpy_dtype_promotion("strict"):
        find = functools.partial(solve_by_techniques, board=Board.classic(4), names=("als-chain",))
        assert jax.eval_shape(find, jax.ShapeDtypeStruct((32, 16), np.uint8)).solved.shape == (32,)


def test_names_are_in_the_order_of_scores():
    scores = [technique.score for technique in TECHNIQUES]
    assert scores == sorted(scores)
    assert len(NUMBERS) == len(TECHNIQUES)
    assert techniques.registry.get("X Wing").title == "X-wing"


def test_techniques_that_need_wide_boards_are_left_out():
    small = [technique.name for technique in TECHNIQUES if fits(technique, Board.classic(4))]
    assert "naked-pair" in small
    assert "naked-triple" not in small
