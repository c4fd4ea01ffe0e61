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
# # Mastermind, played as well as it can be played
#
# Someone holds a code of coloured pegs, you guess, and hear how many pegs are right and how many more have a colour
# that stands elsewhere. How many guesses does it take in the mean, over all codes? This notebook grows strategies as
# trees: by random guesses, by Monte-Carlo tree search, by information, and the one that no other can beat.
#
# [docs/mastermind.md](../docs/mastermind.md) tells how the players work and what they reach.

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
# ## What a guess tells
#
# All codes are possible at first. A first guess parts them by the feedback that they would give. Exchanging pegs or
# colours changes nothing, so only a few first guesses differ by more than names.

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
# A player chooses a guess for every position, a set of codes that are still possible. Grown level by level, all
# positions at once, its choices are a tree: what to guess first, and what after each feedback. Here is the beginning of
# the best one there is: branch and bound over whole strategies proves that none takes fewer guesses in the mean.

# %%
best = mm.build(game, "optimal")
print(mm.draw_tree(best, guesses=2))
print(f"\n{int(best.attempts.sum()):,} guesses for {game.size:,} codes: {best.mean:.4f} each, {best.maximum} at most")

# %% [markdown]
# The tree is all there is to a strategy. It is kept in a file, and replayed against every code without any search:

# %%
path = Path("optimal.json")
mm.save_tree(best, path)
again = mm.load_tree(path)
path.unlink()
attempts, _ = mm.replay(again, game.codes)
assert (attempts == best.attempts).all()

# %% [markdown]
# ## Growing by simulation
#
# Monte-Carlo tree search knows nothing of entropies: it plays random games. Its first guesses get better as it plays
# more of them.

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
# ## Side by side

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
# ## What a position is worth
#
# How many guesses does a position of n codes take? The nodes of the best tree tell. The line is the estimate by which
# `lookahead` judges what it does not look into.

# %%
plt.semilogx(best.codes, best.remaining, ".", alpha=0.4, label="positions of the best tree")
sizes = np.arange(1, game.size + 1)
plt.semilogx(sizes, estimate(game).by_size[1:] / estimate(game).bonus / sizes, label="estimate")
plt.xlabel("codes that are possible")
plt.ylabel("guesses in the mean")
plt.legend()
plt.show()
