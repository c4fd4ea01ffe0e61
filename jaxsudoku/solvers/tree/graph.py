"""Monte-Carlo graph search: positions reached in different orders share a node.

After Czech, Korus and Kersting (2020), "Monte-Carlo Graph Search for AlphaZero", arXiv 2012.11045, batched over K
lanes. A move places any digit in any cell, so many orders reach the same position. Transpositions are found by a
Zobrist hash of the candidates, then compared in full. Edges have their own visits and values; if the value of an edge
is out of date, the difference to its node is backed up instead of descending further.

A node is refuted when all candidates of some cell lead to refuted nodes; this is backed up through all parents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core import env
from jaxsudoku.core.board import Board
from jaxsudoku.networks import Network
from jaxsudoku.networks.base import ABSENT
from jaxsudoku.runtime.operations import select

from .evaluators import Evaluation, Evaluator, View, caller_of, hash_nodes
from .lanes import Lanes
from .simulation import Found, Search, Selected
from .tree_config import McgsConfig

#: Odds of placements are clipped to [1 / this, this].
_SUREST = 1e3
#: Added to the logits of one cell's placements, so that they rank before all others.
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


#: (lanes after a search, which of them bool[K], seeds uint32[K]) -> the lanes' records.
Record = Callable[[Lanes, Array, Array], Any]


class Path(NamedTuple):
    """The path of a simulation: nodes and edges int32[K, D], its length, the current node, and whether it continues."""

    nodes: Array
    edges: Array
    length: Array
    here: Array
    going: Array

    @property
    def end(self) -> tuple[Array, Array]:
        """The last node and the edge there, int32[K] each."""
        lane, last = jnp.arange(len(self.length)), jnp.maximum(self.length - 1, 0)
        return self.nodes[lane, last], self.edges[lane, last]


class At(NamedTuple):
    """The place of a position: the end of a path, or none if the value of an edge is corrected."""

    path: Path
    corrected: Array
    correction: Array


def by_network(board: Board, config: McgsConfig, network: Network) -> Evaluator:
    """Evaluates by a network, with logits for all placements, float32[B, side * cells]."""

    def read(view: View) -> Evaluation:
        policy = jnp.zeros(view.choices.shape) if view.outputs is None else view.outputs.policy
        value = jnp.zeros(len(policy)) if view.outputs is None else view.outputs.value
        likely = jax.nn.softmax(policy, axis=1, where=view.choices)
        odds = jnp.minimum(likely / jnp.maximum(1 - likely, 1 / _SUREST), _SUREST)
        logits = jnp.where(view.choices, jnp.log(jnp.maximum(odds, 1 / _SUREST)), ABSENT).reshape(len(likely), -1)
        return Evaluation(view.state, logits, jax.nn.sigmoid(value))

    return Evaluator(caller_of(config, network), lambda state, choices, rolling: jnp.zeros_like(rolling), read)


def search(board: Board, config: McgsConfig, record: Record | None = None) -> Search:
    """Monte-Carlo graph search; ``record`` updates the records after every search."""
    nodes, edges = config.simulations + 1, min(max(config.placements, board.side), board.candidates)

    def empty(width: int) -> Graph:
        def blank(dtype: Any, *shape: int) -> Array:
            return jnp.zeros((width, nodes, *shape), dtype)

        number, real, flag = blank(jnp.int32), blank(jnp.float32), blank(bool)
        return Graph(
            state=env.State(blank(jnp.uint32, board.words), number, flag, flag),
            hash=blank(jnp.uint32),
            raw_value=real,
            visits=number,
            value=real,
            move=blank(jnp.int32, edges) - 1,
            prior=blank(jnp.float32, edges),
            child=blank(jnp.int32, edges) - 1,
            edge_visits=blank(jnp.int32, edges),
            edge_value=blank(jnp.float32, edges),
            size=jnp.zeros(width, jnp.int32),
            hits=jnp.zeros(width, jnp.int32),
        )

    def at(width: int) -> At:
        none = jnp.zeros((width, nodes), jnp.int32)
        no, count = jnp.zeros(width, bool), jnp.zeros(width, jnp.int32)
        return At(Path(none, none, count, count, no), no, jnp.zeros(width, jnp.float32))

    def begin(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        del seed
        graph: Graph = lanes.tree
        graph = graph._replace(size=jnp.where(which, 1, graph.size), hits=jnp.where(which, 0, graph.hits))
        graph = _put(board, graph, lanes.root, jnp.zeros_like(lanes.done), which)
        return lanes._replace(tree=graph, size=graph.size, done=jnp.where(which, 0, lanes.done))

    def over(lanes: Lanes) -> Array:
        return lanes.found | lanes.tree.state.refuted[:, 0] | (lanes.done >= config.simulations)

    def chosen(lanes: Lanes, which: Array) -> Selected:
        graph, lane = lanes.tree, jnp.arange(len(which), dtype=jnp.int32)
        path, corrected, correction = _descend(config, graph, lane, which)
        parent, edge = path.end
        above = jax.tree.map(lambda leaf: leaf[lane, parent], graph.state)
        placement = jnp.maximum(graph.move[lane, parent, edge], 0)
        others = jnp.arange(board.side) != (placement // board.cells)[:, None]
        nodes = env.exclude(above._replace(cell=placement % board.cells), others, board)
        state = above._replace(refuted=jnp.ones_like(which))
        return Selected(nodes, state, corrected, hash_nodes(board, nodes), At(path, corrected, correction))

    def knows(lanes: Lanes) -> Array:
        return _same(board, config, lanes.tree, lanes.work.state)[1]

    def expand(lanes: Lanes, which: Array, found: Found) -> Lanes:
        graph, here, lane = lanes.tree, lanes.work.at, jnp.arange(len(which), dtype=jnp.int32)
        state, expanding = found.evaluation.state, which & ~here.corrected
        index, hit = _same(board, config, graph, state)
        hit &= expanding
        new = expanding & ~hit
        index = jnp.where(hit, index, graph.size)
        graph = _put(board, graph, found.evaluation, index, new)
        parent, edge = here.path.end
        target = jnp.where(expanding, parent, nodes)
        graph = graph._replace(
            child=graph.child.at[lane, target, edge].set(index, mode="drop"),
            size=graph.size + new.astype(jnp.int32),
            hits=graph.hits + hit.astype(jnp.int32),
        )
        value_of_hit = jnp.where(graph.state.refuted[lane, index], 0.0, graph.value[lane, index])
        value = jnp.where(hit, value_of_hit, graph.raw_value[lane, index])
        graph = _back_up(graph, here.path, lane, which, jnp.where(here.corrected, here.correction, value))
        graph = _prove(board, graph, expanding & graph.state.refuted[lane, index])
        solved = new & found.solved
        lanes = lanes.add_counts(expanding.astype(jnp.int32), jnp.where(new, lanes.work.calls, 0))
        return lanes.grown(graph, which, new, solved, found.answer)

    def move(lanes: Lanes, which: Array, seed: Array) -> Lanes:
        if record:
            lanes = lanes._replace(record=record(lanes, which, seed))
        return _moved(board, lanes, which)

    return Search(board.candidates, at, empty, begin, over, chosen, expand, move, knows)


def _same(board: Board, config: McgsConfig, graph: Graph, state: env.State) -> tuple[Array, Array]:
    """The existing node int32[K] of a position, and whether there is one, bool[K]."""
    no = jnp.zeros(len(graph.size), bool)
    if not config.transpositions:
        return jnp.zeros_like(graph.size), no
    code = hash_nodes(board, state.nodes)
    alike = (graph.hash == code[:, None]) & (jnp.arange(graph.hash.shape[1]) < graph.size[:, None])
    first = alike.argmax(axis=1).astype(jnp.int32)
    same = (graph.state.nodes[jnp.arange(len(no)), first] == state.nodes).all(axis=1)
    return first, alike.any(axis=1) & same


def best(graph: Graph) -> Array:
    """The most visited of the root's open edges, ties by the highest prior: int32[K]."""
    score = graph.edge_visits[:, 0].astype(jnp.float32) + graph.prior[:, 0] / 2
    return jnp.argmax(jnp.where(open_edges(graph, 0), score, -1.0), axis=1).astype(jnp.int32)


