"""Pictures: shapes that are rendered as SVG or by matplotlib, boards and search trees as shapes, and plots. No JAX.

A picture is a list of shapes, each with a role such as "given"; ``svg`` and ``plotted`` both render that list.
matplotlib, the extra ``plot``, is imported when first used, and needs no display.
"""

from .boards import CANDIDATE_MARKS, CELL_MARKS, NO_MARKS, Candidate, Marks
from .caption import captioned, sample
from .constraints import Symbol
from .figures import PANEL, check_suffix, formats, import_figure, suffix
from .history import Course, plot_history
from .page import page
from .picture import TEXT_SUFFIXES, Picture, checked_suffix, write_text
from .search import search_tree
from .sheet import sheet

__all__ = [
    "CANDIDATE_MARKS",
    "CELL_MARKS",
    "NO_MARKS",
    "PANEL",
    "TEXT_SUFFIXES",
    "Candidate",
    "Course",
    "Marks",
    "Picture",
    "Symbol",
    "captioned",
    "check_suffix",
    "checked_suffix",
    "formats",
    "import_figure",
    "page",
    "plot_history",
    "sample",
    "search_tree",
    "sheet",
    "suffix",
    "write_text",
]
