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
# # Sudoku by convolution
#
# **What was found.** The network `cube` has none of 128 minimal boards right at once, but solves 94% of them one cell
# at a time, because it is nearly always right about its surest cell.
#
# ![Boards and cells that are right, by network, set and decoding](../docs/images/notebooks/cnn.png)
#
# **The question.** Can a convolutional network that sees only digits, and is told no rule, solve Sudoku? And why does
# filling one cell at a time beat filling all cells at once?
#
# **What the sources did.** The cell CNN has three convolutions and a dense layer. It is trained on easy puzzles, and
# fills one cell at a time, the surest first; its author claims 0.99 of 1,000 easy games. A later network has kernels as
# large as a row, a column and a box. Its author claims a loss of 0.6 nats a cell, 70% of the cells right at once on
# rated puzzles, and 60% of the boards of a difficulty below 5 by the `DeepIterativeSolver`, which fills cells with a
# single legal digit first, and then the network's surest cell.
#
# Here both kinds run on puzzles with many clues, and on minimal ones of four grades. Beside them runs `cube`, a network
# that is equivariant under the symmetries of the board and repeats the same layer. The networks are described in
# [docs/networks.md](../docs/networks.md), and larger samples are in
# [benchmarks/results/networks.md](../benchmarks/results/networks.md).

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
import jax
import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku as js

# %% tags=["parameters"]
count = 32  # puzzles of a set
many_clues = js.generate(5, count, clues=(31, 36)).puzzles
names = ("9x9-easy", "9x9-medium", "9x9-hard", "9x9-extreme")
networks = {
    "cell_cnn": js.load_network("cell_cnn"),
    "house_resnet": js.load_network("house_resnet"),
    "cube": js.load_network("cube", iterations=8),
}
decodings = {
    "one-shot, rules none": {"solver": "one-shot", "rules": "none"},
    "cell by cell, rules none": {"solver": "iterative", "rules": "none", "complete": False},
    "cell by cell, rules naked": {"solver": "iterative", "rules": "naked", "complete": False},
    "completing, rules none": {"solver": "iterative", "rules": "none"},
}
left_open = (2, 5, 10, 20, 30, 40, 50, 60)  # empty cells that are left
thresholds = (0.6, 0.95)  # of the option sure

# %%
sets = {"31-36 clues": many_clues} | {name: js.load(name)[:count] for name in names}
puzzles = np.concatenate(list(sets.values()))
set_of = np.repeat(list(sets), count)
empty = puzzles == 0
exact = js.solve(puzzles)
assert (exact.status == js.Status.SOLVED).all()
solutions = exact.grids
print(f"{count} puzzles of each of {', '.join(sets)}, on {jax.devices()[0]}")
for name, network in networks.items():
    print(f"{name:13} {network.size:9,} parameters")

# %% [markdown]
# The puzzles of 31 to 36 clues are somewhat harder than those of the cell CNN's source: naked singles alone solve 62%
# of them, and all of [2,500 of its kind](../benchmarks/results/networks.md#the-shipped-cell-cnn). The others are
# minimal, with about 24 clues. The easy ones of these are solved by naked and hidden singles, the others need guesses:
# the medium ones less than two in the mean, the hard ones two to ten, the extreme ones fifty and more. All puzzles have
# one solution.
#
# ## One board
#
# The networks see digits alone: a filled cell has its digit, an empty cell has all nine. On the left every empty cell
# shows its likeliest digit, the darker the more probable. On the right the surest cell is filled, the network is called
# again with this digit, and so on, until the grid is full or a digit occurs twice in a house; the darker a cell, the
# later it was filled. Wrong digits are red, and so is the cell of the first wrong one. The board is the first
# easy one that `house_resnet` solves one cell at a time, and `cell_cnn` does not.


# %%
def predict(network, grids):
    """The probabilities of the digits in every cell, [B, digit, cell]; no rule is applied."""
    return np.asarray(jax.nn.softmax(network(js.planes.grids_to_cubes(grids)).policy, axis=1))


def fill_surest_first(network, puzzle):
    """Fills a board cell by cell; returns the grid, and for each cell the step at which it was filled, else 0."""
    grid, step = puzzle.copy(), np.zeros(len(puzzle), int)
    while (grid == 0).any() and js.is_valid(grid):
        probabilities = np.where(grid == 0, predict(network, grid[None])[0], 0)
        digit, cell = np.unravel_index(probabilities.argmax(), probabilities.shape)
        grid[cell], step[cell] = digit + 1, step.max() + 1
    return grid, step


