"""Training data of Mastermind's learned value: guesses at positions, with the totals of the parts that they leave.

There are two kinds of positions: after an arbitrary first guess and a good second one, and those that ``lookahead``
reaches with a network, from several first guesses. At each, the parts of the best guesses by ``lookahead``'s estimate
and of some further ones are valued: small parts by ``optimal``'s search, larger ones by a wide search that ends in it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsudoku.mastermind import PegGame
from jaxsudoku.mastermind.costs import estimate
from jaxsudoku.mastermind.lookahead import lookahead
from jaxsudoku.mastermind.memo import Memo
from jaxsudoku.mastermind.openings import opened
from jaxsudoku.mastermind.player_config import LookaheadConfig
from jaxsudoku.mastermind.positions import History, Positions, after, representatives
from jaxsudoku.mastermind.scoring import scorer
from jaxsudoku.mastermind.trees import Node, grow, nodes
from jaxsudoku.mastermind.valuation import Effort, Valuer
from jaxsudoku.mastermind.values import Features, LearnedValue, features
from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.files import write_file
from jaxsudoku.runtime.settings import Config, Natural, Positive

#: Maximum sizes of positions that are left out: after one guess, and after two guesses or in play.
_LEAST = (8, 12)


@dataclasses.dataclass(frozen=True)
class GuessesConfig(Config):
    """Settings of the training data of a game.

    Attributes:
      positions: maximum number of positions after one guess, and after two; drawn at random if there are more.
      reached: maximum number of positions in play.
      openings: number of first guesses in play, the best by the estimate.
      guesses: number of guesses of a position, the best by the estimate.
      further: number of random guesses among the next hundred.
      exact: maximum size of parts that are solved.
      tried: number of guesses tried for a larger part, and a quarter of it for the parts that they leave.
    """

    positions: Positive = 120
    reached: Positive = 400
    openings: Positive = 4
    guesses: Positive = 40
    further: Natural = 20
    exact: Positive = 32
    tried: Positive = 20


class Guesses(NamedTuple):
    """Guesses of a game in groups, one group per position.

    Attributes:
      inputs: features of the p distinct parts of more than two codes; recomputed after loading a file.
      positions: these parts.
      totals: float32[p], their totals.
      fixed: float32[g], for each guess its total without these parts.
      bounds: int64[g + 1], the parts of guess i are ``parts[bounds[i] : bounds[i + 1]]``.
      parts: int64[n], numbers of parts.
      groups: int64[k + 1], the guesses of group j are those from ``groups[j]`` to ``groups[j + 1] - 1``.
      sizes: int64[k], the codes of the position of each group.
    """

    inputs: Features
    positions: Positions
    totals: np.ndarray
    fixed: np.ndarray
    bounds: np.ndarray
    parts: np.ndarray
    groups: np.ndarray
    sizes: np.ndarray

    def sums(self, totals: AnyArray) -> np.ndarray:
        """The totals of the guesses float64[g], by those of the parts [p]."""
        guess = np.repeat(np.arange(len(self.fixed)), np.diff(self.bounds))
        return self.fixed + np.bincount(guess, np.asarray(totals)[self.parts], len(self.fixed))

    def regret(self, totals: AnyArray) -> float:
        """The regret of choosing guesses by these totals of the parts [p], in guesses per thousand codes."""
        chosen, true = self.sums(totals), self.sums(self.totals)
        lost = 0.0
        for start, end in itertools.pairwise(self.groups.tolist()):
            lost += true[start + int(np.argmin(chosen[start:end]))] - true[start:end].min()
        return 1000 * lost / max(float(self.sizes.sum()), 1.0)

    def error(self, totals: AnyArray) -> float:
        """The root mean square error of these totals of the parts [p], in guesses per code.

        Parts are weighted by their sizes.
        """
        sizes = self.inputs.sizes
        errors = (np.asarray(totals) - self.totals) / sizes
        return float(np.sqrt(np.average(np.square(errors), weights=sizes))) if len(errors) else 0.0


def parse_game(text: str) -> PegGame:
    """A game from its pegs and colours, such as "4x6"; raises ValueError."""
    pegs, times, colours = text.partition("x")
    if not times or not pegs.isdecimal() or not colours.isdecimal():
        raise ValueError(f"game {text!r} is not PEGSxCOLOURS, such as 4x6")
    return PegGame(int(pegs), int(colours))


def make_guesses(game: PegGame, config: GuessesConfig, seed: int, player: Path | None = None) -> Guesses:
    """Makes guesses of a game at arbitrary positions, or at those that ``lookahead`` reaches with a network file."""
    maker = _Maker(game, config, np.random.default_rng(seed))
    if player is None:
        maker.explore()
    else:
        maker.play(player)
    return maker.guesses()


class _Split(NamedTuple):
    """Positions split by guesses.

    Attributes:
      parts, histories: the parts of more than two codes.
      fixed: int64[g], for each guess its total without these parts.
      lengths: int64[g], the number of these parts.
      groups: int64[positions], the number of guesses of each position, without those that do not split it.
    """

    parts: Positions
    histories: Sequence[History]
    fixed: np.ndarray
    lengths: np.ndarray
    groups: np.ndarray


class _Maker:
    """Collects the guesses of a game."""

    def __init__(self, game: PegGame, config: GuessesConfig, random: np.random.Generator) -> None:
        self._game, self._config, self._random = game, config, random
        self._scorer, self._valuer, self._table = scorer(game), Valuer(game), Memo(game)
        self._totals: dict[int, int] = {}
        self._fixed: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []
        self._parts: list[np.ndarray] = []
        self._groups: list[np.ndarray] = []
        self._sizes: list[np.ndarray] = []

    def explore(self) -> None:
        """Adds guesses at positions after an arbitrary first guess, and after a candidate second guess."""
        found = self._split(Positions.everything(self._game), [()], [representatives(self._game, ())])
        for least in _LEAST:
            positions, histories = self._some(found.parts, found.histories, least, self._config.positions)
            found = self._add(positions, histories, self._candidates(positions, histories))

    def play(self, player: Path) -> None:
        """Adds guesses at the positions of strategies of ``lookahead`` with the network of a file."""
        ((_, openings, _),) = self._scorer.ranked(Positions.everything(self._game), estimate(self._game), [()])
        policy = lookahead(self._game, LookaheadConfig(values=str(player)), lambda text: None)
        in_play: list[Node] = []
        for opening in openings[: self._config.openings].tolist():
            (tree,) = grow(self._game, opened(policy, opening))
            in_play += [node for node in nodes(tree) if node.history != ()]
        positions = Positions.of(node.codes for node in in_play)
        made = [node.history for node in in_play]
        some, histories = self._some(positions, made, _LEAST[1], self._config.reached)
        self._add(some, histories, self._candidates(some, histories))

    def _some(
        self, positions: Positions, histories: Sequence[History], least: int, number: int
    ) -> tuple[Positions, Sequence[History]]:
        """Draws up to ``number`` distinct positions of more than ``least`` codes."""
        _, distinct = Memo(self._game).add(positions)
        large = distinct[positions.sizes[distinct] > least]
        chosen = self._random.permutation(large)[:number]
        return positions.take(chosen), [histories[index] for index in chosen.tolist()]

    def _candidates(self, positions: Positions, histories: Sequence[History]) -> list[np.ndarray]:
        """The selected guesses of each position."""
        found = [np.zeros(0, np.int32)] * len(positions)
        best = self._config.guesses
        for index, guesses, _ in self._scorer.ranked(positions, estimate(self._game), histories):
            further = self._random.permutation(guesses[best : best + 100])[: self._config.further]
            found[index] = np.concatenate([guesses[:best], further])
        return found

    def _split(self, positions: Positions, histories: Sequence[History], guesses: Sequence[np.ndarray]) -> _Split:
        """Splits positions by guesses of each."""
        numbers = [len(each) for each in guesses]
        owner, made = np.repeat(np.arange(len(positions)), numbers), np.concatenate([np.zeros(0, np.int32), *guesses])
        found = self._scorer.partition(positions.take(owner), made)
        useful, fixed = ~found.useless, found.fixed_totals
        (large,) = np.nonzero((found.parts.sizes > 2) & useful[found.owner])
        of = found.owner[large]
        later = [after(histories[owner[guess]], int(made[guess])) for guess in of.tolist()]
        parts, after_guesses = self._relabelled(found.parts.take(large), later)
        lengths = np.bincount(of, minlength=len(owner))
        groups = np.bincount(owner[useful], minlength=len(positions))
        return _Split(parts, after_guesses, fixed[useful], lengths[useful], groups)

    def _add(self, positions: Positions, histories: Sequence[History], guesses: Sequence[np.ndarray]) -> _Split:
        """Adds guesses of positions."""
        found = self._split(positions, histories, guesses)
        known, first = self._table.add(found.parts)
        effort = Effort(0, self._config.exact, self._config.tried)
        made = [found.histories[index] for index in first.tolist()]
        totals = self._valuer.totals(found.parts.take(first), made, effort)
        self._totals |= dict(zip(known[first].tolist(), totals.tolist(), strict=True))
        self._fixed.append(found.fixed)
        self._lengths.append(found.lengths)
        self._parts.append(known)
        self._groups.append(found.groups)
        self._sizes.append(positions.sizes)
        return found

    def _relabelled(self, parts: Positions, histories: Sequence[History]) -> tuple[Positions, Sequence[History]]:
        """Relabels parts that will be solved, so that equivalent ones become equal; others are unchanged."""
        exact = self._config.exact
        few = [history is None or size <= exact for history, size in zip(histories, parts.sizes.tolist(), strict=True)]
        images = parts.relabelled(self._game)
        sets = [images[index] if each else parts[index] for index, each in enumerate(few)]
        return Positions.of(sets), [None if each else made for each, made in zip(few, histories, strict=True)]

    def guesses(self) -> Guesses:
        """All added guesses."""
        positions = self._table.take(np.arange(len(self._table)))
        return Guesses(
            features(self._game, positions),
            positions,
            np.array([self._totals[number] for number in range(len(positions))], np.float32),
            np.concatenate(self._fixed).astype(np.float32),
            np.cumsum([0, *np.concatenate(self._lengths)]),
            np.concatenate(self._parts),
            np.cumsum([0, *np.concatenate(self._groups)]),
            np.concatenate(self._sizes),
        )


# ---------------------------------------------------------------------- files

#: The arrays of a file besides the positions.
_ARRAYS = ("totals", "fixed", "bounds", "parts", "groups", "sizes")


class GuessesFileError(ValueError):
    """Raised for a file without guesses of a game; the message names it."""


def cached_guesses(
    game: PegGame, config: GuessesConfig, seed: int, folder: Path, player: Path | None = None
) -> Guesses:
    """``make_guesses`` with a cache of files in a folder, by settings and network.

    Raises:
      GuessesFileError: the file is damaged or has other contents.
      ValueFileError: the player's file is not a network.
      OSError: it can't be read or written.
    """
    path = folder / f"{game.pegs}x{game.colours}-{_settings(config, seed, player)}.npz"
    if not path.exists():
        made = make_guesses(game, config, seed, player)
        arrays = {name: getattr(made, name) for name in _ARRAYS}
        data = io.BytesIO()
        np.savez_compressed(data, codes=made.positions.codes, ends=made.positions.bounds, **arrays)
        write_file(path, data.getvalue())
        return made
    try:
        with np.load(io.BytesIO(path.read_bytes())) as file:
            positions = Positions(file["codes"], file["ends"])
            arrays = {name: file[name] for name in _ARRAYS}
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise GuessesFileError(f"{path}: no guesses of {game} ({error}); delete it to make them again") from error
    return Guesses(features(game, positions), positions, **arrays)


def _settings(config: GuessesConfig, seed: int, player: Path | None) -> str:
    """The part of a file's name that identifies settings and network."""
    fields = dataclasses.asdict(config) | {"seed": seed}
    for name in ("reached", "openings") if player is None else ("positions",):
        del fields[name]
    text = "-".join(map(str, fields.values()))
    return text if player is None else f"played-{text}-{_digest(LearnedValue.load(player))}"


def _digest(value: LearnedValue) -> str:
    """A digest of a network."""
    found = hashlib.sha256(repr(value.config).encode())
    for name in sorted(value.params):
        found.update(np.ascontiguousarray(value.params[name]).tobytes())
    return found.hexdigest()[:12]
