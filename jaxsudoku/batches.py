"""Batches on every device or core: any number of items through one compiled kernel, results in order.

A kernel is compiled once for a batch size and device set and then called from threads: on a CPU one thread a core
(XLA uses hardly more than one core for this code by itself), on several devices one call a batch, sharded over them.
Short inputs are padded up to one of a few batch sizes, so that few shapes are ever compiled.
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku import cache, shipped
from jaxsudoku.board import Board, board_of_grids
from jaxsudoku.config import whole_number
from jaxsudoku.io import parse
from jaxsudoku.random import as_key
from jaxsudoku.terminal.progress import Report

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


class Kernel(Hashable, Protocol):
    """What is compiled: a pure function of a batch of items, hashable and compared by value."""

    def resolve(self, board: Board, platform: str) -> Kernel:
        """The kernel with the settings that suit a machine."""

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """The shape and dtype (unsigned) of an item. Batches are padded with items of the largest values."""

    def bytes_beside(self, board: Board) -> int:
        """What an item's results take beside a puzzle's, in bytes."""

    @property
    def compiler_options(self) -> dict[str, str]:
        """Further options of the compiler."""

    def __call__(self, board: Board, items: jax.Array, key: jax.Array, number: jax.Array, /) -> Any:
        """Arrays with leading axis B of items [B, ...]; ``number``, uint32, differs between batches and devices.

        What the engine's ``shared`` holds comes as further arguments, so most kernels, which are given none, take none.
        """


class TakesPuzzles:
    """A kernel whose items are puzzles, of which those of the largest values are INVALID and cost no search."""

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """A puzzle, uint8[cells]."""
        return jax.ShapeDtypeStruct((board.cells,), np.uint8)

    def bytes_beside(self, board: Board) -> int:
        """Nothing."""
        return 0

    @property
    def compiler_options(self) -> dict[str, str]:
        """None."""
        return {}


class Engine:
    """A kernel on a set of devices, fed with batches.

    Args:
      kernel: what to run.
      board: the board.
      key: a JAX key or a seed.
      batch_size: the most items in a batch; None chooses by the machine.
      devices: the devices; None takes all of the default backend.
      shared: further arguments of the kernel, each a pytree of arrays that all batches and devices share, such as a
        network's weights. They are no part of what is compiled: others of the same structure and shapes run as well.
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
        self.key = as_key(key)
        self.devices = used_devices(devices)
        self.board = board
        self.kernel = kernel.resolve(board, self.devices[0].platform)
        self.batch_size = batch_size or default_batch_size(board, self.devices, kernel.bytes_beside(board))
        self.shared = jax.device_put(shared, NamedSharding(_mesh(self.devices), PartitionSpec()))
        self.threaded = len(self.devices) == 1 and self.devices[0].platform == "cpu"
        # otherwise one batch computes while the other travels
        self.workers = usable_cores() if self.threaded else 2

    def compile(self, size: int) -> None:
        """Compiles for batches of ``size`` items now, rather than when the first one comes."""
        self._call(self._padded(size))

    def stream(self, batches: Iterable[np.ndarray], first: int = 0) -> Iterator[Any]:
        """Runs the kernel on batches of at most ``batch_size`` items, and yields its numpy results in the same order.

        A few batches are in flight at a time, so memory is flat however many there are. When the caller stops early,
        batches that a device is at work on are not waited for.

        Args:
          batches: the batches.
          first: number of the first batch; with the key it makes the batch's randomness.
        """

        def jobs() -> Iterator[tuple[int, np.ndarray, int]]:
            padded = 0
            for number, batch in enumerate(batches, first):
                if len(batch) > padded:  # a short last batch takes what was compiled for those before it
                    padded = self._padded(len(batch))
                yield number, batch, padded

        return in_order(lambda job: self._run(*job), jobs(), self.workers)

    def run(self, items: np.ndarray, progress: Report = lambda done, count: None) -> Any:
        """Runs the kernel on all of the items; its numpy results, put together.

        Args:
          items: the items.
          progress: called with the number of items done and their count, at the start and after each batch.
        """
        progress(0, len(items))
        if not len(items):
            return self._nothing()
        parts = self.split(len(items))
        whole: Any = None
        for part, results in zip(parts, self.stream(items[part] for part in parts), strict=True):
            if whole is None:
                whole = jax.tree.map(lambda result: np.empty((len(items), *result.shape[1:]), result.dtype), results)
            jax.tree.map(functools.partial(_put, part), whole, results)
            progress(part.stop, len(items))
        return whole

    def _nothing(self) -> Any:
        """Results of no items, told without running anything."""
        row = self.kernel.row(self.board)
        items = jax.ShapeDtypeStruct((32, *row.shape), row.dtype)
        number = jax.ShapeDtypeStruct((), np.uint32)
        results = jax.eval_shape(functools.partial(self.kernel, self.board), items, self.key, number, *self.shared)
        return jax.tree.map(lambda result: np.empty((0, *result.shape[1:]), result.dtype), results)

    def split(self, size: int) -> list[slice]:
        """Cuts ``size`` items into even batches, on a CPU one for each core where that is worth while."""
        least = min(self.workers, max(1, size // _MIN_PART)) if self.threaded else 1
        parts = max(-(-size // self.batch_size), least)
        bounds = [-(-size * part // parts) for part in range(parts + 1)]  # the first part is the largest
        return [slice(*pair) for pair in itertools.pairwise(bounds)]

    def _run(self, number: int, batch: np.ndarray, padded_size: int) -> Any:
        size = len(batch)
        padded = batch
        row = self.kernel.row(self.board)
        if size < padded_size or batch.dtype != row.dtype:
            padded = np.full((padded_size, *row.shape), np.iinfo(row.dtype).max, row.dtype)
            padded[:size] = batch
        results = self._call(padded_size)(padded, self.key, np.uint32(number), *self.shared)
        return jax.tree.map(lambda array: np.asarray(array)[:size], results)

    def _call(self, size: int) -> Callable[..., Any]:
        leaves, structure = jax.tree.flatten(self.shared)
        shapes = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
        return _compiled(self.kernel, self.board, size, self.devices, structure, shapes)

    def _padded(self, size: int) -> int:
        """The batch size to compile for: the smallest of a few that holds ``size`` items."""
        devices = len(self.devices)
        whole = self.batch_size + -self.batch_size % devices
        sizes = [whole // divisor for divisor in (64, 16, 4, 1) if whole % (divisor * devices) == 0]
        return min((allowed for allowed in sizes if allowed >= size), default=whole)


def _put(part: slice, whole: np.ndarray, result: np.ndarray) -> None:
    whole[part] = result


def in_order(function: Callable[[Any], Any], items: Iterable[Any], workers: int) -> Iterator[Any]:
    """Yields the function of each item, in order, while threads work on a few items ahead.

    When the caller stops early, calls that have begun are not waited for.
    """
    pool = _threads(workers)
    calls: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
    try:
        for item in items:
            calls.append(pool.submit(function, item))
            if len(calls) > workers:
                yield calls.popleft().result()
        while calls:
            yield calls.popleft().result()
    finally:
        for call in calls:
            call.cancel()


#: Items below which a part of the input is not worth a thread of its own.
_MIN_PART = 1024


def used_devices(devices: Sequence[jax.Device] | None) -> tuple[jax.Device, ...]:
    """The devices that an argument names, or all of the default backend.

    Raises:
      ValueError: it names none, or anything but devices.
    """
    if devices is None:
        return tuple(jax.local_devices())
    if isinstance(devices, str) or not isinstance(devices, Iterable):
        raise ValueError(f"devices must be a sequence of JAX's devices, such as jax.devices(), not {devices!r}")
    used = tuple(devices)
    if wrong := [device for device in used if not isinstance(device, jax.Device)]:
        raise ValueError(f"devices must be JAX's, such as jax.devices(), not {wrong[0]!r}")
    if not used:
        raise ValueError("devices is empty; name at least one, or leave it out for all")
    return used


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_batch_size(board: Board, devices: Sequence[jax.Device], beside: int = 0) -> int:
    """Items in a batch: what fits the bytes set aside, a power of two for each device.

    Args:
      board: the board.
      devices: the devices.
      beside: bytes that an item takes beside a puzzle's.
    """
    platform = devices[0].platform
    # a puzzle's root node, its grid in and out, and what is known of it
    bytes_each = 4 * board.words + 4 * board.cells + 64 + beside
    each = max(_BATCH_BYTES.get(platform, 1 << 28) // bytes_each, 64)
    return (1 << (each.bit_length() - 1)) * len(devices)


@functools.lru_cache(maxsize=8)
def _threads(workers: int) -> concurrent.futures.ThreadPoolExecutor:
    """Threads that wait for batches; kept, as starting them takes as long as solving some hundred puzzles."""
    return concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="jaxsudoku")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has none of these threads

_compile_lock = threading.Lock()


def _mesh(devices: tuple[jax.Device, ...]) -> Mesh:
    return Mesh(np.asarray(devices), ("batch",))


#: Seconds that each program took to compile.
_seconds: list[float] = []


def compile_seconds() -> float:
    """Seconds that engines of this process have compiled, or loaded what had been compiled."""
    return sum(_seconds)


def _compiled(*arguments: Any) -> Callable[..., Any]:
    with _compile_lock:  # threads that need the same kernel wait for one compilation
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
    """The kernel, compiled for ``size`` items and for shared arguments of a structure with leaves of these shapes."""
    mesh = _mesh(devices)
    batch, everywhere = PartitionSpec("batch"), PartitionSpec()
    shared = jax.tree.unflatten(structure, shapes)

    def shard(items: jax.Array, key: jax.Array, number: jax.Array, *shared: Any) -> Any:
        if len(devices) > 1:
            number = number * np.uint32(len(devices)) + jax.lax.axis_index("batch").astype(np.uint32)
        return kernel(board, items, key, number, *shared)

    function = shard
    specs = (batch, everywhere, everywhere, *(everywhere for _ in shared))
    if len(devices) > 1:
        function = jax.shard_map(shard, mesh=mesh, in_specs=specs, out_specs=batch, check_vma=False)
    jitted = jax.jit(
        function,
        in_shardings=tuple(NamedSharding(mesh, spec) for spec in specs),
        compiler_options={**(compiler_options(devices[0].platform) or {}), **kernel.compiler_options} or None,
    )
    key = jax.eval_shape(lambda: as_key(0))
    number = jax.ShapeDtypeStruct((), np.uint32)
    row = kernel.row(board)
    start = time.perf_counter()
    try:
        lowered = jitted.lower(jax.ShapeDtypeStruct((size, *row.shape), row.dtype), key, number, *shared)
        with cache.kept():
            return lowered.compile()
    finally:
        _seconds.append(time.perf_counter() - start)


def as_puzzles(puzzles: Any, board: Board | None) -> tuple[np.ndarray, Board]:
    """Puzzles as uint8[*b, cells], and their board: the classic one of their size if none is named.

    Args:
      puzzles: integers[*b, cells] or [*b, side, side], 0 = empty; or texts[*b], each of one puzzle in any form that
        ``io.parse`` takes. Arrays, nested lists, and whatever numpy makes an array of, such as a column of pandas.
      board: the board, or None.

    Raises:
      ValueError: neither integers nor texts, values outside 0..side (in uint8 they pass, and make a puzzle INVALID), a
        shape that does not fit the board or is ambiguous, or a text that is no puzzle; the message names the first one.
      TypeError: a traced array, or a board that is none.
    """
    check_on_host(puzzles, "puzzles", "Inside jax.jit use jaxsudoku.exact.search, or a solver's run and solvers.judge")
    if isinstance(puzzles, bytes):
        puzzles = puzzles.decode(errors="replace")
    if isinstance(puzzles, str):
        try:
            array = parse(puzzles, board)
        except ValueError as error:
            shipped_set = f"'{puzzles}'" if puzzles in shipped.names() else "NAME"
            hint = f"For a shipped set use jaxsudoku.load({shipped_set}), for a file jaxsudoku.read_puzzles"
            raise ValueError(f"{error}. {hint}") from error
    else:
        try:
            mixed = isinstance(puzzles, list | tuple) and any(isinstance(part, str) for part in puzzles)
            array = np.asarray(puzzles, object if mixed else None)
        except ValueError as error:  # ragged lists
            raise ValueError(f"puzzles must be an array, a nested list of one length, or texts: {error}") from error
        if not array.ndim and array.dtype == object:
            raise ValueError(f"puzzles must be an array of integers, or texts, not {_with_article(puzzles)}")
        if _are_texts(array):
            array = _parsed(array, board)
            board = board or board_of_grids(array.shape[-1:])[0]  # [16, 16] are 16 puzzles, no ambiguous array
    if not array.size and not hasattr(puzzles, "__array__"):
        raise ValueError("no puzzles; a batch of none is an array of shape [0, cells]")
    if array.dtype.kind not in "iu":
        raise ValueError(f"puzzles of dtype {array.dtype}; they must be integers, 0 for an empty cell")
    board, batch = board_of_grids(array.shape, board)
    if array.dtype != np.uint8 and array.size and (array.min() < 0 or array.max() > board.side):
        raise ValueError(f"puzzles hold values outside 0..{board.side}")
    return array.astype(np.uint8, copy=False).reshape(*batch, board.cells), board


def check_on_host(values: Any, name: str, instead: str) -> None:
    """Raises TypeError if the values are traced: the function that they were given to runs on the host.

    Args:
      values: anything.
      name: what they are, in the plural.
      instead: what to do, for the message.
    """
    if isinstance(values, jax.core.Tracer):
        raise TypeError(
            f"{name} are traced, but this function runs on the host: it can't be jitted, vmapped or exported. "
            f"{instead}; see docs/jax.md"
        )


def _with_article(value: Any) -> str:
    """A value as a message names it: None itself, of others the type."""
    name = type(value).__name__
    return "None" if value is None else f"a{'n' * (name[0] in 'aeiou')} {name}"


def _are_texts(puzzles: np.ndarray) -> bool:
    """Whether an array is one of texts; of objects one is enough, and none need be there."""
    if puzzles.dtype == object:
        return not puzzles.size or any(isinstance(puzzle, str | bytes) for puzzle in puzzles.flat)
    return puzzles.dtype.kind in "UTS"


def _parsed(texts: np.ndarray, board: Board | None) -> np.ndarray:
    """Puzzles uint8[*b, cells] from an array of texts of one size, a puzzle each, str or bytes."""
    flat = texts.ravel().tolist()
    flat = [text.decode(errors="replace") if isinstance(text, bytes) else text for text in flat]
    for number, text in enumerate(flat):
        if not isinstance(text, str):
            raise ValueError(f"puzzle {number} is {text!r}, not a text")
    lengths = {len("".join(text.split())) for text in flat}
    if lengths and lengths <= {0, 1}:
        raise ValueError(
            "puzzles are single characters, and each text is a puzzle: join the cells, ''.join(cells), or write "
            "integers, 0 for an empty cell"
        )
    try:
        grids = _parsed_one_by_one(flat, board)
    except ValueError as error:
        rows = "; rows of one puzzle? join them, ''.join(rows)" if lengths == {len(flat)} else ""
        raise ValueError(f"{error}{rows}") from error
    cells = grids[0].size if grids else (board or Board.classic()).cells
    return np.reshape(np.asarray(grids, np.uint8), (*texts.shape, cells))


def _parsed_one_by_one(texts: list[str], board: Board | None) -> list[np.ndarray]:
    grids: list[np.ndarray] = []
    for number, text in enumerate(texts):
        try:
            grids.append(parse(text, board))
        except ValueError as error:
            raise ValueError(f"puzzle {number}: {error}") from error
        if grids[-1].size != grids[0].size:
            raise ValueError(f"puzzle {number} has {grids[-1].size} cells, puzzle 0 has {grids[0].size}")
    if grids and board is None:
        board_of_grids(grids[0].shape)
    return grids
