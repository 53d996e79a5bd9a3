"""A text as a model sees it: what it predicts, and where each site looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.auditing import check_finite
from heedful.models import probabilities
from heedful.saliency import read
from heedful.subjects import Subject
from heedful.types import Batch, Keep, SiteSpec, TokenLogits, Trace
from heedful.web.live.units import Units, units_of


@dataclass(frozen=True)
class Sight:
    """One site. `rows` are each head's weights as the prediction is read from them, by key;
    `readers` how much each query counts for it."""

    site: SiteSpec
    rows: Float[Tensor, "h k"]
    readers: Float[Tensor, " q"]
    units: Units

    @property
    def heads(self) -> int:
        return len(self.rows)

    @property
    def reading(self) -> Bool[Tensor, " q"]:
        return self.readers > 0

    def shown(self, head: int | None = None) -> Float[Tensor, " u"]:
        """The weights of units: those of a head, or the mean over heads."""
        return self.units.total(self.rows.mean(0) if head is None else self.rows[head])


@dataclass(frozen=True)
class Seen:
    """One text. Of the trace only what is small is kept, so that many texts can be."""

    subject: Subject
    batch: Batch
    logits: Float[Tensor, " c"]
    sights: Mapping[str, Sight]
    token_logits: Mapping[str, TokenLogits]

    @property
    def p(self) -> Float[Tensor, " c"]:
        return probabilities(self.logits)


def see(subject: Subject) -> Seen:
    """The first of the subject's texts."""
    batch = subject.encode([0])
    linear = any(site.linear for site in subject.model.sites)
    with torch.no_grad():
        trace = subject.model(batch, keep=Keep(readers=True, token_logits=linear))
    check_finite(probabilities(trace.logits), batch.ids)
    sights = {site.name: sight(site, trace, batch, subject) for site in subject.model.sites}
    return Seen(subject, batch, trace.logits[0], sights, trace.token_logits)


def sight(site: SiteSpec, trace: Trace, batch: Batch, subject: Subject) -> Sight:
    weights = trace.weights[site.name]
    mask = trace.masks[site.name].expand_as(weights)
    readers = _readers(trace, site)
    readable = (mask & (readers > 0)[:, None, :, None]).any(2).any(1)[0]
    units = units_of(site, readable, batch.texts["a"], subject.documents[0])
    return Sight(site, read(weights, readers)[0], readers[0], units)


def _readers(trace: Trace, site: SiteSpec) -> Float[Tensor, "b q"]:
    """Where nobody knows which queries are read, all of them are."""
    if site.name in trace.readers:
        return trace.readers[site.name].double()
    queries = trace.weights[site.name].shape[2]
    return trace.weights[site.name].new_full((1, queries), 1 / queries).double()
