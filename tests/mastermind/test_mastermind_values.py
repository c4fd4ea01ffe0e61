"""The learned value of Mastermind: symmetry, bounds, files, its use by lookahead, and its training."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import jax
import numpy as np
import pytest
import safetensors.numpy
from flax import nnx
from mastermind_reference import codes as reference_codes
from mastermind_reference import fewest_guesses

import jaxsudoku.mastermind as mm
from jaxsudoku.cli import main
from jaxsudoku.mastermind import values
from jaxsudoku.mastermind.costs import estimate
from jaxsudoku.mastermind.positions import Positions
from jaxsudoku.mastermind.scoring import Scorer, scorer
from jaxsudoku.mastermind.values import LearnedValue, ValueConfig, ValueFileError
from train import mastermind as training
from train.mastermind_guesses import Guesses, GuessesConfig, GuessesFileError, cached_guesses, make_guesses, parse_game

SMALL = ValueConfig(width=4, hidden=8)
GAME = mm.PegGame(3, 4)
FEW = GuessesConfig(positions=6, guesses=5, further=2, exact=30, tried=8)


def random_value(seed: int, config: ValueConfig = SMALL) -> LearnedValue:
    """A network whose corrections are not 0."""
    random = np.random.default_rng(seed)
    shapes = values._shapes(config)
    return LearnedValue(config, {name: random.normal(0, 0.3, shape) for name, (shape, _) in shapes.items()})


def some_positions(game: mm.Game, seed: int, number: int = 12) -> Positions:
    random = np.random.default_rng(seed)
    sizes = random.integers(3, 40, size=number)
    return Positions.of(np.sort(random.choice(game.secrets, size, replace=False)) for size in sizes)


def test_before_training_the_estimate_stays():
    positions = some_positions(GAME, 1)
    _, scores = scorer(GAME).best(positions, estimate(GAME))
    untrained = LearnedValue(SMALL, values.flat_params(nnx.state(training._compiled_network(SMALL, 3), nnx.Param)))
    expected = scores / estimate(GAME).bonus + positions.sizes
    np.testing.assert_allclose(untrained.totals(GAME, positions), expected, rtol=1e-6)


def test_exchanged_pegs_and_colours_have_the_same_value():
    positions, random = some_positions(GAME, 2, 16), np.random.default_rng(3)
    pegs, colours = random.permutation(GAME.pegs), random.permutation(GAME.colours).astype(np.uint8)
    images = [np.sort(GAME.index_of(colours[GAME.codes[codes]][:, pegs])) for codes in positions]
    value = random_value(4)
    found = value.totals(GAME, positions)
    np.testing.assert_allclose(value.totals(GAME, Positions.of(images)), found, rtol=1e-5)
    assert len(set(np.round(found / positions.sizes, 4))) > 6


def test_a_value_is_one_that_a_strategy_may_have():
    positions = some_positions(GAME, 5)
    inputs = values.features(GAME, positions)
    low, high = (values.corrected(inputs, np.full(len(positions), change), 99) for change in (-0.5, 0.5))
    sure = inputs.total <= 2 * positions.sizes
    assert sure.any() and not sure.all()
    np.testing.assert_array_equal(low[sure], inputs.total[sure])
    assert (low[~sure] >= 2 * positions.sizes[~sure]).all()
    np.testing.assert_allclose(high[~sure], (inputs.total + positions.sizes / 2)[~sure], rtol=1e-6)
    on_device = jax.jit(values.corrected)(inputs, np.full(len(positions), 0.5, np.float32), 99)
    np.testing.assert_allclose(on_device, high, rtol=1e-6)
    np.testing.assert_array_equal(values.corrected(inputs, np.ones(len(positions)), 2), inputs.total)
    apart = Positions.of([np.array([0, 1, 6])])  # 111, 112 and 123: a guess tells the others apart
    assert random_value(7).totals(GAME, apart) == 5


def test_corrections_are_small_for_positions_larger_than_any_that_was_learned():
    game = mm.PegGame(4, 5)
    value, everything = LearnedValue.load("trained"), Positions.of([np.arange(game.secrets)])
    for params in (value.params, {name: 50 * array for name, array in value.params.items()}):
        found = dataclasses.replace(value, params=params).corrections(values.features(game, everything))
        assert (np.abs(found) <= 0.5).all()


def test_features_are_the_same_without_a_table(monkeypatch):
    positions = some_positions(GAME, 14)
    with_table = values.features(GAME, positions)
    monkeypatch.setattr(values, "scorer", lambda game: Scorer(game, by_blocks=True))
    for one, other in zip(with_table, values.features(GAME, positions), strict=True):
        np.testing.assert_array_equal(one, other)


def test_scores_of_few_guesses_are_spread_up_to_the_worst():
    game = mm.PegGame(1, 3)
    positions = Positions.of([np.arange(2)])
    ((_, scores),) = scorer(game).scores(positions, estimate(game))
    spread = values._features(game, positions).numbers[0, -len(values._RANKS) :]
    ordered = np.sort(scores[0])
    expected = [ordered[min(rank, len(ordered) - 1)] - ordered[0] for rank in values._RANKS]
    np.testing.assert_allclose(spread, np.log1p(np.array(expected) / estimate(game).bonus), rtol=1e-6)
    assert spread[-1] > 0


def test_positions_are_valued_alike_in_any_company():
    value, positions = random_value(8), some_positions(GAME, 9)
    alone = [value.totals(GAME, positions.take(np.array([index])))[0] for index in range(len(positions))]
    np.testing.assert_allclose(value.totals(GAME, positions), alone, rtol=1e-5)
    assert value.totals(GAME, Positions.of([])).shape == (0,)


@pytest.mark.parametrize(
    "game",
    [mm.WordGame(("abba", "baba", "aabb")), mm.PegGame(3, 4, elsewhere=False), mm.PegGame(3, 4, repeats=False)],
    ids=str,
)
def test_other_games_have_no_learned_value(game):
    with pytest.raises(mm.GameError, match="a learned value is for Mastermind with repeats"):
        mm.build(game, "lookahead", values="trained")


# ---------------------------------------------------------------------- files


def test_a_file_holds_the_network_and_its_facts(tmp_path):
    value = dataclasses.replace(random_value(10), facts={"games": ["4x6"], "seconds": 1.5})
    value.save(tmp_path / "value.safetensors")
    loaded = LearnedValue.load(tmp_path / "value.safetensors")
    assert loaded.config == value.config and loaded.facts == value.facts
    positions = some_positions(GAME, 11)
    np.testing.assert_allclose(loaded.totals(GAME, positions), value.totals(GAME, positions), rtol=1e-5)


def changed(card: dict, **params: np.ndarray) -> bytes:
    tensors = {name: np.asarray(array, np.float32) for name, array in random_value(12).params.items()} | params
    facts = {"version": 1, "config": dataclasses.asdict(SMALL), "facts": {}} | card
    return safetensors.numpy.save(tensors, {"jaxsudoku": json.dumps(facts)})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a learned value"),
        (b"\x10\0\0\0\0\0\0\0not a safe tensor", "not a learned value"),
        (safetensors.numpy.save({"a": np.zeros(1, np.float32)}), "not a learned value .*KeyError"),
        (changed({})[:-20], "not a learned value"),
        (changed({"version": 2}), "version 2 of the format is not known, only 1"),
        (changed({"config": {"width": 0, "hidden": 8}}), "width must be at least 1"),
        (changed({"config": {"width": 5, "hidden": 8}}), "not those of a network of its sizes"),
        (changed({}, other=np.zeros(1, np.float32)), "not those of a network of its sizes"),
        (changed({}, **{"correction.bias": np.zeros(1, np.int64)}), "not those of a network of its sizes"),
        (changed({"facts": 7}), "not a learned value"),
        (changed({}, **{"correction.bias": np.array([np.nan], np.float32)}), "some parameters are not finite"),
    ],
    ids=["empty", "other", "no-card", "short", "version", "config", "sizes", "more", "kind", "facts", "nan"],
)
def test_other_files_are_refused_by_name(tmp_path, data, message):
    path = tmp_path / "value.safetensors"
    path.write_bytes(data)
    with pytest.raises(ValueFileError, match=f"value.safetensors: .*{message}"):
        LearnedValue.load(path)


def test_a_missing_file_is_an_error_of_the_command(tmp_path, capsys):
    assert main(["mastermind", "evaluate", "--player", "lookahead", "--values", str(tmp_path / "none")]) == 2
    assert "none: there is no such file; the network that ships is 'trained'" in capsys.readouterr().err


# ---------------------------------------------------------------------- lookahead


def test_lookahead_plays_by_a_network(tmp_path):
    random_value(13).save(tmp_path / "value")
    tree = mm.build(GAME, "lookahead", values=str(tmp_path / "value"))
    assert (tree.attempts > 0).all()
    again = mm.build(GAME, "lookahead", values=tmp_path / "value")
    np.testing.assert_array_equal(tree.guesses, again.guesses)
    for small in (mm.PegGame(1, 3), mm.PegGame(2, 3)):
        assert mm.build(small, "lookahead", values="trained").attempts.sum() == fewest_guesses(small)


def test_values_need_a_guess_before_them():
    with pytest.raises(ValueError, match="plies must be at least 2"):
        mm.LookaheadConfig(plies=1, values="trained")


def test_the_command_plays_by_the_network_that_ships(capsys):
    flags = ["--pegs", "3", "--colours", "4", "--player", "lookahead", "--values", "trained", "--quiet", "--json"]
    assert main(["mastermind", "evaluate", *flags]) == 0
    report = json.loads(capsys.readouterr().out)
    assert sum(report["histogram"].values()) == 64


def test_the_network_that_ships_is_that_of_the_default_settings():
    shipped = LearnedValue.load("trained")
    assert shipped.config == ValueConfig()
    assert shipped.facts["training"] == json.loads(json.dumps(dataclasses.asdict(training.ValueTrainConfig())))
    assert shipped.facts["guesses"] == dataclasses.asdict(GuessesConfig())


def test_the_network_that_ships_finds_the_best_strategy():
    assert mm.build(GAME, "lookahead", values="trained").attempts.sum() == 206


def test_the_network_that_ships_is_close_to_true_totals():
    made = make_guesses(GAME, FEW, 0)
    trained, other = (
        made.error(value.totals_of(made.inputs)) for value in (LearnedValue.load("trained"), random_value(4))
    )
    assert trained < 0.012 < 0.1 < other


def test_several_openings_are_better_than_one():
    totals = [int(mm.build(GAME, "lookahead", plies=1, openings=count).attempts.sum()) for count in (1, 2, 99)]
    assert totals[0] > totals[1] >= totals[2]


# ---------------------------------------------------------------------- training


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    """A file of a network that plays somehow."""
    path = tmp_path_factory.mktemp("player") / "value.safetensors"
    random_value(3).save(path)
    return path


@pytest.mark.parametrize("played", [False, True])
def test_guesses_have_the_totals_of_the_best_strategies(played, player):
    game = GAME
    made = make_guesses(game, FEW, 0, player if played else None)
    every = reference_codes(game)
    for codes, total in list(zip(made.positions, made.totals, strict=True))[::7]:
        assert total == fewest_guesses(game, [every[code] for code in codes])
    assert (made.sizes > 8).all() and (made.sizes < game.secrets).all()
    assert made.regret(made.totals) == 0
    assert made.regret(-made.totals) > 0


def test_play_reaches_the_positions_after_the_first_guesses_and_later_ones(player, monkeypatch):
    monkeypatch.setattr("train.mastermind_guesses._LEAST", (3, 3))
    game, everything = GAME, Positions.of([np.arange(64)])
    ((_, openings, _),) = scorer(game).ranked(everything, estimate(game), [()])
    after = scorer(game).partition(everything.take([0, 0]), openings[:2]).parts.sizes
    config = dataclasses.replace(FEW, openings=2, positions=99, guesses=2, further=0, exact=16)
    made = make_guesses(game, config, 0, player)
    more = Counter(made.sizes.tolist())
    more.subtract(after[after > 3].tolist())
    assert min(more.values()) == 0 and more.total() > 0 and min(more) > 3


def test_guesses_are_made_once(tmp_path, monkeypatch):
    game = GAME
    made = cached_guesses(game, FEW, 0, tmp_path)
    monkeypatch.setattr("train.mastermind_guesses.make_guesses", None)
    again = cached_guesses(game, FEW, 0, tmp_path)
    for name in Guesses._fields[2:]:
        np.testing.assert_array_equal(getattr(made, name), getattr(again, name))
    np.testing.assert_array_equal(made.inputs.numbers, again.inputs.numbers)
    (file,) = tmp_path.iterdir()
    for data in (b"", file.read_bytes()[:200], b"PK\3\4"):
        file.write_bytes(data)
        with pytest.raises(GuessesFileError, match=rf"{file.name}: no guesses of 3 pegs, 4 colours .*; delete it"):
            cached_guesses(game, FEW, 0, tmp_path)


def test_guesses_of_another_network_are_others(tmp_path, player, monkeypatch):
    game, other = GAME, tmp_path / "other.safetensors"
    random_value(4).save(other)
    made = [cached_guesses(game, FEW, 0, tmp_path, path) for path in (None, player, other)]
    assert len(list(tmp_path.glob("3x4-*.npz"))) == 3
    monkeypatch.setattr("train.mastermind_guesses.make_guesses", None)
    again = cached_guesses(game, dataclasses.replace(FEW, positions=7), 0, tmp_path, player)  # not used in play
    np.testing.assert_array_equal(again.totals, made[1].totals)
    cached_guesses(game, dataclasses.replace(FEW, reached=7), 0, tmp_path)  # which has a use in play alone
    value = LearnedValue.load(player)
    dataclasses.replace(value, config=dataclasses.replace(value.config, largest=5)).save(other)
    with pytest.raises(TypeError):  # the same weights play otherwise
        cached_guesses(game, FEW, 0, tmp_path, other)


#: Settings of a quick run.
QUICK = [
    "--positions",
    "8",
    "--guesses",
    "8",
    "--further",
    "0",
    "--exact",
    "24",
    "--width",
    "4",
    "--hidden",
    "8",
    "--steps",
    "20",
]


def test_a_run_learns_and_writes_a_network(tmp_path, capsys):
    flags = ["--output", str(tmp_path), "--games", "3x4", "--held-out", "4x3", "--rounds", "0"]
    assert training.main([*flags, *QUICK]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["game"] for each in told[:2]] == ["3x4", "4x3"]
    assert told[-1]["loss"] < told[2]["loss"] and set(told[-1]["regret"]) == {"3x4", "4x3"}
    value = LearnedValue.load(tmp_path / "value.safetensors")
    assert value.facts["training"]["games"] == ["3x4"] and value.config.width == 4
    with pytest.raises(SystemExit):
        training.main([*flags, *QUICK])
    assert "value.safetensors exists: --force replaces it" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_learns_from_its_own_games(tmp_path, capsys):
    flags = ["--output", str(tmp_path), "--games", "3x4", "--played", "4x3", "3x4", "--rounds", "2"]
    assert training.main([*flags, *QUICK]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    games = ["3x4", "4x3 round 1", "3x4 round 1", "4x3 round 2", "3x4 round 2"]
    assert [each["game"] for each in told if "game" in each] == games
    assert list(told[-1]["regret"]) == games
    values = [LearnedValue.load(tmp_path / f"{name}.safetensors") for name in ("round-0", "round-1", "value")]
    assert len({value.params["correction.kernel"].tobytes() for value in values}) == 3
    (tmp_path / "value.safetensors").unlink()
    assert training.main([*flags, *QUICK]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["resumed"] for each in told if "resumed" in each] == ["round-0.safetensors", "round-1.safetensors"]
    again = LearnedValue.load(tmp_path / "value.safetensors")
    for name, array in values[2].params.items():
        np.testing.assert_array_equal(again.params[name], array)


def test_a_batch_is_its_guesses():
    made = make_guesses(GAME, FEW, 0)
    groups = training._choices(made)
    batch = training._batch(made, groups[:3])
    count = sum(map(len, groups[:3]))
    totals = np.where(batch.guess < training._GUESSES, batch.totals, 0)
    sums = np.bincount(batch.guess, totals, training._GUESSES + 1)[:count] + batch.fixed[:count]
    np.testing.assert_allclose(sums, made.sums(made.totals)[np.concatenate(groups[:3])], rtol=1e-6)
    totals = np.pad(sums, (0, training._GUESSES - count)).astype(np.float32)
    chosen = np.exp(np.asarray(jax.jit(training._log_choice)(batch, totals, 2.0)))[:count]
    starts = np.cumsum([0, *map(len, groups[:2])])
    np.testing.assert_allclose(np.add.reduceat(chosen, starts), 1, rtol=1e-5)
    assert (batch.group[count:] == training._GROUPS).all()


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--games", "1x3"], 2, "1x3: no position there has a choice to learn from"),
        (["--games", "3x4", "--learning-rate", "1e30"], 1, "the loss is nan"),
        (["--games", "3x4", "--steps", "1"], 2, "2x3 round 1: no position there has a choice to learn from"),
    ],
)
def test_a_run_that_fails_says_why(tmp_path, capsys, flags, code, message):
    assert training.main(["--output", str(tmp_path), "--played", "2x3", *QUICK, *flags]) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "value.safetensors").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--games", "4by6"], "'4by6' is not PEGSxCOLOURS"),
        (["--games"], "there must be a game to learn from"),
        (["--games", "4x6", "--held-out", "04x6"], "a game that is held out is neither learned from nor played"),
        (
            ["--games", "4x6", "--played", "4x7", "--held-out", "4x7"],
            "a game that is held out is neither learned from nor played",
        ),
        (["--games", "4x6", "4x06"], "each game is named once"),
        (["--games", "4x6", "--played"], "rounds of play need a game to play"),
        (["--games", "0x6"], "pegs must be at least 1"),
        (["--temperature", "0"], "temperature must be above 0"),
        (["--steps", "0"], "steps must be at least 1"),
    ],
)
def test_wrong_settings_are_usage_errors(tmp_path, capsys, flags, message):
    with pytest.raises(SystemExit) as error:
        training.main(["--output", str(tmp_path), *flags])
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_games_are_named_by_pegs_and_colours():
    assert parse_game("5x8") == mm.PegGame(5, 8)
