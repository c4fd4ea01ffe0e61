"""The statuses of results, and the numbers that solvers report beside them."""

from __future__ import annotations

import enum

#: The entries of ``Solution.stats`` that are written to files, in the order of their columns.
STATS = ("network_calls", "errors")
#: The entry of ``Solution.stats`` with the error messages of malformed puzzles.
CAUSE = "cause"


class Status(enum.IntEnum):
    """Status of a puzzle's result."""

    UNSOLVED = 0  #: neither solved nor refuted within the budget
    SOLVED = 1  #: the grid is complete, keeps the givens and breaks no rule
    UNSATISFIABLE = 2  #: proved to have no solution
    INVALID = 3  #: the givens clash, or a value lies outside 0..side
    MALFORMED = 4  #: no puzzle: a malformed or missing text, in files and with ``solve(..., errors="mark")``
