"""The command line: what it answers, what it says of bad input, and how it exits."""

import csv
import dataclasses
import errno
import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import command
import jax
import numpy as np
import pytest
from random_networks import random_network

import jaxsudoku
from jaxsudoku import networks, solvers
from jaxsudoku.cli import fields, main, make_parser, solve
from jaxsudoku.cli.history import HistoryWriter
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.parser import Parser
from jaxsudoku.cli.report import QUOTED
from jaxsudoku.core.board import Board
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import UsageError
from jaxsudoku.runtime.terminal.progress import Screen
from jaxsudoku.runtime.terminal.stop import Signals

FOUR = ("--board", "4")
SOLVED = "1234341221434321"
PROPER, NONE, CLASH, SHORT, FOREIGN = (
    "1.34.4122.4.43.1",
    "123...4.........",
    "1.1.............",
    "123",
    "12%4341221434321",
)


@pytest.fixture
def puzzles(tmp_path):
    """Writes lines to a file, and gives its path."""

    def write(*lines, name="puzzles.txt"):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    return write


def run(capsys, *argv):
    """Exit status, standard output and standard error of a command; the summary is left out unless asked for."""
    quiet = () if {"show", "--json", "--loud"} & set(argv) else ("--quiet",)
    try:
        code = main([*(part for part in argv if part != "--loud"), *quiet])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err


def proper(count):
    """Puzzles of one solution each: more or less of it is given."""
    more = np.random.default_rng(3).random((count, 16)) < 0.3
    return ["".join(line) for line in np.where(more, list(SOLVED), list(PROPER))]


def usage_error(capsys, *argv):
    """The message of a command that can't be carried out: one line, naming the program, and nothing done."""
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("jaxsudoku: error: ")
    return err.removeprefix("jaxsudoku: error: ").strip()


