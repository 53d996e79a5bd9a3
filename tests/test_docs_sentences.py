"""No sentence of the pages that people read is too long to read at one go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
LISTS = ("docs/stability.md", "docs/which-metric.md", "docs/reference")
"""Made by commands, or lists of names."""
DOCS = sorted(str(path.relative_to(HERE)) for path in (HERE / "docs").rglob("*.md"))
PAGES = ("README.md", "CONTRIBUTING.md", *(name for name in DOCS if not name.startswith(LISTS)))
LONGEST = 35


def sentences(text: str) -> list[str]:
    """Of prose and lists; code blocks, tables, comments and addresses of links are left out."""
    tags = r"</?(?:div|iframe|details|summary)[^>]*>"
    for block in (r"^ *```.*?^ *```", r"<!--.*?-->", tags, r"^\s*\|.*?$"):
        text = re.sub(block, "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*>]|\d+\.|#+) )", text)
    ends = re.compile(r"""(?<=[.!?:;])["'*_)\]`]*\s+""")
    return [part for block in blocks for part in ends.split(" ".join(block.split())) if part]


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_is_long(page: str) -> None:
    found = sentences((HERE / page).read_text(encoding="utf8"))
    assert [each for each in found if len(each.split()) > LONGEST] == []


def test_sentences_are_told_apart() -> None:
    text = (
        "# Title\nOne *two.* Three; [four](a b c): five\n\n- six\n- **seven!** eight\n"
        "| a table | of. cells |\n\n```python\nx = 1. \n\ny = 2\n```\n<!-- gone\n -->\nnine"
    )
    assert sentences(text) == [
        "# Title One *two.",
        "Three;",
        "four:",
        "five",
        "- six",
        "- **seven!",
        "eight",
        "nine",
    ]
