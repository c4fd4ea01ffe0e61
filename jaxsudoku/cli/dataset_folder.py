"""The folder that ``build`` writes: its flags, its checks before anything is made, and the excluded puzzles."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.io import check_folder, check_folder_name
from jaxsudoku.runtime.locks import check_unlocked
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage

from . import flags
from .inputs import read_all
from .outputs import Running
from .parser import flag


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folder(Running):
    """The folder, its shards, what must not occur in them, and ``--resume``."""

    output: str = flag("folder of the data set", required=True, metavar="FOLDER")
    format: str = flag("of the shards (default: npz)", choices=("npz", "parquet"), default="npz")
    shard_size: int = flags.number_flag("puzzles in a shard", default=65536)
    exclude: tuple[str, ...] = flag(
        "puzzles whose solutions must not occur, up to symmetry (9x9), or a shipped set; may be repeated",
        metavar="FILE",
        action="append",
        default=(),
    )
    resume: bool = flag("go on with an interrupted build", default=False)


def check_new(request: Folder) -> None:
    """Raises UsageError if the folder can't be made, or is there and is not to be resumed."""
    with as_usage():
        check_folder(request.output)
        if os.path.exists(request.output):
            check_unlocked(request.output)
        else:
            check_folder_name(request.output)
    if os.path.exists(request.output) and not request.resume:
        raise UsageError(f"{request.output}: the folder exists: go on with --resume or name another")


def excluded(files: Sequence[str], board: Board) -> np.ndarray | None:
    """The puzzles of the files that are excluded; None without any."""
    with as_usage():
        return np.concatenate([read_all(file, board) for file in files]) if files else None
