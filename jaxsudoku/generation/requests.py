"""Inputs and results of the kernels of generation: requests for attempts, and puzzles."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.engine.kernels import KernelDefaults
from jaxsudoku.engine.tables import grid_texts, to_table

#: The number of an item that pads a batch.
PADDING = 0xFFFFFFFF


class Request(NamedTuple):
    """Requests for attempts; all fields are uint32.

    Attributes:
      number, attempt: the number of the puzzle, and of the attempt at it.
      fewest, most: the range of the number of clues at which removal ends; the number is drawn uniformly.
      enough: the number of clues at which the local search for fewer clues ends.
      goal: the bits of the float32 rating at which the local search for a higher rating ends.
      steps: the maximum number of steps of local search.
    """

    number: Any
    attempt: Any
    fewest: Any
    most: Any
    enough: Any
    goal: Any
    steps: Any


class Puzzles(NamedTuple):
    """Generated puzzles, arrays of numpy or, with results on a device, of JAX.

    Attributes:
      puzzles: uint8[N, cells], 0 = empty; each has exactly one solution, or with ``holes`` at least one.
      solutions: uint8[N, cells].
      clues: int32[N], number of clues.
      rating: float32[N], as from ``rate``; NaN with ``holes``, as such puzzles are not rated. In results of a kernel,
        as from ``rating.branch_nodes``.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    clues: np.ndarray
    rating: np.ndarray

    def to_table(self, board: Board | None = None) -> Any:
        """The puzzles as a ``pyarrow.Table``, with the columns of ``jaxsudoku generate``; a pandas data frame of it is
        ``.to_pandas()``.

        The columns are ``puzzle`` and ``solution``, texts, ``clues`` and ``rating``.

        Args:
          board: the board; None for the classic one of the puzzles' size.

        Raises:
          ImportError: pyarrow is missing (extra ``parquet``).
          ValueError: there is no classic board of that size.
        """
        texts = {
            "puzzle": grid_texts(self.puzzles, board, len(self.clues), "puzzles"),
            "solution": grid_texts(self.solutions, board, len(self.clues), "solutions"),
        }
        return to_table({**texts, "clues": self.clues, "rating": self.rating})


class RequestItems(KernelDefaults):
    """Base class of kernels from ``Request``s, uint32[B, 7], to ``Puzzles``."""

    def row(self, board: Board) -> jax.ShapeDtypeStruct:
        """A request, uint32[7]."""
        return jax.ShapeDtypeStruct((len(Request._fields),), np.uint32)


def request_rows(request: Request, padding: int = 0) -> np.ndarray:
    """Items uint32[N + padding, 7] of requests, whose fields are broadcast to N."""
    fields = [field.astype(np.uint32) for field in np.broadcast_arrays(*request)]
    return np.stack([np.pad(field, (0, padding), constant_values=PADDING) for field in fields], axis=1)


def check_numbers(first: int, count: int) -> None:
    """Raises ValueError if there are no ``count`` puzzles from number ``first`` on."""
    if first < 0 or first + count > PADDING:
        raise ValueError(f"puzzles are numbered from 0 to {PADDING - 1}, not {first} to {first + count - 1}")


def first_good(good: np.ndarray, parallel: int) -> tuple[np.ndarray, np.ndarray]:
    """The first good one of ``parallel`` attempts at each of m puzzles.

    Args:
      good: bool[parallel * m], the first attempts at all puzzles, then the second ones, ...
      parallel: the number of attempts.

    Returns:
      bool[m], whether there is one; and of the puzzles with one its place in ``good``, int64.
    """
    by_attempt = good.reshape(parallel, -1)
    found: np.ndarray = np.logical_or.reduce(by_attempt)
    return found, (by_attempt.argmax(axis=0) * len(found) + np.arange(len(found)))[found]


def attempt_keys(key: Array, request: Request, count: int) -> Array:
    """``count`` random keys of each of N attempts, [count, N]."""

    def of_one(number: Array, attempt: Array) -> Array:
        return jax.random.split(jax.random.fold_in(jax.random.fold_in(key, number), attempt), count)

    return jnp.moveaxis(jax.vmap(of_one)(request.number, request.attempt), 0, 1)


def random_bits(keys: Array, *shape: int) -> Array:
    """Random bits uint32[N, *shape] of keys [N]."""
    return jax.vmap(lambda key: jax.random.bits(key, shape, jnp.uint32))(keys)