def start(*argv, **options):
    """A process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; from jaxsudoku.cli import main; sys.exit(main())", *argv],
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


# ---------------------------------------------------------------------- solve


def test_solutions_go_to_the_standard_output(capsys, puzzles):
    assert run(capsys, "solve", puzzles(PROPER, NONE, SOLVED), *FOUR) == (0, f"{SOLVED}\n-\n{SOLVED}\n", "")


def test_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{PROPER}\n{SHORT}\n".encode())))
    code, out, err = run(capsys, "solve", "-", *FOUR)
    assert (code, out) == (1, f"{SOLVED}\n-\n")
    assert err == "<stdin>:2: 3 cells; a 4x4 board has 16\n"


def test_bad_lines_are_reported_in_their_order_and_answered(capsys, puzzles):
    name = puzzles(PROPER, "# a comment", CLASH, SHORT, FOREIGN, "1235" + "." * 12, NONE, CLASH)
    code, out, err = run(capsys, "solve", name, *FOUR)
    assert (code, out) == (1, f"{SOLVED}\n-\n-\n-\n-\n-\n-\n")
    assert err.splitlines() == [
        f"{name}:3: the givens clash: 1 twice in row 1",
        f"{name}:4: 3 cells; a 4x4 board has 16",
        f"{name}:5: '%' at column 3 is not a cell",
        f"{name}:6: '5', at column 4, is larger than 4, the largest digit of this board",
        f"{name}:8: the givens clash: 1 twice in row 1",
    ]


def test_only_the_first_bad_lines_are_reported_one_by_one(capsys, puzzles):
    name = puzzles(PROPER, *[SHORT, CLASH] * 25)
    code, _, err = run(capsys, "solve", name, *FOUR)
    lines = err.splitlines()
    assert code == 1
    assert [int(line.split(":")[1]) for line in lines[:-1]] == list(range(2, 2 + QUOTED))
    assert lines[-1] == f"... and {50 - QUOTED} more"
    assert f"the first {QUOTED} are reported" in solve.EPILOG


def test_csv_to_csv_carries_the_other_columns(capsys, puzzles, tmp_path):
    out = str(tmp_path / "out.csv")
    name = puzzles("id,puzzle,note", f'7,{PROPER},"a, b"', f"8,{NONE},", f"9,{CLASH},c", "10,,", name="in.csv")
    code, _, err = run(capsys, "solve", name, *FOUR, "--output", out)
    assert code == 1
    assert err.splitlines() == [
        f"{name}:4: the givens clash: 1 twice in row 1",
        f"{name}:5: 0 cells; a 4x4 board has 16",
    ]
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["solved", "unsatisfiable", "invalid", "malformed"]
    assert [row["solution"] for row in rows] == [SOLVED, "-", "-", "-"]
    assert [(row["id"], row["note"]) for row in rows] == [("7", "a, b"), ("8", ""), ("9", "c"), ("10", "")]


def test_a_guided_solver_with_a_network_from_a_file(capsys, puzzles, tmp_path):
    path = networks.save_network(random_network(Board.classic(4)), tmp_path / "net")
    name, out = puzzles("puzzle", PROPER, "." * 16, CLASH, name="in.csv"), str(tmp_path / "out.csv")
    argv = ("solve", name, *FOUR, "--solver", "iterative", "--network", str(path), "--rules", "naked")
    code, summary, _ = run(capsys, *argv, "--runs", "21", "--output", out, "--json")
    assert code == 1  # the givens of one clash
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["solved", "solved", "invalid"]
    assert rows[0]["solution"] == SOLVED
    calls = [int(row["network_calls"]) for row in rows]
    assert calls[0] == calls[2] == 0 and calls[1] >= 1  # the rules solve the first one alone
    told = json.loads(summary)
    assert told["network"] == str(path) and told["network_calls"] == sum(calls)
    path.write_bytes(path.read_bytes()[:-1])
    code, _, err = run(capsys, *argv, "--output", out, "--force")
    assert code == 2 and f"{path}: truncated or altered" in err


def test_gzip_in_and_out(capsys, tmp_path):
    name, out = tmp_path / "in.txt.gz", tmp_path / "out.txt.gz"
    name.write_bytes(gzip.compress(f"{PROPER}\n".encode()))
    assert run(capsys, "solve", str(name), *FOUR, "--output", str(out)) == (0, "", "")
    assert gzip.decompress(out.read_bytes()).decode() == f"{SOLVED}\n"


def test_format_overrides_the_suffix(capsys, puzzles):
    code, out, _ = run(capsys, "solve", puzzles(PROPER), *FOUR, "--format", "csv")
    assert (code, out.splitlines()[0]) == (0, "puzzle,solution,status,iterations")
    assert out.splitlines()[1].startswith(f"{PROPER},{SOLVED},solved,")


def test_parquet(capsys, puzzles, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = str(tmp_path / "out.parquet")
    assert run(capsys, "solve", puzzles(PROPER, NONE), *FOUR, "--output", out) == (0, "", "")
    assert parquet.read_table(out)["solution"].to_pylist() == [SOLVED, "-"]
    assert run(capsys, "solve", out, *FOUR) == (0, f"{SOLVED}\n-\n", "")


@pytest.mark.parametrize(
    "argv",
    [
        *(("solve",), ("count",), ("rate",), ("evaluate",), ("show",), ("explain",), ("hint",), ("build", "--from")),
        *((command, "--workers", "2") for command in ("solve", "count", "rate")),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("lines", [(), ("# nothing", ""), ("puzzle,name",)], ids=["empty", "comments", "header"])
def test_an_input_without_puzzles_is_an_error(capsys, puzzles, tmp_path, argv, lines):
    name, out = puzzles(*lines), tmp_path / "out"
    output = () if argv[0] in ("evaluate", "show", "explain", "hint") else ("--output", str(out))
    assert command.run(capsys, *argv, name, *FOUR, *output) == (
        2,
        "",
        f"jaxsudoku: error: {name}: there are no puzzles in it\n",
    )
    assert not out.exists()


def test_batches_and_cores_do_not_change_answers(capsys, puzzles):
    name = puzzles(*proper(3000))
    flagged = ("solve", name, *FOUR, "--format", "csv")
    whole, small = run(capsys, *flagged), run(capsys, *flagged, "--batch-size", "255")
    assert whole == small
    expected = jaxsudoku.solve(jaxsudoku.read_puzzles(name, Board.classic(4)))
    assert [row.split(",")[1] for row in whole[1].split()[1:]] == ["".join(map(str, grid)) for grid in expected.grids]


# ---------------------------------------------------------------------- the summary


def test_summary_as_json(capsys, puzzles, tmp_path):
    out = str(tmp_path / "out.txt")
    code, printed, err = run(capsys, "solve", puzzles(PROPER, NONE, CLASH, SHORT), *FOUR, "--json", "--output", out)
    summary = json.loads(printed)
    assert code == 1
    assert len(err.splitlines()) == 2, "the bad lines, and no summary"
    assert summary["counts"] == {"solved": 1, "unsatisfiable": 1, "invalid": 1, "unsolved": 0, "malformed": 1}
    assert summary["puzzles"] == sum(summary["counts"].values())
    assert summary["config"] == dataclasses.asdict(solvers.get("exact").config())
    assert summary["puzzles_per_second"] == pytest.approx(4 / summary["seconds"], rel=0.01)
    assert set(summary["versions"]) == {"jaxsudoku", "jax", "python"}
    assert set(summary["device"]) == {"platform", "kind", "count"}
    assert set(summary) == {
        "puzzles",
        "already_answered",
        "counts",
        "startup_seconds",
        "compile_seconds",
        "seconds",
        "puzzles_per_second",
        "error",
        "device",
        "solver",
        "config",
        "board",
        "limit",
        "network",
        "network_calls",
        "errors",
        "several",
        "versions",
    }
    assert summary["network"] is summary["network_calls"] is summary["errors"] is None
    assert (summary["solver"], summary["board"], summary["error"]) == ("exact", "4x4 with 2x2 boxes", None)


def test_summary_leaves_the_standard_output_to_answers(capsys, puzzles):
    code, out, err = run(capsys, "solve", puzzles(PROPER), *FOUR, "--json")
    assert (code, out) == (0, f"{SOLVED}\n")
    assert json.loads(err)["counts"]["solved"] == 1


def test_summary_for_people(capsys, puzzles):
    _, out, err = run(capsys, "solve", puzzles(PROPER, NONE, NONE), *FOUR, "--loud")
    assert out == f"{SOLVED}\n-\n-\n"
    assert re.fullmatch(
        r"3 puzzles in [\d.]+ s \([\d.,]+/s\): 1 solved, 2 without a solution; start [\d.]+ s, compilation [\d.]+ s\n",
        err,
    )


def test_progress_is_for_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    screen = Screen(bar=True)
    screen.show("12 puzzles", now=True)
    screen.show("too soon")
    screen.show("13", now=True)
    screen.say("a message")
    assert terminal.getvalue() == "\r12 puzzles\r13        \r  \ra message\n"
    monkeypatch.setattr(sys, "stderr", pipe := io.StringIO())
    Screen(bar=True).show("12 puzzles", now=True)
    assert pipe.getvalue() == ""


# ---------------------------------------------------------------------- count


def test_count(capsys, puzzles):
    name = puzzles(PROPER, "." * 16, NONE, SHORT, CLASH)
    assert make_parser().parse_args(["count", name]).limit == 2
    code, out, err = run(capsys, "count", name, *FOUR, "--limit", "300")
    assert (code, out) == (1, "1\n288\n0\n-\n0\n")
    assert err.splitlines() == [
        f"{name}:4: 3 cells; a 4x4 board has 16",
        f"{name}:5: the givens clash: 1 twice in row 1",
    ]


def test_count_to_a_file(capsys, puzzles, tmp_path):
    name, out = puzzles("." * 16, SOLVED, NONE), tmp_path / "counts.txt"
    argv = ("count", name, *FOUR, "--limit", "300", "--output", str(out))
    code, printed, err = run(capsys, *argv, "--json")
    assert (code, err) == (0, "")
    summary = json.loads(printed)
    assert summary["counts"] == {"invalid": 0, "malformed": 0, "0": 1, "1": 1, "288": 1}
    assert summary["limit"] == 300
    assert out.read_text() == "288\n1\n0\n"
    assert "--force" in usage_error(capsys, *argv)
    assert "the output is the input" in usage_error(capsys, "count", name, "--output", name, "--force")
    assert run(capsys, *argv, "--force") == (0, "", "")


# ---------------------------------------------------------------------- show

DRAWN = """\
┌─────┬─────┐
│ 1 . │ 3 4 │
│ . 4 │ 1 2 │
├─────┼─────┤
│ 2 . │ 4 . │
│ 4 3 │ . 1 │
└─────┴─────┘
"""


def test_show(capsys, puzzles):
    name = puzzles("# first", "", SOLVED, PROPER)
    assert run(capsys, "show", name, *FOUR, "--index", "2") == (0, DRAWN, "")


def test_show_a_solution(capsys, puzzles):
    code, out, err = run(capsys, "show", puzzles(PROPER, NONE, CLASH), *FOUR, "--solve")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "│[1] 2 │[3][4]│"


def test_show_as_a_picture(capsys, puzzles):
    name = puzzles(PROPER)
    board = Board.classic(4)
    title = f"Puzzle 1 of {name}"
    wanted = board.picture(jaxsudoku.parse(PROPER), jaxsudoku.parse(PROPER), title=title)
    assert run(capsys, "show", name, *FOUR, "--svg") == (0, f"{wanted}\n", "")
    solved = board.picture(jaxsudoku.solve(PROPER).grids, jaxsudoku.parse(PROPER), title=title)
    assert solved != wanted
    assert run(capsys, "show", name, *FOUR, "--solve", "--svg") == (0, f"{solved}\n", "")


def test_show_without_a_solution(capsys, puzzles):
    name = puzzles(PROPER, NONE, CLASH, SHORT)
    code, out, err = run(capsys, "show", name, *FOUR, "--solve", "--index", "2")
    assert (code, err) == (1, f"{name}:2: no solution\n")
    assert "1 2 │ 3 ." in out
    code, _, err = run(capsys, "show", name, *FOUR, "--solve", "--index", "3")
    assert (code, err) == (1, f"{name}:3: the givens clash: 1 twice in row 1\n")
    assert run(capsys, "show", name, *FOUR, "--index", "4") == (1, "", f"{name}:4: 3 cells; a 4x4 board has 16\n")


def test_show_past_the_end(capsys, puzzles):
    name = puzzles(PROPER, SOLVED)
    assert usage_error(capsys, "show", name, *FOUR, "--index", "3") == f"{name}: there is no puzzle 3: it holds 2"
    assert "--index: must be at least 1, not 0" in usage_error(capsys, "show", name, "--index", "0")


@pytest.mark.parametrize("no_color", ["", "1"])
def test_show_in_colour_on_a_terminal(capsys, puzzles, monkeypatch, no_color):
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    monkeypatch.setenv("NO_COLOR", no_color)
    _, out, _ = run(capsys, "show", puzzles(PROPER), *FOUR)
    assert ("\x1b[1m" in out) == (not no_color)


# ---------------------------------------------------------------------- flags


@pytest.mark.parametrize("name", solvers.SOLVERS)
def test_every_field_of_a_config_is_a_flag(capsys, name):
    config = solvers.SOLVERS[name].config
    args = make_parser().parse_args(["solve", "-", "--solver", name])
    for field in dataclasses.fields(config):
        assert getattr(args, field.name) == getattr(config(), field.name)
    code, out, _ = run(capsys, "solve", "--solver", name, "--help")
    assert code == 0
    described = re.findall(r"^  --(?:\[no-\])?([\w-]+).*?\(default: .*?\)", out.replace("\n      ", " "), re.MULTILINE)
    assert {field.name.replace("_", "-") for field in dataclasses.fields(config)} <= set(described)
    texts = fields.attribute_texts(config)
    assert {field.name for field in dataclasses.fields(config)} <= set(texts)
    assert all(len(text) > 10 for text in texts.values())


def test_flags_of_every_type():
    @dataclasses.dataclass(frozen=True)
    class Config:
        """Settings.

        Attributes:
          some_rate: a rate, told
            at length, 5% say.
          on: whether.
          most: an upper limit.
          way: how.

        More text: none of a field.
        """

        some_rate: float = 0.5
        on: bool = True
        most: int | None = None
        way: str = "up"

    parser = Parser()
    fields.add_config(parser, Config, "flags", without=("way",))
    args = parser.parse_args(["--some-rate", "0.25", "--no-on", "--most", "7"])
    assert vars(args) == {"some_rate": 0.25, "on": False, "most": 7}
    assert vars(parser.parse_args([])) == {"some_rate": 0.5, "on": True, "most": None}
    assert "a rate, told at length, 5% say (default: 0.5)" in " ".join(parser.format_help().split())


def test_a_field_without_a_flag_is_an_error():
    config = dataclasses.make_dataclass("Config", [("table", dict, dataclasses.field(default_factory=dict))])
    with pytest.raises(TypeError, match=r"Config\.table: flags do not support"):
        fields.add_config(Parser(), config, "flags")


def test_a_solver_takes_its_flags(capsys, puzzles):
    argv = ("solve", puzzles("." * 16), *FOUR, "--budget", "1", "--rules", "naked", "--json")
    code, out, err = run(capsys, *argv)
    assert (code, out) == (0, "-\n")
    summary = json.loads(err)
    assert (summary["config"]["rules"], summary["config"]["budget"]) == ("naked", 1)
    assert summary["counts"]["unsolved"] == 1


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"jaxsudoku {jaxsudoku.__version__}\n", "")


@pytest.mark.parametrize("command", [(), ("solve",), ("count",), ("show",)])
def test_help(capsys, command):
    code, out, err = run(capsys, *command, "--help")
    assert (code, err) == (0, "")
    assert "usage: jaxsudoku" in out
    assert max(map(len, out.splitlines())) <= 120


# ---------------------------------------------------------------------- what can't be carried out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "COMMAND"),
        (("sovle", "x"), "invalid choice: 'sovle'"),
        (("solve",), "INPUT"),
        (("solve", "-", "--bogus"), "unrecognized arguments: --bogus"),
        (("solve", "-", "--rule", "naked"), "unrecognized arguments: --rule naked"),
        (("show", "-", "--bogus"), "unrecognized arguments: --bogus"),
        (("solve", "-", "--solver", "oracle"), "unknown solver 'oracle': choose one of exact"),
        (
            ("solve", "-", "--network", "cube"),
            "the solver exact takes no network; those that do are guided-exact, iterative,",
        ),
        (
            ("solve", "1" + "." * 15, "--board", "4+anti-knight", "--solver", "annealing"),
            "the solver annealing supports no boards with constraints; those that do are exact,",
        ),
        (("solve", "-", "--solver", "iterative", "--sure", "0.4"), "sure must be above 0.5 and at most 1, not 0.4"),
        (("count", "-", "--network", "cube"), "unrecognized arguments: --network cube"),
        (("solve", "-", "--board", "7"), "--board: a side of 7 can't be cut into boxes"),
        (("solve", "-", "--board", "round"), "--board: unknown board 'round'"),
        (("solve", "-", "--rules", "magic"), "argument --rules: invalid choice: 'magic'"),
        (("solve", "-", "--rounds", "many"), "--rounds: invalid int value: 'many'"),
        (("solve", "-", "--rounds", "0"), "rounds must be at least 1, not 0"),
        (("solve", "-", "--batch-size", "0"), "--batch-size: must be at least 1, not 0"),
        (("solve", "-", "--batch-size", "x"), "--batch-size: 'x' is not a whole number"),
        (("solve", "-", "--seed", "-1"), "--seed: must be between 0 and 4294967295, not -1"),
        (("solve", "-", "--format", "xml"), "invalid choice: 'xml'"),
        (("solve", "-", "--format", "parquet"), "Parquet needs an output file"),
        (("solve", "-", "--resume"), "resuming needs an output file"),
        (("solve", "-", "--resume", "--force"), "not allowed with argument"),
        (("count", "-", "--limit", "0"), "--limit: must be at least 1, not 0"),
        (("count", "-", "--budget", "5"), "unrecognized arguments: --budget 5"),
        (("solve", "missing.txt"), "missing.txt: No such file or directory"),
        (("count", "missing.txt"), "missing.txt: No such file or directory"),
        (("show", "missing.txt"), "missing.txt: No such file or directory"),
        (("solve", "-", "--output", "no/such/folder.txt"), "no/such/folder.txt: there is no such directory"),
        (("count", "-", "--output", "no/such/folder.txt"), "no/such/folder.txt: there is no such directory"),
    ],
)
def test_usage_errors(capsys, monkeypatch, argv, message):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert message in usage_error(capsys, *argv)


def test_the_input_is_a_directory(capsys, tmp_path):
    assert "Is a directory" in usage_error(capsys, "solve", str(tmp_path))


def test_an_unreadable_input(capsys, puzzles):
    name = puzzles(PROPER)
    os.chmod(name, 0)
    if os.access(name, os.R_OK):
        pytest.skip("this user may read everything")
    assert usage_error(capsys, "solve", name) == f"{name}: Permission denied"


def test_an_existing_output(capsys, puzzles, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("mine\n")
    argv = ("solve", puzzles(PROPER), *FOUR, "--output", str(out))
    assert "the output exists: continue it with --resume or replace it with --force" in usage_error(capsys, *argv)
    assert "answer 1 is not to the puzzle" in usage_error(capsys, *argv, "--resume")
    assert out.read_text() == "mine\n"
    assert run(capsys, *argv, "--force") == (0, "", "")
    assert out.read_text() == f"{SOLVED}\n"


def test_the_output_is_the_input(capsys, puzzles):
    name = puzzles(PROPER)
    assert "the output is the input" in usage_error(capsys, "solve", name, *FOUR, "--output", name, "--force")


@pytest.mark.parametrize("argv", [("solve",), ("count",), ("rate",), ("evaluate",), ("show",)], ids=" ".join)
def test_the_standard_output_is_the_input(capsys, puzzles, monkeypatch, argv):
    name = puzzles(PROPER)
    with open(name, "a") as file:
        monkeypatch.setattr(sys, "stdout", file)
        assert usage_error(capsys, *argv, name, *FOUR) == "<stdout>: the output is the input"
    assert Path(name).read_text() == f"{PROPER}\n"


@pytest.mark.parametrize("command", ["solve", "count", "rate"])
def test_the_output_is_the_standard_input(capsys, puzzles, monkeypatch, command):
    name = puzzles(PROPER)
    with open(name) as file:
        monkeypatch.setattr(sys, "stdin", file)
        message = usage_error(capsys, command, "-", *FOUR, "--output", name, "--force")
    assert message == f"{name}: the output is the input"
    assert Path(name).read_text() == f"{PROPER}\n"


def test_reports_are_not_written_over_each_other(capsys, puzzles, monkeypatch, tmp_path):
    name, out = puzzles(PROPER), str(tmp_path / "report.png")
    message = usage_error(capsys, "evaluate", name, *FOUR, "--json", out, "--plot", out)
    assert message == f"{out}: the output would be written over {out}"
    with open(out, "w") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        message = usage_error(capsys, "mastermind", "evaluate", "--plot", out, "--force")
        assert message == f"{out}: the output would be written over <stdout>"
    with open(name) as file:
        monkeypatch.setattr(sys, "stdin", file)
        message = usage_error(capsys, "evaluate", "-", *FOUR, "--json", name, "--force")
        assert message == f"{name}: the output is the input"


@pytest.mark.parametrize("argv", [("solve",), ("count",), ("rate",), ("generate",), ("build",)], ids=" ".join)
def test_an_output_that_is_being_written_is_refused(capsys, puzzles, tmp_path, argv):
    out = tmp_path / "out.csv"
    argv = (*argv, "5" if argv[0] in ("generate", "build") else puzzles(PROPER), *FOUR, "--output", str(out))
    if argv[0] == "build":
        out.mkdir()
    with OutputLock(out):
        for option in ((), ("--force",)) if argv[0] != "build" else ((), ("--resume",)):
            message = usage_error(capsys, *argv, *option)
            assert message.startswith(f"{out}: process {os.getpid()} on ")
            assert message.endswith(", is writing this output")


# ---------------------------------------------------------------------- closed streams


def closed(*argv, streams):
    """Exit status, standard output and standard error of a process that has these streams closed from the start."""
    program = ("-c", "import sys; from jaxsudoku.cli import main; sys.exit(main())")
    words = shlex.join([sys.executable, *program, *argv])
    result = subprocess.run(["sh", "-c", f"exec {words} {streams}"], capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout, result.stderr


@pytest.mark.skipif(os.name != "posix", reason="streams are closed by a shell")
@pytest.mark.parametrize(
    ("argv", "streams", "code", "cause"),
    [
        (("solve", "-", *FOUR), "<&-", 2, "<stdin>: the standard input is closed"),
        (("count", "PUZZLES", *FOUR, "--output", "OUT", "--json"), ">&-", 2, "<stdout>: the standard output is closed"),
        (("--help",), ">&-", 1, "<stdout>: the standard output is closed"),
        (("solve",), "<&- >&- 2>&-", 2, None),
    ],
)
def test_closed_streams(puzzles, tmp_path, argv, streams, code, cause):
    names = {"PUZZLES": puzzles(PROPER), "OUT": str(tmp_path / "out.txt")}
    argv = [names.get(word, word) for word in argv]
    assert closed(*argv, streams=streams) == (code, "", f"jaxsudoku: error: {cause}\n" if cause else "")
    assert os.listdir(tmp_path) == ["puzzles.txt"]


@pytest.mark.skipif(os.name != "posix", reason="streams are closed by a shell")
def test_what_needs_no_closed_stream_goes_on(puzzles):
    assert closed("show", puzzles(PROPER), *FOUR, streams="<&- 2>&-") == (0, DRAWN, "")


@pytest.mark.skipif(os.name != "posix", reason="streams are closed by a shell")
def test_no_file_takes_the_place_of_a_closed_stream():
    program = (
        "import os; from jaxsudoku.runtime.terminal import streams; streams.reopen(); print(os.open(os.devnull, 0))"
    )
    words = shlex.join([sys.executable, "-c", program])
    result = subprocess.run(["sh", "-c", f"{words} <&- 2>&-"], capture_output=True, text=True, timeout=60, check=True)
    assert int(result.stdout) > 2


def test_a_board_that_does_not_fit(capsys, puzzles):
    name = puzzles("." * 36)
    code, out, err = run(capsys, "solve", name, *FOUR)
    assert (code, out) == (1, "-\n")
    assert err == f"{name}:1: 36 cells; a 4x4 board has 16 (36 make a 6x6 board: --board 6)\n"


# ---------------------------------------------------------------------- failures on the way


def test_truncated_gzip(capsys, tmp_path):
    name, out = tmp_path / "in.txt.gz", tmp_path / "out.txt"
    data = gzip.compress("".join(f"{line}\n" for line in proper(3000)).encode())
    name.write_bytes(data[: len(data) // 2])
    argv = ("solve", str(name), *FOUR, "--output", str(out))
    code, printed, err = run(capsys, *argv, "--json")
    cause = f"{name}: truncated gzip data: the file ends before its compressed stream does"
    assert (code, err) == (1, f"jaxsudoku: error: {cause}\n")
    answered = len(out.read_text().splitlines())
    assert 0 < answered < 3000
    assert (json.loads(printed)["error"], json.loads(printed)["puzzles"]) == (cause, answered)
    # the same damage met when resuming is no reason to doubt the output
    name.write_bytes(data[: len(data) // 3])
    assert run(capsys, *argv, "--resume")[::2] == (1, f"jaxsudoku: error: {cause}\n")
    name.write_bytes(data)
    assert run(capsys, *argv, "--resume") == (0, "", "")
    assert run(capsys, "solve", str(name), *FOUR)[1] == out.read_text()


def test_a_table_without_puzzles(capsys, puzzles):
    code, out, err = run(capsys, "solve", puzzles("id,grid", "1,2", name="in.csv"), *FOUR)
    assert (code, out) == (1, "")
    assert "no column named 'puzzle'" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("command", [("solve",), ("count", "--limit", "300")])
def test_a_full_disk(capsys, puzzles, command):
    code, _, err = run(capsys, *command, puzzles(PROPER), *FOUR, "--output", "/dev/full")
    assert code == 1
    assert err.startswith(f"jaxsudoku: error: /dev/full: {os.strerror(errno.ENOSPC)}")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_behind_the_standard_output(capsys, puzzles, monkeypatch):
    with open("/dev/full", "wb") as full:
        process = start("show", puzzles(PROPER), *FOUR, stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err == f"jaxsudoku: error: <stdout>: {os.strerror(errno.ENOSPC)}\n"
    with io.TextIOWrapper(io.FileIO("/dev/full", "w")) as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        code = main(["solve", puzzles(PROPER), *FOUR, "--quiet"])
    assert (code, capsys.readouterr().err) == (1, err)


def test_a_closed_pipe_ends_quietly(puzzles):
    name = puzzles(*[PROPER] * 30000)
    process = start("solve", name, *FOUR, stdout=subprocess.PIPE)
    assert process.stdout.readline() == f"{SOLVED}\n"
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (141, "")
    process.stderr.close()


# ---------------------------------------------------------------------- starting


#: Commands that compute nothing.
WITHOUT_JAX = [
    ["--help"],
    ["--version"],
    ["show", "PUZZLES"],
    ["solve", "missing.txt"],
    ["solve"],
    ["solve", "--help"],
    ["solve", "--solver", "gumbel", "--help"],
    ["solve", "PUZZLES", "--solver", "oracle"],
    ["solve", "PUZZLES", "--bogus"],
    ["solve", "PUZZLES", "--network", "cube"],
    ["solve", "PUZZLES", "--rounds", "0"],
    ["count", "--help"],
    ["count", "PUZZLES", "--budget", "5"],
    ["generate", "--help"],
    ["evaluate", "--help"],
    # what can't be written is found out before any work
    ["solve", "PUZZLES", "--output", "FOLDER.parquet"],
    ["generate", "5", "--output", "FOLDER.parquet"],
    ["build", "5", "--output", "PUZZLES"],
]


def test_what_computes_nothing_starts_without_jax(puzzles, tmp_path):
    (tmp_path / "set.parquet").mkdir()
    names = {"PUZZLES": puzzles(PROPER), "FOLDER.parquet": str(tmp_path / "set.parquet")}
    lines = [[names.get(part, part) for part in argv] + ["--board", "4"] * (argv[0] == "show") for argv in WITHOUT_JAX]
    program = f"""
