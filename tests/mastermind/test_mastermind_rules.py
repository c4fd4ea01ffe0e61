"""The rules of Mastermind, positions, partitions, scores and equivalent codes, against plain Python."""

from __future__ import annotations

import itertools

import hypothesis
import hypothesis.strategies as st
import jax
import mastermind_reference as reference
import numpy as np
import pytest

import jaxsudoku.mastermind as mm
from jaxsudoku.mastermind import PegGame, feedbacks, greedy, lookahead, score_programs, scoring, trees
from jaxsudoku.mastermind.costs import PartCost
from jaxsudoku.mastermind.memo import Memo
from jaxsudoku.mastermind.parts import Block, part_numbers, part_sizes, parts_of_at_least
from jaxsudoku.mastermind.positions import Positions, orbits, partition, representatives
from jaxsudoku.mastermind.rules import CodeError, GameError
from jaxsudoku.mastermind.scoring import Scorer, scorer

GAMES = [
    PegGame(1, 1),
    PegGame(1, 5),
    PegGame(2, 3),
    PegGame(3, 4),
    PegGame(4, 4),
    PegGame(3, 5, repeats=False),
    PegGame(5, 2),
]
games = pytest.mark.parametrize("game", GAMES, ids=str)
GAME = PegGame(3, 4)  # for scores, whose programs depend on its size


# ---------------------------------------------------------------------- rules


@games
def test_codes_are_all_there_in_order(game):
    assert [tuple(code) for code in game.codes.tolist()] == reference.codes(game)
    assert game.size == len(game.codes)


def _table(game: mm.Game) -> np.ndarray:
    """The feedback of all pairs, by numpy."""
    return feedbacks.feedback_of(game, np.arange(game.size)[:, None], np.arange(game.secrets))


@games
def test_the_table_is_the_feedback_of_all_pairs(game):
    expected = [
        [game.pairs.index(reference.feedback(guess, secret)) for secret in reference.codes(game)]
        for guess in reference.codes(game)
    ]
    np.testing.assert_array_equal(_table(game), expected)
    if game in (GAME, PegGame(3, 5, repeats=False)):
        table = np.asarray(feedbacks.feedback_table(game))
        assert table.dtype == np.uint8
        np.testing.assert_array_equal(table, expected)


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=40)
def test_feedback_of_any_codes(data):
    game = PegGame(4, 6)
    pegs = st.lists(st.integers(0, 5), min_size=4, max_size=4)
    pairs = data.draw(st.lists(st.tuples(pegs, pegs), min_size=8, max_size=8))
    guesses, secrets = np.array(pairs, np.uint8).swapaxes(0, 1)
    heard = np.asarray(feedbacks.feedback(game, guesses, secrets)).tolist()
    assert [game.pairs[number] for number in heard] == [
        reference.feedback(tuple(guess), tuple(secret)) for guess, secret in pairs
    ]


@games
def test_codes_are_numbered_and_others_have_no_number(game):
    np.testing.assert_array_equal(game.index_of(game.codes), np.arange(game.size))
    other = np.repeat(game.codes[:1], game.pegs, axis=0)
    np.fill_diagonal(other, game.colours)  # one more than the last colour
    np.testing.assert_array_equal(game.index_of(other), -1)


@games
def test_feedbacks_are_numbered_and_the_last_one_wins(game):
    assert len(set(game.pairs)) == len(game.pairs) == game.feedbacks
    assert game.pairs[game.win] == (game.pegs, 0)
    assert game.pairs == sorted(game.pairs)


_pack, _unpack = jax.jit(feedbacks.pack), jax.jit(feedbacks.unpack, static_argnums=0)


@hypothesis.given(st.lists(st.booleans(), min_size=64, max_size=64))
@hypothesis.settings(max_examples=20)
def test_sets_as_bits_come_back(chosen):
    bits = _pack(np.array([chosen, [not each for each in chosen]]))
    assert bits.shape == (2, feedbacks.words(GAME))
    assert bits.dtype == np.uint32
    found = np.asarray(_unpack(GAME, bits))
    np.testing.assert_array_equal(found[0], chosen)
    np.testing.assert_array_equal(found[1], ~np.array(chosen))


