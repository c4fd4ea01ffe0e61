"""Runs the notebooks' scripts, and writes the notebooks with their outputs.

    python notebooks/build.py                # all of them, some minutes each
    python notebooks/build.py mastermind     # one of them
    python notebooks/build.py --text NAME    # new text between the same code, without running it
    python notebooks/build.py --check        # whether the outputs belong to the scripts

A notebook is written only if its script ran to the end. Pictures are stored with few colours, so that all notebooks
together stay small. The notebook's metadata has a digest of the code, the versions, and the time it took.

A script begins with its title, a line of what was found, and a picture. The picture is that of the cell with the tag
``picture``; it is written into ``docs/images/notebooks``, and the gallery, ``docs/notebooks.md``, shows it with the
line. The cells with the tag ``install`` are written here too: they install jaxsudoku where it is missing, from the
repository that pyproject.toml names. Constants that make a notebook quick or thorough are in the cell with the tag
``parameters``, which has nothing but assignments.

Needs the extra notebook.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import platform
import re
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
PICTURES, GALLERY = ROOT / "docs" / "images" / "notebooks", ROOT / "docs" / "notebooks.md"

#: Most bytes of a notebook's pictures and text, and of all notebooks.
MOST_OF_ONE, MOST_OF_ALL = 400_000, 1_500_000

#: Lines of the longest cell of code.
MOST_LINES = 25

#: Colours of a stored picture.
_COLOURS = 64

#: The start of a notebook: its title, a line of what was found, and its picture.
_START = re.compile(r"# (?P<title>.+)\n\n\*\*What was found\.\*\* (?P<found>(?:.+\n)+)\n!\[.+\]\((?P<picture>.+)\)\n")

#: The two cells of a script that install the package.
_INSTALL = re.compile(
    r'^# %% \[markdown\] tags=\["install"\]\n.*?^# %% tags=\["install"\]\n.*?(?=^# %%)', re.DOTALL | re.MULTILINE
)

_INSTALL_CELLS = """\
# %% [markdown] tags=["install"]
{text}

# %% tags=["install"]
import importlib.util
import os
import subprocess
import sys

if importlib.util.find_spec("jaxsudoku") is None:  # as in Colab
    fetch = "{fetch}"
    install = f"{{sys.executable}} -m pip install --quiet './checkout[evosax,plot,train]'"
    subprocess.run(f"{{fetch}} && {{install}}", shell=True, check=True)
    os.chdir("checkout/notebooks")
    sys.path.insert(0, os.path.dirname(os.getcwd()))

"""

_BADGE = "# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({address})\n"

_HOSTED = "# The next cell installs jaxsudoku where it is missing, as in Colab."

_UPLOAD = """\
# To run this notebook on another machine, such as in Colab, upload it together with the source distribution
# `jaxsudoku-*.tar.gz`, which `python -m build --sdist` makes in a checkout. The next cell installs it where jaxsudoku
# is missing."""

_GALLERY = """\
# Notebooks

Experiments with their outputs. The times are those of one CPU core that other programs used too. The constants in the
cell of parameters, near the top of each notebook, make it smaller or larger.

| notebook | what was found |
|---|---|
"""

#: What is put before the cells, and not stored: the size of pictures.
_SETTINGS = "%matplotlib inline\n%config InlineBackend.rc = {'figure.dpi': 72}"


def scripts() -> list[Path]:
    """The notebooks' scripts, in the order of their names."""
    return [path for path in sorted(FOLDER.glob("*.py")) if path != Path(__file__).resolve()]


def tags(cell: Any) -> list[str]:
    """The tags of a cell."""
    return cell.metadata.get("tags", [])


def digest(cells: list[Any]) -> str:
    """SHA-256 of the sources of the code among cells, but for the cell that installs the package."""
    code = [cell.source for cell in cells if cell.cell_type == "code" and "install" not in tags(cell)]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


