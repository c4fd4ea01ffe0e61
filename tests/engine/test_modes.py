"""JAX's modes and transformations: 64-bit, debugged NaNs, keys of every kind, shard_map, explicit meshes, export."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.export
import numpy as np
import pytest
import reference
from processes import WARNINGS_ARE_ERRORS
from random_networks import random_network

import jaxsudoku as js
from jaxsudoku import exact, solvers
from jaxsudoku.engine import batches
from jaxsudoku.runtime.random import as_key

FOUR = reference.SMALL["4x4"]
PUZZLES = reference.batch(FOUR, 12)


@contextlib.contextmanager
def mode(**settings: Any) -> Iterator[None]:
    """Settings of JAX for all threads, those of the engine too."""
    before = {name: getattr(jax.config, name) for name in settings}
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


#: 64-bit types and debugged NaNs.
BOTH = {"jax_enable_x64": True, "jax_debug_nans": True}


def options(solver: solvers.Solver) -> dict[str, Any]:
    """Settings under which a solver is compiled and run in little time."""
    names = {field.name for field in dataclasses.fields(solver.config)}
    few = 4 if solver.name == "annealing" else 32
    small = {"simulations": 4, "lanes": few, "budget": 64, "chains": 32, "rules": "naked"}
    return {name: value for name, value in small.items() if name in names}


def answers(name: str) -> Any:
    solver = solvers.get(name)
    return js.solve(
        PUZZLES, FOUR, solver=name, network=random_network(FOUR) if solver.guided else None, **options(solver)
    )


@jax.jit
def moved(puzzles: jax.Array) -> jax.Array:
    return js.symmetry.apply(js.symmetry.sample(3, FOUR, PUZZLES.shape[:1]), puzzles)


@jax.jit
def checked(puzzles: jax.Array) -> tuple[jax.Array, ...]:
    return js.is_valid(puzzles), js.is_solved(puzzles), js.conflicts(puzzles), js.planes.grids_to_cubes(puzzles)


@jax.jit
def parameters() -> Any:
    return js.make_network("cube", FOUR, key=1, **reference.TINY["cube"]).params


#: What makes or measures puzzles, by name.
MAKERS = {
    "generate": lambda: js.generate(0, 5, FOUR),
    "holes": lambda: js.generate(0, 5, FOUR, holes="balanced", given=0.5, batch_size=64),
    "rate": lambda: js.rate(PUZZLES, FOUR),
    "weakest_rules": lambda: js.weakest_rules(PUZZLES, FOUR),
    "count_solutions": lambda: js.count_solutions(PUZZLES, FOUR, limit=3),
    "random order": lambda: js.solve(PUZZLES, FOUR, order="random", key=5),
    "network": lambda: random_network(FOUR)(reference.candidates(FOUR, PUZZLES)),
    "make_network": lambda: parameters(),
    "symmetry": lambda: moved(PUZZLES),
    "grid": lambda: checked(PUZZLES),
    "mastermind": lambda: js.mastermind.build(js.mastermind.PegGame(2, 3), "entropy").histogram,
}


def assert_equal(found: Any, expected: Any) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------------- 64-bit types and debugged NaNs


@pytest.mark.parametrize(
    "what",
    # generation is slow to compile, and its parts, the searches, are tried below
    [pytest.param(what, marks=[pytest.mark.slow] * (what == "generate")) for what in MAKERS],
)
def test_makers_in_modes(what):
    expected = MAKERS[what]()
    with mode(**BOTH):
        assert_equal(MAKERS[what](), expected)


#: Some of each kind, which are slow to compile.
SOME = ["annealing", "guided-exact", "mcgs", "evosax"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_solvers_in_modes(name, monkeypatch):
    if name == "evosax":
        pytest.importorskip("evosax")
    expected = answers(name)
    monkeypatch.setattr(batches, "_compile", batches._compile.__wrapped__)  # which keeps no program
    with mode(**BOTH):
        found = answers(name)
    # random keys of 64-bit floats draw other numbers in evosax
    assert_equal(found.status if name == "evosax" else found, expected.status if name == "evosax" else expected)


@pytest.mark.parametrize("name", ["exact", "guided-exact", "iterative", "one-shot", "depth-first"])
def test_types_under_64_bits(name):
    """Those of the others are tried in test_tree.py and test_population.py."""
    solver = solvers.get(name)
    config = solvers.make_config(solver, **options(solver)).resolve(FOUR, "cpu")
    networks = (random_network(FOUR),) if solver.guided else ()
    with jax.enable_x64(True):
        found = jax.eval_shape(lambda key: solver.run(FOUR, PUZZLES, key, config, *networks), as_key(0))
    numbers = ["int32"] * (1 + len(solver.stats))
    assert [leaf.dtype for leaf in jax.tree.leaves(found)] == ["uint8", "int8", *numbers]


# ---------------------------------------------------------------------- keys


def test_every_kind_of_key():
    """Threefry keys are taken as they are, others give a threefry key; seeds do not depend on JAX's settings."""
    expected = jax.random.key_data(as_key(7)).tolist()
    assert expected == jax.random.key_data(jax.random.key(7, impl="threefry2x32")).tolist()
    assert expected == jax.random.key_data(as_key(jax.random.key(7, impl="threefry2x32"))).tolist()
    for raw in (jax.random.PRNGKey(7), np.asarray(jax.random.PRNGKey(7))):
        assert jax.random.key_data(as_key(raw)).tolist() == expected
    with mode(jax_default_prng_impl="rbg"):
        assert jax.random.key_data(as_key(7)).tolist() == expected
    others = [jax.random.key(7, impl=name) for name in ("rbg", "unsafe_rbg")] + [np.arange(4, dtype=np.uint32)]
    for key in others:
        assert str(jax.random.key_impl(as_key(key))) == "threefry2x32"
    for seed in (0, -1, 2**32 - 1, 2**40, np.int64(3), np.uint64(2**63)):
        with jax.enable_x64(True):
            wide = jax.random.key_data(as_key(seed))
        np.testing.assert_array_equal(wide, jax.random.key_data(as_key(seed)))
    assert jax.random.key_data(as_key(2**40)).tolist() != jax.random.key_data(as_key(0)).tolist()


