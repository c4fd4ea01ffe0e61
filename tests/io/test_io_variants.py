"""Puzzles with constraints: f-puzzles, SudokuPad, strings of killers, JSON lines; and how commands take them."""

import dataclasses
import itertools
import json
import random

import numpy as np
import pytest

import jaxsudoku as js
from jaxsudoku.cli import main
from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import variants
from jaxsudoku.core.constraints.clues import Clues
from jaxsudoku.exact.uniqueness import solve_and_count
from jaxsudoku.io import Chunk, LineError, PuzzleFileError, VariantPuzzle, parse_variant, read_variants, variant_text
from jaxsudoku.io.fpuzzle_entries import READERS
from jaxsudoku.io.lz_string import compress, decompress

NINE, FOUR = Board.classic(9), Board.classic(4)
FORMS = ("line", "f-puzzles", "link")
ROW = ["R1C1", "R1C2", "R1C3", "R1C4", "R1C5", "R1C6", "R1C7", "R1C8", "R1C9"]
COLUMN = [f"R{row}C1" for row in range(9, 0, -1)]
DIAGONAL = ["R1C2", "R2C3", "R3C4", "R4C5", "R5C6", "R6C7", "R7C8", "R8C9"]
LINE = ["R1C1", "R1C2", "R1C3"]


def lines(*cells):
    return {"lines": [list(cells)]}


#: An entry of each constraint of f-puzzles, and the constraints that it is.
ENTRIES = {
    "odd": ({"cell": "R1C1"}, variants.odd("r1c1")),
    "even": ({"cell": "R1C1"}, variants.even("r1c1")),
    "minimum": ({"cell": "R1C1"}, variants.minimum("r1c1")),
    "maximum": ({"cell": "R1C1"}, variants.maximum("r1c1")),
    "rowindexer": ({"cells": ["R2C1"]}, variants.row_indexer("r2c1")),
    "columnindexer": ({"cells": ["R2C1"]}, variants.column_indexer("r2c1")),
    "boxindexer": ({"cells": ["R2C1"]}, variants.box_indexer("r2c1", NINE)),
    "extraregion": ({"cells": LINE}, variants.distinct(LINE)),
    "clone": ({"cells": ["R1C1"], "cloneCells": ["R5C5"]}, variants.clone("r1c1", "r5c5")),
    "quadruple": (
        {"cells": ["R1C1", "R1C2", "R2C1", "R2C2"], "values": [3, 5]},
        variants.quadruple("r1c1 r1c2 r2c1 r2c2", [3, 5]),
    ),
    "killercage": ({"cells": LINE, "value": "10"}, variants.killer([(LINE, 10)])),
    "littlekillersum": (
        {"cell": "R0C1", "cells": DIAGONAL, "direction": "DR", "value": "40"},
        variants.little_killer(DIAGONAL, 40),
    ),
    "sandwichsum": ({"cell": "R1C0", "value": "8"}, variants.sandwich(ROW, 8)),
    "xsum": ({"cell": "R10C1", "value": "8"}, variants.x_sum(COLUMN, 8)),
    "skyscraper": ({"cell": "R1C10", "value": "3"}, variants.skyscraper(ROW[::-1], 3)),
    "numberedroom": ({"cell": "R0C1", "value": "3"}, variants.numbered_room(COLUMN[::-1], 3)),
    "thermometer": (lines(*LINE), variants.thermometer(LINE)),
    "slowthermometer": (lines(*LINE), variants.slow_thermometer(LINE)),
    "arrow": (
        {"lines": [["R5C5", "R5C6", "R5C7"]], "cells": ["R5C5", "R5C4"]},
        variants.arrow("r5c4 r5c5", "r5c6 r5c7"),
    ),
    "palindrome": (lines(*LINE), variants.palindrome(LINE)),
    "renban": (lines(*LINE), variants.renban(LINE)),
    "whispers": (lines(*LINE), variants.whispers(LINE, 5)),
    "dutchwhispers": (lines(*LINE), variants.whispers(LINE, 4)),
    "regionsumline": (lines("R1C2", "R1C3", "R1C4", "R2C5"), variants.region_sums(["r1c2 r1c3", "r1c4 r2c5"])),
    "entropicline": (lines(*LINE), variants.entropic(LINE)),
    "modularline": (lines(*LINE), variants.modular(LINE)),
    "nabner": (lines(*LINE), variants.nabner(LINE)),
    "zipperline": (lines(*LINE), variants.zipper(LINE)),
    "parityline": (lines(*LINE), variants.parity(LINE)),
    "betweenline": (lines(*LINE), variants.between(LINE)),
    "lockout": (lines(*LINE), variants.lockout(LINE)),
    "doublearrow": (lines(*LINE), variants.double_arrow(LINE)),
    "difference": ({"cells": ["R1C1", "R1C2"]}, variants.difference(["r1c1 r1c2"], 1)),
    "ratio": ({"cells": ["R1C1", "R1C2"], "value": "3"}, variants.ratio(["r1c1 r1c2"], 3)),
    "xv": ({"cells": ["R1C1", "R1C2"], "value": "V"}, variants.xv(v=["r1c1 r1c2"])),
}


