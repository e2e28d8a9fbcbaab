"""Headless Chromium for the tests: found once, with a clear error where it is missing."""

import os
import shutil
from pathlib import Path

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOW = (
    "the browser tests need Chromium: `apt-get install chromium`, or "
    "`python -m playwright install chromium`; WORKBENCH_CHROMIUM may name the program"
)


def chromium_path() -> str | None:
    """The system's Chromium, or None to let Playwright use its own."""
    named = os.environ.get("WORKBENCH_CHROMIUM")
    if named:
        if not Path(named).is_file():
            raise RuntimeError(f"WORKBENCH_CHROMIUM names {named!r}, which is no file; {HOW}")
        return named
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


def launch(playwright):
    """A headless browser; raises RuntimeError that says how to install one."""
    try:
        return playwright.chromium.launch(executable_path=chromium_path(), args=ARGS)
    except Exception as error:
        raise RuntimeError(f"{HOW}\n{error}") from error
