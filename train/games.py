"""Games of self-play: puzzles played by Gumbel MuZero search or graph search, with samples of searched positions.

A game is the solver ``gumbel`` or ``mcgs`` on one puzzle: the root moves along its searches, and backtracks where they
refute it, unless the game is played without backtracking. It ends when the puzzle is solved or refuted, or when the
budget is spent; then the game has failed. Many games run in lanes, and a lane takes the next puzzle when its game ends.

If the solutions are known, as in DeepSudoku, a game ends at its first wrong digit, and keeps a random sample of all
positions that its searches evaluated.

Each game keeps a random sample of its searched roots, with the improved policy of the cell that was filled. For
``gumbel`` this is the softmax of the network's logits plus the transformed values of all moves (Danihelka et al. 2022),
for ``mcgs`` the shares of the visits, with the network's policy as one more visit. Refuted moves have probability 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from jax import Array

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import grids_to_cubes
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks import Forward, Network, Params
from jaxsudoku.runtime.random import mix
from jaxsudoku.solvers.judging import judge
from jaxsudoku.solvers.tree import evaluators, graph, policies, proving
from jaxsudoku.solvers.tree.evaluators import Evaluator
from jaxsudoku.solvers.tree.lanes import Lanes
from jaxsudoku.solvers.tree.simulation import Recorder, Search, search_all
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig
from jaxsudoku.trees import open_moves

#: Random stream for the choice of kept positions.
_KEEP = np.uint32(0x7FEB352D)
#: Random stream for the choice of a position of a search.
_SEEN = np.uint32(0x846CA68B)

#: Lower bound of probabilities in logarithms.
_LEAST = 1e-9

#: (lanes, those whose searches have ended bool[K], seeds uint32[K]) -> the lanes with their roots moved.
Move = Callable[[Lanes, Array, Array], Lanes]


class Kept(NamedTuple):
    """Samples of P positions of each of N games.

    Attributes:
      nodes: uint32[N, P, words], the packed candidates.
      cell: int32[N, P], the cell that the search filled.
      policy: float32[N, P, side], the improved policy of its digits; 0 if the search refuted all.
      searched: int32[N], number of searches of the game; the first min(P, searched) positions are defined.
      surprise: float32[N], the divergence (nats) of the improved policy from the network's, summed over the searches.
    """

    nodes: Array
    cell: Array
    policy: Array
    searched: Array
    surprise: Array


def random_kept(kept: Kept, key: Array) -> tuple[Array, Array]:
    """Draws a kept position of each game: whether there is one, bool[N], and its index, int32[N]."""
    count = jnp.minimum(kept.searched, kept.nodes.shape[1])
    place = (jax.random.uniform(key, count.shape) * count).astype(jnp.int32)
    return count > 0, jnp.clip(place, 0, jnp.maximum(count - 1, 0))


class Games(NamedTuple):
    """N finished games.

    Attributes:
      puzzles: uint8[N, cells].
      solutions: uint8[N, cells], the final grid: the solution of a solved game; the last grid of a failed one, or the
        solution if it is known.
      status: int8[N], a ``Status``: SOLVED, UNSATISFIABLE, INVALID, or UNSOLVED for a failed game.
      iterations: int32[N], grids evaluated.
      calls: int32[N], positions evaluated by the network.
      kept: samples of searched positions.
    """

    puzzles: Array
    solutions: Array
    status: Array
    iterations: Array
    calls: Array
    kept: Kept


def play(
    config: GumbelConfig | McgsConfig,
    forward: Forward,
    params: Params,
    puzzles: Array,
    key: Array,
    positions: int,
    backtracking: bool = True,
    truth: Array | None = None,
) -> Games:
    """Plays puzzles to their ends. Pure.

    Args:
      config: the resolved settings of the search; without a budget only games without backtracking can fail.
      forward: the network.
      params: its parameters.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; a game's randomness comes from it and from the puzzle's index.
      positions: number of positions kept of each game.
      backtracking: whether a game backtracks from positions that the search refutes; without it, it has then failed.
      truth: uint8[N, cells], the solutions, for games by graph search without backtracking that end at a wrong digit;
        None if they are unknown.

    Returns:
      the games, in the order of the puzzles.
    """
    board = forward.board
    evaluator, search = _search(board, config, Network("self-play", forward, params), positions, truth is not None)
    recorder = Recorder(lambda width: _none(board, width, positions), lambda kept: kept._asdict())
    if not backtracking:
        search = search._replace(move=_without_backtracking(search.move))
    if truth is not None:
        search = search._replace(move=_until_wrong(board, search.move, grids_to_cubes(truth, board)))
    found = search_all(board, puzzles, key, config, evaluator, search, params, recorder)
    if not backtracking:  # a refuted game does not prove that its puzzle has no solution
        refuted = (found.status == Status.UNSATISFIABLE) & (found.stats["network_calls"] > 0)
        found = found._replace(status=jnp.where(refuted, jnp.int8(Status.UNSOLVED), found.status))
    solution = judge(puzzles, found, board, keep_partial=True)
    stats = solution.stats
    kept = Kept(*(stats[name] for name in Kept._fields))
    grids = solution.grids if truth is None else truth
    return Games(puzzles, grids, solution.status, solution.iterations, stats["network_calls"], kept)


def _without_backtracking(move: Move) -> Move:
    """Moves of roots without alternatives: a game ends when its root is refuted, which does not prove anything."""

    def once(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        lanes = move(lanes, which, seed)
        # a root that leaves its tree is refuted and is on the stack, above its alternatives
        waiting = lanes.state.refuted & (lanes.depth > 0)
        return lanes._replace(stack=lanes.stack.at[:, 0].set(lanes.top), depth=waiting.astype(jnp.int32))

    return once


def _until_wrong(board: Board, move: Move, truth: Array) -> Move:
    """Moves without backtracking, in which a root without a digit of the solution is refuted and ends the game."""

    def once(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        lanes = move(lanes, which, seed)
        waiting = lanes.depth > 0  # the root's position is on the stack
        nodes = jnp.where(waiting[:, None], lanes.top, lanes.state.nodes)
        left = env.unpack(nodes, board) & truth[lanes.puzzle]
        wrong = which & ~left.any(axis=1).all(axis=1)
        ended = lanes.state._replace(refuted=jnp.ones_like(wrong), solved=jnp.zeros_like(wrong))
        return lanes.with_roots(ended, wrong)._replace(depth=jnp.where(wrong, 0, lanes.depth))

    return once


def no_games(board: Board, size: int, positions: int) -> Games:
    """Placeholder games: empty puzzles, failed without a search."""
    cells, number = jnp.zeros((size, board.cells), jnp.uint8), jnp.zeros(size, jnp.int32)
    return Games(cells, cells, jnp.full(size, Status.UNSOLVED, jnp.int8), number, number, _none(board, size, positions))


def _none(board: Board, size: int, positions: int) -> Kept:
    """Empty samples of ``size`` games."""
    return Kept(
        jnp.zeros((size, positions, board.words), jnp.uint32),
        jnp.zeros((size, positions), jnp.int32),
        jnp.zeros((size, positions, board.side), jnp.float32),
        jnp.zeros(size, jnp.int32),
        jnp.zeros(size, jnp.float32),
    )


def _search(
    board: Board, config: GumbelConfig | McgsConfig, network: Network, positions: int, every: bool
) -> tuple[Evaluator, Search]:
    """The search of the settings, with a sample of its roots or, with ``every``, of all evaluated positions."""
    if isinstance(config, McgsConfig):

        def record_graph(lanes: Lanes, which: Array, seed: Array) -> Kept:
            graphs = lanes.tree
            policies = visited_policy(board, graphs, lanes.root.logits)
            if not every:
                return _keep(lanes, which, seed, positions, *policies)
            seen = (jnp.arange(graphs.visits.shape[1]) < graphs.size[:, None]) & (graphs.move >= 0).any(axis=2)
            node = evaluators.random_choice(seen, mix(seed ^ _SEEN))
            nodes = jnp.take_along_axis(graphs.state.nodes, node[:, None, None], axis=1)[:, 0]
            return _keep(lanes, which, seed, positions, *policies, nodes)

        return graph.by_network(board, config, network), graph.search(board, config, record_graph)

    def record(lanes: Lanes, which: Array, moves: Array, seed: Array) -> Kept:
        del moves
        prior = jax.nn.softmax(lanes.root.logits, axis=1)  # the tree's policy has lost refuted moves
        return _keep(lanes, which, seed, positions, lanes.state.cell, improved_policy(lanes.tree), prior)

    search = proving.search(board, config, policies.gumbel(board, config), record)
    return evaluators.by_network(board, config, network), search


def _keep(
    lanes: Lanes,
    searched: Array,
    seed: Array,
    positions: int,
    cell: Array,
    policy: Array,
    prior: Array,
    nodes: Array | None = None,
) -> Kept:
    """Updates a uniform sample of the searches of each game (reservoir sampling, Vitter 1985).

    For a search, in the lanes ``searched`` bool[K], it keeps the root, or the position ``nodes`` uint32[K, words].
    """
    kept: Kept = lanes.record
    nodes = lanes.state.nodes if nodes is None else nodes
    lane = jnp.arange(len(kept.searched))
    turn = (mix(seed ^ _KEEP) % (kept.searched + 1).astype(jnp.uint32)).astype(jnp.int32)
    place = jnp.where(kept.searched < positions, kept.searched, turn)
    place = jnp.where(searched, place, positions)  # past the end: dropped
    ratio = jnp.log(jnp.maximum(policy, _LEAST)) - jnp.log(jnp.maximum(prior, _LEAST))
    surprise = jnp.where(searched, jnp.maximum((policy * ratio).sum(axis=1), 0.0), 0.0)
    return Kept(
        kept.nodes.at[lane, place].set(nodes, mode="drop"),
        kept.cell.at[lane, place].set(cell, mode="drop"),
        kept.policy.at[lane, place].set(policy, mode="drop"),
        kept.searched + searched.astype(jnp.int32),
        kept.surprise + surprise,
    )


def improved_policy(tree: mctx.Tree) -> Array:
    """The improved policy at the roots of trees, float32[B, side]; 0 for moves that are illegal or refuted."""
    root = mctx.Tree.ROOT_INDEX
    with jax.numpy_dtype_promotion("standard"):
        q = jax.vmap(mctx.qtransform_completed_by_mix_value, (0, None))(tree, root)
    there = open_moves(tree)
    policy: Any = jax.nn.softmax(tree.children_prior_logits[:, root] + q, axis=1, where=there)
    return jnp.where(there.any(axis=1, keepdims=True), policy, 0.0).astype(jnp.float32)


def visited_policy(board: Board, graphs: graph.Graph, logits: Array) -> tuple[Array, Array, Array]:
    """The cell that graph searches fill next, the improved policy there, and the network's.

    Args:
      board: the board.
      graphs: the graphs of B searches.
      logits: float32[B, side * cells], the log-odds of all placements at the roots.

    Returns:
      the cell int32[B], and both policies float32[B, side]; the improved one is 0 for refuted moves.
    """
    moves, lane = graphs.move[:, 0], jnp.arange(len(graphs.size))
    cell = jnp.maximum(moves[lane, graph.best(graphs)], 0) % board.cells
    prior = jax.nn.sigmoid(logits.reshape(len(lane), board.side, board.cells)[lane, :, cell])
    prior /= jnp.maximum(prior.sum(axis=1, keepdims=True), _LEAST)
    digit = jnp.where((moves >= 0) & (moves % board.cells == cell[:, None]), moves // board.cells, board.side)
    there = graph.open_edges(graphs, 0)

    def by_digit(values: Array) -> Array:
        """Sums of edges' values by digit of the cell."""
        return jnp.zeros((len(lane), board.side + 1), jnp.float32).at[lane[:, None], digit].add(values)[:, :-1]

    refuted = by_digit((~there).astype(jnp.float32)) > 0
    visits = jnp.where(refuted, 0.0, by_digit(graphs.edge_visits[:, 0].astype(jnp.float32)) + prior)
    return cell, visits / jnp.maximum(visits.sum(axis=1, keepdims=True), _LEAST), prior
