"""Records kernels and bytes of compiled programs as limits for the tests marked ``accelerator``.

    python benchmarks/compiled.py --targets h100 --programs exact,count --boards 9 --json benchmarks/out/compiled.json
    python benchmarks/ratchet.py benchmarks/out/compiled.json

writes the figures of these programs to ``benchmarks/recorded.json``; those of others stay. Figures belong to a version
of jax, whose XLA has made them: with figures of another version all of the file is replaced.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: The recorded figures: the version of jax, and kernels and bytes of a step by "target program board".
RECORDED = Path(__file__).with_name("recorded.json")

#: Relative excess over the recorded figures that is allowed.
_TOLERANCE = 0.05

_FIGURES = ("step_kernels", "step_bytes")


def minor(version: str) -> str:
    """Major and minor number of a version, "0.12" of "0.12.0.1": what figures belong to."""
    return ".".join(version.split(".")[:2])


def name_of(figures: Mapping[str, Any]) -> str:
    """The key of a program's recorded figures."""
    return f"{figures['target']} {figures['program']} {figures['board']}"


def exceeded(figures: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
    """In what a program exceeds its recorded figures by more than 5%, one line each.

    Args:
      figures: a row of ``compiled.py``.
      recorded: what ``RECORDED`` holds.

    Raises:
      KeyError: nothing is recorded for the program.
    """
    bars = recorded["figures"][name_of(figures)]
    return [
        f"{name_of(figures)}: {name} is {figures[name]:,}, recorded {bars[name]:,}"
        for name in _FIGURES
        if figures[name] > bars[name] * (1 + _TOLERANCE)
    ]


def merged(report: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded figures with those of a report of ``compiled.py``.

    Raises:
      ValueError: a program of the report failed.
    """
    if failed := [name_of(row) for row in report["figures"] if row["error"] is not None]:
        raise ValueError(f"programs that failed have no figures to record: {', '.join(failed)}")
    version = minor(report["about"]["versions"]["jax"])
    kept = recorded["figures"] if recorded.get("jax") == version else {}
    new = {name_of(row): {name: row[name] for name in _FIGURES} for row in report["figures"]}
    return {"jax": version, "figures": dict(sorted({**kept, **new}.items()))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, nargs="+", help="JSON of compiled.py")
    recorded: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    try:
        for path in parser.parse_args().report:
            recorded = merged(json.loads(path.read_text()), recorded)
    except (OSError, ValueError) as error:
        print(f"ratchet.py: {error}", file=sys.stderr)
        return 1
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
