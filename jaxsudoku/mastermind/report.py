"""Evaluation of players over all secrets: statistics, a table, a plot."""

from __future__ import annotations

import collections
import dataclasses
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax import Array

from jaxsudoku.pictures import PANEL, check_suffix, import_figure
from jaxsudoku.runtime import cache
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.terminal.progress import shown

from . import games, players
from .players import Progress
from .rules import Game
from .trees import Tree, grow


@dataclasses.dataclass(frozen=True)
class Report:
    """Statistics of the guesses that a player takes for the secrets of a game, all equally likely.

    Attributes:
      player: the player's name.
      settings: the player's settings.
      game: the game, as from ``games.to_fields``, with the number of words instead of words.
      name: the game in words.
      codes: the number of secrets.
      trees: the number of strategies, each played against all secrets.
      opening: the first guess of the first tree.
      total: the total guesses of all games.
      mean: the mean number of guesses of a game.
      max: the largest number of guesses of a game.
      histogram: the number of games by number of guesses.
      seconds: the time of growth and replay, compilation included.
      about: further facts, such as the device.
    """

    player: str
    settings: Mapping[str, Any]
    game: Mapping[str, Any]
    name: str
    codes: int
    trees: int
    opening: str
    total: int
    mean: float
    max: int
    histogram: Mapping[int, int]
    seconds: float
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, trees: Sequence[Tree], player: str, settings: Any = None) -> Report:
        """The report on strategies of a game, by replaying them.

        Raises:
          TreeError: some tree does not find every code.
        """
        game = trees[0].game
        histogram: collections.Counter[int] = collections.Counter()
        for tree in trees:
            histogram.update(tree.histogram)
        total = sum(number * games for number, games in histogram.items())
        return cls(
            player=player,
            settings={} if settings is None else dataclasses.asdict(settings),
            game={
                name: len(value) if isinstance(value, tuple) else value for name, value in games.to_fields(game).items()
            },
            name=str(game),
            codes=game.secrets,
            trees=len(trees),
            opening=game.code_text(int(trees[0].guesses[0])),
            total=total,
            mean=total / histogram.total(),
            max=max(histogram),
            histogram=dict(sorted(histogram.items())),
            seconds=0.0,
        )

    @property
    def deviation(self) -> float:
        """The standard deviation of the guesses of a game."""
        games = sum(self.histogram.values())
        return math.sqrt(sum(count * (made - self.mean) ** 2 for made, count in self.histogram.items()) / games)

    def won(self, guesses: int = 10) -> float:
        """The share of games won within this many guesses."""
        within = sum(count for made, count in self.histogram.items() if made <= guesses)
        return within / sum(self.histogram.values())

    def to_json(self) -> str:
        """The report as a JSON object in one line."""
        return json.dumps(dataclasses.asdict(self), allow_nan=False)

    def __str__(self) -> str:
        return table([self])


