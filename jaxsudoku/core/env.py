"""The environment of tree searches and of reinforcement learning: positions of puzzles, and placing a digit.

All functions but ``render`` are pure, take batches of any size and may be jitted with ``board``, ``rules`` and ``end``
static. They take the data first, then the board; ``board=None`` means the classic board of the data's size.

A position holds the candidates that the rules leave, as one packed row of bits, so trees of positions stay small. An
action is a digit for the position's cell: the first cell with fewest choices, or another one that a search sets by
``State._replace(cell=...)``. Searches that place digits in any cell use ``place`` instead.

With rules "none" nothing is deduced: only actions fill cells, even cells with one candidate; a digit is legal if it
does not clash with the filled cells and no constraint excludes it; and a position is refuted once an open cell has no
legal digit, or, with ``end="board"``, once no open cell has one. Stronger rules fill what they can after every action.

An episode is one puzzle. Call ``starts = init(puzzles)`` once; ``reset`` draws episodes from it, and ``play`` is a
step with auto-reset: episodes that have ended get a new puzzle.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from typing import Literal, NamedTuple

import chex
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board, board_of_cubes, board_of_grids, board_of_words
from jaxsudoku.core.drawing import draw
from jaxsudoku.core.layouts import Family, Planes
from jaxsudoku.core.planes import (
    GROUP,
    any_of,
    count_planes,
    cubes_to_planes,
    exactly_one,
    grids_to_planes,
    nodes_to_planes,
    one_candidate,
    pad_lanes,
    planes_to_cubes,
    planes_to_grids,
    planes_to_nodes,
    slices,
    unpack_lanes,
)
from jaxsudoku.core.propagation import legal, outcome, settle
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.devices import compiler_options
from jaxsudoku.runtime.operations import fence, select

#: When a position without a solution ends with rules "none": at its first open "cell" without a legal digit, or when
#: no cell of the whole "board" has one. With stronger rules it ends at a contradiction, and only "cell" is allowed.
End = Literal["cell", "board"]


class State(NamedTuple):
    """A batch of B positions.

    Attributes:
      nodes: uint32[B, words], the packed candidates; a filled cell has its digit alone.
      cell: int32[B], the open cell that an action fills; undefined where there is none.
      refuted: bool[B], whether an action was illegal, the rules found a contradiction, maybe long after the wrong
        action, or a search has proven one. Searches also mark lanes to be skipped as refuted.
      solved: bool[B], whether all cells are filled without a contradiction.
    """

    nodes: Array
    cell: Array
    refuted: Array
    solved: Array

    @property
    def terminated(self) -> Array:
        """bool[B], whether the position is refuted or solved."""
        return self.refuted | self.solved


jax.export.register_namedtuple_serialization(State, serialized_name="jaxsudoku.core.env.State")


class Transition(NamedTuple):
    """A step of B episodes with auto-reset: those that ended have a new puzzle.

    Attributes:
      state: the positions to continue from.
      reward: float32[B], see ``reward``.
      done: bool[B], whether the episode has ended.
      last: the positions after the placements, before any new puzzle.
    """

    state: State
    reward: Array
    done: Array
    last: State


class ArraySpec(NamedTuple):
    """Specification of an array of one position: shape, dtype, minimum and maximum."""

    shape: tuple[int, ...]
    dtype: type[np.generic]
    minimum: int
    maximum: int


def num_actions(board: Board) -> int:
    """The number of placements, side * cells; ``step`` has one action for each of the ``board.side`` digits."""
    return board.candidates


def action_spec(board: Board) -> ArraySpec:
    """Specification of a placement in one position, as ``place`` takes it."""
    return ArraySpec((), np.int32, 0, num_actions(board) - 1)


def observation_spec(board: Board) -> ArraySpec:
    """Specification of the observation of one position, as ``observe`` returns it."""
    return ArraySpec((board.side, board.cells), np.bool_, 0, 1)


def init(puzzles: AnyArray, board: Board | None = None, rules: str = "singles", end: End = "cell") -> State:
    """The positions of puzzles uint8[B, cells], 0 = empty; those with invalid givens are refuted."""
    forks.check()
    board, batch = board_of_grids(np.shape(puzzles), board)
    if len(batch) != 1 or np.ndim(puzzles) != 2:
        raise ValueError(f"puzzles of shape {np.shape(puzzles)}; they must be [B, {board.cells}]")
    givens = grids_to_planes(pad_lanes(jnp.asarray(puzzles)), board)
    return _first(_settle(board, fence(givens.candidates), rules, end), len(puzzles))


def from_nodes(nodes: AnyArray, board: Board | None = None, rules: str = "singles", end: End = "cell") -> State:
    """The positions of packed candidates uint32[B, words], after the rules."""
    board = _board_of_nodes(nodes, board)
    return _first(_settle(board, _planes(board, jnp.asarray(nodes)), rules, end), len(nodes))


def reset(key: Array, starts: State, batch: int) -> State:
    """Draws a batch of initial positions from ``starts``.

    Starts that the rules solve or refute are episodes without an action; to leave them out, choose the others on the
    host: ``jax.tree.map(lambda leaf: leaf[~starts.terminated], starts)``.
    """
    drawn = jax.random.randint(key, (batch,), 0, len(starts.cell))
    return State(*(jnp.asarray(leaf)[drawn] for leaf in starts))


def step(
    state: State, action: AnyArray, board: Board | None = None, rules: str = "singles", end: End = "cell"
) -> State:
    """Places a digit in the position's cell, then applies the rules until nothing changes.

    Args:
      state: the positions.
      action: int32[B], the digits, counted from 0. An illegal one leads to a refuted position.
      board: the board; None for the classic one of the state's size.
      rules: one of ``tuning.RULES``.
      end: when a position without a solution ends; "board" with rules "none" alone.

    Returns:
      the next positions; terminated ones stay as they are.

    Raises:
      ValueError: the state or the action has no batch axis, or does not fit the board; or ``end="board"`` with rules.
    """
    board = _board_of_state(state, board)
    action = _integers(state, "action", action)
    return place(state, action * board.cells + state.cell, board, rules, end)


def place(
    state: State, placement: AnyArray, board: Board | None = None, rules: str = "singles", end: End = "cell"
) -> State:
    """Places digits in any cells, ``placement`` int32[B] = digit * cells + cell, counted from 0; else as ``step``."""
    board = _board_of_state(state, board)
    placement = _integers(state, "placement", placement)
    there = state._replace(cell=placement % board.cells)
    others = jnp.arange(board.side) != (placement // board.cells)[:, None]
    nodes = exclude(there, others, board)
    after = from_nodes(nodes, board, rules, end)
    repeated = (nodes == state.nodes).all(axis=1)  # the cell is filled, with this digit
    return select(state.terminated, state, after._replace(refuted=after.refuted | repeated))


def reward(before: State, after: State) -> Array:
    """The reward of the step between two positions: float32[B], 1 where it solved the puzzle, else 0."""
    return (after.solved & ~before.solved).astype(jnp.float32)


def play(
    key: Array,
    state: State,
    placement: AnyArray,
    starts: State,
    board: Board | None = None,
    rules: str = "singles",
    end: End = "cell",
) -> Transition:
    """Places digits; episodes that have ended restart from one of ``starts``, drawn by the key (auto-reset)."""
    last = place(state, placement, board, rules, end)
    fresh = reset(key, starts, len(state.cell))
    return Transition(select(last.terminated, fresh, last), reward(state, last), last.terminated, last)


def exclude(state: State, digits: AnyArray, board: Board | None = None) -> Array:
    """The packed candidates uint32[B, words] without digits bool[B, side] of the position's cell; applies no rule."""
    board = _board_of_state(state, board)
    _check_batch(state, "digits", digits, board.side)
    nodes = state.nodes
    for digit in range(board.side):
        gone = one_candidate(digit * board.cells + state.cell, board)
        nodes &= ~jnp.where(digits[:, digit, None], gone, jnp.uint32(0))
    return nodes


