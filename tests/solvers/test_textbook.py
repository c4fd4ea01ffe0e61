"""The textbook solvers: what they explore, in which order, node by node as plain Python does."""

from __future__ import annotations

import functools
import itertools

import jax
import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku import solvers
from jaxsudoku.engine.solution import Status
from jaxsudoku.runtime.random import as_key
from jaxsudoku.solvers import textbook
from jaxsudoku.solvers.queue import Start
from jaxsudoku.solvers.textbook import best_first, depth_first, nodes

FOUR = reference.SMALL["4x4"]
FIVE = reference.SMALL["jigsaw-5"]
SIZE = 24
BOUND = 60


# ---------------------------------------------------------------------- the textbook in plain Python


class Node:
    """A partly filled grid as the textbook sees it: what the rules leave of candidates bool[side, cells]."""

    def __init__(self, board, left, rules):
        self.board, self.rules = board, rules
        self.left = left if rules == "none" else reference.deduce(board, left, rules)
        self.filled = self.left.sum(axis=0) == 1
        self.digits = self.left.argmax(axis=0)
        clash = any(self.clashes(cell, self.digits[cell]) for cell in np.flatnonzero(self.filled))
        places = all(self.left[:, list(house)].any(axis=1).all() for house in board.houses)
        self.dead = clash or not places or not self.left.any(axis=0).all()
        self.solved = not self.dead and self.filled.all()
        self.empty = [int(cell) for cell in np.flatnonzero(~self.filled)]

    def clashes(self, cell, digit):
        return any(self.filled[peer] and self.digits[peer] == digit for peer in reference.peers(self.board)[cell])

    def legal(self, cell):
        return [digit for digit in np.flatnonzero(self.left[:, cell]) if not self.clashes(cell, digit)]

    def child(self, cell, digit):
        left = self.left.copy()
        left[:, cell] = np.arange(self.board.side) == digit
        return Node(self.board, left, self.rules)

    @property
    def grid(self):
        return np.where(self.filled, self.digits + 1, 0)


def reference_depth_first(board, puzzle, order, actions, rules, budget):
    """Graph search with a stack and a closed set: nodes explored and how it ends.

    What holds all placements that led to a dead node is dead, and not explored.
    """
    explored, closed, dead = 0, set(), []
    frontier = [(Node(board, reference.candidates(board, puzzle[None])[0], rules), frozenset())]
    while frontier:
        node, placed = frontier.pop()
        if (key := node.left.tobytes()) in closed or any(those <= placed for those in dead):
            continue
        explored += 1
        if node.solved:
            return explored, Status.SOLVED, node.grid
        if node.dead:
            dead.append(placed)
        else:
            closed.add(key)
            cells = sorted(node.empty, key=lambda cell: (order == "sorted" and len(node.legal(cell)), cell))
            cells = cells[:1] if actions == "cell" else cells
            pairs = [(cell, digit) for cell in cells for digit in node.legal(cell)]
            frontier += [(node.child(*pair), placed | {pair}) for pair in reversed(pairs)]
        if explored == budget and frontier:
            return explored, Status.UNSOLVED, None
    return explored, Status.UNSATISFIABLE, None


def judged(node, heuristic):
    """What a heuristic says of a node."""
    if node.solved:
        return 0
    if heuristic == "most-constrained":
        return min(len(node.legal(cell)) for cell in node.empty)
    if heuristic == "remaining":
        return sum(len(node.legal(cell)) for cell in node.empty)
    grid = node.grid.copy()
    for cell in node.empty:
        grid[cell] = [*(digit + 1 for digit in node.legal(cell)), 0][0]
    return reference.repeats(node.board, grid)


