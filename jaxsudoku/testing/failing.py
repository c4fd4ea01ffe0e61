"""The error of a failed check."""

from __future__ import annotations

from typing import Any

import numpy as np


def require(holds: Any, what: str, **shown: Any) -> None:
    """Raises AssertionError unless a property holds.

    Args:
      holds: whether it holds.
      what: the message if it does not.
      **shown: arrays that the message shows below it, by name: a puzzle or a grid as numbers in one line.
    """
    if not holds:
        lines = (f"\n  {name}: {' '.join(map(str, np.ravel(value).tolist()))}" for name, value in shown.items())
        raise AssertionError(what + "".join(lines))
