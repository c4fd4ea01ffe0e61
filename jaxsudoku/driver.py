"""Puzzles solved and counted on all devices and cores: the host's side of the solvers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxsudoku import solvers
from jaxsudoku.batches import Engine, TakesPuzzles, as_puzzles
from jaxsudoku.board import Board
from jaxsudoku.solution import Solution


def solve(
    puzzles: Any,
    board: Board | None = None,
    *,
    solver: str = "exact",
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    **options: Any,
) -> Solution:
    """Solves puzzles on all devices, and on a CPU on all cores.

    Args:
      puzzles: uint8[*b, cells] (or any integers), 0 = empty; one puzzle [cells] too.
      board: the board; by default the classic one of the puzzles' size.
      solver: a name in ``jaxsudoku.solvers.SOLVERS``.
      key: a JAX key or a seed, for solvers that use randomness.
      batch_size: puzzles on a device at a time; by default as many as suit the machine.
      devices: the devices to use; by default all of the default backend.
      **options: fields of the solver's config, e.g. ``rules="singles"`` or ``budget=1000``.

    Returns:
      A ``Solution`` of numpy arrays: grids uint8[*b, cells], status int8[*b], iterations int32[*b].

    Raises:
      ValueError: puzzles that do not fit the board, an unknown solver or option.
    """
    chosen = solvers.get(solver)
    kernel = solve_kernel(chosen.name, solvers.make_config(chosen, **options))
    return _run_array(kernel, puzzles, board, key, batch_size, devices)


def count_solutions(
    puzzles: Any,
    limit: int = 2,
    board: Board | None = None,
    *,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    **options: Any,
) -> np.ndarray:
    """Counts solutions up to a limit: 0 for none (or clashing givens), 1 proves uniqueness when the limit is above 1.

    Args:
      puzzles: uint8[*b, cells], 0 = empty.
      limit: stop at this many solutions of a puzzle.
      board, key, batch_size, devices: as in ``solve``.
      **options: fields of ``ExactConfig`` but ``budget``.

    Returns:
      int32[*b].

    Raises:
      ValueError: as in ``solve``; a limit below 1, or a budget, with which a count would be none.
    """
    return _run_array(count_kernel(limit, **options), puzzles, board, key, batch_size, devices)


# ---------------------------------------------------------------------- kernels


@dataclasses.dataclass(frozen=True)
class PuzzleKernel(TakesPuzzles):
    """A ``batches.Kernel`` that takes puzzles, uint8[B, cells]: a function of a solver and its settings.

    Attributes:
      function: (board, puzzles uint8[B, cells], key, solver, config, *arguments) to arrays with leading axis B.
      solver: the solver's name.
      config: its settings.
      arguments: further static, hashable arguments.
    """

    function: Callable[..., Any]
    solver: str
    config: Any
    arguments: tuple[Any, ...] = ()

    def fit(self, board: Board, platform: str) -> PuzzleKernel:
        """The kernel with the settings that suit a machine."""
        return dataclasses.replace(self, config=solvers.get(self.solver).fit(self.config, board, platform))

    def __call__(self, board: Board, puzzles: jax.Array, key: jax.Array, number: jax.Array, /) -> Any:
        return self.function(board, puzzles, jax.random.fold_in(key, number), self.solver, self.config, *self.arguments)


def solve_kernel(solver: str, config: Any) -> PuzzleKernel:
    """Solves and judges."""
    return PuzzleKernel(_solve_and_judge, solver, config)


def count_kernel(limit: int, **options: Any) -> PuzzleKernel:
    """Counts solutions up to ``limit``; int32[B]."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    if options.get("budget"):
        raise ValueError("a count under a budget would be no count; leave the budget out")
    return PuzzleKernel(_count, "exact", solvers.make_config(solvers.get("exact"), **options), (limit,))


def _solve_and_judge(board: Board, puzzles: jax.Array, key: jax.Array, solver: str, config: Any) -> Solution:
    return solvers.judge(board, puzzles, solvers.get(solver).run(board, puzzles, key, config))


def _count(board: Board, puzzles: jax.Array, key: jax.Array, solver: str, config: Any, limit: int) -> jax.Array:
    return solvers.exact_search(board, puzzles, key, config, limit).counts


def _run_array(
    kernel: PuzzleKernel,
    puzzles: Any,
    board: Board | None,
    key: jax.Array | int,
    batch_size: int | None,
    devices: Sequence[jax.Device] | None,
) -> Any:
    array, board = as_puzzles(puzzles, board)
    flat = array.reshape(-1, board.cells)
    whole = Engine(kernel, board, key, batch_size, devices).run(flat)
    return jax.tree.map(lambda result: result.reshape(array.shape[:-1] + result.shape[1:]), whole)
