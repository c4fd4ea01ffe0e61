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
# # Networks that teach themselves
#
# **What was found.** With random weights a network solves 10% of 200 puzzles of 6x6 by itself; after 80 steps of
# learning from its own games it solves 99%, and it was shown no solution.
#
# ![What the network solves alone, and its games, by steps of training](../docs/images/notebooks/zero.png)
#
# **The question.** Can a network learn Sudoku from its own play, with random weights to begin with and without a single
# solution that it has not found itself?
#
# **What the sources did.** The AlphaSudoku study wished for self-play "from empty grids". DeepSudoku learned in a loop
# from its own games on 17-clue puzzles, with known solutions: a game ends at its first wrong digit, and the solution
# labels every state of its searches ([docs/sources.md](../docs/sources.md)).
#
# Here a network plays puzzles by Gumbel MuZero search. A solved game ends in a grid that obeys all rules, so we know
# in hindsight which of its positions were right. From these, and from the search's improved policies in games that
# failed, the network learns, and plays better ([docs/selfplay.md](../docs/selfplay.md)). Rules are "none" throughout:
# only moves fill cells. Everything is written into a temporary folder.

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
import dataclasses
import io
import tempfile
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku as js
from jaxsudoku.networks.cube import CubeConfig
from jaxsudoku.solvers.tree.tree_config import GumbelConfig
from train.curriculum import foreseen
from train.invention import invent, remove_clues
from train.record import read
from train.selfplay import self_play
from train.selfplay_config import PlayConfig, ReplayConfig, ZeroConfig
from train.train_config import DataConfig, NetworkConfig, OptimiserConfig, PositionKind, PositionsConfig

# %% tags=["parameters"]
board = js.Board.classic(6)
tested = js.load("6x6")  # puzzles that are not played
generated = 4_000  # puzzles that are played
sizes = CubeConfig(width=24, hidden=16, house=32, iterations=6)
steps = 400
stages = (20, 40, 60, 80, 120, 200, 400)  # steps after which the network is tested
invented = 16  # games on empty boards, and puzzles of each of their grids

# %%
folder = tempfile.TemporaryDirectory()
workspace = Path(folder.name)
print(f"on {jax.devices()[0]}")

# %% [markdown]
# ## 6x6 from nothing
#
# Minimal puzzles are generated; their solutions are not read. A round is 64 games, then 20 steps of the optimiser. The
# test puzzles ship with the package, and were not compared with those that are played; up to symmetry 6x6 has few
# grids.

# %%
config = ZeroConfig(
    board=board,
    steps=steps,
    network=NetworkConfig(sizes=sizes, final_thinking_steps=8, saved_iterations=24),
    data=DataConfig(generate=generated, held_out=f"{board.side}x{board.side}"),
    positions=PositionsConfig(kinds=(PositionKind("none", filled=4, wrong=0.1),), puzzles_per_position=2),
    optimiser=OptimiserConfig(warmup=20, ema=0.98),
    report_every=20,
    validate_every=steps,
    save_every=steps,
    play=PlayConfig(games=64, updates=20, rules="none", budget=64),
    replay=ReplayConfig(buffer=4_096),
)

# %% [markdown]
# Training stops at a few stages, and each time the network is tested alone, without search and without rules; only
# digits that clash with a filled cell are left out. "Cell by cell" it fills its surest cell and is called again with
# the new position. "At once" it fills all cells with one call. The network of step 0 has random weights.


# %%
solutions = js.solve(tested, board).grids


def test(network):
    """Percentages: puzzles solved cell by cell, puzzles solved at once, and empty cells that are right at once."""
    alone = js.solve(tested, board, solver="iterative", network=network, rules="none", complete=False)
    once = js.solve(tested, board, solver="one-shot", network=network, rules="none", keep_partial=True)
    solved = [100 * (found.status == js.Status.SOLVED).mean() for found in (alone, once)]
    return *solved, 100 * (once.grids == solutions)[tested == 0].mean()


# %%
random = dataclasses.asdict(dataclasses.replace(sizes, iterations=24))
results = {0: test(js.make_network("cube", board, key=0, **random))}
for stage in stages:
    with contextlib.redirect_stderr(io.StringIO()):
        network = self_play(config, workspace / "run", resume=True, stop_at=stage)
    results[stage] = test(network)
names = ("puzzles, cell by cell", "puzzles, at once", "cells, at once")
curves = {name: [shares[number] for shares in results.values()] for number, name in enumerate(names)}
print("right after step    " + "".join(f"{step:7}" for step in results))
for name, shares in curves.items():
    print(f"{name:20}" + "".join(f"{share:6.1f}%" for share in shares))

# %% [markdown]
# On the left is what the network does by itself. With random weights it solves 10.5% of the puzzles cell by cell; from
# step 80 on it solves 198 of the 200. At once it solves no puzzle before step 80, and 98.5% of them at step 400.
#
# The other two pictures show the games that it learns from: the share that search solves within 64 grids, and the grids
# of a game. The first point is the first round, which is played with random weights. Search solves 95% of these games
# too, so the share of solved games does not show what the network learns. The grids of a game fall from 34 to about 28.


