"""Hard puzzles by local search: neighbours, and what a walk collects."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import datasets
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


@pytest.mark.slow
def test_a_walk_collects_hard_puzzles(optimised, tmp_path, capfd):
    folder, output = tmp_path / "data", tmp_path / "hard.txt"
    with pytest.raises(SystemExit) as stopped:
        datasets.build(folder, 500, seed=3)
        hardening.main(["--data", str(folder), "--start", "1000", "--output", str(output)])
    assert stopped.value.code == 2 and "no puzzle has a rating of 1000 or more" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        hardening.main(["--data", str(tmp_path / "nothing"), "--output", str(output)])
    assert "there is no such folder" in capfd.readouterr().err
    settings = ["--data", str(folder), "--start", "4", "--least", "6", "--count", "20", "--seed", "5"]
    assert hardening.main([*settings, "--output", str(output)]) == 0
    puzzles = js.read_puzzles(str(output))
    assert len(puzzles) == 20 == len({puzzle.tobytes() for puzzle in puzzles})
    assert (js.count_solutions(puzzles) == 1).all()
    assert np.median(js.rate(puzzles)) >= 6
    # the same seed collects the same
    again = tmp_path / "again.txt"
    hardening.main([*settings, "--output", str(again)])
    assert again.read_bytes() == output.read_bytes()
    arrays = datasets.load(folder).arrays()
    walk = hardening.harden(arrays.puzzles, arrays.solutions, arrays.rating, 6.0)
    for found, ratings in itertools.islice(walk, 2):
        assert len(found) == len(ratings) and (ratings >= 6).all() and np.isfinite(ratings).all()
