"""Benchmark of the parts of an exact search of 9x9 on a device: times of a step and of the passes around it.

Puzzles are on the device, and a part's results stay there. Each part is called a few times without waiting between the
calls, and the median of several such runs is divided by the calls. ``copy`` is the bandwidth that the device reaches,
``to host`` the bandwidth of results to the host, with page-locked memory and without.
``node`` is a step's nodes by ``settle="bands"``, by rounds of the rules; what a round takes is the slope. Its results
are compared with the same rules on numpy arrays. ``planes`` is the same step on planes. The searches are whole, with
results on the device.

    python benchmarks/parts.py --set 17clue --puzzles 1048576 --lanes 262144
    python benchmarks/parts.py --trace benchmarks/out/trace              with a trace of one search for XProf
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import arguments
import checking
import machine
import numpy as np
import report
import sets

_COLUMNS = (("part", 22, "<"), ("first s", 8, ">"), ("ms", 10, ">"), ("", 40, "<"))


def timed(function: Callable[..., Any], *given: Any, calls: int, repeat: int) -> tuple[dict[str, float], Any]:
    """Seconds of the first call, which compiles, and of a later one; and the results."""
    import jax

    import jaxsudoku as js

    jitted = jax.jit(function, compiler_options=js.compiler_options())
    start = time.perf_counter()
    found = jax.block_until_ready(jitted(*given))
    first, runs = time.perf_counter() - start, []
    for _ in range(repeat):
        start = time.perf_counter()
        jax.block_until_ready([jitted(*given) for _ in range(calls)])
        runs.append((time.perf_counter() - start) / calls)
    return {"first_s": first, "seconds": statistics.median(runs)}, found


def to_host(words: Any, page_locked: bool, repeat: int) -> dict[str, float]:
    """Seconds of the first and of a later copy of a device's array to the host."""
    import jax

    from jaxsudoku.runtime import host_arrays

    runs = []
    for number in range(1 + repeat):
        source = jax.block_until_ready(words + np.uint32(number))  # JAX keeps the host's copy of an array
        start = time.perf_counter()
        host_arrays.fetched(source, page_locked)
        runs.append(time.perf_counter() - start)
    return {"first_s": runs[0], "seconds": statistics.median(runs[1:])}


