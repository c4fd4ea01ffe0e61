"""The card of a data set: how it was made, the files that it is in, and how many puzzles of which kind it holds.

While a data set is being built its card is called ``plan.json`` and lists the shards that are done.
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

from jaxsudoku import __version__
from jaxsudoku.board import Board
from jaxsudoku.generation import GenerateConfig, Puzzles
from jaxsudoku.rating import GRADES, grade

#: Names of the card, and of the plan that stands for it until the data set is whole.
CARD, PLAN = "card.json", "plan.json"
#: Version of the layout of cards and shards.
VERSION = 1


class DatasetError(ValueError):
    """A folder holds no whole data set, or another one than is asked for."""


@dataclasses.dataclass(frozen=True)
class Shard:
    """A file of a data set.

    Attributes:
      file: its name in the folder.
      puzzles: how many it holds.
      bytes: its size.
      sha256: its checksum, in hexadecimal.
    """

    file: str
    puzzles: int
    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Card:
    """What is known of a data set; it is written as JSON, and says nothing of when or where the data set was made.

    Attributes:
      seed: the seed.
      board: the board.
      wishes: the fields of ``GenerateConfig``, as JSON has them.
      excluded: how many solutions the data set keeps clear of, and the sha256 of their hashes; None for none.
      count: number of puzzles.
      shard_size: puzzles in every shard but the last.
      format: "npz" or "parquet".
      made_with: versions of what made it, by name.
      shards: the files, as far as they are done.
      clues: how many of their puzzles have so many clues, by that number.
      grades: how many of their puzzles are of each grade, by its name.
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
        """The card with one more shard, which holds these puzzles."""
        clues = collections.Counter(self.clues) + collections.Counter(puzzles.clues.tolist())
        grades = np.bincount(grade(puzzles.rating), minlength=len(GRADES)).tolist()
        return dataclasses.replace(
            self,
            shards=(*self.shards, shard),
            clues=dict(sorted(clues.items())),
            grades={name: self.grades[name] + more for name, more in zip(GRADES, grades, strict=True)},
        )

    def differences(self, other: Card) -> list[str]:
        """In which settings this card differs from another one, in words."""
        ours, theirs = dict(_flat(self._settings())), dict(_flat(other._settings()))
        return [
            f"{name} is {_shown(ours.get(name))} there, {_shown(theirs.get(name))} here"
            for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name)
        ]

    def encode(self) -> bytes:
        """The card as JSON."""
        results = {
            "shards": list(map(dataclasses.asdict, self.shards)),
            "clues": {str(clues): count for clues, count in self.clues.items()},
            "grades": dict(self.grades),
        }
        return (json.dumps({**self._settings(), **results}, indent=2, allow_nan=False) + "\n").encode()

    @classmethod
    def read(cls, path: Path) -> Card:
        """Reads a card; raises ``DatasetError`` if the file is none, or one of a version that isn't known here."""
        try:
            fields = json.loads(path.read_bytes())
            if (version := fields.pop("version")) != VERSION:
                raise DatasetError(f"{path}: a card of version {version}; this version of jaxsudoku reads {VERSION}")
            board = fields.pop("board")
            del board["name"]
            shards = tuple(Shard(**shard) for shard in fields.pop("shards"))
            clues = {int(clues): count for clues, count in fields.pop("clues").items()}
            return cls(board=Board(**board), shards=shards, clues=clues, **fields)
        except DatasetError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DatasetError(f"{path}: no card of a data set ({error})") from error

    def _settings(self) -> dict[str, Any]:
        """All but what was made, as JSON has it."""
        return {
            "version": VERSION,
            "made_with": dict(self.made_with),
            "seed": self.seed,
            "board": {"name": str(self.board), **plain(dataclasses.asdict(self.board))},
            "wishes": dict(self.wishes),
            "excluded": self.excluded and dict(self.excluded),
            "count": self.count,
            "shard_size": self.shard_size,
            "format": self.format,
        }


def versions() -> dict[str, str]:
    """The versions on which the contents of puzzles may depend, by name."""
    return {"jaxsudoku": __version__, "jax": jax.__version__}


def wishes_of(config: GenerateConfig) -> dict[str, Any]:
    """The fields of a config on which puzzles depend, as JSON has them: all but ``attempts``."""
    fields = plain(dataclasses.asdict(config))
    del fields["attempts"]
    if fields["rating"] is not None:  # JSON has no infinity
        fields["rating"] = [None if bound in (None, math.inf) else float(bound) for bound in fields["rating"]]
    return fields


def plain(value: Any) -> Any:
    """The value with lists for tuples and Python's numbers for numpy's, as JSON gives it back."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


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
