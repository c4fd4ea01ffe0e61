"""Networks made from users' NNX modules, outside of the registry."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxsudoku.core.board import Board
from jaxsudoku.runtime.settings import Config

from .base import Forward, Network, NetworkModule, Outputs, Params


def from_module(module: nnx.Module, board: Board, name: str | None = None) -> Network:
    """Makes a network from your own NNX module, with its current parameters.

    It works with solvers and ``evaluate`` like any network. Modules that differ only in parameters share compiled
    programs. It is not in the registry, so ``save_network`` does not accept it: save the module with Flax.

    Args:
      module: an NNX module whose only state is parameters (``nnx.Param``). Called with candidates bool[B, side, cells]
        it returns the logits of the digits, floats [B, side, cells], and the log-odds that the position has a
        solution, floats [B].
      board: the board of the network.
      name: a name for messages; None for the name of the class.

    Raises:
      TypeError: not an NNX module, or one with other state, such as constant arrays, batch statistics or keys.
      ValueError: calling it fails, or returns other values.
    """
    if not isinstance(module, nnx.Module):
        raise TypeError(f"a value of type {type(module).__name__}; it must be a flax.nnx.Module")
    name = name or type(module).__name__
    graph, state, *others = nnx.split(module, nnx.Param, ...)
    if further := jax.tree.leaves_with_path(nnx.to_pure_dict(others[0])):
        paths = ", ".join(jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in further)
        raise TypeError(
            f"{name} has state besides its parameters, {paths}; networks must be pure: keep a constant array outside "
            "of the module, or make it in __call__"
        )
    params: Params = {"module": nnx.to_pure_dict(state)}
    leaves, tree = jax.tree.flatten(params["module"])
    kinds = tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
    network = Network(name, _OwnForward(_Own, _NoSizes(), board, graph, tree, kinds), params)
    candidates = jax.ShapeDtypeStruct((2, board.side, board.cells), jnp.bool_)
    try:
        jax.eval_shape(network.apply, params, candidates)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{name} is not a network for {board}: {error}") from error
    return network


@dataclasses.dataclass(frozen=True)
class _NoSizes(Config):
    """The empty config of a user's module."""


class _Own(NetworkModule):
    """A user's module as an architecture without iterations."""

    def __init__(self, module: nnx.Module) -> None:
        self.module = module

    def __call__(self, candidates: Array) -> Outputs:
        outputs: Any = self.module(candidates)
        if not isinstance(outputs, tuple) or len(outputs) != 2:
            raise ValueError("it must return a pair, the policy and the value")
        return Outputs(*outputs)


@dataclasses.dataclass(frozen=True)
class _OwnForward(Forward):
    """The forward pass of a user's module.

    Attributes:
      graph: the module without its parameters.
      tree: the structure of the parameters.
      kinds: the shapes and dtypes of the parameters.
    """

    graph: Any
    tree: Any
    kinds: tuple[Any, ...]

    def init(self, key: Array) -> Params:
        raise TypeError("your own module has its parameters already; make another one, and call from_module")

    def _make(self, key: Array) -> NetworkModule:
        """The module with zeros as parameters; only its structure is used."""
        del key
        return _Own(nnx.merge(self.graph, jax.tree.unflatten(self.tree, [jnp.zeros(*kind) for kind in self.kinds])))
