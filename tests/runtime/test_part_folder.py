"""Folders of parts: resumed after a kill at any moment, and odd files are named with the cause."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from jaxsudoku.cli.plan import Plan
from jaxsudoku.io import ResumeError
from jaxsudoku.runtime.files import with_checksum
from jaxsudoku.runtime.part_folder import PartFolder


def plan_of(items: int = 3, **changes: object) -> Plan:
    settings = {"board": "4x4", "seed": 0, **changes}
    return Plan("solve", settings, [{"name": "a.txt", "bytes": 10}], [{"work": [n]} for n in range(items)], ".txt")


def finish(folder: PartFolder, plan: Plan, number: int, error: str | None = None):
    with folder.writing(plan.part(number)) as path:
        Path(path).write_text(f"answer {number}\n")
        return folder.finish(path, {"error": error, "counts": {}})


@pytest.fixture(params=["path", "url"])
def folder(request, tmp_path):
    """A folder for a job: a path, and a URL of fsspec's file system in memory."""
    if request.param == "path":
        yield PartFolder(str(tmp_path / "job"))
        return
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    yield PartFolder(f"memory://{tmp_path.name}/job")
    memory.rm("/", recursive=True)


def test_a_job_goes_on_with_the_parts_that_are_missing(folder):
    plan = plan_of()
    with folder.begun(plan, resume=False) as records:
        assert records == {}
        finish(folder, plan, 1)
        finish(folder, plan, 2, error="damaged")
    with folder.begun(plan, resume=True) as records:
        assert list(records) == [1]  # a part that was not read to its end is done again
        done = [finish(folder, plan, 0), records[1], finish(folder, plan, 2)]
        folder.complete(plan, done)
    assert folder._files.names() == ["manifest.json", "part-00000.txt", "part-00001.txt", "part-00002.txt"]
    differences, listed = plan.compare(folder.read("manifest.json"), "manifest.json")
    assert not differences and listed == done
    with folder.begun(plan, resume=True) as records:
        assert list(records) == [0, 1, 2]


def test_a_part_without_its_file_is_done_again(folder):
    plan = plan_of()
    with folder.begun(plan, resume=False):
        folder.complete(plan, [finish(folder, plan, number) for number in range(3)])
    folder._files.remove(["part-00001.txt"])
    folder.write("part-00002.txt", b"cut")
    said = []
    with folder.begun(plan, resume=True, say=said.append) as records:
        assert list(records) == [0]
    assert said == [f"{folder.name}: missing or altered since, so made again: part-00001.txt, part-00002.txt"]


@pytest.mark.parametrize("complete", [False, True])
def test_a_part_with_an_altered_digit_is_done_again(folder, complete):
    plan = plan_of()
    with folder.begun(plan, resume=False):
        done = [finish(folder, plan, number) for number in range(3)]
        if complete:
            folder.complete(plan, done)
    part = folder.read("part-00001.txt")
    folder.write("part-00001.txt", part.replace(b"1", b"7"))
    said = []
    with folder.begun(plan, resume=True, say=said.append) as records:
        assert list(records) == [0, 2]
        finish(folder, plan, 1)
    assert "part-00001.txt" in said[0] and len(said) == 1
    with folder.begun(plan, resume=True, say=said.append) as records:  # killed before the manifest was written again
        assert list(records) == [0, 1, 2]
        folder.complete(plan, [records[number] for number in range(3)])
    assert folder.read("part-00001.txt") == part and len(said) == 1


def test_the_record_of_a_part_that_was_done_again_counts(folder):
    """Its checksum may be another one than in the manifest."""
    plan = plan_of()
    with folder.begun(plan, resume=False):
        folder.complete(plan, [finish(folder, plan, number) for number in range(3)])
    with folder.begun(plan, resume=True), folder.writing(plan.part(2)) as path:
        Path(path).write_text("another answer 2\n")
        folder.finish(path, {"error": None, "counts": {}})
    with folder.begun(plan, resume=True, say=pytest.fail) as records:
        assert list(records) == [0, 1, 2]


def test_other_jobs_are_left_as_they_are(folder):
    with folder.begun(plan_of(), resume=False):
        finish(folder, plan_of(), 0)
    before = {name: folder.read(name) for name in folder._files.names()}
    with pytest.raises(FileExistsError, match="the folder is not empty: continue its job with --resume"):
        folder.begun(plan_of(), resume=False).__enter__()
    for plan, cause in (
        (plan_of(seed=1), "holds another job: seed is 0 there, 1 here"),
        (plan_of(items=4), "holds another job: its parts are others"),
        (dataclasses.replace(plan_of(), inputs=[]), "its inputs are different or were changed"),
        (dataclasses.replace(plan_of(), command="count"), "its command is solve"),
    ):
        with pytest.raises(ResumeError, match=cause):
            folder.begun(plan, resume=True).__enter__()
    assert {name: folder.read(name) for name in folder._files.names()} == before


