"""One text that several models read right, and what each of them makes of its tokens.

It is chosen by rule, against cherry-picking: the middle one by the first model's mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.report.display import visible
from heedful.report.evidence import Evidence
from heedful.store import Run

SHOWN = 24
"""Tokens of a text; of a longer one, the first so many."""
WIDEST = 16
MEASURE = "token_probability"


@dataclass(frozen=True)
class Reading:
    """A model's: the predicted class's probability by each token, and by the text."""

    label: str
    by_token: tuple[float, ...]
    final: float


@dataclass(frozen=True)
class Typical:
    tokens: tuple[str, ...]
    readings: tuple[Reading, ...]


def typical(evidence: Evidence, cells: pd.DataFrame) -> Typical | None:
    """Of the models on one corpus; None where there is no text that all of them read right."""
    first = cells.sort_values("seed", kind="stable").drop_duplicates("label").sort_index()
    runs = {
        str(cell["label"]): evidence.store.open(str(cell["run"])) for _, cell in first.iterrows()
    }
    rows = {label: _rows(run) for label, run in runs.items() if run.has("maps.parquet")}
    example = _middle(list(rows.values()))
    if example is None:
        return None
    readings = tuple(_reading(label, runs[label], of, example) for label, of in rows.items())
    count = len(readings[0].by_token)
    words = _words(evidence, str(first["corpus_run"].iloc[0]), example, count)
    return Typical(tuple(f"{n} {word}" for n, word in enumerate(words, 1)), readings)


def _rows(run: Run) -> pd.DataFrame:
    """One line for each text: of its rows, the first."""
    rows = run.table("rows")
    return rows[rows["measure"] == MEASURE].drop_duplicates("example").set_index("example")


def _middle(rows: list[pd.DataFrame]) -> str | None:
    """Short texts first; the means of equal ones are told apart by their names."""
    if not rows:
        return None
    means = pd.concat([each["value"] for each in rows], axis=1, join="inner").dropna()
    short = means[rows[0]["length"].reindex(means.index) <= SHOWN]
    some = (short if len(short) else means).sort_index().iloc[:, 0]
    ordered = some.sort_values(kind="stable")
    return str(ordered.index[(len(ordered) - 1) // 2]) if len(ordered) else None


def _reading(label: str, run: Run, rows: pd.DataFrame, example: str) -> Reading:
    maps = run.table("maps")
    own = maps[(maps["example"] == example) & (maps["map"] == MEASURE)]
    by_token = tuple(float(p) for p in own["scores"].iloc[0][:SHOWN])
    return Reading(label, by_token, float(rows["confidence"][example]))


def _words(evidence: Evidence, corpus_run: str, example: str, count: int) -> list[str]:
    """As they stand in the text; nothing where the corpus was not carried along."""
    if not corpus_run or not evidence.store.has(corpus_run):
        return [""] * count
    table = evidence.store.open(corpus_run).table("examples")
    line: dict[Any, Any] = table[table["example"] == example].iloc[0].to_dict()
    spans = list(zip(line["starts_a"], line["ends_a"], strict=True))[:count]
    words = [visible(str(line["text_a"])[start:end])[:WIDEST] for start, end in spans]
    return words + [""] * (count - len(words))
