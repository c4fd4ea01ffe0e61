"""Static arguments and results of exact searches."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax.export
import jax.numpy as jnp
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.branching import Branch
from jaxsudoku.core.planes import GROUP, group_axes
from jaxsudoku.engine.solution import Status


@dataclasses.dataclass(frozen=True)
class Plan:
    """The static arguments of a search.

    Attributes:
      board: the board.
      limit: maximum number of solutions to find.
      config: the settings, a resolved ``ExactConfig``.
    """

    board: Board
    limit: int
    config: Any

    @property
    def lanes(self) -> int:
        """Nodes in a step."""
        return int(self.config.lanes)


@dataclasses.dataclass(frozen=True)
class StackPlan(Plan):
    """The static arguments of a search without restarts.

    Attributes:
      branch: chooses the literals to branch on; None for ``branching.choose``.
      guided_branches: maximum number of nodes of a puzzle for which ``branch`` chooses, checked between steps;
        ``choose`` takes over after that. None for no limit.
    """

    branch: Branch | None = None
    guided_branches: int | None = None

    @property
    def groups(self) -> tuple[int, ...]:
        """The shape of the lanes' words in planes."""
        return group_axes(self.lanes // GROUP)

    @property
    def store_block(self) -> int:
        """Number of solved nodes stored at a time on a CPU: a small part of a block, as most steps solve few lanes."""
        return max(self.lanes // 16, GROUP)

    @property
    def capacity(self) -> int:
        """Number of nodes above the roots at which a step pops only one; it has room for a whole block to descend."""
        return max(3 * self.board.side * self.lanes, 1 << 16)

    @property
    def room(self) -> int:
        """Columns above the roots: the capacity, a depth-first descent from it, and the two blocks of a step."""
        return self.capacity + self.board.candidates + 2 * self.lanes


class Settled(NamedTuple):
    """Nodes after a few rounds of the rules.

    Attributes:
      nodes: the remaining nodes, in parts uint32[m, B], with a literal to exclude in the lanes that branch.
      solutions: uint32[solution_words, B], those of the solved lanes.
      solved: uint32[W].
      unfinished: uint32[W], the lanes that are neither solved nor contradictory.
      branching: uint32[W], those of them in which the rules make no more progress.
      guided: uint32[W], those of them whose literal the plan's ``branch`` chose, if there is one.
    """

    nodes: list[Array]
    solutions: Array
    solved: Array
    unfinished: Array
    branching: Array
    guided: Array


class SearchResult(NamedTuple):
    """Results of an exact search for N puzzles.

    Attributes:
      grids: uint8[N, cells], the first solution found, zeros where there is none.
      status: int8[N], one of ``Status``.
      counts: int32[N], solutions found, at most ``limit``.
      iterations: int32[N], nodes visited.
    """

    grids: Array
    status: Array
    counts: Array
    iterations: Array


jax.export.register_namedtuple_serialization(SearchResult, serialized_name="jaxsudoku.exact.SearchResult")


def verdict(plan: Plan, invalid: Array, solutions: Array, spent: Array) -> tuple[Array, Array]:
    """The status int8[N] and count int32[N] of each puzzle.

    Args:
      plan: the static arguments.
      invalid: bool[N], puzzles with invalid givens.
      solutions: int32[N], solutions found.
      spent: bool[N], puzzles whose search left nodes out.
    """
    counts = jnp.where(invalid, 0, jnp.minimum(solutions, plan.limit))
    status = jnp.select(
        [invalid, counts > 0, spent],
        [jnp.int8(Status.INVALID), jnp.int8(Status.SOLVED), jnp.int8(Status.UNSOLVED)],
        jnp.int8(Status.UNSATISFIABLE),
    )
    return status, counts
