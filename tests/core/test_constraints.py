"""Constraints: what each says and prunes, counts of solutions against enumeration, texts, and bad input."""

from __future__ import annotations

import functools
import io
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import constraints as c
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints.house_sums import with_house_sums
from jaxsudoku.core.constraints.sums import Sum
from jaxsudoku.core.constraints.texts import CONSTRAINTS, read
from jaxsudoku.core.host_rules import is_complete
from jaxsudoku.io import open_puzzles
from jaxsudoku.testing import check_constraint, plain

FOUR, SIX, NINE = Board.classic(4), Board.classic(6), Board.classic(9)
CELLS = r"r\d+c\d+"


def up(d):
    return all(x < y for x, y in itertools.pairwise(d))


def apart(d, least):
    return all(abs(x - y) >= least for x, y in itertools.combinations(d, 2))


def sandwiched(d, side):
    crusts = [place for place, digit in enumerate(d) if digit in (1, side)]
    return len(crusts) == 2 and sum(d[crusts[0] + 1 : crusts[1]])


def divided(d):
    """The largest digit divided by all others, if that is a whole number."""
    *others, largest = sorted(d)
    quotient, rest = divmod(largest, int(np.prod(others)))
    return None if rest else quotient


LINE = "r1c1 r1c2 r1c3 r1c4"
FIVE = f"{LINE} r2c4"
#: Constraints on small boards: text, side, cells if the text does not name them, and what it says of their digits.
CASES = [
    ("cage(8 r1c1 r1c2 r2c1)", 4, "", lambda d: sum(d) == 8 and apart(d, 1)),
    ("cage(r1c1 r1c2 r2c2)", 4, "", lambda d: apart(d, 1)),
    ("distinct(r1c1 r1c2 r2c2)", 4, "", lambda d: apart(d, 1)),
    ("sum(3 r1c1 -r1c2 2*r3c3)", 4, "", lambda d: d[0] - d[1] + 2 * d[2] == 3),
    ("little-killer(7 r1c1 r1c2 r3c3)", 4, "", lambda d: sum(d) == 7),
    ("arrow(r1c1, r1c2 r1c3)", 4, "", lambda d: d[0] == d[1] + d[2]),
    ("arrow(r1c1 r1c2, r2c2 r2c3 r2c4)", 4, "", lambda d: 10 * d[0] + d[1] == sum(d[2:])),
    (f"double-arrow({LINE})", 4, "", lambda d: d[0] + d[3] == d[1] + d[2]),
    ("calcudoku(5+ r1c1 r1c2)", 4, "", lambda d: sum(d) == 5),
    ("calcudoku(12* r1c1 r1c2 r1c3)", 6, "", lambda d: np.prod(d) == 12),
    ("calcudoku(1- r1c1 r1c2 r1c3)", 4, "", lambda d: 2 * max(d) - sum(d) == 1),
    ("calcudoku(2/ r1c1 r1c2 r1c3)", 4, "", lambda d: divided(d) == 2),
    ("thermometer(r1c1 r1c2 r1c3)", 4, "", up),
    ("futoshiki(r1c1 r1c2)", 4, "", up),
    ("slow-thermometer(r1c1 r1c2 r1c3)", 4, "", lambda d: list(d) == sorted(d)),
    ("equal(r1c1 r2c3)", 4, "", lambda d: d[0] == d[1]),
    ("clone(r1c1 r2c2, r3c3 r4c4)", 4, "", lambda d: d[:2] == d[2:]),
    ("different(r1c1 r2c3)", 4, "", lambda d: d[0] != d[1]),
    ("difference(2 r1c1 r1c2)", 4, "", lambda d: abs(d[0] - d[1]) == 2),
    ("white-dot(r1c1 r1c2)", 4, "", lambda d: abs(d[0] - d[1]) == 1),
    ("not-differing-by(1 r1c1 r1c2)", 4, "", lambda d: abs(d[0] - d[1]) != 1),
    ("ratio(3 r1c1 r1c2)", 4, "", lambda d: max(d) == 3 * min(d)),
    ("black-dot(r1c1 r1c2)", 4, "", lambda d: max(d) == 2 * min(d)),
    ("not-in-ratio(2 r1c1 r1c2)", 4, "", lambda d: max(d) != 2 * min(d)),
    ("adding-to(5 r1c1 r1c2)", 4, "", lambda d: sum(d) == 5),
    ("not-adding-to(5 r1c1 r1c2)", 4, "", lambda d: sum(d) != 5),
    ("multiplying-to(4 r1c1 r1c2)", 4, "", lambda d: np.prod(d) == 4),
    ("whispers(2 r1c1 r1c2 r1c3)", 4, "", lambda d: apart(d[:2], 2) and apart(d[1:], 2)),
    ("renban(r1c1 r1c2 r1c3)", 6, "", lambda d: apart(d, 1) and max(d) - min(d) == 2),
    ("nabner(r1c1 r1c2 r1c3)", 6, "", lambda d: apart(d, 2)),
    (f"palindrome({FIVE})", 4, "", lambda d: d == d[::-1]),
    (f"between({LINE})", 4, "", lambda d: all(min(d[0], d[3]) < x < max(d[0], d[3]) for x in d[1:3])),
    (f"lockout(2 {LINE})", 4, "", lambda d: apart((d[0], d[3]), 2) and not any(
        min(d[0], d[3]) <= x <= max(d[0], d[3]) for x in d[1:3])),
    ("region-sums(r1c1 r1c2, r1c3, r1c4 r2c4)", 4, "", lambda d: d[0] + d[1] == d[2] == d[3] + d[4]),
    (f"zipper({FIVE})", 4, "", lambda d: d[0] + d[4] == d[1] + d[3] == d[2]),
    ("entropic(r1c1 r1c2 r1c3 r1c4)", 6, "", lambda d: all(
        sorted((x - 1) // 2 for x in d[start : start + 3]) == [0, 1, 2] for start in (0, 1))),
    (f"modular({FIVE})", 4, "", lambda d: all(sorted(x % 3 for x in d[start : start + 3]) == [0, 1, 2]
                                              for start in range(3))),
    ("parity(r1c1 r1c2 r1c3)", 4, "", lambda d: d[0] % 2 != d[1] % 2 != d[2] % 2),
    ("odd(r1c1 r2c2)", 4, "", lambda d: all(x % 2 for x in d)),
    ("even(r1c1)", 4, "", lambda d: d[0] % 2 == 0),
    ("digits(1 3 4 r1c1 r1c2)", 4, "", lambda d: 2 not in d),
    ("minimum(r1c1)", 4, "r1c1 r1c2 r2c1", lambda d: d[0] < min(d[1:])),
    ("maximum(r2c2)", 4, "r2c2 r1c2 r2c1 r2c3 r3c2", lambda d: d[0] > max(d[1:])),
    ("quadruple(1 1 2 r1c1 r1c2 r2c1 r2c2)", 4, "", lambda d: d.count(1) >= 2 and 2 in d),
    ("quadruple(1 2 r1c1 r1c2)", 4, "", lambda d: set(d) == {1, 2}),
    (f"sandwich(5 {LINE})", 4, "", lambda d: apart(d, 1) and sandwiched(d, 4) == 5),
    (f"skyscraper(2 {LINE})", 4, "", lambda d: sum(x > max((0, *d[:at])) for at, x in enumerate(d)) == 2),
    (f"x-sum(6 {LINE})", 4, "", lambda d: sum(d[: d[0]]) == 6),
    (f"numbered-room(3 {LINE})", 4, "", lambda d: d[d[0] - 1] == 3),
    ("row-indexer(r2c3)", 4, "r1c3 r2c3 r3c3 r4c3", lambda d: d[d[1] - 1] == 2),
    ("column-indexer(r2c3)", 4, "r2c1 r2c2 r2c3 r2c4", lambda d: d[d[2] - 1] == 3),
    ("box-indexer(r2c3)", 4, "r1c3 r1c4 r2c3 r2c4", lambda d: d[d[2] - 1] == 3),
    (f"indexed(2 4 {LINE})", 4, "", lambda d: d[d[1] - 1] == 4),
]  # fmt: skip
#: Constraints that are not pruned exactly: the others remove every candidate that no filling uses.
INEXACT = (
    "cage",
    "distinct",
    "calcudoku",
    "nabner",
    "renban",
    "quadruple",
    "row-",
    "column-",
    "box-",
    "numbered",
    "ind",
    "sandwich",
)
WHOLE = {
    "anti-knight": lambda g: all(
        g[r][k] != g[r + 1][k + 2] and g[k][r] != g[k + 2][r + 1]
        and g[r][k + 2] != g[r + 1][k] and g[k + 2][r] != g[k][r + 1] for r in range(3) for k in range(2)
    ),
    "anti-king": lambda g: all(g[r][k] != g[r + 1][k + 1] and g[r][k + 1] != g[r + 1][k]
                               for r in range(3) for k in range(3)),
    "non-consecutive": lambda g: neighbours(g, lambda x, y: abs(x - y) != 1),
    "not-difference(2)": lambda g: neighbours(g, lambda x, y: abs(x - y) != 2),
    "not-ratio(3)": lambda g: neighbours(g, lambda x, y: x != 3 * y and y != 3 * x),
    "not-add-to(3 7)": lambda g: neighbours(g, lambda x, y: x + y not in (3, 7)),
}  # fmt: skip


def neighbours(g, related):
    rows = [*g, *zip(*g, strict=True)]
    return all(related(x, y) for row in rows for x, y in itertools.pairwise(row))


@functools.cache
def grids_of_four():
    """All 288 solved grids of the classic 4x4 board, uint8[288, 16]."""
    return np.array(plain.solutions(FOUR, [0] * 16, 1000), np.uint8)


def satisfying(grids, constraints, side):
    """The grids that satisfy constraints."""
    for one in constraints:
        digits = [grids[:, cell].astype(np.int32) for cell in one.cells]
        grids = grids[one.kind.holds(digits, one.numbers, side)]
    return grids


# ---------------------------------------------------------------------- what each says, and prunes


@pytest.mark.parametrize(("text", "side", "cells", "says"), CASES, ids=[case[0] for case in CASES])
def test_what_a_constraint_says(text, side, cells, says):
    board = Board.classic(side)
    made = read(text, board)
    names = dict.fromkeys(re.findall(CELLS, cells or text))
    numbers = [(int(name[1]) - 1) * side + int(name[3]) - 1 for name in names]
    fillings = np.array(list(itertools.product(range(1, side + 1), repeat=len(numbers))))
    grids = np.zeros((len(fillings), side**2), np.int32)
    grids[:, numbers] = fillings
    right = grids[[bool(says(tuple(filling))) for filling in fillings.tolist()]]
    assert 0 < len(right) < len(fillings)
    np.testing.assert_array_equal(satisfying(grids, made, side), right)


@pytest.mark.parametrize(("text", "side"), [case[:2] for case in CASES], ids=[case[0] for case in CASES])
def test_pruning(text, side):
    for one in read(text, Board.classic(side))[:1]:
        check_constraint(one, side, exact=not text.startswith(INEXACT))


@pytest.mark.slow
def test_pruning_on_wide_boards():
    for text in ("sandwich(9 {})", "x-sum(10 {})", "skyscraper(4 {})", "numbered-room(2 {})"):
        row = " ".join(f"r1c{column}" for column in range(1, 10))
        check_constraint(read(text.format(row), NINE)[0], 9)
    check_constraint(read("odd(r1c1)", Board.classic(25))[0], 25)
    check_constraint(read("calcudoku(524160* r1c1 r1c2 r1c3 r1c4 r1c5)", Board.classic(16))[0], 16)


@pytest.mark.parametrize("text", WHOLE)
def test_rules_of_the_whole_board(text):
    made = read(text, FOUR)
    rng = np.random.default_rng(0)
    grids = np.concatenate([grids_of_four(), rng.integers(1, 5, (2000, 16)).astype(np.uint8)])
    grids = np.concatenate([grids, np.tile([[1, 1, 1, 1]], (1, 4)), np.array([[1, 2, 1, 2, 3, 4, 3, 4] * 2])])
    right = grids[[WHOLE[text](grid.reshape(4, 4).astype(int).tolist()) for grid in grids]]
    np.testing.assert_array_equal(satisfying(grids, made, 4), right)
    except_one = read(text.replace(")", " r1c1 r1c2)"), FOUR) if "(" in text else made
    assert len(made) - len(except_one) == {"not-add-to(3 7)": 2}.get(text, int("(" in text))


def test_the_page_of_commands_has_all_texts():
    page = " ".join((Path(__file__).parents[2] / "docs" / "commands.md").read_text().split())
    for name, form in CONSTRAINTS.items():
        assert (f"`{name}({form.usage})`" if form.usage else f"`{name}`") in page


def test_every_text_is_tried():
    assert {case[0].split("(")[0] for case in CASES} | {text.split("(")[0] for text in WHOLE} == set(CONSTRAINTS)


def test_functions_make_what_texts_say():
    for made, text in [
        (c.killer([("r1c1 r1c2", 8), ("r2c1 r2c2", None)]), "cage(8 r1c1 r1c2)+cage(r2c1 r2c2)"),
        (c.kropki(["r1c1 r1c2"], [(9, 18)]), "white-dot(r1c1 r1c2)+black-dot(r2c1 r3c1)"),
        (c.xv(["r1c1 r1c2"], [(9, 18)]), "adding-to(10 r1c1 r1c2)+adding-to(5 r2c1 r3c1)"),
        (c.calcudoku([("r1c1", 7, "+"), ([1, 2], 3, "/")]), "sum(7 r1c1)+calcudoku(3/ r1c2 r1c3)"),
        (c.thermometer(range(3)), "thermometer(r1c1 r1c2 r1c3)"),
        (c.quadruple([0, 1, 9, 10], [3, 1]), "quadruple(1 3 r1c1 r1c2 r2c1 r2c2)"),
        (c.region_sums(["r1c1 r1c2", [27]]), "region-sums(r1c1 r1c2, r4c1)"),
        (c.anti_king() + c.not_add_to([5, 10], ["r1c1 r1c2"]), "anti-king+not-add-to(5 10 r1c1 r1c2)"),
    ]:
        assert Board.named(f"9+{text}") == NINE.with_(made)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("9+anti-knight", 8 * math.factorial(9)),
        ("9+anti-king+non-consecutive", 8),
        ("4+odd(r1c1)", 128 // 16),  # 128 rearrangements of the board without constraints, 16 cells
        (f"4+sandwich(2 {LINE})", 4),  # 128 / 8 leave a row, of them a quarter its order or reverse it
        (f"4+skyscraper(2 {LINE})", 2),
    ],
)
def test_symmetries_of_boards_with_constraints(name, order):
    assert js.symmetry.order(Board.named(name)) == order


def test_files_name_boards_with_constraints():
    name, empty = "4+anti-knight+odd(r1c1)", "." * 16
    for text in (f"puzzle,board\n{empty},{name}\n", f"# board: {name}\n{empty}\n"):
        with open_puzzles(io.BytesIO(text.encode())) as puzzles:
            assert puzzles.board == Board.named(name)


# ---------------------------------------------------------------------- counts of solutions


def of_line(rng, side, size):
    """A random walk over distinct cells."""
    walk = [int(rng.integers(side**2))]
    while len(walk) < size:
        row, column = divmod(walk[-1], side)
        steps = [(row + r, column + k) for r in (-1, 0, 1) for k in (-1, 0, 1)]
        steps = [r * side + k for r, k in steps if 0 <= r < side and 0 <= k < side]
        steps = [cell for cell in steps if cell not in walk]
        if not steps:
            return of_line(rng, side, size)
        walk.append(int(rng.choice(steps)))
    return walk


def random_constraints(rng, side, grid):
    """A few constraints of kinds and sizes that differ little; most of them hold in the grid."""
    line, pair = of_line(rng, side, 3), of_line(rng, side, 2)
    own = grid[line].astype(int)
    row = np.arange(side) + side * int(rng.integers(side))
    row = row if rng.random() < 0.5 else row[::-1]
    digits = grid[row].astype(int)
    square = np.array([0, 1, side, side + 1]) + side * int(rng.integers(side - 1)) + int(rng.integers(side - 1))
    seen = int(sum(digit == digits[: at + 1].max() for at, digit in enumerate(digits)))
    crusts = np.flatnonzero((digits == 1) | (digits == side))
    choices = [
        lambda: c.killer([(line, int(own.sum()))], side) if len(set(own)) == 3 else [],
        lambda: c.little_killer(line, int(own.sum()) + int(rng.integers(2)), side),
        lambda: c.thermometer([line[at] for at in np.argsort(own)], side),
        lambda: c.kropki(white=[pair], side=side),
        lambda: c.calcudoku([(line, int(own.prod()), "*")], side),
        lambda: c.calcudoku([(pair, int(abs(np.diff(grid[pair].astype(int)))[0]), "-")], side),
        lambda: c.renban(line, side),
        lambda: c.between(line, side),
        lambda: c.zipper(line, side),
        lambda: c.modular(line, side),
        lambda: c.odd([cell for cell in pair if grid[cell] % 2], side),
        lambda: c.quadruple(square, [int(grid[square[0]])], side),
        lambda: c.skyscraper(row, seen, side),
        lambda: c.sandwich(row, int(digits[crusts[0] + 1 : crusts[1]].sum()), side),
        lambda: c.x_sum(row, int(digits[: digits[0]].sum()), side),
        lambda: c.numbered_room(row, int(digits[digits[0] - 1]), side),
    ]
    chosen = rng.permutation(len(choices))[: int(rng.integers(1, 5))]
    return [one for number in chosen for one in choices[number]()]


def random_puzzles(board, count, givens, seed=0):
    """Puzzles with constraints: grids uint8[count, cells], and a list of constraints each."""
    rng = np.random.default_rng(seed)
    grids = [plain.full_grid(board, rng) for _ in range(count)]
    puzzles = np.array([plain.blanked(grid, int(rng.integers(*givens)), rng) for grid in grids])
    return puzzles, [random_constraints(rng, board.side, grid) for grid in grids]


def check_counts(board, count, givens, limit=50):
    """Compares counts of solutions with those of the board alone that satisfy the constraints."""
    puzzles, constraints = random_puzzles(board, count, givens)
    clues = js.Clues.of(constraints, board)
    found = js.count_solutions(puzzles, board, clues=clues, limit=limit)
    right = []
    for puzzle, own in zip(puzzles, constraints, strict=True):
        if board == FOUR:
            every = grids_of_four()
            every = every[((puzzle == 0) | (every == puzzle)).all(axis=1)]
        else:
            every = np.array(plain.solutions(board, puzzle, 100_000), np.uint8)
        right.append(min(len(satisfying(every, own, board.side)), limit))
    assert len(set(right)) > 5
    wrong = np.flatnonzero(found != right)
    assert not len(wrong), (puzzles[wrong[0]], constraints[wrong[0]], found[wrong[0]], right[wrong[0]])


@pytest.mark.parametrize(
    ("board", "count", "givens"),
    [
        pytest.param(FOUR, 300, (0, 5), id="4x4"),
        pytest.param(SIX, 100, (10, 20), id="6x6", marks=pytest.mark.slow),
        pytest.param(FOUR, 10_000, (0, 5), id="many-4x4", marks=pytest.mark.thorough),
        pytest.param(SIX, 2000, (9, 20), id="many-6x6", marks=pytest.mark.thorough),
    ],
)
def test_counts_with_constraints_of_each_puzzle(board, count, givens):
    check_counts(board, count, givens)


BOARDS = [
    "4+anti-knight+cage(5 r1c2 r1c3)+odd(r2c2)",
    "1x4+calcudoku(3- r1c1 r1c2)+calcudoku(12* r2c2 r2c3 r3c2)+skyscraper(2 r4c1 r4c2 r4c3 r4c4)",
]


@pytest.mark.parametrize("name", BOARDS)
def test_counts_on_boards_with_constraints(name):
    board = Board.named(name)
    assert board.name == name
    houses = Board.named(name.split("+")[0])
    every = np.array(plain.solutions(houses, [0] * 16, 1000), np.uint8)
    right = satisfying(every, board.constraints, 4)
    assert 0 < len(right) < len(every)
    np.testing.assert_array_equal(is_complete(every, board), [grid.tolist() in right.tolist() for grid in every])
    assert sorted(plain.solutions(board, [0] * 16, 1000)) == sorted(map(tuple, right.tolist()))
    rng = np.random.default_rng(0)
    puzzles = np.array(
        [plain.blanked(grid, int(rng.integers(0, 4)), rng) for grid in every[rng.permutation(len(every))]]
    )
    counts = [((puzzle == 0) | (right == puzzle)).all(axis=1).sum() for puzzle in puzzles]
    np.testing.assert_array_equal(js.count_solutions(puzzles, board, limit=1000), counts)


@pytest.mark.slow
def test_the_grids_without_kings_knights_and_consecutive_neighbours():
    """There are 72 on the 9x9 board."""
    board = Board.named("9+anti-king+anti-knight+non-consecutive")
    assert js.count_solutions(np.zeros((1, 81), np.uint8), board, limit=100) == [72]


@pytest.mark.slow
def test_sums_of_houses_change_no_count():
    """Innies and outies of killers, on 6x6."""
    rng, cages, puzzles = np.random.default_rng(0), [], []
    for _ in range(40):
        grid, free, own = plain.full_grid(SIX, rng).astype(int), set(range(36)), []
        while len(free) > 3:
            cage = [min(free)]
            for step in (1, 6, 1):
                if (
                    cage[-1] + step in free
                    and (step == 6 or (cage[-1] + 1) % 6)
                    and grid[cage[-1] + step] not in grid[cage]
                ):
                    cage.append(cage[-1] + step)
            free -= set(cage)
            own += c.killer([(cage, int(grid[cage].sum()))], 6)
        cages.append(own)
        puzzles.append(plain.blanked(grid.astype(np.uint8), 8, rng))
    clues = js.Clues.of(cages, SIX)
    implied = with_house_sums(clues, SIX)
    assert implied.form.slots > clues.form.slots
    for puzzle in range(5):
        assert set(clues.constraints(puzzle)) < set(implied.constraints(puzzle))
    added = [entries for (kind, _), entries in implied.entries().items() if isinstance(kind, Sum)]
    assert max(np.bincount(entries.puzzle).max() for entries in added) == 3  # half the side
    right = [
        min(len(satisfying(np.array(plain.solutions(SIX, puzzle, 100_000), np.uint8), own, 6)), 50)
        for puzzle, own in zip(puzzles, cages, strict=True)
    ]
    np.testing.assert_array_equal(js.count_solutions(np.array(puzzles), SIX, clues=clues, limit=50), right)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda: Board.named("9+cage(100 r1c1 r1c2)"), "cage of r1c1 r1c2: a total of 100; 2 different digits reach 3"),
        (lambda: Board.named("4+sum(9 r1c1 r1c2)"), "sum of r1c1 r1c2: a total of 9; 2 cells reach 2 to 8"),
        (lambda: Board.named(f"4+thermometer({FIVE})"), "thermometer .*: 5 cells; with 4 digits it has at most 4"),
        (lambda: Board.named("4+renban(r1c1 r1c2 r1c3 r2c1 r2c2)"), "renban line of .*: 5 cells; there are at most 4"),
        (lambda: Board.named("4+nabner(r1c1 r1c2 r1c3)"), "nabner line of .*: 3 cells; there are at most 2"),
        (lambda: Board.named(f"4+sandwich(1 {LINE})"), "sandwich of .*: a total of 1; no different digits between 1"),
        (lambda: Board.named("4+sandwich(2 r1c1 r1c2)"), "sandwich of .*: 2 cells; it needs all 4"),
        (lambda: Board.named(f"4+x-sum(11 {LINE})"), r"X-sum of .*: a total of 11; it must lie in 1\.\.10"),
        (lambda: Board.named(f"4+skyscraper(5 {LINE})"), "skyscraper clue of .*: 5 visible digits among 4 cells"),
        (lambda: Board.named(f"4+numbered-room(5 {LINE})"), r"indexer of .*: digit 5; it must lie in 1\.\.4"),
        (lambda: Board.named("4+calcudoku(7* r1c1 r1c2)"), r"no 2 digits of 1\.\.4 have the product 7"),
        (lambda: Board.named("4+calcudoku(4- r1c1 r1c2)"), "a difference of 4; 2 cells reach at most 3"),
        (lambda: Board.named("4+calcudoku(5/ r1c1 r1c2)"), "a quotient of 5"),
        (lambda: Board.named("4+calcudoku(5 r1c1 r1c2)"), "5 is no total with an operation"),
        (lambda: Board.named("4+quadruple(1 2 3 r1c1 r1c2)"), "quadruple of r1c1 r1c2: 3 digits in 2 cells"),
        (lambda: Board.named("4+entropic(r1c1 r1c2)"), "4 digits have no 3 ranges of equal size"),
        (lambda: Board.named("4+lockout(4 r1c1 r1c2)"), r"a distance of 4; it must lie in 1\.\.3"),
        (lambda: Board.named("4+between(r1c1 r1c2)"), "between line of r1c1 r1c2: 2 cells; it needs 3 or more"),
        (lambda: Board.named("9+region-sums(r1c1, r2c1 r2c2 r2c3 r2c4 r2c5 r2c6 r2c7 r2c8 r2c9 r3c9)"), "the same sum"),
        (lambda: Board.named("4+cage(5 r1c1 r1c1)"), "cage of r1c1 r1c1: a cell occurs twice"),
        (lambda: Board.named("4+cage(5 r1c4 r1c5)"), "cell r1c5 is off a board of 4x4"),
        (lambda: FOUR.with_(c.thermometer([1, 16], 4)), "cell 16 is off a board of 4x4"),
        (lambda: FOUR.with_("cage"), "is no constraint"),
        (lambda: c.killer([("r1c1 r1c2", 3), ("r1c2 r1c3", 4)]), "cell r1c2 is in two cages"),
        (lambda: c.kropki(["r1c1 r1c2 r1c3"]), "a white dot needs a pair of cells, not 3"),
        (lambda: c.not_difference(1, ["r1c1 r2c2"]), "r1c1 r2c2 are no pair of neighbouring cells"),
        (lambda: FOUR.with_(c.Chain((0, 1), (), "lower")), "unknown relation 'lower'; there are less, "),
        (lambda: FOUR.with_(c.Chain((0, 1), (), "less 3")), "relation 'less 3': 'less' takes no number"),
        (lambda: Board.named("9+anti-kight"), "unknown houses or constraint 'anti-kight' .*; did you mean 'anti-kn"),
        (lambda: Board.named("anti-kight"), "unknown board 'anti-kight': .*; did you mean 'anti-knight'"),
        (lambda: Board.named("4+cage(5)"), r"'cage\(5\)' is written cage\(\[TOTAL\] CELLS\)"),
        (lambda: Board.named("4+thermometer(3 r1c1 r1c2)"), r"is written thermometer\(CELLS\)"),
        (lambda: Board.named("4+sandwich(a r1c1)"), "'a' in 'sandwich.*' is neither a number nor a cell"),
        (lambda: js.Clues.of([[], c.thermometer(range(5), 4)], FOUR), "puzzle 1: thermometer .* has at most 4"),
        (
            lambda: js.solve(np.zeros((1, 16), int), FOUR, clues=js.Clues.of([c.odd([0])], NINE)),
            "clues of a board of 81 cells; a 4x4 .* has 16",
        ),
        (
            lambda: js.solve(np.zeros((2, 16), int), FOUR, clues=js.Clues.of([c.odd([0], 4)], FOUR)),
            "clues of 1 puzzles for 2 puzzles",
        ),
    ],
)  # fmt: skip
def test_bad_input_says_why(make, cause):
    with pytest.raises((ValueError, TypeError), match=cause):
        make()


def test_puzzles_may_lack_the_constraints_of_a_group():
    board = Board.classic(4)
    form = js.Clues.of([c.killer([("r1c1 r1c2", 5)], side=4) + c.thermometer("r2c1 r2c2", side=4)], board).form
    few = js.Clues.of([c.thermometer("r2c1 r2c2", side=4), []], board, form)
    shapes = {key: (entries.cells.shape, entries.numbers.shape) for key, entries in few.entries().items()}
    assert shapes == {(c.Cage(), 2): ((0, 2), (0, 1)), (c.Chain(), 2): ((1, 2), (1, 0))}
