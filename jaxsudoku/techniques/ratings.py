"""Ratings by technique: the hardest technique that a puzzle needs if the simplest applicable one is always used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.kernels import as_items
from jaxsudoku.engine.placed import PlacedPuzzles
from jaxsudoku.engine.tables import puzzle_columns, to_table
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.exact.uniqueness import CountKernel
from jaxsudoku.runtime.terminal.progress import Report, reports

from .registry import TECHNIQUES, program_for
from .solving import TechniqueKernel


class TechniqueRatings(NamedTuple):
    """Ratings of puzzles by technique, arrays of numpy or, with results on devices, of JAX.

    Attributes:
      technique: int8[*b], the number in ``techniques.TECHNIQUES`` of the hardest technique needed; -1 for puzzles that
        are complete, do not have exactly one solution, or are not solved by techniques.
      score: float32[*b], its score; 0 for a complete grid, NaN for a puzzle without exactly one solution, infinity
        where the techniques do not solve the puzzle.
    """

    technique: np.ndarray
    score: np.ndarray

    @property
    def names(self) -> np.ndarray:
        """The names of the techniques, object[*b]; "" for -1."""
        known = np.array([*(technique.name for technique in TECHNIQUES), ""], object)
        names = np.empty(np.shape(self.technique), object)
        names[...] = known[self.technique]  # a str where the shape is ()
        return names

    def to_table(self, puzzles: Any, board: Board | None = None) -> Any:
        """The ratings as a ``pyarrow.Table``, with the columns of ``jaxsudoku rate --by technique``.

        The columns are ``puzzle``, a text, ``clues``, ``score`` and ``technique``, "" for none.

        Args:
          puzzles: the rated puzzles, in any form that ``solve`` takes. A malformed one is written as its text, with
            null as its number of clues.
          board: the board; None for the classic one of the puzzles' size.

        Raises:
          ImportError: pyarrow is missing (extra ``parquet``).
          ValueError: another number of puzzles than of ratings.
        """
        texts, clues = puzzle_columns(puzzles, board, np.isnan(np.reshape(self.score, -1)))
        names = self.names.reshape(-1).tolist()
        return to_table({"puzzle": texts, "clues": clues, "score": np.reshape(self.score, -1), "technique": names})


def ratings_of(hardest: Any, solved: Any, proper: Any = True) -> TechniqueRatings:
    """The ratings of puzzles, as arrays of numpy or JAX like the arguments.

    Args:
      hardest: int8[N], the number of the hardest technique used, -1 for none.
      solved: bool[N], whether techniques solve the puzzle.
      proper: bool[N], whether it has exactly one solution.
    """
    lib: Any = jnp if isinstance(hardest, jax.Array) else np
    scores = lib.array([*(technique.score for technique in TECHNIQUES), 0], np.float32)[hardest]
    scores = lib.where(proper, lib.where(solved, scores, np.float32(np.inf)), np.float32(np.nan))
    return TechniqueRatings(lib.where(solved, hardest, np.int8(-1)), scores)


def technique_engine(
    board: Board,
    up_to: str | None = None,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    form: ClueForm | None = None,
) -> Engine:
    """The engine that applies techniques up to the one named, None for all; errors as of ``program_for``."""
    names, last = program_for(up_to)
    return Engine(TechniqueKernel(names, form=form), board, 0, batch_size, devices, (np.int32(last),))


def rate_by_technique(
    puzzles: np.ndarray,
    board: Board,
    up_to: str | None = None,
    clues: Clues | None = None,
    *,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
) -> TechniqueRatings:
    """Rates puzzles by technique, after proving for each that it has exactly one solution.

    Args:
      puzzles: uint8[N, cells], 0 = empty.
      board: the board.
      up_to: the name of the hardest technique to try; None for all.
      clues: the constraints of each puzzle, as ``kernels.as_clues`` returns them; None for those of the board alone.
      batch_size, devices: as in ``solve``.
      progress: as in ``solve``; puzzles count as done only after all proofs, which take a small part of the time.

    Raises:
      ValueError: an unknown technique.
    """
    form = None if clues is None else clues.form
    engine = technique_engine(board, up_to, batch_size, devices, form)
    proofs = Engine(CountKernel(ExactConfig(), form=form, grids=False), board, 0, batch_size, devices)
    with reports(progress) as report:
        report(0, len(puzzles))
        proper = proofs.run(as_items(puzzles, clues=clues), lambda done, count: report(0, count)).counts == 1
        # puzzles without exactly one solution are replaced by invalid ones, which take no work
        hardest, solved = engine.run(as_items(np.where(proper[:, None], puzzles, np.uint8(255)), clues=clues), report)
    return ratings_of(hardest, solved, proper)


def rate_placed(
    puzzles: PlacedPuzzles, up_to: str | None = None, progress: Report | bool | None = None
) -> TechniqueRatings:
    """``rate_by_technique`` for puzzles on devices; the ratings are on the same devices."""
    proper = [found.counts == 1 for found in puzzles.run(CountKernel(ExactConfig(), grids=False))]
    pairs = zip(proper[1:], puzzles.shares, strict=True)
    shares = [jnp.where(is_proper[:, None], share, jnp.uint8(255)) for is_proper, share in pairs]
    names, last = program_for(up_to)
    results = puzzles.run(TechniqueKernel(names), 0, (np.int32(last),), progress, shares)
    found = zip(results, proper, strict=True)
    rated: TechniqueRatings = puzzles.assemble([ratings_of(hardest, solved, one) for (hardest, solved), one in found])
    return rated
