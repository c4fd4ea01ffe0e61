"""Decoding with a network, without backtracking: iteratively, the most confident cell first, or in one shot.

A decoder is a ``queue.Method``: the network evaluates all lanes in every step. A run is over when the puzzle is solved
or contradictory. An unsolved puzzle gets further runs, up to ``runs`` in all, with noise. Results are the same for any
number of lanes, up to the rounding of the network's sums, unless runs begin ahead.

A call of an iterative network is divided into turns of a few iterations. After every turn the grid is also completed
with the probabilities of this turn; a correct grid ends the run, so most puzzles need only a part of a call. A cell is
filled only after a whole call. If no cell is confident enough, the network iterates further: the lane keeps its
features, while the other lanes continue with their next positions. With ``hope`` a run ends at a position whose
predicted probability of a solution is too low.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsudoku import symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import (
    GROUP,
    cubes_to_planes,
    nodes_to_planes,
    pad_lanes,
    planes_to_cubes,
    planes_to_nodes,
    unpack_lanes,
)
from jaxsudoku.core.propagation import settle
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.runtime.operations import fence, select
from jaxsudoku.solvers.queue import Answer, Method, Start, gather_first, placed, run, select_but

from .guided_config import IterativeConfig, OneShotConfig
from .votes import averaged, draw

if TYPE_CHECKING:
    from jaxsudoku.networks import Network

#: Names of the statistics.
_STATS = ("network_calls", "network_iterations")

#: Maximum iterations of a network on a position if ``patience`` is None.
_PATIENCE = 192

#: Selects candidates to fill in: (candidates of open cells, probabilities, scores), all [K, side, cells], to bool[K,
#: side, cells], at most one a cell.
Choose = Callable[[Array, Array, Array], Array]


# ---------------------------------------------------------------------- solvers


def iterative(board: Board, puzzles: Array, key: Array, config: IterativeConfig, network: Network, /) -> Solution:
    """Fills the most confident cell and applies the rules, repeatedly, until the grid is full or contradictory.

    Pure; to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      network: a network of the board.

    Returns:
      A ``Solution``: SOLVED, UNSOLVED or INVALID. ``iterations`` int32[N] are the cells filled in by the network in all
      runs, 1 if the rules fill all; ``network_calls`` and ``network_iterations`` int32[N].
    """
    return _decode(board, puzzles, key, config, network, _surest_of(config), config.rules)


def one_shot(board: Board, puzzles: Array, key: Array, config: OneShotConfig, network: Network, /) -> Solution:
    """Fills all open cells at once, each with its most probable digit; arguments and results as in ``iterative``."""
    return _decode(board, puzzles, key, config, network, _likeliest, "none")


def _surest_of(config: IterativeConfig) -> Choose:
    return functools.partial(_surest, sure=config.sure)


def _surest(candidates: Array, probabilities: Array, scores: Array, *, sure: float) -> Array:
    """The candidate with the highest score, and in other cells candidates with a probability of at least ``sure``."""
    lanes, side, cells = candidates.shape
    best = jnp.argmax(scores.reshape(lanes, -1), axis=1)
    chosen = jax.nn.one_hot(best, side * cells, dtype=bool).reshape(candidates.shape) & candidates
    if sure < 1:
        chosen |= candidates & (probabilities >= sure) & ~chosen.any(axis=1, keepdims=True)
    return chosen


def _likeliest(candidates: Array, probabilities: Array, scores: Array) -> Array:
    """The candidate with the highest score in each open cell."""
    return jax.nn.one_hot(jnp.argmax(scores, axis=1), candidates.shape[1], axis=1, dtype=bool) & candidates


# ---------------------------------------------------------------------- the method


class _Lanes(NamedTuple):
    """State of K puzzles.

    Attributes:
      puzzle: int32[K], their indices in the batch.
      run: int32[K], the numbers of their runs.
      nodes: uint32[K, words], the packed candidates.
      calls: int32[K], calls of the network.
      iterations: int32[K], its iterations; calls, if the network is not iterative.
      filled: int32[K], cells filled in.
      turns: int32[K], turns of the network on the current position.
      carry: the carry of a recurrent network for each vote, [votes, ..., K, :].
      solved: bool[K].
      done: bool[K].
    """

    puzzle: Array
    run: Array
    nodes: Array
    calls: Array
    iterations: Array
    filled: Array
    turns: Array
    carry: Any
    solved: Array
    done: Array


def _decode(
    board: Board,
    puzzles: Array,
    key: Array,
    config: IterativeConfig | OneShotConfig,
    network: Network,
    choose: Choose,
    rules: str,
) -> Solution:
    """Runs a decoder over all puzzles."""
    lanes = config.lanes or GROUP
    method = _method(board, key, config, network, choose, rules)
    runs, ahead = config.runs, bool(config.ahead)
    found = run(method, board, puzzles, key, rules=config.rules, lanes=lanes, runs=runs, ahead=ahead)
    # decoders do not report proofs, not even those of the rules
    refuted = found.status == Status.UNSATISFIABLE
    return found._replace(status=jnp.where(refuted, jnp.int8(Status.UNSOLVED), found.status))


def _method(
    board: Board,
    key: Array,
    config: IterativeConfig | OneShotConfig,
    network: Network,
    choose: Choose,
    rules: str,
) -> Method[_Lanes]:
    turn = _Turn.of(config, network)

    def init(start: Start) -> _Lanes:
        none, no = jnp.zeros(len(start.puzzle), jnp.int32), jnp.zeros(len(start.puzzle), bool)
        unseen = network.apply.initialize_carry(network.params, jnp.zeros((len(none), board.side, board.cells), bool))
        carry = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (config.votes, *leaf.shape)), unseen)
        number = jnp.broadcast_to(start.run, none.shape).astype(jnp.int32)
        return _Lanes(start.puzzle, number, start.nodes.T, none, none, none, none, carry, no, no)

    def step(lanes: _Lanes) -> _Lanes:
        nodes = jnp.where(lanes.done[:, None], 0, lanes.nodes)  # a network may be faster on empty boards
        cubes = planes_to_cubes(_planes(board, nodes), board)
        width = len(lanes.puzzle)
        # the same for all turns on a position
        keys = jax.vmap(_folded, (None, 0, 0, 0))(key, lanes.puzzle, lanes.run, lanes.filled)
        seen = _Inputs(cubes[:width], keys, lanes.run > 0, lanes.turns)
        chosen, probabilities, scores, hope, carry = _choice(board, config, network, turn, choose, seen, lanes.carry)
        planes, dead, solved = _fill(board, cubes, chosen, rules)
        nodes, filled = planes_to_nodes(planes, board).T[:width], chosen.sum(axis=(1, 2), dtype=jnp.int32)
        if config.complete:
            full, more, right = _completed(board, planes, ~(dead | solved), choose, probabilities, scores, rules)
            nodes = jnp.where(right[:, None], full, nodes)
            filled, solved = filled + jnp.where(right, more, 0), solved | right
        return lanes._replace(
            nodes=nodes,
            calls=lanes.calls + jnp.where(lanes.turns % turn.number == 0, config.votes, 0),
            iterations=lanes.iterations + config.votes * max(turn.iterations, 1),
            filled=lanes.filled + filled,
            turns=jnp.where(chosen.any(axis=(1, 2)), 0, lanes.turns + 1),
            carry=carry,
            solved=solved,
            done=solved | dead | (hope < config.hope),
        )

    def postprocess(lanes: _Lanes) -> Answer:
        grids = placed(lanes.nodes.T, board)
        refuted = jnp.zeros_like(lanes.solved)
        stats = dict(zip(_STATS, (lanes.calls, lanes.iterations), strict=True))
        return Answer(grids, lanes.solved, refuted, lanes.filled, stats)

    def gather(places: Array, lanes: _Lanes) -> _Lanes:
        carry = jax.tree.map(lambda leaf: leaf[..., places, :], lanes.carry)
        return gather_first(places, lanes._replace(carry=None))._replace(carry=carry)

    # the carry is not reset here, as the network resets it at the first turn on a position
    select_lanes = select_but("carry")
    stats = dict.fromkeys(_STATS, 0)
    return Method(init, step, lambda lanes: lanes.done, postprocess, stats, select=select_lanes, gather=gather)


def _folded(key: Array, *numbers: Array) -> Array:
    """Folds numbers into a key."""
    return functools.reduce(jax.random.fold_in, numbers, key)


def _planes(board: Board, nodes: Array) -> Array:
    """Nodes uint32[K, words] as planes, padded to whole words of lanes."""
    return nodes_to_planes(pad_lanes(nodes.T, 1), board)


class _Inputs(NamedTuple):
    """Inputs of the network for K lanes.

    Attributes:
      cubes: bool[K, side, cells], the candidates.
      keys: K keys, one for each position.
      noisy: bool[K], whether this is a later run.
      turns: int32[K], earlier turns of the network on the position.
    """

    cubes: Array
    keys: Array
    noisy: Array
    turns: Array


class _Turn(NamedTuple):
    """Division of a network's call into turns.

    Attributes:
      iterations: iterations per turn; 0 if the network is not iterative.
      number: turns per call.
      most: maximum number of turns on a position.
    """

    iterations: int
    number: int
    most: int

    @classmethod
    def of(cls, config: IterativeConfig | OneShotConfig, network: Network) -> _Turn:
        """The largest turns that the settings allow: their iterations divide those of a call."""
        call = network.apply.iterations
        most = min(config.every or call, call) if config.complete else call
        turn = next((size for size in range(most, 0, -1) if call % size == 0), 0)
        number = call // turn if turn else 1
        return cls(turn, number, number * (config.patience or -(-_PATIENCE // max(call, 1))))


def _choice(
    board: Board,
    config: IterativeConfig | OneShotConfig,
    network: Network,
    turn: _Turn,
    choose: Choose,
    seen: _Inputs,
    carry: Any,
) -> tuple[Array, Array, Array, Array, Any]:
    """Runs one turn of the network and chooses candidates to fill in.

    Returns:
      the candidates to fill in, bool[K, side, cells], none where the network has to iterate further; probabilities and
      scores, float32[K, side, cells]; the probability that there is a solution, float32[K]; and the network's carry.
    """
    cubes, keys, noisy, turns = seen
    fresh = turns == 0
    if config.runs > 1 and config.noise:
        carry, fresh = _with_noise(network, turn, seen, carry, config.noise), jnp.zeros_like(fresh)
    turned = config.votes > 1 or (config.runs > 1 and not network.apply.module.equivariant)
    if turned:
        probabilities, hope, carry = _voted(board, network, turn, cubes, keys, config.votes, noisy, carry, fresh)
    else:
        alone = jax.tree.map(lambda leaf: leaf[0], carry)
        probabilities, hope, carry = _probabilities(network, turn, cubes, alone, fresh)
        carry = jax.tree.map(lambda leaf: leaf[None], carry)
    candidates = cubes & (cubes.sum(axis=1, keepdims=True, dtype=jnp.int32) > 1)
    scores = jnp.log(probabilities)
    if config.runs > 1 and config.temperature:
        noise = jax.vmap(lambda key: jax.random.gumbel(jax.random.fold_in(key, config.votes), cubes.shape[1:]))(keys)
        scores += jnp.where(noisy[:, None, None], config.temperature * noise, 0)
    chosen = choose(candidates, probabilities, jnp.where(candidates, scores, -jnp.inf))
    if jax.tree.leaves(carry):  # only a recurrent network gives new outputs
        least = jnp.where(chosen, probabilities, 1.0).min(axis=(1, 2))
        enough = (least >= config.confident) | (turns + 1 >= turn.most)
        chosen &= (((turns + 1) % turn.number == 0) & enough)[:, None, None]
    return chosen, probabilities, scores, hope, carry


def _fill(board: Board, cubes: Array, chosen: Array, rules: str) -> tuple[Array, Array, Array]:
    """Fills in candidates and applies the rules.

    Args:
      board: the board.
      cubes: bool[K, side, cells], the candidates, with K a multiple of 32.
      chosen: bool[N, side, cells], those of the first N to fill in.
      rules: the rules.

    Returns:
      The planes of all K, contradictory bool[N], solved bool[N].
    """
    padded = jnp.pad(chosen, ((0, len(cubes) - len(chosen)), (0, 0), (0, 0)))
    kept = cubes & (padded | ~padded.any(axis=1, keepdims=True))
    planes, dead, solved = settle(fence(cubes_to_planes(kept, board)), board, rules)
    return planes, unpack_lanes(dead)[: len(chosen)], unpack_lanes(solved)[: len(chosen)]


def _completed(
    board: Board, planes: Array, undecided: Array, choose: Choose, probabilities: Array, scores: Array, rules: str
) -> tuple[Array, Array, Array]:
    """Completes grids with the probabilities of one turn, applying the rules in between.

    Args:
      board: the board.
      planes: uint32[side, side, side, W], the positions.
      undecided: bool[K], the positions to complete.
      choose: selects the candidates to fill in.
      probabilities: float32[K, side, cells].
      scores: float32[K, side, cells], by which candidates are chosen.
      rules: the rules; without any, all cells are filled at once.

    Returns:
      nodes uint32[K, words], cells filled in int32[K], and whether the grid is right bool[K].
    """
    choose = _likeliest if rules == "none" else choose

    def more(state: tuple[Array, Array, Array, Array]) -> Array:
        return state[2].any()

    def fill(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        planes, filled, undecided, right = state
        cubes = planes_to_cubes(planes, board)
        candidates = cubes[: len(undecided)]
        candidates &= (candidates.sum(axis=1, keepdims=True, dtype=jnp.int32) > 1) & undecided[:, None, None]
        chosen = choose(candidates, probabilities, jnp.where(candidates, scores, -jnp.inf))
        planes, dead, solved = _fill(board, cubes, chosen, rules)
        number = chosen.sum(axis=(1, 2), dtype=jnp.int32)
        # no candidate is chosen where all remaining ones have probability 0: such a position is given up
        return planes, filled + number, undecided & ~(dead | solved) & (number > 0), right | (undecided & solved)

    none, no = jnp.zeros(len(undecided), jnp.int32), jnp.zeros_like(undecided)
    planes, filled, _, right = lax.while_loop(more, fill, (planes, none, undecided, no))
    return planes_to_nodes(planes, board).T[: len(undecided)], filled, right


def _with_noise(network: Network, turn: _Turn, seen: _Inputs, carry: Any, scale: float) -> Any:
    """The carry for the next turn: reset on new positions, with Gaussian noise before each call in later runs."""
    initial = network.apply.initialize_carry(network.params, seen.cubes)
    keys = jax.vmap(_folded)(seen.keys, seen.turns // turn.number)
    noisy = seen.noisy & (seen.turns % turn.number == 0)

    def noise(leaf: Array) -> Array:  # [votes, ..., K, n]
        shape = (*leaf.shape[:-2], leaf.shape[-1])
        return jnp.moveaxis(jax.vmap(lambda key: jax.random.normal(key, shape, leaf.dtype))(keys), 0, -2)

    def changed(new: Array, old: Array) -> Array:
        reset = jnp.where((seen.turns == 0)[:, None], new, old)
        return reset + jnp.where(noisy[:, None], scale * noise(reset), 0)

    return jax.tree.map(changed, initial, carry)


def _probabilities(network: Network, turn: _Turn, cubes: Array, carry: Any, fresh: Array) -> tuple[Array, Array, Any]:
    """Runs one turn of the network.

    Args:
      network: the network.
      turn: its number of iterations.
      cubes: bool[K, side, cells].
      carry: its carry from earlier turns.
      fresh: bool[K], where this is the first turn on the position.

    Returns:
      each cell's distribution over its candidates, float32[K, side, cells], zero elsewhere; the probability that there
      is a solution, float32[K]; and the new carry.
    """
    from jaxsudoku.networks.base import Halt, finite_outputs  # loads flax, which a network has loaded already

    outputs, carry, _ = network.apply.resume(network.params, cubes, carry, fresh, Halt(max(turn.iterations, 1)))
    policy, value = finite_outputs(outputs, cubes)
    return fence(jax.nn.softmax(policy, axis=1, where=cubes)), jax.nn.sigmoid(value), carry


def _voted(
    board: Board,
    network: Network,
    turn: _Turn,
    cubes: Array,
    keys: Array,
    votes: int,
    noisy: Array,
    carry: Any,
    fresh: Array,
) -> tuple[Array, Array, Any]:
    """The means of ``_probabilities`` under random symmetries, one for each vote.

    With a single vote the first run uses the identity.

    Args:
      board: the board.
      network: the network.
      turn: its number of iterations.
      cubes: bool[K, side, cells].
      keys: K keys.
      votes: the number of votes.
      noisy: bool[K], whether this is a later run.
      carry: as in ``_probabilities``, with a leading axis of votes.
      fresh: bool[K].
    """

    def drawn(number: Array) -> symmetry.Symmetry:
        found = draw(board, keys, number)
        return select(noisy, found, symmetry.identity(board, noisy.shape)) if votes == 1 else found

    def look(seen: Array, carry: Any) -> tuple[Array, Array, Any]:
        return _probabilities(network, turn, seen, carry, fresh)

    return averaged(board, votes, drawn, cubes, look, carry)
