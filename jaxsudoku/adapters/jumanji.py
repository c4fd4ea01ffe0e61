"""jumanji: the interface of its Sudoku, for all boards and rules."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

try:
    from jumanji import specs
    from jumanji.env import Environment
    from jumanji.environments.logic.sudoku.types import Observation
    from jumanji.types import TimeStep, restart, termination, transition
except ImportError as error:
    raise ImportError("the environment of jumanji needs jumanji: pip install 'jaxsudoku[jumanji]'") from error

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.operations import single

from .starts import positions


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class JumanjiState:
    """A key, and a position: the leaves of ``env.State`` without the axis of a batch."""

    key: Array
    position: env.State


class JumanjiEnv(Environment[JumanjiState, specs.MultiDiscreteArray, Observation]):
    """Episodes of placing digits, with the interface of jumanji's ``Sudoku``: digits 0 to side - 1, -1 in open cells.

    Actions are row, column and digit. By default an episode ends as there: no digit can be placed, or one was illegal.
    Under ``jax.vmap`` the positions are one batch.

    Args:
      puzzles: those that episodes are drawn from, in any form that ``js.solve`` takes.
      board, rules, end: as in ``js.env.init``. Puzzles that the rules solve or refute are left out.

    Raises:
      ValueError: the rules leave no puzzle open, or as ``js.solve`` does. ImportError: jumanji is not installed.
    """

    def __init__(
        self, puzzles: Any, board: Board | None = None, rules: str = "none", end: env.End | None = None
    ) -> None:
        end = end or ("board" if rules == "none" else "cell")
        self._starts, self.board = positions(puzzles, board, rules, end)
        self._place = single(lambda state, move: env.place(state, move, self.board, rules, end))
        self._look = single(lambda state: (env.grids(state, self.board), env.legal_placement_mask(state, self.board)))
        super().__init__()

    def reset(self, key: Array) -> tuple[JumanjiState, TimeStep[Observation]]:
        """A puzzle drawn by a key."""
        position = jax.tree.map(lambda leaf: leaf[0], env.reset(key, self._starts, 1))
        return JumanjiState(key, position), restart(self._observe(position))

    def step(self, state: JumanjiState, action: Array) -> tuple[JumanjiState, TimeStep[Observation]]:
        """Places a digit, int32[3]: row, column and digit."""
        row, column, digit = action
        after = self._place(state.position, digit * self.board.cells + row * self.board.side + column)
        reward = env.reward(state.position, after)
        step = jax.lax.cond(after.terminated, termination, transition, reward.astype(float), self._observe(after))
        return JumanjiState(state.key, after), step

    def render(self, state: JumanjiState) -> str:
        """The position as ``js.draw`` draws it."""
        return env.render(jax.tree.map(lambda leaf: leaf[None], state.position), self.board)[0]

    @cached_property
    def observation_spec(self) -> specs.Spec[Observation]:
        """The digits int32[side, side], and which actions are legal, bool[side, side, side]."""
        side = self.board.side
        digits = specs.BoundedArray((side, side), jnp.int32, -1, side - 1, "board")
        mask = specs.BoundedArray((side, side, side), bool, False, True, "action_mask")
        return specs.Spec(Observation, "ObservationSpec", board=digits, action_mask=mask)

    @cached_property
    def action_spec(self) -> specs.MultiDiscreteArray:
        """Row, column and digit."""
        return specs.MultiDiscreteArray(jnp.full(3, self.board.side, jnp.int32), jnp.int32, "action")

    def _observe(self, position: env.State) -> Observation:
        grid, legal = self._look(position)
        side = self.board.side
        return Observation(grid.reshape(side, side).astype(jnp.int32) - 1, legal.T.reshape(side, side, side))
