"""The puzzles for self-play: from a file, from data sets, or generated. Their solutions are not read.

Puzzles for the arena and for the test at the end are drawn from the file, and not used for training, or from the
held-out puzzles.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh

import jaxsudoku as js
from jaxsudoku import networks, symmetry
from jaxsudoku.core.board import Board
from jaxsudoku.datasets import Dataset
from jaxsudoku.runtime.files import write_file
from jaxsudoku.runtime.terminal.progress import Screen

from .devices import own_rows, placed_rows
from .processes import Processes
from .puzzles import check_data, data_batches, load_held_out, open_data
from .selfplay_config import ZeroConfig

#: Name of the file with the digest of the played puzzles, in the folder of the data.
_DIGEST = "puzzles.sha256"


class Stream:
    """The puzzles of a run.

    Args:
      config: the resolved settings.
      devices: number of devices.

    Attributes:
      held_out: uint8[N, cells], the puzzles of the validation.
      arena: uint8[M, cells], the puzzles of the arena.
      test: uint8[M, cells], other puzzles, for the test at the end.
      data: the data sets that are played, after ``open``; none with a file of puzzles, or with self-generated ones.

    Raises:
      ValueError: the puzzles are for another board, or too few.
      OSError: a file cannot be read.
    """

    def __init__(self, config: ZeroConfig, devices: int) -> None:
        self._config = config
        self.held_out = load_held_out(config)
        self.data: list[Dataset] = []
        self._puzzles: np.ndarray | None = None
        self._left_out: list[str] = []
        name, size = config.stream.puzzles, config.arena.arena_puzzles
        if name is None:
            unique = self.held_out
            if config.stream.source == "puzzles":
                check_data(config, self._size, "a round")
        else:
            unique = self._read(name)
        classes = self._classes(unique)
        first = np.sort(np.unique(classes, return_index=True)[1])
        if len(first) < 2 * size:
            raise ValueError(
                f"{name or config.data.held_out} holds {len(first):,} different puzzles with one solution; "
                f"arena_puzzles {size:,} needs {2 * size:,}"
            )
        order = np.random.default_rng(config.seed).permutation(first)
        self.arena, self.test = unique[order[:size]], unique[order[size : 2 * size]]
        if name is not None:
            apart = np.concatenate([classes[order[: 2 * size]], self._classes(self.held_out)])
            self._puzzles = unique[~np.isin(classes, apart)]
            if not len(self._puzzles):
                raise ValueError(f"{name} holds no puzzle to play, beside held-out ones and those of the arena")

    def _read(self, name: str) -> np.ndarray:
        """The puzzles of a file that have one solution; others are counted."""
        puzzles = js.read_puzzles(name, self._config.board)
        if not len(puzzles):
            raise ValueError(f"{name} holds no puzzles")
        counts = js.count_solutions(puzzles, board=self._config.board)
        for number, text in (((counts > 1).sum(), "several solutions"), ((counts == 0).sum(), "no solution")):
            if number:
                self._left_out.append(f"{number:,} puzzles with {text} are left out")
        return puzzles[counts == 1]

    def _classes(self, puzzles: np.ndarray) -> np.ndarray:
        """Keys of puzzles: equal on 9x9 for puzzles with equivalent solutions, on other boards for equal puzzles."""
        if self._config.board == js.Board.classic():
            return symmetry.solution_hashes(puzzles)
        return np.array([puzzle.tobytes().hex() for puzzle in puzzles])

    def open(self, folder: Path, screen: Screen, processes: Processes) -> None:
        """Opens the data sets; generates one in the folder if there is no data set, no file and no self-generation.

        All processes call it; the first one writes.
        """
        for message in self._left_out:
            screen.say(message)
        if self._puzzles is not None:
            if processes.first:
                self._check_same(folder / _DIGEST)
            processes.exchange("puzzles")
            if not processes.first:
                self._check_same(folder / _DIGEST)
        elif self._config.stream.source == "puzzles":
            self.data = open_data(self._config, self.held_out, folder, screen, processes)

    def _check_same(self, path: Path) -> None:
        """Raises ValueError if the puzzles differ from those at the start of the run, whose digest is in a file."""
        digest = hashlib.sha256(np.ascontiguousarray(self._puzzles).tobytes()).hexdigest()
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, f"{digest}\n".encode())
        elif path.read_text().strip() != digest:
            raise ValueError(f"{self._config.stream.puzzles} holds other puzzles than when the run began")

    def rounds(self, key: Array, mesh: Mesh, start: int) -> Iterator[Array | None]:
        """The puzzles of every round after ``start`` rounds, uint8[games * offered, cells], divided among the devices.

        They are repeated endlessly in random order. For networks that are not equivariant, a random symmetry is applied
        to each. None, if the network generates the puzzles.
        """
        if self._config.stream.source == "empty":
            yield from itertools.repeat(None)
        elif self._puzzles is None:
            for batch in data_batches(self.data, self._config, key, mesh, start, self._size):
                yield batch.puzzles
        else:
            rows = own_rows(mesh, self._size)
            for puzzles in self._from_file(self._puzzles, key, start):
                yield placed_rows(puzzles[rows], mesh)

    @property
    def _size(self) -> int:
        """Number of puzzles of a round."""
        return self._config.play.games * self._config.stream.offered

    def _from_file(self, puzzles: np.ndarray, key: Array, start: int) -> Iterator[Array | np.ndarray]:
        games, board = self._size, self._config.board
        augment = not networks.get(self._config.network.architecture).equivariant
        order_key, turn_key = jax.random.split(key)

        def order(epoch: int) -> np.ndarray:
            return np.asarray(jax.random.permutation(jax.random.fold_in(order_key, epoch), len(puzzles)))

        for number in itertools.count(start):
            rows = np.arange(number * games, (number + 1) * games)
            epochs, places = np.divmod(rows, len(puzzles))
            orders = {epoch: order(epoch) for epoch in np.unique(epochs).tolist()}
            chosen = np.concatenate([orders[epoch][places[epochs == epoch]] for epoch in orders])
            yield _turned(board, turn_key, np.uint32(number), puzzles[chosen]) if augment else puzzles[chosen]


@functools.partial(jax.jit, static_argnames="board")
def _turned(board: Board, key: Array, number: Array, puzzles: Array) -> Array:
    """Applies a random symmetry of the board to each puzzle of a round."""
    return symmetry.apply(symmetry.sample(jax.random.fold_in(key, number), board, (len(puzzles),)), puzzles)
