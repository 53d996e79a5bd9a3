"""The rules for pages themselves: each finds its fault, and a page without faults has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browsing import PHONE, accessibility, sideways, visiting

FRAME = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<style>body {{ background: #fff; color: #222 }} button {{ padding: 1em }}
.dim {{ background: #777 }} .half {{ opacity: .5 }}</style></head>
<body><h1>A page</h1>{}</body></html>"""
FINE = """<h2>Below</h2><label for="name">Name</label><input id="name">
<button aria-label="close">×</button> <div tabindex="0" role="region" aria-label="numbers">1</div>
<svg role="img" aria-label="a dot" width="9" height="9"></svg> <img alt="" src="data:,">
<table><tr><th>a</th><td>1</td></tr></table><p hidden style="color: #eee">unseen</p>
<button disabled style="color: #ccc">not now</button><div class="dim"><p style="color: #fff;
font-size: 30px">large</p></div>"""
FAULTS = {
    "a control without a name": "<button>  </button>",
    "a control without a name: <div": '<div tabindex="0" role="slider" style="height: 3em">5</div>',
    "an image without a name": '<svg role="img" width="9" height="9"></svg>',
    "an id twice": '<p id="a">1</p><p id="a">2</p>',
    "a heading skips a level": "<h3>too low</h3>",
    "2 headings h1": "<h1>again</h1>",
    "a label of nothing": '<label for="none">Name</label>',
    "aria-labelledby of nothing": '<p aria-labelledby="none">x</p>',
    "an order of its own": '<button tabindex="2">first</button>',
    "a table without th": "<table><tr><td>1</td></tr></table>",
    "a target of": '<button style="width: 12px; height: 12px; padding: 0">x</button>',
    "a contrast of 4.48": '<div class="dim"><p style="color: #fff">white on grey</p></div>',
    "a contrast of 3.17": '<p class="half">half as dark</p>',  # #222 over white: 144.5
    "a contrast of 1.": '<textarea aria-label="t" style="color: #eee; background: #fff">',
}


def written(folder: Path, body: str) -> str:
    path = folder / "page.html"
    path.write_text(FRAME.format(body), encoding="utf-8")
    return path.as_uri()


def test_a_page_without_faults(browser: Any, tmp_path: Path) -> None:
    with visiting(browser, written(tmp_path, FINE)) as page:
        assert accessibility(page) == []
        page.evaluate("() => { document.documentElement.lang = ''; document.title = ''; }")
        assert accessibility(page) == ["the page has no language", "the page has no title"]


def test_every_fault_is_found(browser: Any, tmp_path: Path) -> None:
    for fault, body in FAULTS.items():
        with visiting(browser, written(tmp_path, body)) as page:
            found = accessibility(page)
            assert len(found) == 1 and found[0].startswith(fault), (fault, found)


def test_a_wide_page_goes_sideways(browser: Any, tmp_path: Path) -> None:
    wide = '<div style="width: 600px">wide</div>'
    with visiting(browser, written(tmp_path, wide), PHONE) as page:
        assert sideways(page) > 200


@pytest.mark.parametrize(
    "body",
    [
        "<script>console.error('no')</script>",
        "<script>throw new Error('no')</script>",
        "<script>alert(1)</script>",
        '<img alt="" src="http://127.0.0.1:9/x.png">',
        '<img alt="" src="other.png">',
    ],
)
def test_what_a_page_must_not_do(browser: Any, tmp_path: Path, body: str) -> None:
    url = written(tmp_path, body)
    with pytest.raises(AssertionError), visiting(browser, url) as page:
        page.wait_for_timeout(100)


def test_no_browser_is_a_failure_only_where_there_must_be_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from browsing import _missing

    monkeypatch.delenv("HEEDFUL_NEED_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception):
        _missing("none")
    monkeypatch.setenv("HEEDFUL_NEED_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception):
        _missing("none")
