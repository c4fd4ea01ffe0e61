"""The registry of techniques: every technique by name, simplest first. No JAX is loaded until one runs.

Names, order and scores follow Sudoku Explainer. Techniques that it lacks or counts as chains are placed among patterns
of similar size: "w-wing", "finned-x-wing", "finned-swordfish", "simple-colouring". Unlike there, the score of a chain
does not depend on its length. Its generalised techniques (aligned exclusion, bivalue universal grave, unique loops,
direct subsets) are left out.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.suggestions import known_name


class Kind(enum.Enum):
    """Kind of a technique: the signature of its function.

    The first two map (board, position, settings) to candidates uint32[side, cells, W]. REFUTES maps (board,
    candidates, assumed, settings) to the lanes uint32[W] in which the assumed candidate is refuted. LINKS maps (board,
    candidates, assumed, settings) to the candidates that the assumed one makes true and those that it makes false.
    """

    PLACES = "places"  #: the candidates to fill in
    REMOVES = "removes"  #: the candidates to remove
    REFUTES = "refutes"  #: whether assuming one candidate leads to a contradiction
    LINKS = "links"  #: direct consequences of assuming one candidate, followed link by link to a contradiction


@dataclasses.dataclass(frozen=True)
class Technique:
    """An entry of the registry.

    Attributes:
      name: the technique's name.
      title: the name in words, for the end of sentences. Two forms of one pattern share it.
      score: its difficulty, on Sudoku Explainer's scale.
      kind: the signature of its function.
      function: the function's location, "module:function" below ``jaxsudoku.techniques``.
      settings: keyword arguments of the function, as pairs.
      widest: the side of the largest boards on which it is used, 0 for all.
      regions: whether it needs houses besides rows and columns, which Latin squares do not have.
      worth: for a technique that refutes candidates, the location of a function that selects those worth assuming;
        None for all. It maps (board, candidates) to candidates uint32[side, cells, W].
      unique: whether it assumes that the puzzle has a unique solution.
      constraints: whether it needs constraints.
      clues: whether its function takes the clues of the lanes' puzzles, as an argument ``clues``.
    """

    name: str
    title: str
    score: float
    kind: Kind
    function: str
    settings: tuple[tuple[str, Any], ...] = ()
    worth: str | None = None
    widest: int = 0
    regions: bool = False
    unique: bool = False
    constraints: bool = False
    clues: bool = False

    @functools.cached_property
    def run(self) -> Callable[..., Any]:
        """The function, with its settings."""
        return functools.partial(_imported(self.function), **dict(self.settings))

    @functools.cached_property
    def candidates(self) -> Callable[..., Any] | None:
        """The function of ``worth``."""
        return None if self.worth is None else _imported(self.worth)


def _imported(name: str) -> Callable[..., Any]:
    """Imports "module:function" below ``jaxsudoku.techniques``."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f"jaxsudoku.techniques.{module}"), function)
    return found


def _of(size: int) -> tuple[tuple[str, Any], ...]:
    return (("size", size),)


