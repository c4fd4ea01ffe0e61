"""One round of self-play as a compiled program: games, then steps of the optimiser (the Anakin pattern).

Every device plays its own games and keeps them in its own buffer; gradients are summed over all. All randomness comes
from the key, the number of steps done and the device's number, so a round depends on its state alone.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku.batches import compiler_options
from jaxsudoku.networks import Forward, Params
from jaxsudoku.solution import Status

from .games import Games, play
from .objective import Metrics, no_metrics
from .positions import Positions
from .reanalysis import reanalyse
from .replay import Replay
from .selfplay_config import ZeroConfig
from .step import TrainState, make_step, shardings_of

#: Separates the randomness of games from that of steps.
_GAMES = 0x51ED270B


class ZeroState(NamedTuple):
    """The state of a run between two rounds; a pytree.

    Attributes:
      learner: the state of training.
      buffer: the games of every device: flashbax's state, with an axis of devices before its own.
    """

    learner: TrainState
    buffer: Any

    @property
    def step(self) -> Array:
        """Steps of the optimiser done, int32."""
        return self.learner.step

    @property
    def average(self) -> Params:
        """The averaged parameters."""
        return self.learner.average


class Played(NamedTuple):
    """Sums over games, float32.

    Attributes:
      games: all games.
      solved: those that were solved.
      failed: those whose budget was spent.
      without: those of puzzles without a solution, which nothing is learned from.
      iterations: grids evaluated.
      calls: positions evaluated by the network.
    """

    games: Array
    solved: Array
    failed: Array
    without: Array
    iterations: Array
    calls: Array


class Sums(NamedTuple):
    """Sums over rounds.

    Attributes:
      metrics: those of the steps.
      played: those of the games.
    """

    metrics: Metrics
    played: Played


def no_sums() -> Sums:
    """The sums over no rounds."""
    return Sums(no_metrics(), Played(*(jnp.float32(0) for _ in Played._fields)))


def summary(played: Played) -> dict[str, float]:
    """Means and shares of summed games."""
    games, solved, failed, without, iterations, calls = map(float, jax.device_get(played))
    with_solution = max(games - without, 1.0)
    return {
        "games": games,
        "games_solved": solved / with_solution,
        "games_failed": failed / with_solution,
        "puzzles_without_solution": without,
        "grids_per_game": iterations / max(games, 1.0),
        "calls_per_game": calls / max(games, 1.0),
    }


def initial_buffer(config: ZeroConfig, devices: int) -> Any:
    """The empty buffers of all devices."""
    one = Replay(config, devices).init()
    return jax.tree.map(lambda leaf: jnp.zeros((devices, *leaf.shape), leaf.dtype), one)


def place(state: ZeroState, mesh: Mesh) -> ZeroState:
    """Puts the state on all devices: pool and buffer are divided among them, the rest is replicated."""
    placed: ZeroState = jax.device_put(state, shardings_of_round(state, mesh))
    return placed


def shardings_of_round(state: ZeroState, mesh: Mesh) -> ZeroState:
    """Where the state, or its shapes, is placed: a ``NamedSharding`` for each of its arrays."""
    split = NamedSharding(mesh, PartitionSpec("batch"))
    return ZeroState(shardings_of(state.learner, mesh), jax.tree.map(lambda _: split, state.buffer))


@functools.lru_cache(maxsize=8)
def compiled_round(config: ZeroConfig, forward: Forward, actor: Forward, mesh: Mesh) -> jax.stages.Wrapped:
    """The round (state, sums, puzzles, key) -> (state, sums), jitted.

    It adds to the sums. State and sums are donated.

    Args:
      config: the resolved settings.
      forward: the network that learns.
      actor: the network that plays, of the same parameters, with their average.
      mesh: the devices.
    """
    platform = mesh.devices.flat[0].platform
    search = config.play.search(config.board, platform)
    replay = Replay(config, mesh.size)
    replicated, split = PartitionSpec(), PartitionSpec("batch")

    def act(params: Params, buffer: Any, puzzles: Array, key: Array, step: Array) -> tuple[Any, Played]:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, _GAMES), step), lax.axis_index("batch"))
        games = play(config.board, search, actor, params, puzzles, key, config.play.kept_positions)
        after = replay.add(_own(buffer), games)
        if config.play.reanalyse:
            choose_key, search_key = jax.random.split(jax.random.fold_in(key, _GAMES))
            again = functools.partial(reanalyse, config.board, search, actor, params, key=search_key)
            after = replay.update(after, choose_key, lambda games, chosen: again(games=games, chosen=chosen))
        return jax.tree.map(lambda leaf: leaf[None], after), jax.tree.map(
            lambda total: lax.psum(total, "batch"), _played(games)
        )

    acting = jax.shard_map(
        act,
        mesh=mesh,
        in_specs=(replicated, split, split, replicated, replicated),
        out_specs=(split, replicated),
        check_vma=False,
    )

    def sample(key: Array, buffer: Any, progress: Array, losses: Array) -> Positions:
        return replay.sample(key, _own(buffer), progress, losses)

    step = make_step(config, forward, mesh, sample)

    def run(state: ZeroState, sums: Sums, puzzles: Array, key: Array) -> tuple[ZeroState, Sums]:
        buffer, more = acting(state.average, state.buffer, puzzles, key, state.step)

        def update(now: tuple[TrainState, Metrics], _: None) -> tuple[tuple[TrainState, Metrics], None]:
            return step(*now, buffer, key), None

        (learner, metrics), _ = lax.scan(update, (state.learner, sums.metrics), length=config.play.updates)
        return ZeroState(learner, buffer), Sums(metrics, jax.tree.map(jnp.add, sums.played, more))

    return jax.jit(run, donate_argnums=(0, 1), compiler_options=compiler_options(platform))


def _own(buffer: Any) -> Any:
    """A device's buffer, without the axis of devices."""
    return jax.tree.map(lambda leaf: leaf[0], buffer)


def _played(games: Games) -> Played:
    status = games.status
    without = (status == Status.UNSATISFIABLE) | (status == Status.INVALID)
    counts = (jnp.ones_like(without), status == Status.SOLVED, status == Status.UNSOLVED, without)
    return Played(*(x.sum(dtype=jnp.float32) for x in (*counts, games.iterations, games.calls)))
