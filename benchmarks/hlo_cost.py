"""Kernels and bytes of a program that XLA compiled, read from its text (``compiled.as_text()``).

A kernel is an instruction that runs on the device: a fusion, a scatter, a copy, a library call. Bytes are those that a
kernel reads and writes in the device's memory: every operand and result once, but of an operand that is only sliced or
gathered from, and of a buffer that is updated in place, only the part that is touched. Caches are not modelled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Instruction(NamedTuple):
    """One line of a computation.

    Attributes:
      name: its name.
      shapes: bytes of each array of its result.
      op: the name of the operation.
      operands: names of its operands.
      attributes: the text after the operands.
      root: whether it is the result of its computation.
    """

    name: str
    shapes: tuple[int, ...]
    op: str
    operands: tuple[str, ...]
    attributes: str
    root: bool

    @property
    def size(self) -> int:
        """Bytes of the result."""
        return sum(self.shapes)


class Loop(NamedTuple):
    """A step of a loop whose number of steps is not known when it is compiled.

    Attributes:
      name: the computation that is its body.
      kernels: kernels of a step; inner loops of unknown length and the dearer branch of a condition count once.
      bytes: bytes that these read and write.
    """

    name: str
    kernels: int
    bytes: int


_ITEM_BITS = {"pred": 8, "s4": 4, "u4": 4, "bf16": 16, "c64": 64, "c128": 128}
#: Operations that run nothing on the device.
_FREE = {"parameter", "constant", "get-tuple-element", "tuple", "bitcast", "partition-id", "after-all", "opt-barrier"}
_ALIASES = {"bitcast", "reshape"}


def loops(text: str) -> list[Loop]:
    """The loops of unknown length of a program's text, outermost last.

    Raises:
      ValueError: the text has no entry computation.
    """
    computations, entry = _parse(text)
    found: list[Loop] = []
    _cost(computations, entry, found)
    return found


def main_loop(text: str) -> Loop:
    """The loop whose step reads and writes most.

    Raises:
      ValueError: the text has no such loop.
    """
    found = loops(text)
    if not found:
        raise ValueError("the program has no loop of unknown length")
    return max(found, key=lambda loop: loop.bytes)


def _parse(text: str) -> tuple[dict[str, list[Instruction]], str]:
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
    return computations, entry


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
    operands = tuple(re.findall(r"%([\w.\-]+)", rest[:end]))
    return Instruction(name, _sizes(shape), op, operands, rest[end:], bool(root))


def _sizes(shape: str) -> tuple[int, ...]:
    sizes = []
    for kind, dims in re.findall(r"\b(pred|[a-z]+\d+\w*)\[([\d,]*)\]", shape):
        bits = _ITEM_BITS.get(kind) or int(re.search(r"\d+", kind).group())  # type: ignore[union-attr]
        items = 1
        for dim in filter(None, dims.split(",")):
            items *= int(dim)
        sizes.append(items * bits // 8)
    return tuple(sizes)


def _called(attributes: str, *names: str) -> list[str]:
    """The computations that an instruction's attributes name."""
    lists = re.findall(rf"(?:{'|'.join(names)})=(\{{[^}}]*\}}|%?[\w.\-]+)", attributes)
    return [name for text in lists for name in re.findall(r"[\w.\-]+", text)]


def _cost(computations: Mapping[str, Sequence[Instruction]], name: str, found: list[Loop]) -> tuple[int, int]:
    """Kernels and bytes of a computation; appends the loops of unknown length in it to ``found``."""
    sizes = {instruction.name: instruction.size for instruction in computations[name]}
    kernels = moved = 0
    for instruction in computations[name]:
        if instruction.op in _FREE:
            continue
        if instruction.op == "while":
            (body,) = _called(instruction.attributes, "body")
            steps = re.search(r'known_trip_count":\{"n":"(\d+)"', instruction.attributes)
            count, size = _cost(computations, body, found)
            if steps is None:
                found.append(Loop(body, count, size))
            times = int(steps.group(1)) if steps else 1
            kernels, moved = kernels + count * times, moved + size * times
        elif instruction.op in ("conditional", "call"):
            parts = ("branch_computations", "true_computation", "false_computation", "to_apply")
            costs = [_cost(computations, part, found) for part in _called(instruction.attributes, *parts)]
            kernels, moved = kernels + max(costs)[0], moved + max(costs)[1]
        else:
            kernels, moved = kernels + 1, moved + _traffic(computations, instruction, sizes)
    return kernels, moved


def _traffic(computations: Mapping[str, Sequence[Instruction]], kernel: Instruction, sizes: Mapping[str, int]) -> int:
    """Bytes that a kernel reads and writes."""
    if kernel.op != "fusion":
        body: Sequence[Instruction] = [
            *(Instruction(name, (sizes.get(name, 0),), "parameter", (), "", False) for name in kernel.operands),
            kernel._replace(root=True),
        ]
        parameters = list(kernel.operands)
    else:
        (fused,) = _called(kernel.attributes, "calls")
        body = computations[fused]
        parameters = [instruction.name for instruction in body if instruction.op == "parameter"]
    by_name = {instruction.name: instruction for instruction in body}
    root = next(instruction for instruction in body if instruction.root)
    results = root.operands if root.op == "tuple" else (root.name,)
    written = sum(_written(by_name, by_name[result]) for result in results if result in by_name)
    return written + sum(_read(body, by_name[name]) for name in dict.fromkeys(parameters))


def _written(by_name: Mapping[str, Instruction], result: Instruction) -> int:
    while result.op in _ALIASES and result.operands[0] in by_name:
        result = by_name[result.operands[0]]
    if result.op == "dynamic-update-slice":
        return by_name[result.operands[1]].size
    if result.op == "scatter":
        return 2 * by_name[result.operands[-1]].size  # read as well, for the combination
    return result.size


def _read(body: Sequence[Instruction], parameter: Instruction) -> int:
    """Bytes that are read of a parameter: those of its slices, if it is only sliced."""
    names, touched = {parameter.name}, 0
    for instruction in body:
        places = [place for place, operand in enumerate(instruction.operands) if operand in names]
        if not places:
            continue
        if instruction.op in _ALIASES:
            names.add(instruction.name)
        elif instruction.op in ("slice", "dynamic-slice", "gather") and places == [0]:
            touched += instruction.size
        elif instruction.op in ("dynamic-update-slice", "scatter") and places == [0]:
            continue  # updated in place
        elif instruction.op != "tuple":
            return parameter.size
    return min(touched, parameter.size)
