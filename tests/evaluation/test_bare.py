"""The bare protocol: its figures against their definitions, on a network whose grids are known at every iteration."""

from __future__ import annotations

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxsudoku as js
from jaxsudoku.cli import main
from jaxsudoku.core.board import Board
from jaxsudoku.evaluation import BareConfig, evaluate_bare, plot
from jaxsudoku.networks import Forward, Network, NetworkModule, Outputs

FOUR = Board.classic(4)

#: Iterations of the tests, and how a puzzle's grids are right: from, and up to, an iteration of the network.
MARKS, NEVER = (4, 8, 16), 1000
SPANS = [(0, NEVER), (6, NEVER), (12, NEVER), (NEVER, NEVER), (0, 10), (5, 8)]


@dataclasses.dataclass(frozen=True)
class ClockConfig:
    """The number of solutions that it knows, and its iterations."""

    solutions: int = 8
    iterations: int = 4


class Clock(NetworkModule):
    """Knows solutions, and names their digits while the sum of its carry, its iterations, is in a span."""

    def __init__(self, config, board, *, rngs) -> None:
        self.config, self.board = config, board
        self.known = nnx.Param(jnp.zeros((config.solutions, board.cells)))
        self.spans = nnx.Param(jnp.zeros((config.solutions, 2)))

    def __call__(self, candidates):
        return self.readout(candidates, self.initialize_carry(candidates) + self.config.iterations)

    def initialize_carry(self, candidates):
        return jnp.zeros((len(candidates), 1))

    def iterate(self, candidates, carry, halt):
        return carry + halt.most, jnp.full(len(candidates), halt.most, jnp.int32)

    def readout(self, candidates, carry):
        cubes = self.known[...][:, None] == jnp.arange(1, self.board.side + 1)[:, None]
        which = (~cubes[None] | candidates[:, None]).all((-2, -1)).argmax(-1)
        low, high = self.spans[...][which].T
        right = (low < carry[:, 0]) & (carry[:, 0] <= high)
        return Outputs(jnp.where(right[:, None, None], 10.0, -10.0) * cubes[which], jnp.zeros(len(candidates)))


@pytest.fixture(scope="module")
def puzzles():
    """Puzzles with different solutions, one for each span."""
    found = js.load("4x4")
    solutions = js.solve(found).grids
    first = np.unique(solutions, axis=0, return_index=True)[1][: len(SPANS)]
    return found[first], solutions[first]


def clock(solutions, spans=SPANS):
    known, filled = np.zeros((8, 16), np.float32), np.zeros((8, 2), np.float32)
    known[: len(solutions)], filled[: len(spans)] = solutions, spans
    return Network("clock", Forward(Clock, ClockConfig(), FOUR), {"known": known, "spans": filled})


def scores(report, field="boards"):
    return {(score.iterations, score.runs): round(getattr(score, field) * report.puzzles, 6) for score in report.scores}


def test_a_single_run_counts_grids_that_are_right_at_the_end(puzzles):
    report = evaluate_bare(clock(puzzles[1]), puzzles[0], iterations=MARKS, sample=None)
    at = {mark: sum(low < mark <= high for low, high in SPANS) for mark in MARKS}
    assert scores(report) == {(mark, 1): at[mark] for mark in MARKS} == {(4, 1): 2, (8, 1): 4, (16, 1): 3}
    assert scores(report, "checked") == {(4, 1): 2, (8, 1): 4, (16, 1): 5}
    # grids are read after 4, 8 and 16 iterations
    assert scores(report, "spent") == {(4, 1): 4 * 6, (8, 1): 4 * 2 + 8 * 4, (16, 1): 4 * 2 + 8 * 2 + 16 * 2}
    open_cells = (puzzles[0] == 0).sum(axis=1)
    ended = [low < 16 <= high for low, high in SPANS]
    assert report.scores[-1].cells >= open_cells[ended].sum() / open_cells.sum()
    assert report.scores[0].cells is None and report.several == 0


def test_further_runs_repeat_the_first_one_without_noise(puzzles):
    report = evaluate_bare(clock(puzzles[1]), puzzles[0], iterations=MARKS, runs=(1, 3), noise=0, sample=None)
    boards, checked, spent = (scores(report, field) for field in ("boards", "checked", "spent"))
    for mark in MARKS:
        assert boards[mark, 3] == checked[mark, 3] == checked[mark, 1]
        assert spent[mark, 3] == spent[mark, 1] + 2 * mark * (len(SPANS) - checked[mark, 1])


