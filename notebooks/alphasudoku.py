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
# # AlphaSudoku, batched
#
# The AlphaSudoku study applied tree search with a network to Sudoku. It compared backtracking, a network that fills
# one cell after another, Monte-Carlo tree search with rollouts, and PUCT with a network, one puzzle at a time. This
# notebook repeats the study with jaxsudoku, which searches many puzzles at once:
#
# 1. the outputs of the network for a position,
# 2. a search tree, and the proofs in it,
# 3. the share of solved puzzles by the number of grids.
#
# `benchmarks/study.py` does the same on whole puzzle sets.

# %%
import os
from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku as js
from jaxsudoku import env
from jaxsudoku.solvers import tree
from jaxsudoku.solvers.tree import evaluators, policies

#: A small setting for a machine that only checks that all of it runs.
SMALL = os.environ.get("JAXSUDOKU_SMALL") == "1"

board = js.Board.classic()
network = js.load_network("cube", iterations=4 if SMALL else 32)
puzzles = np.asarray(js.load("9x9-hard"))[: 8 if SMALL else 128]

# %% [markdown]
# ## Outputs of the network
#
# A position is the set of candidates that the rules leave in every cell. For each open cell the network gives the
# probability of each digit, and for the position the probability that it has a solution. Here the rules are naked and
# hidden singles, and the puzzle is the first one that they leave open. The larger a digit is drawn, the higher its
# probability.

# %%
rules = "singles"
root = jax.jit(partial(env.init, board=board, rules=rules))(puzzles)
number = int(np.flatnonzero(~np.asarray(root.terminated))[0])
seen = np.asarray(env.observe(root, board))[number]
thought = network(seen[None])
policy = np.asarray(jax.nn.softmax(thought.policy[0], axis=0))
belief = float(jax.nn.sigmoid(thought.value[0]))


