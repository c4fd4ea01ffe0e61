"""``jaxsudoku show``: draws one puzzle."""

from __future__ import annotations

import dataclasses
import os
import sys

import numpy as np

from jaxsudoku import pictures
from jaxsudoku.core.board import Board
from jaxsudoku.core.drawing import draw
from jaxsudoku.core.host_rules import allowed_candidates
from jaxsudoku.core.tuning import RULES
from jaxsudoku.engine.grid_pictures import picture
from jaxsudoku.engine.solution import Status
from jaxsudoku.io import Chunk, library_line
from jaxsudoku.runtime.terminal.failure import as_usage
from jaxsudoku.runtime.terminal.progress import Screen

from . import flags
from .bad_lines import describe_clash
from .inputs import OneInput, OnePuzzle, one_puzzle
from .invocation import Invocation, check_cache
from .outputs import put
from .parser import flag

EPILOG = f"""\
examples:
  jaxsudoku show puzzles.txt --index 3 --solve
  jaxsudoku show puzzles.txt --output puzzle.png
  jaxsudoku show puzzles.txt --candidates --rules locked
  jaxsudoku show puzzles.txt --candidates --svg > candidates.svg

{flags.INPUT_SECTION}
Colours are left out if NO_COLOR is set. The exit status is 1 if the puzzle is malformed, and with --solve if it has no
solution.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(OnePuzzle):
    """What ``show`` is asked for."""

    solve: bool = flag("draw its solution, with the givens marked", default=False, exclusive="grid")
    candidates: bool = flag("draw its candidates: a pencil-mark grid", default=False, exclusive="grid")
    library: bool = flag("print it as a line of HoDoKu's library, with candidates", default=False, exclusive="grid")
    rules: str = flag("the rules that remove candidates before (default: none)", choices=RULES, default="none")
    svg: bool = flag("draw it as an SVG image", default=False, exclusive="form")

    def __post_init__(self) -> None:
        if self.library and (self.svg or self.output != "-"):
            raise ValueError(f"{'--svg' if self.svg else '--output'} does not go with --library")
        if self.rules != "none" and not (self.candidates or self.library):
            raise ValueError("--rules is of --candidates and --library")


def run(request: Request, invocation: Invocation) -> int:
    """Draws; the exit status."""
    del invocation
    given = one_puzzle(request)
    chunk, board, name = given
    if chunk.errors:
        Screen(bar=True).say(str(chunk.errors[0]))
        return 1
    filled, is_given = chunk.grids[0], chunk.givens_of([0])[0]
    givens = np.where(is_given, filled, 0).astype(np.uint8)
    grid, code = _solve(given) if request.solve else (filled, 0)
    marks = _left_after(chunk, board, request.rules) if request.candidates else None
    if request.library:
        with as_usage():  # a board that is too large
            text = library_line(filled, _left_after(chunk, board, request.rules), board, (filled > 0) & ~is_given)
    elif request.svg or pictures.suffix(request.output) not in ("", "txt"):
        title = f"Puzzle {request.index} of {name}"
        drawn = picture(grid, board, givens, candidates=marks, title=title)
        if request.output != "-":
            drawn.save(request.output)
            return code
        text = drawn.svg
    else:
        color = request.output == "-" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        text = draw(grid, board, givens, candidates=marks, color=color)
        if request.output != "-":
            pictures.write_text(request.output, f"{text}\n")
            return code
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return code


def _solve(given: OneInput) -> tuple[np.ndarray, int]:
    """The solved grid, or the puzzle itself where there is none; and the exit status."""
    from jaxsudoku.solvers import driver

    chunk, board, name = given
    screen = Screen(bar=True)
    screen.show("solving ...", now=True)
    check_cache(screen)
    candidates = chunk.candidates_of([0]) if chunk.listed[0] else None
    solution = driver.solve(chunk.grids, board, candidates=candidates)
    screen.clear()
    if solution.status[0] == Status.SOLVED:
        return solution.grids[0], 0
    clash = solution.status[0] == Status.INVALID
    screen.say(f"{name}:{chunk.lines[0]}: {describe_clash(board, chunk.grids[0]) if clash else 'no solution'}")
    return chunk.grids[0], 1


def _left_after(chunk: Chunk, board: Board, rules: str) -> np.ndarray:
    """The candidates bool[side, cells] of the only puzzle of a chunk that its houses, its input and rules leave.

    Args:
      chunk: the puzzle.
      board: the board.
      rules: one of ``config.RULES``.
    """
    (grid,) = chunk.grids
    candidates = allowed_candidates(grid, board)
    candidates &= chunk.candidates_of([0])[0]
    if rules == "none":
        return candidates
    import jax

    from jaxsudoku.core.planes import cubes_to_planes, pad_lanes, planes_to_cubes
    from jaxsudoku.core.propagation import propagate

    def after(cubes: jax.Array) -> jax.Array:
        return planes_to_cubes(propagate(cubes_to_planes(pad_lanes(cubes), board), board, rules), board)

    return np.asarray(jax.jit(after)(candidates[None]))[0]
