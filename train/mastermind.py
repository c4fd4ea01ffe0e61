"""Training of the learned value of Mastermind, the network of ``lookahead`` with ``values``.

    python -m train.mastermind --output runs/mastermind

makes training data from small games (``mastermind_guesses``) and trains the network on them. Rounds of play follow:
``lookahead`` plays the games of ``--played`` with the network, guesses at the positions that it reaches are added, and
the network is trained further on all guesses so far. It is written as ``value.safetensors``, networks of earlier rounds
as ``round-N.safetensors``. Games of ``--held-out`` are only used for measurements. Guesses and networks of rounds are
kept in the folder, so an interrupted run does not make them again. Guesses at arbitrary positions can also be used by
other runs, guesses of play by runs with the same network.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
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
from jaxsudoku.mastermind.values import Features, LearnedValue, ValueConfig, ValueNetwork, corrected, flat_params
from jaxsudoku.runtime.settings import Config, Natural, NonNegative, Positive
from jaxsudoku.runtime.terminal.failure import described
from jaxsudoku.runtime.terminal.streams import print_error

from .mastermind_guesses import Guesses, GuessesConfig, cached_guesses, parse_game

#: Maximum numbers of groups, guesses and parts in a batch.
_GROUPS, _GUESSES, _PARTS = 8, 512, 2048

#: Exit status of a process that was interrupted.
_INTERRUPTED = 130

#: Guesses that are worse than the best of their group by more than this are left out, as no player would choose them.
_WORSE = 40.0

#: File names of the network and of networks of earlier rounds in the run's folder.
_FILE, _ROUND = "value.safetensors", "round-{}.safetensors"


@dataclasses.dataclass(frozen=True)
class ValueTrainConfig(Config):
    """Settings of a run.

    Attributes:
      games: pegs and colours of the games to learn from, at any positions.
      played: pegs and colours of the games to play.
      held_out: pegs and colours of games for measurements only.
      rounds: number of rounds of play.
      steps: steps of the optimiser, in each round and before the first.
      learning_rate: initial learning rate, with cosine decay to 0.
      weight_decay: weight decay of AdamW.
      temperature: temperature, in guesses, of the choices among guesses that the loss compares.
      absolute: weight of the error of totals in the loss.
      seed: seed of guesses, initial weights and batches.
    """

    games: tuple[str, ...] = ("3x6", "3x8", "3x10", "4x4", "4x5", "4x6", "4x7", "5x3", "5x4", "5x5", "6x3", "6x4")
    played: tuple[str, ...] = ("4x6", "4x7", "4x8", "4x9", "5x4", "5x5", "5x6", "6x4")
    held_out: tuple[str, ...] = ()
    rounds: Natural = 1
    steps: Positive = 10_000
    learning_rate: NonNegative = 3e-3
    weight_decay: NonNegative = 1e-3
    temperature: NonNegative = 2.0
    absolute: NonNegative = 3.0
    seed: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        names = ("games", "played", "held_out")
        games, played, held_out = ([parse_game(game) for game in getattr(self, name)] for name in names)
        if not games:
            raise ValueError("there must be a game to learn from")
        if self.rounds and not played:
            raise ValueError("rounds of play need a game to play")
        if any(len(set(named)) < len(named) for named in (games, played, held_out)):
            raise ValueError("each game is named once")
        if set(held_out) & {*games, *(played if self.rounds else ())}:
            raise ValueError("a game that is held out is neither learned from nor played: name others")
        if self.temperature == 0:
            raise ValueError("temperature must be above 0")


class Batch(NamedTuple):
    """A padded batch of groups of guesses.

    Attributes:
      inputs: features of parts, [_PARTS].
      totals: float32[_PARTS], their totals.
      guess: int32[_PARTS], the guess of each part; _GUESSES for padding.
      fixed: float32[_GUESSES], the totals of guesses without these parts.
      group: int32[_GUESSES], the group of each guess; _GROUPS for padding.
    """

    inputs: Features
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
      folder: the folder for guesses of games.
      report: called with values by name: for each game when its guesses are made, and for each tenth of the run.

    Raises:
      FloatingPointError: the loss is not finite.
      GuessesFileError, OSError: as ``cached_guesses``.
      ValueError: nothing can be learned from a game.
    """
    run = _Run(config, guesses, sizes, folder, report)
    for name in config.games:
        run.take(name, name)
    for name in config.held_out:
        run.take(name, name, learned=False)
    for number in range(1, config.rounds + 1):
        player = folder / _ROUND.format(number - 1)
        if not run.resumed(player):
            run.trained().save(player)
        for name in config.played:
            run.take(f"{name} round {number}", name, player)
    return run.trained()


