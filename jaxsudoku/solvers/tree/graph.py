"""Monte-Carlo graph search: positions reached in different orders share a node.

After Czech, Korus and Kersting (2020), "Monte-Carlo Graph Search for AlphaZero", arXiv 2012.11045, batched over K
lanes. A move places any digit in any cell, so many orders reach the same position. Transpositions are found by a
Zobrist hash of the candidates, then compared in full. Edges have visits and values of their own; where the value of an
edge is out of date, the difference to its node is backed up instead of descending further.

A node is refuted when all candidates of some cell lead to refuted nodes; this is backed up through all parents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks import Network
from jaxsudoku.networks.base import ABSENT
from jaxsudoku.runtime.operations import select

from .backtracking import Advance, Lanes
from .evaluators import Evaluate, Evaluation, apply_where, hash_nodes
from .tree_config import McgsConfig

#: Odds of placements are clipped to between 1 / this and this.
_SUREST = 1e3
#: Added to the logits of one cell's placements, so that they come before all others.
_FIRST = 100.0


class Graph(NamedTuple):
    """K graphs of up to M nodes, with up to A edges each; node 0 is the root.

    Attributes:
      state: the positions [K, M]; ``refuted`` once this is proven.
      hash: uint32[K, M], of the candidates.
      size: int32[K], the number of nodes.
      raw_value: float32[K, M], of the evaluation.
      visits: int32[K, M].
      value: float32[K, M], the mean of the values backed up.
      move: int32[K, M, A], placements, or -1.
      prior: float32[K, M, A].
      child: int32[K, M, A], nodes, or -1.
      edge_visits: int32[K, M, A].
      edge_value: float32[K, M, A].
      hits: int32[K], transposition hits.
    """

    state: env.State
    hash: Array
    size: Array
    raw_value: Array
    visits: Array
    value: Array
    move: Array
    prior: Array
    child: Array
    edge_visits: Array
    edge_value: Array
    hits: Array


#: (lanes before a search, its graphs, seeds uint32[K]) to the lanes' records after it.
Record = Callable[[Lanes, Graph, Array], Any]


def by_network(board: Board, config: McgsConfig, network: Network) -> Evaluate:
    """Evaluates by a network; the logits are those of all placements, float32[B, side * cells]."""

    def evaluate(params: Any, state: env.State, seed: Array) -> Evaluation:
        del seed
        over = state.refuted | state.solved
        outputs = apply_where(network, params, env.observe(state, board), ~over, config.chunk)
        choices = env.legal_placement_mask(state, board)
        likely = jax.nn.softmax(outputs.policy, axis=1, where=choices)
        odds = jnp.minimum(likely / jnp.maximum(1 - likely, 1 / _SUREST), _SUREST)
        logits = jnp.where(choices, jnp.log(jnp.maximum(odds, 1 / _SUREST)), ABSENT).reshape(len(likely), -1)
        one = jnp.ones(state.refuted.shape, jnp.int32)
        value = jax.nn.sigmoid(outputs.value)
        return Evaluation(state, logits, value, None, state.solved, one, jnp.where(over, 0, jnp.int32(1)))

    return evaluate


def grow(board: Board, config: McgsConfig, evaluate: Evaluate, params: Any, root: Evaluation) -> Graph:
    """Searches from evaluated roots until the simulations are spent or every lane is decided."""
    width, moves = root.logits.shape
    nodes, edges = config.simulations + 1, min(max(config.placements, board.side), moves)
    lane = jnp.arange(width, dtype=jnp.int32)

    def blank(fill: float, dtype: Any, *shape: int) -> Array:
        return jnp.full((width, nodes, *shape), fill, dtype)

    empty = Graph(
        state=jax.tree.map(lambda leaf: jnp.zeros((width, nodes, *leaf.shape[1:]), leaf.dtype), root.state),
        hash=blank(0, jnp.uint32),
        size=jnp.ones(width, jnp.int32),
        raw_value=blank(0, jnp.float32),
        visits=blank(0, jnp.int32),
        value=blank(0, jnp.float32),
        move=blank(-1, jnp.int32, edges),
        prior=blank(0, jnp.float32, edges),
        child=blank(-1, jnp.int32, edges),
        edge_visits=blank(0, jnp.int32, edges),
        edge_value=blank(0, jnp.float32, edges),
        hits=jnp.zeros(width, jnp.int32),
    )
    start = _put(board, empty, root, jnp.zeros(width, jnp.int32), jnp.ones(width, bool))

    def going(now: tuple[Array, Graph]) -> Array:
        return (now[0] < config.simulations) & ~decided(now[1]).all()

    def simulate(now: tuple[Array, Graph]) -> tuple[Array, Graph]:
        number, graph = now
        return number + 1, _simulate(board, config, evaluate, params, graph, lane)

    return lax.while_loop(going, simulate, (jnp.int32(0), start))[1]


def decided(graph: Graph) -> Array:
    """The lanes that are decided: bool[K]."""
    return graph.state.solved.any(axis=1) | graph.state.refuted[:, 0]


def best(graph: Graph) -> Array:
    """The most visited of the root's open edges, of equal ones the highest prior: int32[K]."""
    there = open_edges(graph)[:, 0]
    score = graph.edge_visits[:, 0].astype(jnp.float32) + graph.prior[:, 0] / 2
    return jnp.argmax(jnp.where(there, score, -1.0), axis=1).astype(jnp.int32)


