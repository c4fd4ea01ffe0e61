"""Trees as texts and pictures: the most visited branches first, to a depth and a width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import mctx
import numpy as np

from jaxsudoku.pictures import Picture
from jaxsudoku.pictures.outline import Row, outline

from .nodes import LEAST

#: (action, embedding of the node below it) to a text.
Label = Callable[[int, Any], str]


def draw(tree: mctx.Tree, number: int = 0, label: Label | None = None, depth: int = 2, width: int = 4) -> str:
    """A tree of a batch as text, a node a line; arguments as of ``picture``."""
    return "\n".join(f"{'  ' * row.depth}{row.note}" for row in _rows(tree, number, label, depth, width))


def picture(tree: mctx.Tree, number: int = 0, label: Label | None = None, depth: int = 2, width: int = 4) -> Picture:
    """A tree of a batch as a picture, a node a row, with visits, q-value and prior; lines to refuted moves are red.

    Args:
      tree: the trees, on the host or on a device.
      number: which of the batch.
      label: (action, embedding of the node below it) to what its row begins with; None for the action's number.
      depth: most actions from the root.
      width: most branches of a node, those with the most visits.

    Raises:
      ValueError: ``depth`` or ``width`` is below 1.
    """
    rows = list(_rows(tree, number, label, depth, width))
    return outline(rows, 0, f"tree {number}: {rows[0].note}")


def _rows(tree: mctx.Tree, number: int, label: Label | None, depth: int, width: int) -> Iterator[Row]:
    if min(depth, width) < 1:
        raise ValueError(f"depth and width must be at least 1, not {depth} and {width}")
    one = jax.tree.map(lambda leaf: np.asarray(leaf[number]), tree)
    yield Row(0, f"root  {one.node_visits[0]:,} visits, value {one.node_values[0]:.3f}")
    yield from _below(one, 0, 1, label or (lambda action, state: str(action)), depth, width)


def _below(one: mctx.Tree, node: int, level: int, label: Label, depth: int, width: int) -> Iterator[Row]:
    """The rows below a node of a tree that is on the host."""
    logits, visits, child = (
        rows[node].astype(kind)
        for rows, kind in ((one.children_prior_logits, float), (one.children_visits, int), (one.children_index, int))
    )
    prior = np.exp(logits - logits.max())
    prior /= prior.sum()
    values = one.children_rewards[node] + one.children_discounts[node] * one.children_values[node]
    for action in np.argsort(-visits, kind="stable")[:width].tolist():
        below, refuted = child[action], logits[action] <= LEAST
        if visits[action]:
            state = jax.tree.map(lambda leaf, row=below: leaf[row], one.embeddings)
            note = f"{visits[action]:,} visits, value {values[action]:.3f}, "
            note += "refuted" if refuted else f"prior {prior[action]:.3f}"
            yield Row(level, f"{label(action, state)}  {note}", edge="edge-removed" if refuted else "edge")
            if level < depth:
                yield from _below(one, below, level + 1, label, depth, width)
