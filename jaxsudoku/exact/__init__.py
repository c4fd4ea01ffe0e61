"""Exact search: complete, for batches of puzzles, on any board.

There are two searches behind one interface. ``stack`` keeps one stack of nodes for the whole batch; it suits small
boards. ``weighted`` searches one puzzle in each lane, with restarts, and learns where a puzzle is hard; it suits large
boards.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.branching import Branch
from jaxsudoku.core.planes import GROUP
from jaxsudoku.core.tuning import CPU_LANES, CPU_SEARCHES, MOST_ROUNDS, SEARCH_RULES, SETTLES, check_settle
from jaxsudoku.engine.solution import Status
from jaxsudoku.exact import stack, weighted
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.sharding import by_shards

#: The lowest compute capability of GPUs for which Pallas' Mosaic compiles.
_MOSAIC = 9

#: Rounds of the rules in a step, without and with restarts.
_ROUNDS, _WEIGHTED_ROUNDS = 4, 2


class SearchResult(NamedTuple):
    """Results of an exact search for N puzzles.

    Attributes:
      grids: uint8[N, cells], the first solution found, zeros where there is none.
      status: int8[N], one of ``Status``.
      counts: int32[N], solutions found, at most ``limit``.
      iterations: int32[N], nodes visited.
    """

    grids: Array
    status: Array
    counts: Array
    iterations: Array


jax.export.register_namedtuple_serialization(SearchResult, serialized_name="jaxsudoku.exact.SearchResult")


def search(
    puzzles: AnyArray,
    board: Board | None = None,
    seeds: AnyArray | None = None,
    excluded: AnyArray | None = None,
    *,
    limit: int = 1,
    budget: int | None = None,
    restart: int | None = None,
    portfolio: bool = True,
    levels: int | None = None,
    rules: str = "locked",
    rounds: int | None = None,
    lanes: int | None = None,
    branch: Branch | None = None,
    settle: str = "xla",
) -> SearchResult:
    """Solves a batch of puzzles by complete search, or counts their solutions up to a limit.

    Pure; jit it with all arguments but the arrays static. Counts, statuses and unique solutions are independent of the
    batch. Which of several solutions is found first, and ``iterations`` with it, may depend on the other puzzles; so
    may the nodes that a budget leaves out, as budgets are checked between steps. With restarts but no portfolio they
    depend on the puzzle and its seed alone.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      board: the board; None for the classic one of the puzzles' size.
      seeds: uint32[N], a seed for each puzzle's random order of branching, 0 for the fixed order; None for the fixed
        order in all.
      excluded: digits that empty cells may not take: uint8[N, cells], one a cell, 0 for none; or bool[N, side, cells],
        any number. None for none at all. Excluding a digit of a known solution tests whether there is another solution.
      limit: stop at this many solutions of a puzzle: 1 solves, 2 proves uniqueness.
      budget: stop a puzzle after this many nodes, checked between steps; its status is UNSOLVED if nodes were left.
      restart: search with conflict weights, and start again after this many nodes, then after a fifth more each time;
        None for neither. Large boards need it: on them an unlucky early branch may never end.
      portfolio: with restarts: lanes without a puzzle join the search of those that are left.
      levels: with restarts: the deepest that a search goes; a puzzle that needs more is left UNSOLVED. A search starts
        faster with fewer; None for as many as any puzzle needs.
      rules: one of ``SEARCH_RULES``.
      rounds: rounds of the rules in a step, up to 1000; None for 4, and for 2 with restarts.
      lanes: nodes in a step, a multiple of 32; None for 2048, and for 64 with restarts.
      branch: chooses the literals to branch on; None for ``branching.choose``. Not with restarts.
      settle: what runs the rules, with the same results: "xla", or "pallas", one kernel in which the planes stay on
        chip for all rounds of a step (see ``fused``). Not with restarts. A CPU runs it in Pallas' interpret mode, which
        is slower and serves to check results; under ``jax.shard_map`` that needs ``check_vma=False``.

    Returns:
      A ``SearchResult``; the status is SOLVED where at least one solution was found.

    Raises:
      ValueError: an argument is out of its range, or the puzzles don't fit the board; or with settle "pallas" there are
        restarts, the board's planes don't fit a chip of the default backend, or that is an older GPU.
    """
    forks.check()
    board, _ = board_of_grids(np.shape(puzzles), board)
    limit = whole_number("limit", limit, 1)
    budget, restart = (
        None if value is None else whole_number(name, value, 1)
        for name, value in (("budget", budget), ("restart", restart))
    )
    if restart is not None and branch is not None:
        raise ValueError("a search with restarts chooses its own branches; leave out branch or restart")
    if settle not in SETTLES:
        raise ValueError(f"unknown settle {settle!r}: choose one of {', '.join(SETTLES)}")
    check_settle(board, settle, jax.default_backend(), restart is not None)
    _check_devices(settle)
    rounds = whole_number(
        "rounds", rounds if rounds is not None else _ROUNDS if restart is None else _WEIGHTED_ROUNDS, 1, MOST_ROUNDS
    )
    lanes = _checked_lanes(lanes if lanes is not None else CPU_LANES if restart is None else CPU_SEARCHES)
    puzzles = jnp.asarray(puzzles)
    seeds, excluded = (None if array is None else jnp.asarray(array) for array in (seeds, excluded))
    _check(board, rules, puzzles, seeds, excluded)
    if not puzzles.shape[0]:
        nothing = jnp.zeros(0, jnp.int32)
        return SearchResult(puzzles, jnp.zeros(0, jnp.int8), nothing, nothing)
    if restart is not None:
        levels = min(whole_number("levels", levels, 1), board.cells) if levels is not None else board.cells
        deep = weighted.Plan(board, limit, rules, rounds, lanes, restart, budget, bool(portfolio), levels)
        return by_shards(functools.partial(_search_weighted, deep), puzzles, seeds, excluded)
    plan = stack.Plan(board, limit, rules, rounds, lanes, budget, branch, settle)
    return by_shards(functools.partial(_search_stack, plan), puzzles, seeds, excluded, checked=settle != "pallas")


def guided_search(
    puzzles: Array,
    branch: Branch,
    board: Board | None = None,
    *,
    budget: int | None = None,
    rules: str = "locked",
    rounds: int = _ROUNDS,
    lanes: int = CPU_LANES,
    guided_branches: int | None = None,
) -> tuple[SearchResult, Array]:
    """Solves a batch as ``search`` does with a ``branch``, and counts the nodes for which this chose.

    Args:
      guided_branches: most nodes of a puzzle for which ``branch`` chooses, checked between steps; then
        ``branching.choose`` does. None for no limit. The other arguments are those of ``search``.

    Returns:
      the ``SearchResult``, and int32[N], the nodes for which ``branch`` chose: on them the rules make no more progress,
      and neither solve nor refute them.
    """
    forks.check()
    board, _ = board_of_grids(np.shape(puzzles), board)
    rounds = whole_number("rounds", rounds, 1, MOST_ROUNDS)
    guided_branches = None if guided_branches is None else whole_number("guided_branches", guided_branches, 1)
    plan = stack.Plan(board, 1, rules, rounds, _checked_lanes(lanes), budget, branch, guided_branches=guided_branches)
    _check(board, rules, puzzles, None, None)
    if not puzzles.shape[0]:
        nothing = jnp.zeros(0, jnp.int32)
        return SearchResult(puzzles, jnp.zeros(0, jnp.int8), nothing, nothing), nothing
    *results, branches = stack.search(plan, puzzles, None, None)
    return SearchResult(*results), branches


def _search_stack(plan: stack.Plan, puzzles: Array, seeds: Array | None, excluded: Array | None) -> SearchResult:
    return _sharded_like(puzzles, plan.board, SearchResult(*stack.search(plan, puzzles, seeds, excluded)[:4]))


def _search_weighted(plan: weighted.Plan, puzzles: Array, seeds: Array | None, excluded: Array | None) -> SearchResult:
    return _sharded_like(puzzles, plan.board, SearchResult(*weighted.search(plan, puzzles, seeds, excluded)))


def _sharded_like(puzzles: Array, board: Board, found: SearchResult) -> SearchResult:
    # Rows of padding are INVALID already, so this changes no value. But an elementwise operation on the puzzles makes
    # XLA shard the results like them; the results of a loop alone are replicated. Without the fence a TPU's compiler
    # fuses the column of the grids into all that reads it, which takes long to compile.
    padding = fence(puzzles[:, 0]) > board.side
    return SearchResult(
        jnp.where(padding[:, None], jnp.uint8(0), found.grids),
        jnp.where(padding, jnp.int8(Status.INVALID), found.status),
        jnp.where(padding, 0, found.counts),
        jnp.where(padding, 0, found.iterations),
    )


def _check_devices(settle: str) -> None:
    """Raises ValueError if Mosaic does not compile for the GPUs: its compiler would end the process."""
    if settle != "pallas" or jax.default_backend() != "gpu":
        return
    capability = str(getattr(jax.local_devices()[0], "compute_capability", ""))
    if capability.partition(".")[0].isdecimal() and int(capability.partition(".")[0]) < _MOSAIC:
        raise ValueError(
            f'settle "pallas" needs a GPU of compute capability {_MOSAIC}.0 (H100) or later, not {capability}; '
            'use settle "xla"'
        )


def _checked_lanes(lanes: int) -> int:
    """The lanes as a number; raises ValueError if they do not fill whole words."""
    lanes = whole_number("lanes", lanes)
    if lanes < GROUP or lanes % GROUP:
        raise ValueError(f"lanes must be a positive multiple of {GROUP}, not {lanes}")
    return lanes


def _check(board: Board, rules: str, puzzles: Array, seeds: Array | None, excluded: Array | None) -> None:
    if puzzles.ndim != 2 or puzzles.shape[1] != board.cells:
        raise ValueError(f"puzzles of shape {puzzles.shape}; a {board} takes [N, {board.cells}]")
    if puzzles.dtype != jnp.uint8:
        raise ValueError(f"puzzles of dtype {puzzles.dtype}; they must be uint8")
    if seeds is not None and (seeds.shape != puzzles.shape[:1] or seeds.dtype != jnp.uint32):
        raise ValueError(
            f"seeds {seeds.dtype}{list(seeds.shape)}; they must be uint32[{puzzles.shape[0]}], one a puzzle"
        )
    if excluded is not None:
        cubes = (puzzles.shape[0], board.side, board.cells)
        if (excluded.shape, excluded.dtype) not in ((puzzles.shape, jnp.uint8), (cubes, jnp.bool)):
            raise ValueError(
                f"excluded {excluded.dtype}{list(excluded.shape)}; it must be uint8{list(puzzles.shape)} or "
                f"bool{list(cubes)}"
            )
    if rules not in SEARCH_RULES:
        raise ValueError(f"unknown rules {rules!r}: the exact search takes one of {', '.join(SEARCH_RULES)}")
