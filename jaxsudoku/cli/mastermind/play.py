"""``jaxsudoku mastermind play``: a game against a player, in the terminal or over a pipe."""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_printed
from jaxsudoku.cli.parser import Parser, find_values
from jaxsudoku.io import check_standard_input
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.streams import print_error

from . import options

if TYPE_CHECKING:
    from jaxsudoku.mastermind import Game, Policy, Tree

SUMMARY = "play a game against a player"

EPILOG = f"""\
examples:
  jaxsudoku mastermind play
  jaxsudoku mastermind play --you guess --seed 7
  jaxsudoku mastermind play --search-tree tree.json --train-on 500

{options.CODES_SECTION}
While you hold the secret, feedback that fits no code is reported, with the answers that may be wrong; undo takes one
back. While you guess, fits CODE says whether a code may be the secret. quit ends the game.
"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``play``, with those of the player that the arguments name."""
    options.add_game(parser)
    parser.add_argument(
        "--you",
        choices=("hold", "guess"),
        default="hold",
        help="hold the secret and answer, or guess a secret (default: hold)",
    )
    options.add_player(parser, find_values(argv, "--player")[-1:], several=False)
    parser.add_argument("--tree", metavar="FILE", help="a strategy to guess by, instead of a player; it names the game")
    parser.add_argument(
        "--search-tree",
        metavar="FILE",
        help="a search tree of `jaxsudoku mastermind train` to guess by; training during play is saved in the file",
    )
    parser.add_flag(
        "--train-on", flags.number_flag("with --search-tree: simulations before each guess", default=0, least=0)
    )
    parser.add_argument(
        "--seed",
        type=flags.seed,
        metavar="N",
        help="seed of all randomness, the secret too (default: another every time)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, invocation: Invocation) -> int:
    """Plays a game; the exit status, 1 if the input ended before it."""
    with contextlib.ExitStack() as stack:
        return _run(args, invocation, stack)


def _run(args: argparse.Namespace, invocation: Invocation, stack: contextlib.ExitStack) -> int:
    """``run``, with a stack that saves and unlocks the search tree."""
    game, configs = options.game_of(args), options.players_of(args)
    with as_usage():
        check_standard_input()
    if args.tree and args.search_tree:
        raise UsageError("--tree and --search-tree: name one of them")
    if args.train_on and not args.search_tree:
        raise UsageError("--train-on is for --search-tree")
    check_printed("-", *(path for path in (args.tree, args.search_tree) if path))
    screen = invocation.start_screen(quiet=False)
    from jaxsudoku.mastermind import SearchLimitError, SearchTree
    from jaxsudoku.mastermind.players import get
    from jaxsudoku.mastermind.rules import check_codes

    tree: Tree | SearchTree | None = options.load_strategy(args.tree) if args.tree else None
    if args.search_tree:
        with as_usage():
            if Path(args.search_tree).exists():
                stack.enter_context(OutputLock(args.search_tree))  # before it is read, as others may write it
            tree = SearchTree.load(args.search_tree)
    if tree is not None:
        path, kind = (args.tree, "strategy") if args.tree else (args.search_tree, "search tree")
        options.check_game(args, game, f"{path}: a {kind}", tree.game)
        game = tree.game
    ((name, config),) = configs.items()
    with as_usage():
        if args.you == "guess" or tree is not None:
            check_codes(game)
        else:
            get(name).check(game, config)
    seed = random.SystemRandom().getrandbits(32) if args.seed is None else args.seed
    screen.clear()
    if args.you == "guess":
        return _you_guess(game, seed)
    try:
        if isinstance(tree, SearchTree):
            if args.train_on:
                stack.callback(tree.save, args.search_tree)
            return _you_hold(game, seed, tree.policy(args.train_on), invocation)
        return _you_hold(game, seed, tree or get(name).make(game, config, lambda text: None), invocation)
    except SearchLimitError as error:
        print_error(f"jaxsudoku: error: {args.player}: {error}")
        return 1


def _lines(prompt: str) -> Iterator[str]:
    """The lines that are typed, until the input ends."""
    while True:
        print(prompt, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print()
            return
        yield line.strip()


def _guesses(number: int) -> str:
    return f"{number} {'guess' if number == 1 else 'guesses'}"


def _you_hold(game: Game, seed: int, player: Policy | Tree, invocation: Invocation) -> int:
    """A player guesses, and feedback is typed."""
    from jaxsudoku import mastermind

    print(f"{game}: think of a code. After each guess type {game.feedback_form}.")
    breaker = mastermind.CodeBreaker(game, player, seed)
    while True:
        with invocation.signals.held():  # a search tree that is interrupted would count a game in part
            guess = breaker.guess()
        left = len(breaker.possible)
        print(f"guess {len(breaker.answers) + 1}: {game.code_text(guess)}  ({left:,} possible)")
        for line in _lines("> "):
            if line == "quit":
                return 0
            try:
                if line == "undo":
                    breaker.undo()
                else:
                    breaker.update(guess, game.parse_feedback(line))
                break
            except IndexError:
                print("there is no answer to take back")
            except (mastermind.CodeError, mastermind.InconsistentError) as error:
                print(f"{error}; undo takes the last answer back" if breaker.answers else error)
        else:
            return 1
        if breaker.over:
            print(f"found in {_guesses(len(breaker.answers))}")
            return 0


def _you_guess(game: Game, seed: int) -> int:
    """A random secret is held, and guesses are answered."""
    import jax

    from jaxsudoku import mastermind

    secret = int(jax.random.randint(jax.random.key(seed), (), 0, game.secrets))
    maker = mastermind.CodeMaker(game, secret)
    print(f"{game}: guess the code. The answer is {game.feedback_form}.")
    for line in _lines("> "):
        if line == "quit":
            print(f"it was {game.code_text(secret)}")
            return 0
        try:
            if line.startswith("fits "):
                fits = maker.fits(game.parse_code(line.removeprefix("fits ")))
                print("it may be the secret" if fits else "it can't be the secret")
                continue
            feedback = maker.answer(game.parse_code(line))
        except mastermind.CodeError as error:
            print(error)
            continue
        if feedback == game.win:
            print(f"found in {_guesses(maker.guesses)}")
            return 0
        print(f"{game.feedback_text(feedback)}  ({len(maker.possible):,} possible)")
    return 1
