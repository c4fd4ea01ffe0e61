"""Relatives of Mastermind: black pegs, Bulls and Cows, and games of words, by the same players, files and commands."""

from __future__ import annotations

import functools
import itertools
import json
import math

import numpy as np
import pytest

import jaxsudoku.mastermind as mm
from jaxsudoku.cli import main
from jaxsudoku.mastermind import feedbacks, games
from jaxsudoku.mastermind.rules import CodeError, GameError

WORDS = ("abba", "baba", "aabb", "abcd", "dcba", "bbca", "acca", "ddda", "cabd")
GAMES = [
    mm.PegGame(2, 4, elsewhere=False),
    mm.PegGame(2, 4, repeats=False, elsewhere=False),
    mm.PegGame(2, 4, repeats=False, lowest=0),
    mm.PegGame(3, 3, elsewhere=False),
    mm.WordGame(WORDS),
    mm.WordGame(WORDS, ("aaaa", "bcda")),
    mm.WordGame(("ab", "ba", "aa")),
]
#: Those that are played, one of each kind.
PLAYED = [GAMES[0], GAMES[5]]
each_game = pytest.mark.parametrize("game", GAMES, ids=str)
QUICK = {
    "mcts": {"simulations": 16, "width": 4},
    "stochastic-muzero": {"simulations": 8, "width": 4},
    "persistent-uct": {"simulations": 200},
}


def said(game, guess, secret):
    """The feedback to codes in plain Python: (exact, colour), or the marks of letters."""
    exact = sum(one == other for one, other in zip(guess, secret, strict=True))
    if isinstance(game, mm.PegGame):
        common = sum(min(guess.count(colour), secret.count(colour)) for colour in set(guess))
        return (exact, common - exact if game.elsewhere else 0)
    marks, left = ["-"] * len(guess), list(secret)
    for place, letter in enumerate(guess):
        if secret[place] == letter:
            marks[place] = "g"
            left.remove(letter)
    for place, letter in enumerate(guess):
        if marks[place] == "-" and letter in left:
            marks[place] = "y"
            left.remove(letter)
    return "".join(marks)


def number(game, heard):
    """The number of a feedback."""
    return game.pairs.index(heard) if isinstance(game, mm.PegGame) else game.parse_feedback(heard)


def codes(game):
    """All codes as tuples or words."""
    if isinstance(game, mm.WordGame):
        return [*game.words, *game.further]
    every = itertools.product(range(game.colours), repeat=game.pegs)
    return [code for code in every if game.repeats or len(set(code)) == game.pegs]


@each_game
def test_the_table_is_what_plain_python_says(game):
    every = codes(game)
    table = [[number(game, said(game, guess, secret)) for secret in every[: game.secrets]] for guess in every]
    if game in PLAYED:
        np.testing.assert_array_equal(feedbacks.feedback_table(game), table)
    # the same rule on arrays of numpy, which loads no JAX
    plain = game.prepared(game.codes[:, None]), game.prepared(game.codes[: game.secrets])
    found = game.compare(*plain)
    assert isinstance(found, np.ndarray) and found.dtype == np.uint8
    np.testing.assert_array_equal(found, table)


def test_feedback_of_two_codes():
    for game in PLAYED:
        assert int(feedbacks.feedback(game, game.codes[0], game.codes[0])) == game.win


@pytest.mark.parametrize(
    ("game", "player"),
    # searches on the device, which take long to compile, in the game that has further guesses
    [pair for pair in itertools.product(PLAYED, mm.PLAYERS) if pair[0] is PLAYED[1] or not mm.PLAYERS[pair[1]].random],
    ids=str,
)
def test_players_find_every_secret(game, player):
    tree = mm.build(game, player, key=1, **QUICK.get(player, {}))
    every = codes(game)
    for secret, attempts in zip(every[: game.secrets], tree.attempts.tolist(), strict=True):
        node = 0
        for _ in range(attempts - 1):
            heard = number(game, said(game, every[tree.guesses[node]], secret))
            node = int(tree.children[node, heard])
        assert every[tree.guesses[node]] == secret
    assert len(tree.attempts) == game.secrets == sum(tree.histogram.values())


def fewest_guesses(game):
    """The guesses that the best strategy takes for all secrets together, by trying everything."""
    every = codes(game)

    @functools.cache
    def takes(position):
        if len(position) == 1:
            return 1
        best = math.inf
        for guess in every:
            parts = {}
            for secret in position:
                parts.setdefault(said(game, guess, secret), []).append(secret)
            if len(parts) > 1:
                rest = [tuple(part) for part in parts.values() if part != [guess]]
                best = min(best, len(position) + sum(map(takes, rest)))
        return best

    return takes(tuple(every[: game.secrets]))


