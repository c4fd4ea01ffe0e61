"""Pseudo-random numbers from counters: cheap, and the same whatever is computed beside them.

A number that is drawn for some purpose is ``mix(seed + APART * i)``, with an i of its own. It serves what asks for
randomness in inner loops; what is drawn once comes from JAX's keys.
"""

from __future__ import annotations

import numpy as np
from jax import Array

#: Puts counters far apart before they are mixed: 2**32 over the golden ratio, odd and far from any pattern.
APART = np.uint32(0x9E3779B9)


def mix(x: Array) -> Array:
    """A 32-bit mixing function, uint32 to uint32 (multiply and shift; constants of Wellons' lowbias32)."""
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)
