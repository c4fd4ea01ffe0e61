"""The game that a search plays: positions of puzzles, and what taking a digit in the named cell makes of them.

All functions are pure, work on batches of any size and may be jitted with ``board`` and ``rules`` static. They take the
data first, then the board; without one it is the classic board of the data's size. A position is
what a solver knows of a puzzle: the candidates that are left after the rules, one packed row of bits, so a tree of
positions stays small. An action takes a digit in the one cell that the position names: the first with fewest
choices, until whoever searches names another (``State._replace(cell=...)``). Searches that place digits in any order
act by ``place`` instead.

With rules "none" nothing is ever deduced: a cell is filled by an action alone, even where one digit is left for it, and
``legal`` is what does not clash with the filled cells. Stronger rules fill what they can after every action.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.arrays import AnyArray
from jaxsudoku.board import Board, board_of_cubes, board_of_grids, board_of_words
from jaxsudoku.branching import fewest
from jaxsudoku.planes import (
    GROUP,
    any_of,
    count_planes,
    cubes_to_planes,
    exactly_one,
    fence,
    first_of,
    grids_to_planes,
    nodes_to_planes,
    planes_to_cubes,
    planes_to_grids,
    planes_to_nodes,
    slices,
    unpack_lanes,
)
from jaxsudoku.propagation import outcome, settle, singles

_Tree = TypeVar("_Tree")


class State(NamedTuple):
    """Positions, B of them.

    Attributes:
      nodes: uint32[B, words], the candidates that are left, packed; of a filled cell its digit alone.
      cell: int32[B], the open cell that an action is about; nothing sensible where there is none.
      dead: bool[B], whether the rules found a contradiction; a position without a solution may look alive for long.
      solved: bool[B], whether every cell is filled, and rightly so.
    """

    nodes: Array
    cell: Array
    dead: Array
    solved: Array


jax.export.register_namedtuple_serialization(State, serialized_name="jaxsudoku.env.State")


def root(puzzles: AnyArray, board: Board | None = None, rules: str = "singles") -> State:
    """The positions of puzzles uint8[B, cells], 0 = empty; those with clashing or foreign givens are dead."""
    board, batch = board_of_grids(np.shape(puzzles), board)
    if len(batch) != 1 or np.ndim(puzzles) != 2:
        raise ValueError(f"puzzles of shape {np.shape(puzzles)}; they must be [B, {board.cells}]")
    givens = grids_to_planes(_padded(jnp.asarray(puzzles)), board)
    return _first(_settled(board, fence(givens.candidates), rules), len(puzzles))


def settled(nodes: AnyArray, board: Board | None = None, rules: str = "singles") -> State:
    """The positions that the rules make of candidates, packed as uint32[B, words]."""
    board = _board_of_nodes(nodes, board)
    return _first(_settled(board, _planes(board, jnp.asarray(nodes)), rules), len(nodes))


def step(state: State, action: AnyArray, board: Board | None = None, rules: str = "singles") -> State:
    """Takes a digit in the named cell, then applies the rules to the end.

    Args:
      state: positions.
      action: int32[B], the digits, counted from 0. One that is not legal makes a dead position.
      board: the board; None for the classic one of the state's size.
      rules: one of ``propagation.RULES``.

    Returns:
      the positions after. Of one that was dead or solved, the same.

    Raises:
      ValueError: the state or the action has no batch axis, or does not fit the board.
    """
    board = _board_of_state(state, board)
    action = _integers(state, "action", action)
    return place(state, action * board.cells + state.cell, board, rules)


def place(state: State, placement: AnyArray, board: Board | None = None, rules: str = "singles") -> State:
    """Takes the candidate ``placement`` int32[B] = digit * cells + cell, counted from 0; otherwise as ``step``."""
    board = _board_of_state(state, board)
    placement = _integers(state, "placement", placement)
    named = state._replace(cell=placement % board.cells)
    others = jnp.arange(board.side) != (placement // board.cells)[:, None]
    after = settled(without(named, others, board), board, rules)
    over = state.dead | state.solved
    return where(over, state, after)


def where(condition: Array, first: _Tree, second: _Tree) -> _Tree:
    """Lane by lane the leaves of the first where the condition bool[B] holds, else those of the second."""

    def chosen(x: Array, y: Array) -> Array:
        return jnp.where(condition.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(chosen, first, second)


def without(state: State, digits: AnyArray, board: Board | None = None) -> Array:
    """The packed candidates but for some digits, bool[B, side], of the named cell; no rule runs: uint32[B, words]."""
    board = _board_of_state(state, board)
    _check_batch(state, "digits", digits, board.side)
    nodes = state.nodes
    for digit in range(board.side):
        gone = _literals(board, digit * board.cells + state.cell)
        nodes &= ~jnp.where(digits[:, digit, None], gone, jnp.uint32(0))
    return nodes


def legal(state: State, board: Board | None = None) -> Array:
    """The digits that may be taken in the named cell: bool[B, side]."""
    board = _board_of_state(state, board)
    return jnp.take_along_axis(placements(state, board), state.cell[:, None, None], axis=2)[:, :, 0]


def placements(state: State, board: Board | None = None) -> Array:
    """The candidates of open cells that do not clash with a filled one, bool[B, side, cells]."""
    board = _board_of_state(state, board)
    planes = _planes(board, state.nodes)
    return planes_to_cubes(_choices(board, planes), board)[: len(state.cell)]


def observe(state: State, board: Board | None = None) -> Array:
    """What a network sees: the candidates, bool[B, side, cells]."""
    board = _board_of_state(state, board)
    return cubes(state.nodes, board)


def cubes(nodes: AnyArray, board: Board | None = None) -> Array:
    """Packed candidates uint32[B, words] as bool[B, side, cells]."""
    board = _board_of_nodes(nodes, board)
    return planes_to_cubes(_planes(board, jnp.asarray(nodes)), board)[: len(nodes)]


def packed(cubes: AnyArray, board: Board | None = None) -> Array:
    """Candidates bool[B, side, cells], packed: uint32[B, words]."""
    board = board_of_cubes(np.shape(cubes), board)
    padded = _padded(jnp.asarray(cubes))
    return planes_to_nodes(fence(cubes_to_planes(padded, board)), board).T[: len(cubes)]


def grids(state: State, board: Board | None = None) -> Array:
    """The digits of the filled cells, 0 elsewhere: uint8[B, cells]."""
    board = _board_of_state(state, board)
    planes = _planes(board, state.nodes)
    filled = fence(exactly_one(slices(planes, 0)))
    return planes_to_grids(fence(planes & filled[None]), board)[: len(state.cell)]


def _board_of_state(state: State, board: Board | None) -> Board:
    """The board of positions; raises ValueError where they have no batch axis, or are none of the board."""
    board = _board_of_nodes(state.nodes, board)
    _check_batch(state, "cell", state.cell)
    return board


def _board_of_nodes(nodes: AnyArray, board: Board | None) -> Board:
    board = board_of_words(nodes.shape[-1] if nodes.ndim else 0, board)
    if nodes.ndim != 2:
        raise ValueError(
            f"nodes of shape {tuple(nodes.shape)}; they must be [B, {board.words}]: a single position needs a batch "
            "axis, as jax.tree.map(lambda leaf: leaf[None], state) gives it"
        )
    return board


def _integers(state: State, name: str, values: AnyArray) -> Array:
    """Integers [B] as int32: in a narrower type, as grids have, numbers of candidates would overflow."""
    values = jnp.asarray(values)
    if not jnp.issubdtype(values.dtype, jnp.integer):
        raise ValueError(f"{name} of dtype {values.dtype}; it must be of integers")
    _check_batch(state, name, values)
    return values.astype(jnp.int32)


def _check_batch(state: State, name: str, values: AnyArray, *axes: int) -> None:
    wanted = (state.nodes.shape[0], *axes)
    if np.shape(values) != wanted:
        raise ValueError(
            f"{name} of shape {np.shape(values)}; it must be {list(wanted)}, as the state has {wanted[0]} rows"
        )


# ---------------------------------------------------------------------- on planes


def _settled(board: Board, planes: Array, rules: str) -> State:
    """The state that the rules make of candidates uint32[side, side, side, W]."""
    planes, dead, solved = settle(planes, board, rules)
    # A cell or a house may have no choice left though it has candidates: with rules "none" those are untouched, with
    # others a cell that two digits must take keeps both, even where they clash with filled cells.
    free = fence(singles(planes, board, hidden=False))
    dead |= outcome(free, board)[0]
    return State(
        planes_to_nodes(planes, board).T,
        _fewest(board, _of_open_cells(planes, free)),
        unpack_lanes(dead),
        unpack_lanes(solved & ~dead),
    )


def _choices(board: Board, planes: Array) -> Array:
    """The candidates of open cells that do not clash with a filled one."""
    return _of_open_cells(planes, singles(planes, board, hidden=False))


def _of_open_cells(planes: Array, free: Array) -> Array:
    """The free candidates of cells that have several in the planes."""
    is_open = fence(~exactly_one(slices(planes, 0)))
    return fence(free & is_open[None])


def _fewest(board: Board, choices: Array) -> Array:
    """The open cell with fewest choices, the first of them: int32[B]."""
    choices = choices.reshape(board.side, board.cells, -1)
    by_digit = slices(choices, 0)
    chosen = first_of(fewest(count_planes(by_digit), fence(any_of(by_digit))))
    number = jnp.zeros(GROUP * chosen.shape[-1], jnp.int32)
    for digit in range((board.cells - 1).bit_length()):
        bit = any_of([chosen[cell] for cell in range(board.cells) if cell >> digit & 1])
        number |= unpack_lanes(bit).astype(jnp.int32) << digit
    return number


def _literals(board: Board, placement: Array) -> Array:
    """Each lane's candidate alone, packed: uint32[B, words]."""
    word = np.arange(board.words, dtype=np.int32)
    bit = jnp.uint32(1) << (placement % GROUP).astype(jnp.uint32)
    return jnp.where(word == (placement // GROUP)[:, None], bit[:, None], jnp.uint32(0))


def _planes(board: Board, nodes: Array) -> Array:
    """Nodes uint32[B, words] as planes, filled up with empty lanes."""
    return nodes_to_planes(_padded(nodes).T, board)


def _padded(rows: Array) -> Array:
    """The rows, filled up to whole words of lanes, one at least."""
    missing = -len(rows) % GROUP if len(rows) else GROUP
    return jnp.pad(rows, ((0, missing), *((0, 0) for _ in rows.shape[1:])))


def _first(state: State, size: int) -> State:
    return State(*(leaf[:size] for leaf in state))
