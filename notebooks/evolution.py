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
# # Evolution and annealing, batched
#
# In a grid whose boxes hold every digit once only rows and columns can be wrong. Combinatorial evolution keeps a
# population of such grids, a hive, and swaps two cells of a box if that lowers the error. Simulated annealing swaps
# cells as well, and sometimes accepts a swap that raises the error. Neither deduces anything, and neither can prove
# that a puzzle has no solution. This notebook shows
#
# 1. a hive after some hundred epochs, and the errors of its best grid,
# 2. the decrease of the errors, by epochs and by sweeps,
# 3. the puzzles that both solve, and the grids that they need.
#
# [docs/population.md](../docs/population.md) describes the solvers and links the results on whole puzzle sets.

# %%
import os

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku as js
from jaxsudoku.solvers.population import EvolutionConfig, evolution
from jaxsudoku.solvers.queue import Start

#: A small setting for a machine that only checks that all of it runs.
SMALL = os.environ.get("JAXSUDOKU_SMALL") == "1"

board = js.Board.classic(4) if SMALL else js.Board.classic()
puzzles = np.asarray(js.load("4x4" if SMALL else "9x9-medium"))[: 8 if SMALL else 64]

# %% [markdown]
# ## A hive
#
# Ninety of a hundred organisms are workers, each with its own grid. In an epoch a worker evaluates one neighbour, its
# grid with two free cells of a box swapped. It takes the neighbour if fewer digits are missing in rows and columns, or
# by mistake, once in a thousand times. The others are explorers, which evaluate random grids. The best worker and the
# best explorer then have a child with boxes of both, which replaces the worst worker. Below are the errors of a hive's
# workers, and its best grid; digits that a row or column holds twice are red.

# %%
config = EvolutionConfig(organisms=20 if SMALL else 200)
method = evolution.method(board, config)
start = Start(jnp.asarray(puzzles[:1]), None, jnp.ones(1, jnp.uint32), None)


@jax.jit
def live(hives, epochs):
    return jax.lax.fori_loop(0, epochs, lambda _, hives: method.step(hives), hives)


hives = live(method.init(start), 20 if SMALL else 300)


def draw_grid(axis, grid, given):
    side, (height, width) = board.side, board.box
    grid = np.asarray(grid).reshape(side, side)
    for line in range(side + 1):
        axis.plot([0, side], [line, line], "k", lw=2 if line % height == 0 else 0.5)
        axis.plot([line, line], [0, side], "k", lw=2 if line % width == 0 else 0.5)
    for row, column in np.ndindex(side, side):
        digit = grid[row, column]
        twice = (grid[row] == digit).sum() > 1 or (grid[:, column] == digit).sum() > 1
        weight = "bold" if given[row * side + column] else "normal"
        axis.text(
            column + 0.5,
            row + 0.5,
            digit,
            ha="center",
            va="center",
            fontsize=16,
            weight=weight,
            color="tab:red" if twice else "k",
        )
    axis.set(xlim=(0, side), ylim=(side, 0), aspect="equal")
    axis.axis("off")


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
left.hist(np.asarray(hives.error[0]), bins=np.arange(0, int(hives.error.max()) + 2) - 0.5)
left.set(
    xlabel="digits that rows and columns miss", ylabel="workers", title=f"a hive after {int(hives.epoch[0])} epochs"
)
draw_grid(right, hives.best[0], puzzles[0])
right.set_title(f"its best grid: {int(hives.least[0])} missing")
plt.show()

# %% [markdown]
# ## How errors fall
#
# With `record`, `stats["history"]` has the least error after each step. A step of evolution is an epoch, in which
# every organism evaluates one grid; a step of annealing is a sweep, in which each of 32 chains tries every swap.

# %%
epochs = 200 if SMALL else 5000
hive_settings = {"organisms": config.organisms, "epochs": epochs, "restarts": 0}
evolved = js.solve(puzzles, board, solver="evolution", rules="none", record=epochs, **hive_settings)
annealed = js.solve(puzzles, board, solver="annealing", rules="none", budget=epochs, record=epochs)

figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
for axis, found, name, step in ((axes[0], evolved, "evolution", "epochs"), (axes[1], annealed, "annealing", "sweeps")):
    for history in found.stats["history"]:
        lived = history[history >= 0]
        axis.step(np.arange(1, len(lived) + 1), lived, color="tab:blue", alpha=0.3)
    axis.set(title=name, xlabel=step, xscale="log", ylabel="digits missing")
plt.show()

# %% [markdown]
# ## Solved puzzles

# %%
print(f"{'':12}{'solved':>8}{'grids: mean':>14}{'median':>12}{'error of the others':>22}")
for name, found in {"evolution": evolved, "annealing": annealed}.items():
    solved = found.status == js.Status.SOLVED
    left = found.stats["errors"][~solved].mean() if (~solved).any() else 0.0
    print(
        f"{name:12}{solved.mean():8.1%}{found.iterations.mean():14,.0f}{np.median(found.iterations):12,.0f}{left:22.1f}"
    )
assert all(
    (found.stats["errors"] == 0).sum() == (found.status == js.Status.SOLVED).sum() for found in (evolved, annealed)
)

# %% [markdown]
# Most hives of evolution end at an error of 2, with two digits exchanged, many swaps away from the solution. Annealing
# at the right temperatures leaves such grids again; chains at different temperatures that exchange their grids do so on
# boards of every size.
