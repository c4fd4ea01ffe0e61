"""Positions to train on, made on the device from puzzles and their solutions.

A position is a puzzle with some more cells filled in as the solution has them, and with what rules leave of its
candidates, as a solver meets it. In some a wrong candidate is then taken as well, so that the value learns which
positions are dead, and the rules run again. Positions that they solve or refute make way for others, as no network will
be asked about them.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.planes import GROUP, cubes_to_planes, grids_to_cubes, planes_to_cubes, unpack_lanes
from jaxsudoku.propagation import RULES, settle


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
        if not (0 < self.share < math.inf and 0 <= self.filled < math.inf and 0 <= self.wrong <= 1):
            raise ValueError(f"{self}: share must be above 0, filled at least 0, wrong between 0 and 1")


class Positions(NamedTuple):
    """Positions and what is right there.

    Attributes:
      candidates: bool[B, side, cells], what the network sees.
      truth: bool[B, side, cells], the solution of the puzzle.
      alive: bool[B], whether that is a solution of the position too.
      useful: bool[B], whether rules leave anything to be told; false where too few such positions were found, and
        nothing else there means anything.
    """

    candidates: Array
    truth: Array
    alive: Array
    useful: Array


def make_positions(
    board: Board, key: Array, puzzles: Array, solutions: Array, preference: Array, kind: Kind, size: int
) -> Positions:
    """Makes positions of one kind from more puzzles than positions, at most one of each puzzle.

    Args:
      board: the board.
      key: a JAX key.
      puzzles: uint8[N, cells], N at least ``size`` and a multiple of 32; each has exactly one solution.
      solutions: uint8[N, cells].
      preference: float32[N], log-weights by which puzzles are drawn among those that make a useful position.
      kind: how they are made.
      size: how many.
    """
    filling, erring, choosing, drawing = jax.random.split(key, 4)
    truth = grids_to_cubes(solutions, board)
    filled = jnp.where(_some(filling, puzzles == 0, kind.filled), solutions, puzzles)
    candidates, refuted, solved = settled_cubes(board, grids_to_cubes(filled, board), kind.rules)
    useful = ~refuted & ~solved
    alive = jnp.ones(useful.shape, bool)
    if kind.wrong:
        wrong, refuted, solved = settled_cubes(board, one_wrong(erring, candidates, truth), kind.rules)
        agrees = (wrong & truth).any(axis=1).all(axis=1)
        erred = jax.random.bernoulli(choosing, kind.wrong, useful.shape) & useful & ~refuted & ~solved & ~agrees
        candidates, alive = jnp.where(erred[:, None, None], wrong, candidates), ~erred
    score = preference + jax.random.gumbel(drawing, useful.shape)
    _, chosen = jax.lax.top_k(jnp.where(useful, score, -jnp.inf), size)
    return Positions(candidates[chosen], truth[chosen], alive[chosen], useful[chosen])


def settled_cubes(board: Board, cubes: Array, rules: str) -> tuple[Array, Array, Array]:
    """What rules leave of candidates bool[B, side, cells], and which are refuted and which solved, bool[B]."""
    planes, refuted, solved = settle(cubes_to_planes(cubes, board), board, rules)
    return planes_to_cubes(planes, board), unpack_lanes(refuted), unpack_lanes(solved)


def one_wrong(key: Array, cubes: Array, truth: Array) -> Array:
    """The positions with a random wrong candidate taken in a random open cell, where there is one."""
    open_cells = cubes.sum(axis=1, keepdims=True) > 1
    choices = cubes & ~truth & open_cells
    score = jnp.where(choices, jax.random.uniform(key, cubes.shape), -1.0).reshape(cubes.shape[0], -1)
    taken = jax.nn.one_hot(score.argmax(axis=1), score.shape[1], dtype=bool).reshape(cubes.shape) & choices
    return jnp.where(taken.any(axis=1, keepdims=True), taken, cubes)


def _some(key: Array, cells: Array, mean: float) -> Array:
    """Some of the cells bool[N, cells]: of each row a geometrically distributed number, as far as there are so many."""
    if not mean:
        return jnp.zeros_like(cells)
    number_key, order_key = jax.random.split(key)
    # rounded down, an exponential variable of this scale has the mean that is wanted
    scale = 1 / math.log1p(1 / mean)
    number = jnp.floor(jax.random.exponential(number_key, (cells.shape[0], 1)) * scale)
    order = jnp.where(cells, jax.random.uniform(order_key, cells.shape), 2.0)
    rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
    return cells & (rank < number)


def padded(size: int) -> int:
    """The next multiple of the lanes in a word."""
    return -(-size // GROUP) * GROUP
