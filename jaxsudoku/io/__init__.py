"""Reading puzzles and writing answers, by the chunk. Needs numpy alone; Parquet needs the extra ``parquet``, Zstandard
the extra ``zstd`` before Python 3.14.
"""

from .chunk import Chunk, LineError, PuzzleFileError
from .columns import TableWriter, grid_column, read_grid_column
from .compression import check_suffix
from .format import NUMBERS, format_grids
from .header import BOARD_COLUMN, header_lines, mark_board, marked_board
from .read import PuzzleFile, open_puzzles, parse, read_board, read_chunks, read_puzzles
from .resume import ResumeError
from .write import SolutionWriter, open_output

__all__ = [
    "BOARD_COLUMN",
    "NUMBERS",
    "Chunk",
    "LineError",
    "PuzzleFile",
    "PuzzleFileError",
    "ResumeError",
    "SolutionWriter",
    "TableWriter",
    "check_suffix",
    "format_grids",
    "grid_column",
    "header_lines",
    "mark_board",
    "marked_board",
    "open_output",
    "open_puzzles",
    "parse",
    "read_board",
    "read_chunks",
    "read_grid_column",
    "read_puzzles",
]
