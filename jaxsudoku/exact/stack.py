"""Exact search: one stack of nodes for the whole batch.

All puzzles share one stack of nodes. At every step a block of lanes takes the top nodes, runs the rules on them, and
pushes what is still open. So every lane is used at every step, and a hard puzzle spreads over all lanes:

1. pop the top nodes, drop those of decided puzzles, and run a few rounds of the rules;
2. classify each lane: contradictory (dropped), solved (stored and counted), undecided (the rules still make progress:
   pushed as it is), or open;
3. branch on one candidate of a cell with fewest in each open lane: one child takes it, the other excludes it.

At first the stack holds the root nodes of all puzzles. If puzzles already begun have fewer nodes than there are lanes,
the block extends down to the roots and so begins the next puzzles. The encoding of nodes, the rules on them and their
branching are in ``plane_nodes`` and, for GPUs, in ``band_nodes``.

The stack cannot overflow: the fuller it is above the roots, the fewer nodes are popped. With one node a step the search
is depth-first and adds no more nodes than a puzzle has candidates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.constraints.pruning import clues_of_lanes
from jaxsudoku.core.indexing import take_columns, take_values
from jaxsudoku.core.planes import pack_lanes, pad_grids, rank_lanes, unpack_lanes
from jaxsudoku.exact import plane_nodes
from jaxsudoku.exact.plan import SearchResult, StackPlan, verdict
from jaxsudoku.runtime.operations import cpu_fence, fence
from jaxsudoku.runtime.random import mix
from jaxsudoku.runtime.sharding import vary_as

_State = TypeVar("_State")


class _Stack(NamedTuple):
    """Nodes from the bottom up, the roots of all puzzles first; columns from ``top`` on are undefined.

    Attributes:
      columns: uint32[node_words + 1 or 2, size], the words of each node, its puzzle and, in a random order, its seed.
      top: int32, number of nodes.
    """

    columns: Array
    top: Array


class _Found(NamedTuple):
    """Results so far for N puzzles.

    Attributes:
      solutions: int32[N], solutions found (``limit`` from the start for invalid givens, so that they are not visited).
      iterations: int32[N], nodes visited.
      branches: int32[N], nodes branched on; int32[0] if they are not counted.
      spent: bool[N], whether a node was dropped because the budget was spent.
      winner: int32[N], the lane whose solution is kept, among those that solved the puzzle in one step.
      place: int32[N], the column of ``solved`` with the first solution; None if that is the puzzle's number.
      solved: uint32[solution_words, N], first solutions; with places N + lanes, in the order they were found.
      used: int32, with places the number of solutions in ``solved``.
    """

    solutions: Array
    iterations: Array
    branches: Array
    spent: Array
    winner: Array
    place: Array | None
    solved: Array
    used: Array


def _form(plan: StackPlan) -> Any:
    """The module that implements the nodes of a plan: ``plane_nodes`` or ``band_nodes``."""
    if plan.config.settle == "bands":
        from jaxsudoku.exact import band_nodes  # loads Pallas

        return band_nodes
    return plane_nodes


def search(
    plan: StackPlan, puzzles: Array, seeds: Array | None, excluded: Array | None, clues: Clues | None = None
) -> tuple[SearchResult, Array]:
    """Searches puzzles uint8[N, cells].

    Args:
      plan: the static arguments.
      puzzles: uint8[N, cells].
      seeds: uint32[N], a seed for each puzzle's random order, 0 for the fixed order; None for the fixed order in all.
      excluded: uint8[N, cells], a digit that an empty cell may not take, 0 for none; or bool[N, side, cells], several;
        None for none at all.
      clues: the clues of the N puzzles; None for none.

    Returns:
      the ``SearchResult``; and int32[N], the number of nodes for which the plan's ``branch`` chose the literal,
      int32[0] without a ``branch``.
    """
    size = puzzles.shape[0]
    padded, active = pad_grids(puzzles, plan.board, plan.lanes)
    padding = len(padded) - size
    padded_excluded = None if excluded is None else jnp.pad(excluded, ((0, padding), *[(0, 0)] * (excluded.ndim - 1)))
    columns, invalid = _make_roots(plan, padded, seeds, padded_excluded, active)
    form, count = _form(plan), size + padding
    found = _Found(
        solutions=jnp.where(invalid, plan.limit, 0).astype(jnp.int32),
        iterations=jnp.zeros(count, jnp.int32),
        branches=jnp.zeros(0 if plan.branch is None else count, jnp.int32),
        spent=jnp.zeros(count, bool),
        winner=jnp.zeros(count, jnp.int32),
        place=None if form.AT_ONCE else jnp.zeros(count, jnp.int32),
        solved=lax.empty((form.solution_words(plan), count + (0 if form.AT_ONCE else plan.lanes)), jnp.uint32),
        used=jnp.int32(0),
    )
    _, found = lax.while_loop(
        lambda state: state[0].top > 0,
        lambda state: _step(plan, active, clues, *state),
        vary_as(puzzles, (_Stack(columns, active), found)),
    )
    status, counts = verdict(plan, invalid, found.solutions, found.spent)
    grids = _solution_grids(plan, found._replace(solutions=counts), active)
    results = SearchResult(*(part[:size] for part in (grids, status, counts, found.iterations)))
    return results, found.branches[:size]


# ---------------------------------------------------------------------- roots


def _make_roots(
    plan: StackPlan, puzzles: Array, seeds: Array | None, excluded: Array | None, active: Array
) -> tuple[Array, Array]:
    """Fills the stack's columns with the root nodes of puzzles uint8[N, cells]; N is a multiple of the lanes.

    Puzzles from ``active`` on are padding and get no nodes.

    Returns:
      the columns uint32[words, N + room], and bool[N], which puzzles are invalid.
    """
    form, size = _form(plan), puzzles.shape[0]
    own_seeds = None if seeds is None else jnp.pad(seeds, (0, size - seeds.shape[0]))

    def block(start: Array, width: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        columns, invalid = state
        part = lax.dynamic_slice_in_dim(puzzles, start, width)
        excluded_part = None if excluded is None else lax.dynamic_slice_in_dim(excluded, start, width)
        nodes, wrong = form.roots(plan, part, excluded_part)
        parts = [nodes, (start + _lane_numbers(width)).astype(jnp.uint32)[None]]
        if own_seeds is not None:
            parts.append(lax.dynamic_slice(own_seeds, (start,), (width,))[None])
        return _write_parts(columns, parts, start), lax.dynamic_update_slice(invalid, wrong, (start,))

    words = form.node_words(plan) + (1 if seeds is None else 2)
    state = vary_as(puzzles, (lax.empty((words, size + plan.room), jnp.uint32), jnp.ones(size, bool)))
    return _by_blocks(plan, active, size, block, state)


def _solution_grids(plan: StackPlan, found: _Found, active: Array) -> Array:
    """The grids uint8[N, cells] of the first solutions, zeros where there is none and from ``active`` on."""

    def block(start: Array, width: int, grids: Array) -> Array:
        if found.place is None:
            solutions = lax.dynamic_slice_in_dim(found.solved, start, width, axis=1)
        else:
            (solutions,) = take_columns([found.solved], lax.dynamic_slice(found.place, (start,), (width,)))
        has_solution = lax.dynamic_slice(found.solutions, (start,), (width,)) > 0
        part = jnp.where(has_solution[:, None], _form(plan).decode(plan, solutions), 0)
        return lax.dynamic_update_slice_in_dim(grids, part, start, axis=0)

    size = found.solutions.shape[0]
    grids = vary_as(found.solutions, jnp.zeros((size, plan.board.cells), jnp.uint8))
    return _by_blocks(plan, active, size, block, grids)


def _by_blocks(
    plan: StackPlan, active: Array, size: int, block: Callable[[Array, int, _State], _State], state: _State
) -> _State:
    """Loops over blocks of puzzles below ``active``: ``block(first, number of puzzles, state)`` returns the state."""
    if _form(plan).AT_ONCE:
        return block(jnp.int32(0), size, state)
    return lax.fori_loop(
        0, -(-active // plan.lanes), lambda number, state: block(number * plan.lanes, plan.lanes, state), state
    )


# ---------------------------------------------------------------------- columns of the stack


def _write_parts(columns: Array, parts: Sequence[Array], start: Array) -> Array:
    """Writes parts uint32[m, B], stacked along the rows, to the columns from ``start`` on."""

    def one_by_one(columns: Array, *parts: Array) -> Array:
        row = 0
        for part in parts:
            columns = lax.dynamic_update_slice(columns, part, (jnp.int32(row), start))
            row += part.shape[0]
        return columns

    def together(columns: Array, *parts: Array) -> Array:
        return lax.dynamic_update_slice(columns, jnp.concatenate(parts), (jnp.int32(0), start))

    return lax.platform_dependent(columns, *parts, cpu=one_by_one, default=together)


# ---------------------------------------------------------------------- a step


def _step(plan: StackPlan, active: Array, clues: Clues | None, stack: _Stack, found: _Found) -> tuple[_Stack, _Found]:
    """Pops a block of nodes, applies the rules, stores solutions and pushes the children."""
    lanes = plan.lanes
    no_puzzle = found.solutions.shape[0]  # out of range: dropped by scatters

    # each node leaves a sibling on the stack at every level of its descent, so a fuller stack gets fewer nodes popped
    room = jnp.maximum((active + plan.capacity - stack.top) // plan.board.side, 1)
    popped = jnp.minimum(stack.top, jnp.minimum(lanes, room))
    base = stack.top - popped
    form = _form(plan)
    nodes, tags = form.pop(plan, stack.columns, base, popped)
    owner = jnp.where(_lane_numbers(lanes) < popped, tags[0].astype(jnp.int32), no_puzzle)
    seed = tags[1] if len(tags) > 1 else None
    solutions = take_values(found.solutions, owner, plan.limit)
    live = solutions < plan.limit
    if plan.config.budget is not None:
        left = plan.config.budget - found.iterations
        spent = live & (take_values(left, owner, 1) < 1)
        found = found._replace(spent=found.spent.at[jnp.where(spent, owner, no_puzzle)].set(True, mode="drop"))
        live = live & ~spent

    guidable = None  # the lanes where ``branch`` may choose
    if plan.guided_branches is not None:
        guidable = take_values(found.branches, owner, 0) < plan.guided_branches
    own = None if clues is None else clues_of_lanes(clues, owner)
    settled = form.settle(plan, nodes, seed, live, guidable, own)
    unfinished, branching = settled.unfinished, settled.branching
    found, wins = _winners(found, owner, solutions, settled.solved)
    ranked = [branching, unfinished] if form.AT_ONCE else [branching, unfinished, pack_lanes(wins)]
    ranks, counts = rank_lanes(jnp.stack(ranked))
    nowhere, twice = len(ranked) * lanes, 2 * _lane_numbers(lanes)
    columns = [
        (jnp.where(unpack_lanes(branching), ranks[0], nowhere), twice),
        (jnp.where(unpack_lanes(unfinished), counts[0] + ranks[1], nowhere), twice + 1),
    ]
    if not form.AT_ONCE:
        columns.append((jnp.where(wins, 2 * lanes + ranks[2], nowhere), twice))
    source = _scattered(nowhere, columns)
    children, total = source[: 2 * lanes], counts[0] + counts[1]
    stack = _push(plan, stack, base, children, total, settled.nodes, _tags(owner, seed, branching))

    visited = jnp.where(live & ~unpack_lanes(unfinished & ~branching), owner, no_puzzle)
    found = found._replace(iterations=found.iterations.at[visited].add(1, mode="drop"))
    if plan.branch is not None:
        branched = jnp.where(unpack_lanes(settled.guided), owner, no_puzzle)
        found = found._replace(branches=found.branches.at[branched].add(1, mode="drop"))
    puzzle = jnp.where(wins, owner, no_puzzle)
    if form.AT_ONCE:
        return stack, _store_by_puzzle(found, settled.solutions, puzzle)
    return stack, _store_in_order(plan, found, settled.solutions, puzzle, ranks[2], source[2 * lanes :] >> 1, counts[2])


def _winners(found: _Found, owner: Array, solutions: Array, solved: Array) -> tuple[_Found, Array]:
    """Counts solutions of the solved lanes uint32[W]; marks one winning lane per newly solved puzzle, bool[B].

    ``solutions`` int32[B] are the numbers of solutions found before for each lane's puzzle.
    """
    lane = _lane_numbers(owner.shape[0])
    is_solved = unpack_lanes(solved)
    solver_of = jnp.where(is_solved, owner, found.solutions.shape[0])
    winner = found.winner.at[solver_of].set(lane, mode="drop")
    wins = is_solved & (solutions == 0) & (take_values(winner, owner, -1) == lane)
    counted = found.solutions.at[solver_of].add(1, mode="drop")
    return found._replace(solutions=counted, winner=winner), wins


def _store_by_puzzle(found: _Found, solutions: Array, puzzle: Array) -> _Found:
    """Stores the solutions uint32[solution_words, B] of the puzzles int32[B]; a puzzle number N is skipped."""
    words, size = found.solved.shape
    index = jnp.where(puzzle < size, puzzle + size * np.arange(words, dtype=np.int32)[:, None], words * size)
    flat, new = found.solved.reshape(-1), solutions.reshape(-1)
    flat = flat.at[index.reshape(-1)].set(new, mode="drop", unique_indices=True)
    return found._replace(solved=flat.reshape(words, size))


def _store_in_order(
    plan: StackPlan, found: _Found, solutions: Array, puzzle: Array, rank: Array, source: Array, total: Array
) -> _Found:
    """Appends the solutions of the first ``total`` of the lanes ``source`` int32[B]; ``rank`` numbers the lanes."""
    assert found.place is not None
    place = found.place.at[puzzle].set(found.used + rank, mode="drop")

    def put(number: int | Array, solved: Array, width: int) -> Array:
        (block,) = take_columns([solutions], lax.dynamic_slice(source, (number * width,), (width,)))
        return lax.dynamic_update_slice_in_dim(solved, block, found.used + number * width, axis=1)

    def few_at_a_time(solved: Array) -> Array:
        width = plan.store_block
        return lax.fori_loop(0, -(-total // width), lambda number, solved: put(number, solved, width), solved)

    def at_once(solved: Array) -> Array:
        return put(0, solved, plan.lanes)

    solved = lax.platform_dependent(found.solved, cpu=few_at_a_time, default=at_once)
    return found._replace(solved=solved, place=place, used=found.used + total)


def _tags(owner: Array, seed: Array | None, branching: Array) -> list[Array]:
    """The tags of the lanes' children: their puzzle uint32[1, B], and two rows of seeds in a random order."""
    tags = [owner.astype(jnp.uint32)[None]]
    if seed is not None:
        renewed = unpack_lanes(branching) & (seed != 0)
        tags.append(jnp.stack([jnp.where(renewed, mix(seed + np.uint32(child)), seed) for child in (2, 1)]))
    return tags


