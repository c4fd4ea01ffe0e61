"""The type of arrays in annotations: numpy's or JAX's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import jax
    import numpy as np

    #: What public functions take and return: an array on the host, or one of JAX, traced ones included.
    AnyArray: TypeAlias = np.ndarray | jax.Array
else:
    AnyArray = Any  # so that reading annotations loads no JAX
