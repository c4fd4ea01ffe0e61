"""Self-play in one file: your own network learns 4x4 Sudoku from its own search, as in AlphaZero.

    python train/examples/self_play.py

A game is a puzzle. A move places a digit in any open cell where it does not clash. No rule fills cells, and a game is
lost as soon as a cell or house has no legal digit left. Every round plays games by Gumbel MuZero search (Danihelka et
al. 2022) with the network, from random weights and without solutions. Then the network learns the policies of the
search and the outcomes of games. The program prints the share of held-out puzzles that the search solves before and
after training.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax
from flax import nnx
from jax import Array, lax

import jaxsudoku as js

BOARD = js.Board.classic(4)

#: Rules applied between moves: none, as the network has to learn them.
RULES = "none"

#: Maximum number of moves of a game: 4x4 puzzles with one solution have at least four clues.
MOVES = BOARD.cells - 4

#: The logit of illegal moves.
ILLEGAL = -1e9


class Settings(NamedTuple):
    """The settings.

    Attributes:
      puzzles: number of generated puzzles to play.
      rounds: rounds of games and updates.
      games: games of a round.
      simulations: simulations of a search.
      updates: updates of a round.
      batch: positions of an update.
      width: features of a cell in the network.
      layers: layers of the network.
      learning_rate: of Adam.
      seed: of puzzles, weights and games.
      report_every: rounds between lines of the log.
    """

    puzzles: int = 4096
    rounds: int = 200
    games: int = 256
    simulations: int = 2
    updates: int = 32
    batch: int = 256
    width: int = 32
    layers: int = 3
    learning_rate: float = 2e-3
    seed: int = 0
    report_every: int = 20


# ---------------------------------------------------------------------- the network


class Network(nnx.Module):
    """A residual network in which each cell receives the means over its row, its column and its box."""

    def __init__(self, settings: Settings, *, rngs: nnx.Rngs) -> None:
        width, layers = settings.width, range(settings.layers)
        self.embed = nnx.Linear(BOARD.side, width, rngs=rngs)
        self.hidden = nnx.List([nnx.Linear(4 * width, 2 * width, rngs=rngs) for _ in layers])
        self.out = nnx.List([nnx.Linear(2 * width, width, rngs=rngs) for _ in layers])
        self.policy = nnx.Linear(width, BOARD.side, rngs=rngs)
        self.value = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, candidates: Array) -> tuple[Array, Array]:
        """Logits of digits in cells [B, side, cells], and of a win [B], for candidates bool[B, side, cells]."""
        x = self.embed(candidates.swapaxes(1, 2).astype(jnp.float32))  # [B, cells, width]
        for hidden, out in zip(self.hidden, self.out, strict=True):
            seen = jnp.einsum("kcd,bdw->bckw", share_a_house(), x).reshape(*x.shape[:2], -1) / BOARD.side
            x += out(jax.nn.relu(hidden(jnp.concatenate([x, seen], axis=2))))
        return self.policy(x).swapaxes(1, 2), self.value(x).mean(axis=(1, 2))


def share_a_house() -> np.ndarray:
    """Whether two cells share a row, a column and a box: float32[3, cells, cells]."""
    found = np.zeros((3, BOARD.cells, BOARD.cells), np.float32)
    for number, house in enumerate(BOARD.houses):
        found[number // BOARD.side][np.ix_(house, house)] = 1
    return found


# ---------------------------------------------------------------------- self-play


class Positions(NamedTuple):
    """Positions of games with training targets.

    Attributes:
      candidates: bool[..., side, cells], the input of the network.
      legal: bool[..., side, cells], the legal moves.
      policy: float32[..., side * cells], the improved policy of the search.
      won: bool[...], whether the game was won.
      played: bool[...], whether the game was not over yet.
    """

    candidates: Array
    legal: Array
    policy: Array
    won: Array
    played: Array


def evaluate(network: Network, candidates: Array, legal: Array) -> tuple[Array, Array]:
    """Logits of all moves [B, side * cells], as ``js.env.place`` numbers them, and of a win [B]."""
    logits, value = network(candidates)
    return jnp.where(legal, logits, ILLEGAL).reshape(len(value), -1), value


def play(settings: Settings, graph: Any, params: Any, puzzles: Array, key: Array, noise: Array) -> Positions:
    """Plays games by search.

    Args:
      settings: the settings.
      graph: the network without its parameters.
      params: its parameters.
      puzzles: uint8[games, cells].
      key: a JAX key.
      noise: scale of the Gumbel noise at the root; 0 for the best moves.

    Returns:
      the positions before every move, [MOVES, games, ...].
    """
    network = nnx.merge(graph, params)

    def look(state: js.env.State) -> tuple[Array, Array, Array, Array]:
        candidates, legal = js.env.observe(state, BOARD), js.env.legal_placement_mask(state, BOARD)
        logits, value = evaluate(network, candidates, legal)
        return candidates, legal, logits, jax.nn.sigmoid(value)

    def simulate(_: Any, key: Array, move: Array, state: js.env.State) -> tuple[mctx.RecurrentFnOutput, js.env.State]:
        after = js.env.place(state, move, BOARD, RULES)
        _, _, logits, value = look(after)
        discount = (~after.terminated).astype(jnp.float32)
        reward = js.env.reward(state, after)
        return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), after

    def move(state: js.env.State, key: Array) -> tuple[js.env.State, Positions]:
        candidates, legal, logits, value = look(state)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        illegal = ~legal.reshape(logits.shape)
        found = mctx.gumbel_muzero_policy(
            params, key, root, simulate, settings.simulations, illegal, gumbel_scale=noise
        )
        position = Positions(candidates, legal, found.action_weights, state.solved, ~state.terminated)
        return js.env.place(state, found.action, BOARD, RULES), position

    state, positions = lax.scan(move, js.env.init(puzzles, BOARD, RULES), jax.random.split(key, MOVES))
    return positions._replace(won=jnp.broadcast_to(state.solved, positions.won.shape))


# ---------------------------------------------------------------------- learning


def loss(network: Network, positions: Positions) -> Array:
    """The mean cross-entropy of policy and value over positions [batch]."""
    logits, value = evaluate(network, positions.candidates, positions.legal)
    policy = optax.softmax_cross_entropy(logits, positions.policy)
    return (policy + optax.sigmoid_binary_cross_entropy(value, positions.won)).mean()


def optimiser(settings: Settings) -> optax.GradientTransformation:
    """Adam with a learning rate that falls to 0 over all updates."""
    rate = optax.cosine_decay_schedule(settings.learning_rate, settings.rounds * settings.updates)
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))


def learn(settings: Settings, graph: Any, learner: Any, positions: Positions, key: Array) -> tuple[Any, Array]:
    """Updates ``learner`` (parameters and optimiser state) on positions of a round; also returns the mean loss."""
    positions = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), positions)
    share = positions.played / positions.played.sum()
    batches = jax.random.choice(key, len(share), (settings.updates, settings.batch), p=share)

    def update(learner: Any, batch: Array) -> tuple[Any, Array]:
        params, state = learner
        chosen = jax.tree.map(lambda leaf: leaf[batch], positions)
        value, gradients = jax.value_and_grad(lambda params: loss(nnx.merge(graph, params), chosen))(params)
        changes, state = optimiser(settings).update(gradients, state, params)
        return (optax.apply_updates(params, changes), state), value

    learner, losses = lax.scan(update, learner, batches)
    return learner, losses.mean()


def main(settings: Settings, network: nnx.Module | None = None) -> tuple[float, float]:
    """Trains a network; returns the shares of held-out puzzles that its search solves before and after.

    Args:
      settings: the settings.
      network: the network to train, which gets its new parameters at the end; None for a new ``Network``. Any NNX
        module with the same inputs and outputs, and with no state but parameters, can be used.
    """
    held_out = js.load("4x4")[: settings.games]
    puzzles = js.generate(settings.seed, settings.puzzles, BOARD).puzzles
    puzzles = puzzles[~(puzzles[:, None] == held_out).all(axis=2).any(axis=1)]
    if network is None:
        network = nnx.jit(lambda: Network(settings, rngs=nnx.Rngs(settings.seed)))()
    graph, params = nnx.split(network)
    learner = (params, jax.jit(optimiser(settings).init)(params))
    compiled = functools.partial(jax.jit, static_argnums=(0, 1), compiler_options=js.compiler_options())
    run_games, run_updates = compiled(play), compiled(learn)
    random, key = np.random.default_rng(settings.seed), jax.random.key(settings.seed)

    def solved(params: Any) -> float:
        """The share of the held-out puzzles that the search solves without noise."""
        padded = np.resize(held_out, (settings.games, BOARD.cells))
        return float(run_games(settings, graph, params, padded, key, 0.0).won[0, : len(held_out)].mean())

    before = solved(params)
    print(f"before: {before:.0%} of {len(held_out)} held-out puzzles solved", flush=True)
    for number in range(1, settings.rounds + 1):
        game_key, batch_key = jax.random.split(jax.random.fold_in(key, number))
        chosen = puzzles[random.integers(len(puzzles), size=settings.games)]
        positions = run_games(settings, graph, learner[0], chosen, game_key, 1.0)
        learner, mean = run_updates(settings, graph, learner, positions, batch_key)
        if number % settings.report_every == 0:
            won = f"{positions.won[0].mean():.0%} of the games won"
            print(f"round {number}: {won}, loss {mean:.3f}, held-out {solved(learner[0]):.0%}", flush=True)
    after = solved(learner[0])
    nnx.update(network, learner[0])
    print(f"after: {after:.0%} of {len(held_out)} held-out puzzles solved")
    return before, after


if __name__ == "__main__":
    main(Settings())
