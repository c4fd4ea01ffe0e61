"""Evaluation of networks: every figure against its definition, on networks whose answers are known."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from flax import nnx

import jaxsudoku as js
from jaxsudoku import networks
from jaxsudoku.cli import main
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.evaluation import EvaluateConfig, Report, calibration, evaluate, forward, plot, run, scores
from jaxsudoku.evaluation.report import Score
from jaxsudoku.io import grid_column
from jaxsudoku.networks import Forward, Network, NetworkModule, Outputs
from jaxsudoku.solvers import driver

FOUR, SIX = Board.classic(4), Board.classic(6)
SOLVED = "1234341221434321"


@dataclasses.dataclass(frozen=True)
class OracleConfig:
    """The number of solutions that it knows."""

    solutions: int = 100


class Oracle(NetworkModule):
    """Knows solutions: names their digits in the first cells, and holds a position for alive if it agrees with one.

    Solutions, and the digits that are named where a position agrees with them, are its parameters: all oracles of a
    board are one program.
    """

    def __init__(self, config: OracleConfig, board: Board, *, rngs) -> None:
        self.board, shape = board, (config.solutions, board.cells)
        self.known, self.named = nnx.Param(jnp.zeros(shape)), nnx.Param(jnp.zeros(shape))

    def __call__(self, candidates):
        digits = jnp.arange(1, self.board.side + 1)[:, None]
        cubes = self.known[...][:, None] == digits  # solution, digit, cell
        agrees = (~cubes[None] | candidates[:, None]).all((-2, -1))  # position, solution
        named = self.named[...][agrees.argmax(-1)][:, None]
        return Outputs(10.0 * (digits == named), jnp.where(agrees.any(-1), 50.0, -50.0))


def oracle(solutions, board=FOUR, trust=None):
    """An oracle in which ``trust`` of the cells, by their number, get the digit of a solution; the others another."""
    known = np.resize(np.float32(solutions), (100, board.cells))
    trusted = np.arange(board.cells) < (board.cells if trust is None else trust)
    named = np.where(trusted, known, known % board.side + 1)
    return Network("oracle", Forward(Oracle, OracleConfig(), board), {"known": known, "named": named})


#: Grids in a forward pass, of which there is one program for a board and rules.
CHUNK = 32


def stepwise(network, puzzles, rules, *_):
    """What ``run.solve_iteratively`` promises, as told by the number of clues."""
    clues = np.count_nonzero(puzzles, axis=1)
    return scores.Decoded(clues > 9, np.full(len(puzzles), 3, np.int32), clues.astype(np.int32))


class Puzzles(NamedTuple):
    puzzles: np.ndarray
    solutions: np.ndarray


def proper(name, board):
    """Shipped puzzles, a hundred, some with more clues, and their solutions."""
    minimal = js.load(name)[:100]
    solutions = np.array([reference.solutions(board, grid, 2)[0] for grid in minimal], np.uint8)
    more = np.random.default_rng(0).random(minimal.shape) < 0.1
    return Puzzles(np.where(more, solutions, minimal), solutions)


@pytest.fixture(scope="module")
def puzzles():
    """Puzzles 4x4, which naked singles solve."""
    return proper("4x4", FOUR)


@pytest.fixture(scope="module")
def harder():
    """Puzzles 6x6, of which naked singles leave much open."""
    return proper("6x6", SIX)


#: Settings of the report below; puzzles are not rated for it.
OPTIONS = {"rules": ("none", "naked"), "positions": 200, "rating": np.zeros(100)}


@pytest.fixture(scope="module")
def report(harder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "solve_iteratively", stepwise)
        network = oracle(harder.solutions, SIX, trust=30)
        return evaluate(network, harder.puzzles, solutions=harder.solutions, key=3, batch_size=CHUNK, **OPTIONS)


# ---------------------------------------------------------------------- scores


def naked(board, grids):
    """What naked singles make of grids uint8[N, cells], by plain loops; a cell that can't be filled stays open."""
    filled = []
    for grid in grids.tolist():
        while True:
            left = [
                {digit} if digit else {*range(1, board.side + 1)} - {grid[peer] for peer in peers}
                for digit, peers in zip(grid, reference.peers(board), strict=True)
            ]
            after = [min(digits) if len(digits) == 1 else 0 for digits in left]
            if after == grid:
                break
            grid = after
        filled.append(grid)
    return np.array(filled, np.uint8).reshape(-1, board.cells)


