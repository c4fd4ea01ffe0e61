"""Checks a certificate of a lower bound in Mastermind, by numpy alone: ``python mastermind_checker.py FILE``.

Nothing of jaxsudoku is used. A certificate has claims: a position, which is a set of codes, and a lower bound of the
guesses that any strategy takes for all its codes together. A claim is right if for every guess the size of the position
and the bounds of the parts that the feedback leaves add up to the claimed bound or more. A part's bound is that of a
claim about it, under some exchange of the pegs and of the colours, or else the least total of its size. A guess that
leaves the position whole can be left out: the strategy without it is better.

Which exchange is tried does not matter for the truth of a claim, as all of them keep feedback. The one that the file
expects sorts pegs and colours by hashes; see ``relabelled``.
"""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np


class WrongCertificateError(ValueError):
    """A claim that does not follow."""


def check(path):
    """(the fields of the game, the claimed bound of all strategies, the number of claims) of a certificate.

    Raises WrongCertificateError if a claim does not follow from the others, or no claim is about all codes.
    """
    with np.load(path, allow_pickle=False) as file:
        card = json.loads(file["card"].tobytes())
        codes, sizes, bounds = (file[name].astype(np.int64) for name in ("codes", "sizes", "bounds"))
    game = card["game"]
    everything = all_codes(game)
    table = feedback_table(game, everything)
    least = least_totals(len(everything), table.max() + 1)
    ends = np.cumsum(sizes)
    positions = [codes[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    claims = {}
    for position, bound in zip(positions, bounds.tolist(), strict=True):
        if not len(position) or (np.diff(position) <= 0).any() or position[0] < 0 or position[-1] >= len(everything):
            raise WrongCertificateError("a position is no set of codes")
        claims[position.tobytes()] = max(bound, claims.get(position.tobytes(), 0))
    for position, bound in zip(positions, bounds.tolist(), strict=True):
        check_claim(game, everything, table, least, claims, position, bound)
    total = claims.get(np.arange(len(everything)).tobytes())
    if total is None:
        raise WrongCertificateError("no claim is about all codes")
    return game, total, len(positions)


def check_claim(game, everything, table, least, claims, position, bound):
    """Raises WrongCertificateError unless a claim follows from those about smaller positions."""
    win = table.max()
    heard = table[:, position]
    kinds = win + 1
    counts = np.bincount((heard + kinds * np.arange(len(table))[:, None]).ravel(), minlength=kinds * len(table))
    counts = counts.reshape(len(table), kinds)
    costs = least[counts]
    costs[:, win] = 0
    totals = len(position) + costs.sum(axis=1)
    whole = counts.max(axis=1) == len(position)
    whole &= counts[:, win] != len(position)  # the only code, found by the guess
    (guesses,) = np.nonzero((totals < bound) & ~whole)
    if not len(guesses):
        return
    # the parts of all of these guesses, one after another
    keys = heard[guesses] + kinds * np.arange(len(guesses))[:, None]
    order = np.argsort(keys, axis=1, kind="stable")
    keys, members = np.take_along_axis(keys, order, axis=1).ravel(), position[order].ravel()
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    owners, feedbacks = np.divmod(keys[starts], kinds)
    sizes = np.diff([*starts, len(keys)])
    images = relabelled(game, everything, members, sizes)
    shown = np.full(len(guesses), len(position))
    for owner, feedback, start, size in zip(owners, feedbacks, starts, sizes, strict=True):
        if feedback != win:
            shown[owner] += max(int(least[size]), claims.get(images[start : start + size].tobytes(), 0))
    if (shown < bound).any():
        guess = int(np.argmax(shown < bound))
        raise WrongCertificateError(
            f"of a position of {len(position)} codes {bound} guesses are claimed; "
            f"with the guess {everything[guesses[guess]].tolist()} {shown[guess]} are shown"
        )


def all_codes(game):
    """All codes, int[n, pegs], in lexicographic order."""
    rows = itertools.product(range(game["colours"]), repeat=game["pegs"])
    return np.array([row for row in rows if game["repeats"] or len(set(row)) == len(row)])


def feedback_table(game, codes):
    """A number for each feedback, int[guesses, secrets]; the highest is that of the secret itself."""
    exact = (codes[:, None] == codes[None]).sum(axis=2)
    if not game["elsewhere"]:
        return exact
    number = [(codes == colour).sum(axis=1) for colour in range(game["colours"])]
    common = sum(np.minimum(one[:, None], one[None]) for one in number)
    pair = exact * (game["pegs"] + 1) + common - exact
    return np.unique(pair, return_inverse=True)[1].reshape(pair.shape)


def least_totals(codes, feedbacks):
    """The least total of positions by their size: a guess finds one code, and leaves a part for each other feedback."""
    totals, found, guesses, guess = [0], 0, 1, 1
    while found < codes:
        for _ in range(min(guesses, codes - found)):
            totals.append(totals[-1] + guess)
        found, guesses, guess = found + guesses, guesses * (feedbacks - 1), guess + 1
    return np.array(totals[: codes + 1])


def relabelled(game, everything, members, sizes):
    """Positions, one after another, under an exchange of pegs and of colours for each.

    Each code, colour and peg of a position has a hash that does not depend on labels, made twice of those of its
    neighbours. Pegs and colours are sorted by their hashes, colours that are in no code last.
    """
    codes, pegs, colours = everything[members], game["pegs"], game["colours"]
    owner = np.repeat(np.arange(len(sizes)), sizes)[:, None]
    separate = game["repeats"] and not game["elsewhere"]  # then each peg's colours are exchanged for themselves
    space = np.arange(pegs) if separate else np.zeros(pegs, np.int64)
    repeats = np.ones(codes.shape, np.uint64)
    if not separate:
        repeats = (codes[:, :, None] == codes[:, None, :]).sum(axis=2).astype(np.uint64)
    odd = np.uint64(0x9E3779B97F4A7C15)
    colour_hash = np.zeros((len(sizes), space[-1] + 1, colours), np.uint64)
    peg_hash = np.zeros((len(sizes), pegs), np.uint64)
    colour_place, peg_place = (owner, space, codes), (owner, np.arange(pegs))
    for _ in range(2):
        here = mixed(colour_hash[colour_place] + odd * peg_hash[peg_place] + repeats)
        told = mixed(mixed(here.sum(axis=1, dtype=np.uint64))[:, None] + here)
        colour_sums, peg_sums = np.zeros_like(colour_hash), np.zeros_like(peg_hash)
        np.add.at(colour_sums, colour_place, told)
        np.add.at(peg_sums, peg_place, told)
        colour_hash, peg_hash = mixed(odd * colour_hash + colour_sums), mixed(odd * peg_hash + peg_sums)
    absent = np.ones(colour_hash.shape, bool)
    absent[colour_place] = False
    colour_hash[absent] = np.iinfo(np.uint64).max
    rank = np.argsort(np.argsort(colour_hash, axis=2, kind="stable"), axis=2)
    image = np.take_along_axis(rank[colour_place], np.argsort(peg_hash, axis=1, kind="stable")[owner[:, 0]], axis=1)
    weights = colours ** np.arange(pegs - 1, -1, -1)
    numbers = np.searchsorted(everything @ weights, image @ weights)
    return np.sort(owner[:, 0] * len(everything) + numbers) % len(everything)


def mixed(values):
    """A hash below 2^40 of each number."""
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return ((values ^ (values >> np.uint64(29))) * np.uint64(0xC2B2AE3D27D4EB4F)) >> np.uint64(24)


if __name__ == "__main__":
    print("{}: no strategy takes fewer than {} guesses; {} claims are right".format(*check(sys.argv[1])))
