"""Settings of self-play: supervised settings, games, replay, and the comparison of generations."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal, Self

from jaxsudoku import networks
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import Rules
from jaxsudoku.runtime.settings import Config, Natural, NonNegative, Positive, Range, Share, settings_of
from jaxsudoku.solvers.guided_config import Cell
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig

from .train_config import NetworkConfig, TrainConfig


@dataclasses.dataclass(frozen=True)
class PlayConfig(Config):
    """Settings of games.

    Attributes:
      games: games of a round, over all devices.
      updates: steps of the optimiser in a round, after its games.
      method: the search: gumbel, or mcgs, graph search in which a move is any digit of any cell.
      simulations: simulations of a search.
      considered: maximum number of digits considered at the root, with gumbel.
      temperature: scale of the Gumbel noise on the network's logits at the root, with gumbel.
      cell: the cell that moves fill, with gumbel. fewest: the first of those with fewest candidates; likely, doubtful:
        among these, the cell with the network's most or least confident digit; surest: the cell with the most confident
        digit of all, which avoids most backtracking if rules are weak.
      rules: rules applied after every move until nothing changes: none, naked, singles or locked. With none only moves
        fill cells, even cells with one digit left.
      budget: grids after which a game has failed.
      backtracking: whether a game backtracks from positions that the search refutes; without it, it has then failed.
      truth: whether the solutions are known, as in DeepSudoku: games begin with random cells filled, by the policy's
        loss at each number of open cells; they end at their first wrong digit; and positions that they evaluated are
        labelled by the solution. For the method mcgs without backtracking.
      acting_iterations: iterations of the network that plays; None for as many as it learns with at that time, or if it
        has none.
    """

    games: Positive = 128
    updates: Positive = 64
    method: Literal["gumbel", "mcgs"] = "gumbel"
    simulations: Positive = 4
    considered: Positive = 4
    temperature: NonNegative = 1.0
    cell: Cell = "doubtful"
    rules: Rules = "naked"
    budget: Positive = 256
    backtracking: bool = True
    truth: bool = False
    acting_iterations: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.truth and (self.method != "mcgs" or self.backtracking):
            raise ValueError("truth is for the method mcgs without backtracking")

    def search(self, board: Board, platform: str) -> GumbelConfig | McgsConfig:
        """The settings of the search, resolved for a machine."""
        config: GumbelConfig | McgsConfig
        if self.method == "mcgs":
            config = McgsConfig(simulations=self.simulations, rules=self.rules, budget=self.budget)
        else:
            names = ("simulations", "considered", "temperature", "cell", "rules", "budget")
            options = {name: getattr(self, name) for name in names}
            config = GumbelConfig(**options, complete=False, sure=1.0)  # a game learns from what it searches
        resolved: GumbelConfig | McgsConfig = config.resolve(board, platform)
        return resolved


@dataclasses.dataclass(frozen=True)
class StreamConfig(Config):
    """The puzzles that are played.

    Attributes:
      puzzles: a file of puzzles to play, instead of those of ``data``; their solutions are not read.
      source: puzzles, of the file or the data; or empty, self-generated puzzles: clues are removed from grids that the
        network has made from empty boards.
      dug: number of puzzles made from each self-generated grid.
      offered: puzzles offered for each game; those are played for which the network is most uncertain whether it could
        fill in all cells at once.
    """

    puzzles: str | None = None
    source: Literal["puzzles", "empty"] = "puzzles"
    dug: Positive = 8
    offered: Positive = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.puzzles is not None and self.source == "empty":
            raise ValueError("puzzles is for the source puzzles; with the source empty the network generates them")
        if self.source != "empty" and self.dug != StreamConfig.dug:
            raise ValueError("dug is for the source empty")


@dataclasses.dataclass(frozen=True)
class ReplayConfig(Config):
    """Settings of the replay buffer and of training positions.

    Attributes:
      buffer: number of games kept, over all devices; the oldest are dropped.
      kept_positions: number of searched positions kept of each game, drawn at random.
      searched: share of positions labelled by search in a batch; the others are made from solved puzzles.
      failed_value: the value of positions of failed games: lost, which is 0, or filled, the share of the empty cells
        that the game had filled at its end.
      learned: the games whose searched positions are trained on: all, or failed ones.
      priority: exponent of a game's surprise (the change of the network's policies by its searches) in the weight with
        which games are drawn; 0 for equal weights.
      reanalyse: number of kept games that are examined again in a round, as a share of ``games``; in failed ones, one
        position is searched again.
    """

    buffer: Positive = 65_536
    kept_positions: Positive = 4
    searched: Annotated[float, Range(0, 0.9)] = 0.25
    failed_value: Literal["lost", "filled"] = "lost"
    learned: Literal["all", "failed"] = "all"
    priority: Annotated[float, Range(0, 1)] = 0.0
    reanalyse: Share = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.searched:
            return
        if self.failed_value != ReplayConfig.failed_value:
            raise ValueError(f"failed_value {self.failed_value} is for searched positions, and searched is 0")
        if self.kept_positions != ReplayConfig.kept_positions and not self.reanalyse:
            raise ValueError(
                f"kept_positions {self.kept_positions} is for searched positions or reanalyse, and both are 0"
            )


@dataclasses.dataclass(frozen=True)
class ArenaConfig(Config):
    """Settings of the comparison of generations at every validation.

    Attributes:
      arena_puzzles: number of puzzles that every generation plays, and of those for the test at the end; 0 for no
        arena. They are drawn from the file of puzzles, and not used for training, or from the held-out puzzles.
      arena_simulations: simulations of a search.
      arena_rules: rules applied after every move until nothing changes.
      arena_budget: grids after which a game has failed.
      arena_iterations: iterations of iterative networks; None for those at the end of training.
    """

    arena_puzzles: Natural = 0
    arena_simulations: Positive = 4
    arena_rules: Rules = "none"
    arena_budget: Positive = 1024
    arena_iterations: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        others = (field.name for field in dataclasses.fields(self) if field.name != "arena_puzzles")
        given = [name for name in others if getattr(self, name) != getattr(ArenaConfig, name)]
        if given and not self.arena_puzzles:
            raise ValueError(f"{given[0]} is for an arena: say how many puzzles it has by arena_puzzles")


@dataclasses.dataclass(frozen=True)
class ZeroConfig(TrainConfig):
    """Settings of self-play.

    ``data`` names the puzzles that are played; only solutions of ``held_out`` are read, for validation.

    Attributes:
      play: settings of games.
      stream: the puzzles that are played.
      replay: settings of the replay buffer.
      arena: settings of the comparison of generations.
      rivals: further architectures that are trained on the same positions, as NAME or NAME:SIZE=NUMBER,...
    """

    rivals: tuple[str, ...] = ()
    play: PlayConfig = PlayConfig()
    stream: StreamConfig = StreamConfig()
    replay: ReplayConfig = ReplayConfig()
    arena: ArenaConfig = ArenaConfig()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data.others:
            raise ValueError("others is for supervised training")
        if self.stream.puzzles is not None or self.stream.source == "empty":
            for name in ("datasets", "exclude", "fewest_clues", "most_clues"):
                if getattr(self.data, name) not in ((), None):
                    raise ValueError(
                        f"{name} is for generated puzzles or data sets, not for a file or the source empty"
                    )
        if self.play.method == "mcgs":
            for name in ("considered", "temperature", "cell"):
                if getattr(self.play, name) != getattr(PlayConfig, name):
                    raise ValueError(f"{name} is for the method gumbel")
        if self.replay.reanalyse and self.play.method != "gumbel":
            raise ValueError("reanalyse is for the method gumbel")
        if self.play.truth and (self.stream.source == "empty" or self.replay.failed_value != ReplayConfig.failed_value):
            raise ValueError("truth is for puzzles with known solutions, which label failed games as well")
        if self.stream.source == "empty" and (self.play.method != "gumbel" or not self.play.temperature):
            raise ValueError("source empty is for the method gumbel with a temperature: else all grids are alike")
        for text in self.rivals:
            try:
                parse_network(text)
            except ValueError as error:
                raise ValueError(f"rivals: {error}") from None

    def learners(self) -> tuple[Self, ...]:
        """The resolved settings of every network that learns, first the one that plays.

        Raises:
          ValueError: two networks of the same architecture.
        """
        names = [self.network.architecture, *(parse_network(text).architecture for text in self.rivals)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"rivals: {twice[0]} is there twice, with the network that plays: {', '.join(names)}")
        others = (parse_network(text).resolve(self.board, "") for text in self.rivals)
        return self, *(dataclasses.replace(self, network=network, rivals=()) for network in others)


def parse_network(text: str) -> NetworkConfig:
    """Parses NAME or NAME:SIZE=NUMBER,..., an architecture with sizes; raises ValueError for others."""
    name, _, sizes = text.partition(":")
    values = {}
    for part in sizes.split(",") if sizes else ():
        size, _, number = part.partition("=")
        try:
            values[size] = int(number)
        except ValueError:
            raise ValueError(f"{text!r} is not NAME or NAME:SIZE=NUMBER,... with whole numbers") from None
    return NetworkConfig(name, settings_of(networks.get(name).config, f"network {name}", **values))


def of_puzzles(config: ZeroConfig, devices: int) -> ZeroConfig:
    """The settings for the part of a batch that is made from solved puzzles."""
    if config.batch_size % devices:
        raise ValueError(f"batch_size {config.batch_size} can't be divided into equal parts for {devices} devices")
    each = config.batch_size // devices
    size = (each - round(each * config.replay.searched)) * devices
    if not size:
        raise ValueError(f"searched {config.replay.searched} leaves none of a device's {each} positions for others")
    return dataclasses.replace(config, batch_size=size, microbatch=None)
