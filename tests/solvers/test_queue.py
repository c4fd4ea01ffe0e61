"""Continuous batching: every puzzle has its own steps, for any number of lanes and wherever it moves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from jax import Array

import jaxsudoku as js
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import roots
from jaxsudoku.solvers.queue import Answer, Method, Start, gather_first, gather_last, run, select_last

BOARD = js.Board.classic(4)

#: Steps that the toy method below may take; it gives up then.
BUDGET = 40

#: Puzzles of most tests.
SIZE = 70


class Countdown(NamedTuple):
    """A toy: a puzzle is solved after as many steps as the number that its first row spells, to the base of 4."""

    grids: Array
    left: Array
    steps: Array


def countdown(last: bool) -> Method[Countdown]:
    """The toy, with puzzles along the last axis of its state or along the first."""

    def init(start: Start) -> Countdown:
        digits = start.grids[:, :4].astype(jnp.int32)
        left = 1 + (digits * jnp.array([0, 16, 4, 1])).sum(axis=1)
        return Countdown(start.grids.T if last else start.grids, left, jnp.zeros_like(left))

    def step(now: Countdown) -> Countdown:
        return now._replace(left=jnp.maximum(now.left - 1, 0), steps=now.steps + 1)

    def done(now: Countdown) -> Array:
        return (now.left == 0) | (now.steps >= BUDGET)

    def postprocess(now: Countdown) -> Answer:
        grids = now.grids.T if last else now.grids
        solved = now.left == 0
        return Answer(grids, solved, jnp.zeros_like(solved), 1 + 3 * now.steps, {"errors": now.left})

    choose, gather = (select_last, gather_last) if last else (select, gather_first)
    return Method(
        init, step, done, postprocess, {"errors": -1}, select=choose, gather=gather, error=lambda now: now.left
    )


def spelt(numbers: np.ndarray) -> np.ndarray:
    """Puzzles whose first rows hold the digits 0 to 3 of numbers below 64."""
    grids = np.zeros((len(numbers), BOARD.cells), np.uint8)
    grids[:, 1:4] = numbers[:, None] // [16, 4, 1] % 4
    return grids


# no digit twice: these are the numbers of a valid row, with any zeros
VALID = np.array([n for n in range(64) if len({*(d := (n // 16, n // 4 % 4, n % 4))} - {0}) == sum(x > 0 for x in d)])


def program(method: Method[Any], **options: int) -> Callable[[np.ndarray], js.Solution]:
    """A method in one program."""
    call = jax.jit(lambda puzzles: run(method, BOARD, puzzles, as_key(0), rules="none", **options))
    return lambda puzzles: jax.tree.map(np.asarray, call(puzzles))


def watched(method: Method[Countdown], lanes_stepped: list[Array]) -> Method[Countdown]:
    """The method, which notes the lanes of every step."""

    def step(now: Countdown) -> Countdown:
        jax.debug.callback(lanes_stepped.append, now.left.shape[0])
        return method.step(now)

    return method._replace(step=step)


@functools.cache
def counting(width: int, last: bool) -> tuple[Callable[[np.ndarray], js.Solution], list[Array]]:
    """The toy's program, and the lanes of all steps that it takes."""
    lanes_stepped: list[Array] = []
    return program(watched(countdown(last), lanes_stepped), lanes=width, record=64), lanes_stepped


@pytest.mark.parametrize(("width", "last"), [(32, False), (100, True)], ids=["first axis", "last axis"])
def test_every_puzzle_has_its_steps(width: int, last: bool) -> None:
    numbers = np.random.default_rng(0).permutation(np.resize(VALID, SIZE))
    puzzles = spelt(numbers)
    found = counting(width, last)[0](puzzles)
    steps = np.minimum(1 + numbers, BUDGET)
    np.testing.assert_array_equal(found.status == js.Status.SOLVED, 1 + numbers <= BUDGET)
    np.testing.assert_array_equal(found.grids, puzzles)  # what is not solved is left out by the judge
    np.testing.assert_array_equal(found.stats["errors"], 1 + numbers - steps)
    np.testing.assert_array_equal(found.iterations, 1 + 3 * steps)
    turn = np.arange(64)
    np.testing.assert_array_equal(found.stats["history"], np.where(turn < steps[:, None], numbers[:, None] - turn, -1))


def test_the_last_puzzles_have_fewer_lanes() -> None:
    """A step costs what there are lanes: once the queue is empty a long puzzle does not pay for all of them."""
    solve, lanes_stepped = counting(32, False)
    before = len(lanes_stepped)
    found = solve(spelt(np.array([57] + [0] * (SIZE - 1))))
    jax.effects_barrier()
    assert found.stats["errors"].tolist() == [58 - BUDGET] + [0] * (SIZE - 1)
    # three steps end the short ones
    assert [int(width) for width in lanes_stepped[before:]] == [32] * 3 + [4] * (BUDGET - 3)


