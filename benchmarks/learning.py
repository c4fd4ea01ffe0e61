"""Learning curves of networks: accuracy on held-out boards by trained positions, in equal time on one machine.

Each network is trained by ``train.supervised``, one after another, for the same number of minutes. A few steps measure
its speed; the run then has as many steps as fit, so that every run completes its learning rate schedule. The first run
generates the puzzles that all train on. Held-out boards are validated during training.

    python benchmarks/learning.py --networks cube,axial,se_resnet --minutes 10 --output benchmarks/out/learning
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import machine
import report

#: Heading, width and alignment of each column.
_COLUMNS = (
    ("network", 12, "<"),
    ("parameters", 11, ">"),
    ("positions", 10, ">"),
    ("minutes", 8, ">"),
    ("positions/s", 11, ">"),
    ("policy loss", 11, ">"),
    ("cells", 7, ">"),
    ("boards", 7, ">"),
)

#: Steps that measure the speed, and the number of reports whose median it is.
_TRIAL, _REPORTS = 24, 4

#: Settings for networks without iterations.
_PLAIN = ["--algorithm", "adamw", "--learning-rate", "1e-3"]

#: Validations of a run.
_VALIDATIONS = 10


@dataclasses.dataclass(frozen=True)
class Run:
    """The results of a run, from its folder.

    Attributes:
      settings: its config.
      points: a dict for each validation.
      pace: positions a second, the median of its reports, without compilation.
    """

    settings: dict[str, Any]
    points: list[dict[str, Any]]
    pace: float


def train(name: str, folder: Path, steps: int, options: list[str], reports: int) -> Run:
    """Trains a network in a process of its own.

    Raises:
      subprocess.CalledProcessError: training failed; it has printed the reason.
    """
    every = str(max(steps // reports, 1))
    command = [
        sys.executable,
        "-m",
        "train.supervised",
        "--architecture",
        name,
        "--output",
        str(folder),
        "--steps",
        str(steps),
        "--report-every",
        every,
        "--validate-every",
        every,
        "--save-every",
        str(steps),
        *options,
    ]
    print(f"$ {shlex.join(command)}", flush=True)
    subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
    settings = json.loads((folder / "config.json").read_text())
    lines = [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]
    points = [
        {
            "positions": line["step"] * settings["batch_size"],
            "seconds": line["seconds"],
            **{metric: line[metric] for metric in ("policy_loss", "cell_accuracy", "board_accuracy")},
        }
        for line in lines
        if line["kind"] == "validate"
    ]
    rates = [line["positions_per_second"] for line in lines if "positions_per_second" in line]
    return Run(settings, points, statistics.median(rates))


def learn(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """A network's row: its description, and a point for each validation."""
    import jaxsudoku as js
    from jaxsudoku.networks import NETWORKS

    options = list(args.options)
    if "iterations" not in (field.name for field in dataclasses.fields(NETWORKS[name].config)):
        options = [*_PLAIN, *options]  # options of the command line take precedence
    trial, folder = args.output / f"{name}-trial", args.output / name

    def run(folder: Path, steps: int, reports: int) -> Run:
        data = ["--datasets", *map(str, args.data)] if args.data else []
        return train(name, folder, steps, [*options, *data], reports)

    tried = run(trial, _TRIAL, _REPORTS)
    args.data = args.data or [trial / "data"]
    steps = max(round(60 * args.minutes * tried.pace / tried.settings["batch_size"]), _VALIDATIONS)
    done = run(folder, steps, _VALIDATIONS)
    return {
        "network": name,
        "parameters": js.load_network(folder / "network").size,
        "settings": done.settings,
        "positions_per_s": done.pace,
        "points": done.points,
    }


def table(row: dict[str, Any]) -> str:
    """A network's points, one a line."""
    return "\n".join(
        report.aligned(
            [
                row["network"],
                f"{row['parameters']:,}",
                f"{point['positions']:,}",
                f"{point['seconds'] / 60:.1f}",
                f"{row['positions_per_s']:,.0f}",
                f"{point['policy_loss']:.3f}",
                f"{point['cell_accuracy']:.1%}",
                f"{point['board_accuracy']:.1%}",
            ],
            _COLUMNS,
        )
        for point in row["points"]
    )


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Accuracy against positions, cells and whole boards beside each other; needs matplotlib, the extra plot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for panel, metric in zip(figure.subplots(1, 2), ("cell_accuracy", "board_accuracy"), strict=True):
        for row in rows:
            label = f"{row['network']}, {row['parameters']:,} parameters"
            xs = [point["positions"] for point in row["points"]]
            panel.plot(xs, [point[metric] for point in row["points"]], marker=".", label=label)
        panel.set(xscale="log", ylim=(0, 1), xlabel="positions trained on", ylabel=metric.replace("_", " "))
    panel.legend()
    figure.savefig(path, dpi=120)


def main() -> int:
    args = _parse()
    about = machine.describe(machine.keep_to_cores("all"), ["flax", "optax"])
    print("\n".join(machine.lines(about)))
    rows = []
    for name in args.networks:
        try:
            rows.append(learn(name, args))
        except subprocess.CalledProcessError as error:
            print(f"learning: training {name} ended with exit status {error.returncode}", file=sys.stderr)
            return 1
    print(report.aligned([name for name, _, _ in _COLUMNS], _COLUMNS))
    for row in rows:
        print(table(row))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    if args.plot:
        draw(rows, args.plot)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        epilog="All further arguments are options of train.supervised; see its --help. See benchmarks/README.md.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--networks", type=lambda text: text.split(","), default=["cube", "axial", "se_resnet"], help="by their names")
    add("--minutes", type=float, default=10.0, help="minutes of training for each (default: 10)")
    add("--data", type=Path, nargs="+", help="folders of data sets to learn from; without any, puzzles are generated")
    add("--output", type=Path, required=True, help="folder for the runs, one for each network")
    add("--json", type=Path, help="file for all raw figures")
    add("--plot", type=Path, help="file for a picture, such as learning.png (extra plot)")
    args, options = parser.parse_known_args()
    args.options = options
    # training runs in the project's root
    args.output, args.data = args.output.absolute(), [path.absolute() for path in args.data or ()]
    return args


if __name__ == "__main__":
    sys.exit(main())
