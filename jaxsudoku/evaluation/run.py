"""The evaluation of a network on puzzles."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.planes import GROUP
from jaxsudoku.core.tuning import RULES
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.inputs import as_marked
from jaxsudoku.engine.solution import Status
from jaxsudoku.exact import ExactConfig
from jaxsudoku.exact.uniqueness import CountKernel
from jaxsudoku.io import Errors
from jaxsudoku.networks import Network, as_network, check_network, for_board
from jaxsudoku.networks.registry import same_houses
from jaxsudoku.rating import rate
from jaxsudoku.runtime import alarms, cache
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import Config, Natural, Positive
from jaxsudoku.runtime.suggestions import did_you_mean
from jaxsudoku.runtime.terminal import progress as terminal
from jaxsudoku.runtime.terminal.progress import Meter, Screen, shown
from jaxsudoku.solvers import driver

from .calibration import calibrate, make_positions
from .forward import predict
from .report import Level, Report
from .scores import Decoded, Scorer, by_clues, by_grade, by_quantiles

#: Positions for each puzzle by default, and the most in all: evaluating them takes most of the time.
_POSITIONS_EACH, _MOST_POSITIONS = 10, 10_000
#: Puzzles that are evaluated by default: the 95% confidence interval of a share is then at most 14 points wide.
_SAMPLE = 200
#: Rows that an error names.
_NAMED = 5

#: A caller's report of progress: the stage, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], object]


@dataclasses.dataclass(frozen=True)
class EvaluateConfig(Config):
    """Settings of an evaluation.

    Attributes:
      rules: rule levels of ``tuning.RULES``, applied before the network sees a position; each is evaluated.
      iterative: whether to solve the puzzles by iterative decoding, too, with the defaults of the solver, the slowest
        part: a cell may take several forward passes.
      positions: number of positions on which the value is calibrated, made of the puzzles that the rules leave open; 0
        for none, None for ten a puzzle, at most 10,000.
      sample: the most puzzles to evaluate, drawn at random by the key; None for all.
      batch_size: positions in a forward pass, rounded up to a multiple of 32; None for automatic. Results depend on it
        only through the rounding of sums.
    """

    rules: tuple[str, ...] = ("none", "locked")
    iterative: bool = True
    positions: Natural | None = None
    sample: Positive | None = _SAMPLE
    batch_size: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rules", _checked_rules(self.rules))

    def positions_for(self, puzzles: int) -> int:
        """The number of positions for a number of puzzles."""
        return min(_POSITIONS_EACH * puzzles, _MOST_POSITIONS) if self.positions is None else self.positions


def _checked_rules(rules: Any) -> tuple[str, ...]:
    """The rules without repetitions; raises ValueError unless they are names in ``RULES``."""
    if isinstance(rules, str):
        raise ValueError(f"rules must be a sequence of names, such as ({rules!r},), not the text {rules!r}")
    choice = f"choose among {', '.join(RULES)}"
    if not rules:
        raise ValueError(f"no rules are named: {choice}")
    names = tuple(dict.fromkeys(rules))
    if unknown := [name for name in names if name not in RULES]:
        raise ValueError(f"unknown rules {', '.join(map(repr, unknown))}: {choice}{did_you_mean(unknown[0], RULES)}")
    return names


@cache.kept()
@alarms.silenced()
def evaluate(
    network: Network | str | os.PathLike[str],
    puzzles: Any,
    board: Board | None = None,
    config: EvaluateConfig | None = None,
    *,
    solutions: Any = None,
    rating: Any = None,
    difficulty: Any = None,
    key: jax.Array | int = 0,
    progress: Progress | bool | None = None,
    errors: Errors = "raise",
    **options: Any,
) -> Report:
    """Measures how often a network is right on puzzles, and how well its value is calibrated.

    Puzzles without exactly one solution are left out; the report counts them by the reason. Of the others a random
    sample is evaluated, ``sample=None`` evaluates all.

    Args:
      network: the network, or the name or path of one's weights.
      puzzles: N puzzles, in any form that ``solve`` takes.
      board: the board; by default the network's.
      config: the settings, by default ``EvaluateConfig()``.
      solutions: in the same form, zeros where a solution is unknown; the others are compared with the exact solver's.
      rating: float[N], ratings as of ``jaxsudoku.rate``, NaN for unknown ones; the report has a split by their grades.
        By default puzzles without ``difficulty`` are rated here.
      difficulty: float[N], any other measure, NaN for unknown; the report has a split by its quantiles.
      key: a JAX key or a seed.
      progress: called with the stage, how much of it is done, and how much there is; True shows a bar on the standard
        error.
      errors: what is done with texts that are malformed or missing: "raise" an error that names the first, or "mark"
        them: such puzzles are left out and counted, and such solutions are unknown.
      **options: fields of ``EvaluateConfig`` in place of those of ``config``, e.g. ``rules=("none",)``.

    Returns:
      The ``Report``.

    Raises:
      ValueError: arrays that fit neither each other nor the board, negative or infinite ratings, a network for another
        board, or whose parameters or outputs are not finite, a setting out of its range, a solution that does not solve
        its puzzle, or no puzzle with exactly one solution.
      TypeError: a network that is no ``Network``, name or path, as when the puzzles come first; an unknown option.
    """
    config = dataclasses.replace(config or EvaluateConfig(), **options)
    network, board, grids, good = fitted(network, puzzles, board, errors)
    given = None if solutions is None else as_marked(solutions, board, errors).grids
    if given is not None:
        _check_shape("solutions", given, grids, grids.shape)
    measures = {
        name: np.asarray(values, np.float64)
        for name, values in (("rating", rating), ("difficulty", difficulty))
        if values is not None
    }
    for name, values in measures.items():
        _check_shape(name, values, grids, grids.shape[:1])
        if (np.isinf(values) | (values < (0 if name == "rating" else -np.inf))).any():
            raise ValueError(f"{name} holds infinite or negative values; NaN stands for an unknown one")

    malformed = {} if good.all() else {"malformed": int((~good).sum())}
    if malformed:
        grids, given = grids[good], None if given is None else given[good]
        measures = {name: values[good] for name, values in measures.items()}
    with shown(progress, shown_on) as report:
        truth = find_solutions(board, grids, given, lambda done, count: report("solving", done, count))
        if not truth.kept.any():
            raise ValueError(f"none of {len(grids)} puzzles has exactly one solution: there is nothing to evaluate")
        rows = drawn(int(truth.kept.sum()), config.sample, key)
        grids, solved = grids[truth.kept][rows], truth.solutions[rows]
        measures = {name: values[truth.kept][rows] for name, values in measures.items()}
        if not measures:
            measures["rating"] = rate(grids, board, key=key, progress=lambda done, count: report("rating", done, count))
        levels = _Levels(network, grids, solved, measures, config, key, report)
        return Report(
            network=network.name,
            config=json.loads(json.dumps(dataclasses.asdict(network.config))),
            parameters=network.size,
            board=str(board),
            puzzles=len(grids),
            drawn_from=len(truth.solutions),
            left_out={**malformed, **truth.left_out},
            levels={rules: levels.evaluate(rules) for rules in config.rules},
        )


class Fitted(NamedTuple):
    """A network and puzzles of one board.

    Attributes:
      network: the network, for the board.
      board: the board.
      grids: uint8[N, cells].
      good: bool[N], False for malformed puzzles.
    """

    network: Network
    board: Board
    grids: np.ndarray
    good: np.ndarray


def fitted(network: Network | str | os.PathLike[str], puzzles: Any, board: Board | None, errors: Errors) -> Fitted:
    """A network and puzzles, and the board of both; arguments and errors as for ``evaluate``."""
    network = as_network(network, board)
    marked = as_marked(puzzles, board or network.board, errors)
    if not same_houses(marked.board, network.board):
        raise ValueError(f"a network for {network.board} can't be evaluated on {marked.board}")
    network = for_board(network, marked.board)
    check_network(network)
    if marked.grids.ndim != 2:
        raise ValueError(f"puzzles of shape {marked.grids.shape}; they must be [N, {marked.board.cells}]")
    return Fitted(network, marked.board, marked.grids, marked.good)


def _check_shape(name: str, array: np.ndarray, puzzles: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} of shape {array.shape}, for puzzles of shape {puzzles.shape}")


@dataclasses.dataclass(frozen=True)
class _Levels:
    """Evaluates a network after different rules.

    Attributes:
      network: the network.
      puzzles: uint8[N, cells], each with exactly one solution.
      solutions: uint8[N, cells].
      measures: float64[N] by name: rating, difficulty.
      config: the settings.
      key: a JAX key or a seed.
      report: the report of progress.
    """

    network: Network
    puzzles: np.ndarray
    solutions: np.ndarray
    measures: dict[str, np.ndarray]
    config: EvaluateConfig
    key: jax.Array | int
    report: Progress

    def evaluate(self, rules: str) -> Level:
        """The network's scores, and the calibration of its value, after these rules."""
        network, batch_size, count = self.network, self.config.batch_size, len(self.puzzles)
        stage = f"rules: {rules}"
        predictions = predict(network, self.puzzles, rules, batch_size, self._stage(stage, count))
        decoded = None
        if self.config.iterative:
            decoded = solve_iteratively(
                network,
                self.puzzles,
                rules,
                self.key,
                batch_size,
                lambda done, count: self.report(f"{stage}, cell by cell", done, count),
            )
        calibration = None
        if wanted := self.config.positions_for(count):
            random = _generator(self.key)
            positions = make_positions(network.board, predictions.fixed, self.solutions, wanted, random)
            report = self._stage(f"{stage}, value", len(positions.grids))
            calibration = calibrate(network, positions, rules, batch_size, report)
        scorer = Scorer(predictions, self.solutions, decoded)
        splits = {"clues": by_clues(self.puzzles)}
        for name, values in self.measures.items():
            splits[name] = by_grade(values) if name == "rating" else by_quantiles(values)
        by_group = {name: scorer.by_group(split) for name, split in splits.items()}
        return Level(scorer.score(np.arange(count)), by_group, calibration)

    def _stage(self, stage: str, count: int) -> Callable[[int], object]:
        self.report(stage, 0, count)
        return lambda done: self.report(stage, done, count)


