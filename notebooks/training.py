# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Training a network on Sudoku
#
# **What was found.** In equal time `cube`, which has the symmetries of the board built in, reaches the lowest loss of
# four architectures; after 11 seconds of training on one core it solves 97% of 32 test boards one cell at a time.
#
# ![The loss of four architectures by positions and by seconds of training](../docs/images/notebooks/training.png)
#
# **The question.** What does a network learn of Sudoku from positions and solutions alone, how fast, and how much does
# its architecture matter when training takes less than a minute?
#
# **What the sources did.** The cell CNN, whose dense layer has to learn which cells share a house, learned from a
# million easy puzzles. A later network has kernels as large as a row, a column and a box; its author trained it to a
# loss of 0.6 nats a cell. Both claims are in [docs/sources.md](../docs/sources.md).
#
# Here four architectures are trained in small forms, for 25 to 29 seconds each, on the same puzzles, by
# `train.supervised` ([docs/networks.md](../docs/networks.md#training)). Then the best of them is trained longer, in
# stages. Everything is written into a temporary folder.

# %% [markdown] tags=["install"]
# To run this notebook on another machine, such as in Colab, upload it together with the source distribution
# `jaxsudoku-*.tar.gz`, which `python -m build --sdist` makes in a checkout. The next cell installs it where jaxsudoku
# is missing.

# %% tags=["install"]
import importlib.util
import os
import subprocess
import sys

if importlib.util.find_spec("jaxsudoku") is None:  # as in Colab
    fetch = "mkdir checkout && tar xzf jaxsudoku-*.tar.gz --strip-components=1 -C checkout"
    install = f"{sys.executable} -m pip install --quiet './checkout[evosax,plot,train]'"
    subprocess.run(f"{fetch} && {install}", shell=True, check=True)
    os.chdir("checkout/notebooks")
    sys.path.insert(0, os.path.dirname(os.getcwd()))

# %%
import contextlib
import io
import tempfile
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku as js
from jaxsudoku import datasets, env
from jaxsudoku.networks.cell_cnn import CellCnnConfig
from jaxsudoku.networks.cube import CubeConfig
from jaxsudoku.networks.house_cnn import HouseCnnConfig
from jaxsudoku.networks.house_resnet import HouseResNetConfig
from train.record import read
from train.supervised import train
from train.train_config import DataConfig, NetworkConfig, OptimiserConfig, PositionKind, PositionsConfig, TrainConfig

# %% tags=["parameters"]
board = js.Board.classic(9)
held_out = "9x9-easy"  # the set of the test puzzles
tests = 32
excluded = js.load(held_out)  # whose equivalents are not trained on
clues = (24, 60)
generated = 30_000  # puzzles that are trained on
numbers = (1, 2, 3, 4, 5, 6)  # legal digits of a cell
batch = 16
muon = OptimiserConfig(warmup=20, ema=0.98)
adamw = OptimiserConfig("adamw", learning_rate=2e-3, warmup=20, ema=0.98)
settings = {  # sizes, steps, optimiser, positions whose gradients are computed at a time
    "cube": (CubeConfig(width=24, hidden=16, house=32, iterations=8), 220, muon, 4),
    "house_resnet": (HouseResNetConfig(blocks=6, width=48, house=24), 800, muon, None),
    "house_cnn": (HouseCnnConfig(layers=5, width=48), 1200, muon, None),
    "cell_cnn": (CellCnnConfig(width=32, features=16), 1800, adamw, None),
}
longer_times = 3  # how many times as many steps the best network has in the end
shares = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1)  # the parts of these steps after which it is tested

# %%
side = board.side
folder = tempfile.TemporaryDirectory()
workspace = Path(folder.name)
print(f"boards of {board}, on {jax.devices()[0]}")

# %% [markdown]
# ## Puzzles
#
# The puzzles have 24 to 60 givens, so they resemble all positions from a puzzle to its solution. A position is a puzzle
# as it is given: a filled cell has its digit, an empty cell has all nine. No rule is applied. None of the puzzles is
# equivalent to one of the shipped set that is solved below.
#
# A network that knows nothing has a loss of ln 9 = 2.2 nats a cell. One that knows the rule of the houses and nothing
# else chooses evenly among the digits that no house of the cell holds, the legal ones. Its loss is the mean logarithm
# of their number.

# %%
test = js.load(held_out)[:tests]
data = datasets.build(workspace / "puzzles", generated, seed=1, board=board, clues=clues, exclude=excluded)
fresh = js.generate(2, 400, board, clues=clues)


def legal_digits(grids):
    """Whether no house of an empty cell holds a digit, bool [B, digit, cell]."""
    return np.asarray(env.legal_placement_mask(env.init(grids, board, "none"), board))


choices = legal_digits(fresh.puzzles).sum(axis=1)
open_cells = fresh.puzzles == 0
nothing, houses = np.log(side), np.log(choices[open_cells]).mean()
print(f"{len(data):,} puzzles; loss of no knowledge {nothing:.2f} nats, of the houses' rule {houses:.2f} nats a cell")

