"""Every machine-readable output has a schema, and keeps it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
from tools.public_api import commands
from tools.schemas import PAGE, page

import heedful
from heedful.apps.annotation import database, exchange
from heedful.auditing import COLUMNS, REPAIR_COLUMNS, AuditSpec
from heedful.cli import gridfile, main, output
from heedful.preregistration import registration
from heedful.report import COLUMNS as CELLS
from heedful.report import formats
from heedful.schemas import schema, schema_names
from heedful.specs import ModelSpec, PrepareSpec, TermSpec, TrainSpec
from heedful.store import SCHEMA_VERSION, Store, outputs
from heedful.verdict import Part, Ranked, Settings, Statement, Stratum, verdict
from kept_schemas import check, check_table, check_verb
from verbs import TINY

ONLY = ("interventions", "erasure", "plausibility")
WORDS = ("table", "dataset", "class", "model", "metric", "interval", "note")


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_one_and_explains_every_field(name: str) -> None:
    found = schema(name)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$id"] == f"heedful:{name}" and found["title"] and found["description"]
    silent = [path for path, each in _properties(found, name) if not _speaks(each)]
    assert silent == []


def test_the_page_is_what_the_schemas_say() -> None:
    again = "run `python -m tools.schemas`"
    assert PAGE.read_text(encoding="utf8") == page(), again


def test_every_verb_that_prints_json_has_a_schema() -> None:
    verbs = [line.split()[1:-1] for line in commands().splitlines() if line.endswith(" --json")]
    wanted = {f"cli-{'-'.join(verb)}" for verb in verbs}
    assert wanted == {name for name in schema_names() if name.startswith("cli-")}


VERSIONS: dict[str, int] = {
    "verdict": verdict.SCHEMA_VERSION,
    "run": SCHEMA_VERSION,
    "audit-facts": import_module("heedful.verdict.files").FACTS_VERSION,
    "annotate-results": import_module("heedful.apps.annotation.results").VERSION,
    "annotate-line": exchange.LINE_VERSION,
    "grid": gridfile.SCHEMA_VERSION,
    "report-table": formats.SCHEMA_VERSION,
    "registration": registration.SCHEMA_VERSION,
    "replication": registration.RECORD_VERSION,
    "manifest": outputs.SCHEMA_VERSION,
    "cli-explain": output.SCHEMA_VERSION,
}


def test_schemas_name_the_versions_that_are_written() -> None:
    for name, version in VERSIONS.items():
        assert schema(name)["properties"]["schema_version"]["const"] == version
    task = schema("annotate-label-studio")["items"]["properties"]["data"]
    assert task["properties"]["schema_version"]["const"] == exchange.TASK_VERSION
    assert schema("audit-rows")["heedful_schema_version"] == SCHEMA_VERSION
    assert database.VERSION == 1, "say in docs/stability.md which studies are read"


def _statement() -> dict[str, Any]:
    found: dict[str, Any] = schema("verdict")["properties"]["statements"]["items"]
    return found


WRITTEN: dict[str, tuple[Callable[[], dict[str, Any]], type]] = {
    "prepare": (lambda: schema("specs")["$defs"]["prepare"], PrepareSpec),
    "model": (lambda: schema("specs")["$defs"]["model"], ModelSpec),
    "train": (lambda: schema("specs")["$defs"]["train"], TrainSpec),
    "term": (lambda: schema("specs")["$defs"]["term"], TermSpec),
    "audit": (lambda: schema("specs")["$defs"]["audit"], AuditSpec),
    "settings": (lambda: schema("verdict")["properties"]["settings"], Settings),
    "statement": (_statement, Statement),
    "part": (lambda: _statement()["properties"]["parts"]["items"], Part),
    "stratum": (lambda: schema("verdict")["$defs"]["stratum"], Stratum),
    "ranked": (
        lambda: schema("verdict")["properties"]["recommendation"]["properties"]["ranked"]["items"],
        Ranked,
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_dataclasses_and_schemas_have_the_same_fields(name: str) -> None:
    made, kind = WRITTEN[name]
    assert set(made()["properties"]) == {each.name for each in fields(kind)}
    assert set(made()["required"]) == set(made()["properties"])


def test_tables_have_the_columns_that_schemas_name() -> None:
    assert tuple(schema("audit-rows")["properties"]) == COLUMNS
    assert list(schema("repair-table")["properties"]) == REPAIR_COLUMNS
    assert set(gridfile.SETTINGS) | {"studies"} == set(schema("grid")["properties"])
    entry = schema("grid")["properties"]["studies"]["items"]
    assert set(gridfile.ENTRY) == set(entry["properties"])


def test_a_field_that_no_schema_names_is_found() -> None:
    """The checker itself can fail."""
    good = {"schema_version": 1, "verb": "store gc", "removed": ["a"]}
    check_verb(good)
    for bad in ({**good, "more": 1}, {**good, "removed": [1]}, {**good, "schema_version": 2}):
        with pytest.raises(jsonschema.ValidationError):
            check_verb(bad)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """A verb with --json; what it prints is held to its schema, here and in every test."""
    code = main([*(str(each) for each in arguments), "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    found: dict[str, Any] = json.loads(printed.out)
    check_verb(found)
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A study's runs; what the verb printed was held to its schema (tests/conftest.py)."""
    place = tmp_path_factory.mktemp("store")
    grid = ["--corpora", "planted", *TINY, "--encoders", "average", "--epochs", "1"]
    asked = [*grid, "--probes", "score,token_logits", "--store", str(place), "--json"]
    assert main(["study", "jain2019", *asked]) == 0
    return Store(place)


