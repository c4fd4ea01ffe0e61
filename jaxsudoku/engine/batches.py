"""Runs a compiled kernel on any number of items, in batches, on all cores or devices.

A kernel is compiled once for a batch size and a set of devices, then called from threads. A CPU has one thread a core,
as XLA hardly uses more than one core for this code. An accelerator has two batches at a time, of which one is computed
while the other is transferred; meanwhile two more threads pad the next batch and put away the results of the last.
Several devices share each batch. Short inputs are padded to one of a few batch sizes, so that few shapes are compiled.

The devices are those of this process. Of several processes each has engines and programs of its own: kernels do not
communicate, so a process neither waits for another nor hangs when one dies.
"""

from __future__ import annotations

import functools
import itertools
import operator
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku.core.board import Board
from jaxsudoku.runtime import alarms, cache, forks
from jaxsudoku.runtime.arrays import check_on_host
from jaxsudoku.runtime.devices import compiler_options, kind, usable_cores, used_devices
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.terminal.progress import Report, compiling
from jaxsudoku.runtime.threads import in_order

#: Default size of a batch on a device, in bytes.
_BATCH_BYTES = {"cpu": 1 << 26, "gpu": 1 << 28, "tpu": 1 << 29}

#: Batches that an accelerator has at a time, and threads that prepare batches and put away results.
_ON_DEVICE, _WORKERS = 2, 4


class Limits(NamedTuple):
    """Sizes of automatic batches.

    Attributes:
      fewest: items for which a CPU's thread is worth a batch of its own.
      most: the most items in a batch on a device; None for as many as fit the memory.
    """

    fewest: int
    most: int | None = None


class Kernel(Hashable, Protocol):
    """A pure function of a batch of items, hashable and compared by value."""

    def resolve(self, board: Board, platform: str) -> Kernel:
        """The kernel with automatic settings chosen for a board and a platform."""

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """The shape and dtype (unsigned) of an item. Batches are padded with items of the largest value."""

    def extra_bytes(self, board: Board) -> int:
        """Bytes of an item's results, beyond those of a puzzle's solution."""

    def limits(self, board: Board, platform: str) -> Limits:
        """The sizes of automatic batches. Called on the resolved kernel."""

    @property
    def compiler_options(self) -> dict[str, str]:
        """Further options for the compiler."""

    def __call__(self, board: Board, items: jax.Array, key: jax.Array, number: jax.Array, /) -> Any:
        """A pytree of arrays with leading axis B, for items [B, ...].

        ``number`` uint32 differs between batches and devices. The engine's ``shared`` follows as further arguments.
        """


class KernelDefaults:
    """Base of kernels whose results are small, and whose batches have no other limit than memory."""

    def extra_bytes(self, board: Board) -> int:
        """No extra bytes."""
        return 0

    def limits(self, board: Board, platform: str) -> Limits:
        """Batches that are worth a thread, as large as fit."""
        return Limits(fewest_items(board))

    @property
    def compiler_options(self) -> dict[str, str]:
        """No further options."""
        return {}


class PuzzleItems(KernelDefaults):
    """Base of kernels whose items are puzzles. Padding is INVALID puzzles, which need no search.

    Attributes:
      listed: whether an item is a puzzle and its candidates, as ``with_candidates`` makes them.
    """

    listed: bool = False

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """A puzzle, uint8[cells]; with candidates uint8[1 + side, cells]."""
        return jax.ShapeDtypeStruct((1 + board.side, board.cells) if self.listed else (board.cells,), np.uint8)

    def extra_bytes(self, board: Board) -> int:
        """The bytes of a puzzle's candidates."""
        return board.candidates if self.listed else 0

    def split(self, items: jax.Array) -> tuple[jax.Array, jax.Array | None]:
        """The puzzles uint8[B, cells] of items, and the digits that are no candidates, bool[B, side, cells] or None."""
        return (items[:, 0], items[:, 1:] == 0) if self.listed else (items, None)


