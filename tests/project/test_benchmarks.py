"""The benchmarks' puzzle sets, their check of solved grids, and the commands that need nothing but shipped puzzles."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from random_networks import random_network

import jaxsudoku as js
from jaxsudoku.generation import random_clues

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
WINDOKU = js.Board.windoku()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Imports a script of the benchmarks, which lie outside the package."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("JAXSUDOKU_DATA", raising=False)
    yield importlib.import_module
    for path in FOLDER.glob("*.py"):
        if path.stem not in before:
            sys.modules.pop(path.stem, None)


# ---------------------------------------------------------------------- puzzle sets


@pytest.mark.parametrize("name", js.shipped.names())
def test_every_shipped_set_is_read_with_its_board(script, name, tmp_path):
    loaded = script("sets").load(name, str(tmp_path), any_board=True)
    assert loaded.board == js.shipped.board(name) and loaded.side == loaded.board.side
    assert (loaded.puzzles == js.load(name)).all()
    assert loaded.source == f"{name}.txt (shipped)"


def test_the_list_of_sets_finds_no_shipped_one_malformed(script, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["sets.py", "--data", str(tmp_path)])
    script("sets").main()
    told = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert {name: int(count) for name, _, count, *_ in told} == {
        name: len(js.load(name)) for name in js.shipped.names()
    }
    assert next(line[:3] for line in told if "4 windows" in line[-1]) == [
        "windoku-9x9",
        "9",
        "200",
    ]


@pytest.mark.parametrize("side", [4, 6, 9])
@pytest.mark.parametrize("ending", [".txt", ".txt.gz"])
def test_a_file_without_a_header_has_the_size_of_its_lines(script, side, ending, tmp_path):
    puzzles = js.load(f"{side}x{side}")[:35]
    text = "".join("".join(map(str, puzzle)) + "\n" for puzzle in puzzles)
    (tmp_path / f"mine{ending}").write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    loaded = script("sets").load("mine", str(tmp_path))
    assert loaded.board == js.Board.classic(side) and (loaded.puzzles == puzzles).all()


def test_an_absent_set_is_an_error_that_says_where_to_get_it(script, monkeypatch, capsys, tmp_path):
    with pytest.raises(
        ValueError, match="no puzzle set '17clue' in .*There are .*9x9-extreme.*benchmarks/README"
    ) as told:
        script("sets").load("17clue", str(tmp_path))
    chapter = str(told.value).split('"')[1]
    assert f"## {chapter}\n" in (FOLDER / "README.md").read_text()
    monkeypatch.setattr(sys, "argv", ["throughput.py", "--sets", "9x9,17clue", "--data", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:  # before anything is measured
        script("throughput").main()
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.err.startswith("throughput: no puzzle set '17clue'") and not told.out


def test_boards_with_other_rules_are_refused_where_the_classic_ones_are_meant(script, tmp_path):
    with pytest.raises(ValueError, match="windoku-9x9.txt is for 9x9 with 3x3 boxes and 4 windows"):
        script("sets").load("windoku-9x9", str(tmp_path))


# ---------------------------------------------------------------------- checking, peers


@pytest.mark.parametrize("board", [js.Board.classic(6), WINDOKU, js.shipped.board("jigsaw-9x9")], ids=str)
def test_the_check_knows_every_house(script, board):
    found = script("checking").houses(board.side, board)
    assert sorted(map(tuple, np.sort(found).tolist())) == sorted(tuple(sorted(house)) for house in board.houses)


def test_a_grid_that_breaks_a_boards_own_rule_is_found(script):
    checking = script("checking")
    row = np.arange(9)
    grid = ((row[:, None] * 3 + row[:, None] // 3 + row) % 9 + 1).reshape(1, 81).astype(np.uint8)
    empty = np.zeros_like(grid)
    assert checking.rightly_solved(empty, grid).all()
    assert not checking.rightly_solved(empty, grid, WINDOKU).any()
    assert not checking.clashing(grid).any() and checking.clashing(grid, WINDOKU).all()


def test_peers_solve_boards_that_they_know_alone(script):
    peers = script("peers").PEERS
    fitting = {
        name: [peer.fits(board) for board in (js.Board(9, (3, 3)), js.Board.classic(16), WINDOKU)]
        for name, peer in peers.items()
    }
    assert fitting == {
        "minisat22": [True, True, True],
        "glucose4": [True, True, True],
        "cadical195": [True, True, True],
        "cp-sat": [True, True, True],
        "py-sudoku": [True, True, False],
        "rustoku": [True, False, False],
        "tdoku": [True, False, False],
    }


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_tdokus_library_is_called_for_each_puzzle(script, tmp_path):
    """By a library of the same form, which writes 9 for blanks and finds as many solutions as the first digit says."""
    source, library = tmp_path / "solver.c", tmp_path / "solver.so"
    source.write_text(
        "#include <stddef.h>\n#include <stdint.h>\n"
        "size_t TdokuSolverDpllTriadSimd(const char *in, size_t limit, uint32_t kind, char *out, size_t *guesses) {"
        "for (int i = 0; i < 81; i++) out[i] = in[i] == '.' ? '9' : in[i];"
        "size_t found = in[0] - '0'; return in[81] || kind ? 99 : found < limit ? found : limit; }"
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    peer = script("peers").PEERS["tdoku"]
    assert not peer.available()
    peer.library = library
    peer.prepare(js.Board.classic())
    puzzles = np.tile(np.arange(9, dtype=np.uint8), (3, 9))
    puzzles[:, 0] = 1, 2, 3
    assert (peer.solve(puzzles) == np.where(puzzles, puzzles, 9)).all()
    assert peer.count(puzzles, 2).tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("flags", "told"),
    [("--peers tdoku", "go together"), ("--tdoku a.so", "go together"), ("--peers tdoku --tdoku a.so", "no such file")],
)
def test_tdoku_needs_its_library(flags, told, script, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["throughput.py", *flags.split()])
    with pytest.raises(SystemExit, match="2"):
        script("throughput").main()
    assert told in capsys.readouterr().err


# ---------------------------------------------------------------------- the command without data


def test_the_command_measures_shipped_sets_by_default(script, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["throughput.py"])
    assert set(script("throughput")._parse().sets) <= set(js.shipped.names())


@pytest.mark.parametrize("options", [[], ["--host"]])
def test_the_command_runs_from_beginning_to_end(script, monkeypatch, capsys, tmp_path, options):
    file = tmp_path / "figures.json"
    argv = ["throughput.py", "--sets", "4x4", "--puzzles", "128", "--repeat", "1", "--data", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*argv, *options, "--json", str(file)])
    assert script("throughput").main() == 0
    assert "128 solved; tiled from 100" + "; host alone" * len(options) in capsys.readouterr().out
    (row,) = json.loads(file.read_text())["rows"]
    assert row["source"] == "4x4.txt (shipped)" and row["outcome"] == {"solved": 128}


# ---------------------------------------------------------------------- stochastic solvers, training


@pytest.mark.slow
def test_stochastic_solvers_are_measured_warm(script, monkeypatch, capsys, tmp_path):
    file = tmp_path / "figures.json"
    options = ["--set", "4x4", "--puzzles", "8", "--option", "budget=100", "--option", "rules=none"]
    monkeypatch.setattr(sys, "argv", ["population.py", *options, "--data", str(tmp_path), "--json", str(file)])
    assert script("population").main() == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["claimed"] == row["valid"] == 8 and row["first_s"] > row["seconds"] > 0
    assert row["puzzles_per_s"] == pytest.approx(8 / row["seconds"])
    assert "first s" in capsys.readouterr().out


@pytest.mark.slow
def test_steps_of_two_processes_are_measured(script, monkeypatch, tmp_path):
    pytest.importorskip("optax")
    file = tmp_path / "figures.json"
    flags = ["--preset", "tiny", "--network", "cell_cnn:width=8,features=8,hidden=8", "--microbatch", "8"]
    flags += ["--steps", "2", "--repeat", "1", "--processes", "2", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["training.py", *flags])
    assert script("training").main() == 0
    ((row,),) = (run["rows"] for run in json.loads(file.read_text())["runs"])
    assert row["processes"] == row["devices"] == 2
    assert row["batch"] == 8 and row["positions_per_s"] == pytest.approx(8 * row["steps_per_s"])
    assert row["compile_s"] > 0 and np.isfinite(row["loss"]) and not row["error"]
    assert row["network"] == "cell_cnn" and row["sizes"]["features"] == 8


@pytest.mark.slow
def test_rounds_of_self_play_are_measured_beside_their_pieces(script, monkeypatch, tmp_path):
    pytest.importorskip("flashbax")
    from train.selfplay_presets import PRESETS
    from train.train_config import NetworkConfig, OptimiserConfig

    cnn = js.networks.NETWORKS["cell_cnn"].config(**reference.TINY["cell_cnn"])
    fast = {"network": NetworkConfig("cell_cnn", cnn), "microbatch": None, "optimiser": OptimiserConfig("adamw")}
    monkeypatch.setitem(PRESETS, "tiny", dataclasses.replace(PRESETS["tiny"], **fast))
    file = tmp_path / "figures.json"
    flags = ["--preset", "tiny", "--generate", "64", "--repeat", "2", "--warm", "1", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["selfplay.py", *flags])
    assert script("selfplay").main() == 0
    loop, games, steps = json.loads(file.read_text())["rows"]
    assert [row["part"] for row in (loop, games, steps)] == ["loop", "games", "steps"]
    assert loop["games_per_s"] == pytest.approx(64 / loop["median_s"])
    assert steps["positions_per_s"] == pytest.approx(80 / steps["median_s"])
    assert games["positions_per_s"] is None and len(loop["runs_s"]) == 2


@pytest.fixture
def network(tmp_path):
    """The file of a random network for 6x6."""
    return str(js.save_network(random_network(js.Board.classic(6)), tmp_path / "network"))


@pytest.mark.slow
def test_tree_searches_are_rows(script, monkeypatch, tmp_path, network):
    file = tmp_path / "figures.json"
    flags = ["--set", "6x6", "--puzzles", "32", "--solvers", "gumbel", "--guides", "network"]
    flags += ["--rules", "naked", "--simulations", "2", "--network", network, "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["guidance.py", *flags])
    assert script("guidance").main() == 0
    (guided,) = json.loads(file.read_text())["rows"]
    assert guided["solved"] == 1 and guided["puzzles"] == 32 and guided["calls"] > 0


@pytest.mark.slow
def test_decoding_in_several_runs_is_measured(script, monkeypatch, tmp_path, network):
    file = tmp_path / "figures.json"
    flags = ["--set", "6x6", "--puzzles", "64", "--runs", "1,3", "--rules", "naked", "--network", network]
    monkeypatch.setattr(sys, "argv", ["decoding.py", *flags, "--patience", "1", "--no-complete", "--json", str(file)])
    assert script("decoding").main() == 0
    once, often = json.loads(file.read_text())["rows"]
    assert (once["runs"], often["runs"], once["puzzles"]) == (1, 3, 64)
    assert 0 < once["solved"] < often["solved"] and once["calls"] < often["calls"]
    shares = list(often["solved_within_calls"].values())
    assert shares == sorted(shares) and shares[-1] == often["solved"]


@pytest.mark.slow
def test_a_network_is_measured_on_every_board(script, monkeypatch, tmp_path, capsys):
    file = tmp_path / "figures.json"
    cube = random_network(js.Board.classic(4), "cube", maximum=True)  # which compiles no forms for open candidates
    flags = ["--network", str(js.save_network(cube, tmp_path / "cube")), "--rules", "naked", "--json", str(file)]
    solvers = "guided-exact:calls=2,exact"
    monkeypatch.setattr(sys, "argv", ["boards.py", *flags, "--set", "6x6", "--puzzles", "40", "--solvers", solvers])
    assert script("boards").main() == 0
    rows = json.loads(file.read_text())["rows"]
    assert [(row["set"], row["by"]) for row in rows] == [("6x6", by) for by in ("one pass", *solvers.split(","))]
    for row in rows:
        if row["by"] == "one pass":
            assert (
                0 < row["cells"] <= 1
                and row["rules_alone"] <= row["boards"] <= 1
                and row["positions"] > 0
                and 0 < row["alive"] < 1
            )
        else:
            assert 0 < row["solved"] <= 1 and row["grids"] >= 1 and row["seconds"] > 0
            assert (row["calls"] is None) == (row["by"] == "exact")
    assert "6x6" in capsys.readouterr().out


@pytest.mark.slow
def test_games_of_graph_search_are_counted_up_to_the_first_error(script, monkeypatch, tmp_path):
    pytest.importorskip("optax")
    file = tmp_path / "figures.json"
    flags = ["--set", "9x9-easy", "--puzzles", "4", "--batch", "4", "--rules", "singles", "--simulations", "2"]
    flags += ["--iterations", "2", "--transpositions", "with", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["graph.py", *flags])
    assert script("graph").main() == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["transpositions"] and row["puzzles"] == 4 and row["boards"] == row["cells"] == 1


def test_committed_figures_are_joined(script, monkeypatch, capsys):
    if not (files := sorted(map(str, (FOLDER / "results").glob("*.json")))):
        pytest.skip("the source distribution has no files of figures")
    monkeypatch.setattr(sys, "argv", ["report.py", *files])
    assert script("report").main() == 0
    out, error = capsys.readouterr()
    assert "17clue" in out and "large-25x25" in error and all("left out" in line for line in error.splitlines())


def test_a_batch_that_can_not_be_trained_on_is_a_failed_row(script, monkeypatch, capsys, tmp_path):
    pytest.importorskip("optax")
    file = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["training.py", "--preset", "tiny", "--batch", "1", "--json", str(file)])
    assert script("training").main() == 1
    (row,) = json.loads(file.read_text())["rows"]
    assert row["error"].startswith("ValueError: the 1 positions of a device are too few")
    assert "1 of 1 rows FAILED" in capsys.readouterr().out


@pytest.mark.slow
def test_forms_of_convolutions_are_compared(script, monkeypatch, tmp_path):
    file = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["convolutions.py", "--boards", "1", "--repeat", "1"])
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--width", "16", "--layers", "2", "--json", str(file)])
    assert script("convolutions").main() == 0
    rows = json.loads(file.read_text())["rows"]
    assert [row["form"] for row in rows] == ["XLA's", "products", "tiles"]
    assert all(row["difference"] < 1e-5 and row["gradients_per_s"] > 0 for row in rows)


@pytest.mark.slow
def test_a_table_of_mastermind_is_continued(script, monkeypatch, capsys, tmp_path):
    file = tmp_path / "table.json"
    monkeypatch.setattr(sys, "argv", ["mastermind_table.py", "--codes", "8", "--json", str(file)])
    for _ in range(2):
        assert script("mastermind_table").main() == 0
    out = capsys.readouterr().out
    rows = json.loads(file.read_text())["rows"]
    assert [(row["game"], row["total"]) for row in rows if row["player"] == "optimal"] == [("2x2", 8), ("3x2", 18)]
    assert len(rows) == 12 and out.count("2x2           optimal") == 1
    assert out.count("| 2 | **2.0000** |") == out.count("| 3 | **2.2500** |") == 2


# ---------------------------------------------------------------------- the suite for a GPU


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_parts_without_their_packages_are_told_as_trouble(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "mctx.py").write_text("raise ModuleNotFoundError(\"No module named 'mctx'\", name='mctx')\n")
    (hidden / "optax.py").write_text("raise ImportError('too old')\n")
    for name in ("numpy-0-py3-none-any.whl", "probe_of_wheels-1-py3-none-any.whl"):
        with zipfile.ZipFile(tmp_path / name, "w") as wheel:
            wheel.writestr("probe_of_wheels.py", "")
    settings = {
        "QUICK": "1",
        "PARTS": "gumbel-32 training nothing",
        "OUT": str(tmp_path / "out"),
        "WHEELS": str(tmp_path),
        "PYTHON": sys.executable,
        "PYTHONPATH": str(hidden),
        "JAXSUDOKU_DATA": str(tmp_path),
    }
    command = ["bash", str(FOLDER / "gpu.sh")]
    ran = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    told = ran.stdout.splitlines()
    assert ran.returncode == 1 and "Traceback" not in ran.stdout + ran.stderr, ran.stderr
    assert [line for line in told if line.startswith("TROUBLE: ")][:2] == [
        "TROUBLE: gumbel-32: left out, mctx is not installed",
        "TROUBLE: training: left out, optax can't be imported: ImportError: too old",
    ]
    assert any(line.startswith("TROUBLE: nothing: no such part; there are few gumbel-32 ") for line in told)
    assert "probe_of_wheels 1: used" in told
    assert any(line.startswith("numpy 0: not used, ") for line in told)


@pytest.mark.slow
def test_jobs_are_measured_and_checked(script, monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    sizes = ["--folder", str(tmp_path / "jobs"), "--puzzles", "1200", "--base", "60", "--runs", "1"]

    def figures(*flags):
        argv = ["jobs.py", *sizes, *flags, "--json", str(tmp_path / "figures.json")]
        monkeypatch.setattr(sys, "argv", argv)
        assert script("jobs").main() == 0
        return json.loads((tmp_path / "figures.json").read_text())

    monkeypatch.setattr(script("machine"), "keep_to_cores", lambda _: None)
    found = figures("--workers", "1")
    assert found["same"] and found["checked"] == 1200
    assert found["rows"][0]["counts"]["solved"] == 1200 and found["rows"][0]["wall_s"] > 0
    (taken,) = figures("--stages")["stages"]  # of the same puzzles, which are there
    assert list(taken) == ["read", "solve", "write"] and min(taken.values()) > 0


# ---------------------------------------------------------------------- converting


def test_instances_in_files_of_their_own_become_a_set(script, monkeypatch, capsys, tmp_path):
    puzzle = js.load("6x6")[0].reshape(6, 6).astype(int)
    for percent, number in ((5, 0), (10, 2), (5, 1), (5, 10)):
        rows = "\n".join("\t".join(str(value or -1) for value in row) + "\t" for row in puzzle)
        (tmp_path / f"inst6x6_{percent}_{number}.txt").write_text(f"2\n3\n{rows}\n")
    (tmp_path / "inst9x9_5_0.txt").write_text("3\n1\n-1\n")
    argv = ["import_acs.py", str(tmp_path), "--side", "6", "--output", str(tmp_path / "sets" / "acs_6x6.txt")]
    monkeypatch.setattr(sys, "argv", argv)
    module = script("import_acs")
    assert module.main() == 0
    lines = (tmp_path / "sets" / "acs_6x6.txt").read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [["5", "0"], ["5", "10"], ["10", "2"]]
    loaded = script("sets").load("acs_6x6@5", str(tmp_path / "sets"))
    assert loaded.puzzles.shape == (2, 36) and (loaded.puzzles == puzzle.reshape(-1)).all()
    for percent in ("7", "05", "half"):
        with pytest.raises(ValueError, match=f"no puzzles with {percent}% of the cells given; it has 5, 10%"):
            script("sets").load(f"acs_6x6@{percent}", str(tmp_path / "sets"))
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", [*argv[:3], "9", *argv[4:]])
    assert module.main() == 2
    assert "inst9x9_5_0.txt: 1 cells, not 81" in capsys.readouterr().err


# ---------------------------------------------------------------------- the AlphaSudoku study


def backtracked(puzzle):
    """The study's count of backtracking, in the first cell with fewest choices: every filling and every erasure."""
    grid, count = list(map(int, puzzle)), 0
    peers = reference.peers(js.Board.classic())

    def search():
        nonlocal count
        choices = {
            cell: [digit for digit in range(1, 10) if all(grid[peer] != digit for peer in peers[cell])]
            for cell in range(81)
            if not grid[cell]
        }
        if not choices:
            return True
        cell = min(choices, key=lambda cell: len(choices[cell]))
        for digit in choices[cell]:
            grid[cell], count = digit, count + 1
            if search():
                return True
            grid[cell], count = 0, count + 1
        return False

    assert search()
    return count


