"""The tables of docs/install.md, written from what `try_install.py` kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "docs" / "measured" / "install.json"
PAGE = ROOT / "docs" / "install.md"
BRINGS = {
    "core": "train, audit and measure; no page",
    "text": "spaCy's tokenizer and taggers for raw corpora",
    "hf": "Hugging Face models, sub-words, BLEU",
    "explain": "LIME",
    "report": "pages and figures",
    "web": "`heedful serve`, `heedful annotate serve`",
    "scale": "Ray, grids in YAML",
    "all": "all of these",
}


def kept() -> list[dict[str, Any]]:
    if not MEASURED.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def keep(found: dict[str, Any]) -> None:
    """In the place of what was found before for the same extra, Python and versions."""
    rows = [row for row in kept() if _key(row) != _key(found)] + [found]
    MEASURED.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(row) for row in sorted(rows, key=_key))
    MEASURED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def write_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(page, kept()), encoding="utf-8")


def with_tables(page: str, rows: list[dict[str, Any]]) -> str:
    """The page with each table between its two marks."""
    for name, table in {"sizes": sizes(rows), "tried": tried(rows)}.items():
        marks = f"<!-- {name} -->", f"<!-- /{name} -->"
        between = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
        text = f"{marks[0]}\n{table}\n{marks[1]}"
        page, count = re.subn(between, lambda _, text=text: text, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{PAGE.name} has {count} places for the table {name}")
    return page


def sizes(rows: list[dict[str, Any]]) -> str:
    """What each extra weighs with the smallest torch that was tried."""
    small = [row for row in rows if "+cpu" in row["torch"] and row["versions"] == "newest"]
    core = next((row["megabytes"] for row in small if row["extra"] == "core"), 0)
    head = ("install", "brings", "packages", "MB in all", "MB beside the core")
    return _table(
        head,
        (
            (_command(row["extra"]), BRINGS[row["extra"]], row["packages"], row["megabytes"], more)
            for row in small
            for more in [row["megabytes"] - core if row["extra"] != "core" else "–"]
        ),
    )


def tried(rows: list[dict[str, Any]]) -> str:
    """Every environment in which the smoke tests ran through."""
    head = ("extra", "Python", "torch", "packages", "`import heedful`")
    return _table(
        head,
        (
            (
                f"`{row['extra']}`",
                row["python"],
                row["torch"],
                row["versions"],
                f"{row['import_seconds']:.2f} s",
            )
            for row in rows
        ),
    )


def _command(extra: str) -> str:
    return "`heedful`" if extra == "core" else f"`heedful[{extra}]`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def _key(row: dict[str, Any]) -> tuple[str, bool, int]:
    minor = ".".join(row["python"].split(".")[:2])
    return minor, row["versions"] == "lowest", list(BRINGS).index(row["extra"])
