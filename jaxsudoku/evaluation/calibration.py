"""Calibration of the value, on positions that have a solution and on others that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.host_rules import allowed_candidates
from jaxsudoku.networks import Network

from .forward import predict
from .report import Bin, Calibration

#: Bins of the reliability table, of equal width.
BINS = 10
#: Positions that are made at a time, which bounds the memory.
_CHUNK = 4096


class Positions(NamedTuple):
    """Partly filled puzzles.

    Attributes:
      grids: uint8[P, cells], 0 = empty; no house holds a digit twice.
      alive: bool[P], whether there is a solution.
    """

    grids: np.ndarray
    alive: np.ndarray


def make_positions(
    board: Board, puzzles: np.ndarray, solutions: np.ndarray, count: int, rng: np.random.Generator
) -> Positions:
    """Makes positions from puzzles with one solution each: some open cells are filled, at least one stays open.

    The number of filled cells is log-uniform, as after many of them the rules settle the rest. All digits are right in
    half of the positions, drawn at random. The others also get a wrong digit in an open cell, one that no house of the
    cell holds; they have no solution, as the puzzle has only one. All puzzles are used about equally often.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty; cells that rules fix beyond the givens may be filled.
      solutions: uint8[N, cells].
      count: number of positions; fewer are made if no wrong digit fits, none if no puzzle has an open cell.
      rng: a numpy generator.
    """
    usable = np.flatnonzero((puzzles == 0).any(axis=1))
    rounds = -(-count // max(1, len(usable)))
    chosen = np.concatenate([rng.permutation(usable) for _ in range(rounds)], dtype=np.int64)[:count]
    parts = [Positions(np.zeros((0, board.cells), np.uint8), np.zeros(0, bool))]
    for start in range(0, len(chosen), _CHUNK):
        rows = chosen[start : start + _CHUNK]
        parts.append(_fill(board, puzzles[rows], solutions[rows], rng))
    return Positions(*map(np.concatenate, zip(*parts, strict=True)))


def calibrate(
    network: Network,
    positions: Positions,
    rules: str,
    batch_size: int | None = None,
    progress: Callable[[int], object] = lambda done: None,
) -> Calibration:
    """Measures the value on the positions that rules neither refute nor solve; arguments as in ``forward.predict``."""
    if not len(positions.grids):
        return measure(np.zeros(0), np.zeros(0, bool))
    found = predict(network, positions.grids, rules, batch_size, progress)
    is_open = ~(found.refuted | found.solved)
    return measure(found.value[is_open], positions.alive[is_open], int(found.refuted.sum()), int(found.solved.sum()))


def measure(log_odds: np.ndarray, alive: np.ndarray, refuted: int = 0, solved: int = 0) -> Calibration:
    """How well log-odds float[P] predict ``alive`` bool[P]; ``refuted`` and ``solved`` are copied to the result."""
    if not len(alive):
        return Calibration(0, refuted, solved, None, None, None, None, ())
    log_odds = np.asarray(log_odds, np.float64)
    # from the log-odds, as the logarithm of a probability may be that of a rounded 0
    log_loss = np.logaddexp(0, np.where(alive, -log_odds, log_odds))
    probability = np.exp(-np.logaddexp(0, -log_odds))
    return Calibration(
        positions=len(alive),
        refuted=refuted,
        solved=solved,
        alive=float(alive.mean()),
        brier=float(np.square(probability - alive).mean()),
        log_loss=float(log_loss.mean()),
        auc=area_under_curve(log_odds, alive),
        bins=_bins(probability, alive),
    )


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """The area under the ROC curve of scores float[P] for positive bool[P]; None if one of the classes is empty.

    It is the Mann-Whitney statistic over the number of pairs; equal scores share the mean of their ranks.
    """
    positives = int(np.count_nonzero(positive))
    pairs = positives * (len(positive) - positives)
    if not pairs:
        return None
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[place.reshape(-1)]
    return float((ranks[positive].sum() - positives * (positives + 1) / 2) / pairs)


def _bins(probability: np.ndarray, alive: np.ndarray) -> tuple[Bin, ...]:
    number = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    return tuple(
        Bin(
            lower=at / BINS,
            upper=(at + 1) / BINS,
            positions=int(np.count_nonzero(number == at)),
            predicted=float(probability[number == at].mean()),
            observed=float(alive[number == at].mean()),
        )
        for at in np.unique(number).tolist()
    )


def _fill(board: Board, puzzles: np.ndarray, solutions: np.ndarray, rng: np.random.Generator) -> Positions:
    """One position of each puzzle."""
    count = len(puzzles)
    rows = np.arange(count)
    empty = puzzles == 0
    order = np.argsort(np.where(empty, rng.random(puzzles.shape), 2), axis=1)  # open cells first, at random
    fillings = np.floor(empty.sum(axis=1) ** rng.random(count)).astype(np.int64) - 1
    filled = np.zeros_like(empty)
    filled[rows[:, None], order] = np.arange(board.cells) < fillings[:, None]
    grids = np.where(filled, solutions, puzzles)

    fits = np.moveaxis(allowed_candidates(grids, board), 1, 2) & (grids == 0)[:, :, None]
    fits[rows[:, None], np.arange(board.cells), solutions.astype(np.int64) - 1] = False
    priority = np.where(fits, rng.random(fits.shape, np.float32), np.float32(-1)).reshape(count, -1)
    cell, digit = np.divmod(priority.argmax(axis=1), board.side)  # a random wrong candidate
    alive = rng.random(count) < 0.5
    wrong = np.flatnonzero(~alive)
    grids[wrong, cell[wrong]] = digit[wrong] + 1
    kept = alive | (priority.max(axis=1) >= 0)
    return Positions(grids[kept], alive[kept])
