"""The weakest rules that solve a puzzle without branching."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.core.constraints.pruning import clues_of_lanes
from jaxsudoku.core.layouts import Planes
from jaxsudoku.core.planes import any_of, grids_to_planes, pad_grids, slices, unpack_lanes
from jaxsudoku.core.propagation import classify, invalid_givens, sweep, sweep_houses
from jaxsudoku.core.tuning import CPU_LANES, RULES, node_lanes
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.inputs import as_marked
from jaxsudoku.engine.kernels import PuzzleItems, as_clues, as_items
from jaxsudoku.io import Errors
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.sharding import vary_as
from jaxsudoku.runtime.terminal.progress import Report, reports


def weakest_rules(
    puzzles: Any,
    board: Board | None = None,
    *,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    errors: Errors = "raise",
) -> np.ndarray:
    """The weakest of ``RULES`` that solves each puzzle without branching; constraints are applied with all of them.

    Args:
      puzzles: one or several, in any form that ``solve`` takes.
      board, clues, batch_size, devices, progress, errors: as in ``solve``.

    Returns:
      int8[*b], an index into ``RULES``; ``len(RULES)`` where none does, -1 for a malformed puzzle.

    Raises:
      ValueError: puzzles that do not fit the board.
    """
    marked = as_marked(puzzles, board, errors, constrained=True)
    board, flat = marked.board, marked.searchable.reshape(-1, marked.board.cells)
    own = as_clues(clues, marked)
    found = weakest_of(flat, board, own, batch_size=batch_size, devices=devices, progress=progress)
    return np.where(marked.good, found.reshape(marked.good.shape), np.int8(-1))


def weakest_of(
    puzzles: np.ndarray,
    board: Board,
    clues: Clues | None = None,
    *,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
) -> np.ndarray:
    """``weakest_rules`` of puzzles uint8[N, cells], with clues as ``kernels.as_clues`` returns them: int8[N]."""
    engine = Engine(RulesKernel(form=None if clues is None else clues.form), board, 0, batch_size, devices)
    with reports(progress) as report:
        weakest: np.ndarray = engine.run(as_items(puzzles, clues=clues), report)
    return weakest


def weakest_of_puzzles(
    puzzles: AnyArray, board: Board | None = None, *, clues: Clues | None = None, lanes: int = CPU_LANES
) -> Array:
    """The weakest of ``RULES`` that solves each puzzle alone; pure, all but the arrays static.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      board: the board; None for the classic one of the puzzles' size.
      clues: the constraints of each puzzle; None for those of the board alone.
      lanes: puzzles in a block, a multiple of 32.

    Returns:
      int8[N], an index into ``RULES``; ``len(RULES)`` where none does.
    """
    forks.check()
    board, _ = board_of_grids(np.shape(puzzles), board)
    padded, _ = pad_grids(jnp.asarray(puzzles), board, lanes)
    layout = Planes(board)
    rules = [functools.partial(sweep_houses, layout, rules=rules) for rules in RULES]

    def block(numbers: Array) -> Array:
        givens = grids_to_planes(padded[numbers], board)
        valid = unpack_lanes(~invalid_givens(givens, board))
        own = None if clues is None else clues_of_lanes(clues, numbers)

        def one_round(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            before, level, weakest = state
            after = sweep(layout, lax.switch(level, rules, before), "none", own)
            changed = fence(any_of(slices((after ^ before).reshape(board.candidates, *before.shape[3:]), 0)))
            # constraints hold where they change nothing
            solved = unpack_lanes(classify(layout, before)[1] & ~changed) & valid
            weakest = jnp.where(solved, jnp.minimum(weakest, level.astype(jnp.int8)), weakest)
            finished = (level == 0) | ~changed.any()  # without rules one round shows all
            return after, level + finished.astype(jnp.int32), weakest

        def unfinished(state: tuple[Array, Array, Array]) -> Array:
            _, level, weakest = state
            return (level < len(RULES)) & (valid & (weakest == len(RULES))).any()

        weakest = jnp.full(len(numbers), len(RULES), jnp.int8)
        start = vary_as(padded, (fence(givens.candidates), jnp.int32(0), weakest))
        return lax.while_loop(unfinished, one_round, start)[2]

    blocks = jnp.arange(len(padded), dtype=jnp.int32).reshape(-1, lanes)
    return lax.map(block, blocks).reshape(-1)[: len(puzzles)]


@dataclasses.dataclass(frozen=True)
class RulesKernel(PuzzleItems):
    """A ``kernels.Kernel`` from puzzles to indices into ``RULES``, as ``weakest_rules``.

    Attributes:
      lanes: puzzles in a block, a multiple of 32.
    """

    lanes: int = CPU_LANES
    form: ClueForm | None = None

    def resolve(self, board: Board, platform: str) -> RulesKernel:
        return dataclasses.replace(self, lanes=node_lanes(board, platform))

    def __call__(self, board: Board, items: Array, key: Array, number: Array, /) -> Array:
        puzzles, _, clues = self.split(board, items)
        return weakest_of_puzzles(puzzles, board, clues=clues, lanes=self.lanes)
