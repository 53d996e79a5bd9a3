"""A dozen texts with their maps: where attention and the explanation to show differ most, least
and typically, and where the model is wrong.

Words are hostile: they leave here as plain strings, and the template escapes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.cells import listed, padded
from heedful.report.formats import DASH, clipped, finite, plain, shown, weight

EACH = 3
"""Texts of each of the four kinds."""

LARGEST, SMALLEST, MEDIAN, WRONG = "differs most", "differs least", "typical", "wrong prediction"


@dataclass(frozen=True)
class Shown:
    """One text with its maps."""

    example: str
    why: str
    facts: tuple[str, ...]
    wrong: bool
    maps: tuple[WordMap, ...]
    cut: str
    context: str
    answer: str
    pairs: tuple[tuple[str, str, str], ...] = ()


def beside(evidence: AuditEvidence) -> str:
    """The explanation shown beside the one on trial: the recommended, or the next best."""
    there = {str(name) for name in evidence.maps["explanation"].unique()}
    ranked = evidence.verdict.recommendation.ranked
    wanted = [evidence.best, *(line.explanation for line in ranked)]
    wanted += [*evidence.settings.importance, *sorted(there - set(evidence.settings.floors))]
    return next((name for name in wanted if name in there and name != evidence.on_trial), "")


def texts(evidence: AuditEvidence) -> list[Shown]:
    """Chosen by rule, not by eye; the same audit gives the same texts."""
    other = beside(evidence)
    maps = {name: _maps(evidence, name) for name in (evidence.on_trial, other) if name}
    documents, taus = _documents(evidence), _taus(evidence)
    chosen = _chosen(evidence, taus)
    return [
        _shown(evidence, documents[name], why, taus[name], maps) for name, why in chosen.items()
    ]


def chosen_texts(evidence: AuditEvidence) -> tuple[str, ...]:
    """The names of these texts."""
    return tuple(_chosen(evidence, _taus(evidence)))


def _documents(evidence: AuditEvidence) -> dict[str, Any]:
    return {str(line["example"]): line for line in evidence.documents.to_dict("records")}


def _taus(evidence: AuditEvidence) -> dict[str, float]:
    """How far the two maps of each text agree, of all texts that have some."""
    first, second = (_maps(evidence, name) for name in (evidence.on_trial, beside(evidence)))
    documents = _documents(evidence)
    known = [name for name in sorted(documents) if name in first and _words(documents[name])]
    return {name: _tau(first[name], second.get(name)) for name in known}


def _chosen(evidence: AuditEvidence, taus: Mapping[str, float]) -> dict[str, str]:
    """Each text once; undefined agreement takes no part, but may be shown as wrong."""
    order = sorted((tau, name) for name, tau in taus.items() if not math.isnan(tau))
    names = [name for _, name in order]
    middle = max(0, len(names) // 2 - EACH // 2)
    wrong = [name for name in taus if _wrong(evidence, name)]
    confidences = evidence.examples["confidence"].map(finite).fillna(0.0)
    sure = sorted(wrong, key=lambda name: (-confidences[name], name))
    chosen: dict[str, str] = {}
    for found, why in (
        (names, LARGEST),
        (names[::-1], SMALLEST),
        (names[middle:] + names[:middle], MEDIAN),
        (sure, WRONG),
    ):
        fresh = [name for name in found if name not in chosen]
        chosen |= dict.fromkeys(fresh[:EACH], why)
    return chosen or dict.fromkeys(list(taus)[:EACH], "")


def _shown(
    evidence: AuditEvidence,
    document: Mapping[str, Any],
    why: str,
    tau: float,
    maps: Mapping[str, Mapping[str, Any]],
) -> Shown:
    name, words = str(document["example"]), _words(document)
    scores = {each: padded(maps[each][name], len(words)) for each in maps if name in maps[each]}
    start, stop = window(list(scores.values()))
    marks = marks_of(document)
    drawn = tuple(
        word_map(each, words, values, marks, (start, stop)) for each, values in scores.items()
    )
    cut = (
        f"{evidence.unit}s {start + 1}–{stop} of {len(words)}" if stop - start < len(words) else ""
    )
    said = clipped(asked(document), LONGEST_CONTEXT)
    told = _answered if said else _decided
    facts = (*told(evidence, name), *_agreeing(evidence.unit, tau, list(scores.values())))
    wrong, together = _wrong(evidence, name), _pairs(evidence, name, words)
    return Shown(clipped(name), why, facts, wrong, drawn, cut, context_of(document), said, together)


def _pairs(
    evidence: AuditEvidence, name: str, words: Sequence[str]
) -> tuple[tuple[str, str, str], ...]:
    """The pairs of words that interact most, and by how much, where that was measured."""
    kept = evidence.shown[evidence.shown["kind"] == "pairs"]
    found = kept.loc[kept["example"] == name, "scores"]
    triples = np.reshape(listed(found.iloc[0]) if len(found) else [], (-1, 3))
    return tuple(
        (
            clipped(words[int(i)], LONGEST_WORD),
            clipped(words[int(j)], LONGEST_WORD),
            weight(float(value)),
        )
        for i, j, value in triples
        if np.isfinite(value) and value != 0 and max(i, j) < len(words)
    )


LONGEST_CONTEXT = 400


def context_of(document: Mapping[str, Any]) -> str:
    """The second text of a pair, such as the question."""
    context = document["text_b"]
    return clipped(context, LONGEST_CONTEXT) if isinstance(context, str) else ""


def asked(document: Mapping[str, Any]) -> str:
    """The answer that is explained, and the one it is contrasted with; nothing where there is
    none."""
    own, other = (
        text.strip() if isinstance(text := document.get(name), str) else ""
        for name in ("answer", "instead")
    )
    return f"“{own}”" + (f" rather than “{other}”" if other else "") if own else ""


def _answered(evidence: AuditEvidence, name: str) -> Iterator[str]:
    if name in evidence.examples.index:
        yield f"probability of the answer {shown(evidence.examples.loc[name, 'confidence'])}"


def _decided(evidence: AuditEvidence, name: str) -> Iterator[str]:
    line = evidence.examples.loc[name] if name in evidence.examples.index else None
    if line is not None:
        yield f"predicted {evidence.class_name(line['predicted'])}"
        yield f"label {evidence.class_name(line['label'])}".replace("label no label", "no label")
        yield f"confidence {shown(line['confidence'])}"


def _agreeing(unit: str, tau: float, scores: list[np.ndarray]) -> Iterator[str]:
    if len(scores) == 2:
        yield f"τ between the two maps {shown(tau, 2)}"
        first, second = (set(heaviest(each)) for each in scores)
        most = min(len(first), len(second))
        yield f"{len(first & second)} of the {most} heaviest {unit}s in common"


def _maps(evidence: AuditEvidence, name: str) -> dict[str, Any]:
    part = evidence.maps[evidence.maps["explanation"] == name]
    return dict(zip(part["example"].map(str), part["scores"], strict=True))


def _tau(first: Any, second: Any) -> float:
    """Kendall's τ-b of magnitudes, over the words that both have."""
    if second is None:
        return math.nan
    length = min(len(first), len(second))
    a, b = (np.abs(padded(each, length)) for each in (first, second))
    known = np.isfinite(a) & np.isfinite(b)
    if known.sum() < 2:
        return math.nan
    return float(stats.kendalltau(a[known], b[known]).statistic)


