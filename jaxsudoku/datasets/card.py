"""The card of a data set: its settings, its files, and its numbers of puzzles by clues and grade.

While a data set is being built, its card is called ``plan.json`` and lists the finished shards.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsudoku._version import __version__
from jaxsudoku.core.board import Board
from jaxsudoku.generation import GenerateConfig, Puzzles
from jaxsudoku.rating import GRADES, grade
from jaxsudoku.runtime.files import check_checksum, read_json, with_checksum

#: File names of the card, and of the plan that replaces it until the data set is complete.
CARD, PLAN = "card.json", "plan.json"
#: Version of the layout of cards and shards: from 2 on a card has a checksum. Version 1 is read as well.
VERSION = 2
#: Formats of shards.
FORMATS = ("npz", "parquet")


class DatasetError(ValueError):
    """A folder holds no complete data set, or one of other settings; the message names the file and the cause."""


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
    """The description of a data set, written as JSON. It does not depend on when or where the data set was made.

    Attributes:
      seed: the seed.
      board: the board.
      wishes: how the puzzles came about: the fields of ``GenerateConfig``, in the form in which JSON is read; of given
        puzzles ``given``, the checksum of the part's puzzles, ``part`` and ``share``.
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
    wishes: Mapping[str, Any]
    excluded: Mapping[str, Any] | None
    count: int
    shard_size: int
    format: str
    made_with: Mapping[str, str]
    shards: tuple[Shard, ...] = ()
    clues: Mapping[int, int] = dataclasses.field(default_factory=dict)
    grades: Mapping[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(GRADES, 0))

    def with_shard(self, shard: Shard, puzzles: Puzzles) -> Card:
        """The card with one more shard of these puzzles."""
        return dataclasses.replace(self.counting(puzzles), shards=(*self.shards, shard))

    def counting(self, puzzles: Puzzles) -> Card:
        """The card with more puzzles in its counts by clues and grade."""
        clues = collections.Counter(self.clues) + collections.Counter(puzzles.clues.tolist())
        grades = np.bincount(grade(puzzles.rating), minlength=len(GRADES)).tolist()
        return dataclasses.replace(
            self,
            clues=dict(sorted(clues.items())),
            grades={name: self.grades[name] + more for name, more in zip(GRADES, grades, strict=True)},
        )

    def differences(self, other: Card) -> list[str]:
        """As ``differences`` of this card's settings, which are there, and another's."""
        return differences(self._settings(), other._settings())

    def encode(self) -> bytes:
        """The card as JSON."""
        results = {
            "shards": list(map(dataclasses.asdict, self.shards)),
            "clues": {str(clues): count for clues, count in self.clues.items()},
            "grades": dict(self.grades),
        }
        return with_checksum({"version": VERSION, **self._settings(), **results})

    @classmethod
    def read(cls, path: Path) -> Card:
        """Reads a card.

        Raises:
          OSError: the file can't be read.
          DatasetError: it is no card, of an unknown version, altered, or inconsistent.
        """
        try:
            fields = read_json(path)
            version = fields["version"]
            if type(version) is not int or not 1 <= version <= VERSION:
                raise DatasetError(f"{path}: a card of version {version}; this version of jaxsudoku reads {VERSION}")
            if version > 1:
                check_checksum(fields)
            del fields["version"]
            board = fields.pop("board")
            del board["name"]
            shards = tuple(Shard(**shard) for shard in fields.pop("shards"))
            clues = {int(clues): count for clues, count in fields.pop("clues").items()}
            card = cls(board=Board(**board), shards=shards, clues=clues, **fields)
            fault = card._fault()
        except DatasetError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DatasetError(f"{path}: no card of a data set ({error})") from error
        if fault:
            raise DatasetError(f"{path}: contradicts itself: {fault}")
        return card

    def check_totals(self, path: Path, found: Card) -> None:
        """Raises ``DatasetError`` unless clues and grades are those of ``found``, which were counted in the shards."""
        for name in ("clues", "grades"):
            listed, counted = getattr(self, name), getattr(found, name)
            for kind in {**listed, **counted}:
                if listed.get(kind, 0) != counted.get(kind, 0):
                    raise DatasetError(
                        f"{path}: contradicts its shards: {name}: {listed.get(kind, 0):,} puzzles of {kind}, "
                        f"where the shards hold {counted.get(kind, 0):,}"
                    )

    def _fault(self) -> str:
        """The first inconsistency of the card's own numbers, in words; empty if there is none."""
        if not all(_is_count(number) and number for number in (self.count, self.shard_size)):
            return f"count is {self.count!r} and shard_size {self.shard_size!r}; they must be whole numbers from 1"
        if self.format not in FORMATS:
            return f"the format is {self.format!r}, which is none of {', '.join(FORMATS)}"
        if len(self.shards) > -(-self.count // self.shard_size):
            return f"it lists {len(self.shards):,} shards of up to {self.shard_size:,} puzzles for {self.count:,}"
        for number, shard in enumerate(self.shards):
            size = min(self.shard_size, self.count - number * self.shard_size)
            if shard.file != shard_name(number, self.format):
                return f"shard {number} is called {shard.file!r}, not {shard_name(number, self.format)!r}"
            if not _is_count(shard.puzzles) or shard.puzzles != size:
                return f"{shard.file} has {shard.puzzles!r} puzzles, not {size:,}"
            if not _is_count(shard.bytes):
                return f"{shard.file} has {shard.bytes!r} bytes"
        if odd := [clues for clues in self.clues if not 0 <= clues <= self.board.cells]:
            return f"clues: puzzles of {odd[0]} clues on a board of {self.board.cells} cells"
        if set(self.grades) != set(GRADES):
            return f"grades: {', '.join(map(str, self.grades)) or 'none'}, not {', '.join(GRADES)}"
        done = sum(shard.puzzles for shard in self.shards)
        for name, counts in (("clues", self.clues), ("grades", self.grades)):
            if odd := [value for value in counts.values() if not _is_count(value)]:
                return f"{name}: a count is {odd[0]!r}"
            if sum(counts.values()) != done:
                return f"{name}: {sum(counts.values()):,} puzzles, where the shards hold {done:,}"
        return ""

    def _settings(self) -> dict[str, Any]:
        """The settings of the data set, in the form in which JSON is read."""
        return {
            "made_with": dict(self.made_with),
            "seed": self.seed,
            "board": {"name": str(self.board), **plain(dataclasses.asdict(self.board))},
            "wishes": dict(self.wishes),
            "excluded": self.excluded and dict(self.excluded),
            "count": self.count,
            "shard_size": self.shard_size,
            "format": self.format,
        }


def shard_name(number: int, format: str) -> str:
    """The file name of a shard, by its number."""
    return f"shard-{number:05}.{format}"


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def versions() -> dict[str, str]:
    """The versions on which puzzles may depend, by name."""
    return {"jaxsudoku": __version__, "jax": jax.__version__}


def wishes_of(config: GenerateConfig) -> dict[str, Any]:
    """The fields of a config on which the puzzles of data sets depend, in the form in which JSON is read."""
    fields: dict[str, Any] = plain(dataclasses.asdict(config))
    for name in ("attempts", "holes", "given"):
        del fields[name]
    if fields["rating"] is not None:  # JSON has no infinity
        fields["rating"] = [None if bound in (None, math.inf) else float(bound) for bound in fields["rating"]]
    return fields


def plain(value: Any) -> Any:
    """The value in the form in which JSON is read: lists for tuples, Python's numbers for numpy's."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """The differences between two nested settings, those of an earlier run and those of this one, in words."""
    old, new = dict(_flat(there)), dict(_flat(here))
    return [
        f"{name} is {_shown(old.get(name))} there, {_shown(new.get(name))} here"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by their dotted names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _shown(value: Any, longest: int = 60) -> str:
    text = json.dumps(value)
    return text if len(text) <= longest else f"{text[:longest]}..."
