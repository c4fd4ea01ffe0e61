"""Rules in words, in drawings of puzzles: whether they say no more than what is read.

Penpa+ and SudokuPad store rules as a text beside the drawing. A rule that only the text states would be lost, so a text
is taken as plain only if each of its words is known for the kinds of rules that are read.
"""

from __future__ import annotations

import re
from collections.abc import Collection

#: Words of the rules of Sudoku.
_PLAIN = """
a an add all also always and any appear appears apply are as at be box boxes by can cannot can't cell cells column
columns contain contains count different digit digits distinct do does doesn't don't each empty every exactly fill
following for from given grid have if in indicated into is it its may marked must no normal not number numbers of on
once one or outlined place placed put region regions repeat repeated repeats row rows rule rules shown so standard
such sudoku that the their them there these they this to using usual with within without x classic regular enter write
"""
#: Further words for kinds of rules.
_WORDS = {
    "killer": "adds cage cages clue clues show shows corner inside killer left small sum sums top total totals up "
    "upper",
    "irregular": "irregular irregularly jigsaw shaped bold bordered thick",
    "thermo": "along away bulb bulbs end ends increase increases increasing start starting strictly thermo thermos "
    "thermometer thermometers",
    "arrow": "along arrow arrows attached bulb circle circled circles sum sums up",
    "diagonal": "both diagonal diagonals long main",
    "nonconsecutive": "adjacent cells consecutive neighbouring orthogonally",
    "antiknight": "anti-knight apart chess knight knight's move",
    "antiking": "anti-king apart chess diagonally king king's move touch",
    "latin": "latin square",
    "evenodd": "circle circles even gray grey odd shaded square squares",
    "consecutive": "adjacent bar bars between consecutive dot dots neighbouring orthogonally white",
    "consecutivepairs": "adjacent bar bars between consecutive dot dots neighbouring orthogonally white",
}


def check_rules(text: str, kinds: Collection[str]) -> None:
    """Raises ValueError for a text with a word that the rules of these kinds do not need, or that lets digits repeat.

    Args:
      text: the rules in words; "" if there are none.
      kinds: the kinds of rules that are read besides those of Sudoku: keys of ``_WORDS``.
    """
    known = set(" ".join([_PLAIN, *(_WORDS[kind] for kind in kinds if kind in _WORDS)]).split())
    first, *others = text.split("<")
    tagless = " ".join([first, *(part.partition(">")[2] if ">" in part else part for part in others)])
    plain = tagless.lower().replace("’", "'")
    words = filter(None, (word.strip("'-") for word in re.split(r"[^\w'-]|[\d_]", plain)))
    unknown = next((word for word in words if word not in known), None)
    if unknown is None and re.search(r"\b(?:may|can|do) repeat\b", plain):
        unknown = "repeat"
    if unknown is not None:
        raise ValueError(
            f"its rules in words have {unknown!r}, which may be a rule that is not read: {text.strip()[:60]!r}"
        )
