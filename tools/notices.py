"""The table of dependencies in THIRD_PARTY_NOTICES.md, from what is installed
(`python -m tools.notices`). A test holds the table to pyproject.toml.

What is not installed here keeps the line it has.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "THIRD_PARTY_NOTICES.md"
BEGIN, END = "<!-- dependencies: begin -->", "<!-- dependencies: end -->"
HEAD = "| package | licence | needed by |\n|---|---|---|"
ALWAYS = "always"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST = 60


def direct(root: Path = ROOT) -> dict[str, list[str]]:
    """The packages that pyproject.toml names, each with the extras that need it."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf8"))["project"]
    groups = {ALWAYS: project["dependencies"], **project["optional-dependencies"]}
    found: dict[str, list[str]] = {}
    for extra, needed in groups.items():
        for text in needed:
            name = _named(text)
            if name != project["name"]:
                found.setdefault(name, []).append(extra)
    return dict(sorted(found.items()))


def licence(about: PackageMetadata) -> str:
    """As the package says: an SPDX expression, a short line, or its classifiers."""
    line = (about["License"] or "").strip()
    short = line if line and "\n" not in line and len(line) <= _LONGEST else ""
    kinds = [each for each in about.get_all("Classifier") or [] if each.startswith("License ::")]
    classified = ", ".join(each.rpartition(":: ")[2] for each in kinds)
    return str(about["License-Expression"] or short or classified)


def lines(text: str) -> dict[str, str]:
    """The lines of the table that is there, by package."""
    table = text.partition(BEGIN)[2].partition(END)[0]
    rows = [row for row in table.strip().splitlines()[2:] if row.startswith("| ")]
    return {row.split("|")[1].strip(): row for row in rows}


def written(text: str) -> str:
    """The page with its table made again."""
    known = lines(text)
    rows = [_line(name, extras, known.get(name, "")) for name, extras in direct().items()]
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n{HEAD}\n{chr(10).join(rows)}\n{END}{after}"


def _line(name: str, extras: list[str], old: str) -> str:
    try:
        found = licence(metadata(name))
    except PackageNotFoundError:
        found = old.split("|")[2].strip() if old else ""
    return f"| {name} | {found or 'see the package'} | {', '.join(extras)} |"


def _named(text: str) -> str:
    found = _NAME.match(text)
    assert found is not None, text
    return found.group().lower()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf8")), encoding="utf8")
    sys.stdout.write(f"{PAGE.name}: {len(direct())} packages\n")