def fpuzzle(size=9, cells=None, **keys):
    """An object of f-puzzles; ``cells`` are the objects of some cells, by number."""
    grid = [[(cells or {}).get(row * size + column, {}) for column in range(size)] for row in range(size)]
    return json.dumps({"size": size, "grid": grid, **keys})


def meaning(constraints):
    return {one.normalized() for one in constraints}


# ---------------------------------------------------------------------- compression


def test_compression_round_trip_and_known_text():
    # the text of a link to an empty 4x4 grid
    text = '{"size":4,"grid":[[{},{},{},{}],[{},{},{},{}],[{},{},{},{}],[{},{},{},{}]]}'
    assert compress(text).startswith("N4IgzglgXgpiBc")
    rng = random.Random(0)
    for size in range(200):
        text = "".join(rng.choices("ab€\U0001f600", k=size))
        assert decompress(compress(text)) == text


def test_damaged_links_are_refused():
    packed = compress(fpuzzle(4))
    for damaged in (packed[:-6], packed[:20] + "*" + packed[21:], packed + packed, packed[:9] + "/////" + packed[14:]):
        with pytest.raises(ValueError, match="damaged"):
            decompress(damaged)


def test_changed_links_raise_nothing_but_value_errors():
    packed = compress(fpuzzle(4, thermometer=[lines("R1C1", "R2C1")]))
    refused = 0
    for at in range(len(packed.rstrip("="))):
        try:
            parse_variant(f"{packed[:at]}{'A' if packed[at] != 'A' else 'B'}{packed[at + 1 :]}")
        except ValueError:
            refused += 1
    assert refused > len(packed) // 2


# ---------------------------------------------------------------------- f-puzzles


def test_the_table_has_every_constraint():
    assert ENTRIES.keys() == READERS.keys()


@pytest.mark.parametrize("key", ENTRIES)
def test_every_constraint_is_read_and_written(key):
    entry, expected = ENTRIES[key]
    puzzle = parse_variant(fpuzzle(**{key: [entry]}))
    assert puzzle.board == NINE
    assert meaning(puzzle.constraints) == meaning(expected)
    for form in FORMS:
        again = parse_variant(variant_text(puzzle, form))
        assert again.board == NINE
        assert meaning(again.constraints) == meaning(expected)


def test_flags_of_the_whole_board():
    every = dict.fromkeys(("diagonal+", "diagonal-", "disjointgroups", "antiknight", "antiking"), True)
    puzzle = parse_variant(fpuzzle(**every, nonconsecutive=True))
    assert puzzle.board.extra[:2] == Board.diagonal().extra
    assert len(puzzle.board.extra) == 11
    rules = (*variants.anti_knight(), *variants.anti_king(), *variants.non_consecutive())
    assert meaning(puzzle.constraints) == meaning(rules)
    again = parse_variant(variant_text(puzzle, "link"))
    assert (again.board, meaning(again.constraints)) == (puzzle.board, meaning(rules))
    written = json.loads(variant_text(puzzle, "f-puzzles"))
    assert written.keys() - {"size", "grid"} == {*every, "nonconsecutive"}


