"""A page is one file: scripts by hash, data compressed, nothing that could act."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from heedful.report import STYLES, Sheet, asset, bundle, piece

bundling = import_module("heedful.report.sheet")


HOSTILE = "</script><script>alert(1)</script>\u202e"


def modules(monkeypatch: pytest.MonkeyPatch, sources: dict[str, str]) -> None:
    monkeypatch.setattr(bundling, "asset", lambda name: sources[name])


def unpacked(page: str, name: str) -> str:
    found = re.search(rf'<script type="text/plain" data-blob="{name}">([^<]*)</script>', page)
    assert found
    return gzip.decompress(base64.b64decode(found[1])).decode("utf8")


def rendered(sheet: Sheet) -> str:
    parts = {"title": "T", "kicker": "K", "scope": HOSTILE, "grid": None, "audit": None}
    return sheet.render("page.html", **parts, study=None, examples=False, chapters=[], asked=False)


def test_modules_keep_their_names_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two modules have a `helper` each; imports may be renamed; each module is there once."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node is installed")
    sources = {
        "start.js": 'import { one as first } from "./one.js";\n'
        'import {\n  two,\n} from "./two.js";\n'
        "console.log(first() + two());\n",
        "one.js": 'import { base } from "./base.js";\nfunction helper() { return base; }\n'
        "export function one() { return helper() + 1; }\n",
        "two.js": 'import { base } from "./base.js";\nconst helper = 10;\n'
        "export const two = () => helper + base;\n",
        "base.js": "export const base = 100;\n",
    }
    modules(monkeypatch, sources)
    script = bundle("start")
    assert script.count("const base = 100") == 1
    run = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "211"


@pytest.mark.parametrize(
    "line", ['import * as x from "./one.js";', "export default 3;", 'export { a } from "./one.js";']
)
def test_what_cannot_be_bundled_is_refused(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    modules(monkeypatch, {"start.js": f"{line}\n", "one.js": "export const a = 1;\n"})
    with pytest.raises(ValueError, match="cannot be bundled"):
        bundle("start")


def test_a_circle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {
        "a.js": 'import { b } from "./b.js";\nexport const a = 1;\n',
        "b.js": 'import { a } from "./a.js";\nexport const b = 1;\n',
    }
    modules(monkeypatch, sources)
    with pytest.raises(ValueError, match="a → b → a"):
        bundle("a")


def test_the_policy_names_the_scripts_and_nothing_else() -> None:
    sheet = Sheet()
    sheet.allow("beside()")
    page = rendered(sheet)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy and len(scripts) == 2 and "</" not in "".join(scripts)
    sources = policy[1].replace("&#39;", "'")
    for script in (*scripts, "beside()"):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in sources
    assert "unsafe-eval" not in sources and "script-src 'sha256-" in sources
    assert "default-src 'none'" in sources and "http" not in sources


def test_data_come_back_as_they_were_and_cannot_leave_their_place() -> None:
    value = {"words": [HOSTILE, "🙂", "\u2028"], "n": [1.5, -2, None, True]}
    sheet = Sheet()
    sheet.put("some", value)
    sheet.put("text", HOSTILE)
    page = rendered(sheet)
    assert json.loads(unpacked(page, "some")) == value and unpacked(page, "text") == HOSTILE
    assert "<script>alert" not in page and "\u202e" not in page
    again = Sheet()
    again.put("some", value)
    again.put("text", HOSTILE)
    assert rendered(again) == page


def test_numbers_that_are_none_and_names_that_are_taken_are_refused() -> None:
    sheet = Sheet()
    with pytest.raises(ValueError, match="JSON"):
        sheet.put("a", [float("nan")])
    sheet.put("b", 1)
    for name in ("b", 'x" onload="', ""):
        with pytest.raises(ValueError, match="no name"):
            sheet.put(name, 1)


def test_a_lone_surrogate_does_not_stop_a_page() -> None:
    sheet = Sheet()
    sheet.put("a", ["\ud800"])
    assert unpacked(rendered(sheet), "a") == '["?"]'


def test_scripts_and_styles_load_nothing() -> None:
    folder = Path(bundling.__file__).parent / "static"
    names = {path.name for path in folder.iterdir()} | set(STYLES)
    for name in names:
        source = asset(name)
        assert not re.search(r"https?://(?!www\.w3\.org)|@import|\beval\(|new Function", source), (
            name
        )


def test_templates_escape() -> None:
    html = piece("grid.html", count=1, models=[HOSTILE], lines=[])
    assert "<script>" not in html and "&lt;script&gt;" in html and "⟨U+202E⟩" in html
