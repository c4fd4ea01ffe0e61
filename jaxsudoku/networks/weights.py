"""Saving and loading of networks: parameters as safetensors, with a JSON card that describes the network.

The card has the architecture with its sizes, the board, the checksum of the parameters, and further facts such as data,
seed, device, time and metrics. Loading refuses parameters that differ from their card.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from jaxsudoku._version import __version__
from jaxsudoku.core.board import Board
from jaxsudoku.runtime import forks
from jaxsudoku.runtime.arrays import check_on_host
from jaxsudoku.runtime.files import check_checksum, parse_json, read_json, with_checksum, write_file
from jaxsudoku.runtime.suggestions import did_you_mean

from . import registry
from .base import Forward, Network, Params

#: Version of the layout of both files. Since version 2 the card has its own checksum; version 1 can still be read.
FORMAT = 2

_WEIGHTS, _CARD = ".safetensors", ".json"

#: The name of the network in the folder of a training run.
_OF_A_RUN = "network"

#: Dtypes of tensors, by their names in safetensors, whose numpy reader does not support bfloat16.
_DTYPES = {"BF16": jnp.bfloat16, "F16": np.float16, "F32": np.float32, "F64": np.float64}

#: Maximum number of causes in a message.
_MOST = 3


class NetworkFileError(ValueError):
    """Raised if a file is not a network or does not match its card; the message names the file and the reason."""


@dataclasses.dataclass(frozen=True)
class Card:
    """The description of a network in a file.

    Attributes:
      architecture: its name in ``NETWORKS``.
      config: its sizes, the fields of the architecture's config.
      board: the board that it was trained on.
      parameters: number of parameters.
      sha256: checksum of the file of parameters, in hexadecimal.
      jaxsudoku: version of the library that wrote it.
      facts: the facts given to ``save_network``.
    """

    architecture: str
    config: Mapping[str, Any]
    board: Board
    parameters: int
    sha256: str
    jaxsudoku: str
    facts: Mapping[str, Any]

    def encode(self) -> bytes:
        """The card as JSON; raises ValueError if the facts are not JSON, or a constraint of the board has no text."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["board"] = {"name": str(self.board), **self.board.to_json()}
        try:
            text = json.dumps({"format": FORMAT, **fields}, allow_nan=False, default=_plain)
            return with_checksum(parse_json(text.encode()))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the facts of a card must be JSON: {error}") from error

    @classmethod
    def read(cls, path: Traversable) -> Card:
        """Reads a card; raises ``NetworkFileError`` if it is malformed or of a newer format."""
        try:
            fields = read_json(path)
            format = fields["format"]
            if type(format) is int and format > FORMAT:
                raise NetworkFileError(f"{path}: a card of format {format}; this version of jaxsudoku reads {FORMAT}")
            if format != 1:
                check_checksum(fields)
            del fields["format"]
            board = fields.pop("board")
            del board["name"]
            card = cls(board=Board.of_json(board), **fields)
        except NetworkFileError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise NetworkFileError(f"{path}: not a network's card ({type(error).__name__}: {error})") from error
        kinds = {"architecture": str, "config": dict, "parameters": int, "sha256": str, "jaxsudoku": str, "facts": dict}
        wrong = [name for name, kind in kinds.items() if type(getattr(card, name)) is not kind]
        if type(format) is not int or not 1 <= format <= FORMAT or wrong:
            raise NetworkFileError(f"{path}: not a network's card (malformed: {', '.join(wrong) or 'format'})")
        return card


def save_network(
    network: Network,
    path: str | os.PathLike[str],
    /,
    *,
    stored: Literal["float32", "bfloat16"] = "float32",
    **facts: Any,
) -> Path:
    """Writes a network to PATH.safetensors, and its card to PATH.json.

    Each file is replaced atomically. If only the first one is written, it does not match the old card, and loading
    fails.

    Args:
      network: the network.
      path: the path, with or without the suffix of either file.
      stored: dtype of the parameters in the file; bfloat16 takes half the space and rounds them.
      **facts: further facts for the card, such as data, seed, device, time and metrics; anything that JSON can hold.

    Returns:
      The path of the parameters.

    Raises:
      ValueError: another dtype, facts that are not JSON, a network that is not of its architecture, or parameters that
        are not finite.
    """
    path = Path(path)
    weights, card = _beside(path.parent, path.name)
    names, _ = _named(network.params)
    known = registry.NETWORKS.get(network.name)
    if known is None or known.module is not network.apply.module:
        words = f"a network by the name of {network.name} that is a {network.apply.module.__name__}"
        raise ValueError(f"{words}; only networks of the registry can be saved: save your own module with Flax")
    if wrong := _differences(network.apply.shapes(), names) or _not_finite(names):
        raise ValueError(f"the parameters are not those of this {network.name}: {wrong}")
    if stored not in ("float32", "bfloat16"):
        raise ValueError(f"parameters are stored as float32 or bfloat16, not as {stored!r}")
    data = safetensors.numpy.save({name: np.array(leaf, jnp.dtype(stored), order="C") for name, leaf in names.items()})
    described = Card(
        architecture=network.name,
        config=dataclasses.asdict(network.config),
        board=network.board,
        parameters=network.size,
        sha256=hashlib.sha256(data).hexdigest(),
        jaxsudoku=__version__,
        facts=facts,
    ).encode()
    write_file(weights, data)
    write_file(card, described)
    return weights


