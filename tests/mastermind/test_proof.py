"""Proofs of Mastermind strategies: relabelled positions, the memo, bounds, resumed and killed searches, the command."""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mastermind_checker import Game, WrongCertificateError, check
from mastermind_reference import fewest_guesses

import jaxsudoku.mastermind as mm
from jaxsudoku.cli import main
from jaxsudoku.mastermind.certificate import _Collector, save_certificate
from jaxsudoku.mastermind.feedbacks import feedback_of
from jaxsudoku.mastermind.games import to_fields
from jaxsudoku.mastermind.memo import PROVEN, SCORED, Memo
from jaxsudoku.mastermind.optimal import Search
from jaxsudoku.mastermind.positions import Positions
from jaxsudoku.mastermind.proof import _limit
from jaxsudoku.runtime.files import TEMPORARY
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.workers import JobError

#: A game whose proof takes some hundred positions, with the total of the best strategy.
GAME, BEST = mm.PegGame(3, 6), 854

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"

GAMES = [
    mm.PegGame(4, 6),
    mm.PegGame(3, 9),
    mm.PegGame(3, 5, elsewhere=False),
    mm.PegGame(3, 6, repeats=False),
    mm.PegGame(3, 5, repeats=False, elsewhere=False),
]


def some_positions(game, seed, count, most=40):
    """Random positions, and some with few colours."""
    random = np.random.default_rng(seed)
    sets = []
    for number in range(count):
        among = np.arange(game.secrets)
        if number % 2:
            chosen = random.permutation(game.colours)[: max(game.pegs, 3)]
            among = np.flatnonzero(np.isin(game.codes, chosen).all(axis=1))
        size = int(random.integers(1, min(most, len(among)) + 1))
        sets.append(np.sort(random.choice(among, size, replace=False)))
    return Positions.of(sets)


def image(game, random, codes):
    """The codes under a random symmetry of the game, ascending."""
    rows = game.codes[codes][:, random.permutation(game.pegs)]
    separate = game.repeats and not game.elsewhere
    maps = [random.permutation(game.colours) for _ in range(game.pegs if separate else 1)]
    rows = np.stack([maps[peg % len(maps)][rows[:, peg]] for peg in range(game.pegs)], axis=1)
    return np.sort(game.index_of(rows.astype(np.uint8)))


def table_of(game, codes):
    """How often each row of feedbacks, sorted, comes in the table of the codes with each other."""
    rows = np.sort(feedback_of(game, codes[:, None], codes), axis=1)
    return sorted(map(bytes, rows))


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_relabelled_positions_are_equivalent(game):
    positions = some_positions(game, 1, 60)
    relabelled = positions.relabelled(game)
    np.testing.assert_array_equal(relabelled.bounds, positions.bounds)
    assert relabelled.codes.dtype == np.int32
    for before, after in zip(positions, relabelled, strict=True):
        assert (np.diff(after) > 0).all() and after[0] >= 0
        assert table_of(game, before) == table_of(game, after)
    # the same few colours in all of them, the first ones
    for after in relabelled:
        for pegs in (
            np.unique(game.codes[after], axis=0).T if game.repeats and not game.elsewhere else [game.codes[after]]
        ):
            assert np.array_equal(np.unique(pegs), np.arange(len(np.unique(pegs))))


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_equivalent_positions_become_equal(game):
    random = np.random.default_rng(2)
    positions = some_positions(game, 3, 200)
    images = Positions.of([image(game, random, codes) for codes in positions])
    pairs = zip(positions.relabelled(game), images.relabelled(game), strict=True)
    assert np.mean([np.array_equal(*pair) for pair in pairs]) > 0.5


@pytest.mark.parametrize("size", [1000, 12_000])
def test_large_positions_become_equal_too(size):
    game, random = mm.PegGame(7, 4), np.random.default_rng(4)  # sums of 84,000 hashes
    codes = np.sort(random.choice(game.secrets, size, replace=False))
    first, other = Positions.of([codes, image(game, random, codes)]).relabelled(game)
    np.testing.assert_array_equal(first, other)