def test_consistent_codes_are_those_that_would_have_said_so():
    game = PegGame(3, 3)  # 27 codes, which do not fill a word
    every = reference.codes(game)
    guesses = np.arange(27)
    heard = np.arange(27, dtype=np.uint8) % game.feedbacks
    found = jax.jit(lambda *arrays: feedbacks.unpack(game, feedbacks.consistent(*arrays)))(_table(game), guesses, heard)
    expected = [
        [reference.feedback(every[guess], secret) == game.pairs[number] for secret in every]
        for guess, number in zip(guesses, heard, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)


@games
def test_texts_come_back(game):
    for code in range(game.size):
        assert game.parse_code(game.code_text(code)) == code
    for number in range(game.feedbacks):
        assert game.parse_feedback(game.feedback_text(number)) == number


def test_texts_of_many_colours():
    game = PegGame(2, 12)
    assert game.code_text(game.parse_code("12, 3")) == "12 3"
    assert PegGame(4, 6).parse_feedback(" 21 ") == PegGame(4, 6).parse_feedback("2,1")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("112", "a code has 4 pegs, not 3"),
        ("", "a code has 4 pegs, not 0"),
        ("1127", "'7' is not a colour; colours are 1 to 6"),
        ("0112", "'0' is not a colour"),
        ("1a12", "'a' is not a colour"),
        ("11２2", "is not a colour"),
    ],
)
def test_a_text_that_is_no_code(text, cause):
    with pytest.raises(CodeError, match=cause):
        PegGame(4, 6).parse_code(text)


def test_a_code_with_a_colour_twice_where_it_must_not():
    with pytest.raises(CodeError, match="'112': a code has no colour twice in this game"):
        PegGame(3, 4, repeats=False).parse_code("112")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("2", "feedback is two numbers"),
        ("1 2 3", "feedback is two numbers"),
        ("a 1", "feedback is two numbers"),
        ("-1 1", "feedback is two numbers"),
        ("1" * 5000 + " 1", "feedback is two numbers"),
        ("3 2", "5 pegs in all, but a code has 4"),
        ("3 1", "with all pegs right but one"),
    ],
)
def test_a_text_that_is_no_feedback(text, cause):
    with pytest.raises(CodeError, match=cause):
        PegGame(4, 6).parse_feedback(text)


@pytest.mark.parametrize(
    ("game", "cause"),
    [
        ((0, 6), "pegs must be at least 1, not 0"),
        ((4.5, 6), "pegs must be a whole number, not 4.5"),
        ((4, "6"), "colours must be a whole number, not '6'"),
        ((4, 6, 1), "repeats must be True or False, not 1"),
        ((4, 0), "colours must be at least 1, not 0"),
        ((4, 256), "colours must be at most 255, not 256"),
        ((4, 3, False), "a code of 4 pegs needs as many colours, and there are 3"),
        ((22, 2), "22 pegs have 275 feedbacks, more than 255"),
    ],
)
def test_an_impossible_game(game, cause):
    with pytest.raises(GameError, match=cause):
        PegGame(*game)


# ---------------------------------------------------------------------- codes by their numbers, and peg by peg

CLASSIC, WORDS = PegGame(4, 6), mm.WordGame(("abba", "baba", "aabb", "cabd"), ("aaaa",))
PEGS = np.array([[0, 0, 1, 1], [5, 4, 3, 2]])
NUMBERS = np.array([7, 700, 1200, 5])


