"""Pictures of steps as a browser draws them: texts in their cells, arrows in the picture, colours of both themes; and
the page that steps through them: its width, its keys, what it tells, what it loads.

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
from typing import Any

import constrained
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
def steps() -> js.Explanation:
    return js.explain(js.load("9x9-hard")[PUZZLE])


def clues() -> list[js.constraints.Constraint]:
    """Constraints with numbers and signs on edges, on corners and outside the board."""
    added = [js.constraints.sandwich(range(6), 5, side=6), js.constraints.futoshiki(["r6c3 r6c4"], side=6)]
    added += [js.constraints.little_killer("r6c2 r5c3 r4c4 r3c5 r2c6", 17, side=6), js.constraints.odd("r6c1", side=6)]
    added += [js.constraints.quadruple("r2c2 r2c3 r3c2 r3c3", [1, 2, 4], side=6), js.constraints.anti_king(6)]
    return [one for constraints in added for one in constraints]


@functools.cache
def page() -> str:
    """The pictures of steps, of boards with many candidates, and of a strategy."""
    assert any(step.links for step in steps())
    shown = "".join(step._repr_html_() for step in steps())
    wide = [js.picture(js.load(f"{side}x{side}")[0], candidates=True).svg for side in (6, 16, 25)]
    windows = js.picture(js.load("windoku-9x9")[0], js.Board.windoku(), candidates=True).svg
    caged = js.picture("." * 36, constrained.SIX[0].with_(clues()), candidates=True, labels=True).svg
    tree = mm.build(mm.PegGame(2, 4), "minimax").picture(3).svg
    return f"<!doctype html><body>{shown}{''.join(wide)}{windows}{caged}{tree}{MEASURE}</body>"


@functools.cache
def measured(theme: str, folder: Path) -> list[dict]:
    """What the browser draws for a reader with this theme."""
    return in_browser(page(), folder, theme)


def in_browser(text: str, folder: Path, theme: str = "light", width: int = 1000) -> Any:
    """What a page puts into its element "measured"."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    preference = {"dark": 0, "light": 1}[theme]
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--window-size={width},900"]
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
            if shape["kind"] != "text" or shape["role"] == "text":  # legends stand below the board
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
    pictures = measured("light", folder)
    for step, picture in zip(steps(), pictures, strict=False):
        # of a dashed arrow the head is a shape of its own; the last arrows are those of the legend
        dashed = [shape for shape in picture["shapes"] if shape["role"] == "dashed-arrow"][:-2:2]
        arrows = [*[shape for shape in picture["shapes"] if shape["role"] == "arrow"][:-1], *dashed]
        marks = step.marks()
        assert len(arrows) == len(step.links)
        if not arrows:
            continue
        corner, width = cells_of(picture)
        links = [*marks.arrows, *marks.dashed]
        for ((digit, cell), (end_digit, end_cell)), arrow in zip(links, arrows, strict=True):
            ends = np.array([[cell % 9, cell // 9], [end_cell % 9, end_cell // 9]], float)
            digits = np.array([digit, end_digit])
            ends += np.stack([digits % 3 + 0.5, digits // 3 + 0.5], axis=1) / 3
            spots = corner + width * ends
            box = np.array(arrow["box"]).reshape(2, 2)
            # the arrow spans the way between the two candidates, but for the gaps at its ends, and its bend
            assert np.abs(box - [spots.min(axis=0), spots.max(axis=0)]).max() < 12, (links, arrow)


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


# ---------------------------------------------------------------------- the page that steps through

#: Collects what goes wrong in a page, before anything in it runs.
WATCH = """<script>
window.faults = [];
for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"])
  addEventListener(kind, event => faults.push(kind + " " + (event.message || event.blockedURI || event.reason)), true);
for (const kind of ["error", "warn"]) console[kind] = (...words) => faults.push(words.join(" "));
</script>"""

#: Steps through the page in each frame by keys alone.
DRIVE = """<pre id="measured"></pre><script>
addEventListener("load", () => {
  const told = [...document.querySelectorAll("iframe")].map(frame => {
    const view = frame.contentWindow, page = frame.contentDocument;
    const root = page.querySelector(".jaxsudoku-steps"), find = name => root.querySelector(name);
    const press = (key, at = page.body) => at.dispatchEvent(
      new view.KeyboardEvent("keydown", {key: key, bubbles: true, cancelable: true}));
    const widths = () => [page.documentElement.scrollWidth, view.innerWidth];
    const stop = () => ({
      sentence: find(".sentence").textContent, label: find(".board svg").getAttribute("aria-label"),
      value: find("input").getAttribute("aria-valuetext"), widths: widths(),
      filled: [...find(".board svg").querySelectorAll("text.given, text.filled")].length,
      removed: [...find(".board svg").querySelectorAll("text.removed")].length,
      placed: find(".board svg").querySelectorAll("rect.placed").length,
      legend: [...root.querySelectorAll(".legend li:not([hidden])")].map(item => item.dataset.role),
      current: [...root.querySelectorAll("[aria-current]")].map(item => item.value),
    });
    const stops = [stop()];
    while (+find("input").value < +find("input").max) { press("ArrowRight"); stops.push(stop()); }
    press("ArrowRight");
    const end = stop().value;
    press("ArrowLeft");
    const back = stop().value;
    press("Home");
    const home = stop().value;
    press(" ");
    const playing = find(".play").getAttribute("aria-label");
    press(" ");
    const paused = find(".play").getAttribute("aria-label");
    find(".every").click(); // as Enter on it does
    return {stops, end, back, home, playing, paused, height: view.innerHeight, faults: view.faults,
      pressed: find(".every").getAttribute("aria-pressed"), open: root.querySelectorAll("details[open]").length,
      controls: [...page.querySelectorAll("button, input, summary")].filter(item => item.checkVisibility()).map(item =>
        [item.tabIndex, item.getAttribute("aria-label") || item.textContent]),
      live: find(".sentence").getAttribute("aria-live")};
  });
  document.getElementById("measured").textContent = JSON.stringify(told);
});
</script>"""

WIDTHS = (390, 1400)
NAME = "</script><script>faults.push('title')</script><img src=x onerror=faults.push('image')>"


@functools.cache
def stepped(folder: Path) -> dict[int, dict]:
    """What the page tells on a phone and on a wide screen, by the width."""
    text = steps().page(NAME).replace("<head>", f"<head>{WATCH}", 1)
    frames = "".join(f'<iframe srcdoc="{html.escape(text)}" width="{width}" height="844"></iframe>' for width in WIDTHS)
    return dict(
        zip(WIDTHS, in_browser(f"<!doctype html><body>{frames}{DRIVE}</body>", folder, width=1500), strict=True)
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_fits_its_window(width, folder):
    told = stepped(folder)[width]
    assert all(wide <= window == width for stop in told["stops"] for wide, window in [stop["widths"]])
    assert told["faults"] == []  # neither errors, nor anything that it wants to load, nor scripts in its title


def test_keys_step_through_a_page(folder):
    told, found = stepped(folder)[1400], steps()
    parts = found.parts()
    begin, *shown, end = told["stops"]
    assert [stop["current"] for stop in shown] == [[part.first + 1 if len(part.steps) == 1 else 0] for part in parts]
    for stop, part in zip(shown, parts, strict=True):
        filled = np.count_nonzero(part.steps[0].before.grid())
        if len(part.steps) == 1:
            (step,) = part.steps
            assert stop["sentence"] == f"{stop['value']}: {step.text}" and stop["filled"] == filled
            assert stop["removed"] == len(step.eliminate) and stop["placed"] == len(step.place)
            assert ("house" in stop["legend"]) == bool(step.houses)
            assert ("dashed-arrow" in stop["legend"]) == ("arrow" in stop["legend"]) == bool(step.links)
        else:
            assert stop["filled"] == filled + len(part.steps) and stop["placed"] == len(part.steps)
            assert stop["legend"] == ["placed"]
            assert stop["value"].startswith(f"Steps {part.first + 1} to {part.first + len(part.steps)} of")
    assert (begin["value"], end["value"], told["end"], told["home"]) == ("Start", "End", "End", "Start")
    assert told["back"] == shown[-1]["value"]
    assert (told["playing"], told["paused"]) == ("Pause", "Play")
    assert begin["filled"] == np.count_nonzero(found.puzzle) and end["filled"] == 81
    assert end["label"].startswith(f"End. Row 1: {' '.join(map(str, found.grid[:9]))}. Row 2: ")
    assert "blank" in begin["label"] and begin["legend"] == end["legend"] == []


def test_a_page_is_told_to_who_does_not_see_it(folder):
    told = stepped(folder)[390]
    assert told["live"] == "polite"
    runs = sum(len(part.steps) > 1 for part in steps().parts())
    assert (told["open"], told["pressed"], len(told["controls"])) == (runs, "true", 7 + runs)
    assert all(order == 0 and name.strip() for order, name in told["controls"])


def test_explanations_in_a_notebook_do_not_meet(folder):
    """Keys move only the one with the focus."""
    two = steps()._repr_html_() + js.hint(js.load("9x9-hard")[0])._repr_html_() + steps()._repr_html_()
    told = in_browser(
        f"""<!doctype html>{WATCH}<body>{two}<pre id="measured"></pre><script>
        const both = [...document.querySelectorAll(".jaxsudoku-steps")];
        const press = at => at.dispatchEvent(new KeyboardEvent("keydown", {{key: "ArrowRight", bubbles: true}}));
        press(document.body); press(both[1].querySelector("input")); press(both[1].querySelector("input"));
        document.getElementById("measured").textContent = JSON.stringify(
          [faults, both.map(root => root.querySelector("input").value)]);
        </script></body>""",
        folder,
    )
    assert told == [[], ["0", "2"]]
