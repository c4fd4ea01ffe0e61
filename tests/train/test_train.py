"""Training: positions and their labels, the objective, the step, settings, and runs that are resumed."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from processes import SMALL_NETWORK, saved

import jaxsudoku as js
from jaxsudoku import datasets, networks
from jaxsudoku.cli.fields import attribute_texts
from jaxsudoku.networks import Outputs
from jaxsudoku.networks.cube import CubeConfig
from jaxsudoku.runtime.locks import OutputLock
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.terminal.progress import Screen, compiling
from train import positions as sampling
from train.examples import self_play
from train.flags import parse_arguments
from train.objective import Metrics, no_metrics, objective, summary
from train.optimiser import make_optimiser
from train.pool import Pool
from train.positions import Positions, fitting_devices, puzzles_needed, sample_kind
from train.presets import PRESETS
from train.processes import Processes
from train.puzzles import clues_of, open_data, puzzles_of_steps
from train.record import Recorder, read
from train.step import batch_gradients, compiled_step, initial_state, make_forward, place
from train.supervised import main, train
from train.train_config import (
    GROUPS,
    DataConfig,
    NetworkConfig,
    ObjectiveConfig,
    OptimiserConfig,
    PositionKind,
    PositionsConfig,
    TrainConfig,
)

ROOT = Path(__file__).parents[2]
FOUR = js.Board.classic(4)
TINY = PRESETS["tiny"]

#: Settings of whole runs, with so few puzzles that one program makes them and those of the data sets below.
SMALL = dataclasses.replace(
    TINY,
    data=dataclasses.replace(TINY.data, generate=64),
    network=dataclasses.replace(TINY.network, sizes=CubeConfig(width=8, hidden=8, house=8, iterations=2)),
)


# ---------------------------------------------------------------------- positions

#: Boards with puzzles on which these rules leave something to be told.
ASKED = {"4x4": "none", "6x6": "naked", "9x9-hard": "locked"}


@pytest.fixture(scope="module", params=["4x4", "6x6", pytest.param("9x9-hard", marks=pytest.mark.slow)])
def puzzles(request):
    board, grids = js.shipped.board(request.param), js.load(request.param)[:64]
    if request.param != "9x9-hard":
        solved = np.array([reference.solutions(board, grid, 1)[0] for grid in grids], np.uint8)
    else:
        solved = js.solve(grids).grids
    return SimpleNamespace(board=board, puzzles=grids, solutions=solved, rules=ASKED[request.param])


@pytest.fixture(scope="module")
def make(puzzles):
    """Positions of these puzzles by key, half of them wrong, and what their rules make of the first 32."""
    board, kind = puzzles.board, PositionKind(puzzles.rules, filled=2.0, wrong=0.5)

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def made(key):
        found = sample_kind(kind, board, key, puzzles.puzzles, puzzles.solutions, np.zeros(64, np.float32), 48)
        return found, sampling.settled_cubes(board, found.candidates[:32], puzzles.rules)

    return functools.cache(lambda seed: jax.tree.map(np.asarray, made(as_key(seed))))


def test_labels_are_right(puzzles, make):
    found, _ = make(0)
    assert found.candidates.shape == (48, puzzles.board.side, puzzles.board.cells)
    assert found.useful.sum() >= 8
    right = puzzles.solutions[:, None] == np.arange(1, puzzles.board.side + 1)[:, None]
    given = right | (puzzles.puzzles == 0)[:, None]
    for candidates, truth, alive in zip(*(part[found.useful] for part in found[:3]), strict=True):
        # it is a refinement of a puzzle, whose one solution is the truth of a live position, and not in a dead one
        origins = ~(candidates & ~given).any(axis=(1, 2))
        there = (candidates | ~right).all(axis=(1, 2))
        if alive:
            assert ((right == truth).all(axis=(1, 2)) & origins & there).any()
        else:
            assert (origins & ~there).any() and not truth.any()
    assert 0.2 < found.alive[found.useful].mean() < 0.95


def test_useful_positions_are_neither_solved_nor_refuted(puzzles, make):
    found, _ = make(0)
    candidates = found.candidates[found.useful]
    assert (candidates.sum(axis=1) > 1).any(axis=1).all()
    assert candidates.any(axis=1).all()
    for house in puzzles.board.houses:
        assert candidates[:, :, list(house)].any(axis=2).all()


def test_rules_have_nothing_more_to_say(make):
    found, (again, refuted, solved) = make(0)
    useful = found.useful[:32]
    assert (again == found.candidates[:32])[useful].all()
    assert not refuted[useful].any() and not solved[useful].any()


def test_positions_follow_from_the_key(make):
    (one, _), (other, _) = make(0), make(1)
    same, _ = make.__wrapped__(0)
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (one.candidates != other.candidates).any()


@functools.cache
def four_by_four():
    grids = js.load("4x4")[:96]
    return grids, np.array([reference.solutions(FOUR, grid, 1)[0] for grid in grids], np.uint8)


_sample = jax.jit(sample_kind, static_argnames=("kind", "board", "size"))


def some_positions(kind, preference=(0.0,) * 96, by_open=(0.0,) * 17):
    """32 positions of 4x4 puzzles."""
    weights = (np.float32(preference), 32, np.float32(by_open))
    return jax.tree.map(np.asarray, _sample(kind, FOUR, as_key(0), *four_by_four(), *weights))


#: Two cells are filled in, all rightly; and none but a wrong one wherever that can be.
RIGHT, WRONG = PositionKind("none", filled=2.0, wrong=0.0), PositionKind("none", filled=0.0, wrong=1.0)


def test_no_position_is_wrong_unless_asked_for():
    assert some_positions(RIGHT).alive.all()


def test_nothing_but_a_wrong_digit_is_filled_in():
    found = some_positions(WRONG)
    # where a wrong digit is seen through at once there is none
    assert 0 < (~found.alive).sum() < len(found.alive)
    sole = found.candidates & (found.candidates.sum(axis=1, keepdims=True) == 1)
    assert all(sole[:, :, list(house)].sum(axis=2).max() == 1 for house in FOUR.houses)
    grids = (sole * np.arange(1, 5)[:, None]).sum(axis=1)
    puzzles, solved = four_by_four()
    for grid, alive in zip(grids, found.alive, strict=True):
        differing = (grid != puzzles).sum(axis=1)
        assert differing.min() == (0 if alive else 1)
        if not alive:
            (cell,) = np.flatnonzero(grid != puzzles[differing.argmin()])
            assert puzzles[differing.argmin(), cell] == 0 and grid[cell] != solved[differing.argmin(), cell]


def test_the_mean_number_of_cells_that_are_filled_in():
    cells = np.ones((4096, 64), bool)
    cells[:, :10] = False
    means = (0.5, 8.0)
    sample = jax.jit(lambda key: [sampling._sample_cells(key, cells, mean) for mean in means])
    for mean, some in zip(means, map(np.asarray, sample(as_key(3))), strict=True):
        assert not some[:, :10].any()
        assert some.sum(axis=1).mean() == pytest.approx(mean, rel=0.06)


def test_positions_are_drawn_by_the_loss_of_their_open_cells():
    plain, many, few = (
        (some_positions(RIGHT, by_open=weight * np.arange(17)).candidates.sum(axis=1) > 1).sum(axis=1)
        for weight in (0, 50, -50)
    )
    assert few.max() <= plain.mean() <= many.min()


def test_preferred_puzzles_are_drawn():
    found = some_positions(RIGHT, preference=np.where(np.arange(96) < 32, 100.0, 0.0))
    right = four_by_four()[1][:32, None] == np.arange(1, 5)[:, None]
    assert all((right == truth).all(axis=(1, 2)).any() for truth in found.truth)


# ---------------------------------------------------------------------- the objective


def softmax(x):
    powers = np.exp(x - x.max(axis=-2, keepdims=True))
    return powers / powers.sum(axis=-2, keepdims=True)


def test_the_objective_in_plain_numpy():
    found = Positions(*(part[:16] for part in some_positions(WRONG)))
    assert 0 < found.alive.sum() < 16
    found = found._replace(useful=np.arange(16) % 5 > 0)
    rng = np.random.default_rng(0)
    policy = np.where(
        found.candidates, rng.normal(size=(3, 16, 4, 16)) + 4 * found.truth * (rng.random(16) < 0.8), -1e9
    )
    value = rng.normal(size=(3, 16))

    @jax.jit
    def measured(policy, value):
        forward = SimpleNamespace(unroll=lambda *_: (Outputs(policy, value), None))
        return objective(forward, {}, Positions(*map(jnp.asarray, found)), ObjectiveConfig(2.0, 0.3), 50.0, 12.0)

    loss, aux = measured(np.float32(policy), np.float32(value))

    live = found.alive & found.useful
    asked = (found.candidates.sum(axis=1) > 1) & live[:, None]
    chance = (softmax(policy) * found.truth).sum(axis=2)  # of the right digit
    surprise = [-np.log(chance[t][asked]).sum() for t in range(3)]
    believed = 1 / (1 + np.exp(-value))
    doubt = [-np.log(np.where(found.alive, p, 1 - p))[found.useful].sum() for p in believed]
    weights = np.array([1, 2, 3]) / 6
    expected = sum(w * (s / 50 + 0.3 * d / 12) for w, s, d in zip(weights, surprise, doubt, strict=True))
    assert float(loss) == pytest.approx(expected, rel=1e-5)

    sure = ((softmax(policy)[-1] * found.truth).sum(axis=1) > 0.9) | ~asked
    finished = np.where(found.alive, sure.all(axis=1) & (believed[-1] > 0.5), believed[-1] < 0.1) | ~found.useful
    np.testing.assert_array_equal(aux.finished, finished)
    hits = (policy[-1].argmax(axis=1) == found.truth.argmax(axis=1)) & asked
    boards = [position for position in np.flatnonzero(live) if (hits | ~asked)[position].all()]
    assert [float(x) for x in aux.metrics] == pytest.approx(
        [
            expected * 12,
            surprise[-1],
            hits.sum(),
            asked.sum(),
            len(boards),
            live.sum(),
            doubt[-1],
            found.useful.sum(),
            16,
        ],
        rel=1e-5,
    )


def test_summaries_are_means():
    told = summary(Metrics(*map(np.float32, (8, 6, 3, 4, 1, 5, 2, 8, 10))))
    assert told == pytest.approx(
        {"loss": 1, "policy_loss": 1.5, "value_loss": 0.25, "cell_accuracy": 0.75, "board_accuracy": 0.2, "useful": 0.8}
    )
    assert set(summary(no_metrics()).values()) == {0.0}


# ---------------------------------------------------------------------- the step


def changed(config, **settings):
    """The settings with others, a group of them as a dict."""
    return dataclasses.replace(
        config,
        **{
            name: dataclasses.replace(getattr(config, name), **value) if isinstance(value, dict) else value
            for name, value in settings.items()
        },
    )


def resolved(config):
    return config.resolve(config.board, "cpu")


def small(name, network=None, **others):
    """Settings to train a small network, resolved."""
    sizes = networks.NETWORKS[name].config(**reference.TINY[name])
    steps = {"final_thinking_steps": 3} if name == "cube" else {}
    config = NetworkConfig(**({"architecture": name, "sizes": sizes} | steps | (network or {})))
    positions = {"kinds": (PositionKind("none"),)} | others.pop("positions", {})
    return resolved(changed(TINY, network=config, positions=positions, **others))


def forward_of(config):
    """The network with the iterations of the first step."""
    return make_forward(config, config.iterations_at(1))


def batch_of(config):
    """A batch of 4x4 puzzles."""
    grids, solved = four_by_four()
    needed = puzzles_needed(config, 1)
    zeros = np.zeros(needed, np.int32)
    return datasets.Batch(grids[:needed], solved[:needed], zeros, zeros.astype(np.float32))


def all_fresh(positions):
    """A pool of positions without features, and that they are fresh."""
    size = len(positions.alive)
    return Pool(positions, None, np.ones(size, np.int32)), np.ones(size, bool)


@pytest.fixture(scope="module")
def mesh():
    return jax.sharding.Mesh(np.asarray(jax.devices()[:1]), ("batch",))


@pytest.mark.slow  # whole runs below are the cube's, and each loss falls in test_networks.py
def test_a_network_without_iterations_trains(mesh):
    config = small("cell_cnn", microbatch=None, optimiser={"warmup": 0, "ema": 0.5})
    forward, batch, key = forward_of(config), batch_of(config), as_key(0)
    state = place(initial_state(config, key), mesh)  # as a step leaves it
    before = jax.device_get(state)
    for _ in range(2):
        state, sums = compiled_step(config, forward, mesh)(state, no_metrics(), batch, key)
    state, before = jax.device_get((state, before))
    assert state.step == 2 and np.isfinite(sums.loss)
    assert float(sums.made) == float(sums.positions) == config.batch_size
    norms = jax.tree.map(lambda old, new: np.abs(new - old).max(), before.params, state.params)
    assert all(norm > 0 for norm in jax.tree.leaves(norms)), "some parameters did not move"
    for old, new, average in zip(*map(jax.tree.leaves, (before.params, state.params, state.average)), strict=True):
        assert np.abs(average - old).max() < np.abs(new - old).max() + 1e-8


#: Gradients and metrics of the same positions, as a whole, in microbatches and on two devices; these are set once
#: settings of self-play were checked, which must not have asked for devices.
IN_PARTS = """
import dataclasses, functools, sys
import jax, numpy as np
from jax.sharding import PartitionSpec
from train.selfplay import _check_devices
from train.selfplay_presets import TINY
_check_devices(dataclasses.replace(TINY, replay=dataclasses.replace(TINY.replay, priority=0.5)), 2)
jax.config.update("jax_num_cpu_devices", 2)
sys.path += ["tests/train", "tests/support"]
import test_train
from train.objective import Aux
from train.positions import Positions
from train.step import batch_gradients

