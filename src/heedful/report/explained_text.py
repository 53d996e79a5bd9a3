"""One text explained: what a page and a notebook show of it.

An answer is shown token by token, and as matrices of the text's units and the answer's tokens:
attention beside attributions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.audit_texts import LONGEST_WORD, WordMap, marks_of, window, word_map
from heedful.report.cell_data import numbers
from heedful.report.formats import clipped, percent, plain, visible
from heedful.report.panels import CLASSES, Panel
from heedful.report.sheet import need
from heedful.units import WORD, by_unit, check_unit

Explained = Mapping[str, Any]
"""What `Explanation.to_dict` gives."""
MOST_MAPS = 24
ASKED = 40
"""The longest name of a class."""
ATTENTION = "attention"
MATRICES = 3
"""Explanations that stand beside each other as matrices."""
LONGEST_LABEL, LONGEST_UNIT = 24, 600
CELL = 18
"""Pixels of a cell of a matrix."""
MOST_TOKENS = 64
"""Of an answer, in a matrix."""
FOR, AGAINST = CLASSES[1], CLASSES[0]
LEGEND = (("heavy, or for the token", FOR, "square"), ("against it", AGAINST, "square"))


def answer_data(explained: Explained) -> dict[str, Any]:
    """What `answers.js` shows."""
    tables = list(explained["by_token"].items())[:MOST_MAPS]
    return {
        "unit": unit_of(explained),
        "words": [{"text": visible(clipped(word, LONGEST_UNIT))} for word in explained["words"]],
        "tokens": [visible(token) for token in explained["tokens"]],
        "maps": [
            {
                "key": name,
                "title": plain(name),
                "whole": numbers(explained["scores"][name]),
                "rows": [numbers(row) for row in rows],
            }
            for name, rows in tables
        ],
    }


def word_maps(explained: Explained) -> Sequence[WordMap]:
    words = explained["words"]
    scores = {name: np.array(each, dtype=float) for name, each in explained["scores"].items()}
    first = dict(list(scores.items())[:MOST_MAPS])
    if not first:
        return []
    stretch, marks = window(list(first.values())), marks_of(explained)
    return [word_map(name, words, each, marks, stretch) for name, each in first.items()]


def unit_of(explained: Explained) -> str:
    """Of an explanation of an earlier version: words."""
    return check_unit(explained.get("unit", WORD))


def token_maps(explained: Explained) -> Sequence[tuple[str, list[tuple[str, WordMap]]]]:
    """By explanation, the tokens of an answer and the words as they are shaded for each of them."""
    words, tokens = explained["words"], explained.get("tokens", ())
    found, marks = [], marks_of(explained)
    for name, table in list(explained.get("by_token", {}).items())[:MOST_MAPS]:
        scores = [np.array(each, dtype=float) for each in table]
        stretch = window(scores)
        maps = [word_map(name, words, each, marks, stretch) for each in scores]
        labels = [clipped(token, LONGEST_WORD) for token in tokens]
        found.append((maps[0].title, list(zip(labels, maps, strict=True))))
    return found


def cut_of(explained: Explained) -> str:
    count = len(explained["words"])
    scores = [np.array(each, dtype=float) for each in explained["scores"].values()]
    start, stop = window(scores) if scores else (0, count)
    cut = f"Words {start + 1}–{stop} of {count}." if stop - start < count else ""
    return by_unit(cut, unit_of(explained))


def said(explained: Explained) -> str:
    predicted, asked = (clipped(explained[name], ASKED) for name in ("predicted", "explained"))
    share = percent(explained["probability"])
    if "answer" in explained:
        answer = clipped(explained["answer"].strip(), ASKED)
        other = f". Explained: {asked}" if asked != answer else ""
        return f"Answer: {answer}{other} ({share})."
    about = " ".join(explained["words"][place] for place in explained.get("about", ()))
    of = f" for {clipped(about, ASKED)}" if about else ""
    if predicted == asked:
        return f"Predicted{of}: {predicted} ({share})."
    return f"Predicted{of}: {predicted}. Explained: {asked} ({share})."


# Matrices: the units of the text down, the tokens of the answer across.


def matrix_panels(explained: Explained) -> list[Panel]:
    """Attention first, then the first attributions; all of the same stretch of a long text. None
    of what has no score there."""
    tables = {name: np.array(rows, dtype=float)[:MOST_TOKENS] for name, rows in _chosen(explained)}
    if not tables:
        return []
    start, stop = window([np.abs(rows).sum(axis=0) for rows in tables.values()])
    units = _labels(explained["words"])[start:stop]
    tokens = _labels(explained["tokens"][:MOST_TOKENS])
    drawn = (
        (name, _cells(rows[:, start:stop], unit_of(explained), units, tokens))
        for name, rows in tables.items()
    )
    return [_matrix(name, cells) for name, cells in drawn if len(cells)]


def matrix_cut(explained: Explained) -> str:
    """What of a long answer the matrices leave out."""
    count = len(explained.get("tokens", ()))
    return f"The first {MOST_TOKENS} of the {count} tokens." if count > MOST_TOKENS else ""


def _chosen(explained: Explained) -> list[tuple[str, Any]]:
    tables = explained.get("by_token", {}).items() if explained.get("tokens") else ()
    first = sorted(tables, key=lambda pair: pair[0].partition(":")[0] != ATTENTION)
    return first[:MATRICES]


def _labels(texts: Sequence[str]) -> list[str]:
    """Each another one: a repeated word is numbered. Blanks and line breaks can be seen."""
    names = [clipped(text, LONGEST_LABEL) or ("↵" if "\n" in text else "␣") for text in texts]
    again, found = Counter[str](), dict[str, None]()
    for name in names:
        label = name
        while label in found:
            again[name] += 1
            label = f"{name} ({again[name] + 1})"
        found[label] = None
    return list(found)


def _cells(
    scores: np.ndarray, unit: str, units: Sequence[str], tokens: Sequence[str]
) -> pd.DataFrame:
    """A line for each unit that was read and each token. As words are shaded: by the root of the
    share of the largest score."""
    most = float(np.nanmax(np.abs(scores), initial=0.0)) or 1.0
    lines = [
        {
            unit: name,
            "answer": tokens[token],
            "score": float(scores[token, place]),
            "colour": FOR if scores[token, place] >= 0 else AGAINST,
            "shade": float(np.sqrt(abs(scores[token, place]) / most)),
        }
        for place, name in enumerate(units)
        for token in range(len(tokens))
        if np.isfinite(scores[token, place])
    ]
    return pd.DataFrame(lines)


def _matrix(name: str, cells: pd.DataFrame) -> Panel:
    alt = need("altair")
    unit = cells.columns[0]
    across = alt.X("answer:N", title=None, sort=None, axis=_axis(orient="top", labelAngle=-90))
    down = alt.Y(f"{unit}:N", title=None, sort=None, axis=_axis())
    chart = (
        alt.Chart(cells, width={"step": CELL}, height={"step": CELL})
        .mark_rect(stroke=None)
        .encode(
            x=across,
            y=down,
            color=alt.Color("colour:N", scale=None),
            opacity=alt.Opacity("shade:Q", scale=None),
        )
    )
    return Panel(plain(name), chart, _told(name, cells))


def _axis(**more: Any) -> Any:
    return need("altair").Axis(labelLimit=170, labelPadding=4, domain=False, ticks=False, **more)


def _told(name: str, cells: pd.DataFrame) -> str:
    """What each token rests on most, for somebody who cannot see it."""
    unit = cells.columns[0]
    best = cells.loc[cells.groupby("answer", sort=False)["shade"].idxmax()]
    pairs = "; ".join(_pairs(zip(best["answer"], best[unit], best["score"], strict=True)))
    return f"{plain(name)}, {unit}s by tokens of the answer. The largest of each token: {pairs}."


def _pairs(largest: Any) -> Iterator[str]:
    for token, unit, score in largest:
        yield f"{token}: {unit} {score:.3f}"
