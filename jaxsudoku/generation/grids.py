"""Random solved grids.

On small boards each lane takes random candidates until its grid is full, and starts again at a contradiction. There is
no stack: with rules applied between the choices few descents fail (one in thirty on 9x9), so starting again is cheaper
than backtracking. On large boards and boards with constraints, on which most descents fail, the exact search with
restarts solves empty boards with digits in a random order; its first run may visit as many nodes as the board has
cells, as filling an empty board takes most of these. A grid depends only on its seed, not on the batch.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import exact, symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.core.branching import choose, random_planes
from jaxsudoku.core.layouts import Planes
from jaxsudoku.core.planes import GROUP, any_of, pack_lanes, planes_to_grids, slices, unpack_lanes, where
from jaxsudoku.core.propagation import outcome, sweep
from jaxsudoku.core.tuning import CPU_LANES, search_restart
from jaxsudoku.generation.reduction import or_invalid
from jaxsudoku.generation.requests import random_bits
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.random import APART, mix

#: Rounds of the rules between two choices, and the rules: the fastest combination on 9x9.
_ROUNDS, _RULES = 3, "singles"
#: Steps, or nodes, per candidate of the board after which the board is assumed to have no solved grid.
_PATIENCE = 32
#: A pass ends when all but one in this many of its lanes are full; the rest restart together in new blocks.
_STRAGGLERS = 16


def solved_grids(board: Board, keys: Array, symmetry_keys: Array, wanted: Array, lanes: int | None = None) -> Array:
    """``random_grids`` under random symmetries of the board, uniform over the whole group.

    Args:
      board: the board.
      keys, symmetry_keys: random keys [N] of the grids and of the symmetries.
      wanted: bool[N]; other rows are zeros. At the end of the batch they take no time on large boards.
      lanes: as in ``random_grids``.

    Returns:
      uint8[N, cells], zeros if the board has no solved grid.
    """
    grids = random_grids(board, random_bits(keys, 2), lanes, wanted)
    chosen = jax.vmap(lambda key: symmetry.sample(key, board))(symmetry_keys)
    return jnp.where((wanted & grids.any(axis=1))[:, None], symmetry.apply(chosen, grids), 0)


def random_grids(board: Board, seeds: Array, lanes: int | None = None, wanted: Array | None = None) -> Array:
    """Solved grids uint8[N, cells], each from its seed uint32[N, 2]; pure, with all arguments but arrays static.

    The distribution is not uniform: early digits and cells in the order of ``choose`` are slightly favoured, which a
    random symmetry corrects, and grids that few descents lead to are rarer. A board on which no descent succeeds gives
    zeros.

    Args:
      board: the board.
      seeds: uint32[N, 2]; different seeds give different grids, if there are enough grids.
      lanes: grids made together, a multiple of 32; None for as many as suit a CPU.
      wanted: bool[N], the grids that are needed, others may be zeros; None for all.
    """
    size = seeds.shape[0]
    if board.constraints or search_restart(board) is not None:
        orders = jnp.maximum(mix(seeds[:, 0]) ^ seeds[:, 1], 1)  # 0 would be the fixed order
        blank = jnp.zeros((size, board.cells), jnp.uint8)
        blank = blank if wanted is None else or_invalid(blank, wanted)
        budget = _PATIENCE * board.candidates
        return exact.search(blank, board, orders, restart=board.cells, split=False, budget=budget, lanes=lanes).grids
    lanes = lanes or CPU_LANES
    blocks = -(-size // lanes)
    everyone = jnp.arange(blocks * lanes, dtype=jnp.int32)

    def one_pass(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        grids, waiting, left, _ = state
        last = left <= lanes  # the last block runs until all its grids are full

        def block(number: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            grids, missing = state
            index = lax.dynamic_slice(waiting, (number * lanes,), (lanes,))
            wanted = (number * lanes + jnp.arange(lanes, dtype=jnp.int32) < left) & (index < size)
            found, full = _descend(board, seeds.at[index].get(mode="clip"), wanted, last)
            target = jnp.where(full & wanted, index, size)
            return grids.at[target].set(found, mode="drop"), missing.at[target].set(False, mode="drop")

        grids, missing = lax.fori_loop(0, -(-left // lanes), block, (grids, ~grids.any(axis=1)))
        # indices of grids that are missing, in order
        place = jnp.where(missing, jnp.cumsum(missing) - 1, everyone.shape[0])
        waiting = jnp.full(everyone.shape, size, jnp.int32).at[place].set(everyone[:size], mode="drop")
        still = missing.sum(dtype=jnp.int32)
        return grids, waiting, still, last | (still == left)

    start = (jnp.zeros((size, board.cells), jnp.uint8), everyone, jnp.int32(size), jnp.bool_(False))
    return lax.while_loop(lambda state: (state[2] > 0) & ~state[3], one_pass, start)[0]


def _descend(board: Board, seeds: Array, wanted: Array, to_the_end: Array) -> tuple[Array, Array]:
    """Fills grids by random descents: uint8[B, cells], and whether they are full, bool[B]; undefined if not wanted."""
    lanes, side = seeds.shape[0], board.side
    blank = fence(jnp.full((side, side, side, lanes // GROUP), np.uint32(0xFFFFFFFF)))
    unwanted = pack_lanes(~wanted)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        planes, number, _ = state
        turn = number.astype(jnp.uint32)
        seed = mix(seeds[:, 0] + turn * APART) ^ mix(seeds[:, 1] + turn * np.uint32(0x85EBCA6B))
        for _ in range(_ROUNDS - 1):
            planes = sweep(Planes(board), planes, _RULES)
        settled = sweep(Planes(board), planes, _RULES)
        by_cell = fence(any_of(slices(settled ^ planes, 0)))
        changed = any_of(slices(fence(any_of(slices(by_cell, 0))), 0))
        contradictory, solved = fence(outcome(settled, board))
        literal = choose(board, settled, random_planes(board, seed)).reshape(3, side, -1)
        cell = fence(literal[1][:, None] & literal[2][None])
        others = cell[None] & ~literal[0][:, None, None] & fence(~contradictory & ~solved & ~changed)
        planes = fence(where(contradictory, blank, settled & ~others))
        return planes, number + 1, solved

    def going(state: tuple[Array, Array, Array]) -> Array:
        _, number, solved = state
        open_lanes = lax.population_count(~(solved | unwanted)).sum()
        enough = jnp.where(to_the_end, 0, lanes // _STRAGGLERS)
        return (open_lanes > enough) & (number < _PATIENCE * board.candidates)

    start = (blank, jnp.int32(0), jnp.zeros(lanes // GROUP, jnp.uint32))
    planes, _, solved = lax.while_loop(going, step, start)
    return planes_to_grids(planes, board), unpack_lanes(solved)