config = test_train.small("cell_cnn")
forward = test_train.forward_of(config)
positions = Positions(*(part[:8] for part in test_train.some_positions(test_train.WRONG)))
positions = positions._replace(useful=np.arange(8) != 2)
params = jax.jit(forward.init)(jax.random.key(1))
mesh = jax.make_mesh((2,), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
whole, small = (functools.partial(batch_gradients, dataclasses.replace(config, microbatch=size), forward)
                for size in (None, 2))
everywhere, parts = PartitionSpec(), PartitionSpec("batch")
split = jax.shard_map(functools.partial(whole, axis="batch"), mesh=mesh, in_specs=(everywhere, parts, parts),
                      out_specs=(everywhere, Aux(everywhere, None, parts, parts)), check_vma=False)
pool = test_train.all_fresh(positions)
one, *others = (jax.device_get(jax.jit(function)(params, *pool)) for function in (whole, small, split))
for other in others:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)
print(jax.local_device_count())
"""


def python(*arguments, **environment):
    """A Python at the project's root; None leaves a variable out."""
    wanted = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in wanted.items() if value is not None},
    )


@pytest.mark.slow
def test_microbatches_and_devices_make_the_gradients_of_the_batch():
    process = python("-c", IN_PARTS, JAX_NUM_CPU_DEVICES=None)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out.strip()) == (0, "2"), err


