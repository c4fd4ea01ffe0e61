"""An ordered parallel map over items, on threads that work a few items ahead. No JAX."""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

#: Seconds between calls of ``waiting`` while a result is awaited.
_WAIT = 10.0


def in_order(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    workers: int,
    waiting: Callable[[], object] | None = None,
) -> Iterator[Any]:
    """Yields ``function(item)`` for each item, in order, while threads work a few items ahead.

    When the caller stops early, calls that have begun are not waited for.

    Args:
      function: the function.
      items: the items.
      workers: the number of threads.
      waiting: called every ten seconds while the next result is awaited.
    """
    pool = _threads(workers)
    calls: collections.deque[concurrent.futures.Future[Any]] = collections.deque()

    def next_result() -> Any:
        call = calls.popleft()
        while waiting is not None and not call.done():
            try:
                return call.result(_WAIT)
            except TimeoutError:
                waiting()
        return call.result()

    try:
        for item in items:
            calls.append(pool.submit(function, item))
            if len(calls) > workers:
                yield next_result()
        while calls:
            yield next_result()
    finally:
        for call in calls:
            call.cancel()


@functools.lru_cache(maxsize=8)
def _threads(workers: int) -> concurrent.futures.ThreadPoolExecutor:
    """A cached pool of threads: starting a thread takes as long as solving some hundred puzzles."""
    return concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="jaxsudoku")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not survive a fork
