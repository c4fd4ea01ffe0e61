"""Training of the networks: not installed, run from the root of a checkout or of the source distribution."""

import importlib.util


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package above it is not there
        return False


if _missing := [name for name in ("optax", "orbax.checkpoint") if not _found(name)]:
    raise ModuleNotFoundError(
        f"training needs {' and '.join(_missing)}: install the extra train, pip install -e '.[train]' in this folder"
    )