def test_the_batch_is_cut_for_the_devices():
    config = TrainConfig()
    check = functools.partial(puzzles_needed, config)
    assert [fitting_devices(check, most) for most in (1, 2, 3, 6, 8, 12, 16, 24)] == [1, 2, 2, 4, 8, 8, 8, 8]
    assert puzzles_needed(config, 1) == 128 + 32 + 64
    assert puzzles_needed(dataclasses.replace(config, microbatch=64), 1) == puzzles_needed(config, 1)
    with pytest.raises(ValueError, match="batch_size 32 can't be divided into equal parts for 3 devices"):
        puzzles_needed(config, 3)
    with pytest.raises(ValueError, match="32 positions can't be divided into microbatches of 5"):
        puzzles_needed(dataclasses.replace(config, microbatch=5), 1)
    with pytest.raises(ValueError, match="the 2 positions of a device are too few for the shares of 3 kinds"):
        puzzles_needed(config, 16)


def test_iterations_rise_in_stages():
    network = NetworkConfig(sizes=CubeConfig(iterations=16), initial_iterations=4)
    config = resolved(TrainConfig(steps=8, network=network))
    assert [config.iterations_at(step) for step in range(1, 9)] == [4, 4, 8, 8, 12, 12, 16, 16]
    assert forward_of(config).config.iterations == 4
    assert (
        forward_of(resolved(TrainConfig(network=NetworkConfig(sizes=CubeConfig(iterations=5))))).config.iterations == 5
    )
    with pytest.raises(ValueError, match="initial_iterations is for networks with iterations; axial has none"):
        NetworkConfig("axial", initial_iterations=2)


