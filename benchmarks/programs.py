"""The library's programs with their default settings, lowered and compiled for given devices."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jaxsudoku as js
from jaxsudoku import generation, networks, rating, solvers
from jaxsudoku.engine.batches import Engine
from jaxsudoku.engine.kernels import Kernel
from jaxsudoku.solvers import driver
from jaxsudoku.techniques.weakest_rules import RulesKernel

Devices = Sequence[Any]

#: The share of cells that are given in instances with holes.
_GIVEN = 0.45

#: Mastermind: pegs and colours, and the positions of a call and the codes of each.
_GAME, _POSITIONS, _CODES = (5, 8), 256, 248


class Program(NamedTuple):
    """A program that is ready to be compiled.

    Attributes:
      compile: compiles it, to a ``jax.stages.Compiled``.
      board: the board or game, as text.
      items: the number of puzzles, positions and so on in a call, over all devices.
      kernel: the kernel with the settings for the devices, if it is one of a ``batches.Engine``.
      lanes: the lanes of its loop, if it has any.
      whole: whether it runs once a call, so that the whole program is a step.
    """

    compile: Callable[[], Any]
    board: str
    items: int
    kernel: Any = None
    lanes: int | None = None
    whole: bool = False


def names() -> list[str]:
    """The names of all programs."""
    others = ["exact-pallas", "count", "generate", "generate-rated", "holes", "rate", "weakest-rules", "evaluate"]
    others += ["self-play"]
    scores = ["mastermind-sizes", "mastermind-numbers"]
    return [*solvers.SOLVERS, *others, *(f"train-{name}" for name in networks.NETWORKS), *scores]


def make(name: str, devices: Devices, side: int, items: int | None = None) -> Program:
    """A program for devices.

    Args:
      name: one of ``names``.
      devices: the devices, which may be absent.
      side: the side of a classic board. Mastermind's programs ignore it.
      items: the number of items in a call of a program of ``Engine``, over all devices; None for the library's choice.

    Raises:
      ValueError: settings or a board that the program does not take.
      ImportError: an extra that it needs is not installed.
    """
    if name.startswith("mastermind-"):
        return _scores(name == "mastermind-numbers", devices[0])
    board = js.Board.classic(side)
    if name.startswith("train-"):
        return _training_step(name.removeprefix("train-"), devices, board)
    if name == "self-play":
        return _round_of_self_play(devices, board)
    if name == "evaluate":
        return _evaluation(devices[0], board)
    if name in _GENERATORS:
        generator = generation.Generator(0, board, _GENERATORS[name], items, devices)
        return _of_engine(generator.engine, side)
    kernel, shared = _kernel(name, board)
    return _of_engine(Engine(kernel, board, 0, items, devices, shared), side)


#: Settings of generation. The clues of a request are data: the program of minimal puzzles makes those with clues too.
_GENERATORS = {
    "generate": generation.GenerateConfig(),
    "generate-rated": generation.GenerateConfig(rating="hard"),
    "holes": generation.GenerateConfig(holes="balanced", given=_GIVEN),
}


def _kernel(name: str, board: js.Board) -> tuple[Kernel, tuple[Any, ...]]:
    """A kernel of puzzles and its shared arguments."""
    if name == "exact-pallas":
        return driver.SolveKernel("exact", solvers.make_config(solvers.get("exact"), settle="pallas")), ()
    if name == "count":
        return driver.count_kernel(2), ()
    if name == "rate":
        return rating.RatingKernel(), (jax.ShapeDtypeStruct((), np.uint32),)
    if name == "weakest-rules":
        return RulesKernel(), ()
    return driver.SolveKernel(name, solvers.make_config(solvers.get(name))), driver.networks_for(name, None, board)


def _of_engine(engine: Engine, side: int) -> Program:
    size, kernel = engine.batch_size, engine.kernel
    settings = getattr(kernel, "config", kernel)

    def compiled() -> Any:
        # Pallas asks the mesh, else the default backend, what it compiles for
        with jax.sharding.use_abstract_mesh(Mesh(np.asarray(engine.devices), ("batch",)).abstract_mesh):
            return engine.compile(size)

    return Program(compiled, f"{side}x{side}", size, kernel, getattr(settings, "lanes", None))


def _evaluation(device: Any, board: js.Board) -> Program:
    """The network's predictions for a chunk of puzzles, after the rules."""
    from jaxsudoku.evaluation import forward

    network = networks.for_board(networks.load_network(solvers.DEFAULT_NETWORK), board)
    size = forward.chunk_size(board, device.platform, 1 << 30)
    arguments = _placed((network.params, jax.ShapeDtypeStruct((size, board.cells), np.uint8)), device)
    run = forward.compiled_chunk(device.platform)
    return Program(
        lambda: run.lower(network.apply, "none", *arguments).compile(), f"{board.side}x{board.side}", size, whole=True
    )


