"""Searches that grow trees of positions, for thousands of puzzles at once, guided by a network or by playing on.

``env`` is their game, ``evaluation`` what a position is worth, ``policies`` how a tree grows (thin compositions over
mctx), ``trees`` what is proven in it, ``moving`` how roots move on in it; ``graph`` is a search that knows positions
again; ``lanes`` is the loop around them all. The functions here are the solvers. They import what they need when they
are called, as mctx and flax take long to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jax import Array

from jaxsudoku import exact
from jaxsudoku.board import Board
from jaxsudoku.settings import LANES
from jaxsudoku.solution import Solution

from .config import AlphaSudokuConfig, GuidedConfig, GuidedExactConfig, GumbelConfig, McgsConfig, MctsConfig

if TYPE_CHECKING:
    from jaxsudoku.networks import Network

    from .policies import Think

__all__ = [
    "AlphaSudokuConfig",
    "GuidedExactConfig",
    "GumbelConfig",
    "McgsConfig",
    "MctsConfig",
    "alphasudoku",
    "guided_exact",
    "gumbel",
    "mcgs",
    "mcts",
]


def gumbel(board: Board, puzzles: Array, key: Array, config: GumbelConfig, network: Network, /) -> Solution:
    """Gumbel MuZero search by a network.

    Pure; to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      network: a network of the board.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids that were looked at: roots, nodes of the trees, and moves
      that were played on; ``network_calls`` int32[N] the positions that the network was asked about.
    """
    from . import policies

    return _by_tree(board, puzzles, key, config, network, policies.gumbel)


def alphasudoku(board: Board, puzzles: Array, key: Array, config: AlphaSudokuConfig, network: Network, /) -> Solution:
    """PUCT search by a network; arguments and results as of ``gumbel``."""
    from . import policies

    return _by_tree(board, puzzles, key, config, network, policies.alphasudoku)


def mcts(board: Board, puzzles: Array, key: Array, config: MctsConfig, /) -> Solution:
    """UCT search by random rollouts, without a network; arguments and results as of ``gumbel`` otherwise."""
    from . import evaluation, lanes, moving, policies

    evaluate = evaluation.by_rollouts(board, config)
    advance = moving.along_tree(board, config, policies.mcts(board, config, evaluate))
    return lanes.search_all(board, puzzles, key, config, evaluate, advance, ())._replace(stats={})


def mcgs(board: Board, puzzles: Array, key: Array, config: McgsConfig, network: Network, /) -> Solution:
    """Graph search by a network, which knows positions again; arguments and results as of ``gumbel``."""
    from . import graph, lanes

    evaluate = graph.by_placements(board, config, network)
    advance = graph.along_graph(board, config, evaluate)
    return lanes.search_all(board, puzzles, key, config, evaluate, advance, network.params)


def guided_exact(board: Board, puzzles: Array, key: Array, config: GuidedExactConfig, network: Network, /) -> Solution:
    """The exact search, branching as a network says.

    Arguments as of ``gumbel``; ``key`` decides nothing. ``iterations`` int32[N] are the nodes that were visited,
    ``network_calls`` int32[N] those of them that branched: the network is not called for nodes that the rules solve or
    refute, nor for those in which they still make progress.
    """
    from . import literals

    del key
    branch = literals.by_network(network, config.cell, config.together)
    found, branches = exact.guided_search(
        puzzles, branch, board, budget=config.budget, rules=config.rules, rounds=config.rounds,
        lanes=config.lanes or LANES,
    )  # fmt: skip
    return Solution(found.grids, found.status, found.iterations, {"network_calls": branches})


def _by_tree(
    board: Board, puzzles: Array, key: Array, config: GuidedConfig, network: Network, policy: Callable[..., Think]
) -> Solution:
    from . import evaluation, lanes, moving

    evaluate = evaluation.by_network(board, config, network)
    advance = moving.along_tree(board, config, policy(board, config, evaluate))
    return lanes.search_all(board, puzzles, key, config, evaluate, advance, network.params)
