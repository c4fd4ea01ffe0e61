"""Positions with candidates on the command line: solved, counted, drawn, explained, and never left out silently."""

from __future__ import annotations

import io
import types

import numpy as np
import pytest
from command import run

import jaxsudoku as js
from jaxsudoku.cli.bad_lines import BadLines
from jaxsudoku.cli.solve import Outside
from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import allowed_candidates
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.io import parse_position, read_chunks

FOUR = ("--board", "4")

#: Positions with two solutions, with one that the filled cells do not determine, with none, as the candidates leave out
#: the only solution of the filled cells, a puzzle without candidates, and one with one solution.
MARKS = """\
| 1 2 | 3 4 |
| 3 4 | 12 12 |
| 2 1 | 4 3 |
| 4 3 | 12 12 |

+-------+-------+
| 12 12 | 13 34 |
| 23 34 | 1 12  |
| 12 1  | 34 34 |
| 34 34 | 12 1  |
+-------+-------+

| 1 2 | 3 4 |
| 34 34 | 12 12 |
| 2 1 | 4 3 |
| 34 34 | 13 13 |

1.34
.412
2.4.
43.1

| 1 3 | 2 4 |
| 24 34 | 1 3 |
| 3 1 | 4 2 |
| 24 24 | 3 1 |
"""


@pytest.fixture
def marks(tmp_path):
    path = tmp_path / "marks.txt"
    path.write_text(MARKS)
    return str(path)


def solutions(text, board):
    """All solutions of the positions of a text by trying all grids of a board of 4x4."""
    grids = [list(map(int, line)) for line in _ALL]
    (chunk,) = read_chunks(io.BytesIO(text.encode()), board)
    return [
        [grid for grid in grids if all(candidates[digit - 1, cell] for cell, digit in enumerate(grid))]
        for candidates in chunk.candidates_of(range(len(chunk)))
    ]


def _grids():
    """All solved grids of 4x4."""
    board = Board.classic(4)
    found = []

    def fill(grid, cell):
        if cell == 16:
            found.append("".join(map(str, grid)))
            return
        for digit in range(1, 5):
            if all(grid[other] != digit for house in board.houses if cell in house for other in house):
                fill([*grid[:cell], digit, *grid[cell + 1 :]], cell + 1)

    fill([0] * 16, 0)
    return found


_ALL = _grids()


@pytest.mark.slow
def test_solutions_keep_to_the_candidates(capsys, marks):
    expected = solutions(MARKS, Board.classic(4))
    assert list(map(len, expected)) == [2, 1, 0, 1, 1]
    for size in ("64", "1"):  # all in a batch; a batch each, and the fourth lists no candidates
        code, out, err = run(capsys, "solve", marks, *FOUR, "--batch-size", size)
        assert code == 0
        assert "candidates" not in err
        for line, found in zip(out.splitlines(), expected, strict=True):
            assert (list(map(int, line)) in found) if found else line == "-"
    code, out, err = run(capsys, "count", marks, *FOUR)
    assert (code, out.split()) == (0, [str(len(found)) for found in expected])
    assert "candidates" not in err


def test_solutions_of_other_solvers_outside_the_candidates_count_as_unsolved():
    board = Board.classic(4)
    (chunk,) = read_chunks(io.BytesIO(MARKS.encode()), board)
    filled = np.array([list(map(int, _ALL[0]))] * 5, np.uint8)
    status = np.full(5, Status.SOLVED, np.int8)
    status[3] = Status.UNSOLVED
    outside = Outside()
    found = outside(chunk, Solution(filled, status, np.zeros(5, np.int32), {}))
    allowed = np.take_along_axis(chunk.candidates_of(range(5)), filled[:, None].astype(int) - 1, axis=1).all(
        axis=(1, 2)
    )
    assert not allowed.all()
    np.testing.assert_array_equal(found.status == Status.SOLVED, allowed & (status == Status.SOLVED))
    assert not found.grids[~allowed].any()
    assert outside.count == (~allowed).sum() > 0
    assert outside.note.startswith(f"; {outside.count} solution")
    assert "not within the candidates of the input, which --solver exact searches" in outside.note


