"""The folder of a memo: its game and version, its lock, and a check of its entries. No JAX."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from pathlib import Path

from jaxsudoku.runtime.files import TEMPORARY, read_json, write_file

from .games import from_fields, to_fields
from .mapped_files import FileLock, MemoError
from .rules import Game

#: Name and version of the file that describes a folder. Version 1 had no checksums.
_CARD, _VERSION = "memo.json", 2

#: Seconds to wait for processes that use a folder to end.
_PATIENCE = 30.0


def open_folder(folder: Path, game: Game) -> None:
    """Creates the folder of a memo, or checks that it has a memo of the game.

    Raises:
      MemoError: it belongs to another game, or has other contents, or an entry is not a regular file.
      OSError: it can't be read or written.
    """
    path = folder / _CARD
    folder.mkdir(parents=True, exist_ok=True)
    names = _checked_entries(folder)
    if not path.exists():
        if names - {f"{_CARD}{TEMPORARY}"}:  # an incomplete card
            raise MemoError(f"{folder} has other files, and no memo of a search")
        card = {"memo": _VERSION, "game": to_fields(game)}
        write_file(path, f"{json.dumps(card, indent=2)}\n".encode())
        return
    try:
        card = read_json(path)
        version, other = card["memo"], from_fields(card["game"])
    except (ValueError, KeyError, TypeError) as error:
        raise MemoError(f"{path} is not the card of a memo: {error}") from error
    if version == 1:
        raise MemoError(f"{path}: a memo without checksums, of an earlier version: begin a new folder")
    if version != _VERSION:
        raise MemoError(f"{path}: version {version!r} of the format is not known, only {_VERSION}")
    if other != game:
        raise MemoError(f"{folder} belongs to another game: {other}, not {game}")


def lock_folder(folder: Path, shared: bool) -> FileLock | None:
    """The lock of a folder, exclusive or shared; waits a while, as processes may have been killed a moment ago.

    Raises:
      BlockingIOError: others have it.
      OSError: it can't be shared, as the file system has no locks.
    """
    if sys.platform == "win32":
        return None
    lock, until = FileLock(folder / _CARD), time.monotonic() + _PATIENCE
    while True:
        try:
            lock.acquire(shared, wait=False)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise BlockingIOError(errno.EAGAIN, "other processes search with this memo", str(folder)) from error
            time.sleep(0.05)
        except OSError as error:
            if shared:
                raise OSError(error.errno, "several processes need locks, which it lacks", str(folder)) from error
            return None  # the file system has no locks, so nobody shares the folder
        else:
            return lock


def _checked_entries(folder: Path) -> set[str]:
    """The names in a folder, without locks; raises MemoError if an entry is a symbolic link or not a regular file."""
    with os.scandir(folder) as scan:
        entries = [entry for entry in scan if entry.name[0] != "."]
    for entry in entries:
        if not entry.is_file(follow_symlinks=False):
            kind = "a symbolic link" if entry.is_symlink() else "no regular file"
            raise MemoError(f"{entry.path}: {kind}; a memo needs regular files")
    return {entry.name for entry in entries}