def test_noise_makes_runs_differ_and_only_right_grids_count(puzzles):
    late = [(16.5, 30)] * 3 + [(NEVER, NEVER)] * 3
    options = {"iterations": MARKS, "runs": (1, 2, 4, 16), "noise": 0.3, "every": 4, "sample": None}
    report = evaluate_bare(clock(puzzles[1], late), puzzles[0], **options)
    boards = scores(report)
    assert boards[16, 1] == 0 and boards[8, 16] == 0 and boards[16, 16] == 3
    assert boards[16, 1] <= boards[16, 2] <= boards[16, 4] <= boards[16, 16]
    other = evaluate_bare(clock(puzzles[1], late), puzzles[0], key=1, **options)
    assert scores(other, "spent") != scores(report, "spent")
    again = evaluate_bare(clock(puzzles[1], late), puzzles[0], **options)
    assert again.scores == report.scores


def test_any_solution_is_right_and_puzzles_without_one_are_left_out(puzzles):
    empty, clashing = np.zeros(16, np.uint8), np.array([1, 1, *[0] * 14], np.uint8)
    several = [puzzles[0][0], empty, clashing]
    report = evaluate_bare(clock(puzzles[1]), several, FOUR, iterations=(4,), sample=None)
    assert (report.puzzles, report.several, report.scores[0].boards) == (2, 1, 1.0)
    assert report.left_out["with clashing givens"] == 1 and report.scores[0].cells is None
    assert "1 with several solutions (any is right)" in str(report) and "1 with clashing givens" in str(report)
    with pytest.raises(ValueError, match="none of 1 puzzles has a solution"):
        evaluate_bare(clock(puzzles[1]), [clashing], FOUR)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": (8, 4)}, "iterations must be different numbers in ascending order"),
        ({"iterations": (0,)}, "iterations must be at least 1"),
        ({"runs": ()}, "no numbers of runs"),
        ({"runs": (1, 1)}, "runs must be different numbers"),
        ({"noise": -1.0}, "noise must be at least 0"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(ValueError, match=message):
        BareConfig(**options)


def test_a_network_without_iterations(puzzles):
    network = js.networks.make_network("house_cnn", FOUR, layers=3, width=4, hidden=4)
    with pytest.raises(ValueError, match="is for networks with iterations"):
        evaluate_bare(network, puzzles[0])


def test_the_report_is_json_and_a_picture(puzzles, tmp_path):
    pytest.importorskip("matplotlib")
    report = evaluate_bare(clock(puzzles[1]), puzzles[0], iterations=MARKS, runs=(1, 2), sample=None)
    written = json.loads(report.to_json())
    assert written["scores"][0]["boards"] == report.scores[0].boards and len(written["scores"]) == 6
    plot(report, tmp_path / "bare.png")
    assert (tmp_path / "bare.png").read_bytes()[:4] == b"\x89PNG"


def test_the_command(tmp_path, capsys):
    flags = ["evaluate", "4x4", "--protocol", "bare", "--limit", "3", "--json", str(tmp_path / "r.json")]
    assert main([*flags, "--iterations", "1,2", "--runs", "1,2"]) == 0
    printed = capsys.readouterr()
    assert "alone: 3 puzzles on 4x4" in printed.out
    assert "3 puzzles in at most 2 runs of up to 2 iterations" in printed.err
    assert "3 puzzles without a known solution: grids are checked by the rules of the board" in printed.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert [(each["iterations"], each["runs"]) for each in report["scores"]] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert report["about"]["network"] == "cube"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--protocol", "bare", "--rules", "none"], "--rules with --protocol bare"),
        (["--runs", "2"], "--runs with --protocol accuracy"),
        (["--iterations", "4,8"], "--iterations N,N with --protocol accuracy"),
        (["--protocol", "bare", "--iterations", "8,4"], "ascending order"),
        (["--protocol", "bare", "--iterations", "four"], "'four' is not a whole number"),
    ],
)
def test_flags_of_the_other_protocol(flags, message, capsys):
    with pytest.raises(SystemExit) as status:
        raise SystemExit(main(["evaluate", "4x4", *flags]))
    assert status.value.code == 2 and message in capsys.readouterr().err
