"""Counts the steps of a program's main loop, by running the program on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend import core

from jaxsudoku import compiler_options


def main_loop_steps(function: Callable[..., Any], *arguments: Any) -> int:
    """The number of steps of the function's largest loop, without its other results.

    Loops inside other loops, conditions and the like are ignored.

    Args:
      function: a function of arrays that can be jitted.
      *arguments: the arrays.

    Raises:
      ValueError: the function has no loop.
    """
    program = jax.make_jaxpr(function)(*arguments)
    if not (sizes := [_size(eqn.params["body_jaxpr"].jaxpr) for eqn in _loops(program.jaxpr)]):
        raise ValueError("the program has no loop")

    def counted(*arguments: Array) -> Array:
        steps: list[Array] = []
        _run(program, jax.tree.leaves(arguments), steps)
        return steps[sizes.index(max(sizes))]

    return int(jax.jit(counted, compiler_options=compiler_options("cpu"))(*arguments))


def _inner(eqn: Any) -> Any:
    """The program of a call, None of any other equation."""
    return eqn.params["jaxpr"] if eqn.primitive.name in ("jit", "pjit") else None


def _loops(jaxpr: Any) -> list[Any]:
    """The loops of unknown length in order, those in calls too."""
    found = []
    for eqn in jaxpr.eqns:
        if (inner := _inner(eqn)) is not None:
            found += _loops(inner.jaxpr)
        elif eqn.primitive.name == "while":
            found.append(eqn)
    return found


def _size(jaxpr: Any) -> int:
    """Equations, those in calls, conditions and loops too."""
    return len(jaxpr.eqns) + sum(map(_size, core.subjaxprs(jaxpr)))


def _run(program: Any, arguments: Sequence[Any], steps: list[Array]) -> list[Any]:
    """The program's results; appends the number of steps of each loop."""
    jaxpr = program.jaxpr
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, program.consts, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else values[atom]

    for eqn in jaxpr.eqns:
        given = [value(atom) for atom in eqn.invars]
        if (inner := _inner(eqn)) is not None:
            results = _run(inner, given, steps)
        elif eqn.primitive.name == "while":
            results = _run_loop(eqn.params, given, steps)
        else:
            found = eqn.primitive.bind(*given, **eqn.primitive.get_bind_params(eqn.params))
            results = found if eqn.primitive.multiple_results else [found]
        values.update(zip(eqn.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]


def _run_loop(params: dict[str, Any], given: Sequence[Any], steps: list[Array]) -> list[Any]:
    """Runs a loop and counts its steps."""
    conditions, bodies = params["cond_nconsts"], params["body_nconsts"]
    condition_consts, body_consts = given[:conditions], given[conditions : conditions + bodies]
    condition, body = core.jaxpr_as_fun(params["cond_jaxpr"]), core.jaxpr_as_fun(params["body_jaxpr"])
    number, results = lax.while_loop(
        lambda state: condition(*condition_consts, *state[1])[0],
        lambda state: (state[0] + 1, body(*body_consts, *state[1])),
        (jnp.int32(0), list(given[conditions + bodies :])),
    )
    steps.append(number)
    return results
