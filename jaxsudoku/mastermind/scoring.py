"""Scores of guesses, on the device: every guess for thousands of positions at once, by the sizes of its parts.

The feedback to a guess splits a position into parts. A guess is scored by the sum, or the maximum, of a cost of each
part's size; the lowest score is best. All numbers are integers, so that the best guess is the same on every machine.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxsudoku.batches import in_order
from jaxsudoku.devices import compiler_options, usable_cores
from jaxsudoku.planes import fence

from .feedbacks import feedback_table
from .positions import Partition, Positions, inequivalent_guesses, partition
from .rules import Game

#: Codes that are counted in one pass over the counters.
_UNROLLED = 8

#: Compiled widths of rows of codes, besides the size of the game. Up to 255 codes are counted in bytes.
_WIDTHS = (64, 248)

#: Rows of at least this many guesses are fenced; otherwise XLA gathers them again for each feedback.
_FENCED = 64

#: Bytes of the scores of one call.
_CALL_BYTES = 1 << 25

#: Positions that are scored together on an accelerator; on a CPU it is one.
_BATCH = 64

#: Compiled numbers of positions of a call, besides the most that ``_CALL_BYTES`` allows.
_CALL_SIZES = (16, 256)


@dataclasses.dataclass(frozen=True, eq=False)
class PartCost:
    """The cost that a score adds up over the parts of a position.

    Attributes:
      by_size: int32[secrets + 1], the cost of a part by its number of codes, 0 where it is empty. The sum over
        the parts of any position fits in an int32.
      bonus: subtracted from the score of a guess that may be the secret.
      largest: whether the score is the largest cost, rather than the sum.
    """

    by_size: np.ndarray
    bonus: int
    largest: bool = False

    @functools.cached_property
    def linear_to(self) -> int:
        """The largest size up to which the cost is linear, so that the number of parts determines a score."""
        if self.largest:
            return 0
        bends = np.flatnonzero(np.diff(self.by_size[1:], n=2))
        return int(bends[0]) + 2 if len(bends) else len(self.by_size) - 1

    @property
    def line(self) -> tuple[int, int]:
        """(slope, intercept) of the cost up to there: ``intercept + slope * codes``."""
        slope = int(self.by_size[2] - self.by_size[1]) if len(self.by_size) > 2 else 0
        return slope, int(self.by_size[1]) - slope


class Scorer:
    """Scores guesses of a game.

    Attributes:
      game: the game.
      table: uint8[size, secrets], the feedback table, on the device.
      rows: uint8[secrets, size], the same by secrets.
      host: the table in the machine's memory.
      platform: the device's.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.table = feedback_table(game)
        self.rows = self.table if game.symmetric else self.table.T
        self.host = np.asarray(self.table)
        self.platform = next(iter(self.table.devices())).platform

    def partition(self, positions: Positions, guesses: np.ndarray) -> Partition:
        """The parts into which guesses, one for each, split positions."""
        return partition(self.host, self.game.feedbacks, positions, guesses)

    def best(self, positions: Positions, cost: PartCost, consistent: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The guess with the lowest score for each position.

        Among equals it is the first code that may be the secret, or else the first code, provided that the bonus is
        less than the difference of any two scores.

        Args:
          positions: n positions.
          cost: what a score adds up.
          consistent: consider only guesses that may be the secret.

        Returns:
          (guesses int32[n], scores int32[n]).
        """
        guesses, scores = np.zeros(len(positions), np.int32), np.zeros(len(positions), np.int32)
        for indices, found in self._results(positions, cost, best=True, consistent=consistent):
            guesses[indices], scores[indices] = found
        return guesses, scores

    def scores(self, positions: Positions, cost: PartCost) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The score of every guess: yields (indices of some positions int64[k], their scores int32[k, size])."""
        return self._results(positions, cost, best=False, consistent=False)

    def ranked(
        self,
        positions: Positions,
        cost: PartCost,
        histories: Sequence[tuple[int, ...] | None],
        below: Sequence[float] | None = None,
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The inequivalent guesses of each position, the lowest score first.

        Yields (the index of a position, its guesses int64[k], their scores int32[k]), not in the order of positions.
        ``histories`` are the guesses so far, as for ``inequivalent_guesses``. Scores that are not ``below`` a limit for
        each position are left out.
        """
        for indices, scores in self.scores(positions, cost):
            for index, row in zip(indices.tolist(), scores, strict=True):
                guesses = inequivalent_guesses(self.game, histories[index])
                if below is not None:
                    guesses = guesses[row[guesses] < below[index]]
                guesses = guesses[np.argsort(row[guesses], kind="stable")]
                yield index, guesses, row[guesses]

    def _results(
        self, positions: Positions, cost: PartCost, best: bool, consistent: bool
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Calls compiled functions for positions of similar size, on all cores of a CPU."""
        size, sizes = self.game.size, positions.sizes
        most = max(_CALL_BYTES // (4 * size), _BATCH)
        linear = sizes <= cost.linear_to
        jobs = []
        for by_number, here in ((True, linear), (False, ~linear)):
            least = 0
            for width in (*_WIDTHS, size):
                indices = np.flatnonzero(here & (sizes > least) & (sizes <= width))
                least = width
                jobs += [(by_number, width, indices[start : start + most]) for start in range(0, len(indices), most)]

        def result(job: tuple[bool, int, np.ndarray]) -> tuple[np.ndarray, Any]:
            by_number, width, indices = job
            chosen, count = positions.take(indices), len(indices)
            call_size = min([most, *(allowed for allowed in _CALL_SIZES if allowed >= count)])
            rows = np.zeros((call_size, -(-width // _UNROLLED) * _UNROLLED), np.int32)
            rows[:count] = chosen.padded(rows.shape[1])
            counts = np.zeros(call_size, np.int32)
            counts[:count] = chosen.sizes
            numbers = np.array(cost.line, np.int32) if by_number else cost.by_size
            run = compiled_scores(by_number, best, consistent, self.game.feedbacks, cost.largest, self.platform)
            found = run(self.rows, numbers, np.int32(cost.bonus), rows, counts, np.int32(count))
            return indices, jax.tree.map(lambda array: np.asarray(array)[:count], found)

        workers = usable_cores() if self.platform == "cpu" else 2
        return map(result, jobs) if len(jobs) < 2 or workers < 2 else in_order(result, jobs, workers)


@functools.lru_cache(maxsize=1)
def scorer(game: Game) -> Scorer:
    """The scorer of a game, made once. Raises GameError where its table takes more than half of the memory."""
    return Scorer(game)


# ---------------------------------------------------------------------- on the device


def part_sizes(table: Array, feedbacks: int, codes: Array, size: Array) -> Array:
    """The number of codes of a position that get each feedback, for every guess.

    Args:
      table: uint8[secrets, guesses], the feedback of secrets with guesses.
      feedbacks: the number of feedbacks.
      codes: int32[width], the position in the first ``size`` places; the width is a multiple of 8.
      size: int32[].

    Returns:
      uint8[feedbacks, guesses], uint32 where the width is 256 or more.
    """
    dtype = jnp.uint8 if codes.shape[0] < 256 else jnp.uint32
    numbers = np.arange(feedbacks, dtype=np.uint8)[:, None]

    def count(step: Array, counts: Array) -> Array:
        first = step * _UNROLLED
        rows = table[lax.dynamic_slice(codes, (first,), (_UNROLLED,))]
        within = first + np.arange(_UNROLLED, dtype=np.int32) < size
        rows = _fenced(jnp.where(within[:, None], rows, np.uint8(255)))  # which is no feedback
        # a few bytes are added up before they are widened
        more: Array = functools.reduce(operator.add, [(row == numbers).astype(jnp.uint8) for row in rows])
        return counts + more.astype(dtype)

    counts = jnp.zeros((feedbacks, table.shape[1]), dtype)
    return _fenced(lax.fori_loop(0, -(-size // _UNROLLED), count, counts))


def part_numbers(table: Array, feedbacks: int, codes: Array, size: Array) -> Array:
    """The number of parts of a position for every guess, uint8[guesses]; arguments as those of ``part_sizes``."""
    bits, dtype = (16, jnp.uint16) if feedbacks <= 16 else (32, jnp.uint32)
    codes = jnp.where(np.arange(codes.shape[0], dtype=np.int32) < size, codes, codes[0])
    number = jnp.zeros(table.shape[1], jnp.uint8)
    for start in range(0, feedbacks, bits):

        def unite(step: Array, union: Array, start: int = start) -> Array:
            rows = _fenced(table[lax.dynamic_slice(codes, (step * _UNROLLED,), (_UNROLLED,))])
            for row in rows:
                place = row - np.uint8(start)  # feedbacks below ``start`` wrap around
                bit = jnp.ones((), dtype) << place.astype(dtype)
                union = union | (bit if feedbacks <= bits else jnp.where(place < bits, bit, jnp.zeros((), dtype)))
            return union

        union = lax.fori_loop(0, -(-size // _UNROLLED), unite, jnp.zeros(table.shape[1], dtype))
        number = number + lax.population_count(union).astype(jnp.uint8)
    return number


def _fenced(array: Array) -> Array:
    """The array [..., guesses] behind a fence; jax 0.10 can't compile fences of a few bytes, which need none."""
    return fence(array) if array.shape[-1] >= _FENCED else array


@functools.lru_cache(maxsize=64)
def compiled_scores(by_number: bool, best: bool, consistent: bool, feedbacks: int, largest: bool, platform: str) -> Any:
    """Scores positions by the number of parts or by their sizes; the best guesses or all scores, jitted.

    Args:
      by_number: whether costs are linear in sizes, so that the number of parts determines a score.
      best: whether to return the best guesses and their scores, int32[n] each, instead of int32[n, size].
      consistent: consider only guesses that may be the secret.
      feedbacks: the game's number of feedbacks.
      largest: whether a score is the largest cost of a part.
      platform: the device's.

    Returns:
      the function (rows uint8[secrets, size], line int32[2] or costs int32[secrets + 1], bonus int32, codes
      int32[n, width], their numbers int32[n], how many positions there are int32); the width is a multiple of 8.
    """

    def result(table: Array, numbers: Array, bonus: Array, codes: Array, size: Array) -> Any:
        if by_number:
            slope, intercept = numbers
            scores = slope * size + intercept * part_numbers(table, feedbacks, codes, size).astype(jnp.int32)
        else:
            costs = numbers[part_sizes(table, feedbacks, codes, size).astype(jnp.int32)]
            scores = costs.max(0) if largest else costs.sum(0)
        places = jnp.where(np.arange(codes.shape[0], dtype=np.int32) < size, codes, scores.shape[0])
        member = jnp.zeros(scores.shape, bool).at[places].set(True, mode="drop")
        scores = scores - jnp.where(member, bonus, 0)
        if not best:
            return scores
        if consistent:
            scores = jnp.where(member, scores, np.iinfo(np.int32).max)
        guess = jnp.argmin(scores).astype(jnp.int32)
        return guess, scores[guess]

    def run(table: Array, numbers: Array, bonus: Array, codes: Array, sizes: Array, count: Array) -> Any:
        batch = 1 if platform == "cpu" else _BATCH
        return map_positions(lambda position: result(table, numbers, bonus, *position), (codes, sizes), count, batch)

    return jax.jit(run, compiler_options=compiler_options(platform))


def map_positions(function: Callable[[Any], Any], positions: tuple[Array, Array], count: ArrayLike, batch: int) -> Any:
    """The results for positions, ``batch`` at a time; with 1, for the first ``count`` alone and 0 for others."""
    if batch > 1:
        return lax.map(function, positions, batch_size=batch)

    def put(index: Array, results: Any) -> Any:
        one = function(jax.tree.map(lambda array: array[index], positions))
        return jax.tree.map(lambda array, value: array.at[index].set(value), results, one)

    shapes = jax.eval_shape(function, jax.tree.map(lambda array: array[0], positions))
    size = len(positions[1])
    return lax.fori_loop(0, count, put, jax.tree.map(lambda one: jnp.zeros((size, *one.shape), one.dtype), shapes))
