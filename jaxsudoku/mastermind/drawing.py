"""Trees as text."""

from __future__ import annotations

import numpy as np

from .rules import code_text, feedback_text
from .trees import Tree


def draw_tree(tree: Tree, guesses: int = 2) -> str:
    """A tree as text, a guess a line below that which it follows on.

    A line has the feedback, the guess, how many codes come to it, and how many guesses these take in the mean, counted
    from this one.

    Args:
      tree: the strategy, which must find every code.
      guesses: guesses of a game that are drawn.

    Raises:
      TreeError: some code is not found.
    """

    lines = []
    stack = [(0, "", "")]  # nodes to draw, the last one first: with what stands before, and before what is below
    while stack:
        node, before, below = stack.pop()
        guess = code_text(tree.game, int(tree.guesses[node]))
        lines.append(f"{before}{guess}{_codes(int(tree.codes[node]), tree.left[node])}")
        if tree.depths[node] + 1 >= guesses:
            continue
        (heard,) = np.nonzero(tree.children[node] >= 0)
        for number in heard[::-1].tolist():
            last = number == heard[-1]
            told = f"{below}{'└─ ' if last else '├─ '}{feedback_text(tree.game, number)}: "
            stack.append((int(tree.children[node, number]), told, f"{below}{'   ' if last else '│  '}"))
    return "\n".join(lines)


def _codes(count: int, mean: float) -> str:
    return f"  ({count:,} codes, {mean:.3f})" if count > 1 else ""
