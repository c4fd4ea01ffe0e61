"""The tree and graph searches as solvers."""

from __future__ import annotations

from collections.abc import Callable

from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.networks import Network

from . import evaluators, graph, policies, reroot
from .backtracking import search_all
from .policies import Policy
from .tree_config import AlphaSudokuConfig, GuidedConfig, GumbelConfig, McgsConfig, MctsConfig


def gumbel(board: Board, puzzles: Array, key: Array, config: GumbelConfig, network: Network, /) -> Solution:
    """Gumbel MuZero search with a network.

    Pure; to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      network: a network of the board.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids evaluated: roots, nodes of the trees, and moves of rollouts;
      ``network_calls`` int32[N] the positions that the network evaluated.
    """
    return _by_tree(board, puzzles, key, config, network, policies.gumbel)


def alphasudoku(board: Board, puzzles: Array, key: Array, config: AlphaSudokuConfig, network: Network, /) -> Solution:
    """PUCT search with a network; arguments and results as of ``gumbel``."""
    return _by_tree(board, puzzles, key, config, network, policies.alphasudoku)


def mcts(board: Board, puzzles: Array, key: Array, config: MctsConfig, /) -> Solution:
    """UCT search with random rollouts and no network; arguments and results otherwise as of ``gumbel``."""
    evaluate = evaluators.by_rollouts(board, config)
    advance = reroot.along_tree(board, config, policies.mcts(board, config, evaluate))
    return search_all(board, puzzles, key, config, evaluate, advance, ())._replace(stats={})


def mcgs(board: Board, puzzles: Array, key: Array, config: McgsConfig, network: Network, /) -> Solution:
    """Monte-Carlo graph search with a network, with transpositions; arguments and results as of ``gumbel``."""
    evaluate = graph.by_network(board, config, network)
    advance = graph.along_graph(board, config, evaluate)
    return search_all(board, puzzles, key, config, evaluate, advance, network.params)


def _by_tree(
    board: Board, puzzles: Array, key: Array, config: GuidedConfig, network: Network, make_policy: Callable[..., Policy]
) -> Solution:
    evaluate = evaluators.by_network(board, config, network)
    advance = reroot.along_tree(board, config, make_policy(board, config, evaluate))
    return search_all(board, puzzles, key, config, evaluate, advance, network.params)
