"""Data sets of generated or given puzzles: built in checksummed shards, resumable, and read in batches for training.

Example::

    dataset = datasets.build("train", 1_000_000, seed=0, clues=(24, 40))
    for batch in datasets.batches(datasets.load("train"), key=1, batch_size=4096, epochs=10):
        train(batch.puzzles, batch.solutions)

A data set is a folder of shards, ``shard-00000.npz`` and so on, or ``.parquet``, and ``card.json``, which describes the
shards and how they were made. The same arguments give the same puzzles on every machine.
"""

from jaxsudoku.rating import GRADES, grade

from .builder import build
from .card import Card, DatasetError, Shard
from .feed import Batch, batches
from .given import PARTS, Given, GivenError, build_given
from .loader import Dataset, load

__all__ = [
    "GRADES",
    "PARTS",
    "Batch",
    "Card",
    "Dataset",
    "DatasetError",
    "Given",
    "GivenError",
    "Shard",
    "batches",
    "build",
    "build_given",
    "grade",
    "load",
]
