"""Writes the reference of the site: a page for every public name, every solver, network, player and command.

The pages have directives for Sphinx's autodoc; their texts are the docstrings. Only pages that changed are written, so
that a second build of the site is quick.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import jaxsudoku
from jaxsudoku.cli import make_parser
from jaxsudoku.cli.parser import Parser
from jaxsudoku.mastermind import PLAYERS
from jaxsudoku.networks import NETWORKS
from jaxsudoku.solvers import SOLVERS

#: What the names at the top of the package are for, in the order of the page.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "Solving": ("solve", "count_solutions", "SOLVERS", "Solution", "Status"),
    "Puzzles and boards": ("Board", "Clues", "load", "read_puzzles", "parse", "generate", "Puzzles", "GenerationError"),
    "Puzzles with constraints": ("read_variants", "parse_variant", "generate_variants", "VariantPuzzles"),
    "Explanations and ratings": ("explain", "hint", "Explanation", "Step", "rate", "TechniqueRatings", "weakest_rules"),
    "Pictures": ("draw", "picture", "Picture", "Marks", "plot_history"),
    "Networks": ("load_network", "make_network", "save_network", "evaluate"),
    "Rules and checks": ("propagate", "outcome", "is_valid", "is_solved", "conflicts"),
    "Compilation": ("compiler_options",),
}

#: An array's dtype and shape.
_SHAPE = re.compile(r"(?<![`\w.])((?:u?int\d*|b?float\d*|bool|integers|floats)\[[^\]\n]*\])")
#: A literal.
_LITERAL = re.compile(r"(``.*?``)")
#: A first sentence.
_SENTENCE = re.compile(r"(?:``.*?``|[^.]|[.](?! |$))*[.]?")


def public_names(module: types.ModuleType) -> list[str]:
    """The public names of a module: its ``__all__``, or what it defines without a leading underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(name for name in listed if name != "__version__")
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def modules() -> dict[str, types.ModuleType]:
    """The public modules by name, without the package itself."""
    names = (name for name in dir(jaxsudoku) if name not in jaxsudoku.__all__)
    return {name: getattr(jaxsudoku, name) for name in names}


def described() -> list[str]:
    """Every public name with its module, as in "jaxsudoku.symmetry.sample"."""
    names = [f"jaxsudoku.{name}" for name in public_names(jaxsudoku)]
    return names + [f"jaxsudoku.{place}.{name}" for place, module in modules().items() for name in public_names(module)]


def page_of(place: str, name: str) -> str:
    """The page of a public name of a module: that of the package, or of the first module, that has the same object."""
    found = {f"jaxsudoku.{other}": module for other, module in modules().items()}
    value = getattr(found.get(place, jaxsudoku), name)
    homes = ["jaxsudoku"] if name in jaxsudoku.__all__ and getattr(jaxsudoku, name) is value else []
    homes += (
        other for other, module in found.items() if name in public_names(module) and getattr(module, name) is value
    )
    return f"{homes[0]}.{name}"


def marked(text: str) -> str:
    """Text of a docstring whose dtypes with shapes, as in "uint8[N, cells]", are literals, and asterisks are plain."""
    parts = _LITERAL.split(text)
    parts[::2] = [_SHAPE.sub(r"``\1``", part) for part in parts[::2]]
    parts = _LITERAL.split("".join(parts))
    parts[::2] = [part.replace("*", r"\*") for part in parts[::2]]
    return "".join(parts)


def write(folder: Path) -> None:
    """Writes all pages of the reference into a folder, and removes those of names that are gone."""
    pages = dict(_pages())
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*.rst"):
        if path.relative_to(folder).with_suffix("").as_posix() not in pages:
            path.unlink()


