"""Results in a notebook: in light and dark, without styles, and from hostile texts."""

from __future__ import annotations

import base64
import re
import struct
import sys
import webbrowser
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heedful.auditing import Audit, Explanation
from heedful.report import audit_bundle, bounds, explanation_bundle, explanation_page, png
from heedful.verdict import judge

pytest.importorskip("jinja2")

from browsing import PHONE, accessibility, opened_browser, sideways, visiting
from parsed_page import parse
from test_report_telling import CURVES, FAILS, parts_of

EVIL = "<img src=x onerror=alert(1)>\u202e</style><script>alert(1)</script>"
WORDS = ("Seen", "dull", EVIL, '"quoted"', "cut")
NAN = float("nan")
TEXT = Explanation(
    WORDS,
    predicted=EVIL,
    explained=EVIL,
    probability=0.94,
    scores={
        "attention": (0.1, 0.6, 0.2, 0.1, NAN),
        "integrated_gradients": (-0.2, 0.5, -0.1, 0.0, NAN),
        "occlusion:operator=mask": (0.0, 0.4, 0.1, -0.4, NAN),
    },
    interactions=(("dull", EVIL, 0.25),),
)
THEMES = {"light": ("#ffffff", "#1f1f1f"), "dark": ("#111111", "#dedede")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def audit() -> Audit:
    parts = parts_of(FAILS, CURVES)
    parts["facts"] = {**parts["facts"], "model": EVIL, "measured": 100}
    parts["verdict"] = judge(parts["rows"], parts["costs"], parts["facts"])
    parts["documents"]["words"] = [[EVIL, *WORDS[1:]] for _ in range(len(parts["documents"]))]
    tables = {name: parts[name] for name in ("rows", "maps", "costs", "documents", "shown")}
    return Audit.of(parts["verdict"], parts["facts"], **tables)


def shown(result: Explanation | Audit) -> dict[str, str]:
    return result._repr_mimebundle_()


def in_theme(html: str, theme: str, where: Path) -> str:
    """As a notebook shows it: inside of its own page, in its own colours."""
    ground, ink = THEMES[theme]
    style = f"body {{ background: {ground}; color: {ink}; }}"
    body = f'<main><h1>Notebook</h1><p class="words">beside</p>{html}</main>'
    page = '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
    where.write_text(f"{page}<title>n</title><style>{style}</style>{body}", encoding="utf8")
    return where.as_uri()


def stripped(html: str) -> str:
    """What is left where a viewer takes styles, classes, forms and drawings away."""
    bare = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<input[^>]*>", "", html, flags=re.DOTALL)
    return re.sub(r' (?:style|class|role|title|aria-[\w-]+)="[^"]*"|</?form[^>]*>', "", bare)


def test_orange_is_for_and_blue_against() -> None:
    html = shown(TEXT)["text/html"]
    assert '<bdi class="down" style="--s:63" title="−0.200">Seen</bdi>' in html
    assert '<bdi style="--s:100" title="0.600"><b>dull</b></bdi>' in html
    assert re.search(r'<bdi class="cut" title="[^"]*cut off">cut</bdi>', html)
    assert re.search(r"--heat: 226, 140, 46; --cold: 92, 158, 226", html)
    assert re.search(r"\.heedful \.words bdi\.down \{ background: rgba\(var\(--cold\)", html)


@pytest.mark.parametrize("kind", ["explanation", "audit"])
def test_hostile_text_stays_text(kind: str, audit: Audit) -> None:
    bundle = shown(TEXT if kind == "explanation" else audit)
    assert set(bundle) == {"text/plain", "text/html", "image/png"}
    html = bundle["text/html"]
    for word in ("<script", "<img src=x", "\u202e"):
        assert word not in html.replace('<img class="still"', "")
    found = parse(html)
    assert "&lt;script&gt;" in html and html.count("<style>") == html.count("</style>") == 1
    assert not re.findall(r"\son\w+=(?![^<]*&gt;)", re.sub(r"&lt;.*?&gt;", "", html)) and found
    for rule in re.findall(r"(?:^|\})\s*([^{}@]+)\{", style_of(html)):
        assert all(".heedful" in each for each in rule.split(",")), rule


def style_of(html: str) -> str:
    found = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert found is not None
    return re.sub(r"@[^{]*\{", "", found[1])


@pytest.mark.parametrize("kind", ["explanation", "audit"])
def test_without_styles_a_picture_and_all_words_are_left(kind: str, audit: Audit) -> None:
    bundle = shown(TEXT if kind == "explanation" else audit)
    bare = stripped(bundle["text/html"])
    assert f'<img alt="" src="data:image/png;base64,{bundle["image/png"]}">' in bare
    if kind == "explanation":
        assert "<em>integrated gradients</em>" in bare and "<b>dull</b>" in bare
        assert "dull</bdi> 0.500 · <bdi>Seen</bdi> −0.200" in bare
    else:
        statement = audit.verdict["importance"]
        assert f"({bounds(statement.low, statement.high)}), {statement.n} texts" in bare
        assert "Not supported" in bare and "The prediction flips." in bare


@pytest.mark.parametrize("kind", ["explanation", "audit"])
def test_the_still_picture_is_a_small_whole_png(kind: str, audit: Audit) -> None:
    picture = base64.b64decode(shown(TEXT if kind == "explanation" else audit)["image/png"])
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) < 120_000
    place, kinds = 8, []
    while place < len(picture):
        (length,) = struct.unpack(">I", picture[place : place + 4])
        chunk = picture[place + 4 : place + 8 + length]
        assert struct.unpack(">I", picture[place + 8 + length :][:4]) == (zlib.crc32(chunk),)
        kinds.append(chunk[:4])
        place += length + 12
    assert kinds[0] == b"IHDR" and kinds[-2:] == [b"IDAT", b"IEND"]