def _wrong(evidence: AuditEvidence, name: str) -> bool:
    if name not in evidence.examples.index:
        return False
    label, predicted = evidence.examples.loc[name, ["label", "predicted"]]
    return bool(pd.notna(label) and label >= 0 and label != predicted)


def _words(document: Mapping[str, Any]) -> list[str]:
    return [str(word) for word in listed(document["words"])]


SHOWN = 90
"""Words shown of one text; of a longer one, the stretch with the most weight."""

TOP = 5
LONGEST_WORD, LONGEST_SENTENCE = 40, 600


@dataclass(frozen=True)
class Word:
    """`shade` goes from 0 to 100 and never puts a lighter word before a heavier one."""

    text: str
    shade: str
    kind: str
    title: str


@dataclass(frozen=True)
class WordMap:
    title: str
    signed: bool
    words: tuple[Word, ...]
    top: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Marks:
    """Which words people marked, and the numbers of those that the prediction is about."""

    rationale: Sequence[bool] = ()
    about: Sequence[int] = ()

    def on(self, place: int) -> tuple[bool, bool]:
        return place < len(self.rationale) and bool(self.rationale[place]), place in self.about


def marks_of(document: Mapping[str, Any]) -> Marks:
    return Marks(*(listed(document.get(name)) for name in ("rationale", "about")))


def word_map(
    name: str,
    words: Sequence[str],
    scores: np.ndarray,
    marks: Marks,
    window: tuple[int, int],
) -> WordMap:
    """The words of the window. The root of the share of the largest keeps small ones visible."""
    start, stop = window
    most = float(np.nanmax(np.abs(scores))) if np.isfinite(scores).any() else 0.0
    shown = tuple(_word(words[i], float(scores[i]), most, *marks.on(i)) for i in range(start, stop))
    top = tuple(
        (clipped(words[i], LONGEST_WORD), weight(float(scores[i]))) for i in heaviest(scores)
    )
    return WordMap(plain(name), bool((scores < 0).any()), shown, top)


def heaviest(scores: np.ndarray) -> list[int]:
    """The places of the largest scores by magnitude, zeros left out; the first of equals first."""
    sizes = np.nan_to_num(np.abs(scores))
    order = np.argsort(-sizes, kind="stable")[:TOP]
    return [int(i) for i in order if sizes[i] > 0]


def window(maps: Sequence[np.ndarray]) -> tuple[int, int]:
    """Which words are shown: all of a short text."""
    length = len(maps[0])
    if length <= SHOWN:
        return 0, length
    total = np.zeros(length)
    for scores in maps:
        sizes = np.nan_to_num(np.abs(scores))
        total += sizes / max(float(sizes.sum()), np.finfo(float).tiny)
    start = int(np.convolve(total, np.ones(SHOWN), mode="valid").argmax())
    return start, start + SHOWN


def _word(text: str, score: float, most: float, marked: bool, about: bool) -> Word:
    missing = math.isnan(score)
    size = 0.0 if missing or most == 0 else math.sqrt(abs(score) / most)
    cut, asked = missing and not about, missing and about
    kinds = {"cut": cut, "asked": asked, "down": score < 0, "marked": marked}
    kind = " ".join(name for name, there in kinds.items() if there)
    title = f"{DASH} cut off" if cut else f"{DASH} asked about" if asked else weight(score)
    title += ", marked by people" if marked else ""
    longest = LONGEST_SENTENCE if " " in text else LONGEST_WORD
    return Word(clipped(text, longest) or DASH, f"{100 * size:.0f}", kind, title)
