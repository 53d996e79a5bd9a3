"""Results in words for a terminal, and as tables in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.annotate.database import RELEVANCE
from heedful.annotate.results import judgements
from heedful.annotate.study import Study
from heedful.report.figure5 import SHOWN
from heedful.store import output_folder, refusals, to_csv

RESULTS = "annotation results"
"""The kind of folder."""
VERSION = 1
"""Of `results.json`."""
MANY = 10  # pairs of annotators that are still listed one by one


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What a reader wants first: the tables, then how far annotators agree."""
    for each in found["progress"]:
        yield f"{each['annotator']}: {each['answered']} of {found['items']} answered"
    if found["task"] == RELEVANCE:
        for shown in SHOWN:
            yield from ("", *_figure(found, shown))
    else:
        for each in found["marked"]:
            yield f"{each['annotator']}: marked {each['words']} of {each['of']} words"
    yield ""
    yield from _agreement(found["agreement"])


def write_tables(study: Study, found: Mapping[str, Any], folder: Path) -> None:
    """`results.json`, `agreement.csv`, and of the task `relevance` `figure5.csv` and
    `judgements.csv`."""
    refused = refusals(f"write {folder}", "make room or give another folder")
    with refused, output_folder(folder, RESULTS) as building:
        for name, text in _texts(study, found).items():
            (building / name).write_text(text, encoding="utf8", newline="\n")


def _texts(study: Study, found: Mapping[str, Any]) -> dict[str, str]:
    text = json.dumps({"schema_version": VERSION, **found}, indent=2, ensure_ascii=False)
    columns = ["one", "other", "items", "kappa"]
    pairs = pd.DataFrame(found["agreement"]["pairs"], columns=columns)
    texts = {"results.json": text, "agreement.csv": to_csv(pairs)}
    if study.task == RELEVANCE:
        cells = pd.DataFrame(found["figure5"])
        for dataset, numbers in found["published"].items():
            keys = cells["shown"] + ":" + cells["cell"]
            cells[f"published {dataset}"] = [numbers.get(key) for key in keys]
        rows = judgements(study, study.everybody())
        texts |= {"figure5.csv": to_csv(cells), "judgements.csv": to_csv(rows)}
    return texts


def _figure(found: Mapping[str, Any], shown: str) -> Iterator[str]:
    cells = [cell for cell in found["figure5"] if cell["shown"] == shown]
    count = sum(cell["answers"] for cell in cells)
    yield f"{shown} weights: {count} answers, {found['unsure'][shown]} unsure"
    for cell in cells:
        key = f"{shown}:{cell['cell']}"
        printed = found["published"].items()
        beside = ", ".join(f"{name} {numbers[key]:g}" for name, numbers in printed)
        yield f"  {cell['cell']:<24} {_percent(cell):<28} published: {beside}"


def _percent(cell: Mapping[str, Any]) -> str:
    if cell["percent"] is None:
        return "no answer yet"
    return f"{cell['percent']:.1f} %{_interval(cell, 1)}"


def _interval(of: Mapping[str, Any], digits: int) -> str:
    if of["low"] is None:
        return ""
    return f"  [{of['low']:.{digits}f}, {of['high']:.{digits}f}]"


def _agreement(of: Mapping[str, Any]) -> Iterator[str]:
    if of["alpha"] is None:
        yield "Krippendorff's α: not defined yet (two annotators must answer the same items)"
    else:
        yield f"Krippendorff's α {of['alpha']:.3f}{_interval(of, 3)}"
    if of["mean_kappa"] is not None:
        yield f"Cohen's κ {of['mean_kappa']:.3f}, mean of {len(of['pairs'])} pairs"
    for pair in of["pairs"][:MANY]:
        kappa = "not defined" if pair["kappa"] is None else f"{pair['kappa']:.3f}"
        yield f"  {pair['one']} and {pair['other']}: κ {kappa} over {pair['items']} items"
