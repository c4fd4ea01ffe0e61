"""Aligned tables of figures, and their JSON files.

Run as a script it joins the files that ``throughput.py --json`` wrote into one table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import machine

#: Heading, width and alignment of each column.
_COLUMNS = (
    ("set", 20, "<"),
    ("puzzles", 9, ">"),
    ("by", 34, "<"),
    ("batch", 9, ">"),
    ("first s", 8, ">"),
    ("median s", 9, ">"),
    ("spread", 7, ">"),
    ("puzzles/s", 11, ">"),
    ("µs each", 10, ">"),
    ("MiB", 7, ">"),
    ("outcome; ratio to peers", 0, "<"),
)


def heading() -> str:
    return aligned([name for name, _, _ in _COLUMNS])


def line(row: dict[str, Any]) -> str:
    """A row as ``throughput.py`` keeps it; a failed one shows the error."""
    by = " ".join(filter(None, (row["by"], row["options"], row["platform"], "resident" * row["resident"])))
    by += f" limit {row['limit']}" if row["limit"] else ""
    texts = [row["set"], f"{row['puzzles']:,}", by, f"{row['batch']:,}" if row["batch"] else "-"]
    if row["error"]:
        return aligned([*texts, *[""] * 6, f"FAILED: {row['error']}"])
    runs = row["runs_s"]
    if not runs:
        first = "" if row["first_s"] is None else f"{row['first_s']:.2f}"
        return aligned([*texts, first, *[""] * 5, "FAILED: stopped before a timed run was finished"])
    spread = (max(runs) - min(runs)) / row["median_s"]
    return aligned(
        [
            *texts,
            f"{row['first_s']:.2f}",
            f"{row['median_s']:.4f}",
            f"{spread:.0%}",
            f"{row['puzzles_per_s']:,.0f}",
            f"{1e6 / row['puzzles_per_s']:,.3f}",
            f"{row['peak_mib']:,.0f}" if row["peak_mib"] else "-",
            outcome(row),
        ]
    )


def outcome(row: dict[str, Any]) -> str:
    """Statuses or counts, errors, the number of puzzles of a peer, and the throughput relative to peers."""
    counts = ", ".join(f"{number:,} {name}" for name, number in row["outcome"].items() if number)
    failed = f"FAILED {row['failed']:,} of {row['judged']:,}: " if row["failed"] else ""
    ratios = ", ".join(f"{ratio:.2f}x {peer}" for peer, ratio in row["ratios"].items())
    return "; ".join(filter(None, (failed + counts, row["note"], ratios)))


def aligned(texts: Sequence[str], columns: Sequence[tuple[str, int, str]] = _COLUMNS) -> str:
    """Texts in columns, each with a heading, a width and an alignment."""
    cells = (f"{text:{align}{width or ''}}" for text, (_, width, align) in zip(texts, columns, strict=True))
    return "  ".join(cells).rstrip()


def save(path: Path, figures: dict[str, Any]) -> None:
    """Writes figures as JSON. The file is replaced as a whole, so an interrupted run keeps those written before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(figures, indent=1) + "\n")
    unfinished.replace(path)


def failures(rows: Iterable[dict[str, Any]]) -> int:
    """Rows with an error, with wrong statuses, or without a run."""
    return sum(bool(row["error"] or row["failed"] or not row["runs_s"]) for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Joins the figures of several runs into one table.")
    parser.add_argument("files", nargs="+", type=Path, metavar="JSON", help="files of throughput.py --json")
    rows: list[dict[str, Any]] = []
    described = None
    for file in parser.parse_args().files:
        figures = json.loads(file.read_text())
        if not all({"by", "options"} <= row.keys() for row in figures.get("rows", [{}])):
            print(f"{file}: left out, of another benchmark than throughput.py", file=sys.stderr)
            continue
        about = figures["about"]
        same = [about[what] for what in ("devices", "driver", "cpu", "cores", "python", "versions", "commit")]
        if same != described:
            print("\n".join(machine.lines(about)))
            described = same
        rows += figures["rows"]
    print(heading())
    for row in rows:
        print(line(row))
    if bad := failures(rows):
        print(f"{bad} of {len(rows)} rows FAILED")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
