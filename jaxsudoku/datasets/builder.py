"""Builds data sets of generated puzzles; a killed build loses at most the current shard.

A data set is a folder of parts, see ``runtime.part_folder``: a build that is killed and resumed gives the same files,
byte for byte. Known puzzles are excluded up to symmetry, by hashes of the canonical forms of their solutions.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.engine.inputs import as_puzzles
from jaxsudoku.generation import GenerateConfig, GenerationError, Generator, Puzzles, check_settings
from jaxsudoku.io.parquet import import_pyarrow
from jaxsudoku.rating import GRADES
from jaxsudoku.runtime.files import field
from jaxsudoku.runtime.part_folder import PartFolder, Record, record_of
from jaxsudoku.runtime.settings import settings_of, whole_number
from jaxsudoku.runtime.terminal.progress import Report, reports
from jaxsudoku.runtime.workers import Workers, run_in_order
from jaxsudoku.symmetry import solution_hashes

from .card import CARD, FORMATS, PLAN, Card, DatasetError, counts, options_of, versions
from .loader import Dataset, load
from .shards import encode

#: Maximum number of puzzles in a data set: half of a generator's sequence, so that there are spare puzzles.
_MOST = 1 << 31


def build(
    folder: str | os.PathLike[str],
    count: int,
    *,
    seed: int = 0,
    board: Board | None = None,
    format: str = "npz",
    shard_size: int = 65536,
    exclude: Any = None,
    resume: bool = False,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    made: Callable[[Puzzles], object] | None = None,
    workers: Workers | None = None,
    **options: object,
) -> Dataset:
    """Builds a data set of generated puzzles in a folder.

    It holds the first ``count`` puzzles of ``generate(seed, count, board, **options)``. Puzzles with excluded solutions
    are replaced by later ones of the same endless sequence, from a separate range for each shard. Equivalent solutions
    within a data set are not excluded: a million random grids among the 5e9 classes of 9x9 grids have about a hundred
    such pairs, and equivalent puzzles are much rarer.

    Args:
      folder: the folder; it must be new or empty unless ``resume`` is set.
      count: number of puzzles.
      seed: the seed.
      board: the board; the classic 9x9 one by default.
      format: "npz" or "parquet".
      shard_size: puzzles in each file but the last.
      exclude: puzzles or solved grids, in any form that ``solve`` takes, whose solutions must not occur, up to
        symmetry. Puzzles are solved first, unless this is a tuple of puzzles and their solutions, such as another data
        set's ``arrays()``. Only for the classic 9x9 board.
      resume: continue the build in the folder, if there is one. Finished shards are verified, and made again if they
        are damaged; this also repairs a complete data set.
      batch_size, devices: as in ``generate``; the puzzles do not depend on them.
      progress: called with the number of finished puzzles and the count after each shard; True shows a bar on the
        standard error.
      made: called with the ``Puzzles`` of each new shard, before ``progress``; not with those of shards that are kept.
      workers: the processes or actors of Ray that make the shards; None for this process. The data set does not depend
        on them. Processes are spawned, so a script needs ``if __name__ == "__main__":`` around its work.
      **options: fields of ``GenerateConfig``, except ``holes`` and ``given``.

    Returns:
      The ``Dataset``, as from ``load``.

    Raises:
      ValueError: invalid arguments.
      FileExistsError: the folder is not empty, and ``resume`` isn't set.
      BlockingIOError: another process is building in the folder.
      DatasetError: the folder to resume holds something else, and the message names the settings that differ; or a
        damaged shard differs after making it again.
      GenerationError: too many attempts at a puzzle failed, or too many puzzles were excluded; it holds the puzzles of
        the shard that were found. Earlier shards are kept.
      JobError: workers die repeatedly, or there is no cluster.
      ImportError: Parquet without pyarrow, or workers on Ray without Ray.
    """
    if workers is not None and devices is not None:
        raise ValueError("devices belong to this process; workers have their own, so leave out one of the two")
    board = board or Board.classic()
    seed = whole_number("seed", seed, None, None)
    count = whole_number("count", count, 1, _MOST)
    shard_size = whole_number("shard_size", shard_size, 1)
    check_format(format)
    config = settings_of(GenerateConfig, "generator", **options)
    if config.holes is not None:
        raise ValueError("puzzles of a data set have one solution; leave out holes, which may give several")
    hashes = excluded_hashes(exclude, board) if exclude is not None else np.zeros(0, np.uint64)
    plan = Card(
        seed=seed,
        board=board,
        options=options_of(config),
        excluded=fingerprint(hashes) if exclude is not None else None,
        count=count,
        shard_size=shard_size,
        format=format,
        made_with=versions(),
    )
    folder = Path(folder)

    task = _Making(seed, board, config, batch_size, hashes, count, shard_size)

    check_settings(board, config)  # before the folder is created
    make: Callable[[Sequence[tuple[int, int]]], Iterator[Puzzles]]
    if workers is None:
        make = functools.partial(map, task.begin(devices))
    else:
        make = functools.partial(run_in_order, workers, task)
    with reports(progress) as report:
        build_shards(folder, plan, resume, make, report, made)
    return load(folder)


def check_format(format: str) -> None:
    """Raises ValueError for an unknown format of shards, ImportError for Parquet without pyarrow."""
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}: choose one of {', '.join(FORMATS)}")
    if format == "parquet":
        import_pyarrow()


def build_shards(
    folder: Path,
    plan: Card,
    resume: bool,
    make: Callable[[Sequence[tuple[int, int]]], Iterator[Puzzles]],
    report: Report,
    made: Callable[[Puzzles], object] | None = None,
) -> None:
    """Makes missing or damaged shards, and writes the card.

    Args:
      folder: the folder.
      plan: the card without shards.
      resume: whether to continue an existing build.
      make: yields the puzzles of shards, in order; a shard is (number of its first puzzle, number of puzzles).
      report: called with the number of finished puzzles and the count after each shard.
      made: called with the puzzles of each new shard.

    Raises:
      FileExistsError, BlockingIOError, DatasetError: as ``build``.
    """
    known: dict[int, Record] = {}
    parts = PartFolder(str(folder))
    with parts.begun(plan, resume, functools.partial(_check, known)) as records:
        card = Card.read(folder / (CARD if (folder / CARD).exists() else PLAN))
        spans = [(number * card.shard_size, card.size(number)) for number in range(card.parts)]
        made_now = make([span for number, span in enumerate(spans) if number not in records])
        for number, (start, size) in enumerate(spans):
            if number not in records:
                puzzles = next(made_now)
                data = encode(puzzles, card.board, card.format)
                records[number] = record = record_of(card.part(number), data, counts(puzzles))
                if number in known and known[number].sha256 != record.sha256:
                    raise DatasetError(
                        f"{folder / record.file}: was damaged and made again, but does not match the card"
                    )
                parts.add(record, data)
                if made is not None:
                    made(puzzles)
            report(start + size, card.count)
        parts.complete(card, [records[number] for number in range(card.parts)])


def _check(known: dict[int, Record], number: int, record: Record) -> None:
    """Checks the details of a shard's record (empty if the card lists it), and adds it to the known records."""
    for name in record.details and ("clues", "grades"):
        counted = field(record.details, name, dict)
        for kind in (*(GRADES if name == "grades" else ()), *counted):
            field(counted, kind, int)
    known[number] = record


