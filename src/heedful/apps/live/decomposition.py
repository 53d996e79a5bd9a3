"""Attention of one text step by step: states, scores, weights, contributions.

Where everything after a site is linear in its weights, each step is exact and the numbers add
up. Elsewhere scores are known up to a constant, and contributions are the norms of the weighted
value vectors, not their effect on the prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.apps.live.seen import Seen, Sight, answer, name_of
from heedful.attributions import readout_rows, values_of
from heedful.errors import HeedfulError
from heedful.models import (
    ENTMAX,
    GIVEN,
    QUERY,
    SIGMOID,
    SOFTMAX,
    SPARSEMAX,
    Additive,
    AdditiveQuery,
    Attention,
    Dot,
    DotQuery,
    Family,
    Weighting,
    class_logits,
)
from heedful.types import Keep, Trace

NUMBERS = 16  # of a state, and of a score's terms, that are shown
WEIGHTINGS: dict[Weighting, str] = {
    SOFTMAX: "softmax",
    SPARSEMAX: "sparsemax",
    ENTMAX: "1.5-entmax",
    SIGMOID: "sigmoid",
    GIVEN: "gate",
}


@dataclass(frozen=True)
class _Work:
    seen: Seen
    each: Sight
    head: int | None
    trace: Trace

    @property
    def keys(self) -> Tensor:
        """The keys that are units, in their order: one each, as in models of our own."""
        return (self.each.units.of_key >= 0).nonzero().flatten()

    @property
    def attention(self) -> Attention | None:
        """That of a site with one row of weights, if it is one of ours."""
        model = self.seen.subject.model
        if not isinstance(model, Family) or len(self.each.readers) != 1:
            return None
        one_each = len(self.keys) == len(self.each.units)
        known = self.each.site.name in self.trace.states and one_each
        return model.attentions.get(self.each.site.name) if known else None


def apart(
    seen: Seen, each: Sight, head: int | None = None, of: str | None = None
) -> dict[str, Any]:
    """`of` is the class whose logit is added up; the predicted one if it is left out."""
    model = seen.subject.model
    keep = Keep(states=True, token_logits=each.site.linear, values=True, readout_weights=True)
    with torch.no_grad():
        work = _Work(seen, each, head, model(seen.batch, keep=keep))
        scores = _scores(work)
        return {
            "site": each.site.name,
            "head": head,
            "labels": list(each.units.labels),
            "words": list(each.units.words),
            "states": _states(work),
            "scores": scores,
            "weights": _weights(work, scores),
            "contributions": _contributions(work, _class(seen, of)),
            "prediction": {"logits": _logits(seen), **answer(seen)},
        }


def _states(work: _Work) -> dict[str, Any] | None:
    if work.attention is None:
        return None
    states = work.trace.states[work.each.site.name][0][work.keys].double()
    return {
        "size": states.shape[-1],
        "numbers": states[:, :NUMBERS].tolist(),
        "lengths": states.norm(dim=-1).tolist(),
    }


def _scores(work: _Work) -> dict[str, Any]:
    """Exact with the terms they are sums of; else the logarithms of the weights, less the largest:
    scores before a softmax are known from the weights up to a constant. A `mean` over heads has
    no scores of its own."""
    attention = work.attention
    if attention is None:
        logs = work.each.shown(work.head).clamp_min(1e-30).log()
        values = logs - logs.max()
        mean = work.head is None and work.each.heads > 1
        return {"exact": False, "mean": mean, "terms": None, "values": values.tolist()}
    states = work.trace.states[work.each.site.name][0][work.keys]
    query = work.trace.states[QUERY][0, 0] if QUERY in work.trace.states else None
    known = terms(attention, states, query)
    given = (states[None],) if query is None else (states[None], query[None])
    values = attention(*given)[0].double().tolist()
    if known is None:
        parts = dict.fromkeys(("formula", "terms", "rest", "count"))
        return {"exact": True, **parts, "values": values}
    return {
        "exact": True,
        "formula": known.formula,
        "terms": known.numbers[:, :NUMBERS].tolist(),
        "rest": known.numbers[:, NUMBERS:].sum(-1).tolist(),
        "count": known.numbers.shape[-1],
        "values": values,
    }


def _weights(work: _Work, scores: Mapping[str, Any]) -> dict[str, Any]:
    """With exp(score − largest) where the weights are a softmax of known scores."""
    shown = work.each.shown(work.head).tolist()
    kind = "softmax"
    if work.attention is not None:
        kind = WEIGHTINGS.get(work.attention.weighting, "its own function")
    if not scores["exact"] or kind != "softmax":
        return {"kind": kind, "powers": None, "total": None, "values": shown}
    known = torch.tensor(scores["values"], dtype=torch.float64)
    powers = (known - known.max()).exp()
    total = float(powers.sum())
    return {"kind": kind, "powers": powers.tolist(), "total": total, "values": shown}


def _contributions(work: _Work, label: int) -> dict[str, Any]:
    """Weight times the token's own logit; they and the bias sum to the logit of the class."""
    each, name = work.each, name_of(work.seen.names, label)
    if each.site.name not in work.trace.token_logits:
        return {"exact": False, "class": name, **_lengths(work)}
    known = work.trace.token_logits[each.site.name]
    values, bias = _towards(known.values[0], label), _towards(known.bias, label)
    products = each.rows[0] * values
    return {
        "exact": True,
        "class": name,
        "values": values[work.keys].tolist(),
        "products": products[work.keys].tolist(),
        "bias": float(bias),
        "sum": float(products[work.keys].sum() + bias),
    }


