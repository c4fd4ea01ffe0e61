"""Random numbers: threefry keys from any seed or key, and counter-based numbers for inner loops.

All random numbers come from threefry keys, so results are the same under every ``jax_default_prng_impl`` and
``jax_enable_x64``, and independent of the batch (numbers of other implementations depend on it under ``jax.vmap``).
Inner loops hash counters instead: the i-th number is ``mix(seed + APART * i)``.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsudoku.runtime import forks

#: Spreads counters before they are mixed: 2**32 over the golden ratio, an odd number.
APART = np.uint32(0x9E3779B9)

#: The implementation of keys.
IMPLEMENTATION = "threefry2x32"

#: Implementations of raw keys, by number of words.
_RAW = {2: IMPLEMENTATION, 4: "rbg"}


def as_key(key: Any) -> jax.Array:
    """A typed threefry key from a seed or a key.

    Args:
      key: an integer from -2**31 to 2**64 - 1, a typed scalar key of any implementation, or a raw key, uint32[2]
        (threefry) or uint32[4] (rbg).

    Raises:
      ValueError: anything else.
      RuntimeError: as ``forks.check``.
    """
    forks.check()
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        seed = int(key)
        if not -(2**31) <= seed < 2**64:
            raise ValueError(f"the seed {seed} lies outside -2**31 .. 2**64 - 1")
        words = [max(seed, 0) >> 32, seed & 0xFFFFFFFF]
        return jax.random.wrap_key_data(jnp.asarray(np.array(words, np.uint32)), impl=IMPLEMENTATION)
    if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and not key.ndim:
        return _converted(key)
    if isinstance(key, jax.Array | np.ndarray) and key.dtype == np.uint32 and key.shape in {(words,) for words in _RAW}:
        return _converted(jax.random.wrap_key_data(jnp.asarray(key), impl=_RAW[key.shape[0]]))
    raise ValueError(f"{key!r} is neither a seed nor one JAX key")


def key_of(seed: jax.Array) -> jax.Array:
    """The threefry key of a seed uint32[]; the same as ``as_key`` of that number."""
    return jax.random.wrap_key_data(jnp.stack([jnp.zeros_like(seed), seed]), impl=IMPLEMENTATION)


def split(keys: jax.Array, number: int = 2) -> tuple[jax.Array, ...]:
    """``jax.random.split`` of one key, or of each key of a batch."""
    if is_one_key(keys):
        return tuple(jax.random.split(keys, number))
    parts = jax.vmap(lambda key: jax.random.split(key, number))(keys)
    return tuple(parts[:, part] for part in range(number))


def is_one_key(keys: jax.Array) -> bool:
    """Whether this is one key, typed or raw, not a batch of keys."""
    return keys.ndim == (0 if jnp.issubdtype(keys.dtype, jax.dtypes.prng_key) else 1)


def _converted(key: jax.Array) -> jax.Array:
    """The key itself if it is a threefry key, else one drawn from it."""
    if str(jax.random.key_impl(key)) == IMPLEMENTATION:
        return key
    return jax.random.wrap_key_data(jax.random.bits(key, (2,), jnp.uint32), impl=IMPLEMENTATION)


def mix(x: jax.Array) -> jax.Array:
    """A 32-bit mixing function, uint32 to uint32 (multiply and shift; constants of Wellons' lowbias32)."""
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)
