"""Training on several boards: their turns, what each of them learns from, and runs that are resumed."""

from __future__ import annotations

import dataclasses
import functools

import jax
import numpy as np
import pytest
import reference
from processes import interrupted, saved

import jaxsudoku as js
from jaxsudoku.datasets.builder import build_shards
from jaxsudoku.datasets.card import Card
from jaxsudoku.generation import Puzzles
from jaxsudoku.networks.cube import CubeConfig
from train.boards import check_boards, check_division, configs_of, turn
from train.presets import PRESETS
from train.record import read
from train.supervised import train
from train.train_config import NetworkConfig, OptimiserConfig

#: Settings whose steps compile fast: one iteration of all candidates (not of open ones, in programs for several numbers
#: of them), no microbatches, and an optimiser with few operations.
TINY = dataclasses.replace(
    PRESETS["tiny"],
    microbatch=None,
    network=dataclasses.replace(
        PRESETS["tiny"].network,
        sizes=CubeConfig(width=8, hidden=8, shares=0, maximum=True, iterations=1),
        final_thinking_steps=2,
        saved_iterations=1,
    ),
    optimiser=OptimiserConfig("adamw", warmup=5, ema=0.9),
)

#: One kind of positions, for runs.
ONE = TINY.positions.kinds[:1]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Data sets of the first board and of two others, one that is too small, and one that naked singles solve."""
    folder = tmp_path_factory.mktemp("others")
    sizes = {"4x4": 200, "2x3": 200, "jigsaw-4": 200, "small": 10, "easy": 200}
    for name, size in sizes.items():
        board = reference.SMALL[{"small": "2x3", "easy": "jigsaw-4"}.get(name, name)]
        few = js.load("6x6")[:20] if name == "2x3" else reference.unique(board, 20)  # of 6x6 some that are hard
        few = few[[naked_singles_solve(board, puzzle) for puzzle in few]] if name == "easy" else few
        card = Card(0, board, {}, None, size, size, "npz", {})
        (folder / name).mkdir()
        build_shards(folder / name, card, False, functools.partial(parts_of, board, few), lambda *_: None)
    return {name: str(folder / name) for name in sizes}


def naked_singles_solve(board, puzzle):
    (cube,) = reference.candidates(board, puzzle[None])
    return (reference.deduce(board, cube, "naked").sum(axis=0) == 1).all()


def parts_of(board, few, spans):
    return iter([made(board, few, spans[0][1])])


def made(board, few, size):
    """Some puzzles again and again, solved by brute force: nothing is compiled to have them."""
    puzzles = np.resize(few, (size, board.cells))
    grids = np.array([reference.solutions(board, puzzle, 2)[0] for puzzle in few], np.uint8)
    clues = np.count_nonzero(puzzles, axis=1).astype(np.int32)
    return Puzzles(puzzles, np.resize(grids, puzzles.shape), clues, np.zeros(size, np.float32))


def mixed(folders, *names, every=3, batch=4, steps=16, kinds=TINY.positions.kinds, rules="none", **changes):
    data = dataclasses.replace(
        TINY.data,
        datasets=(folders["4x4"],),
        others=tuple(folders[name] for name in names),
        others_every=every,
        others_batch=batch,
    )
    positions = dataclasses.replace(
        TINY.positions, kinds=tuple(dataclasses.replace(kind, rules=rules) for kind in kinds)
    )
    rest = {"data": data, "positions": positions, "steps": steps, "report_every": 4, "save_every": 5, **changes}
    return dataclasses.replace(TINY, **rest)


def test_boards_take_turns(folders):
    config = mixed(folders, "2x3", "jigsaw-4")
    assert [turn(config, step) for step in range(1, 13)] == [0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 2]
    assert not any(turn(TINY, step) for step in range(1, 13))
    first, six, jigsaw = configs_of(config)
    assert first == config
    assert (six.board, jigsaw.board) == (reference.SMALL["2x3"], reference.SMALL["jigsaw-4"])
    assert six.batch_size == 4 and six.data.datasets == (folders["2x3"],)
    check_boards((first, six, jigsaw), 1)


@pytest.mark.slow
def test_all_boards_are_learned_from_and_a_resumed_run_is_the_same(folders, tmp_path):
    config = mixed(folders, "2x3", "jigsaw-4", kinds=ONE, save_every=8)
    whole = train(config, tmp_path / "whole")
    assert saved(interrupted(tmp_path / "whole", tmp_path / "parts")) == [8]
    parts = train(config, tmp_path / "parts", resume=True)
    for one, other in zip(*map(jax.tree.leaves, (whole.params, parts.params)), strict=True):
        np.testing.assert_array_equal(one, other)
    lines = [line for line in read(tmp_path / "whole" / "metrics.jsonl") if line["kind"] == "train"]
    assert len(lines) == 4
    for line in lines:
        assert line["others_useful"] == 1 and 0 < line["others_loss"] != line["loss"]
    card = js.networks.read_card(tmp_path / "whole" / "network")
    assert [part["board"] for part in card.facts["data"]] == [str(each.board) for each in configs_of(config)]
    assert card.facts["training"]["data"]["others"] == ["2x3", "jigsaw-4"]


@pytest.mark.slow
def test_until_the_first_turn_others_change_nothing(folders, tmp_path):
    alone, beside = (
        train(mixed(folders, *names, every=6, kinds=ONE), tmp_path / str(len(names)), stop_at=5).params
        for names in ((), ("2x3",))
    )
    for one, other in zip(*map(jax.tree.leaves, (alone, beside)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("names", "changes", "cause"),
    [
        (("2x3",), {"every": 1}, "others_every must be at least 2, not 1"),
        (("small",), {}, "others: .*small holds 10 puzzles; a step takes"),
        (("2x3",), {"batch": 1}, "others: the 1 positions of a device are too few for the shares of 2 kinds"),
        (("2x3", "jigsaw-4"), {"steps": 5}, "others: some of the 2 data sets have no turn in 5 steps"),
    ],
)
def test_unsuitable_others_are_refused(folders, tmp_path, names, changes, cause):
    with pytest.raises(ValueError, match=cause):
        train(mixed(folders, *names, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_board_that_the_rules_solve_is_named(folders, tmp_path):
    kinds = tuple(dataclasses.replace(kind, filled=0, wrong=0.0) for kind in ONE)
    config = mixed(folders, "easy", kinds=kinds, rules="naked", every=2, report_every=2, board=reference.SMALL["2x3"])
    data = dataclasses.replace(config.data, datasets=(folders["2x3"],), held_out="6x6")
    config = dataclasses.replace(config, data=data)
    with pytest.raises(ValueError, match="no position of .*easy is left open by the rules"):
        train(config, tmp_path / "run")


def test_devices_divide_the_steps_on_all_boards(folders):
    config = mixed(folders, "2x3", batch=4)
    check_division(config, 1)
    with pytest.raises(ValueError, match="the 2 positions of a device are too few for the shares of 2 kinds"):
        check_division(config, 2)
    check_division(mixed(folders), 2)
    assert mixed(folders, "2x3").mean_batch == (8 * 2 + 4) / 3 and mixed(folders).mean_batch == 8


def test_generated_puzzles_of_the_first_board_may_exclude_others(folders, tmp_path):
    file = tmp_path / "test.txt"
    file.write_text("." * 81 + "\n")
    config = mixed(folders, "2x3", every=4)
    data = dataclasses.replace(config.data, datasets=(), exclude=(str(file),))
    assert configs_of(dataclasses.replace(config, data=data))[1].data.exclude == ()


def test_networks_with_weights_of_a_board_have_no_others(folders, tmp_path):
    network = js.networks.NETWORKS["cell_cnn"].config(width=4, features=2)
    config = mixed(folders, "2x3", network=NetworkConfig("cell_cnn", network))
    with pytest.raises(ValueError, match="others: .*2x3 is of .*, where cell_cnn has other weights"):
        train(config, tmp_path / "run")
