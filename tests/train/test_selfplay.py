"""Self-play: games and their records, positions with their targets, and runs that are resumed."""

from __future__ import annotations

import dataclasses
import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from flax import nnx

import jaxsudoku as js
from jaxsudoku import env
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks import Forward, Network, NetworkModule, Outputs
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig
from train import selfplay
from train.curriculum import fill_by_loss
from train.games import Games, Kept, play
from train.loop import check_metrics
from train.objective import no_metrics
from train.positions import Positions, fitting_devices
from train.reanalysis import reanalyse
from train.replay import Replay, searched_positions, turned
from train.selfplay import _check, _check_devices, main
from train.selfplay_config import PlayConfig, ReplayConfig, ZeroConfig
from train.selfplay_presets import PRESETS, TINY
from train.train_config import NetworkConfig

FOUR, SIX = js.Board.classic(4), js.Board.classic(6)

#: Positions that are kept of each game.
KEPT = 3


def hard() -> np.ndarray:
    """Puzzles of 4x4: with several solutions, with one, and without any."""
    puzzles = np.array(js.load("4x4")[:24])
    puzzles[::3] = 0
    for number, row in enumerate(puzzles[::3]):
        row[number] = 1 + number % 4
    puzzles[1::6] = 0
    puzzles[1::6, :3] = [1, 2, 3]
    puzzles[1::6, 7] = 4
    return puzzles


@dataclasses.dataclass(frozen=True)
class PlainConfig:
    """No sizes."""


class Plain(NetworkModule):
    """A network that compiles in no time: a logit for each candidate, whatever the others are."""

    def __init__(self, config: PlainConfig, board: js.Board, *, rngs: nnx.Rngs) -> None:
        self.logits = nnx.Param(jax.random.normal(rngs.params(), (board.side, board.cells)))

    def __call__(self, candidates: jax.Array) -> Outputs:
        logits = jnp.where(candidates, self.logits[...], 0.0)
        return Outputs(logits, logits.sum(axis=(1, 2)))


@functools.cache
def plain(board: js.Board) -> Network:
    forward = Forward(Plain, PlainConfig(), board)
    return Network("plain", forward, jax.device_get(jax.jit(forward.init)(as_key(1))))


def cubes_of(board: js.Board, games: Games) -> np.ndarray:
    """The kept positions, bool[games, KEPT, side, cells]."""
    unpacked = jax.jit(lambda nodes: env.unpack(nodes, board))(games.kept.nodes.reshape(-1, board.words))
    return np.asarray(unpacked).reshape(len(games.status), KEPT, board.side, board.cells)


@pytest.fixture(scope="module")
def games() -> Games:
    config = GumbelConfig(simulations=3, rules="none", budget=22, temperature=1.0, complete=False).resolve(FOUR, "cpu")
    network = plain(FOUR)
    played = jax.jit(lambda params, puzzles: play(config, network.apply, params, puzzles, as_key(3), KEPT))
    return jax.tree.map(np.asarray, played(network.params, hard()))


def test_games_end_as_they_should(games):
    puzzles = hard()
    for puzzle, grid, status in zip(puzzles, games.solutions, games.status, strict=True):
        solvable = reference.count(FOUR, puzzle, 1) > 0
        assert status in (Status.SOLVED, Status.UNSOLVED) if solvable else status != Status.SOLVED
        assert reference.is_solution(FOUR, grid, puzzle) == (status == Status.SOLVED)
    assert (games.status == Status.SOLVED).sum() >= 8
    assert (games.iterations > 0).sum() >= 20


def test_positions_that_were_searched_are_kept(games):
    kept = games.kept
    assert kept.searched.max() > KEPT
    cubes = cubes_of(FOUR, games)
    for game in range(len(games.status)):
        for place in range(min(kept.searched[game], KEPT)):
            position, cell, policy = cubes[game, place], kept.cell[game, place], kept.policy[game, place]
            given = games.puzzles[game]
            digits = np.flatnonzero(given), given[given > 0] - 1
            assert position[digits[1], digits[0]].all()
            assert position[:, cell].sum() > 1
            assert not policy[~position[:, cell]].any()
            assert policy.sum() == pytest.approx(1, abs=1e-5) or not policy.any()


