"""Notebooks: each is paired with a script that runs with small parameters, and shows the outputs of that script."""

from __future__ import annotations

import ast
import base64
import copy
import importlib.util
import os
import runpy
from pathlib import Path

import jupytext
import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


def loaded(name):
    """The script that makes the notebooks, as a module."""
    specification = importlib.util.spec_from_file_location(f"notebooks_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


build = loaded("build")
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_every_notebook_has_its_script():
    assert NOTEBOOKS
    assert [path.stem for path in NOTEBOOKS] == [path.stem for path in build.scripts()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_its_script_says(path):
    notebook, script = (jupytext.read(path.with_suffix(kind)) for kind in (".ipynb", ".py"))
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        (cell.cell_type, cell.source) for cell in script.cells
    ]


def test_the_outputs_are_those_of_the_scripts():
    assert build.problems() == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_easy_to_read(path):
    """It begins with its result and its picture; its cells are short, and print at once; it has no switch for tests."""
    cells = jupytext.read(path).cells
    title, found, picture, *_ = cells[0].source.split("\n\n")
    assert title.startswith("# ") and found.startswith("**What was found.** ")
    assert picture.endswith(f"](../docs/images/notebooks/{path.stem}.png)")
    assert "install" in build.tags(cells[1]) and "install" in build.tags(cells[2])
    for cell in cells:
        assert "SMALL" not in cell.source
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= 25
            assert [output.output_type for output in cell.outputs].count("stream") <= 1


def test_the_gallery_shows_every_notebook():
    page = build.GALLERY.read_text()
    for path in NOTEBOOKS:
        pictures = [
            output.data["image/png"]
            for cell in jupytext.read(path).cells
            if cell.cell_type == "code"
            for output in cell.outputs
            if "image/png" in output.get("data", {})
        ]
        shown = build.PICTURES / f"{path.stem}.png"
        assert base64.b64encode(shown.read_bytes()).decode() in [picture.replace("\n", "") for picture in pictures]
        assert f"](images/notebooks/{path.stem}.png)](../notebooks/{path.name})" in page
        assert build.start(path.with_suffix(".py"))["found"] in page
    assert {path.stem for path in build.PICTURES.iterdir()} == {path.stem for path in NOTEBOOKS}
    assert sum(path.stat().st_size for path in build.PICTURES.parent.rglob("*.*")) < 3_000_000


def test_a_notebook_installs_the_package_from_the_repository_or_an_upload():
    addresses = ("", "https://github.com/us/it", "https://forge.example/it")
    uploaded, hosted, elsewhere = (build.install_cells("cnn", address) for address in addresses)
    assert "colab-badge" not in uploaded and "tar xzf jaxsudoku-*.tar.gz" in uploaded
    assert "colab-badge" not in elsewhere and "git clone --quiet --depth 1 https://forge.example/it" in elsewhere
    assert "(https://colab.research.google.com/github/us/it/blob/main/notebooks/cnn.ipynb)" in hosted
    assert "git clone --quiet --depth 1 https://github.com/us/it checkout" in hosted
    for cells in (uploaded, hosted, elsewhere):
        compile(cells, "cells", "exec")


def test_printed_lines_become_one_output():
    first, second = ({"output_type": "stream", "name": "stdout", "text": text} for text in ("one\n", "two\n"))
    picture = {"output_type": "display_data", "data": {"image/png": ""}}
    outputs = build.merged([nbformat.from_dict(output) for output in (picture, first, picture, second)])
    assert [output.output_type for output in outputs] == ["display_data", "stream", "display_data"]
    assert outputs[1].text == "one\ntwo\n"


@pytest.fixture
def altered(tmp_path, monkeypatch):
    """A copy of a notebook and its script, where they may be changed."""
    script = FOLDER / "mastermind.py"
    for path in (script, script.with_suffix(".ipynb")):
        (tmp_path / path.name).write_text(path.read_text())
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    monkeypatch.setattr(build, "GALLERY", tmp_path / "notebooks.md")
    build.GALLERY.write_text(build.gallery())
    assert build.problems() == []
    return tmp_path / script.name


def test_a_changed_script_makes_outputs_stale(altered):
    altered.write_text(altered.read_text() + "\n# %%\nprint(1)\n")
    assert build.problems() == ["mastermind.ipynb: the outputs are of another version of mastermind.py"]


def test_a_changed_notebook_and_script_make_outputs_stale(altered):
    """Both alike, as jupytext --sync leaves them."""
    altered.write_text(altered.read_text() + "\n# %%\nprint(1)\n")
    notebook = jupytext.read(altered.with_suffix(".ipynb"))
    cell = copy.deepcopy(next(cell for cell in notebook.cells if cell.cell_type == "code"))
    cell.source, cell.outputs, cell.id = "print(1)", [], "another"
    notebook.cells.append(cell)
    jupytext.write(notebook, altered.with_suffix(".ipynb"))
    assert "mastermind.ipynb: the outputs are of another version of mastermind.py" in build.problems()


def test_a_notebook_without_outputs_is_told(altered):
    notebook = jupytext.read(altered)
    notebook.metadata["jaxsudoku"] = {"sources": build.digest(notebook.cells)}
    jupytext.write(notebook, altered.with_suffix(".ipynb"))
    assert build.problems() == ["mastermind.ipynb shows no picture"]
    altered.with_suffix(".ipynb").unlink()
    assert build.problems() == ["mastermind.ipynb is missing"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("**What was found.**", "What was found.", "must begin with a title, **What was found.** and its picture"),
        ('# %% tags=["parameters"]\n', "# %%\n", "0 cells of code have the tag parameters, not one"),
        (
            "if importlib.util",
            "if not importlib.util",
            "install the package are out of date: build.py --text writes them",
        ),
        ("import collections\n", "import collections\n" * 26, "has 33 lines, more than 25"),
    ],
)
def test_a_script_that_is_hard_to_read_is_told(altered, old, new, problem):
    altered.write_text(altered.read_text().replace(old, new))
    assert any(text.startswith("mastermind.py") and text.endswith(problem) for text in build.problems())