def _pages() -> Iterator[tuple[str, str]]:
    """The pages by name, a path without its suffix."""
    unknown = {name for names in TOPICS.values() for name in names} ^ set(public_names(jaxsudoku))
    if unknown:
        raise ValueError(f"TOPICS does not list the public names of jaxsudoku: {', '.join(sorted(unknown))}")
    parts = [_title("Python"), "Every public name of ``jaxsudoku``, written ``js`` in examples.\n"]
    for topic, names in TOPICS.items():
        parts += [_title(topic, "-"), _members("jaxsudoku", jaxsudoku, names)]
    found = modules()
    summaries = {f"jaxsudoku.{name}": (name, _summary(name, module)) for name, module in found.items()}
    yield "index", "\n".join([*parts, _title("Modules", "-"), _contents(summaries)])
    for name in public_names(jaxsudoku):
        yield f"jaxsudoku.{name}", _page("jaxsudoku", name, getattr(jaxsudoku, name))
    for name, module in found.items():
        place, names = f"jaxsudoku.{name}", public_names(module)
        head = f"{_title(place)}\n.. automodule:: {module.__name__}\n   :no-index:\n\n"
        yield place, head + _members(place, module, names, listed=False)
        for member in names:
            if page_of(place, member) == f"{place}.{member}":
                yield f"{place}.{member}", ":orphan:\n\n" + _page(place, member, getattr(module, member))
    yield from _registry("solvers", "Solvers", "js.solve(puzzles, solver=NAME, SETTING=VALUE)", SOLVERS)
    yield from _registry("networks", "Networks", "js.make_network(NAME, key, SIZE=VALUE)", NETWORKS)
    yield from _registry("players", "Mastermind players", "js.mastermind.build(game, NAME, SETTING=VALUE)", PLAYERS)
    yield "commands", _commands()


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def _summary(name: str, value: Any) -> str:
    """The first sentence of a docstring, of data that of its comment."""
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    else:
        text = " ".join(_comment(name, value))
    return marked(_SENTENCE.match(" ".join(text.split()))[0])


def _members(place: str, module: types.ModuleType, names: Iterable[str], listed: bool = True) -> str:
    """A table of public names of a module, and whether the list of pages has them."""
    return _contents({page_of(place, name): (name, _summary(name, getattr(module, name))) for name in names}, listed)


def _contents(pages: Mapping[str, tuple[str, str]], listed: bool = True) -> str:
    """A table of pages with their labels and summaries; listed pages come below this one in the list of all pages."""
    rows = "".join(f"   * - :doc:`{label} <{page}>`\n     - {text}\n" for page, (label, text) in pages.items())
    tree = "".join(f"   {label} <{page}>\n" for page, (label, _) in pages.items())
    table = f".. list-table::\n   :widths: 30 70\n\n{rows}\n"
    return f"{table}.. toctree::\n   :hidden:\n\n{tree}\n" if listed else table


def _page(place: str, name: str, value: Any) -> str:
    """The page of a public name."""
    title = _title(f"{place}.{name}")
    if inspect.isclass(value):
        return f"{title}\n.. autoclass:: {place}.{name}\n   :members:\n"
    if inspect.isroutine(value):
        return f"{title}\n.. autofunction:: {place}.{name}\n"
    text = "".join(f"   {line}".rstrip() + "\n" for line in _comment(name, value))
    return f"{title}\n.. py:data:: {place}.{name}\n\n{text}"


def _comment(name: str, value: Any) -> list[str]:
    """The comment ``#:`` of data, in the module that defines it."""
    for module, found in list(sys.modules.items()):
        if module.partition(".")[0] == "jaxsudoku" and vars(found).get(name) is value:
            lines = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name))
            if lines:
                return [marked(line) for line in lines]
    raise ValueError(f"{name} is public and has no comment that begins with #:")


def _registry(page: str, title: str, call: str, registry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The pages of a registry whose entries have a summary and a dataclass of settings."""
    pages = {f"{page}-{name}": (name, entry.summary) for name, entry in registry.items()}
    yield page, f"{_title(title)}\n``{call}``\n\n{_contents(pages)}"
    for name, entry in registry.items():
        summary = f"{entry.summary[0].upper()}{entry.summary[1:]}."
        settings = f"{entry.config.__module__}.{entry.config.__qualname__}"
        yield f"{page}-{name}", f"{_title(name)}\n{summary}\n\n.. autoclass:: {settings}\n   :no-index:\n"


def _commands() -> str:
    """The help texts of all commands."""
    os.environ["COLUMNS"] = "100"  # the width that argparse wraps to
    return _title("Commands") + "".join(_helped(make_parser()))


def _helped(parser: Parser) -> Iterator[str]:
    """The help texts of a command and its sub-commands."""
    parser.define()
    lines = "".join(f"   {line}".rstrip() + "\n" for line in parser.format_help().splitlines())
    yield f"\n{_title(parser.prog, '-')}\n.. code-block:: text\n\n{lines}"
    for command in parser.commands.values():
        yield from _helped(command)
