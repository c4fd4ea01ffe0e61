"""Saving and loading of strategies as JSON with codes as texts, and drawings of trees as text."""

from __future__ import annotations

import functools
import gzip
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxsudoku.runtime.files import MOST_BYTES, parse_json, write_file

from . import games, persistent_uct
from .rules import CodeError, Game
from .trees import Tree, TreeError

#: Identifies the files.
_FORMAT, _VERSION = "jaxsudoku mastermind tree", 2


def save_tree(tree: Tree, path: str | os.PathLike[str]) -> None:
    """Writes a tree to a file, atomically; raises OSError.

    A node is its guess, its parent, and the feedback that leads to it. A file whose name ends in ``.gz`` is compressed.
    """
    game = tree.game
    fields = {
        "format": _FORMAT,
        "version": _VERSION,
        "game": games.to_fields(game),
        "player": tree.player,
        "guesses": [game.code_text(guess) for guess in tree.guesses.tolist()],
        "parents": tree.parents.tolist(),
        "feedbacks": ["", *(game.feedback_text(number) for number in tree.feedbacks[1:].tolist())],
    }
    data = f"{json.dumps(fields)}\n".encode()
    write_file(Path(path), gzip.compress(data, mtime=0) if os.fspath(path).endswith(".gz") else data)


def load_tree(path: str | os.PathLike[str]) -> Tree:
    """Reads a file of ``save_tree``; ``Tree.attempts`` checks whether the tree finds every code.

    Raises:
      OSError: the file can't be read.
      TreeError: it is not a tree; the message names the file and the cause.
    """
    try:
        return _tree(parse_json(_content(Path(path))))
    except ValueError as error:
        raise TreeError(f"{os.fspath(path)}: {error}") from error


def load_saved(path: str | os.PathLike[str]) -> Tree | persistent_uct.SearchTree:
    """Reads a file of ``save_tree`` or of ``SearchTree.save``; raises as ``load_tree`` or ``SearchTree.load``."""
    try:
        fields = parse_json(_content(Path(path)))
        if fields.get("format") != persistent_uct.FORMAT:
            return _tree(fields)
    except ValueError as error:
        raise TreeError(f"{os.fspath(path)}: {error}") from error
    return persistent_uct.SearchTree.load(path)


def _content(path: Path) -> bytes:
    """The decompressed contents of a file, up to one byte above the limit; raises TreeError if it is damaged."""
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.open(path, "rb") as unpacked:
            return unpacked.read(MOST_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TreeError(f"damaged gzip data ({error})") from error


def _tree(fields: dict[str, Any]) -> Tree:
    if fields.get("format") != _FORMAT:
        raise TreeError(f"no tree of a strategy: its format is not {_FORMAT!r}")
    if fields.get("version") not in range(1, _VERSION + 1):
        raise TreeError(f"a tree of version {fields.get('version')!r}, where 1 to {_VERSION} are known")
    game = games.from_fields(fields.get("game"))
    columns: list[Any] = [fields.get(name) for name in ("guesses", "parents", "feedbacks")]
    if not all(isinstance(column, list) for column in columns) or len(set(map(len, columns))) != 1:
        raise TreeError("guesses, parents and feedbacks must be lists of one length")
    if not columns[0]:
        raise TreeError("there is no guess")
    nodes, number_of = [], functools.cache(game.parse_feedback)
    for node, fields_of_node in enumerate(zip(*columns, strict=True)):
        try:
            nodes.append(_node(game, number_of, node, *fields_of_node))
        except (CodeError, TreeError) as error:
            raise TreeError(f"guess {node}: {error}") from error
    guesses, parents, feedbacks = np.array(nodes, np.int32).T
    _, firsts = np.unique(parents * game.feedbacks + feedbacks, return_index=True)
    if len(repeated := np.setdiff1d(np.arange(len(nodes)), firsts)):
        node = int(repeated[0])
        raise TreeError(f"guess {node}: another one follows on {columns[2][node]!r} to guess {parents[node]}")
    return Tree(game, guesses, parents, feedbacks, str(fields.get("player", "")))


def _node(
    game: Game, number_of: Callable[[str], int], node: int, guess: Any, parent: Any, feedback: Any
) -> tuple[int, int, int]:
    """(guess, parent, feedback) as numbers, by the number of a feedback's text; raises CodeError or TreeError."""
    code = game.parse_code(str(guess))
    if node == 0:
        if type(parent) is not int or parent != -1:
            raise TreeError(f"its parent must be -1, as it is the first guess, not {parent!r}")
        return code, -1, -1
    if type(parent) is not int or not 0 <= parent < node:
        raise TreeError(f"its parent must be a number from 0 to {node - 1}, of a guess before it, not {parent!r}")
    number = number_of(str(feedback))
    if number == game.win:
        raise TreeError(f"nothing follows on {feedback!r}, which ends the game")
    return code, parent, number


def draw_tree(tree: Tree, guesses: int = 2) -> str:
    """A tree as text, with a line for each guess below the one that it follows.

    A line has the feedback, the guess, the number of codes that reach it, and the mean number of guesses that they take
    from this one on.

    Args:
      tree: the strategy, which must find every code.
      guesses: number of guesses of a game to draw.

    Raises:
      TreeError: some code is not found.
    """
    lines, trunks = [], list[str]()
    for node, depth in tree.walk(guesses):
        del trunks[max(depth - 1, 0) :]
        start = "".join(trunks)
        if depth:
            (siblings,) = np.nonzero(tree.children[tree.parents[node]] >= 0)
            last = tree.feedbacks[node] == siblings[-1]
            start += f"{'└─ ' if last else '├─ '}{tree.game.feedback_text(int(tree.feedbacks[node]))}: "
            trunks.append("   " if last else "│  ")
        codes = f"  ({tree.codes[node]:,} codes, {tree.remaining[node]:.3f})" if tree.codes[node] > 1 else ""
        lines.append(f"{start}{tree.game.code_text(int(tree.guesses[node]))}{codes}")
    return "\n".join(lines)
