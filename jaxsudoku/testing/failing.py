"""The error of a check that fails."""

from __future__ import annotations

from typing import Any

import numpy as np


def require(holds: Any, what: str, **shown: Any) -> None:
    """Raises AssertionError unless a property holds.

    Args:
      holds: whether it does.
      what: what is wrong if not.
      **shown: what the message shows below, by name: a puzzle or a grid as numbers in one line.
    """
    if not holds:
        lines = (f"\n  {name}: {' '.join(map(str, np.ravel(value).tolist()))}" for name, value in shown.items())
        raise AssertionError(what + "".join(lines))
