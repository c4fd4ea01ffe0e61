"""Exact search of large boards: a depth-first search with restarts in every lane, guided by conflict weights.

Each lane searches one puzzle, with a stack of its own:

1. a few rounds of the rules on all lanes, as masks;
2. classify each lane: contradictory, solved, undecided (the rules still make progress: no move), or open;
3. an open lane branches: it takes the rarest digit of the cell with the smallest ratio of candidates to weight
   (``weights``), and pushes the candidates without this digit. If the cell had a digit in the fullest grid so far, that
   digit is tried first ("target phases": Biere and Fleury, Chasing target phases, 2020);
4. a contradictory lane adds to the weights of its cells without candidates, and pops. After an allowance of nodes it
   restarts, with the weights learned so far and a larger allowance.

An open lane branches on the cell of the last digit that was refuted, as long as that cell is open ("last conflict":
Lecoutre, Sais, Tabary and Vidal, 2009).

A lane whose puzzle is decided takes the next puzzle. When none is left, it takes over a part of another lane's search:
the oldest entry of its stack, with the weights learned so far. So the lanes of a puzzle search disjoint parts, and the
puzzle is decided when all of them have ended.

A digit refuted at the bottom of the stack leads to no solution, so it is excluded from all later runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.constraints.pruning import clues_of_lanes
from jaxsudoku.core.layouts import Masks
from jaxsudoku.core.masks import (
    all_digits,
    cell_ones_and_twos,
    count_digits,
    cubes_to_masks,
    grids_to_masks,
    mask_dtype,
    masks_to_grids,
)
from jaxsudoku.core.planes import any_of, pad_grids, slices
from jaxsudoku.core.propagation import classify, duplicated_givens, sweep, sweep_houses
from jaxsudoku.exact.plan import Plan, SearchResult, verdict
from jaxsudoku.exact.weights import first_weights, raised, rarest_digit, renewed, weighted_cell
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import APART, mix
from jaxsudoku.runtime.sharding import vary_as

#: Growth of the allowance of nodes from one run to the next.
_GROWTH = 1.2
#: Free lanes are filled once one lane in this many is free, as filling costs as much as a step.
_FREE = 8


class _Lanes(NamedTuple):
    """State of L searches; the lane axis is last, except in ``stack``.

    Attributes:
      puzzle: int32[L], the puzzle that is searched; N if none.
      masks: unsigned[limbs, side, side, L], the candidates.
      root: as ``masks``, the candidates from which a run starts.
      target: as ``masks``, the single candidates of the cells when most cells had one, elsewhere none.
      filled: int32[L], the number of cells with a target.
      weights: float32[side, side, L].
      stack: unsigned[L, levels, limbs * cells], the candidates to go back to.
      cells: int32[L, levels], the cell of each entry's digit.
      depth: int32[L], the height of the stack.
      floor: int32[L], the entries at its bottom that other lanes have taken.
      last: int32[L], the cell of the last digit that was refuted; -1 if none was.
      seed: uint32[L], the seed of the run.
      shuffled: bool[L], whether digits are tried in a random order.
      nodes: int32[L], nodes of the run.
      allowance: int32[L], nodes after which the run ends at the next contradiction.
      solutions: int32[L], solutions that the lane has found.
    """

    puzzle: Array
    masks: Array
    root: Array
    target: Array
    filled: Array
    weights: Array
    stack: Array
    cells: Array
    depth: Array
    floor: Array
    last: Array
    seed: Array
    shuffled: Array
    nodes: Array
    allowance: Array
    solutions: Array


class _Found(NamedTuple):
    """Results so far for N puzzles.

    Attributes:
      decided: bool[N], whether the search of the puzzle has ended.
      invalid: bool[N], whether its givens clash.
      spent: bool[N], whether it ended because the budget was spent, or the stack full.
      solutions: int32[N], the number of solutions found.
      iterations: int32[N], nodes visited, by all lanes.
      grids: uint8[N, cells], the first solution.
    """

    decided: Array
    invalid: Array
    spent: Array
    solutions: Array
    iterations: Array
    grids: Array


class _Input(NamedTuple):
    """The puzzles, uint8[N, cells]; seeds uint32[N], excluded digits and clues as ``search`` takes them, or None."""

    puzzles: Array
    seeds: Array | None
    excluded: Array | None
    clues: Clues | None


def search(
    plan: Plan, puzzles: Array, seeds: Array | None, excluded: Array | None, clues: Clues | None = None
) -> SearchResult:
    """Searches puzzles; arguments as in ``stack.search``. Seeds other than 0 choose random digits."""
    board, size, lanes, side = plan.board, puzzles.shape[0], plan.lanes, plan.board.side
    given = _Input(puzzles, seeds, excluded, clues)
    _, active = pad_grids(puzzles, board, 1)  # rows of padding are INVALID, and need no lane
    skipped = jnp.arange(size, dtype=jnp.int32) >= active
    found = _Found(
        decided=skipped,
        invalid=skipped,
        spent=jnp.zeros(size, bool),
        solutions=jnp.zeros(size, jnp.int32),
        iterations=jnp.zeros(size, jnp.int32),
        grids=jnp.zeros((size, board.cells), jnp.uint8),
    )
    dtype = mask_dtype(side)
    none = jnp.zeros((len(all_digits(side)), side, side, lanes), dtype)
    zeros = jnp.zeros(lanes, jnp.int32)
    searches = _Lanes(
        puzzle=zeros + size,
        masks=none,
        root=none,
        target=none,
        filled=zeros,
        weights=jnp.ones(none.shape[1:], jnp.float32),
        stack=jnp.zeros((lanes, plan.config.levels, none.shape[0] * board.cells), dtype),
        cells=jnp.zeros((lanes, plan.config.levels), jnp.int32),
        depth=zeros,
        floor=zeros,
        last=zeros - 1,
        seed=jnp.zeros(lanes, jnp.uint32),
        shuffled=jnp.zeros(lanes, bool),
        nodes=zeros,
        allowance=zeros,
        solutions=zeros,
    )
    start = vary_as(puzzles, (searches, found, jnp.int32(0), jnp.int32(0)))

    def step(state: tuple[_Lanes, _Found, Array, Array]) -> tuple[_Lanes, _Found, Array, Array]:
        searches, found, following, number = state
        searches, found, following = _fill(plan, given, active, searches, found, following, number)
        return *_step(plan, clues, searches, found), following, number + 1

    _, found, _, _ = lax.while_loop(lambda state: ~state[1].decided.all(), step, start)
    return SearchResult(found.grids, *verdict(plan, found.invalid, found.solutions, found.spent), found.iterations)


# ---------------------------------------------------------------------- filling lanes


def _fill(
    plan: Plan, given: _Input, active: Array, searches: _Lanes, found: _Found, following: Array, number: Array
) -> tuple[_Lanes, _Found, Array]:
    """Gives work to free lanes, if enough are free: the ``following`` puzzles, then parts of other lanes' searches."""
    size = found.decided.shape[0]
    free = found.decided.at[searches.puzzle].get(mode="fill", fill_value=True)
    count = free.sum(dtype=jnp.int32)
    enough = count >= plan.lanes // _FREE

    def fill(state: tuple[_Lanes, _Found]) -> tuple[_Lanes, _Found]:
        searches, found = state
        rank = jnp.cumsum(free, dtype=jnp.int32) - 1
        puzzle = jnp.where(free, following + rank, searches.puzzle)
        puzzle = jnp.where(puzzle < active, puzzle, size)
        taken = free & (puzzle < size)
        loaded, invalid = _load(plan, given, searches, puzzle)
        wrong = jnp.where(taken & invalid, puzzle, size)
        found = found._replace(
            decided=found.decided.at[wrong].set(True, mode="drop"),
            invalid=found.invalid.at[wrong].set(True, mode="drop"),
        )
        return _chosen(taken, loaded, searches)._replace(puzzle=puzzle), found

    def split(searches: _Lanes) -> _Lanes:
        return _split(plan, searches, free, number)

    searches, found = lax.cond(enough & (following < active), fill, lambda state: state, (searches, found))
    if plan.config.split:
        searches = lax.cond(enough & (following >= active), split, lambda state: state, searches)
    return searches, found, jnp.where(enough, jnp.minimum(following + count, active), following)


