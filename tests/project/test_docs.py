"""The documentation: its examples run and print what the pages show, and the reference has all public names.

Blocks ``console`` and ``pycon`` of a page are run in their order, in a folder of its own.
Blocks of other languages, such as ``shell`` and ``python``, are not: they install, need a GPU, or take long.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from command import run

from jaxsudoku.engine import batches

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Pages with examples that are run.
PAGES = [
    page for page in sorted(DOCS.rglob("*.md")) if re.search(r"^```(console|pycon)$", page.read_text(), re.MULTILINE)
]

#: Times and rates, which differ from run to run.
_TIMES = re.compile(r"[\d,.]+ ?(?:s|/s|min|h)\b")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page that are run, as language and text."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [(language, text) for language, text in found if language in ("console", "pycon")]


def sessions(text: str) -> list[tuple[str, str]]:
    """The commands of a ``console`` block, each with the output that is shown."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def differing(expected: str, found: str) -> str | None:
    """The output if it is not what is expected, where "..." stands for anything, and times do not count."""
    expected, found = (_TIMES.sub("TIME", text) for text in (expected, found))
    same = doctest.OutputChecker().check_output(expected, found, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    return None if same else f"shown:\n{expected}\nprinted:\n{found}"


def run_command(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints here: its standard output, then the standard error."""
    if line.startswith("jaxsudoku "):
        _, out, err = run(capsys, *shlex.split(line)[1:])
    else:
        ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        out, err = ran.stdout, ran.stderr
    return out + err


def run_python(text: str, names: dict[str, object]) -> list[str]:
    """Runs a ``pycon`` block; what is printed where it differs from what is shown."""
    examples = doctest.DocTestParser().get_examples(text)
    test = doctest.DocTest(examples, names, "block", None, 0, text)
    out: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags, verbose=False).run(test, out=out.append, clear_globs=False)
    names.update(test.globs)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    batches._compile.cache_clear()
    for language, text in blocks(page):
        if language == "pycon":
            faults = run_python(text, names)
            assert not faults, "".join(faults)
            ran += 1
            continue
        for line, shown in sessions(text):
            fault = differing(shown, run_command(line, capsys))
            assert fault is None, f"$ {line}\n{fault}"
            ran += 1
    assert ran
    if page.stem == "tutorial":  # with the network's program eight, so that it takes ten minutes
        assert batches._compile.cache_info().misses <= 7


def test_a_wrong_output_is_found(capsys):
    assert differing("3 puzzles in 0.1 s\n", "3 puzzles in 12.5 s\n") is None
    assert differing("3 puzzles in 0.1 s\n", "4 puzzles in 0.1 s\n") is not None
    assert differing("one\n...\n", "one\ntwo\n") is None
    assert run_python(">>> 1 + 1\n2\n", {}) == []
    assert "Got:\n    2" in "".join(run_python(">>> 1 + 1\n3\n", {}))
    assert sessions("$ a b\none\ntwo\n$ c\n") == [("a b", "one\ntwo\n"), ("c", "")]
    assert run_command("echo one; echo two >&2", capsys) == "one\ntwo\n"


def headings(page: Path) -> set[str]:
    """The anchors of a Markdown page's headings, as GitHub and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", name.lower()).strip().replace(" ", "-") for name in names}


def test_links_between_pages_lead_to_files_and_headings():
    """Of all Markdown in the checkout, and of the notebooks' sources."""
    broken = []
    checkout = (ROOT / ".git").exists()
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
    for page in [*pages, *(ROOT / "notebooks").glob("*.py")]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        if page.suffix == ".py":
            text = "\n".join(line for line in text.splitlines() if line.startswith("#"))
        for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
            made = target.startswith("api/") or "/api/" in target  # written when the site is built
            raw = (
                target.endswith((".json", ".json.gz", ".npz", ".safetensors")) and not checkout
            )  # they are in the checkout alone
            if "://" in target or made or raw:
                continue
            other = page.parent / target if target else page
            if not other.exists() or (heading and other.suffix == ".md" and heading not in headings(other)):
                broken.append(f"{page.relative_to(ROOT)}: {target}#{heading}")
    assert not broken


def test_pages_of_public_names(monkeypatch):
    """Every public name of the package and of its public modules has a page, with its documentation."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS))
    import reference_pages

    pages = dict(reference_pages._pages())
    for whole in reference_pages.described():
        place, _, name = whole.rpartition(".")
        text = pages[reference_pages.page_of(place, name)]
        assert f".{name}\n" in text and ("auto" in text or len(text.splitlines()) > 4), whole
