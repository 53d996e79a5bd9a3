"""Audits that are incomplete or of another kind, baselines, comparisons and reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bad_input.entry import Bad, World, bad, of_file, spoilt
from bad_input.models import cut, filled, without

CHECK = ("check", "SHARED/bert", "SHARED/good.csv")
AGAIN = "run `heedful audit` again"


def verdict(**changes: Any) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        path = folder / "verdict.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return spoil


def compared(spoil: Callable[[Path], object], names: str = "audit", fix: str = AGAIN) -> Bad:
    return spoilt("audit", spoil, "compare", "audit", names=names, fix=fix)


def reported(spoil: Callable[[Path], object], names: str = "audit", fix: str = AGAIN) -> Bad:
    return spoilt("audit", spoil, "report", "audit", "-o", "out", names=names, fix=fix)


def baseline(content: str, names: str, fix: str) -> Bad:
    return of_file("v.json", content, *CHECK, "--baseline", "v.json", names=names, fix=fix)


def two_of_a_name(world: World) -> None:
    world.copy("audit").rename(world.here / "one")
    (world.here / "one").rename(world.here / "audit")


BAD: dict[str, Bad] = {
    "nothing to compare": bad("compare", names="AUDITS", fix="--help"),
    "a folder that is no audit": bad("compare", "SHARED/full", names="full", fix="heedful audit"),
    "a folder that is not there": bad("compare", "none", names="none", fix="heedful audit"),
    "a file to compare": bad("compare", "SHARED/good.csv", names="good.csv", fix="heedful audit"),
    "two of one name": Bad(
        ("compare", "audit", "SHARED/audit"), "audit", "rename one", two_of_a_name
    ),
    "the same twice": bad(
        "compare", "SHARED/audit", "SHARED/audit", names="audit", fix="rename one"
    ),
    "an operator that was not used": bad(
        "compare",
        "SHARED/audit",
        "--measure",
        "tvd",
        "--operator",
        "burn",
        names="burn",
        fix="choose one of",
    ),
    "no verdict": compared(without("verdict.json"), fix="heedful audit"),
    "no facts": compared(without("facts.json")),
    "no rows": compared(without("rows.parquet")),
    "rows that were cut": compared(cut("rows.parquet")),
    "facts that are no JSON": compared(filled("facts.json", b"{nope")),
    "facts that are a list": compared(filled("facts.json", b"[]")),
    "a verdict that is no JSON": compared(
        filled("verdict.json", b"{nope"), fix="give a verdict.json of an audit"
    ),
    "a verdict of other bytes": compared(filled("verdict.json", b"\xff\xfe")),
    "a verdict that is a list": compared(filled("verdict.json", b"[]"), fix="again"),
    "a verdict of a newer version": compared(verdict(schema_version=99), "99", "update Heedful"),
    "a verdict of no version": compared(
        verdict(schema_version=None), "audit/verdict.json", "again"
    ),
    "a verdict with another decision": compared(verdict(decision="PERHAPS"), fix="again"),
    "a verdict without statements": compared(verdict(statements=7), fix="again"),
    "a verdict of texts for statements": compared(verdict(statements=["a"]), fix="again"),
    "another table for rows": compared(filled("rows.parquet", b"PAR1")),
    "a report of nothing": bad("report", names="RUNS", fix="--help"),
    "a report of no run": bad(
        "report", "study-0000", "--store", "SHARED/store", names="study-0000", fix="store ls"
    ),
    "a report of a corpus": bad(
        "report", "CORPUS_KEY", "--store", "SHARED/store", names="corpus", fix="a report is made of"
    ),
    "a report of a corpus and a study": bad(
        "report",
        "STUDY_KEY",
        "CORPUS_KEY",
        "--store",
        "SHARED/store",
        names="corpus",
        fix="a report is made of",
    ),
    "a report of no store": bad("report", "study-0000", names="study-0000", fix="--store"),
    "a report of a folder that is no audit": bad(
        "report", "SHARED/full", "-o", "out", names="full", fix="heedful audit"
    ),
    "a report of half an audit": reported(without("rows.parquet")),
    "a report of a damaged audit": reported(cut("documents.parquet")),
    "a report of a newer audit": reported(verdict(schema_version=99), "99", "update Heedful"),
    "a report of a name with markup": bad(
        "report",
        "<script>alert(1)</script>",
        "--store",
        "SHARED/store",
        names="<script>",
        fix="heedful audit",
    ),
    "a report of an empty name": bad(
        "report", "", "--store", "SHARED/store", names="''", fix="give more of the key"
    ),
    "a report of a way out": bad(
        "report", "../..", "--store", "SHARED/store", names="../..", fix="heedful audit"
    ),
    "no baseline": bad(
        *CHECK, "--baseline", "none.json", names="none.json", fix="--write-baseline"
    ),
    "a baseline that is a folder": bad(
        *CHECK, "--baseline", "SHARED/audit", names="audit", fix="verdict.json"
    ),
    "a baseline that is a table": bad(
        *CHECK, "--baseline", "SHARED/good.csv", names="good.csv", fix="give a verdict.json"
    ),
    "an empty baseline": baseline("", "v.json", "give a verdict.json"),
    "a baseline of nothing": baseline("{}", "v.json", "again"),
    "a baseline too deep": baseline("[" * 100_000, "v.json", "give a verdict.json"),
    "a baseline of another version": baseline('{"schema_version": 99}', "99", "update Heedful"),
    "a baseline that is damaged": baseline('{"schema_version": 1}', "v.json", "again"),
    "a baseline with other settings": bad(
        *CHECK, "--baseline", "SHARED/audit/verdict.json", names="verdict.json", fix="make it again"
    ),
    "a seed model and a budget": bad(
        "audit",
        "SHARED/bert",
        "SHARED/good.csv",
        "--seed-model",
        "SHARED/bert",
        "--budget",
        "1s",
        names="--seed-model",
        fix="give either",
    ),
    "an empty explanation": bad(
        "audit",
        "SHARED/bert",
        "SHARED/good.csv",
        "--also",
        "lime,,lrp",
        names="'lime,,lrp'",
        fix="one comma",
    ),
    "one operator": bad(
        "audit",
        "SHARED/bert",
        "SHARED/good.csv",
        "--perturbations",
        "delete",
        names="'delete'",
        fix="at least two",
    ),
    "an operator twice": bad(
        "audit",
        "SHARED/bert",
        "SHARED/good.csv",
        "--perturbations",
        "delete,delete",
        names="'delete,delete'",
        fix="each once",
    ),
    "exact for too many words": bad(
        "audit",
        "SHARED/bert",
        "SHARED/good.csv",
        "--exact-words",
        "17",
        names="--exact-words is 17",
        fix="0 to 16",
    ),
    "nothing to measure": bad(
        "audit", "SHARED/bert", "SHARED/good.csv", "--only", "", names="--only", fix="one comma"
    ),
}
