"""Networks with random parameters, which are drawn without a program of JAX."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import reference

from jaxsudoku.core.board import Board
from jaxsudoku.networks import Network, make_forward


@functools.cache
def random_network(board: Board, name: str = "cell_cnn", **settings: Any) -> Network:
    """A tiny network of an architecture; "cell_cnn" compiles in the least time, "cube" is equivariant."""
    forward, rng = make_forward(name, board, **reference.TINY[name] | settings), np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: rng.normal(0, 0.3, leaf.shape).astype(np.float32), forward.shapes())
    return Network(name, forward, params)
