"""Games: puzzles played by Gumbel MuZero search, with the positions that the search met.

A game is the solver ``gumbel`` on one puzzle: the root moves along its searches, and goes back where they refute it.
It ends when the puzzle is solved or refuted, or when the budget is spent; then the game has failed. Many games run in
lanes, and a lane takes the next puzzle when its game ends.

Of the roots that were searched, each game keeps a random sample, with the search's improved policy: the softmax of the
network's logits plus the transformed values of all moves (Danihelka et al. 2022). Refuted moves have none of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from jax import Array

from jaxsudoku.board import Board
from jaxsudoku.networks import Forward, Network, Params
from jaxsudoku.random import mix
from jaxsudoku.solution import Status
from jaxsudoku.solvers.judging import judge
from jaxsudoku.solvers.tree import evaluators, policies, reroot
from jaxsudoku.solvers.tree.backtracking import Lanes, Recorder, search_all
from jaxsudoku.solvers.tree.config import GumbelConfig
from jaxsudoku.solvers.tree.policies import Decision
from jaxsudoku.solvers.tree.proofs import open_moves

#: Separates the choice of kept positions from the search's own randomness.
_KEEP = np.uint32(0x7FEB352D)


class Kept(NamedTuple):
    """P positions of each of N games.

    Attributes:
      nodes: uint32[N, P, words], the packed candidates.
      cell: int32[N, P], the cell that the search filled.
      policy: float32[N, P, side], the improved policy of the digits there; 0 where the search refuted all.
      searched: int32[N], searches of the game; the first min(P, searched) positions are defined.
    """

    nodes: Array
    cell: Array
    policy: Array
    searched: Array


class Games(NamedTuple):
    """N finished games.

    Attributes:
      puzzles: uint8[N, cells].
      solutions: uint8[N, cells], what the game ended in; zeros unless it was solved.
      status: int8[N], a ``Status``: SOLVED, UNSATISFIABLE, INVALID, or UNSOLVED of a failed game.
      iterations: int32[N], grids evaluated.
      calls: int32[N], positions evaluated by the network.
      kept: positions that were searched.
    """

    puzzles: Array
    solutions: Array
    status: Array
    iterations: Array
    calls: Array
    kept: Kept


def play(
    board: Board, config: GumbelConfig, forward: Forward, params: Params, puzzles: Array, key: Array, positions: int
) -> Games:
    """Plays puzzles to their ends. Pure.

    Args:
      board: the board.
      config: the resolved settings of the search; without a budget no game fails.
      forward: the network.
      params: its parameters.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; a game's randomness comes from it and from the puzzle's index.
      positions: positions that are kept of each game.

    Returns:
      the games, in the order of the puzzles.
    """
    network = Network("self-play", forward, params)
    evaluate = evaluators.by_network(board, config, network)
    recorder, record = _keeping(board, positions)
    advance = reroot.along_tree(board, config, policies.gumbel(board, config, evaluate), record)
    solution = judge(puzzles, search_all(board, puzzles, key, config, evaluate, advance, params, recorder), board)
    stats = solution.stats
    kept = Kept(*(stats[name] for name in Kept._fields))
    return Games(puzzles, solution.grids, solution.status, solution.iterations, stats["network_calls"], kept)


def no_games(board: Board, size: int, positions: int) -> Games:
    """Games of puzzles that are empty, failed without a search: a shape to fill."""
    cells, number = jnp.zeros((size, board.cells), jnp.uint8), jnp.zeros(size, jnp.int32)
    return Games(cells, cells, jnp.full(size, Status.UNSOLVED, jnp.int8), number, number, _none(board, size, positions))


def _none(board: Board, size: int, positions: int) -> Kept:
    """No positions of ``size`` games."""
    return Kept(
        jnp.zeros((size, positions, board.words), jnp.uint32),
        jnp.zeros((size, positions), jnp.int32),
        jnp.zeros((size, positions, board.side), jnp.float32),
        jnp.zeros(size, jnp.int32),
    )


def _keeping(board: Board, positions: int) -> tuple[Recorder, reroot.Record]:
    """Keeps a uniform sample of the searched roots of each game (reservoir sampling, Vitter 1985)."""

    def record(lanes: Lanes, decision: Decision, seed: Array) -> Kept:
        kept: Kept = lanes.record
        lane, state = jnp.arange(len(kept.searched)), lanes.state
        turn = (mix(seed ^ _KEEP) % (kept.searched + 1).astype(jnp.uint32)).astype(jnp.int32)
        place = jnp.where(kept.searched < positions, kept.searched, turn)
        place = jnp.where(state.terminated, positions, place)  # past the end: dropped
        return Kept(
            kept.nodes.at[lane, place].set(state.nodes, mode="drop"),
            kept.cell.at[lane, place].set(state.cell, mode="drop"),
            kept.policy.at[lane, place].set(improved_policy(decision.tree), mode="drop"),
            kept.searched + (~state.terminated).astype(jnp.int32),
        )

    return Recorder(lambda width: _none(board, width, positions), lambda kept: kept._asdict()), record


def improved_policy(tree: mctx.Tree) -> Array:
    """The improved policy at the roots of trees, float32[B, side]; 0 for moves that are illegal or refuted."""
    root = mctx.Tree.ROOT_INDEX
    with jax.numpy_dtype_promotion("standard"):
        q = jax.vmap(mctx.qtransform_completed_by_mix_value, (0, None))(tree, root)
    there = open_moves(tree)[:, root]
    policy: Any = jax.nn.softmax(tree.children_prior_logits[:, root] + q, axis=1, where=there)
    return jnp.where(there.any(axis=1, keepdims=True), policy, 0.0).astype(jnp.float32)