@pytest.mark.parametrize("chosen", ["adamw", "muon"])
def test_the_learning_rate_and_the_decay(chosen):
    config = OptimiserConfig(chosen, warmup=10, learning_rate=0.01, matrix_rate=0.05, clip=1.0, weight_decay=0.0)
    optimiser = make_optimiser(config, 100)
    decaying = make_optimiser(dataclasses.replace(config, warmup=0, weight_decay=0.1), 100)
    params = {"matrix": np.ones((8, 8), np.float32), "bias": np.ones(2, np.float32)}

    @jax.jit
    def run(params):
        gradients = jax.tree.map(jnp.ones_like, params)

        def step(state, _):
            changes, state = optimiser.update(gradients, state, params)
            return state, -changes["bias"][0]

        sizes = jax.lax.scan(step, optimiser.init(params), None, length=100)[1]
        return sizes, decaying.update(jax.tree.map(jnp.zeros_like, params), decaying.init(params), params)[0]

    sizes, changes = jax.tree.map(np.asarray, run(params))
    # Adam's steps for gradients that stay the same are the learning rate
    assert sizes[0] == 0 and max(sizes) == pytest.approx(0.01, rel=0.01)
    assert np.argmax(sizes) == 10 and sizes[-1] == pytest.approx(1e-4, rel=0.1)
    assert np.all(np.diff(sizes[:11]) > 0) and np.all(np.diff(sizes[10:]) < 0)
    assert (changes["matrix"] < 0).all() and (changes["bias"] == 0).all()


def test_muon_turns_matrices_in_all_directions_alike():
    config = OptimiserConfig(warmup=0, learning_rate=0.01, matrix_rate=0.05, weight_decay=0.0)
    random = np.random.default_rng(0)
    # most of the gradient points one way
    steep = random.normal(size=(3, 8, 1)) * random.normal(size=(3, 1, 16)) + 0.03 * random.normal(size=(3, 8, 16))
    gradients = {
        "stack": np.float32(steep),
        "narrow": np.float32(np.ones((8, 2))),
        "bias": np.float32(np.ones((3, 16))),
    }
    optimiser = make_optimiser(config, TINY.steps)

    @jax.jit
    def first(gradients):
        params = jax.tree.map(jnp.ones_like, gradients)
        return optimiser.update(gradients, optimiser.init(params), params)[0]

    changes = jax.tree.map(np.asarray, first(gradients))
    strengths = np.linalg.svd(changes["stack"], compute_uv=False)
    assert (strengths.max(axis=1) < 2 * strengths.min(axis=1)).all()
    assert np.sqrt((changes["stack"] ** 2).mean()) == pytest.approx(0.2 * 0.05, rel=0.3)
    for left_to_adam in ("narrow", "bias"):  # with Nesterov's momentum, which makes the first step longer
        assert ((changes[left_to_adam] < -0.01) & (changes[left_to_adam] > -0.02)).all()


# ---------------------------------------------------------------------- puzzles of a step


@pytest.fixture(scope="module")
def two_sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    for seed in (1, 2):
        datasets.build(folder / str(seed), SMALL.data.generate, seed=seed, board=FOUR)
    return [datasets.load(folder / str(seed)) for seed in (1, 2)]


def test_data_sets_take_turns(two_sets, mesh):
    config = small("cube", data={"datasets": tuple(str(dataset.folder) for dataset in two_sets)})
    key = as_key(0)
    steps = puzzles_of_steps(two_sets, config, key, mesh, 0)
    batches = [next(steps) for _ in range(3)]
    sets = [{tuple(grid) for grid in dataset.arrays().puzzles.tolist()} for dataset in two_sets]
    for batch in batches:
        assert batch.puzzles.shape == (puzzles_needed(config, 1), 16)
        for row, puzzle in enumerate(np.asarray(batch.puzzles).tolist()):
            assert tuple(puzzle) in sets[row % 2]
    later = next(puzzles_of_steps(two_sets, config, key, mesh, 2))
    jax.tree.map(np.testing.assert_array_equal, batches[2], later)


def test_a_network_that_is_not_equivariant_gets_augmented_puzzles(two_sets, mesh):
    known = {tuple(grid) for grid in two_sets[0].arrays().puzzles.tolist()}

    def share(network):
        config = small(network, data={"datasets": (str(two_sets[0].folder),)})
        puzzles = next(puzzles_of_steps(two_sets[:1], config, as_key(0), mesh, 0)).puzzles
        return np.mean([tuple(puzzle) in known for puzzle in np.asarray(puzzles).tolist()])

    assert share("cube") == 1
    assert share("cell_cnn") < 0.7


