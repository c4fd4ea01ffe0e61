"""Settings of the solvers that use a SAT solver. No JAX."""

from __future__ import annotations

import dataclasses
import importlib.util
import warnings
from typing import Literal

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import SolverConfig, Words, search_restart
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.runtime.settings import Positive

#: SAT solvers of python-sat.
SatEngine = Literal["glucose4", "cadical195"]

#: Nodes of the exact search before a SAT solver takes over: on boards searched without restarts, with them on up to
#: 25x25, and on wider ones, where a node takes longest and a SAT solver is most ahead.
_BUDGETS = (1_000_000, 10_000, 1_000)

#: What to do without the SAT solvers.
_INSTALL = "pip install 'jaxsudoku[sat]'"


def _engine(board: Board) -> SatEngine:
    """glucose4 up to 25x25, where it is as fast or faster; cadical195 takes half of its time on 36x36."""
    return "glucose4" if board.side <= 25 else "cadical195"


def _installed() -> bool:
    # another package has this name too
    return importlib.util.find_spec("pysat") is not None and importlib.util.find_spec("pysat.solvers") is not None


@dataclasses.dataclass(frozen=True)
class SatConfig(SolverConfig):
    """Settings of ``sat``.

    Attributes:
      engine: the SAT solver of python-sat: glucose4 or cadical195; None for the one that suits the board.
      seconds: seconds of the SAT solver after which a puzzle is left UNSOLVED; None for no limit.
      lanes: puzzles whose givens are checked at a time on the device, a multiple of 32.
    """

    engine: SatEngine | None = None
    seconds: Positive | None = None
    lanes: Words = 2048

    def resolve(self, board: Board, platform: str) -> SatConfig:
        """The settings; raises ImportError without python-sat."""
        if not _installed():
            raise ImportError(f"the solver sat needs python-sat: {_INSTALL}")
        return dataclasses.replace(self, engine=self.engine or _engine(board))


@dataclasses.dataclass(frozen=True)
class AutoConfig(ExactConfig):
    """Settings of ``auto``: those of ``exact``, with a budget after which a SAT solver takes over.

    Attributes:
      budget: nodes of the exact search after which a SAT solver gets the puzzle; None for a number that suits the
        board.
      engine: the SAT solver of python-sat: glucose4 or cadical195; None for the one that suits the board.
      seconds: seconds of the SAT solver after which a puzzle is left UNSOLVED; None for no limit.
    """

    engine: SatEngine | None = None
    seconds: Positive | None = None

    def resolve(self, board: Board, platform: str) -> ExactConfig:
        """The settings with automatic values filled in; those of ``exact`` where no SAT solver can take over.

        That is on boards with constraints, and without python-sat, with a warning.
        """
        if not board.constraints and not _installed():
            warnings.warn(
                f"python-sat is not installed ({_INSTALL}): auto solves all puzzles by exact",
                RuntimeWarning,
                stacklevel=2,
            )
        if board.constraints or not _installed():
            return self._alone().resolve(board, platform)
        small, large, huge = _BUDGETS
        budget = small if search_restart(board) is None else large if board.side <= 25 else huge
        own = dataclasses.replace(self, budget=self.budget or budget, engine=self.engine or _engine(board))
        return super(AutoConfig, own).resolve(board, platform)

    def with_clues(self, limit: int = 1) -> ExactConfig:
        """The settings of ``exact`` for puzzles with clues, which a SAT solver does not take over."""
        return self._alone().with_clues(limit)

    def _alone(self) -> ExactConfig:
        """The settings of the exact search where no SAT solver takes over."""
        return dataclasses.replace(self.plain(), budget=None)
