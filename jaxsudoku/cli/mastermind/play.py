"""``jaxsudoku mastermind play``: a game against a player, in the terminal or over a pipe."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxsudoku import mastermind
from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_printed
from jaxsudoku.cli.parser import Parser, find_values, flag
from jaxsudoku.io import check_standard_input
from jaxsudoku.mastermind.player_config import PlayerConfig
from jaxsudoku.mastermind.players import PLAYERS, get, make_policy
from jaxsudoku.mastermind.rules import check_codes
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.streams import print_error

from . import options
from .dialogue import BOTH, GUESSING, HOLDING, Guessing, Holding, Thinking, described

if TYPE_CHECKING:
    from jaxsudoku.mastermind import CodeBreaker, Game, Policy, Tree

EPILOG = f"""\
examples:
  jaxsudoku mastermind play
  jaxsudoku mastermind play --you guess --seed 7 --attempts 10
  jaxsudoku mastermind play --search-tree tree.json --train-on 500

{options.CODES_SECTION}
While you hold the secret, the player guesses and you type the feedback. While you guess (--you guess), the secret is
drawn at random and you type codes. What else may be typed, at any time:

{described(BOTH)}

while you hold the secret:

{described(HOLDING)}

while you guess:

{described(GUESSING)}

exit status:
  0    the secret is found, or the game ended by quit
  1    the attempts are used up, the input ended before the game, or the search of the player reached its limit
  2    usage: an unknown option or value, or a file that can't be read
  130  stopped by Ctrl-C
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(options.GameRequest):
    """What ``play`` is asked for; ``config`` are the settings of the player."""

    you: str = flag(
        "hold the secret and type feedback, or guess a secret of the program (default: hold)",
        choices=("hold", "guess"),
        default="hold",
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
    with as_usage():
        if tree is None:
            get(request.player).check(game, request.config)
        else:
            check_codes(game)
    seed = random.SystemRandom().getrandbits(32) if request.seed is None else request.seed
    screen.clear()

    def make_breaker(attempts: int | None) -> CodeBreaker:
        guesser: Policy | Tree
        if isinstance(tree, SearchTree):
            if request.train_on and request.search_tree:
                stack.callback(tree.save, request.search_tree)
            guesser = tree.policy(request.train_on)
        else:
            guesser = tree or make_policy(game, request.player, request.config)
        return mastermind.CodeBreaker(game, guesser, seed, attempts=attempts)

    # a search tree that is interrupted would count a game in part
    thinking: Thinking = invocation.signals.held if request.train_on else contextlib.nullcontext
    if request.you == "guess":
        return Guessing(game, _secret(game, seed), request.attempts, make_breaker, thinking).play()
    try:
        return Holding(make_breaker(request.attempts), thinking).play()
    except SearchLimitError as error:
        print_error(f"jaxsudoku: error: {request.player}: {error}")
        return 1


def _secret(game: Game, seed: int) -> int:
    """A random code that may be the secret."""
    import jax

    return int(jax.random.randint(jax.random.key(seed), (), 0, game.secrets))