def guessed(board, fixed, solutions, trust, rules):
    """The likeliest digits of an oracle, where rules fixed uint8[N, cells]: the lowest of equals."""
    digits = np.zeros_like(fixed)
    for row, grid in enumerate(fixed.tolist()):
        for cell, truth in enumerate(solutions[row].tolist()):
            held = {grid[peer] for peer in reference.peers(board)[cell]} if rules == "naked" else set()
            left = {grid[cell]} if grid[cell] else {*range(1, board.side + 1)} - held
            named = truth if cell < trust else truth % board.side + 1
            digits[row, cell] = named if named in left else min(left)
    return digits


def test_scores_are_what_they_are_called(harder, report):
    grids, solutions = harder
    clues = np.count_nonzero(grids, axis=1)
    for rules, fixed in (("none", grids), ("naked", naked(SIX, grids))):
        is_open = fixed == 0
        right = guessed(SIX, fixed, solutions, 30, rules) == solutions
        level = report.levels[rules]
        groups = [(level.total, np.ones(100, bool))]
        groups += [(score, clues == int(name)) for name, score in level.splits["clues"].items()]
        for score, rows in groups:
            assert score.puzzles == rows.sum()
            assert score.open_cells == pytest.approx(is_open[rows].sum(axis=1).mean())
            assert score.rules_alone == pytest.approx((fixed == solutions)[rows].all(axis=1).mean())
            cells = is_open[rows].sum()
            assert score.cells == (pytest.approx((is_open & right)[rows].sum() / cells) if cells else None)
            assert score.boards == pytest.approx((right | ~is_open)[rows].all(axis=1).mean())
            assert score.iterative == pytest.approx((clues[rows] > 9).mean())
            assert score.fillings == 3
            assert score.network_calls == pytest.approx(clues[rows].mean())
        for by_group in level.splits.values():
            assert sum(score.puzzles for score in by_group.values()) == level.total.puzzles == 100
    totals = [level.total for level in report.levels.values()]
    assert 0 == totals[0].rules_alone < totals[1].rules_alone < 1
    assert totals[0].boards < totals[1].boards
    assert 0 < totals[0].iterative < 1


def test_a_network_that_knows_all_is_always_right(puzzles):
    network = oracle(puzzles.solutions)
    settings = {"rules": ["none"], "iterative": False, "positions": 100, "batch_size": CHUNK}
    found = evaluate(network, puzzles.puzzles, key=1, **settings)
    level = found.levels["none"]
    assert (level.total.cells, level.total.boards) == (1, 1)
    assert (level.total.iterative, level.total.fillings, level.total.network_calls) == (None, None, None)
    assert level.calibration.auc == 1
    assert level.calibration.brier < 1e-9
    assert [each.observed for each in level.calibration.bins] == [0, 1]


def test_results_depend_on_the_key_alone(harder, report, monkeypatch):
    monkeypatch.setattr(run, "solve_iteratively", stepwise)
    network = oracle(harder.solutions, SIX, trust=30)
    # 33 grids in a forward pass are 64
    for size, key, rules in ((33, 3, ("naked",)), (CHUNK, jax.random.key(3), ("none", "naked"))):
        again = evaluate(network, harder.puzzles, key=key, batch_size=size, **OPTIONS | {"rules": rules})
        assert again.levels == {name: report.levels[name] for name in rules}
        assert dataclasses.replace(again, levels=report.levels) == report
    settings = OPTIONS | {"rules": ["none"], "batch_size": CHUNK}
    other = evaluate(network, harder.puzzles, key=4, **settings).levels["none"]
    assert other.total == report.levels["none"].total
    assert other.calibration != report.levels["none"].calibration


