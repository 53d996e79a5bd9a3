"""Words coloured by attention beside an adversary's (as jain2019's Figure 1).

The most striking texts are shown and, against cherry-picking, random ones. Texts of corpora are
hostile: they leave here as plain strings, the template escapes them, and control and direction
characters are shown as what they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.formats import number, visible
from heedful.studies import dataset_name

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


SHOWN = 48
"""Tokens shown of one text; of a longer one, the stretch with the most weight."""

TITLES = {
    "attention": "the model’s attention",
    "adversary": "an adversary’s",
    "adversary_entropy_matched": "an adversary’s, as spread out",
}


@dataclass(frozen=True)
class Token:
    text: str
    weight: float

    @property
    def shade(self) -> str:
        """0–100; the root keeps small weights visible."""
        return f"{100 * math.sqrt(min(max(self.weight, 0.0), 1.0)):.0f}"


@dataclass(frozen=True)
class Map:
    title: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class HeatMap:
    heading: str
    why: str
    facts: str
    maps: tuple[Map, ...]
    cut: str


def heatmaps(evidence: Evidence) -> list[HeatMap]:
    """The texts with the largest adversarial distance, and a few drawn at random."""
    found = (_heatmap(evidence, choice) for choice in choose(evidence))
    return [one for one in found if one is not None]


def _heatmap(evidence: Evidence, choice: Choice) -> HeatMap | None:
    words = _words(evidence, choice)
    scores = {
        str(line["map"]): np.asarray(line["scores"], dtype=float)
        for line in choice.maps.to_dict("records")
    }
    kept = {name: scores[name] for name in TITLES if name in scores}
    if not words or "attention" not in kept or {len(s) for s in kept.values()} != {len(words)}:
        return None
    start, stop = _window(list(kept.values()))
    maps = tuple(
        Map(
            TITLES[name],
            tuple(Token(*pair) for pair in zip(words[start:stop], score[start:stop], strict=True)),
        )
        for name, score in kept.items()
    )
    cut = f"tokens {start + 1}–{stop} of {len(words)}" if stop - start < len(words) else ""
    heading = f"{dataset_name(choice.corpus)} · {choice.model}"
    return HeatMap(heading, choice.why, _facts(evidence, choice), maps, cut)


def _words(evidence: Evidence, choice: Choice) -> list[str]:
    """The text's own tokens, cut by character offsets; none if the corpus is not at hand."""
    line = choice.text
    if line is None or line.get("text_a") is None:
        return []
    text = str(line["text_a"])
    spans = zip(line["starts_a"], line["ends_a"], strict=True)
    return [visible(text[int(start) : int(end)]) for start, end in spans]


def _window(scores: list[Any]) -> tuple[int, int]:
    length = len(scores[0])
    if length <= SHOWN:
        return 0, length
    total = np.nan_to_num(np.sum(scores, axis=0))
    sums = np.convolve(total, np.ones(SHOWN), mode="valid")
    start = int(sums.argmax())
    return start, start + SHOWN


def _facts(evidence: Evidence, choice: Choice) -> str:
    names = evidence.label_names(choice.corpus)
    values: dict[str, float] = dict(choice.values)
    predicted = names.get(choice.predicted, f"class {choice.predicted}")
    parts = [f"predicted {visible(predicted)}"]
    for measure, words in (
        ("tvd_adversary", "Δŷ of the adversary"),
        ("tvd_entropy_matched", "Δŷ as spread out"),
        ("jsd_exact", "distance (exact)"),
        ("jsd_search", "distance (search)"),
        ("jsd_entropy_matched", "distance (as spread out)"),
    ):
        digits = 3 if measure.startswith("tvd") else 2
        if pd.notna(values.get(measure, math.nan)):
            parts.append(f"{words} {number(values[measure], digits)}")
    return " · ".join(parts)
