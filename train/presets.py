"""Presets: initial settings of training, by name."""

from __future__ import annotations

import dataclasses

from jaxsudoku.core.board import Board
from jaxsudoku.networks.axial import AxialConfig
from jaxsudoku.networks.cell_cnn import CellCnnConfig
from jaxsudoku.networks.cellwise import CellwiseConfig
from jaxsudoku.networks.cube import CubeConfig
from jaxsudoku.networks.house_cnn import HouseCnnConfig
from jaxsudoku.networks.house_resnet import HouseResNetConfig
from jaxsudoku.networks.se_resnet import SeResNetConfig

from .train_config import DataConfig, NetworkConfig, OptimiserConfig, PositionKind, PositionsConfig, TrainConfig

#: Settings for training on two cores, in two hours.
CPU = TrainConfig(
    steps=40_000,
    network=NetworkConfig(
        sizes=CubeConfig(iterations=8), initial_thinking_steps=3, final_thinking_steps=24, saved_iterations=64
    ),
    positions=PositionsConfig(
        kinds=(
            PositionKind("locked", share=0.75, filled=1, wrong=0.15),
            PositionKind("singles", share=0.1, filled=2, wrong=0.2),
            PositionKind("none", share=0.15, filled=8, wrong=0.1),
        ),
        puzzles_per_position=16,
        final_hardness=1.5,
    ),
    optimiser=OptimiserConfig(warmup=200, ema=0.999),
)

#: Settings for an accelerator.
GPU = dataclasses.replace(
    CPU,
    steps=30_000,
    batch_size=1024,
    microbatch=None,
    network=dataclasses.replace(
        CPU.network, sizes=CubeConfig(width=96, hidden=64, house=128, iterations=8, dtype="bfloat16")
    ),
    data=DataConfig(generate=4_000_000),
    optimiser=OptimiserConfig(warmup=500, ema=0.999),
)

#: Settings for eight minutes of an accelerator: the shipped network learns to solve puzzles from their givens alone.
#: Data sets are made before; give easy ones and hard ones from ``train.hardening``.
GPU_SHORT = dataclasses.replace(
    GPU,
    steps=6_000,
    network=NetworkConfig(
        sizes=CubeConfig(width=96, hidden=48, house=64, bound=16.0, iterations=8, dtype="bfloat16"),
        start="cube",
        noise=0.03,
        initial_thinking_steps=16,
        final_thinking_steps=48,
        saved_iterations=64,
    ),
    positions=PositionsConfig(
        kinds=(
            PositionKind("none", share=0.75, filled=0, wrong=0),
            PositionKind("locked", share=0.25, filled=1, wrong=0.15),
        ),
        puzzles_per_position=4,
        initial_hardness=0.1,
        final_hardness=0.3,
    ),
    optimiser=OptimiserConfig(learning_rate=3e-4, matrix_rate=2e-3, warmup=200, ema=0.999),
    validate_every=2_000,
    save_every=800,
)

#: The same for two cores: the first stage of ``cube-bare``.
CPU_BARE = dataclasses.replace(
    GPU_SHORT,
    steps=24_000,
    batch_size=CPU.batch_size,
    microbatch=CPU.microbatch,
    network=dataclasses.replace(GPU_SHORT.network, sizes=dataclasses.replace(GPU_SHORT.network.sizes, dtype="float32")),
    validate_every=5_000,
    save_every=500,
)

#: Settings for tests: a run takes seconds.
TINY = TrainConfig(
    board=Board.classic(4),
    steps=40,
    batch_size=8,
    network=NetworkConfig(
        sizes=CubeConfig(width=8, hidden=8, iterations=3), final_thinking_steps=3, saved_iterations=3
    ),
    data=DataConfig(generate=2_000, held_out="4x4"),
    positions=PositionsConfig(
        kinds=(PositionKind("none", share=3, filled=2, wrong=0.2), PositionKind("none", filled=0, wrong=0.5)),
        puzzles_per_position=4,
    ),
    optimiser=OptimiserConfig(warmup=5, ema=0.9),
    report_every=10,
    validate_every=20,
    save_every=20,
)

#: Positions for the convolutional networks: puzzles, unchanged and with further cells filled, without rules.
_AS_GIVEN = PositionsConfig(
    kinds=(PositionKind("none", share=1, filled=0, wrong=0), PositionKind("none", share=1, filled=12, wrong=0)),
    puzzles_per_position=1,
    initial_hardness=0.0,
    final_hardness=0.0,
)

