"""Run a probe on a tiny model, and read its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from heedful.corpora.split import Split
from heedful.models.one_sequence import OneSequence
from heedful.probes import PROBES
from heedful.probes.evidence import Evidence, Findings
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, Model, SiteSpec, Trace

LENGTHS = (4, 1, 9, 2, 6, 5, 3, 12)
OTHERS = {"generation", "alignment", "several sites", "rationales"}
# What applies to a model of one sequence and one linear site, on classes without rationales.
FITTING = [name for name in PROBES if not OTHERS & set(PROBES[name].needs)]


def evidence(model: Model, split: Split, batch_size: int = 64, seed: int = 5) -> Evidence:
    return Evidence({"base": model}, split, seed, batch_size=batch_size)


def find(
    name: str, model: Model, split: Split, batch_size: int = 64, seed: int = 5, **params: Any
) -> Findings:
    findings: Findings = PROBES[name].make(evidence(model, split, batch_size, seed), **params)
    return findings


def table(findings: Findings, split: Split) -> pd.DataFrame:
    """Examples down (in the split's order), measures across."""
    wide = findings.rows.pivot(index="example", columns="measure", values="value")
    return wide.loc[list(split.ids)]


def map_of(findings: Findings, name: str) -> dict[str, Any]:
    """One map of every example, by id."""
    assert findings.maps is not None
    chosen = findings.maps[findings.maps["map"] == name]
    return dict(zip(chosen["example"], chosen["scores"], strict=True))


class Bent:
    """The same model, whose site claims that what follows is not linear: probes must then
    resume the model instead of multiplying."""

    def __init__(self, model: OneSequence) -> None:
        self.model = model

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return tuple(replace(site, linear=False) for site in self.model.sites)

    @property
    def fillers(self) -> Mapping[str, int]:
        return self.model.fillers

    def __call__(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        trace: Trace = self.model(batch, edits, keep, embeddings)
        return replace(trace, token_logits={})

    def embed(self, batch: Batch) -> Embeddings:
        return self.model.embed(batch)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self.model.resume(batch, trace, edits)

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return self.model.without_each(batch)
