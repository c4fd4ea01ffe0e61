"""Strategies that are improved: never worse, the optimum in the end, and a file that holds the best at any time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mastermind_reference import fewest_guesses

import jaxsudoku.mastermind as mm
from jaxsudoku.cli import main
from jaxsudoku.mastermind import improvement


@pytest.mark.parametrize(
    "game",
    [mm.PegGame(1, 2), mm.PegGame(2, 3)],
    ids=str,
)
def test_small_games_end_at_the_optimum(game):
    tree = improvement.improve(mm.build(game, "random", key=5), 600)
    assert tree.attempts.sum() == fewest_guesses(game)


def test_a_game_beyond_the_first_round_ends_at_the_optimum():
    told, kept = [], []
    before = mm.build(mm.PegGame(3, 4), "minimax")
    tree = improvement.improve(before, 600, told.append, kept.append)
    assert tree.attempts.sum() == 206 < before.attempts.sum()
    assert kept[-1] is tree and tree.player == before.player
    assert any("round 2: 6 guesses, up to 24 codes solved" in text for text in told)


def test_words_are_improved():
    game = mm.WordGame(("abba", "baba", "aabb", "abcd", "dcba", "bbca", "acca", "ddda", "cabd"), ("aaaa",))
    tree = improvement.improve(mm.build(game, "random"), 600)
    assert tree.attempts.sum() == mm.build(game, "optimal").attempts.sum()


def test_without_time_the_strategy_stays():
    tree = mm.build(mm.PegGame(3, 4), "minimax")
    assert improvement.improve(tree, 0) is tree


def test_strategies_in_between_are_better_and_whole(monkeypatch):
    monkeypatch.setattr(improvement, "_PAUSE", 0.0)
    monkeypatch.setattr(improvement, "TOGETHER", 1)
    tree, kept = mm.build(mm.PegGame(3, 4), "random", key=1), []
    improvement.improve(tree, 600, better=kept.append)
    sums = [int(each.attempts.sum()) for each in (tree, *kept)]
    assert len(sums) > 2 and (np.diff(sums) < 0).all()
    assert all(each.attempts.min() >= 1 for each in kept)


def test_a_strategy_that_loses_codes_is_refused():
    tree = mm.build(mm.PegGame(2, 3), "random", key=5)
    short = mm.Tree(tree.game, tree.guesses[:2], tree.parents[:2], tree.feedbacks[:2])
    with pytest.raises(mm.TreeError, match="does not find"):
        improvement.improve(short, 60)


# ---------------------------------------------------------------------- command


def run(capsys, *arguments):
    """The exit status and both outputs of ``jaxsudoku mastermind improve``."""
    code = main(["mastermind", "improve", *map(str, arguments)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_file_holds_the_better_strategy(capsys, tmp_path):
    path, other = tmp_path / "tree.json", tmp_path / "other.json"
    tree = mm.build(mm.PegGame(2, 3), "random", key=5)
    mm.save_tree(tree, path)
    before, after = int(tree.attempts.sum()), fewest_guesses(tree.game)
    said = f"2 pegs, 3 colours: {before} guesses, now {after}; mean {after / 9:.4f}\n"
    assert run(capsys, path, "--output", other, "--quiet") == (0, said, "")
    assert mm.load_tree(path).attempts.sum() == before and mm.load_tree(other).attempts.sum() == after
    assert run(capsys, path, "--hours", 0.1, "--quiet") == (0, said, "")
    assert mm.load_tree(path).attempts.sum() == after
    assert run(capsys, path, "--output", other, "--quiet")[0] == 2  # exists


@pytest.mark.parametrize("hours", ["0", "-1", "x", str(math.inf), "nan"])
def test_hours_that_are_none(capsys, tmp_path, hours):
    with pytest.raises(SystemExit, match="2"):
        run(capsys, tmp_path / "tree.json", f"--hours={hours}")
    assert f"{hours!r} is not a positive number of hours" in capsys.readouterr().err


def test_a_file_that_is_missing(capsys, tmp_path):
    code, _, err = run(capsys, tmp_path / "tree.json")
    assert code == 2 and "tree.json" in err and "Traceback" not in err
