"""Slots: every puzzle has its own steps, however many are worked on together and wherever they move."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import jaxsudoku as js
from jaxsudoku.slots import (
    Method,
    Start,
    View,
    by_first_axis,
    by_last_axis,
    of_first_axis,
    of_last_axis,
    work_off,
)

pytestmark = pytest.mark.quick

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

    def begin(start: Start) -> Countdown:
        digits = start.grids[:, :4].astype(jnp.int32)
        left = 1 + (digits * jnp.array([0, 16, 4, 1])).sum(axis=1)
        return Countdown(start.grids.T if last else start.grids, left, jnp.zeros_like(left))

    def step(now: Countdown) -> Countdown:
        return now._replace(left=jnp.maximum(now.left - 1, 0), steps=now.steps + 1)

    def view(now: Countdown) -> View:
        over = (now.left == 0) | (now.steps >= BUDGET)
        return View(over, now.left, jnp.full_like(now.left, 3), jnp.zeros_like(over))

    def grids(now: Countdown) -> Array:
        return now.grids.T if last else now.grids

    along = (by_last_axis, of_last_axis) if last else (by_first_axis, of_first_axis)
    return Method(begin, step, view, grids, *along)


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
    found = jax.jit(lambda puzzles: work_off(BOARD, puzzles, jax.random.key(0), "none", width, countdown(last), 64))(
        puzzles
    )
    steps = np.minimum(1 + numbers, BUDGET)
    solved = 1 + numbers <= BUDGET
    np.testing.assert_array_equal(found.status == js.Status.SOLVED, solved)
    np.testing.assert_array_equal(found.grids, np.where(solved[:, None], puzzles, 0))
    np.testing.assert_array_equal(found.errors, 1 + numbers - steps)
    np.testing.assert_array_equal(found.iterations, 1 + 3 * steps)
    turn = np.arange(64)
    np.testing.assert_array_equal(found.history, np.where(turn < steps[:, None], numbers[:, None] - turn, -1))


def test_the_last_puzzles_have_fewer_slots() -> None:
    """A step costs what there are slots: behind the end of the queue a long puzzle does not pay for all of them."""
    slots_stepped = []
    base = countdown(last=False)

    def step(now: Countdown) -> Countdown:
        jax.debug.callback(slots_stepped.append, now.left.shape[0])
        return base.step(now)

    puzzles = spelt(np.array([0] * 31 + [57]))
    found = work_off(BOARD, puzzles, jax.random.key(0), "none", 32, base._replace(step=step))
    jax.effects_barrier()
    assert found.errors.tolist() == [0] * 31 + [58 - BUDGET]
    # answers are put away at the beginning of the next step
    assert [int(width) for width in slots_stepped] == [32] * 2 + [4] * (BUDGET - 1)
