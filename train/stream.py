"""The puzzles that self-play plays: of a file, of data sets, or generated ones. Their solutions are not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku import datasets, networks, symmetry
from jaxsudoku.datasets import Dataset
from jaxsudoku.terminal.progress import Screen

from .puzzles import check_data, load_held_out, open_data
from .selfplay_config import ZeroConfig


class Stream:
    """The puzzles of a run.

    Args:
      config: the resolved settings.
      devices: number of devices.

    Attributes:
      held_out: uint8[N, cells], the puzzles of the validation.
      data: the data sets that are played, once ``open`` was called; none with a file of puzzles.

    Raises:
      ValueError: the puzzles are of another board, or too few.
      OSError: a file cannot be read.
    """

    def __init__(self, config: ZeroConfig, devices: int) -> None:
        self._config = config
        self.held_out = load_held_out(config)
        self.data: list[Dataset] = []
        self._puzzles: np.ndarray | None = None
        if config.play.puzzles is None:
            check_data(config, devices)
            return
        self._puzzles = js.read_puzzles(config.play.puzzles, config.board)
        if not len(self._puzzles):
            raise ValueError(f"{config.play.puzzles} holds no puzzles")

    def open(self, folder: Path, screen: Screen) -> None:
        """Opens the data sets; generates one into the folder if none is named, and no file."""
        if self._puzzles is None:
            self.data = open_data(self._config, self.held_out, folder, screen)

    def rounds(self, key: Array, mesh: Mesh, start: int) -> Iterator[Array]:
        """The puzzles of every round after ``start`` rounds, uint8[games, cells], divided among the devices.

        They come in random order, again and again. Networks that are not equivariant get each under a random symmetry.
        """
        split = NamedSharding(mesh, PartitionSpec("batch"))
        for puzzles in self._from_file(key, start) if self._puzzles is not None else self._from_data(key, start):
            yield jax.device_put(puzzles, split)

    @property
    def _augment(self) -> bool:
        return not networks.get(self._config.network.architecture).equivariant

    def _from_data(self, key: Array, start: int) -> Iterator[Array]:
        games = self._config.play.games
        each = -(-games // len(self.data))
        streams = [
            datasets.batches(dataset, jax.random.fold_in(key, number), each, augment=self._augment, start=start)
            for number, dataset in enumerate(self.data)
        ]
        for parts in zip(*streams, strict=True):
            yield jnp.stack([part.puzzles for part in parts], axis=1).reshape(-1, self._config.board.cells)[:games]

    def _from_file(self, key: Array, start: int) -> Iterator[Array]:
        assert self._puzzles is not None
        games, size, board = self._config.play.games, len(self._puzzles), self._config.board
        number = start
        while True:
            rows = np.arange(number * games, (number + 1) * games)
            orders = {
                epoch: np.asarray(jax.random.permutation(jax.random.fold_in(key, epoch), size))
                for epoch in set((rows // size).tolist())
            }
            chosen = np.array([orders[row // size][row % size] for row in rows.tolist()])
            puzzles = jnp.asarray(self._puzzles[chosen])
            if self._augment:
                puzzles = symmetry.apply(symmetry.sample(jax.random.fold_in(key, ~number), board, (games,)), puzzles)
            yield puzzles
            number += 1
