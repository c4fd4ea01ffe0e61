"""Benchmark of throughput: puzzles per second by solver, options, set, batch size and device, compared with peers.

A call with all puzzles of a set is timed, from numpy arrays to numpy arrays. The first call, which compiles, is timed
separately; then solvers and peers alternate, and medians are compared. Every grid that counts as solved is checked
against its givens with numpy only. Failures are rows of the table and make the exit status 1.

    python benchmarks/throughput.py --puzzles 16384 --cores 1 --peers minisat22
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
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
import solver_options
from peers import PEERS, Peer, Tdoku

_SHIPPED = ["9x9", "9x9-extreme"]
_SCALING = "1000,10000,100000,1000000,2000000"
_STATUSES = ("UNSOLVED", "SOLVED", "UNSATISFIABLE", "INVALID")

#: Results of a call: grids uint8[N, cells] and statuses int8[N], or None and counts int32[N].
Answer = tuple[np.ndarray | None, np.ndarray]


#: Seconds that a timed run takes at least.
_SHORTEST = 0.02


@dataclasses.dataclass(eq=False)
class Contender:
    """A solver or a peer on one puzzle set: its call and its results.

    Attributes:
      run: the timed call, from puzzles to its raw results.
      answer: the results as numpy arrays, not timed.
      prepare: done before each timed call, not timed.
      row: the figures, as they are written to the JSON file.
      repeats: whether a run is as many calls as take ``_SHORTEST`` seconds, with their mean: for solvers that keep
        nothing from one call to the next.
    """

    puzzle_set: sets.PuzzleSet
    run: Callable[[np.ndarray], Any]
    answer: Callable[[Any], Answer]
    prepare: Callable[[], None]
    row: dict[str, Any]
    repeats: bool = True
    verdicts: dict[bytes, tuple[dict[str, int], int]] = dataclasses.field(default_factory=dict)

    def measure(self, first: bool, memory: bool) -> None:
        """Calls once and records time, memory and outcome; does nothing after a failure."""
        if self.row["error"]:
            return
        try:
            self.prepare()
            if memory:
                machine.forget_peak()
            cpu, start = time.process_time(), time.perf_counter()
            raw, calls, least = self.run(self.puzzle_set.puzzles), 1, _SHORTEST if self.repeats and not first else 0
            while time.perf_counter() - start < least:
                raw = None  # so that its memory can be used again
                raw, calls = self.run(self.puzzle_set.puzzles), calls + 1
            seconds, cpu = (time.perf_counter() - start) / calls, (time.process_time() - cpu) / calls
            if memory and not first:
                self.row["peak_mib"] = round(max(self.row["peak_mib"] or 0, machine.peak_mib()), 1)
            outcome, failed = self._judged(*self.answer(raw))
        except Exception as error:  # every error is recorded: a missing figure would mislead
            self.row["error"] = _told(error)
            return
        if first:
            self.row["first_s"] = seconds
        else:
            self.row["runs_s"].append(seconds)
            self.row["cpu_s"].append(cpu)
            self.row["median_s"] = statistics.median(self.row["runs_s"])
            self.row["puzzles_per_s"] = len(self.puzzle_set.puzzles) / self.row["median_s"]
        if failed >= self.row["failed"]:  # the worst of all calls
            self.row["outcome"], self.row["failed"] = outcome, failed

    def _judged(self, grids: np.ndarray | None, verdicts: np.ndarray) -> tuple[dict[str, int], int]:
        """Counts by outcome, and the number of wrong outcomes; equal answers are checked once."""
        digest = hashlib.blake2b(verdicts.tobytes())
        if grids is not None:
            digest.update(np.ascontiguousarray(grids).data)
        key = digest.digest()
        if key not in self.verdicts:
            judge = _judge_counts if grids is None else _judge_grids
            self.verdicts[key] = judge(self.puzzle_set, self.row["limit"], grids, verdicts)
        return self.verdicts[key]


def _told(error: Exception) -> str:
    """An error as one line."""
    first, *_ = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {first[:200]}"


def _judge_grids(puzzle_set: sets.PuzzleSet, _: int, grids: Any, statuses: np.ndarray) -> tuple[dict[str, int], int]:
    claimed = statuses == _STATUSES.index("SOLVED")
    wrong = claimed & ~checking.rightly_solved(puzzle_set.puzzles, grids, puzzle_set.board)
    numbers = np.bincount(statuses[~wrong], minlength=len(_STATUSES)).tolist()
    outcome = {name.lower(): number for name, number in zip(_STATUSES, numbers, strict=True) if number}
    if wrong.any():
        outcome["wrong"] = int(wrong.sum())
    amiss = wrong | (statuses != _right_statuses(puzzle_set))
    return outcome, int(amiss.sum())


def _right_statuses(puzzle_set: sets.PuzzleSet) -> np.ndarray:
    """int8[N], the status that each puzzle must end with."""
    if puzzle_set.solvable:
        return np.full(len(puzzle_set.puzzles), _STATUSES.index("SOLVED"), np.int8)
    clash = checking.clashing(puzzle_set.puzzles, puzzle_set.board)
    return np.where(clash, _STATUSES.index("INVALID"), _STATUSES.index("UNSATISFIABLE")).astype(np.int8)


def _judge_counts(puzzle_set: sets.PuzzleSet, limit: int, _: Any, counts: np.ndarray) -> tuple[dict[str, int], int]:
    values, numbers = np.unique(counts, return_counts=True)
    names = [f"with {value}{'+' * (value == limit)}" for value in values.tolist()]
    fewest, most = puzzle_set.solutions
    amiss = (counts < min(fewest, limit)) | (counts > min(most, limit))
    return dict(zip(names, numbers.tolist(), strict=True)), int(amiss.sum())


# ---------------------------------------------------------------------- contenders


def _row(by: str, puzzle_set: sets.PuzzleSet, limit: int) -> dict[str, Any]:
    return {
        "set": puzzle_set.name,
        "source": puzzle_set.source,
        "puzzles": len(puzzle_set.puzzles),
        "distinct": puzzle_set.distinct,
        "side": puzzle_set.side,
        "by": by,
        "options": "",
        "platform": "",
        "device": "",
        "batch": None,
        "resident": False,
        "limit": limit,
        "first_s": None,
        "runs_s": [],
        "cpu_s": [],
        "median_s": None,
        "puzzles_per_s": None,
        "peak_mib": None,
        "ratios": {},
        "outcome": {},
        "failed": 0,
        "judged": len(puzzle_set.puzzles),
        "note": "" if len(puzzle_set.puzzles) == puzzle_set.distinct else f"tiled from {puzzle_set.distinct:,}",
        "error": "",
    }


def _solvers(args: argparse.Namespace, puzzle_set: sets.PuzzleSet) -> Iterator[Contender]:
    """Every combination of solver, options, batch size and device."""
    import jax

    for name in args.solvers:
        for options in args.options or [{}]:
            for platform in args.devices or [None]:
                for batch in args.batch or [None]:
                    row = _row(name, puzzle_set, args.limit)
                    row["options"] = ",".join(f"{key}={value}" for key, value in options.items())
                    row["platform"], row["resident"] = platform or "", args.resident
                    row["note"] += "; host alone" * args.host
                    row["batch"] = len(puzzle_set.puzzles) if args.resident else batch
                    run: Callable[[np.ndarray], Any] = len
                    try:
                        devices = jax.devices(platform)
                        row["device"] = f"{len(devices)} x {devices[0].device_kind}"
                        maker = _resident if args.resident else _called
                        run = maker(name, puzzle_set, args.limit, batch, devices, options)
                        run = _replayed(run) if args.host else run
                    except Exception as error:  # no such device, solver or option: a row that says so
                        row["error"] = _told(error)
                    yield Contender(puzzle_set, run, _answer, lambda: None, row)


def _called(
    name: str, puzzle_set: sets.PuzzleSet, limit: int, batch: int | None, devices: Any, options: dict[str, Any]
) -> Callable[[np.ndarray], Any]:
    """The library's public function, from the host to the host."""
    import jaxsudoku as js

    board = puzzle_set.board
    if limit:
        return lambda puzzles: js.count_solutions(
            puzzles, board, limit=limit, batch_size=batch, devices=devices, **options
        )
    return lambda puzzles: js.solve(puzzles, board, solver=name, batch_size=batch, devices=devices, **options)


