"""How good the averaged parameters are: on positions of held-out puzzles, the same ones throughout a run."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jaxsudoku as js
from jaxsudoku.batches import compiler_options
from jaxsudoku.datasets import Batch
from jaxsudoku.networks import Forward, Params

from .config import TrainConfig
from .feed import held_out_puzzles
from .objective import Metrics, objective, open_cells
from .positions import Positions
from .record import summary
from .update import draw_positions, puzzles_needed

#: Positions in all, and how many of them are looked at together.
_POSITIONS, _TOGETHER = 256, 32


class Validation:
    """Metrics of parameters on fixed positions, by the network with the iterations that it ends with.

    The positions are of the kinds that are trained on, in the same shares.

    Args:
      config: the settings.
      forward: the network.
      key: a JAX key.

    Raises:
      ValueError: the held-out puzzles don't suit the board, or these kinds of positions leave nothing to be told.
    """

    def __init__(self, config: TrainConfig, forward: Forward, key: Array) -> None:
        self._config, self._forward = config, forward
        puzzles = held_out_puzzles(config)
        solutions = js.solve(puzzles, board=forward.board).grids
        sized = dataclasses.replace(config, batch_size=_POSITIONS, microbatch=0)
        rows = np.resize(np.arange(len(puzzles)), puzzles_needed(sized, 1))
        zeros = np.zeros(len(rows), np.int32)
        batch = Batch(*map(jnp.asarray, (puzzles[rows], solutions[rows], zeros, zeros.astype(np.float32))))
        positions = _make(sized, forward)(key, batch)
        if not positions.useful.any():
            raise ValueError(f"the kinds {' '.join(config.kinds)} leave nothing to be told on {config.held_out}: their "
                             "rules solve all positions; choose weaker rules or harder puzzles")  # fmt: skip
        self._parts = [
            jax.tree.map(lambda x, start=start: x[start : start + _TOGETHER], positions)
            for start in range(0, _POSITIONS, _TOGETHER)
        ]

    def __call__(self, params: Params) -> dict[str, float]:
        """The ``record.summary`` of parameters."""
        measure = _measure(self._forward, self._config.ramp, self._config.value_weight)
        parts = [jax.device_get(measure(params, part)) for part in self._parts]
        return summary(jax.tree.map(lambda *totals: sum(totals), *parts))


@functools.lru_cache(maxsize=8)
def _make(config: TrainConfig, forward: Forward) -> jax.stages.Wrapped:
    def make(key: Array, batch: Batch) -> Positions:
        return draw_positions(config, forward, key, batch, jnp.float32(0), devices=1)

    return jax.jit(make, compiler_options=compiler_options())


@functools.lru_cache(maxsize=8)
def _measure(forward: Forward, ramp: float, value_weight: float) -> jax.stages.Wrapped:
    def measure(params: Params, part: Positions) -> Metrics:
        cells, count = (jnp.maximum(number.sum(), 1) for number in (open_cells(part), part.useful))
        return objective(forward, params, part, ramp, value_weight, cells, count)[1].metrics

    return jax.jit(measure, compiler_options=compiler_options())
