"""Validation: metrics of the averaged parameters on fixed positions of held-out puzzles."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jaxsudoku as js
from jaxsudoku.datasets import Batch
from jaxsudoku.networks import Forward, Params
from jaxsudoku.runtime.devices import compiler_options

from .objective import Metrics, objective, open_cells, summary
from .positions import Positions, puzzles_needed, sample_batch
from .processes import Processes
from .step import saved_forward
from .train_config import ObjectiveConfig, TrainConfig

#: Total number of positions, and number of positions evaluated at a time.
_POSITIONS, _CHUNK = 256, 32


class Validation:
    """Metrics of parameters on fixed positions, of the same kinds and in the same shares as in training.

    Args:
      config: the settings.
      puzzles: uint8[N, cells], the held-out puzzles.
      key: a JAX key.
      processes: the processes of the run, which divide the positions among them.

    Attributes:
      forward: the network, with the iterations with which it is saved.

    Raises:
      ValueError: the rules of these kinds of positions solve all of them.
    """

    def __init__(self, config: TrainConfig, puzzles: np.ndarray, key: Array, processes: Processes) -> None:
        self._config, self.forward, self._processes = config, saved_forward(config), processes
        solutions = js.solve(puzzles, board=config.board).grids
        sized = dataclasses.replace(config, batch_size=_POSITIONS, microbatch=None)
        rows = np.resize(np.arange(len(puzzles)), puzzles_needed(sized, 1))
        zeros = np.zeros(len(rows), np.int32)
        batch = Batch(*jax.device_put((puzzles[rows], solutions[rows], zeros, zeros.astype(np.float32))))
        positions: Positions = jax.device_get(_sample(sized)(key, batch))
        if not positions.useful.any():
            raise ValueError(
                f"no position of {config.data.held_out} is left open by the rules of kinds ({config.positions.rules}): "
                "choose weaker rules or harder puzzles"
            )
        self._chunks = [
            jax.tree.map(lambda x, start=start: x[start : start + _CHUNK], positions)
            for start in range(0, _POSITIONS, _CHUNK)
        ]

    def __call__(self, params: Params) -> dict[str, float]:
        """The ``summary`` of the metrics of parameters on one device or the host; all processes must call it."""
        measure = _measure(self.forward, self._config.objective)
        params = jax.device_put(jax.device_get(params))  # one program for parameters of any origin

        def of_chunk(chunk: Positions) -> list[float]:
            return [float(total) for total in jax.device_get(measure(params, chunk))]

        chunks = self._processes.share("validation", [functools.partial(of_chunk, chunk) for chunk in self._chunks])
        metrics = [jax.tree.map(np.float32, Metrics(*totals)) for totals in chunks]
        return summary(jax.tree.map(lambda *totals: sum(totals), *metrics))


@functools.lru_cache(maxsize=8)
def _sample(config: TrainConfig) -> jax.stages.Wrapped:
    def sample(key: Array, batch: Batch) -> Positions:
        return sample_batch(config, key, batch, jnp.float32(0), devices=1)

    return jax.jit(sample, compiler_options=compiler_options())


@functools.lru_cache(maxsize=8)
def _measure(forward: Forward, config: ObjectiveConfig) -> jax.stages.Wrapped:
    def measure(params: Params, chunk: Positions) -> Metrics:
        cells, count = (jnp.maximum(number.sum(), 1) for number in (open_cells(chunk), chunk.useful))
        return objective(forward, params, chunk, config, cells, count)[1].metrics

    return jax.jit(measure, compiler_options=compiler_options())