def _chosen(lanes: Array, new: _Lanes, old: _Lanes) -> _Lanes:
    """The state ``new`` in the ``lanes`` bool[L]; its stacks are empty, so these keep what they hold."""
    changed = {
        name: jnp.where(lanes, value, getattr(old, name))
        for name, value in new._asdict().items()
        if name not in ("stack", "cells")
    }
    return old._replace(**changed)


def _split(plan: Plan, searches: _Lanes, free: Array, number: Array) -> _Lanes:
    """Gives the ``free`` lanes bool[L] the oldest entries of other stacks, first of those that gave least."""
    lanes, limbs, side = plan.lanes, searches.masks.shape[0], plan.board.side
    lane = jnp.arange(lanes, dtype=jnp.int32)
    able = ~free & (searches.depth > searches.floor)
    order = jnp.argsort(jnp.where(able, searches.floor, plan.board.cells + 1)).astype(jnp.int32)
    rank = jnp.cumsum(free, dtype=jnp.int32) - 1
    source = order[jnp.clip(rank, 0)]
    taken = free & able[source]
    gives = jnp.zeros(lanes, bool).at[jnp.where(taken, source, lanes)].set(True, mode="drop")

    level = jnp.minimum(searches.floor, searches.stack.shape[1] - 1)
    oldest = searches.stack[lane, level].T.reshape(limbs, side, side, lanes)
    cell = searches.cells[lane, level]
    rest = _with(oldest, cell, _at(searches.masks, cell), gives)  # with the digit itself

    part = oldest[..., source]
    seed = mix(searches.seed[source] + (number * lanes + rank + 1).astype(jnp.uint32) * APART)
    zeros = jnp.zeros_like(lane)
    thief = searches._replace(
        puzzle=searches.puzzle[source],
        masks=part,
        root=part,
        target=jnp.zeros_like(part),
        filled=zeros,
        weights=renewed(plan.board, searches.weights[..., source], seed),
        depth=zeros,
        floor=zeros,
        last=cell[source],
        seed=seed,
        shuffled=searches.shuffled[source],
        nodes=zeros,
        allowance=searches.allowance[source],
        solutions=zeros,
    )
    giver = searches._replace(
        root=jnp.where(gives, rest, searches.root), floor=searches.floor + gives.astype(jnp.int32)
    )
    return _chosen(taken, thief, giver)


