"""Data sets: the same files however often a build is stopped, refusals in words, batches that follow from the key."""

import hashlib
import io
import itertools
import json
import os
import zipfile

import jax
import numpy as np
import pytest
from reference import is_solution, solutions

from jaxsudoku import datasets
from jaxsudoku.core.board import Board
from jaxsudoku.datasets import DatasetError, builder, shards
from jaxsudoku.datasets.builder import excluded_hashes
from jaxsudoku.datasets.card import FORMATS, Shard, options_of
from jaxsudoku.generation import GenerateConfig, GenerationError, Generator, Puzzles
from jaxsudoku.io.parquet import import_pyarrow
from jaxsudoku.runtime.files import with_checksum, write_file

BOARD, NINE = Board.classic(4), Board.classic()
#: Shards of few puzzles, all of which one program makes.
SETTINGS = {"board": BOARD, "seed": 3, "shard_size": 8}
COUNT = 30


def described(file, puzzles, data):
    """The entry of a shard on a card."""
    return Shard(file, puzzles, len(data), hashlib.sha256(data).hexdigest())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Data sets that nothing interrupted, by format."""
    root = tmp_path_factory.mktemp("built")
    return {format: datasets.build(root / format, COUNT, format=format, **SETTINGS) for format in FORMATS}


@pytest.fixture
def mine(built, tmp_path):
    """A data set to spoil."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, data in contents(built["npz"].folder).items():
        (folder / name).write_bytes(data)
    return folder


# ---------------------------------------------------------------------- round trips


@pytest.mark.parametrize("format", FORMATS)
def test_round_trip(built, format):
    dataset = built[format]
    made = Generator(3, BOARD, GenerateConfig()).make(0, COUNT)
    for part, original in zip(dataset.arrays(), made, strict=True):
        np.testing.assert_array_equal(part, original)
        assert part.dtype == original.dtype
    assert (len(dataset), dataset.board) == (COUNT, BOARD)
    assert sorted(contents(dataset.folder)) == ["card.json", *(f"shard-{number:05}.{format}" for number in range(4))]
    np.testing.assert_array_equal(dataset.shard(3).puzzles, made.puzzles[24:])
    datasets.load(dataset.folder, verify=True)


@pytest.mark.parametrize("format", FORMATS)
def test_building_again_gives_the_same_bytes(built, format, tmp_path):
    datasets.build(tmp_path / "again", COUNT, format=format, **SETTINGS)
    assert contents(tmp_path / "again") == contents(built[format].folder)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("board", [BOARD, NINE, Board.classic(12)], ids=str)
def test_shards_of_any_board(board, format, tmp_path):
    rng = np.random.default_rng(0)
    puzzles = Puzzles(
        *rng.integers(0, board.side + 1, (2, 5, board.cells)).astype(np.uint8),
        np.arange(5, dtype=np.int32),
        np.array([0, 0.5, 1, 2, np.inf], np.float32),
    )
    data = shards.encode(puzzles, board, format)
    shard = described(f"shard-00002.{format}", 5, data)
    write_file(tmp_path / shard.file, data)
    assert data == shards.encode(puzzles, board, format)
    stored = puzzles._replace(rating=np.nan_to_num(puzzles.rating))  # a search that was cut off
    for part, original in zip(shards.read(shard, tmp_path, board, format), stored, strict=True):
        np.testing.assert_array_equal(part, original)
        assert part.dtype == original.dtype


def test_npz_has_no_dates(built):
    with zipfile.ZipFile(built["npz"].folder / "shard-00000.npz") as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_card(built):
    dataset = built["npz"]
    card = json.loads((dataset.folder / "card.json").read_text())
    assert (card["version"], card["seed"], card["count"], card["shard_size"]) == (3, 3, 30, 8)
    assert card["board"] == {"name": "4x4 with 2x2 boxes", "side": 4, "box": [2, 2], "regions": [], "extra": []}
    assert card["made_with"]["jax"] == jax.__version__
    assert [shard["puzzles"] for shard in card["shards"]] == [8, 8, 8, 6]
    made = dataset.arrays()
    assert dataset.card.clues == {clues: made.clues.tolist().count(clues) for clues in sorted({*made.clues.tolist()})}
    assert dataset.card.grades == {"easy": COUNT, "medium": 0, "hard": 0, "very hard": 0, "extreme": 0}
    assert list(card["clues"].values()) == list(dataset.card.clues.values())