def reference_best_first(board, puzzle, heuristic, rules, budget, room, actions="cell"):
    """Greedy best-first search, of equal nodes the newest first: nodes explored and how it ends."""
    explored, closed, waiting, ages = 0, set(), [], itertools.count()

    def wait(node):
        if not node.dead and all(node.legal(cell) for cell in node.empty):
            waiting.append((judged(node, heuristic), -next(ages), node))

    wait(Node(board, reference.candidates(board, puzzle[None])[0], rules))
    while waiting:
        waiting.sort(key=lambda entry: entry[:2])
        node = waiting.pop(0)[2]
        if (key := node.left.tobytes()) in closed:
            continue
        closed.add(key)
        explored += 1
        if node.solved:
            return explored, Status.SOLVED, node.grid
        cells = sorted(node.empty, key=lambda cell: (actions == "cell" and len(node.legal(cell)), cell))
        for cell in cells[:1] if actions == "cell" else cells:
            for digit in node.legal(cell):
                wait(node.child(cell, digit))
        if len(waiting) > room or (waiting and explored == budget):
            return explored, Status.UNSOLVED, None
    return explored, Status.UNSATISFIABLE, None


# ---------------------------------------------------------------------- the library, without its loop


def packed(board, cubes):
    """Truth values bool[B, side, cells] as uint32[B, words]."""
    bits = np.zeros((len(cubes), board.words * 32), np.uint8)
    bits[:, : board.candidates] = cubes.reshape(len(cubes), -1)
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint32)


def explorer(board, method):
    """A program for all steps of all puzzles until each is over: nodes explored, statuses, grids."""

    @functools.partial(jax.jit, compiler_options=js.compiler_options())
    def run(start):
        def going(now):
            state, begun = now
            return ~(begun & method.done(state)).all()

        def step(now):  # nothing is said of a search that has not begun
            state, begun = now
            return method.select(begun & method.done(state), state, method.step(state)), begun | True

        begun = jax.numpy.zeros(len(start.seeds), bool)
        state, _ = jax.lax.while_loop(going, step, (method.init(start), begun))
        return state.explored, method.postprocess(state)

    def explore(puzzles, seeds=None):
        roots = packed(board, reference.candidates(board, puzzles))
        if seeds is None:
            seeds = np.random.default_rng(0).integers(2**32, size=len(puzzles), dtype=np.uint32)
        explored, answer = jax.tree.map(np.asarray, run(Start(None, roots.T, seeds, None)))
        status = np.select([answer.solved, answer.refuted], [Status.SOLVED, Status.UNSATISFIABLE], Status.UNSOLVED)
        return explored, status, answer.grids

    return explore


def explore(board, method, puzzles):
    return explorer(board, method)(puzzles)