class _Run:
    """State of a run: the guesses so far, and the network."""

    def __init__(
        self,
        config: ValueTrainConfig,
        guesses: GuessesConfig,
        sizes: ValueConfig,
        folder: Path,
        report: Callable[[Mapping[str, Any]], object],
    ) -> None:
        self._config, self._guesses, self._sizes, self._folder = config, guesses, sizes, folder
        self._report, self._begun = report, time.monotonic()
        self._learned: dict[str, Guesses] = {}
        self._held_out: dict[str, Guesses] = {}
        self._network: ValueNetwork = _compiled_network(sizes, config.seed)
        self._settings = json.loads(
            json.dumps({"training": dataclasses.asdict(config), "guesses": dataclasses.asdict(guesses)})
        )
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, name: str, game: str, player: Path | None = None, learned: bool = True) -> None:
        """Adds guesses of a game under a name, at arbitrary positions or at those that a network reaches."""
        made = cached_guesses(parse_game(game), self._guesses, self._config.seed, self._folder, player)
        if learned and not _choices(made):
            raise ValueError(f"{name}: no position there has a choice to learn from")
        (self._learned if learned else self._held_out)[name] = made
        told = {"game": name, "positions": len(made.sizes), "guesses": len(made.fixed), "parts": len(made.totals)}
        estimate = {"regret": made.regret(made.inputs.total), "error": made.error(made.inputs.total)}
        self._report(told | {"estimate": estimate, "seconds": self._seconds})

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._begun

    def resumed(self, path: Path) -> bool:
        """Loads the network of an earlier run with the same settings, if there is one; returns whether there was."""
        if not path.exists():
            return False
        value = LearnedValue.load(path)
        same = value.config == self._sizes and all(value.facts.get(name) == it for name, it in self._settings.items())
        if same:
            nnx.update(self._network, value.state)
            self._report({"resumed": path.name, "seconds": self._seconds})
        return same

    def trained(self) -> LearnedValue:
        """Trains the network on the guesses so far, from its current weights; returns it."""
        config, network = self._config, self._network
        optimiser = _compiled_optimiser(_rule(config.learning_rate, config.steps, config.weight_decay), network)
        step = functools.partial(
            _compiled_step, temperature=config.temperature, absolute=config.absolute, largest=self._sizes.largest
        )
        batches, losses = _batches(self._learned, config.seed), []
        for number in range(1, config.steps + 1):
            losses.append(step(network, optimiser, next(batches)))
            if number % max(config.steps // 10, 1) == 0 or number == config.steps:
                loss = float(np.mean(jax.device_get(losses)))
                if not np.isfinite(loss):
                    raise FloatingPointError(f"the loss is {loss} after {number} steps: try a lower learning rate")
                value = LearnedValue(self._sizes, flat_params(nnx.state(network, nnx.Param)))
                measured = self._measured(value)
                self._report({"step": number, "loss": loss, **measured})
                losses = []
        facts = self._settings | measured | {"device": jax.devices()[0].device_kind, "jax": jax.__version__}
        return dataclasses.replace(value, facts=facts)

    def _measured(self, value: LearnedValue) -> dict[str, Any]:
        """Regret and error of a network on the guesses so far, by name, and the seconds."""
        data = self._learned | self._held_out
        totals = {name: value.totals_of(made.inputs) for name, made in data.items()}
        return {
            "regret": {name: made.regret(totals[name]) for name, made in data.items()},
            "error": {name: made.error(totals[name]) for name, made in data.items()},
            "seconds": self._seconds,
        }


def _batches(data: Mapping[str, Guesses], seed: int) -> Iterator[Batch]:
    """Yields random batches, each of one game; games with more parts are more frequent."""
    random = np.random.default_rng(seed)
    choices = {name: _choices(made) for name, made in data.items()}
    names = list(data)
    shares = np.sqrt([len(data[name].totals) for name in names])
    while True:
        name = names[random.choice(len(names), p=shares / shares.sum())]
        made, groups = data[name], choices[name]
        chosen: list[np.ndarray] = []
        guesses = parts = 0
        for place in random.permutation(len(groups)).tolist():
            more = int((made.bounds[groups[place] + 1] - made.bounds[groups[place]]).sum())
            if parts + more > _PARTS or guesses + len(groups[place]) > _GUESSES:
                continue
            chosen.append(groups[place])
            guesses, parts = guesses + len(groups[place]), parts + more
            if len(chosen) == _GROUPS:
                break
        yield _batch(made, chosen)


def _choices(made: Guesses) -> list[np.ndarray]:
    """The guesses of each group that a player might choose, as many as fit in a batch, at least two."""
    totals = made.sums(made.totals)
    found = []
    for start, end in itertools.pairwise(made.groups.tolist()):
        near = start + np.flatnonzero(totals[start:end] <= totals[start:end].min(initial=np.inf) + _WORSE)
        parts = np.cumsum(made.bounds[near + 1] - made.bounds[near])
        near = near[parts <= _PARTS][:_GUESSES]
        if len(near) > 1 and parts[len(near) - 1] > 0:
            found.append(near)
    return found


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
        made.inputs.take(padded),
        made.totals[padded],
        guess.astype(np.int32),
        np.pad(made.fixed[chosen], (0, free)),
        np.pad(owner, (0, free), constant_values=_GROUPS).astype(np.int32),
    )