def repository() -> str:
    """Where the project is hosted, or "" as long as it is not."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["hatch"]["metadata"]["hooks"]["custom"].get("repository", "").rstrip("/")


def install_cells(name: str, address: str) -> str:
    """The cells of a script that install the package from a repository, or from an upload if its address is ""."""
    if not address:
        fetch = "mkdir checkout && tar xzf jaxsudoku-*.tar.gz --strip-components=1 -C checkout"
        return _INSTALL_CELLS.format(text=_UPLOAD, fetch=fetch)
    github, fetch = "https://github.com/", f"git clone --quiet --depth 1 {address} checkout"
    if not address.startswith(github):  # Colab opens no other addresses
        return _INSTALL_CELLS.format(text=_HOSTED, fetch=fetch)
    in_colab = (
        f"https://colab.research.google.com/github/{address.removeprefix(github)}/blob/main/notebooks/{name}.ipynb"
    )
    return _INSTALL_CELLS.format(text=_BADGE.format(address=in_colab) + _HOSTED, fetch=fetch)


def with_install_cells(script: Path) -> str:
    """The text of a script with the cells that install the package as they are now."""
    cells = install_cells(script.stem, repository())
    text, found = _INSTALL.subn(lambda _: cells, script.read_text(encoding="utf-8"))
    if found != 1:
        raise ValueError(f"{script.name}: a markdown cell and a code cell with the tag install must follow each other")
    return text


def start(script: Path) -> dict[str, str]:
    """The title of a script, its line of what was found, and its picture.

    Raises:
      ValueError: the script does not begin with these.
    """
    import jupytext

    found = _START.match(jupytext.read(script).cells[0].source + "\n")
    if not found or found["picture"] != f"../docs/images/notebooks/{script.stem}.png":
        raise ValueError(f"{script.name} must begin with a title, **What was found.** and its picture")
    return {**found.groupdict(), "found": " ".join(found["found"].split())}


def gallery() -> str:
    """The page of the documentation with a picture of every notebook, and its line of what was found."""
    import jupytext

    rows = []
    for script in scripts():
        title, found, _ = start(script).values()
        minutes = jupytext.read(script.with_suffix(".ipynb")).metadata["jaxsudoku"]["seconds"] / 60
        link = f"../notebooks/{script.stem}.ipynb"
        rows.append(
            f"| [![{title}](images/notebooks/{script.stem}.png)]({link}) "
            f"| [{title}]({link}) ({max(minutes, 1):.0f} min)<br>{found} |\n"
        )
    return _GALLERY + "".join(rows)


def build(script: Path) -> float:
    """Runs a script and writes its notebook; returns the seconds that it took.

    Raises:
      nbclient.exceptions.CellExecutionError: a cell failed; the notebook is left as it was.
      ValueError: the notebook would be larger than ``MOST_OF_ONE``, or a cell wrote to stderr.
    """
    import jax
    import jupytext
    import nbclient
    import nbformat

    script.write_text(with_install_cells(script), encoding="utf-8")
    start(script)
    notebook = jupytext.read(script)
    sources = digest(notebook.cells)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_SETTINGS))
    begun = time.perf_counter()
    # relative links and files are those of the folder of notebooks
    nbclient.NotebookClient(
        notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    seconds = time.perf_counter() - begun
    del notebook.cells[0]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise ValueError(f"{script.name}: the cell {cell.source[:60]!r} wrote to stderr: {output.text[:500]}")
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = _few_colours(output.data["image/png"])
                output.metadata = {}
        if "outputs" in cell:
            cell.outputs = merged(cell.outputs)
    facts = {"python": platform.python_version(), "jax": jax.__version__, "seconds": round(seconds)}
    _write(script, notebook, {"sources": sources, **facts})
    return seconds


def merged(outputs: list[Any]) -> list[Any]:
    """The outputs of a cell with all that it printed as one, in the place of the first."""
    printed = [output for output in outputs if output.output_type == "stream"]
    if printed:
        printed[0].text = "".join(output.text for output in printed)
    return [output for output in outputs if output.output_type != "stream" or output is printed[0]]


def retell(script: Path) -> None:
    """Writes the script's text into its notebook, and keeps the outputs.

    Raises:
      ValueError: the code has changed, so that it has to run.
    """
    import jupytext

    script.write_text(with_install_cells(script), encoding="utf-8")
    notebook, stored = jupytext.read(script), jupytext.read(script.with_suffix(".ipynb"))
    facts = stored.metadata.get("jaxsudoku", {})
    if not digest(notebook.cells) == digest(stored.cells) == facts.get("sources"):
        raise ValueError(f"{script.name}: the code has changed since it ran; build the notebook")
    ran = (cell for cell in stored.cells if cell.cell_type == "code")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            before = next(ran)
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
    _write(script, notebook, facts)


def _write(script: Path, notebook: Any, facts: dict[str, Any]) -> None:
    """Writes a notebook, with nothing in its metadata that changes from run to run but the facts, and its picture."""
    import nbformat

    chosen = [output for cell in notebook.cells if "picture" in tags(cell) for output in cell.get("outputs", [])]
    pictures = [output.data["image/png"] for output in chosen if "image/png" in output.get("data", {})]
    if not pictures:
        raise ValueError(f"{script.name}: no cell with the tag picture shows one")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "jupytext": {"formats": "ipynb,py:percent"},
        "jaxsudoku": facts,
    }
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {"tags": tags(cell)} if tags(cell) else {}
        cell["id"] = f"{script.stem}-{number}".replace("_", "-")
    text = nbformat.writes(notebook) + "\n"
    if len(text) > MOST_OF_ONE:
        raise ValueError(f"{script.name}: the notebook has {len(text):,} bytes, more than {MOST_OF_ONE:,}")
    target = script.with_suffix(".ipynb")
    partial = target.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(target)
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{script.stem}.png").write_bytes(base64.b64decode(pictures[0]))


def problems() -> list[str]:
    """What is wrong with the stored notebooks: nothing, if their outputs are those of the scripts."""
    import jupytext

    found = []
    for script in scripts():
        target = script.with_suffix(".ipynb")
        if not target.exists():
            found.append(f"{target.name} is missing")
            continue
        cells, stored = jupytext.read(script).cells, jupytext.read(target)
        if any(cell.cell_type == "markdown" and "TODO" in cell.source for cell in cells):
            found.append(f"{script.name} is not finished")
        if not digest(cells) == digest(stored.cells) == stored.metadata.get("jaxsudoku", {}).get("sources"):
            found.append(f"{target.name}: the outputs are of another version of {script.name}")
        outputs = [output for cell in stored.cells for output in cell.get("outputs", [])]
        if not any("image/png" in output.get("data", {}) for output in outputs):
            found.append(f"{target.name} shows no picture")
        if any(output.output_type == "error" for output in outputs):
            found.append(f"{target.name}: a cell failed")
        if any([o.output_type for o in cell.get("outputs", [])].count("stream") > 1 for cell in stored.cells):
            found.append(f"{target.name}: the printed lines of a cell are not one output")
        found += faults(script)
    size = sum(path.stat().st_size for path in FOLDER.glob("*.ipynb"))
    if size > MOST_OF_ALL:
        found.append(f"the notebooks have {size:,} bytes, more than {MOST_OF_ALL:,}")
    if not found and GALLERY.read_text(encoding="utf-8") != gallery():
        found.append(f"{GALLERY.name} is not the gallery of these notebooks: build.py --text writes it")
    return found


def faults(script: Path) -> list[str]:
    """What is wrong with a script, whatever its outputs are."""
    import jupytext

    found = []
    try:
        start(script)
    except ValueError as error:
        found.append(str(error))
    if script.read_text(encoding="utf-8") != with_install_cells(script):
        found.append(f"{script.name}: the cells that install the package are out of date: build.py --text writes them")
    cells = [cell for cell in jupytext.read(script).cells if cell.cell_type == "code"]
    for cell in cells:
        if (lines := len(cell.source.splitlines())) > MOST_LINES:
            found.append(f"{script.name}: the cell {cell.source[:30]!r} has {lines} lines, more than {MOST_LINES}")
    for tag in ("install", "parameters", "picture"):
        if (number := sum(tag in tags(cell) for cell in cells)) != 1:
            found.append(f"{script.name}: {number} cells of code have the tag {tag}, not one")
    if not (PICTURES / f"{script.stem}.png").exists():
        found.append(f"{script.stem}.png is missing")
    return found


def _few_colours(picture: str) -> str:
    """A picture as base64, with a palette of few colours."""
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    stored = io.BytesIO()
    # the octree keeps colours of few pixels, such as those of red digits
    palette = image.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette.save(stored, "png", optimize=True)
    return base64.b64encode(stored.getvalue()).decode() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    names = [script.stem for script in scripts()]
    parser.add_argument("notebooks", nargs="*", metavar="NAME", help=f"{', '.join(names)} (default: all)")
    parser.add_argument("--text", action="store_true", help="run nothing; put new text between the same code")
    parser.add_argument("--check", action="store_true", help="run nothing; exit with 1 if outputs are out of date")
    args = parser.parse_args()
    if unknown := set(args.notebooks) - set(names):
        parser.error(f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(names)}")
    if args.text:
        for name in args.notebooks or names:
            retell(FOLDER / f"{name}.py")
    elif not args.check:
        # the checkout's package, with train/ and benchmarks/ beside it
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(FOLDER.parent), os.environ.get("PYTHONPATH")]))
        for name in args.notebooks or names:
            print(f"{name}: {build(FOLDER / f'{name}.py'):,.0f} s", flush=True)
    if not args.check:
        GALLERY.write_text(gallery(), encoding="utf-8")
    found = problems()
    print("\n".join(found) or "the notebooks' outputs are those of their scripts")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
