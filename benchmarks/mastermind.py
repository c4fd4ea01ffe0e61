"""Benchmark of Mastermind players over all secrets of a game: mean, maximum, histogram, time, memory.

A player's strategy is built as a tree. Plain numpy then plays the tree against every code, so the figures are
independent of the library's own count.

    python benchmarks/mastermind.py --games 4x6,4x7 --players all --json benchmarks/out/mastermind.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import machine
import numpy as np
import report

#: Columns for a player in a game.
COLUMNS = (
    ("game", 12, "<"),
    ("player", 18, "<"),
    ("settings", 34, "<"),
    ("trees", 5, ">"),
    ("opening", 10, "<"),
    ("mean", 8, ">"),
    ("deviation", 9, ">"),
    ("won", 7, ">"),
    ("total", 9, ">"),
    ("max", 3, ">"),
    ("seconds", 8, ">"),
    ("MiB", 7, ">"),
    ("codes by guesses", 0, "<"),
)

#: Players measured by the mean of several strategies.
_SEVERAL = ("random",)

#: Maximum number of guesses of a won game.
_MOST_GUESSES = 10


def attempts(tree: Any) -> np.ndarray:
    """The number of guesses int64[size] for each code, by plain numpy; 0 where the tree does not find it."""
    codes, colours = tree.game.codes, np.arange(tree.game.colours)
    taken, nodes = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    numbers = {pair: number for number, pair in enumerate(tree.game.pairs)}
    on = np.arange(len(codes))
    for made in range(1, len(tree) + 1):
        guesses = codes[tree.guesses[nodes[on]]]
        exact = (guesses == codes[on]).sum(axis=1)
        counts = [(each[:, :, None] == colours).sum(axis=1) for each in (guesses, codes[on])]
        common = np.minimum(*counts).sum(axis=1)
        taken[on[exact == tree.game.pegs]] = made
        heard = np.array([numbers[pair] for pair in zip(exact.tolist(), (common - exact).tolist(), strict=True)])
        after = tree.children[nodes[on], heard]
        nodes[on], on = after, on[after >= 0]
        if not len(on):
            break
    return taken


def measure(game: Any, player: str, options: dict[str, Any], trees: int) -> dict[str, Any]:
    """Builds a player's strategies and plays all codes against them; the time includes compilation."""
    from jaxsudoku.mastermind import players, report

    machine.forget_peak()
    start = time.perf_counter()
    config = players.make_config(player, **options)
    _, grown = report.evaluate_trees(game, player, config, 0, trees, lambda text: None)
    seconds = time.perf_counter() - start
    peak = machine.peak_mib()
    taken = np.concatenate([attempts(tree) for tree in grown])
    if (taken == 0).any():
        raise RuntimeError(f"{player} does not find every code of {game}")
    times = np.bincount(taken)
    return {
        "opening": game.code_text(int(grown[0].guesses[0])),
        "mean": float(taken.mean()),
        "deviation": float(taken.std()),
        "won": float((taken <= _MOST_GUESSES).mean()),
        "total": int(taken.sum()),
        "max": int(taken.max()),
        "seconds": seconds,
        "peak_mib": peak,
        "histogram": {number: int(count) for number, count in enumerate(times) if count},
    }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    settings = " ".join(f"{name}={value}" for name, value in row["options"].items())
    return report.aligned(
        [
            row["game"],
            row["player"],
            settings,
            str(row["trees"]),
            row["opening"],
            f"{row['mean']:.4f}",
            f"{row['deviation']:.4f}",
            f"{row['won']:.2%}",
            f"{row['total']:,}",
            str(row["max"]),
            f"{row['seconds']:,.1f}",
            f"{row['peak_mib']:,.0f}",
            " ".join(f"{number}: {count:,}" for number, count in row["histogram"].items()),
        ],
        COLUMNS,
    )


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores("all"), ["mctx"])
    print("\n".join(machine.lines(about)))
    print()
    print(report.aligned([name for name, _, _ in COLUMNS], COLUMNS))
    from jaxsudoku import mastermind

    rows = []
    for name, game in args.games.items():
        for player in list(mastermind.PLAYERS) if args.players == ["all"] else args.players:
            trees = args.trees if player in _SEVERAL else 1
            row = {"game": name, "player": player, "options": args.option, "trees": trees}
            rows.append(row | measure(game, player, args.option, trees))
            print(line(rows[-1]), flush=True)
            if args.json:
                args.json.parent.mkdir(parents=True, exist_ok=True)
                args.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return 0


def game_of(text: str) -> Any:
    """The game of a name such as 4x6, or 4x6- for one without repeats.

    Raises:
      ValueError: the name is malformed, or there is no such game.
    """
    from jaxsudoku.mastermind import PegGame

    try:
        pegs, colours = map(int, text.removesuffix("-").split("x"))
    except ValueError:
        raise ValueError(f"a game such as 4x6 was expected, not {text!r}") from None
    return PegGame(pegs, colours, repeats=not text.endswith("-"))


def _parse() -> argparse.Namespace:
    from jaxsudoku.mastermind import players

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="See benchmarks/README.md.")
    add = parser.add_argument
    add("--games", default="4x6", help="pegs x colours, separated by commas; a dash at the end means without repeats")
    add("--players", default=["all"], type=lambda text: text.split(","), help="by their names, or all")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="a setting of the player; may be repeated")
    add("--trees", type=int, default=100, help=f"strategies of {', '.join(_SEVERAL)} (default: 100)")
    add("--json", type=Path, help="file for all raw figures")
    args = parser.parse_args()
    try:
        args.games = {name: game_of(name) for name in args.games.split(",")}
        args.option = {name: json.loads(value) for name, value in (text.split("=") for text in args.option)}
        for player in args.players:
            if player != "all":
                players.make_config(player, **args.option)
    except (ValueError, TypeError) as error:
        parser.error(str(error))
    return args


if __name__ == "__main__":
    sys.exit(main())