def _load(plan: Plan, given: _Input, searches: _Lanes, puzzle: Array) -> tuple[_Lanes, Array]:
    """New searches of puzzles int32[L] in all lanes, and bool[L], the lanes whose givens clash."""
    board = plan.board
    grids = given.puzzles.at[puzzle].get(mode="clip")
    digits = grids_to_masks(grids, board)
    invalid = duplicated_givens(Masks(board), digits) | (grids > board.side).any(axis=1)
    empty = fence((grids == 0).T).reshape(1, board.side, board.side, -1)
    masks = jnp.where(empty, all_digits(board.side)[:, None, None, None], digits)
    if given.excluded is not None:
        removed = given.excluded.at[puzzle].get(mode="clip")
        to_masks = grids_to_masks if removed.ndim == 2 else cubes_to_masks
        masks = masks & ~jnp.where(empty, to_masks(removed, board), 0)
    masks = fence(masks)
    seed = jnp.zeros(plan.lanes, jnp.uint32) if given.seeds is None else given.seeds.at[puzzle].get(mode="clip")
    zeros = jnp.zeros_like(puzzle)
    lanes = searches._replace(
        puzzle=puzzle,
        masks=masks,
        root=masks,
        target=jnp.zeros_like(masks),
        filled=zeros,
        weights=first_weights(board, seed),
        depth=zeros,
        floor=zeros,
        last=zeros - 1,
        seed=seed,
        shuffled=seed != 0,
        nodes=zeros,
        allowance=zeros + plan.config.restart,
        solutions=zeros,
    )
    return lanes, invalid


# ---------------------------------------------------------------------- a step


