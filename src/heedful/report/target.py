"""Where a report goes: a page, or a folder with it, and what may stand there already."""

from __future__ import annotations

from pathlib import Path

from heedful.store import FileKind, begins, check_file, check_folder

PAGE = "page.html"
PAGES = (".html", ".htm")
REPORT = "report"
"""The kind of folder."""
_HEAD = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
PAGE_FILE = FileKind(
    "a page of Heedful", begins(f'{_HEAD}<meta name="generator" content="Heedful '), joins=True
)
"""Every page begins so (`templates/base.html`)."""


def kind_of(out: Path) -> FileKind | str:
    """The page alone, or a folder."""
    return PAGE_FILE if out.suffix.lower() in PAGES else REPORT


def check_target(out: Path) -> bool:
    """Whether the page alone is wanted. An older page or report is replaced; anything else in
    the way is not ours to remove."""
    kind = kind_of(out)
    if isinstance(kind, FileKind):
        check_file(out, kind)
        return True
    check_folder(out, kind)
    return False