@pytest.mark.slow
def test_games_without_backtracking_fail_at_their_first_error():
    network = plain(SIX)
    config = McgsConfig(simulations=4, rules="none", budget=400, placements=12).resolve(SIX, "cpu")
    puzzles = np.array(js.load("6x6")[:24])
    puzzles[:8, :6] = 0  # some with several solutions
    run = jax.jit(lambda params: play(config, network.apply, params, puzzles, as_key(3), KEPT, False))
    games = jax.tree.map(np.asarray, run(network.params))
    solved, failed = games.status == Status.SOLVED, games.status == Status.UNSOLVED
    assert solved.any() and failed.any() and (solved | failed).all()
    for puzzle, grid, status in zip(puzzles, games.solutions, games.status, strict=True):
        assert reference.is_solution(SIX, grid, puzzle) == (status == Status.SOLVED)
        assert ((puzzle == 0) | (grid == puzzle)).all()
    kept, size = games.kept, np.minimum(games.kept.searched, KEPT)
    assert kept.searched.max() > KEPT and (kept.surprise > 0).any() and (kept.surprise >= 0).all()
    cubes = cubes_of(SIX, games)
    for game, places in enumerate(size):
        for place in range(places):
            policy, left = kept.policy[game, place], cubes[game, place][:, kept.cell[game, place]]
            assert not policy[~left].any()
            assert policy.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_games_with_known_solutions_end_at_their_first_wrong_digit():
    network = plain(SIX)
    config = McgsConfig(simulations=4, rules="none", budget=400, placements=12).resolve(SIX, "cpu")
    puzzles = np.array(js.load("6x6")[:24])
    truth = jnp.asarray(js.solve(puzzles, SIX).grids)

    @jax.jit
    def run(params):
        games = play(config, network.apply, params, puzzles, as_key(3), KEPT, False, truth)
        return games, searched_positions(SIX, games, as_key(0), 24, "truth")

    games, found = jax.tree.map(np.asarray, run(network.params))
    assert (games.solutions == truth).all()
    failed = games.status == Status.UNSOLVED
    assert failed.any() and (failed | (games.status == Status.SOLVED)).all()
    assert (games.kept.searched[failed] <= (puzzles[failed] == 0).sum(axis=1)).all()
    right = np.asarray(truth)[:, None] == np.arange(1, 7)[:, None]
    known = (cubes_of(SIX, games) & right[:, None]).any(axis=2).all(axis=2)  # [games, KEPT]
    kept = np.arange(KEPT) < games.kept.searched[:, None]
    assert known[kept].any() and not known[kept].all()
    alive = found.alive[found.useful]
    assert set(alive.tolist()) == {0, 1}
    assert (found.truth[found.useful].sum(axis=1) == alive[:, None]).all()


def test_cells_are_filled_by_the_loss_at_each_number_of_open_cells():
    truth = np.array(reference.solutions(FOUR, [0] * 16, 1), np.uint8).repeat(4000, axis=0)
    puzzles = np.where(np.arange(16) < 4, truth, 0).astype(np.uint8)
    losses = np.zeros(17, np.float32)
    losses[[2, 5, 12, 14]] = 1, 2, 1, 9
    filled = np.asarray(jax.jit(fill_by_loss)(puzzles, truth, losses, as_key(0)))
    assert ((filled == truth) | ((filled == 0) & (puzzles == 0))).all()
    counts = np.bincount((filled == 0).sum(axis=1), minlength=17) / len(filled)
    np.testing.assert_allclose(counts[[2, 5, 12]], [0.25, 0.5, 0.25], atol=0.03)
    assert counts.sum() == pytest.approx(counts[[2, 5, 12]].sum())
    np.testing.assert_allclose((filled[:, 4:] > 0).mean(axis=0), (filled[:, 4:] > 0).mean(), atol=0.03)


