"""What every test module shares."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# Compiling counts towards an example's time, so no deadline; a check that runs unattended must not fail by chance.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("unattended", deadline=None, derandomize=True, database=None, print_blob=True)
hypothesis.settings.load_profile("unattended" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of well-known puzzle sets, which the project doesn't ship."""
    named = os.environ.get("JAXSUDOKU_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no puzzle sets: {folder} is no folder; name one in the environment variable JAXSUDOKU_DATA")
    return folder
