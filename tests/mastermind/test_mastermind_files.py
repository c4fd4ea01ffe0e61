"""Files of Mastermind that are damaged, hostile, or on a full disk: memos of searches, certificates, strategies."""

from __future__ import annotations

import errno
import functools
import itertools
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from mastermind_checker import WrongCertificateError, check

import jaxsudoku.mastermind as mm
from jaxsudoku.cli import main
from jaxsudoku.mastermind import proof
from jaxsudoku.mastermind.certificate import save_certificate
from jaxsudoku.mastermind.checksums import checked_words, flags_of, intact, numbers_of
from jaxsudoku.mastermind.mapped_files import Column
from jaxsudoku.mastermind.memo import PROVEN, Memo
from jaxsudoku.mastermind.optimal import Search
from jaxsudoku.mastermind.positions import Positions
from jaxsudoku.mastermind.values import LearnedValue, ValueFileError
from jaxsudoku.runtime.files import TEMPORARY, with_checksum

#: A small game, with the total of the best strategy and that of a strategy that is worse.
GAME, BEST = mm.PegGame(2, 3), 21

FILES = ["keys", "starts", "sizes", "bounds", "guesses", "codes", "count", "memo.json"]


@functools.cache
def worse() -> mm.Tree:
    """A strategy that is not the best."""
    tree = next(tree for key in range(100) if (tree := mm.build(GAME, "random", key=key)).attempts.sum() > BEST)
    assert tree.attempts.sum() == 22
    return tree


@functools.cache
def known() -> dict[str, bytes]:
    """The files of the memo of a proof, without the rows that are not used."""
    with tempfile.TemporaryDirectory() as folder:
        assert mm.prove(worse(), memo=Path(folder, "memo")).upper == BEST
        found = {name: Path(folder, "memo", name).read_bytes() for name in FILES}
    count = int.from_bytes(found["count"][:8], "little")
    width = {"keys": 16, "sizes": 4, "codes": 2, "memo.json": 1, "count": 8}
    used = dict.fromkeys(("keys", "starts", "sizes", "bounds", "guesses"), count)
    codes = int(np.frombuffer(found["sizes"], np.int32).sum())
    used |= {"codes": codes, "count": 3, "memo.json": len(found["memo.json"])}
    return {name: data[: used[name] * width.get(name, 8)] for name, data in found.items()}


