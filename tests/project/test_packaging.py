"""What is distributed: the files, the README of the metadata, and which packages are required for what."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from jaxsudoku import __version__

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

#: Files of a checkout that are not distributed.
LEFT_OUT = (".ci/", ".github/", ".gitignore", "benchmarks/results/")

#: Files that users leave, here and there.
STRAY = (
    "solved.txt",
    "runs/cube/metrics.jsonl",
    "train/shard-00000.npz",
    "benchmarks/out/figures.json",
    "benchmarks/results/mine.json",
    "docs/report.png",
    "tests/out.csv",
    "jaxsudoku/puzzles.parquet",
    "jaxsudoku/puzzles/9x9.solved.csv",
    "jaxsudoku/networks/trained/cube.png",
    "data/17clue.txt",
)


def distributed(root: Path, kind: str) -> set[str]:
    """The files of a "wheel" or "sdist" that hatchling would build, by their paths in it."""
    builder = importlib.import_module(f"hatchling.builders.{kind}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        made = getattr(builder, f"{kind.capitalize()}Builder")(str(root))
        return {file.distribution_path for file in made.recurse_included_files()}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked, in which a user has worked."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("project")
    for name in distributed(ROOT, "sdist"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in STRAY:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("left here")
    return folder


def test_what_users_leave_is_not_distributed(copied):
    files = distributed(copied, "sdist")
    assert files == distributed(ROOT, "sdist")
    assert not files & set(STRAY)
    wheel = distributed(copied, "wheel")
    assert wheel == {name for name in files if name.startswith("jaxsudoku/")}
    assert {"jaxsudoku/py.typed", "jaxsudoku/puzzles/9x9.txt", "jaxsudoku/networks/trained/cube.safetensors"} <= wheel
    assert {"jaxsudoku/explanation/stepper.js", "jaxsudoku/explanation/stepper.css"} <= wheel
    assert {"jaxsudoku/mastermind/trained/value.safetensors", "jaxsudoku/mastermind/words/english.txt"} <= wheel


def test_what_has_another_licence_has_its_text():
    words = (ROOT / "jaxsudoku/mastermind/words/english.txt").read_text()
    assert PROJECT["license"] == "Apache-2.0 AND MIT"
    assert "# Copyright (c) 2013-2016 Pavol Rusnak" in words and "# Permission is hereby granted" in words


def test_all_of_the_checkout_is_distributed(copied):
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not in a checkout, or no git")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    missing = {name for name in tracked if not name.startswith(LEFT_OUT)} - distributed(ROOT, "sdist")
    assert not missing, "name them in pyproject.toml, or in LEFT_OUT here"


# ---------------------------------------------------------------------- metadata


def test_the_citation_has_the_version():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None and cited[1] == __version__


def metadata(root: Path) -> Any:
    core = importlib.import_module("hatchling.metadata.core")
    manager = importlib.import_module("hatchling.plugin.manager")
    found = core.ProjectMetadata(str(root), manager.PluginManager())
    return found.core


def hook() -> Any:
    """The module hatch_build.py."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def relative_links(text: str) -> list[str]:
    return [target for target in re.findall(r"\]\(([^)]*)\)", text) if "://" not in target]


def test_the_readme_of_the_metadata_has_no_link_that_leads_nowhere(copied):
    core = metadata(copied)
    readme = (ROOT / "README.md").read_text()
    assert relative_links(readme) and not relative_links(core.readme)
    assert core.readme_content_type == "text/markdown"
    assert core.urls == {} and "`docs/networks.md`" in core.readme
    assert "![" in readme and "![" not in core.readme
    code = re.compile(r"```.*?```", re.DOTALL)
    assert code.findall(core.readme) == code.findall(readme)


def test_one_line_makes_urls_and_links(copied, tmp_path):
    root = tmp_path / "hosted"
    shutil.copytree(copied, root)
    text = (root / "pyproject.toml").read_text()
    hook = "[tool.hatch.metadata.hooks.custom]\n"
    assert hook in text
    (root / "pyproject.toml").write_text(text.replace(hook, hook + 'repository = "https://host.example/jaxsudoku"\n'))
    core = metadata(root)
    assert core.urls["Repository"] == "https://host.example/jaxsudoku"
    assert "[networks](https://host.example/jaxsudoku/blob/main/docs/networks.md)" in core.readme
    assert "](https://host.example/jaxsudoku/raw/main/docs/images/batch.svg)\n" in core.readme
    assert not relative_links(core.readme)


@pytest.mark.parametrize(
    ("text", "hosted", "plain"),
    [
        ("[a](docs/a.md#b)", "[a](R/blob/main/docs/a.md#b)", "a (`docs/a.md#b`)"),
        ("[two\nlines](a.md)", "[two\nlines](R/blob/main/a.md)", "two\nlines (`a.md`)"),
        ("[`a`](a)", "[`a`](R/blob/main/a)", "`a`"),
        ("[a](#figures)", "[a](R#figures)", "a"),
        ("![a](docs/a.svg)", "![a](R/raw/main/docs/a.svg)", "a (`docs/a.svg`)"),
        ("[![an A](a.svg)](b.md)", "[![an A](R/raw/main/a.svg)](R/blob/main/b.md)", "an A (`a.svg`) (`b.md`)"),
        ("[![a](https://h/a)](b.md)", "[![a](https://h/a)](R/blob/main/b.md)", "![a](https://h/a) (`b.md`)"),
        ("[a](https://h/a) and ![a](https://h/b)", None, None),
        ("```python\nx[i](j) and ![a](b)\n```\n", None, None),
        ("`x[i](j)` and ``![`](b)``", None, None),
    ],
)
def test_links_and_images_of_the_readme_become_absolute(text, hosted, plain):
    with_absolute_links = hook().with_absolute_links
    assert with_absolute_links(text, "R/") == (text if hosted is None else hosted)
    assert with_absolute_links(text, "") == (text if plain is None else plain)


