"""The host side: inputs of any shape, batches of any size, results in order, and causes named where there is none."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.core.host_rules import all_candidates
from jaxsudoku.engine.batches import _BATCH_BYTES, Engine, default_batch_size
from jaxsudoku.engine.inputs import as_puzzles
from jaxsudoku.engine.kernels import PuzzleItems
from jaxsudoku.engine.solution import Status
from jaxsudoku.solvers import driver, judging

FOUR = reference.SMALL["4x4"]

#: A classic with one solution, and the solution.
PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
ANSWER = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"

#: Lanes and rules with which small boards are quick, and a batch size too small to have others below it, so that one is
#: compiled.
SMALL = {"batch_size": 7, "lanes": 32, "rules": "naked"}


def counted(puzzles, board=None):
    """Solutions of puzzles up to 5, always by the same program."""
    return js.count_solutions(puzzles, board, limit=5, **SMALL)


def counting():
    """An engine of that program."""
    return Engine(driver.count_kernel(5, lanes=32, rules="naked"), FOUR, batch_size=7)


# ---------------------------------------------------------------------- the face


def test_every_public_name_resolves():
    for name in js.__all__:
        assert getattr(js, name) is not None
        assert name in dir(js)
    for name, home in js._MODULES.items():
        assert getattr(js, name).__name__ == f"jaxsudoku.{home}"
    with pytest.raises(AttributeError, match="no attribute 'sudoku'"):
        js.sudoku  # noqa: B018


def test_a_parsed_puzzle_is_solved_as_it_comes():
    solution = js.solve(js.parse(PUZZLE))
    assert "".join(map(str, solution.grids)) == ANSWER
    assert solution.status == Status.SOLVED
    assert [x.dtype for x in solution[:3]] == ["uint8", "int8", "int32"]
    assert solution.stats == {}


# ---------------------------------------------------------------------- shapes


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0)])
def test_any_batch_shape(shape):
    count = int(np.prod(shape))
    puzzles = reference.unique(FOUR, count).reshape(*shape, 16)
    solution = js.solve(puzzles, **SMALL)
    assert all(isinstance(x, np.ndarray | np.generic) for x in solution[:3])
    assert [x.shape for x in solution[:3]] == [(*shape, 16), shape, shape]
    assert [x.dtype for x in solution[:3]] == ["uint8", "int8", "int32"]
    assert (solution.status == Status.SOLVED).all()
    for puzzle, grid in zip(puzzles.reshape(-1, 16), solution.grids.reshape(-1, 16), strict=True):
        assert reference.is_solution(FOUR, grid, puzzle)
    counts = counted(puzzles)
    assert counts.shape == shape
    assert counts.dtype == np.int32
    assert (counts == 1).all()


@pytest.mark.parametrize("kind", [list, np.int64, np.uint16, np.int8, jax.device_put])
def test_any_integers(kind):
    puzzles = reference.unique(FOUR, 5)
    given = puzzles.tolist() if kind is list else kind(puzzles)
    for one, other in zip(js.solve(given, **SMALL)[:3], js.solve(puzzles, **SMALL)[:3], strict=True):
        np.testing.assert_array_equal(one, other)


def test_squares_nested_lists_and_texts():
    puzzles = reference.unique(FOUR, 5)
    expected = js.solve(puzzles, **SMALL)
    square = puzzles.reshape(-1, 4, 4)
    texts = ["".join(map(str, puzzle)) for puzzle in puzzles]
    for given in (square, square.tolist(), puzzles.tolist(), texts, np.array(texts), np.array(texts, object)):
        found = js.solve(given, **SMALL)
        np.testing.assert_array_equal(np.reshape(found.grids, (-1, 16)), expected.grids)
        np.testing.assert_array_equal(found.status, expected.status)
        assert np.shape(found.grids) == (square.shape if np.ndim(given) == 3 else puzzles.shape)
        np.testing.assert_array_equal(counted(given), np.ones(5))
    for one in (square[0], texts[0]):
        found = js.solve(one, **SMALL)
        np.testing.assert_array_equal(np.ravel(found.grids), expected.grids[0])
        assert found.status.shape == ()
    # a board settles what a shape leaves open
    blank = np.zeros((16, 16), np.uint8)
    assert js.solve(blank, FOUR, **SMALL).status.shape == (16,)
    assert js.solve(blank.reshape(16, 4, 4), **SMALL).grids.shape == (16, 4, 4)


class Column:
    """What a column of a table is to numpy, as those of pandas are."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, object)


