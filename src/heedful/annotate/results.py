"""What a study says so far: progress, agreement, and the tables of Figure 5."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from heedful.annotate.agreement import Agreement, agreement
from heedful.annotate.database import RELEVANCE
from heedful.annotate.study import Study
from heedful.report import figure5, is_published, published_figure5, unsure

Answers = Mapping[str, Mapping[int, Any]]


def results(study: Study) -> dict[str, Any]:
    """Plain values, None where a number is not defined."""
    answers = study.everybody()
    seed = int(study.facts["seed"])
    agreed = agreement(study, answers, seed)
    names = [each.name for each in study.annotators()]
    found: dict[str, Any] = {
        "task": study.task,
        "study": dict(study.facts),
        "items": len(study.items),
        "progress": [{"annotator": n, "answered": len(answers.get(n, {}))} for n in names],
        "agreement": _agreement(agreed),
    }
    if study.task == RELEVANCE:
        rows = judgements(study, answers)
        corpus = str(study.facts["source"]).partition(",")[0]
        found["figure5"] = figure5(rows).to_dict("records")
        found["unsure"] = unsure(rows)
        found["published"] = published_figure5(corpus)
        found["same_corpus"] = is_published(corpus)
    else:
        found["marked"] = _marked(study, answers)
    plain: dict[str, Any] = _defined(found)
    return plain


def judgements(study: Study, answers: Answers) -> pd.DataFrame:
    """One row per answer to an item of the task `relevance`."""
    rows = [
        (number, item.example, item.shown, item.correct, name, value)
        for name, said in answers.items()
        for number, value in said.items()
        for item in [study.items[number]]
    ]
    columns = ["item", "example", "shown", "correct", "annotator", "value"]
    return pd.DataFrame(rows, columns=columns)


def _agreement(agreed: Agreement) -> dict[str, Any]:
    return {
        "pairs": [asdict(pair) for pair in agreed.pairs],
        "mean_kappa": agreed.mean_kappa,
        "alpha": agreed.alpha,
        "low": agreed.interval.low,
        "high": agreed.interval.high,
    }


def _marked(study: Study, answers: Answers) -> list[dict[str, Any]]:
    """The share of words that each annotator marks."""
    return [
        {
            "annotator": name,
            "words": sum(len(words) for words in said.values()),
            "of": sum(study.items[number].length for number in said),
        }
        for name, said in answers.items()
    ]


def _defined(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _defined(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_defined(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
