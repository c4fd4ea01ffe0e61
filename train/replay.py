"""Replay: the last games of a device, and positions to learn from.

A solved game ends in a solution that the search itself has found. So its positions have certain targets, in hindsight:
the digits of that solution, and a value of 1 where they are all still possible, of 0 in positions that the search has
left by a proof. Of solved puzzles further positions are made as in supervised training, with more or fewer cells
filled and by other rules; of failed games only the positions that were searched are used, with the improved policy of
their one cell and a value of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flashbax
import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku import env
from jaxsudoku.batches import device_memory
from jaxsudoku.board import Board
from jaxsudoku.datasets import Batch
from jaxsudoku.planes import grids_to_cubes
from jaxsudoku.solution import Status

from .games import Games, no_games
from .positions import Positions, puzzles_needed, sample_batch
from .selfplay_config import ZeroConfig, of_puzzles

#: Games drawn for each position that is wanted of those that were searched.
_DRAWN = 4


class Replay:
    """A buffer of flashbax for the games of one device, and what is made of them. Its functions are pure.

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
        drawn, room = self._made + _DRAWN * self._searched, config.play.buffer // devices
        if room < max(drawn, config.play.games // devices):
            raise ValueError(
                f"a buffer of {config.play.buffer:,} games is too small: on {devices} devices it must hold the "
                f"{config.play.games:,} of a round, and the {drawn * devices:,} that a step draws"
            )
        self._buffer = flashbax.make_item_buffer(room, 1, drawn, add_batches=True)

    def init(self) -> Any:
        """The empty buffer."""
        one = no_games(self._config.board, 1, self._config.play.kept_positions)
        return self._buffer.init(jax.tree.map(lambda leaf: leaf[0], one))

    def check_memory(self) -> None:
        """Raises ValueError if the buffer takes more than half of the device's memory."""
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(jax.eval_shape(self.init)))
        if 2 * size > (memory := device_memory()):
            play = self._config.play
            raise ValueError(
                f"a buffer of {play.buffer:,} games with {play.kept_positions} positions each takes {size:,} bytes of "
                f"a device, more than half of its {memory:,}: lower --buffer or --kept-positions"
            )

    def add(self, buffer: Any, games: Games) -> Any:
        """The buffer with further games; the oldest are dropped."""
        return self._buffer.add(buffer, games)

    def update(self, buffer: Any, key: Array, change: Callable[[Games, Array], Games]) -> Any:
        """The buffer with some of its games changed, ``reanalyse`` times as many as a round has.

        Args:
          buffer: the buffer, not empty.
          key: a JAX key.
          change: (all games, indices of the chosen ones, none twice) to all games.
        """
        play = self._config.play
        room, size = play.buffer // self._devices, round(play.reanalyse * play.games / self._devices)
        filled = jnp.where(buffer.is_full, room, buffer.current_index)
        first = jax.random.randint(key, (), 0, filled)
        games = jax.tree.map(lambda leaf: leaf[0], buffer.experience)
        changed = change(games, (first + jnp.arange(size, dtype=jnp.int32)) % room)
        return buffer.replace(experience=jax.tree.map(lambda leaf: leaf[None], changed))

    def sample(self, key: Array, buffer: Any, progress: Array, losses: Array) -> Positions:
        """A device's positions of a step."""
        draw_key, made_key, searched_key = jax.random.split(key, 3)
        games: Games = self._buffer.sample(buffer, draw_key).experience
        first = jax.tree.map(lambda leaf: leaf[: self._made], games)
        made = sample_batch(self._of_puzzles, made_key, _solved_puzzles(first), progress, self._devices, losses)
        parts = [made._replace(truth=made.truth.astype(jnp.float32))]
        if self._searched:
            rest = jax.tree.map(lambda leaf: leaf[self._made :], games)
            parts.append(searched_positions(self._config.board, rest, searched_key, self._searched))
        found: Positions = jax.tree.map(lambda *parts: jnp.concatenate(parts), *parts)
        # a network may divide by the number of candidates
        return found._replace(candidates=found.candidates | ~found.useful[:, None, None])


def _solved_puzzles(games: Games) -> Batch:
    """The puzzles of solved games with their solutions; the others are made invalid, so that rules refute them.

    The rating of a puzzle is the number of grids that its game took, so hard ones may be preferred.
    """
    solved = (games.status == Status.SOLVED)[:, None]
    puzzles = jnp.where(solved, games.puzzles, 1).astype(jnp.uint8)
    rating = jnp.maximum(games.iterations - 1, 0).astype(jnp.float32)
    return Batch(puzzles, games.solutions, (puzzles > 0).sum(axis=1, dtype=jnp.int32), rating)


def searched_positions(board: Board, games: Games, key: Array, size: int) -> Positions:
    """Positions that games searched, at most one of each game.

    Args:
      board: the board.
      games: N games, N at least ``size``.
      key: a JAX key.
      size: number of positions.
    """
    place_key, order_key = jax.random.split(key)
    kept, number = games.kept, jnp.arange(len(games.status))
    count = jnp.minimum(kept.searched, kept.nodes.shape[1])
    place = jnp.minimum((jax.random.uniform(place_key, count.shape) * count).astype(jnp.int32), count - 1)
    solved, failed = games.status == Status.SOLVED, games.status == Status.UNSOLVED
    useful = (count > 0) & (solved | failed)
    order = jnp.where(useful, jax.random.uniform(order_key, count.shape), -1.0)
    _, drawn = jax.lax.top_k(order, size)
    number, place, solved, useful = number[drawn], place[drawn], solved[drawn], useful[drawn]
    candidates = env.unpack(kept.nodes[number, place], board)
    solution = grids_to_cubes(games.solutions[number], board)
    alive = solved & (solution & candidates).any(axis=1).all(axis=1)
    here = jnp.arange(board.cells) == kept.cell[number, place][:, None]  # [B, cells]
    improved = kept.policy[number, place][:, :, None] * here[:, None]
    truth = jnp.where(solved[:, None, None], solution & alive[:, None, None], improved).astype(jnp.float32)
    return Positions(candidates, truth, alive, useful)
