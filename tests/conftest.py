"""What every test module shares."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib.metadata
import math
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["program_counts"]

# Compiling is most of what the tests do, so it is done in a hurry, here and in processes that tests start; it has to be
# said before jax is imported. JAX_DISABLE_MOST_OPTIMIZATIONS=0 compiles as users do.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
if os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] == "1":
    # Passes over loops, repeated until nothing changes, take a third of what is left; emitters of fusions, half of the
    # rest; generating code in many parts at once, a twentieth, as the other worker has the other core. The last two are
    # turned off with jax 0.10 alone; a later one that does not know a flag ends the process.
    _passes = ["simplify-while-loops", "while-loop-invariant-code-motion", "small-while-loop-hoisting"]
    _flags = [f"--xla_disable_hlo_passes={','.join(_passes)}"]
    if importlib.metadata.version("jax").startswith("0.10."):
        _flags += ["--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1"]
    _given = os.environ.get("XLA_FLAGS", "").split()  # also what the process that started this one has set
    os.environ["XLA_FLAGS"] = " ".join([*_given, *(flag for flag in _flags if flag not in _given)])

# A shell makes its background jobs ignore Ctrl-C, and processes that tests start and interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tracing makes many objects and hardly any garbage, whose collection takes a twentieth of the time by default.
gc.set_threshold(50_000, 20, 100)

# Programs that take a while to compile are shared by the workers and by processes that tests start, in a folder of this
# run; nothing is kept in the user's cache directory, from which another run's programs could come.
os.environ["JAXSUDOKU_CACHE"] = "0"
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="jaxsudoku-programs-")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
# Where each operation comes from is left out of programs, which takes a twelfth of tracing and lowering.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

# Compiling counts towards an example's time, so no deadline; a check that runs unattended must not fail by chance.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("unattended", deadline=None, derandomize=True, database=None, print_blob=True)
hypothesis.settings.load_profile("unattended" if os.environ.get("CI") else "here")


#: Modules that take longest, fast and slow tests together: they begin first, so that no worker is left with one of them
#: at the end.
_LONGEST = ("solvers", "notebooks", "selfplay_runs", "benchmarks", "selfplay_processes", "train_processes", "train")
_LONGEST += ("generation", "cli_jobs", "exact", "tree", "modes", "distributed_arrays", "docs", "selfplay", "techniques")
_LONGEST += ("decoding", "networks", "proof", "shipped", "adversarial", "cli", "mastermind", "boards", "cube")
_LONGEST += ("mastermind_values", "cli_making", "population", "typing", "hardening")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the modules, whose tests stay in their order."""
    place = {f"test_{name}": number for number, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of well-known puzzle sets, which the project doesn't ship."""
    named = os.environ.get("JAXSUDOKU_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no puzzle sets: {folder} is no folder; name one in the environment variable JAXSUDOKU_DATA")
    return folder


#: Maps of memory of a process after which its compiled programs are dropped; Linux allows 65,530.
_MAPS = 40_000


@pytest.fixture(scope="session", autouse=True)
def no_lines_of_progress() -> Iterator[None]:
    """Commands print no progress however long they take, so that what they print is the same on a slow machine."""
    from jaxsudoku.runtime.terminal import progress

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "_FIRST_LINE", math.inf)
        yield


@pytest.fixture(scope="module", autouse=True)
def dropped_programs() -> Iterator[None]:
    """Drops all compiled programs after a module if they take many maps of memory; else modules share them."""
    yield
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.exists() and maps.read_bytes().count(b"\n") > _MAPS:
        import jax

        from jaxsudoku.engine import batches

        batches._compile.cache_clear()
        jax.clear_caches()


@contextlib.contextmanager
def optimising() -> Iterator[None]:
    """Compiles as users do, here and in processes that are started.

    A program that this process has compiled already stays as it is.
    """
    import jax

    name = "jax_disable_most_optimizations"
    before = jax.config.read(name)
    jax.config.update(name, False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "0")
        yield
    jax.config.update(name, before)


@pytest.fixture
def optimised() -> Iterator[None]:
    """Compiles as users do, for programs that run longer than it takes to compile them."""
    with optimising():
        yield