def _step(plan: Plan, clues: Clues | None, searches: _Lanes, found: _Found) -> tuple[_Lanes, _Found]:
    """One step: a few rounds of the rules, then each lane branches, backtracks, or restarts."""
    board, size, limit = plan.board, found.decided.shape[0], plan.limit
    puzzle, depth, floor = searches.puzzle, searches.depth, searches.floor
    live = ~found.decided.at[puzzle].get(mode="fill", fill_value=True)
    own = None if clues is None else clues_of_lanes(clues, puzzle)
    masks, changed = _propagated(plan, searches.masks, own)
    dead, solved = classify(Masks(board), masks)
    if board.constraints or clues is not None:
        solved &= ~changed  # the constraints have not seen what the last round changed
    dead, solved = fence((live & dead, live & solved))
    branching = fence(live & ~dead & ~solved & ~changed)
    visited = fence(dead | solved | branching)

    solutions = searches.solutions + solved.astype(jnp.int32)
    nodes = searches.nodes + visited.astype(jnp.int32)
    ended = dead | solved
    exhausted = ended & (depth == floor)
    # a restart would find the solutions again
    again = dead & ~exhausted & (nodes >= searches.allowance) & (solutions == 0)
    back = fence(ended & ~exhausted & ~again)
    again = fence(again)

    weights = fence(raised(searches.weights, masks, dead))
    last = fence((searches.last >= 0) & _several(_at(masks, jnp.maximum(searches.last, 0))))
    cell = jnp.where(last, searches.last, weighted_cell(masks, weights))
    here, digit = rarest_digit(board, masks, cell, mix(searches.seed + nodes.astype(jnp.uint32)), searches.shuffled)
    target, filled = _fuller(searches, masks, branching)
    wanted = _at(target, cell) & here
    digit = fence(jnp.where((wanted != 0).any(axis=0) & ~searches.shuffled, wanted, digit))
    stack = _push(searches.stack, masks, cell, here & ~digit, depth, branching)
    lane = jnp.arange(plan.lanes, dtype=jnp.int32)
    cells = searches.cells.at[lane, jnp.where(branching, depth, plan.config.levels)].set(cell, mode="drop")
    popped = cells[lane, jnp.maximum(depth - 1, 0)]
    moved = _pop(stack, _with(masks, cell, digit, branching), depth, back)

    grown = jnp.ceil(searches.allowance.astype(jnp.float32) * np.float32(_GROWTH))
    grown = jnp.minimum(grown, np.float32(1 << 30)).astype(jnp.int32)
    searches = searches._replace(
        masks=moved,
        target=target,
        filled=filled,
        weights=weights,
        puzzle=jnp.where(exhausted, size, puzzle),
        stack=stack,
        cells=cells,
        depth=jnp.where(again, floor, depth + branching.astype(jnp.int32) - back.astype(jnp.int32)),
        last=jnp.where(back, popped, searches.last),
        nodes=jnp.where(again, 0, nodes),
        allowance=jnp.where(again, grown, searches.allowance),
        solutions=solutions,
    )
    # before any solution is found, candidates removed at the bottom of the stack lead to none, so all runs exclude them
    bottom = branching & (depth == floor) & (solutions == 0)
    searches = lax.cond(
        (again | bottom).any(), lambda searches: _restarted(plan, searches, masks, bottom, again), lambda s: s, searches
    )

    visitor = jnp.where(visited, puzzle, size)
    iterations = found.iterations.at[visitor].add(1, mode="drop")
    found = _store(found, puzzle, masks, solved)
    working = jnp.zeros(size, jnp.int32).at[searches.puzzle].add(1, mode="drop")
    ended = jnp.zeros(size, bool).at[jnp.where(exhausted, puzzle, size)].set(True, mode="drop")
    decided = found.decided | (ended & (working == 0)) | (found.solutions >= limit)
    spent = found.spent
    if plan.config.budget is not None:
        spent = spent | (~decided & (iterations >= plan.config.budget))
    if plan.config.levels < board.cells:
        full = jnp.where(branching & (depth == plan.config.levels), puzzle, size)
        spent = spent | (~decided & jnp.zeros(size, bool).at[full].set(True, mode="drop"))
    return searches, found._replace(decided=decided | spent, spent=spent, iterations=iterations)


