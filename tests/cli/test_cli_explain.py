"""The commands that explain a puzzle: ``explain`` and ``hint``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_explain_as_a_page(capsys, puzzles):
    code, out, _ = run(capsys, "explain", puzzles, *FOUR, "--html")
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert out == js.explain(PROPER).page(f"Puzzle 1 of {puzzles}")
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


@pytest.mark.parametrize("command", ["show", "explain", "hint"])
def test_what_is_shown_is_written_in_the_form_of_the_suffix(capsys, puzzles, tmp_path, command):
    """As the objects of Python save themselves."""
    from_python = {
        "show": js.picture(PROPER, givens=PROPER, title=f"Puzzle 1 of {puzzles}"),
        "explain": js.explain(PROPER),
        "hint": js.hint(PROPER),
    }[command]
    titled = {"title": f"Puzzle 1 of {puzzles}"} if command == "explain" else {}
    for suffix in ("svg", "html", "png"):
        path, wanted = tmp_path / f"out.{suffix}", tmp_path / f"wanted.{suffix}"
        assert run(capsys, command, puzzles, *FOUR, "--output", str(path)) == (0, "", "")
        from_python.save(wanted, **titled)
        assert path.read_bytes() == wanted.read_bytes()
    path = tmp_path / "out.txt"
    assert run(capsys, command, puzzles, *FOUR, "--output", str(path)) == (0, "", "")
    assert path.read_text() == run(capsys, command, puzzles, *FOUR)[1]
    code, _, err = run(capsys, command, puzzles, *FOUR, "--output", str(path))
    assert (code, "out.txt: the output exists" in err) == (2, True)
    path.write_text("")
    assert run(capsys, command, puzzles, *FOUR, "--output", str(path), "--force") == (0, "", "") and path.read_text()


@pytest.mark.parametrize("command", ["show", "explain", "hint"])
def test_outputs_that_are_not_written(capsys, puzzles, tmp_path, command):
    path = str(tmp_path / "x.jpg")
    code, _, err = run(capsys, command, puzzles, *FOUR, "--output", path)
    assert (code, err) == (
        2,
        f"jaxsudoku: error: {path}: the suffix must be one of .svg, .png, .pdf, .html, .txt, not '.jpg'\n",
    )
    form = "--svg" if command == "show" else "--json"
    assert run(capsys, command, puzzles, *FOUR, "--output", "x.svg", form)[0] == 2
    missing = str(tmp_path / "missing" / "x.svg")
    assert run(capsys, command, puzzles, *FOUR, "--output", missing)[0] == 2
    code, _, err = run(capsys, command, puzzles, *FOUR, "--output", puzzles, "--force")
    assert (code, "in.txt" in err) == (2, True) and Path(puzzles).read_text().count("\n") == 6


def test_a_missing_extra_is_named_before_the_work(capsys, puzzles, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = run(capsys, "explain", puzzles, *FOUR, "--output", str(tmp_path / "x.png"))
    assert (code, err) == (2, "jaxsudoku: error: plots need matplotlib: pip install 'jaxsudoku[plot]'\n")


def test_a_hint_that_is_none_is_not_written(capsys, puzzles, tmp_path):
    path = tmp_path / "hint.svg"
    code, out, err = run(capsys, "hint", puzzles, *FOUR, "--index", "6", "--output", str(path))
    assert (code, out, err) == (1, "", f"No cell is open. {path} is not written.\n") and not path.exists()


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
