"""Draws the pictures of the documentation: python docs/diagrams.py [NAME ...] writes these in docs/images, or all.

Diagrams are drawn here, boards and steps by the library, charts from the files in benchmarks/results. PNG images are
screenshots, made by Chromium.
"""

from __future__ import annotations

import functools
import html
import inspect
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import charts
import film
import numpy as np
from drawing import arrow, box, label, picture

import jaxsudoku as js
from jaxsudoku.explanation.proof import count

FOLDER = Path(__file__).resolve().parent / "images"


def planes() -> str:
    """The two layouts: a mask per cell, and a plane per candidate."""

    def parts() -> Iterator[str]:
        yield label(170, 24, "a mask per cell: bits are digits", 15)
        for puzzle in range(4):
            for cell in range(3):
                x, y = 70 + cell * 80, 50 + puzzle * 44
                for digit in range(9):
                    on = (digit * 7 + puzzle * 5 + cell * 3) % 4 != 0
                    role = ("one", "two", "three")[digit % 3] if on else "paper"
                    yield box(x + digit * 7.5, y, 7.5, 28, role)
            yield label(60, 64 + puzzle * 44, f"puzzle {puzzle}", 13, "end")
        for cell in range(3):
            yield label(104 + cell * 80, 232, f"cell {cell}", 13)
        yield arrow(330, 130, 400, 130)
        yield label(365, 112, "turn", 13)
        yield label(590, 24, "a plane per candidate: bits are puzzles", 15)
        for digit in range(3):
            for cell in range(3):
                x, y = 500 + cell * 84, 50 + digit * 60
                for puzzle in range(4):
                    on = (digit * 7 + puzzle * 5 + cell * 3) % 4 != 0
                    yield box(x + puzzle * 18, y, 18, 28, ("one", "two", "three")[digit] if on else "paper")
            yield label(490, 64 + digit * 60, f"digit {digit + 1}", 13, "end")
        for cell in range(3):
            yield label(536 + cell * 84, 232, f"cell {cell}", 13)

    return picture(780, 256, "Candidates stored as masks per cell and as planes per candidate", *parts())


def folding() -> str:
    """The fold over a house that finds where exactly one cell can take a digit."""
    members = ("1010", "0011", "0010", "0110")
    ones, twos = 0, 0
    rows = []
    for member in members:
        word = int(member, 2)
        twos, ones = twos | ones & word, ones | word
        rows.append((member, f"{ones:04b}", f"{twos:04b}"))

    def parts() -> Iterator[str]:
        for column, text in enumerate(("digit 5 in", "member x", "ones |= x", "twos |= ones & x")):
            yield label(90 + column * 150, 24, text, 14)
        for row, texts in enumerate(rows):
            y = 44 + row * 40
            yield label(90, y + 14, f"cell {row} of the row", 14)
            for column, bits in enumerate(texts):
                for bit, value in enumerate(bits):
                    role = ("one", "three", "four")[column] if value == "1" else "paper"
                    yield box(196 + column * 150 + bit * 22, y, 22, 28, role, value)
        y = 44 + len(rows) * 40 + 16
        yield label(330, y + 14, "exactly one place: ones & ~twos =", 15, "end")
        for bit, value in enumerate(f"{ones & ~twos & 15:04b}"):
            yield box(346 + bit * 22, y, 22, 28, "two" if value == "1" else "paper", value)
        yield label(450, y + 14, "four puzzles at once", 14, "start", "faint")

    return picture(640, 270, "A fold of ones and twos over the cells of a row, for four puzzles", *parts())


