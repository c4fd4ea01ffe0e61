"""The registry of players by name. Loads no JAX until one plays.

A player is a function ``(game, config, progress) -> Policy`` that prepares a game. To add one, write it in a separate
file and add it to ``PLAYERS`` with the dataclass of its settings, which is in ``player_config``. The command line,
``build``, ``evaluate`` and the tests find it there.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsudoku.runtime.settings import settings_of
from jaxsudoku.runtime.suggestions import known_name

from .player_config import (
    EntropyConfig,
    GreedyConfig,
    LookaheadConfig,
    MctsConfig,
    OptimalConfig,
    PersistentUctConfig,
    PlayerConfig,
    RandomConfig,
    StochasticMuZeroConfig,
)
from .positions import Positions
from .rules import Game, check_codes, check_size

if TYPE_CHECKING:
    import jax

#: Chooses a guess for each of n positions of more than two codes: (positions, the guesses so far int32[n, made], the
#: same number for all, a JAX key) -> code numbers int[n]. Positions depend only on the feedback to these guesses, so
#: their stabiliser determines the orbits of guesses.
Policy = Callable[[Positions, np.ndarray, "jax.Array"], np.ndarray]

#: A callback for texts about the progress of a long search.
Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Player:
    """An entry of the registry.

    Attributes:
      name: the player's name.
      summary: one line for the help text.
      function: the function's location, "module:function" below ``jaxsudoku.mastermind``.
      config: frozen dataclass of its settings.
      random: whether its guesses depend on the key.
      by_table: whether it needs the table of all feedbacks, and so a small game.
    """

    name: str
    summary: str
    function: str
    config: type
    random: bool = False
    by_table: bool = False

    def check(self, game: Game, config: PlayerConfig) -> None:
        """Checks that the player can play a game.

        Raises:
          GameError: its tables take more than half of the memory.
          ValueError: as ``PlayerConfig.check``.
        """
        (check_size if self.by_table else check_codes)(game)
        config.check(game)

    @functools.cached_property
    def make(self) -> Callable[[Game, Any, Progress], Policy]:
        """The function."""
        name, _, function = self.function.partition(":")
        module = importlib.import_module(f".{name}", __package__)
        make: Callable[[Game, Any, Progress], Policy] = getattr(module, function)
        return make


#: Every player, by name.
PLAYERS: dict[str, Player] = {
    player.name: player
    for player in (
        Player("random", "guesses random codes that may be the secret", "greedy:random", RandomConfig, random=True),
        Player("minimax", "minimizes the size of the largest part (Knuth)", "greedy:minimax", GreedyConfig),
        Player("expected-size", "minimizes the expected size of parts (Irving)", "greedy:expected_size", GreedyConfig),
        Player("entropy", "maximizes the entropy of the feedback (Neuwirth)", "greedy:entropy", EntropyConfig),
        Player("most-parts", "the most parts (Kooi)", "greedy:most_parts", GreedyConfig),
        Player(
            "mcts",
            "Monte-Carlo tree search by UCT, with random rollouts",
            "mcts:mcts",
            MctsConfig,
            random=True,
            by_table=True,
        ),
        Player(
            "persistent-uct",
            "Monte-Carlo tree search in one tree, trained before play",
            "persistent_uct:persistent_uct",
            PersistentUctConfig,
            by_table=True,
        ),
        Player(
            "stochastic-muzero",
            "Stochastic MuZero's search in mctx, with random rollouts",
            "muzero:stochastic_muzero",
            StochasticMuZeroConfig,
            random=True,
            by_table=True,
        ),
        Player("lookahead", "depth-limited search with an estimate", "lookahead:lookahead", LookaheadConfig),
        Player("optimal", "the lowest mean of any strategy, proved", "optimal:optimal", OptimalConfig, by_table=True),
    )
}


def get(name: str) -> Player:
    """The player of that name, in any case; raises ValueError that lists the names if there is none."""
    return PLAYERS[known_name("player", name, PLAYERS)]


def make_config(name: str, /, **options: Any) -> Any:
    """The settings of a player with the named options.

    Raises:
      ValueError: no such player, an option that it does not have, or a value out of its range.
    """
    player = get(name)
    return settings_of(player.config, f"player {player.name}", **options)


def make_policy(game: Game, name: str, config: PlayerConfig, progress: Progress = lambda text: None) -> Policy:
    """The policy of a player in a game; raises ValueError as ``get`` and ``Player.check``."""
    player = get(name)
    player.check(game, config)
    policy: Policy = player.make(game, config, progress)
    return policy