def with_candidates(puzzles: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
    """Items uint8[N, 1 + side, cells] of puzzles uint8[N, cells] and candidates bool[N, side, cells]; None for all."""
    return puzzles if candidates is None else np.concatenate([puzzles[:, None], candidates], axis=1, dtype=np.uint8)


class Engine:
    """Runs a kernel on a set of devices, batch by batch.

    Args:
      kernel: the kernel.
      board: the board.
      key: a JAX key or a seed.
      batch_size: the most items in a batch; None for automatic.
      devices: the devices, all of this process; None for all that it has of the default backend.
      shared: further arguments of the kernel, each a pytree of arrays that all batches and devices share, such as a
        network's weights. They are not compiled in: others of the same structure and shapes use the same program. They
        are put on the devices when the first batches run; ``compile`` needs their shapes alone, so they may be
        ``jax.ShapeDtypeStruct`` where nothing runs.
    """

    def __init__(
        self,
        kernel: Kernel,
        board: Board,
        key: jax.Array | int = 0,
        batch_size: int | None = None,
        devices: Sequence[jax.Device] | None = None,
        shared: tuple[Any, ...] = (),
    ) -> None:
        if batch_size is not None:
            batch_size = whole_number("batch_size", batch_size, 1)
        check_on_host(key, "keys")
        self.key = as_key(key)
        self.devices = used_devices(devices)
        self.board = board
        self.kernel = kernel.resolve(board, kind(self.devices[0]))
        self.limits = self.kernel.limits(board, self.devices[0].platform)
        self.batch_size = batch_size or default_batch_size(
            board, self.devices, kernel.extra_bytes(board), self.limits.most
        )
        self.shared = shared
        self._shapes = jax.eval_shape(lambda shared: shared, shared)
        self.threaded = len(self.devices) == 1 and self.devices[0].platform == "cpu"
        self.workers = usable_cores() if self.threaded else _WORKERS
        self._on_device = threading.BoundedSemaphore(self.workers if self.threaded else _ON_DEVICE)

    @functools.cached_property
    def _placed(self) -> tuple[Any, ...]:
        """The shared arguments on the devices."""
        placed: tuple[Any, ...] = jax.device_put(self.shared, NamedSharding(_mesh(self.devices), PartitionSpec()))
        return placed

    def compile(self, size: int) -> Any:
        """Compiles for batches of ``size`` items in advance; returns the ``jax.stages.Compiled`` program.

        The devices may be absent, those of a ``jax.experimental.topologies.TopologyDescription``.
        """
        return self._call(self._padded(size))

    def stream(self, batches: Iterable[np.ndarray], first: int = 0) -> Iterator[Any]:
        """Runs the kernel on batches of at most ``batch_size`` items, and yields the results in order, as numpy arrays.

        Only a few batches are in flight at a time, which bounds memory. If the caller stops early, running batches are
        not waited for.

        Args:
          batches: the batches.
          first: the number of the first batch; randomness comes from the key and a batch's number.
        """

        devices = len(self.devices)
        positions = np.arange(devices, dtype=np.uint32)
        work = ((devices * number + positions, _shares(batch, devices)) for number, batch in enumerate(batches, first))
        return self._stream(work, lambda _, results: _joined(results))

    def run(self, items: np.ndarray, progress: Report = lambda done, count: None) -> Any:
        """Runs the kernel on all items and returns the results of all batches concatenated, as numpy arrays.

        Args:
          items: the items; each device takes an even share of them.
          progress: called with the number of items done and the number of all, at the start, after each batch, and
            every ten seconds in between.
        """
        return _joined(self.run_shares(_shares(items, len(self.devices)), progress=progress))

    def run_shares(
        self,
        shares: Sequence[np.ndarray],
        positions: Sequence[int] | None = None,
        count: int | None = None,
        progress: Report = lambda done, count: None,
    ) -> list[Any]:
        """Runs the kernel on the items of each device, which may be parts of a larger whole.

        Several engines, also those of several processes, then compute what one engine of all their devices would
        compute for all shares: no device sees items of another, and randomness depends on a share's position.

        Args:
          shares: the items of each device, in the order of the devices. Their lengths may differ.
          positions: the position of each share among those of all engines; None for the first ones.
          count: the number of all shares; None for those given.
          progress: as in ``run``.

        Returns:
          the results of each share, as numpy arrays.
        """
        positions = range(len(shares)) if positions is None else positions
        numbers = np.asarray(positions, np.uint32)
        step = len(shares) if count is None else count
        size = sum(map(len, shares))
        progress(0, size)
        if not size:
            return [self.nothing() for _ in shares]
        longest = max(map(len, shares))
        # what a device takes of a batch does not depend on the number of this engine's devices
        each = -(-self.batch_size // len(shares))
        cuts = self.split(longest) if len(shares) == 1 else _even_slices(longest, -(-longest // each))
        work = ((step * at + numbers, [share[cut] for share in shares]) for at, cut in enumerate(cuts))
        whole: list[Any] = []
        allocating = threading.Lock()

        def put(at: int, results: list[Any]) -> int:
            with allocating:
                if not whole:
                    whole.extend(_empty(len(share), result) for share, result in zip(shares, results, strict=True))
            jax.tree.map(functools.partial(_put, cuts[at]), whole, results)
            return sum(len(share[cuts[at]]) for share in shares)

        done = [0]
        for items in self._stream(work, put, lambda: progress(done[0], size)):
            done[0] += items
            progress(done[0], size)
        return whole

    def _stream(
        self,
        work: Iterable[tuple[np.ndarray, list[np.ndarray]]],
        join: Callable[[int, list[Any]], Any],
        waiting: Callable[[], object] | None = None,
    ) -> Iterator[Any]:
        """Runs batches, each the devices' numbers and items.

        Yields what ``join`` makes of a batch's place and its devices' results. It is called in threads, in any order.
        ``waiting`` is that of ``in_order``.
        """
        forks.check()
        if away := [device for device in self.devices if device.process_index != jax.process_index()]:
            raise ValueError(
                f"{away[0]} belongs to another process: an engine runs on the devices of its own process alone, "
                "jax.local_devices()"
            )
        shared = self._placed  # before threads ask for it

        def jobs() -> Iterator[tuple[int, np.ndarray, list[np.ndarray], int]]:
            padded = 0
            for at, (numbers, parts) in enumerate(work):
                size = len(parts) * max(map(len, parts))
                if size > padded:  # a short last batch uses the program of those before it
                    padded = self._padded(size)
                yield at, numbers, parts, padded

        return in_order(lambda job: join(job[0], self._run(shared, *job[1:])), jobs(), self.workers, waiting)

    def nothing(self) -> Any:
        """Results for no items, from shapes alone."""
        row = self.kernel.row(self.board)
        items = jax.ShapeDtypeStruct((32, *row.shape), row.dtype)
        number = jax.ShapeDtypeStruct((), np.uint32)
        results = jax.eval_shape(functools.partial(self.kernel, self.board), items, self.key, number, *self.shared)
        return jax.tree.map(lambda result: np.empty((0, *result.shape[1:]), result.dtype), results)

    def split(self, size: int) -> list[slice]:
        """Cuts ``size`` items into even batches; on a CPU at least one a core, unless they would be too small."""
        fewest = min(self.workers, max(1, size // self.limits.fewest)) if self.threaded else 1
        return _even_slices(size, max(-(-size // self.batch_size), fewest))

    def _run(
        self, shared: tuple[Any, ...], numbers: np.ndarray, parts: list[np.ndarray], padded_size: int
    ) -> list[Any]:
        """The results of a batch, for each device: its part, padded to its share of ``padded_size``."""
        row = self.kernel.row(self.board)
        each = padded_size // len(parts)
        padded = parts[0]
        if len(parts) > 1 or len(padded) < padded_size or padded.dtype != row.dtype:
            padded = np.empty((padded_size, *row.shape), row.dtype)
            for device, part in enumerate(parts):
                start = device * each
                padded[start : start + len(part)] = part
                padded[start + len(part) : start + each] = np.iinfo(row.dtype).max
        call = self._call(padded_size)
        with self._on_device:
            results = jax.tree.map(np.asarray, call(padded, self.key, numbers, *shared))
        return [
            jax.tree.map(operator.itemgetter(slice(device * each, device * each + len(part))), results)
            for device, part in enumerate(parts)
        ]

    def _call(self, size: int) -> Callable[..., Any]:
        leaves, structure = jax.tree.flatten(self._shapes)
        shapes = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
        return _compiled(self.kernel, self.board, size, self.devices, structure, shapes)

    def _padded(self, size: int) -> int:
        """The batch size to compile for: the smallest of a few sizes that holds ``size`` items."""
        devices = len(self.devices)
        whole = self.batch_size + -self.batch_size % devices
        sizes = [whole // divisor for divisor in (64, 16, 4, 1) if whole % (divisor * devices) == 0]
        return min((allowed for allowed in sizes if allowed >= size), default=whole)


def _put(part: slice, whole: np.ndarray, result: np.ndarray) -> None:
    whole[part] = result


def _empty(size: int, results: Any) -> Any:
    """Arrays for ``size`` items, of the dtypes and shapes of results for others."""
    return jax.tree.map(lambda leaf: np.empty((size, *leaf.shape[1:]), leaf.dtype), results)


def _even_slices(size: int, parts: int) -> list[slice]:
    """Cuts ``size`` items into parts of lengths that differ by one at most; the first is the longest."""
    bounds = [-(-size * part // parts) for part in range(parts + 1)]
    return [slice(*pair) for pair in itertools.pairwise(bounds)]


def _shares(items: np.ndarray, devices: int) -> list[np.ndarray]:
    """Consecutive items for each device, even but for the last ones."""
    each = -(-len(items) // devices)
    return [items[device * each : (device + 1) * each] for device in range(devices)]


def _joined(parts: list[Any]) -> Any:
    """The results of several devices, concatenated."""
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def fewest_items(board: Board) -> int:
    """Items for which a thread is worth a batch of its own: 1,024 of 9x9, fewer of wider boards, which take longer."""
    return min(1024, max(1, 1024 * 9**3 // board.candidates))


def default_batch_size(
    board: Board, devices: Sequence[jax.Device], extra_bytes: int = 0, most: int | None = None
) -> int:
    """Items in a batch: as many as fit the platform's batch size in bytes, a power of two for each device.

    Args:
      board: the board.
      devices: the devices.
      extra_bytes: bytes of an item beyond those of a puzzle.
      most: the most for a device, at least 1; None for no further limit.
    """
    platform = devices[0].platform
    # a puzzle's root node, its grids, and its counters
    bytes_each = 4 * board.words + 4 * board.cells + 64 + extra_bytes
    each = max(_BATCH_BYTES.get(platform, 1 << 28) // bytes_each, 64)
    each = min(each, most or each)
    return (1 << (each.bit_length() - 1)) * len(devices)


_compile_lock = threading.Lock()


def _mesh(devices: tuple[jax.Device, ...]) -> Mesh:
    return Mesh(np.asarray(devices), ("batch",))


#: Compile time of each program, in seconds.
_seconds: list[float] = []


def compile_seconds() -> float:
    """Seconds that engines of this process have spent compiling programs, or loading them from the cache."""
    return sum(_seconds)


def _compiled(*arguments: Any) -> Callable[..., Any]:
    with _compile_lock:  # so that threads compile the same kernel once
        return _compile(*arguments)


@functools.lru_cache(maxsize=64)
def _compile(
    kernel: Kernel,
    board: Board,
    size: int,
    devices: tuple[jax.Device, ...],
    structure: jax.tree_util.PyTreeDef,
    shapes: tuple[jax.ShapeDtypeStruct, ...],
) -> Callable[..., Any]:
    """The kernel, compiled for ``size`` items, and for shared arguments of this structure and these leaf shapes."""
    mesh = _mesh(devices)
    batch, everywhere = PartitionSpec("batch"), PartitionSpec()
    shared = jax.tree.unflatten(structure, shapes)

    def shard(items: jax.Array, key: jax.Array, numbers: jax.Array, *shared: Any) -> Any:
        return kernel(board, items, key, numbers[0], *shared)

    function = shard
    specs = (batch, everywhere, batch, *(everywhere for _ in shared))
    if len(devices) > 1:
        function = jax.shard_map(shard, mesh=mesh, in_specs=specs, out_specs=batch, check_vma=False)
    jitted = jax.jit(
        function,
        in_shardings=tuple(NamedSharding(mesh, spec) for spec in specs),
        compiler_options={**(compiler_options(devices[0].platform) or {}), **kernel.compiler_options} or None,
    )
    key = jax.eval_shape(lambda: as_key(0))
    numbers = jax.ShapeDtypeStruct((len(devices),), np.uint32)
    row = kernel.row(board)
    start = time.perf_counter()
    try:
        with compiling(), alarms.silenced():
            lowered = jitted.lower(jax.ShapeDtypeStruct((size, *row.shape), row.dtype), key, numbers, *shared)
            with cache.kept():
                return lowered.compile()
    finally:
        _seconds.append(time.perf_counter() - start)
