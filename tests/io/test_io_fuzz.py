"""Mutations of valid files of every layout: read the same in every way, never misread, never a crash.

What is read is compared with a plain reading, which knows the layout and takes only what has exactly its form.
"""

from __future__ import annotations

import io
import json
import random
import re
import time

import numpy as np
import pytest

from jaxsudoku.core.board import Board
from jaxsudoku.io import Chunk, PuzzleFileError, open_slice, read_chunks, slices

FOUR, SIX, NINE = map(Board.classic, (4, 6, 9))
BLANKS = ".0*_-?x"


def characters(grid, blank):
    return "".join(str(value) if value else blank for value in grid)


def rows(grid, side, blank, separator=""):
    cells = characters(grid, blank)
    return [separator.join(cells[at : at + side]) for at in range(0, side * side, side)]


#: For each layout, its text of grids on a board of some side, with a character for blanks.
LAYOUTS = {
    "lines": lambda grids, side, blank: "".join(f"{characters(grid, blank)}\n" for grid in grids),
    "numbers": lambda grids, side, blank: "".join(f"{' '.join(characters(grid, '0'))}\n" for grid in grids),
    "commas": lambda grids, side, blank: "".join(f"{','.join(characters(grid, blank))},\n" for grid in grids),
    "words": lambda grids, side, blank: "".join(f"{n} {characters(g, blank)} 7.1\n" for n, g in enumerate(grids)),
    "csv": lambda grids, side, blank: "id,puzzle,x\n" + "".join(f"a,{characters(g, blank)},1\n" for g in grids),
    "quoted": lambda grids, side, blank: "puzzle;x\n" + "".join(f'"{characters(g, blank)}";"a;\nb"\n' for g in grids),
    "json": lambda grids, side, blank: "".join(json.dumps({"puzzle": characters(g, blank)}) + "\n" for g in grids),
    "json lists": lambda grids, side, blank: "".join(json.dumps(list(map(int, g))) + "\n" for g in grids),
    "rows": lambda grids, side, blank: "\n".join("".join(f"{r}\n" for r in rows(g, side, blank)) for g in grids),
    "spaced rows": lambda grids, side, blank: "T\n".join(
        "".join(f"{r}\n" for r in rows(g, side, "0", " ")) for g in grids
    ),
    "bands": lambda grids, side, blank: "\n\n\n".join("\n\n".join(rows(g, side, blank)) + "\n" for g in grids),
    "frames": lambda grids, side, blank: "\n".join(
        "".join(f"|{r}|\n" for r in rows(g, side, ".", " ")) + "+---+\n" for g in grids
    ),
    "sections": lambda grids, side, blank: "".join(
        "[Puzzle]\n"
        + "".join(f"{r}\n" for r in rows(g, side, "."))
        + "[State]\n"
        + "\n".join(rows(g, side, "."))
        + "\n"
        for g in grids
    ),
    "library": lambda grids, side, blank: "".join(f":0000:x:{characters(g, '.')}:::\n" for g in grids),
    "marked": lambda grids, side, blank: "".join(f"{characters(g, '.').replace('1', '+1')}\n" for g in grids),
    "open sudoku": lambda grids, side, blank: (
        "<opensudoku>\n" + "".join(f'<game id="{n}" data="{characters(g, "0")}" />\n' for n, g in enumerate(grids))
    ),
}
_INSERTED = [
    *"0123456789.*_-?xX,;:|# \t\r\n\"'+[]{}A\0",
    "\n\n",
    '""',
    "\r\n",
    "é",
    "\ufeff",
    "sep=;\n",
    "puzzle",
    "::",
]


