"""Builds data sets of puzzles that are given: proved unique, solved, without duplicates, and split into parts.

Duplicates are puzzles that are equivalent: equal up to symmetry on the classic 9x9 board, equal on others. Puzzles with
equivalent solutions go to the same part, so no solution that is tested was trained on.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.config import whole_number
from jaxsudoku.generation import Puzzles
from jaxsudoku.inputs import as_puzzles
from jaxsudoku.rating import CUT_OFF, rate
from jaxsudoku.symmetry import canonical, solution_hashes
from jaxsudoku.terminal.progress import Report, reports
from jaxsudoku.uniqueness import solve_and_count

from .builder import begun, build_shards, check_format, excluded_hashes, fingerprint, is_excluded, locked
from .card import Card, versions
from .loader import Dataset, load

#: The parts of a data set of given puzzles, and their shares.
PARTS = {"train": 0.9, "eval": 0.05, "test": 0.05}


class Given(NamedTuple):
    """The result of ``build_given``.

    Attributes:
      parts: the data sets by the names of the parts; without a part that got no puzzle.
      refused: the causes why puzzles were refused, by their index: no solution, several, or another than was given.
      duplicates: number of puzzles that are equivalent to an earlier one.
      excluded: number of puzzles whose solutions are excluded.
    """

    parts: dict[str, Dataset]
    refused: dict[int, str]
    duplicates: int
    excluded: int


def build_given(
    folder: str | os.PathLike[str],
    puzzles: Any,
    solutions: Any = None,
    *,
    seed: int = 0,
    board: Board | None = None,
    parts: Mapping[str, float] = PARTS,
    format: str = "npz",
    shard_size: int = 65536,
    exclude: Any = None,
    resume: bool = False,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
) -> Given:
    """Builds data sets of given puzzles: a folder for each part, such as ``folder/train``.

    Every puzzle is searched whole, so only puzzles with exactly one solution are kept. They are rated as by ``rate``.
    Of equivalent puzzles the first is kept. The part of a puzzle follows from its solution and the seed, whatever the
    other puzzles are; within a part the order is that of the input.

    Args:
      folder: the folder; it must not exist unless ``resume`` is set.
      puzzles: the puzzles, in any form that ``solve`` takes.
      solutions: their solutions, in the same form, to be compared with those that are found; zeros, or None for all
        puzzles, where there is nothing to compare.
      seed: the seed by which puzzles are divided among the parts.
      board: the board; None for the classic one of the puzzles' size.
      parts: the share of each part, by its name.
      format, shard_size, exclude: as in ``build``.
      resume: continue in the folder, if it is there, with the same puzzles.
      batch_size, devices: as in ``solve``.
      progress: called with the number of finished puzzles and the count after each shard; True shows a bar on the
        standard error.

    Returns:
      The data sets, and what was left out.

    Raises:
      ValueError: invalid arguments; no puzzle is left.
      FileExistsError, BlockingIOError, DatasetError, ImportError: as in ``build``.
    """
    grids, board = as_puzzles(puzzles, board)
    grids = grids.reshape(-1, board.cells)
    seed, shard_size = whole_number("seed", seed, None, None), whole_number("shard_size", shard_size, 1)
    check_format(format)
    shares = _checked_shares(parts)
    known = excluded_hashes(exclude, board) if exclude is not None else np.zeros(0, np.uint64)
    found, counts = solve_and_count(grids, board, batch_size=batch_size, devices=devices)
    refused = _refused(board, found, counts, solutions)
    kept = np.setdiff1d(np.arange(len(grids)), list(refused))
    unwanted = is_excluded(found[kept], known)
    first = _first_of_each(grids[kept], found[kept], board)
    kept = kept[first & ~unwanted]
    if not len(kept):
        raise ValueError("no puzzle is left: none has exactly one solution, or all are excluded")
    ratings = rate(grids[kept], board, batch_size=batch_size, devices=devices)
    clues = (grids[kept] > 0).sum(axis=1, dtype=np.int32)
    whole = Puzzles(grids[kept], found[kept], clues, np.minimum(ratings, np.float32(CUT_OFF)))
    part_of = np.searchsorted(np.cumsum(shares)[:-1], _uniform(found[kept], board, seed), side="right")
    made: dict[str, Dataset] = {}
    root, done = Path(folder), 0
    with locked(root, resume), reports(progress) as report:
        for number, name in enumerate(parts):
            rows = np.flatnonzero(part_of == number)
            if not len(rows):
                continue
            part = Puzzles(*(array[rows] for array in whole))
            plan = Card(
                seed=seed,
                board=board,
                wishes={"given": _checksum(part.puzzles), "part": name, "share": float(shares[number])},
                excluded=fingerprint(known) if exclude is not None else None,
                count=len(rows),
                shard_size=shard_size,
                format=format,
                made_with=versions(),
            )

            def cut(start: int, size: int, part: Puzzles = part) -> Puzzles:
                return Puzzles(*(array[start : start + size] for array in part))

            def told(finished: int, _: int, before: int = done) -> None:
                report(before + finished, len(kept))

            with locked(root / name, resume):
                build_shards(root / name, begun(root / name, plan), cut, told)
            made[name] = load(root / name)
            done += len(rows)
    return Given(made, refused, int((~first & ~unwanted).sum()), int(unwanted.sum()))


def _checked_shares(parts: Mapping[str, float]) -> np.ndarray:
    """The shares of the parts, scaled to a sum of 1."""
    shares = np.array([float(share) for share in parts.values()])
    if not len(shares) or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum():
        raise ValueError(f"parts need shares that are not negative, and not all 0, not {dict(parts)}")
    for name in parts:
        if not name.isidentifier():
            raise ValueError(f"part {name!r}: a name of letters, digits and underscores was expected, for a folder")
    return shares / shares.sum()


def _refused(board: Board, found: np.ndarray, counts: np.ndarray, solutions: Any) -> dict[int, str]:
    """The causes why puzzles are refused, by index."""
    causes = {int(index): "it has no solution" for index in np.flatnonzero(counts == 0)}
    causes |= {int(index): "it has several solutions" for index in np.flatnonzero(counts > 1)}
    if solutions is not None:
        told = as_puzzles(solutions, board)[0].reshape(-1, board.cells)
        if len(told) != len(found):
            raise ValueError(f"{len(told):,} solutions of {len(found):,} puzzles")
        others = (told != found).any(axis=1) & told.any(axis=1) & (counts == 1)
        causes |= {int(index): "its solution is another one" for index in np.flatnonzero(others)}
    return dict(sorted(causes.items()))


def _first_of_each(puzzles: np.ndarray, solutions: np.ndarray, board: Board) -> np.ndarray:
    """Which puzzles are equivalent to no earlier one, bool[n]."""
    forms = canonical(puzzles, solutions) if board == Board.classic() else puzzles
    first = np.zeros(len(puzzles), bool)
    first[np.unique(forms, axis=0, return_index=True)[1]] = True
    return first


def _uniform(solutions: np.ndarray, board: Board, seed: int) -> np.ndarray:
    """Numbers from 0 to 1, float64[n], equal for equivalent solutions, that the seed decides."""
    classes = solution_hashes(solutions).astype("<u8") if board == Board.classic() else solutions
    salt = hashlib.sha256(str(seed).encode()).digest()[: hashlib.blake2b.SALT_SIZE]
    digests = (hashlib.blake2b(one.tobytes(), digest_size=8, salt=salt).digest() for one in classes)
    return np.array([int.from_bytes(digest, "little") for digest in digests], float) / math.ldexp(1.0, 64)


def _checksum(puzzles: np.ndarray) -> str:
    return hashlib.sha256(puzzles.tobytes()).hexdigest()
