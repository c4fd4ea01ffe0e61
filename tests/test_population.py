"""Full grids whose boxes are permutations: what a swap does to them, and the solvers that swap."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from scipy import stats

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.batches import Engine
from jaxsudoku.solution import Status
from jaxsudoku.solvers import population
from jaxsudoku.solvers.driver import solve_kernel
from jaxsudoku.solvers.population import annealing, boxes, evolution
from jaxsudoku.solvers.population.random_keys import decoded
from jaxsudoku.solvers.queue import Start

FOUR = reference.SMALL["4x4"]
SIX = reference.SMALL["2x3"]
BOARDS = {**reference.SMALL, "9x9": reference.NINE["9x9"], "windoku": reference.NINE["windoku"]}

boards = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
few_boards = pytest.mark.parametrize(
    "board",
    [pytest.param(SIX, marks=pytest.mark.slow), reference.SMALL["jigsaw-5"], reference.SMALL["diagonal-4"]],
    ids=str,
)


def wrong(board, grid):
    """The digits that houses miss, one by one."""
    return sum(board.side - len(set(grid[list(house)].tolist())) for house in board.houses)


def start(board, size=6, givens=None):
    puzzles = reference.solvable(board, size, givens=board.cells // 4 if givens is None else givens)
    nodes = jnp.zeros((board.words, size), jnp.uint32)
    return Start(jnp.asarray(puzzles), nodes, jnp.arange(size, dtype=jnp.uint32), jnp.arange(size))


def is_organism(board, grid, given):
    kept = (grid == given)[given > 0].all()
    return kept and all(sorted(grid[list(box)]) == list(range(1, board.side + 1)) for box in board.region_houses)


# ---------------------------------------------------------------------- boxes


@boards
def test_pairs_are_those_of_boxes_and_the_lines_that_a_swap_changes(board):
    table = boxes.pairs(board)
    seen = {tuple(pair) for pair in table.cells.tolist()}
    assert seen == {pair for box in board.region_houses for pair in itertools.combinations(box, 2)}
    assert len(seen) == len(table.cells)
    all_lines = boxes.lines(board).tolist()
    half = table.lines.shape[1] // 2
    for (first, second), changed in zip(table.cells.tolist(), table.lines.tolist(), strict=True):
        for mine, theirs, part in ((first, second, changed[:half]), (second, first, changed[half:])):
            named = {number for number in part if number < len(all_lines)}
            assert named == {n for n, line in enumerate(all_lines) if mine in line and theirs not in line}


@few_boards
def test_errors_are_the_digits_that_houses_miss(board):
    grids = np.asarray(decoded(board, start(board).grids.T, jnp.zeros((board.cells, 6))))
    found = boxes.errors(board, jnp.asarray(grids))
    assert found.dtype == jnp.int32
    np.testing.assert_array_equal(found, [wrong(board, grid) for grid in grids.T])


@few_boards
def test_the_rise_of_every_swap(board):
    grids = np.asarray(decoded(board, start(board).grids.T, jnp.zeros((board.cells, 6)))).T
    table = boxes.pairs(board).cells
    number = jnp.broadcast_to(jnp.arange(len(table)), (len(grids), len(table)))
    many = jnp.broadcast_to(grids[:, None], (*number.shape, board.cells))
    digits = jnp.take_along_axis(many, jnp.asarray(table)[number], axis=2)
    rises = np.asarray(evolution._rise(board, many, number, digits))
    for grid, rise in zip(grids, rises, strict=True):
        for pair, expected in zip(table, rise, strict=True):
            swapped = grid.copy()
            swapped[pair] = grid[pair[::-1]]
            assert wrong(board, swapped) - wrong(board, grid) == expected


# ---------------------------------------------------------------------- chains


def grids_of(board, planes):
    """The grids of all chains, uint8[32, W, cells]."""
    bits = np.asarray(planes)[None] >> np.arange(32)[:, None, None, None] & 1
    assert (bits.sum(axis=2) == 1).all()
    return (bits * np.arange(1, board.side + 1)[:, None]).sum(axis=2).transpose(0, 2, 1)


def test_chains_count_every_digit_of_a_wide_board():
    board = js.Board.classic(36)
    rng = np.random.default_rng(0)
    grids = np.tile(reference.full_grid(board, rng)[:, None], 3)
    for cell in rng.integers(board.cells, size=40):
        grids[cell, 1:] = rng.integers(1, 37, size=2)
    planes = jnp.where(grids[:, None] == np.arange(1, 37)[:, None], np.uint32(2**32 - 1), np.uint32(0))
    costs = annealing._costs(annealing._counted(board, planes))
    lines = boxes.lines(board)
    expected = [sum(36 - len(set(grid[line].tolist())) for line in lines) for grid in grids.T]
    assert expected[0] == 0 < min(expected[1:])
    np.testing.assert_array_equal(costs, np.tile(expected, (32, 1)))


@functools.cache
def annealing_step(board, config):
    method = annealing.method(board, config)
    return method, jax.jit(method.init), jax.jit(method.step, compiler_options=js.compiler_options())


@few_boards
@pytest.mark.parametrize(
    "options", [{"temperatures": 8, "coldest": 0.3}, {"chains": 64, "schedule": "cooling"}], ids=str
)
def test_sweeps_keep_their_books(board, options):
    """Counts and errors are those of the grids, which stay organisms, whatever was swapped."""
    config = population.AnnealingConfig(**{"hottest": 2.0, **options})
    method, begin, step = annealing_step(board, config)
    first = start(board)
    state = begin(first)
    seen = []
    for _ in range(4):
        state = step(state)
        grids = grids_of(board, state.planes)
        given = np.repeat(np.asarray(first.grids), config.chains // 32, axis=0)
        assert all(is_organism(board, grid, puzzle) for lane in grids for grid, puzzle in zip(lane, given, strict=True))
        np.testing.assert_array_equal(state.counts[:-1], annealing._counted(board, state.planes)[:-1])
        errors = [[wrong(board, grid) for grid in lane] for lane in grids]
        np.testing.assert_array_equal(state.cost, errors)
        seen.append(grids)
        answer = method.postprocess(state)
        least = np.min([np.min(state.cost, axis=0)], axis=0).reshape(len(first.grids), -1).min(axis=1)
        assert (np.asarray(answer.stats["errors"]) <= least).all()
        best = np.asarray(answer.grids)
        assert [wrong(board, grid) for grid in best] == least.tolist()
    assert (seen[0] != seen[-1]).any()
    assert len({grid.tobytes() for grid in seen[0][:, 0]}) > 16, "a word's chains go their own ways"


def test_a_rise_is_kept_with_its_probability():
    temperature, words = 0.7, 4096
    config = population.AnnealingConfig(temperatures=1, coldest=temperature, hottest=1.0)
    limits = jnp.broadcast_to(annealing._thresholds(config)[0][..., None], (annealing._RISES, annealing._DIGITS, words))
    bits = np.random.default_rng(0).integers(2**32, size=(annealing._DIGITS, words), dtype=np.uint32)
    every, none = jnp.full(words, 0xFFFFFFFF, jnp.uint32), jnp.zeros(words, jnp.uint32)
    for lost in range(5):
        for won in range(3):
            planes = [every] * lost + [none] * (4 - lost), [every] * won + [none] * (4 - won)
            kept = np.bitwise_count(np.asarray(annealing._kept(*planes, jnp.asarray(bits), limits))).sum()
            rise = lost - won
            chance = np.exp(-rise / temperature) if rise > 0 else 1
            if rise == 0:  # by one of three coins, or as a rise of 1 would be
                chance = 1 - (1 - np.exp(-1 / temperature)) / 8
            assert stats.binomtest(int(kept), 32 * words, chance).pvalue > 1e-4, (lost, won)


@pytest.mark.slow
def test_sweeps_do_not_go_in_circles():
    """Pairs of cells with digits ab, bc, ca: most swaps change nothing, and six grids of eight are wrong."""
    board = js.Board.classic()
    puzzles = np.repeat(reference.pattern(board)[None], 3, axis=0)
    for number, first in enumerate(range(3)):
        puzzles[number, [first, first + 3, first + 6, 9 + first, 12 + first, 15 + first]] = 0
    found = js.solve(puzzles, board, solver="annealing", rules="none", budget=20, lanes=3)
    assert (found.status == Status.SOLVED).all()


def test_no_swap_is_ruled_out():
    """However cold a chain is, the chances of a rise are above 0 and fall; beyond the last they stay."""
    limits = annealing._thresholds(population.AnnealingConfig(coldest=0.01, hottest=3.0))[0]
    chances = (limits[:, :, None] >> np.arange(32) & 1) << np.arange(annealing._DIGITS)[:, None]
    assert (chances.sum(axis=1) > 0).all() and (np.diff(chances.sum(axis=1), axis=0) <= 0).all()
    every = jnp.full(8, 0xFFFFFFFF, jnp.uint32)
    wide = jnp.broadcast_to(jnp.asarray(limits)[..., None], (*limits.shape, 8))
    low = jnp.full((annealing._DIGITS, 8), 0xFFFFFFFF, jnp.uint32)  # the coin that is below any chance
    assert (annealing._kept([every] * 6, [~every] * 6, low, wide) == every).all()


def test_neighbours_exchange_their_grids():
    inverse = np.linspace(4, 1, 32).astype(np.float32)
    cost = np.zeros((32, 2), np.int32)
    cost[:, 0] = np.arange(32)[::-1]  # the colder the worse: all that may swap do
    cost[:, 1] = 100 * np.arange(32)  # the colder the better: none does
    for age in (0, 1):
        mask = annealing._exchanging(jnp.asarray(cost), inverse, jnp.full(2, age), jnp.arange(2, dtype=jnp.uint32), 8)
        expected = sum(1 << bit for bit in range(31) if bit % 2 == age and (bit + 1) % 8)
        assert mask.tolist() == [expected, 0]
        planes = np.random.default_rng(1).integers(2**32, size=(5, 2), dtype=np.uint32)
        bits = np.asarray(planes)[:, 0] >> np.arange(32)[:, None] & 1
        for bit in range(31):
            if expected >> bit & 1:
                bits[[bit, bit + 1]] = bits[[bit + 1, bit]]
        moved = np.asarray(annealing._moved(jnp.asarray(planes), mask))
        np.testing.assert_array_equal(moved[:, 0] >> np.arange(32)[:, None] & 1, bits)
        np.testing.assert_array_equal(moved[:, 1], planes[:, 1])


# ---------------------------------------------------------------------- the hive


def test_a_hive_keeps_its_books():
    config = population.EvolutionConfig(organisms=20, lifetime=5, mistakes=0.2, epochs=40, restarts=1)
    method = evolution.method(SIX, config)
    first = start(SIX)
    state, step = method.init(first), jax.jit(method.step, compiler_options=js.compiler_options())
    least = np.full(6, 99)
    for epoch in range(60):
        state = step(state)
        grids, given = np.asarray(state.grids), np.asarray(first.grids)
        assert all(is_organism(SIX, grid, puzzle) for hive_, puzzle in zip(grids, given, strict=True) for grid in hive_)
        np.testing.assert_array_equal(state.error, [[wrong(SIX, grid) for grid in grids_] for grids_ in grids])
        best = [wrong(SIX, grid) for grid in np.asarray(state.best)]
        np.testing.assert_array_equal(state.least, best)
        assert (best <= least).all()
        least = np.minimum(best, np.asarray(state.error).min(axis=1))
        np.testing.assert_array_equal(state.restart, epoch >= 39)
        np.testing.assert_array_equal(state.epoch, (epoch + 1) % 40)
    assert (np.asarray(state.age).max(axis=1) < 5 + 2 * evolution._ROUND).all()


def test_the_child_of_the_best_has_boxes_of_both_and_replaces_the_worst():
    config = population.EvolutionConfig(organisms=8, worker_share=0.75)
    method = evolution.method(SIX, config)
    state = jax.jit(method.step)(method.init(start(SIX)))
    mate = np.asarray(decoded(SIX, state.given.T, jnp.zeros((SIX.cells, 6)))).T
    after = evolution._cross(SIX, state, jnp.asarray(mate), jnp.arange(6, dtype=jnp.uint32))
    kinds = set()
    for number in range(6):
        worst, best = np.argmax(state.error[number]), np.argmin(state.error[number])
        child, parent = np.asarray(after.grids)[number, worst], np.asarray(state.grids)[number, best]
        for box in map(list, SIX.region_houses):
            from_mate, from_parent = (child[box] == mate[number][box]).all(), (child[box] == parent[box]).all()
            assert from_mate or from_parent
            kinds.add((bool(from_mate), bool(from_parent)))
        others = np.arange(6) != worst
        np.testing.assert_array_equal(np.asarray(after.grids)[number][others], np.asarray(state.grids)[number][others])
    assert {(True, False), (False, True)} <= kinds


# ---------------------------------------------------------------------- the solvers

QUICK = {
    "annealing": {"budget": 60, "lanes": 3},
    "evolution": {"organisms": 40, "epochs": 100, "restarts": 3, "lifetime": 30, "lanes": 3},
}

whole_solvers = pytest.mark.parametrize("name", QUICK)

annealing_first = pytest.mark.parametrize("name", ["annealing", pytest.param("evolution", marks=pytest.mark.slow)])


def solve(name, puzzles, board=SIX, **options):
    return js.solve(puzzles, board, solver=name, rules="none", **QUICK[name] | options)


@whole_solvers
def test_puzzles_are_solved_and_what_is_not_has_its_error(name):
    puzzles = np.concatenate([reference.solvable(SIX, 20, givens=9), np.zeros((1, 36), np.uint8)])
    puzzles[5, puzzles[5] == 0] = 0
    puzzles[-1, :6] = [0, 1, 2, 3, 4, 5]
    puzzles[-1, 6] = 6  # no place is left for the 6 in the first row
    found = solve(name, puzzles, record=50)
    solved = found.status == Status.SOLVED
    assert solved.sum() >= 16 and set(found.status[~solved]) == {Status.UNSOLVED} and not solved[-1]
    np.testing.assert_array_equal(found.stats["errors"] == 0, solved)
    assert all(reference.is_solution(SIX, *pair) for pair in zip(found.grids[solved], puzzles[solved], strict=True))
    assert not found.grids[~solved].any()
    for history, error in zip(found.stats["history"], found.stats["errors"], strict=True):
        recorded = history[history >= 0]
        assert (np.diff(recorded) <= 0).all() and (history[len(recorded) :] == -1).all()
        assert len(recorded) == 50 or recorded[-1] == error
    assert (found.iterations > 0).all()


@annealing_first
def test_a_puzzles_result_is_its_own(name):
    """Two lanes or many, any company, the same answers and counts; another seed gives others."""
    puzzles = reference.solvable(SIX, 24, givens=6)
    wide = {"chains": 64} if name == "annealing" else {}
    one, other = (solve(name, puzzles, lanes=lanes, **wide) for lanes in (2, 20))
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(x, y)
    assert (solve(name, puzzles, lanes=2, key=1, **wide).iterations != one.iterations).any()


def test_batches_leave_room_for_histories():
    def batch_size(record):
        return Engine(
            solve_kernel("annealing", population.AnnealingConfig(record=record)), js.Board.classic()
        ).batch_size

    assert 4 * 5000 * batch_size(5000) <= 2**26 < 4 * 5000 * batch_size(0)


@pytest.mark.slow
def test_more_chains_take_fewer_sweeps():
    puzzles = reference.solvable(SIX, 16, givens=4)
    few, many = (solve("annealing", puzzles, chains=chains, record=60).stats["history"] for chains in (32, 128))
    assert (many >= 0).sum() < (few >= 0).sum()


@pytest.mark.slow
@pytest.mark.parametrize("board", [js.Board.classic(16), js.Board.windoku(), js.Board.diagonal()], ids=str)
def test_annealing_solves_any_board(board):
    puzzles = reference.solvable(board, 4, givens=board.cells // 2)
    found = js.solve(puzzles, board, solver="annealing")
    assert (found.status == Status.SOLVED).all()
    assert all(reference.is_solution(board, grid, puzzle) for grid, puzzle in zip(found.grids, puzzles, strict=True))


@pytest.mark.parametrize(
    ("name", "options", "cause"),
    [
        ("annealing", {"rules": "most"}, "unknown rules 'most'"),
        ("annealing", {"schedule": "fast"}, "unknown schedule 'fast': choose one of exchange, cooling"),
        ("annealing", {"chains": 33}, "chains must be a multiple of 32, not 33"),
        ("annealing", {"temperatures": 5}, "temperatures must divide 32, not be 5"),
        ("annealing", {"coldest": 0.0}, "coldest is 0.0 and hottest 0.38"),
        ("annealing", {"coldest": 0.6}, "coldest is 0.6 and hottest 0.38"),
        ("annealing", {"hottest": float("inf")}, "coldest is 0.2 and hottest inf"),
        ("annealing", {"period": 1}, "period must be at least 2, not 1"),
        ("annealing", {"period": 10**6}, "period must be at most 100000, not 1000000"),
        ("annealing", {"budget": 0}, "budget must be at least 1, not 0"),
        ("annealing", {"budget": 2**31}, "budget must be at most 2147483647, not 2147483648"),
        ("evolution", {"worker_share": float("inf")}, "worker_share must leave one worker and one explorer"),
        ("evolution", {"organisms": 1}, "organisms must be at least 2, not 1"),
        ("evolution", {"worker_share": 1.0}, "worker_share must leave one worker and one explorer"),
        ("evolution", {"mistakes": 1.5}, "mistakes must be at most 1, not 1.5"),
        ("evolution", {"lifetime": 0}, "lifetime must be at least 1, not 0"),
        ("evolution", {"record": -1}, "record must be at least 0, not -1"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(name, options, cause):
    with pytest.raises(ValueError, match=cause):
        solvers.make_config(solvers.get(name), **options)


#: The population and the textbook solvers.
IN_LANES = [
    name
    for name, solver in solvers.SOLVERS.items()
    if isinstance(solver.function, str) and solver.function.startswith(("population.", "textbook."))
]


@pytest.mark.parametrize("name", IN_LANES)
@pytest.mark.parametrize("setting", ["x64", "strict"])
def test_dtypes_are_the_same_under_every_setting(name, setting):
    if name == "evosax":
        pytest.importorskip("evosax")
        if setting == "strict":
            pytest.skip("evosax itself promotes")
    solver = solvers.get(name)
    config = solvers.make_config(solver).resolve(FOUR, "cpu")
    if "errors" in solver.stats:
        config = dataclasses.replace(config, record=3)
    context = jax.enable_x64(True) if setting == "x64" else jax.numpy_dtype_promotion("strict")
    with context:
        found = jax.eval_shape(
            lambda key: solver.run(FOUR, jnp.zeros((12, FOUR.cells), jnp.uint8), key, config), jax.random.key(0)
        )
    numbers = ["int32"] * (1 + 2 * len(solver.stats))
    assert [leaf.dtype for leaf in jax.tree.leaves(found)] == ["uint8", "int8", *numbers]
