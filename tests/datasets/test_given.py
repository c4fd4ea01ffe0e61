"""Data sets of given puzzles: what is refused, what is left out, and how they are divided."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import datasets
from jaxsudoku.cli import main
from jaxsudoku.io import format_grids

FOUR = js.Board.classic(4)


@pytest.fixture(scope="module")
def puzzles():
    """Different 4x4 puzzles with one solution each."""
    return np.unique(reference.unique(FOUR, 80), axis=0)


def text(grid):
    return "".join(map(str, grid))


def command(*argv):
    """The exit status of ``jaxsudoku build``."""
    try:
        return main(["build", *argv])
    except SystemExit as stop:
        return stop.code


def test_every_puzzle_is_in_one_part(puzzles, tmp_path):
    built = datasets.build_given(tmp_path / "set", puzzles, board=FOUR, parts={"train": 3, "test": 1}, shard_size=16)
    assert (list(built.parts), built.refused, built.duplicates, built.excluded) == (["train", "test"], {}, 0, 0)
    parts = [dataset.arrays() for dataset in built.parts.values()]
    joined = np.concatenate([part.puzzles for part in parts])
    np.testing.assert_array_equal(np.unique(joined, axis=0), puzzles)
    for part in parts:
        for puzzle, solution, clues in zip(part.puzzles, part.solutions, part.clues, strict=True):
            assert reference.solutions(FOUR, puzzle, 2) == [tuple(solution.tolist())]
            assert clues == (puzzle > 0).sum()
        np.testing.assert_array_equal(part.rating, js.rate(part.puzzles))
        order = [puzzles.tolist().index(puzzle) for puzzle in part.puzzles.tolist()]
        assert order == sorted(order)
    # puzzles of one solution stay together, and about a quarter is for testing
    train, test = ({tuple(grid) for grid in part.solutions.tolist()} for part in parts)
    assert not train & test
    assert 0.05 < len(parts[1].puzzles) / len(puzzles) < 0.6


def test_a_part_depends_on_its_puzzle_and_the_seed_alone(puzzles, tmp_path):
    def parts(name, given, seed=0):
        built = datasets.build_given(tmp_path / name, given, board=FOUR, seed=seed, parts={"a": 1, "b": 1})
        return {
            tuple(puzzle): part for part, dataset in built.parts.items() for puzzle in dataset.arrays().puzzles.tolist()
        }

    whole = parts("whole", puzzles)
    half = parts("half", puzzles[::-2])
    assert half == {puzzle: whole[puzzle] for puzzle in half}
    assert parts("other", puzzles, seed=1) != whole


def test_puzzles_without_their_one_solution_are_refused(puzzles, tmp_path):
    given = puzzles[:6].copy()
    given[1] = 0
    given[3] = 0
    given[3, :4], given[3, 7] = [1, 2, 3, 0], 4  # the last cell of the first row has no digit left
    solutions = np.array([reference.solutions(FOUR, puzzle, 1)[0] for puzzle in puzzles[:6]])
    solutions[2] = 0  # unknown
    solutions[4] = solutions[4] % 4 + 1
    given = np.concatenate([given, puzzles[6:7]])
    partly = np.where(np.arange(16) < 8, reference.solutions(FOUR, puzzles[6], 1)[0], 0)
    solutions = np.concatenate([solutions, partly[None]])
    given[5] = given[0]
    solutions[5] = solutions[0]
    built = datasets.build_given(tmp_path / "set", given, solutions, board=FOUR, parts={"all": 1})
    assert built.refused == {
        1: "it has several solutions",
        3: "it has no solution",
        4: "its given solution is wrong",
        6: "its given solution is incomplete",
    }
    assert built.duplicates == 1
    np.testing.assert_array_equal(built.parts["all"].arrays().puzzles, given[[0, 2]])


@pytest.mark.slow
def test_equivalent_puzzles_are_one_and_solutions_are_excluded_up_to_symmetry(tmp_path):
    puzzles = js.load("9x9-easy")[:6]
    moved = np.asarray(js.symmetry.apply(js.symmetry.sample(0, shape=(6,)), puzzles))
    built = datasets.build_given(
        tmp_path / "set", np.concatenate([puzzles, moved]), exclude=moved[:2], parts={"all": 1}
    )
    assert (built.duplicates, built.excluded) == (4, 4)
    np.testing.assert_array_equal(built.parts["all"].arrays().puzzles, puzzles[2:])
    with pytest.raises(ValueError, match="no puzzle is left"):
        datasets.build_given(tmp_path / "none", puzzles, exclude=moved)
    assert not (tmp_path / "none").exists()


def test_what_was_stopped_goes_on(puzzles, tmp_path):
    options = {"board": FOUR, "parts": {"train": 1, "test": 1}, "shard_size": 8}
    built = datasets.build_given(tmp_path / "set", puzzles, **options)
    contents = {path: path.read_bytes() for path in (tmp_path / "set").rglob("*.*")}
    for path in list((tmp_path / "set").rglob("*.npz"))[::2]:
        path.unlink()
    with pytest.raises(FileExistsError):
        datasets.build_given(tmp_path / "set", puzzles, **options)
    again = datasets.build_given(tmp_path / "set", puzzles, resume=True, **options)
    assert {path: path.read_bytes() for path in (tmp_path / "set").rglob("*.*")} == contents
    assert list(again.parts) == list(built.parts)
    with pytest.raises(datasets.DatasetError, match="holds another split of given puzzles: given is"):
        datasets.build_given(tmp_path / "set", puzzles[:-1], resume=True, **options)
    others = options | {"parts": {"learn": 1, "test": 1}}
    with pytest.raises(datasets.DatasetError, match="holds another split of given puzzles: parts is"):
        datasets.build_given(tmp_path / "set", puzzles, resume=True, **others)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "card.json").write_text("{}")
    with pytest.raises(datasets.DatasetError, match="holds no split of given puzzles to resume, but card.json"):
        datasets.build_given(tmp_path / "else", puzzles, resume=True, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": {}}, "shares of parts must not be negative"),
        ({"parts": {"a": -1, "b": 2}}, "shares of parts must not be negative"),
        ({"parts": {"a/b": 1}}, "part 'a/b': names"),
        ({"format": "csv"}, "unknown format 'csv'"),
        ({"solutions": np.ones((2, 16), np.uint8)}, "2 solutions of 4 puzzles"),
    ],
)
def test_wrong_arguments_are_told(puzzles, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        datasets.build_given(tmp_path / "set", puzzles[:4], board=FOUR, **options)
    assert not (tmp_path / "set").exists()


def test_the_command_builds_from_a_table(puzzles, tmp_path, capsys):
    rows = [f"{text(puzzle)},{text(reference.solutions(FOUR, puzzle, 1)[0])}" for puzzle in puzzles[:30]]
    rows[4] = f"{'0' * 16},"
    rows[7] = "123,"
    rows[9] = f"11{'0' * 14},"
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["puzzle,solution", *rows]))
    out = tmp_path / "set"
    argv = ["build", "--from", str(path), "--board", "4", "--split", "train=2,test=1", "--output", str(out)]
    assert command(*argv[1:]) == 1
    err = capsys.readouterr().err
    assert f"{path}:6: it has several solutions" in err
    assert f"{path}:9: " in err
    assert f"{path}:11: the givens clash: 1 twice in row 1" in err
    parts = [datasets.load(out / name).arrays().puzzles for name in ("train", "test")]
    assert len(np.concatenate(parts)) == 27
    assert "2 malformed, 1 refused" in err
    assert command(*argv[1:]) == 2
    assert "the folder exists" in capsys.readouterr().err


def test_the_command_builds_nothing_of_nothing(tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text(f"{'0' * 16}\n")
    assert command("--from", str(path), "--board", "4", "--output", str(tmp_path / "set")) == 1
    err = capsys.readouterr().err
    assert f"{path}:1: it has several solutions" in err and "no puzzle is left" in err
    whole = gzip.compress(f"{'0' * 16}\n".encode() * 4000)
    (tmp_path / "damaged.txt.gz").write_bytes(whole[:-9])
    assert command("--from", str(tmp_path / "damaged.txt.gz"), "--board", "4", "--output", str(tmp_path / "set")) == 1
    assert "nothing was built" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_the_command_takes_a_text_without_solutions(puzzles, tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_bytes(format_grids(puzzles[:10], FOUR))
    assert command("--from", str(path), "--board", "4", "--output", str(tmp_path / "set"), "--quiet") == 0
    assert sum(len(datasets.load(folder)) for folder in (tmp_path / "set").iterdir() if folder.is_dir()) == 10


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--from", "no.csv", "--output", "x"], "no.csv: No such file or directory"),
        (["--from", "9x9-easy", "--clues", "30", "--output", "x"], "--clues"),
        (["--from", "9x9-easy", "--split", "train", "--output", "x"], "'train' is not NAME=SHARE"),
        (
            ["--from", "4x4", "--board", "4", "--split", "a=-1,b=2", "--output", "x"],
            "shares of parts must not be negative",
        ),
        (["--output", "x"], "COUNT"),
    ],
)
def test_usage_errors(argv, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(*argv) == 2
    assert message in capsys.readouterr().err