@pytest.fixture(scope="module")
def audit(store: Store) -> heedful.Audit:
    least = heedful.AuditSpec(("attention", "occlusion"), ("occlusion",), ceiling=4, only=ONLY)
    (model,) = store.runs("model")
    return heedful.audit(model, None, least, plan=heedful.Plan(store), n=6, store=store)


def test_the_files_of_an_audit_keep_their_schemas(audit: heedful.Audit, tmp_path: Path) -> None:
    folder = audit.save(tmp_path / "audit")
    for name in ("verdict", "facts"):
        value = json.loads((folder / f"{name}.json").read_text(encoding="utf8"))
        check(name if name == "verdict" else "audit-facts", value)
    for path in folder.glob("*.parquet"):
        check_table(f"audit-{path.stem}", path)
    assert len(list(folder.glob("*.parquet"))) == 7


def test_what_a_sweep_reads_and_a_report_writes() -> None:
    yaml = pytest.importorskip("yaml")
    entry = "{study: jain2019, corpora: planted, encoders: [average], seeds: 2, params: {noise: 0}}"
    check("grid", yaml.safe_load(f"schema_version: 1\nstore: here\nstudies: [{entry}]"))
    row = dict.fromkeys(CELLS, math.nan) | dict.fromkeys(WORDS, "x") | {"seeds": 1}
    text = formats.to_json(pd.DataFrame([row], columns=CELLS), "jain2019, Table 1")
    check("report-table", json.loads(text))


def test_every_file_of_a_store_keeps_its_schema(store: Store, audit: heedful.Audit) -> None:
    kinds = set()
    for each in store.runs():
        check("run", each.record.as_json())
        kinds.add(each.kind)
        for name in each.record.files:
            if name.endswith(".parquet"):
                check_table(f"{each.kind}-{name.removesuffix('.parquet')}", each.path / name)
    assert kinds == {"corpus", "model", "probe", "study", "audit"}
    assert audit.facts["key"] in store.keys("audit")


def test_looking_after_a_store_keeps_its_schemas(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = ["--store", store.root]
    run(capsys, "store", "ls", *here)
    run(capsys, "store", "verify", *here)
    run(capsys, "store", "pack", "-o", tmp_path / "parts", *here)
    parts = sorted((tmp_path / "parts").iterdir())
    run(capsys, "store", "unpack", *parts, "--store", tmp_path / "other")
    run(capsys, "store", "gc", *here)
    run(capsys, "schema")


@pytest.mark.parametrize("task", ["relevance", "rationale"])
def test_annotations_keep_their_schemas(
    task: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (model,) = store.keys("model")
    study, lines, tasks = (tmp_path / f"study.{ending}" for ending in ("db", "jsonl", "json"))
    run(
        capsys,
        "annotate",
        "new",
        model,
        "--n",
        2,
        "--task",
        task,
        "--store",
        store.root,
        "-o",
        study,
    )
    run(capsys, "annotate", "invite", study)
    assert main(["annotate", "export", str(study), str(lines)]) == 0
    answered = [_answered(json.loads(line), task) for line in lines.read_text().splitlines()]
    lines.write_text("".join(json.dumps(each) + "\n" for each in answered))
    assert main(["annotate", "import", str(study), str(lines)]) == 0
    assert main(["annotate", "export", str(study), str(lines)]) == 0
    for line in lines.read_text().splitlines():
        check("annotate-line", json.loads(line))
    assert main(["annotate", "export", str(study), str(tasks), "--format", "label-studio"]) == 0
    check("annotate-label-studio", json.loads(tasks.read_text(encoding="utf8")))
    capsys.readouterr()
    run(capsys, "annotate", "results", study, "-o", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf8"))
    check("annotate-results", found)


def test_the_verb_prints_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "verdict"]) == 0
    assert json.loads(capsys.readouterr().out) == schema("verdict")
    assert main(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == schema_names()
    assert main(["schema", "verdit"]) == 2
    assert "unknown schema 'verdit'" in capsys.readouterr().err


def _answered(line: dict[str, Any], task: str) -> dict[str, Any]:
    said: Any = "yes" if task == "relevance" else [0]
    return {**line, "answers": {"one": said, "other": said}}


def _properties(part: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(part, list):
        for each in part:
            yield from _properties(each, path)
    elif isinstance(part, dict):
        if part.get("type") == "object":
            for name, each in part.get("properties", {}).items():
                yield f"{path}.{name}", each
        for name, each in part.items():
            yield from _properties(each, f"{path}.{name}")


def _speaks(each: dict[str, Any]) -> bool:
    return bool(each.get("description")) or "$ref" in each
