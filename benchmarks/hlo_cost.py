"""Counts kernels, bytes and collectives of a program compiled by XLA, from its text (``compiled.as_text()``).

A kernel is an instruction that runs on the device: a fusion, a scatter, a copy, a sort, a library call; the start and
the end of an asynchronous one count as one. Bytes are those that a kernel reads and writes in the device's memory:
every operand and result once; only the accessed part of an operand that is only sliced or gathered from, and of a
buffer that is updated in place. An operand of a Pallas kernel for GPUs counts at most as many bytes as the kernel
writes, as it may read a part of a stack. Caches are not modelled.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hlo_text import Instruction, Module, parse


class Cost(NamedTuple):
    """Cost of instructions.

    Attributes:
      kernels: number of kernels; those of inner loops of unknown length, and of a condition's more expensive branch,
        count once.
      fusions: number of kernels that are fusions, compiled from several operations.
      bytes: bytes read and written.
    """

    kernels: int = 0
    fusions: int = 0
    bytes: int = 0

    def plus(self, other: Cost, times: int = 1) -> Cost:
        """The sum with another cost, which may count several times."""
        return Cost(*(mine + times * its for mine, its in zip(self, other, strict=True)))


class Loop(NamedTuple):
    """A loop with an unknown number of steps at compile time.

    Attributes:
      name: the computation that is its body.
      step: the cost of a step, the condition included.
      scope: the operation that it was made from, with the named scopes around it, by slashes; "" if that is not known.
    """

    name: str
    step: Cost
    scope: str = ""


#: The call target of Pallas kernels for GPUs.
MOSAIC = 'custom_call_target="mosaic_gpu'

#: Operations that do not run on the device.
_FREE = {
    "add-dependency",
    "async-update",
    "after-all",
    "bitcast",
    "constant",
    "domain",
    "get-dimension-size",
    "get-tuple-element",
    "opt-barrier",
    "parameter",
    "partition-id",
    "replica-id",
    "tuple",
}
#: Library calls that do not run: annotations for the compiler.
_FREE_CALLS = ("AllocateBuffer", "AssumeGatherIndicesInBound", "ConcatBitcast", "Sharding")
_ALIASES = {"bitcast", "reshape"}
_SLICES = {"slice", "dynamic-slice", "gather"}
_UPDATES = {"dynamic-update-slice", "scatter"}
_BRANCHES = ("branch_computations", "true_computation", "false_computation", "to_apply")
_COLLECTIVES = {
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "recv",
    "reduce-scatter",
    "send",
}


def loops(text: str) -> list[Loop]:
    """The loops of unknown length of a program's text, outermost last.

    Raises:
      ValueError: the text has no entry computation.
    """
    module = parse(text)
    found: list[Loop] = []
    _cost(module, module.entry, found)
    return found


def main_loop(text: str, left_out: str | None = None) -> Loop:
    """The loop whose step reads and writes most.

    Args:
      text: the text of a program.
      left_out: a named scope whose loops are left out.

    Raises:
      ValueError: the text has no such loop, or no entry computation.
    """
    found = [loop for loop in loops(text) if left_out not in loop.scope.split("/")]
    if not found:
        raise ValueError("the program has no loop of unknown length")
    return max(found, key=lambda loop: loop.step.bytes)


def whole(text: str) -> Cost:
    """The cost of the whole program; a step of each loop of unknown length.

    Raises:
      ValueError: the text has no entry computation.
    """
    module = parse(text)
    return _cost(module, module.entry, [])


def collectives_in_loops(text: str) -> list[str]:
    """The names of the instructions within loops, of known length too, by which devices communicate.

    Raises:
      ValueError: the text has no entry computation.
    """
    module = parse(text)
    inside: set[str] = set()
    for body in module.computations.values():
        for instruction in body:
            if instruction.op == "while":
                inside.update(_reached(module, instruction.called("body", "condition")))
    return [
        instruction.name
        for name in inside
        for instruction in module.computations[name]
        if instruction.op.removesuffix("-start") in _COLLECTIVES
    ]


def _reached(module: Module, names: Sequence[str]) -> Iterator[str]:
    """The computations of these names, and all that they call."""
    seen, left = set(), list(names)
    while left:
        name = left.pop()
        if name in seen or name not in module.computations:
            continue
        seen.add(name)
        yield name
        for instruction in module.computations[name]:
            left += instruction.called("body", "condition", "calls", "called_computations", *_BRANCHES)


def _cost(module: Module, name: str, found: list[Loop]) -> Cost:
    """The cost of a computation; appends the loops of unknown length in it to ``found``."""
    by_name = {instruction.name: instruction for instruction in module.computations[name]}
    ends = {one.operands[0]: one for one in by_name.values() if one.op.endswith("-done")}
    total = Cost()
    for instruction in by_name.values():
        if _is_free(instruction):
            continue
        if instruction.op == "while":
            total = total.plus(*_loop_cost(module, instruction, by_name, found))
        elif instruction.op in ("conditional", "call"):
            total = total.plus(max(_cost(module, part, found) for part in instruction.called(*_BRANCHES)))
        elif instruction.op == "async-start":
            (body,) = instruction.called("calls")
            total = total.plus(_cost(module, body, found))
        else:
            kernel = instruction._replace(op=instruction.op.removesuffix("-start"))
            if instruction.name in ends:
                kernel = kernel._replace(shapes=ends[instruction.name].shapes)
            total = total.plus(Cost(1, int(kernel.op == "fusion"), _traffic(module, kernel, by_name)))
    return total


def _is_free(instruction: Instruction) -> bool:
    """Whether an instruction has no cost; the end of an asynchronous kernel counts with its start."""
    if instruction.op == "custom-call":
        return any(f'custom_call_target="{target}"' in instruction.attributes for target in _FREE_CALLS)
    return instruction.op in _FREE or instruction.op.endswith("-done")


def _loop_cost(
    module: Module, loop: Instruction, by_name: Mapping[str, Instruction], found: list[Loop]
) -> tuple[Cost, int]:
    """The cost of a step, and how often it counts; ``by_name`` are the instructions around the loop."""
    (body,), (condition,) = loop.called("body"), loop.called("condition")
    step, times = _cost(module, body, found), _trips(module, loop, by_name)
    if times is not None:
        return step, times
    step = step.plus(_cost(module, condition, found))
    scope = re.search(r'op_name="([^"]*)"', loop.attributes)
    found.append(Loop(body, step, scope.group(1) if scope else ""))
    return step, 1


def _trips(module: Module, loop: Instruction, by_name: Mapping[str, Instruction]) -> int | None:
    """The number of steps of a loop, if known: from XLA's annotation, which TPU programs lack, or from its counter."""
    if known := re.search(r'known_trip_count":\{"n":"(\d+)"', loop.attributes):
        return int(known.group(1))
    condition, body = (
        {one.name: one for one in module.computations[loop.called(part)[0]]} for part in ("condition", "body")
    )
    test, carried, start = _root(condition), _root(body), by_name[loop.operands[0]]
    if test.op != "compare" or "direction=LT" not in test.attributes or {carried.op, start.op} != {"tuple"}:
        return None
    counter, end = (condition[name] for name in test.operands)
    if counter.op != "get-tuple-element" or end.op != "constant":
        return None
    first, following = by_name[start.operands[counter.number]], body[carried.operands[counter.number]]
    while first.op == "copy":
        first = by_name[first.operands[0]]
    parts = [body[name] for name in following.operands]
    adds_one = following.op == "add" and {(part.op, part.number) for part in parts} == {
        ("get-tuple-element", counter.number),
        ("constant", 1),
    }
    return max(end.number - first.number, 0) if adds_one and first.op == "constant" else None