def legal_action_mask(state: State, board: Board | None = None) -> Array:
    """The digits that may be placed in the position's cell: bool[B, side]."""
    board = _board_of_state(state, board)
    return jnp.take_along_axis(legal_placement_mask(state, board), state.cell[:, None, None], axis=2)[:, :, 0]


def legal_placement_mask(state: State, board: Board | None = None) -> Array:
    """The candidates of open cells that neither a filled cell nor a constraint excludes: bool[B, side, cells]."""
    board = _board_of_state(state, board)
    planes = _planes(board, state.nodes)
    return planes_to_cubes(_of_open_cells(planes, legal(planes, board)), board)[: len(state.cell)]


def observe(state: State, board: Board | None = None) -> Array:
    """The input of networks: the candidates, bool[B, side, cells]."""
    board = _board_of_state(state, board)
    return unpack(state.nodes, board)


def unpack(nodes: AnyArray, board: Board | None = None) -> Array:
    """Packed candidates uint32[B, words] as bool[B, side, cells]."""
    board = _board_of_nodes(nodes, board)
    return planes_to_cubes(_planes(board, jnp.asarray(nodes)), board)[: len(nodes)]


def pack(cubes: AnyArray, board: Board | None = None) -> Array:
    """Candidates bool[B, side, cells], packed: uint32[B, words]."""
    board = board_of_cubes(np.shape(cubes), board)
    chex.assert_type(cubes, bool)
    padded = pad_lanes(jnp.asarray(cubes))
    return planes_to_nodes(fence(cubes_to_planes(padded, board)), board).T[: len(cubes)]