def drawn(puzzles: int, most: int | None, key: jax.Array | int) -> Any:
    """The numbers of at most so many of the puzzles, in order, drawn by a key; all for None."""
    if most is None or puzzles <= most:
        return slice(None)
    random = _generator(jax.random.fold_in(as_key(key), puzzles))  # other numbers than those of the positions
    return np.sort(random.choice(puzzles, most, replace=False))


def _generator(key: jax.Array | int) -> np.random.Generator:
    """A numpy generator from a JAX key or a seed."""
    return np.random.default_rng(np.asarray(jax.random.key_data(as_key(key))))


# ---------------------------------------------------------------------- progress


def shown_on(screen: Screen) -> Progress:
    """A callback that shows the progress of each stage on a screen."""
    meters: dict[str, Meter] = {}

    def show(stage: str, done: int, count: int) -> None:
        meter = meters.setdefault(stage, Meter("positions" if stage.endswith("value") else "puzzles"))
        screen.show(f"{meter.line(done, count)}; {stage}", now=not done, task=True)

    return show


# ---------------------------------------------------------------------- solvers


class Truth(NamedTuple):
    """Solutions of the puzzles that have exactly one.

    Attributes:
      kept: bool[N], the puzzles with exactly one solution.
      solutions: uint8[kept, cells].
      left_out: the number of other puzzles, by the reason.
    """

    kept: np.ndarray
    solutions: np.ndarray
    left_out: dict[str, int]


