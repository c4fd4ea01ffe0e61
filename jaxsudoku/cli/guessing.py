"""``mastermind play``: a game in the terminal, or over a pipe."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxsudoku.io import check_standard_input
from jaxsudoku.terminal.failure import UsageError, as_usage
from jaxsudoku.terminal.stop import Signals

from .files import check_printed
from .progress import started
from .strategies import loaded

if TYPE_CHECKING:
    from jaxsudoku.mastermind import Tree


def play(args: argparse.Namespace, signals: Signals, began: float) -> int:
    """Plays a game; the exit status, 1 if the input ended before it."""
    del signals, began
    with as_usage():
        check_standard_input()
    check_printed("-", *filter(None, (args.tree,)))
    screen = started(quiet=False)
    from jaxsudoku.mastermind import SearchLimitError
    from jaxsudoku.mastermind.rules import check_size

    tree = loaded(args.tree) if args.tree else None
    if tree is not None:
        if args.game_named and tree.game != args.game:
            raise UsageError(f"{args.tree}: a strategy for {tree.game}, where the game is {args.game}")
        args.game = tree.game
    with as_usage():
        check_size(args.game)
    if args.seed is None:
        args.seed = secrets.randbits(32)
    screen.clear()
    if args.you == "guess":
        return _you_guess(args)
    try:
        return _you_hold(args, tree)
    except SearchLimitError as error:
        print(f"jaxsudoku: error: {args.player}: {error}", file=sys.stderr)
        return 1


def _lines(prompt: str) -> Iterator[str]:
    """What is typed, line by line, until the input ends."""
    while True:
        print(prompt, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print()
            return
        yield line.strip()


def _you_hold(args: argparse.Namespace, tree: Tree | None) -> int:
    """Guesses are told, and their feedbacks are typed."""
    from jaxsudoku import mastermind
    from jaxsudoku.mastermind import players

    game = args.game
    ((name, config),) = args.players.items()
    print(f"{game}: think of a code. After each guess type two numbers: pegs that are right, colours elsewhere.")
    player = tree if tree is not None else players.get(name).make(game, config, lambda text: None)
    breaker = mastermind.CodeBreaker(game, player, args.seed)
    while True:
        guess = breaker.guess()
        left = len(breaker.possible)
        print(f"guess {len(breaker.answers) + 1}: {mastermind.code_text(game, guess)}  ({left:,} possible)")
        for line in _lines("> "):
            if line == "quit":
                return 0
            try:
                if line == "undo":
                    breaker.undo()
                else:
                    breaker.update(guess, mastermind.parse_feedback(game, line))
                break
            except IndexError:
                print("there is no answer to take back")
            except (mastermind.CodeError, mastermind.InconsistentError) as error:
                print(f"{error}{'; undo takes the last answer back' * bool(breaker.answers)}")
        else:
            return 1
        if breaker.over:
            made = len(breaker.answers)
            print(f"found in {made} guess{'es' * (made != 1)}")
            return 0


def _you_guess(args: argparse.Namespace) -> int:
    """A random secret is held, and guesses are answered."""
    import jax

    from jaxsudoku import mastermind

    game = args.game
    secret = int(jax.random.randint(jax.random.key(args.seed), (), 0, game.size))
    maker = mastermind.CodeMaker(game, secret)
    print(f"{game}: guess the code. The answer is two numbers: pegs that are right, colours elsewhere.")
    for line in _lines("> "):
        if line == "quit":
            print(f"it was {mastermind.code_text(game, secret)}")
            return 0
        try:
            if line.startswith("fits "):
                fits = maker.fits(mastermind.parse_code(game, line.removeprefix("fits ")))
                print("it may be the secret" if fits else "it can't be the secret")
                continue
            heard = maker.answer(mastermind.parse_code(game, line))
        except mastermind.CodeError as error:
            print(error)
            continue
        if heard == game.win:
            print(f"found in {maker.guesses} guess{'es' * (maker.guesses != 1)}")
            return 0
        print(f"{mastermind.feedback_text(game, heard)}  ({len(maker.possible):,} possible)")
    return 1
