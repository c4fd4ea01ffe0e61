"""Tree search that keeps its tree, as in the AlphaSudoku study: what it keeps, what it claims, what the study finds."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import plain_study
import pytest
import reference
from random_networks import random_network

import jaxsudoku as js
from jaxsudoku import compiler_options, solvers
from jaxsudoku.engine.solution import Status

FOUR = reference.SMALL["4x4"]

#: The study's settings, but for the network.
STUDY = {"rules": "none", "simulations": 20, "proofs": False, "move": "value", "reward": "filled"}
MCTS = {**STUDY, "exploration": 2**0.5}
ALPHASUDOKU = {
    **STUDY,
    "exploration": 1.0,
    "cell": "fewest",
    "formula": "study",
    "value": "rollout",
    "rollout": "surest",
}


def test_without_proofs_no_puzzle_is_called_unsatisfiable():
    puzzles = reference.solvable(FOUR, 64, givens=3)
    for puzzle in puzzles[::4]:
        puzzle[np.flatnonzero(puzzle == 0)[0]] = 5 - puzzle[np.flatnonzero(puzzle)[0]]
    found = js.solve(puzzles, FOUR, solver="mcts", keep_partial=True, key=3, **MCTS | {"simulations": 3})
    solvable = np.array([reference.count(FOUR, puzzle, 1) for puzzle in puzzles]) > 0
    assert set(found.status[solvable].tolist()) <= {Status.SOLVED, Status.UNSOLVED}
    assert (found.status[~solvable] != Status.SOLVED).all()
    assert (found.status == Status.SOLVED).sum() > 20
    for puzzle, grid, status in zip(puzzles, found.grids, found.status, strict=True):
        if status == Status.SOLVED:
            assert reference.is_solution(FOUR, grid, puzzle)
        elif status == Status.UNSOLVED:  # a grid on which the search ended
            assert (grid[puzzle > 0] == puzzle[puzzle > 0]).all() and (grid == 0).any()
    searched = found.stats["changes"] > 1
    assert (found.stats["changes"][searched] > found.iterations[searched]).all()


@pytest.mark.slow
def test_how_rollouts_go_does_not_matter_where_there_are_none():
    puzzles = reference.solvable(FOUR, 8, givens=4)
    settings = {"proofs": False, "simulations": 2, "budget": 50, "network": random_network(FOUR), "value": "network"}
    drawn, surest = (
        js.solve(puzzles, FOUR, solver="alphasudoku", rollout=rollout, **settings) for rollout in ("draw", "surest")
    )
    for name in ("grids", "status", "iterations"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(surest, name))
    np.testing.assert_array_equal(drawn.stats["network_calls"], surest.stats["network_calls"])


def test_without_proofs_a_search_does_not_begin_again():
    with pytest.raises(ValueError, match="restarts need proofs"):
        solvers.make_config(solvers.get("mcts"), proofs=False, budget=9, restarts=1)
    with pytest.raises(ValueError, match="solver gumbel has no option proofs"):
        solvers.make_config(solvers.get("gumbel"), proofs=False)


# ---------------------------------------------------------------------- against plain Python


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mcts", "alphasudoku"])
def test_the_study_is_what_its_text_says(name):
    puzzles = js.load("9x9-hard")[:100]
    network = random_network(js.Board.classic(9), "house_resnet")  # which takes illegal digits too
    options = MCTS if name == "mcts" else {**ALPHASUDOKU, "network": network}
    found = js.solve(puzzles, solver=name, budget=plain_study.MOST + 1, **options)

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def probabilities(grid):
        digits = jnp.arange(1, 10, dtype=grid.dtype)[:, None]
        outputs = network.apply(network.params, ((grid == digits) | (grid == 0))[None])
        return jax.nn.softmax(outputs.policy[0], axis=0)

    def look(cells):
        return np.asarray(probabilities(np.frombuffer(cells, np.uint8)))

    searches = [
        plain_study.Search(puzzle.tobytes(), number, None if name == "mcts" else look)
        for number, puzzle in enumerate(puzzles)
    ]
    solved = np.mean([search.solve() for search in searches])
    assert (
        abs(solved - (found.status == Status.SOLVED).mean()) <= 0.12
    )  # two of the draws of 100 differ by more in 1 of 50
    plain = [search.iterations for search in searches]
    quartiles, expected = (np.percentile(counts, [25, 50, 75]) for counts in (found.stats["changes"], plain))
    np.testing.assert_allclose(quartiles, expected, rtol=0.4)
    if name == "alphasudoku":
        calls = np.mean([len(search.looked) for search in searches])
        np.testing.assert_allclose(found.stats["network_calls"].mean(), calls, rtol=0.15)