def test_chunks_are_put_together_in_order(puzzles):
    network, told = oracle(puzzles.solutions[:50], trust=9), []
    whole = forward.predict(network, puzzles.puzzles, "none")  # in a chunk of 128
    parts = forward.predict(network, puzzles.puzzles, "none", 20, told.append)
    assert told == [32, 64, 96, 100]
    for part, all_at_once in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(part, all_at_once)
    assert 0.3 < (whole.value > 0).mean() < 0.9


def test_the_iterative_share_comes_from_the_solver(puzzles, monkeypatch):
    asked = {}

    def solve(grids, board, **options):
        asked.update(options, board=board)
        status = np.array([Status.SOLVED, Status.UNSOLVED, Status.SOLVED], np.int8)
        calls = np.array([0, 4, 6], np.int32)
        return Solution(grids, status, np.array([1, 4, 6], np.int32), {"network_calls": calls})

    monkeypatch.setattr(driver, "solve", solve)
    network = oracle(puzzles.solutions)
    filled = run.solve_iteratively(network, puzzles.puzzles[:3], "naked", 5, 33)
    options = {"solver": "iterative", "network": network, "rules": "naked", "key": 5, "lanes": 64}
    assert asked == {**options, "board": FOUR, "progress": None}
    assert filled.solved.tolist() == [True, False, True]
    assert filled.fillings.tolist() == [0, 4, 6]  # a puzzle that the rules solve has no filling
    assert filled.network_calls.tolist() == [0, 4, 6]


@pytest.mark.slow
def test_the_iterative_share_of_networks_that_know_and_that_do_not(harder):
    options = {"rules": ["naked"], "positions": 0, "rating": np.zeros(100), "batch_size": CHUNK}
    knowing = evaluate(oracle(harder.solutions, SIX, trust=36), harder.puzzles, **options).levels["naked"].total
    assert (knowing.boards, knowing.iterative) == (1, 1)
    assert knowing.open_cells > knowing.fillings >= knowing.network_calls > 0  # the rules fill most of the cells
    assert knowing.network_calls == pytest.approx(1 - knowing.rules_alone)  # one call completes a puzzle
    lying = evaluate(oracle(harder.solutions, SIX, trust=0), harder.puzzles, **options).levels["naked"].total
    assert lying.iterative < 1


# ---------------------------------------------------------------------- what is evaluated


def test_puzzles_without_one_solution_are_left_out_and_counted(puzzles):
    odd = np.stack([js.parse(text) for text in ("." * 16, "11" + "." * 14, "123...4" + "." * 9, "12" + "." * 14)])
    mixed = np.concatenate([odd[:2], puzzles.puzzles[:20], odd[2:]])
    network = oracle(puzzles.solutions)
    found = evaluate(network, mixed, rules=["none"], iterative=False, positions=0, batch_size=CHUNK)
    assert found.left_out == {"with clashing givens": 1, "without a solution": 1, "with several solutions": 2}
    assert found.puzzles == found.levels["none"].total.puzzles == 20
    assert found.levels["none"].calibration is None
    assert "left out: 1 with clashing givens, 1 without a solution, 2 with several solutions" in str(found)
    with pytest.raises(ValueError, match="none of 4 puzzles has exactly one solution"):
        evaluate(network, odd, rules=["none"])


def test_a_sample_is_drawn_by_the_key_and_has_intervals(puzzles):
    network = oracle(puzzles.solutions, trust=12)
    options = {"rules": ["none"], "iterative": False, "positions": 0, "batch_size": CHUNK}
    labels = {"difficulty": np.arange(100), "solutions": puzzles.solutions}
    whole = evaluate(network, puzzles.puzzles, sample=None, **labels, **options)
    assert (whole.puzzles, whole.drawn_from) == (100, 100)
    assert whole == evaluate(network, puzzles.puzzles, **labels, **options), "there are at most 200"
    found = evaluate(network, puzzles.puzzles, sample=20, key=1, **labels, **options)
    assert (found.puzzles, found.drawn_from) == (20, 100)
    assert (
        found
        == Report.from_json(found.to_json())
        == evaluate(network, puzzles.puzzles, sample=20, key=1, **labels, **options)
    )
    assert found != evaluate(network, puzzles.puzzles, sample=20, key=2, **labels, **options)
    low, high = found.levels["none"].total.interval("boards")
    assert low <= whole.levels["none"].total.boards <= high
    assert "20 of 100 puzzles on" in str(found)
    assert f"95% confidence intervals, all puzzles: boards {low:.2%} to {high:.2%}" in str(found)


