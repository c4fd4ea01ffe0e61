"""Relations of neighbouring cells along a line: thermometers, kropki dots, XV, anti-knight. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jaxsudoku.pictures.constraints import Symbol

from .base import Constraint, cells_text, namespace, neighbours, prefixes, single, union

#: Relations of a digit and the next one: name -> function of two digits, and a number if the name takes one.
RELATIONS: dict[str, Callable[..., Any]] = {
    "less": lambda x, y: x < y,
    "not more": lambda x, y: x <= y,
    "equal": lambda x, y: x == y,
    "different": lambda x, y: x != y,
    "differ by": lambda x, y, n: abs(x - y) == n,
    "not differ by": lambda x, y, n: abs(x - y) != n,
    "at least apart": lambda x, y, n: abs(x - y) >= n,
    "times": lambda x, y, n: (x == n * y) | (y == n * x),
    "not times": lambda x, y, n: (x != n * y) & (y != n * x),
    "add to": lambda x, y, n: x + y == n,
    "not add to": lambda x, y, n: x + y != n,
    "multiply to": lambda x, y, n: x * y == n,
}

#: The name of a chain of each relation in texts, see ``Constraint.text``.
TEXTS = {
    "less": "thermometer",
    "not more": "slow-thermometer",
    "equal": "equal",
    "different": "different",
    "differ by": "difference",
    "not differ by": "not-differing-by",
    "at least apart": "whispers",
    "times": "ratio",
    "not times": "not-in-ratio",
    "add to": "adding-to",
    "not add to": "not-adding-to",
    "multiply to": "multiplying-to",
}

#: What chains of some relations are called in messages.
_NAMES = {
    "less": "thermometer",
    "not more": "slow thermometer",
    "equal": "equal pair",
    "different": "different pair",
    "differ by": "difference",
    "differ by 1": "white dot",
    "not differ by 1": "non-consecutive pair",
    "not differ by": "negative difference",
    "not times": "negative ratio",
    "not add to": "negative sum",
    "at least apart": "whispers line",
    "times": "ratio",
    "times 2": "black dot",
    "add to 5": "V",
    "add to 10": "X",
}


#: Relations of so many differences, or more, are looked up digit by digit.
_FEW = 5


@dataclasses.dataclass(frozen=True)
class Chain(Constraint):
    """Each cell and the next one satisfy a relation.

    Attributes:
      cells: the cells along the line, at least two.
      relation: a name of ``RELATIONS``, with its number if it takes one, as in "less" and "differ by 1".
    """

    relation: str = "less"

    @property
    def name(self) -> str:  # type: ignore[override]
        relation, *number = _words(self.relation)
        found = _NAMES.get(self.relation) or _NAMES.get(relation, "pair")
        return " ".join((found, *number)) if found.startswith("negative") else found

    def prune(self, masks: Sequence[Any], numbers: Sequence[Any], side: int) -> Sequence[Any]:
        allowed = _allowed(self.relation, side)
        forwards = prefixes(masks[1:], masks[0], lambda before, mask: mask & _support(allowed, before))
        return prefixes(forwards[-2::-1], forwards[-1], lambda after, mask: mask & _support(allowed.T, after))[::-1]

    def differing(self, side: int) -> Iterable[tuple[int, int]]:
        if self.relation == "less":
            return itertools.combinations(self.cells, 2)
        return () if _allowed(self.relation, side).diagonal().any() else itertools.pairwise(self.cells)

    def holds(self, digits: Sequence[Any], numbers: Sequence[Any], side: int) -> Any:
        related, number = _relation(self.relation)
        pairs = [related(one, other, *number) for one, other in itertools.pairwise(digits)]
        return functools.reduce(lambda x, y: x & y, pairs)

    @property
    def relabels(self) -> bool:  # type: ignore[override]
        return self.relation in ("equal", "different")

    def text(self, side: int) -> str | None:
        words = _words(self.relation)
        return f"{TEXTS[words[0]]}({' '.join((*words[1:], cells_text(self.cells, side)))})"

    @property
    def roles(self) -> tuple[int, ...]:
        last = len(self.cells) - 1
        return tuple(min(place, last - place) if self._symmetric else place for place in range(last + 1))

    def normalized(self) -> Chain:
        return dataclasses.replace(self, cells=min(self.cells, self.cells[::-1]) if self._symmetric else self.cells)

    @property
    def _symmetric(self) -> bool:
        allowed = _allowed(self.relation, 9)
        return bool((allowed == allowed.T).all())

    def drawing(self, side: int) -> tuple[Symbol, ...]:
        name, *number = _words(self.relation)
        if name in ("different", "not differ by", "not times", "not add to"):
            return ()
        n, pair = "".join(number), len(self.cells) == 2
        if name == "less" and pair and neighbours(self.cells, side):
            return (Symbol("less", self.cells),)
        if name in ("less", "not more", "at least apart"):
            return (Symbol(TEXTS[name], self.cells),)
        if not pair:
            return (Symbol("line", self.cells),)
        drawn = {
            "equal": ("clone", ""),
            "differ by": ("white-dot", "" if n == "1" else n),
            "times": ("black-dot", "" if n == "2" else n),
            "add to": ("edge", {"5": "V", "10": "X"}.get(n, n)),
            "multiply to": ("edge", f"\N{MULTIPLICATION SIGN}{n}"),
        }
        symbol, text = drawn[name]
        return (Symbol(symbol, self.cells, text),)

    def check(self, side: int) -> None:
        _relation(self.relation)
        if len(self.cells) < 2:
            raise ValueError(f"{len(self.cells)} cells; it needs two or more")
        allowed: np.ndarray = _allowed(self.relation, side)
        reached: np.ndarray = np.ones(side, bool)
        for length in range(2, len(self.cells) + 1):
            reached = (allowed & reached[:, None]).any(axis=0)
            if not reached.any():
                raise ValueError(f"{len(self.cells)} cells; with {side} digits it has at most {length - 1}")


def _words(relation: str) -> tuple[str, ...]:
    """A relation's name in ``RELATIONS``, and its number, if any."""
    match = re.fullmatch(r"([a-z ]+?)(?: (\d+))?", relation)
    if match is None or match[1] not in RELATIONS:
        raise ValueError(f"unknown relation {relation!r}; there are {', '.join(RELATIONS)}")
    return (match[1], match[2]) if match[2] else (match[1],)