@pytest.mark.parametrize(
    "board", [Board.jigsaw("aaab cabb ccdb cddd"), Board.diagonal(4), Board.windoku(), Board.classic(6)], ids=str
)
def test_cards_know_their_board(board, tmp_path):
    options = options_of(GenerateConfig(clues=(np.int64(5), 7), rating=(1, np.inf)))
    card = datasets.Card(1, board, options, None, 3, 2, "npz", {})
    (tmp_path / "card.json").write_bytes(card.encode())
    assert datasets.Card.read(tmp_path / "card.json") == card
    assert card.options["clues"] == [5, 7] and card.options["rating"] == [1.0, None]


def test_grades():
    ratings = np.array([[0, 0.125, 1.875], [2, 9.875, 10], [49.875, 50, 30000]], np.float32)
    names = [[datasets.GRADES[grade] for grade in row] for row in datasets.grade(ratings)]
    assert names == [["easy", "medium", "medium"], ["hard", "hard", "very hard"], ["very hard", "extreme", "extreme"]]


def test_progress_is_told(tmp_path):
    told = []
    datasets.build(tmp_path / "set", COUNT, progress=lambda *numbers: told.append(numbers), **SETTINGS)
    assert told == [(8, 30), (16, 30), (24, 30), (30, 30)]


