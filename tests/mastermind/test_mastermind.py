"""Players of Mastermind and their trees, checked against plain Python and known averages."""

from __future__ import annotations

import dataclasses
import json
import math
import sys

import jax
import mastermind_reference as reference
import numpy as np
import pytest

import jaxsudoku.mastermind as mm
from jaxsudoku.mastermind import greedy, optimal, players, report, rollouts, scoring
from jaxsudoku.mastermind.costs import estimate, least_totals
from jaxsudoku.mastermind.greedy import lost_information
from jaxsudoku.mastermind.optimal import Search
from jaxsudoku.mastermind.positions import Positions

SMALL = mm.PegGame(2, 3)
GAME = mm.PegGame(3, 4)

#: Settings with which a player is quick.
QUICK = {
    "mcts": {"simulations": 200, "width": 9},
    "stochastic-muzero": {"simulations": 8, "width": 4},
    "persistent-uct": {"simulations": 200},
}


def attempts_by_hand(tree: mm.Tree) -> list[int]:
    """The guesses that each code takes, by walking the tree in plain Python."""
    every = reference.codes(tree.game)
    taken = []
    for secret in every:
        node, made = 0, 1
        while (heard := reference.feedback(every[tree.guesses[node]], secret)) != (tree.game.pegs, 0):
            (node,) = (
                child
                for child in range(len(tree))
                if tree.parents[child] == node and tree.game.pairs[tree.feedbacks[child]] == heard
            )
            made += 1
        taken.append(made)
    return taken


# ---------------------------------------------------------------------- all players


@pytest.mark.parametrize(
    "player",
    # test_games has the last one in a game that takes as long to compile
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "stochastic-muzero")) for name in mm.PLAYERS],
)
def test_a_player_finds_every_code(player):
    tree = mm.build(SMALL, player, key=3, **QUICK.get(player, {}))
    assert tree.player == player
    assert tree.attempts.tolist() == attempts_by_hand(tree)
    assert tree.attempts.sum() >= reference.fewest_guesses(SMALL)
    assert sum(tree.histogram.values()) == SMALL.size
    assert (tree.parents[1:] < np.arange(1, len(tree))).all()


@pytest.mark.parametrize("player", ["random", "entropy", "optimal"])
def test_a_player_plays_without_repeats_too(player):
    tree = mm.build(mm.PegGame(2, 4, repeats=False), player)
    assert tree.attempts.tolist() == attempts_by_hand(tree)


@pytest.mark.parametrize(
    "player",
    # a random player's guesses depend on its key, and the positions of a kept tree are those of its own games
    [name for name, kind in mm.PLAYERS.items() if not kind.random and name != "persistent-uct"],
)
def test_positions_do_not_depend_on_their_company(player):
    """What a player chooses for a position is the same beside others."""
    kind = mm.PLAYERS[player]
    game = GAME
    choose = kind.make(game, players.make_config(player), lambda text: None)
    rng = np.random.default_rng(5)
    positions = Positions.of(np.sort(rng.choice(64, size, replace=False)) for size in (3, 20, 7, 12, 4))
    # guesses that leave no symmetry, so that any positions are such as may come
    history = np.repeat(np.array([[1, 5]], np.int32), 5, axis=0)
    together = choose(positions, history, jax.random.key(0))
    alone = [choose(positions.take(np.array([one])), history[:1], jax.random.key(0))[0] for one in range(5)]
    assert together.tolist() == alone


@pytest.mark.parametrize("player", ["random", "mcts"])
def test_the_same_key_gives_the_same_strategy(player):
    options = QUICK.get(player, {})
    trees = [mm.build(SMALL, player, key=key, **options) for key in (3, 3)]
    assert trees[0].guesses.tolist() == trees[1].guesses.tolist()


def test_random_guesses_may_all_be_the_secret():
    game = GAME
    choose = players.get("random").make(game, players.make_config("random"), lambda text: None)
    positions = Positions.of([np.array([2, 5, 9])] * 256)
    guesses = choose(positions, np.zeros((256, 0), np.int32), jax.random.key(0))
    times = np.bincount(guesses, minlength=64)
    assert set(np.flatnonzero(times).tolist()) == {2, 5, 9}
    assert times.max() < 140


