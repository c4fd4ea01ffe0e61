"""Partition counts on the device: sizes and number of the parts into which guesses split a position."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxsudoku.runtime.operations import fence

#: Number of codes counted in one pass over the counters; the width of a position's row is a multiple of it.
UNROLLED = 8

#: Maximum number of codes counted in bytes, a multiple of those of a pass.
BYTE_CODES = 248

#: Rows with at least this many guesses are fenced; otherwise XLA gathers them again for each feedback.
_FENCED = 64


class Block(NamedTuple):
    """A block of consecutive guesses: columns of a table.

    Attributes:
      table: uint8[secrets, guesses], the feedback of secrets with guesses.
      first: int32[], the first of the guesses.
      number: the number of guesses; None for all.
    """

    table: Array
    first: ArrayLike = 0
    number: int | None = None

    @property
    def width(self) -> int:
        """The number of guesses."""
        return self.table.shape[1] if self.number is None else self.number

    def rows(self, codes: Array) -> Array:
        """The feedback of secrets int32[n] with the guesses, uint8[n, width]."""
        if self.number is None:
            return self.table[codes]
        row = functools.partial(lax.dynamic_slice, self.table, slice_sizes=(1, self.number))
        rows: Array = jax.vmap(lambda code: row((code, self.first))[0])(codes)
        return rows


def part_sizes(block: Block, feedbacks: int, codes: Array, size: Array) -> Array:
    """The number of codes of a position that get each feedback, for every guess of a block.

    Args:
      block: the guesses.
      feedbacks: the number of feedbacks.
      codes: int32[width], the position in the first ``size`` places; the width is a multiple of 8.
      size: int32[].

    Returns:
      uint8[feedbacks, guesses]; uint32 if the width is 256 or more.
    """
    numbers = np.arange(feedbacks, dtype=np.uint8)[:, None]
    steps, at_once = -(-size // UNROLLED), BYTE_CODES // UNROLLED

    def count(step: Array, counts: Array) -> Array:
        first = step * UNROLLED
        rows = block.rows(lax.dynamic_slice(codes, (first,), (UNROLLED,)))
        within = first + np.arange(UNROLLED, dtype=np.int32) < size
        rows = _fenced(jnp.where(within[:, None], rows, np.uint8(255)))  # not a feedback
        return counts + total((row == numbers).astype(jnp.uint8) for row in rows)

    def count_bytes(start: ArrayLike, end: Array) -> Array:
        return _fenced(lax.fori_loop(start, end, count, jnp.zeros((feedbacks, block.width), jnp.uint8)))

    if codes.shape[0] < 256:
        return count_bytes(0, steps)

    def widen(turn: Array, counts: Array) -> Array:
        start = turn * at_once
        return counts + count_bytes(start, jnp.minimum(start + at_once, steps)).astype(jnp.uint32)

    counts = jnp.zeros((feedbacks, block.width), jnp.uint32)
    return _fenced(lax.fori_loop(0, -(-steps // at_once), widen, counts))


def parts_of_at_least(block: Block, codes: Array, size: Array) -> Array:
    """The number of parts of a position that have at least 1, 2, 3 ... codes, for every guess of a block.

    All pairs of codes are compared, so the time is quadratic in the width.

    Args:
      block: the guesses.
      codes: int32[width], the position in the first ``size`` places; the width is below 256.
      size: int32[].

    Returns:
      uint8[width, guesses].
    """
    place = np.arange(codes.shape[0], dtype=np.int32)
    rows = _fenced(block.rows(codes))
    # a code's rank in its part: the codes up to it with the same feedback
    ranks = total(((row == rows) & (other <= place)[:, None]).astype(jnp.uint8) for other, row in enumerate(rows))
    ranks = _fenced(jnp.where((place < size)[:, None], ranks, np.uint8(0)))
    # each part with at least k codes has one code of rank k
    numbers = (place + 1).astype(np.uint8)[:, None]
    return _fenced(total((rank == numbers).astype(jnp.uint8) for rank in ranks))


def part_numbers(block: Block, feedbacks: int, codes: Array, size: Array) -> Array:
    """The number of parts of a position for every guess, uint8[guesses]; arguments as in ``part_sizes``."""
    bits, dtype = (16, jnp.uint16) if feedbacks <= 16 else (32, jnp.uint32)
    codes = jnp.where(np.arange(codes.shape[0], dtype=np.int32) < size, codes, codes[0])
    number = jnp.zeros(block.width, jnp.uint8)
    for start in range(0, feedbacks, bits):

        def unite(step: Array, union: Array, start: int = start) -> Array:
            rows = _fenced(block.rows(lax.dynamic_slice(codes, (step * UNROLLED,), (UNROLLED,))))
            for row in rows:
                place = row - np.uint8(start)  # feedbacks below ``start`` wrap around
                bit = jnp.ones((), dtype) << place.astype(dtype)
                union = union | (bit if feedbacks <= bits else jnp.where(place < bits, bit, jnp.zeros((), dtype)))
            return union

        union = lax.fori_loop(0, -(-size // UNROLLED), unite, jnp.zeros(block.width, dtype))
        number = number + lax.population_count(union).astype(jnp.uint8)
    return number


def total(terms: Iterable[Array]) -> Array:
    """The sum of arrays of one shape, at least one."""
    return functools.reduce(operator.add, terms)


def _fenced(array: Array) -> Array:
    """The array [..., guesses] behind a fence; jax 0.10 can't compile fences of a few bytes, which need none."""
    return fence(array) if array.shape[-1] >= _FENCED else array
