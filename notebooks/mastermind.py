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
# # Mastermind strategies
#
# One side holds a secret code of coloured pegs. The other side guesses, and gets feedback: how many pegs are right, and
# how many more colours are in the code at another place. How many guesses are needed in the mean, over all codes? This
# notebook builds strategies as trees: by random guesses, by Monte-Carlo tree search, by entropy, and the optimal one.
#
# [docs/mastermind.md](../docs/mastermind.md) describes the players and links their results.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku.mastermind as mm
from jaxsudoku.mastermind.lookahead import estimate

#: A small setting for a machine that only checks that all of it runs.
SMALL = os.environ.get("JAXSUDOKU_SMALL") == "1"

game = mm.Game(2, 3) if SMALL else mm.Game(4, 6)
print(f"{game}: {game.size:,} codes, {game.feedbacks} feedbacks")

# %% [markdown]
# ## The information in a guess
#
# At first all codes are possible. A first guess splits them by the feedback that each would give. Exchanging pegs or
# colours makes no difference, so only a few first guesses are really different.

# %%
table = np.asarray(mm.feedback_table(game))
heard = [mm.feedback_text(game, number) for number in range(game.feedbacks)]
openings = ["11", "12"] if SMALL else ["1111", "1112", "1122", "1123", "1234"]
figure, axes = plt.subplots(1, len(openings), figsize=(3 * len(openings), 3), sharey=True, layout="constrained")
for panel, opening in zip(axes, openings, strict=True):
    parts = np.bincount(table[mm.parse_code(game, opening)], minlength=game.feedbacks)
    shares = parts[parts > 0] / game.size
    panel.bar(heard, parts)
    panel.tick_params(axis="x", rotation=90)
    panel.set_title(f"{opening}: {(parts > 0).sum()} parts, {-(shares * np.log2(shares)).sum():.2f} bits")
axes[0].set_ylabel("codes")
plt.show()

# %% [markdown]
# ## A strategy is a tree
#
# A player chooses a guess for every position, that is for a set of codes that are still possible. Its choices form a
# tree: the first guess, and the next guess after each feedback. The tree is built level by level, all positions of a
# level at once. Here is the beginning of the optimal tree: branch and bound over whole strategies proves that no other
# needs fewer guesses in the mean.

# %%
best = mm.build(game, "optimal")
print(mm.draw_tree(best, guesses=2))
print(f"\n{int(best.attempts.sum()):,} guesses for {game.size:,} codes: {best.mean:.4f} each, {best.maximum} at most")

# %% [markdown]
# The tree is the complete strategy. It can be saved to a file, and replayed against every code without any search:

# %%
path = Path("optimal.json")
mm.save_tree(best, path)
again = mm.load_tree(path)
path.unlink()
attempts, _ = mm.replay(again, game.codes)
assert (attempts == best.attempts).all()

# %% [markdown]
# ## Monte-Carlo tree search
#
# Monte-Carlo tree search uses no entropies: it plays random games. With more games its guesses get better.

# %%
budgets = [8, 16] if SMALL else [60, 125, 250, 500, 1000, 2000, 4000]
width = 4 if SMALL else 10
means = [mm.evaluate(game, "mcts", simulations=budget, width=width).mean for budget in budgets]
random = mm.evaluate(game, "random", trees=20)
plt.semilogx(budgets, means, marker="o", label="tree search")
plt.axhline(random.mean, color="grey", linestyle="dotted", label="random codes that fit")
plt.axhline(best.mean, color="grey", linestyle="dashed", label="optimum")
plt.xlabel("simulations for a guess")
plt.ylabel("guesses in the mean")
plt.legend()
plt.show()

# %% [markdown]
# ## Comparison of players

# %%
quick = {"simulations": 16, "width": 4} if SMALL else {}
reports = [
    random,
    mm.evaluate(game, "minimax"),
    mm.evaluate(game, "entropy"),
    mm.evaluate(game, "mcts", **quick),
    mm.evaluate(game, "lookahead"),
    mm.Report.of([best], "optimal"),
]
print(mm.table(reports))
mm.plot(reports, "players.png")
Path("players.png").unlink()

# %%
guesses = np.arange(1, max(report.max for report in reports) + 1)
for report in reports:
    games = np.array([report.histogram.get(number, 0) for number in guesses.tolist()])
    plt.plot(guesses, games / games.sum(), marker="o", label=f"{report.player}, {report.mean:.4f}")
plt.xticks(guesses)
plt.xlabel("guesses")
plt.ylabel("share of games")
plt.legend()
plt.show()

# %% [markdown]
# ## The cost of a position
#
# The number of guesses for a position of n codes, from the nodes of the optimal tree. The line is the estimate that
# `lookahead` uses for positions that it does not search.

# %%
plt.semilogx(best.codes, best.remaining, ".", alpha=0.4, label="positions of the best tree")
sizes = np.arange(1, game.size + 1)
plt.semilogx(sizes, estimate(game).by_size[1:] / estimate(game).bonus / sizes, label="estimate")
plt.xlabel("codes that are possible")
plt.ylabel("guesses in the mean")
plt.legend()
plt.show()
