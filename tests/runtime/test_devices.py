"""Several devices: the same answers as on one, and every device takes part."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import reference
from processes import WARNINGS_ARE_ERRORS

import jaxsudoku as js

FOUR = reference.SMALL["4x4"]

#: Of the searches, which are soon compiled.
SETTINGS = {"lanes": 32, "rules": "naked", "rounds": 1}

#: Reads puzzles, writes what each way of solving them found and on which devices its shards lay.
PROGRAM = """
import dataclasses, functools, json, sys
import jax, numpy as np
import jaxsudoku as js
from jaxsudoku import exact
from jaxsudoku.engine import batches, kernels

puzzles = np.array(json.load(sys.stdin), np.uint8)
shards = []
compiled = batches._compiled

def watched(*args):
    call = compiled(*args)
    def run(*inputs):
        results = call(*inputs)
        for leaf in filter(lambda leaf: leaf.size, jax.tree.leaves(results)):
            shards.append([(shard.device.id, shard.data.shape[0]) for shard in leaf.addressable_shards])
        return results
    return run

batches._compiled = watched
settings = json.loads(sys.argv[1])
solve = functools.partial(js.solve, batch_size=57, **settings)
results = {
    "devices": [device.id for device in jax.devices()],
    "solve": [x.tolist() for x in solve(puzzles)[:3]],
    "few": solve(puzzles[:3]).status.tolist(),
    "none": list(solve(puzzles[:0]).grids.shape),
    "one": solve(puzzles[0]).grids.tolist(),
    "counts": js.count_solutions(puzzles, limit=5, batch_size=57, **settings).tolist(),
    "shards": shards,
}
board = js.Board.classic(4)
mesh = jax.make_mesh((jax.device_count(),), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
spec = jax.sharding.PartitionSpec("batch")
search = functools.partial(exact.search, board=board, limit=5, **settings)
sharded = jax.shard_map(search, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
found = jax.jit(sharded, compiler_options=js.compiler_options())(puzzles)
results["search"] = [np.asarray(x).tolist() for x in (found.status, found.counts)]
results["search_devices"] = sorted(device.id for device in found.counts.sharding.device_set)
results["replicated"] = found.counts.sharding.is_fully_replicated

@dataclasses.dataclass(frozen=True)
class Shifted(kernels.PuzzleItems):
    def resolve(self, board, platform):
        return self

    def __call__(self, board, puzzles, key, number, shift):
        return puzzles + shift["by"].astype(np.uint8)

shifts = [batches.Engine(Shifted(), board, batch_size=57, shared=({"by": np.full(16, by)},)) for by in (1, 2)]
results["shared"] = [engine.run(puzzles).tolist() for engine in shifts]
results["compiled"] = batches._compile.cache_info().misses
batches.Engine(Shifted(), board, batch_size=57, shared=({"by": np.zeros(16, int)},)).run(puzzles)
results["compiled again"] = batches._compile.cache_info().misses

one, again = (solve(np.zeros((57, 16), int), order="random").grids for _ in range(2))
results["random"] = [one.tolist(), bool((one == again).all())]
json.dump(results, sys.stdout)
"""


def puzzles_for_all() -> np.ndarray:
    """64 puzzles with one solution or none, so that there is but one right answer."""
    puzzles = reference.unique(FOUR, 64)
    puzzles[::5, 0] = puzzles[::5, -1]
    for puzzle in puzzles:
        if reference.count(FOUR, puzzle, 2) > 1:
            puzzle[:2] = 1
    return puzzles


#: Devices of the process.
DEVICES = 2


@pytest.fixture(scope="module")
def several():
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": str(DEVICES), "JAX_PLATFORMS": "cpu"}
    result = subprocess.run(
        [sys.executable, *WARNINGS_ARE_ERRORS, "-c", PROGRAM, json.dumps(SETTINGS)],
        input=json.dumps(puzzles_for_all().tolist()),
        cwd=Path(js.__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert len(found["devices"]) == DEVICES
    return found


@pytest.fixture(scope="module")
def alone():
    puzzles = puzzles_for_all()
    solution = js.solve(puzzles, batch_size=57, **SETTINGS)
    return {
        "solve": [x.tolist() for x in solution[:3]],
        "counts": [reference.count(FOUR, puzzle, 5) for puzzle in puzzles],
    }


def test_answers_are_those_of_one_device(several, alone):
    assert several["solve"] == alone["solve"]
    assert several["counts"] == alone["counts"]
    assert several["search"] == [alone["solve"][1], alone["counts"]]
    assert several["few"] == alone["solve"][1][:3]
    assert several["one"] == alone["solve"][0][0]
    assert several["none"] == [0, FOUR.cells]


def test_every_device_takes_an_even_share(several):
    assert several["shards"]
    for shards in several["shards"]:
        assert sorted(device for device, _ in shards) == several["devices"]
        assert len({size for _, size in shards}) == 1
    assert {sum(size for _, size in shards) for shards in several["shards"]} == {58}, "57, and one to be even"


def test_what_batches_share_is_on_every_device_and_no_part_of_what_is_compiled(several):
    puzzles = puzzles_for_all().astype(int)
    assert several["shared"] == [(puzzles + by).tolist() for by in (1, 2)]
    assert several["compiled again"] == several["compiled"]


def test_the_search_itself_is_sharded(several):
    assert several["search_devices"] == several["devices"]
    assert not several["replicated"]


def test_devices_draw_different_random_numbers(several):
    grids, again = several["random"]
    assert again
    assert all(reference.is_solution(FOUR, grid) for grid in grids)
    share = -(-len(grids) // len(several["devices"]))
    alike = [one == other for one, other in zip(grids, grids[share:], strict=False)]
    assert sum(alike) < len(alike) / 2


def test_a_device_may_be_named(alone):
    puzzles = puzzles_for_all()
    solution = js.solve(puzzles, batch_size=57, devices=jax.local_devices()[:1], **SETTINGS)
    assert [x.tolist() for x in solution[:3]] == alone["solve"]