#: Every technique, simplest first.
TECHNIQUES: tuple[Technique, ...] = (
    Technique("full-house", "full house", 1.0, Kind.PLACES, "singles:full_houses"),
    Technique(
        "hidden-single-in-region", "hidden single", 1.2, Kind.PLACES, "singles:hidden_singles_in_regions", regions=True
    ),
    Technique("hidden-single-in-line", "hidden single", 1.5, Kind.PLACES, "singles:hidden_singles_in_lines"),
    Technique("naked-single", "naked single", 2.3, Kind.PLACES, "singles:naked_singles"),
    Technique("constraint", "constraint", 2.5, Kind.REMOVES, "constraints:constraints", constraints=True, clues=True),
    Technique("pointing", "locked candidates", 2.6, Kind.REMOVES, "locked:pointing", regions=True),
    Technique("claiming", "locked candidates", 2.8, Kind.REMOVES, "locked:claiming", regions=True),
    Technique("naked-pair", "naked pair", 3.0, Kind.REMOVES, "subsets:naked_subsets", _of(2)),
    Technique("x-wing", "X-wing", 3.2, Kind.REMOVES, "subsets:fish", _of(2)),
    Technique("hidden-pair", "hidden pair", 3.4, Kind.REMOVES, "subsets:hidden_subsets", _of(2)),
    Technique("naked-triple", "naked triple", 3.6, Kind.REMOVES, "subsets:naked_subsets", _of(3)),
    Technique("swordfish", "swordfish", 3.8, Kind.REMOVES, "subsets:fish", _of(3)),
    Technique("hidden-triple", "hidden triple", 4.0, Kind.REMOVES, "subsets:hidden_subsets", _of(3)),
    Technique("xy-wing", "XY-wing", 4.2, Kind.REFUTES, "wings:xy_wing", worth="wings:seeing_two_pairs"),
    Technique("xyz-wing", "XYZ-wing", 4.4, Kind.REFUTES, "wings:xyz_wing", worth="wings:seeing_two_pairs"),
    Technique("unique-rectangle", "unique rectangle", 4.5, Kind.REMOVES, "rectangles:unique_rectangles", unique=True),
    Technique("w-wing", "W-wing", 4.6, Kind.REFUTES, "wings:w_wing", worth="wings:seeing_pair_twice"),
    Technique("finned-x-wing", "finned X-wing", 4.7, Kind.REFUTES, "fins:finned_fish", _of(2)),
    Technique("finned-swordfish", "finned swordfish", 4.8, Kind.REFUTES, "fins:finned_fish", _of(3)),
    Technique("naked-quad", "naked quad", 5.0, Kind.REMOVES, "subsets:naked_subsets", _of(4), widest=25),
    Technique("jellyfish", "jellyfish", 5.2, Kind.REMOVES, "subsets:fish", _of(4), widest=25),
    Technique("hidden-quad", "hidden quad", 5.4, Kind.REMOVES, "subsets:hidden_subsets", _of(4), widest=25),
    Technique("simple-colouring", "simple colouring", 6.5, Kind.REFUTES, "chains:chain", (("links", "colours"),)),
    Technique("x-chain", "X-chain", 6.6, Kind.REFUTES, "chains:chain", (("links", "digit"),)),
    Technique("xy-chain", "XY-chain", 6.8, Kind.REFUTES, "chains:chain", (("links", "pairs"),)),
    Technique("aic", "alternating inference chain", 7.0, Kind.REFUTES, "chains:chain", (("links", "all"),)),
    Technique(
        "almost-locked-sets", "almost locked sets", 7.2, Kind.REFUTES, "almost_locked:almost_locked_sets", widest=16
    ),
    Technique("als-chain", "ALS chain", 7.4, Kind.LINKS, "almost_locked:links", widest=16),
    Technique("nishio", "nishio", 7.5, Kind.REFUTES, "nets:nishio"),
    Technique(
        "forcing-chain", "forcing chain", 8.5, Kind.REFUTES, "nets:forcing_chain", (("rules", "singles"),), clues=True
    ),
    Technique(
        "forcing-chain-with-locked-candidates",
        "forcing chain with locked candidates",
        9.0,
        Kind.REFUTES,
        "nets:forcing_chain",
        (("rules", "locked"),),
        clues=True,
    ),
)

#: The number of each technique in ``TECHNIQUES``, by its name.
NUMBERS: Mapping[str, int] = {technique.name: number for number, technique in enumerate(TECHNIQUES)}


def get(name: str) -> Technique:
    """The technique of a name, in any case, with spaces, dashes or underscores.

    Raises:
      ValueError: the name is unknown, and the message lists all; or it is not a text.
    """
    return TECHNIQUES[NUMBERS[known_name("technique", name, NUMBERS)]]


def chosen(names: Iterable[str] | None) -> tuple[Technique, ...]:
    """The techniques of some names, the simplest first; all for None.

    Raises:
      ValueError: an unknown name, or a value that is not a sequence of names.
    """
    if names is None:
        return TECHNIQUES
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"techniques must be a sequence of names, not {names!r}")
    wanted = {get(name) for name in names}
    return tuple(technique for technique in TECHNIQUES if technique in wanted)


def names_up_to(name: str) -> tuple[str, ...]:
    """The names of the techniques up to one, the simplest first; errors as in ``get``."""
    return tuple(NUMBERS)[: NUMBERS[get(name).name] + 1]


#: The hardest technique of each program but the last, which has all. A program for harder ones takes longer to compile.
_LAST_OF_PROGRAMS = ("hidden-triple", "hidden-quad", "aic", "als-chain")


def program_for(up_to: str | None) -> tuple[tuple[str, ...] | None, int]:
    """The techniques of the program that applies those up to one, and the number of that one.

    Which of its techniques a program applies is data, so few programs serve all: where singles alone are wanted one of
    just these, else one up to the next of a few techniques.

    Args:
      up_to: the name of the hardest technique to apply; None for all.

    Returns:
      the names, as for ``solve_by_techniques``, and the number, its ``last``.

    Raises:
      ValueError: as ``get``.
    """
    if up_to is None:
        return None, len(TECHNIQUES) - 1
    wanted = get(up_to)
    number = NUMBERS[wanted.name]
    if wanted.kind is Kind.PLACES:
        return names_up_to(up_to), number
    end = next((name for name in _LAST_OF_PROGRAMS if NUMBERS[name] >= number), None)
    return None if end is None else names_up_to(end), number


def fits(technique: Technique, board: Board, clued: bool = False) -> bool:
    """Whether a technique can find anything on a board, or in puzzles with constraints of their own (``clued``)."""
    size = dict(technique.settings).get("size", 1)
    lines, others = board.houses[: 2 * board.side], board.houses[2 * board.side :]
    if technique.regions and set(map(frozenset, others)) <= set(map(frozenset, lines)):
        return False
    if technique.constraints and not (board.constraints or clued):
        return False
    return 2 * size <= board.side <= (technique.widest or board.side)
