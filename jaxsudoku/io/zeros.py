"""Detection of files whose digits seem to be counted from 0, where 0 would not be a blank."""

from __future__ import annotations

from collections.abc import Iterator

from .chunk import Chunk, PuzzleFileError

#: Maximum number of puzzles held back while the largest digit is not found; after these it is not expected.
_MOST_HELD = 1 << 20


class ZeroBasedError(PuzzleFileError):
    """Raised for a file whose digits seem to be counted from 0."""


def check_zeros(chunks: Iterator[Chunk], name: str, side: int) -> Iterator[Chunk]:
    """Passes on the chunks of a file; raises ``ZeroBasedError`` if 0 seems to be a digit instead of a blank.

    0 is taken for a digit if a puzzle has another kind of blank too, and no puzzle of the file has the largest digit.
    The chunks from the first such puzzle on are held back until the largest digit is found.

    Args:
      chunks: the chunks.
      name: the file's name, for messages.
      side: the board's side.

    Raises:
      ZeroBasedError: the digits seem to be counted from 0.
    """
    held: list[Chunk] = []
    count, found = 0, False
    for chunk in chunks:
        found = found or bool((chunk.grids == side).any())
        if not found and (held or (chunk.mixed is not None and chunk.mixed.any())):
            held.append(chunk)
            count += len(chunk)
            if count > _MOST_HELD:
                break
            continue
        yield from held
        held = []
        yield chunk
    for chunk in held:
        if chunk.mixed is not None and chunk.mixed.any():
            line = int(chunk.lines[chunk.mixed][0])
            raise ZeroBasedError(f"{name}:{line}: {zero_cause(side)}")


def zero_cause(side: int) -> str:
    """The cause for a puzzle whose digits seem to be counted from 0."""
    return (
        f"'0' stands beside another blank, and no digit is {side}: if digits are counted from 0, read the file with "
        "zero_based (--zero-based); if 0 is a blank, write all blanks alike"
    )
