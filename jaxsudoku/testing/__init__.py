"""A conformance kit: checks for your own solvers, networks, rules, constraints and formats.

The library's tests run the same checks. Each raises AssertionError, with the property that fails and a puzzle.
They compare with ``plain``, which solves puzzles by brute force in plain Python, and need no test framework.
"""

from .constraint import check_constraint
from .format import check_format
from .network import check_network
from .rule import check_rule
from .solver import check_solver

__all__ = ["check_constraint", "check_format", "check_network", "check_rule", "check_solver"]
