"""The firefly algorithm (Yang 2009, Firefly Algorithms for Multimodal Optimization), with the interface of evosax.

Every firefly moves towards each brighter one, by a larger part of the way the nearer it is, and a little at random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

#: Mean squared distance per coordinate of two random vectors in the unit cube.
_FAR = 1 / 6


class Swarm(NamedTuple):
    """A population.

    Attributes:
      members: float32[members, size].
      fitness: float32[members], lower is brighter.
      noise: float32, the width of random moves.
    """

    members: Array
    fitness: Array
    noise: Array


class Params(NamedTuple):
    """Settings, as in Yang's paper, except that distances are relative to that of random vectors.

    Attributes:
      attraction: share of the distance to a nearby brighter firefly that is moved.
      absorption: rate at which attraction falls with the squared distance.
      noise: the width of random moves in the first generation.
      cooling: factor of this width from one generation to the next.
    """

    attraction: float = 1.0
    absorption: float = 1.0
    noise: float = 0.2
    cooling: float = 0.97


class Firefly:
    """The algorithm, for vectors of any size whose initial values are from 0 to 1.

    Args:
      population_size: number of fireflies; unused, as populations are given.
      solution: a vector of the right size; unused.
    """

    def __init__(self, population_size: int, solution: Array) -> None:
        del population_size, solution

    @property
    def default_params(self) -> Params:
        return Params()

    def init(self, key: Array, members: Array, fitness: Array, params: Params) -> Swarm:
        """The state of an initial population float32[members, size] with its fitness float32[members]."""
        del key
        return Swarm(members, fitness, jnp.float32(params.noise))

    def ask(self, key: Array, swarm: Swarm, params: Params) -> tuple[Array, Swarm]:
        """The next population, to be evaluated."""

        def towards(number: Array, members: Array) -> Array:
            way = members[number] - members
            distance = (way**2).mean(axis=1) / _FAR
            pull = params.attraction * jnp.exp(-params.absorption * distance)
            return members + jnp.where(swarm.fitness[number] < swarm.fitness, pull, 0)[:, None] * way

        members = lax.fori_loop(0, len(swarm.members), towards, swarm.members)
        random = jax.random.uniform(key, members.shape) - jnp.float32(0.5)
        return members + swarm.noise * random, swarm

    def tell(self, key: Array, members: Array, fitness: Array, swarm: Swarm, params: Params) -> tuple[Swarm, Any]:
        """The state after a population was evaluated, and an empty dict of metrics."""
        del key
        return Swarm(members, fitness, swarm.noise * jnp.float32(params.cooling)), {}