def _fuller(searches: _Lanes, masks: Array, open_lanes: Array) -> tuple[Array, Array]:
    """The fields ``target`` and ``filled``, updated in ``open_lanes`` bool[L] with a new maximum of filled cells."""
    ones, twos = cell_ones_and_twos(masks)
    single = ones & ~twos
    flags = jnp.where(single, np.ones((), masks.dtype), np.zeros((), masks.dtype))
    rows = fence(functools.reduce(jnp.add, slices(flags, 0)))  # a chain of slices is vectorized
    filled = fence(functools.reduce(jnp.add, slices(rows, 0)).astype(jnp.int32))
    fuller = fence(open_lanes & (filled > searches.filled))
    singles = jnp.where(single, masks, np.zeros((), masks.dtype))
    return fence(jnp.where(fuller, singles, searches.target)), jnp.where(fuller, filled, searches.filled)


def _restarted(plan: Plan, searches: _Lanes, masks: Array, bottom: Array, again: Array) -> _Lanes:
    """New roots, ``masks``, in the lanes ``bottom`` bool[L], and new runs in the lanes ``again`` bool[L]."""
    root = jnp.where(bottom, masks, searches.root)
    seed = jnp.where(again, mix(searches.seed + APART), searches.seed)
    return searches._replace(
        masks=jnp.where(again, root, searches.masks),
        root=root,
        weights=jnp.where(again, renewed(plan.board, searches.weights, seed), searches.weights),
        seed=seed,
    )


def _propagated(plan: Plan, masks: Array, clues: Clues | None) -> tuple[Array, Array]:
    """The masks after a few rounds of the rules; also bool[L], the lanes in which the last round changed something.

    A lane is frozen at its first cell without candidates, so that only this cell gains weight.
    """
    layout = Masks(plan.board)

    def unless_dead(change: Callable[[Array], Array], masks: Array) -> Array:
        # in words, as XLA folds truth values slowly
        empty = fence(any_of(slices((masks == 0).all(axis=0).astype(masks.dtype), 0)))
        contradictory = fence(any_of(slices(empty, 0)) != 0)
        # a fence after the last reshape of a sweep: XLA does not vectorize code fused with a reshape
        return fence(jnp.where(contradictory, masks, fence(change(masks))))

    def houses(masks: Array) -> Array:
        return sweep_houses(layout, masks, plan.config.rules)

    first = fence(houses(masks))
    before, after = lax.fori_loop(
        1, plan.config.rounds, lambda _, pair: (pair[1], unless_dead(houses, pair[1])), (masks, first)
    )
    if plan.board.constraints or clues is not None:
        after = unless_dead(lambda masks: sweep(layout, masks, "none", clues), after)
    difference = fence(any_of(slices(after ^ before, (0, 1))))
    return after, fence(any_of(slices(difference, 0)) != 0)


def _at(masks: Array, cell: Array) -> Array:
    """The candidates [limbs, L] of a cell int32[L] of each lane."""
    lanes = masks.shape[-1]
    place = cell * lanes + np.arange(lanes, dtype=np.int32)
    return fence(masks.reshape(masks.shape[0], -1).at[:, place].get(mode="promise_in_bounds"))


def _with(masks: Array, cell: Array, candidates: Array, lanes: Array) -> Array:
    """The masks with the candidates [limbs, L] of a cell int32[L] replaced, in the ``lanes`` bool[L]."""
    flat = masks.reshape(masks.shape[0], -1)
    place = cell * lanes.shape[0] + np.arange(lanes.shape[0], dtype=np.int32)
    place = jnp.where(lanes, place, flat.shape[1])
    return fence(flat.at[:, place].set(candidates, mode="drop").reshape(masks.shape))


def _several(candidates: Array) -> Array:
    """bool[L], whether cells have more than one of the candidates [limbs, L]."""
    return count_digits(candidates) > 1


def _numbered(lanes: Array) -> tuple[Array, Array]:
    """The indices of the lanes bool[L] in order, int32[L], and how many there are."""
    size = lanes.shape[0]
    place = jnp.where(lanes, jnp.cumsum(lanes, dtype=jnp.int32) - 1, size)
    index = jnp.zeros(size, jnp.int32).at[place].set(jnp.arange(size, dtype=jnp.int32), mode="drop")
    return fence(index), lanes.sum(dtype=jnp.int32)


