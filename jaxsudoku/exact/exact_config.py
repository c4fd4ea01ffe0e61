"""Settings of the exact search. No JAX."""

from __future__ import annotations

import dataclasses
import logging
from typing import Literal

from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import (
    Rounds,
    SearchRules,
    Settle,
    SolverConfig,
    Words,
    node_lanes,
    search_lanes,
    search_restart,
    settle_for,
)
from jaxsudoku.runtime.settings import Positive

_LOG = logging.getLogger(__name__)

#: Rounds of the rules in a step, without and with restarts.
_ROUNDS, _WEIGHTED_ROUNDS = 4, 2

#: Nodes of the first run of a search with clues.
_CLUE_RESTART = 100

#: Lanes for a few puzzles on a CPU, whose step takes a fiftieth of one of 2,048 lanes.
_SMALL_LANES = 32


@dataclasses.dataclass(frozen=True)
class ExactConfig(SolverConfig):
    """Settings of the exact search.

    Attributes:
      rules: rules applied at every node: naked, singles or locked, each including the ones before it.
      rounds: rounds of the rules in a step, up to 1000; None is 4, and 2 with restarts.
      budget: nodes after which a puzzle is left UNSOLVED, checked between steps; None for no limit.
      restart: nodes after which the search of a puzzle starts again, a fifth more each time, guided by the conflicts it
        has met; or never. None suits the board and its puzzles: never below 12x12, unless they have clues and at most
        two solutions are to be found.
      split: with restarts: lanes without a puzzle take over parts of the searches of other lanes. If False, the search
        of a puzzle is independent of the other puzzles.
      levels: with restarts: maximum depth of the search; a puzzle that needs more is left UNSOLVED. A search starts
        faster with fewer. None for as many as any puzzle needs.
      order: order of branching: fixed, or random by the key.
      lanes: nodes in a step, a multiple of 32; None suits the machine and, on a CPU, up to 32 puzzles.
      settle: implementation of the rules: xla, operations on bit-planes; bands, one kernel for a whole step, one node a
        thread, for the rules locked on boards with boxes from 4x4 to 10x10 on an H100 or a later GPU; or pallas, one
        kernel that keeps a block of planes on chip, up to 16x16 on a TPU. The kernels do not support restarts; on a CPU
        they are slower and only serve to check results. auto is bands where that can run, else xla.
    """

    rules: SearchRules = "locked"
    rounds: Rounds | None = None
    budget: Positive | None = None
    restart: Positive | Literal["never"] | None = None
    split: bool = True
    levels: Positive | None = None
    order: Literal["fixed", "random"] = "fixed"
    lanes: Words | None = None
    settle: Settle = "auto"

    def resolve(self, board: Board, platform: str) -> ExactConfig:
        """The settings with automatic values filled in; raises ValueError if ``settle`` can't run here."""
        restart = self._restart(board)
        settle = settle_for(board, self.settle, platform, self.rules, restart != "never")
        if platform != "cpu":
            _LOG.info("the exact search of %s on a %s uses settle=%s", board, platform, settle)
        return dataclasses.replace(
            self,
            rounds=self.rounds or (_ROUNDS if restart == "never" else _WEIGHTED_ROUNDS),
            restart=restart,
            settle=settle,
            levels=min(self.levels or board.cells, board.cells),
            lanes=self.lanes or (node_lanes if restart == "never" else search_lanes)(board, platform),
        )

    def small(self, board: Board, platform: str, limit: int = 1) -> ExactConfig | None:
        """The settings for a few puzzles: on a CPU a step of few lanes is short; None where these are the same.

        To find more than two solutions takes many nodes, for which many lanes are faster.
        """
        same = self.lanes or platform != "cpu" or self._restart(board) != "never" or limit > 2
        return None if same else dataclasses.replace(self, lanes=_SMALL_LANES)

    def plain(self) -> ExactConfig:
        """The settings without those that a subclass adds."""
        return ExactConfig(**{field.name: getattr(self, field.name) for field in dataclasses.fields(ExactConfig)})

    def with_clues(self, limit: int = 1) -> ExactConfig:
        """These settings for puzzles with clues: with restarts, unless more than two solutions are to be found.

        Restarts lose what was counted, but conflicts tell which cells the constraints bind. Raises ValueError if the
        settings name a kernel, which supports no clues.
        """
        if self.settle not in ("auto", "xla"):
            raise ValueError(f'settle "{self.settle}" does not support clues; use settle "xla", or leave it out')
        return dataclasses.replace(self, settle="xla", restart=self.restart or (_CLUE_RESTART if limit <= 2 else None))

    def _restart(self, board: Board) -> int | Literal["never"]:
        return self.restart or search_restart(board) or "never"

    def summary(self, board: Board) -> str:
        """Names the kernel that runs the rules; empty for XLA operations."""
        del board
        return "" if self.settle == "xla" else f"{self.lanes:,} nodes a step, settled by {self.settle}"
