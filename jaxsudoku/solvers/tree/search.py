"""The tree and graph searches as solvers."""

from __future__ import annotations

from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution
from jaxsudoku.networks import Network

from . import evaluators, graph, persistent, policies, proving
from .policies import Policy
from .simulation import Recorder, Search, search_all
from .tree_config import AlphaSudokuConfig, GumbelConfig, McgsConfig, MctsConfig


def gumbel(board: Board, puzzles: Array, key: Array, config: GumbelConfig, network: Network, /) -> Solution:
    """Gumbel MuZero search with a network.

    Pure; jit it with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      network: a network of the board.

    Returns:
      A ``Solution``. ``iterations`` int32[N] are the grids evaluated: roots, nodes of the trees, and moves of rollouts;
      ``network_calls`` int32[N] the positions that the network evaluated; ``network_iterations`` int32[N] its
      iterations there; ``simulations`` int32[N]; ``changes`` int32[N] the changes of the current grid, which the
      AlphaSudoku study counts as iterations: leaves selected, nodes expanded, steps of rollouts and moves.
    """
    evaluator = evaluators.by_network(board, config, network)
    search = proving.search(board, config, policies.gumbel(board, config))
    return search_all(board, puzzles, key, config, evaluator, search, network.params)


def alphasudoku(board: Board, puzzles: Array, key: Array, config: AlphaSudokuConfig, network: Network, /) -> Solution:
    """PUCT search with a network; arguments and results as in ``gumbel``."""
    evaluator = evaluators.by_network(board, config, network)
    search, recorder = _by_score(board, config, policies.alphasudoku(board, config))
    return search_all(board, puzzles, key, config, evaluator, search, network.params, recorder)


def mcts(board: Board, puzzles: Array, key: Array, config: MctsConfig, /) -> Solution:
    """UCT search with random rollouts and no network; arguments and results otherwise as in ``gumbel``."""
    evaluator = evaluators.by_rollouts(board, config)
    search, recorder = _by_score(board, config, policies.mcts(board, config))
    found = search_all(board, puzzles, key, config, evaluator, search, (), recorder)
    return found._replace(stats={name: found.stats[name] for name in ("simulations", "changes")})


def mcgs(board: Board, puzzles: Array, key: Array, config: McgsConfig, network: Network, /) -> Solution:
    """Monte-Carlo graph search with a network, with transpositions; arguments and results as in ``gumbel``."""
    evaluator, search = graph.by_network(board, config, network), graph.search(board, config)
    found = search_all(board, puzzles, key, config, evaluator, search, network.params)
    names = ("network_calls", "network_iterations", "simulations")
    return found._replace(stats={name: found.stats[name] for name in names})


def _by_score(board: Board, config: AlphaSudokuConfig | MctsConfig, policy: Policy) -> tuple[Search, Recorder | None]:
    if config.proofs:
        return proving.search(board, config, policy), None
    return persistent.search(board, config, policy), persistent.recorder(config)
