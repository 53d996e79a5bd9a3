"""One audit, text by text, from the tables it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.examples.audit_lists import by_text, curves_of, padded, word_logits
from heedful.report.examples.audit_measures import FOUND, measured
from heedful.report.examples.audit_texts import documents_of
from heedful.report.examples.cell import (
    ATTENTION,
    EXPLANATION,
    FLOOR,
    FURTHEST,
    Document,
    Map,
    Reading,
    Sorting,
    reach_of,
)
from heedful.report.examples.known import Known, known_texts
from heedful.report.examples.sortings import FURTHEST_AWAY
from heedful.report.examples.study_maps import FURTHEST_FOUND, FURTHEST_OF_ALL
from heedful.report.examples.titles import title_of

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
        there = [name for name in there if name not in (evidence.facts.get("skipped") or {})]
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
