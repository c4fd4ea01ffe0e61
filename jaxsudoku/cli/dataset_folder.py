"""The folder that ``build`` writes: its flags, its checks before anything is made, and the excluded puzzles."""

from __future__ import annotations

import argparse
import os

import numpy as np

from jaxsudoku.io import check_folder, check_folder_name
from jaxsudoku.runtime.locks import check_unlocked
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage

from . import flags
from .inputs import read_all


def add_folder(parser: argparse.ArgumentParser) -> None:
    """The folder, its shards, what must not occur in them, and ``--resume``."""
    parser.add_argument("--output", required=True, metavar="FOLDER", help="folder of the data set")
    flags.add_running(parser)
    parser.add_argument("--format", choices=("npz", "parquet"), default="npz", help="of the shards (default: npz)")
    flags.add_number(parser, "--shard-size", "puzzles in a shard", default=65536)
    parser.add_argument(
        "--exclude",
        metavar="FILE",
        action="append",
        default=[],
        help="puzzles whose solutions must not occur, up to symmetry (9x9), or a shipped set; may be repeated",
    )
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted build")


def check_new(args: argparse.Namespace) -> None:
    """Raises UsageError if the folder can't be made, or is there and is not to be resumed."""
    with as_usage():
        check_folder(args.output)
        if os.path.exists(args.output):
            check_unlocked(args.output)
        else:
            check_folder_name(args.output)
    if os.path.exists(args.output) and not args.resume:
        raise UsageError(f"{args.output}: the folder exists: go on with --resume or name another")


def excluded(args: argparse.Namespace) -> np.ndarray | None:
    """The puzzles of the files that are excluded; None without any."""
    with as_usage():
        return np.concatenate([read_all(file, args.board) for file in args.exclude]) if args.exclude else None
