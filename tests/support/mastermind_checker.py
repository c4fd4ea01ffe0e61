"""Checks a certificate of a lower bound in Mastermind, by numpy alone: ``python mastermind_checker.py FILE``.

Nothing of jaxsudoku is used. A certificate has claims: a position, which is a set of codes, and a lower bound of the
guesses that any strategy takes for all its codes together. A claim is right if for every guess the size of the position
and the bounds of the parts that the feedback leaves add up to the claimed bound or more. A part's bound is that of a
claim about it, under some exchange of the pegs and of the colours, or else the least total of its size, or that of the
most parts into which any guess splits it: the first code of each takes one guess or more, and each other code two.

Two kinds of guesses are left out. A guess that leaves the position whole: the strategy without it is better. And a
guess that an exchange of two pegs, of two colours, or of both turns into another one, where the exchange keeps the
position: the parts are equivalent.

Which exchange is tried for a part does not matter for the truth of a claim, as all of them keep feedback. The one that
the file expects sorts pegs and colours by hashes; see ``relabelled``.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import sys
import time
import zipfile

import numpy as np

#: Codes of positions, one for each guess, that are split together, and parts of a guess that are looked up together.
TOGETHER, AT_ONCE = 1 << 15, 4

#: Bounds of parts without a claim that are kept.
KEPT = 1 << 22

#: Known versions of the file. The first two have the codes of positions; in the third a position is its first code and
#: the differences of its ascending codes.
VERSIONS = 1, 2, 3

#: With more pegs a pair of counts does not fit into a byte.
MOST_PEGS = 15

#: The most bytes of all arrays of a file, codes of a game, and rows of pegs of which these are some.
MOST_BYTES, MOST_CODES, MOST_ROWS = 1 << 32, 1 << 17, 1 << 24

#: An odd factor of hashes.
ODD = np.uint64(0x9E3779B97F4A7C15)


class WrongCertificateError(ValueError):
    """A claim that does not follow."""


def check(path, progress=lambda text: None):
    """(the fields of the game, the claimed bound of all strategies, the number of claims) of a certificate.

    Raises WrongCertificateError, which names the file, if it is something else, a claim does not follow from the
    others, or no claim is about all codes; and OSError if the file can't be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return check_data(data, progress)
    except WrongCertificateError as error:
        raise WrongCertificateError(f"{path}: {error}") from error


