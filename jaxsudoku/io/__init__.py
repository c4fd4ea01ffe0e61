"""Reading puzzles and writing answers, by the chunk. Needs numpy alone; Parquet needs the extra ``parquet``."""

from .appending import LineFile, open_lines
from .chunk import Chunk, LineError, PuzzleFileError
from .columns import TABLE_SAMPLE, TableWriter, grid_column, read_grid_column
from .format import NUMBERS, format_grids
from .read import parse, read_chunks, read_puzzles
from .resume import ResumeError
from .target import check_folder, check_new, check_standard_input, check_target, open_target, standard_output
from .write import SolutionWriter, open_output

__all__ = [
    "NUMBERS",
    "TABLE_SAMPLE",
    "Chunk",
    "LineError",
    "LineFile",
    "PuzzleFileError",
    "ResumeError",
    "SolutionWriter",
    "TableWriter",
    "check_folder",
    "check_new",
    "check_standard_input",
    "check_target",
    "format_grids",
    "grid_column",
    "open_lines",
    "open_output",
    "open_target",
    "parse",
    "read_chunks",
    "read_grid_column",
    "read_puzzles",
    "standard_output",
]