def test_candidates_that_a_command_leaves_out_are_reported():
    (chunk,) = read_chunks(io.BytesIO(MARKS.encode()), Board.classic(4))
    for within, told in ((False, ["in.txt: 4 puzzles list candidates, which this command leaves out"]), (True, [])):
        said = []
        bad = BadLines(types.SimpleNamespace(say=said.append), "in.txt", Board.classic(4))
        bad.within = within
        bad.add(chunk[:2], np.zeros(0, int))
        bad.add(chunk[2:], np.zeros(0, int))
        bad.finish()
        assert said == told


def test_show_candidates(capsys, tmp_path, marks):
    line = "1.34.4122.4.43.1"
    grid, board = js.parse(line), Board.classic(4)
    code, out, err = run(capsys, "show", line, "--candidates")
    assert (code, out, err) == (0, f"{js.draw(grid, candidates=allowed_candidates(grid, board))}\n", "")
    drawn = tmp_path / "drawn.txt"
    drawn.write_text(out)
    assert run(capsys, "show", str(drawn), *FOUR, "--candidates")[1] == out
    _, out, _ = run(capsys, "show", line, "--candidates", "--rules", "naked")
    assert parse_position(out)[0].tolist() == [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]
    code, out, err = run(capsys, "show", marks, *FOUR, "--index", "2", "--candidates")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "│ 12 2  │ 3  34 │", "without digits of filled cells"
    code, out, err = run(capsys, "show", marks, *FOUR, "--index", "2", "--solve")
    assert (code, err) == (0, "")
    assert parse_position(out)[0].tolist() == [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]
    code, _, err = run(capsys, "show", marks, *FOUR, "--index", "3", "--solve")
    assert (code, err) == (1, f"{marks}:13: no solution\n")


def test_show_a_line_of_a_library(capsys):
    line = ":0000:x:1.34.4122.4.43.1:::"
    code, out, err = run(capsys, "show", "1.34.4122.4.43.1", "--library")
    assert (code, out, err) == (0, f"{line}\n", "")
    assert run(capsys, "show", line, "--library")[1] == f"{line}\n"
    empty = ":0000:x:................:111 212::"
    assert run(capsys, "show", empty, "--library")[1] == f"{empty}\n"
    code, _, err = run(capsys, "show", "16x16", "--library")
    assert (code, "for boards up to 9x9" in err) == (2, True)
    for wrong in (["--library", "--svg"], ["--rules", "naked"], ["--candidates", "--solve"]):
        assert run(capsys, "show", line, *wrong)[0] == 2


def test_a_picture_of_candidates(capsys):
    puzzle, mark = "1.34.4.2...3....", 'class="candidate middle"'
    code, out, err = run(capsys, "show", puzzle, "--candidates", "--svg")
    assert (code, err, out[:4]) == (0, "", "<svg")
    assert out.count(mark) == 20
    assert run(capsys, "show", puzzle, "--candidates", "--rules", "singles", "--svg")[1].count(mark) == 14


def test_positions_are_explained(capsys, marks):
    code, out, err = run(capsys, "explain", marks, *FOUR)
    reason = "only a puzzle with exactly one solution can be explained"
    assert (code, out, err) == (1, "", f"{marks}:1: the puzzle has several solutions; {reason}\n")
    text = MARKS.split("\n\n")[1]
    code, out, err = run(capsys, "explain", marks, *FOUR, "--index", "2")
    assert (code, out) == (0, f"{js.explain(text)}\n")
    assert "within its candidates the puzzle has one solution, without them several: techniques that rely" in err
    assert run(capsys, "explain", marks, *FOUR, "--index", "4")[2] == "", "one that is unique without candidates, too"
    assert run(capsys, "hint", text)[1] == f"{js.hint(text).text}\n"
    code, out, err = run(capsys, "hint", ":0000:x:1.34.4122.4.43.1:212::")
    assert (code, out) == (1, "")
    fault = "no solution within its candidates: r1c2 must be 2, which its candidates leave out"
    assert err == f"<command line>:1: the puzzle has {fault}; {reason}\n"
    assert run(capsys, "hint", ":0000:x:1.34.4122.4.43:::")[0] == 2
    code, out, err = run(capsys, "hint", ":0000:x:1.34.4122.4.43.1:2x2::")
    assert code == 1
    assert err.startswith("<command line>:1: the deleted candidate '2x2' is not a digit, a row and a column")
    code, out, err = run(capsys, "solve", text)
    assert (code, out) == (0, "1234341221434321\n")