# %%
found = {
    (name, decoding): js.solve(puzzles, network=network, keep_partial=True, **options)
    for name, network in networks.items()
    for decoding, options in decodings.items()
}

# %%
pair = tuple(networks)[:2]
solved = {name: found[name, "cell by cell, rules none"].status == js.Status.SOLVED for name in pair}
shown = int(np.argmax(solved[pair[-1]] & ~solved[pair[0]] & (set_of == "9x9-easy")))
puzzle, solution = puzzles[shown], solutions[shown]
print(f"a puzzle of {set_of[shown]} with {(puzzle > 0).sum()} givens; bold digits are given")

# %%
figure, axes = plt.subplots(len(pair), 2, figsize=(7, 6.4), squeeze=False, layout="constrained")
for (left, right), name in zip(axes, pair, strict=True):
    probabilities = predict(networks[name], puzzle[None])[0]
    digits = np.where(puzzle > 0, puzzle, probabilities.argmax(axis=0) + 1)
    shades = np.where(puzzle > 0, np.nan, probabilities.max(axis=0))
    js.picture(digits, givens=puzzle, solutions=solution, shades=shades).plot(left)
    left.set_title(f"{name}, all at once: {(digits != solution).sum()} wrong", fontsize=10)
    grid, step = fill_surest_first(networks[name], puzzle)
    shades = np.where(step > 0, step / (puzzle == 0).sum(), np.nan)
    marks = js.Marks()
    wrong = np.flatnonzero((grid > 0) & (grid != solution))
    if len(wrong):
        first = wrong[step[wrong].argmin()]
        marks = js.Marks(cells={int(first): "clash"})
        text = f"first wrong at step {step[first]}, ends at step {step.max()}"
    else:
        text = f"right in all {step.max()} steps"
    js.picture(grid, givens=puzzle, solutions=solution, shades=shades, marks=marks).plot(right)
    right.set_title(f"{name}, one at a time:\n{text}", fontsize=10)
    print(f"{name:13} one at a time: {text}")
plt.show()

# %% [markdown]
# ## Boards and cells
#
# `one-shot` fills all cells with one call of the network. `iterative` with `complete=False` goes cell by cell: it fills
# the surest one and calls again. With rules `naked` a cell with one legal digit is filled without a call, as in the
# `DeepIterativeSolver`; such cells alone solve few of the minimal puzzles (dotted). By default `iterative` does more:
# after every call it also completes the board with the probabilities of that call, and a grid that is right is the
# answer ("completing"). Cells are shares of the empty cells of a puzzle, in the mean; cells that are still empty when
# the board becomes contradictory count as wrong. `cube` runs 8 iterations a call; `iterative` calls it up to 24 times
# on a position while it is less than 99% sure. Nothing backtracks.

# %%
alone = js.solve(puzzles, solver="elimination", rules="naked", then="none", keep_partial=True)


def scores(solution, which):
    """The shares of whole boards and of empty cells that are right, and the mean number of network calls."""
    boards = (solution.status == js.Status.SOLVED)[which].mean()
    right = ((solution.grids == solutions) & empty).sum(axis=1) / empty.sum(axis=1)
    calls = solution.stats.get("network_calls")
    return boards, right[which].mean(), 0 if calls is None else calls[which].mean()


rows = {("no network", "naked singles alone"): alone} | found
print(f"{'boards right, cells right, network calls':38}" + "".join(f"{name:>20}" for name in sets))
for (name, decoding), solution in rows.items():
    row = f"{name:13} {decoding:24}"
    for grade in sets:
        boards, cells, calls = scores(solution, set_of == grade)
        row += f"{boards:8.0%}{cells:6.0%}{calls:6.1f}"
    print(row)

