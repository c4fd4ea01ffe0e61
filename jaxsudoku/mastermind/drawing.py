"""Trees as text."""

from __future__ import annotations

from collections.abc import Iterator

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

    def lines(node: int, before: str) -> Iterator[str]:
        yield f"{code_text(tree.game, int(tree.guesses[node]))}{_codes(int(tree.codes[node]), tree.left[node])}"
        children = [(int(child), heard) for heard, child in enumerate(tree.children[node]) if child >= 0]
        if tree.depths[node] + 1 >= guesses:
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
