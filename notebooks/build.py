"""Runs the notebooks' scripts, and writes the notebooks with their outputs.

    python notebooks/build.py                # all of them, some minutes each
    python notebooks/build.py mastermind     # one of them
    python notebooks/build.py --text NAME    # new text between the same code, without running it
    python notebooks/build.py --check        # whether the outputs belong to the scripts

A notebook is written only if its script ran to the end. Pictures are stored with few colours, so that all notebooks
together stay small. The notebook's metadata has a digest of the code, the versions, and the time it took.
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
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent

#: Most bytes of a notebook's pictures and text, and of all notebooks.
MOST_OF_ONE, MOST_OF_ALL = 400_000, 1_500_000

#: Colours of a stored picture.
_COLOURS = 64

#: What is put before the cells, and not stored: the size of pictures.
_SETTINGS = "%matplotlib inline\n%config InlineBackend.rc = {'figure.dpi': 72}"


def scripts() -> list[Path]:
    """The notebooks' scripts, in the order of their names."""
    return [path for path in sorted(FOLDER.glob("*.py")) if path != Path(__file__).resolve()]


def digest(cells: list[Any]) -> str:
    """SHA-256 of the sources of the code among cells."""
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


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

    notebook = jupytext.read(script)
    sources = digest(notebook.cells)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_SETTINGS))
    start = time.perf_counter()
    # relative links and files are those of the folder of notebooks
    nbclient.NotebookClient(
        notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    seconds = time.perf_counter() - start
    del notebook.cells[0]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise ValueError(f"{script.name}: the cell {cell.source[:60]!r} wrote to stderr: {output.text[:500]}")
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = _few_colours(output.data["image/png"])
                output.metadata = {}
    facts = {"python": platform.python_version(), "jax": jax.__version__, "seconds": round(seconds)}
    _write(script, notebook, {"sources": sources, **facts})
    return seconds


def retell(script: Path) -> None:
    """Writes the script's text into its notebook, and keeps the outputs.

    Raises:
      ValueError: the code has changed, so that it has to run.
    """
    import jupytext

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
    """Writes a notebook with nothing in its metadata that changes from run to run but the facts."""
    import nbformat

    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "jupytext": {"formats": "ipynb,py:percent"},
        "jaxsudoku": facts,
    }
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {}
        cell["id"] = f"{script.stem}-{number}".replace("_", "-")
    text = nbformat.writes(notebook) + "\n"
    if len(text) > MOST_OF_ONE:
        raise ValueError(f"{script.name}: the notebook has {len(text):,} bytes, more than {MOST_OF_ONE:,}")
    target = script.with_suffix(".ipynb")
    partial = target.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(target)


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
    size = sum(path.stat().st_size for path in FOLDER.glob("*.ipynb"))
    if size > MOST_OF_ALL:
        found.append(f"the notebooks have {size:,} bytes, more than {MOST_OF_ALL:,}")
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
        os.environ.pop("JAXSUDOKU_SMALL", None)
        # the checkout's package, with train/ and benchmarks/ beside it
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(FOLDER.parent), os.environ.get("PYTHONPATH")]))
        for name in args.notebooks or names:
            print(f"{name}: {build(FOLDER / f'{name}.py'):,.0f} s", flush=True)
    found = problems()
    print("\n".join(found) or "the notebooks' outputs are those of their scripts")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
