"""Puzzles with constraints: f-puzzles, SudokuPad, strings of killers, JSON lines; and how commands take them."""

import base64
import dataclasses
import itertools
import json
import random
import zlib

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
        ({"size": 9, "grid": [[]]}, "not as many rows as columns"),
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
        ("https://swaroopg92.github.io/penpa-edit/#m=edit&p=7VRNa", "damaged"),
        ("https://sudokupad.app/abc123", "the link holds no puzzle"),
        ("https://www.sudokuwiki.org/killersudoku.htm?bd=3", "a string '3' on the page 'killersudoku.htm'"),
        ("https://logic-masters.de/Raetselportal/x", "of a page, not a puzzle"),
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
    short = (
        "{metadata:{antiking:t,author:'me'},ce:[[,{v:2},,],[,,,],[,,,],[,,,]],re:"
        + json.dumps(BOXES).replace(" ", "")
        + ",ca:[{ce:[[0,0],[1,1]],v:7,unique:t,borderColor:#0},{ce:[[2,2],[3,3]],unique:t},{v:'title: A title'},"
        "{v:'rules: Normal sudoku rules apply. Digits don\\'t repeat in cages.'}]}"
    )
    for prefix in ("scl", "ctc"):
        again = parse_variant(f"https://sudokupad.app/{prefix}{compress(short)}")
        assert (again.board, again.grid.tolist(), again.title) == (FOUR, puzzle.grid.tolist(), "A title")
        assert meaning(again.constraints) == meaning(rules)
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
        ({"metadata": {"rules": "Normal sudoku rules apply. Cells a knight's move apart differ."}}, 'have "knight\'s"'),
    ],
)
def test_sudokupad_is_refused_by_name(keys, message):
    with pytest.raises(ValueError, match=message):
        parse_variant(sudokupad(**keys))


# ---------------------------------------------------------------------- sudokuwiki

#: Packed strings and an older link, from the tests of PuzzleCoding and the pages of sudokuwiki.org.
WIKI_JIGSAW = (
    "J9B00405i05i0sn0uf0sp0ua1ky1pv05i07a07a0tj0si0um0ui1za1yz0200092fb2ef39i0so1oq1om1ob0012iq2dg2oy3k237o3y"
    "b1z61yq2dj2iu2py35w3ie35t4aq4aq3ya5364y22de3he3k240a3y94ci6bn52g4xc5465ja3ja3ze4bu6bl6oi53c4y05uv5uv5j85"
    "k66pg6pe6pe52u4qp5ue5j65ue5jb6nm6bo6bp"
)
WIKI_KILLER = (
    "L9B0jdd00ep1jpt1ez50du900ep1g5n08b500ep00ep00ep1ez509w11mvl1ez53bpt2tjl2tjl1rm92zgx00ep00ep31g10g7l1t752"
    "tjl0ikx1ez505xt1rm92tjl2tjl00ep1ez51ez500ep1ez500ep1ez54nwx484100ep31g11ez500ep0ff51jbj05xt00ep484100ep2"
    "tjl4hld00ep00ep3ci92tjl1qtt2wpd2tjl04cx48411no100ep2tjl2tjl1ez54hld484100ep3dap1ez500ep2tjl0aoh00ep00ep2"
    "tjl2tjl2tjl1ez5"
)
WIKI_KILLER_JIGSAW = (
    "M9B00h01000ep0b8y90cw7l0cnip0behd0b8y90o1ld0mqz501sep031g10e2350z4lt0xzip10zrl0e2350nw290mhht01ez501ez50"
    "fvo111xqp0xq1d10j690bhn50mhht0o74h007ip000ep1oett11xqp0xq1d0xq1d29ogh0pamp0nw291ammp01ez51nehd1n09d1y8sx"
    "28ff5282s10mntd2hwr51ad5d19c0h1k74h1vfo1204r51wu8h270up2jqc12jbbl1ad5d18ykx1m0pd1llox1zndd2avwx26o7l2jbb"
    "l2jbbl1cikx1brpt1n09d1wu8h1vnkh1x5ap26o7l2l5ox2kpw11brpt1brpt1n09d1llox1vfo1282s1282s12kpw12kphm"
)
WIKI_KENKEN = (
    "K6C02ff00cr5oaz01jf5r2j00uj5nijb9l75mmj00cr5mmj005n5mmjb8p7b8ln00235mbvbbkb5mbvgvgrgv63guvfb8lnb8wb018r0"
    "05n5o3v5mmj5mbv00qz0023bfpnb8wbb8ln0023005n"
)
WIKI_WINDOKU = (
    "W9B080603epepepepepepepepepepepepepep04ep04epep05ep0306epep03epep06epep09epep05ep04ep03ep08epep07epep09e"
    "pep05epep0904ep02epep03ep05epepepepepepepepepepepepepep060205"
)
WIKI_OLD_KILLER = (
    "https://www.sudokuwiki.org/killersudoku.aspx?bd=21211211121211222321333144323122124113441223112413313232"
    "2122212344411312111411312,171510200026110000000000000000000011000011000017160000001101060000090016110017"
    "000900000900001800160800040010160000001100002100001800001800140000080000000000000000"
)
WIKI_OLD_JIGSAW = (
    "https://www.sudokuwiki.org/jigsaw.aspx?shape=33&bd=03v0n4u4f4bkb0099g88vanquqfqvq052gpi8c0hge118es2s2s02"
    "10gvameueeesa30s4oa30rajeqeaeoa0ho441m0ma81me6umuma110c843a3q2qg1cc38c41ul005noeofofof803pol0la5scsbarar"
    "a2gpq&jigmap=111118833188888333178583332175552322177752226774755526744495926444999996449966666"
)