def test_labels_are_those_that_the_checker_expects():
    game = mm.PegGame(4, 6)
    positions = some_positions(game, 5, 100)
    expected = Game(to_fields(game)).relabelled(positions.codes, positions.sizes)
    np.testing.assert_array_equal(positions.relabelled(game).codes, expected)


def test_positions_of_words_stay():
    game = mm.WordGame(("abba", "baba", "aabb"))
    positions = Positions.of([np.array([0, 2]), np.array([1])])
    np.testing.assert_array_equal(positions.relabelled(game).codes, positions.codes)


# ---------------------------------------------------------------------- the memo


@pytest.mark.parametrize("gap", [1, 2, 15, 16, 17, 1000])
def test_each_step_excludes_something_and_not_more_than_is_left(gap):
    bounds = [100]
    while bounds[-1] < 100 + gap:
        bounds.append(_limit(bounds[-1], 100 + gap))
    assert (np.diff(bounds) >= 1).all() and bounds[-1] == 100 + gap and len(bounds) < 90


@pytest.mark.parametrize("kept", [False, True])
def test_positions_have_numbers_in_the_order_in_which_they_came(kept, monkeypatch, tmp_path):
    monkeypatch.setattr("jaxsudoku.mastermind.memo._ROWS", 16)
    game = mm.PegGame(4, 6)
    memo, numbers = Memo(game, tmp_path / "memo" if kept else None), {}
    for seed in range(20):
        positions = some_positions(game, seed % 15, 40, most=3)
        found, new = memo.add(positions)
        expected, fresh = [], []
        for index, codes in enumerate(positions):
            key = codes.tobytes()
            if key not in numbers:
                numbers[key] = len(numbers)
                fresh.append(index)
            expected.append(numbers[key])
        assert (found.tolist(), new.tolist(), len(memo)) == (expected, fresh, len(numbers))
        np.testing.assert_array_equal(memo.sizes(found), positions.sizes)
        np.testing.assert_array_equal(memo.take(found).codes, positions.codes)
        memo.raise_bounds(found, found)
        assert (memo.bounds[: len(memo)] == np.arange(len(memo))).all()
    assert len(memo) > 300
    if kept:
        memo.close()
        again = Memo(game, tmp_path / "memo")
        assert len(again) == len(memo)
        np.testing.assert_array_equal(again.add(positions)[0], found)
        np.testing.assert_array_equal(again.bounds[: len(memo)], np.arange(len(memo)))


def test_positions_of_one_slot_are_all_found():
    game = mm.PegGame(3, 4)
    memo = Memo(game)
    memo.add(some_positions(game, 0, 40))
    keys, every = memo._columns["keys"].array[: len(memo)], np.arange(len(memo))
    keys[:, 0] = 5  # whose last bits are the slot
    memo._slots[:] = -1
    for numbers in np.split(every, [1, 20]):
        memo._place(numbers)
    np.testing.assert_array_equal(memo._find(keys), every)


def test_a_memo_is_of_one_game(tmp_path):
    Memo(mm.PegGame(2, 3), tmp_path / "memo")
    with pytest.raises(mm.MemoError, match="belongs to another game: 2 pegs, 3 colours, not 2 pegs, 4 colours"):
        Memo(mm.PegGame(2, 4), tmp_path / "memo")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").write_text("mine")
    with pytest.raises(mm.MemoError, match="has other files"):
        Memo(mm.PegGame(2, 3), tmp_path / "other")
    for text in ("{}", "no JSON", '{"memo": 3, "game": {"pegs": 2, "colours": 3}}', "[" * 200_000):
        (tmp_path / "memo" / "memo.json").write_text(text)
        with pytest.raises(mm.MemoError, match=r"memo\.json"):
            Memo(mm.PegGame(2, 3), tmp_path / "memo")


