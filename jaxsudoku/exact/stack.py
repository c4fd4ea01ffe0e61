"""Exact search: one stack of nodes for the whole batch.

All puzzles share one stack of nodes. At every step a block of lanes takes the top nodes, runs the rules on them, and
pushes what is still open. So every lane is used at every step, and a hard puzzle spreads over all lanes:

1. fill: while the stack has fewer nodes than the block, push the root nodes of the next puzzles;
2. pop the top nodes, drop those of decided puzzles, and run a few rounds of the rules;
3. classify each lane: contradictory (dropped), solved (stored and counted), undecided (the rules still make progress:
   pushed as it is), or open;
4. branch on one candidate of a cell with fewest in each open lane: one child takes it, the other excludes it.

A node on the stack is its parent's candidates and a pending literal, the candidate to take or exclude. So both children
share one row of candidates, and one transposition converts candidates and literal, written one-hot, to planes.

The stack cannot overflow: the fuller it is, the fewer nodes are popped. With one node a step the search is depth-first
and adds no more nodes than a puzzle has candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.board import Board
from jaxsudoku.branching import Branch, choose, random_planes
from jaxsudoku.config import includes
from jaxsudoku.planes import (
    GROUP,
    any_of,
    fence,
    grids_to_planes,
    nodes_to_planes,
    pack_lanes,
    pad_grids,
    planes_to_grids,
    planes_to_words,
    rank_lanes,
    slices,
    unpack_lanes,
    words_to_planes,
)
from jaxsudoku.propagation import invalid_givens, outcome, sweep
from jaxsudoku.random import mix
from jaxsudoku.sharding import vary_as
from jaxsudoku.solution import Status


class Plan(NamedTuple):
    """The static arguments of a search.

    Attributes:
      board: the board.
      limit: the most solutions to find.
      rules: one of ``SEARCH_RULES``.
      rounds: rounds of the rules in a step.
      lanes: nodes in a step, a multiple of 32.
      budget: the most nodes of a puzzle, checked between steps; None for no limit.
      branch: chooses the literals to branch on; None for ``branching.choose``.
    """

    board: Board
    limit: int
    rules: str
    rounds: int
    lanes: int
    budget: int | None = None
    branch: Branch | None = None

    @property
    def row_words(self) -> int:
        """Words of a stack row: the candidates, then a literal's digit, row and column one-hot and its sign."""
        return -(-(self.board.candidates + 3 * self.board.side + 1) // GROUP)

    @property
    def store_block(self) -> int:
        """Solved nodes that are stored at a time: a small part of a block, as in most steps few lanes are solved."""
        return max(self.lanes // 16, GROUP)

    @property
    def capacity(self) -> int:
        """With this many nodes on the stack a step pops only one. There is room for a whole block to descend."""
        return max(3 * self.board.side * self.lanes, 1 << 16)

    @property
    def stack_size(self) -> int:
        """Room for the capacity, a depth-first descent from there, and the two blocks that a step writes."""
        return self.capacity + self.board.candidates + 2 * self.lanes


class _Stack(NamedTuple):
    """Nodes from the bottom up; entries from ``top`` on are undefined.

    Attributes:
      rows: uint32[row_words, stack_size].
      owner: int32[stack_size], the puzzle of each node.
      seed: uint32[stack_size], the random seed of each node; uint32[0] in the fixed order.
      top: int32, number of nodes.
    """

    rows: Array
    owner: Array
    seed: Array
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
      solved: uint32[words, N + a part of a block], nodes of first solutions, in the order they were found.
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


class _Roots(NamedTuple):
    """Root nodes: rows uint32[row_words, N + lanes], owner int32[N + lanes], seed uint32[N + lanes] or uint32[0]."""

    rows: Array
    owner: Array
    seed: Array


def search(
    plan: Plan, puzzles: Array, seeds: Array | None, excluded: Array | None
) -> tuple[Array, Array, Array, Array, Array]:
    """Searches puzzles uint8[N, cells].

    Args:
      plan: the static arguments.
      puzzles: uint8[N, cells].
      seeds: uint32[N], a seed for each puzzle's random order, 0 for the fixed order; None for the fixed order in all.
      excluded: uint8[N, cells], a digit that an empty cell may not take, 0 for none; None for none at all.

    Returns:
      grids uint8[N, cells], status int8[N], counts int32[N] and iterations int32[N], as ``exact.Search``; and
      int32[N], the nodes for which the plan's ``branch`` chose a literal, int32[0] without one.
    """
    board, limit = plan.board, plan.limit
    size = puzzles.shape[0]
    padded, active = pad_grids(puzzles, board, plan.lanes)
    padding = len(padded) - size
    padded_excluded = None if excluded is None else jnp.pad(excluded, ((0, padding), (0, 0)))
    roots, invalid = _make_roots(plan, padded, seeds, padded_excluded, active)
    found = _Found(
        solutions=jnp.where(invalid, limit, 0).astype(jnp.int32),
        iterations=jnp.zeros(size + padding, jnp.int32),
        branches=jnp.zeros(0 if plan.branch is None else size + padding, jnp.int32),
        spent=jnp.zeros(size + padding, bool),
        winner=jnp.zeros(size + padding, jnp.int32),
        place=jnp.zeros(size + padding, jnp.int32),
        solved=jnp.zeros((board.words, size + padding + plan.store_block), jnp.uint32),
        used=jnp.int32(0),
    )
    stack = _Stack(
        rows=jnp.zeros((plan.row_words, plan.stack_size), jnp.uint32),
        owner=jnp.zeros(plan.stack_size, jnp.int32),
        seed=jnp.zeros(0 if seeds is None else plan.stack_size, jnp.uint32),
        top=jnp.int32(0),
    )
    _, _, found = lax.while_loop(
        lambda state: (state[0].top > 0) | (state[1] < active),
        lambda state: _step(plan, *_fill(plan, roots, active, *state[:2]), state[2]),
        vary_as(puzzles, (stack, jnp.int32(0), found)),
    )
    count = jnp.where(invalid, 0, jnp.minimum(found.solutions, limit))
    found = found._replace(solutions=count)
    status = jnp.select(
        [invalid, count > 0, found.spent],
        [jnp.int8(Status.INVALID), jnp.int8(Status.SOLVED), jnp.int8(Status.UNSOLVED)],
        jnp.int8(Status.UNSATISFIABLE),
    )
    grids = _solution_grids(plan, found, active)
    return grids[:size], status[:size], count[:size], found.iterations[:size], found.branches[:size]


# ---------------------------------------------------------------------- roots


def _make_roots(
    plan: Plan, puzzles: Array, seeds: Array | None, excluded: Array | None, active: Array
) -> tuple[_Roots, Array]:
    """The root nodes of puzzles uint8[N, cells], N a multiple of the lanes, and bool[N], which are invalid.

    Puzzles from ``active`` on are skipped, and invalid.
    """
    board, lanes = plan.board, plan.lanes
    size = puzzles.shape[0]

    def block(number: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rows, invalid = state
        givens = grids_to_planes(lax.dynamic_slice_in_dim(puzzles, number * lanes, lanes), board)
        wrong = invalid_givens(givens, board)
        candidates = givens.candidates
        if excluded is not None:
            removed = grids_to_planes(lax.dynamic_slice_in_dim(excluded, number * lanes, lanes), board)
            candidates = candidates & ~(removed.digits & givens.empty[None])
        literal = jnp.zeros((3 * board.side + 1, lanes // GROUP), jnp.uint32)
        nodes = _make_rows(board, fence(candidates), literal)
        rows = lax.dynamic_update_slice_in_dim(rows, nodes, number * lanes, axis=1)
        return rows, lax.dynamic_update_slice(invalid, unpack_lanes(wrong), (number * lanes,))

    rows, invalid = lax.fori_loop(
        0,
        -(-active // lanes),
        block,
        vary_as(puzzles, (jnp.zeros((plan.row_words, size + lanes), jnp.uint32), jnp.ones(size, bool))),
    )
    # one more block of columns, so that the last, short block is sliced like the others
    seed = jnp.zeros(0, jnp.uint32) if seeds is None else jnp.pad(seeds, (0, size + lanes - seeds.shape[0]))
    return _Roots(rows, jnp.arange(size + lanes, dtype=jnp.int32), seed), invalid


def _solution_grids(plan: Plan, found: _Found, active: Array) -> Array:
    """The grids uint8[N, cells] of the first solutions, zeros where there is none and from ``active`` on."""

    def block(number: Array, grids: Array) -> Array:
        start = number * plan.lanes
        place = lax.dynamic_slice(found.place, (start,), (plan.lanes,))
        has_solution = lax.dynamic_slice(found.solutions, (start,), (plan.lanes,)) > 0
        nodes = _take_lanes(found.solved, place)
        part = planes_to_grids(nodes_to_planes(nodes, plan.board), plan.board)
        return lax.dynamic_update_slice_in_dim(grids, jnp.where(has_solution[:, None], part, 0), start, axis=0)

    grids = vary_as(found.place, jnp.zeros((found.place.shape[0], plan.board.cells), jnp.uint8))
    return lax.fori_loop(0, -(-active // plan.lanes), block, grids)


def _fill(plan: Plan, roots: _Roots, active: Array, stack: _Stack, cursor: Array) -> tuple[_Stack, Array]:
    """Fills the stack up to a block of nodes with roots from ``cursor`` on; returns the next cursor as well."""

    def push(stack: _Stack) -> _Stack:
        def place(target: Array, source: Array) -> Array:
            if not target.size:
                return target
            block = lax.dynamic_slice_in_dim(source, cursor, plan.lanes, axis=-1)
            return lax.dynamic_update_slice_in_dim(target, block, stack.top, axis=-1)

        added = jnp.minimum(plan.lanes - stack.top, active - cursor)
        return _Stack(
            place(stack.rows, roots.rows),
            place(stack.owner, roots.owner),
            place(stack.seed, roots.seed),
            stack.top + added,
        )

    filled = lax.cond((stack.top < plan.lanes) & (cursor < active), push, lambda stack: stack, stack)
    return filled, cursor + filled.top - stack.top


# ---------------------------------------------------------------------- rows of candidates and a pending literal


def _make_rows(board: Board, planes: Array, literal: Array) -> Array:
    """Stack rows uint32[row_words, B] of candidate planes and literal planes uint32[at most 3 side + 1, W]."""
    parts = [planes.reshape(board.candidates, -1), literal]
    unused = -sum(part.shape[0] for part in parts) % GROUP
    return planes_to_words(fence(jnp.concatenate([*parts, jnp.zeros((unused, planes.shape[-1]), jnp.uint32)])))


def _read_rows(board: Board, rows: Array) -> Array:
    """The candidate planes of stack rows, with the pending literal popped or excluded."""
    planes = words_to_planes(rows)
    side, width = board.side, planes.shape[-1]
    candidates = planes[: board.candidates].reshape(side, side, side, width)
    digit, row, column = planes[board.candidates : board.candidates + 3 * side].reshape(3, side, width)
    take = planes[board.candidates + 3 * side]
    cell, gone = fence((row[:, None] & column[None], digit ^ take))
    return fence(candidates & ~(gone[:, None, None] & cell[None]))


def _taking(board: Board, rows: Array, take: Array) -> Array:
    """The rows, with the sign of the literal set in the lanes bool[B] that take it."""
    word, bit = divmod(board.candidates + 3 * board.side, GROUP)
    sign = take.astype(jnp.uint32) << bit
    return jnp.concatenate([rows[:word], rows[word : word + 1] | sign[None], rows[word + 1 :]])


# ---------------------------------------------------------------------- a step


def _step(plan: Plan, stack: _Stack, cursor: Array, found: _Found) -> tuple[_Stack, Array, _Found]:
    """Pops a block of nodes, applies the rules, stores the solved ones and pushes what is left."""
    board, lanes = plan.board, plan.lanes
    lane = jnp.arange(lanes, dtype=jnp.int32)
    no_puzzle = found.solutions.shape[0]  # out of range: dropped by scatters

    # each node leaves a sibling on the stack at every level of its descent, so a fuller stack gets fewer nodes popped
    room = jnp.maximum((plan.capacity - stack.top) // board.side, 1)
    popped = jnp.minimum(stack.top, jnp.minimum(lanes, room))
    base = stack.top - popped
    owner = jnp.where(lane < popped, lax.dynamic_slice(stack.owner, (base,), (lanes,)), no_puzzle)
    live = found.solutions.at[owner].get(mode="fill", fill_value=plan.limit) < plan.limit
    if plan.budget is not None:
        left = plan.budget - found.iterations
        spent = live & (left.at[owner].get(mode="fill", fill_value=1) < 1)
        found = found._replace(spent=found.spent.at[jnp.where(spent, owner, no_puzzle)].set(True, mode="drop"))
        live = live & ~spent

    planes = _read_rows(board, lax.dynamic_slice_in_dim(stack.rows, base, lanes, axis=1))
    planes, changed = _sweep_rounds(plan, planes)
    contradictory, solved = outcome(planes, board)
    live_plane = pack_lanes(live)
    solved = live_plane & solved
    unfinished, branching = fence(
        (live_plane & ~contradictory & ~solved, live_plane & ~contradictory & ~solved & ~changed)
    )

    seed = lax.dynamic_slice(stack.seed, (base,), (lanes,)) if stack.seed.size else None
    if plan.branch is None:
        literal = choose(board, planes, None if seed is None else random_planes(board, seed)) & branching
    else:
        literal = plan.branch(board, planes, branching)
        if literal.shape != (3 * board.side, branching.shape[0]) or literal.dtype != jnp.uint32:
            raise ValueError(
                f"branch returned {literal.dtype}{list(literal.shape)}; it must return "
                f"uint32[{3 * board.side}, {branching.shape[0]}]"
            )
        literal = fence(literal) & branching
    rows = _make_rows(board, planes, literal)
    stack = _push(plan, stack, base, rows, owner, seed, branching, unfinished)

    visited = jnp.where(live & ~unpack_lanes(unfinished & ~branching), owner, no_puzzle)
    found = found._replace(iterations=found.iterations.at[visited].add(1, mode="drop"))
    if plan.branch is not None:
        branched = jnp.where(unpack_lanes(branching), owner, no_puzzle)
        found = found._replace(branches=found.branches.at[branched].add(1, mode="drop"))
    return stack, cursor, _store(plan, found, rows, owner, solved)


def _store(plan: Plan, found: _Found, rows: Array, owner: Array, solved: Array) -> _Found:
    """Counts the solved lanes, and stores the node of each puzzle's first solution."""
    lane = jnp.arange(plan.lanes, dtype=jnp.int32)
    no_puzzle = found.solutions.shape[0]
    is_solved = unpack_lanes(solved)
    solver_of = jnp.where(is_solved, owner, no_puzzle)
    winner = found.winner.at[solver_of].set(lane, mode="drop")
    first = found.solutions.at[owner].get(mode="fill", fill_value=1) == 0
    wins = is_solved & first & (winner.at[owner].get(mode="fill", fill_value=-1) == lane)
    rank, total = rank_lanes(pack_lanes(wins))
    source = _sources(jnp.where(wins, rank, plan.lanes), plan.lanes)

    def put(number: Array, kept: Array) -> Array:
        nodes = _take_lanes(
            rows[: plan.board.words], lax.dynamic_slice(source, (number * plan.store_block,), (plan.store_block,))
        )
        return lax.dynamic_update_slice_in_dim(kept, nodes, found.used + number * plan.store_block, axis=1)

    return found._replace(
        solutions=found.solutions.at[solver_of].add(1, mode="drop"),
        winner=winner,
        place=found.place.at[jnp.where(wins, owner, no_puzzle)].set(found.used + rank, mode="drop"),
        solved=lax.fori_loop(0, -(-total // plan.store_block), put, found.solved),
        used=found.used + total,
    )


def _sweep_rounds(plan: Plan, planes: Array) -> tuple[Array, Array]:
    """A few rounds of the rules; also uint32[W], the lanes in which the last round still changed something."""
    # locked candidates cost as much as singles and seldom apply twice in a row, so every second round leaves them out
    lighter = "singles" if includes(plan.rules, "singles") else plan.rules

    def two_rounds(_: int, planes: Array) -> Array:
        return sweep(sweep(planes, plan.board, plan.rules), plan.board, lighter)

    if plan.rounds % 2 == 0:
        planes = sweep(planes, plan.board, lighter)
    planes = lax.fori_loop(0, (plan.rounds - 1) // 2, two_rounds, planes)
    settled = sweep(planes, plan.board, plan.rules)
    by_cell = fence(any_of(slices(settled ^ planes, 0)))
    return settled, any_of(slices(fence(any_of(slices(by_cell, 0))), 0))


def _push(
    plan: Plan,
    stack: _Stack,
    base: Array,
    rows: Array,
    owner: Array,
    seed: Array | None,
    branching: Array,
    unfinished: Array,
) -> _Stack:
    """Pushes the children from ``base`` on: first those that exclude, above them those that take.

    A lane that is unfinished but not branching is pushed as it is, among the latter.
    """
    lanes = plan.lanes
    exclude_rank, exclude_count = rank_lanes(branching)
    take_rank, take_count = rank_lanes(unfinished)
    is_branching = unpack_lanes(branching)
    total = exclude_count + take_count
    excluding = jnp.where(is_branching, exclude_rank, 2 * lanes)
    taking = jnp.where(unpack_lanes(unfinished), exclude_count + take_rank, 2 * lanes)
    # the source of each new entry: lane for an excluding child, lanes + lane for a taking one
    source = _sources(jnp.concatenate([excluding, taking]), 2 * lanes)

    def write(stack: _Stack, half: int) -> _Stack:
        takes = source[half * lanes : (half + 1) * lanes] >= lanes
        lane = fence(source[half * lanes : (half + 1) * lanes] - jnp.where(takes, lanes, 0))
        gathered = _take_lanes(rows, lane)
        start = base + half * lanes
        new_rows = lax.dynamic_update_slice_in_dim(stack.rows, _taking(plan.board, gathered, takes), start, axis=1)
        new_owner = lax.dynamic_update_slice(stack.owner, owner[lane], (start,))
        new_seed = stack.seed
        if seed is not None:
            child = mix(seed[lane] + jnp.where(takes, 1, 2).astype(jnp.uint32))
            child = jnp.where(is_branching[lane] & (seed[lane] != 0), child, seed[lane])
            new_seed = lax.dynamic_update_slice(stack.seed, child, (start,))
        return _Stack(new_rows, new_owner, new_seed, stack.top)

    stack = write(stack, 0)
    stack = lax.cond(total > lanes, lambda stack: write(stack, 1), lambda stack: stack, stack)
    return stack._replace(top=base + total)


def _sources(position: Array, size: int) -> Array:
    """Inverts a numbering: int32[size], entry i is the j with ``position[j] == i``, or 0 if there is none."""
    entry = jnp.arange(position.shape[0], dtype=jnp.int32)
    return fence(jnp.zeros(size, jnp.int32).at[position].set(entry, mode="drop"))


def _take_lanes(words: Array, lane: Array) -> Array:
    """The columns ``lane`` int32[m] of uint32[k, B], as uint32[k, m]."""
    # one flat index a word: XLA would transpose the block before and after a gather of columns
    start = words.shape[1] * jnp.arange(words.shape[0], dtype=jnp.int32)[:, None]
    return fence(words.reshape(-1).at[start + lane].get(mode="promise_in_bounds"))
