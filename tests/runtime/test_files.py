"""JSON read strictly: what is refused, in which words, by every reader of the package."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku import datasets, mastermind, networks
from jaxsudoku.evaluation import Report
from jaxsudoku.runtime.files import MOST_LEVELS, JsonError, check_checksum, parse_json, read_json, with_checksum

pytestmark = pytest.mark.quick

DEEP = b'{"a":' * 100_000
NESTED = b'{"a":' * (MOST_LEVELS + 1) + b"1" + b"}" * (MOST_LEVELS + 1)

#: Bytes that are refused, each with the cause.
REFUSED = {
    "empty": (b"", "not JSON: "),
    "cut off": (b'{"a": 1', "not JSON: "),
    "no UTF-8": (b'{"a": "\xff"}', "not JSON: 'utf-8' codec can't decode"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "not JSON: 'utf-8' codec can't decode"),
    "a list": (b"[1]", "not a JSON object"),
    "null": (b"null", "not a JSON object"),
    "deep objects": (DEEP, "more than 32 levels of objects and lists"),
    "deep lists": (b"[" * 100_000, "more than 32 levels of objects and lists"),
    "a level too many": (NESTED, "more than 32 levels of objects and lists"),
    "twice": (b'{"a": {"b": 1, "c": 2, "b": 3}}', "the name 'b' occurs twice in an object"),
    "NaN": (b'{"a": NaN}', "NaN is not a JSON number"),
    "infinity": (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
    "overflow": (b'{"a": 1e999}', "the number 1e999 is beyond what a float holds"),
    "many digits": (b'{"a": 1' + b"0" * 5000 + b"}", "not JSON: "),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_json_is_read_strictly(kind):
    data, cause = REFUSED[kind]
    with pytest.raises(JsonError) as refusal:
        parse_json(data)
    assert str(refusal.value).startswith(cause)


def test_json_that_is_sound_is_read(tmp_path):
    fields = {"a": [1, 2.5, None, True, {"b": "ä"}], "c": {}}
    (tmp_path / "file").write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    assert read_json(tmp_path / "file") == fields
    assert parse_json(NESTED[5:-1])


def test_files_beyond_the_limit_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxsudoku.runtime.files.MOST_BYTES", 10)
    (tmp_path / "file").write_bytes(b'{"a":    1}')
    with pytest.raises(JsonError, match="more than 10 bytes"):
        read_json(tmp_path / "file")


def test_a_checksum_holds_the_fields():
    fields = {"b": 1, "a": [1.25, "x"]}
    read = parse_json(with_checksum(fields))
    assert list(read) == ["b", "a", "checksum"]
    check_checksum(read)
    assert read == fields
    for wrong in ({"b": 2}, {"c": None}, {"checksum": ""}, {"a": [1.25, "y"]}):
        with pytest.raises(JsonError, match="altered: the checksum does not match the other fields"):
            check_checksum(parse_json(with_checksum(fields)) | wrong)
    with pytest.raises(JsonError, match="altered"):
        check_checksum(dict(fields))


@pytest.mark.parametrize(
    ("folder", "error", "cause"), [("missing", FileNotFoundError, "there is no folder"), ("taken", OSError, "irectory")]
)
def test_what_cannot_be_written_is_named_as_it_was_given(folder, error, cause, tmp_path):
    (tmp_path / "taken").touch()
    (tmp_path / "taken.json").mkdir()
    tree = mastermind.build(mastermind.PegGame(1, 2), "minimax")
    forward = networks.make_forward("cell_cnn", js.Board.classic(4), width=4, features=4, hidden=4)
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), forward.shapes())
    network = networks.Network("cell_cnn", forward, zeros)
    for path, write in {
        tmp_path / folder / "net.safetensors": lambda path: js.save_network(network, path),
        tmp_path / folder / "tree.json": lambda path: mastermind.save_tree(tree, path),
        **({tmp_path / "taken.json": lambda path: mastermind.save_tree(tree, path)} if folder == "taken" else {}),
    }.items():
        with pytest.raises(error, match=cause) as refusal:
            write(path)
        assert refusal.value.filename == str(path)
    assert not list(tmp_path.glob("*.jaxsudoku-tmp"))


# ---------------------------------------------------------------------- every reader


@pytest.mark.parametrize("kind", REFUSED)
def test_every_reader_names_the_file_and_the_cause(kind, tmp_path):
    data, cause = REFUSED[kind]
    path = tmp_path / "card.json"
    path.write_bytes(data)
    (tmp_path / "card.safetensors").touch()
    readers = {
        networks.NetworkFileError: lambda: networks.read_card(path),
        datasets.DatasetError: lambda: datasets.load(tmp_path),
        mastermind.TreeError: lambda: mastermind.load_tree(path),
    }
    for error, read in readers.items():
        with pytest.raises(error) as refusal:
            read()
        assert str(path) in str(refusal.value) and cause in str(refusal.value)
    with pytest.raises(ValueError, match="no report of an evaluation"):
        Report.from_json(data.decode("latin-1"))
