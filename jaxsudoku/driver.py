"""The host side: any number of puzzles, in batches, on every device or core, results in order.

A kernel is compiled once for a batch size and device set and then called from threads: on a CPU one thread a core
(XLA uses hardly more than one core for this code by itself), on several devices one call a batch, sharded over them.
Short inputs are padded up to one of a few batch sizes, so that few shapes are ever compiled.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku import solvers
from jaxsudoku.board import Board
from jaxsudoku.solution import Solution

#: Padding: a value above every side, so that such a puzzle is INVALID and costs no search.
_PADDING = 255

#: Bytes that a batch may take on a device by default.
_BATCH_BYTES = {"cpu": 1 << 26, "gpu": 1 << 30, "tpu": 1 << 29}


def compiler_options(platform: str | None = None) -> dict[str, str] | None:
    """Options for ``jax.jit(..., compiler_options=...)`` under which the library's kernels run best.

    XLA as it comes with jax 0.10 drops ``lax.optimization_barrier`` on a CPU before it fuses, which makes a search a
    hundred times slower; leaving out that pass mends it. Newer versions need nothing.
    """
    platform = platform or jax.default_backend()
    if platform == "cpu" and jax.__version_info__ < (0, 11):
        return {"xla_disable_hlo_passes": "cse_barrier_expander"}
    return None


def solve(
    puzzles: Any,
    board: Board | None = None,
    *,
    solver: str = "exact",
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    **options: Any,
) -> Solution:
    """Solves puzzles on all devices, and on a CPU on all cores.

    Args:
      puzzles: uint8[*b, cells] (or any integers), 0 = empty; one puzzle [cells] too.
      board: the board; by default the classic one of the puzzles' size.
      solver: a name in ``jaxsudoku.solvers.SOLVERS``.
      key: a JAX key or a seed, for solvers that use randomness.
      batch_size: puzzles on a device at a time; by default as many as suit the machine.
      devices: the devices to use; by default all of the default backend.
      **options: fields of the solver's config, e.g. ``rules="singles"`` or ``budget=1000``.

    Returns:
      A ``Solution`` of numpy arrays: grids uint8[*b, cells], status int8[*b], iterations int32[*b].

    Raises:
      ValueError: puzzles that do not fit the board, an unknown solver or option.
    """
    chosen = solvers.get(solver)
    kernel = solve_kernel(chosen.name, solvers.make_config(chosen, **options))
    return _run_array(kernel, puzzles, board, key, batch_size, devices)


def count_solutions(
    puzzles: Any,
    limit: int = 2,
    board: Board | None = None,
    *,
    key: jax.Array | int = 0,
    batch_size: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    **options: Any,
) -> np.ndarray:
    """Counts solutions up to a limit: 0 for none (or clashing givens), 1 proves uniqueness when the limit is above 1.

    Args:
      puzzles: uint8[*b, cells], 0 = empty.
      limit: stop at this many solutions of a puzzle.
      board, key, batch_size, devices: as in ``solve``.
      **options: fields of ``ExactConfig`` but ``budget``.

    Returns:
      int32[*b].

    Raises:
      ValueError: as in ``solve``; a limit below 1, or a budget, with which a count would be none.
    """
    return _run_array(count_kernel(limit, **options), puzzles, board, key, batch_size, devices)


# ---------------------------------------------------------------------- kernels


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What is compiled: a pure function of a batch, of a solver and its settings.

    Attributes:
      function: (board, puzzles uint8[B, cells], key, solver, config, *arguments) to arrays with leading axis B.
      solver: the solver's name.
      config: its settings.
      arguments: further static, hashable arguments.
    """

    function: Callable[..., Any]
    solver: str
    config: Any
    arguments: tuple[Any, ...] = ()

    def fit(self, board: Board, platform: str) -> Kernel:
        """The kernel with the settings that suit a machine."""
        return dataclasses.replace(self, config=solvers.get(self.solver).fit(self.config, board, platform))

    def __call__(self, board: Board, puzzles: jax.Array, key: jax.Array) -> Any:
        return self.function(board, puzzles, key, self.solver, self.config, *self.arguments)


def solve_kernel(solver: str, config: Any) -> Kernel:
    """Solves and judges."""
    return Kernel(_solve_and_judge, solver, config)


