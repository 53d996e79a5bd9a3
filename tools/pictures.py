"""The pictures of the README: pages of the demo, taken by a real browser (`make pictures`).

Nothing is painted by hand: the demo is run, its page is opened, and the servers that people
would start are started.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
HEEDFUL = [sys.executable, "-m", "heedful.cli.main"]
TEXT = "The film looked splendid on Monday, but that sandwich was really dreadful."
COLOURS = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", type=Path, help="a folder of `heedful demo`; made if left out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, opened_browser() as browser:
        demo = given.demo or Path(scratch) / "demo"
        if given.demo is None:
            subprocess.run([*HEEDFUL, "demo", "-o", str(demo)], check=True)
        report(browser, demo)
        live(browser, demo)
        annotate(browser, demo, Path(scratch))


def report(browser: Any, demo: Path) -> None:
    url = (demo / "report" / "page.html").resolve().as_uri()
    with visiting(browser, url, (1400, 900)) as page:
        shot(page, DOCS, "report")
        page.click("nav.chapters a[href='#examples']")
        page.wait_for_selector(".x-drag")
        page.click(".x-drag button:text-is('Furthest with the same prediction')")
        page.evaluate("() => scrollTo(0, 0)")
        page.set_viewport_size({"width": 1400, "height": 1640})
        shot(page, DOCS, "browser")


def live(browser: Any, demo: Path) -> None:
    model = next((demo / "store" / "runs").glob("model-*"))
    with (
        _serving("serve", str(model), "--port", "0") as url,
        visiting(browser, url, (1240, 1000)) as page,
    ):
        page.wait_for_selector(".track")
        page.fill("#text", TEXT)
        page.click("text=Ask")
        page.wait_for_selector("[role=slider][aria-label=dreadful]")
        page.locator("[role=slider][aria-label=splendid]").focus()
        for _ in range(4):
            page.keyboard.press("PageUp")
        page.wait_for_function("() => document.querySelector('.says').innerText.includes('moved')")
        shot(page, DOCS, "live")


def annotate(browser: Any, demo: Path, scratch: Path) -> None:
    model, study = next((demo / "store" / "runs").glob("model-*")), scratch / "study.db"
    command = [*HEEDFUL, "annotate", "new", str(model), "-o", str(study), "--n", "10"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with (
        _serving("annotate", "serve", str(study), "--port", "0") as url,
        visiting(browser, url, (1240, 560)) as page,
    ):
        page.wait_for_timeout(500)
        shot(page, DOCS, "annotate")


@contextmanager
def opened_browser() -> Iterator[Any]:
    with sync_playwright() as driver:
        options: dict[str, Any] = {"args": ["--no-sandbox"]}
        if Path("/usr/bin/chromium").is_file():
            options["executable_path"] = "/usr/bin/chromium"
        browser = driver.chromium.launch(**options)
        yield browser
        browser.close()


@contextmanager
def visiting(browser: Any, url: str, size: tuple[int, int]) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(url)
    page.wait_for_timeout(800)
    yield page
    page.close()


@contextmanager
def _serving(*command: str) -> Iterator[str]:
    """The first address that the server prints."""
    server = subprocess.Popen([*HEEDFUL, *command], stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(server.stdout or ())
        yield next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
    finally:
        server.terminate()
        server.wait()


def shot(page: Page, folder: Path, name: str, colours: int = COLOURS) -> None:
    """Few colours: a page of text needs no more, and a repository stays small."""
    path = folder / f"{name}.png"
    page.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(colours).save(path, optimize=True)
    sys.stdout.write(f"{path.name}: {path.stat().st_size // 1024} kB\n")


if __name__ == "__main__":
    main()
