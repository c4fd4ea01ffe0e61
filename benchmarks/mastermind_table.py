"""Table of Mastermind: the lowest mean of several players, for games of 2 to 8 pegs and 2 to 12 colours.

Games are played from small to large: with all players for games of few codes, only with ``entropy`` for the largest.
``mastermind.py`` measures each player and replays its strategy with numpy. An existing file is continued without
repeating measurements. Without ``--codes`` nothing is measured, and the file is printed.

    python benchmarks/mastermind_table.py --codes 40000 --json benchmarks/out/mastermind-table.json
    python benchmarks/mastermind_table.py --json benchmarks/out/mastermind-table.json --player entropy
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine
import mastermind

_PEGS, _COLOURS = range(2, 9), range(2, 13)
_GREEDY = ("minimax", "expected-size", "entropy", "most-parts")

#: Up to so many codes: the proof, with a limit of positions; three plies; two plies, and two with few guesses at each;
#: all greedy players; several first guesses of these.
_PROVEN, _THREE, _TWO, _FEW, _ALL, _OPENINGS = 1800, 8000, 80_000, 300_000, 120_000, 33_000
_POSITIONS, _WIDTH = 3_000_000, 5


def plan(codes: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The players of a game with this many codes, and their settings."""
    for player in _GREEDY if codes <= _ALL else ("entropy",):
        yield player, {} if codes <= _OPENINGS else {"openings": 1}
    if codes <= _FEW:
        yield "lookahead", {"plies": 3} if codes <= _THREE else {} if codes <= _TWO else {"width": _WIDTH}
    if codes <= _PROVEN:
        yield "optimal", {"positions": _POSITIONS}


def rows_to_measure(most: int, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows without figures that are still missing, for games of at most ``most`` codes, smallest first."""
    have = {(row["game"], row["player"]) for row in rows}
    games = sorted((colours**pegs, f"{pegs}x{colours}") for pegs in _PEGS for colours in _COLOURS)
    for codes, game in games:
        for player, options in plan(codes) if codes <= most else ():
            if (game, player) not in have:
                yield {"game": game, "player": player, "options": options, "trees": 1}


def table(rows: list[dict[str, Any]], player: str | None) -> str:
    """Means in Markdown, pegs by colours: of a player, or the lowest of all, in bold where it is proven."""
    best: dict[str, tuple[float, bool]] = {}
    for row in rows:
        if player in (None, row["player"]) and "error" not in row:
            mean, proven = best.get(row["game"], (float("inf"), False))
            best[row["game"]] = min(mean, row["mean"]), proven or row["player"] == "optimal"
    lines = ["| pegs | " + " | ".join(map(str, _COLOURS)) + " |", "|--:|" + "--:|" * len(_COLOURS)]
    for pegs in _PEGS:
        cells = [_cell(best.get(f"{pegs}x{colours}")) for colours in _COLOURS]
        lines.append(f"| {pegs} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(found: tuple[float, bool] | None) -> str:
    if found is None:
        return ""
    mean, proven = found
    return f"**{mean:.4f}**" if proven else f"{mean:.4f}"


def _measured(row: dict[str, Any]) -> dict[str, Any]:
    """The figures of a row, or the cause if there are none: a proof that needs more positions than its limit."""
    from jaxsudoku.mastermind import SearchLimitError

    try:
        return mastermind.measure(mastermind.game_of(row["game"]), row["player"], row["options"], 1)
    except SearchLimitError as error:
        return {"error": f"{row['player']}: {error}"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    parser.add_argument("--codes", type=int, default=0, help="maximum size of games to measure (default: none)")
    parser.add_argument("--json", type=Path, required=True, help="file of all raw figures, continued if it exists")
    parser.add_argument("--player", help="print the table of this player instead of that of the best")
    args = parser.parse_args()
    found: dict[str, Any] = json.loads(args.json.read_text()) if args.json.exists() else {"runs": [], "rows": []}
    rows = found["rows"]
    if left := list(rows_to_measure(args.codes, rows)):
        found["runs"].append(machine.describe(machine.keep_to_cores("all"), []))
    for row in left:
        rows.append(row | {"run": len(found["runs"]) - 1} | _measured(row))
        print(rows[-1]["error"] if "error" in rows[-1] else mastermind.line(rows[-1]), flush=True)
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    print(table(rows, args.player))
    return 0


if __name__ == "__main__":
    sys.exit(main())