def test_targets_of_searched_positions_are_those_of_their_games():
    solution = np.array(reference.solutions(FOUR, [0] * 16, 1), np.uint8)
    right = solution[0][None] == np.arange(1, 5)[:, None]
    live, dead = np.ones((4, 16), bool), np.ones((4, 16), bool)
    dead[solution[0, 5] - 1, 5] = False
    policy = np.float32([0.1, 0.2, 0.3, 0.4])
    cases = (
        (live, Status.SOLVED, 1),
        (dead, Status.SOLVED, 1),
        (live, Status.UNSOLVED, 5),
        (live, Status.UNSATISFIABLE, 1),
        (live, Status.SOLVED, 0),
    )
    cubes, status, searched = map(np.array, zip(*cases, strict=True))
    solutions = np.where(status[:, None] == Status.SOLVED, solution, 0).astype(np.uint8)
    half = solutions.copy()
    half[2, :8] = 1

    @jax.jit
    def found_of(cubes, solutions, half):
        number = np.ones(5, np.int32)
        kept = Kept(
            env.pack(cubes, FOUR)[:, None],
            np.full((5, 1), 7, np.int32),
            jnp.asarray(np.tile(policy, (5, 1, 1))),
            searched.astype(np.int32),
            np.zeros(5, np.float32),
        )
        games = Games(np.zeros((5, 16), np.uint8), solutions, status.astype(np.int8), number, number, kept)
        games = jax.tree.map(jnp.asarray, games)
        found = searched_positions(FOUR, games, as_key(0), 5)
        return found, searched_positions(FOUR, games._replace(solutions=half), as_key(0), 5, "filled")

    found, valued = jax.tree.map(np.asarray, found_of(cubes, solutions, half))
    assert found.useful.sum() == 3 and found.useful[:3].all()
    assert sorted(valued.alive[:3].tolist()) == [0, 0.5, 1]
    improved = np.zeros((4, 16), np.float32)
    improved[:, 7] = policy
    seen = set()
    for candidates, truth, alive in zip(*(leaf[:3] for leaf in found[:3]), strict=True):
        if alive:
            seen.add("live")
            np.testing.assert_array_equal(truth, right)
        elif truth.any():
            seen.add("failed")
            np.testing.assert_array_equal(truth, improved)
        else:
            seen.add("dead")
            np.testing.assert_array_equal(candidates, dead)
    assert seen == {"live", "dead", "failed"}


@pytest.mark.slow
def test_failed_games_are_searched_again(games):
    config = GumbelConfig(simulations=64, rules="naked", temperature=1.0, complete=False).resolve(FOUR, "cpu")
    failed = np.flatnonzero((games.status == Status.UNSOLVED) & (games.kept.searched > 0))
    assert len(failed)
    chosen = np.concatenate([failed, np.flatnonzero(games.status == Status.SOLVED)[:3]])
    network = plain(FOUR)
    again = jax.jit(lambda params, games: reanalyse(FOUR, config, network.apply, params, games, chosen, as_key(0)))
    after = jax.tree.map(np.asarray, again(network.params, games))
    others = np.setdiff1d(np.arange(len(games.status)), failed)
    jax.tree.map(lambda one, other: np.testing.assert_array_equal(one[others], other[others]), games, after)
    solved = failed[after.status[failed] == Status.SOLVED]
    assert len(solved)
    for game in solved:
        assert reference.is_solution(FOUR, after.solutions[game], games.puzzles[game])
    changed = (after.kept.policy != games.kept.policy).any(axis=(1, 2))
    assert changed[failed].any()


def replay_of(priority: float = 0.0) -> Replay:
    config = dataclasses.replace(
        TINY.resolve(FOUR, "cpu"),
        play=PlayConfig(games=24, updates=10),
        replay=ReplayConfig(buffer=64, searched=0.5, kept_positions=KEPT, priority=priority),
    )
    return Replay(config, 1)


