"""Reading puzzles and writing answers, in chunks.

Needs only numpy; Parquet needs the extra ``parquet``, and Zstandard the extra ``zstd`` before Python 3.14.
"""

from jaxsudoku.runtime.part_folder import ResumeError

from .cells import Marks
from .chunk import Chunk, Errors, LineError, NoPuzzlesError, PuzzleFileError, check_errors
from .columns import (
    ANSWER_COLUMNS,
    BOARD_COLUMN,
    CONSTRAINTS_COLUMN,
    COUNT_COLUMNS,
    KNOWN_SOLUTION_COLUMNS,
    PUZZLE_COLUMNS,
)
from .constraint_column import constraints_text
from .decode import read_grid_column
from .exchanged import is_exchanged
from .grid_text import GridColumn, format_grids, grid_column
from .header import header_lines, mark_board, marked_board
from .library import is_library_line, library_line
from .positions import Positions
from .read import PuzzleFile, open_puzzles, read_board, read_chunks
from .read_variants import parse_variant, read_variants, variant_text
from .read_whole import read_positions, read_puzzles
from .slices import LineStream, Slice, expand, open_slice, slices
from .table_writer import TABLE_SAMPLE, TableWriter
from .target import (
    KINDS,
    Kind,
    check_folder,
    check_folder_name,
    check_form,
    check_kind,
    check_output,
    check_standard_input,
    check_suffix,
    kind_of,
    open_target,
)
from .text import board_of_text, parse_position
from .text_column import parse, read_column, text_column
from .variant import VariantPuzzle
from .write import CountWriter, SolutionWriter, open_output, puzzle_texts

__all__ = [
    "ANSWER_COLUMNS",
    "BOARD_COLUMN",
    "CONSTRAINTS_COLUMN",
    "COUNT_COLUMNS",
    "KINDS",
    "KNOWN_SOLUTION_COLUMNS",
    "PUZZLE_COLUMNS",
    "TABLE_SAMPLE",
    "Chunk",
    "CountWriter",
    "Errors",
    "GridColumn",
    "Kind",
    "LineError",
    "LineStream",
    "Marks",
    "NoPuzzlesError",
    "Positions",
    "PuzzleFile",
    "PuzzleFileError",
    "ResumeError",
    "Slice",
    "SolutionWriter",
    "TableWriter",
    "VariantPuzzle",
    "board_of_text",
    "check_errors",
    "check_folder",
    "check_folder_name",
    "check_form",
    "check_kind",
    "check_output",
    "check_standard_input",
    "check_suffix",
    "constraints_text",
    "expand",
    "format_grids",
    "grid_column",
    "header_lines",
    "is_exchanged",
    "is_library_line",
    "kind_of",
    "library_line",
    "mark_board",
    "marked_board",
    "open_output",
    "open_puzzles",
    "open_slice",
    "open_target",
    "parse",
    "parse_position",
    "parse_variant",
    "puzzle_texts",
    "read_board",
    "read_chunks",
    "read_column",
    "read_grid_column",
    "read_positions",
    "read_puzzles",
    "read_variants",
    "slices",
    "text_column",
    "variant_text",
]