# %% tags=["picture"]
figure, axes = plt.subplots(
    2, len(networks), figsize=(8, 4.8), sharex=True, sharey=True, layout="constrained", squeeze=False
)
places, width = np.arange(len(sets)), 0.8 / len(decodings)
for column, name in enumerate(networks):
    for measure, axis in enumerate(axes[:, column]):
        for number, decoding in enumerate(decodings):
            heights = [100 * scores(found[name, decoding], set_of == grade)[measure] for grade in sets]
            axis.bar(places + (number - (len(decodings) - 1) / 2) * width, heights, width, label=decoding)
        rule = [100 * scores(alone, set_of == grade)[measure] for grade in sets]
        axis.plot(places, rule, "k:", marker=".", label="naked singles alone")
        axis.set_ylim(0, 105)
    axes[0, column].set_title(name, fontsize=10)
    axes[1, column].set_xticks(places, [grade.removeprefix("9x9-").replace(" ", "\n") for grade in sets], fontsize=8)
    axes[1, column].set_xlabel("puzzles")
axes[0, 0].set_ylabel("whole boards right (%)")
axes[1, 0].set_ylabel("empty cells right (%)")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% [markdown]
# ## Does a network know what it knows?
#
# All empty cells of all boards, by the probability that the network gives to the likeliest digit before any cell is
# filled. On the diagonal the network is right as often as it says. If the cells were independent, the probability of a
# whole board would be the product of those of its cells, which is printed below beside the share of boards that
# `one-shot` fills rightly.

# %%
edges = np.linspace(0.1, 1, 10)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for name, network in networks.items():
    probabilities = predict(network, puzzles)
    sure, hits = probabilities.max(axis=1), probabilities.argmax(axis=1) + 1 == solutions
    surest = np.where(empty, sure, 0).argmax(axis=1)
    bins = np.digitize(sure[empty], edges[1:-1])
    sizes = np.bincount(bins, minlength=len(edges) - 1)
    known = sizes >= 20
    said, was = (np.bincount(bins, values, len(sizes))[known] / sizes[known] for values in (sure[empty], hits[empty]))
    left.plot(100 * said, 100 * was, "o-", ms=4, label=name)
    right.stairs(100 * sizes / sizes.sum(), 100 * edges, label=name, lw=2)
    lines = np.arange(len(puzzles))
    print(
        f"{name:13} cells right {hits[empty].mean():6.1%}, the surest of each board {hits[lines, surest].mean():6.1%}; "
        f"whole boards: product of probabilities {np.where(empty, sure, 1).prod(axis=1).mean():6.1%}, "
        f"right {(hits | ~empty).all(axis=1).mean():6.1%}"
    )
left.plot([10, 100], [10, 100], "k--", lw=1, label="as often as it says")
left.set(xlabel="probability of the likeliest digit (%)", ylabel="cells right (%)")
right.set(xlabel="probability of the likeliest digit (%)", ylabel="share of the empty cells (%)")
left.legend(fontsize=9)
right.legend(fontsize=9, loc="upper center")
plt.show()

# %% [markdown]
# ## Every filled cell helps the others
#
# Random cells of every board are filled from the solution, until a number of cells is left. On the left is the share of
# all cells left that the network has right with one call; on the right the share of boards in which its surest cell is
# right. Cell by cell, only that one matters.


# %%
def leave(number, rng):
    """The puzzles with all empty cells filled from the solutions but this number, or fewer where fewer are empty."""
    order = np.where(empty, rng.random(puzzles.shape), 2).argsort(axis=1).argsort(axis=1)
    return np.where(order < number, puzzles, solutions)


# %%
print(f"{'empty cells left':32}" + "".join(f"{number:6}" for number in left_open))
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, layout="constrained")
for name, network in networks.items():
    every, surest = [], []
    for number in left_open:
        grids = leave(number, np.random.default_rng(number))
        probabilities = np.where((grids == 0)[:, None], predict(network, grids), 0)
        digits, cells = np.unravel_index(probabilities.reshape(len(grids), -1).argmax(axis=1), (9, 81))
        every.append(100 * (probabilities.argmax(axis=1) + 1 == solutions)[grids == 0].mean())
        surest.append(100 * (digits + 1 == solutions[np.arange(len(grids)), cells]).mean())
    left.plot(left_open, every, "o-", label=name)
    right.plot(left_open, surest, "o-", label=name)
    for what, shares in {"cells right": every, "surest cell right": surest}.items():
        print(f"{name:13} {what:18}" + "".join(f"{share:6.1f}" for share in shares))