def build(
    game: Game | str,
    player: str = "entropy",
    key: Array | int = 0,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Tree:
    """Builds the whole strategy of a player.

    Args:
      game: the game, or a name such as "4x6", as ``as_game`` takes it.
      player: a name in ``PLAYERS``, in any case.
      key: a JAX key or a seed, for players that are random.
      progress: called with a text from time to time; True shows the texts as a line on standard error.
      **options: fields of the player's config.

    Raises:
      ValueError: an invalid player, option or value; as GameError, a game for which the player's tables take more than
        half of the memory.
    """
    player, game = players.get(player).name, games.as_game(game)
    config = players.make_config(player, **options)
    with shown(progress, lambda screen: screen.show) as report:
        return _grown(game, player, config, key, 1, report)[0]


def evaluate(
    game: Game | str,
    player: str = "entropy",
    key: Array | int = 0,
    trees: int = 1,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Report:
    """Plays all secrets of a game against a player.

    Other arguments and errors as in ``build``.

    Args:
      trees: the number of strategies to grow and to play, for players that are random.
    """
    player, game = players.get(player).name, games.as_game(game)
    config = players.make_config(player, **options)
    trees = whole_number("trees", trees, 1)
    with shown(progress, lambda screen: screen.show) as report:
        return evaluate_trees(game, player, config, key, trees, report)[0]


def evaluate_trees(
    game: Game, player: str, config: Any, key: Array | int, trees: int, progress: Progress
) -> tuple[Report, list[Tree]]:
    """``evaluate`` with the settings as a config and a callback; also returns the strategies."""
    clock = time.perf_counter()
    grown = _grown(game, player, config, key, trees, progress)
    report = Report.of(grown, player, config)
    return dataclasses.replace(report, seconds=round(time.perf_counter() - clock, 6)), grown


@cache.kept()
def _grown(game: Game, player: str, config: Any, key: Array | int, trees: int, progress: Progress) -> list[Tree]:
    return grow(game, players.make_policy(game, player, config, progress), key, trees, player, progress)


# ---------------------------------------------------------------------- presentation


def table(reports: Sequence[Report]) -> str:
    """Reports as a table with a line for each player."""
    numbers = range(1, max((report.max for report in reports), default=0) + 1)
    rows = [["player", "opening", "mean", "max", "total", *map(str, numbers), "seconds"]]
    for report in reports:
        games = [f"{report.histogram.get(number, 0):,}" for number in numbers]
        figures = [f"{report.mean:.4f}", str(report.max), f"{report.total:,}", *games, f"{report.seconds:.1f}"]
        rows.append([report.player, report.opening, *figures])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        right = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([f"{first:<{widths[0]}}", *right]))
    return "\n".join(lines)


def plot(reports: Sequence[Report], path: str | os.PathLike[str]) -> None:
    """Plots the guesses of each player into a file: histograms with normal curves of their moments, and the means.

    Args:
      reports: of players of one game.
      path: the file, replaced if it exists; its suffix, such as .png, determines the format.

    Raises:
      ImportError: matplotlib is missing.
      ValueError: no reports, reports of several games, or an unknown suffix.
      OSError: the file can't be written.
    """
    names = {report.name for report in reports}
    if len(names) != 1:
        raise ValueError(f"a plot needs reports of one game, not of {len(names)}")
    figures = import_figure()
    check_suffix(path)
    labels = _labels(reports)
    figure = figures.Figure(figsize=(2 * PANEL[0], PANEL[1]), layout="constrained")
    shares, means = figure.subplots(1, 2)
    guesses = np.arange(1, max(report.max for report in reports) + 1)
    width = 0.8 / len(reports)
    for place, report in enumerate(reports):
        counts = np.array([report.histogram.get(number, 0) for number in guesses.tolist()])
        at = guesses + width * (place - (len(reports) - 1) / 2)
        (color,) = {bar.get_facecolor() for bar in shares.bar(at, counts / counts.sum(), width, label=labels[place])}
        if report.deviation:
            x = np.linspace(0.5, guesses[-1] + 0.5, 200)
            normal = np.exp(-(((x - report.mean) / report.deviation) ** 2) / 2) / report.deviation / math.sqrt(math.tau)
            shares.plot(x, normal, color=color, linewidth=1)
    shares.set_xticks(guesses)
    shares.set_xlabel("guesses")
    shares.set_ylabel("share of games")
    shares.legend()
    means.barh(range(len(reports)), [report.mean for report in reports])
    means.set_yticks(range(len(reports)), labels)
    for place, report in enumerate(reports):
        means.text(report.mean, place, f" {report.mean:.4f}", va="center")
    means.set_xlim(0, 1.2 * max(report.mean for report in reports))
    means.invert_yaxis()
    means.set_xlabel("guesses on average")
    figure.suptitle(f"{names.pop()}: {reports[0].codes:,} codes")
    figure.savefig(path, dpi=120)


def _labels(reports: Sequence[Report]) -> list[str]:
    """The players' names, with settings if a name occurs more than once."""
    names = [report.player for report in reports]
    labels = []
    for name, report in zip(names, reports, strict=True):
        settings = ", ".join(f"{field}={value}" for field, value in report.settings.items())
        labels.append(f"{name}\n{settings}" if names.count(name) > 1 else name)
    return labels
