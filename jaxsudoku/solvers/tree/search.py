"""The tree and graph searches as solvers."""

from __future__ import annotations

from typing import Any

from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.networks import Network

from . import evaluators, graph, persistent, policies, reroot
from .backtracking import search_all
from .evaluators import Evaluate
from .policies import Score
from .tree_config import AlphaSudokuConfig, GumbelConfig, McgsConfig, MctsConfig


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
      ``network_calls`` int32[N] the positions that the network evaluated; ``changes`` int32[N] the changes of the grid
      that is looked at, as the AlphaSudoku study counts iterations: leaves selected, nodes expanded, steps of rollouts
      and moves.
    """
    evaluate = evaluators.by_network(board, config, network)
    advance = reroot.along_tree(board, config, policies.gumbel(board, config, evaluate))
    return search_all(board, puzzles, key, config, evaluate, advance, network.params)


def alphasudoku(board: Board, puzzles: Array, key: Array, config: AlphaSudokuConfig, network: Network, /) -> Solution:
    """PUCT search with a network; arguments and results as of ``gumbel``."""
    evaluate = evaluators.by_network(board, config, network)
    if not config.proofs:
        return _persistent(board, puzzles, key, config, evaluate, network.params, policies.puct(config))
    advance = reroot.along_tree(board, config, policies.alphasudoku(board, config, evaluate))
    return search_all(board, puzzles, key, config, evaluate, advance, network.params)


def mcts(board: Board, puzzles: Array, key: Array, config: MctsConfig, /) -> Solution:
    """UCT search with random rollouts and no network; arguments and results otherwise as of ``gumbel``."""
    evaluate = evaluators.by_rollouts(board, config)
    if config.proofs:
        advance = reroot.along_tree(board, config, policies.mcts(board, config, evaluate))
        found = search_all(board, puzzles, key, config, evaluate, advance, ())
    else:
        found = _persistent(board, puzzles, key, config, evaluate, (), policies.uct(config))
    return found._replace(stats={"changes": found.stats["changes"]})


def mcgs(board: Board, puzzles: Array, key: Array, config: McgsConfig, network: Network, /) -> Solution:
    """Monte-Carlo graph search with a network, with transpositions; arguments and results as of ``gumbel``."""
    evaluate = graph.by_network(board, config, network)
    advance = graph.along_graph(board, config, evaluate)
    found = search_all(board, puzzles, key, config, evaluate, advance, network.params)
    return found._replace(stats={"network_calls": found.stats["network_calls"]})


def _persistent(
    board: Board,
    puzzles: Array,
    key: Array,
    config: AlphaSudokuConfig | MctsConfig,
    evaluate: Evaluate,
    params: Any,
    score: Score,
) -> Solution:
    advance = persistent.along_kept_tree(board, config, evaluate, score)
    return search_all(board, puzzles, key, config, evaluate, advance, params, persistent.recorder(board, config))
