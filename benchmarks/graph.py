"""Graph search: placements before its first error, and the effect of transpositions.

Every puzzle is played by graph search alone: a search, its best placement, the next search, without backtracking, until
the puzzle is solved or a placement is wrong. The table has the share of open cells that were filled correctly before
the first error, and the share of boards without an error. A search that finds a solution ends the game with it.

Both are measured with and without transpositions, at equal simulations, with the numbers of nodes and transposition
hits.

    python benchmarks/graph.py --set 17clue --puzzles 1000 --simulations 32 --rules none
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checking
import machine
import numpy as np
import report
import sets

_COLUMNS = (
    ("transpositions", 14, "<"),
    ("puzzles", 7, ">"),
    ("boards", 7, ">"),
    ("cells", 7, ">"),
    ("moves", 7, ">"),
    ("moves right", 11, ">"),
    ("nodes", 8, ">"),
    ("known again", 11, ">"),
    ("nodes/puzzle", 12, ">"),
    ("seconds", 8, ">"),
)


def mover(board: Any, config: Any, network: Any) -> Callable[..., Any]:
    """A move of every game: (parameters, positions, which are playing) to the next positions and graphs."""
    import jax
    import jax.numpy as jnp

    import jaxsudoku as js
    from jaxsudoku import env
    from jaxsudoku.planes import select
    from jaxsudoku.solvers.tree import graph

    evaluate = graph.by_network(board, config, network)

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def move(params: Any, state: Any, playing: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
        lane = jnp.arange(len(state.cell))
        state = state._replace(refuted=state.refuted | ~playing)  # these are not evaluated
        grown = graph.grow(board, config, evaluate, params, evaluate(params, state, jnp.zeros(len(lane), jnp.uint32)))
        found = grown.state.solved.any(axis=1)
        answer = jax.tree.map(lambda leaf: leaf[lane, grown.state.solved.argmax(axis=1)], grown.state)
        placement = jnp.maximum(grown.move[lane, 0, graph.best(grown)], 0)
        stepped = env.place(state, placement, board, config.rules)
        after = select(found, answer, stepped)
        return after, found, placement, grown.size, grown.hits, env.grids(after, board)

    return move


def play(
    board: Any, rules: str, move: Callable[..., Any], params: Any, puzzles: np.ndarray, truth: np.ndarray
) -> dict[str, float]:
    """The games of puzzles, each with one solution ``truth``, all uint8[N, cells]."""
    import jax

    import jaxsudoku as js
    from jaxsudoku import env

    root = jax.jit(functools.partial(env.init, board=board, rules=rules), compiler_options=js.compiler_options())
    state = root(puzzles)
    before = np.asarray(jax.jit(functools.partial(env.grids, board=board))(state))
    rows = np.arange(len(puzzles))
    playing = ~np.asarray(state.terminated)
    right = np.where(playing, (before > 0).sum(axis=1), board.cells)
    boards = np.array(state.solved)
    totals = dict.fromkeys(("moves", "right_moves", "nodes", "again"), 0)
    start = time.perf_counter()
    while playing.any():
        state, found, placement, size, again, grids = (
            jax.tree.map(np.asarray, part) for part in move(params, state, playing)
        )
        digit, cell = np.divmod(placement, board.cells)
        good = found | (truth[rows, cell] == digit + 1)
        totals["moves"] += int(playing.sum())
        totals["right_moves"] += int((playing & good).sum())
        totals["nodes"] += int(size[playing].sum())
        totals["again"] += int(again[playing].sum())
        filled = ((grids > 0) & (grids == truth)).sum(axis=1)
        right = np.where(playing & good, filled, right)
        boards |= playing & state.solved & checking.rightly_solved(puzzles, grids)
        playing &= good & ~state.solved & ~state.refuted
    given = (puzzles > 0).sum(axis=1)
    return {
        "puzzles": len(puzzles),
        "boards": float(boards.mean()),
        "cells": float(((right - given) / np.maximum(board.cells - given, 1)).mean()),
        **totals,
        "seconds": time.perf_counter() - start,
    }


def line(transpositions: bool, found: dict[str, float]) -> str:
    """A row of the table."""
    return report.aligned(
        [
            "with" if transpositions else "without",
            f"{found['puzzles']:,}",
            f"{found['boards']:.1%}",
            f"{found['cells']:.1%}",
            f"{found['moves']:,}",
            f"{found['right_moves'] / max(found['moves'], 1):.1%}",
            f"{found['nodes']:,}",
            f"{found['again']:,}",
            f"{found['nodes'] / found['puzzles']:,.1f}",
            f"{found['seconds']:,.1f}",
        ],
        _COLUMNS,
    )


def main() -> int:
    args = _parse()
    import jax

    import jaxsudoku as js
    from jaxsudoku.solvers.tree import McgsConfig

    about = machine.describe(machine.keep_to_cores("all"), ["flax"])
    print("\n".join(machine.lines(about)))
    puzzle_set = sets.wanted(args.set, args.data)
    puzzles = np.random.default_rng(0).permutation(puzzle_set.puzzles)[: args.puzzles]
    exact = js.solve(puzzles)
    if not (exact.status == js.Status.SOLVED).all():
        print(f"graph: {args.set} has puzzles without a solution", file=sys.stderr)
        return 2
    network = js.load_network(args.network, **({} if args.iterations is None else {"iterations": args.iterations}))
    print(f"set {args.set}, rules {args.rules}, {args.simulations} simulations a move, {network.apply.config}\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    board, rows = js.Board.classic(), []
    for transpositions in (choice == "with" for choice in args.transpositions):
        config = McgsConfig(rules=args.rules, simulations=args.simulations, transpositions=transpositions)
        config = config.resolve(board, jax.default_backend())
        blocks = [slice(start, start + args.batch) for start in range(0, len(puzzles), args.batch)]
        move = mover(board, config, network)
        parts = [play(board, args.rules, move, network.params, puzzles[part], exact.grids[part]) for part in blocks]
        rows.append({"transpositions": transpositions, **_together(parts)})
        print(line(transpositions, rows[-1]), flush=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return 0


def _together(parts: list[dict[str, float]]) -> dict[str, float]:
    """Sums, and means over all puzzles."""
    weights = [part["puzzles"] for part in parts]
    means = {name: float(np.average([part[name] for part in parts], weights=weights)) for name in ("boards", "cells")}
    return {name: sum(part[name] for part in parts) for name in parts[0]} | means


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--set", default="17clue", help="a puzzle set by its name (default: 17clue)")
    add("--data", help="folder of puzzle sets")
    add("--puzzles", type=int, default=1000, help="number of puzzles, drawn at random (default: 1000)")
    add("--batch", type=int, default=256, help="puzzles played together (default: 256)")
    add("--rules", default="none", help="what is deduced after every move (default: none)")
    add("--simulations", type=int, default=32, help="simulations a move (default: 32)")
    add(
        "--transpositions",
        type=lambda text: text.split(","),
        default=["with", "without"],
        help="with, without, or both (default)",
    )
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=int, help="iterations of the network, if it has any")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if unknown := [name for name in args.transpositions if name not in ("with", "without")]:
        parser.error(f"--transpositions: with or without was expected, not {', '.join(unknown)}")
    return args


if __name__ == "__main__":
    sys.exit(main())
