"""The cell of an audit, text by text, from the tables it left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.examples.cell import (
    ATTENTION,
    EXPLANATION,
    FLOOR,
    FURTHEST,
    FURTHEST_AWAY,
    FURTHEST_FOUND,
    FURTHEST_OF_ALL,
    MARKED,
    SHUFFLED,
    SORTINGS,
    Cell,
    Document,
    Known,
    Map,
    Numbers,
    Reading,
    Sorting,
    disagreement,
    known_texts,
    listed,
    means_of,
    reach_of,
    searched,
    searched_as_spread,
    title_of,
)
from heedful.report.formats import clipped, of_texts

SPLIT = re.compile(r", \w+ split$")


def audit_cells(evidence: AuditEvidence, number: int = 0) -> list[Cell]:
    """One, of the audit with this number among those of a page, from 0; none where no map was
    kept."""
    model = AuditModel(evidence)
    return [_cell(model, number)] if model.names else []


def _cell(model: AuditModel, number: int) -> Cell:
    facts = model.evidence.facts
    means = {each.key: float(values.mean()) for each, values in model.measured}
    return Cell(
        corpus=SPLIT.sub("", clipped(facts.data)),
        classes=facts.classes,
        model=clipped(facts.model),
        seed="",
        source="audit",
        names=model.names,
        maps=model.maps,
        measures=[*(each for each, _ in model.measured), *SORTINGS],
        means=means | means_of(model.facts),
        documents=model.documents,
        readings=model.readings,
        whole=frozenset(map(str, model.evidence.shown["example"])),
        logits=model.logits,
        run=audit_run(model.evidence),
        audit=number,
    )


def audit_run(evidence: AuditEvidence) -> str:
    """`audit of 12 texts, 3 seeds`."""
    seeds = evidence.facts.checkpoints
    more = f", {seeds} seeds" if seeds > 1 else ""
    return f"audit of {of_texts(len(evidence.examples))}{more}"


WHOLE, FURTHEST_KEY = "attention", "furthest"
WORDS = ("weights", "logit", "furthest")
"""What has a number for each word."""
WEIGHTS = frozenset({"attention", "rollout", "value_norm"})
"""Explanations that are made of attention weights alone."""


@dataclass(frozen=True)
class AuditModel:
    """`shown` has what was kept beside the maps, of some texts or of all."""

    evidence: AuditEvidence

    @cached_property
    def names(self) -> tuple[str, ...]:
        maps, documents = self.evidence.maps, self.evidence.documents
        known = set(self.facts) & set(map(str, documents["example"]))
        return tuple(sorted(known & set(map(str, maps["example"]))))

    @cached_property
    def facts(self) -> dict[str, Known]:
        return known_texts(self.evidence.main)

    @cached_property
    def maps(self) -> list[Map]:
        """Attention, the recommended explanation, importance measures, other explanations, the
        furthest attention, floors."""
        evidence = self.evidence
        there = [str(name) for name in evidence.maps["explanation"].unique()]
        there = [name for name in there if name not in evidence.facts.skipped]
        first = (self.attention, evidence.best, *evidence.settings.importance)
        ordered = dict.fromkeys([*(name for name in first if name in there), *there])
        found = [self._map(name) for name in ordered]
        return [
            *(m for m in found if m.kind != FLOOR),
            *([self._furthest] if self.far else []),
            *(m for m in found if m.kind == FLOOR),
        ]

    def _map(self, name: str) -> Map:
        weights = name.partition(":")[0] in WEIGHTS
        return Map(name, title_of(name), self._kind(name), weights=weights)

    @property
    def _furthest(self) -> Map:
        title = FURTHEST_OF_ALL if self.exact else FURTHEST_FOUND
        measure = FURTHEST_AWAY if self.exact else FOUND
        return Map(FURTHEST_KEY, title, FURTHEST, measure.key, not self.exact, weights=True)

    @property
    def attention(self) -> str:
        """The map that is attention: the whole site's, else the one on trial."""
        names = set(self.evidence.maps["explanation"])
        return WHOLE if WHOLE in names else self.evidence.on_trial

    @cached_property
    def measured(self) -> list[tuple[Sorting, pd.Series]]:
        return measured(self.evidence, self.exact)

    @cached_property
    def far(self) -> set[str]:
        """How the furthest attention was found: exactly, or by a search."""
        shown = self.evidence.shown
        return set(map(str, shown.loc[shown["kind"] == "furthest", "name"]))

    @property
    def exact(self) -> bool:
        return "exact" in self.far

    @cached_property
    def logits(self) -> int:
        shown = self.evidence.shown
        return int(shown.loc[shown["kind"] == "logit", "name"].nunique())

    def documents(self, names: Sequence[str]) -> dict[str, Document]:
        return documents_of(self.evidence.documents, names)

    def readings(self, names: Sequence[str]) -> dict[str, Reading]:
        maps = by_text(self.evidence.maps.assign(kind="map"), "explanation", names)
        shown = by_text(self.evidence.shown, "name", names)
        sizes = {name: len(each.spans) for name, each in self.documents(names).items()}
        return {
            name: self._reading(name, maps.get(name, {}), shown.get(name, {}), sizes[name])
            for name in names
        }

    def _reading(
        self, name: str, maps: Mapping[Any, Any], shown: Mapping[Any, Any], size: int
    ) -> Reading:
        known = self.facts[name]
        scores = {key: padded(values, size) for (_, key), values in maps.items()}
        kept = {(kind, key): padded(v, size) for (kind, key), v in shown.items() if kind in WORDS}
        logits = word_logits(kept, self.logits) if WHOLE in scores else None
        for (kind, _), values in kept.items():
            if kind == "furthest":
                scores[FURTHEST_KEY] = values
            if kind == "weights" and WHOLE in scores:  # the same with all its digits
                scores[WHOLE] = values
        measures = {
            each.key: float(values[name]) for each, values in self.measured if name in values.index
        }
        reach = None if logits is None else reach_of(logits, known.predicted)
        curves, operator = curves_of(shown)
        return Reading(
            known.predicted,
            known.confidence,
            scores,
            logits,
            measures | known.measures,
            reach,
            curves,
            operator,
        )

    def _kind(self, name: str) -> str:
        if name == self.attention:
            return ATTENTION
        return FLOOR if name in self.evidence.settings.floors else EXPLANATION