@pytest.mark.parametrize("game", [*PLAYED, GAMES[1]], ids=str)
def test_the_optimum_is_the_best_of_all_strategies(game):
    assert mm.build(game, "optimal").attempts.sum() == fewest_guesses(game)


def test_each_peg_has_symmetries_of_its_own_with_black_pegs():
    game = mm.PegGame(2, 3, elsewhere=False)
    every = codes(game)
    for history in [(), (1,), (4, 5), (8, 3)]:
        first = list(range(game.size))
        for order in itertools.permutations(range(2)):
            for colours in itertools.product(itertools.permutations(range(3)), repeat=2):

                def image(code, order=order, colours=colours):
                    return every.index(tuple(colours[peg][code[order[peg]]] for peg in range(2)))

                if all(image(every[guess]) == guess for guess in history):
                    first = [min(first[code], image(every[code])) for code in range(game.size)]
        # a symmetry and its inverse are both among them, so the smallest image is the first of the class
        np.testing.assert_array_equal(game.orbits(history), first)


# ---------------------------------------------------------------------- text


def test_texts_of_digits():
    game = mm.bulls_and_cows()
    assert (game.size, game.feedbacks, str(game)) == (5040, 14, "4 pegs, 10 colours, no colour twice")
    assert game.code_text(0) == "0123" and game.code_text(game.parse_code("9076")) == "9076"
    with pytest.raises(CodeError, match="'0012': a code has no colour twice"):
        game.parse_code("0012")


def test_texts_of_black_pegs():
    game = mm.PegGame(4, 6, elsewhere=False)
    assert [game.feedback_text(heard) for heard in range(5)] == ["0", "1", "2", "3", "4"]
    assert game.parse_feedback(" 3 ") == 3 and str(game) == "4 pegs, 6 colours, black pegs alone"
    for text in ("5", "2 1", "x", ""):
        with pytest.raises(CodeError, match="the number of right pegs, 0 to 4|5 pegs in all"):
            game.parse_feedback(text)


