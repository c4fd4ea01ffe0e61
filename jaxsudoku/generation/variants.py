"""Puzzles whose constraints differ from puzzle to puzzle: killers, and puzzles with thermometers, dots or arrows.

Random constraints are drawn that a random solved grid satisfies. The exact search then proves that these determine the
grid, or removes givens as long as they do. A candidate depends on the key and its number alone, and puzzles are the
first candidates that are as wanted, so a longer run begins with the puzzles of a shorter one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board, check_board
from jaxsudoku.core.constraints.base import MAX_SIDE
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.core.constraints.house_sums import with_house_sums
from jaxsudoku.core.tuning import CPU_LANES, exact_lanes
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.kernels import Kernel, KernelDefaults, as_items
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.exact.uniqueness import CountKernel
from jaxsudoku.generation.generate_config import ATTEMPTS
from jaxsudoku.generation.holes import HoleKernel
from jaxsudoku.generation.random_clues import VARIANTS, Drawn, Seeds, joined, selected
from jaxsudoku.generation.reduction import reduce_clues
from jaxsudoku.generation.requests import Request
from jaxsudoku.runtime.random import as_key, mix
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.suggestions import known_name
from jaxsudoku.runtime.terminal.progress import Report, reports

#: The smallest and the largest number of candidates at a time; all rounds of a call have the same number.
_FEWEST, _MOST = 64, 4096
#: The most candidates in a batch of an engine.
_BATCH = 1024
#: How many candidates are made for each puzzle that is missing, at first.
_SPARE = 1.25


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
      givens: the most given digits of a puzzle. They are removed in random order until so many are left. By default 0
        for killers, else 12.
      attempts: candidates for each puzzle before giving up, on average.
      devices: the devices; None for all of the default backend.
      progress: called with the number of puzzles found and ``count``, at the start and after each batch; True shows a
        bar on standard error.

    Returns:
      ``VariantPuzzles``, which depend only on the key and their numbers.

    Raises:
      ValueError: an unknown variant, arguments out of range, or a board wider than boards with constraints may be.
      GenerationError: too many candidates were not as wanted; it has the puzzles that were found.
    """
    count = whole_number("count", count, 0)
    attempts = whole_number("attempts", attempts, 1)
    variant = known_name("variant", variant, VARIANTS)
    board = check_board(board or Board.classic())
    if board.side > MAX_SIDE:
        raise ValueError(f"boards with constraints have a side of at most {MAX_SIDE}, not {board.side}")
    givens = VARIANTS[variant].givens if givens is None else whole_number("givens", givens, 0, board.cells)
    with reports(progress) as report:
        return _Maker(as_key(key), variant, board, givens, count, devices).make(count, attempts, report)


class _Maker:
    """Makes candidates of one variant, board and number of givens."""

    def __init__(
        self,
        key: Array,
        variant: str,
        board: Board,
        givens: int,
        count: int,
        devices: Sequence[jax.Device] | None,
    ) -> None:
        self._key, self._board, self._givens, self._devices = key, board, givens, devices
        self._variant = variant
        self._size = min(max(-(-int(_SPARE * count) // _FEWEST), 1) * _FEWEST, _MOST)
        self._grids = self._engine(HoleKernel("random"))
        self._form = ClueForm(board.cells)
        self._words = np.asarray(jax.random.bits(key, (2,), np.uint32))

    def make(self, count: int, attempts: int, report: Report) -> VariantPuzzles:
        """The first ``count`` candidates that are as wanted."""
        from jaxsudoku.generation.generator import GenerationError

        board, parts, found, tried = self._board, [], 0, 0
        report(0, count)
        while found < count and tried < attempts * max(count, self._size):
            parts.append(self._candidates(tried))
            tried += self._size
            found += len(parts[-1][0])
            report(min(found, count), count)
        puzzles = np.concatenate([np.zeros((0, board.cells), np.uint8), *(part[0] for part in parts)])[:count]
        solutions = np.concatenate([np.zeros((0, board.cells), np.uint8), *(part[1] for part in parts)])[:count]
        drawn = selected(joined([part[2] for part in parts], [len(part[0]) for part in parts]), np.arange(len(puzzles)))
        made = VariantPuzzles(puzzles, solutions, Clues.of_entries(len(puzzles), board.cells, drawn))
        if found < count:
            raise GenerationError(
                f"{found} of {count} puzzles found: {tried} candidates were tried ({self._variant}, at most "
                f"{self._givens} givens on {board})",
                made,
            )
        return made

    def _candidates(self, first: int) -> tuple[np.ndarray, np.ndarray, Drawn]:
        """The puzzles of the candidates numbered from ``first`` on that are as wanted, their solutions and clues."""
        board, size = self._board, self._size
        numbers = np.arange(first, first + size).astype(np.uint32)
        fields = np.broadcast_arrays(numbers, *Request(0, 0, 0, board.cells, 0, 0, 0)[1:])
        requests = np.stack(fields, axis=1).astype(np.uint32)
        solutions = self._grids.run(requests).solutions
        seeds = Seeds(np.asarray(mix(mix(numbers ^ self._words[0]) ^ self._words[1])))
        drawn, good = VARIANTS[self._variant].draw(solutions, board, seeds)
        good &= solutions.any(axis=1)
        clues = self._in_form(with_house_sums(Clues.of_entries(size, board.cells, drawn), board))
        if self._givens:
            ranks = np.argsort(seeds.uniform(board.cells), axis=1)
            rows = np.concatenate(
                [np.where(good[:, None], solutions, 0), ranks, clues.rows], axis=1, dtype=np.uint16, casting="unsafe"
            )
            puzzles = self._engine(_Removal(self._form, self._givens)).run(rows)
            good &= (puzzles > 0).sum(axis=1) <= self._givens
        else:
            puzzles = np.zeros_like(solutions)
            counter = CountKernel(ExactConfig(), form=self._form, grids=False)
            items = as_items(np.where(good[:, None], puzzles, 255).astype(np.uint8), clues=clues)
            good &= self._engine(counter).run(items).counts == 1
        chosen = np.flatnonzero(good)
        return puzzles[chosen], solutions[chosen], selected(drawn, chosen)

    def _engine(self, kernel: Kernel) -> Engine:
        return Engine(kernel, self._board, self._key, min(self._size, _BATCH), self._devices)

    def _in_form(self, clues: Clues) -> Clues:
        """Clues in the form of earlier ones, so that one program serves both. If they don't fit, the form grows."""
        room = {(group.kind, group.size): group for group in self._form.groups}
        wanted = {(group.kind, group.size): group for group in clues.form.groups}
        lacking = [key for key, group in wanted.items() if key not in room or group.count > room[key].count]
        if lacking or clues.form.overlap > self._form.overlap:
            # some more than these need, as the next ones may need more
            room |= {key: dataclasses.replace(wanted[key], count=wanted[key].count * 4 // 3 + 1) for key in lacking}
            groups = tuple(room[key] for key in sorted(room, key=lambda key: (repr(key[0]), key[1])))
            overlap = max(clues.form.overlap + 1, self._form.overlap)
            self._form = ClueForm(self._board.cells, groups, overlap)
        return Clues.of_entries(len(clues), self._board.cells, clues.entries(), self._form)


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
