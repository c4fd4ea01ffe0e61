"""Hard puzzles by local search: neighbours, and what a walk collects."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import datasets
from jaxsudoku.datasets.builder import build_shards
from jaxsudoku.datasets.card import Card
from train import hardening


def test_neighbours_exchange_one_or_two_clues():
    rng = np.random.default_rng(0)
    solutions = np.array([reference.full_grid(js.Board.classic(), rng) for _ in range(64)])
    puzzles = np.array([reference.blanked(grid, 25, rng) for grid in solutions])
    near = hardening.neighbours(puzzles, solutions, np.random.default_rng(0))
    assert near.dtype == np.uint8
    np.testing.assert_array_equal((near > 0).sum(axis=1), (puzzles > 0).sum(axis=1))
    np.testing.assert_array_equal(near[near > 0], solutions[near > 0])
    gone = ((puzzles > 0) & (near == 0)).sum(axis=1)
    assert set(gone.tolist()) == {1, 2}


def write_shipped(folder):
    """A data set of shipped puzzles, solved by brute force and all with a rating of 5: nothing is compiled."""
    puzzles = js.load("9x9-hard")[:64]
    grids = np.array([reference.solutions(js.Board.classic(), puzzle, 1)[0] for puzzle in puzzles], np.uint8)
    clues = np.count_nonzero(puzzles, axis=1).astype(np.int32)
    made = js.Puzzles(puzzles, grids, clues, np.full(len(puzzles), 5, np.float32))
    folder.mkdir()
    card = Card(0, js.Board.classic(), {}, None, len(puzzles), len(puzzles), "npz", {})
    build_shards(folder, card, False, lambda spans: iter([made]), lambda *_: None)


@pytest.mark.slow
def test_a_walk_collects_hard_puzzles(tmp_path, capfd, optimised):
    folder, output = tmp_path / "data", tmp_path / "hard.txt"
    write_shipped(folder)
    with pytest.raises(SystemExit) as stopped:
        hardening.main(["--data", str(folder), "--start", "1000", "--output", str(output)])
    assert stopped.value.code == 2 and "no puzzle has a rating of 1000 or more" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        hardening.main(["--data", str(tmp_path / "nothing"), "--output", str(output)])
    assert "there is no such folder" in capfd.readouterr().err
    settings = ["--data", str(folder), "--start", "4", "--least", "6", "--count", "8", "--seed", "5"]
    assert hardening.main([*settings, "--output", str(output)]) == 0
    puzzles = js.read_puzzles(str(output))
    assert len(puzzles) == 8 == len({puzzle.tobytes() for puzzle in puzzles})
    assert (js.count_solutions(puzzles) == 1).all()
    # the same seed collects the same
    again = tmp_path / "again.txt"
    hardening.main([*settings, "--output", str(again)])
    assert again.read_bytes() == output.read_bytes()
    arrays = datasets.load(folder).arrays()
    walk = hardening.harden(arrays.puzzles, arrays.solutions, arrays.rating, 6.0)
    for found, ratings in itertools.islice(walk, 2):
        assert len(found) == len(ratings) and (ratings >= 6).all() and np.isfinite(ratings).all()
    for most, found_near in ((1, {0, 1}), (2, {0, 1, 2})):
        walk = hardening.harden(arrays.puzzles, arrays.solutions, arrays.rating, 1.0, most=most)
        found = np.concatenate([puzzles for puzzles, _ in itertools.islice(walk, 40)])
        agrees = (found[:, None] == 0) | (found[:, None] == arrays.solutions)  # the solutions are all different
        assert set(agrees.all(axis=2).sum(axis=0).tolist()) == found_near
        assert len(np.unique(found, axis=0)) == len(found)