def test_a_stale_gallery_is_told(altered):
    build.GALLERY.write_text("nothing")
    assert build.problems() == ["notebooks.md is not the gallery of these notebooks: build.py --text writes it"]


#: Notebooks that take little time.
QUICK = ("mastermind",)
#: A network that compiles in little time, in place of a trained one.
CUBE = 'js.make_network("cube", board, key=0, width=8, hidden=8, house=8, iterations=2, maximum=True)'
FOUR = "js.Board.classic(4)"
#: Parameters with which notebooks take little time: expressions in place of those of their cell of parameters.
SMALL = {
    "alphasudoku": {
        "board": FOUR,
        "puzzles": 'js.load("4x4")[:8]',
        "rules": '"none"',  # naked singles alone solve every puzzle
        "networks": f"{{2: {CUBE}, 4: {CUBE}}}",
        "drawn_simulations": "8",
        "budget": "50",
        "counts": "(8,)",
        "compared": '("backtracking", "AlphaSudoku, 256")',
    },
    "cnn": {
        "count": "4",
        "many_clues": 'js.load("9x9")[:count]',
        "names": '("9x9-easy",)',
        "networks": '{"cell_cnn": js.load_network("cell_cnn")}',
        "decodings": """{
            "one-shot, rules none": {"solver": "one-shot", "rules": "none"},
            "cell by cell, rules none": {"solver": "iterative", "rules": "none", "complete": False},
        }""",
        "left_open": "(2, 20, 50)",
        "thresholds": "(0.9,)",
    },
    "deepsudoku": {
        "board": FOUR,
        "names": '("4x4",)',
        "count": "4",
        "network": CUBE,
        "rules": '"none"',
        "simulations": "8",
        "most": "9",
        "few": "4",
        "settings": '{"none": (8,)}',
    },
    "evolution": {
        "board": FOUR,
        "puzzles": 'js.load("4x4")[:8]',
        "organisms": "20",
        "epochs": "100",
        "hives": "1",
        "ages": "(1, 10, 20)",
        "lifetimes": "(300,)",
        "population": "10",
        "generations": '{"particle-swarm": 10}',
        "sweeps": "10",
        "columns": "(50, 100, 1_000, 2_000)",
        "rivals": '("particle swarm", "evolution, lifetime 300")',
    },
    "mastermind": {
        "game": "mm.PegGame(2, 3)",
        "openings": '("11", "12")',
        "small_simulations": "300",
        "sizes": "(50, 200)",
        "extra": "(10, 50)",
        "by_tree_search": '{"simulations": 16, "width": 4}',
    },
    "textbook_search": {
        "board": FOUR,
        "grades": '{"4x4": 8}',
        "budget": "100",
        "compared": '("depth-first, one cell, sorted", "elimination, best-first")',
        "climbs": '{"swaps": {}}',
    },
    "throughput": {
        "board": FOUR,
        "names": '("4x4",)',
        "sizes": "(1, 32)",
        "lanes": "(32,)",
        "few": "32",
        "width": "4",
        "drawn": "16",
        "annealing": '{"solver": "annealing", "rules": "none", "lanes": 128}',
        "cases": '{"exact, 32 lanes": (32, {"lanes": 32}, {"batch_size": 32}, {"batch_size": 32})}',
        "for_sat": "8",
        "network": CUBE,
        "solvers": '{"exact": (32, {}), "annealing": (16, annealing)}',
    },
    "training": {
        "board": FOUR,
        "held_out": '"4x4"',
        "tests": "8",
        "excluded": "None",  # else no 4x4 puzzle would be left
        "clues": "(5, 12)",
        "generated": "50",
        "numbers": "(1, 2)",
        "batch": "8",
        "settings": '{"cell_cnn": (CellCnnConfig(width=8, features=8), 20, adamw, None)}',
        "longer_times": "1",
        "shares": "(1,)",
    },
    "zero": {
        "board": FOUR,
        "tested": 'js.load("4x4")[:8]',
        "generated": "400",
        "sizes": "CubeConfig(width=8, hidden=8, house=8, iterations=2)",
        "steps": "20",
        "stages": "(20,)",
        "invented": "4",
    },
}


