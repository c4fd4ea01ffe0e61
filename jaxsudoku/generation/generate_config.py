"""Settings of generation, and the numbers of clues that puzzles of a board can have. No JAX."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal, get_args

import numpy as np

from jaxsudoku.core.board import Board, check_board
from jaxsudoku.core.constraints.base import MAX_SIDE
from jaxsudoku.generation.patterns import Pattern, clue_counts
from jaxsudoku.runtime.settings import Config, Natural, Positive, real_number, whole_number
from jaxsudoku.runtime.suggestions import known_name
from jaxsudoku.techniques.registry import TECHNIQUES, chosen, fits, get

#: Placements of holes.
Holes = Literal["balanced", "random"]
#: All placements of holes.
HOLES: tuple[str, ...] = get_args(Holes)
#: Attempts at each puzzle before generation gives up, and where puzzles are chosen by technique.
ATTEMPTS, ATTEMPTS_BY_TECHNIQUE = 200, 100_000
#: Kinds of puzzles with constraints of their own, and the usual number of their givens.
VARIANTS: dict[str, int] = {"killer": 0, "thermometer": 12, "kropki": 12, "arrow": 12}
#: Default of ``steps`` if ratings have a lower bound.
_RATING_STEPS = 256
#: Proved minimum of the number of clues of a puzzle with one solution: 17 on 9x9 by McGuire, Tugemann and Civario,
#: "There is no 16-clue Sudoku" (2014), 4 on 4x4 by enumeration of all puzzles.
_FEWEST_CLUES = {Board.classic(4): 4, Board.classic(9): 17}
#: Largest number of clues of a known minimal puzzle; not proved to be the maximum.
_MOST_CLUES = {Board.classic(9): 40}


@dataclasses.dataclass(frozen=True)
class GenerateConfig(Config):
    """Settings of generation: properties of the puzzles, and limits of the effort.

    Attributes:
      clues: number of clues, or (fewest, most), each None for no bound; None for minimal puzzles. From a range, a
        number is drawn uniformly for each puzzle, which has this number of clues, or more if it becomes minimal before.
      minimal: whether no clue may be redundant; always True if ``clues`` is None. With a pattern: no orbit of clues may
        be redundant. From 12x12 up a clue counts as needed if no proof of redundancy is found within 20,000 nodes.
      rating: (lowest, highest) rating, each None for no bound; or one of ``rating.GRADES``, such as "hard", which is
        stored as its range.
      technique: the name of the hardest technique that a person needs, one of ``techniques.TECHNIQUES``.
      score: (lowest, highest) score of the hardest technique, each None for no bound. Puzzles that techniques do not
        solve have an infinite score.
      pattern: the symmetry of the cells with clues, one of ``PATTERNS``.
      steps: steps of local search in each attempt, towards fewer clues or a higher rating; None for 256 if the rating
        has a lower bound, else 0.
      attempts: attempts at each puzzle before giving up; None for 100,000 with ``technique`` or ``score``, else 200.
      holes: None for puzzles with one solution. "balanced" and "random" make instances that may have several: solved
        grids from which cells are removed, evenly (houses differ by at most one hole) or uniformly at random. It can be
        combined only with ``given`` and ``attempts``.
      given: the share of given cells with ``holes``, between 0 and 1. The number of clues is ``round(given * cells)``.
    """

    clues: int | tuple[int | None, int | None] | None = None
    minimal: bool = False
    rating: tuple[float | None, float | None] | str | None = None
    technique: str | None = None
    score: tuple[float | None, float | None] | None = None
    pattern: Pattern = "none"
    steps: Natural | None = None
    attempts: Positive | None = None
    holes: Holes | None = None
    given: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clues", _clues(self.clues))
        object.__setattr__(self, "rating", _rating(self.rating))
        object.__setattr__(self, "score", _range("score", self.score))
        if self.technique is not None:
            object.__setattr__(self, "technique", get(self.technique).name)
        self._check_holes()
        self._check_score()
        fewest, most = self.clue_range(1 << 30)
        if not 0 <= fewest <= most:
            raise ValueError(f"clues must be a number or a range from few to many, not {self.clues}")
        low, high = self.rating_range()
        if not low <= high:
            raise ValueError(f"rating must be a range from low to high, not {self.rating}")
        if high < 0:
            raise ValueError(f"rating must be a range from low to high, not {self.rating}: no rating is below 0")
        if self.rating is not None and low > np.finfo(np.float32).max:
            raise ValueError(f"rating must be a float32, not from {low} on")
        if self.steps and self.rating_range()[0] <= 0 and most == 1 << 30:
            raise ValueError("steps lead to fewer clues or a higher rating: bound the clues above or the rating below")

    def _check_score(self) -> None:
        """Raises ValueError if no puzzle can have the hardest technique and its score."""
        low, high = self.score_range()
        if not low <= high:
            raise ValueError(f"score must be a range from low to high, not {self.score}")
        if self.technique_names or self.unsolved or not self.by_technique:
            return
        if self.technique is None:
            raise ValueError(f"no technique has a score {_between(low, high)}")
        raise ValueError(
            f"{self.technique} has a score of {get(self.technique).score}, which is not {_between(low, high)}"
        )

    def _check_holes(self) -> None:
        """Raises ValueError if ``holes`` and ``given`` are inconsistent, or conflict with other settings."""
        if self.given is not None and not 0 < self.given < 1:
            hint = f": for {self.given:g}% it is {self.given / 100:g}" if 1 < self.given < 100 else ""
            raise ValueError(f"given must be a share between 0 and 1, not {self.given:g}{hint}")
        if self.holes is None:
            if self.given is not None:
                raise ValueError("given is for instances with holes: set holes too, or clues for puzzles without")
            return
        if self.given is None:
            raise ValueError("holes needs given, the share of cells that are given, such as 0.45")
        plain = GenerateConfig()
        names = ("clues", "minimal", "rating", "technique", "score", "pattern", "steps")
        if others := [name for name in names if getattr(self, name) != getattr(plain, name)]:
            raise ValueError(f"holes makes instances that may have several solutions, and takes no {', '.join(others)}")

    def clue_range(self, cells: int) -> tuple[int, int]:
        """Minimum and maximum number of clues."""
        if self.given is not None:
            return (round(self.given * cells),) * 2
        low, high = self.clues if isinstance(self.clues, tuple) else (self.clues, self.clues)
        return 0 if low is None else low, cells if high is None else high

    def rating_range(self) -> tuple[float, float]:
        """The lowest and the highest rating."""
        low, high = self.rating if isinstance(self.rating, tuple) else (None, None)
        return (0.0 if low is None else float(low), math.inf if high is None else float(high))

    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest score of the hardest technique."""
        low, high = self.score or (None, None)
        return (0.0 if low is None else float(low), math.inf if high is None else float(high))

    @property
    def by_technique(self) -> bool:
        """Whether puzzles are chosen by the hardest technique."""
        return self.technique is not None or self.score is not None

    @property
    def unsolved(self) -> bool:
        """Whether puzzles that techniques do not solve, with an infinite score, are also wanted."""
        return self.score is not None and self.technique is None and self.score_range()[1] == math.inf

    @property
    def technique_names(self) -> tuple[str, ...]:
        """Names of the techniques allowed as the hardest one."""
        low, high = self.score_range()
        return tuple(
            technique.name
            for technique in TECHNIQUES
            if low <= technique.score <= high and self.technique in (None, technique.name)
        )

    @property
    def exhaustive(self) -> bool:
        """Whether clues are removed until none is redundant."""
        return self.minimal or (self.clues is None and self.holes is None)

    @property
    def local_steps(self) -> int:
        """Steps of local search."""
        if self.steps is not None:
            return self.steps
        return _RATING_STEPS if self.rating_range()[0] > 0 else 0

    @property
    def most_attempts(self) -> int:
        """Attempts at each puzzle before giving up."""
        return self.attempts or (ATTEMPTS_BY_TECHNIQUE if self.by_technique else ATTEMPTS)

    def description(self, cells: int) -> str:
        """The wanted puzzles in words, for messages."""
        fewest, most = self.clue_range(cells)
        low, high = self.rating_range()
        parts = ["minimal"] if self.exhaustive else []
        if self.holes is not None:
            parts.append(f"{self.holes} holes, {fewest} clues")
        if self.clues is not None:
            parts.append(f"{fewest} clues" if fewest == most else f"{fewest} to {most} clues")
        if self.rating is not None:
            parts.append(f"rating {_between(low, high)}")
        if self.technique is not None:
            parts.append(f"technique {self.technique}")
        if self.score is not None:
            parts.append(f"score {_between(*self.score_range())}")
        if self.pattern != "none":
            parts.append(f"pattern {self.pattern}")
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True)
class VariantConfig(Config):
    """Settings of puzzles with constraints of their own.

    Attributes:
      variant: one of ``VARIANTS``: "killer", cages of 2 to 5 cells that cover the grid; "thermometer"; "kropki", all
        dots of the grid; "arrow".
      givens: the number of given digits; None for 0 in killers, 12 in others.
      attempts: attempts at each puzzle before giving up.
    """

    variant: str = "killer"
    givens: Natural | None = None
    attempts: Positive = ATTEMPTS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "variant", known_name("variant", self.variant, VARIANTS))

    @property
    def given_digits(self) -> int:
        """The number of given digits."""
        return VARIANTS[self.variant] if self.givens is None else self.givens

    @property
    def most_attempts(self) -> int:
        """Attempts at each puzzle before giving up."""
        return self.attempts

    def check(self, board: Board) -> None:
        """Raises ValueError if a board has fewer cells than the givens, or is wider than those with constraints."""
        if check_board(board).side > MAX_SIDE:
            raise ValueError(f"boards with constraints have a side of at most {MAX_SIDE}, not {board.side}")
        whole_number("givens", self.given_digits, 0, board.cells)


