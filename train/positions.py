"""Training positions, made on the device from puzzles and their solutions.

A position is a puzzle with some more cells filled as in the solution, and with the candidates that rules leave, as in a
solver. In some positions a wrong candidate is then placed as well, and the rules run again, so that the value learns
which positions are dead. Positions that the rules solve or refute are replaced by others, as solvers do not evaluate
them by a network.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import GROUP, cubes_to_planes, grids_to_cubes, planes_to_cubes, unpack_lanes
from jaxsudoku.core.propagation import settle
from jaxsudoku.datasets import Batch

from .train_config import PositionKind, TrainConfig

#: Minimum loss used as a weight of positions.
_LEAST_LOSS = 1e-3


class Positions(NamedTuple):
    """Positions and their labels.

    Attributes:
      candidates: bool[B, side, cells], the network's input.
      truth: bool or float32[B, side, cells], the targets of the policy: the solution of the puzzle in live positions,
        zeros in dead ones, or the probabilities of a search. Cells with zeros are not trained on.
      alive: bool or float32[B], the target of the value: whether the position has a solution, or a number from 0 to 1.
      useful: bool[B], whether the rules leave the position open; False if too few such positions were found, and the
        other fields are then undefined.
    """

    candidates: Array
    truth: Array
    alive: Array
    useful: Array


def puzzles_needed(config: TrainConfig, devices: int) -> int:
    """Number of puzzles per step, over all devices; raises ValueError if the batch can't be divided among them."""
    return devices * sum(drawn for _, drawn in _parts(config, devices))


def fitting_devices(check: Callable[[int], object], most: int) -> int:
    """The largest number of devices, up to ``most``, for which ``check`` raises no ValueError; 1 if there is none."""
    for devices in range(most, 1, -1):
        try:
            check(devices)
        except ValueError:
            continue
        return devices
    return 1


def sample_batch(
    config: TrainConfig, key: Array, batch: Batch, progress: Array, devices: int, losses: Array | None = None
) -> Positions:
    """Makes a device's positions of a step, of all kinds, from its part of the puzzles.

    Args:
      config: the settings.
      key: a JAX key.
      batch: the device's puzzles.
      progress: the share of training that is done, float32 from 0 to 1.
      devices: number of devices that share the step.
      losses: float32[cells + 1], the policy's loss by number of open cells; None for equal losses.
    """
    first, last = config.positions.initial_hardness, config.positions.final_hardness
    preference = (first + (last - first) * progress) * jnp.log1p(batch.rating)
    by_open = None
    if losses is not None and config.positions.loss_weight:
        by_open = config.positions.loss_weight * jnp.log(jnp.maximum(losses, _LEAST_LOSS))
    samples = []
    start = 0
    for number, (size, drawn) in enumerate(_parts(config, devices)):
        part = slice(start, start + drawn)
        start += drawn
        samples.append(
            sample_kind(
                config.positions.kinds[number],
                config.board,
                jax.random.fold_in(key, number),
                batch.puzzles[part],
                batch.solutions[part],
                preference[part],
                size,
                by_open,
            )
        )
    positions: Positions = jax.tree.map(lambda *parts: jnp.concatenate(parts), *samples)
    return positions