@pytest.mark.slow
def test_backtracking_is_counted_as_in_the_study(script, monkeypatch, capsys, tmp_path):
    puzzles = js.load("9x9")[:12]
    rows = [
        "puzzle,difficulty",
        *(f"{''.join(map(str, puzzle))},{n % 3}.5" for n, puzzle in enumerate(puzzles)),
    ]
    given, made = tmp_path / "rated.csv", tmp_path / "made" / "paper.csv"
    given.write_text("\n".join(rows))
    study = script("study")
    argv = ["study.py", "--set", str(given), "--solvers", "backtracking", "--csv", str(made)]
    monkeypatch.setattr(sys, "argv", argv)
    assert study.main() == 0
    with made.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert tuple(found[0]) == study.FIELDS
    order = np.random.default_rng(0).permutation(12)
    assert [int(row["iterations"]) for row in found] == [backtracked(puzzles[index]) for index in order]
    assert [float(row["difficulty"]) for row in found] == [index % 3 + 0.5 for index in order]
    for solver, options in (setting for settings in study.SETTINGS.values() for setting in settings.values()):
        js.solvers.make_config(js.solvers.get(solver), **options)
    assert {(row["solved"], row["empty"]) for row in found} == {("1", "0")}
    pictures = sorted(path.name for path in (tmp_path / "made" / "paper").iterdir())
    assert pictures == ["failures.png", "iterations.png", "puzzles.png"]
    table = capsys.readouterr().out
    assert re.search(r"backtracking +all +12 +100.0% +100.0% ", table)


