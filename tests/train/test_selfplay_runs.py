"""Self-play: the puzzles that are played, the arena, and runs with everything that a run may have."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path

import jax
import numpy as np
import pytest
import reference
from test_selfplay import FOUR, SIX, plain

import jaxsudoku as js
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks.cube import CubeConfig
from jaxsudoku.runtime.random import as_key, key_of
from jaxsudoku.runtime.terminal.progress import Screen
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig
from train.arena import play_alone
from train.curriculum import foreseen, least_sure
from train.invention import invent, remove_clues
from train.processes import Processes
from train.record import read
from train.selfplay import self_play
from train.selfplay_config import ArenaConfig, PlayConfig, ReplayConfig, StreamConfig
from train.selfplay_presets import PRESETS, TINY
from train.stream import Stream
from train.train_config import NetworkConfig


def save(file: Path, puzzles: np.ndarray) -> None:
    file.write_text("".join("".join(map(str, puzzle)) + "\n" for puzzle in puzzles))


@functools.cache
def others_of_four() -> np.ndarray:
    """36 different puzzles of 4x4 with one solution, none of which is among those that ship."""
    puzzles = np.unique(reference.unique(FOUR, 60), axis=0)
    shipped = set(map(bytes, js.load("4x4")))
    return puzzles[[bytes(puzzle) not in shipped for puzzle in puzzles]][:36]


def one_device() -> jax.sharding.Mesh:
    return jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",))


def test_the_network_foresees_what_needs_no_network():
    puzzles = np.array(js.load("4x4")[:32])
    puzzles[::2] = np.where(puzzles[::2] == 1, 0, puzzles[::2])  # so that naked singles do not solve all
    network, config = plain(FOUR), GumbelConfig(rules="naked", complete=False).resolve(FOUR, "cpu")

    @jax.jit
    def told(params):
        candidates = js.env.observe(js.env.init(puzzles, FOUR, "naked"), FOUR)
        found = foreseen(FOUR, config, network.apply, params, puzzles)
        return found, candidates, network.apply(params, candidates).policy

    found, candidates, policy = jax.tree.map(np.asarray, told(network.params))
    left = np.array([reference.deduce(FOUR, cube, "naked") for cube in reference.candidates(FOUR, puzzles)])
    easy = (left.sum(axis=1) == 1).all(axis=1)
    assert 4 <= easy.sum() <= 28
    np.testing.assert_array_equal(found == 0, easy)
    assert (found <= 0).all() and (found < -1).any()
    powers = np.exp(policy - policy.max(axis=1, keepdims=True))
    likely = (powers / powers.sum(axis=1, keepdims=True)).max(axis=1)
    expected = np.where(candidates.sum(axis=1) > 1, np.log(likely), 0).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_puzzles_of_which_the_network_is_least_sure_are_drawn():
    log_probability = np.log(np.float32([1e-9, 0.5, 0.999999, 0.5, 0.1, 1e-9] * 4))
    draw = jax.jit(jax.vmap(lambda seed: least_sure(log_probability, 8, key_of(seed))))
    drawn = np.asarray(draw(np.arange(64, dtype=np.uint32)))
    assert all(len(set(row)) == 8 for row in drawn.tolist())
    counts = np.bincount(drawn.ravel(), minlength=24).reshape(4, 6).sum(axis=0)
    assert counts[[0, 2, 5]].sum() < 5
    assert counts[1] > counts[4] > 10


@pytest.mark.slow
def test_puzzles_are_dug_out_of_invented_grids():
    network = plain(FOUR)
    config = GumbelConfig(simulations=2, rules="naked", budget=30, temperature=1.0, complete=False).resolve(FOUR, "cpu")
    made = jax.jit(lambda params: invent(FOUR, config, network.apply, params, 6, as_key(0)))
    games = jax.tree.map(np.asarray, made(network.params))
    solved = games.status == Status.SOLVED
    assert solved.sum() >= 3
    grids = games.solutions
    assert all(reference.is_solution(FOUR, grid) for grid in grids[solved])
    assert len({grid.tobytes() for grid in grids[solved]}) > 1
    digging = jax.jit(lambda games: remove_clues(FOUR, games, 8, as_key(1), "cpu"))
    status = games.status.copy()
    status[np.flatnonzero(solved)[0]] = Status.UNSOLVED
    puzzles = np.asarray(digging(games._replace(status=status)))
    assert puzzles.shape == (48, 16)
    given = set(map(bytes, grids[status == Status.SOLVED]))
    clues = (puzzles > 0).sum(axis=1)
    assert clues.min() < 7 and clues.max() > 10
    for puzzle in puzzles:
        (solution,) = reference.solutions(FOUR, puzzle, 2)
        assert bytes(np.uint8(solution)) in given
    # without any grid nothing is learned
    failed = digging(games._replace(status=np.full_like(status, Status.UNSOLVED)))
    assert all(reference.is_clash(FOUR, puzzle) for puzzle in np.asarray(failed))


@pytest.mark.slow
def test_games_alone_end_at_their_first_error():
    puzzles = np.array(js.load("6x6")[:40])
    truth = np.array([reference.solutions(SIX, puzzle, 1)[0] for puzzle in puzzles], np.uint8)
    network = plain(SIX)
    config = McgsConfig(simulations=2, rules="none").resolve(SIX, "cpu")
    found = play_alone(SIX, config, network.apply, network.params, puzzles, truth)
    np.testing.assert_array_equal(found.opened, (puzzles == 0).sum(axis=1))
    np.testing.assert_array_equal(found.solved, found.right == found.opened)
    assert (~found.solved).any() and (found.right >= 0).all()
    lost = ~found.solved
    # a move fills a cell at least; the last move was wrong
    assert (found.moves[lost] - 1 <= found.right[lost]).all()
    other = np.roll(truth, 1, axis=0)
    wrong = play_alone(SIX, config, network.apply, network.params, puzzles, other)
    different = (other != truth).any(axis=1)
    assert (wrong.right <= found.opened).all() and different.any() and not wrong.solved[different].any()


def test_puzzles_of_the_arena_are_not_played(tmp_path):
    file = tmp_path / "puzzles.txt"
    puzzles = others_of_four()
    save(file, puzzles)
    config = dataclasses.replace(
        TINY,
        stream=StreamConfig(puzzles=str(file)),
        arena=ArenaConfig(arena_puzzles=10),
        play=dataclasses.replace(TINY.play, games=len(puzzles) - 20),
    ).resolve(FOUR, "cpu")
    stream = Stream(config, 1)
    played = next(stream.rounds(as_key(0), one_device(), 0))
    parts = [set(map(bytes, np.asarray(part))) for part in (stream.arena, stream.test, played)]
    assert [len(part) for part in parts] == [10, 10, len(puzzles) - 20]
    assert set.union(*parts) == set(map(bytes, puzzles))


def test_puzzles_with_several_solutions_or_none_are_left_out(tmp_path, capsys):
    file = tmp_path / "puzzles.txt"
    unique = others_of_four()[:20]
    clash = np.zeros((2, 16), np.uint8)
    clash[:, :2] = 1
    save(file, np.concatenate([np.zeros((30, 16), np.uint8), unique, unique[:5], clash]))
    config = dataclasses.replace(TINY, stream=StreamConfig(puzzles=str(file)), arena=ArenaConfig(arena_puzzles=4))
    config = dataclasses.replace(config, play=dataclasses.replace(TINY.play, games=14)).resolve(FOUR, "cpu")
    stream = Stream(config, 1)
    played = next(stream.rounds(as_key(0), one_device(), 0))
    apart = set(map(bytes, np.concatenate([stream.arena, stream.test])))
    assert len(apart) == 8
    assert apart.isdisjoint(map(bytes, np.asarray(played)))
    assert (js.count_solutions(np.asarray(played), board=FOUR) == 1).all()
    for _ in range(2):
        stream.open(tmp_path / "data", Screen(bar=False), Processes())
    err = capsys.readouterr().err
    assert "30 puzzles with several solutions are left out" in err
    assert "2 puzzles with no solution are left out" in err
    save(file, unique[:14])
    with pytest.raises(ValueError, match="puzzles.txt holds other puzzles than when the run began"):
        Stream(config, 1).open(tmp_path / "data", Screen(bar=False), Processes())


@pytest.mark.slow
def test_puzzles_of_a_file_are_turned_for_networks_that_see_places(tmp_path):
    file = tmp_path / "puzzles.txt"
    save(file, js.load("9x9-easy")[:8])
    network = NetworkConfig("cell_cnn")
    config = dataclasses.replace(PRESETS["cpu"], network=network, stream=StreamConfig(puzzles=str(file)))
    config = dataclasses.replace(config, play=dataclasses.replace(config.play, games=8)).resolve(config.board, "cpu")
    played = np.asarray(next(Stream(config, 1).rounds(as_key(0), one_device(), 0)))
    known = set(map(bytes, js.load("9x9-easy")[:8]))
    assert known.isdisjoint(map(bytes, played))
    hashes = js.symmetry.solution_hashes
    np.testing.assert_array_equal(np.sort(hashes(played)), np.sort(hashes(js.load("9x9-easy")[:8])))


@pytest.mark.slow
def test_a_run_that_invents_its_puzzles_learns_beside_a_rival(tmp_path):
    """All settings of a run, with an arena; a resumed one is tried in several processes."""
    config = dataclasses.replace(
        TINY,
        steps=40,
        save_every=20,
        validate_every=20,
        network=NetworkConfig("cube", CubeConfig(width=8, hidden=8, house=8, iterations=2, maximum=True)),
        rivals=("house_cnn:layers=3,width=8,hidden=8",),
        arena=ArenaConfig(arena_puzzles=5, arena_simulations=2),
        play=PlayConfig(games=32, updates=10, simulations=2, rules="none", budget=64),
        stream=StreamConfig(source="empty", offered=2, dug=4),
        replay=ReplayConfig(buffer=128, priority=0.5, failed_value="filled", kept_positions=2, reanalyse=0.25),
    )
    self_play(config, tmp_path)
    lines = read(tmp_path / "metrics.jsonl")
    reports = [line for line in lines if line["kind"] == "train"]
    assert all(0 < line["grids_invented"] <= line["empty_boards"] == 16 for line in reports)
    assert reports[-1]["policy_loss"] < reports[0]["policy_loss"]
    assert all(line["games"] == 32 and line["games_solved"] > 0.9 for line in reports)
    assert all(line["house_cnn_loss"] > 0 for line in reports)
    compared = [line for line in lines if line["kind"] == "generation"]
    assert [line["step"] for line in compared] == [20, 20, 40, 40]
    for line, name in zip(compared, ["cube", "house_cnn"] * 2, strict=True):
        found = {key.removeprefix(f"{name}/"): value for key, value in line.items() if "/" in key}
        assert set(found) == {"solved", "grids", "calls", "right", "alone"}
        assert 0 <= found["alone"] <= min(found["solved"], found["right"]) and max(found["solved"], found["right"]) <= 1
    for name in ("network", "network-house_cnn"):
        card = json.loads((tmp_path / f"{name}.json").read_text())
        assert 0 <= card["facts"]["metrics"]["test_solved"] <= 1
    loaded = js.load_network(tmp_path / "network")
    found = js.solve(js.load("4x4")[:20], solver="iterative", network=loaded, rules="none")
    assert (found.status == Status.SOLVED).sum() > 10
