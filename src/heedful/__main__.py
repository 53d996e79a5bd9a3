"""`python -m heedful` is `heedful`."""

from __future__ import annotations

from heedful.cli import run

if __name__ == "__main__":
    run()
