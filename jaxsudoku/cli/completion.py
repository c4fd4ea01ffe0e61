"""``jaxsudoku completion``: prints a script for shell completion of commands, flags and values."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable
from typing import Any

from jaxsudoku import shipped

from .fields import add_config
from .invocation import Invocation
from .outputs import put
from .parser import Parser, flag

EPILOG = """\
examples:
  jaxsudoku completion bash > ~/.local/share/bash-completion/completions/jaxsudoku
  jaxsudoku completion zsh > ~/.zfunc/_jaxsudoku
  jaxsudoku completion fish > ~/.config/fish/completions/jaxsudoku.fish

For zsh, the folder must be in fpath before compinit runs. Needs the extra completion.
"""

_SHELLS = ("bash", "zsh", "fish")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """Request of ``completion``: the shell, and the parser of all commands."""

    shell: str = flag("bash, zsh or fish", "shell", metavar="SHELL", choices=_SHELLS)
    program: Parser


def run(request: Request, invocation: Invocation) -> int:
    """Prints the script; returns the exit status."""
    del invocation
    put(sys.stdout.buffer, f"{script(request.program, request.shell)}\n", "<stdout>")
    return 0


def script(parser: Parser, shell: str) -> str:
    """The completion script of a shell for the commands of a parser.

    Raises:
      ImportError: shtab is missing.
    """
    try:
        import shtab
    except ImportError as error:
        raise ImportError("completion needs shtab: pip install 'jaxsudoku[completion]'") from error
    _define(parser, {"FILE": shtab.FILE, "NAME|PATH": shtab.FILE, "FOLDER": shtab.DIRECTORY, "INPUT": _inputs()})
    text: str = shtab.complete(parser, shell)
    return text


def _define(parser: Parser, values: dict[str, Any]) -> None:
    """Adds the flags of all commands, and the completion of their values by metavar."""
    parser.define()
    for action in parser._actions:
        if isinstance(action.metavar, str) and action.metavar in values:
            vars(action)["complete"] = values[action.metavar]  # an attribute that shtab reads
    _add_configs(parser, parser.configs)
    for name, words in parser.words.items():
        _action(parser, name).choices = tuple(words)
    for command in parser.commands.values():
        _define(command, values)


def _add_configs(parser: Parser, configs: Iterable[type]) -> None:
    """Adds the flags of further configs; a flag of several configs completes the choices of all."""
    for config in configs:
        other = argparse.ArgumentParser(add_help=False)
        add_config(other, config, config.__name__)
        for action in other._actions:
            known = _action(parser, action.dest)
            if known is None:
                parser._add_action(action)
            elif known.choices and action.choices:
                known.choices = tuple(dict.fromkeys((*known.choices, *action.choices)))


def _action(parser: argparse.ArgumentParser, dest: str) -> Any:
    """The flag with this ``dest``; None if there is none."""
    return next((action for action in parser._actions if action.dest == dest), None)


def _inputs() -> dict[str, Any]:
    """Completion of an input by shell: files, and the names of shipped puzzles."""
    names = " ".join(shipped.names())
    return {
        "bash": "_jaxsudoku_inputs",
        "zsh": f"{{_files; compadd -- {names}}}",
        "fish": f"(__fish_complete_path (commandline -ct); string split ' ' '{names}')",
        "preamble": {"bash": f"_jaxsudoku_inputs() {{\n  compgen -f -- $1\n  compgen -W '{names}' -- $1\n}}"},
    }