def test_a_folder_of_something_else_is_not_resumed(folder):
    folder.write("thesis.txt", b"do not lose me")
    with pytest.raises(ResumeError, match="holds no job to resume, but thesis.txt; it is left as it is"):
        folder.begun(plan_of(), resume=True).__enter__()
    assert folder._files.names() == ["thesis.txt"]


def test_a_damaged_manifest_is_named(folder):
    with folder.begun(plan_of(), resume=False):
        pass
    text = folder.read("manifest.json").replace(b'"seed": 0', b'"seed": 7')
    folder.write("manifest.json", text)
    with pytest.raises(ResumeError, match=r"manifest.json: altered: the checksum does not match the other fields"):
        folder.begun(plan_of(), resume=True).__enter__()


#: Of manifests: what is changed of a sound one, or the whole file, and what is said of it.
ODD_MANIFESTS = {
    "not JSON": (b"parts: 3", "not JSON"),
    "not UTF-8": (b'{"command": "\xff"}', "not JSON"),
    "deep": (b"[" * 200_000, "more than 32 levels"),
    "deep objects": (b'{"a":' * 200_000, "more than 32 levels"),
    "a list": (b"[]", "not a JSON object"),
    "empty": (b"", "not JSON"),
    "no command": ({"command": None}, "'command' is missing"),
    "a number for the command": ({"command": 7}, "'command' is 7, which is not a text"),
    "a list of settings": ({"settings": [1]}, r"'settings' is \[1\], which is not an object"),
    "inputs as a number": ({"inputs": 1e300}, "'inputs' is 1e[+]300, which is not a list"),
    "no items": ({"items": None}, "'items' is missing"),
    "parts as a text": ({"parts": "x" * 10_000}, "'parts' is 'x{39}, which is not a list"),
    "parts of numbers": ({"parts": [1, 2, 3]}, "'parts' has an entry that is not an object"),
    "too few parts": ({"parts": [{}]}, "it lists 1 parts, where the job has 3"),
    "empty parts": ({"parts": [{}, {}, {}]}, "'file' is missing"),
}
RECORD = {"file": "part-00000.txt", "bytes": 9, "sha256": "0" * 64, "details": {}}
ODD_RECORDS = {
    "not JSON": (b"{", "not JSON"),
    "deep": (b"[" * 200_000, "more than 32 levels"),
    "another file": ({"file": "../../secret"}, "a record of '../../secret', not of part-00000.txt"),
    "no file": ({"file": None}, "'file' is missing"),
    "negative bytes": ({"bytes": -9}, "'bytes' is -9, which is not a whole number from 0 to"),
    "bytes as truth": ({"bytes": True}, "'bytes' is True, which is not a whole number"),
    "no checksum": ({"sha256": None}, "'sha256' is missing"),
    "details as a list": ({"details": []}, r"'details' is \[\], which is not an object"),
}


def altered(folder: PartFolder, name: str, sound: dict, change: bytes | dict) -> None:
    """Writes a file with other fields, None for one that is left out, or of other bytes."""
    if isinstance(change, dict):
        fields = {name: value for name, value in {**sound, **change}.items() if value is not None}
        fields.pop("checksum", None)
        change = with_checksum(fields)
    folder.write(name, change)


@pytest.mark.quick
@pytest.mark.parametrize("kind", ODD_MANIFESTS)
def test_an_odd_manifest_is_named_with_the_cause(folder, kind):
    change, cause = ODD_MANIFESTS[kind]
    altered(folder, "manifest.json", json.loads(plan_of().encode()), change)
    with pytest.raises(ResumeError, match=f"job/manifest.json: {cause}.*; the folder is left as it is"):
        folder.begun(plan_of(), resume=True).__enter__()


@pytest.mark.quick
@pytest.mark.parametrize("kind", ODD_RECORDS)
def test_an_odd_record_is_named_with_the_cause(folder, kind):
    change, cause = ODD_RECORDS[kind]
    with folder.begun(plan_of(), resume=False):
        pass
    altered(folder, "part-00000.json", RECORD, change)
    with pytest.raises(ResumeError, match=f"job/part-00000.json: {cause}.*; the folder is left as it is"):
        folder.begun(plan_of(), resume=True).__enter__()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["manifest.json", "part-00000.json", "part-00000.txt"])
def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path, name):
    folder, plan = PartFolder(str(tmp_path / "job")), plan_of()
    with folder.begun(plan, resume=False):
        finish(folder, plan, 0)
    (tmp_path / "job" / name).unlink()
    os.mkfifo(tmp_path / "job" / name)
    with pytest.raises(OSError, match="not a regular file"):
        folder.begun(plan, resume=True).__enter__()


def test_two_processes_do_not_work_on_one_job(tmp_path):
    folder = PartFolder(str(tmp_path / "job"))
    with folder.begun(plan_of(), resume=False), pytest.raises(BlockingIOError, match="is writing this output"):
        folder.begun(plan_of(), resume=True).__enter__()
