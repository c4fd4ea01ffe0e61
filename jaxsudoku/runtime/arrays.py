"""Types of array arguments, the check that they are not traced, and conversion by DLPack."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import jax
    import numpy as np

    #: Arrays that public functions take and return: of numpy or JAX, including traced ones.
    AnyArray: TypeAlias = np.ndarray | jax.Array
else:
    AnyArray = Any  # so that reading annotations loads no JAX

#: The CPU's number among the types of devices of DLPack.
_DLPACK_CPU = 1

#: Advice for error messages: alternatives to functions that run on the host.
IN_JIT = "Inside jax.jit use jaxsudoku.exact.search, or a solver's run and solvers.judge"


def check_on_host(values: Any, name: str, instead: str = IN_JIT) -> None:
    """Raises TypeError if the values are traced; for functions that run on the host.

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


def from_dlpack(values: Any) -> Any:
    """Converts another library's array to numpy, or to JAX if it is on an accelerator; returns anything else unchanged.

    Memory is shared, not copied. Arrays of numpy and JAX, and anything that ``numpy.asarray`` takes, are unchanged.
    """
    import numpy as np

    jax = sys.modules.get("jax")
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__") or (jax and isinstance(values, jax.Array)):
        return values
    if values.__dlpack_device__()[0] == _DLPACK_CPU:
        return values if hasattr(values, "__array__") else np.from_dlpack(values)
    from jax import dlpack

    return dlpack.from_dlpack(values)
