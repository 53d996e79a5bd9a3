"""Pages point at what is there, are found in the navigation, and name nobody's machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import docs_commands
from docs_pages import PAGES, ROOT, anchors, blocks, commands, links, named, prose

DOCS = ROOT / "docs"
OF_SITE = [page for page in PAGES if page.is_relative_to(DOCS)]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MACHINE = re.compile(r"(?<![\w./])(/work|/home/\w|/root|/tmp|/Users/\w|/opt|[A-Z]:\\Users)\b")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_anchors_are_there(page: Path) -> None:
    for number, target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        at = (page.parent / path).resolve() if path else page
        place = f"{named(page)}:{number}"
        assert at.exists() or _made(at), f"{place}: nothing is at {target}"
        if page in OF_SITE:
            assert at.is_relative_to(DOCS), f"{place}: the site has no {target}"
        if anchor:
            assert anchor in anchors(at), f"{place}: {named(at)} has no heading #{anchor}"


def _made(path: Path) -> bool:
    """Has the Makefile a rule for it, by itself or for all pages of its folder?"""
    place = path.relative_to(ROOT)
    rules = (place, place.with_stem("%"))
    return any(f"\n{rule}: setup\n" in MAKEFILE for rule in rules)


def test_every_page_is_in_the_navigation_once() -> None:
    found = sorted(_leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert found == sorted(str(page.relative_to(DOCS)) for page in OF_SITE)


def test_the_navigation_is_a_path() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    tabs = [next(iter(tab)) for tab in nav]
    assert tabs == ["Start here", "Tutorial", "How to", "Understand", "Reference"]
    groups = [group for tab in nav for group in next(iter(tab.values()))]
    assert all(len([*_leaves(group)]) <= 6 for group in groups)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if _many(value) else ():
        yield from _leaves(each)


def _many(value: Any) -> bool:
    return isinstance(value, list)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_page_names_a_machine(page: Path) -> None:
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        assert not MACHINE.search(line), f"{named(page)}:{number}: {line.strip()}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_stand_in_fences(page: Path) -> None:
    """An indented block of commands would be read by nobody but people."""
    lines = page.read_text(encoding="utf-8").split("\n")
    fenced = {at for block in blocks(page) for at, _ in enumerate(block.lines, block.line)}
    for number, line in enumerate(lines, 1):
        typed = re.match(r"    (heedful|python3?|make|pip) \S", line) and number not in fenced
        assert not typed or lines[number - 2].strip(), f"{named(page)}:{number}: {line.strip()}"


def test_the_site_fetches_nothing() -> None:
    told = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert told["theme"]["font"] is False and told["extra"]["generator"] is False
    assert "repo_url" not in told
    assert {"pymdownx.highlight": {"pygments_lang_class": True}} in told["markdown_extensions"]
    for name in (*told["extra_css"], *told["extra_javascript"]):
        assert "http" not in (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("material") is None, reason="needs `make docs` once")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(
        [mkdocs, "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(r"<(?:script|img|link)[^>]+https?://[^>]+>", page.read_text())
        assert not fetched, (page.name, fetched)
    shutil.rmtree(tmp_path / "site")


@pytest.mark.parametrize(
    "line",
    [
        "heedful adit MODEL",
        "heedful audit MODEL DATA --nonsense",
        "heedful audit",
        "heedful audit MODEL --n many",
        "heedful store lss",
        "heedful list && heedful adit",
        "HEEDFUL_STORE=here heedful adit",
        "make nonsense",
        "python -m heedful.cli.main adit",
        "python -m heedful.nonsense",
        "heedfull audit",
    ],
)
def test_wrong_commands_are_refused(line: str) -> None:
    with pytest.raises(docs_commands.Refused):
        docs_commands.parse(line)


@pytest.mark.parametrize(
    "line",
    [
        "heedful --version",
        "heedful audit --help",
        "heedful audit MODEL DATA --min-effect importance=0.4 -o x  # as declared",
        "heedful store ls --store s3://bucket/runs | head -3 > list.txt",
        "export HEEDFUL_DATA=data",
        "make PYTHON=python3.12 test",
    ],
)
def test_right_ones_are_not(line: str) -> None:
    docs_commands.parse(line)


PAGE = """\
# One & two

<!-- needs: data, long -->
<!-- exits: 1 -->
```console
$ heedful list \\
    metric
metric:
$ heedful doctor
```

[there](page.md#one-two) `[no](link)`

## One & two
"""


def test_a_page_is_cut_into_what_it_holds(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (block,) = blocks(page)
    assert (block.line, block.language, block.exits) == (6, "console", 1)
    assert block.needs == ("data", "long")
    assert list(commands(block)) == [(6, "heedful list     metric"), (9, "heedful doctor")]
    assert list(links(page)) == [(12, "page.md#one-two")]
    assert anchors(page) == {"one-two", "one-two_1"}
    assert prose(page).count("\n") == PAGE.count("\n")
