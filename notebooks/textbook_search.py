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
# # Textbook search
#
# **What was found.** The choice of the cell decides, not the algorithm: depth-first search solves every puzzle in about
# 400 nodes if it fills the cell with fewest legal digits, and at most 6% within 10,000 nodes if any cell may be next.
#
# ![The share of puzzles that each search solves, by explored nodes](../docs/images/notebooks/textbook_search.png)
#
# **The question.** A course work (IFT3335, on the search code of Russell and Norvig's book) asks which search algorithm
# of a first course on artificial intelligence solves Sudoku, and how much heuristics help.
#
# **What the source did.** It ran depth-first search in three orders, best-first search after elimination of candidates,
# and hill climbing over full grids. It reports that depth-first search solves 0 of 40 puzzles within 10,000 nodes, that
# elimination with best-first search solves 100 of 100 in at most 3 nodes (by our count 8 of its grids are valid), and
# that hill climbing solves 0 of 1,000 and ends at 14.96 ± 3.06 conflicts. Best-first search was stopped after 100
# nodes, which took it 163 seconds by the most constrained cell, and 125 seconds by conflicts on full grids.
#
# This notebook repeats the questions on puzzles of three grades, a batch of puzzles at a time. The answers on the
# course work's own puzzles are in [benchmarks/results/textbook.md](../benchmarks/results/textbook.md); the solvers are
# described in [docs/textbook.md](../docs/textbook.md).

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
import itertools
import time

import jax
import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku as js

# %% tags=["parameters"]
board = js.Board.classic(9)
grades = {"9x9-easy": 100, "9x9-medium": 100, "9x9-hard": 100}  # puzzles of each set
budget = 10_000  # nodes of a search
compared = None  # the names of the searches that are run; None for all
climbs = {
    "swaps": {},
    "threefold swaps too": {"neighbourhood": "super"},
    "100 steps sideways": {"sideways": 100},
    "sideways, 100 restarts": {"sideways": 100, "restarts": 100},
    "the same, locked candidates": {"sideways": 100, "restarts": 100, "rules": "locked"},
}

# %%
puzzles = np.concatenate([js.load(grade)[:count] for grade, count in grades.items()])
grade_of = np.repeat(list(grades), list(grades.values()))
print(f"{len(puzzles)} puzzles, at most {budget:,} nodes, on {jax.devices()[0]}")

# %% [markdown]
# All 9x9 puzzles are minimal and have one solution. Naked and hidden singles solve the easy ones. The others need
# guesses after singles: less than two branch nodes in the mean for a medium puzzle, 2 to 10 for a hard one.
#
# ## Searches
#
# With `actions="any"` every legal digit of every empty cell is a child of a node, as in the course work. With `"cell"`
# the order selects one empty cell, and its legal digits are the children. `sorted` takes the cell with fewest legal
# digits first. Best-first search fills its most constrained cell here; `actions="any"` is on the page of results.
# Elimination applies rules at every node: naked singles in the course work, here also hidden singles and locked
# candidates.

# %%
searches = {
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
    "naked singles, best-first": {
        "solver": "elimination",
        "rules": "naked",
        "then": "best-first",
        "heuristic": "remaining",
    },
    "elimination, best-first": {"solver": "elimination", "then": "best-first"},
    "elimination, depth-first": {"solver": "elimination", "then": "depth-first"},
}

# %%
found, seconds = {}, {}
for name in compared or searches:
    options = searches[name]
    js.solve(np.full_like(puzzles, 255), board, budget=budget, **options)  # compiles; invalid puzzles need no search
    start = time.process_time()
    found[name] = js.solve(puzzles, board, budget=budget, **options)
    seconds[name] = time.process_time() - start

# %% [markdown]
# Solved puzzles, and nodes as mean ± standard deviation. A puzzle that is not solved counts with all nodes that were
# explored, so the mean of a search that fails is a lower bound.

