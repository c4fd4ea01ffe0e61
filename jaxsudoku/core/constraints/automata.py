"""Automata along the cells of a constraint, run on sets of states forwards and backwards. No JAX.

A state is a block and a count from 0, such as a sum. A digit moves it to another block and adds to its count. A set of
states has for each block a bit for each count, in words of 32 bits. So one run follows all fillings of the cells.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .base import namespace, prefixes, union

#: Bits in a word of a set.
_WORD = 32

#: A move: from a block, to a block, and what is added to the count.
Move = tuple[int, int, int]
#: The moves of each digit.
Moves = Sequence[Sequence[Move]]
#: A set of states: for each block the words of its counts; blocks that are not there are empty.
States = dict[int, list[Any]]


def counts(target: Any, most: int, like: Any) -> list[Any]:
    """The set of one count, as words; empty for a target outside 0..``most``.

    Args:
      target: integers that broadcast to ``like``.
      most: the largest count.
      like: an array of the shape of the words.
    """
    xp = namespace(like)
    zero, target = xp.zeros(like.shape, np.uint32), xp.asarray(target)
    bit = zero | (np.uint32(1) << (target % _WORD).astype(np.uint32))
    inside = (target >= 0) & (target <= most)
    return [xp.where(inside & (target // _WORD == word), bit, np.uint32(0)) for word in range(most // _WORD + 1)]


def adding(weight: int, side: int) -> list[list[Move]]:
    """The moves of a cell whose digits, times its weight, are added; counted from the least that it adds."""
    return [[(0, 0, weight * digit if weight > 0 else -weight * (side - 1 - digit))] for digit in range(side)]


def reached(masks: Sequence[Any], moves: Sequence[Moves], start: States) -> list[States]:
    """The states before the first cell, after it, ... and after the last one: one set more than cells.

    Args:
      masks: the candidates of each cell.
      moves: the moves of each cell.
      start: the states before the first cell.
    """
    return prefixes(list(zip(masks, moves, strict=True)), start, lambda states, cell: moved(states, *cell))


def supported(masks: Sequence[Any], moves: Sequence[Moves], start: States, end: States) -> list[Any]:
    """The candidates on a way from a state of ``start`` to one of ``end``; exact if the rule is the automaton's.

    Args:
      masks: the candidates of each cell.
      moves: the moves of each cell.
      start, end: the states before the first cell and after the last one.
    """
    before = reached(masks[:-1], moves[:-1], start)
    after = reached(masks[:0:-1], [reversed_moves(step) for step in moves[:0:-1]], end)
    return [
        meeting(mask, step, low, high)
        for mask, step, low, high in zip(masks, moves, before, reversed(after), strict=True)
    ]


def reversed_moves(moves: Moves) -> list[list[Move]]:
    """The moves that lead back."""
    return [[(after, before, -shift) for before, after, shift in own] for own in moves]


def moved(states: States, mask: Any, moves: Moves) -> States:
    """The states after one more cell, of candidates ``mask``."""
    xp, ones = namespace(mask), np.uint32(0xFFFFFFFF)
    has = [xp.where((mask >> digit) & 1 != 0, ones, np.uint32(0)) for digit in range(len(moves))]
    digits: dict[Move, list[int]] = {}
    for digit, own in enumerate(moves):
        for move in own:
            if move[0] in states:
                digits.setdefault(move, []).append(digit)
    ways: dict[int, dict[tuple[int, tuple[int, ...]], list[int]]] = {}
    for (source, target, shift), by in digits.items():
        ways.setdefault(target, {}).setdefault((shift, tuple(by)), []).append(source)
    flags = _Unions(lambda digit: [has[digit]])
    sources = _Unions(lambda block: states[block])

    def way(key: tuple[tuple[int, ...], int, tuple[int, ...]]) -> list[Any]:
        blocks, shift, by = key
        return [word & flags(by)[0] for word in shifted(sources(blocks), shift)]

    targets = _Unions(way)
    return {
        target: targets(tuple((tuple(blocks), shift, by) for (shift, by), blocks in sorted(own.items(), reverse=True)))
        for target, own in ways.items()
    }


def meeting(mask: Any, moves: Moves, low: States, high: States) -> Any:
    """The candidates of a cell that move a state of ``low`` to one of ``high``."""
    xp, dtype = namespace(mask), mask.dtype
    sources = _Unions(lambda block: low[block])

    def way(key: tuple[int, int, tuple[int, ...]]) -> list[Any]:
        target, shift, blocks = key
        return [union([x & y for x, y in zip(shifted(sources(blocks), shift), high[target], strict=True)])]

    met = _Unions(way)
    kept = xp.zeros_like(mask)
    for digit, own in enumerate(moves):
        ways: dict[tuple[int, int], list[int]] = {}
        for source, target, shift in own:
            if source in low and target in high:
                ways.setdefault((target, shift), []).append(source)
        if ways:
            found = met(tuple((*key, tuple(blocks)) for key, blocks in sorted(ways.items(), reverse=True)))[0]
            kept = kept | xp.where(found != 0, np.array(1 << digit, dtype), np.array(0, dtype))
    return mask & kept


class _Unions:
    """Unions of sets by their keys; those of equal beginnings are computed once."""

    def __init__(self, member: Callable[[Any], list[Any]]) -> None:
        self._member = member
        self._members: dict[Hashable, list[Any]] = {}
        self._found: dict[tuple[Any, ...], list[Any]] = {}

    def __call__(self, keys: tuple[Any, ...]) -> list[Any]:
        if keys not in self._found:
            last = keys[-1]
            if last not in self._members:
                self._members[last] = self._member(last)
            own = self._members[last]
            self._found[keys] = own if len(keys) == 1 else [x | y for x, y in zip(self(keys[:-1]), own, strict=True)]
        return self._found[keys]


def shifted(words: Sequence[Any], by: int) -> list[Any]:
    """A set of counts with ``by`` added to each; those outside the words are dropped."""
    whole, bits = divmod(by, _WORD)
    zero = namespace(words[0]).zeros_like(words[0])

    def word(number: int) -> Any:
        return words[number] if 0 <= number < len(words) else zero

    if not bits:
        return [word(number - whole) for number in range(len(words))]
    return [
        (word(number - whole) << np.uint32(bits)) | (word(number - whole - 1) >> np.uint32(_WORD - bits))
        for number in range(len(words))
    ]
