"""Solves puzzles by techniques, the simplest first, and records the hardest one that each puzzle needs.

Techniques only remove candidates that no solution has, and on classic boards none stops working because others were
applied before it. So the hardest technique that a puzzle needs does not depend on the order in which patterns are
found, and all patterns of a technique are applied at once.

Puzzles wait at *stages*: the first one fills cells by singles until none is left, each other one tries one technique. A
step takes a block of puzzles at the stage where most are waiting. If a technique finds something, the puzzle goes back
to the first stage, otherwise on to the next one.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.core.constraints.pruning import clues_of_lanes
from jaxsudoku.core.planes import GROUP, all_of, grids_to_planes, pad_grids, slices, unpack_lanes
from jaxsudoku.core.propagation import invalid_givens
from jaxsudoku.core.tuning import CPU_LANES, node_lanes
from jaxsudoku.engine.kernels import Limits, PuzzleItems, fewest_items

from .apply import fill, search
from .position import eliminate, lanes_with, pack, start, unpack
from .registry import NUMBERS, Kind, Technique, chosen, fits

#: Maximum number of positions in a block, by kind of technique. Each assumed candidate takes a lane.
_AT_ONCE = {Kind.REMOVES: 512, Kind.REFUTES: 64, Kind.LINKS: 32}


class TechniqueResult(NamedTuple):
    """Results of solving puzzles by techniques.

    Attributes:
      hardest: int8[N], the number of the hardest technique used; -1 if none was needed.
      solved: bool[N].
      words: uint32[words, N], the packed positions at the end.
    """

    hardest: Array
    solved: Array
    words: Array


class _Pool(NamedTuple):
    """State of N puzzles.

    Attributes:
      words: uint32[words, N], packed positions.
      stage: int8[N], the stage at which each waits; one that has no technique to apply if it is done.
      hardest: int8[N].
      solved: bool[N].
    """

    words: Array
    stage: Array
    hardest: Array
    solved: Array


def solve_by_techniques(
    puzzles: Array,
    board: Board | None = None,
    names: tuple[str, ...] | None = None,
    lanes: int = CPU_LANES,
    last: Array | None = None,
    clues: Clues | None = None,
) -> TechniqueResult:
    """Solves puzzles by techniques as far as possible; pure, with all arguments but the arrays static.

    Args:
      puzzles: uint8[N, cells], 0 = empty, each with exactly one solution. Puzzles with clashing givens are not solved.
        Results of other puzzles are meaningless: unique rectangles may "solve" one with several solutions.
      board: the board; None for the classic one of the puzzles' size.
      names: the techniques, by their names; None for all. Those that do not fit the board are left out.
      lanes: puzzles in a block, and candidates that are tested at a time; a multiple of 32.
      last: int32, the number of the hardest of the techniques to apply, if it does not place digits; None for all.
      clues: the constraints of each puzzle; None for those of the board alone.

    Raises:
      ValueError: an unknown technique.
    """
    board, _ = board_of_grids(np.shape(puzzles), board)
    usable = [technique for technique in chosen(names) if fits(technique, board, clues is not None)]
    filling = [technique for technique in usable if technique.kind is Kind.PLACES]
    removing = [technique for technique in usable if technique.kind is not Kind.PLACES]
    stages = 1 + len(removing)
    numbers = np.array([NUMBERS[technique.name] for technique in removing], np.int32)
    end = jnp.int8(stages) if last is None else 1 + (numbers <= last).sum(dtype=jnp.int8)
    padded, _ = pad_grids(jnp.asarray(puzzles), board, GROUP)
    givens = grids_to_planes(padded, board)
    numbers_of_lanes = jnp.arange(len(padded), dtype=jnp.int32)
    position = start(board, givens, None if clues is None else clues_of_lanes(clues, numbers_of_lanes))
    complete = unpack_lanes(all_of(slices(position.filled, 0)))
    valid = unpack_lanes(~invalid_givens(givens, board))
    pool = _Pool(
        pack(position),
        jnp.where(valid & ~complete, jnp.int8(0), jnp.int8(stages)),
        jnp.full(len(padded), -1, jnp.int8),
        valid & complete,
    )
    kinds = tuple(_AT_ONCE)
    branches = [functools.partial(_filled, board, filling, lanes, stages)]
    branches += [functools.partial(_tried, board, removing, kind, lanes, clues) for kind in kinds]
    branch_of = jnp.asarray([0, *(1 + kinds.index(technique.kind) for technique in removing)], jnp.int32)

    def step(pool: _Pool) -> _Pool:
        every = np.arange(stages, dtype=np.int8)
        waiting = jnp.sum((pool.stage[:, None] == every) & (every < end), axis=0, dtype=jnp.int32)
        stage = jnp.argmax(waiting).astype(jnp.int32)
        return lax.switch(branch_of[stage], branches, stage, pool)

    pool = lax.while_loop(lambda pool: (pool.stage < end).any(), step, pool)
    count = len(puzzles)
    return TechniqueResult(pool.hardest[:count], pool.solved[:count], pool.words[:, :count])


def _waiting(pool: _Pool, stage: Array, most: int) -> tuple[Array, Array]:
    """Up to m puzzles that wait at a stage: their indices int32[m], padded with N, and their words."""
    count = len(pool.stage)
    index = jnp.nonzero(pool.stage == stage.astype(jnp.int8), size=min(most, count), fill_value=count)[0]
    return index, jnp.take(pool.words, index, axis=1, mode="fill", fill_value=0)


def _filled(board: Board, techniques: list[Technique], lanes: int, stages: int, stage: Array, pool: _Pool) -> _Pool:
    """Fills cells of puzzles at the first stage."""
    index, words = _waiting(pool, stage, lanes)
    position, used = fill(board, techniques, unpack(board, words))
    full = unpack_lanes(all_of(slices(position.filled, 0)))
    hardest = jnp.take(pool.hardest, index, mode="fill", fill_value=-1)
    for technique, lanes_used in zip(techniques, used, strict=True):
        number = jnp.int8(NUMBERS[technique.name])
        hardest = jnp.where(unpack_lanes(lanes_used), jnp.maximum(hardest, number), hardest)
    return _Pool(
        pool.words.at[:, index].set(pack(position), mode="drop"),
        pool.stage.at[index].set(jnp.where(full, jnp.int8(stages), jnp.int8(1)), mode="drop"),
        pool.hardest.at[index].set(hardest, mode="drop"),
        pool.solved.at[index].set(full, mode="drop"),
    )


def _tried(
    board: Board,
    techniques: list[Technique],
    kind: Kind,
    lanes: int,
    clues: Clues | None,
    stage: Array,
    pool: _Pool,
) -> _Pool:
    """Tries a technique of this kind on puzzles at its stage."""
    own = [technique for technique in techniques if technique.kind is kind]
    if not own:
        return pool  # never chosen
    index, words = _waiting(pool, stage, min(_AT_ONCE[kind], lanes))
    place = jnp.asarray(np.cumsum([technique.kind is kind for technique in techniques]) - 1, jnp.int32)[stage - 1]
    position = unpack(board, words)
    removed = search(board, own, place, position, lanes, None if clues is None else clues_of_lanes(clues, index))
    found = unpack_lanes(lanes_with(removed))
    number = jnp.asarray([NUMBERS[technique.name] for technique in own], jnp.int8)[place]
    hardest = jnp.take(pool.hardest, index, mode="fill", fill_value=-1)
    return _Pool(
        pool.words.at[:, index].set(pack(eliminate(position, removed)), mode="drop"),
        pool.stage.at[index].set(jnp.where(found, jnp.int8(0), (stage + 1).astype(jnp.int8)), mode="drop"),
        pool.hardest.at[index].set(jnp.where(found, jnp.maximum(hardest, number), hardest), mode="drop"),
        pool.solved,
    )


@dataclasses.dataclass(frozen=True)
class TechniqueKernel(PuzzleItems):
    """A ``kernels.Kernel`` from puzzles to the hardest techniques int8[N] and whether they are solved bool[N].

    Its engines share ``last``, as of ``solve_by_techniques``.

    Attributes:
      names: as for ``solve_by_techniques``.
      lanes: as for ``solve_by_techniques``; None for automatic.
    """

    names: tuple[str, ...] | None = None
    lanes: int | None = None
    form: ClueForm | None = None

    def resolve(self, board: Board, platform: str) -> TechniqueKernel:
        # half of a search's block, as puzzles wait at many stages. On wide boards one group: with a last axis of one
        # word XLA vectorizes over houses; with two to four words each takes several times as long
        lanes = GROUP if platform == "cpu" and board.side >= 12 else node_lanes(board, platform) // 2
        return dataclasses.replace(self, lanes=self.lanes or lanes)

    def limits(self, board: Board, platform: str) -> Limits:
        """Limits on the size of batches: a step reads the stages of all puzzles, and progress needs short batches."""
        return Limits(fewest_items(board), 1 << (12 if platform == "cpu" else 14))

    def __call__(self, board: Board, items: Array, key: Array, number: Array, /, *last: Array) -> tuple[Array, Array]:
        assert self.lanes is not None
        puzzles, _, clues = self.split(board, items)
        found = solve_by_techniques(puzzles, board, self.names, self.lanes, last[0] if last else None, clues)
        return found.hardest, found.solved
