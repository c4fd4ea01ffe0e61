"""How well guesses split positions, on the device: every guess against every position, thousands at once.

A position is a row of codes. For each guess its codes are counted by the feedback they would give; a score sums up
what parts of these sizes are worth, the less the better. All of it is in whole numbers, so that the best guess is the
same on every machine.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxsudoku.batches import compiler_options, usable_cores
from jaxsudoku.planes import fence

from .positions import Positions, Split, split
from .rules import Game, feedback_table

#: Codes that are counted in one pass over the counters.
_UNROLLED = 8

#: Widths of rows of codes: what fits a row is counted in bytes, what does not in 32 bits. One more is the whole game.
_WIDTHS = (64, 248)

#: Guesses from which on rows of them are fenced, or XLA gathers them anew for each feedback.
_FENCED = 64

#: Bytes of scores that one call gives.
_CALL_BYTES = 1 << 25

#: Positions that are scored side by side, but on a CPU.
_TOGETHER = 64

#: Positions that a call may have room for, where not as many as its results may take: few shapes are compiled.
_ROOMS = (16, 256)


@dataclasses.dataclass(frozen=True, eq=False)
class Worth:
    """What a score sums up.

    Attributes:
      of_size: int32[size + 1], what a part of so many codes is worth; 0 where it is empty. No sum over the parts of a
        position is beyond an int32.
      bonus: taken from the score of a guess that may be the secret.
      largest: take the part that is worth most, rather than the sum.
    """

    of_size: np.ndarray
    bonus: int
    largest: bool = False

    @functools.cached_property
    def even(self) -> int:
        """Up to which size each further code adds the same: so far the number of parts says all."""
        if self.largest:
            return 0
        bends = np.flatnonzero(np.diff(self.of_size[1:], n=2))
        return int(bends[0]) + 2 if len(bends) else len(self.of_size) - 1

    @property
    def line(self) -> tuple[int, int]:
        """(slope, start) of the line that it is up to there: of so many codes it is start + slope * codes."""
        slope = int(self.of_size[2] - self.of_size[1]) if len(self.of_size) > 2 else 0
        return slope, int(self.of_size[1]) - slope


class Scorer:
    """Scores guesses of a game.

    Attributes:
      game: the game.
      table: uint8[size, size], the feedbacks, on the device.
      host: the same in the machine's memory.
      platform: the device's.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.table = feedback_table(game)
        self.host = np.asarray(self.table)
        self.platform = next(iter(self.table.devices())).platform

    def split(self, positions: Positions, guesses: np.ndarray) -> Split:
        """What the guesses, one each, make of positions."""
        return split(self.host, self.game.feedbacks, positions, guesses)

    def best(self, positions: Positions, worth: Worth, consistent: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The guess with the least score for each position, of several the first one that may be the secret, or else
        the first one, if the bonus is less than what scores differ by.

        Args:
          positions: n positions.
          worth: what is summed up.
          consistent: consider but the guesses that may be the secret.

        Returns:
          (guesses int32[n], scores int32[n]).
        """
        guesses, scores = np.zeros(len(positions), np.int32), np.zeros(len(positions), np.int32)
        for chosen, found in self._answers(positions, worth, _Kind(True, consistent)):
            guesses[chosen], scores[chosen] = found
        return guesses, scores

    def scores(self, positions: Positions, worth: Worth) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The score of every guess: yields (numbers of some positions int64[k], their scores int32[k, size])."""
        return self._answers(positions, worth, _Kind(False, False))

    def _answers(self, positions: Positions, worth: Worth, kind: _Kind) -> Iterator[tuple[np.ndarray, Any]]:
        """Calls compiled functions for positions of about one size at a time, on all cores of a CPU."""
        size, sizes = self.game.size, positions.sizes
        most = max(_CALL_BYTES // (4 * size), _TOGETHER)
        even = sizes <= worth.even
        jobs = []
        for counted in (False, True):
            least = 0
            for width in (*_WIDTHS, size):
                inside = np.flatnonzero((even != counted) & (sizes > least) & (sizes <= width))
                least = width
                jobs += [(counted, width, inside[start : start + most]) for start in range(0, len(inside), most)]

        def answer(job: tuple[bool, int, np.ndarray]) -> tuple[np.ndarray, Any]:
            counted, width, chosen = job
            some = positions.take(chosen)
            room = min([most, *(room for room in _ROOMS if room >= len(chosen))])
            rows = np.zeros((room, -(-width // _UNROLLED) * _UNROLLED), np.int32)
            rows[: len(chosen)] = some.padded(rows.shape[1])
            counts = np.zeros(room, np.int32)
            counts[: len(chosen)] = some.sizes
            if counted:
                run = _compiled(_counted, kind, self.game.feedbacks, worth.largest, self.platform)
                found = run(self.table, worth.of_size, np.int32(worth.bonus), rows, counts, np.int32(len(chosen)))
            else:
                run = _compiled(_united, kind, self.game.feedbacks, worth.largest, self.platform)
                line = np.array(worth.line, np.int32)
                found = run(self.table, line, np.int32(worth.bonus), rows, counts, np.int32(len(chosen)))
            return chosen, jax.tree.map(lambda array: np.asarray(array)[: len(chosen)], found)

        workers = usable_cores() if self.platform == "cpu" else 2
        if len(jobs) < 2 or workers < 2:
            return map(answer, jobs)
        return _ahead(answer, jobs, workers)


def _ahead(answer: Callable[..., Any], jobs: list[Any], workers: int) -> Iterator[Any]:
    """The answers in order, some of them worked out while others are read."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        flying = []
        for job in jobs:
            flying.append(pool.submit(answer, job))
            if len(flying) > workers:
                yield flying.pop(0).result()
        for future in flying:
            yield future.result()


@functools.lru_cache(maxsize=1)
def scorer(game: Game) -> Scorer:
    """The scorer of a game, made once. Raises GameError where its table takes more than half of the memory."""
    return Scorer(game)


# ---------------------------------------------------------------------- on the device


def part_sizes(table: Array, feedbacks: int, codes: Array, size: Array) -> Array:
    """How many codes of a position get each feedback, for every guess.

    Args:
      table: uint8[codes, guesses], the feedback of secrets with guesses.
      feedbacks: how many there are.
      codes: int32[width], the first ``size`` of them count; the width is a multiple of 8.
      size: int32[].

    Returns:
      uint8[feedbacks, guesses], uint32 where the width is 256 or more.
    """
    dtype = jnp.uint8 if codes.shape[0] < 256 else jnp.uint32
    numbers = np.arange(feedbacks, dtype=np.uint8)[:, None]

    def counted(chunk: Array, counts: Array) -> Array:
        first = chunk * _UNROLLED
        rows = table[lax.dynamic_slice(codes, (first,), (_UNROLLED,))]
        within = first + np.arange(_UNROLLED, dtype=np.int32) < size
        rows = _fenced(jnp.where(within[:, None], rows, np.uint8(255)))  # which is no feedback
        # a few bytes are added up before they are widened
        return counts + functools.reduce(jnp.add, [(row == numbers).astype(jnp.uint8) for row in rows]).astype(dtype)

    counts = jnp.zeros((feedbacks, table.shape[1]), dtype)
    return _fenced(lax.fori_loop(0, -(-size // _UNROLLED), counted, counts))


def part_numbers(table: Array, feedbacks: int, codes: Array, size: Array) -> Array:
    """How many different feedbacks the codes of a position get, for every guess; as ``part_sizes``, uint8[guesses]."""
    dtype = jnp.uint16 if feedbacks <= 16 else jnp.uint32
    bits = jnp.iinfo(dtype).bits
    codes = jnp.where(np.arange(codes.shape[0], dtype=np.int32) < size, codes, codes[0])
    number = jnp.zeros(table.shape[1], jnp.uint8)
    for start in range(0, feedbacks, bits):

        def united(chunk: Array, seen: Array, start: int = start) -> Array:
            rows = _fenced(table[lax.dynamic_slice(codes, (chunk * _UNROLLED,), (_UNROLLED,))])
            for row in rows:
                place = row - np.uint8(start)  # what is below wraps around
                bit = jnp.ones((), dtype) << place.astype(dtype)
                seen = seen | (bit if feedbacks <= bits else jnp.where(place < bits, bit, jnp.zeros((), dtype)))
            return seen

        seen = lax.fori_loop(0, -(-size // _UNROLLED), united, jnp.zeros(table.shape[1], dtype))
        number = number + lax.population_count(seen).astype(jnp.uint8)
    return number


def _fenced(array: Array) -> Array:
    """The array of rows of guesses behind a fence; jax 0.10 can't compile fences of a few bytes, which need none."""
    return fence(array) if array.shape[-1] >= _FENCED else array


@dataclasses.dataclass(frozen=True)
class _Kind:
    """What is asked for: the best guess, or the scores of all; only of guesses that may be the secret."""

    best: bool
    consistent: bool

    def answer(self, score: Array, bonus: Array, codes: Array, size: Array) -> Any:
        """What is asked for, from the scores int32[guesses] without the bonus."""
        places = jnp.where(np.arange(codes.shape[0], dtype=np.int32) < size, codes, score.shape[0])
        member = jnp.zeros(score.shape, bool).at[places].set(True, mode="drop")
        score = score - jnp.where(member, bonus, 0)
        if not self.best:
            return score
        if self.consistent:
            score = jnp.where(member, score, jnp.iinfo(jnp.int32).max)
        guess = jnp.argmin(score).astype(jnp.int32)
        return guess, score[guess]


def _counted(kind: _Kind, feedbacks: int, largest: bool, together: int) -> Callable[..., Any]:
    """Scores by counting the codes of every part."""

    def run(table: Array, of_size: Array, bonus: Array, codes: Array, sizes: Array, count: Array) -> Any:
        def answer(position: tuple[Array, Array]) -> Any:
            worth = of_size[part_sizes(table, feedbacks, *position).astype(jnp.int32)]
            return kind.answer(worth.max(0) if largest else worth.sum(0), bonus, *position)

        return each(answer, (codes, sizes), count, together)

    return run


def _united(kind: _Kind, feedbacks: int, largest: bool, together: int) -> Callable[..., Any]:
    """Scores by the number of parts, which says all where a part's worth is a line over its size."""
    del largest

    def run(table: Array, line: Array, bonus: Array, codes: Array, sizes: Array, count: Array) -> Any:
        def answer(position: tuple[Array, Array]) -> Any:
            slope, start = line
            score = slope * position[1] + start * part_numbers(table, feedbacks, *position).astype(jnp.int32)
            return kind.answer(score, bonus, *position)

        return each(answer, (codes, sizes), count, together)

    return run


def each(answer: Callable[[Any], Any], positions: tuple[Array, Array], count: ArrayLike, together: int) -> Any:
    """The answers for the first ``count`` positions, ``together`` at a time; if one at a time, for these alone."""
    if together > 1:
        return lax.map(answer, positions, batch_size=together)

    def put(index: Array, found: Any) -> Any:
        one = answer(jax.tree.map(lambda array: array[index], positions))
        return jax.tree.map(lambda array, value: array.at[index].set(value), found, one)

    shapes = jax.eval_shape(answer, jax.tree.map(lambda array: array[0], positions))
    room = len(positions[1])
    return lax.fori_loop(0, count, put, jax.tree.map(lambda one: jnp.zeros((room, *one.shape), one.dtype), shapes))


@functools.lru_cache(maxsize=64)
def _compiled(function: Callable[..., Any], kind: _Kind, feedbacks: int, largest: bool, platform: str) -> Any:
    together = 1 if platform == "cpu" else _TOGETHER
    return jax.jit(function(kind, feedbacks, largest, together), compiler_options=compiler_options(platform))
