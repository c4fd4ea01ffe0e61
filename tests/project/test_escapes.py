"""Characters of names and inputs that act on a terminal or break a page: escaped wherever they are shown."""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import pytest
from command import run
from test_architecture import MODULES

import jaxsudoku as js
from jaxsudoku.pictures import Picture, sheet
from jaxsudoku.pictures.shapes import Text
from jaxsudoku.runtime.escapes import markup, shown
from jaxsudoku.runtime.terminal import streams
from jaxsudoku.runtime.terminal.progress import Screen

pytestmark = pytest.mark.quick

#: Every character that is escaped, and some that are not.
ACTING = [chr(number) for number in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF)]
ACTING += [chr(number) for number in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xD800, 0xDC80, 0xDCFF, 0xDFFF)]
PLAIN = "aä数独\U0001f600 \u05d0\u200f\u200d\xa0\\\x7e<&>\"'"

#: A name that sets a terminal's colour and title, moves up, breaks lines, reverses its end, and is not UTF-8.
NAME = "a\x1b[31m\x1b]0;t\x07\x9b1A\r\nb\u202egnp\udcff<b>&\"'.txt"
AS_LINE = r"a\x1b[31m\x1b]0;t\x07\u009b1A\r\nb\u202egnp\xff" + "<b>&\"'.txt"


def test_acting_characters_are_escaped_and_others_are_not():
    assert shown(PLAIN) == PLAIN
    assert shown(NAME) == AS_LINE
    assert all(shown(f"<{char}>").isprintable() for char in ACTING)
    assert len({shown(char) for char in ACTING}) == len(ACTING)


@pytest.mark.parametrize("quote", ["'", '"'])
def test_markup_is_well_formed_whatever_the_text(quote):
    for text in (*ACTING, PLAIN, NAME):
        written = markup(text)
        assert shown(written.replace("\n", "").replace("\t", "")) == written.replace("\n", "").replace("\t", "")
        element = ElementTree.fromstring(f"<a b={quote}{written}{quote}>{written}</a>".encode())
        wanted = text if text in "\t\n" else shown(text).replace(r"\r\n", "\\r\n")
        assert element.text == wanted
        assert element.get("b") == wanted.replace("\n", " ").replace("\t", " ")


def read(svg: str) -> list[str]:
    """The texts of an SVG image."""
    return [element.text for element in ElementTree.fromstring(svg.encode()).iter() if element.text]


def test_pictures_hold_any_text(tmp_path):
    picture = Picture(40, 40, (Text(10, 20, 10, NAME, "text"),), NAME)
    wanted = AS_LINE.replace(r"\n", "\n")
    assert read(picture.svg)[0] == wanted and read(picture.svg)[-1] == wanted
    many = sheet([picture, picture], titles=[NAME, "b"], title="".join(ACTING))
    assert len(read(many.svg)) >= 4
    for suffix in (".svg", ".png", ".pdf"):
        picture.save(tmp_path / f"a{suffix}")
        many.save(tmp_path / f"b{suffix}")
    ElementTree.parse(tmp_path / "a.svg")


def modules(*words: str) -> set[str]:
    """The modules of the package whose source has one of some words."""
    return {name for name, path in MODULES.items() if any(word in path.read_text() for word in words)}


def test_there_is_one_escape_for_pages_and_one_place_for_messages():
    assert modules("html import", "import html", "saxutils") == {"jaxsudoku.runtime.escapes"}
    # the others print JSON, a fixed text, or nothing but what they flush
    others = {"jaxsudoku.cli", "jaxsudoku.cli.invocation", "jaxsudoku.runtime.distributed"}
    assert modules("sys.stderr") == {
        "jaxsudoku.runtime.terminal.streams",
        "jaxsudoku.runtime.terminal.progress",
        *others,
    }


# ---------------------------------------------------------------------- commands

FOUR = ("--board", "4")
PROPER = "1.34.4122.4.43.1"


@pytest.fixture
def odd(tmp_path):
    """The name of a file with a puzzle and a malformed line."""
    path = os.path.join(str(tmp_path), NAME.replace("/", ""))
    try:
        with open(path, "w") as file:
            file.write(f"{PROPER}\n12\n")
    except OSError as error:
        pytest.skip(f"no such names here: {error}")
    return path


def on_screen(text: str) -> bool:
    """Whether a text of several lines holds nothing that acts on a terminal."""
    return all(shown(line) == line for line in text.split("\n"))