def test_many_trees_of_a_random_player_differ():
    found = mm.evaluate(SMALL, "random", trees=50)
    assert found.trees == 50
    assert sum(found.histogram.values()) == 50 * SMALL.size
    assert found.mean == pytest.approx(found.total / (50 * SMALL.size))
    choose = players.get("random").make(SMALL, players.make_config("random"), lambda text: None)
    trees = mm.grow(SMALL, choose, copies=50)
    assert len({tuple(tree.guesses.tolist()) for tree in trees}) > 5


@pytest.mark.parametrize(
    ("player", "options", "cause"),
    [
        ("knuth", {}, "unknown player 'knuth': choose one of random, minimax"),
        ("minimax", {"plies": 3}, "the player minimax has no option plies; it has consistent, openings"),
        ("random", {"plies": 3}, "the player random has no option plies; it has none"),
        ("entropy", {"openings": 0}, "openings must be at least 1, not 0"),
        ("lookahead", {"width": 0}, "width must be at least 1"),
        ("mcts", {"simulations": 0}, "simulations must be at least 1"),
        ("stochastic-muzero", {"exploration": math.nan}, "exploration must be a number, not nan"),
        ("optimal", {"positions": -1}, "positions must be at least 1"),
    ],
)
def test_players_and_options_that_there_are_not(player, options, cause):
    with pytest.raises(ValueError, match=cause):
        mm.build(SMALL, player, **options)
    with pytest.raises(ValueError, match="trees must be at least 1"):
        mm.evaluate(SMALL, "random", trees=0)
    with pytest.raises(ValueError, match=r"trees must be a whole number, not 1\.5"):
        mm.evaluate(SMALL, "random", trees=1.5)
    for function in (mm.build, mm.evaluate):
        with pytest.raises(ValueError, match="progress must be True or a function to be called, not 3"):
            function(SMALL, "minimax", progress=3)
    with pytest.raises(ValueError, match="the player minimax has no option config; it has consistent, openings"):
        mm.build(SMALL, "minimax", config=1)


# ---------------------------------------------------------------------- greedy players


def best_by_hand(game: mm.Game, player: str, position: tuple, consistent: bool) -> tuple[int, ...]:
    """The guess that a greedy player takes, from its definition."""
    scores = {
        "minimax": lambda sizes: max(sizes),
        "expected-size": lambda sizes: sum(size * size for size in sizes),
        "entropy": lambda sizes: round(sum(size * math.log2(size) for size in sizes), 9),
        "most-parts": lambda sizes: -len(sizes),
    }
    tried = position if consistent else reference.codes(game)

    def score(guess):
        sizes = [len(part) for part in reference.parts(guess, position).values()]
        return scores[player](sizes), guess not in position

    return min(tried, key=score)  # of equals the first


@pytest.mark.parametrize("player", ["minimax", "expected-size", "entropy", "most-parts"])
@pytest.mark.parametrize("consistent", [False, True])
def test_greedy_guesses_are_those_of_the_definition(player, consistent):
    game = GAME
    every = reference.codes(game)
    config = players.make_config(player, consistent=consistent, openings=1)
    choose = players.get(player).make(game, config, lambda text: None)
    rng = np.random.default_rng(7)
    sizes = (3, 4, 6, 10, 15, 16) if consistent else (3, 4, 6, 10, 20, 33, 64)
    sets = [np.sort(rng.choice(64, size, replace=False)) for size in sizes]
    guesses = choose(Positions.of(sets), np.zeros((len(sets), 0), np.int32), jax.random.key(0))
    expected = [best_by_hand(game, player, tuple(every[code] for code in codes), consistent) for codes in sets]
    assert [every[guess] for guess in guesses] == expected


@pytest.mark.parametrize("player", ["minimax", "entropy"])
def test_a_greedy_tree_is_that_of_plain_counting(player, monkeypatch):
    """With positions of all sizes, and with symmetry at the first guesses."""
    monkeypatch.setattr(scoring, "_FEW", 16)
    game = GAME
    table, cost = np.asarray(mm.feedback_table(game)), greedy.part_cost(game, player)
    cells = game.feedbacks * np.arange(game.size)

    def best(positions, history, key):
        guesses = []
        for codes in positions:
            counts = np.bincount((cells + table[codes]).ravel(), minlength=game.feedbacks * game.size)
            costs = cost.by_size[counts.reshape(game.size, game.feedbacks)].astype(np.int64)
            scores = costs.max(axis=1) if cost.largest else costs.sum(axis=1)
            scores[codes] -= cost.bonus
            guesses.append(scores.argmin())
        return np.array(guesses)

    (expected,) = mm.grow(game, best)
    tree = mm.build(game, player, openings=1)
    for name in ("guesses", "parents", "feedbacks"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))


