"""Flags for the fields of a config dataclass, with types, defaults and help texts from its docstring."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any


def add_config(
    parser: argparse.ArgumentParser, config: type, title: str, without: Sequence[str] = (), defaults: Any = None
) -> None:
    """Adds a flag for each field of a config: the name with dashes, type, default, and help from the docstring.

    A field may be a bool, an int, a float, a str, a ``Literal`` of words, an int or such a word, any of these or None,
    or a tuple of them, whose flag takes several values.

    Args:
      parser: the parser; the flags are added as a group.
      config: the dataclass; every field has a default.
      title: the group's title.
      without: fields without a flag.
      defaults: an instance of the config whose values are the defaults; by default the one made without arguments.

    Raises:
      TypeError: the type of a field is not supported.
    """
    group = parser.add_argument_group(title)
    hints, texts = typing.get_type_hints(config), attribute_texts(config)
    values = config() if defaults is None else defaults
    for field in dataclasses.fields(config):
        if field.name in without:
            continue
        text = texts.get(field.name, "").rstrip(".")
        default = getattr(values, field.name)
        described = f"{text} (default: {_shown(default)})".replace("%", "%%")
        options: dict[str, Any] = {"default": default, "help": described}
        hint = hints[field.name]
        if typing.get_origin(hint) is tuple:
            parts = typing.get_args(hint)
            options |= {"action": _Several, "nargs": "*" if Ellipsis in parts else len(parts)}
            hint = parts[0]
        kind, choices = _plain_type(hint)
        if kind is bool and "nargs" not in options:
            options["action"] = argparse.BooleanOptionalAction
        elif kind is int and choices:
            options |= {"type": _number_or(choices), "metavar": f"{field.name.upper()}|{'|'.join(choices)}"}
        elif kind in (int, float, str):
            options |= {"type": kind, "choices": choices, "metavar": None if choices else field.name.upper()}
        else:
            raise TypeError(f"{config.__name__}.{field.name}: flags do not support the type {hints[field.name]}")
        group.add_argument(f"--{field.name.replace('_', '-')}", **options)


def config_values(args: Any, config: type) -> dict[str, Any]:
    """The values in parsed arguments or a request for the fields of a dataclass, by name."""
    return {field.name: getattr(args, field.name) for field in dataclasses.fields(config) if hasattr(args, field.name)}


def attribute_texts(config: type) -> dict[str, str]:
    """The texts of the sections "Attributes" of a class and its bases, by name; empty if docstrings are stripped.

    Texts of the class override those of its bases.
    """
    texts: dict[str, str] = {}
    for base in reversed(config.__mro__):
        texts |= _own_texts(inspect.cleandoc(base.__doc__ or ""))
    return texts


def _own_texts(doc: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    name = ""
    for line in doc.partition("Attributes:\n")[2].splitlines():
        if match := re.fullmatch(r"  (\w+): (.*)", line):
            name = match[1]
            texts[name] = match[2]
        elif line.startswith("    "):
            texts[name] += f" {line.strip()}"
        else:
            break
    return texts


class _Several(argparse.Action):
    """Keeps the values of a flag as a tuple."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, tuple(values))


def _plain_type(hint: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """The type of one value, and its words if it is a ``Literal``; None is ignored, as it can't be given."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    parts = [part for part in typing.get_args(hint) if part is not types.NoneType] if union else [hint]
    words = next((typing.get_args(part) for part in parts if typing.get_origin(part) is typing.Literal), None)
    plain = [part for part in parts if typing.get_origin(part) is not typing.Literal]
    if len(plain) > 1 or (plain and words and plain != [int]):
        return hint, None
    return plain[0] if plain else str, words


def _number_or(words: tuple[str, ...]) -> Callable[[str], int | str]:
    def number(text: str) -> int | str:
        return text if text in words else int(text)

    return number


def _shown(default: Any) -> str:
    """A default value as written on the command line."""
    if default is None:
        return "none"
    return " ".join(map(str, default)) or "none" if isinstance(default, tuple) else str(default)
