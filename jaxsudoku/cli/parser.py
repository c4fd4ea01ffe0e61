"""The parser of commands: each adds its own flags once it is chosen, and errors are one line."""

from __future__ import annotations

import argparse
import contextlib
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

from jaxsudoku.runtime.suggestions import did_you_mean
from jaxsudoku.runtime.terminal.streams import print_error


class Command(Protocol):
    """The module of a command, or of an action of one; the last part of its name is the name of the command.

    Attributes:
      SUMMARY: what the command does, in a line of ``--help``.
      EPILOG: what follows the flags in the help of the command.
    """

    __name__: str
    SUMMARY: str
    EPILOG: str

    def add_flags(self, parser: Parser, argv: Sequence[str]) -> None:
        """Adds the flags, and sets the default ``run``: (arguments, Invocation) to the exit status.

        Args:
          parser: the parser of the command.
          argv: the arguments after the command, since flags may depend on them: a solver has its own.
        """


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps descriptions as they are, and names such as guided-exact in one piece."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser that refuses unknown flags with a suggestion.

    Args:
      define: adds the flags when the parser is first used, given the parser and the arguments; None adds none.
      **options: of ``argparse.ArgumentParser``.

    Attributes:
      commands: the parsers of sub-commands, by name.
      explain_unknown: (flag) to an error message about a flag that the parser does not have, "" for the usual one.
      configs: all configs that may give this parser its flags, where other arguments choose one; for completion.
      words: the values that are completed for a flag, by its name in the arguments, where ``choices`` are not given.
    """

    def __init__(self, define: Callable[[Parser, Sequence[str]], None] | None = None, **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)
        self._define = define
        self.commands: dict[str, Parser] = {}
        self.explain_unknown: Callable[[str], str] = lambda flag: ""
        self.configs: Iterable[type] = ()
        self.words: dict[str, Iterable[str]] = {}

    def add_commands(self, commands: Iterable[Command], dest: str) -> None:
        """Adds sub-commands, one of which is required; its name becomes the argument ``dest``."""
        group = self.add_subparsers(dest=dest, metavar=dest.upper(), required=True, parser_class=Parser)
        for command in commands:
            name, summary = command.__name__.rpartition(".")[2], command.SUMMARY
            parser = group.add_parser(
                name,
                help=summary,
                description=f"{summary[0].upper()}{summary[1:]}.",
                epilog=command.EPILOG,
                define=command.add_flags,
            )
            parser.set_defaults(parser=parser)
            self.commands[name] = parser

    def define(self, argv: Sequence[str] = ()) -> None:
        """Adds the flags of the command, unless that is done already."""
        if self._define is not None:
            define, self._define = self._define, None
            define(self, argv)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parses arguments, of which none may be unknown, so that errors name the command that they belong to."""
        self.define(args or ())
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flag = unknown[0].partition("=")[0]
            hint = did_you_mean(flag, self._option_string_actions) if flag.startswith("--") else ""
            self.error(self.explain_unknown(flag) or f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed, []

    def error(self, message: str) -> NoReturn:
        """Ends the program with exit status 2 and a message of one line."""
        print_error(f"jaxsudoku: error: {message} (see {self.prog} --help)")
        self.exit(2)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """A block whose ValueError ends the program, as ``error`` does."""
        try:
            yield
        except ValueError as error:
            self.error(str(error))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = did_you_mean(value, map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from error


def find_values(argv: Sequence[str], flag: str) -> list[str]:
    """The values of a flag that decides which other flags there are; "" where a value is missing."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(flag, action="append", nargs="?", const="")
    return getattr(parser.parse_known_args(list(argv))[0], flag.strip("-")) or []