@pytest.mark.parametrize(
    ("game", "pegs", "cause"),
    [
        (
            CLASSIC,
            NUMBERS,
            "7 in {}: a place of a code has a value from 0 to 5; codes with some numbers are game.codes",
        ),
        (CLASSIC, NUMBERS.tolist(), "7 in {}: a place of a code"),
        (CLASSIC, [0, 0, 0, 6], "6 in {}: a place of a code"),
        (CLASSIC, [0, 0, 0, -1], "-1 in {}: a place of a code"),
        (CLASSIC, [0, 0, 0, 256], "256 in {}: a place of a code"),
        (CLASSIC, jax.numpy.array([0, 0, 0, 6]), "6 in {}: a place of a code"),
        (CLASSIC, NUMBERS[:3], r"{} of shape \(3,\): the last axis has the 4 places of a code"),
        (CLASSIC, 7, r"{} of shape \(\): the last axis"),
        (CLASSIC, PEGS.T, r"{} of shape \(4, 2\): the last axis"),
        (CLASSIC, [0.0, 0.0, 1.0, 1.0], "{} are whole numbers, not of float64"),
        (CLASSIC, [False, False, True, True], "{} are whole numbers, not of bool"),
        (WORDS, [0, 1, 2, 4], "4 in {}: a place of a code has a value from 0 to 3"),
        (WORDS, [[0], [1]], r"{} of shape \(2, 1\): the last axis has the 4 places"),
    ],
)
def test_what_is_no_code_peg_by_peg(game, pegs, cause):
    for name in ("guesses", "secrets"):
        with pytest.raises(CodeError, match=cause.format(name)):
            feedbacks.feedback(game, **{"guesses": game.codes[0], "secrets": game.codes[0]} | {name: pegs})
    with pytest.raises(CodeError, match=cause.format("secrets")):
        mm.replay(mm.Tree(game, *(np.array([number], np.int32) for number in (0, -1, -1))), pegs)


def test_feedback_of_pegs_in_any_form():
    heard = np.asarray(feedbacks.feedback(CLASSIC, PEGS.astype(np.uint8), PEGS.astype(np.uint8)))
    assert heard.tolist() == [CLASSIC.win] * 2
    for pegs in (PEGS, PEGS.tolist(), jax.device_put(PEGS.astype(np.uint8))):
        np.testing.assert_array_equal(feedbacks.feedback(CLASSIC, pegs, PEGS), heard)


def test_traced_pegs_are_told_by_shape():
    shape = jax.eval_shape(lambda pegs: feedbacks.feedback(CLASSIC, pegs, PEGS[0]), np.zeros((7, 4), np.uint8))
    assert (shape.shape, shape.dtype) == ((7,), np.uint8)
    parts = jax.eval_shape(lambda peg: feedbacks.feedback(CLASSIC, [peg, peg, 0, 0], PEGS[0]), np.uint8(1))
    assert parts.shape == ()
    for wrong in (np.zeros(7, np.int32), np.zeros((4, 7), np.int32), np.zeros(4, np.float32)):
        with pytest.raises(CodeError, match="the last axis has the 4 places|are whole numbers"):
            jax.eval_shape(lambda pegs: feedbacks.feedback(CLASSIC, pegs, PEGS[0]), wrong)


@pytest.mark.parametrize("game", [CLASSIC, PegGame(3, 5, repeats=False)], ids=str)
def test_what_has_no_number(game):
    for peg in (-1, game.colours, 256, 10**6):
        assert game.index_of(np.array([*range(game.pegs - 1), peg])).tolist() == -1
    for wrong in (7, NUMBERS[: game.pegs - 1], np.zeros(game.pegs)):
        with pytest.raises(CodeError, match="the last axis has|are whole numbers"):
            game.index_of(wrong)


@pytest.mark.parametrize("game", [CLASSIC, WORDS], ids=str)
@pytest.mark.parametrize("number", [-1, 10**6, 1.0, True, "0", None, PEGS[0], [0, 0, 1, 1], np.float32(1)], ids=str)
def test_what_is_no_number_of_a_code_or_a_feedback(game, number):
    tree = mm.Tree(game, *(np.array([number], np.int32) for number in (0, -1, -1)))
    search = mm.SearchTree(game)
    for function in (
        lambda: game.code_text(number),
        lambda: game.labels(number),
        lambda: mm.CodeMaker(game, number),
        lambda: mm.CodeMaker(game, 0).answer(number),
        lambda: mm.CodeMaker(game, 0).fits(number),
        lambda: mm.CodeBreaker(game, tree).update(number, 0),
        lambda: search.train(1, [(number, 0)]),
        lambda: search.guess([(number, 0)]),
    ):
        # games with a person take texts too
        with pytest.raises(CodeError, match="a (code|word|secret) is a number from 0 to [0-9]+, not |^'0'"):
            function()
    for function in (
        lambda: game.feedback_text(number),
        lambda: game.marks(number),
        lambda: mm.CodeBreaker(game, tree).update(0, number),
        lambda: search.guess([(0, number)]),
    ):
        with pytest.raises(CodeError, match="a feedback is a number from 0 to [0-9]+, not |^'0'"):
            function()
    assert len(search) == 1


