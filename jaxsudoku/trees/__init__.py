"""Tree search with mctx, beyond its policies: trees that are kept, proofs, early stops, many devices, pictures.

Pure functions on ``mctx.Tree``, for any environment. ``search`` and ``gumbel_muzero_policy`` are called as mctx's own;
``nodes`` has the operations that they are made of.
"""

from .drawing import draw, picture
from .growth import decided, open_qtransform, search, settled, sharded
from .gumbel import GumbelExtraData, gumbel_action, gumbel_muzero_policy, gumbel_root_action_selection
from .nodes import (
    Nodes,
    Select,
    add_nodes,
    back_up,
    compacted,
    descend,
    empty,
    most_visited,
    open_moves,
    put_roots,
    refute,
    size,
    subtree,
    with_root,
)

__all__ = [
    "GumbelExtraData",
    "Nodes",
    "Select",
    "add_nodes",
    "back_up",
    "compacted",
    "decided",
    "descend",
    "draw",
    "empty",
    "gumbel_action",
    "gumbel_muzero_policy",
    "gumbel_root_action_selection",
    "most_visited",
    "open_moves",
    "open_qtransform",
    "picture",
    "put_roots",
    "refute",
    "search",
    "settled",
    "sharded",
    "size",
    "subtree",
    "with_root",
]
