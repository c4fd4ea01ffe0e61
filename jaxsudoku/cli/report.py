"""What a run tells: the lines that held no valid puzzle, and a summary."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import platform
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from jaxsudoku._version import __version__
from jaxsudoku.board import Board
from jaxsudoku.io import Chunk, Kind, LineError, kind_of
from jaxsudoku.terminal.progress import Screen

from .clash import describe_clash

#: How many bad lines are reported one by one.
QUOTED = 20


class BadLines:
    """Reports malformed lines and clashing givens: the first few as they come, the number of the others at the end."""

    def __init__(self, screen: Screen, source: str, board: Board) -> None:
        self.count = 0
        self._screen, self._source, self._board = screen, source, board

    def add(self, chunk: Chunk, invalid: np.ndarray) -> None:
        """Reports the malformed puzzles of a chunk, and those in the rows ``invalid``, whose givens clash."""
        quoted = max(0, QUOTED - self.count)
        self.count += len(chunk.errors) + len(invalid)
        errors = [
            *chunk.errors[:quoted],
            *(
                LineError(self._source, int(chunk.lines[row]), describe_clash(self._board, chunk.grids[row]))
                for row in invalid[:quoted]
            ),
        ]
        for error in sorted(errors, key=lambda error: error.line)[:quoted]:
            self._screen.say(str(error))

    def finish(self) -> None:
        """Says how many there were beyond those that were reported."""
        if self.count > QUOTED:
            self._screen.say(f"... and {self.count - QUOTED} more")


def say_replaced(screen: Screen, args: argparse.Namespace, kind: Kind | None, replaced: Collection[str]) -> None:
    """Says which columns of the input are not in the output, as far as it has columns.

    Args:
      screen: where to say it.
      args: of the command, with the ``columns`` of its input.
      kind: of the output, by default told from its name.
      replaced: columns that the command writes itself or leaves out.
    """
    names = [name for name in args.columns if name in replaced]
    if names and not args.quiet and kind_of(args.output, kind)[0] != "text":
        screen.say(f"{args.input}: columns that the output replaces or leaves out: {', '.join(names)}")


class Tally:
    """Counts answers by outcome, and the time they took."""

    def __init__(self) -> None:
        self.puzzles = 0
        self.counts: collections.Counter[str] = collections.Counter()
        self._start = time.perf_counter()

    def add(self, counts: Mapping[str, int]) -> None:
        self.puzzles += sum(counts.values())
        self.counts.update(counts)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    @property
    def rate(self) -> float:
        return self.puzzles / self.seconds

    def __str__(self) -> str:
        return f"{counted(self.puzzles)}, {self.rate:,.0f}/s{listed(self.counts)}"


@dataclasses.dataclass(frozen=True)
class Summary:
    """A run in numbers; ``str()`` is one line for people, ``json()`` one object.

    Attributes:
      puzzles: answered by this run.
      already_answered: answered by the run that this one went on from.
      counts: puzzles by outcome; they add up to ``puzzles``.
      startup_seconds: from the start of the command to a device that is ready.
      compile_seconds: compiling, or loading what had been compiled.
      seconds: reading, solving and writing.
      puzzles_per_second: ``puzzles`` over ``seconds``.
      error: why the run ended early, None if it didn't.
      device: platform, kind and number of devices.
      solver, config, board: what was asked for.
      limit: solutions at which a count stops, None unless counting.
      network: the name or path of a guided solver's network, None of other solvers.
      network_calls: positions that it looked at, likewise.
      several: solved puzzles that have further solutions, though the file says that each has one; None where a file
        does not say so, or that is not looked into.
      errors: what is wrong with the best grids of all puzzles together, None of a solver that works on no full grids.
    """

    puzzles: int
    already_answered: int
    counts: dict[str, int]
    startup_seconds: float
    compile_seconds: float
    seconds: float
    puzzles_per_second: float
    error: str | None
    device: dict[str, Any]
    solver: str
    config: dict[str, Any]
    board: str
    limit: int | None = None
    network: str | None = None
    network_calls: int | None = None
    errors: int | None = None
    several: int | None = None

    def json(self) -> str:
        numbers = {
            name: round(value, 6) if isinstance(value, float) else value
            for name, value in dataclasses.asdict(self).items()
        }
        return json.dumps({**numbers, "versions": versions()})

    def __str__(self) -> str:
        return (
            f"{counted(self.puzzles)} in {self.seconds:.2f} s ({self.puzzles_per_second:,.0f}/s)"
            f"{listed(self.counts)}; start {self.startup_seconds:.1f} s, compilation {self.compile_seconds:.1f} s"
            f"{self._contradiction()}"
        )

    def _contradiction(self) -> str:
        if not self.several:
            return ""
        have = "has" if self.several == 1 else "have"
        return f"; {self.several:,} {have} several solutions, though the file says that each puzzle has one"


def versions() -> dict[str, str]:
    """What ran, by name."""
    import importlib.metadata

    return {"jaxsudoku": __version__, "jax": importlib.metadata.version("jax"), "python": platform.python_version()}


def device_of(devices: Sequence[Any]) -> dict[str, Any]:
    """What it ran on."""
    return {"platform": devices[0].platform, "kind": devices[0].device_kind, "count": len(devices)}


def counted(count: int) -> str:
    """A number of puzzles in words."""
    return f"{count:,} puzzle{'s' * (count != 1)}"


def listed(counts: Mapping[str, int]) -> str:
    """Counts as in ": 5 solved, 1 malformed"; a number of solutions as in "7 with 2"."""
    named = [f"{count:,} {'with ' * name.isdecimal()}{name}" for name, count in counts.items() if count]
    return f": {', '.join(named)}" if named else ""