@pytest.mark.parametrize(("solver", "iterations"), [("alphasudoku", 7), ("iterative", 30)])
def test_cells_are_counted_for_decoding_alone(script, monkeypatch, solver, iterations):
    grid = reference.pattern(js.Board.classic(9))[None]
    puzzle = np.where(np.arange(81) < 30, 0, grid).astype(np.uint8)
    found = js.Solution(grid, np.int8([js.Status.SOLVED]), np.int32([7]), {"network_calls": np.int32([3])})
    monkeypatch.setattr(js, "solve", lambda *_, **__: found)
    run = script("study").solve(puzzle, None, solver, {"complete": False}, None)
    assert (run.solved.tolist(), run.iterations.tolist(), run.calls.tolist()) == ([True], [iterations], [3])


def test_conflicts_are_counted_as_in_the_course_work(script):
    """A cell counts for its row and for its column."""
    right = reference.pattern(js.Board.classic(4))
    wrong = right.copy()
    wrong[[0, 5]] = right[[5, 0]]  # in one box, so two rows and two columns have a digit twice
    rows = [[1, 2, 3, 4], [1, 2, 3, 4], [2, 1, 4, 3], [3, 4, 1, 1]]
    found = script("textbook").conflicts(np.array([right, wrong, np.ravel(rows)], np.uint8))
    assert found.tolist() == [0, 8, 2 + 2 + 2 + 2 + 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("puzzle,clues\n", "no column difficulty"),
        ("puzzle,difficulty\n123,1\n", "rated.csv:2: a puzzle of 81 digits was expected, not '123'"),
        (f"puzzle,difficulty\n{'0' * 81},hard\n", "rated.csv:2: 'hard' is no difficulty"),
        ("puzzle,difficulty\n", "no puzzles"),
    ],
)
def test_a_malformed_study_set_is_refused(script, tmp_path, text, message):
    path = tmp_path / "rated.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        script("study").read(path)


