"""A learned value of positions: a small network that corrects the estimate by the sizes of parts.

``lookahead`` values a position by its best guess, and the remaining parts by their sizes only. The network adds a
correction, in guesses per code. Its inputs are the frequencies of colours on pegs, the sizes of the parts of the best
guess, and the distribution of the scores of all guesses. Its layers are equivariant to permutations of pegs and of
colours, so the same weights work for games of any size. Positions are relabelled first (``Game.relabelled``), so
equivalent ones have the same value.

``train.mastermind`` trains it. A file has the parameters as safetensors, and a card in its header. Values are floats,
so machines may choose different guesses if two are almost equally good.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from flax import nnx
from jax import Array

from jaxsudoku.runtime.arrays import AnyArray
from jaxsudoku.runtime.files import write_file
from jaxsudoku.runtime.settings import Config, Positive

from .costs import OCCURRING, estimate
from .peg_game import PegGame
from .positions import Positions
from .rules import Game, GameError
from .scoring import scorer

#: Version of the file, and the key of its header.
_VERSION, _CARD = 1, "jaxsudoku"

#: Number of the largest parts of the best guess whose sizes are features; and ranks of the scores that are features.
_LARGEST, _RANKS = 8, (1, 3, 7, 15, 31, 63, 127, 255)

#: Number of features of a position besides the shares of colours.
NUMBERS = 10 + 2 * _LARGEST + len(_RANKS)

#: Number of positions whose features are computed together, and minimum number evaluated together.
_TOGETHER, _LEAST = 4096, 64

#: Maximum correction, in guesses per code, as games have larger positions than the training data.
_MOST = 0.5

#: The name of the network that ships with the package.
SHIPPED = "trained"


class ValueFileError(ValueError):
    """Raised for a file that is not a learned value; the message names the file and the reason."""


@dataclasses.dataclass(frozen=True)
class ValueConfig(Config):
    """Sizes of the network, and of the positions that it corrects.

    Attributes:
      width: number of features of each peg and colour.
      hidden: number of features of a position.
      largest: maximum size of positions that are corrected; the training games have few larger ones.
    """

    width: Positive = 24
    hidden: Positive = 64
    largest: Positive = 400


class Features(NamedTuple):
    """The inputs of the network for n positions, and the estimate that it corrects.

    Attributes:
      shares: float32[n, pegs, colours], the share of the codes that have a colour on a peg.
      numbers: float32[n, NUMBERS], sizes and scores.
      total: float32[n], the total of the position by the estimate, in guesses.
      sizes: float32[n], its codes.
    """

    shares: AnyArray
    numbers: AnyArray
    total: AnyArray
    sizes: AnyArray

    def take(self, indices: np.ndarray) -> Features:
        """The features of the positions at some indices."""
        return Features(*(array[indices] for array in self))


class ValueNetwork(nnx.Module):
    """The correction of the estimate for positions: shares and numbers as in ``Features`` to float32[n].

    The unit is guesses per code of a position. Two layers take, for each peg and colour, the features there and their
    means over pegs, over colours, and over both (Hartford et al. 2018, Deep models of interactions across sets). Their
    means and maxima, with the numbers, are the input of a perceptron of two layers. Before training the correction is
    0; it is never more than half a guess.
    """

    def __init__(self, config: ValueConfig, *, rngs: nnx.Rngs) -> None:
        width, hidden = config.width, config.hidden
        linear = functools.partial(nnx.Linear, precision="highest", rngs=rngs)
        self.shares = linear(4 * 3, width)
        self.mixed = linear(4 * width, width)
        self.joined = linear(2 * width + NUMBERS, hidden)
        self.deeper = linear(hidden, hidden)
        self.correction = linear(hidden, 1, kernel_init=nnx.initializers.zeros)

    def __call__(self, shares: AnyArray, numbers: AnyArray) -> Array:
        colours = shares.shape[2]
        # 1 where all colours are as frequent, whatever their number
        cells = jnp.stack([shares, shares * colours / 4, (shares > 0).astype(shares.dtype)], axis=-1)
        cells = nnx.gelu(self.shares(_with_means(cells)))
        cells = nnx.gelu(cells + self.mixed(_with_means(cells)))
        whole = jnp.concatenate([cells.mean((1, 2)), cells.max((1, 2)), numbers], axis=-1)
        whole = nnx.gelu(self.joined(whole))
        whole = nnx.gelu(whole + self.deeper(whole))
        return _MOST * jnp.tanh(self.correction(whole)[:, 0] / _MOST)


def _with_means(cells: Array) -> Array:
    """Features [n, pegs, colours, f] with their means over pegs, colours and both, [n, pegs, colours, 4 f]."""
    means = [cells.mean(axes, keepdims=True) for axes in ((1,), (2,), (1, 2))]
    return jnp.concatenate([cells, *(jnp.broadcast_to(mean, cells.shape) for mean in means)], axis=-1)


# ---------------------------------------------------------------------- features


def features(game: Game, positions: Positions) -> Features:
    """The features of positions; raises GameError as ``game_of_pegs``."""
    pegs = game_of_pegs(game)
    made = [_features(pegs, some) for some in _chunks(positions)] or [_features(pegs, positions)]
    return Features(*(np.concatenate(arrays).astype(np.float32) for arrays in zip(*made, strict=True)))


def game_of_pegs(game: Game) -> PegGame:
    """Returns the game if there are learned values for it; otherwise raises GameError."""
    if not isinstance(game, PegGame) or not game.repeats or not game.elsewhere:
        raise GameError(f"{game}: a learned value is for Mastermind with repeats, whose feedback has colours elsewhere")
    return game


def _chunks(positions: Positions) -> Iterator[Positions]:
    """Batches of successive positions that are processed together."""
    for start in range(0, len(positions), _TOGETHER):
        yield positions.take(np.arange(start, min(start + _TOGETHER, len(positions))))


def _features(game: PegGame, positions: Positions) -> Features:
    positions = positions.relabelled(game)
    sizes, pegs, colours = positions.sizes, game.pegs, game.colours
    owner = np.repeat(np.arange(len(positions)), sizes)
    cells = (owner[:, None] * pegs + np.arange(pegs)) * colours + game.codes[positions.codes]
    shares = np.bincount(cells.ravel(), minlength=len(positions) * pegs * colours) / np.repeat(sizes, pegs * colours)
    cost, score = estimate(game), scorer(game)
    guesses, least = np.zeros(len(positions), np.int64), np.zeros(len(positions), np.int64)
    spread = np.zeros((len(positions), len(_RANKS)))
    for indices, scores in score.scores(positions, cost):
        ranks = np.minimum((0, *_RANKS), scores.shape[1] - 1)
        ordered = np.partition(scores, ranks, axis=1)[:, ranks]
        guesses[indices], least[indices] = scores.argmin(axis=1), ordered[:, 0]
        spread[indices] = ordered[:, 1:] - ordered[:, :1]
    total = least / cost.bonus + sizes
    found = score.partition(positions, guesses)
    parts = np.bincount(found.owner, minlength=len(positions))
    wins = np.bincount(found.owner[found.won], minlength=len(positions))
    largest = _largest_parts(found.parts.sizes, found.owner, len(positions))
    numbers = [
        np.log(sizes) / math.log(max(OCCURRING * game.feedbacks, 2)),
        np.full(len(positions), pegs / 5),
        np.full(len(positions), colours / 8),
        np.minimum(sizes / game.feedbacks / 4, 1),
        1 / sizes,
        sizes <= game.feedbacks,
        total / sizes,
        parts / sizes,
        parts / game.feedbacks,
        wins,
        *(np.log1p(largest) / 3).T,
        *(largest / sizes[:, None]).T,
        *np.log1p(spread / cost.bonus).T,
    ]
    return Features(shares.reshape(-1, pegs, colours), np.stack(numbers, axis=1), total, sizes)


def _largest_parts(sizes: np.ndarray, owner: np.ndarray, number: int) -> np.ndarray:
    """The sizes of the largest parts of ``number`` positions, int64[number, _LARGEST], from the largest on."""
    order = np.lexsort((-sizes, owner))
    rank = np.arange(len(order)) - np.searchsorted(owner, owner[order])
    (first,) = np.nonzero(rank < _LARGEST)
    largest = np.zeros((number, _LARGEST), np.int64)
    largest[owner[order[first]], rank[first]] = sizes[order[first]]
    return largest


# ---------------------------------------------------------------------- the value


@dataclasses.dataclass(frozen=True, eq=False)
class LearnedValue:
    """A trained network.

    Attributes:
      config: its sizes.
      params: its parameters, by name.
      facts: facts about its training.
    """

    config: ValueConfig
    params: Mapping[str, Any]
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def state(self) -> Any:
        """The parameters as a state of Flax, on the device."""
        state = nnx.eval_shape(lambda: nnx.state(ValueNetwork(self.config, rngs=nnx.Rngs(0)), nnx.Param))
        nnx.replace_by_pure_dict(state, _nested(self.params))
        return state

    def totals(self, game: Game, positions: Positions) -> np.ndarray:
        """The totals of positions of more than two codes, float64[n], in guesses."""
        return self.totals_of(features(game, positions))

    def totals_of(self, inputs: Features) -> np.ndarray:
        """The totals of positions by their features, float[n], in guesses."""
        return np.asarray(corrected(inputs, self.corrections(inputs), self.config.largest))

    def corrections(self, inputs: Features) -> np.ndarray:
        """The corrections of the estimate, float64[n], in guesses per code."""
        found, run = np.zeros(len(inputs.sizes)), _compiled(self.config)
        for start in range(0, len(found), _TOGETHER):
            some = inputs.take(np.arange(start, min(start + _TOGETHER, len(found))))
            count = len(some.sizes)
            padding = (0, max(_LEAST, 1 << (count - 1).bit_length()) - count)
            shares, numbers = (np.pad(array, (padding, *((0, 0),) * (array.ndim - 1))) for array in some[:2])
            found[start : start + count] = np.asarray(run(self.state, shares, numbers))[:count]
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the network to a file, atomically.

        Raises:
          ValueError: some parameters are not finite, or the facts are not JSON.
          OSError: it can't be written.
        """
        _check_finite(self.params)
        card = {"version": _VERSION, "config": dataclasses.asdict(self.config), "facts": self.facts}
        tensors = {name: np.asarray(array, np.float32) for name, array in self.params.items()}
        write_file(Path(path), safetensors.numpy.save(tensors, {_CARD: json.dumps(card, allow_nan=False)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LearnedValue:
        """Reads a file of ``save``, or the network that ships with the package, named ``trained``.

        Raises:
          ValueFileError: the file is missing, or is not a learned value that this version supports.
        """
        shipped = resources.files("jaxsudoku") / "mastermind" / "trained" / "value.safetensors"
        file = shipped if os.fspath(path) == SHIPPED else Path(path)
        try:
            data = file.read_bytes()
            length = int.from_bytes(data[:8], "little")
            card = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][_CARD])
            if card["version"] != _VERSION:
                raise ValueError(f"version {card['version']} of the format is not known, only {_VERSION}")
            params = safetensors.numpy.load(data)
            found = cls(ValueConfig(**card["config"]), params, dict(card["facts"]))
            if {name: (array.shape, array.dtype) for name, array in params.items()} != _shapes(found.config):
                raise ValueError("its parameters are not those of a network of its sizes")
            _check_finite(params)
            return found
        except FileNotFoundError as error:
            raise ValueFileError(f"{path}: there is no such file; the network that ships is {SHIPPED!r}") from error
        except _UNREADABLE as error:
            raise ValueFileError(f"{path}: not a learned value ({type(error).__name__}: {error})") from error


#: Errors raised on reading other files.
_UNREADABLE = OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, safetensors.SafetensorError


def _check_finite(params: Mapping[str, Any]) -> None:
    if not all(np.isfinite(array).all() for array in params.values()):
        raise ValueError("some parameters are not finite")


@functools.lru_cache(maxsize=8)
def _compiled(config: ValueConfig) -> Any:
    """The jitted network of these sizes: (state, shares, numbers) -> corrections."""
    graph = nnx.graphdef(nnx.eval_shape(lambda: ValueNetwork(config, rngs=nnx.Rngs(0))))
    return jax.jit(lambda state, shares, numbers: nnx.merge(graph, state)(shares, numbers))


def corrected(inputs: Features, corrections: AnyArray, largest: int) -> AnyArray:
    """The totals of positions, float[n], from corrections in guesses per code; of numpy or JAX, like these.

    The estimate is kept for positions of more than ``largest`` codes. An estimate of at most 2 n guesses for n codes is
    exact, as parts of at most two codes are left. If it is higher, no strategy has less than 2 n.
    """
    xp: Any = np if isinstance(corrections, np.ndarray) else jnp
    least = 2 * inputs.sizes
    stays = (inputs.total <= least) | (inputs.sizes > largest)
    return xp.where(stays, inputs.total, xp.maximum(inputs.total + inputs.sizes * corrections, least))


def _shapes(config: ValueConfig) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """The shapes and dtypes of the parameters of a network, by name."""
    state = nnx.eval_shape(lambda: nnx.state(ValueNetwork(config, rngs=nnx.Rngs(0)), nnx.Param))
    return {name: (leaf.shape, np.dtype(leaf.dtype)) for name, leaf in _named(state).items()}


def flat_params(state: Any) -> dict[str, np.ndarray]:
    """The parameters of a state of the network by name, such as "mixed.kernel"."""
    return {name: np.asarray(array) for name, array in _named(state).items()}


def _named(state: Any) -> dict[str, Any]:
    """The leaves of a state of the network by name."""
    nested = nnx.to_pure_dict(state)
    return {f"{layer}.{name}": leaf for layer, leaves in nested.items() for name, leaf in leaves.items()}


def _nested(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Named parameters by layer, as Flax has them."""
    nested: dict[str, dict[str, Any]] = {}
    for name, array in params.items():
        layer, _, leaf = name.partition(".")
        nested.setdefault(layer, {})[leaf] = jax.device_put(array)
    return nested