import sys
from jaxsudoku.cli import main
for line in {lines}:
    try:
        main(line)
    except SystemExit:
        pass
    if "jax" in sys.modules:
        sys.exit(f"{{line}} loads jax")
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr


def test_a_cache_that_can_not_be_made_is_said(capsys, puzzles, tmp_path, monkeypatch):
    monkeypatch.delenv("JAXSUDOKU_CACHE")
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file" / "cache")
    before = jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", folder)
        code, out, err = run(capsys, "solve", puzzles(PROPER), *FOUR)
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
        jax.config.update("jax_enable_compilation_cache", True)
    assert (code, out) == (0, f"{SOLVED}\n")
    assert err.startswith(f"jaxsudoku: warning: {folder}: Not a directory: compiled kernels can't be cached")
    assert err.count("\n") == 1


def test_a_history_is_never_written_over_the_input_or_the_output(tmp_path):
    puzzles = tmp_path / "puzzles.txt"
    puzzles.write_text("4...")
    with pytest.raises(UsageError, match="the history is the input"):
        HistoryWriter([str(tmp_path / "." / "puzzles.txt")], True, str(puzzles), ("-",))
    assert puzzles.read_text() == "4..."
    targets = [str(tmp_path / name) for name in ("errors.csv", "errors.png")]
    with pytest.raises(UsageError, match="would be written over"):
        HistoryWriter([*targets, targets[0]], False)
    history = HistoryWriter(targets, False, str(puzzles), ("-",))
    assert [path.name for path in tmp_path.iterdir()] == ["puzzles.txt"], "nothing is made before it is entered"
    with history:
        history.write(7, np.array([[3, 2, -1], [1, -1, -1]]))
    assert (tmp_path / "errors.csv").read_text() == "puzzle,step,error\n7,1,3\n7,2,2\n8,1,1\n"
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="the history exists"):
        HistoryWriter(targets, False)