def check_data(data, progress):
    """``check`` of the bytes of a file."""
    try:
        card, steps, codes, sizes, bounds = read(data)
        game = Game(card["game"])
    except Exception as error:  # damaged data leads zipfile, lzma, numpy and json to errors of many kinds
        raise WrongCertificateError(f"no certificate: {type(error).__name__}: {error}") from error
    ends = np.cumsum(sizes)
    if not (len(sizes) == len(bounds) and ((sizes > 0) & (sizes <= len(codes))).all() and sizes.sum() == len(codes)):
        raise WrongCertificateError("a position is no set of codes")
    if steps:
        sums = np.cumsum(codes)
        codes = sums - np.repeat(sums[ends - sizes] - codes[ends - sizes], sizes)
    ascending = np.diff(codes, prepend=-1) > 0
    ascending[ends - sizes] = True
    if not (ascending & (codes >= 0) & (codes < len(game.codes))).all():
        raise WrongCertificateError("a position is no set of codes")
    codes = codes.astype(game.kind)
    positions = [codes[start:end] for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]
    claims, known = {}, {}
    for position, bound in zip(positions, bounds.tolist(), strict=True):
        claims[position.tobytes()] = max(bound, claims.get(position.tobytes(), 0))
    waiting, number = [], 0
    for index, (position, bound) in enumerate(zip(positions, bounds.tolist(), strict=True)):
        guesses = game.open_guesses(position, bound)
        for some in np.array_split(guesses, -(-len(guesses) * len(position) // TOGETHER)) if len(guesses) else ():
            waiting.append((position, bound, some))
            number += len(some) * len(position)
            if number >= TOGETHER:
                check_guesses(game, claims, known, waiting)
                waiting, number = [], 0
        if index % 1000 == 0:
            progress(f"{index:,} of {len(positions):,} claims, {len(position)} codes")
    check_guesses(game, claims, known, waiting)
    total = claims.get(np.arange(len(game.codes), dtype=game.kind).tobytes())
    if total is None:
        raise WrongCertificateError("no claim is about all codes")
    if total != card["total"]:
        raise WrongCertificateError(f"the file is of {card['total']} guesses, and {total} are claimed")
    return card["game"], total, len(positions)


def read(data):
    """(the card, whether positions are given as steps, these or codes int64[n], sizes int64[m], bounds int64[m])."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES} bytes")

        def array(name):
            found = np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
            if found.ndim != 1 or found.dtype.kind not in "iu":
                raise ValueError(f"{name} is no list of whole numbers")
            return found

        card = json.loads(array("card").tobytes())
        if card["certificate"] not in VERSIONS or card["game"]["kind"] != "pegs":
            raise ValueError("not of a game of pegs, or of an unknown version")
        if type(card["total"]) is not int:
            raise ValueError(f"the total {card['total']!r} is no whole number")
        steps = card["certificate"] > 2
        names = "steps" if steps else "codes", "sizes", "bounds"
        return card, steps, *(array(name).astype(np.int64) for name in names)


def check_guesses(game, claims, known, waiting):
    """Raises WrongCertificateError unless the bounds of parts exclude guesses.

    ``waiting`` has (position, claimed bound, guesses). The parts are looked up from the smallest on, until they are
    enough. ``known`` keeps the bounds of those without a claim.
    """
    if not waiting:
        return
    length = np.concatenate([np.full(len(guesses), len(position)) for position, _, guesses in waiting])
    bound = np.concatenate([np.full(len(guesses), bound) for _, bound, guesses in waiting])
    asked = np.concatenate([guesses for _, _, guesses in waiting])
    heard = np.concatenate([game.table[guesses][:, position].ravel() for position, _, guesses in waiting])
    members = np.concatenate([np.tile(position, len(guesses)) for position, _, guesses in waiting])
    # the parts of all guesses, one after another
    keys = heard + (game.win + 1) * np.repeat(np.arange(len(asked)), length)
    order = np.argsort(keys, kind="stable")
    keys, members = keys[order], members[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    sizes = np.diff(starts, append=len(keys))
    owner, feedback = np.divmod(keys[starts], game.win + 1)
    shown = length.copy()
    np.add.at(shown, owner, np.where(feedback == game.win, 0, game.least[sizes]))
    (left,) = np.nonzero((feedback != game.win) & (sizes > 2))
    left = left[np.lexsort((sizes[left], owner[left]))]
    while True:
        left = left[shown[owner[left]] < bound[owner[left]]]
        if not len(left):
            break
        turn = np.arange(len(left)) - np.searchsorted(owner[left], owner[left])
        now, left = left[turn < AT_ONCE], left[turn >= AT_ONCE]
        bounds = np.cumsum(sizes[now])
        places = np.arange(bounds[-1]) + np.repeat(starts[now] - bounds + sizes[now], sizes[now])
        images = game.relabelled(members[places], sizes[now])
        for part, size, end in zip(now.tolist(), sizes[now].tolist(), bounds.tolist(), strict=True):
            if shown[owner[part]] >= bound[owner[part]]:
                continue
            image = images[end - size : end]
            key = image.tobytes()
            least = claims.get(key) or known.get(key)
            if least is None:
                least = known[key] = int(game.bounds_by_parts(image).min())
            shown[owner[part]] += max(least - int(game.least[size]), 0)
    if len(known) > KEPT:
        known.clear()
    if (shown < bound).any():
        wrong = int(np.argmax(shown < bound))
        raise WrongCertificateError(
            f"of a position of {length[wrong]} codes {bound[wrong]} guesses are claimed; "
            f"with the guess {game.codes[asked[wrong]].tolist()} {shown[wrong]} are shown"
        )


class Game:
    """The rules of a game of pegs, and tables of them.

    Attributes:
      codes: int[n, pegs], all codes, in lexicographic order.
      table: uint8[guesses, secrets], a number for each feedback; the highest, ``win``, is that of the secret itself.
      bits: [secrets, guesses], a bit for each feedback.
      least: int[n + 1], the least total of positions by their size: a guess finds one code, and leaves a part for each
        other feedback.
      exchanges: [k, n], the images of all codes under an exchange of two colours, of two pegs, or of both.
    """

    def __init__(self, fields):
        self.pegs, self.colours = fields["pegs"], fields["colours"]
        repeats, elsewhere = fields["repeats"], fields["elsewhere"]
        if [type(field) for field in (self.pegs, self.colours, repeats, elsewhere)] != [int, int, bool, bool]:
            raise ValueError("pegs and colours are numbers, repeats and elsewhere true or false")
        if not 1 <= self.pegs <= MOST_PEGS:
            raise ValueError(f"from 1 to {MOST_PEGS} pegs can be checked, not {self.pegs}")
        if not 1 <= self.colours <= 255 or self.colours**self.pegs > MOST_ROWS:
            raise ValueError(f"{self.pegs} pegs of {self.colours} colours can't be checked")
        codes = self.colours**self.pegs if repeats else math.perm(self.colours, self.pegs)
        if not 1 <= codes <= MOST_CODES:
            raise ValueError(f"from 1 to {MOST_CODES} codes can be checked, not {codes}")
        rows = itertools.product(range(self.colours), repeat=self.pegs)
        self.codes = np.array([row for row in rows if repeats or len(set(row)) == len(row)])
        self.weights = self.colours ** np.arange(self.pegs - 1, -1, -1)
        self.places = np.zeros(self.colours**self.pegs, np.int64)
        self.places[self.codes @ self.weights] = np.arange(len(self.codes))
        self.table = feedback_table(self.codes, self.colours, elsewhere)
        self.win = int(self.table.max())
        if self.win > 63:  # a feedback is a bit of a word
            raise ValueError("more than 64 feedbacks")
        self.kind = np.uint16 if len(self.codes) <= 1 << 16 else np.uint32
        kind = np.uint16 if self.win < 16 else np.uint32 if self.win < 32 else np.uint64
        self.bits = (kind(1) << self.table.T.astype(kind)).copy()
        self.least = least_totals(len(self.codes), self.win + 1)
        self.exchanges = np.array(
            [
                self.numbers(colours[self.codes[:, pegs]])
                for colours in (np.arange(self.colours), *swaps(self.colours))
                for pegs in (np.arange(self.pegs), *swaps(self.pegs))
            ]
        )
        # for relabelled positions
        self.separate = repeats and not elsewhere  # then each peg's colours are exchanged for themselves
        self.repeated = np.ones(self.codes.shape, np.uint64)
        if not self.separate:
            self.repeated = (self.codes[:, :, None] == self.codes[:, None, :]).sum(axis=2).astype(np.uint64)

    def numbers(self, codes):
        """The numbers of codes, int[n, pegs]."""
        return self.places[codes @ self.weights]

    def open_guesses(self, position, bound):
        """The guesses that the least totals of the parts do not exclude."""
        (guesses,) = np.nonzero(self.bounds_by_parts(position) < bound)
        if len(guesses) > 1:
            guesses = guesses[self.first_equivalent(position)[guesses] == guesses]
        if not len(guesses):
            return guesses
        keys = self.table[guesses][:, position] + (self.win + 1) * np.arange(len(guesses))[:, None]
        counts = np.bincount(keys.ravel(), minlength=(self.win + 1) * len(guesses)).reshape(len(guesses), -1)
        return guesses[len(position) + self.least[counts[:, : self.win]].sum(axis=1) < bound]

    def bounds_by_parts(self, position):
        """A bound for each guess, from the number of parts; very high for those that leave the position whole."""
        union = np.bitwise_or.reduce(self.bits[position], axis=0)
        parts, won = np.bitwise_count(union), (union >> self.bits.dtype.type(self.win)).astype(np.uint8)
        bounds = 3 * len(position) - (parts + won).astype(np.int64)  # the winning part takes no guess more
        bounds[(parts == 1) & (won == 0)] = np.iinfo(np.int64).max
        return bounds

    def first_equivalent(self, position):
        """The first guess that each guess can be turned into by exchanges that keep a position."""
        inside = np.zeros(len(self.codes), bool)
        inside[position] = True
        keep = self.exchanges[inside[self.exchanges[:, position]].all(axis=1)]
        first, before = np.arange(len(self.codes)), None
        while before is None or (first != before).any():
            before = first
            for images in keep:
                first = np.minimum(first, first[images])
        return first

    def relabelled(self, members, sizes):
        """Positions, one after another, under an exchange of pegs and of colours for each.

        Each code, colour and peg of a position has a hash that does not depend on labels, made twice of those of its
        neighbours. Pegs and colours are sorted by their hashes, colours that are in no code last.
        """
        codes, pegs, number = self.codes[members], self.pegs, len(sizes)
        owner = np.repeat(np.arange(number), sizes)
        spaces = pegs if self.separate else 1
        colour_at = (owner[:, None] * spaces + np.arange(pegs) % spaces) * self.colours + codes
        peg_at = owner[:, None] * pegs + np.arange(pegs)
        repeated = self.repeated[members]
        colour_hash, peg_hash = np.zeros(number * spaces * self.colours, np.uint64), np.zeros(number * pegs, np.uint64)
        for _ in range(2):
            here = mixed(colour_hash[colour_at] + ODD * peg_hash[peg_at] + repeated)
            told = mixed(mixed(here.sum(axis=1, dtype=np.uint64))[:, None] + here)
            colour_hash, peg_hash = ODD * colour_hash, ODD * peg_hash
            np.add.at(colour_hash, colour_at.ravel(), told.ravel())
            np.add.at(peg_hash, peg_at.ravel(), told.ravel())
            colour_hash, peg_hash = mixed(colour_hash), mixed(peg_hash)
        absent = np.ones(len(colour_hash), bool)
        absent[colour_at] = False
        colour_hash[absent] = np.iinfo(np.uint64).max
        order = np.argsort(colour_hash.reshape(-1, self.colours), axis=1, kind="stable")
        rank = np.argsort(order, axis=1).ravel()
        peg_order = np.argsort(peg_hash.reshape(number, pegs), axis=1, kind="stable")
        image = np.take_along_axis(rank[colour_at], peg_order[owner], axis=1)
        return (np.sort(owner * len(self.codes) + self.numbers(image)) % len(self.codes)).astype(self.kind)


def swaps(number):
    """The numbers below one with two of them exchanged, for each two."""
    for one, other in itertools.combinations(range(number), 2):
        swapped = np.arange(number)
        swapped[[one, other]] = other, one
        yield swapped


def feedback_table(codes, colours, elsewhere):
    """A number for each feedback, uint8[guesses, secrets]; the highest is that of the secret itself."""
    size, pegs = codes.shape
    exact, common = np.zeros((size, size), np.uint8), np.zeros((size, size), np.uint8)
    for peg in range(pegs):
        exact += codes[:, None, peg] == codes[None, :, peg]
    if not elsewhere:
        return exact
    for colour in range(colours):
        number = (codes == colour).sum(axis=1).astype(np.uint8)
        common += np.minimum(number[:, None], number[None])
    pair = exact * np.uint8(pegs) + common
    occurs = np.zeros(256, bool)
    occurs[pair] = True
    return (np.cumsum(occurs) - 1).astype(np.uint8)[pair]


def least_totals(codes, feedbacks):
    """The least total of positions by their size: a guess finds one code, and leaves a part for each other feedback."""
    totals, found, guesses, guess = [0], 0, 1, 1
    while found < codes:
        for _ in range(min(guesses, codes - found)):
            totals.append(totals[-1] + guess)
        found, guesses, guess = found + guesses, guesses * (feedbacks - 1), guess + 1
    return np.array(totals[: codes + 1])


def mixed(values):
    """A hash below 2^40 of each number."""
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return ((values ^ (values >> np.uint64(29))) * np.uint64(0xC2B2AE3D27D4EB4F)) >> np.uint64(24)


def main(path):
    """Checks a file, and says how far it is every ten seconds."""
    said = time.monotonic()

    def progress(text):
        nonlocal said
        if time.monotonic() > said + 10:
            said = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    print("{}: no strategy takes fewer than {} guesses; {} claims are right".format(*check(path, progress)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python mastermind_checker.py FILE")
    try:
        main(sys.argv[1])
    except WrongCertificateError as error:
        sys.exit(str(error))
