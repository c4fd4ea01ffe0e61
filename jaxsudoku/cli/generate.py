"""``jaxsudoku generate``: makes puzzles, each with one solution, or instances with holes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsudoku.generation import HOLES, GenerateConfig, check_settings
from jaxsudoku.generation.patterns import PATTERNS
from jaxsudoku.io import (
    BOARD_COLUMN,
    TABLE_SAMPLE,
    ResumeError,
    TableWriter,
    grid_column,
    marked_board,
)
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Meter, Screen

from . import flags, job
from .invocation import Invocation
from .outputs import check_answers, open_table, table_kind
from .parser import Parser
from .report import Tally

if TYPE_CHECKING:
    from jaxsudoku.generation import Generator, Puzzles

SUMMARY = "make puzzles, each with one solution, or hard instances with holes"

MAKING_STATUSES = """\
exit status:
  0    done
  1    not all puzzles were found within the attempts, or writing failed; what was found is written, of a data set all
       whole shards
  2    usage: an unknown option or value, an output that exists
  130  stopped by Ctrl-C (143 by SIGTERM); --resume goes on from there
"""

EPILOG = f"""\
examples:
  jaxsudoku generate 100000 --minimal --output minimal.csv
  jaxsudoku generate 1000 --board 16 --clues 110 --seed 7 --output big.csv
  jaxsudoku generate 5000 --rating 20: --output hard.csv
  jaxsudoku generate 500 --rating very-hard --output hard.txt
  jaxsudoku generate 20 --technique x-wing --output x-wings.txt
  jaxsudoku generate 10 --pattern half-turn --format text
  jaxsudoku generate 50 --board 25 --holes balanced --given 0.45 --output hard.csv

output: the columns puzzle, solution, clues and rating, with --technique or --score also score and technique; as text a
puzzle a line. Boards that are not classic are named: in a column board, as text by a line `# board: windoku` at the
top. Each puzzle has exactly one solution. With --holes it has at least one, which the column solution holds, and there
is no rating. The same seed gives the same puzzles on every machine, and a longer run begins with those of a shorter
one. So --resume goes on with an output of the same arguments, also to a larger COUNT; the first and the last puzzles
there are made again to check that they are the same.

{job.MAKING_SECTION}
{MAKING_STATUSES}"""

#: The columns of generated puzzles.
_COLUMNS = {
    "puzzle": object,
    "solution": object,
    "clues": np.int32,
    "rating": np.float32,
    "score": np.float32,
    "technique": object,
    BOARD_COLUMN: object,
}
#: What the summary calls instances with holes, in the place of a grade.
_UNRATED = "unrated"


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``generate``."""
    del argv
    add_making(parser)
    parser.add_argument(
        "--holes",
        choices=HOLES,
        help="make solved grids with holes, as many, up to one, in every row, column, box and other house (balanced) "
        "or in cells drawn at random; an instance may have several solutions, and there is no rating. Needs --given",
    )
    parser.add_argument(
        "--given", type=_share, metavar="SHARE", help="with --holes: the share of cells that are given, such as 0.45"
    )
    flags.add_output(parser)
    flags.add_running(parser)
    flags.add_format(parser, "by the output's suffix, csv on the standard output")
    flags.add_existing(parser)
    job.add_flags(parser)
    parser.set_defaults(run=run, start=0)


def add_making(parser: Parser) -> None:
    """The puzzles to make: how many, on which board, and the fields of ``GenerateConfig``."""
    parser.add_argument("count", metavar="COUNT", type=flags.at_least(1), help="how many puzzles")
    flags.add_board(parser, named_by_input=False)
    parser.add_argument(
        "--clues",
        type=flags.bounds(int),
        metavar="N|A:B",
        help="number of clues, or a range with either end left out, from which a number is drawn for each puzzle; a "
        "puzzle that becomes minimal before that has more (default: those of a minimal puzzle)",
    )
    parser.add_argument("--minimal", action="store_true", help="no clue may be superfluous; always so without --clues")
    parser.add_argument(
        "--rating",
        type=_rating,
        metavar="A:B|GRADE",
        help="range of ratings, see `jaxsudoku rate`, with either end left out; or easy, medium, hard, very-hard or "
        "extreme",
    )
    parser.add_argument(
        "--technique",
        metavar="NAME",
        help="the hardest technique that a person needs, such as x-wing; see `jaxsudoku rate --by technique`",
    )
    parser.add_argument(
        "--score",
        type=flags.bounds(float),
        metavar="A:B",
        help="range of scores of the hardest technique, with either end left out",
    )
    parser.add_argument(
        "--pattern",
        default="none",
        metavar=f"{{{','.join(PATTERNS)}}}",
        help="symmetry of the cells with clues (default: none)",
    )
    parser.words["pattern"] = PATTERNS
    flags.add_number(
        parser,
        "--steps",
        "steps of a search in each puzzle's neighbourhood towards fewer clues or a higher rating (default: 256 where "
        "the rating is bounded from below, else 0)",
        least=0,
    )
    flags.add_number(
        parser,
        "--attempts",
        "attempts at a puzzle before giving up (default: 100000 with --technique or --score, else 200)",
    )


def making_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of ``GenerateConfig``."""
    names = ("clues", "minimal", "rating", "technique", "score", "pattern", "steps", "attempts")
    return {name: getattr(args, name) for name in names}


def _share(text: str) -> float:
    """A number between 0 and 1; the config checks its range."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 0.45") from None