def grids(state: State, board: Board | None = None) -> Array:
    """The digits of the filled cells, 0 elsewhere: uint8[B, cells]."""
    board = _board_of_state(state, board)
    planes = _planes(board, state.nodes)
    filled = fence(exactly_one(slices(planes, 0)))
    return planes_to_grids(fence(planes & filled[None]), board)[: len(state.cell)]


def render(state: State, board: Board | None = None) -> list[str]:
    """The positions as texts, drawn on the host by ``js.draw``; ``js.picture`` draws what ``grids`` gives."""
    board = _board_of_state(state, board)
    return [draw(grid, board) for grid in np.asarray(_grids()(state, board))]


@functools.cache
def _grids() -> Callable[[State, Board], Array]:
    """``grids``, compiled; made on first use, as its options depend on the backend."""
    return jax.jit(grids, static_argnums=1, compiler_options=compiler_options())


def _board_of_state(state: State, board: Board | None) -> Board:
    """The board of positions; raises ValueError if they have no batch axis, or do not fit the board."""
    board = _board_of_nodes(state.nodes, board)
    _check_batch(state, "cell", state.cell)
    chex.assert_type(state.nodes, jnp.uint32)
    chex.assert_equal_shape([state.cell, state.refuted, state.solved])
    return board


def _board_of_nodes(nodes: AnyArray, board: Board | None) -> Board:
    forks.check()
    board = board_of_words(nodes.shape[-1] if nodes.ndim else 0, board)
    if nodes.ndim != 2:
        raise ValueError(
            f"nodes of shape {tuple(nodes.shape)}; they must be [B, {board.words}]: a single position needs a batch "
            "axis, as jax.tree.map(lambda leaf: leaf[None], state) gives it"
        )
    return board


def _integers(state: State, name: str, values: AnyArray) -> Array:
    """Integers [B] as int32: numbers of candidates would overflow a narrower type such as that of grids."""
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


def _settle(board: Board, planes: Array, rules: str, end: End) -> State:
    """The state of candidates uint32[side, side, side, W] after the rules."""
    if end not in typing.get_args(End) or (end == "board" and rules != "none"):
        raise ValueError(f'end={end!r} with rules={rules!r}; it is "cell", or "board" with rules "none"')
    planes, refuted, solved = settle(planes, board, rules)
    # A cell or house may have candidates but no legal digit: rules "none" never remove candidates, and with other rules
    # a cell with two hidden singles keeps both, even if they clash with filled cells.
    layout = Planes(board)
    free = fence(legal(planes, board))
    choices = _of_open_cells(planes, free)
    if end == "board":
        playable = any_of(layout.members(layout.view(choices), Family.CELL))
        refuted |= ~(layout.somewhere(playable, Family.CELL) | solved)
    elif rules == "none":  # a house without a place for a digit would be a deduction
        empty = ~any_of(layout.members(layout.view(free), Family.CELL))
        refuted |= layout.somewhere(empty, Family.CELL)
    else:
        refuted |= outcome(free, board)[0]
    return State(
        planes_to_nodes(planes, board).T,
        _fewest(board, choices),
        unpack_lanes(refuted),
        unpack_lanes(solved & ~refuted),
    )


def _of_open_cells(planes: Array, free: Array) -> Array:
    """The free candidates in cells with several candidates in the planes."""
    is_open = fence(~exactly_one(slices(planes, 0)))
    return fence(free & is_open[None])


def _fewest(board: Board, choices: Array) -> Array:
    """The first of the open cells with fewest choices: int32[B]."""
    counts = count_planes(slices(choices.reshape(board.side, board.cells, 1, -1), 0))
    lane = np.arange(GROUP, dtype=np.uint32)[:, None]
    # one number a lane: its cells are not unrolled, as a wide board has many
    count = any_of([(fence(bits) >> lane & 1).astype(jnp.int32) << at for at, bits in enumerate(counts)])
    rank = count * board.cells + np.arange(board.cells, dtype=np.int32)[:, None, None]  # [cells, 32, W]
    least = jnp.where(count > 0, rank, (board.side + 1) * board.cells).min(axis=0)
    return (least % board.cells).reshape(-1)


def _planes(board: Board, nodes: Array) -> Array:
    """Nodes uint32[B, words] as planes, padded to whole words of lanes."""
    return nodes_to_planes(pad_lanes(nodes).T, board)


def _first(state: State, size: int) -> State:
    return State(*(leaf[:size] for leaf in state))
