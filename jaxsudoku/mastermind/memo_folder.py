"""The folder of a memo: whose it is, who has it open, and what is in it. No JAX."""

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

#: The name and the version of the file that says what a folder holds. Version 1 had no checksums.
_CARD, _VERSION = "memo.json", 2

#: Seconds to wait for the end of processes that use a folder.
_PATIENCE = 30.0


def open_folder(folder: Path, game: Game) -> None:
    """Makes the folder of a memo, or checks that it is that of a game.

    Raises:
      MemoError: it is that of another game, or holds something else, or an entry is not a regular file.
      OSError: it can't be read or written.
    """
    path = folder / _CARD
    if folder.exists():
        _check_entries(folder)
    if not path.exists():
        if folder.exists() and any(_is_other(entry) for entry in folder.iterdir()):
            raise MemoError(f"{folder} holds other files, and no memo of a search")
        folder.mkdir(parents=True, exist_ok=True)
        card = {"memo": _VERSION, "game": to_fields(game)}
        write_file(path, f"{json.dumps(card, indent=2)}\n".encode())
        return
    try:
        there = read_json(path)
        version = there["memo"]
        if version == 1:
            raise MemoError(f"{path}: a memo without checksums, of an earlier version: begin a new folder")
        if version != _VERSION:
            raise MemoError(f"{path}: version {version!r} of the format is not known, only {_VERSION}")
        other = from_fields(there["game"])
    except MemoError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise MemoError(f"{path} says of no memo: {error}") from error
    if other != game:
        raise MemoError(f"{folder} is of another game: {other}, not {game}")


def lock_folder(folder: Path, shared: bool) -> FileLock | None:
    """The lock of a folder, alone or shared; waits a while, as processes may have been killed a moment ago.

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


def _check_entries(folder: Path) -> None:
    """Raises MemoError if an entry, locks apart, is a symbolic link or no file: files of others are not changed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name[0] != "." and not entry.is_file(follow_symlinks=False):
                kind = "a symbolic link" if entry.is_symlink() else "no regular file"
                raise MemoError(f"{entry.path}: {kind}, where a memo has files of its own")


def _is_other(entry: Path) -> bool:
    """Whether an entry of a folder is neither a lock nor a card that was not written to the end."""
    return entry.name[0] != "." and entry.name != f"{_CARD}{TEMPORARY}"
