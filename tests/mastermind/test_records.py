"""The best Mastermind strategies known, in benchmarks/results: each takes as many guesses as its name says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import jaxsudoku.mastermind as mm

RECORDS = sorted((Path(__file__).parents[2] / "benchmarks" / "results").glob("mastermind-*.json.gz"))


def feedback_numbers(game: mm.PegGame, guesses: np.ndarray, secrets: np.ndarray) -> np.ndarray:
    """The feedback to codes, int[n], by numpy alone."""
    exact = (guesses == secrets).sum(axis=1)
    common = sum(
        np.minimum((guesses == colour).sum(axis=1), (secrets == colour).sum(axis=1)) for colour in range(game.colours)
    )
    numbers = np.full((game.pegs + 1, game.pegs + 1), -1)
    numbers[tuple(np.transpose(game.pairs))] = np.arange(game.feedbacks)
    return numbers[exact, common - exact]


def test_there_are_records():
    assert RECORDS


@pytest.mark.parametrize(
    "path",
    # the largest one takes as long to read as the others together
    [pytest.param(path, marks=[pytest.mark.slow] * ("5x8" in path.name), id=path.name) for path in RECORDS],
)
def test_a_record_is_what_it_is_called(path):
    name, total = re.fullmatch(r"mastermind-(.+)-(\d+)\.json\.gz", path.name).groups()
    tree = mm.load_tree(path)
    game = tree.game
    expected = mm.bulls_and_cows() if name == "bulls-and-cows" else mm.PegGame(*map(int, name.split("x")))
    assert game == expected
    codes = game.codes
    nodes, attempts = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    playing = np.arange(len(codes))
    while len(playing):
        guesses = tree.guesses[nodes[playing]]
        attempts[playing] += 1
        heard = feedback_numbers(game, codes[guesses], codes[playing])
        playing, heard = playing[guesses != playing], heard[guesses != playing]
        nodes[playing] = tree.children[nodes[playing], heard]
        assert (nodes[playing] > 0).all(), "a code is not found"
    assert attempts.sum() == int(total)
    if path == RECORDS[0]:
        np.testing.assert_array_equal(tree.attempts, attempts)
