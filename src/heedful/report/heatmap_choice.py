"""Which texts to show: the most striking and, against cherry-picking, random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.evidence import Evidence

STRIKING, RANDOM, SEED = 6, 3, 0
DISTANCES = ("jsd_exact", "jsd_search", "jsd_entropy_matched")
PLACE = ["site", "head", "query"]
FAVOURITE = "bilstm-additive"


@dataclass(frozen=True)
class Choice:
    """One text of one cell: its measures, its maps and, where at hand, the text itself."""

    corpus: str
    model: str
    why: str
    predicted: int
    values: tuple[tuple[str, float], ...]
    maps: pd.DataFrame
    text: dict[str, Any] | None


def choose(evidence: Evidence) -> list[Choice]:
    """About nine texts over all corpora, from one model per corpus."""
    cells = list(_cells(evidence))
    share = max(1, len(cells))
    counts = max(1, round(STRIKING / share)), max(1, round(RANDOM / share))
    return [choice for cell in cells for choice in _of_cell(evidence, cell, *counts)]


def _cells(evidence: Evidence) -> Iterator[dict[Any, Any]]:
    """The adversarial cell to show per corpus: the debate's usual model, first seed."""
    table = evidence.cells[evidence.cells["probe"] == "adversarial"]
    has_maps = [evidence.store.open(str(key)).has("maps.parquet") for key in table["run"]]
    table = table[pd.Series(has_maps, index=table.index, dtype=bool)]
    for _, part in table.groupby("corpus", sort=False):
        ordered = part.assign(other=part["model"] != FAVOURITE).sort_values(
            ["other", "model", "seed"], kind="stable"
        )
        yield ordered.iloc[0].to_dict()


def _of_cell(
    evidence: Evidence, cell: dict[Any, Any], striking: int, random: int
) -> Iterator[Choice]:
    run = evidence.store.open(str(cell["run"]))
    rows, maps = of_first(run.table("rows"), run.table("maps"))
    wide = rows.pivot_table(index="example", columns="measure", values="value", sort=True)
    measure = next((name for name in DISTANCES if name in wide), None)
    if measure is None:
        return
    ranked = wide[measure].dropna().sort_values(ascending=False, kind="stable")
    top = list(ranked.index[:striking])
    rest = sorted(set(ranked.index) - set(top))
    drawn = np.random.default_rng(SEED).permutation(len(rest))[:random]
    picked = [(name, "largest distance") for name in top]
    picked += [(rest[place], "drawn at random") for place in drawn]
    texts = _texts(evidence, str(cell["corpus_run"]), [name for name, _ in picked])
    predicted = rows.groupby("example")["predicted"].first()
    for name, why in picked:
        yield Choice(
            corpus=str(cell["corpus"]),
            model=str(cell["label"]),
            why=why,
            predicted=int(predicted[name]),
            values=tuple((str(key), float(value)) for key, value in wide.loc[name].items()),
            maps=maps[maps["example"] == name],
            text=texts.get(name),
        )


def of_first(rows: pd.DataFrame, maps: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of several heads or queries the first one's weights are shown, and its numbers beside."""
    if maps.empty:
        return rows.iloc[:0], maps
    first = maps[PLACE].iloc[0]
    rows, maps = (each[(each[PLACE] == first).all(axis=1)] for each in (rows, maps))
    return rows[rows["example"].isin(maps["example"])], maps


def _texts(evidence: Evidence, corpus_run: str, names: list[str]) -> dict[str, dict[str, Any]]:
    if not corpus_run or not evidence.store.has(corpus_run):
        return {}
    table = evidence.store.open(corpus_run).table("examples")
    kept = table[table["example"].isin(names)]
    return {str(line["example"]): dict(line) for line in kept.to_dict("records")}  # type: ignore[arg-type]