# ---------------------------------------------------------------------- stopped and resumed


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("format", ["npz", pytest.param("parquet", marks=pytest.mark.slow)])
def test_stopped_at_any_step_and_resumed(format, tmp_path, monkeypatch):
    """Steps are the renamings: a build dies before one, with the file half written, or right after it."""
    replace, count = os.replace, 12
    unbroken = contents(datasets.build(tmp_path / "unbroken", count, format=format, **SETTINGS).folder)
    for number in itertools.count():
        steps = itertools.count()

        def dying(source, target, number=number, steps=steps):
            if next(steps) != number // 2:
                replace(source, target)
                return
            if number % 2:
                replace(source, target)
            else:
                os.truncate(source, os.path.getsize(source) // 2)
            raise Killed

        folder = tmp_path / str(number)
        monkeypatch.setattr(os, "replace", dying)
        try:
            datasets.build(folder, count, format=format, **SETTINGS)
        except Killed:
            if "card.json" not in contents(folder) and "plan.json" in contents(folder):
                with pytest.raises(DatasetError, match="unfinished, with .* of 12 puzzles; build it with resume=True"):
                    datasets.load(folder)
        else:
            assert number == 12  # the plan, the card, and for each of two shards its file and its record
            return
        monkeypatch.setattr(os, "replace", replace)
        datasets.build(folder, count, format=format, resume=True, **SETTINGS)
        assert contents(folder) == unbroken


def test_what_is_made_is_told(mine, built):
    (mine / "shard-00001.npz").unlink()
    told, made = [], []
    datasets.build(
        mine, COUNT, resume=True, made=made.append, progress=lambda *numbers: told.append(numbers), **SETTINGS
    )
    (only,) = made
    np.testing.assert_array_equal(only.puzzles, built["npz"].shard(1).puzzles)
    assert told == [(8, 30), (16, 30), (24, 30), (30, 30)]


def test_files_that_are_not_ours_stay(mine):
    (mine / "shard-00003.npz").unlink()
    (mine / "notes.tmp").write_text("mine")
    (mine / "plan.json.tmp").write_text("mine")
    datasets.build(mine, COUNT, resume=True, **SETTINGS)
    assert (mine / "notes.tmp").read_text() == (mine / "plan.json.tmp").read_text() == "mine"


def test_two_builds_at_once_are_refused(mine, tmp_path):
    settings = SETTINGS | {"shard_size": 30}

    def second(*_):
        for resume in (False, True):
            with pytest.raises(BlockingIOError, match=f"process {os.getpid()} on .* is writing this output"):
                datasets.build(tmp_path / "set", COUNT, resume=resume, **settings)

    datasets.build(tmp_path / "set", COUNT, progress=second, **settings)
    assert sorted(contents(tmp_path / "set")) == ["card.json", "shard-00000.npz"]
    # what a killed build left of its lock is taken over
    (mine / ".jaxsudoku-lock").write_text("jaxsudoku lock: process 1 on elsewhere, since long ago,\n")
    datasets.build(mine, COUNT, resume=True, **SETTINGS)
    assert ".jaxsudoku-lock" not in contents(mine)


def test_shards_that_are_done_are_kept(mine, monkeypatch):
    monkeypatch.setattr(Generator, "make", None)
    datasets.build(mine, COUNT, resume=True, **SETTINGS)


def test_resuming_mends_damaged_shards(mine, built):
    (mine / "shard-00001.npz").write_bytes(b"?")
    (mine / "shard-00003.npz").unlink()
    (mine / "shard-00002.npz.jaxsudoku-tmp").write_bytes(b"half")
    datasets.build(mine, COUNT, resume=True, **SETTINGS)
    assert contents(mine) == contents(built["npz"].folder)


def test_a_shard_that_comes_out_otherwise_is_refused(mine, monkeypatch):
    (mine / "shard-00001.npz").write_bytes(b"?")
    encode = builder.encode
    monkeypatch.setattr(builder, "encode", lambda *parts: encode(*parts) + b"newer")
    with pytest.raises(DatasetError, match="shard-00001.npz: was damaged and made again, but does not match the card"):
        datasets.build(mine, COUNT, resume=True, **SETTINGS)


@pytest.mark.parametrize(
    ("count", "settings", "message"),
    [
        (COUNT, {"seed": 4}, "seed is 3 there, 4 here"),
        (COUNT, {"shard_size": 9}, "shard_size is 8 there, 9 here"),
        (31, {}, "count is 30 there, 31 here"),
        (COUNT, {"format": "parquet"}, 'format is "npz" there, "parquet" here'),
        (COUNT, {"clues": (5, 6), "seed": 4}, r"options.clues is null there, \[5, 6\] here; seed is 3 there, 4 here"),
        (COUNT, {"board": Board.diagonal(4)}, r"board.extra is \[\] there, \[\[0, 5, 10, 15\], \[3, 6, 9, 12\]\] here"),
    ],
)
def test_other_settings_are_refused(mine, count, settings, message):
    before = contents(mine)
    with pytest.raises(DatasetError, match=message):
        datasets.build(mine, count, resume=True, **SETTINGS | settings)
    assert contents(mine) == before


def test_another_version_is_refused(mine, monkeypatch):
    monkeypatch.setattr(jax, "__version__", "0.99")
    with pytest.raises(DatasetError, match='made_with.jax is "[^"]*" there, "0.99" here'):
        datasets.build(mine, COUNT, resume=True, **SETTINGS)


def test_folders_that_are_there_are_refused(mine, tmp_path):
    with pytest.raises(FileExistsError, match="resume=True"):
        datasets.build(mine, COUNT, **SETTINGS)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").touch()
    with pytest.raises(DatasetError, match=r"holds no data set to resume, but diary.txt"):
        datasets.build(tmp_path / "notes", COUNT, resume=True, **SETTINGS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": 0}, "count must be at least 1, not 0"),
        ({"count": 1 << 32}, "count must be at most 2147483648"),
        ({"shard_size": 0}, "shard_size must be at least 1"),
        ({"format": "csv"}, "unknown format 'csv': choose one of npz, parquet"),
        ({"clues": 17}, "17 clues"),
        ({"exclude": np.zeros((1, 16), np.uint8)}, "for the classic 9x9 board"),
        ({"exclude": "test.txt", "board": NINE}, "exclude: .* for a file jaxsudoku.read_puzzles"),
        ({"holes": "random", "given": 0.5}, "puzzles of a data set have one solution; leave out holes"),
        ({"clue": 3}, "the generator has no option clue; it has clues, minimal, .*; did you mean 'clues'"),
        ({"shard_size": 1.5}, "shard_size must be a whole number, not 1.5"),
    ],
)
def test_senseless_arguments_leave_no_folder(settings, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        datasets.build(tmp_path / "set", **{"count": 5, **SETTINGS, **settings})
    assert not (tmp_path / "set").exists()


# ---------------------------------------------------------------------- excluded solutions


@pytest.fixture(scope="module")
def grids():
    """Solved 9x9 grids, no two equivalent."""
    rng = np.random.default_rng(5)
    return np.array([solutions(NINE, [0] * 81, 1, rng)[0] for _ in range(16)], np.uint8)


@pytest.fixture
def from_grids(grids, monkeypatch):
    """Has puzzle i made from grid i % 16: it lacks cell i % 81."""

    def make(self, first, count):
        numbers = np.arange(first, first + count)
        puzzles = grids[numbers % 16]
        puzzles[np.arange(count), numbers % 81] = 0
        return Puzzles(puzzles, grids[numbers % 16], np.full(count, 80, np.int32), np.zeros(count, np.float32))

    monkeypatch.setattr(Generator, "make", make)


def relabelled(grids):
    return np.append(np.uint8(0), np.random.default_rng(1).permutation(9).astype(np.uint8) + np.uint8(1))[grids]


def numbers_of(grids, found):
    return [int((grids == grid).all(axis=1).argmax()) for grid in found]


def test_excluded_solutions_make_way_for_later_puzzles(grids, from_grids, tmp_path):
    settings = {"shard_size": 4, "seed": 0}
    clear = datasets.build(tmp_path / "all", 10, **settings)
    assert clear.card.excluded is None
    assert numbers_of(grids, clear.arrays().solutions) == list(range(10))

    barred = relabelled(grids[[1, 7, 11, 15]])
    dataset = datasets.build(tmp_path / "set", 10, exclude=barred, **settings)
    # the first shard's spare puzzles are numbers 10 to 13, of which 11 is barred; the second's begin at 14
    assert numbers_of(grids, dataset.arrays().solutions) == [0, 10, 2, 3, 4, 5, 6, 14, 8, 9]
    assert dataset.card.excluded["solutions"] == 4

    datasets.build(tmp_path / "set", 10, exclude=barred[::-1], resume=True, **settings)
    with pytest.raises(
        DatasetError, match=r"excluded.sha256 is .* there, .* here; excluded.solutions is 4 there, 3 here"
    ):
        datasets.build(tmp_path / "set", 10, exclude=barred[1:], resume=True, **settings)
    with pytest.raises(DatasetError, match="excluded.sha256 is .* there, null here"):
        datasets.build(tmp_path / "set", 10, resume=True, **settings)


def test_too_much_is_excluded(grids, from_grids, tmp_path):
    with pytest.raises(GenerationError, match="1 of 4 puzzles found: too many others") as caught:
        datasets.build(tmp_path / "set", 10, exclude=grids[1:], shard_size=4)
    assert len(caught.value.found.puzzles) == 1


def test_a_data_set_is_kept_clear_of_another(grids, from_grids, tmp_path):
    test = datasets.build(tmp_path / "test", 6, shard_size=4).arrays()
    train = datasets.build(tmp_path / "train", 6, shard_size=6, exclude=test).arrays()
    assert numbers_of(grids, train.solutions) == [6, 7, 8, 9, 10, 11]


@pytest.mark.slow
def test_excluded_puzzles_are_solved(grids):
    puzzles = np.where(np.random.default_rng(0).random((3, 81)) < 0.3, 0, grids[:3]).astype(np.uint8)
    puzzles[1] = grids[1]
    expected = excluded_hashes(grids[:3], NINE)
    np.testing.assert_array_equal(excluded_hashes((puzzles, grids[:3]), NINE), expected)
    np.testing.assert_array_equal(excluded_hashes(puzzles, NINE), expected)
    texts = ["".join(map(str, puzzle)) for puzzle in puzzles]
    for given in (texts, tuple(texts), np.array(texts), puzzles.astype(np.int64), puzzles.reshape(-1, 9, 9)):
        np.testing.assert_array_equal(excluded_hashes(given, NINE), expected)
    puzzles[2] = 0
    with pytest.raises(ValueError, match="exclude: grid 2 has"):
        excluded_hashes(puzzles, NINE)
    with pytest.raises(ValueError, match="exclude: solutions of shape"):
        excluded_hashes((puzzles, grids[:2]), NINE)


# ---------------------------------------------------------------------- loading


def test_folders_without_a_data_set(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        datasets.load(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match="holds no data set: there is no card.json"):
        datasets.load(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1}', '{"version": 1, "board": 3}', "\xff", "[" * 100000, '{"seed": NaN}']
)
def test_damaged_cards(mine, text):
    (mine / "card.json").write_text(text, encoding="latin-1")
    with pytest.raises(DatasetError, match="not a data set's card"):
        datasets.load(mine)


def test_cards_of_a_later_version(mine):
    card = json.loads((mine / "card.json").read_text())
    (mine / "card.json").write_text(json.dumps({**card, "version": 4}))
    with pytest.raises(DatasetError, match="a card of version 4; this version of jaxsudoku reads 3"):
        datasets.load(mine)


@pytest.mark.parametrize("format", FORMATS)
def test_a_damaged_shard_is_named(built, format, tmp_path):
    for name, data in contents(built[format].folder).items():
        (tmp_path / name).write_bytes(data)
    path = tmp_path / f"shard-00002.{format}"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    dataset = datasets.load(tmp_path)
    with pytest.raises(DatasetError, match=f"shard-00002.{format} damaged"):
        datasets.load(tmp_path, verify=True)
    path.write_bytes(bytes(len(data)))
    with pytest.raises(DatasetError, match=f"shard-00002.{format}: damaged shard"):
        dataset.arrays()
    path.write_bytes(data[:-1])
    with pytest.raises(DatasetError, match=f"shard-00002.{format}: has {len(data) - 1} bytes"):
        datasets.load(tmp_path)
    path.unlink()
    with pytest.raises(DatasetError, match=f"shard-00002.{format}: is missing"):
        datasets.load(tmp_path)


def copied(dataset, folder):
    """A copy of a data set's files, to spoil."""
    folder.mkdir()
    for name, data in contents(dataset.folder).items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("file", ["shard-00001.npz", "shard-00001.parquet", "card.json"])
def test_one_flipped_bit_is_never_read(built, file, tmp_path):
    dataset = built["parquet" if file.endswith("parquet") else "npz"]
    folder = copied(dataset, tmp_path / "set")
    whole, data = dataset.arrays(), (folder / file).read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for position in rng.choice(len(data), 100, replace=False).tolist():
        flipped = bytearray(data)
        flipped[position] ^= 1 << rng.integers(8)
        (folder / file).write_bytes(flipped)
        try:
            loaded = datasets.load(folder)
            found = loaded.arrays()
        except DatasetError as error:
            refused += 1
            assert str(error).startswith(str(folder / file))
        else:  # white space of the card
            assert loaded.card == dataset.card
            jax.tree.map(np.testing.assert_array_equal, found, whole)
    assert refused == 100 if file != "card.json" else refused > 60


def test_verification_is_as_asked_for(built, tmp_path):
    """Shards are verified when they are read, or at once, or never."""
    folder = copied(built["npz"], tmp_path / "set")
    shard = folder / "shard-00003.npz"
    arrays = dict(np.load(shard))
    rewritten = io.BytesIO()
    np.savez_compressed(rewritten, **arrays | {"puzzles": np.roll(arrays["puzzles"], 1, axis=0)})
    shard.write_bytes(rewritten.getvalue())
    alter_card(folder, lambda card: card["shards"][3].update(bytes=len(rewritten.getvalue())))
    dataset = datasets.load(folder)
    assert len(dataset.shard(2).puzzles) == 8
    with pytest.raises(DatasetError, match=r"shard-00003.npz: damaged shard \(its sha256 is"):
        dataset.shard(3)
    with pytest.raises(DatasetError, match="shard-00003.npz damaged"):
        datasets.load(folder, verify=True)
    np.testing.assert_array_equal(
        datasets.load(folder, verify=False).shard(3).puzzles, np.roll(arrays["puzzles"], 1, axis=0)
    )


def alter_card(folder, change):
    """Changes the fields of a card, and its checksum with them."""
    fields = json.loads((folder / "card.json").read_bytes())
    del fields["checksum"]
    change(fields)
    (folder / "card.json").write_bytes(with_checksum(fields))


@pytest.mark.parametrize(
    ("part", "value", "fault"),
    [
        ("puzzles", 208, "a digit above 4"),
        ("solutions", 0, r"a solution with digits outside 1\.\.4"),
        ("solutions", 5, r"a solution with digits outside 1\.\.4"),
        ("clues", 3, "a wrong number of clues"),
        ("rating", np.nan, "a rating that is negative or not finite"),
        ("rating", -1.0, "a rating that is negative or not finite"),
    ],
)
def test_contents_that_make_no_sense_are_refused(built, part, value, fault, tmp_path):
    """Whatever the checksums."""
    folder = copied(built["npz"], tmp_path / "set")
    rows = built["npz"].shard(1)
    changed = getattr(rows, part).copy()
    changed[5:6] = value
    data = shards.encode(rows._replace(**{part: changed}), BOARD, "npz")
    shard = described("shard-00001.npz", 8, data)
    (folder / shard.file).write_bytes(data)
    alter_card(folder, lambda card: card["shards"][1].update(bytes=shard.bytes, sha256=shard.sha256))
    for verify in (None, True):
        with pytest.raises(DatasetError, match=rf"{shard.file}: damaged shard \(.*({fault})"):
            datasets.load(folder, verify=verify).arrays()


@pytest.mark.parametrize(
    ("column", "change", "fault"),
    [
        ("puzzle", lambda texts: ["/" * 16, *texts[1:]], "a digit above 4"),
        ("solution", lambda texts: [texts[0].replace("1", "9"), *texts[1:]], "a solution with digits outside"),
        ("puzzle", lambda texts: [texts[0] + texts[1][:1], texts[1][1:], *texts[2:]], "texts that are not of 16 cells"),
        ("puzzle", lambda texts: [None, *texts[1:]], "damaged shard"),
        ("clues", lambda clues: [None, *clues[1:]], "but .*float64"),
        ("clues", lambda clues: [clues[0] + 2**32, *clues[1:]], "but .*int64"),
        ("rating", lambda rating: [str(value) for value in rating], "but .*object"),
    ],
)
def test_columns_that_make_no_sense_are_refused(built, column, change, fault, tmp_path):
    pa, pq = import_pyarrow()
    folder = copied(built["parquet"], tmp_path / "set")
    path = folder / "shard-00001.parquet"
    table = pq.read_table(path)
    values = change(table[column].to_pylist())
    pq.write_table(table.set_column(table.column_names.index(column), column, pa.array(values)), path)
    shard = described("shard-00001.parquet", 8, path.read_bytes())
    alter_card(folder, lambda card: card["shards"][1].update(bytes=shard.bytes, sha256=shard.sha256))
    with pytest.raises(DatasetError, match=rf"{shard.file}: damaged shard .*{fault}|{shard.file}: {fault}"):
        datasets.load(folder).arrays()


def test_givens_that_the_solution_lacks_are_refused(built, tmp_path):
    folder = copied(built["npz"], tmp_path / "set")
    rows = built["npz"].shard(0)
    data = shards.encode(rows._replace(solutions=np.roll(rows.solutions, 1, axis=0)), BOARD, "npz")
    shard = described("shard-00000.npz", 8, data)
    (folder / shard.file).write_bytes(data)
    alter_card(folder, lambda card: card["shards"][0].update(bytes=shard.bytes, sha256=shard.sha256))
    with pytest.raises(DatasetError, match=r"puzzle \d has a solution that contradicts the givens"):
        datasets.load(folder).shard(0)


def first_of(counts):
    return next(iter(counts))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            lambda card: card.update(count=60),
            "shards of 30 puzzles, and a count of 60|shard-00003.npz has 6 puzzles, not 8",
        ),
        (lambda card: card.update(count=-30), "count is -30"),
        (lambda card: card.update(count=30.0), "count is 30.0"),
        (lambda card: card.update(shard_size=0), "shard_size 0"),
        (lambda card: card.update(format="csv"), "the format is 'csv'"),
        (lambda card: card["shards"].pop(), "shards of 24 puzzles|where the shards hold 24"),
        (
            lambda card: card["shards"][1].update(puzzles=1 << 60),
            "shard-00001.npz has 1152921504606846976 puzzles, not 8",
        ),
        (lambda card: card["shards"][1].update(file="../other.npz"), "shard 1 is called '../other.npz'"),
        (lambda card: card["shards"][1].update(bytes=-1), "shard-00001.npz has -1 bytes"),
        (
            lambda card: card["clues"].update({name: 2 * count for name, count in card["clues"].items()}),
            "clues: 60 puzzles, where the shards hold 30",
        ),
        (lambda card: card["grades"].update(easy=10**30), "where the shards hold 30"),
        (lambda card: card["grades"].update(easy=31, hard=-1), "grades: a count is -1"),
        (lambda card: card["grades"].update(trivial=0), "grades: easy, "),
        (
            lambda card: card["clues"].update({"17": card["clues"].pop(first_of(card["clues"]))}),
            "of 17 clues on a board of 16",
        ),
        (lambda card: card["grades"].update(easy=29, hard=1), "differs from its shards: grades: 29 puzzles of easy"),
        (
            lambda card: card["clues"].update({"16": card["clues"].pop(first_of(card["clues"]))}),
            "differs from its shards: clues",
        ),
    ],
)
def test_cards_that_contradict_themselves_or_the_shards_are_refused(mine, change, fault):
    alter_card(mine, change)
    with pytest.raises(DatasetError, match=fault) as refusal:
        datasets.load(mine).arrays()
    assert str(refusal.value).startswith(str(mine / "card.json"))
    with pytest.raises(DatasetError, match=fault):
        datasets.load(mine, verify=True)


