"""Settings of the textbook solvers."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import Rules, SearchRules, SolverConfig, fitting_lanes
from jaxsudoku.runtime.settings import Positive

#: Puzzles searched together on 9x9, and the minimum on any board.
_PATHS = {"cpu": 32, "accelerator": 8192, "least": 32}

#: The same for best-first search, which evaluates all children of a node at once.
_QUEUES = {"cpu": 16, "accelerator": 1024, "least": 4}

#: The same for best-first search with actions "any".
_WIDE_QUEUES = {"cpu": 4, "accelerator": 64, "least": 1}

#: The cells whose legal digits are a node's children.
Actions = Literal["cell", "any"]


def _check_budget(actions: Actions, budget: int | None) -> None:
    """Raises ValueError for actions any without a budget."""
    if actions == "any" and not budget:
        raise ValueError("actions any need a budget: there are too many partly filled grids to explore them all")


@dataclasses.dataclass(frozen=True)
class DepthFirstConfig(SolverConfig):
    """Settings of ``depth-first``.

    Attributes:
      order: order of cells and digits: sequential, by their numbers; random; or sorted, the cell with fewest legal
        digits first, then by their numbers.
      actions: a node's children: the legal digits of the first empty cell (cell), or of every empty cell (any). With
        any each grid is explored once although many paths lead to it, and a budget is required.
      rules: rules applied at every node until nothing changes: none, naked, singles or locked, each including the ones
        before it. With none a digit is legal if it clashes with no filled cell and no constraint
        excludes it.
      budget: nodes explored after which a puzzle is left UNSOLVED; None for no limit.
      lanes: puzzles searched together; None suits the machine.
    """

    order: Literal["sequential", "random", "sorted"] = "sorted"
    actions: Actions = "cell"
    rules: Rules = "none"
    budget: Positive | None = None
    lanes: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_budget(self.actions, self.budget)

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        return dataclasses.replace(self, lanes=self.lanes or fitting_lanes(board, platform, **_PATHS))


#: The value of a node of best-first search.
Heuristic = Literal["most-constrained", "conflicts", "remaining"]


@dataclasses.dataclass(frozen=True)
class BestFirstConfig(SolverConfig):
    """Settings of ``best-first``.

    Attributes:
      heuristic: the value of a node, the smallest first: the number of legal digits of its most constrained cell
        (most-constrained); of conflicts if every empty cell took its first legal digit (conflicts); of legal digits
        in all empty cells together (remaining).
      actions: a node's children: the legal digits of its most constrained cell (cell), or of every empty cell (any).
        With any each grid is explored once although many paths lead to it, and a budget is required.
      rules: rules applied at every node until nothing changes: none, naked, singles or locked, each including the ones
        before it. With none a digit is legal if it clashes with no filled cell and no constraint
        excludes it.
      budget: nodes explored after which a puzzle is left UNSOLVED; None for no limit.
      room: capacity of a puzzle's frontier in nodes; a puzzle whose frontier overflows is left UNSOLVED.
      lanes: puzzles searched together; None suits the machine.
    """

    heuristic: Heuristic = "most-constrained"
    actions: Actions = "cell"
    rules: Rules = "none"
    budget: Positive | None = None
    room: Positive = 1024
    lanes: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_budget(self.actions, self.budget)

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        lanes = _WIDE_QUEUES if self.actions == "any" else _QUEUES
        return dataclasses.replace(self, lanes=self.lanes or fitting_lanes(board, platform, **lanes))


@dataclasses.dataclass(frozen=True)
class EliminationConfig(SolverConfig):
    """Settings of ``elimination``.

    Attributes:
      rules: rules applied until nothing changes: naked, singles or locked, each including the ones before it.
      then: the search for puzzles that are still open: none, depth-first or best-first, on the cell with fewest
        candidates, with the same elimination at every node.
      heuristic: the value of a node of best-first search, as in ``best-first``.
      budget: nodes explored after which a puzzle is left UNSOLVED; None for no limit.
      room: capacity of a puzzle's frontier in nodes, for best-first; a puzzle whose frontier overflows is left
        UNSOLVED.
      lanes: puzzles searched together; None suits the machine.
    """

    rules: SearchRules = "locked"
    then: Literal["none", "depth-first", "best-first"] = "depth-first"
    heuristic: Heuristic = "most-constrained"
    budget: Positive | None = None
    room: Positive = 1024
    lanes: Positive | None = None

    def resolve(self, board: Board, platform: str) -> Any:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        lanes = _QUEUES if self.then == "best-first" else _PATHS
        return dataclasses.replace(self, lanes=self.lanes or fitting_lanes(board, platform, **lanes))

    @property
    def depth_first(self) -> DepthFirstConfig:
        """The settings of the depth-first search that follows."""
        return DepthFirstConfig(order="sorted", rules=self.rules, budget=self.budget, lanes=self.lanes)

    @property
    def best_first(self) -> BestFirstConfig:
        """The settings of the best-first search that follows."""
        return BestFirstConfig(
            heuristic=self.heuristic, rules=self.rules, budget=self.budget, room=self.room, lanes=self.lanes
        )
