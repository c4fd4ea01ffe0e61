"""Gathers of single values and of columns, with a separate implementation for TPUs.

A TPU reads memory in tiles of 8 x 128 words, so a gather of single words moves a thousand times what it returns and
takes long to compile. On TPUs these functions gather whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental.layout import Layout, with_layout_constraint

from jaxsudoku.core.planes import TPU_TILE
from jaxsudoku.runtime.operations import cpu_fence, fence

#: Words in a row of a TPU's tiles.
_ROW = TPU_TILE[1]


def take_values(values: Array, index: Array, fill: int) -> Array:
    """The values [N] at ``index`` int32[m], not negative, as [m]; ``fill`` where an index is N or larger."""
    return lax.platform_dependent(
        values,
        index,
        tpu=lambda values, index: _values_by_rows(values, index, fill),
        default=lambda values, index: values.at[index].get(mode="fill", fill_value=fill),
    )


def _values_by_rows(values: Array, index: Array, fill: int) -> Array:
    """``take_values`` for TPUs: gathers rows of 128 values and keeps one value of each."""
    index = fence(index)
    rows = jnp.pad(values, (0, -len(values) % _ROW)).reshape(-1, _ROW)
    rows = fence(rows.at[index // _ROW].get(mode="clip"))
    wanted = np.arange(_ROW, dtype=np.int32) == (index % _ROW)[:, None]
    found = jnp.where(wanted, rows, 0).sum(axis=1, dtype=values.dtype)
    return fence(jnp.where(index < len(values), found, jnp.asarray(fill, values.dtype)))


def take_columns(parts: Sequence[Array], lane: Array) -> list[Array]:
    """The columns ``lane`` int32[m] of each of the parts uint32[k, B], as uint32[k, m]; every lane is below B."""

    def flat(lane: Array, *parts: Array) -> list[Array]:
        return [_columns_by_words(part, lane) for part in parts]

    def rows(lane: Array, *parts: Array) -> list[Array]:
        by_lane = fence(jnp.concatenate(parts).T)
        taken = by_lane.at[fence(lane)].get(mode="promise_in_bounds").T
        taken = with_layout_constraint(taken, Layout((0, 1)))
        ends = np.cumsum([part.shape[0] for part in parts])
        return [taken[end - part.shape[0] : end] for part, end in zip(parts, ends, strict=True)]

    return lax.platform_dependent(lane, *parts, tpu=rows, default=flat)


def _columns_by_words(words: Array, lane: Array) -> Array:
    # one flat index a word: XLA would transpose the block before and after a gather of columns
    start = words.shape[1] * jnp.arange(words.shape[0], dtype=jnp.int32)[:, None]
    return cpu_fence(words.reshape(-1).at[start + lane].get(mode="promise_in_bounds"))
