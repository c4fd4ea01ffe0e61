"""Atomic writes, checksums of files, and strict JSON with a checksum."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import io
    from importlib.resources.abc import Traversable

#: Limits of a JSON file: its bytes and its nesting depth.
MOST_BYTES, MOST_LEVELS = 1 << 28, 32

#: The field of a JSON object that holds the checksum of the others.
CHECKSUM = "checksum"


class JsonError(ValueError):
    """Raised for bytes that are not a valid JSON object; the message gives the cause, but not the file."""


#: Suffix of temporary files, which are renamed when complete; existing ones are replaced.
TEMPORARY = ".jaxsudoku-tmp"


def check_folder(path: Path) -> None:
    """Raises FileNotFoundError if the folder of a file, or of what a symbolic link points to, is missing."""
    if not Path(os.path.realpath(path)).parent.exists():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {str(path.parent)!r}", str(path))


def write_file(path: Path, data: bytes, durable: bool = True) -> None:
    """Writes a file atomically: after a crash it has either its new or its old contents.

    Without ``durable`` this holds for a crash of the process, not of the machine.

    A device or a pipe is written directly. A symbolic link stays, and the file that it points to is written.

    Raises:
      OSError: the file can't be written, or its folder is missing; the error has the path as given.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    check_folder(path)
    given, path = path, Path(os.path.realpath(path))
    temporary = path.with_name(f"{path.name}{TEMPORARY}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(error.errno, error.strerror, str(given)) from error
    if durable and hasattr(os, "O_DIRECTORY"):  # elsewhere a folder can't be opened
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def sha256_of(file: io.BufferedIOBase) -> str:
    """The sha256 of an open file from here on, in hexadecimal."""
    return hashlib.file_digest(file, "sha256").hexdigest()


def is_intact(file: io.BufferedIOBase, size: int, sha256: str) -> bool:
    """Whether an open file has this size and checksum; a file of another size is not read."""
    if file.seek(0, os.SEEK_END) != size:
        return False
    file.seek(0)
    return sha256_of(file) == sha256


def read_json(path: Path | Traversable) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
      OSError: the file can't be read.
      JsonError: as ``parse_json`` does.
    """
    with path.open("rb") as file:
        return parse_json(file.read(MOST_BYTES + 1))


def parse_json(data: bytes) -> dict[str, Any]:
    """Parses a JSON object strictly: refuses ambiguous input and values that would lose information.

    Raises:
      JsonError: too many bytes, not UTF-8, not JSON, a name that occurs twice in an object, NaN or infinity, a number
        too large for a float, more than ``MOST_LEVELS`` levels, or a value other than an object at the top.
    """
    if len(data) > MOST_BYTES:
        raise JsonError(f"more than {MOST_BYTES:,} bytes")
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=_object, parse_constant=_refused_number, parse_float=_finite_number
        )
    except JsonError:
        raise
    except RecursionError as error:
        raise JsonError(f"more than {MOST_LEVELS} levels of objects and lists") from error
    except ValueError as error:
        raise JsonError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise JsonError("not a JSON object")
    level: list[Any] = [value]
    for _ in range(MOST_LEVELS):
        parts = (part for each in level for part in (each.values() if isinstance(each, dict) else each))
        level = [part for part in parts if isinstance(part, dict | list)]
    if level:
        raise JsonError(f"more than {MOST_LEVELS} levels of objects and lists")
    return value


def with_checksum(fields: dict[str, Any]) -> bytes:
    """A JSON object as indented text, with a checksum of its fields as the last one.

    Raises:
      TypeError, ValueError: the fields can't be written as JSON.
    """
    text = json.dumps({**fields, CHECKSUM: _checksum(fields)}, indent=2, allow_nan=False)
    return f"{text}\n".encode()


def check_checksum(fields: dict[str, Any]) -> None:
    """Removes and verifies the checksum of a JSON object that ``with_checksum`` wrote.

    Raises:
      JsonError: the checksum is missing or does not match the fields.
    """
    written = fields.pop(CHECKSUM, None)
    if written != _checksum(fields):
        raise JsonError(f"altered: the {CHECKSUM} does not match the other fields")


def parse_checked(data: bytes) -> dict[str, Any]:
    """The fields of a JSON object that ``with_checksum`` wrote; raises as ``parse_json`` and ``check_checksum``."""
    fields = parse_json(data)
    check_checksum(fields)
    return fields


#: Names of types for messages, and the upper bound of integers.
_KINDS = {int: "a whole number from 0 to 2**63 - 1", str: "a text", list: "a list", dict: "an object"}
_MOST = 1 << 63


def field(fields: dict[str, Any], name: str, kind: type) -> Any:
    """A required field of a JSON object, of type int, str, list or dict.

    Raises:
      JsonError: it is missing, of another type, or a number that is negative or does not fit 64 bits.
    """
    if name not in fields:
        raise JsonError(f"{name!r} is missing")
    value = fields[name]
    if type(value) is not kind or (isinstance(value, int) and not 0 <= value < _MOST):
        raise JsonError(f"{name!r} is {value!r:.40}, which is not {_KINDS[kind]}")
    return value


def _checksum(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise JsonError(f"the name {twice!r:.40} occurs twice in an object")
    return fields


def _refused_number(text: str) -> float:
    raise JsonError(f"{text} is not a JSON number")


def _finite_number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise JsonError(f"the number {text[:20]} is beyond what a float holds")
    return number
