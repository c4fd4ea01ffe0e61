"""Parser of the text of programs compiled by XLA (``compiled.as_text()``) into computations and instructions."""

from __future__ import annotations

import math
import re
from typing import NamedTuple


class Shape(NamedTuple):
    """An array of a result.

    Attributes:
      size: its bytes, with the padding of its layout.
      stored: those of them in the device's memory: none of an array that a TPU keeps on the chip.
    """

    size: int
    stored: int


class Instruction(NamedTuple):
    """One line of a computation.

    Attributes:
      name: its name.
      shapes: each array of its result.
      op: the name of the operation.
      operands: names of its operands.
      attributes: the text after the operands.
      root: whether it is the result of its computation.
      number: which parameter of its computation it is, the element of a tuple that it takes, or its value if it is a
        constant whole number; else 0.
    """

    name: str
    shapes: tuple[Shape, ...]
    op: str
    operands: tuple[str, ...]
    attributes: str
    root: bool
    number: int = 0

    @property
    def size(self) -> int:
        """Bytes of the result."""
        return sum(shape.size for shape in self.shapes)

    @property
    def stored(self) -> int:
        """Bytes of the result in the device's memory."""
        return sum(shape.stored for shape in self.shapes)

    def called(self, *attributes: str) -> list[str]:
        """The computations that these attributes name."""
        lists = re.findall(rf"\b(?:{'|'.join(attributes)})=(\{{[^}}]*\}}|%?[\w.\-]+)", self.attributes)
        return [name for text in lists for name in re.findall(r"[\w.\-]+", text)]


class Module(NamedTuple):
    """A program.

    Attributes:
      computations: the instructions of each computation, in order, by its name.
      entry: the computation that the program starts with.
    """

    computations: dict[str, list[Instruction]]
    entry: str


def parse(text: str) -> Module:
    """Parses the text of a program.

    Raises:
      ValueError: the text has no entry computation.
    """
    computations: dict[str, list[Instruction]] = {}
    current: list[Instruction] | None = None
    entry = None
    for line in text.splitlines():
        head = re.match(r"(ENTRY )?%?([\w.\-]+) (?:\(.*\) -> .*)?\{$", line)
        if head:
            current = computations.setdefault(head.group(2), [])
            entry = head.group(2) if head.group(1) else entry
        elif line.startswith("}"):
            current = None
        elif current is not None and (instruction := _instruction(line)):
            current.append(instruction)
    if entry is None:
        raise ValueError("not the text of an XLA program: it has no ENTRY computation")
    return Module(computations, entry)


def _instruction(line: str) -> Instruction | None:
    match = re.match(r"\s*(ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$", line)
    if not match:
        return None
    root, name, shape, op, rest = match.groups()
    depth, end = 1, len(rest)
    for position, letter in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            end = position
            break
    shapes = tuple(_shape(*array) for array in re.findall(r"\b(pred|[a-z]+\d+\w*)\[([\d,<=]*)\](\{[^}]*\})?", shape))
    if op == "custom-call" and re.search(r'custom_call_target="__cu(?:blas|dnn)', rest[end:]) and len(shapes) > 1:
        shapes = shapes[:-1]  # the last one is scratch memory
    numbered = {
        "parameter": rest[:end],
        "constant": rest[:end],
        "get-tuple-element": rest[end:].partition("index=")[2],
    }
    number = re.match(r"-?\d+(?![\d.e])", numbered.get(op, ""))
    return Instruction(
        name,
        shapes,
        op,
        tuple(re.findall(r"%([\w.\-]+)", rest[:end])),
        rest[end:],
        bool(root),
        int(number.group()) if number else 0,
    )


def _shape(kind: str, dims: str, layout: str) -> Shape:
    """An array, such as ("f32", "81,100", "{1,0:T(8,128)S(1)}").

    A TPU stores tiles: T(8,128) pads the two minor dimensions to multiples of 8 and 128. S(1) and others are its
    memories on the chip. A GPU's layouts have no tiles, and S(1) of them is in the device's memory.
    """
    sizes = [int(dim.removeprefix("<=")) for dim in dims.split(",") if dim]
    tile = re.search(r"T\(([\d,]+)\)", layout)
    if tile:
        order = [int(axis) for axis in re.findall(r"\d+", layout.partition(":")[0])]  # minor to major
        for axis, length in zip(order, reversed(tile.group(1).split(",")), strict=False):
            sizes[axis] += -sizes[axis] % int(length)
    packed = re.search(r"E\((\d+)\)", layout)
    bits = int(packed.group(1)) if packed else 8 if kind == "pred" else int(re.findall(r"\d+", kind)[0])
    size = -(-math.prod(sizes) * bits // 8)
    return Shape(size, 0 if tile and re.search(r"S\([1-9]", layout) else size)
