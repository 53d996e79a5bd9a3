"""The pages people read, cut into what can be tried: blocks, commands, links, headings.

A line before a block may say what it needs (`<!-- needs: data, long -->`), that it is a file
(`<!-- file: grid.yaml -->`), or how its last command ends (`<!-- exits: 1 -->`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
NEEDS = ("data", "pretrained", "gpu", "network", "browser", "long", "hours", "yours")
"""`yours` is something that only a reader has, `hours` is what takes them."""

_FENCE = re.compile(r"^(\s*)(`{3,})(\S*)\s*$")
_NOTE = re.compile(r"<!-- (needs|file|exits): (.+?) -->")


@dataclass(frozen=True)
class Block:
    """What stands between fences; `line` is that of its first line, counted from 1."""

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]
    needs: tuple[str, ...] = ()
    file: str = ""
    exits: int = 0

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    lines, start, notes = page.read_text(encoding="utf-8").split("\n"), 0, dict[str, str]()
    while start < len(lines):
        opening = _FENCE.match(lines[start])
        if opening is None:
            said = dict(_NOTE.findall(lines[start]))
            notes = notes | said if said or not lines[start] else {}
            start += 1
            continue
        indent, ticks, language = opening.groups()
        end = next(i for i in range(start + 1, len(lines)) if lines[i] == indent + ticks)
        inside = tuple(line.removeprefix(indent) for line in lines[start + 1 : end])
        yield _block(page, start + 2, language, inside, notes)
        start, notes = end + 1, {}


def _block(
    page: Path, line: int, language: str, lines: tuple[str, ...], notes: dict[str, str]
) -> Block:
    needs = tuple(part.strip() for part in notes.get("needs", "").split(",") if part.strip())
    return Block(
        page, line, language, lines, needs, notes.get("file", ""), int(notes.get("exits", 0))
    )


def commands(block: Block) -> Iterator[tuple[int, str]]:
    """Lines that begin with `$ `, with the number of the page's line; a backslash goes on."""
    lines = list(enumerate(block.lines, block.line))
    while lines:
        number, text = lines.pop(0)
        if not text.startswith("$ "):
            continue
        whole = text.removeprefix("$ ")
        while whole.endswith("\\") and lines:
            whole = whole[:-1] + lines.pop(0)[1]
        yield number, whole


def prose(page: Path) -> str:
    """A page as the site shows it, without code; lines stay where they are."""
    text = page.read_text(encoding="utf-8")
    included = re.fullmatch(r'--8<-- "(.+)"\n', text)
    if included:
        text = (ROOT / included.group(1)).read_text(encoding="utf-8")
    text = re.sub(r"^( *)(```+).*?^\1\2$", _blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(?<=\n\n)(?: {4}[^\n]*\n)+", _blank, text)
    return re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n`]", "x", code.group()), text)


def _blank(found: re.Match[str]) -> str:
    return "\n" * found.group().count("\n")


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Where a page points, with the number of its line."""
    text = prose(page)
    for found in re.finditer(r"\]\(\s*([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\s*\)", text):
        yield text.count("\n", 0, found.start()) + 1, found.group(1)


def anchors(page: Path) -> set[str]:
    """What the site calls its headings."""
    names: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+?)\s*#*$", _headed(page), flags=re.MULTILINE):
        slug, count = _slug(heading), 0
        while (name := f"{slug}_{count}" if count else slug) in names:
            count += 1
        names.add(name)
    return names


def _headed(page: Path) -> str:
    """Prose in which code in headings is kept."""
    return re.sub(
        r"^( *)(```+).*?^\1\2$",
        _blank,
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )


def _slug(heading: str) -> str:
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
