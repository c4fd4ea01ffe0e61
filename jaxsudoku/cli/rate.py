"""``jaxsudoku rate``: rates the difficulty of the puzzles of a file."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import clashing
from jaxsudoku.core.tuning import RATED_BY, RULES, SEARCHES
from jaxsudoku.io import (
    ANSWER_COLUMNS,
    PUZZLE_COLUMNS,
    Chunk,
    Kind,
    ResumeError,
    TableWriter,
    grid_column,
    mark_board,
    puzzle_texts,
)
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Report
from jaxsudoku.techniques.registry import NUMBERS

from . import flags, job
from .generate import making_details
from .inputs import opened
from .invocation import Invocation
from .outputs import check_answers, open_table
from .parser import Parser, flag
from .run import ClueSource, Run, searchable
from .verdicts import INVALID, MALFORMED, SEVERAL, UNSATISFIABLE, verdicts

if TYPE_CHECKING:
    from jaxsudoku.core.constraints.clues import Clues

EPILOG = f"""\
examples:
  jaxsudoku rate puzzles.txt --output rated.csv
  jaxsudoku rate puzzles.txt --searches 50
  jaxsudoku rate puzzles.txt --by technique --output rated.csv

rating: the mean number of branch nodes of complete searches in random orders, after naked and hidden singles; 0 if
these solve the puzzle. rules: the weakest rules that solve it without search (none, naked, singles, locked), or search.
Both are empty for puzzles without exactly one solution. status: unique, several (solutions), unsatisfiable, invalid
(the givens clash), malformed, or unsolved (a search was abandoned; the rating is infinite).

--by technique: the score and name of the hardest technique needed if the simplest applicable one is always used, see
`jaxsudoku explain`; inf and no name if the techniques do not solve the puzzle.

Constraints, of the board or of each puzzle, are applied with all rules.

{flags.INPUT_SECTION}
output: the columns puzzle, clues, rating, rules and status (--by technique: puzzle, clues, score, technique and
status), then the further columns of the input, including solutions of `jaxsudoku solve`; as text only the puzzles.

{job.SECTION}
{flags.status_section(resumable=True)}"""

#: The columns of a rating and of its label, by kind of rating.
_RATED = {"nodes": ("rating", "rules"), "technique": ("score", "technique")}

#: The label of puzzles with one solution that techniques do not solve.
_BEYOND = "beyond"

#: Labels of puzzles by the index that ``weakest_rules`` returns.
_SOLVED_BY = np.array([*RULES, "search"], object)

#: Default number of puzzles in a batch.
_BATCH_SIZE = 8192

#: Number of puzzles rated again before a table is resumed: the first ones, and ones with an infinite rating.
_RATED_AGAIN, _INFINITE_AGAIN = 8, 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(job.Answering):
    """Request of ``rate``."""

    by: str = flag(
        "branch nodes of searches, or the hardest technique (default: nodes)", choices=RATED_BY, default="nodes"
    )
    searches: int = flags.number_flag("for ratings by nodes: searches whose branch nodes are averaged", SEARCHES)
    up_to: str | None = flags.up_to_flag()
    format: Kind | None = flags.format_flag("from the output's suffix; csv on the standard output")


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of ``rate``."""
    del argv
    parser.add_request(Request, run, _check)
    parser.set_defaults(seed=None, searches=None)  # that they are not given


def _check(args: argparse.Namespace) -> None:
    """Raises ValueError if a flag belongs to the other kind of rating."""
    by_nodes = [name for name in ("seed", "searches") if getattr(args, name) is not None]
    if args.by == "technique" and by_nodes:
        raise ValueError(f"--{by_nodes[0]} needs --by nodes")
    if args.by == "nodes" and args.up_to is not None:
        raise ValueError("--up-to needs --by technique")


def run(request: Request, invocation: Invocation) -> int:
    """Rates; returns the exit status."""
    if request.workers is not None:
        return job.answer(run, request, invocation)
    check_answers(request, request.table_kind)
    number, label = _RATED[request.by]
    columns = {"puzzle": object, "clues": np.int32, number: np.float32, label: object, "status": object}
    with opened(request, keep=ANSWER_COLUMNS, constrained=True) as source:
        board = source.board
        # answers of an earlier `solve` are carried along
        chunks = mark_board(source.puzzles.chunks(request.batch_size or _BATCH_SIZE, keep=ANSWER_COLUMNS), board)
        first = next(chunks, None)  # before an output is created, which would stay empty after a failure
        # earlier ratings are replaced
        extras = [name for name in (first.extras if first is not None else ()) if name not in columns]
        with as_usage():
            whole = columns | dict.fromkeys(extras, object)
            table = open_table(request, board, whole, source.path, invocation.keep_unfinished)
        chunks = itertools.chain([] if first is None else [first], chunks)
        with invocation.resumable(request.output, table):
            labels = [*NUMBERS, _BEYOND] if request.by == "technique" else _SOLVED_BY.tolist()
            outcomes = (*labels, "complete", SEVERAL, UNSATISFIABLE, INVALID, MALFORMED)
            work = Run(request, invocation, source, outcomes)
            work.say_replaced(request.table_kind, (*PUZZLE_COLUMNS, *columns))
            rater = Rater(board, request, lambda done, _: work.show(done))
            sink = RatingWriter(table, request.output, rater, extras)
            work.answer(chunks, rater, sink, functools.partial(_outcomes, board), rowwise=True)
            return work.finish(**making_details(board, request.seed, table.done))


