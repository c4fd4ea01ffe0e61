"""The evaluation of a network on puzzles."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsudoku import cache, solvers
from jaxsudoku.batches import Engine
from jaxsudoku.board import Board
from jaxsudoku.config import whole_number
from jaxsudoku.inputs import as_puzzles
from jaxsudoku.networks import Network, as_network, check_network
from jaxsudoku.planes import GROUP
from jaxsudoku.propagation import RULES
from jaxsudoku.random import as_key
from jaxsudoku.rating import rate
from jaxsudoku.solution import Solution, Status
from jaxsudoku.solvers import driver, exact
from jaxsudoku.suggestions import did_you_mean
from jaxsudoku.terminal.progress import Screen, bar, called

from .calibration import calibrate, make_positions
from .forward import Seen, look
from .groups import Split, by_clues, by_grade, by_quantiles
from .report import Level, Report, Score

#: The rules that are evaluated by default: the network on its own, and after all that can be deduced.
DEFAULT_RULES = ("none", "locked")
#: Positions that are made of each puzzle by default, and the most in all: looking at them takes most of the time.
_POSITIONS_EACH, _MOST_POSITIONS = 10, 10_000
#: Rows that an error names.
_NAMED = 5

#: Told of progress: what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


@cache.kept()
def evaluate(
    network: Network | str | os.PathLike[str],
    puzzles: Any,
    board: Board | None = None,
    *,
    solutions: Any = None,
    rating: Any = None,
    difficulty: Any = None,
    rules: Sequence[str] = DEFAULT_RULES,
    iterative: bool = True,
    positions: int | None = None,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    progress: Progress | bool | None = None,
) -> Report:
    """Measures how often a network is right on puzzles, and whether its value can be believed.

    Puzzles without exactly one solution are left out; the report tells how many, and why.

    Args:
      network: the network, or the name or path of one's weights.
      puzzles: uint8[N, cells] (or any integers), 0 = empty.
      board: the board; by default the network's.
      solutions: uint8[N, cells], zeros where a solution isn't known; those that are known are compared with what the
        exact solver finds.
      rating: float[N], ratings as ``jaxsudoku.rate`` gives them, NaN for unknown ones; the report has a split by their
        grades. Without ``difficulty`` the default is to rate the puzzles here.
      difficulty: float[N], anyone else's measure, NaN for unknown; the report has a split by its quantiles.
      rules: the rules, names in ``propagation.RULES``, applied before the network sees a position; each is evaluated.
      iterative: whether to solve the puzzles by filling one cell after another, too, which takes as many forward passes
        of a puzzle as there are cells to fill.
      positions: how many positions to make for the calibration of the value, of the puzzles that the rules leave open;
        0 for none, None for ten a puzzle, at most 10,000.
      key: a JAX key or a seed, for whatever is random.
      batch_size: positions in a forward pass, rounded up to a multiple of 32; None suits the machine. Results depend on
        it only as far as sums are rounded.
      progress: called with what is being done, how much of it is done, and how much there is; True shows a bar on the
        standard error.

    Returns:
      The ``Report``.

    Raises:
      ValueError: arrays that fit neither each other nor the board, negative or infinite ratings, a network for another
        board, or whose parameters or outputs are not finite, unknown rules, a solution that does not solve its puzzle,
        or no puzzle with exactly one solution.
      TypeError: a network that is no ``Network``, name or path, as when the puzzles come first.
    """
    if progress is True:
        with screened() as told:
            return evaluate(
                network, puzzles, board, solutions=solutions, rating=rating, difficulty=difficulty, rules=rules,
                iterative=iterative, positions=positions, key=key, batch_size=batch_size, progress=told,
            )  # fmt: skip
    progress = called(progress or (lambda what, done, count: None))
    rules = checked_rules(rules)
    if positions is not None:
        positions = whole_number("positions", positions, 0)
    if batch_size is not None:
        batch_size = whole_number("batch_size", batch_size, 1)
    network = as_network(network, board)
    grids, board = as_puzzles(puzzles, board or network.board)
    if board != network.board:
        raise ValueError(f"a network for {network.board} can't be evaluated on {board}")
    check_network(network)
    if grids.ndim != 2:
        raise ValueError(f"puzzles of shape {grids.shape}; they must be [N, {board.cells}]")
    given = None if solutions is None else as_puzzles(solutions, board)[0]
    hardness = {"rating": rating, "difficulty": difficulty}
    hardness = {by: np.asarray(values, np.float64) for by, values in hardness.items() if values is not None}
    for name, array in {"solutions": given, **hardness}.items():
        if array is not None and array.shape != (grids.shape if name == "solutions" else grids.shape[:1]):
            raise ValueError(f"{name} of shape {array.shape}, for puzzles of shape {grids.shape}")
    for name, values in hardness.items():
        if (np.isinf(values) | (values < (0 if name == "rating" else -np.inf))).any():
            raise ValueError(f"{name} holds infinite or negative values; NaN stands for an unknown one")

    progress("solving", 0, len(grids))
    truth = find_solutions(board, grids, given)
    if not truth.kept.any():
        raise ValueError(f"none of {len(grids)} puzzles has exactly one solution: there is nothing to evaluate")
    grids = grids[truth.kept]
    positions = positions_of(len(grids)) if positions is None else positions
    hardness = {by: values[truth.kept] for by, values in hardness.items()}
    if not hardness:
        progress("rating", 0, len(grids))
        hardness["rating"] = rate(grids, board, key=key)
    grouped = {"rating": by_grade, "difficulty": by_quantiles}
    splits = {"clues": by_clues(grids), **{by: grouped[by](values) for by, values in hardness.items()}}

    levels = {}
    for name in rules:
        what = f"rules: {name}"
        seen = look(network, grids, name, batch_size, _stage(progress, what, len(grids)))
        filled = None
        if iterative:
            progress(f"{what}, cell by cell", 0, len(grids))
            filled = solve_iteratively(network, grids, name, key, batch_size)
        calibration = None
        if positions:
            made = make_positions(board, seen.fixed, truth.solutions, positions, _generator(key))
            stage = _stage(progress, f"{what}, value", len(made.grids))
            calibration = calibrate(network, made, name, batch_size, stage)
        scores = _Scores(seen, truth.solutions, filled)
        groups = {by: scores.of_groups(split) for by, split in splits.items()}
        levels[name] = Level(scores.of(np.arange(len(grids))), groups, calibration)
    return Report(
        network=network.name,
        config=json.loads(json.dumps(dataclasses.asdict(network.config))),
        parameters=network.size,
        board=str(board),
        puzzles=len(grids),
        left_out=truth.left_out,
        levels=levels,
    )


def positions_of(puzzles: int) -> int:
    """How many positions the value is judged on by default, for so many puzzles."""
    return min(_POSITIONS_EACH * puzzles, _MOST_POSITIONS)


@contextlib.contextmanager
def screened() -> Iterator[Progress]:
    """Progress as a bar on the standard error."""
    screen = Screen(bar=True)
    try:
        yield functools.partial(show, screen)
    finally:
        screen.clear()


def show(screen: Screen, what: str, done: int, count: int) -> None:
    """Shows how far a stage of the evaluation is."""
    screen.show(f"{bar(done / count if count else 1.0)} {what}: {done:,} of {count:,}", now=not done)


def _stage(progress: Progress, what: str, count: int) -> Callable[[int], None]:
    return lambda done: progress(what, done, count)


# ---------------------------------------------------------------------- solutions


class Truth(NamedTuple):
    """What there is to evaluate on.

    Attributes:
      kept: bool[N], the puzzles with exactly one solution.
      solutions: uint8[kept, cells], theirs.
      left_out: how many others there are, by what is wrong with them.
    """

    kept: np.ndarray
    solutions: np.ndarray
    left_out: dict[str, int]


def find_solutions(board: Board, puzzles: np.ndarray, given: np.ndarray | None = None) -> Truth:
    """Solves puzzles uint8[N, cells] and sets those aside that have exactly one solution.

    Args:
      board: the board.
      puzzles: the puzzles.
      given: uint8[N, cells], solutions to compare with, zeros where none is known; or None.

    Raises:
      ValueError: what is given does not solve a puzzle that has one solution; the message names some rows.
    """
    kernel = driver.PuzzleKernel(_solve_and_count, "exact", solvers.ExactConfig())
    solution, counts = Engine(kernel, board).run(puzzles)
    kept = counts == 1
    if given is not None:
        known = kept & given.any(axis=1)
        if wrong := np.flatnonzero(known & (given != solution.grids).any(axis=1)).tolist():
            named = ", ".join(map(str, wrong[:_NAMED])) + ", ..." * (len(wrong) > _NAMED)
            raise ValueError(f"{len(wrong)} of {len(puzzles)} solutions do not solve their puzzles: rows {named}")
    left_out = {
        "with clashing givens": int(np.count_nonzero(solution.status == Status.INVALID)),
        "without a solution": int(np.count_nonzero(solution.status == Status.UNSATISFIABLE)),
        "with several solutions": int(np.count_nonzero(counts > 1)),
    }
    return Truth(kept, solution.grids[kept], left_out)


def _solve_and_count(board: Board, puzzles: jax.Array, key: jax.Array, solver: str, config: Any) -> Any:
    found = exact.search(board, puzzles, key, config, limit=2)
    judged = solvers.judge(puzzles, Solution(found.grids, found.status, found.iterations, {}), board)
    return judged, found.counts


# ---------------------------------------------------------------------- scores


class Filled(NamedTuple):
    """What filling one cell after another came to.

    Attributes:
      solved: bool[N], whether the puzzle was solved.
      fillings: int32[N], how many cells were filled.
      network_calls: int32[N], how often the network was asked.
    """

    solved: np.ndarray
    fillings: np.ndarray
    network_calls: np.ndarray


def solve_iteratively(
    network: Network, puzzles: np.ndarray, rules: str, key: jax.Array | int = 0, batch_size: int | None = None
) -> Filled:
    """Solves puzzles uint8[N, cells] by filling in the surest cell, applying the rules, and so on."""
    options: dict[str, Any] = {"solver": "iterative", "network": network, "rules": rules}
    if batch_size is not None:
        options["lanes"] = -(-batch_size // GROUP) * GROUP
    solution: Any = driver.solve(puzzles, network.board, key=key, **options)
    # a puzzle that needs no filling counts one iteration, and no call
    calls = solution.stats["network_calls"]
    return Filled(solution.status == Status.SOLVED, np.where(calls > 0, solution.iterations, 0), calls)


class _Scores:
    """What a network made of each puzzle, and the scores of any of them."""

    def __init__(self, seen: Seen, solutions: np.ndarray, filled: Filled | None) -> None:
        is_open = seen.fixed == 0
        right = seen.digits == solutions
        self._open = is_open.sum(axis=1)
        self._right = (is_open & right).sum(axis=1)
        self._whole = right.all(axis=1)
        self._by_rules = seen.solved
        self._filled = filled

    def of(self, rows: np.ndarray) -> Score:
        """The score of the puzzles in these rows, at least one."""
        cells = int(self._open[rows].sum())
        steps = {} if self._filled is None else {
            "iterative": float(self._filled.solved[rows].mean()),
            "fillings": float(self._filled.fillings[rows].mean()),
            "network_calls": float(self._filled.network_calls[rows].mean()),
        }  # fmt: skip
        return Score(
            puzzles=len(rows),
            open_cells=float(self._open[rows].mean()),
            rules_alone=float(self._by_rules[rows].mean()),
            cells=float(self._right[rows].sum() / cells) if cells else None,
            boards=float(self._whole[rows].mean()),
            **steps,
        )

    def of_groups(self, split: Split) -> Mapping[str, Score]:
        """The score of each group."""
        return {name: self.of(np.flatnonzero(split.group == number)) for number, name in enumerate(split.names)}


# ---------------------------------------------------------------------- arguments


def checked_rules(rules: Sequence[str]) -> tuple[str, ...]:
    """The rules without repetitions; raises ValueError if they are not names in ``propagation.RULES``."""
    if isinstance(rules, str):
        raise ValueError(f"rules must be a sequence of names, such as ({rules!r},), not the text {rules!r}")
    choice = f"choose among {', '.join(RULES)}"
    if not rules:
        raise ValueError(f"no rules are named: {choice}")
    names = tuple(dict.fromkeys(rules))
    if unknown := [name for name in names if name not in RULES]:
        raise ValueError(f"unknown rules {', '.join(map(repr, unknown))}: {choice}{did_you_mean(unknown[0], RULES)}")
    return names


def _generator(key: jax.Array | int) -> np.random.Generator:
    """Numpy's randomness from a JAX key or a seed."""
    return np.random.default_rng(np.asarray(jax.random.key_data(as_key(key))))