def _clues(clues: Any) -> int | tuple[int | None, int | None] | None:
    """A number of clues, or a range of two as a tuple, also from JSON and numpy; raises ValueError if it is neither."""
    try:
        if isinstance(clues, list | tuple):
            fewest, most = (end if end is None else whole_number("clues", end, None, None) for end in clues)
            return fewest, most
        return clues if clues is None else whole_number("clues", clues, None, None)
    except ValueError:
        raise ValueError(f"clues must be a whole number or a range of two, not {clues!r}") from None


def _rating(bounds: Any) -> tuple[float | None, float | None] | None:
    """A range of ratings as a tuple, from a range or a grade; raises ValueError if it is neither."""
    if isinstance(bounds, str):
        from jaxsudoku.rating import grade_range  # loads JAX

        return grade_range(bounds)
    return _range("rating", bounds)


def _range(name: str, bounds: Any) -> tuple[float | None, float | None] | None:
    """A range of numbers as a tuple; raises ValueError if it is none."""
    if bounds is None:
        return None
    try:
        low, high = (end if end is None else real_number("", end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a range from low to high, not {bounds!r}") from None
    return low, high


def _between(low: float, high: float) -> str:
    """A range in words."""
    return f"from {low:g}" + (f" to {high:g}" if high < math.inf else "")


# ---------------------------------------------------------------------- possible numbers of clues


def fewest_clues(board: Board) -> int:
    """A lower bound on the clues of a puzzle with one solution: the proved minimum if known, else the side less one.

    If two digits are missing among the clues, swapping them in a solution gives another one; so at most one is missing.
    This does not hold if constraints compare or add digits.
    """
    if not all(constraint.relabels for constraint in board.constraints):
        return 0
    return _FEWEST_CLUES.get(board, board.side - 1)


def most_minimal_clues(board: Board) -> int:
    """An upper bound on the clues of known minimal puzzles.

    A clue that completes its row is redundant, so each row of a minimal puzzle has an empty cell.
    """
    return _MOST_CLUES.get(board, board.cells - board.side)


def check_settings(board: Board, config: GenerateConfig) -> None:
    """Checks that puzzles with these settings may exist on a board.

    Raises:
      TypeError: not a board.
      ValueError: there are no such puzzles; the message gives the reason.
    """
    _check_clues(check_board(board), config)
    _check_techniques(board, config)


def _check_techniques(board: Board, config: GenerateConfig) -> None:
    """Raises ValueError if none of the wanted techniques can find anything on the board."""
    wanted = chosen(config.technique_names)
    if not config.by_technique or config.unsolved or any(fits(technique, board) for technique in wanted):
        return
    names, single = ", ".join(config.technique_names), len(wanted) == 1
    if any(0 < technique.widest < board.side for technique in wanted):
        verb = "is not used" if single else "are not used"
    else:
        verb = "finds nothing" if single else "find nothing"
    raise ValueError(f"{names} {verb} on a {board.side}x{board.side} board")


def _check_clues(board: Board, config: GenerateConfig) -> None:
    """Raises ValueError with the reason if no puzzle of the board can have that number of clues."""
    fewest, most = config.clue_range(board.cells)
    if config.holes is not None:
        if not 0 < most < board.cells:
            raise ValueError(
                f"given {config.given:g} is {most} of the {board.cells} cells of {board}, which leaves "
                f"no {'hole' if most else 'clue'}"
            )
        return
    if most > board.cells:
        raise ValueError(f"{most} clues; a board of {board} has {board.cells} cells")
    wanted = f"{most} clues" if fewest == most else f"{fewest} to {most} clues"
    least = fewest_clues(board)
    if most < least:
        reason = "as is proved" if board in _FEWEST_CLUES else "for two digits without a clue could be swapped"
        raise ValueError(f"{wanted}: no puzzle of {board} with fewer than {least} has one solution, {reason}")
    # with a pattern, a clue that completes its row may share an orbit with one that is needed
    largest = most_minimal_clues(board) if config.exhaustive and config.pattern == "none" else board.cells
    if fewest > largest:
        reason = "is known" if board in _MOST_CLUES else "can be: a clue that completes its row is superfluous"
        raise ValueError(f"{wanted}: no minimal puzzle of {board} with more than {largest} {reason}")
    if not any(max(fewest, least) <= clues <= most for clues in clue_counts(board, config.pattern)):
        raise ValueError(f"no {fewest} to {most} clues of a board of {board} make the pattern {config.pattern}")