# ---------------------------------------------------------------------- large boards


def test_the_check_takes_the_widest_boards(script):
    checking, board = script("checking"), js.Board.classic(36)
    grid = reference.pattern(board)[None]
    swapped = grid.copy()
    swapped[0, [0, 1]] = grid[0, [1, 0]]
    assert checking.rightly_solved(np.zeros_like(grid), grid).all()
    assert not checking.rightly_solved(np.zeros_like(grid), swapped).any()


@pytest.mark.slow
def test_the_table_of_large_boards_has_all_contenders(script, monkeypatch, capsys, tmp_path):
    pytest.importorskip("pysat")
    file = tmp_path / "figures.json"
    options = ["--sets", "4x4", "--puzzles", "8", "--repeat", "1", "--single", "--data", str(tmp_path)]
    options += ["--solvers", "exact,depth-first:budget=64", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["large.py", *options])
    assert script("large").main() == 0
    rows = json.loads(file.read_text())["rows"]
    assert [row["by"] for row in rows] == ["exact", "exact, one a call", "glucose4", "depth-first:budget=64"]
    assert [row["decided"] for row in rows] == [8, 8, 8, 8]
    assert "glucose4" in capsys.readouterr().out


def test_sets_of_instances_with_holes_are_made(script):
    loaded = script("sets").load("balanced_4x4@40")
    made = js.generate(0, 50, js.Board.classic(4), holes="balanced", given=0.4)
    assert (loaded.puzzles == made.puzzles).all() and loaded.solutions == (1, np.inf)
    assert loaded.source == 'js.generate(0, 50, js.Board.classic(4), holes="balanced", given=0.4)'
    with pytest.raises(ValueError, match="no puzzle set 'balanced_4x5@40'"):
        script("sets").load("balanced_4x5@40")


