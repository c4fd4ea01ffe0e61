"""Further boards that a network learns beside the first one: their data sets take turns with it.

A network like CubeNet has the same weights on every board. Every few steps one of the other data sets gives the
puzzles, the next one at the next turn. Each board has its own pool and its own losses by number of open cells; the
parameters and the optimiser are those of all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh

from jaxsudoku import datasets
from jaxsudoku.networks import Forward, Params

from .config import TrainConfig
from .objective import Metrics, no_metrics, summary
from .pool import Pool, empty_pool
from .positions import puzzles_needed
from .puzzles import check_data, puzzles_of_steps
from .step import Step, TrainState, initial_state, make_forward, no_losses, place


class Held(NamedTuple):
    """What is kept of one of the other boards between its turns; a pytree.

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
      others: those of the other boards.
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
    """Metrics of the first board, and those of each other board."""

    first: Metrics
    others: tuple[Metrics, ...]


class BoardsData(NamedTuple):
    """The puzzles of a step, and the number of their board: 0 for the first, 1 for the first of the others."""

    board: int
    puzzles: Any


def no_sums(boards: int) -> BoardsSums:
    """The sums over no positions of so many boards."""
    return BoardsSums(no_metrics(), tuple(no_metrics() for _ in range(boards - 1)))


def summary_of_others(sums: BoardsSums) -> dict[str, float]:
    """Means over the other boards together, as ``summary`` of the first; nothing if none of them had a turn."""
    if not sums.others:
        return {}
    total: Metrics = jax.tree.map(lambda *parts: jnp.stack(parts).sum(), *sums.others)
    return {f"others_{name}": value for name, value in summary(total).items()} if total.made else {}


def configs_of(config: TrainConfig) -> tuple[TrainConfig, ...]:
    """The settings of the steps on each board, those of the first one first."""

    def other(name: str) -> TrainConfig:
        data = dataclasses.replace(config.data, datasets=(name,), exclude=(), others=())
        board, size = datasets.load(name).board, config.data.others_batch
        return dataclasses.replace(config, board=board, batch_size=size, data=data)

    return config, *map(other, config.data.others)


def check_division(config: TrainConfig, devices: int) -> None:
    """Raises ValueError if the steps on some board can't be divided among so many devices."""
    puzzles_needed(config, devices)
    if config.data.others:
        puzzles_needed(dataclasses.replace(config, batch_size=config.data.others_batch), devices)


def check_boards(configs: Sequence[TrainConfig], devices: int) -> None:
    """Raises ValueError or OSError unless the network and the data sets suit each other and the devices.

    Args:
      configs: as of ``configs_of``.
      devices: number of devices that share a step.
    """
    check_data(configs[0], puzzles_needed(configs[0], devices), "a step")
    if len(configs) > 1 and configs[0].steps < configs[0].data.others_every * (len(configs) - 1):
        raise ValueError(f"others: some of the {len(configs) - 1} data sets have no turn in {configs[0].steps:,} steps")
    for config in configs[1:]:
        (name,) = config.data.datasets
        try:
            check_data(config, puzzles_needed(config, devices), "a step")
            shapes = [make_forward(each, each.network.saved_iterations).shapes() for each in (configs[0], config)]
        except ValueError as error:
            raise ValueError(f"others: {error}") from None
        if jax.tree.map(jnp.shape, shapes[0]) != jax.tree.map(jnp.shape, shapes[1]):
            network = config.network.architecture
            raise ValueError(f"others: {name} is of {config.board}, where {network} has other weights")


def turn(config: TrainConfig, step: int) -> int:
    """The number of the board that a step is on, counted from 1; 0 for the first board."""
    number, rest = divmod(step, config.data.others_every)
    return 0 if rest or not config.data.others else 1 + (number - 1) % len(config.data.others)


def initial_boards(configs: Sequence[TrainConfig], key: Array, mesh: Mesh) -> BoardsState:
    """The state before the first step, placed on the devices."""
    forwards = [make_forward(config, config.network.saved_iterations) for config in configs]
    learner = initial_state(configs[0], forwards[0], key)

    def held(config: TrainConfig, forward: Forward) -> Held:
        pool = empty_pool(forward, learner.params, config.batch_size)
        state = place(learner._replace(losses=no_losses(config.board), pool=pool), mesh)
        return Held(state.losses, state.pool)

    return BoardsState(place(learner, mesh), tuple(map(held, configs[1:], forwards[1:])))


def take_turns(programs: Sequence[Step]) -> Callable[[BoardsState, BoardsSums, BoardsData, Array], Any]:
    """The programs of the boards as one program (state, sums, data, key) -> (state, sums)."""

    def program(state: BoardsState, sums: BoardsSums, data: BoardsData, key: Array) -> tuple[BoardsState, BoardsSums]:
        number, step = data.board, programs[data.board]
        if number == 0:
            learner, first = step(state.learner, sums.first, data.puzzles, key)
            return state._replace(learner=learner), sums._replace(first=first)
        held = state.others[number - 1]
        there = state.learner._replace(losses=held.losses, pool=held.pool)
        learner, more = step(there, sums.others[number - 1], data.puzzles, key)
        kept, others = list(state.others), list(sums.others)
        kept[number - 1], others[number - 1] = Held(learner.losses, learner.pool), more
        learner = learner._replace(losses=state.learner.losses, pool=state.learner.pool)
        return BoardsState(learner, tuple(kept)), sums._replace(others=tuple(others))

    return program


def puzzles_in_turn(
    data: Sequence[Sequence[datasets.Dataset]], configs: Sequence[TrainConfig], key: Array, mesh: Mesh, start: int
) -> Iterator[BoardsData]:
    """The puzzles of every step after ``start`` steps; ``data`` are the data sets of each board."""
    done = np.bincount([turn(configs[0], step) for step in range(1, start + 1)], minlength=len(configs))
    streams = [
        # the first board's puzzles are those of a run without others
        puzzles_of_steps(
            data[number], config, jax.random.fold_in(key, number) if number else key, mesh, int(done[number])
        )
        for number, config in enumerate(configs)
    ]
    step = start
    while True:
        step += 1
        number = turn(configs[0], step)
        yield BoardsData(number, next(streams[number]))
