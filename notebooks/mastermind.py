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
# # Mastermind by one search tree
#
# One side holds a secret code of coloured pegs. The other side guesses, and hears for each guess how many pegs are
# right, and how many more colours are in the code at another place. The source asked whether Monte-Carlo tree search
# can learn to guess well: it grows one tree from the start of the game by UCT with an exploration of sqrt 2, guesses
# only codes that may be the secret, keeps the tree, and trains it on during play. It draws the tree with visits and
# totals, and a histogram of the attempts with a normal curve; it claims no figure.
#
# Two questions are answered here: how the number of guesses falls with the number of simulations, and how far the
# best such tree is from the proven optimum. All means are over all secrets of the game.
# [docs/mastermind.md](../docs/mastermind.md) describes the players.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku.mastermind as mm

#: A small setting for a machine that only checks that all of it runs.
SMALL = os.environ.get("JAXSUDOKU_SMALL") == "1"

game = mm.PegGame(2, 3) if SMALL else mm.PegGame(4, 6)
print(f"{game}: {game.size:,} codes, {game.feedbacks} feedbacks")

# %% [markdown]
# ## What a guess tells
#
# A first guess splits the codes by the feedback that each would give. Exchanging pegs or colours makes no difference,
# so only a few first guesses are really different. The more even the parts, the more is learnt.

# %%
table = np.asarray(mm.feedback_table(game))
feedbacks = [game.feedback_text(number) for number in range(game.feedbacks)]
openings = ["11", "12"] if SMALL else ["1111", "1112", "1122", "1123", "1234"]
figure, axes = plt.subplots(1, len(openings), figsize=(11, 3.2), sharey=True, layout="constrained")
for panel, opening in zip(axes, openings, strict=True):
    parts = np.bincount(table[game.parse_code(opening)], minlength=game.feedbacks)
    shares = parts[parts > 0] / game.size
    panel.bar(feedbacks, parts, label="codes")
    panel.tick_params(axis="x", rotation=90, labelsize=8)
    panel.set_title(f"{opening}: {len(shares)} parts,\n{-(shares * np.log2(shares)).sum():.2f} bits", fontsize=11)
axes[0].set_ylabel("codes")
figure.supxlabel("feedback: pegs right, colours elsewhere")
axes[-1].legend(loc="upper right", fontsize=8)
plt.show()

# %% [markdown]
# ## The tree
#
# A simulation draws a secret and plays against it: UCT in the tree, random codes that may be the secret beyond it. A
# guess stores its visits and the total of the guesses that the games took from there. First a game of two pegs and
# three colours, whose tree is soon complete; every line is a guess, and the indented lines are the positions after its
# feedbacks.

# %%
small_tree = mm.SearchTree(mm.PegGame(2, 3))
small_tree.train(2000)
print(small_tree.draw(guesses=3, width=2))

# %% [markdown]
# The same in the classic game of four pegs and six colours, after 10,000 simulations. The tree is saved, for later.

# %%
simulations = 200 if SMALL else 10_000
tree = mm.SearchTree(game)
tree.train(simulations)
saved = Path("persistent_uct.json")
tree.save(saved)
print(tree.draw(guesses=2, width=3))

# %% [markdown]
# ## Guesses by simulations
#
# The tree's most visited guess in each position is a complete strategy, and is played against all secrets. Each number
# of simulations is tried with three seeds. The second curve starts from the saved tree of 10,000 simulations and
# trains it during play: so many simulations more from each position that is played, before its guess is chosen.


# %%
def play(search_tree, name, during=0):
    """A report on the strategy of a search tree, over all secrets."""
    return mm.Report.of(mm.grow(game, search_tree.policy(during), player=name), name)


sizes = [50, 200] if SMALL else [100, 300, 1000, 3000, 10_000]
means = np.zeros((3, len(sizes)))
for seed, column in np.ndindex(means.shape):
    trained = mm.SearchTree(game, seed=seed)
    trained.train(sizes[column])
    means[seed, column] = play(trained, "persistent-uct").mean

extra = [10, 50] if SMALL else [10, 50, 200]
reports_during = [play(mm.SearchTree.load(saved), f"persistent-uct, {more} more", more) for more in extra]

random = mm.evaluate(game, "random", trees=20)
optimal = mm.build(game, "optimal")
for size, row in zip(sizes, means.T, strict=True):
    print(f"{size:>7,} simulations before play: {row.mean():.3f} guesses ({', '.join(f'{mean:.3f}' for mean in row)})")
for more, report in zip(extra, reports_during, strict=True):
    print(f"{simulations:>7,} before play, {more:>3} during play: {report.mean:.3f} guesses")
print(f"random codes that may be the secret: {random.mean:.3f}; optimum: {optimal.mean:.4f}")

# %%
figure, (before, during) = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
before.semilogx(sizes, means.mean(axis=0), marker="o", label="one tree, mean of 3 seeds")
before.fill_between(sizes, means.min(axis=0), means.max(axis=0), alpha=0.2, label="least to greatest")
before.set(xlabel="simulations before play", ylabel="guesses in the mean")
during.semilogx(
    extra,
    [report.mean for report in reports_during],
    marker="s",
    color="tab:orange",
    label=f"trained on, after {simulations:,}",
)
during.set(xlabel="simulations during play, for each guess")
for panel in (before, during):
    panel.axhline(random.mean, color="grey", linestyle="dotted", label="random")
    panel.axhline(optimal.mean, color="black", linestyle="dashed", label="optimum")
    panel.legend(fontsize=9)
