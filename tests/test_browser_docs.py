"""The script of the documentation in a browser: judged tables can be filtered, and show everything
without it; what is copied from a console can be typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import accessibility, opened_browser, visiting

DOCS = Path(__file__).parent.parent / "docs"
JUDGED = (
    ("F1", "reproduced"),
    ("change of F1", "same direction"),
    ("accuracy", "consistent but uncertain"),
    ("τ", "<strong>not reproduced</strong>"),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


def page_of(folder: Path, script: bool) -> str:
    """Two judged tables and one of another kind, as mkdocs writes them."""
    place = '<div class="wide-page" id="judgement-filter"></div>'
    assert place in (DOCS / "reproduction.md").read_text(encoding="utf-8")
    tables = [_table(JUDGED), _table(JUDGED[:1]), _table((("jain2019", "2"),), "cells")]
    source, style = ((DOCS / name).read_text(encoding="utf-8") for name in ("site.js", "site.css"))
    (folder / "page.html").write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Tables</title>"
        f"<style>{style}</style>"
        f"<main><h1>Tables</h1>{place}{''.join(tables)}</main>"
        + (f"<script>{source}</script>" if script else ""),
        encoding="utf-8",
    )
    return (folder / "page.html").as_uri()


def _table(rows: tuple[tuple[str, str], ...], last: str = "judgement") -> str:
    body = "".join(f"<tr><td>{name}<td>{said}" for name, said in rows)
    return f"<table><thead><tr><th>metric<th>{last}<tbody>{body}</table>"


def shown(page: Any) -> list[str]:
    rows = page.locator("tbody tr").all()
    return [row.locator("td").first.inner_text() for row in rows if row.is_visible()]


def test_what_was_not_reproduced_is_read_alone(browser: Any, tmp_path: Path) -> None:
    with visiting(browser, page_of(tmp_path, script=True)) as page:
        assert len(shown(page)) == 6 and page.inner_text("[role=status]").startswith("5 of 5")
        page.click("button:text-is('not reproduced')")
        assert shown(page) == ["τ", "jain2019"]
        assert page.inner_text("[role=status]") == "1 of 5 numbers are shown."
        assert not page.locator("table").nth(1).is_visible()
        assert page.locator("[aria-pressed=true]").all_inner_texts() == ["not reproduced"]
        page.click("button:text-is('consistent but uncertain')")
        assert shown(page) == ["accuracy", "jain2019"]
        page.click("button:text-is('reproduced')")
        assert shown(page) == ["F1", "F1", "jain2019"]
        page.click("button:text-is('all')")
        assert len(shown(page)) == 6 and accessibility(page) == []


def test_everything_is_there_without_the_script(browser: Any, tmp_path: Path) -> None:
    with visiting(browser, page_of(tmp_path, script=False)) as page:
        assert len(shown(page)) == 6 and page.locator("button").count() == 0


LATE = """() => document.body.insertAdjacentHTML("beforeend",
  '<div class="md-typeset__scrollwrap">late</div><nav class="md-code__nav"></nav>')"""


def test_what_the_theme_leaves_without_a_name_gets_one(browser: Any, tmp_path: Path) -> None:
    """Also what it makes after the page was read."""
    script = (DOCS / "site.js").read_text(encoding="utf-8")
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>Theme</title>"
    search = '<div class="md-search" role="dialog"></div>'
    (tmp_path / "page.html").write_text(f"{head}{search}<script>{script}</script>")
    with visiting(browser, (tmp_path / "page.html").as_uri()) as page:
        assert page.get_by_role("dialog", name="Search").count() == 1
        page.evaluate(LATE)
        page.get_by_role("group", name="Table").focus()
        assert page.evaluate("() => document.activeElement.textContent") == "late"
        assert page.get_by_role("navigation").count() == 0


CONSOLE = """<div class="language-console"><pre id="code"><code>$ heedful train --corpus x \\
    --epochs 6
[1/1] x
  f1 1.000
$ heedful audit model-1</code></pre><button data-clipboard-target="#code">Copy</button></div>"""


def test_a_console_is_copied_without_prompts_and_output(browser: Any, tmp_path: Path) -> None:
    script = (DOCS / "site.js").read_text(encoding="utf-8")
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>Console</title>"
    (tmp_path / "page.html").write_text(f"{head}{CONSOLE}<script>{script}</script>")
    with visiting(browser, (tmp_path / "page.html").as_uri()) as page:
        page.click("button")
        copied = page.locator("button").get_attribute("data-clipboard-text")
    assert copied == "heedful train --corpus x \\\n    --epochs 6\nheedful audit model-1"
