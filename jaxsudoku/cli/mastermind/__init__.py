"""``jaxsudoku mastermind``: plays Mastermind, and measures players; an action is a module of this package."""

from __future__ import annotations

from collections.abc import Sequence

from jaxsudoku.cli.parser import Parser

SUMMARY = "play Mastermind, and measure its players"

EPILOG = """\
examples:
  jaxsudoku mastermind play
  jaxsudoku mastermind play --you guess --pegs 5 --colours 8
  jaxsudoku mastermind evaluate --pegs 4 --colours 6 --player entropy
  jaxsudoku mastermind evaluate --player all --plot players.png
  jaxsudoku mastermind evaluate --player optimal --save optimal.json
  jaxsudoku mastermind improve tree.json --hours 2
  jaxsudoku mastermind prove tree.json
  jaxsudoku mastermind show optimal.json --guesses 3
  jaxsudoku mastermind train --simulations 10000 --output tree.json

`jaxsudoku mastermind ACTION --help` describes an action and its flags.
"""


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """The actions."""
    from . import evaluate, improve, play, prove, show, train  # which no other command needs

    del argv
    parser.add_commands((play, evaluate, improve, prove, show, train), "action")