def test_puzzles_that_are_given_up_are_not_decided(script, monkeypatch, capsys, tmp_path):
    pytest.importorskip("pysat")
    file = tmp_path / "figures.json"
    peer = script("peers").PEERS["glucose4"]
    monkeypatch.setattr(peer, "solve_each", lambda puzzles, limit: given_up(peer.__class__, peer, puzzles, limit))

    def given_up(kind, peer, puzzles, limit):
        assert limit == 5
        grids, seconds, decided = kind.solve_each(peer, puzzles, limit)
        assert decided.all()
        grids[:3], decided[:3] = 0, False
        return grids, seconds, decided

    options = ["--sets", "balanced_4x4@20", "--puzzles", "8", "--repeat", "1", "--budget", "1", "--peer-limit", "5"]
    monkeypatch.setattr(sys, "argv", ["large.py", *options, "--data", str(tmp_path), "--json", str(file)])
    assert script("large").main() == 0
    ours, theirs = json.loads(file.read_text())["rows"]
    assert ours["decided"] < 8 and theirs["decided"] == 5
    assert capsys.readouterr().out.count(" >") == 2


def test_puzzles_with_a_wrong_clue_are_refuted_by_all(script, monkeypatch, tmp_path):
    pytest.importorskip("pysat")
    file = tmp_path / "figures.json"
    options = ["--sets", "4x4", "--repeat", "1", "--wrong-clue", "--data", str(tmp_path), "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["large.py", *options])
    assert script("large").main() == 0
    rows = json.loads(file.read_text())["rows"]
    assert all(row["decided"] == row["puzzles"] > 8 for row in rows)
    assert not any(row["wrong"] for row in rows)


def test_a_grid_that_is_not_right_counts_as_wrong(script):
    judged = script("large")._judged
    puzzles = np.zeros((3, 16), np.uint8)
    good = np.array([1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1], np.uint8)
    grids = np.stack([good, np.ones(16, np.uint8), np.zeros(16, np.uint8)])
    status = np.array([js.Status.SOLVED, js.Status.SOLVED, js.Status.UNSOLVED])
    board, every = js.Board.classic(4), np.ones(3, bool)
    assert judged(board, puzzles, every, grids, status) == (1, 1)
    assert judged(board, puzzles, ~every, grids, status) == (0, 2)


def test_latin_squares_without_a_solution_are_to_be_refuted(script, monkeypatch, tmp_path):
    pytest.importorskip("pysat")
    file = tmp_path / "figures.json"
    (tmp_path / "squares.txt").write_text("1234000000000000\n1230000400000000\n")
    options = ["--sets", "squares", "--board", "1x4", "--repeat", "1", "--solvers", "exact,auto:budget=1"]
    monkeypatch.setattr(sys, "argv", ["large.py", *options, "--data", str(tmp_path), "--json", str(file)])
    assert script("large").main() == 0
    rows = json.loads(file.read_text())["rows"]
    assert [(row["by"], row["decided"], row["wrong"]) for row in rows] == [
        ("exact", 2, 0),
        ("glucose4", 2, 0),
        ("auto:budget=1", 2, 0),
    ]


# ---------------------------------------------------------------------- compiled programs


class Here:
    """A target whose device is there."""

    name, platform, count, memory, bandwidth = "a CPU", "cpu", 1, 1 << 30, 10**10

    def devices(self) -> list[Any]:
        import jax

        return jax.devices()[:1]


@pytest.mark.slow
def test_a_program_and_its_steps_are_figures(script):
    compiled, puzzles = script("compiled"), script("sets").load("4x4").resized(2000)
    found = compiled.measure(Here(), "exact", 4, 64, [puzzles, script("sets").load("6x6")])
    assert found["error"] is None and found["board"] == "4x4" and found["items"] == 64
    assert found["step"] == "loop" and found["step_kernels"] > 0 < found["step_bytes"]
    assert found["lanes"] and found["collectives_in_loops"] == 0
    (prediction,) = found["sets"]
    assert prediction["set"] == "4x4" and prediction["puzzles"] == 2000 and prediction["steps"] >= 1
    seconds = prediction["steps"] * found["predicted_step_seconds"]
    assert prediction["predicted_puzzles_per_second"] == pytest.approx(2000 / seconds)
    first, second = compiled.lines_of("here", found)
    assert " exact " in first and "puzzles/s" in second and "predicted" in second


def test_a_program_that_fails_is_a_row(script, monkeypatch, capsys, tmp_path):
    compiled = script("compiled")
    small = type("Small", (Here,), {"memory": 1000})()
    found = compiled.measure(small, "exact", 4, 64, [])
    assert found["error"].startswith("does not fit: ") and found["step_kernels"]
    broken = type("Broken", (Here,), {"devices": lambda self: [][0]})()
    file = tmp_path / "figures.json"
    monkeypatch.setattr(compiled, "TARGETS", {"broken": broken})
    options = ["--targets", "broken", "--programs", "exact,rate", "--boards", "4", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["compiled.py", *options])
    for name in ("JAX_PLATFORMS", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "TPU_SKIP_MDS_QUERY", "TPU_WORKER_HOSTNAMES"):
        monkeypatch.setenv(name, "cpu")
    for name in ("TPU_ACCELERATOR_TYPE", "JAXSUDOKU_CACHE", "ALLOW_MULTIPLE_LIBTPU_LOAD"):
        monkeypatch.setenv(name, "0")
    assert compiled.main() == 1
    assert capsys.readouterr().out.count("FAILED: IndexError: list index out of range") == 2
    assert [row["program"] for row in json.loads(file.read_text())["figures"]] == ["exact", "rate"]


def test_a_program_may_exceed_what_was_recorded_by_a_twentieth(script):
    ratchet = script("ratchet")
    row = {"target": "h100", "program": "exact", "board": "9x9", "step_kernels": 100, "step_bytes": 1000, "error": None}
    report = {"about": {"versions": {"jax": "0.12.0.1"}}, "figures": [row]}
    recorded = ratchet.merged(report, {})
    assert recorded == {"jax": "0.12", "figures": {"h100 exact 9x9": {"step_kernels": 100, "step_bytes": 1000}}}
    assert not ratchet.exceeded(row | {"step_kernels": 105, "step_bytes": 1050}, recorded)
    assert len(ratchet.exceeded(row | {"step_kernels": 106}, recorded)) == 1
    assert len(ratchet.exceeded(row | {"step_kernels": 106, "step_bytes": 1051}, recorded)) == 2
    with pytest.raises(KeyError, match="v5e exact"):
        ratchet.exceeded(row | {"target": "v5e"}, recorded)


def test_recorded_figures_are_of_one_version(script):
    ratchet = script("ratchet")
    row = {"target": "h100", "program": "exact", "board": "9x9", "step_kernels": 100, "step_bytes": 1000, "error": None}
    report = {"about": {"versions": {"jax": "0.12.0.1"}}, "figures": [row]}
    other = {"h100 count 9x9": {"step_kernels": 1, "step_bytes": 2}}
    assert len(ratchet.merged(report, {"jax": "0.12", "figures": other})["figures"]) == 2
    assert len(ratchet.merged(report, {"jax": "0.11", "figures": other})["figures"]) == 1
    with pytest.raises(ValueError, match="h100 exact 9x9"):
        ratchet.merged(report | {"figures": [row | {"error": "no memory"}]}, {})


def test_explanations_are_measured_and_checked(script):
    measured = script("explanations").measure
    found = measured(js.load("6x6")[:3], js.shipped.board("6x6"))
    assert (found["puzzles"], found["solved"], len(found["seconds"])) == (3, 1.0, 3)
    assert found["steps"] > 10
    with pytest.raises(RuntimeError, match="puzzle 0 has several solutions"):
        measured(np.zeros((1, 36), np.uint8), js.shipped.board("6x6"))


def test_every_program_is_of_a_known_kind(script):
    names = script("programs").names()
    assert set(js.solvers.SOLVERS) < set(names) and len(set(names)) == len(names)
    assert {f"train-{name}" for name in js.networks.NETWORKS} < set(names)


def test_the_steps_of_the_largest_loop_are_counted(script):
    import jax
    import jax.numpy as jnp

    count = script("steps").main_loop_steps

    def function(limit):
        small = jax.lax.while_loop(lambda x: x < 100, lambda x: x + 1, 0)
        large = jax.jit(lambda y: jax.lax.while_loop(lambda x: x[0] < limit, lambda x: (x[0] + 2, jnp.sin(x[1])), y))
        return small, large((0, 1.0))

    assert count(function, 14) == 7
    with pytest.raises(ValueError, match="no loop"):
        count(jnp.sin, 1.0)


# ---------------------------------------------------------------------- variants


@pytest.mark.parametrize("name", ["killer", "thermometer", "kropki", "arrow"])
def test_rules_of_variants_are_checked_by_numpy(script, name):
    board, rng = js.Board.classic(), np.random.default_rng(2)
    grids = np.array([1 + rng.permutation(9)[reference.pattern(board) - 1] for _ in range(8)], np.uint8)
    drawn, good = random_clues.DRAW[name](grids, board, random_clues.Seeds(np.arange(8)))
    clues = js.Clues.of_entries(8, board.cells, drawn)
    satisfied = script("variants").satisfied
    assert satisfied(name, clues, grids).all()
    other = grids % 9 + 1  # every house is right, but hardly a sum or an order
    assert not satisfied(name, clues, other)[good].any()


def test_cells_a_knights_move_apart_are_checked_by_numpy(script):
    satisfied = script("variants").satisfied
    grid = reference.pattern(js.Board.classic())
    exchanged = grid.reshape(9, 9)[[1, 0, *range(2, 9)]].reshape(81)
    assert satisfied("anti-knight", None, np.array([grid, exchanged])).tolist() == [True, False]
