"""Settings of the textbook solvers."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from jaxsudoku.board import Board
from jaxsudoku.propagation import RULES
from jaxsudoku.settings import Config, at_least, one_of

#: Which cell, or which digit of which cell, comes first.
ORDERS = ("sequential", "random", "sorted")

#: What a node's children are: the digits of one cell, or those of all of them.
ACTIONS = ("cell", "any")

#: What a node is judged by.
HEURISTICS = ("most-constrained", "conflicts", "remaining")

#: What stands behind elimination.
SEARCHES = ("none", "depth-first", "best-first")

#: Puzzles of a 9x9 board that are searched together, on a CPU and elsewhere, and fewest on any board.
_PATHS = {"cpu": 32, "accelerator": 8192, "least": 32}

#: The same of best-first search, which looks at all children of a node at once.
_QUEUES = {"cpu": 16, "accelerator": 1024, "least": 4}


@dataclasses.dataclass(frozen=True)
class DepthFirstConfig(Config):
    """Settings of ``depth-first``.

    Attributes:
      order: which empty cell is filled first, and with which digit: sequential, by their numbers; random; or sorted,
        the cell with fewest legal digits first, then by their numbers.
      actions: what a node's children are: the legal digits of the first empty cell (cell), or of every empty cell
        (any), where no grid is explored twice though many ways lead to it; the latter needs a bound.
      rules: what is deduced at every node, to the end: none, naked, singles or locked, each with all that the one
        before it does. With none a digit is legal where it clashes with no filled cell, and that is all.
      bound: nodes explored after which a puzzle is left UNSOLVED; 0 for no limit.
      slots: puzzles that are searched together; 0 suits the machine.
    """

    order: str = "sorted"
    actions: str = "cell"
    rules: str = "none"
    bound: int = 0
    slots: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "order", ORDERS)
        one_of(self, "actions", ACTIONS)
        one_of(self, "rules", RULES)
        at_least(self, bound=0, slots=0)
        if self.actions == "any" and not self.bound:
            raise ValueError("actions any need a bound: there are too many partly filled grids to explore them all")


@dataclasses.dataclass(frozen=True)
class BestFirstConfig(Config):
    """Settings of ``best-first``.

    Attributes:
      heuristic: which node is explored next, that of the smallest number: of the legal digits of its most constrained
        cell (most-constrained); of conflicts if every empty cell took its first legal digit (conflicts); of the legal
        digits of all its empty cells together (remaining).
      rules: what is deduced at every node, to the end: none, naked, singles or locked, each with all that the one
        before it does. With none a digit is legal where it clashes with no filled cell, and that is all.
      bound: nodes explored after which a puzzle is left UNSOLVED; 0 for no limit.
      room: nodes that a puzzle's queue has room for; one whose queue is full is left UNSOLVED.
      slots: puzzles that are searched together; 0 suits the machine.
    """

    heuristic: str = "most-constrained"
    rules: str = "none"
    bound: int = 0
    room: int = 1024
    slots: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "heuristic", HEURISTICS)
        one_of(self, "rules", RULES)
        at_least(self, bound=0, room=1, slots=0)


@dataclasses.dataclass(frozen=True)
class EliminationConfig(Config):
    """Settings of ``elimination``.

    Attributes:
      rules: what is eliminated, to the end: naked, singles or locked, each with all that the one before it does.
      then: what follows where that leaves a puzzle open, with the same elimination at every node: nothing (none), or
        the search depth-first or best-first, in the cell with fewest candidates.
      bound: nodes explored after which a puzzle is left UNSOLVED; 0 for no limit.
      room: nodes that a puzzle's queue has room for in best-first; one whose queue is full is left UNSOLVED.
      slots: puzzles that are searched together; 0 suits the machine.
    """

    rules: str = "locked"
    then: str = "depth-first"
    bound: int = 0
    room: int = 1024
    slots: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "rules", RULES[1:])
        one_of(self, "then", SEARCHES)
        at_least(self, bound=0, room=1, slots=0)

    @property
    def depth_first(self) -> DepthFirstConfig:
        """The settings of the depth-first search behind it."""
        return DepthFirstConfig(order="sorted", rules=self.rules, bound=self.bound, slots=self.slots)

    @property
    def best_first(self) -> BestFirstConfig:
        """The settings of the best-first search behind it."""
        return BestFirstConfig(rules=self.rules, bound=self.bound, room=self.room, slots=self.slots)


_Config = TypeVar("_Config", DepthFirstConfig, BestFirstConfig, EliminationConfig)


def fit(config: _Config, board: Board, platform: str) -> _Config:
    """The settings with slots that suit a machine, fewer on a wider board."""
    queues = isinstance(config, BestFirstConfig) or getattr(config, "then", "") == "best-first"
    sizes = _QUEUES if queues else _PATHS
    candidates = sizes["cpu" if platform == "cpu" else "accelerator"] * 9**3
    return dataclasses.replace(config, slots=config.slots or max(candidates // board.candidates, sizes["least"]))