def test_packed_strings_of_sudokuwiki():
    jigsaw = parse_variant(f"https://www.sudokuwiki.org/Jigsaw_Sudoku_Player?bd={WIKI_JIGSAW}")
    assert jigsaw.board.region_houses[0] == (0, 1, 2, 9, 10, 11, 18, 19, 27)
    assert jigsaw.grid[:9].tolist() == [4, 0, 0, 7, 0, 9, 0, 2, 0]
    assert np.flatnonzero(jigsaw.candidates[:, 1]).tolist() == [2, 4, 5, 7]
    killer = parse_variant(WIKI_KILLER)
    assert killer.board == NINE and killer.candidates is None
    assert (killer.grid[6], killer.grid[19], killer.grid.sum()) == (2, 8, 16)
    totals = [one.numbers[0] for one in killer.constraints]
    assert (totals[:3], sum(totals)) == ([24, 6, 17], 405 - 16)
    irregular = parse_variant(WIKI_KILLER_JIGSAW.upper())
    assert irregular.board.region_houses[0] == (0, 1, 9, 10, 18, 19, 27, 28, 37)
    assert irregular.constraints[:2] == tuple(variants.killer([("r1c1 r1c2 r1c3", 21), ("r1c4 r1c5 r2c4", 11)]))
    assert np.flatnonzero(irregular.candidates[:, 80]).tolist() == [0]  # entered in play
    assert parse_variant(WIKI_WINDOKU).board == Board.windoku()
    diagonal = parse_variant("X4B0" + "n" * 14 + "5")  # cells of a character: open, all candidates, and 1 entered
    assert diagonal.board == Board.diagonal(4)
    assert not diagonal.grid.any() and diagonal.candidates.sum() == 15 * 4 + 1
    assert variant_text(diagonal, "sudokuwiki") == "X4B" + "n" * 15 + "9"


def test_kenkens_of_sudokuwiki():
    puzzle = parse_variant(WIKI_KENKEN)
    assert puzzle.board == Board.classic(6, box=(1, 6)) and not puzzle.grid.any()
    cages = [("r1c1 r1c2", 24, "*"), ("r1c3 r2c3", 20, "*"), ("r1c4 r2c4 r3c4", 15, "*"), ("r1c5 r2c5 r3c5", 48, "*")]
    assert puzzle.constraints[:4] == tuple(variants.calcudoku(cages, side=6))
    assert puzzle.constraints[4:5] == tuple(variants.calcudoku([("r1c6 r2c6", 8, "+")], side=6))
    assert len(puzzle.constraints) == 13


