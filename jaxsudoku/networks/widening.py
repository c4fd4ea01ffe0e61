"""Widening of trained CubeNets without changing the function (Net2Net, Chen et al. 2016).

A trained CubeNet is copied into a larger one, or into one with weights for constraints. New weights are random on the
inputs of new features, and zero where they would change old features, so training continues from the same function.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .base import Forward, Params
from .cube import CubeConfig

#: Sizes that can grow; ``constraints`` from False to True.
GROWING = ("width", "hidden", "house", "shares", "constraints")

#: Minimum root mean square of the embedding's weights if weights are balanced.
_EMBEDDED = 0.01


def can_widen(small: Any, large: Any) -> bool:
    """Whether a network of the sizes ``small`` can be widened to the sizes ``large``."""
    if not isinstance(small, CubeConfig) or not isinstance(large, CubeConfig):
        return False
    grown = {name: getattr(large, name) for name in GROWING}
    others = {name: getattr(large, name) for name in ("bound", "iterations", "dtype")}
    return (
        all(getattr(small, name) <= size for name, size in grown.items())
        and bool(small.shares) == bool(large.shares)
        and small.bound in (0, large.bound)
        and not large.maximum
        and dataclasses.replace(small, **grown, **others) == large
    )


def widen(params: Params, small: CubeConfig, forward: Forward, key: Array) -> Params:
    """The parameters of a wider CubeNet that computes the same function, up to rounding.

    With weights for constraints it does on boards of which no constraint excludes a candidate by itself. With a bound
    of the features it does as long as they are below it; the weights are balanced first, which gives features a unit.

    Args:
      params: the parameters of a CubeNet of the sizes ``small``.
      small: its sizes.
      forward: the wider network.
      key: a JAX key, for the new weights.

    Raises:
      ValueError: the sizes can't be widened.
    """
    large = forward.config
    if not can_widen(small, large):
        raise ValueError(f"a CubeNet of the sizes {small} can't be widened to {large}")

    if large.bound and not small.bound:
        params = balanced(params, small)
    found_at = dict(jax.tree_util.tree_leaves_with_path(params))

    def grown(path: tuple[Any, ...], new: Array) -> Array:
        if (old := found_at.get(path)) is None:  # a weight for constraints
            return new
        name = path[0].key
        if name in ("norm", "final_norm"):  # new features are part of the mean square
            return new.at[: len(old)].set(old * math.sqrt(len(old) / len(new)))
        if name == "value_hidden" and new.ndim > 1:  # the mean of each feature, then the maximum of each
            halves = zip(jnp.split(new, 2), jnp.split(old, 2), strict=True)
            return jnp.concatenate([_within(*half) for half in halves])
        found = _within(new, old)
        if name in ("embed", "update"):  # added features begin at zero
            found = found.at[..., old.shape[-1] :].set(0)
        return found

    wider: Params = jax.tree_util.tree_map_with_path(grown, forward.init(key))
    return wider


def _within(new: Array, old: Array) -> Array:
    """A kernel or bias with the old weights in its leading block, and zero weights from new inputs to old outputs."""
    if new.ndim > 1:
        new = new.at[..., old.shape[-2] :, : old.shape[-1]].set(0)
    return new.at[tuple(slice(length) for length in old.shape)].set(old)


def balanced(params: Params, config: CubeConfig) -> Params:
    """The parameters with all layers at the scale of initial weights; the network computes almost the same function.

    Training enlarges weights, and later steps change them relatively less. As ReLUs are homogeneous and norms ignore
    the scale of features, factors can move from a layer to the next ones. The embedding, which is small beside the
    later changes of features, is enlarged to ``_EMBEDDED``, far above the constant of the norms.
    """

    def factor(kernels: list[Array], variance: float) -> Array:
        return math.sqrt(variance) / jnp.stack([jnp.sqrt(jnp.mean(kernel**2)) for kernel in kernels]).mean()

    kinds = params["kinds"]
    message = factor([params["send"]["kernel"]], 2 / config.width)
    hidden = {
        number: message * factor([kind["to_hidden"]["kernel"]], 2 / config.hidden) for number, kind in kinds.items()
    }
    answers = [kind["from_hidden"]["kernel"] / hidden[number] for number, kind in kinds.items()]
    received = factor(answers, 0.5 / config.house)
    features = received * factor([params["update"]["kernel"]], 0.2 / config.hidden)
    factors = {
        "embed": {"kernel": jnp.maximum(features, factor([params["embed"]["kernel"]], _EMBEDDED**2))},
        "send": {"kernel": message},
        "inject": {"kernel": message},
        "bias": message,
        "keep": {"kernel": received / message, "bias": received},
        "kinds": {
            number: {
                "to_hidden": {"kernel": hidden[number] / message, "bias": hidden[number]},
                "from_hidden": {"kernel": received / hidden[number]},
                "from_shares": {"kernel": received},
            }
            for number in kinds
        },
        "update": {"kernel": features / received},
    }

    def scaled(values: Any, by: Any) -> Any:
        if isinstance(values, dict):
            return {name: scaled(value, by[name]) if name in by else value for name, value in values.items()}
        return values * by

    found: Params = scaled(params, factors)
    return found