def written(folder, files):
    """The folder of a memo with some files."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


# ---------------------------------------------------------------------- damaged memos


@pytest.mark.parametrize("name", ["keys", "starts", "sizes", "bounds", "guesses", "codes", "count"])
def test_every_flipped_bit_of_a_memo_is_found(name, tmp_path):
    folder, data = written(tmp_path / "memo", known()), known()[name]
    memo = Memo(GAME, folder)
    assert len(memo) == 2
    memo.close()
    for bit in range(8 * len(data)):
        if name == "count" and data[bit // 64 * 8 : bit // 64 * 8 + 8] == bytes(8):
            continue  # the checksum that there is room for
        (folder / name).write_bytes(flipped(data, bit))
        with pytest.raises(mm.MemoError, match=rf"{folder}/\w+: damaged.*; delete the folder"):
            Memo(GAME, folder)
    (folder / name).write_bytes(data)
    Memo(GAME, folder)


def test_a_proof_that_a_flipped_bit_makes_wrong_is_refused(tmp_path):
    folder = written(tmp_path / "memo", known())
    words = np.frombuffer(known()["bounds"], np.uint64).copy()
    words[0] ^= np.uint64(3)  # the bound of all codes, 21, is 22
    (folder / "bounds").write_bytes(words.tobytes())
    with pytest.raises(mm.MemoError, match="bounds: damaged: position 0 has another checksum"):
        mm.prove(worse(), memo=folder, certificate=tmp_path / "c.npz")
    assert not (tmp_path / "c.npz").exists()


@pytest.mark.parametrize(
    ("name", "change", "cause"),
    [
        ("keys", lambda array: array * 0, "keys: damaged: position 0 has another key than its codes"),
        ("codes", lambda array: array + 9, "codes: damaged: position 0 is no set of codes"),
        ("codes", lambda array: array[::-1], "codes: damaged: position 0 is no set of codes"),
        ("count", lambda array: array + np.array([1, 0, 0]), "count: damaged: [0-9]+ has another checksum"),
        ("count", lambda array: array * np.array([0, 1, 1]), "count: damaged: 0 has another checksum"),
        ("count", lambda array: array * np.array([-1, 1, 1]), "count: damaged: -[0-9]+ has another checksum"),
        ("count", lambda array: array * 0, "count: damaged or missing, of a memo that has positions"),
        ("count", lambda array: array + np.array([2**40, 0, 0]), "count: damaged"),
        ("starts", lambda array: array + 2**40, "starts: damaged: position 0 does not begin where"),
        ("starts", lambda array: -array, "starts: damaged: position 1 does not begin where"),
        ("sizes", lambda array: array * 0, "sizes: damaged: position 0 has no such number of codes"),
        ("sizes", lambda array: array * 0 + 2**30, "sizes: damaged: position 0 has no such number of codes"),
        ("sizes", lambda array: -array, "sizes: damaged: position 0 has no such number of codes"),
        ("bounds", lambda array: array[::-1], "bounds: damaged: position 0 has another checksum"),
        ("guesses", lambda array: array * 0, "guesses: damaged: position 0 has another checksum"),
        ("memo.json", lambda array: array[:0] + 0, "memo.json is not the card of a memo"),
    ],
)
def test_what_is_damaged_is_named(name, change, cause, tmp_path):
    kinds = {"codes": np.uint16, "sizes": np.int32, "count": np.int64, "starts": np.int64, "memo.json": np.uint8}
    dtype = kinds.get(name, np.uint64)
    array = np.frombuffer(known()[name], dtype)
    changed = np.asarray(change(array)).astype(dtype).tobytes()
    folder = written(tmp_path / "memo", known() | {name: changed})
    with pytest.raises(mm.MemoError, match=cause):
        mm.prove(worse(), memo=folder)


def check_damage(folder, random) -> bool:
    """Proves with a memo of which something is damaged; whether that is found. All else that it finds is true."""
    files = known()
    name = FILES[random.integers(len(FILES))]
    data = bytearray(files[name])
    place, length = int(random.integers(len(data))), int(random.integers(1, 9))
    kind = random.integers(4)
    if kind == 0:
        data = data[:place]
    elif kind == 1:
        data[place : place + length] = random.bytes(length)
    elif kind == 2:
        data[place : place + length] = bytes(length)
    else:
        data[place] ^= 1 << random.integers(8)
    written(folder, files | {name: bytes(data)})
    path = folder.with_suffix(".npz")
    try:
        found = mm.prove(worse(), memo=folder, certificate=path)
    except ValueError as error:
        assert isinstance(error, mm.MemoError) and str(folder) in str(error) and not path.exists()
        return True
    assert found.proven and found.upper == BEST and check(path)[1] == BEST
    path.unlink()
    return False


@pytest.mark.parametrize("number", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_damaged_memo_proves_what_is_false(number, tmp_path):
    random = np.random.default_rng(number)
    found = sum(check_damage(tmp_path / str(turn), random) for turn in range(number))
    assert found > 0.6 * number


def test_a_large_memo_is_checked_block_by_block(monkeypatch, tmp_path):
    monkeypatch.setattr("jaxsudoku.mastermind.memo._CODES", 7)
    folder, game = tmp_path / "memo", mm.PegGame(3, 4)
    memo = Memo(game, folder)
    sets = [np.arange(start, start + size) for start in range(40) for size in (1, 3, 20)]
    memo.add(Positions.of(sets))
    memo.close()
    Memo(game, folder).close()
    for row in (0, 1, 59, 118, 119):
        for name, place in (("bounds", 8 * row), ("codes", 2 * sum(map(len, sets[:row])) + 1)):
            data = (folder / name).read_bytes()
            (folder / name).write_bytes(flipped(data, 8 * place + 3))
            with pytest.raises(mm.MemoError, match=f"{name}: damaged: position {row} "):
                Memo(game, folder)
            (folder / name).write_bytes(data)


def test_a_memo_of_an_earlier_version_is_refused(tmp_path):
    card = json.loads(known()["memo.json"]) | {"memo": 1}
    folder = written(tmp_path / "memo", known() | {"memo.json": json.dumps(card).encode()})
    with pytest.raises(mm.MemoError, match=r"memo\.json: a memo without checksums, of an earlier version"):
        Memo(GAME, folder)


def test_a_bound_above_a_strategy_is_refused(tmp_path):
    memo = Memo(GAME, tmp_path / "memo")
    root, _ = memo.add(Positions.of([np.arange(9)]))
    memo.raise_bounds(root, np.array([24]))
    memo.close()
    with pytest.raises(mm.MemoError, match="a strategy takes 22 guesses, which the memo's bound of 24 excludes"):
        mm.prove(worse(), memo=tmp_path / "memo")


def test_errors_of_up_to_two_bits_of_a_word_are_found():
    random = np.random.default_rng(1)
    keys = random.integers(1 << 64, size=50, dtype=np.uint64)
    numbers, flags = random.integers(-5, 1 << 31, size=50).astype(np.int32), random.integers(4, size=50)
    words = checked_words(numbers, flags, keys)
    np.testing.assert_array_equal(numbers_of(words), numbers)
    np.testing.assert_array_equal(flags_of(words), flags)
    assert intact(words, keys).all() and not intact(words, np.roll(keys, 1)).any()
    single = [1 << bit for bit in range(64)]
    double = [one | other for one, other in itertools.combinations(single, 2)]
    for change in single + double:
        assert not intact(words ^ np.uint64(change), keys).any()


# ---------------------------------------------------------------------- processes that are killed


def positions_of(random) -> Positions:
    game = mm.PegGame(3, 4)
    sizes = random.integers(1, 9, size=4)
    return Positions.of(np.sort(random.choice(game.secrets, size, replace=False)) for size in sizes)


class Killed(BaseException):
    """The end of a process."""


def killed_at(line: int, function) -> bool:
    """Calls a function that ends at the n-th line of the memo's module; whether it ended there."""
    left = line

    def trace(frame, event, argument):
        nonlocal left
        if not frame.f_code.co_filename.endswith(("memo.py", "mapped_files.py")):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise Killed
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except Killed:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_a_memo_is_whole_wherever_its_process_is_killed(step, monkeypatch, tmp_path):
    monkeypatch.setattr("jaxsudoku.mastermind.memo._ROWS", 8)
    monkeypatch.setattr("jaxsudoku.mastermind.memo._CODES", 5)
    game, line, killed = mm.PegGame(3, 4), 0, True
    while killed:
        line, random, folder = line + step, np.random.default_rng(line), tmp_path / str(line)
        memos = []

        def work(random=random, folder=folder, memos=memos):
            memo = Memo(game, folder)
            memos.append(memo)
            for _ in range(3):
                numbers = np.unique(memo.add(positions_of(random))[0])
                bounds = memo.bounds[numbers] + 1
                states = np.where(memo.states[numbers] & PROVEN, 0, 2 * (numbers % 2)).astype(np.uint8)
                bounds = np.where(memo.states[numbers] & PROVEN, memo.bounds[numbers], bounds)
                memo.record(numbers, bounds, np.full(len(numbers), 7, np.int32), states)

        killed = killed_at(line, work)
        for memo in memos:
            memo.close()
        again = Memo(game, folder)  # which checks all of it
        assert len(again) >= (len(memos[0]) if memos else 0)
        again.close()
    assert line > 100


