"""Audits that are incomplete or of another kind, baselines, comparisons and reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bad_input.entry import Bad, World, of_file, spoilt
from bad_input.models import cut, filled, without

CHECK = "check SHARED/bert SHARED/good.csv"
AGAIN = "run `heedful audit` again"


def verdict(**changes: Any) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        path = folder / "verdict.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return spoil


def compared(spoil: Callable[[Path], object], names: str = "audit", fix: str = AGAIN) -> Bad:
    return spoilt("audit", spoil, "compare audit", names=names, fix=fix)


def reported(spoil: Callable[[Path], object], names: str = "audit", fix: str = AGAIN) -> Bad:
    return spoilt("audit", spoil, "report audit -o out", names=names, fix=fix)


def baseline(content: str, names: str, fix: str) -> Bad:
    return of_file("v.json", content, f"{CHECK} --baseline v.json", names=names, fix=fix)


def two_of_a_name(world: World) -> None:
    world.copy("audit").rename(world.here / "one")
    (world.here / "one").rename(world.here / "audit")


BAD: dict[str, Bad] = {
    "two of one name": Bad("compare audit SHARED/audit", "audit", "rename one", two_of_a_name),
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
    "a report of half an audit": reported(without("rows.parquet")),
    "a report of a damaged audit": reported(cut("documents.parquet")),
    "a report of a newer audit": reported(verdict(schema_version=99), "99", "update Heedful"),
    "a baseline too deep": baseline("[" * 100_000, "v.json", "give a verdict.json"),
}