@pytest.mark.parametrize("name", ["keys", "starts", "sizes", "bounds", "guesses", "codes", "count"])
@pytest.mark.parametrize("rows", [None, 0, 10])
def test_a_damaged_memo_is_refused(name, rows, tmp_path):
    game, folder = mm.PegGame(3, 4), tmp_path / "memo"
    memo = Memo(game, folder)
    memo.add(some_positions(game, 0, 40))
    memo.close()
    assert len(Memo(game, folder)) == 40
    if rows is None:
        (folder / name).unlink()
    else:
        os.truncate(folder / name, 2 * rows)
    for _ in range(2):  # it is not mended by the first try
        cause = "damaged" if name == "count" else "damaged or missing, of a memo of 40 positions"
        with pytest.raises(mm.MemoError, match=f"{name}: {cause}.*; delete"):
            Memo(game, folder)


def test_a_memo_that_was_not_begun_is_begun(tmp_path):
    """A process may be killed before the card has its name, and before the count has a value."""
    folder = tmp_path / "memo"
    folder.mkdir()
    (folder / f"memo.json{TEMPORARY}").write_text("{")
    Memo(mm.PegGame(2, 3), folder).close()
    for name in ("count", "keys"):
        os.truncate(folder / name, 0)
    assert len(Memo(mm.PegGame(2, 3), folder)) == 0


# ---------------------------------------------------------------------- proofs


SMALL = [
    mm.PegGame(1, 1),
    mm.PegGame(1, 2),
    mm.PegGame(2, 3),
    mm.PegGame(2, 4, repeats=False),
]


@pytest.mark.parametrize("game", SMALL, ids=str)
def test_the_best_strategy_is_proven(game):
    best = fewest_guesses(game)
    found = mm.prove(mm.build(game, "random", key=3))
    assert (found.lower, found.upper, found.proven, found.left) == (best, best, True, ())
    again = mm.prove(found.tree)
    assert again.tree is found.tree and again.proven


def test_words_are_proven():
    game = mm.WordGame(("abba", "baba", "aabb", "abcd", "dcba", "bbca", "acca", "ddda", "cabd"), ("aaaa",))
    assert mm.prove(mm.build(game, "random")).upper == mm.build(game, "optimal").attempts.sum()


def test_a_limit_is_proven_or_the_total_found():
    game, best = GAME, BEST
    everything, nothing = Positions.everything(game), np.zeros((1, 0), np.int32)
    for below in (0, best - 5, best - 1, best, best + 1, best + 10):
        (guess,), (total,) = Search(game).solve(everything, nothing, below)
        assert (guess >= 0) == (below > best)
        assert total == best if below > best else below <= total <= best


def test_without_time_there_are_bounds(tmp_path):
    tree = mm.build(GAME, "random", key=1)
    found = mm.prove(tree, 0.0, tmp_path / "memo")
    assert not found.proven and found.tree is tree and found.lower < found.upper
    assert found.left and all(found.lower <= bound < found.upper for _, bound in found.left)
    done = mm.prove(tree, memo=tmp_path / "memo")
    assert done.proven and done.upper == BEST
    told = []
    again = mm.prove(done.tree, 60, tmp_path / "memo", told.append)
    assert again.proven and again.positions == done.positions


# ---------------------------------------------------------------------- several processes


def test_what_is_found_only_gets_better():
    game = mm.PegGame(3, 4)
    memo = Memo(game)
    numbers, _ = memo.add(some_positions(game, 1, 4), np.array([5, 5, 5, 5]))

    def record(bounds, guesses, states):
        memo.record(numbers, np.array(bounds), np.array(guesses, np.int32), np.array(states, np.uint8))

    record([9, 7, 4, 8], [1, 2, 3, 4], [SCORED, SCORED | PROVEN, SCORED, 0])
    record([8, 7, 6, 8], [5, 6, 7, 8], [0, SCORED, PROVEN, PROVEN])
    record([9, 6, 5, 8], [1, 1, 1, 1], [0, 0, SCORED, SCORED])
    proven, bounds, guesses = memo.results(numbers)
    assert proven.tolist() == [False, True, True, True] and bounds.tolist() == [9, 7, 6, 8]
    assert guesses[1:].tolist() == [2, 7, 8]
    assert memo.states[numbers].tolist() == [SCORED, SCORED | PROVEN, SCORED | PROVEN, PROVEN]
    with pytest.raises(mm.MemoError, match="below a known bound"):
        record([8, 7, 6, 8], [1, 2, 3, 4], [PROVEN] * 4)
    with pytest.raises(mm.MemoError, match="below a known bound"):
        record([9, 7, 6, 9], [1, 2, 3, 4], [0] * 4)
    with pytest.raises(mm.MemoError, match="below a known bound"):
        record([9, 7, 5, 8], [1, 2, 3, 4], [PROVEN] * 4)


