"""How long a search needs to come within 1% of what the exact solver finds.

Heedful's own search, one candidate, stopped as soon as all texts are there. A text whose
search ends in a local optimum never arrives, so the share that does is part of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bench.memory import measure
from bench.ours import evidence_of
from heedful.corpora.split import Split
from heedful.models.one_sequence import SITE, OneSequence
from heedful.probes.evidence import Pass
from heedful.probes.furthest import band, furthest
from heedful.probes.outputs import outputs
from heedful.probes.permutation import row_keys
from heedful.probes.search import SearchParams, search
from heedful.randomness import keyed_normal

EPSILON = 0.01
CLOSE = 0.99


@dataclass(frozen=True)
class Reach:
    """`seconds` is the search over all texts, `seconds_reached` over those that arrive, and
    `exact_seconds` the exact solver over all texts; all without the forward passes."""

    size: str
    steps: int
    texts: int
    share: float
    seconds: float
    seconds_reached: float | None
    exact_seconds: float


def reach(model: OneSequence, data: Split, size: str, steps: int, repeats: int) -> Reach:
    passes = _passes(model, data)
    solved = measure(lambda: [_exact(each) for each in passes], repeats)
    searched = measure(lambda: _search(passes, solved.value, steps), 1)
    arrived = {name for name, there in searched.value.items() if there}
    again = None
    if 0 < len(arrived) < len(data):
        some = _passes(model, data.subset([i for i, n in enumerate(data.ids) if n in arrived]))
        goals = [_exact(each) for each in some]
        again = measure(lambda: _search(some, goals, steps), 1).seconds
    elif arrived:
        again = searched.seconds
    share = len(arrived) / len(data)
    return Reach(size, steps, len(data), share, searched.seconds, again, solved.seconds)


def _passes(model: OneSequence, data: Split) -> list[Pass]:
    return list(evidence_of(model, data).passes("reach"))


def _attention(each: Pass) -> Tensor:
    weights = each.rows(SITE).weights.double()
    return weights / weights.sum(-1, keepdim=True)


def _exact(each: Pass) -> Tensor:
    attention, mask = _attention(each), each.rows(SITE).mask
    token_logits = each.trace.token_logits[SITE.name]
    z, bias = token_logits.values[..., 0].double(), token_logits.bias[0].double()
    p = torch.sigmoid((attention * z).sum(-1) + bias)
    low, high = band(p, bias, EPSILON)
    return furthest(z, mask, low, high, attention[:, None]).value


def _search(passes: list[Pass], goals: list[Tensor], steps: int) -> dict[str, bool]:
    """Which texts arrive."""
    found: dict[str, bool] = {}
    for each, goal in zip(passes, goals, strict=True):
        view = each.rows(SITE)
        keys = row_keys(each, SITE, view, 0, "reach")
        start = 3 * keyed_normal(keys.to(view.mask.device), (1, view.mask.shape[1]))
        best = search(
            lambda weights, each=each, view=view: outputs(each, SITE, view, weights),
            _attention(each),
            view.mask,
            start,
            SearchParams(EPSILON, 1, steps),
            enough=CLOSE * goal,
        )
        found |= dict(zip(each.batch.ids, (best.jsd >= CLOSE * goal).tolist(), strict=True))
    return found
