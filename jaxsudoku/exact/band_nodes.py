"""Nodes of the stack search as bands, for GPUs: a Pallas kernel settles them, one node a thread.

A node is its parent's candidates as ``core.bands`` holds them, and a word for the literal to exclude or to take. One
Pallas kernel takes nodes from the stack, applies literals and rules, and chooses the next literals, all in registers.
The module has the same functions as ``plane_nodes``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

from jaxsudoku.core.bands import CHANGING, NO_LITERAL, SOLVED, TAKE, Bands
from jaxsudoku.core.planes import pack_lanes
from jaxsudoku.exact.plan import Settled, StackPlan
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.sharding import like, vary_as

#: Threads per block of the kernel, one node each.
_THREADS = 128

#: Whether all puzzles are encoded and decoded at once, and solutions are stored in the order of the puzzles.
AT_ONCE = True


def node_words(plan: StackPlan) -> int:
    """Number of words per node: the candidates and a literal."""
    return Bands(plan.board).words + 1


def solution_words(plan: StackPlan) -> int:
    """Number of words per solution."""
    return Bands(plan.board).solution_words


def roots(plan: StackPlan, puzzles: Array, excluded: Array | None) -> tuple[Array, Array]:
    """The root nodes of puzzles uint8[B, cells], and the invalid ones bool[B]; see ``plane_nodes.roots``."""
    if excluded is not None and excluded.ndim == 2:
        excluded = excluded[:, None] == np.arange(1, plan.board.side + 1, dtype=np.uint8)[:, None]
    words, invalid = Bands(plan.board).roots(puzzles, excluded)
    return jnp.concatenate([words, jnp.full((1, len(puzzles)), NO_LITERAL)]), invalid


def decode(plan: StackPlan, solutions: Array) -> Array:
    """The grids uint8[B, cells] of solutions uint32[solution_words, B]."""
    return Bands(plan.board).decode(solutions)


class Popped(NamedTuple):
    """Nodes after the rules.

    Attributes:
      first: uint32[solution_words, B], the first words of nodes, or a solution in place of a solved node.
      last: uint32[node_words - solution_words, B], the other words.
      outcomes: uint32[1, B], those of ``Bands.settle``.
    """

    first: Array
    last: Array
    outcomes: Array


def pop(plan: StackPlan, columns: Array, base: Array, popped: Array) -> tuple[Popped, Array]:
    """Settled nodes from a column on, with their literals, and their tags; see ``plane_nodes.pop``."""
    forms = {"cpu": functools.partial(_by_xla, plan), "cuda": functools.partial(by_kernel, plan)}
    *nodes, tags = lax.platform_dependent(columns, base, popped, **forms)
    return Popped(*nodes), tags


def settle(
    plan: StackPlan, nodes: Popped, seed: Array | None, live: Array, guidable: Array | None, clues: None = None
) -> Settled:
    """The results of ``pop`` as ``Settled``, for the lanes ``live`` bool[B]; see ``plane_nodes.settle``."""
    del plan, seed, guidable, clues
    (outcome,) = nodes.outcomes
    branching = live & (outcome == 0)
    unfinished = branching | (live & (outcome == CHANGING))
    solved, unfinished, branching = (pack_lanes(lanes) for lanes in (live & (outcome == SOLVED), unfinished, branching))
    return Settled([nodes.first, nodes.last], nodes.first, solved, unfinished, branching, jnp.zeros_like(solved))


def children(plan: StackPlan, parts: list[Array], take: Array) -> list[Array]:
    """The nodes in parts, with their literals flagged to be taken in the lanes ``take`` bool[B]."""
    del plan
    first, last = parts
    return [first, last[:-1], last[-1:] ^ jnp.where(take, TAKE, np.uint32(0))]


# ---------------------------------------------------------------------- a block of nodes


def _node(plan: StackPlan, bands: Bands, column: Sequence[Any]) -> list[Any]:
    """Settles the node in a column of the stack; returns its words of ``Popped`` and its tags."""
    *words, literal = column[: bands.words + 1]
    tags = column[bands.words + 1 :]
    words, outcome = bands.settle(words, literal, plan.config.rounds)
    literal = jnp.where(outcome == 0, bands.choose(words, tags[1] if len(tags) > 1 else None), NO_LITERAL)
    solution = bands.solution(words)
    first = [jnp.where(outcome == SOLVED, one, word) for one, word in zip(solution, words, strict=False)]
    return [*first, *words[len(first) :], literal, outcome, *tags]


def _heights(bands: Bands, columns: Array) -> tuple[int, ...]:
    """Numbers of rows of the parts of ``Popped`` and of the tags."""
    return bands.solution_words, bands.words + 1 - bands.solution_words, 1, columns.shape[0] - bands.words - 1


def _by_xla(plan: StackPlan, columns: Array, base: Array, popped: Array) -> tuple[Array, ...]:
    """``by_kernel`` as XLA operations, computed for all lanes."""
    del popped
    bands = Bands(plan.board, share=fence)
    block = lax.dynamic_slice(columns, (jnp.int32(0), base), (columns.shape[0], plan.lanes))
    rows = jnp.stack(fence(_node(plan, bands, list(block))))
    return tuple(fence(jnp.split(rows, np.cumsum(_heights(bands, columns))[:-1])))


def by_kernel(plan: StackPlan, columns: Array, base: Array, popped: Array, interpret: Any = None) -> tuple[Array, ...]:
    """Takes nodes from the stack, applies the rules and chooses literals, in one kernel.

    Args:
      plan: the static arguments.
      columns: uint32[node_words + k, size], the stack.
      base: int32, the column of the first node.
      popped: int32, the number of nodes, at most the plan's lanes. Results of other lanes are undefined.
      interpret: ``InterpretGPUParams`` to run without a GPU; None to compile.

    Returns:
      the parts of ``Popped``, and the tags uint32[k, lanes].
    """
    bands, lanes = Bands(plan.board), plan.lanes + -plan.lanes % _THREADS
    heights = _heights(bands, columns)

    def kernel(columns: Any, bounds: Any, *results: Any) -> None:
        start = lax.axis_index("block") * _THREADS

        @pl.when(start < bounds[1])
        def _() -> None:
            source, target = pl.ds(bounds[0] + start, _THREADS), pl.ds(start, _THREADS)
            node = iter(_node(plan, bands, [columns[row, source] for row in range(columns.shape[0])]))
            for result, height in zip(results, heights, strict=True):
                for row in range(height):
                    result[row, target] = next(node)

    results = plgpu.kernel(
        kernel,
        out_type=tuple(like(columns, (height, lanes)) for height in heights),
        grid=(lanes // _THREADS,),
        grid_names=("block",),
        # threads read nothing that other threads write
        compiler_params=plgpu.CompilerParams(
            unsafe_no_auto_barriers=True, lowering_semantics=plgpu.LoweringSemantics.Lane
        ),
        interpret=interpret,
    )(columns, jnp.stack([base, popped]))
    return tuple(vary_as(columns, result[:, : plan.lanes]) for result in results)
