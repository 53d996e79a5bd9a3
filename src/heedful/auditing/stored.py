"""A finished audit as a run in the store: found again, it is judged and not measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from heedful.auditing.result import Audit
from heedful.auditing.tables import TABLES, TYPES
from heedful.store import Frames, Run, Store, run_key
from heedful.verdict import check_schema

KIND = "audit"


def find_audit(store: Store | None, identity: Mapping[str, Any]) -> Run | None:
    """The run of an audit that was finished; a damaged one is an error that says so."""
    key = run_key(KIND, identity)
    return store.open(key) if store is not None and store.has(key) else None


def store_audit(store: Store, identity: Mapping[str, Any], audit: Audit) -> Audit:
    """Whole or not at all; the parts it was made of are then no longer needed, and the tables
    are the run's."""
    with store.writing(KIND, identity) as writer:
        for name, frames in audit.tables.items():
            writer.frames(name, frames, TYPES.get(name))
        writer.json("verdict", json.loads(audit.verdict.to_json()))
        writer.json("facts", dict(audit.facts))
        writer.made_with["torch"] = torch.__version__.split("+")[0]
        writer.made_with["device"] = str(audit.facts.get("device", ""))
    return replace(audit, tables=stored_tables(store.open(run_key(KIND, identity))))


def looks_of(run: Run) -> int:
    """How often the evidence was looked at until it was decided."""
    return int(stored_verdict(run)["settings"]["looks"])


def stored_verdict(run: Run) -> dict[str, Any]:
    """As plain values."""
    verdict: dict[str, Any] = run.json("verdict")
    check_schema(verdict, f"the verdict of {run.key}", "audit anew with another --store")
    return verdict


def stored_tables(run: Run) -> dict[str, Frames]:
    return {name: run.frames(name) for name in TABLES}