def _root(instructions: Mapping[str, Instruction]) -> Instruction:
    return next(one for one in instructions.values() if one.root)


# ---------------------------------------------------------------------- bytes of a kernel


def _traffic(module: Module, kernel: Instruction, by_name: Mapping[str, Instruction]) -> int:
    """Bytes that a kernel reads and writes, given the instructions of its computation."""
    operands = [by_name[name] for name in kernel.operands]
    if kernel.op == "custom-call" and MOSAIC in kernel.attributes:
        return kernel.stored + sum(min(operand.stored, kernel.stored) for operand in operands)
    if kernel.op == "fusion":
        body: Sequence[Instruction] = module.computations[kernel.called("calls")[0]]
    else:
        inputs = [operand._replace(op="parameter", operands=(), root=False) for operand in dict.fromkeys(operands)]
        body = [*(one._replace(number=number) for number, one in enumerate(inputs)), kernel._replace(root=True)]
    moved = sum(
        min(_read(module, body, one), (operands[one.number] if kernel.op == "fusion" else one).stored)
        for one in body
        if one.op == "parameter"
    )
    root = next(instruction for instruction in body if instruction.root)
    if root.op != "tuple":
        return moved + min(_written(module, body, root), kernel.stored)
    shapes = iter(kernel.shapes)
    for result in (_named(body, name) for name in root.operands):
        stored = sum(shape.stored for shape in itertools.islice(shapes, len(result.shapes)))  # it may be a tuple
        moved += min(_written(module, body, result), stored)
    return moved


def _named(body: Sequence[Instruction], name: str) -> Instruction:
    return next(instruction for instruction in body if instruction.name == name)


def _written(module: Module, body: Sequence[Instruction], result: Instruction) -> int:
    """Bytes written for a result; only those of the updates, if it is an updated parameter."""
    if result.op in _ALIASES:
        return _written(module, body, _named(body, result.operands[0]))
    if result.op == "fusion":
        nested = module.computations[result.called("calls")[0]]
        root = next(instruction for instruction in nested if instruction.root)
        return result.size if root.op == "tuple" else _written(module, nested, root)
    touched, buffer = 0, result
    while buffer.op in _UPDATES or buffer.op in _ALIASES:
        if buffer.op == "dynamic-update-slice":
            touched += _named(body, buffer.operands[1]).size
        elif buffer.op == "scatter":
            touched += 2 * _named(body, buffer.operands[-1]).size  # read as well, for the combination
        buffer = _named(body, buffer.operands[0])
    return min(touched, result.size) if buffer.op == "parameter" and buffer is not result else result.size


def _read(module: Module, body: Sequence[Instruction], parameter: Instruction) -> int:
    """Bytes read from a parameter; only those of its slices, if it is only sliced."""
    names, touched = {parameter.name}, 0
    for instruction in body:
        places = [place for place, operand in enumerate(instruction.operands) if operand in names]
        if not places:
            continue
        if instruction.op in _ALIASES:
            names.add(instruction.name)
        elif instruction.op in _SLICES and places == [0]:
            touched += instruction.size
        elif instruction.op in _UPDATES and places == [0]:
            continue  # updated in place
        elif instruction.op == "fusion":
            nested = module.computations[instruction.called("calls")[0]]
            touched += sum(
                _read(module, nested, one) for one in nested if one.op == "parameter" and one.number in places
            )
        elif instruction.op != "tuple":
            return parameter.size
    return min(touched, parameter.size)