class Ratings(NamedTuple):
    """The ratings of n puzzles.

    Attributes:
      rating: float32[n], NaN for a puzzle without exactly one solution.
      label: object[n], the name of the weakest rules that solve it, or "search"; or of the hardest technique. "" if the
        rating is NaN, or techniques do not solve the puzzle.
      solutions: int32[n], up to 2; -1 if a search was abandoned.
    """

    rating: np.ndarray
    label: np.ndarray
    solutions: np.ndarray


class Rater:
    """Rates batches of puzzles, each puzzle independently of its batch; a ``run.Worker`` that loads JAX.

    Args:
      board: the board.
      request: the settings of the rating.
      report: called with the number of rated puzzles of a batch, and its size.
    """

    def __init__(self, board: Board, request: Request, report: Report | None = None) -> None:
        self.board, self.request, self._report = board, request, report
        self.number, self.label = _RATED[request.by]
        self._clues = ClueSource(board)

    @property
    def settings(self) -> str:
        """The flags that ratings depend on."""
        request = self.request
        if request.by == "technique":
            return f"--by technique{f' --up-to {request.up_to}' if request.up_to else ''}"
        return f"--seed {request.seed} --searches {request.searches}"

    def rate(self, chunk: Chunk, rows: Sequence[int]) -> Ratings:
        """The ratings of some puzzles of a chunk; reports nothing."""
        at = np.array(rows, int)
        clues = self._clues.of(chunk)
        return self._rated(searchable(chunk.grids, chunk.good)[at], None if clues is None else clues[at], None)

    def _rated(self, puzzles: np.ndarray, clues: Clues | None, report: Report | None) -> Ratings:
        from jaxsudoku.rating import rate_by_nodes
        from jaxsudoku.techniques.ratings import rate_by_technique
        from jaxsudoku.techniques.weakest_rules import weakest_of

        request = self.request
        if request.by == "technique":
            found = rate_by_technique(puzzles, self.board, request.up_to, clues, progress=report)
            return Ratings(found.score, found.names, self._solutions(puzzles, clues, found.score))
        rules = _SOLVED_BY[weakest_of(puzzles, self.board, clues)]  # first, as the share of the work is that of ratings
        key, searches = request.seed, request.searches
        rating = rate_by_nodes(puzzles, self.board, clues, key=key, searches=searches, progress=report)
        rules[np.isnan(rating)] = ""
        solutions = self._solutions(puzzles, clues, rating)
        return Ratings(rating, rules, np.where(np.isinf(rating), np.int32(-1), solutions))

    def _solutions(self, puzzles: np.ndarray, clues: Clues | None, rating: np.ndarray) -> np.ndarray:
        """The number of solutions, up to 2: 1 for puzzles with a rating, 0 for invalid ones."""
        from jaxsudoku.engine.batches import Engine
        from jaxsudoku.engine.kernels import as_items
        from jaxsudoku.exact import ExactConfig
        from jaxsudoku.exact.uniqueness import CountKernel

        counts = np.where(np.isnan(rating), 0, 1).astype(np.int32)
        searched = np.flatnonzero((counts == 0) & (puzzles <= self.board.side).all(axis=1))
        searched = searched[~clashing(puzzles[searched], self.board)]
        if len(searched):
            own = None if clues is None else clues[searched]
            kernel = CountKernel(ExactConfig(), form=None if own is None else own.form, grids=False)
            counts[searched] = Engine(kernel, self.board).run(as_items(puzzles[searched], clues=own)).counts
        return counts

    def split(self, chunk: Chunk) -> list[slice]:
        """One batch, which ``rate`` divides among the cores."""
        return [slice(0, len(chunk))]

    def compile(self, chunk: Chunk) -> None:
        """Does nothing, as ``rate`` compiles."""

    def stream(self, chunks: Iterable[Chunk], first: int = 0) -> Iterator[Ratings]:
        """The ratings of chunks."""
        del first
        for chunk in chunks:
            yield self._rated(searchable(chunk.grids, chunk.good), self._clues.of(chunk), self._report)


