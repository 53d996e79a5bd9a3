"""A finished audit as a run in the store: found again, it is judged and not measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch

from heedful.auditing.result import TABLES, Audit
from heedful.store import Run, Store, run_key

KIND = "audit"


def find_audit(store: Store | None, identity: Mapping[str, Any]) -> Run | None:
    """The run of an audit that was finished; a damaged one is an error that says so."""
    key = run_key(KIND, identity)
    return store.open(key) if store is not None and store.has(key) else None


def store_audit(store: Store, identity: Mapping[str, Any], audit: Audit) -> None:
    """Whole or not at all; the parts it was made of are then no longer needed."""
    with store.writing(KIND, identity) as writer:
        for name in TABLES:
            writer.table(name, getattr(audit, name))
        writer.json("verdict", json.loads(audit.verdict.to_json()))
        writer.json("facts", dict(audit.facts))
        writer.made_with["torch"] = torch.__version__.split("+")[0]
        writer.made_with["device"] = str(audit.facts.get("device", ""))
