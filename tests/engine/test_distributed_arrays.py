"""Arrays over several processes: the results are those of one process with as many devices, in the puzzles' places."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest
import reference
from processes import run

import jaxsudoku as js
from jaxsudoku.runtime.process_shards import ProcessShards, is_spread

FOUR = reference.SMALL["4x4"]

#: Solves puzzles that are spread over processes, and writes the shards of all results, each with its first row. In one
#: process it solves the same puzzles, sharded over its devices, and writes whole results.
PROGRAM = """
import functools, json, re, sys
import numpy as np
from jaxsudoku import distributed
folder, cases, processes, me = sys.argv[4], sys.argv[5].split(","), int(sys.argv[2]), int(sys.argv[3])
if processes > 1:
    distributed.start(sys.argv[1], processes, me, timeout=60)
import jax
import jaxsudoku as js
from jax.sharding import NamedSharding, PartitionSpec as P

puzzles = np.load(f"{folder}/puzzles.npy")
count = jax.device_count()
mesh = jax.make_mesh((count,), ("batch",))
automatic = jax.make_mesh((count,), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
# the first and the last device: a puzzle's cells can be divided by two on any number of devices
ends = jax.make_mesh((2,), ("batch",), devices=[jax.devices()[0], jax.devices()[-1]])
kernel = {"lanes": 32, "batch_size": 64, "rules": "naked"}
small = {**kernel, "order": "random", "key": 7}
local = {**small, "batch_size": 64 // processes}

def spread(values, mesh=mesh, spec=P("batch")):
    place = NamedSharding(mesh, spec)
    return jax.make_array_from_callback(values.shape, place, lambda index: values[index], dtype=values.dtype)

def compiled(function):
    program = jax.jit(function, compiler_options=js.compiler_options()).lower(spread(puzzles)).compile()
    names = "all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute|collective-broadcast"
    assert not re.search(f"({names})(-start)?[(]", program.as_text())
    return program(spread(puzzles))

search = functools.partial(js.exact.search, limit=5, lanes=32, rules="naked")
SOLVE = {
    "solve": lambda: js.solve(spread(puzzles), **small),
    "square": lambda: js.solve(spread(puzzles[:60].reshape(60, 4, 4), automatic), js.Board.classic(4), **small),
    "two axes": lambda: js.solve(spread(puzzles[:60].reshape(12, 5, 16)), **small),
    "counts": lambda: js.count_solutions(spread(puzzles), limit=5, **kernel),
    "ratings": lambda: js.rate(spread(puzzles), batch_size=64, searches=1),
    "empty": lambda: js.solve(spread(puzzles[:0]), **small),
    "search": lambda: compiled(search),
    "mapped": lambda: compiled(jax.shard_map(search, mesh=mesh, in_specs=P("batch"), out_specs=P("batch"))),
    "annealing": lambda: js.solve(spread(puzzles), solver="annealing", key=3, batch_size=64),
    "copies": lambda: js.solve(spread(puzzles, jax.make_mesh((count // 2, 2), ("batch", "copy"))), **small),
    "part": lambda: js.solve(
        spread(puzzles, jax.make_mesh((2,), ("batch",), devices=jax.devices()[:2])), **small
    ),
}
ERRORS = {
    "replicated": lambda: js.solve(spread(puzzles, spec=P())),
    "copies": SOLVE["copies"],
    "cells": lambda: js.count_solutions(spread(puzzles, ends, P(None, "batch"))),
    "one puzzle": lambda: js.solve(spread(puzzles[0], ends)),
    "floats": lambda: js.solve(spread(puzzles.astype(np.float32))),
    "values": lambda: js.solve(spread(puzzles.astype(np.int32) + 9)),
    "devices": lambda: js.solve(spread(puzzles), devices=jax.local_devices()),
    "board": lambda: js.solve(spread(puzzles), js.Board.classic(6)),
    "ambiguous": lambda: js.solve(spread(np.zeros((16, 16), np.uint8), ends)),
    "uneven": lambda: js.solve(spread(puzzles[:-1])),
    "rules": lambda: js.weakest_rules(spread(puzzles)),
    "solver": lambda: js.solve(spread(puzzles), solver="exat"),
    "others": lambda: js.solve(puzzles, devices=jax.devices()),
}
saved = {}
for case in cases:
    results = SOLVE[case]()
    named = results._asdict() if hasattr(results, "_asdict") else {"counts": results}
    for field, array in {**named.pop("stats", {}), **named}.items():
        if processes == 1:
            saved[f"{case}/{field}"] = np.asarray(array)
            continue
        assert isinstance(array, jax.Array) and not array.is_fully_addressable, (case, field, array)
        assert array.sharding.spec[0] == "batch" and not any(array.sharding.spec[1:]), (case, field, array.sharding)
        saved[f"{case}/{field}/shape"] = np.array(array.shape)
        for shard in array.addressable_shards:
            start, _, _ = shard.index[0].indices(array.shape[0])
            saved[f"{case}/{field}/{start}/{shard.device.id}"] = np.asarray(shard.data)
errors = {}
for name, function in ERRORS.items() if processes > 1 else ():
    try:
        function()
    except Exception as error:
        errors[name] = f"{type(error).__name__}: {error}"
own = js.solve(puzzles[me::processes], **local)
assert type(own.grids) is np.ndarray
saved |= {"own/grids": own.grids, "own/status": own.status}
np.savez(f"{folder}/{me}.npz", **saved)
with open(f"{folder}/{me}.json", "w") as file:
    json.dump(errors, file)
distributed.barrier("end", 120)
"""


def puzzles_for_all() -> np.ndarray:
    """240 puzzles; some have one solution, some several, some none, some clashing givens."""
    puzzles = reference.batch(FOUR, 240)
    puzzles[::7] = 0
    return puzzles


class Found:
    """What the processes have found: their own arrays, the errors of each, and global arrays put together."""

    def __init__(self, folder: Path, count: int) -> None:
        self.own = [dict(np.load(folder / f"{process}.npz")) for process in range(count)]
        self.errors = [json.loads((folder / f"{process}.json").read_text()) for process in range(count)]

    def whole(self, case: str, field: str) -> np.ndarray:
        """A result, from the shards of all processes; every row is in one place, and copies of it are the same."""
        prefix = f"{case}/{field}/"
        (shape,) = {tuple(own[f"{prefix}shape"].tolist()) for own in self.own}
        parts: dict[int, np.ndarray] = {}
        for own in self.own:
            for name, part in own.items():
                if name.startswith(prefix) and not name.endswith("shape"):
                    start = int(name.removeprefix(prefix).split("/")[0])
                    np.testing.assert_array_equal(part, parts.setdefault(start, part))
        starts = sorted(parts)
        lengths = [len(parts[start]) for start in starts]
        assert starts == np.cumsum([0, *lengths])[:-1].tolist()
        whole = np.concatenate([parts[start] for start in starts])
        assert whole.shape == shape
        return whole


def found(folder: Path, count: int, devices: int, cases: list[str]) -> Found:
    """Runs the program in some processes."""
    np.save(folder / "puzzles.npy", puzzles_for_all())
    arguments = ["-c", PROGRAM, "{coordinator}", "{processes}", "{process}", str(folder), ",".join(cases)]
    run(arguments, count, folder, devices=devices, timeout=300)
    return Found(folder, count)


#: Cases that are run in two processes with two devices each, then those that are run in three with one each.
FEW = ["solve", "square", "two axes", "counts", "ratings", "empty"]
OTHERS = ["solve", "counts", "search", "mapped", "annealing"]


@pytest.fixture(scope="module", params=[pytest.param(count, marks=pytest.mark.slow) for count in (2, 3)])
def several(request, tmp_path_factory):
    """The cases, and the results of two processes of two devices, or three of one, and of one process with as many."""
    folder, alone = tmp_path_factory.mktemp("several"), tmp_path_factory.mktemp("alone")
    cases, more = (FEW, "copies") if request.param == 2 else (OTHERS, "part")
    devices = 2 if request.param == 2 else 1
    together = found(folder, request.param, devices, [*cases, more])
    return cases, together, found(alone, 1, request.param * devices, cases).own[0]


def test_results_are_those_of_one_process_bit_for_bit(several):
    cases, together, alone = several
    compared = [name.split("/") for name in alone if not name.startswith("own/")]
    assert {case for case, _ in compared} == set(cases)
    for case, field in compared:
        result = together.whole(case, field)
        assert result.dtype == alone[f"{case}/{field}"].dtype
        np.testing.assert_array_equal(result, alone[f"{case}/{field}"], err_msg=f"{case} {field}")


def test_results_are_right(several):
    """Compared with plain Python: counts, statuses, and a solution wherever there is one."""
    cases, together, _ = several
    puzzles = puzzles_for_all()
    counts = np.array([reference.count(FOUR, puzzle, 5) for puzzle in puzzles])
    assert {0, 1, 5} <= set(counts.tolist())
    np.testing.assert_array_equal(together.whole("counts", "counts"), counts)
    for case in {"search", "mapped"} & set(cases):
        np.testing.assert_array_equal(together.whole(case, "counts"), counts)
    solved = together.whole("solve", "status") == js.Status.SOLVED
    np.testing.assert_array_equal(solved, counts > 0)
    grids = together.whole("solve", "grids")
    assert all(reference.is_solution(FOUR, grid) for grid in grids[solved])
    givens = puzzles[solved] > 0
    assert (grids[solved] == puzzles[solved])[givens].all()
    assert not grids[~solved].any()


@pytest.mark.slow
@pytest.mark.parametrize("several", [2], indirect=True)
def test_shapes_are_the_puzzles(several):
    _, together, _ = several
    assert together.whole("square", "grids").shape == (60, 4, 4)
    assert together.whole("two axes", "grids").shape == (12, 5, 16)
    assert together.whole("two axes", "status").shape == (12, 5)
    assert together.whole("empty", "grids").shape == (0, 16)
    assert together.whole("empty", "iterations").shape == (0,)


def test_devices_draw_different_random_numbers(several):
    cases, together, _ = several
    grids = together.whole("solve", "grids")[::7]  # puzzles without a given
    devices = 4 if cases is FEW else 3
    share = len(grids) // devices
    parts = [grids[share * number : share * (number + 1)] for number in range(devices)]
    alike = [(parts[0] == part).all(axis=1) for part in parts[1:]]
    assert np.mean(alike) < 0.5


def test_numpy_arrays_are_each_process_own(several):
    _, together, _ = several
    puzzles = puzzles_for_all()
    for process, own in enumerate(together.own):
        part = puzzles[process :: len(together.own)]
        counts = np.array([reference.count(FOUR, puzzle, 1) for puzzle in part])
        np.testing.assert_array_equal(own["own/status"] == js.Status.SOLVED, counts > 0)
        for puzzle, grid in zip(part[counts > 0], own["own/grids"][counts > 0], strict=True):
            assert reference.is_solution(FOUR, grid) and (grid == puzzle)[puzzle > 0].all()


def test_copies_inside_a_process_and_a_part_of_the_devices_are_well(several):
    """In two processes each device has a copy beside it; in three, two hold all puzzles and the other none."""
    cases, together, alone = several
    case = "copies" if cases is FEW else "part"
    one = alone["counts/counts"] == 1
    np.testing.assert_array_equal(together.whole(case, "status"), alone["solve/status"])
    np.testing.assert_array_equal(together.whole(case, "grids")[one], alone["solve/grids"][one])
    holding = [sum(name.startswith(f"{case}/grids/") for name in own) - 1 for own in together.own]  # less the shape
    assert holding == ([2, 2] if cases is FEW else [1, 1, 0])


ERRORS = {
    "replicated": "ValueError: processes 0, 1.* hold the same puzzles.*shard the batch alone, over devices of all",
    "cells": "ValueError: puzzles over several devices are sharded along their cells, .*'batch'.*shard the batch",
    "one puzzle": r"ValueError: one puzzle, uint8\[16\], on several devices; shard the batch",
    "floats": "ValueError: puzzles of dtype float32; they must be integers",
    "values": r"ValueError: puzzles hold values outside 0\.\.4",
    "devices": "ValueError: .* are solved on the devices that hold them; leave out devices",
    "board": r"ValueError: grids of shape \(240, 16\); a board of .* takes",
    "ambiguous": r"ValueError: grids of shape \(16, 16\) are ambiguous",
    "uneven": r"\w*Error: .*239",  # JAX makes no such array
    "rules": "ValueError: an array that is spread over several processes; solve, count_solutions and rate take it",
    "solver": "ValueError: unknown solver 'exat'",
    "others": "ValueError: .* belongs to another process: an engine runs on the devices of its own process",
}


def test_what_does_not_work_is_an_error_in_every_process(several):
    cases, together, _ = several
    expected = dict(ERRORS)
    if cases is OTHERS:  # where copies are in different processes
        expected["copies"] = "ValueError: processes 0, 1 hold the same puzzles"
    for errors in together.errors:
        assert set(errors) == set(expected)
        for name, message in expected.items():
            assert re.match(message, errors[name], re.DOTALL), f"{name}: {errors[name]}"


def test_arrays_of_one_process_are_not_spread():
    puzzles = puzzles_for_all()[:8]
    assert not is_spread(puzzles)
    assert not is_spread(jax.numpy.asarray(puzzles))
    assert not jax.jit(lambda array: is_spread(array))(puzzles)


def test_shares_are_put_together_again():
    """Of one process, in which they are those of all devices; with a mesh or without."""
    puzzles = puzzles_for_all()[:8]
    mesh = jax.make_mesh((1, 1), ("batch", "copy"))
    for place in (jax.NamedSharding(mesh, jax.P("batch")), None):
        array = jax.device_put(puzzles, place)
        spread = ProcessShards(array, 1)
        assert (spread.count, spread.positions, spread.devices) == (1, [0], jax.devices()[:1])
        (share,) = spread.shares()
        np.testing.assert_array_equal(share, puzzles)
        again = spread.assemble([{"sums": share.sum(axis=1, dtype=np.int32)}], {"sums": np.zeros(0, np.int32)})
        np.testing.assert_array_equal(again["sums"], puzzles.sum(axis=1))
        assert again["sums"].sharding == (jax.NamedSharding(mesh, jax.P("batch")) if place else array.sharding)


@pytest.mark.slow
def test_the_program_of_the_docs_solves_its_puzzles(tmp_path):
    """The first block of docs/scaling.md, saved as it says."""
    page = Path(js.__file__).parents[1] / "docs" / "scaling.md"
    (program, *_) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "solve.py").write_text(program)
    arguments = [str(tmp_path / "solve.py"), "{coordinator}", "{processes}", "{process}"]
    environment = {"PYTHONPATH": str(Path(js.__file__).parents[1])}
    logs = run(arguments, 2, tmp_path, timeout=400, environment=environment)
    solved = [re.search(r"^process (\d) of 2: (\d+) solved$", log, re.MULTILINE).groups() for log in logs]
    assert solved == [("0", "500"), ("1", "499")]
