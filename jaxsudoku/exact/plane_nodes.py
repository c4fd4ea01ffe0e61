"""Nodes of the stack search as bit-planes: encoding, rules and branching.

A node is its parent's candidates and a pending literal: a cell, and the digits to exclude there, either the chosen
digit or all others. So both children share one row of candidates, and one transposition converts candidates and
literal (a bit for each digit, row and column) to planes.

``stack`` uses nodes only through ``AT_ONCE``, ``node_words``, ``solution_words``, ``roots``, ``pop``, ``settle``,
``children`` and ``decode``; ``band_nodes`` implements the same interface. Nodes are uint32[node_words, B].
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.branching import choose, random_planes
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.layouts import Planes
from jaxsudoku.core.planes import (
    GROUP,
    cubes_to_planes,
    grids_to_planes,
    nodes_to_planes,
    pack_lanes,
    planes_to_grids,
    planes_to_words,
    unpack_lanes,
    where,
    words_to_planes,
)
from jaxsudoku.core.propagation import classify, invalid_givens, sweep_rounds
from jaxsudoku.exact.plan import Settled, StackPlan
from jaxsudoku.runtime.operations import cpu_fence, fence

#: Whether all puzzles are encoded and decoded at once. False: they are processed in blocks, as planes take much memory,
#: and solutions are stored in the order in which they are found.
AT_ONCE = False


def node_words(plan: StackPlan) -> int:
    """Number of words per node: the candidates, then a literal's digits, row and column."""
    return -(-(plan.board.candidates + 3 * plan.board.side) // GROUP)


def solution_words(plan: StackPlan) -> int:
    """Number of words per solution, the first ones of its node."""
    return plan.board.words


def roots(plan: StackPlan, puzzles: Array, excluded: Array | None) -> tuple[Array, Array]:
    """The root nodes of puzzles uint8[B, cells], and the invalid ones bool[B].

    ``excluded`` are digits that empty cells may not take, uint8[B, cells] or bool[B, side, cells].
    """
    board = plan.board
    givens = grids_to_planes(puzzles, board, plan.groups)
    invalid = invalid_givens(givens, board).reshape(-1)
    candidates = givens.candidates
    if excluded is not None:
        candidates = candidates & ~(_excluded_planes(plan, excluded) & givens.empty[None])
    literal = jnp.zeros((3 * board.side, *plan.groups), jnp.uint32)
    return _make_nodes(board, fence(candidates), literal), unpack_lanes(invalid)


def decode(plan: StackPlan, solved: Array) -> Array:
    """The grids uint8[B, cells] of solutions uint32[solution_words, B]."""
    return planes_to_grids(nodes_to_planes(solved, plan.board, plan.groups), plan.board)


def pop(plan: StackPlan, columns: Array, base: Array, popped: Array) -> tuple[Array, Array]:
    """Reads a block of nodes from the stack, from a column on.

    Args:
      plan: the static arguments.
      columns: uint32[node_words + k, size], the nodes of the stack and k rows of tags.
      base: int32, the first column.
      popped: int32, the lanes that have a node.

    Returns:
      the argument ``nodes`` of ``settle`` for B lanes, and their tags uint32[k, B]; undefined in lanes without a node.
    """
    del popped
    block = lax.dynamic_slice(columns, (jnp.int32(0), base), (columns.shape[0], plan.lanes))
    return block[: node_words(plan)], block[node_words(plan) :]


def settle(
    plan: StackPlan,
    nodes: Array,
    seed: Array | None,
    live: Array,
    guidable: Array | None,
    clues: Clues | None = None,
) -> Settled:
    """Applies the rules to nodes, and chooses the literals to branch on.

    Args:
      plan: the static arguments.
      nodes: the nodes that ``pop`` returned.
      seed: uint32[B], the seeds of random orders; None for the fixed order.
      live: bool[B], the lanes with a node of an undecided puzzle; others are reported as nothing.
      guidable: bool[B], the lanes for which the plan's ``branch`` may choose; None for all.
      clues: the clues of the lanes' puzzles; None for none.
    """
    board = plan.board
    planes = _read_nodes(plan, nodes)
    planes, changed = _sweep_rounds(plan, planes, clues)
    contradictory, solved = classify(Planes(board), planes)
    if board.constraints or clues is not None:
        solved = fence(solved & ~changed)  # the constraints have not seen what the last round changed
    live_plane = pack_lanes(live).reshape(plan.groups)
    solved = live_plane & solved
    unfinished, branching = fence(
        (live_plane & ~contradictory & ~solved, live_plane & ~contradictory & ~solved & ~changed)
    )
    guided = branching if guidable is None else branching & pack_lanes(guidable).reshape(plan.groups)
    literal = _literal(plan, planes, seed, branching, guided) & branching
    nodes = _make_nodes(board, planes, literal)
    solutions = nodes[: solution_words(plan)]
    return Settled([nodes], solutions, *(lanes.reshape(-1) for lanes in (solved, unfinished, branching, guided)))


def children(plan: StackPlan, parts: list[Array], take: Array) -> list[Array]:
    """The nodes of children: in lanes ``take`` bool[B] the literal excludes the cell's other digits, not its own.

    Nodes are in parts, as in ``Settled``.
    """
    (nodes,) = parts
    board = plan.board
    first = board.candidates // GROUP
    bits = range(board.candidates - first * GROUP, board.candidates - first * GROUP + board.side)
    masks = [sum(1 << bit % GROUP for bit in bits if bit // GROUP == word) for word in range(nodes.shape[0] - first)]
    flips = jnp.where(take, np.array(masks, np.uint32)[:, None], np.uint32(0))
    return [nodes[:first], nodes[first:] ^ flips]


# ---------------------------------------------------------------------- planes


def _excluded_planes(plan: StackPlan, excluded: Array) -> Array:
    """Excluded digits, uint8[lanes, cells] or bool[lanes, side, cells], as planes."""
    if excluded.ndim == 2:
        return grids_to_planes(excluded, plan.board, plan.groups).digits
    planes = cubes_to_planes(excluded, plan.board)
    return planes.reshape(*planes.shape[:-1], *plan.groups)


def _make_nodes(board: Board, planes: Array, literal: Array) -> Array:
    """Nodes uint32[node_words, B] of candidate planes and a literal to exclude, uint32[3 side, *W], or none."""
    groups = literal.shape[1:]
    parts = [planes.reshape(board.candidates, *groups), literal]
    unused = -sum(part.shape[0] for part in parts) % GROUP
    return planes_to_words(cpu_fence(jnp.concatenate([*parts, jnp.zeros((unused, *groups), jnp.uint32)])))


def _read_nodes(plan: StackPlan, nodes: Array) -> Array:
    """The candidate planes of nodes uint32[node_words, B] after excluding the pending literal."""
    board, side = plan.board, plan.board.side
    planes = words_to_planes(nodes, plan.groups)
    candidates = planes[: board.candidates].reshape(side, side, side, *plan.groups)
    digits, row, column = planes[board.candidates : board.candidates + 3 * side].reshape(3, side, *plan.groups)
    cell = cpu_fence(row[:, None] & column[None])
    return fence(candidates & ~(digits[:, None, None] & cell[None]))


def _sweep_rounds(plan: StackPlan, planes: Array, clues: Clues | None) -> tuple[Array, Array]:
    """``propagation.sweep_rounds`` in the implementation that the plan's settings choose."""
    if plan.config.settle == "pallas":
        from jaxsudoku.core import pallas_sweep  # loads Pallas

        return pallas_sweep.sweep_rounds(planes, plan.board, plan.config.rules, plan.config.rounds)
    return sweep_rounds(planes, plan.board, plan.config.rules, plan.config.rounds, clues)


def _literal(plan: StackPlan, planes: Array, seed: Array | None, branching: Array, guided: Array) -> Array:
    """The literal to branch on, uint32[3 side, *W], where ``branching`` uint32[*W] is set; elsewhere undefined.

    ``guided`` uint32[*W] are those of these lanes in which ``plan.branch``, if any, chooses it.
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