def parts(puzzles: np.ndarray, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The figures of each part, most important first."""
    import jax
    import jax.numpy as jnp

    import jaxsudoku as js
    from jaxsudoku import exact
    from jaxsudoku.exact import ExactConfig, band_nodes, plane_nodes
    from jaxsudoku.exact.plan import StackPlan
    from jaxsudoku.solvers import judging

    measured = functools.partial(timed, calls=args.calls, repeat=args.repeat)
    board, placed = js.Board.classic(9), jax.device_put(puzzles)
    settings = {"lanes": args.lanes, "settle": "xla"}
    by_planes = StackPlan(board, 1, ExactConfig(**settings).resolve(board, "cpu"))
    plan = dataclasses.replace(by_planes, config=dataclasses.replace(by_planes.config, settle="bands"))
    lanes, nodes = plan.lanes, min(plan.lanes, len(puzzles))

    words = jnp.arange(args.copied // 4, dtype=jnp.uint32)
    figures, _ = measured(lambda words: words + 1, words)
    yield {"part": "copy", **figures, "note": f"{2 * args.copied / figures['seconds'] / 1e9:,.0f} GB/s"}
    for page_locked in (True, False):
        figures = to_host(words, page_locked, args.repeat)
        name = "to host, page-locked" if page_locked else "to host"
        yield {"part": name, **figures, "note": f"{args.copied / figures['seconds'] / 1e9:,.1f} GB/s"}
    for settle in args.settle:
        search = functools.partial(exact.search, lanes=lanes, settle=settle)
        figures, found = measured(search, placed)
        right = checking.rightly_solved(puzzles, np.asarray(found.grids), board).sum()
        note = f"{len(puzzles) / figures['seconds']:,.0f} puzzles/s, {right:,} of {len(puzzles):,} solved"
        yield {"part": f"search, {settle}", **figures, "solved": int(right), "note": note}
    solved = found
    figures, (roots, _) = measured(functools.partial(band_nodes.roots, plan, excluded=None), placed)
    yield {"part": "roots", **figures, "note": ""}
    owners = jnp.arange(len(puzzles), dtype=jnp.uint32)[None]
    columns = jnp.pad(jnp.concatenate([roots, owners]), ((0, 0), (0, lanes)))
    taken = columns, jnp.int32(0), jnp.int32(nodes)
    for rounds in (plan.config.rounds, 1, 2, 8):
        by_rounds = dataclasses.replace(plan, config=dataclasses.replace(plan.config, rounds=rounds))
        figures, (popped, _) = measured(functools.partial(band_nodes.pop, by_rounds), *taken)
        equal = _equal(by_rounds, popped, np.asarray(roots[:, :nodes]))
        yield {"part": f"node, {rounds} rounds", **figures, "equal": equal, "note": "equal" if equal else "NOT EQUAL"}
    figures, (roots, _) = measured(functools.partial(plane_nodes.roots, by_planes, excluded=None), placed[:lanes])
    live = jnp.ones(lanes, bool)
    figures, _ = measured(lambda nodes: plane_nodes.settle(by_planes, nodes, None, live, None), roots)
    yield {"part": "planes, 4 rounds", **figures, "note": ""}
    solutions = jnp.zeros((band_nodes.solution_words(plan), len(puzzles)), jnp.uint32)
    figures, _ = measured(functools.partial(band_nodes.decode, plan), solutions)
    yield {"part": "grids", **figures, "note": ""}
    answer = js.Solution(solved.grids, solved.status, solved.iterations, {})
    figures, _ = measured(lambda answer: judging.judge(placed, answer), answer)
    yield {"part": "judge", **figures, "note": ""}
    if args.trace:
        traced = jax.jit(functools.partial(exact.search, lanes=lanes, settle=args.settle[0]))
        jax.block_until_ready(traced(placed))
        with jax.profiler.trace(args.trace):
            jax.block_until_ready(traced(placed))


def _equal(plan: Any, popped: Any, roots: np.ndarray) -> bool:
    """Whether nodes are what the same rules make of their roots on numpy arrays."""
    from jaxsudoku.core.bands import NO_LITERAL, SOLVED, Bands

    def in_steps(start: int, stop: int, function: Any, state: Any) -> Any:
        return functools.reduce(lambda state, number: function(number, state), range(start, stop), state)

    bands, count = Bands(plan.board), roots.shape[1]
    words, outcome = bands.settle(list(roots[:-1]), roots[-1], plan.config.rounds, in_steps)
    literal = np.where(outcome == 0, bands.choose(words), NO_LITERAL)
    kept = [np.where(outcome == SOLVED, *pair) for pair in zip(bands.solution(words), words, strict=False)]
    expected = np.stack([*kept, *words[len(kept) :], literal, outcome])
    return np.array_equal(np.concatenate([np.asarray(part)[:, :count] for part in popped]), expected)


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    return report.aligned(
        [row["part"], f"{row['first_s']:,.1f}", f"{row['seconds'] * 1e3:,.3f}", row["note"]], _COLUMNS
    )


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores("all"), [])
    print("\n".join(machine.lines(about)))
    puzzles = sets.wanted(args.set, args.data).resized(args.puzzles).puzzles
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    rows = []
    for row in parts(puzzles, args):
        rows.append(row)
        print(line(row), flush=True)
        if args.json:
            report.save(args.json, {"about": about, "settings": arguments.settings(args), "rows": rows})
    return int(any(row.get("equal") is False or row.get("solved", len(puzzles)) < len(puzzles) for row in rows))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--set", default="17clue", help="a puzzle set by its name (default: 17clue)")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=arguments.size, default=1 << 20, help="puzzles on the device (default: 1048576)")
    add("--lanes", type=arguments.size, default=1 << 18, help="nodes in a step (default: 262144)")
    add("--settle", type=arguments.names, default=["bands", "xla"], help="searches to time (default: bands,xla)")
    add("--copied", type=arguments.size, default=1 << 30, help="bytes of the copy (default: 2**30)")
    add("--calls", type=arguments.size, default=10, help="calls in a run (default: 10)")
    add("--repeat", type=arguments.size, default=5, help="runs of each part (default: 5)")
    add("--trace", help="folder for a trace of one search")
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
