"""How long a search needs to come within 1% of what the exact solver finds.

Heedful's own search, one candidate, stopped as soon as all texts are there. A text whose
search ends in a local optimum never arrives, so the share that does is part of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from bench.data import FULL, QUICK, generate, trained
from bench.measure import Cost, Row, Setting, joined, measure
from bench.papers import describe, evidence_of
from heedful.data import Split
from heedful.experiments import (
    ForwardBatch,
    SearchParams,
    band,
    furthest_attention,
    outputs,
    row_keys,
    search,
)
from heedful.models import SITE, OneSequence
from heedful.randomness import keyed_normal

EPSILON = 0.01
CLOSE = 0.99


def rows(setting: Setting) -> Iterator[Row]:
    plan = QUICK if setting.quick else FULL
    data = generate(plan)
    model, _ = trained(data, "bilstm", plan.epochs, setting.device)
    for size in plan.sizes:
        for steps in plan.reach_steps:
            found = _reach(model, data.split(size.name), steps, plan.repeats)
            yield replace(found, size=describe(data, size.name))


def _reach(model: OneSequence, data: Split, steps: int, repeats: int) -> Row:
    """The search over all texts beside the exact solver; both without the forward passes."""
    passes = _passes(model, data)
    solved = measure(lambda: [_exact(each) for each in passes], repeats)
    searched = measure(lambda: _search(passes, solved.value, steps), 1)
    arrived = [n for n, name in enumerate(data.ids) if searched.value[name]]
    note = f"{len(arrived) / len(data):.1%} of the texts come within 1%"
    if 0 < len(arrived) < len(data):
        seconds = _again(_passes(model, data.subset(arrived)), steps)
        note = joined(note, f"the search over those alone takes {seconds:.2f} s")
    costs = Cost.of(searched), Cost.of(solved)
    return Row("reach", f"{steps:,} steps", "", "search", *costs, note)


def _again(passes: list[ForwardBatch], steps: int) -> float:
    goals = [_exact(each) for each in passes]
    return measure(lambda: _search(passes, goals, steps), 1).seconds


def _passes(model: OneSequence, data: Split) -> list[ForwardBatch]:
    return list(evidence_of(model, data).passes("reach"))


def _attention(forward: ForwardBatch) -> Tensor:
    weights = forward.rows(SITE).weights.double()
    return weights / weights.sum(-1, keepdim=True)


def _exact(forward: ForwardBatch) -> Tensor:
    attention, mask = _attention(forward), forward.rows(SITE).mask
    token_logits = forward.trace.token_logits[SITE.name]
    z, bias = token_logits.values[..., 0].double(), token_logits.bias[0].double()
    p = torch.sigmoid((attention * z).sum(-1) + bias)
    low, high = band(p, bias, EPSILON)
    return furthest_attention(z, mask, low, high, attention[:, None]).value


def _search(passes: list[ForwardBatch], goals: list[Tensor], steps: int) -> dict[str, bool]:
    """Which texts arrive."""
    found: dict[str, bool] = {}
    for each, goal in zip(passes, goals, strict=True):
        view = each.rows(SITE)
        keys = row_keys(view, 0, "reach")
        start = 3 * keyed_normal(keys.to(view.mask.device), (1, view.mask.shape[1]))
        best = search(
            lambda weights, each=each, view=view: outputs(view, weights),
            _attention(each),
            view.mask,
            start,
            SearchParams(EPSILON, 1, steps),
            enough=CLOSE * goal,
        )
        found |= dict(zip(each.batch.ids, (best.jsd >= CLOSE * goal).tolist(), strict=True))
    return found