def test_numbers_of_numpy_and_jax_are_numbers():
    for one in (np.int64(1), np.uint8(1), np.array(1), jax.numpy.array(1)):
        assert (CLASSIC.code_text(one), CLASSIC.feedback_text(one)) == ("1112", "0 1")


def test_texts_are_read_and_nothing_else():
    for game in (CLASSIC, WORDS):
        for read in (game.parse_code, game.parse_feedback):
            with pytest.raises(CodeError, match="must be a text, not 1122"):
                read(1122)


@pytest.mark.parametrize(
    ("guesses", "heard", "cause"),
    [
        ([7, 27], [1, 2], "a code is a number from 0 to 26, not 27"),
        ([7, -1], [1, 2], "a code is a number from 0 to 26, not -1"),
        ([7, 8], [1, 257], "a feedback is a number from 0 to 254, not 257"),
        ([7.0, 8.0], [1, 2], "a code is a whole number, not one of float64"),
        ([True, False], [1, 2], "a code is a whole number, not one of bool"),
        ([[0, 0, 1], [1, 1, 1]], [1, 2], r"guesses are numbers of codes, one for each feedback: \(2, 3\) and \(2,\)"),
        ([0, 0, 1], 1, r"guesses are numbers of codes, one for each feedback: \(3,\) and \(\)"),
    ],
)
def test_what_no_codes_are_consistent_with(guesses, heard, cause):
    with pytest.raises(CodeError, match=cause):
        mm.consistent(_table(PegGame(3, 3)), guesses, heard)


@pytest.mark.parametrize(
    ("sets", "cause"),
    [
        ([CLASSIC.codes[:3]], "a position must be a list of numbers of codes"),
        ([np.array([0.5, 1])], "a position must be a list of numbers of codes"),
        ([PEGS[0]], "the numbers of a position's codes must ascend"),
        ([np.array([1, 2]), np.array([-1, 2])], "the numbers of a position's codes must ascend"),
    ],
)
def test_what_is_no_position(sets, cause):
    with pytest.raises(CodeError, match=cause):
        Positions.of(sets)
    assert len(Positions.of([np.array([1, 2]), np.array([0], np.uint16)])) == 2


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        (([0, 1296], [-1, 0], [-1, 0]), "a code is a number from 0 to 1295, not 1296"),
        (([0, -1], [-1, 0], [-1, 0]), "a code is a number from 0 to 1295, not -1"),
        (([0, 1], [-1, 0], [-1, 14]), "a feedback is a number from 0 to 13, not 14"),
        (([0, 1], [-1, 1], [-1, 0]), "each node but the first must come after its parent"),
        (([0, 1], [0, 0], [-1, 0]), "each node but the first must come after its parent"),
        (([0, 1], [-1], [-1, 0]), "arrays .nodes. of one length"),
        (([], [], []), "arrays .nodes. of one length"),
        (([[0, 0, 1, 1]], [-1], [-1]), "arrays .nodes. of one length"),
    ],
)
def test_what_is_no_tree(columns, cause):
    with pytest.raises(ValueError, match=cause):
        mm.Tree(CLASSIC, *(np.array(column, np.int32) for column in columns))


@pytest.mark.parametrize("chosen", [-1, 64, 0.5, [0, 0, 1]], ids=str)
def test_what_a_policy_must_not_choose(chosen):
    def policy(positions, history, key):
        return np.array([chosen] * len(positions))

    cause = "a guess is a (whole )?number|a policy must return a code number for each of 1 positions"
    with pytest.raises(CodeError, match=cause):
        mm.grow(GAME, policy)
    with pytest.raises(CodeError, match=cause):
        mm.CodeBreaker(GAME, policy).guess()


