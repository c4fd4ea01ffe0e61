"""Scores of guesses, on the device: every guess for thousands of positions at once, by the sizes of its parts.

The feedback to a guess splits a position into parts. A guess is scored by the sum, or the maximum, of a cost of each
part's size; the lowest score is best. All numbers are integers, so that the best guess is the same on every machine.

The sizes of parts are found in one of three ways. In positions of few codes these are compared with each other; the
codes of larger ones are compared with each feedback. If the cost is linear in the size, the number of parts is enough.
A position of few codes needs none of these if one of its codes gets another feedback from each.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from jaxsudoku.batches import in_order
from jaxsudoku.devices import compiler_options, usable_cores
from jaxsudoku.planes import fence

from .feedbacks import by_secrets, feedback_table
from .parts import BYTE_CODES, UNROLLED, Block, part_numbers, part_sizes, parts_of_at_least, total
from .positions import SYMMETRIC_GUESSES, History, Partition, Positions, inequivalent_guesses, partition
from .rules import Game

#: The codes of positions up to this size are compared with each other instead of with each feedback.
_PAIRED = 16

#: Compiled widths of rows of codes, besides the size of the game.
_WIDTHS = (_PAIRED, BYTE_CODES)

#: Guesses that are scored together on a CPU, whose counts stay in its cache; on an accelerator it is all.
_BLOCK = 1024

#: Columns of a table of inequivalent guesses alone, and how many times as many codes a game has that gets one.
_FEW, _WORTH = 1024, 4

#: Bytes of the scores of one call.
_CALL_BYTES = 1 << 25

#: Codes times guesses of a call that are worth a thread of their own on a CPU.
_THREAD_PAIRS = 1 << 26

#: Positions that are scored together on an accelerator; on a CPU it is one.
_BATCH = 64

#: Compiled numbers of positions of a call, besides the most that ``_CALL_BYTES`` allows. A CPU skips the others, so the
#: first is left out where the results are small, those of the best guesses.
_CALL_SIZES = (16, 256)


@dataclasses.dataclass(frozen=True, eq=False)
class PartCost:
    """The cost that a score adds up over the parts of a position.

    Attributes:
      by_size: int32[secrets + 1], the cost of a part by its number of codes, 0 where it is empty. The sum over
        the parts of any position fits in an int32.
      bonus: subtracted from the score of a guess that may be the secret.
      largest: whether the score is the largest cost, rather than the sum; then no cost is below that of a smaller part.
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

    @functools.cached_property
    def least_apart(self) -> bool:
        """Whether no parts cost less than as many of a single code as there are codes."""
        sizes = np.arange(1, len(self.by_size), dtype=np.int64)
        return bool((self.by_size[1:] >= self.by_size[1] * (1 if self.largest else sizes)).all())

    @property
    def line(self) -> tuple[int, int]:
        """(slope, intercept) of the cost up to there: ``intercept + slope * codes``."""
        slope = int(self.by_size[2] - self.by_size[1]) if len(self.by_size) > 2 else 0
        return slope, int(self.by_size[1]) - slope