left.set(xlabel="empty cells left", ylabel="empty cells right (%)", ylim=(0, 105))
right.set(xlabel="empty cells left", ylabel="boards whose surest cell is right (%)", ylim=(None, 101))
left.legend()
right.legend()
plt.show()

# %% [markdown]
# ## Network calls against boards
#
# Between one call and a call for each cell lies the option `sure`: with every call all cells are filled whose digit is
# at least so probable, and the surest one in any case. Calls are means over all puzzles, rules `none`, no completion; a
# board that ends in a contradiction needs fewer calls than one that is solved.

# %%
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
print(f"{'':13}{'decoding':>20}{'boards right':>14}{'network calls':>15}")
for number, (name, network) in enumerate(networks.items()):
    runs = {"all at once": found[name, "one-shot, rules none"]}
    for sure in thresholds:
        options = {"solver": "iterative", "rules": "none", "complete": False}
        runs[f"sure {sure:.0%}"] = js.solve(puzzles, network=network, sure=sure, **options)
    runs["one cell a call"] = found[name, "cell by cell, rules none"]
    calls = [run.stats["network_calls"].mean() for run in runs.values()]
    boards = [100 * (run.status == js.Status.SOLVED).mean() for run in runs.values()]
    axis.plot(calls, boards, "o-", label=name)
    for label, x, y in zip(runs, calls, boards, strict=True):
        print(f"{name:13}{label:>20}{y:13.1f}%{x:15.1f}")
        if number == len(networks) - 1:
            axis.annotate(label, (x, y), xytext=(0, 8), textcoords="offset points", ha="center", fontsize=9)
axis.set(
    xscale="log", xlabel="network calls per puzzle, mean", ylabel="boards right (%)", xlim=(0.6, 150), ylim=(-3, 109)
)
axis.legend()
plt.show()

# %% [markdown]
# ## Findings
#
# - **More boards are right one cell at a time than all at once; a network is nearly always right about its surest
#   cell.** All three networks are right in the surest cell of nine boards in ten or more, `house_resnet` and `cube` in
#   that of every board here. Of all empty cells they know half to four fifths, so a minimal board is hardly ever right
#   at once. Of the boards with 31 to 36 clues `house_resnet` has 88% right at once, `cube` 47%, `cell_cnn` none. Every
#   filled cell makes the next ones easier. In cells, `cell_cnn` is worse cell by cell on hard and extreme puzzles (44%
#   and 29%; at once 46% and 42%), as cells that are left when it has failed count as wrong.
# - **The cell CNN is for easy puzzles.** Of boards with 31 to 36 clues it solves more than four in five, of minimal
#   ones few, and none of the extreme ones. The source's 0.99 is for puzzles that naked singles alone solve.
# - **With kernels of houses, more layers, and minimal puzzles to learn from**, `house_resnet` solves all of the easy
#   minimal puzzles cell by cell, 84% of the medium and of the hard ones and 69% of the extreme ones, with a third of
#   the cell CNN's parameters. How much each of the three contributes is not separated here. No rule is applied; in
#   training a part of its positions were those that naked singles leave. The cell CNN learned from puzzles of 31 to 36
#   clues.
# - **Naked singles save `house_resnet` calls, not boards.** With this rule it is called 2 to 22 times on a board
#   instead of 47 to 57, as the rule fills the other cells. It solves two more of the 32 medium puzzles, and one fewer
#   of the extreme ones, which is within chance. `cube` solves three more of the hard ones (97%) and one more of the
#   extreme ones (94%), `cell_cnn` two more of the easy and of the medium ones each, and one fewer of the hard ones.
# - **Completion saves `house_resnet` and `cube` calls too.** If the board is also completed after each call,
#   `house_resnet` solves the same boards with 3 to 34 calls in the mean of a set instead of 47 to 57, and `cube` two
#   more of the hard ones with 6 to 64 instead of 48 to 109. It saves `cell_cnn` few but on the boards of 31 to 36 clues
#   (41 instead of 47). Cell by cell `house_resnet` takes one call a cell; `cube` takes 109 in the mean on the extreme
#   ones, for about 57 cells, as it is called again where it is not sure.
# - **`cube` solves more boards still**: 97%, 94% and 91% of the medium, hard and extreme ones, with completions. It
#   has a tenth of the parameters, but costs more for each call, and may be called several times on a position.
