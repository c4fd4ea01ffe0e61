"""Puzzles without end: proper ones from random solved grids, to a number of clues, minimal, or of a wished rating.

A puzzle starts as a random solved grid under a random symmetry of its board. Its cells are blanked in random order,
each for good if no other solution comes up, until the wished number of clues is left or no clue can go (the puzzle is
then minimal). From there a search of the neighbourhood may lead on: put back a few clues, blank again, keep what is
better.

Each puzzle depends on the key, its index and its attempt alone, whatever the batch.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsudoku import exact, rating, symmetry
from jaxsudoku.batches import Engine, default_batch_size
from jaxsudoku.board import Board
from jaxsudoku.fill import random_grids
from jaxsudoku.solution import Status

#: Attempts at each puzzle before generation gives up.
ATTEMPTS = 200
#: Attempts that are made at a time once few 9x9 puzzles are missing; fewer on wider boards, where each costs more, and
#: with steps, which make each a long one.
_TOGETHER, _TOGETHER_WITH_STEPS = 1024, 256
#: Steps in the neighbourhood that an attempt makes by default where ratings are bounded from below.
_RATING_STEPS = 256
#: The number of an item that fills up a batch.
_PADDING = 0xFFFFFFFF
#: Clues that a step in the neighbourhood puts back.
_PUT_BACK = 3
#: The fewest clues of a puzzle with one solution, where that is proved: 17 on 9x9 by McGuire, Tugemann and Civario,
#: "There is no 16-clue Sudoku" (2014), 4 on 4x4 by going through all puzzles.
_FEWEST_CLUES = {Board.classic(4): 4, Board.classic(9): 17}
#: The most clues that a minimal puzzle is known to have; that there are none with more is not proved.
_MOST_CLUES = {Board.classic(9): 40}
#: Nodes after which a proof of uniqueness is given up, and the clue kept; boards below 12x12 never need as many.
_PROOF_BUDGET = 20_000


class Puzzles(NamedTuple):
    """Generated puzzles.

    Attributes:
      puzzles: uint8[N, cells], 0 = empty; each has exactly one solution.
      solutions: uint8[N, cells].
      clues: int32[N], cells that are given.
      rating: float32[N], as ``rate`` gives it.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    clues: np.ndarray
    rating: np.ndarray


class GenerationError(RuntimeError):
    """Not all wished puzzles were found within the attempts.

    Attributes:
      found: ``Puzzles``, those that were.
    """

    def __init__(self, message: str, found: Puzzles) -> None:
        super().__init__(message)
        self.found = found


