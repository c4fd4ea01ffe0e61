"""The Pallas kernel of the rules: agreement with ``propagation``, in interpret mode and as chips see it."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import shipped
from jaxsudoku.core import pallas_sweep as fused
from jaxsudoku.core import propagation

SMALL, DIAGONAL = js.Board.classic(4), js.Board.diagonal(9)
SMALL_DIAGONAL, SMALL_JIGSAW = js.Board.diagonal(4), js.Board.jigsaw("aaabb aabbb ccccc ddeee dddee")


def planes_of(board: js.Board, width: int) -> np.ndarray:
    """Random candidates around a digit for each cell, fewer in each further group: uint32[side, side, side, width]."""
    random = np.random.default_rng(board.cells)
    shape = (board.side,) * 3
    digits = random.integers(board.side, size=(32, width, 1, *shape[1:]))
    chosen = np.moveaxis(digits == np.arange(board.side)[:, None, None], (0, 1), (3, 4))
    kept = random.random((*shape, 32, width)) < np.linspace(0.8, 0.1, width)
    bits = (chosen | kept).astype(np.uint32) << np.arange(32, dtype=np.uint32)[:, None]
    return np.bitwise_or.reduce(bits, axis=3)


by_xla = jax.jit(propagation.sweep_rounds, static_argnums=(1, 2, 3))
by_pallas = jax.jit(functools.partial(fused.sweep_rounds, interpret=True), static_argnums=(1, 2, 3))


def assert_same(got, wanted) -> None:
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("board", "rules", "rounds"),
    [
        pytest.param(SMALL, "naked", 2, marks=pytest.mark.quick),
        pytest.param(DIAGONAL, "locked", 4, marks=pytest.mark.slow),
        (SMALL_DIAGONAL, "locked", 3),
        (SMALL_JIGSAW, "locked", 3),
        (js.Board.named("1x5"), "singles", 3),
    ],
    ids=lambda value: str(value)[:24].replace(" ", "-"),
)
def test_the_kernel_agrees_with_the_rules(board, rules, rounds):
    planes = planes_of(board, 3)
    wanted = by_xla(planes, board, rules, rounds)
    assert np.any(wanted[1]), "no lane changes in the last round"
    assert_same(by_pallas(planes, board, rules, rounds), wanted)


class Memory:
    """A reference to memory on chip: reading copies, as into a register."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getitem__(self, index) -> np.ndarray:
        return self.array[index].copy()

    def __setitem__(self, index, value: np.ndarray) -> None:
        self.array[index] = value


@pytest.mark.parametrize("board", [SMALL, SMALL_DIAGONAL, SMALL_JIGSAW], ids=str)
def test_cell_by_cell_as_on_a_chip(board):
    planes = planes_of(board, 3)
    cells = planes.reshape(board.side, board.cells, -1).copy()
    changed = np.ones(3, np.uint32)
    marks = np.ones((2, board.cells, 3), np.uint32)
    with jax.disable_jit():
        fused.all_rounds(board, "locked", 3, fused.APART, fused.tables_of(board), *map(Memory, (cells, changed, marks)))
    assert_same((cells.reshape(planes.shape), changed), by_xla(planes, board, "locked", 3))


@pytest.mark.quick
def test_lanes_that_nothing_changes_are_told():
    planes = np.zeros((4, 4, 4, 3), np.uint32)
    planes[..., 1:] = planes_of(SMALL, 3)[..., 1:]
    _, changed = map(np.asarray, by_pallas(planes, SMALL, "naked", 2))
    assert changed[0] == 0
    assert changed[1:].any()


def test_a_solver_settles_by_the_kernel():
    puzzles = shipped.load("4x4")[:40]
    one, other = (js.solve(puzzles, settle=settle, rules="naked", rounds=1, lanes=64) for settle in ("xla", "pallas"))
    assert (one.status == js.Status.SOLVED).all()
    np.testing.assert_array_equal(one.grids, other.grids)
    np.testing.assert_array_equal(one.status, other.status)
    np.testing.assert_array_equal(one.iterations, other.iterations)