class Lot(NamedTuple):
    """A run of the toy below."""

    grids: Array
    left: Array
    wins: Array
    steps: Array


def lots(longer: int = 0) -> Method[Lot]:
    """A toy: a run of the puzzle that spells n takes n % 4 + 1 steps, and the run of the number n // 4 solves it.

    Every run does if the last cell is given. The cells of an answer tell the run. A later run takes more steps if it
    is to be ``longer``.
    """

    def init(start: Start) -> Lot:
        digits = start.grids[:, :4].astype(jnp.int32)
        number = (digits * jnp.array([0, 16, 4, 1])).sum(axis=1)
        told = jnp.broadcast_to(start.run.astype(jnp.uint8)[:, None] + 1, start.grids.shape)
        wins = (number // 4 == start.run) | (start.grids[:, -1] > 0)
        return Lot(told, number % 4 + 1 + longer * start.run, wins, jnp.zeros_like(number))

    def step(now: Lot) -> Lot:
        return now._replace(left=jnp.maximum(now.left - 1, 0), steps=now.steps + 1)

    def postprocess(now: Lot) -> Answer:
        solved = (now.left == 0) & now.wins
        return Answer(now.grids, solved, jnp.zeros_like(solved), now.steps, {"errors": now.steps})

    return Method(init, step, lambda now: now.left == 0, postprocess, {"errors": -1})


#: Most runs of a puzzle.
RUNS = 6


@functools.cache
def drawing(width: int, ahead: bool) -> Callable[[np.ndarray], js.Solution]:
    """The program of this toy."""
    return program(lots(), lanes=width, runs=RUNS, ahead=ahead)


@pytest.mark.parametrize(("width", "ahead"), [(16, False), (500, True)])
def test_puzzles_have_runs_until_one_solves_them(width: int, ahead: bool) -> None:
    numbers = np.random.default_rng(0).permutation(np.resize(VALID, SIZE))
    found = drawing(width, ahead)(spelt(numbers))
    able, each = numbers // 4 < RUNS, numbers % 4 + 1
    np.testing.assert_array_equal(found.status == js.Status.SOLVED, able)
    np.testing.assert_array_equal(found.grids[able], np.repeat((numbers // 4 + 1)[able, None], 16, axis=1))
    np.testing.assert_array_equal(found.iterations, found.stats["errors"])
    alone, most = each * np.minimum(numbers // 4 + 1, RUNS), each * RUNS
    if ahead:  # runs that were not needed are counted as well
        assert (found.iterations >= alone).all() and (found.iterations <= most).all()
        assert (found.iterations > alone).any() or width < 500
    else:
        np.testing.assert_array_equal(found.iterations, alone)


def test_runs_end_with_the_one_that_solves_their_puzzle() -> None:
    numbers = np.random.default_rng(0).permutation(np.resize(VALID[VALID < 4 * RUNS], SIZE))
    found = program(lots(longer=1), lanes=500, runs=RUNS, ahead=True)(spelt(numbers))
    assert (found.status == js.Status.SOLVED).all()
    steps = np.minimum(np.arange(RUNS), (numbers // 4)[:, None]) + (numbers % 4 + 1)[:, None]
    np.testing.assert_array_equal(found.iterations, steps.sum(axis=1))


def test_the_first_of_runs_that_end_together_has_its_answer() -> None:
    """Not a mixture of several; its puzzle has several solutions."""
    puzzles = spelt(np.full(SIZE, 3))
    puzzles[:, -1] = 1
    found = drawing(500, True)(puzzles)
    np.testing.assert_array_equal(found.grids, 1)
    np.testing.assert_array_equal(found.status, js.Status.SOLVED)
    np.testing.assert_array_equal(found.iterations, RUNS * 4)


def test_roots_are_made_with_any_number_of_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which the fewest are lowered, as they are more than it takes to see it."""
    monkeypatch.setattr(roots, "_LANES", 32)
    puzzles = reference.batch(BOARD, 150)
    made = jax.jit(functools.partial(roots.make_roots, BOARD, rules="naked", lanes=50))
    some, turned = (jax.tree.map(np.asarray, made(these)) for these in (puzzles, puzzles[::-1]))
    for one, other in zip(some[1:3], turned[1:3], strict=True):
        np.testing.assert_array_equal(one, other[::-1])
    for found in (some, turned):
        (open_ones,) = np.nonzero(found.status == js.Status.UNSOLVED)
        np.testing.assert_array_equal(found.waiting, [*open_ones, *[150] * (150 - len(open_ones))])
    np.testing.assert_array_equal(some.nodes[:, some.waiting[:1]], turned.nodes[:, [149 - some.waiting[0]]])
    assert set(some.status.tolist()) == {*js.Status} - {js.Status.MALFORMED}
