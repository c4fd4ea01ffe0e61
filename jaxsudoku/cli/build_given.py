"""``jaxsudoku build --from FILE``: builds data sets of the puzzles in a file, divided into parts."""

from __future__ import annotations

import argparse
import collections
import os
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import clashing
from jaxsudoku.io import KNOWN_SOLUTION_COLUMNS, LineError, PuzzleFile, PuzzleFileError
from jaxsudoku.runtime.terminal.failure import as_usage, described
from jaxsudoku.runtime.terminal.progress import Meter, Screen
from jaxsudoku.runtime.terminal.stop import Stop

from . import flags
from .bad_lines import BadLines
from .dataset_folder import check_new, excluded
from .generate import add_grades, grade_tally
from .inputs import known_solutions, named, opened
from .invocation import Invocation
from .report import QUOTED

#: The flag that chooses this way of building.
FLAG = "--from"


def add_puzzles(parser: argparse.ArgumentParser) -> None:
    """The file of puzzles, their board and column, and the parts."""
    parser.add_argument(
        FLAG,
        dest="input",
        required=True,
        metavar="FILE",
        help=f"{flags.INPUT_HELP}. A column solution, if there is one, is compared with the solutions that are found",
    )
    flags.add_board(parser, named_by_input=True)
    flags.add_column(parser)
    parser.add_argument(
        "--split",
        type=_split,
        metavar="NAME=SHARE,...",
        help="the parts and their shares, by which puzzles are divided at random (default: "
        "train=0.9,eval=0.05,test=0.05); puzzles with equivalent solutions are never divided",
    )


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


class _Table(NamedTuple):
    """The puzzles of a file.

    Attributes:
      puzzles: uint8[N, cells], well-formed ones without clashes.
      solutions: uint8[N, cells], zeros where the file has none.
      lines: int64[N], their lines.
      failure: why reading ended early, None if it didn't.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    lines: np.ndarray
    failure: str | None


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Builds the data sets; the exit status: 1 if lines were malformed or puzzles refused."""
    check_new(args)
    with opened(args, keep=KNOWN_SOLUTION_COLUMNS) as source:
        screen = invocation.start_screen(args.quiet)
        bad = BadLines(screen, named(args.input), args.board)
        table = _read(args.board, source, named(args.input), bad)
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
                    args.output,
                    table.puzzles,
                    table.solutions,
                    seed=args.seed,
                    board=args.board,
                    parts=args.split or datasets.PARTS,
                    format=args.format,
                    shard_size=args.shard_size,
                    exclude=excluded(args),
                    resume=args.resume,
                    batch_size=args.batch_size,
                    progress=lambda done, count: screen.show(meter.line(done, count), now=True, task=True),
                )
            except datasets.GivenError as error:  # a ValueError, but no error of usage
                _say_refused(screen, named(args.input), table.lines, error.refused)
                screen.say(f"jaxsudoku: error: {named(args.input)}: {error}")
                return 1
    except Stop as stop:
        if os.path.exists(args.output):
            stop.advice = f"what is done of {args.output} stays; to go on: {invocation.resume_command()}"
        raise
    _say_refused(screen, named(args.input), table.lines, built.refused)
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
    about = {"board": str(args.board), "seed": args.seed, "parts": sizes, "left_out": left_out}
    invocation.summarize(args, screen, tally, None, note=f"; {', '.join(told)}", **about)
    return 1 if bad.count or built.refused else 0


def _read(board: Board, source: PuzzleFile, name: str, bad: BadLines) -> _Table:
    """Reads the puzzles and solutions of a file; reports malformed ones."""
    columns: dict[str, list[np.ndarray]] = collections.defaultdict(list)
    failure = None
    nothing = np.zeros((0, board.cells), np.uint8)
    columns["puzzles"].append(nothing)
    columns["solutions"].append(nothing)
    columns["lines"].append(np.zeros(0, np.int64))
    try:
        for chunk in source.chunks(keep=KNOWN_SOLUTION_COLUMNS):
            solutions, causes = known_solutions(chunk)
            chunk = chunk.with_errors(name, causes)
            clashes = chunk.good & clashing(chunk.grids, board)
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
