"""Settings of self-play: those of supervised training, and how games are played and kept."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from jaxsudoku.board import Board
from jaxsudoku.config import Config, Natural, NonNegative, Positive, Range, Rules, Share
from jaxsudoku.solvers.tree.config import GumbelConfig

from .config import TrainConfig


@dataclasses.dataclass(frozen=True)
class PlayConfig(Config):
    """How games are played, and which are kept.

    Attributes:
      games: games of a round, over all devices.
      updates: steps of the optimiser in a round, after its games.
      buffer: games that are kept, over all devices; the oldest are dropped.
      kept_positions: searched positions that are kept of each game, drawn at random.
      searched: the share of a batch that are such positions; the others are made of solved puzzles.
      reanalyse: old games of which one position is searched again in a round if they failed, as a share of ``games``.
      simulations: simulations of a search.
      considered: most digits considered at the root.
      temperature: scale of the Gumbel noise on the network's logits at the root.
      rules: rules applied after every move until nothing changes: none, naked, singles or locked. With none only moves
        fill cells, even cells with one digit left.
      budget: grids after which a game has failed.
      acting_iterations: iterations of the network that plays; None for as many as it learns with at that time, or if it
        has none.
      puzzles: a file of puzzles to play, in place of those that ``data`` names; their solutions are not read.
    """

    games: Positive = 128
    updates: Positive = 64
    buffer: Positive = 65_536
    kept_positions: Positive = 4
    searched: Annotated[float, Range(0, 0.9)] = 0.25
    reanalyse: Share = 0.0
    simulations: Positive = 4
    considered: Positive = 4
    temperature: NonNegative = 1.0
    rules: Rules = "naked"
    budget: Positive = 256
    acting_iterations: Natural | None = None
    puzzles: str | None = None

    def search(self, board: Board, platform: str) -> GumbelConfig:
        """The settings of the search, resolved for a machine."""
        names = ("simulations", "considered", "temperature", "rules", "budget")
        config: GumbelConfig = GumbelConfig(**{name: getattr(self, name) for name in names}).resolve(board, platform)
        return config


@dataclasses.dataclass(frozen=True)
class ZeroConfig(TrainConfig):
    """Settings of self-play.

    ``data`` names the puzzles that are played; nothing reads their solutions, but those of ``held_out`` for validation.

    Attributes:
      play: how games are played.
    """

    play: PlayConfig = PlayConfig()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps % self.play.updates:
            raise ValueError(f"steps {self.steps} must be a multiple of updates, {self.play.updates}")


def of_puzzles(config: ZeroConfig, devices: int) -> ZeroConfig:
    """The settings of the part of a batch that is made of solved puzzles."""
    each = config.batch_size // devices
    size = (each - round(each * config.play.searched)) * devices
    return dataclasses.replace(config, batch_size=size, microbatch=None)
