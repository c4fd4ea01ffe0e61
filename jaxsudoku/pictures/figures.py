"""matplotlib, the extra ``plot``: imported when first used; the suffixes of files that it writes."""

from __future__ import annotations

import os
from types import ModuleType

#: Width and height of one panel, in inches.
PANEL = (4.5, 3.4)


def import_figure() -> ModuleType:
    """The module matplotlib.figure; raises ImportError that names the extra to install."""
    try:
        import matplotlib.figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'jaxsudoku[plot]'") from error
    return matplotlib.figure


def formats() -> list[str]:
    """The suffixes of supported formats, such as "png"; raises ImportError if matplotlib is missing."""
    return sorted(import_figure().Figure().canvas.get_supported_filetypes())


def suffix(path: str | os.PathLike[str]) -> str:
    """A file's suffix in lower case, without its dot."""
    return os.path.splitext(path)[1].removeprefix(".").lower()


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raises ValueError if a file's suffix is no picture format, ImportError if matplotlib is missing."""
    if suffix(path) not in formats():
        raise ValueError(f"{os.fspath(path)}: no picture: its suffix must be one of .{', .'.join(formats())}")