def test_pairs_without_a_mark():
    dot, mark = {"cells": ["R1C1", "R1C2"]}, {"cells": ["R2C1", "R2C2"], "value": "X"}
    puzzle = parse_variant(
        fpuzzle(ratio=[dot], difference=[{"cells": ["R1C2", "R1C3"]}], xv=[mark], negative=["xv", "ratio"])
    )
    relations = [(one.cells, one.relation) for one in puzzle.constraints]
    unrelated = [cells for cells, relation in relations if relation == "not times 2"]
    assert len(unrelated) == 144 - 2  # white dots are marks too
    assert (0, 1) not in unrelated and (1, 2) not in unrelated
    for total in (5, 10):
        apart = [cells for cells, relation in relations if relation == f"not add to {total}"]
        assert len(apart) == 144 - 1 and (9, 10) not in apart
    again = parse_variant(variant_text(puzzle, "f-puzzles"))
    assert meaning(again.constraints) == meaning(puzzle.constraints)


def test_an_extreme_cell_is_not_compared_with_another_one():
    puzzle = parse_variant(fpuzzle(maximum=[{"cell": "R1C1"}, {"cell": "R1C2"}]))
    assert {one.cells for one in puzzle.constraints} == {(9, 0), (2, 1), (10, 1)}


def test_givens_regions_candidates_and_texts():
    cells = {
        0: {"value": 3, "given": True},
        1: {"value": 4},
        2: {"givenPencilMarks": [1, 2]},
        3: {"centerPencilMarks": [1]},
    }
    puzzle = parse_variant(fpuzzle(4, cells, title="A title", author="An author"))
    assert puzzle.grid.tolist() == [3, *[0] * 15]
    assert puzzle.candidates.sum(axis=0).tolist() == [4, 4, 2, *[4] * 13]
    assert puzzle.candidates[:, 2].tolist() == [True, True, False, False]
    assert (puzzle.title, puzzle.author) == ("A title", "An author")
    for form in FORMS:
        again = parse_variant(variant_text(puzzle, form))
        assert (again.grid == puzzle.grid).all() and (again.candidates[:, 1:] == puzzle.candidates[:, 1:]).all()
        assert again.title == "A title"
    # without regions of their own, boards of a prime size are Latin squares
    assert parse_variant(fpuzzle(7)).board == Board.classic(7, box=(1, 7))
    jigsaw = Board.jigsaw("0001 0211 2213 2333")
    regions = {cell: {"region": label} for cell, label in enumerate(jigsaw.regions)}
    for form in FORMS:
        assert parse_variant(variant_text(parse_variant(fpuzzle(4, regions)), form)).board == jigsaw


def test_regions_of_side_cells_are_houses():
    puzzle = parse_variant(fpuzzle(4, extraregion=[{"cells": ["R1C1", "R2C2", "R3C3", "R4C4"]}]))
    assert puzzle.board.extra == ((0, 5, 10, 15),) and not puzzle.constraints


def test_quadruples_of_several_sizes():
    """Each number of digits is a kind of its own, so that constraints of a kind have equally many numbers."""
    square = {"cells": ["R1C1", "R1C2", "R2C1", "R2C2"]}
    puzzle = parse_variant(fpuzzle(quadruple=[{**square, "values": [1, 2]}, {**square, "values": [3]}]))
    assert [len(group.cells) for group in puzzle.full_board.constraint_groups] == [1, 1]
    clues = Clues.of([puzzle.constraints], NINE)
    assert meaning(clues.constraints(0)) == meaning(puzzle.constraints)


