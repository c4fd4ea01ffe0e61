"""The plan of a job: what its parts are, and what must be the same when it is resumed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

from jaxsudoku.runtime.files import JsonError, field, parse_checked, with_checksum
from jaxsudoku.runtime.part_folder import Record, ResumeError, differences

#: The fields of a plan, and their types.
_FIELDS = {"command": str, "settings": dict, "inputs": list, "items": list, "suffix": str}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a job does, from which its parts follow: the ``Manifest`` of its folder.

    Attributes:
      command: the command.
      settings: what the answers depend on, as values of JSON.
      inputs: for each file its name and its size in bytes, in the order of the answers.
      items: what each part answers, as values of JSON.
      suffix: of the parts.
    """

    command: str
    settings: dict[str, Any]
    inputs: Sequence[dict[str, Any]]
    items: Sequence[dict[str, Any]]
    suffix: str

    noun: ClassVar = "job"
    unfinished: ClassVar = "manifest.json"
    finished: ClassVar = "manifest.json"
    error: ClassVar = ResumeError

    def part(self, number: int) -> str:
        """The name of the file of a part."""
        width = max(5, len(str(len(self.items) - 1)))
        return f"part-{number:0{width}}{self.suffix}"

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.items)

    def encode(self, records: Sequence[Record] | None = None) -> bytes:
        """The plan as JSON, with the records of all parts when these are there."""
        parts = {} if records is None else {"parts": [dataclasses.asdict(record) for record in records]}
        return with_checksum({**self._fields(), **parts})

    def compare(self, data: bytes, name: str) -> tuple[list[str], list[Record]]:
        """What differs in the plan of another job, and the records that it lists; see ``Manifest.compare``."""
        try:
            fields = parse_checked(data)
            for key, kind in _FIELDS.items():
                field(fields, key, kind)
            listed = field({"parts": [], **fields}, "parts", list)
            if not all(isinstance(part, dict) for part in listed):
                raise JsonError("'parts' has an entry that is not an object")
            changed = self._differences(fields)
            if listed and not changed and len(listed) != self.parts:
                raise JsonError(f"it lists {len(listed):,} parts, where the job has {self.parts:,}")
            records = [] if changed else [Record.read(one, self.part(at)) for at, one in enumerate(listed)]
        except JsonError as error:
            raise ResumeError(f"{name}: {error}; the folder is left as it is") from error
        return changed, records

    def _fields(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "inputs": list(self.inputs), "items": list(self.items)}

    def _differences(self, other: dict[str, Any]) -> list[str]:
        own = self._fields()
        if other["command"] != self.command:
            return [f"it is of the command {other.get('command'):.60}"]
        found = differences(other["settings"], self.settings)
        if not found and other["inputs"] != own["inputs"]:
            found.append("its inputs are others, or were changed")
        if not found and any(other[name] != own[name] for name in ("items", "suffix")):
            found.append("its parts are others")
        return found
