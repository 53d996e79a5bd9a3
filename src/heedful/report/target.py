"""Where a report goes: a page, or a folder with it, and what may stand there already."""

from __future__ import annotations

from pathlib import Path

from heedful.errors import HeedfulError

PAGE = "page.html"
PAGES = (".html", ".htm")
OURS = {PAGE, "figures", "tables"}


def check_target(out: Path) -> bool:
    """Whether the page alone is wanted. An older page or report is replaced; anything else in
    the way is not ours to remove."""
    alone = out.suffix.lower() in PAGES
    (_check_page if alone else _check_folder)(out)
    return alone


def _check_page(out: Path) -> None:
    if out.is_dir():
        raise HeedfulError(f"{out} is a folder: give another name for the page.")
    if not out.parent.is_dir():
        raise HeedfulError(f"there is no folder {out.parent}: make it first, or give another.")


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise HeedfulError(f"{out} is a file: give a folder for the report.")
    if out.is_dir():
        others = sorted(path.name for path in out.iterdir() if path.name not in OURS)
        if others:
            raise HeedfulError(
                f"the folder {out} holds other things ({others[0]}): give a new one for the report."
            )
