"""Training on several boards: data sets of further boards take turns with the first one.

A network like CubeNet has the same weights on every board. Every few steps the puzzles come from one of the other data
sets, in turn. Each board has its own pool and its own losses by number of open cells; parameters and optimiser are
shared.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from jaxsudoku import datasets
from jaxsudoku.networks import Params

from .objective import Metrics
from .pool import Pool
from .positions import puzzles_needed
from .puzzles import check_data
from .step import TrainState, compiled_step, make_forward, saved_forward
from .train_config import TrainConfig


class Held(NamedTuple):
    """State of one of the other boards between its turns; a pytree.

    Attributes:
      losses: as in ``TrainState``.
      pool: as in ``TrainState``.
    """

    losses: Array
    pool: Pool


class BoardsState(NamedTuple):
    """The state of a run on one board or more; a pytree.

    Attributes:
      learner: the state, with the pool and the losses of the first board.
      others: the states of the other boards.
    """

    learner: TrainState
    others: tuple[Held, ...]

    @property
    def step(self) -> Array:
        """int32, steps done on all boards."""
        return self.learner.step

    @property
    def average(self) -> Params:
        """The averaged parameters."""
        return self.learner.average


class BoardsSums(NamedTuple):
    """Sums of metrics of the first board, and of each other board."""

    metrics: Metrics
    others: tuple[Metrics, ...]


class BoardsData(NamedTuple):
    """The puzzles of a step, and the number of their board: 0 for the first, 1 for the first of the others."""

    board: int
    puzzles: Any


def configs_of(config: TrainConfig) -> tuple[TrainConfig, ...]:
    """The settings of the steps on each board, those of the first one first."""

    def other(name: str) -> TrainConfig:
        data = dataclasses.replace(config.data, datasets=(name,), exclude=(), others=())
        board, size = datasets.load(name).board, config.data.others_batch
        return dataclasses.replace(config, board=board, batch_size=size, data=data)

    return config, *map(other, config.data.others)


def check_division(config: TrainConfig, devices: int) -> None:
    """Raises ValueError if the steps on some board can't be divided among this many devices."""
    puzzles_needed(config, devices)
    if config.data.others:
        puzzles_needed(dataclasses.replace(config, batch_size=config.data.others_batch), devices)


def check_boards(configs: Sequence[TrainConfig], devices: int) -> None:
    """Raises ValueError or OSError unless network, data sets and devices are compatible.

    Args:
      configs: as from ``configs_of``.
      devices: number of devices that share a step.
    """
    check_data(configs[0], puzzles_needed(configs[0], devices), "a step")
    if len(configs) > 1 and configs[0].steps < configs[0].data.others_every * (len(configs) - 1):
        raise ValueError(f"others: some of the {len(configs) - 1} data sets have no turn in {configs[0].steps:,} steps")
    for config in configs[1:]:
        (name,) = config.data.datasets
        try:
            check_data(config, puzzles_needed(config, devices), "a step")
            shapes = [saved_forward(each).shapes() for each in (configs[0], config)]
        except ValueError as error:
            raise ValueError(f"others: {error}") from None
        if jax.tree.map(jnp.shape, shapes[0]) != jax.tree.map(jnp.shape, shapes[1]):
            network = config.network.architecture
            raise ValueError(f"others: {name} is of {config.board}, where {network} has other weights")


def turn(config: TrainConfig, step: int) -> int:
    """The number of the board of a step (steps count from 1); 0 is the first board."""
    number, rest = divmod(step, config.data.others_every)
    return 0 if rest or not config.data.others else 1 + (number - 1) % len(config.data.others)


@functools.lru_cache(maxsize=8)
def compiled_turns(
    configs: tuple[TrainConfig, ...], iterations: int | None, mesh: Mesh
) -> Callable[[BoardsState, BoardsSums, BoardsData, Array], Any]:
    """The steps on all boards as one program (state, sums, data, key) -> (state, sums)."""
    programs = [compiled_step(config, make_forward(config, iterations), mesh) for config in configs]

    def program(state: BoardsState, sums: BoardsSums, data: BoardsData, key: Array) -> tuple[BoardsState, BoardsSums]:
        number, step = data.board, programs[data.board]
        if number == 0:
            learner, metrics = step(state.learner, sums.metrics, data.puzzles, key)
            return state._replace(learner=learner), sums._replace(metrics=metrics)
        held = state.others[number - 1]
        there = state.learner._replace(losses=held.losses, pool=held.pool)
        learner, more = step(there, sums.others[number - 1], data.puzzles, key)
        kept, others = list(state.others), list(sums.others)
        kept[number - 1], others[number - 1] = Held(learner.losses, learner.pool), more
        learner = learner._replace(losses=state.learner.losses, pool=state.learner.pool)
        return BoardsState(learner, tuple(kept)), sums._replace(others=tuple(others))

    return program
