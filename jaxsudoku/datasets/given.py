"""Builds data sets of given puzzles: proved unique, solved, deduplicated, and split into parts.

Duplicates are equivalent puzzles: equal up to symmetry on the classic 9x9 board, equal on others. Puzzles with
equivalent solutions go to the same part, so no solution is in both training and test data.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.engine.inputs import as_marked
from jaxsudoku.exact.uniqueness import solve_and_count
from jaxsudoku.generation import Puzzles
from jaxsudoku.io import Errors
from jaxsudoku.rating import rate
from jaxsudoku.runtime.files import JsonError, parse_checked, with_checksum
from jaxsudoku.runtime.part_folder import PartFolder, Record, differences
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.terminal.progress import Report, reports
from jaxsudoku.symmetry import canonical, solution_hashes

from .builder import build_shards, check_format, excluded_hashes, fingerprint, is_excluded
from .card import Card, DatasetError, versions
from .loader import Dataset, load

#: Default parts of a data set of given puzzles, and their shares.
PARTS = {"train": 0.9, "eval": 0.05, "test": 0.05}

#: The file with the settings of the split, beside the folders of the parts.
SPLIT = "split.json"


class GivenError(ValueError):
    """Raised if no puzzle is left for a data set.

    Attributes:
      refused: the causes of refusal of puzzles, by their index.
    """

    def __init__(self, message: str, refused: dict[int, str]) -> None:
        super().__init__(message)
        self.refused = refused


class Given(NamedTuple):
    """The result of ``build_given``.

    Attributes:
      parts: the data sets by the names of the parts; without empty parts.
      refused: the causes of refusal of puzzles, by their index: no solution, several, or a wrong or incomplete one
        given.
      duplicates: number of puzzles that are equivalent to an earlier one.
      excluded: number of puzzles with excluded solutions.
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
    errors: Errors = "raise",
) -> Given:
    """Builds data sets of given puzzles: a folder for each part, such as ``folder/train``.

    Every puzzle is searched completely, so only puzzles with exactly one solution are kept. They are rated as by
    ``rate``. Of equivalent puzzles the first is kept. The part of a puzzle depends only on its solution and the seed;
    within a part the order is that of the input.

    Args:
      folder: the folder; it must be new or empty unless ``resume`` is set.
      puzzles: the puzzles, in any form that ``solve`` takes.
      solutions: their solutions, in the same form, to compare with those found; zeros for an unknown solution, None if
        all are unknown.
      seed: the seed of the split into parts.
      board: the board; None for the classic one of the puzzles' size.
      parts: the share of each part, by its name.
      format, shard_size, exclude: as in ``build``.
      resume: continue in the folder, if it is there, with the same puzzles.
      batch_size, devices: as in ``solve``.
      progress: called with the number of solved puzzles plus that of rated ones, and twice the count; True shows a bar
        on the standard error.
      errors: treatment of texts that are malformed or missing: "raise" an error that names the first, or "mark" them:
        such puzzles are refused, and such solutions count as unknown.

    Returns:
      The data sets, and the puzzles left out.

    Raises:
      ValueError: invalid arguments.
      GivenError: no puzzle is left; it has the causes of refusal.
      DatasetError: the folder to resume holds something else, or data sets of other puzzles, parts or settings.
      FileExistsError, BlockingIOError, ImportError: as in ``build``.
    """
    marked = as_marked(puzzles, board, errors)
    board = marked.board
    grids = marked.grids.reshape(-1, board.cells)
    told = None if solutions is None else as_marked(solutions, board, errors).grids.reshape(-1, board.cells)
    if told is not None and len(told) != len(grids):
        raise ValueError(f"{len(told):,} solutions of {len(grids):,} puzzles")
    seed, shard_size = whole_number("seed", seed, None, None), whole_number("shard_size", shard_size, 1)
    check_format(format)
    shares = _checked_shares(parts)
    root = Path(folder)
    PartFolder(str(root)).check_new(_Split.noun, resume)
    known = excluded_hashes(exclude, board) if exclude is not None else np.zeros(0, np.uint64)
    engine: dict[str, Any] = {"batch_size": batch_size, "devices": devices}
    with reports(progress) as report:
        size = len(grids)
        searched = marked.searchable.reshape(-1, board.cells)
        found, counts = solve_and_count(searched, board, report=lambda done, _: report(done, 2 * size), **engine)
        refused = dict(sorted((_refused(found, counts, told) | (marked.causes or {})).items()))
        kept = np.setdiff1d(np.arange(size), list(refused))
        unwanted = is_excluded(found[kept], known)
        first = _first_of_each(grids[kept], found[kept], board)
        kept = kept[first & ~unwanted]
        if not len(kept):
            raise GivenError("no puzzle is left: all are refused, duplicates or excluded", refused)
        ratings = rate(
            grids[kept], board, progress=lambda done, count: report(size + done * size // count, 2 * size), **engine
        )
    clues = (grids[kept] > 0).sum(axis=1, dtype=np.int32)
    whole = Puzzles(grids[kept], found[kept], clues, ratings)
    part_of = np.searchsorted(np.cumsum(shares)[:-1], _uniform(found[kept], board, seed), side="right")
    common: dict[str, Any] = {
        "seed": seed,
        "board": board,
        "excluded": fingerprint(known) if exclude is not None else None,
        "shard_size": shard_size,
        "format": format,
        "made_with": versions(),
    }
    made: dict[str, Dataset] = {}
    shown = [[name, share] for name, share in zip(parts, shares.tolist(), strict=True)]
    split = _Split({"given": _checksum(grids), "seed": seed, "parts": shown})
    with PartFolder(str(root)).begun(split, resume):
        for number, name in enumerate(parts):
            rows = np.flatnonzero(part_of == number)
            if len(rows):
                part = Puzzles(*(array[rows] for array in whole))
                options = {"given": _checksum(part.puzzles), "part": name, "share": float(shares[number])}
                made[name] = _build_part(root / name, part, Card(options=options, count=len(rows), **common), resume)
    return Given(made, refused, int((~first & ~unwanted).sum()), int(unwanted.sum()))


def _build_part(folder: Path, part: Puzzles, plan: Card, resume: bool) -> Dataset:
    """The data set of a part."""

    def cut(spans: Sequence[tuple[int, int]]) -> Iterator[Puzzles]:
        for start, size in spans:
            yield Puzzles(*(array[start : start + size] for array in part))

    build_shards(folder, plan, resume, cut, lambda done, count: None)
    return load(folder)


@dataclasses.dataclass(frozen=True)
class _Split:
    """The split of given puzzles: the ``Manifest`` of the folder that contains the folders of the parts.

    Attributes:
      settings: the checksum of the puzzles, the seed, and the parts with their shares.
    """

    settings: dict[str, Any]

    noun: ClassVar = "split of given puzzles"
    unfinished: ClassVar = SPLIT
    finished: ClassVar = SPLIT
    error: ClassVar = DatasetError
    parts: ClassVar = 0

    def part(self, number: int) -> str:
        """Not used, as a split has no files."""
        raise IndexError(number)

    def encode(self, records: Sequence[Record] | None = None) -> bytes:
        """The settings as JSON."""
        del records
        return with_checksum(self.settings)

    def compare(self, data: bytes, name: str) -> tuple[list[str], list[Record]]:
        """The differences of another split."""
        try:
            fields = parse_checked(data)
        except JsonError as error:
            raise DatasetError(f"{name}: not the settings of a split ({error})") from error
        return differences(fields, self.settings), []


def _checked_shares(parts: Mapping[str, float]) -> np.ndarray:
    """The shares of the parts, scaled to a sum of 1."""
    shares = np.array([float(share) for share in parts.values()])
    if not len(shares) or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum():
        raise ValueError(f"shares of parts must not be negative, nor all 0: {dict(parts)}")
    for name in parts:
        if not name.isidentifier():
            raise ValueError(f"part {name!r}: names have letters, digits and underscores, and begin with a letter")
    return shares / shares.sum()


def _refused(found: np.ndarray, counts: np.ndarray, told: np.ndarray | None) -> dict[int, str]:
    """The causes of refusal of puzzles, by index; ``told`` are the given solutions."""
    causes = {int(index): "it has no solution" for index in np.flatnonzero(counts == 0)}
    causes |= {int(index): "it has several solutions" for index in np.flatnonzero(counts > 1)}
    if told is not None:
        compared = told.any(axis=1) & (counts == 1)
        blank = compared & (told == 0).any(axis=1)
        causes |= {int(index): "its given solution is incomplete" for index in np.flatnonzero(blank)}
        wrong = compared & ~blank & (told != found).any(axis=1)
        causes |= {int(index): "its given solution is wrong" for index in np.flatnonzero(wrong)}
    return causes


def _first_of_each(puzzles: np.ndarray, solutions: np.ndarray, board: Board) -> np.ndarray:
    """The puzzles that are not equivalent to an earlier one, bool[n]."""
    forms = canonical(puzzles, solutions) if board == Board.classic() else puzzles
    first = np.zeros(len(puzzles), bool)
    first[np.unique(forms, axis=0, return_index=True)[1]] = True
    return first


def _uniform(solutions: np.ndarray, board: Board, seed: int) -> np.ndarray:
    """Pseudorandom numbers from 0 to 1, float64[n], from the seed and solutions; equal for equivalent solutions."""
    classes = solution_hashes(solutions).astype("<u8") if board == Board.classic() else solutions
    salt = hashlib.sha256(str(seed).encode()).digest()[: hashlib.blake2b.SALT_SIZE]
    digests = (hashlib.blake2b(one.tobytes(), digest_size=8, salt=salt).digest() for one in classes)
    return np.array([int.from_bytes(digest, "little") for digest in digests], float) / math.ldexp(1.0, 64)


def _checksum(puzzles: np.ndarray) -> str:
    return hashlib.sha256(puzzles.tobytes()).hexdigest()