def stack() -> str:
    """One step of the exact search: the top of the stack fills the lanes."""

    def parts() -> Iterator[str]:
        yield label(110, 24, "stack of nodes", 15)
        kinds = [("root of puzzle 9", "box"), ("root of puzzle 8", "box"), ("root of puzzle 7", "box")]
        kinds += [("puzzle 6, other child", "three"), ("puzzle 4, other child", "three")]
        kinds += [("puzzle 6, first child", "one"), ("puzzle 4, first child", "one")]
        for place, (text, role) in enumerate(reversed(kinds)):
            yield box(20, 44 + place * 34, 180, 30, role, text, 13)
        yield label(110, 296, "new puzzles are at the bottom", 13, kind="faint")
        yield arrow(206, 110, 268, 110)
        yield label(237, 92, "take", 13)
        yield label(360, 24, "lanes of a step", 15)
        texts = ("puzzle 4", "puzzle 6", "puzzle 4", "puzzle 6", "puzzle 7")
        for place, text in enumerate(texts):
            yield box(276, 44 + place * 34, 168, 30, "one" if place < 2 else "three" if place < 4 else "box", text, 13)
        yield arrow(450, 110, 512, 110)
        yield label(481, 92, "rules", 13)
        yield label(610, 24, "outcome", 15)
        for place, (text, role) in enumerate(
            (("solved: stored", "two"), ("contradiction: dropped", "paper"), ("open: branch", "one"))
        ):
            yield box(520, 44 + place * 50, 180, 40, role, text, 14)
        yield '<path class="ink-line" d="M610 186V314H8V59H18" stroke-width="1.5" marker-end="url(#head)"/>'
        yield label(410, 300, "two children are pushed for each open lane", 13)

    return picture(720, 328, "A step of the exact search with one stack for all puzzles", *parts())


def groups() -> str:
    """A candidate of CubeNet and the four groups that it is in."""

    def parts() -> Iterator[str]:
        side, size = 4, 26
        for number, (title, role, inside) in enumerate(
            (
                ("cell", "one", lambda digit, row, column: (row, column) == (1, 2)),
                ("row", "two", lambda digit, row, column: (digit, row) == (2, 1)),
                ("column", "three", lambda digit, row, column: (digit, column) == (2, 2)),
                ("box", "four", lambda digit, row, column: digit == 2 and row < 2 and column >= 2),
            )
        ):
            left = 40 + number * 170
            yield label(left + 72, 22, f"its {title}", 15)
            for digit in range(side):
                x, y = left + digit * 12, 190 - digit * 46
                for row in range(side):
                    for column in range(side):
                        role_here = "paper"
                        if inside(digit, row, column):
                            role_here = role
                        here = (digit, row, column) == (2, 1, 2)
                        skew = (side - row) * 7
                        yield box(x + column * size + skew, y + row * 9, size, 9, "ink" if here else role_here)
                if number == 0:
                    yield label(x - 6, y + 18, f"{digit + 1}", 13, "end")
        yield label(370, 250, "a layer for each digit of a 4x4 board; the candidate (dark) and those of each group", 13)

    return picture(730, 270, "A candidate and its groups: cell, row, column and box", *parts())


def step(puzzle: int, technique: str) -> str:
    """The first step by a technique in the explanation of a shipped puzzle."""
    explanation = js.explain(js.load("9x9-hard")[puzzle])
    return f"{next(step for step in explanation if step.technique == technique).picture().svg}\n"


def boards() -> str:
    """A sheet of boards: a solution, candidates, a windoku, a jigsaw."""
    puzzle = js.load("9x9-hard")[0]
    pictures = [
        js.picture(js.solve(puzzle).grids, givens=puzzle),
        js.picture(puzzle, candidates=True),
        js.picture(js.load("windoku-9x9")[0], js.Board.windoku()),
        js.picture(js.load("jigsaw-9x9")[0], js.shipped.board("jigsaw-9x9")),
    ]
    titles = ("a solution", "candidates", "windoku", "jigsaw")
    return f"{js.pictures.sheet(pictures, columns=2, titles=titles).svg}\n"


def steps(puzzle: int, technique: str) -> str:
    """The first step by a technique in the explanation of a shipped puzzle, beside the texts of the steps around it."""
    explanation = js.explain(js.load("9x9-hard")[puzzle])
    middle = next(number for number, step in enumerate(explanation) if step.technique == technique)
    board = explanation[middle].picture()
    size, top = 356, 12

    def parts() -> Iterator[str]:
        yield board.svg.replace("<svg ", f'<svg x="12" y="{top}" ', 1).replace(
            f'width="{board.width:g}" height="{board.height:g}"', f'width="{size}" height="{size}"', 1
        )
        y = top + 16
        for number in range(middle - 3, middle + 4):
            step = explanation[number]
            lines = textwrap.wrap(step.text, 62)
            if number == middle:
                yield box(386, y - 15, 476, 20 * len(lines) + 10, "one")
            yield label(420, y, f"{number + 1}.", 14, "end", "muted")
            for line in lines:
                yield label(430, y, line, 14, "start", "ink" if number == middle else "muted")
                y += 20
            y += 14

    title = f"Steps of an explanation, and a picture of one of them. {explanation[middle].text}"
    own = ".jaxsudoku text{dominant-baseline:auto}"  # the board places its texts otherwise
    return picture(874, size + 2 * top, title, *parts(), style=own)


