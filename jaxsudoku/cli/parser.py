"""The parser of commands: a command adds its flags when it is chosen, and makes a request from the arguments."""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from jaxsudoku.runtime.suggestions import did_you_mean
from jaxsudoku.runtime.terminal.streams import print_error

from .fields import config_values


class Command(Protocol):
    """Interface of the module of a command or action, which has the command's name.

    It has a frozen dataclass ``Request``, and a function ``run``: (request, Invocation) -> exit status. If flags depend
    on arguments, as those of a solver, it has ``add_flags``: (parser, the arguments after the command) instead, which
    calls ``Parser.add_request``.

    Attributes:
      EPILOG: the text after the flags in the help of the command.
    """

    EPILOG: str


def flag(
    text: str, name: str = "", *, default: Any = None, exclusive: str = "", words: Iterable[str] = (), **options: Any
) -> Any:
    """A field of a request with a flag. A bool that is False by default is a flag without a value.

    Args:
      text: the help.
      name: the name of the flag, or of a required argument without dashes; by default the field's name with dashes.
      default: the field's default; none if the flag is required.
      exclusive: flags with the same word exclude each other.
      words: values for shell completion, if ``choices`` are not given.
      **options: options of ``add_argument``.
    """
    if options.get("required") or not (name or "-").startswith("-"):
        default = dataclasses.MISSING
    options["help"] = text
    if default is False:
        options["action"] = "store_true"
    return dataclasses.field(
        default=default, metadata={"name": name, "exclusive": exclusive, "words": words, "options": options}
    )


class Last:
    """Base class of parts of requests whose flags come after all others."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter that keeps descriptions unchanged and does not break names such as guided-exact."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser that refuses unknown flags with a suggestion.

    Args:
      define: (parser, arguments), adds the flags when the parser is first used; None adds none.
      **options: options of ``argparse.ArgumentParser``.

    Attributes:
      commands: the parsers of sub-commands, by name.
      explain_unknown: (flag) -> an error message about an unknown flag, "" for the usual one.
      configs: all configs whose flags this parser may have, depending on other arguments; for completion.
      words: values for completion of flags without ``choices``, by their name in the arguments.
    """

    def __init__(self, define: Callable[[Parser, Sequence[str]], None] | None = None, **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)
        self._define = define
        self.commands: dict[str, Parser] = {}
        self.explain_unknown: Callable[[str], str] = lambda flag: ""
        self.configs: Iterable[type] = ()
        self.words: dict[str, Iterable[str]] = {}

    def add_commands(self, package: str, commands: Mapping[str, str], dest: str) -> None:
        """Adds sub-commands, one of which is required; its name becomes the argument ``dest``.

        Args:
          package: the package with a module for each, a ``Command``, which is imported on use.
          commands: their names, with descriptions.
          dest: the argument.
        """
        group = self.add_subparsers(dest=dest, metavar=dest.upper(), required=True, parser_class=Parser)
        for name, summary in commands.items():
            description = f"{summary[0].upper()}{summary[1:]}."
            define = functools.partial(_add_command, f"{package}.{name}")
            self.commands[name] = group.add_parser(name, help=summary, description=description, define=define)

    def add_request(
        self,
        request: type,
        run: Callable[[Any, Any], int],
        check: Callable[[argparse.Namespace], object] = lambda args: None,
        **configs: type,
    ) -> None:
        """Adds the flags of a request; sets the defaults ``run`` and ``make`` (parsed arguments -> request).

        Args:
          request: a frozen dataclass. Fields that are not made by ``flag`` have no flag.
          run: runs the command: (request, Invocation) -> exit status.
          check: checks parsed arguments, e.g. which of them are given.
          **configs: types of fields whose flags ``add_config`` adds, by name.

        A ValueError of the check, the request or configs is a usage error.
        """

        def make(args: argparse.Namespace) -> Any:
            given = {name: value for name, value in config_values(args, request).items() if value is not None}
            values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
            with self.errors():
                check(args)
                return request(**values, **{name: kind(**config_values(args, kind)) for name, kind in configs.items()})

        self.set_defaults(run=run, make=make)
        groups: dict[str, Any] = collections.defaultdict(self.add_mutually_exclusive_group) | {"": self}
        bases = [base for base in request.__mro__[1:] if issubclass(base, Last)]
        last = {name for base in bases for name in inspect.get_annotations(base)}
        for field in sorted(dataclasses.fields(request), key=lambda field: field.name in last):
            if field.metadata:
                name = field.metadata["name"] or f"--{field.name.replace('_', '-')}"
                dest = {"dest": field.name} if name.startswith("-") else {}
                self.add_flag(name, field, groups[field.metadata["exclusive"]], **dest)
                if field.metadata["words"]:
                    self.words[field.name] = field.metadata["words"]

    def add_flag(self, name: str, field: Any, group: Any = None, **options: Any) -> None:
        """Adds the flag of a field to a group, by default to the parser; options are those of ``add_argument``."""
        if field.default is not dataclasses.MISSING:
            options["default"] = [] if field.default == () else field.default
        (group or self).add_argument(name, **field.metadata["options"], **options)

    def define(self, argv: Sequence[str] = ()) -> None:
        """Adds the flags of the command, once."""
        if self._define is not None:
            define, self._define = self._define, None
            define(self, argv)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parses arguments; unknown ones are errors, so that errors name the command that they belong to."""
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
        """A context in which a ValueError ends the program by ``error``."""
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


def _add_command(module: str, parser: Parser, argv: Sequence[str]) -> None:
    """Adds the flags of a ``Command``, and the end of its help."""
    command: Any = importlib.import_module(module)
    parser.epilog = command.EPILOG
    if hasattr(command, "add_flags"):
        command.add_flags(parser, argv)
    else:
        parser.add_request(command.Request, command.run)


def find_values(argv: Sequence[str], flag: str) -> list[str]:
    """The values of a flag that determines other flags; "" for a missing value."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(flag, action="append", nargs="?", const="")
    return getattr(parser.parse_known_args(list(argv))[0], flag.strip("-")) or []