def _push(stack: Array, masks: Array, cell: Array, others: Array, depth: Array, lanes: Array) -> Array:
    """Pushes the masks of the ``lanes`` bool[L] on their stacks, with other candidates [limbs, L] in a cell."""
    operands = stack, masks, cell, others, depth, lanes
    return lax.platform_dependent(*operands, cpu=_push_one_by_one, default=_push_at_once)


def _push_one_by_one(stack: Array, masks: Array, cell: Array, others: Array, depth: Array, lanes: Array) -> Array:
    """``_push`` lane by lane: faster on a CPU than one scatter."""
    index, count = _numbered(lanes)
    limbs, width, zero = masks.shape[0], stack.shape[-1], jnp.int32(0)
    flat = masks.reshape(width, -1)

    def push(number: Array, stack: Array) -> Array:
        lane = index[number]
        row = lax.dynamic_slice(flat, (zero, lane), (width, 1))
        for limb in range(limbs):
            word = lax.dynamic_slice(others, (jnp.int32(limb), lane), (1, 1))
            row = lax.dynamic_update_slice(row, word, (limb * (width // limbs) + cell[lane], zero))
        return lax.dynamic_update_slice(stack, row.reshape(1, 1, width), (lane, depth[lane], zero))

    return lax.fori_loop(jnp.int32(0), count, push, stack)


def _push_at_once(stack: Array, masks: Array, cell: Array, others: Array, depth: Array, lanes: Array) -> Array:
    """``_push`` in one scatter: on an accelerator every iteration of a loop would be a launch."""
    rows = _with(masks, cell, others, lanes).reshape(stack.shape[-1], -1).T
    level = jnp.where(lanes, jnp.minimum(depth, stack.shape[1] - 1), stack.shape[1])
    return stack.at[jnp.arange(stack.shape[0]), level].set(rows, mode="drop")


def _pop(stack: Array, masks: Array, depth: Array, lanes: Array) -> Array:
    """Pops the stacks of the ``lanes`` bool[L]: their masks are replaced by the top entries."""
    return lax.platform_dependent(stack, masks, depth, lanes, cpu=_pop_one_by_one, default=_pop_at_once)


def _pop_one_by_one(stack: Array, masks: Array, depth: Array, lanes: Array) -> Array:
    """``_pop``, lane by lane, as ``_push_one_by_one``."""
    index, count = _numbered(lanes)
    width, zero = stack.shape[-1], jnp.int32(0)

    def pop(number: Array, flat: Array) -> Array:
        lane = index[number]
        row = lax.dynamic_slice(stack, (lane, depth[lane] - 1, zero), (1, 1, width))
        return lax.dynamic_update_slice(flat, row.reshape(width, 1), (zero, lane))

    return lax.fori_loop(jnp.int32(0), count, pop, masks.reshape(width, -1)).reshape(masks.shape)


def _pop_at_once(stack: Array, masks: Array, depth: Array, lanes: Array) -> Array:
    """``_pop``, all lanes together, as ``_push_at_once``."""
    rows = stack[jnp.arange(stack.shape[0]), jnp.maximum(depth - 1, 0)]
    return jnp.where(lanes, rows.T.reshape(masks.shape), masks)


def _store(found: _Found, puzzle: Array, masks: Array, solved: Array) -> _Found:
    """Counts the solutions of the lanes ``solved`` bool[L], and keeps the first grid of each puzzle."""
    size = found.decided.shape[0]
    lane = jnp.arange(puzzle.shape[0], dtype=jnp.int32)

    def store(found: _Found) -> _Found:
        solver = jnp.where(solved, puzzle, size)
        # one lane per puzzle, among those that solve it in this step
        winner = jnp.full(size, puzzle.shape[0], jnp.int32).at[solver].min(lane, mode="drop")
        first = solved & (found.solutions.at[puzzle].get(mode="fill", fill_value=1) == 0)
        wins = first & (winner.at[puzzle].get(mode="fill", fill_value=-1) == lane)
        return found._replace(
            grids=found.grids.at[jnp.where(wins, puzzle, size)].set(masks_to_grids(masks), mode="drop"),
            solutions=found.solutions.at[solver].add(1, mode="drop"),
        )

    return lax.cond(solved.any(), store, lambda found: found, found)
