"""Where a result is shown: in the notebook that this runs in, else in a browser."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from heedful.progress import notebook_display


def show_in_notebook(bundle: Mapping[str, str]) -> bool:
    """Whether there is one."""
    display = notebook_display()
    if display is None:
        return False
    display(dict(bundle), raw=True)
    return True


def open_page(html: str, path: Path | None = None) -> Path:
    """Opened in a browser where there is one; the file stays."""
    if path is None:
        path = Path(tempfile.mkdtemp(prefix="heedful-")) / "page.html"
        path.write_text(html, encoding="utf8")
    webbrowser.open(path.resolve().as_uri())
    return path