#: Adds overlapping positions to a shared memo, and records bounds of them; prints the numbers of all.
WRITER = """
import sys
import numpy as np
import jaxsudoku.mastermind as mm
from jaxsudoku.mastermind import memo as memos
from jaxsudoku.mastermind.positions import Positions

folder, process = sys.argv[1], int(sys.argv[2])
memos._ROWS = 16
game, random, found = mm.PegGame(4, 6), np.random.default_rng(process), []
memo = memos.Memo(game, folder, shared=True)
sets = [np.arange(first, first + size) for first in range(300) for size in range(1, 9)]
for turn in range(100):
    chosen = random.integers(len(sets), size=40) if turn < 80 else np.arange((turn - 80) * 120, (turn - 79) * 120)
    positions = Positions.of([sets[place] for place in chosen])
    numbers, _ = memo.add(positions, positions.sizes)
    assert (memo.take(numbers).codes == positions.codes).all() and (memo.sizes(numbers) == positions.sizes).all()
    proven, bounds, guesses = memo.results(numbers)
    first = positions.codes[positions.bounds[:-1]]
    assert (bounds >= positions.sizes).all() and (bounds[proven] == 1000 + first[proven]).all()
    assert (guesses[proven] == first[proven]).all()
    places = np.unique(numbers, return_index=True)[1]
    exact = random.random(len(places)) < 0.3
    raised = np.where(exact, 1000 + first[places], random.integers(1000, size=len(places)))
    states = np.where(exact, memos.PROVEN, 0).astype(np.uint8)
    memo.record(numbers[places], raised, np.where(exact, first[places], -1), states)
    if turn >= 80:
        found += numbers.tolist()
print(*found)
"""


def test_processes_add_to_one_memo(tmp_path):
    memo = Memo(mm.PegGame(4, 6), tmp_path / "memo", shared=True)
    line = [sys.executable, "-c", WRITER, str(tmp_path / "memo")]
    running = [subprocess.Popen([*line, str(number)], stdout=subprocess.PIPE, text=True) for number in range(2)]
    found = [writer.communicate(timeout=120)[0].split() for writer in running]
    assert [writer.returncode for writer in running] == [0, 0]
    assert found[0] == found[1] and sorted(map(int, found[0])) == list(range(2400)) and len(memo) == 2400
    memo.close()
    again = Memo(mm.PegGame(4, 6), tmp_path / "memo")
    numbers = np.array(found[0], np.int64)
    sets = [np.arange(first, first + size) for first in range(300) for size in range(1, 9)]
    np.testing.assert_array_equal(again.take(numbers).codes, Positions.of(sets).codes)
    np.testing.assert_array_equal(again.add(Positions.of(sets))[0], numbers)


def test_a_memo_that_processes_share_is_of_nobody_else(monkeypatch, tmp_path):
    game = mm.PegGame(2, 3)
    Memo(game, tmp_path / "memo").close()
    shared = [Memo(game, tmp_path / "memo", shared=True) for _ in range(2)]
    monkeypatch.setattr("jaxsudoku.mastermind.memo_folder._PATIENCE", 0.1)
    with pytest.raises(BlockingIOError, match="other processes search with this memo"):
        Memo(game, tmp_path / "memo")
    shared.clear()
    alone = Memo(game, tmp_path / "memo")
    for other in (False, True):
        with pytest.raises(BlockingIOError, match="other processes search with this memo"):
            Memo(game, tmp_path / "memo", shared=other)
    alone.close()
    Memo(game, tmp_path / "memo", shared=True)