def test_older_links_of_sudokuwiki():
    killer = parse_variant(WIKI_OLD_KILLER)
    assert np.flatnonzero(killer.grid).tolist() == [29, 40, 51]
    assert killer.constraints[:1] == tuple(variants.killer([("r1c1 r2c1 r3c1 r4c1", 17)]))
    colours, totals = WIKI_OLD_KILLER.partition("=")[2].split(",")
    digits = "0123456789abcdefghijklmnopqrstuv"
    packed = [8 * int(totals[2 * cell : 2 * cell + 2]) + int(colour) - 1 for cell, colour in enumerate(colours)]
    marked = "".join(digits[value // 32] + digits[value % 32] for value in packed) + ",08" + "vu" * 80
    again = parse_variant(marked)
    assert (again.constraints, again.grid.tolist()) == (killer.constraints, killer.grid.tolist())
    assert np.flatnonzero(again.candidates[:, 0]).tolist() == [2]
    jigsaw = parse_variant(WIKI_OLD_JIGSAW)
    assert jigsaw.board.region_houses[0] == (0, 1, 2, 3, 4, 9, 18, 27, 36)
    assert (jigsaw.grid[0], jigsaw.grid[7], jigsaw.grid.sum()) == (1, 3, 57)
    plain = parse_variant("sudokuwiki.org/Sudoku.htm?bd=" + "1" + "." * 80)
    assert (plain.board, plain.grid.sum()) == (NINE, 1)
    assert parse_variant("sudokuwiki.org/sudokux.aspx?bd=" + "0" * 81).board == Board.diagonal()


@pytest.mark.parametrize("text", [WIKI_JIGSAW, WIKI_KILLER, WIKI_KILLER_JIGSAW, WIKI_WINDOKU, WIKI_OLD_KILLER])
def test_strings_of_sudokuwiki_are_written(text):
    puzzle = parse_variant(text)
    written = variant_text(puzzle, "sudokuwiki")
    again = parse_variant(written)
    assert (again.board, again.grid.tolist()) == (puzzle.board, puzzle.grid.tolist())
    assert meaning(again.constraints) == meaning(puzzle.constraints)
    assert again.candidates is puzzle.candidates or (again.candidates == puzzle.candidates).all()
    assert variant_text(again, "sudokuwiki") == written
    assert text != WIKI_WINDOKU or written == text


@pytest.mark.parametrize(
    ("board", "constraints", "message"),
    [
        (FOUR, variants.thermometer("r1c1 r1c2", side=4), "nothing for the thermometer of r1c1"),
        (FOUR, variants.killer([("r1c1 r1c2", 3)], side=4), "r1c3 is in no cage"),
        (Board.classic(5, box=(1, 5)), [], "has no string for this puzzle"),
        (Board.named("x-9+windoku"), [], "has no string for this puzzle"),
    ],
)
def test_what_sudokuwiki_does_not_have_is_not_written(board, constraints, message):
    with pytest.raises(ValueError, match=message):
        variant_text(VariantPuzzle(board, np.zeros(board.cells), tuple(constraints)), "sudokuwiki")


def test_cages_that_are_not_connected_are_not_written():
    grid = np.array([0, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 0])
    puzzle = VariantPuzzle(FOUR, grid, tuple(variants.killer([("r1c1 r4c4", 3)], side=4)))
    with pytest.raises(ValueError, match="a cage is not connected"):
        variant_text(puzzle, "sudokuwiki")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WIKI_JIGSAW[:-1], "242 characters after the header; it has 3 for each of 81 cells"),
        ("T9B" + "0" * 243, "a string T9B of sudokuwiki"),
        ("sudokuwiki.org/x?bd=S9D" + "0" * 162, "a string S9D of sudokuwiki; those read are DnC"),
        (WIKI_KILLER.replace("1g5n", "1g5o"), "r1c7 is given as 2, which is none of its candidates"),
        ("S7B" + "0" * 98, "a board of side 7 has no boxes"),
        (
            "S9B" + "zz" + "0" * 160,
            "r1c1: its number is too large",
        ),
        ("L9B" + "0" * 324, "the cage of r1c1 has no total"),
        ("L9B" + "00sg" * 2 + "1ez5" * 79, "a cage has two totals, 1 and 1"),
        ("K4C" + "002v" + "002v" * 15, "the cage of r1c1 has no total in its first cell, or more"),
        ("K4C" + "002v" + "0000" * 15, "the cage of r1c1 has no operation"),
        ("sudokuwiki.org/jigsaw.htm?shape=3&bd=" + "0" * 81, "without its regions: no parameter jigmap"),
        ("sudokuwiki.org/jigsaw.htm?jigmap=11&bd=" + "0" * 81, "jigmap is not 81 digits"),
        ("sudokuwiki.org/str8ts.htm?bd=" + "0" * 81, "on the page 'str8ts.htm' of sudokuwiki is not read"),
        ("sudokuwiki.org/sudoku.htm", "no parameter bd"),
        ("sudokuwiki.org/sudoku.htm?bd=12", "neither 81 clues nor 162 characters"),
        ("sudokuwiki.org/sudoku.htm?bd=07" + "00" * 80, "r1c1 is a clue of 2 digits"),
    ],
)
def test_texts_of_sudokuwiki_are_refused_by_name(text, message):
    with pytest.raises(ValueError, match=message):
        parse_variant(text)


