"""Tree searches by batch: puzzles, grids and network calls a second, memory beside its prediction; and overhead.

A run is one call of the compiled solver with a batch of puzzles, each in its own lane, from the device to the
device; its grids are checked by numpy alone. Batches take turns, and figures are medians. Memory is what the compiled
program allocates while it runs, beside the library's prediction for the trees of all lanes.

    python benchmarks/search.py --set 17clue --solvers gumbel,mcts --batch 64,256,1024 --option simulations=16

``--overhead`` compares tree searches with mctx's own policies of the same shape, in turns. Moves and evaluations cost
next to nothing there, so the time is that of the search itself and of the library's proofs.

    python benchmarks/search.py --overhead --batch 64,1024 --option simulations=32
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import checking
import machine
import numpy as np
import report
import sets

_COLUMNS = (
    ("solver", 12, "<"),
    ("batch", 7, ">"),
    ("compile s", 9, ">"),
    ("median s", 9, ">"),
    ("spread", 7, ">"),
    ("solved", 7, ">"),
    ("puzzles/s", 10, ">"),
    ("grids/s", 10, ">"),
    ("calls/s", 10, ">"),
    ("predicted", 10, ">"),
    ("MiB", 8, ">"),
    ("", 0, "<"),
)

_OVERHEAD = (
    ("policy", 12, "<"),
    ("batch", 7, ">"),
    ("simulations", 11, ">"),
    ("ours ms", 10, ">"),
    ("mctx ms", 10, ">"),
    ("ratio", 6, ">"),
    ("simulations/s", 14, ">"),
)

_MIB = 2**20

#: A run of a compiled program; it returns when the results are there.
Run = Callable[[], Any]

#: Stores the rows so far.
Save = Callable[[list[dict[str, Any]]], None]


def prepare(name: str, puzzles: np.ndarray, options: dict[str, Any], network: Any) -> tuple[dict[str, Any], Run]:
    """The row of a solver on a batch, and the call to time."""
    import jax

    import jaxsudoku as js
    from jaxsudoku import solvers

    board, batch = js.Board.classic(), len(puzzles)
    solver = solvers.get(name)
    config = solvers.make_config(solver, **{"lanes": -(-batch // 32) * 32} | options).resolve(
        board, jax.default_backend()
    )
    shared = (network,) if solver.guided else ()

    def run(puzzles: Any, key: Any, *shared: Any) -> Any:
        return solver.run(board, puzzles, key, config, *shared)

    placed = jax.device_put((puzzles, jax.random.key(0), *shared))
    start = time.perf_counter()
    compiled = jax.jit(run, compiler_options=js.compiler_options()).lower(*placed).compile()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    row = {
        "solver": name,
        "options": options,
        "batch": batch,
        "lanes": config.lanes,
        "compile_s": seconds,
        "runs_s": [],
        "predicted_bytes": config.lanes * config.lane_bytes(board),
        "bytes": memory.temp_size_in_bytes if memory else None,
    }
    return row, lambda: jax.block_until_ready(compiled(*placed))


def measure(row: dict[str, Any], call: Run, puzzles: np.ndarray) -> None:
    """One run, with its grids checked."""
    import jaxsudoku as js

    start = time.perf_counter()
    found = call()
    row["runs_s"].append(time.perf_counter() - start)
    median = row["median_s"] = statistics.median(row["runs_s"])
    claimed = np.asarray(found.status) == js.Status.SOLVED
    right = claimed & checking.rightly_solved(puzzles, np.asarray(found.grids))
    row["solved"], row["wrong"] = int(right.sum()), int((claimed & ~right).sum())
    row["puzzles_per_s"] = len(puzzles) / median
    row["grids_per_s"] = int(np.asarray(found.iterations).sum()) / median
    calls = int(np.sum(found.stats.get("network_calls", 0)))
    row["calls_per_s"] = calls / median


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    median = row["median_s"]
    return report.aligned(
        [
            row["solver"],
            f"{row['batch']:,}",
            f"{row['compile_s']:.1f}",
            f"{median:,.3f}",
            f"{(max(row['runs_s']) - min(row['runs_s'])) / median:.0%}",
            f"{row['solved'] / row['batch']:.1%}",
            f"{row['puzzles_per_s']:,.1f}",
            f"{row['grids_per_s']:,.0f}",
            f"{row['calls_per_s']:,.0f}",
            f"{row['predicted_bytes'] / _MIB:,.1f}",
            f"{row['bytes'] / _MIB:,.1f}" if row["bytes"] else "-",
            f"FAILED: {row['wrong']} wrong" if row["wrong"] else "",
        ],
        _COLUMNS,
    )


# ---------------------------------------------------------------------- overhead


def bare_and_ours(name: str, batch: int, options: dict[str, Any]) -> dict[str, Run]:
    """A search with free moves, by mctx alone and by the library: calls to time."""
    import jax
    import jax.numpy as jnp
    import mctx

    import jaxsudoku as js
    from jaxsudoku import env, solvers
    from jaxsudoku.runtime.random import mix
    from jaxsudoku.solvers.tree import evaluators, policies

    board = js.Board.classic()
    config = solvers.make_config(solvers.get(name), **options)
    alive = jnp.zeros(batch, bool)
    state = env.State(jnp.ones((batch, board.words), jnp.uint32), jnp.zeros(batch, jnp.int32), alive, alive)
    seed = jnp.arange(batch, dtype=jnp.uint32)

    def step(board: Any, state: Any, action: Any, rules: str) -> Any:
        del board, rules
        nodes = state.nodes ^ mix(state.nodes[:, :1] + action[:, None].astype(jnp.uint32))
        return state._replace(nodes=nodes)

    def evaluate(params: Any, state: Any, seed: Any) -> evaluators.Evaluation:
        del params, seed
        drawn = mix(state.nodes[:, : board.side]).astype(jnp.float32) * jnp.float32(2**-32)
        one = jnp.ones(batch, jnp.int32)
        return evaluators.Evaluation(state, drawn, drawn[:, 0], None, state.solved, one, one)

    think = getattr(policies, name)(board, config, evaluate)
    policy = {
        "gumbel": functools.partial(
            mctx.gumbel_muzero_policy,
            max_num_considered_actions=min(getattr(config, "considered", 0), board.side),
            gumbel_scale=0.0,
        ),
        "alphasudoku": functools.partial(mctx.muzero_policy, dirichlet_fraction=0.0, temperature=0.0),
    }[name]

    def ours(state: Any, seed: Any) -> Any:
        with mock.patch.object(env, "step", step):
            thought = think((), evaluate((), state, seed), seed)
        return thought.move, thought.tree.children_visits

    def bare(state: Any, seed: Any) -> Any:
        root = evaluate((), state, seed)

        def expand(params: Any, key: Any, move: Any, state: Any) -> Any:
            after = step(state, move, board, config.rules)
            known = evaluate(params, after, seed)
            return mctx.RecurrentFnOutput(
                reward=jnp.zeros(batch), discount=jnp.ones(batch), prior_logits=known.logits, value=known.value
            ), after

        with jax.numpy_dtype_promotion("standard"):
            made = policy(
                (),
                jax.random.key(0),
                mctx.RootFnOutput(prior_logits=root.logits, value=root.value, embedding=root.state),
                expand,
                config.simulations,
                invalid_actions=jnp.zeros((batch, board.side)),
            )
        return made.action, made.search_tree.children_visits

    def call(function: Callable[..., Any]) -> Run:
        compiled = jax.jit(function, compiler_options=js.compiler_options()).lower(state, seed).compile()
        return lambda: jax.block_until_ready(compiled(state, seed))

    return {"ours": call(ours), "mctx": call(bare)}


def overhead(name: str, batch: int, options: dict[str, Any], repeat: int) -> dict[str, Any]:
    """The row of a policy: mctx and the library in turns."""
    calls = bare_and_ours(name, batch, options)
    runs: dict[str, list[float]] = {who: [] for who in calls}
    for call in calls.values():
        call()
    for _ in range(repeat):
        for who, call in calls.items():
            start = time.perf_counter()
            call()
            runs[who].append(time.perf_counter() - start)
    return {
        "policy": name,
        "batch": batch,
        "options": options,
        "runs_s": runs,
        "median_s": {who: statistics.median(times) for who, times in runs.items()},
    }


def overhead_line(row: dict[str, Any], simulations: int) -> str:
    """A row of that table."""
    ours, bare = row["median_s"]["ours"], row["median_s"]["mctx"]
    return report.aligned(
        [
            row["policy"],
            f"{row['batch']:,}",
            f"{simulations}",
            f"{1e3 * ours:,.2f}",
            f"{1e3 * bare:,.2f}",
            f"{ours / bare:.2f}",
            f"{row['batch'] * simulations / ours:,.0f}",
        ],
        _OVERHEAD,
    )


# ---------------------------------------------------------------------- command line


def main() -> int:
    args = _parse()
    try:
        cores = machine.keep_to_cores(args.cores)
    except (OSError, ValueError) as error:
        print(f"search: {error}", file=sys.stderr)
        return 2
    about = machine.describe(cores, ["flax", "mctx"])
    print("\n".join(machine.lines(about)))
    options = dict(args.option or ())

    def save(rows: list[dict[str, Any]]) -> None:
        if args.json:
            report.save(args.json, {"about": about, "rows": rows})

    rows = (_overheads if args.overhead else _throughput)(args, options, save)
    return int(any(row.get("wrong") for row in rows))


def _overheads(args: argparse.Namespace, options: dict[str, Any], save: Save) -> list[dict[str, Any]]:
    simulations = options.setdefault("simulations", 32)
    print(report.aligned([name for name, _, _ in _OVERHEAD], _OVERHEAD))
    rows: list[dict[str, Any]] = []
    for name in args.solvers:
        for batch in args.batch:
            rows.append(overhead(name, batch, options, args.repeat))
            print(overhead_line(rows[-1], simulations), flush=True)
            save(rows)
    return rows


def _throughput(args: argparse.Namespace, options: dict[str, Any], save: Save) -> list[dict[str, Any]]:
    import jaxsudoku as js

    puzzle_set = sets.wanted(args.set, args.data)
    chosen = {} if args.iterations is None else {"iterations": args.iterations}
    network = js.load_network(args.network, **chosen)
    print(f"set      {args.set}; network {args.network} {chosen or ''}; options {options}; repeat {args.repeat}\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    rows: list[dict[str, Any]] = []
    for name in args.solvers:
        entries = []
        for batch in args.batch:
            puzzles = np.random.default_rng(0).choice(
                puzzle_set.puzzles, batch, replace=batch > len(puzzle_set.puzzles)
            )
            entries.append((*prepare(name, puzzles, options, network), puzzles))
        for _, call, _ in entries:
            call()
        for _ in range(args.repeat):
            for row, call, puzzles in entries:
                measure(row, call, puzzles)
                save(rows + [each for each, *_ in entries if each["runs_s"]])
        print("\n".join(line(row) for row, _, _ in entries), flush=True)
        rows += [row for row, _, _ in entries]
    return rows


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r}: NAME=VALUE was expected")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--overhead", action="store_true", help="compare the trees' growth with mctx alone")
    add("--set", default="17clue", help="a puzzle set by its name (default: 17clue)")
    add("--data", help="folder of puzzle sets")
    add("--solvers", type=lambda text: text.split(","), default=["gumbel", "alphasudoku"], help="by their names")
    add(
        "--batch",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[64, 256, 1024],
        help="puzzles in a call, each with its own lane",
    )
    add("--option", type=_option, action="append", help="NAME=VALUE, a setting of the solvers")
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=int, help="iterations of the network, if it has any")
    add("--cores", default="all", help="restrict the process to this number of cores: 1, 2 ... or all")
    add("--repeat", type=int, default=3, help="timed runs of each")
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
