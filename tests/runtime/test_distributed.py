"""Several processes: they meet at barriers, and none is left when one dies."""

from __future__ import annotations

import json
import os
import re

import jax
import pytest
from processes import Processes, run

from jaxsudoku import distributed

#: The arguments with which a program below knows its place.
PLACE = ("{coordinator}", "{processes}", "{process}")

#: What every program begins with: joins the others.
JOIN = """
import json, os, sys, time
from jaxsudoku import distributed
place = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
me = place[2]
def attempt(function, *args, **options):
    try:
        return function(*args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def results(log: str) -> dict:
    """The JSON object in the line of a log that begins with RESULT; whatever JAX writes stays outside."""
    (line,) = re.findall(r"^RESULT(.*)$", log, re.MULTILINE)
    return json.loads(line)


# ---------------------------------------------------------------------- starts and barriers

BARRIERS = (
    JOIN
    + """
found = {"alone": attempt(distributed.start)}
distributed.start(*place, timeout=60)
distributed.start(*place)
distributed.start()
found["other"] = attempt(distributed.start, place[0], 3, me)
import jax
found["place"] = [jax.process_index(), jax.process_count(), distributed.is_first()]
for _ in range(3):
    distributed.barrier("again", 60)
# process 1 comes to the barrier after process 0 has waited in vain
if me == 0:
    found["missing"] = attempt(distributed.barrier, "lonely", 0.5)
    distributed.barrier("together", 60)
else:
    distributed.barrier("together", 60)
    found["missing"] = attempt(distributed.barrier, "lonely", 60)
print("RESULT" + json.dumps(found), flush=True)
distributed.barrier("end", 60)
if me == 0:
    raise OSError("the disk is full")
time.sleep(300)
"""
)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The logs and the exit statuses of two processes, the first of which fails at last."""
    with Processes(["-c", BARRIERS, *PLACE], 2, tmp_path_factory.mktemp("barriers")) as job:
        statuses = job.wait(120)
        return [job.log(process) for process in range(2)], statuses


@pytest.fixture(scope="module")
def two(ended):
    return [results(log) for log in ended[0]]


def test_processes_know_their_place(two):
    assert [found["place"] for found in two] == [[0, 2, True], [1, 2, False]]


def test_a_second_start_must_agree_with_the_first(two):
    for process, found in enumerate(two):
        assert re.search(rf"this process is process {process} of 2 already.*as process {process} of 3", found["other"])


def test_without_arguments_there_must_be_a_cluster(two):
    for found in two:
        assert found["alone"].startswith("ValueError: JAX finds no other processes: this is not a SLURM job")


def test_a_barrier_names_who_is_missing(two):
    assert two[0]["missing"] == "TimeoutError: barrier 'lonely': process 1 has not arrived within 0.5 s"
    assert two[1]["missing"] == "TimeoutError: barrier 'lonely': process 1 arrived after the others' timeout"


SLURM = """
import os, sys
os.environ |= {"SLURM_PROCID": sys.argv[1], "SLURM_LOCALID": sys.argv[1]}
from jaxsudoku import distributed
distributed.start(timeout=60)
import jax
distributed.barrier("all here", 60)
print("I am", jax.process_index(), "of", jax.process_count())
distributed.barrier("end", 60)
"""


def test_a_slurm_job_needs_no_arguments(tmp_path):
    """By the variables that SLURM sets; JAX takes the port from the job's number."""
    job = os.getpid()
    variables = {"SLURM_JOB_ID": str(job), "SLURM_NTASKS": "2", "SLURM_STEP_NODELIST": "localhost"}
    logs = run(["-c", SLURM, "{process}"], 2, tmp_path, environment=variables)
    for process, log in enumerate(logs):
        assert f"I am {process} of 2" in log


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coordinator": "localhost:1"}, "give coordinator, processes and process together, or none"),
        ({"processes": 2, "process": 0}, "together, or none of them where JAX finds the processes.*coordinator=None"),
        ({"coordinator": "localhost", "processes": 2, "process": 0}, "coordinator must be host:port"),
        ({"coordinator": "localhost:x", "processes": 2, "process": 0}, "coordinator must be host:port"),
        ({"coordinator": "localhost:1", "processes": 2, "process": 2}, "process must be at most 1, not 2"),
        ({"coordinator": "localhost:1", "processes": 0, "process": 0}, "processes must be at least 1"),
        ({"coordinator": "localhost:1", "processes": 2, "process": 0, "timeout": 0.5}, "timeout must be a whole"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        distributed.start(**arguments)
    assert not jax.distributed.is_initialized()


def test_one_process_is_the_first_and_waits_for_none():
    assert distributed.is_first()
    assert distributed.barrier("alone", 0.1) is None


# ---------------------------------------------------------------------- ends

#: What JAX writes where others than process 0 have died, with their numbers.
DEAD = r"The following tasks are unhealthy \(stopped sending heartbeats\):\n{process}\n"
#: What it writes where process 0 has.
LEADER = r"Either the leader task was preempted/died/restarted unexpectedly"


def test_a_failure_ends_the_process_at_once_and_so_the_others(ended):
    """Of process 0, whose end the others notice at once."""
    logs, statuses = ended
    assert statuses[0] == 1 and statuses[1] != 0
    assert "OSError: the disk is full" in logs[0]
    assert re.search(LEADER, logs[1]), logs[1]


COLLECTIVE = (
    JOIN
    + """
distributed.start(*place, timeout=60, heartbeat_timeout=10)
import jax
from jax.experimental import multihost_utils
while True:
    multihost_utils.process_allgather(jax.numpy.ones(4))
    if not os.path.exists(sys.argv[4] + f"/{me}"):
        open(sys.argv[4] + f"/{me}", "w").close()
        print("READY", flush=True)
"""
)


@pytest.mark.slow
def test_a_death_during_collectives_is_named_too(tmp_path):
    """A collective that fails is an exception, which must not end the process before JAX has said who died."""
    with Processes(["-c", COLLECTIVE, *PLACE, str(tmp_path)], 2, tmp_path) as job:
        job.wait_until_said("READY", 60)
        job.kill(1)
        assert job.wait_for(0, 60) != 0
        assert re.search(DEAD.format(process=1), job.log(0)), job.logs()


# ---------------------------------------------------------------------- the launcher itself


def test_the_launcher_shows_the_logs_of_what_fails(tmp_path):
    with pytest.raises(AssertionError, match=r"exit statuses \{1: 3\}[\s\S]*--- process 0[\s\S]*I am 1"):
        program = "import sys, time\nprint('I am', sys.argv[1])\nsys.exit(3) if sys.argv[1] == '1' else time.sleep(60)"
        run(["-c", program, "{process}"], 2, tmp_path)


def test_the_launcher_leaves_no_process(tmp_path):
    with Processes(["-c", "import time\nprint('here')\ntime.sleep(300)"], 2, tmp_path) as job:
        job.wait_until_said("here", 60)
        with pytest.raises(AssertionError, match="process 0 is still running"):
            job.wait(0.1)
        started = list(job.running)
    assert [process.poll() for process in started] == [-9, -9]