@pytest.mark.parametrize(
    "key", [1.5, "7", True, 2**64, -(2**31) - 1, np.zeros(3, np.uint32), np.zeros(2, np.int32), None]
)
def test_what_is_no_key_is_refused(key):
    with pytest.raises(ValueError, match=r"is neither a seed nor one JAX key|lies outside -2\*\*31"):
        as_key(key)


def test_a_solver_takes_keys_of_other_implementations():
    for key in (jax.random.key(0, impl="rbg"), jax.random.PRNGKey(0), np.arange(4, dtype=np.uint32)):
        found = js.solve(PUZZLES, FOUR, order="random", key=key)
        np.testing.assert_array_equal(found.status, js.solve(PUZZLES, FOUR).status)


@pytest.mark.slow
def test_the_search_with_restarts():
    seeds = np.arange(len(PUZZLES), dtype=np.uint32)
    options = {"limit": 2, "restart": 3, "lanes": 32, "rules": "naked", "rounds": 1}
    search = jax.jit(functools.partial(exact.search, board=FOUR, **options), compiler_options=js.compiler_options())
    expected = search(PUZZLES, seeds=seeds, excluded=np.zeros_like(PUZZLES))
    with jax.numpy_dtype_promotion("strict"):
        shapes = jax.eval_shape(search, PUZZLES, seeds=seeds, excluded=np.zeros_like(PUZZLES))
    with mode(**BOTH):
        assert_equal(search(PUZZLES, seeds=seeds, excluded=np.zeros_like(PUZZLES)), expected)
    assert [leaf.dtype for leaf in shapes] == [leaf.dtype for leaf in expected]


# ---------------------------------------------------------------------- several devices


