"""Generates any number of puzzles, by repeated attempts until each one satisfies the settings.

A puzzle depends only on the key, its number and its attempts, not on the batch.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku import rating
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import SEARCHES, search_restart
from jaxsudoku.engine.batches import Engine, default_batch_size
from jaxsudoku.engine.placed import Results, on_device
from jaxsudoku.generation.attempt import QUICK_LANES, Attempt
from jaxsudoku.generation.generate_config import GenerateConfig, check_settings
from jaxsudoku.generation.holes import HoleKernel
from jaxsudoku.generation.requests import Puzzles, Request, check_numbers, first_good, request_rows
from jaxsudoku.runtime.devices import used_devices
from jaxsudoku.runtime.settings import settings_of, whole_number
from jaxsudoku.runtime.terminal.progress import Report, reports
from jaxsudoku.techniques.ratings import TechniqueRatings, ratings_of, technique_engine
from jaxsudoku.techniques.registry import NUMBERS

#: Divisor of the default batch size for attempts, by platform; 8 for others.
_PARTS = {"cpu": 2}
#: Attempts per batch once few 9x9 puzzles are missing, without and with (slower) local search; fewer on wider boards,
#: where each takes longer.
_RETRIES, _RETRIES_WITH_STEPS = 1024, 256
#: Batch size per device of instances with holes on boards whose grids come from the exact search (up to a second each).
_HOLED = 32
#: Number of puzzles rated by technique at a time.
_RATED = 2048
#: Maximum number of puzzles whose first attempts take less time than an optimized compilation.
_FEW = 64


class GenerationError(RuntimeError):
    """Raised if some puzzles were not found within the attempts.

    Attributes:
      found: the ``Puzzles`` or ``VariantPuzzles`` that were found.
    """

    def __init__(self, message: str, found: Any) -> None:
        super().__init__(message, found)
        self.found = found

    def __str__(self) -> str:
        return str(self.args[0])


def generate(
    key: Array | int,
    count: int,
    board: Board | None = None,
    *,
    first: int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    results: Results = "host",
    **options: object,
) -> Puzzles:
    """Generates puzzles with exactly one solution each, or instances with holes, on all devices and cores.

    Args:
      key: a JAX key or a seed.
      count: the number of puzzles.
      board: the board; None for the classic 9x9 one.
      first: the number of the first puzzle: ``generate(key, 10, first=5)`` gives the last ten of ``generate(key, 15)``.
      batch_size: puzzles on a device at a time; None for automatic.
      devices: the devices; None for all of the default backend.
      progress: called with the number of puzzles found and ``count``, at the start and after each batch of attempts;
        True shows a bar on standard error.
      results: "host" for numpy arrays; "device" for arrays of JAX on the first of the devices. Results of first
        attempts are then not copied to the host, except clues, ratings and, if chosen by technique, puzzles.
      **options: fields of ``GenerateConfig``: ``clues``, ``minimal``, ``rating``, ``technique``, ``score``,
        ``pattern``, ``steps``, ``attempts``, ``holes``, ``given``.

    Returns:
      ``Puzzles``, which depend only on the key and their numbers.

    Raises:
      ValueError: options out of range, or that no puzzle of the board can satisfy, such as 16 clues on 9x9.
      GenerationError: too many attempts failed, as for 17 clues on a 9x9 board; it has the puzzles that were found.
    """
    count = whole_number("count", count, 0)
    first = whole_number("first", first, 0, None)
    board = board or Board.classic()
    config = settings_of(GenerateConfig, "generator", **options)
    with reports(progress) as report:
        generator = Generator(key, board, config, batch_size, devices)
        return generator.make(first, count, lambda found, _: report(found, count), on_device(results))


class Generator:
    """Generates any range of an endless, numbered sequence of puzzles.

    Args:
      key: a JAX key or a seed.
      board: the board.
      config: the settings.
      batch_size, devices: as in ``generate``.

    Attributes:
      engine: runs the attempts, except the first ones for few puzzles.
      stretch: puzzles to make at a time so that no core or device idles; fewer with local search, to show progress.

    Raises:
      ValueError: settings that no puzzle of the board can satisfy.
    """

    def __init__(
        self,
        key: Array | int,
        board: Board,
        config: GenerateConfig,
        batch_size: int | None = None,
        devices: Sequence[jax.Device] | None = None,
    ) -> None:
        check_settings(board, config)
        self.board, self.config = board, config
        devices = used_devices(devices)
        if batch_size is None:
            part = _PARTS.get(devices[0].platform, 8)
            batch_size = max(default_batch_size(board, devices) // part, 64 * len(devices))
            if config.holes is not None and search_restart(board) is not None:
                batch_size = _HOLED * len(devices)
        self._climber: Engine | None = None
        if config.by_technique:
            # techniques harder than the hardest wanted one are not tried, unless unsolved puzzles are wanted
            up_to = None if config.unsolved else config.technique_names[-1]
            self._climber = technique_engine(board, up_to, _RATED * len(devices), devices)
        self._quick: Engine | None = None
        if config.holes is not None:
            self.engine = Engine(HoleKernel(config.holes), board, key, batch_size, devices)
        else:
            kernel = Attempt(config.pattern, config.local_steps > 0)
            self.engine = Engine(kernel, board, key, batch_size, devices)
            if search_restart(board) is None:  # otherwise the search takes longer than its compilation
                few = _FEW * len(devices)
                self._quick = Engine(dataclasses.replace(kernel, quick=True), board, key, few, devices)
                rater = rating.RatingKernel(QUICK_LANES, quick=True)
                self._rater = Engine(rater, board, key, few, devices, (np.uint32(SEARCHES),))
        #: Rows of the batches of first attempts, 0 before the first.
        self._compiled = 0
        retries = _RETRIES_WITH_STEPS if config.local_steps else _RETRIES
        self._retries = int(retries * (9 / board.side) ** 6)
        self.stretch = self.engine.batch_size * self.engine.workers
        if config.local_steps:
            self.stretch = max(self.stretch // 64, 1)

    def make(
        self, first: int, count: int, progress: Report = lambda found, attempts: None, on_device: bool = False
    ) -> Puzzles:
        """The puzzles numbered from ``first`` on; raises ``GenerationError`` as ``generate`` does.

        Args:
          first: the number of the first puzzle.
          count: the number of puzzles.
          progress: called with the number of puzzles found, and of attempts at each of the others, at the start, after
            each batch of attempts, and every ten seconds in between.
          on_device: whether the puzzles are arrays of JAX on the first device.
        """
        told = (0, 0)

        def tell(found: int, attempts: int) -> None:
            nonlocal told
            told = found, attempts
            progress(found, attempts)

        def again(*_: int) -> None:
            progress(*told)

        check_numbers(first, count)
        shape = (count, self.board.cells)
        grids, solutions = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        found = Puzzles(grids, solutions, np.zeros(count, np.int32), np.zeros(count, np.float32))
        tell(0, 0)
        everyone = np.arange(count)
        # most puzzles need one attempt
        whole = self.engine.batch_size * self.engine.workers
        parts: list[np.ndarray] = []
        placed: list[Puzzles] | None = [] if on_device else None
        for start in range(0, count, whole):
            part = everyone[start : start + whole]
            parts.append(self._try(found, first, part, self._engine_for(count), 0, 1, again, placed))
            tell(min(start + whole, count) - sum(map(len, parts)), 1)
        missing = retried = np.concatenate([everyone[:0], *parts])
        attempt = 1
        while len(missing) and attempt < self.config.most_attempts:
            # several attempts in parallel; the first successful one counts
            parallel = min(max(self._retries // len(missing), 1), self.config.most_attempts - attempt)
            missing = self._try(found, first, missing, self.engine, attempt, parallel, again)
            attempt += parallel
            tell(count - len(missing), attempt)
        if placed is not None:
            found = jax.tree.map(functools.partial(_merged, retried), found, *placed)
        if not len(missing):
            return found
        kept = np.setdiff1d(np.arange(count), missing)
        raise GenerationError(
            f"{len(kept)} of {count} puzzles found: {self.config.most_attempts} attempts at each of the others failed "
            f"({self.config.description(self.board.cells)} on {self.board})",
            Puzzles(*(part[kept] for part in found)),
        )

    def _engine_for(self, count: int) -> Engine:
        """The engine of first attempts: the quick one for few puzzles that will not need a second attempt."""
        _, most = self.config.clue_range(self.board.cells)
        if self._quick is None or self._compiled:
            return self.engine
        few = self.engine.threaded and count <= self._quick.batch_size < self.engine.batch_size
        chosen = self.config.rating is not None or self.config.by_technique
        certain = not chosen and not self.config.local_steps and most >= self.board.cells // 3
        return self._quick if few and certain else self.engine

    def _fewest_rows(self, engine: Engine, attempt: int) -> int:
        """Number of rows to pad a batch to, so that any small number of attempts uses one program.

        First attempts in a short last batch use the program of the previous batches.
        """
        if engine is self._quick:
            return engine.batch_size
        return max(min(self._retries, engine.batch_size // 16), 0 if attempt else self._compiled)

    def _try(
        self,
        found: Puzzles,
        first: int,
        missing: np.ndarray,
        engine: Engine,
        attempt: int,
        parallel: int,
        report: Report,
        placed: list[Puzzles] | None = None,
    ) -> np.ndarray:
        """Makes ``parallel`` attempts at each of the puzzles ``missing``, int[n]; stores successes in ``found``.

        ``report`` is called as that of ``Engine.run``. If ``placed`` is a list, the results stay on the first device
        and are added to it, one a puzzle.

        Returns:
          the puzzles that are still missing.
        """
        request, size = self._request(np.tile(first + missing, parallel), attempt, parallel), parallel * len(missing)
        padding = max(self._fewest_rows(engine, attempt) - size, 0)
        if engine is self.engine and not attempt:
            self._compiled = engine.split(size + padding)[0].stop
        rows = request_rows(request, padding)
        run = engine.run if placed is None else engine.run_on_device
        made = Puzzles(*(part[:size] for part in run(rows, report)))
        if engine is self._quick:
            rate = self._rater.run if placed is None else self._rater.run_on_device
            made = made._replace(rating=rate(_padded(np.asarray(made.puzzles), engine.batch_size))[:size])
        made = made._replace(rating=rating.reported(made.rating))
        good = self._satisfies(made)
        if placed is not None:
            placed.append(made)
            return missing[~good]
        succeeded, winner = first_good(good, parallel)
        for whole, part in zip(found, made, strict=True):
            whole[missing[succeeded]] = part[winner]
        return missing[~succeeded]

    def _request(self, numbers: np.ndarray, attempt: int, parallel: int) -> Request:
        """Requests for attempts from ``attempt`` on, one after another, at the puzzles ``numbers``, to be broadcast."""
        fewest, most = self.config.clue_range(self.board.cells)
        exhaustive = self.config.exhaustive
        low, _ = self.config.rating_range()
        return Request(
            number=numbers,
            attempt=attempt + np.arange(parallel).repeat(len(numbers) // parallel),
            fewest=0 if exhaustive else fewest,
            most=0 if exhaustive else most,
            enough=most,
            goal=np.float32(low).view(np.uint32),
            steps=self.config.local_steps,
        )

    def _satisfies(self, made: Puzzles) -> np.ndarray:
        """Whether puzzles satisfy the settings for clues, rating and hardest technique: bool[n]."""
        fewest, most = self.config.clue_range(self.board.cells)
        low, high = self.config.rating_range()
        solved, clues, ratings = map(np.array, (made.solutions.any(axis=1), made.clues, made.rating))
        good: np.ndarray = solved & (clues >= fewest) & (clues <= most)
        if self.config.holes is None:
            good &= (ratings >= low) & (ratings <= high)
        if self._climber is not None:
            good[good] = self._needs(np.asarray(made.puzzles)[good])
        return good

    def _needs(self, puzzles: np.ndarray) -> np.ndarray:
        """Whether the hardest technique of puzzles uint8[n, cells] is a wanted one: bool[n]."""
        found = self.technique_ratings(puzzles)
        wanted = np.isin(found.technique, [NUMBERS[name] for name in self.config.technique_names])
        return np.where(np.isinf(found.score), self.config.unsolved, wanted)

    def technique_ratings(self, puzzles: np.ndarray) -> TechniqueRatings:
        """The ratings by technique of puzzles from this generator.

        Args:
          puzzles: uint8[n, cells], each with exactly one solution.

        Raises:
          ValueError: the settings have neither a technique nor a score.
        """
        if self._climber is None:
            raise ValueError("the puzzles were not chosen by technique or score; use rate")
        found = self._climber.run(_padded(puzzles, self._climber.batch_size))
        return ratings_of(*(part[: len(puzzles)] for part in found))


def _padded(puzzles: np.ndarray, size: int) -> np.ndarray:
    """Puzzles uint8[n, cells] and INVALID ones, so that any number runs the program for batches of ``size``."""
    return np.pad(puzzles, ((0, -len(puzzles) % size), (0, 0)), constant_values=255)


def _merged(retried: np.ndarray, later: np.ndarray, *first: Array) -> Array:
    """The rows of the first attempts [n, ...], with the rows ``retried`` int[m] replaced by those of ``later``."""
    rows = jnp.concatenate([jnp.asarray(later[:0]), *first])
    return rows.at[retried].set(later[retried]) if len(retried) else rows
