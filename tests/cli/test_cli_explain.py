"""The commands that explain a puzzle: ``explain`` and ``hint``."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import reference
from command import run

import jaxsudoku as js

FOUR = ("--board", "4")
PROPER, NONE, SEVERAL, CLASH = "1.34.4122.4.43.1", "123...4.........", "." * 16, "11.............."
COMPLETE = "1234341221434321"


@pytest.fixture
def puzzles(tmp_path):
    """A file with puzzles of every kind; the third is malformed."""
    path = tmp_path / "in.txt"
    path.write_text("\n".join([PROPER, NONE, "123", SEVERAL, CLASH, COMPLETE]) + "\n")
    return str(path)


def test_explain_prints_a_line_a_step(capsys, puzzles):
    code, out, err = run(capsys, "explain", puzzles, *FOUR)
    assert (code, err) == (0, "")
    assert out == f"{js.explain(PROPER)}\n"
    assert out.splitlines()[0] == "1. 1.0  r1c2 is the last open cell of row 1, so it is 2: full house."


def test_explain_as_json_is_a_list_of_steps(capsys, puzzles):
    code, out, _ = run(capsys, "explain", puzzles, *FOUR, "--json")
    steps = json.loads(out)
    assert code == 0
    assert [set(step) for step in steps] == [{"technique", "score", "place", "eliminate", "text"}] * len(steps)
    grid = js.parse(PROPER)
    for step in steps:
        for row, column, digit in step["place"]:
            grid[4 * row + column - 5] = digit
    assert reference.is_solution(reference.SMALL["4x4"], grid, js.parse(PROPER))


def test_explain_as_a_page_has_a_picture_a_step(capsys, puzzles):
    code, out, _ = run(capsys, "explain", puzzles, *FOUR, "--html")
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert out.count("<svg") == len(js.explain(PROPER).steps)
    assert f"<h1>Puzzle 1 of {puzzles}</h1>" in out
    assert run(capsys, "explain", puzzles, *FOUR, "--html", "--json")[0] == 2


def test_explain_writes_a_picture_a_step(capsys, puzzles, tmp_path):
    folder = tmp_path / "steps"
    code, out, err = run(capsys, "explain", puzzles, *FOUR, "--svg", str(folder))
    assert (code, out, err) == (0, f"{js.explain(PROPER)}\n", "")
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"step-{n:02}.svg" for n in range(1, len(js.explain(PROPER).steps) + 1)]
    assert [file.read_text() for file in files] == [f"{step.picture()}\n" for step in js.explain(PROPER)]
    code, _, err = run(capsys, "explain", puzzles, *FOUR, "--svg", str(folder))
    assert code == 2
    assert f"error: --svg: {folder} exists" in err
    missing = tmp_path / "missing" / "steps"
    code, _, err = run(capsys, "explain", puzzles, *FOUR, "--svg", str(missing))
    assert code == 1
    assert str(missing) in err


def test_a_hint_is_the_reason_of_the_first_step(capsys, puzzles):
    assert run(capsys, "hint", puzzles, *FOUR)[1] == "r1c2 is the last open cell of row 1, so it is 2: full house.\n"
    code, out, _ = run(capsys, "hint", puzzles, *FOUR, "--json")
    assert (code, json.loads(out)) == (0, js.hint(PROPER).as_dict() | {"place": [[1, 2, 2]], "eliminate": []})


def test_no_jax_is_loaded():
    puzzle = "".join(map(str, js.load("9x9-hard")[3]))
    program = "import sys\nfrom jaxsudoku.cli import main\n"
    for command in ("explain", "hint"):
        program += f"assert main({[command, puzzle]}) == 0\nassert 'jax' not in sys.modules, '{command}'\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, *others, last = done.stdout.splitlines()
    assert last == js.hint(puzzle).text and first.endswith(f"  {last}") and "hidden single." in last
    assert others


def test_nothing_is_left_to_hint_at(capsys, puzzles):
    assert run(capsys, "hint", puzzles, *FOUR, "--index", "6") == (0, "No cell is open.\n", "")
    assert run(capsys, "hint", puzzles, *FOUR, "--index", "6", "--json") == (0, "null\n", "")
    hard = js.load("9x9-hard")[0]
    line = "".join(map(str, hard))
    assert run(capsys, "hint", line, "--up-to", "full-house") == (0, "No technique helps.\n", "")
    assert run(capsys, "explain", line, "--up-to", "full-house")[1] == "The techniques go no further.\n"


@pytest.mark.parametrize("command", ["explain", "hint"])
@pytest.mark.parametrize(
    ("index", "cause"),
    [
        (2, "no solution"),
        (3, "3 cells; a 4x4 board has 16"),
        (4, "several solutions"),
        (5, "1 twice in row 1"),
    ],
)
def test_only_puzzles_with_one_solution_are_explained(capsys, puzzles, command, index, cause):
    code, out, err = run(capsys, command, puzzles, *FOUR, "--index", str(index))
    assert (code, out) == (1, "")
    assert err.startswith(f"{puzzles}:{index}: ")
    assert cause in err


def test_what_is_asked_for_must_exist(capsys, puzzles):
    code, _, err = run(capsys, "explain", puzzles, *FOUR, "--index", "7")
    assert (code, err) == (2, f"jaxsudoku: error: {puzzles}: there is no puzzle 7: it holds 6\n")
    code, _, err = run(capsys, "explain", puzzles, *FOUR, "--up-to", "x-win")
    assert code == 2
    assert "unknown technique 'x-win': choose one of full-house" in err