FOUND = searched("audit")
SPREAD = searched_as_spread("audit")
EVEN = Sorting("even", "output moved by even attention")


def measured(evidence: AuditEvidence, exact: bool) -> list[tuple[Sorting, pd.Series]]:
    """Those that exist, each by text."""
    return [(sorting, values) for sorting, values in _all(evidence, exact) if len(values)]


def _all(evidence: AuditEvidence, exact: bool) -> Iterator[tuple[Sorting, pd.Series]]:
    trial = evidence.on_trial
    yield from _disagreements(evidence)
    yield FURTHEST_AWAY if exact else FOUND, evidence.values("jsd_same_output", trial)
    yield SPREAD, evidence.values("jsd_entropy_matched", trial)
    yield SHUFFLED, evidence.values("tvd_permuted", trial)
    yield EVEN, evidence.values("tvd", "", "uniform")
    for name in dict.fromkeys((trial, evidence.best)):
        yield from _erased(evidence, name)
    yield from _flips(evidence)
    yield MARKED, evidence.values("auprc", trial)


def _disagreements(evidence: AuditEvidence) -> Iterator[tuple[Sorting, pd.Series]]:
    """1 − τ of attention and each importance measure, the first first."""
    for name in evidence.settings.importance:
        values = evidence.values(f"tau:{name}", evidence.on_trial)
        yield disagreement(name, title_of(name)), 1.0 - values


def _erased(evidence: AuditEvidence, name: str) -> Iterator[tuple[Sorting, pd.Series]]:
    """What is lost with the top words of a map, and what is kept by them alone."""
    for measure, up in (("comprehensiveness", False), ("sufficiency", True)):
        own = evidence.settings.made_with(name)
        named = evidence.named(measure)
        places = [operator for each, operator in named if each == name and operator not in own]
        for operator in places[:1]:
            title = f"{measure} of {title_of(name)} ({operator})"
            yield Sorting(f"{measure}_{name}", title, up), evidence.values(measure, name, operator)