def test_cards_of_earlier_versions_are_read(mine, built):
    fields = json.loads((mine / "card.json").read_bytes())
    del fields["checksum"]
    earlier = {"wishes" if name == "options" else name: value for name, value in fields.items()}
    (mine / "card.json").write_text(json.dumps(earlier | {"version": 1}))
    assert datasets.load(mine, verify=True).card == built["npz"].card
    (mine / "card.json").write_bytes(with_checksum(earlier | {"version": 2}))
    assert datasets.load(mine, verify=True).card == built["npz"].card
    (mine / "card.json").write_text(json.dumps(fields))
    with pytest.raises(DatasetError, match="card.json: not a data set's card .altered: the checksum"):
        datasets.load(mine)


# ---------------------------------------------------------------------- batches


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """A data set of 30 pairs in shards of 8 and 6, whose ratings number them."""
    folder = tmp_path_factory.mktemp("numbered")
    rng = np.random.default_rng(0)
    grids = np.array([solutions(BOARD, [0] * 16, 1, rng)[0] for _ in range(COUNT)], np.uint8)
    puzzles = np.where(rng.random(grids.shape) < 0.5, grids, 0).astype(np.uint8)
    whole = Puzzles(puzzles, grids, (puzzles > 0).sum(axis=1, dtype=np.int32), np.arange(COUNT, dtype=np.float32))
    card = datasets.Card(0, BOARD, {}, None, COUNT, 8, "npz", {})

    def make(spans):
        for start, size in spans:
            yield Puzzles(*(array[start : start + size] for array in whole))

    builder.build_shards(folder, card, False, make, lambda done, count: None)
    return datasets.load(folder)


