"""``jaxsudoku generate``: generates puzzles with one solution, or instances with holes."""

from __future__ import annotations

import argparse
import collections
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.generation import ATTEMPTS, HOLES, VARIANTS, GenerateConfig, VariantConfig, check_settings
from jaxsudoku.generation.patterns import PATTERNS
from jaxsudoku.io import (
    BOARD_COLUMN,
    CONSTRAINTS_COLUMN,
    TABLE_SAMPLE,
    Kind,
    ResumeError,
    TableWriter,
    constraints_text,
    grid_column,
    kind_of,
    marked_board,
)
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.progress import Meter, Screen
from jaxsudoku.techniques.registry import NUMBERS

from . import flags, job
from .fields import config_values
from .invocation import Invocation
from .outputs import check_answers, open_table
from .parser import flag
from .report import Tally

if TYPE_CHECKING:
    from jaxsudoku.generation import Generator, Puzzles, VariantGenerator, VariantPuzzles

MAKING_STATUSES = """\
exit status:
  0    done
  1    not all puzzles were found within the attempts, or writing failed; the puzzles found are written, of a data set
       all complete shards
  2    usage error: an unknown option or value, an existing output
  130  stopped by Ctrl-C (143 by SIGTERM); --resume continues from there
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
  jaxsudoku generate 100 --variant killer --output killers.jsonl
  jaxsudoku generate 100 --variant kropki --clues 8 --output dots.csv

output: the columns puzzle, solution, clues and rating, with --technique or --score also score and technique; as text
one puzzle per line. Boards that are not classic are named in a column board, in text by a line `# board: windoku` at
the top. Each puzzle has exactly one solution. With --holes it has at least one, given in the column solution, and no
rating. With --variant there is a column constraints and no rating, so the output is a table. The same seed gives the
same puzzles on every machine, and a longer run begins with those of a shorter one. So --resume continues an output of
the same arguments, even to a larger COUNT; its first and last puzzles are generated again to check that they are the
same.

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
    CONSTRAINTS_COLUMN: object,
    BOARD_COLUMN: object,
}
#: The name of puzzles without ratings in the summary, instead of a grade.
_UNRATED = "unrated"
#: What the summary calls puzzles that techniques do not solve.
_BEYOND = "beyond"


def _share(text: str) -> float:
    """Parses a number; the config checks that it is between 0 and 1."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share such as 0.45") from None