def _push(
    plan: StackPlan, stack: _Stack, base: Array, source: Array, total: Array, nodes: list[Array], tags: list[Array]
) -> _Stack:
    """Pushes the first ``total`` children of ``source`` int32[2 B] from ``base`` on.

    The source of a child is 2 * lane + t, with t = 1 if it takes the literal. A lane that does not branch has one
    child, with t = 1: the same node again. ``nodes`` are the lanes' nodes in parts, ``tags`` their ``_tags``.
    """
    lanes = plan.lanes

    def write(columns: Array, first: int, width: int) -> Array:
        part = source[first : first + width]
        lane, takes = cpu_fence((part >> 1, (part & 1) == 1))
        taken = take_columns([*nodes, *tags], lane)
        # of two rows of seeds, the second is for children that take the literal
        parts = [
            *_form(plan).children(plan, taken[: len(nodes)], takes),
            *(jnp.where(takes, tag[-1], tag[0])[None] for tag in taken[len(nodes) :]),
        ]
        return _write_parts(columns, parts, base + first)

    def by_quarters(columns: Array) -> Array:
        quarter = lanes // 2
        for first in range(0, 2 * lanes, quarter):
            columns = lax.cond(
                total > first, functools.partial(write, first=first, width=quarter), lambda columns: columns, columns
            )
        return columns

    def at_once(columns: Array) -> Array:
        return write(columns, 0, 2 * lanes)

    # on an accelerator a condition costs more than writing unused columns
    columns = lax.platform_dependent(stack.columns, cpu=by_quarters, default=at_once)
    return _Stack(columns, base + total)


def _lane_numbers(lanes: int) -> Array:
    return jnp.arange(lanes, dtype=jnp.int32)


def _scattered(size: int, parts: Sequence[tuple[Array, Array]]) -> Array:
    """Scatters the (positions int32[B], values int32[B]) of each part to int32[size] zeros; drops position ``size``."""
    position, value = (jnp.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return fence(jnp.zeros(size + 1, jnp.int32).at[position].set(value, mode="promise_in_bounds"))[:size]
