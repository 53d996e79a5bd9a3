"""Words coloured by attention beside an adversary's (as jain2019's Figure 1).

Texts of corpora are hostile: they leave here as plain strings, the template escapes them,
and control and direction characters are shown as what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.display import number, visible
from heedful.report.evidence import Evidence
from heedful.report.heatmap_choice import Choice, choose
from heedful.studies import dataset_name

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
