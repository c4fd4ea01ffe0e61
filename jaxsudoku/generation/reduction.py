"""Removal of clues from puzzles while the solution stays unique; pure functions, to be jitted."""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku import exact
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.core.tuning import search_restart
from jaxsudoku.engine.solution import Status
from jaxsudoku.generation.patterns import orbits_of

#: Nodes after which a proof of uniqueness is abandoned and the clue kept; boards below 12x12 never need this many.
_PROOF_BUDGET = 20_000
#: Levels of a proof of uniqueness per row of the board, from 12x12 on; a clue whose proof needs more is kept.
_PROOF_LEVELS = 4
#: Number of orbits of clues that ``restore_clues`` restores.
_RESTORED = 3


def reduce_clues(
    board: Board,
    solutions: Array,
    puzzles: Array,
    ranks: Array,
    floor: Array,
    *,
    pattern: str = "none",
    lanes: int | None = None,
    clues: Clues | None = None,
) -> Array:
    """Removes clues one by one, each if the solution stays unique without it.

    With a floor of 0 the result is minimal: a clue (with a pattern: an orbit of clues) that was needed when it was
    tried is also needed with fewer other clues.

    Args:
      board: the board.
      solutions: uint8[N, cells], the solved grids.
      puzzles: uint8[N, cells], puzzles with these unique solutions; one without clues is left alone.
      ranks: uint32[N, m], the order in which the m orbits of the pattern (for "none": the cells) are tried, lowest
        first.
      floor: int32[N], the number of clues at which removal ends.
      pattern: one of ``PATTERNS``; clues in one orbit are removed together.
      lanes: as in ``exact.search``.
      clues: the constraints of each puzzle, which the solutions satisfy; None for those of the board alone.

    Returns:
      uint8[N, cells].
    """
    orbits = jnp.asarray(orbits_of(board, pattern))
    size, width = puzzles.shape[0], orbits.shape[1]
    given = _given(board, puzzles, pattern)
    # orbits with clues come first
    turns = jnp.argsort(first_ranks(ranks, given), axis=1)
    last = given.sum(axis=1, dtype=jnp.int32)
    everyone = jnp.arange(size)[:, None]
    budget = None if search_restart(board) is None else _PROOF_BUDGET
    levels = None if budget is None else _PROOF_LEVELS * board.side
    # unless searches are split, that of a puzzle is independent of the others
    proof = functools.partial(exact.search, budget=budget, split=False, levels=levels, lanes=lanes, clues=clues)

    def turn(state: tuple[Array, Array]) -> tuple[Array, Array]:
        number, puzzles = state
        cells = orbits[lax.dynamic_index_in_dim(turns, number, axis=1, keepdims=False)]
        trial = puzzles.at[everyone, cells].set(0, mode="drop")
        active = (number < last) & (count_clues(trial) >= floor)
        searched = or_invalid(trial, active)
        if width == 1:
            # another solution must have another digit in this cell
            excluded = (
                jnp.zeros_like(puzzles)
                .at[everyone, cells]
                .set(jnp.take_along_axis(solutions, cells, axis=1), mode="drop")
            )
            found = proof(searched, board, None, excluded)
            unique = found.status == Status.UNSATISFIABLE
        else:
            found = proof(searched, board, limit=2)
            unique = (found.counts == 1) & (found.status == Status.SOLVED)
        if budget is not None:  # a longer proof might be cut off in another batch
            unique &= found.iterations < budget
        return number + 1, jnp.where((active & unique)[:, None], trial, puzzles)

    def going(state: tuple[Array, Array]) -> Array:
        number, puzzles = state
        return ((number < last) & (count_clues(puzzles) > floor)).any()

    return lax.while_loop(going, turn, (jnp.int32(0), puzzles))[1]


def restore_clues(board: Board, solutions: Array, puzzles: Array, ranks: Array, pattern: str) -> tuple[Array, Array]:
    """Restores a few clues.

    Args:
      board, solutions, puzzles, pattern: as in ``reduce_clues``.
      ranks: uint32[N, m], the order of the orbits; empty ones of lowest rank are restored.

    Returns:
      the puzzles with more clues, and bool[N, m], the orbits that had clues before.
    """
    orbits = jnp.asarray(orbits_of(board, pattern))
    given = _given(board, puzzles, pattern)
    chosen = jnp.argsort(first_ranks(ranks, ~given), axis=1)[:, :_RESTORED]
    cells = orbits[chosen].reshape(puzzles.shape[0], -1)
    digits = jnp.take_along_axis(solutions, jnp.minimum(cells, board.cells - 1), axis=1)
    return puzzles.at[jnp.arange(puzzles.shape[0])[:, None], cells].set(digits, mode="drop"), given


def first_ranks(ranks: Array, first: Array) -> Array:
    """Ranks uint32[N, m] changed so that entries with ``first`` bool[N, m] come before all others."""
    return jnp.where(first, ranks >> 1, ~(ranks >> 1))


def count_clues(puzzles: Array) -> Array:
    """The number of clues, int32[N]."""
    return (puzzles > 0).sum(axis=1, dtype=jnp.int32)


def or_invalid(puzzles: Array, wanted: Array) -> Array:
    """Replaces unwanted puzzles by INVALID ones, which need no search."""
    return jnp.where(wanted[:, None], puzzles, 255)


def _given(board: Board, puzzles: Array, pattern: str) -> Array:
    """The orbits of the pattern that have clues, bool[N, m]."""
    return puzzles[:, orbits_of(board, pattern)[:, 0]] > 0