def test_a_history_of_what_is_no_code():
    for history in ((64,), (-1,), ((0, 0, 1),)):
        with pytest.raises(CodeError, match="a code is a number from 0 to 63"):
            GAME.orbits(history)


def test_a_game_beyond_memory_says_how_many_bytes():
    with pytest.raises(GameError, match="a table of feedbacks takes|table of feedbacks takes 1,000,000,000,000,000,0"):
        feedbacks.feedback_table(PegGame(9, 10))


# ---------------------------------------------------------------------- positions


def _some_positions(game: PegGame, seed: int, count: int) -> Positions:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, game.size + 1, count)
    return Positions.of(np.sort(rng.choice(game.size, size, replace=False)) for size in sizes)


def test_positions_are_kept_and_taken():
    sets = [np.array([3]), np.array([0, 5, 7]), np.array([1, 2])]
    positions = Positions.of(sets)
    assert positions.sizes.tolist() == [1, 3, 2]
    assert [row.tolist() for row in positions.take(np.array([2, 0, 2]))] == [[1, 2], [3], [1, 2]]
    assert positions.padded(4).tolist() == [[3, 0, 0, 0], [0, 5, 7, 0], [1, 2, 0, 0]]
    assert len(Positions.of([])) == 0
    assert len(positions.take(np.zeros(0, np.int64))) == 0


@games
def test_split_by_feedback(game):
    positions = _some_positions(game, 1, 6)
    guesses = np.random.default_rng(2).integers(game.size, size=6)
    heard = _table(game)[np.repeat(guesses, positions.sizes), positions.codes]
    found = partition(game.feedbacks, positions, heard)
    every = reference.codes(game)
    expected = []
    for owner, (codes, guess) in enumerate(zip(positions, guesses, strict=True)):
        left = reference.parts(every[guess], tuple(every[code] for code in codes))
        for pair in sorted(left):
            expected.append((owner, game.pairs.index(pair), [every.index(code) for code in left[pair]]))
    parts = zip(found.owner.tolist(), found.feedback.tolist(), (part.tolist() for part in found.parts), strict=True)
    assert list(parts) == expected


def test_distinct_positions():
    positions = Positions.of([np.array(each) for each in ([1, 2], [3], [1, 2], [1], [3])])
    table = Memo(PegGame(2, 3))
    numbers, new = table.add(positions)
    assert new.tolist() == [0, 1, 3]
    assert numbers.tolist() == [0, 1, 0, 2, 1]
    numbers, new = table.add(Positions.of([np.array([4, 5]), np.array([3])]))
    assert (numbers.tolist(), new.tolist(), len(table)) == ([3, 1], [0], 4)
    assert [codes.tolist() for codes in table.take(np.array([3, 0]))] == [[4, 5], [1, 2]]


# ---------------------------------------------------------------------- scores


