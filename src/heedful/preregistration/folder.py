"""The folder of a replication: methods, tables, limitations, works, and what joins them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful import __version__
from heedful.preregistration.audit_text import AuditText
from heedful.preregistration.bibliography import in_order
from heedful.preregistration.citations import cited
from heedful.preregistration.latex import (
    document,
    escape,
    keys_of,
    listed,
    paragraph,
    said,
    section,
    table,
)
from heedful.preregistration.registration import Registered
from heedful.preregistration.study_text import StudyText
from heedful.store import output_folder, refusals

SCHEMA_VERSION = 1
RECORD = "replicate.json"
PARTS = ("methods", "tables", "limitations")
Text = AuditText | StudyText


def kind_of(registered: Registered) -> str:
    """A folder of the same registration is written again; nothing else makes way for it."""
    return f"replication of {registered.hash[:16]}"


def write(out: Path, registered: Registered, texts: Sequence[Text]) -> dict[str, Any]:
    """Whole or not at all; the same results give the same bytes. Returns the record."""
    files = _files(registered, texts)
    record = _record(registered, texts, files)
    refused = refusals(f"write {out}", "make room or give another folder")
    with refused, output_folder(out, kind_of(registered)) as folder:
        for name, content in {**files, RECORD: _json(record)}.items():
            (folder / name).write_bytes(content.encode("utf8"))
    return record


def _files(registered: Registered, texts: Sequence[Text]) -> dict[str, str]:
    limits = [*map(_limits, texts)]
    tables = [table(one) for each in texts for one in each.tables()]
    return {
        "methods.tex": _part("Methods", [_registration(registered), *map(_methods, texts)]),
        "tables.tex": "\n\n".join([r"% needs booktabs and graphicx", *tables]) + "\n",
        "limitations.tex": _part("Limitations", limits),
        "references.bib": _bibliography(texts),
        "main.tex": document(registered.title, PARTS),
    }


def _part(title: str, sections: Iterable[str]) -> str:
    return "\n\n".join([rf"\section*{{{title}}}", *sections]) + "\n"


def _methods(text: Text) -> str:
    return section(text.title, [paragraph(text.methods())])


def _limits(text: Text) -> str:
    return section(text.title, [paragraph(text.limitations() or [said("Nothing was left out.")])])


def _registration(registered: Registered) -> str:
    """The hash in pieces, so that a line can be broken."""
    pieces = [registered.hash[start : start + 16] for start in range(0, 64, 16)]
    digits = r"\allowbreak ".join(pieces)
    start = (
        "The registration of this study fixes models, data, thresholds, seeds, splits and versions "
        rf"of pieces; its SHA-256 is \texttt{{{digits}}}. {_known(registered)}"
    )
    items = [rf"\item {escape(each)}" for each in registered.hypotheses]
    hypotheses = ["Hypotheses, as registered:", r"\begin{enumerate}", *items, r"\end{enumerate}"]
    return "\n\n".join([start, "\n".join(hypotheses)] if items else [start])


def _known(registered: Registered) -> str:
    if not registered.already:
        return "When it was registered, none of its runs was in the store."
    runs = escape(listed(registered.already))
    return f"When it was registered, some of its runs were in the store already: {runs}."


def _bibliography(texts: Sequence[Text]) -> str:
    found = cited(use for text in texts for use in text.uses)
    named = keys_of(sentence for text in texts for sentence in text.methods())
    entries = [entry.bibtex for entry in in_order({*found.reasons, *named})]
    return (
        "\n\n".join([*entries, *(f"% no entry: {_comment(each)}" for each in found.unlisted)])
        + "\n"
    )


def _comment(text: str) -> str:
    return " ".join(text.split()).replace("@", "(at)")


def _record(
    registered: Registered, texts: Sequence[Text], files: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "hash": registered.hash,
        "title": registered.title,
        "hypotheses": list(registered.hypotheses),
        "registered_with": registered.registered_with,
        "written_with": __version__,
        "audits": [_audit(each) for each in texts if isinstance(each, AuditText)],
        "studies": [_study(each) for each in texts if isinstance(each, StudyText)],
        "files": {
            name: hashlib.sha256(content.encode("utf8")).hexdigest()
            for name, content in files.items()
        },
    }


def _audit(text: AuditText) -> dict[str, Any]:
    verdict = text.audited.verdict
    numbers = ("property", "decision", "estimate", "low", "high", "threshold", "n", "clusters")
    return {
        "name": text.name,
        "title": text.title,
        "run": text.facts["key"],
        "decision": verdict["decision"],
        "headline": verdict["headline"],
        "digest": verdict["digest"],
        "statements": [{name: each[name] for name in numbers} for each in text.statements],
        "skipped": dict(text.facts["skipped"]),
    }


def _study(text: StudyText) -> dict[str, Any]:
    return {
        "name": text.name,
        "study": text.paper,
        "run": text.run.key,
        "cells": len(text.evidence.cells),
        "skipped": text.run.fact("skipped", dict),
    }


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
