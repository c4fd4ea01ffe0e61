"""Monte-Carlo graph search: positions that are come to in another order are known again.

After Czech, Korus and Kersting (2020), "Monte-Carlo Graph Search for AlphaZero", arXiv 2012.11045, batched over K
lanes. A move places any digit in any cell, so a position is come to in many orders. Nodes are found again by a Zobrist
hash of their candidates, and compared in full. Edges have visits and values of their own; where an edge's value has
fallen behind that of its node, the difference is taken up the path instead of going deeper.

A node is refuted when all choices of some cell lead to refuted nodes; this is propagated through all parents.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import env
from jaxsudoku.board import Board
from jaxsudoku.networks import Network
from jaxsudoku.networks.base import ABSENT
from jaxsudoku.planes import select

from .backtracking import Advance, Lanes
from .config import McgsConfig
from .evaluators import Evaluate, Evaluation, asked

#: Odds that a placement is right count from one in this many to this many.
_SUREST = 1e3
#: Puts the placements of one cell before all others: their logits are far closer together.
_FIRST = 100.0


class Graph(NamedTuple):
    """K graphs of up to M nodes, with up to A edges each; node 0 is the root.

    Attributes:
      state: the positions [K, M]; ``refuted`` is set by proofs as well.
      hash: uint32[K, M], of the candidates.
      size: int32[K], nodes there are.
      worth: float32[K, M], what the evaluation said.
      visits: int32[K, M].
      value: float32[K, M], the mean of what came up through the node.
      move: int32[K, M, A], placements, or -1.
      prior: float32[K, M, A].
      child: int32[K, M, A], or -1.
      taken: int32[K, M, A], visits of the edge.
      gain: float32[K, M, A], its value.
      again: int32[K], how often a position was known again.
    """

    state: env.State
    hash: Array
    size: Array
    worth: Array
    visits: Array
    value: Array
    move: Array
    prior: Array
    child: Array
    taken: Array
    gain: Array
    again: Array


def by_placements(board: Board, config: McgsConfig, network: Network) -> Evaluate:
    """Evaluates by a network; its logits are of all placements, float32[B, side * cells]."""

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        del seed
        over = state.terminated
        outputs = asked(network, params, env.observe(state, board), ~over, config.chunk)
        choices = env.legal_placement_mask(state, board)
        likely = jax.nn.softmax(outputs.policy, axis=1, where=choices)
        odds = jnp.minimum(likely / jnp.maximum(1 - likely, 1 / _SUREST), _SUREST)
        logits = jnp.where(choices, jnp.log(jnp.maximum(odds, 1 / _SUREST)), ABSENT).reshape(len(likely), -1)
        one = jnp.ones(state.refuted.shape, jnp.int32)
        worth = jax.nn.sigmoid(outputs.value)
        return Evaluation(state, logits, worth, None, state.solved, one, jnp.where(over, 0, jnp.int32(1)))

    return evaluate


def grow(board: Board, config: McgsConfig, evaluate: Evaluate, params: Any, root: Evaluation) -> Graph:
    """Searches from evaluated roots until the simulations are spent or every lane is solved or refuted."""
    width, moves = root.logits.shape
    nodes, edges = config.simulations + 1, min(max(config.placements, board.side), moves)
    lane = jnp.arange(width, dtype=jnp.int32)

    def blank(fill: float, dtype: Any, *shape: int) -> Array:
        return jnp.full((width, nodes, *shape), fill, dtype)

    empty = Graph(
        state=jax.tree.map(lambda leaf: jnp.zeros((width, nodes, *leaf.shape[1:]), leaf.dtype), root.state),
        hash=blank(0, jnp.uint32), size=jnp.ones(width, jnp.int32), worth=blank(0, jnp.float32),
        visits=blank(0, jnp.int32), value=blank(0, jnp.float32), move=blank(-1, jnp.int32, edges),
        prior=blank(0, jnp.float32, edges), child=blank(-1, jnp.int32, edges), taken=blank(0, jnp.int32, edges),
        gain=blank(0, jnp.float32, edges), again=jnp.zeros(width, jnp.int32),
    )  # fmt: skip
    start = _put(board, empty, root, jnp.zeros(width, jnp.int32), jnp.ones(width, bool))

    def going(now: tuple[Array, Graph]) -> Array:
        return (now[0] < config.simulations) & ~finished(now[1]).all()

    def simulate(now: tuple[Array, Graph]) -> tuple[Array, Graph]:
        number, graph = now
        return number + 1, _simulate(board, config, evaluate, params, graph, lane)

    return lax.while_loop(going, simulate, (jnp.int32(0), start))[1]


def finished(graph: Graph) -> Array:
    """The lanes that need not be searched on: bool[K]."""
    return graph.state.solved.any(axis=1) | graph.state.refuted[:, 0]


def best(graph: Graph) -> Array:
    """The root's edge that is alive and most visited, then of the highest prior: int32[K]."""
    there = open_edges(graph)[:, 0]
    score = graph.taken[:, 0].astype(jnp.float32) + graph.prior[:, 0] / 2
    return jnp.argmax(jnp.where(there, score, -1.0), axis=1).astype(jnp.int32)