def open_edges(graph: Graph, node: Array | int) -> Array:
    """The edges of a node of each graph, int32[K], that do not lead to a refuted node: bool[K, A]."""
    lane = jnp.arange(len(graph.size), dtype=jnp.int32)
    move, child = graph.move[lane, node], graph.child[lane, node]
    refuted = (child >= 0) & graph.state.refuted[lane[:, None], child]
    return (move >= 0) & ~refuted


# ---------------------------------------------------------------------- a simulation


def _descend(config: McgsConfig, graph: Graph, lane: Array, playing: Array) -> tuple[Path, Array, Array]:
    """Descends to an unvisited or outdated edge; returns the path, whether the edge is outdated, and the correction."""
    most = graph.hash.shape[1]

    def choice(here: Array) -> Array:
        total = jnp.sqrt(jnp.maximum(graph.visits[lane, here], 1).astype(jnp.float32))[:, None]
        visits = graph.edge_visits[lane, here]
        value = jnp.where(visits > 0, graph.edge_value[lane, here], graph.raw_value[lane, here][:, None])
        bonus = config.exploration * graph.prior[lane, here] * total / (1 + visits.astype(jnp.float32))
        return jnp.where(open_edges(graph, here), value + bonus, -jnp.inf).argmax(axis=1).astype(jnp.int32)

    def step(now: tuple[Path, Array, Array]) -> tuple[Path, Array, Array]:
        path, corrected, correction = now
        edge = choice(path.here)
        child = graph.child[lane, path.here, edge]
        at = jnp.where(path.going, path.length, most)
        nodes = path.nodes.at[lane, at].set(path.here, mode="drop")
        edges = path.edges.at[lane, at].set(edge, mode="drop")
        inner = path.going & (child >= 0)
        behind = graph.value[lane, child] - graph.edge_value[lane, path.here, edge]
        count = graph.edge_visits[lane, path.here, edge]
        stale = inner & (graph.visits[lane, child] > count) & (jnp.abs(behind) > config.correction)
        wanted = jnp.clip(graph.value[lane, child] + count.astype(jnp.float32) * behind, 0, 1)
        path = Path(
            nodes, edges, path.length + path.going.astype(jnp.int32), jnp.where(inner, child, path.here), inner & ~stale
        )
        return path, corrected | stale, jnp.where(stale, wanted, correction)

    none = jnp.zeros((len(lane), most), jnp.int32)
    start = Path(none, none, jnp.zeros_like(lane), jnp.zeros_like(lane), playing)
    nothing = jnp.zeros_like(playing), jnp.zeros(len(lane), jnp.float32)
    return lax.while_loop(lambda now: now[0].going.any(), step, (start, *nothing))