def test_columns_of_texts():
    puzzles = reference.unique(FOUR, 16)
    texts = ["".join(map(str, puzzle)) for puzzle in puzzles]
    encoded = [text.encode() for text in texts]
    expected = js.solve(puzzles, FOUR, **SMALL).grids
    # 16 texts of 16 cells are 16 puzzles, where an array [16, 16] would be ambiguous
    for given in (texts, Column(texts), encoded, np.array(encoded), collections.deque(texts), Column(encoded)):
        np.testing.assert_array_equal(js.solve(given, **SMALL).grids, expected)
    several = js.solve(np.reshape(texts, (4, 4)), **SMALL)  # a batch of the shape of the board
    np.testing.assert_array_equal(several.grids, expected.reshape(4, 4, 16))
    np.testing.assert_array_equal(js.solve(np.reshape(texts, (4, 4)).tolist(), **SMALL).grids, several.grids)
    np.testing.assert_array_equal(js.solve(encoded[0], **SMALL).grids, expected[0])
    assert as_puzzles(Column([]), None)[0].shape == (0, 81)
    with pytest.raises(ValueError, match="puzzle 3 is None, not a text"):
        js.solve(Column([*texts[:3], None]))
    with pytest.raises(ValueError, match="puzzle 1: 15 cells"):
        js.solve(Column([texts[0], texts[1][1:]]))


def test_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    texts = ["".join(map(str, puzzle)) for puzzle in reference.unique(FOUR, 5)]
    expected = js.solve(texts, **SMALL).grids
    table = pandas.DataFrame({"puzzle": texts})
    for given in (table.puzzle, table.puzzle.values, pandas.Index(texts), table.puzzle.astype("string").values):
        np.testing.assert_array_equal(js.solve(given, **SMALL).grids, expected)


def test_a_traced_puzzle_is_refused_with_what_to_use():
    for function in (js.solve, js.count_solutions, js.rate):
        for transform in (jax.jit, jax.vmap):
            with pytest.raises(TypeError, match="runs on the host: .* use jaxsudoku.exact.search"):
                transform(function)(np.zeros((3, 16), np.uint8))


def test_what_else_is_traced_is_refused_too():
    puzzles, allowed = np.zeros((3, 16), np.uint8), np.ones((3, 4, 16), bool)
    for name, function, argument in (
        ("keys", lambda key: js.solve(puzzles, key=key), np.zeros(2, np.uint32)),
        ("keys", lambda seed: js.generate(seed, 3, js.Board.classic(4)), np.int32(0)),
        ("candidates", lambda candidates: js.solve(puzzles, candidates=candidates), allowed),
        ("grids", js.draw, puzzles[0]),
        ("grids", js.picture, puzzles),
    ):
        with pytest.raises(TypeError, match=f"{name} are traced, but this function runs on the host"):
            jax.eval_shape(function, argument)


def test_the_board_comes_second():
    with pytest.raises(TypeError, match="board must be a Board, not int; the data come first and the board second"):
        js.count_solutions(reference.unique(FOUR, 5), 2)


