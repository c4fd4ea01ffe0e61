"""Compiled programs kept between processes, with the caller's settings left alone."""

from __future__ import annotations

import dataclasses
import logging
import os
import warnings

import jax
import numpy as np
import pytest
import reference
from jax.experimental.compilation_cache import compilation_cache

import jaxsudoku as js
from jaxsudoku.cli import main
from jaxsudoku.engine import batches, kernels
from jaxsudoku.runtime import alarms, cache

FOUR = reference.SMALL["4x4"]
PUZZLES = reference.unique(FOUR, 3)
SETTINGS = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs", "jax_enable_compilation_cache")


def settings():
    return tuple(getattr(jax.config, name) for name in SETTINGS)


def solve():
    """Solves as a process does that has compiled nothing yet."""
    batches._compile.cache_clear()
    return js.solve(PUZZLES, lanes=32, batch_size=7, rounds=1, rules="naked")


@dataclasses.dataclass(frozen=True)
class Kernel(kernels.PuzzleItems):
    """A kernel that is compiled soon."""

    def resolve(self, board, platform):
        return self

    def __call__(self, board, puzzles, key, number):
        return puzzles + 1


def compute():
    """Runs a kernel as a process does that has compiled nothing yet."""
    batches._compile.cache_clear()
    return batches.Engine(Kernel(), FOUR, batch_size=7).run(PUZZLES)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder in which the library keeps programs, all of them, in a process whose user has set nothing."""
    monkeypatch.delenv("JAXSUDOKU_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "_SECONDS", 0.0)
    monkeypatch.setattr(cache, "_warned", set())
    # the tests' own settings
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", raising=False)
    before = settings()
    for name, value in zip(SETTINGS, (None, 1.0, True), strict=True):
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield tmp_path / "jaxsudoku"
    for name, value in zip(SETTINGS, before, strict=True):
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.fixture
def hits():
    """The names of JAX's events."""
    events = []

    def listen(event, **_):
        events.append(event)

    jax.monitoring.register_event_listener(listen)
    yield events
    jax.monitoring.unregister_event_listener(listen)


def test_a_program_is_compiled_once_for_all_processes(home, hits):
    before = settings()
    first = solve()
    assert list(home.glob("jit_shard-*"))
    assert settings() == before
    assert "/jax/compilation_cache/cache_hits" not in hits
    np.testing.assert_array_equal(solve().grids, first.grids)
    assert "/jax/compilation_cache/cache_hits" in hits


def test_functions_of_the_caller_are_not_kept(home):
    compute()
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    kept = set(home.iterdir())
    jax.jit(lambda x: x * 3 + 1)(np.arange(17))
    assert set(home.iterdir()) == kept


def test_the_callers_folder_stays_and_is_used(home, tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "mine"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.25)
    compilation_cache.reset_cache()
    with cache.kept():
        assert settings() == (str(tmp_path / "mine"), 0.25, True)
        assert cache.folder() == str(tmp_path / "mine")
    assert settings() == (str(tmp_path / "mine"), 0.25, True)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    compute()
    assert list((tmp_path / "mine").glob("jit_shard-*"))
    assert not home.exists()


def test_the_environments_least_time_stays(home, monkeypatch):
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
    with cache.kept():
        assert settings()[1] == 1.0


def test_a_setting_made_meanwhile_stays(home, tmp_path):
    with cache.kept():
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "mine"))
    assert settings()[0] == str(tmp_path / "mine")


@pytest.mark.parametrize("how", ["environment", "JAX"])
def test_turned_off(home, monkeypatch, how):
    if how == "JAX":
        jax.config.update("jax_enable_compilation_cache", False)
    else:
        monkeypatch.setenv("JAXSUDOKU_CACHE", "0")
    before = settings()
    assert cache.folder() is None
    with cache.kept():
        assert settings() == before
    compute()
    assert not home.exists()


def test_nested_blocks_end_with_the_outermost(home):
    with cache.kept():
        with cache.kept():
            pass
        assert settings()[0] == str(home)
    assert settings()[0] is None


def test_a_folder_that_can_not_be_made_is_said_once(home):
    home.parent.joinpath("jaxsudoku").touch()
    with pytest.warns(RuntimeWarning, match=r"jaxsudoku: File exists: .*JAXSUDOKU_CACHE=0"):
        compute()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(compute(), PUZZLES + 1)
    assert settings()[0] is None


posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")


@posix
def test_the_folder_is_made_for_its_user_alone(home):
    before = os.umask(0)
    try:
        compute()
    finally:
        os.umask(before)
    assert list(home.iterdir()) and home.stat().st_mode & 0o777 == 0o700


@posix
@pytest.mark.parametrize("how", ["the group", "everyone", "another user", "a link"])
def test_a_folder_that_others_may_write_to_is_not_used(home, monkeypatch, how):
    compute()
    program = next(home.glob("jit_shard-*"))
    program.write_bytes(b"not a program: loading it is an error")
    place = home.rename(home.with_name("elsewhere")) if how == "a link" else home
    if how == "a link":
        home.symlink_to(place)
    cause = "others may write to it"
    if how == "another user":
        own = os.geteuid() + 1
        os.chown(home, own + 1, -1) if not os.geteuid() else monkeypatch.setattr(os, "geteuid", lambda: own)
        cause = f"owned by another user, {home.stat().st_uid}"
    else:
        place.chmod(0o720 if how == "the group" else 0o702)
    kept = set(place.iterdir())
    with pytest.warns(RuntimeWarning, match=f"jaxsudoku: {cause}, and compiled kernels in it would be run"):
        np.testing.assert_array_equal(compute(), PUZZLES + 1)
    assert set(place.iterdir()) == kept
    assert settings()[0] is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compute()  # it is said once


@posix
def test_a_command_says_that_a_folder_is_not_used(home, capsys):
    home.mkdir()
    home.chmod(0o777)
    puzzles = ["".join(map(str, puzzle)) for puzzle in PUZZLES]
    assert main(["solve", *puzzles, "--board", "4", "--lanes", "32", "--rounds", "1", "--rules", "naked"]) == 0
    told = capsys.readouterr().err
    assert (
        told.count(f"jaxsudoku: warning: {home}: others may write to it, and compiled kernels in it would be run") == 1
    )
    assert not list(home.iterdir())


def test_a_folder_of_jaxs_settings_may_be_shared(home, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    jax.config.update("jax_compilation_cache_dir", str(shared))
    assert cache.fault(str(shared)) == ("", True)


# ---------------------------------------------------------------------- XLA's alarm about slow compiling


def test_no_alarm_is_logged_while_something_compiles(monkeypatch):
    loggers = [logging.getLogger(name) for name in ("jax", "jaxlib")]

    def state():
        return jax.config.jax_logging_level, [(logger.level, len(logger.handlers)) for logger in loggers]

    before = state()
    with alarms.silenced():
        assert jax.config.jax_logging_level == "CRITICAL"
        with alarms.silenced():
            pass
        assert jax.config.jax_logging_level == "CRITICAL"
    assert state() == before
    # what the program has set stays
    monkeypatch.setattr(loggers[0], "level", logging.DEBUG)
    with alarms.silenced():
        assert state()[0] == before[0]
    monkeypatch.undo()
    jax.config.update("jax_log_compiles", True)
    try:
        with alarms.silenced():
            assert state() == before
    finally:
        jax.config.update("jax_log_compiles", False)
    assert state() == before