# ---------------------------------------------------------------------- Penpa+

#: Examples of a championship, in links of Penpa+; the first one has its solution.
PENPA_CLASSIC = (
    "zVRtT+pKEP7OrzjZr25ilwK2TfzAmyZGuXIuXq42hCyl2OrS1dIqKdHf7swWLFuqyb2JycnSycwzdN66z6zSuXxMqQ3HtKhBGRzTMtRj"
    "NfBnbM8oTITv/KLtNAlkDAqlf52d0QUXK59e3D50eo/t13773+PmnWneDBZHD73hzcN8/A8bGuFxbAyEFV1d9zri6Dy7uwraL37fb12v"
    "pBcIn895dje+WIvozLoPFqx7EXStBY+M1bM1sl86w9PTmrstZFJzCSOU1OFhZPJO8hbIu4LtSW2T/XY22dRxJ280uylUq1D/djYgB86G"
    "NEziuDY0jbEoaZyAaX2azaZuordVmDaYOLDcbDEwG4WJ3vqneYLeZmHqeS00i1AW5jU/TbtkYhlFIhsTFZGZoVfJDPQXbzOm18mYnpvV"
    "9UpZHbPvGoGxMTW8WyVHME+amUr2lDSUbCp5qf7TV3KsZFfJhpIt9Z8T/CK1mlvHMesHa/iDELh4cLnISorpKo0X3POn/pp7CXFyDux7"
    "NCxKlzM/1iAh5ZMIo6oIO5cGhveRjP1KF4L+/P6rUOiqCDWT8bxU0ysXQu/lOeWx/rIXxp7QoSQONZvHsXzVkCVPAg2Y8QR2ySoIn/RI"
    "flQaZsL1EvkjL2VbFuN4q5E1UQ/cdjiwKTaZ7WRDmp072s6g2RB2wZWzWx24EFxC4BNTskxFEnpSSMi8xeAeq9froPYLdaz8qHVzkBmg"
    "D7Y6qLeg5gObXubIteNmI0qwgo56G1WylC/QQ14h2p5czqBLl+zNiZrg2Ja7ywAcav+fPiDUrg9U8z5Qq+gD2/vZPuzJW/7ljP+0uX9o"
    "Ea23DJfxNyQvnGW4guqAfsP2PW8V/gWx97xl/IDFWOwhkQGt4DKgZToDdMhoAA9IDdgXvMaoZWpjVWV2Y6oDgmOqfY67k9oH"
)
PENPA_SOLUTION = (
    "RZFNDgUhCIPvMmsWCsjPWSZz/2s8bU1eMkkjU76Cvu8n/++ZY0g9snXKhIYotFifQxqqklCXBW3xo3r/q9KvRo46/RoS0BQ7apdjds9O"
    "vy1y7fotOYcVc6yZ45xXC+3KKWygySY8N2InHOcNuPyNP1jntq48OSi+wPSA0wsUb6AX116B4ir0xUBDKGIjkRcFdA44U9GeDmcuBBXv"
    "rCaYpSw62ov7F9cvDtGGYvNOmzt0bcp5xu8H"
)
PENPA_IRREGULAR = (
    "zVZbT+NIE33Pr1j5dSyNu33rtjQPXEdCA0tmYVmIImSCIQEnnnESQEbMb59T7Wp8IcxqR/qkT061Tp8uV1eddsVerq+L+7WrcfnK9VyB"
    "y1eeMRXQz+PrZLbKs+QPd2u9mhYlgOv+ub/v3qT5MnMPzu+2d++3Hve2/vkYXvj+6dHNh7vd4end9dnfYujNPpbeUa4Wh8e72/mHz9XF"
    "4XTrIdvLouNlMZnmWXqdVhdnB0/5Yl/dTm/EzsF0R92kC2/5XZ3oh+3hp0+DEScyHowc4bhs4x9OXYLzw9B6PHiuvibP1WUyGr+41WkD"
    "VQP/Sp4xHiXPjlROMtIommK5ji8xDZpphGn0Og1olRTiKd0bv05Dcm6mkYdp+DqNaaqaaXcjRavNvSro3Kvizr6K9m1C6W6SupuV8Ggu"
    "m7no7iwkbd0oICSF85u5kaTJRfQ0EQHdb+NDVWG0PTfjCeR2K9+Mu2b0zBia8Yvx2cMpCBW70kMgiSgaWFisgZEAMNaBfcYBMFQhLMBL"
    "5gV4afkQGMUbjJh+HVNK+PjsIyNgzVi5MhA19hEz4Jg+fAL28REn5DjoFxmyfyCAcWgGS+CQsQ8MwQxGLRHXEsI/Yv8QPhH7hMg54pwj"
    "xIk5ToScY845gk9sfRBTccwYPD0aBoPXzKOTpeZaFGJqjqml63s1Js0FPTgG49HSXC9p7nGNHnL27FkgjmfPAvl7XIsAb89IgBeWp/Pi"
    "fSV4yTzpb8/LR/70cFnN7RmRzvaMSGfqQqMVcrP6k4ZWf9LQah4iTtjSzeocIWbEMWOcqdUzBh9bnrTls1bgFfOKtGVek7acg0ZuVnON"
    "fDTno1G70RwP+5l55HfMGJgxMq0Q0+jMyjK7Xedp+TW7nRWLJRqr9VdXm9xgxPtshIOe9X2shRt82n603veJYHFvnUxt8CFrr5Nptr6P"
    "XW/7tX2sEd/36Zvdo7bxy2AwQnPTH2j7ov+0/yMG7zW8u5xlkV8u1+VNOskus6d0snKS+hXbXulwi/X8Kis7VF4U3/LZYlMEu9QhZ7eL"
    "osw2LhGZXd++F4qWNoS6KsrrXk6PaZ53a/m+TsvuzZNZOcm71KqcdeZpWRaPHWaerqYd4ipd4VNlOZ1960bKFj0xV2k3xfQ+7e02b+R4"
    "GThPjjG8HXHhQ+S50kk1dKvPnT5FOw/xqXGY2C8T+t4YOQ6O2HXm63w1mxR5gZ2Zw3vQ3C4B9xp4ZtYJ7dSk8ICPGAOeA9aCXX6pmeNk"
    "VJ24DmWwbe4m6MyLB9RQZ0jzSTG/QpUjp6WT62OB07U74M9p63fqQChbB8G6DkIb6qDy/rd16PFLfXLef/ow/L0PmX/5h38ZPHGHF+Uv"
    "mrxZ7NMbWh3sL7q9tbqJf6exW6t9/k0XU7JvGxnshl4G229nUG87GuSbpgb3Tl9T1H5rU1b97qat3jQ4bdXu8VHzEnbGg58="
)
PENPA_DIAGONAL = (
    "zVXvb+I4EP3OX3Hy17W0cRKCE2k/8KuVqi1X7uhxbYSQgQBpQ7INoUVB3b99ZxxD4kBXtyeddAqx5j3HzzOTPLPdLZLnHXXhsjg1KIPL"
    "4oa8uY0/Q12jMIsC7zfa3mXrJIWA0t+vruhSRNuA3jw8dXrP7bd+++/PzUfLuh8sPz31hvdPi/FfbGiEn1NjEPH49q7XiT5d54+36/Zr"
    "0A+cu20yX0eBWIj8cXyzj+IrvlovWfdm3eVLERvbFz5yXzvDL18avkpk0vAJI5SYcDMy+U6KEsh3SbuTxiH/wzvkU8+fvNP8vgx5Gf7p"
    "HWAceAdiusTzbSgatSixbIDYAwWbAJsnaDOAvIQOQKeEKNU6wSZKVSAHaJ6gg7BUbqFyuS83NWVuaftyzKqU4phGKeW2ALonyAxDy4Mx"
    "xKUYY5hnqcYYllHuzUzMpTJvon65HbP05JhsYeV5C/UshaHrTPb+QY4jeB00t+TYk6Mhx6Ycv+L74dSGBBgstxxqQ9cwtE3ahKplyKkD"
    "FWHYdGhLhY5BW2pZCz9kFZqnED5sV4lhqMRcqIOpdS70wFCPAEmZqR4CFoDaCFjK7BMAA1lyPRTXlyWO5diVoy1HRxbXwi+x0fChQHzv"
    "1Qub+z9iwHBgKrJNoul2ly7FPJgGezHPiFd4vzqjcfFuMwtSjYqS5FsUxpcUjlMaGa7iJA0uTiEZLFYfSeHUBalZki5qOb2JKNJredmJ"
    "VF88D9N5pFNZGmpYpGnypjEbka01YiYyOEO36/CbrhTEtWZmQk9RPIvabpuyHe8NsifyBpvBBSfkIXe9fEjza087K2k+hDPw1jsemXgQ"
    "+oTAK6Zks4uycJ5ECeysODCgXG5C2C/DsZzHqFuQzIB4oGIIHyAsGjb9WjB3np+PKMEMOnI1hmSTvEINRYaI58lmBlX6pNInasGESve4"
    "A3io/W/qAKljHRgWdWB0oQ4s77+tw528F2/O+KV/rF89Qf/hQbRXDk/Sn5i8nKzTF6wO7E/cXpm9xH9g7MpsnT9zMSZ7bmRgL3gZ2Lqd"
    "gTp3NJBnpgbuA1+jat3amFXd3bjVmcFxq6rHfbIIxSqJRUQmjR8="
)