def with_values(source, values):
    """A cell of parameters, which has nothing but assignments, with other values."""
    cell, left = ast.parse(source), dict(values)
    for statement in cell.body:
        (target,) = statement.targets
        if target.id in left:
            statement.value = ast.parse(left.pop(target.id), mode="eval").body
    assert not left, "no such parameters"
    return ast.unparse(cell)


def test_parameters_are_replaced_where_they_are_assigned():
    assert with_values("few = slow()\nmany = 3  # of them", {"few": "1"}) == "few = 1\nmany = 3"
    with pytest.raises(AssertionError, match="no such parameters"):
        with_values("few = 1", {"less": "1"})


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem not in QUICK)) for path in NOTEBOOKS],
)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """Its code, in the order of its cells, with few puzzles and steps; it draws on nothing."""
    code = [
        with_values(cell.source, SMALL.get(path.stem, {})) if "parameters" in build.tags(cell) else cell.source
        for cell in jupytext.read(path.with_suffix(".py")).cells
        if cell.cell_type == "code"
    ]
    script = tmp_path / "notebook.py"
    script.write_text("\n\n".join(code))
    monkeypatch.setenv("JAXSUDOKU_CACHE", os.environ.get("JAXSUDOKU_CACHE", ""))  # one of them sets it
    (tmp_path / "benchmarks").symlink_to(FOLDER.parent / "benchmarks")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