def test_a_script_without_a_guard_is_refused(monkeypatch):
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ValueError, match='needs `if __name__ == "__main__":`'):
        mm.prove(mm.build(mm.PegGame(2, 3), "random"), processes=2)


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    mm.save_tree(mm.build(mm.PegGame(2, 3), "random"), tmp_path / "tree.json")
    script = tmp_path / "script.py"
    script.write_text("""
import jaxsudoku.mastermind as mm
mm.prove(mm.load_tree(__file__.replace("script.py", "tree.json")), processes=2)
""")
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert told.returncode == 1
    assert 'needs `if __name__ == "__main__":`' in told.stderr


def test_processes_prove_the_same_total(capsys, path, tmp_path):
    flags = ["--memo", tmp_path / "memo", "--quiet", "--processes", 2]
    code, out, err = run(capsys, path, *flags)
    assert (code, err) == (0, "")
    assert out.startswith(f"3 pegs, 6 colours: {BEST} guesses, which is the best")
    assert not (tmp_path / "memo" / "claims").exists()
    mm.prove(mm.load_tree(path), memo=tmp_path / "other")
    agree(*(Memo(GAME, tmp_path / name) for name in ("memo", "other")))


def agree(memo, other):
    """Compares what two searches have found of the same positions."""
    count = len(memo)
    numbers, new = other.add(memo.take(np.arange(count)))
    assert count - len(new) > 100
    proven, bounds, _ = memo.results(np.arange(count))
    others_proven, others_bounds, _ = other.results(numbers)
    both = proven & others_proven
    assert both.sum() > 100 and (bounds[both] == others_bounds[both]).all()
    assert (bounds <= others_bounds)[others_proven].all() and (others_bounds <= bounds)[proven].all()


@pytest.mark.slow
def test_what_processes_prove_has_a_certificate(tmp_path):
    found = mm.prove(mm.build(mm.PegGame(4, 4), "random"), certificate=tmp_path / "c.npz", processes=2)
    assert check(tmp_path / "c.npz")[1] == found.upper == 905


@pytest.mark.slow
def test_a_process_that_dies_is_started_again():
    tree, killed = mm.build(mm.PegGame(4, 4), "random"), []

    def progress(text):
        if not killed:
            killed.extend(multiprocessing.active_children())
            os.kill(killed[0].pid, signal.SIGKILL)

    found = mm.prove(tree, progress=progress, processes=2)
    assert killed and found.proven and found.upper == 905


def test_processes_that_die_again_and_again_end_the_proof(monkeypatch, capsys, path, tmp_path):
    def died(*arguments):
        raise JobError("workers died 3 times in a row")
        yield

    monkeypatch.setattr("jaxsudoku.runtime.workers.processes.run", died)
    code, out, err = run(capsys, path, "--processes", 2, "--memo", tmp_path / "memo", "--quiet")
    assert (code, out) == (2, "") and "workers died 3 times in a row" in err and "Traceback" not in err
    with pytest.raises(SystemExit):
        run(capsys, path, "--processes", 0)
    assert "--processes: must be at least 1, not 0" in capsys.readouterr().err


@pytest.mark.parametrize("processes", [0, -1, 256, 1.5, "2"])
def test_a_wrong_number_of_processes(processes):
    with pytest.raises(ValueError, match="processes"):
        mm.prove(mm.build(mm.PegGame(2, 3), "random"), processes=processes)


# ---------------------------------------------------------------------- certificates


CERTIFIED = [
    mm.PegGame(2, 3),
    mm.PegGame(3, 5),
    mm.PegGame(4, 4),
    mm.PegGame(3, 5, elsewhere=False),
    mm.PegGame(3, 6, repeats=False),
    mm.PegGame(3, 5, repeats=False, elsewhere=False),
]


