"""A browser without a window: Chromium or Chrome, if one is on the PATH."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def page_of(address: str, folder: Path, *flags: str) -> tuple[str, str]:
    """The document at an address after its scripts have run, as HTML, and what the browser logged.

    Args:
      address: of a page.
      folder: for the browser's profile.
      flags: more flags of the browser.
    """
    assert BROWSER is not None
    fixed = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--enable-logging=stderr"]
    command = [BROWSER, *fixed, f"--user-data-dir={folder / 'profile'}", *flags, address]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ran.stdout, ran.stderr
