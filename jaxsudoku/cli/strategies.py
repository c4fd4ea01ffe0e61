"""``mastermind evaluate`` and ``mastermind show``: how good strategies are, over all secrets."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from typing import TYPE_CHECKING

from jaxsudoku import pictures
from jaxsudoku.terminal.failure import UsageError, as_usage
from jaxsudoku.terminal.stop import Signals

from .files import check_output, check_printed, put
from .progress import started
from .report import device_of, versions

if TYPE_CHECKING:
    from jaxsudoku.mastermind import Tree


def evaluate(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Evaluates players; the exit status."""
    check_printed()
    outputs = ["-"]
    for path in filter(None, (args.plot, args.save)):
        check_output("output", path, [], outputs, args.force)
        outputs.append(path)
    if args.save and (len(args.players) > 1 or args.trees > 1):
        raise UsageError("--save keeps one strategy: name one player, and leave --trees out")
    with as_usage():
        if args.plot:
            pictures.check_suffix(args.plot)
    screen = started(args.quiet)
    import jax

    from jaxsudoku import mastermind
    from jaxsudoku.mastermind.players import get
    from jaxsudoku.mastermind.report import evaluate_trees
    from jaxsudoku.mastermind.rules import check_size

    with as_usage():
        check_size(args.game)
    reports: list[mastermind.Report] = []
    trees: list[mastermind.Tree] = []
    for name, config in args.players.items():

        def told(text: str, name: str = name) -> None:
            screen.show(f"{name}: {text}")

        clock = time.perf_counter()
        copies = args.trees if get(name).random else 1
        try:
            report, trees = evaluate_trees(args.game, name, config, args.seed, copies, told)
        except mastermind.SearchLimitError as error:
            screen.say(f"jaxsudoku: error: {name}: {error}")
            continue
        about = {
            "seed": args.seed,
            "startup_seconds": round(clock - began, 6),
            "device": device_of(jax.local_devices()),
            "versions": versions(),
        }
        reports.append(dataclasses.replace(report, about=about))
        if args.json:
            screen.clear()
            put(sys.stdout.buffer, f"{reports[-1].to_json()}\n", "<stdout>")
    screen.clear()
    with signals.held():
        if reports and not args.json:
            put(sys.stdout.buffer, f"{args.game}: {args.game.size:,} codes\n{mastermind.table(reports)}\n", "<stdout>")
        if reports and args.save:
            mastermind.save_tree(trees[0], args.save)
        if reports and args.plot:
            mastermind.plot(reports, args.plot)
    return 0 if len(reports) == len(args.players) else 1


def show(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Checks a strategy against every code, and draws it; the exit status."""
    del signals, began
    check_printed(args.tree)
    from jaxsudoku import mastermind

    tree = loaded(args.tree)
    report = mastermind.Report.of([tree], tree.player or "?")
    text = report.to_json() if args.json else f"{tree.game}\n{report}\n\n{mastermind.draw_tree(tree, args.guesses)}"
    put(sys.stdout.buffer, f"{text}\n", "<stdout>")
    return 0


def loaded(path: str) -> Tree:
    """A strategy that finds every code, from a file; raises UsageError that names it."""
    from jaxsudoku import mastermind

    with as_usage():
        tree = mastermind.load_tree(path)
        try:
            _ = tree.attempts
        except mastermind.TreeError as error:
            raise UsageError(f"{path}: {error}") from error
    return tree
