"""Audits in a report: from the store, from a folder, several in one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heedful.auditing import TABLES, Audit
from heedful.errors import HeedfulError
from heedful.report import (
    audit_of_folder,
    audit_of_run,
    build_report,
    evidence_of,
    gather_case,
    names_folder,
    verdict_grid,
)
from heedful.store import Run, Store
from heedful.verdict import Verdict
from parsed_page import parse
from test_report_audit import parts_of
from verdict_tables import World


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    return parts_of(World(examples=16))


@pytest.fixture
def folder(parts: dict[str, Any], tmp_path: Path) -> Path:
    verdict = Verdict.from_json(json.dumps(parts["verdict"]))
    tables = {name: parts.get(name, parts["rows"].iloc[:0]) for name in TABLES}
    return Audit.of(verdict, {**parts["facts"], "key": "audit-1"}, **tables).save(
        tmp_path / "audit"
    )


def stored(store: Store, parts: dict[str, Any], name: str, facts: dict[str, Any]) -> Run:
    with store.writing("audit", {"name": name}) as writer:
        for table in ("rows", "maps", "costs", "documents"):
            writer.table(table, parts[table])
        writer.json("verdict", parts["verdict"])
        writer.json("facts", {**parts["facts"], **facts})
    return next(run for run in store.runs("audit") if run.facts["name"] == name)


def test_a_folder_makes_the_page_it_came_with(folder: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert names_folder(str(folder)) and not names_folder("study-12ab")
    files = build_report(store, [], tmp_path / "page.html", [folder])
    assert files.page == tmp_path / "page.html" and not files.tables
    text = parse(files.page.read_text(encoding="utf8")).text
    assert "Inconclusive" in text and "Does the output move when the weights do?" in text
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("most", [0, 5, 500])
def test_as_many_texts_as_are_asked_for(folder: Path, tmp_path: Path, most: int) -> None:
    page = build_report(Store(tmp_path / "s"), [], tmp_path / "p.html", [folder], most).page
    tags = parse(page.read_text(encoding="utf8"))
    assert ("examples" in tags.blobs) == (most > 0)
    if most:
        assert tags.blob("examples")["cells"][0]["shown"] == min(most, 16)
        assert tags.blob("examples")["cells"][0]["of"] == 16


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("verdict.json", '{"schema_version": 2}'),
        ("verdict.json", "[1]"),
        ("verdict.json", '{"headline": "x"'),
        ("facts.json", "3"),
        ("facts.json", "{}"),
        ("rows.parquet", "no table"),
        ("rows.parquet", None),
        ("maps.parquet", None),
        ("documents.parquet", None),
        ("verdict.json", None),
    ],
)
def test_a_broken_folder_is_refused_by_name(folder: Path, name: str, content: str | None) -> None:
    (folder / name).unlink() if content is None else (folder / name).write_text(content)
    with pytest.raises(HeedfulError, match="is no whole audit"):
        audit_of_folder(folder)


def test_a_folder_of_other_tables_is_refused(folder: Path) -> None:
    (folder / "rows.parquet").write_bytes((folder / "costs.parquet").read_bytes())
    with pytest.raises(HeedfulError, match="is no whole audit"):
        audit_of_folder(folder)


def test_an_audit_named_twice_is_one(folder: Path, tmp_path: Path) -> None:
    case = gather_case(Store(tmp_path / "s"), [], [folder, folder])
    assert len(case.audits) == 1


def test_a_run_without_a_verdict_is_refused(parts: dict[str, Any], tmp_path: Path) -> None:
    empty = {"schema_version": 2}
    run = stored(Store(tmp_path), {**parts, "verdict": empty}, "empty", {})
    with pytest.raises(HeedfulError, match="is no whole audit"):
        audit_of_run(run)


def test_several_audits_stand_in_a_grid(parts: dict[str, Any], tmp_path: Path) -> None:
    """Data down, models across; the ones that are not shown are kept for the script."""
    store = Store(tmp_path / "store")
    given = [{"model": "one", "data": "d"}, {"model": "two", "data": "d"}]
    given.append({"model": "one", "data": "e<b>", "checkpoints": 3})
    runs = [stored(store, parts, str(i), facts) for i, facts in enumerate(given)]
    page = build_report(store, runs, tmp_path / "report").page.read_text(encoding="utf8")
    tags = parse(page)
    assert "3 audits" in tags.text and len(tags.blob("audits")) == 3
    assert page.count('class="pick"') == 3 and "b" not in tags.tags
    slots = {value for name, value in tags.attributes if name == "data-slot"}
    assert slots <= set(tags.blob("audits")[1]) and {"answer", "verdict", "methods"} < slots
    names = [path.name for path in (tmp_path / "report" / "tables").iterdir()]
    assert sorted(names) == ["audit_1.csv", "audit_2.csv", "audit_3.csv"]


def test_seeds_are_counted_with_the_first(parts: dict[str, Any]) -> None:
    audits = [evidence_of({**parts, "facts": {**parts["facts"], "checkpoints": n}}) for n in (1, 3)]
    text = parse(verdict_grid(audits)).text
    assert "16 texts, 3 seeds" in text and "1 seeds" not in text
