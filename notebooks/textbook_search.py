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
# # Textbook search, batched
#
# A first course on artificial intelligence has students solve Sudoku with the search algorithms that it teaches:
# depth-first search in several orders, best-first search with heuristics, elimination of candidates, hill climbing.
# This notebook answers the questions of one such course work (IFT3335, on the search code of Russell and Norvig's
# book), for many puzzles at once:
#
# 1. how many puzzles depth-first search solves in 10,000 nodes, in three orders,
# 2. the effect of heuristics on best-first search,
# 3. how much search remains after candidates are eliminated,
# 4. where hill climbing over full grids gets stuck.
#
# [docs/textbook.md](../docs/textbook.md) links the answers on the course work's own puzzles.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku as js

#: A small setting for a machine that only checks that all of it runs.
SMALL = os.environ.get("JAXSUDOKU_SMALL") == "1"

board = js.Board.classic(4) if SMALL else js.Board.classic()
puzzles = np.asarray(js.load("4x4" if SMALL else "9x9-easy"))[: 8 if SMALL else 100]
budget = 100 if SMALL else 10_000

# %% [markdown]
# ## All questions
#
# With `actions="any"` every legal digit of every empty cell is a child, as in the course work. With `"cell"` the order
# selects one cell, and its digits are the children. "Sorted" means fewest legal digits first.

# %%
questions = {
    "depth-first, any cell, sequential": {"solver": "depth-first", "actions": "any", "order": "sequential"},
    "depth-first, any cell, random": {"solver": "depth-first", "actions": "any", "order": "random"},
    "depth-first, any cell, sorted": {"solver": "depth-first", "actions": "any", "order": "sorted"},
    "depth-first, one cell, sequential": {"solver": "depth-first", "order": "sequential"},
    "depth-first, one cell, random": {"solver": "depth-first", "order": "random"},
    "depth-first, one cell, sorted": {"solver": "depth-first", "order": "sorted"},
    "best-first, most constrained": {"solver": "best-first", "heuristic": "most-constrained"},
    "best-first, conflicts": {"solver": "best-first", "heuristic": "conflicts"},
    "best-first, remaining": {"solver": "best-first", "heuristic": "remaining"},
    "elimination alone": {"solver": "elimination", "then": "none"},
    "elimination, then depth-first": {"solver": "elimination", "then": "depth-first"},
    "elimination, then best-first": {"solver": "elimination", "then": "best-first"},
}
if SMALL:  # each takes long to compile
    kept = ("depth-first, one cell, sorted", "elimination, then best-first")
    questions = {name: questions[name] for name in kept}

found = {name: js.solve(puzzles, board, budget=budget, **options) for name, options in questions.items()}

print(f"{'':36}{'solved':>8}{'nodes: mean':>13}{'median':>9}{'most':>9}")
for name, solution in found.items():
    solved = (solution.status == js.Status.SOLVED).mean()
    nodes = solution.iterations
    print(f"{name:36}{solved:8.1%}{nodes.mean():13,.1f}{np.median(nodes):9,.0f}{nodes.max():9,}")

# %% [markdown]
# ## Nodes by puzzle
#
# Most puzzles are solved soon or not within the budget.

# %%
figure, axis = plt.subplots(figsize=(9, 5))
for name, solution in found.items():
    spent = np.sort(solution.iterations[solution.status == js.Status.SOLVED])
    axis.step(
        [1, *spent, budget],
        [0, *np.arange(1, len(spent) + 1) / len(puzzles), len(spent) / len(puzzles)],
        where="post",
        label=name,
    )
axis.set(xscale="log", xlabel="nodes explored", ylabel="solved", ylim=(0, 1.02))
axis.legend(fontsize="small")
plt.show()

# %% [markdown]
# Depth-first search fails if any cell may be filled next: an early wrong digit must be refuted in every combination
# with all others. It solves puzzles if one cell is selected, the one with fewest digits. After elimination the order
# hardly matters: most puzzles are solved before the first guess.

# %% [markdown]
# ## Hill climbing
#
# Hill climbing starts from a full grid whose boxes are right, and moves to the best neighbour until none is better. The
# course work counts 14.96 ± 3.06 conflicts at the end, and 14.21 ± 2.86 if three swaps in three boxes are made at once;
# none of its puzzles is solved. Here conflicts are digits that rows and columns miss.

# %%
climbs = {
    "swaps": {},
    "threefold swaps too": {"neighbourhood": "super"},
    "steps sideways": {"sideways": 100},
    "sideways, 20 restarts": {"sideways": 100, "restarts": 20},
}
if SMALL:
    climbs = {"swaps": {}}
climbed = {name: js.solve(puzzles, board, solver="hill-climbing", **options) for name, options in climbs.items()}

print(f"{'':24}{'solved':>8}{'conflicts':>18}{'grids: mean':>14}")
for name, solution in climbed.items():
    solved = (solution.status == js.Status.SOLVED).mean()
    conflicts = f"{solution.stats['errors'].mean():.2f} ± {solution.stats['errors'].std():.2f}"
    print(f"{name:24}{solved:8.1%}{conflicts:>18}{solution.iterations.mean():14,.0f}")

# %%
figure, axis = plt.subplots(figsize=(9, 4))
bins = np.arange(max(solution.stats["errors"].max() for solution in climbed.values()) + 2) - 0.5
for name, solution in climbed.items():
    axis.hist(solution.stats["errors"], bins, histtype="step", label=name)
axis.set(xlabel="conflicts at the best local optimum", ylabel="puzzles")
axis.legend(fontsize="small")
plt.show()

# %% [markdown]
# Larger neighbourhoods change little. Steps sideways help: most local optima are plateaus.