def _rating(text: str) -> Any:
    """Parses a range of ratings, or the name of a grade, which is checked after JAX is loaded."""
    return text if text[:1].isalpha() else flags.bounds(float)(text)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Making:
    """Request fields for generated puzzles: their number, the board, and fields of ``GenerateConfig``."""

    count: int = flag("how many puzzles", "count", metavar="COUNT", type=flags.at_least(1))
    board: Board = flags.board_flag(named_by_input=False)
    clues: int | tuple[int | None, int | None] | None = flag(
        "number of clues, or a range with optional ends, from which a number is drawn for each puzzle; a puzzle that "
        "becomes minimal before has more clues (default: minimal puzzles)",
        type=flags.bounds(int),
        metavar="N|A:B",
    )
    minimal: bool = flag(
        "no clue may be redundant; always so without --clues. With --pattern the clues that it maps to each other are "
        "tested together: one of them alone may be redundant",
        default=False,
    )
    rating: tuple[float | None, float | None] | str | None = flag(
        "range of ratings, see `jaxsudoku rate`, with optional ends; or easy, medium, hard, very-hard or extreme",
        type=_rating,
        metavar="A:B|GRADE",
    )
    technique: str | None = flag(
        "the hardest technique that a puzzle needs, such as x-wing; see `jaxsudoku rate --by technique`",
        metavar="NAME",
    )
    score: tuple[float | None, float | None] | None = flag(
        "range of scores of the hardest technique, with optional ends", type=flags.bounds(float), metavar="A:B"
    )
    pattern: str = flag(
        "symmetry of the cells with clues (default: none)",
        default="none",
        metavar=f"{{{','.join(PATTERNS)}}}",
        words=PATTERNS,
    )
    steps: int | None = flags.number_flag(
        "steps of local search towards fewer clues or a higher rating in each attempt (default: 256 if the rating has "
        "a lower bound, else 0)",
        least=0,
    )
    attempts: int | None = flags.number_flag(
        "attempts at a puzzle before giving up (default: 100000 with --technique or --score, else 200)"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(job.Parted, Making):
    """Request of ``generate``; ``start`` is the number of the first puzzle."""

    holes: str | None = flag(
        "remove cells of solved grids, evenly (balanced: houses differ by at most one hole) or at random; an instance "
        "may have several solutions, and has no rating. Needs --given",
        choices=HOLES,
    )
    given: float | None = flag("with --holes: the share of given cells, such as 0.45", type=_share, metavar="SHARE")
    variant: str | None = flag(
        "puzzles with constraints of their own: killers without clues; thermometers, all kropki dots, or arrows, with "
        "12 clues. Goes with --board, --clues (a number), --attempts and flags of the output",
        choices=tuple(VARIANTS),
    )
    format: Kind | None = flags.format_flag("from the output's suffix; csv on the standard output")
    start: int = 0


def run(request: Request, invocation: Invocation) -> int:
    """Generates puzzles into a table; returns the exit status."""
    with as_usage():
        config = _config(request)
    if request.workers is not None:
        return job.make(run, request, invocation, request.count, request.board)
    check_answers(request, request.table_kind)  # before JAX is loaded, and again when the output is opened
    screen = invocation.start_screen(request.quiet)
    from jaxsudoku.generation import Generator, VariantGenerator

    with as_usage():
        generator: Generator | VariantGenerator
        if isinstance(config, VariantConfig):
            generator = VariantGenerator(request.seed, request.board, config, request.count, request.batch_size)
        else:
            generator = Generator(request.seed, request.board, config, request.batch_size)
        columns = _columns(request.board, config)
        table = open_table(request, request.board, columns, resumable=invocation.keep_unfinished)
    with invocation.resumable(request.output, table):
        _check_kept(request, table, generator)
        return _generate(request, invocation, table, generator, screen)


def _config(request: Request) -> GenerateConfig | VariantConfig:
    """The settings; raises ValueError or UsageError if no puzzle can satisfy them, or the output can't hold it."""
    if request.variant is None:
        config = GenerateConfig(**config_values(request, GenerateConfig))
        check_settings(request.board, config)
        return config
    plain = GenerateConfig()
    names = ("minimal", "rating", "technique", "score", "pattern", "steps", "holes", "given")
    if others := [f"--{name}" for name in names if getattr(request, name) != getattr(plain, name)]:
        raise UsageError(f"--variant does not go with {', '.join(others)}")
    if isinstance(request.clues, tuple):
        raise UsageError("--variant takes a number of clues, not a range")
    kind = request.format if request.workers else kind_of(request.output, request.table_kind)[0]
    if kind == "text":
        raise UsageError("--variant needs a table, with a column for the constraints: csv, jsonl or parquet, not text")
    variant = VariantConfig(request.variant, request.clues, request.attempts or ATTEMPTS)
    variant.check(request.board)
    return variant


def _generate(
    request: Request,
    invocation: Invocation,
    table: TableWriter,
    generator: Generator | VariantGenerator,
    screen: Screen,
) -> int:
    from jaxsudoku.generation import GenerationError, Puzzles

    meter, columns = Meter(), _columns(request.board, generator.config)
    if "technique" in columns:
        tally = Tally([*NUMBERS, _BEYOND])
    else:
        tally = grade_tally() if "rating" in columns else Tally([_UNRATED])
    first, error = table.done, None

    def progress(found: int, attempts: int) -> None:
        others = f"; {attempts:,} of {generator.config.most_attempts:,} attempts at the others" if attempts > 1 else ""
        screen.show(f"{meter.line(first + found, request.count)}{others}", now=not attempts, task=True)

    # in stretches, so that memory is constant and puzzles are written soon
    with table:
        while first < request.count and error is None:
            # a run that was stopped within a stretch goes on to its end, so that the next ones begin where they would
            size = min(generator.stretch - first % generator.stretch, request.count - first)
            try:
                made = generator.make(request.start + first, size, progress)
            except GenerationError as failure:
                made, error = failure.found, str(failure)
            first += size
            with invocation.signals.held():
                rows = _rows(generator, made)
                table.write(rows)
                if "technique" in columns:
                    tally.add(collections.Counter(name or _BEYOND for name in rows["technique"]))
                elif isinstance(made, Puzzles) and "rating" in columns:
                    add_grades(tally, made)
                else:
                    tally.add({_UNRATED: len(made.puzzles)})
            screen.show(meter.line(table.done + tally.puzzles, request.count), task=True)
    invocation.summarize(request, screen, tally, error, **making_details(request.board, request.seed, table.done))
    return 1 if error is not None else 0


def _columns(board: Board, config: GenerateConfig | VariantConfig) -> dict[str, Any]:
    """The columns of the output.

    There is a column for the board only if it is not classic, and for ratings by technique only if puzzles are chosen
    by them. Instances with holes and puzzles with constraints of their own have no ratings.
    """
    absent = {BOARD_COLUMN} if marked_board(board) is None else set()
    if isinstance(config, VariantConfig):
        absent |= {"rating", "score", "technique"}
    else:
        absent.add(CONSTRAINTS_COLUMN)
        if config.holes is not None:
            absent.add("rating")
        if not config.by_technique:
            absent |= {"score", "technique"}
    return {name: kind for name, kind in _COLUMNS.items() if name not in absent}


def _rows(generator: Generator | VariantGenerator, made: Puzzles | VariantPuzzles) -> dict[str, Any]:
    from jaxsudoku.generation import Generator, Puzzles

    board, columns = generator.board, _columns(generator.board, generator.config)
    rows = _texts(board, made)
    rows["clues"] = (made.puzzles > 0).sum(axis=1, dtype=np.int32)
    rows[BOARD_COLUMN] = [marked_board(board)] * len(made.puzzles)
    if isinstance(made, Puzzles):
        rows["rating"] = made.rating
    if isinstance(generator, Generator) and "technique" in columns:
        found = generator.technique_ratings(made.puzzles)
        rows |= {"score": found.score, "technique": found.names.tolist()}
    return {name: rows[name] for name in columns}


def _texts(board: Board, made: Puzzles | VariantPuzzles) -> dict[str, Any]:
    """The columns of the grids and of the constraints."""
    from jaxsudoku.generation import VariantPuzzles

    texts: dict[str, Any] = {
        "puzzle": grid_column(made.puzzles, board),
        "solution": grid_column(made.solutions, board),
    }
    if isinstance(made, VariantPuzzles):
        rows = range(len(made.puzzles))
        texts[CONSTRAINTS_COLUMN] = [constraints_text(made.clues.constraints(row), board) for row in rows]
    return texts


def _check_kept(request: Request, table: TableWriter, generator: Generator | VariantGenerator) -> None:
    """Generates the first and last puzzles of an earlier run again, to check that the arguments are the same.

    Raises:
      ResumeError: the output has other puzzles, or more than requested.
    """
    from jaxsudoku.generation import GenerationError

    if table.done > request.count:
        raise ResumeError(
            f"{request.output}: has {table.done} puzzles, more than {request.count}; the output is left as it is"
        )
    # at most one stretch at either end
    size = min(TABLE_SAMPLE, generator.stretch, table.done)
    for first in sorted({0, table.done - size}) if size else ():
        try:
            table.check(first, _texts(request.board, generator.make(request.start + first, size)))
        except (GenerationError, ResumeError) as error:
            raise ResumeError(
                f"{error}. Resuming needs the same seed, board and settings, with which all of its puzzles can be found"
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


def making_details(board: Board, seed: int, earlier: int) -> dict[str, Any]:
    """The end of the summary of commands that make or rate puzzles; ``earlier`` is the number from an earlier run."""
    note = f"; {earlier:,} were there already" if earlier else ""
    return {"note": note, "already_there": earlier, "board": str(board), "seed": seed}