# ---------------------------------------------------------------------- runs


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without a break."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, train(SMALL, folder)


def lines(folder):
    """What a run reported, but for times."""
    timed = ("seconds", "positions_per_second")
    return [
        {name: value for name, value in line.items() if name not in timed} for line in read(folder / "metrics.jsonl")
    ]


def alike(one, other):
    return all(map(np.array_equal, *map(jax.tree.leaves, (one.params, other.params))))


def test_a_run_learns_and_leaves_a_network(whole):
    folder, network = whole
    reports = lines(folder)
    assert [(line["kind"], line["step"]) for line in reports] == [
        ("train", 10),
        ("train", 20),
        ("validate", 20),
        ("train", 30),
        ("train", 40),
        ("validate", 40),
    ]
    losses = [line["loss"] for line in reports if line["kind"] == "train"]
    assert losses[-1] < 0.8 * losses[0]
    assert all(line["useful"] == 1 for line in reports)
    found = networks.load_network(folder / "network")
    assert alike(found, network) and found.apply == network.apply
    card = networks.read_card(folder / "network")
    by_open_cells = reports[-1].pop("loss_by_open_cells")
    assert len(by_open_cells) == SMALL.board.cells + 1
    assert by_open_cells[0] == 1 > min(by_open_cells[1:])  # no position of 0 open cells is learned from
    assert card.facts["metrics"] == {name: value for name, value in reports[-1].items() if name not in ("kind", "step")}
    assert card.facts["training"]["steps"] == 40
    assert card.facts["data"][0]["puzzles"] == SMALL.data.generate
    assert sorted(os.listdir(folder / "checkpoints")) == ["20", "40"]


