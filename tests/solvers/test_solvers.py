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

import jaxsudoku as js
from jaxsudoku import exact, mastermind, networks, solvers
from jaxsudoku.core.board import Board
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.exact import weighted
from jaxsudoku.generation import GenerateConfig
from jaxsudoku.runtime.random import as_key
from jaxsudoku.testing.solver import check_answers, constrained, function_of

BOARDS = {name: reference.SMALL[name] for name in ("4x4", "2x3", "jigsaw-5")}

FOUR = BOARDS["4x4"]

#: Rules of all kinds: orders and sums, which give digits away, and different cells, on a board where knights are too.
SIX = Board.classic(6).with_(
    js.constraints.anti_knight(side=6),
    js.constraints.thermometer("r1c1 r1c2 r2c3", side=6),
    js.constraints.killer([("r5c5 r5c6 r6c6", 10)], side=6),
)

BOARDS |= {"constrained-4": constrained(), "constrained-6": SIX}

#: Settings with which a solver is compiled in little time, by the name of the solver.
SMALL_SETTINGS = {
    "exact": {"lanes": 32, "rules": "naked", "rounds": 1},
    "auto": {"lanes": 32, "rules": "naked", "rounds": 1, "budget": 3},
    "sat": {"lanes": 32},
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
    options = SMALL_SETTINGS[name] | ({} if board.side == 4 else LARGER_SETTINGS.get(name, {}))
    return solvers.make_config(solvers.get(name), **options)


#: What solvers need that may not be installed.
EXTRAS = {"evosax": "evosax", "sat": "pysat", "auto": "pysat"}


def able(name):
    """The mark of a solver that needs what is not installed."""
    absent = name in EXTRAS and importlib.util.find_spec(EXTRAS[name]) is None
    return [pytest.mark.skip(reason=f"{EXTRAS[name]} is not installed")] if absent else []


EVERY = [pytest.param(solver, id=name, marks=able(name)) for name, solver in solvers.SOLVERS.items()]

#: Those that no run tries here unless it is of the slow tests: they take long to compile and are much like another one.
SELDOM = ("iterative", "gumbel", "mcts")

#: Those that the quick tests leave out: they take longest to compile as users do.
NOT_QUICK = ("mcgs", "evosax")


#: Tree searches, which take longest to compile: without constraints, or beside another one.
PLAIN = ("alphasudoku", "mcgs")


def least_board(name):
    """The board of 4x4 that is not slow, with constraints if the solver supports them."""
    return "constrained-4" if solvers.get(name).constraints and name not in PLAIN else "4x4"


def case(name, board_name):
    """A solver and its board."""
    marks = able(name) + [pytest.mark.slow] * (board_name != least_board(name))
    marks += [pytest.mark.quick] * (name not in NOT_QUICK)
    return pytest.param(solvers.get(name), BOARDS[board_name], id=f"{board_name}-{name}", marks=marks)


#: Solvers on a board of 4x4, and some of each kind on another board: those whose code is theirs alone.
CASES = [
    *(case(name, least_board(name)) for name in solvers.SOLVERS if name not in SELDOM),
    case("mcgs", "constrained-4"),
    *(case(name, "constrained-6") for name in ("exact", "iterative", "gumbel")),
    *(case(name, "2x3") for name in ("iterative", "depth-first")),
    *(case(name, "jigsaw-5") for name in ("guided-exact", "mcts", "annealing", "evolution")),
]

#: Some that are compiled for a single puzzle too.
ALONE = [("exact", BOARDS["constrained-4"]), ("depth-first", BOARDS["2x3"]), ("annealing", BOARDS["jigsaw-5"])]


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
    program = function_of(solvers.get(name), board, config, random_network(board))
    found = jax.eval_shape(program, puzzles, as_key(0))
    assert found.grids.shape == puzzles.shape


@pytest.mark.parametrize(("solver", "board"), CASES)
def test_every_solver_keeps_its_promises(solver, board):
    network = random_network(board) if solver.guided else None
    alone = (solver.name, board) in ALONE
    js.testing.check_solver(solver, settings_of(solver.name, board), board=board, network=network, alone=alone)


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


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *(("4x4", 33), ("4x4", 4097)),  # one part, and three of which the last two overlap
        *(pytest.param(name, 33, marks=pytest.mark.slow) for name in ("2x3", "jigsaw-5")),
    ],
)
def test_the_judge_turns_a_false_claim_into_unsolved_and_zeros(name, size):
    board, rng = BOARDS[name], np.random.default_rng(size)
    grids = np.array([reference.full_grid(board, rng) for _ in range(64)])
    grids = grids[rng.integers(64, size=size)]
    puzzles = np.where(rng.random(grids.shape) < 0.4, grids, 0).astype(np.uint8)
    status = rng.choice([*Status], size).astype(np.int8)
    status[-3:] = Status.SOLVED
    claims = grids.copy()
    kind = rng.integers(4, size=size)
    kind[-3:] = 0, 1, 0
    claims[kind == 1] = grids[kind == 1] % board.side + 1  # solved, but of another puzzle
    claims[kind == 2, 3] = 0
    claims[kind == 3, 0] = claims[kind == 3, 1]
    puzzles[kind == 1, 0] = grids[kind == 1, 0]
    iterations = np.arange(size, dtype=np.int32)
    claimed = Solution(claims, status, iterations, {"network_calls": iterations + np.int32(1)})
    judging = jax.jit(functools.partial(solvers.judge, board=board))
    judged = jax.tree.map(np.asarray, judging(puzzles, claimed))
    true = (status == Status.SOLVED) & (kind == 0)
    expected = np.where((status == Status.SOLVED) & ~true, np.int8(Status.UNSOLVED), status)
    assert [x.dtype for x in jax.tree.leaves(judged)] == ["uint8", "int8", "int32", "int32"]
    np.testing.assert_array_equal(judged.status, expected)
    np.testing.assert_array_equal(judged.grids, np.where(true[:, None], grids, 0))
    np.testing.assert_array_equal(judged.iterations, iterations)
    np.testing.assert_array_equal(judged.stats["network_calls"], iterations + 1)


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
        ({"settle": "palas"}, "unknown settle 'palas': choose one of auto, xla, pallas, bands; did you mean 'pallas'"),
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

    def search(plan, puzzles, seeds, excluded, clues):
        asked.append((plan.limit, plan.config, seeds))
        return exact.SearchResult(puzzles, *(puzzles[:, 0].astype(np.int32),) * 3)

    monkeypatch.setattr(weighted, "search", search)
    puzzles = np.zeros((3, 81), np.uint8)
    config = solvers.ExactConfig("naked", 2, 7, 9, split=False, levels=5, order="random", lanes=64, settle="xla")
    fixed = dataclasses.replace(config, order="fixed")
    run = solvers.get("exact").run
    for settings in (config, fixed):
        jax.eval_shape(lambda key, settings=settings: run(Board.classic(), puzzles, key, settings), as_key(0))
    jax.eval_shape(functools.partial(exact.search, limit=3, budget=8, config=fixed), puzzles)
    (limit, found, seeds), *others = asked
    assert (limit, found) == (1, config)
    assert (seeds.shape, seeds.dtype) == ((3,), np.uint32)
    assert others == [(1, fixed, None), (3, dataclasses.replace(fixed, budget=8), None)]


