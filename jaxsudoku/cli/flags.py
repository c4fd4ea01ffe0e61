"""The flags: those of the sub-commands, and one for every field of a solver's config.

A solver's flags come from its config, which needs JAX; so they are added only when they are asked for.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from jaxsudoku._version import __version__
from jaxsudoku.board import Board
from jaxsudoku.suggestions import did_you_mean

from . import mastermind_flags
from .fields import add_config
from .history import RECORDED
from .report import QUOTED
from .values import add_seed, at_least, board, bounds, output, rating

_EPILOG = """\
examples:
  jaxsudoku solve puzzles.txt --output solved.txt
  jaxsudoku solve 9x9-hard --output solved.txt
  jaxsudoku solve puzzles.csv.gz --output solved.csv.gz --resume
  zcat puzzles.csv.gz | jaxsudoku solve - > solved.txt
  jaxsudoku solve sixteen.txt --board 16 --output solved.parquet
  jaxsudoku count puzzles.txt --limit 2
  jaxsudoku show puzzles.txt --index 3 --solve
  jaxsudoku generate 100000 --output minimal.csv
  jaxsudoku rate puzzles.txt --output rated.csv
  jaxsudoku build 1000000 --clues 24:34 --output train
  jaxsudoku evaluate --network cube --puzzles rated.csv
  jaxsudoku mastermind evaluate --pegs 4 --colours 6 --player entropy

`jaxsudoku COMMAND --help` tells all about a command.
"""

_INPUT = """\
input: a puzzle a line (0 or . for a blank cell; letters or spaced numbers on boards beyond 9x9); CSV (separated by
commas, semicolons or tabs), JSON lines or Parquet with a column or key named puzzle, or by --column; or grids
of several lines, drawn or as a spreadsheet exports them.
All but Parquet may be compressed by gzip, xz, bzip2 or Zstandard (extra zstd before Python 3.14). A name such as
9x9-hard, if there is no such file, means puzzles that ship with the package; puzzles may be given inline.
board: a file that names its board, by a line `# board: windoku` at its top or in a column named board, is read for it;
a --board that contradicts is an error.
"""

_STATUSES = f"""\
exit status:
  0    done; that a puzzle has no solution is an answer
  1    done, but some lines are malformed or their givens clash: each is reported as file:line: cause, the first
       {QUOTED} of them one by one; or reading or writing failed on the way, and all answers up to there are kept
  2    usage: an unknown option or value, a missing input, an output that exists
  130  stopped by Ctrl-C (143 by SIGTERM): the output holds whole lines\
"""

_DEVICES = """\
An output that another process is writing is refused: a file NAME.jaxsudoku-lock stands beside it while it is written.
JAXSUDOKU_LOCKS=off writes without, on file systems that have no locks.

The devices are JAX's to choose: see JAX_PLATFORMS and CUDA_VISIBLE_DEVICES. Compiled code is kept in
JAX_COMPILATION_CACHE_DIR, by default $XDG_CACHE_HOME/jaxsudoku or ~/.cache/jaxsudoku; JAXSUDOKU_CACHE=0 keeps none.
"""

_ENDING = f"""\
{_STATUSES}

{_DEVICES}"""

_RESUMABLE_ENDING = f"""\
{_STATUSES}; --resume goes on from there

{_DEVICES}"""

_SOLVE_EPILOG = f"""\
examples:
  jaxsudoku solve puzzles.txt --output solved.txt
  zcat puzzles.csv.gz | jaxsudoku solve - --format csv > solved.csv
  jaxsudoku solve 4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......
  jaxsudoku solve sudoku.csv.zst --column quiz --output solved.csv
  jaxsudoku solve puzzles.txt --budget 1000 --json > /dev/null
  jaxsudoku solve puzzles.txt --solver iterative --restarts 4 --output solved.csv

{_INPUT}
output: as text a solution a line, `-` where there is none; as CSV or Parquet the columns puzzle, solution, status and
iterations, of a solver with a network network_calls, of one that works on full grids errors, then the further columns
of the input, and a column board for boards that are not classic.

{_RESUMABLE_ENDING}"""

_COUNT_EPILOG = f"""\
examples:
  jaxsudoku count puzzles.txt
  jaxsudoku count puzzles.txt --limit 100 --board diagonal

