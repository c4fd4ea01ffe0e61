"""Workers: every item is done once, whoever dies, and what is no worker is refused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from squares import Squares

from jaxsudoku.runtime.workers import JobError, Workers, pool, processes, run

TWO = Workers(2)


def gone(pid: int) -> bool:
    """Whether a process ends, which may take a moment."""
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not Path(f"/proc/{pid}").exists()


def test_a_worker_does_every_item_once_up_to_an_error_which_is_raised_and_ends_it():
    results = {}
    with pytest.raises(ValueError, match="13 has no square here"):
        for number, result in run(Workers(1), Squares(), [*range(12), 13, 14]):
            assert number not in results
            results[number] = result
            if number == 11:
                time.sleep(0.2)  # in which the last item is done as well
    assert {number: square for number, (square, _) in results.items()} == {n: n * n for n in range(12)}
    (worker,) = {pid for _, pid in results.values()}
    assert worker != os.getpid() and gone(worker)


@pytest.mark.quick  # newer Pythons end the other workers of a pool in another way
def test_items_of_a_worker_that_dies_are_done_again(tmp_path):
    items = [*range(13), *[12] * 87]  # without the one that is an error, which may come first on a busy machine
    results = run(TWO, Squares(3, str(tmp_path / "died")), items)
    found = {}
    while not found.keys() >= set(range(8)):
        number, result = next(results)
        assert number not in found
        found[number] = result
    assert (tmp_path / "died").exists()
    assert all(square == items[number] ** 2 for number, (square, _) in found.items())
    workers = {pid for _, pid in found.values()}
    assert 1 <= len(workers) <= 4, "two, and two after one of them died"
    results.close()  # which ends them
    assert all(gone(pid) for pid in workers)


def test_workers_that_die_again_and_again_end_the_job():
    with pytest.raises(JobError, match="workers died 3 times in a row, killed or out of memory, at one of: .*5"):
        list(run(Workers(1), Squares(deadly=5), [5]))


def test_other_versions_are_refused():
    with pytest.raises(JobError, match="a worker on .* has jax .*, not 0.0: install the same versions on all"):
        pool.Checked(Squares(), {**pool.versions(), "jax": "0.0"}).begin()


def test_a_worker_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert processes._places(2) == [{"CUDA_VISIBLE_DEVICES": "4"}, {"CUDA_VISIBLE_DEVICES": "6"}]
    with pytest.raises(JobError, match="3 workers, but 2 GPUs"):
        processes._places(3)


@pytest.mark.parametrize("text", ["3", "ray", "ray:3"])
def test_workers_by_name(text):
    assert str(Workers.parse(text)) == text


@pytest.mark.parametrize("text", ["", "0", "ray:0", "ray:", "-1", "rays", "2.5", "dask:2"])
def test_other_names_are_refused(text):
    with pytest.raises(ValueError, match="neither a number of processes nor ray or ray:N|at least 1 worker"):
        Workers.parse(text)
