"""Networks of NNX modules that users bring, beside those of the registry."""

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
    """A network of a module of your own, with the parameters that it has now.

    Solvers, ``evaluate`` and a call take it as any other. Modules that differ in parameters alone share programs. It
    is not in the registry, so ``save_network`` does not take it: save the module as Flax does.

    Args:
      module: an NNX module that keeps nothing but parameters (``nnx.Param``). Called with candidates
        bool[B, side, cells] it returns the logits of the digits, floats [B, side, cells], and the log-odds that the
        position has a solution, floats [B].
      board: the board that it is for.
      name: a name for messages; None for that of its class.

    Raises:
      TypeError: no NNX module, or one with other state, such as statistics of a batch or keys.
      ValueError: it cannot be called so, or returns anything else.
    """
    if not isinstance(module, nnx.Module):
        raise TypeError(f"a value of type {type(module).__name__}; it must be a flax.nnx.Module")
    name = name or type(module).__name__
    graph, state, *others = nnx.split(module, nnx.Param, ...)
    if jax.tree.leaves(others):
        raise TypeError(f"{name} keeps state beside its parameters; networks must be pure")
    params: Params = {"module": nnx.to_pure_dict(state)}
    leaves, tree = jax.tree.flatten(params["module"])
    kinds = tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
    network = Network(name, _OwnForward(_Own, _NoSizes(), board, graph, tree, kinds), params)
    candidates = jax.ShapeDtypeStruct((2, board.side, board.cells), jnp.bool_)
    try:
        jax.eval_shape(network.apply, params, candidates)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{name} is no network for a board of {board}: {error}") from error
    return network


@dataclasses.dataclass(frozen=True)
class _NoSizes(Config):
    """The config of a module that is made already."""


class _Own(NetworkModule):
    """A module of a user, as an architecture without iterations."""

    def __init__(self, module: nnx.Module) -> None:
        self.module = module

    def __call__(self, candidates: Array) -> Outputs:
        outputs: Any = self.module(candidates)
        if not isinstance(outputs, tuple) or len(outputs) != 2:
            raise ValueError("it must return a pair, the policy and the value")
        return Outputs(*outputs)


@dataclasses.dataclass(frozen=True)
class _OwnForward(Forward):
    """The forward pass of a module that comes with its parameters.

    Attributes:
      graph: the module without its parameters.
      tree: the structure of these.
      kinds: their shapes and dtypes.
    """

    graph: Any
    tree: Any
    kinds: tuple[Any, ...]

    def init(self, key: Array) -> Params:
        raise TypeError("a module of your own comes with its parameters; make another, and a network from_module of it")

    def _make(self, key: Array) -> NetworkModule:
        """The module with zeros, of which nothing but the structure is used."""
        del key
        return _Own(nnx.merge(self.graph, jax.tree.unflatten(self.tree, [jnp.zeros(*kind) for kind in self.kinds])))
