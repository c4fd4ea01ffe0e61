"""Reading puzzles and writing answers, by the chunk. Needs numpy alone; Parquet needs the extra ``parquet``."""

from .chunk import Chunk, LineError, PuzzleFileError
from .columns import TableWriter, grid_column, read_grid_column
from .format import NUMBERS, format_grids
from .read import parse, read_chunks, read_puzzles
from .resume import ResumeError
from .write import SolutionWriter, open_output

__all__ = [
    "NUMBERS",
    "Chunk",
    "LineError",
    "PuzzleFileError",
    "ResumeError",
    "SolutionWriter",
    "TableWriter",
    "format_grids",
    "grid_column",
    "open_output",
    "parse",
    "read_chunks",
    "read_grid_column",
    "read_puzzles",
]
