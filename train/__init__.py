"""Training of the networks. Not installed: run it from the root of a checkout or of the source distribution."""

import importlib.util


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


if _missing := [name for name in ("optax", "orbax.checkpoint") if not _found(name)]:
    raise ModuleNotFoundError(
        f"training needs {' and '.join(_missing)}: install the extra train, pip install -e '.[train]' in this folder"
    )
