"""``jaxsudoku mastermind evaluate``: plays all secrets of a game against players."""

from __future__ import annotations

import dataclasses
import functools
import sys
import time
from collections.abc import Sequence

from jaxsudoku import mastermind, pictures
from jaxsudoku.cli import flags
from jaxsudoku.cli.invocation import Invocation
from jaxsudoku.cli.outputs import check_outputs, check_printed, put
from jaxsudoku.cli.parser import Parser, find_values, flag
from jaxsudoku.cli.report import record
from jaxsudoku.mastermind.player_config import PlayerConfig
from jaxsudoku.mastermind.players import PLAYERS, get
from jaxsudoku.runtime.terminal.failure import UsageError, as_usage
from jaxsudoku.runtime.terminal.progress import Screen

from . import options

EPILOG = f"""\
examples:
  jaxsudoku mastermind evaluate --pegs 4 --colours 6 --player entropy
  jaxsudoku mastermind evaluate --player random --trees 100 --json
  jaxsudoku mastermind evaluate --player minimax --player optimal --plot players.png
  jaxsudoku mastermind evaluate --player lookahead --plies 3 --save tree.json

Every code of the game is the secret once. output: a table with one line per player: its first guess, the mean, maximum
and total number of guesses, and the numbers of games that take 1, 2, 3 ... guesses; or one JSON object per line and
player.

{options.CODES_SECTION}"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(options.GameRequest):
    """Request of ``evaluate``; ``config`` has the settings of the player if one is named."""

    player: tuple[str, ...] = options.player_flag(
        "; may be repeated; all for all of them", action="append", default=(), words=(*PLAYERS, "all")
    )
    config: PlayerConfig | None = None
    trees: int = flags.number_flag("number of strategies of each random player, which are all played", default=1)
    json: bool = flag("print a JSON object per player instead of the table", default=False)
    plot: str | None = flag("file for a picture, such as players.png (needs the extra plot)", metavar="FILE")
    save: str | None = flag("file for the strategy of a single player, as JSON", metavar="FILE")
    force: bool = flag("replace existing outputs", default=False)
    quiet: bool = flag("no progress; errors are still reported", default=False)
    seed: int = flags.seed_flag()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.players:
            get(name)

    @property
    def players(self) -> tuple[str, ...]:
        """The names of the players, each once."""
        return tuple(PLAYERS) if "all" in self.player else tuple(dict.fromkeys(self.player)) or (options.PLAYER,)


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of ``evaluate``, including those of the player if the arguments name one."""
    options.add_request(parser, Request, run, find_values(argv, "--player"))


def run(request: Request, invocation: Invocation) -> int:
    """Evaluates players; returns the exit status."""
    game = request.load_game()
    configs = {name: request.config or get(name).config() for name in request.players}
    check_printed()
    check_outputs([path for path in (request.plot, request.save) if path], force=request.force, json=request.save)
    if request.save and (len(configs) > 1 or request.trees > 1):
        raise UsageError("--save writes one strategy: name one player, and leave out --trees")
    with as_usage():
        if request.plot:
            pictures.check_suffix(request.plot)
    screen = invocation.start_screen(request.quiet)
    from jaxsudoku.mastermind.report import evaluate_trees

    with as_usage():
        for name, config in configs.items():
            get(name).check(game, config)
    reports: list[mastermind.Report] = []
    trees: list[mastermind.Tree] = []
    for name, config in configs.items():
        began = time.perf_counter()
        copies = request.trees if get(name).random else 1
        try:
            progress = functools.partial(_show, screen, name)
            report, trees = evaluate_trees(game, name, config, request.seed, copies, progress)
        except mastermind.SearchLimitError as error:
            screen.say(f"jaxsudoku: error: {name}: {error}")
            continue
        about = record(seed=request.seed, startup_seconds=began - invocation.began)
        reports.append(dataclasses.replace(report, about=about))
        if request.json:
            screen.clear()
            put(sys.stdout.buffer, f"{reports[-1].to_json()}\n", "<stdout>")
    screen.clear()
    with invocation.signals.held():
        if reports and not request.json:
            put(sys.stdout.buffer, f"{game}: {game.secrets:,} codes\n{mastermind.table(reports)}\n", "<stdout>")
        if reports and request.save:
            mastermind.save_tree(trees[0], request.save)
        if reports and request.plot:
            mastermind.plot(reports, request.plot)
    return 0 if len(reports) == len(configs) else 1


def _show(screen: Screen, name: str, text: str) -> None:
    screen.show(f"{name}: {text}")
