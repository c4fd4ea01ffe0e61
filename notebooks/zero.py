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

# %%
import contextlib
import io
import os
import tempfile
import time
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
from train.selfplay_config import PlayConfig, ReplayConfig, StreamConfig, ZeroConfig
from train.train_config import DataConfig, NetworkConfig, OptimiserConfig, PositionKind, PositionsConfig

#: Tiny settings, to check only that everything runs.
SMALL = os.environ.get("JAXSUDOKU_SMALL") == "1"

folder = tempfile.TemporaryDirectory()
workspace = Path(folder.name)
print(f"on {jax.devices()[0]}")

# %% [markdown]
# ## 4x4 and 6x6 from nothing
#
# Minimal puzzles are generated; their solutions are not read. A round is some games, then some steps of the optimiser.
# Validation is on positions of puzzles that ship with the package. The test puzzles were not compared with those that
# are played; up to symmetry 4x4 has two grids, and 6x6 few.


# %%
def make_config(side, steps, games, **stream):
    """The settings of a run."""
    return ZeroConfig(
        board=js.Board.classic(side),
        steps=20 if SMALL else steps,
        network=NetworkConfig(
            sizes=CubeConfig(width=24, hidden=16, house=32, iterations=6), final_thinking_steps=8, saved_iterations=24
        ),
        data=DataConfig(generate=400 if SMALL else 4_000, held_out=f"{side}x{side}"),
        positions=PositionsConfig(kinds=(PositionKind("none", filled=4, wrong=0.1),), puzzles_per_position=2),
        optimiser=OptimiserConfig(warmup=20, ema=0.98),
        report_every=20,
        validate_every=20 if SMALL else steps // 5,
        save_every=20 if SMALL else steps,
        play=PlayConfig(games=games, updates=20, rules="none", budget=64),
        replay=ReplayConfig(buffer=4_096),
        stream=StreamConfig(**stream),
    )


def run(config, name):
    """Trains in a folder of that name; returns the network and the seconds of the whole run."""
    begun = time.perf_counter()
    with contextlib.redirect_stderr(io.StringIO()):
        network = self_play(config, workspace / name)
    return network, time.perf_counter() - begun


def solved_alone(network, puzzles):
    """The share of the puzzles that the network solves cell by cell, without rules and without search."""
    found = js.solve(puzzles, network.apply.board, solver="iterative", network=network, rules="none", complete=False)
    return (found.status == js.Status.SOLVED).mean()


# %%
four, seconds = run(make_config(4, 400, 64), "4x4")
tested = js.generate(2_000, 40 if SMALL else 1_000, js.Board.classic(4)).puzzles
if not SMALL:
    print(f"4x4: {seconds:.0f} s with compilation, {solved_alone(four, tested):.1%} of {len(tested):,} puzzles solved")

# %%
six, seconds = run(make_config(6, 1_600, 64), "6x6")
tested = js.load("6x6")[: 40 if SMALL else None]
if not SMALL:
    print(f"6x6: {seconds:.0f} s with compilation, {solved_alone(six, tested):.1%} of {len(tested):,} puzzles solved")

# %% [markdown]
# Cell by cell, without rules, without search, and without completing the board after a call, the 4x4 network solves all
# of the 1,000 test puzzles, and the 6x6 network 198 of the 200. The seconds are of one core beside another program; an
# earlier run took 33 s and 75 s.
#
# On the left is the share of games that are solved within 64 grids, on the right the grids of a game. The first games
# are those of a network that knows nothing. Even it solves nearly all games by search: all of 4x4, 95% of 6x6. Only the
# grids of a 6x6 game fall, from 34 to about 28; those of a 4x4 game stay at 12 to 13.


# %%
def lines(path, kind):
    """The lines of a log of one kind."""
    return [line for line in read(path) if line["kind"] == kind]


figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
for name in ("4x4", "6x6"):
    log = lines(workspace / name / "metrics.jsonl", "train")
    steps = [line["step"] for line in log]
    axes[0].plot(steps, [line["games_solved"] for line in log], label=name)
    axes[1].plot(steps, [line["grids_per_game"] for line in log], label=name)
axes[0].set(xlabel="steps of 32 positions", ylabel="games solved", ylim=(0, 1.02))
axes[1].set(xlabel="steps of 32 positions", ylabel="grids a game")
axes[0].legend(loc="lower right")
plt.tight_layout()
plt.show()

# %% [markdown]
# ## Puzzles of the network's own
#
# On an empty board, with noise, the search ends in a grid that the network has invented. Clues are removed as long as
# the solution stays unique, and a random number of them is put back. Of the puzzles that are offered, those are played
# of which the network is least sure: if it filled in all cells at once, it would be right with the product p of its
# highest probabilities, as it sees them. A puzzle is drawn in proportion to p (1 - p). The 6x6 network that was trained
# above is nearly sure of all of its puzzles, with few clues too. The one with the p that is closest to one half is
# shown.

# %%
board = js.Board.classic(6)
search = GumbelConfig(simulations=4, rules="none", temperature=1.0, budget=200, complete=False).resolve(board, "cpu")
games = invent(board, search, six.apply, six.params, 4 if SMALL else 16, jax.random.key(7))
puzzles = remove_clues(board, games, 16, jax.random.key(8), "cpu")
log_probability = np.asarray(foreseen(board, search, six.apply, six.params, puzzles))
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
results = Path("../benchmarks/results")
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
for label, name in (("self-play", "self-play-9x9"), ("supervised", "supervised-9x9")):
    validated = lines(results / f"2026-11-25-one-core-{name}.jsonl", "validate")
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
log = lines(results / "2026-11-25-one-core-deepsudoku-9x9.jsonl", "generation")
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
