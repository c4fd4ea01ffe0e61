"""Loading data sets: the card at once, the puzzles a shard at a time."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.generation import Puzzles

from . import shards
from .card import CARD, PLAN, Card, DatasetError


class Dataset:
    """A data set in a folder; made by ``load``. Its length is the number of puzzles.

    Attributes:
      folder: the folder.
      card: how it was made and what it holds.
    """

    def __init__(self, folder: Path, card: Card) -> None:
        self.folder, self.card = folder, card

    @property
    def board(self) -> Board:
        """The board of the puzzles."""
        return self.card.board

    def __len__(self) -> int:
        return self.card.count

    def __repr__(self) -> str:
        return f"<Dataset {str(self.folder)!r}: {len(self)} puzzles on {self.board}>"

    def shard(self, number: int) -> Puzzles:
        """The puzzles of a shard, read from its file; raises ``DatasetError`` if that is damaged."""
        return shards.read(self.card.shards[number], self.folder, self.board, self.card.format)

    def arrays(self, numbers: list[int] | None = None) -> Puzzles:
        """The puzzles of these shards one after the other, by default of all; raises as ``shard`` does."""
        numbers = list(range(len(self.card.shards))) if numbers is None else numbers
        size = sum(self.card.shards[number].puzzles for number in numbers)
        cells = self.board.cells
        whole = Puzzles(
            np.empty((size, cells), np.uint8), np.empty((size, cells), np.uint8), np.empty(size, np.int32),
            np.empty(size, np.float32),
        )  # fmt: skip
        end = 0
        for number in numbers:
            start, end = end, end + self.card.shards[number].puzzles
            for array, part in zip(whole, self.shard(number), strict=True):
                array[start:end] = part
        return whole

    def verify(self) -> None:
        """Compares the checksum of every shard; raises ``DatasetError`` that names those that are damaged."""
        bad = [shard.file for shard in self.card.shards if not shards.is_whole(shard, self.folder)]
        if bad:
            raise DatasetError(
                f"{self.folder}: {', '.join(bad)} damaged; to build it again with resume=True mends the data set"
            )


def load(folder: str | os.PathLike[str], *, verify: bool = False) -> Dataset:
    """Opens a data set that ``build`` has made. Puzzles are read when they are asked for.

    Args:
      folder: the folder.
      verify: compare the checksums of all files now, rather than their sizes alone.

    Raises:
      FileNotFoundError: there is no such folder.
      DatasetError: it holds no data set, an unfinished one, or one that lacks files or has damaged ones.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    if not (folder / CARD).exists():
        if not (folder / PLAN).exists():
            raise DatasetError(f"{folder}: holds no data set: there is no {CARD}")
        plan = Card.read(folder / PLAN)
        done = sum(shard.puzzles for shard in plan.shards)
        raise DatasetError(
            f"{folder}: the data set is unfinished, with {done} of {plan.count} puzzles; build it with resume=True"
        )
    card = Card.read(folder / CARD)
    if card.format not in shards.FORMATS or sum(shard.puzzles for shard in card.shards) != card.count:
        raise DatasetError(f"{folder / CARD}: contradicts itself")
    for shard in card.shards:
        path = folder / shard.file
        size = path.stat().st_size if path.is_file() else None
        if size != shard.bytes:
            found = "is missing" if size is None else f"has {size} bytes"
            raise DatasetError(f"{path}: {found}; its size should be {shard.bytes}")
    dataset = Dataset(folder, card)
    if verify:
        dataset.verify()
    return dataset