@functools.cache
def puzzles_of(board, size=SIZE):
    """Puzzles with many solutions, one or none, without clashing givens."""
    made = [*reference.solvable(board, 3 * size, seed=1), *reference.batch(board, 9 * size, seed=2)]
    made = [puzzle for puzzle in made if not reference.is_clash(board, puzzle) and (puzzle == 0).sum() > 3]
    hopeless = [puzzle for puzzle in made if not reference.count(board, puzzle, 1)]
    return np.array([*made[: 2 * size // 3], *hopeless[: size - 2 * size // 3]], np.uint8)


def assert_same(found, expected):
    for number, (explored, status, grid) in enumerate(expected):
        assert (found[0][number], found[1][number]) == (explored, status)
        if status == Status.SOLVED:
            np.testing.assert_array_equal(found[2][number], grid)


# ---------------------------------------------------------------------- depth-first


@pytest.mark.parametrize(
    ("board", "order", "actions", "rules"),
    [
        (FOUR, "sequential", "cell", "none"),
        (FIVE, "sorted", "cell", "naked"),
        (FOUR, "sorted", "any", "none"),
        pytest.param(FIVE, "sequential", "any", "singles", marks=pytest.mark.slow),
    ],
)
def test_depth_first_explores_what_the_textbook_does(board, order, actions, rules):
    puzzles = puzzles_of(board, SIZE // 3 if rules == "singles" else SIZE)  # which plain Python is slow at
    config = textbook.DepthFirstConfig(order=order, actions=actions, rules=rules, budget=BOUND)
    expected = [reference_depth_first(board, puzzle, order, actions, rules, BOUND) for puzzle in puzzles]
    assert {Status.SOLVED, Status.UNSATISFIABLE} <= {status for _, status, _ in expected}
    assert_same(explore(board, depth_first.method(board, config), puzzles), expected)


def test_no_grid_is_explored_twice_in_whatever_order():
    """Of a puzzle without a solution every legal filling of empty cells is explored, and each once."""

    def fillings(puzzle, cells):
        if not cells:
            return 1
        cell, *others = cells
        taken = {puzzle[peer] for peer in reference.peers(FOUR)[cell]}
        total = 0
        for digit in {0, 1, 2, 3, 4} - (taken - {0}):
            total += fillings([*puzzle[:cell], digit, *puzzle[cell + 1 :]], others)
        return total

    puzzles = [puzzle for puzzle in reference.batch(FOUR, 1000, seed=3) if 6 <= (puzzle == 0).sum() <= 8]
    puzzles = [puzzle for puzzle in puzzles if not reference.is_clash(FOUR, puzzle)]
    puzzles = np.array([puzzle for puzzle in puzzles if not reference.count(FOUR, puzzle, 1)])
    expected = np.array([fillings(puzzle.tolist(), np.flatnonzero(puzzle == 0).tolist()) for puzzle in puzzles])
    assert expected.max() > 100
    config = textbook.DepthFirstConfig(order="random", actions="any", budget=10_000)
    explored, status, _ = explore(FOUR, depth_first.method(FOUR, config), puzzles)
    assert (status == Status.UNSATISFIABLE).all()
    np.testing.assert_array_equal(explored, expected)


def test_random_orders_differ_by_the_seed_and_find_solutions():
    puzzles = np.zeros((64, 16), np.uint8)
    method = depth_first.method(FOUR, textbook.DepthFirstConfig(order="random"))
    explored, status, grids = explore(FOUR, method, puzzles)
    assert (status == Status.SOLVED).all()
    assert (explored >= 17).all()
    assert all(reference.is_solution(FOUR, grid) for grid in grids)
    assert len(np.unique(grids, axis=0)) > 32
    assert (np.bincount(grids[:, 0], minlength=5)[1:] > 4).all()


# ---------------------------------------------------------------------- best-first


@pytest.mark.parametrize(
    ("heuristic", "actions", "budget", "room"), [("conflicts", "cell", 40, 3), ("remaining", "any", 30, 80)]
)
def test_best_first_explores_what_the_textbook_does(heuristic, actions, budget, room):
    puzzles = puzzles_of(FOUR)
    config = textbook.BestFirstConfig(heuristic=heuristic, actions=actions, budget=budget, room=room)
    expected = [reference_best_first(FOUR, puzzle, heuristic, "none", budget, room, actions) for puzzle in puzzles]
    assert {Status.SOLVED, Status.UNSATISFIABLE} <= {status for _, status, _ in expected}
    assert_same(explore(FOUR, best_first.method(FOUR, config), puzzles), expected)
    # too little room for the puzzles with many solutions
    assert any(status == Status.UNSOLVED and explored < budget for explored, status, _ in expected)


def test_heuristics_of_a_node():
    """Row by row: 1 2 3 . / 3 . . . / . 1 . . / . . . 3."""
    grid = np.array([1, 2, 3, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3], np.uint8)
    roots = packed(FOUR, reference.candidates(FOUR, grid[None]))
    values = {"most-constrained": 1, "remaining": 20, "conflicts": 3 + 3 + 3}

    @jax.jit
    def inspected(roots):
        seen = nodes.inspect(FOUR, roots, "none")
        configs = (textbook.BestFirstConfig(heuristic=heuristic) for heuristic in values)
        return seen, [best_first._entries(FOUR, config, seen) for config in configs]

    seen, entries = jax.tree.map(np.asarray, inspected(roots))
    counts = np.asarray(seen.counts[0])
    # in the second row 4 / 1 2 4 / 1 2 4, in the third 2 4 / - / 2 4 / 2 4, in the last 2 4 / 4 / 1 2 4 / -
    np.testing.assert_array_equal(counts, [0, 0, 0, 1, 0, 1, 3, 3, 2, 0, 2, 2, 2, 1, 3, 0])
    np.testing.assert_array_equal(np.flatnonzero(seen.empty[0]), np.flatnonzero(grid == 0))
    # filled up with first digits: 1 2 3 4 / 3 4 1 1 / 2 1 2 2 / 2 4 1 3
    assert counts.sum() == values["remaining"]
    for (entry, alive), value in zip(entries, values.values(), strict=True):
        assert (entry.value[0], entry.cell[0], entry.digits[0].tolist(), alive[0]) == (value, 3, [0, 0, 0, 1], True)


# ---------------------------------------------------------------------- nodes


@pytest.mark.parametrize("board", [FIVE, js.Board.classic(16)], ids=str)
def test_placements_are_packed_and_found_again(board):
    rng = np.random.default_rng(0)
    cubes = rng.random((5, board.side, board.cells)) < 0.3
    words = packed(board, cubes)
    cell, digit = rng.integers(board.cells, size=5).astype(np.int32), rng.integers(board.side, size=5).astype(np.int32)

    @jax.jit
    def made(words, cell, digit):
        digits, placed = nodes.digits_in(board, words, cell), nodes.place(board, words, digit, cell)
        # best-first search takes the children of a node from the digits of its cell
        entry = best_first.Entry(cell, cell, cell, digits, words)
        children = best_first._children(board, np.ones(5, bool), entry)
        return nodes.unpacked(board, words), digits, placed, nodes.unpacked(board, placed), *children

    unpacked, digits, placed, unpacked_again, children, there = map(np.asarray, made(words, cell, digit))
    lane = np.arange(5)
    np.testing.assert_array_equal(unpacked, cubes)
    np.testing.assert_array_equal(digits, cubes[lane, :, cell])
    np.testing.assert_array_equal(there, cubes[lane, :, cell])
    cubes[lane, :, cell] &= np.arange(board.side) == digit[:, None]
    np.testing.assert_array_equal(unpacked_again, cubes)
    np.testing.assert_array_equal(children[lane, digit], placed)


@pytest.mark.parametrize("board", [FIVE, js.Board.classic(36)], ids=str)
def test_the_last_placement_is_found(board):
    """The number of a placement and its rank share a word."""
    last = np.zeros((1, board.side, board.cells), bool)
    last[0, -1, -1] = True
    digit, cell = jax.jit(nodes.first_placement)(last, np.full((1, 1, 1), board.side, np.uint32))
    assert (digit[0], cell[0]) == (board.side - 1, board.cells - 1)


def test_of_equal_ranks_the_first_number_comes_first():
    rng = np.random.default_rng(0)
    among = rng.random((50, FIVE.side, FIVE.cells)) < 0.2
    rank = rng.integers(3, size=(50, 1, FIVE.cells)).astype(np.uint32)
    both = jax.jit(lambda among, rank: (nodes.first_placement(among, rank), nodes.first_cell(among[:, 0], rank[:, 0])))
    (digit, cell), first = jax.tree.map(np.asarray, both(among, rank))
    for lane in range(50):
        digits, cells = np.nonzero(among[lane])
        assert (cell[lane], digit[lane]) == min(zip(rank[lane, 0, cells], cells, digits, strict=True))[1:]
    for lane in range(50):
        cells = np.flatnonzero(among[lane, 0])
        assert first[lane] == min(zip(rank[lane, 0, cells], cells, strict=True))[1]


# ---------------------------------------------------------------------- solvers


def solver_of(name, **options):
    """A solver of puzzles with these settings, with few lanes."""
    known = solvers.get(name)
    config = solvers.make_config(known, lanes=5, **options).resolve(FOUR, "cpu")
    return lambda puzzles: known.run(FOUR, puzzles, as_key(0), config)


def run(name, puzzles, **options):
    call = jax.jit(solver_of(name, **options), compiler_options=js.compiler_options())
    return jax.tree.map(np.asarray, call(puzzles))


@pytest.mark.slow
def test_a_puzzle_depends_on_itself_alone():
    """Not on those that had its lane before."""
    puzzles = puzzles_of(FOUR)
    found = run("depth-first", puzzles, actions="any", budget=BOUND)
    expected = [reference_depth_first(FOUR, puzzle, "sorted", "any", "none", BOUND) for puzzle in puzzles]
    assert len({status for _, status, _ in expected}) == 3
    assert_same((found.iterations, found.status, found.grids), expected)
    assert found.stats == {}


def test_what_elimination_alone_leaves_is_unsolved():
    puzzles = np.concatenate([reference.unique(FOUR, 8), np.zeros((1, 16), np.uint8), np.full((1, 16), 7, np.uint8)])
    found = run("elimination", puzzles, then="none")
    assert (found.status[:8] == Status.SOLVED).all()
    np.testing.assert_array_equal(found.status[8:], [Status.UNSOLVED, Status.INVALID])
    np.testing.assert_array_equal(found.iterations, [1] * 9 + [0])


def test_elimination_is_the_search_behind_it_with_rules():
    puzzles, options = np.zeros((SIZE, 16), np.uint8), {"rules": "naked", "heuristic": "remaining", "room": 9}
    made = solver_of("elimination", then="best-first", **options), solver_of("best-first", **options)
    one, other = (str(jax.make_jaxpr(solver)(puzzles)) for solver in made)
    assert one == other
    config = textbook.EliminationConfig(rules="naked", budget=30, lanes=3)
    assert config.depth_first == textbook.DepthFirstConfig(order="sorted", rules="naked", budget=30, lanes=3)


def test_iterations_count_the_root_once():
    puzzles = puzzles_of(FOUR)
    found = run("best-first", puzzles, heuristic="remaining", rules="naked", budget=40)
    expected = [reference_best_first(FOUR, puzzle, "remaining", "naked", 40, 1024) for puzzle in puzzles]
    # nothing is explored where a heuristic sees that the root leads nowhere, but the root was looked at
    expected = [(max(explored, 1), *end) for explored, *end in expected]
    assert_same((found.iterations, found.status, found.grids), expected)


@pytest.mark.parametrize(
    ("name", "options", "cause"),
    [
        ("depth-first", {"order": "best"}, "unknown order 'best': choose one of sequential, random, sorted"),
        ("depth-first", {"actions": "all"}, "unknown actions 'all': choose one of cell, any"),
        ("depth-first", {"actions": "any"}, "actions any need a budget"),
        ("best-first", {"heuristic": "luck"}, "unknown heuristic 'luck': choose one of most-constrained"),
        ("best-first", {"actions": "any"}, "actions any need a budget"),
        ("best-first", {"room": 0}, "room must be at least 1, not 0"),
        ("elimination", {"rules": "none"}, "unknown rules 'none': choose one of naked, singles, locked"),
        ("elimination", {"then": "luck"}, "unknown then 'luck': choose one of none, depth-first, best-first"),
        ("elimination", {"budget": -1}, "budget must be at least 1, not -1"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(name, options, cause):
    with pytest.raises(ValueError, match=cause):
        solvers.make_config(solvers.get(name), **options)


def test_lanes_suit_the_board():
    for config in (textbook.DepthFirstConfig, textbook.BestFirstConfig):
        wide, narrow = config().resolve(js.Board.classic(25), "cpu").lanes, config().resolve(FOUR, "cpu").lanes
        assert 1 <= wide <= narrow <= config().resolve(FOUR, "gpu").lanes
        assert config(lanes=7).resolve(FOUR, "gpu").lanes == 7
