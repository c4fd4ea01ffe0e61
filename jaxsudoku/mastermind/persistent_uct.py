"""Persistent UCT: one search tree, trained before play, saved, and trained further during play.

The textbook form of Monte-Carlo tree search: nodes are positions, and the root is the position of all codes; moves are
the codes that may be the secret; and moves are selected by UCT (Kocsis and Szepesvari 2006), here for the lowest number
of guesses. It runs on the host. ``mcts`` makes a new search for every position, many at a time, and reaches better
means.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsudoku.pictures import Picture
from jaxsudoku.runtime.files import check_checksum, read_json, with_checksum, write_file
from jaxsudoku.runtime.settings import whole_number

from . import games
from .pegs import tree_picture
from .player_config import SQRT2, PersistentUctConfig
from .players import Policy, Progress
from .positions import Positions
from .rules import Game, check_number, check_numbers
from .scoring import scorer

#: Identifies the files.
FORMAT, _VERSION = "jaxsudoku mastermind search tree", 2

#: Upper limit of visits and totals in files.
_MOST_COUNT = 1 << 62

#: Number of simulations between reports of progress.
_STRETCH = 1000


class SearchTreeError(ValueError):
    """Raised for a file that is not a search tree; the message names the file and the cause."""


def persistent_uct(game: Game, config: PersistentUctConfig, progress: Progress) -> Policy:
    """The player that makes the most visited guess of a tree trained before play."""
    tree = SearchTree(game, config.exploration)
    while tree.iterations < config.simulations:
        tree.train(min(_STRETCH, config.simulations - tree.iterations))
        progress(f"{tree.iterations:,} of {config.simulations:,} simulations: {len(tree):,} positions")
    return tree.policy(config.during)


@dataclasses.dataclass
class _Node:
    """A position.

    Attributes:
      possible: int32[n], the codes that may be the secret, ascending.
      parent: the number of the parent, the index of its guess, and the feedback; () for the root.
      visits: int64[n], simulations that guessed each of them.
      totals: int64[n], the total guesses of these simulations from here.
      children: the number of the child, by the guess's index in ``possible`` and the feedback.
      reached: number of simulations that came from the parent, without those that began here.
    """

    possible: np.ndarray
    parent: tuple[int, ...]

    def __post_init__(self) -> None:
        self.visits, self.totals = np.zeros((2, len(self.possible)), np.int64)
        self.children: dict[tuple[int, int], int] = {}
        self.reached = 0


class SearchTree:
    """A search tree of a game.

    Args:
      game: the game, or its name, as ``as_game`` takes it.
      exploration: scale of the confidence bound, in guesses.
      seed: the seed of all simulations.

    Raises:
      ValueError: a negative exploration or seed; as GameError, a game whose feedback table takes too much memory.

    Attributes:
      game, exploration, seed: as given.
      iterations: the number of simulations so far.
    """

    def __init__(self, game: Game | str, exploration: float = SQRT2, seed: int = 0) -> None:
        self.game = game = games.as_game(game)
        self.exploration = PersistentUctConfig(exploration=exploration).exploration
        self.seed, self.iterations = whole_number("seed", seed, 0, None), 0
        self._table = scorer(game).host
        self._nodes = [_Node(np.arange(game.secrets, dtype=np.int32), ())]

    def __len__(self) -> int:
        """The number of positions in the tree."""
        return len(self._nodes)

    def train(self, iterations: int, answers: Sequence[tuple[int, int]] = ()) -> None:
        """Runs simulations.

        Each draws a secret that fits the answers, and descends the tree by UCT: every guess once, in random order, then
        the one with the lowest confidence bound. The first position that is not in the tree becomes a node, and a
        rollout of random consistent codes ends the game. Two calls give the same tree as one.

        Args:
          iterations: number of simulations.
          answers: (guess, feedback) as numbers, of the game in play; () trains from the start of a game.

        Raises:
          ValueError: fewer than one simulation; answers that fit no code, or a guess that does not fit the previous
            ones; as CodeError, an invalid number of a code or feedback.
        """
        iterations, root = whole_number("iterations", iterations, 1), self._reached(answers)
        for _ in range(iterations):
            self._simulate(root, np.random.default_rng((self.seed, self.iterations)))
            self.iterations += 1

    def guess(self, answers: Sequence[tuple[int, int]] = ()) -> int:
        """The code number to guess after answers: the most visited one, ties by the lowest mean.

        Raises:
          ValueError: as in ``train``.
        """
        codes, visits, totals = self.counts(answers)
        return int(codes[np.lexsort((totals / np.maximum(visits, 1), -visits))[0]])

    def counts(self, answers: Sequence[tuple[int, int]] = ()) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The guesses after answers: (codes int32[n], their visits int64[n], the totals of their guesses int64[n]).

        Raises:
          ValueError: as in ``train``.
        """
        node = self._nodes[self._reached(answers)]
        return node.possible.copy(), node.visits.copy(), node.totals.copy()

    def policy(self, during: int = 0) -> Policy:
        """A policy for ``grow`` and ``CodeBreaker``.

        Args:
          during: simulations from each position before its guess is chosen; they are kept in the tree.
        """

        def choose(positions: Positions, history: np.ndarray, key: jax.Array) -> np.ndarray:
            del key
            guesses = np.zeros(len(positions), np.int32)
            for row, made in enumerate(history.tolist()):
                code = positions.codes[positions.bounds[row]]  # all codes of a position had the same feedbacks
                answers = [(guess, int(self._table[guess, code])) for guess in made]
                if during:
                    self.train(during, answers)
                guesses[row] = self.guess(answers)
            return guesses

        return choose

    def draw(self, guesses: int = 2, width: int = 3, unvisited: bool = False) -> str:
        """The tree as text, with a line for each guess and, below it, for each feedback.

        A guess has its visits, and the total and mean number of guesses of these from there on. A feedback has its
        simulations, its frequency among the possible codes, and the number of codes that it leaves.

        Args:
          guesses: the depth to draw, in guesses.
          width: number of guesses per position, and feedbacks per guess, to draw: the most visited ones.
          unvisited: whether to draw also guesses and feedbacks without visits.

        Raises:
          ValueError: ``guesses`` or ``width`` is below 1.
        """
        lines = [self._title]
        for depth, feedback, guess, note in self._rows(guesses, width, unvisited):
            text = self.game.feedback_text(feedback) if guess < 0 else self.game.code_text(guess)
            lines.append(f"{'  ' * depth}{text}  {note}")
        return "\n".join(lines)

    def picture(self, guesses: int = 2, width: int = 3, unvisited: bool = False, most: int = 60) -> Picture:
        """The tree as a picture, which a notebook shows; rows and arguments are those of ``draw``.

        Args:
          most: maximum number of rows; a note gives the number left out.
        """
        most, rows = whole_number("most", most, 1), list(self._rows(guesses, width, unvisited))
        return tree_picture(self.game, rows[:most], max(len(rows) - most, 0), self._title)

    def _repr_svg_(self) -> str:
        return self.picture().svg

    @property
    def _title(self) -> str:
        return f"{self.game}: {self.iterations:,} simulations, {len(self):,} positions"

    def _rows(self, guesses: int, width: int, unvisited: bool) -> Iterator[tuple[int, int, int, str]]:
        """The guesses and feedbacks to draw, in the form of ``tree_picture``."""
        guesses, width = whole_number("guesses", guesses, 1), whole_number("width", width, 1)
        return self._rows_below(self._nodes[0], 0, 2 * guesses, width, unvisited)

    def _rows_below(
        self, node: _Node, depth: int, end: int, width: int, unvisited: bool
    ) -> Iterator[tuple[int, int, int, str]]:
        for place in np.argsort(-node.visits, kind="stable")[:width].tolist():
            visits, total = int(node.visits[place]), int(node.totals[place])
            if not visits and not unvisited:
                return
            mean = f", mean {total / visits:.2f}" if visits else ""
            yield depth, -1, int(node.possible[place]), f"{visits:,} visits, {total:,} guesses{mean}"
            for feedback, reached, part in self._parts(node, place)[: width if visits and depth + 2 < end else 0]:
                if reached or part.visits.any() or unvisited:
                    won, frequency = feedback == self.game.win, len(part.possible) / len(node.possible)
                    left = "found" if won else f"{len(part.possible):,} possible"
                    yield depth + 1, feedback, -1, f"{reached:,} visits, frequency {frequency:.3f}, {left}"
                    if not won:
                        yield from self._rows_below(part, depth + 2, end, width, unvisited)

    def _parts(self, node: _Node, place: int) -> list[tuple[int, int, _Node]]:
        """The possible feedbacks to a guess, the most visited first: (feedback, simulations, position after it)."""
        heard = self._table[node.possible[place], node.possible]
        known = {feedback: self._nodes[at] for (of, feedback), at in node.children.items() if of == place}
        won = int(node.visits[place]) - sum(part.reached for part in known.values())
        parts = []
        for feedback in np.unique(heard).tolist():
            part = known.get(feedback) or _Node(node.possible[heard == feedback], ())
            parts.append((feedback, won if feedback == self.game.win else part.reached, part))
        return sorted(parts, key=lambda found: (-found[1], -int(found[2].visits.sum())))

    # ------------------------------------------------------------------ simulations

    def _simulate(self, at: int, rng: np.random.Generator) -> None:
        """Runs a simulation from a node, and backs it up to all guesses on its path."""
        secret, path, arrived = int(rng.choice(self._nodes[at].possible)), [], list[_Node]()
        while True:
            node = self._nodes[at]
            place = self._selected(node, rng)
            path.append((node, place))
            feedback = int(self._table[node.possible[place], secret])
            if feedback == self.game.win:
                rest = 0
                break
            before = len(self)
            at = self._child(at, place, feedback)
            arrived.append(self._nodes[at])
            if len(self) > before:
                rest = self._rollout(self._nodes[at].possible, secret, rng)
                break
        for more, (node, place) in enumerate(reversed(path), 1):
            node.visits[place] += 1
            node.totals[place] += rest + more
        for node in arrived:
            node.reached += 1

    def _selected(self, node: _Node, rng: np.random.Generator) -> int:
        """The index of the guess to make."""
        (unvisited,) = np.nonzero(node.visits == 0)
        if len(unvisited):
            return int(rng.choice(unvisited))
        spread = np.sqrt(math.log(node.visits.sum()) / node.visits)
        return int(np.argmin(node.totals / node.visits - self.exploration * spread))

    def _rollout(self, possible: np.ndarray, secret: int, rng: np.random.Generator) -> int:
        """The number of guesses of a rollout, which guesses random possible codes."""
        made = 0
        while True:
            guess, made = int(rng.choice(possible)), made + 1
            if guess == secret:
                return made
            possible = possible[self._table[guess, possible] == self._table[guess, secret]]

    def _child(self, at: int, place: int, feedback: int) -> int:
        """The number of a node's child, which is added if missing."""
        node = self._nodes[at]
        if (place, feedback) not in node.children:
            guess = int(node.possible[place])
            possible = node.possible[self._table[guess, node.possible] == feedback]
            if not len(possible):
                answer = self.game.answer_text(guess, feedback)
                raise ValueError(f"no code fits {answer} and the answers before it")
            # created before it is linked, so that an interruption leaves the tree valid
            self._nodes.append(_Node(possible, (at, place, feedback)))
            node.children[place, feedback] = len(self._nodes) - 1
        return node.children[place, feedback]

    def _reached(self, answers: Sequence[tuple[int, int]]) -> int:
        """The number of the node after answers; missing nodes on the way are added."""
        at = 0
        for guess, feedback in answers:
            feedback = check_number(self.game, "feedback", feedback, self.game.feedbacks)
            guess = check_number(self.game, "code", guess, self.game.size)
            node = self._nodes[at]
            (places,) = np.nonzero(node.possible == guess)
            if not len(places):
                raise ValueError(f"{self.game.code_text(guess)} does not fit the answers before it")
            at = self._child(at, int(places[0]), feedback)
        return at

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tree as JSON to a file, atomically; raises OSError."""
        visited = [np.flatnonzero(node.visits) for node in self._nodes]
        fields = {
            "format": FORMAT,
            "version": _VERSION,
            "game": games.to_fields(self.game),
            "exploration": self.exploration,
            "seed": self.seed,
            "iterations": self.iterations,
            "parents": [list(node.parent) for node in self._nodes[1:]],
            "reached": [node.reached for node in self._nodes[1:]],
            "places": [places.tolist() for places in visited],
            "visits": [node.visits[places].tolist() for node, places in zip(self._nodes, visited, strict=True)],
            "totals": [node.totals[places].tolist() for node, places in zip(self._nodes, visited, strict=True)],
        }
        write_file(Path(path), with_checksum(fields))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SearchTree:
        """Reads a file of ``save``.

        Raises:
          OSError: the file can't be read.
          SearchTreeError: it is not a search tree, or was altered.
        """
        try:
            fields = read_json(Path(path))
            if fields.get("format") != FORMAT or fields.get("version") != _VERSION:
                raise ValueError(f"its format is not {FORMAT!r} of version {_VERSION}")
            check_checksum(fields)
            return cls._of(fields)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise SearchTreeError(f"{os.fspath(path)}: not a search tree: {error}") from error

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> SearchTree:
        tree = cls(games.from_fields(fields["game"]), fields["exploration"], fields["seed"])
        tree.iterations = whole_number("iterations", fields["iterations"], 0)
        for number, place, feedback in fields["parents"]:
            at = check_number(tree.game, "node", number, len(tree))
            check_number(tree.game, "place", place, len(tree._nodes[at].possible))
            check_number(tree.game, "feedback", feedback, tree.game.feedbacks)
            tree._child(at, place, feedback)
        reached = check_numbers("number of visits", fields["reached"], _MOST_COUNT).tolist()
        for node, number in zip(tree._nodes[1:], reached, strict=True):
            node.reached = number
        rows = zip(tree._nodes, fields["places"], fields["visits"], fields["totals"], strict=True)
        for node, places, visits, totals in rows:
            check_numbers("place", places, len(node.possible))
            check_numbers("number of visits", visits, _MOST_COUNT)
            check_numbers("number of guesses", totals, _MOST_COUNT)
            node.visits[places], node.totals[places] = visits, totals
        return tree
