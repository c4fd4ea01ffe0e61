"""The loop of commands that answer puzzles of an input: batches are read, computed and written concurrently.

Answers don't depend on where an earlier run was stopped: the input is divided into the same batches, each with the same
number and so the same key, and a batch that was answered in part is computed again completely.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.io import Chunk, Kind, PuzzleFileError, ResumeError, kind_of
from jaxsudoku.runtime.terminal.failure import described
from jaxsudoku.runtime.terminal.progress import Meter, share_read

from .inputs import Input
from .invocation import Invocation
from .outputs import Running
from .report import Tally

if TYPE_CHECKING:
    from jaxsudoku.core.constraints.clues import ClueForm, Clues
    from jaxsudoku.engine.batches import Engine

Result = TypeVar("Result")

#: Maximum number of batches in a part of a job, as batches of different parts have different numbers.
BATCHES = 1 << 12


class Worker(Protocol):
    """Interface of classes that compute answers."""

    def split(self, chunk: Chunk) -> list[slice]:
        """Divides the first chunk, which may be all of a short input, into batches."""

    def compile(self, chunk: Chunk) -> None:
        """Compiles for batches such as this one."""

    def stream(self, chunks: Iterable[Chunk], first: int = 0) -> Iterator[Any]:
        """The answers to chunks in order; the first chunk has the number ``first``."""


class ClueSource:
    """The constraints of chunks as clues of one form, so that they use one program; a chunk may widen the form.

    Args:
      board: the board.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._form: ClueForm | None = None
        self._kept: tuple[Chunk, Clues] | None = None

    def keep(self, chunk: Chunk) -> None:
        """Keeps the clues of a chunk for its parts, the batches into which it is divided."""
        clues = self.of(chunk)
        self._kept = None if clues is None else (chunk, clues)

    def of(self, chunk: Chunk) -> Clues | None:
        """The constraints of a chunk's puzzles and what follows from them; None if the input has none."""
        if chunk.constraints is None:
            return None
        from jaxsudoku.core.constraints.clues import ClueForm, Clues
        from jaxsudoku.core.constraints.house_sums import with_house_sums

        if self._kept is not None:
            whole, kept = self._kept
            at = chunk.start - whole.start
            if 0 <= at <= len(whole) - len(chunk):
                return kept[at : at + len(chunk)]
            self._kept = None
        clues = with_house_sums(Clues.of(chunk.constraints, self._board), self._board)
        self._form = (self._form or ClueForm(self._board.cells)).holding(clues)
        return clues.of_form(self._form)


class Engines:
    """A ``Worker`` of engines with one kernel: without and with the candidates and the constraints of puzzles.

    Args:
      kernel: a ``driver.SolveKernel`` or ``uniqueness.CountKernel``.
      board: the board.
      request: the seed, and the size of batches.
      finish: (chunk, results) -> answers.
      shared: as in ``Engine``.
      within: whether the kernel takes candidates; if not, they are left out.

    Attributes:
      engine: the engine of puzzles with neither.
    """

    def __init__(
        self,
        kernel: Any,
        board: Board,
        request: Running,
        finish: Callable[[Chunk, Any], Any],
        shared: tuple[Any, ...] = (),
        within: bool = True,
    ) -> None:
        from jaxsudoku.engine.batches import Engine

        self.engine = Engine(kernel, board, request.seed, request.batch_size, shared=shared)
        self._engines: dict[tuple[bool, ClueForm | None], Engine] = {(False, None): self.engine}
        self._kernel, self._board, self._request, self._shared = kernel, board, request, shared
        self._finish, self._within = finish, within
        self._clues = ClueSource(board)

    def split(self, chunk: Chunk) -> list[slice]:
        """Divides the first chunk into batches, whose constraints have one form."""
        self._clues.keep(chunk)
        return self.engine.split(len(chunk))

    def compile(self, chunk: Chunk) -> None:
        """Compiles for batches such as this one."""
        self._engine_of(self._clues.of(chunk), chunk).compile(len(chunk))

    def stream(self, chunks: Iterable[Chunk], first: int = 0) -> Iterator[Any]:
        """The answers to chunks."""
        from jaxsudoku.engine.kernels import as_items

        def prepared() -> Iterator[tuple[Engine, Chunk, np.ndarray]]:
            for chunk in chunks:
                clues = self._clues.of(chunk)
                candidates = chunk.candidates_of(range(len(chunk))) if self._listed(chunk) else None
                items = as_items(searchable(chunk.grids, chunk.good), candidates, clues)
                yield self._engine_of(clues, chunk), chunk, items

        for engine, group in itertools.groupby(prepared(), lambda part: part[0]):
            taken: list[Chunk] = []
            for results in engine.stream(_items(group, taken), first):
                first += 1
                yield self._finish(taken.pop(0), results)

    def _listed(self, chunk: Chunk) -> bool:
        return self._within and bool(chunk.listed.any())

    def _engine_of(self, clues: Clues | None, chunk: Chunk) -> Engine:
        from jaxsudoku.engine.batches import Engine

        key = self._listed(chunk), None if clues is None else clues.form
        if key not in self._engines:
            kernel = dataclasses.replace(self._kernel, listed=key[0], form=key[1])
            size, seed = self.engine.batch_size, self._request.seed
            shared = () if key[0] else self._shared  # a kernel takes candidates in the place of a network
            self._engines[key] = Engine(kernel, self._board, seed, size, shared=shared)
        return self._engines[key]


