"""The arena compares generations of a network on the same puzzles, with equal numbers of simulations.

Two measures: puzzles solved by a tree search within a budget of grids; and, after DeepSudoku, the cells that a graph
search without backtracking fills before its first error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jaxsudoku as js
from jaxsudoku import env
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Status
from jaxsudoku.networks import Forward, Network, Params
from jaxsudoku.runtime.devices import compiler_options
from jaxsudoku.runtime.operations import select
from jaxsudoku.solvers.tree import graph
from jaxsudoku.solvers.tree.simulation import grow
from jaxsudoku.solvers.tree.tree_config import GumbelConfig, McgsConfig

from .games import play
from .processes import Processes
from .selfplay_config import ArenaConfig


class Alone(NamedTuple):
    """Results of games without backtracking, for N puzzles.

    Attributes:
      right: int32[N], open cells filled before the first error.
      opened: int32[N], open cells of the puzzles.
      solved: bool[N], whether there was no error.
      moves: int32[N], moves, including a wrong one.
      nodes: int32[N], nodes of the graphs of all moves.
      hits: int32[N], transposition hits: placements that led to positions already in the graph.
    """

    right: np.ndarray
    opened: np.ndarray
    solved: np.ndarray
    moves: np.ndarray
    nodes: np.ndarray
    hits: np.ndarray


def play_alone(
    board: Board, config: McgsConfig, forward: Forward, params: Params, puzzles: np.ndarray, truth: np.ndarray
) -> Alone:
    """Plays puzzles by graph search without backtracking, up to the first error.

    Each search is followed by its best placement. A search that finds a solution ends the game with it.

    Args:
      board: the board.
      config: the resolved settings.
      forward: the network.
      params: its parameters.
      puzzles: uint8[N, cells].
      truth: uint8[N, cells], their solutions.
    """
    state, before = _root(board, config.rules)(puzzles)
    rows, move = np.arange(len(puzzles)), _move(board, config, forward)
    playing = ~np.asarray(state.terminated)
    right = np.where(playing, (np.asarray(before) > 0).sum(axis=1), board.cells)
    solved = np.array(state.solved)
    moves, nodes, hits = (np.zeros(len(puzzles), np.int32) for _ in range(3))
    while playing.any():
        state, found, placement, size, again, grids = jax.tree.map(np.asarray, move(params, state, playing))
        digit, cell = np.divmod(placement, board.cells)
        good = found | (truth[rows, cell] == digit + 1)
        moves, nodes, hits = moves + playing, nodes + size * playing, hits + again * playing
        right = np.where(playing & good, ((grids > 0) & (grids == truth)).sum(axis=1), right)
        solved |= playing & state.solved & (grids == truth).all(axis=1)
        playing = playing & good & ~state.solved & ~state.refuted
    given = (puzzles > 0).sum(axis=1)
    return Alone(right - given, board.cells - given, solved, moves, nodes, hits)


@functools.lru_cache(maxsize=8)
def _root(board: Board, rules: str) -> jax.stages.Wrapped:
    """The positions before the first move, with their grids."""

    def root(puzzles: Array) -> tuple[env.State, Array]:
        state = env.init(puzzles, board, rules)
        return state, env.grids(state, board)

    return jax.jit(root, compiler_options=compiler_options())


@functools.lru_cache(maxsize=8)
def _move(board: Board, config: McgsConfig, forward: Forward) -> Callable[..., Any]:
    """A compiled move of every game: (parameters, positions, which are playing) -> the next positions and results."""

    def move(params: Params, state: env.State, playing: Array) -> tuple[Any, Array, Array, Array, Array, Array]:
        lane = jnp.arange(len(state.cell))
        evaluator = graph.by_network(board, config, Network("arena", forward, params))
        state = state._replace(refuted=state.refuted | ~playing)  # refuted positions are not evaluated
        seeds, search = jnp.zeros(len(lane), jnp.uint32), graph.search(board, config)
        lanes = grow(board, config, evaluator, search, params, state, seeds)
        grown, found = lanes.tree, lanes.found
        answer = state._replace(nodes=lanes.answer, refuted=jnp.zeros_like(found), solved=jnp.ones_like(found))
        placement = jnp.maximum(grown.move[lane, 0, graph.best(grown)], 0)
        after = select(found, answer, env.place(state, placement, board, config.rules))
        return after, found, placement, grown.size, grown.hits, env.grids(after, board)

    return jax.jit(move, compiler_options=compiler_options())


class Arena:
    """The games of every generation.

    Args:
      board: the board.
      config: the settings.
      puzzles: uint8[N, cells], each with one solution.
      platform: "cpu", "gpu" or "tpu".
    """

    def __init__(self, board: Board, config: ArenaConfig, puzzles: np.ndarray, platform: str) -> None:
        self._board, self._puzzles = board, puzzles
        self._truth = js.solve(puzzles, board=board).grids
        simulations, rules = config.arena_simulations, config.arena_rules
        budget = config.arena_budget
        tree = GumbelConfig(simulations, rules, budget, cell="surest", complete=False, sure=1.0)
        self._tree: GumbelConfig = tree.resolve(board, platform)
        self._graph: McgsConfig = McgsConfig(simulations=simulations, rules=rules).resolve(board, platform)

    def compare(
        self, networks: Mapping[str, tuple[Forward, Params]], processes: Processes
    ) -> dict[str, dict[str, float]]:
        """Results of networks in the arena, by name; games are divided among the processes, all of which must call.

        Args:
          networks: by name, each with its parameters on one device.
          processes: the processes of the run.

        Returns:
          for each network ``solved``: share of puzzles solved by the tree search within the budget, verified by the
          solutions; ``grids`` and ``calls``: mean number of grids and network calls of a game, including failed ones;
          ``right``: mean share of open cells filled by the graph search before its first error; ``alone``: share of
          puzzles without an error.
        """
        parts = (self._searched, self._alone)
        jobs = [functools.partial(part, *network) for network in networks.values() for part in parts]
        told = processes.share("arena", jobs)
        return {name: searched | alone for name, searched, alone in zip(networks, told[::2], told[1::2], strict=True)}

    def _searched(self, forward: Forward, params: Params) -> dict[str, float]:
        games = jax.device_get(_games(self._tree, forward)(params, self._puzzles))
        solved = (games.status == Status.SOLVED) & (games.solutions == self._truth).all(axis=1)
        return {
            "solved": float(solved.mean()),
            "grids": float(games.iterations.mean()),
            "calls": float(games.calls.mean()),
        }

    def _alone(self, forward: Forward, params: Params) -> dict[str, float]:
        alone = play_alone(self._board, self._graph, forward, params, self._puzzles, self._truth)
        return {
            "right": float((alone.right / np.maximum(alone.opened, 1)).mean()),
            "alone": float(alone.solved.mean()),
        }


@functools.lru_cache(maxsize=8)
def _games(config: GumbelConfig, forward: Forward) -> jax.stages.Wrapped:
    key = jax.random.key(0)
    return jax.jit(
        lambda params, puzzles: play(config, forward, params, puzzles, key, 1),
        compiler_options=compiler_options(),
    )