def _replayed(run: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """The call with programs replaced by their results of the first call, which is not timed."""
    import jax

    from jaxsudoku.engine import batches

    compiled: Any = batches._compiled
    kept: dict[tuple[int, ...], Any] = {}

    def replaying(*arguments: Any) -> Callable[..., Any]:
        program = compiled(*arguments)

        def replay(items: Any, key: Any, numbers: np.ndarray, *shared: Any) -> Any:
            batch = tuple(numbers.tolist())
            if batch not in kept:
                kept[batch] = jax.block_until_ready(program(items, key, numbers, *shared))
            return kept[batch]

        return replay

    def call(puzzles: np.ndarray) -> Any:
        batches._compiled = replaying
        try:
            return run(puzzles)
        finally:
            batches._compiled = compiled

    return call


def _resident(
    name: str, puzzle_set: sets.PuzzleSet, limit: int, _: int | None, devices: Any, options: dict[str, Any]
) -> Callable[[np.ndarray], Any]:
    """One call of the kernel on one device, from puzzles on it to results on it."""
    import jax

    import jaxsudoku as js
    from jaxsudoku import solvers
    from jaxsudoku.runtime.devices import kind
    from jaxsudoku.solvers import driver

    kernel: Any
    if limit:
        kernel = driver.count_kernel(limit, **options)
    else:
        kernel = driver.SolveKernel(name, solvers.make_config(solvers.get(name), **options))
    board, device = puzzle_set.board, devices[0]
    shared = () if limit else driver.networks_for(name, None, board)
    jitted = jax.jit(
        functools.partial(kernel.resolve(board, kind(device)), board),
        compiler_options=js.compiler_options(device.platform),
    )
    items = puzzle_set.puzzles, jax.random.key(0), np.uint32(0), *shared
    placed = jax.block_until_ready(jax.device_put(items, device))

    def call(_: np.ndarray) -> Any:
        found = jax.block_until_ready(jitted(*placed))
        return found.counts if limit else found

    return call


def _answer(raw: Any) -> Answer:
    if hasattr(raw, "grids"):
        return np.asarray(raw.grids), np.asarray(raw.status)
    return None, np.asarray(raw)


def _peer(peer: Peer, puzzle_set: sets.PuzzleSet, args: argparse.Namespace) -> Contender:
    """A peer on as many puzzles, evenly spread over the set, as it solves within its time."""
    board = puzzle_set.board

    def run(puzzles: np.ndarray) -> Any:
        return peer.count(puzzles, args.limit) if args.limit else peer.solve(puzzles)

    def answer(raw: np.ndarray) -> Answer:
        if args.limit:
            return None, raw
        without = np.where(
            checking.clashing(sample, board), _STATUSES.index("INVALID"), _STATUSES.index("UNSATISFIABLE")
        )
        return raw, np.where(raw.any(axis=1), _STATUSES.index("SOLVED"), without).astype(np.int8)

    error = ""
    distinct = puzzle_set.puzzles[: puzzle_set.distinct]
    size = len(distinct)
    try:
        peer.prepare(board)
        size = _affordable(run, distinct, args.peer_seconds)
    except Exception as failure:  # recorded like any other
        error = _told(failure)
    sample = distinct[np.arange(size) * len(distinct) // size]
    row = _row(peer.name, dataclasses.replace(puzzle_set, puzzles=sample, distinct=size), args.limit)
    row["error"] = error
    if size < len(distinct):
        row["note"] = f"measured on {size:,} of {len(distinct):,}, evenly spread"
    elif size < len(puzzle_set.puzzles):
        row["note"] = "measured on the set untiled"
    measured = dataclasses.replace(puzzle_set, puzzles=sample, distinct=size)
    return Contender(measured, run, answer, lambda: peer.prepare(board), row, peer.repeats)


def _affordable(run: Callable[[np.ndarray], Any], puzzles: np.ndarray, seconds: float) -> int:
    """The number of puzzles that a peer solves in about that time, estimated from a few of them."""
    if not seconds:
        return len(puzzles)
    tried = 1
    while True:
        sample = puzzles[np.arange(tried) * len(puzzles) // tried]
        start = time.perf_counter()
        run(sample)
        taken = time.perf_counter() - start
        if taken >= min(0.5, seconds / 4) or tried == len(puzzles):
            return max(1, min(len(puzzles), int(tried * seconds / taken)))
        tried = min(4 * tried, len(puzzles))


# ---------------------------------------------------------------------- the run


def _cases(args: argparse.Namespace, loaded_sets: list[sets.PuzzleSet]) -> Iterator[sets.PuzzleSet]:
    """Each set in each size."""
    for loaded in loaded_sets:
        sizes = args.scaling or ([args.puzzles] if args.puzzles else [len(loaded.puzzles)])
        for size in sizes:
            yield loaded.resized(size)


def _measure(puzzle_set: sets.PuzzleSet, args: argparse.Namespace, peers: list[Peer]) -> Iterator[list[dict[str, Any]]]:
    """Measures all contenders on one set: each once to warm up, then in turns; yields all rows after each turn."""
    solvers = list(_solvers(args, puzzle_set))
    fitting = [peer for peer in peers if peer.fits(puzzle_set.board)]
    rivals = [_peer(peer, puzzle_set, args) for peer in fitting]
    everyone = solvers + rivals
    for contender in everyone:
        contender.measure(first=True, memory=False)
        yield [each.row for each in everyone]
    for _ in range(args.repeat):
        for contender in everyone:
            contender.measure(first=False, memory=args.memory and contender in solvers)
        for solver in solvers:
            for rival in rivals:
                ours, theirs = solver.row["puzzles_per_s"], rival.row["puzzles_per_s"]
                if ours and theirs:
                    solver.row["ratios"][rival.row["by"]] = ours / theirs
        yield [each.row for each in everyone]


def _scaling_summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Time per puzzle over the sizes, for each set and solver."""
    series: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if not row["error"] and row["by"] not in PEERS:
            batch = "" if row["resident"] or not row["batch"] else f"batch {row['batch']:,}"
            series.setdefault((row["set"], row["by"], row["options"], row["platform"], batch), []).append(row)
    for kind, sized in series.items():
        each = {row["puzzles"]: 1e6 / row["puzzles_per_s"] for row in sized}
        told = "; ".join(f"{size:,}: {micros:.3f} µs" for size, micros in each.items())
        if 10_000 in each and len(each) > 1:
            last = max(each)
            told += f"; {last:,} against 10,000: {each[last] / each[10_000]:.2f}x the time per puzzle"
        yield f"{' '.join(filter(None, kind))}: {told}"


def _installed(names: list[str]) -> list[Peer]:
    for name in names:
        if not PEERS[name].available():
            print(f"{name}: left out, {PEERS[name].package} is not installed", flush=True)
    return [PEERS[name] for name in names if PEERS[name].available()]


def _write(path: Path, about: dict[str, Any], args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Writes the rows so far, so that an interrupted run keeps what was finished."""
    given = {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()}
    given.pop("data")  # a path of the machine
    given.pop("json")
    given["tdoku"] = args.tdoku and args.tdoku.name
    report.save(path, {"about": about, "arguments": given, "rows": rows})


def main() -> int:
    args = _parse()
    try:
        cores = machine.keep_to_cores(args.cores)
    except (OSError, ValueError) as error:
        print(f"throughput: {error}", file=sys.stderr)
        return 2
    loaded_sets = [sets.wanted(name, args.data, any_board=True) for name in args.sets]
    Tdoku.library = args.tdoku
    peers = _installed(args.peers)
    about = machine.describe(cores, [peer.package for peer in peers])
    print("\n".join(machine.lines(about)))
    print(f"repeat   {args.repeat}, after a first call that compiles; medians\n\n{report.heading()}", flush=True)

    rows: list[dict[str, Any]] = []
    for puzzle_set in _cases(args, loaded_sets):
        measured: list[dict[str, Any]] = []
        for measured in _measure(puzzle_set, args, peers):
            if args.json:
                about["life_peak_mib"] = round(machine.life_peak_mib(), 1)
                _write(args.json, about, args, rows + measured)
        print("\n".join(map(report.line, measured)), flush=True)
        rows += measured
    print()
    if args.scaling:
        print("\n".join(_scaling_summary(rows)))
    if args.memory:
        print(f"peak resident memory of the process, compilation included: {machine.life_peak_mib():,.0f} MiB")
    if bad := report.failures(rows):
        print(f"{bad} of {len(rows)} rows FAILED")
    return int(bool(bad))


# ---------------------------------------------------------------------- arguments


def _sizes(text: str) -> list[int]:
    sizes = [int(float(number.replace("_", ""))) for number in arguments.names(text)]
    if not sizes or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: sizes must be at least 1")
    return sizes


def _size(text: str) -> int:
    return _sizes(text)[0]


def _peer_names(text: str) -> list[str]:
    if unknown := [name for name in arguments.names(text) if name not in PEERS]:
        raise argparse.ArgumentTypeError(f"unknown peer {', '.join(unknown)}: choose of {', '.join(PEERS)}")
    return arguments.names(text)


def _options(text: str) -> dict[str, Any]:
    return solver_options.parsed(arguments.names(text))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add(
        "--sets",
        type=arguments.names,
        default=_SHIPPED,
        help=f"puzzle sets ({','.join(_SHIPPED)}); acs_25x25@45: 45%% given alone",
    )
    add("--data", help="folder of puzzle sets (else JAXSUDOKU_DATA, .data, ../shared/data); the shipped ones need none")
    add("--puzzles", type=_size, help="tile or cut each set to this number")
    add("--scaling", type=_sizes, nargs="?", const=_sizes(_SCALING), help=f"each set at sizes, by default {_SCALING}")
    add("--solvers", type=arguments.names, default=["exact"], help="names in jaxsudoku.SOLVERS")
    add("--options", type=_options, action="append", help="a solver's options, rounds=5,lanes=2048; may be repeated")
    add("--batch", type=_sizes, help="batch sizes; by default the library's choice")
    add("--devices", type=arguments.names, help="platforms, cpu,gpu; by default jax's default backend")
    add("--resident", action="store_true", help="time one kernel call, puzzles and results staying on the device")
    add(
        "--host",
        action="store_true",
        help="time the host's work alone: programs return the first call's results at once",
    )
    add("--limit", type=int, default=0, help="count solutions up to this many instead of solving: 2 proves uniqueness")
    add("--peers", type=_peer_names, default=[], help=f"of {', '.join(PEERS)}; those not installed are left out")
    add("--tdoku", type=Path, metavar="LIBRARY", help="tdoku as a shared library, for --peers tdoku")
    add("--peer-seconds", type=float, default=20, help="time for a peer's call, by which its puzzles are cut; 0: all")
    add("--cores", default="all", help="restrict the process to this number of cores: 1, 2 ... or all")
    add("--memory", action="store_true", help="peak resident memory of each solver's timed calls, and of the process")
    add("--repeat", type=_size, default=5, help="timed calls of each")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    if args.cores != "all" and not args.cores.isdecimal():
        parser.error(f"--cores {args.cores}: give a number or all")
    if ("tdoku" in args.peers) != (args.tdoku is not None):
        parser.error("--peers tdoku and --tdoku LIBRARY go together")
    if args.tdoku is not None and not args.tdoku.is_file():
        parser.error(f"--tdoku {args.tdoku}: no such file")
    if args.limit < 0:
        parser.error(f"--limit {args.limit}: at least 1, or 0 to solve")
    return args


if __name__ == "__main__":
    sys.exit(main())