def test_positions_are_made_of_solved_puzzles_alone(games):
    replay = replay_of()

    @jax.jit
    def sample(key, games):
        buffer = replay.add(replay.init(), games)
        return replay.sample(key, buffer, jnp.float32(0), jnp.ones(17, jnp.float32))

    solved = games.solutions[games.status == Status.SOLVED][:, None] == np.arange(1, 5)[:, None]
    made = 0
    for seed in range(8):
        found = jax.tree.map(np.asarray, sample(as_key(seed), games))
        assert found.candidates.shape == (8, 4, 16) and found.truth.dtype == np.float32
        for candidates, truth, alive, useful in zip(*(leaf[:4] for leaf in found), strict=True):
            if useful and alive:
                made += 1
                assert (solved == truth).all(axis=(1, 2)).any() and candidates[truth > 0].all()
    assert made > 8


def test_surprising_games_are_drawn_more_often(games):
    replay = replay_of(priority=1.0)

    def told(surprise):
        return games._replace(kept=games.kept._replace(surprise=np.float32(surprise)))

    @jax.jit
    def drawn(key, buffer):
        found = replay.drawn(key, buffer)
        return found.puzzles, found.iterations

    added, empty = jax.jit(replay.add), jax.jit(replay.init)()
    _, places = drawn(as_key(0), added(empty, told(np.ones(24))))
    assert np.corrcoef(places, np.arange(len(places)))[0, 1] < 0.5
    buffer, surprising = empty, told(1e4 * (np.arange(24) == 5))
    for _ in range(2):  # the second time it goes round the buffer
        buffer = added(added(buffer, surprising), surprising)
        puzzles, _ = drawn(as_key(0), buffer)
        assert (np.asarray(puzzles) == games.puzzles[5]).all(axis=1).mean() > 0.95


@pytest.mark.parametrize("priority", [0.0, 1.0])
def test_a_buffer_has_the_same_types_before_and_after_games_are_added(games, priority):
    """Else the first round would be compiled as a program of its own."""
    replay = replay_of(priority)
    empty = jax.eval_shape(replay.init)
    after = jax.eval_shape(replay.add, empty, games)
    assert jax.tree.map(lambda leaf: (leaf.dtype, leaf.shape, leaf.weak_type), empty) == jax.tree.map(
        lambda leaf: (leaf.dtype, leaf.shape, leaf.weak_type), after
    )


def test_turned_positions_keep_their_truth(games):
    solved = games.solutions[games.status == Status.SOLVED]
    truth = solved[:, None] == np.arange(1, 5)[:, None]
    candidates = truth | (np.random.default_rng(0).random(truth.shape) < 0.3)
    size = np.ones(len(solved), np.float32)
    plain = Positions(candidates, truth.astype(np.float32), size, size > 0)
    after = jax.tree.map(np.asarray, jax.jit(lambda plain: turned(FOUR, plain, as_key(0)))(plain))
    assert (after.truth != truth).any(axis=(1, 2)).mean() > 0.9
    assert after.candidates[after.truth > 0].all()
    np.testing.assert_array_equal(after.candidates.sum(axis=(1, 2)), candidates.sum(axis=(1, 2)))
    for cube in after.truth:
        assert reference.is_solution(FOUR, cube.argmax(axis=0) + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "45"], "steps 45 must be a multiple of updates, 10"),
        (["--puzzles", "nowhere.txt"], "nowhere.txt"),
        (["--minutes", "0"], "the time must be above 0 minutes, not 0.0"),
        (["--minutes", "1", "--steps", "50"], "steps are set by --steps, or by --minutes or --hours, not by both"),
        (["--minutes", "0", "--updates", "15"], "the time must be above 0 minutes"),
        (["--source", "empty", "--most-clues", "30"], "most_clues is for generated puzzles"),
        (["--hours", "0"], "the time must be above 0 minutes, not 0.0"),
        (["--searched", "1.5"], "searched"),
        (["--buffer", "2000000000"], "lower --buffer or --kept-positions"),
        (["--buffer", "60"], "a buffer of 60 games is too small"),
        (["--rivals", "cube"], "rivals: cube is there twice"),
        (["--rivals", "se_resnet:width=x"], "rivals: 'se_resnet:width=x' is not NAME"),
        (["--rivals", "se_resnet:depth=2"], "the network se_resnet has no option depth"),
        (["--rivals", "no_such"], "no_such"),
        (["--source", "empty", "--puzzles", "x.txt"], "puzzles is for the source puzzles"),
        (["--source", "empty", "--temperature", "0"], "source empty is for the method gumbel with a temperature"),
        (["--reanalyse", "0.5", "--method", "mcgs"], "reanalyse is for the method gumbel"),
        (["--arena-puzzles", "80"], "different puzzles with one solution; arena_puzzles 80 needs 160"),
        (["--dug", "3"], "dug is for the source empty"),
        (["--searched", "0", "--failed-value", "filled"], "failed_value filled is for searched positions, and"),
        (["--searched", "0", "--kept-positions", "8"], "kept_positions 8 is for searched positions or reanalyse"),
        (["--arena-rules", "naked"], "arena_rules is for an arena: say how many puzzles it has by arena_puzzles"),
        (["--method", "mcgs", "--temperature", "0.5"], "temperature is for the method gumbel"),
        (["--method", "mcgs", "--cell", "surest"], "cell is for the method gumbel"),
        (["--source", "empty", "--datasets", "x"], "datasets is for generated puzzles"),
        (["--generate", "60"], "generate 60 is too few: a round takes 64 puzzles"),
        (["--batch-size", "9", "--microbatch", "4"], "can't be divided into microbatches of 4"),
        (["--hours", "inf"], "the time must be above 0 minutes, not inf"),
        (["--acting-iterations", "0"], "acting_iterations"),
    ],
)
def test_errors_take_a_line(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "1")
    try:
        status = main(["--preset", "tiny", "--output", str(tmp_path / "run"), *arguments])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    lines = capsys.readouterr().err.splitlines()
    assert message in lines[-1]
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_network_that_diverges_beside_the_player_is_named():
    sums = no_metrics()
    check_metrics(sums, 7, "no position", " of axial")
    with pytest.raises(FloatingPointError, match="the loss of axial is nan by step 7: try a lower learning_rate"):
        check_metrics(sums._replace(loss=np.float32(np.nan)), 7, "no position", " of axial")