output: a number a line, 0 for no solution (or givens that clash), `-` for a malformed line.

{_INPUT}
{_ENDING}"""


_MAKING_ENDING = """\
exit status:
  0    done
  1    not all puzzles were found within the attempts, or writing failed; what was found is written, of a data set all
       whole shards
  2    usage: an unknown option or value, an output that exists
  130  stopped by Ctrl-C (143 by SIGTERM); --resume goes on from there
"""

_GENERATE_EPILOG = f"""\
examples:
  jaxsudoku generate 100000 --minimal --output minimal.csv
  jaxsudoku generate 1000 --board 16 --clues 110 --seed 7 --output big.csv
  jaxsudoku generate 5000 --rating 20: --output hard.csv
  jaxsudoku generate 500 --rating very-hard --output hard.txt
  jaxsudoku generate 10 --pattern half-turn --format text

output: the columns puzzle, solution, clues and rating; as text a puzzle a line. Boards that are not classic are named:
in a column board, as text by a line `# board: windoku` at the top. Each puzzle has exactly one solution. The same
seed gives the same puzzles on every machine, and the first of many are those of few. So --resume goes on with an
output of the same arguments, also to a larger COUNT; the first and the last puzzles there are made again to see that
they are the same.

{_MAKING_ENDING}"""

_BUILD_EPILOG = f"""\
examples:
  jaxsudoku build 1000000 --clues 24:34 --output train
  jaxsudoku build 1000000 --clues 24:34 --output train --resume
  jaxsudoku build 100000 --output train --exclude test.txt

output: a folder of shards (npz or Parquet) and of card.json, which tells their contents and checksums;
jaxsudoku.datasets.load reads it. A build that was interrupted, by whatever, goes on with --resume, and ends as it would
have without the interruption, byte for byte.

{_MAKING_ENDING}"""

_RATE_EPILOG = f"""\
examples:
  jaxsudoku rate puzzles.txt --output rated.csv
  jaxsudoku rate puzzles.txt --searches 50

rating: the mean number of branch nodes of complete searches in random orders, after naked and hidden singles; 0 if
these solve the puzzle. rules: the weakest that solve it alone (none, naked, singles, locked), or search. Both are empty
where a puzzle has no solution or several.

{_INPUT}
output: the columns puzzle, clues, rating and rules, then the further columns of the input, among them the answers of
`jaxsudoku solve`; as text the puzzles alone.

{_RESUMABLE_ENDING}"""


_EVALUATE_EPILOG = f"""\
examples:
  jaxsudoku evaluate --network cube --puzzles rated.csv
  jaxsudoku evaluate puzzles.txt --network weights/mine --rules none --limit 1000 --iterations 64
  jaxsudoku evaluate rated.csv --json report.json --plot report.png

{_INPUT}
A column named solution is checked, and lines where it is wrong are reported like malformed ones. A column named rating,
as `jaxsudoku rate` writes it, groups the puzzles by its grades, and one named difficulty by its quantiles; without
either they are rated. Puzzles that do not have exactly one solution are left out, and counted.

output: tables of shares of open cells and whole boards that are right, filling all cells at once or one after another,
by rules, number of clues, and rating; and how well the value foretells whether a position has a solution.

{_ENDING}"""


_INPUT_HELP = "file of puzzles, - for the standard input, name of a shipped set, or a puzzle itself"


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"jaxsudoku: error: {message}{self._hint(message)} (see {self.prog} --help)\n")

    def _hint(self, message: str) -> str:
        """What was meant by an unknown word, which argparse tells in its message alone."""
        if match := re.search(r"unrecognized arguments: (--[^\s=]+)", message):
            return did_you_mean(match[1], self._option_string_actions)
        if match := re.search(r"argument ([^:]*): invalid choice: '([^']*)'", message):
            named = [action for action in self._actions if match[1] in (*action.option_strings, action.metavar)]
            return did_you_mean(match[2], [str(choice) for action in named for choice in action.choices or ()])
        return ""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The flags' values; ``config`` is the solver's config, None where no flag of a solver was given.

    Raises:
      SystemExit: 0 after --help or --version, 2 after a usage error, which has been reported.
    """
    if argv and argv[0] == "mastermind":
        player = mastermind_flags.player_in(argv)
        args, unknown = build_parser(player=player).parse_known_args(argv)
        _refuse(args, unknown)
        return mastermind_flags.with_config(args, player)
    # Without a solver's flags first: most errors are found, and most commands understood, before JAX is loaded.
    if not {"-h", "--help"} & set(argv) or argv[0] not in ("solve", "count"):
        args, unknown = build_parser().parse_known_args(argv)
        plain = args.command != "solve" or (args.solver == "exact" and args.network is None)
        if plain and not unknown:
            return args
        if args.command == "show":
            _refuse(args, unknown)
    name = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    name.add_argument("--solver", default="exact", nargs="?", const="exact")
    solver = name.parse_known_args(argv)[0].solver if argv[0] == "solve" else "exact"
    args, unknown = build_parser(solver).parse_known_args(argv)
    _refuse(args, unknown)
    return with_config(args, solver)


