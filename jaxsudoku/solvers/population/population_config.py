"""Settings of the population solvers. No JAX."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Literal

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import LANES, Rules, SolverConfig, Words, fitting_lanes
from jaxsudoku.runtime.settings import Natural, Positive, Range, Share

#: Words of chains of 9x9 boards in a sweep: on a CPU their planes fit its cache.
_WORDS = {"cpu": 128}
_ACCELERATOR_WORDS = 16384

#: Minimum number of puzzles annealed together, as a sweep of fewer words takes as long.
_LEAST = 16

#: Organisms of 9x9 boards in a step, likewise.
_ORGANISMS = {"cpu": 6400}
_ACCELERATOR_ORGANISMS = 1 << 20

#: Members of populations of 9x9 boards in a step, likewise.
_MEMBERS = {"cpu": 6400}
_ACCELERATOR_MEMBERS = 1 << 18

#: Maximum number of sweeps in a period; each has its own table of probabilities.
_LONGEST = 100_000


@dataclasses.dataclass(frozen=True)
class AnnealingConfig(SolverConfig):
    """Settings of ``annealing``. Temperatures are in units of the error: digits missing from lines.

    Attributes:
      rules: rules applied first until nothing changes: none, naked, singles or locked; cells that they fill are
        fixed.
      chains: grids annealed for each puzzle, a multiple of 32.
      schedule: exchange, chains at different temperatures that swap grids; or cooling, one falling temperature.
      temperatures: number of temperatures in exchange, a power of 2 up to 32; a single one is the coldest.
      coldest: the lowest temperature.
      hottest: the highest temperature.
      period: sweeps from hottest to coldest, for cooling.
      budget: sweeps after which a puzzle is left UNSOLVED; a sweep tries every swap once.
      record: number of sweeps whose lowest error so far is recorded in ``stats["history"]``.
      lanes: puzzles worked on together; None suits the machine.
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
class EvolutionConfig(SolverConfig):
    """Settings of ``evolution``.

    Attributes:
      rules: rules applied first until nothing changes: none, naked, singles or locked; cells that they fill are
        fixed.
      variant: described, the algorithm as its author describes it; or printed, as in a printed listing: without
        children; a worker's age grows in every epoch in which it does not move, and is never reset.
      organisms: grids in a hive.
      worker_share: the share of workers among them; the others are explorers.
      lifetime: epochs without improvement after which a worker is replaced by a random grid, 1,000 in the source;
        checked every 16 epochs.
      mistakes: probability that a worker moves to a neighbour that is not better.
      epochs: epochs of a hive.
      restarts: further hives for an unsolved puzzle; 40 restarts are up to 41 hives. The source's maxRestarts of 40
        counts all hives and corresponds to 39 here.
      record: number of epochs whose lowest error so far is recorded in ``stats["history"]``.
      lanes: puzzles worked on together; None suits the machine.
    """

    rules: Rules = "locked"
    variant: Literal["described", "printed"] = "described"
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
                f"worker_share must give at least one worker and one explorer of {self.organisms} organisms, "
                f"not be {self.worker_share}"
            )

    @property
    def workers(self) -> int:
        """The number of workers."""
        return round(self.organisms * self.worker_share)

    def resolve(self, board: Board, platform: str) -> EvolutionConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        organisms = _ORGANISMS.get(platform, _ACCELERATOR_ORGANISMS) * 9**2 // board.cells
        return dataclasses.replace(self, lanes=self.lanes or max(organisms // self.organisms, 1))


@dataclasses.dataclass(frozen=True)
class HillClimbingConfig(SolverConfig):
    """Settings of ``hill-climbing``; the defaults are the textbook's.

    Attributes:
      rules: rules applied first until nothing changes: none, naked, singles or locked; cells that they fill are
        fixed.
      neighbourhood: grids with two free cells of a box swapped (swaps), or also some with three swaps in three boxes
        (super).
      triples: neighbours with three random swaps tried at each step, for super.
      sideways: consecutive steps that may leave the error unchanged.
      restarts: restarts from another random grid at a local optimum.
      record: number of steps whose lowest error so far is recorded in ``stats["history"]``.
      lanes: puzzles worked on together; None suits the machine.
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
        # XLA does not compile a gather of 32,768 lanes for a TPU v5e: its scratch memory exceeds the limit
        accelerator = 16384 if platform == "tpu" else 32768
        lanes = self.lanes or fitting_lanes(board, platform, cpu=512, accelerator=accelerator)
        return dataclasses.replace(self, lanes=lanes)


@dataclasses.dataclass(frozen=True)
class BestFirstSwapsConfig(SolverConfig):
    """Settings of ``best-first-swaps``.

    Attributes:
      rules: rules applied first until nothing changes: none, naked, singles or locked; cells that they fill are
        fixed.
      budget: maximum number of grids explored; all of them are stored, 102 bytes each on 9x9.
      record: number of steps whose lowest error so far is recorded in ``stats["history"]``.
      lanes: puzzles worked on together; None suits the machine.
    """

    rules: Rules = "none"
    budget: Positive = 10_000
    record: Natural = 0
    lanes: Positive | None = None

    def resolve(self, board: Board, platform: str) -> BestFirstSwapsConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        lanes = self.lanes or fitting_lanes(board, platform, cpu=32, accelerator=4096)
        return dataclasses.replace(self, lanes=lanes)


@dataclasses.dataclass(frozen=True)
class EvosaxConfig(SolverConfig):
    """Settings of ``evosax``.

    Attributes:
      rules: rules applied first until nothing changes: none, naked, singles or locked; cells that they fill are
        fixed.
      algorithm: differential-evolution, particle-swarm, genetic or firefly.
      population: members of a population.
      generations: generations after the initial population.
      restarts: further populations for an unsolved puzzle.
      record: number of generations whose lowest error so far is recorded in ``stats["history"]``.
      lanes: puzzles worked on together; None suits the machine.
    """

    rules: Rules = "locked"
    algorithm: Literal["differential-evolution", "particle-swarm", "genetic", "firefly"] = "differential-evolution"
    population: Annotated[int, Range(4)] = 100
    generations: Positive = 1000
    restarts: Natural = 0
    record: Natural = 0
    lanes: Positive | None = None

    def resolve(self, board: Board, platform: str) -> EvosaxConfig:
        """The settings with lanes that suit a machine, fewer on a wider board."""
        members = _MEMBERS.get(platform, _ACCELERATOR_MEMBERS) * 9**2 // board.cells
        return dataclasses.replace(self, lanes=self.lanes or max(members // self.population, 1))