def open_edges(graph: Graph) -> Array:
    """The edges that do not lead to a refuted node: bool[K, M, A]."""
    lane = jnp.arange(len(graph.size), dtype=jnp.int32)[:, None, None]
    refuted = (graph.child >= 0) & graph.state.refuted[lane, graph.child]
    return (graph.move >= 0) & ~refuted


# ---------------------------------------------------------------------- a simulation


class _Path(NamedTuple):
    """The way of a simulation, of up to D edges: nodes and edges int32[K, D], where it is, and whether it goes on."""

    nodes: Array
    edges: Array
    length: Array
    here: Array
    going: Array


def _simulate(board: Board, config: McgsConfig, evaluate: Evaluate, params: Any, graph: Graph, lane: Array) -> Graph:
    playing = ~finished(graph)
    path, corrected, gain = _descend(config, graph, lane, playing)
    last = jnp.maximum(path.length - 1, 0)
    parent, edge = path.nodes[lane, last], path.edges[lane, last]
    expanding = playing & ~corrected
    before = jax.tree.map(lambda leaf: leaf[lane, parent], graph.state)
    state = env.place(before, jnp.maximum(graph.move[lane, parent, edge], 0), board, config.rules)
    code = _hash(board, state.nodes)
    index, known = graph.size, jnp.zeros_like(expanding)
    if config.transpositions:
        alike = (graph.hash == code[:, None]) & (jnp.arange(graph.hash.shape[1]) < graph.size[:, None])
        first = alike.argmax(axis=1).astype(jnp.int32)
        same = (graph.state.nodes[lane, first] == state.nodes).all(axis=1)
        known = alike.any(axis=1) & same
        index = jnp.where(known, first, index)
    fresh = expanding & ~known
    # only new nodes are evaluated; the others are marked as refuted, which costs no evaluation
    seen = evaluate(params, state._replace(refuted=state.refuted | ~fresh), code)
    graph = _put(board, graph, seen, index, fresh)
    target = jnp.where(expanding, parent, graph.hash.shape[1])
    graph = graph._replace(
        child=graph.child.at[lane, target, edge].set(index, mode="drop"),
        size=graph.size + fresh.astype(jnp.int32), again=graph.again + (expanding & known).astype(jnp.int32),
    )  # fmt: skip
    come_to = jnp.where(graph.state.refuted[lane, index], 0.0, graph.value[lane, index])
    worth = jnp.where(known, come_to, graph.worth[lane, index])
    graph = _back_up(graph, path, lane, playing, jnp.where(corrected, gain, worth))
    return _prove(board, graph)