@dataclasses.dataclass(frozen=True)
class GenerateConfig:
    """What puzzles are wished for.

    Attributes:
      clues: number of clues, or (fewest, most), each None where there is no bound; None for whatever a minimal puzzle
        has. Of a range a number is drawn evenly for each puzzle, which then has so many clues or, if it became minimal
        before, more.
      minimal: whether no clue may be superfluous; always so where no number of clues is wished for. Under a pattern: no
        set of clues that belong together. From 12x12 up: as far as proofs go that take 20,000 nodes.
      rating: (lowest, highest) rating, each None where there is no bound.
      pattern: a symmetry of the places of clues, one of ``PATTERNS``.
      steps: steps of the search in the neighbourhood that each attempt makes towards fewer clues or a higher rating;
        None for 256 where the rating is bounded from below, else 0.
      attempts: attempts at each puzzle before giving up.
    """

    clues: int | tuple[int | None, int | None] | None = None
    minimal: bool = False
    rating: tuple[float | None, float | None] | None = None
    pattern: str = "none"
    steps: int | None = None
    attempts: int = ATTEMPTS

    def __post_init__(self) -> None:
        # lists are welcome, as JSON has them
        for name in ("clues", "rating"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.rating is not None and not (isinstance(self.rating, tuple) and len(self.rating) == 2):
            raise ValueError(f"rating must be a range from low to high, not {self.rating}")
        ends = self.clues if isinstance(self.clues, tuple) else (self.clues, self.clues)
        if len(ends) != 2 or not all(end is None or isinstance(end, int | np.integer) for end in ends):
            raise ValueError(f"clues must be a whole number or a range of two, not {self.clues}")
        fewest, most = self.clue_range(1 << 30)
        if not 0 <= fewest <= most:
            raise ValueError(f"clues must be a number or a range from few to many, not {self.clues}")
        low, high = self.rating_range()
        if not low <= high:
            raise ValueError(f"rating must be a range from low to high, not {self.rating}")
        if self.pattern not in PATTERNS:
            raise ValueError(f"unknown pattern {self.pattern!r}: choose one of {', '.join(PATTERNS)}")
        if self.steps is not None and self.steps < 0:
            raise ValueError(f"steps must be at least 0, not {self.steps}")
        if self.steps and self.rating_range()[0] <= 0 and most == 1 << 30:
            raise ValueError("steps lead to fewer clues or a higher rating: bound the clues above or the rating below")
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {self.attempts}")

    def clue_range(self, cells: int) -> tuple[int, int]:
        """The fewest and the most clues."""
        low, high = self.clues if isinstance(self.clues, tuple) else (self.clues, self.clues)
        return 0 if low is None else low, cells if high is None else high

    def rating_range(self) -> tuple[float, float]:
        """The lowest and the highest rating."""
        low, high = self.rating or (None, None)
        return (0.0 if low is None else float(low), math.inf if high is None else float(high))

    @property
    def exhaustive(self) -> bool:
        """Whether clues are taken away until none can go."""
        return self.minimal or self.clues is None

    @property
    def neighbourhood_steps(self) -> int:
        """Steps of the search in the neighbourhood."""
        if self.steps is not None:
            return self.steps
        return _RATING_STEPS if self.rating_range()[0] > 0 else 0


def generate(
    key: Array | int,
    count: int,
    board: Board | None = None,
    *,
    first: int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    **wishes: object,
) -> Puzzles:
    """Generates puzzles with exactly one solution each, on all devices and cores.

    Args:
      key: a JAX key or a seed.
      count: how many.
      board: the board; the classic 9x9 one by default.
      first: index of the first puzzle: ``generate(key, 10, first=5)`` gives the last ten of ``generate(key, 15)``.
      batch_size: puzzles on a device at a time; by default as many as suit the machine.
      devices: the devices to use; by default all of the default backend.
      **wishes: fields of ``GenerateConfig``: ``clues``, ``minimal``, ``rating``, ``pattern``, ``steps``, ``attempts``.

    Returns:
      ``Puzzles``, in an order and with contents that depend on key and indices alone.

    Raises:
      ValueError: wishes that make no sense, or that no puzzle of the board can fulfil, such as 16 clues on 9x9.
      GenerationError: too many attempts failed, as for 17 clues on a 9x9 board; it has what was found.
    """
    if count < 0:
        raise ValueError(f"count must be at least 0, not {count}")
    board = board or Board.classic()
    config = GenerateConfig(**wishes)  # type: ignore[arg-type]
    return Generator(key, board, config, batch_size, devices).make(first, count)


class Generator:
    """Makes any stretch of an endless, numbered sequence of puzzles.

    Args:
      key: a JAX key or a seed.
      board: the board.
      config: the wishes.
      batch_size, devices: as in ``generate``.

    Raises:
      ValueError: wishes that no puzzle of the board can fulfil.
    """

    def __init__(
        self,
        key: Array | int,
        board: Board,
        config: GenerateConfig,
        batch_size: int | None = None,
        devices: Sequence[jax.Device] | None = None,
    ) -> None:
        _check_clues(board, config)
        self.board, self.config = board, config
        devices = tuple(devices if devices is not None else jax.local_devices())
        if batch_size is None and devices:
            batch_size = max(default_batch_size(board, devices) // 8, 64 * len(devices))
        kernel = _Attempt(config.pattern, config.neighbourhood_steps)
        self._engine = Engine(kernel, board, key, batch_size, devices)
        #: Puzzles that are made at a time without a core or device having to wait.
        self.stretch = self._engine.batch_size * self._engine.workers
        if config.neighbourhood_steps:  # these take long, and should be seen
            self.stretch = max(self.stretch // 64, 1)

    def make(self, first: int, count: int) -> Puzzles:
        """The puzzles numbered from ``first`` on; raises ``GenerationError`` as ``generate`` does."""
        if first < 0 or first + count > _PADDING:
            raise ValueError(f"puzzles are numbered from 0 to {_PADDING - 1}, not {first} to {first + count - 1}")
        cells = self.board.cells
        found = Puzzles(
            np.zeros((count, cells), np.uint8), np.zeros((count, cells), np.uint8), np.zeros(count, np.int32),
            np.zeros(count, np.float32),
        )  # fmt: skip
        rows = _TOGETHER_WITH_STEPS if self.config.neighbourhood_steps else _TOGETHER
        rows = int(rows * (9 / self.board.side) ** 6)
        missing, attempt = np.arange(count), 0
        while len(missing) and attempt < self.config.attempts:
            # the first attempt mostly does; then several at a time, of which the first to succeed counts
            together = min(max(rows // len(missing), 1), self.config.attempts - attempt) if attempt else 1
            made = self._engine.run(self._rows(np.tile(first + missing, together), attempt, together))
            good = self._is_wished(made).reshape(together, -1)
            winner = good.argmax(axis=0) * len(missing) + np.arange(len(missing))
            settled = good.any(axis=0)
            for whole, part in zip(found, made, strict=True):
                whole[missing[settled]] = part[winner[settled]]
            missing, attempt = missing[~settled], attempt + together
        if not len(missing):
            return found
        kept = np.setdiff1d(np.arange(count), missing)
        raise GenerationError(
            f"{len(kept)} of {count} puzzles found: {self.config.attempts} attempts at each of the others failed "
            f"({self._wishes()} on {self.board})",
            Puzzles(*(part[kept] for part in found)),
        )

    def _rows(self, numbers: np.ndarray, attempt: int, together: int) -> np.ndarray:
        """Items of so many attempts, from ``attempt`` on, one after the other, at the puzzles ``numbers``."""
        fewest, most = self.config.clue_range(self.board.cells)
        exhaustive = self.config.exhaustive
        low, _ = self.config.rating_range()
        row = _Row(
            number=numbers,
            attempt=attempt + np.arange(together).repeat(len(numbers) // together),
            fewest=0 if exhaustive else fewest,
            most=0 if exhaustive else most,
            enough=most,
            goal=np.float32(low).view(np.uint32),
        )
        return np.stack(np.broadcast_arrays(*row), axis=1).astype(np.uint32)

    def _is_wished(self, made: Puzzles) -> np.ndarray:
        fewest, most = self.config.clue_range(self.board.cells)
        low, high = self.config.rating_range()
        wished = made.solutions.any(axis=1) & (made.clues >= fewest) & (made.clues <= most)
        return wished & (made.rating >= low) & (made.rating <= high)

    def _wishes(self) -> str:
        fewest, most = self.config.clue_range(self.board.cells)
        low, high = self.config.rating_range()
        wishes = ["minimal"] * self.config.exhaustive
        if self.config.clues is not None:
            wishes.append(f"{fewest} clues" if fewest == most else f"{fewest} to {most} clues")
        if self.config.rating is not None:
            wishes.append(f"rating from {low:g}" + (f" to {high:g}" if high < math.inf else ""))
        if self.config.pattern != "none":
            wishes.append(f"pattern {self.config.pattern}")
        return ", ".join(wishes)


def fewest_clues(board: Board) -> int:
    """A number of clues below which no puzzle has one solution: the fewest where that is proved, else a safe bound.

    Where two digits are missing among the clues, swapping them makes another solution of any; so all but one occur.
    """
    return _FEWEST_CLUES.get(board, board.side - 1)


def most_minimal_clues(board: Board) -> int:
    """A number of clues that no known minimal puzzle exceeds: the most known, else a safe bound.

    A clue that completes its row is superfluous, so each row has an empty cell.
    """
    return _MOST_CLUES.get(board, board.cells - board.side)


def _check_clues(board: Board, config: GenerateConfig) -> None:
    """Raises ValueError with the reason if no puzzle of the board can have the wished clues."""
    fewest, most = config.clue_range(board.cells)
    if most > board.cells:
        raise ValueError(f"{most} clues; a board of {board} has {board.cells} cells")
    wished = f"{most} clues" if fewest == most else f"{fewest} to {most} clues"
    least = fewest_clues(board)
    if most < least:
        proved = board in _FEWEST_CLUES
        reason = "as is proved" if proved else "for two digits without a clue could be swapped"
        raise ValueError(f"{wished}: no puzzle of {board} with fewer than {least} has one solution, {reason}")
    # with a pattern, a clue that completes its row may belong to one that is needed
    largest = most_minimal_clues(board) if config.exhaustive and config.pattern == "none" else board.cells
    if fewest > largest:
        known = board in _MOST_CLUES
        reason = "is known" if known else "can be: a clue that completes its row is superfluous"
        raise ValueError(f"{wished}: no minimal puzzle of {board} with more than {largest} {reason}")
    if not any(max(fewest, least) <= clues <= most for clues in _reachable(board, config.pattern)):
        raise ValueError(f"no {fewest} to {most} clues of a board of {board} make the pattern {config.pattern}")


class _Row(NamedTuple):
    """An item of the kernel, as uint32 each.

    Attributes:
      number, attempt: which puzzle, and the how manieth try at it.
      fewest, most: the range from which the number of clues at which blanking ends is drawn.
      enough: number of clues from which on fewer are not sought.
      goal: the bits of the float32 rating from which on a higher one is not sought.
    """

    number: Any
    attempt: Any
    fewest: Any
    most: Any
    enough: Any
    goal: Any


@dataclasses.dataclass(frozen=True)
class _Attempt:
    """The kernel: an attempt at each puzzle of a batch."""

    pattern: str
    steps: int
    lanes: int = exact.CPU_LANES

    def fit(self, board: Board, platform: str) -> _Attempt:
        return dataclasses.replace(self, lanes=exact.fitting_lanes(board, platform))

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((len(_Row._fields),), np.uint32)

    def bytes_beside(self, board: Board) -> int:
        return 0

    def __call__(self, board: Board, rows: Array, key: Array, number: Array, /) -> Puzzles:
        row = _Row(*rows.T)
        keys = jax.vmap(functools.partial(_keys, key))(row.number, row.attempt)
        solutions = random_grids(board, _bits(keys.grid, 2), self.lanes)
        chosen = jax.vmap(lambda one: symmetry.sample(one, board))(keys.symmetry)
        solutions = symmetry.apply(chosen, solutions)
        # batches are padded with rows of the largest numbers, and a board may have no solved grid
        wanted = (row.number != np.uint32(_PADDING)) & solutions.any(axis=1)
        solutions = jnp.where(wanted[:, None], solutions, 0)
        floor = (row.fewest + _bits(keys.clues) % (row.most - row.fewest + 1)).astype(jnp.int32)
        ranks = _bits(keys.order, len(_orbits(board, self.pattern)))
        puzzles = reduce_clues(board, solutions, solutions, ranks, floor, pattern=self.pattern, lanes=self.lanes)
        seed = jax.random.bits(key, (2,), jnp.uint32)
        ratings = rating.branch_nodes(board, _or_invalid(puzzles, wanted), seed, lanes=self.lanes)
        if self.steps:
            puzzles, ratings = self._climb(board, row, solutions, puzzles, ratings, keys.steps, floor, seed)
        return Puzzles(puzzles, solutions, _clues(puzzles), ratings)  # type: ignore[arg-type]

    def _climb(
        self,
        board: Board,
        row: _Row,
        solutions: Array,
        puzzles: Array,
        ratings: Array,
        keys: Array,
        floor: Array,
        seed: Array,
    ) -> tuple[Array, Array]:
        """Searches the neighbourhood, first for few enough clues, then for the rating; never goes back."""
        enough = row.enough.astype(jnp.int32)
        goal = lax.bitcast_convert_type(row.goal, jnp.float32)
        orbits = len(_orbits(board, self.pattern))

        def is_seeking(puzzles: Array, ratings: Array) -> Array:
            return solutions.any(axis=1) & ((_clues(puzzles) > enough) | ~(ratings >= goal))

        def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            number, before, ratings = state
            excess = jnp.maximum(_clues(before) - enough, 0)
            seeking = is_seeking(before, ratings)
            order, back = jnp.moveaxis(
                jax.vmap(lambda one: jax.random.bits(jax.random.fold_in(one, number), (2, orbits), jnp.uint32))(keys),
                1, 0,
            )  # fmt: skip
            more = _put_back(board, solutions, before, back, self.pattern)
            # what was put back has its turn last, or it would only go again
            late = _in_turn(order, _given(board, before, self.pattern))
            after = reduce_clues(
                board, solutions, jnp.where(seeking[:, None], more, 0), late, floor, pattern=self.pattern,
                lanes=self.lanes,
            )  # fmt: skip
            new_excess = jnp.maximum(_clues(after) - enough, 0)
            new_ratings = rating.branch_nodes(board, _or_invalid(after, seeking), seed, lanes=self.lanes)
            as_good = (new_excess == excess) & jnp.where(excess > 0, True, new_ratings >= ratings)
            better = seeking & ((new_excess < excess) | as_good)
            kept = jnp.where(better[:, None], after, before)
            return number + 1, kept, jnp.where(better, new_ratings, ratings)

        return lax.while_loop(
            lambda state: (state[0] < self.steps) & is_seeking(*state[1:]).any(),
            step,
            (jnp.int32(0), puzzles, ratings),
        )[1:]


class _Keys(NamedTuple):
    """A puzzle's randomness, a key each."""

    grid: Array
    symmetry: Array
    clues: Array
    order: Array
    steps: Array


def _keys(key: Array, number: Array, attempt: Array) -> _Keys:
    return _Keys(*jax.random.split(jax.random.fold_in(jax.random.fold_in(key, number), attempt), len(_Keys._fields)))


def _bits(keys: Array, *shape: int) -> Array:
    """Random bits uint32[N, *shape] of keys [N]."""
    return jax.vmap(lambda key: jax.random.bits(key, shape, jnp.uint32))(keys)


def _clues(puzzles: Array) -> Array:
    return (puzzles > 0).sum(axis=1, dtype=jnp.int32)


def _or_invalid(puzzles: Array, wanted: Array) -> Array:
    """The puzzles, those not wanted replaced by some that are INVALID and cost no search."""
    return jnp.where(wanted[:, None], puzzles, 255)


def _in_turn(ranks: Array, first: Array) -> Array:
    """Random ranks uint32[N, m], lower where ``first``, bool[N, m], than elsewhere."""
    return jnp.where(first, ranks >> 1, ~(ranks >> 1))


# ---------------------------------------------------------------------- blanking


def reduce_clues(
    board: Board,
    solutions: Array,
    puzzles: Array,
    ranks: Array,
    floor: Array,
    *,
    pattern: str = "none",
    lanes: int = exact.CPU_LANES,
) -> Array:
    """Blanks clues one after the other, each for good if the puzzle stays proper; pure.

    With a floor of 0 the result is minimal: a clue that could not go when its turn came can't go later, with fewer
    others beside it. (Under a pattern: no set of clues that go together can.)

    Args:
      board: the board.
      solutions: uint8[N, cells], the solved grids.
      puzzles: uint8[N, cells], proper puzzles that they solve; a puzzle without clues is left alone.
      ranks: uint32[N, m], the order in which the m sets of places of the pattern (for "none": the cells) have their
        turn, the lowest first.
      floor: int32[N], clues below which a puzzle does not go.
      pattern: one of ``PATTERNS``; places that it maps to one another are blanked together.
      lanes: nodes in a step of the search, a multiple of 32.

    Returns:
      uint8[N, cells].
    """
    orbits = jnp.asarray(_orbits(board, pattern))
    size, together = puzzles.shape[0], orbits.shape[1]
    given = _given(board, puzzles, pattern)
    # the sets that hold clues come first
    turns = jnp.argsort(_in_turn(ranks, given), axis=1)
    last = given.sum(axis=1, dtype=jnp.int32)
    most = jnp.max(last, initial=0)
    everyone = jnp.arange(size)[:, None]
    budget = None if board.side < 12 else _PROOF_BUDGET

    def turn(state: tuple[Array, Array]) -> tuple[Array, Array]:
        number, puzzles = state
        places = orbits[lax.dynamic_index_in_dim(turns, number, axis=1, keepdims=False)]
        trial = puzzles.at[everyone, places].set(0, mode="drop")
        active = (number < last) & (_clues(trial) >= floor)
        asked = _or_invalid(trial, active)
        if together == 1:
            # is there another solution, with another digit in this place?
            barred = (
                jnp.zeros_like(puzzles)
                .at[everyone, places]
                .set(jnp.take_along_axis(solutions, places, axis=1), mode="drop")
            )
            found = exact.search(board, asked, None, barred, budget=budget, lanes=lanes)
            proper = found.status == Status.UNSATISFIABLE
        else:
            found = exact.search(board, asked, limit=2, budget=budget, lanes=lanes)
            proper = (found.counts == 1) & (found.status == Status.SOLVED)
        if budget is not None:  # a proof that took longer may have been cut off in another batch
            proper &= found.iterations < budget
        return number + 1, jnp.where((active & proper)[:, None], trial, puzzles)

    return lax.while_loop(lambda state: state[0] < most, turn, (jnp.int32(0), puzzles))[1]


def _put_back(board: Board, solutions: Array, puzzles: Array, ranks: Array, pattern: str) -> Array:
    """The puzzles with a few more clues, those of the free places of lowest rank."""
    orbits = jnp.asarray(_orbits(board, pattern))
    free = ~_given(board, puzzles, pattern)
    chosen = jnp.argsort(_in_turn(ranks, free), axis=1)[:, :_PUT_BACK]
    places = orbits[chosen].reshape(puzzles.shape[0], -1)
    digits = jnp.take_along_axis(solutions, jnp.minimum(places, board.cells - 1), axis=1)
    return puzzles.at[jnp.arange(puzzles.shape[0])[:, None], places].set(digits, mode="drop")


def _given(board: Board, puzzles: Array, pattern: str) -> Array:
    """Which sets of places of the pattern hold clues, bool[N, m]."""
    return puzzles[:, _orbits(board, pattern)[:, 0]] > 0


# ---------------------------------------------------------------------- patterns

#: Symmetries of the places of clues, each by the maps of (row, column) of a board of side n that generate it.
PATTERNS = {
    "none": (),
    "half-turn": (lambda n, r, c: (n - 1 - r, n - 1 - c),),
    "quarter-turn": (lambda n, r, c: (c, n - 1 - r),),
    "left-right": (lambda n, r, c: (r, n - 1 - c),),
    "top-bottom": (lambda n, r, c: (n - 1 - r, c),),
    "diagonal": (lambda n, r, c: (c, r),),
    "antidiagonal": (lambda n, r, c: (n - 1 - c, n - 1 - r),),
    "full": (lambda n, r, c: (c, n - 1 - r), lambda n, r, c: (r, n - 1 - c)),
}


@functools.lru_cache(maxsize=64)
def _orbits(board: Board, pattern: str) -> np.ndarray:
    """The sets of places that a pattern maps to one another, int32[m, width]; filled up with ``cells``, no place."""
    side = board.side
    orbits: list[list[int]] = []
    seen: set[int] = set()
    for cell in range(board.cells):
        if cell in seen:
            continue
        orbit = [cell]
        for place in orbit:
            images = [move(side, *divmod(place, side)) for move in PATTERNS[pattern]]
            orbit += dict.fromkeys(r * side + c for r, c in images if r * side + c not in orbit)
        seen.update(orbit)
        orbits.append(orbit)
    width = max(map(len, orbits))
    return np.array([orbit + [board.cells] * (width - len(orbit)) for orbit in orbits], np.int32)


def _reachable(board: Board, pattern: str) -> list[int]:
    """The numbers of clues that a pattern allows, ascending."""
    sums = 1  # bit n: whether some sets of places have n in all
    for places in (_orbits(board, pattern) < board.cells).sum(axis=1).tolist():
        sums |= sums << places
    return [number for number in range(board.cells + 1) if sums >> number & 1]