SHARDED = """
import functools, json, sys
import jax, numpy as np
import jaxsudoku as js
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

puzzles = np.array(json.loads(sys.argv[1]), np.uint8)
board, options = js.Board.classic(4), js.compiler_options()
search = functools.partial(js.exact.search, board=board, limit=3, lanes=32, rules="naked", rounds=1)
restarting = functools.partial(search, restart=2, budget=10_000)
mesh = jax.make_mesh((4,), ("batch",))
automatic = jax.make_mesh((4,), ("batch",), axis_types=(AxisType.Auto,))
square = jax.make_mesh((2, 2), ("rows", "columns"))

def mapped(function, mesh):
    return jax.shard_map(function, mesh=mesh, in_specs=P("batch"), out_specs=P("batch"))

def on(mesh, *spec):
    return jax.device_put(puzzles, NamedSharding(mesh, P(*spec)))

def propagated(candidates):
    return js.propagate(candidates, board)

def judged(on):
    mine = on(puzzles)
    moved = js.symmetry.apply(js.symmetry.sample(0, board, 64), mine)
    return (js.is_valid(mine), js.conflicts(mine), js.is_solved(on(np.array(found["one"].grids)), givens=mine), moved,
            js.is_valid(on(puzzles.reshape(-1, 4, 4)), board))

def by_cells(grids):
    return jax.device_put(grids, NamedSharding(square, P("rows", "columns")))

planes = js.planes.grids_to_planes(np.resize(puzzles, (128, 16))).candidates
over_lanes = P(None, None, None, "batch")
rules = jax.shard_map(propagated, mesh=automatic, in_specs=over_lanes, out_specs=over_lanes)
found = {
    "one": jax.jit(search, compiler_options=options)(puzzles),
    "restarts": jax.jit(restarting, compiler_options=options)(puzzles),
    "shard_map": jax.jit(mapped(search, automatic), compiler_options=options)(puzzles),
    "shard_map, restarts": jax.jit(mapped(restarting, automatic), compiler_options=options)(puzzles),
    "explicit": jax.jit(search, compiler_options=options)(on(mesh, "batch")),
    "explicit, cells": jax.jit(search, compiler_options=options)(on(square, "rows", "columns")),
    "explicit, replicated": jax.jit(search, compiler_options=options)(on(mesh)),
    "automatic": jax.jit(search, compiler_options=options)(on(automatic, "batch")),
}
print(json.dumps({
    "results": {name: [np.asarray(part).tolist() for part in result] for name, result in found.items()},
    "specs": {name: [str(part.sharding.spec[0]) for part in result] for name, result in found.items()
              if hasattr(result.counts.sharding, "spec")},
    "judged": [[np.asarray(part).tolist() for part in judged(on)] for on in (by_cells, np.asarray)],
    "rules": bool((jax.jit(rules)(planes) == propagated(planes)).all()),
}))
"""


@pytest.fixture(scope="module")
def sharded() -> dict[str, Any]:
    puzzles = reference.unique(FOUR, 64)
    puzzles[1::3] = reference.batch(FOUR, 64)[1::3]
    return json.loads(on_four_devices(SHARDED, json.dumps(puzzles.tolist())))