def test_without_the_package_that_draws_there_is_no_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert png("<svg/>") == ""
    bundle = shown(TEXT)
    assert set(bundle) == {"text/plain", "text/html"} and 'class="still"' not in bundle["text/html"]


def test_a_text_without_scores_and_an_audit_of_nothing_are_shown() -> None:
    bare = Explanation(("a",), "x", "y", 0.5, {})
    assert "Predicted: x. Explained: y (50%)." in shown(bare)["text/html"]
    parts = parts_of(FAILS, {})
    assert "telling" not in audit_bundle(parts, "")["text/html"].partition("</style>")[2]


def test_words_for_a_terminal() -> None:
    lines = str(TEXT).splitlines()
    assert repr(TEXT) == f"<Explanation of 5 words: predicted {EVIL}>"
    assert lines[2].startswith("attention: dull +0.600, ") and len(lines) == 5
    assert explanation_bundle(TEXT.to_dict(), "plain")["text/plain"] == "plain"


@pytest.mark.parametrize("theme", THEMES)
def test_one_explanation_is_seen_at_a_time(browser: Any, tmp_path: Path, theme: str) -> None:
    html = shown(TEXT)["text/html"]
    url = in_theme(html + html, theme, tmp_path / "page.html")  # the same result, shown twice
    with visiting(browser, url, dark=theme == "light") as page:  # the system's theme is another
        assert accessibility(page) == []
        first, second = page.locator(".heedful").all()
        assert not first.locator("img.still").is_visible()
        assert first.locator(".shown > div:visible").count() == 1
        first.get_by_label("occlusion (mask)").check()
        assert first.locator(".words:visible bdi.down").get_attribute("title") == "−0.400"
        assert second.get_by_label("attention", exact=True).is_checked()
        colour = "element => getComputedStyle(element).backgroundColor"
        assert page.locator("main > .words").evaluate(colour) == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", [(1000, 800), PHONE], ids=["wide", "phone"])
def test_an_audit_can_be_read_in_both_themes(
    browser: Any, audit: Audit, tmp_path: Path, theme: str, size: tuple[int, int]
) -> None:
    url = in_theme(shown(audit)["text/html"], theme, tmp_path / "page.html")
    with visiting(browser, url, size) as page:
        assert accessibility(page) == [] and sideways(page) <= 0
        assert page.locator(".statements li").count() == len(audit.verdict.statements)
        assert page.locator(".telling .side").count() == 2


@pytest.mark.parametrize("dark", [False, True])
def test_outside_of_a_notebook_it_is_a_page(browser: Any, tmp_path: Path, dark: bool) -> None:
    file = tmp_path / "page.html"
    file.write_text(explanation_page(TEXT.to_dict()), encoding="utf8")
    with visiting(browser, file.as_uri(), dark=dark) as page:
        assert accessibility(page) == []


def test_show_opens_a_browser(
    audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    made = TEXT.show()
    assert made is not None and "Predicted: " in made.read_text(encoding="utf8")
    file = tmp_path / "page #1.html"
    assert audit.show(file) == file and opened == [made.as_uri(), file.as_uri()]
    assert "The full page" in shown(audit)["text/html"]
    assert 'page%20%231.html" target="_blank" rel="noopener">' in shown(audit)["text/html"]
    made.unlink()
    made.parent.rmdir()


def test_show_stays_in_the_notebook(
    browser: Any, audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells: list[dict[str, str]] = []
    shell = SimpleNamespace(kernel=object(), display_pub=SimpleNamespace(publish=cells.append))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(webbrowser, "open", lambda url: pytest.fail(f"{url} was opened"))
    assert TEXT.show() is None and audit.show() is None
    text, whole = cells
    assert text == shown(TEXT) and whole["image/png"] == shown(audit)["image/png"]
    assert 'sandbox="allow-scripts allow-downloads allow-popups"' in whole["text/html"]
    url = in_theme(whole["text/html"], "light", tmp_path / "page.html")
    with visiting(browser, url) as page:
        page.frame_locator("iframe").get_by_role("heading", level=1).wait_for()
        assert not page.locator("img.still").is_visible()
    assert whole["image/png"] in stripped(whole["text/html"])
