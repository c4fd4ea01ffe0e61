"""Rules of the package: imports run downwards, importing computes nothing, files are read without JAX."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import jaxsudoku

pytestmark = pytest.mark.quick

PACKAGE = "jaxsudoku"
FOLDER = Path(jaxsudoku.__file__).parent

#: The modules at the top of the package, lowest level first. Each, with all that a sub-package holds, imports from
#: lower levels alone, and from itself. "" is the package's own ``__init__``.
LEVELS = (
    ("_version",),
    ("runtime",),
    ("pictures",),
    ("core", "mastermind", "trees"),
    ("io", "networks"),
    ("shipped",),
    ("engine",),
    ("exact",),
    ("symmetry", "techniques"),
    ("explanation", "rating", "solvers"),
    ("adapters", "evaluation", "generation", "testing"),
    ("datasets",),
    ("cli",),
    ("", "__main__"),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}

#: What a module may import where JAX isn't wanted: reading files and parsing flags should start at once.
WITHOUT_JAX = (
    *(f"runtime.{name}" for name in ("arrays", "escapes", "files", "forks", "locks", "part_folder", "settings")),
    *("runtime.folder_files", "runtime.suggestions", "runtime.urls"),
    "runtime.terminal",
    *(
        f"core.{name}"
        for name in ("board", "drawing", "extra_houses", "host_rules", "house_tables", "status", "tuning")
    ),
    *(
        f"core.constraints.{name}"
        for name in ("automata", "base", "chains", "digits", "lines", "outside", "sums", "texts", "variants")
    ),
    *(f"engine.{name}" for name in ("grid_pictures", "inputs", "solution", "tables")),
    *("io", "pictures", "shipped", "explanation", "cli"),
    *("solvers", "solvers.guided_config", "solvers.tree", "solvers.textbook", "solvers.population"),
    *("solvers.sat", "solvers.sat.encoding", "solvers.sat.engine"),
    *("exact.exact_config", "generation.generate_config"),
    *("techniques.registry", "techniques.locked_pairs"),
    *("mastermind.player_config", "mastermind.costs", "mastermind.pegs", "mastermind.players", "mastermind.rules"),
)


def _module(path: Path) -> str:
    parts = (PACKAGE, *path.relative_to(FOLDER).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): path for path in sorted(FOLDER.rglob("*.py"))}


def room(module: str) -> str:
    """The room that a module of the package is in: "jaxsudoku.solvers.tree" is in "solvers"."""
    return module.split(".")[1] if "." in module else ""


# ---------------------------------------------------------------------- imports run downwards


def imported(source: str, module: str, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """The modules of this package that a module imports anywhere, in functions too, each with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == PACKAGE)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                above = parts[: len(parts) - node.level + is_package]
                base = ".".join([*above, base] if base else above)
            if base == PACKAGE:
                # ``from jaxsudoku import board`` means the module; any other name comes from the face. The version is
                # no import: the face knows it before all else.
                for alias in node.names:
                    if alias.name != "__version__":
                        yield node.lineno, f"{PACKAGE}.{alias.name}" if alias.name in LEVEL else PACKAGE
            elif base.split(".")[0] == PACKAGE:
                wide = {f"{base}.{alias.name}" for alias in node.names}
                yield from ((node.lineno, name) for name in wide & MODULES.keys() or {base})


def upward(source: str, module: str, is_package: bool = False) -> list[str]:
    """What is wrong with a module's imports, in words."""
    here = room(module)
    if here not in LEVEL:
        return [f"{module} is in no room that LEVELS knows: put {here!r} on its level"]
    faults = []
    for line, other in imported(source, module, is_package):
        there = room(other)
        if there not in LEVEL:
            faults.append(f"{module}:{line} imports {other}, which is in no room that LEVELS knows")
        elif there != here and LEVEL[there] >= LEVEL[here]:
            how = "beside" if LEVEL[there] == LEVEL[here] else "above"
            faults.append(
                f"{module}:{line} imports {other}: {there or 'the face'!r} (level {LEVEL[there]}) stands {how} "
                f"{here!r} (level {LEVEL[here]}); import from lower levels only, or move what both need further down"
            )
    return faults


def test_imports_run_downwards():
    faults = [
        fault
        for module, path in MODULES.items()
        for fault in upward(path.read_text(), module, path.name == "__init__.py")
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        (
            "jaxsudoku.core.grid",
            "from jaxsudoku.exact import solve",
            f"'exact' (level {LEVEL['exact']}) stands above 'core'",
        ),
        ("jaxsudoku.core.grid", "import jaxsudoku.exact", "stands above"),
        ("jaxsudoku.core.grid", "def f():\n  from jaxsudoku import exact", "grid:2 imports jaxsudoku.exact"),
        ("jaxsudoku.core.grid", "from .. import exact", "stands above"),
        ("jaxsudoku.core.grid", "from ..exact import solve", "stands above"),
        ("jaxsudoku.io.read", "from jaxsudoku.networks import load_network", "stands beside"),
        ("jaxsudoku.core.grid", "from jaxsudoku import Board", "'the face'"),
        ("jaxsudoku.core.grid", "from jaxsudoku.attic import x", "imports jaxsudoku.attic, which is in no room"),
        ("jaxsudoku.networks.cube", "from ..solvers import tree", "stands above"),
        ("jaxsudoku.attic", "", "jaxsudoku.attic is in no room that LEVELS knows"),
    ],
)
def test_an_upward_import_is_found(module, source, fault):
    (found,) = upward(source, module)
    assert fault in found


