"""The maps of one batch: every explanation as one score per word, with what it cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from heedful.auditing.decisions import Decisions
from heedful.auditing.named import Named
from heedful.auditing.spec import FLOORS
from heedful.errors import HeedfulError
from heedful.measures import torch_module
from heedful.models import TARGETS
from heedful.saliency import Prior, explain
from heedful.types import Model


@dataclass
class Cost:
    """Seconds and texts through the model, summed over batches."""

    seconds: float = 0.0
    passes: int = 0
    texts: int = 0

    def add(self, other: Cost) -> None:
        self.seconds += other.seconds
        self.passes += other.passes
        self.texts += other.texts


@dataclass
class Explained:
    """Scores `[b, w]` by explanation; what a model cannot give is in `skipped`, with the reason."""

    maps: dict[str, Tensor] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def explained(
    made: Decisions,
    wanted: Iterable[Named],
    target: str,
    skip: Mapping[str, str],
    must: frozenset[str] = frozenset(),
) -> Explained:
    """`must` are those the user named: they fail instead of being skipped."""
    found = Explained(skipped=dict(skip))
    for each in wanted:
        if each.name in found.skipped:
            continue
        cost = Cost(texts=len(made.batch))
        try:
            with _counted(made.model, cost):
                found.maps[each.name] = explanation(made, each, target)
        except HeedfulError as error:
            if each.name in must:
                raise
            found.skipped[each.name] = str(error)
            continue
        if each.piece.name not in FLOORS:  # a shortcut past the module's call is no free map
            cost.passes = max(cost.passes, len(made.batch))
        found.costs[each.name] = cost
    return found


def explanation(made: Decisions, each: Named, target: str) -> Tensor:
    """One map."""
    return explain(each.piece, made.model, made.batch, made.label, TARGETS[target], **each.params)


def floors(made: Decisions, prior: Prior, random: Named) -> dict[str, Tensor]:
    """What can be said without looking at the model."""
    return {
        "random": explain(random.piece, made.model, made.batch, made.label, **random.params),
        "prior": explain(prior.piece, made.model, made.batch, made.label),
        "position": explain("prior", made.model, made.batch, made.label, kind="position"),
    }


@contextmanager
def _counted(model: Model, cost: Cost) -> Iterator[None]:
    """Time, and texts through the module, while the block runs."""

    def count(module: torch.nn.Module, inputs: object, output: Any) -> None:
        cost.passes += len(output.logits)

    hook = torch_module(model).register_forward_hook(count)
    start = time.perf_counter()
    try:
        yield
    finally:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        cost.seconds = time.perf_counter() - start
        hook.remove()
