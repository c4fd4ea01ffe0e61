"""Trees in files, as JSON that people can read: a node is a guess, its parent, and the feedback it follows on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from jaxsudoku.files import JsonError, read_json, write_file

from .rules import CodeError, Game, GameError, code_text, feedback_text, parse_code, parse_feedback
from .trees import Tree, TreeError

#: What a file says of itself, so that another one is told from it.
_FORMAT, _VERSION = "jaxsudoku mastermind tree", 1


def save_tree(tree: Tree, path: str | os.PathLike[str]) -> None:
    """Writes a tree to a file, which is replaced as a whole if it exists; raises OSError."""
    game = tree.game
    fields = {
        "format": _FORMAT,
        "version": _VERSION,
        "game": {"pegs": game.pegs, "colours": game.colours, "repeats": game.repeats},
        "player": tree.player,
        "guesses": [code_text(game, guess) for guess in tree.guesses.tolist()],
        "parents": tree.parents.tolist(),
        "feedbacks": ["", *(feedback_text(game, number) for number in tree.feedbacks[1:].tolist())],
    }
    write_file(Path(path), f"{json.dumps(fields)}\n".encode())


def load_tree(path: str | os.PathLike[str]) -> Tree:
    """Reads a tree that ``save_tree`` wrote, or anyone else. Whether it finds every code, ``Tree.attempts`` tells.

    Raises:
      OSError: the file can't be read.
      TreeError: it holds no tree; the message names the file and the cause.
    """
    try:
        return _parsed(read_json(Path(path)))
    except (TreeError, GameError, CodeError, JsonError) as error:
        raise TreeError(f"{os.fspath(path)}: {error}") from error


def _parsed(fields: dict[str, Any]) -> Tree:
    if fields.get("format") != _FORMAT:
        raise TreeError(f"no tree of a strategy: its format is not {_FORMAT!r}")
    if fields.get("version") != _VERSION:
        raise TreeError(f"a tree of version {fields.get('version')!r}, where {_VERSION} is known")
    about = fields.get("game")
    if not isinstance(about, dict) or {name: type(about.get(name)) for name in ("pegs", "colours", "repeats")} != {
        "pegs": int,
        "colours": int,
        "repeats": bool,
    }:
        raise TreeError("the game needs pegs and colours, numbers, and repeats, true or false")
    game = Game(about["pegs"], about["colours"], about["repeats"])
    columns = [fields.get(name) for name in ("guesses", "parents", "feedbacks")]
    if not all(isinstance(column, list) for column in columns) or len({len(column) for column in columns}) != 1:  # type: ignore[arg-type]
        raise TreeError("guesses, parents and feedbacks must be lists of one length")
    guesses, parents, feedbacks = columns
    if not guesses:
        raise TreeError("there is no guess")
    tree = Tree(
        game,
        np.array([_code(game, node, text) for node, text in enumerate(guesses)], np.int32),
        np.array([_parent(node, parent) for node, parent in enumerate(parents)], np.int32),  # type: ignore[arg-type]
        np.array([_feedback(game, node, text) for node, text in enumerate(feedbacks)], np.int32),  # type: ignore[arg-type]
        str(fields.get("player", "")),
    )
    _, firsts = np.unique(tree.parents * game.feedbacks + tree.feedbacks, return_index=True)
    if len(twice := np.setdiff1d(np.arange(len(tree)), firsts)):
        node = int(twice[0])
        raise TreeError(f"guess {node}: another one follows on {feedbacks[node]!r} to guess {parents[node]}")  # type: ignore[index]
    return tree


def _code(game: Game, node: int, text: Any) -> int:
    try:
        return parse_code(game, str(text))
    except CodeError as error:
        raise TreeError(f"guess {node}: {error}") from error


def _parent(node: int, parent: Any) -> int:
    if type(parent) is not int or (not 0 <= parent < node if node else parent != -1):
        allowed = f"a number from 0 to {node - 1}, of a guess before it" if node else "-1, as it is the first guess"
        raise TreeError(f"guess {node}: its parent must be {allowed}, not {parent!r}")
    return parent


def _feedback(game: Game, node: int, text: Any) -> int:
    if not node:
        return -1
    try:
        number = parse_feedback(game, str(text))
    except CodeError as error:
        raise TreeError(f"guess {node}: {error}") from error
    if number == game.win:
        raise TreeError(f"guess {node}: nothing follows on {text!r}, which ends the game")
    return number
