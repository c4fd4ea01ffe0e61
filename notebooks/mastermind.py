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
# **What was found.** A search tree that is trained before play alone guesses worse than random codes that fit (4.7 to
# 4.9 guesses against 4.65); trained during play it needs 4.54, and the proven optimum is 4.34.
#
# ![Guesses by the number of simulations before and during play](../docs/images/notebooks/mastermind.png)
#
# One side holds a secret code of coloured pegs. The other side guesses, and is told for each guess how many pegs are
# right, and how many more colours are in the code at another place. The source asked whether Monte-Carlo tree search
# can learn to guess well: it grows one tree from the start of the game by UCT with an exploration of sqrt 2, guesses
# only codes that may be the secret, and keeps the tree. In play the tree is trained further only where it ends. A game
# has ten guesses at most. The source draws the whole tree of two pegs and three colours after 10,000 simulations, with
# unvisited nodes. Its code plays 1,000 random games, and plots a histogram, with a normal curve, of the attempts of
# games by the tree. It states no figure for the tree.
#
# Two questions are answered here: how the number of guesses falls with the number of simulations, and how far the best
# such tree is from the proven optimum. Means are over all secrets of the game. Only the 1,000 games with two pegs and
# three colours draw their secrets at random. [docs/mastermind.md](../docs/mastermind.md) describes the players.

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
import collections
import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jaxsudoku.mastermind as mm

# %% tags=["parameters"]
game = mm.PegGame(4, 6)
openings = ("1111", "1112", "1122", "1123", "1234")
small = mm.PegGame(2, 3)
small_simulations = 10_000
sizes = (100, 300, 1000, 3000, 10_000)  # simulations before play
extra = (10, 50, 200)  # simulations before each guess
by_tree_search = {}  # options of the player mcts

# %%
print(f"{game}: {game.size:,} codes, {game.feedbacks} feedbacks")

# %% [markdown]
# ## What a guess tells
#
# A first guess splits the codes by the feedback that each would give. Exchanging pegs or colours makes no difference,
# so only a few first guesses are really different. The more even the parts, the more is learnt.

# %%
table = np.asarray(mm.feedback_table(game))
feedbacks = [game.feedback_text(number) for number in range(game.feedbacks)]
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
# guess stores its visits and the total of the guesses that the games took from there. A feedback stores the simulations
# that got it; its frequency is the share of the codes that give it.
#
# First the game of two pegs and three colours, whose whole tree is drawn, as in the source: a line for each guess and,
# below it, for each feedback to it, the most visited ones first. Nodes with 0 visits are those that no simulation
# reached.

# %%
small_tree = mm.SearchTree(small)
small_tree.train(small_simulations)
print(small_tree.draw(guesses=small.size, width=small.size, unvisited=True))

# %% [markdown]
# The same as coloured pegs, the most visited nodes of the first two guesses. Full: pegs that are right; rings: colours
# elsewhere.

# %%
small_tree.picture(guesses=2, width=2)

# %% [markdown]
# ### 1,000 random games
#
# The source plays 1,000 games of random codes that may be the secret. Beside them are the games of the tree's most
# visited guesses, against the same 1,000 secrets, each with ten attempts at most.

# %%
rng = np.random.default_rng(0)
secrets = rng.integers(small.size, size=1000)
strategy = mm.grow(small, small_tree.policy())[0]


def random_game(secret):
    """The attempts of random codes that may be the secret."""
    maker = mm.CodeMaker(small, int(secret), attempts=10)
    while not maker.over:
        maker.answer(int(rng.choice(maker.possible)))
    assert maker.found
    return maker.guesses


def bars(panel, attempts, games, mean, deviation, color):
    """The shares of games by their attempts, with the normal curve of their moments."""
    panel.bar(attempts, games / games.sum(), color=color, alpha=0.6, label="games")
    x = np.linspace(0.5, attempts[-1] + 1.5, 200)
    curve = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    panel.plot(x, curve, "k", label=f"normal, {mean:.2f} ± {deviation:.2f}")
    panel.legend(fontsize=8, loc="upper left")


