"""``jaxsudoku mastermind play``: a game against a player, in the terminal or over a pipe."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxsudoku import mastermind
from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_printed
from jaxsudoku.cli.parser import Parser, find_values, flag
from jaxsudoku.io import check_standard_input
from jaxsudoku.mastermind.player_config import PlayerConfig
from jaxsudoku.mastermind.players import PLAYERS, get
from jaxsudoku.mastermind.rules import check_codes
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.streams import print_error

from . import options

if TYPE_CHECKING:
    from jaxsudoku.mastermind import CodeBreaker, Game, Policy, Tree

EPILOG = f"""\
examples:
  jaxsudoku mastermind play
  jaxsudoku mastermind play --you guess --seed 7 --attempts 10
  jaxsudoku mastermind play --search-tree tree.json --train-on 500

{options.CODES_SECTION}
While you hold the secret, feedback that fits no code is reported, with the answers that may be wrong; undo takes one
back. While you guess, fits CODE says whether a code may be the secret. quit ends the game.

exit status:
  0    the secret is found, or the game ended by quit
  1    the attempts are used up, the input ended before the game, or the search of the player reached its limit
  2    usage: an unknown option or value, or a file that can't be read
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(options.GameRequest):
    """What ``play`` is asked for; ``config`` are the settings of the player."""

    you: str = flag(
        "hold the secret and answer, or guess a secret (default: hold)", choices=("hold", "guess"), default="hold"
    )
    player: str = options.player_flag("", default=options.PLAYER, words=PLAYERS)
    config: PlayerConfig
    attempts: int | None = flags.number_flag("the most guesses of a game, 10 on the usual board (default: no limit)")
    tree: str | None = flag("a strategy to guess by, instead of a player; it names the game", metavar="FILE")
    search_tree: str | None = flag(
        "a search tree of `jaxsudoku mastermind train` to guess by; training during play is saved in the file",
        metavar="FILE",
    )
    train_on: int = flags.number_flag("with --search-tree: simulations before each guess", default=0, least=0)
    seed: int | None = flag(
        "seed of all randomness, the secret too (default: another every time)", type=flags.seed, metavar="N"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tree and self.search_tree:
            raise UsageError("--tree and --search-tree: name one of them")
        if self.train_on and not self.search_tree:
            raise UsageError("--train-on is for --search-tree")


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The flags of ``play``, with those of the player that the arguments name."""
    options.add_request(parser, Request, run, find_values(argv, "--player")[-1:])


def run(request: Request, invocation: Invocation) -> int:
    """Plays a game; the exit status, 1 if it is lost or the input ended before it."""
    with contextlib.ExitStack() as stack:
        return _run(request, invocation, stack)


def _run(request: Request, invocation: Invocation, stack: contextlib.ExitStack) -> int:
    """``run``, with a stack that saves and unlocks the search tree."""
    game = request.load_game()
    with as_usage():
        check_standard_input()
    check_printed("-", *(path for path in (request.tree, request.search_tree) if path))
    screen = invocation.start_screen(quiet=False)
    from jaxsudoku.mastermind import SearchLimitError, SearchTree

    tree: Tree | SearchTree | None = options.load_strategy(request.tree) if request.tree else None
    if request.search_tree:
        with as_usage():
            if Path(request.search_tree).exists():
                stack.enter_context(OutputLock(request.search_tree))  # before it is read, as others may write it
            tree = SearchTree.load(request.search_tree)
    if tree is not None:
        path, kind = (request.tree, "strategy") if request.tree else (request.search_tree, "search tree")
        request.check_game(f"{path}: a {kind}", tree.game)
        game = tree.game
    player = get(request.player)
    with as_usage():
        if request.you == "guess" or tree is not None:
            check_codes(game)
        else:
            player.check(game, request.config)
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    screen.clear()
    if request.you == "guess":
        return _you_guess(game, seed, request.attempts)
    try:
        if isinstance(tree, SearchTree):
            if request.train_on and request.search_tree:
                stack.callback(tree.save, request.search_tree)
            guesser: Policy | Tree = tree.policy(request.train_on)
        else:
            guesser = tree or player.make(game, request.config, lambda text: None)
        return _you_hold(mastermind.CodeBreaker(game, guesser, seed, attempts=request.attempts), invocation)
    except SearchLimitError as error:
        print_error(f"jaxsudoku: error: {request.player}: {error}")
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


def _you_hold(breaker: CodeBreaker, invocation: Invocation) -> int:
    """A player guesses, and feedback is typed."""
    game, of = breaker.game, "" if breaker.attempts is None else f" of {breaker.attempts}"
    print(f"{game}: think of a code. After each guess type {game.feedback_form}.")
    while True:
        with invocation.signals.held():  # a search tree that is interrupted would count a game in part
            guess = breaker.guess()
        left = len(breaker.possible)
        print(f"guess {breaker.guesses + 1}{of}: {game.code_text(guess)}  ({left:,} possible)")
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
        if breaker.found:
            print(f"found in {_guesses(breaker.guesses)}")
            return 0
        if breaker.lost:
            first, *others = breaker.possible.tolist()
            which = f"{len(others) + 1:,} codes are possible" if others else f"it is {game.code_text(first)}"
            print(f"lost: not found in {_guesses(breaker.guesses)}; {which}")
            return 1


def _you_guess(game: Game, seed: int, attempts: int | None) -> int:
    """A random secret is held, and guesses are answered."""
    import jax

    secret = int(jax.random.randint(jax.random.key(seed), (), 0, game.secrets))
    maker = mastermind.CodeMaker(game, secret, attempts=attempts)
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
        if maker.found:
            print(f"found in {_guesses(maker.guesses)}")
            return 0
        rest = "" if attempts is None else f", {_guesses(attempts - maker.guesses)} left"
        print(f"{game.feedback_text(feedback)}  ({len(maker.possible):,} possible{rest})")
        if maker.lost:
            print(f"lost: not found in {_guesses(maker.guesses)}; it was {game.code_text(secret)}")
            return 1
    return 1
