"""Settings of the searches."""

from __future__ import annotations

import dataclasses

from jaxsudoku.exact import SEARCH_RULES
from jaxsudoku.propagation import RULES
from jaxsudoku.settings import MOST_ROUNDS, Config, at_least, at_most, one_of, whole_words

#: What playing on to the end may be worth: 1 if it solves the puzzle, or the share of cells it fills, or that from -1
#: for none to 1 for all. With the last one every other worth is on that scale too.
REWARDS = ("solved", "filled", "signed")

#: Which cell a move is about: the first with fewest choices; of those with fewest the one whose digit the network is
#: surest of, or least sure of; or of all cells the one whose digit it is surest of.
CELLS = ("fewest", "likely", "doubtful", "surest")


@dataclasses.dataclass(frozen=True)
class SearchConfig(Config):
    """Settings that all searches have.

    Attributes:
      simulations: positions that a search adds to its tree before the root moves on.
      rules: what is deduced after every move, to the end: none, naked, singles or locked, each with all that the one
        before it does. With none a cell is filled by a move alone, even where one digit is left for it.
      budget: grids looked at after which an attempt at a puzzle ends; 0 for no limit, and then the search is complete.
      restarts: how often a puzzle whose budget is spent begins anew, seen under a random symmetry of the board.
      lanes: puzzles that are searched together, a multiple of 32, and cut to what there is room for; 0 suits the
        machine.
    """

    simulations: int = 16
    rules: str = "singles"
    budget: int = 0
    restarts: int = 0
    lanes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "rules", RULES)
        at_least(self, simulations=1, budget=0, restarts=0)
        whole_words(self)
        if self.restarts and not self.budget:
            raise ValueError("restarts are for searches that end with a budget; without one they never begin")


@dataclasses.dataclass(frozen=True)
class TreeConfig(SearchConfig):
    """Settings that searches of trees have besides.

    Attributes:
      reuse: the root moves on along its tree as long as a position has had this share of the simulations.
    """

    reuse: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.reuse <= 1:
            raise ValueError(f"reuse must be above 0 and at most 1, not {self.reuse}")


@dataclasses.dataclass(frozen=True)
class GuidedConfig(TreeConfig):
    """Settings that searches by a network have besides.

    Attributes:
      cell: the cell that a move is about. fewest: the first with fewest choices; likely, doubtful: of those with fewest
        the one whose digit the network is surest of, or least sure of; surest: of all cells the one whose digit it is
        surest of.
      prior: what is tried first: what the network says, or all digits alike (network, uniform).
      value: what a position is worth that is neither solved nor refuted: the probability by the network's value head
        that it has a solution; what playing on comes to, with digits drawn by the prior; the mean of both; or one half
        (network, rollout, both, none).
      reward: what playing on is worth at its end: 1 if it solves the puzzle, or the share of cells it fills, or that
        from -1 to 1, which is then the scale of all values (solved, filled, signed).
      temperature: scale of the Gumbel noise on the network's logits at the root, by which digits are drawn there.
      together: positions that the network looks at together; 0 suits the machine. It looks at none that the rules
        solved or refuted.
    """

    simulations: int = 256
    cell: str = "doubtful"
    prior: str = "network"
    value: str = "network"
    reward: str = "solved"
    temperature: float = 0.0
    together: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "cell", CELLS)
        one_of(self, "prior", ("network", "uniform"))
        one_of(self, "value", ("network", "rollout", "both", "none"))
        one_of(self, "reward", REWARDS)
        at_least(self, temperature=0, together=0)


@dataclasses.dataclass(frozen=True)
class GumbelConfig(GuidedConfig):
    """Settings of ``gumbel``.

    Attributes:
      considered: most digits that are tried at the root.
    """

    considered: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, considered=1)


@dataclasses.dataclass(frozen=True)
class AlphaSudokuConfig(GuidedConfig):
    """Settings of ``alphasudoku``.

    Attributes:
      formula: which move is followed: the study's Q + w P / (1 + N), or AlphaZero's Q + w P sqrt(visits) / (1 + N)
        (study, alphazero).
      exploration: the weight w of the prior.
    """

    formula: str = "alphazero"
    exploration: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "formula", ("study", "alphazero"))
        at_least(self, exploration=0)


@dataclasses.dataclass(frozen=True)
class MctsConfig(TreeConfig):
    """Settings of ``mcts``.

    Attributes:
      exploration: c of UCT's Q + c sqrt(log(visits) / N).
      reward: what a rollout is worth: 1 if it solves the puzzle, or the share of cells it fills, or that from -1 to 1,
        which is then the scale of all values (solved, filled, signed).
    """

    exploration: float = 0.5
    reward: str = "filled"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, exploration=0)
        one_of(self, "reward", REWARDS)


@dataclasses.dataclass(frozen=True)
class McgsConfig(SearchConfig):
    """Settings of ``mcgs``.

    Attributes:
      placements: most placements that are considered in a position, at least the board's side: those of a cell with
        fewest choices, then the likeliest.
      exploration: w of PUCT's Q + w P sqrt(visits) / (1 + N).
      correction: an edge whose value differs by more than this from its node's is corrected.
      transpositions: whether positions are known again.
      together: positions that the network looks at together; 0 suits the machine. It looks at none that the rules
        solved or refuted.
    """

    simulations: int = 32
    placements: int = 32
    exploration: float = 1.0
    correction: float = 0.01
    transpositions: bool = True
    together: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, placements=1, exploration=0, correction=0, together=0)


@dataclasses.dataclass(frozen=True)
class GuidedExactConfig(Config):
    """Settings of ``guided_exact``.

    Attributes:
      rules: what is deduced at every node: naked, singles or locked, each with all that the one before it does.
      rounds: rounds of the rules in a step, up to 1000.
      budget: nodes after which a puzzle is left UNSOLVED; 0 for no limit.
      cell: the cell that is branched on, as of ``GuidedConfig``.
      lanes: nodes in a step, a multiple of 32; 0 suits the machine.
      together: nodes that the network looks at together; 0 suits the machine.
    """

    rules: str = "locked"
    rounds: int = 7
    budget: int = 0
    cell: str = "doubtful"
    lanes: int = 0
    together: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, "rules", SEARCH_RULES)
        one_of(self, "cell", CELLS)
        at_least(self, rounds=1, budget=0, together=0)
        at_most(self, rounds=MOST_ROUNDS)
        whole_words(self)
