"""Puzzles whose constraints differ from puzzle to puzzle: killers, and puzzles with thermometers, dots or arrows.

An attempt draws random constraints that a random solved grid satisfies. The exact search then proves that these
determine the grid, or removes givens as long as they do. As in ``generator``, a puzzle depends only on the key, its
number and its attempts, and is the first good one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import ClueForm, Clues, united
from jaxsudoku.core.constraints.house_sums import with_house_sums
from jaxsudoku.core.tuning import CPU_LANES, exact_lanes
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.kernels import Kernel, KernelDefaults, as_items
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.exact.uniqueness import CountKernel
from jaxsudoku.generation.generate_config import ATTEMPTS, VariantConfig
from jaxsudoku.generation.generator import GenerationError
from jaxsudoku.generation.holes import HoleKernel
from jaxsudoku.generation.random_clues import DRAW, Drawn, Seeds, renumbered
from jaxsudoku.generation.reduction import reduce_clues
from jaxsudoku.generation.requests import Request, check_numbers, first_good, request_rows
from jaxsudoku.runtime.random import as_key, mix
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.terminal.progress import Report, reports

#: Attempts in a batch of an engine, a multiple of ``_FEWEST``; fewer for fewer puzzles.
_BATCH, _FEWEST = 1024, 64


class VariantPuzzles(NamedTuple):
    """Generated puzzles with constraints of their own; each has exactly one solution.

    Attributes:
      puzzles: uint8[N, cells], 0 = empty.
      solutions: uint8[N, cells].
      clues: the constraints of each puzzle.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    clues: Clues


def generate_variants(
    key: Array | int,
    count: int,
    variant: str = "killer",
    board: Board | None = None,
    *,
    first: int = 0,
    givens: int | None = None,
    attempts: int = ATTEMPTS,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
) -> VariantPuzzles:
    """Generates puzzles with one solution each, whose constraints differ from puzzle to puzzle.

    Solve them by ``solve(made.puzzles, board, clues=made.clues)``.

    Args:
      key: a JAX key or a seed.
      count: the number of puzzles.
      variant: one of ``VARIANTS``: "killer", cages of 2 to 5 cells that cover the grid; "thermometer"; "kropki", all
        dots of the grid; "arrow".
      board: the board, whose own constraints hold too; None for the classic 9x9 one.
      first: the number of the first puzzle, as in ``generate``.
      givens: the number of given digits. Those of the grid are removed in random order until so many are left. By
        default 0 for killers, else 12.
      attempts: attempts at each puzzle before giving up.
      devices: the devices; None for all of the default backend.
      progress: called with the number of puzzles found and ``count``, at the start and after each batch of attempts;
        True shows a bar on standard error.

    Returns:
      ``VariantPuzzles``, which depend only on the key and their numbers.

    Raises:
      ValueError: an unknown variant, arguments out of range, or a board wider than boards with constraints may be.
      GenerationError: too many attempts failed; it has the puzzles that were found.
    """
    count = whole_number("count", count, 0)
    first = whole_number("first", first, 0, None)
    config = VariantConfig(variant, givens, attempts)
    with reports(progress) as report:
        generator = VariantGenerator(key, board or Board.classic(), config, count, devices=devices)
        return generator.make(first, count, lambda found, _: report(found, count))