def test_closed_lines():
    loop = lines("R1C1", "R1C2", "R2C2", "R2C1", "R1C1")
    puzzle = parse_variant(fpuzzle(whispers=[loop], renban=[loop]))
    assert meaning(puzzle.constraints) == meaning(
        variants.whispers("r1c1 r1c2 r2c2 r2c1")
        + variants.whispers("r2c1 r1c1")
        + variants.renban("r1c1 r1c2 r2c2 r2c1")
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"taxicab": [lines(*LINE)]}, "unknown constraint 'taxicab'"),
        ({"thermometre": [lines(*LINE)]}, "did you mean 'thermometer'"),
        ({"negative": ["sums"]}, "unknown negative constraint 'sums'"),
        ({"line": [{**lines(*LINE), "fromConstraint": "Sequence"}]}, "constraint 'Sequence'"),
        ({"thermometer": [{**lines(*LINE), "speed": 2}]}, "thermometer 1: unknown field 'speed'"),
        ({"thermometer": [lines("R1C1", "R1C99")]}, "thermometer 1: R1C99 is off the grid"),
        ({"thermometer": [lines("R1C1", "A5")]}, "thermometer 1: 'A5' is no cell"),
        ({"killercage": [{"cells": LINE, "value": "<9"}]}, "killercage 1: its value '<9' is no number"),
        ({"killercage": [{"cells": LINE, "value": "99"}]}, "killercage 1: cage of r1c1 r1c2 r1c3: a total of 99"),
        ({"sandwichsum": [{"cell": "R1C1", "value": "5"}]}, "sandwichsum 1: R1C1 is not beside the grid"),
        ({"littlekillersum": [{"cell": "R0C1", "direction": "UL", "value": "9"}]}, "points away from the grid"),
        ({"arrow": [{"lines": [LINE], "cells": ["R9C9"]}]}, "an arrow begins outside its circle"),
        ({"xv": [{"cells": LINE[:2], "value": "XV"}]}, "xv 1: its value 'XV'"),
        ({"solution": [1] * 81}, "the stated solution breaks a rule: 1 9 times in row 1"),
        ({"size": 9, "grid": [[]]}, "not as many rows and columns"),
        (
            {"disjointgroups": True, "grid": [[{"region": column} for column in range(9)]] * 9},
            "the regions are no boxes",
        ),
    ],
)
def test_refusals_name_what_is_wrong(keys, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        parse_variant(fpuzzle(**{"size": 9, **keys}) if "grid" not in keys else json.dumps({"size": 9, **keys}))


def test_what_only_draws_or_has_no_value_is_left_out():
    drawn = {"line": [lines(*LINE)], "text": [{"cells": LINE, "value": "x"}], "disabledlogic": [], "unknown": []}
    empty = {"xsum": [{"cell": "R0C1"}], "littlekillersum": [{"cell": "R0C1", "direction": "DR", "value": ""}]}
    assert parse_variant(fpuzzle(**drawn, **empty, solution=[None] * 81)).constraints == ()


def test_constraints_that_a_form_does_not_have():
    puzzle = VariantPuzzle(NINE, np.zeros(81), tuple(variants.calcudoku([("r1c1 r1c2", 12, "*")])))
    with pytest.raises(ValueError, match="f-puzzles has nothing for the calcudoku cage of R1C1 R1C2"):
        variant_text(puzzle, "f-puzzles")
    assert parse_variant(variant_text(puzzle)).constraints == puzzle.constraints


# ---------------------------------------------------------------------- other programs


def as_cages(roots, totals):
    """Cages as SumoCue's, Perfect Sudoku's and arrows' texts; of 9x9, by the first cell of the cage of each cell."""
    sumo = "SumoCueV1" + "".join(
        f"={totals.get(cell, 0)}" if root == cell else f"+{root}" for cell, root in enumerate(roots)
    )
    numbers = {root: number for number, root in enumerate(sorted(totals))}
    perfect = "3x3::k:" + "".join(f"{256 * totals.get(root, 0) + numbers.get(root, 200)}:" for root in roots)
    steps = {1: "<", 9: "^"}
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij"
    arrows = "".join(
        letters[totals.get(cell, 0)] if root == cell else steps[cell - root] for cell, root in enumerate(roots)
    )
    return sumo, perfect, arrows


def test_strings_of_killers():
    roots = list(range(81))
    roots[1], roots[9], roots[41] = 0, 0, 40
    for text in as_cages(roots, {0: 12, 40: 17, 80: 5}):
        puzzle = parse_variant(text)
        assert puzzle.board == NINE
        assert puzzle.grid.tolist() == [*[0] * 80, 5]
        assert meaning(puzzle.constraints) == meaning(variants.killer([("r1c1 r1c2 r2c1", 12), ("r5c5 r5c6", 17)]))


def test_jigsaws_of_sumo_cue():
    labels = "0001 0211 2213 2333".replace(" ", "")
    text = "SumoCueV1D" + "".join(f"={3 * (cell == 5)}J{label}" for cell, label in enumerate(labels))
    puzzle = parse_variant(text)
    assert puzzle.board == dataclasses.replace(Board.jigsaw(labels), extra=Board.diagonal(4).extra)
    assert puzzle.grid[5] == 3 and puzzle.grid.sum() == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SumoCueV2=1", "a text of SumoCue is"),
        ("SumoCueV1" + "=0" * 80, "80 cells"),
        ("SumoCueV1" + "+1" * 81, "belongs to the cage of cell 1"),
        ("3x3::k:" + "0:" * 80, "80 cells"),
        ("3x3::k:" + "769:1025:" + "0:" * 79, "a cage has two totals"),
        ("<" + "0" * 80, "the arrow in r1c1 leads to no total"),
        ("0<" + "0" * 79, "the cage of r1c1 has no total"),
        ("https://swaroopg92.github.io/penpa-edit/#m=edit&p=7VRNa", "Penpa"),
        ("https://sudokupad.app/abc123", "the link holds no puzzle"),
        ("https://www.sudokuwiki.org/killersudoku.htm?bd=3", "not documented"),
    ],
)
def test_other_texts_are_refused_by_name(text, message):
    with pytest.raises(ValueError, match=message):
        parse_variant(text)


