"""The small convolutional network often taught for Sudoku: three convolutions, and one dense layer over the board.

The convolutions see a cell's neighbours alone; all that is known of houses has to be learned by the dense layer, which
connects every cell with every other. Its size grows with the sixth power of the side: 7.6 million parameters in all on
9x9, 134 million on 16x16.
"""

from __future__ import annotations

import dataclasses

from flax import nnx
from jax import Array

from jaxsudoku.board import Board

from .base import NetworkModule, Outputs
from .layers import Convolution, ValueHead, as_image, check_sizes, to_logits


@dataclasses.dataclass(frozen=True)
class CellCnnConfig:
    """Sizes of the network.

    Attributes:
      width: channels of the two 3x3 convolutions.
      features: channels of the 1x1 convolution, which the dense layer reads.
      hidden: width of the value head.
      dtype: what it computes in, float32 or bfloat16.
    """

    width: int = 64
    features: int = 128
    hidden: int = 64
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_sizes(self)


class CellCnn(NetworkModule):
    """Three normalised convolutions, and a dense layer from all cells to all candidates; for boards of any kind."""

    def __init__(self, config: CellCnnConfig, board: Board, *, rngs: nnx.Rngs) -> None:
        self.dtype = config.dtype
        self.first = Convolution(board.side, config.width, (3, 3), config.dtype, rngs)
        self.second = Convolution(config.width, config.width, (3, 3), config.dtype, rngs)
        self.third = Convolution(config.width, config.features, (1, 1), config.dtype, rngs)
        self.policy = to_logits(board.cells * config.features, board.candidates, config.dtype, rngs)
        self.value = ValueHead(config.features, config.hidden, config.dtype, rngs)

    def __call__(self, candidates: Array) -> Outputs:
        x = self.third(self.second(self.first(as_image(candidates, self.dtype))))
        return Outputs(self.policy(x.reshape(x.shape[0], -1)).reshape(candidates.shape), self.value(x))