# %%
def lines(path, kind):
    """The lines of a log of one kind."""
    return [line for line in read(path) if line["kind"] == kind]


# %% tags=["picture"]
log = lines(workspace / "run" / "metrics.jsonl", "train")
played = [line["step"] for line in log]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for name, shares in curves.items():
    left.plot(list(results), shares, "o-", ms=4, label=name)
left.set(title="the network alone", ylabel="test puzzles: right (%)", ylim=(0, 103))
left.legend(loc="lower right", fontsize=9)
middle.plot(played, [100 * line["games_solved"] for line in log])
middle.set(title="its games, by search", ylabel="games solved (%)", ylim=(0, 103))
right.plot(played, [line["grids_per_game"] for line in log])
right.set(title="its games, by search", ylabel="grids a game", ylim=(0, None))
for axis in (left, middle, right):
    axis.set_xlabel("steps of 32 positions")
plt.show()

# %% [markdown]
# ## Puzzles of the network's own
#
# On an empty board, with noise, the search ends in a grid that the network has invented. Clues are removed as long as
# the solution stays unique, and a random number of them is put back. Among the puzzles that are offered, the network
# plays those that it is least sure of. Let p be the product of its highest probabilities over all empty cells: by its
# own estimate, the probability that it is right if it fills all of them at once. A puzzle is drawn in proportion to p
# (1 - p). The network that was trained above is nearly sure of almost all of its puzzles, even of those with few clues.
# The puzzle whose p is closest to one half is printed.

# %%
search = GumbelConfig(simulations=4, rules="none", temperature=1.0, budget=200, complete=False).resolve(board, "cpu")
games = invent(board, search, network.apply, network.params, invented, jax.random.key(7))
puzzles = remove_clues(board, games, invented, jax.random.key(8), "cpu")
log_probability = np.asarray(foreseen(board, search, network.apply, network.params, puzzles))
clues = np.asarray((puzzles > 0).sum(axis=1))
solved = np.asarray(games.status) == js.Status.SOLVED
distinct = len({bytes(grid) for grid in np.asarray(games.solutions)[solved]})
print(f"{solved.sum()} of {len(solved)} games on empty boards ended in a grid, {distinct} of them different")

figure, axis = plt.subplots(figsize=(6, 3.2))
axis.scatter(clues, np.exp(log_probability), s=12, alpha=0.6)
axis.set(xlabel="clues", ylabel="p, of all cells at once", ylim=(-0.03, 1.03))
plt.tight_layout()
plt.show()

# %%
chosen = np.asarray(puzzles)[np.argsort(np.abs(np.exp(log_probability) - 0.5))[0]]
print(js.draw(chosen, board))

# %% [markdown]
# ## 9x9
#
# The same on 9x9 takes hours, on one core. This is the log of the run that is described in
# [results/selfplay.md](../benchmarks/results/selfplay.md), beside a supervised run of the same network, which was given
# the solutions of the same puzzles, and was stopped after 384,000 positions. Validation is on positions of hard puzzles
# that neither of them has seen. In equal time both learn from about as many positions.

# %%
recorded = Path("../benchmarks/results")
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
for label, name in (("self-play", "self-play-9x9"), ("supervised", "supervised-9x9")):
    validated = lines(recorded / f"2026-11-25-one-core-{name}.jsonl", "validate")
    positions = [line["step"] * 32 / 1000 for line in validated]
    axes[0].plot(positions, [line["loss"] for line in validated], marker=".", label=label)
    axes[1].plot(positions, [line["board_accuracy"] for line in validated], marker=".", label=label)
axes[0].set(xlabel="thousand positions", ylabel="validation: loss", ylim=(0, None))
axes[1].set(xlabel="thousand positions", ylabel="validation: boards right", ylim=(0, 1))
axes[0].legend()
plt.tight_layout()
plt.show()

# %% [markdown]
# ## Generations
#
# DeepSudoku's loop without its known solutions (`--preset deepsudoku`): any digit of any cell is a move of a graph
# search without rules, a game ends at its first contradiction, and failed games are kept. In DeepSudoku itself a game
# ends at its first wrong digit, and the solution labels the states. One network plays; two others are offered the same
# positions. Every generation then plays the same 64 puzzles with 17 clues, up to its first error. The curves are shares
# of the empty cells. Upstream's notebook fills up to 96.2% of a board before the first error (60 to 69 cells empty);
# this is the dotted line.

# %%
log = lines(recorded / "2026-11-25-one-core-deepsudoku-9x9.jsonl", "generation")
figure, axis = plt.subplots(figsize=(6, 3.2))
for name in ("cube", "axial", "se_resnet"):
    generations = [line for line in log if f"{name}/right" in line]
    minutes = [line["seconds"] / 60 for line in generations]
    axis.plot(minutes, [line[f"{name}/right"] for line in generations], marker=".", label=name)
axis.axhline(0.962, color="gray", linestyle=":", lw=1)
axis.set(xlabel="minutes on one core", ylabel="cells before the first error", ylim=(0, 1.02))
axis.legend()
plt.tight_layout()
plt.show()

# %%
folder.cleanup()