def test_other_imports_are_well():
    source = "import jax\nfrom jaxsudoku import exact, __version__\nfrom . import puct\nfrom ..core.env import step"
    assert upward(source, "jaxsudoku.solvers.gumbel") == []
    assert upward("from .puct import x\nfrom .tree import step", "jaxsudoku.solvers", is_package=True) == []


def test_mastermind_stands_behind_a_wall():
    """It imports nothing of the Sudoku side; only its own commands and the package's face import it."""
    arrows = {
        (module, name)
        for module, path in MODULES.items()
        for _, name in imported(path.read_text(), module, path.name == "__init__.py")
    }
    used = {room(name) for module, name in arrows if room(module) == "mastermind"}
    assert used == {"mastermind", "runtime", "pictures"}
    users = {module for module, name in arrows if room(name) == "mastermind" != room(module)}
    assert {module for module in users if not module.startswith("jaxsudoku.cli.mastermind.")} == {"jaxsudoku"}
    assert not {module for module, name in arrows if name == "jaxsudoku.cli.mastermind"}  # its name is a command's


def test_the_training_of_mastermind_stands_behind_it_too():
    own = [path for path in TRAINING if path.stem.startswith("mastermind")]
    used = {name for path in own for _, name in imported(path.read_text(), f"train.{path.stem}")}
    assert {room(name) for name in used} == {"mastermind", "runtime", "cli"}
    assert not [path for path in TRAINING if path not in own and "mastermind" in path.read_text()]


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The modules that import each other, directly or not, in groups."""
    reached = {}
    for module in arrows:
        found, left = set(), [module]
        while left:
            new = arrows[left.pop()] - found
            found |= new
            left += new
        reached[module] = found
    groups = {frozenset(other for other in found if module in reached[other]) for module, found in reached.items()}
    return [sorted(group) for group in groups if group]


def test_no_modules_import_each_other():
    arrows = {
        module: {name for _, name in imported(path.read_text(), module, path.name == "__init__.py")} & MODULES.keys()
        for module, path in MODULES.items()
    }
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]
    assert circles(arrows) == []


#: The levels inside ``solvers``, lowest first; "" is its own ``__init__``. Families of solvers import no other family.
SOLVER_LEVELS = (
    ("guided_config", "roots", "judging", "votes"),
    ("queue", "network_calls"),
    ("tree.tree_config", "textbook.textbook_config", "population.population_config", "sat.sat_config"),
    ("tree", "textbook", "population", "decoding", "exact"),
    ("guided_exact", "sat", "registry"),
    ("",),
    ("driver",),
)


def _solver_level(module: str) -> tuple[int, str]:
    """The level of a module in ``solvers``, and the entry of ``SOLVER_LEVELS`` that it belongs to."""
    inside = module.removeprefix(f"{PACKAGE}.solvers").strip(".")
    found = [
        (level, name)
        for level, names in enumerate(SOLVER_LEVELS)
        for name in names
        if inside == name or (name and inside.startswith(f"{name}."))
    ]
    assert found, f"{module} is on no level of SOLVER_LEVELS: put {inside!r} there"
    return max(found, key=lambda pair: len(pair[1]))


def test_imports_run_downwards_inside_solvers():
    faults = []
    for module in (module for module in MODULES if room(module) == "solvers"):
        path, (level, name) = MODULES[module], _solver_level(module)
        for line, other in imported(path.read_text(), module, path.name == "__init__.py"):
            if room(other) == "solvers":
                above, there = _solver_level(other)
                if there != name and above >= level:
                    faults.append(f"{module}:{line} imports {other}")
    assert not faults, "\n".join(faults)


# ---------------------------------------------------------------------- what is public

OUTSIDE = [
    path for folder in ("train", "benchmarks", "notebooks") for path in sorted((FOLDER.parent / folder).rglob("*.py"))
]
TRAINING = [path for path in OUTSIDE if path.parent.name == "train"]


def test_what_lies_outside_is_found():
    assert "supervised" in [path.stem for path in TRAINING]
    assert {path.parent.name for path in OUTSIDE} == {"train", "examples", "benchmarks", "notebooks"}


def dotted(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a file imports from elsewhere than its own folder, each with its line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_only_public_names_are_imported_from_outside():
    """A name is public if no part of its dotted path begins with an underscore; the rest of the package may change."""
    private = [
        f"{path.parent.name}/{path.name}:{line} imports {name}"
        for path in OUTSIDE
        for line, name in dotted(path)
        if name.split(".")[0] in (PACKAGE, "train") and any(part.startswith("_") for part in name.split("."))
    ]
    assert not private, "\n".join(private)


def test_names_of_the_face_have_docstrings():
    public = {name: getattr(jaxsudoku, name) for name in [*jaxsudoku.__all__, *jaxsudoku._MODULES]}
    del public["__version__"]
    assert not [name for name, x in public.items() if not isinstance(x, dict) and not (x.__doc__ or "").strip()]


def test_the_package_knows_nothing_of_training():
    faults = [
        f"{module}:{line} imports {name}"
        for module, path in MODULES.items()
        for line, name in dotted(path)
        if name.split(".")[0] == "train"
    ]
    assert not faults, "\n".join(faults)


# ---------------------------------------------------------------------- importing computes nothing

#: Calls under these names make arrays or ask for devices, and so start the backend.
COMPUTING = ("jax.numpy", "jax.random", "jax.lax", "jax.nn", "jax.scipy")
STARTING = ("jax.devices", "jax.local_devices", "jax.device_count", "jax.default_backend", "jax.device_put")


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that importing evaluates: all but the bodies of functions and what annotations say."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        parts = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
        parts += [] if isinstance(node, ast.Lambda) else node.decorator_list
    else:
        yield node
        parts = [part for part in ast.iter_child_nodes(node) if part is not getattr(node, "annotation", None)]
    for part in parts:
        yield from run_at_import(part)


def computed_at_import(source: str) -> list[str]:
    """The calls into JAX's array functions that importing a module would make."""
    tree = ast.parse(source)
    names = {}  # what a name of this module stands for, dotted
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    calls = []
    for node in run_at_import(tree):
        if isinstance(node, ast.Call):
            written = ast.unparse(node.func)
            first, _, rest = written.partition(".")
            meant = names.get(first, "") + (f".{rest}" if rest else "")
            if meant in STARTING or any(meant.startswith(f"{name}.") for name in COMPUTING):
                calls.append(f"line {node.lineno}: {written}(...)")
    return calls