def mutated(text: str, rng: random.Random) -> str:
    """The text after some random changes of characters and lines; often none."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 6])):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(8)
        lines = text.split("\n")
        line = rng.randrange(len(lines))
        if kind == 0:
            text = text[:at] + rng.choice(_INSERTED) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + 1 :]
        elif kind == 2:
            text = text[:at] + rng.choice(_INSERTED) + text[at + 1 :]
        elif kind == 3:
            text = text[:at]
        elif kind == 4:
            text = "\n".join([*lines[:line], *lines[line + 1 :]])
        elif kind == 5:
            text = "\n".join([*lines[: line + 1], *lines[line:]])
        elif kind == 6:
            text = text.replace("\n", "\r\n") if rng.random() < 0.5 else text.replace("\n", "\r")
        else:
            other = rng.randrange(len(text) + 1)
            text = text[:at] + text[other : other + rng.randrange(40)] + text[at:]
    return text


def plain_reading(text: str, layout: str, side: int) -> dict[int, list[int]]:
    """Grids by line, of those lines alone that are exactly of a simple layout, which may be read in one way only."""
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip(" ").split(" ")
        if layout == "lines" and re.fullmatch(rf"[1-{side}.]{{{side * side}}}", line):
            found[number] = [int(c) if c != "." else 0 for c in line]
        elif layout == "numbers" and len(words) == side * side and all(re.fullmatch(rf"[0-{side}]", w) for w in words):
            found[number] = list(map(int, words))
        elif layout == "words" and re.fullmatch(rf"\d{{1,2}} (?=\S*\.)[1-{side}.]{{{side * side}}} 7\.1", line):
            found[number] = [int(c) if c != "." else 0 for c in words[1]]
        elif layout == "json lists" and re.fullmatch(rf"\[[0-{side}](, [0-{side}]){{{side * side - 1}}}\]", line):
            found[number] = json.loads(line)
    return found


def read(source, board, **options) -> tuple[Chunk | None, str]:
    """All puzzles, None if there are none, and why reading ended early."""
    chunks, failure = [], ""
    try:
        for chunk in read_chunks(source, board, **options):
            chunks.append(chunk)
    except PuzzleFileError as error:
        failure = str(error)
    return (Chunk.join(chunks) if chunks else None), failure


class Drips(io.BytesIO):
    """A stream that gives some bytes at a time, as a pipe may."""

    name = "<input>"

    def __init__(self, data, rng):
        super().__init__(data)
        self._rng = rng

    def read(self, size=-1):
        return super().read(min(size, self._rng.randrange(1, 300)) if size else 0)


def same(one: Chunk | None, other: Chunk | None) -> bool:
    if one is None or other is None:
        return (one is None or not len(one)) and (other is None or not len(other))
    return (
        np.array_equal(one.grids, other.grids)
        and np.array_equal(one.good, other.good)
        and [error.cause for error in one.errors] == [error.cause for error in other.errors]
        and one.extras == other.extras
        and np.array_equal(one.listed, other.listed)
    )


def digits_follow(grid: np.ndarray, text: str) -> bool:
    """Whether the digits of a grid occur in a text in their order."""
    wanted = iter(re.findall(r"[0-9]", text))
    return all(any(str(value) == found for found in wanted) for value in grid[grid > 0].tolist())


def check(seed: int, path) -> None:
    """Reads a mutated file whole, as a stream in small chunks, and as slices."""
    rng = random.Random(seed)
    board = rng.choice([FOUR, SIX, NINE])
    side, layout = board.side, rng.choice(sorted(LAYOUTS))
    grids = [
        [rng.choice([0, 0, rng.randrange(1, side + 1)]) for _ in range(side * side)] for _ in range(rng.randrange(1, 7))
    ]
    text = mutated(LAYOUTS[layout](grids, side, rng.choice(BLANKS)), rng)
    data = text.encode()
    where = f"seed {seed}, {layout}"

    whole, failure = read(io.BytesIO(data), board)
    again, fault = read(Drips(data, rng), board, chunk_size=rng.randrange(1, 9))
    assert same(whole, again) and failure == fault, where

    path.write_bytes(data)
    onfile, fault = read(str(path), board)
    assert same(whole, onfile) and bool(failure) == bool(fault), where
    parts, stopped = [], ""
    try:
        for part in slices(str(path), board, None, rng.randrange(1, 5))[1]:
            with open_slice(part, board) as puzzles:
                parts += list(puzzles.chunks())
    except PuzzleFileError as error:
        stopped = str(error)
    assert bool(stopped) == bool(failure), f"{where}: {stopped or failure}"
    if not failure:
        assert same(whole, Chunk.join(parts) if parts else None), where

    expected = plain_reading(text, layout, side)
    if whole is None:
        return
    lines = text.replace("\r", "\n").split("\n")
    for row in np.flatnonzero(whole.good).tolist():
        assert digits_follow(whole.grids[row], "\n".join(lines[whole.lines[row] - 1 :])), where
    if failure or "\r" in text or '"' in text or layout not in plain_layouts:
        return
    read_at = {int(line): whole.grids[row].tolist() for row, line in enumerate(whole.lines) if whole.good[row]}
    if set(expected) <= set(whole.lines.tolist()):
        for line, grid in expected.items():
            refused = layout == "json lists" and line not in read_at  # where the first line is no JSON
            assert refused or read_at.get(line) == grid, f"{where}, line {line}"


plain_layouts = {"lines", "numbers", "words", "json lists"}


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_mutated_files(first, tmp_path):
    for seed in range(first, first + 100):
        check(seed, tmp_path / "puzzles")


@pytest.mark.parametrize(
    "first",
    [pytest.param(1000, marks=pytest.mark.slow)]
    + [pytest.param(first, marks=pytest.mark.thorough) for first in (6000, 11_000, 16_000)],
)
def test_many_mutated_files(first, tmp_path):
    for seed in range(first, first + 5000):
        start = time.monotonic()
        check(seed, tmp_path / "puzzles")
        assert time.monotonic() - start < 30, f"seed {seed} hangs"