def _refuse(args: argparse.Namespace, unknown: Sequence[str]) -> None:
    """Ends the program if there are unknown arguments; the sub-command's parser knows what may have been meant."""
    if not unknown:
        return
    if args.command == "solve":
        from jaxsudoku import solvers

        option = unknown[0].partition("=")[0]
        field = option.removeprefix("--").replace("-", "_")
        having = [
            name
            for name, solver in solvers.SOLVERS.items()
            if field in {known.name for known in dataclasses.fields(solver.config)}
        ]
        if having:
            args.parser.error(f"the solver {args.solver} has no {option}; those that do are {', '.join(having)}")
    args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")


def with_config(args: argparse.Namespace, solver: str) -> argparse.Namespace:
    """The same with the config that the solver's flags make; ends the program if a value is out of range."""
    from jaxsudoku import solvers

    chosen = solvers.get(solver)
    args.guided, args.stats = chosen.guided, chosen.stats
    if args.command == "solve" and args.network is not None and not chosen.guided:
        args.parser.error(
            f"the solver {solver} takes no network; those that do are {solvers.reporting('network_calls')}"
        )
    values = {
        field.name: getattr(args, field.name) for field in dataclasses.fields(chosen.config) if field.name in args
    }
    recorded = args.command == "solve" and bool(args.history)
    if recorded and "errors" not in chosen.stats:
        args.parser.error(f"the solver {solver} has no history; those that do are {solvers.reporting('errors')}")
    try:
        args.config = solvers.make_config(chosen, **values)
    except ValueError as error:
        args.parser.error(str(error))
    if recorded and not args.config.record:
        args.config = dataclasses.replace(args.config, record=RECORDED)
    return args


