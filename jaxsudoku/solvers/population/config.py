"""Settings of the methods that work on full grids."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Literal

from jaxsudoku.board import Board
from jaxsudoku.config import LANES, Config, Natural, Positive, Range, Rules, Share, Words, fitting_lanes

#: Words of chains of a 9x9 board that are swept together: few enough for their planes to stay in a CPU's cache.
_WORDS = {"cpu": 128}
_ACCELERATOR_WORDS = 16384

#: Puzzles that are annealed together at least: a sweep of fewer words takes as long.
_LEAST = 16

#: Organisms of a 9x9 board that are worked on together, likewise.
_ORGANISMS = {"cpu": 6400}
_ACCELERATOR_ORGANISMS = 1 << 20

#: Members of populations of evosax, likewise.
_MEMBERS = {"cpu": 6400}
_ACCELERATOR_MEMBERS = 1 << 18

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
      record: sweeps after which the least error is kept in ``stats["history"]``, the first so many.
      lanes: puzzles that are worked on together; None suits the machine.
    """

    rules: Rules = "locked"
    chains: Words = 32
    schedule: Literal["exchange", "cooling"] = "exchange"
    temperatures: Positive = 8
    coldest: float = 0.2
    hottest: float = 0.38
    period: Annotated[int, Range(2, _LONGEST)] = 500
    budget: Positive = 50_000
    record: Natural = 0
    lanes: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if LANES % self.temperatures:
            raise ValueError(f"temperatures must divide {LANES}, not be {self.temperatures}")
        if not 0 < self.coldest <= self.hottest < math.inf:
            raise ValueError(
                f"temperatures must be positive, finite and rise: coldest is {self.coldest} and hottest {self.hottest}"
            )

    def resolve(self, board: Board, platform: str) -> AnnealingConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        words = _WORDS.get(platform, _ACCELERATOR_WORDS) * 9**3 // board.candidates
        return dataclasses.replace(self, lanes=self.lanes or max(words * LANES // self.chains, _LEAST))


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
      record: epochs after which the least error is kept in ``stats["history"]``, the first so many.
      lanes: puzzles that are worked on together; None suits the machine.
    """

    rules: Rules = "locked"
    organisms: Annotated[int, Range(2)] = 200
    worker_share: float = 0.9
    lifetime: Positive = 300
    mistakes: Share = 0.001
    epochs: Positive = 5000
    restarts: Natural = 40
    record: Natural = 0
    lanes: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.worker_share < 1 and 1 <= self.workers < self.organisms):
            raise ValueError(
                f"worker_share must leave one worker and one explorer at least of {self.organisms} organisms, "
                f"not be {self.worker_share}"
            )

    @property
    def workers(self) -> int:
        """How many organisms are workers."""
        return round(self.organisms * self.worker_share)

    def resolve(self, board: Board, platform: str) -> EvolutionConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        organisms = _ORGANISMS.get(platform, _ACCELERATOR_ORGANISMS) * 9**2 // board.cells
        return dataclasses.replace(self, lanes=self.lanes or max(organisms // self.organisms, 1))


@dataclasses.dataclass(frozen=True)
class HillClimbingConfig(Config):
    """Settings of ``hill-climbing``. As they are by default, it is the textbook's climb.

    Attributes:
      rules: what is deduced first, to the end: none, naked, singles or locked; what it places stays as it is.
      neighbourhood: a grid's neighbours: those with two free cells of a box swapped (swaps), or besides some with three
        swaps in three boxes (super).
      triples: how many of these are tried at each step, with swaps drawn at random; three boxes at a time, in a fixed,
        mixed order that begins anew when every three were tried.
      sideways: steps in a row that may leave the error as it is.
      restarts: how often a puzzle that has come to a local optimum begins anew, from another random grid.
      record: steps after which the least error is kept in ``stats["history"]``, the first so many.
      lanes: puzzles that climb together; None suits the machine.
    """

    rules: Rules = "none"
    neighbourhood: Literal["swaps", "super"] = "swaps"
    triples: Positive = 84
    sideways: Natural = 0
    restarts: Natural = 0
    record: Natural = 0
    lanes: Positive | None = None

    def resolve(self, board: Board, platform: str) -> HillClimbingConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        return dataclasses.replace(self, lanes=self.lanes or fitting_lanes(board, platform, cpu=512, accelerator=32768))


@dataclasses.dataclass(frozen=True)
class EvosaxConfig(Config):
    """Settings of ``evosax``.

    Attributes:
      rules: what is deduced first, to the end: none, naked, singles or locked; what it places stays as it is.
      algorithm: differential-evolution, particle-swarm or genetic.
      population: its members.
      generations: generations of a population, but the first.
      restarts: populations that follow the first one while a puzzle is not solved.
      record: generations after which the least error is kept in ``stats["history"]``, the first so many.
      lanes: puzzles that are worked on together; None suits the machine.
    """

    rules: Rules = "locked"
    algorithm: Literal["differential-evolution", "particle-swarm", "genetic"] = "differential-evolution"
    population: Annotated[int, Range(4)] = 100
    generations: Positive = 1000
    restarts: Natural = 0
    record: Natural = 0
    lanes: Positive | None = None

    def resolve(self, board: Board, platform: str) -> EvosaxConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        members = _MEMBERS.get(platform, _ACCELERATOR_MEMBERS) * 9**2 // board.cells
        return dataclasses.replace(self, lanes=self.lanes or max(members // self.population, 1))
