"""The plan of a job: its parts, and the settings that must be the same on resuming."""

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
    """The plan of a job, which determines its parts: the ``Manifest`` of its folder.

    Attributes:
      command: the command.
      settings: settings that the answers depend on, as JSON values.
      inputs: the name and size in bytes of each file, in the order of the answers.
      items: the work of each part, as JSON values.
      suffix: the suffix of the parts.
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
        """The plan as JSON, with the records of all parts if they are finished."""
        parts = {} if records is None else {"parts": [dataclasses.asdict(record) for record in records]}
        return with_checksum({**self._fields(), **parts})

    def compare(self, data: bytes, name: str) -> tuple[list[str], list[Record]]:
        """The differences from the plan of another job, and its records; see ``Manifest.compare``."""
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
            return [f"its command is {other.get('command'):.60}"]
        found = differences(other["settings"], self.settings)
        if not found and other["inputs"] != own["inputs"]:
            found.append("its inputs are different or were changed")
        if not found and any(other[name] != own[name] for name in ("items", "suffix")):
            found.append("its parts are others")
        return found