def build_parser(solver: str | None = None, player: str | None = None) -> Parser:
    """The parser, with the flags of a solver's config if one is named, and those of a player of Mastermind likewise."""
    parser = Parser(
        prog="jaxsudoku", description="Sudoku-like puzzles solved by the batch, on all cores or on accelerators.",
        epilog=_EPILOG,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    solve = _command(commands, "solve", "solve a file of any size", _SOLVE_EPILOG)
    solve.add_argument("--solver", default="exact", metavar="NAME", help=_solver_help(solver))
    solve.add_argument("--network", metavar="NAME|PATH", help=_network_help(solver))
    _add_running(solve)
    solve.add_argument("--format", choices=("text", "csv", "parquet"), help="default: by the output's suffix")
    solve.add_argument(
        "--history",
        metavar="FILE",
        action="append",
        default=[],
        help="how the errors fell, of solvers that work on full grids: a .csv, or a picture such as errors.png (needs "
        "the extra plot); may be repeated",
    )
    _add_existing(solve)

    count = _command(commands, "count", "count solutions up to a limit", _COUNT_EPILOG)
    count.add_argument("--limit", type=at_least(1), default=2, metavar="N",
                       help="solutions of a puzzle to stop at; 2 tells if it is proper (default: 2)")  # fmt: skip
    _add_running(count)
    count.add_argument("--force", action="store_true", help="replace an existing output")

    show = _command(commands, "show", "draw one puzzle", f"{_INPUT}\nColours are left out if NO_COLOR is set.\n")
    show.add_argument("--index", type=at_least(1), default=1, metavar="N",
                      help="which puzzle of the input, counted from 1 (default: 1)")  # fmt: skip
    show.add_argument("--solve", action="store_true", help="draw its solution, with the givens set apart")

    generate = _command(commands, "generate", "make puzzles, each with one solution", _GENERATE_EPILOG, reads=False)
    _add_wishes(generate)
    _add_running(generate)
    _add_writing(generate, "default: by the output's suffix, csv on the standard output")

    build = _command(commands, "build", "build a data set of puzzles in a folder", _BUILD_EPILOG, reads=False)
    _add_wishes(build)
    _add_running(build, folder=True)
    build.add_argument("--format", choices=("npz", "parquet"), help="of the shards (default: npz)")
    build.add_argument("--shard-size", type=at_least(1), default=65536, metavar="N",
                       help="puzzles in a shard (default: 65536)")  # fmt: skip
    clear_of = "puzzles whose solutions must not occur, up to symmetry (9x9), or a shipped set; may be repeated"
    build.add_argument("--exclude", metavar="FILE", action="append", default=[], help=clear_of)
    build.add_argument("--resume", action="store_true", help="go on with an interrupted build")

    rate = _command(commands, "rate", "tell how hard puzzles are", _RATE_EPILOG)
    rate.add_argument("--searches", type=at_least(1), default=8, metavar="N",
                      help="searches whose branch nodes are averaged (default: 8)")  # fmt: skip
    _add_running(rate)
    _add_writing(rate, "default: by the output's suffix, csv on the standard output")

    evaluate = _command(commands, "evaluate", "measure how good a network is", _EVALUATE_EPILOG, named=True)
    _add_evaluation(evaluate)

    mastermind_flags.add(commands, player)

    if solver is not None:
        from jaxsudoku import solvers

        try:
            config = solvers.get(solver).config
        except ValueError as error:
            solve.error(str(error))
        add_config(solve, config, f"flags of the solver {solver}")
        # a count under a budget would be none
        add_config(count, solvers.get("exact").config, "flags of the search", without=("budget",))
    return parser


def _solver_help(solver: str | None) -> str:
    if solver is None:
        return "the solver"
    from jaxsudoku import solvers

    listed = "; ".join(f"{name}: {known.summary}" for name, known in solvers.SOLVERS.items())
    return f"the solver, which brings its own flags: {listed} (default: exact)".replace("%", "%%")


def _network_help(solver: str | None) -> str:
    if solver is None:
        return "the network of a solver that takes one"
    from jaxsudoku import solvers
    from jaxsudoku.solvers import driver

    name = driver.NETWORK
    return (
        f"the network of {solvers.reporting('network_calls')}, by the name or the file of its weights (default: {name})"
    )


def _command(commands: Any, name: str, what: str, epilog: str, *, reads: bool = True, named: bool = False) -> Parser:
    """A sub-command that reads puzzles, whose input may be named by --puzzles too, or that makes a number of them."""
    parser = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", epilog=epilog)
    if named:  # one input alone, as argparse allows no more in a group
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("input", metavar="INPUT", nargs="?", default=argparse.SUPPRESS, help=_INPUT_HELP)
        source.add_argument("--puzzles", dest="input", metavar="INPUT", help="the same, under a name")
    elif reads:
        parser.add_argument("input", metavar="INPUT", nargs="+",
                            help=f"{_INPUT_HELP}; several puzzles may be given inline")  # fmt: skip
    else:
        parser.add_argument("count", metavar="COUNT", type=at_least(1), help="how many puzzles")
    told = "that which the input names, or else 9" if named or reads else "9"
    parser.add_argument("--board", type=board, default=None if named or reads else Board.classic(9), metavar="BOARD",
                        help="a side (16), a box shape (3x4), diagonal, windoku (or diagonal-16 ...), jigsaw: and a "
                             "label for each cell, rows parted by /, or the name of a shipped set (jigsaw-9x9) "
                             f"(default: {told})")  # fmt: skip
    if named or reads:
        parser.add_argument("--column", metavar="NAME",
                            help="column of puzzles in a table, key in JSON lines (default: puzzle)")  # fmt: skip
    parser.set_defaults(parser=parser, config=None, guided=False, stats=())
    return parser


def _add_wishes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clues", type=bounds(int), metavar="N|A:B",
                        help="number of clues, or a range with either end left out, of which a number is drawn for "
                             "each puzzle; one that becomes minimal before has more (default: whatever a minimal "
                             "puzzle has)")  # fmt: skip
    parser.add_argument("--minimal", action="store_true",
                        help="no clue may be superfluous; always so without --clues")  # fmt: skip
    parser.add_argument("--rating", type=rating, metavar="A:B|GRADE",
                        help="range of ratings, see `jaxsudoku rate`, with either end left out; or easy, medium, hard, "
                             "very-hard or extreme")  # fmt: skip
    parser.add_argument("--pattern", default="none", metavar="NAME",
                        help="symmetry of the places of clues: half-turn, quarter-turn, left-right, top-bottom, "
                             "diagonal, antidiagonal or full (default: none)")  # fmt: skip
    parser.add_argument("--steps", type=at_least(0), metavar="N",
                        help="steps of a search in each puzzle's neighbourhood towards fewer clues or a higher rating "
                             "(default: 256 where the rating is bounded from below, else 0)")  # fmt: skip
    parser.add_argument("--attempts", type=at_least(1), default=200, metavar="N",
                        help="attempts at a puzzle before giving up (default: 200)")  # fmt: skip


