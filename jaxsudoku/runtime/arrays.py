"""The type of arrays in annotations, numpy's or JAX's; traced ones are refused where a function runs on the host."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import jax
    import numpy as np

    #: What public functions take and return: an array on the host, or one of JAX, traced ones included.
    AnyArray: TypeAlias = np.ndarray | jax.Array
else:
    AnyArray = Any  # so that reading annotations loads no JAX

#: What takes the place of functions that run on the host.
IN_JIT = "Inside jax.jit use jaxsudoku.exact.search, or a solver's run and solvers.judge"


def check_on_host(values: Any, name: str, instead: str = IN_JIT) -> None:
    """Raises TypeError if the values are traced, for functions that run on the host.

    Args:
      values: anything.
      name: the name of the values, in the plural.
      instead: advice for the message.
    """
    jax = sys.modules.get("jax")  # where it is not loaded nothing is traced
    if jax is not None and isinstance(values, jax.core.Tracer):
        raise TypeError(
            f"{name} are traced, but this function runs on the host: it can't be jitted, vmapped or exported. "
            f"{instead}; see docs/jax.md"
        )
