"""A real browser for the tests of pages: chromium, driven by Playwright.

Whatever a page does that it must not (an error in its console, a request to elsewhere, a dialog)
fails the test that opened it.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WIDE, PHONE = (1400, 1000), (400, 800)
RULES = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")
LABELS = (Path(__file__).parent / "labels.js").read_text(encoding="utf-8")
AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
MISSING = "no chromium is found: apt-get install chromium, or playwright install chromium"


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Skips, visibly, where there is none; fails where `make test` says that there must be."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed: pip install 'heedful[dev]'")
    with sync_playwright() as driver:
        path = _chromium(driver.chromium.executable_path)
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The application on a free port of this machine; its address."""
    import uvicorn

    from heedful.apps import address, bound

    with bound("127.0.0.1", 0) as here:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [here]}, daemon=True)
        thread.start()
        yield address(here)
        server.should_exit = True
        thread.join(10)


@contextmanager
def visiting(
    browser: Any,
    url: str,
    size: tuple[int, int] = WIDE,
    dark: bool = False,
    pardoned: str | None = None,
) -> Iterator[Any]:
    """A page of its own, with nothing kept from others. A console error is `pardoned` where it
    says so: browsers report every refusal of a server as one."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    try:
        page, wrong = context.new_page(), _watched(context, url)
        page.goto(url)
        yield page
    finally:
        context.close()
    wrong = [each for each in wrong if pardoned is None or pardoned not in each]
    assert not wrong, wrong


def sideways(page: Any) -> int:
    """How many pixels a page is wider than its window."""
    return int(page.evaluate("() => document.documentElement.scrollWidth - innerWidth"))


def accessibility(page: Any) -> list[str]:
    """What somebody with a keyboard, a screen reader or weak eyes would miss; see the script."""
    found: list[str] = page.evaluate(RULES)
    return found


def unreadable(page: Any) -> list[str]:
    """Labels of drawings in sight that are cut off, or lie over each other."""
    found: list[str] = page.evaluate(LABELS)
    return found


def violations(page: Any) -> list[str]:
    """What axe-core finds, with everything that can be unfolded open. Skips, visibly, where it was
    not installed."""
    if not AXE.is_file():
        pytest.skip(f"axe-core is not installed: sh tools/axe.sh {sys.prefix}/axe")
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => each.open = true)")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


def _watched(context: Any, url: str) -> list[str]:
    """What goes wrong in a page of this context, as it happens."""
    wrong: list[str] = []
    home = url.split("#")[0] if url.startswith("file:") else "/".join(url.split("/", 3)[:3]) + "/"

    def watch_request(asked: Any) -> None:
        if not asked.url.startswith(("data:", "blob:", home)):
            wrong.append(f"a request to {asked.url}")

    def watch_dialog(dialog: Any) -> None:
        wrong.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    context.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("request", watch_request)
    context.on("dialog", watch_dialog)
    return wrong


def _chromium(own: str) -> str:
    """The system's, else the one Playwright brought."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and not Path(own).exists():
        _missing(MISSING)
    return found or own


def _missing(sentence: str) -> None:
    if os.environ.get("HEEDFUL_NEED_BROWSER"):
        pytest.fail(sentence)
    pytest.skip(sentence)
