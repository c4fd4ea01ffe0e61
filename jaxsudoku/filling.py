"""Solvers that ask a network and never go back: the surest cell after the other, or all open cells at once.

The rules run on planes for the whole batch first, and puzzles that they solve cost no call of the network. The others
queue up for a block of lanes, all of which the network looks at in every step; a lane whose puzzle has come to its end
takes the next one at once. Behind the end of the queue, when few lanes are at work, it looks at these alone, so that
the puzzles that take longest don't cost what all of them did. What a lane does depends on its puzzle and on that
puzzle's own key alone, so results are the same whatever the number of lanes, up to the rounding of the network's sums.

A network that works by iterations thinks on about a position in which nothing is sure enough: what it has come to so
far stays with the lane, and the lanes that are sure go on to their next positions meanwhile.

A puzzle has come to its end when it is solved, or when a contradiction was reached and no attempt is left.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import symmetry
from jaxsudoku.board import Board
from jaxsudoku.planes import (
    GROUP,
    cubes_to_planes,
    fence,
    nodes_to_planes,
    pack_lanes,
    planes_to_cubes,
    planes_to_grids,
    unpack_lanes,
    where,
)
from jaxsudoku.propagation import RULES, settle
from jaxsudoku.roots import make_roots
from jaxsudoku.settings import NARROWER, Config, at_least, fitting_lanes, one_of, whole_words
from jaxsudoku.solution import Solution, Status

if TYPE_CHECKING:
    from jaxsudoku.networks import Network

#: Lanes of a 9x9 board on an accelerator.
_ACCELERATOR_LANES = 4096

#: Which candidates to fill in: (open candidates, their probabilities, their scores), all [K, side, cells], to bool
#: [K, side, cells], at most one a cell.
Choose = Callable[[Array, Array, Array], Array]


@dataclasses.dataclass(frozen=True)
class IterativeConfig(Config):
    """Settings of ``iterative``.

    Attributes:
      rules: what is deduced before the first filling and after each one, to the end: none, naked, singles or locked,
        each with all that the one before it does. With none the network sees givens and fillings alone.
      sure: besides the surest cell every one is filled that has a candidate of at least this probability; above 0.5,
        and at 1 the surest cell alone.
      confident: probability that each digit to be filled in has to have; below it a network that works by iterations
        looks at the position again, and does as many iterations more.
      patience: looks at a position after which it is filled in all the same.
      restarts: how often a puzzle that came to a contradiction begins anew, with noise, and seen under random
        symmetries of the board.
      temperature: scale of the Gumbel noise on the log-probabilities of attempts after the first.
      votes: random symmetries of the board whose probabilities are averaged; with 1 the first attempt sees the board
        as it is. An equivariant network gains nothing by it.
      lanes: positions that the network looks at together, a multiple of 32; 0 suits the machine.
    """

    rules: str = "locked"
    sure: float = 1.0
    confident: float = 0.99
    patience: int = 4
    restarts: int = 0
    temperature: float = 0.2
    votes: int = 1
    lanes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self)
        if not 0.5 < self.sure <= 1:
            raise ValueError(f"sure must be above 0.5 and at most 1, not {self.sure}")


@dataclasses.dataclass(frozen=True)
class OneShotConfig(Config):
    """Settings of ``one_shot``.

    Attributes:
      rules: what is deduced from the givens, to the end: none, naked, singles or locked, each with all that the one
        before it does. With none the network sees givens alone.
      confident: probability that each digit to be filled in has to have; below it a network that works by iterations
        looks at the position again, and does as many iterations more.
      patience: looks at a position after which it is filled in all the same.
      restarts: how many further attempts are made at a puzzle whose filled grid is wrong, with noise, and seen under
        random symmetries of the board.
      temperature: scale of the Gumbel noise on the log-probabilities of attempts after the first.
      votes: random symmetries of the board whose probabilities are averaged; with 1 the first attempt sees the board
        as it is. An equivariant network gains nothing by it.
      lanes: positions that the network looks at together, a multiple of 32; 0 suits the machine.
    """

    rules: str = "none"
    confident: float = 0.99
    patience: int = 1
    restarts: int = 0
    temperature: float = 0.2
    votes: int = 1
    lanes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self)


def _check(config: IterativeConfig | OneShotConfig) -> None:
    one_of(config, "rules", RULES)
    at_least(config, patience=1, restarts=0, votes=1, temperature=0)
    whole_words(config)
    if not 0 <= config.confident <= 1:
        raise ValueError(f"confident must be at least 0 and at most 1, not {config.confident}")


def fit(config: IterativeConfig | OneShotConfig, board: Board, platform: str) -> IterativeConfig | OneShotConfig:
    """The settings with lanes that suit a machine, fewer on a wider board."""
    return dataclasses.replace(config, lanes=config.lanes or fitting_lanes(board, platform, _ACCELERATOR_LANES))


# ---------------------------------------------------------------------- solvers


def iterative(board: Board, puzzles: Array, key: Array, config: IterativeConfig, network: Network, /) -> Solution:
    """Fills the surest cell, applies the rules, and again, until the grid is full or contradictory.

    Pure; to be jitted with ``board`` and ``config`` static.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty.
      key: a JAX key; each puzzle's randomness comes from it and from the puzzle's index.
      config: the settings.
      network: a network of the board.

    Returns:
      A ``Solution``: SOLVED, UNSOLVED or INVALID. ``iterations`` int32[N] are the cells that were filled in by the
      network, in all attempts, and 1 where none was needed; ``network_calls`` int32[N].
    """
    return _fill(board, puzzles, key, config, network, functools.partial(_surest, sure=config.sure), config.rules)


def one_shot(board: Board, puzzles: Array, key: Array, config: OneShotConfig, network: Network, /) -> Solution:
    """Fills all open cells at once, each with its likeliest digit; arguments and results as of ``iterative``."""
    return _fill(board, puzzles, key, config, network, _likeliest, "none")


def _surest(candidates: Array, probabilities: Array, scores: Array, *, sure: float) -> Array:
    """The candidate of the highest score and, in the other cells, those that are sure enough."""
    lanes, side, cells = candidates.shape
    best = jnp.argmax(scores.reshape(lanes, -1), axis=1)
    chosen = jax.nn.one_hot(best, side * cells, dtype=bool).reshape(candidates.shape) & candidates
    if sure < 1:
        chosen |= candidates & (probabilities >= sure) & ~chosen.any(axis=1, keepdims=True)
    return chosen


def _likeliest(candidates: Array, probabilities: Array, scores: Array) -> Array:
    """The candidate of the highest score in each open cell."""
    return jax.nn.one_hot(jnp.argmax(scores, axis=1), candidates.shape[1], axis=1, dtype=bool) & candidates


# ---------------------------------------------------------------------- the loop


class _Lanes(NamedTuple):
    """K lanes at work.

    Attributes:
      planes: uint32[side, side, side, K / 32], the candidates.
      puzzle: int32[K], whose they are; N for an idle lane.
      attempt: int32[K], how often the puzzle was begun anew.
      passes: int32[K], how often the network looked at the puzzle's positions, in all attempts.
      filled: int32[K], cells filled in, in all attempts.
      looks: int32[K], how often the network looked at the position as it is.
      carried: what it came to by that, as ``Forward.think`` carries it on, for each vote.
    """

    planes: Array
    puzzle: Array
    attempt: Array
    passes: Array
    filled: Array
    looks: Array
    carried: Any


def _fill(
    board: Board,
    puzzles: Array,
    key: Array,
    config: IterativeConfig | OneShotConfig,
    network: Network,
    choose: Choose,
    rules: str,
) -> Solution:
    """Fills what is chosen and applies rules, until every puzzle has come to its end."""
    size = puzzles.shape[0]
    if not size:
        nothing = jnp.zeros(0, jnp.int32)
        return Solution(puzzles, jnp.zeros(0, jnp.int8), nothing, nothing)
    most = size + -size % GROUP  # further lanes would be idle from the beginning
    width = min(fit(config, board, "cpu").lanes, most)
    roots = make_roots(board, puzzles, config.rules, width)

    def begin(puzzle: Array) -> Array:
        return nodes_to_planes(roots.nodes.at[:, puzzle].get(mode="clip"), board)

    def choice(lanes: _Lanes, cubes: Array) -> tuple[Array, Any]:
        """What to fill in of the candidates ``cubes``, and what the network carries on, as ``_choice`` has it."""
        # the same for all looks at a position
        keys = jax.vmap(lambda puzzle, filled: jax.random.fold_in(jax.random.fold_in(key, puzzle), filled))(
            lanes.puzzle, lanes.filled
        )
        seen = _Seen(cubes, keys, lanes.attempt > 0, lanes.looks)
        look = functools.partial(_choice, board, config, network, choose)
        return _where_at_work(lanes.puzzle < size, min(size, -(-width // NARROWER)), look, seen, lanes.carried)

    def step(state: tuple[_Lanes, Array, Solution]) -> tuple[_Lanes, Array, Solution]:
        lanes, taken, found = state
        cubes = planes_to_cubes(lanes.planes, board)
        chosen, carried = choice(lanes, cubes)
        kept = cubes & (chosen | ~chosen.any(axis=1, keepdims=True))
        planes, dead, solved = settle(fence(cubes_to_planes(kept, board)), board, rules)
        dead, solved = unpack_lanes(dead), unpack_lanes(solved)
        filled = lanes.filled + chosen.sum(axis=(1, 2), dtype=jnp.int32)
        passes = lanes.passes + 1

        ended = solved | (dead & (lanes.attempt == config.restarts))
        target = jnp.where(ended, lanes.puzzle, size)
        assert found.network_calls is not None
        found = Solution(
            found.grids.at[target].set(jnp.where(solved[:, None], planes_to_grids(planes, board), 0), mode="drop"),
            found.status.at[target].set(solved.astype(jnp.int8) * jnp.int8(Status.SOLVED), mode="drop"),
            found.iterations.at[target].set(filled, mode="drop"),
            found.network_calls.at[target].set(passes * config.votes, mode="drop"),
        )

        turn = jnp.cumsum(ended, dtype=jnp.int32)
        following = roots.waiting.at[taken + turn - 1].get(mode="fill", fill_value=size)
        puzzle = jnp.where(ended, following, lanes.puzzle)
        planes = where(pack_lanes(ended | dead), begin(puzzle), planes)
        attempt = jnp.where(ended, 0, lanes.attempt + dead)
        passes, filled = jnp.where(ended, 0, passes), jnp.where(ended, 0, filled)
        looks = jnp.where(chosen.any(axis=(1, 2)), 0, lanes.looks + 1)
        after = _Lanes(planes, puzzle, attempt, passes, filled, looks, carried)
        return after, taken + turn[-1], found

    first = roots.waiting.at[jnp.arange(width)].get(mode="fill", fill_value=size)
    none = jnp.zeros(width, jnp.int32)
    unseen = network.apply.start(network.params, jnp.zeros((width, board.side, board.cells), bool))
    carried = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (config.votes, *leaf.shape)), unseen)
    looked_at = (roots.status != Status.INVALID).astype(jnp.int32)
    # it proves nothing, and what the rules refute is left
    status = jnp.where(roots.status == Status.UNSATISFIABLE, jnp.int8(Status.UNSOLVED), roots.status)
    start = (
        _Lanes(begin(first), first, none, none, none, none, carried),
        jnp.int32(width),
        Solution(roots.grids, status, looked_at, jnp.zeros(size, jnp.int32)),
    )
    return lax.while_loop(lambda state: (state[0].puzzle < size).any(), step, start)[2]


class _Seen(NamedTuple):
    """The positions of K lanes.

    Attributes:
      cubes: bool[K, side, cells], the candidates.
      keys: K keys, the positions' own.
      again: bool[K], whether it is not the first attempt.
      looks: int32[K], how often the network looked at them.
    """

    cubes: Array
    keys: Array
    again: Array
    looks: Array


def _where_at_work(
    busy: Array, few: int, look: Callable[[_Seen, Any], tuple[Array, Any]], seen: _Seen, carried: Any
) -> tuple[Array, Any]:
    """What ``_choice`` makes of the lanes that are at work, bool[K], in little time where they are but few."""

    def at_few() -> tuple[Array, Any]:
        (places,) = jnp.nonzero(busy, size=few, fill_value=len(busy))
        there = jnp.minimum(places, len(busy) - 1)
        chosen, after = look(
            jax.tree.map(lambda leaf: leaf[there], seen), jax.tree.map(lambda leaf: leaf[..., there, :], carried)
        )
        return (
            jnp.zeros_like(seen.cubes).at[places].set(chosen, mode="drop"),
            jax.tree.map(lambda leaf, new: leaf.at[..., places, :].set(new, mode="drop"), carried, after),
        )

    return lax.cond(busy.sum() <= few, at_few, lambda: look(seen, carried))


def _choice(
    board: Board,
    config: IterativeConfig | OneShotConfig,
    network: Network,
    choose: Choose,
    seen: _Seen,
    carried: Any,
) -> tuple[Array, Any]:
    """What to fill in, bool[K, side, cells], of the candidates that are seen, and what the network carries on.

    Nothing is filled in where the network is to think on.
    """
    cubes, keys, again, looks = seen
    fresh = looks == 0
    if config.votes == 1 and not config.restarts:
        alone = jax.tree.map(lambda leaf: leaf[0], carried)
        probabilities, carried = _probabilities(network, cubes, alone, fresh)
        carried = jax.tree.map(lambda leaf: leaf[None], carried)
    else:
        probabilities, carried = _voted(board, network, cubes, keys, config.votes, again, carried, fresh)
    candidates = cubes & (cubes.sum(axis=1, keepdims=True, dtype=jnp.int32) > 1)
    scores = jnp.log(probabilities)
    if config.restarts and config.temperature:
        noise = jax.vmap(lambda key: jax.random.gumbel(jax.random.fold_in(key, config.votes), cubes.shape[1:]))(keys)
        scores += jnp.where(again[:, None, None], config.temperature * noise, 0)
    chosen = choose(candidates, probabilities, jnp.where(candidates, scores, -jnp.inf))
    if config.patience > 1 and jax.tree.leaves(carried):  # else the network would say the same again
        least = jnp.where(chosen, probabilities, 1.0).min(axis=(1, 2))
        chosen &= ((least >= config.confident) | (looks + 1 >= config.patience))[:, None, None]
    return chosen, carried


def _probabilities(network: Network, cubes: Array, carried: Any, fresh: Array) -> tuple[Array, Any]:
    """Each cell's distribution over its candidates, float32[K, side, cells], zero for those that are not there.

    Args:
      network: the network.
      cubes: bool[K, side, cells].
      carried: what it has come to by earlier looks, and comes to by this one, as it returns.
      fresh: bool[K], where there were none.
    """
    from jaxsudoku.networks.base import finite_outputs  # which loads flax, as whoever has a network has done

    outputs, carried = network.apply.think(network.params, cubes, carried, fresh)
    policy = finite_outputs(outputs, cubes).policy
    return fence(jax.nn.softmax(policy, axis=1, where=cubes)), carried


def _voted(
    board: Board, network: Network, cubes: Array, keys: Array, votes: int, again: Array, carried: Any, fresh: Array
) -> tuple[Array, Any]:
    """The mean of the ``_probabilities`` under random symmetries, one a vote; a lone vote is as the board is at first.

    Args:
      board: the board.
      network: the network.
      cubes: bool[K, side, cells].
      keys: K keys.
      votes: how many.
      again: bool[K], whether it is not the first attempt.
      carried: as of ``_probabilities``, with an axis of votes before.
      fresh: bool[K].
    """
    shape = (len(cubes), *(board.side,) * 3)

    def vote(total: Array, turn: tuple[Array, Any]) -> tuple[Array, Any]:
        number, carried = turn
        drawn = jax.vmap(lambda key: symmetry.sample(jax.random.fold_in(key, number), board))(keys)
        if votes == 1:
            plain = symmetry.identity(board, again.shape)
            drawn = jax.tree.map(lambda x, y: jnp.where(again.reshape(-1, *[1] * (x.ndim - 1)), x, y), drawn, plain)
        seen = symmetry.apply_candidates(drawn, cubes.reshape(shape)).reshape(cubes.shape)
        probabilities, carried = _probabilities(network, seen, carried, fresh)
        back = symmetry.apply_candidates(symmetry.invert(drawn), probabilities.reshape(shape))
        return total + back.reshape(cubes.shape), carried

    total, carried = lax.scan(vote, jnp.zeros(cubes.shape, jnp.float32), (jnp.arange(votes), carried), length=votes)
    return total / np.float32(votes), carried
