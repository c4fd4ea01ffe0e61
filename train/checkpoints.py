"""Checkpoints: a run's state as orbax writes it. One is there as a whole or not at all, wherever a run is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp

from .update import TrainState


class Checkpoints:
    """The checkpoints in a folder, the latest few of a run; a context manager.

    Each has the ``TrainState`` and, as JSON, what the log has to go on from.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        # what a killed run left half written goes
        options = ocp.CheckpointManagerOptions(
            max_to_keep=keep, enable_async_checkpointing=False, cleanup_tmp_directories=True
        )
        self._manager = ocp.CheckpointManager(folder, options=options)

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.close()

    @property
    def latest(self) -> int | None:
        """The step of the latest checkpoint, None if there is none."""
        return self._manager.latest_step()

    def save(self, state: TrainState, clock: dict[str, Any]) -> None:
        """Writes a checkpoint of this step, unless it is there."""
        step = int(state.step)
        if step != self.latest:
            args = ocp.args.Composite(state=ocp.args.StandardSave(state), clock=ocp.args.JsonSave(clock))
            self._manager.save(step, args=args, force=True)

    def restore(self, like: TrainState) -> tuple[TrainState, dict[str, Any]]:
        """The latest checkpoint, its arrays placed on devices as those of ``like``."""
        abstract = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), like)
        args = ocp.args.Composite(state=ocp.args.StandardRestore(abstract), clock=ocp.args.JsonRestore())
        found = self._manager.restore(self.latest, args=args)
        return found["state"], found["clock"]
