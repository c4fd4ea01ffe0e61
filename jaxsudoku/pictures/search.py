"""Search trees and graphs as pictures: nodes by the fewest moves that lead to them, refuted ones crossed out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .picture import Picture
from .shapes import Circle, Line, Text, text_width

#: Distances between leaves and between levels, the radius of a node, the margin, and the width and size of labels.
_ACROSS, _DOWN, _RADIUS, _MARGIN, _LABEL, _SIZE = 22, 56, 8, 24, 72, 12


def search_tree(
    children: ArrayLike,
    values: ArrayLike,
    refuted: ArrayLike | None = None,
    solved: ArrayLike | None = None,
    *,
    most: int = 200,
    title: str = "",
) -> Picture:
    """A search tree, or a graph with transpositions, from its root 0 down; nodes that it does not reach are left out.

    A node is blue, the more so the higher its value. A refuted one is crossed out, a solution has a green ring. A node
    stands above the middle of those below it. Further edges to a node that several moves lead to are orange.

    Args:
      children: integers[nodes, moves], the node that each move leads to, -1 for none.
      values: numbers[nodes] in 0..1, such as the probability of a solution; others are clipped, NaN is drawn as 0.
      refuted, solved: bool[nodes]; None for none.
      most: the most nodes to draw, those with the fewest moves first; a note says how many are left out.
      title: a description for readers who do not see the picture.

    Raises:
      ValueError: arrays of other shapes, children out of range, or ``most`` below 1.
    """
    below, shade = np.asarray(children), np.asarray(values, float)
    flags = [np.zeros(len(below), bool) if marks is None else np.asarray(marks, bool) for marks in (refuted, solved)]
    if below.ndim != 2 or not len(below) or any(part.shape != below.shape[:1] for part in (shade, *flags)):
        sizes = [part.shape for part in (below, shade, *flags)]
        raise ValueError(f"arrays of shapes {sizes}; they must be [nodes, moves] and [nodes] each")
    if below.max(initial=-1) >= len(below) or below.min(initial=-1) < -1:
        raise ValueError(f"children lie between -1 and {len(below) - 1}")
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    depth, tree, joined, left_out = _spanned(below, most)
    place = _placed(tree)
    levels = max(depth.values())
    width = 2 * _MARGIN + _LABEL + _ACROSS * max(place.values())
    spots = {node: (_LABEL + _MARGIN + _ACROSS * place[node], _MARGIN + _DOWN * depth[node]) for node in depth}
    shapes: list[Circle | Line | Text] = [
        Text(_MARGIN, _MARGIN + _DOWN * level, _SIZE, f"{level} move{'s' if level != 1 else ''}", "text", False)
        for level in range(levels + 1)
    ]
    for node, nodes in tree.items():
        for child in nodes:
            shapes.append(Line((spots[node], spots[child]), "edge-removed" if flags[0][child] else "edge"))
    shapes += [Line((spots[node], spots[child]), "edge-joined") for node, child in joined]
    for node, (x, y) in spots.items():
        value = float(np.clip(np.nan_to_num(shade[node]), 0, 1))
        disc = Circle(x, y, _RADIUS, "paper")
        shapes += [disc, disc._replace(role="value", opacity=value), disc._replace(role="rim")]
        if flags[0][node]:
            arm = 0.75 * _RADIUS
            shapes += [Line(((x - arm, y - arm * sign), (x + arm, y + arm * sign)), "strike") for sign in (1, -1)]
        if flags[1][node]:
            shapes.append(Circle(x, y, _RADIUS + 4, "ring"))
    height = 2 * _MARGIN + _DOWN * levels
    if left_out:
        note = f"{left_out:,} further nodes are not drawn"
        shapes.append(Text(_MARGIN, height + _SIZE / 2, _SIZE, note, "text", False))
        height, width = height + 2 * _SIZE, max(width, 2 * _MARGIN + text_width(note, _SIZE))
    return Picture(width, height, tuple(shapes), title or f"search tree of {len(depth)} nodes")


def _spanned(below: np.ndarray, most: int) -> tuple[dict[int, int], dict[int, list[int]], list[tuple[int, int]], int]:
    """The nodes that are reached, by the fewest moves first.

    Returns:
      the moves that lead to each of the first ``most``; those whose first way leads through each node; the further
      edges between them; and how many reached nodes are left out.
    """
    depth, queue = {0: 0}, [0]
    tree: dict[int, list[int]] = {0: []}
    edges: list[tuple[int, int]] = []
    for node in queue:
        for child in (int(child) for child in below[node] if child >= 0):
            if child in depth:
                edges.append((node, child))
                continue
            depth[child] = depth[node] + 1
            tree[child] = []
            tree[node].append(child)
            queue.append(child)
    kept = set(queue[:most])
    tree = {node: [child for child in tree[node] if child in kept] for node in queue[:most]}
    edges = [edge for edge in edges if kept.issuperset(edge)]
    return {node: depth[node] for node in queue[:most]}, tree, edges, len(queue) - len(kept)


def _placed(tree: dict[int, list[int]]) -> dict[int, float]:
    """The place of each node from left to right: leaves in order, each other node above the middle of those below."""
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += tree[node][::-1]
    place: dict[int, float] = {}
    leaves = [node for node in order if not tree[node]]
    place.update({node: float(number) for number, node in enumerate(leaves)})
    for node in reversed(order):
        if tree[node]:
            place[node] = (place[tree[node][0]] + place[tree[node][-1]]) / 2
    return place