def test_no_array_is_made_at_import():
    calls = [
        f"{path}: {call}" for path in [*MODULES.values(), *TRAINING] for call in computed_at_import(path.read_text())
    ]
    assert not calls, "\n".join(["modules that call JAX while being imported, which starts the backend:", *calls])


@pytest.mark.parametrize(
    "source",
    [
        "import jax.numpy as jnp\nX = jnp.zeros(3)",
        "from jax import numpy as jnp\nclass A:\n  x = jnp.uint32(1)",
        "import jax\nX = {'a': [jax.numpy.arange(3)]}",
        "import jax.numpy\nX = jax.numpy.arange(3)",
        "from jax import random\ndef f(key=random.key(0)): ...",
        "from jax.numpy import zeros\nf = lambda x=zeros(3): x",
        "import jax\nif jax.default_backend() == 'cpu': pass",
        "from jax import lax\n@lax.stop_gradient(3)\ndef f(): ...",
    ],
)
def test_an_array_made_at_import_is_found(source):
    assert len(computed_at_import(source)) == 1


def test_other_calls_at_import_are_well():
    source = """
import functools, jax, numpy as np, jax.numpy as jnp
TABLE = np.arange(9)
DTYPE = jnp.uint32
square = jax.jit(lambda x: jnp.square(x))
@functools.partial(jax.jit, static_argnames="board")
def zeros(board): return jnp.zeros(board.cells)
"""
    assert computed_at_import(source) == []


def _in_fresh_python(program: str) -> str:
    # The folder above the package stands first on the path, so that it is this package that is imported.
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=FOLDER.parent, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_importing_starts_no_backend():
    others = {f"{PACKAGE}.adapters.{name}" for name in ("gymnasium", "jumanji")}  # import packages that may start it
    names = [name for name in MODULES if room(name) != "__main__" and name not in others]
    program = f"""
import importlib
for name in {names}:
    importlib.import_module(name)
import jax.numpy
from jax._src.xla_bridge import backends_are_initialized  # JAX has no public way to ask
print(backends_are_initialized())
jax.numpy.zeros(1)
print(backends_are_initialized())
"""
    before, after = _in_fresh_python(program).split()
    assert before == "False", "importing some module of the package starts JAX's backend"
    assert after == "True", "this test no longer sees whether the backend has started"


def test_no_public_name_is_a_modules_too():
    """Importing ``jaxsudoku.x`` sets ``x`` on the package: a function of that name would be lost."""
    functions = {name for name in jaxsudoku.__all__ if name not in jaxsudoku._MODULES}
    assert not functions & {room(module) for module in MODULES}


def test_reading_and_drawing_need_no_jax():
    """In one process: the first name whose import loads JAX is told."""
    modules = [
        module
        for name in WITHOUT_JAX
        for module in (
            [module for module in MODULES if room(module) == name and name != "solvers"] or [f"{PACKAGE}.{name}"]
        )
    ]
    program = f"""
import importlib, sys
for name in {modules}:
    importlib.import_module(name)
    if "jax" in sys.modules:
        sys.exit(f"importing {{name}} imports jax")
"""
    assert _in_fresh_python(program) == ""
