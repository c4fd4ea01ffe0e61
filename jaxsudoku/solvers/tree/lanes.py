"""State of K puzzles that are searched together, one per lane."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsudoku.core import env
from jaxsudoku.runtime.operations import select

from ..network_calls import Pool
from .evaluators import Evaluation

#: The next stage of a lane's position: none, the rules, or evaluation.
NOTHING, RULES, LOOK = 0, 1, 2


class Work(NamedTuple):
    """The current positions, one per lane.

    Attributes:
      stage: int8[K], NOTHING, RULES or LOOK.
      nodes: uint32[K, words], packed candidates to which the rules are applied next.
      state: the positions after the rules.
      seed: uint32[K], of the randomness here.
      rooted: bool[K], whether the position to be evaluated is a root.
      rolling: bool[K], whether the position is on a rollout.
      before: where rolling, the evaluation of the position at the start of the rollout.
      iterations: int32[K], grids evaluated for this evaluation so far.
      calls: int32[K], calls of the network, likewise.
      at: the position's place in the tree, ``Search.at``.
    """

    stage: Array
    nodes: Array
    state: env.State
    seed: Array
    rooted: Array
    rolling: Array
    before: Evaluation
    iterations: Array
    calls: Array
    at: Any

    @property
    def busy(self) -> Array:
        """bool[K], whether lanes have a current position."""
        return self.stage != NOTHING


class Lanes(NamedTuple):
    """State of K puzzles.

    Attributes:
      root: the roots and, where ``evaluated``, their evaluations; a solution that was found is a solved root.
      evaluated: bool[K].
      puzzle: int32[K], the indices of the puzzles in the batch.
      origin: uint32[K, words], the packed candidates at the start of an attempt.
      live: bool[K], whether the lane has had a puzzle.
      fresh: bool[K], whether the puzzle is new, and its first attempt has not begun.
      attempt: int32[K], attempts before this one.
      spent: int32[K], grids evaluated in this attempt.
      iterations: int32[K], grids evaluated in all attempts.
      changes: int32[K], changes of the current grid in all attempts: grids evaluated, nodes expanded and moves of the
        root.
      calls: int32[K], positions evaluated by the network in all attempts.
      searches: int32[K], searches in all attempts.
      simulations: int32[K], simulations in all searches.
      network_iterations: int32[K], iterations of the network in all attempts; calls, if it is not iterative.
      searching: bool[K], whether a search from the root is in progress.
      done: int32[K], its simulations so far; -1 before it has begun.
      size: int32[K], the nodes of its tree.
      answer: uint32[K, words], packed candidates: a solution, where it was found.
      found: bool[K].
      depth: int32[K], entries on the stack.
      work: the current position.
      record: the records of each puzzle, kept by a ``Recorder``; None without one.
      stack: uint32[K, cells, words], alternatives to return to, packed candidates. An entry has more filled cells than
        the one below it, so the stack cannot overflow.
      tree: the trees.
      policy: float32[K, side, cells], the policy by which a position is completed; None if none is kept.
      pool: the positions on which the network iterates; None without a pool.
    """

    root: Evaluation
    evaluated: Array
    puzzle: Array
    origin: Array
    live: Array
    fresh: Array
    attempt: Array
    spent: Array
    iterations: Array
    changes: Array
    calls: Array
    searches: Array
    simulations: Array
    network_iterations: Array
    searching: Array
    done: Array
    size: Array
    answer: Array
    found: Array
    depth: Array
    work: Work
    record: Any
    stack: Any
    tree: Any
    policy: Array | None
    pool: Pool | None

    @property
    def state(self) -> env.State:
        """The roots' positions."""
        return self.root.state

    @property
    def top(self) -> Array:
        """The entries on top of the stacks, uint32[K, words]; undefined where a stack is empty."""
        top: Array = jnp.take_along_axis(self.stack, jnp.maximum(self.depth - 1, 0)[:, None, None], axis=1)[:, 0]
        return top

    def with_roots(self, state: env.State, changed: Array) -> Lanes:
        """The lanes with new roots, which are not evaluated yet, where ``changed``."""
        state = select(changed, state, self.state)
        return self._replace(root=self.root._replace(state=state), evaluated=self.evaluated & ~changed)

    def push(self, nodes: Array, chosen: Array) -> Lanes:
        """Pushes packed candidates uint32[K, words] on the stacks of the chosen lanes bool[K]."""
        lane = jnp.arange(len(chosen), dtype=jnp.int32)
        stack = self.stack.at[jnp.where(chosen, lane, len(lane)), self.depth].set(nodes, mode="drop")
        return self._replace(stack=stack, depth=self.depth + chosen.astype(jnp.int32))

    def go_to(self, nodes: Array, chosen: Array) -> Lanes:
        """Gives the chosen lanes new positions: packed candidates uint32[K, words], before the rules."""
        after = self.push(nodes, chosen)
        return after.with_roots(
            self.state._replace(refuted=jnp.ones_like(chosen), solved=jnp.zeros_like(chosen)), chosen
        )

    def add_counts(self, iterations: Array, calls: Array | int = 0) -> Lanes:
        """Adds to the counts of evaluated grids int32[K] and of network calls."""
        return self._replace(
            spent=self.spent + iterations,
            iterations=self.iterations + iterations,
            changes=self.changes + iterations,
            calls=self.calls + calls,
        )

    def grown(self, tree: Any, counted: Array, new: Array, solved: Array, answer: Array) -> Lanes:
        """The lanes after a simulation.

        Args:
          tree: the trees.
          counted: bool[K], lanes that made a simulation.
          new: bool[K], lanes whose tree has one more node.
          solved: bool[K], lanes that found a solution.
          answer: uint32[K, words], the solution.
        """
        return self._replace(
            tree=tree,
            size=self.size + new.astype(jnp.int32),
            done=self.done + counted.astype(jnp.int32),
            found=self.found | solved,
            answer=select(solved, answer, self.answer),
        )

    def add_changes(self, more: Array) -> Lanes:
        """Adds to the number of changes int32[K] those that evaluate no grid."""
        return self._replace(changes=self.changes + more)