@pytest.mark.parametrize(
    ("puzzles", "board", "cause"),
    [
        (np.zeros((3, 16)), None, "puzzles of dtype float64; they must be integers"),
        (np.zeros((3, 16), bool), None, "puzzles of dtype bool; they must be integers"),
        ([PUZZLE, PUZZLE[1:]], None, "puzzle 1: 80 cells"),
        ([PUZZLE], FOUR, "puzzle 0: 81 cells"),
        ([[1, 2], [3]], None, "puzzles must be an array, a nested list of one length, or texts"),
        (np.uint8(3), None, r"grids of shape \(\); the last axis must be the cells"),
        (np.zeros((3, 80), np.uint8), None, r"grids of shape \(3, 80\); the last axis must be the cells"),
        (np.zeros((3, 25), np.uint8), None, r"grids of shape \(3, 25\); the last axis must be the cells"),
        (np.zeros((5, 5), np.uint8), None, r"grids of shape \(5, 5\); the last axis must be the cells"),
        (np.zeros((16, 16), np.uint8), None, r"\(16, 16\) are ambiguous: .* reshape to \(256,\) .* \(16, 4, 4\)"),
        (np.zeros((2, 16, 16), np.uint8), None, r"ambiguous: .* \(2, 256\) .*, to \(2, 16, 4, 4\)"),
        (np.zeros((16, 3), np.uint8), FOUR, r"grids of shape \(16, 3\); a board of 4x4 with 2x2 boxes takes"),
        (np.zeros((3, 36), np.uint8), FOUR, r"\[..., 16\] or \[..., 4, 4\]"),
        (np.full((3, 16), 5), FOUR, r"puzzles hold values outside 0\.\.4"),
        (np.full((3, 16), -1), FOUR, r"puzzles hold values outside 0\.\.4"),
        (np.full((3, 16), 256), FOUR, r"puzzles hold values outside 0\.\.4"),
        ({PUZZLE}, None, "puzzles must be an array of integers, or texts, not a set"),
        ((text for text in [PUZZLE]), None, "not a generator"),
        ({PUZZLE: 0}.keys(), None, "not a dict_keys"),
        (None, None, "puzzles must be an array of integers, or texts, not None"),
        ([PUZZLE, None], None, "puzzle 1 is None, not a text"),
        ([PUZZLE, 3], None, "puzzle 1 is 3, not a text"),
        (np.array([PUZZLE, PUZZLE, math.nan], object), None, "puzzle 2 is nan, not a text"),
        ([list(PUZZLE[:9])] * 9, None, r"puzzles are single characters, .* join the cells, .* or write integers"),
        (list(PUZZLE), None, "puzzles are single characters"),
        (["5...7...."] * 9, None, r"puzzle 0: .*; rows of one puzzle\? join them, ''\.join\(rows\)"),
        (["1...", ".2..", "....", "...."], None, r"rows of one puzzle\? join them"),
        (["1...", ".2..", "....", "...."], FOUR, r"rows of one puzzle\? join them"),
        ("9x9-hard", None, r"8 cells; .* use jaxsudoku\.load\('9x9-hard'\), for a file jaxsudoku\.read_puzzles"),
    ],
)
def test_what_is_no_puzzle_is_refused(puzzles, board, cause):
    for function in (js.solve, js.count_solutions):
        with pytest.raises(ValueError, match=cause):
            function(puzzles, board=board, **SMALL)


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"solver": "oracle"}, "unknown solver 'oracle'"),
        ({"depth": 3}, "the solver exact has no option depth"),
        ({"rules": "none"}, "unknown rules 'none'"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"batch_size": 1.5}, "batch_size must be a whole number, not 1.5"),
        ({"batch_size": np.int64(2**32)}, "batch_size must be at most 2147483647, not 4294967296"),
        ({"config": 1}, "the solver exact has no option config"),
        ({"budget": 1.5}, "budget must be a whole number, not 1.5"),
        ({"devices": 3}, "devices must be a sequence of JAX's devices, such as .*, not 3"),
        ({"devices": "cpu"}, "devices must be a sequence of JAX's devices"),
        ({"devices": [0]}, "devices must be JAX's, such as .*, not 0"),
        ({"progress": 1}, "progress must be True or a function to be called, not 1"),
    ],
)
def test_senseless_options_are_refused(options, cause):
    with pytest.raises(ValueError, match=cause):
        js.solve(np.zeros((3, 16), np.uint8), **options)


def test_what_is_no_network_is_refused():
    with pytest.raises(TypeError, match="network must be a networks.Network, a name or a path, not 3"):
        js.solve(np.zeros((3, 16), np.uint8), solver="iterative", network=3)


def test_a_count_has_a_limit_and_no_budget():
    puzzles = np.zeros((3, 16), np.uint8)
    with pytest.raises(ValueError, match=r"limit must be a whole number, not 2\.0"):
        js.count_solutions(puzzles, limit=2.0)
    with pytest.raises(ValueError, match="limit must be at most 2147483647"):
        js.count_solutions(puzzles, limit=np.int64(2**32 + 1))
    with pytest.raises(ValueError, match="rounds must be at most 1000, not 1000000000"):
        js.count_solutions(puzzles, rounds=10**9)
    with pytest.raises(ValueError, match="limit must be at least 1, not 0"):
        js.count_solutions(puzzles, limit=0)
    for name in ("budget", "levels"):
        with pytest.raises(ValueError, match=f"a count that {name} may cut off would be meaningless; leave {name} out"):
            js.count_solutions(puzzles, **{name: 3})


# ---------------------------------------------------------------------- answers


def test_answers_are_right():
    puzzles = reference.batch(FOUR, 49)
    solution = js.solve(puzzles, FOUR, **SMALL)
    for puzzle, grid, status, count in zip(
        puzzles, solution.grids, solution.status, counted(puzzles, FOUR), strict=True
    ):
        assert count == reference.count(FOUR, puzzle, 5)
        clash = reference.is_clash(FOUR, puzzle)
        assert status == (Status.INVALID if clash else Status.SOLVED if count else Status.UNSATISFIABLE)
        assert reference.is_solution(FOUR, grid, puzzle) if count else not grid.any()