BOXES = [[[2 * (box // 2) + cell // 2, 2 * (box % 2) + cell % 2] for cell in range(4)] for box in range(4)]


def sudokupad(**keys):
    cells = [[{} for _ in range(4)] for _ in range(4)]
    cells[0][1] = {"value": 2}
    return json.dumps({"id": "x", "cellSize": 64, "cells": cells, "regions": BOXES, **keys})


def test_sudokupad():
    cages = [
        {"cells": [[0, 0], [1, 1]], "value": "7", "unique": True},
        {"cells": [[2, 2], [3, 3]], "unique": True},
        {"cells": BOXES[0], "unique": True, "hidden": True},
        {"value": "title: A title"},
    ]
    text = sudokupad(cages=cages, metadata={"author": "me", "antiking": True})
    for puzzle in (parse_variant(text), parse_variant(f"https://sudokupad.app/scl{compress(text)}")):
        assert puzzle.board == FOUR and puzzle.grid.tolist() == [0, 2, *[0] * 14]
        rules = variants.killer([("r1c1 r2c2", 7), ("r3c3 r4c4", None)], side=4) + variants.anti_king(side=4)
        assert meaning(puzzle.constraints) == meaning(rules)
        assert (puzzle.title, puzzle.author) == ("A title", "me")
    link = f"https://beta.sudokupad.app/fpuzzles{compress(fpuzzle(thermometer=[lines(*LINE)]))}"
    assert parse_variant(link).constraints == tuple(variants.thermometer(LINE))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"lines": [{"wayPoints": [[0, 0], [1, 1]]}]}, "it has lines, drawings whose rule is not stated"),
        ({"underlays": [{}]}, "it has underlays"),
        ({"cages": [{"cells": [[0, 0], [0, 1]], "value": "x2"}]}, "cage 1: its value 'x2' is no total"),
        ({"cages": [{"cells": [[0, 0], [0, 9]], "value": "2"}]}, "cage 1: .* are not cells of the grid"),
        ({"cages": [{"cells": [[0, 0], [0, 1]]}]}, "cage 1: it has no total"),
        ({"regions": []}, "it has no regions"),
        ({"global": ["antiqueen"]}, "unknown rule 'antiqueen'"),
        ({"rooms": [1]}, "unknown key 'rooms'"),
    ],
)
def test_sudokupad_is_refused_by_name(keys, message):
    with pytest.raises(ValueError, match=message):
        parse_variant(sudokupad(**keys))


