"""What a reader sees first: pictures of pages, and pages of the site as a browser shows them, wide and narrow.

The browser needs Chromium or Chrome on the PATH; these tests are skipped without one, or without Sphinx.
"""

from __future__ import annotations

import functools
import html
import http.server
import importlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from browser import BROWSER, page_of

from jaxsudoku.pictures.constraints import NAMES

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
#: Pages that a reader opens first.
FIRST = (
    "README.md",
    "docs/index.md",
    "docs/tutorial.md",
    "benchmarks/results/README.md",
    "benchmarks/results/batches.md",
)
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")

#: Pages of the site that are measured, and the widths of the window.
SHOWN = ("docs/index.md", "docs/tutorial.md", "docs/commands.md", "benchmarks/results/batches.md")
WIDTHS = (390, 1400)

#: Shows pages in a frame, one after another, and measures each.
MEASURE = """<pre id="measured"></pre><iframe style="border:0;height:900px"></iframe><script>
(async () => {
  const frame = document.querySelector("iframe"), found = [];
  const scrolls = (box) => ["auto", "scroll"].includes(frame.contentWindow.getComputedStyle(box).overflowX);
  for (const page of PAGES) for (const width of WIDTHS) {
    frame.style.width = width + "px";
    await new Promise(done => { frame.onload = done; frame.src = page; });
    const page_ = frame.contentDocument, right = box => box.getBoundingClientRect().right;
    const code = [...page_.querySelectorAll("article pre")], all = [...page_.querySelectorAll("article *")];
    const inside = box => !!box && box !== page_.body && (scrolls(box) || inside(box.parentElement));
    found.push({
      page: page, width: width, needed: page_.documentElement.scrollWidth,
      cut: code.filter(box => box.scrollWidth > box.clientWidth + 1).length,
      hidden: all.filter(box => right(box) > width + 1 && !inside(box)).length,
      missing: [...page_.images].filter(image => !image.naturalWidth).map(image => image.src),
      unfocused: [...page_.querySelectorAll(".sidebar-toggle, .toctree-checkbox")].filter(
        box => frame.contentWindow.getComputedStyle(box).display === "none").length,
      code: code.length,
    });
  }
  document.getElementById("measured").textContent = JSON.stringify(found);
})();
</script>"""


# ---------------------------------------------------------------------- pictures


@pytest.fixture
def diagrams(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script that draws the pictures, which lies outside the package."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield importlib.import_module("diagrams")
    for name in ("diagrams", "drawing", "charts", "film"):
        if name not in before:
            sys.modules.pop(name, None)


@pytest.mark.parametrize("name", FIRST)
def test_first_pages_open_with_a_picture(name):
    start, *_ = (ROOT / name).read_text(encoding="utf-8").split("\n## ")
    found = _IMAGE.findall(start)
    assert found
    for words, target in found:
        assert len(words.split()) > 5, "a text for readers who do not see it"
        assert (ROOT / name).parent.joinpath(target).read_text(encoding="utf-8").startswith("<svg")


def test_every_picture_is_drawn_by_the_script_and_shown_on_a_page(diagrams):
    files = {file.relative_to(IMAGES).with_suffix("").as_posix() for file in IMAGES.rglob("*.svg")}
    assert files == set(diagrams.DIAGRAMS)
    shown: set[Path] = set()
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]:
        shown |= {(page.parent / target).resolve() for _, target in _IMAGE.findall(page.read_text(encoding="utf-8"))}
    assert {IMAGES / f"{name}.svg" for name in files} <= shown
    assert sum(file.stat().st_size for file in IMAGES.rglob("*") if file.is_file()) < 3e6


def test_the_page_of_variants_shows_every_symbol(diagrams):
    boards = [diagrams.board_of(call) for _, call in diagrams.variants()]
    assert {symbol.name for board in boards for symbol in board.symbols} == {*NAMES} - {"line"}


@pytest.mark.parametrize(
    "name",
    [
        *("planes", "folding", "stack", "groups", "throughput", "accuracy", "alone"),
        *("variants/killer", "variants/anti-knight", "variants/x-sum", "variants/windoku"),
    ],
)
def test_pictures_are_those_of_the_script(name, diagrams):
    if not (ROOT / ".git").exists():
        pytest.skip("figures are in the checkout alone")
    assert diagrams.DIAGRAMS[name]() == (IMAGES / f"{name}.svg").read_text(encoding="utf-8")


# ---------------------------------------------------------------------- pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of a few pages."""
    if BROWSER is None:
        pytest.skip("no Chromium or Chrome on the PATH")
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-c", "docs", "-D", f"include_patterns={','.join(SHOWN)}"]
    subprocess.run([*command, ".", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_pages_fit_wide_and_narrow_windows(site, tmp_path):
    pages = [f"/{name.removesuffix('.md')}.html" for name in SHOWN]
    script = MEASURE.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
    (site / "measure.html").write_text(script, encoding="utf-8")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/measure.html"
        shown, logged = page_of(address, tmp_path, "--window-size=1600,1000", "--virtual-time-budget=60000")
        server.shutdown()
    assert "CONSOLE" not in logged, logged
    found = json.loads(html.unescape(re.search(r'<pre id="measured">(.*?)</pre>', shown, re.DOTALL)[1]))
    assert [(one["page"], one["width"]) for one in found] == [(page, width) for page in pages for width in WIDTHS]
    for one in found:
        assert one["needed"] <= one["width"], one
        assert not one["hidden"] and not one["missing"], one
        assert one["code"] or "index" in one["page"]
        if one["width"] == max(WIDTHS):
            assert not one["cut"], one
        else:
            assert not one["unfocused"], one
