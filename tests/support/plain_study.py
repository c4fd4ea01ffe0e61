"""The tree searches of the AlphaSudoku study in plain Python, one puzzle at a time, written from its text alone."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np

#: Simulations before a move, and iterations after which a search is given up.
SIMULATIONS, MOST = 20, 10_000

UNITS = [(cell // 9, 9 + cell % 9, 18 + cell // 27 * 3 + cell % 9 // 3) for cell in range(81)]
DIGITS = [[digit for digit in range(9) if mask >> digit & 1] for mask in range(512)]

#: Grids, one byte a cell, 0 = empty, to the probabilities of digits, float[9, 81].
Network = Callable[[bytes], np.ndarray]


class Grid:
    """A grid with the digits that each empty cell may take."""

    def __init__(self, cells: bytes) -> None:
        self.cells = cells
        used = [0] * 27
        clash = False
        for cell, digit in enumerate(cells):
            if digit:
                for unit in UNITS[cell]:
                    clash |= bool(used[unit] >> (digit - 1) & 1)
                    used[unit] |= 1 << (digit - 1)
        self.choices = {
            cell: DIGITS[511 & ~(used[row] | used[column] | used[box])]
            for cell, (row, column, box) in enumerate(UNITS)
            if not cells[cell]
        }
        self.fewest = min(map(len, self.choices.values()), default=0)
        self.terminal = clash or self.fewest == 0
        self.solved = not clash and not self.choices

    def fill(self, cell: int, digit: int) -> Grid:
        return Grid(self.cells[:cell] + bytes([digit + 1]) + self.cells[cell + 1 :])


class Search:
    """A search for one puzzle; AlphaSudoku with a network, MCTS without.

    Attributes:
      iterations: changes of the grid that is looked at.
      looked: the grids that the network saw.
    """

    def __init__(self, puzzle: bytes, seed: int, network: Network | None = None) -> None:
        self.root, self.random, self.network = Grid(puzzle), random.Random(seed), network
        self.iterations = 0
        self.looked: dict[bytes, np.ndarray] = {}
        self.children: dict[bytes, list[Grid]] = {}
        self.prior: dict[bytes, float] = {}
        self.total: dict[bytes, float] = {}
        self.visits: dict[bytes, int] = {}

    def solve(self) -> bool:
        """Whether the puzzle is solved."""
        while not self.root.terminal and not self.root.solved:
            for _ in range(SIMULATIONS):
                self.simulate()
            self.iterations += 1
            if not self.root.solved:
                self.root = max(self.children[self.root.cells], key=self.mean)
            if self.iterations > MOST:
                break
        return self.root.solved

    def mean(self, child: Grid) -> float:
        visits = self.visits.get(child.cells, 0)
        return self.total[child.cells] / visits if visits else -1.0

    def simulate(self) -> None:
        path = [self.root]
        while children := self.children.get(path[-1].cells):
            unseen = [child for child in children if child.cells not in self.children]
            path.append(unseen[0] if unseen else max(children, key=lambda child: self.score(path[-1], child)))
            if unseen:
                break
        self.iterations += 1
        leaf = path[-1]
        if leaf.cells not in self.children:
            self.iterations += 1
            self.children[leaf.cells] = self.expand(leaf)
        while not leaf.terminal:
            self.iterations += 1
            leaf = self.step(leaf)
        if leaf.solved:
            self.root = leaf
        for grid in path:
            self.visits[grid.cells] = self.visits.get(grid.cells, 0) + 1
            self.total[grid.cells] = self.total.get(grid.cells, 0.0) + np.count_nonzero(bytearray(leaf.cells)) / 81

    def score(self, parent: Grid, child: Grid) -> float:
        visits = self.visits[child.cells]
        if self.network:
            return self.mean(child) + self.prior[child.cells] / (1 + visits)
        return self.mean(child) + math.sqrt(2) * math.sqrt(math.log(self.visits[parent.cells]) / visits)

    def expand(self, grid: Grid) -> list[Grid]:
        if grid.terminal:
            return []
        cell = next(cell for cell, digits in grid.choices.items() if len(digits) == grid.fewest)
        children = [grid.fill(cell, digit) for digit in grid.choices[cell]]
        for child, digit in zip(children, grid.choices[cell], strict=True):
            known = self.network is None or grid.fewest == 1
            self.prior[child.cells] = 1.0 if known else float(self.look(grid)[digit, cell])
        self.random.shuffle(children)
        return children

    def step(self, grid: Grid) -> Grid:
        if self.network and grid.fewest > 1:
            return grid.fill(*self.surest(grid))
        cell = self.random.choice([cell for cell, digits in grid.choices.items() if len(digits) == grid.fewest])
        return grid.fill(cell, self.random.choice(grid.choices[cell]))

    def surest(self, grid: Grid) -> tuple[int, int]:
        cells = list(grid.choices)
        digit, at = divmod(int(self.look(grid)[:, cells].argmax()), len(cells))
        return cells[at], digit

    def look(self, grid: Grid) -> np.ndarray:
        if grid.cells not in self.looked:
            self.looked[grid.cells] = self.network(grid.cells)  # type: ignore[misc]
        return self.looked[grid.cells]
