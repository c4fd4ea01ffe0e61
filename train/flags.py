"""The command lines of training: a flag for every setting."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from jaxsudoku import networks
from jaxsudoku.cli.fields import add_config, attribute_texts
from jaxsudoku.core.board import VARIANTS, Board
from jaxsudoku.runtime.settings import settings_of

from .train_config import NetworkConfig, PositionKind, TrainConfig, groups_of

#: Fields for which ``add_config`` can't make flags: those below, and the architecture's sizes, with separate flags.
_WITHOUT = ("board", "kinds", "sizes")

ConfigT = TypeVar("ConfigT", bound=TrainConfig)


def parse_arguments(
    program: str,
    description: str,
    presets: Mapping[str, ConfigT],
    argv: Sequence[str] | None = None,
    add_flags: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
) -> tuple[ConfigT, argparse.Namespace]:
    """The settings on a command line, and its other arguments ``output``, ``resume``, ``devices`` and so on.

    Args:
      program: the module's name, such as "train.supervised".
      description: a description for the help.
      presets: initial settings, by name; "cpu" is the default.
      argv: the arguments; None for those of the process.
      add_flags: adds further flags, whose values are in the other arguments.

    Raises:
      SystemExit: after --help with 0; after a usage error, which is reported, with 2.
    """
    defaults = _defaults(presets, argv)
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description, allow_abbrev=False)
    _add_run(parser, defaults, presets)
    add_flags(parser)
    groups = groups_of(type(defaults))
    without = (*_WITHOUT, *groups)
    add_config(parser, type(defaults), "steps and batches", without, defaults)
    for name, group in groups.items():
        add_config(parser, group, name, without, getattr(defaults, name))
        if name == "network":
            sizes = defaults.network.sizes
            add_config(parser, type(sizes), f"sizes of {defaults.network.architecture}", defaults=sizes)
        if name == "positions":
            _add_kinds(parser, defaults)
    args = parser.parse_args(argv)
    if args.devices is not None and args.devices < 1:
        parser.error(f"--devices must be at least 1, not {args.devices}")
    _check_processes(parser, args)
    try:
        return _config(args, defaults), args
    except ValueError as error:
        parser.error(str(error))


def _defaults(presets: Mapping[str, ConfigT], argv: Sequence[str] | None) -> ConfigT:
    """The preset of a command line with its architecture, which determine the other flags."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--architecture")
    first = parser.parse_known_args(argv)[0]
    preset = presets.get(first.preset, presets["cpu"])
    network = preset.network
    if first.architecture in networks.NETWORKS and first.architecture != network.architecture:
        # sizes and iterations belong to another architecture
        network = NetworkConfig(first.architecture)
    sizes = network.sizes or networks.get(network.architecture).config()
    return dataclasses.replace(preset, network=dataclasses.replace(network, sizes=sizes))


def _add_run(parser: argparse.ArgumentParser, defaults: TrainConfig, presets: Mapping[str, TrainConfig]) -> None:
    """Adds the flags of the run and of the board."""
    parser.add_argument("--output", required=True, metavar="FOLDER", help="the run's folder")
    parser.add_argument("--resume", action="store_true", help="continue the run in the folder, if there is one")
    parser.add_argument(
        "--devices",
        type=int,
        metavar="N",
        help="CPU devices of each process (default: one per core, as far as the batch can be divided)",
    )
    parser.add_argument("--tensorboard", action="store_true", help="also write TensorBoard files (extra tensorboard)")
    parser.add_argument(
        "--preset",
        choices=presets,
        default="cpu",
        help="initial settings, which are the defaults below (default: cpu)",
    )
    parser.add_argument(
        "--board",
        help=f"9, 3x4, {', '.join(VARIANTS)}, jigsaw:LABELS, as for the command jaxsudoku (default: {defaults.board})",
    )
    _add_processes(parser)


def _add_processes(parser: argparse.ArgumentParser) -> None:
    """Adds the flags for several processes."""
    group = parser.add_argument_group("several processes", "the same command in each, with the same folder")
    group.add_argument("--coordinator", metavar="HOST:PORT", help="address of process 0, any free port there")
    group.add_argument("--processes", type=int, metavar="N", help="number of processes")
    group.add_argument("--process", type=int, metavar="I", help="number of this process, from 0")
    group.add_argument(
        "--distributed",
        action="store_true",
        help="instead of the three flags above, where JAX finds them: in a SLURM job, under Open MPI, on a TPU pod",
    )


def _check_processes(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Reports inconsistent flags of several processes."""
    names = ("coordinator", "processes", "process")
    missing = [f"--{name}" for name in names if getattr(args, name) is None]
    if missing and len(missing) < len(names):
        parser.error(f"--coordinator, --processes and --process belong together: {' and '.join(missing)} is missing")
    if args.distributed and not missing:
        parser.error("give --distributed, or --coordinator, --processes and --process, not both")


def _add_kinds(parser: argparse.ArgumentParser, defaults: TrainConfig) -> None:
    """Adds the flag ``--kinds``, which takes the fields of ``PositionKind``."""
    fields = "; ".join(f"{name}: {text.rstrip('.')}" for name, text in attribute_texts(PositionKind).items())
    group = parser.add_argument_group("kinds of positions", f"fields of a kind, all optional: {fields}")
    shown = " ".join(map(_shown_kind, defaults.positions.kinds))
    group.add_argument(
        "--kinds",
        nargs="+",
        metavar="FIELD=VALUE,...",
        help=f"one argument for each kind (default: {shown})",
    )


def parse_kind(text: str) -> PositionKind:
    """Parses a kind of position from FIELD=VALUE, separated by commas."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if not name or not value or name in values:
            raise ValueError(f"kind {text!r} is not FIELD=VALUE,... such as rules=locked,share=0.6,filled=2,wrong=0.2")
        try:
            values[name] = value if name == "rules" else float(value)
        except ValueError:
            raise ValueError(f"kind {text!r}: {name} must be a number, not {value!r}") from None
    kind: PositionKind = settings_of(PositionKind, "kind of position", **values)
    return kind


def _shown_kind(kind: PositionKind) -> str:
    return ",".join(f"{name}={value if name == 'rules' else f'{value:g}'}" for name, value in vars(kind).items())


def _config(args: argparse.Namespace, defaults: ConfigT) -> ConfigT:
    """The settings from the values of all flags."""
    values = vars(args) | {
        "board": Board.named(args.board) if args.board else defaults.board,
        "kinds": tuple(map(parse_kind, args.kinds)) if args.kinds else defaults.positions.kinds,
    }

    def made(config: type, **parts: Any) -> Any:
        return config(**{field.name: (values | parts)[field.name] for field in dataclasses.fields(config)})

    sizes = made(type(defaults.network.sizes))
    kind = type(defaults)
    config: ConfigT = made(kind, **{name: made(group, sizes=sizes) for name, group in groups_of(kind).items()})
    return config
