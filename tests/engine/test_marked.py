"""Malformed and missing puzzles: one way in for columns and files, which raises or marks them, and what results say."""

import math

import numpy as np
import pytest
import reference

import jaxsudoku as js
from jaxsudoku.engine import inputs
from jaxsudoku.engine.solution import Solution, Status
from jaxsudoku.io import Chunk, PuzzleFileError

FOUR = reference.SMALL["4x4"]
SMALL = {"lanes": 32, "rules": "naked", "rounds": 1}
PROPER, SOLVED = "1.34.4122.4.43.1", "1234341221434321"
NONE = "123...4........."


class NAType:
    """Stands for a missing value as that of pandas does, which compares with nothing."""

    def __eq__(self, other):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None


class Column:
    """What a column of a table is to numpy."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.fromiter(self.values, object, len(self.values))


#: Rows of every kind: the good ones are 0 and 3.
TEXTS = [PROPER, None, "12", NONE, math.nan, NAType(), 7, f"{PROPER}{PROPER}x"]
GOOD = [True, False, False, True, False, False, False, False]
CAUSES = {
    1: "the text is missing",
    2: "2 cells; a 4x4 board has 16",
    4: "the text is missing",
    5: "the text is missing",
    6: "not a text",
    7: "33 cells; a 4x4 board has 16",
}


def columns():
    """The rows as columns of every kind."""
    yield TEXTS
    yield Column(TEXTS)
    yield np.fromiter(TEXTS, object, len(TEXTS))
    yield js.parse(TEXTS, errors="mark")


def test_a_column_is_read_with_its_malformed_rows():
    marked = js.parse(TEXTS, errors="mark")
    assert isinstance(marked, Chunk) and marked.good.tolist() == GOOD and marked.grids.shape == (8, 16)
    assert not marked.grids[~marked.good].any()
    assert marked.causes == {error.line: error.cause for error in marked.errors} == CAUSES
    assert marked.texts == {2: "12", 6: "7", 7: f"{PROPER}{PROPER}x"}, "missing ones have none"
    assert js.parse(TEXTS, FOUR, errors="mark").causes == CAUSES
    with pytest.raises(ValueError, match="puzzle 1 is None, not a text; errors='mark' keeps such rows"):
        js.parse(TEXTS)
    with pytest.raises(ValueError, match="puzzle 1: 2 cells"):
        js.parse([PROPER, "12"])
    np.testing.assert_array_equal(js.parse([[PROPER, SOLVED]]), [[js.parse(PROPER), js.parse(SOLVED)]])
    with pytest.raises(ValueError, match="errors must be 'raise' or 'mark', not 'ignore'"):
        js.parse(TEXTS, errors="ignore")
    with pytest.raises(TypeError, match="or a column of texts, not a ndarray"):
        js.parse(np.zeros((2, 16), np.uint8))


def test_one_text_may_be_marked():
    assert js.parse("12", errors="mark").good.tolist() == [False]
    assert js.parse(PROPER, errors="mark").grids.tolist() == [js.parse(PROPER).tolist()]


def test_the_board_of_a_column_is_that_of_most_texts():
    marked = js.parse(["." * 81, PROPER, SOLVED], errors="mark")
    assert (marked.grids.shape, marked.good.tolist()) == ((3, 16), [False, True, True])
    assert marked.causes == {0: "81 cells; a 4x4 board has 16 (81 make a 9x9 board: --board 9)"}
    assert js.parse([None, math.nan], errors="mark").grids.shape == (2, 81)
    for kind in (float, np.float32, object):
        assert js.parse(np.array([math.nan] * 2, kind), errors="mark").causes == dict.fromkeys(range(2), CAUSES[1])


def test_texts_of_a_column_are_read_as_each_alone():
    odd = [
        "1234\n3412\n2143\n4321",
        "1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 .",
        f"{PROPER}\n{SOLVED}",
        f"# board: diagonal-4\n{PROPER}",
    ]
    texts = [PROPER, *odd, f"{SOLVED}", f"name {PROPER}", f"{PROPER[:-1]}5", f'"{PROPER}"', f'{{"puzzle": "{PROPER}"}}']
    marked = js.parse(texts, FOUR, errors="mark")
    for row, text in enumerate(texts):
        alone = js.parse(text, FOUR, errors="mark")
        assert marked.good[row] == alone.good[0] and marked.causes.get(row) == alone.causes.get(0)
        np.testing.assert_array_equal(marked.grids[row], alone.grids[0])
    assert marked.good.sum() == 7


def test_zeros_of_a_column_are_looked_at_together():
    one, other = "10..............", "4..............."
    assert js.parse([one, other]).tolist() == [js.parse(text.replace("0", ".")).tolist() for text in (one, other)]
    for texts in ([one, PROPER.replace("4", "1")], [one]):
        with pytest.raises(ValueError, match="puzzle 0: '0' stands beside another blank, and no digit is 4"):
            js.parse(texts)
        assert not js.parse(texts, errors="mark").good[0]
    assert js.parse([one], zero_based=True)[0, :3].tolist() == [2, 1, 0]


def test_columns_of_arrow():
    pa = pytest.importorskip("pyarrow")
    texts = [PROPER, None, "12"]
    for column in (pa.array(texts), pa.chunked_array([texts, texts[:0]]), pa.array(texts).dictionary_encode()):
        assert js.parse(column, errors="mark").good.tolist() == [True, False, False]
        assert js.parse(list(column), errors="mark").good.tolist() == [True, False, False]
    assert js.parse(pa.nulls(2), errors="mark").good.tolist() == [False, False]
    with pytest.raises(ValueError, match="puzzle 1 is None"):
        js.solve(pa.array(texts))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_data_frames(library):
    frames = pytest.importorskip(library)
    column = frames.DataFrame({"puzzle": [PROPER, None, "12"]})["puzzle"]
    found = js.solve(column, errors="mark", **SMALL)
    assert found.status.tolist() == [Status.SOLVED, Status.MALFORMED, Status.MALFORMED]


def test_good_rows_are_solved_and_the_others_marked():
    for column in columns():
        found = js.solve(column, errors="mark", **SMALL)
        bad = Status.MALFORMED
        assert found.status.tolist() == [Status.SOLVED, bad, bad, Status.UNSATISFIABLE, bad, bad, bad, bad]
        assert (found.status.dtype, found.grids.dtype) == (np.int8, np.uint8)
        np.testing.assert_array_equal(found.grids[0], js.parse(SOLVED))
        assert not found.grids[1:].any()
        assert [bool(cause) for cause in found.stats["cause"]] == [not good for good in GOOD]
        assert repr(found).startswith("Solution(8 puzzles of 16 cells: 1 SOLVED, 1 UNSATISFIABLE, 6 MALFORMED; iter")
        assert found.take(2).stats["cause"].startswith("2 cells")
    # marks need no argument where the puzzles have been marked already
    assert js.solve(js.parse(TEXTS, errors="mark"), **SMALL).status.tolist() == found.status.tolist()
    for function in (js.solve, js.count_solutions):
        with pytest.raises(ValueError, match="puzzle 1 is None"):
            function(TEXTS, **SMALL)
    with pytest.raises(ValueError, match="puzzle 1: the text is missing"):
        inputs.as_puzzles(js.parse(TEXTS, errors="mark"), None)


def test_arrays_have_no_malformed_rows():
    found = js.solve(np.stack([js.parse(PROPER)] * 2).reshape(2, 4, 4), errors="mark", **SMALL)
    assert found.grids.shape == (2, 4, 4) and found.stats["cause"].tolist() == ["", ""]
    one = js.solve(PROPER, errors="mark", **SMALL)
    assert (one.status.tolist(), one.grids.shape) == (Status.SOLVED, (16,))


def test_counts_and_ratings_of_malformed_rows():
    counts = js.count_solutions(TEXTS, errors="mark", **SMALL)
    assert counts.tolist() == [1, -1, -1, 0, -1, -1, -1, -1] and counts.dtype == np.int32
    ratings = js.rate(TEXTS, errors="mark", searches=1)
    assert [rating == 0 for rating in ratings] == [row == 0 for row in range(8)] and np.isnan(ratings[1:]).all()
    weakest = js.weakest_rules(TEXTS, errors="mark")
    assert weakest.tolist() == [1, -1, -1, 4, -1, -1, -1, -1] and weakest.dtype == np.int8
    found = js.rate(TEXTS, errors="mark", by="technique", up_to="full-house")
    assert np.isnan(found.score[~np.array(GOOD)]).all()
    if pytest.importorskip("pyarrow"):
        table = found.to_table(TEXTS)
        assert table["puzzle"].to_pylist() == [PROPER, None, "12", NONE, None, None, "7", TEXTS[7]]
        assert table["clues"].to_pylist() == [11, None, None, 4, None, None, None, None]


def test_canonical_forms_of_a_column():
    from jaxsudoku.symmetry import canonical, solution_hashes

    grid = (np.arange(9)[:, None] * 3 + np.arange(9)[:, None] // 3 + np.arange(9)) % 9 + 1
    grid = grid.astype(np.uint8).reshape(1, 81)
    text = "".join(map(str, grid[0].tolist()))
    forms = canonical([text, None, "12", text], errors="mark")
    np.testing.assert_array_equal(forms[[0, 3]], np.repeat(canonical(grid), 2, axis=0))
    assert not forms[[1, 2]].any()
    solved = np.concatenate([grid * 0, grid])
    np.testing.assert_array_equal(canonical([None, text], solved, errors="mark"), forms[[1, 0]])
    np.testing.assert_array_equal(solution_hashes([None, text], errors="mark"), [0, *solution_hashes(grid)])
    np.testing.assert_array_equal(canonical([text]), canonical(grid))
    with pytest.raises(ValueError, match="puzzle 1 is None"):
        canonical([text, None])


# ---------------------------------------------------------------------- files


def test_a_file_is_read_with_its_malformed_rows(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text(f"puzzle,n\n{PROPER},1\n12,2\n{NONE},3\n")
    marked = js.read_puzzles(path, FOUR, errors="mark")
    assert (marked.good.tolist(), marked.lines.tolist()) == ([True, False, True], [2, 3, 4])
    (error,) = marked.errors
    assert (str(error), error.text) == (f"{path}:3: 2 cells; a 4x4 board has 16", "12")
    found = js.solve(marked, FOUR, **SMALL)
    assert found.status.tolist() == [Status.SOLVED, Status.MALFORMED, Status.UNSATISFIABLE]
    with pytest.raises(PuzzleFileError, match=r"some\.csv:3: 2 cells"):
        js.read_puzzles(path, FOUR)
    with pytest.raises(ValueError, match="errors must be"):
        js.read_puzzles(path, FOUR, errors="coerce")
    path.write_text(f'puzzle,n\n{PROPER},1\n{PROPER},"2\n')
    with pytest.raises(PuzzleFileError, match="never closed"):  # no row, but the file is damaged
        js.read_puzzles(path, FOUR, errors="mark")


def test_given_puzzles_are_refused_by_their_row(tmp_path):
    built = js.datasets.build_given(tmp_path / "set", [PROPER, None, NONE], board=FOUR, errors="mark")
    assert built.refused == {1: "the text is missing", 2: "it has no solution"}
    with pytest.raises(ValueError, match="puzzle 1 is None"):
        js.datasets.build_given(tmp_path / "other", [PROPER, None], board=FOUR)


# ---------------------------------------------------------------------- results beside their puzzles


def solution(status):
    """A made-up solution of these statuses."""
    status = np.array(status, np.int8)
    grids = np.where(status[:, None] == Status.SOLVED, js.parse(SOLVED), 0).astype(np.uint8)
    return Solution(grids, status, np.ones(len(status), np.int32), {})


def test_a_table_takes_texts():
    pytest.importorskip("pyarrow")
    found = solution([1, 4, 4, 2])
    rows = [PROPER, None, "12", NONE]
    for puzzles in (rows, Column(rows), np.array(rows, object), js.parse(rows, errors="mark")):
        table = found.to_table(puzzles)
        assert table["puzzle"].to_pylist() == rows
        assert table["status"].to_pylist() == ["solved", "malformed", "malformed", "unsatisfiable"]
        assert table["solution"].to_pylist() == [SOLVED, None, None, None]
    assert "cause" not in table.column_names
    marked = found._replace(stats={"cause": inputs.as_marked(rows, None, "mark").cause_column})
    assert marked.to_table(rows)["cause"].to_pylist()[:3] == [None, "the text is missing", marked.stats["cause"][2]]
    assert str(solution([4]).to_table([None]).schema.field("puzzle").type) == "string"
    with pytest.raises(ValueError, match="puzzle 1: the text is missing"):
        solution([1, 1]).to_table([PROPER, None])
    with pytest.raises(ValueError, match="1 puzzles for 2 results"):
        solution([1, 1]).to_table([PROPER])


def test_a_picture_takes_a_solution_and_texts():
    found = solution([1, 1])
    for grids in (found, found.grids, [SOLVED, SOLVED], Column([SOLVED, SOLVED])):
        for givens in ([PROPER, PROPER], Column([PROPER, PROPER]), js.parse([PROPER, PROPER])):
            drawn = js.picture(grids, givens=givens)
            assert sum(shape.role == "filled" for shape in drawn.shapes) == 2 * PROPER.count(".")
    assert js.picture(js.parse([PROPER, "12"], errors="mark")).svg
    drawn = solution([1, 4]).picture([PROPER, None])  # a malformed puzzle has no grid, and is an empty one
    assert sum(shape.role == "filled" for shape in drawn.shapes) == PROPER.count(".")
    with pytest.raises(ValueError, match="puzzle 1: the text is missing"):
        solution([1, 1]).picture([PROPER, None])
    with pytest.raises(ValueError, match="puzzle 1 is None"):
        js.picture([PROPER, None])
