"""Runs a compiled kernel on any number of items, in batches, on all cores or devices.

A kernel is compiled once for a batch size and a set of devices, then called from threads. A CPU has one thread a core,
as XLA hardly uses more than one core for this code. An accelerator has three batches at a time: one arrives, one is
computed and one returns; meanwhile more threads put away the results of the last ones. Several devices share each
batch. Items are cut into whole batches, which are views of them; what is left is padded to one of a few sizes, so that
few shapes are compiled.

The devices are those of this process. Of several processes each has engines and programs of its own: kernels do not
communicate, so a process neither waits for another nor hangs when one dies.
"""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku.core.board import Board
from jaxsudoku.engine.kernels import SMALL, Kernel, Limits
from jaxsudoku.runtime import alarms, cache, forks, host_arrays
from jaxsudoku.runtime.arrays import check_on_host
from jaxsudoku.runtime.devices import compiler_options, kind, usable_cores, used_devices
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.terminal.progress import Report, compiling
from jaxsudoku.runtime.threads import in_order

#: Default size of a batch on a device, in bytes.
_BATCH_BYTES = {"cpu": 1 << 24, "gpu": 1 << 28, "tpu": 1 << 29}

#: Batches that an accelerator has at a time, and threads that prepare batches and put away results.
_ON_DEVICE, _WORKERS = 3, 8


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
        self.key = _seeded(key) if type(key) is int else as_key(key)
        self.devices = used_devices(devices)
        self.board = board
        self.kernel, self._small, self.limits, self.batch_size = _settings(kernel, board, self.devices, batch_size)
        self.shared = shared
        self._shapes = jax.eval_shape(lambda shared: shared, shared) if shared else shared
        self.threaded = len(self.devices) == 1 and self.devices[0].platform == "cpu"
        self.workers = usable_cores() if self.threaded else _WORKERS
        self._on_device = threading.BoundedSemaphore(self.workers if self.threaded else _ON_DEVICE)

    @functools.cached_property
    def _placed(self) -> tuple[Any, ...]:
        """The shared arguments on the devices."""
        if not self.shared:
            return self.shared
        placed: tuple[Any, ...] = jax.device_put(self.shared, NamedSharding(_mesh(self.devices), PartitionSpec()))
        return placed

    @functools.cached_property
    def page_locked(self) -> bool:
        """Whether results come to page-locked memory of the host."""
        return host_arrays.page_locks(self.devices[0])

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
        shares = _shares(items, len(self.devices))
        cuts, starts = self._cuts(shares, len(shares)), np.cumsum([0, *map(len, shares)]).tolist()
        # the results of a single batch need no copy, unless they would keep the memory of much padding
        own = len(cuts) == len(shares) == 1 and 2 * len(items) > self._padded(len(items))
        whole: list[Any] = []
        allocating = threading.Lock()

        def put(at: int, results: list[Any]) -> None:
            if own:
                whole.append(jax.tree.map(host_arrays.writable, results[0]))
                return
            with allocating:
                if not whole:
                    whole.append(results_for(len(items), results[0]))
            for start, share, result in zip(starts, shares, results, strict=False):
                begin, end, _ = cuts[at].indices(len(share))
                jax.tree.map(functools.partial(_put, slice(start + begin, start + end)), whole[0], result)

        self._run_all(shares, cuts, range(len(shares)), len(shares), put, progress)
        return whole[0] if whole else self.nothing()

    def run_on_device(self, items: np.ndarray, progress: Report = lambda done, count: None) -> Any:
        """``run``, with results as arrays on the first device."""
        shares = [
            jax.device_put(share, device)
            for share, device in zip(_shares(items, len(self.devices)), self.devices, strict=True)
        ]
        results = jax.device_put(self.run_shares(shares, range(len(shares)), len(shares), progress), self.devices[0])
        return _concatenated(results, tuple(map(len, shares)))

    def run_shares(
        self,
        shares: Sequence[jax.Array],
        positions: Sequence[int],
        count: int,
        progress: Report = lambda done, count: None,
    ) -> list[Any]:
        """Runs the kernel on the items that lie on each device, which may be parts of a larger whole.

        Several engines, also those of several processes, then compute what one engine of all their devices would
        compute for all shares: no device sees items of another, and randomness depends on a share's position.

        Args:
          shares: the items on each device, in the order of the devices. Their lengths may differ.
          positions: the position of each share among those of all engines.
          count: the number of all shares.
          progress: as in ``run``.

        Returns:
          the results of each share, as arrays on its device.
        """
        cuts = self._cuts(shares, count)
        batches = self._run_all(shares, cuts, positions, count, lambda _, results: results, progress)
        if not batches:
            return [self.nothing() for _ in shares]
        sizes = [tuple(len(share[cut]) for cut in cuts) for share in shares]
        return [_concatenated(results, size) for results, size in zip(zip(*batches, strict=True), sizes, strict=True)]

    def _cuts(self, shares: Sequence[Any], count: int) -> list[slice]:
        """Cuts the items of each device into its parts of the batches; of ``count`` devices in all engines."""
        longest = max(map(len, shares), default=0)
        # what a device takes of a batch does not depend on which of the devices are this engine's
        return self.split(longest, -(-self.batch_size // len(shares)), count == 1) if longest else []

    def _run_all(
        self,
        shares: Sequence[Any],
        cuts: list[slice],
        positions: Sequence[int],
        count: int,
        join: Callable[[int, list[Any]], Any],
        progress: Report,
    ) -> list[Any]:
        """Runs the batches that ``cuts`` makes of shares; returns what ``join`` makes of each, as in ``_stream``."""
        numbers = np.asarray(positions, np.uint32)
        work = ((count * at + numbers, [share[cut] for share in shares]) for at, cut in enumerate(cuts))
        size, done = sum(map(len, shares)), [0]
        progress(0, size)
        joined = []
        for cut, result in zip(cuts, self._stream(work, join, lambda: progress(done[0], size)), strict=True):
            joined.append(result)
            done[0] += sum(len(range(*cut.indices(len(share)))) for share in shares)
            progress(done[0], size)
        return joined

    def _stream(
        self,
        work: Iterable[tuple[np.ndarray, list[Any]]],
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

        def jobs() -> Iterator[tuple[int, np.ndarray, list[Any], int]]:
            padded = 0
            for at, (numbers, parts) in enumerate(work):
                size = len(parts) * max(map(len, parts))
                if size > padded:  # a short last batch uses the program of those before it
                    padded = self._padded(size)
                yield at, numbers, parts, padded

        return in_order(lambda job: join(job[0], self._run(shared, *job[1:])), jobs(), self.workers, waiting)

    def nothing(self) -> Any:
        """Results for no items, from shapes alone."""
        return results_for(0, _result_shapes(self.kernel, self.board, *self._shared_shapes()))

    def _shared_shapes(self) -> tuple[jax.tree_util.PyTreeDef, tuple[jax.ShapeDtypeStruct, ...]]:
        """The structure and the leaf shapes of the shared arguments."""
        leaves, structure = jax.tree.flatten(self._shapes)
        return structure, tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)

    def split(self, size: int, most: int | None = None, alone: bool = True) -> list[slice]:
        """Cuts ``size`` items into batches of ``most``, None for the batch size, and what is left into even ones.

        On a CPU less is left than such a batch for each core, if the engine is ``alone``: at least one batch a core,
        unless these would be too small. The first is the longest.
        """
        most, threads = most or self.batch_size, self.workers if self.threaded and alone else 1
        left = size % (most * threads)
        parts = max(-(-left // most), min(threads, left // self.limits.fewest), size == 0)
        even = (size - left + -(-left * part // parts) for part in range(1, parts + 1))
        return [slice(*pair) for pair in itertools.pairwise([*range(0, size - left + 1, most), *even])]

    def _run(self, shared: tuple[Any, ...], numbers: np.ndarray, parts: list[Any], padded_size: int) -> list[Any]:
        """The results of a batch, for each device: its part, padded to its share of ``padded_size``.

        They are numpy arrays for parts that are, and else arrays on the devices, with the padding's results.
        """
        row, each = self.kernel.row(self.board), padded_size // len(parts)
        on_host = isinstance(parts[0], np.ndarray)
        filled = [_filled(part, each, row) for part in parts]
        if len(parts) > 1:
            placed = [jax.device_put(part, device) for part, device in zip(filled, self.devices, strict=True)]
            sharding = NamedSharding(_mesh(self.devices), PartitionSpec("batch"))
            filled = [jax.make_array_from_single_device_arrays((padded_size, *row.shape), sharding, placed)]
        call = self._call(padded_size)
        with self._on_device:
            leaves, structure = jax.tree.flatten(call(filled[0], self.key, numbers, *shared))
            by_device = [leaves]
            if len(parts) > 1 or not on_host:
                shards = [leaf.addressable_shards for leaf in leaves]
                by_device = [[shard[place].data for shard in shards] for place in range(len(parts))]
            if not on_host:
                return [jax.tree.unflatten(structure, jax.block_until_ready(results)) for results in by_device]
            arrays = host_arrays.fetched(by_device, self.page_locked)
        unpadded = [
            jax.tree.unflatten(structure, [leaf[: len(part)] for leaf in results])
            for part, results in zip(parts, arrays, strict=True)
        ]
        return [self.kernel.on_host(self.board, part, results) for part, results in zip(parts, unpadded, strict=True)]

    def _call(self, size: int) -> Callable[..., Any]:
        kernel = self.kernel if self._small is None or size > SMALL else self._small
        return _compiled(kernel, self.board, size, self.devices, *self._shared_shapes())

    def _padded(self, size: int) -> int:
        """The batch size to compile for: the smallest of a few sizes that holds ``size`` items."""
        if self._small is not None and size <= SMALL:
            return SMALL
        devices = len(self.devices)
        whole = self.batch_size + -self.batch_size % devices
        sizes = [whole // divisor for divisor in (64, 16, 4, 1) if whole % (divisor * devices) == 0]
        return min((allowed for allowed in sizes if allowed >= size), default=whole)


@functools.lru_cache(maxsize=64)
def _settings(
    kernel: Kernel, board: Board, devices: tuple[jax.Device, ...], batch_size: int | None
) -> tuple[Kernel, Kernel | None, Limits, int]:
    """The resolved kernel, that for few items, limits and batch size; kept, as they take as long as a puzzle."""
    platform = kind(devices[0])
    resolved = kernel.resolve(board, platform)
    small = kernel.small(board, platform) if batch_size is None and len(devices) == 1 else None
    limits = resolved.limits(board, devices[0].platform)
    batch_size = batch_size or default_batch_size(board, devices, kernel.extra_bytes(board), limits.most)
    return resolved, None if small is None else small.resolve(board, platform), limits, batch_size


@functools.lru_cache(maxsize=64)
def _result_shapes(
    kernel: Kernel, board: Board, structure: jax.tree_util.PyTreeDef, shapes: tuple[jax.ShapeDtypeStruct, ...]
) -> Any:
    """The shapes of a kernel's results for 32 items, with shared arguments of this structure and these leaf shapes."""
    row = kernel.row(board)
    items = jax.ShapeDtypeStruct((32, *row.shape), row.dtype)
    key, number = jax.eval_shape(lambda: as_key(0)), jax.ShapeDtypeStruct((), np.uint32)
    shared = jax.tree.unflatten(structure, shapes)
    return jax.eval_shape(functools.partial(kernel, board), items, key, number, *shared)


_keys: dict[int, jax.Array] = {}


def _seeded(seed: int) -> jax.Array:
    """The key of a seed; the last ones are kept, as a new array takes as long to make and to pass as a puzzle."""
    key = _keys.get(seed)
    if key is None or key.is_deleted():
        key = as_key(seed)
        if not isinstance(key, jax.core.Tracer):
            if len(_keys) >= 64:
                _keys.clear()
            _keys[seed] = key
    return key


def _put(part: slice, whole: np.ndarray, result: np.ndarray) -> None:
    whole[part] = result


def _filled(part: Any, size: int, row: jax.ShapeDtypeStruct) -> Any:
    """Items, and behind them items of the largest value, of the dtype of a row; ``size`` in all."""
    if len(part) == size and part.dtype == row.dtype:
        return part
    largest = np.array(np.iinfo(row.dtype).max, row.dtype)
    if isinstance(part, jax.Array):
        return jnp.pad(part, [(0, size - len(part)), *[(0, 0)] * len(row.shape)], constant_values=largest)
    filled = host_arrays.empty((size, *row.shape), row.dtype)
    filled[: len(part)] = part
    filled[len(part) :] = largest
    return filled


def _concatenated(parts: Sequence[Any], sizes: tuple[int, ...]) -> Any:
    """The first ``sizes`` rows of each of the parts, pytrees of arrays on one device; no copy of a whole single one."""
    if len(parts) == 1 and all(len(leaf) == sizes[0] for leaf in jax.tree.leaves(parts)):
        return parts[0]
    return _first_rows(parts, sizes)


@functools.partial(jax.jit, static_argnums=1)
def _first_rows(parts: Sequence[Any], sizes: tuple[int, ...]) -> Any:
    return jax.tree.map(
        lambda *leaves: jnp.concatenate([leaf[:size] for leaf, size in zip(leaves, sizes, strict=True)]), *parts
    )


def results_for(size: int, results: Any) -> Any:
    """Arrays for ``size`` items, of the dtypes and shapes of results for others."""
    return jax.tree.map(lambda leaf: host_arrays.empty((size, *leaf.shape[1:]), leaf.dtype), results)


def _shares(items: np.ndarray, devices: int) -> list[np.ndarray]:
    """Consecutive items for each device, even but for the last ones."""
    each = -(-len(items) // devices)
    return [items[device * each : (device + 1) * each] for device in range(devices)]


def _joined(parts: list[Any]) -> Any:
    """The results of several devices, concatenated."""
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


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
