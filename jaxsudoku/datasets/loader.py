"""Loads data sets: the card immediately, the puzzles shard by shard on use."""

from __future__ import annotations

import dataclasses
import errno
import os
from pathlib import Path

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.generation import Puzzles
from jaxsudoku.rating import GRADES
from jaxsudoku.runtime.files import is_intact
from jaxsudoku.runtime.part_folder import record_name

from . import shards
from .card import CARD, PLAN, Card, DatasetError


class Dataset:
    """A data set in a folder, opened by ``load``. Its length is the number of puzzles.

    Attributes:
      folder: the folder.
      card: its description.
    """

    def __init__(self, folder: Path, card: Card, verified: bool = True) -> None:
        self.folder, self.card, self._verified = folder, card, verified

    @property
    def board(self) -> Board:
        """The board of the puzzles."""
        return self.card.board

    def __len__(self) -> int:
        return self.card.count

    def __repr__(self) -> str:
        return f"<Dataset {str(self.folder)!r}: {len(self)} puzzles on {self.board}>"

    def shard(self, number: int) -> Puzzles:
        """The puzzles of a shard, read from its file.

        Raises:
          DatasetError: the file is missing or damaged. Unless the data set was loaded with ``verify=False``, its
            checksum and contents are checked: digits, givens in solutions, numbers of clues, ratings.
        """
        shard = self.card.shards[number]
        puzzles = shards.read(shard, self.folder, self.board, self.card.format, self._verified)
        if self._verified:
            shards.check(puzzles, self.board, self.folder / shard.file)
        return puzzles

    def arrays(self, numbers: list[int] | None = None) -> Puzzles:
        """The concatenated puzzles of these shards, by default of all.

        Raises:
          DatasetError: as ``shard`` does; with all shards, also if the card's counts by clues and grade are wrong.
        """
        every = numbers is None
        numbers = list(range(len(self.card.shards))) if numbers is None else numbers
        size = sum(self.card.shards[number].puzzles for number in numbers)
        cells = self.board.cells
        whole = Puzzles(
            np.empty((size, cells), np.uint8),
            np.empty((size, cells), np.uint8),
            np.empty(size, np.int32),
            np.empty(size, np.float32),
        )
        end = 0
        for number in numbers:
            start, end = end, end + self.card.shards[number].puzzles
            for array, part in zip(whole, self.shard(number), strict=True):
                array[start:end] = part
        if every and self._verified:
            self._check_totals(self._uncounted().counting(whole))
        return whole

    def verify(self) -> None:
        """Checks the checksums and contents of all shards, and the card's counts by clues and grade.

        Raises:
          DatasetError: a check failed; the message names the damaged shards.
        """
        bad = []
        for shard in self.card.shards:
            with open(self.folder / shard.file, "rb") as file:
                if not is_intact(file, shard.bytes, shard.sha256):
                    bad.append(shard.file)
        if bad:
            raise DatasetError(
                f"{self.folder}: {', '.join(bad)} damaged; building it again with resume=True repairs the data set"
            )
        found = self._uncounted()
        for number, shard in enumerate(self.card.shards):
            puzzles = self.shard(number)
            shards.check(puzzles, self.board, self.folder / shard.file)
            found = found.counting(puzzles)
        self._check_totals(found)

    def _uncounted(self) -> Card:
        """The card without its counts by clues and grade."""
        return dataclasses.replace(self.card, clues={}, grades=dict.fromkeys(GRADES, 0))

    def _check_totals(self, found: Card) -> None:
        self.card.check_totals(self.folder / CARD, found)


def load(folder: str | os.PathLike[str], *, verify: bool | None = None) -> Dataset:
    """Opens a data set made by ``build``. Puzzles are read on use.

    Args:
      folder: the folder.
      verify: which shards are verified (checksums, digits, givens in solutions, numbers of clues, ratings). By default
        each one when it is read. True: also all of them now, and the card's counts by clues and grade. False: none,
        except for the files' sizes.

    Raises:
      FileNotFoundError: there is no such folder.
      DatasetError: the folder has no data set or an unfinished one, files are missing or damaged, or the card is
        altered or inconsistent; the message names the file.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    if not (folder / CARD).exists():
        if not (folder / PLAN).exists():
            raise DatasetError(f"{folder}: holds no data set: there is no {CARD}")
        plan = Card.read(folder / PLAN)
        finished = (number for number in range(plan.parts) if (folder / record_name(plan.part(number))).exists())
        done = sum(map(plan.size, finished))
        raise DatasetError(
            f"{folder}: the data set is unfinished, with {done} of {plan.count} puzzles; build it with resume=True"
        )
    card = Card.read(folder / CARD)
    if not card.shards:
        raise DatasetError(f"{folder / CARD}: inconsistent: it lists no shards")
    for shard in card.shards:
        path = folder / shard.file
        size = path.stat().st_size if path.is_file() else None
        if size != shard.bytes:
            found = "is missing" if size is None else f"has {size} bytes"
            raise DatasetError(f"{path}: {found}; its size should be {shard.bytes}")
    dataset = Dataset(folder, card, verify is not False)
    if verify:
        dataset.verify()
    return dataset
