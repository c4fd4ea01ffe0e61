"""Charts of figures in benchmarks/results, as SVG."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from drawing import label, picture

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"

#: Puzzles a second by the number of puzzles in a call, and peers in the same run, on one core.
_BATCHES = "2026-11-30-one-core-batches-jax0.12.json"
#: One GPU.
_GPU = "2026-11-27-h200-jax0.11.json"
#: What the author of fastdoku says of 16 threads of a Ryzen 5700X, by set. Nothing of it was measured here.
_FASTDOKU = {"17clue": 8.05e6, "hardest_se11": 595e3}
_SETS = {"17clue": "17-clue puzzles", "hardest_se11": "the hardest, Sudoku Explainer 11 or more"}

#: Shares that are solved by the network, with up to 32 runs: the file, and the names of its sets in the chart.
_DECODED = {
    "2026-11-26-one-core-decoding-jax0.10.json": {
        "kaggle3m_rated": "Kaggle, rated",
        "magictour_top1465": "magictour",
    },
    "2026-11-30-one-core-decoding-se11-jax0.12.json": {"hardest_se11": "hardest, rated 11 or more"},
}

#: The bare protocol: the file, and the names of its sets in the chart, with the place of each name.
_ALONE = "2026-12-01-one-core-alone-jax0.10.json"
_ALONE_SETS = {
    "minimal": ("unbiased minimal", "blue", 100, 0.72),
    "proxy": ("proxy of Sudoku-Extreme", "green", 100, 0.62),
    "se11": ("SE 11 or more", "orange", 160, 0.2),
}
#: What authors say of Sudoku-Extreme, by iterations or steps, with the number of parameters. Nothing was measured here.
_PUBLISHED = (("chenglou, 0.8M", ((16, 0.818), (1024, 0.989))), ("SE-RRM, 2M", ((16, 0.937), (128, 0.9884))))

Point = tuple[float, float]


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


@dataclasses.dataclass(frozen=True)
class Axes:
    """A rectangle of the picture that shows values, on a linear or logarithmic axis each.

    Attributes:
      left, top, width, height: the rectangle.
      across, up: the lowest and the highest value of each axis.
      logs: whether each axis is logarithmic.
    """

    left: float
    top: float
    width: float
    height: float
    across: Point
    up: Point
    logs: tuple[bool, bool] = (True, True)

    def x(self, value: float) -> float:
        return self.left + self.width * _share(value, self.across, self.logs[0])

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - _share(value, self.up, self.logs[1]))

    def frame(self, xs: Iterable[tuple[float, str]], ys: Iterable[tuple[float, str]]) -> Iterator[str]:
        """The ticks with their texts, and lines of the grid."""
        for value, text in ys:
            yield f'<path class="box-line" d="M{self.left:g} {self.y(value):.1f}h{self.width:g}"/>'
            yield label(self.left - 8, self.y(value), text, 13, "end")
        for value, text in xs:
            yield f'<path class="box-line" d="M{self.x(value):.1f} {self.top:g}v{self.height:g}"/>'
            yield label(self.x(value), self.top + self.height + 16, text, 13)
        yield f'<path class="faint-line" d="M{self.left:g} {self.top:g}v{self.height:g}h{self.width:g}"/>'

    def curve(self, points: Sequence[Point], colour: str, dots: bool = True) -> Iterator[str]:
        """A line through points, and a dot at each."""
        places = [(self.x(x), self.y(y)) for x, y in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        yield f'<path class="{colour}-line" stroke-width="2.5" stroke-linejoin="round" d="M{path}"/>'
        for x, y in places if dots else ():
            yield f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'

    def level(self, value: float, colour: str, dashes: str) -> str:
        """A horizontal line through the whole rectangle."""
        line = f'd="M{self.left:g} {self.y(value):.1f}h{self.width:g}"'
        return f'<path class="{colour}-line" stroke-width="2" stroke-dasharray="{dashes}" {line}/>'


def _share(value: float, ends: Point, logarithmic: bool) -> float:
    if logarithmic:
        value, ends = math.log(value), (math.log(ends[0]), math.log(ends[1]))
    return (value - ends[0]) / (ends[1] - ends[0])


def short(value: float) -> str:
    """A number with two or three digits: 640k, 6.7M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _rate(rows: Sequence[dict[str, Any]]) -> float:
    """A peer's puzzles a second: the best of its rows with at least half of the most puzzles."""
    most = max(row["puzzles"] for row in rows)
    return max(row["puzzles_per_s"] for row in rows if 2 * row["puzzles"] >= most)