def _lengths(work: _Work) -> dict[str, Any]:
    """Norms of the value vectors, alone and times the weights."""
    each, site = work.each, work.each.site.name
    norms = values_of(work.trace, each.site)[0].double().norm(dim=-1)
    rows = readout_rows(work.trace.weights[site], each.readers[None])[0]
    brought = rows * norms
    weights = each.shown(work.head)
    products = each.units.total(brought.mean(0) if work.head is None else brought[work.head])
    values = torch.where(weights > 0, products / weights.clamp_min(1e-300), 0.0)
    return {"values": values.tolist(), "products": products.tolist(), "bias": None, "sum": None}


def _towards(logits: Float[Tensor, "*n c"], label: int) -> Float[Tensor, "*n"]:
    """The class's own logit; one sigmoid's is signed towards the class."""
    if logits.shape[-1] == 1:
        return logits[..., 0].double() * (1 if label == 1 else -1)
    return class_logits(logits)[..., label]


def _logits(seen: Seen) -> list[float]:
    """All logits where there are few classes, else none."""
    return class_logits(seen.logits).tolist() if len(seen.logits) <= NUMBERS else []


def _class(seen: Seen, of: str | None) -> int:
    names = seen.names
    if of is None:
        return seen.explained(seen.p)
    if of not in names:
        raise HeedfulError(f"the model has no class {of[:80]!r}: give one of its labels.")
    return names.index(of)


@dataclass(frozen=True)
class Terms:
    """`numbers` of a key sum to its score."""

    formula: str
    numbers: Float[Tensor, "k f"]


def terms(
    attention: Attention, states: Float[Tensor, "k d"], query: Float[Tensor, " d"] | None
) -> Terms | None:
    """None where a score is not a sum (a sampled gate)."""
    if isinstance(attention, Additive):
        inner = attention.project(states)
        return Terms("v · tanh(W h + b)", _times(inner, attention.score))
    if isinstance(attention, Dot):
        divided = "" if attention.scale == 1 else " / √d"
        products = states.double() * attention.query / attention.scale
        return Terms(f"q · h{divided}, with a learned q", products)
    if isinstance(attention, AdditiveQuery) and query is not None:
        inner = attention.project(states) + attention.project_query(query)
        return Terms("v · tanh(W h + U q + b)", _times(inner, attention.score))
    if isinstance(attention, DotQuery) and query is not None:
        return Terms("q · h / √d", states.double() * query / attention.scale)
    return None


def _times(inner: Tensor, score: nn.Linear) -> Tensor:
    """v_j · tanh(…)_j, whose sum over j is the score."""
    return torch.tanh(inner.double()) * score.weight[0].double()