def _add_evaluation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--network", default="cube", metavar="NAME|PATH",
                        help="weights that ship with the package, or a path of others (default: cube)")  # fmt: skip
    parser.add_argument("--rules", type=lambda text: text.split(","), action="extend", metavar="RULES",
                        help="what is deduced before the network sees a position: none, naked, singles or locked; "
                             "several, parted by commas, are evaluated each (default: none,locked)")  # fmt: skip
    parser.add_argument("--iterative", action=argparse.BooleanOptionalAction, default=True,
                        help="also solve by filling the surest cell, then the rules, and so on, which takes by far the "
                             "most time (default: do)")  # fmt: skip
    parser.add_argument("--positions", type=at_least(0), metavar="N",
                        help="positions on which the value is judged, puzzles filled in part, rightly or not "
                             "(default: ten a puzzle, at most 10000)")  # fmt: skip
    parser.add_argument("--iterations", type=at_least(1), metavar="N",
                        help="iterations of the network, if it has any (default: as in training)")  # fmt: skip
    parser.add_argument("--dtype", metavar="NAME",
                        help="what the network computes in, such as bfloat16 (default: as in training)")  # fmt: skip
    parser.add_argument("--limit", type=at_least(1), metavar="N", help="puzzles from the beginning (default: all)")
    parser.add_argument("--json", metavar="FILE", help="file for the figures, as a JSON object")
    parser.add_argument("--plot", metavar="FILE", help="file for a picture, such as report.png (needs the extra plot)")
    parser.add_argument("--force", action="store_true", help="replace existing outputs")
    parser.add_argument("--batch-size", type=at_least(1), metavar="N",
                        help="positions in a forward pass (default: by the machine)")  # fmt: skip
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress; errors are still reported")


def _add_writing(parser: argparse.ArgumentParser, kinds: str) -> None:
    parser.add_argument("--format", choices=("text", "csv", "parquet"), help=kinds)
    _add_existing(parser)


def _add_existing(parser: argparse.ArgumentParser) -> None:
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument(
        "--resume",
        action="store_true",
        help="keep what an earlier run wrote, and go on after it; give the same flags, as answers that are there stay, "
        "unsolved ones too",
    )
    existing.add_argument("--force", action="store_true", help="replace an existing output")


def _add_running(parser: argparse.ArgumentParser, folder: bool = False) -> None:
    if folder:
        parser.add_argument("--output", required=True, metavar="FOLDER", help="folder of the data set")
    else:
        parser.add_argument(
            "--output",
            type=output,
            default="-",
            metavar="FILE",
            help="file of answers (default: the standard output)",
        )
    parser.add_argument("--batch-size", type=at_least(1), metavar="N",
                        help="puzzles read, solved and written at a time; fewer of hard ones shows progress and saves "
                             "work sooner (default: by the machine)")  # fmt: skip
    add_seed(parser)
    parser.add_argument("--json", action="store_true",
                        help="summary as a JSON object, on the standard output unless the answers go there; then on "
                             "the standard error")  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="neither progress nor summary; errors are still reported")
