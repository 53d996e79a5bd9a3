"""`python -m heedful`."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_itself_can_be_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "heedful", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("heedful ")