def _rating(text: str) -> Any:
    """A range of ratings, or the name of a grade, which is checked where JAX is loaded."""
    return text if text[:1].isalpha() else flags.bounds(float)(text)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Generates puzzles into a table; the exit status."""
    with as_usage():
        config = GenerateConfig(**making_options(args), holes=args.holes, given=args.given)
        check_settings(args.board, config)
    if args.workers is not None:
        return job.make(args, invocation)
    check_answers(args, table_kind(args))  # before JAX is loaded, and again when the output is opened
    screen = invocation.start_screen(args.quiet)
    from jaxsudoku.generation import Generator

    with as_usage():
        generator = Generator(args.seed, args.board, config, args.batch_size)
        table = open_table(args, _columns(args), resumable=invocation.keep_unfinished)
    with invocation.resumable(args.output, table):
        _check_kept(args, table, generator)
        return _generate(args, invocation, table, generator, screen)


def _generate(
    args: argparse.Namespace, invocation: Invocation, table: TableWriter, generator: Generator, screen: Screen
) -> int:
    from jaxsudoku.generation import GenerationError

    tally, meter = grade_tally() if args.holes is None else Tally([_UNRATED]), Meter()
    first, error = table.done, None

    def progress(found: int, attempts: int) -> None:
        others = f"; {attempts:,} of {generator.config.most_attempts:,} attempts at the others" if attempts > 1 else ""
        screen.show(f"{meter.line(first + found, args.count)}{others}", now=not attempts, task=True)

    # in stretches, so that memory is flat and what is made is soon written
    with table:
        while first < args.count and error is None:
            # a run that was stopped within a stretch goes on to its end, so that the next ones begin where they would
            size = min(generator.stretch - first % generator.stretch, args.count - first)
            try:
                made = generator.make(args.start + first, size, progress)
            except GenerationError as failure:
                made, error = failure.found, str(failure)
            first += size
            with invocation.signals.held():
                table.write(_rows(args, generator, made))
                if args.holes is None:
                    add_grades(tally, made)
                else:
                    tally.add({_UNRATED: len(made.clues)})
            screen.show(meter.line(table.done + tally.puzzles, args.count), task=True)
    invocation.summarize(args, screen, tally, error, **making_details(args, table.done))
    return 1 if error is not None else 0


def _columns(args: argparse.Namespace) -> dict[str, Any]:
    """The columns of the output.

    The board is there only if it is not classic, ratings by technique only if puzzles are chosen by them. Instances
    with holes have no ratings.
    """
    absent = {BOARD_COLUMN} if marked_board(args.board) is None else set()
    if args.holes is not None:
        absent.add("rating")
    if args.technique is None and args.score is None:
        absent |= {"score", "technique"}
    return {name: kind for name, kind in _COLUMNS.items() if name not in absent}


def _rows(args: argparse.Namespace, generator: Generator, made: Puzzles) -> dict[str, Any]:
    rows: dict[str, Any] = {
        "puzzle": grid_column(made.puzzles, args.board),
        "solution": grid_column(made.solutions, args.board),
        "clues": made.clues,
        "rating": made.rating,
        BOARD_COLUMN: [marked_board(args.board)] * len(made.clues),
    }
    if generator.config.by_technique:
        found = generator.technique_ratings(made.puzzles)
        rows |= {"score": found.score, "technique": found.names.tolist()}
    return {name: rows[name] for name in _columns(args)}


def _check_kept(args: argparse.Namespace, table: TableWriter, generator: Generator) -> None:
    """Makes the first and the last puzzles of an earlier run again, to see that the arguments are the same.

    Raises:
      ResumeError: the output has other puzzles, or more than are to be made.
    """
    from jaxsudoku.generation import GenerationError

    if table.done > args.count:
        raise ResumeError(
            f"{args.output}: has {table.done} puzzles, more than {args.count}; the output is left as it is"
        )
    # at either end at most a stretch
    size = min(TABLE_SAMPLE, generator.stretch, table.done)
    for first in sorted({0, table.done - size}) if size else ():
        try:
            table.check(first, grid_column(generator.make(first, size).puzzles, args.board))
        except (GenerationError, ResumeError) as error:
            raise ResumeError(
                f"{error}. To be resumed it needs the seed, board and settings that it was made with, and all of its "
                "puzzles found"
            ) from error


# ---------------------------------------------------------------------- the report, of ``build`` as well


def grade_tally() -> Tally:
    """A tally of puzzles by the grade of their rating."""
    from jaxsudoku.rating import GRADES

    return Tally(GRADES)


def add_grades(tally: Tally, made: Puzzles) -> None:
    """Adds puzzles to a tally of grades."""
    from jaxsudoku.rating import GRADES, grade

    counts = np.bincount(grade(made.rating), minlength=len(GRADES)).tolist()
    tally.add(dict(zip(GRADES, counts, strict=True)))


def making_details(args: argparse.Namespace, earlier: int) -> dict[str, Any]:
    """The end of the summary of commands that make or rate puzzles, after the ``earlier`` ones of a resumed run."""
    note = f"; {earlier:,} were there already" if earlier else ""
    return {"note": note, "already_there": earlier, "board": str(args.board), "seed": args.seed}