@pytest.mark.parametrize(("right", "low", "high"), [(0, 0, 0.2775), (5, 0.2366, 0.7634), (10, 0.7225, 1)])
def test_intervals_are_those_of_wilson(right, low, high):
    score = Score(10, 5.0, 0.0, None, right / 10)
    assert score.interval("boards") == pytest.approx((low, high), abs=1e-4)
    assert score.interval("iterative") is None


def test_malformed_texts_are_left_out_and_counted(puzzles):
    texts = ["".join(map(str, puzzle)) for puzzle in puzzles.puzzles[:20]]
    options = {"rules": ["none"], "iterative": False, "positions": 0, "batch_size": CHUNK}
    network, solutions = oracle(puzzles.solutions), [None, *puzzles.solutions[:20].astype(str).tolist(), None]
    solutions = [None if row is None else "".join(row) for row in solutions]
    marked = [None, *texts, "12"]
    found = evaluate(network, marked, errors="mark", solutions=solutions, rating=np.zeros(22), **options)
    assert (found.puzzles, found.left_out["malformed"]) == (20, 2)
    with pytest.raises(ValueError, match="puzzle 0 is None"):
        evaluate(network, marked, **options)


def test_a_network_comes_first(puzzles):
    with pytest.raises(TypeError, match="network must be a networks.Network, a name or a path, not a value of type nd"):
        evaluate(puzzles.puzzles, oracle(puzzles.solutions))


def test_wrong_solutions_are_refused_and_unknown_ones_found(puzzles):
    given = puzzles.solutions.copy()
    given[5] = 0
    network = oracle(puzzles.solutions)
    truth = run.find_solutions(FOUR, puzzles.puzzles, given)
    np.testing.assert_array_equal(truth.solutions, puzzles.solutions)
    given[[7, 9], 0] = given[[7, 9], 0] % 4 + 1
    with pytest.raises(ValueError, match=r"2 of 100 solutions do not solve their puzzles: rows 7, 9$"):
        evaluate(network, puzzles.puzzles, solutions=given)


def test_bad_arguments(puzzles):
    network, grids = oracle(puzzles.solutions), puzzles.puzzles
    for arguments, cause in (
        ({"rules": "none"}, "rules must be a sequence of names"),
        ({"rules": ["all"]}, "unknown rules 'all': choose among none, naked, singles, locked"),
        ({"rules": []}, "no rules are named: choose among none, naked, singles, locked"),
        ({"positions": -1}, "positions must be at least 0, not -1"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"positions": 1.5}, "positions must be a whole number, not 1.5"),
        ({"batch_size": "8"}, "batch_size must be a whole number, not '8'"),
        ({"iterative": "no"}, "iterative must be True or False, not 'no'"),
        ({"progress": 3}, "progress must be True or a function to be called, not 3"),
        ({"solutions": grids[:5]}, "solutions of shape (5, 16), for puzzles of shape (100, 16)"),
        ({"rating": np.zeros(5)}, "rating of shape (5,), for puzzles of shape (100, 16)"),
        ({"board": Board.diagonal(4)}, "a network for 4x4 with 2x2 boxes can't be evaluated on "),
    ):
        with pytest.raises(ValueError) as caught:
            evaluate(network, grids, **arguments)
        assert str(caught.value).startswith(cause)
    with pytest.raises(ValueError, match="must be \\[N, 16\\]"):
        evaluate(network, grids[0])


