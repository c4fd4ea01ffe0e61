"""Regular expressions: none of the package takes longer than its text is long, whatever the text.

Python tries the ways in which a text can match one after the other. Their number grows with the text where two loops
read the same word, one after the other (then as a power of the length) or nested (exponentially). An expression
becomes an automaton with a state for each character of the pattern; such loops are found in products of it with itself,
as by Weber and Seidl ("On the degree of ambiguity of finite automata", 1991). A search is a match behind a loop that
skips any text, as Python begins it anew at every place.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import itertools
import re
from collections.abc import Iterator
from re import _compiler, _parser  # what Python itself parses and compiles expressions by
from typing import Any

import pytest
from test_architecture import MODULES

pytestmark = pytest.mark.quick

#: The characters that texts are made of here: those of bytes, and some of every kind.
BYTES = [bytes([number]) for number in range(256)]
TEXTS = [chr(number) for number in (*range(0x250), 0x3B1, 0x416, 0x663, 0x2003, 0x2028, 0x202E, 0x212A, 0x4E00, 0xDC80)]
ALL = (1 << max(len(BYTES), len(TEXTS))) - 1

ALL_CODES = 0x10FFFF

#: Repeats of at most so many times are written out; others count as endless.
FEW = 40


@dataclasses.dataclass
class Part:
    """A part of an automaton: the states that it begins with, and that it ends with, without what is inside.

    Attributes:
      first: the states.
      last: the states, each with the characters that can't follow it: those that a possessive repeat takes first.
      free: the states of ``last`` after which nothing else is asked for, such as the end of a line.
      empty: whether it matches nothing too; ``freely``, and then nothing else is asked for.
    """

    first: list[int] = dataclasses.field(default_factory=list)
    last: dict[int, int] = dataclasses.field(default_factory=dict)
    free: set[int] = dataclasses.field(default_factory=set)
    empty: bool = False
    freely: bool = False


class Automaton:
    """The automaton of an expression.

    Args:
      pattern: the expression.
      flags: of ``re``.
      how: the function of ``re`` that uses it.

    Attributes:
      chars: the characters that lead into each state, as bits.
      groups: for each state the parts around it that are never tried in another way once they have matched.
      edges: (state, state) to the characters of each way from one to the other, without other states between.
    """

    def __init__(self, pattern: str | bytes, flags: int = 0, how: str = "search") -> None:
        self.chars: list[int] = []
        self.groups: list[frozenset[int]] = []
        self.edges: dict[tuple[int, int], list[int]] = {}
        self._alphabet: list[Any] = BYTES if isinstance(pattern, bytes) else TEXTS
        self._numbers = itertools.count()
        tree = _parser.parse(pattern, flags)
        self._flags = tree.state.flags
        whole = self._sequence(tree, frozenset())
        self.free = set() if how == "fullmatch" else whole.free
        if how not in ("match", "fullmatch"):
            skipping = Part([self._state(ALL, frozenset())], empty=True)
            skipping.last = dict.fromkeys(skipping.first, 0)
            self._repeated(skipping)
            self._joined(skipping, whole)

    def _state(self, chars: int, groups: frozenset[int]) -> int:
        self.chars.append(chars)
        self.groups.append(groups)
        return len(self.chars) - 1

    def _link(self, last: dict[int, int], first: list[int]) -> None:
        for state, taken in last.items():
            for other in first:
                if chars := self.chars[other] & ~taken:
                    self.edges.setdefault((state, other), []).append(chars)

    def _repeated(self, part: Part) -> None:
        self._link(part.last, part.first)

    def _joined(self, one: Part, two: Part) -> Part:
        """One part after the other."""
        self._link(one.last, two.first)
        return Part(
            one.first + (two.first if one.empty else []),
            two.last | (one.last if two.empty else {}),
            two.free | (one.free if two.freely else set()),
            one.empty and two.empty,
            one.freely and two.freely,
        )

    def _sequence(self, items: Any, groups: frozenset[int]) -> Part:
        whole = Part(empty=True, freely=True)
        for item in items:
            whole = self._joined(whole, self._item(item, groups))
        return whole

    def _item(self, item: Any, groups: frozenset[int]) -> Part:
        kind, value = str(item[0]), item[1]
        if kind in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            state = self._state(_characters(repr(item), item, self._flags, self._alphabet is BYTES), groups)
            return Part([state], {state: 0}, {state})
        if kind == "SUBPATTERN":
            _, added, removed, items = value
            before, self._flags = self._flags, (self._flags | added) & ~removed
            part = self._sequence(items, groups)
            self._flags = before
            return part
        if kind == "BRANCH":
            parts = [self._sequence(items, groups) for items in value[1]]
            return functools.reduce(_either, parts)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._repeat(kind, *value, groups)
        if kind == "ATOMIC_GROUP":
            return self._sequence(value, groups | {next(self._numbers)})
        if kind in ("ASSERT", "ASSERT_NOT"):
            ahead, items = value
            if ahead < 0:  # a text of fixed length before this place
                return Part(empty=True)
            # it is read at every place that is reached, and nothing follows it
            return Part(self._sequence(items, groups | {next(self._numbers)}).first, empty=True)
        if kind == "GROUPREF":  # any text
            return self._repeat("MAX_REPEAT", 0, 1 << 16, [(_parser.IN, [(_parser.RANGE, (0, ALL_CODES))])], groups)
        assert kind == "AT", f"unknown part of an expression: {kind}"
        start = str(value) == "AT_BEGINNING_STRING" or (str(value) == "AT_BEGINNING" and not self._flags & re.MULTILINE)
        return Part(empty=not start)  # nothing comes before the start of the text

    def _repeat(self, kind: str, least: int, most: int, items: Any, groups: frozenset[int]) -> Part:
        inside = groups | {next(self._numbers)} if kind == "POSSESSIVE_REPEAT" else groups
        whole = Part(empty=True, freely=True)
        for _ in range(min(least, FEW)):
            whole = self._joined(whole, self._sequence(items, inside))
        if most > FEW:
            part = self._sequence(items, inside)
            self._repeated(part)
            whole = self._joined(whole, dataclasses.replace(part, empty=True, freely=True))
            if kind == "POSSESSIVE_REPEAT" and len(items) == 1 and part.first == [*part.last]:  # of one character
                whole.last = dict.fromkeys(whole.last, self.chars[part.first[0]])
            return whole
        further = Part(empty=True, freely=True)
        for _ in range(most - least):
            part = self._joined(self._sequence(items, inside), further)
            further = dataclasses.replace(part, empty=True, freely=True)
        return self._joined(whole, further)

    # ------------------------------------------------------------------ loops

    @functools.cached_property
    def _next(self) -> dict[int, dict[int, int]]:
        """For each state those that follow it, and the characters."""
        found: dict[int, dict[int, int]] = {state: {} for state in range(len(self.chars))}
        for (one, two), ways in self.edges.items():
            found[one][two] = functools.reduce(int.__or__, ways)
        return found

    @functools.cached_property
    def _loops(self) -> dict[int, frozenset[int]]:
        """The states of loops, each with all states of its loops."""
        reached = {}
        for state in self._next:
            seen, queue = set(), [state]
            while queue:
                new = self._next[queue.pop()].keys() - seen
                seen |= new
                queue += new
            reached[state] = seen
        return {
            state: frozenset(other for other in seen if state in reached[other])
            for state, seen in reached.items()
            if state in seen
        }

    def _run(self, start: tuple[int, ...], within: list[frozenset[int] | None]) -> set[tuple[int, ...]]:
        """What can be reached from states by reading the same word from each, within some states."""
        seen, queue = {start}, [start]
        while queue:
            states = queue.pop()
            nexts = [
                [(other, chars) for other, chars in self._next[state].items() if inside is None or other in inside]
                for state, inside in zip(states, within, strict=True)
            ]
            for choice in itertools.product(*nexts):
                new = tuple(other for other, _ in choice)
                if new not in seen and functools.reduce(int.__and__, (chars for _, chars in choice)):
                    seen.add(new)
                    queue.append(new)
        return seen

    def fault(self) -> str:
        """Loops that read the same word, in words; "" if there are none."""
        for state, loop in self._loops.items():
            if state not in loop:
                continue
            for one, two in self._run((state, state), [loop, loop]):
                if one != two and (state, state) in self._run((one, two), [loop, loop]):
                    return f"nested loops: {self._named(one)} and {self._named(two)}"
            for (one, two), ways in self.edges.items():
                if {one, two} <= loop and any(a & b for a, b in itertools.combinations(ways, 2)):
                    return f"nested loops: {self._named(one)} and {self._named(two)}"
        for one, two in itertools.permutations(self._loops, 2):
            if two in self.free or not self._apart(one, two):
                continue
            loops = [self._loops[one], None, self._loops[two]]
            if (one, two, two) in self._run((one, one, two), loops):
                return f"loops one after the other: {self._named(one)} and {self._named(two)}"
        return ""

    def _apart(self, one: int, two: int) -> bool:
        """Whether loops can be left earlier for another state, which they can't if they are in a part that stays."""
        kept = set[int].intersection(*({*self.groups[state]} for state in self._loops[one]))
        return kept <= self.groups[two]

    def _named(self, state: int) -> str:
        shown = [char for number, char in enumerate(self._alphabet) if self.chars[state] >> number & 1]
        return f"{len(shown)} characters such as {shown[len(shown) // 2]!r}"


