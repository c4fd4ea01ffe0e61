"""What every solver promises, held against each in the registry; and the judge, the registry and the settings."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import math
import re
import types
import typing

import jax
import numpy as np
import pytest
import reference
from random_networks import random_network

from jaxsudoku import compiler_options, exact, mastermind, networks, solvers
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.exact import weighted
from jaxsudoku.generation import GenerateConfig
from jaxsudoku.runtime.random import as_key

BATCH = 33

BOARDS = {name: reference.SMALL[name] for name in ("4x4", "2x3", "jigsaw-5")}

FOUR = BOARDS["4x4"]

#: Settings with which a solver is compiled in little time, by the name of the solver.
SMALL_SETTINGS = {
    "exact": {"lanes": 32, "rules": "naked", "rounds": 1},
    "guided-exact": {"lanes": 32, "rules": "naked", "rounds": 1},
    "iterative": {"lanes": 32, "rules": "naked", "runs": 2, "sure": 0.7},
    "one-shot": {"lanes": 32, "rules": "naked", "complete": False},
    **{name: {"lanes": 32, "rules": "none", "simulations": 4} for name in ("gumbel", "alphasudoku", "mcts", "mcgs")},
    "depth-first": {"lanes": 5},
    "best-first": {"lanes": 5, "room": 64},
    "elimination": {"lanes": 5, "rules": "naked"},
    "annealing": {"lanes": 5, "rules": "naked", "budget": 40},
    "evolution": {"lanes": 5, "rules": "naked", "organisms": 20, "epochs": 60, "restarts": 1, "lifetime": 20},
    "hill-climbing": {"lanes": 5, "rules": "naked", "restarts": 2, "sideways": 2},
    "best-first-swaps": {"lanes": 5, "rules": "naked", "budget": 40},
    "evosax": {"lanes": 5, "rules": "naked", "population": 8, "generations": 10, "restarts": 1},
}

#: What is changed of them on other boards, where solvers have their own rules and other ways.
LARGER_SETTINGS = {
    "exact": {"rules": "locked", "rounds": 4},
    "guided-exact": {"rules": "locked", "rounds": 7},
    "iterative": {"runs": 3},
    **{name: {"rules": "singles"} for name in ("gumbel", "mcts", "annealing", "evolution")},
    "depth-first": {"lanes": 32},
}


def settings_of(name, board):
    options = SMALL_SETTINGS[name] | ({} if board == FOUR else LARGER_SETTINGS.get(name, {}))
    return solvers.make_config(solvers.get(name), **options).resolve(board, jax.default_backend())


def function_of(name, board, config):
    """A solver as a function of puzzles and a key."""
    solver = solvers.get(name)
    given = (random_network(board),) if solver.guided else ()
    return lambda puzzles, key: solver.run(board, puzzles, key, config, *given)


@functools.cache
def kernel(name, board):
    return jax.jit(function_of(name, board, settings_of(name, board)), compiler_options=compiler_options())


def run(solver, board, puzzles, seed=0):
    return jax.tree.map(np.asarray, kernel(solver.name, board)(puzzles, as_key(seed)))


def kinds(solver, found):
    """The shapes and dtypes of an answer."""
    assert tuple(found.stats) == solver.stats
    assert solver.guided == ("network_calls" in found.stats)
    return [(x.shape, x.dtype.name) for x in jax.tree.leaves(found)]


def kinds_of(solver, board, size):
    """What they are to be."""
    numbers = [((size,), "int32")] * (1 + len(solver.stats))
    return [((size, board.cells), "uint8"), ((size,), "int8"), *numbers]


@functools.cache
def mixed(board):
    """Puzzles with one solution, with none, with many, that clash, and that hold a value above the side."""
    puzzles = reference.batch(board, BATCH)
    puzzles[:16] = reference.unique(board, 16)
    puzzles[16] = 0
    puzzles[17, 1] = board.side + 1
    puzzles[18, 0] = 255
    puzzles[19, :2] = 1
    puzzles[20] = reference.full_grid(board, np.random.default_rng(0))
    puzzles[21] = 0
    puzzles[21, 1 : board.side] = np.arange(1, board.side)  # the row's last digit stands below its only place
    puzzles[21, (board.side - 1) * board.side] = board.side
    puzzles.flags.writeable = False
    return puzzles


@functools.cache
def solutions(board):
    """How many solutions they have, up to two, and none if they clash."""
    return np.array([reference.count(board, puzzle, 2) for puzzle in mixed(board)])


#: What solvers need that may not be installed.
EXTRAS = {"evosax": "evosax"}


def able(name):
    """The mark of a solver that needs what is not installed."""
    absent = name in EXTRAS and importlib.util.find_spec(EXTRAS[name]) is None
    return [pytest.mark.skip(reason=f"{EXTRAS[name]} is not installed")] if absent else []


EVERY = [pytest.param(solver, id=name, marks=able(name)) for name, solver in solvers.SOLVERS.items()]

#: Those that no run tries here unless it is of the slow tests: they take long to compile and are much like another one.
SELDOM = ("iterative", "gumbel", "mcts")

#: Those that the quick tests leave out: they take longest to compile as users do.
NOT_QUICK = ("mcgs", "evosax")


def case(name, board_name):
    """A solver and its board; all but the 4x4 are slow."""
    marks = able(name) + [pytest.mark.slow] * (board_name != "4x4") + [pytest.mark.quick] * (name not in NOT_QUICK)
    return pytest.param(solvers.get(name), BOARDS[board_name], id=f"{board_name}-{name}", marks=marks)


#: Solvers on the 4x4, and some of each kind on another board: those whose code is theirs alone.
CASES = [
    *(case(name, "4x4") for name in solvers.SOLVERS if name not in SELDOM),
    *(case(name, "2x3") for name in ("exact", "iterative", "gumbel", "depth-first")),
    *(case(name, "jigsaw-5") for name in ("guided-exact", "mcts", "annealing", "evolution")),
]

#: Some that are compiled for a single puzzle too.
ALONE = [case("exact", "4x4"), case("depth-first", "2x3"), case("annealing", "jigsaw-5")]


@pytest.mark.quick
@pytest.mark.parametrize("solver", EVERY)
def test_the_settings_of_an_accelerator_are_in_their_ranges(solver):
    for board in (Board.classic(), Board.classic(25), FOUR):
        for platform in ("gpu", "tpu"):
            config = solvers.make_config(solver).resolve(board, platform)
            assert dataclasses.replace(config) == config  # which checks every field
            assert config.lanes > 0


#: Those whose lanes are no power of 2, and the one that is used most; then some that are traced among the slow tests.
TRACED = ("exact", "evolution", "evosax")
TRACED_SELDOM = ("depth-first", "annealing")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "platform"),
    [
        *(
            pytest.param(name, "gpu", marks=able(name) + [pytest.mark.slow] * (name in TRACED_SELDOM))
            for name in (*TRACED, *TRACED_SELDOM)
        ),
        pytest.param("hill-climbing", "tpu", marks=pytest.mark.slow),  # the only one with other lanes on a TPU
    ],
)
def test_the_settings_of_an_accelerator_fit_a_batch(name, platform):
    """Traced alone: on a 9x9 board their lanes are no powers of 2 in some solvers, and too many for a CPU."""
    board = Board.classic()
    config = solvers.make_config(solvers.get(name)).resolve(board, platform)
    puzzles = jax.ShapeDtypeStruct((1 << 20, board.cells), np.uint8)
    found = jax.eval_shape(function_of(name, board, config), puzzles, as_key(0))
    assert found.grids.shape == puzzles.shape


@pytest.mark.parametrize(("solver", "board"), CASES)
class TestEverySolver:
    def test_answers_are_right(self, solver, board):
        puzzles = mixed(board)
        found = run(solver, board, puzzles)
        assert kinds(solver, found) == kinds_of(solver, board, BATCH)
        assert (found.iterations >= 0).all() and np.all(found.stats.get("network_calls", 0) >= 0)
        if "errors" in solver.stats:
            np.testing.assert_array_equal(found.stats["errors"] == 0, found.status == Status.SOLVED)
            assert (found.stats["errors"][found.status == Status.INVALID] == -1).all()
            assert (found.stats["errors"][found.status == Status.UNSOLVED] > 0).all()
        for puzzle, grid, status, count in zip(puzzles, found.grids, found.status, solutions(board), strict=True):
            clash = reference.is_clash(board, puzzle)
            truth = Status.INVALID if clash else Status.SOLVED if count else Status.UNSATISFIABLE
            if solver.complete:
                assert status == truth
            else:
                assert status in {Status.UNSOLVED, truth}
            if status == Status.SOLVED:
                assert reference.is_solution(board, grid, puzzle)
        assert (found.status[[17, 18, 19, 21]] != Status.SOLVED).all()
        assert found.status[20] == Status.SOLVED
        np.testing.assert_array_equal(found.grids[20], puzzles[20])

    def test_the_judge_finds_no_false_claim(self, solver, board):
        found = run(solver, board, mixed(board))
        judged = judge(board, mixed(board), found)
        np.testing.assert_array_equal(judged.status, found.status)
        np.testing.assert_array_equal(judged.iterations, found.iterations)
        solved = found.status == Status.SOLVED
        np.testing.assert_array_equal(judged.grids, np.where(solved[:, None], found.grids, 0))
        assert solved.any()

    def test_lanes_are_independent(self, solver, board):
        puzzles = mixed(board)
        one = run(solver, board, puzzles)
        other = puzzles.copy()
        other[1::2] = np.roll(puzzles[1::2], 3, axis=0)
        two = run(solver, board, other)
        if solver.complete:
            np.testing.assert_array_equal(two.status[::2], one.status[::2])
        both = (one.status == Status.SOLVED) & (two.status == Status.SOLVED) & (solutions(board) == 1)
        assert both[::2].any()
        np.testing.assert_array_equal(two.grids[::2][both[::2]], one.grids[::2][both[::2]])

    def test_a_key_decides_everything(self, solver, board):
        twice = (jax.tree.leaves(run(solver, board, mixed(board), 7)) for _ in range(2))
        for one, again in zip(*twice, strict=True):
            np.testing.assert_array_equal(one, again)


@pytest.mark.parametrize(("solver", "board"), ALONE)
def test_a_batch_is_its_puzzles(solver, board):
    puzzles, unique = mixed(board), solutions(board) == 1
    whole = run(solver, board, puzzles)
    for start in range(0, BATCH, 4):
        part = slice(start, start + 1)
        found = run(solver, board, puzzles[part])
        if solver.complete:
            np.testing.assert_array_equal(found.status, whole.status[part])
        both = (found.status == Status.SOLVED) & (whole.status[part] == Status.SOLVED) & unique[part]
        np.testing.assert_array_equal(found.grids[both], whole.grids[part][both])


@pytest.mark.parametrize("solver", EVERY)
def test_no_puzzles(solver):
    nothing = jax.ShapeDtypeStruct((0, FOUR.cells), np.uint8)
    found = jax.eval_shape(kernel(solver.name, FOUR), nothing, as_key(0))
    assert kinds(solver, found) == kinds_of(solver, FOUR, 0)


@pytest.mark.parametrize("solver", EVERY)
def test_settings_are_frozen_and_have_defaults(solver):
    config = solvers.make_config(solver)
    assert isinstance(config, solver.config)
    assert hash(config) == hash(solvers.make_config(solver))
    assert solver.summary
    for field in dataclasses.fields(config):
        assert dataclasses.replace(config, **{field.name: getattr(config, field.name)}) == config
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(config, field.name, None)


# ---------------------------------------------------------------------- the judge


@functools.cache
def judging(board):
    return jax.jit(functools.partial(solvers.judge, board=board))


def judge(board, puzzles, claimed):
    """What the judge leaves of claims; the numbers of the solver stay as they are."""
    stats = {"network_calls": claimed.iterations + np.int32(1)}  # the same for all solvers, so there is one program
    judged = jax.tree.map(np.asarray, judging(board)(puzzles, claimed._replace(stats=stats)))
    np.testing.assert_array_equal(judged.stats["network_calls"], stats["network_calls"])
    assert [x.dtype for x in jax.tree.leaves(judged)] == ["uint8", "int8", "int32", "int32"]
    return judged


@pytest.mark.quick
@pytest.mark.parametrize("size", [BATCH, 4097])  # one part, and three of which the last two overlap
def test_the_judge_turns_a_false_claim_into_unsolved_and_zeros(size):
    rng = np.random.default_rng(size)
    grids = np.array([reference.full_grid(FOUR, rng) for _ in range(64)])
    grids = grids[rng.integers(64, size=size)]
    puzzles = np.where(rng.random(grids.shape) < 0.4, grids, 0).astype(np.uint8)
    status = rng.choice([*Status], size).astype(np.int8)
    status[-3:] = Status.SOLVED
    claims = grids.copy()
    kind = rng.integers(4, size=size)
    kind[-3:] = 0, 1, 0
    claims[kind == 1] = grids[kind == 1] % 4 + 1  # solved, but of another puzzle
    claims[kind == 2, 3] = 0
    claims[kind == 3, 5] = claims[kind == 3, 6]
    puzzles[kind == 1, 0] = grids[kind == 1, 0]
    judged = judge(FOUR, puzzles, Solution(claims, status, np.arange(size, dtype=np.int32), {}))
    true = (status == Status.SOLVED) & (kind == 0)
    np.testing.assert_array_equal(
        judged.status, np.where((status == Status.SOLVED) & ~true, np.int8(Status.UNSOLVED), status)
    )
    np.testing.assert_array_equal(judged.grids, np.where(true[:, None], grids, 0))
    np.testing.assert_array_equal(judged.iterations, np.arange(size))


@pytest.mark.quick
def test_the_judge_of_nothing():
    nothing = Solution(np.zeros((0, 16), np.uint8), np.zeros(0, np.int8), np.zeros(0, np.int32), {})
    assert solvers.judge(np.zeros((0, 16), np.uint8), nothing, FOUR).grids.shape == (0, 16)


# ---------------------------------------------------------------------- registry and settings


@pytest.mark.quick
def test_solvers_go_by_their_names():
    assert {"exact", "iterative", "one-shot"} <= set(solvers.SOLVERS)
    assert "exact" not in solvers.reporting("network_calls").split(", ")
    for name, solver in solvers.SOLVERS.items():
        assert solver.name == name
        assert solvers.get(name) is solver
    with pytest.raises(ValueError, match="unknown solver 'oracle': choose one of exact"):
        solvers.get("oracle")


@pytest.mark.quick
def test_an_unknown_option_is_named():
    with pytest.raises(ValueError, match=r"the solver exact has no option depth, width; it has rules, rounds, budget"):
        solvers.make_config(solvers.get("exact"), width=3, depth=4, rules="naked")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"order": "best"}, "unknown order 'best': choose one of fixed, random"),
        ({"rules": "none"}, "unknown rules 'none': choose one of naked, singles, locked"),
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"budget": 0}, "budget must be at least 1, not 0"),
        ({"settle": "palas"}, "unknown settle 'palas': choose one of xla, pallas; did you mean 'pallas'"),
        ({"restart": -2}, "restart must be at least 1, not -2"),
        ({"restart": "sometimes"}, "unknown restart 'sometimes': choose one of never"),
        ({"lanes": -32}, "lanes must be at least 1, not -32"),
        ({"lanes": 40}, "lanes must be a multiple of 32, not 40"),
        ({"lanes": 32.0}, r"lanes must be a whole number, not 32\.0"),
        ({"rounds": 10**9}, "rounds must be at most 1000, not 1000000000"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(options, cause):
    with pytest.raises(ValueError, match=cause):
        solvers.make_config(solvers.get("exact"), **options)


#: Every dataclass of settings.
CONFIGS = {solver.config for solver in solvers.SOLVERS.values()} | {
    *(kind.config for kind in mastermind.PLAYERS.values()),
    *(architecture.config for architecture in networks.NETWORKS.values()),
    GenerateConfig,
}

#: What fields of a type refuse, and with which words.
WRONG = {
    int: ("must be a whole number", (1.5, 32.0, True, "1000", np.float32(1), np.array([1]))),
    float: ("must be a number", (True, "0.5", math.nan, 1j, np.array(0.5))),
    bool: ("must be True or False", (1, "yes", None)),
    str: ("must be a word", (1, None, b"naked", ["naked"])),
}


def fields_of(config):
    found = []
    for name, hint in typing.get_type_hints(config).items():
        union = typing.get_origin(hint) in (types.UnionType, typing.Union)
        parts = [part for part in typing.get_args(hint) if part is not types.NoneType] if union else [hint]
        kind = str if typing.get_origin(parts[0]) is typing.Literal else parts[0]
        if kind in WRONG and len(parts) == 1 and name in config.__dataclass_fields__:
            found.append((name, kind))
    return found


@pytest.mark.quick
@pytest.mark.parametrize("config", sorted(CONFIGS, key=lambda config: config.__name__))
def test_a_field_takes_its_type_alone(config):
    for name, kind in fields_of(config):
        cause, values = WRONG[kind]
        for value in values:
            if value is None and getattr(config(), name) is None:
                continue
            with pytest.raises(ValueError, match=f"^{name} {cause}, not {re.escape(repr(value))}$"):
                config(**{name: value})


@pytest.mark.quick
@pytest.mark.parametrize("config", sorted(CONFIGS, key=lambda config: config.__name__))
def test_numbers_of_numpy_make_the_same_settings(config):
    plain = config()
    kinds = {int: np.int64, float: np.float64, bool: np.bool_, str: np.str_}
    values = {name: (kind, getattr(plain, name)) for name, kind in fields_of(config)}
    same = config(**{name: kinds[kind](value) for name, (kind, value) in values.items() if value is not None})
    assert same == plain
    assert hash(same) == hash(plain)
    assert repr(same) == repr(plain)


@pytest.mark.parametrize(
    ("name", "option"), [("depth-first", "budget"), ("annealing", "budget"), ("hill-climbing", "restarts")]
)
def test_no_number_wraps_in_an_int32(name, option):
    with pytest.raises(ValueError, match=f"{option} must be at most 2147483647, not 4294967297"):
        solvers.make_config(solvers.get(name), **{option: np.int64(2**32 + 1)})


def test_an_option_by_the_name_of_an_argument_is_unknown():
    for name in ("config", "whose", "solver"):
        with pytest.raises(ValueError, match=f"the solver exact has no option {name}"):
            solvers.make_config(solvers.get("exact"), **{name: 1})


def test_settings_that_suit_the_board():
    for side, restart, rounds in ((9, "never", 4), (12, 100, 2), (16, 100, 2), (25, 244, 2)):
        found = solvers.ExactConfig().resolve(Board.classic(side), "cpu")
        assert (found.restart, found.rounds, found.levels) == (restart, rounds, side**2)
        assert found.lanes % 32 == 0
        assert found.lanes > 0


def test_settings_reach_the_search(monkeypatch):
    asked = []

    def search(plan, puzzles, seeds, excluded):
        asked.append((plan.limit, plan.config, seeds))
        return exact.SearchResult(puzzles, *(puzzles[:, 0].astype(np.int32),) * 3)

    monkeypatch.setattr(weighted, "search", search)
    puzzles = np.zeros((3, 81), np.uint8)
    config = solvers.ExactConfig("naked", 2, budget=7, restart=9, portfolio=False, levels=5, order="random", lanes=64)
    fixed = dataclasses.replace(config, order="fixed")
    run = solvers.get("exact").run
    for settings in (config, fixed):
        jax.eval_shape(lambda key, settings=settings: run(Board.classic(), puzzles, key, settings), as_key(0))
    jax.eval_shape(functools.partial(exact.search, limit=3, budget=8, config=fixed), puzzles)
    (limit, found, seeds), *others = asked
    assert (limit, found) == (1, config)
    assert (seeds.shape, seeds.dtype) == ((3,), np.uint32)
    assert others == [(1, fixed, None), (3, dataclasses.replace(fixed, budget=8), None)]
