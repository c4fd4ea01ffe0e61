"""Benchmark of jobs: seconds and memory by one worker, by two, and by Ray, in alternating runs; answers are checked.

The input is Parquet of easy puzzles, made from ``--base`` generated puzzles by random symmetries. Each worker has one
core: a job with N workers runs on N cores, which its first process shares.

    python benchmarks/jobs.py --folder /tmp/jobs --puzzles 20000000 --workers 1,2,ray:2 --runs 2

``--stages`` instead measures the processor time of reading, solving and writing on one core, each separately.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import checking
import machine
import numpy as np
import report

_COLUMNS = (
    ("workers", 9, "<"),
    ("wall s", 8, ">"),
    ("job s", 8, ">"),
    ("start s", 8, ">"),
    ("compile s", 10, ">"),
    ("puzzles/s", 11, ">"),
    ("MiB a process", 14, ">"),
)
#: Puzzles in a file, and in a row group.
_FILE, _GROUP = 1 << 20, 1 << 17
#: Seconds between measurements of the workers' memory.
_PAUSE = 0.5


def make(folder: Path, count: int, base: int) -> None:
    """Writes the input unless it exists."""
    if (folder / "in" / "done").exists() and int((folder / "in" / "done").read_text()) == count:
        return
    import jax
    import pyarrow as pa
    import pyarrow.parquet as pq

    import jaxsudoku as js
    from jaxsudoku.io import format_grids

    shutil.rmtree(folder / "in", ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    puzzles = js.generate(1, base, clues=(30, 36)).puzzles
    apply = jax.jit(lambda key, grids: js.symmetry.apply(js.symmetry.sample(key, shape=len(grids)), grids))
    rng = np.random.default_rng(1)
    for number, start in enumerate(range(0, count, _FILE)):
        size = min(_FILE, count - start)
        with pq.ParquetWriter(folder / "in" / f"{number:04}.parquet", pa.schema([("puzzle", pa.string())])) as writer:
            for first in range(0, size, _GROUP):
                chosen = puzzles[rng.integers(base, size=min(_GROUP, size - first))]
                grids = np.asarray(apply(jax.random.key(start + first), chosen))
                texts = format_grids(grids, js.Board.classic()).decode().splitlines()
                writer.write_table(pa.table({"puzzle": texts}))
    (folder / "in" / "done").write_text(str(count))


def run(folder: Path, workers: str, cores: list[int]) -> dict[str, Any]:
    """Runs one job; returns its figures.

    Raises:
      RuntimeError: the job failed.
    """
    output = folder / f"out-{workers.replace(':', '-')}"
    shutil.rmtree(output, ignore_errors=True)
    count = int(workers.rpartition(":")[2])
    command = [sys.executable, "-m", "jaxsudoku", "solve", str(folder / "in" / "*.parquet"), "--workers", workers]
    start = time.perf_counter()
    os.sched_setaffinity(0, cores[:count])  # which the process inherits
    process = subprocess.Popen(
        [*command, "--output", str(output), "--json"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    os.sched_setaffinity(0, cores)
    peaks: dict[int, float] = {}
    watching = threading.Thread(target=_watch, args=(process, peaks), daemon=True)
    watching.start()
    text = process.communicate()[0]
    wall = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"the job ended with exit status {process.returncode}")
    summary = json.loads(text)
    parts = json.loads((output / "manifest.json").read_text())["parts"]
    compiling: dict[int, float] = {}
    for part in parts:
        worker = part["details"]["worker"]
        compiling[worker] = compiling.get(worker, 0.0) + part["details"]["compile_seconds"]
    return {
        "workers": workers,
        "wall_s": wall,
        "job_s": summary["seconds"],
        "start_s": summary["startup_seconds"],
        "compile_s": max(compiling.values()),
        "puzzles_per_s": summary["puzzles"] / wall,
        "peak_mib": max(peaks.values(), default=0.0),
        "counts": summary["counts"],
        "sha256": [part["sha256"] for part in parts],
        "output": str(output),
    }


def _watch(process: subprocess.Popen[str], peaks: dict[int, float]) -> None:
    """Records the peak resident memory in MiB of every process of a session, which ``process`` leads."""
    while process.poll() is None:
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                if os.getsid(int(status.parent.name)) != process.pid:
                    continue
                fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
            except (OSError, ValueError):
                continue
            if "VmHWM" in fields:
                peaks[int(status.parent.name)] = int(fields["VmHWM"].split()[0]) / 1024
        time.sleep(_PAUSE)


def stages(folder: Path) -> dict[str, float]:
    """Microseconds of processor time for a puzzle of the first file: read, solved, written."""
    import jaxsudoku as js
    from jaxsudoku.engine.batches import Engine
    from jaxsudoku.io import open_output, read_chunks
    from jaxsudoku.solvers import ExactConfig
    from jaxsudoku.solvers.driver import SolveKernel

    source = folder / "in" / "0000.parquet"
    engine = Engine(SolveKernel("exact", ExactConfig()), js.Board.classic())
    warm = list(read_chunks(source, chunk_size=engine.batch_size))
    list(engine.stream([warm[0].grids]))
    count = sum(map(len, warm))
    clock = [time.process_time()]
    chunks = list(read_chunks(source, chunk_size=engine.batch_size))
    clock.append(time.process_time())
    solutions = list(engine.stream(chunk.grids for chunk in chunks))
    clock.append(time.process_time())
    target = folder / "stages.parquet"
    target.unlink(missing_ok=True)
    with open_output(target, js.Board.classic(), resumable=False) as writer:
        for chunk, solution in zip(chunks, solutions, strict=True):
            writer.write(chunk, solution)
    clock.append(time.process_time())
    target.unlink()
    return dict(zip(("read", "solve", "write"), (1e6 * np.diff(clock) / count).tolist(), strict=True))


def check(folder: Path, output: Path) -> int:
    """Checks all answers with numpy only, in the order of the input; returns their number.

    Raises:
      RuntimeError: an answer is wrong, or there are more or fewer than puzzles.
    """
    import pyarrow.parquet as pq

    answers = sorted(output.glob("part-*.parquet"))
    given = (batch for path in sorted((folder / "in").glob("*.parquet")) for batch in _grids(pq, path, "puzzle"))
    solved = (batch for path in answers for batch in _grids(pq, path, "solution"))
    held: list[np.ndarray] = [np.zeros((0, 81), np.uint8)] * 2
    count = 0
    while True:
        for side, batches in enumerate((given, solved)):
            if not len(held[side]):
                held[side] = next(batches, held[side])
        size = min(map(len, held))
        if not size:
            break
        if not checking.rightly_solved(held[0][:size], held[1][:size]).all():
            raise RuntimeError(f"wrong answers among those to the puzzles from {count} on")
        held = [rows[size:] for rows in held]
        count += size
    if any(map(len, held)):
        raise RuntimeError(f"{count} answers, and another number of puzzles")
    return count


def _grids(pq: Any, path: Path, column: str) -> Any:
    """The grids uint8[n, 81] of a column, a batch at a time."""
    for batch in pq.ParquetFile(path).iter_batches(1 << 16, columns=[column]):
        text = "".join(batch.column(0).to_pylist()).replace(".", "0")
        yield (np.frombuffer(text.encode(), np.uint8) - ord("0")).reshape(-1, 81)


def main() -> int:
    args = _parse()
    cores = sorted(os.sched_getaffinity(0))
    make(args.folder, args.puzzles, args.base)
    if args.stages:
        machine.keep_to_cores("1")
        runs = [stages(args.folder) for _ in range(args.runs)]
        about = machine.describe(1, ["pyarrow"])
        print("\n".join(machine.lines(about)))
        for name in runs[0]:
            print(f"{name:<6} {', '.join(f'{figures[name]:.2f}' for figures in runs)} µs a puzzle")
        if args.json:
            report.save(args.json, {"about": about, "stages": runs})
        return 0
    about = machine.describe(
        len(cores), ["pyarrow", "ray"] if any("ray" in each for each in args.workers) else ["pyarrow"]
    )
    print(
        "\n".join([*machine.lines(about), "", report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS)]), flush=True
    )
    rows = []
    for _ in range(args.runs):
        for workers in args.workers:
            row = run(args.folder, workers, cores)
            rows.append(row)
            figures = [row["wall_s"], row["job_s"], row["start_s"], row["compile_s"]]
            texts = [f"{figure:.1f}" for figure in figures]
            texts += [f"{row['puzzles_per_s']:,.0f}", f"{row['peak_mib']:,.0f}"]
            print(report.aligned([workers, *texts], _COLUMNS), flush=True)
    same = len({tuple(row["sha256"]) for row in rows}) == 1
    checked = check(args.folder, Path(rows[-1]["output"]))
    print(f"{checked:,} answers checked; the answers of all runs are {'the same' if same else 'DIFFERENT'}")
    if args.json:
        report.save(args.json, {"about": about, "rows": rows, "checked": checked, "same": same})
    return 0 if same else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    parser.add_argument("--folder", type=Path, required=True, help="folder for inputs and outputs")
    parser.add_argument("--puzzles", type=int, default=1 << 20, help="puzzles of the input (default: %(default)s)")
    parser.add_argument("--base", type=int, default=100_000, help="generated puzzles (default: %(default)s)")
    parser.add_argument(
        "--workers", type=lambda text: text.split(","), default=["1", "2"], help="jobs to compare (default: 1,2)"
    )
    parser.add_argument("--runs", type=int, default=2, help="how often each job runs (default: %(default)s)")
    parser.add_argument("--stages", action="store_true", help="measure reading, solving and writing alone")
    parser.add_argument("--json", type=Path, help="file for all raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
