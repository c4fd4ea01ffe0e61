"""Conformance check of constraints."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsudoku.core.board import Board
from jaxsudoku.core.constraints import Constraint
from jaxsudoku.core.constraints.texts import read
from jaxsudoku.core.masks import mask_dtype
from jaxsudoku.runtime.devices import compiler_options

from .failing import require

#: Number of lanes, and the most fillings that are compared.
LANES, FILLINGS = 64, 1 << 14


def check_constraint(constraint: Constraint, side: int = 4, exact: bool = False) -> None:
    """Checks a constraint on 64 random sets of candidates and on fillings: all of them, or 16,384 random ones.

    - ``prune`` only removes candidates, and none that a filling which satisfies the constraint uses (soundness).
    - ``prune`` is monotone unless a cell is left without candidates.
    - Fillings lose a candidate if and only if ``holds`` is false.
    - A lane's result is independent of the other lanes; numpy and JAX give the same results.
    - ``image``, ``normalized`` and ``relabels`` agree with ``holds``; there is a role for each cell.
    - The text, if there is one, is read back.

    Args:
      constraint: the constraint. All fillings are compared if there are at most 16,384, so few cells are checked best.
      side: the side of its board.
      exact: whether ``prune`` removes every candidate that no filling uses.

    Raises:
      AssertionError: a property fails; the message names it, and the candidates or digits of the cells.
      ValueError: the constraint does not fit a board of this side.
    """
    constraint.checked(side)
    size = len(constraint.cells)
    rng = np.random.default_rng(0)
    fillings = _fillings(size, side, rng)
    kind, numbers = constraint.kind, [np.array([[number]], np.int32) for number in constraint.numbers]
    require(kind.cells == kind.numbers == (), f"the kind {kind} has cells or numbers")

    @functools.partial(jax.jit, compiler_options=compiler_options())
    def by_jax(masks: Any) -> Any:
        pruned = kind.prune(list(masks[:, None]), list(map(jnp.asarray, numbers)), side)
        return jnp.stack(list(pruned))[:, 0], _holds(constraint, jnp.asarray(fillings), side)

    def prune(masks: np.ndarray) -> np.ndarray:
        found = np.stack(list(kind.prune(list(masks[:, None]), numbers, side)))[:, 0]
        require(
            (found.dtype, found.shape) == (masks.dtype, masks.shape),
            f"prune returns {found.dtype}{list(found.shape)} for masks {masks.dtype}{list(masks.shape)}",
        )
        return found

    satisfied = _holds(constraint, fillings, side)

    dtype = mask_dtype(side)
    bits = (np.ones((), dtype) << (fillings - 1).astype(dtype)).astype(dtype)
    kept = prune(bits.T)
    for row in np.flatnonzero((kept == bits.T).all(axis=0) != satisfied):
        told = "leaves a filling that breaks the constraint" if not satisfied[row] else "removes a digit of a filling"
        require(False, f"prune {told}", digits=fillings[row])

    more, fewer = _candidates(bits, satisfied, side, rng)
    for masks in (more, fewer):
        found = prune(masks)
        _require_masks((found & ~masks) == 0, "prune adds a candidate", masks)
        within = satisfied & ((bits.T[:, None] & masks[..., None]) != 0).all(axis=0)
        used = np.bitwise_or.reduce(np.where(within, bits.T[:, None], 0).astype(dtype), axis=-1)
        _require_masks((used & ~found) == 0, "prune removes a candidate that a filling uses", masks)
        if exact and len(fillings) == side**size:
            _require_masks(
                (used == found) | (used == 0).any(axis=0), "prune leaves a candidate that no filling uses", masks
            )
        pruned, held = map(np.asarray, by_jax(masks))
        require((satisfied == held).all(), "holds differs between numpy and JAX")
        _require_masks(pruned == found, "prune differs between numpy and JAX", masks)
    order = rng.permutation(LANES)
    _require_masks(prune(more[:, order]) == prune(more)[:, order], "a lane depends on the others", more[:, order])
    left = prune(fewer)
    monotone = (left & ~prune(more) == 0) | (left == 0).any(axis=0)
    _require_masks(monotone, "prune removes less where fewer candidates are left", fewer)
    _check_form(constraint, fillings, satisfied, side, rng)


def _check_form(
    constraint: Constraint, fillings: np.ndarray, satisfied: np.ndarray, side: int, rng: np.random.Generator
) -> None:
    """Checks ``image``, ``normalized``, ``roles``, ``relabels`` and ``text``."""
    grids = rng.integers(1, side + 1, (len(fillings), side**2))
    grids[:, list(constraint.cells)] = fillings

    def agrees(other: Constraint, where: np.ndarray) -> np.bool_:
        return (_holds(other, where[:, list(other.cells)], side) == satisfied).all()

    cells = rng.permutation(side**2)
    moved = np.empty_like(grids)
    moved[:, cells] = grids
    require(agrees(constraint.image(cells.tolist()), moved), "the image of the constraint means something else")
    normalized = constraint.normalized()
    require(agrees(normalized, grids), f"the normalized form {normalized} means something else")
    require(normalized.normalized() == normalized, "normalizing twice gives another form")
    require(len(constraint.roles) == len(constraint.cells), f"{len(constraint.roles)} roles of cells")
    if constraint.relabels:
        relabelled = rng.permutation(side)[grids - 1] + 1
        require(agrees(constraint, relabelled), "the constraint does not hold after an exchange of digits")
    text = constraint.text(side)
    if text is not None:
        back = read(text, Board.named(f"1x{side}"))
        require(back == [constraint], f"{text!r} is read as {back}")


def _holds(constraint: Constraint, fillings: Any, side: int) -> Any:
    """``holds`` of fillings integers[A, cells]."""
    digits = [fillings[:, place].astype(np.int32) for place in range(len(constraint.cells))]
    return constraint.kind.holds(digits, list(constraint.numbers), side)


def _fillings(size: int, side: int, rng: np.random.Generator) -> np.ndarray:
    """All fillings of some cells, or random ones, half of them with digits that differ if the side allows it."""
    if side**size <= FILLINGS:
        return np.array(list(itertools.product(range(1, side + 1), repeat=size)), np.uint8)
    found = rng.integers(1, side + 1, (FILLINGS, size)).astype(np.uint8)
    if size <= side:
        found[::2] = rng.permuted(np.tile(np.arange(1, side + 1, dtype=np.uint8), (FILLINGS // 2, 1)), axis=1)[:, :size]
    return found


def _candidates(
    bits: np.ndarray, satisfied: np.ndarray, side: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Masks [cells, 64], half of them with a filling that satisfies the constraint; and subsets of them."""
    dtype, shape = bits.dtype, (bits.shape[1], LANES)

    def random(share: Any) -> np.ndarray:
        chosen = rng.random((side, *shape)) < share
        words = chosen.astype(dtype) << np.arange(side, dtype=dtype)[:, None, None]
        return np.bitwise_or.reduce(words.astype(dtype), axis=0)

    right = np.flatnonzero(satisfied)
    solution = np.zeros(shape, dtype)
    if len(right):
        solution[:, ::2] = bits[rng.choice(right, LANES // 2)].T
    more = random(rng.choice([0.3, 0.5, 0.8, 1.0], LANES)) | solution
    fewer = more & (random(0.8) | solution)
    fewer[:, ::4] = (more & random(0.5))[:, ::4]
    return more, fewer


def _require_masks(right: np.ndarray, what: str, masks: np.ndarray) -> None:
    """Raises AssertionError with the candidates of the first lane in which one of bool[cells, lanes] is false."""
    for lane in np.flatnonzero(~right.all(axis=0)):
        digits = [[digit + 1 for digit in range(32) if int(mask) >> digit & 1] for mask in masks[:, lane]]
        require(False, f"{what}: cell {int(np.flatnonzero(~right[:, lane])[0])} of candidates {digits}")
