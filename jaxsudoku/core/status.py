"""The statuses of results, and the numbers that solvers report beside them."""

from __future__ import annotations

import enum

#: The numbers of ``Solution.stats`` that are written into files, in the order of their columns.
STATS = ("network_calls", "errors")
#: The entry of ``Solution.stats`` that says what is wrong with malformed puzzles.
CAUSE = "cause"


class Status(enum.IntEnum):
    """The result of a solver for one puzzle."""

    UNSOLVED = 0  #: neither solved nor refuted within the budget
    SOLVED = 1  #: the grid is complete, keeps the givens and breaks no rule
    UNSATISFIABLE = 2  #: proved to have no solution
    INVALID = 3  #: the givens clash, or a value lies outside 0..side
    MALFORMED = 4  #: there is no puzzle: a malformed or missing text, of ``solve(..., errors="mark")`` and in files
