"""The puzzles that ship with the package: proper, of the grades that their files tell, no two the same.

A SAT solver says what is proper and minimal: that is another opinion than the generator's, and has nothing to compile.
"""

from __future__ import annotations

import collections
import functools
from pathlib import Path

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import datasets, shipped
from jaxsudoku.core.board import Board
from jaxsudoku.symmetry import canonical

NAMES = shipped.names()
NINE = [name for name in NAMES if name.startswith("9x9")]


def grades(name: str) -> dict[str, int]:
    """How many puzzles of each grade there are, as the file says."""
    counts = (part.partition(" ") for part in shipped.about(name)["grades"].split(", "))
    return {grade: int(count) for count, _, grade in counts}


@functools.cache
def boards() -> dict[Board, list[str]]:
    """The names, by board."""
    found = collections.defaultdict(list)
    for name in NAMES:
        found[shipped.board(name)].append(name)
    return dict(found)


# ---------------------------------------------------------------------- names


@pytest.mark.quick
def test_names():
    assert list(NAMES) == sorted(path.stem for path in (Path(js.__file__).parent / "puzzles").glob("*.txt"))
    assert {"4x4", "9x9", "9x9-easy", "9x9-extreme", "16x16", "25x25", "jigsaw-9x9"} < set(NAMES)


@pytest.mark.quick
def test_unknown_names():
    for name in ("9x9-tricky", "", "9x9.txt", "../__init__"):
        for ask in (js.load, shipped.board, shipped.about):
            with pytest.raises(ValueError, match=f"no puzzles {name!r} are shipped: choose one of 12x12, 16x16, "):
                ask(name)


@pytest.mark.quick
@pytest.mark.parametrize("name", NAMES)
def test_files_are_as_their_comments_say(name):
    puzzles, board, about = js.load(name), shipped.board(name), shipped.about(name)
    clues = (puzzles > 0).sum(axis=1)
    assert puzzles.dtype == np.uint8
    assert puzzles.shape == (sum(grades(name).values()), board.cells)
    assert about["puzzles"].startswith(f"{len(puzzles)} of {clues.min()} to {clues.max()} clues")
    assert f'js.Board.named("{about["board"]}")' in about["made by"]
    assert board == Board.named(about["board"])
    _, _, grade = name.partition("x")[2].partition("-")
    if grade:
        assert list(grades(name)) == [grade.replace("-", " ")]
    np.testing.assert_array_equal(js.read_puzzles(Path(js.__file__).parent / "puzzles" / f"{name}.txt", board), puzzles)


@pytest.mark.slow
def test_files_are_made_by_the_call_in_their_comments():
    """And what is made is what a SAT solver is asked about below: proper, and minimal."""
    call = shipped.about("9x9")["made by"]
    made = eval(call, {"js": js})  # our own file
    np.testing.assert_array_equal(made.puzzles, js.load("9x9"))
    assert js.is_solved(made.solutions, givens=made.puzzles).all()


@pytest.mark.quick
def test_the_boards_are_what_the_names_say():
    assert shipped.board("16x16-easy") == Board.classic(16)
    assert shipped.board("diagonal-9x9") == Board.diagonal()
    assert shipped.board("windoku-9x9") == Board.windoku()
    jigsaw = shipped.board("jigsaw-9x9")
    assert jigsaw.box is None
    regions = np.array(jigsaw.regions).reshape(9, 9)
    turned = np.rot90(regions)
    assert len({*zip(regions.flat, turned.flat, strict=True)}) == 9, "a quarter turn changes the regions"


# ---------------------------------------------------------------------- the puzzles


#: About as many puzzles of a set are looked at by the fast tests, evenly among all; slow ones look at all of 9x9.
SOME = 20


def some(puzzles: np.ndarray) -> np.ndarray:
    """A few of the puzzles, of each part of the file."""
    return puzzles[:: -(-len(puzzles) // SOME)]


@pytest.mark.parametrize("names", boards().values(), ids=lambda names: names[0])
def test_puzzles_have_one_solution_and_come_once(names):
    puzzles = np.concatenate([js.load(name) for name in names])
    assert len(np.unique(puzzles, axis=0)) == len(puzzles)
    sat = reference.Sat(shipped.board(names[0]))
    few = [puzzle for name in names for puzzle in some(js.load(name))[:: 1 if len(names) == 1 else 4]]
    assert all(map(sat.is_proper, few if puzzles.shape[1] < 144 else few[::5]))


@pytest.mark.slow
def test_every_9x9_puzzle_has_one_solution():
    sat = reference.Sat(Board.classic())
    assert all(sat.is_proper(puzzle) for name in NINE for puzzle in js.load(name))


@pytest.mark.slow
def test_no_two_9x9_puzzles_are_equivalent():
    puzzles = np.concatenate([js.load(name) for name in NINE])
    assert len(np.unique(canonical(puzzles), axis=0)) == len(puzzles)


@pytest.mark.slow
@pytest.mark.parametrize("name", NINE)
def test_grades(name):
    ratings = js.rate(js.load(name), batch_size=512)
    found = np.bincount(datasets.grade(ratings), minlength=len(datasets.GRADES))
    assert {grade: count for grade, count in zip(datasets.GRADES, found, strict=True) if count} == grades(name)


def test_puzzles_of_one_grade_are_of_it():
    single = [name for name in NINE if len(grades(name)) == 1]
    ratings = js.rate(np.concatenate([some(js.load(name)) for name in single]), batch_size=512)
    found = [datasets.GRADES[grade] for grade in datasets.grade(ratings)]
    assert found == [grade for name in single for grade in grades(name) for _ in some(js.load(name))]
    assert {*found} == {*datasets.GRADES}


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("9x9") or name in NINE])
def test_minimal_puzzles(name):
    """Without any of their clues they have several solutions."""
    assert shipped.about(name)["puzzles"].endswith("minimal")
    puzzles = js.load(name)[::100]
    less = [np.where(np.arange(81) == cell, 0, puzzle) for puzzle in puzzles for cell in np.flatnonzero(puzzle)]
    sat = reference.Sat(shipped.board(name))
    assert not any(map(sat.is_proper, less))
