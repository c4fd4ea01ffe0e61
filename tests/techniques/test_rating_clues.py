"""Ratings of puzzles with constraints of their own: those of their boards, in one program."""

from __future__ import annotations

import csv
import functools
import json

import constrained
import jax
import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import rating
from jaxsudoku.cli import main
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Constraint
from jaxsudoku.core.constraints.house_sums import with_house_sums
from jaxsudoku.core.tuning import RULES
from jaxsudoku.explanation.proof import count
from jaxsudoku.techniques.registry import NUMBERS
from jaxsudoku.techniques.solving import solve_by_techniques

FOUR = Board.classic(4)
#: Techniques of each kind that apply constraints, and rectangles, whose cells must have none.
NAMES = ("hidden-single-in-line", "naked-single", "constraint", "unique-rectangle", "forcing-chain")


@functools.cache
def proper() -> tuple[np.ndarray, list[list[Constraint]]]:
    """Puzzles uint8[24, 16] with one solution, the same, and their constraints: cages and thermometers."""
    board, grid = constrained.FOUR
    solution = np.array([*map(int, grid)], np.uint8)
    rng = np.random.default_rng(5)
    puzzles, own = [], []
    while len(puzzles) < 24:
        cells = rng.permutation(16)[:8].reshape(4, 2).tolist()
        cages = [(pair, int(solution[pair].sum())) for pair in cells if len({*solution[pair]}) > 1]
        some = [*js.constraints.killer(cages, side=4), *(one for one in board.constraints if rng.random() < 0.2)]
        puzzle = np.where(rng.random(16) < 0.08, solution, 0).astype(np.uint8)
        if count(puzzle, FOUR.with_(some), None, 1000).number == 1:
            puzzles.append(puzzle)
            own.append(some)
    return np.array(puzzles), own


@functools.cache
def rated() -> tuple[np.ndarray, list[list[Constraint]]]:
    """These puzzles, the first one with its constraints in another order, and the second one without any."""
    puzzles, own = proper()
    return np.concatenate([puzzles, puzzles[:2]]), [*own, own[0][::-1], []]


def test_a_rating_depends_on_the_puzzle_and_its_constraints_alone():
    puzzles, own = rated()
    ratings = js.rate(puzzles, FOUR, clues=own, key=3)
    np.testing.assert_array_equal(js.rate(puzzles[::-1], FOUR, clues=own[::-1], key=3)[::-1], ratings)
    assert ratings[24] == ratings[0]  # the order of constraints does not matter
    assert np.isnan(ratings[25])  # several solutions without them
    assert (ratings[:24] >= 0).all() and 0 < (ratings[:24] > 0).sum() < 24
    weakest = js.weakest_rules(puzzles, FOUR, clues=own)
    np.testing.assert_array_equal(weakest[:24] <= RULES.index("singles"), ratings[:24] == 0)
    assert weakest[25] == len(RULES)


def test_ratings_of_a_file(capsys, tmp_path):
    puzzles, own = rated()
    path, output = tmp_path / "puzzles.jsonl", tmp_path / "rated.csv"
    texts = [[one.text(4) for one in some] for some in own]
    rows = [
        {"puzzle": "".join(map(str, puzzle)), "constraints": some} for puzzle, some in zip(puzzles, texts, strict=True)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    argv = ["rate", str(path), "--board", "4", "--seed", "3", "--output", str(output), "--quiet"]
    assert main(argv) == 0
    with output.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [*table[0]] == ["puzzle", "clues", "rating", "rules", "status", "constraints"]
    assert [row["status"] for row in table] == [*["unique"] * 25, "several"]
    ratings = js.rate(puzzles, FOUR, clues=own, key=3)
    np.testing.assert_allclose([float(row["rating"] or "nan") for row in table], ratings, rtol=1e-4)
    weakest = js.weakest_rules(puzzles, FOUR, clues=own)
    assert [row["rules"] for row in table] == [*((*RULES, "search")[level] for level in weakest[:25]), ""]
    assert [json.loads(row["constraints"]) for row in table] == texts
    rows[0]["constraints"] = []
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert main([*argv, "--resume"]) == 2
    assert "puzzle 1 is rated" in capsys.readouterr().err


def test_seeds_do_not_depend_on_the_form_of_clues():
    _, own = proper()
    clues = js.Clues.of(own, FOUR)
    other = js.Clues.of([js.constraints.kropki(white=["r1c1 r1c2"], black=["r4c3 r4c4"], side=4)], FOUR)
    hashed = jax.jit(rating._hash_of_clues)
    hashes = np.asarray(hashed(clues))
    np.testing.assert_array_equal(hashed(clues.of_form(clues.form.joined(other.form))), hashes)
    same = {tuple(sorted(map(repr, ones))) for ones in own}
    assert len({*hashes.tolist()}) == len(same) > 12


def test_techniques_apply_the_constraints_of_each_puzzle():
    puzzles, own = proper()
    clues = with_house_sums(js.Clues.of(own, FOUR), FOUR)
    find = functools.partial(solve_by_techniques, board=FOUR, names=NAMES, lanes=32)
    found = jax.tree.map(np.asarray, jax.jit(lambda puzzles, clues: find(puzzles, clues=clues))(puzzles, clues))
    for number, (puzzle, some) in enumerate(zip(puzzles, own, strict=True)):
        steps = js.explain(puzzle, FOUR.with_(some), techniques=[name for name in NAMES if name != "unique-rectangle"])
        assert found.solved[number] == steps.solved
        assert found.hardest[number] == max(NUMBERS[step.technique] for step in steps)
    assert {NUMBERS["constraint"], NUMBERS["forcing-chain"]} <= {*found.hardest.tolist()}


def test_clues_on_devices_are_refused():
    with pytest.raises(ValueError, match="solved without clues"):
        js.rate("." * 16, FOUR, clues=[[]], results="device")
