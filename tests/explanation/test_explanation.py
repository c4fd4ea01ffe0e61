"""Explanations: steps, sentences, and what can't be explained."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter

import numpy as np
import pytest
from reference import NINE, SMALL, Sat, is_solution, peers, solutions

import jaxsudoku as js
from jaxsudoku.core.board import Board
from jaxsudoku.explanation import FUNCTIONS, findings, next_step, proof, prove, steps_of, usable
from jaxsudoku.explanation.layout import bits
from jaxsudoku.explanation.view import View
from jaxsudoku.techniques import TECHNIQUES
from jaxsudoku.techniques.registry import NUMBERS, fits

#: A puzzle of the magictour set that needs forcing chains.
FORCING = "300500100070000080008004006600400900030060050007001004800100300000020060002009000"

LATIN = Board.classic(4, box=(1, 4))

SWAP = "If r1c1, r1c4, r2c1 and r2c4 held only 1 and 2, these could be swapped, and there would be two solutions"


def replay(puzzle: np.ndarray, board: Board, steps) -> np.ndarray:
    """Follows steps on candidates of its own; the filled cells at the end. Each step must say something new."""
    left = np.ones((board.side, board.cells), bool)
    grid = np.zeros(board.cells, np.uint8)

    def fill(digit: int, cell: int) -> None:
        left[:, cell] = False
        left[digit, list(peers(board)[cell])] = False
        left[digit, cell] = True
        grid[cell] = digit + 1

    for cell in np.flatnonzero(puzzle):
        fill(puzzle[cell] - 1, cell)
    for step in steps:
        assert bool(step.place) != bool(step.eliminate)
        for row, column, digit in step.place:
            cell = (row - 1) * board.side + column - 1
            assert left[digit - 1, cell]
            assert not grid[cell]
            fill(digit - 1, cell)
        for row, column, digit in step.eliminate:
            cell = (row - 1) * board.side + column - 1
            assert left[digit - 1, cell]
            assert not grid[cell]
            left[digit - 1, cell] = False
    return grid


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("9x9-hard", 8),
        ("4x4", 5),
        ("6x6", 10),
        ("jigsaw-9x9", 2),
        ("16x16", 1),
    ],
)
def test_steps_lead_to_the_solution(name, count):
    board, puzzles = js.shipped.board(name), js.load(name)[:count]
    for puzzle in puzzles:
        steps = list(steps_of(puzzle, board))
        grid = replay(puzzle, board, steps)
        assert is_solution(board, grid, puzzle)
        for step in steps:  # no elimination of the solution's digit
            assert all(grid[(row - 1) * board.side + column - 1] != digit for row, column, digit in step.eliminate)
            assert step.score == TECHNIQUES[NUMBERS[step.technique]].score
            assert step.text.endswith(".")


def test_a_step_is_the_first_of_the_simplest_technique_that_finds_anything():
    puzzle = js.load("9x9-hard")[0]
    view = View(Board.classic(), puzzle)
    for step in js.explain(puzzle).steps:
        first = next(technique.name for technique in TECHNIQUES if next(findings(view, technique.name), None))
        assert first == step.technique
        for row, column, digit in step.place:
            view.fill(digit - 1, (row - 1) * 9 + column - 1)
        for row, column, digit in step.eliminate:
            view.remove(digit - 1, (row - 1) * 9 + column - 1)
    assert view.solved


def view_of(board: Board, left: dict[int, str]) -> View:
    """A position in which some cells have these candidates, and all others have all."""
    view = View(board, np.zeros(board.cells, np.uint8))
    for cell, digits in left.items():
        for digit in range(board.side):
            if str(digit + 1) not in digits:
                view.remove(digit, cell)
    return view


@pytest.mark.parametrize(
    ("name", "left", "text", "removed"),
    [
        ("naked-pair", {0: "37", 4: "37"}, "r1c1 and r1c5 can take only 3 and 7: naked pair.", {(2, 1), (6, 8)}),
        (
            "pointing",
            {9: "12", 10: "12", 11: "12", 18: "12", 19: "12", 20: "12"},
            "In box 1 all places for 3 are in row 1: locked candidates.",
            {(2, 3), (2, 8)},
        ),
        (
            "x-wing",
            {cell: "12346789" for row in (1, 6) for cell in range(9 * row, 9 * row + 9) if cell % 9 not in (2, 4)},
            "In rows 2 and 7 all places for 5 are in columns 3 and 5: X-wing.",
            {(4, 2), (4, 76)},
        ),
        (
            "xy-wing",
            {0: "12", 4: "13", 36: "23"},
            "Whether r1c1 is 1 or 2, one of r1c5 and r5c1 is 3: XY-wing.",
            {(2, 40)},
        ),
        (
            "xyz-wing",
            {0: "123", 1: "13", 4: "23"},
            "Whether r1c1 is 1, 2 or 3, one of r1c1, r1c2 and r1c5 is 3: XYZ-wing.",
            {(2, 2)},
        ),
        (
            "unique-rectangle",
            {0: "12", 3: "12", 9: "12"},
            f"{SWAP}. Three of them can hold only these, so r2c4 is neither: unique rectangle.",
            {(0, 12), (1, 12)},
        ),
        (
            "w-wing",
            {0: "12", 40: "12", **{cell: "3456789" for cell in range(2, 81, 9) if cell not in (2, 38)}},
            "1 in column 3 is in r1c3 or r5c3, so r1c1 and r5c5 are not both 1, and one of them is 2: W-wing.",
            {(1, 4), (1, 36)},
        ),
    ],
)
def test_a_pattern_is_told_in_a_sentence(name, left, text, removed):
    found = {finding.text: finding for finding in findings(view_of(Board.classic(), left), name)}
    assert text in found
    assert removed <= set(found[text].remove)


def test_chains_are_told_link_by_link():
    left = {0: "12", 4: "23", 40: "34", 36: "14"}  # r1c1 - r1c5 - r5c5 - r5c1
    view = view_of(Board.classic(), left)
    found = {finding.remove: finding.text for finding in findings(view, "xy-chain")}
    assert any(text.endswith("XY-chain.") and ", so " in text for text in found.values())
    for ((digit, cell),), text in found.items():
        assert text.startswith(f"If r{cell // 9 + 1}c{cell % 9 + 1} is {digit + 1}: ")


#: The first steps of that puzzle, among them a few forcing chains.
FORCED = 17


@pytest.fixture(scope="module")
def hard():
    """Views before hard steps, each with its step."""
    found = []
    for puzzle, most in [*((puzzle, None) for puzzle in js.load("9x9-extreme")[[1, 10]]), (js.parse(FORCING), FORCED)]:
        view = View(Board.classic(), puzzle)
        for _ in itertools.count() if most is None else range(most):
            if view.solved:
                break
            before, step = view.copy(), next_step(view, TECHNIQUES)
            if step.score >= 6:
                found.append((before, step))
    assert {step.technique for _, step in found} >= {"aic", "almost-locked-sets", "als-chain", "forcing-chain"}
    return found


def test_steps_do_not_depend_on_whether_the_solution_is_known(hard):
    first = itertools.islice(steps_of(js.parse(FORCING), Board.classic()), FORCED)
    steps = [step for step in first if step.score >= 6]
    assert [step for _, step in hard][-len(steps) :] == steps
    assert len({step.technique for step in steps}) > 3


def test_short_chains_come_first(hard):
    clauses = {}
    for view, step in hard:
        for name in ("xy-chain", "aic", "als-chain", "forcing-chain"):
            if step.technique == name:
                lengths = [len(finding.links) or finding.text.count(";") for finding in findings(view, name)]
                assert lengths[0] == min(lengths)
                clauses.setdefault(name, []).append(lengths[0])
    assert max(clauses["aic"]) > min(clauses["aic"]) > 2


def test_the_links_of_a_chain_hold(hard):
    """Each link is weak, two candidates that exclude each other, or strong, of which one is true."""
    board = Board.classic()
    houses = [set(house) for house in board.houses]
    kinds = set()
    for view, step in hard:
        if step.technique in ("xy-chain", "aic", "simple-colouring", "x-chain"):
            shown = [candidate for link in step.links for candidate in link]
            assert set(step.false) < set(shown)
            assert all((one in step.false) != (other in step.false) for one, other in step.links)
            marks = Counter(step.marks().marked.values())
            assert marks["false"] == len(step.false)
            assert marks["true"] == len(set(shown) - set(step.false) - set(step.eliminate))
            for ends in step.links:
                one, other = [(digit - 1, row * 9 + column - 10) for row, column, digit in ends]
                both = {one[1], other[1]}
                weak = one[1] == other[1] or (one[0] == other[0] and any(both <= house for house in houses))
                places = {cell for cell in range(81) if view.places[one[0]] >> cell & 1}
                strong = (one[1] == other[1] and set(view.digits(one[1])) == {one[0], other[0]}) or (
                    one[0] == other[0] and any(places & house == both for house in houses)
                )
                assert weak
                assert strong or ((one, other) in step.marks().dashed and (one, other) not in step.marks().arrows)
                kinds.add(strong)
    assert kinds == {True, False}


def test_each_clause_of_a_forcing_chain_follows_from_those_before(hard):
    board, told = Board.classic(), 0
    for view, step in hard:
        if step.technique != "forcing-chain":
            continue
        start, *clauses, end = re.split(r"[;:] ", step.text.rpartition(": forcing chain.")[0])
        trial = view.copy()
        cell, digit = cell_and_digit(start)
        trial.fill(digit, cell)
        for clause in clauses:
            cell, digit = cell_and_digit(clause)
            house = named_house(board, clause)
            places = {place for place in range(81) if trial.places[digit] >> place & 1}
            assert trial.digits(cell) == [digit] if house is None else places & house == {cell}, step.text
            trial.fill(digit, cell)
            told += 1
        house = named_house(board, end)
        if house is None:
            assert trial.digits(cell_and_digit(f"{end} 1")[0]) == []
        else:
            digit = int(end[-1]) - 1
            assert not any(trial.places[digit] >> place & 1 for place in house)
    assert told > 10


def cell_and_digit(clause: str) -> tuple[int, int]:
    """The cell of a clause and the digit at its end, from 0."""
    row, column = re.search(r"r(\d)c(\d)", clause).groups()
    return 9 * int(row) + int(column) - 10, int(clause[-1]) - 1


def named_house(board: Board, clause: str) -> set[int] | None:
    """The house that a clause names."""
    found = re.search(r"(row|column|box) (\d)", clause)
    if found is None:
        return None
    return set(board.houses[9 * ("row", "column", "box").index(found[1]) + int(found[2]) - 1])


def test_houses_of_variants_are_called_by_their_names():
    told = {name: str(js.explain(js.load(f"{name}-9x9")[0], Board.named(name))) for name in ("windoku", "diagonal")}
    assert re.search(r"window [1-4]", told["windoku"]) and re.search(r"diagonal [12]", told["diagonal"])
    assert "extra house" not in "".join(told.values())


@pytest.mark.parametrize("name", ["9x9-hard", "windoku-9x9", "jigsaw-9x9", "diagonal-9x9"])
def test_the_houses_of_a_pattern_are_those_that_its_sentence_names(name):
    board, seen = js.shipped.board(name), set()
    for step in itertools.chain(*(js.explain(puzzle, board) for puzzle in js.load(name)[:2])):
        named = re.findall(r"(row|column|box|region|window|diagonal)(?:e?s)? ((?:\d(?:, | and )?)+)", step.text)
        houses = {f"{kind} {number}" for kind, numbers in named for number in re.findall(r"\d", numbers)}
        if re.match("almost|als|nishio|forcing", step.technique):  # of several patterns
            houses = set()
        assert set(step.houses) == houses, step.text
        assert [set(house) for house in step.marks().houses] == [
            set(board.houses[board.house_names.index(house)]) for house in step.houses
        ]
        seen |= {(step.technique, len(step.houses))}
    assert ("pointing", 2) in seen and ("finned-x-wing", 4) in seen and ("full-house", 1) in seen


def test_an_explanation_prints_a_line_a_step():
    explanation = js.explain(js.load("9x9-hard")[3])
    lines = str(explanation).split("\n")
    assert len(lines) == len(explanation.steps)
    assert lines[0] == " 1. 1.2  In box 4 only r6c1 can take 9: hidden single."
    assert explanation.hardest.score == max(step.score for step in explanation.steps)
    kept = json.loads(json.dumps([step.as_dict() for step in explanation.steps]))
    assert kept[0] == {
        "technique": "hidden-single-in-region",
        "score": 1.2,
        "place": [[6, 1, 9]],
        "eliminate": [],
        "text": "In box 4 only r6c1 can take 9: hidden single.",
    }


def test_few_techniques_go_as_far_as_they_can():
    puzzle = js.load("9x9-hard")[3]
    explanation = js.explain(puzzle, techniques=["naked single", "hidden-single-in-region"])
    assert not explanation.solved
    assert {step.technique for step in explanation.steps} == {"naked-single", "hidden-single-in-region"}
    assert str(explanation).endswith("\nThe techniques go no further.")
    assert (explanation.grid > 0).sum() == (puzzle > 0).sum() + len(explanation.steps)


def test_a_hint_is_the_first_step():
    puzzle = js.load("9x9-hard")[3]
    assert js.hint(puzzle) == js.explain(puzzle).steps[0]
    solved = js.explain(puzzle).grid
    assert js.hint(solved) is None
    assert js.explain(solved).steps == ()
    assert js.explain(solved).hardest is None


@pytest.mark.parametrize("function", [js.explain, js.hint])
@pytest.mark.parametrize(
    ("puzzle", "message"),
    [
        ("1" + "." * 80, "the puzzle has several solutions"),
        ("11" + "." * 79, "the puzzle has no solution"),
        (["1" + "." * 80] * 2, "one puzzle is explained at a time"),
    ],
)
def test_only_a_puzzle_with_one_solution_is_explained(function, puzzle, message):
    with pytest.raises(ValueError, match=message):
        function(puzzle)


# ---------------------------------------------------------------------- proofs


@pytest.mark.parametrize("name", [*SMALL, *NINE])
def test_solutions_are_counted_up_to_two(name):
    board, rng = (SMALL | NINE)[name], np.random.default_rng(5)
    (solved,) = solutions(board, [0] * board.cells, 1, np.random.default_rng(3))
    seen = set()
    for share in (0.1, 0.35, 0.45, 0.55, 0.65, 0.8) * 4 if board.side < 9 else (0.35, 0.4, 0.45, 0.5, 0.6, 0.7) * 2:
        puzzle = np.where(rng.random(board.cells) < share, solved, 0).astype(np.uint8)
        if rng.random() < 0.4:  # mostly no solution
            puzzle[rng.integers(board.cells)] = rng.integers(1, board.side + 1)
        found = proof.count(puzzle, board, None, 10_000)
        wanted = solutions(board, puzzle, 2)
        assert found.number == len(wanted)
        assert not wanted or is_solution(board, found.first, puzzle)
        candidates = rng.random((board.side, board.cells)) < 0.9
        candidates[np.array(solved) - 1, np.arange(board.cells)] |= rng.random(board.cells) < 0.9
        known = solutions(board, puzzle, 30)
        within = [grid for grid in known if allowed(candidates, puzzle, grid)]
        if len(known) < 30:
            assert proof.count(puzzle, board, candidates, 10_000).number == min(len(within), 2)
        seen |= {(found.number, min(len(within), 2))}
    assert {count for count, _ in seen} == {0, 1, 2}
    assert len(seen) > 3


def allowed(candidates: np.ndarray, puzzle: np.ndarray, grid) -> bool:
    """Whether the open cells of a grid hold candidates."""
    return all(
        digit or candidates[value - 1, cell] for cell, (digit, value) in enumerate(zip(puzzle, grid, strict=True))
    )


def test_hard_puzzles_are_proved_as_by_a_sat_solver():
    puzzles = js.load("9x9-extreme")[:20].copy()
    for number, puzzle in enumerate(puzzles[10:]):
        puzzle[np.flatnonzero(puzzle)[number]] = 0
    sat = Sat(Board.classic())
    counts = [1 if sat.is_proper(puzzle) else 2 for puzzle in puzzles]
    assert [proof.count(puzzle, Board.classic(), None, 10_000).number for puzzle in puzzles] == counts
    assert set(counts) == {1, 2}


def test_a_proof_that_takes_long_is_left_to_the_compiled_search(monkeypatch):
    puzzle, several = js.parse("1.34.4122.4.43.1"), js.parse("1" + "." * 15)
    assert proof.count(several, Board.classic(4), None, 2) is None
    assert proof.count(puzzle, Board.classic(4), None, 0) is None
    within = np.ones((4, 16), bool)
    within[1:, 1], within[0, 7] = False, False
    monkeypatch.setattr(proof, "_MOST_WORK", 0)
    calls = []
    for grid, candidates in ((puzzle, None), (several, None), (several, within), (puzzle, within), (11 * puzzle, None)):
        slow = prove(grid, Board.classic(4), candidates, lambda: calls.append(1))
        with monkeypatch.context() as patch:
            patch.setattr(proof, "_MOST_WORK", 1 << 20)
            fast = prove(grid, Board.classic(4), candidates)
        assert fast[:2] == slow[:2]
        np.testing.assert_array_equal(fast.solution, slow.solution)
    assert len(calls) == 5


# ---------------------------------------------------------------------- positions with candidates

#: A position of HoDoKu's library in which locked candidates remove 5 from r3c7, and the same with r3c7 not 5.
POSITION = (
    ":0100:5:984........+25...4...+1+9.+4..2..6.972+3...3+6.2...+2.+9.+3+5+61.+1+95+76+8+4+234+27+35189+6+63+8..97+5+1:"
)
LATER = f"{POSITION}537:::"


def test_a_position_is_explained_from_its_candidates_on():
    step, later = js.hint(f"{POSITION}:537:"), js.hint(LATER)
    assert (step.technique, step.eliminate) == ("pointing", ((3, 7, 5),))
    assert later != step and (3, 7, 5) not in later.eliminate
    grid, candidates, _ = js.io.parse_position(LATER)
    explanation = js.explain(grid, candidates=candidates)
    assert explanation.steps == js.explain(LATER).steps
    assert explanation.solved and later == explanation.steps[0]
    assert js.explain(grid).steps[0] == step
    assert (3, 7, 5) not in {(cell // 9 + 1, cell % 9 + 1, digit + 1) for digit, cell in later.before.candidates()}
    board = Board.classic()
    removed = np.argwhere(~candidates & (grid == 0)).tolist()
    gone = [(cell // 9 + 1, cell % 9 + 1, digit + 1) for digit, cell in removed]
    assert gone == [(3, 7, 5)]
    assert is_solution(board, explanation.grid, grid)
    assert all(set(gone).isdisjoint(step.eliminate) for step in explanation.steps)


#: Three corners of a rectangle of 7 and 8 are placed, r2c4, r2c5 and r8c4, and the fourth is open.
PLACED = (
    ":0608:78:+1+2+3456+7+89+4+56+7+8+9...+7891..45+62+1.....+9.+67..9....+935......397..."
    "5+4+8+5+6+1+8.4+972+8+4+2+9+75361:::"
)


def test_rectangles_of_placed_cells_can_be_avoided():
    only = ["unique-rectangle"]
    step = js.hint(PLACED, techniques=only)
    assert step.technique == "unique-rectangle" and step.eliminate and "r2c4, r2c5, r8c4 and r8c5" in step.text
    solution = js.solve(js.io.parse_position(PLACED).grids).grids
    assert all(solution[(row - 1) * 9 + column - 1] != digit for row, column, digit in step.eliminate)
    grid, candidates, givens = js.io.parse_position(PLACED)
    assert js.hint(grid, candidates=candidates, givens=givens, techniques=only) == step
    assert step in js.explain(PLACED, techniques=only).steps
    none = np.zeros(81, bool)  # givens that alone have several solutions
    for given in (None, grid > 0, none):
        found = js.explain(grid, givens=given, techniques=only).steps
        assert step.eliminate not in [other.eliminate for other in found]
    with pytest.raises(ValueError, match=r"givens int64\[81\]; they must be bool\[81\]"):
        js.hint(grid, givens=grid.astype(int))


def test_a_position_with_one_solution_only_within_its_candidates():
    solution = np.array([1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1])
    puzzle = solution.copy()
    puzzle[[0, 2, 4, 6]] = 0  # 1 and 3 may be swapped
    with pytest.raises(ValueError, match="the puzzle has several solutions"):
        js.explain(puzzle)
    candidates = np.ones((4, 16), bool)
    candidates[2, 0] = False  # r1c1 is not 3
    explanation = js.explain(puzzle, candidates=candidates)
    np.testing.assert_array_equal(explanation.grid, solution)
    proof = prove(puzzle.astype(np.uint8), Board.classic(4), candidates)
    assert proof[:2] == (None, False)
    np.testing.assert_array_equal(proof.solution, solution)
    assert set(usable(None, proof)) == {*NUMBERS} - {"unique-rectangle"}
    assert usable(["naked single", "unique rectangle"], proof) == ["naked-single"]
    assert usable(["naked single", "unique rectangle"], prove(solution.astype(np.uint8), Board.classic(4))) == [
        "naked-single",
        "unique-rectangle",
    ]
    candidates[0, 0] = False
    with pytest.raises(ValueError, match="the puzzle has no solution within its candidates; only"):
        js.hint(puzzle, candidates=candidates)


def test_what_is_wrong_with_a_position():
    puzzle = js.parse("1.34.4122.4.43.1")
    candidates = np.ones((4, 16), bool)
    candidates[1, 1] = False
    for function in (js.explain, js.hint):
        with pytest.raises(ValueError, match="r1c2 must be 2, which its candidates leave out; only a puzzle with"):
            function(puzzle, candidates=candidates)
        with pytest.raises(ValueError, match=r"candidates bool\[4, 15\]; they must be bool\[4, 16\]"):
            function(puzzle, candidates=candidates[:, 1:])
        with pytest.raises(ValueError, match=r"candidates int64\[4, 16\]; they must be bool\[4, 16\]"):
            function(puzzle, candidates=candidates.astype(np.int64))
        with pytest.raises(ValueError, match=r"has no digit after it. For a shipped set use"):
            function(":0000:x:1+.34.4122.4.43.1:::")
    candidates[1, 1] = True
    assert js.explain(puzzle, candidates=candidates).steps == js.explain(puzzle).steps


def test_an_explanation_is_a_sequence_of_its_steps_and_keeps_its_puzzle():
    puzzle = js.load("4x4")[0]
    candidates = np.ones((4, 16), bool)
    explanation = js.explain(puzzle, candidates=candidates)
    assert len(explanation) == len(explanation.steps) > 5
    assert list(explanation) == [*explanation.steps]
    assert (explanation[0], explanation[-2:]) == (explanation.steps[0], explanation.steps[-2:])
    assert explanation != js.explain(puzzle)
    wanted, given = explanation.grid, puzzle.copy()
    puzzle[:], candidates[:] = 0, False
    np.testing.assert_array_equal(explanation.grid, wanted)
    np.testing.assert_array_equal(explanation.puzzle, given)


def test_every_technique_is_explained():
    assert set(FUNCTIONS) == set(NUMBERS)


def test_techniques_are_chosen_by_their_names():
    puzzle = js.load("9x9-hard")[3]
    with pytest.raises(ValueError, match=r"unknown technique 'naked-pear': choose one of full-house, .*did you mean"):
        js.explain(puzzle, techniques=["naked-pear"])
    with pytest.raises(ValueError, match=r"unknown technique 'naked-pear'"):
        steps_of(puzzle, Board.classic(), ["naked-pear"])
    with pytest.raises(ValueError, match=r"unknown technique 'naked-pear'"):
        js.hint(puzzle, up_to="naked-pear")
    with pytest.raises(ValueError, match=r"techniques must be a sequence of names, not 'x-wing'"):
        js.explain(puzzle, techniques="x-wing")
    few = js.explain(puzzle, techniques=["Naked Single", "naked pair", "full_house"], up_to="naked single")
    assert {step.technique for step in few} == {"full-house", "naked-single"}
    few = js.explain(puzzle, up_to="Naked Single")
    assert few[:] == js.explain(puzzle)[: len(few)]
    assert js.hint(puzzle, up_to="full house") is None


def test_finned_fish_have_fins():
    names = [name for name in NUMBERS if name not in ("x-wing", "swordfish")]
    fish = [
        step
        for puzzle in js.load("9x9-hard")[:24]
        for step in steps_of(puzzle, Board.classic(), names[: names.index("naked-quad")])
        if step.technique.startswith("finned")
    ]
    assert len(fish) > 5
    assert all("but for" in step.text for step in fish)


def test_boards_without_boxes_leave_out_what_needs_them():
    view = View(LATIN, np.array([1, 2, 3, 0, *[0] * 12], np.uint8))
    assert not list(findings(view, "pointing"))
    assert not list(findings(view, "hidden-single-in-region"))
    assert next(findings(view, "full-house")).place == ((3, 3),)
    absent = [technique.name for technique in TECHNIQUES[:8] if not fits(technique, LATIN)]
    assert absent == ["hidden-single-in-region", "constraint", "pointing", "claiming"]


def test_a_view_keeps_a_set_of_cells_in_an_integer():
    assert list(bits(0b1010)) == [1, 3]
    view = View(Board.classic(4), np.array([1, *[0] * 15], np.uint8))
    assert view.digits(0) == [0]
    assert view.digits(1) == [1, 2, 3]
    assert view.digits(15) == [0, 1, 2, 3]
    assert view.open_cells() == list(range(1, 16))
    np.testing.assert_array_equal(view.grid(), [1, *[0] * 15])
