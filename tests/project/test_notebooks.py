"""Notebooks: each is paired with a script that runs at its small setting, and shows the outputs of that script."""

from __future__ import annotations

import copy
import importlib.util
import os
import runpy
from pathlib import Path

import jupytext
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


@pytest.fixture
def altered(tmp_path, monkeypatch):
    """A copy of a notebook and its script, where they may be changed."""
    script = FOLDER / "mastermind.py"
    for path in (script, script.with_suffix(".ipynb")):
        (tmp_path / path.name).write_text(path.read_text())
    monkeypatch.setattr(build, "FOLDER", tmp_path)
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


#: Notebooks that take little time.
QUICK = ("mastermind",)
#: A network that compiles in little time, in place of a trained one.
CUBE = 'js.make_network("cube", board, key=0, width=8, hidden=8, house=8, iterations=2, maximum=True)'
#: Where notebooks find results.
IN_CHECKOUT = {
    'folder = Path.cwd() if (Path.cwd() / "benchmarks").is_dir() else Path.cwd().parent': (
        f"folder = Path({str(FOLDER.parent)!r})"
    )
}
#: What makes a notebook smaller than its small setting: texts of its code, each in place of another.
SMALLER = {
    "alphasudoku_study": IN_CHECKOUT,
    "alphasudoku": {
        'js.load_network("cube", board=board, iterations=2 if SMALL else 8)': CUBE,
        'js.load_network("cube", board=board, iterations=iterations)': CUBE.replace("=2", "=iterations"),
    },
    "cnn": {"js.generate(5, count, clues=(31, 36)).puzzles": 'js.load("9x9")[:count]'},
    "deepsudoku": {'js.load_network("cube", board=board, iterations=2 if SMALL else 16)': CUBE, **IN_CHECKOUT},
    "throughput": {'js.load_network("cube", board=board, iterations=2 if SMALL else 8)': CUBE},
    "training": {"500 if SMALL": "50 if SMALL", "(0.5, 1) if SMALL": "(1,) if SMALL", '("none", "naked")': '("none",)'},
    "zero": {
        "js.generate(2_000, 40 if SMALL else 1_000, js.Board.classic(4)).puzzles": "None",
        "make_config(6,": "make_config(4,",
        "board = js.Board.classic(6)": "board = js.Board.classic(4)",
        "self_play(config, workspace / name)": CUBE.replace("board", "config.board"),
    },
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem not in QUICK)) for path in NOTEBOOKS],
)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """Its code, in the order of its cells, which draws on nothing."""
    code = "\n\n".join(cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code")
    for text, smaller in SMALLER.get(path.stem, {}).items():
        assert text in code
        code = code.replace(text, smaller)
    script = tmp_path / "notebook.py"
    script.write_text(code)
    monkeypatch.setenv("JAXSUDOKU_SMALL", "1")
    for name in ("XLA_FLAGS", "JAXSUDOKU_CACHE"):  # which one of them sets: not for other tests
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.chdir(tmp_path)
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
