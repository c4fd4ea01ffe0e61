"""The optimiser: clipped gradients, then Muon or AdamW, with warm-up and a schedule of the learning rate."""

from __future__ import annotations

import functools
from typing import Any

import jax
import optax
from jax import Array
from optax.contrib import MuonDimensionNumbers, muon

from .train_config import OptimiserConfig

#: Decay of the mean of squared gradients: short, as gradients change quickly early on.
_B2 = 0.99

#: Root mean square of Muon's updates at a learning rate of 1: about that of Adam's, so that rates compare.
_MUON_RMS = 0.2

#: Matrices with a side of at most this length are trained by Adam.
_NARROW = 4


def make_optimiser(config: OptimiserConfig, steps: int) -> optax.GradientTransformation:
    """The optimiser of a run of ``steps`` steps.

    Muon (Jordan et al. 2024) orthogonalises the updates of each matrix, so that all directions are learned equally.
    Leading axes of a parameter index matrices. Vectors, biases and narrow matrices are trained by Adam with Nesterov's
    momentum, without weight decay. AdamW trains all parameters, with weight decay for matrices only.
    """

    def schedule(peak: float) -> optax.Schedule:
        if config.schedule == "middle":
            rise = optax.linear_schedule(0.0, peak, config.warmup)
            falls = max(steps // 2, config.warmup)
            return optax.join_schedules(
                [rise, optax.constant_schedule(peak), optax.constant_schedule(peak / 10)], [config.warmup, falls]
            )
        decay_steps = max(steps, config.warmup + 1)
        return optax.warmup_cosine_decay_schedule(0.0, peak, config.warmup, decay_steps, peak / 100)

    decays = functools.partial(jax.tree_util.tree_map_with_path, _is_matrix)
    if config.algorithm == "adamw":
        rule = optax.adamw(schedule(config.learning_rate), b2=_B2, weight_decay=config.weight_decay, mask=decays)
    else:
        rule = muon(
            schedule(config.matrix_rate),
            consistent_rms=_MUON_RMS,
            muon_weight_dimension_numbers=functools.partial(jax.tree_util.tree_map_with_path, _muon_axes),
            weight_decay=config.weight_decay,
            weight_decay_mask=decays,
            adam_learning_rate=schedule(config.learning_rate),
            adam_weight_decay=0.0,
            adam_b2=_B2,
        )
    return optax.chain(optax.clip_by_global_norm(config.clip), rule)


def _muon_axes(path: tuple[Any, ...], leaf: Array) -> MuonDimensionNumbers | None:
    """The axes of a parameter that Muon treats as a matrix; None for parameters trained by Adam."""
    if not _is_matrix(path, leaf) or min(leaf.shape[-2:]) <= _NARROW:
        return None
    return MuonDimensionNumbers(reduction_axis=leaf.ndim - 2, output_axis=leaf.ndim - 1)


def _is_matrix(path: tuple[Any, ...], leaf: Array) -> bool:
    """Whether a parameter holds matrices; a bias may have an axis for kinds of groups before that of its features."""
    return leaf.ndim > 1 and not str(path[-1].key).endswith("bias")