# ---------------------------------------------------------------------- solvers of users, right and wrong


def by_brute_force(puzzles, fault=""):
    """Answers to puzzles of 4x4, wrong in some way for those that are hard."""
    found = [reference.solutions(FOUR, puzzle, 1) for puzzle in puzzles]
    grids = np.array([each[0] if each else [0] * FOUR.cells for each in found], np.uint8)
    clash = np.array([reference.is_clash(FOUR, puzzle) for puzzle in puzzles])
    solved, hard = grids.any(axis=1), (puzzles == 0).sum(axis=1) > 8
    status = np.where(solved, Status.SOLVED, np.where(clash, Status.INVALID, Status.UNSATISFIABLE)).astype(np.int8)
    if fault == "swapped":
        grids[hard] = np.roll(grids[hard], 1, axis=1)
    elif fault == "missed":
        status[clash] = Status.UNSATISFIABLE
    elif fault in ("refuted", "open"):
        status[solved & hard] = Status.UNSATISFIABLE if fault == "refuted" else Status.UNSOLVED
    elif fault == "neighbour":
        status[solved & np.roll(hard, 1)] = Status.UNSATISFIABLE
    elif fault == "lonely":
        status[solved & (len(puzzles) == 1)] = Status.UNSATISFIABLE
    iterations = {"negative": -1, "random": np.random.default_rng().integers(2**30)}.get(fault, 1)
    return Solution(grids, status, np.full(len(puzzles), iterations, "int64" if fault == "wide" else "int32"), {})