#: Adds positions to a memo and records bounds of them, for ever.
WRITER = """
import sys
import numpy as np
import jaxsudoku.mastermind as mm
from jaxsudoku.mastermind.memo import Memo
from jaxsudoku.mastermind.positions import Positions

game, random = mm.PegGame(4, 6), np.random.default_rng(int(sys.argv[2]))
memo = Memo(game, sys.argv[1], shared=True, checked=len(sys.argv) > 3)
print(flush=True)
while True:
    sizes = random.integers(1, 9, size=30)
    numbers, _ = memo.add(Positions.of(np.sort(random.choice(1296, size, replace=False)) for size in sizes))
    numbers = np.unique(np.concatenate([numbers, random.integers(len(memo), size=3000)]))
    proven = (memo.states[numbers] & 2) > 0
    memo.record(numbers[~proven], memo.bounds[numbers[~proven]] + 1, numbers[~proven].astype(np.int32),
                (2 * (random.random((~proven).sum()) < 0.01)).astype(np.uint8))
"""


@pytest.mark.slow
def test_a_memo_is_whole_whenever_its_process_is_killed(tmp_path):
    folder, random, sizes = tmp_path / "memo", np.random.default_rng(5), [0]
    for turn in range(20):
        line = [sys.executable, "-c", WRITER, str(folder), str(turn)]
        with subprocess.Popen(line, stdout=subprocess.PIPE) as running:
            running.stdout.readline()
            time.sleep(random.random() / 2)
            os.kill(running.pid, signal.SIGKILL)
        memo = Memo(mm.PegGame(4, 6), folder)
        sizes.append(len(memo))
        memo.close()
    assert sizes == sorted(sizes) and sizes[-1] > 1000


