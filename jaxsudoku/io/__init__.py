"""Reading puzzles and writing answers, in chunks.

Needs only numpy; Parquet needs the extra ``parquet``, and Zstandard the extra ``zstd`` before Python 3.14.
"""

from .cells import format_grids, grid_column, read_grid_column
from .chunk import Chunk, LineError, PuzzleFileError
from .columns import ANSWER_COLUMNS, BOARD_COLUMN, PUZZLE_COLUMNS
from .header import header_lines, mark_board, marked_board
from .line_file import open_lines
from .read import PuzzleFile, open_puzzles, parse, read_board, read_chunks, read_puzzles
from .table_writer import TABLE_SAMPLE, TableWriter
from .target import (
    KINDS,
    Kind,
    ResumeError,
    check_folder,
    check_output,
    check_standard_input,
    check_suffix,
    kind_of,
    open_target,
)
from .write import SolutionWriter, open_output

__all__ = [
    "ANSWER_COLUMNS",
    "BOARD_COLUMN",
    "KINDS",
    "PUZZLE_COLUMNS",
    "TABLE_SAMPLE",
    "Chunk",
    "Kind",
    "LineError",
    "PuzzleFile",
    "PuzzleFileError",
    "ResumeError",
    "SolutionWriter",
    "TableWriter",
    "check_folder",
    "check_output",
    "check_standard_input",
    "check_suffix",
    "format_grids",
    "grid_column",
    "header_lines",
    "kind_of",
    "mark_board",
    "marked_board",
    "open_lines",
    "open_output",
    "open_puzzles",
    "open_target",
    "parse",
    "read_board",
    "read_chunks",
    "read_grid_column",
    "read_puzzles",
]
