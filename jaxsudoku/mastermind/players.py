"""Every player by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from jaxsudoku.config import settings_of
from jaxsudoku.suggestions import did_you_mean

from .config import (
    EntropyConfig,
    GreedyConfig,
    LookaheadConfig,
    MctsConfig,
    OptimalConfig,
    RandomConfig,
    StochasticMuZeroConfig,
)
from .greedy import greedy_player, random_player
from .lookahead import lookahead_player
from .mcts import mcts_player
from .muzero import stochastic_muzero_player
from .optimal import optimal_player
from .rules import Game
from .trees import Player


@dataclasses.dataclass(frozen=True)
class PlayerKind:
    """A kind of player.

    Attributes:
      config: the dataclass of its settings.
      make: (game, settings, progress) to a player; progress is told in words how far a long search is.
      summary: what it does, in a line.
      random: whether its guesses depend on the key.
    """

    config: type
    make: Callable[[Game, Any, Callable[[str], None]], Player]
    summary: str
    random: bool = False


def _quiet(make: Callable[[Game, Any], Player]) -> Callable[[Game, Any, Callable[[str], None]], Player]:
    """The maker of a player that does not tell how far it is."""
    return lambda game, config, progress: make(game, config)


#: All players by name.
PLAYERS: Mapping[str, PlayerKind] = {
    "random": PlayerKind(RandomConfig, _quiet(random_player), "random codes that may be the secret", random=True),
    "minimax": PlayerKind(GreedyConfig, _quiet(greedy_player("minimax")), "the smallest largest part (Knuth)"),
    "expected-size": PlayerKind(GreedyConfig, _quiet(greedy_player("expected-size")), "the smallest part on average"),
    "entropy": PlayerKind(EntropyConfig, _quiet(greedy_player("entropy")), "the most information"),
    "most-parts": PlayerKind(GreedyConfig, _quiet(greedy_player("most-parts")), "the most different feedbacks"),
    "mcts": PlayerKind(MctsConfig, _quiet(mcts_player), "Monte-Carlo tree search with random games", random=True),
    "stochastic-muzero": PlayerKind(
        StochasticMuZeroConfig, _quiet(stochastic_muzero_player), "the same by mctx, by PUCT", random=True
    ),
    "lookahead": PlayerKind(LookaheadConfig, _quiet(lookahead_player), "some plies ahead into the best few guesses"),
    "optimal": PlayerKind(OptimalConfig, optimal_player, "no strategy takes fewer guesses in the mean; proven"),
}


def get(name: str) -> PlayerKind:
    """The kind of player of a name; raises ValueError that lists them if there is none."""
    if name not in PLAYERS:
        raise ValueError(f"unknown player {name!r}: choose one of {', '.join(PLAYERS)}{did_you_mean(name, PLAYERS)}")
    return PLAYERS[name]


def make_config(name: str, /, **options: Any) -> Any:
    """The settings of a player with the named options.

    Raises:
      ValueError: no such player, an option that it does not have, or a value out of its range.
    """
    return settings_of(get(name).config, f"player {name}", **options)