def throughput() -> str:
    """Puzzles a second by the number of puzzles in a call: the CPU's curve, peers, the GPU's figures."""
    about, rows = (_read(_BATCHES)[part] for part in ("about", "rows"))
    gpu = [row for part in _read(_GPU)["parts"].values() for row in part.get("rows", ())]

    def panel(left: float, name: str) -> Iterator[str]:
        axes = Axes(left, 62, 350, 330, (1, 4e6), (100, 1e8))
        decades = [(10.0**power, short(10.0**power)) for power in range(9)]
        yield label(left + 175, 40, _SETS[name], 16)
        yield from axes.frame(decades[:7], decades[2:])
        yield label(left + 175, 432, "puzzles in one call", 14)
        mine = [row for row in rows if row["set"] == name]
        peers = (("tdoku", "orange", "7 4", 6, "start"), ("minisat22", "red", "2 4", 350, "end"))
        for peer, colour, dashes, shift, anchor in peers:
            rate = _rate([row for row in mine if row["by"] == peer])
            yield axes.level(rate, colour, dashes)
            yield label(left + shift, axes.y(rate) - 10, f"{peer}, one core: {short(rate)}", 13, anchor, colour)
        claim = _FASTDOKU[name]
        yield axes.level(claim, "muted", "1 4")
        yield label(left + 6, axes.y(claim) + 12, f"fastdoku, 16 threads (claim): {short(claim)}", 13, "start", "muted")
        points = sorted((row["puzzles"], row["puzzles_per_s"]) for row in mine if row["by"] == "exact")
        yield from axes.curve(points, "blue")
        best = max(points)[1]  # at the largest size
        yield label(left + 350, axes.y(best) - 14, f"jaxsudoku, one core: {short(best)}", 13, "end", "blue strong")
        for resident, text, below in ((True, "jaxsudoku, H200, data on it", -14), (False, "H200", 17)):
            wanted = {"set": name, "resident": resident, "options": "", "limit": 0}
            points = sorted((row["puzzles"], row["puzzles_per_s"]) for row in gpu if row.items() >= wanted.items())
            yield from axes.curve(points, "green")
            x, y = axes.x(points[-1][0]) + 8, axes.y(points[-1][1]) + below
            yield label(x, y, f"{text}: {short(points[-1][1])}", 13, "end", "green strong")

    versions = f"{about['cpu']}, jax {about['versions']['jax']}"
    conditions = f"One core: {versions}, {about['date'][:10]}. H200: jax 0.11.2, 2026-11-27."
    texts = [
        label(60, 16, "Puzzles solved a second, every grid checked", 18, "start"),
        label(60, 458, conditions, 12, "start", "muted"),
    ]
    title = (
        "Puzzles a second against the puzzles in a call, for 17-clue and for the hardest puzzles: jaxsudoku on one "
        "core and on an H200 GPU, tdoku and minisat on one core, and the claim of fastdoku"
    )
    return picture(870, 474, title, *texts, *panel(60, "17clue"), *panel(500, "hardest_se11"))


def accuracy() -> str:
    """The share of puzzles that are solved within so many calls of the shipped network."""
    axes = Axes(70, 56, 770, 300, (0.5, 2048), (0, 1), (True, False))
    marks = iter((("green", 1.55, 0.868), ("blue", 10, 0.73), ("orange", 110, 0.38)))

    def parts() -> Iterator[str]:
        heading = "Solved within so many calls of the shipped network, which has 50,400 parameters"
        yield label(70, 26, heading, 18, "start")
        calls = [(0.5, "0"), *((2.0**power, f"{2**power:,}") for power in range(0, 12, 2))]
        yield from axes.frame(calls, [(share / 100, f"{share}%") for share in range(0, 101, 20)])
        yield label(455, 396, "calls of the network for a puzzle; 0: the rules alone", 14)
        for file, names in _DECODED.items():
            for row in _read(file)["rows"]:
                if row["set"] not in names or row["runs"] != 32:
                    continue
                colour, x, y = next(marks)
                shares = {int(number): share for number, share in row["solved_within_calls"].items()}
                yield from axes.curve([(number or 0.5, share) for number, share in sorted(shares.items())], colour)
                text = f"{names[row['set']]}: {100 * row['solved']:.3g}% of {row['puzzles']:,}"
                yield label(axes.x(x), axes.y(y), text, 14, "start", f"{colour} strong")
        text = (
            "The rules; where they stop, the cell that the network is surest of. Up to 32 runs a puzzle, "
            "every grid checked."
        )
        yield label(70, 424, text, 12, "start", "muted")

    title = "The share of three sets of puzzles that the shipped network solves, by its calls for a puzzle"
    return picture(870, 440, title, *parts())


def alone() -> str:
    """The share of boards that ``cube-bare`` fills right by itself, by iterations and by seconds."""
    reports = _read(_ALONE)
    shares = [(share / 100, f"{share}%") for share in range(0, 101, 20)]
    looks = Axes(70, 62, 350, 320, (16, 1024), (0, 1), (True, False))
    clock = Axes(500, 62, 350, 320, (0.003, 1), (0, 1), (True, False))

    def parts() -> Iterator[str]:
        yield label(245, 26, "one run of so many iterations", 16)
        yield from looks.frame([(2.0**power, f"{2**power:,}") for power in (4, 6, 8, 10)], shares)
        yield label(245, 422, "iterations", 14)
        yield label(675, 26, "until a grid is right", 16)
        yield from clock.frame([(10.0**power, f"{10.0**power:g} s") for power in range(-2, 1)], shares)
        yield label(675, 422, "mean seconds for a puzzle on one core", 14)
        for author, points in _PUBLISHED:
            yield from looks.curve(points, "muted")
            x, y = points[-1]
            yield label(looks.x(x) - 4, looks.y(y) - 12, author, 12, "end", "muted")
        for name, (text, colour, x, y) in _ALONE_SETS.items():
            report = reports[name]
            pace = report["seconds"] / report["puzzles"] / report["scores"][-1]["iterations"]  # seconds an iteration
            yield from looks.curve([(score["iterations"], score["boards"]) for score in report["scores"]], colour)
            yield label(looks.x(x), looks.y(y), text, 13, "start", f"{colour} strong")
            yield from clock.curve([(score["spent"] * pace, score["checked"]) for score in report["scores"]], colour)
        text = "Grey: what the authors say of Sudoku-Extreme, which was not at hand. SE: Sudoku Explainer's rating."
        yield label(70, 446, text, 12, "start", "muted")

    title = "The share of boards that the network fills right alone, by its iterations, and by seconds for a puzzle"
    return picture(870, 462, title, *parts())