@pytest.mark.parametrize("text", ['<img src="a.svg">', '[a](b.md "title")', "[a]: b.md", '<a href="#b">'])
def test_relative_addresses_in_other_forms_are_refused(text):
    with_absolute_links = hook().with_absolute_links
    for repository in ("https://host.example", ""):
        with pytest.raises(ValueError, match="write a relative link or image as"):
            with_absolute_links(f"# Title\n\n{text}\n", repository)
    assert with_absolute_links(f"`{text}`", "") == f"`{text}`"


def test_links_of_the_readme_lead_to_files():
    for target in relative_links((ROOT / "README.md").read_text()):
        assert (ROOT / target.partition("#")[0]).exists(), target


# ---------------------------------------------------------------------- workflows


def workflow(name: str) -> Any:
    """A workflow of GitHub; the key "on" is read as True, as YAML has it."""
    path = ROOT / ".github" / "workflows" / f"{name}.yml"
    if not path.exists():
        pytest.skip("not in a checkout")
    return pytest.importorskip("yaml").safe_load(path.read_text())


@pytest.mark.parametrize("name", ["tests", "publish", "site"])
def test_workflows_pin_actions_and_begin_without_rights(name):
    read = workflow(name)
    assert read["permissions"] == {"contents": "read"}
    for job in read["jobs"].values():
        assert "uses" in job or job["timeout-minutes"]
        for used in (step["uses"] for step in job.get("steps", ()) if "uses" in step):
            assert re.search(r"@(v\d+|release/v\d+)$", used), used


def test_workflows_test_every_supported_python():
    named = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)}
    jobs = workflow("tests")["jobs"]
    steps = [step.get("with", {}).get("python-version") for step in jobs["everything"]["steps"]]
    installed = [version for version in steps if version]
    assert set(installed) == named and f">={installed[-1]}" == PROJECT["requires-python"]
    further = re.search(r"^for minor in ([\d ]+); do$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert further is not None and {f"3.{minor}" for minor in further[1].split()} == named
    assert {*jobs["tests"]["strategy"]["matrix"]["python"], installed[-1]} == named


def test_only_a_tested_tag_is_published():
    read = workflow("publish")
    assert read[True] == {"push": {"tags": ["v*"]}}
    assert (
        read["jobs"]["tests"]["uses"] == "./.github/workflows/tests.yml" and "workflow_call" in workflow("tests")[True]
    )
    assert set(read["jobs"]["upload"]["needs"]) == {"tests", "build"}
    trusted = [name for name, job in read["jobs"].items() if job.get("permissions", {}).get("id-token") == "write"]
    assert trusted == ["upload"]


# ---------------------------------------------------------------------- dependencies


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[>=<;]", requirement)[0].strip() for requirement in requirements}


def imported(folder: str) -> set[str]:
    """Packages that a folder's modules import, besides the standard library's and the project's own."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            # under TYPE_CHECKING alone, where every type checker knows it
            found |= {module.split(".")[0] for module in modules} - {"typing_extensions"}
    newer = {"compression"}  # of the standard library from Python 3.14 on
    packages = {"pysat": "python-sat"}
    return {packages.get(name, name) for name in found - set(sys.stdlib_module_names) - newer - {"jaxsudoku", "train"}}


def test_the_package_requires_what_it_imports():
    required, extras = names(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    used = imported("jaxsudoku")
    assert required <= used, "a required package is used by the package itself"
    optional = set().union(
        *(names(extras[extra]) for extra in extras if extra not in ("train", "test", "dev", "bench"))
    )
    assert used <= required | optional


def test_training_needs_the_extra_train():
    extras = {name: names(requirements) for name, requirements in PROJECT["optional-dependencies"].items()}
    modules = {"orbax-checkpoint": "orbax"}
    train = {modules.get(name, name) for name in extras["train"]}
    used = imported("train") - names(PROJECT["dependencies"])
    assert train <= used <= train | {"tensorboardX"}
    assert {"jaxsudoku"} <= extras["bench"] and any(
        "[train]" in text for text in PROJECT["optional-dependencies"]["bench"]
    )


@pytest.mark.parametrize("absent", ["optax", "orbax", "orbax.checkpoint"])
def test_training_without_its_packages_says_what_to_install(absent, monkeypatch):
    spec = importlib.util.spec_from_file_location("training", ROOT / "train" / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # as it is here
    for name in [name for name in sys.modules if name == absent or name.startswith(f"{absent}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, absent, None)
    needed = "orbax.checkpoint" if absent == "orbax" else absent
    with pytest.raises(
        ModuleNotFoundError, match=re.escape(f"training needs {needed}: ") + r".*pip install -e '.\[train\]'"
    ):
        spec.loader.exec_module(module)
