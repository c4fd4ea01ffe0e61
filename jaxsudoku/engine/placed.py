"""Puzzles on devices, of one process or several: kernels run where they lie, and results stay there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxsudoku.core.board import Board, board_of_grids
from jaxsudoku.engine.batches import Engine, results_for
from jaxsudoku.engine.inputs import as_puzzles
from jaxsudoku.engine.kernels import Kernel
from jaxsudoku.io import Errors
from jaxsudoku.runtime.arrays import from_dlpack
from jaxsudoku.runtime.process_shards import ProcessShards, is_spread
from jaxsudoku.runtime.settings import whole_number
from jaxsudoku.runtime.suggestions import known_name
from jaxsudoku.runtime.terminal.progress import Report, reports

#: Where results are: numpy arrays, or arrays of JAX on the devices of the puzzles.
Results = Literal["host", "device"]


def on_device(results: Results) -> bool:
    """Whether results are wanted on devices; raises ValueError for an unknown place."""
    return known_name("results", results, ("host", "device")) == "device"


def stay_on_devices(puzzles: Any, results: Results) -> bool:
    """Whether results are wanted where the puzzles are; those over several processes stay there in any case."""
    return on_device(results) or is_spread(puzzles)


class PlacedPuzzles:
    """Puzzles on devices, for kernels that run there.

    Each process runs engines of its own on the devices that hold its puzzles.

    Args:
      puzzles: an array of JAX, on one device or sharded along its batch; anything else that ``as_marked`` takes is put
        on the default device.
      board: the board; None for the classic one of the puzzles' size.
      batch_size: puzzles on all devices at a time; None for automatic.
      devices: must be None.
      errors: must be "raise".
      candidates, clues: must be None.

    Attributes:
      board: the board.
      item: the shape of a puzzle, (cells,) or (side, side).
      shares: the puzzles that this process holds, uint8[s, cells] for each of its devices.

    Raises:
      ValueError: puzzles as ``as_marked`` or ``ProcessShards`` refuse them, or an argument that must be left out.
    """

    def __init__(
        self,
        puzzles: Any,
        board: Board | None,
        batch_size: int | None = None,
        devices: Sequence[jax.Device] | None = None,
        errors: Errors = "raise",
        candidates: Any = None,
        clues: Any = None,
    ) -> None:
        if devices is not None:
            raise ValueError(
                "puzzles on devices are solved on the devices that hold them; leave out devices, and put the puzzles "
                "there with jax.device_put"
            )
        if clues is not None:
            raise ValueError("puzzles on devices are solved without clues; leave out results, or call exact.search")
        if candidates is not None:
            raise ValueError("puzzles on devices are solved without candidates; leave out results, or candidates")
        if errors != "raise":
            raise ValueError('malformed puzzles are marked on the host; leave out results, or use errors="raise"')
        array = from_dlpack(puzzles)
        if not isinstance(array, jax.Array) or isinstance(array, jax.core.Tracer):
            grids, board = as_puzzles(array, board)
            array = jnp.asarray(grids.reshape(np.shape(array)) if np.ndim(array) > grids.ndim else grids)
        self.board, batch = board_of_grids(array.shape, board)
        self.item = array.shape[len(batch) :]
        as_puzzles(np.empty((0, *self.item), array.dtype), self.board)  # a wrong dtype is an error in all processes
        self._spread = ProcessShards(array, len(batch))
        self.shares = [_checked(share, self.board) for share in self._spread.shares()]
        if batch_size is not None:  # that of all devices
            here = max(len(self._spread.positions), 1)
            batch_size = -(-whole_number("batch_size", batch_size, 1) // self._spread.count) * here
        self._batch_size = batch_size

    def run(
        self,
        kernel: Kernel,
        key: jax.Array | int = 0,
        shared: tuple[Any, ...] = (),
        progress: Report | bool | None = None,
        shares: Sequence[jax.Array] | None = None,
    ) -> list[Any]:
        """The kernel's results: first those for no puzzles, as numpy arrays, then those for each share.

        Args:
          kernel, key, shared: as for ``Engine``.
          progress: called with the puzzles done and all those of this process, as in ``solve``.
          shares: what to run it on, uint8[s, cells] for each share; None for the puzzles.
        """
        spread = self._spread
        engine = Engine(kernel, self.board, key, self._batch_size, spread.devices or None, shared)
        with reports(progress) as report:
            found = engine.run_shares(self.shares if shares is None else shares, spread.positions, spread.count, report)
        # the first call of nothing() traces the kernel, which takes half a second
        return [results_for(0, found[0]) if found else engine.nothing(), *found]

    def assemble(self, results: list[Any]) -> Any:
        """What was made of each result of ``run``, [s, ...], as arrays [*b, ...] that lie like the puzzles."""
        return self._spread.assemble(results[1:], results[0])


def _checked(share: jax.Array, board: Board) -> jax.Array:
    """Puzzles integers[s, *item] as uint8[s, cells]; raises ValueError if they hold values outside 0..side.

    Those of uint8 are not checked, as in ``as_marked``.
    """
    if share.dtype != jnp.uint8 and share.size and bool(((share < 0) | (share > board.side)).any()):
        raise ValueError(f"puzzles hold values outside 0..{board.side}")
    return share.astype(jnp.uint8).reshape(-1, board.cells)
