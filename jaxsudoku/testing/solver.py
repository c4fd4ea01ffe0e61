"""Conformance check of solvers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Cage, Chain, Distinct
from jaxsudoku.core.tuning import SolverConfig
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.networks import Network, for_board
from jaxsudoku.runtime.devices import compiler_options, kind
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import Solver, get, make_config

from . import plain
from .failing import require

#: Number of puzzles in the batch.
BATCH = 33


def check_solver(
    solver: Solver | str | Callable[..., Solution],
    config: SolverConfig | None = None,
    *,
    board: Board | None = None,
    network: Network | None = None,
    complete: bool = False,
    alone: bool = True,
) -> None:
    """Checks a solver on 33 puzzles, including ones with many solutions, none, clashing givens, or invalid values.

    - Arrays have the documented shapes and dtypes, also for an empty batch.
    - The grid of a SOLVED puzzle is a solution, INVALID puzzles are those with clashing givens, UNSATISFIABLE ones have
      no solution, and a full grid is SOLVED. A complete solver without a budget leaves no puzzle UNSOLVED.
    - A puzzle's answer depends neither on the other puzzles of the batch nor on the size of the batch: the grid of a
      puzzle with one solution, and the status of a complete solver.
    - The same key gives the same answer bit for bit, including all numbers.
    - Numbers are not negative; ``errors`` are 0 for SOLVED puzzles, above 0 for UNSOLVED ones, -1 for INVALID ones.
    - An entry that supports no constraints raises ValueError on a board with some.

    Args:
      solver: an entry of the registry, its name, or a function (board, puzzles, key, config), with the network, if any,
        as fifth argument.
      config: its settings; None for the defaults of an entry, and for a function without settings.
      board: the board, which may have constraints; None for the classic 4x4 and, for an entry, ``constrained`` too.
        Puzzles are solved by brute force, so wide boards take long.
      network: the network of a guided solver.
      complete: for a function, whether it always decides a puzzle; an entry has its own field.
      alone: whether some puzzles are also solved alone, for which the solver is compiled once more.

    Raises:
      AssertionError: a property fails; the message names it, and a puzzle.
      ValueError: a guided solver without a network, or an unknown name.
    """
    if isinstance(solver, str):
        solver = get(solver)
    boards = [board or Board.classic(4)]
    if board is None and isinstance(solver, Solver):
        boards.append(constrained())
    if not isinstance(solver, Solver):
        stats = () if network is None else ("network_calls",)
        config = SolverConfig() if config is None else config
        solver = Solver(getattr(solver, "__name__", "solver"), "", solver, type(config), complete, stats)
    if solver.guided and network is None:
        raise ValueError(f"the solver {solver.name} needs a network")
    for each in boards:
        if each.constraints and not solver.constraints:
            _check_refuses(solver, each)
        else:
            own = None if network is None else for_board(network, each)
            _check_on(each, solver, make_config(solver) if config is None else config, own, alone)


def _check_on(board: Board, solver: Solver, config: Any, network: Network | None, alone: bool) -> None:
    """``check_solver`` on a board that the solver supports."""
    settings = config.resolve(board, kind(jax.local_devices()[0]))
    program = jax.jit(function_of(solver, board, settings, network), compiler_options=compiler_options())

    def run(puzzles: np.ndarray, seed: int = 0) -> Solution[np.ndarray]:
        found = jax.tree.map(np.asarray, program(puzzles, as_key(seed)))
        return solver.complete_on_host(board, puzzles, None, found, settings)

    unlimited = solver.on_host is not None or getattr(settings, "budget", None) is None
    complete = solver.complete and unlimited and getattr(settings, "proves", True)
    check_answers(run, board, complete, solver.stats, alone)
    nothing = jax.ShapeDtypeStruct((0, board.cells), np.uint8)
    _check_kinds(jax.eval_shape(program, nothing, as_key(0)), board, 0, solver.stats)


def _check_refuses(solver: Solver, board: Board) -> None:
    nothing, key = jax.ShapeDtypeStruct((0, board.cells), np.uint8), as_key(0)
    try:
        jax.eval_shape(function_of(solver, board, make_config(solver), None), nothing, key)
    except ValueError:
        return
    require(False, f"the solver {solver.name} supports no constraints, but runs on a board that has some")


@functools.cache
def constrained() -> Board:
    """The 4x4 board with a thermometer, a cage, and a pair of different cells."""
    return Board.classic(4).with_(Chain((1, 6)), Cage((9, 10, 14), (8,)), Distinct((0, 7)))


def function_of(
    solver: Solver, board: Board, config: Any, network: Network | None
) -> Callable[[Any, jax.Array], Solution]:
    """A solver as a function of puzzles and a key."""
    given = (network,) if solver.guided else ()
    return lambda puzzles, key: solver.run(board, puzzles, key, config, *given)


def check_answers(
    run: Callable[..., Solution[np.ndarray]],
    board: Board,
    complete: bool,
    stats: tuple[str, ...] = (),
    alone: bool = True,
) -> None:
    """``check_solver`` for a function of puzzles uint8[B, cells] and a seed, 0 by default."""
    puzzles, counts = mixed(board)
    whole = run(puzzles)
    _check_kinds(whole, board, BATCH, stats)
    other = puzzles.copy()
    other[1::2] = np.roll(puzzles[1::2], 3, axis=0)
    half, one = np.arange(0, BATCH, 2), np.arange(0, BATCH, 4)
    beside = run(other).take(half)
    _check_same(whole.take(half), beside, puzzles[half], counts[half], complete, "the other puzzles of its batch")
    for puzzle, count, grid, status in zip(puzzles, counts, whole.grids, whole.status, strict=True):
        _check_answer(board, puzzle, count, grid, status, complete)
    _check_numbers(whole, puzzles)
    twice = [jax.tree.leaves(run(puzzles, 7)) for _ in range(2)]
    require(all(map(np.array_equal, *twice)), "two runs with the same key give different answers")
    if alone:
        parts = [run(puzzles[row : row + 1]) for row in one.tolist()]
        single = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        _check_same(whole.take(one), single, puzzles[one], counts[one], complete, "the size of its batch")


@functools.cache
def mixed(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """Puzzles uint8[33, cells], and the number of solutions of each, up to two.

    They have one solution, none or many, clash, or have a value above the side; one is a full grid.
    """
    puzzles = plain.batch(board, BATCH)
    puzzles[:16] = plain.unique(board, 16)
    puzzles[16] = 0
    puzzles[17, 1] = board.side + 1
    puzzles[18, 0] = 255
    puzzles[19, :2] = 1
    puzzles[20] = plain.full_grid(board, np.random.default_rng(0))
    puzzles[21] = 0
    if board.side <= 6:  # refuting it on a wider board may take long
        puzzles[21, 1 : board.side] = np.arange(1, board.side)  # the row's last digit is below its only place
        puzzles[21, (board.side - 1) * board.side] = board.side
    puzzles.flags.writeable = False
    return puzzles, np.array([plain.count(board, puzzle, 2) for puzzle in puzzles])


def _check_kinds(found: Solution, board: Board, size: int, stats: tuple[str, ...]) -> None:
    arrays = {**found._asdict(), **found.stats}
    del arrays["stats"]
    kinds = {name: f"{array.dtype}{list(array.shape)}" for name, array in arrays.items()}
    right = {"grids": f"uint8[{size}, {board.cells}]", "status": f"int8[{size}]"}
    right |= dict.fromkeys(("iterations", *stats), f"int32[{size}]")
    require(kinds == right, f"the answer to {size} puzzles is {kinds}, not {right}")


def _check_same(
    one: Solution, two: Solution, puzzles: np.ndarray, counts: np.ndarray, complete: bool, what: str
) -> None:
    """Checks that statuses of a complete solver, and grids of puzzles with one solution, are equal."""
    both = (one.status == Status.SOLVED) & (two.status == Status.SOLVED) & (counts == 1)
    unlike = both & (one.grids != two.grids).any(axis=1) | (complete & (one.status != two.status))
    for row in np.flatnonzero(unlike):
        words = f"the answer to a puzzle depends on {what}: status {one.status[row]} and {two.status[row]}"
        require(False, words, puzzle=puzzles[row], grid=one.grids[row], other=two.grids[row])


def _check_answer(
    board: Board, puzzle: np.ndarray, count: int, grid: np.ndarray, status: np.int8, complete: bool
) -> None:
    clash = plain.is_clash(board, puzzle)
    truth = Status.INVALID if clash else Status.SOLVED if count else Status.UNSATISFIABLE
    decided = complete or (puzzle.all() and not clash and count)
    right = {int(truth)} if decided else {int(truth), int(Status.UNSOLVED)}
    names = {each.value: each.name for each in Status}
    words = f"the status of a puzzle is {names.get(int(status), status)}, not {' or '.join(names[x] for x in right)}"
    require(status in right, words, puzzle=puzzle)
    solved = status != Status.SOLVED or plain.is_solution(board, grid, puzzle)
    require(solved, "a puzzle is SOLVED by a grid that is not a solution", puzzle=puzzle, grid=grid)


def _check_numbers(found: Solution, puzzles: np.ndarray) -> None:
    for name, numbers in {"iterations": found.iterations, **found.stats}.items():
        right = numbers >= 0
        if name == "errors":
            solved, invalid = found.status == Status.SOLVED, found.status == Status.INVALID
            right = ((numbers == 0) == solved) & np.where(invalid, numbers == -1, numbers >= -1)
            right &= (numbers > 0) | (found.status != Status.UNSOLVED)
        for row in np.flatnonzero(~right):
            words = f"{name} of a puzzle are {numbers[row]}, and its status is {found.status[row]}"
            require(False, words, puzzle=puzzles[row])
