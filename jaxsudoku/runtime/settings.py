"""Settings: frozen dataclasses whose fields are checked by their annotations. No JAX."""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import operator
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from jaxsudoku.runtime.suggestions import did_you_mean

#: Maximum of integer settings and of counts of grids or nodes, as kernels count in int32.
MOST = 2**31 - 1


class Range(NamedTuple):
    """Valid numbers of a field: from ``least`` to ``most``, multiples of ``step``."""

    least: float
    most: float = math.inf
    step: int = 1


Natural = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]


class Config:
    """Base class of settings: frozen dataclasses whose fields are checked against their annotations.

    An annotation is ``int``, ``float``, ``bool``, ``str``, a ``Literal`` of words, one of these ``Annotated`` with a
    ``Range``, or a union of these and None. None means automatic. Values of numpy and JAX are converted to Python's, so
    that equal settings hash and print alike. A dataclass with fields of other types checks them in its own
    ``__post_init__``, which calls this one first.

    Raises:
      ValueError: a value of another type, or out of range; the message names the field.
    """

    def __post_init__(self) -> None:
        check_types(self)


def check_types(config: Any) -> None:
    """Checks the fields of a frozen dataclass as ``Config`` does."""
    for name, check in _checks(config.__class__).items():
        object.__setattr__(config, name, check(name, getattr(config, name)))


Check = Callable[[str, Any], Any]


@functools.cache
def _checks(config: type) -> dict[str, Check]:
    hints = typing.get_type_hints(config, include_extras=True)
    checks = {field.name: _check_of(hints[field.name]) for field in dataclasses.fields(config)}
    return {name: check for name, check in checks.items() if check is not None}


def _check_of(hint: Any) -> Check | None:
    """A function that checks and converts a field of this annotation; None for other annotations."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return functools.partial(_choice, parts)
    if origin is Annotated:
        return functools.partial(_ranged, _CONVERTED[parts[0]], parts[1])
    if origin in (typing.Union, types.UnionType):
        words = next((_check_of(part) for part in parts if typing.get_origin(part) is Literal), None)
        rest = [part for part in parts if part is not types.NoneType and typing.get_origin(part) is not Literal]
        check = _check_of(rest[0]) if len(rest) == 1 else words if not rest else None
        return check and functools.partial(_either, check, words, types.NoneType in parts)
    return _CONVERTED.get(hint)


def _either(check: Check, words: Check | None, none: bool, name: str, value: Any) -> Any:
    """Checks a value of a union of one type, optional words and optional None."""
    if value is None and none:
        return None
    return (words or check)(name, value) if isinstance(value, str) else check(name, value)


def _choice(options: tuple[str, ...], name: str, value: Any) -> str:
    if _word(name, value) not in options:
        raise ValueError(f"unknown {name} {value!r}: choose one of {', '.join(options)}{did_you_mean(value, options)}")
    return str(value)


def _ranged(convert: Check, bounds: Range, name: str, value: Any) -> Any:
    number = convert(name, value)
    if number < bounds.least:
        raise ValueError(f"{name} must be at least {bounds.least}, not {number}")
    most = min(bounds.most, MOST) if isinstance(number, int) else bounds.most
    if number > most:
        raise ValueError(f"{name} must be at most {most}, not {number}")
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    if bounds.step > 1 and number % bounds.step:
        raise ValueError(f"{name} must be a multiple of {bounds.step}, not {number}")
    return number


def whole_number(name: str, value: Any, least: int | None = None, most: int | None = MOST) -> int:
    """A whole number of any type, numpy's and JAX's too, as a Python int.

    Args:
      name: its name, for messages.
      value: the number.
      least: the lowest valid number, or None.
      most: the highest valid number, or None.

    Raises:
      ValueError: no whole number, or out of range.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most}, not {number}")
    return number


def real_number(name: str, value: Any) -> float:
    """A real number of any type as a Python float; raises ValueError for anything else and for NaN."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or value != value:
        raise ValueError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, not beyond what a float holds") from None


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word, not {value!r}")
    return str(value)


#: The check and conversion of each type of field.
_CONVERTED: dict[Any, Check] = {
    int: functools.partial(whole_number, most=None),
    float: real_number,
    bool: _truth,
    str: _word,
}


def settings_of(config: type, whose: str, /, **options: Any) -> Any:
    """An instance of a dataclass of settings.

    Args:
      config: the dataclass; all its fields have defaults.
      whose: the owner of the settings, for messages, such as "solver exact".
      **options: values of some fields.

    Raises:
      ValueError: an unknown option, or a value out of range.
    """
    names = [field.name for field in dataclasses.fields(config)]
    if unknown := sorted(set(options) - set(names)):
        hint = did_you_mean(unknown[0], names)
        raise ValueError(f"the {whose} has no option {', '.join(unknown)}; it has {', '.join(names) or 'none'}{hint}")
    return config(**options)