def centre(place, side=4):
    """The point of a cell of a grid of Penpa+."""
    row, column = divmod(variants.cells_of(place, side)[0], side)
    return (row + 2) * (side + 4) + column + 2


def packed(text):
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(text.encode()) + deflate.flush()).decode()


#: The first line of a puzzle of Penpa+, up to its rules.
RULES = "sudoku,4,4,38,0,1,1,1,1,1,1,0,0,0,0,Title: ,Author: me,,"


def penpa(tags=(), header=RULES, steps=None, answer=None, **layers):
    """A link of Penpa+ to a 4x4 puzzle with some layers."""
    lines = [header, "[0,0,0,0]", "{}", json.dumps(layers).replace('"number"', "zN").replace("null", "zO"), ""]
    lines += [json.dumps(steps or [18, 1, 1, 1, *[5, 1, 1, 1] * 3]), *[""] * 11, json.dumps(tags)]
    link = f"https://swaroopg92.github.io/penpa-edit/#m=edit&p={packed(chr(10).join(lines))}"
    return link if answer is None else f"{link}&a={packed(json.dumps(answer))}"


def outlined(*cages, side=4):
    """Layers of cages with their outlines."""
    cages = [[centre(place, side) for place in cage.split()] for cage in cages]
    edges = {(0, 1): -side - 4, (0, 2): -1, (1, 3): 1, (2, 3): side + 4}
    drawn = {
        f"{4 * (point + (side + 4) ** 2) + one},{4 * (point + (side + 4) ** 2) + other}": 10
        for cage in cages
        for point in cage
        for (one, other), step in edges.items()
        if point + step not in cage
    }
    return {"killercages": cages, "cage": drawn}


