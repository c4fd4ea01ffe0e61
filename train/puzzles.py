"""The puzzles of a run: from named data sets or a generated one; and held-out puzzles."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh

import jaxsudoku as js
from jaxsudoku import datasets, networks
from jaxsudoku.datasets import Batch, Dataset
from jaxsudoku.datasets.builder import excluded_hashes, is_excluded
from jaxsudoku.runtime.terminal.progress import Meter, Screen

from .devices import own_rows, placed_rows
from .positions import puzzles_needed
from .processes import Processes
from .train_config import DataConfig, TrainConfig


def load_held_out(config: TrainConfig) -> np.ndarray:
    """The puzzles to validate on, uint8[N, cells]: shipped ones, or those of a file.

    Raises:
      ValueError: none is named and nothing ships for the board; there is no shipped set and no file of that name; it is
        for another board; or not all of its puzzles have exactly one solution.
    """
    board, name, shipped = config.board, config.data.held_out, js.shipped.names()
    if name is None:
        raise ValueError(f"no puzzles are shipped for {board}: name a file as held_out")
    if name in shipped:
        if (found := js.shipped.board(name)) != board:
            fitting = ", ".join(known for known in shipped if js.shipped.board(known) == board)
            choice = f"shipped for it: {fitting}" if fitting else "nothing is shipped for it, so name a file"
            raise ValueError(f"held_out {name} is of {found}, not of {board}; {choice}")
        return js.load(name)
    if not Path(name).is_file():
        raise ValueError(f"held_out {name!r} is neither a file nor a shipped set: {', '.join(shipped)}")
    puzzles = js.read_puzzles(name, board)
    if not len(puzzles) or (js.count_solutions(puzzles, board=board) != 1).any():
        raise ValueError(f"held_out {name}: not every puzzle has exactly one solution, or there is none")
    return puzzles


def check_data(config: TrainConfig, total: int, taker: str) -> None:
    """Raises ValueError or OSError if the data sets can't be used, or puzzles can't be generated with the settings.

    Args:
      config: the settings.
      total: number of puzzles taken from all data sets at a time.
      taker: the unit that takes them, for messages: "a step" or "a round".
    """
    board, data, needed = config.board, config.data, _of_each(config, total)
    for name in data.datasets:
        dataset = datasets.load(name)
        if dataset.board != board:
            raise ValueError(f"{name} holds puzzles of {dataset.board}, not of {board}")
        if len(dataset) < needed:
            raise ValueError(f"{name} holds {len(dataset):,} puzzles; {taker} takes {needed:,} of it")
    if data.exclude and board != js.Board.classic():
        raise ValueError(f"exclude is for the classic 9x9 board, not for {board}")
    if not data.datasets:
        if data.generate < needed:
            raise ValueError(f"generate {data.generate:,} is too few: {taker} takes {needed:,} puzzles")
        js.generation.GenerateConfig(clues=clues_of(data))


def open_data(
    config: TrainConfig, held_out: np.ndarray, folder: Path, screen: Screen, processes: Processes
) -> list[Dataset]:
    """The named data sets; if there are none, one generated in the folder (or its missing part).

    Process 0 generates it, or compares the named ones with the excluded puzzles, while the others wait.

    Raises:
      ValueError: a named data set of 9x9 has puzzles that are excluded or held out, up to symmetry of the solutions.
    """
    data, board = config.data, config.board
    if not processes.first:
        processes.exchange("data")
        return [datasets.load(name) for name in data.datasets or (folder,)]
    excluded = [js.read_puzzles(name, board) for name in data.exclude]
    if board == js.Board.classic():
        excluded.append(held_out)
    if data.datasets:
        named = {name: datasets.load(name) for name in data.datasets}
        if excluded:
            _check_apart(named, excluded_hashes(np.concatenate(excluded), board))
        processes.exchange("data")
        return [named[name] for name in data.datasets]
    meter = Meter()
    screen.say(f"generating {data.generate:,} puzzles in {folder}, unless they exist")
    dataset = datasets.build(
        folder,
        data.generate,
        seed=config.seed,
        board=board,
        resume=True,
        exclude=np.concatenate(excluded) if excluded else None,
        clues=clues_of(data),
        progress=lambda done, count: screen.show(meter.line(done, count), now=True, task=True),
    )
    screen.clear()  # the next line belongs to another task
    processes.exchange("data")
    return [dataset]


def _check_apart(named: Mapping[str, Dataset], hashes: np.ndarray) -> None:
    """Raises ValueError if solutions of data sets have the hashes uint64[k] of excluded solutions."""
    for name, dataset in named.items():
        if number := int(is_excluded(dataset.arrays().solutions, hashes).sum()):
            raise ValueError(
                f"{name}: {number:,} of {len(dataset):,} solutions are equivalent to those of held-out or excluded "
                "puzzles; build the data set with --exclude"
            )


def puzzles_of_steps(
    data: Sequence[Dataset], config: TrainConfig, key: Array, mesh: Mesh, start: int
) -> Iterator[Batch]:
    """The puzzles of every step after ``start`` steps, as from ``data_batches``."""
    return data_batches(data, config, key, mesh, start, puzzles_needed(config, mesh.size))


def data_batches(
    data: Sequence[Dataset], config: TrainConfig, key: Array, mesh: Mesh, start: int, total: int
) -> Iterator[Batch]:
    """Batches of ``total`` puzzles, after ``start`` batches: equally many of each data set, divided among the devices.

    A process makes only the rows of its own devices; all processes read the same data sets.

    For networks that are not equivariant, a random symmetry of the board is applied to each puzzle.
    """
    each = _of_each(config, total)
    augment = not networks.get(config.network.architecture).equivariant
    wanted, sets = own_rows(mesh, total), len(data)
    rows = slice(wanted.start // sets, -(-wanted.stop // sets))  # of each data set, for these of the batch
    skipped = wanted.start - rows.start * sets
    streams = [
        datasets.batches(dataset, jax.random.fold_in(key, number), each, augment=augment, start=start, rows=rows)
        for number, dataset in enumerate(data)
    ]
    interleave = functools.partial(_interleave, skipped, wanted.stop - wanted.start)
    for parts in zip(*streams, strict=True):
        yield placed_rows(parts[0] if len(parts) == 1 else interleave(*parts), mesh)


def _of_each(config: TrainConfig, total: int) -> int:
    """Number of puzzles taken from each data set, for ``total`` in all."""
    return -(-total // max(len(config.data.datasets), 1))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _interleave(first: int, rows: int, *parts: Batch) -> Batch:
    """Some rows of a batch that has rows of each data set in turn, so that each device and each kind of position gets
    rows of all of them."""
    return jax.tree.map(
        lambda *leaves: jnp.stack(leaves, axis=1).reshape(-1, *leaves[0].shape[1:])[first : first + rows], *parts
    )


def clues_of(data: DataConfig) -> int | tuple[int | None, int | None] | None:
    """The clues of generated puzzles, as in ``GenerateConfig``."""
    fewest, most = data.fewest_clues, data.most_clues
    return fewest if fewest == most else (fewest, most)