def test_other_folders_and_those_of_other_processes_are_left_alone(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("mine")
    with pytest.raises(FileExistsError, match="holds no run to resume, but metrics.jsonl"):
        train(TINY, tmp_path, resume=True)
    assert (tmp_path / "metrics.jsonl").read_text() == "mine"
    (tmp_path / "metrics.jsonl").unlink()
    with OutputLock(tmp_path):
        for resume in (False, True):
            with pytest.raises(BlockingIOError, match="is writing this output"):
                train(TINY, tmp_path, resume=resume)
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_is_the_same_bit_for_bit(whole, tmp_path, capfd):
    train(SMALL, tmp_path, stop_at=7)
    assert not (tmp_path / "network.safetensors").exists()
    train(SMALL, tmp_path, resume=True, stop_at=25)
    with open(tmp_path / "metrics.jsonl", "a") as file:  # lines after the last checkpoint are written again
        file.write('{"kind": "train", "step": 30, "loss": 99.0}\n{"kind": "tr')
    (tmp_path / "checkpoints" / "26.orbax-checkpoint-tmp").mkdir()  # a save that was cut off
    network = train(SMALL, tmp_path, resume=True)
    assert alike(network, whole[1])
    assert lines(tmp_path) == lines(whole[0])
    assert "40 of 40: loss" in capfd.readouterr().err
    assert alike(train(SMALL, tmp_path, resume=True), network)  # at its end a run stays as it is
    with pytest.raises(FileExistsError, match="isn't empty: continue with --resume, or name another folder"):
        train(SMALL, tmp_path)
    with pytest.raises(ValueError, match=r"has other settings: optimiser\.learning_rate is 0\.003 there, 0\.1 here"):
        train(changed(SMALL, optimiser={"learning_rate": 0.1}), tmp_path, resume=True)


def test_a_run_of_another_version_is_not_resumed(tmp_path):
    (tmp_path / "config.json").write_text('{"network": "cube", "sizes": ["width=48"], "steps": 40}')
    with pytest.raises(ValueError, match="config.json: settings of another version of jaxsudoku"):
        train(TINY, tmp_path, resume=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"network": {"architecture": "oracle"}}, "unknown network 'oracle': choose one of cube"),
        ({"network": {"architecture": "axial"}}, "sizes of the network axial are a AxialConfig, not CubeConfig"),
        ({"network": "cube"}, "network must be a NetworkConfig, not 'cube'"),
        ({"batch_size": 6}, "6 positions can't be divided into microbatches of 4"),
        (
            {"data": {"held_out": "9x9"}},
            "held_out 9x9 is of 9x9 with 3x3 boxes, not of 4x4 with 2x2 boxes; shipped for it: 4x4",
        ),
        ({"data": {"held_out": "nine"}}, "held_out 'nine' is neither a file nor a shipped set: 12x12"),
        ({"data": {"held_out": "{many}"}}, "not every puzzle has exactly one solution"),
        ({"data": {"generate": 20}}, "generate 20 is too few: a step takes 64 puzzles"),
        ({"data": {"exclude": ("{many}",)}}, "exclude is for the classic 9x9 board"),
        ({"data": {"fewest_clues": 9, "most_clues": 8}}, "clues must be a number or a range from few to many"),
        ({"data": {"datasets": ("{nothing}",)}}, "there is no such folder"),
        (
            {"data": {"datasets": ("{set}",), "held_out": "6x6"}, "board": js.Board.classic(6)},
            "holds puzzles of 4x4 with 2x2 boxes, not of 6x6",
        ),
        ({"data": {"datasets": ("{set}",)}, "batch_size": 128}, "holds 64 puzzles; a step takes 512 of it"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(settings, message, tmp_path, two_sets):
    (tmp_path / "many.txt").write_text("." * 16 + "\n")
    names = {"many": tmp_path / "many.txt", "nothing": tmp_path / "nothing", "set": two_sets[0].folder}

    def filled(value):
        if isinstance(value, dict):
            return {name: filled(part) for name, part in value.items()}
        if isinstance(value, tuple):
            return tuple(map(filled, value))
        return value.format(**names) if isinstance(value, str) else value

    with pytest.raises((ValueError, FileNotFoundError), match=message):
        train(changed(TINY, **filled(settings)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_may_start_from_a_network(whole, tmp_path):
    folder, network = whole
    config = resolved(changed(SMALL, network={"start": str(folder / "network")}))
    state = initial_state(config, as_key(0))
    for params in (state.params, state.average):
        assert jax.tree.all(jax.tree.map(np.array_equal, params, network.params))
    other = changed(config, network={"sizes": CubeConfig(width=4, hidden=8, iterations=3)})
    with pytest.raises(ValueError, match="holds a cube of sizes from which"):
        train(other, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_positions_stay_until_they_are_known_or_their_time_is_over(mesh):
    """And losses are kept by the number of open cells."""
    config = small("cube", {"initial_thinking_steps": 3}, microbatch=2, positions={"loss_weight": 1.0})
    forward, batch, key = forward_of(config), batch_of(config), as_key(1)
    state = initial_state(config, as_key(0))
    assert not np.asarray(state.pool.left).any()
    update = compiled_step(config, forward, mesh)
    gradients = jax.jit(functools.partial(batch_gradients, config, forward))
    lefts = []
    for number in range(6):
        before = jax.device_get(state)
        state, sums = jax.device_get(update(state, no_metrics(), batch, key))
        old, new = before.pool, state.pool
        kept = old.left > 0
        np.testing.assert_array_equal(new.positions.candidates[kept], old.positions.candidates[kept])
        assert (new.left[kept] <= old.left[kept] - 1).all()
        _, aux = jax.device_get(gradients(before.params, Pool(new.positions, old.carry, old.left), ~kept))
        np.testing.assert_allclose(new.carry, aux.carry, atol=1e-5)
        assert (new.left[aux.finished] == 0).all()
        lefts.append(new.left)
        if not number:
            seen = (new.positions.candidates.sum(axis=1) > 1).sum(axis=1)[new.positions.useful & new.positions.alive]
            moved = np.flatnonzero(state.losses != 1)
            assert set(moved) == set(seen) - {0} and np.isfinite(state.losses).all()
            mean = float(sums.policy) / float(sums.cells)
            assert (np.sign(state.losses[moved] - 1) == np.sign(mean - 1)).any()
    assert set(np.concatenate(lefts)) == {0, 1, 2}


@pytest.mark.slow
def test_noise_reaches_kept_positions_only(mesh):
    exact = small("cube", {"initial_thinking_steps": 3, "final_thinking_steps": 3})
    noisy = changed(exact, network={"noise": 0.5})
    batch, key = batch_of(exact), as_key(1)
    state = initial_state(exact, as_key(0))
    states = [jax.tree.map(jnp.copy, state) for _ in range(2)]
    for number in range(2):
        for at, config in enumerate((exact, noisy)):
            states[at], _ = compiled_step(config, forward_of(config), mesh)(states[at], no_metrics(), batch, key)
        one, other = (np.asarray(each.pool.carry) for each in states)
        differs = (one != other).reshape(len(one), -1).any(axis=1)
        if not number:
            assert not differs.any()
            kept = np.asarray(states[0].pool.left) > 0
    np.testing.assert_array_equal(differs, kept)
    assert 0 < kept.sum() < len(kept)


def test_a_data_set_that_meets_a_test_set_is_refused(tmp_path):
    puzzles = js.load("9x9-easy")[:20]
    given = datasets.build_given(tmp_path / "set", puzzles[:15], parts={"train": 1.0})
    assert len(given.parts["train"]) == 15
    moved = np.where(puzzles > 0, puzzles % 9 + 1, 0)[10:].reshape(-1, 9, 9).swapaxes(1, 2)
    test = tmp_path / "test.txt"
    test.write_text("".join("".join(map(str, grid.ravel())) + "\n" for grid in moved))
    nothing, screen = np.zeros((0, 81), np.uint8), Screen(bar=False)
    data = DataConfig(datasets=(str(tmp_path / "set" / "train"),))
    with Processes() as processes:
        assert len(open_data(TrainConfig(data=data), nothing, tmp_path / "made", screen, processes)[0]) == 15
        twice = dataclasses.replace(data, datasets=data.datasets * 2)
        assert len(open_data(TrainConfig(data=twice), nothing, tmp_path / "made", screen, processes)) == 2
        refused = [(dataclasses.replace(data, exclude=(str(test),)), nothing), (data, puzzles[10:])]
        for settings, held_out in refused:
            with pytest.raises(ValueError, match="set/train: 5 of 15 solutions are equivalent to those of held-out"):
                open_data(TrainConfig(data=settings), held_out, tmp_path / "made", screen, processes)


@pytest.mark.slow
def test_weights_for_constraints_learn_alone(mesh):
    board = FOUR.with_(js.constraints.distinct("r1c1 r2c3", side=4))
    sizes = CubeConfig(**reference.TINY["cube"], constraints=True)
    config = small("cube", {"sizes": sizes, "learn": "constraints"}, board=board)
    grids, solved = four_by_four()
    rows = np.resize(np.flatnonzero(solved[:, 0] != solved[:, 6]), puzzles_needed(config, 1))
    zeros = np.zeros(len(rows), np.int32)
    batch = datasets.Batch(grids[rows], solved[rows], zeros, zeros.astype(np.float32))
    state = initial_state(config, as_key(0))
    before = jax.device_get(state.params)
    for _ in range(2):  # the first one has a learning rate of 0
        state, _ = compiled_step(config, forward_of(config), mesh)(state, no_metrics(), batch, as_key(1))
    learned = before["kinds"].pop(3)
    for after in jax.device_get((state.params, state.average)):
        assert any(map(np.any, jax.tree.leaves(jax.tree.map(np.subtract, learned, after["kinds"].pop(3)))))
        jax.tree.map(np.testing.assert_array_equal, before, after)


def test_weights_for_constraints_must_be_there_to_learn():
    with pytest.raises(ValueError, match="set constraints"):
        small("cube", {"learn": "constraints"})


def test_thinking_steps_are_for_networks_with_iterations():
    with pytest.raises(ValueError, match="final_thinking_steps is for networks with iterations; cell_cnn has none"):
        small("cell_cnn", {"final_thinking_steps": 2})
    network = NetworkConfig(sizes=CubeConfig(iterations=4), initial_iterations=2, final_thinking_steps=3)
    assert network.resolve(FOUR, "cpu").saved_iterations == 12
    assert dataclasses.replace(network, saved_iterations=9).resolve(FOUR, "cpu").saved_iterations == 9


def test_kinds_that_leave_nothing_to_learn(tmp_path):
    with pytest.raises(ValueError, match=r"no position of 4x4 is left open by the rules of kinds \(locked\)"):
        train(changed(SMALL, positions={"kinds": (PositionKind("locked"),)}), tmp_path)
    assert not (tmp_path / "config.json").exists()  # so that better kinds may be named at once


# ---------------------------------------------------------------------- the log


def a_recorder(folder, **options):
    return Recorder(folder, changed(TINY, steps=100), Screen(bar=True), **options)


def test_a_recorder_drops_later_lines(tmp_path):
    recorder = a_recorder(tmp_path)
    for step in (10, 20, 30):
        recorder.train(step, no_metrics())
    recorder.close()
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"kind": "train", "st')
    recorder = a_recorder(tmp_path, step=20, seconds=50.0)
    assert [line["step"] for line in read(tmp_path / "metrics.jsonl")] == [10, 20]
    recorder.train(25, no_metrics())
    assert [line["step"] for line in read(tmp_path / "metrics.jsonl")] == [10, 20, 25]
    assert read(tmp_path / "metrics.jsonl")[-1]["seconds"] >= 50


def test_a_terminal_shows_a_live_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    monkeypatch.setenv("COLUMNS", "160")
    recorder = a_recorder(tmp_path)
    recorder.begin(0)
    bar = f"[{'.' * 20}]"
    assert capsys.readouterr().err == f"\rrunning: {bar}   0% 0 of 100 steps"
    with compiling():
        recorder.begin(0)
        assert f"\rcompiling: {bar}   0% 0 of 100 steps" in capsys.readouterr().err
    recorder.show(5, no_metrics()._replace(made=np.float32(40), positions=np.float32(30)))
    recorder.train(10, no_metrics())
    shown = capsys.readouterr().err
    recorder.close()
    rate = r"\rrunning: \[#\.{19}\]   5% 5 of 100 steps, [\d,]+ positions/s, \d+ s left: "
    assert re.search(rf"{rate}loss 0\.0000, boards 0\.0%, useful 75%", shown)
    assert "10 of 100" not in shown


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboardX")
    recorder = a_recorder(tmp_path, tensorboard=True)
    recorder.train(10, no_metrics())
    recorder.close()
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert b"train/board_accuracy" in events.read_bytes()


def test_without_tensorboard_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"pip install 'jaxsudoku\[tensorboard\]'"):
        a_recorder(tmp_path, tensorboard=True)


# ---------------------------------------------------------------------- settings


def test_the_command_line_makes_a_config():
    argv = "--output x --preset tiny --width 4 --dtype bfloat16 --initial-hardness 0 --final-hardness 1.5 --clip 2"
    argv += " --kinds rules=naked,share=2 wrong=0 --most-clues 9 --board 6 --learning-rate 1e-2 --seed 7 --resume"
    config, args = parse_arguments("train.supervised", "Trains.", PRESETS, argv.split())
    assert config == changed(
        TINY,
        board=js.Board.classic(6),
        seed=7,
        network={"sizes": dataclasses.replace(TINY.network.sizes, width=4, dtype="bfloat16")},
        data={"most_clues": 9},
        positions={
            "kinds": (PositionKind("naked", 2), PositionKind(wrong=0)),
            "initial_hardness": 0.0,
            "final_hardness": 1.5,
        },
        optimiser={"learning_rate": 0.01, "clip": 2.0},
    )
    assert (args.output, args.resume, args.tensorboard, args.devices) == ("x", True, False, None)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_what_the_command_line_begins_with(preset):
    assert (
        parse_arguments("train.supervised", "Trains.", PRESETS, ["--output", "x", "--preset", preset])[0]
        == PRESETS[preset]
    )


def test_another_architecture_has_flags_of_its_own():
    config, _ = parse_arguments(
        "train.supervised", "Trains.", PRESETS, ["--output", "x", "--architecture", "axial", "--heads", "1"]
    )
    axial = NetworkConfig("axial", networks.NETWORKS["axial"].config(heads=1))
    assert config == changed(PRESETS["cpu"], network=axial)


def test_every_setting_has_a_flag_with_help(capsys):
    with pytest.raises(SystemExit) as status:
        parse_arguments("train.supervised", "Trains.", PRESETS, ["--preset", "gpu", "--help"])
    assert status.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    groups = (TrainConfig, *GROUPS.values(), CubeConfig)
    for group in groups:
        for field in dataclasses.fields(group):
            assert len(attribute_texts(group)[field.name]) > 8
            if field.name not in (*GROUPS, "sizes"):
                assert f"--{field.name.replace('_', '-')} " in text or f"--{field.name}, --no-" in text
    assert all(f"{field.name}: " in text for field in dataclasses.fields(PositionKind))
    assert "(default: 1024)" in text and "(default: bfloat16)" in text
    assert "rules=singles,share=0.1,filled=2,wrong=0.2" in text


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--kinds"], "expected at least one argument"),
        (["--kinds", "rules=magic"], "unknown rules 'magic'"),
        (["--kinds", "share=0"], "share must be at least 1e-09, not 0"),
        (["--kinds", "share=much"], "share must be a number, not 'much'"),
        (["--kinds", "locked:1:2:0.2"], "is not FIELD=VALUE,... such as rules=locked,share=0.6"),
        (["--kinds", "sure=1"], "has no option sure"),
        (["--algorithm", "sgd"], "invalid choice: 'sgd'"),
        (["--architecture", "oracle"], "unknown network 'oracle'"),
        (["--width", "wide"], "invalid int value: 'wide'"),
        (["--heads", "2"], "unrecognized arguments: --heads 2"),
        (["--board", "7"], "a side of 7 can't be cut into boxes"),
        (["--most-clues", "many"], "invalid int value: 'many'"),
        (["--steps", "0"], "steps must be at least 1, not 0"),
        (["--seed", "-1"], "seed must be at least 0, not -1"),
        (["--clip", "0"], "clip must be at least 1e-09, not 0"),
        (["--learning-rate", "nan"], "learning_rate must be a number, not nan"),
        (["--final-hardness", "inf"], "final_hardness must be finite, not inf"),
        (["--ema", "1"], "ema must be at most 0.999999999, not 1"),
        (["--architecture", "axial", "--saved-iterations", "4"], "saved_iterations is for networks with iterations"),
        (["--architecture", "axial", "--noise", "0.1"], "noise is for networks with iterations"),
        (["--devices", "0"], "--devices must be at least 1"),
        (["--preset", "huge"], "invalid choice: 'huge'"),
    ],
)
def test_bad_settings_are_refused(capsys, argv, message):
    with pytest.raises(SystemExit) as status:
        parse_arguments("train.supervised", "Trains.", PRESETS, ["--output", "x", *argv])
    assert status.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("bounds", [(None, None), (30, 30), (24, 34), (24, None), (None, 34)])
def test_clues(bounds):
    config = js.generation.GenerateConfig(clues=clues_of(DataConfig(fewest_clues=bounds[0], most_clues=bounds[1])))
    assert config.clue_range(81) == (bounds[0] or 0, bounds[1] or 81)
    assert config.exhaustive == (bounds == (None, None))


def test_kinds_must_be_named():
    with pytest.raises(ValueError, match="kinds is empty"):
        PositionsConfig(kinds=())


# ---------------------------------------------------------------------- the command line, and being killed


@pytest.mark.slow
def test_killed_runs_end_as_unbroken_ones(tmp_path, monkeypatch):
    """Those of self-play are the same loop over other programs."""
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "1")
    # little data, and a checkpoint after each of a few steps
    small = ("--preset", "tiny", *SMALL_NETWORK, "--generate", "64", "--save-every", "1")

    def flags(folder):
        return [*small, "--steps", "8", "--output", str(folder)]

    whole, folder = tmp_path / "whole", tmp_path / "killed"
    assert main(flags(whole)) == 0
    process = python("-m", "train.supervised", *flags(folder), JAX_NUM_CPU_DEVICES="1")
    # in the midst of saving; later, where a busy machine has missed that
    while process.poll() is None and not any(
        int(entry.split(".")[0]) > (1 if "tmp" in entry else 4)
        for entry in (os.listdir(folder / "checkpoints") if (folder / "checkpoints").exists() else ())
    ):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL, err
    assert saved(folder)
    assert main([*flags(folder), "--resume"]) == 0
    for name in ("network.safetensors", "config.json"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()
    assert lines(folder) == lines(whole)
    assert json.loads((folder / "network.json").read_bytes())["facts"]["metrics"]["loss"] > 0


def test_errors_take_a_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "1")
    assert main(["--preset", "tiny", "--output", str(tmp_path / "run"), "--held-out", "9x9"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("train: error: held_out 9x9 is of 9x9 with 3x3 boxes")


# ---------------------------------------------------------------------- the example


@pytest.mark.slow
def test_the_example_of_self_play_learns(capsys):
    sizes = {"puzzles": 64, "games": 32, "simulations": 1, "updates": 8, "batch": 64, "width": 16, "layers": 2}
    before, after = self_play.main(self_play.Settings(rounds=20, learning_rate=5e-3, seed=1, **sizes))
    assert 0 < 1.5 * before < after
    assert f"after: {after:.0%} of 32 held-out puzzles solved" in capsys.readouterr().out