# %%
games = {"1,000 random games": [random_game(secret) for secret in secrets], "the tree": strategy.attempts[secrets]}
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), sharey=True, layout="constrained")
for number, (panel, (name, attempts)) in enumerate(zip(axes, games.items(), strict=True)):
    bars(panel, *np.unique(attempts, return_counts=True), np.mean(attempts), np.std(attempts), f"C{number}")
    panel.set(title=name, xlabel="attempts", xticks=range(1, 7), ylim=(0, 0.75))
    print(f"{name}: {np.mean(attempts):.3f} attempts in the mean, {max(attempts)} at most")
axes[0].set_ylabel("share of games")
plt.show()
print(f"the tree, all {small.size} secrets: {strategy.mean:.4f}; optimum: {mm.build(small, 'optimal').mean:.4f}")

# %% [markdown]
# ### The author's tree beside ours
#
# The author's tree differs in three ways: of guesses without a visit it takes the first one, not a random one; the
# first simulation of a guess ends in a rollout, where here it is the first one of a feedback; and **the feedback to a
# right guess has one more guess of the same code below it, so a secret that is found in the tree while other codes were
# possible is counted with one guess too many**. One that is found in a rollout is not, nor one that was the only code
# left. A tree is grown by these rules, with the total of the whole game stored for each guess; `twice` counts the
# guesses that are too many. In play the author's tree guesses by the bound, with its exploration; ours guesses by the
# visits.


# %%
def rollout(codes, guess, rng, table):
    """The guesses that random codes take from a guess on, its own included, against a random secret."""
    secret, made = int(rng.choice(codes)), 1
    while guess != secret:
        codes = codes[table[guess, codes] == table[guess, secret]]
        guess, made = int(rng.choice(codes)), made + 1
    return made


def bound(total, visits, parent):
    """The lower confidence bound of a mean number of guesses."""
    return total / visits - math.sqrt(2 * math.log(parent) / visits)


# %%
def descend(codes, table, rng, visits, totals, expanded):
    """The path to a node that is new or ends its game, and the codes that its feedbacks leave."""
    path = ()
    while True:
        below = [(*path, guess) for guess in codes.tolist()]
        new = [node for node in below if not visits[node]]
        bounds = [] if new else [bound(totals[node], visits[node], visits[path]) for node in below]
        path = new[0] if new else below[int(np.argmin(bounds))]
        if path not in expanded:
            return path, codes
        heard = int(table[path[-1], rng.choice(codes)])  # so that feedbacks have their frequencies
        codes, path = codes[table[path[-1], codes] == heard], (*path, heard)


# %%
def grow_as_author(game, simulations, rng):
    """(visits, totals, twice) of each node, by the guesses and feedbacks that lead to it."""
    table, expanded = np.asarray(mm.feedback_table(game)), set()
    visits, totals, twice = collections.Counter(), collections.Counter(), collections.Counter()
    for _ in range(simulations):
        path, codes = descend(np.arange(game.size), table, rng, visits, totals, expanded)
        guesses = (len(path) + 1) // 2
        if len(codes) > 1:
            expanded.add(path)
            guesses += rollout(codes, path[-1], rng, table) - 1
        for end in range(len(path) + 1):
            visits[path[:end]] += 1
            totals[path[:end]] += guesses
            twice[path[:end]] += len(path) > 2 and path[-2] == game.win
    return visits, totals, twice


# %%
visits, totals, twice = grow_as_author(small, small_simulations + 1, rng)
print(f"{visits[()]:,} simulations by the author's rules; the winning guess is counted twice in {twice[()]:,} of them")

# %% [markdown]
# Nodes that the text of the source shows, with their visits and the guesses of the whole games, the same nodes of a
# tree by its rules, and ours. After the right guess 11 the source has 13 visits and 26 guesses, two for a game of one.

# %%
source = {
    "11": (110, 329),
    "11, 2 0, 11": (13, 26),
    "11, 1 0, 12": (12, 36),
    "11, 1 0, 12, 2 0, 12": (6, 18),
    "11, 1 0, 12, 1 0, 13": (2, 6),
}


