"""Slices of inputs: together they are the whole, in any format, with the lines of the whole."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from jaxsudoku import io
from jaxsudoku.core.board import Board
from jaxsudoku.io import PuzzleFileError, Slice, expand, open_slice, slices
from jaxsudoku.testing.format import read_slices

FOUR = Board.classic(4)
RNG = np.random.default_rng(3)
GRIDS = RNG.integers(0, 5, (200, 16)).astype(np.uint8)
LINES = ["".join(map(str, grid)) for grid in GRIDS]


def written(folder, kind: str) -> str:
    """A file of the puzzles, one of them malformed."""
    lines = [*LINES[:120], "12", *LINES[120:]]
    path = folder / f"puzzles.{kind.split('-')[0]}"
    if kind == "txt":
        path.write_text("# some puzzles\n\n" + "".join(f"{line} # it\n" for line in lines))
    elif kind == "csv":
        path.write_text("# some puzzles\nnumber;puzzle\n" + "".join(f"{n};{line}\n" for n, line in enumerate(lines)))
    elif kind == "csv-quoted":
        text = "".join(f'"{n}\n",{line}\n' for n, line in enumerate(lines))
        path.write_text(f"number,puzzle\n{text}")
    elif kind == "gz":
        path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    elif kind == "txt-utf16":
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-16")
    elif kind == "jsonl":
        path.write_text("".join(f'{{"puzzle": "{line}", "number": {n}}}\n' for n, line in enumerate(lines)))
    else:
        pytest.importorskip("pyarrow")
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({"number": list(range(len(lines))), "puzzle": lines})
        pq.write_table(table, path, row_group_size=16)
    return str(path)


@pytest.mark.parametrize(
    ("kind", "sliced"),
    [
        *(("txt", True), ("csv", True), ("parquet", True)),
        *(("csv-quoted", False), ("gz", False), ("txt-utf16", False), ("jsonl", False)),
    ],
)
def test_slices_are_the_whole(tmp_path, kind, sliced):
    path = written(tmp_path, kind)
    whole = io.Chunk.join(list(io.read_chunks(path, FOUR)))
    opened, parts = slices(path, FOUR, None, 40)
    assert opened.board == FOUR
    assert (len(parts) > 3) == sliced and len(parts) < 20
    found = read_slices(path, FOUR, 40)
    np.testing.assert_array_equal(found.grids, whole.grids)
    assert found.lines.tolist() == whole.lines.tolist()
    assert found.errors == whole.errors and len(found.errors) == 1
    assert found.extras == whole.extras


@pytest.mark.parametrize("puzzles", [1, 7, 100, 10_000])
def test_text_is_cut_between_lines(tmp_path, puzzles):
    path = tmp_path / "puzzles.txt"
    path.write_text("\n".join(LINES))  # the last line has no newline
    _, parts = slices(str(path), FOUR, None, puzzles)
    data = path.read_bytes()
    assert b"".join(data[part.start : part.stop] for part in parts) == data
    assert all(data[part.start - 1 : part.start] == b"\n" for part in parts[1:])
    assert len(parts) == -(-len(LINES) // puzzles)


def test_a_slice_that_looks_like_another_format_is_read_as_the_file_is(tmp_path):
    path = tmp_path / "puzzles.txt"
    odd = ["1 2 | 3 4", "3 4 | 1 2", "------+----", "2 1 | 4 3", "4 3 | 2 1"]  # of a drawn grid
    path.write_text("".join(f"{line}\n" for line in [*LINES[:60], *odd]))
    whole = next(iter(io.read_chunks(str(path), FOUR)))
    start = len("".join(f"{line}\n" for line in LINES[:60]))
    with open_slice(Slice(str(path), "text", start, path.stat().st_size), FOUR) as puzzles:
        (chunk,) = puzzles.chunks()
    assert len(chunk) == 5 and not chunk.good[:2].any()
    np.testing.assert_array_equal(chunk.good, whole.good[60:])


def test_an_empty_file_has_no_slices(tmp_path):
    (tmp_path / "empty.txt").touch()
    assert slices(str(tmp_path / "empty.txt"), None, None, 10)[1] == []


def test_a_table_without_puzzles_is_named(tmp_path):
    (tmp_path / "other.csv").write_text("name,size\na,1\n")
    with pytest.raises(PuzzleFileError, match=r"other.csv:1: no column"):
        slices(str(tmp_path / "other.csv"), None, None, 10)


def test_names_mean_files_in_order(tmp_path, monkeypatch):
    for name in ("b.txt", "a.txt", "c.csv", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert expand(["c.csv", "*.txt"]) == ["c.csv", "a.txt", "b.txt"]
    assert expand([str(tmp_path)]) == [str(tmp_path / name) for name in ("a.txt", "b.txt", "c.csv")]
    with pytest.raises(FileNotFoundError, match="No such file or directory: 'd"):
        expand(["a.txt", "d*.txt"])


def test_urls_are_read_and_sliced(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    try:
        memory.pipe("/slices/b.txt", "".join(f"{line}\n" for line in LINES).encode())
        memory.pipe("/slices/a.txt", b"1" * 16 + b"\n")
        assert expand(["memory://slices/*.txt"]) == ["memory:///slices/a.txt", "memory:///slices/b.txt"]
        assert expand(["memory://slices"]) == ["memory:///slices/a.txt", "memory:///slices/b.txt"]
        np.testing.assert_array_equal(io.read_puzzles("memory://slices/b.txt", FOUR), GRIDS)
        _, parts = slices("memory://slices/b.txt", FOUR, None, 50)
        assert len(parts) == 4
        with open_slice(parts[2], FOUR) as puzzles:
            np.testing.assert_array_equal(next(puzzles.chunks()).grids, GRIDS[100:150])
        with pytest.raises(FileNotFoundError):
            io.read_puzzles("memory://slices/c.txt", FOUR)
    finally:
        memory.rm("/slices", recursive=True)
