"""Functions ``solve`` and ``count_solutions``, which use all devices and cores."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import jax
import numpy as np

from jaxsudoku import solvers
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.base import Constraint
from jaxsudoku.core.constraints.clues import ClueForm, Clues
from jaxsudoku.core.status import CAUSE
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.inputs import as_candidates, as_marked
from jaxsudoku.engine.kernels import Limits, PuzzleItems, as_clues, as_items
from jaxsudoku.engine.placed import PlacedPuzzles, Results, stay_on_devices
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.exact.uniqueness import CountKernel, lane_limits
from jaxsudoku.io import Chunk, Errors
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.terminal.progress import Report, reports

from .judging import judge, judge_within

#: Maximum number of puzzles per lane in a guided solver's batch on a CPU.
_GUIDED_BATCH = 8

if TYPE_CHECKING:
    from jaxsudoku.networks import Network


@overload
def solve(
    puzzles: Any, board: Board | None = None, *, results: Literal["device"], **options: Any
) -> Solution[jax.Array]: ...
@overload
def solve(
    puzzles: Any,
    board: Board | None = None,
    *,
    candidates: Any = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    solver: str = "exact",
    network: Network | str | os.PathLike[str] | None = None,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    keep_partial: bool = False,
    errors: Errors = "raise",
    results: Literal["host"] = "host",
    **options: Any,
) -> Solution[np.ndarray]: ...
def solve(
    puzzles: Any,
    board: Board | None = None,
    *,
    candidates: Any = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    solver: str = "exact",
    network: Network | str | os.PathLike[str] | None = None,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    keep_partial: bool = False,
    errors: Errors = "raise",
    results: Results = "host",
    **options: Any,
) -> Solution[Any]:
    """Solves puzzles on all devices, and on a CPU on all cores.

    Compiled programs are cached on disk, in ``$XDG_CACHE_HOME/jaxsudoku`` or ``~/.cache/jaxsudoku``, for other
    processes. JAX's own settings of the persistent compilation cache take precedence and are not changed;
    ``JAXSUDOKU_CACHE=0`` in the environment disables the cache. This holds for everything that the library compiles.

    With ``results="device"`` an array of JAX is solved on its devices, one or several with a sharded batch; puzzles and
    results are not copied to the host. The same always holds for a global array, whose batch is sharded over the
    processes of ``jax.distributed``: all processes must call, and each solves its part by its own programs, which do
    not communicate. See docs/scaling.md.

    Args:
      puzzles: one or several: integers[*b, cells] or [*b, side, side], 0 = empty, as an array (of numpy, JAX, or by
        DLPack of PyTorch or CuPy) or nested lists; or a text or a sequence of texts, such as a column of pandas, polars
        or pyarrow, each a puzzle in any form that ``io.parse`` takes; or the result of ``read_puzzles`` or ``parse``
        with ``errors="mark"``, whose puzzles may have constraints of their own.
      board: the board; by default the classic one of the puzzles' size.
      candidates: the digits that open cells may hold, bool[*b, side, cells], for partly solved puzzles; None for all.
        exact, auto and sat are restricted to them. Another solver's solution that violates them counts as UNSOLVED.
      clues: further constraints of each puzzle, as ``Clues`` or a sequence of constraints for each puzzle; None for
        those of the board alone. Of the solvers, exact and auto support them.
      solver: a name in ``jaxsudoku.solvers.SOLVERS``.
      network: the network of a guided solver: a ``networks.Network``, or the name or path of its weights; "cube" by
        default. A network whose architecture serves every board is adapted to this board.
      key: a JAX key or a seed, for solvers that use randomness.
      batch_size: puzzles on all devices at a time; by default as many as suit the machine.
      devices: the devices to use, local to this process; by default all local ones of the default backend. Not with
        results on devices.
      progress: called with the puzzles done and the number of puzzles, at the start, after each batch, and every ten
        seconds in between; True shows the stage, a bar, the rate and the time left on the standard error.
      keep_partial: whether UNSOLVED puzzles get the solver's last grid, partly filled or wrong, instead of zeros; the
        givens if the solver has none.
      errors: treatment of texts that are malformed or missing (None, NaN): "raise" an error that names the first, or
        "mark" them: the others are solved, and these have the status MALFORMED and a cause in ``stats``.
      results: "host" for numpy arrays; or "device" for arrays of JAX on the device, or devices, of the puzzles. Puzzles
        that are not arrays of JAX are then put on the default device. Not with candidates or marked errors.
      **options: fields of the solver's config, e.g. ``rules="singles"`` or ``budget=1000``.

    Returns:
      A ``Solution`` of numpy arrays, or of arrays of JAX: grids uint8 of the puzzles' shape ([*b, cells] for texts),
      status int8[*b], iterations int32[*b], and in ``stats`` network_calls int32[*b] from guided solvers, errors
      int32[*b] and history int32[*b, steps] from population solvers.

    Raises:
      ValueError: puzzles that do not fit the board or whose size is ambiguous, such as [16, 16]; candidates of another
        shape or dtype; an unknown solver or option; a solver that supports no clues, or no board with constraints; a
        network of another board, or with parameters that do not fit its architecture or are not finite; a network for a
        solver that takes none; unknown ``results``, or arguments that these exclude; an array that is sharded along its
        cells, or over processes that hold the same puzzles.
      TypeError: traced puzzles, a board that is not a ``Board``, or a network that is not a ``Network``, name or path.
    """
    listed = candidates is not None and solvers.get(solver).within
    config = solvers.make_config(solvers.get(solver), **options)
    kernel = SolveKernel(solver, config, bool(keep_partial), listed)
    if stay_on_devices(puzzles, results):
        if solvers.get(solver).on_host is not None:
            raise ValueError(f"the solver {solver} ends on the host: leave out results, or use another solver")
        placed = PlacedPuzzles(puzzles, board, batch_size, devices, errors, candidates, clues)
        found = placed.run(kernel, key, networks_for(solver, network, placed.board), progress)
        return placed.assemble([part._replace(grids=part.grids.reshape(-1, *placed.item)) for part in found])
    marked = as_marked(puzzles, board, errors, constrained=True)
    own = as_clues(clues, marked)
    kernel = kernel if own is None else dataclasses.replace(kernel, form=own.form)
    engine = Engine(kernel, marked.board, key, batch_size, devices, networks_for(solver, network, marked.board))
    allowed = None if candidates is None else as_candidates(candidates, marked)
    solution: Solution[np.ndarray] = _run(engine, marked.searchable, allowed if listed else None, own, progress)
    if allowed is not None:
        solution = judge_within(marked.grids, allowed, solution)
    if marked.causes is not None:
        bad = ~marked.good
        grids, status = np.where(bad[..., None], 0, solution.grids), np.where(bad, Status.MALFORMED, solution.status)
        stats = {**solution.stats, CAUSE: marked.cause_column}
        solution = solution._replace(grids=grids.astype(np.uint8), status=status.astype(np.int8), stats=stats)
    if not isinstance(puzzles, Chunk) and np.ndim(puzzles) > marked.grids.ndim:  # [*b, side, side]
        solution = solution._replace(grids=solution.grids.reshape(np.shape(puzzles)))
    return solution


def networks_for(
    solver: str, network: Network | str | os.PathLike[str] | None, board: Board
) -> tuple[()] | tuple[Network]:
    """The shared arguments of a solver's kernel: the network of a guided solver, none for other solvers.

    Args:
      solver: the solver's name.
      network: as in ``solve``.
      board: the board.

    Raises:
      ValueError: a network for a solver that takes none, a network of another board, or parameters that
        ``networks.check_network`` refuses.
    """
    if not solvers.get(solver).guided:
        if network is not None:
            raise ValueError(
                f"the solver {solver} takes no network; those that do are {solvers.reporting('network_calls')}"
            )
        return ()
    from jaxsudoku import networks  # loads flax, which takes a second

    network = networks.as_network(solvers.DEFAULT_NETWORK if network is None else network, board)
    network = networks.for_board(network, board)
    networks.check_network(network)
    return (network,)


@overload
def count_solutions(
    puzzles: Any, board: Board | None = None, *, results: Literal["device"], **options: Any
) -> jax.Array: ...
@overload
def count_solutions(
    puzzles: Any,
    board: Board | None = None,
    *,
    candidates: Any = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    limit: int = 2,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    errors: Errors = "raise",
    results: Literal["host"] = "host",
    **options: Any,
) -> np.ndarray: ...
def count_solutions(
    puzzles: Any,
    board: Board | None = None,
    *,
    candidates: Any = None,
    clues: Clues | Sequence[Sequence[Constraint]] | None = None,
    limit: int = 2,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: Report | bool | None = None,
    errors: Errors = "raise",
    results: Results = "host",
    **options: Any,
) -> Any:
    """Counts solutions up to a limit: 0 for none (or clashing givens), 1 proves uniqueness when the limit is above 1.

    Args:
      puzzles, board, candidates, clues: as in ``solve``.
      limit: stop at this many solutions of a puzzle.
      key, batch_size, devices, progress, errors, results: as in ``solve``.
      **options: fields of ``ExactConfig`` but ``budget`` and ``levels``.

    Returns:
      int32[*b], -1 for a malformed puzzle; on devices an array of JAX.

    Raises:
      ValueError: as in ``solve``; a limit below 1; a budget or levels, which would make counts meaningless.
    """
    kernel = count_kernel(limit, candidates is not None, **options)
    if stay_on_devices(puzzles, results):
        placed = PlacedPuzzles(puzzles, board, batch_size, devices, errors, candidates, clues)
        return placed.assemble([part.counts for part in placed.run(kernel, key, (), progress)])
    marked = as_marked(puzzles, board, errors, constrained=True)
    own = as_clues(clues, marked)
    kernel = kernel if own is None else dataclasses.replace(kernel, form=own.form)
    engine = Engine(kernel, marked.board, key, batch_size, devices)
    allowed = None if candidates is None else as_candidates(candidates, marked)
    counts = _run(engine, marked.searchable, allowed, own, progress).counts
    return counts if marked.good.all() else np.where(marked.good, counts, np.int32(-1))


# ---------------------------------------------------------------------- kernels


@dataclasses.dataclass(frozen=True)
class SolveKernel(PuzzleItems):
    """A ``kernels.Kernel`` that solves puzzles and judges the results, a ``Solution``; a network is a shared argument.

    Attributes:
      solver: the solver's name.
      config: its settings.
      keep_partial: as in ``solve``.
    """

    solver: str
    config: Any
    keep_partial: bool = False
    listed: bool = False
    form: ClueForm | None = None

    def resolve(self, board: Board, platform: str) -> SolveKernel:
        """The kernel with automatic settings chosen for a machine; raises ValueError as ``Solver.check`` does."""
        solvers.get(self.solver).check(board, self.form is not None)
        config = self.config if self.form is None else self.config.with_clues()
        return dataclasses.replace(self, config=config.resolve(board, platform))

    def extra_bytes(self, board: Board) -> int:
        """The bytes of a puzzle's candidates and of its recorded history."""
        return super().extra_bytes(board) + 4 * getattr(self.config, "record", 0)

    def limits(self, board: Board, platform: str) -> Limits:
        """Limits on the size of batches, see ``lane_limits``; smaller for guided solvers on a CPU.

        On a CPU jaxlib 0.12 keeps the memory of each matrix product until the program, one batch, ends.
        """
        few = solvers.get(self.solver).guided and platform == "cpu"
        return lane_limits(board, self.config)._replace(most=_GUIDED_BATCH * self.config.lanes if few else None)

    def small(self, board: Board, platform: str) -> SolveKernel | None:
        """The kernel for a few puzzles, of the exact search."""
        config = self.config.small(board, platform) if isinstance(self.config, ExactConfig) else None
        return None if config is None else dataclasses.replace(self, config=config)

    def __call__(
        self, board: Board, items: jax.Array, key: jax.Array, number: jax.Array, /, *network: Network
    ) -> Solution:
        puzzles, excluded, clues = self.split(board, items)
        further = network if excluded is None else (excluded,)
        named = {} if clues is None else {"clues": clues}
        key = jax.random.fold_in(key, number)
        solution = solvers.get(self.solver).run(board, puzzles, key, self.config, *further, **named)
        return judge(puzzles, solution, board, clues, keep_partial=self.keep_partial)

    def on_host(self, board: Board, items: np.ndarray, results: Solution[np.ndarray]) -> Solution[np.ndarray]:
        """The work of the solver on the host, which checks its grids."""
        if solvers.get(self.solver).on_host is None:
            return results
        puzzles, excluded, _ = self.split(board, items)
        return solvers.get(self.solver).complete_on_host(board, puzzles, excluded, results, self.config)


def count_kernel(limit: int, listed: bool = False, **options: Any) -> CountKernel:
    """The kernel that counts solutions up to ``limit``, and nodes visited; it returns no grids."""
    limit = whole_number("limit", limit, 1)
    for name in ("budget", "levels"):
        if options.get(name):
            raise ValueError(f"a count that {name} may cut off would be meaningless; leave {name} out")
    return CountKernel(solvers.make_config(solvers.get("exact"), **options), limit, listed, grids=False)


def _run(
    engine: Engine,
    puzzles: np.ndarray,
    candidates: np.ndarray | None,
    clues: Clues | None,
    progress: Report | bool | None,
) -> Any:
    """The kernel's results for puzzles uint8[*b, cells], with the batch axes *b in front."""
    batch, cells = puzzles.shape[:-1], puzzles.shape[-1]
    listed = None if candidates is None else candidates.reshape(-1, *candidates.shape[-2:])
    with reports(progress) as report:
        flat = engine.run(as_items(puzzles.reshape(-1, cells), listed, clues), report)
    return jax.tree.map(lambda result: result.reshape(batch + result.shape[1:]), flat)
