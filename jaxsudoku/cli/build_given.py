"""``jaxsudoku build --from FILE``: builds data sets of the puzzles in a file; and flags for folders of data sets."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import clashing
from jaxsudoku.io import (
    KNOWN_SOLUTION_COLUMNS,
    LineError,
    PuzzleFile,
    PuzzleFileError,
    check_folder,
    check_folder_name,
)
from jaxsudoku.runtime.locks import check_unlocked
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage, described
from jaxsudoku.runtime.terminal.progress import Meter, Screen
from jaxsudoku.runtime.terminal.stop import Stop

from . import flags
from .bad_lines import BadLines
from .generate import add_grades, grade_tally
from .inputs import Inputs, known_solutions, opened, read_all
from .invocation import Invocation
from .outputs import Running
from .parser import flag
from .report import QUOTED

#: The flag that selects this form of the command.
FLAG = "--from"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folder(Running):
    """Request fields for the folder of a data set: its shards, excluded puzzles, and ``--resume``."""

    output: str = flag("folder of the data set", required=True, metavar="FOLDER")
    format: str = flag("format of the shards (default: npz)", choices=("npz", "parquet"), default="npz")
    shard_size: int = flags.number_flag("puzzles in a shard", default=65536)
    exclude: tuple[str, ...] = flag(
        "a file or shipped set of puzzles whose solutions must not occur, up to symmetry (9x9); may be repeated",
        metavar="FILE",
        action="append",
        default=(),
    )
    resume: bool = flag("continue an interrupted build", default=False)


def check_new(request: Folder) -> None:
    """Raises UsageError if the folder can't be created, or exists and is not to be resumed."""
    with as_usage():
        check_folder(request.output)
        if os.path.exists(request.output):
            check_unlocked(request.output)
        else:
            check_folder_name(request.output)
    if os.path.exists(request.output) and not request.resume:
        raise UsageError(f"{request.output}: the folder exists: continue it with --resume or name another")


def excluded(files: Sequence[str], board: Board) -> np.ndarray | None:
    """The excluded puzzles, from files; None if there are none."""
    with as_usage():
        return np.concatenate([read_all(file, board) for file in files]) if files else None


def _split(text: str) -> dict[str, float]:
    parts: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            if not name or name in parts:
                raise ValueError
            parts[name] = float(share)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SHARE,... such as train=0.9,test=0.1") from None
    return parts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Folder, Inputs):
    """Request of ``build --from``."""

    input: str = flag(
        f"{flags.INPUT_HELP}. Solutions in a column solution, if any, are compared with those found",
        FLAG,
        required=True,
        metavar="FILE",
    )
    split: dict[str, float] | None = flag(
        "shares of the parts of a random split (default: train=0.9,eval=0.05,test=0.05); puzzles with equivalent "
        "solutions are in the same part",
        type=_split,
        metavar="NAME=SHARE,...",
    )


class _Table(NamedTuple):
    """The puzzles of a file.

    Attributes:
      puzzles: uint8[N, cells], the well-formed puzzles without clashes.
      solutions: uint8[N, cells], zeros if the file has none.
      lines: int64[N], their lines.
      failure: the error at which reading ended early; None if it did not.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    lines: np.ndarray
    failure: str | None


def run(request: Request, invocation: Invocation) -> int:
    """Builds the data sets; returns the exit status, 1 if lines were malformed or puzzles refused."""
    check_new(request)
    with opened(request, keep=KNOWN_SOLUTION_COLUMNS) as source:
        board, name = source.board, source.puzzles.name
        screen = invocation.start_screen(request.quiet)
        bad = BadLines(screen, name, board)
        table = _read(source.puzzles, bad)
    bad.finish()
    if table.failure is not None:
        screen.say(f"jaxsudoku: error: {table.failure}; nothing was built")
        return 1
    from jaxsudoku import datasets

    tally, meter = grade_tally(), Meter("searches and ratings")
    screen.show(meter.line(0, 2 * len(table.puzzles)), now=True, task=True)
    try:
        with as_usage((ValueError, FileExistsError, BlockingIOError, ImportError)):
            try:
                built = datasets.build_given(
                    request.output,
                    table.puzzles,
                    table.solutions,
                    seed=request.seed,
                    board=board,
                    parts=request.split or datasets.PARTS,
                    format=request.format,
                    shard_size=request.shard_size,
                    exclude=excluded(request.exclude, board),
                    resume=request.resume,
                    batch_size=request.batch_size,
                    progress=lambda done, count: screen.show(meter.line(done, count), now=True, task=True),
                )
            except datasets.GivenError as error:  # a ValueError, but not a usage error
                _say_refused(screen, name, table.lines, error.refused)
                screen.say(f"jaxsudoku: error: {name}: {error}")
                return 1
    except Stop as stop:
        if os.path.exists(request.output):
            stop.advice = f"the finished part of {request.output} is kept; to continue: {invocation.resume_command()}"
        raise
    _say_refused(screen, name, table.lines, built.refused)
    for dataset in built.parts.values():
        add_grades(tally, dataset.arrays())
    sizes = {name: len(dataset) for name, dataset in built.parts.items()}
    left_out = {
        "malformed": bad.count,
        "refused": len(built.refused),
        "duplicates": built.duplicates,
        "excluded": built.excluded,
    }
    told = [f"{name} {size:,}" for name, size in sizes.items()]
    told += [f"{count:,} {why}" for why, count in left_out.items() if count]
    about = {"board": str(board), "seed": request.seed, "parts": sizes, "left_out": left_out}
    invocation.summarize(request, screen, tally, None, note=f"; {', '.join(told)}", **about)
    return 1 if bad.count or built.refused else 0


def _read(puzzles: PuzzleFile, bad: BadLines) -> _Table:
    """Reads the puzzles and solutions of a file; reports malformed ones."""
    columns: dict[str, list[np.ndarray]] = collections.defaultdict(list)
    failure = None
    nothing = np.zeros((0, puzzles.board.cells), np.uint8)
    columns["puzzles"].append(nothing)
    columns["solutions"].append(nothing)
    columns["lines"].append(np.zeros(0, np.int64))
    try:
        for chunk in puzzles.chunks(keep=KNOWN_SOLUTION_COLUMNS):
            solutions, causes = known_solutions(chunk)
            chunk = chunk.with_errors(puzzles.name, causes)
            clashes = chunk.good & clashing(chunk.grids, puzzles.board)
            bad.add(chunk, np.flatnonzero(clashes))
            kept = chunk.good & ~clashes
            columns["puzzles"].append(chunk.grids[kept])
            columns["solutions"].append(solutions[kept])
            columns["lines"].append(chunk.lines[kept])
    except (OSError, PuzzleFileError) as error:
        failure = described(error)
    return _Table(**{name: np.concatenate(parts) for name, parts in columns.items()}, failure=failure)


def _say_refused(screen: Screen, name: str, lines: np.ndarray, refused: dict[int, str]) -> None:
    """Reports the first puzzles that were refused, and the number of the others."""
    for index, cause in list(refused.items())[:QUOTED]:
        screen.say(str(LineError(name, int(lines[index]), cause)))
    if len(refused) > QUOTED:
        screen.say(f"... and {len(refused) - QUOTED} more refused")
