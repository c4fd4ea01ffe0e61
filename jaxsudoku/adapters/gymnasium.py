"""Gymnasium: many episodes in one compiled step, and a single one."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError as error:
    raise ImportError("the environments of Gymnasium need gymnasium: pip install 'jaxsudoku[gymnasium]'") from error

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.devices import compiler_options
from jaxsudoku.runtime.random import key_of

from .starts import positions

_Arrays = NDArray[Any]
_Info = dict[str, Any]


class GymnasiumVectorEnv(VectorEnv[_Arrays, _Arrays, _Arrays]):
    """Many episodes in one compiled step, as ``GymnasiumEnv`` with a leading axis.

    An episode that ends goes on with a new puzzle in the same step; ``info["final_obs"]`` are the observations before.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4, "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        puzzles: Any,
        num_envs: int = 1,
        board: Board | None = None,
        rules: str = "none",
        end: env.End = "cell",
        render_mode: str | None = None,
    ) -> None:
        starts, self.board = positions(puzzles, board, rules, end)
        shape, actions = env.observation_spec(self.board).shape, env.num_actions(self.board)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.single_observation_space, self.single_action_space = spaces.MultiBinary(shape), spaces.Discrete(actions)
        self.observation_space = spaces.MultiBinary((num_envs, *shape))
        self.action_space = spaces.MultiDiscrete([actions] * num_envs)
        compiled = functools.partial(jax.jit, compiler_options=compiler_options())
        self._begin = compiled(functools.partial(_begin, starts=starts, board=self.board, batch=num_envs))
        self._play = compiled(functools.partial(_play, starts=starts, board=self.board, rules=rules, end=end))

    def reset(self, *, seed: int | None = None, options: _Info | None = None) -> tuple[_Arrays, _Info]:
        """Observations and infos of other puzzles."""
        super().reset(seed=seed, options=options)
        self.state, (seen, legal) = jax.tree.map(np.array, self._begin(self._seed()))
        return seen, {"action_mask": legal}

    def step(self, actions: _Arrays) -> tuple[_Arrays, _Arrays, _Arrays, _Arrays, _Info]:
        """As that of ``GymnasiumEnv``, for all episodes: observations and infos are those to go on with."""
        played, (seen, legal), (final, _) = self.advance(actions)
        self.state = played.state
        info = {"action_mask": legal, "final_obs": final, "_final_obs": played.done}
        return seen, played.reward, played.done, np.zeros_like(played.done), info

    def render(self) -> tuple[str, ...] | None:
        """The positions as ``js.draw`` draws them."""
        return tuple(env.render(self.state, self.board)) if self.render_mode else None

    def advance(self, actions: _Arrays) -> tuple[Any, tuple[_Arrays, _Arrays], tuple[_Arrays, _Arrays]]:
        """The ``env.Transition``, and observations and legal actions of its ``state`` and of ``last``."""
        return jax.tree.map(np.array, self._play(self._seed(), self.state, np.asarray(actions)))

    def _seed(self) -> np.uint32:
        return self.np_random.integers(1 << 32, dtype=np.uint32)


class GymnasiumEnv(gymnasium.Env[_Arrays, np.int64]):
    """Episodes of placing digits, one after another; registered as "jaxsudoku/Sudoku-v0".

    An observation is the candidates, int8[side, cells]. An action is digit * cells + cell, counted from 0; legal ones
    are 1 in ``info["action_mask"]``, int8[actions], and any other ends the episode. A solved puzzle's reward is 1.

    Args:
      puzzles: those that episodes are drawn from, in any form that ``js.solve`` takes.
      board, rules, end: as in ``js.env.init``. Puzzles that the rules solve or refute are left out.
      render_mode: "ansi" for a text, or None.

    Raises:
      ValueError: the rules leave no puzzle open, or as ``js.solve`` does. ImportError: gymnasium is not installed.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        puzzles: Any,
        board: Board | None = None,
        rules: str = "none",
        end: env.End = "cell",
        render_mode: str | None = None,
    ) -> None:
        self._lanes = GymnasiumVectorEnv(puzzles, 1, board, rules, end, render_mode)
        self.render_mode, self.board = render_mode, self._lanes.board
        self.observation_space = self._lanes.single_observation_space
        self.action_space = self._lanes.single_action_space

    def reset(self, *, seed: int | None = None, options: _Info | None = None) -> tuple[_Arrays, _Info]:
        """Observation and info of another puzzle."""
        super().reset(seed=seed)
        seen, info = self._lanes.reset(seed=int(self.np_random.integers(1 << 31)))
        return seen[0], {"action_mask": info["action_mask"][0]}

    def step(self, action: np.int64) -> tuple[_Arrays, float, bool, bool, _Info]:
        """Observation, reward, whether the episode has ended, False, and the info, after a placement."""
        played, _, (seen, legal) = self._lanes.advance(np.array([action]))
        self._lanes.state = played.last
        return seen[0], float(played.reward[0]), bool(played.done[0]), False, {"action_mask": legal[0]}

    def render(self) -> str | None:
        """The position as ``js.draw`` draws it."""
        return env.render(self._lanes.state, self.board)[0] if self.render_mode else None


def _begin(seed: Array, starts: env.State, board: Board, batch: int) -> tuple[env.State, tuple[Array, Array]]:
    state = env.reset(key_of(seed), starts, batch)
    return state, _seen(state, board)


def _play(
    seed: Array, state: env.State, actions: Array, starts: env.State, board: Board, rules: str, end: env.End
) -> tuple[env.Transition, tuple[Array, Array], tuple[Array, Array]]:
    played = env.play(key_of(seed), state, actions, starts, board, rules, end)
    return played, _seen(played.state, board), _seen(played.last, board)


def _seen(state: env.State, board: Board) -> tuple[Array, Array]:
    """The observation int8[B, side, cells] and the legal actions int8[B, actions]."""
    legal = env.legal_placement_mask(state, board)
    return env.observe(state, board).astype(np.int8), legal.reshape(len(legal), -1).astype(np.int8)


gymnasium.register(
    "jaxsudoku/Sudoku-v0",
    entry_point="jaxsudoku.adapters:GymnasiumEnv",
    vector_entry_point="jaxsudoku.adapters:GymnasiumVectorEnv",
)