def test_equal_entropies_come_out_equal():
    worth = lost_information(np.arange(1297))
    assert worth[6] == 6 * (worth[2] // 2 + worth[3] // 3)
    assert worth[4] == 4 * worth[2]
    assert worth[12] == 12 * (2 * (worth[2] // 2) + worth[3] // 3)
    sizes = np.arange(2, 1297)
    np.testing.assert_allclose(worth[2:] / worth[2], sizes * np.log2(sizes) / 2, rtol=1e-3)


def test_the_best_of_several_openings_is_kept():
    own, best, every = (mm.build(GAME, "minimax", openings=count) for count in (1, 2, 99))
    assert GAME.code_text(int(own.guesses[0])) == "123"
    assert GAME.code_text(int(best.guesses[0])) == "112"
    assert (own.attempts.sum(), best.attempts.sum(), every.attempts.sum()) == (216, 209, 209)


# ---------------------------------------------------------------------- looking ahead, to the end


OPTIMA = [
    mm.PegGame(2, 2),
    mm.PegGame(2, 3),
    mm.PegGame(3, 2),
    mm.PegGame(2, 4),
    mm.PegGame(1, 8),
    mm.PegGame(2, 4, repeats=False),
]


@pytest.mark.parametrize("game", [SMALL, mm.PegGame(2, 4, repeats=False)], ids=str)
def test_the_optimum_is_that_of_trying_everything(game):
    assert mm.build(game, "optimal").attempts.sum() == reference.fewest_guesses(game)


@pytest.mark.parametrize(
    ("game", "total"),
    # Koyama and Lai 1993, Ville 2013 and others; by the sum over all codes
    [
        (GAME, 206),
        # a code after the other, to a depth of 119
        pytest.param(mm.PegGame(1, 120), 120 * 121 // 2, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_known_optima(game, total):
    assert mm.build(game, "optimal").attempts.sum() == total


def test_searches_may_nest_as_deep_as_a_game_has_codes():
    before = sys.getrecursionlimit()
    for codes, more in ((120, 600), (10**6, 10_000)):
        with optimal._nested_calls(optimal._CALLS * codes):
            assert sys.getrecursionlimit() == before + more
        assert sys.getrecursionlimit() == before


def test_looking_far_enough_into_everything_is_optimal():
    assert mm.build(SMALL, "lookahead", plies=5, width=9).attempts.sum() == reference.fewest_guesses(SMALL)
    assert mm.build(GAME, "lookahead").attempts.sum() == 206


def test_a_ply_is_a_greedy_guess_by_the_estimate():
    game = SMALL
    every = reference.codes(game)
    worth = estimate(game)
    choose = players.get("lookahead").make(game, players.make_config("lookahead", plies=1), lambda text: None)
    (guess,) = choose(Positions.of([np.arange(9)]), np.zeros((1, 0), np.int32), jax.random.key(0))

    def score(code):
        left = reference.parts(code, tuple(every))
        return sum(worth.by_size[len(part)] for heard, part in left.items() if heard != (2, 0))

    assert every[guess] == min(every, key=score)


def test_the_bound_by_feedbacks_alone():
    takes = least_totals(mm.PegGame(4, 6))
    # one code by the first guess, 13 by the second, the others by the third
    assert takes[[0, 1, 2, 14, 15, 183]].tolist() == [0, 1, 3, 27, 30, 1 + 2 * 13 + 3 * 169]
    for game in OPTIMA:
        assert least_totals(game)[-1] <= reference.fewest_guesses(game)


def test_positions_are_solved_beside_each_other():
    game = SMALL
    sets = [np.arange(9), np.arange(0, 9, 2), np.arange(5), np.array([0, 4, 5, 7, 8])]
    guesses, totals = Search(game).solve(Positions.of(sets), None)
    every = reference.codes(game)
    assert totals.tolist() == [reference.fewest_guesses(game, [every[code] for code in codes]) for codes in sets]
    assert len(set(guesses.tolist()) - set(range(9))) == 0


def test_a_search_that_may_not_know_enough_says_so():
    with pytest.raises(mm.SearchLimitError, match="3 pegs, 4 colours: more than 10 positions; no proof"):
        mm.build(GAME, "optimal", positions=10)


def test_progress_is_told():
    told = []
    mm.build(SMALL, "optimal", progress=told.append)
    assert told[0] == "guess 1: 1 positions of 9 codes"
    assert any(text.endswith(" positions") for text in told)


def test_tree_search_finds_good_guesses():
    """In a small game simulations come close to the best strategy, and far from random guesses."""
    best = 21
    random = mm.evaluate(SMALL, "random", trees=50)
    assert random.total / 50 > best + 1
    assert mm.build(SMALL, "mcts", **QUICK["mcts"]).attempts.sum() <= best


def test_the_secure_child_and_its_confidence_radius():
    guesses = np.array([[7, 3, 5, -1], [7, 3, 5, 8]], np.int32)
    visits = np.array([[50, 2, 40, 0], [1, 1, 0, 0]], np.int32)
    means = np.array([[3.0, 2.5, 2.9, 0.0], [3.0, 2.5, 0.0, 0.0]], np.float32)
    secure = jax.jit(lambda scale: (rollouts.secure_child(guesses, visits, means, scale), rollouts.confidence(visits)))
    chosen, radius = secure(np.float32(1))
    assert chosen.tolist() == [5, 3]
    assert secure(np.float32(0))[0].tolist() == [3, 3]
    intervals = np.sqrt(np.log([[92], [2]]) / np.maximum(visits, 1))
    np.testing.assert_allclose(radius, intervals, rtol=1e-6)


@pytest.mark.slow
def test_the_search_of_mctx_finds_good_guesses():
    # it dwells on few guesses in so small a game, unless it is made to look around
    tree = mm.build(SMALL, "stochastic-muzero", simulations=60, width=8, exploration=5.0)
    assert tree.attempts.sum() <= 22


@pytest.mark.parametrize("player", ["mcts", "stochastic-muzero"])
def test_a_search_beyond_memory_says_how_many_bytes(player):
    with pytest.raises(mm.GameError, match=r"3 colours: the tree of a search takes [\d,]+ bytes, more than half"):
        mm.build(SMALL, player, simulations=10**9)


def test_sizes_beyond_what_an_int32_holds():
    game = mm.PegGame(6, 6)  # 46,656 codes, whose pairs are more than that
    assert greedy.exact_size(game, "expected-size") == 46341
    assert greedy.part_cost(game, "expected-size").by_size[:6].tolist() == [0, 0, 2, 6, 12, 20]
    coarse = greedy.part_cost(game, "expected-size", coarse=True).by_size
    assert 0 < coarse[-1] < 2**31 - 1
    assert greedy.exact_size(mm.PegGame(4, 6), "expected-size") == 1296


# ---------------------------------------------------------------------- trees


def small_tree() -> mm.Tree:
    return mm.build(SMALL, "optimal")


def test_a_guess_without_information_ends_the_growth():
    def stubborn(positions, history, key):
        return np.zeros(len(positions), np.int32)

    with pytest.raises(mm.TreeError, match="the player guesses 11, which gives no information at a position"):
        mm.grow(SMALL, stubborn)


def test_a_tree_that_loses_a_code_says_which():
    tree = small_tree()
    cut = mm.Tree(SMALL, tree.guesses[:1], tree.parents[:1], tree.feedbacks[:1])
    with pytest.raises(mm.TreeError, match=r"the tree does not find 1\d: nothing follows \d \d to 12"):
        _ = cut.mean
    attempts, nodes = mm.replay(cut, SMALL.codes)
    assert attempts.tolist().count(1) == 1
    assert attempts.tolist().count(0) == 8
    assert nodes.tolist() == [0] * 9


def test_a_tree_is_saved_and_read(tmp_path):
    tree = small_tree()
    mm.save_tree(tree, tmp_path / "tree.json")
    again = mm.load_tree(tmp_path / "tree.json")
    assert (again.game, again.player) == (SMALL, "optimal")
    for name in ("guesses", "parents", "feedbacks"):
        assert getattr(again, name).tolist() == getattr(tree, name).tolist()
    assert again.mean == tree.mean == 21 / 9


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"format": "a tree"}, "no tree of a strategy"),
        ({"version": 3}, "a tree of version 3, where 1 to 2 are known"),
        ({"game": {"pegs": 2, "colours": 3}}, "the game of pegs lacks repeats"),
        ({"game": {"pegs": True, "colours": 3, "repeats": True}}, "pegs must be a whole number"),
        ({"game": {"kind": []}}, "unknown kind of game"),
        ({"game": {"kind": "dice"}}, "unknown kind of game 'dice': kinds are pegs, words"),
        ({"game": [2, 3]}, "the game must be an object"),
        ({"game": {"pegs": 0, "colours": 3, "repeats": True}}, "pegs must be at least 1"),
        ({"guesses": []}, "lists of one length"),
        ({"guesses": [], "parents": [], "feedbacks": []}, "there is no guess"),
        ({"guesses": 7}, "lists of one length"),
        ({1: ("guesses", "14")}, "guess 1: '14': '4' is not a colour"),
        ({1: ("parents", 1)}, "guess 1: its parent must be a number from 0 to 0, of a guess before it, not 1"),
        ({1: ("parents", "0")}, "guess 1: its parent must be a number from 0 to 0"),
        ({0: ("parents", 0)}, "guess 0: its parent must be -1, as it is the first guess"),
        ({1: ("feedbacks", "1 1")}, "guess 1: '1 1': with all pegs right but one"),
        ({1: ("feedbacks", "2 0")}, "guess 1: nothing follows on '2 0', which ends the game"),
        ({2: ("feedbacks", "first")}, "guess 2: 'first': feedback is two numbers"),
    ],
)
def test_a_file_that_holds_no_tree(tmp_path, change, cause):
    path = tmp_path / "tree.json"
    mm.save_tree(small_tree(), path)
    fields = json.loads(path.read_text())
    for key, value in change.items():
        if isinstance(key, int):
            fields[value[0]][key] = value[1]
        else:
            fields[key] = value
    path.write_text(json.dumps(fields))
    with pytest.raises(mm.TreeError, match=cause) as error:
        mm.load_tree(path)
    assert str(error.value).startswith(f"{path}: ")


def test_two_guesses_after_the_same_feedback(tmp_path):
    path = tmp_path / "tree.json"
    mm.save_tree(small_tree(), path)
    fields = json.loads(path.read_text())
    for name in ("guesses", "parents", "feedbacks"):
        fields[name].append(fields[name][1])
    path.write_text(json.dumps(fields))
    with pytest.raises(mm.TreeError, match=r"another one follows on '\d \d' to guess 0"):
        mm.load_tree(path)


def test_files_that_are_none(tmp_path):
    (tmp_path / "tree.json").write_text("no json")
    with pytest.raises(mm.TreeError, match=r"tree.json: not JSON: "):
        mm.load_tree(tmp_path / "tree.json")
    with pytest.raises(FileNotFoundError):
        mm.load_tree(tmp_path / "missing.json")


def test_a_tree_drawn():
    game = mm.PegGame(2, 2)
    guesses, parents, feedbacks = [0, 1, 3, 2], [-1, 0, 0, 1], [-1, 3, 0, 2]
    tree = mm.Tree(game, *(np.array(each, np.int32) for each in (guesses, parents, feedbacks)))
    assert mm.draw_tree(tree, guesses=3).splitlines() == [
        "11  (4 codes, 2.000)",
        "├─ 0 0: 22",
        "└─ 1 0: 12  (2 codes, 1.500)",
        "   └─ 0 2: 21",
    ]
    assert mm.draw_tree(tree, guesses=1) == "11  (4 codes, 2.000)"


# ---------------------------------------------------------------------- reports


def test_a_report_in_numbers_and_words(tmp_path):
    found = mm.evaluate(SMALL, "minimax", consistent=True)
    fields = json.loads(found.to_json())
    assert fields["mean"] == found.mean == found.total / 9
    assert fields["max"] == max(found.histogram)
    assert {int(number): games for number, games in fields["histogram"].items()} == dict(found.histogram)
    assert fields["settings"] == {"consistent": True, "openings": 1}
    attempts = mm.build(SMALL, "minimax", consistent=True).attempts
    assert found.deviation == pytest.approx(attempts.std())
    assert [found.won(number) for number in (1, found.max - 1, 10)] == [
        (attempts <= number).mean() for number in (1, found.max - 1, 10)
    ]
    other = mm.evaluate(SMALL, "random", trees=3)
    lines = mm.table([found, other]).splitlines()
    numbers = map(str, range(1, max(found.max, other.max) + 1))
    assert lines[0].split() == ["player", "opening", "mean", "max", "total", *numbers, "seconds"]
    assert lines[1].split()[:3] == ["minimax", found.opening, f"{found.mean:.4f}"]
    assert len({len(line) for line in lines}) == 1
    mm.plot([found, other], tmp_path / "players.png")
    assert (tmp_path / "players.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="its suffix must be one of"):
        mm.plot([found], tmp_path / "players.xyz")
    assert report.table([found]) == str(found)
    with pytest.raises(ValueError, match="a plot needs reports of one game, not of 2"):
        mm.plot([found, dataclasses.replace(found, name="2 pegs, 2 colours")], tmp_path / "games.png")
    same = [found, mm.evaluate(SMALL, "minimax")]
    assert report._labels([*same, other]) == [
        "minimax\nconsistent=True, openings=1",
        "minimax\nconsistent=False, openings=1",
        "random",
    ]


# ---------------------------------------------------------------------- one game


@pytest.mark.parametrize("by", ["tree", "player"])
def test_a_code_breaker_finds_every_code(by):
    player = mm.build(SMALL, "most-parts") if by == "tree" else "most-parts"
    for secret in range(SMALL.size):
        maker, breaker = mm.CodeMaker(SMALL, secret), mm.CodeBreaker(SMALL, player)
        while not breaker.over:
            guess = breaker.guess()
            breaker.update(guess, maker.answer(guess))
            assert secret in breaker.possible
        assert maker.guesses == len(breaker.answers) <= 5
        assert maker.fits(secret)
        assert breaker.possible.tolist() == maker.possible.tolist() == [secret]


def test_a_code_breaker_takes_names_and_texts():
    breaker, maker = mm.CodeBreaker("2x3", "Most Parts", consistent=True), mm.CodeMaker("2x3", "31")
    assert breaker.game == maker.game == SMALL
    tree = mm.build("2x3", "most-parts", consistent=True)
    assert breaker.guess() == tree.guesses[0]
    assert SMALL.feedback_text(maker.answer("11")) == "1 0"
    breaker.update("11", "1 0")
    assert breaker.possible.tolist() == maker.possible.tolist() and breaker.fits("31") and not breaker.fits("22")
    assert mm.CodeBreaker(SMALL).guess() == mm.build(SMALL).guesses[0], "entropy by default"
    search = mm.SearchTree("2x3")
    search.train(20)
    assert mm.CodeBreaker("2x3", search).guess() == search.guess()


@pytest.mark.parametrize(
    ("arguments", "options", "cause"),
    [
        (("2x3", "entrop"), {}, "unknown player 'entrop': choose one of random, minimax, .*; did you mean 'entropy'"),
        (("2x3", None), {}, "a player is a policy, a tree, or one of the names random, .* optimal, not NoneType"),
        (("2x3", "minimax"), {"width": 3}, "the player minimax has no option width; it has consistent, openings"),
        (("2x3", len), {"width": 3}, "width: options are for a player by its name: random, "),
        (("2y3",), {}, "unknown game '2y3': name pegs by colours, as '4x6', or one of mastermind, .*, words$"),
        (("bulls",), {}, "unknown game 'bulls'"),
        (((2, 3),), {}, r"a game, or its name, is needed, not \(2, 3\)"),
        (("0x3",), {}, "pegs must be at least 1"),
    ],
)
def test_a_code_breaker_says_what_it_takes(arguments, options, cause):
    with pytest.raises(ValueError, match=cause):
        mm.CodeBreaker(*arguments, **options)


@pytest.mark.parametrize("number", [-1, 9, 1.5, None])
def test_a_code_maker_refuses_what_is_no_code(number):
    with pytest.raises(mm.CodeError, match=r"a secret is a number from 0 to 8, not"):
        mm.CodeMaker(SMALL, number)
    maker = mm.CodeMaker(SMALL, 0)
    with pytest.raises(mm.CodeError, match=r"a code is a number from 0 to 8, not"):
        maker.answer(number)
    assert maker.guesses == 0


def test_a_game_is_lost_after_its_attempts():
    maker = mm.CodeMaker(SMALL, 8, attempts=2)
    breaker = mm.CodeBreaker(SMALL, mm.build(SMALL, "minimax"), attempts=2)
    for guess in (0, 1):
        assert not (maker.over or breaker.over)
        breaker.update(guess, maker.answer(guess))
    for session in (maker, breaker):
        assert (session.guesses, session.found, session.lost, session.over) == (2, False, True, True)
    for refused in (lambda: maker.answer(8), breaker.guess, lambda: breaker.update(8, SMALL.win)):
        with pytest.raises(mm.AttemptsError, match="the game is lost: its attempts, 2, are used up"):
            refused()
    assert maker.guesses == breaker.guesses == 2
    breaker.undo()
    breaker.update(8, SMALL.win)
    assert (breaker.found, breaker.lost, breaker.over) == (True, False, True), "the last attempt may find it"
    for attempts in (0, 1.5, True):
        with pytest.raises(ValueError, match="attempts must be"):
            mm.CodeMaker(SMALL, 8, attempts=attempts)


def test_answers_that_no_code_fits_are_told_and_taken_back():
    game = GAME
    breaker = mm.CodeBreaker(game, "random")
    code, heard = (lambda text: game.parse_code(text)), (lambda text: game.parse_feedback(text))
    breaker.update(code("111"), heard("1 0"))
    breaker.update(code("222"), heard("2 0"))
    left = breaker.possible.tolist()
    with pytest.raises(
        mm.InconsistentError, match="no code fits 1 0 to 111, 2 0 to 222, 1 0 to 333; one of these must"
    ):
        breaker.update(code("333"), heard("1 0"))
    assert breaker.possible.tolist() == left  # nothing is lost
    breaker.undo()
    assert len(breaker.answers) == 1
    breaker.update(code("333"), heard("1 0"))
    assert len(breaker.possible) == 6 * 2
    tree = mm.build(game, "random")
    with pytest.raises(mm.InconsistentError, match="no code fits 0 3 to 111$"):
        mm.CodeBreaker(game, tree).update(code("111"), heard("0 3"))
    with pytest.raises(mm.CodeError, match=r"a feedback is a number from 0 to \d+, not \(0, 3\)"):
        mm.CodeBreaker(game, tree).update(code("111"), (0, 3))
    with pytest.raises(mm.CodeError, match=rf"a code is a number from 0 to {game.size - 1}, not {game.size}"):
        mm.CodeBreaker(game, tree).update(game.size, 0)
    with pytest.raises(IndexError):
        mm.CodeBreaker(game, tree).undo()
    with pytest.raises(ValueError, match="the tree is for 2 pegs, 3 colours, where the game is 3 pegs, 4 colours"):
        mm.CodeBreaker(game, small_tree())


def test_a_tree_that_has_no_guess_for_a_game():
    tree = small_tree()
    cut = mm.Tree(SMALL, tree.guesses[:1], tree.parents[:1], tree.feedbacks[:1])
    breaker = mm.CodeBreaker(SMALL, cut)
    breaker.update(breaker.guess(), SMALL.parse_feedback("0 0"))
    with pytest.raises(mm.TreeError, match="the tree has no guess after 0 0 to 12"):
        breaker.guess()


# ---------------------------------------------------------------------- known averages of whole games


@pytest.mark.slow
@pytest.mark.parametrize(
    ("player", "options", "total"),
    [
        ("minimax", {}, 5801),
        ("entropy", {}, 5680),
        ("most-parts", {"consistent": True}, 5701),
        ("lookahead", {"values": "trained"}, 5625),
    ],
)
def test_the_classic_game(player, options, total, optimised):
    tree = mm.build(mm.PegGame(4, 6), player, **options)
    assert tree.attempts.sum() == total


@pytest.mark.slow
def test_tree_search_beside_random_guesses(optimised):
    assert mm.evaluate(GAME, "mcts").total <= 208
    assert mm.evaluate(GAME, "random", trees=200).mean == pytest.approx(3.37, abs=0.02)
