"""Trees as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .rules import code_text, feedback_text
from .trees import Tree, replay


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
    attempts = tree.attempts
    _, nodes = replay(tree, tree.game.codes)
    codes = np.bincount(nodes, minlength=len(tree))
    depth = np.zeros(len(tree), np.int64)
    for node in range(1, len(tree)):
        depth[node] = depth[tree.parents[node]] + 1
    taken = np.bincount(nodes, attempts, len(tree))
    for node in range(len(tree) - 1, 0, -1):  # children come after their parents
        codes[tree.parents[node]] += codes[node]
        taken[tree.parents[node]] += taken[node]
    mean = taken / codes - depth

    def lines(node: int, before: str) -> Iterator[str]:
        yield f"{code_text(tree.game, int(tree.guesses[node]))}{_codes(int(codes[node]), mean[node])}"
        children = [(int(child), heard) for heard, child in enumerate(tree.children[node]) if child >= 0]
        if depth[node] + 1 >= guesses:
            return
        for place, (child, heard) in enumerate(children):
            last = place == len(children) - 1
            branch, under = ("└─ ", "   ") if last else ("├─ ", "│  ")
            first, *others = lines(child, before + under)
            yield f"{before}{branch}{feedback_text(tree.game, heard)}: {first}"
            yield from others

    return "\n".join(lines(0, ""))


def _codes(count: int, mean: float) -> str:
    return f"  ({count:,} codes, {mean:.3f})" if count > 1 else ""
