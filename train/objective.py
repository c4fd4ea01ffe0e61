"""What training minimises: the cross-entropy of the open cells after every iteration, and the value's."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from jaxsudoku.networks import Forward, Params

from .held import batch_first, batch_inside
from .positions import Positions


class Metrics(NamedTuple):
    """Sums over positions, float32: what the last iteration of a network got right.

    Attributes:
      loss: what is minimised, times the useful positions.
      policy: cross-entropy (nats) over the open cells of live positions.
      right: number of those cells whose most probable digit is right.
      cells: their number.
      boards: live positions with all cells right.
      alive: live positions.
      value: cross-entropy (nats) of the value over the useful positions.
      positions: useful positions.
      made: all positions.
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


class Told(NamedTuple):
    """What there is to be told of a batch beside its loss.

    Attributes:
      metrics: what was right.
      carried: what the network has come to, as ``Held`` has it.
      known: bool[B], whether there is nothing more to be learned of a position: the network is sure of all that is
        right, or it is none of use.
    """

    metrics: Metrics
    carried: Any
    known: Array


#: Probability from which on a network is sure of a digit, or of a position's death.
_SURE = 0.9


def no_metrics() -> Metrics:
    """The sums over nothing."""
    return Metrics(*(jnp.float32(0) for _ in Metrics._fields))


def objective(
    forward: Forward,
    params: Params,
    positions: Positions,
    ramp: float,
    value_weight: float,
    cells: Array,
    count: Array,
    carried: Any = None,
    fresh: Array | None = None,
) -> tuple[Array, Told]:
    """The loss of some positions, as their part of a batch with so many open ``cells`` and useful positions ``count``.

    The parts of a batch add up to its loss: the mean over open cells of the policy's cross-entropy, and
    ``value_weight`` times the mean over useful positions of the value's, averaged over the iterations with weights that
    rise evenly from 1 to 1 + ``ramp``. Dead positions have no right digits, so they teach the value alone. The network
    goes on from what is ``carried``, as ``Held`` has it, but for positions that are ``fresh``; all are by default.

    Returns:
      the loss, float32 scalar, and what is ``Told``.
    """
    outputs, carried = forward.unroll(params, positions.candidates, batch_inside(carried), fresh)
    steps = outputs.value.shape[0]
    weight = jnp.linspace(1.0, 1.0 + ramp, steps)
    weight /= weight.sum()
    asked = open_cells(positions)
    right = positions.truth & positions.candidates
    log_prob = jax.nn.log_softmax(outputs.policy, axis=2)
    policy = -(jnp.where(right, log_prob, 0.0).sum(axis=2) * asked).sum(axis=(1, 2))
    alive = positions.alive.astype(jnp.float32)
    value = (optax.sigmoid_binary_cross_entropy(outputs.value, alive) * positions.useful).sum(axis=1)
    loss = (weight * (policy / cells + value_weight * value / count)).sum()
    hits = (outputs.policy[-1].argmax(axis=1) == right.argmax(axis=1)) & asked
    live = positions.alive & positions.useful
    boards = live & ((hits | ~asked).all(axis=1))
    metrics = Metrics(
        loss=loss * count,
        policy=policy[-1],
        right=hits.sum(),
        cells=asked.sum(),
        boards=boards.sum(),
        alive=live.sum(),
        value=value[-1],
        positions=positions.useful.sum(),
        made=jnp.float32(positions.useful.size),
    )
    sure = (jnp.where(right, jnp.exp(log_prob[-1]), 0.0).sum(axis=1) > _SURE) | ~asked
    belief = jax.nn.sigmoid(outputs.value[-1])
    known = jnp.where(positions.alive, sure.all(axis=1) & (belief > 0.5), belief < 1 - _SURE) | ~positions.useful
    return loss, Told(jax.tree.map(lambda x: x.astype(jnp.float32), metrics), batch_first(carried), known)


def open_cells(positions: Positions) -> Array:
    """The cells that the policy is asked about: bool[B, cells]."""
    live = positions.alive & positions.useful
    return (positions.candidates.sum(axis=1) > 1) & live[:, None]