# ---------------------------------------------------------------------- files


def test_files(tmp_path):
    one, other = fpuzzle(thermometer=[lines(*LINE)]), fpuzzle(4, title="four")
    path = tmp_path / "puzzles.txt"
    path.write_text(
        f"# a comment\n{one}\n\n{variant_text(parse_variant(other), 'link')}\n{'.' * 81}\n{fpuzzle(clock=[{}])}\n"
    )
    found = read_variants(path, errors="mark")
    assert [type(one) for one in found] == [VariantPuzzle, VariantPuzzle, VariantPuzzle, LineError]
    assert [one.board for one in found[:3]] == [NINE, FOUR, NINE]
    assert str(found[3]) == f"{path}:6: unknown constraint 'clock'; did you mean 'lockout'?"
    with pytest.raises(PuzzleFileError, match="1 of 4 puzzles malformed"):
        read_variants(path)
    path.write_text(json.dumps([json.loads(one), json.loads(other)], indent=1))
    assert [one.board for one in read_variants(path)] == [NINE, FOUR]
    path.write_text(f"# board: diagonal-4\n{'.' * 16}\n")
    assert read_variants(path)[0].board == Board.diagonal(4)


def test_exchanged_puzzles_are_lines_of_a_file(tmp_path):
    path = tmp_path / "puzzles.txt"
    regions = {cell: {"region": cell % 4} for cell in range(16)}
    extra = {"extraregion": [{"cells": ["R1C1", "R2C2", "R3C3", "R4C4"]}]}
    texts = [
        fpuzzle(4, {0: {"value": 1, "given": True}, 1: {"givenPencilMarks": [2, 3]}}, thermometer=[lines(*LINE)]),
        f"https://www.f-puzzles.com/?load={compress(fpuzzle(4, **extra))}",
        fpuzzle(4, clock=[{}]),
        fpuzzle(4, regions),
    ]
    path.write_text("# a comment\n" + "".join(f"{text}\n" for text in texts))
    with pytest.warns(UserWarning, match="1 puzzle lists candidates"):
        chunk = js.read_puzzles(path, errors="mark")
    assert chunk.good.tolist() == [True, True, False, False]
    assert chunk.lines.tolist() == [2, 3, 4, 5]
    assert chunk.grids[0].tolist() == [1, *[0] * 15]
    assert chunk.candidates_of([0])[0, :, 1].tolist() == [False, True, True, False]
    rules = [variants.thermometer(LINE, side=4), variants.distinct("r1c1 r2c2 r3c3 r4c4", side=4)]
    assert [list(one) for one in chunk.constraints[:2]] == rules
    assert "unknown constraint 'clock'" in chunk.causes[2]
    assert "not of 4x4 with 2x2 boxes" in chunk.causes[3]
    path.write_text(f"{fpuzzle(4, regions)}\n")
    assert js.io.read_board(path) == Board.jigsaw("0123" * 4)


def test_tables_with_such_names_are_no_exchanged_puzzles(tmp_path):
    path = tmp_path / "puzzles.jsonl"
    for name in ("grid", "cells"):
        path.write_text(json.dumps({name: "1" + "." * 15, "size": 4}) + "\n")
        assert js.read_puzzles(path, FOUR, column=name)[0, 0] == 1
    path.write_text("1" + "." * 15 + "  https://www.sudokuwiki.org/\n")
    assert js.read_puzzles(path, FOUR)[0, 0] == 1


def test_a_link_is_a_puzzle_of_the_command_line(capsys):
    text = fpuzzle(4, {0: {"value": 1, "given": True}}, thermometer=[lines(*LINE)])
    assert main(["show", f"https://www.f-puzzles.com/?load={compress(text)}", "--candidates"]) == 0
    assert "1" in capsys.readouterr().out
    assert main(["show", f"https://www.f-puzzles.com/?load={compress(text)[:40]}"]) == 1
    assert "damaged" in capsys.readouterr().err