def open_edges(graph: Graph) -> Array:
    """The edges that do not lead to a refuted node: bool[K, M, A]."""
    lane = jnp.arange(len(graph.size), dtype=jnp.int32)[:, None, None]
    refuted = (graph.child >= 0) & graph.state.refuted[lane, graph.child]
    return (graph.move >= 0) & ~refuted


# ---------------------------------------------------------------------- a simulation


class _Path(NamedTuple):
    """The path of a simulation: nodes and edges int32[K, D], its length, the current node, whether it continues."""

    nodes: Array
    edges: Array
    length: Array
    here: Array
    going: Array


def _simulate(board: Board, config: McgsConfig, evaluate: Evaluate, params: Any, graph: Graph, lane: Array) -> Graph:
    playing = ~decided(graph)
    path, corrected, correction = _descend(config, graph, lane, playing)
    last = jnp.maximum(path.length - 1, 0)
    parent, edge = path.nodes[lane, last], path.edges[lane, last]
    expanding = playing & ~corrected
    before = jax.tree.map(lambda leaf: leaf[lane, parent], graph.state)
    state = env.place(before, jnp.maximum(graph.move[lane, parent, edge], 0), board, config.rules)
    code = hash_nodes(board, state.nodes)
    index, hit = graph.size, jnp.zeros_like(expanding)
    if config.transpositions:
        alike = (graph.hash == code[:, None]) & (jnp.arange(graph.hash.shape[1]) < graph.size[:, None])
        first = alike.argmax(axis=1).astype(jnp.int32)
        same = (graph.state.nodes[lane, first] == state.nodes).all(axis=1)
        hit = alike.any(axis=1) & same
        index = jnp.where(hit, first, index)
    new = expanding & ~hit
    # only new nodes are evaluated; the others are marked refuted, as the network skips refuted positions
    evaluation = evaluate(params, state._replace(refuted=state.refuted | ~new), code)
    graph = _put(board, graph, evaluation, index, new)
    target = jnp.where(expanding, parent, graph.hash.shape[1])
    graph = graph._replace(
        child=graph.child.at[lane, target, edge].set(index, mode="drop"),
        size=graph.size + new.astype(jnp.int32),
        hits=graph.hits + (expanding & hit).astype(jnp.int32),
    )
    value_of_hit = jnp.where(graph.state.refuted[lane, index], 0.0, graph.value[lane, index])
    value = jnp.where(hit, value_of_hit, graph.raw_value[lane, index])
    graph = _back_up(graph, path, lane, playing, jnp.where(corrected, correction, value))
    return _prove(board, graph)


def _descend(config: McgsConfig, graph: Graph, lane: Array, playing: Array) -> tuple[_Path, Array, Array]:
    """The path to an unvisited edge or to one that is out of date, whether it is the latter, and the correction."""
    most = graph.hash.shape[1]
    there = open_edges(graph)
    total = jnp.sqrt(jnp.maximum(graph.visits, 1).astype(jnp.float32))[..., None]
    value = jnp.where(graph.edge_visits > 0, graph.edge_value, graph.raw_value[..., None])
    bonus = config.exploration * graph.prior * total / (1 + graph.edge_visits.astype(jnp.float32))
    choice = jnp.where(there, value + bonus, -jnp.inf).argmax(axis=2).astype(jnp.int32)

    def step(now: tuple[_Path, Array, Array]) -> tuple[_Path, Array, Array]:
        path, corrected, correction = now
        edge = choice[lane, path.here]
        child = graph.child[lane, path.here, edge]
        at = jnp.where(path.going, path.length, most)
        nodes = path.nodes.at[lane, at].set(path.here, mode="drop")
        edges = path.edges.at[lane, at].set(edge, mode="drop")
        inner = path.going & (child >= 0)
        behind = graph.value[lane, child] - graph.edge_value[lane, path.here, edge]
        count = graph.edge_visits[lane, path.here, edge]
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
    """Backs a value up the path."""
    most = graph.hash.shape[1]

    def step(now: tuple[Array, Graph]) -> tuple[Array, Graph]:
        left, graph = now
        there = playing & (left > 0)
        at = jnp.maximum(left - 1, 0)
        node, edge = path.nodes[lane, at], path.edges[lane, at]
        target = jnp.where(there, node, most)
        edge_visits, visits = graph.edge_visits[lane, node, edge] + 1, graph.visits[lane, node] + 1
        edge_mean, mean = graph.edge_value[lane, node, edge], graph.value[lane, node]
        edge_value = edge_mean + (value - edge_mean) / edge_visits.astype(jnp.float32)
        graph = graph._replace(
            edge_visits=graph.edge_visits.at[lane, target, edge].set(edge_visits, mode="drop"),
            edge_value=graph.edge_value.at[lane, target, edge].set(edge_value, mode="drop"),
            visits=graph.visits.at[lane, target].set(visits, mode="drop"),
            value=graph.value.at[lane, target].set(mean + (value - mean) / visits.astype(jnp.float32), mode="drop"),
        )
        return left - 1, graph

    return lax.while_loop(lambda now: (now[0] > 0).any(), step, (path.length, graph))[1]


