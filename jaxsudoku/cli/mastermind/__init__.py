"""``jaxsudoku mastermind``: plays Mastermind, and evaluates players; each action is a module of this package."""

from __future__ import annotations

from collections.abc import Sequence

from jaxsudoku.cli.parser import Parser

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


#: The actions, with their descriptions.
ACTIONS = {
    "play": "play a game against a player",
    "evaluate": "play all secrets of a game against players",
    "improve": "improve a saved strategy within a time limit",
    "prove": "prove that a saved strategy is optimal, or find a better one",
    "show": "draw a saved strategy or search tree, and check it against every code",
    "train": "train a search tree, and save it",
}


def add_flags(parser: Parser, argv: Sequence[str]) -> None:
    """Adds the actions."""
    del argv
    parser.add_commands(__name__, ACTIONS, "action")