# %%
print(" " * 34 + "".join(f"{grade:^27}" for grade in grades))
print(" " * 34 + f"{'solved':>8}{'nodes':>19}" * len(grades))
for name, solution in found.items():
    row = f"{name:34}"
    for grade in grades:
        solved = solution.status[grade_of == grade] == js.Status.SOLVED
        nodes = solution.iterations[grade_of == grade]
        row += f"{solved.mean():8.0%}{nodes.mean():10,.1f} ± {nodes.std():6,.1f}"
    print(row)

# %% [markdown]
# ## Solved puzzles by nodes
#
# Searches that solve no puzzle coincide on the axis.

# %% tags=["picture"]
styles = {"any cell": ":", "one cell": "-", "best-first, ": "--", "": "-"}
depth_first = [name for name in found if name.startswith("depth-first")]
others = [name for name in found if name not in depth_first]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), sharey=True, layout="constrained")
for axis, names in zip(axes, (depth_first, others), strict=True):
    for name in names:
        nodes = np.sort(found[name].iterations[found[name].status == js.Status.SOLVED])
        share = np.arange(len(nodes) + 1) / len(puzzles)
        style = next(style for part, style in styles.items() if part in name)
        axis.step([1, *nodes, budget], [*share, share[-1]], where="post", linestyle=style, label=name)
    axis.set(xscale="log", xlabel="explored nodes", ylim=(-0.03, 1.03))
    axis.legend(fontsize="small", loc="upper left", bbox_to_anchor=(0, -0.2), frameon=False)
axes[0].set(title="depth-first search", ylabel="share of puzzles solved")
axes[1].set(title="heuristics and elimination")
plt.show()

# %% [markdown]
# ## Nodes by grade
#
# The searches that solve at least nine puzzles of ten. The bars are means; the lines end at the mean plus the standard
# deviation.

# %%
able = [name for name in found if (found[name].status == js.Status.SOLVED).mean() >= 0.9]
figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
height = 0.8 / len(grades)
for number, grade in enumerate(grades):
    nodes = np.array([found[name].iterations[grade_of == grade] for name in able])
    mean, deviation = nodes.mean(axis=1), nodes.std(axis=1)
    places = np.arange(len(able)) + number * height
    axis.barh(places, mean, height, xerr=[0 * deviation, deviation], label=grade, capsize=2)
axis.set_yticks(np.arange(len(able)) + height * (len(grades) - 1) / 2, able)
axis.invert_yaxis()
axis.set(xscale="log", xlabel="explored nodes, mean and standard deviation")
axis.legend()
plt.show()

# %% [markdown]
# ## Time
#
# CPU time per puzzle, with all puzzles in one batch, after compilation. A node costs about the same in every puzzle, so
# the standard deviation is that of the nodes multiplied by the time of a node.

# %%
print(f"{len(puzzles)} puzzles in a batch on {jax.devices()[0]}")
print(f"{'':34}{'CPU ms per puzzle':>19}{'µs per node':>14}")
for name in able:
    nodes = found[name].iterations
    node = seconds[name] / nodes.sum()
    print(f"{name:34}{1e3 * node * nodes.mean():10.2f} ± {1e3 * node * nodes.std():6.2f}{1e6 * node:14.1f}")

# %% [markdown]
# ## Hill climbing
#
# A climb starts from a full grid in which every box holds every digit once. Neighbours are the grids with two free
# cells of a box swapped. The climb moves to the best neighbour, and ends where none is better. Conflicts are the digits
# that rows and columns miss. The course work has 14.96 ± 3.06 conflicts at the end, and 14.21 ± 2.86 if three swaps in
# three boxes may be made at once. It counts otherwise: a cell once for its row and once for its column. In that unit
# the same climbs have about twice as many conflicts as here.

# %%
climbed = {
    name: js.solve(puzzles, board, solver="hill-climbing", keep_partial=True, **options)
    for name, options in climbs.items()
}

print(f"{'':30}{'solved':>8}{'conflicts':>16}{'evaluated grids':>26}")
for name, solution in climbed.items():
    solved, errors = (solution.status == js.Status.SOLVED).mean(), solution.stats["errors"]
    grids = solution.iterations
    conflicts = f"{errors.mean():.2f} ± {errors.std():.2f}"
    print(f"{name:30}{solved:8.1%}{conflicts:>16}{grids.mean():14,.0f} ± {grids.std():9,.0f}")

