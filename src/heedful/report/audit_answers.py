"""The answers of an audit token by token, of the texts that its page shows with maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_texts import chosen_texts
from heedful.report.cells import listed
from heedful.report.explained_text import answer_data
from heedful.report.sheet import Holder


def put_answers(sheet: Holder, audits: Sequence[AuditEvidence]) -> None:
    """Of each audit of a page, under the name that its chapter has."""
    for number, evidence in enumerate(audits):
        answers = answers_of(evidence)
        if answers:
            sheet.put(f"answers-audit{number}", list(answers.values()))


def answers_of(evidence: AuditEvidence) -> dict[str, dict[str, Any]]:
    """What `answers.js` shows, by text, of those that have some."""
    if evidence.tokens.empty:
        return {}
    documents = evidence.documents.set_index("example")["words"]
    whole = evidence.maps.set_index(["example", "explanation"])["scores"]
    parts = dict(list(evidence.tokens.sort_values("token").groupby("example")))
    return {
        name: _answer(parts[name], evidence.unit, listed(documents[name]), whole[name])
        for name in chosen_texts(evidence)
        if name in parts
    }


def _answer(
    part: pd.DataFrame, unit: str, words: Sequence[str], whole: Mapping[str, Any]
) -> dict[str, Any]:
    tables = {
        str(name): [np.asarray(row, dtype=float) for row in rows]
        for name, rows in part.groupby("explanation", sort=False)["scores"]
    }
    first = part[part["explanation"] == part["explanation"].iloc[0]]
    explained = {
        "unit": unit,
        "words": words,
        "tokens": first["text"].tolist(),
        "scores": {name: whole[name] for name in tables},
        "by_token": tables,
    }
    return {**answer_data(explained), "of": int(part["of"].iloc[0])}