def load_network(network: str | os.PathLike[str], /, board: Board | None = None, **overrides: Any) -> Network:
    """Loads a network that ships with the package, or that ``save_network`` wrote.

    Args:
      network: the name of a shipped network (see ``shipped``), or a path with or without the suffix of either file; or
        the folder of a training run, whose network is ``network.safetensors``.
      board: the board to use it on, by default that on its card, with constraints or not. Only architectures for any
        board take one with other houses.
      **overrides: fields of the config that the architecture lists as ``adjustable``, e.g. ``dtype="bfloat16"``.

    Raises:
      NetworkFileError: a file is missing, truncated or altered; its card is missing, malformed or of a newer format, or
        its architecture, sizes or board do not fit the parameters; some of these are not finite; or the network is for
        another board.
      ValueError: a field that is not adjustable, or a value out of its range.
      RuntimeError: as ``forks.check``.
    """
    forks.check()
    weights, path = _files(network)
    card = read_card(network)
    forward, shapes = _described(card, path)
    architecture = registry.get(card.architecture)
    if fixed := sorted(set(overrides) - set(architecture.adjustable)):
        raise ValueError(
            f"{', '.join(fixed)} of a trained {card.architecture} can't be changed, "
            f"only {', '.join(architecture.adjustable)}"
        )
    if board is not None and not (architecture.any_board or registry.same_houses(board, card.board)):
        raise NetworkFileError(f"{weights}: a {card.architecture} for the board {card.board}, not for {board}")
    params = _read(weights, card, shapes)
    fitted = Forward(forward.module, dataclasses.replace(forward.config, **overrides), board or card.board)
    return Network(card.architecture, fitted, params)


def as_network(network: Network | str | os.PathLike[str], board: Board | None = None) -> Network:
    """Returns a network unchanged, or loads it from a name or path.

    Raises:
      NetworkFileError: as in ``load_network``.
      TypeError: neither a network nor a name or path, as when arguments are in another order.
    """
    if isinstance(network, str | os.PathLike):
        return load_network(network, board)
    if not isinstance(network, Network):
        short = isinstance(network, int | float | None)
        shown = repr(network) if short else f"a value of type {type(network).__name__}"
        if callable(network):
            shown += "; networks.from_module makes one of an NNX module"
        raise TypeError(f"network must be a networks.Network, a name or a path, not {shown}")
    return network


def read_card(network: str | os.PathLike[str], /) -> Card:
    """The card of a network for ``load_network``; raises ``NetworkFileError`` as it does."""
    weights, card = _files(network)
    if not weights.is_file():
        hint = did_you_mean(os.fspath(network), shipped())
        raise NetworkFileError(f"{weights}: there is no such file; shipped are: {', '.join(shipped()) or 'none'}{hint}")
    if not card.is_file():
        raise NetworkFileError(f"{weights}: its card {card.name} is missing")
    return Card.read(card)


def check_network(network: Network) -> None:
    """Checks parameters that users made or changed; those of ``load_network`` and ``make_network`` are valid.

    Raises:
      ValueError: an array is missing, of another shape than the architecture has, not of floats, or holds values that
        are not finite; the message names the arrays and the number of such values.
      TypeError: traced parameters.
    """
    names, _ = _named(network.params)
    shapes = _shapes(network.apply)
    wrong = _unmatched(shapes, names)
    for name in (name for name in names if name in shapes):
        check_on_host(names[name], "parameters")
        shape, kind = np.shape(names[name]), jnp.result_type(names[name])
        if shape != shapes[name]:
            wrong.append(f"{name} is {list(shape)}, not {list(shapes[name])}")
        elif not jnp.issubdtype(kind, jnp.floating):
            wrong.append(f"{name} is {kind}, not floats")
    if causes := _listed(wrong) or _not_finite(names):
        raise ValueError(f"the parameters of this network {network.name} can't be used: {causes}")


@functools.lru_cache(maxsize=64)
def _shapes(forward: Forward) -> dict[str, tuple[int, ...]]:
    """The shapes of the parameters by dotted names; cached, as every call of a solver checks its network."""
    return {name: leaf.shape for name, leaf in _named(forward.shapes())[0].items()}


def shipped() -> tuple[str, ...]:
    """The names of the networks that ship with the package, sorted."""
    folder = _folder()
    names = (entry.name for entry in folder.iterdir()) if folder.is_dir() else ()
    return tuple(sorted(name.removesuffix(_WEIGHTS) for name in names if name.endswith(_WEIGHTS)))


# ---------------------------------------------------------------------- files


def _folder() -> Traversable:
    return resources.files("jaxsudoku") / "networks" / "trained"


def _files(network: str | os.PathLike[str]) -> tuple[Traversable, Traversable]:
    """The files of parameters and of the card."""
    if network in shipped():
        return _folder() / f"{network}{_WEIGHTS}", _folder() / f"{network}{_CARD}"
    path = Path(network)
    weights, card = _beside(path.parent, path.name)
    if path.is_dir() and not weights.exists():
        return _beside(path, _OF_A_RUN)
    return weights, card


