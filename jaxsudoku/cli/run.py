"""Running a kernel over an input: chunks are read, solved and written side by side, in the order of the input.

Answers don't depend on where an earlier run was stopped: the input is cut into the same batches, each with the same
number and so the same key, and a batch that was answered in part is solved again as a whole.
"""

from __future__ import annotations

import concurrent.futures
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from jaxsudoku.batches import Engine
from jaxsudoku.board import Board
from jaxsudoku.io import Chunk, PuzzleFileError, ResumeError
from jaxsudoku.terminal.progress import Screen
from jaxsudoku.terminal.stop import Signals

from .report import BadLines, Tally


class Sink(Protocol):
    """Where answers go; ``io.SolutionWriter`` is one."""

    done: int

    def remaining(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """What is not answered yet."""

    def write(self, chunk: Chunk, answers: Any) -> None:
        """Appends the answers to a chunk."""


class Outcomes(Protocol):
    """What the answers to a chunk amount to: puzzles by outcome, and the rows whose givens clash."""

    def __call__(self, chunk: Chunk, answers: Any, board: Board, /) -> tuple[dict[str, int], np.ndarray]: ...


class Check(Protocol):
    """What looks at answers once more after they were written; ``Uniqueness`` is one."""

    def compile(self, size: int) -> None:
        """Compiles for batches of ``size`` puzzles."""

    def add(self, chunk: Chunk, answers: Any, /) -> None:
        """Looks at the answers to a chunk."""


class Part(NamedTuple):
    """A batch of the input, its number, and what of it is to be answered: all, or its end."""

    number: int
    whole: Chunk
    asked: Chunk


class Batches:
    """The batches of an input. Reading failures end them early, so that all that came before gets its answers.

    Attributes:
      failure: why reading ended early, None if it didn't.
    """

    def __init__(self, chunks: Iterator[Chunk], engine: Engine) -> None:
        self.failure: OSError | PuzzleFileError | None = None
        self._chunks, self._engine = chunks, engine

    def unanswered(self, sink: Sink) -> Iterator[Part]:
        """The batches that the sink lacks, at least in part."""
        number, whole = -1, None

        def remembered() -> Iterator[Chunk]:
            nonlocal number, whole
            for number, whole in enumerate(self._even()):  # noqa: B007 - read by the loop below
                yield whole

        try:
            for asked in sink.remaining(remembered()):
                assert whole is not None
                yield Part(number, whole, asked)
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
        yield from (first[part] for part in self._engine.split(len(first)))
        yield from chunks

    def _readable(self) -> Iterator[Chunk]:
        try:
            yield from self._chunks
        except (OSError, PuzzleFileError) as failure:
            self.failure = failure


class Run:
    """The work on one input.

    The line of progress begins with ``share`` and ends with ``told``; ``check`` sees each chunk with its answers.

    Attributes:
      tally: what has been answered.
      compile_seconds: time until the first batch could be run.
    """

    def __init__(
        self,
        engine: Engine,
        screen: Screen,
        bad: BadLines,
        signals: Signals,
        told: Callable[[], str] = str,
        share: Callable[[], str] = str,
        check: Check | None = None,
    ) -> None:
        self.engine, self.screen, self.bad, self.signals = engine, screen, bad, signals
        self._told, self._share, self._check = told, share, check
        self.compile_seconds = 0.0
        self.tally = Tally()

    def answer(self, batches: Batches, sink: Sink, outcomes: Outcomes) -> None:
        """Answers all that the sink lacks.

        Raises:
          OSError, PuzzleFileError: writing failed, or reading did; in that case all that could be read is answered.
          ResumeError: the sink holds no answers to this input.
        """
        parts = batches.unanswered(sink)
        first = next(parts, None)
        if first is not None:
            self.screen.show("compiling ...", now=True)
            clock = Tally()
            self._compile(len(first.whole))
            self.compile_seconds, self.tally = clock.seconds, Tally()
            self.screen.show("solving ...", now=True)
            for part, answers in self._solved(itertools.chain([first], parts), first.number):
                skipped = len(part.whole) - len(part.asked)
                asked = _rows(answers, skipped)
                with self.signals.held():
                    sink.write(part.asked, asked)
                    counts, invalid = outcomes(part.asked, asked, self.engine.board)
                    self.tally.add(counts)
                self.bad.add(part.asked, invalid)
                if self._check is not None:
                    self._check.add(part.asked, asked)
                self.screen.show(f"{self._share()}{self.tally}{self._told()}")
        if batches.failure is not None:
            raise batches.failure

    def _compile(self, size: int) -> None:
        # in a thread, as a signal is heard only while the main thread runs Python or waits
        pool = concurrent.futures.ThreadPoolExecutor(1)
        try:
            pool.submit(self.engine.compile, size).result()
            if self._check is not None:
                pool.submit(self._check.compile, size).result()
        finally:
            pool.shutdown(wait=False)

    def _solved(self, parts: Iterable[Part], first: int) -> Iterator[tuple[Part, Any]]:
        flying: list[Part] = []

        def grids() -> Iterator[np.ndarray]:
            for part in parts:
                flying.append(part)
                yield _searchable(part.whole, self.engine.board)

        for answers in self.engine.stream(grids(), first):
            yield flying.pop(0), answers


def _searchable(chunk: Chunk, board: Board) -> np.ndarray:
    """The chunk's grids, uint8[n, cells], malformed ones invalid: a blank grid would be searched."""
    return chunk.grids if chunk.good.all() else np.where(chunk.good[:, None], chunk.grids, np.uint8(board.side + 1))


def _rows(answers: Any, start: int) -> Any:
    """Answers, a pytree of arrays, from a row on."""
    return jax.tree.map(lambda part: part[start:], answers)