def on_four_devices(program: str, *arguments: str) -> str:
    """What a program prints in a process with four host devices, in which warnings are errors."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    run = subprocess.run(
        [sys.executable, *WARNINGS_ARE_ERRORS, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "XLA_FLAGS": flags},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_search_under_shard_map_and_explicit_meshes(sharded):
    grids, status, counts, iterations = map(np.array, sharded["results"]["one"])
    for name, result in sharded["results"].items():
        found = [np.array(part) for part in result]
        np.testing.assert_array_equal(found[1], status, name)
        np.testing.assert_array_equal(found[2], counts, name)
        np.testing.assert_array_equal(found[0][counts == 1], grids[counts == 1], name)
        if "restarts" not in name:  # a tree that is searched whole is the same anywhere
            np.testing.assert_array_equal(found[3][counts < 3], iterations[counts < 3], name)
    assert {0, 1, 3} <= set(counts.tolist())


@pytest.mark.slow
def test_results_are_sharded_like_the_puzzles(sharded):
    for name in ("shard_map", "explicit", "automatic"):
        assert sharded["specs"][name] == ["batch"] * 4, name
    assert sharded["specs"]["explicit, cells"] == ["rows"] * 4


@pytest.mark.slow
def test_grids_sharded_along_their_cells_are_judged_and_moved(sharded):
    by_cells, at_once = sharded["judged"]
    assert by_cells == at_once


@pytest.mark.slow
def test_rules_under_shard_map(sharded):
    assert sharded["rules"]


@pytest.mark.slow
def test_the_programs_of_the_documentation_run():
    pytest.importorskip("flatbuffers")
    text = (Path(__file__).parents[2] / "docs" / "jax.md").read_text()
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert program.count("found = ") == 4
    on_four_devices(program + "assert (found.counts == 1).all() and len(jax.devices()) == 4")


# ---------------------------------------------------------------------- other transformations


def test_a_search_is_exported():
    pytest.importorskip("flatbuffers")
    search = jax.jit(functools.partial(exact.search, board=FOUR, limit=2, lanes=32, rules="naked", rounds=1))
    shape = jax.ShapeDtypeStruct(PUZZLES.shape, np.uint8)
    there = jax.export.deserialize(jax.export.export(search)(shape).serialize())
    found = jax.jit(there.call, compiler_options=js.compiler_options())(PUZZLES)
    assert isinstance(found, exact.SearchResult)
    np.testing.assert_array_equal(found.counts, js.count_solutions(PUZZLES, FOUR))


def test_lanes_and_batch_axes_are_asked_for():
    with pytest.raises(ValueError, match="33 lanes; planes hold 32 lanes in a word, so pad the batch to 64"):
        js.planes.grids_to_planes(np.zeros((33, 16), np.uint8))
    row, words = np.zeros(12, bool), np.zeros((12, FOUR.words), np.uint32)
    state = js.env.State(words, row.astype(np.int32), row, row)
    single = jax.tree.map(lambda leaf: leaf[0], state)
    with pytest.raises(ValueError, match=r"nodes of shape \(2,\); they must be \[B, 2\]: a single position needs"):
        js.env.step(single, np.int32(0), FOUR)
    with pytest.raises(ValueError, match=r"action of shape \(3,\); it must be \[12\]"):
        js.env.step(state, np.zeros(3, np.int32), FOUR)
    planes = jax.device_put(np.zeros((4, 4, 4, 1), np.uint32))
    with pytest.raises(TypeError, match="board must be a Board, not Array"):
        js.propagate(planes, planes)


@pytest.mark.slow
def test_moves_of_any_integer_type():
    """On 6x6 digit * cells + cell is beyond one of the types that digits have."""
    step = jax.jit(functools.partial(js.env.step, rules="none"))
    state = jax.jit(functools.partial(js.env.init, rules="none"))(js.load("6x6")[:8])
    legal = np.asarray(jax.jit(js.env.legal_action_mask)(state))
    action = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
    expected = step(state, action.astype(np.int32))
    assert (action >= 4).any() and not np.asarray(expected.refuted).all()
    assert_equal(step(state, action.astype(np.int8)), expected)
    for dtype in (np.uint8, np.uint32):
        assert jax.eval_shape(step, state, action.astype(dtype)) == jax.eval_shape(lambda: expected)
    with pytest.raises(ValueError, match="action of dtype float32; it must be of integers"):
        js.env.step(state, action.astype(np.float32))


def test_no_positions():
    def played(puzzles: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = js.env.init(puzzles)
        return js.env.step(state, jax.numpy.zeros(0, "int32"), FOUR).refuted, js.env.observe(state, FOUR)

    refuted, seen = jax.eval_shape(played, np.zeros((0, 16), np.uint8))
    assert refuted.shape == (0,)
    assert seen.shape == (0, 4, 16)
    with pytest.raises(ValueError, match="0 lanes; planes hold 32 lanes in a word, so pad the batch to 32"):
        js.planes.grids_to_planes(np.zeros((0, 16), np.uint8))


def test_a_board_in_the_place_of_the_data_is_told():
    for function in (exact.search, js.propagate, js.is_valid, js.env.init, js.planes.grids_to_cubes):
        with pytest.raises(TypeError, match="the data come first and the board second"):
            function(FOUR, PUZZLES)
