"""Compiled programs that score guesses, from a feedback table and positions to scores or the best guesses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxsudoku.runtime.devices import compiler_options
from jaxsudoku.runtime.operations import fence

from .parts import Block, part_numbers, part_sizes, parts_of_at_least, total

#: Maximum size of positions whose codes are compared with each other instead of with each feedback.
PAIRED = 16

#: Number of guesses scored together on a CPU, so that counts stay in its cache, and always without a table. With a
#: table an accelerator scores all together.
BLOCK = 1024

#: Number of positions scored together on an accelerator; on a CPU it is one.
BATCH = 64


@functools.lru_cache(maxsize=64)
def compiled_scores(by_number: bool, best: bool, consistent: bool, feedbacks: int, largest: bool, platform: str) -> Any:
    """A jitted function that scores positions by the number or the sizes of parts.

    Args:
      by_number: whether costs are linear in sizes, so that the number of parts determines a score.
      best: whether to return the best guesses and their scores, int32[n] each, instead of int32[n, size].
      consistent: consider only guesses that may be the secret.
      feedbacks: the game's number of feedbacks.
      largest: whether a score is the largest cost of a part.
      platform: the device's platform.

    Returns:
      the function (table uint8[s, g], line int32[2] or costs int32[secrets + 1], bonus int32, codes int32[n, width],
      their sizes int32[n], the number of positions int32, the rows of the columns' codes int32[g] or None if both are
      all codes); the width is a multiple of 8, codes are rows of the table, and a best guess is a column.
    """

    def block_scores(block: Block, numbers: Array, codes: Array, size: Array) -> Array:
        if by_number:
            slope, intercept = numbers
            return slope * size + intercept * part_numbers(block, feedbacks, codes, size).astype(jnp.int32)
        if codes.shape[0] <= PAIRED:
            parts = parts_of_at_least(block, codes, size)
            parts = jnp.minimum(parts, np.uint8(1)) if largest else parts
            steps = fence(jnp.diff(numbers[: codes.shape[0] + 1]))
            return total(step * row.astype(jnp.int32) for step, row in zip(steps, parts, strict=False))
        costs = numbers[part_sizes(block, feedbacks, codes, size).astype(jnp.int32)]
        return costs.max(0) if largest else costs.sum(0)

    def all_scores(table: Array, numbers: Array, codes: Array, size: Array) -> Array:
        number = table.shape[1]
        if platform != "cpu" or number <= BLOCK:
            return block_scores(Block(table), numbers, codes, size)

        def put(turn: Array, scores: Array) -> Array:
            first = jnp.minimum(turn * BLOCK, number - BLOCK)  # the last two blocks may overlap
            found = block_scores(Block(table, first, BLOCK), numbers, codes, size)
            return lax.dynamic_update_slice(scores, found, (first,))

        return lax.fori_loop(0, -(-number // BLOCK), put, jnp.zeros(number, jnp.int32))

    def result(table: Array, numbers: Array, bonus: Array, guesses: Array | None, codes: Array, size: Array) -> Any:
        scores = all_scores(table, numbers, codes, size)
        # by the numbers of all codes, which are the columns; or of the secrets, in which the columns are looked up
        number = table.shape[1] if guesses is None else table.shape[0]
        places = jnp.where(np.arange(codes.shape[0], dtype=np.int32) < size, codes, number)
        member = jnp.zeros(number, bool).at[places].set(True, mode="drop")
        member = member if guesses is None else member.at[guesses].get(mode="fill", fill_value=False)
        scores = scores - jnp.where(member, bonus, 0)
        if not best:
            return scores
        if consistent:
            scores = jnp.where(member, scores, np.iinfo(np.int32).max)
        guess = jnp.argmin(scores).astype(jnp.int32)
        return guess, scores[guess]

    def run(
        table: Array,
        numbers: Array,
        bonus: Array,
        codes: Array,
        sizes: Array,
        count: Array,
        guesses: Array | None = None,
    ) -> Any:
        def one(position: tuple[Array, Array]) -> Any:
            return result(table, numbers, bonus, guesses, *position)

        return map_positions(one, (codes, sizes), count, 1 if platform == "cpu" else BATCH)

    return jax.jit(run, compiler_options=compiler_options(platform, one_thread=True))


def map_positions(function: Callable[[Any], Any], positions: tuple[Array, Array], count: ArrayLike, batch: int) -> Any:
    """Applies a function to positions, ``batch`` at a time; with 1, only to the first ``count``, and 0 for others."""
    if batch > 1:
        return lax.map(function, positions, batch_size=batch)

    def put(index: Array, results: Any) -> Any:
        one = function(jax.tree.map(lambda array: array[index], positions))
        return jax.tree.map(lambda array, value: array.at[index].set(value), results, one)

    shapes = jax.eval_shape(function, jax.tree.map(lambda array: array[0], positions))
    size = len(positions[1])
    return lax.fori_loop(0, count, put, jax.tree.map(lambda one: jnp.zeros((size, *one.shape), one.dtype), shapes))