def find_solutions(
    board: Board,
    puzzles: np.ndarray,
    given: np.ndarray | None = None,
    report: terminal.Report = lambda done, count: None,
) -> Truth:
    """Solves puzzles uint8[N, cells] and keeps those with exactly one solution.

    Args:
      board: the board.
      puzzles: the puzzles.
      given: uint8[N, cells], solutions to compare with, zeros for unknown ones; or None.
      report: called with the number of puzzles that are solved, and of all.

    Raises:
      ValueError: a given solution is not that of its puzzle; the message names some rows.
    """
    found, left_out = count_solutions(board, puzzles, report)
    kept = found.counts == 1
    if given is not None:
        known = kept & given.any(axis=1)
        if wrong := np.flatnonzero(known & (given != found.grids).any(axis=1)).tolist():
            named = [*map(str, wrong[:_NAMED]), *(["..."] if len(wrong) > _NAMED else [])]
            raise ValueError(
                f"{len(wrong)} of {len(puzzles)} solutions do not solve their puzzles: rows {', '.join(named)}"
            )
    left_out["with several solutions"] = int(np.count_nonzero(found.counts > 1))
    return Truth(kept, found.grids[kept], left_out)


def count_solutions(
    board: Board, puzzles: np.ndarray, report: terminal.Report = lambda done, count: None
) -> tuple[Any, dict[str, int]]:
    """Counts the solutions of puzzles uint8[N, cells], up to two; as ``CountKernel``.

    Returns:
      the counts, with a solution of each puzzle; and the number of puzzles without any, by the reason.
    """
    found = Engine(CountKernel(ExactConfig()), board).run(puzzles, report)
    left_out = {
        "with clashing givens": int(np.count_nonzero(found.status == Status.INVALID)),
        "without a solution": int(np.count_nonzero(found.status == Status.UNSATISFIABLE)),
    }
    return found, left_out


def solve_iteratively(
    network: Network,
    puzzles: np.ndarray,
    rules: str,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    progress: terminal.Report | None = None,
) -> Decoded:
    """Solves puzzles uint8[N, cells] by iterative decoding with a network; ``progress`` as in ``solve``."""
    options: dict[str, Any] = {"solver": "iterative", "network": network, "rules": rules}
    if batch_size is not None:
        options["lanes"] = -(-batch_size // GROUP) * GROUP
    solution: Any = driver.solve(puzzles, network.board, key=key, progress=progress, **options)
    # a puzzle that the rules solve counts one iteration, and no call
    calls = solution.stats["network_calls"]
    return Decoded(solution.status == Status.SOLVED, np.where(calls > 0, solution.iterations, 0), calls)
