"""Summaries of commands: puzzles by outcome, times, device and versions."""

from __future__ import annotations

import collections
import platform
import time
from collections.abc import Mapping, Sequence
from typing import Any

from jaxsudoku._version import __version__

#: Names in summaries of outcomes whose plain name is unclear.
_OUTCOMES = {
    "0": "without a solution",
    "several": "with several solutions",
    "unsatisfiable": "without a solution",
    "invalid": "with clashing givens",
    "beyond": "beyond all techniques",
}
#: Number of bad lines that are reported one by one.
QUOTED = 20


class Tally:
    """Counts puzzles by outcome, and times the work on them; loads JAX.

    Args:
      outcomes: the outcomes in the order of the summary. Further outcomes are numbers of solutions, in ascending order.
      limit: the number of solutions at which counting stops.

    Attributes:
      start: the time of the start of the work.
      excluded_seconds: time that does not count as work.
    """

    def __init__(self, outcomes: Sequence[str], limit: int | None = None) -> None:
        from jaxsudoku.engine import batches

        self._outcomes, self._limit = outcomes, limit
        self._counter: collections.Counter[str] = collections.Counter()
        self._compile_seconds = batches.compile_seconds
        self.excluded_seconds = 0.0
        self.begin()

    def begin(self) -> None:
        """Starts the clock."""
        self._compiled_before = self._compile_seconds()
        self.start = time.perf_counter()

    def add(self, counts: Mapping[str, int]) -> None:
        """Adds puzzles, by outcome."""
        self._counter.update(counts)

    @property
    def puzzles(self) -> int:
        """The number of puzzles."""
        return self._counter.total()

    @property
    def counts(self) -> dict[str, int]:
        """The puzzles by outcome."""
        numbers = sorted((outcome for outcome in self._counter if outcome not in self._outcomes), key=int)
        return {outcome: self._counter[outcome] for outcome in (*self._outcomes, *numbers)}

    @property
    def compile_seconds(self) -> float:
        """Seconds of compilation, or of loading compiled programs."""
        return self._compile_seconds() - self._compiled_before

    @property
    def seconds(self) -> float:
        """Seconds of work since the start, without compilation."""
        return max(time.perf_counter() - self.start - self.compile_seconds - self.excluded_seconds, 1e-9)

    def listed(self) -> str:
        """The puzzles by outcome, in words."""
        return listed(self.counts, self._limit)


def record(**fields: Any) -> dict[str, Any]:
    """Fields of a report as JSON: rounded seconds, then the device and the versions."""
    import importlib.metadata

    import jax

    devices = jax.local_devices()
    rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in fields.items()}
    return {
        **rounded,
        "device": {"platform": devices[0].platform, "kind": devices[0].device_kind, "count": len(devices)},
        "versions": {
            "jaxsudoku": __version__,
            "jax": importlib.metadata.version("jax"),
            "python": platform.python_version(),
        },
    }


def counted(count: int) -> str:
    """A number of puzzles in words."""
    return f"{count:,} {'puzzle' if count == 1 else 'puzzles'}"


def listed(counts: Mapping[str, int], limit: int | None = None) -> str:
    """Formats counts as in ": 5 solved, 1 malformed", and numbers of solutions as in "7 with 1 solution".

    Args:
      counts: the puzzles by outcome.
      limit: the number of solutions at which counting stopped.
    """
    named = [f"{count:,} {_in_words(name, limit)}" for name, count in counts.items() if count]
    return f": {', '.join(named)}" if named else ""


def _in_words(outcome: str, limit: int | None) -> str:
    """The words for an outcome, after the number of its puzzles."""
    if outcome in _OUTCOMES or not outcome.isdecimal():
        return _OUTCOMES.get(outcome, outcome)
    more = " or more" if outcome == str(limit) else ""
    return f"with {outcome}{more} solution{'' if outcome + more == '1' else 's'}"
