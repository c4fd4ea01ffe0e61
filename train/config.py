"""What a training run is made of: a dataclass, presets, and the command line that both come from."""

from __future__ import annotations

import argparse
import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

from jaxsudoku.board import Board

from .positions import Kind


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Settings of supervised training.

    Attributes:
      network: the architecture.
      sizes: its config, as NAME=VALUE.
      board: the board, as the command line names it.
      data: folders of data sets, one after the other; without any, puzzles are generated into the run's folder.
      generate: how many puzzles, minimal ones.
      clues: fewest and most clues of generated puzzles, "24:34"; empty for minimal ones.
      exclude: puzzle files whose puzzles must not occur among generated ones, up to symmetry (9x9).
      kinds: kinds of positions, as RULES:SHARE:FILLED:WRONG; see ``positions.Kind``.
      choice: puzzles drawn for each position that is kept.
      hardness: log-weight of a puzzle's log(1 + rating) in that choice, at the start and at the end of training.
      steps: optimiser steps.
      batch_size: positions a step, over all devices.
      microbatch: positions whose gradients are computed at a time on a device; 0 for all.
      iterations: iterations of the network at the start and at the end of training, rising in four stages; 0 leaves
        them as configured. For networks that have them.
      learning_rate: the highest.
      warmup: steps up to it.
      weight_decay: of the matrices.
      clip: norm that gradients are clipped to.
      ema: decay of the averaged parameters, which are those that count.
      ramp: how much more the last iteration's loss counts than the first's: 1 + ramp times.
      value_weight: weight of the value's loss beside the policy's.
      seed: of parameters, puzzles and positions.
      held_out: shipped puzzles that positions to validate on are made from.
      report_every: steps between lines of the log.
      validate_every: steps between validations.
      save_every: steps between checkpoints.
      keep: checkpoints that are kept.
    """

    network: str = "cube"
    sizes: tuple[str, ...] = ()
    board: str = "9"
    data: tuple[str, ...] = ()
    generate: int = 1_000_000
    clues: str = ""
    exclude: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("locked:0.6:2:0.2", "singles:0.1:2:0.2", "none:0.3:12:0.1")
    choice: int = 6
    hardness: tuple[float, float] = (0.5, 0.5)
    steps: int = 20_000
    batch_size: int = 32
    microbatch: int = 4
    iterations: tuple[int, int] = (0, 0)
    learning_rate: float = 3e-3
    warmup: int = 100
    weight_decay: float = 1e-3
    clip: float = 1.0
    ema: float = 0.998
    ramp: float = 2.0
    value_weight: float = 0.3
    seed: int = 0
    held_out: str = "9x9-hard"
    report_every: int = 100
    validate_every: int = 2_000
    save_every: int = 1_000
    keep: int = 2

    def __post_init__(self) -> None:
        lowest = {"generate": 1, "choice": 1, "steps": 1, "batch_size": 1, "microbatch": 0, "warmup": 0, "ramp": 0,
                  "learning_rate": 0, "weight_decay": 0, "clip": 0, "value_weight": 0, "seed": 0, "report_every": 1,
                  "validate_every": 1, "save_every": 1, "keep": 1}  # fmt: skip
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if not 0 <= self.ema < 1:
            raise ValueError(f"ema must lie between 0 and 1, below 1, not {self.ema}")
        if min(self.iterations) < 0 or bool(self.iterations[0]) != bool(self.iterations[1]):
            raise ValueError(f"iterations must be two positive numbers, or 0 and 0, not {self.iterations}")
        if not self.kinds:
            raise ValueError("kinds is empty; name at least one kind of position")
        _ = self.parsed_kinds, self.parsed_sizes, self.parsed_board

    @property
    def parsed_kinds(self) -> tuple[Kind, ...]:
        """The kinds of positions."""
        return tuple(map(parse_kind, self.kinds))

    @property
    def parsed_sizes(self) -> dict[str, Any]:
        """The network's config."""
        return dict(map(parse_size, self.sizes))

    @property
    def parsed_board(self) -> Board:
        """The board."""
        return Board.named(self.board)


def parse_kind(text: str) -> Kind:
    """RULES:SHARE:FILLED:WRONG, of which the last ones may be left out."""
    rules, *numbers = text.split(":")
    try:
        return Kind(rules, *map(float, numbers))
    except (TypeError, ValueError) as error:
        raise ValueError(f"kind {text!r} is not RULES:SHARE:FILLED:WRONG, such as locked:0.6:2:0.2: {error}") from None


def parse_size(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value an integer, a float, true or false, or a word."""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ValueError(f"size {text!r} is not NAME=VALUE, such as width=64")
    if value in ("true", "false"):
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


#: Settings for a kind of machine; "tiny" is for tests.
PRESETS: dict[str, TrainConfig] = {
    "tiny": TrainConfig(
        sizes=("width=8", "hidden=8", "iterations=3"), board="4", generate=2_000,
        kinds=("none:3:2:0.2", "naked:1:0:0.2"), choice=4, steps=40, batch_size=8, microbatch=4, warmup=5, ema=0.9, held_out="4x4",
        report_every=10, validate_every=20, save_every=20,
    ),
    "cpu": TrainConfig(),
    "gpu": TrainConfig(
        sizes=("width=96", "hidden=96", "dtype=bfloat16"), generate=4_000_000, steps=30_000, batch_size=1024,
        microbatch=0, learning_rate=2e-3, warmup=500, ema=0.999,
    ),
}  # fmt: skip


def parse_arguments(description: str, argv: Sequence[str] | None = None) -> tuple[TrainConfig, argparse.Namespace]:
    """The config that a command line asks for, and its other arguments ``output``, ``resume``, ``devices``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--output", required=True, metavar="FOLDER", help="the run's folder")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder")
    parser.add_argument("--devices", type=int, default=0, help="CPU devices; 0 for one a core")
    parser.add_argument("--tensorboard", action="store_true", help="write TensorBoard files too (extra tensorboard)")
    parser.add_argument("--preset", choices=PRESETS, default="cpu", help="settings to begin with")
    kinds = typing.get_type_hints(TrainConfig)
    for field in dataclasses.fields(TrainConfig):
        kind = kinds[field.name]
        flag = f"--{field.name.replace('_', '-')}"
        if typing.get_origin(kind) is tuple:
            inner = typing.get_args(kind)
            number = "*" if Ellipsis in inner else len(inner)
            parser.add_argument(flag, type=inner[0], nargs=number, default=argparse.SUPPRESS)
        else:
            parser.add_argument(flag, type=kind, default=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    given = {
        field.name: tuple(value) if isinstance(value := getattr(args, field.name), list) else value
        for field in dataclasses.fields(TrainConfig)
        if hasattr(args, field.name)
    }
    try:
        return dataclasses.replace(PRESETS[args.preset], **given), args
    except ValueError as error:
        parser.error(str(error))