def _training_step(architecture: str, devices: Devices, board: js.Board) -> Program:
    """The last step of training, with all iterations, of the preset for accelerators."""
    _find_training()
    from jaxsudoku.datasets import Batch
    from train import step
    from train.flags import parse_arguments
    from train.objective import no_metrics
    from train.positions import puzzles_needed
    from train.presets import PRESETS

    flags = ["--preset", "gpu", "--architecture", architecture, "--board", str(board.side)]
    config, _ = parse_arguments("", "", PRESETS, [*flags, "--output", "unused"])
    config = config.resolve(board, devices[0].platform)
    mesh = Mesh(np.asarray(devices), ("batch",))
    replicated, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("batch"))
    forward = step.make_forward(config, config.iterations_at(config.steps))
    key = jax.eval_shape(lambda: jax.random.key(0))
    state = jax.eval_shape(lambda key: step.initial_state(config, key), key)
    needed = puzzles_needed(config, mesh.size)
    grids: Any = jax.ShapeDtypeStruct((needed, board.cells), np.uint8)
    clues: Any = jax.ShapeDtypeStruct((needed,), np.int32)
    ratings: Any = jax.ShapeDtypeStruct((needed,), np.float32)
    batch = Batch(grids, grids, clues, ratings)
    arguments = (
        jax.tree.map(_with_sharding, state, step.shardings_of(state, mesh)),
        _sharded(jax.eval_shape(no_metrics), replicated),
        _sharded(batch, split),
        _sharded(key, replicated),
    )
    update = step.compiled_step(config, forward, mesh)
    return Program(
        lambda: update.lower(*arguments).compile(), f"{board.side}x{board.side}", config.batch_size, whole=True
    )


def _round_of_self_play(devices: Devices, board: js.Board) -> Program:
    """The last round of self-play, of the preset for accelerators."""
    _find_training()
    from train import rounds
    from train.flags import parse_arguments
    from train.selfplay_presets import PRESETS

    flags = ["--preset", "gpu", "--board", str(board.side), "--output", "unused"]
    config, _ = parse_arguments("", "", PRESETS, flags)
    config = config.resolve(board, devices[0].platform)
    mesh = Mesh(np.asarray(devices), ("batch",))
    replicated, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("batch"))
    key = jax.eval_shape(lambda: jax.random.key(0))
    state = jax.eval_shape(lambda key: rounds.initial_round_state(config, key, mesh.size), key)
    puzzles: Any = jax.ShapeDtypeStruct((config.play.games, board.cells), np.uint8)
    arguments = (
        jax.tree.map(_with_sharding, state, rounds.shardings_of_round(state, mesh)),
        _sharded(jax.eval_shape(lambda: rounds.no_sums(0)), replicated),
        _sharded(puzzles, split),
        _sharded(key, replicated),
    )
    run = rounds.round_at(config, config.steps, mesh)
    return Program(lambda: run.lower(*arguments).compile(), f"{board.side}x{board.side}", config.play.games, whole=True)


def _find_training() -> None:
    """Lets ``train`` be imported, which lies beside the package."""
    root = str(Path(__file__).parents[1])
    if root not in sys.path:
        sys.path.append(root)


def _scores(by_number: bool, device: Any) -> Program:
    """The best guess of Mastermind for each position."""
    from jaxsudoku.mastermind import PegGame, score_programs

    game = PegGame(*_GAME)
    run = score_programs.compiled_scores(by_number, True, False, game.feedbacks, False, device.platform)
    arguments = (
        jax.ShapeDtypeStruct((game.size, game.size), np.uint8),
        jax.ShapeDtypeStruct((2 if by_number else game.size + 1,), np.int32),
        jax.ShapeDtypeStruct((), np.int32),
        jax.ShapeDtypeStruct((_POSITIONS, _CODES), np.int32),
        jax.ShapeDtypeStruct((_POSITIONS,), np.int32),
        jax.ShapeDtypeStruct((), np.int32),
    )
    placed = _placed(arguments, device)
    pegs, colours = _GAME
    return Program(lambda: run.lower(*placed).compile(), f"{pegs} pegs, {colours}", _POSITIONS, whole=True)


def _placed(arrays: Any, device: Any) -> Any:
    """The shapes of arrays on a device."""
    return _sharded(arrays, jax.sharding.SingleDeviceSharding(device))


def _sharded(arrays: Any, sharding: Any) -> Any:
    """The shapes of arrays under a sharding."""
    return jax.tree.map(lambda array: _with_sharding(array, sharding), arrays)


def _with_sharding(array: Any, sharding: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)
