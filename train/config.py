"""What a training run is made of: a dataclass, presets, and the command line that both come from."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from jaxsudoku.board import Board
from jaxsudoku.cli.fields import add_config

from .positions import Kind

#: Stages in which the number of iterations rises.
_STAGES = 4


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Settings of supervised training.

    Attributes:
      network: the architecture, by its name in ``jaxsudoku.networks.NETWORKS``.
      sizes: fields of the architecture's config, each as NAME=VALUE, such as width=64 or dtype=bfloat16.
      board: the board, as the command line of jaxsudoku names it: 9, 3x4, diagonal, windoku, jigsaw:LABELS.
      data: folders of data sets, of which every step takes equal parts; without any, puzzles are generated into the
        run's folder.
      generate: how many puzzles are generated if no data are named.
      clues: clues of generated puzzles, as 30 or 24:34; empty for minimal puzzles.
      exclude: puzzle files whose puzzles must not occur among generated ones, up to symmetry (9x9); the held-out ones
        never do.
      kinds: kinds of positions, each as RULES:SHARE:FILLED:WRONG; the last ones may be left out. RULES are what is
        deduced before the network looks (none, naked, singles, locked), SHARE is the part of the batch relative to the
        other kinds, FILLED the mean number of cells filled in, WRONG the share of positions with a wrong digit.
      choice: puzzles drawn for each position that is kept.
      hardness: log-weight of a puzzle's log(1 + rating) in that choice, at the start and at the end of training.
      steps: steps of the optimiser.
      batch_size: positions of a step, over all devices.
      microbatch: positions whose gradients are computed at a time on a device; 0 for all.
      iterations: iterations of the network at the start and at the end of training, rising in four stages, for networks
        that have them; 0 0 leaves them as configured. The network that is left at the end has those of ``sizes``, or
        else the last number here times the last of ``looks``.
      looks: most steps that a position is thought about, each going on from where the last one left it, at the start
        and at the end of training; a random number up to that, and fewer once the network is sure of what is right.
        They teach a network with iterations to think longer at no further price.
      start: a network's file, of the same sizes, whose parameters the run begins with; empty for random ones.
      optimiser: muon for matrices and Adam for the rest, or adamw for all parameters.
      learning_rate: the highest learning rate, from which it falls as a cosine to a hundredth; with muon, of the rest.
      matrix_rate: the same for the matrices, with muon.
      warmup: steps in which the learning rate rises to its highest.
      weight_decay: decay of the matrices.
      clip: norm that gradients are clipped to.
      ema: decay of the averaged parameters, which are those that count.
      ramp: the last iteration's loss counts 1 + ramp times as much as the first's.
      value_weight: weight of the value's loss beside the policy's.
      seed: seed of parameters, generated puzzles and positions.
      held_out: puzzles that positions to validate on are made from: shipped ones by name, or a file.
      report_every: steps between lines of the log.
      validate_every: steps between validations.
      save_every: steps between checkpoints.
      keep: number of checkpoints that are kept.

    Raises:
      ValueError: a setting that makes no sense; the message says which.
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
    looks: tuple[int, int] = (1, 1)
    start: str = ""
    optimiser: str = "muon"
    learning_rate: float = 3e-3
    matrix_rate: float = 2e-2
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
                  "weight_decay": 0, "value_weight": 0, "seed": 0, "report_every": 1, "validate_every": 1,
                  "save_every": 1, "keep": 1}  # fmt: skip
        for name, least in lowest.items():
            if not least <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if self.optimiser not in ("muon", "adamw"):
            raise ValueError(f"unknown optimiser {self.optimiser!r}: choose muon or adamw")
        for name in ("learning_rate", "matrix_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        if not 0 <= self.ema < 1:
            raise ValueError(f"ema must be at least 0 and below 1, not {self.ema}")
        if not all(map(math.isfinite, self.hardness)):
            raise ValueError(f"hardness must be two finite numbers, not {self.hardness}")
        if min(self.iterations) < 0 or bool(self.iterations[0]) != bool(self.iterations[1]):
            raise ValueError(f"iterations must be two positive numbers, or 0 and 0, not {self.iterations}")
        if min(self.looks) < 1:
            raise ValueError(f"looks must be two numbers of at least 1, not {self.looks}")
        if not self.kinds:
            raise ValueError("kinds is empty; name at least one kind of position")
        if self.exclude and self.data:
            raise ValueError("exclude is for generated puzzles; data sets that are named were built with or without it")
        _ = self.parsed_kinds, self.parsed_sizes, self.parsed_board, self.parsed_clues

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

    @property
    def parsed_clues(self) -> int | tuple[int | None, int | None] | None:
        """The clues of generated puzzles, as ``GenerateConfig`` has them."""
        return parse_clues(self.clues)

    def iterations_at(self, step: int) -> int:
        """Iterations of the network at a step, counted from 1, 0 for those that are configured.

        They rise in stages: early on few teach as much, and cost less.
        """
        first, last = self.iterations
        stage = min((step - 1) * _STAGES // self.steps, _STAGES - 1)
        return round(first + (last - first) * stage / (_STAGES - 1))


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


def parse_clues(text: str) -> int | tuple[int | None, int | None] | None:
    """N, or A:B with either end left out; None for nothing."""
    try:
        ends = [int(end) if end else None for end in text.split(":")]
    except ValueError:
        ends = []
    if len(ends) == 2 and text != ":":
        return ends[0], ends[1]
    if len(ends) != 1:
        raise ValueError(f"clues {text!r} are neither a number nor a range such as 24:34")
    return ends[0]


#: Settings for training on two cores, in two hours.
_CPU = TrainConfig(
    sizes=("width=48", "hidden=32", "house=64", "iterations=64"),
    kinds=("locked:0.75:1:0.15", "singles:0.1:2:0.2", "none:0.15:8:0.1"), choice=16, hardness=(0.5, 1.5),
    steps=40_000, iterations=(8, 8), looks=(3, 24), warmup=200, ema=0.999,
)  # fmt: skip

#: Settings for a kind of machine; "tiny" is for tests.
PRESETS: dict[str, TrainConfig] = {
    "tiny": TrainConfig(
        sizes=("width=8", "hidden=8", "iterations=3"), board="4", generate=2_000,
        kinds=("none:3:2:0.2", "none:1:0:0.5"), choice=4, steps=40, batch_size=8, microbatch=4, looks=(1, 3),
        warmup=5, ema=0.9, held_out="4x4", report_every=10, validate_every=20, save_every=20,
    ),
    "cpu": _CPU,
    "gpu": dataclasses.replace(
        _CPU, sizes=("width=96", "hidden=64", "house=128", "iterations=64", "dtype=bfloat16"), generate=4_000_000,
        steps=30_000, batch_size=1024, microbatch=0, warmup=500,
    ),
}  # fmt: skip


def parse_arguments(description: str, argv: Sequence[str] | None = None) -> tuple[TrainConfig, argparse.Namespace]:
    """The config that a command line asks for, and its other arguments ``output``, ``resume``, ``devices`` ...

    Raises:
      SystemExit: after --help with 0, after a usage error, which has been reported, with 2.
    """
    # the preset first: its values are the defaults of the other flags
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--preset", default="cpu")
    preset = PRESETS.get(first.parse_known_args(argv)[0].preset, TrainConfig())
    parser = argparse.ArgumentParser(prog="python -m train.supervised", description=description, allow_abbrev=False)
    parser.add_argument("--output", required=True, metavar="FOLDER", help="the run's folder")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder, if there is one")
    parser.add_argument("--devices", type=int, default=0, metavar="N",
                        help="CPU devices; 0 for one a core, as far as the batch can be cut (default: 0)")  # fmt: skip
    parser.add_argument("--tensorboard", action="store_true", help="write TensorBoard files too (extra tensorboard)")
    parser.add_argument("--preset", choices=PRESETS, default="cpu",
                        help="settings to begin with; the defaults below are its (default: cpu)")  # fmt: skip
    add_config(parser, TrainConfig, "settings", defaults=preset)
    args = parser.parse_args(argv)
    if args.devices < 0:
        parser.error(f"--devices must be at least 0, not {args.devices}")
    try:
        return TrainConfig(**{field.name: getattr(args, field.name) for field in dataclasses.fields(TrainConfig)}), args
    except ValueError as error:
        parser.error(str(error))
