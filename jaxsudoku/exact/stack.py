"""Exact search: one stack of nodes for the whole batch.

All puzzles share one stack of nodes. At every step a block of lanes takes the top nodes, runs the rules on them, and
pushes what is still open. So every lane is used at every step, and a hard puzzle spreads over all lanes:

1. pop the top nodes, drop those of decided puzzles, and run a few rounds of the rules;
2. classify each lane: contradictory (dropped), solved (stored and counted), undecided (the rules still make progress:
   pushed as it is), or open;
3. branch on one candidate of a cell with fewest in each open lane: one child takes it, the other excludes it.

At first the stack holds the root nodes of all puzzles. A block with fewer nodes of puzzles that were begun than lanes
reaches down to the roots, and so begins the next puzzles.

A node on the stack is its parent's candidates and a pending literal: a cell and the digits to exclude there, which are
the chosen one, or all others. So both children share one row of candidates, and one transposition converts candidates
and literal, a bit for each digit, row and column, to planes.

The stack cannot overflow: the fuller it is above the roots, the fewer nodes are popped. With one node a step the search
is depth-first and adds no more nodes than a puzzle has candidates.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.branching import Branch, choose, random_planes
from jaxsudoku.core.indexing import take_columns, take_values
from jaxsudoku.core.planes import (
    GROUP,
    cubes_to_planes,
    grids_to_planes,
    group_axes,
    nodes_to_planes,
    pack_lanes,
    pad_grids,
    planes_to_grids,
    planes_to_words,
    rank_lanes,
    unpack_lanes,
    where,
    words_to_planes,
)
from jaxsudoku.core.propagation import invalid_givens, outcome, sweep_rounds
from jaxsudoku.exact.plan import Plan, SearchResult, verdict
from jaxsudoku.runtime.operations import cpu_fence, fence
from jaxsudoku.runtime.random import mix
from jaxsudoku.runtime.sharding import vary_as


@dataclasses.dataclass(frozen=True)
class StackPlan(Plan):
    """The static arguments of a search without restarts.

    Attributes:
      branch: chooses the literals to branch on; None for ``branching.choose``.
      guided_branches: most nodes of a puzzle for which ``branch`` chooses, checked between steps; then ``choose`` does.
        None for no limit.
    """

    branch: Branch | None = None
    guided_branches: int | None = None

    @property
    def node_words(self) -> int:
        """Words of a node: the candidates, then a literal's digits, row and column."""
        return -(-(self.board.candidates + 3 * self.board.side) // GROUP)

    @property
    def groups(self) -> tuple[int, ...]:
        """The shape in which planes hold the words of the lanes."""
        return group_axes(self.lanes // GROUP)

    @property
    def store_block(self) -> int:
        """Solved nodes that a CPU stores at a time: a small part of a block, as in most steps few lanes are solved."""
        return max(self.lanes // 16, GROUP)

    @property
    def capacity(self) -> int:
        """With this many nodes above the roots a step pops only one. There is room for a whole block to descend."""
        return max(3 * self.board.side * self.lanes, 1 << 16)

    @property
    def room(self) -> int:
        """Columns above the roots: the capacity, a depth-first descent from it, and the two blocks of a step."""
        return self.capacity + self.board.candidates + 2 * self.lanes


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
      place: int32[N], the column of ``solved`` with the first solution.
      solved: uint32[words, N + lanes], nodes of first solutions, in the order they were found.
      used: int32, number of nodes in ``solved``.
    """

    solutions: Array
    iterations: Array
    branches: Array
    spent: Array
    winner: Array
    place: Array
    solved: Array
    used: Array


def search(plan: StackPlan, puzzles: Array, seeds: Array | None, excluded: Array | None) -> tuple[SearchResult, Array]:
    """Searches puzzles uint8[N, cells].

    Args:
      plan: the static arguments.
      puzzles: uint8[N, cells].
      seeds: uint32[N], a seed for each puzzle's random order, 0 for the fixed order; None for the fixed order in all.
      excluded: uint8[N, cells], a digit that an empty cell may not take, 0 for none; or bool[N, side, cells], several;
        None for none at all.

    Returns:
      the ``SearchResult``; and int32[N], the nodes for which the plan's ``branch`` chose a literal, int32[0] without
      one.
    """
    board, size = plan.board, puzzles.shape[0]
    padded, active = pad_grids(puzzles, board, plan.lanes)
    padding = len(padded) - size
    padded_excluded = None if excluded is None else jnp.pad(excluded, ((0, padding), *[(0, 0)] * (excluded.ndim - 1)))
    columns, invalid = _make_roots(plan, padded, seeds, padded_excluded, active)
    found = _Found(
        solutions=jnp.where(invalid, plan.limit, 0).astype(jnp.int32),
        iterations=jnp.zeros(size + padding, jnp.int32),
        branches=jnp.zeros(0 if plan.branch is None else size + padding, jnp.int32),
        spent=jnp.zeros(size + padding, bool),
        winner=jnp.zeros(size + padding, jnp.int32),
        place=jnp.zeros(size + padding, jnp.int32),
        solved=jnp.zeros((board.words, size + padding + plan.lanes), jnp.uint32),
        used=jnp.int32(0),
    )
    _, found = lax.while_loop(
        lambda state: state[0].top > 0,
        lambda state: _step(plan, active, *state),
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
    """The stack's columns with the root nodes of puzzles uint8[N, cells], N a multiple of the lanes.

    Puzzles from ``active`` on have none.

    Returns:
      the columns uint32[words, N + room], and bool[N], which puzzles are invalid.
    """
    board, lanes = plan.board, plan.lanes
    size = puzzles.shape[0]

    own_seeds = None if seeds is None else jnp.pad(seeds, (0, size - seeds.shape[0]))

    def block(number: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        columns, invalid = state
        start = number * lanes
        givens = grids_to_planes(lax.dynamic_slice_in_dim(puzzles, start, lanes), board, plan.groups)
        wrong = invalid_givens(givens, board).reshape(-1)
        candidates = givens.candidates
        if excluded is not None:
            removed = _excluded_planes(plan, lax.dynamic_slice_in_dim(excluded, start, lanes))
            candidates = candidates & ~(removed & givens.empty[None])
        literal = jnp.zeros((3 * board.side, *plan.groups), jnp.uint32)
        parts = [
            _make_nodes(board, fence(candidates), literal),
            (start + _lane_numbers(lanes)).astype(jnp.uint32)[None],
        ]
        if own_seeds is not None:
            parts.append(lax.dynamic_slice(own_seeds, (start,), (lanes,))[None])
        return _write_parts(columns, parts, start), lax.dynamic_update_slice(invalid, unpack_lanes(wrong), (start,))

    words = plan.node_words + (1 if seeds is None else 2)
    empty = vary_as(puzzles, (jnp.zeros((words, size + plan.room), jnp.uint32), jnp.ones(size, bool)))
    return lax.fori_loop(0, -(-active // lanes), block, empty)


def _excluded_planes(plan: StackPlan, excluded: Array) -> Array:
    """Excluded digits, uint8[lanes, cells] or bool[lanes, side, cells], as planes."""
    if excluded.ndim == 2:
        return grids_to_planes(excluded, plan.board, plan.groups).digits
    planes = cubes_to_planes(excluded, plan.board)
    return planes.reshape(*planes.shape[:-1], *plan.groups)


def _solution_grids(plan: StackPlan, found: _Found, active: Array) -> Array:
    """The grids uint8[N, cells] of the first solutions, zeros where there is none and from ``active`` on."""

    def block(number: Array, grids: Array) -> Array:
        start = number * plan.lanes
        place = lax.dynamic_slice(found.place, (start,), (plan.lanes,))
        has_solution = lax.dynamic_slice(found.solutions, (start,), (plan.lanes,)) > 0
        (nodes,) = take_columns([found.solved], place)
        part = planes_to_grids(nodes_to_planes(nodes, plan.board, plan.groups), plan.board)
        return lax.dynamic_update_slice_in_dim(grids, jnp.where(has_solution[:, None], part, 0), start, axis=0)

    grids = vary_as(found.place, jnp.zeros((found.place.shape[0], plan.board.cells), jnp.uint8))
    return lax.fori_loop(0, -(-active // plan.lanes), block, grids)


# ---------------------------------------------------------------------- rows of candidates and a pending literal


def _make_nodes(board: Board, planes: Array, literal: Array) -> Array:
    """Nodes uint32[node_words, B] of candidate planes and a literal to exclude, uint32[3 side, *W], or none."""
    groups = literal.shape[1:]
    parts = [planes.reshape(board.candidates, *groups), literal]
    unused = -sum(part.shape[0] for part in parts) % GROUP
    return planes_to_words(cpu_fence(jnp.concatenate([*parts, jnp.zeros((unused, *groups), jnp.uint32)])))


def _read_nodes(plan: StackPlan, nodes: Array) -> Array:
    """The candidate planes of nodes uint32[node_words, B], without those that the pending literal excludes."""
    board, side = plan.board, plan.board.side
    planes = words_to_planes(nodes, plan.groups)
    candidates = planes[: board.candidates].reshape(side, side, side, *plan.groups)
    digits, row, column = planes[board.candidates : board.candidates + 3 * side].reshape(3, side, *plan.groups)
    cell = cpu_fence(row[:, None] & column[None])
    return fence(candidates & ~(digits[:, None, None] & cell[None]))


def _taking(board: Board, nodes: Array, take: Array) -> list[Array]:
    """The nodes, in the lanes ``take`` bool[B] excluding the other digits of the cell in place of the literal's.

    In parts, the words that are as they were and the others.
    """
    first = board.candidates // GROUP
    bits = range(board.candidates - first * GROUP, board.candidates - first * GROUP + board.side)
    masks = [sum(1 << bit % GROUP for bit in bits if bit // GROUP == word) for word in range(nodes.shape[0] - first)]
    flips = jnp.where(take, np.array(masks, np.uint32)[:, None], np.uint32(0))
    return [nodes[:first], nodes[first:] ^ flips]


# ---------------------------------------------------------------------- columns of the stack


def _read_columns(plan: StackPlan, columns: Array, base: Array) -> tuple[Array, Array, Array | None]:
    """A block from column ``base`` on: nodes uint32[node_words, B], owner int32[B], seed uint32[B] or None."""

    def rows(first: int, height: int) -> Array:
        return lax.dynamic_slice(columns, (jnp.int32(first), base), (height, plan.lanes))

    seed = rows(plan.node_words + 1, 1)[0] if columns.shape[0] > plan.node_words + 1 else None
    return rows(0, plan.node_words), rows(plan.node_words, 1)[0].astype(jnp.int32), seed


def _write_parts(columns: Array, parts: Sequence[Array], start: Array) -> Array:
    """The columns from ``start`` on replaced by parts uint32[m, B], which lie on one another."""

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


def _step(plan: StackPlan, active: Array, stack: _Stack, found: _Found) -> tuple[_Stack, _Found]:
    """Pops a block of nodes, applies the rules, stores the solved ones and pushes what is left."""
    board, lanes = plan.board, plan.lanes
    no_puzzle = found.solutions.shape[0]  # out of range: dropped by scatters

    # each node leaves a sibling on the stack at every level of its descent, so a fuller stack gets fewer nodes popped
    room = jnp.maximum((active + plan.capacity - stack.top) // board.side, 1)
    popped = jnp.minimum(stack.top, jnp.minimum(lanes, room))
    base = stack.top - popped
    nodes, owner, seed = _read_columns(plan, stack.columns, base)
    owner = jnp.where(_lane_numbers(lanes) < popped, owner, no_puzzle)
    solutions = take_values(found.solutions, owner, plan.limit)
    live = solutions < plan.limit
    if plan.config.budget is not None:
        left = plan.config.budget - found.iterations
        spent = live & (take_values(left, owner, 1) < 1)
        found = found._replace(spent=found.spent.at[jnp.where(spent, owner, no_puzzle)].set(True, mode="drop"))
        live = live & ~spent

    planes = _read_nodes(plan, nodes)
    planes, changed = _rounds_by(plan.config.settle)(planes, board, plan.config.rules, plan.config.rounds)
    contradictory, solved = outcome(planes, board)
    live_plane = pack_lanes(live).reshape(plan.groups)
    solved = live_plane & solved
    unfinished, branching = fence(
        (live_plane & ~contradictory & ~solved, live_plane & ~contradictory & ~solved & ~changed)
    )

    guided = branching  # the lanes where ``branch`` chooses
    if plan.guided_branches is not None:
        guided &= pack_lanes(take_values(found.branches, owner, 0) < plan.guided_branches).reshape(plan.groups)
    literal = _literal(plan, planes, seed, branching, guided) & branching
    nodes = _make_nodes(board, planes, literal)
    # from here on lane by lane
    branching, unfinished, solved = (plane.reshape(-1) for plane in (branching, unfinished, solved))
    found, wins = _winners(found, owner, solutions, solved)
    ranks, counts = rank_lanes(jnp.stack([branching, unfinished, pack_lanes(wins)]))
    excluding = jnp.where(unpack_lanes(branching), ranks[0], 3 * lanes)
    taking = jnp.where(unpack_lanes(unfinished), counts[0] + ranks[1], 3 * lanes)
    storing = jnp.where(wins, 2 * lanes + ranks[2], 3 * lanes)
    source = _sources(lanes, excluding, taking, storing)
    place = jnp.where(wins, found.used + ranks[2], 0)
    stack = _push(
        plan, stack, base, source[: 2 * lanes], counts[0] + counts[1], [nodes, *_tags(owner, seed, branching)]
    )

    visited = jnp.where(live & ~unpack_lanes(unfinished & ~branching), owner, no_puzzle)
    found = found._replace(iterations=found.iterations.at[visited].add(1, mode="drop"))
    if plan.branch is not None:
        branched = jnp.where(unpack_lanes(guided.reshape(-1)), owner, no_puzzle)
        found = found._replace(branches=found.branches.at[branched].add(1, mode="drop"))
    found = _store(plan, found, nodes, source[2 * lanes :] >> 1, counts[2])
    return stack, found._replace(place=found.place.at[jnp.where(wins, owner, no_puzzle)].set(place, mode="drop"))


def _rounds_by(settle: str) -> Callable[[Array, Board, str, int], tuple[Array, Array]]:
    """``sweep_rounds`` of ``propagation`` or of ``fused``."""
    if settle != "pallas":
        return sweep_rounds
    from jaxsudoku.core import pallas_sweep as fused  # loads Pallas

    return fused.sweep_rounds


def _literal(plan: StackPlan, planes: Array, seed: Array | None, branching: Array, guided: Array) -> Array:
    """The literal to branch on, uint32[3 side, *W], where ``branching`` uint32[*W] is set; elsewhere undefined.

    ``guided`` uint32[*W] are the lanes among them where ``plan.branch``, if there is one, chooses it.
    """
    board = plan.board
    if plan.branch is None:
        preferred = None if seed is None else random_planes(board, seed).reshape(3, board.side, *plan.groups)
        return choose(board, planes, preferred)
    by_branch = functools.partial(plan.branch, board)
    flat = guided.reshape(-1)
    given = planes.reshape(*planes.shape[:3], -1), flat
    if plan.guided_branches is None:
        literal = by_branch(*given)
    else:  # once all puzzles are past the limit, nothing is evaluated for them
        shape = jax.eval_shape(by_branch, *given)
        nothing = jnp.zeros(shape.shape, shape.dtype)
        literal = lax.cond((flat != 0).any(), by_branch, lambda planes, guided: nothing, *given)
    if literal.shape != (3 * board.side, flat.shape[0]) or literal.dtype != jnp.uint32:
        raise ValueError(
            f"branch returned {literal.dtype}{list(literal.shape)}; it must return "
            f"uint32[{3 * board.side}, {flat.shape[0]}]"
        )
    literal = fence(literal).reshape(-1, *plan.groups)
    return literal if plan.guided_branches is None else where(guided, literal, choose(board, planes, None))


def _winners(found: _Found, owner: Array, solutions: Array, solved: Array) -> tuple[_Found, Array]:
    """Counts the solved lanes uint32[W]; of those that hold the first solution of a puzzle chooses one, bool[B].

    ``solutions`` int32[B] are those found before, of the puzzle of each lane.
    """
    lane = _lane_numbers(owner.shape[0])
    is_solved = unpack_lanes(solved)
    solver_of = jnp.where(is_solved, owner, found.solutions.shape[0])
    winner = found.winner.at[solver_of].set(lane, mode="drop")
    wins = is_solved & (solutions == 0) & (take_values(winner, owner, -1) == lane)
    counted = found.solutions.at[solver_of].add(1, mode="drop")
    return found._replace(solutions=counted, winner=winner), wins


def _store(plan: StackPlan, found: _Found, nodes: Array, source: Array, total: Array) -> _Found:
    """Stores the first ``total`` of the lanes ``source`` int32[B]."""
    nodes = nodes[: plan.board.words]

    def put(number: int | Array, solved: Array, width: int) -> Array:
        (block,) = take_columns([nodes], lax.dynamic_slice(source, (number * width,), (width,)))
        return lax.dynamic_update_slice_in_dim(solved, block, found.used + number * width, axis=1)

    def few_at_a_time(solved: Array) -> Array:
        width = plan.store_block
        return lax.fori_loop(0, -(-total // width), lambda number, solved: put(number, solved, width), solved)

    def at_once(solved: Array) -> Array:
        return put(0, solved, plan.lanes)

    solved = lax.platform_dependent(found.solved, cpu=few_at_a_time, default=at_once)
    return found._replace(solved=solved, used=found.used + total)


def _tags(owner: Array, seed: Array | None, branching: Array) -> list[Array]:
    """What the children of the lanes have besides nodes: their puzzle uint32[1, B], and two rows of seeds if any."""
    tags = [owner.astype(jnp.uint32)[None]]
    if seed is not None:
        renewed = unpack_lanes(branching) & (seed != 0)
        tags.append(jnp.stack([jnp.where(renewed, mix(seed + np.uint32(child)), seed) for child in (2, 1)]))
    return tags


def _push(plan: StackPlan, stack: _Stack, base: Array, source: Array, total: Array, rows: list[Array]) -> _Stack:
    """Pushes the first ``total`` children of ``source`` int32[2 B] from ``base`` on.

    The source of a child is twice its lane, and one more if it takes the literal; a lane that does not branch has a
    child of the latter kind, which is the same node again. ``rows`` are the lanes' nodes, and their ``_tags``.
    """
    lanes = plan.lanes

    def write(columns: Array, first: int, width: int) -> Array:
        part = source[first : first + width]
        lane, takes = cpu_fence((part >> 1, (part & 1) == 1))
        children, *tags = take_columns(rows, lane)
        # of two rows of seeds a child has the second if it takes the literal
        parts = [*_taking(plan.board, children, takes), *(jnp.where(takes, tag[-1], tag[0])[None] for tag in tags)]
        return _write_parts(columns, parts, base + first)

    def by_halves(columns: Array) -> Array:
        columns = write(columns, 0, lanes)
        return lax.cond(total > lanes, lambda columns: write(columns, lanes, lanes), lambda columns: columns, columns)

    def at_once(columns: Array) -> Array:
        return write(columns, 0, 2 * lanes)

    # a condition costs an accelerator more than columns that are written for nothing
    columns = lax.platform_dependent(stack.columns, cpu=by_halves, default=at_once)
    return _Stack(columns, base + total)


def _lane_numbers(lanes: int) -> Array:
    return jnp.arange(lanes, dtype=jnp.int32)


def _sources(lanes: int, excluding: Array, taking: Array, storing: Array) -> Array:
    """Which lane each new column comes from: int32[3 lanes], twice the lane, and one more if it takes the literal.

    Columns from no lane are 0. The arguments int32[lanes] are the number of each lane's columns of the three kinds, or
    ``3 lanes`` if it has none of a kind.
    """
    twice = 2 * _lane_numbers(lanes)
    position, entry = jnp.concatenate([excluding, taking, storing]), jnp.concatenate([twice, twice + 1, twice])
    return fence(jnp.zeros(3 * lanes + 1, jnp.int32).at[position].set(entry, mode="promise_in_bounds"))[: 3 * lanes]
