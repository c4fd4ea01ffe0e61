"""Settings of supervised training: nested frozen dataclasses."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any, Literal, Self

from jaxsudoku import networks, shipped
from jaxsudoku.core.board import Board
from jaxsudoku.core.tuning import Rules
from jaxsudoku.runtime.settings import Config, Natural, NonNegative, Positive, Range, Share, whole_number

#: Number of stages in which the number of iterations rises.
_STAGES = 4

#: The held-out puzzles of 9x9.
_HELD_OUT = "9x9-hard"

#: Minimum of numbers that must be above 0, and minimum distance to 1 of numbers that must be below 1.
_LEAST = 1e-9
Finite = Annotated[float, Range(-math.inf)]
AboveZero = Annotated[float, Range(_LEAST)]
BelowOne = Annotated[float, Range(0, 1 - _LEAST)]


@dataclasses.dataclass(frozen=True)
class NetworkConfig(Config):
    """Settings of the network and of its iterations.

    Attributes:
      architecture: the network's name in ``jaxsudoku.networks.NETWORKS``.
      sizes: config of the architecture, with the iterations at the end of training, if it has any; None for its
        defaults.
      start: file with initial parameters: a network of the same sizes, or a smaller CubeNet, which is widened, or one
        without weights for constraints; None for random parameters.
      learn: which parameters learn: all, or those for constraints. With the latter, on boards without constraints the
        network stays as it starts.
      initial_iterations: iterations at the start of training, which rise in four stages to those of ``sizes``; None for
        those of ``sizes`` throughout.
      initial_thinking_steps: maximum number of steps for which a position is kept, at the start of training. Each step
        continues from the features of the last one, so an iterative network learns to use more iterations at no further
        cost. The number is random up to this, and smaller once the network has solved the position.
      final_thinking_steps: the same at the end of training.
      noise: standard deviation of the noise that is added to the features of kept positions at every step, relative to
        their root mean square.
      saved_iterations: iterations of the network that is validated and saved; None for those of ``sizes`` times
        ``final_thinking_steps``.
    """

    architecture: str = "cube"
    sizes: Any = None
    start: str | None = None
    learn: Literal["all", "constraints"] = "all"
    initial_iterations: Positive | None = None
    initial_thinking_steps: Positive = 1
    final_thinking_steps: Positive = 1
    noise: NonNegative = 0.0
    saved_iterations: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expected = networks.get(self.architecture).config
        if self.sizes is not None and not isinstance(self.sizes, expected):
            raise ValueError(f"sizes of the network {self.architecture} are a {expected.__name__}, not {self.sizes!r}")
        if self.learn == "constraints" and not getattr(self.sizes, "constraints", False):
            raise ValueError("learn constraints is for a network with weights for constraints: set constraints")
        if not hasattr(expected, "iterations"):
            for field in dataclasses.fields(self):
                iterative = field.name.endswith(("_iterations", "_thinking_steps", "noise"))
                if iterative and getattr(self, field.name) != field.default:
                    raise ValueError(f"{field.name} is for networks with iterations; {self.architecture} has none")

    def resolve(self, board: Board, platform: str) -> NetworkConfig:
        """The settings with sizes, and with numbers of iterations if the network has iterations."""
        del board, platform
        sizes = self.sizes or networks.get(self.architecture).config()
        if not hasattr(sizes, "iterations"):
            return dataclasses.replace(self, sizes=sizes)
        return dataclasses.replace(
            self,
            sizes=sizes,
            initial_iterations=self.initial_iterations or sizes.iterations,
            saved_iterations=self.saved_iterations or sizes.iterations * self.final_thinking_steps,
        )


@dataclasses.dataclass(frozen=True)
class DataConfig(Config):
    """The puzzles for training and validation.

    Attributes:
      datasets: folders of data sets, from which every step takes equal parts; from one that is named twice, it takes
        two parts. Without any, puzzles are generated in the run's folder.
      generate: number of puzzles to generate if no data sets are named.
      fewest_clues: minimum number of clues of generated puzzles; None for no bound.
      most_clues: maximum number of clues of generated puzzles; None for no bound. Without both bounds puzzles are
        minimal.
      exclude: puzzle files, such as test sets, whose solutions must not occur, up to symmetry (9x9): they are left out
        of generated puzzles, and data sets that have any are refused. The same holds for the held-out puzzles.
      held_out: puzzles for validation: a shipped set by name, or a file; None for one that ships for the board, the
        hard ones of 9x9.
      others: folders of data sets of other boards, which take turns, for a network with the same weights on all boards.
      others_every: steps between turns of other boards, at least 2.
      others_batch: positions of a step on another board, over all devices.
    """

    datasets: tuple[str, ...] = ()
    generate: Positive = 1_000_000
    fewest_clues: Natural | None = None
    most_clues: Natural | None = None
    exclude: tuple[str, ...] = ()
    held_out: str | None = None
    others: tuple[str, ...] = ()
    others_every: Annotated[int, Range(2)] = 4
    others_batch: Positive = 16

    def resolve(self, board: Board, platform: str) -> DataConfig:
        """The settings with held-out puzzles, if any ship for the board."""
        del platform
        fitting = [name for name in shipped.names() if shipped.board(name) == board]
        if self.held_out is not None or not fitting:
            return self
        return dataclasses.replace(self, held_out=_HELD_OUT if _HELD_OUT in fitting else fitting[0])


@dataclasses.dataclass(frozen=True)
class PositionKind(Config):
    """Settings of the positions of one part of a batch.

    Attributes:
      rules: rules applied until nothing changes before the network evaluates a position: none, naked, singles or
        locked.
      share: share of the batch, relative to the other kinds.
      filled: mean number of cells filled in.
      wrong: share of positions with a wrong digit, as far as the rules leave such positions.
    """

    rules: Rules = "locked"
    share: AboveZero = 1.0
    filled: NonNegative = 2.0
    wrong: Share = 0.2


@dataclasses.dataclass(frozen=True)
class PositionsConfig(Config):
    """Settings of the positions that are made from puzzles.

    Attributes:
      kinds: kinds of positions, at least one.
      puzzles_per_position: number of puzzles drawn for each position; those that the rules solve or refute are dropped.
      initial_hardness: log-weight of a puzzle's log(1 + rating) in this draw, at the start of training.
      final_hardness: the same at the end of training.
      loss_weight: log-weight in this draw of the logarithm of the policy's mean loss in positions with the same number
        of open cells; with 1 positions are drawn in proportion to this loss.
    """

    kinds: tuple[PositionKind, ...] = (
        PositionKind("locked", share=0.6, filled=2, wrong=0.2),
        PositionKind("singles", share=0.1, filled=2, wrong=0.2),
        PositionKind("none", share=0.3, filled=12, wrong=0.1),
    )
    puzzles_per_position: Positive = 6
    initial_hardness: Finite = 0.5
    final_hardness: Finite = 0.5
    loss_weight: NonNegative = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.kinds:
            raise ValueError("kinds is empty; name at least one kind of position")

    @property
    def rules(self) -> str:
        """The rules of all kinds, for messages."""
        return ", ".join(kind.rules for kind in self.kinds)


@dataclasses.dataclass(frozen=True)
class ObjectiveConfig(Config):
    """Weights in the loss.

    Attributes:
      ramp: the last iteration's loss has 1 + ramp times the weight of the first one's.
      value_weight: weight of the value's loss relative to the policy's.
    """

    ramp: NonNegative = 2.0
    value_weight: NonNegative = 0.3


@dataclasses.dataclass(frozen=True)
class OptimiserConfig(Config):
    """The optimiser and its schedule.

    Attributes:
      algorithm: muon for matrices and Adam for the rest, or adamw for all parameters.
      learning_rate: peak learning rate; with muon, of all but the matrices.
      matrix_rate: peak learning rate of the matrices, with muon.
      schedule: decay of the rates: cosine to a hundredth of their peaks, or step to a tenth in the middle of training.
      warmup: steps in which the rates rise to their peaks.
      weight_decay: weight decay of the matrices.
      clip: maximum norm of gradients.
      ema: decay of the exponential moving average of the parameters, which is validated and saved.
    """

    algorithm: Literal["muon", "adamw"] = "muon"
    learning_rate: AboveZero = 3e-3
    matrix_rate: AboveZero = 2e-2
    schedule: Literal["cosine", "middle"] = "cosine"
    warmup: Natural = 100
    weight_decay: NonNegative = 1e-3
    clip: AboveZero = 1.0
    ema: BelowOne = 0.998


@dataclasses.dataclass(frozen=True)
class TrainConfig(Config):
    """Settings of supervised training.

    Attributes:
      board: the board.
      steps: steps of the optimiser.
      batch_size: positions of a step, over all devices.
      microbatch: positions whose gradients are computed at a time on a device; None, or a larger number, for all of
        the device's positions.
      seed: seed of parameters, generated puzzles and positions.
      network: the network.
      data: the puzzles.
      positions: the positions made from the puzzles.
      objective: the loss.
      optimiser: the optimiser.
      report_every: steps between lines of the log.
      validate_every: steps between validations.
      save_every: steps between checkpoints.
      keep: number of checkpoints to keep.

    Raises:
      ValueError: a setting of another type or out of range; the message names it.
    """

    board: Board = dataclasses.field(default_factory=Board.classic)
    steps: Positive = 20_000
    batch_size: Positive = 32
    microbatch: Positive | None = 4
    seed: int = 0
    network: NetworkConfig = NetworkConfig()
    data: DataConfig = DataConfig()
    positions: PositionsConfig = PositionsConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    report_every: Positive = 100
    validate_every: Positive = 2_000
    save_every: Positive = 1_000
    keep: Positive = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("seed", self.seed, 0, None)
        groups: dict[str, type] = {"board": Board, **groups_of(type(self))}
        for name, group in groups.items():
            if not isinstance(getattr(self, name), group):
                raise ValueError(f"{name} must be a {group.__name__}, not {getattr(self, name)!r}")

    def resolve(self, board: Board, platform: str) -> Self:
        """The settings with automatic values filled in."""
        network, data = self.network.resolve(board, platform), self.data.resolve(board, platform)
        return dataclasses.replace(self, network=network, data=data)

    @property
    def mean_batch(self) -> float:
        """Mean number of positions of a step, over all boards."""
        if not self.data.others:
            return self.batch_size
        every = self.data.others_every
        return (self.batch_size * (every - 1) + self.data.others_batch) / every

    def iterations_at(self, step: int) -> int | None:
        """Iterations of the network at a step, counted from 1; None if it is not iterative. Needs resolved settings.

        They rise in stages, as at first fewer iterations are equally effective, at a lower cost.
        """
        if (first := self.network.initial_iterations) is None:
            return None
        stage = min((step - 1) * _STAGES // self.steps, _STAGES - 1)
        last: int = self.network.sizes.iterations
        return round(first + (last - first) * stage / (_STAGES - 1))


def groups_of(config: type[TrainConfig]) -> dict[str, type[Config]]:
    """The groups of settings of a kind of training, by field name."""
    return {
        field.name: type(field.default) for field in dataclasses.fields(config) if isinstance(field.default, Config)
    }


#: Those of supervised training.
GROUPS = groups_of(TrainConfig)
