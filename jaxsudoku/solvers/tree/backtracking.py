"""Moves of roots between searches: new attempts, backtracking, cells with one candidate.

A search moves its root along the well-explored part of its tree, and pushes the alternatives on the lane's stack: the
position without the digits tried or refuted. A refuted root pops the stack. So the search is complete: with enough
budget a puzzle is solved or proven to have no solution.

The rules are not applied to positions on the stack. A root that leaves its tree is pushed, and popped by the next step.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku import symmetry
from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.random import mix

from .lanes import LOOK, RULES, Lanes
from .tree_config import SearchConfig


class Roots:
    """Moves of roots between searches.

    With seeds uint32[K] each root is searched once, whatever the budget, without a move before it.
    """

    def __init__(self, board: Board, config: SearchConfig, key: Array, seeds: Array | None = None) -> None:
        self.board, self.config, self.key, self._seeds = board, config, key, seeds

    def seeds(self, lanes: Lanes) -> Array:
        """A seed for each lane's search: uint32[K]."""
        if self._seeds is not None:
            return self._seeds
        own = jax.vmap(lambda puzzle: jax.random.bits(jax.random.fold_in(self.key, puzzle), dtype=jnp.uint32))(
            lanes.puzzle
        )
        return mix(own + lanes.searches.astype(jnp.uint32))

    def over_budget(self, lanes: Lanes) -> Array:
        """Lanes whose attempt has spent its budget: bool[K]."""
        spent = lanes.spent if self.config.proves else lanes.changes
        budget = None if self._seeds is not None else self.config.budget
        return (spent >= budget) & ~lanes.state.solved if budget else jnp.zeros(lanes.evaluated.shape, bool)

    def forced(self, lanes: Lanes) -> Array:
        """The digit of a cell with one candidate, else -1: int32[K]; such cells are left only by rules "none".

        A search without proofs treats such moves like any other.
        """
        if self.config.rules != "none" or not self.config.proves or self._seeds is not None:
            return jnp.full(lanes.puzzle.shape, -1, jnp.int32)
        legal = env.legal_action_mask(lanes.state, self.board)
        one = (legal.sum(axis=1, dtype=jnp.int32) == 1) & ~lanes.state.terminated
        return jnp.where(one, legal.argmax(axis=1).astype(jnp.int32), -1)

    def ready(self, lanes: Lanes) -> Array:
        """Whether a search may begin at the root: bool[K]."""
        over = lanes.fresh | lanes.state.terminated | self.over_budget(lanes) | (self.forced(lanes) >= 0)
        return lanes.live & ~over

    def done(self, lanes: Lanes) -> Array:
        """Whether a lane's puzzle is finished: bool[K]."""
        refuted = lanes.state.refuted & (lanes.depth == 0)
        spent = self.over_budget(lanes) & (lanes.attempt == self.config.restarts)
        resting = ~lanes.work.busy & ~lanes.searching & ~lanes.fresh
        return lanes.live & resting & (lanes.state.solved | refuted | spent)

    def active(self, lanes: Lanes) -> Array:
        """Whether a lane has an unfinished puzzle: bool[K]."""
        return lanes.live & ~self.done(lanes)

    def next(self, lanes: Lanes) -> Lanes:
        """Gives lanes between two searches their next roots, to be evaluated or to make a forced move first."""
        between = self.active(lanes) & ~lanes.work.busy & ~lanes.searching
        spent, forced = between & ~lanes.fresh & self.over_budget(lanes), self.forced(lanes)
        again = spent & (lanes.attempt < self.config.restarts)
        anew = (between & lanes.fresh) | again
        back = between & lanes.state.refuted & (lanes.depth > 0) & ~anew & ~spent
        filled = between & (forced >= 0) & ~anew & ~spent
        changed = anew | back | filled
        there = between & ~changed & ~lanes.evaluated & ~lanes.state.terminated & ~spent
        lanes = lanes._replace(attempt=lanes.attempt + again.astype(jnp.int32))

        others = jnp.arange(self.board.side) != forced[:, None]
        nodes = select(back, lanes.top, env.exclude(lanes.state, others, self.board))
        nodes = select(anew, self._begin(lanes, anew), nodes)
        work, chosen, none = lanes.work, changed | there, jnp.zeros_like(lanes.calls)
        stage = jnp.where(changed, RULES, jnp.where(there, LOOK, work.stage)).astype(jnp.int8)
        work = work._replace(
            stage=stage,
            nodes=select(changed, nodes, work.nodes),
            state=select(there, lanes.state, work.state),
            seed=jnp.where(chosen, self.seeds(lanes), work.seed),
            rooted=work.rooted | chosen,
            rolling=work.rolling & ~chosen,
            iterations=jnp.where(chosen, none + 1, work.iterations),
            calls=jnp.where(chosen, none, work.calls),
        )
        return lanes._replace(
            work=work,
            fresh=lanes.fresh & ~between,
            depth=jnp.where(anew, 0, lanes.depth - back.astype(jnp.int32)),
            spent=jnp.where(anew, 0, lanes.spent),
            size=jnp.where(changed, 0, lanes.size),
        )

    def _begin(self, lanes: Lanes, anew: Array) -> Array:
        """The packed candidates of new attempts; attempts after the first use a random symmetry."""
        if not self.config.restarts:
            return lanes.origin

        def turned() -> Array:
            cubes = env.unpack(lanes.origin, self.board).reshape(-1, *(self.board.side,) * 3)
            turned_cubes = symmetry.apply_candidates(self.symmetries(lanes), cubes)
            return env.pack(turned_cubes.reshape(len(lanes.puzzle), self.board.side, -1), self.board)

        return lax.cond((anew & (lanes.attempt > 0)).any(), turned, lambda: lanes.origin)

    def symmetries(self, lanes: Lanes) -> symmetry.Symmetry:
        """The symmetries of attempts: the identity for the first, random ones after it."""

        def drawn(puzzle: Array, attempt: Array) -> symmetry.Symmetry:
            return symmetry.sample(jax.random.fold_in(jax.random.fold_in(self.key, puzzle), attempt), self.board)

        plain = symmetry.identity(self.board, lanes.puzzle.shape)
        return select(lanes.attempt > 0, jax.vmap(drawn)(lanes.puzzle, lanes.attempt), plain)
