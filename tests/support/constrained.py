"""Boards whose constraints alone determine the solution."""

from __future__ import annotations

from jaxsudoku import constraints
from jaxsudoku.core.board import Board

_THERMOMETERS = ("r2c3 r3c4", "r1c4 r2c4 r1c3", "r2c1 r1c1 r2c2", "r4c3 r3c3 r4c4", "r3c1 r4c1")
_CAGES = [
    ("r6c1 r6c2", 7),
    ("r5c5 r5c6 r6c6", 8),
    ("r2c4 r3c4 r3c5", 9),
    ("r1c4 r1c5", 10),
    ("r1c1 r1c2 r2c1 r3c1", 13),
    ("r1c6 r2c6", 5),
    ("r5c3 r5c4 r6c4 r6c5", 14),
]
_MORE_THERMOMETERS = ("r4c2 r4c3 r3c3 r2c2", "r3c5 r2c4 r1c5", "r3c4 r4c5 r5c4")

#: 4x4 with thermometers, and its solution.
FOUR = (
    Board.classic(4).with_(*(constraints.thermometer(cells, side=4) for cells in _THERMOMETERS)),
    "2341143231244213",
)
#: 6x6 with cages and thermometers, and its solution. The 45 rule, locked candidates and a naked pair help.
SIX = (
    Board.classic(6).with_(
        constraints.killer(_CAGES, side=6), *(constraints.thermometer(cells, side=6) for cells in _MORE_THERMOMETERS)
    ),
    "135462462513524136613254341625256341",
)
