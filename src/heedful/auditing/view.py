"""A result outside of a notebook: a page in a browser."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path


def open_page(html: str, path: Path | None = None) -> Path:
    """Opened in a browser where there is one; the file stays, so that it can be opened again."""
    if path is None:
        path = Path(tempfile.mkdtemp(prefix="heedful-")) / "page.html"
        path.write_text(html, encoding="utf8")
    webbrowser.open(path.resolve().as_uri())
    return path