def _either(one: Part, two: Part) -> Part:
    return Part(
        one.first + two.first,
        one.last | two.last,
        one.free | two.free,
        one.empty or two.empty,
        one.freely or two.freely,
    )


_known: dict[tuple[str, int, bool], int] = {}


def _characters(key: str, item: Any, flags: int, data: bool) -> int:
    """The characters that match an item of a pattern, as bits; found by matching them."""
    if (key, flags, data) not in _known:
        state = _parser.State()
        state.flags = flags
        one = _compiler.compile(_parser.SubPattern(state, [item]), flags)
        alphabet = BYTES if data else TEXTS
        _known[key, flags, data] = sum(1 << number for number, char in enumerate(alphabet) if one.fullmatch(char))
    return _known[key, flags, data]


# ---------------------------------------------------------------------- the method


@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (r"[A-Za-z_]\w*[A-Za-z_][\w .-]*", "fullmatch"),
        (r"#\s*(.*?)\s*:\s*(.*)", "fullmatch"),
        (r"(a+)+b", "match"),
        (r"(a|ab|b)*c", "match"),
        (r"(?:a?b?)*c", "match"),
        (r"(\w+\s?)*$", "match"),
        (r"x*y?x*z", "match"),
        (r"\d{3,}\w{2,9999}!", "match"),
        (rb"\r(?!\r*\n)", "sub"),
        (r"(\d+)x\1\d*!", "match"),
        (r"\s*(?m:^)\s*x", "match"),
        (r"\s++$", "search"),
        (r"(?>a*a*b)", "match"),
        (r"(?i:k)*[\u212aK]*!", "match"),
        (r"(?:a++b?+)*(?:ab)*c", "match"),
    ],
)
def test_loops_that_read_the_same_are_found(pattern, how):
    assert "loops" in Automaton(pattern, 0, how).fault()


