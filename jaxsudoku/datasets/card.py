"""The card of a data set: its settings, its files, and its numbers of puzzles by clues and grade.

While a data set is being built, its card is called ``plan.json`` and lists no shards.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from jaxsudoku._version import __version__
from jaxsudoku.core.board import Board
from jaxsudoku.generation import GenerateConfig, Puzzles
from jaxsudoku.rating import GRADES, grade
from jaxsudoku.runtime.files import MOST_BYTES, check_checksum, parse_json, with_checksum
from jaxsudoku.runtime.part_folder import Record, differences

#: File names of the card, and of the plan that replaces it until the data set is complete.
CARD, PLAN = "card.json", "plan.json"
#: Version of cards: from 2 on they have a checksum, from 3 on "wishes" are called "options". All are read.
VERSION = 3
#: Formats of shards.
FORMATS = ("npz", "parquet")


class DatasetError(ValueError):
    """Raised if a folder has no complete data set, or one with other settings; the message names file and cause."""


@dataclasses.dataclass(frozen=True)
class Shard:
    """A file of a data set.

    Attributes:
      file: its name in the folder.
      puzzles: number of puzzles in it.
      bytes: its size.
      sha256: its checksum, in hexadecimal.
    """

    file: str
    puzzles: int
    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Card:
    """The description of a data set, written as JSON: the ``Manifest`` of its folder.

    It does not depend on when or where the data set was made.

    Attributes:
      seed: the seed.
      board: the board.
      options: the origin of the puzzles: the fields of ``GenerateConfig``, as JSON values; for given puzzles ``given``,
        the checksum of the part's puzzles, ``part`` and ``share``.
      excluded: number of excluded solutions, and the sha256 of their hashes; None if none are excluded.
      count: number of puzzles.
      shard_size: puzzles in every shard but the last.
      format: "npz" or "parquet".
      made_with: versions of the packages that made it, by name.
      shards: the finished files.
      clues: number of puzzles in them by number of clues.
      grades: number of puzzles in them by grade.
    """

    seed: int
    board: Board
    options: Mapping[str, Any]
    excluded: Mapping[str, Any] | None
    count: int
    shard_size: int
    format: str
    made_with: Mapping[str, str]
    shards: tuple[Shard, ...] = ()
    clues: Mapping[int, int] = dataclasses.field(default_factory=dict)
    grades: Mapping[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(GRADES, 0))

    noun: ClassVar = "data set"
    unfinished: ClassVar = PLAN
    finished: ClassVar = CARD
    error: ClassVar = DatasetError

    @property
    def parts(self) -> int:
        """The number of shards."""
        return -(-self.count // self.shard_size)

    def part(self, number: int) -> str:
        """The file name of a shard, by its number."""
        return f"shard-{number:05}.{self.format}"

    def size(self, number: int) -> int:
        """The number of puzzles of a shard."""
        return min(self.shard_size, self.count - number * self.shard_size)

    def counting(self, puzzles: Puzzles) -> Card:
        """The card with more puzzles in its counts by clues and grade."""
        return self._counting(counts(puzzles))

    def _counting(self, more: Mapping[str, Any]) -> Card:
        clues = collections.Counter(self.clues)
        clues.update({int(number): count for number, count in more["clues"].items()})
        grades = {name: self.grades[name] + more["grades"][name] for name in GRADES}
        return dataclasses.replace(self, clues=dict(sorted(clues.items())), grades=grades)

    def completed(self, records: Sequence[Record]) -> Card:
        """The card completed with its shards; their records have ``counts`` as details."""
        card = self
        for record in records:
            card = card._counting(record.details)
        shards = (
            Shard(record.file, self.size(number), record.bytes, record.sha256) for number, record in enumerate(records)
        )
        return dataclasses.replace(card, shards=tuple(shards))

    def encode(self, records: Sequence[Record] | None = None) -> bytes:
        """The card as JSON, including the records of its shards unless it lists them already."""
        card = self if records is None or self.shards else self.completed(records)
        results = {
            "shards": list(map(dataclasses.asdict, card.shards)),
            "clues": {str(clues): count for clues, count in card.clues.items()},
            "grades": dict(card.grades),
        }
        return with_checksum({"version": VERSION, **self._settings(), **results})

    def compare(self, data: bytes, name: str) -> tuple[list[str], list[Record]]:
        """The differences of another card's settings, and the records of its shards; see ``Manifest.compare``."""
        other = Card.parse(data, name)
        records = [Record(shard.file, shard.bytes, shard.sha256, {}) for shard in other.shards]
        return differences(other._settings(), self._settings()), records

    @classmethod
    def read(cls, path: Path) -> Card:
        """Reads a card; raises OSError if the file can't be read, and as ``parse`` does."""
        with open(path, "rb") as file:
            return cls.parse(file.read(MOST_BYTES + 1), str(path))

    @classmethod
    def parse(cls, data: bytes, path: str) -> Card:
        """Parses a card from the contents of a file.

        Raises:
          DatasetError: the data are not a card, of an unknown version, altered, or inconsistent.
        """
        try:
            fields = parse_json(data)
            version = fields["version"]
            if type(version) is not int or not 1 <= version <= VERSION:
                raise DatasetError(f"{path}: a card of version {version}; this version of jaxsudoku reads {VERSION}")
            if version > 1:
                check_checksum(fields)
            if version < 3:
                fields["options"] = fields.pop("wishes")
            del fields["version"]
            board = fields.pop("board")
            del board["name"]
            shards = tuple(Shard(**shard) for shard in fields.pop("shards"))
            clues = {int(clues): count for clues, count in fields.pop("clues").items()}
            card = cls(board=Board.of_json(board), shards=shards, clues=clues, **fields)
            fault = card._fault()
        except DatasetError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DatasetError(f"{path}: not a data set's card ({error})") from error
        if fault:
            raise DatasetError(f"{path}: inconsistent: {fault}")
        return card

    def check_totals(self, path: Path, found: Card) -> None:
        """Raises ``DatasetError`` unless clues and grades equal ``found``, the counts of the shards."""
        for name in ("clues", "grades"):
            listed, counted = getattr(self, name), getattr(found, name)
            for kind in {**listed, **counted}:
                if listed.get(kind, 0) != counted.get(kind, 0):
                    raise DatasetError(
                        f"{path}: differs from its shards: {name}: {listed.get(kind, 0):,} puzzles of {kind}, "
                        f"where the shards hold {counted.get(kind, 0):,}"
                    )

    def _fault(self) -> str:
        """The first inconsistency of the card's own numbers, in words; empty if there is none."""
        if not all(_is_count(number) and number for number in (self.count, self.shard_size)):
            return f"count is {self.count!r} and shard_size {self.shard_size!r}; they must be whole numbers from 1"
        if self.format not in FORMATS:
            return f"the format is {self.format!r}, which is not one of {', '.join(FORMATS)}"
        for number, shard in enumerate(self.shards):
            if shard.file != self.part(number):
                return f"shard {number} is called {shard.file!r}, not {self.part(number)!r}"
            if not _is_count(shard.puzzles) or shard.puzzles != self.size(number):
                return f"{shard.file} has {shard.puzzles!r} puzzles, not {self.size(number):,}"
            if not _is_count(shard.bytes):
                return f"{shard.file} has {shard.bytes!r} bytes"
        if odd := [clues for clues in self.clues if not 0 <= clues <= self.board.cells]:
            return f"clues: puzzles of {odd[0]} clues on a board of {self.board.cells} cells"
        if set(self.grades) != set(GRADES):
            return f"grades: {', '.join(map(str, self.grades)) or 'none'}, not {', '.join(GRADES)}"
        done = sum(shard.puzzles for shard in self.shards)
        if self.shards and done != self.count:
            advice = "an unfinished data set of an earlier version must be built again"
            return f"shards of {done:,} puzzles, and a count of {self.count:,} ({advice})"
        for name, counts in (("clues", self.clues), ("grades", self.grades)):
            if odd := [value for value in counts.values() if not _is_count(value)]:
                return f"{name}: a count is {odd[0]!r}"
            if sum(counts.values()) != done:
                return f"{name}: {sum(counts.values()):,} puzzles, where the shards hold {done:,}"
        return ""

    def _settings(self) -> dict[str, Any]:
        """The settings of the data set, as JSON values."""
        return {
            "made_with": dict(self.made_with),
            "seed": self.seed,
            "board": {"name": str(self.board), **plain(self.board.to_json())},
            "options": dict(self.options),
            "excluded": self.excluded and dict(self.excluded),
            "count": self.count,
            "shard_size": self.shard_size,
            "format": self.format,
        }


def counts(puzzles: Puzzles) -> dict[str, Any]:
    """The numbers of puzzles by clues and grade, as JSON values."""
    clues = collections.Counter(puzzles.clues.tolist())
    grades = np.bincount(grade(puzzles.rating), minlength=len(GRADES)).tolist()
    return {
        "clues": {str(number): count for number, count in clues.items()},
        "grades": dict(zip(GRADES, grades, strict=True)),
    }


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def versions() -> dict[str, str]:
    """Versions of packages on which puzzles may depend, by name."""
    return {"jaxsudoku": __version__, "jax": jax.__version__}


def options_of(config: GenerateConfig) -> dict[str, Any]:
    """The fields of a config on which the puzzles of data sets depend, as JSON values."""
    fields: dict[str, Any] = plain(dataclasses.asdict(config))
    for name in ("attempts", "holes", "given"):
        del fields[name]
    if fields["rating"] is not None:  # JSON has no infinity
        fields["rating"] = [None if bound in (None, math.inf) else float(bound) for bound in fields["rating"]]
    return fields


def plain(value: Any) -> Any:
    """Converts to JSON values as JSON is read: lists for tuples, Python's numbers for numpy's."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value