class RatingWriter:
    """Writer of ratings to a table, after those of an earlier run; a context manager.

    Args:
      table: the table.
      name: the name of the output.
      rater: rates the first puzzles of an earlier run again.
      extras: further columns of the input.

    Attributes:
      done: puzzles that an earlier run rated.
    """

    def __init__(self, table: TableWriter, name: str, rater: Rater, extras: list[str]) -> None:
        self.done = table.done
        self._table, self._name, self._rater, self._extras = table, name, rater, extras
        # text has no ratings
        kept = {row: fields[rater.number] for row, fields in table.kept.items() if rater.number in fields}
        self._again = _rated_again(kept, rater.request.by)

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The puzzles that are missing in the table.

        Raises:
          ResumeError: the table has puzzles of another input, too many, or other ratings.
        """
        count = 0
        for chunk in chunks:
            count = chunk.start + len(chunk)
            if chunk.start < self.done:
                self._table.check(chunk.start, {"puzzle": self._puzzles(chunk)})
                self._check_ratings(chunk)
            if count > self.done:
                yield chunk[max(0, self.done - chunk.start) :]
        if count < self.done:
            raise ResumeError(
                f"{self._name}: has {self.done} puzzles, the input only {count}; the output is left as it is"
            )

    def _check_ratings(self, chunk: Chunk) -> None:
        """Rates some puzzles of an earlier run again, to check that the settings are the same."""
        rater = self._rater
        rows = [row for row in self._again if 0 <= row - chunk.start < len(chunk)]
        ratings = rater.rate(chunk, [row - chunk.start for row in rows]).rating.tolist() if rows else []
        for row, rating in zip(rows, ratings, strict=True):
            earlier = float(self._table.kept[row][rater.number] or "nan")
            if not np.isclose(earlier, rating, rtol=1e-4, equal_nan=True):
                raise ResumeError(
                    f"{self._name}: puzzle {row + 1} is rated {earlier:.6g}, and by {rater.settings} it is "
                    f"{rating:.6g}; the output is left as it is"
                )

    def write(self, chunk: Chunk, ratings: Ratings) -> None:
        """Appends the ratings of a chunk."""
        self._table.write(
            {
                "puzzle": self._puzzles(chunk),
                "clues": np.ma.masked_array((chunk.grids > 0).sum(axis=1, dtype=np.int32), ~chunk.good),
                self._rater.number: ratings.rating,
                self._rater.label: ratings.label.tolist(),
                "status": verdicts(self._rater.board, chunk, ratings.solutions, 2).tolist(),
                **{name: ["" if x is None else str(x) for x in chunk.extras[name]] for name in self._extras},
            }
        )

    def _puzzles(self, chunk: Chunk) -> Sequence[str]:
        """The first column; a malformed text may have several lines, which only tables support."""
        board = self._rater.board
        return (
            grid_column(chunk.grids, board, ~chunk.good) if self._table.kind == "text" else puzzle_texts(chunk, board)
        )

    def __enter__(self) -> RatingWriter:
        self._table.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._table.__exit__(*error)


def _rated_again(kept: Mapping[int, str], by: str) -> list[int]:
    """The rows of an earlier run that are rated again to detect other settings.

    These are the first rows. With ratings by technique also the one with the highest finite rating, which would be
    infinite with easier techniques only, and some with an infinite rating, which may be finite with harder ones.

    Args:
      kept: ratings by row.
      by: one of ``RATED_BY``.
    """
    ratings = {row: float(text or "nan") for row, text in sorted(kept.items())}
    rows = set(list(ratings)[:_RATED_AGAIN])
    if by == "technique":
        finite = [row for row, rating in ratings.items() if np.isfinite(rating)]
        infinite = [row for row, rating in ratings.items() if np.isinf(rating)]
        rows |= {*sorted(finite, key=ratings.__getitem__)[-1:], *infinite[:_INFINITE_AGAIN]}
    return sorted(rows)


def _outcomes(board: Board, chunk: Chunk, ratings: Ratings) -> tuple[dict[str, int], np.ndarray]:
    status = verdicts(board, chunk, ratings.solutions, 2)
    unlabelled = np.where(np.isinf(ratings.rating), _BEYOND, "complete")
    labels = np.where(ratings.label == "", unlabelled, ratings.label)
    outcomes = np.where(np.isnan(ratings.rating), status, labels)
    names, counts = np.unique(outcomes.astype(str), return_counts=True)
    by_name = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return by_name, np.flatnonzero(status == INVALID)
