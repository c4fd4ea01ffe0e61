"""Settings of the methods that work on full grids."""

from __future__ import annotations

import dataclasses

from jaxsudoku.propagation import RULES
from jaxsudoku.settings import LANES, at_least, one_of

#: How chains come by their temperatures: each has one of its own and swaps its grid with its neighbours', or all cool
#: down together.
SCHEDULES = ("exchange", "cooling")


@dataclasses.dataclass(frozen=True)
class AnnealingConfig:
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
      slots: puzzles that are worked on together; 0 suits the machine.
    """

    rules: str = "locked"
    chains: int = 32
    schedule: str = "exchange"
    temperatures: int = 1
    coldest: float = 0.32
    hottest: float = 0.5
    period: int = 500
    budget: int = 20_000
    slots: int = 0

    def __post_init__(self) -> None:
        one_of(self, "rules", RULES)
        one_of(self, "schedule", SCHEDULES)
        at_least(self, chains=1, temperatures=1, period=1, budget=1, slots=0)
        if self.chains % LANES:
            raise ValueError(f"chains must be a multiple of {LANES}, not {self.chains}")
        if LANES % self.temperatures:
            raise ValueError(f"temperatures must divide {LANES}, not be {self.temperatures}")
        if not 0 < self.coldest <= self.hottest:
            raise ValueError(
                f"temperatures must be positive and rise: coldest is {self.coldest} and hottest {self.hottest}"
            )