#: The cell CNN as taught: unchanged easy puzzles, batches of 64, two epochs of a million puzzles.
CELL_CNN = TrainConfig(
    steps=31_250,
    batch_size=64,
    microbatch=None,
    network=NetworkConfig("cell_cnn", CellCnnConfig(numbers=True)),
    data=DataConfig(generate=1_000_000, fewest_clues=31, most_clues=36, held_out="9x9-easy"),
    positions=dataclasses.replace(_AS_GIVEN, kinds=(PositionKind("none", filled=0, wrong=0),)),
    optimiser=OptimiserConfig("adamw", learning_rate=1e-3, schedule="middle", warmup=0, weight_decay=0.0, ema=0.99),
)

#: A small cell CNN with planes of digits as input, for one core and an hour.
CELL_CNN_CPU = dataclasses.replace(
    CELL_CNN,
    steps=20_000,
    network=NetworkConfig("cell_cnn", CellCnnConfig(features=24)),
    data=dataclasses.replace(CELL_CNN.data, generate=400_000),
    positions=_AS_GIVEN,
    optimiser=OptimiserConfig("adamw", learning_rate=2e-3, warmup=200, ema=0.998),  # Muon's matrices are too large here
)

#: The house CNN on two million minimal puzzles, the number that its author used.
HOUSE_CNN = TrainConfig(
    steps=100_000,
    batch_size=1024,
    microbatch=None,
    network=NetworkConfig("house_cnn", HouseCnnConfig(dtype="bfloat16")),
    data=DataConfig(generate=2_000_000),
    positions=_AS_GIVEN,
    optimiser=OptimiserConfig(warmup=500, ema=0.999),
)

#: A residual network with kernels of houses in every block. It is trained on unchanged puzzles, for filling in one
#: pass, and on positions after naked singles, for searches with this rule.
HOUSE_RESNET = dataclasses.replace(
    HOUSE_CNN,
    data=DataConfig(generate=4_000_000),
    network=NetworkConfig("house_resnet", HouseResNetConfig(blocks=16, width=128, house=64, dtype="bfloat16")),
    positions=dataclasses.replace(
        _AS_GIVEN,
        kinds=(
            *_AS_GIVEN.kinds,
            PositionKind("naked", share=1, filled=0, wrong=0),
            PositionKind("naked", share=1, filled=6, wrong=0),
        ),
    ),
)

#: A small version, for one core and an hour.
HOUSE_RESNET_CPU = dataclasses.replace(
    HOUSE_RESNET,
    steps=20_000,
    batch_size=64,
    microbatch=16,
    network=NetworkConfig("house_resnet", HouseResNetConfig()),
    data=DataConfig(generate=700_000),
    optimiser=OptimiserConfig(warmup=200, ema=0.999),
)

#: The residual network, trained as ``GPU`` trains CubeNet.
SE_RESNET = dataclasses.replace(GPU, network=NetworkConfig("se_resnet", SeResNetConfig(dtype="bfloat16")))

#: The transformers, with lower learning rates: with CubeNet's the loss of ``axial`` stayed near 1.
AXIAL, CELLWISE = (
    dataclasses.replace(
        GPU,
        network=NetworkConfig(name, sizes),
        optimiser=dataclasses.replace(GPU.optimiser, learning_rate=1e-3, matrix_rate=4e-3),
    )
    for name, sizes in (("axial", AxialConfig(dtype="bfloat16")), ("cellwise", CellwiseConfig(dtype="bfloat16")))
)

#: Presets by name: of CubeNet for a kind of machine, and of other architectures for an accelerator, or for a CPU.
PRESETS: dict[str, TrainConfig] = {
    "tiny": TINY,
    "cpu": CPU,
    "cpu-bare": CPU_BARE,
    "gpu": GPU,
    "gpu-short": GPU_SHORT,
    "cell-cnn": CELL_CNN,
    "cell-cnn-cpu": CELL_CNN_CPU,
    "house-cnn": HOUSE_CNN,
    "house-resnet": HOUSE_RESNET,
    "house-resnet-cpu": HOUSE_RESNET_CPU,
    "se-resnet": SE_RESNET,
    "axial": AXIAL,
    "cellwise": CELLWISE,
}