def test_a_key_decides_the_random_order_and_a_budget_leaves_puzzles_unsolved():
    puzzles = np.concatenate([reference.solvable(FOUR, 21, givens=2), np.zeros((21, 16), np.uint8)])
    found, *others = (
        js.solve(puzzles, key=key, order="random", budget=14, **SMALL) for key in (1, 1, jax.random.key(1), 2)
    )
    again, as_key, other = (solution.grids for solution in others)
    np.testing.assert_array_equal(found.grids, again)
    np.testing.assert_array_equal(found.grids, as_key)
    assert (found.grids != other).any()
    solved = found.status == Status.SOLVED
    assert len(np.unique(found.grids[solved], axis=0)) > 10
    pairs = zip(found.grids[solved], puzzles[solved], strict=True)
    assert all(reference.is_solution(FOUR, *pair) for pair in pairs)
    assert (~solved).any() and (found.status[~solved] == Status.UNSOLVED).all()
    assert not found.grids[~solved].any()
    assert (found.iterations >= 1).all()


# ---------------------------------------------------------------------- positions with candidates


def test_solutions_and_counts_keep_to_candidates():
    """One digit of a solution is no candidate of its cell: there is another solution or none."""
    puzzles = np.concatenate([reference.unique(FOUR, 3), np.zeros((3, 16), np.uint8)])
    whole = js.solve(puzzles, **SMALL)
    candidates = all_candidates(puzzles, 4)
    for row, cell in enumerate([int(np.flatnonzero(puzzle == 0)[0]) for puzzle in puzzles]):
        candidates[row, whole.grids[row, cell] - 1, cell] = False
    candidates[0] = True
    found = js.solve(puzzles, candidates=candidates, **SMALL)
    unsatisfiable = Status.UNSATISFIABLE
    assert found.status.tolist() == [Status.SOLVED, unsatisfiable, unsatisfiable, *[Status.SOLVED] * 3]
    assert (found.grids[0] == whole.grids[0]).all() and not found.grids[1:3].any()
    for row in (3, 4, 5):
        assert reference.is_solution(FOUR, found.grids[row], puzzles[row])
        assert candidates[row, found.grids[row] - 1, np.arange(16)].all()
    squares = js.count_solutions(
        puzzles.reshape(2, 3, 16), candidates=candidates.reshape(2, 3, 4, 16), limit=300, **SMALL
    )
    np.testing.assert_array_equal(squares, [[1, 0, 0], [216, 216, 216]])  # three of four digits in a cell
    others = js.solve(puzzles[:3], candidates=candidates[:3], solver="depth-first")
    assert others.status.tolist() == [Status.SOLVED, Status.UNSOLVED, Status.UNSOLVED]
    assert not others.grids[1:].any()


@pytest.mark.parametrize("candidates", [np.ones((2, 16, 4), bool), np.ones((2, 4, 16), int), np.ones((4, 16), bool)])
def test_candidates_of_another_shape_or_dtype_are_refused(candidates):
    for answer in (js.solve, js.count_solutions):
        with pytest.raises(ValueError, match=r"candidates .* must be bool\[2, 4, 16\]"):
            answer(np.zeros((2, 16), np.uint8), candidates=candidates)


# ---------------------------------------------------------------------- batches


def test_any_batch_size_gives_the_same_answers():
    puzzles = reference.batch(FOUR, 60)
    puzzles[np.array([reference.count(FOUR, puzzle, 2) > 1 for puzzle in puzzles])] = 0
    parts, whole = js.solve(puzzles, **SMALL), js.solve(puzzles, **SMALL | {"batch_size": 63})
    np.testing.assert_array_equal(parts.status, whole.status)
    several = (puzzles == 0).all(axis=1)
    np.testing.assert_array_equal(parts.grids[~several], whole.grids[~several])
    np.testing.assert_array_equal(parts.iterations[~several], whole.iterations[~several])


def test_a_stream_keeps_its_order():
    engine = counting()
    sizes = [7, 1, 0, 3, 2, 7, 7, 5, 6, 2]
    puzzles = reference.batch(FOUR, sum(sizes))
    bounds = np.cumsum([0, *sizes])
    batches = [puzzles[start:stop] for start, stop in itertools.pairwise(bounds)]
    results = list(engine.stream(iter(batches)))
    assert [len(found.counts) for found in results] == sizes
    np.testing.assert_array_equal(
        np.concatenate([found.counts for found in results]), [reference.count(FOUR, puzzle, 5) for puzzle in puzzles]
    )


