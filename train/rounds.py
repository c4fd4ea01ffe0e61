"""One round of self-play as a compiled program: games, then steps of the optimiser (the Anakin pattern).

Every device plays its own games and keeps them in its own buffer; gradients are summed over all devices. All randomness
comes from the key, the number of steps done and the device's number, so a round depends only on its state.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsudoku.engine.solution import Status
from jaxsudoku.exact.exact_config import ExactConfig
from jaxsudoku.networks import Forward, Params
from jaxsudoku.runtime.devices import compiler_options, kind
from jaxsudoku.solvers.exact import exact
from jaxsudoku.solvers.tree.tree_config import GumbelConfig

from .curriculum import fill_by_loss, foreseen, least_sure
from .games import Games, play
from .invention import invent, remove_clues
from .objective import Metrics, no_metrics
from .positions import Positions
from .reanalysis import reanalyse
from .replay import Replay
from .selfplay_config import ZeroConfig
from .step import Step, TrainState, initial_state, make_forward, make_step, place, shardings_of

#: Random stream of games, separate from that of steps.
_GAMES = 0x51ED270B


class ZeroState(NamedTuple):
    """The state of a run between two rounds; a pytree.

    Attributes:
      learner: the training state of the network that plays.
      rivals: the training states of the other networks.
      buffer: the games of every device: flashbax's state, with an axis of devices before its own.
    """

    learner: TrainState
    rivals: tuple[TrainState, ...]
    buffer: Any

    @property
    def step(self) -> Array:
        """Steps of the optimiser done, int32."""
        return self.learner.step

    @property
    def average(self) -> Params:
        """The averaged parameters of the network that plays."""
        return self.learner.average


class Played(NamedTuple):
    """Sums over games, float32.

    Attributes:
      games: number of games.
      solved: solved games.
      failed: games whose budget was spent.
      without: games of puzzles without a solution, which are not trained on.
      iterations: grids evaluated.
      calls: positions evaluated by the network.
      boards: games on empty boards, which do not count as ``games``.
      invented: games on empty boards that ended in a solved grid.
    """

    games: Array
    solved: Array
    failed: Array
    without: Array
    iterations: Array
    calls: Array
    boards: Array
    invented: Array


class Sums(NamedTuple):
    """Sums over rounds.

    Attributes:
      metrics: metrics of the network that plays.
      others: metrics of its rivals.
      played: sums over games.
    """

    metrics: Metrics
    others: tuple[Metrics, ...]
    played: Played


def no_sums(rivals: int) -> Sums:
    """The sums over no rounds."""
    return Sums(
        no_metrics(), tuple(no_metrics() for _ in range(rivals)), Played(*(jnp.float32(0) for _ in Played._fields))
    )


def summary(played: Played) -> dict[str, float]:
    """Means and shares of summed games."""
    games, solved, failed, without, iterations, calls, boards, invented = map(float, jax.device_get(played))
    with_solution = max(games - without, 1.0)
    return {
        "games": games,
        "games_solved": solved / with_solution,
        "games_failed": failed / with_solution,
        "puzzles_without_solution": without,
        "grids_per_game": iterations / max(games, 1.0),
        "calls_per_game": calls / max(games, 1.0),
        **({"empty_boards": boards, "grids_invented": invented} if boards else {}),
    }


def initial_round_state(config: ZeroConfig, key: Array, devices: int) -> ZeroState:
    """The state before the first round, with the empty buffers of all devices; a pure function."""
    learner, *rivals = _initial_learners(config, key)
    return ZeroState(learner, tuple(rivals), _empty_buffers(config, devices))


def placed_round_state(config: ZeroConfig, key: Array, mesh: Mesh) -> ZeroState:
    """``initial_round_state`` on a mesh: each device makes its buffer, the pool is divided, the rest is replicated."""
    split = NamedSharding(mesh, PartitionSpec("batch"))
    buffer = jax.jit(functools.partial(_empty_buffers, config, mesh.size), out_shardings=split)()
    learner, *rivals = (place(learner, mesh) for learner in _initial_learners(config, key))
    return ZeroState(learner, tuple(rivals), buffer)


def _initial_learners(config: ZeroConfig, key: Array) -> list[TrainState]:
    learners = []
    for number, learner in enumerate(config.learners()):
        own_key = jax.random.fold_in(key, number) if number else key
        learners.append(initial_state(learner, own_key, target=jnp.float32))
    return learners


def _empty_buffers(config: ZeroConfig, devices: int) -> Any:
    one = Replay(config, devices).init()
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (devices, *jnp.shape(leaf))), one)


def shardings_of_round(state: ZeroState, mesh: Mesh) -> ZeroState:
    """The placement of the state, or of its shapes: a ``NamedSharding`` for each of its arrays."""
    split = NamedSharding(mesh, PartitionSpec("batch"))
    rivals = tuple(shardings_of(rival, mesh) for rival in state.rivals)
    return ZeroState(shardings_of(state.learner, mesh), rivals, jax.tree.map(lambda _: split, state.buffer))


def round_at(config: ZeroConfig, step: int, mesh: Mesh) -> jax.stages.Wrapped:
    """The ``compiled_round`` that ends with a step, for networks with the iterations of that step."""
    return compiled_round(config, *networks_at(config, step), mesh)


def networks_at(config: ZeroConfig, step: int) -> tuple[tuple[Forward, ...], Forward]:
    """The networks that learn in the round that ends with a step, and the one that plays."""
    learners = tuple(make_forward(learner, learner.iterations_at(step)) for learner in config.learners())
    acting = config.play.acting_iterations
    return learners, make_forward(config, config.iterations_at(step) if acting is None else acting)


@functools.lru_cache(maxsize=8)
def compiled_round(config: ZeroConfig, forwards: tuple[Forward, ...], actor: Forward, mesh: Mesh) -> jax.stages.Wrapped:
    """The round (state, sums, puzzles, key) -> (state, sums), jitted: games, then steps.

    It adds to the sums. State and sums are donated.

    Args:
      config: the resolved settings.
      forwards: the networks that learn, first the one that plays.
      actor: the network that plays, with the averaged parameters of the first.
      mesh: the devices.
    """
    acting, learning = make_acting(config, actor, mesh), make_learning(config, forwards, mesh)

    def run(state: ZeroState, sums: Sums, puzzles: Array | None, key: Array) -> tuple[ZeroState, Sums]:
        state, played = acting(state, puzzles, key)
        return learning(state, sums._replace(played=jax.tree.map(jnp.add, sums.played, played)), key)

    options = compiler_options(mesh.devices.flat[0].platform)
    return jax.jit(run, donate_argnums=(0, 1), compiler_options=options)


def make_acting(config: ZeroConfig, actor: Forward, mesh: Mesh) -> Any:
    """The games of a round, (state, puzzles, key) -> (state, sums of games), as a pure function.

    Puzzles are uint8[games * offered, cells]; None if the network generates them.
    """
    platform, board, devices = kind(mesh.devices.flat[0]), config.board, mesh.size
    search, replay, stream = config.play.search(board, platform), Replay(config, devices), config.stream
    games_of_device = config.play.games // devices
    replicated, split = PartitionSpec(), PartitionSpec("batch")

    def act(
        params: Params, buffer: Any, puzzles: Array | None, key: Array, step: Array, losses: Array
    ) -> tuple[Any, Played]:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, _GAMES), step), lax.axis_index("batch"))
        invent_key, dig_key, choose_key = (jax.random.fold_in(key, _GAMES + number) for number in range(1, 4))
        boards = invented = jnp.float32(0)
        if puzzles is None:
            size = -(-games_of_device * stream.offered // stream.dug)
            grids = invent(board, search, actor, params, size, invent_key)
            puzzles = remove_clues(board, grids, stream.dug, dig_key, platform)
            boards, invented = jnp.float32(size), (grids.status == Status.SOLVED).sum(dtype=jnp.float32)
        if stream.offered > 1:
            chosen = least_sure(foreseen(board, search, actor, params, puzzles), games_of_device, choose_key)
            puzzles = puzzles[chosen]
        puzzles = puzzles[:games_of_device]
        truth = None
        if config.play.truth:
            truth = exact(board, puzzles, key, ExactConfig().resolve(board, platform)).grids
            puzzles = fill_by_loss(puzzles, truth, losses, jax.random.fold_in(key, _GAMES + 4))
        kept, backtracking = config.replay.kept_positions, config.play.backtracking
        games = play(search, actor, params, puzzles, key, kept, backtracking, truth)
        after = replay.add(_own(buffer), games)
        if isinstance(search, GumbelConfig) and config.replay.reanalyse:
            place_key, search_key = jax.random.split(jax.random.fold_in(key, _GAMES))
            again = functools.partial(reanalyse, board, search, actor, params, key=search_key)
            after = replay.update(after, place_key, lambda games, chosen: again(games=games, chosen=chosen))
        played = _played(games)._replace(boards=boards, invented=invented)
        return jax.tree.map(lambda leaf: leaf[None], after), jax.tree.map(
            lambda total: lax.psum(total, "batch"), played
        )

    sharded = jax.shard_map(
        act,
        mesh=mesh,
        in_specs=(replicated, split, split, replicated, replicated, replicated),
        out_specs=(split, replicated),
        check_vma=False,
    )

    def acting(state: ZeroState, puzzles: Array | None, key: Array) -> tuple[ZeroState, Played]:
        buffer, played = sharded(state.average, state.buffer, puzzles, key, state.step, state.learner.losses)
        return state._replace(buffer=buffer), played

    return acting


def make_learning(config: ZeroConfig, forwards: tuple[Forward, ...], mesh: Mesh) -> Any:
    """The steps of a round, (state, sums, key) -> (state, sums), as a pure function.

    All networks get the same positions, unless these are drawn by each network's losses (``loss_weight``).
    """
    replay = Replay(config, mesh.size)

    def sample(key: Array, buffer: Any, progress: Array, losses: Array) -> Positions:
        return replay.sample(key, _own(buffer), progress, losses)

    steps = [
        make_step(learner, forward, mesh, sample) for learner, forward in zip(config.learners(), forwards, strict=True)
    ]

    def learning(state: ZeroState, sums: Sums, key: Array) -> tuple[ZeroState, Sums]:
        def learn(step: Step, learner: TrainState, metrics: Metrics) -> tuple[TrainState, Metrics]:
            def update(now: tuple[TrainState, Metrics], _: None) -> tuple[tuple[TrainState, Metrics], None]:
                return step(*now, state.buffer, key), None

            return lax.scan(update, (learner, metrics), length=config.play.updates)[0]

        learner, metrics = learn(steps[0], state.learner, sums.metrics)
        rivals = [learn(*rival) for rival in zip(steps[1:], state.rivals, sums.others, strict=True)]
        return (
            ZeroState(learner, tuple(rival for rival, _ in rivals), state.buffer),
            Sums(metrics, tuple(total for _, total in rivals), sums.played),
        )

    return learning


def _own(buffer: Any) -> Any:
    """A device's buffer, without the axis of devices."""
    return jax.tree.map(lambda leaf: leaf[0], buffer)


def _played(games: Games) -> Played:
    status = games.status
    without = (status == Status.UNSATISFIABLE) | (status == Status.INVALID)
    counts = (jnp.ones_like(without), status == Status.SOLVED, status == Status.UNSOLVED, without)
    sums = [x.sum(dtype=jnp.float32) for x in (*counts, games.iterations, games.calls)]
    return Played(*(*sums, jnp.float32(0), jnp.float32(0)))