@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (r"a*b*c", "fullmatch"),
        (r"\w+", "search"),
        (r"\w*\d*", "match"),
        (r"\w++\s*+:", "match"),
        (r"(?:[^\"]++|\"\")*+\"", "match"),
        (r"[a-z]+-[a-z]+!", "match"),
        (r"([A-Za-z]+-)*[A-Za-z]{2,}$", "match"),
        (r"\w*+!", "match"),
        (r"(?!(\d+)x\1$)\d+x\d+", "fullmatch"),
        (r"a*(?<=a)b", "match"),
        (r"(\A|,)\"(?:[^\"]++|\"\")*+\"", "finditer"),
        (r"\d{1,2}(,\d{1,2})*", "fullmatch"),
    ],
)
def test_loops_that_are_told_apart_are_well(pattern, how):
    assert Automaton(pattern, 0, how).fault() == ""


# ---------------------------------------------------------------------- the package

#: Functions of ``re`` and methods of expressions.
USES = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")

#: What stands for names that an expression within a function has.
SAMPLES = {"delimiter": b","}


def expressions() -> Iterator[tuple[str, Any, int, str]]:
    """The expressions of the package: (place, pattern, flags, function that uses it)."""
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text())
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _function(node)]
        if not calls:
            continue
        known = {**SAMPLES, **vars(importlib.import_module(name))}
        for call in calls:
            how = _function(call)
            flags = [word.value for word in call.keywords if word.arg == "flags"]
            flags += call.args[1:2] if how == "compile" else []
            values = [eval(compile(ast.Expression(part), name, "eval"), known) for part in (call.args[0], *flags)]
            pattern, flag = values[0], int(values[1]) if flags else 0
            for use in _uses(tree, call) if how == "compile" else [how]:
                yield f"{name}:{call.lineno}", pattern, flag, use


def _function(call: ast.Call) -> str:
    """The function of ``re`` that is called, with a pattern; "" for others."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
        return function.attr if function.attr in (*USES, "compile") else ""
    return ""


def _uses(tree: ast.AST, call: ast.Call) -> list[str]:
    """The methods of a compiled expression that a module names; a search if that is not known."""
    names: set[str] = set()
    for node in ast.walk(tree):  # also what a name of the expression is assigned to, further below
        if isinstance(node, ast.Assign) and (
            node.value is call or any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node.value))
        ):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names
    }
    return sorted(used & {*USES}) or ["search"]


def test_no_expression_takes_longer_than_its_text_is_long():
    found = list(expressions())
    assert len(found) > 30
    faults = [
        f"{place}: {how} {pattern!r}: {fault}"
        for place, pattern, flags, how in found
        if (fault := Automaton(pattern, flags, how).fault())
    ]
    assert not faults, "\n".join(faults)


def test_every_compiled_expression_is_looked_at():
    looked_at = {pattern for _, pattern, _, _ in expressions()}
    compiled = {
        (name, label): value.pattern
        for name, path in MODULES.items()
        if "import re\n" in path.read_text()
        for label, value in vars(importlib.import_module(name)).items()
        if isinstance(value, re.Pattern)
    }
    assert compiled and not {key for key, pattern in compiled.items() if pattern not in looked_at}
