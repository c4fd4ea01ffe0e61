"""Benchmark of tree searches: puzzles, simulations and network evaluations per second, compared with mctx's policy.

A run is one call of the compiled solver with a batch of puzzles, from the device to the device; its grids are checked
by numpy alone. Batches take turns, and figures are medians. Looks are positions that the network evaluated; "wanted" is
the share of the boards on which it computed, padding included, that a search was waiting for, weighted by iterations.
Memory is what the compiled program allocates while it runs, beside the library's prediction for the trees of all lanes.

    python benchmarks/search.py --set 17clue --solvers gumbel,mctx --batch 64,2048 --option simulations=16

The solver ``mctx`` is ``mctx.gumbel_muzero_policy`` on the same environment and network: one call for each move of all
puzzles, whose move is played, until every puzzle is solved or refuted. It has no proofs and takes nothing back.
``jumanji`` is the same policy on jumanji's Sudoku: any digit of any cell, no rules, until no digit can be placed.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import checking
import machine
import numpy as np
import report
import sets

_COLUMNS = (
    ("solver", 12, "<"),
    ("batch", 7, ">"),
    ("lanes", 6, ">"),
    ("chunk", 6, ">"),
    ("compile s", 9, ">"),
    ("median s", 9, ">"),
    ("spread", 7, ">"),
    ("solved", 7, ">"),
    ("puzzles/s", 10, ">"),
    ("simulations/s", 13, ">"),
    ("looks/s", 10, ">"),
    ("iterations", 10, ">"),
    ("wanted", 7, ">"),
    ("predicted", 10, ">"),
    ("MiB", 8, ">"),
    ("", 0, "<"),
)

_MIB = 2**20

#: A run of a compiled program; it returns when the results are there.
Run = Callable[[], Any]


class Counted(NamedTuple):
    """A wrapper of a network that counts its computations.

    Attributes:
      network: the network.
      computed: of each computation the boards times the iterations, and those of boards that were wanted.
    """

    network: Any
    computed: list[tuple[int, int]]

    @classmethod
    def of(cls, network: Any) -> Counted:
        """The network, counted."""
        import jax

        computed: list[tuple[int, int]] = []

        def count(total: Any, wanted: Any) -> None:
            computed.append((int(total), int(wanted)))  # numbers: a callback must not compute, which may never end

        class Counting(type(network.apply)):  # type: ignore[misc]
            def resume(self, params: Any, candidates: Any, carry: Any, fresh: Any, halt: Any = None) -> Any:
                found = super().resume(params, candidates, carry, fresh, halt)
                spent, wanted = found[2], candidates.any(axis=(1, 2))
                jax.debug.callback(count, len(candidates) * spent.max(), (spent * wanted).sum())
                return found

            def __call__(self, params: Any, candidates: Any) -> Any:
                iterations, wanted = max(self.iterations, 1), candidates.any(axis=(1, 2)).sum()
                jax.debug.callback(count, len(candidates) * iterations, wanted * iterations)
                return super().__call__(params, candidates)

        apply = Counting(network.apply.module, network.apply.config, network.apply.board)
        return cls(dataclasses.replace(network, apply=apply), computed)

    def wanted(self) -> float | None:
        """The share that was wanted; None if nothing was computed."""
        import jax

        jax.effects_barrier()
        total = sum(every for every, _ in self.computed)
        return sum(wanted for _, wanted in self.computed) / total if total else None


def prepare(
    name: str, puzzles: np.ndarray, options: dict[str, Any], network: Any, platform: str
) -> tuple[dict[str, Any], Run, Run]:
    """The row of a solver on a batch, the call to time, and a call with a ``Counted`` network."""
    import jax

    import jaxsudoku as js
    from jaxsudoku import solvers

    board = js.Board.classic()
    solver = None if name in PEERS else solvers.get(name)
    config = solvers.make_config(solver or solvers.get("gumbel"), **options).resolve(board, platform)
    key, counted = jax.random.key(0), Counted.of(network)

    def run_with(network: Any) -> Any:
        def run(puzzles: Any, key: Any, params: Any) -> Any:
            given = dataclasses.replace(network, params=params)
            if solver is None:
                return PEERS[name](board, puzzles, config, given)
            return solver.run(board, puzzles, key, config, *((given,) if solver.guided else ()))

        return jax.jit(run, compiler_options=js.compiler_options())

    placed = jax.device_put((puzzles, key, network.params))
    start = time.perf_counter()
    compiled = run_with(network).lower(*placed).compile()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    row: dict[str, Any] = {
        "solver": name,
        "options": options,
        "batch": len(puzzles),
        "lanes": len(puzzles) if solver is None else config.lanes,
        "chunk": len(puzzles) if solver is None else getattr(config, "chunk", 0),
        "compile_s": seconds,
        "runs_s": [],
        "predicted_bytes": None if solver is None else config.lanes * config.lane_bytes(board),
        "bytes": memory.temp_size_in_bytes if memory else None,
    }

    def count() -> Any:
        jax.block_until_ready(run_with(counted.network)(*placed))
        row["wanted"] = counted.wanted()

    return row, lambda: jax.block_until_ready(compiled(*placed)), count


class Game(NamedTuple):
    """An environment for mctx's policy, on batches of states.

    Attributes:
      look: states -> logits of their moves (illegal ones below -5e8), and values from 0 to 1.
      play: (states, moves) -> the next states; ended ones are unchanged.
      ended: states -> bool[B], whether they have ended, and whether they are solved.
    """

    look: Callable[[Any], tuple[Any, Any]]
    play: Callable[[Any, Any], Any]
    ended: Callable[[Any], tuple[Any, Any]]


def by_policy(game: Game, start: Any, config: Any, network: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Plays a game by ``mctx.gumbel_muzero_policy``: a search of all, their moves, the next search of all.

    Returns the last states, the network's calls for each, and the stats.
    """
    import jax
    import jax.numpy as jnp
    import mctx

    def expand(params: Any, key: Any, move: Any, state: Any) -> Any:
        del params, key
        after = game.play(state, move)
        (before, _), (over, solved) = game.ended(state), game.ended(after)
        logits, value = game.look(after)
        return mctx.RecurrentFnOutput(
            reward=(solved & ~before).astype(jnp.float32),
            discount=jnp.where(over, 0.0, 1.0).astype(jnp.float32),
            prior_logits=logits,
            value=jnp.where(over, 0.0, value),
        ), after

    def move(now: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        state, moves, key = now
        playing = ~game.ended(state)[0]
        logits, value = game.look(state)
        with jax.numpy_dtype_promotion("standard"):
            made = mctx.gumbel_muzero_policy(
                network.params,
                key,
                mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
                expand,
                config.simulations,
                invalid_actions=logits < -5e8,
                max_num_considered_actions=min(config.considered, logits.shape[1]),
                gumbel_scale=config.temperature,
            )
        after = game.play(state, made.action.astype(jnp.int32))
        return after, moves + playing.astype(jnp.int32), jax.random.fold_in(key, 1)

    none = jnp.zeros(len(game.ended(start)[0]), jnp.int32)
    going = jax.lax.while_loop(lambda now: ~game.ended(now[0])[0].all(), move, (start, none, jax.random.key(0)))
    state, moves, _ = going
    calls = moves * (config.simulations + 1)
    stats = {
        "network_calls": calls,
        "network_iterations": calls * max(network.apply.iterations, 1),
        "simulations": moves * config.simulations,
    }
    return state, calls, stats


def by_mctx(board: Any, puzzles: Any, config: Any, network: Any) -> Any:
    """Solves puzzles by mctx's policy on this library's environment."""
    import jax
    import jax.numpy as jnp

    from jaxsudoku import env
    from jaxsudoku.engine.solution import Solution, Status
    from jaxsudoku.networks.base import finite_outputs, masked_logits

    def look(state: Any) -> tuple[Any, Any]:
        cubes = env.observe(state, board)
        outputs = finite_outputs(network.apply(network.params, cubes), cubes)
        logits = jnp.take_along_axis(outputs.policy, state.cell[:, None, None], axis=2)[:, :, 0]
        return masked_logits(logits, env.legal_action_mask(state, board)), jax.nn.sigmoid(outputs.value)

    game = Game(
        look,
        lambda state, move: env.step(state, move, board, config.rules),
        lambda state: (state.terminated, state.solved),
    )
    state, calls, stats = by_policy(game, env.init(puzzles, board, config.rules), config, network)
    status = jnp.where(state.solved, Status.SOLVED, Status.UNSOLVED).astype(jnp.int8)
    return Solution(env.grids(state, board), status, calls, stats)


def by_jumanji(board: Any, puzzles: Any, config: Any, network: Any) -> Any:
    """Solves 9x9 puzzles by mctx's policy on jumanji's Sudoku (extra ``jumanji``)."""
    import jax
    import jax.numpy as jnp
    from jumanji.environments.logic.sudoku.env import Sudoku
    from jumanji.environments.logic.sudoku.types import State
    from jumanji.environments.logic.sudoku.utils import get_action_mask

    from jaxsudoku.engine.solution import Solution, Status
    from jaxsudoku.networks.base import finite_outputs, masked_logits
    from jaxsudoku.runtime.operations import select

    with jax.ensure_compile_time_eval():  # it computes while it is made
        theirs = Sudoku()
    size = len(puzzles)

    def look(state: Any) -> tuple[Any, Any]:
        grids, legal = state[0].board.reshape(size, 1, -1), state[0].action_mask.reshape(size, board.cells, board.side)
        legal = legal.transpose(0, 2, 1)
        cubes = legal | (grids == jnp.arange(board.side)[:, None])
        outputs = finite_outputs(network.apply(network.params, cubes), cubes)
        surest = jax.nn.log_softmax(outputs.policy, axis=1, where=cubes)
        return masked_logits(surest, legal).reshape(size, -1), jax.nn.sigmoid(outputs.value)

    def play(state: Any, move: Any) -> Any:
        game, over, _ = state
        digit, cell = move // board.cells, move % board.cells
        action = jnp.stack([cell // board.side, cell % board.side, digit], axis=1)
        after, step = jax.vmap(theirs.step)(game, action)
        reached = (after, step.last(), step.last() & (step.reward > 0))
        return select(over, state, reached)

    grids = jnp.asarray(puzzles, jnp.int32).reshape(size, board.side, board.side) - 1
    keys, no = jax.random.split(jax.random.key(0), size), jnp.zeros(size, bool)
    state = State(board=grids, action_mask=jax.vmap(get_action_mask)(grids), key=jax.random.key_data(keys))
    rules = Game(look, play, lambda state: state[1:])
    (game, _, solved), calls, stats = by_policy(rules, (state, no, no), config, network)
    status = jnp.where(solved, Status.SOLVED, Status.UNSOLVED).astype(jnp.int8)
    return Solution((game.board + 1).reshape(size, -1).astype(jnp.uint8), status, calls, stats)


#: Other libraries' searches, by their names among the solvers.
PEERS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {"mctx": by_mctx, "jumanji": by_jumanji}


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
    looks, iterations, simulations = (
        int(np.sum(found.stats.get(name, 0))) for name in ("network_calls", "network_iterations", "simulations")
    )
    row["looks_per_s"], row["simulations_per_s"] = looks / median, simulations / median
    row["looks"], row["iterations_per_look"] = looks, iterations / looks if looks else 0.0


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    median, wanted, predicted = row["median_s"], row.get("wanted"), row["predicted_bytes"]
    return report.aligned(
        [
            row["solver"],
            f"{row['batch']:,}",
            f"{row['lanes']:,}",
            f"{row['chunk']:,}",
            f"{row['compile_s']:.1f}",
            f"{median:,.3f}",
            f"{(max(row['runs_s']) - min(row['runs_s'])) / median:.0%}",
            f"{row['solved'] / row['batch']:.1%}",
            f"{row['puzzles_per_s']:,.1f}",
            f"{row['simulations_per_s']:,.0f}",
            f"{row['looks_per_s']:,.0f}",
            f"{row['iterations_per_look']:.1f}",
            "-" if wanted is None else f"{wanted:.1%}",
            f"{predicted / _MIB:,.1f}" if predicted else "-",
            f"{row['bytes'] / _MIB:,.1f}" if row["bytes"] else "-",
            f"FAILED: {row['wrong']} wrong" if row["wrong"] else "",
        ],
        _COLUMNS,
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
    import jax

    import jaxsudoku as js

    options = dict(args.option or ())
    puzzle_set = sets.wanted(args.set, args.data)
    chosen = {} if args.iterations is None else {"iterations": args.iterations}
    network = js.load_network(args.network, **chosen)
    platform = args.settings_of or jax.default_backend()
    print(f"set      {args.set}; network {args.network} {chosen or ''}; options {options}; repeat {args.repeat}")
    print(f"settings of a {platform}\n")
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    rows: list[dict[str, Any]] = []
    for batch in args.batch:
        drawn = np.random.default_rng(0)
        puzzles = drawn.choice(puzzle_set.puzzles, batch, replace=batch > len(puzzle_set.puzzles))
        entries = [prepare(name, puzzles, options, network, platform) for name in args.solvers]
        for _, call, count in entries:
            call()
            if args.count:
                count()
        for _ in range(args.repeat):
            for row, call, _ in entries:
                measure(row, call, puzzles)
        rows += [row for row, _, _ in entries]
        print("\n".join(line(row) for row, _, _ in entries), flush=True)
        if args.json:
            report.save(args.json, {"about": about, "rows": rows})
    return int(any(row.get("wrong") for row in rows))


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
    add("--set", default="17clue", help="a puzzle set by its name (default: 17clue)")
    add("--data", help="folder of puzzle sets")
    add("--solvers", type=lambda text: text.split(","), default=["gumbel", "alphasudoku"], help="by their names")
    add(
        "--batch",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[64, 256, 1024],
        help="puzzles in a call",
    )
    add("--count", action="store_true", help="count the boards on which the network computes, in a run of its own")
    add("--settings-of", choices=["cpu", "gpu", "tpu"], help="automatic settings of this platform")
    add("--option", type=_option, action="append", help="NAME=VALUE, a setting of the solvers")
    add("--network", default="cube", help="a shipped network by name, or a path (default: cube)")
    add("--iterations", type=int, help="iterations of the network, if it has any")
    add("--cores", default="all", help="restrict the process to this number of cores: 1, 2 ... or all")
    add("--repeat", type=int, default=3, help="timed runs of each")
    add("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