def _beside(folder: Path, name: str) -> tuple[Path, Path]:
    """The files of parameters and of the card, from the name of either with or without its suffix."""
    stem = name.removesuffix(_CARD) if name.endswith(_CARD) else name.removesuffix(_WEIGHTS)
    if not stem:
        raise ValueError(f"{str(folder / name)!r} names no file")
    return folder / f"{stem}{_WEIGHTS}", folder / f"{stem}{_CARD}"


# ---------------------------------------------------------------------- what a card describes


def _described(card: Card, path: Traversable) -> tuple[Forward, Params]:
    """The network of a card and the shapes of its parameters; raises ``NetworkFileError`` if they don't fit."""
    try:
        architecture = registry.get(card.architecture)
        names = {field.name for field in dataclasses.fields(architecture.config)}
        if odd := sorted(names.symmetric_difference(card.config).difference(architecture.later)):
            raise ValueError(
                f"the config of {card.architecture} has {', '.join(sorted(names))}; "
                f"missing or unknown: {', '.join(odd)}"
            )
        config = architecture.config(**{name: _hashable(value) for name, value in card.config.items()})
        forward = Forward(architecture.module, config, card.board)
        shapes = forward.shapes()
        size = sum(leaf.size for leaf in jax.tree.leaves(shapes))
        if size != card.parameters:
            raise ValueError(f"a network of these sizes has {size:,} parameters, not {card.parameters:,}")
    except (ValueError, TypeError) as error:
        raise NetworkFileError(f"{path}: {error}") from error
    return forward, shapes


def _read(path: Traversable, card: Card, shapes: Params) -> Params:
    """The parameters of a file; raises ``NetworkFileError`` unless they have the card's checksum and these shapes."""
    data = path.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != card.sha256:
        raise NetworkFileError(f"{path}: truncated or altered; its sha256 is {found}, that of its card {card.sha256}")
    try:
        tensors = {
            name: np.frombuffer(part["data"], _DTYPES[part["dtype"]]).reshape(part["shape"])
            for name, part in safetensors.deserialize(data)  # type: ignore[no-untyped-call]
        }
    except KeyError as error:
        raise NetworkFileError(f"{path}: tensors of dtype {error}, not of {', '.join(_DTYPES)}") from error
    except (safetensors.SafetensorError, ValueError) as error:
        raise NetworkFileError(f"{path}: not a safetensors file ({error})") from error
    tensors = {name: one.astype(np.float32) if one.dtype == jnp.bfloat16 else one for name, one in tensors.items()}
    if wrong := _differences(shapes, tensors):
        raise NetworkFileError(f"{path}: not the parameters of {card.architecture} with these sizes: {wrong}")
    if wrong := _not_finite(tensors):
        raise NetworkFileError(f"{path}: {wrong}")
    names, structure = _named(shapes)
    params: Params = jax.tree.unflatten(structure, jax.device_put([tensors[name] for name in names]))
    return params


def _named(params: Params) -> tuple[dict[str, Any], Any]:
    """The leaves of a tree by dotted names, in its order, and its structure."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(params)
    return {".".join(str(getattr(step, "key", step)) for step in path): leaf for path, leaf in leaves}, structure


def _unmatched(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """The names that only one of two mappings has, in words."""
    missing = [f"{name} is missing" for name in wanted if name not in given]
    return missing + [f"{name} is not one of its tensors" for name in given if name not in wanted]


def _differences(shapes: Params, tensors: Mapping[str, Any]) -> str:
    """The differences of named tensors from shapes and dtypes, in words; empty if there are none."""

    def kind(leaf: Any) -> str:
        return f"{leaf.dtype}{list(leaf.shape)}"

    wanted, _ = _named(shapes)
    wrong = _unmatched(wanted, tensors)
    for name, leaf in wanted.items():
        if name in tensors and kind(tensors[name]) != kind(leaf):
            wrong.append(f"{name} is {kind(tensors[name])}, not {kind(leaf)}")
    return _listed(wrong)


def _not_finite(tensors: Mapping[str, Any]) -> str:
    """The tensors with values that are not finite in float32, in words; empty if there are none."""
    wrong = []
    for name, tensor in tensors.items():
        with np.errstate(over="ignore"):
            values = np.asarray(tensor).astype(np.float32)
        if bad := values.size - int(np.count_nonzero(np.isfinite(values))):
            wrong.append(f"{name} has {bad:,} of {values.size:,} values that are not finite")
    return _listed(wrong)


def _listed(causes: list[str]) -> str:
    """The first causes, and the number of the others."""
    others = [f"and {len(causes) - _MOST} more"] if len(causes) > _MOST else []
    return "; ".join(causes[:_MOST] + others)


def _hashable(value: Any) -> Any:
    """A value of a config, with tuples in place of JSON's lists."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """A number or array of numpy or JAX as JSON."""
    if isinstance(value, np.generic | np.ndarray | jax.Array):
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__}")
