"""The column of a table that has the constraints of each puzzle."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import texts
from jaxsudoku.core.constraints.base import Constraint

from .cells import Malformed
from .chunk import Chunk
from .columns import CONSTRAINTS_COLUMN


def read_constraints(chunks: Iterable[Chunk], board: Board, name: str) -> Iterator[Chunk]:
    """Chunks with the constraints of their column ``constraints``, if any; rows with a faulty value are marked.

    Args:
      chunks: the chunks.
      board: the board.
      name: the name of the file, for messages.
    """
    for chunk in chunks:
        values = chunk.extras.get(CONSTRAINTS_COLUMN)
        if values is None:
            yield chunk
            continue
        found: list[tuple[Constraint, ...]] = []
        causes: dict[int, str] = {}
        for row, value in enumerate(values):
            try:
                found.append(constraints_of(value, board) if chunk.good[row] else ())
            except ValueError as error:
                found.append(())
                causes[row] = str(error)
        yield dataclasses.replace(chunk, constraints=tuple(found)).with_errors(name, causes)


def constraints_of(value: Any, board: Board) -> tuple[Constraint, ...]:
    """The constraints of a value: a list of their texts, or of JSON that is one, or the texts joined by "+".

    Raises:
      ValueError: a constraint that is unknown or does not fit the board.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise Malformed(f"the constraints are not a list in JSON ({error.msg})") from None
    if value is None or value == "":
        return ()
    found = list(texts.pieces(value)) if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise Malformed(f"the constraints are {json.dumps(value)[:40]}, not a list of texts")
    return tuple(one for text in found for one in _read(text, board))


def constraints_text(constraints: Iterable[Constraint], board: Board) -> str:
    """The text that ``constraints_of`` reads as these constraints.

    Raises:
      ValueError: a constraint of a kind without a text.
    """
    found = []
    for one in constraints:
        if (text := one.text(board.side)) is None:
            raise ValueError(f"a {one.name} has no text")
        found.append(text)
    return "+".join(found)


@functools.lru_cache(maxsize=1 << 16)
def _read(text: str, board: Board) -> tuple[Constraint, ...]:
    """The constraints of a text; kept, as files repeat them."""
    return tuple(texts.read(text.lower(), board))