def _relation(text: str) -> tuple[Callable[..., Any], list[int]]:
    """The function of a relation and its number, if any."""
    name, *number = _words(text)
    related = RELATIONS[name]
    if len(number) != related.__code__.co_argcount - 2:
        raise ValueError(f"relation {text!r}: {name!r} takes {'no' if number else 'a'} number")
    return related, list(map(int, number))


@functools.lru_cache(maxsize=64)
def _allowed(relation: str, side: int) -> np.ndarray:
    """Whether a digit may be followed by another one, bool[side, side]."""
    related, number = _relation(relation)
    digits = np.arange(1, side + 1)
    return np.asarray(related(digits[:, None], digits, *number), bool)


def _support(allowed: np.ndarray, masks: Any) -> Any:
    """The digits that may follow a candidate of ``masks``, as masks; bits above the side are undefined."""
    xp, side, zero = namespace(masks), len(allowed), np.zeros((), masks.dtype)
    if (allowed != np.eye(side, dtype=bool)).all():
        return xp.where(masks == 0, zero, ~single(masks))
    for least in (0, 1):  # digits above the lowest candidate, or below the highest one
        if (allowed == np.triu(np.ones_like(allowed), least)).all():
            lowest = masks & (~masks + 1)
            return ~((lowest << least) - 1) & xp.where(masks == 0, zero, ~zero)
        if (allowed == np.tril(np.ones_like(allowed), -least)).all():
            below = masks
            for step in (1, 2, 4, 8, 16):
                below = below | (below >> step) if step < side else below
            return below >> least
    diagonals = {shift for shift in range(1 - side, side) if allowed.diagonal(shift).any()}
    if 0 < len(diagonals) < _FEW and all(allowed.diagonal(shift).all() for shift in diagonals):
        return union([masks << shift if shift > 0 else masks >> -shift for shift in sorted(diagonals)])
    found = xp.zeros_like(masks)
    for digit, following in enumerate(allowed):
        word = np.array(sum(1 << int(other) for other in np.flatnonzero(following)), masks.dtype)
        found = found | xp.where((masks >> digit) & 1 != 0, word, zero)
    return found