def sample_kind(
    kind: PositionKind,
    board: Board,
    key: Array,
    puzzles: Array,
    solutions: Array,
    preference: Array,
    size: int,
    by_open: Array | None = None,
) -> Positions:
    """Makes positions of one kind, at most one of each puzzle.

    Args:
      kind: the kind.
      board: the board.
      key: a JAX key.
      puzzles: uint8[N, cells], N at least ``size`` and a multiple of 32; each has exactly one solution.
      solutions: uint8[N, cells].
      preference: float32[N], log-weights for drawing puzzles among those that give useful positions.
      size: number of positions.
      by_open: float32[cells + 1], further log-weights of positions by their number of open cells; None for none.
    """
    fill_key, wrong_key, choose_key, draw_key = jax.random.split(key, 4)
    truth = grids_to_cubes(solutions, board)
    filled = jnp.where(_sample_cells(fill_key, puzzles == 0, kind.filled), solutions, puzzles)
    candidates, refuted, solved = settled_cubes(board, grids_to_cubes(filled, board), kind.rules)
    useful = ~refuted & ~solved
    alive = jnp.ones(useful.shape, bool)
    if kind.wrong:
        wrong, refuted, solved = settled_cubes(board, _take_wrong(wrong_key, candidates, truth), kind.rules)
        agrees = (wrong & truth).any(axis=1).all(axis=1)
        chosen = jax.random.bernoulli(choose_key, kind.wrong, useful.shape)
        dead = chosen & useful & ~refuted & ~solved & ~agrees
        candidates, alive = jnp.where(dead[:, None, None], wrong, candidates), ~dead
    if by_open is not None:
        preference += by_open[(candidates.sum(axis=1) > 1).sum(axis=1)]
    score = preference + jax.random.gumbel(draw_key, useful.shape)
    _, drawn = jax.lax.top_k(jnp.where(useful, score, -jnp.inf), size)
    return Positions(candidates[drawn], (truth & alive[:, None, None])[drawn], alive[drawn], useful[drawn])


def settled_cubes(board: Board, cubes: Array, rules: str) -> tuple[Array, Array, Array]:
    """The candidates bool[B, side, cells] after rules, and which positions are refuted and solved, bool[B] each."""
    planes, refuted, solved = settle(cubes_to_planes(cubes, board), board, rules)
    return planes_to_cubes(planes, board), unpack_lanes(refuted), unpack_lanes(solved)


def _take_wrong(key: Array, cubes: Array, truth: Array) -> Array:
    """Places a random wrong candidate in a random open cell of positions, if there is one."""
    open_cells = cubes.sum(axis=1, keepdims=True) > 1
    choices = cubes & ~truth & open_cells
    score = jnp.where(choices, jax.random.uniform(key, cubes.shape), -1.0).reshape(cubes.shape[0], -1)
    taken = jax.nn.one_hot(score.argmax(axis=1), score.shape[1], dtype=bool).reshape(cubes.shape) & choices
    return jnp.where(taken.any(axis=1, keepdims=True), taken, cubes)


def _sample_cells(key: Array, cells: Array, mean: float) -> Array:
    """Random cells among bool[N, cells]: in each row a geometrically distributed number, or all if there are fewer."""
    if not mean:
        return jnp.zeros_like(cells)
    number_key, order_key = jax.random.split(key)
    # rounded down, an exponential variable of this scale has the requested mean
    scale = 1 / math.log1p(1 / mean)
    number = jnp.floor(jax.random.exponential(number_key, (cells.shape[0], 1)) * scale)
    order = jnp.where(cells, jax.random.uniform(order_key, cells.shape), 2.0)
    rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
    return cells & (rank < number)


def _parts(config: TrainConfig, devices: int) -> list[tuple[int, int]]:
    """For each kind, the number of positions per device, and of puzzles drawn for them."""
    if config.batch_size % devices:
        raise ValueError(f"batch_size {config.batch_size} can't be divided into equal parts for {devices} devices")
    each = config.batch_size // devices
    if config.microbatch and each > config.microbatch and each % config.microbatch:
        raise ValueError(f"a device's {each} positions can't be divided into microbatches of {config.microbatch}")
    shares = [kind.share for kind in config.positions.kinds]
    bounds = [round(each * sum(shares[:number]) / sum(shares)) for number in range(len(shares) + 1)]
    sizes = [end - start for start, end in itertools.pairwise(bounds)]
    if not all(sizes):
        raise ValueError(f"the {each} positions of a device are too few for the shares of {len(sizes)} kinds")
    return [(size, -(-size * config.positions.puzzles_per_position // GROUP) * GROUP) for size in sizes]
