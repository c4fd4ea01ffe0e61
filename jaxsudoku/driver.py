"""Puzzles solved and counted on all devices and cores: the host's side of the solvers."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxsudoku import solvers
from jaxsudoku.batches import Engine, TakesPuzzles, as_puzzles
from jaxsudoku.board import Board
from jaxsudoku.progress import Report, reports
from jaxsudoku.solution import Solution

if TYPE_CHECKING:
    from jaxsudoku.networks import Network

#: The network that guided solvers take unless another one is named.
NETWORK = "cube"


def solve(
    puzzles: Any,
    board: Board | None = None,
    *,
    solver: str = "exact",
    network: Network | str | os.PathLike[str] | None = None,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    **options: Any,
) -> Solution:
    """Solves puzzles on all devices, and on a CPU on all cores.

    The compiled program is kept on disk, in ``$XDG_CACHE_HOME/jaxsudoku`` or ``~/.cache/jaxsudoku``, so that another
    process need not compile it again. JAX's own settings of the persistent compilation cache are followed where the
    program or the environment has made any, and are left as they are; ``JAXSUDOKU_CACHE=0`` in the environment keeps
    nothing. The same holds for all that the library compiles.

    Args:
      puzzles: uint8[*b, cells] (or any integers), 0 = empty; one puzzle [cells] too.
      board: the board; by default the classic one of the puzzles' size.
      solver: a name in ``jaxsudoku.solvers.SOLVERS``.
      network: for a guided solver, the network: a ``networks.Network``, or the name or path of one's weights; "cube" by
        default. One whose architecture sees any board is made one of this board.
      key: a JAX key or a seed, for solvers that use randomness.
      batch_size: puzzles on a device at a time; by default as many as suit the machine.
      devices: the devices to use; by default all of the default backend.
      progress: called with the number of puzzles done and their count, at the start and after each batch; True shows a
        bar on the standard error.
      **options: fields of the solver's config, e.g. ``rules="singles"`` or ``budget=1000``.

    Returns:
      A ``Solution`` of numpy arrays: grids uint8[*b, cells], status int8[*b], iterations int32[*b], and network_calls
      int32[*b] of a guided solver, errors int32[*b] and history int32[*b, steps] of one that works on full grids, else
      None.

    Raises:
      ValueError: puzzles that do not fit the board, an unknown solver or option, a network that is none of this board,
        or one for a solver that takes none.
    """
    kernel = solve_kernel(solver, solvers.make_config(solvers.get(solver), **options))
    array, board = as_puzzles(puzzles, board)
    shared = networks_for(solver, network, board)
    return _run_array(kernel, array, board, key, batch_size, devices, progress, shared)


def networks_for(
    solver: str, network: Network | str | os.PathLike[str] | None, board: Board
) -> tuple[()] | tuple[Network]:
    """What a solver's kernel shares between batches: the network for a guided solver, and nothing for any other.

    Args:
      solver: the solver's name.
      network: as in ``solve``.
      board: the board.

    Raises:
      ValueError: a network for a solver that takes none, or one that is none of this board.
    """
    if not solvers.get(solver).guided:
        if network is not None:
            raise ValueError(f"the solver {solver} takes no network; those that do are {solvers.guided()}")
        return ()
    from jaxsudoku import networks  # which loads flax: a second that solvers without a network need not wait

    if network is None or isinstance(network, str | os.PathLike):
        network = networks.load_network(network or NETWORK, board)
    return (networks.for_board(network, board),)


def count_solutions(
    puzzles: Any,
    limit: int = 2,
    board: Board | None = None,
    *,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    **options: Any,
) -> np.ndarray:
    """Counts solutions up to a limit: 0 for none (or clashing givens), 1 proves uniqueness when the limit is above 1.

    Args:
      puzzles: uint8[*b, cells], 0 = empty.
      limit: stop at this many solutions of a puzzle.
      board, key, batch_size, devices, progress: as in ``solve``.
      **options: fields of ``ExactConfig`` but ``budget``.

    Returns:
      int32[*b].

    Raises:
      ValueError: as in ``solve``; a limit below 1, or a budget, with which a count would be none.
    """
    return _run_array(count_kernel(limit, **options), puzzles, board, key, batch_size, devices, progress)


# ---------------------------------------------------------------------- kernels


@dataclasses.dataclass(frozen=True)
class PuzzleKernel(TakesPuzzles):
    """A ``batches.Kernel`` that takes puzzles, uint8[B, cells]: a function of a solver and its settings.

    Attributes:
      function: (board, puzzles uint8[B, cells], key, solver, config, *arguments, *shared) to arrays with leading axis
        B.
      solver: the solver's name.
      config: its settings.
      arguments: further static, hashable arguments.
    """

    function: Callable[..., Any]
    solver: str
    config: Any
    arguments: tuple[Any, ...] = ()

    def fit(self, board: Board, platform: str) -> PuzzleKernel:
        """The kernel with the settings that suit a machine."""
        return dataclasses.replace(self, config=solvers.get(self.solver).fit(self.config, board, platform))

    def bytes_beside(self, board: Board) -> int:
        """What a puzzle's history takes, where one is recorded."""
        return 4 * getattr(self.config, "record", 0)

    def __call__(self, board: Board, puzzles: jax.Array, key: jax.Array, number: jax.Array, /, *shared: Any) -> Any:
        key = jax.random.fold_in(key, number)
        return self.function(board, puzzles, key, self.solver, self.config, *self.arguments, *shared)


def solve_kernel(solver: str, config: Any) -> PuzzleKernel:
    """Solves and judges; the kernel of a guided solver shares its network."""
    return PuzzleKernel(_solve_and_judge, solver, config)


def count_kernel(limit: int, **options: Any) -> PuzzleKernel:
    """Counts solutions up to ``limit``; int32[B]."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    if options.get("budget"):
        raise ValueError("a count under a budget would be no count; leave the budget out")
    return PuzzleKernel(_count, "exact", solvers.make_config(solvers.get("exact"), **options), (limit,))


def _solve_and_judge(
    board: Board, puzzles: jax.Array, key: jax.Array, solver: str, config: Any, *network: Network
) -> Solution:
    return solvers.judge(board, puzzles, solvers.get(solver).run(board, puzzles, key, config, *network))


def _count(board: Board, puzzles: jax.Array, key: jax.Array, solver: str, config: Any, limit: int) -> jax.Array:
    return solvers.exact_search(board, puzzles, key, config, limit).counts


def _run_array(
    kernel: PuzzleKernel,
    puzzles: Any,
    board: Board | None,
    key: jax.Array | int,
    batch_size: int | None,
    devices: Sequence[jax.Device] | None,
    progress: Report | bool | None = None,
    shared: tuple[Any, ...] = (),
) -> Any:
    array, board = as_puzzles(puzzles, board)
    flat = array.reshape(-1, board.cells)
    with reports(progress) as report:
        whole = Engine(kernel, board, key, batch_size, devices, shared).run(flat, report)
    return jax.tree.map(lambda result: result.reshape(array.shape[:-1] + result.shape[1:]), whole)