plt.show()

# %% [markdown]
# ## Attempts
#
# The histogram of the attempts over all secrets, with the normal curve of the same mean and standard deviation.

# %%
trained = play(mm.SearchTree.load(saved), "persistent-uct")
reports = [random, trained, reports_during[-1]]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for number, (panel, report) in enumerate(zip(axes, reports, strict=True)):
    attempts, games = np.array(sorted(report.histogram.items())).T
    panel.bar(attempts, games / games.sum(), color=f"C{number}", alpha=0.6, label="games")
    x = np.linspace(0.5, 9.5, 200)
    curve = np.exp(-(((x - report.mean) / report.deviation) ** 2) / 2) / (report.deviation * np.sqrt(2 * np.pi))
    panel.plot(x, curve, "k", label=f"normal, {report.mean:.2f} ± {report.deviation:.2f}")
    panel.set(title=report.player, xlabel="attempts", xticks=range(1, 10))
    panel.legend(fontsize=8, loc="upper left")
    panel.set_ylim(0, 0.68)
axes[0].set_ylabel("share of games")
plt.show()

# %% [markdown]
# ## Games won
#
# A game is won if the secret is found within 10 guesses. That is easy for every player that guesses only codes that
# fit, so the shares are shown for fewer guesses too.

# %%
reports.append(mm.Report.of([optimal], "optimal"))
allowed = range(1, 11)
figure, axis = plt.subplots(figsize=(7, 4))
for report, marker in zip(reports, "o^sD", strict=True):
    axis.plot(allowed, [100 * report.won(number) for number in allowed], marker=marker, label=report.player)
    print(
        f"{report.player:24} won within 4: {report.won(4):6.1%}, within 5: {report.won(5):6.1%}, "
        f"within 6: {report.won(6):6.1%}, within 10: {report.won(10):6.1%}; at most {report.max}"
    )
axis.set(xlabel="guesses allowed", ylabel="games won (%)", xticks=allowed)
axis.legend()
plt.show()

# %% [markdown]
# ## A game in which the tree is trained on
#
# The saved tree plays one game. Before each guess it is trained on from the position that is being played, and it
# keeps what it learns.

# %%
tree = mm.SearchTree.load(saved)
saved.unlink()
secret = game.size * 2 // 3
maker = mm.CodeMaker(game, secret)
breaker = mm.CodeBreaker(game, tree.policy(during=extra[-1]))
print(f"secret {game.code_text(secret)}; tree of {tree.iterations:,} simulations, {len(tree):,} positions")
while not breaker.over:
    guess = breaker.guess()
    feedback = maker.answer(guess)
    breaker.update(guess, feedback)
    print(
        f"guess {game.code_text(guess)}: {game.feedback_text(feedback)}; codes left: {len(breaker.possible)}; "
        f"tree of {tree.iterations:,} simulations, {len(tree):,} positions"
    )

# %% [markdown]
# ## The distance from the optimum
#
# Branch and bound over whole strategies proves that no strategy needs fewer guesses. The player `mcts` of the library
# is tree search too, but it grows a tree for each position and may guess codes that cannot be the secret. `entropy`
# takes the code whose feedback tells most.

# %%
quick = {"simulations": 16, "width": 4} if SMALL else {}
reports[3:3] = [mm.evaluate(game, "entropy"), mm.evaluate(game, "mcts", **quick)]
excess = [100 * (report.mean / optimal.mean - 1) for report in reports]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.barh([report.player for report in reports], excess, label="above the optimum")
for place, report in enumerate(reports):
    axis.text(excess[place], place, f" {report.mean:.4f}", va="center")
axis.set(xlabel="guesses in the mean, above the optimum (%)", xlim=(0, 1.25 * max(excess)))
axis.invert_yaxis()
axis.legend(loc="lower right")
plt.show()
print(f"optimum: {int(optimal.attempts.sum()):,} guesses for {game.size:,} codes: {optimal.mean:.4f} each, ", end="")
print(f"{optimal.maximum} at most")

# %% [markdown]
# The beginning of the optimal strategy:

# %%
print(mm.draw_tree(optimal, guesses=2))

# %% [markdown]
# ## What was found
#
# - One tree that is trained before play alone does not play well. Three seeds need 4.7 to 4.9 guesses in the mean after
#   10,000 simulations, little fewer than after 100, and more than random codes that fit (about 4.65). The tree has
#   1,296 first guesses to try, so few simulations reach the positions after the second guess.
# - Training during play is worth more. With 200 simulations before each guess the tree (one seed) needs about 4.54
#   guesses, fewer than random codes; even 10 help.
# - Every player wins every game within 10 guesses, so this rate does not tell them apart. With 4 guesses allowed random
#   codes win about 41% of the games, and the optimal strategy about 58%.
# - The normal curve has the mean and the width of the histogram, but it is a rough picture: attempts are whole numbers,
#   and almost all games take 3 to 6.
# - The optimum is 4.3403 guesses. The tree that is trained on during play is about 5% above it, random codes about 7%.
#   Tree search with its own tree for each position is about 0.4% above.
