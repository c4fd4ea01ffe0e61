"""The puzzles of a run: from data sets that are named, or from one that is generated, to each step its own."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku import datasets, networks
from jaxsudoku.datasets import Batch, Dataset
from jaxsudoku.terminal.progress import Meter, Screen

from .config import TrainConfig
from .update import puzzles_needed


def held_out_puzzles(config: TrainConfig) -> np.ndarray:
    """The puzzles to validate on, uint8[N, cells]: shipped ones, or those of a file.

    Raises:
      ValueError: nothing of that name is shipped or on the disk, or it is of another board, or not all of its puzzles
        have exactly one solution.
    """
    board, name, shipped = config.parsed_board, config.held_out, js.shipped.names()
    if name in shipped:
        if (found := js.shipped.board(name)) != board:
            fitting = ", ".join(known for known in shipped if js.shipped.board(known) == board)
            choice = f"shipped for it: {fitting}" if fitting else "nothing is shipped for it, so name a file"
            raise ValueError(f"held_out {name} is of {found}, not of {board}; {choice}")
        return js.load(name)
    if not Path(name).is_file():
        raise ValueError(f"held_out {name!r} is neither a file nor among what is shipped: {', '.join(shipped)}")
    puzzles = js.read_puzzles(name, board)
    if not len(puzzles) or (js.count_solutions(puzzles, board=board) != 1).any():
        raise ValueError(f"held_out {name}: not every puzzle has exactly one solution, or there is none")
    return puzzles


def check_data(config: TrainConfig, devices: int) -> None:
    """Raises ValueError or OSError if data that are named can't be trained on, or what generation needs is amiss."""
    board, needed = config.parsed_board, _from_each(config, devices)
    for name in config.data:
        dataset = datasets.load(name)
        if dataset.board != board:
            raise ValueError(f"{name} holds puzzles of {dataset.board}, not of {board}")
        if len(dataset) < needed:
            raise ValueError(f"{name} holds {len(dataset):,} puzzles; a step takes {needed:,} of it")
    if not config.data:
        if config.generate < needed:
            raise ValueError(f"generate {config.generate:,} is too few: a step takes {needed:,} puzzles")
        js.generation.GenerateConfig(clues=config.parsed_clues)
        if config.exclude and board != js.Board.classic():
            raise ValueError(f"exclude is for the classic 9x9 board, not for {board}")


def open_data(config: TrainConfig, folder: Path, screen: Screen) -> list[Dataset]:
    """The data sets; if none is named, one that is generated in the folder, as far as it is not there."""
    if config.data:
        return [datasets.load(name) for name in config.data]
    meter = Meter()
    screen.say(f"{config.generate:,} puzzles are generated into {folder}, as far as they are not there")
    board = config.parsed_board
    excluded = [js.read_puzzles(name, board) for name in config.exclude]
    if board == js.Board.classic():
        excluded.append(held_out_puzzles(config))
    return [
        datasets.build(folder, config.generate, seed=config.seed, board=board, resume=True,
                       exclude=np.concatenate(excluded) if excluded else None, clues=config.parsed_clues,
                       progress=lambda done, count: screen.show(meter.line(done, count), now=True))
    ]  # fmt: skip


def puzzles_of_steps(
    data: Sequence[Dataset], config: TrainConfig, key: Array, mesh: Mesh, start: int
) -> Iterator[Batch]:
    """The puzzles of every step after ``start`` steps, as many from each data set, dealt out over the devices.

    Networks that are not equivariant get each puzzle under a random symmetry of the board.
    """
    needed, each = puzzles_needed(config, mesh.size), _from_each(config, mesh.size)
    augment = not networks.get(config.network).equivariant
    streams = [
        datasets.batches(dataset, jax.random.fold_in(key, number), each, augment=augment, start=start)
        for number, dataset in enumerate(data)
    ]
    split = NamedSharding(mesh, PartitionSpec("batch"))
    for parts in zip(*streams, strict=True):
        yield jax.device_put(jax.tree.map(functools.partial(_dealt, needed), *parts), split)


def described(dataset: Dataset) -> dict[str, Any]:
    """What a network's card says of a data set."""
    card = dataset.card
    return {"puzzles": card.count, "seed": card.seed, "wishes": card.wishes, "excluded": card.excluded,
            "grades": card.grades, "made_with": card.made_with}  # fmt: skip


def _from_each(config: TrainConfig, devices: int) -> int:
    """Puzzles that a step takes of each data set."""
    return -(-puzzles_needed(config, devices) // max(len(config.data), 1))


def _dealt(needed: int, *parts: Array) -> Array:
    """Rows of each data set in turn, so that each device and each kind of position sees all of them."""
    if len(parts) == 1:
        return parts[0]
    return jnp.stack(parts, axis=1).reshape(-1, *parts[0].shape[1:])[:needed]