# ---------------------------------------------------------------------- certificates of false bounds


@pytest.mark.parametrize(
    ("game", "step"),
    [
        (mm.PegGame(2, 3), 1),
        (mm.PegGame(3, 4, repeats=False), 7),
        pytest.param(mm.PegGame(3, 4, repeats=False), 1, marks=pytest.mark.slow),
        pytest.param(mm.PegGame(3, 4, elsewhere=False), 3, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_certificate_of_a_memo_with_false_bounds_is_right_or_refused(game, step, tmp_path):
    refused = 0
    everything, nothing = Positions.everything(game), np.zeros((1, 0), np.int32)

    def memo_of(row: int, more: int) -> tuple[Memo, int]:
        memo = Memo(game)
        Search(game, memo=memo).solve(everything, nothing)
        total = int(memo.bounds[0])
        if row < len(memo):
            memo._write("bounds", np.array([row]), memo.bounds[[row]] + more, memo.states[[row]])
        return memo, total

    whole, total = memo_of(0, 0)
    save_certificate(game, total, whole, tmp_path / "c.npz")
    assert check(tmp_path / "c.npz")[1] == total
    for row, more in itertools.product(range(0, len(whole), step), (1, 3)):
        for claimed in (total, total + more):
            memo, _ = memo_of(row, more)
            path = tmp_path / f"{row}-{more}-{claimed}.npz"
            try:
                save_certificate(game, claimed, memo, path)
            except ValueError as error:
                assert re.match("the memo has a bound of|a proven total is below", str(error))
                assert not path.exists()
                refused += 1
            else:
                assert claimed == total and check(path)[1] == total
    assert refused >= len(whole) / step


# ---------------------------------------------------------------------- damaged certificates


@functools.cache
def certificate() -> bytes:
    """A file of a few claims."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.npz")
        mm.prove(worse(), certificate=path)
        return path.read_bytes()


@pytest.mark.parametrize("number", [60, pytest.param(4000, marks=pytest.mark.slow)])
def test_damaged_certificates_are_refused(number, tmp_path):
    data, path, random = certificate(), tmp_path / "c.npz", np.random.default_rng(number)
    path.write_bytes(data)
    fields, total, claims = check(path)
    refused = 0
    for _ in range(number):
        changed, place = bytearray(data), int(random.integers(len(data)))
        kind = random.integers(4)
        if kind == 0:
            changed = changed[:place]
        elif kind == 1:
            changed[place : place + 4] = random.bytes(4)
        else:  # the headers of the archive are where most errors of other kinds come from
            headers = [match.start() for match in re.finditer(b"PK", data)]
            place = place if kind == 2 else min(int(random.choice(headers) + random.integers(46)), len(data) - 1)
            changed[place] ^= 1 << random.integers(8)
        path.write_bytes(changed)
        try:
            found = check(path)
        except WrongCertificateError as error:
            assert str(error).startswith(f"{path}: ")
            refused += 1
        else:
            assert found == (fields, total, claims), "what is not read may be damaged"
    assert refused > 0.6 * number


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"card": b"[" * 200_000}, "no certificate: RecursionError"),
        ({"card": b"7"}, "no certificate: TypeError"),
        ({"pegs": 15}, "from 1 to 131072 codes can be checked, not 14348907"),
        ({"pegs": 3.0}, "pegs and colours are numbers"),
        ({"colours": 10**9}, "can't be checked"),
        ({"colours": 0}, "can't be checked"),
        ({"total": "40"}, "the total '40' is no whole number"),
        ({"sizes": np.array([0.5])}, "sizes is no list of whole numbers"),
        ({"bounds": np.zeros((2, 2), int)}, "bounds is no list of whole numbers"),
        ({"bounds": np.array(["9"])}, "bounds is no list of whole numbers"),
        ({"sizes": np.array([None])}, "no certificate: ValueError"),
    ],
)
def test_certificates_with_odd_content_are_refused(change, cause, tmp_path):
    (tmp_path / "c.npz").write_bytes(certificate())
    with np.load(tmp_path / "c.npz") as file:
        arrays = dict(file)
    card = json.loads(arrays["card"].tobytes())
    for name, value in change.items():
        if name in ("pegs", "colours"):
            card["game"][name] = value
        elif name == "total":
            card[name] = value
    arrays["card"] = np.frombuffer(json.dumps(card).encode(), np.uint8)
    arrays |= {name: value for name, value in change.items() if isinstance(value, np.ndarray)}
    if isinstance(change.get("card"), bytes):
        arrays["card"] = np.frombuffer(change["card"], np.uint8)
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(WrongCertificateError, match=cause):
        check(tmp_path / "c.npz")


def test_certificates_that_others_compress_or_encrypt_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    data = certificate()
    for place, value in ((8, 99), (6, 1)):  # the method, and the flag of an encrypted member, of each header
        changed = bytearray(data)
        for mark, further in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
            for match in re.finditer(re.escape(mark), data):
                changed[match.start() + place + further] = value
        path.write_bytes(changed)
        with pytest.raises(WrongCertificateError, match="no certificate: (NotImplementedError|RuntimeError)"):
            check(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("card.npy", b"no array")
    with pytest.raises(WrongCertificateError, match="no certificate: "):
        check(path)


# ---------------------------------------------------------------------- damaged strategies, search trees and values


def strategy(path):
    mm.save_tree(worse(), path)
    return mm.load_tree, mm.TreeError


def search_tree(path):
    tree = mm.SearchTree(GAME)
    tree.train(30)
    tree.save(path)
    return mm.SearchTree.load, mm.SearchTreeError


def value(path):
    path.write_bytes((resources.files("jaxsudoku") / "mastermind" / "trained" / "value.safetensors").read_bytes())
    return LearnedValue.load, ValueFileError


@pytest.mark.parametrize("number", [30, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "written"), [("t.json", strategy), ("t.json.gz", strategy), ("s.json", search_tree), ("v", value)]
)
def test_damaged_files_are_refused(name, written, number, tmp_path):
    path, random, refused = tmp_path / name, np.random.default_rng(number), 0
    load, kind = written(path)
    data = path.read_bytes()
    for _ in range(number):
        changed, place = bytearray(data), int(random.integers(min(len(data), 3000)))  # the header of values
        turn = random.integers(3)
        if turn == 0:
            changed = changed[:place]
        elif turn == 1:
            changed[place : place + 3] = random.bytes(3)
        else:
            changed[place] ^= 1 << random.integers(8)
        path.write_bytes(changed)
        try:
            load(path)  # a strategy without a checksum may have become another one, a value a similar one
        except kind as error:
            assert str(error).startswith(f"{path}: ")
            refused += 1
    assert refused > 0.6 * number


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"visits": [[-1] * 9]}, "a number of visits is a number from 0 to"),
        ({"visits": [[10**30] * 9]}, "a number of visits is a whole number|int too large"),
        ({"totals": [[0.5] * 9]}, "a number of guesses is a whole number"),
        ({"places": [[-1] * 9]}, "a place is a number from 0 to 8, not -1"),
        ({"parents": [[-1, 0, 0]]}, "a node is a number from 0 to 0, not -1"),
        ({"parents": [[0, -1, 0]]}, "a place is a number from 0 to 8, not -1"),
        ({"parents": [[0, 0, -1]]}, "a feedback is a number from 0 to 4, not -1"),
        ({"exploration": 10**400}, "exploration must be finite"),
        ({"game": {"pegs": 10**4000, "colours": 2, "repeats": True}}, "pegs must be at most 255"),
        (
            {"game": {"kind": "words", "words": ["a" * 100_000]}},
            r"words of 100000 letters have 3\^100000 feedbacks",
        ),
    ],
)
def test_search_trees_with_odd_content_are_refused(change, cause, tmp_path):
    path = tmp_path / "s.json"
    search_tree(path)
    fields = json.loads(path.read_text())
    del fields["checksum"]
    for name, rows in change.items():
        if name in ("visits", "totals", "places", "parents"):
            fields[name][: len(rows)] = rows
        else:
            fields[name] = rows
    path.write_bytes(with_checksum(fields))
    with pytest.raises(mm.SearchTreeError, match=rf"{path}: not a search tree: .*({cause})"):
        mm.SearchTree.load(path)
    if "game" in change:
        strategy(path)
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(mm.TreeError, match=f"{path}: {cause}"):
            mm.load_tree(path)


# ---------------------------------------------------------------------- a full disk


def test_a_full_disk_is_told(capsys, monkeypatch, tmp_path):
    def full(file, offset, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    mm.save_tree(worse(), tmp_path / "tree.json")
    monkeypatch.setattr("os.posix_fallocate", full)
    line = ["mastermind", "prove", str(tmp_path / "tree.json"), "--memo", str(tmp_path / "memo"), "--quiet"]
    code = main(line)
    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert re.fullmatch(
        rf"jaxsudoku: error: {tmp_path}/memo/count: no room for 24 bytes \(No space left on device\)\n", err
    )
    monkeypatch.undo()
    assert main([*line, "--resume"]) == 0


def test_a_limit_on_the_size_of_files_is_told(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    memo = Memo(GAME, tmp_path / "memo")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(OSError, match=r"no room for 2,097,152 bytes \(File too large\).*memo/keys"):
            Memo(GAME, tmp_path / "large").add(Positions.of([np.arange(2)]))
            memo._columns["keys"].grow(1 << 17)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    numbers, _ = memo.add(Positions.of([np.arange(3)]))
    assert memo.take(numbers).codes.tolist() == [0, 1, 2]


def test_every_byte_of_a_column_has_a_place_on_the_disk(tmp_path):
    path = tmp_path / "column"
    with open(path, "wb") as file:
        file.truncate(1 << 20)  # a hole, as a copy may have
    column = Column(path, np.dtype(np.int64), 0)
    assert 512 * path.stat().st_blocks >= 1 << 20
    column.grow((1 << 17) + 1)
    assert len(column.array) == 1 << 18 and 512 * path.stat().st_blocks >= 1 << 21


def test_where_space_can_not_be_reserved_it_is_written(monkeypatch, tmp_path):
    monkeypatch.delattr("os.posix_fallocate")
    column = Column(tmp_path / "column", np.dtype(np.int64), 5)
    column.array[:] = np.arange(5)
    column.grow(1 << 18)
    assert column.array[:5].tolist() == [0, 1, 2, 3, 4] and not column.array[5:].any()
    assert 512 * (tmp_path / "column").stat().st_blocks >= 1 << 21


# ---------------------------------------------------------------------- files of others


@pytest.mark.parametrize("name", [*FILES, "claims", f"memo.json{TEMPORARY}"])
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_what_is_no_file_of_the_memo_is_refused(name, kind, tmp_path):
    folder, victim = tmp_path / "memo", tmp_path / "victim"
    Memo(GAME, folder).close()
    victim.write_bytes(b"not to be changed")
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to(victim if kind == "link" else tmp_path / "new")
    what = "a symbolic link" if kind in ("link", "dangling") else "no regular file"
    for processes in (1, 2):
        with pytest.raises(mm.MemoError, match=rf"{folder / name}: {what}; a memo needs"):
            mm.prove(worse(), memo=folder, processes=processes)
    assert victim.read_bytes() == b"not to be changed" and not (tmp_path / "new").exists()


def test_a_link_that_is_made_after_the_check_is_not_followed(monkeypatch, tmp_path):
    monkeypatch.setattr("jaxsudoku.mastermind.memo_folder._checked_entries", lambda folder: set())
    (tmp_path / "victim").write_bytes(b"not to be changed")
    Memo(GAME, tmp_path / "memo").close()
    for name in FILES:
        os.replace(tmp_path / "memo" / name, tmp_path / "kept")
        (tmp_path / "memo" / name).symlink_to(tmp_path / ("kept" if name == "memo.json" else "victim"))
        for shared in (False, True):
            with pytest.raises(OSError, match=f"symbolic links: .*{name}"):
                Memo(GAME, tmp_path / "memo", shared)
        os.replace(tmp_path / "kept", tmp_path / "memo" / name)
    assert (tmp_path / "victim").read_bytes() == b"not to be changed"


# ---------------------------------------------------------------------- time


def test_the_date_of_the_machine_does_not_end_a_search(monkeypatch, tmp_path):
    game, upper, bounds = mm.PegGame(3, 4), 400, []
    for date, left in ((0.0, 600), (1e12, 600), (0.0, -1), (1e12, -1), (1e12, math.inf)):
        folder = tmp_path / f"{date}-{left}"
        Memo(game, folder).close()
        with monkeypatch.context() as changed:
            changed.setattr("time.time", lambda date=date: date)
            proof._Task(game, upper, time.monotonic() + left, folder)._search(proof._Place(0, 1))
        memo = Memo(game, folder)
        bounds.append(int(memo.bounds[proof._root(game, memo)]))
    assert bounds[0] == bounds[1] == bounds[4] == 206 and bounds[2] == bounds[3] < 206
