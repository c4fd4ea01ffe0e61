"""Puzzles in bands: the rules agree with ``propagation``, and the kernel with the same rules on numpy arrays."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import mosaic_gpu as plgpu

import jaxsudoku as js
from jaxsudoku import shipped
from jaxsudoku.core import planes, propagation
from jaxsudoku.core.bands import CHANGING, CONTRADICTORY, NO_LITERAL, SOLVED, TAKE, Bands
from jaxsudoku.exact import ExactConfig, band_nodes
from jaxsudoku.exact.plan import StackPlan

FOUR, NINE = js.Board.classic(4), js.Board.classic(9)

#: Puzzles of a batch, and of 9x9 nodes of a kernel's blocks, the second of which is not full.
COUNT, NODES = 96, 200


def puzzles_of(board: js.Board) -> np.ndarray:
    """A solved grid of which cells are emptied. In every fourth a cell has any digit, in the others the right one."""
    random = np.random.default_rng(board.side)
    height, width = board.box
    row = np.arange(board.side)
    solution = (row[:, None] % height * width + row[:, None] // height + row) % board.side + 1
    puzzles = np.repeat(solution.reshape(1, -1).astype(np.uint8), COUNT, axis=0)
    puzzles[random.random(puzzles.shape) < random.uniform(0.3, 0.9, (COUNT, 1))] = 0
    wrong = np.arange(0, COUNT, 4)
    puzzles[wrong, random.integers(board.cells, size=len(wrong))] = random.integers(board.side, size=len(wrong)) + 1
    return puzzles


@functools.partial(jax.jit, static_argnums=0)
def roots(board, puzzles, excluded):
    return Bands(board).roots(puzzles, excluded)


def words_of(board: js.Board, puzzles: np.ndarray, excluded: np.ndarray | None = None) -> list[np.ndarray]:
    nothing = np.zeros((len(puzzles), board.side, board.cells), bool)
    return list(np.asarray(roots(board, puzzles, nothing if excluded is None else excluded)[0]))


@functools.partial(jax.jit, static_argnums=0)
def by_planes(board, puzzles):
    """The fixpoint bool[B, side, cells], the contradictory, the solved and the invalid puzzles, on planes."""
    givens = planes.grids_to_planes(puzzles, board)
    candidates = propagation.propagate(givens.candidates, board)
    lanes = (*propagation.outcome(candidates, board), propagation.invalid_givens(givens, board))
    return planes.planes_to_cubes(candidates, board), *map(planes.unpack_lanes, lanes)


def in_steps(start, stop, function, state):
    """``lax.fori_loop`` without JAX."""
    return functools.reduce(lambda state, number: function(number, state), range(start, stop), state)


def settled(board: js.Board, words: list[np.ndarray], literal: np.ndarray, rounds: int, seed: np.ndarray | None = None):
    """The rows that ``band_nodes.by_kernel`` computes, on numpy arrays alone."""
    bands = Bands(board)
    words, outcome = bands.settle(words, literal, rounds, in_steps)
    chosen = np.where(outcome == 0, bands.choose(words, seed), NO_LITERAL)
    solution = bands.solution(words)
    first = [np.where(outcome == SOLVED, *pair) for pair in zip(solution, words[: len(solution)], strict=True)]
    return np.stack([*first, *words[len(first) :], chosen, outcome])


@pytest.mark.parametrize(
    "board",
    [
        pytest.param(FOUR, marks=pytest.mark.quick),
        js.Board.classic(6, (3, 2)),
        js.Board.classic(8),
        NINE,
        pytest.param(js.Board.classic(10), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_rules_have_the_fixpoint_of_propagation(board):
    puzzles = puzzles_of(board)
    cubes, contradictory, solved, _ = map(np.asarray, by_planes(board, puzzles))
    expected = words_of(board, np.zeros_like(puzzles), ~cubes)
    words, outcome = words_of(board, puzzles), None
    while outcome is None or (outcome == CHANGING).any():
        words, outcome = Bands(board).settle(words, np.full(COUNT, NO_LITERAL), 2, in_steps)
    right = np.arange(COUNT) % 4 > 0  # contradictions are found in another order
    assert not contradictory[right].any()
    np.testing.assert_array_equal(outcome[right], np.where(solved, SOLVED, 0)[right])
    np.testing.assert_array_equal(np.stack(words)[:, right], np.stack(expected)[:, right])
    assert {False, True} == set(solved[right])
    assert (outcome[~right] == CONTRADICTORY).any()


@pytest.mark.quick
@pytest.mark.parametrize("board", [FOUR, js.Board.classic(6, (3, 2))], ids=str)
def test_grids_to_words_and_back(board):
    puzzles = puzzles_of(board)
    puzzles[0, 0] = board.side + 1
    puzzles[1] = 0
    puzzles[1, [0, board.side * board.side - board.side]] = 1  # in one column
    puzzles[2] = 0
    puzzles[2, [0, board.side - 1]] = 1  # in one row
    puzzles[3] = 0
    puzzles[3, [0, board.side + 1]] = 1  # in one box
    _, invalid = roots(board, puzzles, np.zeros((COUNT, board.side, board.cells), bool))
    *_, expected = by_planes(board, puzzles)
    np.testing.assert_array_equal(invalid, expected)
    assert invalid[:4].all()
    assert not invalid.all()
    solved = np.resize(puzzles_of(board).max(axis=0), (COUNT, board.cells))
    words = words_of(board, solved)
    np.testing.assert_array_equal(Bands(board).decode(jnp.stack(Bands(board).solution(words))), solved)


@pytest.mark.quick
def test_literals():
    bands = Bands(FOUR)
    words = words_of(FOUR, np.zeros((2, 16), np.uint8))
    first = bands.choose(words)
    assert (first == 0).all()
    taken = bands.exclude(words, first ^ np.array([0, TAKE], np.uint32))
    expected = np.ones((2, 4, 16), bool)
    expected[0, 0, 0] = False
    expected[1, 1:, 0] = False
    np.testing.assert_array_equal(taken, words_of(FOUR, np.zeros((2, 16), np.uint8), ~expected))
    for none in (NO_LITERAL, NO_LITERAL | TAKE):
        np.testing.assert_array_equal(bands.exclude(words, np.full(2, none)), words)


@pytest.mark.parametrize(
    ("board", "rounds", "seeded"),
    [
        pytest.param(FOUR, 2, True, marks=pytest.mark.quick),
        pytest.param(NINE, 4, False, marks=pytest.mark.slow),
    ],
    ids=["4x4", "9x9"],
)
def test_the_kernel_does_as_the_rules_on_numpy_arrays(board, rounds, seeded):
    if not hasattr(plgpu, "InterpretGPUParams"):
        pytest.skip("this jax does not interpret kernels for GPUs")
    puzzles = puzzles_of(board)
    if board is NINE:
        puzzles = np.concatenate([puzzles, shipped.load("9x9-very-hard")])
    puzzles = puzzles[np.arange(NODES) % len(puzzles)]
    words, above = words_of(board, puzzles), 7
    literal = Bands(board).choose(words) ^ np.where(np.arange(NODES) % 2, TAKE, 0).astype(np.uint32)
    tags = [np.arange(NODES, dtype=np.uint32) * step for step in ((3, 5) if seeded else (3,))]
    columns = np.pad(np.stack([*words, literal, *tags]), ((0, 0), (above, 256)))
    plan = StackPlan(board, 1, ExactConfig(settle="bands", rounds=rounds, lanes=256).resolve(board, "gpu"))
    kernel = jax.jit(functools.partial(band_nodes.by_kernel, plan, interpret=plgpu.InterpretGPUParams()))
    parts = kernel(columns, np.int32(above), np.int32(NODES))
    expected = settled(board, words, literal, rounds, tags[1] if seeded else None)
    np.testing.assert_array_equal(np.concatenate(parts)[:, :NODES], [*expected, *tags])
    assert {0, SOLVED, CONTRADICTORY, CHANGING} <= set(expected[-1])
