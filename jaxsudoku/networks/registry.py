"""The registry of network architectures by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.random import as_key
from jaxsudoku.runtime.settings import settings_of
from jaxsudoku.runtime.suggestions import did_you_mean

from . import axial, cell_cnn, cellwise, cube, house_cnn, house_resnet, se_resnet
from .base import Forward, Network, NetworkModule


@dataclasses.dataclass(frozen=True)
class Architecture:
    """An entry of the registry.

    Attributes:
      name: the architecture's name.
      summary: one line for the help text.
      module: the NNX class, constructed as ``module(config, board, rngs=rngs)``.
      config: frozen dataclass of its sizes, each with a default.
      adjustable: fields of the config that may be changed after training.
      later: fields of the config that cards of earlier versions lack; they have their defaults there.
      any_board: whether the same parameters work on every board.
    """

    name: str
    summary: str
    module: type[NetworkModule]
    config: type
    adjustable: tuple[str, ...] = ("dtype",)
    later: tuple[str, ...] = ()
    any_board: bool = False

    @property
    def equivariant(self) -> bool:
        """Whether the policy is exactly equivariant under the symmetries of the board."""
        return self.module.equivariant


_ARCHITECTURES = (
    Architecture(
        "cube",
        "message passing between candidates, equivariant under all symmetries; any board",
        cube.CubeNet,
        cube.CubeConfig,
        adjustable=("iterations", "dtype"),
        later=("constraints", "bound"),
        any_board=True,
    ),
    Architecture(
        "axial", "a transformer: attention within rows, columns and regions in turn", axial.Axial, axial.AxialConfig
    ),
    Architecture(
        "cellwise",
        "a transformer: every cell attends to all cells",
        cellwise.Cellwise,
        cellwise.CellwiseConfig,
    ),
    Architecture(
        "se_resnet",
        "a residual network of 3x3 convolutions with squeeze and excitation",
        se_resnet.SeResNet,
        se_resnet.SeResNetConfig,
    ),
    Architecture(
        "house_cnn",
        "convolutions, the first with kernels of whole houses; boards with boxes",
        house_cnn.HouseCnn,
        house_cnn.HouseCnnConfig,
    ),
    Architecture(
        "house_resnet",
        "residual blocks with kernels of whole houses; boards with boxes",
        house_resnet.HouseResNet,
        house_resnet.HouseResNetConfig,
        adjustable=("repeats", "dtype"),
    ),
    Architecture(
        "cell_cnn",
        "three small convolutions and one dense layer; the teaching example",
        cell_cnn.CellCnn,
        cell_cnn.CellCnnConfig,
    ),
)

#: Every architecture, by name.
NETWORKS: dict[str, Architecture] = {architecture.name: architecture for architecture in _ARCHITECTURES}


def get(name: str) -> Architecture:
    """The architecture of that name.

    Raises:
      ValueError: an unknown name; the message lists the names.
    """
    if name not in NETWORKS:
        raise ValueError(f"unknown network {name!r}: choose one of {', '.join(NETWORKS)}{did_you_mean(name, NETWORKS)}")
    return NETWORKS[name]


def make_forward(name: str, board: Board | None = None, **sizes: Any) -> Forward:
    """An architecture for a board (the classic 9x9 by default), as a pure function of parameters.

    Raises:
      ValueError: an unknown architecture or size. A board that the architecture does not support is refused when
        parameters or their shapes are made.
    """
    architecture = get(name)
    config = settings_of(architecture.config, f"network {name}", **sizes)
    return Forward(architecture.module, config, board or Board.classic())


def same_houses(one: Board, other: Board) -> bool:
    """Whether two boards differ in nothing but their constraints."""
    return dataclasses.replace(one, constraints=()) == dataclasses.replace(other, constraints=())


def for_board(network: Network, board: Board) -> Network:
    """The same network for another board. Boards may always differ in their constraints, which few networks see.

    Raises:
      ValueError: the houses differ, and the architecture's parameters are for one board only.
    """
    if network.board == board:
        return network
    known = NETWORKS.get(network.name)
    serves_all = known is not None and known.module is network.apply.module and known.any_board
    if not (serves_all or same_houses(network.board, board)):
        raise ValueError(f"the network {network.name} is for a board of {network.board}, not for one of {board}")
    return dataclasses.replace(network, apply=dataclasses.replace(network.apply, board=board))


def make_network(name: str, board: Board | None = None, key: jax.Array | int = 0, **sizes: Any) -> Network:
    """An untrained network with random parameters.

    Args:
      name: a name in ``NETWORKS``.
      board: the board, by default the classic 9x9.
      key: a JAX key or a seed.
      **sizes: fields of the architecture's config, e.g. ``width=64``.

    Raises:
      ValueError: as in ``make_forward``, and for a board that the architecture does not support.
    """
    forward = make_forward(name, board, **sizes)
    return Network(name, forward, forward.init(as_key(key)))
