"""Settings of the methods that work on full grids."""

from __future__ import annotations

import dataclasses
import math

from jaxsudoku.propagation import RULES
from jaxsudoku.settings import LANES, Config, at_least, at_most, one_of

#: How chains come by their temperatures: each has one of its own and swaps its grid with its neighbours', or all cool
#: down together.
SCHEDULES = ("exchange", "cooling")

#: Sweeps of a period, each of which has its own table of chances.
_LONGEST = 100_000


@dataclasses.dataclass(frozen=True)
class AnnealingConfig(Config):
    """Settings of ``annealing``. Temperatures are in digits that a row, column or extra house misses.

    Attributes:
      rules: what is deduced first, to the end: none, naked, singles or locked; what it places stays as it is.
      chains: grids that are annealed for each puzzle, a multiple of 32.
      schedule: exchange, temperatures side by side that swap their grids; or cooling, one for all that falls.
      temperatures: how many lie side by side, a power of 2 up to 32; with 1 it is the coldest.
      coldest: the lowest temperature.
      hottest: the highest temperature.
      period: sweeps in which chains cool down before they are heated again (with "cooling").
      budget: sweeps, tries of every swap, after which a puzzle is left UNSOLVED.
      record: sweeps after which the least error is kept in ``Solution.history``, the first so many.
      slots: puzzles that are worked on together; 0 suits the machine.
    """

    rules: str = "locked"
    chains: int = 32
    schedule: str = "exchange"
    temperatures: int = 8
    coldest: float = 0.2
    hottest: float = 0.38
    period: int = 500
    budget: int = 50_000
    record: int = 0
    slots: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "rules", RULES)
        one_of(self, "schedule", SCHEDULES)
        at_least(self, chains=1, temperatures=1, period=2, budget=1, record=0, slots=0)
        if self.chains % LANES:
            raise ValueError(f"chains must be a multiple of {LANES}, not {self.chains}")
        if LANES % self.temperatures:
            raise ValueError(f"temperatures must divide {LANES}, not be {self.temperatures}")
        if not 0 < self.coldest <= self.hottest < math.inf:
            raise ValueError(
                f"temperatures must be positive, finite and rise: coldest is {self.coldest} and hottest {self.hottest}"
            )
        at_most(self, period=_LONGEST)


@dataclasses.dataclass(frozen=True)
class EvolutionConfig(Config):
    """Settings of ``evolution``.

    Attributes:
      rules: what is deduced first, to the end: none, naked, singles or locked; what it places stays as it is.
      organisms: grids in a hive.
      worker_share: the share of them that are workers; the others are explorers.
      lifetime: epochs without a better neighbour after which a worker makes way for a random grid; who is due is looked
        for every 16 epochs.
      mistakes: how likely a worker takes a neighbour that is not better.
      epochs: epochs of a hive.
      restarts: hives that follow the first one while a puzzle is not solved.
      record: epochs after which the least error is kept in ``Solution.history``, the first so many.
      slots: puzzles that are worked on together; 0 suits the machine.
    """

    rules: str = "locked"
    organisms: int = 200
    worker_share: float = 0.9
    lifetime: int = 300
    mistakes: float = 0.001
    epochs: int = 5000
    restarts: int = 40
    record: int = 0
    slots: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "rules", RULES)
        at_least(self, organisms=2, lifetime=1, mistakes=0, epochs=1, restarts=0, record=0, slots=0)
        at_most(self, mistakes=1)
        if not (0 < self.worker_share < 1 and 1 <= self.workers < self.organisms):
            raise ValueError(
                f"worker_share must leave one worker and one explorer at least of {self.organisms} organisms, "
                f"not be {self.worker_share}"
            )

    @property
    def workers(self) -> int:
        """How many organisms are workers."""
        return round(self.organisms * self.worker_share)