def count_kernel(limit: int, **options: Any) -> Kernel:
    """Counts solutions up to ``limit``; int32[B]."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    if options.get("budget"):
        raise ValueError("a count under a budget would be no count; leave the budget out")
    return Kernel(_count, "exact", solvers.make_config(solvers.get("exact"), **options), (limit,))


def _solve_and_judge(board: Board, puzzles: jax.Array, key: jax.Array, solver: str, config: Any) -> Solution:
    return solvers.judge(board, puzzles, solvers.get(solver).run(board, puzzles, key, config))


def _count(board: Board, puzzles: jax.Array, key: jax.Array, solver: str, config: Any, limit: int) -> jax.Array:
    return solvers.exact_search(board, puzzles, key, config, limit).counts


# ---------------------------------------------------------------------- batches


class Engine:
    """A kernel on a set of devices, fed with batches.

    Args:
      kernel: what to run.
      board: the board.
      key: a JAX key or a seed; batch i gets ``fold_in(key, i)``.
      batch_size: the most puzzles in a batch; None chooses by the machine.
      devices: the devices; None takes all of the default backend.
    """

    def __init__(
        self,
        kernel: Kernel,
        board: Board,
        key: jax.Array | int = 0,
        batch_size: int | None = None,
        devices: Sequence[jax.Device] | None = None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        self.key = as_key(key)
        self.devices = tuple(devices if devices is not None else jax.local_devices())
        if not self.devices:
            raise ValueError("devices is empty; name at least one, or leave it out for all")
        self.board = board
        self.kernel = kernel.fit(board, self.devices[0].platform)
        self.batch_size = batch_size or default_batch_size(board, self.devices)
        self.threaded = len(self.devices) == 1 and self.devices[0].platform == "cpu"
        # otherwise one batch computes while the other travels
        self.workers = usable_cores() if self.threaded else 2

    def compile(self, size: int) -> None:
        """Compiles for batches of ``size`` puzzles now, rather than when the first one comes."""
        _compiled(self.kernel, self.board, self._padded(size), self.devices)

    def stream(self, batches: Iterable[np.ndarray], first: int = 0) -> Iterator[Any]:
        """Runs the kernel on batches uint8[at most batch_size, cells], and yields its numpy results in the same order.

        A few batches are in flight at a time, so memory is flat however many there are. When the caller stops early,
        batches that a device is at work on are not waited for.

        Args:
          batches: the batches.
          first: number of the first batch, from which and the key its own key is made.
        """
        pool = _threads(self.workers)
        flying: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
        padded = 0
        try:
            for number, batch in enumerate(batches, first):
                if len(batch) > padded:  # a short last batch takes what was compiled for those before it
                    padded = self._padded(len(batch))
                flying.append(pool.submit(self._run, number, batch, padded))
                if len(flying) > self.workers:
                    yield flying.popleft().result()
            while flying:
                yield flying.popleft().result()
        finally:
            for future in flying:
                future.cancel()

    def split(self, size: int) -> list[slice]:
        """Cuts ``size`` puzzles into even batches, on a CPU one for each core where that is worth while."""
        least = min(self.workers, max(1, size // _MIN_PART)) if self.threaded else 1
        parts = max(-(-size // self.batch_size), least)
        bounds = [-(-size * part // parts) for part in range(parts + 1)]  # the first part is the largest
        return [slice(*pair) for pair in itertools.pairwise(bounds)]

    def _run(self, number: int, batch: np.ndarray, padded_size: int) -> Any:
        size = len(batch)
        padded = batch
        if size < padded_size or batch.dtype != np.uint8:
            padded = np.full((padded_size, self.board.cells), _PADDING, np.uint8)
            padded[:size] = batch
        call = _compiled(self.kernel, self.board, padded_size, self.devices)
        results = call(padded, self.key, np.uint32(number))
        return jax.tree.map(lambda array: np.asarray(array)[:size], results)

    def _padded(self, size: int) -> int:
        """The batch size to compile for: the smallest of a few that holds ``size`` puzzles."""
        devices = len(self.devices)
        whole = self.batch_size + -self.batch_size % devices
        sizes = [whole // divisor for divisor in (64, 16, 4, 1) if whole % (divisor * devices) == 0]
        return min((allowed for allowed in sizes if allowed >= size), default=whole)


#: Puzzles below which a part of the input is not worth a thread of its own.
_MIN_PART = 1024


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_batch_size(board: Board, devices: Sequence[jax.Device]) -> int:
    """Puzzles in a batch: what fits the bytes set aside, a power of two for each device."""
    platform = devices[0].platform
    # a puzzle's root node, its grid in and out, and what is known of it
    bytes_each = 4 * board.words + 4 * board.cells + 64
    each = max(_BATCH_BYTES.get(platform, 1 << 28) // bytes_each, 64)
    return (1 << (each.bit_length() - 1)) * len(devices)


@functools.lru_cache(maxsize=8)
def _threads(workers: int) -> concurrent.futures.ThreadPoolExecutor:
    """Threads that wait for batches; kept, as starting them takes as long as some hundred puzzles."""
    return concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="jaxsudoku")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has none of these threads

_compile_lock = threading.Lock()


def _compiled(kernel: Kernel, board: Board, size: int, devices: tuple[jax.Device, ...]) -> Callable[..., Any]:
    with _compile_lock:  # threads that need the same kernel wait for one compilation
        return _compile(kernel, board, size, devices)


@functools.lru_cache(maxsize=64)
def _compile(kernel: Kernel, board: Board, size: int, devices: tuple[jax.Device, ...]) -> Callable[..., Any]:
    mesh = Mesh(np.asarray(devices), ("batch",))
    batch, everywhere = PartitionSpec("batch"), PartitionSpec()

    def shard(puzzles: jax.Array, key: jax.Array, number: jax.Array) -> Any:
        key = jax.random.fold_in(key, number)
        if len(devices) > 1:
            key = jax.random.fold_in(key, jax.lax.axis_index("batch"))
        return kernel(board, puzzles, key)

    function = shard
    specs = (batch, everywhere, everywhere)
    if len(devices) > 1:
        function = jax.shard_map(shard, mesh=mesh, in_specs=specs, out_specs=batch, check_vma=False)
    jitted = jax.jit(
        function,
        in_shardings=tuple(NamedSharding(mesh, spec) for spec in specs),
        compiler_options=compiler_options(devices[0].platform),
    )
    key = jax.eval_shape(lambda: jax.random.key(0))
    number = jax.ShapeDtypeStruct((), np.uint32)
    return jitted.lower(jax.ShapeDtypeStruct((size, board.cells), np.uint8), key, number).compile()


def _run_array(
    kernel: Kernel,
    puzzles: Any,
    board: Board | None,
    key: jax.Array | int,
    batch_size: int | None,
    devices: Sequence[jax.Device] | None,
) -> Any:
    array, board = as_puzzles(puzzles, board)
    flat = array.reshape(-1, board.cells)
    engine = Engine(kernel, board, key, batch_size, devices)
    parts = engine.split(len(flat))
    whole: Any = None
    for part, results in zip(parts, engine.stream(flat[part] for part in parts), strict=True):
        if whole is None:
            whole = jax.tree.map(lambda result: np.empty((len(flat), *result.shape[1:]), result.dtype), results)
        jax.tree.map(functools.partial(_put, part), whole, results)
    return jax.tree.map(lambda result: result.reshape(array.shape[:-1] + result.shape[1:]), whole)


def _put(part: slice, whole: np.ndarray, result: np.ndarray) -> None:
    whole[part] = result


def as_key(key: Any) -> jax.Array:
    """A JAX key from a seed or a key, typed or legacy.

    Raises:
      ValueError: neither.
    """
    if isinstance(key, int | np.integer):
        return jax.random.key(int(key))
    if isinstance(key, jax.Array) and jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) and not key.ndim:
        return key
    if isinstance(key, jax.Array | np.ndarray) and key.dtype == np.uint32 and key.ndim == 1:
        return jax.random.wrap_key_data(jax.numpy.asarray(key))
    raise ValueError(f"{key!r} is neither a seed nor one JAX key")


def as_puzzles(puzzles: Any, board: Board | None) -> tuple[np.ndarray, Board]:
    """Puzzles as uint8[*b, cells], and their board: the classic one of their size if none is named.

    Raises:
      ValueError: no integers, values outside 0..side (in uint8 they pass, and make a puzzle INVALID), or a last axis
        that is not the board's number of cells.
    """
    array = np.asarray(puzzles)
    if array.dtype.kind not in "iu":
        raise ValueError(f"puzzles of dtype {array.dtype}; they must be integers, 0 for an empty cell")
    if not array.ndim:
        raise ValueError("puzzles must have at least one axis, the cells")
    cells = array.shape[-1]
    if board is None:
        side = round(cells**0.5)
        if side * side != cells:
            raise ValueError(f"puzzles of {cells} cells, which is not the square of a side")
        board = Board.classic(side)
    if cells != board.cells:
        raise ValueError(f"puzzles of {cells} cells; a board of {board} has {board.cells}")
    if array.dtype != np.uint8 and array.size and (array.min() < 0 or array.max() > board.side):
        raise ValueError(f"puzzles hold values outside 0..{board.side}")
    return array.astype(np.uint8, copy=False), board
