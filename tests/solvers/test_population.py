"""Full grids whose boxes are permutations: what a swap does to them, and the solvers that swap."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.solution import Status
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import population
from jaxsudoku.solvers.driver import SolveKernel
from jaxsudoku.solvers.population import annealing, boxes, evolution
from jaxsudoku.solvers.queue import Start

FOUR = reference.SMALL["4x4"]
SIX = reference.SMALL["2x3"]
BOARDS = {**reference.SMALL, "9x9": reference.NINE["9x9"], "windoku": reference.NINE["windoku"]}

boards = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
few_boards = pytest.mark.parametrize("board", [reference.SMALL["jigsaw-5"], reference.SMALL["diagonal-4"]], ids=str)


def wrong(board, grid):
    """The digits that houses miss, one by one."""
    return sum(board.side - len(set(grid[list(house)].tolist())) for house in board.houses)


def start(board, size=6):
    puzzles = reference.solvable(board, size, givens=board.cells // 4)
    return Start(puzzles, None, np.arange(size, dtype=np.uint32), None)


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
    grids = reference.arranged(board, start(board).grids)
    found = jax.jit(boxes.errors, static_argnums=0)(board, grids.T)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, [wrong(board, grid) for grid in grids])


@few_boards
def test_the_rise_of_every_swap(board):
    grids = reference.arranged(board, start(board).grids)
    table = boxes.pairs(board).cells
    number = np.tile(np.arange(len(table)), (len(grids), 1))
    many = np.repeat(grids[:, None], len(table), axis=1)
    digits = np.take_along_axis(many, table[number], axis=2)
    rises = np.asarray(jax.jit(evolution._rise, static_argnums=0)(board, many, number, digits))
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
    planes = np.where(grids[:, None] == np.arange(1, 37)[:, None], np.uint32(2**32 - 1), np.uint32(0))
    costs = jax.jit(lambda planes: annealing._costs(annealing._counted(board, planes)))(planes)
    lines = boxes.lines(board)
    expected = [sum(36 - len(set(grid[line].tolist())) for line in lines) for grid in grids.T]
    assert expected[0] == 0 < min(expected[1:])
    np.testing.assert_array_equal(costs, np.tile(expected, (32, 1)))


@functools.cache
def annealer(board, config, sweeps=4):
    """A program for the states after each sweep, with their answers and the counts of their grids."""
    method = annealing.method(board, config)

    def sweep(state, _):
        state = method.step(state)
        return state, (state, method.postprocess(state), annealing._counted(board, state.planes))

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def run(start):
        return jax.lax.scan(sweep, method.init(start), length=sweeps)[1]

    def each(start):
        seen = jax.tree.map(np.asarray, run(start))
        return [jax.tree.map(operator.itemgetter(number), seen) for number in range(sweeps)]

    return each


EXCHANGE = population.AnnealingConfig(hottest=2.0, temperatures=8, coldest=0.3)
COOLING = population.AnnealingConfig(hottest=2.0, chains=64, schedule="cooling")


@pytest.mark.parametrize(
    ("board", "config"),
    [(reference.SMALL["jigsaw-5"], EXCHANGE), (reference.SMALL["diagonal-4"], COOLING)],
    ids=["exchange", "cooling"],
)
def test_sweeps_keep_their_books(board, config):
    """Counts and errors are those of the grids, which stay organisms, whatever was swapped."""
    first = start(board).grids
    seen = []
    for state, answer, counted in annealer(board, config)(start(board)):
        grids = grids_of(board, state.planes)
        given = np.repeat(first, config.chains // 32, axis=0)
        assert all(is_organism(board, grid, puzzle) for lane in grids for grid, puzzle in zip(lane, given, strict=True))
        np.testing.assert_array_equal(state.counts[:-1], counted[:-1])
        errors = [[wrong(board, grid) for grid in lane] for lane in grids]
        np.testing.assert_array_equal(state.cost, errors)
        seen.append(grids)
        least = state.cost.min(axis=0).reshape(len(first), -1).min(axis=1)
        assert (answer.stats["errors"] <= least).all()
        assert [wrong(board, grid) for grid in answer.grids] == least.tolist()
    assert (seen[0] != seen[-1]).any()
    assert len({grid.tobytes() for grid in seen[0][:, 0]}) > 16, "a word's chains go their own ways"


def test_lanes_move_with_all_their_words():
    """What is done to a puzzle depends on no other, wherever its lane is."""
    board, lanes = reference.SMALL["diagonal-4"], np.array([4, 1, 0, 2, 5, 3])
    method, first = annealing.method(board, COOLING), start(board)
    moved = first._replace(grids=first.grids[lanes], seeds=first.seeds[lanes])
    anneal = annealer(board, COOLING)
    for (state, *_), (again, *_) in zip(anneal(first), anneal(moved), strict=True):
        for leaf, expected in zip(again, method.gather(lanes, state), strict=True):
            np.testing.assert_array_equal(leaf, expected)


#: Lines that may lose or win a digit, and words, of both tests of it.
LINES, WORDS = 6, 4096

kept = jax.jit(annealing._kept)


def test_a_rise_is_kept_with_its_probability():
    temperature = 0.7
    config = population.AnnealingConfig(temperatures=1, coldest=temperature, hottest=1.0)
    limits = annealing._thresholds(config)[0]
    limits = np.broadcast_to(limits[..., None], (*limits.shape, WORDS))
    thrown = np.random.default_rng(0).integers(2**32, size=(annealing._DIGITS, WORDS), dtype=np.uint32)
    every, none = np.full(WORDS, 0xFFFFFFFF, np.uint32), np.zeros(WORDS, np.uint32)
    for lost in range(5):
        for won in range(3):
            planes = [every] * lost + [none] * (LINES - lost), [every] * won + [none] * (LINES - won)
            count = np.bitwise_count(np.asarray(kept(*planes, thrown, limits))).sum()
            rise = lost - won
            chance = np.exp(-rise / temperature) if rise > 0 else 1
            if rise == 0:  # by one of three coins, or as a rise of 1 would be
                chance = 1 - (1 - np.exp(-1 / temperature)) / 8
            deviation = np.sqrt(32 * WORDS * chance * (1 - chance))
            assert abs(int(count) - 32 * WORDS * chance) <= 4 * deviation, (lost, won)


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
    every = np.full(WORDS, 0xFFFFFFFF, np.uint32)
    wide = np.broadcast_to(limits[..., None], (*limits.shape, WORDS))
    low = np.tile(every, (annealing._DIGITS, 1))  # the coin that is below any chance
    assert (np.asarray(kept([every] * LINES, [~every] * LINES, low, wide)) == every).all()


def test_neighbours_exchange_their_grids():
    inverse = np.linspace(4, 1, 32).astype(np.float32)
    cost = np.zeros((32, 2), np.int32)
    cost[:, 0] = np.arange(32)[::-1]  # the colder the worse: all that may swap do
    cost[:, 1] = 100 * np.arange(32)  # the colder the better: none does
    planes = np.random.default_rng(1).integers(2**32, size=(5, 2), dtype=np.uint32)

    @jax.jit
    def exchanged(age):
        mask = annealing._exchanging(cost, inverse, age, np.arange(2, dtype=np.uint32), 8)
        return mask, annealing._moved(planes, mask)

    for age in (0, 1):
        mask, moved = map(np.asarray, exchanged(np.full(2, age)))
        expected = sum(1 << bit for bit in range(31) if bit % 2 == age and (bit + 1) % 8)
        assert mask.tolist() == [expected, 0]
        bits = planes[:, 0] >> np.arange(32)[:, None] & 1
        for bit in range(31):
            if expected >> bit & 1:
                bits[[bit, bit + 1]] = bits[[bit + 1, bit]]
        np.testing.assert_array_equal(moved[:, 0] >> np.arange(32)[:, None] & 1, bits)
        np.testing.assert_array_equal(moved[:, 1], planes[:, 1])


# ---------------------------------------------------------------------- the hive


def test_a_hive_keeps_its_books():
    config = population.EvolutionConfig(organisms=20, lifetime=5, mistakes=0.2, epochs=40, restarts=1)
    method = evolution.method(SIX, config)
    first = start(SIX, 4)

    def epoch(state, _):
        state = method.step(state)
        return state, state

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def run(start):
        return jax.lax.scan(epoch, method.init(start), length=60)[1]

    seen = jax.tree.map(np.asarray, run(first))
    least = np.full(4, 99)
    for number in range(60):
        state = jax.tree.map(operator.itemgetter(number), seen)
        pairs = zip(state.grids, first.grids, strict=True)
        assert all(is_organism(SIX, grid, puzzle) for hive, puzzle in pairs for grid in hive)
        np.testing.assert_array_equal(state.error, [[wrong(SIX, grid) for grid in hive] for hive in state.grids])
        best = [wrong(SIX, grid) for grid in state.best]
        np.testing.assert_array_equal(state.least, best)
        assert (best <= least).all()
        least = np.minimum(best, state.error.min(axis=1))
        np.testing.assert_array_equal(state.restart, number >= 39)
        np.testing.assert_array_equal(state.epoch, (number + 1) % 40)
    assert (state.age.max(axis=1) < 5 + 2 * evolution._ROUND).all()


@pytest.mark.parametrize("variant", ["described", "printed"])
def test_who_ages_and_who_is_replaced_in_an_epoch(variant):
    """Described, all age that do not improve, and a child replaces the worst; printed, all that stay, and none."""
    config = population.EvolutionConfig(organisms=20, mistakes=0.3, variant=variant)
    method = evolution.method(SIX, config)

    def epoch(state, _):
        return (after := method.step(state)), (state, after)

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def run(start):
        return jax.lax.scan(epoch, method.init(start), length=6)[1]

    before, after = jax.tree.map(lambda leaf: np.asarray(leaf)[1:], run(start(SIX, 4)))
    changed = (before.grids != after.grids).sum(axis=-1)
    moved, better = changed > 0, after.error < before.error
    assert (moved & ~better).any() and better.any() and (before.age > 0)[better].any()
    if variant == "printed":
        assert set(np.unique(changed)) == {0, 2}  # swaps alone
        np.testing.assert_array_equal(after.age, before.age + ~moved)
    else:
        children = after.age == 0
        assert (changed[children] > 2).any() and set(np.unique(changed[~children])) <= {0, 2}
        np.testing.assert_array_equal(after.age, np.where(children, 0, before.age + 1))
        assert children[better].all()
    assert (after.iterations - before.iterations == 20 + (variant == "described")).all()


def test_the_child_of_the_best_has_boxes_of_both_and_replaces_the_worst():
    size, workers = 6, 6
    given = start(SIX).grids
    grids = reference.arranged(SIX, np.repeat(given, workers + 1, axis=0)).reshape(size, workers + 1, -1)
    mate, grids = grids[:, 0], grids[:, 1:]
    error = np.array([[wrong(SIX, grid) for grid in hive] for hive in grids], np.int32)
    hives = dict.fromkeys(evolution.Hives._fields) | {"best": given, "least": np.full(size, 99, np.int32)}
    hives = evolution.Hives(**hives | {"grids": grids, "error": error, "age": np.full_like(error, 7)})
    cross = jax.jit(evolution._cross, static_argnums=0)
    parents = grids[np.arange(size), error.argmin(axis=1)]
    after = jax.tree.map(np.asarray, cross(SIX, hives, parents, mate, np.arange(size, dtype=np.uint32)))
    kinds = set()
    for number in range(size):
        worst, best = np.argmax(error[number]), np.argmin(error[number])
        child, parent = after.grids[number, worst], grids[number, best]
        for box in map(list, SIX.region_houses):
            from_mate, from_parent = (child[box] == mate[number][box]).all(), (child[box] == parent[box]).all()
            assert from_mate or from_parent
            kinds.add((bool(from_mate), bool(from_parent)))
        others = np.arange(workers) != worst
        np.testing.assert_array_equal(after.grids[number][others], grids[number][others])
        np.testing.assert_array_equal(after.age[number], np.where(others, 7, 0))
        assert after.error[number, worst] == wrong(SIX, child)
        assert after.least[number] == wrong(SIX, child) == wrong(SIX, after.best[number])
    assert {(True, False), (False, True)} <= kinds


# ---------------------------------------------------------------------- the solvers

QUICK = {
    "annealing": {"budget": 60, "chains": 64, "lanes": 3},
    "evolution": {"organisms": 40, "epochs": 100, "restarts": 3, "lifetime": 30, "lanes": 3},
}

whole_solvers = pytest.mark.parametrize("name", QUICK)


def solve(name, puzzles, **options):
    """Of one batch and the same settings, so that one program does for all."""
    return js.solve(puzzles, SIX, solver=name, rules="none", record=50, batch_size=24, **QUICK[name] | options)


@whole_solvers
def test_puzzles_are_solved_and_what_is_not_has_its_error(name):
    puzzles = np.concatenate([reference.solvable(SIX, 20, givens=9), np.zeros((1, 36), np.uint8)])
    puzzles[5, puzzles[5] == 0] = 0
    puzzles[-1, :6] = [0, 1, 2, 3, 4, 5]
    puzzles[-1, 6] = 6  # no place is left for the 6 in the first row
    found = solve(name, puzzles)
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


@whole_solvers
def test_a_puzzles_result_is_its_own(name):
    """Any company, the same answers and counts; another seed gives others."""
    puzzles = reference.solvable(SIX, 24, givens=6)
    others = puzzles.copy()
    others[::2] = reference.solvable(SIX, 12, seed=1, givens=3)
    one, other = solve(name, puzzles), solve(name, others)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(x[1::2], y[1::2])
    assert (solve(name, puzzles, key=1).iterations != one.iterations).any()


def test_batches_leave_room_for_histories():
    def batch_size(record):
        return Engine(
            SolveKernel("annealing", population.AnnealingConfig(record=record)), js.Board.classic()
        ).batch_size

    assert 4 * 5000 * batch_size(5000) <= 2**26 < 4 * 5000 * batch_size(0)


@pytest.mark.slow
def test_more_chains_take_fewer_sweeps():
    few, many = (
        np.minimum.accumulate([answer.stats["errors"] for _, answer, _ in annealer(SIX, config, 30)(start(SIX, 16))])
        for config in (population.AnnealingConfig(), population.AnnealingConfig(chains=128))
    )
    assert (many > 0).sum() < (few > 0).sum()


@pytest.mark.slow
def test_annealing_solves_a_board_with_extra_houses():
    board = js.Board.windoku()
    puzzles = reference.solvable(board, 4, givens=board.cells // 2)
    found = js.solve(puzzles, board, solver="annealing", rules="none")
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
        ("evolution", {"worker_share": float("inf")}, "worker_share must give at least one worker and one explorer"),
        ("evolution", {"organisms": 1}, "organisms must be at least 2, not 1"),
        ("evolution", {"worker_share": 1.0}, "worker_share must give at least one worker and one explorer"),
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
def test_dtypes_are_the_same_under_every_setting(name):
    """Types of 64 bits are there, and are not mixed with others by chance."""
    if name == "evosax":
        pytest.importorskip("evosax")
    solver = solvers.get(name)
    # annealing alone has its own way of moving to fewer lanes
    config = solvers.make_config(solver, lanes=9 if name == "annealing" else 3).resolve(FOUR, "cpu")
    if "errors" in solver.stats:
        config = dataclasses.replace(config, record=3)
    promotion = "standard" if name == "evosax" else "strict"  # evosax itself promotes
    with jax.enable_x64(True), jax.numpy_dtype_promotion(promotion):
        puzzles = jax.ShapeDtypeStruct((12, FOUR.cells), np.uint8)
        found = jax.eval_shape(lambda puzzles, key: solver.run(FOUR, puzzles, key, config), puzzles, as_key(0))
    numbers = ["int32"] * (1 + 2 * len(solver.stats))
    assert [leaf.dtype for leaf in jax.tree.leaves(found)] == ["uint8", "int8", *numbers]
