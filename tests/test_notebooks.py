"""Notebooks: each is paired with a script, and runs from beginning to end on its small setting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_every_notebook_has_its_script():
    assert NOTEBOOKS
    assert [path.stem for path in NOTEBOOKS] == [path.stem for path in sorted(FOLDER.glob("*.py"))]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_its_script_says(path):
    notebook, script = (jupytext.read(path.with_suffix(kind)) for kind in (".ipynb", ".py"))
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        (cell.cell_type, cell.source) for cell in script.cells
    ]


#: Notebooks that take long.
SLOW = ("alphasudoku", "evolution", "textbook_search")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in SLOW)) for path in NOTEBOOKS],
)
def test_a_notebook_runs(path, tmp_path):
    """Its code, in the order of its cells, in a process of its own that draws on nothing."""
    cells = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
    script = tmp_path / "notebook.py"
    script.write_text("\n\n".join(cells))
    settings = os.environ | {"JAXSUDOKU_SMALL": "1", "MPLBACKEND": "agg", "PYTHONPATH": str(FOLDER.parent)}
    ended = subprocess.run([sys.executable, script], env=settings, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
