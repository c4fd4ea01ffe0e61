"""Gathers: every platform's form gives what numpy gives."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jaxsudoku.core import indexing

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_values_and_columns_are_those_of_numpy(platform, monkeypatch):
    """The form of a platform, on a CPU."""
    monkeypatch.setattr(
        jax.lax,
        "platform_dependent",
        lambda *operands, default, **forms: forms.get(platform, default)(*operands),
    )
    rng = np.random.default_rng(0)
    sizes = [(np.int32, 1), (np.uint32, 127), (np.int32, 128), (np.uint32, 129), (np.int32, 1000)]
    values = [rng.integers(0, 1 << 31, size).astype(dtype) for dtype, size in sizes]
    index = [rng.integers(0, size + 3, 300).astype(np.int32) for _, size in sizes]
    parts = [rng.integers(0, 1 << 32, (height, 96), dtype=np.uint32) for height in (23, 1, 2)]
    lane = rng.integers(0, 96, 200).astype(np.int32)

    @jax.jit
    def run(values, index, parts, lane):
        taken = [indexing.take_values(*pair, 7) for pair in zip(values, index, strict=True)]
        return taken, indexing.take_columns(parts, lane)

    taken, columns = jax.tree.map(np.asarray, run(values, index, parts, lane))
    for found, of, at in zip(taken, values, index, strict=True):
        assert found.dtype == of.dtype
        np.testing.assert_array_equal(found, np.where(at < len(of), of[np.minimum(at, len(of) - 1)], 7))
    assert len(columns) == 3
    for part, found in zip(parts, columns, strict=True):
        np.testing.assert_array_equal(found, part[:, lane])
