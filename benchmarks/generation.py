"""Benchmark of generation: puzzles per second, without compile time; each is proved to have exactly one solution.

    python benchmarks/generation.py [--cores 1] [--puzzles 32768] [--repeat 3] [--settings minimal,24:34] [--json FILE]

Settings are "minimal", a number or range of clues ("24:34"), or a rating ("rating=20:"), each preceded by the board if
it is not 9x9 ("16/110", "diagonal/minimal").
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import machine
import report


def parse(setting: str) -> tuple[str, dict[str, Any]]:
    """The board's name, and the arguments of ``js.generate``."""
    board, _, text = setting.rpartition("/")
    if text == "minimal":
        return board or "9", {}
    name, _, values = text.rpartition("=")
    number = float if name else int
    ends = tuple(number(value) if value else None for value in values.split(":"))
    return board or "9", {name or "clues": ends if len(ends) > 1 else ends[0]}


def measure(setting: str, puzzles: int, repeat: int) -> dict[str, Any]:
    """Seconds of the first call, which compiles, and of later calls; every puzzle is checked."""
    import jaxsudoku as js
    from jaxsudoku.generation import GenerateConfig, Generator

    name, settings = parse(setting)
    board = js.Board.named(name)
    generator = Generator(0, board, GenerateConfig(**settings))
    seconds, clues, ratings = [], [], []
    for run in range(repeat + 1):
        began = time.perf_counter()
        made = generator.make(run * puzzles, puzzles)
        seconds.append(time.perf_counter() - began)
        proper = js.count_solutions(made.puzzles, board, limit=2) == 1
        solved = (js.solve(made.puzzles, board).grids == made.solutions).all(axis=1)
        assert proper.all() and solved.all(), f"{(~(proper & solved)).sum()} of {puzzles} puzzles are wrong"
        clues.append(float(made.clues.mean()))
        ratings.append(float(made.rating.mean()))
    first, *later = seconds
    return {
        "settings": setting,
        "board": str(board),
        "puzzles": puzzles,
        "first_seconds": first,
        "seconds": later,
        "puzzles_per_second": puzzles / statistics.median(later),
        "mean_clues": statistics.fmean(clues),
        "mean_rating": statistics.fmean(ratings),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", default="all", help="cores to keep to (default: all)")
    parser.add_argument("--puzzles", type=int, default=32768)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--settings", default="minimal,24:34")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    about = machine.describe(machine.keep_to_cores(options.cores), ())
    print("\n".join(machine.lines(about)))
    results = []
    for setting in options.settings.split(","):
        result = measure(setting, options.puzzles, options.repeat)
        results.append(result)
        print(
            f"{setting:<16} {result['puzzles']:>9,} puzzles, first {result['first_seconds']:.1f} s, then "
            f"{result['puzzles_per_second']:>9,.0f}/s; {result['mean_clues']:.1f} clues, rating "
            f"{result['mean_rating']:.2f}",
            flush=True,
        )
        if options.json:
            report.save(options.json, {"about": about, "results": results})


if __name__ == "__main__":
    main()