def variants() -> Iterator[tuple[str, str]]:
    """The name and the call of each picture on the page of variants."""
    page = (FOLDER.parent / "variants.md").read_text(encoding="utf-8")
    yield from re.findall(r"^\| !\[[^]]*\]\(images/(variants/[\w-]+)\.svg\) \|.*\| `([^`]+)` \|$", page, re.MULTILINE)


def board_of(call: str) -> js.Board:
    """The board of a call on the page of variants, on which functions of constraints have a side of 6."""
    names = {
        name: functools.partial(function, side=6) if name != "box_indexer" else function
        for name, function in vars(js.constraints).items()
        if inspect.isfunction(function)
    }
    found = eval(call, {"Board": js.Board, "range": range, **names})
    if isinstance(found, js.Board):
        return found
    latin = call.startswith(("calcudoku", "futoshiki"))
    return (js.Board.named("1x6") if latin else js.Board.classic(6)).with_(found)


def variant(call: str) -> str:
    """A board of the page of variants, with digits that satisfy its constraints in their cells."""
    board = board_of(call)
    found = count(np.zeros(board.cells, np.uint8), board, None, 1000)
    assert found is not None and found.number, call
    cells = sorted({cell for constraint in board.constraints for cell in constraint.cells})
    grid = np.zeros(board.cells, np.uint8)
    grid[cells] = found.first[cells]
    drawn = board.picture(grid)
    size = f'width="{drawn.width:g}" height="{drawn.height:g}" role'
    small = f'width="{drawn.width * 0.65:.0f}" height="{drawn.height * 0.65:.0f}" role'
    return f"{drawn.svg.replace(size, small, 1)}\n"


DIAGRAMS: dict[str, Callable[[], str]] = {"planes": planes, "folding": folding, "stack": stack, "groups": groups}
DIAGRAMS |= {
    "x-wing": functools.partial(step, 15, "x-wing"),
    "chain": functools.partial(step, 0, "aic"),
    "boards": boards,
    "batch": film.batch,
    "steps": functools.partial(steps, 1, "naked-pair"),
    "throughput": charts.throughput,
    "accuracy": charts.accuracy,
    "alone": charts.alone,
}
DIAGRAMS |= {name: functools.partial(variant, call) for name, call in variants()}


#: Screenshots of the page of an explanation: width, height, and whether it is dark.
SCREENSHOTS = {"stepper": (1400, 900, False), "stepper-phone": (390, 844, True)}


def screenshot(browser: str, name: str) -> None:
    """Writes a screenshot of the page of an explanation at the step after its first chain."""
    width, height, dark = SCREENSHOTS[name]
    explanation = js.explain(js.load("9x9-hard")[0])
    stop = 2 + next(place for place, part in enumerate(explanation.parts()) if part.steps[0].technique == "aic")
    press = 'document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));' * stop
    page = explanation.page("Puzzle 1 of 9x9-hard").replace("</body>", f"<script>{press}</script></body>")
    # in a frame, as windows have a least width
    frame = f'<iframe srcdoc="{html.escape(page)}" style="border:0" width="{width}" height="{height}"></iframe>'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(f'<!doctype html><body style="margin:0">{frame}', encoding="utf-8")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/p"]
        flags += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"--window-size={width},{height}"]
        command = [browser, *flags, f"--screenshot={FOLDER / name}.png", path.as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def main(names: list[str]) -> None:
    """Writes the pictures of these names, or all; screenshots where there is a browser."""
    (FOLDER / "variants").mkdir(parents=True, exist_ok=True)
    for name in names or DIAGRAMS:
        if name in DIAGRAMS:
            (FOLDER / f"{name}.svg").write_text(DIAGRAMS[name](), encoding="utf-8")
    wanted = [name for name in names or SCREENSHOTS if name in SCREENSHOTS]
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if wanted and browser is None:
        print("no Chromium on the PATH: screenshots are left as they are")
        return
    for name in wanted:
        screenshot(str(browser), name)


if __name__ == "__main__":
    main(sys.argv[1:])