def corner(place, side=4):
    return str(4 * (centre(place, side) + (side + 4) ** 2))


def test_links_of_penpa():
    solved = parse_variant(f"http://localhost:5174/#m=solve&p={PENPA_CLASSIC}&a={PENPA_SOLUTION}&variants=classic")
    assert solved.board == NINE and solved.grid.reshape(9, 9)[1].tolist() == [0, 0, 9, 0, 0, 0, 8, 0, 0]
    assert solved.solution[:9].tolist() == [3, 4, 6, 9, 7, 8, 1, 5, 2]
    irregular = parse_variant(f"https://swaroopg92.github.io/penpa-edit/?m=edit&p={PENPA_IRREGULAR}")
    assert irregular.board.region_houses[0] == (0, 1, 2, 3, 9, 12, 18, 27, 28) and irregular.grid.sum() == 116
    assert parse_variant(f"m=edit&p={PENPA_DIAGONAL}").board == Board.diagonal()


def test_layers_of_penpa():
    mark = str(2 * 64 + centre("r3c1"))  # on the edge below r3c1
    puzzle = parse_variant(
        penpa(
            ["killer", "thermo", "arrow", "odd even", "consecutive pairs", "anti king"],
            header=RULES + "Normal sudoku rules apply.%2DDigits in a cage don't repeat%2C and sum to the total.",
            number={str(centre("r1c1")): ["1", 1, "1"], str(centre("r1c2")): [[0, 1, 0, 0, 0, 0, 0, 0, 0], 1, "7"]},
            numberS={corner("r2c1"): [" 5", 1]},
            thermo=[[centre("r1c4"), centre("r2c4"), centre("r3c4")], None],
            arrows=[[centre("r4c4"), centre("r4c3"), centre("r4c2")]],
            symbol={str(centre("r3c3")): [3, "circle_L", 2], mark: [1, "circle_SS", 2]},
            **outlined("r2c1 r2c2"),
        )
    )
    assert puzzle.board == FOUR and puzzle.author == "me"
    assert puzzle.grid.tolist() == [1, 2, *[0] * 14]
    assert meaning(puzzle.constraints) == meaning(
        variants.killer([("r2c1 r2c2", 5)], side=4)
        + variants.thermometer("r1c4 r2c4 r3c4", side=4)
        + variants.arrow("r4c4", "r4c3 r4c2", side=4)
        + variants.odd("r3c3", side=4)
        + variants.difference(["r3c1 r4c1"], 1, side=4)
        + variants.anti_king(side=4)
    )
    latin = parse_variant(penpa(["latin", "nonconsecutive"]))
    assert latin.board == Board.classic(4, box=(1, 4))
    assert meaning(latin.constraints) == meaning(variants.non_consecutive(side=4))
    titled = parse_variant(penpa(header="square,4,4,38,0,1,1,1,1,1,1,0,0,0,0,Title: Consecutive Sudoku"))
    assert meaning(titled.constraints) == meaning(variants.not_difference(1, [], side=4))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (penpa(["killer"])[:-9], "damaged"),
        ("https://swaroopg92.github.io/penpa-edit/", "no parameter p"),
        (penpa(header="hex,4,4"), "a grid of the kind 'hex'"),
        (penpa(header="square,4,4"), "no tag and no title says that it is a Sudoku"),
        (penpa(["tightfit"]), "its tag or title 'tightfit' is no rule that is read"),
        (penpa(header="square,4,4" + "," * 12 + ",Little Killer Sudoku"), "title 'littlekiller' is no rule"),
        (
            penpa(header=RULES + "Normal sudoku rules apply.%2DDigits on a bishop's path differ"),
            'in words have "bishop\'s"',
        ),
        (penpa(["killer"], header=RULES + "Digits may repeat in cages"), "rules in words have 'repeat'"),
        (penpa(steps=[18, 1, 1, 1]), "its cells are no square"),
        (penpa(surface={"18": 1}), "it has shaded cells, a drawing whose rule is not stated"),
        (penpa(surprise=[1]), "it has a layer 'surprise'"),
        (penpa(thermo=[[18, 19]]), "it has thermo, a drawing whose rule no tag states"),
        (penpa(["thermo"], thermo=[[18, 99]]), "one of its thermo leaves the grid"),
        (penpa(**outlined("r1c1 r1c2")), "it has cages, a drawing whose rule no tag states"),
        (penpa(["killer"], killercages=[[18, 19]]), "its cages are not those whose outlines are drawn"),
        (penpa(["killer"], numberS={corner("r1c1"): ["5", 1]}), "a small text '5', which is no total"),
        (penpa(number={"18": ["5", 1, "1"]}), "the text '5' in r1c1 is no given digit"),
        (penpa(number={"18": ["1", 6, "1"]}), "the text '1' in r1c1 is no given digit"),
        (penpa(number={"10": ["1", 1, "1"]}), "a text '1' that is not in a cell"),
        (penpa(number={"18": ["1"]}), "damaged: the layer number"),
        (penpa(symbol={"18": [1, "star", 2]}), "it has a symbol 'star'"),
        (penpa(["diagonal"], line={"18,19": 2}), "it has lines, drawings"),
        (penpa(lineE={"82,83": 12}), "lines of the style 12 along edges"),
        (penpa(["irregular"]), "its tag says irregular, but no thick lines"),
        (penpa(answer=[[], [], [], [], [f"{point},1" for point in (18, 19)], []]), None),
        (
            penpa(
                answer=[
                    [],
                    [],
                    [],
                    [],
                    [f"{centre(f'r{row}c{column}')},1" for row in range(1, 5) for column in range(1, 5)],
                ]
            ),
            "the stated solution breaks a rule",
        ),
    ],
)
def test_links_of_penpa_are_refused_by_name(link, message):
    if message is None:
        assert parse_variant(link).solution is None
        return
    with pytest.raises(ValueError, match=message):
        parse_variant(link)


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
        fpuzzle(4)[:-1],
    ]
    path.write_text("# a comment\n" + "".join(f"{text}\n" for text in texts))
    with pytest.warns(UserWarning, match="1 puzzle lists candidates"):
        chunk = js.read_puzzles(path, errors="mark")
    assert chunk.good.tolist() == [True, True, False, False, False]
    assert chunk.lines.tolist() == [2, 3, 4, 5, 6]
    assert chunk.grids[0].tolist() == [1, *[0] * 15]
    assert chunk.candidates_of([0])[0, :, 1].tolist() == [False, True, True, False]
    rules = [variants.thermometer(LINE, side=4), variants.distinct("r1c1 r2c2 r3c3 r4c4", side=4)]
    assert [list(one) for one in chunk.constraints[:2]] == rules
    assert "unknown constraint 'clock'" in chunk.causes[2]
    assert "not of 4x4 with 2x2 boxes" in chunk.causes[3]
    assert "neither an object in JSON nor a link" in chunk.causes[4]
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
        js.hint(chunk)
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
    assert main(["evaluate", str(records), "--board", "4"]) == 2
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


@pytest.mark.parametrize(
    "number", [pytest.param(2, marks=pytest.mark.slow), pytest.param(16, marks=pytest.mark.thorough)]
)
def test_exchanged_puzzles_are_solved(shared_data, number):
    path = shared_data / "variants" / "fpuzzles.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    for line in path.read_text().splitlines()[:number]:
        record = json.loads(line)
        puzzle, link = parse_variant(line), parse_variant(record["link"])
        assert (link.board, meaning(link.constraints)) == (puzzle.board, meaning(puzzle.constraints))
        candidates = None if link.candidates is None else link.candidates[None]
        solution, count = solve_and_count(link.grid[None], link.full_board, candidates)
        assert (count[0], "".join(map(str, solution[0].tolist()))) == (1, record["solution"])


@pytest.mark.slow
@pytest.mark.parametrize("text", [WIKI_JIGSAW, WIKI_KENKEN, WIKI_OLD_KILLER, f"m=solve&p={PENPA_IRREGULAR}"])
def test_strings_of_other_programs_have_one_solution(text):
    puzzle = parse_variant(text)
    candidates = None if puzzle.candidates is None else puzzle.candidates[None]
    assert solve_and_count(puzzle.grid[None], puzzle.full_board, candidates)[1].tolist() == [1]
