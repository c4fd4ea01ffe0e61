"""Reading puzzles and writing answers, by the chunk. Needs numpy alone; Parquet needs the extra ``parquet``, Zstandard
the extra ``zstd`` before Python 3.14.
"""

from .appending import LineFile, open_lines
from .chunk import Chunk, LineError, PuzzleFileError
from .columns import TABLE_SAMPLE, TableWriter, grid_column, read_grid_column
from .compression import check_suffix
from .format import format_grids
from .header import BOARD_COLUMN, header_lines, mark_board, marked_board
from .read import PuzzleFile, open_puzzles, parse, read_board, read_chunks, read_puzzles
from .resume import ResumeError
from .tables import ANSWER_COLUMNS, PUZZLE_COLUMNS
from .target import (
    Kind,
    check_folder,
    check_new,
    check_standard_input,
    check_target,
    kind_of,
    open_target,
    standard_output,
)
from .write import SolutionWriter, open_output

__all__ = [
    "ANSWER_COLUMNS",
    "BOARD_COLUMN",
    "PUZZLE_COLUMNS",
    "TABLE_SAMPLE",
    "Chunk",
    "Kind",
    "LineError",
    "LineFile",
    "PuzzleFile",
    "PuzzleFileError",
    "ResumeError",
    "SolutionWriter",
    "TableWriter",
    "check_folder",
    "check_new",
    "check_standard_input",
    "check_suffix",
    "check_target",
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
    "standard_output",
]
