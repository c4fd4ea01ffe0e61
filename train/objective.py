"""The training objective: cross-entropy of the open cells' digits and of the value, after every iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from jaxsudoku.networks import Forward, Params

from .pool import batch_first, batch_inside
from .positions import Positions
from .train_config import ObjectiveConfig

#: Probability above which a network is sure of a digit, or that a position is dead.
_SURE = 0.9


class Metrics(NamedTuple):
    """Sums over positions, float32, of the network's outputs after its last iteration.

    Attributes:
      loss: the loss, times the number of useful positions.
      policy: cross-entropy (nats) over the open cells that the policy is trained on.
      right: number of these cells whose most probable digit is that of the target.
      cells: number of these cells.
      boards: number of live positions with all cells right.
      alive: number of live positions.
      value: cross-entropy (nats) of the value over the useful positions.
      positions: number of useful positions.
      made: number of all positions.
    """

    loss: Array
    policy: Array
    right: Array
    cells: Array
    boards: Array
    alive: Array
    value: Array
    positions: Array
    made: Array


class Aux(NamedTuple):
    """Results of the objective besides the loss.

    Attributes:
      metrics: the metrics.
      carry: the network's features, as in ``Pool``.
      policy: float32[B], mean cross-entropy (nats) over the open cells that the policy is trained on, after the last
        iteration; 0 where there are none.
      finished: bool[B], the positions with nothing more to learn: the network is sure of all correct values, or they
        are not useful.
    """

    metrics: Metrics
    carry: Any
    policy: Array
    finished: Array


def no_metrics() -> Metrics:
    """The sums over no positions."""
    return Metrics(*(jnp.float32(0) for _ in Metrics._fields))


def summary(metrics: Metrics) -> dict[str, float]:
    """Means of summed metrics: loss, policy and value in nats, accuracies and useful positions as shares."""
    loss, policy, right, cells, boards, alive, value, positions, made = map(float, metrics)
    return {
        "loss": loss / max(positions, 1.0),
        "policy_loss": policy / max(cells, 1.0),
        "value_loss": value / max(positions, 1.0),
        "cell_accuracy": right / max(cells, 1.0),
        "board_accuracy": boards / max(alive, 1.0),
        "useful": positions / max(made, 1.0),
    }


def objective(
    forward: Forward,
    params: Params,
    positions: Positions,
    config: ObjectiveConfig,
    cells: Array,
    count: Array,
    carry: Any = None,
    fresh: Array | None = None,
) -> tuple[Array, Aux]:
    """The contribution of positions to the loss of a batch, which is the sum over microbatches and devices.

    The loss of a batch is the mean over open cells of the policy's cross-entropy, and ``value_weight`` times the mean
    over useful positions of the value's, averaged over the iterations with weights that rise linearly from 1 to
    1 + ``ramp``. Positions without a truth train only the value.

    Args:
      forward: the network.
      params: its parameters.
      positions: the positions.
      config: the weights.
      cells: number of open cells in the batch.
      count: number of useful positions in the batch.
      carry: features to continue from, as in ``Pool``; None if all positions are fresh.
      fresh: bool[B], the positions that start from a new carry; None for all.

    Returns:
      the loss, float32 scalar, and ``Aux``.
    """
    outputs, carry = forward.unroll(params, positions.candidates, batch_inside(carry), fresh)
    steps = outputs.value.shape[0]
    weight = jnp.linspace(1.0, 1.0 + config.ramp, steps)
    weight /= weight.sum()
    is_open = open_cells(positions)
    target = jnp.where(positions.candidates, positions.truth, 0).astype(jnp.float32)
    log_prob = jax.nn.log_softmax(outputs.policy, axis=2)
    each = -((target * log_prob).sum(axis=2) * is_open).sum(axis=2)  # [T, B]
    policy = each.sum(axis=1)
    alive = positions.alive.astype(jnp.float32)
    value = (optax.sigmoid_binary_cross_entropy(outputs.value, alive) * positions.useful).sum(axis=1)
    loss = (weight * (policy / cells + config.value_weight * value / count)).sum()
    hits = (outputs.policy[-1].argmax(axis=1) == target.argmax(axis=1)) & is_open
    live = (positions.alive >= 1) & positions.useful
    boards = live & ((hits | ~is_open).all(axis=1))
    metrics = Metrics(
        loss=loss * count,
        policy=policy[-1],
        right=hits.sum(),
        cells=is_open.sum(),
        boards=boards.sum(),
        alive=live.sum(),
        value=value[-1],
        positions=positions.useful.sum(),
        made=jnp.float32(positions.useful.size),
    )
    sure = (jnp.where(target > 0, jnp.exp(log_prob[-1]), 0.0).sum(axis=1) > _SURE) | ~is_open
    belief = jax.nn.sigmoid(outputs.value[-1])
    known = jnp.abs(belief - alive) < 1 - _SURE
    finished = jnp.where(positions.alive >= 1, sure.all(axis=1) & (belief > 0.5), known) | ~positions.useful
    mean = each[-1] / jnp.maximum(is_open.sum(axis=1), 1)
    return loss, Aux(jax.tree.map(lambda x: x.astype(jnp.float32), metrics), batch_first(carry), mean, finished)


def open_cells(positions: Positions) -> Array:
    """The cells that the policy is trained on: open ones of useful positions, with a truth, bool[B, cells]."""
    known = (positions.truth.astype(bool) & positions.candidates).any(axis=1)
    return (positions.candidates.sum(axis=1) > 1) & known & positions.useful[:, None]