def _items(parts: Iterable[tuple[Engine, Chunk, np.ndarray]], taken: list[Chunk]) -> Iterator[np.ndarray]:
    """The items of chunks; appends the chunks to ``taken``."""
    for _, chunk, items in parts:
        taken.append(chunk)
        yield items


class Sink(Protocol):
    """Interface of writers of answers, a context manager; ``io.SolutionWriter`` is one.

    Attributes:
      done: number of puzzles answered by an earlier run.
    """

    done: int

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The puzzles that are not answered yet."""

    def write(self, chunk: Chunk, answers: Any, /) -> None:
        """Appends the answers to a chunk."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: Any) -> None: ...


class Check(Protocol):
    """Interface of checks of answers after they are written; ``solve.Uniqueness`` is one."""

    def compile(self, chunk: Chunk) -> None:
        """Compiles for batches such as this one."""

    def add(self, chunk: Chunk, answers: Any, /) -> None:
        """Checks the answers to a chunk."""


class Part(NamedTuple):
    """A batch of the input.

    Attributes:
      number: the number of the batch.
      whole: the puzzles that are computed.
      unanswered: the puzzles that are written: all of them, or the last ones.
    """

    number: int
    whole: Chunk
    unanswered: Chunk


class Run:
    """The work of a command on an input, from the first progress to the summary; loads JAX.

    Args:
      request: the request.
      invocation: the run of the command.
      source: the input.
      outcomes: the outcomes of a puzzle, in the order of the summary.
      limit: as in ``Tally``.

    Attributes:
      tally: the answered puzzles.
    """

    def __init__(
        self, request: Running, invocation: Invocation, source: Input, outcomes: Sequence[str], limit: int | None = None
    ) -> None:
        self._screen = invocation.start_screen(request.quiet)
        self.tally = Tally(outcomes, limit)
        self._request, self._invocation, self._source = request, invocation, source
        self._meter, self._puzzles, self._share = Meter(), source.puzzles, share_read(source.puzzles.stream)
        self._note: Callable[[], str] = str
        self._done = 0
        self._bad = invocation.bad_lines(self._screen, source.puzzles)
        self._error: str | None = None

    def say(self, message: str) -> None:
        """Prints a message unless it is empty or the run is quiet."""
        if message and not self._request.quiet:
            self._screen.say(message)

    def say_replaced(self, kind: Kind | None, replaced: Collection[str]) -> None:
        """Reports columns of the input that are not carried to the output, if the output has columns.

        Args:
          kind: the kind of the output; None to take it from the name.
          replaced: columns that the command replaces or leaves out.
        """
        names = [name for name in self._source.columns if name in replaced]
        if names and kind_of(self._request.output, kind)[0] != "text":
            self.say(f"{self._source.path}: columns that the output replaces or leaves out: {', '.join(names)}")

    def answer(
        self,
        chunks: Iterator[Chunk],
        worker: Worker,
        sink: Sink,
        outcomes: Callable[[Chunk, Any], tuple[dict[str, int], np.ndarray]],
        *,
        note: Callable[[], str] = str,
        check: Check | None = None,
        rowwise: bool = False,
        within: bool = False,
    ) -> None:
        """Answers all puzzles that are missing in the sink, up to the first failure of reading.

        Args:
          chunks: the input.
          worker: computes the answers.
          sink: writes the answers.
          outcomes: (chunk, answers) -> the number of puzzles by outcome, and the rows whose givens clash.
          note: the end of the line of progress.
          check: checks answers after they are written.
          rowwise: whether a puzzle's answer is independent of its batch, so that no answered puzzle is computed again.
          within: whether answers are restricted to the candidates that the input lists; if not, this is reported.

        Raises:
          ResumeError: the sink has answers to another input.
        """
        batches = _Batches(chunks, worker, rowwise, self._invocation.part * BATCHES)
        self._bad.within = within
        self._note, self._done = note, sink.done
        self.tally.begin()
        try:
            with sink:
                for part, answers in self._computed(batches.unanswered(sink), worker, check):
                    with self._invocation.signals.held():
                        sink.write(part, answers)
                        counts, clashes = outcomes(part, answers)
                        self.tally.add(counts)
                    self._bad.add(part, clashes)
                    if check is not None:
                        check.add(part, answers)
                    self.show()
            if batches.failure is not None:
                raise batches.failure
        except BrokenPipeError:
            raise
        except (OSError, PuzzleFileError) as error:
            self._error = described(error)

    def _computed(self, parts: Iterator[Part], worker: Worker, check: Check | None) -> Iterator[tuple[Chunk, Any]]:
        """The puzzles that are missing in the sink, with their answers."""
        import jax

        first = next(parts, None)
        if first is None:
            return
        self.show(now=True)
        for compiled in (worker, check):
            if compiled is not None:
                interruptible(compiled.compile, first.whole)
        in_flight: list[Part] = []

        def chunks() -> Iterator[Chunk]:
            for part in itertools.chain([first], parts):
                in_flight.append(part)
                yield part.whole

        for answers in worker.stream(chunks(), first.number):
            part = in_flight.pop(0)
            answered = len(part.whole) - len(part.unanswered)
            yield part.unanswered, jax.tree.map(operator.itemgetter(slice(answered, None)), answers)

    def show(self, ahead: int = 0, *, now: bool = False) -> None:
        """Shows the progress; ``ahead`` is the number of puzzles that are computed, but not written yet."""
        count, read, share = self._puzzles.count, self._puzzles.read, self._share()
        if count is None and share:
            count = max(read, round(read / share))
        done = self._done + self.tally.puzzles + ahead
        line = self._meter.line(done, count, about=self._puzzles.count is None)
        self._screen.show(f"{line}{self.tally.listed()}{self._note()}", now=now, task=True)

    def finish(self, note: str = "", **details: Any) -> int:
        """Reports the summary, as ``Invocation.summarize``; returns the exit status."""
        self._bad.finish()
        self._invocation.summarize(self._request, self._screen, self.tally, self._error, note, **details)
        return 1 if self._error is not None or self._bad.count else 0


