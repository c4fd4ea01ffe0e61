"""Training of the learned value of Mastermind, the network of ``lookahead`` with ``values``.

    python -m train.mastermind --output runs/mastermind

makes guesses of small games to learn from (``guesses``), trains the network on them, and writes it as
``value.safetensors``. Games that are named as ``--held-out`` are not learned from: the run says how well guesses are
chosen there. What was made of a game is kept in the folder, so a run that is interrupted goes on with the next game.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import Array

from jaxsudoku.cli.fields import add_config, config_values
from jaxsudoku.config import Config, Natural, NonNegative, Positive
from jaxsudoku.mastermind import GameError
from jaxsudoku.mastermind.values import Features, LearnedValue, ValueConfig, ValueNetwork, corrected, flat_params

from .guesses import Guesses, GuessesConfig, kept_guesses, parse_game

#: Groups, guesses and parts of a batch; fewer where they do not fit.
_GROUPS, _GUESSES, _PARTS = 8, 512, 2048

#: Guesses that are so much worse than the best of their group are left out: no player would choose them.
_WORSE = 40.0

#: What the network is called in the run's folder.
_FILE = "value.safetensors"


@dataclasses.dataclass(frozen=True)
class ValueTrainConfig(Config):
    """Settings of a run.

    Attributes:
      games: pegs and colours of the games to learn from.
      held_out: pegs and colours of games that the network is measured on, but does not see.
      steps: steps of the optimiser.
      learning_rate: the first rate; it falls to 0 by a cosine.
      weight_decay: of AdamW.
      temperature: guesses; the loss compares the choices among guesses at this temperature.
      absolute: weight of the error of the totals themselves.
      seed: of the guesses, of the first weights and of the batches.
    """

    games: tuple[str, ...] = ("3x6", "3x8", "3x10", "4x4", "4x5", "4x6", "4x7", "5x3", "5x4", "5x5", "6x3")
    held_out: tuple[str, ...] = ("4x8", "5x6")
    steps: Positive = 6000
    learning_rate: NonNegative = 3e-3
    weight_decay: NonNegative = 1e-3
    temperature: NonNegative = 2.0
    absolute: NonNegative = 3.0
    seed: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("games", "held_out"):
            for game in getattr(self, name):
                parse_game(game)
        if not self.games:
            raise ValueError("there must be a game to learn from")
        if both := sorted(set(self.games) & set(self.held_out)):
            raise ValueError(f"{', '.join(both)}: a game that is held out is not learned from")
        if self.temperature == 0:
            raise ValueError("temperature must be above 0")


class Batch(NamedTuple):
    """Some groups of guesses, padded.

    Attributes:
      seen: features of parts, [_PARTS].
      totals: float32[_PARTS], their totals.
      guess: int32[_PARTS], the guess of each part; _GUESSES where there is none.
      fixed: float32[_GUESSES], the totals of guesses without these parts.
      group: int32[_GUESSES], the group of each guess; _GROUPS where there is none.
    """

    seen: Features
    totals: Any
    guess: Any
    fixed: Any
    group: Any


def train(
    config: ValueTrainConfig,
    guesses: GuessesConfig,
    sizes: ValueConfig,
    folder: Path,
    report: Callable[[Mapping[str, Any]], object] = lambda values: None,
) -> LearnedValue:
    """Trains a network.

    Args:
      config, guesses, sizes: the settings.
      folder: keeps the guesses of games.
      report: called with values by name: of each game when its guesses are made, and of each tenth of the run.
    """
    begun = time.monotonic()
    data: dict[str, Guesses] = {}
    for name in (*config.games, *config.held_out):
        made = data[name] = kept_guesses(parse_game(name), guesses, config.seed, folder)
        told = {"game": name, "positions": len(made.sizes), "guesses": len(made.fixed), "parts": len(made.totals)}
        report(told | {"regret of the estimate": made.regret(made.seen.total), "seconds": time.monotonic() - begun})
    network = ValueNetwork(sizes, rngs=nnx.Rngs(config.seed))
    schedule = optax.cosine_decay_schedule(config.learning_rate, config.steps)
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=config.weight_decay))
    optimiser = nnx.Optimizer(network, rule, wrt=nnx.Param)
    step = nnx.jit(functools.partial(_step, temperature=config.temperature, absolute=config.absolute))
    batches, losses = _batches([data[name] for name in config.games], config.seed), []
    for number in range(1, config.steps + 1):
        losses.append(step(network, optimiser, next(batches)))
        if number % max(config.steps // 10, 1) == 0 or number == config.steps:
            value = LearnedValue(sizes, flat_params(nnx.state(network, nnx.Param)))
            regrets = {name: made.regret(_totals(value, made.seen)) for name, made in data.items()}
            loss = float(np.mean(jax.device_get(losses)))
            report({"step": number, "loss": loss, "regret": regrets, "seconds": time.monotonic() - begun})
            losses = []
    facts = {
        "training": dataclasses.asdict(config),
        "guesses": dataclasses.asdict(guesses),
        "regret": regrets,
        "seconds": time.monotonic() - begun,
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
    }
    return dataclasses.replace(value, facts=facts)


def _totals(value: LearnedValue, seen: Features) -> np.ndarray:
    return corrected(seen, value.corrections(seen))


def _batches(data: Sequence[Guesses], seed: int) -> Iterator[Batch]:
    """Random batches, each of one game; games with more parts come more often."""
    random = np.random.default_rng(seed)
    shares = np.sqrt([len(made.totals) for made in data])
    worst = [_worst(made) for made in data]
    while True:
        index = random.choice(len(data), p=shares / shares.sum())
        made, kept = data[index], worst[index]
        guesses: list[np.ndarray] = []
        parts = 0
        for group in random.permutation(len(made.sizes)).tolist():
            here = np.flatnonzero(kept[made.groups[group] : made.groups[group + 1]]) + made.groups[group]
            more = int((made.bounds[here + 1] - made.bounds[here]).sum())
            if len(here) < 2 or parts + more > _PARTS or sum(map(len, guesses)) + len(here) > _GUESSES:
                continue
            guesses.append(here)
            parts += more
            if len(guesses) == _GROUPS:
                break
        if guesses:
            yield _batch(made, guesses)


def _worst(made: Guesses) -> np.ndarray:
    """Whether each guess is among those that a player might choose, bool[g]."""
    totals = made.sums(made.totals)
    least = np.minimum.reduceat(totals, made.groups[:-1])
    kept: np.ndarray = totals <= np.repeat(least, np.diff(made.groups)) + _WORSE
    return kept


def _batch(made: Guesses, groups: Sequence[np.ndarray]) -> Batch:
    chosen = np.concatenate(groups)
    lengths = made.bounds[chosen + 1] - made.bounds[chosen]
    starts = np.repeat(made.bounds[chosen] - np.cumsum(lengths) + lengths, lengths)
    parts = made.parts[starts + np.arange(lengths.sum())]
    rest, free = _PARTS - len(parts), _GUESSES - len(chosen)
    padded = np.pad(parts, (0, rest))
    guess = np.pad(np.repeat(np.arange(len(chosen)), lengths), (0, rest), constant_values=_GUESSES)
    owner = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
    return Batch(
        made.seen.take(padded),
        made.totals[padded],
        guess.astype(np.int32),
        np.pad(made.fixed[chosen], (0, free)),
        np.pad(owner, (0, free), constant_values=_GROUPS).astype(np.int32),
    )


def _step(network: ValueNetwork, optimiser: Any, batch: Batch, temperature: float, absolute: float) -> Array:
    """A step of the optimiser; the loss before it.

    The loss is the divergence of the choice among the guesses of a position by their predicted totals from that by
    their true ones (a softmax of minus the totals), and the squared error of the parts in guesses for each code.
    """

    def loss(network: ValueNetwork) -> Array:
        corrections = network(batch.seen.shares, batch.seen.numbers)
        sizes, given = batch.seen.sizes, batch.guess < _GUESSES
        errors = jnp.square(corrections - (batch.totals - batch.seen.total) / sizes) * jnp.sqrt(sizes)
        predicted = jnp.maximum(batch.seen.total + sizes * corrections, 2 * sizes - 1)
        wanted, found = (
            _log_choice(batch, batch.fixed + _sums(jnp.where(given, totals, 0), batch.guess, _GUESSES), temperature)
            for totals in (batch.totals, predicted)
        )
        real = batch.group < _GROUPS
        divergence = jnp.where(real, jnp.exp(wanted) * (wanted - found), 0).sum() / (
            batch.group.max(where=real, initial=0) + 1
        )
        return divergence + absolute * jnp.where(given, errors, 0).sum() / given.sum()

    value, gradients = nnx.value_and_grad(loss)(network)
    optimiser.update(network, gradients)
    return value


def _sums(values: Array, places: Array, size: int) -> Array:
    return jnp.zeros(size).at[places].add(values, mode="drop")


def _log_choice(batch: Batch, totals: Array, temperature: float) -> Array:
    """The logarithms of the softmax over the guesses of each group, float32[_GUESSES]; 0 where there is no guess."""
    logits = jnp.where(batch.group < _GROUPS, -totals / temperature, 0)
    largest = jnp.full(_GROUPS + 1, -jnp.inf).at[batch.group].max(logits)
    shifted = logits - largest[batch.group]
    return jnp.where(
        batch.group < _GROUPS, shifted - jnp.log(_sums(jnp.exp(shifted), batch.group, _GROUPS + 1))[batch.group], 0
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m train.mastermind", description="Trains the learned value of Mastermind.", allow_abbrev=False
    )
    parser.add_argument("--output", required=True, type=Path, metavar="FOLDER", help="the run's folder")
    configs = {ValueTrainConfig: "the run", GuessesConfig: "guesses of a game", ValueConfig: "sizes of the network"}
    for kind, title in configs.items():
        add_config(parser, kind, title)
    args = parser.parse_args(argv)
    try:
        config, guesses, sizes = (kind(**config_values(args, kind)) for kind in configs)
    except ValueError as error:
        parser.error(str(error))
    try:
        value = train(config, guesses, sizes, args.output, lambda values: print(json.dumps(values), flush=True))
        value.save(args.output / _FILE)
    except (OSError, GameError) as error:
        print(f"train: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
