"""Positions to train on, made on the device from puzzles and their solutions.

A position is a puzzle with some more cells filled in, as a solver meets it: mostly as the solution has them, sometimes
with one wrong digit among them, so that the value learns which positions are dead. Rules then settle what they can, and
positions that they solve or refute are replaced by others, as no network will be asked about them.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.planes import GROUP, cubes_to_planes, grids_to_cubes, planes_to_cubes, unpack_lanes
from jaxsudoku.propagation import RULES, outcome, propagate


@dataclasses.dataclass(frozen=True)
class Kind:
    """How the positions of a part of a batch are made.

    Attributes:
      rules: what is deduced before the network looks: none, naked, singles or locked, to the end.
      share: the part of the batch, relative to the other kinds.
      filled: mean number of cells filled in.
      wrong: share of positions with a wrong digit, as far as rules leave such ones.
    """

    rules: str = "locked"
    share: float = 1.0
    filled: float = 2.0
    wrong: float = 0.2

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise ValueError(f"unknown rules {self.rules!r}: choose one of {', '.join(RULES)}")
        if self.share <= 0 or self.filled < 0 or not 0 <= self.wrong <= 1:
            raise ValueError(f"{self}: share must be above 0, filled at least 0, wrong between 0 and 1")


class Positions(NamedTuple):
    """Positions and what is right there.

    Attributes:
      candidates: bool[B, side, cells], what the network sees.
      truth: bool[B, side, cells], the solution of the puzzle.
      alive: bool[B], whether that is a solution of the position too.
      useful: bool[B], whether rules leave anything to be told; false where too few such positions were found.
    """

    candidates: Array
    truth: Array
    alive: Array
    useful: Array


def make_positions(
    board: Board, key: Array, puzzles: Array, solutions: Array, preference: Array, kind: Kind, size: int
) -> Positions:
    """Makes positions of one kind from more puzzles than positions, at most one of each.

    Args:
      board: the board.
      key: a JAX key.
      puzzles: uint8[N, cells], N at least ``size`` and a multiple of 32.
      solutions: uint8[N, cells].
      preference: float32[N], log-weights by which puzzles are drawn among those that make a useful position.
      kind: how they are made.
      size: how many.
    """
    filling, erring, choosing, drawing = jax.random.split(key, 4)
    truth = _digits(board, solutions)
    cubes = grids_to_cubes(board, jnp.where(_some(filling, puzzles == 0, kind.filled), solutions, puzzles))
    right, refuted, solved = settle(board, cubes, kind.rules)
    alive = jnp.ones(puzzles.shape[0], bool)
    useful = ~refuted & ~solved
    if kind.wrong:
        wrong, wrong_refuted, _ = settle(board, one_wrong(erring, right, truth), kind.rules)
        err = jax.random.bernoulli(choosing, kind.wrong, alive.shape) & useful & ~wrong_refuted
        err &= (wrong & ~truth).any(axis=(1, 2)) & ~((wrong & truth).any(axis=1).all(axis=1))
        right, alive = jnp.where(err[:, None, None], wrong, right), ~err
    score = preference + jax.random.gumbel(drawing, useful.shape)
    _, chosen = jax.lax.top_k(jnp.where(useful, score, -jnp.inf), size)
    return Positions(right[chosen], truth[chosen], alive[chosen], useful[chosen])


def settle(board: Board, cubes: Array, rules: str) -> tuple[Array, Array, Array]:
    """What rules leave of candidates bool[B, side, cells], and which are refuted and which solved, bool[B]."""
    planes = propagate(board, cubes_to_planes(board, cubes), rules)
    refuted, solved = outcome(board, planes)
    return planes_to_cubes(board, planes), unpack_lanes(refuted), unpack_lanes(solved)


def one_wrong(key: Array, cubes: Array, truth: Array) -> Array:
    """The positions with a random wrong candidate taken in a random open cell, where there is one."""
    open_cells = cubes.sum(axis=1, keepdims=True) > 1
    choices = cubes & ~truth & open_cells
    score = jnp.where(choices, jax.random.uniform(key, cubes.shape), -1.0).reshape(cubes.shape[0], -1)
    taken = jax.nn.one_hot(score.argmax(axis=1), score.shape[1], dtype=bool).reshape(cubes.shape) & choices
    return jnp.where(taken.any(axis=1, keepdims=True), taken, cubes)


def _some(key: Array, cells: Array, mean: float) -> Array:
    """Some of the cells bool[N, cells]: their number is drawn from an exponential distribution."""
    number_key, order_key = jax.random.split(key)
    number = jnp.floor(jax.random.exponential(number_key, (cells.shape[0], 1)) * (mean + 0.5))
    order = jnp.where(cells, jax.random.uniform(order_key, cells.shape), 2.0)
    rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
    return cells & (rank < number)


def _digits(board: Board, solutions: Array) -> Array:
    return grids_to_cubes(board, solutions) & (solutions != 0)[:, None]


def padded(size: int) -> int:
    """The next multiple of the lanes in a word."""
    return -(-size // GROUP) * GROUP