def test_texts_of_words():
    game = mm.WordGame(WORDS)
    assert game.code_text(game.parse_code(" ABCD\n")) == "abcd"
    heard = game.parse_feedback("g-Y2")
    assert game.feedback_text(heard) == "g-yg" and game.parse_feedback("🟩⬛🟨🟩") == heard
    assert game.parse_feedback("gggg") == game.win == 80
    with pytest.raises(CodeError, match="'zzzz' is not in the list of words"):
        game.parse_code("zzzz")
    for text in ("ggg", "ggg?", "ggggg"):
        with pytest.raises(CodeError, match="g for right, y for elsewhere, - for neither, of 4 letters"):
            game.parse_feedback(text)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ((), "at least one word"),
        (("abc", "ab"), "'ab' has 2 letters, but 'abc' has 3"),
        (("abc", "a c"), "'a c' is not a word"),
        (("abc", "abc"), "'abc' comes twice"),
        (("abcdef",), r"words of 6 letters have 3\^6 feedbacks, more than 255"),
        ((1,), "a word is a text, not 1"),
    ],
)
def test_lists_that_are_no_game(words, cause):
    with pytest.raises(GameError, match=cause):
        mm.WordGame(words)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"# a list\nabc\n\nab\n", "words.txt, line 4: 'ab' has 2 letters, but 'abc' has 3"),
        (b"abc\na-c\n", "words.txt, line 2: 'a-c' is not a word"),
        (b"abc\r\ndef\r\nABC\r\n", "words.txt, line 3: 'abc' comes twice"),
        (b"abcdef\n", "words.txt, line 1: words of 6 letters"),
        (b"abc\n\xff\n", "words.txt, line 2: not UTF-8"),
        (b"# nothing\n", "words.txt: a game of words needs at least one word"),
    ],
)
def test_a_file_of_words_that_is_wrong_is_named_with_its_line(tmp_path, content, cause):
    (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(GameError, match=cause):
        mm.WordGame.load(tmp_path / "words.txt")


def test_a_further_word_that_is_wrong_is_named_with_its_line(tmp_path):
    words, further = tmp_path / "words.txt", tmp_path / "further.txt"
    words.write_text("abc\n")
    further.write_text("ABC\nxyz\nxy\n")
    with pytest.raises(GameError, match=r"further.txt, line 3: 'xy' has 2 letters"):
        mm.WordGame.load(words, further)


def test_games_by_their_names():
    assert mm.as_game("4x6") == mm.as_game(" Mastermind ") == mm.as_game("4 × 6") == mm.PegGame(4, 6)
    assert mm.as_game("bulls-and-cows") == mm.bulls_and_cows()
    game = mm.as_game("words")
    assert game == mm.WordGame.load() and (game.size, game.places) == (555, 5) and "crane" in game.words
    assert mm.as_game(game) is game


@each_game
def test_a_tree_comes_back_from_its_file(game, tmp_path):
    tree = mm.build(game, "entropy") if game in PLAYED else mm.Tree(game, *np.array([[0], [-1], [-1]], np.int32))
    mm.save_tree(tree, tmp_path / "tree.json")
    loaded = mm.load_tree(tmp_path / "tree.json")
    assert loaded.game == game and loaded.guesses.tolist() == tree.guesses.tolist()
    if game in PLAYED:
        assert loaded.attempts.tolist() == tree.attempts.tolist()
    assert games.from_fields(json.loads(json.dumps(games.to_fields(game)))) == game


def test_trees_are_compressed_by_name(tmp_path):
    tree, path = mm.build(PLAYED[0], "entropy"), tmp_path / "tree.json.gz"
    mm.save_tree(tree, path)
    assert path.read_bytes()[:2] == b"\x1f\x8b" and mm.load_tree(path).guesses.tolist() == tree.guesses.tolist()
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(mm.TreeError, match="tree.json.gz: damaged gzip data"):
        mm.load_tree(path)


def test_a_tree_of_version_1_is_read(tmp_path):
    tree, path = mm.Tree(mm.PegGame(2, 3), *np.array([[1], [-1], [-1]], np.int32)), tmp_path / "tree.json"
    mm.save_tree(tree, path)
    fields = json.loads(path.read_text())
    fields |= {"version": 1, "game": {"pegs": 2, "colours": 3, "repeats": True}}
    path.write_text(json.dumps(fields))
    assert mm.load_tree(path).game == tree.game and mm.load_tree(path).guesses.tolist() == [1]


def test_words_have_pictures():
    picture = mm.build(PLAYED[1], "entropy").picture(2).svg
    assert ">B<" in picture and "9 codes" in picture


# ---------------------------------------------------------------------- commands


def run(capsys, *arguments):
    """The exit status and both outputs of ``jaxsudoku mastermind``."""
    code = main(["mastermind", *map(str, arguments)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_games_by_name(capsys, monkeypatch):
    small = ("--pegs", 2, "--colours", 4)
    monkeypatch.setattr("sys.stdin.readline", lambda: "quit\n")
    code, out, _ = run(capsys, "play", "--game", "bulls-and-cows", *small, "--player", "random")
    assert code == 0 and out.startswith("2 pegs, 4 colours, no colour twice: think of a secret")
    code, out, _ = run(capsys, "evaluate", "--game", "black-pegs", *small, "--quiet", "--json")
    assert (code, json.loads(out)["name"]) == (0, "2 pegs, 4 colours, black pegs alone")


def test_words_from_files(capsys, tmp_path, monkeypatch):
    words, further = tmp_path / "words.txt", tmp_path / "further.txt"
    text = "\n".join(word.upper() for word in WORDS)
    words.write_text(f"\ufeff# some words\n{text}  # the last one\n\n", encoding="utf-8")
    further.write_text("aaaa\nabba\nbcda\n")
    game = PLAYED[1]
    flags = ("--game", "words", "--words", words, "--further", further)
    tree = tmp_path / "tree.json"
    code, out, _ = run(capsys, "evaluate", *flags, "--player", "optimal", "--save", tree, "--json", "--quiet")
    report = json.loads(out)
    assert (code, report["game"]) == (0, {"kind": "words", "words": 9, "further": 2})
    assert report["total"] == fewest_guesses(game)
    code, out, _ = run(capsys, "show", tree)
    assert code == 0 and out.startswith("9 words of 4 letters, 2 further guesses")
    lines = iter(["ggg", "gggg"])
    monkeypatch.setattr("sys.stdin.readline", lambda: f"{next(lines)}\n")
    code, out, _ = run(capsys, "play", *flags)
    assert code == 0 and "found in 1 guess" in out and "of 4 letters" in out


@pytest.mark.parametrize(
    ("flags", "cause"),
    [
        (("--words", "FILE", "--pegs", "3"), "--words and --further are for --game words, which has no pegs"),
        (("--words", "FILE", "--game", "ab"), "--words and --further are for --game words, which has no pegs"),
        (("--words", "FILE"), "words.txt, line 2: 'abcd' has 4 letters, but 'abc' has 3"),
        (("--words", "missing.txt"), "missing.txt"),
    ],
)
def test_wrong_flags_of_a_game(capsys, tmp_path, flags, cause):
    path = tmp_path / "words.txt"
    path.write_text("abc\nabcd\n")
    code, _, err = run(capsys, "evaluate", *(path if flag == "FILE" else flag for flag in flags))
    assert code == 2 and cause in err and "Traceback" not in err
