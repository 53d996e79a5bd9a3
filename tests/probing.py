"""Run a probe on a tiny model, and read its rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pandas as pd
import torch

from heedful.data import Split
from heedful.experiments import PROBES, Evidence, Findings
from heedful.hashing import stable_hash
from heedful.models import OneSequence
from heedful.types import Batch, Deleted, Edits, Embeddings, Model, SiteSpec, Trace

LENGTHS = (4, 1, 9, 2, 6, 5, 3, 12)
OTHERS = {"generation", "alignment", "several sites", "rationales", "impermissible", "revisions"}
# What applies to a model of one sequence and one linear site, on classes without rationales.
COMPARING = ("seeds", "guides", "frontier")
FITTING = [name for name in PROBES if not OTHERS & set(PROBES[name].needs)]


def evidence(model: Model, split: Split, batch_size: int = 64, seed: int = 5) -> Evidence:
    return Evidence({"base": model}, split, seed, batch_size=batch_size, training=split)


def find(
    name: str, model: Model, split: Split, batch_size: int = 64, seed: int = 5, **params: Any
) -> Findings:
    seen = accompanied(evidence(model, split, batch_size, seed), name, **params)
    findings: Findings = PROBES[name].make(seen, **params)
    return findings


def accompanied(seen: Evidence, name: str, **params: Any) -> Evidence:
    """With stand-ins for the other models of a probe that cannot do without them: the base's
    weights, a little off, each by draws of its own."""
    if name not in COMPARING:
        return seen
    others = {role: _another(seen.models["base"], role) for role in PROBES[name].roles(**params)}
    return replace(seen, models={**seen.models, **others})


def _another(model: Model, role: str) -> Model:
    assert isinstance(model, torch.nn.Module)
    other, draws = copy.deepcopy(model), torch.Generator().manual_seed(stable_hash(role))
    with torch.no_grad():
        for parameter in other.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=draws)
    return cast(Model, other)


def table(findings: Findings, split: Split) -> pd.DataFrame:
    """Examples down (in the split's order), measures across; of those that were measured."""
    wide = findings.rows.pivot(index="example", columns="measure", values="value")
    return wide.loc[[name for name in split.ids if name in wide.index]]


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

    def __call__(self, batch: Batch, *rest: Any, **more: Any) -> Trace:
        trace: Trace = self.model(batch, *rest, **more)
        return replace(trace, token_logits={})

    def embed(self, batch: Batch) -> Embeddings:
        return self.model.embed(batch)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self.model.resume(batch, trace, edits)

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return self.model.leave_one_out_logits(batch)