def rows(batches):
    return [batch.rating.astype(int).tolist() for batch in batches]


WINDOWS = (None, 16, 1)


@pytest.mark.parametrize("window", WINDOWS)
def test_every_epoch_has_every_row_once(numbered, window):
    found = rows(datasets.batches(numbered, 1, 7, epochs=3, drop_last=False, window=window, augment=False))
    assert [len(batch) for batch in found] == [7, 7, 7, 7, 2] * 3
    epochs = [[row for batch in found[start : start + 5] for row in batch] for start in (0, 5, 10)]
    assert all(sorted(epoch) == list(range(COUNT)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]

    whole = rows(datasets.batches(numbered, 1, 7, epochs=3, window=window, augment=False))
    assert whole == [batch for batch in found if len(batch) == 7]


def test_windows_shuffle_shards_that_stand_together(numbered):
    (epoch,) = rows(datasets.batches(numbered, 1, COUNT, epochs=1, window=16, augment=False))
    shards_of = [row // 8 for row in epoch]
    end = 14 if 3 in shards_of[:14] else 16  # the last shard has but 6 rows
    assert len({*shards_of[:end]}) == len({*shards_of[end:]}) == 2
    assert shards_of[:8] != [shards_of[0]] * 8
    (epoch,) = rows(datasets.batches(numbered, 1, COUNT, epochs=1, augment=False))
    assert len({row // 8 for row in epoch[:14]}) > 2


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("drop_last", [True, False])
def test_batches_start_at_any_step(numbered, window, drop_last):
    settings = {"epochs": 3, "drop_last": drop_last, "window": window}
    whole = list(datasets.batches(numbered, jax.random.key(4), 7, **settings))
    for start in (1, 4, 5, 9, len(whole)):
        rest = list(datasets.batches(numbered, jax.random.key(4), 7, start=start, **settings))
        assert len(rest) == len(whole) - start
        jax.tree.map(np.testing.assert_array_equal, rest, whole[start:])


def test_batches_follow_from_the_key(numbered):
    def first(key):
        return list(itertools.islice(datasets.batches(numbered, key, 7), 6))

    one, same, other = first(1), first(jax.random.key(1)), first(2)
    jax.tree.map(np.testing.assert_array_equal, one, same)
    assert rows(one) != rows(other)
    assert not all(np.array_equal(a.solutions, b.solutions) for a, b in zip(one, other, strict=True))


def test_pairs_stay_together(numbered):
    whole = numbered.arrays()
    moved = 0
    for batch in datasets.batches(numbered, 1, 7, epochs=2):
        assert isinstance(batch.puzzles, jax.Array)
        for puzzle, solution, clues, rating in zip(*map(np.asarray, batch), strict=True):
            assert is_solution(BOARD, solution, puzzle)
            assert clues == (puzzle > 0).sum() == whole.clues[int(rating)]
            moved += (solution != whole.solutions[int(rating)]).any()
    assert moved > 30
    for batch in datasets.batches(numbered, 1, 8, epochs=1, augment=False):
        row = np.asarray(batch.rating).astype(int)
        for part, original in zip(batch, whole, strict=True):
            np.testing.assert_array_equal(part, original[row])


def test_a_data_set_of_one_window_is_read_once(numbered, monkeypatch):
    read = []
    monkeypatch.setattr(shards, "read", lambda *parts, read_=shards.read: read.append(parts[0].file) or read_(*parts))
    assert len(list(datasets.batches(numbered, 1, 10, epochs=5, augment=False))) == 15
    assert len(read) == 4
    # and no window is read whose rows are skipped
    list(datasets.batches(numbered, 1, 10, epochs=1, augment=False, window=1, start=2))
    assert len(read) == 4 + 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"batch_size": 31}, "30 puzzles are fewer than a batch of 31"),
        ({"start": -1}, "start must be at least 0"),
        ({"epochs": -1}, "epochs must be at least 0"),
        ({"window": 0}, "window must be at least 1"),
        ({"key": "x"}, "neither a seed nor one JAX key"),
    ],
)
def test_batches_refuse(numbered, arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.batches(**{"dataset": numbered, "key": 0, "batch_size": 8, **arguments})