# %% [markdown]
# ## Four architectures
#
# A step of one network costs several times that of another. The numbers of steps are chosen so that all train for about
# the same time, here 25 to 29 s. `cube` shares its weights over all digits, places and iterations. The others get each
# puzzle under a random symmetry. Matrices learn by Muon; the cell CNN, whose dense layer is too large for Muon, learns
# by AdamW. The averaged parameters are validated and saved.


# %%
def make_config(name, times=1):
    """The settings of a run of a network, with so many times the usual steps."""
    sizes, steps, optimiser, microbatch = settings[name]
    return TrainConfig(
        board=board,
        steps=times * steps,
        batch_size=batch,
        microbatch=microbatch,
        network=NetworkConfig(name, sizes),
        data=DataConfig(datasets=(str(data.folder),), held_out=held_out),
        positions=PositionsConfig(
            kinds=(PositionKind("none", filled=0, wrong=0),),
            puzzles_per_position=1,
            initial_hardness=0,
            final_hardness=0,
        ),
        optimiser=optimiser,
        report_every=max(steps // 20, 5),
        validate_every=times * steps,
        save_every=times * steps,
    )


# %%
def run(config, name, **options):
    """Trains in a folder of that name; returns the network and the last line that training has printed."""
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        network = train(config, workspace / name, **options)
    return network, printed.getvalue().strip().splitlines()[-1]


def curve(name):
    """The steps, seconds and losses of a run. Compilation is left out of the seconds."""
    lines = [line for line in read(workspace / name / "metrics.jsonl") if line["kind"] == "train"]
    steps = np.array([line["step"] for line in lines])
    seconds = np.cumsum(np.diff(steps, prepend=0) * batch / [line["positions_per_second"] for line in lines])
    return steps, seconds, np.array([line["policy_loss"] for line in lines])


# %%
trained = {}
for name in settings:
    trained[name], last = run(make_config(name), name)
    print(f"{name:13} {trained[name].size:9,} parameters; {last}")

# %% [markdown]
# The loss is the policy's, in nats per open cell, on the positions of the last steps. Hardly a puzzle is seen twice, so
# this is the loss on new positions.

# %% tags=["picture"]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
print(f"{'':13}{'positions':>10}{'seconds':>9}{'positions/s':>13}{'loss':>7}")
for name in settings:
    steps, seconds, losses = curve(name)
    left.plot(steps * batch / 1000, losses, label=name)
    right.plot(seconds, losses, label=name)
    print(
        f"{name:13}{steps[-1] * batch:10,}{seconds[-1]:9.0f}{steps[-1] * batch / seconds[-1]:13,.0f}{losses[-1]:7.2f}"
    )
for axis in (left, right):
    axis.axhline(nothing, color="grey", ls=":", label="no knowledge")
    axis.axhline(houses, color="black", ls="--", label="the houses' rule alone")
left.set(xlabel="positions (thousand)", ylabel="policy loss (nats per open cell)", ylim=(0, None))
right.set(xlabel="seconds of training")
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
plt.show()

# %% [markdown]
# ## What was learned
#
# On fresh puzzles of the same kind, by the networks at the end of their runs: the share of cells whose likeliest digit
# is right, by the number of digits that are legal in the cell. With one legal digit the rule of the houses suffices.
# With more, the dotted line is what an even choice among them would reach; what is above it are deductions over several
# cells. Printed is the probability that a network gives to illegal digits.


# %%
def predict(network, grids):
    """The probabilities of the digits in every cell, [B, digit, cell]; no rule is applied."""
    return np.asarray(jax.nn.softmax(network(js.planes.grids_to_cubes(grids, board)).policy, axis=1))


def learned(network):
    """On fresh puzzles: accuracy by the number of legal digits, and the mean probability of illegal digits."""
    probabilities = predict(network, fresh.puzzles)
    right = probabilities.argmax(axis=1) + 1 == fresh.solutions
    illegal = np.where(legal_digits(fresh.puzzles), 0, probabilities).sum(axis=1)
    return [right[open_cells & (choices == number)].mean() for number in numbers], illegal[open_cells].mean()


# %%
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for name, network in trained.items():
    accuracy, illegal = learned(network)
    axis.plot(numbers, 100 * np.array(accuracy), "o-", label=name)
    print(f"{name:13} probability of illegal digits {illegal:6.1%}, right with one legal digit {accuracy[0]:6.1%}")
axis.plot(numbers, 100 / np.array(numbers), "k:", label="even choice among legal digits")
axis.set(xlabel="legal digits of the cell", ylabel="cells right (%)", xticks=numbers, ylim=(0, 103))
axis.legend(fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# ## The best one, longer and in stages
#
# The network with the lowest loss is trained anew, three times as long. `train` stops at each stage with a checkpoint
# and resumes there; the run is the same as without a break. At each stage it solves the test puzzles, which are harder
# than most that it is trained on: all of them are minimal. `iterative` with `complete=False` fills the surest cell,
# with one network call for each; with rules `naked` cells with a single legal digit are filled without a call.
# `one-shot` fills all cells with one call; of these the share of right cells is shown. Nothing backtracks.

# %%
best = min(settings, key=lambda name: curve(name)[2][-1])
longer = make_config(best, times=longer_times)
stages = [round(share * longer.steps) for share in shares]
exact = js.solve(test, board)
assert (exact.status == js.Status.SOLVED).all()
empty = test == 0


def measure(network):
    """Shares of the test puzzles that are solved, and of cells right at once, and what ``learned`` finds."""
    result = {}
    for rules in ("none", "naked"):
        cell_by_cell = {"solver": "iterative", "patience": 1, "complete": False}
        found = js.solve(test, board, network=network, rules=rules, **cell_by_cell)
        result[f"boards solved, rules {rules}"] = (found.status == js.Status.SOLVED).mean()
    found = js.solve(test, board, solver="one-shot", network=network, keep_partial=True)
    result["cells right at once, rules none"] = (found.grids == exact.grids)[empty].mean()
    result["legal"], result["illegal"] = learned(network)
    return result


# %%
networks, results = [], []
for stage in stages:
    network, _ = run(longer, "longer", resume=True, stop_at=stage)
    networks.append(network)
    results.append(measure(network))
steps, clock, losses = curve("longer")
seconds = np.interp(stages, steps, clock)
alone = js.solve(test, board, solver="elimination", rules="naked", then="none")
rule = (alone.status == js.Status.SOLVED).mean()
print(f"{best}; naked singles alone solve {rule:.0%} of the test puzzles")
for stage, second, result in zip(stages, seconds, results, strict=True):
    texts = [f"{what} {value:4.0%}" for what, value in result.items() if what.startswith(("boards", "cells"))]
    print(f"step {stage:5,}, {second:4.0f} s: {'; '.join(texts)}; illegal {result['illegal']:5.1%}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4.2), sharex=True, sharey=True, layout="constrained")
for what, marker in zip(list(results[0])[:3], "os^", strict=True):
    left.plot(seconds, [100 * result[what] for result in results], marker=marker, label=what)
left.axhline(100 * rule, color="k", ls=":", label="boards, naked singles alone")
left.set(xlabel="seconds of training", ylabel="share (%)", ylim=(0, 103), title="test puzzles")
for place, number in enumerate(numbers[:5]):
    right.plot(
        seconds, [100 * result["legal"][place] for result in results], "o-", label=f"right, legal digits: {number}"
    )
right.plot(seconds, [100 * result["illegal"] for result in results], "k--", label="probability of illegal digits")
right.set(xlabel="seconds of training", title="cells of fresh puzzles")
for axis in (left, right):
    axis.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## What it knows of one board
#
# The first test puzzle. Every empty cell shows the likeliest digit, red if it is wrong; the darker the cell, the more
# probable is the right digit. Bold digits are given.

# %%
shown = sorted({0, len(stages) // 3, len(stages) - 1})
puzzle, solution = test[0], exact.grids[0]
figure, axes = plt.subplots(1, len(shown), figsize=(9, 3.6), squeeze=False, layout="constrained")
for axis, stage in zip(axes[0], shown, strict=True):
    probabilities = predict(networks[stage], puzzle[None])[0]
    digits = np.where(puzzle > 0, puzzle, probabilities.argmax(axis=0) + 1)
    known = probabilities[solution.astype(int) - 1, np.arange(board.cells)]
    shades = np.where(puzzle > 0, np.nan, known)
    js.picture(digits, board, puzzle, solutions=solution, shades=shades).plot(axis)
    right_cells = ((digits == solution) & (puzzle == 0)).sum()
    axis.set_title(f"step {stages[stage]:,}: {right_cells} of {(puzzle == 0).sum()} right", fontsize=10)
plt.show()

# %%
folder.cleanup()

# %% [markdown]
# ## Findings
#
# - **The rule of the houses is learned first.** All networks except the cell CNN give illegal digits 0 to 1.9% of the
#   probability at the end of their runs, and are right in 100.0% of the cells with one legal digit.
# - **At these settings `cube` learns the rest fastest.** It has the symmetries built in. From about 5 s on its loss is
#   the lowest, and it ends at 0.20 with a fraction of the positions. `house_resnet`, with kernels of houses in every
#   block, ends at 0.48, well below the loss of the houses' rule (0.81). `house_cnn`, which has them in its first layer
#   only, ends just below it (0.76). The dense layer of the cell CNN has to learn the houses from examples, and has
#   hardly begun (1.92). Sizes differ too, and the optimiser of the cell CNN is AdamW.
# - **Solving boards comes quickly.** While the share of right cells rises slowly, the share of boards that are solved
#   one cell at a time rises from none to 97% within 11 s of training: only the surest cell has to be right.
# - **A network does best on what it was trained on.** With rules `naked` the first boards are solved earlier than
#   without, but from step 66 to 264, and at the end, fewer are. Candidates that the rule removes make positions that
#   this network never saw in training. `cube` and `house_resnet` as they ship have seen such positions.