def _put(board: Board, graph: Graph, evaluation: Evaluation, index: Array, there: Array) -> Graph:
    """Stores evaluated positions as nodes ``index`` int32[K], in the lanes ``there`` bool[K]."""
    lane = jnp.arange(len(index), dtype=jnp.int32)
    target = jnp.where(there, index, graph.hash.shape[1])
    state = evaluation.state
    over = state.refuted | state.solved
    edges = graph.move.shape[2]
    in_cell = jnp.arange(evaluation.logits.shape[1]) % board.cells == state.cell[:, None]
    legal = (evaluation.logits > ABSENT / 2) & ~over[:, None]
    rank = jnp.where(legal, jnp.where(in_cell, evaluation.logits + _FIRST, evaluation.logits), -jnp.inf)
    _, move = lax.top_k(rank, edges)
    kept = jnp.take_along_axis(legal, move, axis=1)
    prior = jax.nn.softmax(jnp.where(kept, jnp.take_along_axis(evaluation.logits, move, axis=1), ABSENT), axis=1)
    value = jnp.where(over, jnp.where(state.solved, 1.0, 0.0).astype(jnp.float32), evaluation.value)

    def put(leaf: Array, value: Array) -> Array:
        return leaf.at[lane, target].set(value, mode="drop")

    return graph._replace(
        state=jax.tree.map(put, graph.state, state),
        hash=put(graph.hash, hash_nodes(board, state.nodes)),
        raw_value=put(graph.raw_value, value),
        value=put(graph.value, value),
        visits=put(graph.visits, jnp.ones_like(index)),
        move=put(graph.move, jnp.where(kept, move, -1).astype(jnp.int32)),
        prior=put(graph.prior, prior),
    )


def _prove(board: Board, graph: Graph) -> Graph:
    """Backs up refutations through all parents."""
    lane = jnp.arange(len(graph.size), dtype=jnp.int32)[:, None, None]
    # all candidates of this cell are among the edges
    in_cell = (graph.move >= 0) & (graph.move % board.cells == graph.state.cell[..., None])

    def more(now: tuple[Array, Array]) -> tuple[Array, Array]:
        refuted, _ = now
        left = in_cell & ~((graph.child >= 0) & refuted[lane, graph.child])
        found = in_cell.any(axis=2) & ~left.any(axis=2)
        return refuted | found, (found & ~refuted).any()

    refuted, _ = lax.while_loop(lambda now: now[1], more, (graph.state.refuted, jnp.bool_(True)))
    return graph._replace(state=graph.state._replace(refuted=refuted))


# ---------------------------------------------------------------------- moving the root


def along_graph(board: Board, config: McgsConfig, evaluate: Evaluate, record: Record | None = None) -> Advance:
    """Searches a graph, then moves the roots: to an answer, if there is one, else by the best placement.

    ``record`` keeps what it needs of every search.
    """

    def advance(params: Any, lanes: Lanes, seed: Array) -> Lanes:
        graph = grow(board, config, evaluate, params, lanes.root)
        if record:
            lanes = lanes._replace(record=record(lanes, graph, seed))
        lane = jnp.arange(len(graph.size), dtype=jnp.int32)
        iterations = graph.size - 1 + graph.hits
        evaluated = (graph.visits > 0) & (graph.move >= 0).any(axis=2)
        lanes = lanes.add_counts(iterations, evaluated[:, 1:].sum(axis=1, dtype=jnp.int32))
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
        after = lanes.with_roots(select(refuted, ended, select(solved, answer, reached)), ~moving | (child >= 0))
        return after.go_to(env.exclude(state, digits != (move // board.cells)[:, None], board), moving & (child < 0))

    return advance
