"""What names an audit, and tells whose numbers may be compared."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from heedful.auditing.named import named
from heedful.auditing.operators import distinct_operators
from heedful.auditing.spec import AuditSpec
from heedful.removal import REMOVALS
from heedful.store import run_key
from heedful.subjects import Subject

VERSION = 11
"""Goes up whenever the same model, texts and spec would give other rows."""


def identity(subject: Subject, spec: AuditSpec) -> dict[str, Any]:
    """What names an audit: the same facts give the same rows. Nothing has to be measured."""
    spec = replace(spec, operators=distinct_operators(subject.model, spec.operators))
    pieces = {name: named(name).piece for name in spec.explanations}
    versions = {name: piece.version for name, piece in pieces.items()}
    origins = {name: piece.origin for name, piece in pieces.items() if piece.origin}
    ways = {name: REMOVALS[name].version for name in spec.operators}
    own = {"version": VERSION, "spec": asdict(spec), "pieces": versions, "operators": ways}
    strangers = {"origins": origins} if origins else {}
    return {**own, **strangers, **dict(subject.key)}


def spec_digest(spec: AuditSpec) -> str:
    """The same for audits whose numbers may be compared."""
    return run_key("spec", asdict(spec)).removeprefix("spec-")
