"""Whether the value can be believed: what it says of positions that have a solution, and of others that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsudoku.board import Board
from jaxsudoku.networks import Network

from .forward import look
from .report import Bin, Calibration

#: Bins of the reliability table, of equal width.
BINS = 10
#: Positions that are made together, which bounds the memory that it takes.
_TOGETHER = 4096


class Positions(NamedTuple):
    """Puzzles filled in part.

    Attributes:
      grids: uint8[P, cells], 0 = empty; no house holds a digit twice.
      alive: bool[P], whether there is a solution.
    """

    grids: np.ndarray
    alive: np.ndarray


def make_positions(
    board: Board, puzzles: np.ndarray, solutions: np.ndarray, count: int, rng: np.random.Generator
) -> Positions:
    """Positions of puzzles that have one solution each, some of their cells filled and at least one open.

    The number of cells filled is log-uniform, as after many of them the rules settle the rest. Half of the positions,
    by chance, get right digits alone. The others get a wrong digit as well, one that no house of its cell holds, in an
    open cell; they have no solution, as that of the puzzle is the only one. Every puzzle serves about as often as any
    other.

    Args:
      board: the board.
      puzzles: uint8[N, cells], 0 = empty; what rules fix beyond the givens may be filled in.
      solutions: uint8[N, cells].
      count: how many to make; they are fewer where no wrong digit fits, none where no puzzle has an open cell.
      rng: numpy's randomness.
    """
    usable = np.flatnonzero((puzzles == 0).any(axis=1))
    rounds = -(-count // max(1, len(usable)))
    chosen = np.concatenate([rng.permutation(usable) for _ in range(rounds)], dtype=np.int64)[:count]
    starts = range(0, len(chosen), _TOGETHER)
    made = [
        _fill(board, puzzles[rows], solutions[rows], rng)
        for rows in (chosen[start : start + _TOGETHER] for start in starts)
    ]
    nothing = Positions(np.zeros((0, board.cells), np.uint8), np.zeros(0, bool))
    return Positions(*map(np.concatenate, zip(nothing, *made, strict=True)))


def calibrate(
    network: Network,
    positions: Positions,
    rules: str,
    batch_size: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Calibration:
    """What the value says of those positions that rules neither refute nor solve; arguments as in ``forward.look``."""
    if not len(positions.grids):
        return measure(np.zeros(0), np.zeros(0, bool))
    seen = look(network, positions.grids, rules, batch_size, progress)
    asked = ~(seen.refuted | seen.solved)
    return measure(seen.value[asked], positions.alive[asked], int(seen.refuted.sum()), int(seen.solved.sum()))


def measure(log_odds: np.ndarray, alive: np.ndarray, refuted: int = 0, solved: int = 0) -> Calibration:
    """How well log-odds float[P] foretell what is alive, bool[P]; the other counts are put into the result."""
    if not len(alive):
        return Calibration(0, refuted, solved, None, None, None, None, ())
    log_odds = np.asarray(log_odds, np.float64)
    # of the chance of the outcome, by its own log-odds: no logarithm of a rounded 0
    log_loss = np.logaddexp(0, np.where(alive, -log_odds, log_odds))
    chance = np.exp(-np.logaddexp(0, -log_odds))
    return Calibration(
        positions=len(alive),
        refuted=refuted,
        solved=solved,
        alive=float(alive.mean()),
        brier=float(np.square(chance - alive).mean()),
        log_loss=float(log_loss.mean()),
        auc=area_under_curve(log_odds, alive),
        bins=_bins(chance, alive),
    )


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """The area under the ROC curve of scores float[P] for positive bool[P], from ranks; None without one of the kinds.

    It is the statistic of Mann and Whitney over the number of pairs; equal scores share the mean of their ranks.
    """
    positives = int(np.count_nonzero(positive))
    pairs = positives * (len(positive) - positives)
    if not pairs:
        return None
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[place.reshape(-1)]
    return float((ranks[positive].sum() - positives * (positives + 1) / 2) / pairs)


def _bins(chance: np.ndarray, alive: np.ndarray) -> tuple[Bin, ...]:
    number = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    return tuple(
        Bin(
            lower=at / BINS,
            upper=(at + 1) / BINS,
            positions=int(np.count_nonzero(number == at)),
            predicted=float(chance[number == at].mean()),
            observed=float(alive[number == at].mean()),
        )
        for at in np.unique(number).tolist()
    )


def _fill(board: Board, puzzles: np.ndarray, solutions: np.ndarray, rng: np.random.Generator) -> Positions:
    """A position of each puzzle."""
    count = len(puzzles)
    rows = np.arange(count)
    empty = puzzles == 0
    order = np.argsort(np.where(empty, rng.random(puzzles.shape), 2), axis=1)  # open cells first, at random
    fillings = np.floor(empty.sum(axis=1) ** rng.random(count)).astype(np.int64) - 1
    filled = np.zeros_like(empty)
    filled[rows[:, None], order] = np.arange(board.cells) < fillings[:, None]
    grids = np.where(filled, solutions, puzzles)

    fits = _fitting(board, grids)
    fits[rows[:, None], np.arange(board.cells), solutions.astype(np.int64) - 1] = False
    chance = np.where(fits, rng.random(fits.shape, np.float32), np.float32(-1)).reshape(count, -1)
    cell, digit = np.divmod(chance.argmax(axis=1), board.side)
    alive = rng.random(count) < 0.5
    spoilt = np.flatnonzero(~alive)
    grids[spoilt, cell[spoilt]] = digit[spoilt] + 1
    kept = alive | (chance.max(axis=1) >= 0)
    return Positions(grids[kept], alive[kept])


def _fitting(board: Board, grids: np.ndarray) -> np.ndarray:
    """Digits that would repeat none in a house: bool[n, cells, side], in open cells alone."""
    held = grids[:, :, None] == np.arange(1, board.side + 1)
    fits = np.repeat((grids == 0)[:, :, None], board.side, axis=2)
    for house in map(list, board.houses):
        fits[:, house] &= ~held[:, house].any(axis=1, keepdims=True)
    return fits
