"""The text of a program that XLA compiled (``compiled.as_text()``), parsed into computations and instructions."""

from __future__ import annotations

import re
from typing import NamedTuple


class Instruction(NamedTuple):
    """One line of a computation.

    Attributes:
      name: its name.
      shapes: bytes of each array of its result in the device's memory, with the padding of its layout; 0 for an array
        that a TPU keeps on the chip.
      op: the name of the operation.
      operands: names of its operands.
      attributes: the text after the operands.
      root: whether it is the result of its computation.
      number: which parameter of its computation it is, if it is one.
    """

    name: str
    shapes: tuple[int, ...]
    op: str
    operands: tuple[str, ...]
    attributes: str
    root: bool
    number: int = 0

    @property
    def trips(self) -> int | None:
        """Steps of a loop, if they are known."""
        known = re.search(r'known_trip_count":\{"n":"(\d+)"', self.attributes)
        return int(known.group(1)) if known else None

    @property
    def size(self) -> int:
        """Bytes of the result."""
        return sum(self.shapes)

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
    """The program of a text.

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
    shapes = tuple(_bytes(*array) for array in re.findall(r"\b(pred|[a-z]+\d+\w*)\[([\d,<=]*)\](\{[^}]*\})?", shape))
    if op == "custom-call" and re.search(r'custom_call_target="__cu(?:blas|dnn)', rest[end:]) and len(shapes) > 1:
        shapes = shapes[:-1]  # the last one is scratch memory
    number = int(rest[:end]) if op == "parameter" else 0
    return Instruction(name, shapes, op, tuple(re.findall(r"%([\w.\-]+)", rest[:end])), rest[end:], bool(root), number)


def _bytes(kind: str, dims: str, layout: str) -> int:
    """Bytes of an array, such as of ("f32", "81,100", "{1,0:T(8,128)S(1)}").

    A TPU stores tiles: T(8,128) pads the two minor dimensions to multiples of 8 and 128. S(1) is its memory on the
    chip. A GPU's layouts have no tiles, and each S of them is in the device's memory.
    """
    sizes = [int(dim.removeprefix("<=")) for dim in dims.split(",") if dim]
    tile = re.search(r"T\(([\d,]+)\)", layout)
    if tile:
        if re.search(r"S\([1-9]", layout):
            return 0
        order = [int(axis) for axis in re.findall(r"\d+", layout.partition(":")[0])]  # minor to major
        for axis, length in zip(order, reversed(tile.group(1).split(",")), strict=False):
            sizes[axis] += -sizes[axis] % int(length)
    bits = 8 if kind == "pred" else int(re.findall(r"\d+", kind)[0])
    if packed := re.search(r"E\((\d+)\)", layout):
        bits = int(packed.group(1))
    items = 1
    for size in sizes:
        items *= size
    return -(-items * bits // 8)
