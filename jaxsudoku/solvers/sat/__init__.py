"""Solvers that hand open puzzles to a SAT solver on the host: ``sat``, and ``auto`` after the exact search.

``encoding`` makes the clauses of a puzzle, ``processes`` solves them in processes of its own, ``engine`` is what such
a process runs, and ``solver`` completes the batches of both solvers.
"""

from .sat_config import AutoConfig, SatConfig

__all__ = ["AutoConfig", "SatConfig"]