def test_few_puzzles_have_a_program_of_few_lanes():
    """Up to 32 on a CPU, and their answers are those of many."""
    puzzles = np.tile(reference.unique(FOUR, 8), (5, 1))
    kernel = driver.count_kernel(2)
    engine = Engine(kernel, FOUR)
    assert [engine._padded(size) for size in (1, 32)] == [32, 32] and engine._padded(33) > 32
    assert engine._small == kernel.small(FOUR, "cpu").resolve(FOUR, "cpu")
    assert engine._small.config.lanes == 32 and engine.kernel.config.lanes > 32
    few = js.solve(puzzles[:8])
    for found in (js.solve(puzzles[:33]), js.solve(puzzles[:8], lanes=64)):
        np.testing.assert_array_equal(found.grids[:8], few.grids)
        np.testing.assert_array_equal(found.status[:8], few.status)
    for other in (driver.count_kernel(3), driver.count_kernel(2, lanes=64), driver.count_kernel(2, restart=100)):
        assert other.small(FOUR, "cpu") is None
    assert kernel.small(FOUR, "gpu") is kernel.small(js.Board.classic(16), "cpu") is None


def test_results_by_page_locked_memory_are_the_same():
    """As an accelerator's engine has them; a batch alone is returned as it comes."""
    puzzles = np.concatenate([reference.unique(FOUR, 12), np.zeros((3, 16), np.uint8)])
    engine, expected = counting(), counted(puzzles)
    engine.page_locked = True
    np.testing.assert_array_equal(engine.run(puzzles).counts, expected)
    alone = engine.run(puzzles[-7:]).counts
    np.testing.assert_array_equal(alone, expected[-7:])
    alone[:] = 0


def test_a_stream_holds_a_few_batches_at_a_time():
    engine = counting()
    drawn = 0

    def batches():
        nonlocal drawn
        for _ in range(50):
            drawn += 1
            yield np.zeros((3, 16), np.uint8)

    for done, found in enumerate(engine.stream(batches()), 1):
        np.testing.assert_array_equal(found.counts, [5, 5, 5])
        assert drawn <= done + engine.workers + 1
    assert done == 50


def test_a_stream_may_be_left_and_hands_errors_on():
    engine = counting()
    stream = engine.stream(np.zeros((2, 16), np.uint8) for _ in range(50))
    np.testing.assert_array_equal(next(stream).counts, [5, 5])
    stream.close()
    assert list(engine.stream([])) == []

    def broken():
        yield np.zeros((2, 16), np.uint8)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(engine.stream(broken()))
    with pytest.raises(ValueError, match="could not broadcast"):
        list(engine.stream([np.zeros((2, 36), np.uint8)]))


@dataclasses.dataclass(frozen=True)
class Shifted(PuzzleItems):
    """Adds a shared number to puzzles."""

    def resolve(self, board, platform):
        return self

    def __call__(self, board, puzzles, key, number, shift):
        return puzzles + shift["by"].astype(np.uint8)


def test_shapes_of_what_is_shared_are_enough_to_compile():
    shapes = ({"by": jax.ShapeDtypeStruct((16,), np.int32)},)
    engine = Engine(Shifted(), FOUR, batch_size=64, shared=shapes)
    compiled = engine.compile(64)
    assert compiled.memory_analysis().argument_size_in_bytes >= 64 * 16 + 16 * 4
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        engine.run(np.zeros((3, 16), np.uint8))
    with_arrays = Engine(Shifted(), FOUR, batch_size=64, shared=({"by": np.arange(16)},))
    assert with_arrays.compile(64) is compiled
    assert (with_arrays.run(np.zeros((3, 16), np.uint8)) == np.arange(16)).all()


