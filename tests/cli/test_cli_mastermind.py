"""``jaxsudoku mastermind``: evaluating players, showing strategies, and playing."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import signal

import numpy as np
import pytest

import jaxsudoku.mastermind as mm
from jaxsudoku.cli import main
from jaxsudoku.cli.mastermind import dialogue
from jaxsudoku.runtime.terminal.stop import Stop

GAME = ("--pegs", "2", "--colours", "3")


def run(capsys, *argv):
    """Exit status, standard output and standard error of an action."""
    try:
        code = main(["mastermind", *argv])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err


def typed(monkeypatch, *lines):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


# ---------------------------------------------------------------------- evaluate


def test_a_table_of_players(capsys, tmp_path):
    picture = tmp_path / "players.png"
    code, out, err = run(
        capsys, "evaluate", *GAME, "--player", "random", "--player", "minimax", "--plot", str(picture), "--trees", "3"
    )
    assert (code, err) == (0, "")
    head, columns, *rows = out.splitlines()
    assert head == "2 pegs, 3 colours: 9 codes"
    assert columns.split()[:4] == ["player", "opening", "mean", "max"]
    assert [row.split()[0] for row in rows] == ["random", "minimax"]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_has_the_figures(capsys):
    code, out, err = run(capsys, "evaluate", *GAME, "--player", "entropy", "--json", "--consistent", "--seed", "3")
    fields = json.loads(out)
    assert (code, err) == (0, "")
    assert fields["mean"] == fields["total"] / 9
    assert fields["max"] == 3
    assert sum(fields["histogram"].values()) == fields["codes"] == 9
    assert fields["settings"] == {"consistent": True, "openings": 2}
    assert fields["about"]["seed"] == 3
    assert {"jax", "python", "jaxsudoku"} == set(fields["about"]["versions"])
    code, out, _ = run(capsys, "evaluate", *GAME, "--player", "minimax", "--player", "most-parts", "--json")
    assert [json.loads(line)["player"] for line in out.splitlines()] == ["minimax", "most-parts"]


def test_a_strategy_is_kept_and_shown(capsys, tmp_path):
    path = str(tmp_path / "tree.json")
    assert run(capsys, "evaluate", *GAME, "--player", "optimal", "--save", path)[0] == 0
    tree = mm.load_tree(path)
    assert tree.attempts.sum() == 21
    code, out, err = run(capsys, "show", path, "--guesses", "3")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "2 pegs, 3 colours"
    assert out.rstrip().endswith(mm.draw_tree(tree, 3))
    assert json.loads(run(capsys, "show", path, "--json")[1])["mean"] == 21 / 9
    assert run(capsys, "show", path, "--guesses", "3", "--svg") == (0, f"{tree.picture(3, 1000)}\n", "")
    assert run(capsys, "evaluate", *GAME, "--save", path) == (
        2,
        "",
        f"jaxsudoku: error: {path}: the output exists: replace it with --force\n",
    )
    assert run(capsys, "evaluate", *GAME, "--save", path, "--force")[0] == 0
    assert mm.load_tree(path).player == "entropy"


def test_a_search_that_gives_up_leaves_the_others(capsys):
    arguments = ("evaluate", "--pegs", "3", "--colours", "4", "--player", "optimal", "--positions", "5")
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("jaxsudoku: error: optimal: 3 pegs, 4 colours: more than 5 positions")


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["--pegs", "0"], "argument --pegs: must be at least 1, not 0"),
        (["--pegs", "x"], "argument --pegs: 'x' is not a whole number"),
        (["--colours", "300"], "colours must be at most 255, not 300"),
        (["--no-repeats", "--colours", "3"], "a code of 4 pegs needs as many colours, and there are 3"),
        (["--pegs", "8", "--colours", "9"], "some guesses takes 176,319,369,216 bytes"),
        (["--pegs", "8", "--colours", "9", "--player", "mcts"], "takes 1,853,020,188,851,841 bytes"),
        (["--player", "knuth"], "unknown player 'knuth': choose one of random"),
        (["--player", "minimax", "--player", "knuth"], "unknown player 'knuth'"),
        (["--player", "minimax", "--plies", "2"], "unrecognized arguments: --plies 2"),
        (["--player", "minimax", "--player", "lookahead", "--plies", "2"], "unrecognized arguments: --plies 2"),
        (["--player", "lookahead", "--plies", "0"], "plies must be at least 1, not 0"),
        (["--player", "minimax", "--player", "random", "--save", "x.json"], "--save writes one strategy"),
        (["--plot", "x.abc"], "x.abc: no picture"),
        (["--plot", "missing/x.png"], "missing/x.png: there is no such directory for the output"),
    ],
)
def test_what_can_not_be_evaluated(capsys, arguments, cause):
    code, out, err = run(capsys, "evaluate", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("jaxsudoku: error: ")
    assert cause in err
    assert err.count("\n") == 1


def test_what_is_no_strategy(capsys, tmp_path):
    path = tmp_path / "tree.json"
    assert run(capsys, "show", str(path)) == (2, "", f"jaxsudoku: error: {path}: No such file or directory\n")
    path.write_text("{}")
    code, _, err = run(capsys, "show", str(path))
    assert (code, err.startswith(f"jaxsudoku: error: {path}: no tree of a strategy")) == (2, True)
    tree = mm.build(mm.PegGame(2, 3), "minimax")
    mm.save_tree(mm.Tree(tree.game, tree.guesses[:2], tree.parents[:2], tree.feedbacks[:2]), path)
    code, _, err = run(capsys, "show", str(path))
    assert (code, "the tree does not find" in err, str(path) in err) == (2, True, True)


def test_help_tells_of_players_and_their_flags(capsys):
    code, out, _ = run(capsys, "evaluate", "--help")
    assert code == 0
    assert all(player in out for player in mm.PLAYERS)
    assert "--openings" in out
    assert "--simulations" in run(capsys, "play", "--player", "mcts", "--help")[1]
    assert run(capsys)[0] == 2


# ---------------------------------------------------------------------- play


def test_the_secret_is_found_by_answers(capsys, monkeypatch):
    # the secret is 31; what is no answer, or fits no code, is told
    game = mm.PegGame(2, 3)
    tree = mm.build(game, "minimax")
    lines, node, secret = ["nonsense", "1 1"], 0, game.parse_code("31")
    while True:
        heard = int(mm.feedback(game, game.codes[tree.guesses[node]], game.codes[secret]))
        lines.append(game.feedback_text(heard))
        if heard == game.win:
            break
        node = tree.children[node, heard]
    typed(monkeypatch, *lines)
    code, out, _ = run(capsys, "play", *GAME, "--player", "minimax")
    assert code == 0
    assert "'nonsense': feedback is two numbers" in out
    assert "with all pegs right but one" in out
    assert f"found in {tree.attempts[secret]} guess" in out and out.endswith(": 31\n")


def test_answers_that_do_not_go_together(capsys, monkeypatch, tmp_path):
    path = str(tmp_path / "tree.json")
    run(capsys, "evaluate", *GAME, "--player", "minimax", "--save", path)
    first = mm.PegGame(2, 3).code_text(int(mm.load_tree(path).guesses[0]))
    typed(monkeypatch, "0 0", "0 2", "undo", "undo", "2 0")
    code, out, _ = run(capsys, "play", *GAME, "--tree", path)
    assert code == 0
    assert "no code fits" in out
    assert "undo takes the last feedback back" in out
    assert "there is no feedback to take back" in out
    assert out.count(f"guess 1: {first}  (9 possible)") == 2
    assert out.rstrip().endswith(f"found in 1 guess: {first}")


def test_an_input_that_ends_early(capsys, monkeypatch):
    typed(monkeypatch, "0 1")
    code, out, _ = run(capsys, "play", *GAME)
    assert (code, out.splitlines()[-1]) == (1, "the input has ended; 2 codes are possible")
    typed(monkeypatch, "quit")
    code, out, _ = run(capsys, "play", *GAME)
    assert (code, out.splitlines()[-1]) == (0, "> 9 codes are possible")
    typed(monkeypatch, "11")
    code, out, _ = run(capsys, "play", *GAME, "--you", "guess", "--seed", "1")
    assert code == 1 and out.splitlines()[-1].startswith("the input has ended; it was ")


def holding(player=lambda positions, history, key: positions.codes[positions.bounds[:-1]], **options):
    """A game of 3 pegs whose secret the person holds; by default the player guesses the first code that is left."""
    breaker = mm.CodeBreaker(mm.PegGame(3, 4), player, **options)
    return dialogue.Holding(breaker, contextlib.nullcontext)


def guessing(secret="413", **options):
    """A game of 3 pegs whose secret the person guesses."""
    game = mm.PegGame(3, 4)
    return dialogue.Guessing(
        game,
        game.parse_code(secret),
        options.pop("attempts", None),
        lambda attempts: mm.CodeBreaker(game, "random", attempts=attempts, **options),
        contextlib.nullcontext,
    )


def printed(capsys, monkeypatch, play, *lines):
    """The exit status of a game in which some lines are typed, and the lines that it prints but for the prompt."""
    typed(monkeypatch, *lines)
    code = play.play()
    return code, [line.removeprefix("> ") for line in capsys.readouterr().out.splitlines()]


def test_own_guesses_take_the_place_of_the_players(capsys, monkeypatch):
    lines = ("432", "guess 432", "1 1", "guess 222", "hint", "guess 413", "3 0")
    code, out = printed(capsys, monkeypatch, holding(), *lines)
    assert code == 0
    assert out[1] == "guess 1: 111  (64 possible)"
    assert out[2].startswith("'432': feedback is two") and out[2].endswith("a guess of your own is typed as: guess 432")
    assert out[3:] == [
        "guess 1: 432  (yours; 64 possible)",
        "guess 2: 134  (12 possible)",
        "guess 2: 222  (yours; 12 possible)",
        "guess 2: 134  (12 possible)",
        "guess 2: 413  (yours; 12 possible)",
        "found in 2 guesses: 413",
    ]


def test_a_tree_that_is_left_by_an_own_guess(capsys, monkeypatch):
    game = mm.PegGame(3, 4)
    tree = mm.Tree(game, *np.array([[0, 1], [-1, 0], [-1, 0]], np.int32))
    lines = ("guess 444", "0 0", "hint", "1 0", "undo", "3 0")
    code, out = printed(capsys, monkeypatch, holding(tree), *lines)
    assert code == 0
    gone = "no guess of the player: the tree has no guess after 0 0 to 444; type a guess of your own, or undo"
    assert out[3:] == [
        gone,
        gone,
        "type a guess of your own",
        "guess 1: 111  (64 possible)",
        "found in 1 guess: 111",
    ]


def test_hints_and_lists_while_guessing(capsys, monkeypatch):
    code, out = printed(capsys, monkeypatch, guessing(), "list 3", "112", "list", "fits 113", "hint", "guess 413")
    assert code == 0
    assert out[1:4] == ["64 codes left, the first 3:", "111  112  113", "1 0  (17 possible)"]
    left = [text for line in out[5:7] for text in line.split()]
    assert out[4] == "17 codes left:" and len(left) == 17 and "413" in left
    hint = out[-2].removesuffix(" is the player's guess")
    assert out[-3] == "it can't be the secret" and hint in left
    assert out[-1] == "found in 2 guesses: 413"


def test_a_hint_that_there_is_none_of_does_not_end_the_game(capsys, monkeypatch):
    play = guessing()
    play._make_breaker = lambda attempts: mm.CodeBreaker("3x4", "optimal", positions=5)
    code, out = printed(capsys, monkeypatch, play, "hint", "413")
    assert code == 0 and "no guess of the player: 3 pegs, 4 colours: more than 5 positions" in out[1]


@pytest.mark.parametrize("side", [holding, guessing])
def test_lines_that_are_nothing_are_told_and_the_game_goes_on(capsys, monkeypatch, side):
    lines = {
        "": "help lists what else may be typed",
        "9": "help lists what",
        "guess": "'guess' needs a code, as in: guess 111",
        "guess 11": "'11': a code has 3 pegs, not 2",
        "FITS": "'fits' needs a code, as in: fits 111",
        "fits 555": "'5' is not a colour; colours are 1 to 4",
        "list many": "'many': list takes a number from 1 on",
        "list 0": "'0': list takes a number from 1 on",
        "quit please": "'quit please': quit stands alone",
        "\x1b[A": r"'\x1b[A'",
    }
    code, out = printed(capsys, monkeypatch, side(), *lines, "QUIT")
    told = out[-1 - len(lines) : -1]
    assert code == 0 and all(cause in line for cause, line in zip(lines.values(), told, strict=True))
    assert out[-1] in ("64 codes are possible", "it was 413")
    code, out = printed(capsys, monkeypatch, side(), "help", "quit")
    assert all(f"  {command} " in "\n".join(out) for command in ("list [N]", "fits CODE", "hint", "quit"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8"))
    assert side().play() == 1


def test_a_signal_ends_a_game_with_its_secret(capsys, monkeypatch):
    def readline():
        raise Stop(signal.SIGINT)

    monkeypatch.setattr("sys.stdin.readline", readline)
    with pytest.raises(Stop):
        guessing().play()
    assert capsys.readouterr().out.endswith("\nit was 413\n")


def test_guessing_a_secret_that_is_held(capsys, monkeypatch):
    typed(monkeypatch, "4", "undo", "fits 99", *(f"{one}{other}" for one in "123" for other in "123"))
    code, out, _ = run(capsys, "play", *GAME, "--you", "guess")
    assert code == 0
    assert "'4': a code has 2 pegs, not 1" in out
    assert "'undo': a guess of yours can't be taken back" in out
    assert "'9' is not a colour" in out
    assert "found in " in out
    typed(monkeypatch, "fits 11", "11", "fits 11", "quit")
    code, out, _ = run(capsys, "play", *GAME, "--you", "guess", "--seed", "2")
    assert code == 0
    assert "it may be the secret" in out
    assert "it was " in out or "found in 1 guess" in out


def test_attempts_are_used_up(capsys, monkeypatch):
    typed(monkeypatch, "9", "11", "fits 22", "22")
    argv = ("play", "--pegs", "2", "--colours", "5", "--you", "guess", "--seed", "3")
    code, out, _ = run(capsys, *argv, "--attempts", "2")
    typed(monkeypatch, "quit")
    secret = run(capsys, *argv)[1].split()[-1]
    assert secret not in ("11", "22")
    assert code == 1
    assert "possible, 1 guess left)" in out
    assert out.rstrip().endswith(f"lost: not found in 2 guesses; it was {secret}")
    for answer, rest in (("0 0", "it is 33"), ("0 1", "2 codes are possible")):  # to 12
        typed(monkeypatch, answer)
        code, out, _ = run(capsys, "play", *GAME, "--attempts", "1")
        assert (code, "guess 1 of 1: 12" in out) == (1, True)
        assert out.rstrip().endswith(f"lost: not found in 1 guess; {rest}")
    typed(monkeypatch, "2 0")
    assert run(capsys, "play", *GAME, "--attempts", "1")[0] == 0
    code, _, err = run(capsys, "play", "--attempts", "0")
    assert (code, "argument --attempts: must be at least 1, not 0" in err) == (2, True)
    assert "the attempts are used up" in run(capsys, "play", "--help")[1]


def test_a_search_that_gives_up_in_a_game(capsys, monkeypatch):
    typed(monkeypatch, "0 0")
    code, out, err = run(capsys, "play", "--pegs", "3", "--colours", "4", "--player", "optimal", "--positions", "5")
    assert (code, err.startswith("jaxsudoku: error: optimal: 3 pegs, 4 colours: more than 5 positions")) == (1, True)
    assert out.startswith("3 pegs, 4 colours: think of a secret.")


def test_secrets_differ(capsys, monkeypatch):
    told = set()
    for _ in range(20):
        typed(monkeypatch, "quit")
        told.add(run(capsys, "play", "--you", "guess", *GAME)[1].splitlines()[-1])
    assert len(told) > 2
    typed(monkeypatch, "quit")
    first = run(capsys, "play", "--you", "guess", "--seed", "5")[1]
    typed(monkeypatch, "quit")
    assert run(capsys, "play", "--you", "guess", "--seed", "5")[1] == first


def test_a_strategy_for_another_game(capsys, tmp_path):
    path = tmp_path / "tree.json"
    mm.save_tree(mm.build(mm.PegGame(2, 3), "minimax"), path)
    code, _, err = run(capsys, "play", "--pegs", "2", "--colours", "2", "--tree", str(path))
    assert (code, f"{path}: a strategy for 2 pegs, 3 colours, where the game is 2 pegs, 2 colours" in err) == (2, True)


@pytest.mark.parametrize("player", mm.PLAYERS)
@pytest.mark.parametrize("action", ["play", "evaluate"])
def test_every_player_has_flags_of_its_own(capsys, action, player):
    code, out, _ = run(capsys, action, "--player", player, "--help")
    assert code == 0
    for field in dataclasses.fields(mm.PLAYERS[player].config):
        assert f"--{field.name}" in out


# ---------------------------------------------------------------------- train


def test_a_tree_is_trained_kept_and_trained_on_during_play(capsys, monkeypatch, tmp_path):
    path = tmp_path / "tree.json"
    argv = ["train", *GAME, "--output", str(path)]
    code, out, _ = run(capsys, *argv, "--simulations", "40", "--guesses", "1")
    assert code == 0 and out.startswith("2 pegs, 3 colours: 40 simulations, ")
    code, _, err = run(capsys, *argv, "--simulations", "60")
    assert code == 2 and "exists" in err
    code, out, _ = run(capsys, *argv, "--simulations", "60", "--resume")
    assert code == 0 and "60 simulations" in out
    typed(monkeypatch, "2 0")
    code, out, _ = run(capsys, "play", "--search-tree", str(path), "--train-on", "5")
    assert code == 0 and "2 pegs, 3 colours: think of a secret" in out and "found in 1 guess" in out
    assert "65 simulations" in run(capsys, *argv, "--simulations", "60", "--resume")[1]
    assert run(capsys, "play", "--train-on", "5")[0] == 2
    assert run(capsys, *argv, "--simulations", "0", "--force")[0] == 2
    code, _, err = run(capsys, "play", "--search-tree", str(path), "--pegs", "3")
    assert code == 2 and f"{path}: a search tree for 2 pegs, 3 colours, where the game is 3 pegs" in err
    path.write_text("{}")
    code, _, err = run(capsys, "play", "--search-tree", str(path))
    assert code == 2 and f"{path}: not a search tree" in err


def test_a_search_tree_is_shown(capsys, tmp_path):
    path, picture = str(tmp_path / "tree.json"), ("--guesses", "2", "--width", "9")
    assert run(capsys, "train", *GAME, "--output", path, "--simulations", "40")[0] == 0
    tree = mm.SearchTree.load(path)
    code, out, err = run(capsys, "show", path, *picture, "--unvisited")
    assert (code, err) == (0, "")
    assert out.endswith(f"\n\n{tree.draw(2, 9, unvisited=True)}\n")
    assert run(capsys, "show", path)[1].endswith(f"\n\n{tree.draw()}\n")
    assert run(capsys, "show", path, *picture, "--svg") == (0, f"{tree.picture(2, 9, most=1000)}\n", "")
    shown = json.loads(run(capsys, "show", path, "--json")[1])
    played = json.loads(
        run(capsys, "evaluate", *GAME, "--player", "persistent-uct", "--simulations", "40", "--json")[1]
    )
    assert shown["histogram"] == played["histogram"]
    strategy = str(tmp_path / "strategy.json")
    mm.save_tree(mm.build(mm.PegGame(2, 3), "minimax"), strategy)
    for wrong in (["--unvisited"], ["--width", "3"]):
        code, out, err = run(capsys, "show", strategy, *wrong)
        assert (code, out) == (2, "")
        assert f"--width and --unvisited are for search trees, and {strategy} is a strategy" in err
    (tmp_path / "tree.json").write_text((tmp_path / "tree.json").read_text().replace("40", "41", 1))
    code, _, err = run(capsys, "show", path)
    assert (code, f"{path}: not a search tree" in err) == (2, True)
