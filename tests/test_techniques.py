"""Techniques on planes, beside the plain Python of explanations, in the same positions."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import planes
from jaxsudoku.board import Board
from jaxsudoku.explanation import findings, next_step
from jaxsudoku.explanation.view import View
from jaxsudoku.techniques import TECHNIQUES, Kind, position
from jaxsudoku.techniques.apply import search
from jaxsudoku.techniques.registry import NUMBERS, fits

LANES = 256


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
            number = len(TECHNIQUES) if step is None else NUMBERS[step.technique]
            if number > NUMBERS["claiming"]:
                found.append((before, number))
            if step is None:
                break
    return found


@functools.cache
def met(name: str, count: int):
    """The positions of shipped puzzles."""
    return positions(js.shipped.board(name), js.load(name)[:count])


@pytest.mark.parametrize("name", NUMBERS)
def test_planes_find_what_plain_python_finds(name):
    # where a simpler technique is at work, a pattern may be degenerate; nets have no patterns
    least = min(NUMBERS[name], NUMBERS["nishio"])
    views = [view for view, number in met("9x9-hard", 80) if number >= least][:96]
    assert len(views) > 10
    assert on_planes(name, views) == [in_python(name, view) for view in views]


@pytest.mark.parametrize("puzzles", ["6x6", "jigsaw-9x9", "windoku-9x9"])
def test_planes_find_what_plain_python_finds_on_other_boards(puzzles):
    found = 0
    for technique in TECHNIQUES:
        if fits(technique, js.shipped.board(puzzles)):
            least = min(NUMBERS[technique.name], NUMBERS["nishio"])
            views = [view for view, number in met(puzzles, 16) if number >= least][:32]
            wanted = [in_python(technique.name, view) for view in views]
            assert not views or on_planes(technique.name, views) == wanted, technique.name
            found += sum(map(len, wanted))
    assert found
