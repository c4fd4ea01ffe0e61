"""How files come to be whole on the disk."""

from __future__ import annotations

import os
from pathlib import Path

#: Ends the names under which files are written until they are whole; what has such a name is ours to replace.
TEMPORARY = ".jaxsudoku-tmp"


def write_file(path: Path, data: bytes) -> None:
    """Writes a file so that, whatever happens, it is there as a whole or as it was before.

    A device or a pipe is written to as it is. Of a symbolic link the file that it leads to is written.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f"{path.name}{TEMPORARY}")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    if hasattr(os, "O_DIRECTORY"):  # elsewhere a folder can't be opened
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