@dataclasses.dataclass(frozen=True, eq=False)
class _Making:
    """A ``workers.Task`` that makes the puzzles of shards. Attributes are as in ``build`` and ``_make``."""

    seed: int
    board: Board
    config: GenerateConfig
    batch_size: int | None
    hashes: np.ndarray
    count: int
    shard_size: int

    def begin(self, devices: Sequence[jax.Device] | None = None) -> Callable[[tuple[int, int]], Puzzles]:
        """The function that makes a shard, (number of its first puzzle, number of puzzles)."""
        generator = Generator(self.seed, self.board, self.config, self.batch_size, devices)

        def made(span: tuple[int, int]) -> Puzzles:
            start, size = span
            return _make(generator, start, size, self.count + start, self.shard_size, self.hashes)

        return made


def _make(generator: Generator, first: int, size: int, spare: int, spares: int, hashes: np.ndarray) -> Puzzles:
    """The puzzles of a shard: a range of the sequence, with excluded puzzles replaced by spare ones.

    Args:
      generator: makes the sequence.
      first, size: start and length of the range.
      spare, spares: start and length of the range of spare puzzles.
      hashes: uint64[k], of the excluded solutions.
    """
    made = generator.make(first, size)
    missing = np.flatnonzero(is_excluded(made.solutions, hashes))
    end = spare + spares
    while len(missing):
        if spare + len(missing) > end:
            kept = np.setdiff1d(np.arange(size), missing)
            raise GenerationError(
                f"{len(kept)} of {size} puzzles found: too many others have excluded solutions",
                Puzzles(*(part[kept] for part in made)),
            )
        others = generator.make(spare, len(missing))
        spare += len(missing)
        for whole, part in zip(made, others, strict=True):
            whole[missing] = part
        missing = missing[is_excluded(others.solutions, hashes)]
    return made


def excluded_hashes(exclude: Any, board: Board) -> np.ndarray:
    """The hashes of solutions to exclude from a data set, up to symmetry.

    Args:
      exclude: as in ``build``; a tuple begins with puzzles and solutions, arrays of integers [m, 81].
      board: the board of the data set.

    Returns:
      uint64[k], ascending, without duplicates.

    Raises:
      ValueError: not the classic 9x9 board, an array of another shape, or a puzzle without exactly one solution.
    """
    if board != Board.classic():
        raise ValueError(f"exclude compares canonical forms, so it is for the classic 9x9 board, not {board}")
    try:
        solved = isinstance(exclude, tuple) and not any(isinstance(part, str) for part in exclude)
        parts = exclude[:2] if solved else [exclude]
        return np.unique(solution_hashes(*(as_puzzles(part, board)[0] for part in parts)))
    except ValueError as error:
        raise ValueError(f"exclude: {error}") from error


def is_excluded(solutions: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Which solved grids uint8[n, 81] have one of the hashes; bool[n]."""
    return np.isin(solution_hashes(solutions), hashes) if len(hashes) else np.zeros(len(solutions), bool)


def fingerprint(hashes: np.ndarray) -> dict[str, Any]:
    """The number of excluded solutions and the checksum of their hashes, for a card."""
    return {"solutions": len(hashes), "sha256": hashlib.sha256(hashes.astype("<u8").tobytes()).hexdigest()}