def test_the_time_sets_the_steps(monkeypatch):
    """A round takes 2 s, the first one 10 s more to compile, and a check 4 s after every other round."""
    config, now, rounds = TINY.resolve(FOUR, "cpu"), 100.0, []

    def passed(seconds, done=None):
        nonlocal now
        now += seconds
        return done

    def run(state, sums, puzzles, key):
        rounds.append(puzzles)
        return passed(2 if len(rounds) > 1 else 12, (state, sums))

    monkeypatch.setattr(selfplay, "time", types.SimpleNamespace(perf_counter=lambda: now))
    training = types.SimpleNamespace(
        config=config,
        unit=config.play.updates,
        steps_key=None,
        initial_state=lambda: None,
        no_sums=lambda: None,
        data=lambda step: iter(range(9)),
        program=lambda step: run,
        validate=lambda state: passed(3),
        compare=lambda state: passed(1),
    )
    again = 12 * len({config.iterations_at(step) for step in range(1, config.steps + 1)})
    end = 100 + 12 + 3 * 2 + 2 * 4 + again + (2 + 4 / 2) * 50.1 / 0.9
    assert selfplay._steps_until(end, training) == 50 * config.play.updates
    assert rounds == [0, 1, 2, 3]
    rounds.clear()
    assert selfplay._steps_until(now, training) == config.play.updates


def test_games_are_divided_among_devices():
    config = dataclasses.replace(TINY, play=dataclasses.replace(TINY.play, games=63)).resolve(TINY.board, "cpu")
    with pytest.raises(ValueError, match="games 63 can't be divided into equal parts for 2 devices"):
        _check(config, 2)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_divided_among_some_of_many_cores(preset):
    devices = fitting_devices(functools.partial(_check_devices, PRESETS[preset]), 16)
    assert 1 <= devices < 16 or preset == "gpu"
    _check_devices(PRESETS[preset], devices)


def test_presets_are_settings_of_self_play():
    for config in PRESETS.values():
        assert isinstance(config, ZeroConfig)
        assert isinstance(config.resolve(config.board, "cpu").network, NetworkConfig)
        assert isinstance(config.play.search(config.board, "cpu"), GumbelConfig | McgsConfig)
