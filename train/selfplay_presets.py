"""Presets of self-play: initial settings, by name."""

from __future__ import annotations

import dataclasses

from jaxsudoku.core.board import Board

from . import presets
from .selfplay_config import ArenaConfig, PlayConfig, ReplayConfig, ZeroConfig
from .train_config import DataConfig, OptimiserConfig, PositionKind, PositionsConfig

#: Settings for two cores, in some hours.
CPU = ZeroConfig(
    steps=64_000,
    network=presets.CPU.network,
    data=DataConfig(generate=400_000),
    positions=PositionsConfig(
        kinds=(
            PositionKind("none", share=0.5, filled=8, wrong=0.1),
            PositionKind("singles", share=0.5, filled=1, wrong=0.15),
        ),
        puzzles_per_position=8,
        final_hardness=1.0,
    ),
    optimiser=presets.CPU.optimiser,
)

#: Settings for an accelerator.
GPU = dataclasses.replace(
    CPU,
    steps=32_000,
    batch_size=presets.GPU.batch_size,
    microbatch=presets.GPU.microbatch,
    network=presets.GPU.network,
    data=presets.GPU.data,
    optimiser=presets.GPU.optimiser,
    play=PlayConfig(games=8192, updates=32, simulations=8),
    replay=ReplayConfig(buffer=1 << 20),
)

#: DeepSudoku's loop, for a file of 17-clue puzzles (``puzzles``): any digit of any cell is a move of a graph search
#: without rules, a game ends at its first contradiction and is kept, the games of the last ten rounds are trained on,
#: and other networks are trained on the same positions. A validation is a generation.
DEEPSUDOKU = dataclasses.replace(
    CPU,
    steps=5_120,
    optimiser=OptimiserConfig(warmup=100, ema=0.99),
    report_every=128,
    validate_every=256,
    save_every=256,
    rivals=("se_resnet:width=48,blocks=5", "axial:width=48,heads=3,rounds=2,hidden=48"),
    play=PlayConfig(games=128, updates=256, method="mcgs", rules="none", budget=4096, backtracking=False),
    replay=ReplayConfig(buffer=1280, kept_positions=16, searched=0.9, failed_value="filled"),
    arena=ArenaConfig(arena_puzzles=64),
)

#: DeepSudoku's loop as by its author: the solutions are known, games end at their first wrong digit, and at first only
#: failed games are trained on. ``--learned all`` is its fine-tuning.
DEEPSUDOKU_TRUTH = dataclasses.replace(
    DEEPSUDOKU,
    play=dataclasses.replace(DEEPSUDOKU.play, truth=True),
    replay=dataclasses.replace(DEEPSUDOKU.replay, failed_value="lost", learned="failed"),
)

#: Settings for tests: a run takes seconds.
TINY = ZeroConfig(
    board=Board.classic(4),
    steps=40,
    batch_size=8,
    network=presets.TINY.network,
    data=presets.TINY.data,
    positions=PositionsConfig(kinds=(PositionKind("none", filled=2, wrong=0.2),), puzzles_per_position=4),
    optimiser=presets.TINY.optimiser,
    report_every=10,
    validate_every=20,
    save_every=20,
    play=PlayConfig(games=64, updates=10, simulations=2, rules="none", budget=64),
    replay=ReplayConfig(buffer=256),
)

#: Presets by name.
PRESETS: dict[str, ZeroConfig] = {
    "tiny": TINY,
    "cpu": CPU,
    "gpu": GPU,
    "deepsudoku": DEEPSUDOKU,
    "deepsudoku-truth": DEEPSUDOKU_TRUTH,
}