def ours(path):
    """The visits of a node of our tree, and the guesses of their whole games; None where the game is over."""
    answers = list(zip(path[:-1:2], path[1::2], strict=True))
    if any(feedback == small.win for _, feedback in answers):
        return None
    codes, visits, totals = small_tree.counts(answers)
    place = codes.tolist().index(path[-1])
    return int(visits[place]), int(totals[place] + visits[place] * len(answers))


# %%
print(f"{'guesses and feedbacks':22}{'in the source':>16}{'by its rules':>16}{'ours':>16}")
for name, shown in source.items():
    read = small.parse_code, small.parse_feedback
    path = tuple(read[place % 2](text) for place, text in enumerate(name.split(", ")))
    columns = [shown, (visits[path], totals[path]), ours(path)]
    texts = ["game over" if counts is None else f"{counts[0]}: {counts[1]}" for counts in columns]
    print(f"{name:22}" + "".join(f"{text:>16}" for text in texts))

# %%
codes, number, total = small_tree.counts()
names, places = [small.code_text(code) for code in codes.tolist()], np.arange(small.size)
author = np.array([(visits[(code,)], totals[(code,)], twice[(code,)]) for code in codes.tolist()])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.bar(places - 0.2, author[:, 0], 0.4, label="author's rules")
left.bar(places + 0.2, number, 0.4, label="ours")
left.set(xlabel="first guess", ylabel="visits", xticks=places, xticklabels=names)
right.plot(names, author[:, 1] / author[:, 0], "o", label="author's rules")
right.plot(names, (author[:, 1] - author[:, 2]) / author[:, 0], "x", label="the winning guess counted once")
right.plot(names, total / number, "s", fillstyle="none", label="ours")
right.set(xlabel="first guess", ylabel="guesses in the mean", ylim=(2.2, 3.4))
for panel in (left, right):
    panel.legend(fontsize=8)
plt.show()

# %% [markdown]
# ### The classic game
#
# The same in the classic game of four pegs and six colours, after 10,000 simulations. The tree is saved, for later.

# %%
simulations = sizes[-1]
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


means = np.zeros((3, len(sizes)))
for seed, column in np.ndindex(means.shape):
    trained = mm.SearchTree(game, seed=seed)
    trained.train(sizes[column])
    means[seed, column] = play(trained, "persistent-uct").mean

# %%
reports_during = [play(mm.SearchTree.load(saved), f"persistent-uct, {more} more", more) for more in extra]

random = mm.evaluate(game, "random", trees=20)
optimal = mm.build(game, "optimal")
for size, row in zip(sizes, means.T, strict=True):
    print(f"{size:>7,} simulations before play: {row.mean():.3f} guesses ({', '.join(f'{mean:.3f}' for mean in row)})")
for more, report in zip(extra, reports_during, strict=True):
    print(f"{simulations:>7,} before play, {more:>3} during play: {report.mean:.3f} guesses")
print(f"random codes that may be the secret: {random.mean:.3f}; optimum: {optimal.mean:.4f}")

# %% tags=["picture"]
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
# The histogram of the attempts over all secrets, with the normal curve of the same mean and standard deviation. Here
# and below the tree is that of the first seed, the best of the three.

# %%
trained = play(mm.SearchTree.load(saved), "persistent-uct")
reports = [random, trained, reports_during[-1]]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for number, (panel, report) in enumerate(zip(axes, reports, strict=True)):
    bars(panel, *np.array(sorted(report.histogram.items())).T, report.mean, report.deviation, f"C{number}")
    panel.set(title=report.player, xlabel="attempts", xticks=range(1, 10), ylim=(0, 0.68))
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
reports[3:3] = [mm.evaluate(game, "entropy"), mm.evaluate(game, "mcts", **by_tree_search)]
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
# ## Findings
#
# - With two pegs and three colours the tree of 10,000 simulations has a best strategy, 2.3333 guesses in the mean;
#   in 1,000 games against random secrets it took 2.332, random codes 2.468.
# - The author's tree counts the winning guess twice in about a third of its simulations. Counted once, the means of the
#   first guesses that it prefers, those of two colours, are within 0.03 of ours.
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