def test_settings_as_a_config_and_as_options(puzzles):
    network, config = (
        oracle(puzzles.solutions),
        EvaluateConfig(rules=("none",), iterative=False, positions=50, batch_size=CHUNK),
    )
    found = evaluate(network, puzzles.puzzles, None, config)
    options = {"rules": ["none", "none"], "iterative": False, "positions": 50, "batch_size": CHUNK}
    assert found == evaluate(network, puzzles.puzzles, **options)
    fewer = evaluate(network, puzzles.puzzles, None, config, positions=0)
    assert fewer.levels["none"] == dataclasses.replace(found.levels["none"], calibration=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'rule'"):
        evaluate(network, puzzles.puzzles, rule=["none"])


# ---------------------------------------------------------------------- groups


def members(split):
    return {name: np.flatnonzero(split.group == number).tolist() for number, name in enumerate(split.names)}


def test_clues_few_and_many():
    grids = np.zeros((24, 81), np.uint8)
    for row in range(24):
        grids[row, : 17 + row % 12] = 1
    few = scores.by_clues(grids[[0, 3, 3, 12]])
    assert members(few) == {"17": [0, 3], "20": [1, 2]}
    many = scores.by_clues(grids)
    assert many.names == ("17-18", "19-20", "21-22", "23-24", "25-26", "27-28")
    assert members(many)["21-22"] == [4, 5, 16, 17]


def test_grades_and_quantiles():
    ratings = np.array([0, 1.5, 60, np.nan, np.inf, 0])
    assert members(scores.by_grade(ratings)) == {"easy": [0, 5], "medium": [1], "extreme": [2, 4], "unrated": [3]}
    few = scores.by_quantiles(np.array([2.5, np.nan, 1, 2.5]))
    assert members(few) == {"1": [2], "2.5": [0, 3], "unrated": [1]}
    many = scores.by_quantiles(np.random.default_rng(0).permutation(100) / 4)
    assert many.names == ("0-4.75", "5-9.75", "10-14.75", "15-19.75", "20-24.75")
    assert np.bincount(many.group).tolist() == [20] * 5
    skewed = scores.by_quantiles(np.array([0.0] * 70 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 3))
    assert skewed.names[0] == "0"
    assert np.bincount(skewed.group)[0] == 70
    assert scores.by_quantiles(np.full(2, np.nan)).names == ("unrated",)


def test_ratings_given_are_used(puzzles):
    network = oracle(puzzles.solutions)
    rating, difficulty = np.arange(100) % 3 * 8, np.arange(100) // 50
    options = {"rules": ["none"], "iterative": False, "positions": 0, "batch_size": CHUNK}
    found = evaluate(network, puzzles.puzzles, rating=rating, difficulty=difficulty, **options).levels["none"]
    sizes = {by: {name: score.puzzles for name, score in by_group.items()} for by, by_group in found.splits.items()}
    assert sizes["rating"] == {"easy": 34, "hard": 33, "very hard": 33}
    assert sizes["difficulty"] == {"0": 50, "1": 50}
    assert list(evaluate(network, puzzles.puzzles, difficulty=difficulty, **options).levels["none"].splits) == [
        "clues",
        "difficulty",
    ]


# ---------------------------------------------------------------------- calibration


def test_measures_against_their_definitions():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(0, 2, 500).round(1)  # with ties
    alive = rng.random(500) < 1 / (1 + np.exp(-log_odds))
    found = calibration.measure(log_odds, alive, 4, 5)
    chance = 1 / (1 + np.exp(-log_odds))
    assert (found.positions, found.refuted, found.solved) == (500, 4, 5)
    assert found.alive == alive.mean()
    assert found.brier == pytest.approx(((chance - alive) ** 2).mean())
    assert found.log_loss == pytest.approx(-np.log(np.where(alive, chance, 1 - chance)).mean())
    pairs = log_odds[alive][:, None] - log_odds[~alive]
    assert found.auc == pytest.approx(((pairs > 0) + (pairs == 0) / 2).mean())
    assert sum(each.positions for each in found.bins) == 500
    for each in found.bins:
        inside = (chance >= each.lower) & (chance < each.upper)
        assert each.positions == inside.sum()
        assert each.predicted == pytest.approx(chance[inside].mean())
        assert each.observed == pytest.approx(alive[inside].mean())


def test_extremes_of_the_value():
    sure = calibration.measure(np.array([800.0, -800.0]), np.array([True, False]))
    assert (sure.brier, sure.log_loss, sure.auc) == (0, 0, 1)
    assert [(each.lower, each.upper) for each in sure.bins] == [(0, 0.1), (0.9, 1)]
    wrong = calibration.measure(np.array([800.0, -800.0]), np.array([False, True]))
    assert (wrong.brier, wrong.log_loss, wrong.auc) == (1, 800, 0)
    alike = calibration.measure(np.zeros(4), np.array([True, False, True, True]))
    assert alike.auc == 0.5
    assert alike.log_loss == pytest.approx(math.log(2))
    assert calibration.measure(np.zeros(2), np.ones(2, bool)).auc is None
    assert calibration.measure(np.zeros(0), np.zeros(0, bool), 3).alive is None


def test_positions_have_a_solution_exactly_if_they_say_so(puzzles):
    made = calibration.make_positions(FOUR, puzzles.puzzles, puzzles.solutions, 400, np.random.default_rng(0))
    assert 0.4 < made.alive.mean() < 0.8
    assert (made.grids == 0).any(axis=1).all()
    assert not any(reference.repeats(FOUR, grid) for grid in made.grids)
    for grid, alive in zip(made.grids, made.alive, strict=True):
        assert len(reference.solutions(FOUR, grid, 2)) == alive
    clues = np.count_nonzero(made.grids, axis=1)
    assert clues.max() >= 13
    # each position is some puzzle's, and hardly a puzzle is left out
    belongs = ((made.grids[:, None] == puzzles.puzzles) | (puzzles.puzzles == 0)).all(axis=2)
    assert belongs.any(axis=1).all()
    assert belongs.any(axis=0).mean() > 0.9


def test_positions_that_the_rules_settle_are_left_out(harder, report):
    for rules, fixed in (("none", harder.puzzles), ("naked", naked(SIX, harder.puzzles))):
        made = calibration.make_positions(SIX, fixed, harder.solutions, 200, run._generator(3))
        found = report.levels[rules].calibration
        assert found.positions + found.refuted + found.solved == len(made.grids)
        left = naked(SIX, made.grids[made.alive])
        assert found.solved == ((left > 0).all(axis=1).sum() if rules == "naked" else 0)
        assert found.alive == pytest.approx((len(left) - found.solved) / found.positions)
        assert (found.refuted > 0) == (rules == "naked")
        assert found.positions > 20


def test_no_positions_of_full_grids(puzzles):
    made = calibration.make_positions(FOUR, puzzles.solutions, puzzles.solutions, 10, np.random.default_rng(0))
    assert made.grids.shape == (0, 16)
    network, settings = oracle(puzzles.solutions), {"rules": ["none"], "iterative": False, "batch_size": CHUNK}
    found = evaluate(network, puzzles.solutions, **settings)
    level = found.levels["none"]
    assert (level.total.cells, level.total.boards, level.total.rules_alone) == (None, 1, 1)
    assert level.calibration.positions == 0
    assert "0 positions" in str(found)


# ---------------------------------------------------------------------- reports


def test_report_as_json_and_as_text(report):
    kept = dataclasses.replace(report, about={"seed": 3, "file": "x.csv"})
    assert Report.from_json(kept.to_json()) == kept
    fields = json.loads(report.to_json())
    assert fields["config"] == {"solutions": 100}
    assert fields["levels"]["none"]["total"]["cells"] == report.levels["none"].total.cells
    with pytest.raises(ValueError, match="no report of an evaluation"):
        Report.from_json('{"puzzles": 3}')
    text = str(report)
    assert text.startswith(f"oracle, 7,200 parameters: 100 puzzles on {SIX}\n\nrules: none\n")
    heading, everything = text.splitlines()[3:5]
    assert " ".join(heading.split()) == "puzzles open cells rules alone cells boards iterative fillings calls"
    assert everything.split()[:2] == ["all", "100"]
    assert len({len(line) for line in text.splitlines()[3:10]}) == 1


def test_a_table_has_a_row_for_each_group(report):
    rows = report.to_table().to_pylist()
    groups = sum(len(scores) for level in report.levels.values() for scores in level.splits.values())
    assert len(rows) == groups + len(report.levels)
    for row in rows:
        level = report.levels[row["rules"]]
        score = level.total if row["split"] == "all" else level.splits[row["split"]][row["group"]]
        assert {name: row[name] for name in dataclasses.asdict(score)} == dataclasses.asdict(score)


def test_a_plot_is_a_picture(report, tmp_path):
    pytest.importorskip("matplotlib")
    import matplotlib.figure

    path = tmp_path / "report.png"
    plot(report, path)
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert not matplotlib.figure.Figure().axes
    with pytest.raises(ValueError, match=r"report\.txt: no picture: its suffix must be one of \."):
        plot(report, tmp_path / "report.txt")
    settings = {"rules": ["none"], "iterative": False, "positions": 0, "batch_size": CHUNK}
    bare = evaluate(oracle([js.parse(SOLVED)]), js.parse(SOLVED)[None], **settings)
    plot(bare, tmp_path / "bare.svg")
    assert (tmp_path / "bare.svg").stat().st_size > 1000


def test_plots_without_matplotlib(monkeypatch, report):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    with pytest.raises(ImportError, match=r"plots need matplotlib: pip install 'jaxsudoku\[plot\]'"):
        plot(report, "report.png")


# ---------------------------------------------------------------------- the command


@pytest.fixture
def command(capsys, monkeypatch, puzzles):
    """Runs ``evaluate`` with a network that knows the solutions of ``puzzles`` but for the last cells."""

    def load_network(name, board, **overrides):
        if name != "knowing" or overrides:
            raise ValueError(f"no weights named {name!r} with {overrides}")
        return oracle(puzzles.solutions, board, trust=13)

    def run_command(*argv):
        try:
            code = main(["evaluate", "--board", "4", "--network", "knowing", "--batch-size", str(CHUNK), *argv])
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    monkeypatch.setattr(networks, "load_network", load_network, raising=False)
    monkeypatch.setattr(run, "solve_iteratively", stepwise)
    return run_command


def rows(puzzles, count):
    """The first puzzles and their solutions as text."""
    grids = [grid_column(grids[:count], FOUR) for grids in puzzles]
    return list(zip(*grids, strict=True))


def test_the_command_gives_what_the_library_gives(command, puzzles, tmp_path):
    path, figures, picture = tmp_path / "set.csv", tmp_path / "report.json", tmp_path / "report.png"
    ratings = np.arange(60) % 4 * 5.0
    lines = [f"{puzzle},{grid},{rating}" for (puzzle, grid), rating in zip(rows(puzzles, 60), ratings, strict=True)]
    path.write_text("\n".join(["puzzle,solution,rating", *lines, ""]))
    options = ("--rules", "none", "--rules", "naked,none", "--limit", "50", "--seed", "3", "--positions", "200")
    code, out, err = command("--puzzles", str(path), *options, "--json", str(figures), "--plot", str(picture))
    assert code == 0
    assert err.startswith("forward passes for 50 puzzles and ")
    assert "\n50 puzzles in " in err
    found = Report.from_json(figures.read_text())
    expected = evaluate(
        oracle(puzzles.solutions, trust=13),
        puzzles.puzzles[:50],
        rating=ratings[:50],
        rules=("none", "naked"),
        key=3,
        positions=200,
        batch_size=CHUNK,
    )
    assert found.levels == expected.levels
    assert (found.about["network"], found.about["limit"], found.about["seed"]) == ("knowing", 50, 3)
    assert out == f"{found}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, out, err = command(str(path), "--json", str(figures))
    assert (code, out) == (2, "")
    assert err == f"jaxsudoku: error: {figures}: the output exists: replace it with --force\n"


def test_faulty_lines_are_named(command, puzzles, tmp_path):
    path = tmp_path / "set.csv"
    good = rows(puzzles, 8)
    puzzle, solution = good[0]
    given = next(cell for cell, digit in enumerate(puzzle) if digit != ".")
    free = puzzle.index(".")
    other = {"1": "2", "2": "3", "3": "4", "4": "1"}
    wrong = [solution[:cell] + other[solution[cell]] + solution[cell + 1 :] for cell in (given, free)]
    lines = [
        *(f"{puzzle},{solution},{number}" for number, (puzzle, solution) in enumerate(good)),
        f"{puzzle},{wrong[0]},1",  # line 10
        f"{puzzle},{wrong[1]},1",
        f"{puzzle},{solution[:free]}.{solution[free + 1 :]},1",
        f"{puzzle},{solution[:9]},1",
        f"{puzzle},-,",
        f"{puzzle},{solution},hard",
        "11..............,,",
        f"{'.' * 16},{SOLVED},1",
        f"123,{solution},1",
    ]
    path.write_text("\n".join(["puzzle,solution,difficulty", *lines, ""]))
    code, out, err = command(str(path), "--rules", "none", "--no-iterative", "--quiet")
    assert code == 1
    place = [f"row {cell // 4 + 1}, column {cell % 4 + 1}" for cell in (given, free)]
    named = err.splitlines()
    assert named[:1] == [
        f"{path}:10: the solution is wrong: {wrong[0][given]} in {place[0]}, where {puzzle[given]} is given"
    ]
    assert named[1].startswith(f"{path}:11: the solution is wrong: {wrong[1][free]} twice in ")
    assert named[2:] == [
        f"{path}:12: the solution is wrong: nothing in {place[1]}",
        f"{path}:13: the solution is malformed: 9 cells; a 4x4 board has 16 (9 make a 3x3 board)",
        f"{path}:15: the difficulty 'hard' is not a number",
        f"{path}:16: the givens clash: 1 twice in row 1",
        f"{path}:18: 3 cells; a 4x4 board has 16",
    ]
    left_out = "3 malformed, 3 with a wrong solution, 1 with clashing givens, 1 with several solutions"
    assert out.splitlines()[0].endswith(f"9 puzzles on 4x4 with 2x2 boxes; left out: {left_out}")
    assert "difficulty unrated" in out


def test_an_input_that_ends_too_soon_is_evaluated_up_to_there(command, puzzles, tmp_path):
    path = tmp_path / "set.txt.gz"
    text = "".join(f"{puzzle}\n" for puzzle, _ in rows(puzzles, 60))
    path.write_bytes(gzip.compress(text.encode())[:-12])
    code, out, err = command(str(path), "--rules", "none", "--no-iterative", "--quiet", "--positions", "0")
    assert code == 1
    assert "truncated gzip data" in err
    assert "puzzles on 4x4" in out.splitlines()[0]


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        ((), "one of the arguments INPUT --puzzles is required"),
        (("FILE", "--puzzles", "FILE"), "not allowed with argument INPUT"),
        (("/nowhere/set.csv",), "/nowhere/set.csv: No such file or directory"),
        (("FILE", "--rules", "none,every"), "unknown rules 'every': choose among none, naked, singles, locked"),
        (("FILE", "--network", "other"), "no weights named 'other' with {}"),
        (("FILE", "--iterations", "3"), "no weights named 'knowing' with {'iterations': 3}"),
        (("FILE", "--dtype", "int3"), "no weights named 'knowing' with {'dtype': 'int3'}"),
        (("FILE", "--limit", "0"), "must be at least 1, not 0"),
        (("FILE", "--json", "/nowhere/report.json"), "/nowhere/report.json: there is no such directory"),
        (("FILE", "--json", "FILE"), "the output is the input"),
        (("FILE", "--plot", "report.txt"), "report.txt: no picture"),
    ],
)
def test_usage_errors(command, tmp_path, argv, cause):
    path = tmp_path / "set.txt"
    path.write_text(f"{SOLVED}\n")
    code, out, err = command(*(str(path) if part == "FILE" else part for part in argv))
    assert (code, out) == (2, "")
    assert cause in err
    assert err.count("\n") == 1


def test_nothing_to_evaluate(command, tmp_path):
    path = tmp_path / "set.txt"
    path.write_text("")
    code, out, err = command(str(path))
    assert (code, out, err) == (2, "", f"jaxsudoku: error: {path}: there are no puzzles in it\n")
    path.write_text("." * 16 + "\n")
    code, out, err = command(str(path), "--quiet")
    message = f"{path}: none of 1 puzzles has exactly one solution: there is nothing to evaluate"
    assert (code, out, err) == (1, "", f"jaxsudoku: error: {message}\n")
