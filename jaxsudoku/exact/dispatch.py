"""Interface of the exact search: checks arguments, and runs the search that the settings choose."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.branching import Branch
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.engine.kernels import SMALL
from jaxsudoku.engine.solution import Status
from jaxsudoku.exact import stack, weighted
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.exact.plan import Plan, SearchResult, StackPlan
from jaxsudoku.runtime import devices, forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.settings import settings_of, whole_number
from jaxsudoku.runtime.sharding import by_shards


def search(
    puzzles: AnyArray,
    board: Board | None = None,
    seeds: AnyArray | None = None,
    excluded: AnyArray | None = None,
    *,
    clues: Clues | None = None,
    limit: int = 1,
    branch: Branch | None = None,
    config: ExactConfig | None = None,
    **options: Any,
) -> SearchResult:
    """Solves a batch of puzzles by complete search, or counts their solutions up to a limit.

    Pure; jit it with all arguments but the arrays static. Counts, statuses and unique solutions are independent of the
    batch. If there are several solutions, the one found first and ``iterations`` may depend on the other puzzles; so
    may the nodes that a budget leaves out, as budgets are checked between steps. With restarts and ``split=False``
    they depend on the puzzle and its seed only.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      board: the board; None for the classic one of the puzzles' size.
      seeds: uint32[N], a seed for each puzzle's random order of branching, 0 for the fixed order; None for the fixed
        order in all puzzles. Required with order "random".
      excluded: digits that empty cells may not take: uint8[N, cells], one a cell, 0 for none; or bool[N, side, cells],
        any number. None for none at all. Excluding a digit of a known solution tests whether there is another solution.
      clues: the constraints of each puzzle; None for those of the board alone.
      limit: stop at this many solutions of a puzzle: 1 solves, 2 proves uniqueness.
      branch: chooses the literals to branch on, in a search without restarts; None for ``branching.choose``.
      config: the settings; None for the defaults. They are resolved for the board and the default backend, or for a GPU
        if a process without one compiles for GPUs.
      **options: fields of ``ExactConfig``, e.g. ``budget=1000``, in place of those of ``config``.

    Returns:
      A ``SearchResult``; the status is SOLVED where at least one solution was found.

    Raises:
      ValueError: an unknown option; an argument out of range; puzzles that don't fit the board; or a setting of settle
        that does not support this search, this board or the device of the default backend.
    """
    limit = whole_number("limit", limit, 1)
    board, config, on_gpu = _settings(puzzles, board, branch, config, options, limit, clues)
    if config.order == "random" and seeds is None:
        raise ValueError('the order "random" needs seeds, one per puzzle')
    puzzles = jnp.asarray(puzzles)
    seeds, excluded = (None if array is None else jnp.asarray(array) for array in (seeds, excluded))
    _check(board, puzzles, seeds, excluded, clues)
    if not puzzles.shape[0]:
        return _nothing(puzzles)

    def run(
        config: ExactConfig,
        puzzles: Array,
        seeds: Array | None = None,
        excluded: Array | None = None,
        clues: Clues | None = None,
    ) -> SearchResult:
        if config.restart == "never":
            found, _ = stack.search(StackPlan(board, limit, config, branch), puzzles, seeds, excluded, clues)
        else:
            found = weighted.search(Plan(board, limit, config), puzzles, seeds, excluded, clues)
        return _sharded_like(puzzles, board, found)

    def by_platform(puzzles: Array, *others: Any) -> SearchResult:
        if on_gpu == config:
            return run(config, puzzles, *others)
        forms = {"cuda": functools.partial(run, on_gpu), "default": functools.partial(run, config)}
        found: SearchResult = lax.platform_dependent(puzzles, *others, **forms)
        return found

    return by_shards(by_platform, puzzles, seeds, excluded, clues, checked=config.settle != "pallas")


def guided_search(
    puzzles: Array,
    branch: Branch,
    board: Board | None = None,
    *,
    guided_branches: int | None = None,
    config: ExactConfig | None = None,
    **options: Any,
) -> tuple[SearchResult, Array]:
    """``search`` with a ``branch``; also returns the number of nodes for which it chose the literal.

    Args:
      guided_branches: the maximum number of nodes of a puzzle for which ``branch`` chooses, checked between steps;
        ``branching.choose`` takes over after that. None for no limit. The other arguments are those of ``search``.

    Returns:
      the ``SearchResult``, and int32[N], the number of nodes for which ``branch`` chose: nodes on which the rules make
      no more progress, and which they neither solve nor refute.
    """
    board, config, _ = _settings(puzzles, board, branch, config, options)
    guided_branches = None if guided_branches is None else whole_number("guided_branches", guided_branches, 1)
    _check(board, puzzles)
    if not puzzles.shape[0]:
        return _nothing(puzzles), jnp.zeros(0, jnp.int32)
    return stack.search(StackPlan(board, 1, config, branch, guided_branches), puzzles, None, None)


def _settings(
    puzzles: AnyArray,
    board: Board | None,
    branch: Branch | None,
    config: ExactConfig | None,
    options: dict[str, Any],
    limit: int = 1,
    clues: Clues | None = None,
) -> tuple[Board, ExactConfig, ExactConfig]:
    """The board and the resolved settings of a search; a search with a branch has no restarts.

    Settings are resolved twice: for the device of the default backend, and for a GPU that is not there. The latter
    differ only if this process can compile for GPUs.
    """
    forks.check()
    board, _ = board_of_grids(np.shape(puzzles), board)
    config = settings_of(ExactConfig, "exact search", **{**vars((config or ExactConfig()).plain()), **options})
    if branch is not None:
        if config.restart not in (None, "never"):
            raise ValueError("a search with restarts chooses its own branches; leave out branch or restart")
        if config.settle == "bands":
            raise ValueError('branch chooses on planes: leave out branch or settle "bands"')
        settle = "xla" if config.settle == "auto" else config.settle
        config = dataclasses.replace(config, restart="never", settle=settle)
    if clues is not None:
        config = config.with_clues(limit)
    kind = devices.kind(jax.local_devices()[0])
    few = config.small(board, kind, limit) if branch is None and np.shape(puzzles)[0] <= SMALL else None
    here = (few or config).resolve(board, kind)
    elsewhere = here.settle != "pallas" and jax.default_backend() == "cpu" and devices.compiles_for_gpus()
    return board, here, config.resolve(board, "gpu") if elsewhere else here


def _nothing(puzzles: Array) -> SearchResult:
    """The result for an empty batch."""
    nothing = jnp.zeros(0, jnp.int32)
    return SearchResult(puzzles, jnp.zeros(0, jnp.int8), nothing, nothing)


def _sharded_like(puzzles: Array, board: Board, found: SearchResult) -> SearchResult:
    # Changes no value, as rows of padding are INVALID already. But an elementwise operation on the puzzles makes XLA
    # shard the results like them; results of a loop alone are replicated. Without the fence a TPU's compiler fuses the
    # column of the grids into all of its readers, which takes long to compile.
    padding = fence(puzzles[:, 0]) > board.side
    return SearchResult(
        jnp.where(padding[:, None], jnp.uint8(0), found.grids),
        jnp.where(padding, jnp.int8(Status.INVALID), found.status),
        jnp.where(padding, 0, found.counts),
        jnp.where(padding, 0, found.iterations),
    )


def _check(
    board: Board,
    puzzles: Array,
    seeds: Array | None = None,
    excluded: Array | None = None,
    clues: Clues | None = None,
) -> None:
    """Raises ValueError if the shapes or dtypes of the arrays do not fit."""
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
    if clues is not None:
        clues.check(board, puzzles.shape[0])