def _back_up(graph: Graph, path: Path, lane: Array, playing: Array, value: Array) -> Graph:
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
    """Stores evaluated positions as the nodes ``index`` int32[K], in the lanes ``there`` bool[K]."""
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

    def put(leaf: Array, value: Any) -> Array:
        return leaf.at[lane, target].set(value, mode="drop")

    return graph._replace(
        state=jax.tree.map(put, graph.state, state),
        hash=put(graph.hash, hash_nodes(board, state.nodes)),
        raw_value=put(graph.raw_value, value),
        value=put(graph.value, value),
        visits=put(graph.visits, jnp.ones_like(index)),
        move=put(graph.move, jnp.where(kept, move, -1).astype(jnp.int32)),
        prior=put(graph.prior, prior),
        child=put(graph.child, -1),
        edge_visits=put(graph.edge_visits, 0),
        edge_value=put(graph.edge_value, np.float32(0)),
    )


def _prove(board: Board, graph: Graph, which: Array) -> Graph:
    """Backs up refutations through all parents, in the graphs with a new edge to a refuted node, bool[K]."""
    lane = jnp.arange(len(graph.size), dtype=jnp.int32)[:, None, None]
    there = which[:, None] & (jnp.arange(graph.hash.shape[1]) < graph.size[:, None])
    # all candidates of this cell are among the edges
    in_cell = (graph.move >= 0) & (graph.move % board.cells == graph.state.cell[..., None]) & there[..., None]

    def more(now: tuple[Array, Array]) -> tuple[Array, Array]:
        refuted, _ = now
        left = in_cell & ~((graph.child >= 0) & refuted[lane, graph.child])
        found = in_cell.any(axis=2) & ~left.any(axis=2)
        return refuted | found, (found & ~refuted).any()

    refuted, _ = lax.while_loop(lambda now: now[1], more, (graph.state.refuted, which.any()))
    return graph._replace(state=graph.state._replace(refuted=refuted))


# ---------------------------------------------------------------------- moving the root


def _moved(board: Board, lanes: Lanes, which: Array) -> Lanes:
    """Moves the roots of lanes: to an answer, if there is one, else by the best placement."""
    graph: Graph = lanes.tree
    lane = jnp.arange(len(graph.size), dtype=jnp.int32)
    solved, refuted = which & lanes.found, which & ~lanes.found & graph.state.refuted[:, 0]
    answer = lanes.state._replace(nodes=lanes.answer, refuted=jnp.zeros_like(which), solved=jnp.ones_like(which))
    edge = best(graph)
    move = jnp.maximum(graph.move[lane, 0, edge], 0)
    state = lanes.state._replace(cell=move % board.cells)
    left = env.legal_action_mask(state, board)
    digits = jnp.arange(board.side)
    tried = graph.move[:, 0, :, None] == digits * board.cells + state.cell[:, None, None]
    excluded = (tried & ~open_edges(graph, 0)[:, :, None]).any(axis=1)
    others = left & ~excluded & (digits != (move // board.cells)[:, None])
    moving = which & ~(solved | refuted)
    lanes = lanes.push(env.exclude(state, ~others, board), moving & others.any(axis=1))
    child = graph.child[lane, 0, edge]
    reached = jax.tree.map(lambda leaf: leaf[lane, child], graph.state)
    ended = lanes.state._replace(refuted=jnp.ones_like(refuted))
    states = select(refuted, ended, select(solved, answer, reached))
    after = lanes.with_roots(states, which & (~moving | (child >= 0)))
    return after.go_to(env.exclude(state, digits != (move // board.cells)[:, None], board), moving & (child < 0))