def draw_policy(axis, givens, seen, policy):
    side = board.side
    for line in range(side + 1):
        width = 2 if line % 3 == 0 else 0.5
        axis.plot([0, side], [line, line], "k", lw=width)
        axis.plot([line, line], [0, side], "k", lw=width)
    for cell in range(board.cells):
        row, column = divmod(cell, side)
        digits = np.flatnonzero(seen[:, cell])
        if len(digits) == 1:
            color = "k" if givens[cell] else "tab:blue"
            axis.text(column + 0.5, row + 0.5, digits[0] + 1, ha="center", va="center", fontsize=18, color=color)
            continue
        for digit in digits:
            likely = policy[digit, cell]
            x, y = column + (digit % 3 + 0.5) / 3, row + (digit // 3 + 0.5) / 3
            axis.text(x, y, digit + 1, ha="center", va="center", fontsize=4 + 9 * likely, alpha=0.25 + 0.75 * likely)
    axis.set(xlim=(0, side), ylim=(side, 0), aspect="equal")
    axis.axis("off")


figure, axis = plt.subplots(figsize=(6, 6))
draw_policy(axis, puzzles[number], seen, policy)
axis.set_title(f"after singles; solvable with probability {belief:.2f}")
plt.show()

# %% [markdown]
# ## A search tree
#
# Gumbel MuZero search chooses a cell with fewest candidates; among these the one that the network is least sure about,
# because it is decided soonest. It tries the digits of this cell, the most probable first. Every node is a position
# after the rules. The move to a position that the rules refute is not tried again. A position whose moves are
# all refuted is refuted as well; this is a proof, and it is propagated to the root. Below, nodes are coloured by the
# network's value; refuted ones are crossed out, and a solution is a star.

# %%
config = tree.GumbelConfig(simulations=8 if SMALL else 24, rules=rules)
evaluate = evaluators.by_network(board, config, network)
think = policies.gumbel(board, config, evaluate)


@jax.jit
def grow(params, puzzles):
    seeds = jnp.arange(len(puzzles), dtype=jnp.uint32)
    return think(params, evaluate(params, env.init(puzzles, board, rules), seeds), seeds)


tree = jax.tree.map(np.asarray, grow(network.params, puzzles[[number]]).tree)


def draw_tree(axis, tree, lane=0):
    """The tree's nodes, one level below the other, each over the middle of what is below it."""
    children, node = tree.children_index[lane], tree.embeddings
    reached = np.flatnonzero(np.r_[True, tree.parents[lane][1:] >= 0])
    places, leaves = {}, iter(range(len(reached)))

    def place(index, depth):
        below = [(digit, child) for digit, child in enumerate(children[index]) if child >= 0]
        xs = [place(child, depth + 1) for _, child in below]
        places[index] = (np.mean(xs) if xs else next(leaves), depth)
        for (digit, _), x in zip(below, xs, strict=True):
            axis.plot([places[index][0], x], [depth, depth + 1], "0.7", zorder=0)
            axis.text((places[index][0] + x) / 2, depth + 0.5, digit + 1, fontsize=8)
        return places[index][0]

    place(0, 0)
    order = sorted(places)
    x, y = np.array([places[index] for index in order]).T
    refuted, solved = node.state.refuted[lane][order], node.state.solved[lane][order]
    shown = axis.scatter(x, y, c=tree.raw_values[lane][order], vmin=0, vmax=1, cmap="viridis", s=120)
    axis.scatter(x[refuted], y[refuted], marker="x", color="tab:red", s=80)
    axis.scatter(x[solved], y[solved], marker="*", color="tab:orange", s=300)
    axis.invert_yaxis()
    axis.axis("off")
    return shown


figure, axis = plt.subplots(figsize=(9, 6))
figure.colorbar(draw_tree(axis, tree), label="solvable, as the network sees it")
axis.set_title(f"{config.simulations} simulations at most")
plt.show()

# %% [markdown]
# ## Solved share by grids
#
# Between two searches the root moves down its tree. Undecided moves go on a stack, and a root that is refuted is
# replaced by the top of the stack. So no puzzle is lost by an early wrong move, and searches differ in the number of
# grids that they need. As in the study, an iteration is one grid: a root, a node of a tree, or a step of a rollout.

# %%
contenders = {
    "gumbel": {"solver": "gumbel", "network": network},
    "alphasudoku": {"solver": "alphasudoku", "network": network},
    "alphasudoku, uniform prior": {"solver": "alphasudoku", "network": network, "prior": "uniform", "cell": "fewest"},
    "mcts with rollouts": {"solver": "mcts"},
}
if SMALL:  # each takes long to compile
    contenders = {"gumbel": contenders["gumbel"]}
budget = 200 if SMALL else 2000
found = {name: js.solve(puzzles, rules=rules, budget=budget, **options) for name, options in contenders.items()}

figure, axis = plt.subplots(figsize=(8, 5))
for name, solution in found.items():
    solved = solution.status == js.Status.SOLVED
    spent = np.sort(solution.iterations[solved])
    axis.step(
        [1, *spent, budget], [0, *np.arange(1, len(spent) + 1) / len(puzzles), solved.mean()], where="post", label=name
    )
    print(
        f"{name:28} solved {solved.mean():6.1%}, iterations: median {np.median(solution.iterations):,.0f}, "
        f"mean {solution.iterations.mean():,.1f}"
    )
axis.set(xscale="log", xlabel="iterations", ylabel="solved", ylim=(0, 1.02))
axis.legend()
plt.show()

# %% [markdown]
# ## Simulations
#
# More simulations before the root moves give better moves, but cost more grids if the first choice was right already.

# %%
for simulations in (256,) if SMALL else (1, 4, 16, 64, 256):
    solution = js.solve(puzzles, solver="gumbel", network=network, rules=rules, simulations=simulations, budget=budget)
    calls = solution.stats["network_calls"].mean()
    print(
        f"{simulations:4} simulations: solved {(solution.status == js.Status.SOLVED).mean():6.1%}, "
        f"iterations {solution.iterations.mean():7.1f}, calls {calls:7.1f}"
    )