class VariantGenerator:
    """Generates any range of an endless, numbered sequence of puzzles with constraints of their own.

    Args:
      key: a JAX key or a seed.
      board: the board.
      config: the settings.
      count: how many puzzles are wanted, about.
      batch_size: attempts at a time; None for automatic, by ``count``.
      devices: as in ``generate``.

    Attributes:
      stretch: puzzles to make at a time so that no core or device idles.

    Raises:
      ValueError: settings that do not fit the board.
    """

    def __init__(
        self,
        key: Array | int,
        board: Board,
        config: VariantConfig,
        count: int = _BATCH,
        batch_size: int | None = None,
        devices: Sequence[jax.Device] | None = None,
    ) -> None:
        config.check(board)
        self.board, self.config = board, config
        self._key, self._devices = as_key(key), devices
        self._size = batch_size or min(max(-(-count // _FEWEST), 1) * _FEWEST, _BATCH)
        self._grids = self._engine(HoleKernel("random"))
        self._form = ClueForm(board.cells)
        self._words = np.asarray(jax.random.bits(self._key, (2,), np.uint32))
        self.stretch = self._size * self._grids.workers

    def make(self, first: int, count: int, progress: Report = lambda found, attempts: None) -> VariantPuzzles:
        """The puzzles numbered from ``first`` on; raises ``GenerationError`` as ``generate_variants`` does.

        Args:
          first: the number of the first puzzle.
          count: the number of puzzles.
          progress: called with the number of puzzles found, and of attempts at each of the others, at the start and
            after each batch of attempts.
        """
        check_numbers(first, count)
        board, most = self.board, self.config.attempts
        puzzles, solutions = np.zeros((2, count, board.cells), np.uint8)
        parts: list[Drawn] = []
        missing, attempt = np.arange(count), 0
        progress(0, 0)
        while len(missing) and attempt < most:
            parallel = min(max(self._size // len(missing), 1), most - attempt)
            numbers = np.tile(first + missing, parallel)
            made, solved, drawn, good = self._attempts(numbers, attempt + np.arange(parallel).repeat(len(missing)))
            succeeded, winner = first_good(good, parallel)
            found, missing = missing[succeeded], missing[~succeeded]
            puzzles[found], solutions[found] = made[winner], solved[winner]
            parts.append(renumbered(drawn, winner, found))
            attempt += parallel
            progress(count - len(missing), attempt)
        kept = np.setdiff1d(np.arange(count), missing)
        drawn = renumbered(united(parts), kept, np.arange(len(kept)))
        result = VariantPuzzles(puzzles[kept], solutions[kept], Clues.of_entries(len(kept), board.cells, drawn))
        if not len(missing):
            return result
        raise GenerationError(
            f"{len(kept)} of {count} puzzles found: {most} attempts at each of the others failed "
            f"({self.config.variant}, {self.config.given_digits} givens on {board})",
            result,
        )

    def _attempts(self, numbers: np.ndarray, attempts: np.ndarray) -> tuple[np.ndarray, np.ndarray, Drawn, np.ndarray]:
        """The puzzles and solutions of attempts at the puzzles ``numbers``, their constraints, and which are good."""
        board, size = self.board, len(numbers)
        padding = -size % self._size  # so that any number runs the same programs
        request = Request(numbers, attempts, 0, board.cells, 0, 0, 0)
        solutions = self._grids.run(request_rows(request, padding)).solutions[:size]
        seeds = mix(mix(mix(numbers.astype(np.uint32) ^ self._words[0]) ^ attempts.astype(np.uint32)) ^ self._words[1])
        random = Seeds(np.asarray(seeds))
        drawn, good = DRAW[self.config.variant](solutions, board, random)
        good &= solutions.any(axis=1)
        clues = with_house_sums(Clues.of_entries(size + padding, board.cells, drawn), board)
        self._form = self._form.holding(clues)
        clues = clues.of_form(self._form)
        wanted = np.pad(np.where(good[:, None], solutions, 255), ((0, padding), (0, 0)), constant_values=255)
        givens = self.config.given_digits
        if givens:
            ranks = np.pad(np.argsort(random.uniform(board.cells), axis=1), ((0, padding), (0, 0)))
            rows = np.concatenate([wanted, ranks, clues.rows], axis=1, dtype=np.uint16, casting="unsafe")
            puzzles = self._engine(_Removal(self._form, givens)).run(rows)[:size]
            good &= (puzzles > 0).sum(axis=1) == givens
        else:
            puzzles = np.zeros_like(solutions)
            items = as_items(np.where(wanted == 255, wanted, 0).astype(np.uint8), clues=clues)
            counter = CountKernel(ExactConfig(), form=self._form, grids=False)
            good &= self._engine(counter).run(items).counts[:size] == 1
        return puzzles, solutions, drawn, good

    def _engine(self, kernel: Kernel) -> Engine:
        return Engine(kernel, self.board, self._key, self._size, self._devices)


@dataclasses.dataclass(frozen=True)
class _Removal(KernelDefaults):
    """A ``kernels.Kernel`` that removes givens from solved grids with clues while the solution stays unique.

    Items are a solved grid, or zeros for none, a permutation of the cells, and a row of clues: uint16[2 cells + width].

    Attributes:
      form: the form of the clues.
      givens: the number of givens at which removal ends.
      lanes: nodes in a step of the exact search.
    """

    form: ClueForm
    givens: int
    lanes: int = CPU_LANES

    def resolve(self, board: Board, platform: str) -> _Removal:
        return dataclasses.replace(self, lanes=exact_lanes(board, platform))

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """An item."""
        return jax.ShapeDtypeStruct((2 * board.cells + self.form.width,), np.uint16)

    def __call__(self, board: Board, items: Array, key: Array, number: Array, /) -> Array:
        grids, ranks, rows = jnp.split(items, (board.cells, 2 * board.cells), axis=1)
        solutions = jnp.where(grids > board.side, 0, grids).astype(jnp.uint8)  # padding has the largest number
        floor = jnp.full(len(items), self.givens, jnp.int32)
        clues = Clues(self.form, rows)
        return reduce_clues(board, solutions, solutions, ranks.astype(jnp.uint32), floor, lanes=self.lanes, clues=clues)