def test_a_stated_solution_is_checked():
    record = {"puzzle": "1" + "." * 15, "solution": "1234341221434321"}
    assert parse_variant(json.dumps({**record, "constraints": ["thermometer(r1c1 r1c2 r1c3)"]})).solution.sum() == 40
    with pytest.raises(ValueError, match="solution breaks a rule: the thermometer of r1c2 and r1c1 is broken"):
        parse_variant(json.dumps({**record, "constraints": ["thermometer(r1c2 r1c1)"]}))
    with pytest.raises(ValueError, match="another digit than the puzzle in r1c1"):
        parse_variant(json.dumps({**record, "puzzle": "2" + "." * 15}))


# ---------------------------------------------------------------------- chunks and commands

RECORDS = [
    {"puzzle": "." * 16, "constraints": ["cage(3 r1c1 r1c2)", "cage(8 r2c1 r2c2 r3c1)"], "name": "one"},
    {
        "puzzle": "1" + "." * 15,
        "constraints": ["thermometer(r1c1 r1c2 r1c3 r1c4)", "white-dot(r2c1 r3c1)"],
    },
    {"puzzle": "." * 16, "constraints": ["cage(99 r1c1 r1c2)"], "name": "bad"},
    {"puzzle": "12" + "." * 14, "name": "none"},
]