@pytest.mark.parametrize(
    "game",
    [
        GAME,
        mm.PegGame(3, 5, elsewhere=False),  # bounds that are known for other labels are claimed, and searched for
        mm.PegGame(2, 4, repeats=False),
        pytest.param(mm.PegGame(3, 5, repeats=False, elsewhere=False), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_certificate_is_checked_without_the_library(game, tmp_path):
    found = mm.prove(mm.build(game, "random"), certificate=tmp_path / "c.npz")
    fields, bound, claims = check(tmp_path / "c.npz")
    assert bound == found.upper and claims >= 1
    assert mm.PegGame(**{name: value for name, value in fields.items() if name != "kind"}) == game


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The arrays of a certificate, with the codes of positions, as in version 2."""
    path = tmp_path_factory.mktemp("certificate") / "c.npz"
    mm.prove(mm.build(GAME, "random"), certificate=path)
    with np.load(path) as file:
        steps = np.split(file["steps"].astype(int), np.cumsum(file["sizes"])[:-1])
        codes = np.concatenate([np.cumsum(some) for some in steps])
        card = file["card"].tobytes().replace(b'"certificate": 3', b'"certificate": 2')
        return {"card": np.frombuffer(card, np.uint8), "codes": codes, "sizes": file["sizes"], "bounds": file["bounds"]}


def totals_of(certificate):
    """The lowest total of each position."""
    sizes = certificate["sizes"]
    positions = Positions.of(np.split(certificate["codes"].astype(np.int32), np.cumsum(sizes)[:-1]))
    return Search(GAME).solve(positions, None)[1]


def test_claims_are_true(certificate):
    bounds, totals = certificate["bounds"], totals_of(certificate)
    assert len(bounds) > 10 and (bounds <= totals).all() and bounds[-1] == totals[-1]


def test_certificates_of_version_2_are_read(certificate, tmp_path):
    np.savez(tmp_path / "c.npz", **certificate)
    assert check(tmp_path / "c.npz")[1:] == (certificate["bounds"][-1], len(certificate["bounds"]))


def test_codes_that_do_not_ascend_are_refused(certificate, tmp_path):
    card = certificate["card"].tobytes().replace(b'"certificate": 2', b'"certificate": 3')
    steps = {"card": np.frombuffer(card, np.uint8), "steps": np.array([1, 0]), "sizes": np.array([2])}
    for wrong in (steps, steps | {"steps": np.array([0, 216])}, steps | {"steps": np.array([2, -1])}):
        np.savez(tmp_path / "c.npz", **wrong, bounds=np.array([3]))
        with pytest.raises(WrongCertificateError, match="no set of codes"):
            check(tmp_path / "c.npz")


def test_a_changed_certificate_is_refused(certificate, tmp_path):
    path, sizes, bounds = tmp_path / "c.npz", certificate["sizes"], certificate["bounds"]
    for claim, total in enumerate(totals_of(certificate)):  # one more than is true
        changed = np.where(np.arange(len(bounds)) == claim, total + 1, bounds)
        np.savez(path, **certificate | {"bounds": changed})
        with pytest.raises(WrongCertificateError, match="are claimed; with the guess"):
            check(path)
    for left in (slice(-1), slice(-1, None), slice(0)):  # without the last claim, without the others, without any
        codes = np.concatenate([np.zeros(0, int), *np.split(certificate["codes"], np.cumsum(sizes)[:-1])[left]])
        np.savez(path, **certificate | {"codes": codes, "sizes": sizes[left], "bounds": bounds[left]})
        message = "no claim is about all codes" if left.start is None else "are claimed; with the guess"
        with pytest.raises(WrongCertificateError, match=message):
            check(path)
    np.savez(path, **certificate | {"codes": certificate["codes"][::-1]})
    with pytest.raises(WrongCertificateError, match="no set of codes"):
        check(path)


@pytest.mark.parametrize("game", CERTIFIED, ids=str)
def test_the_tables_of_the_checker(game):
    rules = Game(to_fields(game))
    np.testing.assert_array_equal(rules.codes, game.codes)
    for images in rules.exchanges:
        np.testing.assert_array_equal(rules.table[images][:, images], rules.table)
    for codes in some_positions(game, 5, 20):
        counts = np.array([len(np.unique(row)) for row in rules.table[:, codes]])
        won, whole = np.isin(np.arange(game.size), codes), counts == 1
        bounds = np.where(whole & ~won, np.iinfo(np.int64).max, 3 * len(codes) - counts - won)
        np.testing.assert_array_equal(rules.bounds_by_parts(codes), bounds)
        first = rules.first_equivalent(codes)
        assert (first <= np.arange(len(first))).all() and (first[first] == first).all()
        parts = np.sort(rules.table[:, codes], axis=1)
        np.testing.assert_array_equal(parts, parts[first])


def test_the_first_equivalent_guesses_are_those_of_the_checker():
    game = GAME
    collector, rules = _Collector(game, Memo(game), lambda text: None), Game(to_fields(game))
    for codes in some_positions(game, 6, 30):
        first = rules.first_equivalent(codes)
        np.testing.assert_array_equal(collector._representatives(codes), np.unique(first))
    everything = np.arange(game.secrets)
    assert game.codes[collector._representatives(everything)].tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 2]]


def test_a_certificate_of_another_version_is_refused(certificate, tmp_path):
    card = certificate["card"].tobytes().replace(b'"certificate": 2', b'"certificate": 9')
    np.savez(tmp_path / "c.npz", **certificate | {"card": np.frombuffer(card, np.uint8)})
    with pytest.raises(WrongCertificateError, match="unknown version"):
        check(tmp_path / "c.npz")


def test_a_file_that_is_no_certificate_is_refused(certificate, tmp_path):
    path = tmp_path / "c.npz"
    with pytest.raises(FileNotFoundError):
        check(path)
    path.write_text("no certificate")
    with pytest.raises(WrongCertificateError, match="no certificate: "):
        check(path)
    np.savez(path, **{name: array for name, array in certificate.items() if name != "sizes"})
    with pytest.raises(WrongCertificateError, match="no certificate: .*sizes"):
        check(path)
    for old, new, message in (
        (b'"pegs": 3', b'"pegs": 16', "from 1 to 15 pegs can be checked, not 16"),
        (b'"total": ', b'"total": 1', "the file is of 1[0-9]+ guesses, and [0-9]+ are claimed"),
    ):
        card = np.frombuffer(certificate["card"].tobytes().replace(old, new), np.uint8)
        np.savez(path, **certificate | {"card": card})
        with pytest.raises(WrongCertificateError, match=message):
            check(path)
    overflowing = {"sizes": np.array([2**62, 2**62, 2**62, 2**62, 1]), "bounds": np.ones(5, int)}
    np.savez(path, **certificate | overflowing, allow_pickle=False)
    with pytest.raises(WrongCertificateError, match="no set of codes"):
        check(path)


def test_what_has_no_certificate_is_refused_at_once(tmp_path):
    tree = mm.build(mm.PegGame(2, 3), "random")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        mm.prove(tree, certificate=tmp_path / "missing" / "c.npz")
    words = mm.Tree(mm.WordGame(("ab", "ba", "cd")), *(np.array([number], np.int32) for number in (0, -1, -1)))
    with pytest.raises(mm.GameError, match="certificates are for games of pegs"):
        mm.prove(words, certificate=tmp_path / "c.npz")
    with pytest.raises(ValueError, match="seconds must be a number"):
        mm.prove(tree, math.nan)


def test_a_better_strategy_is_given_before_the_certificate(tmp_path):
    path, given = tmp_path / "c.npz", []
    found = mm.prove(
        mm.build(GAME, "random"), certificate=path, better=lambda tree: given.append((tree, path.exists()))
    )
    assert given == [(found.tree, False)] and path.exists()
    mm.prove(found.tree, better=given.append)
    assert len(given) == 1


@pytest.mark.parametrize("processes", [1, 2])
def test_a_folder_that_another_search_uses_is_refused(processes, tmp_path):
    tree, folder = mm.build(mm.PegGame(2, 3), "random"), tmp_path / "memo"
    folder.mkdir()
    with OutputLock(folder), pytest.raises(BlockingIOError, match="is writing this output"):
        mm.prove(tree, memo=folder, processes=processes)
    assert mm.prove(tree, memo=folder).proven


def test_a_bound_that_is_not_known_has_no_certificate(tmp_path):
    game = GAME
    with pytest.raises(ValueError, match="the memo has a bound of"):
        save_certificate(game, BEST, Memo(game), tmp_path / "c.npz")
    assert not (tmp_path / "c.npz").exists()


def test_the_certificate_of_the_classic_game():
    fields, bound, _ = check(RESULTS / "mastermind-4x6-5625.npz")
    assert (fields["pegs"], fields["colours"], bound) == (4, 6, 5625)


# ---------------------------------------------------------------------- command


def run(capsys, *arguments):
    """The exit status and both outputs of ``jaxsudoku mastermind prove``."""
    code = main(["mastermind", "prove", *map(str, arguments)])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.fixture
def path(tmp_path):
    """A file with a strategy that isn't the best."""
    mm.save_tree(mm.build(GAME, "random", key=1), tmp_path / "tree.json")
    return tmp_path / "tree.json"


def test_the_better_strategy_is_saved(capsys, path, tmp_path):
    flags = ["--output", tmp_path / "best.json", "--certificate", tmp_path / "best.npz"]
    code, out, err = run(capsys, path, *flags, "--quiet")
    assert (code, err) == (0, "")
    assert check(tmp_path / "best.npz")[1] == BEST
    assert out.startswith(f"3 pegs, 6 colours: {BEST} guesses, which is the best; mean {BEST / 216:.4f}\n")
    assert mm.load_tree(tmp_path / "best.json").attempts.sum() == BEST
    assert run(capsys, path, "--output", tmp_path / "best.json", "--quiet")[0] == 2  # exists


def test_a_memo_is_continued_with_resume(capsys, path, tmp_path):
    memo = tmp_path / "memo"
    assert run(capsys, path, "--resume")[0] == 2
    code, out, err = run(capsys, path, "--memo", memo, "--hours", 1e-9, "--certificate", tmp_path / "c.npz")
    assert code == 0 and "no certificate is written" in err and not (tmp_path / "c.npz").exists()
    lower, upper = map(
        int, re.match(r"3 pegs, 6 colours: between (\d+) and (\d+) guesses, no proof yet\n", out).groups()
    )
    assert lower < upper and re.search(r"from 112: \d+ or more\n", out)
    code, _, err = run(capsys, path, "--memo", memo)
    assert code == 2 and "isn't empty: continue from it with --resume" in err
    with OutputLock(memo):
        code, _, err = run(capsys, path, "--memo", memo, "--resume")
    assert code == 2 and "Traceback" not in err
    assert "which is the best" in run(capsys, path, "--memo", memo, "--resume", "--quiet")[1]
    mm.save_tree(mm.build(mm.PegGame(2, 3), "random"), path)
    code, _, err = run(capsys, path, "--memo", memo, "--resume")
    assert code == 2 and "belongs to another game" in err


@pytest.mark.slow
def test_a_killed_search_goes_on(tmp_path):
    tree, memo = tmp_path / "tree.json", tmp_path / "memo"
    mm.save_tree(mm.build(mm.PegGame(4, 5), "random"), tree)
    line = [sys.executable, "-m", "jaxsudoku", "mastermind", "prove", str(tree), "--memo", str(memo), "--quiet"]
    line += ["--processes", "2"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as running:
        until = time.monotonic() + 120
        # The file is there, and empty, before a number is in it.
        while not (memo / "count").exists() or np.fromfile(memo / "count", np.int64).sum() < 1000:
            assert running.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        os.kill(running.pid, signal.SIGKILL)
    done = subprocess.run([*line, "--resume"], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.startswith("4 pegs, 5 colours: 2,463 guesses, which is the best; mean 3.9408\n")
