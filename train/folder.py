"""The folder of a run: settings, checkpoints, and saved networks with facts about the training."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import jax
import orbax.checkpoint as ocp

from jaxsudoku import networks
from jaxsudoku.datasets import Dataset
from jaxsudoku.runtime.files import TEMPORARY, JsonError, read_json, write_file
from jaxsudoku.runtime.locks import SUFFIX
from jaxsudoku.runtime.part_folder import differences

from .processes import Processes
from .train_config import TrainConfig

_SETTINGS = "config.json"

StateT = TypeVar("StateT")


def check_folder(folder: Path, config: TrainConfig, resume: bool) -> None:
    """Raises FileExistsError or ValueError unless a run with these settings can start or resume in the folder."""
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise FileExistsError(f"{folder} isn't empty: continue with --resume, or name another folder")
    path = folder / _SETTINGS
    if path.exists():
        _check_settings(path, config)
    elif folder.exists():
        # a run that was stopped while its data were generated has written only these
        ours = ("data", SUFFIX, f"{_SETTINGS}{TEMPORARY}")
        if others := sorted(entry.name for entry in folder.iterdir() if entry.name not in ours):
            raise FileExistsError(f"{folder} holds no run to resume, but {others[0]}: name another folder")


def saved_steps(folder: Path) -> int | None:
    """The steps of the run in a folder; None if there is none. Raises ValueError for settings that cannot be read."""
    path = folder / _SETTINGS
    if not path.exists():
        return None
    try:
        return int(read_json(path)["steps"])
    except (JsonError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no settings of a run ({error})") from error


def _check_settings(path: Path, config: TrainConfig) -> None:
    try:
        there, here = read_json(path), as_json(config)
    except JsonError as error:
        raise ValueError(f"{path}: no settings of a run ({error})") from error
    if set(there) != set(here):
        raise ValueError(f"{path}: settings of another version of jaxsudoku, whose runs can't be resumed by this one")
    if differing := differences(there, here):
        raise ValueError(f"the run in {path.parent} has other settings: {'; '.join(differing)}")


def write_settings(folder: Path, config: TrainConfig) -> None:
    """Writes the settings, for the check on resuming."""
    write_file(folder / _SETTINGS, f"{json.dumps(as_json(config), indent=2)}\n".encode())


def as_json(config: TrainConfig) -> dict[str, Any]:
    """The settings as they are read back from JSON."""
    settings: dict[str, Any] = json.loads(json.dumps(_fields(config)))
    return settings


def _fields(config: TrainConfig) -> dict[str, Any]:
    """The settings as a dict, with constraints of the board as in its name; raises ValueError if one has no text."""
    settings = dataclasses.asdict(config)
    settings["board"] |= config.board.to_json()
    return settings


class Checkpoints:
    """The latest checkpoints of a run, written by orbax; a context manager.

    Each has the state, a pytree with its ``step``, and, as JSON, the state of the log. A checkpoint is written
    atomically, even if the run is killed. Several processes write it together, and any number of processes can read it.

    Args:
      folder: the run's folder.
      keep: number of checkpoints to keep.
      processes: the processes of the run.
    """

    def __init__(self, folder: Path, keep: int, processes: Processes) -> None:
        path, together = folder / "checkpoints", ocp.options.MultiprocessingOptions()
        if processes.several:
            # orbax then waits at barriers of the coordination service, which have timeouts, not at collectives; it
            # doesn't make the folder in this case
            together = ocp.options.MultiprocessingOptions(active_processes=set(range(processes.count)))
            if processes.first:
                path.mkdir(exist_ok=True)
            processes.exchange("checkpoints")
        options = ocp.CheckpointManagerOptions(
            max_to_keep=keep,
            enable_async_checkpointing=False,
            cleanup_tmp_directories=True,  # left by a run that was killed while writing
            create=not processes.several,
            multiprocessing_options=together,
        )
        self._manager = ocp.CheckpointManager(path, options=options)

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.close()

    @property
    def latest(self) -> int | None:
        """The step of the latest checkpoint; None if there is none."""
        step: int | None = self._manager.latest_step()
        return step

    def save(self, state: Any, log: dict[str, Any]) -> None:
        """Writes a checkpoint of this step, unless there is one."""
        step = int(state.step)
        if step != self.latest:
            args = ocp.args.Composite(state=ocp.args.StandardSave(state), log=ocp.args.JsonSave(log))
            self._manager.save(step, args=args, force=True)

    def log(self) -> dict[str, Any]:
        """The state of the log in the latest checkpoint."""
        found = self._manager.restore(self.latest, args=ocp.args.Composite(log=ocp.args.JsonRestore()))
        return dict(found["log"])

    def restore(self, like: StateT) -> StateT:
        """The state of the latest checkpoint, with arrays placed like those of ``like``."""
        abstract = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), like)
        args = ocp.args.Composite(state=ocp.args.StandardRestore(abstract))
        state: StateT = self._manager.restore(self.latest, args=args)["state"]
        return state


def save_network(
    network: networks.Network,
    folder: Path,
    config: TrainConfig,
    data: Sequence[Dataset],
    seconds: float,
    metrics: dict[str, float],
    name: str = "network",
) -> None:
    """Writes a network of a run, with a card that has the settings, the data and the metrics of a validation."""
    facts = _training_facts(config, data, seconds, metrics)
    networks.save_network(network, folder / name, **facts)


def _training_facts(
    config: TrainConfig, data: Sequence[Dataset], seconds: float, metrics: dict[str, float]
) -> dict[str, Any]:
    """Facts about the training, for the card of a network."""
    device = jax.devices()[0]
    settings = _fields(config)
    # names without folders, which are meaningless on other machines
    for name in ("datasets", "exclude", "others"):
        settings["data"][name] = [Path(path).name for path in settings["data"][name]]
    if held_out := config.data.held_out:
        settings["data"]["held_out"] = Path(held_out).name
    if start := config.network.start:
        settings["network"]["start"] = Path(start).name
    if puzzles := settings.get("stream", {}).get("puzzles"):
        settings["stream"]["puzzles"] = Path(puzzles).name
    of_data = ("seed", "options", "excluded", "grades", "made_with")
    return {
        "training": settings,
        "data": [
            {
                "puzzles": len(dataset),
                "board": str(dataset.board),
                **{name: getattr(dataset.card, name) for name in of_data},
            }
            for dataset in data
        ],
        "seed": config.seed,
        "device": f"{jax.device_count()} x {device.device_kind or device.platform}",
        "versions": {"jax": jax.__version__},
        "seconds": round(seconds),
        "metrics": metrics,
    }
