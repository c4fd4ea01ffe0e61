"""Seeds faults into the package, one at a time, and tells which of them the tests find.

    python -m pytest -n 2 --cov=jaxsudoku --cov-context=test
    python tests/mutants.py --coverage .coverage --count 60 --seed 1 --output mutants.json

A fault changes one operator, comparison, number or truth value. In a copy of the checkout it is run against the tests
that reach its line, until one fails. ``--again mutants.json`` seeds the same faults into another checkout. Needs
pytest-cov, which measures nothing with ``-n 0`` here.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import json
import random
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Modules and packages that get as many faults each.
PACKAGES = (
    "core/board",
    "core/planes",
    "core/propagation",
    "exact",
    "solvers/queue",
    "solvers/tree",
    "io",
    "explanation",
)
PACKAGES += ("explanation", "techniques", "mastermind")
#: What a fault puts in the place of an operator or truth value; a number becomes the next one.
CHANGES = {"+": "-", "-": "+", "*": "+", "//": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
CHANGES |= {"&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<", "and": "or", "or": "and", "not": "not not"}
CHANGES |= {"True": "False", "False": "True"}


def places(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Where operands end and constants begin, as line and column; none in annotations."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, None)
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.Compare):
            yield node.left.end_lineno or 0, node.left.end_col_offset or 0
        elif isinstance(node, ast.BoolOp):
            yield node.values[0].end_lineno or 0, node.values[0].end_col_offset or 0
        elif isinstance(node, ast.UnaryOp) or (isinstance(node, ast.Constant) and isinstance(node.value, int)):
            yield node.lineno, node.col_offset


def faults(path: Path) -> Iterator[dict[str, Any]]:
    """All faults of a file: its path, the line, its text before and after."""
    at = set(places(ast.parse(path.read_text())))
    last = (0, 0)
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            text, (line, column) = token.string, token.start
            new = str(int(text) + 1) if text.isdigit() else CHANGES.get(text)
            if new is not None and (last in at or token.start in at):
                changed = token.line[:column] + new + token.line[column + len(text) :]
                if token.line.count("\n") == 1:
                    yield {"file": str(path.relative_to(ROOT)), "line": line, "old": token.line, "new": changed}
            if (
                text not in (")", "]") or last not in at
            ):  # an operand's end may lie behind brackets that close around it
                last = token.end


def reached(coverage: Path) -> dict[tuple[str, int], list[str]]:
    """The tests that reach each line of a file."""
    from coverage import CoverageData

    data = CoverageData(str(coverage))
    data.read()
    return {
        (str(Path(file).relative_to(ROOT)), line): sorted({context.rpartition("|")[0] for context in contexts} - {""})
        for file in data.measured_files()
        for line, contexts in data.contexts_by_lineno(file).items()
    }


def find(fault: dict[str, Any], folder: Path, seconds: float) -> dict[str, Any]:
    """Runs the tests of a fault in a copy of the checkout."""
    path = folder / fault["file"]
    original = path.read_text()
    lines = original.splitlines(keepends=True)
    same = [number for number, text in enumerate(lines, 1) if text == fault["old"]]
    if not same or not fault["tests"]:
        return fault | {"found": "no such line" if not same else "no test"}
    lines[min(same, key=lambda number: abs(number - fault["line"])) - 1] = fault["new"]
    path.write_text("".join(lines))
    own = path.stem
    tests = sorted(fault["tests"], key=lambda test: (f"test_{own}." not in test, own not in test))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(tests))
        names.flush()
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "", f"@{names.name}"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            found = failed[0][:200] if failed else f"exit status {done.returncode}" if done.returncode else "survived"
        except subprocess.TimeoutExpired:
            found = f"no end after {seconds:g} s"
        finally:
            path.write_text(original)
    return fault | {"found": found}


def main() -> None:
    """Seeds the faults and writes what became of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coverage", type=Path, required=True, help="the data of a run with --cov-context=test")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="take the faults of an earlier output")
    parser.add_argument("--seconds", type=float, default=900, help="the most for a fault")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, required=True)
    flags = parser.parse_args()
    tests = reached(flags.coverage)
    if flags.again:
        chosen = json.loads(flags.again.read_text())
    else:
        draw = random.Random(flags.seed)
        chosen = []
        for package in PACKAGES:
            path = ROOT / "jaxsudoku" / package
            files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
            able = [fault for file in files for fault in faults(file) if tests.get((fault["file"], fault["line"]))]
            chosen += draw.sample(able, min(flags.count // len(PACKAGES), len(able)))
    for fault in chosen:
        fault["tests"] = tests.get((fault["file"], fault["line"]), [])
    with tempfile.TemporaryDirectory() as folder:
        free = [Path(folder) / str(worker) for worker in range(flags.workers)]
        for copy in free:
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "runs", "site"))

        def run(fault: dict[str, Any]) -> dict[str, Any]:
            copy = free.pop()
            try:
                return find(fault, copy, flags.seconds)
            finally:
                free.append(copy)

        done = []
        with concurrent.futures.ThreadPoolExecutor(flags.workers) as pool:
            for fault in pool.map(run, chosen):
                done.append(fault)
                print(f"{fault['file']}:{fault['line']} {fault['new'].strip()}: {fault['found']}", flush=True)
                flags.output.write_text(json.dumps(done, indent=1))
    survived = [fault for fault in done if fault["found"] in ("survived", "no test")]
    print(f"{len(done) - len(survived)} of {len(done)} faults were found")


if __name__ == "__main__":
    main()
