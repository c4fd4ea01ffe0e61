"""Scores of guesses on the device: every guess for thousands of positions at once, by the sizes of its parts.

The feedback to a guess splits a position into parts. A guess is scored by the sum, or the maximum, of a cost of each
part's size; the lowest score is best. All numbers are integers, so that the best guess is the same on every machine.

Feedback is looked up in a table of all guesses with all secrets. Where the table would take more than a quarter of the
memory, positions are scored in groups, with 1,024 guesses at a time, and only the feedback of these is computed.

The sizes of parts are counted in one of three ways. In small positions the codes are compared with each other, in
larger ones with each feedback. If the cost is linear in the size, the number of parts is enough. A small position is
not scored at all if one of its codes separates all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.devices import device_memory, usable_cores
from jaxsudoku.runtime.threads import in_order

from .costs import PartCost
from .feedbacks import block_by_secrets, by_secrets, feedback_of, feedback_table
from .parts import BYTE_CODES, UNROLLED
from .positions import SYMMETRIC_GUESSES, History, Partition, Positions, blocks, partition, representatives
from .rules import Game
from .score_programs import BATCH, BLOCK, PAIRED, compiled_scores

#: Compiled widths of rows of codes, besides the size of the game; further ones where there is no table.
_WIDTHS, _WIDER = (PAIRED, BYTE_CODES), (1 << 12, 1 << 15)

#: Maximum number of columns of a table with one guess per orbit, and the minimum ratio of codes to columns.
_FEW, _WORTH = 1024, 4

#: Number of codes of small positions compared with each other together.
_COMPARED = 1 << 12

#: Size in bytes of the scores of one call.
_CALL_BYTES = 1 << 25

#: Minimum product of codes and guesses of a call for which a further thread pays on a CPU.
_THREAD_PAIRS = 1 << 26

#: A table may take this part of the memory: a quarter.
_TABLE_SHARE = 4

#: Limits without a table: codes of the positions of a group, bytes of their scores, of the rows of a call, and of the
#: feedback of all threads.
_GROUP_CODES, _SCORE_BYTES, _ROW_BYTES, _FEEDBACK_BYTES = 1 << 18, 1 << 28, 1 << 26, 1 << 30

#: Numbers of secrets of a block's table are this times a power of 4, or all secrets.
_FEWEST_SECRETS = 1024

#: Compiled numbers of positions of a call, besides the maximum that ``_CALL_BYTES`` allows. A CPU skips padding, so the
#: first one is not used for small results (the best guesses).
_CALL_SIZES = (16, 256)


class _Columns(NamedTuple):
    """Guesses to score.

    Attributes:
      guesses: int64[g], code numbers, ascending.
      table: uint8[s, w], the feedback of all secrets, or of those in some positions, with the guesses, on the device; w
        is at least g, and the columns from g on repeat the last guess.
      numbers: int32[w], the row of the table with the same code as the column, on the device; a larger number if there
        is none. None if the columns and the rows are all codes.
    """

    guesses: np.ndarray
    table: Array
    numbers: Array | None


class _Call(NamedTuple):
    """Positions that are scored by one call of a compiled function.

    Attributes:
      by_number: whether the number of parts determines a score.
      indices: int64[k], the indices of the positions.
      codes: int32[n, width], the positions padded; the width is a multiple of 8, and n at least k.
      counts: int32[n], their sizes.
    """

    by_number: bool
    indices: np.ndarray
    codes: AnyArray
    counts: AnyArray


class Scorer:
    """Scores guesses of a game.

    Args:
      game: the game.
      by_blocks: whether to work without a table of all feedbacks; None decides by the memory.

    Attributes:
      game: the game.
      by_blocks: whether there is no table.
      platform: the device's platform.
    """

    def __init__(self, game: Game, by_blocks: bool | None = None) -> None:
        self.game = game
        if by_blocks is None:
            by_blocks = _TABLE_SHARE * game.size * game.secrets > device_memory()
        self.by_blocks = by_blocks
        self.platform = jax.local_devices()[0].platform if by_blocks else next(iter(self.table.devices())).platform

    @functools.cached_property
    def table(self) -> Array:
        """The feedback table, uint8[size, secrets], on the device; raises GameError as ``feedback_table``."""
        return feedback_table(self.game)

    @functools.cached_property
    def rows(self) -> Array:
        """The feedback table by secrets, uint8[secrets, size]."""
        return by_secrets(self.game, self.table)

    @functools.cached_property
    def host(self) -> np.ndarray:
        """The feedback table in host memory."""
        return np.asarray(self.table)

    def feedback(self, guesses: Any, secrets: Any) -> np.ndarray:
        """The feedback uint8[...] of guesses with secrets, code numbers int[...]; shapes broadcast."""
        if self.by_blocks:
            return feedback_of(self.game, guesses, secrets)
        found: np.ndarray = self.host[guesses, secrets]
        return found

    def partition(self, positions: Positions, guesses: np.ndarray) -> Partition:
        """Splits positions by guesses, one for each."""
        feedback = self.feedback(np.repeat(np.asarray(guesses), positions.sizes), positions.codes)
        return partition(self.game.feedbacks, positions, feedback)

    def best(
        self, positions: Positions, cost: PartCost, consistent: bool = False, histories: Sequence[History] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The guess with the lowest score for each position.

        Ties go to the first code that may be the secret, or else to the first code, provided that the bonus is less
        than the difference of any two scores.

        Args:
          positions: n positions.
          cost: the cost of parts.
          consistent: consider only guesses that may be the secret.
          histories: the guesses so far, as in ``representatives``; they save work and do not change the result.

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
        """The first code of each small position that separates all of its codes, int32[n]; -1 for none."""
        found = np.full(len(positions), -1, np.int32)
        (small,) = np.nonzero(positions.sizes <= PAIRED)
        for some in blocks(positions.sizes[small], _COMPARED) if len(small) else ():
            found[small[some]] = self._first_separating(positions.take(small[some]))
        return found

    def _first_separating(self, positions: Positions) -> np.ndarray:
        """``_separating`` for some small positions, by the feedback of all pairs of their codes."""
        codes, sizes, starts = positions.codes, positions.sizes, positions.bounds[:-1]
        size = np.repeat(sizes, sizes)  # for the position of each code
        row = np.repeat(np.arange(len(codes)), size)
        other = np.arange(len(row)) + np.repeat(np.repeat(starts, sizes) - np.cumsum(size) + size, size)
        occurs = np.zeros((len(codes), self.game.feedbacks), bool)
        occurs[row, self.feedback(codes[row], codes[other])] = True
        separates = np.count_nonzero(occurs, axis=1) == size
        first = np.minimum.reduceat(np.where(separates, codes, self.game.size), starts)
        return np.where(first < self.game.size, first, -1)

    def scores(self, positions: Positions, cost: PartCost) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The score of every guess: yields (indices of some positions int64[k], their scores int32[k, size])."""
        for indices, _, scores in self._results(positions, cost, False, False, None):
            yield indices, scores

    def ranked(
        self, positions: Positions, cost: PartCost, histories: Sequence[History], below: Sequence[float] | None = None
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """One guess per orbit for each position, the lowest score first.

        Yields (the index of a position, its guesses int64[k], their scores int32[k]), not in the order of positions.
        ``histories`` are the guesses so far, as in ``representatives``. Scores that are not ``below`` the position's
        limit are left out.
        """
        for indices, scored, scores in self._results(positions, cost, False, False, histories):
            for index, row in zip(indices.tolist(), scores, strict=True):
                guesses = representatives(self.game, histories[index])
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

        Yields (the indices of some positions int64[k], the scored guesses int64[g], results). Results are the indices
        of the best guesses among these and their scores, int32[k] each, or all scores int32[k, g].
        """
        if self.by_blocks:
            yield from self._results_by_blocks(positions, cost, best, consistent, histories)
            return
        most = max(_CALL_BYTES // (4 * self.game.size), BATCH)
        call_sizes = (*(_CALL_SIZES[1:] if best and self.platform == "cpu" else _CALL_SIZES), most)
        jobs = []
        everything, secrets = _Columns(np.arange(self.game.size), self.rows, None), np.arange(self.game.secrets)
        known = histories if self.game.size >= _WORTH * _FEW else None
        for group, guesses in self._groups(positions, known, _FEW):
            few = len(guesses) < self.game.size
            columns = self._columns(guesses, _FEW, secrets, len(secrets)) if few else everything
            worth = _THREAD_PAIRS // columns.table.shape[1] if self.platform == "cpu" else None
            widths = dict.fromkeys((self.game.size,) if few else (*_WIDTHS, self.game.size), most)
            jobs += [(columns, *call) for call in self._calls(positions, group, cost, widths, worth)]

        def result(job: tuple[_Columns, bool, int, np.ndarray]) -> tuple[np.ndarray, np.ndarray, Any]:
            columns, by_number, width, indices = job
            call = _padded_call(positions, by_number, width, indices, call_sizes)
            return indices, columns.guesses, self._scored(call, columns, cost, best, consistent)

        yield from self._in_order(result, jobs)

    def _in_order(self, function: Callable[[Any], Any], jobs: Sequence[Any], most: int | None = None) -> Iterator[Any]:
        """Yields the results of jobs in order, computed on all cores of a CPU, at most ``most`` at a time."""
        workers = usable_cores() if self.platform == "cpu" else 2
        workers = workers if most is None else min(workers, max(most, 1))
        return map(function, jobs) if len(jobs) < 2 or workers < 2 else in_order(function, jobs, workers)

    @staticmethod
    def _calls(
        positions: Positions, group: np.ndarray, cost: PartCost, widths: dict[int, int], worth: int | None
    ) -> list[tuple[bool, int, np.ndarray]]:
        """Divides the positions at some indices among calls: (whether by the number of parts, width, indices int64[k]).

        Args:
          positions: n positions.
          group: int64[k], the indices.
          cost: the cost of parts.
          widths: the compiled widths, ascending, with the maximum number of positions of a call.
          worth: number of codes from which a further thread pays; None for as few calls as possible.
        """
        linear = positions.sizes[group] <= cost.linear_to
        calls = []
        for by_number, here in ((True, group[linear]), (False, group[~linear])):
            sizes, least = positions.sizes[here], 0
            for width, most in widths.items():
                indices = here[(sizes > least) & (sizes <= width)]
                least = width
                parts = -(-len(indices) // most)
                if worth is not None:
                    threads = int(positions.sizes[indices].sum()) // worth
                    parts = max(parts, min(usable_cores(), len(indices), threads))
                calls += [(by_number, width, indices[part::parts]) for part in range(parts)]
        return calls

    def _scored(self, call: _Call, columns: _Columns, cost: PartCost, best: bool, consistent: bool) -> Any:
        """The results of a call: (places int32[k], scores int32[k]) of the best guesses, or scores int32[k, g]."""
        count, (guesses, table, numbers) = len(call.indices), columns
        costs = np.array(cost.line, np.int32) if call.by_number else cost.by_size
        run = compiled_scores(call.by_number, best, consistent, self.game.feedbacks, cost.largest, self.platform)
        found = run(table, costs, np.int32(cost.bonus), call.codes, call.counts, np.int32(count), numbers)
        arrays = jax.tree.map(lambda array: np.asarray(array)[:count], found)
        return arrays if best else arrays[:, : len(guesses)]

    # ------------------------------------------------------------------ scoring without a table

    def _results_by_blocks(
        self, positions: Positions, cost: PartCost, best: bool, consistent: bool, histories: Sequence[History] | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray, Any]]:
        """``_results`` without a table."""
        for group, guesses in self._groups(positions, histories, self.game.size):
            together = max(_SCORE_BYTES // (4 * (1 if best else len(guesses))), 1)
            by_codes = np.diff(np.cumsum(positions.sizes[group]) // _GROUP_CODES) > 0
            by_number = np.diff(np.arange(len(group)) // together) > 0
            for some in np.split(group, np.flatnonzero(by_codes | by_number) + 1):
                yield some, guesses, self._scored_by_blocks(positions.take(some), guesses, cost, best, consistent)

    def _scored_by_blocks(
        self, positions: Positions, guesses: np.ndarray, cost: PartCost, best: bool, consistent: bool
    ) -> Any:
        """The results of ``_scored`` for a few positions and any number of guesses."""
        secrets = np.unique(positions.codes)
        room = _FEWEST_SECRETS
        while room < len(secrets):
            room *= 4
        room = min(room, self.game.secrets)
        local = Positions(np.searchsorted(secrets, positions.codes).astype(np.int32), positions.bounds)
        calls = self._placed_calls(local, cost)
        starts = range(0, len(guesses), BLOCK)

        def block(start: int) -> list[Any]:
            columns = self._columns(guesses[start : start + BLOCK], BLOCK, secrets, room)
            return [self._scored(call, columns, cost, best, consistent) for call in calls]

        blocks = zip(starts, self._in_order(block, starts, _FEEDBACK_BYTES // (room * BLOCK)), strict=True)
        if not best:
            scores = np.empty((len(positions), len(guesses)), np.int32)
            for start, results in blocks:
                for call, found in zip(calls, results, strict=True):
                    scores[call.indices, start : start + BLOCK] = found
            return scores
        places = np.zeros(len(positions), np.int64)
        least = np.full(len(positions), np.iinfo(np.int64).max)
        for start, results in blocks:
            for call, (place, found) in zip(calls, results, strict=True):
                better = found < least[call.indices]  # in case of a tie the first is kept
                least[call.indices[better]], places[call.indices[better]] = found[better], start + place[better]
        return places, least

    def _placed_calls(self, positions: Positions, cost: PartCost) -> list[_Call]:
        """The calls for positions with a block of guesses, their arrays on the device."""
        size = self.game.secrets
        widths = {
            width: min(_CALL_BYTES // (4 * BLOCK), max(_ROW_BYTES // (4 * width), 1))
            for width in (*(width for width in (*_WIDTHS, *_WIDER) if width < size), size)
        }
        calls = []
        for by_number, width, indices in self._calls(positions, np.arange(len(positions)), cost, widths, None):
            call = _padded_call(positions, by_number, width, indices, (*_CALL_SIZES, widths[width]))
            calls.append(call._replace(codes=jax.device_put(call.codes), counts=jax.device_put(call.counts)))
        return calls

    # ------------------------------------------------------------------ guesses to score

    def _groups(
        self, positions: Positions, histories: Sequence[History] | None, most: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields groups of positions with the guesses to score: (indices int64[k], guesses int64[g]).

        These are one guess per orbit if there are at most ``most``, and the positions with the same history have at
        least half of all codes; otherwise all codes.
        """
        by_history: dict[tuple[int, ...], list[int]] = {}
        for index, history in enumerate(histories or ()):
            if history is not None and len(history) <= SYMMETRIC_GUESSES:
                by_history.setdefault(history, []).append(index)
        rest = np.ones(len(positions), bool)
        for history, indices in by_history.items():
            if 2 * positions.sizes[indices].sum() < self.game.size:
                continue
            guesses = representatives(self.game, history)
            if len(guesses) <= most:
                rest[indices] = False
                yield np.array(indices), guesses
        if rest.any():
            yield np.flatnonzero(rest), np.arange(self.game.size)

    def _columns(self, guesses: np.ndarray, width: int, secrets: np.ndarray, room: int) -> _Columns:
        """Columns for at most ``width`` guesses, with a table for the ``secrets``, padded to ``room`` rows."""
        padded = np.pad(guesses, (0, width - len(guesses)), mode="edge")
        chosen = np.pad(secrets, (0, room - len(secrets)), mode="edge")
        table = block_by_secrets(self.game, self.game.codes[padded], self.game.codes[chosen])
        rows = np.searchsorted(secrets, padded)
        member = secrets[np.minimum(rows, len(secrets) - 1)] == padded
        return _Columns(guesses, table, jax.device_put(np.where(member, rows, room).astype(np.int32)))


def _padded_call(
    positions: Positions, by_number: bool, width: int, indices: np.ndarray, call_sizes: Sequence[int]
) -> _Call:
    """The arrays of a call for some positions, padded to one of a few sizes; the last size fits any call."""
    chosen, count = positions.take(indices), len(indices)
    call_size = min(size for size in call_sizes if count <= size <= call_sizes[-1])
    rows = np.zeros((call_size, -(-width // UNROLLED) * UNROLLED), np.int32)
    rows[:count] = chosen.padded(rows.shape[1])
    counts = np.zeros(call_size, np.int32)
    counts[:count] = chosen.sizes
    return _Call(by_number, indices, rows, counts)


@functools.lru_cache(maxsize=1)
def scorer(game: Game) -> Scorer:
    """The scorer of a game, cached."""
    return Scorer(game)