def solutions_of_records():
    """The solutions of each of ``RECORDS`` that is well-formed, by enumeration."""
    rows = np.array(list(itertools.permutations(range(1, 5))), np.uint8)
    every = rows[np.stack(np.meshgrid(*[np.arange(24)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)].reshape(-1, 16)
    for house in FOUR.houses[4:]:
        every = every[(np.sort(every[:, list(house)], axis=1) == [1, 2, 3, 4]).all(axis=1)]
    first, second, third = every[:, :4].astype(int), every[:, 4:8].astype(int), every[:, 8:12].astype(int)
    cage = (second[:, 0] != third[:, 0]) & (second[:, 1] != third[:, 0])
    cage &= (first[:, 0] + first[:, 1] == 3) & (second[:, 0] + second[:, 1] + third[:, 0] == 8)
    order = (first == [1, 2, 3, 4]).all(axis=1) & (abs(second[:, 0] - third[:, 0]) == 1)
    return [every[cage], every[order], None, every[(first[:, 0] == 1) & (first[:, 1] == 2)]]


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "killers.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    return path


def test_a_column_of_constraints(records):
    chunk = js.read_puzzles(records, FOUR, errors="mark")
    assert chunk.good.tolist() == [True, True, False, True]
    assert "cage of r1c1 r1c2: a total of 99" in chunk.causes[2]
    assert [len(one) for one in chunk.constraints] == [2, 2, 0, 0]
    assert chunk[1:2].constraints == chunk.constraints[1:2]
    assert Chunk.join([chunk[:1], chunk[1:]]).constraints == chunk.constraints
    for read in (js.read_puzzles, js.io.read_positions):
        with pytest.raises(PuzzleFileError, match="4 puzzles malformed|constraints of their own"):
            read(records, FOUR)


def test_arrays_refuse_constraints(tmp_path, records):
    record = json.dumps(RECORDS[0])
    with pytest.raises(ValueError, match="constraints of their own"):
        js.parse(record)
    chunk = js.read_puzzles(records, FOUR, errors="mark")
    with pytest.raises(ValueError, match="constraints of their own"):
        js.rate(chunk)
    with pytest.raises(ValueError, match="leave out clues"):
        js.count_solutions(chunk, clues=[[]] * 4)


def test_counts_of_a_file(records, capsys, monkeypatch):
    expected = [None if found is None else len(found) for found in solutions_of_records()]
    chunk = js.read_puzzles(records, FOUR, errors="mark")
    assert js.count_solutions(chunk, limit=1000).tolist() == [-1 if count is None else count for count in expected]
    made, of = [], Clues.of
    monkeypatch.setattr(Clues, "of", lambda *arguments: made.append(arguments) or of(*arguments))
    assert main(["count", str(records), "--board", "4", "--limit", "1000", "--format", "text"]) == 1
    assert len(made) == 1  # to find the form and to count
    assert capsys.readouterr().out.split() == ["-" if count is None else str(count) for count in expected]


def test_solutions_of_a_file(tmp_path, records, capsys):
    """Solutions, and those that have several although the file states one, in batches that share a program."""
    path = tmp_path / "stated.jsonl"
    path.write_text(f"# solutions: 1\n{records.read_text()}")
    output = tmp_path / "solved.csv"
    assert main(["solve", str(path), "--board", "4", "--batch-size", "2", "--output", str(output)]) == 1
    assert "several solutions" in capsys.readouterr().err
    lines = output.read_text().splitlines()
    assert lines[0] == "puzzle,solution,status,iterations,constraints,name"
    for line, found in zip(lines[1:], solutions_of_records(), strict=True):
        solution, status = line.split(",")[1:3]
        if found is None:
            assert (solution, status) == ("-", "malformed")
        else:
            assert solution in {"".join(map(str, grid)) for grid in found.tolist()}
    # what is written can be read again, and is resumed
    written = js.read_puzzles(output, FOUR, errors="mark")
    assert written.constraints == js.read_puzzles(path, FOUR, errors="mark").constraints
    again = ["solve", str(path), "--board", "4", "--batch-size", "2", "--output", str(output), "--resume"]
    assert main(again) == 0
    solution = lines[1].split(",")[1]
    output.write_text(output.read_text().replace(solution, "1234341221434321"))  # the second cage has 9
    assert main(again) == 2
    assert "answer 1 is not to the puzzle" in capsys.readouterr().err


def test_commands_that_know_no_constraints_refuse_them(records, capsys):
    assert main(["rate", str(records), "--board", "4"]) == 2
    assert "its puzzles have constraints of their own" in capsys.readouterr().err
    assert main(["solve", str(records), "--board", "4", "--solver", "depth-first"]) == 2
    assert "supports no clues" in capsys.readouterr().err
    assert main(["show", str(records), "--board", "4", "--index", "2"]) == 0


def test_lines_of_another_board_are_errors_that_name_it(tmp_path):
    path = tmp_path / "boards.jsonl"
    records = [{"puzzle": "." * 16, "board": board} for board in ("4+anti-knight", "diagonal-4")]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    chunk = js.read_puzzles(path, errors="mark")
    assert chunk.good.tolist() == [True, False]
    assert "a puzzle of the board diagonal-4" in chunk.causes[1]
    assert js.io.read_board(path) == FOUR.with_(variants.anti_knight(side=4))


def test_clues_in_the_form_of_others():
    one = Clues.of([variants.killer([("r1c1 r1c2", 5)], side=4)], FOUR)
    other = Clues.of(
        [variants.thermometer("r1c1 r1c2 r1c3", side=4) + variants.killer([("r1c1 r2c1", 5)], side=4)], FOUR
    )
    form = one.form.joined(other.form)
    assert form == other.form.joined(one.form) == form.joined(one.form)
    roomy = one.form.holding(other)
    assert roomy.holding(one) == roomy.holding(other) == roomy != form
    assert [group.count for group in roomy.groups] == [1, 2]  # no more cages, as these fit
    for clues, own in itertools.product((one, other), (form, roomy)):
        widened = clues.of_form(own)
        assert widened.rows.shape == (1, own.width)
        assert meaning(widened.constraints(0)) == meaning(clues.constraints(0))


# ---------------------------------------------------------------------- puzzles that people exchange


@pytest.mark.slow
def test_exchanged_puzzles_are_solved(shared_data):
    path = shared_data / "variants" / "fpuzzles.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    for line in path.read_text().splitlines():
        record = json.loads(line)
        puzzle, link = parse_variant(line), parse_variant(record["link"])
        assert (link.board, meaning(link.constraints)) == (puzzle.board, meaning(puzzle.constraints))
        candidates = None if link.candidates is None else link.candidates[None]
        solution, count = solve_and_count(link.grid[None], link.full_board, candidates)
        assert (count[0], "".join(map(str, solution[0].tolist()))) == (1, record["solution"])
