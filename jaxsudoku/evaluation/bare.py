"""The bare protocol: a network alone, without rules and without search.

The network gets the givens only, iterates N times, and fills each open cell with its most probable digit. In a single
run a board counts if its grid is right after exactly N iterations. With R runs, of which all but the first have noise
in the recursion, a board counts if a grid of one of the runs is right after at most N iterations: a grid can be checked
without knowing the solution. All numbers of iterations and of runs are measured along the same runs.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku.core.board import Board
from jaxsudoku.core.grid import is_solved
from jaxsudoku.core.planes import grids_to_cubes
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.kernels import Limits, PuzzleItems
from jaxsudoku.io import Errors
from jaxsudoku.networks import Network
from jaxsudoku.networks.base import Halt, noisy
from jaxsudoku.networks.layers import MOST_TURNS
from jaxsudoku.runtime import alarms, cache
from jaxsudoku.runtime.operations import select
from jaxsudoku.runtime.settings import MOST, Config, NonNegative, Positive, whole_number
from jaxsudoku.runtime.terminal.progress import shown

from .report import aligned, interval_of, share_text
from .run import EvaluateConfig, Progress, count_solutions, drawn, fitted, shown_on

#: Boards in a batch on a CPU, whose memory of matrix products is kept until a batch ends.
_CPU_BATCH = 32


@dataclasses.dataclass(frozen=True)
class BareConfig(Config):
    """Settings of the bare protocol.

    Attributes:
      iterations: numbers of iterations at which grids are read, in ascending order; none for those of the network.
      runs: numbers of runs, in ascending order.
      noise: standard deviation of the noise of later runs, relative to the root mean square of a feature vector.
      every: iterations between additions of noise.
      sample: the most puzzles to evaluate, drawn at random by the key; None for all.
      batch_size: boards in a batch; None for automatic.
    """

    iterations: tuple[int, ...] = ()
    runs: tuple[int, ...] = (1,)
    noise: NonNegative = 0.1
    every: Positive = 8
    sample: Positive | None = EvaluateConfig.sample
    batch_size: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.runs:
            raise ValueError("no numbers of runs are given")
        for name, most in (("iterations", MOST_TURNS), ("runs", MOST)):
            numbers = tuple(whole_number(name, number, 1, most) for number in getattr(self, name))
            if list(numbers) != sorted(set(numbers)):
                raise ValueError(f"{name} must be different numbers in ascending order, not {numbers}")
            object.__setattr__(self, name, numbers)


@dataclasses.dataclass(frozen=True)
class BareScore:
    """The score for numbers of iterations and of runs. Shares are from 0 to 1.

    Attributes:
      iterations: number of iterations N of each run.
      runs: number of runs R.
      boards: share of the puzzles that are right.
      cells: share of all open cells that are right after one run; None for several runs, and with puzzles of several
        solutions.
      spent: mean number of iterations until a grid is right, in at most R runs of at most N iterations, all of which an
        unsolved puzzle takes. Grids are tested at the numbers of iterations that are measured.
      checked: share of the puzzles of which a grid that is tested is right; ``boards`` for several runs.
    """

    iterations: int
    runs: int
    boards: float
    cells: float | None
    spent: float
    checked: float


@dataclasses.dataclass(frozen=True)
class BareReport:
    """Results of the bare protocol; ``str()`` formats them as a table.

    Attributes:
      network: the architecture's name.
      config: its sizes.
      parameters: number of parameters.
      board: the board's name.
      puzzles: number of puzzles evaluated.
      several: number of these with several solutions, each of which is right.
      left_out: number of other puzzles, by the reason.
      noise: the noise of later runs.
      scores: the scores, by iterations and runs.
      drawn_from: number of puzzles from which these were drawn.
      seconds: seconds of the runs, compilation included.
      about: further facts, as JSON has them.
    """

    network: str
    config: Mapping[str, Any]
    parameters: int
    board: str
    puzzles: int
    several: int
    left_out: Mapping[str, int]
    noise: float
    scores: tuple[BareScore, ...]
    drawn_from: int
    seconds: float
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self) -> str:
        """The report as a JSON object, the fields under their names."""
        return json.dumps(dataclasses.asdict(self), indent=2, allow_nan=False)

    def __str__(self) -> str:
        left_out = ", ".join(f"{count:,} {why}" for why, count in self.left_out.items() if count)
        number = f"{self.puzzles:,}" + (f" of {self.drawn_from:,}" if self.drawn_from > self.puzzles else "")
        several = f", {self.several:,} with several solutions (any is right)" if self.several else ""
        rows = [("iterations", "runs", "boards", "95% interval", "cells", "checked", "iterations spent")]
        for score in self.scores:
            low, high = interval_of(score.boards, self.puzzles)
            numbers = (f"{score.iterations:,}", f"{score.runs:,}", share_text(score.boards), f"{low:.1%} to {high:.1%}")
            rows.append((*numbers, share_text(score.cells), share_text(score.checked), f"{score.spent:,.1f}"))
        return "\n".join(
            [
                f"{self.network}, {self.parameters:,} parameters, alone: {number} puzzles on {self.board}{several}"
                + (f"; left out: {left_out}" if left_out else ""),
                *aligned(rows),
            ]
        )


@dataclasses.dataclass(frozen=True)
class BareKernel(PuzzleItems):
    """A ``kernels.Kernel`` of one run; shared arguments are the run's number, that of its last mark (a number of
    iterations at which grids are read), and the network.

    Results are whether the grid is right after each number of iterations, bool[B, marks], and the last grid, uint8[B,
    cells]. Later runs end at a right grid.

    Attributes:
      config: the settings, with iterations.
    """

    config: BareConfig

    def resolve(self, board: Board, platform: str) -> BareKernel:
        """The kernel itself."""
        return self

    def limits(self, board: Board, platform: str) -> Limits:
        """Small batches on a CPU."""
        return Limits(1, _CPU_BATCH if platform == "cpu" else None)

    def __call__(self, board: Board, items: Array, key: Array, number: Array, /, *shared: Any) -> tuple[Array, Array]:
        run, last, network = shared
        marks, config = jnp.asarray(self.config.iterations, jnp.int32), self.config
        puzzles = jnp.where(items <= board.side, items, 0)
        used = (items <= board.side).all(axis=1)
        cubes = grids_to_cubes(puzzles, board)
        key = jax.random.fold_in(jax.random.fold_in(key, number), run)

        def until(state: tuple[Array, Any, Array, Array, Array]) -> tuple[Array, Any, Array, Array, Array]:
            mark, carry, done, right, grids = state
            over = ~used | ((run > 0) & right.any(axis=1))
            seen = cubes & ~over[:, None, None]  # a network may be faster on empty boards

            def segment(now: tuple[Any, Array]) -> tuple[Any, Array]:
                carry, done = now
                noise = jnp.where((run > 0) & (done > 0), config.noise, 0.0)
                carry = noisy(carry, noise, jax.random.fold_in(key, done))
                most: Any = jnp.minimum(config.every, marks[mark] - done)
                _, carry, _ = network.apply.resume(network.params, seen, carry, None, Halt(most))
                return carry, done + most

            carry, done = lax.while_loop(lambda now: now[1] < marks[mark], segment, (carry, done))
            policy = network.apply.readout(network.params, cubes, carry).policy
            filled = policy.argmax(axis=1).astype(jnp.uint8) + 1
            grids = select(over, grids, filled)
            found = is_solved(filled, board, puzzles) & ~over
            return mark + 1, carry, done, right.at[:, mark].set(found), grids

        def more(state: tuple[Array, Any, Array, Array, Array]) -> Array:
            mark, _, _, right, _ = state
            return (mark <= last) & ((run == 0) | (used & ~right.any(axis=1)).any())

        carry = network.apply.initialize_carry(network.params, cubes)
        right = jnp.zeros((len(items), len(marks)), bool)
        start = (jnp.int32(0), carry, jnp.int32(0), right, puzzles)
        _, _, _, right, grids = lax.while_loop(more, until, start)
        return right, grids


@cache.kept()
@alarms.silenced()
def evaluate_bare(
    network: Network | str | os.PathLike[str],
    puzzles: Any,
    board: Board | None = None,
    config: BareConfig | None = None,
    *,
    key: jax.Array | int = 0,
    progress: Progress | bool | None = None,
    errors: Errors = "raise",
    **options: Any,
) -> BareReport:
    """Measures how often a network solves puzzles alone, by numbers of iterations and of runs.

    Puzzles without a solution are left out; the report counts them. Of puzzles with several solutions each is right.

    Args:
      network: an iterative network, or the name or path of its weights.
      puzzles: N puzzles, in any form that ``solve`` takes.
      board: the board; by default the network's.
      config: the settings, by default ``BareConfig()``.
      key: a JAX key or a seed.
      progress: as in ``evaluate``.
      errors: as in ``evaluate``.
      **options: fields of ``BareConfig`` in place of those of ``config``, e.g. ``iterations=(64, 1024)``.

    Returns:
      The ``BareReport``.

    Raises:
      ValueError: a network without iterations, or for another board, or whose parameters are not finite; a setting out
        of its range; puzzles with constraints of their own; or no puzzle with a solution.
    """
    config = dataclasses.replace(config or BareConfig(), **options)
    network, board, grids, good = fitted(network, puzzles, board, errors)
    if not network.apply.iterations:
        raise ValueError(f"the bare protocol is for networks with iterations; {network.name} has none")
    config = dataclasses.replace(config, iterations=config.iterations or (network.apply.iterations,))
    malformed = {} if good.all() else {"malformed": int((~good).sum())}
    grids = grids[good]
    with shown(progress, shown_on) as report:
        counted, left_out = count_solutions(board, grids, lambda done, count: report("solving", done, count))
        kept = counted.counts > 0
        if not kept.any():
            raise ValueError(f"none of {len(grids)} puzzles has a solution: there is nothing to evaluate")
        rows = drawn(int(kept.sum()), config.sample, key)
        grids, counts, solutions = (each[kept][rows] for each in (grids, counted.counts, counted.grids))
        start = time.perf_counter()
        first, exact, last = _runs(network, board, grids, config, key, report)
        seconds = time.perf_counter() - start
    is_open = grids == 0
    cells = None if (counts > 1).any() else float(((last == solutions) & is_open).sum() / max(is_open.sum(), 1))
    return BareReport(
        network=network.name,
        config=json.loads(json.dumps(dataclasses.asdict(network.config))),
        parameters=network.size,
        board=str(board),
        puzzles=len(grids),
        several=int((counts > 1).sum()),
        left_out={**malformed, **left_out},
        noise=config.noise,
        scores=tuple(_scores(config, first, exact, cells)),
        drawn_from=int(kept.sum()),
        seconds=seconds,
    )


def _runs(
    network: Network, board: Board, grids: np.ndarray, config: BareConfig, key: jax.Array | int, report: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Makes the runs.

    Returns:
      the first mark at which a grid of each run is right, int32[N, runs], the number of marks for none and for runs
      that were not needed; whether the grids of the first run are right at each mark, bool[N, marks]; and its last
      grids, uint8[N, cells].
    """
    marks, most = len(config.iterations), config.runs[-1]
    first = np.full((len(grids), most), marks, np.int32)
    kernel = BareKernel(config)
    for run in range(most):
        best = first[:, :run].min(axis=1, initial=marks)  # only a lower number of iterations would change a score
        for last in range(marks) if run else (marks - 1,):
            rows = np.flatnonzero(best == last + 1) if run else np.arange(len(grids))
            if not len(rows):
                continue
            shared = (np.int32(run), np.int32(last), network)
            engine = Engine(kernel, board, key, config.batch_size, shared=shared)
            stage = f"run {run + 1} of {most}, {config.iterations[last]} iterations"
            right, filled = engine.run(grids[rows], functools.partial(report, stage))
            first[rows, run] = np.where(right.any(axis=1), right.argmax(axis=1), marks)
            if not run:
                exact, grids_after = right, filled
    return first, exact, grids_after


def _scores(config: BareConfig, first: np.ndarray, exact: np.ndarray, cells: float | None) -> Iterator[BareScore]:
    """The scores, by iterations and runs; arguments as from ``_runs``."""
    ends = np.asarray(config.iterations)
    for mark, iterations in enumerate(config.iterations):
        # iterations of each run until a right grid, or all of them
        each = np.where(first <= mark, ends[np.minimum(first, mark)], iterations)
        for runs in config.runs:
            right = first[:, :runs] <= mark
            before: np.ndarray = np.cumsum(right, axis=1) - right == 0  # up to the first run that is right
            checked = float(right.any(axis=1).mean())
            boards = float(exact[:, mark].mean()) if runs == 1 else checked
            known = cells if runs == 1 and mark == len(ends) - 1 else None
            spent = float((each[:, :runs] * before).sum(axis=1).mean())
            yield BareScore(iterations, runs, boards, known, spent, checked)
