"""Gathers: every platform's form gives what numpy gives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsudoku import indexing

pytestmark = pytest.mark.quick


@pytest.fixture(params=["cpu", "tpu"])
def form(request, monkeypatch):
    """Runs the form of a platform on a CPU."""
    monkeypatch.setattr(
        jax.lax,
        "platform_dependent",
        lambda *operands, default, **forms: forms.get(request.param, default)(*operands),
    )


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("size", [1, 127, 128, 129, 1000])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_values_are_those_at_the_indices(size, dtype):
    rng = np.random.default_rng(size)
    values = rng.integers(0, 1 << 31, size).astype(dtype)
    index = rng.integers(0, size + 3, 300).astype(np.int32)
    found = indexing.take_values(jnp.asarray(values), jnp.asarray(index), 7)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.where(index < size, values[np.minimum(index, size - 1)], 7))


@pytest.mark.usefixtures("form")
def test_columns_are_those_of_the_lanes():
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, 1 << 32, (height, 96), dtype=np.uint32) for height in (23, 1, 2)]
    lane = rng.integers(0, 96, 200).astype(np.int32)
    found = indexing.take_columns([jnp.asarray(part) for part in parts], jnp.asarray(lane))
    assert len(found) == 3
    for part, columns in zip(parts, found, strict=True):
        np.testing.assert_array_equal(columns, part[:, lane])
