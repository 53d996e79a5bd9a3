"""The page of the schemas, written from the schemas themselves (`python -m tools.schemas`).

A test holds the committed page to what this writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heedful.schemas import schema, schema_names
from heedful.store import markdown_table

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "schemas.md"
INTRO = """\
# Schemas

<!-- Written by tools/schemas.py: change the schemas, then run `python -m tools.schemas`. -->

Everything Heedful writes for machines has a JSON Schema (draft 2020-12) in the package:
`heedful schema` names them, `heedful schema verdict` prints one, and
`heedful.schemas.schema("verdict")` gives it to Python. What a schema version promises is in
[stability](../stability.md): a field may be added under the same version, so readers must ignore
what they do not know.

JSON has no NaN: an undefined number is `null`. In Parquet it is NaN, and the file's metadata hold
`heedful_schema_version`; the schema of a table is that of one row. `heedful check --junit` writes
JUnit XML, the format of build servers: one `testsuite`, a `testcase` for each thing that was
checked, with a `failure` where it failed. CSV and LaTeX tables, figures and pages are for people
and have no schema, nor have the data inside a page and the answers of the live server: the
scripts that read them come with them.
"""
GROUPS = {
    "Audits": "verdict audit-",
    "Runs in a store": "run specs corpus- model- probe- study-",
    "Reports, repairs and replications": "report- repair- registration replication manifest",
    "Annotation": "annotate-",
    "Sweeps": "grid",
    "`--json` of the commands": "cli-",
}


def page() -> str:
    """All of it; a schema that belongs nowhere is an error."""
    left = schema_names()
    lines = [INTRO]
    for title, beginnings in GROUPS.items():
        chosen = [name for name in left if name.startswith(tuple(beginnings.split()))]
        left = [name for name in left if name not in chosen]
        lines += [f"## {title}", "", *(line for name in chosen for line in _schema(name))]
    if left:
        raise ValueError(f"in no group: {', '.join(left)}")
    return "\n".join(lines).rstrip() + "\n"


def _schema(name: str) -> Iterator[str]:
    found = schema(name)
    yield from (f"### {name}", "", f"{found['title']}. {found['description']}", "")
    if "heedful_schema_version" in found:
        yield from (f"`heedful_schema_version` {found['heedful_schema_version']}.", "")
    for form in found.get("oneOf", [found]):
        if form is not found and form.get("description"):
            yield from (form["description"], "")
        yield from _table(form)
    for part, inner in found.get("$defs", {}).items():
        yield from (f"**{part}**", "", *_table(inner))
    for each in found.get("allOf", ()):
        kind = each["if"]["properties"]["kind"]["const"]
        facts = each["then"]["properties"]["facts"]
        yield from (f"`facts` of kind {kind}, among others:", "", *_table(facts))


def _table(part: dict[str, Any]) -> Iterator[str]:
    rows = list(_rows(part, ""))
    if rows:
        yield from (markdown_table(("field", "type", "meaning"), rows), "")


def _rows(part: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    if part.get("type") == "array" and not path:
        yield from _rows(part["items"], "[]")
    for name, each in part.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        optional = "" if name in part.get("required", []) else ", may be left out"
        yield f"`{place}`", f"{_type(each)}{optional}", _about(each)
        yield from _rows(each, place)
        if isinstance(each.get("items"), dict):
            yield from _rows(each["items"], f"{place}[]")
        if isinstance(each.get("additionalProperties"), dict):
            yield from _rows(each["additionalProperties"], f"{place}.*")


def _type(each: dict[str, Any]) -> str:
    """In words; a table's column as Parquet has it."""
    if "arrow" in each:
        return str(each["arrow"])
    if "const" in each:
        return f"`{each['const']}`"
    if "$ref" in each:
        place, _, part = each["$ref"].removeprefix("heedful:").partition("#/$defs/")
        return f"[{place}](#{place}) {part}".rstrip() if place else f"{part}, below"
    if "anyOf" in each:
        return " or ".join(dict.fromkeys(map(_type, each["anyOf"])))
    return _plain(each)


def _plain(each: dict[str, Any]) -> str:
    kinds = each.get("type", "anything")
    named = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    if kinds == "array" and each.get("items"):
        return f"array of {_type(each['items'])}"
    if kinds == "object" and isinstance(each.get("additionalProperties"), dict):
        return f"object of {_type(each['additionalProperties'])}"
    return named


def _about(each: dict[str, Any]) -> str:
    values = ", ".join(f"`{value}`" for value in each.get("enum", ()))
    known = f" One of {values}." if values else ""
    return (each.get("description", "") + known).strip().replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf8")
