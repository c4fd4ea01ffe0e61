"""The environments of Gymnasium and of jumanji: their own checks, and a comparison with jumanji's Sudoku."""

from __future__ import annotations

import dataclasses
import sys
import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from gymnasium.utils.env_checker import check_env
from jumanji.environments import Sudoku
from jumanji.environments.logic.sudoku.generator import DatabaseGenerator
from jumanji.testing.env_not_smoke import check_env_does_not_smoke, check_env_specs_does_not_smoke
from jumanji.wrappers import AutoResetWrapper, VmapWrapper

import jaxsudoku as js

BOARD = reference.SMALL["4x4"]
SIZE = 40
PUZZLES = reference.solvable(BOARD, SIZE, givens=6)
SOLUTIONS = np.array([reference.solutions(BOARD, puzzle, 1)[0] for puzzle in PUZZLES])
NAME = "jaxsudoku.adapters.gymnasium:jaxsudoku/Sudoku-v0"


# ---------------------------------------------------------------------- Gymnasium


def test_gymnasiums_own_check_finds_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(NAME, puzzles=PUZZLES, render_mode="ansi").unwrapped)


def test_vector_episodes_are_solved_and_go_on():
    """Every lane fills the open cells of its puzzle in a random order, one lane with wrong digits."""
    made = gymnasium.make_vec(NAME, num_envs=SIZE, puzzles=PUZZLES, render_mode="ansi")
    seen, info = made.reset(seed=3)
    again, _ = made.reset(seed=3)
    np.testing.assert_array_equal(seen, again)
    assert seen in made.observation_space and len(made.render()) == SIZE
    rng, solved = np.random.default_rng(0), 0
    for _ in range(12):
        filled = np.where(seen.sum(axis=1) == 1, seen.argmax(axis=1) + 1, 0)
        fits = ((filled[:, None] == 0) | (filled[:, None] == SOLUTIONS)).all(axis=2)
        answers = SOLUTIONS[fits.argmax(axis=1)] - 1
        right = info["action_mask"].reshape(seen.shape) & (np.arange(BOARD.side)[:, None] == answers[:, None])
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in right])
        actions[0] = np.flatnonzero(info["action_mask"][0] == 0)[0]
        before, (seen, reward, done, truncated, info) = seen, made.step(actions)
        np.testing.assert_array_equal(reward == 1, done & (np.arange(SIZE) > 0))
        assert done[0] and not truncated.any()
        assert seen in made.observation_space
        over = (info["final_obs"].sum(axis=1) == 1).all(axis=1)
        np.testing.assert_array_equal(over[1:], reward[1:] == 1)
        opened = (seen.sum(axis=1) > 1).sum(axis=1) - (before.sum(axis=1) > 1).sum(axis=1)
        assert (opened[~done] == -1).all() and (seen.sum(axis=1) > 1).any(axis=1).all()
        solved += int(reward.sum())
    assert solved > SIZE / 2


@pytest.mark.parametrize(("name", "extra"), [("GymnasiumEnv", "gymnasium"), ("JumanjiEnv", "jumanji")])
def test_a_missing_package_is_named(monkeypatch, name, extra):
    for module in [module for module in sys.modules if module.split(".")[0] == extra]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, extra, None)
    monkeypatch.delitem(sys.modules, f"jaxsudoku.adapters.{extra}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'jaxsudoku\[{extra}\]'"):
        getattr(js.adapters, name)


def test_puzzles_that_leave_nothing_to_play_are_refused():
    with pytest.raises(ValueError, match="none of 40 puzzles is open under rules 'none'"):
        js.adapters.JumanjiEnv(SOLUTIONS)
    with pytest.raises(AttributeError, match="no attribute 'PettingZooEnv'"):
        getattr(js.adapters, "PettingZooEnv")  # noqa: B009


# ---------------------------------------------------------------------- jumanji


def test_jumanjis_own_checks_pass():
    made = js.adapters.JumanjiEnv(PUZZLES)
    check_env_does_not_smoke(made)
    check_env_specs_does_not_smoke(made)


