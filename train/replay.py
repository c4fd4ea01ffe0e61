"""Replay buffer of a device's last games, and positions to train on.

A solved game ends in a solution that the search has found. So its positions have exact targets in hindsight: the digits
of this solution, and a value of 1 if all of them are still possible, else 0 (the search has refuted the position). From
solved puzzles further positions are made as in supervised training, with more or fewer cells filled and by other rules.
From failed games only searched positions are used, with the improved policy of one cell and a value of 0, or of the
share of cells that the game had filled. If the solutions are known (``truth``), positions of all games have exact
targets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import flashbax
import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku import env, networks, symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import grids_to_cubes
from jaxsudoku.datasets import Batch
from jaxsudoku.engine.solution import Status
from jaxsudoku.runtime.devices import device_memory

from .games import Games, no_games, random_kept
from .positions import Positions, puzzles_needed, sample_batch
from .selfplay_config import ZeroConfig, of_puzzles

#: Number of games drawn per requested searched position.
_DRAWN = 4

#: Surprise (nats) added to that of a game's searches, so that every game can be drawn.
_SURPRISE = 0.1

#: Labels of positions of failed games.
Value = Literal["lost", "filled", "truth"]

#: Maximum value of a failed game.
_FILLED = 0.99


class Replay:
    """A buffer of flashbax for the games of one device, and training positions from it. Its functions are pure.

    Args:
      config: the resolved settings.
      devices: number of devices.

    Raises:
      ValueError: the buffer is too small.
    """

    def __init__(self, config: ZeroConfig, devices: int) -> None:
        self._config, self._devices = config, devices
        self._of_puzzles = of_puzzles(config, devices)
        self._made = puzzles_needed(self._of_puzzles, devices) // devices
        self._searched = (config.batch_size - self._of_puzzles.batch_size) // devices
        each = config.batch_size // devices
        if config.replay.searched and not self._searched:
            raise ValueError(
                f"searched {config.replay.searched} of a device's {each} positions is none: raise batch_size"
            )
        self._reanalysed = round(config.replay.reanalyse * config.play.games / devices)
        if config.replay.reanalyse and not self._reanalysed:
            raise ValueError(f"reanalyse {config.replay.reanalyse} of a device's games is none")
        drawn, room = self._made + _DRAWN * self._searched, config.replay.buffer // devices
        if room < max(drawn, config.play.games // devices):
            raise ValueError(
                f"a buffer of {config.replay.buffer:,} games is too small: on {devices} devices it must hold the "
                f"{config.play.games:,} of a round, and the {drawn * devices:,} that a step draws"
            )
        self._room, self._priority = room, config.replay.priority
        self._drawn = drawn
        learners = (networks.get(learner.network.architecture) for learner in config.learners())
        self._augment = not all(architecture.equivariant for architecture in learners)

    @functools.cached_property
    def _buffer(self) -> Any:
        """The functions of flashbax; created after the number of CPU devices is set."""
        if not self._priority:
            return flashbax.make_item_buffer(self._room, 1, self._drawn, add_batches=True)
        return flashbax.make_prioritised_item_buffer(
            self._room,
            1,
            self._drawn,
            add_batches=True,
            priority_exponent=self._priority,
            device=jax.default_backend(),
        )

    def init(self) -> Any:
        """The empty buffer."""
        one = no_games(self._config.board, 1, self._config.replay.kept_positions)
        empty = self._buffer.init(jax.tree.map(lambda leaf: leaf[0], one))
        # flashbax's weak types would give the first round a separate program
        return jax.tree.map(lambda leaf: leaf.astype(leaf.dtype), empty)

    def check_memory(self) -> None:
        """Raises ValueError if the buffer takes more than half of a device's memory, which CPU devices share."""
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(jax.eval_shape(self.init)))
        if jax.default_backend() == "cpu":
            size *= min(self._devices, jax.local_device_count())
        if 2 * size > (memory := device_memory()):
            replay = self._config.replay
            raise ValueError(
                f"a buffer of {replay.buffer:,} games with {replay.kept_positions} positions each takes {size:,} bytes "
                f"of a device, more than half of its {memory:,}: lower --buffer or --kept-positions"
            )

    def add(self, buffer: Any, games: Games) -> Any:
        """Adds games to the buffer; the oldest are dropped."""
        after = self._buffer.add(buffer, games)
        if not self._priority:
            return after
        places = (buffer.current_index + jnp.arange(len(games.status), dtype=jnp.int32)) % self._room
        surprise = games.kept.surprise / jnp.maximum(games.kept.searched, 1)
        return self._buffer.set_priorities(after, places, surprise + _SURPRISE)

    def update(self, buffer: Any, key: Array, change: Callable[[Games, Array], Games]) -> Any:
        """Changes some games of the buffer, ``reanalyse`` times the number of a round; priorities are unchanged.

        Args:
          buffer: the buffer, not empty.
          key: a JAX key.
          change: (all games, distinct indices of the chosen ones) -> all games.
        """
        room, size = self._room, self._reanalysed
        filled = jnp.where(buffer.is_full, room, buffer.current_index)
        first = jax.random.randint(key, (), 0, filled)
        games = jax.tree.map(lambda leaf: leaf[0], buffer.experience)
        changed = change(games, (first + jnp.arange(size, dtype=jnp.int32)) % room)
        return buffer.replace(experience=jax.tree.map(lambda leaf: leaf[None], changed))

    def drawn(self, key: Array, buffer: Any) -> Games:
        """Draws the games for the positions of a step from the buffer."""
        draw_key, order_key = jax.random.split(key)
        games: Games = self._buffer.sample(buffer, draw_key).experience
        if self._priority:  # these come in the order of the buffer
            order = jax.random.permutation(order_key, len(games.status))
            games = jax.tree.map(lambda leaf: leaf[order], games)
        return games

    def sample(self, key: Array, buffer: Any, progress: Array, losses: Array) -> Positions:
        """A device's positions of a step."""
        draw_key, made_key, searched_key, turn_key = jax.random.split(key, 4)
        games = self.drawn(draw_key, buffer)
        first = jax.tree.map(lambda leaf: leaf[: self._made], games)
        puzzles = _solved_puzzles(first, self._config.play.truth)
        made = sample_batch(self._of_puzzles, made_key, puzzles, progress, self._devices, losses)
        parts = [made._replace(truth=made.truth.astype(jnp.float32), alive=made.alive.astype(jnp.float32))]
        if self._searched:
            rest = jax.tree.map(lambda leaf: leaf[self._made :], games)
            rest = rest if self._config.replay.learned == "all" else _failed(rest)
            value: Value = "truth" if self._config.play.truth else self._config.replay.failed_value
            parts.append(searched_positions(self._config.board, rest, searched_key, self._searched, value))
        found: Positions = jax.tree.map(lambda *parts: jnp.concatenate(parts), *parts)
        if self._augment:
            found = turned(self._config.board, found, turn_key)
        # networks may divide by the number of candidates
        return found._replace(candidates=found.candidates | ~found.useful[:, None, None])