def _flips(evidence: AuditEvidence) -> Iterator[tuple[Sorting, pd.Series]]:
    """How soon the decision flips, words going as they do in the curves that were recorded."""
    trial, shown = evidence.on_trial, evidence.shown
    recorded = [str(name) for name in shown.loc[shown["kind"] == "removed", "name"].unique()]
    places = [operator for each, operator in evidence.named("flip_share") if each == trial]
    for operator in [each for each in (*recorded, *places) if each in places][:1]:
        title = f"share of words gone when the decision flips, {title_of(trial)} ({operator})"
        key = f"flip_share_{trial}"
        yield Sorting(key, title, False), evidence.values("flip_share", trial, operator)


def documents_of(table: pd.DataFrame, names: Sequence[str]) -> dict[str, Document]:
    chosen = table[table["example"].isin(list(names))]
    lines = ({str(key): value for key, value in line.items()} for line in chosen.to_dict("records"))
    return {str(line["example"]): _document(line) for line in lines}


def _document(line: Mapping[str, Any]) -> Document:
    words = [str(word) for word in listed(line["words"])]
    starts, ends = (listed(line[name]) for name in ("starts", "ends"))
    text, other = (str(line[n]) if isinstance(line[n], str) else "" for n in ("text", "text_b"))
    if len(starts) != len(words):
        return _joined(line, words, other)
    first = int(line["words_a"])
    behind = Document(text, other, ()).behind
    spans = [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    moved = [(a + behind, b + behind) for a, b in spans[first:]]
    return Document(text, other, (*spans[:first], *moved), _label(line), _marks(line, len(words)))


def _joined(line: Mapping[str, Any], words: list[str], other: str) -> Document:
    """An audit of an earlier version does not say where its words stand: they are the text."""
    ends = np.cumsum([len(word) + 1 for word in words]).tolist()
    spans = tuple((end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True))
    return Document(" ".join(words), other, spans, _label(line), _marks(line, len(words)))


def _label(line: Mapping[str, Any]) -> int:
    return -1 if pd.isna(line["label"]) else int(line["label"])


def _marks(line: Mapping[str, Any], size: int) -> tuple[bool, ...] | None:
    given = [bool(mark) for mark in listed(line["rationale"])][:size]
    return (*given, *(False,) * (size - len(given))) if given else None


def by_text(
    table: pd.DataFrame, column: str, names: Sequence[str]
) -> dict[str, dict[tuple[str, str], Any]]:
    """By text, then by kind and name."""
    chosen = table[table["example"].isin(list(names))]
    found: dict[str, dict[tuple[str, str], Any]] = {}
    columns = (chosen[each] for each in ("example", "kind", column, "scores"))
    for example, kind, name, scores in zip(*columns, strict=True):
        found.setdefault(str(example), {})[str(kind), str(name)] = scores
    return found


def padded(scores: Any, size: int) -> Numbers:
    """Words at the end that were not read have no number."""
    numbers = np.full(size, np.nan)
    given = np.asarray(scores, dtype=np.float64)[:size]
    numbers[: len(given)] = given
    return numbers


def word_logits(kept: Mapping[tuple[str, str], Numbers], count: int) -> Numbers | None:
    """`[words, logits]`, where this text has all of them."""
    keys = [("logit", str(c)) for c in range(count)]
    if not keys or not all(key in kept for key in keys):
        return None
    return np.stack([kept[key] for key in keys], axis=1)


def curves_of(
    shown: Mapping[tuple[str, str], Any],
) -> tuple[dict[str, list[tuple[float, float]]], str]:
    """Points of each explanation's curve, and the operator that took words away."""
    removed = [(name, shares) for (kind, name), shares in shown.items() if kind == "removed"]
    if not removed:
        return {}, ""
    operator, shares = removed[0]
    curves = {
        name: [(float(x), float(y)) for x, y in zip(shares, values, strict=True)]
        for (kind, name), values in shown.items()
        if kind == "curve"
    }
    return curves, operator