class _Batches:
    """The batches of an input. They end where reading fails, so that all puzzles before are answered.

    Args:
      chunks: the input.
      worker: computes the answers.
      rowwise: as in ``Run.answer``.
      first: the number of the first batch.

    Attributes:
      failure: the error at which reading ended early; None if it did not.
    """

    def __init__(self, chunks: Iterator[Chunk], worker: Worker, rowwise: bool, first: int) -> None:
        self.failure: OSError | PuzzleFileError | None = None
        self._chunks, self._worker, self._rowwise, self._first = chunks, worker, rowwise, first

    def unanswered(self, sink: Sink) -> Iterator[Part]:
        """The batches that are missing in the sink, at least in part."""
        number, whole = -1, None

        def remembered() -> Iterator[Chunk]:
            nonlocal number, whole
            for number, whole in enumerate(self._even(), self._first):  # noqa: B007 - read by the loop below
                yield whole

        try:
            for rest in sink.remaining(remembered()):
                assert whole is not None
                yield Part(number, rest if self._rowwise else whole, rest)
        except ResumeError:
            # an input that breaks off early may seem too short for the output
            if self.failure is None:
                raise

    def _even(self) -> Iterator[Chunk]:
        chunks = self._readable()
        first = next(chunks, None)
        if first is None:
            return
        # a chunk is short only if it is the last one: a short input is cut, so that each core gets a part
        yield from (first[part] for part in self._worker.split(first))
        yield from chunks

    def _readable(self) -> Iterator[Chunk]:
        try:
            yield from self._chunks
        except (OSError, PuzzleFileError) as failure:
            self.failure = failure


def searchable(grids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Grids uint8[n, cells] in which the rows outside ``wanted``, bool[n], are invalid, so that they cost no search."""
    return grids if wanted.all() else np.where(wanted[:, None], grids, np.uint8(255))


def interruptible(function: Callable[..., Result], *arguments: Any) -> Result:
    """Calls a function in a thread: a signal is handled only while the main thread runs Python or waits."""
    import concurrent.futures  # slow to import, and not needed for --help

    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        return pool.submit(function, *arguments).result()
    finally:
        pool.shutdown(wait=False)