@pytest.mark.parametrize("size", [0, 1, 64, 65, 1000, 5000])
@pytest.mark.parametrize("batch_size", [1, 64, 100_000])
@pytest.mark.parametrize("cores", [1, 3])
def test_a_split_is_whole_batches_and_even_ones_of_what_is_left(monkeypatch, size, batch_size, cores):
    monkeypatch.setattr("jaxsudoku.engine.batches.usable_cores", lambda: cores)
    engine = Engine(driver.count_kernel(1, lanes=32), FOUR, batch_size=batch_size)
    parts = engine.split(size)
    assert [index for part in parts for index in range(size)[part]] == list(range(size))
    lengths = [part.stop - part.start for part in parts]
    rest = lengths[size // (batch_size * cores) * cores :]
    assert lengths[: -len(rest) or None] == [batch_size] * (len(lengths) - len(rest))
    assert not rest or (max(rest) <= batch_size and max(rest) - min(rest) <= 1)
    assert len(rest) <= cores


def test_automatic_batches_suit_the_solver(monkeypatch):
    """Each thread of a CPU has a batch if there are four puzzles a lane; a guided solver's batch has at most eight."""
    monkeypatch.setattr("jaxsudoku.engine.batches.usable_cores", lambda: 2)
    engines = {}
    for name in ("exact", "mcts", "gumbel"):
        config = solvers.make_config(solvers.get(name), lanes=64)
        engines[name] = Engine(driver.SolveKernel(name, config), js.Board.classic())
    assert {name: len(engine.split(511)) for name, engine in engines.items()} == {"exact": 1, "mcts": 1, "gumbel": 1}
    assert {name: len(engine.split(512)) for name, engine in engines.items()} == {"exact": 2, "mcts": 2, "gumbel": 2}
    assert engines["gumbel"].batch_size == 512
    assert (
        engines["mcts"].batch_size
        == engines["exact"].batch_size
        == default_batch_size(js.Board.classic(), jax.local_devices()[:1])
    )
    assert len(engines["gumbel"].split(5_000)) == 10


@pytest.mark.parametrize("batch_size", [1, 7, 64, 4096])
def test_few_sizes_are_compiled(batch_size):
    engine = Engine(driver.count_kernel(1), FOUR, batch_size=batch_size)
    padded = [engine._padded(size) for size in range(batch_size + 1)]
    assert len(set(padded)) <= 4
    assert all(size <= allowed <= batch_size for size, allowed in enumerate(padded))


def test_the_judge_has_the_last_word(monkeypatch):
    """A solver that claims what is not so is not believed."""

    def claim(board, puzzles, key, config, /):
        size = puzzles.shape[0]
        grids = jax.numpy.ones((size, board.cells), jax.numpy.uint8)
        status = jax.numpy.full(size, Status.SOLVED, jax.numpy.int8)
        return js.Solution(grids, status, jax.numpy.zeros(size, jax.numpy.int32), {})

    oracle = dataclasses.replace(solvers.get("exact"), name="oracle", function=claim, complete=False)
    monkeypatch.setitem(solvers.SOLVERS, "oracle", oracle)
    for results in ("host", "device"):
        solution = js.solve(reference.unique(FOUR, 5), solver="oracle", batch_size=8, results=results)
        assert (solution.status == Status.UNSOLVED).all()
        assert not solution.grids.any()


def test_the_judge_checks_grids_in_parts_of_any_size():
    puzzles = reference.unique(FOUR, 15)
    grids = np.array([reference.solutions(FOUR, puzzle, 1)[0] for puzzle in puzzles], np.uint8)
    wrong = np.arange(15) % 3 == 0
    grids[wrong] = np.roll(grids[wrong], 1, axis=1)
    claimed = np.arange(15) != 14  # what is not claimed at the end may be left out
    checks = jax.jit(lambda *arrays: [judging._check(FOUR, most, *arrays) for most in (1, 7, 16)])
    for true in checks(grids, puzzles, claimed):
        np.testing.assert_array_equal(np.asarray(true)[:14], ~wrong[:14])


@pytest.mark.parametrize("side", [4, 9, 16, 25, 36])
def test_the_default_batch_size_fits_and_is_a_power_of_two(side):
    board = js.Board.classic(side)
    size = default_batch_size(board, jax.local_devices()[:1])
    assert size >= 64
    assert size & size - 1 == 0
    assert size * board.candidates / 8 <= _BATCH_BYTES["cpu"]


@pytest.mark.parametrize("named", [(), ("dce", "cse")])
def test_compiler_options_are_for_the_backend_and_version(monkeypatch, named):
    monkeypatch.setenv("XLA_FLAGS", " ".join(["--a=b", *(f"--xla_disable_hlo_passes={name}" for name in named)]))
    assert js.compiler_options("gpu") is None
    disabled = ",".join(["cse_barrier_expander", *named])
    barriers = {"xla_disable_hlo_passes": disabled} if jax.__version_info__ < (0, 11) else {}
    assert js.compiler_options("cpu") == {"xla_cpu_prefer_vector_width": "512"} | barriers