def turned(board: Board, positions: Positions, key: Array) -> Positions:
    """Applies a random symmetry to each position."""
    size = len(positions.alive)
    drawn = symmetry.sample(key, board, (size,))

    def turn(cubes: Array) -> Array:
        return symmetry.apply_candidates(drawn, cubes.reshape(size, *(board.side,) * 3)).reshape(cubes.shape)

    return positions._replace(candidates=turn(positions.candidates), truth=turn(positions.truth))


def _failed(games: Games) -> Games:
    """The games, without kept positions of games that did not fail."""
    failed = games.status == Status.UNSOLVED
    return games._replace(kept=games.kept._replace(searched=jnp.where(failed, games.kept.searched, 0)))


def _solved_puzzles(games: Games, known: bool = False) -> Batch:
    """The puzzles of solved games with their solutions; others are replaced by invalid ones, which rules refute.

    If the solutions are known, the games need not be solved.

    The rating of a puzzle is the number of grids of its game, so hard ones can be preferred.
    """
    solved = (games.status == Status.SOLVED)[:, None] | (known & (games.status == Status.UNSOLVED)[:, None])
    puzzles = jnp.where(solved, games.puzzles, 1).astype(jnp.uint8)
    rating = jnp.maximum(games.iterations - 1, 0).astype(jnp.float32)
    return Batch(puzzles, games.solutions, (puzzles > 0).sum(axis=1, dtype=jnp.int32), rating)


def searched_positions(board: Board, games: Games, key: Array, size: int, value_of_failed: Value = "lost") -> Positions:
    """Positions searched in games, at most one of each of the N games.

    Args:
      board: the board.
      games: N games, N at least ``size``.
      key: a JAX key.
      size: number of positions.
      value_of_failed: the value of positions of failed games: 0 (lost), the share of empty cells that the game had
        filled (filled), or from the known solution, as in solved games (truth).
    """
    place_key, order_key = jax.random.split(key)
    kept, number = games.kept, jnp.arange(len(games.status))
    any_kept, place = random_kept(kept, place_key)
    solved, failed = games.status == Status.SOLVED, games.status == Status.UNSOLVED
    useful = any_kept & (solved | failed)
    order = jnp.where(useful, jax.random.uniform(order_key, place.shape), -1.0)
    _, drawn = jax.lax.top_k(order, size)
    number, place, solved, useful = number[drawn], place[drawn], solved[drawn], useful[drawn]
    solved |= value_of_failed == "truth"
    candidates = env.unpack(kept.nodes[number, place], board)
    solution = grids_to_cubes(games.solutions[number], board)
    alive = solved & (solution & candidates).any(axis=1).all(axis=1)
    here = jnp.arange(board.cells) == kept.cell[number, place][:, None]  # [B, cells]
    improved = kept.policy[number, place][:, :, None] * here[:, None]
    truth = jnp.where(solved[:, None, None], solution & alive[:, None, None], improved).astype(jnp.float32)
    value = alive.astype(jnp.float32)
    if value_of_failed == "filled":
        empty = games.puzzles[number] == 0
        share = (empty & (games.solutions[number] > 0)).sum(axis=1) / jnp.maximum(empty.sum(axis=1), 1)
        value = jnp.where(solved, value, jnp.minimum(share, _FILLED))
    return Positions(candidates, truth, value, useful)
