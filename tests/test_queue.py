"""Continuous batching: every puzzle has its own steps, for any number of lanes and wherever it moves."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from jax import Array

import jaxsudoku as js
from jaxsudoku.planes import select
from jaxsudoku.solvers import roots
from jaxsudoku.solvers.queue import Answer, Method, Start, gather_first, gather_last, run, select_last

BOARD = js.Board.classic(4)

#: Steps that the toy method below may take; it gives up then.
BUDGET = 40


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


@pytest.mark.parametrize("last", [False, True], ids=["first axis", "last axis"])
@pytest.mark.parametrize("width", [1, 3, 9, 16, 100])
def test_every_puzzle_has_its_steps(width: int, last: bool) -> None:
    numbers = np.random.default_rng(0).permutation(np.resize(VALID, 70))
    puzzles = spelt(numbers)
    found = jax.jit(
        lambda puzzles: run(countdown(last), BOARD, puzzles, jax.random.key(0), rules="none", lanes=width, record=64)
    )(puzzles)
    steps = np.minimum(1 + numbers, BUDGET)
    solved = 1 + numbers <= BUDGET
    np.testing.assert_array_equal(found.status == js.Status.SOLVED, solved)
    np.testing.assert_array_equal(found.grids, puzzles)  # what is not solved is left out by the judge
    np.testing.assert_array_equal(found.stats["errors"], 1 + numbers - steps)
    np.testing.assert_array_equal(found.iterations, 1 + 3 * steps)
    turn = np.arange(64)
    np.testing.assert_array_equal(found.stats["history"], np.where(turn < steps[:, None], numbers[:, None] - turn, -1))


def test_the_last_puzzles_have_fewer_lanes() -> None:
    """A step costs what there are lanes: once the queue is empty a long puzzle does not pay for all of them."""
    lanes_stepped = []
    base = countdown(last=False)

    def step(now: Countdown) -> Countdown:
        jax.debug.callback(lanes_stepped.append, now.left.shape[0])
        return base.step(now)

    puzzles = spelt(np.array([0] * 31 + [57]))
    method = base._replace(step=step)
    found = run(method, BOARD, puzzles, jax.random.key(0), rules="none", lanes=32)
    jax.effects_barrier()
    assert found.stats["errors"].tolist() == [0] * 31 + [58 - BUDGET]
    # answers are stored at the beginning of the next step
    assert [int(width) for width in lanes_stepped] == [32] * 2 + [4] * (BUDGET - 2)


def test_lanes_that_are_not_ready_settle_first() -> None:
    """A method may end puzzles between steps; the lanes take others before the next step."""
    base = countdown(last=False)
    lanes_stepped = []

    def step(now: Countdown) -> Countdown:
        jax.debug.callback(lanes_stepped.append, now.left.shape[0])
        return base.step(now)

    def settle(now: Countdown, busy: Array) -> Countdown:
        # ends every puzzle of an even number, and leaves the others as they are
        even = busy & (now.left % 2 == 1) & (now.steps == 0)
        return now._replace(left=jnp.where(even, 0, now.left), steps=now.steps + even)

    def ready(now: Countdown) -> Array:
        return (now.left % 2 == 0) | (now.steps > 0)

    numbers = np.array([n for n in VALID.tolist() for _ in range(4)])
    found = run(
        base._replace(step=step, prepare=settle, ready=ready),
        BOARD,
        spelt(numbers),
        jax.random.key(0),
        rules="none",
        lanes=4,
    )
    jax.effects_barrier()
    odd = numbers % 2 == 1
    steps = np.where(odd, np.minimum(1 + numbers, BUDGET), 1)
    np.testing.assert_array_equal(found.iterations, 1 + 3 * steps)
    np.testing.assert_array_equal(found.stats["errors"], np.where(odd, 1 + numbers - steps, 0))
    assert len(lanes_stepped) <= steps[odd].sum()


def lots() -> Method[Countdown]:
    """A toy: a run of the puzzle that spells n takes n % 4 + 1 steps, and the run of the number n // 4 solves it.

    The first cell of its answer tells the run.
    """

    def init(start: Start) -> Countdown:
        digits = start.grids[:, :4].astype(jnp.int32)
        number = (digits * jnp.array([0, 16, 4, 1])).sum(axis=1)
        told = start.grids.at[:, 0].set(start.run.astype(jnp.uint8) + 1)
        return Countdown(
            told.at[:, 1].set((number // 4 == start.run).astype(jnp.uint8)), number % 4 + 1, jnp.zeros_like(number)
        )

    def step(now: Countdown) -> Countdown:
        return now._replace(left=jnp.maximum(now.left - 1, 0), steps=now.steps + 1)

    def postprocess(now: Countdown) -> Answer:
        solved = (now.left == 0) & (now.grids[:, 1] > 0)
        return Answer(now.grids, solved, jnp.zeros_like(solved), now.steps, {"errors": now.steps})

    return Method(init, step, lambda now: now.left == 0, postprocess, {"errors": -1})


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("width", [1, 9, 16, 500])
def test_puzzles_have_runs_until_one_solves_them(width: int, ahead: bool) -> None:
    numbers = np.random.default_rng(0).permutation(np.resize(VALID, 70))
    runs = 6
    found = jax.jit(
        lambda puzzles: run(
            lots(), BOARD, puzzles, jax.random.key(0), rules="none", lanes=width, runs=runs, ahead=ahead
        )
    )(spelt(numbers))
    solved, each = numbers // 4 < runs, numbers % 4 + 1
    np.testing.assert_array_equal(found.status == js.Status.SOLVED, solved)
    np.testing.assert_array_equal(found.grids[:, 0][solved], (numbers // 4 + 1)[solved])
    np.testing.assert_array_equal(found.iterations, found.stats["errors"])
    alone, most = each * np.minimum(numbers // 4 + 1, runs), each * runs
    if ahead:  # runs that were not needed are counted as well
        assert (found.iterations >= alone).all() and (found.iterations <= most).all()
        assert (found.iterations > alone).any() or width < 500
    else:
        np.testing.assert_array_equal(found.iterations, alone)


def test_the_first_of_runs_that_end_together_has_its_answer() -> None:
    """Not a mixture of several; its puzzle has several solutions."""
    base = lots()

    def init(start: Start) -> Countdown:
        told = jnp.broadcast_to(start.run.astype(jnp.uint8)[:, None] + 1, start.grids.shape)
        return base.init(start)._replace(grids=told)

    found = jax.jit(
        lambda puzzles: run(
            base._replace(init=init), BOARD, puzzles, jax.random.key(0), rules="none", lanes=8, runs=8, ahead=True
        )
    )(spelt(np.array([3])))
    np.testing.assert_array_equal(found.grids, 1)
    assert found.status.tolist() == [js.Status.SOLVED] and found.iterations.tolist() == [8 * 4]


@pytest.mark.parametrize("lanes", [2500, 4097])
def test_roots_are_made_with_any_number_of_lanes(lanes):
    puzzles = reference.batch(BOARD, 5000)
    made, usual = (jax.jit(functools.partial(roots.make_roots, BOARD, rules="singles", lanes=n)) for n in (lanes, 0))
    for one, other in zip(made(puzzles)[1:], usual(puzzles)[1:], strict=True):
        np.testing.assert_array_equal(one, other)
