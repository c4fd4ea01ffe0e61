"""Self-play: the puzzles that are played, the arena, and runs with everything that a run may have."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import networks
from jaxsudoku.solution import Status
from jaxsudoku.solvers.tree.config import GumbelConfig, McgsConfig
from jaxsudoku.terminal.progress import Screen
from train.arena import Arena, play_alone
from train.config import NetworkConfig
from train.curriculum import foreseen, least_sure
from train.invention import dig, invent
from train.processes import Processes
from train.selfplay import self_play
from train.selfplay_config import ArenaConfig, PlayConfig, ReplayConfig, StreamConfig
from train.selfplay_presets import PRESETS, TINY
from train.stream import Stream

FOUR, SIX = js.Board.classic(4), js.Board.classic(6)


def save(file: Path, puzzles: np.ndarray) -> None:
    file.write_text("".join("".join(map(str, puzzle)) + "\n" for puzzle in puzzles))


def others_of_four() -> np.ndarray:
    """Different puzzles of 4x4, none of which is among those that ship."""
    puzzles = np.unique(js.generate(5, 60, FOUR).puzzles, axis=0)
    shipped = set(map(bytes, js.load("4x4")))
    return puzzles[[bytes(puzzle) not in shipped for puzzle in puzzles]]


@pytest.fixture(scope="module")
def network() -> networks.Network:
    return networks.make_network("cube", SIX, key=1, width=8, hidden=8, house=8, iterations=2)


def test_the_network_foresees_what_needs_no_network(network):
    puzzles = np.array(js.load("6x6")[:32])
    easy = np.asarray(js.rating.solved_by(puzzles, SIX, "naked"))
    config = GumbelConfig(rules="naked").resolve(SIX, "cpu")
    found = np.asarray(foreseen(SIX, config, network.apply, network.params, puzzles))
    np.testing.assert_array_equal(found == 0, easy)
    assert (found <= 0).all() and (found < -1).any()
    outputs = network(js.env.observe(js.env.init(puzzles, SIX, "naked"), SIX))
    likely = np.asarray(jax.nn.softmax(outputs.policy, axis=1).max(axis=1))
    opened = np.asarray(js.env.observe(js.env.init(puzzles, SIX, "naked"), SIX)).sum(axis=1) > 1
    expected = np.where(opened, np.log(likely), 0).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_puzzles_of_which_the_network_is_least_sure_are_drawn():
    log_probability = jnp.log(jnp.asarray([1e-9, 0.5, 0.999999, 0.5, 0.1, 1e-9] * 4))
    counts = np.zeros(24)
    for seed in range(64):
        drawn = np.asarray(least_sure(log_probability, 8, jax.random.key(seed)))
        assert len(set(drawn.tolist())) == 8
        counts[drawn] += 1
    counts = counts.reshape(4, 6).sum(axis=0)
    assert counts[[0, 2, 5]].sum() < 5
    assert counts[1] > counts[4] > 10


@pytest.mark.slow
def test_puzzles_are_dug_out_of_invented_grids(network):
    config = GumbelConfig(simulations=2, rules="naked", budget=60, temperature=1.0).resolve(SIX, "cpu")
    games = jax.jit(lambda params: invent(SIX, config, network.apply, params, 6, jax.random.key(0)))(network.params)
    solved = np.asarray(games.status) == Status.SOLVED
    assert solved.sum() >= 3
    grids = np.asarray(games.solutions)
    assert all(reference.is_solution(SIX, grid) for grid in grids[solved])
    assert len({grid.tobytes() for grid in grids[solved]}) > 1
    one_failed = games._replace(status=games.status.at[np.flatnonzero(solved)[0]].set(Status.UNSOLVED))
    puzzles = np.asarray(jax.jit(lambda games: dig(SIX, games, 8, jax.random.key(1), "cpu"))(one_failed))
    assert puzzles.shape == (48, 36)
    given = set(map(bytes, grids[solved][1:]))
    clues = (puzzles > 0).sum(axis=1)
    assert clues.min() < 14 and clues.max() > 22
    for puzzle in puzzles:
        (solution,) = reference.solutions(SIX, puzzle, 2)
        assert bytes(np.uint8(solution)) in given


@pytest.mark.slow
def test_without_any_grid_nothing_is_learned(network):
    config = GumbelConfig(simulations=2, rules="naked", budget=1).resolve(SIX, "cpu")
    games = jax.jit(lambda params: invent(SIX, config, network.apply, params, 2, jax.random.key(0)))(network.params)
    assert (np.asarray(games.status) == Status.UNSOLVED).all()
    assert (js.solve(np.asarray(dig(SIX, games, 2, jax.random.key(1), "cpu")), SIX).status == Status.INVALID).all()


@pytest.mark.slow
def test_games_alone_end_at_their_first_error(network):
    puzzles = np.array(js.load("6x6")[:40])
    truth = np.array(js.solve(puzzles, SIX).grids)
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
    assert (wrong.right <= found.opened).all() and not wrong.solved.any()


@pytest.mark.slow
def test_the_arena_counts_what_it_says(network):
    puzzles = np.array(js.load("6x6")[:40])
    config = ArenaConfig(arena_puzzles=40, arena_simulations=2, arena_rules="naked", arena_budget=8)
    found = Arena(SIX, config, puzzles, "cpu").compare({"small": (network.apply, network.params)}, Processes())["small"]
    assert set(found) == {"solved", "grids", "calls", "right", "alone"}
    search = GumbelConfig(simulations=2, rules="naked", temperature=0.0, budget=8)
    solved = js.solve(puzzles, SIX, solver="gumbel", network=network, **dataclasses.asdict(search))
    assert found["solved"] == pytest.approx((solved.status == Status.SOLVED).mean(), abs=0.1)
    assert 0 < found["alone"] <= found["solved"] <= 1 and found["alone"] <= found["right"] < 1


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
    played = next(stream.rounds(jax.random.key(0), jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",)), 0))
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
    played = next(stream.rounds(jax.random.key(0), jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",)), 0))
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


def test_puzzles_of_a_file_are_turned_for_networks_that_see_places(tmp_path):
    file = tmp_path / "puzzles.txt"
    save(file, js.load("9x9-easy")[:8])
    network = NetworkConfig("cell_cnn")
    config = dataclasses.replace(PRESETS["cpu"], network=network, stream=StreamConfig(puzzles=str(file)))
    config = dataclasses.replace(config, play=dataclasses.replace(config.play, games=8)).resolve(config.board, "cpu")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",))
    played = np.asarray(next(Stream(config, 1).rounds(jax.random.key(0), mesh, 0)))
    known = set(map(bytes, js.load("9x9-easy")[:8]))
    assert known.isdisjoint(map(bytes, played))
    hashes = js.symmetry.solution_hashes
    np.testing.assert_array_equal(np.sort(hashes(played)), np.sort(hashes(js.load("9x9-easy")[:8])))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mcgs", "empty"])
def test_a_run_with_everything_is_resumed_to_the_same_bits(tmp_path, kind):
    small = {"games": 32, "updates": 10, "simulations": 2, "rules": "none", "budget": 64}
    rivals = ("axial:width=6,heads=1,hidden=8,rounds=1",) if kind == "mcgs" else ()
    config = dataclasses.replace(
        TINY,
        steps=30,
        save_every=10,
        validate_every=10,
        data=dataclasses.replace(TINY.data, generate=300),
        rivals=rivals,
        arena=ArenaConfig(arena_puzzles=5, arena_simulations=2),
        play=PlayConfig(**small, method="mcgs", backtracking=False) if kind == "mcgs" else PlayConfig(**small),
        stream=StreamConfig(offered=2) if kind == "mcgs" else StreamConfig(source="empty", offered=2, dug=4),
        replay=ReplayConfig(
            buffer=128,
            priority=0.5,
            failed_value="filled",
            kept_positions=2,
            reanalyse=0.25 if kind == "empty" else 0.0,
        ),
    )
    whole = self_play(config, tmp_path / "whole")
    self_play(config, tmp_path / "broken", stop_at=10)
    again = self_play(config, tmp_path / "broken", resume=True)
    jax.tree.map(np.testing.assert_array_equal, whole.params, again.params)
    others = [rival.partition(":")[0] for rival in rivals]
    names = ("network", *(f"network-{other}" for other in others))
    for name in names:
        file = f"{name}.safetensors"
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "broken" / file).read_bytes()
        assert js.load_network(tmp_path / "broken" / name, board=FOUR)
    lines = [json.loads(line) for line in (tmp_path / "broken" / "metrics.jsonl").read_text().splitlines()]
    compared = [line for line in lines if line["kind"] == "generation"]
    assert [line["step"] for line in compared] == [step for step in (10, 20, 30) for _ in names]
    assert {key.split("/")[0] for line in compared for key in line if "/" in key} == {"cube", *others}
    for name in names:
        card = json.loads((tmp_path / "whole" / f"{name}.json").read_text())
        assert 0 <= card["facts"]["metrics"]["test_solved"] <= 1
    reports = [line for line in lines if line["kind"] == "train"]
    assert all(line[f"{other}_loss"] > 0 for line in reports for other in others)
    if kind == "empty":
        assert all(0 < line["grids_invented"] <= line["empty_boards"] == 16 for line in reports)
