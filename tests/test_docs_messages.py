"""Every message that docs/troubleshooting.md quotes is one that Heedful can still say."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "troubleshooting.md"
GAP = "…"
QUOTED = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf8"), flags=re.MULTILINE)


def test_the_page_quotes_the_frequent_ones() -> None:
    assert len(QUOTED) >= 25 and len(set(QUOTED)) == len(QUOTED)
    text = PAGE.read_text(encoding="utf8")
    assert text.count("**Cause.**") == text.count("**Fix.**") == len(QUOTED)


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_still_said(message: str) -> None:
    assert any(_fits(message, said) for said in _said()), f"nothing says {message!r}"


@pytest.mark.parametrize("message", ["… has no kolumn …", "… : its columns are … has no column …"])
def test_what_nobody_says_is_found_out(message: str) -> None:
    assert not any(_fits(message, said) for said in _said())


def _fits(message: str, said: str) -> bool:
    """The fixed parts of the message, in this order, in one string of the source."""
    fixed = [re.escape(part.strip()) for part in message.split(GAP) if part.strip(" .,:()")]
    return re.search(".*".join(fixed), said) is not None


@cache
def _said() -> frozenset[str]:
    """All strings of the source, with a gap for what is put in; back ticks do not count."""
    found = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf8"))):
            if isinstance(node, ast.JoinedStr):
                found.add("".join(map(_part, node.values)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return frozenset(each.replace("`", "") for each in found)


def _part(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else GAP