def _network(sizes: ValueConfig, seed: int) -> ValueNetwork:
    """The network before training."""
    return ValueNetwork(sizes, rngs=nnx.Rngs(seed))


@functools.lru_cache(maxsize=8)
def _rule(learning_rate: float, steps: int, weight_decay: float) -> optax.GradientTransformation:
    """The update rule of the optimiser, cached by settings."""
    schedule = optax.cosine_decay_schedule(learning_rate, steps)
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=weight_decay))


def _optimiser(rule: optax.GradientTransformation, network: ValueNetwork) -> Any:
    """The optimiser of a network before its first step."""
    return nnx.Optimizer(network, rule, wrt=nnx.Param)


def _step(
    network: ValueNetwork, optimiser: Any, batch: Batch, temperature: float, absolute: float, largest: int
) -> Array:
    """One step of the optimiser; returns the loss before it.

    The loss is the divergence of choices among guesses (softmax of negative totals) by predicted totals from those by
    true totals, plus the squared error of the parts in guesses per code.
    """

    def loss(network: ValueNetwork) -> Array:
        corrections = network(batch.inputs.shares, batch.inputs.numbers)
        sizes, given = batch.inputs.sizes, batch.guess < _GUESSES
        learned = given & (sizes <= largest)
        errors = jnp.square(corrections - (batch.totals - batch.inputs.total) / sizes) * jnp.sqrt(sizes)
        predicted = corrected(batch.inputs, corrections, largest)
        wanted, found = (
            _log_choice(batch, batch.fixed + _sums(jnp.where(given, totals, 0), batch.guess, _GUESSES), temperature)
            for totals in (batch.totals, predicted)
        )
        real = batch.group < _GROUPS
        divergence = jnp.where(real, jnp.exp(wanted) * (wanted - found), 0).sum() / (
            batch.group.max(where=real, initial=0) + 1
        )
        return divergence + absolute * jnp.where(learned, errors, 0).sum() / jnp.maximum(learned.sum(), 1)

    value, gradients = nnx.value_and_grad(loss)(network)
    optimiser.update(network, gradients)
    return value


#: Compiled once for all runs with the same settings.
_compiled_network: Any = nnx.jit(_network, static_argnums=(0, 1))
_compiled_optimiser: Any = nnx.jit(_optimiser, static_argnums=0)
_compiled_step: Any = nnx.jit(_step, static_argnames=("temperature", "absolute", "largest"))


def _sums(values: Array, places: Array, size: int) -> Array:
    return jnp.zeros(size).at[places].add(values, mode="drop")


def _log_choice(batch: Batch, totals: Array, temperature: float) -> Array:
    """The log-softmax over the guesses of each group, float32[_GUESSES]; 0 for padding."""
    logits = jnp.where(batch.group < _GROUPS, -totals / temperature, 0)
    largest = jnp.full(_GROUPS + 1, -jnp.inf).at[batch.group].max(logits)
    shifted = logits - largest[batch.group]
    return jnp.where(
        batch.group < _GROUPS, shifted - jnp.log(_sums(jnp.exp(shifted), batch.group, _GROUPS + 1))[batch.group], 0
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m train.mastermind", description="Trains the learned value of Mastermind.", allow_abbrev=False
    )
    parser.add_argument("--output", required=True, type=Path, metavar="FOLDER", help="the run's folder")
    parser.add_argument("--force", action="store_true", help="replace the network in the folder")
    configs = {ValueTrainConfig: "the run", GuessesConfig: "guesses of a game", ValueConfig: "sizes of the network"}
    for kind, title in configs.items():
        add_config(parser, kind, title)
    args = parser.parse_args(argv)
    try:
        config, guesses, sizes = (kind(**config_values(args, kind)) for kind in configs)
    except ValueError as error:
        parser.error(str(error))
    file = args.output / _FILE
    if file.exists() and not args.force:
        parser.error(f"{file} exists: --force replaces it")
    try:
        value = train(config, guesses, sizes, args.output, lambda values: print(json.dumps(values), flush=True))
        value.save(file)
    except KeyboardInterrupt:
        print_error("train: interrupted; the guesses of finished games are kept")
        return _INTERRUPTED
    except FloatingPointError as error:
        print_error(f"train: error: {error}")
        return 1
    except (OSError, ValueError) as error:
        print_error(f"train: error: {described(error)}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