class _Columns(NamedTuple):
    """Guesses to score.

    Attributes:
      guesses: int64[g], numbers of codes, ascending.
      table: uint8[secrets, w], the feedback of all secrets with them, on the device; w is at least g, and the columns
        from g on repeat the last guess.
      numbers: int32[w], the guesses of the columns, on the device; None if they are all codes.
    """

    guesses: np.ndarray
    table: Array
    numbers: Array | None


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
        self.rows = by_secrets(game, self.table)
        self.host = np.asarray(self.table)
        self.platform = next(iter(self.table.devices())).platform

    def partition(self, positions: Positions, guesses: np.ndarray) -> Partition:
        """The parts into which guesses, one for each, split positions."""
        return partition(self.host, self.game.feedbacks, positions, guesses)

    def best(
        self, positions: Positions, cost: PartCost, consistent: bool = False, histories: Sequence[History] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The guess with the lowest score for each position.

        Among equals it is the first code that may be the secret, or else the first code, provided that the bonus is
        less than the difference of any two scores.

        Args:
          positions: n positions.
          cost: what a score adds up.
          consistent: consider only guesses that may be the secret.
          histories: the guesses so far, as for ``inequivalent_guesses``; they save work and do not change the result.

        Returns:
          (guesses int32[n], scores int32[n]).
        """
        chosen, scores = np.full(len(positions), -1, np.int32), np.zeros(len(positions), np.int32)
        if cost.bonus > 0 and cost.least_apart:  # then no guess is better than one of these
            chosen = self._separating(positions)
            scores[:] = cost.by_size[1] * (1 if cost.largest else positions.sizes) - cost.bonus
        (rest,) = np.nonzero(chosen < 0)
        known = None if histories is None else [histories[index] for index in rest.tolist()]
        for indices, guesses, (places, least) in self._results(positions.take(rest), cost, True, consistent, known):
            chosen[rest[indices]], scores[rest[indices]] = guesses[places], least
        return chosen, scores

    def _separating(self, positions: Positions) -> np.ndarray:
        """The first code of each small position that gets another feedback from each of its codes, int32[n]; or -1."""
        found = np.full(len(positions), -1, np.int32)
        for size in range(1, _PAIRED + 1):
            (indices,) = np.nonzero(positions.sizes == size)
            codes = positions.take(indices).codes.reshape(-1, size)
            heard = np.sort(self.host[codes[:, :, None], codes[:, None]], axis=2)
            apart = (heard[..., 1:] != heard[..., :-1]).all(axis=2)
            first = codes[np.arange(len(codes)), apart.argmax(axis=1)]
            found[indices] = np.where(apart.any(axis=1), first, -1)
        return found

    def scores(self, positions: Positions, cost: PartCost) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The score of every guess: yields (indices of some positions int64[k], their scores int32[k, size])."""
        for indices, _, scores in self._results(positions, cost, False, False, None):
            yield indices, scores

    def ranked(
        self, positions: Positions, cost: PartCost, histories: Sequence[History], below: Sequence[float] | None = None
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The inequivalent guesses of each position, the lowest score first.

        Yields (the index of a position, its guesses int64[k], their scores int32[k]), not in the order of positions.
        ``histories`` are the guesses so far, as for ``inequivalent_guesses``. Scores that are not ``below`` a limit for
        each position are left out.
        """
        for indices, scored, scores in self._results(positions, cost, False, False, histories):
            for index, row in zip(indices.tolist(), scores, strict=True):
                guesses = inequivalent_guesses(self.game, histories[index])
                if len(guesses) < len(scored):
                    row = row[guesses]  # all codes are scored
                if below is not None:
                    lower = row < below[index]
                    guesses, row = guesses[lower], row[lower]
                order = np.argsort(row, kind="stable")
                yield index, guesses[order], row[order]

    def _results(
        self, positions: Positions, cost: PartCost, best: bool, consistent: bool, histories: Sequence[History] | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray, Any]]:
        """Calls compiled functions for positions of similar size, on all cores of a CPU.

        Yields (the indices of some positions int64[k], the guesses that are scored int64[g], results). These are the
        places of the best guesses among those and their scores, int32[k] each, or all scores int32[k, g].
        """
        size = self.game.size
        most = max(_CALL_BYTES // (4 * size), _BATCH)
        cpu = self.platform == "cpu"
        call_sizes = _CALL_SIZES[1:] if best and cpu else _CALL_SIZES
        workers = usable_cores() if cpu else 2
        linear = positions.sizes <= cost.linear_to
        jobs = []
        for group, columns in self._groups(positions, histories):
            for by_number, here in ((True, group[linear[group]]), (False, group[~linear[group]])):
                sizes, least = positions.sizes[here], 0
                for width in (*_WIDTHS, size) if columns.numbers is None else (size,):
                    indices = here[(sizes > least) & (sizes <= width)]
                    least = width
                    parts = -(-len(indices) // most)
                    if cpu:
                        pairs = int(positions.sizes[indices].sum()) * columns.table.shape[1]
                        parts = max(parts, min(workers, len(indices), pairs // _THREAD_PAIRS))
                    jobs += [(by_number, width, indices[part::parts], columns) for part in range(parts)]

        def result(job: tuple[bool, int, np.ndarray, _Columns]) -> tuple[np.ndarray, np.ndarray, Any]:
            by_number, width, indices, (guesses, table, columns) = job
            chosen, count = positions.take(indices), len(indices)
            call_size = min([most, *(allowed for allowed in call_sizes if allowed >= count)])
            rows = np.zeros((call_size, -(-width // UNROLLED) * UNROLLED), np.int32)
            rows[:count] = chosen.padded(rows.shape[1])
            counts = np.zeros(call_size, np.int32)
            counts[:count] = chosen.sizes
            numbers = np.array(cost.line, np.int32) if by_number else cost.by_size
            run = compiled_scores(by_number, best, consistent, self.game.feedbacks, cost.largest, self.platform)
            found = run(table, numbers, np.int32(cost.bonus), rows, counts, np.int32(count), columns)
            arrays = jax.tree.map(lambda array: np.asarray(array)[:count], found)
            return indices, guesses, arrays if best else arrays[:, : len(guesses)]

        return map(result, jobs) if len(jobs) < 2 or workers < 2 else in_order(result, jobs, workers)

    def _groups(
        self, positions: Positions, histories: Sequence[History] | None
    ) -> Iterator[tuple[np.ndarray, _Columns]]:
        """Groups of positions with the guesses to score: yields (indices int64[k], guesses).

        All codes are scored, or where it is worth a table of their own the inequivalent guesses: if these are few, and
        the positions with the same history have half of all codes or more.
        """
        size = self.game.size
        groups: dict[tuple[int, ...], list[int]] = {}
        if size >= _WORTH * _FEW:
            for index, history in enumerate(histories or ()):
                if history is not None and len(history) <= SYMMETRIC_GUESSES:
                    groups.setdefault(history, []).append(index)
        rest = np.ones(len(positions), bool)
        for history, indices in groups.items():
            if 2 * positions.sizes[indices].sum() >= size:
                guesses = inequivalent_guesses(self.game, history)
                if len(guesses) <= _FEW:
                    rest[indices] = False
                    yield np.array(indices), self._few(guesses)
        if rest.any():
            yield np.flatnonzero(rest), _Columns(np.arange(size), self.rows, None)

    def _few(self, guesses: np.ndarray) -> _Columns:
        """At most ``_FEW`` guesses with a table of their own, of that many columns."""
        numbers = np.pad(guesses, (0, _FEW - len(guesses)), mode="edge").astype(np.int32)
        (device,) = self.table.devices()
        return _Columns(guesses, *jax.device_put((np.ascontiguousarray(self.host[numbers].T), numbers), device))


@functools.lru_cache(maxsize=1)
def scorer(game: Game) -> Scorer:
    """The scorer of a game, made once. Raises GameError where its table takes more than half of the memory."""
    return Scorer(game)


# ---------------------------------------------------------------------- on the device


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
      the function (table uint8[secrets, g], line int32[2] or costs int32[secrets + 1], bonus int32, codes
      int32[n, width], their numbers int32[n], how many positions there are int32, the guesses int32[g] or None for
      all); the width is a multiple of 8. A best guess is the number of a column.
    """

    def block_scores(block: Block, numbers: Array, codes: Array, size: Array) -> Array:
        if by_number:
            slope, intercept = numbers
            return slope * size + intercept * part_numbers(block, feedbacks, codes, size).astype(jnp.int32)
        if codes.shape[0] <= _PAIRED:
            parts = parts_of_at_least(block, codes, size)
            parts = jnp.minimum(parts, np.uint8(1)) if largest else parts
            steps = fence(jnp.diff(numbers[: codes.shape[0] + 1]))
            return total(step * row.astype(jnp.int32) for step, row in zip(steps, parts, strict=False))
        costs = numbers[part_sizes(block, feedbacks, codes, size).astype(jnp.int32)]
        return costs.max(0) if largest else costs.sum(0)

    def all_scores(table: Array, numbers: Array, codes: Array, size: Array) -> Array:
        number = table.shape[1]
        if platform != "cpu" or number <= _BLOCK:
            return block_scores(Block(table), numbers, codes, size)

        def put(turn: Array, scores: Array) -> Array:
            first = jnp.minimum(turn * _BLOCK, number - _BLOCK)  # the last two blocks may overlap
            found = block_scores(Block(table, first, _BLOCK), numbers, codes, size)
            return lax.dynamic_update_slice(scores, found, (first,))

        return lax.fori_loop(0, -(-number // _BLOCK), put, jnp.zeros(number, jnp.int32))

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

        return map_positions(one, (codes, sizes), count, 1 if platform == "cpu" else _BATCH)

    return jax.jit(run, compiler_options=compiler_options(platform, one_thread=True))


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