def _descend(config: McgsConfig, graph: Graph, lane: Array, playing: Array) -> tuple[_Path, Array, Array]:
    """The path to an edge that was never taken, or to one to be corrected; which it is, and by what value."""
    most = graph.hash.shape[1]
    there = open_edges(graph)
    total = jnp.sqrt(jnp.maximum(graph.visits, 1).astype(jnp.float32))[..., None]
    gain = jnp.where(graph.taken > 0, graph.gain, graph.worth[..., None])
    bonus = config.exploration * graph.prior * total / (1 + graph.taken.astype(jnp.float32))
    choice = jnp.where(there, gain + bonus, -jnp.inf).argmax(axis=2).astype(jnp.int32)

    def step(now: tuple[_Path, Array, Array]) -> tuple[_Path, Array, Array]:
        path, corrected, correction = now
        edge = choice[lane, path.here]
        child = graph.child[lane, path.here, edge]
        at = jnp.where(path.going, path.length, most)
        nodes = path.nodes.at[lane, at].set(path.here, mode="drop")
        edges = path.edges.at[lane, at].set(edge, mode="drop")
        inner = path.going & (child >= 0)
        behind, count = graph.value[lane, child] - graph.gain[lane, path.here, edge], graph.taken[lane, path.here, edge]
        stale = inner & (graph.visits[lane, child] > count) & (jnp.abs(behind) > config.correction)
        wanted = jnp.clip(graph.value[lane, child] + count.astype(jnp.float32) * behind, 0, 1)
        path = _Path(
            nodes, edges, path.length + path.going.astype(jnp.int32), jnp.where(inner, child, path.here), inner & ~stale
        )
        return path, corrected | stale, jnp.where(stale, wanted, correction)

    none = jnp.zeros((len(lane), most), jnp.int32)
    start = _Path(none, none, jnp.zeros_like(lane), jnp.zeros_like(lane), playing)
    nothing = jnp.zeros_like(playing), jnp.zeros(len(lane), jnp.float32)
    return lax.while_loop(lambda now: now[0].going.any(), step, (start, *nothing))


def _back_up(graph: Graph, path: _Path, lane: Array, playing: Array, value: Array) -> Graph:
    """Takes a value up the path."""
    most = graph.hash.shape[1]

    def step(now: tuple[Array, Graph]) -> tuple[Array, Graph]:
        left, graph = now
        there = playing & (left > 0)
        at = jnp.maximum(left - 1, 0)
        node, edge = path.nodes[lane, at], path.edges[lane, at]
        target = jnp.where(there, node, most)
        taken, visits = graph.taken[lane, node, edge] + 1, graph.visits[lane, node] + 1
        gain = graph.gain[lane, node, edge]
        mean = graph.value[lane, node]
        graph = graph._replace(
            taken=graph.taken.at[lane, target, edge].set(taken, mode="drop"),
            gain=graph.gain.at[lane, target, edge].set(gain + (value - gain) / taken.astype(jnp.float32), mode="drop"),
            visits=graph.visits.at[lane, target].set(visits, mode="drop"),
            value=graph.value.at[lane, target].set(mean + (value - mean) / visits.astype(jnp.float32), mode="drop"),
        )
        return left - 1, graph

    return lax.while_loop(lambda now: (now[0] > 0).any(), step, (path.length, graph))[1]


def _put(board: Board, graph: Graph, seen: Evaluation, index: Array, there: Array) -> Graph:
    """The graph with evaluated positions as nodes int32[K], where bool[K] says so."""
    lane = jnp.arange(len(index), dtype=jnp.int32)
    target = jnp.where(there, index, graph.hash.shape[1])
    state = seen.state
    over = state.terminated
    edges = graph.move.shape[2]
    in_cell = jnp.arange(seen.logits.shape[1]) % board.cells == state.cell[:, None]
    there_is = (seen.logits > ABSENT / 2) & ~over[:, None]
    rank = jnp.where(there_is, jnp.where(in_cell, seen.logits + _FIRST, seen.logits), -jnp.inf)
    _, move = lax.top_k(rank, edges)
    kept = jnp.take_along_axis(there_is, move, axis=1)
    prior = jax.nn.softmax(jnp.where(kept, jnp.take_along_axis(seen.logits, move, axis=1), ABSENT), axis=1)
    worth = jnp.where(over, jnp.where(state.solved, 1.0, 0.0).astype(jnp.float32), seen.value)

    def put(leaf: Array, value: Array) -> Array:
        return leaf.at[lane, target].set(value, mode="drop")

    return graph._replace(
        state=jax.tree.map(put, graph.state, state),
        hash=put(graph.hash, _hash(board, state.nodes)), worth=put(graph.worth, worth), value=put(graph.value, worth),
        visits=put(graph.visits, jnp.ones_like(index)),
        move=put(graph.move, jnp.where(kept, move, -1).astype(jnp.int32)), prior=put(graph.prior, prior),
    )  # fmt: skip


