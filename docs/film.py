"""A batch of puzzles being solved, round by round, as an animated picture.

Each board is a lane of one batch of 32. A frame is a round of the rules on all lanes at once. A lane in which the rules
remove nothing more tries a candidate of a cell with fewest; one with a contradiction goes back to its last choice.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np
from drawing import box, label, picture

import jaxsudoku as js

#: Boards, and how they are laid out, in units of the picture.
_ACROSS, _DOWN = 8, 4
_LANES, _CELL, _GAP, _TOP = _ACROSS * _DOWN, 11, 9, 46
_BOARD = 9 * _CELL
_SECONDS, _HELD = 0.3, 16  # of a frame; frames that the end is shown for

#: A time span: the frame from which something is seen, and the one from which it is not; None for the end.
_Span = tuple[int, int | None]


@dataclasses.dataclass
class _Frame:
    """The batch after a round.

    Attributes:
      digits: uint8[32, 81], the digit of each cell with one candidate, 0 elsewhere.
      tried: bool[32, 81], cells whose digit is a choice that holds so far.
      dead, solved: bool[32], lanes with a contradiction, and lanes that are solved.
    """

    digits: np.ndarray
    tried: np.ndarray
    dead: np.ndarray
    solved: np.ndarray


@functools.partial(jax.jit, compiler_options=js.compiler_options())
def _round(cubes: Any) -> tuple[Any, ...]:
    """A round of the rules on candidates bool[32, 9, 81]; and the contradictory and the solved lanes, bool[32]."""
    left = js.propagate(js.planes.cubes_to_planes(cubes), rounds=1)
    return js.planes.planes_to_cubes(left), *map(js.planes.unpack_lanes, js.outcome(left))


def _frames(puzzles: np.ndarray) -> Iterator[_Frame]:
    """The batch at the start, and after each round until all lanes are solved."""
    lanes = np.asarray(jax.jit(js.planes.grids_to_cubes)(puzzles))
    tried, choices = np.zeros(puzzles.shape, bool), [[] for _ in puzzles]
    yield _Frame(puzzles, tried.copy(), np.zeros(_LANES, bool), np.zeros(_LANES, bool))
    solved = np.zeros(_LANES, bool)
    while not solved.all():
        left, dead, solved = map(np.array, _round(lanes))
        digits = np.where(left.sum(axis=1) == 1, left.argmax(axis=1) + 1, 0)
        yield _Frame(digits, tried.copy(), dead, solved)
        for lane in np.flatnonzero(dead):
            left[lane], tried[lane] = choices[lane].pop()
        for lane in np.flatnonzero(~dead & ~solved & (left == lanes).all(axis=(1, 2))):
            number = left[lane].sum(axis=0)
            digit, cell = np.argwhere(left[lane] & (number == number[number > 1].min()))[0]
            other = left[lane].copy()
            other[digit, cell] = False
            choices[lane].append((other, tried[lane].copy()))
            left[lane, :, cell] = np.arange(9) == digit
            tried[lane, cell] = True
        lanes = left


def _spans(values: Iterable[Any]) -> Iterator[tuple[_Span, Any]]:
    """The time spans of equal values, without those of values that are false."""
    runs = [(value, len(list(run))) for value, run in itertools.groupby(values)]
    start = 0
    for number, (value, length) in enumerate(runs):
        if value:
            yield (start, None if number == len(runs) - 1 else start + length), value
        start += length


def _place(lane: int, cell: int = 0) -> tuple[int, int]:
    """The upper left corner of a cell."""
    x, y = lane % _ACROSS * (_BOARD + _GAP) + _GAP, lane // _ACROSS * (_BOARD + _GAP) + _TOP
    return x + cell % 9 * _CELL, y + cell // 9 * _CELL


def _square(lane: int, cell: int) -> str:
    x, y = _place(lane, cell)
    return f"M{x} {y}h{_CELL}v{_CELL}h-{_CELL}z"


def batch() -> str:
    """The picture: 32 of the puzzles that ship with the library."""
    puzzles = js.load("9x9")[:_LANES]
    frames = list(_frames(puzzles))
    assert (frames[-1].digits == js.solve(puzzles).grids).all()
    count = len(frames)
    digits: dict[tuple[_Span, str], dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    squares: dict[tuple[_Span, str], list[str]] = defaultdict(list)
    for lane, cell in itertools.product(range(_LANES), range(81)):
        x, y = _place(lane, cell)
        for span, digit in _spans(int(frame.digits[lane, cell]) for frame in frames):
            kind = "ink" if puzzles[lane, cell] else "blue"
            digits[span, kind][y].append((x, digit))
            if span[0]:
                squares[(span[0], span[0] + 1), "one"].append(_square(lane, cell))
        for span, _ in _spans(bool(frame.tried[lane, cell]) for frame in frames):
            squares[span, "three"].append(_square(lane, cell))
    boards: dict[tuple[_Span, str], list[str]] = defaultdict(list)
    for lane in range(_LANES):
        x, y = _place(lane)
        whole = f"M{x} {y}h{_BOARD}v{_BOARD}h-{_BOARD}z"
        for span, _ in _spans(bool(frame.dead[lane]) for frame in frames):
            boards[span, "clash"].append(whole)
        for span, _ in _spans(bool(frame.solved[lane]) for frame in frames):
            boards[span, "two"].append(whole)

    spans = {span for span, _ in [*digits, *squares, *boards]} | {(k, k + 1) for k in range(count - 1)}
    spans |= {(count - 1, None)}

    def filled(shapes: dict[tuple[_Span, str], list[str]]) -> Iterator[str]:
        for (span, role), paths in sorted(shapes.items(), key=lambda item: (item[0][1], str(item[0][0]))):
            yield f'<path class="{_name(span)} {role}" d="{"".join(paths)}"/>'

    def parts() -> Iterator[str]:
        heading = "32 puzzles at once: every round of the rules is a few operations on all of them"
        yield label(_GAP, 22, heading, 16, "start")
        yield from filled(boards)
        yield from filled(squares)
        yield f'<path class="faint-line" stroke-width=".5" d="{"".join(map(_thin, range(_LANES)))}"/>'
        yield f'<path class="ink-line" stroke-width="1.1" d="{"".join(map(_thick, range(_LANES)))}"/>'
        for (span, kind), rows in sorted(digits.items(), key=str):
            yield f'<g class="{_name(span)} d {kind}{" given" * (kind == "ink")}">'
            for y, row in sorted(rows.items()):
                places = " ".join(f"{x + _CELL / 2:g}" for x, _ in row)
                yield f'<text x="{places}" y="{y + _CELL / 2 + 0.5:g}">{"".join(str(digit) for _, digit in row)}</text>'
            yield "</g>"
        yield from _legend(frames)

    width, height = _ACROSS * (_BOARD + _GAP) + _GAP, _DOWN * (_BOARD + _GAP) + _TOP + 34
    title = f"A batch of 32 puzzles filling in, round by round: all are solved after {count - 1} rounds"
    return picture(width, height, title, *parts(), style=_animations(spans, count))


def _legend(frames: list[_Frame]) -> Iterator[str]:
    """What the colours mean, and the counts of each frame."""
    y = _DOWN * (_BOARD + _GAP) + _TOP + 14
    x = _GAP
    for role, text in (("one", "new"), ("three", "tried"), ("clash", "contradiction: go back"), ("two", "solved")):
        yield box(x, y - 7, 14, 14, role) + label(x + 20, y, text, 13, "start")
        x += 46 + 7 * len(text)
    right = _ACROSS * (_BOARD + _GAP)
    for number, frame in enumerate(frames):
        last = number == len(frames) - 1
        text = (
            f"round {number}: {np.count_nonzero(frame.digits):,} of {_LANES * 81:,} cells, {frame.solved.sum()} solved"
        )
        yield f'<g class="{_name((number, None if last else number + 1))}">{label(right, y, text, 13, "end")}</g>'


def _thin(lane: int) -> str:
    x, y = _place(lane)
    lines = (f"M{x} {y + k * _CELL}h{_BOARD}M{x + k * _CELL} {y}v{_BOARD}" for k in range(1, 9) if k % 3)
    return "".join(lines)


def _thick(lane: int) -> str:
    x, y = _place(lane)
    return "".join(f"M{x} {y + k * _CELL}h{_BOARD}M{x + k * _CELL} {y}v{_BOARD}" for k in range(0, 10, 3))


def _name(span: _Span) -> str:
    """The class of what is seen in a time span."""
    return f"s{span[0]}" if span[1] is None else f"s{span[0]}-{span[1]}"


def _animations(spans: Iterable[_Span], count: int) -> str:
    """The rules of style that show each class in its time span; without motion the end is shown."""
    whole = count + _HELD
    rules = [".d{font-size:8.5px;text-anchor:middle}.d text{font-family:monospace}.given{font-weight:bold}"]
    moving = []
    for start, end in sorted(spans, key=str):
        name = _name((start, end))
        if end is not None:
            rules.append(f".{name}{{opacity:0}}")
        if (start, end) == (0, None):
            continue
        at = [f"{100 * start / whole:.3f}%{{opacity:1}}"]
        at += [] if start == 0 else ["0%{opacity:0}"]
        at += [] if end is None else [f"{100 * end / whole:.3f}%,100%{{opacity:0}}"]
        moving.append(
            f"@keyframes {name}{{{''.join(at)}}}.{name}{{animation:{name} {whole * _SECONDS:g}s step-end infinite}}"
        )
    return f"{''.join(rules)}@media(prefers-reduced-motion:no-preference){{{''.join(moving)}}}"