def test_jumanjis_wrappers_take_it():
    made = js.adapters.JumanjiEnv(PUZZLES)
    many = VmapWrapper(AutoResetWrapper(made))
    state, first = jax.jit(many.reset)(keys(SIZE))
    assert len(np.unique(first.observation.board, axis=0)) > SIZE / 4
    action = np.stack([np.zeros(SIZE, int), np.arange(SIZE) % 4, np.arange(SIZE) % 3], axis=1).astype(np.int32)
    after, step = jax.jit(many.step)(state, action)
    state, first, after, step = jax.tree.map(np.asarray, (state, first, after, step))
    legal, last = first.observation.action_mask[np.arange(SIZE), *action.T], step.step_type == 2
    assert last[~legal].all() and not last[legal].all()
    single = jax.jit(made.step)
    for lane in range(SIZE):  # as alone
        alone, told = jax.tree.map(
            np.asarray, single(jax.tree.map(lambda leaf, lane=lane: leaf[lane], state), action[lane])
        )
        assert told.reward == step.reward[lane] and told.discount == step.discount[lane]
        if not last[lane]:
            jax.tree.map(lambda one, many, lane=lane: np.testing.assert_array_equal(one, many[lane]), alone, after)
    made.observation_spec.validate(told.observation)
    assert many.render(state) == js.draw(first.observation.board[0].ravel() + 1)


def keys(size):
    """Raw keys, which need no program."""
    return np.arange(2 * size, dtype=np.uint32).reshape(size, 2)


def test_episodes_are_those_of_jumanjis_sudoku():
    """Random games, of which one move in thirty is illegal: the same boards, legal actions, rewards and ends."""
    lanes, rng = 32, np.random.default_rng(0)
    grids = np.stack([js.load("9x9-easy")[0]] * lanes).reshape(lanes, 9, 9)
    solution = js.solve(grids[0]).grids
    for lane in range(0, lanes, 2):  # half of the games begin near their end
        hidden = rng.choice(81, 3, replace=False)
        grids[lane] = np.where(np.isin(np.arange(81), hidden), 0, solution.ravel()).reshape(9, 9)
    theirs, ours = (
        VmapWrapper(made)
        for made in (Sudoku(DatabaseGenerator(jnp.asarray(grids, jnp.int32))), js.adapters.JumanjiEnv(grids))
    )
    state, told = jax.jit(theirs.reset)(keys(lanes))
    digits = (np.asarray(told.observation.board) + 1).reshape(lanes, 81).astype(np.uint8)
    begin = jax.jit(js.env.init, static_argnums=(1, 2, 3), compiler_options=js.compiler_options())
    own, _ = jax.jit(ours.reset)(keys(lanes))
    own = dataclasses.replace(own, position=begin(digits, js.Board.classic(), "none", "board"))
    playing, rewards, steps = np.ones(lanes, bool), 0, (jax.jit(theirs.step), jax.jit(ours.step))
    legal = np.asarray(told.observation.action_mask)
    for _ in range(81):
        wrong = playing & (rng.random(lanes) < 1 / 30)
        action = np.array([rng.choice(np.argwhere(mask != bad)) for mask, bad in zip(legal, wrong, strict=True)])
        allowed = legal[np.arange(lanes), *action.T]
        (state, told), (own, found) = jax.tree.map(np.asarray, (steps[0](state, action), steps[1](own, action)))
        for name in ("reward", "discount", "step_type"):
            np.testing.assert_array_equal(getattr(found, name)[playing], getattr(told, name)[playing], name)
        for name in ("board", "action_mask"):
            pair = (getattr(one.observation, name)[playing & allowed] for one in (found, told))
            np.testing.assert_array_equal(*pair, name)
        rewards += told.reward[playing].sum()
        playing &= told.step_type < 2
        legal = told.observation.action_mask | ~playing[:, None, None, None]  # moves after the end do not count
        if not playing.any():
            break
    assert not playing.any() and rewards >= 5
