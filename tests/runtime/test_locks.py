"""Locks on outputs: one process at a time, whoever is killed, and no file left behind."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jaxsudoku.runtime import locks
from jaxsudoku.runtime.files import write_file
from jaxsudoku.runtime.locks import OutputLock, check_unlocked, lock_file, lock_path

pytestmark = pytest.mark.quick


def test_a_second_one_is_told_who_holds_it(tmp_path):
    target = tmp_path / "out.csv"
    with OutputLock(target):
        with pytest.raises(BlockingIOError) as caught:
            OutputLock(target)
        message = rf"process {os.getpid()} on {socket.gethostname()}, since "
        assert caught.value.strerror.startswith(message)
        assert caught.value.strerror.endswith(", is writing this output")
        assert caught.value.filename == str(target)
        with pytest.raises(BlockingIOError):
            check_unlocked(target)
    check_unlocked(target)
    assert os.listdir(tmp_path) == []


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    target = tmp_path / "out.csv"
    program = (
        "import sys; from jaxsudoku.runtime.locks import OutputLock; lock = OutputLock(sys.argv[1]); print(); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    with pytest.raises(BlockingIOError, match=f"process {process.pid} on "):
        OutputLock(target)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert os.listdir(tmp_path) == ["out.csv.jaxsudoku-lock"]
    with OutputLock(target):
        assert f"process {os.getpid()} on " in Path(lock_path(target)).read_text()
    assert os.listdir(tmp_path) == []


def test_a_lock_that_is_forgotten_goes_at_the_end_of_the_process(tmp_path):
    program = "import sys; from jaxsudoku.runtime.locks import OutputLock; lock = OutputLock(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, tmp_path / "out.csv"], check=True, timeout=60)
    assert os.listdir(tmp_path) == []


def test_never_two_at_once(tmp_path):
    """Processes that take and drop one lock again and again: whoever holds it is alone."""
    program = """
import os, sys
from jaxsudoku.runtime.locks import OutputLock
target, taken = sys.argv[1], 0
while taken < 100:
    try:
        with OutputLock(target):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL))  # fails where another one is at it
            os.remove(target)
            taken += 1
    except BlockingIOError:
        pass
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", program, tmp_path / "out"], stderr=subprocess.PIPE) for _ in range(3)
    ]
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert os.listdir(tmp_path) == []


def test_names_of_one_file(tmp_path):
    target = tmp_path / "out.csv"
    target.touch()
    (tmp_path / "link.csv").symlink_to(target)
    (tmp_path / "hard.csv").hardlink_to(target)
    with OutputLock(target), pytest.raises(BlockingIOError):
        OutputLock(tmp_path / "link.csv")
    with open(target, "ab") as one, open(tmp_path / "hard.csv", "ab") as other:
        lock_file(one.fileno(), "out.csv")
        with pytest.raises(BlockingIOError, match="another process is writing this output"):
            lock_file(other.fileno(), "hard.csv")


def test_a_folder_has_its_lock_inside(tmp_path):
    with OutputLock(tmp_path):
        assert os.listdir(tmp_path) == [locks.SUFFIX]
        with pytest.raises(BlockingIOError):
            OutputLock(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_no_lock_is_left_alone(tmp_path):
    path = tmp_path / "out.csv.jaxsudoku-lock"
    path.write_text("a diary")
    with pytest.raises(FileExistsError, match="not a lock of jaxsudoku") as caught:
        OutputLock(tmp_path / "out.csv")
    assert caught.value.filename == str(path)
    assert path.read_text() == "a diary"


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def fails(file):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(locks, "_try_lock", fails)
    with pytest.raises(OSError, match="no locks .Function not implemented.; JAXSUDOKU_LOCKS=off"):
        OutputLock(tmp_path / "out.csv")
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv("JAXSUDOKU_LOCKS", "off")
    with OutputLock(tmp_path / "out.csv"), OutputLock(tmp_path / "out.csv"):
        pass


def test_a_child_leaves_the_lock_to_its_parent(tmp_path):
    with OutputLock(tmp_path / "out.csv") as lock:
        locks._release(None, lock_path(tmp_path / "out.csv"), os.getpid())
        locks._release(99, lock_path(tmp_path / "out.csv"), os.getpid() + 1)
        assert os.listdir(tmp_path) == ["out.csv.jaxsudoku-lock"]
        lock.release()
        lock.release()


# ---------------------------------------------------------------------- files written as a whole


def test_a_file_written_as_a_whole_spares_its_neighbours(tmp_path):
    path, mine = tmp_path / "net.json", tmp_path / "net.json.tmp"
    mine.write_text("mine")
    write_file(path, b"{}")
    assert mine.read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["net.json", "net.json.tmp"]


@pytest.mark.skipif(os.name != "posix", reason="no pipes with names")
def test_links_and_pipes_stay_what_they_are(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", b"new")
    assert os.read(reader, 10) == b"new" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
