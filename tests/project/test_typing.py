"""What type checkers see of the package: every public name, and no other."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

import jaxsudoku

FACE = Path(jaxsudoku.__file__)
ROOT = FACE.parents[1]

#: A user's program with a wrong name, a wrong name in a module, and a wrong type, each in a line of its own.
MISTAKEN = """\
import jaxsudoku as js
puzzles = js.load("9x9")
js.solv(puzzles)
js.planes.grids_to_cube(puzzles)
grids: list[str] = js.solve(puzzles).grids
"""


def under_type_checking(tree: ast.Module) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What the face says to type checkers alone, and what it hides from them."""
    shown, hidden = [], []
    for node in tree.body:
        if isinstance(node, ast.If):
            {"TYPE_CHECKING": shown, "not TYPE_CHECKING": hidden}[ast.unparse(node.test)].extend(node.body)
    return shown, hidden


@pytest.mark.quick
def test_type_checkers_are_shown_every_public_name():
    shown, hidden = under_type_checking(ast.parse(FACE.read_text()))
    homes, modules = {}, {}
    for node in shown:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            home = (node.module or "").removeprefix("jaxsudoku").removeprefix(".")
            if alias.asname is None:
                homes[alias.name] = home
            else:
                assert alias.asname == alias.name, "a module is public for type checkers by `import x as x` alone"
                modules[alias.name] = f"{home}.{alias.name}".removeprefix(".")
    assert homes == jaxsudoku._HOME
    assert modules == jaxsudoku._MODULES
    assert sorted({*homes, "__version__"}) == sorted(jaxsudoku.__all__)
    assert [node.name for node in hidden if isinstance(node, ast.FunctionDef)] == ["__getattr__"]


@pytest.mark.quick
def test_type_checkers_see_no_lookup_by_name():
    """A ``__getattr__`` that they see makes any name a public one of any type."""
    defined = [node.name for node in ast.parse(FACE.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert "__getattr__" not in defined
    assert jaxsudoku.solve and jaxsudoku.planes
    with pytest.raises(AttributeError, match="'jaxsudoku' has no attribute 'solv'"):
        jaxsudoku.solv  # noqa: B018


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy reports of the Python of the README and of docs/python.md and of a mistaken program, by file."""
    api = pytest.importorskip("mypy.api")
    folder = tmp_path_factory.mktemp("programs")
    programs = {"mistaken": MISTAKEN}
    for path in (ROOT / "README.md", ROOT / "docs" / "python.md"):
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
        assert blocks
        programs[path.stem.lower()] = "".join(blocks)
    for name, program in programs.items():
        (folder / f"{name}.py").write_text(program)
    cache = os.environ.get("MYPY_CACHE_DIR", folder / "cache")  # where modules that were checked before are known
    flags = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={cache}", "--no-error-summary"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", str(ROOT) + os.pathsep + os.environ.get("MYPYPATH", ""))
        reported, errors, _ = api.run([*flags, *(str(folder / f"{name}.py") for name in programs)])
    assert not errors
    lines = [line for line in reported.splitlines() if ": error: " in line]
    return {name: [line for line in lines if f"{name}.py:" in line] for name in programs}


@pytest.mark.slow
@pytest.mark.parametrize("page", ["readme", "python"])
def test_the_programs_of_the_documentation_are_well_typed(findings, page):
    assert not findings[page], "\n".join(findings[page])


@pytest.mark.slow
def test_mistakes_are_reported(findings):
    name, attribute, kind = findings["mistaken"]
    assert ":3: " in name and '"solv"' in name
    assert ":4: " in attribute and '"grids_to_cube"' in attribute
    assert ":5: " in kind and "list[str]" in kind and "ndarray" in kind