def test_a_history_is_a_table_or_a_picture(tmp_path):
    with pytest.raises(UsageError, match=r"errors.txt: the suffix of a history must be .csv, or .* .png"):
        HistoryWriter([str(tmp_path / "errors.csv"), str(tmp_path / "errors.txt")], False)
    with pytest.raises(UsageError, match=r"none/errors.csv: there is no such directory"):
        HistoryWriter([str(tmp_path / "none" / "errors.csv")], False)
    assert not list(tmp_path.iterdir())


def test_what_is_said_of_resuming_leaves_out_what_does_not_go_with_it():
    argv = ["solve", "in.txt", "--history", "h.csv", "--force", "--history=h.png", "--output", "out.csv"]
    assert Invocation(argv, Signals(), 0.0).resume_command() == "jaxsudoku solve in.txt --output out.csv --resume"
    argv = ["solve", "--output", "out.csv", "--force", "--", "--history"]
    assert Invocation(argv, Signals(), 0.0).resume_command() == "jaxsudoku solve --output out.csv --resume -- --history"


def test_histories_of_a_run(capsys, tmp_path):
    name = tmp_path / "puzzles.txt"
    name.write_text(f"{'.' * 16}\n{SOLVED}\n{CLASH}\n")
    targets = [tmp_path / "errors.csv", tmp_path / "errors.png"]
    asked = [part for target in targets for part in ("--history", str(target))]
    argv = ("solve", str(name), *FOUR, "--solver", "annealing", "--rules", "none", "--lanes", "2", *asked)
    code, out, _ = run(capsys, *argv, "--output", str(tmp_path / "none" / "out.csv"))
    assert code == 2 and not any(target.exists() for target in targets), "no output, no history"
    code, out, _ = run(capsys, *argv, "--format", "csv")
    assert code == 1  # the givens of the last one clash
    answers = list(csv.DictReader(io.StringIO(out)))
    assert [row["errors"] for row in answers] == ["0", "0", "-1"]
    rows = list(csv.DictReader(io.StringIO(targets[0].read_text())))
    assert {row["puzzle"] for row in rows} == {"1"} and rows[-1]["error"] == "0"
    assert [int(row["step"]) for row in rows] == list(range(1, len(rows) + 1))
    assert targets[1].read_bytes().startswith(b"\x89PNG")
