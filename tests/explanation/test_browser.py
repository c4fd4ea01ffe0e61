"""A page of steps as a browser draws it: texts in their cells, arrows in the picture, colours of both themes.

Needs Chromium or Chrome on the PATH; skipped without one.
"""

from __future__ import annotations

import functools
import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import mastermind as mm
from jaxsudoku.pictures.shapes import ROLES

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the PATH")

#: Measures every picture: its box, those of its shapes in its units, and their colours.
MEASURE = """
<pre id="measured"></pre><script>
const pictures = [...document.querySelectorAll("svg")].map(svg => {
  const view = svg.viewBox.baseVal, frame = svg.getBoundingClientRect();
  const scale = view.width / frame.width;
  const shapes = [...svg.querySelectorAll("rect,circle,path,text")].map(shape => {
    const box = shape.getBoundingClientRect(), style = getComputedStyle(shape);
    return {kind: shape.tagName, role: shape.classList[0], text: shape.textContent, fill: style.fill,
            stroke: style.stroke, weight: style.fontWeight,
            box: [box.left - frame.left, box.top - frame.top, box.right - frame.left, box.bottom - frame.top].map(
              x => x * scale)};
  });
  return {size: [view.width, view.height], width: frame.width, shapes: shapes};
});
document.getElementById("measured").textContent = JSON.stringify(pictures);
</script>"""

#: One with a chain, so that there are arrows.
PUZZLE = 3


@functools.cache
def page() -> str:
    """A page of steps, of boards with many candidates, and of a strategy."""
    steps = js.explain(js.load("9x9-hard")[PUZZLE])
    assert any(step.links for step in steps.steps)
    wide = [js.picture(js.load(f"{side}x{side}")[0], candidates=True).svg for side in (6, 16, 25)]
    windows = js.picture(js.load("windoku-9x9")[0], js.Board.windoku(), candidates=True).svg
    tree = mm.build(mm.PegGame(2, 4), "minimax").picture(3).svg
    return steps.page().replace("</body>", f"{''.join(wide)}{windows}{tree}{MEASURE}</body>")


@functools.cache
def measured(theme: str, folder: Path) -> list[dict]:
    """What the browser draws for a reader with this theme."""
    path = folder / "page.html"
    path.write_text(page(), encoding="utf-8")
    preference = {"dark": 0, "light": 1}[theme]
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--window-size=1000,800"]
    flags += [f"--blink-settings=preferredColorScheme={preference}", f"--user-data-dir={folder / 'profile'}"]
    command = [BROWSER, *flags, path.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="measured">(.*?)</pre>', shown, re.DOTALL)
    assert found, shown[-1000:]
    return json.loads(html.unescape(found[1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


def boards(pictures: list[dict]) -> list[dict]:
    """The pictures of boards, which have lines between cells."""
    return [picture for picture in pictures if any(shape["role"] == "line" for shape in picture["shapes"])]


def cells_of(picture: dict) -> tuple[np.ndarray, float]:
    """The upper left corner of the board, and the width of a cell."""
    line = next(shape for shape in picture["shapes"] if shape["role"] == "line")  # below the first column
    edge = [shape["box"] for shape in picture["shapes"] if shape["role"] == "border"]
    left, top = min(box[0] for box in edge), min(box[1] for box in edge)
    return np.array([left, top]), (line["box"][0] + line["box"][2]) / 2 - left


def test_all_pictures_are_drawn(folder):
    pictures = measured("light", folder)
    assert len(pictures) == page().count("<svg")
    for picture in pictures:
        assert picture["width"] <= 1000
        for shape in picture["shapes"]:
            left, top, right, bottom = shape["box"]
            assert -1 <= left <= right <= picture["size"][0] + 1, shape
            assert -1 <= top <= bottom <= picture["size"][1] + 1, shape


def test_texts_lie_in_their_cells(folder):
    """Digits in the middle, candidates apart from each other."""
    for picture in boards(measured("light", folder)):
        corner, width = cells_of(picture)
        for shape in picture["shapes"]:
            if shape["kind"] != "text":
                continue
            # the boxes of a browser are as high as a line of text; the digits themselves take the middle part
            left, top, right, bottom = shape["box"]
            middle = (np.array([left + right, top + bottom]) / 2 - corner) / width
            within = middle - np.floor(middle)
            if shape["role"] in ("given", "filled"):
                assert np.abs(within - 0.5).max() < 0.1, shape
            across = (np.array([left, right]) - corner[0]) / width
            assert np.floor(across[0] + 0.02) == np.floor(across[1] - 0.02), shape


def test_candidates_do_not_overlap(folder):
    for picture in boards(measured("light", folder)):
        small = [
            shape for shape in picture["shapes"] if shape["role"] in ("candidate", "kept", "removed", "true", "false")
        ]
        boxes = np.array([shape["box"] for shape in small]).reshape(-1, 4)
        height = boxes[:, 3] - boxes[:, 1]
        boxes[:, 1] += 0.2 * height  # the space above and below a digit in its line
        boxes[:, 3] -= 0.2 * height
        one, other = boxes[:, None], boxes[None]
        apart = (one[..., 2] <= other[..., 0]) | (other[..., 2] <= one[..., 0])
        apart |= (one[..., 3] <= other[..., 1]) | (other[..., 3] <= one[..., 1])
        overlapping = np.argwhere(np.triu(~apart, 1))
        assert not len(overlapping), [(small[i]["box"], small[j]["box"]) for i, j in overlapping[:3]]


def test_arrows_lead_from_candidate_to_candidate(folder):
    steps = js.explain(js.load("9x9-hard")[PUZZLE])
    pictures = measured("light", folder)
    for step, picture in zip(steps.steps, pictures, strict=False):
        arrows = [shape for shape in picture["shapes"] if shape["role"] == "arrow"]
        assert len(arrows) == len(step.links)
        if not arrows:
            continue
        corner, width = cells_of(picture)
        for ((row, column, digit), (end_row, end_column, end_digit)), arrow in zip(step.links, arrows, strict=True):
            ends = np.array([[column - 1, row - 1], [end_column - 1, end_row - 1]], float)
            digits = np.array([digit, end_digit]) - 1
            ends += np.stack([digits % 3 + 0.5, digits // 3 + 0.5], axis=1) / 3
            spots = corner + width * ends
            box = np.array(arrow["box"]).reshape(2, 2)
            # the arrow spans the way between the two candidates, but for the gaps at its ends, and its bend
            assert np.abs(box - [spots.min(axis=0), spots.max(axis=0)]).max() < 12, (step.links, arrow)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_those_of_the_readers_theme(theme, folder):
    for picture in measured(theme, folder):
        for shape in picture["shapes"]:
            look = ROLES[shape["role"]]
            wanted = getattr(look, theme)
            rgb = f"rgb({', '.join(str(int(wanted[at : at + 2], 16)) for at in (1, 3, 5))})"
            assert shape["stroke" if look.width else "fill"] == rgb, shape
            if look.width:
                assert shape["fill"] == "none", shape
            if shape["kind"] == "text":
                assert shape["weight"] == ("700" if look.bold else "400"), shape
