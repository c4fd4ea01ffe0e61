"""An explanation as HTML: what the script draws, the list without it, what the page may not hold."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku.core.board import Board


class Page(HTMLParser):
    """The elements of a page with their attributes, and the texts in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        tag, attrs = self.elements[-1]
        if data.strip():
            self.texts.append((attrs.get("class", tag), data))

    def texts_of(self, kind: str) -> list[str]:
        return [text for found, text in self.texts if found == kind]


def explanation(name: str) -> js.Explanation:
    if name == "position":  # in play: candidates are gone already, and a cell is filled
        start = js.explain(js.load("9x9-hard")[3])
        before = next(step for step in start if step.eliminate).before
        candidates = np.zeros((9, 81), bool)
        candidates[tuple(np.transpose(list(before.candidates())))] = True
        candidates[:, before.grid() > 0] = True
        return js.explain(before.grid(), candidates=candidates, givens=before.grid(given=True) > 0)
    if name == "unsolved":
        return js.explain(js.load("9x9-hard")[3], up_to="naked-single")
    if name == "9x9-hard":
        return js.explain(js.load(name)[3])
    return js.explain(js.load(name)[0], js.shipped.board(name))


@pytest.mark.parametrize("name", ["9x9-hard", "windoku-9x9", "jigsaw-9x9", "position", "unsolved", "6x6"])
def test_what_is_drawn_is_the_position_of_each_step(name):
    found = explanation(name)
    page = Page(found.page())
    data = json.loads(page.texts_of("data")[0])
    cells = found.board.cells
    filled, left = {cell: digit for cell, digit in enumerate(found.puzzle.tolist()) if digit}, set(data["left"])
    assert [digit or 0 for digit in data["puzzle"]] == found.puzzle.tolist()
    for step, drawn in zip(found, data["steps"], strict=True):
        assert left == {digit * cells + cell for digit, cell in step.before.candidates()}
        assert filled == {cell: digit for cell, digit in enumerate(step.before.grid().tolist()) if digit}
        marks = step.marks()
        assert {cell: role for role, places in drawn["cells"].items() for cell in places} == marks.cells
        numbered = {digit * cells + cell: role for (digit, cell), role in marks.marked.items()}
        assert {number: role for role, numbers in drawn["marked"].items() for number in numbers} == numbered
        assert drawn["arrows"].count('class="arrow"') == len(marks.arrows)
        assert drawn["arrows"].count('class="dashed-arrow"') == 2 * len(marks.dashed)
        assert drawn["houses"] == list(step.houses) and set(step.houses) <= set(data["outlines"])
        left -= set(drawn["gone"])
        filled |= {cell: digit + 1 for digit, cell in drawn["place"]}
    assert [filled.get(cell, 0) for cell in range(cells)] == found.grid.tolist()
    assert ("go no further" in data["end"]) == (not found.solved) == bool(left)


def test_the_steps_are_a_list_without_the_script():
    found = explanation("9x9-hard")
    page = Page(found.page("Mine"))
    assert page.texts_of("text") == [step.text for step in found]
    assert [int(attrs["value"]) for tag, attrs in page.elements if "value" in attrs and tag == "li"] == [
        *range(1, len(found) + 1)
    ]
    runs = [part for part in found.parts() if len(part.steps) > 1]
    assert sum(tag == "details" for tag, _ in page.elements) == len(runs) > 2
    assert page.texts_of("summary") == [
        f"Steps {run.first + 1} to {run.first + len(run.steps)}: " + f"{len(run.steps)} singles." for run in runs
    ]
    # controls that need the script wait for it
    assert {attrs.get("class") for _, attrs in page.elements if "hidden" in attrs} >= {"controls", "sentence", "legend"}
    labels = [attrs["aria-label"] for tag, attrs in page.elements if tag == "svg" and "aria-label" in attrs]
    assert labels[0].startswith("The puzzle. Row 1: ") and labels[0].count("blank") == 81 - np.count_nonzero(
        found.puzzle
    )
    assert labels[1].startswith("The last grid. Row 1: ") and "blank" not in labels[1]
    assert all("aria-label" in attrs or "aria-hidden" in attrs for tag, attrs in page.elements if tag == "svg")


def test_parts_and_techniques_sum_the_steps_up():
    found = explanation("9x9-hard")
    parts = found.parts()
    assert [step for part in parts for step in part.steps] == list(found)
    assert [part.first for part in parts] == list(np.cumsum([0, *(len(part.steps) for part in parts)])[:-1])
    assert all(len(part.steps) == 1 or all(step.place for step in part.steps) for part in parts)
    assert not any(one.steps[0].place and other.steps[0].place for one, other in itertools.pairwise(parts))
    used = found.techniques()
    assert Counter({line.title: line.steps for line in used}) == Counter(step.title for step in found)
    assert max(line.scores[-1] for line in used) == found.hardest.score
    page = Page(found.page())
    assert f"{found.hardest.score:.1f}" in page.texts_of("strong")
    told = [text for kind, text in page.texts if kind in ("th", "td")]
    assert [line.title for line in used] == [text for text in told if text in {line.title for line in used}]


def test_a_page_holds_no_address_and_no_markup_from_outside():
    text = explanation("9x9-hard").page("</title><script>alert(1)</script>\x1b")
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\bsrc=|\bhref=|fetch|XMLHttp|\bid=", text)
    assert "default-src 'none'" in text
    assert text.count("<script") == 2 and "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b" in text
    data = re.search(r'class="data">(.*?)</script>', text)[1]
    assert "<" not in data and ">" not in data


def test_a_page_is_small():
    found = explanation("9x9-hard")
    boards = sum(len(step.picture().svg) for step in found)
    assert len(found.page().encode()) < boards / 5 < 200_000


def test_a_notebook_shows_what_the_page_shows():
    found = explanation("6x6")
    shown = found._repr_html_()
    assert shown.replace(' aria-label="Explanation">', ' aria-label="Explanation" data-keys="page">', 1) in found.page()
    assert Board.classic(6) == found.board and "<h1" not in shown


def test_steps_are_saved_by_the_suffix(tmp_path):
    found = explanation("6x6")
    found.save(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == f"{found}\n"
    found.save(tmp_path / "a.html", title="<Mine>")
    assert (tmp_path / "a.html").read_text() == found.page("<Mine>")
    found.save(tmp_path / "a.SVG")
    assert (tmp_path / "a.SVG").read_text() == f"{found.picture().svg}\n"
    assert sum(shape.role == "label" for shape in found.picture().shapes) == 12 * (len(found.parts()) + 1)
    found[0].save(tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text() == f"{found[0].text}\n"
    found[0].save(tmp_path / "b.svg", theme="dark")
    assert (tmp_path / "b.svg").read_text() == f"{found[0].picture().to_svg('dark')}\n"
    for what in (found, found[0]):
        with pytest.raises(ValueError, match=r"a\.jpg: the suffix must be one of .*\.html, \.txt, not '\.jpg'"):
            what.save(tmp_path / "a.jpg")


def test_a_complete_puzzle_has_a_page_without_steps():
    solved = js.explain(explanation("6x6").grid)
    page = Page(solved.page())
    assert len(solved) == 0 and not [1 for tag, _ in page.elements if tag == "li" and "value" in _]
    assert json.loads(page.texts_of("data")[0])["left"] == []