# %%
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
width = 0.8 / len(climbed)
for number, (name, solution) in enumerate(climbed.items()):
    errors, counts = np.unique(solution.stats["errors"], return_counts=True)
    axis.bar(errors + (number - len(climbed) / 2 + 0.5) * width, counts, width, label=name)
axis.set(xlabel="conflicts of the best grid", ylabel="puzzles")
axis.legend()
plt.show()

# %% [markdown]
# ## A local optimum
#
# The best grid that a plain climb left unsolved. Givens are bold; digits that a row or column repeats are red. On the
# right are all neighbours of this grid, by the number of conflicts that the swap adds: none of them has fewer.


# %%
def missing(grid):
    """The number of digits that rows and columns miss."""
    square = grid.reshape(board.side, board.side)
    return sum(board.side - len(np.unique(line)) for line in (*square, *square.T))


def rises(grid, puzzle):
    """The change of the conflicts by every swap of two free cells of a box."""
    for box in board.region_houses:
        for pair in itertools.combinations([cell for cell in box if puzzle[cell] == 0], 2):
            neighbour = grid.copy()
            neighbour[list(pair)] = grid[list(pair[::-1])]
            yield missing(neighbour) - missing(grid)


# %%
errors = climbed["swaps"].stats["errors"]
stuck = np.argmin(np.where(errors > 0, errors, errors.max() + 1))
grid, puzzle = climbed["swaps"].grids[stuck], puzzles[stuck]
changes, counts = np.unique(list(rises(grid, puzzle)), return_counts=True)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4), layout="constrained")
js.picture(grid, board, puzzle, clashes=True).plot(left)
left.set_title(f"a local optimum with {errors[stuck]} conflicts")
right.bar(changes, counts, color=np.where(changes > 0, "tab:blue", "tab:orange"))
right.set(xlabel="conflicts that a swap adds", ylabel="neighbours", title=f"{counts.sum()} neighbours")
plt.show()
print(f"neighbours that are better: {counts[changes < 0].sum()}, equal: {counts[changes == 0].sum()}")

# %% [markdown]
# ## Findings
#
# - **Depth-first search** fails as the course work says if any cell may be filled next: sequential and random orders
#   solve no puzzle within 10,000 nodes, and the sorted order solves 2 to 11 of a hundred. A wrong digit is then refuted
#   only in combination with all others. If one cell is filled at a time, the one with fewest legal digits, depth-first
#   search solves every puzzle in about 400 nodes. So the choice of the cell decides, not the algorithm.
# - **Heuristics** of best-first search add little to that choice. All three solve every puzzle with 300 to 600 nodes in
#   the mean, and a node costs about 7 to 14 times as much as in depth-first search. In all four searches the standard
#   deviation is larger than the mean: the number of nodes has a long tail.
# - **Elimination** helps most. Naked singles at every node, the rule of the course work, leave about 20 to 35 nodes in
#   the mean; its claim of at most 3 nodes does not hold here. With hidden singles and locked candidates 1 to 4 nodes
#   remain, and a puzzle takes less than a tenth of a millisecond of CPU time in the mean. Elimination alone solves the
#   easy puzzles and about three of ten of the others.
# - **The grade** of a puzzle is a measure of the search that is left after singles. Without elimination it does not
#   show between easy and medium puzzles. Hard ones take 1.2 times (depth-first, sorted) to 1.9 times (best-first, most
#   constrained) the nodes of easy ones.
# - **Hill climbing** solves no puzzle as the textbook describes it, and ends at about 13 conflicts; threefold swaps
#   change nothing that can be told from chance. The course work has 15, in a unit in which these are about 26. Steps
#   sideways reduce the conflicts to about 4, and 100 restarts then solve six puzzles of ten with 1.6 million grids
#   each. After locked candidates the same climbs solve nearly all. The board shows why a plain climb stops: no
#   neighbour is better, and only a few are equal.
