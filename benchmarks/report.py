"""Rows of figures as an aligned table.

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
    ("ratio", 24, "<"),
    ("outcome", 0, "<"),
)


def heading() -> str:
    return _aligned([name for name, _, _ in _COLUMNS])


def line(row: dict[str, Any]) -> str:
    """One row as ``throughput.py`` keeps it; a failed one shows why."""
    by = " ".join(filter(None, (row["by"], row["options"], row["platform"], "resident" * row["resident"])))
    by += f" limit {row['limit']}" if row["limit"] else ""
    texts = [row["set"], f"{row['puzzles']:,}", by, f"{row['batch']:,}" if row["batch"] else "-"]
    if row["error"]:
        return _aligned([*texts, *[""] * 7, f"FAILED: {row['error']}"])
    runs = row["runs_s"]
    spread = (max(runs) - min(runs)) / row["median_s"]
    return _aligned([
        *texts,
        f"{row['first_s']:.2f}",
        f"{row['median_s']:.4f}",
        f"{spread:.0%}",
        f"{row['puzzles_per_s']:,.0f}",
        f"{1e6 / row['puzzles_per_s']:,.3f}",
        f"{row['peak_mib']:,.0f}" if row["peak_mib"] else "-",
        ", ".join(f"{ratio:.1f}x {peer}" for peer, ratio in row["ratios"].items()) or "-",
        outcome(row),
    ])  # fmt: skip


def outcome(row: dict[str, Any]) -> str:
    """Statuses or counts, what is amiss among them, and on how many puzzles a peer was measured."""
    counts = ", ".join(f"{number:,} {name}" for name, number in row["outcome"].items() if number)
    failed = f"FAILED {row['failed']:,} of {row['judged']:,}: " if row["failed"] else ""
    return failed + counts + (f"; {row['note']}" if row["note"] else "")


def _aligned(texts: Sequence[str]) -> str:
    cells = (f"{text:{align}{width or ''}}" for text, (_, width, align) in zip(texts, _COLUMNS, strict=True))
    return "  ".join(cells).rstrip()


def failures(rows: Iterable[dict[str, Any]]) -> int:
    return sum(bool(row["error"] or row["failed"]) for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Joins the figures of several runs into one table.")
    parser.add_argument("files", nargs="+", type=Path, metavar="JSON", help="what throughput.py --json wrote")
    rows: list[dict[str, Any]] = []
    described = None
    for file in parser.parse_args().files:
        figures = json.loads(file.read_text())
        told = machine.lines(figures["about"])
        if told[:3] != described:
            print("\n".join(told))
            described = told[:3]
        rows += figures["rows"]
    print(heading())
    for row in rows:
        print(line(row))
    if bad := failures(rows):
        print(f"{bad} of {len(rows)} rows FAILED")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