def _prove(board: Board, graph: Graph) -> Graph:
    """Propagates refutations through all parents, to a fixpoint."""
    lane = jnp.arange(len(graph.size), dtype=jnp.int32)[:, None, None]
    # of this cell all choices are among the edges
    in_cell = (graph.move >= 0) & (graph.move % board.cells == graph.state.cell[..., None])

    def more(now: tuple[Array, Array]) -> tuple[Array, Array]:
        refuted, _ = now
        left = in_cell & ~((graph.child >= 0) & refuted[lane, graph.child])
        found = in_cell.any(axis=2) & ~left.any(axis=2)
        return refuted | found, (found & ~refuted).any()

    refuted, _ = lax.while_loop(lambda now: now[1], more, (graph.state.refuted, jnp.bool_(True)))
    return graph._replace(state=graph.state._replace(refuted=refuted))


@functools.lru_cache(maxsize=32)
def _keys(board: Board) -> np.ndarray:
    """Random words, one for each value of each byte of a packed position: uint32[4 words, 256]."""
    return np.random.default_rng(0x5EED).integers(0, 2**32, (4 * board.words, 256), np.uint32)


def _hash(board: Board, nodes: Array) -> Array:
    """A Zobrist hash of packed candidates uint32[K, words], a table for each byte instead of each bit: uint32[K]."""
    parts = (nodes[:, :, None] >> np.arange(0, 32, 8, dtype=np.uint32)) & 0xFF
    drawn = jnp.asarray(_keys(board))[np.arange(4 * board.words), parts.reshape(len(nodes), -1)]
    return lax.reduce(drawn, np.uint32(0), lax.bitwise_xor, (1,))


# ---------------------------------------------------------------------- moving on


def along_graph(board: Board, config: McgsConfig, evaluate: Evaluate) -> Advance:
    """Searches a graph, then moves the roots on: to an answer, if it holds one, else by the best placement."""

    def advance(params: Any, lanes: Lanes, seed: Array) -> Lanes:
        del seed
        graph = grow(board, config, evaluate, params, lanes.known)
        lane = jnp.arange(len(graph.size), dtype=jnp.int32)
        looked = graph.size - 1 + graph.again
        asked = (graph.visits > 0) & (graph.move >= 0).any(axis=2)
        lanes = lanes.looking(looked, asked[:, 1:].sum(axis=1, dtype=jnp.int32))
        solved, refuted = graph.state.solved.any(axis=1), graph.state.refuted[:, 0]
        answer = jax.tree.map(lambda leaf: leaf[lane, graph.state.solved.argmax(axis=1)], graph.state)
        edge = best(graph)
        move = jnp.maximum(graph.move[lane, 0, edge], 0)
        state = lanes.state._replace(cell=move % board.cells)
        left = env.legal_action_mask(state, board)
        digits = jnp.arange(board.side)
        tried = graph.move[:, 0, :, None] == digits * board.cells + state.cell[:, None, None]
        excluded = (tried & ~open_edges(graph)[:, 0, :, None]).any(axis=1)
        others = left & ~excluded & (digits != (move // board.cells)[:, None])
        moving = ~(solved | refuted)
        lanes = lanes.push(env.exclude(state, ~others, board), moving & others.any(axis=1))
        child = graph.child[lane, 0, edge]
        reached = jax.tree.map(lambda leaf: leaf[lane, child], graph.state)
        ended = lanes.state._replace(refuted=jnp.ones_like(refuted))
        after = lanes.at(select(refuted, ended, select(solved, answer, reached)), ~moving | (child >= 0))
        return after.leave(env.exclude(state, digits != (move // board.cells)[:, None], board), moving & (child < 0))

    return advance
