"""Predictions of rules and network for any number of positions, in padded chunks of one size."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import GROUP, cubes_to_grids, grids_to_planes, planes_to_cubes, unpack_lanes
from jaxsudoku.core.propagation import invalid_givens, outcome, propagate
from jaxsudoku.networks import Forward, Network, Params
from jaxsudoku.runtime.devices import compiler_options
from jaxsudoku.runtime.operations import fence
from jaxsudoku.runtime.terminal.progress import compiling

#: Candidates in a chunk by default, which bounds the memory of a network's features.
_CANDIDATES = {"cpu": 1 << 18, "gpu": 1 << 21, "tpu": 1 << 21}


class Predictions(NamedTuple):
    """What the rules deduce of N positions, and the network's outputs for the rest.

    Attributes:
      fixed: uint8[N, cells], the digits that the rules fix, 0 for an open cell.
      digits: uint8[N, cells], the same with each open cell filled by its likeliest digit.
      value: float32[N], the log-odds that the position has a solution.
      refuted: bool[N], whether the rules prove that it has none.
      solved: bool[N], whether the rules solve it.
      finite: bool[N], whether the network's outputs are finite, or the rules refute or solve the position.
    """

    fixed: Any
    digits: Any
    value: Any
    refuted: Any
    solved: Any
    finite: Any


def predict(
    network: Network,
    grids: np.ndarray,
    rules: str,
    batch_size: int | None = None,
    progress: Callable[[int], object] = lambda done: None,
) -> Predictions:
    """Applies rules to grids, and the network to what they leave.

    Args:
      network: the network.
      grids: uint8[N, cells], 0 = empty, N at least 1.
      rules: one of ``tuning.RULES``.
      batch_size: grids in a forward pass, rounded up to a multiple of 32; None for automatic.
      progress: called after each chunk with the number of grids done.

    Raises:
      ValueError: the network's outputs are not finite for some of the positions that the rules leave open.
    """
    platform = jax.default_backend()
    size = chunk_size(network.board, platform, len(grids), batch_size)
    predict_chunk = compiled_chunk(platform)
    parts: list[Predictions] = []
    for start in range(0, len(grids), size):
        part = grids[start : start + size]
        padded = np.pad(part, ((0, size - len(part)), (0, 0)))
        with contextlib.nullcontext() if parts else compiling():
            found = predict_chunk(network.apply, rules, network.params, padded)
        parts.append(Predictions(*(np.asarray(array)[: len(part)] for array in found)))
        progress(start + len(part))
        if wrong := int(np.count_nonzero(~parts[-1].finite)):
            raise ValueError(
                f"outputs of the network {network.name} are not finite for {wrong} of {len(part)} positions"
            )
    return Predictions(*map(np.concatenate, zip(*parts, strict=True)))


def chunk_size(board: Board, platform: str, count: int, batch_size: int | None = None) -> int:
    """Grids in a forward pass for ``count`` in all: a multiple of 32, and no more than needed."""
    most = batch_size or _CANDIDATES.get(platform, _CANDIDATES["cpu"]) // board.candidates
    return -(-max(1, min(most, count)) // GROUP) * GROUP


@functools.lru_cache(maxsize=4)
def compiled_chunk(platform: str) -> jax.stages.Wrapped:
    """The function (forward, rules, params, grids uint8[N, cells]) -> ``Predictions``, jitted; the first two static."""
    return jax.jit(_predict, static_argnums=(0, 1), compiler_options=compiler_options(platform))


def _predict(apply: Forward, rules: str, params: Params, grids: Array) -> Predictions:
    board = apply.board
    givens = grids_to_planes(grids, board)
    planes = propagate(fence(givens.candidates), board, rules)
    contradictory, solved = outcome(planes, board)
    refuted = contradictory | invalid_givens(givens, board)
    candidates = planes_to_cubes(planes, board)  # [B, side, cells]
    outputs = apply(params, candidates)
    fixed = cubes_to_grids(candidates)  # [B, cells]
    likeliest = jnp.argmax(outputs.policy, axis=-2).astype(jnp.uint8) + 1
    digits = jnp.where(fixed > 0, fixed, likeliest)
    finite = (jnp.isfinite(outputs.policy) | ~candidates).all(axis=(1, 2)) & jnp.isfinite(outputs.value)
    refuted, solved = unpack_lanes(refuted), unpack_lanes(solved & ~refuted)
    return Predictions(fixed, digits, outputs.value, refuted, solved, finite | refuted | solved)
