"""Builds data sets of puzzles that are given: proved unique, solved, without duplicates, and split into parts.

Duplicates are puzzles that are equivalent: equal up to symmetry on the classic 9x9 board, equal on others. Puzzles with
equivalent solutions go to the same part, so no solution that is tested was trained on.
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
from jaxsudoku.rating import CUT_OFF, rate
from jaxsudoku.runtime.files import JsonError, parse_checked, with_checksum
from jaxsudoku.runtime.part_folder import PartFolder, Record, differences
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.terminal.progress import Report, reports
from jaxsudoku.symmetry import canonical, solution_hashes

from .builder import build_shards, check_format, excluded_hashes, fingerprint, is_excluded
from .card import Card, DatasetError, versions
from .loader import Dataset, load

#: The parts of a data set of given puzzles, and their shares.
PARTS = {"train": 0.9, "eval": 0.05, "test": 0.05}

#: The file that tells how puzzles are divided, beside the folders of the parts.
SPLIT = "split.json"


class GivenError(ValueError):
    """No puzzle is left to build a data set of.

    Attributes:
      refused: the causes why puzzles were refused, by their index.
    """

    def __init__(self, message: str, refused: dict[int, str]) -> None:
        super().__init__(message)
        self.refused = refused


class Given(NamedTuple):
    """The result of ``build_given``.

    Attributes:
      parts: the data sets by the names of the parts; without a part that got no puzzle.
      refused: the causes why puzzles were refused, by their index: no solution, several,
        or another or only a part of it given.
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
    errors: Errors = "raise",
) -> Given:
    """Builds data sets of given puzzles: a folder for each part, such as ``folder/train``.

    Every puzzle is searched whole, so only puzzles with exactly one solution are kept. They are rated as by ``rate``.
    Of equivalent puzzles the first is kept. The part of a puzzle follows from its solution and the seed, whatever the
    other puzzles are; within a part the order is that of the input.

    Args:
      folder: the folder; it must be new or empty unless ``resume`` is set.
      puzzles: the puzzles, in any form that ``solve`` takes.
      solutions: their solutions, in the same form, to be compared with those that are found; zeros, or None for all
        puzzles, where there is nothing to compare.
      seed: the seed by which puzzles are divided among the parts.
      board: the board; None for the classic one of the puzzles' size.
      parts: the share of each part, by its name.
      format, shard_size, exclude: as in ``build``.
      resume: continue in the folder, if it is there, with the same puzzles.
      batch_size, devices: as in ``solve``.
      progress: called with the number of puzzles that are solved, and of those that are rated, and twice the count;
        True shows a bar on the standard error.
      errors: what is done with texts that are malformed or missing: "raise" an error that names the first, or "mark"
        them: such puzzles are refused, and such solutions are unknown.

    Returns:
      The data sets, and what was left out.

    Raises:
      ValueError: invalid arguments.
      GivenError: no puzzle is left; it tells why puzzles were refused.
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
    whole = Puzzles(grids[kept], found[kept], clues, np.minimum(ratings, np.float32(CUT_OFF)))
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
    """How given puzzles are divided: the ``Manifest`` of the folder that holds the folders of the parts.

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
        """There are no files."""
        raise IndexError(number)

    def encode(self, records: Sequence[Record] | None = None) -> bytes:
        """The settings as JSON."""
        del records
        return with_checksum(self.settings)

    def compare(self, data: bytes, name: str) -> tuple[list[str], list[Record]]:
        """What differs in another split."""
        try:
            fields = parse_checked(data)
        except JsonError as error:
            raise DatasetError(f"{name}: does not tell how puzzles are divided ({error})") from error
        return differences(fields, self.settings), []


def _checked_shares(parts: Mapping[str, float]) -> np.ndarray:
    """The shares of the parts, scaled to a sum of 1."""
    shares = np.array([float(share) for share in parts.values()])
    if not len(shares) or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum():
        raise ValueError(f"parts need shares that are not negative, and not all 0, not {dict(parts)}")
    for name in parts:
        if not name.isidentifier():
            raise ValueError(f"part {name!r}: a name of letters, digits and underscores, a letter first, was expected")
    return shares / shares.sum()


def _refused(found: np.ndarray, counts: np.ndarray, told: np.ndarray | None) -> dict[int, str]:
    """The causes why puzzles are refused, by index; ``told`` are the solutions that were given."""
    causes = {int(index): "it has no solution" for index in np.flatnonzero(counts == 0)}
    causes |= {int(index): "it has several solutions" for index in np.flatnonzero(counts > 1)}
    if told is not None:
        compared = told.any(axis=1) & (counts == 1)
        blank = compared & (told == 0).any(axis=1)
        causes |= {int(index): "its solution is incomplete" for index in np.flatnonzero(blank)}
        wrong = compared & ~blank & (told != found).any(axis=1)
        causes |= {int(index): "its solution is another one" for index in np.flatnonzero(wrong)}
    return causes


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
