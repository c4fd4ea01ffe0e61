"""Settings of Sphinx. In the root of the checkout: python -m sphinx -W -c docs . site/html"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import reference_pages  # noqa: E402  docs/reference_pages.py, found by the path above

import jaxsudoku  # noqa: E402

project = "jaxsudoku"
author = "The jaxsudoku developers"
copyright = f"2026, {author}"
version = release = jaxsudoku.__version__

# Pages link to each other as files of the checkout, so the whole checkout is the source; these files of it are pages.
root_doc = "docs/index"
include_patterns = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/**.md",
    "docs/**.md",
    "docs/api/**.rst",
    "notebooks/*.ipynb",
]
exclude_patterns = [".*", "build", "dist", "env", "runs", "site", "train", "tests", "venv*", "wheels", "jaxsudoku"]
templates_path = ["_templates"]
html_static_path = ["_static"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]

html_theme = "furo"
html_title = f"jaxsudoku {release}"
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "to_the_home_page.html"}  # the root document is docs/index

nb_execution_mode = "off"  # notebooks are shown with the outputs that they were stored with
suppress_warnings = ["ref.python"]  # annotations name classes without their module: "Report" is two
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp, .go"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 80
#: The annotation of a setting that has a range.
_RANGED = re.compile(r"Annotated\[(\w+), Range\([^)]*\)\]")


def _mark_shapes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sets shapes of arrays as code in all docstrings."""
    lines[:] = map(reference_pages.marked, lines)


def _shorten(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Leaves the ranges of settings out of signatures: "int" for "Annotated[int, Range(...)]"."""
    return signature and _RANGED.sub(r"\1", signature), returned


def _leave_out(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leaves out the accessors of named tuples' fields, which the section Attributes of their docstring describes."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app: Any) -> None:
    app.connect("builder-inited", lambda app: reference_pages.write(ROOT / "docs" / "api"))
    app.connect("autodoc-process-docstring", _mark_shapes, priority=100)  # before napoleon
    app.connect("autodoc-process-signature", _shorten)
    app.connect("autodoc-skip-member", _leave_out)