def test_a_picture_of_a_file_with_an_odd_name(odd, capsys):
    code, out, err = run(capsys, "show", odd, *FOUR, "--svg")
    assert (code, err) == (0, "") and read(out)[0].replace("\n", r"\n").endswith(AS_LINE)
    assert on_screen(out.replace("\n", ""))


def test_a_page_of_a_file_with_an_odd_name(odd, capsys):
    code, out, err = run(capsys, "explain", odd, *FOUR, "--html")
    assert (code, err) == (0, "") and on_screen(out)
    parts = []
    parser = HTMLParser()
    parser.handle_data = parts.append
    parser.feed(out)
    assert parts[0].replace("\n", r"\n").endswith(AS_LINE)
    assert "<b>" not in out


@pytest.mark.parametrize(
    "argv",
    [
        ("show", "{odd}", *FOUR, "--index", "2"),
        ("show", "{odd}", *FOUR, "--index", "3"),
        ("explain", "{odd}", *FOUR, "--index", "2"),
        ("explain", "{odd}", *FOUR, "--svg", "{odd}"),
        ("show", "{odd}", "--board", "16"),
        ("show", "missing-{odd}"),
        ("show", "4x4", NAME),
        ("show", "4x4", f"--{NAME}"),
        ("solve", "{odd}", *FOUR, "--output", "{odd}"),
        ("solve", "{odd}", *FOUR, "--workers", "1", "--quiet", "--output", "{odd}/x"),
        ("solve", "{odd}", "--network", NAME),
        ("explain", "4x4", "--up-to", NAME),
        (NAME,),
    ],
)
def test_messages_do_not_act_on_a_terminal(odd, argv, capsys):
    code, out, err = run(capsys, *(word.replace("{odd}", odd) for word in argv))
    assert code and not out
    assert err.endswith("\n") and on_screen(err) and err.count("\n") == 1


def test_parquet_outputs_take_any_name(tmp_path):
    """pyarrow opens only names that are UTF-8."""
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from jaxsudoku.io.parts_file import WholeFile, open_parts

    for number, whole in enumerate((False, True)):
        name = os.path.join(str(tmp_path), f"{number}{NAME}.parquet")
        for resume in (False,) if whole else (False, True):
            columns = {"puzzle": object}
            output = WholeFile(name, columns) if whole else open_parts(name, columns, resume=resume)
            assert output.found.done == resume
            output.append({"puzzle": [PROPER]})
            output.finish()
            output.close()
        with open(name, "rb") as file:
            assert parquet.read_table(file)["puzzle"].to_pylist() == [PROPER] * (1 if whole else 2)


def test_names_of_tensors_do_not_act_on_a_terminal(tmp_path, capsys):
    import hashlib

    import numpy as np
    import safetensors.numpy

    from jaxsudoku.networks import make_forward
    from jaxsudoku.networks.weights import Card

    sizes = {"width": 4, "features": 4, "hidden": 4}
    forward = make_forward("cell_cnn", js.Board.classic(4), **sizes)
    name = "\x1b[2Jtensor\r\n"
    tensors = {".".join(path): np.zeros(leaf.shape, np.float32) for path, leaf in _leaves(forward.shapes())}
    data = safetensors.numpy.save({**tensors, name: np.zeros(3, np.float32)})
    (tmp_path / "net.safetensors").write_bytes(data)
    size = sum(leaf.size for leaf in tensors.values())
    card = Card("cell_cnn", vars(forward.config), forward.board, size, hashlib.sha256(data).hexdigest(), "", {})
    (tmp_path / "net.json").write_bytes(card.encode())
    code, _, err = run(capsys, "evaluate", "--network", str(tmp_path / "net"), "--puzzles", "4x4")
    assert code == 2 and on_screen(err) and r"\x1b[2Jtensor\r\n is not one of its tensors" in err


def _leaves(tree: object, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """The leaves of nested dicts, each with its path."""
    if not isinstance(tree, dict):
        return [(path, tree)]
    return [leaf for name, part in tree.items() for leaf in _leaves(part, (*path, str(name)))]


def test_messages_and_progress_are_printed_as_lines(monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    streams.print_error(NAME)
    screen = Screen(bar=True)
    screen.say(NAME)
    screen.show(NAME, now=True)
    screen.clear()
    lines = terminal.getvalue().split("\n")
    assert lines[:2] == [AS_LINE, AS_LINE]
    assert lines[2].split("\r")[1] == AS_LINE