def _costs(codes: int) -> dict[str, PartCost]:
    """Costs of several kinds, for games of so many codes."""
    sizes = np.arange(codes + 1)
    return {
        "squares": PartCost((sizes**2).astype(np.int32), 1),
        "largest": PartCost((2 * sizes).astype(np.int32), 1, largest=True),
        "parts": PartCost(-2 * np.minimum(sizes, 1).astype(np.int32), 1),
        "a line": PartCost(np.maximum(2 * sizes - 1, 0).astype(np.int32), 7),
        "fewer parts": PartCost(3 * np.minimum(sizes, 1).astype(np.int32), 1),
        "a line with a bend": PartCost(np.maximum(2 * sizes - 1, sizes * sizes // 8).astype(np.int32), 1),
    }


COSTS = _costs(GAME.size)


def _plain_scores(game: PegGame, positions: Positions, cost: PartCost) -> np.ndarray:
    """The score of every guess, int64[n, size]."""
    table = _table(game)
    expected = np.zeros((len(positions), game.size), np.int64)
    for row, codes in zip(expected, positions, strict=True):
        counts = (table[:, codes, None] == np.arange(game.feedbacks)).sum(axis=1)
        costs = cost.by_size[counts]
        row[:] = costs.max(axis=1) if cost.largest else costs.sum(axis=1)
        row[codes] -= cost.bonus
    return expected


def _some_of(game: PegGame, sizes: list[int]) -> Positions:
    """Random positions of some sizes."""
    rng = np.random.default_rng(0)
    return Positions.of(np.sort(rng.choice(game.size, size, replace=False)) for size in sizes)


def _check_scores(game: PegGame, positions: Positions, cost: PartCost) -> None:
    """Compares the scores of all guesses with those of plain counting."""
    expected, seen = _plain_scores(game, positions, cost), np.zeros(len(positions), bool)
    for chosen, scores in scorer(game).scores(positions, cost):
        np.testing.assert_array_equal(scores, expected[chosen])
        seen[chosen] = True
    assert seen.all()


@pytest.mark.parametrize("name", COSTS)
def test_scores_are_what_plain_counting_gives(name):
    cost = COSTS[name]
    # sizes on both sides of every width
    _check_scores(GAME, _some_of(GAME, [1, 2, 3, 5, 8, 9, 15, 16, 17, 40, 63, 64]), cost)
    positions, score = _some_of(GAME, [3, 5, 8, 9, 15, 16, *([17, 40, 64] if name == "squares" else [])]), scorer(GAME)
    expected = _plain_scores(GAME, positions, cost)
    guesses, scores = score.best(positions, cost)
    np.testing.assert_array_equal(guesses, expected.argmin(axis=1))
    np.testing.assert_array_equal(scores, expected.min(axis=1))
    guesses, scores = score.best(positions, cost, consistent=True)
    for codes, row, guess, least in zip(positions, expected, guesses, scores, strict=True):
        assert guess == codes[row[codes].argmin()]
        assert least == row[guess]


@pytest.mark.parametrize("name", ["squares", "parts"])
def test_scores_of_positions_beyond_bytes(name):
    game = PegGame(4, 4)
    _check_scores(game, _some_of(game, [249, 256]), _costs(game.size)[name])


def test_scores_in_blocks_of_guesses(monkeypatch):
    """Of which the last two overlap."""
    monkeypatch.setattr(score_programs, "BLOCK", 24)
    monkeypatch.setattr(scoring, "compiled_scores", score_programs.compiled_scores.__wrapped__)
    _check_scores(GAME, _some_of(GAME, [3, 9, 16]), COSTS["squares"])
    _check_scores(GAME, _some_of(GAME, [2, 8, 40, 64]), COSTS["parts"])


@pytest.mark.parametrize("first", [None, 64], ids=str)
def test_parts_are_those_of_plain_counting(first):
    """In blocks of guesses and in all of them, for positions of few codes, of several segments, and of all codes."""
    game, widths = PegGame(4, 4), (16, 248, 256)
    table = _table(game)

    @jax.jit
    def counted(table, *cases):
        block = Block(table, *(() if first is None else (first, 128)))
        ways = [lambda case: part_sizes(block, game.feedbacks, *case), lambda case: part_numbers(block, 14, *case)]
        found = [[jax.lax.map(way, case) for way in ways] for case in cases]
        return found, jax.lax.map(lambda case: parts_of_at_least(block, *case), cases[0])

    positions = [
        _some_of(game, sizes) for sizes in (range(1, 17), (1, 17, 100, 241, 247, 248), (1, 8, 248, 249, 255, 256))
    ]
    cases = [(some.padded(width), some.sizes.astype(np.int32)) for some, width in zip(positions, widths, strict=True)]
    found, at_least = jax.tree.map(np.asarray, counted(table, *cases))
    for some, (sizes, numbers) in zip(positions, found, strict=True):
        for index, codes in enumerate(some):
            heard = table[codes, slice(None) if first is None else slice(first, first + 128)]
            counts = (heard == np.arange(game.feedbacks)[:, None, None]).sum(axis=1)
            np.testing.assert_array_equal(sizes[index], counts)
            np.testing.assert_array_equal(numbers[index], (counts > 0).sum(axis=0))
            if some is positions[0]:
                ranks = counts[None] >= np.arange(1, 17)[:, None, None]
                np.testing.assert_array_equal(at_least[index], ranks.sum(axis=1))


@pytest.mark.parametrize("name", ["squares", "largest", "parts"])
def test_symmetry_does_not_change_scores(name, monkeypatch):
    monkeypatch.setattr(scoring, "_FEW", 16)  # so that a small game has tables of inequivalent guesses
    cost, score = COSTS[name], scorer(GAME)
    opening = np.array([GAME.parse_code("111")])
    everything = Positions.of([np.arange(GAME.size)])
    after = score.partition(everything, opening).parts
    for positions, history in ((everything, ()), (after, (int(opening[0]),))):
        histories = [history] * len(positions)
        expected = _plain_scores(GAME, positions, cost)
        found = score.best(positions, cost, histories=histories)
        np.testing.assert_array_equal(found, (expected.argmin(axis=1), expected.min(axis=1)))
        if name == "largest":
            continue
        guesses, scores = score.best(positions, cost, True, histories)
        for codes, row, guess, least in zip(positions, expected, guesses, scores, strict=True):
            assert guess == codes[row[codes].argmin()] and least == row[guess]
        tried = representatives(GAME, history)
        assert len(tried) <= 16
        for index, ranked, scores in score.ranked(positions, cost, histories):
            order = np.argsort(expected[index, tried], kind="stable")
            np.testing.assert_array_equal(ranked, tried[order])
            np.testing.assert_array_equal(scores, expected[index, ranked])


@pytest.fixture
def small_blocks(monkeypatch):
    """Without a table, several blocks of guesses and two sizes of tables of secrets in a small game."""
    monkeypatch.setattr(scoring, "BLOCK", 24)
    monkeypatch.setattr(scoring, "_FEWEST_SECRETS", 16)


def test_scores_without_a_table_are_the_same(small_blocks, monkeypatch):
    # so that positions are taken in several groups
    monkeypatch.setattr(scoring, "_GROUP_CODES", 100)
    monkeypatch.setattr(scoring, "_SCORE_BYTES", 1 << 11)
    groups = []
    monkeypatch.setattr(
        Scorer,
        "_scored_by_blocks",
        lambda self, some, guesses, *rest, scored=Scorer._scored_by_blocks: (
            groups.append((some.sizes, len(guesses))) or scored(self, some, guesses, *rest)
        ),
    )
    game, cost = GAME, COSTS["a line with a bend"]
    with_table, without = scorer(game), Scorer(game, by_blocks=True)
    opening = game.parse_code("112")
    after = with_table.partition(Positions.of([np.arange(game.size)]), np.array([opening])).parts
    for positions, histories in (
        (Positions.of([np.arange(game.size)]), [()]),
        (after, [(opening,)] * len(after)),
        (_some_of(game, [2, 3, 5, 1, 60, 40, 33, 12, 7, 64, 17, 9]), None),
    ):
        for consistent in (False, True):
            expected = with_table.best(positions, cost, consistent, histories)
            np.testing.assert_array_equal(without.best(positions, cost, consistent, histories), expected)
        made = [None] * len(positions) if histories is None else histories
        ranked = {index: found for index, *found in with_table.ranked(positions, cost, made)}
        for index, guesses, scores in without.ranked(positions, cost, made):
            np.testing.assert_array_equal((guesses, scores), ranked.pop(index))
        assert not ranked
        guesses = np.arange(len(positions))
        one, other = (score.partition(positions, guesses) for score in (with_table, without))
        np.testing.assert_array_equal(one.parts.codes, other.parts.codes)
        np.testing.assert_array_equal(one.feedback, other.feedback)
    assert len(groups) > 15
    assert all(sizes.sum() <= 100 + sizes[0] for sizes, _ in groups)


@pytest.mark.parametrize("player", ["minimax", "lookahead"])
def test_players_without_a_table_make_the_same_strategies(player, small_blocks, monkeypatch):
    expected = mm.build(GAME, player)
    without = Scorer(GAME, by_blocks=True)
    for module in (greedy, lookahead, trees):
        monkeypatch.setattr(module, "scorer", lambda game: without)
    tree = mm.build(GAME, player)
    np.testing.assert_array_equal(tree.guesses, expected.guesses)
    np.testing.assert_array_equal(tree.children, expected.children)
    assert "table" not in vars(without) and "host" not in vars(without)


def test_scores_of_positions_in_batches():
    """An accelerator takes many positions at a time; what it gives is the same."""
    cost, positions, score = COSTS["squares"], _some_of(GAME, list(range(17, 29))), Scorer(GAME)
    alone = score.best(positions, cost)
    score.platform = "gpu"  # as far as the way of working goes
    np.testing.assert_array_equal(score.best(positions, cost), alone)
    for chosen, scores in score.scores(positions, cost):
        np.testing.assert_array_equal(scores.min(axis=1), alone[1][chosen])


def test_sizes_up_to_which_costs_are_linear():
    evens = [COSTS[name].linear_to for name in ("squares", "largest", "parts", "a line", "a line with a bend")]
    assert evens == [2, 0, 64, 64, 15]
    assert COSTS["a line"].line == (2, -1)
    assert [name for name, cost in COSTS.items() if not cost.least_apart] == ["fewer parts"]
    assert COSTS["parts"].line == (0, -2)


def test_feedbacks_that_fill_more_than_a_word():
    game = PegGame(7, 2)  # 35 feedbacks
    table = _table(game)
    found = jax.jit(lambda table, *case: part_numbers(Block(table), 35, *case))(table, np.arange(128), 128)
    assert np.asarray(found).tolist() == [len(set(row)) for row in table.tolist()]


# ---------------------------------------------------------------------- symmetry


def _equivalent(game: PegGame, guesses: tuple[int, ...]) -> list[int]:
    """The first code that is equivalent to each code, by trying all permutations."""
    every = reference.codes(game)
    numbers = {code: number for number, code in enumerate(every)}
    least = list(range(len(every)))
    for order in itertools.permutations(range(game.pegs)):
        for colours in itertools.permutations(range(game.colours)):
            images = [numbers[tuple(colours[code[peg]] for peg in order)] for code in every]
            if all(images[guess] == guess for guess in guesses):
                least = [min(pair) for pair in zip(least, images, strict=True)]
    return least


@pytest.mark.parametrize("game", [PegGame(2, 3), PegGame(3, 3), PegGame(2, 4, repeats=False), PegGame(1, 3)], ids=str)
def test_equivalent_codes_are_those_that_some_permutation_joins(game):
    for guesses in [(), (0,), (1,), (game.size - 1,), (0, 1), (1, 2), (0, 1, 2)]:
        assert orbits(game, guesses).tolist() == _equivalent(game, guesses)


def test_first_guesses_of_the_classic_game():
    game = PegGame(4, 6)
    texts = [game.code_text(code) for code in representatives(game, ()).tolist()]
    assert texts == ["1111", "1112", "1122", "1123", "1234"]


GUESSED_APART = [
    (GAME, False),
    (GAME, True),
    (mm.PegGame(3, 4, elsewhere=False), True),
    (mm.WordGame(("abc", "bca", "cab", "abb", "bab", "aaa"), further=("ccc", "acb")), True),
    (mm.PegGame(1, 1), True),
]


@pytest.mark.parametrize(("game", "by_blocks"), GUESSED_APART, ids=str)
def test_a_code_with_another_feedback_from_each_is_found_in_small_positions(game, by_blocks):
    random, table = np.random.default_rng(0), _table(game)
    sizes = [1, *random.integers(1, min(24, game.secrets) + 1, 60)]
    positions = Positions.of(np.sort(random.choice(game.secrets, size, replace=False)) for size in sizes)
    score = Scorer(game, by_blocks=by_blocks)
    found = score._separating(positions)
    for codes, code in zip(positions, found.tolist(), strict=True):
        apart = [guess for guess in codes.tolist() if len(set(table[guess, codes].tolist())) == len(codes)]
        assert code == (apart[0] if apart and len(codes) <= 16 else -1)
    assert len(score._separating(Positions.of([]))) == 0