def test_a_solver_of_a_user_passes():
    def own(board, puzzles, key, config):
        kinds = Solution(((board.cells,), np.uint8), ((), np.int8), ((), np.int32), {})
        shapes = (jax.ShapeDtypeStruct((len(puzzles), *shape), dtype) for shape, dtype in kinds[:3])
        return jax.pure_callback(lambda given: by_brute_force(np.asarray(given)), Solution(*shapes, {}), puzzles)

    js.testing.check_solver(own, complete=True, alone=False)
    with pytest.raises(ValueError, match="the solver one-shot needs a network"):
        js.testing.check_solver("one-shot")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("swapped", r"SOLVED by a grid that is not a solution\n  puzzle: [\d ]+\n  grid: [\d ]+$"),
        ("refuted", r"the status of a puzzle is UNSATISFIABLE, not SOLVED\n  puzzle: [\d ]+$"),
        ("open", r"the status of a puzzle is UNSOLVED, not SOLVED\n"),
        ("missed", r"the status of a puzzle is UNSATISFIABLE, not INVALID\n"),
        ("neighbour", r"depends on the other puzzles of its batch: status \d and \d\n  puzzle: "),
        ("lonely", r"depends on the size of its batch: status 1 and 2\n  puzzle: "),
        ("negative", r"iterations of a puzzle are -1, and its status is \d\n  puzzle: "),
        ("random", "two runs with the same key give different answers"),
        ("wide", r"the answer to 33 puzzles is .*'iterations': 'int64\[33\]'}, not "),
    ],
)
def test_a_wrong_solver_is_found(fault, words):
    with pytest.raises(AssertionError, match=words):
        check_answers(lambda puzzles, seed=0: by_brute_force(puzzles, fault), FOUR, complete=True)


def test_a_solver_that_ignores_constraints_is_found():
    with pytest.raises(AssertionError, match="SOLVED by a grid that is not a solution|is SOLVED, not UNSATISFIABLE"):
        check_answers(lambda puzzles, seed=0: by_brute_force(puzzles), constrained(), complete=True)


# ---------------------------------------------------------------------- constraints that a solver does not support


@pytest.mark.quick
def test_a_solver_without_constraints_refuses_them_before_it_runs():
    words = "the solver annealing supports no boards with constraints; those that do are exact, "
    with pytest.raises(ValueError, match=words):
        js.solve(np.zeros(16, np.uint8), constrained(), solver="annealing")
    with pytest.raises(ValueError, match=words):
        jax.eval_shape(function_of(solvers.get("annealing"), constrained(), None, None), np.zeros((1, 16)), as_key(0))


@pytest.mark.quick
def test_a_solver_without_clues_refuses_them_before_it_runs():
    words = "the solver mcts supports no clues, which are constraints of single puzzles: use exact, auto, or put"
    with pytest.raises(ValueError, match=words):
        js.solve(np.zeros((1, 16), np.uint8), FOUR, clues=[constrained().constraints], solver="mcts")
